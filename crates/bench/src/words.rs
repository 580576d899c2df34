//! `bench words [--files N] [--ripgrep PROGRAM] [--json] [--check]`: searches by words and by pattern in a large tree, against
//! ripgrep in the same run, and making the index of words against making that of symbols. Every phase is a process of its own
//! (`--phase NAME --tree FOLDER`), so that its peak of memory is its own.

use serde_json::{Map, Value, json};
use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process::{self, Command, Stdio},
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;

use readproof_core::path::Bearings;
use readproof_disk::Root;
use readproof_engine::{
    Engine, Searched, Settings,
    operation::{Operation, Search, SearchMode},
};
use readproof_testkit::ask::Ask;

use crate::{
    Broken,
    cases::now,
    harness::{Bar, Row, Samples},
    mcp::{
        memory, nanoseconds,
        planted::{Dice, language, plant},
    },
    programs::ripgrep,
    report,
};

/// The subcommand.
pub(crate) const WORD: &str = "words";

const FILES: u32 = 40_000;

/// Rounds of a search that count, after one that fills caches.
const ROUNDS: u32 = 15;

/// Times that each index is made.
const BUILDS: u32 = 3;

/// A word that a few files contain, and the beginning of names that a few define.
const RARE: &str = "zephyrine";
const NAMED: &str = "quarantine";
const PATTERN: &str = r"quarantine_\w+\(";
const FEW: u32 = 20;

/// Words that files have beside those of the tree: the vocabulary of real code is large, and most of it is rare.
const VOCABULARY_BITS: u32 = 17;

/// Bytes of a file for each of these words.
const BYTES_PER_WORD: usize = 200;

/// After this, the stat of a file proves that it is unchanged.
const OLD_ENOUGH: Duration = Duration::from_millis(2500);

const COLD: Bar = Bar::AtMost(2.0);
const WARM: Bar = Bar::AtMost(0.3);
const REGEX: Bar = Bar::AtMost(1.25);
const INDEX: Bar = Bar::AtMost(2.0);

/// A query, and its rows without and with the index.
struct Query {
    cold: &'static str,
    warm: &'static str,
    words: fn() -> Vec<String>,
}

const QUERIES: [Query; 3] = [
    Query { cold: "words-cold-rare", warm: "words-warm-rare", words: || vec![RARE.to_owned()] },
    Query { cold: "words-cold-two", warm: "words-warm-two", words: || vec![word(100), word(1000)] },
    Query {
        cold: "words-cold-four",
        warm: "words-warm-four",
        words: || vec!["request".to_owned(), word(60), word(1000), RARE.to_owned()],
    },
];

struct Args {
    json: bool,
    check: bool,
    files: u32,
    ripgrep: Option<PathBuf>,
    /// For a child: what to measure, and in which tree.
    phase: Option<String>,
    tree: PathBuf,
}

/// Measures and prints; false if `--check` was given and a bar is missed.
pub(crate) fn run(words: impl Iterator<Item = String>) -> Result<bool, Broken> {
    let args = parse(words)?;
    let ripgrep = ripgrep(args.ripgrep)?;
    if let Some(phase) = args.phase {
        let mut measured = measure(&phase, &args.tree, &ripgrep)?;
        measured["peak_kib"] = memory(process::id(), "VmHWM:")?.into();
        println!("{measured}");
        return Ok(true);
    }
    let tree = TempDir::with_prefix("readproof-words-")?;
    let bytes = grow(tree.path(), args.files)?;
    thread::sleep(OLD_ENOUGH);
    let report = Report::new(tree.path(), &ripgrep)?;
    report.print(args.json, args.files, bytes);
    Ok(!args.check || report.holds())
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<Args, Broken> {
    let mut args =
        Args { json: false, check: false, files: FILES, ripgrep: None, phase: None, tree: PathBuf::default() };
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
        match word.as_str() {
            "--json" => args.json = true,
            "--check" => args.check = true,
            "--files" => args.files = value()?.parse().map_err(|_| "--files needs a number")?,
            "--ripgrep" => args.ripgrep = Some(value()?.into()),
            "--phase" => args.phase = Some(value()?),
            "--tree" => args.tree = value()?.into(),
            _ => return Err(format!("unknown argument {word}").into()),
        }
    }
    if args.files < 1000 {
        return Err("--files needs at least 1000: fewer are searched at once".into());
    }
    Ok(args)
}

/// What all phases measured.
struct Report {
    rows: Vec<Row>,
    /// Of each phase: the most memory, in KiB.
    peaks: Vec<(&'static str, u64)>,
    /// Bytes on disk of the index of symbols, and of that of words.
    sizes: (u64, u64),
}

impl Report {
    fn new(tree: &Path, ripgrep: &Path) -> Result<Self, Broken> {
        let (mut rows, mut peaks) = (Vec::new(), Vec::new());
        let mut phase = |name: &'static str| -> Result<Value, Broken> {
            let measured = child(name, tree, ripgrep)?;
            let peak = measured["peak_kib"].as_u64().unwrap_or_default();
            match peaks.iter_mut().find(|(known, _)| *known == name) {
                Some((_, most)) => *most = peak.max(*most),
                None => peaks.push((name, peak)),
            }
            Ok(measured)
        };
        let (cold, regex) = (phase("cold")?, phase("regex")?);
        let (mut builds, mut sizes) = (Samples::default(), (0, 0));
        for round in 0..BUILDS {
            let (symbols, words) = if round % 2 == 0 {
                let symbols = phase("symbol-index")?;
                (symbols, phase("word-index")?)
            } else {
                let words = phase("word-index")?;
                (phase("symbol-index")?, words)
            };
            let figure = |value: &Value, name: &str| value[name].as_u64().unwrap_or_default();
            builds.push(figure(&symbols, "ns"), figure(&words, "ns"));
            sizes = (figure(&symbols, "bytes"), figure(&words, "bytes"));
        }
        let warm = phase("warm")?;
        for query in &QUERIES {
            if cold["found"][query.cold] != warm["found"][query.warm] {
                return Err(format!("with the index, {} finds something else", query.warm).into());
            }
        }
        for query in &QUERIES {
            let about = "mode=text without an index, in a new engine, against `rg -i -c`";
            rows.push(samples(&cold, query.cold)?.row(query.cold, about, COLD));
        }
        for query in &QUERIES {
            let about = "mode=text with the index, in a warm engine, against `rg -i -c`";
            rows.push(samples(&warm, query.warm)?.row(query.warm, about, WARM));
        }
        rows.push(samples(&regex, "regex")?.row("regex", "mode=regex, with a literal, against `rg -n`", REGEX));
        if sizes.1 > 0 {
            rows.push(builds.row("words-index", "the index of words is made, against that of symbols", INDEX));
        }
        Ok(Self { rows, peaks, sizes })
    }

    fn holds(&self) -> bool {
        self.sizes.1 > 0 && self.rows.iter().all(Row::holds)
    }

    fn print(&self, json: bool, files: u32, bytes: u64) {
        if json {
            let mut said = report::json(&self.rows, None);
            said["tree"] = json!({ "files": files, "bytes": bytes });
            said["peak_kib"] = self.peaks.iter().map(|(name, peak)| ((*name).to_owned(), json!(peak))).collect();
            said["index_bytes"] = json!({ "symbols": self.sizes.0, "words": self.sizes.1 });
            println!("{said:#}");
            return;
        }
        println!("{files} files, {} MB", bytes / 1_000_000);
        println!("{}", report::table(&self.rows, None));
        for (name, peak) in &self.peaks {
            println!("peak of memory, {name}: {} MiB", peak / 1024);
        }
        println!("on disk: symbols {} MB, words {} MB", self.sizes.0 / 1_000_000, self.sizes.1 / 1_000_000);
        if self.sizes.1 == 0 {
            println!("words-index is not measured: Engine::make_word_index leaves nothing on disk");
        }
    }
}

/// Runs one phase in a process of its own.
fn child(phase: &str, tree: &Path, ripgrep: &Path) -> Result<Value, Broken> {
    let mut command = Command::new(env::current_exe()?);
    command.args([WORD, "--phase", phase, "--tree"]).arg(tree).arg("--ripgrep").arg(ripgrep);
    let done = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
    if !done.status.success() {
        return Err(format!("the phase {phase} ended with {}", done.status).into());
    }
    Ok(serde_json::from_slice(&done.stdout)?)
}

fn samples(measured: &Value, name: &str) -> Result<Samples, Broken> {
    let pairs: Vec<(u64, u64)> = serde_json::from_value(measured["rows"][name].clone())?;
    let mut samples = Samples::default();
    for (floor, case) in pairs {
        samples.push(floor, case);
    }
    Ok(samples)
}

/// One phase, in this process.
fn measure(phase: &str, tree: &Path, ripgrep: &Path) -> Result<Value, Broken> {
    match phase {
        "cold" => searches(tree, ripgrep, None),
        "warm" => {
            let engine = open(tree)?;
            engine.make_word_index();
            searches(tree, ripgrep, Some(&engine))
        }
        "regex" => {
            let engine = open(tree)?;
            let search = Search { query: PATTERN.to_owned(), mode: SearchMode::Regex, ..Search::default() };
            let (pairs, found) = turns(
                || counted(ripgrep, tree, &["-n", "-e", PATTERN]),
                || Ok(()),
                |()| asked(&engine, search.clone()),
            )?;
            Ok(json!({ "rows": { "regex": pairs }, "found": { "regex": found } }))
        }
        "symbol-index" => built(tree, Engine::make_index),
        "word-index" => built(tree, Engine::make_word_index),
        _ => Err(format!("there is no phase {phase}").into()),
    }
}

/// Every query, in a warm engine or else in a new one each time.
fn searches(tree: &Path, ripgrep: &Path, warm: Option<&Engine>) -> Result<Value, Broken> {
    let (mut rows, mut found) = (Map::new(), Map::new());
    for query in &QUERIES {
        let words = (query.words)();
        let flags: Vec<&str> = ["-i", "-c"].into_iter().chain(words.iter().flat_map(|word| ["-e", word])).collect();
        let search = Search { query: words.join(" "), mode: SearchMode::Text, ..Search::default() };
        let fresh = || -> Result<Option<Engine>, Broken> {
            if warm.is_some() {
                return Ok(None);
            }
            remove_store(tree)?;
            open(tree).map(Some)
        };
        let (pairs, paths) = turns(
            || counted(ripgrep, tree, &flags),
            fresh,
            |fresh| {
                let engine = fresh.as_ref().or(warm).ok_or("there is an engine")?;
                asked(engine, search.clone())
            },
        )?;
        let name = if warm.is_some() { query.warm } else { query.cold };
        rows.insert(name.to_owned(), json!(pairs));
        found.insert(name.to_owned(), json!(paths));
    }
    Ok(json!({ "rows": rows, "found": found }))
}

/// The times of both sides, and what was found.
type Turns = (Vec<(u64, u64)>, Vec<String>);

/// Ripgrep and ours take turns; what `prepare` does is not timed.
fn turns<T>(
    ripgrep: impl Fn() -> Result<(), Broken>,
    prepare: impl Fn() -> Result<T, Broken>,
    ours: impl Fn(&T) -> Result<Vec<String>, Broken>,
) -> Result<Turns, Broken> {
    let (mut pairs, mut found) = (Vec::new(), Vec::new());
    let theirs = || -> Result<u64, Broken> {
        let begin = Instant::now();
        ripgrep()?;
        Ok(nanoseconds(begin.elapsed()))
    };
    for round in 0..=ROUNDS {
        let mut ours = || -> Result<u64, Broken> {
            let prepared = prepare()?;
            let begin = Instant::now();
            found = ours(&prepared)?;
            Ok(nanoseconds(begin.elapsed()))
        };
        let pair = if round % 2 == 0 {
            let theirs = theirs()?;
            (theirs, ours()?)
        } else {
            let ours = ours()?;
            (theirs()?, ours)
        };
        if round > 0 {
            pairs.push(pair);
        }
    }
    Ok((pairs, found))
}

/// Ripgrep must find something.
fn counted(ripgrep: &Path, tree: &Path, flags: &[&str]) -> Result<(), Broken> {
    let mut command = Command::new(ripgrep);
    command.arg("--no-config").args(flags).arg(".").current_dir(tree).stdin(Stdio::null());
    let found = command.output().map_err(|error| format!("{}: {error}", ripgrep.display()))?;
    if found.stdout.is_empty() { Err(format!("rg found nothing for {flags:?}").into()) } else { Ok(()) }
}

/// The files that were found, which must be some.
fn asked(engine: &Engine, search: Search) -> Result<Vec<String>, Broken> {
    let query = search.query.clone();
    let found: Searched = engine.ask(None, Operation::Search(search))?;
    let paths: Vec<String> = found.hits.into_iter().map(|hit| hit.path).collect();
    if paths.is_empty() { Err(format!("nothing was found for {query}").into()) } else { Ok(paths) }
}

fn open(tree: &Path) -> Result<Engine, Broken> {
    let root = Root::open(tree)?;
    let bearings = Bearings { cwd: root.path().display().to_string(), home: None };
    Ok(Engine::new(root, bearings, Settings::default(), Box::new(now))?)
}

/// How long an index takes, and its bytes on disk.
fn built(tree: &Path, make: fn(&Engine)) -> Result<Value, Broken> {
    remove_store(tree)?;
    let engine = open(tree)?;
    let begin = Instant::now();
    make(&engine);
    let took = nanoseconds(begin.elapsed());
    drop(engine);
    Ok(json!({ "ns": took, "bytes": size(&tree.join(".readproof"))? }))
}

fn remove_store(tree: &Path) -> io::Result<()> {
    match fs::remove_dir_all(tree.join(".readproof")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// Of everything in a folder; 0 if it is not there.
fn size(folder: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    if folder.exists() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let about = entry.metadata()?;
            bytes += if about.is_dir() { size(&entry.path())? } else { about.len() };
        }
    }
    Ok(bytes)
}

/// Makes the tree, with a large vocabulary, the rare word and the names.
fn grow(tree: &Path, files: u32) -> Result<u64, Broken> {
    let mut dice = Dice::new(7);
    let mut some = || (0..FEW).map(|_| dice.below(files)).collect::<Vec<u32>>();
    let (rare, named) = (some(), some());
    plant(tree, files, &|number, text| {
        let (mut dice, comment) = (Dice::new(number ^ 0x0dd), language(number).comment);
        for place in 0..text.len() / BYTES_PER_WORD {
            *text += if place % 8 == 0 { "\n" } else { " " };
            *text += if place % 8 == 0 { comment } else { "" };
            *text += if place % 8 == 0 { " " } else { "" };
            // The first words of the vocabulary are the most frequent.
            let bits = dice.below(VOCABULARY_BITS);
            *text += &word(dice.below(1 << bits));
        }
        *text += "\n";
        if rare.contains(&number) {
            *text += &format!("{comment} The {RARE} of it.\n");
        }
        if named.contains(&number) {
            *text += &(language(number).define)(&format!("{NAMED}_{number}"));
        }
    })
}

/// A word of the vocabulary: three syllables, none of which looks like an ending.
fn word(number: u32) -> String {
    let syllable = |number: u32| {
        let at = |letters: &[u8], number: u32| char::from(letters[number as usize % letters.len()]);
        [at(b"bdfgklmnrt", number), at(b"aiou", number / 10)]
    };
    [number, number / 40, number / 1600].map(syllable).concat().into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_has_what_is_asked_for() {
        let tree = tempfile::tempdir().unwrap();
        let bytes = grow(tree.path(), 1000).unwrap();
        assert!((3_000..9_000).contains(&(bytes / 1000)), "{bytes}");
        let engine = open(tree.path()).unwrap();
        for query in &QUERIES {
            let query = (query.words)().join(" ");
            assert!(asked(&engine, Search { query, ..Search::default() }).is_ok());
        }
        let search = Search { query: PATTERN.to_owned(), mode: SearchMode::Regex, ..Search::default() };
        assert!(!asked(&engine, search).unwrap().is_empty());
        assert_eq!(word(0), "bababa");
        assert_eq!((0..64_000).map(word).collect::<std::collections::BTreeSet<_>>().len(), 64_000);
    }

    #[test]
    fn an_index_is_made_anew_and_weighed() {
        let tree = tempfile::tempdir().unwrap();
        grow(tree.path(), 50).unwrap();
        let made = built(tree.path(), Engine::make_index).unwrap();
        assert!(made["bytes"].as_u64().unwrap() > 0, "{made}");
        remove_store(tree.path()).unwrap();
        remove_store(tree.path()).unwrap();
        assert_eq!(size(&tree.path().join(".readproof")).unwrap(), 0);
    }

    #[test]
    fn arguments() {
        let parse = |words: &[&str]| parse(words.iter().map(|word| (*word).to_owned()));
        assert_eq!(parse(&["--files", "5000", "--check"]).map(|args| (args.files, args.check)).unwrap(), (5000, true));
        assert!(parse(&["--files", "10"]).is_err() && parse(&["x"]).is_err());
    }
}
