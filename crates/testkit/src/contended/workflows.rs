//! Work that an agent does with bounded reads and edits alone: it finds a place, reads a few lines, edits, goes on by the line
//! numbers that the answers state, patches several files and takes a change back. No file is ever read whole.

use readproof_core::{
    edit::Places,
    operation::{AnswerLimit, CompareVersions, SearchFile, SearchMode},
};
use readproof_disk::SessionName;
use readproof_engine::{
    ComparedVersions, Engine, InFile, Searched, Written,
    operation::{Change, Operation, Over, Patch, Read, Search, Write},
};
use std::{collections::BTreeMap, fs, path::Path};

use crate::{ask::Ask, load::open, world::Broken};

/// Lines of each file, and the most that a read may ask for.
const LINES: usize = 3000;
const MOST_READ: u64 = 40;

/// What was used, by name.
pub type Used = BTreeMap<&'static str, u64>;

/// The agent's side of one conversation.
struct Agent<'a> {
    engine: &'a Engine,
    session: SessionName,
    used: Used,
}

impl Agent<'_> {
    fn count(&mut self, what: &'static str) {
        *self.used.entry(what).or_default() += 1;
    }

    /// The line in which a file has this text.
    fn find(&mut self, path: &str, query: &str) -> Result<u64, Broken> {
        self.count("search_in_file");
        let search =
            SearchFile { path: path.to_owned(), query: query.to_owned(), max_matches: 5, ..SearchFile::default() };
        let found: InFile = self.engine.ask(Some(&self.session), Operation::SearchFile(search))?;
        Ok(found.lines.first().ok_or("nothing is found")?.number)
    }

    /// A few lines, as the answer shows them.
    fn read(&mut self, path: &str, first: u64, count: u64) -> Result<String, Broken> {
        if count > MOST_READ {
            return Err(format!("{count} lines are too many").into());
        }
        self.count("read_lines");
        let read = Read { path: path.to_owned(), offset: Some(first), limit: Some(count), ..Read::default() };
        let answer = self.engine.read(Some(&self.session), read)?;
        self.engine.delivered(&answer.given.ok_or("not recorded")?)?;
        Ok(answer.text)
    }

    fn edit(&mut self, path: &str, old: &str, new: &str) -> Result<Written, Broken> {
        self.count("edit");
        let change = Change::Replace { old: old.to_owned(), new: new.to_owned(), places: Places::One };
        self.made(Operation::Write(Write { path: path.to_owned(), change, over: Over::Held }))
    }

    fn patch(&mut self, patch: String) -> Result<Written, Broken> {
        self.count("apply_patch");
        self.made(Operation::Patch(Patch { patch, path: None, over: Over::Held }))
    }

    fn made(&self, operation: Operation) -> Result<Written, Broken> {
        let written: Written = self.engine.ask(Some(&self.session), operation)?;
        for receipt in &written.receipts {
            self.engine.delivered(receipt)?;
        }
        Ok(written)
    }

    fn diff(&mut self, path: &str, from: &str, to: &str) -> Result<String, Broken> {
        self.count("get_diff");
        let most = AnswerLimit { lines: 200, chars: 20_000 };
        let (path, from, to) = (path.to_owned(), Some(from.to_owned()), Some(to.to_owned()));
        let found: ComparedVersions = self
            .engine
            .ask(Some(&self.session), Operation::CompareVersions(CompareVersions { path, from, to, most }))?;
        Ok(found.diff)
    }
}

fn text(name: &str) -> String {
    let line = |at: usize| match at % 10 {
        0 => format!("fn {name}_{at}() {{\n"),
        8 => "}\n".to_owned(),
        9 => "\n".to_owned(),
        _ => format!("    step_{at}();\n"),
    };
    (0..LINES).map(line).collect()
}

fn is(root: &Path, path: &str, expected: &str) -> Result<(), Broken> {
    let found = fs::read_to_string(root.join(path))?;
    let differs = found.lines().zip(expected.lines()).position(|(one, other)| one != other);
    if found == expected { Ok(()) } else { Err(format!("{path} is not as intended, from line {differs:?}").into()) }
}

/// The line that an answer states as the first of the new ones.
fn stated(answer: &str) -> Result<u64, Broken> {
    let now = answer.split_once("are now ").and_then(|(_, rest)| rest.split_once('-')).map(|(first, _)| first);
    Ok(now.ok_or_else(|| format!("no lines are stated: {answer}"))?.parse()?)
}

/// Goes through all work.
///
/// # Errors
/// When a file is not as intended, or a call is refused.
pub fn workflows() -> Result<Used, Broken> {
    let folder = tempfile::tempdir()?;
    let root = folder.path().canonicalize()?;
    let mut texts: BTreeMap<&str, String> = BTreeMap::new();
    for name in ["alpha", "beta", "gamma"] {
        texts.insert(name, text(name));
        fs::write(root.join(format!("{name}.rs")), text(name))?;
    }
    let engine = open(&root)?;
    let mut agent = Agent { engine: &engine, session: SessionName::parse("work")?, used: Used::new() };
    let alpha = by_numbers(&mut agent, &root, &texts["alpha"])?;
    let (beta, gamma) = together(&mut agent, &root, (&texts["beta"], &texts["gamma"]))?;
    beside_another(&mut agent, &root, &beta)?;
    taken_back(&mut agent, &root, &alpha)?;
    is(&root, "gamma.rs", &gamma)?;
    Ok(agent.used)
}

/// Finds a function, reads it, edits it, and edits again where the answer says it is.
fn by_numbers(agent: &mut Agent<'_>, root: &Path, alpha: &str) -> Result<String, Broken> {
    let at = agent.find("alpha.rs", "fn alpha_1500(")?;
    let shown = agent.read("alpha.rs", at, 9)?;
    if !shown.contains("    step_1503();") {
        return Err(format!("the lines are not shown: {shown}").into());
    }
    let (old, new) = ("    step_1503();\n", "    first();\n    twice();\n    twice();\n");
    let first = stated(&agent.edit("alpha.rs", old, new)?.text)?;
    let expected = alpha.replace(old, new);
    is(root, "alpha.rs", &expected)?;
    // Both lines are alike; the number that the answer states says which.
    let (second, third) = (first + 1, first + 2);
    let patch =
        format!("--- a/alpha.rs\n+++ b/alpha.rs\n@@ -{third} +{third} @@\n-    twice();\n+    once({second});\n");
    agent.patch(patch)?;
    let expected = expected.replace("    twice();\n    twice();\n", &format!("    twice();\n    once({second});\n"));
    is(root, "alpha.rs", &expected)?;
    Ok(expected)
}

/// Finds a name in the workspace, and changes two files at once.
fn together(agent: &mut Agent<'_>, root: &Path, (beta, gamma): (&str, &str)) -> Result<(String, String), Broken> {
    agent.count("search");
    let search =
        Search { query: r"_2000\(\)".to_owned(), mode: SearchMode::Regex, limit: Some(20), ..Search::default() };
    let found: Searched = agent.engine.ask(Some(&agent.session), Operation::Search(search))?;
    if found.files != 3 {
        return Err(format!("{} files are found", found.files).into());
    }
    for name in ["beta", "gamma"] {
        let at = agent.find(&format!("{name}.rs"), &format!("fn {name}_2000("))?;
        agent.read(&format!("{name}.rs"), at, 5)?;
    }
    let part = |name: &str| {
        format!(
            "*** Update File: {name}.rs\n@@ fn {name}_2000() {{\n     step_2001();\n-    step_2002();\n+    moved();\n"
        )
    };
    agent.patch(format!("*** Begin Patch\n{}{}*** End Patch\n", part("beta"), part("gamma")))?;
    let (beta, gamma) = (beta.replace("step_2002()", "moved()"), gamma.replace("step_2002()", "moved()"));
    is(root, "beta.rs", &beta)?;
    is(root, "gamma.rs", &gamma)?;
    Ok((beta, gamma))
}

/// Edits below what someone else changed meanwhile, and edits again.
fn beside_another(agent: &mut Agent<'_>, root: &Path, beta: &str) -> Result<(), Broken> {
    let at = agent.find("beta.rs", "    step_2503();")?;
    agent.read("beta.rs", at - 2, 6)?;
    let above = beta.replace("fn beta_100() {\n", "// someone else\nfn beta_100() {\n");
    fs::write(root.join("beta.rs"), &above)?;
    let written = agent.edit("beta.rs", "    step_2503();\n", "    mine();\n")?;
    if !written.files.iter().all(|file| file.merged) || !written.text.contains("+// someone else") {
        return Err(format!("the other's change is not in the answer: {}", written.text).into());
    }
    let expected = above.replace("    step_2503();\n", "    mine();\n");
    is(root, "beta.rs", &expected)?;
    agent.edit("beta.rs", "    mine();\n", "    mine(1);\n")?;
    is(root, "beta.rs", &expected.replace("    mine();\n", "    mine(1);\n"))
}

/// Takes a change back by the diff between two versions.
fn taken_back(agent: &mut Agent<'_>, root: &Path, alpha: &str) -> Result<(), Broken> {
    let before = agent.edit("alpha.rs", "    first();\n", "    first(1);\n")?.version.ok_or("no version")?;
    let after =
        agent.edit("alpha.rs", "    first(1);\n", "    wrong();\n    wrong();\n")?.version.ok_or("no version")?;
    let diff = agent.diff("alpha.rs", &before.to_string(), &after.to_string())?;
    let turned = |line: &str| match line.as_bytes().first() {
        Some(b'+') if !line.starts_with("+++") => format!("-{}\n", &line[1..]),
        Some(b'-') if !line.starts_with("---") => format!("+{}\n", &line[1..]),
        _ => format!("{line}\n"),
    };
    agent.patch(diff.lines().map(turned).collect())?;
    is(root, "alpha.rs", &alpha.replace("    first();\n", "    first(1);\n"))
}
