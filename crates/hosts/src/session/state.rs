//! What is known at one entry of a session, and what a record does to it: our log's part of deriving.

use readproof_core::{
    knowledge::{Event, Knowledge},
    limits::Answers,
    path::PathKey,
    scope::Scope,
};
use rpds::RedBlackTreeMapSync;

use super::record::{Answered, Delivery, Record, SeenFile};
use crate::{
    block::{Block, Sha},
    derive::{Effect, State},
    tree::{At, Tree},
};

/// What is known at one entry. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Holdings {
    pub(super) knowledge: Knowledge,
    /// Answers and writes, by line, that may or may not have reached the model. Until one is delivered, or a newer text
    /// of its path is, nothing of that path is held.
    pub(super) pending: RedBlackTreeMapSync<u64, PathKey>,
}

/// The block that the host shows instead; `None` if it shows nothing.
pub(super) type View = Option<Block>;

/// An entry of the tree.
pub(crate) struct Logged {
    pub(super) record: Record,
    /// The entry that records that its result reached the model.
    pub(super) delivered: Option<At>,
}

/// A state, and the entry that is taken in.
pub(super) struct Taking<'a> {
    pub(super) tree: &'a Tree<Logged>,
    pub(super) answers: Answers,
    /// Counts the events applied.
    pub(super) applied: &'a mut u64,
    pub(super) at: At,
    /// The entry's line.
    pub(super) line: u64,
    pub(super) state: &'a mut State<Holdings, View>,
}

impl Taking<'_> {
    pub(super) fn take(mut self, record: &Record) -> Effect {
        match record {
            Record::Answer { answer, .. } if answer.for_program => self.seen(&answer.seen()),
            Record::Answer { answer, .. } => self.answer(answer),
            Record::Begun { path, .. } => self.state.held.pending.insert_mut(self.line, PathKey::new(path)),
            Record::Delivered { of, .. } => return self.deliver(*of),
            Record::Seen { files, .. } => self.seen_files(files),
            Record::Alike { found, .. } => self.apply(&found.event()),
            Record::Refresh { paths, scope, .. } => self.refresh(paths, scope),
            // A change counts once it is delivered. Compactions and context edits are `derive`'s.
            Record::Change { .. }
            | Record::Compact { .. }
            | Record::ContextEdit { .. }
            | Record::Open { .. }
            | Record::Distrust { .. }
            | Record::Switch { .. }
            | Record::Unknown { .. } => return Effect::Nothing,
        }
        Effect::Changed
    }

    fn apply(&mut self, event: &Event) {
        *self.applied += 1;
        self.state.held.knowledge.apply(self.line, event, self.answers);
    }

    /// The lines of the pending answers and writes of a path.
    fn pending(&self, path: &PathKey) -> Vec<u64> {
        self.state.held.pending.iter().filter(|(_, other)| *other == path).map(|(line, _)| *line).collect()
    }

    /// An answer is about to be given.
    fn answer(&mut self, answer: &Answered) {
        let event = answer.event();
        if let Event::Same { path, base, version, scope, ends } = event {
            // A marker shows no text, so nothing newer than what is held can have been seen.
            self.apply(&Event::MarkerSent { path, base, version, scope, ends });
        } else if let Some(path) = event.path() {
            self.state.held.pending.insert_mut(self.line, path.clone());
        }
    }

    fn seen_files(&mut self, files: &[SeenFile]) {
        // Which lines the host shows instead is not known.
        let altered = self.state.edits.contains_key(&self.at);
        for file in files {
            self.seen(&if altered { file.unplaced() } else { file.event() });
        }
    }

    /// Lines are shown outside the answers to reads. An answer of another text that is pending may come before them or
    /// after, so it does not count when it is delivered.
    fn seen(&mut self, event: &Event) {
        let Some(path) = event.path().cloned() else { return };
        let text = if let Event::Seen { version, .. } = event { Some(version.hash) } else { None };
        for line in self.pending(&path) {
            let answer = self.tree.find(line).and_then(|at| self.tree.get(at)?.record.answered());
            if text.is_none() || answer.and_then(|answer| answer.hash).map(|Sha(hash)| hash) != text {
                self.state.held.pending.remove_mut(&line);
                self.apply(&Event::Void { path: path.clone() });
            }
        }
        self.apply(event);
    }

    fn refresh(&mut self, paths: &[String], scope: &str) {
        let paths: Vec<PathKey> = paths.iter().map(|path| PathKey::new(path)).collect();
        let pending: Vec<(u64, PathKey)> =
            self.state.held.pending.iter().map(|(line, path)| (*line, path.clone())).collect();
        for (line, path) in pending.into_iter().filter(|(_, path)| paths.contains(path)) {
            // It was asked for before the refresh, so it does not count when it is delivered.
            self.state.held.pending.remove_mut(&line);
            self.apply(&Event::Void { path });
        }
        let scope = Scope::parse(scope).unwrap_or(Scope::Full);
        self.apply(&Event::Refreshed { paths, scope });
    }

    /// A result is on the branch. What it showed counts if the model sees the block as it was given.
    fn deliver(&mut self, of: u64) -> Effect {
        let Some((at, call)) = self.tree.find(of).and_then(|at| Some((at, self.tree.get(at)?))) else {
            return Effect::Nothing;
        };
        let for_program = call.record.answered().is_some_and(|answer| answer.for_program);
        // Counted twice, it would make an old text the newest.
        let again = call.delivered != Some(self.at);
        let delivery = call.record.delivery(of).filter(|_| !for_program && !again);
        let Some(Delivery { event, block: given, call: asked }) = delivery else { return Effect::Nothing };
        let Some(path) = event.path().cloned() else { return Effect::Nothing };
        let older: Vec<u64> = self.pending(&path).into_iter().filter(|line| *line < asked).collect();
        let (held, edits) = (&self.state.held, &self.state.edits);
        let edit = edits.get(&self.at).or_else(|| edits.get(&at));
        // If something newer was delivered before it, its place among the newer ones is not known.
        let overtaken = if held.pending.contains_key(&asked) || matches!(event, Event::Same { .. }) {
            false
        } else if let Event::Shown { version, .. } = &event {
            // If all that is held is of the same text, the order does not matter.
            let held = held.knowledge.of(&path);
            held.is_empty() || held.iter().any(|h| h.version() != *version)
        } else {
            true
        };
        // A result whose call was compacted away tells neither its file nor the place of its lines.
        let barrier = self.state.barrier.and_then(|barrier| self.tree.id(barrier));
        let compacted = barrier.is_some_and(|barrier| asked < barrier);
        let altered = overtaken || compacted || edit.is_some_and(|seen| seen.is_none() || *seen != given);
        if altered || !older.is_empty() {
            self.apply(&Event::Void { path });
        }
        for line in older.iter().chain([&asked]) {
            self.state.held.pending.remove_mut(line);
        }
        if !altered {
            self.apply(&event);
        }
        Effect::Changed
    }
}
