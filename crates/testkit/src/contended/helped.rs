//! Edits that are refused, and a caller that does what the answer says. It sees its own call and the words of the answer, and
//! nothing else: it does not read. Its second call must leave the bytes that it intended.

use readproof_core::edit::{Piece, Places};
use readproof_disk::SessionName;
use readproof_engine::{
    Engine, Written,
    operation::{Change, Operation, Over, Read, Write},
};
use readproof_words::{Surface, ToolTerms};
use std::{collections::BTreeMap, fmt, fs, path::Path};

use crate::{ask::Ask, load::open, op::Random, world::Broken};

/// After so many cases a new workspace is used.
const PER_WORKSPACE: u64 = 50;

/// Why an edit is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    Stale,
    NotUnique,
    Indentation,
    Elision,
    Overlap,
}

impl Why {
    pub const ALL: [Self; 5] = [Self::Stale, Self::NotUnique, Self::Indentation, Self::Elision, Self::Overlap];
}

/// What a run came to.
#[derive(Clone, Debug, Default)]
pub struct Helped {
    pub refused: u64,
    /// Second calls that left the intended bytes.
    pub succeeded: BTreeMap<Why, u64>,
    /// The first that did not, for each reason.
    pub failed: BTreeMap<Why, String>,
}

impl Helped {
    #[must_use]
    pub fn all(&self) -> u64 {
        self.succeeded.values().sum()
    }
}

impl fmt::Display for Helped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} refused edits, {} succeed when the caller does what the answer says:", self.refused, self.all())?;
        self.succeeded.iter().try_for_each(|(why, count)| write!(f, " {why:?} {count}"))?;
        self.failed.values().try_for_each(|how| write!(f, "\nnot helped: {how}"))
    }
}

/// One edit: what the file holds, the call, and what the caller wants.
struct Case {
    /// What the caller read, if it did.
    read: Option<String>,
    text: String,
    pieces: Vec<(String, String)>,
    /// A line that stands above the place that is meant, if several are alike.
    below: Option<String>,
    intended: String,
}

/// Has edits refused, and lets the caller try again.
///
/// # Errors
/// When an edit is not refused, or fewer than nine of ten succeed.
pub fn helped(cases: u64, seed: u64) -> Result<Helped, Broken> {
    let mut done = Helped::default();
    while done.refused < cases {
        let folder = tempfile::tempdir()?;
        let root = folder.path().canonicalize()?;
        let engine = open(&root)?;
        for _ in 0..PER_WORKSPACE.min(cases - done.refused) {
            let number = done.refused;
            let why = Why::ALL[usize::try_from(number).unwrap_or(0) % Why::ALL.len()];
            let case = Case::any(why, &mut Random::new(seed.wrapping_mul(1_000_003).wrapping_add(number)));
            let place = Place { engine: &engine, root: &root, name: format!("case-{number}.txt") };
            match place.run(&case).map_err(|error| format!("case {number}, {why:?}: {error}"))? {
                Ok(()) => *done.succeeded.entry(why).or_default() += 1,
                Err(how) => drop(done.failed.entry(why).or_insert(format!("case {number}, {why:?}: {how}"))),
            }
            done.refused += 1;
        }
    }
    if done.all() * 10 < cases * 9 {
        return Err(done.to_string().into());
    }
    Ok(done)
}

struct Place<'a> {
    engine: &'a Engine,
    root: &'a Path,
    name: String,
}

impl Place<'_> {
    /// `Err`: why the second call did not do what was intended.
    fn run(&self, case: &Case) -> Result<Result<(), String>, Broken> {
        let session = SessionName::parse(&self.name.replace('.', "-"))?;
        let path = self.root.join(&self.name);
        if let Some(read) = &case.read {
            fs::write(&path, read)?;
            let answer = self.engine.read(Some(&session), Read { path: self.name.clone(), ..Read::default() })?;
            self.engine.delivered(&answer.given.ok_or("not recorded")?)?;
        }
        fs::write(&path, &case.text)?;
        let answer = match self.call(&session, &case.pieces) {
            Ok(written) => return Err(format!("it was not refused: {}\n{:?}", written.text, case.pieces).into()),
            Err(answer) => answer,
        };
        if fs::read_to_string(&path)? != case.text {
            return Err("a refusal changed the file".into());
        }
        let caller = Caller { answer: &answer, pieces: &case.pieces, below: case.below.as_deref() };
        let told = |what: &str| format!("{what}\ncall {:?}\nanswer {answer}", case.pieces);
        let Some(again) = caller.again() else { return Ok(Err(told("the answer does not help"))) };
        if let Err(second) = self.call(&session, &again) {
            return Ok(Err(told(&format!("refused again: {second}\nthe second call {again:?}"))));
        }
        let found = fs::read_to_string(&path)?;
        if found != case.intended {
            return Ok(Err(told(&format!("left {found}\nnot {}\nthe second call {again:?}", case.intended))));
        }
        Ok(Ok(()))
    }

    /// The words of a refusal, as a model sees them.
    fn call(&self, session: &SessionName, pieces: &[(String, String)]) -> Result<Written, String> {
        let pieces = pieces.iter().map(|(old, new)| Piece::replace(old, new, Places::One)).collect();
        let write = Write { path: self.name.clone(), change: Change::Edit(pieces), over: Over::Held };
        self.engine.ask::<Written>(Some(session), Operation::Write(write)).map_err(|error| {
            let root = self.root.display().to_string();
            Surface::Mcp(ToolTerms { root: &root, asked: &self.name, start_line: true }).error(&error)
        })
    }
}

/// The one who called: it knows its call, which place it meant, and the answer.
struct Caller<'a> {
    answer: &'a str,
    pieces: &'a [(String, String)],
    below: Option<&'a str>,
}

impl Caller<'_> {
    /// The lines that the answer shows, run by run.
    fn shown(&self) -> Vec<Vec<&str>> {
        let mut runs: Vec<Vec<&str>> = vec![Vec::new()];
        for line in self.answer.lines().skip(1) {
            match line.split_once('\t').filter(|(number, _)| number.parse::<u32>().is_ok()) {
                Some((_, text)) => runs.last_mut().into_iter().for_each(|run| run.push(text)),
                None => runs.push(Vec::new()),
            }
        }
        runs.retain(|run| !run.is_empty());
        runs
    }

    /// The call that the answer asks for.
    fn again(&self) -> Option<Vec<(String, String)>> {
        let says = |words: &str| self.answer.contains(words);
        if says("make one change of them") {
            return self.joined();
        }
        if says("add lines around the one that is meant") {
            return self.placed();
        }
        if says("leaves text out") {
            return self.filled();
        }
        if says("Repeat the edit") {
            return self.repeated();
        }
        None
    }

    /// Two changes that share lines, as one.
    fn joined(&self) -> Option<Vec<(String, String)>> {
        let [(old, new), (other, instead)] = self.pieces else { return None };
        if old == other {
            return Some(vec![(old.clone(), new.clone())]);
        }
        let lines: Vec<&str> = other.split_inclusive('\n').collect();
        let shared = (1..=lines.len()).rev().find(|count| old.ends_with(&lines[..*count].concat()))?;
        Some(vec![(format!("{old}{}", lines[shared..].concat()), format!("{new}{instead}"))])
    }

    /// The place that is meant, with the lines from the one above it.
    fn placed(&self) -> Option<Vec<(String, String)>> {
        let ([(old, new)], below) = (self.pieces, self.below?) else { return None };
        for run in self.shown() {
            let Some(above) = run.iter().position(|line| *line == below) else { continue };
            let target = (above..run.len()).find(|at| old.trim_end() == run[*at].trim_end())?;
            let lines: String = run[above..target].iter().map(|line| format!("{line}\n")).collect();
            return Some(vec![(format!("{lines}{old}"), format!("{lines}{new}"))]);
        }
        None
    }

    /// The old text with what stands where it left text out; both ends are as they were in the call.
    fn filled(&self) -> Option<Vec<(String, String)>> {
        let [(old, new)] = self.pieces else { return None };
        let (above, below) = old.split_once("...\n")?;
        let (new_above, new_below) = new.split_once("...\n")?;
        let runs = self.shown();
        if let [run] = &runs[..] {
            let lines: String = run.iter().map(|line| format!("{line}\n")).collect();
            let middle = lines.strip_prefix(above)?.strip_suffix(below)?;
            return Some(vec![(lines.clone(), format!("{new_above}{middle}{new_below}"))]);
        }
        // Too long to be shown whole: only the end that changes, with the lines beside it.
        let [first, last] = &runs[..] else { return None };
        let text = |lines: &[&str]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        if above == new_above {
            let lines = text(last);
            let middle = lines.strip_suffix(below)?;
            return Some(vec![(lines.clone(), format!("{middle}{new_below}"))]);
        }
        let lines = text(first);
        let middle = lines.strip_prefix(above)?;
        Some(vec![(lines.clone(), format!("{new_above}{middle}"))])
    }

    /// The same change in the lines as they are: the one line that it changes, between the lines around it.
    fn repeated(&self) -> Option<Vec<(String, String)>> {
        let [(old, new)] = self.pieces else { return None };
        let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
        let changes = (0..old.len()).find(|at| old.get(*at) != new.get(*at))?;
        for run in self.shown() {
            // Where most of its lines are, blanks aside.
            let alike = |start: &usize| {
                (0..old.len())
                    .filter(|at| run.get(start + at).is_some_and(|line| line.trim() == old[*at].trim()))
                    .count()
            };
            let Some(start) = (0..run.len()).rev().max_by_key(alike).filter(|start| alike(start) * 2 >= old.len())
            else {
                continue;
            };
            let there = run.get(start..start + old.len())?;
            let indent = &there[changes][..there[changes].len() - there[changes].trim_start().len()];
            let mut lines: Vec<String> = there.iter().map(|line| (*line).to_owned()).collect();
            lines[changes] = format!("{indent}{}", new[changes].trim_start());
            return Some(vec![(there.join("\n"), lines.join("\n"))]);
        }
        None
    }
}

impl Case {
    fn any(why: Why, random: &mut Random) -> Self {
        match why {
            Why::Stale => Self::stale(random),
            Why::NotUnique => Self::not_unique(random),
            Why::Indentation => Self::indentation(random),
            Why::Elision => Self::elision(random),
            Why::Overlap => Self::overlap(random),
        }
    }

    fn stale(random: &mut Random) -> Self {
        let lines = source(random);
        let (first, target) = block(&lines, 5, random);
        let mut now = lines.clone();
        let read = (random.below(2) == 0).then(|| text(&lines));
        // One of the lines that the call gives. If they were read, so near that it cannot be merged. And perhaps lines above.
        let at = if read.is_some() { target - random.below(2) } else { first + random.below(5) };
        now[at] = format!("    other_{}();", random.below(1000));
        let mut intended = now.clone();
        let fresh = format!("    fresh_{}();", random.below(1000));
        intended[target].clone_from(&fresh);
        let above: String = (0..random.below(3)).map(|at| format!("// above {at}\n")).collect();
        let mut new = lines[first..first + 5].to_vec();
        new[target - first] = fresh;
        Self {
            read,
            text: format!("{above}{}", text(&now)),
            pieces: vec![(text(&lines[first..first + 5]), text(&new))],
            below: None,
            intended: format!("{above}{}", text(&intended)),
        }
    }

    fn not_unique(random: &mut Random) -> Self {
        let mut lines = source(random);
        let functions: Vec<usize> = (0..lines.len()).filter(|at| lines[*at].starts_with("fn ")).collect();
        let places = (2 + random.below(7)).min(functions.len());
        for at in &functions[..places] {
            lines[at + 1] = "    let shared = 1;".to_owned();
        }
        let meant = functions[random.below(places)];
        let mut intended = lines.clone();
        intended[meant + 1] = "    let shared = 2;".to_owned();
        Self {
            read: None,
            pieces: vec![("    let shared = 1;\n".to_owned(), "    let shared = 2;\n".to_owned())],
            below: Some(lines[meant].clone()),
            text: text(&lines),
            intended: text(&intended),
        }
    }

    fn indentation(random: &mut Random) -> Self {
        let lines = source(random);
        let (first, target) = block(&lines, 4, random);
        let mut old = lines[first..first + 4].to_vec();
        // Not all alike, so no common shift explains it.
        for (at, line) in old.iter_mut().enumerate() {
            *line = format!("{}{}", " ".repeat(1 + at % 3 + random.below(2)), line.trim_start());
        }
        let mut new = old.clone();
        new[target - first] = format!("  fresh_{}();", random.below(1000));
        let mut intended = lines.clone();
        let was = &lines[target];
        let indent = &was[..was.len() - was.trim_start().len()];
        intended[target] = format!("{indent}{}", new[target - first].trim_start());
        let pieces = vec![(text(&old), text(&new))];
        Self { read: None, text: text(&lines), pieces, below: None, intended: text(&intended) }
    }

    fn elision(random: &mut Random) -> Self {
        let lines = source(random);
        let size = *random.pick(&[4, 6, 10, 20, 35, 60]).unwrap_or(&6);
        let (first, _) = block(&lines, size, random);
        let last = first + size - 1;
        let ends = 1 + random.below(2);
        let (above, below) = (text(&lines[first..first + ends]), text(&lines[last + 1 - ends..=last]));
        let fresh = format!("    fresh_{}();", random.below(1000));
        let mut intended = lines.clone();
        let changed = if random.below(2) == 0 { first } else { last };
        intended[changed] = fresh;
        let (new_above, new_below) = (text(&intended[first..first + ends]), text(&intended[last + 1 - ends..=last]));
        let pieces = vec![(format!("{above}...\n{below}"), format!("{new_above}...\n{new_below}"))];
        Self { read: None, text: text(&lines), pieces, below: None, intended: text(&intended) }
    }

    fn overlap(random: &mut Random) -> Self {
        let lines = source(random);
        let (first, _) = block(&lines, 6, random);
        let fresh = |what: &str, random: &mut Random| format!("    {what}_{}();\n", random.below(1000));
        let (one, two) = (fresh("one", random), fresh("two", random));
        if random.below(4) == 0 {
            // The same change twice.
            let old = text(&lines[first..first + 2]);
            let intended = text(&lines).replace(&old, &one);
            let pieces = vec![(old.clone(), one.clone()), (old, one)];
            return Self { read: None, text: text(&lines), pieces, below: None, intended };
        }
        let shared = 1 + random.below(2);
        let (old, other) = (text(&lines[first..first + 3]), text(&lines[first + 3 - shared..first + 6 - shared]));
        let whole = text(&lines[first..first + 6 - shared]);
        let intended = text(&lines).replace(&whole, &format!("{one}{two}"));
        Self { read: None, text: text(&lines), pieces: vec![(old, one), (other, two)], below: None, intended }
    }
}

fn text(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// Functions with a few statements each; names differ, closing braces and blank lines do not.
fn source(random: &mut Random) -> Vec<String> {
    let mut lines = Vec::new();
    for function in 0..12 + random.below(20) {
        lines.push(format!("fn function_{function}() {{"));
        for _ in 0..2 + random.below(6) {
            lines.push(match random.below(5) {
                0 => "        nested();".to_owned(),
                _ => format!("    statement_{:06x}();", random.below(1 << 24)),
            });
        }
        lines.push("}".to_owned());
        lines.push(String::new());
    }
    lines
}

/// A run of lines that begins with a function, as it is more than once otherwise; and a statement in it.
fn block(lines: &[String], size: usize, random: &mut Random) -> (usize, usize) {
    loop {
        let first = random.below(lines.len() - size);
        let statements: Vec<usize> =
            (first + 1..first + size).filter(|at| lines[*at].starts_with("    statement_")).collect();
        if let (true, Some(target)) = (lines[first].starts_with("fn "), random.pick(&statements)) {
            return (first, *target);
        }
    }
}
