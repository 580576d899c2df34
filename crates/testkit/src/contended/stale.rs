//! Edits whose file someone else changed since the agent read it. An oracle of its own says what must become of each: made,
//! merged, or refused with nothing changed. It knows what the agent was shown, and asks git about merges.

use readproof_core::{edit::Places, path::PathKey, text::ContentHash};
use readproof_disk::{Create, LocalStore, Root, SessionName};
use readproof_engine::{
    Engine, Error, Written,
    operation::{Change, Operation, Over, Read, Write},
};
use readproof_hosts::{session::Session, versions::Versions};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, fs,
    path::{Path, PathBuf},
};

use super::git::{Judged, merge_file};
use crate::{ask::Ask, load::open, op::Random, world::Broken};

/// After so many cases a new workspace is used.
const PER_WORKSPACE: u64 = 50;

/// What someone else does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Other {
    Nothing,
    SamePlace,
    SameEdit,
    Beside,
    Above,
    WholeFile,
    Moves,
    Copies,
    Deletes,
    Recreates,
    Indents,
    CrLf,
}

impl Other {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::Nothing,
        Self::SamePlace,
        Self::SameEdit,
        Self::Beside,
        Self::Above,
        Self::WholeFile,
        Self::Moves,
        Self::Copies,
        Self::Deletes,
        Self::Recreates,
        Self::Indents,
        Self::CrLf,
    ];
}

/// What must become of an edit.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Verdict {
    /// Made in the text that is there.
    Made(String),
    /// Made in the text that the agent saw, and merged.
    Merged(String),
    /// Refused because the same lines changed.
    Conflict,
    /// Refused because the text is not there, is there more than once, or the file is gone.
    Refused,
}

impl Verdict {
    fn word(&self) -> &'static str {
        match self {
            Self::Made(_) => "made",
            Self::Merged(_) => "merged",
            Self::Conflict => "conflict",
            Self::Refused => "refused",
        }
    }
}

/// What a run came to.
#[derive(Clone, Debug, Default)]
pub struct Stale {
    pub cases: u64,
    /// Verdicts, by what someone else did.
    pub verdicts: BTreeMap<(Other, &'static str), u64>,
}

impl fmt::Display for Stale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} stale edits, all as the oracle says:", self.cases)?;
        for ((other, word), count) in &self.verdicts {
            write!(f, " {other:?}/{word} {count}")?;
        }
        Ok(())
    }
}

/// Runs this many cases.
///
/// # Errors
/// On the first edit that came to something else than the oracle says, or a refusal that changed something.
pub fn stale(cases: u64, seed: u64) -> Result<Stale, Broken> {
    let mut done = Stale::default();
    while done.cases < cases {
        let (folder, scratch) = (tempfile::tempdir()?, tempfile::tempdir()?);
        let root = folder.path().canonicalize()?;
        let engine = open(&root)?;
        for _ in 0..PER_WORKSPACE.min(cases - done.cases) {
            let number = done.cases;
            let case = Case::any(&mut Random::new(seed.wrapping_mul(1_000_003).wrapping_add(number)), number);
            let place = Place { engine: &engine, root: &root, scratch: scratch.path() };
            let verdict = place.run(&case).map_err(|error| format!("case {number}: {error}\n{case:#?}"))?;
            *done.verdicts.entry((case.other, verdict)).or_default() += 1;
            done.cases += 1;
        }
    }
    Ok(done)
}

/// One case.
#[derive(Clone, Debug)]
struct Case {
    name: String,
    base: String,
    /// The lines that the agent reads, counted from 1; `None`: all.
    shown: Option<(usize, usize)>,
    other: Other,
    /// What is there when the agent edits; `None`: no file.
    present: Option<String>,
    /// A text that the agent reads before that: someone put lines above the place.
    again: Option<String>,
    /// The lines of it that the agent reads.
    shown_again: Option<(usize, usize)>,
    old: String,
    new: String,
    all: bool,
    over: Over,
    /// See [`Case::told_otherwise`]: of the base, and of the text that is read again.
    behind: [bool; 2],
}

impl Case {
    fn any(random: &mut Random, number: u64) -> Self {
        let lines: Vec<String> = (0..8 + random.below(60)).map(|at| line(at, random)).collect();
        let base = text_of(&lines, random);
        let (old, new, at) = wanted(&base, random);
        let shown = (random.below(2) == 0).then(|| {
            // Mostly around the place, sometimes elsewhere.
            let from = if random.below(4) > 0 { at.0.saturating_sub(random.below(4)).max(1) } else { 1 };
            let to = if random.below(4) > 0 { at.1 + random.below(4) } else { from + random.below(6) };
            (from, to.clamp(from, base.lines().count()))
        });
        let other = Other::ALL[usize::try_from(number).unwrap_or(0) % Other::ALL.len()];
        let again = (random.below(4) == 0).then(|| inserted(&base, random.below(at.0), random));
        let shown_again = again.as_ref().filter(|_| random.below(2) == 0).map(|again| {
            let lines = again.lines().count();
            let first = 1 + random.below(lines);
            (first, (first + random.below(12)).min(lines))
        });
        let before = again.as_ref().unwrap_or(&base);
        let present = present(before, other, (&old, &new), random);
        let over = match random.below(5) {
            0 => Over::Hash(ContentHash::of(base.as_bytes())),
            1 if random.below(6) == 0 => Over::Hash(ContentHash::of(b"nobody ever had this text")),
            _ => Over::Held,
        };
        let all = random.below(12) == 0;
        Self {
            name: format!("case-{number}.txt"),
            base,
            shown,
            other,
            present,
            again,
            shown_again,
            old,
            new,
            all,
            over,
            behind: [false; 2],
        }
    }

    /// The texts of which the agent was shown all lines that go, last, and in which `old` is as often as it may be.
    fn held(&self) -> Vec<&String> {
        let all_shown =
            |(text, places): &(&String, Vec<bool>)| self.edited(text).is_some() && places.iter().all(|is| *is);
        self.places().into_iter().filter(all_shown).map(|(text, _)| text).collect()
    }

    /// Whether the agent was shown a place of `old` that was not the only one, in a text that is not there any more: which it
    /// means cannot be told from the places that are left.
    fn is_tied(&self, present: &str) -> bool {
        let tied =
            |(text, places): &(&String, Vec<bool>)| places.len() > 1 && *text != present && places.contains(&true);
        !self.all && self.places().iter().any(tied)
    }

    /// The texts that the agent read, and of each place of `old` in them whether all lines that go were shown last.
    fn places(&self) -> Vec<(&String, Vec<bool>)> {
        let within = |shown: Option<(usize, usize)>, line: usize| shown.is_none_or(|(a, b)| (a..=b).contains(&line));
        let shown = |text: &str, behind: bool, is: &dyn Fn(usize) -> bool| -> Vec<bool> {
            let count = self.old.lines().count() + usize::from(behind);
            let line = |(at, _): (usize, &str)| text[..at].matches('\n').count();
            let whole = |first: usize| (first + 1..=(first + count).min(text.lines().count())).all(is);
            text.match_indices(&self.old).map(line).map(whole).collect()
        };
        let of_base = |line: usize| {
            // A later read of a line with this number took its place.
            within(self.shown, line) && !(self.again.is_some() && within(self.shown_again, line))
        };
        let of_again = |line: usize| within(self.shown_again, line);
        let base = (&self.base, shown(&self.base, self.behind[0], &of_base));
        let again = self.again.as_ref().map(|again| (again, shown(again, self.behind[1], &of_again)));
        [base].into_iter().chain(again).collect()
    }

    /// The text with the edit, if `old` is in it as often as it may be.
    fn edited(&self, text: &str) -> Option<String> {
        // Places that overlap are places too.
        let starts = text.char_indices().filter(|(at, _)| text[*at..].starts_with(&self.old)).count();
        match (starts, self.all) {
            (1, _) | (2.., true) => Some(text.replace(&self.old, &self.new)),
            (_, _) => None,
        }
    }

    /// Lines that are put between lines may be told as a change of the line before or of the line behind, where all places change.
    /// The same case with every way to tell it.
    fn told_otherwise(&self) -> impl Iterator<Item = Self> {
        let both_ways = self.all && self.old.ends_with('\n') && self.new.starts_with(&self.old);
        let ways = [[false, true], [true, false], [true, true]];
        ways.into_iter().filter(move |_| both_ways).map(|behind| Self { behind, ..self.clone() })
    }

    /// Whether the edit can be told to be at a place beside the other's change, as well as apart from it: git takes the last place,
    /// other programs another, so a merge may be made or left to a person.
    fn is_disputed(&self) -> bool {
        let bases = [Some(&self.base), self.again.as_ref()];
        bases.into_iter().flatten().zip([&self.present, &self.present]).any(|(base, present)| {
            let (Some(ours), Some(present)) = (self.edited(base), present) else { return false };
            let (own, other) = (reach(base, &ours), reach(base, present));
            let slides = |(first, last): (usize, usize), text: &str| {
                last - first > base.lines().count().abs_diff(text.lines().count())
            };
            (slides(own, &ours) || slides(other, present)) && own.0 <= other.1 && other.0 <= own.1
        })
    }

    /// What may become of the edit. Where the agent saw the lines that go in two texts, the newer one may stand for both, or
    /// neither counts.
    fn expected(&self, scratch: &Path) -> Result<Vec<Verdict>, Broken> {
        let Some(present) = &self.present else { return Ok(vec![Verdict::Refused]) };
        let held = self.held();
        let bases = match self.over {
            Over::Hash(hash) => {
                let known = [Some(&self.base), self.again.as_ref(), Some(present)];
                let named = known.into_iter().flatten().find(|text| ContentHash::of(text.as_bytes()) == hash);
                match named {
                    Some(text) if self.edited(text).is_some() => vec![text],
                    _ => return Ok(vec![Verdict::Refused]),
                }
            }
            Over::Held if held.is_empty() && self.is_tied(present) => return Ok(vec![Verdict::Refused]),
            Over::Held => held,
            Over::Anything => Vec::new(),
        };
        let in_base = |base: &&String| self.in_base(base, present, scratch);
        let mut expected = bases.iter().map(in_base).collect::<Result<Vec<_>, _>>()?;
        // A read of another text may also end what was held.
        let may_be_lost = self.again.is_some() && matches!(self.over, Over::Held);
        if bases.len() != 1 || may_be_lost {
            expected.push(self.in_present(present));
        }
        Ok(expected)
    }

    fn in_base(&self, base: &String, present: &String, scratch: &Path) -> Result<Verdict, Broken> {
        let Some(ours) = self.edited(base) else { return Ok(Verdict::Refused) };
        if base == present {
            return Ok(Verdict::Made(ours));
        }
        match merge_file(scratch, [&ours, base, present])? {
            Judged::Clean(bytes) => Ok(Verdict::Merged(String::from_utf8(bytes)?)),
            Judged::Conflict(_) => Ok(Verdict::Conflict),
        }
    }

    /// Where nothing is known of a base: made where the text is as often as it may be, also where all lines are formatted
    /// otherwise; then the new ones are, too.
    fn in_present(&self, present: &str) -> Verdict {
        if let Some(text) = self.edited(present) {
            return Verdict::Made(text);
        }
        let style: fn(&str) -> String = if self.other == Other::CrLf { with_cr } else { indented };
        if !matches!(self.other, Other::CrLf | Other::Indents) {
            return Verdict::Refused;
        }
        let before = self.again.as_ref().unwrap_or(&self.base);
        match self.edited(before) {
            Some(text) if style(before) == present => Verdict::Made(style(&text)),
            Some(_) | None => Verdict::Refused,
        }
    }
}

/// The lines of a text between which all changes to another lie, wherever they are told to be.
fn reach(base: &str, text: &str) -> (usize, usize) {
    let (old, new): (Vec<&str>, Vec<&str>) = (base.lines().collect(), text.lines().collect());
    let same = |pairs: &mut dyn Iterator<Item = (&&str, &&str)>| pairs.take_while(|(a, b)| a == b).count();
    let head = same(&mut old.iter().zip(&new));
    let tail = same(&mut old.iter().rev().zip(new.iter().rev()));
    let shorter = old.len().min(new.len());
    let (gone, end) = (old.len() - shorter, old.len() - tail.min(shorter));
    (end.saturating_sub(gone).min(head), end.max(head + gone))
}

/// Where cases are run.
struct Place<'a> {
    engine: &'a Engine,
    root: &'a Path,
    scratch: &'a Path,
}

/// All that a refusal must leave as it is.
#[derive(Debug, PartialEq, Eq)]
struct State {
    files: BTreeMap<PathBuf, Vec<u8>>,
    changes: usize,
    conflicts: usize,
}

impl Place<'_> {
    fn run(&self, case: &Case) -> Result<&'static str, Broken> {
        let session = SessionName::parse(&case.name.replace('.', "-"))?;
        let path = self.root.join(&case.name);
        fs::write(&path, &case.base)?;
        self.read(&session, case, case.shown)?;
        if let Some(again) = &case.again {
            fs::write(&path, again)?;
            self.read(&session, case, case.shown_again)?;
        }
        match &case.present {
            Some(text) => {
                if matches!(case.other, Other::Recreates) {
                    fs::remove_file(&path)?;
                }
                fs::write(&path, text)?;
            }
            None => fs::remove_file(&path)?,
        }
        let mut expected = case.expected(self.scratch)?;
        let (before, held) = (self.state()?, self.held(&session, case)?);
        let places = if case.all { Places::All } else { Places::One };
        let change = Change::Replace { old: case.old.clone(), new: case.new.clone(), places };
        let write = Write { path: case.name.clone(), change, over: case.over };
        let outcome = self.engine.ask::<Written>(Some(&session), Operation::Write(write));
        let after = self.state()?;
        let found = match &outcome {
            Ok(written) => {
                for receipt in &written.receipts {
                    self.engine.delivered(receipt)?;
                }
                let text = fs::read_to_string(&path)?;
                let file = written.files.first().ok_or("no file")?;
                if file.after != Some(ContentHash::of(text.as_bytes())) {
                    return Err(format!("the answer tells of another text than is there: {written:?}").into());
                }
                if file.merged && !written.text.contains("merged with what someone else changed") {
                    return Err(format!("a merge that is not said: {:?}", written.text).into());
                }
                let versions = usize::from(!file.same);
                if (after.changes, after.conflicts) != (before.changes + versions, before.conflicts) {
                    return Err(format!("{before:?} became {after:?}, which is not one version").into());
                }
                if file.merged { Verdict::Merged(text) } else { Verdict::Made(text) }
            }
            Err(Error::Conflict { .. }) => Verdict::Conflict,
            Err(Error::Edit { .. } | Error::Precondition { .. } | Error::Snapshot(_) | Error::Missing { .. }) => {
                Verdict::Refused
            }
            Err(error) => return Err(format!("{error:?}").into()),
        };
        for other in case.told_otherwise() {
            expected.extend(other.expected(self.scratch)?);
        }
        let fits = |expected: &Verdict| match (expected, &found) {
            (Verdict::Merged(_), Verdict::Conflict) => case.is_disputed(),
            // Who saw a part of the newer text, and is then told of a change of it, need not be told of the rest.
            (Verdict::Merged(merged), Verdict::Made(made)) => merged == made && case.again.is_some(),
            (expected, found) => expected == found,
        };
        if !expected.iter().any(fits) {
            return Err(format!("expected {expected:?}\nfound {found:?}\n{outcome:?}").into());
        }
        if outcome.is_err() {
            let conflicts = before.conflicts + usize::from(found == Verdict::Conflict);
            if after != (State { conflicts, ..before }) {
                return Err("a refusal changed something".into());
            }
            let now = self.held(&session, case)?;
            // What was shown is of the text that is there; what was held of these lines before no longer is.
            let shown = shown(&outcome);
            // The last line of a shorter text may have had no newline, which it has now.
            let last = u32::try_from(case.base.lines().count()).unwrap_or(0);
            let passed = |number: u32| number == last && shown.last().is_some_and(|shown| *shown > last);
            let stays = |(number, _): &&Line| !shown.contains(number) && !passed(*number);
            let kept: BTreeSet<Line> = held.iter().filter(stays).copied().collect();
            let fresh = |line: &Line| !held.contains(line) && !shown.contains(&line.0);
            if !now.is_superset(&kept) || now.iter().any(fresh) {
                return Err(format!("a refusal changed what is held: {kept:?} became {now:?}").into());
            }
        }
        Ok(found.word())
    }

    fn read(&self, session: &SessionName, case: &Case, lines: Option<(usize, usize)>) -> Result<(), Broken> {
        let offset = lines.map(|(first, _)| first as u64);
        let limit = lines.map(|(first, last)| (last - first + 1) as u64);
        let read = Read { path: case.name.clone(), offset, limit, ..Read::default() };
        let answer = self.engine.read(Some(session), read)?;
        let receipt = answer.given.ok_or_else(|| format!("not recorded: {:?}", answer.notices))?;
        self.engine.delivered(&receipt)?;
        Ok(())
    }

    fn store(&self) -> Result<LocalStore, Broken> {
        Ok(LocalStore::open_existing(&Root::open(self.root)?)?.ok_or("there is no store")?)
    }

    fn state(&self) -> Result<State, Broken> {
        let mut files = BTreeMap::new();
        for entry in fs::read_dir(self.root)? {
            let path = entry?.path();
            if path.is_file() {
                files.insert(path.clone(), fs::read(path)?);
            }
        }
        let versions = Versions::open(&self.store()?, Create::No, 0)?;
        let count = |versions: &Versions| (versions.changes().count(), versions.conflicts().count());
        let (changes, conflicts) = versions.as_ref().map_or((0, 0), count);
        Ok(State { files, changes, conflicts })
    }

    /// What is held of the file.
    fn held(&self, session: &SessionName, case: &Case) -> Result<BTreeSet<Line>, Broken> {
        let answers = readproof_engine::Settings::default().answers;
        let session = Session::open(&self.store()?, session, Create::No, answers)?.ok_or("there is no session")?;
        let knowledge = session.knowledge();
        let mut lines = BTreeSet::new();
        for held in knowledge.of(&PathKey::new(&case.name)) {
            for (version, span) in held.versions().zip(std::iter::repeat(held.lines())) {
                lines.extend(span.iter().flat_map(|span| span.first()..=span.last()).map(|line| (line, version.hash)));
            }
        }
        Ok(lines)
    }
}

/// A line of a text.
type Line = (u32, ContentHash);

/// The numbers of the lines that a refusal shows.
fn shown(outcome: &Result<Written, Error>) -> BTreeSet<u32> {
    let runs = match outcome {
        Err(Error::Conflict { shown, .. } | Error::Edit { shown, .. }) => shown.as_slice(),
        Ok(_) | Err(_) => &[],
    };
    runs.iter().flat_map(|run| run.first..run.first + u32::try_from(run.lines.len()).unwrap_or(0)).collect()
}

fn line(at: usize, random: &mut Random) -> String {
    let indent = "    ".repeat(random.below(3));
    match random.below(8) {
        0 => String::new(),
        1 => format!("{indent}}}"),
        2 => format!("{indent}größe_{at} = \"é\";"),
        _ => format!("{indent}let value_{at} = {};", random.below(1000)),
    }
}

fn text_of(lines: &[String], random: &mut Random) -> String {
    let mut text = lines.join("\n");
    // Without one, the last line must not be blank: nobody would see it.
    if random.below(8) > 0 || lines.last().is_none_or(String::is_empty) {
        text.push('\n');
    }
    text
}

/// A change that the agent wants: old, new, and the lines of the base that it touches.
fn wanted(base: &str, random: &mut Random) -> (String, String, (usize, usize)) {
    let lines: Vec<&str> = base.lines().collect();
    loop {
        let first = random.below(lines.len());
        let last = (first + random.below(4)).min(lines.len() - 1);
        let (old, new) = if random.below(3) == 0 {
            // Within a line.
            let line = lines[first].trim();
            (line.to_owned(), format!("{line} // {:04x}", random.below(1 << 16)))
        } else {
            let old: String = lines[first..=last].iter().map(|line| format!("{line}\n")).collect();
            let fresh = format!("let fresh_{:08x} = 1;\n", random.bits() >> 32);
            let new = match random.below(4) {
                0 => format!("{old}{fresh}"),
                1 => String::new(),
                _ => fresh,
            };
            (old, new)
        };
        let end = if old.ends_with('\n') { last } else { first };
        if old.trim().len() > 3 && base.contains(&old) {
            // A line that occurs more than once may stand there; the oracle counts.
            return (old, new, (first + 1, end + 1));
        }
    }
}

/// What someone else leaves.
fn present(base: &str, other: Other, (old, new): (&str, &str), random: &mut Random) -> Option<String> {
    let at = base.find(old).unwrap_or(0);
    let first = base[..at].matches('\n').count();
    let count = old.lines().count();
    let mut lines: Vec<String> = base.split_inclusive('\n').map(str::to_owned).collect();
    let end = (first + count).min(lines.len());
    let fresh = |random: &mut Random| format!("other {:08x}\n", random.bits() >> 32);
    match other {
        Other::Nothing | Other::Recreates => {}
        Other::SamePlace => lines[first + random.below(end - first)] = fresh(random),
        Other::SameEdit => return Some(base.replacen(old, new, 1)),
        Other::Beside => {
            let near =
                if random.below(2) == 0 { first.saturating_sub(1 + random.below(3)) } else { end + random.below(3) };
            let near = near.min(lines.len());
            if random.below(2) == 0 || near == lines.len() {
                if near == lines.len() && !base.ends_with('\n') {
                    return Some(format!("{base}\n{}", fresh(random)));
                }
                lines.insert(near, fresh(random));
            } else {
                lines[near] = fresh(random);
            }
        }
        Other::Above => {
            for _ in 0..1 + random.below(3) {
                lines.insert(0, fresh(random));
            }
        }
        Other::WholeFile => lines = (0..3 + random.below(20)).map(|_| fresh(random)).collect(),
        Other::Moves => {
            let moved: Vec<String> = lines.drain(first..end).collect();
            let to = random.below(lines.len() + 1);
            lines.splice(to..to, moved);
        }
        Other::Copies => {
            let copy: Vec<String> = lines[first..end].to_vec();
            let to = random.below(first + 1);
            lines.splice(to..to, copy);
        }
        Other::Deletes => return None,
        Other::Indents => return Some(indented(base)),
        Other::CrLf => return Some(with_cr(base)),
    }
    Some(lines.concat())
}

fn inserted(base: &str, before: usize, random: &mut Random) -> String {
    let mut lines: Vec<String> = base.split_inclusive('\n').map(str::to_owned).collect();
    for _ in 0..1 + random.below(12) {
        lines.insert(before.min(lines.len() - 1), format!("again {:08x}\n", random.bits() >> 32));
    }
    lines.concat()
}

/// Every line that is not blank, four columns deeper.
fn indented(text: &str) -> String {
    let deeper = |line: &str| if line.trim().is_empty() { line.to_owned() } else { format!("    {line}") };
    text.split_inclusive('\n').map(deeper).collect()
}

fn with_cr(text: &str) -> String {
    text.replace('\n', "\r\n")
}
