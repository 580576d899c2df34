//! Which change wrote each line of a file: each known text is compared with the one before it, oldest first.

use readproof_core::{
    diff::changed_lines,
    operation::{AnswerLimit, Blame},
    scope::ScopeError,
    text::{ContentHash, Text},
};
use readproof_disk::{Create, SessionName};
use readproof_hosts::versions::{By, Gap, VersionId, Versions};
use std::collections::BTreeMap;

use super::{log::cut, state::State};
use crate::{Control, Engine, Error, StoodOn, read::Glimpse};

/// The most versions that are compared; lines older than that are of unknown origin.
const MOST_VERSIONS: usize = 1000;

/// Who changed a line last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlamedLine {
    /// From 1.
    pub number: u32,
    /// The change that wrote it; `None` if it is older than what is known.
    pub version: Option<VersionId>,
    /// Without its terminator.
    pub text: String,
}

/// The lines of a file, each with its origin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blamed {
    /// Relative to the workspace root.
    pub path: String,
    /// Those that were asked for and fit.
    pub lines: Vec<BlamedLine>,
    /// How many lines the file has.
    pub total: u32,
    /// Whether some that were asked for do not fit.
    pub is_cut: bool,
    /// The changes that are named: the operation, who, and when.
    pub changes: BTreeMap<VersionId, (String, By, u64)>,
    /// The changes whose text was erased: who wrote a line before one of them is not known.
    pub erased: Vec<VersionId>,
}

impl Engine {
    /// Which change wrote each line.
    pub(crate) fn blame(
        &self,
        log: Option<&SessionName>,
        asked: &Blame,
        control: &Control<'_>,
    ) -> Result<Blamed, Error> {
        let call = self.asked_in(log);
        let target = self.resolve_target(&asked.path, asked.offset, asked.limit)?;
        self.look_around(control)?;
        let path = target.file.key().to_string();
        let read = self.root.snapshot(&target.file, &self.snapshot_rules())?;
        if self.shared.sensitive.is_sensitive_read(&target.file, &read) {
            self.stands_on(|| StoodOn::sensitive(&path));
            return Err(Error::SensitiveVersion { path });
        }
        self.stands_on(|| StoodOn::text(&path, &read.text));
        let (origins, changes, erased) = self.origins(&self.logged_name(&target.file), &read.text, control)?;
        let first = u32::try_from(target.offset.unwrap_or(1)).unwrap_or(u32::MAX).max(1);
        let count = u32::try_from(target.limit.unwrap_or(u64::MAX)).unwrap_or(u32::MAX);
        let last = first.saturating_add(count - u32::from(count > 0)).min(read.text.total());
        if first > read.text.total() && read.text.total() > 0 {
            let source = ScopeError::BeyondEnd { offset: first.into(), total: read.text.total() };
            return Err(Error::Range { path, source });
        }
        self.notes_input("lines", || format!("{first} {last}"));
        let wanted = wanted(&read.text, (first, last));
        let (shown, fitting) = cut(&wanted, asked.most);
        let lines = lines(first, shown, &origins);
        let named = |id: &VersionId| lines.iter().any(|line| line.version == Some(*id));
        let changes = changes.into_iter().filter(|(id, _)| named(id)).collect();
        let glimpse = Glimpse::text(&path, first.into(), shown);
        for notice in self.saw(log, call, [glimpse].into_iter()) {
            self.add_notice(notice);
        }
        Ok(Blamed { path, lines, total: read.text.total(), is_cut: fitting < wanted.total(), changes, erased })
    }

    /// The changes of a file that may be shown, oldest first, with those that it had under earlier names.
    fn with_moves(&self, versions: &Versions, path: &str) -> Vec<Known> {
        let (mut found, mut name, mut until) = (Vec::new(), path, versions.newest());
        loop {
            let mut from = None;
            for (id, change, file) in versions.of_path(name).rev().filter(|(id, _, _)| *id <= until) {
                if !self.may_see(versions, name, id) {
                    break;
                }
                let about = (change.operation.to_string(), change.by.clone(), change.at);
                let states = (State::before(file, &change.operation), State::after(file));
                found.push((versions.event_of(id), states.0, states.1, about));
                if let Some(earlier) = &file.from {
                    from = Some((earlier.as_str(), VersionId(id.0.saturating_sub(1))));
                    break;
                }
            }
            match from {
                Some(earlier) => (name, until) = earlier,
                None => break,
            }
        }
        found.reverse();
        found
    }

    /// For each line of the present text the change that wrote it.
    fn origins(&self, path: &str, present: &Text, control: &Control<'_>) -> Result<Origins, Error> {
        let known = self.with_versions(Create::No, |versions| Ok(self.with_moves(versions, path)))?;
        let known = known.unwrap_or_default();
        let known = known.get(known.len().saturating_sub(MOST_VERSIONS)..).unwrap_or_default();
        let steps = known.iter().map(|(id, before, after, _)| (*id, Side::of(before), Side::of(after)));
        let mut steps: Vec<Step> = steps.collect();
        let mut lost = BTreeMap::new();
        let origins = carried_on(&steps, present, &mut |hash| {
            control.check_cancelled()?;
            let found = self.recorded(hash);
            lost.extend(found.as_ref().err().map(|gap| (hash, *gap)));
            Ok::<_, Error>(found.ok())
        })?;
        let is_erased = |(_, _, after): &&Step| after.hash().and_then(|hash| lost.get(&hash)) == Some(&Gap::Erased);
        let erased = steps.iter().filter(is_erased).map(|(id, ..)| *id).collect();
        for side in steps.iter_mut().flat_map(|(_, before, after)| [before, after]) {
            if side.hash().is_some_and(|hash| lost.contains_key(&hash)) {
                *side = Side::Unknown;
            }
        }
        self.notes_text("origins", || steps.iter().map(noted).collect());
        let changes = known.iter().map(|(id, _, _, about)| (*id, about.clone())).collect();
        Ok((origins, changes, erased))
    }
}

/// Blame of a text as it was, from the texts before it that were noted; `None` if that is not a note.
pub(crate) fn blamed_again<E>(
    most: AnswerLimit,
    text: &Text,
    (lines_noted, steps_noted): (&str, &str),
    load: &mut dyn FnMut(ContentHash) -> Result<Option<Text>, E>,
) -> Result<Option<Blamed>, E> {
    let steps: Option<Vec<Step>> = steps_noted.lines().map(step).collect();
    let range = lines_noted.split_once(' ').and_then(|(first, last)| Some((first.parse().ok()?, last.parse().ok()?)));
    let (Some(steps), Some((first, last))) = (steps, range) else { return Ok(None) };
    let origins = carried_on(&steps, text, load)?;
    let wanted = wanted(text, (first, last));
    Ok(Some(Blamed { lines: lines(first, cut(&wanted, most).0, &origins), ..Blamed::default() }))
}

/// A file before or after a change, as far as its text is at hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Absent,
    Text(ContentHash),
    Unknown,
}

/// A change of a file.
type Step = (VersionId, Side, Side);

impl Side {
    fn of(state: &State) -> Self {
        match state {
            State::Text(hash) => Self::Text(*hash),
            State::Absent => Self::Absent,
            State::Gap(_) | State::Unknown => Self::Unknown,
        }
    }

    fn hash(self) -> Option<ContentHash> {
        if let Self::Text(hash) = self { Some(hash) } else { None }
    }

    fn word(self) -> String {
        match self {
            Self::Absent => "-".to_owned(),
            Self::Text(hash) => hash.to_string(),
            Self::Unknown => "?".to_owned(),
        }
    }

    fn parse(word: &str) -> Option<Self> {
        match word {
            "-" => Some(Self::Absent),
            "?" => Some(Self::Unknown),
            hash => ContentHash::parse(hash).map(Self::Text),
        }
    }
}

fn noted((id, before, after): &Step) -> String {
    format!("{id} {} {}\n", before.word(), after.word())
}

fn step(line: &str) -> Option<Step> {
    let mut words = line.split(' ');
    let mut next = || words.next();
    Some((VersionId::parse(next()?)?, Side::parse(next()?)?, Side::parse(next()?)?))
}

/// For each line of a text the change that wrote it, from the texts before and after each change.
fn carried_on<E>(
    steps: &[Step],
    present: &Text,
    load: &mut dyn FnMut(ContentHash) -> Result<Option<Text>, E>,
) -> Result<Vec<Option<VersionId>>, E> {
    let (mut text, mut origins): (Option<Text>, Vec<Option<VersionId>>) = (None, Vec::new());
    for (id, before, after) in steps {
        if text.is_none() {
            text = before.hash().map_or(Ok(None), &mut *load)?;
            origins = vec![None; text.as_ref().map_or(0, Text::total) as usize];
        }
        let after = match after {
            Side::Text(hash) => load(*hash)?,
            Side::Absent => Some(Text::new(String::new())),
            Side::Unknown => None,
        };
        let is_new = text.is_none() && *before == Side::Absent;
        origins = match (&text, &after) {
            (Some(old), Some(new)) => carried(old, new, &origins, Some(*id)),
            (None, Some(new)) => vec![is_new.then_some(*id); new.total() as usize],
            (_, None) => Vec::new(),
        };
        text = after;
    }
    Ok(match &text {
        Some(old) => carried(old, present, &origins, None),
        None => vec![None; present.total() as usize],
    })
}

fn wanted(text: &Text, (first, last): (u32, u32)) -> Text {
    Text::new((first..=last.min(text.total())).map(|number| text.line(number)).collect())
}

fn lines(first: u32, shown: &str, origins: &[Option<VersionId>]) -> Vec<BlamedLine> {
    let line = |(number, line): (u32, &str)| BlamedLine {
        number,
        version: (number as usize).checked_sub(1).and_then(|at| origins.get(at).copied().flatten()),
        text: line.strip_suffix('\n').unwrap_or(line).to_owned(),
    };
    (first..).zip(shown.split_inclusive('\n')).map(line).collect()
}

/// A change with both states, and about it the operation, who and when.
type Known = (VersionId, State, State, (String, By, u64));

/// The change that wrote each line; about each change the operation, who and when; the changes whose text was erased.
type Origins = (Vec<Option<VersionId>>, BTreeMap<VersionId, (String, By, u64)>, Vec<VersionId>);

/// The origins of the lines of another text: those that stay keep theirs.
fn carried(old: &Text, new: &Text, origins: &[Option<VersionId>], by: Option<VersionId>) -> Vec<Option<VersionId>> {
    let mut carried = Vec::with_capacity(new.total() as usize);
    let mut at = 0;
    for (before, instead) in changed_lines(old, new) {
        carried.extend(origins.iter().take(before.start as usize).skip(at).copied());
        carried.extend(std::iter::repeat_n(by, instead.len()));
        at = before.end as usize;
    }
    carried.extend(origins.iter().skip(at).copied());
    carried.resize(new.total() as usize, by);
    carried
}
