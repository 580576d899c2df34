//! What holds at one entry, and what a fact does to it. A state is cheap to clone; facts are kept so that a context edit
//! can derive anew from its target.

use readproof_core::{
    knowledge::{Event, Knowledge},
    limits::Answers,
    path::PathKey,
    text::ContentHash,
};
use rpds::RedBlackTreeSetSync;
use std::sync::Arc;

use super::{
    call::{Call, Tool, What},
    outcome::Told,
};

/// What holds at one entry.
#[derive(Clone, Default)]
pub(super) struct State {
    pub(super) knowledge: Knowledge,
    /// Calls of the latest assistant message that made any, whose results are not there. An older call without a result
    /// never gets one: hosts give every result before the next message.
    pub(super) open: Arc<[Call]>,
    /// Entries that the model sees otherwise than they were given.
    pub(super) altered: RedBlackTreeSetSync<u32>,
    /// The latest compaction.
    pub(super) barrier: Option<u32>,
}

/// What an entry says, without its texts.
pub(super) enum Fact {
    /// An assistant message made these calls.
    Calls(Box<[Call]>),
    /// A call has its result.
    Result(Outcome),
    /// Fresh text was asked for.
    Refreshed(Event),
    /// The barrier.
    Compacted,
}

/// The result of a call.
pub(super) struct Outcome {
    /// Which call.
    pub(super) call: Box<str>,
    /// Which tool gave it.
    pub(super) tool: Tool,
    /// Whether the tool failed.
    pub(super) failed: bool,
    /// For a read that did not fail, what it tells, if it can be told of which file.
    pub(super) told: Option<Told>,
}

/// One state and what applying to it has cost.
struct Taking<'a> {
    state: &'a mut State,
    at: u32,
    answers: Answers,
    applied: u64,
}

impl State {
    /// Takes in the fact of the entry `at`; gives the number of events applied.
    pub(super) fn take(&mut self, at: u32, fact: &Fact, answers: Answers) -> u64 {
        let altered = self.altered.contains(&at);
        let mut taking = Taking { state: self, at, answers, applied: 0 };
        match fact {
            Fact::Calls(calls) => taking.calls(calls, altered),
            Fact::Result(outcome) => taking.result(outcome, altered),
            Fact::Refreshed(event) => taking.apply(event),
            Fact::Compacted => {
                taking.applied += 1;
                *taking.state = Self { barrier: Some(at), ..Self::default() };
            }
        }
        taking.applied
    }
}

impl Taking<'_> {
    fn apply(&mut self, event: &Event) {
        self.applied += 1;
        self.state.knowledge.apply(u64::from(self.at), event, self.answers);
    }

    fn void(&mut self, path: Option<&PathKey>) {
        if let Some(path) = path {
            self.apply(&Event::Void { path: path.clone() });
        }
    }

    /// A write or edit may have happened from here on, whatever becomes of its result.
    fn calls(&mut self, calls: &[Call], altered: bool) {
        let mut open = Vec::with_capacity(calls.len());
        for call in calls {
            let call = self.sound(call, calls);
            let (changes, known) = (call.tool() != Tool::Read, call.key.is_some());
            if changes && !known {
                // It may be any file.
                self.apply(&Event::Compacted);
            } else if changes || altered {
                self.void(call.key.as_ref());
            }
            open.push(call);
        }
        // What a dropped message asked for is not known to whoever sees the results.
        self.state.open = if altered { Arc::default() } else { open.into() };
    }

    /// The call as far as it can be relied on: one of two changes of a file in one message says nothing, as their order is
    /// not known, and an edit says nothing unless the text before it is held.
    fn sound(&self, call: &Call, batch: &[Call]) -> Call {
        let others = batch.iter().filter(|other| other.tool() != Tool::Read && other.key == call.key).count();
        let what = match &call.what {
            What::Read(asked) => What::Read(asked.clone()),
            What::Write(version) => What::Write(version.filter(|_| others == 1)),
            What::Edit(edit) => {
                let held = call.key.as_ref().and_then(|key| self.state.knowledge.holds_whole(key, Answers::Held));
                What::Edit(edit.filter(|(before, _)| others == 1 && held == Some(*before)))
            }
        };
        Call { what, ..call.clone() }
    }

    fn result(&mut self, outcome: &Outcome, altered: bool) {
        let told = outcome.told.as_ref();
        let path = told.and_then(|told| path_of(&told.event));
        let Some(call) = self.close(&outcome.call) else {
            // Its call was compacted or edited away: what it shows cannot be placed.
            self.void(path);
            return;
        };
        let after = match (&call.what, outcome.tool) {
            (What::Read(_), Tool::Read) => return self.read(&call, told, altered),
            (What::Write(version), Tool::Write) => *version,
            (What::Edit(edit), Tool::Edit) => edit.map(|(_, after)| after),
            (What::Read(_) | What::Write(_) | What::Edit(_), Tool::Read | Tool::Write | Tool::Edit) => None,
        };
        match (after, call.key.as_ref()) {
            (Some(version), Some(path)) if !outcome.failed && !altered => {
                self.apply(&Event::Written { path: path.clone(), version });
            }
            _ => {
                self.void(call.key.as_ref());
                self.void(path);
            }
        }
    }

    /// A read that failed tells nothing. One that stands beside a change of the same file whose result is not there may
    /// have seen either text.
    fn read(&mut self, call: &Call, told: Option<&Told>, altered: bool) {
        let Some((told, path)) = told.and_then(|told| Some((told, path_of(&told.event)?))) else { return };
        let beside = self.state.open.iter().any(|other| other.tool() != Tool::Read && other.key.as_ref() == Some(path));
        if altered || beside || !self.holds_end(path, told.ends_under) {
            self.void(Some(path));
        } else {
            self.apply(&told.event);
        }
        if call.key.as_ref().is_some_and(|key| key != path) {
            // The model asked under another name, and what it saw is newer than what it holds under that.
            self.void(call.key.as_ref());
        }
    }

    fn holds_end(&self, path: &PathKey, under: Option<ContentHash>) -> bool {
        let held = self.state.knowledge.of(path);
        under.is_none_or(|hash| held.iter().any(|held| held.end() && held.version().hash == hash))
    }

    /// The call of this id, which is no longer open. Two calls of one id are none.
    fn close(&mut self, id: &str) -> Option<Call> {
        let (mut closed, open): (Vec<Call>, Vec<Call>) =
            self.state.open.iter().cloned().partition(|call| *call.id == *id);
        if !closed.is_empty() {
            self.state.open = open.into();
        }
        if closed.len() > 1 {
            closed.drain(..).for_each(|call| self.void(call.key.as_ref()));
        }
        closed.pop()
    }
}

fn path_of(event: &Event) -> Option<&PathKey> {
    match event {
        Event::Shown { path, .. }
        | Event::Same { path, .. }
        | Event::Told { path, .. }
        | Event::Diff { path, .. }
        | Event::Written { path, .. }
        | Event::Edited { path, .. }
        | Event::Void { path } => Some(path),
        Event::Refreshed { .. } | Event::Compacted => None,
    }
}
