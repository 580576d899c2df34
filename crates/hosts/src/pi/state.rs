//! What holds at one entry, and what a fact does to it. A state is cheap to clone.

use readproof_core::{
    knowledge::{Event, Knowledge},
    limits::Answers,
    path::PathKey,
    text::ContentHash,
};
use rpds::RedBlackTreeSetSync;
use std::sync::Arc;

use super::{
    Source,
    call::{Call, Edit, Tool, What},
    fact::{Fact, Outcome, Shows},
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

/// One state and what applying to it has cost.
struct Taking<'a> {
    state: &'a mut State,
    at: u32,
    answers: Answers,
    source: &'a dyn Source,
    applied: u64,
}

impl State {
    /// What holds right at a compaction.
    pub(super) fn compacted(at: u32) -> Self {
        Self { barrier: Some(at), ..Self::default() }
    }

    /// Takes in the fact of the entry `at`; gives the number of events applied.
    pub(super) fn take(&mut self, at: u32, fact: &mut Fact, answers: Answers, source: &dyn Source) -> u64 {
        let altered = !self.altered.is_empty() && self.altered.contains(&at);
        let mut taking = Taking { state: self, at, answers, source, applied: 0 };
        match fact {
            Fact::Calls(calls) => taking.calls(calls, altered),
            Fact::Result(outcome) => taking.result(outcome, altered),
            Fact::Refreshed(event) => taking.apply(event),
            Fact::Lost | Fact::Unread { .. } => taking.lose(),
            Fact::Nothing | Fact::ContextEdit(_) => {}
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

    /// It may have been any file.
    fn lose(&mut self) {
        self.apply(&Event::Compacted);
    }

    /// A write or edit may have happened from here on, whatever becomes of its result.
    fn calls(&mut self, calls: &mut [Call], altered: bool) {
        let mut open = Vec::with_capacity(calls.len());
        for at in 0..calls.len() {
            let call = self.sound(at, calls);
            let (changes, known) = (call.tool() != Tool::Read, call.key.is_some());
            if changes && !known {
                self.lose();
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
    fn sound(&self, at: usize, batch: &mut [Call]) -> Call {
        let key = batch[at].key.clone();
        let alone = batch.iter().filter(|other| other.tool() != Tool::Read && other.key == key).count() == 1;
        let held = key.as_ref().and_then(|key| self.state.knowledge.holds_whole(key, Answers::Held));
        let what = match &mut batch[at].what {
            What::Read(asked) => What::Read(asked.clone()),
            What::Write(version) => What::Write(version.filter(|_| alone)),
            What::Edit(edit) => match held.zip(edit.after(held, self.source)) {
                Some((before, after)) if alone => What::Edit(Edit::Leads { before, after }),
                Some(_) | None => What::Edit(Edit::Unknown),
            },
        };
        Call { id: batch[at].id.clone(), key, what }
    }

    fn result(&mut self, outcome: &Outcome, altered: bool) {
        let path = outcome.told().and_then(|told| told.event.path());
        let Some(call) = self.close(&outcome.call) else {
            // Its call was compacted or edited away: what it shows cannot be placed.
            self.void(path);
            return;
        };
        let after = match (&call.what, outcome.tool) {
            (What::Read(_), Tool::Read) => return self.read(&call, &outcome.shows, altered),
            (What::Write(version), Tool::Write) => *version,
            (What::Edit(Edit::Leads { after, .. }), Tool::Edit) => Some(*after),
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

    /// A read that failed tells nothing.
    fn read(&mut self, call: &Call, shows: &Shows, altered: bool) {
        let told = match shows {
            Shows::Nothing => return,
            Shows::Unplaced => return self.void(call.key.as_ref()),
            Shows::Told(told) => told,
        };
        let Some(path) = told.event.path() else { return };
        if altered || !self.counts(call, told, path) {
            self.void(Some(path));
        } else {
            self.apply(&told.event);
        }
        if call.key.as_ref().is_some_and(|key| key != path) {
            // The model asked under another name, and what it saw is newer than what it holds under that.
            self.void(call.key.as_ref());
        }
    }

    /// Whether the call asked for what is told, and the end it relies on is held. A read beside a change of the same file
    /// whose result is not there may have seen either text.
    fn counts(&self, call: &Call, told: &Told, path: &PathKey) -> bool {
        let asked = match &call.what {
            What::Read(asked) => asked.of(path),
            What::Write(_) | What::Edit(_) => None,
        };
        let fits = told
            .needs
            .is_none_or(|needs| asked.is_some_and(|(first, limit)| first == needs.first && limit >= needs.least));
        let beside = self.state.open.iter().any(|other| other.tool() != Tool::Read && other.key.as_ref() == Some(path));
        fits && !beside && self.holds_end(path, told.ends_under)
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
