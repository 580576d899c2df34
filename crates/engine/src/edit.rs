//! Writes, edits and patches by the agent. Every dialect becomes a list of plans, one for each file: the text that is there,
//! the text that will be, and what the model is told. Nothing is touched before all plans stand. Then the texts are stored,
//! the write is announced in the log, made durable on disk, and recorded as a version. Until the result is delivered nothing
//! of the files is held, so a crash at any step is safe.

mod base;
mod commit;
mod conflict;
mod limits;
mod merge;
mod plan;
mod recover;

pub use conflict::{ConflictTexts, Sides};
pub use merge::{Merged, three_way};

use readproof_core::{
    edit::{FileChange, FilePatch, Piece, parse_patch},
    operation::{Caller, Change, Over, Patch, Write},
    path::candidates,
    policy::{Act, Rule},
    text::Text,
};
use readproof_disk::{Create, FileRef, ReplaceAllError, ReplaceError, is_in_git, is_in_store};
use readproof_hosts::versions::By;

use std::{thread, time::Duration};

use crate::{
    Control, Conversation, Engine, Error,
    door::{Ask, Written},
};
pub(crate) use commit::say_all;
use plan::Plan;
pub(crate) use plan::{
    Intent, say_appended, say_deleted, say_edited, say_merged, say_moved, say_restored, say_written,
};

/// How often a change is worked out anew because someone else changes the file meanwhile.
const ATTEMPTS: u32 = 8;

/// How often, and with which pauses, another's change over several files is waited for: about ten seconds.
const WAITS: u32 = 2000;
const WAIT: Duration = Duration::from_millis(5);

/// One file of a call, and what is wanted of it.
pub(crate) struct Wanted<'a> {
    pub(crate) file: FileRef,
    pub(crate) intent: Intent<'a>,
    pub(crate) over: Over,
}

impl Engine {
    /// Changes one file. After an error it is unchanged, except after [`Error::Unrecorded`].
    pub(crate) fn write<C: Conversation>(
        &self,
        caller: &Caller,
        conversation: &mut C,
        request: &Write,
        control: &Control<'_>,
    ) -> Result<Written, Error> {
        let (path, over) = (&request.path, request.over);
        let new = |path: &str| self.new_file(path);
        let there = |path: &str| self.existing_file(path);
        let piece;
        let wanted = match &request.change {
            Change::Whole(content) => vec![Wanted { file: new(path)?, intent: Intent::Whole(content), over }],
            Change::Create(content) => vec![Wanted { file: new(path)?, intent: Intent::Create(content), over }],
            Change::Append(content) => vec![Wanted { file: new(path)?, intent: Intent::Append(content), over }],
            Change::Replace { old, new, places } => {
                piece = [Piece::replace(old, new, *places)];
                vec![Wanted { file: there(path)?, intent: Intent::Pieces(&piece), over }]
            }
            Change::Edit(pieces) => vec![Wanted { file: there(path)?, intent: Intent::Pieces(pieces), over }],
            Change::Delete => vec![Wanted { file: there(path)?, intent: Intent::Delete, over }],
            Change::Move { to } => self.moved(there(path)?, new(to)?, &[], over),
        };
        self.change(caller, conversation, (request.change.word(), wanted), control)
    }

    /// Changes the files of a patch: all of them or none.
    pub(crate) fn patch<C: Conversation>(
        &self,
        caller: &Caller,
        conversation: &mut C,
        request: &Patch,
        control: &Control<'_>,
    ) -> Result<Written, Error> {
        let (_, files) = parse_patch(&request.patch).map_err(|source| Error::BadPatch { source })?;
        self.within_limits(0, files.len(), 0)?;
        let alone = files.len() == 1;
        let mut wanted = Vec::new();
        for FilePatch { path, change } in &files {
            // A patch of one file may leave its name out, or have it from another folder.
            let path = request.path.as_ref().filter(|_| alone).or(path.as_ref()).ok_or(Error::EmptyPath)?;
            let over = if alone { request.over } else { Over::Held };
            let there = |path: &str| self.existing_file(path);
            match change {
                // A block that replaces nothing may mean a new file.
                FileChange::Edit(pieces) if is_new(pieces) && there(path).is_err() => {
                    let content = pieces.first().map_or("", |piece| piece.new.as_str());
                    wanted.push(Wanted { file: self.new_file(path)?, intent: Intent::Create(content), over });
                }
                FileChange::Edit(pieces) => {
                    wanted.push(Wanted { file: there(path)?, intent: Intent::Pieces(pieces), over });
                }
                FileChange::Create(content) => {
                    wanted.push(Wanted { file: self.new_file(path)?, intent: Intent::Create(content), over });
                }
                FileChange::Delete => wanted.push(Wanted { file: there(path)?, intent: Intent::Delete, over }),
                FileChange::Move { to, pieces } => {
                    wanted.extend(self.moved(there(path)?, self.new_file(to)?, pieces, over));
                }
            }
        }
        self.change(caller, conversation, ("patch", wanted), control)
    }

    /// A move is a new file and one that goes.
    fn moved<'a>(&self, from: FileRef, to: FileRef, pieces: &'a [Piece], over: Over) -> Vec<Wanted<'a>> {
        let arrives = Wanted { file: to, intent: Intent::Arrive { from: from.clone(), pieces }, over };
        vec![arrives, Wanted { file: from, intent: Intent::Leave, over }]
    }

    fn existing_file(&self, path: &str) -> Result<FileRef, Error> {
        Ok(self.resolve_target(path, Some(1), None)?.file)
    }

    /// The file of a name under which there need not be one yet. From the current folder only: a new file must not land on
    /// one that the root happens to have.
    pub(crate) fn new_file(&self, path: &str) -> Result<FileRef, Error> {
        if path.is_empty() {
            return Err(Error::EmptyPath);
        }
        self.refuse_back_through_link(path)?;
        self.root.locate_new(&candidates(path, &self.shared.bearings)).map_err(Error::Locate)
    }

    pub(crate) fn change<C: Conversation>(
        &self,
        caller: &Caller,
        conversation: &mut C,
        (operation, wanted): (&'static str, Vec<Wanted<'_>>),
        control: &Control<'_>,
    ) -> Result<Written, Error> {
        let mut asked = None;
        for one in &wanted {
            self.may_change(&one.file)?;
            let reading = self.asking.clone().map(|rule| (one.intent.act(), rule));
            asked = asked.or(self.asks(one)?).or(reading);
        }
        self.refuse_twice(&wanted)?;
        if let Some(name) = conversation.log() {
            // What is done must be recorded: a log that cannot be used refuses the change.
            self.with_session(name, Create::Yes, |_| ())?;
        }
        let (mut changed, mut unfinished, mut approved) = (0, 0, None);
        loop {
            control.check_cancelled()?;
            let plans = wanted.iter().map(|one| self.plan(caller, conversation, one)).collect::<Result<Vec<_>, _>>()?;
            self.begin_versions()?;
            // What comes back was there before.
            if operation != "rewind" {
                self.may_write(caller, &wanted, &plans)?;
            }
            if let Some((act, rule)) = &asked {
                let ask = self.ask(operation, (*act, rule.clone()), &plans);
                let digest = Some(ask.digest);
                if digest != approved {
                    self.approved(caller, ask)?;
                    approved = digest;
                }
            }
            let done = self.commit(caller, conversation.log(), operation, plans);
            self.keep_displaced();
            let error = match done {
                Ok(written) => {
                    self.count_write(caller);
                    return Ok(written);
                }
                Err(error) => error,
            };
            if let Error::ReplaceAll(ReplaceAllError::Step { left, .. }) = &error {
                // Other programs changed what was already made: that stays, and what was meant for it is kept.
                for file in left {
                    self.record_left(&By::from(caller), file)?;
                }
            }
            let source = undone(&error);
            if let (Some(ReplaceError::Changed { .. }), true) = (source, changed < ATTEMPTS) {
                // What was worked out is of a text that is gone: look again.
                changed += 1;
            } else if let (Some(ReplaceError::Unfinished { .. }), true) = (source, unfinished < WAITS) {
                unfinished += 1;
                thread::sleep(WAIT);
                // Its process may have been killed.
                self.recover();
            } else {
                return Err(error);
            }
        }
    }

    /// What a person is asked before plans are carried out: these files, these texts, this change.
    fn ask(&self, what: &'static str, (act, rule): (Act, Rule), plans: &[Plan]) -> Ask {
        let hash = |text: &Option<Text>| text.as_ref().map(Text::hash);
        let paths: Vec<String> = plans.iter().map(|plan| self.named_to_person(&plan.path)).collect();
        let texts = plans.iter().zip(&paths).map(|(plan, path)| (path.as_str(), hash(&plan.before), hash(&plan.after)));
        let digest = Ask::digest_of(what, texts);
        let diff: String = plans.iter().map(Plan::diff).collect();
        Ask { what, act, paths, rule, digest, diff: Some(diff).filter(|diff| !diff.is_empty()) }
    }

    /// The rule that asks a person before this is done. One that denies it is an error.
    fn asks(&self, one: &Wanted<'_>) -> Result<Option<(Act, Rule)>, Error> {
        let act = one.intent.act();
        let rule = match one.intent {
            // A move loses nothing: what a preset asks of every deletion is not meant.
            Intent::Leave => {
                let deleting = self.may(act, &one.file)?.filter(|rule| !rule.is_of_preset());
                self.may(Act::Edit, &one.file)?.or(deleting)
            }
            Intent::Whole(_)
            | Intent::Restored(..)
            | Intent::Chosen(_)
            | Intent::Create(_)
            | Intent::Append(_)
            | Intent::Pieces(_)
            | Intent::Delete
            | Intent::Arrive { .. } => self.may(act, &one.file)?,
        };
        Ok(rule.map(|rule| (act, rule)))
    }

    /// Refuses files that are not the agent's to change.
    fn may_change(&self, file: &FileRef) -> Result<(), Error> {
        let real = self.root.real_name(file);
        for key in [Some(file.key()), real.as_ref()].into_iter().flatten() {
            if is_in_store(key.as_str()) {
                return Err(ReplaceError::OwnStore { name: key.to_string() }.into());
            }
            if is_in_git(key.as_str()) {
                return Err(ReplaceError::InGit { name: key.to_string() }.into());
            }
        }
        Ok(())
    }

    /// Each file may be in a call once, under whatever name: two plans for one text would undo each other.
    fn refuse_twice(&self, wanted: &[Wanted<'_>]) -> Result<(), Error> {
        let name = |one: &Wanted<'_>| self.root.real_name(&one.file).unwrap_or_else(|| one.file.key().clone());
        let mut names: Vec<_> = wanted.iter().map(name).collect();
        names.sort();
        match names.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(Error::Twice { path: pair[0].to_string() }),
            None => Ok(()),
        }
    }
}

/// Why a change was not made of which nothing is left.
fn undone(error: &Error) -> Option<&ReplaceError> {
    if let Error::Replace(source) = error {
        return Some(source);
    }
    if let Error::ReplaceAll(ReplaceAllError::Step { source, left, unrestored: None }) = error {
        return left.is_empty().then_some(source);
    }
    None
}

/// Whether changes can be those of a file that is not there yet.
fn is_new(pieces: &[Piece]) -> bool {
    matches!(pieces, [piece] if piece.old.is_empty())
}

/// Texts that were worked out for one call.
type Plans = Vec<Plan>;
