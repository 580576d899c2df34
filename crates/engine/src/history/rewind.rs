//! Back to an earlier moment. What cannot be restored is named and left as it is; what other callers changed since is merged, or
//! kept as a conflict. Everything that goes has a version, so a rewind is undone by another one. All files change, or none.

use readproof_core::{
    operation::{Caller, Leaf, OutsideChanges, Over, Rewind},
    text::{ContentHash, Text},
};
use readproof_disk::{Create, SessionName};
use readproof_hosts::{
    block::Sha,
    session::{EntryId, Record},
    versions::{By, Checkpoint, Conflict, FIRST, Gap, UNSEEN, VersionId, Versions},
};

use std::collections::BTreeSet;

use super::state::State;
use crate::{
    Control, Conversation, Engine, Error, HistoryError, LoggedSession, Merged, Written,
    edit::{Intent, Wanted},
    three_way,
};

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
    /// It stays: others changed the same lines. The conflict, once it is recorded.
    Conflict(Option<VersionId>),
}

impl Undo {
    /// Whether the file stays as it is.
    #[must_use]
    pub fn stays(self) -> bool {
        match self {
            Self::Restored | Self::Made | Self::Removed | Self::Merged => false,
            Self::NotKnown(_) | Self::NotKept(_) | Self::Rules | Self::Conflict(_) => true,
        }
    }
}

/// One file of a rewind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RewoundFile {
    /// Relative to the workspace root.
    pub path: String,
    /// What becomes of it.
    pub what: Undo,
}

/// A rewind, or what it would do.
#[derive(Debug)]
pub struct Rewound {
    /// The moment.
    pub to: VersionId,
    /// Every file that is not as it was then.
    pub files: Vec<RewoundFile>,
    /// How many files only other conversations changed, which stay.
    pub others: u64,
    /// What was written; none for a dry run, or if nothing had to be.
    pub written: Option<Written>,
    /// Where the conversation stands now, if it went back too; `None` inside is its root.
    pub leaf: Option<Option<EntryId>>,
}

/// A file that is not as it was.
struct Differs {
    path: String,
    then: State,
    now: State,
    /// The changes since, oldest first: before, after, and whether someone else made it.
    since: Vec<(State, State, bool)>,
}

/// What is to be done about a file.
enum Aim {
    Text(Goal),
    /// It stays, and that is recorded.
    Conflict(Box<Conflict>),
}

/// What is wanted of a file.
struct Goal {
    path: String,
    now: Option<ContentHash>,
    text: Option<Text>,
}

impl Engine {
    /// Marks the present state of the tree.
    pub(crate) fn checkpoint(
        &self,
        caller: &Caller,
        log: Option<&SessionName>,
        name: Option<&str>,
        control: &Control<'_>,
    ) -> Result<VersionId, Error> {
        if let Some(name) = name.filter(|name| VersionId::parse(name).is_some() || name.trim().is_empty()) {
            return Err(Error::History(HistoryError::NoMomentName { name: name.to_owned() }));
        }
        self.look_around(control)?;
        let leaf = log.map(|log| self.with_session(log, Create::No, |session| session.transcript().leaf()));
        let entry = leaf.and_then(Result::ok).flatten();
        let mark = Checkpoint { name: name.map(str::to_owned), entry, by: By::from(caller), at: self.now() };
        let id = self.with_versions(Create::Yes, |versions| versions.marked(mark))?;
        id.ok_or(Error::Aborted)
    }

    /// Goes back to an earlier moment, or says what that would do.
    pub(crate) fn rewind<C: Conversation>(
        &self,
        caller: &Caller,
        conversation: &mut C,
        asked: &Rewind,
        control: &Control<'_>,
    ) -> Result<Rewound, Error> {
        let wanted = asked.paths.iter().map(|path| Ok(self.logged_name(&self.new_file(path)?)));
        let wanted = wanted.collect::<Result<Vec<String>, Error>>()?;
        let complete = self.look_around(control)?.complete;
        let walked = self.walked(complete)?;
        let (to, differs, others) = self
            .with_versions(Create::No, |versions| Ok(self.differs(versions, caller, (asked, &wanted), &walked)))?
            .unwrap_or_else(|| Err(Error::History(HistoryError::NoMoment { asked: asked.to.clone() })))?;
        let leaf = match asked.leaf {
            Leaf::Stays => None,
            Leaf::GoesBack => Some(self.leaf_at(conversation.log().ok_or(Error::NoConversation)?, to, &asked.to)?),
        };
        self.refuse_unresolved(&differs)?;
        let (mut files, mut goals, mut conflicts) = (Vec::new(), Vec::new(), Vec::new());
        let rules = self.shared.policy.look(&self.root)?;
        for differs in differs {
            let (what, goal) = match rules.is_policy_file(&differs.path) && !wanted.contains(&differs.path) {
                true => (Undo::Rules, None),
                false => self.goal(caller, &differs),
            };
            let goal = match goal {
                Some(Aim::Conflict(conflict)) => {
                    conflicts.push((files.len(), conflict));
                    None
                }
                Some(Aim::Text(goal)) => Some(goal),
                None => None,
            };
            files.push(RewoundFile { path: differs.path, what });
            goals.extend(goal);
        }
        if asked.dry_run {
            return Ok(Rewound { to, files, others, written: None, leaf: None });
        }
        let written = self.restore(caller, conversation, (to, &goals), (asked.leaf, control))?;
        for (at, conflict) in conflicts {
            files[at].what =
                Undo::Conflict(self.with_versions(Create::Yes, |versions| versions.conflicted(*conflict))?);
        }
        let leaf = match (leaf, conversation.log()) {
            (Some(entry), Some(log)) => Some(self.branch(Some(log), entry.map(|entry| entry.0))?),
            (_, _) => None,
        };
        Ok(Rewound { to, files, others, written, leaf })
    }

    /// Since which record of the log a file was not there, if no look met it: those that every look meets.
    fn walked(&self, complete: Option<u64>) -> Result<impl Fn(&str) -> Option<u64>, Error> {
        let files = self.registry()?.as_ref().map(|registry| registry.files()).transpose()?.unwrap_or_default();
        let walked: BTreeSet<String> =
            files.into_iter().filter(|(_, file)| file.walked).map(|(path, _)| path).collect();
        Ok(move |path: &str| complete.filter(|_| walked.contains(path)))
    }

    /// The files that are not as they were.
    fn differs(
        &self,
        versions: &Versions,
        caller: &Caller,
        (asked, wanted): (&Rewind, &[String]),
        absent: &dyn Fn(&str) -> Option<u64>,
    ) -> Result<(VersionId, Vec<Differs>, u64), Error> {
        let to = self.moment(versions, &asked.to)?;
        let is_wanted = |path: &str| {
            let inside = |folder: &String| path.strip_prefix(folder.as_str()).is_some_and(|rest| rest.starts_with('/'));
            wanted.is_empty() || wanted.iter().any(|one| one == path || one == "." || inside(one))
        };
        let is_foreign = |by: &By| match (&caller.conversation, by.is_outside()) {
            _ if asked.everything => false,
            (_, true) => asked.outside == OutsideChanges::Keep,
            (Some(own), false) => by.conversation.as_ref() != Some(own),
            // A person takes everything back.
            (None, false) => false,
        };
        let (mut found, mut others) = (Vec::new(), 0);
        for path in versions.paths().filter(|path| is_wanted(path) && self.may_name(path)) {
            let since: Vec<_> = versions
                .of_path(path)
                .filter(|(id, _, _)| *id > to)
                .map(|(_, change, file)| {
                    (State::before(file, &change.operation), State::after(file), is_foreign(&change.by))
                })
                .collect();
            let is_change = |operation: &str| operation != FIRST && operation != UNSEEN;
            let mut of_path = versions.of_path(path).filter(|(id, _, _)| *id > to);
            let (true, Some((_, now, _))) =
                (of_path.any(|(_, change, _)| is_change(&change.operation)), since.last().copied())
            else {
                continue;
            };
            if since.iter().all(|(_, _, foreign)| *foreign) {
                // Nothing of it is to be undone.
                others += 1;
                continue;
            }
            let then = match asked.assume {
                true => State::assumed_at(versions, path, to),
                false => State::at(versions, path, to, absent(path)),
            };
            // Of what is only a gap nobody knows whether it is the same.
            if then != now || matches!(now, State::Gap(_)) {
                found.push(Differs { path: path.to_owned(), then, now, since });
            }
        }
        Ok((to, found, others))
    }

    /// Where a conversation was at that moment: after the result of the call, if it was one of its own.
    fn leaf_at(&self, log: &SessionName, to: VersionId, asked: &str) -> Result<Option<EntryId>, Error> {
        let name = log.to_string();
        let is_own = |by: &By| by.conversation.as_ref() == Some(&name);
        let entry = self.with_versions(Create::No, |versions| {
            let marked = versions.checkpoints().find(|(id, _)| *id == to).map(|(_, mark)| mark);
            if let Some(mark) = marked {
                return Ok(is_own(&mark.by).then_some((mark.entry, true)));
            }
            let change = versions.change(to).filter(|change| is_own(&change.by));
            Ok(change.and_then(|change| change.entry).map(|entry| (Some(entry), false)))
        })?;
        let elsewhere = || Error::History(HistoryError::NotOfConversation { asked: asked.to_owned() });
        match entry.flatten().ok_or_else(elsewhere)? {
            (leaf, true) => Ok(leaf.map(EntryId)),
            (begun, false) => {
                let begun = EntryId(begun.ok_or_else(elsewhere)?);
                let settled = self.with_session(log, Create::No, |session| {
                    let transcript = session.transcript();
                    let of_call =
                        |record: &Record| matches!(record, Record::Change { changed, .. } if changed.begun == begun.0);
                    let mut results = transcript.records_after(begun);
                    let result = results.find(|(_, record)| of_call(record)).map(|(id, _)| id);
                    result.map(|id| transcript.settled(id))
                })?;
                settled.map(Some).ok_or_else(elsewhere)
            }
        }
    }

    /// A file in conflict is first resolved.
    fn refuse_unresolved(&self, differs: &[Differs]) -> Result<(), Error> {
        let open = self.list_conflicts(false)?;
        let mut open = open.iter().filter(|open| differs.iter().any(|one| one.path == open.conflict.path));
        match open.next() {
            Some(found) => {
                Err(Error::History(HistoryError::Unresolved { path: found.conflict.path.clone(), id: found.id }))
            }
            None => Ok(()),
        }
    }

    /// What becomes of a file, and with which text.
    fn goal(&self, caller: &Caller, differs: &Differs) -> (Undo, Option<Aim>) {
        let now = match differs.now {
            State::Text(hash) => Some(hash),
            State::Absent => None,
            State::Gap(gap) => return (Undo::NotKept(gap), None),
            State::Unknown => return (Undo::NotKept(Gap::NotLookedAt), None),
        };
        let path = differs.path.clone();
        let goal = |text: Option<Text>| Some(Aim::Text(Goal { path: path.clone(), now, text }));
        let then = match differs.then {
            State::Text(hash) => match self.recorded(hash) {
                Ok(text) => Some(text),
                Err(why) => return (Undo::NotKnown(why), None),
            },
            State::Absent => None,
            State::Gap(gap) => return (Undo::NotKnown(gap), None),
            State::Unknown => return (Undo::NotKnown(Gap::NotLookedAt), None),
        };
        if differs.since.iter().all(|(_, _, foreign)| !foreign) {
            let what = match (now, &then) {
                (Some(_), Some(_)) => Undo::Restored,
                (None, Some(_)) => Undo::Made,
                (_, None) => Undo::Removed,
            };
            return (what, goal(then));
        }
        let present = now.and_then(|hash| self.stored(hash));
        if let (Some(present), Some(text)) = (&present, self.without_own(differs, present.as_ref())) {
            if text.hash() == present.hash() {
                return (Undo::Merged, None);
            }
            return (Undo::Merged, goal(Some(text)));
        }
        let sides = then.as_ref().zip(present.as_ref());
        let Some((then, present)) = sides else { return (Undo::Conflict(None), None) };
        let base = differs.since.iter().rev().find(|(_, _, foreign)| !foreign).and_then(|(_, after, _)| after.hash());
        let sha = |text: &Text| Sha(text.hash());
        let conflict = Conflict {
            path,
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
        let mut text = present?.clone();
        for (before, after, _) in differs.since.iter().rev().filter(|(_, _, foreign)| !foreign) {
            let before = self.recorded(before.hash()?).ok()?;
            let after = self.recorded(after.hash()?).ok()?;
            text = match three_way(&after, &before, &text) {
                Merged::Clean(merged) => merged,
                Merged::Conflict(_) | Merged::TooLarge | Merged::Disputed => return None,
            };
        }
        Some(text)
    }

    /// Writes what is wanted: all of it, or nothing.
    fn restore<C: Conversation>(
        &self,
        caller: &Caller,
        conversation: &mut C,
        (to, goals): (VersionId, &[Goal]),
        (leaf, control): (Leaf, &Control<'_>),
    ) -> Result<Option<Written>, Error> {
        let mut wanted = Vec::new();
        for Goal { path, now, text } in goals {
            let intent = match text {
                Some(text) => Intent::Restored(text.as_str(), to),
                None => Intent::Delete,
            };
            let over = now.map_or(Over::Held, Over::Hash);
            wanted.push(Wanted { file: self.new_file(&self.root.absolute(path))?, intent, over });
        }
        if wanted.is_empty() {
            return Ok(None);
        }
        let written = match leaf {
            Leaf::Stays => self.change(caller, conversation, ("rewind", wanted), control)?,
            // What comes later is dropped by the host, so nothing of this is part of the conversation.
            Leaf::GoesBack => self.change(caller, &mut LoggedSession::named(None), ("rewind", wanted), control)?,
        };
        Ok(Some(written))
    }
}
