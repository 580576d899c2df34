//! Which change wrote each line of a file: each known text is compared with the one before it, oldest first.

use readproof_core::{diff::changed_lines, operation::Blame, scope::ScopeError, text::Text};
use readproof_disk::{Create, SessionName};
use readproof_hosts::versions::{By, Gap, VersionId, Versions};
use std::collections::BTreeMap;

use super::{log::cut, state::State};
use crate::{Control, Engine, Error, read::Glimpse};

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
            return Err(Error::SensitiveVersion { path });
        }
        let (origins, changes, erased) = self.origins(&self.logged_name(&target.file), &read.text, control)?;
        let first = u32::try_from(target.offset.unwrap_or(1)).unwrap_or(u32::MAX).max(1);
        let count = u32::try_from(target.limit.unwrap_or(u64::MAX)).unwrap_or(u32::MAX);
        let last = first.saturating_add(count - u32::from(count > 0)).min(read.text.total());
        if first > read.text.total() && read.text.total() > 0 {
            let source = ScopeError::BeyondEnd { offset: first.into(), total: read.text.total() };
            return Err(Error::Range { path, source });
        }
        let wanted: String = (first..=last).map(|number| read.text.line(number)).collect();
        let wanted = Text::new(wanted);
        let (shown, fitting) = cut(&wanted, asked.most);
        let lines: Vec<BlamedLine> = (first..)
            .zip(shown.split_inclusive('\n'))
            .map(|(number, line)| BlamedLine {
                number,
                version: origins.get(number as usize - 1).copied().flatten(),
                text: line.strip_suffix('\n').unwrap_or(line).to_owned(),
            })
            .collect();
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
        let skipped = known.len().saturating_sub(MOST_VERSIONS);
        let (mut text, mut origins): (Option<Text>, Vec<Option<VersionId>>) = (None, Vec::new());
        let (mut changes, mut erased) = (BTreeMap::new(), Vec::new());
        for (id, before, after, about) in known.into_iter().skip(skipped) {
            control.check_cancelled()?;
            changes.insert(id, about);
            if text.is_none() {
                text = before.hash().and_then(|hash| self.recorded(hash).ok());
                origins = vec![None; text.as_ref().map_or(0, Text::total) as usize];
            }
            let after = match after {
                State::Text(hash) => {
                    let recorded = self.recorded(hash);
                    erased.extend((recorded.as_ref().err() == Some(&Gap::Erased)).then_some(id));
                    recorded.ok()
                }
                State::Absent => Some(Text::new(String::new())),
                State::Gap(_) | State::Unknown => None,
            };
            let is_new = text.is_none() && before == State::Absent;
            origins = match (&text, &after) {
                (Some(old), Some(new)) => carried(old, new, &origins, Some(id)),
                (None, Some(new)) => vec![is_new.then_some(id); new.total() as usize],
                (_, None) => Vec::new(),
            };
            text = after;
        }
        let origins = match &text {
            Some(old) => carried(old, present, &origins, None),
            None => vec![None; present.total() as usize],
        };
        Ok((origins, changes, erased))
    }
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
