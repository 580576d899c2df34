//! What a conversation is in the middle of: its recent calls, the files it was shown and whether they still are so, what waits for a
//! person, and what is not committed. Names and states only; no line of a file is shown. Every list is bounded.

use readproof_core::{
    operation::{Against, AnswerLimit, Caller, Compare},
    scope::Lines,
    text::ContentHash,
};
use readproof_disk::{BlobId, Create};
use readproof_hosts::versions::OpenedConflict;
use readproof_index::{Holds, Registered};
use std::collections::{BTreeMap, BTreeSet};

use super::{is_change, log::HistoryEntry, tell::Present};
use crate::{Approval, ApprovalState, Control, Conversation, DiffStatus, Engine, Error, Keeping};

/// The most recent calls that are named.
const MOST_RECENT: usize = 20;

/// The most files that are named of each kind.
const MOST_FILES: usize = 50;

/// The most changes, conflicts and calls that wait.
const MOST_ENTRIES: usize = 10;

/// The most files that are compared with what git keeps of them, byte by byte.
const MOST_COMPARED: usize = 200;

/// What a conversation is in the middle of.
#[derive(Debug, Default)]
pub struct ContextFound {
    /// Files that it read or wrote, the latest first, each once.
    pub recent: Vec<RecentFile>,
    /// Files that it was shown or made, by name.
    pub files: Vec<KnownFile>,
    /// How many there are.
    pub files_total: u64,
    /// Its own newest changes, the newest first.
    pub own: Vec<HistoryEntry>,
    /// How many changes others made since its own newest one.
    pub others: u64,
    /// Calls of it that wait for a person.
    pub waiting: Vec<Approval>,
    /// Conflicts that are open.
    pub conflicts: Vec<OpenedConflict>,
    /// What differs from the commit that is checked out; `None` without a repository.
    pub uncommitted: Option<Uncommitted>,
}

/// A file that was read or written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecentFile {
    /// Relative to the workspace root.
    pub path: String,
    /// Whether the latest call wrote it.
    pub written: bool,
}

/// A file of which a conversation was shown something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownFile {
    /// Relative to the workspace root.
    pub path: String,
    /// Whether all of it is held; `None` where what is held is not known until the model says what it still sees.
    pub whole: Option<bool>,
    /// The lines that are held.
    pub lines: Vec<Lines>,
    /// Whether it is still what was shown.
    pub state: KnownState,
}

/// Whether a file is what a conversation was shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnownState {
    /// It is.
    Same,
    /// It has another text.
    Changed,
    /// It is gone.
    Gone,
    /// No text of it is looked at.
    Unknown,
}

impl KnownState {
    /// The identifier used on every wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Changed => "changed",
            Self::Gone => "gone",
            Self::Unknown => "unknown",
        }
    }
}

/// What differs from the commit that is checked out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Uncommitted {
    /// Files with how they differ, by name.
    pub files: Vec<(String, DiffStatus)>,
    /// How many there are at least.
    pub total: u64,
    /// Whether some files were not compared, as too many may differ.
    pub more: bool,
}

impl ContextFound {
    pub(crate) fn rename(&mut self, rename: &dyn Fn(&mut String)) {
        self.recent.iter_mut().for_each(|file| rename(&mut file.path));
        self.files.iter_mut().for_each(|file| rename(&mut file.path));
        self.own.iter_mut().for_each(|entry| entry.rename(rename));
        self.conflicts.iter_mut().for_each(|open| rename(&mut open.conflict.path));
        self.uncommitted.iter_mut().flat_map(|found| &mut found.files).for_each(|(path, _)| rename(path));
    }
}

impl Engine {
    /// What the conversation is in the middle of.
    pub(crate) fn context<C: Conversation>(
        &self,
        caller: &Caller,
        conversation: &mut C,
        control: &Control<'_>,
    ) -> Result<ContextFound, Error> {
        self.look_around(control)?;
        let rows = self.registry()?.as_ref().map(|registry| registry.files()).transpose()?.unwrap_or_default();
        let (files, files_total) = self.known_now(conversation)?;
        let (own, others) = self.own_changes(caller)?;
        let is_waiting = |approval: &Approval| {
            let of_conversation = approval.request.asked.by.is_of(caller);
            let named = approval.request.asked.paths.iter().all(|path| self.may_name(path));
            approval.state == ApprovalState::Waiting && of_conversation && named
        };
        let mut waiting: Vec<Approval> = self.list_approvals(false)?;
        waiting.retain(is_waiting);
        waiting.truncate(MOST_ENTRIES);
        let mut conflicts = self.list_conflicts(false)?;
        conflicts.truncate(MOST_ENTRIES);
        let mut recent = conversation.recent(self);
        recent.retain(|file| self.may_name(&file.path));
        recent.truncate(MOST_RECENT);
        let is_off = self.shared.settings.history == Keeping::Off;
        let uncommitted = if is_off { None } else { self.uncommitted(&rows, control)? };
        Ok(ContextFound { recent, files, files_total, own, others, waiting, conflicts, uncommitted })
    }

    /// The files that a conversation was shown, compared with what is there.
    fn known_now<C: Conversation>(&self, conversation: &mut C) -> Result<(Vec<KnownFile>, u64), Error> {
        let known = match conversation.known_files(self) {
            Ok(known) => known,
            Err(Error::NoConversation | Error::NoSession(_)) => return Ok((Vec::new(), 0)),
            Err(error) => return Err(error),
        };
        let names: BTreeSet<String> =
            known.iter().map(ToString::to_string).filter(|path| self.may_name(path)).collect();
        let last = conversation.last_texts(self, &names);
        let held = conversation.status(self)?.map(|status| status.files).unwrap_or_default();
        let total = last.len() as u64;
        let state = |path: &str, shown: ContentHash| match self.present_text(path) {
            Present::Text(text) if text.hash() == shown => KnownState::Same,
            Present::Text(_) => KnownState::Changed,
            Present::Gone => KnownState::Gone,
            Present::Hidden => KnownState::Unknown,
        };
        let file = |(path, shown): (&String, &ContentHash)| {
            let held = held.iter().find(|held| held.path == *path);
            KnownFile {
                path: path.clone(),
                whole: held.map(|held| held.whole),
                lines: held.map(|held| held.lines.iter().map(|(lines, _)| *lines).collect()).unwrap_or_default(),
                state: state(path, *shown),
            }
        };
        Ok((last.iter().take(MOST_FILES).map(file).collect(), total))
    }

    /// The conversation's own newest changes, and how many others made since.
    fn own_changes(&self, caller: &Caller) -> Result<(Vec<HistoryEntry>, u64), Error> {
        let found = self.with_versions(Create::No, |versions| {
            let (mut own, mut others) = (Vec::new(), 0);
            for (id, change) in versions.changes().rev().filter(|(_, change)| change.event.is_none()) {
                let Some(entry) = self.entry(versions, id, None) else { continue };
                match change.by.is_of(caller) {
                    true => own.push(entry),
                    false => others += u64::from(own.is_empty() && is_change(&entry.operation)),
                }
                if own.len() == MOST_ENTRIES {
                    break;
                }
            }
            Ok((own, others))
        })?;
        Ok(found.unwrap_or_default())
    }

    /// What differs from the commit that is checked out.
    fn uncommitted(
        &self,
        rows: &BTreeMap<String, Registered>,
        control: &Control<'_>,
    ) -> Result<Option<Uncommitted>, Error> {
        let question = self.git_question(control);
        let Some(committed) = self.root.committed(&question) else { return Ok(None) };
        let tracked = self.root.tracked(&question);
        let is_met = |row: &Registered| row.walked && row.holds != Holds::Unseen;
        let met = rows.iter().filter(|(path, row)| is_met(row) && self.may_name(path)).map(|(path, _)| path);
        let staged = tracked.names(None, |name| committed.contains_key(name));
        let names = committed.keys().map(String::as_str).chain(staged).chain(met.map(String::as_str));
        let names: BTreeSet<&str> = names.collect();
        let (mut found, mut compared) = (Uncommitted::default(), 0);
        for path in names {
            control.check_cancelled()?;
            let (head, is_tracked) = (committed.get(path), tracked.get(path).is_some());
            let status = match known_status(rows.get(path), head, is_tracked) {
                Some(status) => status,
                None if self.root.glance(path).is_none() => DiffStatus::Deleted,
                None if compared == MOST_COMPARED => {
                    found.more = true;
                    continue;
                }
                None => {
                    compared += 1;
                    self.status_against_head(path, control)?
                }
            };
            if status == DiffStatus::Unchanged {
                continue;
            }
            found.total += 1;
            if found.files.len() < MOST_FILES {
                found.files.push((path.to_owned(), status));
            }
        }
        Ok(Some(found))
    }

    /// Compared as git compares: with its filters, and by mode.
    fn status_against_head(&self, path: &str, control: &Control<'_>) -> Result<DiffStatus, Error> {
        let most = AnswerLimit { lines: 0, chars: 0 };
        let asked = Compare { path: self.root.absolute(path), against: Against::Head, content: None, most };
        match self.compare(None, &asked, control) {
            Ok(found) => Ok(found.status),
            Err(Error::Aborted) => Err(Error::Aborted),
            // Too large to compare, or not to be read: it differs from what git would show without effort.
            Err(_) => Ok(DiffStatus::Modified),
        }
    }
}

/// How a file differs from the commit, as far as the registry tells; `None` if it must be looked at.
fn known_status(row: Option<&Registered>, head: Option<&BlobId>, is_tracked: bool) -> Option<DiffStatus> {
    let row = row.filter(|row| row.holds != Holds::Unseen)?;
    let blob = row.hash().and_then(|hash| row.blob_of(hash));
    match (blob, head) {
        (Some(blob), Some(head)) if blob == *head => Some(DiffStatus::Unchanged),
        (Some(_), Some(_)) => Some(DiffStatus::Modified),
        (Some(_), None) => Some(DiffStatus::Added),
        (None, None) if !is_tracked => Some(DiffStatus::Untracked),
        (None, None) => Some(DiffStatus::Added),
        (None, Some(_)) => None,
    }
}
