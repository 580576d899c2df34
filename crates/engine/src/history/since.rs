//! What others changed since a moment: which files, by whom, and all of it as diffs. Lines that are shown are recorded as seen.

use readproof_core::{
    diff::{Side, fit, patches},
    limits::TEXT_CHARS,
    operation::{Caller, Changes},
    text::Text,
};
use readproof_disk::{Create, SessionName};
use readproof_hosts::versions::{By, Change, VersionId, Versions};

use super::{is_change, log::HistoryEntry, state::State};
use crate::{Control, Engine, Error, read::Glimpse};

/// The most changes that are listed.
const MOST_CHANGES: usize = 200;

/// The most files of which a diff is shown.
const MOST_DIFFS: usize = 50;

/// What others changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangesFound {
    /// Since this record of the log.
    pub since: VersionId,
    /// The changes, oldest first.
    pub entries: Vec<HistoryEntry>,
    /// How many there are.
    pub total: u64,
    /// Every file that is not as it was, as one diff.
    pub diff: String,
    /// Files that changed and whose diff is not shown, or only in part.
    pub unshown: Vec<String>,
}

/// A file that others changed: what it was before and after, once for each run of changes with none of the caller's own between.
type Changed = (String, Vec<(State, State)>);

impl Engine {
    /// What others changed since a moment.
    pub(crate) fn changes(
        &self,
        (caller, log): (&Caller, Option<&SessionName>),
        asked: &Changes,
        control: &Control<'_>,
    ) -> Result<ChangesFound, Error> {
        let call = self.asked_in(log);
        self.look_around(control)?;
        let found = self.with_versions(Create::No, |versions| Ok(self.others(versions, caller, asked)))?;
        let (since, mut entries, total, files) = match found {
            Some(found) => found?,
            None => (VersionId(0), Vec::new(), 0, Vec::new()),
        };
        self.mark_erased(&mut entries);
        let (mut diff, mut unshown, mut left) = (String::new(), Vec::new(), TEXT_CHARS);
        let mut glimpses = Vec::new();
        let runs = files.into_iter().flat_map(|(path, runs)| runs.into_iter().map(move |run| (path.clone(), run)));
        for (at, (path, states)) in runs.enumerate() {
            let Some(fitted) = self.between(&path, states, left, control)?.filter(|_| at < MOST_DIFFS) else {
                unshown.push(path);
                continue;
            };
            left = left.saturating_sub(u32::try_from(fitted.text.chars().count()).unwrap_or(u32::MAX));
            glimpses.extend(['+', '-'].map(|side| Glimpse::diff(&path, &fitted.text, side)));
            diff.push_str(&fitted.text);
            if fitted.is_cut() {
                unshown.push(path);
            }
        }
        unshown.dedup();
        for notice in self.saw(log, call, glimpses.into_iter()) {
            self.add_notice(notice);
        }
        Ok(ChangesFound { since, entries, total, diff, unshown })
    }

    fn others(
        &self,
        versions: &Versions,
        caller: &Caller,
        asked: &Changes,
    ) -> Result<(VersionId, Vec<HistoryEntry>, u64, Vec<Changed>), Error> {
        let is_own = |by: &By| by.is_of(caller);
        let since = match &asked.since {
            Some(asked) => self.moment(versions, asked)?,
            None => {
                let own = versions.changes().rev().find(|(_, change)| is_own(&change.by)).map(|(id, _)| id);
                own.unwrap_or(VersionId(0))
            }
        };
        let (mut entries, mut total, mut paths) = (Vec::new(), 0, Vec::<String>::new());
        let is_event = |change: &Change| change.event.is_none() && !is_own(&change.by);
        for (id, _) in versions.changes().filter(|(id, change)| *id > since && is_event(change)) {
            let Some(entry) = self.entry(versions, id, None).filter(|entry| is_change(&entry.operation)) else {
                continue;
            };
            total += 1;
            for (file, _) in &entry.files {
                if !paths.contains(&file.path) {
                    paths.push(file.path.clone());
                }
            }
            if entries.len() < MOST_CHANGES {
                entries.push(entry);
            }
        }
        let runs = |path: String| {
            let (mut runs, mut consecutive) = (Vec::<(State, State)>::new(), false);
            for (_, change, file) in versions.of_path(&path).filter(|(id, _, _)| *id > since) {
                if is_own(&change.by) {
                    consecutive = false;
                    continue;
                }
                let after = State::after(file);
                // Met for the first time: that is where it begins.
                let before = match State::before(file, &change.operation) {
                    State::Unknown => after,
                    known @ (State::Text(_) | State::Absent | State::Gap(_)) => known,
                };
                match runs.last_mut().filter(|_| consecutive) {
                    Some(run) => run.1 = after,
                    None => runs.push((before, after)),
                }
                consecutive = true;
            }
            runs.retain(|(before, after)| before != after);
            (path, runs)
        };
        let files = paths.into_iter().map(runs).filter(|(_, runs)| !runs.is_empty()).collect();
        Ok((since, entries, total, files))
    }

    /// The diff between two states of a file; `None` if one of them is not kept.
    fn between(
        &self,
        path: &str,
        (then, now): (State, State),
        chars: u32,
        control: &Control<'_>,
    ) -> Result<Option<readproof_core::diff::Fitted>, Error> {
        let text = |state: State| -> Option<Option<Text>> {
            match state {
                State::Text(hash) => self.recorded(hash).ok().map(Some),
                State::Absent => Some(None),
                State::Gap(_) | State::Unknown => None,
            }
        };
        let (Some(before), Some(after)) = (text(then), text(now)) else { return Ok(None) };
        let side = |text| Some(Side { mode: "100644", text: Some(text), same: false });
        let found = patches(path, before.as_ref().and_then(side), after.as_ref().and_then(side), control.cancelled);
        let fitted = fit(&found.ok_or(Error::Aborted)?, u32::MAX, chars);
        Ok(Some(fitted).filter(|fitted| !fitted.text.is_empty()))
    }
}
