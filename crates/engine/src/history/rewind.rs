//! Back to an earlier moment. What cannot be restored is named and left as it is; what other callers changed since is merged, or
//! kept as a conflict. Everything that goes has a version, so a rewind is undone by another one. All files change, or none.

use readproof_core::operation::{Caller, Leaf, OutsideChanges, Over, Rewind};
use readproof_disk::{Create, FileRef, SessionName};
use readproof_hosts::{
    session::{EntryId, Record},
    versions::{By, ChangedFile, Checkpoint, Gap, VersionId, Versions},
};

use readproof_index::Registry;
use std::collections::BTreeSet;

use super::{
    is_change,
    look::Looked,
    state::State,
    undo::{Aim, Differs, Goal, Since, Undo},
};
use crate::{
    Control, Conversation, Engine, Error, HistoryError, LoggedSession, Written,
    door::of_rewound_files,
    edit::{Intent, Wanted},
};

/// The most files that one rewind changes, and the most bytes that they get: all of them are planned, journaled and recorded as one.
const MOST_FILES: usize = 10_000;
const MOST_BYTES: usize = 256 << 20;

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
        // In a server that watches, what changed; elsewhere everything is compared.
        if self.look_where_told(control)?.is_none() {
            self.look_around(control)?;
        }
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
        let complete = self.look_for_rewind(asked, control)?.complete;
        let wanted = asked.paths.iter().map(|path| self.meant(&self.new_file(path)?));
        let wanted = wanted.collect::<Result<Vec<String>, Error>>()?;
        let (to, differs, others) = {
            let registry = self.registry()?;
            let walked = |path: &str| complete.filter(|_| is_walked(registry.as_ref(), path));
            self.with_versions(Create::No, |versions| Ok(self.differs(versions, caller, (asked, &wanted), &walked)))?
                .unwrap_or_else(|| Err(Error::History(HistoryError::NoMoment { asked: asked.to.clone() })))?
        };
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
                false => self.feasible(&differs, self.goal(caller, &differs)),
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
            self.notes_input("rewound", || of_rewound_files(to, &files));
            return Ok(Rewound { to, files, others, written: None, leaf: None });
        }
        refuse_too_much(&goals)?;
        let written = self.restore(caller, conversation, (to, &goals), (asked.leaf, control))?;
        for (at, conflict) in conflicts {
            files[at].what =
                Undo::Conflict(self.with_versions(Create::Yes, |versions| versions.conflicted(*conflict))?);
        }
        let leaf = match (leaf, conversation.log()) {
            (Some(entry), Some(log)) => match self.branch(Some(log), entry.map(|entry| entry.0)) {
                // It had not begun then and has not since.
                Err(Error::NoSession(_)) if entry.is_none() => Some(None),
                leaf => Some(leaf?),
            },
            (_, _) => None,
        };
        self.notes_input("rewound", || of_rewound_files(to, &files));
        Ok(Rewound { to, files, others, written, leaf })
    }

    /// The name in the log that a caller means: its own if a file ever had this name, else that of the file behind links.
    fn meant(&self, file: &FileRef) -> Result<String, Error> {
        let own = file.key().to_string();
        let was_file = self.with_versions(Create::No, |versions| {
            let is_file = |gap: Option<Gap>| gap.is_some_and(|gap| gap != Gap::NotAFile);
            let was_file = |file: &ChangedFile| {
                file.before.or(file.after).is_some() || is_file(file.gaps.before) || is_file(file.gaps.after)
            };
            Ok(versions.of_path(&own).any(|(_, _, file)| was_file(file)))
        })?;
        Ok(if was_file == Some(true) { own } else { self.logged_name(file) })
    }

    /// Looks at what a rewind is about: everything, or the files that are named, by the names that callers and the log have for them.
    fn look_for_rewind(&self, asked: &Rewind, control: &Control<'_>) -> Result<Looked, Error> {
        let mut names = BTreeSet::new();
        for path in &asked.paths {
            let file = self.new_file(path)?;
            names.extend([file.key().to_string(), self.logged_name(&file)]);
        }
        if names.is_empty() || names.contains(".") {
            return self.look_around(control);
        }
        self.look_at_some(&names, control)
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
            let (mut since, mut changed, mut visible) = (Vec::new(), false, true);
            for (id, change, file) in versions.of_path(path).rev() {
                visible &= self.may_see(versions, path, id);
                if id <= to || !visible {
                    // What it was at that moment.
                    break;
                }
                changed |= is_change(&change.operation);
                let (before, after) = (State::before(file, &change.operation), State::after(file));
                let keeps_mode = !change.by.is_outside() && before.hash().is_some() && after.hash().is_some();
                since.push(Since { before, after, foreign: is_foreign(&change.by), mode: file.mode, keeps_mode });
            }
            since.reverse();
            let (true, true, Some(now)) = (visible, changed, since.last().map(|last| last.after)) else { continue };
            if since.iter().all(|since| since.foreign) {
                // Nothing of it is to be undone.
                others += 1;
                continue;
            }
            let then = match asked.assume {
                true => State::assumed_at(versions, path, to),
                false => State::at(versions, path, to, absent(path)),
            };
            // Nothing is there, and as far as anyone knows nothing was.
            let is_nothing = now == State::Absent && State::assumed_at(versions, path, to) == State::Absent;
            if is_nothing && then == State::Unknown {
                continue;
            }
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

    /// Writes what is wanted: all of it, or nothing.
    fn restore<C: Conversation>(
        &self,
        caller: &Caller,
        conversation: &mut C,
        (to, goals): (VersionId, &[Goal]),
        (leaf, control): (Leaf, &Control<'_>),
    ) -> Result<Option<Written>, Error> {
        let mut wanted = Vec::new();
        for Goal { path, now, text, mode } in goals {
            let intent = match text {
                Some(text) => Intent::Restored(text.as_str(), to, *mode),
                None => Intent::Delete,
            };
            let over = now.map_or(Over::Held, Over::Hash);
            wanted.push(Wanted { file: self.logged_file(path)?, intent, over });
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

/// Whether every look meets a name, so that one which did not meet it knows that it was not there.
fn is_walked(registry: Option<&Registry>, path: &str) -> bool {
    registry.is_some_and(|registry| registry.file(path).is_ok_and(|file| file.is_some_and(|file| file.walked)))
}

/// Refuses before anything is touched what is too much for one change.
fn refuse_too_much(goals: &[Goal]) -> Result<(), Error> {
    let bytes: usize = goals.iter().map(|goal| goal.text.as_ref().map_or(0, |text| text.as_str().len())).sum();
    if goals.len() > MOST_FILES || bytes > MOST_BYTES {
        let (files, most) = (goals.len(), (MOST_FILES, MOST_BYTES));
        return Err(Error::History(HistoryError::TooMuch { files, bytes, most }));
    }
    Ok(())
}
