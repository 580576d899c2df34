//! What is known at one entry, and what a fact does to it. Cheap to clone.

use readproof_core::path::PathKey;
use rpds::RedBlackTreeMapSync;
use std::sync::Arc;

use super::{
    call::{Asked, Call, Tool, What},
    fact::{Fact, Outcome, Shows},
    history::FileStep,
    outcome::ReadResult,
};
use crate::tree::At;

/// What is known at one entry.
#[derive(Clone, Default)]
pub(super) struct Holdings {
    /// The last step of every file since the barrier.
    pub(super) files: RedBlackTreeMapSync<PathKey, Arc<FileStep>>,
    /// Calls of the latest assistant message with calls whose results are not there yet. An older call without a result
    /// never gets one: hosts give every result before the next message.
    pub(super) open: Arc<[Open]>,
    /// That message.
    pub(super) calling: Option<At>,
}

/// A call without its result.
#[derive(Clone)]
pub(super) struct Open {
    pub(super) call: Arc<Call>,
    /// Whether it is the only change of its file in its message. The order of two is not known.
    alone: bool,
    /// For an edit, the last step of its file before it.
    base: Option<Arc<FileStep>>,
}

/// What is known, and the entry that is taken in.
struct Taking<'a> {
    held: &'a mut Holdings,
    at: At,
    /// Whether the model sees the entry in another way than it was given.
    altered: bool,
}

impl Holdings {
    pub(super) fn take(&mut self, at: At, fact: &Fact, altered: bool) {
        let mut taking = Taking { held: self, at, altered };
        match fact {
            Fact::Calls(calls) => taking.calls(calls),
            Fact::Result(outcome) => taking.result(outcome),
            Fact::Refreshed(asked) => {
                let (path, scope) = &**asked;
                taking.step(path, FileStep::refreshed(at, *scope, taking.before(path)));
            }
            Fact::Program(files) => files.iter().for_each(|path| taking.void(Some(path))),
            Fact::Lost | Fact::Unread(_) => taking.lose(),
            Fact::Nothing | Fact::Noted(_) | Fact::ContextEdit(_) => {}
        }
    }
}

impl Taking<'_> {
    fn before(&self, path: &PathKey) -> Option<Arc<FileStep>> {
        self.held.files.get(path).cloned()
    }

    fn step(&mut self, path: &PathKey, step: FileStep) {
        self.held.files.insert_mut(path.clone(), Arc::new(step));
    }

    fn void(&mut self, path: Option<&PathKey>) {
        if let Some(path) = path {
            self.step(path, FileStep::void(self.at));
        }
    }

    /// Something of the call's file cannot be placed. A path that ends in a range may mean two files.
    fn void_file_of(&mut self, call: &Call) {
        self.void(call.key.as_ref());
        if let What::Read(Asked { suffix: Some((named, ..)), .. }) = &call.what {
            self.void(Some(named));
        }
    }

    /// It may have been any file.
    fn lose(&mut self) {
        self.held.files = RedBlackTreeMapSync::default();
    }

    /// A write or edit may have happened from here on, whatever its result.
    fn calls(&mut self, calls: &[Arc<Call>]) {
        self.held.calling = Some(self.at);
        let mut open = Vec::with_capacity(calls.len());
        for call in calls {
            let base = call.key.as_ref().filter(|_| call.tool() == Tool::Edit).and_then(|key| self.before(key));
            let alone = calls.iter().filter(|other| other.changes() && other.key == call.key).count() == 1;
            if call.changes() && call.key.is_none() {
                self.lose();
            } else if call.changes() || self.altered {
                self.void_file_of(call);
            }
            open.push(Open { call: Arc::clone(call), alone, base });
        }
        // Whoever sees the results does not know what a dropped message asked for.
        self.held.open = if self.altered { Arc::default() } else { open.into() };
    }

    fn result(&mut self, outcome: &Outcome) {
        let path = outcome.read().map(|read| &read.path);
        let Some(Open { call, alone, base }) = self.close(&outcome.call) else {
            // Its call was compacted or edited away, so what it shows cannot be placed.
            self.void(path);
            return;
        };
        let counts = alone && !outcome.failed && !self.altered;
        match (&call.what, outcome.tool, &call.key) {
            (What::Read(_), Tool::Read, _) => self.read(&call, &outcome.shows),
            (What::Write(_), Tool::Write, Some(key)) | (What::Edit(_), Tool::Edit, Some(key)) if counts => {
                self.step(key, FileStep::changed(self.at, Arc::clone(&call), base));
            }
            (What::Read(_) | What::Write(_) | What::Edit(_), Tool::Read | Tool::Write | Tool::Edit, _) => {
                self.void_file_of(&call);
                self.void(path);
            }
        }
    }

    /// A read that failed tells nothing.
    fn read(&mut self, call: &Call, shows: &Shows) {
        match shows {
            Shows::Nothing => {}
            Shows::Unplaced => self.void_file_of(call),
            Shows::Recorded(result) => {
                self.shown(call, result);
                if call.key.as_ref().is_some_and(|key| *key != result.path) {
                    // The model asked under another name, and what it saw is newer than what it holds under that name.
                    self.void(call.key.as_ref());
                }
            }
        }
    }

    /// A read next to a change of the same file without a result yet may have seen either text.
    fn shown(&mut self, call: &Call, result: &Arc<ReadResult>) {
        let path = &result.path;
        let beside = self.held.open.iter().any(|other| other.call.changes() && other.call.key.as_ref() == Some(path));
        let asked = match &call.what {
            What::Read(asked) => asked.of(path),
            What::Write(_) | What::Edit(_) => None,
        };
        if self.altered || beside {
            self.void(Some(path));
        } else {
            self.step(path, FileStep::read(self.at, Arc::clone(result), asked, self.before(path)));
        }
    }

    /// Takes the call with this id off the open ones. If two have the id, neither counts.
    fn close(&mut self, id: &[u8]) -> Option<Open> {
        let (mut closed, open): (Vec<Open>, Vec<Open>) =
            self.held.open.iter().cloned().partition(|open| *open.call.id == *id);
        if !closed.is_empty() {
            self.held.open = if open.is_empty() { Arc::default() } else { open.into() };
        }
        if closed.len() > 1 {
            closed.drain(..).for_each(|open| self.void_file_of(&open.call));
        }
        closed.pop()
    }
}
