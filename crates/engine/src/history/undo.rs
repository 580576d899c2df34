//! What a rewind makes of one file: the text that it had, the present text without the conversation's own changes, or nothing, with
//! the reason. Looks at the disk for what stands in the way, and touches nothing.

use readproof_core::{
    operation::Caller,
    policy::Act,
    text::{ContentHash, Text},
};
use readproof_disk::{FileRef, Obstacle};
use readproof_hosts::{
    block::Sha,
    versions::{By, Conflict, Gap, VersionId},
};

use super::state::State;
use crate::{Engine, Error, Merged, three_way};

/// What becomes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undo {
    /// It gets the text that it had.
    Restored,
    /// It comes back.
    Made,
    /// It goes: it was not there.
    Removed,
    /// The conversation's own changes are undone; what others changed stays.
    Merged,
    /// It stays: its text of that moment is not known, or not kept.
    NotKnown(Gap),
    /// It stays: what is there now could not be brought back.
    NotKept(Gap),
    /// It stays: it holds rules, which belong to the person. One that is named goes back.
    Rules,
    /// It stays: a rule does not let this caller change it.
    Denied,
    /// It stays: something is in the way.
    Blocked(Obstacle),
    /// It stays: others changed the same lines. The conflict, once it is recorded.
    Conflict(Option<VersionId>),
}

impl Undo {
    /// The identifier used on every wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Restored => "restored",
            Self::Made => "made",
            Self::Removed => "removed",
            Self::Merged => "merged",
            Self::NotKnown(_) => "not_known",
            Self::NotKept(_) => "not_kept",
            Self::Rules => "rules",
            Self::Denied => "denied",
            Self::Blocked(_) => "blocked",
            Self::Conflict(_) => "conflict",
        }
    }

    /// Whether the file stays as it is.
    #[must_use]
    pub fn stays(self) -> bool {
        match self {
            Self::Restored | Self::Made | Self::Removed | Self::Merged => false,
            Self::NotKnown(_)
            | Self::NotKept(_)
            | Self::Rules
            | Self::Denied
            | Self::Blocked(_)
            | Self::Conflict(_) => true,
        }
    }
}

/// A file that is not as it was.
pub(super) struct Differs {
    pub(super) path: String,
    pub(super) then: State,
    pub(super) now: State,
    /// The changes since, oldest first.
    pub(super) since: Vec<Since>,
}

/// One change of a file.
pub(super) struct Since {
    pub(super) before: State,
    pub(super) after: State,
    /// Whether someone else made it.
    pub(super) foreign: bool,
    /// The permissions before, where that is recorded.
    pub(super) mode: Option<u32>,
    /// Whether it was a call that changed the text alone.
    pub(super) keeps_mode: bool,
}

/// What is to be done about a file.
pub(super) enum Aim {
    Text(Goal),
    /// It stays, and that is recorded.
    Conflict(Box<Conflict>),
}

/// What is wanted of a file.
pub(super) struct Goal {
    pub(super) path: String,
    pub(super) now: Option<ContentHash>,
    pub(super) text: Option<Text>,
    /// The permissions of a file that comes back.
    pub(super) mode: Option<u32>,
}

impl Engine {
    /// The file that the log names so, which need not be there: by this very name and no other spelling.
    pub(super) fn logged_file(&self, path: &str) -> Result<FileRef, Error> {
        self.root.locate_new(&[self.root.absolute(path)]).map_err(Error::Locate)
    }

    /// What becomes of a file, and with which text.
    pub(super) fn goal(&self, caller: &Caller, differs: &Differs) -> (Undo, Option<Aim>) {
        let now = match differs.now {
            State::Text(hash) => Some(hash),
            State::Absent => None,
            State::Gap(gap) => return (Undo::NotKept(gap), None),
            State::Unknown => return (Undo::NotKept(Gap::NotLookedAt), None),
        };
        let goal = |text: Option<Text>| {
            // Calls that only change a text keep its permissions; what anyone else did not tell, nobody knows.
            let mut telling = differs.since.iter().filter(|since| since.mode.is_some() || !since.keeps_mode);
            let mode = telling.next().and_then(|since| since.mode);
            Some(Aim::Text(Goal { path: differs.path.clone(), now, text, mode }))
        };
        let then = match differs.then {
            State::Text(hash) => match self.recorded(hash) {
                Ok(text) => Some(text),
                Err(why) => return (Undo::NotKnown(why), None),
            },
            State::Absent => None,
            State::Gap(gap) => return (Undo::NotKnown(gap), None),
            State::Unknown => return (Undo::NotKnown(Gap::NotLookedAt), None),
        };
        if differs.since.iter().all(|since| !since.foreign) {
            let what = match (now, &then) {
                (Some(_), Some(_)) => Undo::Restored,
                (None, Some(_)) => Undo::Made,
                (_, None) => Undo::Removed,
            };
            return (what, goal(then));
        }
        let present = now.and_then(|hash| self.stored(hash));
        let merged = self.without_own(differs, present.as_ref()).filter(|text| {
            // Where they brought back what was undone, only this tells that it is theirs by now.
            let other = self.with_others(differs, then.as_ref());
            other.is_none_or(|other| other.hash() == text.hash())
        });
        if let (Some(present), Some(text)) = (&present, merged) {
            if text.hash() == present.hash() {
                return (Undo::Merged, None);
            }
            return (Undo::Merged, goal(Some(text)));
        }
        let sides = then.as_ref().zip(present.as_ref());
        let Some((then, present)) = sides else { return (Undo::Conflict(None), None) };
        let base = differs.since.iter().rev().find(|since| !since.foreign).and_then(|since| since.after.hash());
        let sha = |text: &Text| Sha(text.hash());
        let conflict = Conflict {
            path: differs.path.clone(),
            base: base.map_or_else(|| sha(then), Sha),
            ours: sha(then),
            theirs: Some(sha(present)),
            by: By::from(caller),
            at: self.now(),
        };
        (Undo::Conflict(None), Some(Aim::Conflict(Box::new(conflict))))
    }

    /// The present text without the conversation's own changes; `None` if others changed the same lines.
    fn without_own(&self, differs: &Differs, present: Option<&Text>) -> Option<Text> {
        let mut own = differs.since.iter().rev().filter(|since| !since.foreign);
        own.try_fold(present?.clone(), |text, own| self.changed_so((own.after, own.before), &text))
    }

    /// The text of that moment with what others changed since; `None` if they changed lines that the conversation made.
    fn with_others(&self, differs: &Differs, then: Option<&Text>) -> Option<Text> {
        let mut theirs = differs.since.iter().filter(|since| since.foreign);
        theirs.try_fold(then?.clone(), |text, theirs| self.changed_so((theirs.before, theirs.after), &text))
    }

    /// A text with one change made in it.
    fn changed_so(&self, (from, to): (State, State), text: &Text) -> Option<Text> {
        let (from, to) = (self.recorded(from.hash()?).ok()?, self.recorded(to.hash()?).ok()?);
        match three_way(&from, &to, text) {
            Merged::Clean(merged) => Some(merged),
            Merged::Conflict(_) | Merged::TooLarge | Merged::Disputed => None,
        }
    }

    /// The same, unless a rule, the settings or what stands there keeps that from being done: one file must not hold up the others.
    pub(super) fn feasible(&self, differs: &Differs, (what, aim): (Undo, Option<Aim>)) -> (Undo, Option<Aim>) {
        let way = || self.root.obstacle(&differs.path, self.hard_links());
        let goal = match aim {
            Some(Aim::Text(goal)) => goal,
            other => {
                // Why it could not be looked at.
                let is_unread = matches!(what, Undo::NotKept(Gap::NotAFile | Gap::Unreadable));
                let way = way().filter(|_| is_unread).map(Undo::Blocked);
                return (way.unwrap_or(what), other);
            }
        };
        if let Some(obstacle) = way() {
            return (Undo::Blocked(obstacle), None);
        }
        let Ok(file) = self.logged_file(&differs.path) else { return (Undo::Denied, None) };
        let act = if goal.text.is_some() { Act::Write } else { Act::Delete };
        if self.may(act, &file).is_err() {
            return (Undo::Denied, None);
        }
        if self.shared.sensitive.is_sensitive(&self.root, &file) {
            return (Undo::NotKnown(Gap::Sensitive), None);
        }
        let bytes = goal.text.as_ref().map_or(0, |text| text.as_str().len() as u64);
        if bytes > self.shared.settings.file_bytes {
            return (Undo::NotKnown(Gap::TooLarge), None);
        }
        (what, Some(Aim::Text(goal)))
    }
}
