//! The tree of a session: entries by parent, the leaf, and at every entry the knowledge that holds there.

use readproof_core::{
    knowledge::{Event, Knowledge},
    limits::Answers,
    path::PathKey,
    scope::Scope,
};
use rpds::RedBlackTreeMapSync;
use std::{collections::BTreeSet, fmt, sync::Arc};

use super::nodes::Nodes;
use super::record::{Answered, Block, Outcome, Record, SeenFile, Sha};

/// The number of an entry: its line in the log. Prints as `e12`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EntryId(pub u64);

impl fmt::Display for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "e{}", self.0)
    }
}

impl std::str::FromStr for EntryId {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.strip_prefix('e').unwrap_or(text).parse().map(Self)
    }
}

/// What an entry is, for those who list a session.
#[derive(Clone, Debug)]
pub enum Step<'a> {
    /// A read that was answered and, if `delivered`, reached the model.
    Read {
        /// The answer.
        answer: &'a Answered,
        /// Whether the model has it.
        delivered: bool,
    },
    /// An own write or edit.
    Write {
        /// Which file.
        path: &'a str,
        /// Whether its result reached the model.
        delivered: bool,
    },
    /// Lines were shown otherwise than in the answer to a read.
    Seen {
        /// Of which files.
        files: &'a [SeenFile],
    },
    /// Fresh text was asked for.
    Refresh {
        /// Every known name of the file.
        paths: &'a [String],
        /// Which lines.
        scope: &'a str,
    },
    /// The barrier.
    Compact {
        /// What the host kept instead.
        summary: Option<&'a str>,
    },
    /// The host changed or dropped a block.
    ContextEdit {
        /// Which entry.
        target: EntryId,
        /// Whether the block is gone.
        dropped: bool,
    },
    /// Of a later program.
    Unknown,
}

/// One listed entry.
#[derive(Clone, Debug)]
pub struct Entry<'a> {
    /// Its number: what to name to go there.
    pub id: EntryId,
    /// The entry before it.
    pub parent: Option<EntryId>,
    /// What it is.
    pub step: Step<'a>,
}

/// What holds at one entry. Cheap to clone.
#[derive(Clone, Debug, Default)]
struct State {
    knowledge: Knowledge,
    /// Answers and writes that may or may not have reached the model: until then, or until a newer text of the path is
    /// delivered, nothing of the path is held.
    pending: RedBlackTreeMapSync<u64, PathKey>,
    /// The latest compaction, 0 when there is none.
    barrier: u64,
    /// Blocks the host shows otherwise than they were given.
    edits: RedBlackTreeMapSync<u64, Option<Block>>,
}

struct Node {
    parent: Option<u64>,
    record: Record,
    /// Shared with the entry before it where it changes nothing.
    state: Arc<State>,
    /// The entry that says that its result reached the model.
    delivered: Option<u64>,
}

/// The tree.
pub struct Transcript {
    answers: Answers,
    nodes: Nodes<Node>,
    leaf: Option<u64>,
    distrusted: bool,
    /// Changes of the tree so far.
    moves: u64,
    /// Events applied so far: what all knowledge has cost.
    applied: u64,
    lines: u64,
    /// Every file that was read or written, on whatever branch.
    known: BTreeSet<String>,
}

impl Transcript {
    /// An empty tree whose knowledge counts as `answers` says.
    #[must_use]
    pub fn new(answers: Answers) -> Self {
        let (nodes, known) = (Nodes::new(), BTreeSet::new());
        Self { answers, nodes, leaf: None, distrusted: false, moves: 0, applied: 0, lines: 0, known }
    }

    /// Which answers are allowed.
    #[must_use]
    pub fn answers(&self) -> Answers {
        self.answers
    }

    /// Whether nothing, not even a header, stands here.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lines == 0
    }

    /// The current leaf; `None` is the root.
    #[must_use]
    pub fn leaf(&self) -> Option<u64> {
        self.leaf
    }

    /// Grows with every change of the tree.
    #[must_use]
    pub fn moves(&self) -> u64 {
        self.moves
    }

    /// How many events were applied to derive all of this.
    #[must_use]
    pub fn applied(&self) -> u64 {
        self.applied
    }

    /// Whether the host was seen to change what the model sees.
    #[must_use]
    pub fn is_distrusted(&self) -> bool {
        self.distrusted
    }

    /// What the model holds at the leaf.
    #[must_use]
    pub fn knowledge(&self) -> Knowledge {
        self.knowledge_at(self.leaf)
    }

    /// Whether an answer about this path, or a write to it, is still out: then nothing of it is held.
    #[must_use]
    pub fn is_pending(&self, path: &PathKey) -> bool {
        self.state_of(self.leaf).is_some_and(|state| state.pending.values().any(|pending| pending == path))
    }

    /// Takes in the next line of the log.
    pub fn push(&mut self, line: u64, record: Record) {
        self.lines += 1;
        let Some(parent) = record.parent() else {
            self.turn(&record);
            return;
        };
        if let Some(path) = record.path().filter(|path| !self.known.contains(*path)) {
            self.known.insert(path.to_owned());
        }
        // What stands behind something that is not there stands alone: nothing earlier is known of its branch, and nothing
        // that comes later under that number belongs to it.
        let is_orphan = parent.is_some_and(|parent| !self.nodes.contains(parent));
        let parent = parent.filter(|_| !is_orphan);
        let before = self.state_at(parent);
        let delivers = if let Record::Delivered { of, .. } = record { Some(of) } else { None };
        let repeated = delivers.is_some_and(|of| self.is_delivered(of));
        // Said twice, it would make an old text the newest.
        let state = if repeated || self.is_idle(&record) {
            before
        } else {
            Arc::new(self.after(State::clone(&before), line, &record, parent))
        };
        if let Some(call) = delivers.and_then(|of| self.nodes.get_mut(of)) {
            call.delivered = call.delivered.or(Some(line));
        }
        self.nodes.insert(line, Node { parent, record, state, delivered: None });
        // A result that comes in after the leaf moved elsewhere stands on its own branch and leaves the leaf alone.
        if parent == self.leaf || is_orphan {
            self.leaf = Some(line);
        }
        self.moves += 1;
    }

    /// Takes in a record that is not an entry of the tree.
    fn turn(&mut self, record: &Record) {
        if let Record::Switch { to, .. } = record {
            self.leaf = to.filter(|to| self.nodes.contains(*to));
        } else if let Record::Distrust { .. } = record {
            self.distrusted = true;
        } else {
            return;
        }
        self.moves += 1;
    }

    /// Where the result `of` belongs: behind the leaf while that is on the branch of its call, else behind the call.
    #[must_use]
    pub fn parent_for_result(&self, of: EntryId) -> Option<Option<u64>> {
        self.nodes.get(of.0)?;
        let on_branch = self.walk(self.leaf).take_while(|(id, _)| *id >= of.0).any(|(id, _)| id == of.0);
        Some(if on_branch { self.leaf } else { Some(of.0) })
    }

    /// Whether the leaf stands at or behind an entry with no compaction between: a call made there is still in sight.
    #[must_use]
    pub fn reaches(&self, call: Option<u64>) -> bool {
        let barrier = self.state_of(self.leaf).map_or(0, |state| state.barrier);
        match call {
            None => barrier == 0,
            Some(call) => {
                call >= barrier && self.walk(self.leaf).take_while(|(id, _)| *id >= call).any(|(id, _)| id == call)
            }
        }
    }

    /// What the model held at an entry.
    #[must_use]
    pub fn knowledge_at(&self, entry: Option<u64>) -> Knowledge {
        self.state_of(entry).map(|state| state.knowledge.clone()).unwrap_or_default()
    }

    fn state_of(&self, entry: Option<u64>) -> Option<&State> {
        entry.and_then(|id| self.nodes.get(id)).map(|node| &*node.state)
    }

    fn is_delivered(&self, call: u64) -> bool {
        self.nodes.get(call).is_some_and(|node| node.delivered.is_some())
    }

    /// From an entry up to the root.
    fn walk(&self, from: Option<u64>) -> impl Iterator<Item = (u64, &Node)> {
        let mut next = from;
        std::iter::from_fn(move || {
            let id = next?;
            let node = self.nodes.get(id)?;
            // A parent always stands before its child; anything else would be a ring.
            next = node.parent.filter(|parent| *parent < id);
            Some((id, node))
        })
    }

    fn state_at(&self, entry: Option<u64>) -> Arc<State> {
        entry.and_then(|id| self.nodes.get(id)).map(|node| Arc::clone(&node.state)).unwrap_or_default()
    }

    /// Whether a record leaves everything as it is.
    fn is_idle(&self, record: &Record) -> bool {
        let is_unknown = |node: &Node| matches!(node.record, Record::Unknown { .. });
        match record {
            Record::Unknown { .. } | Record::Change { .. } => true,
            Record::Delivered { of, .. } => self.nodes.get(*of).is_none_or(is_unknown),
            Record::Open { .. }
            | Record::Answer { .. }
            | Record::Begun { .. }
            | Record::Seen { .. }
            | Record::Alike { .. }
            | Record::Refresh { .. }
            | Record::Compact { .. }
            | Record::ContextEdit { .. }
            | Record::Distrust { .. }
            | Record::Switch { .. } => false,
        }
    }

    /// The state after one record; `parent` is the entry before it.
    fn after(&mut self, mut state: State, line: u64, record: &Record, parent: Option<u64>) -> State {
        match record {
            Record::Answer { answer, .. } => {
                if answer.for_program {
                    self.seen(&mut state, line, &answer.seen());
                    return state;
                }
                let event = answer.event();
                if let Event::Same { path, base, version, scope, ends } = event {
                    // A marker shows no text, so nothing newer than what is held can have been seen.
                    self.apply(&mut state, line, &Event::Told { path, base, version, scope, ends });
                } else if let Some(path) = event.path() {
                    state.pending.insert_mut(line, path.clone());
                }
            }
            Record::Begun { path, .. } => state.pending.insert_mut(line, PathKey::new(path)),
            Record::Delivered { of, .. } => self.deliver(&mut state, line, *of),
            Record::Seen { files, .. } => {
                // What the host shows in its place cannot be told from the lines.
                let altered = state.edits.contains_key(&line);
                for file in files {
                    let event = if altered { file.unplaced() } else { file.event() };
                    self.seen(&mut state, line, &event);
                }
            }
            Record::Alike { found, .. } => self.apply(&mut state, line, &found.event()),
            Record::Refresh { paths, scope, .. } => {
                let paths: Vec<PathKey> = paths.iter().map(|path| PathKey::new(path)).collect();
                let out: Vec<(u64, PathKey)> = state.pending.iter().map(|(id, path)| (*id, path.clone())).collect();
                for (id, path) in out.into_iter().filter(|(_, path)| paths.contains(path)) {
                    // An answer on its way was asked for before: it does not count when it comes in.
                    state.pending.remove_mut(&id);
                    self.apply(&mut state, line, &Event::Void { path });
                }
                let scope = Scope::parse(scope).unwrap_or(Scope::Full);
                self.apply(&mut state, line, &Event::Refreshed { paths, scope });
            }
            Record::Compact { .. } => {
                self.applied += 1;
                state = State { barrier: line, ..State::default() };
            }
            Record::ContextEdit { target, block, .. } => state = self.edited(state, parent, *target, *block),
            Record::Open { .. }
            | Record::Change { .. }
            | Record::Distrust { .. }
            | Record::Switch { .. }
            | Record::Unknown { .. } => {}
        }
        state
    }

    /// Lines are shown beside the answers to reads. An answer of another text that is on its way may stand before them
    /// or behind, so it does not count when it comes in.
    fn seen(&mut self, state: &mut State, line: u64, event: &Event) {
        let Some(path) = event.path().cloned() else { return };
        let text = if let Event::Seen { version, .. } = event { Some(version.hash) } else { None };
        let out: Vec<u64> = state.pending.iter().filter(|(_, other)| **other == path).map(|(id, _)| *id).collect();
        for id in out {
            let answer = self.nodes.get(id).and_then(|node| node.record.answered());
            if text.is_none() || answer.and_then(|answer| answer.hash).map(|Sha(hash)| hash) != text {
                state.pending.remove_mut(&id);
                self.apply(state, line, &Event::Void { path: path.clone() });
            }
        }
        self.apply(state, line, event);
    }

    fn apply(&mut self, state: &mut State, line: u64, event: &Event) {
        self.applied += 1;
        state.knowledge.apply(line, event, self.answers);
    }

    /// A result stands on the branch: what it showed counts, if the model sees the block as it was given.
    fn deliver(&mut self, state: &mut State, line: u64, of: u64) {
        let Some(Node { record, .. }) = self.nodes.get(of) else { return };
        if record.answered().is_some_and(|answer| answer.for_program) {
            return;
        }
        let Some(Outcome { event, block: given, call: own }) = record.outcome(of) else { return };
        let Some(path) = event.path().cloned() else { return };
        let older: Vec<u64> =
            state.pending.iter().filter(|(id, p)| **id < own && **p == path).map(|(id, _)| *id).collect();
        let edit = state.edits.get(&line).or_else(|| state.edits.get(&of));
        // A result whose call was compacted away says neither which file it is of nor where its lines stand.
        // Nor does one count whose place among newer ones is not known: something newer was delivered before it.
        let overtaken = if state.pending.contains_key(&own) || matches!(event, Event::Same { .. }) {
            false
        } else if let Event::Shown { version, .. } = &event {
            // The same text as all that is held: then the order does not matter.
            let held = state.knowledge.of(&path);
            held.is_empty() || held.iter().any(|h| h.version() != *version)
        } else {
            true
        };
        let altered = overtaken || own < state.barrier || edit.is_some_and(|seen| seen.is_none() || *seen != given);
        if altered || !older.is_empty() {
            self.apply(state, line, &Event::Void { path });
        }
        for id in older.iter().chain([&own]) {
            state.pending.remove_mut(id);
        }
        if !altered {
            self.apply(state, line, &event);
        }
    }

    /// Derives anew from the edited entry on, or from the first one edited before, as the entries between were derived
    /// without knowing of it. An edit of something before the barrier, or of another branch, changes nothing.
    fn edited(&mut self, state: State, parent: Option<u64>, target: u64, block: Option<Block>) -> State {
        let first = state.edits.first().map_or(target, |(first, _)| target.min(*first));
        let mut path = Vec::new();
        for (id, node) in self.walk(parent).take_while(|(id, _)| *id >= first) {
            if matches!(node.record, Record::Compact { .. }) {
                break;
            }
            path.push((id, node.record.clone()));
        }
        let Some((start, _)) = path.last().filter(|_| path.iter().any(|(id, _)| *id == target)) else {
            return state;
        };
        let before = self.nodes.get(*start).and_then(|node| node.parent);
        let mut anew = State::clone(&self.state_at(before));
        anew.edits = state.edits;
        anew.edits.insert_mut(target, block);
        for (id, record) in path.into_iter().rev() {
            // Edits that stand between are in the list already.
            if !matches!(record, Record::ContextEdit { .. }) {
                anew = self.after(anew, id, &record, None);
            }
        }
        anew
    }
}

/// Listing.
impl Transcript {
    /// The entry of this number.
    #[must_use]
    pub fn entry(&self, id: EntryId) -> Option<Entry<'_>> {
        self.nodes.get(id.0).map(|node| self.listed(id.0, node))
    }

    /// The record of this number.
    #[must_use]
    pub fn record(&self, id: EntryId) -> Option<&Record> {
        self.nodes.get(id.0).map(|node| &node.record)
    }

    /// Every answer, on whatever branch.
    pub fn answered(&self) -> impl Iterator<Item = &Answered> {
        self.nodes.iter_from(0).filter_map(|(_, node)| node.record.answered())
    }

    /// Every file that was read or written, on whatever branch.
    #[must_use]
    pub fn files(&self) -> BTreeSet<PathKey> {
        self.known.iter().map(|path| PathKey::new(path)).collect()
    }

    /// Whether a file was read or written, on whatever branch. Of any other nothing can be held.
    #[must_use]
    pub fn knows(&self, path: &str) -> bool {
        self.known.contains(path)
    }

    /// What was recorded after an entry, on whatever branch.
    pub fn records_after(&self, id: EntryId) -> impl Iterator<Item = (EntryId, &Record)> {
        self.nodes.iter_from(id.0.saturating_add(1)).map(|(id, node)| (EntryId(id), &node.record))
    }

    /// The entries from the root to `leaf`.
    #[must_use]
    pub fn branch(&self, leaf: Option<EntryId>) -> Vec<EntryId> {
        let mut ids: Vec<EntryId> = self.walk(leaf.map(|id| id.0)).map(|(id, _)| EntryId(id)).collect();
        ids.reverse();
        ids
    }

    /// Every entry of the tree that a person would name: calls, under the number their caller was given. That the
    /// result was delivered is part of them.
    #[must_use]
    pub fn entries(&self) -> Vec<Entry<'_>> {
        let announced =
            |record: &Record| if let Record::Change { changed, .. } = record { Some(changed.begun) } else { None };
        let changed: BTreeSet<u64> = self.nodes.iter_from(0).filter_map(|(_, node)| announced(&node.record)).collect();
        let is_listed = |id: u64, node: &Node| {
            !matches!(node.record, Record::Delivered { .. } | Record::Alike { .. }) && !changed.contains(&id)
        };
        let listed = self.nodes.iter_from(0).filter(|(id, node)| is_listed(*id, node));
        listed.map(|(id, node)| self.listed(id, node)).collect()
    }

    /// Where an entry is done: for a call, the entry that says its result was delivered.
    #[must_use]
    pub fn settled(&self, id: EntryId) -> EntryId {
        self.nodes.get(id.0).and_then(|node| node.delivered).map_or(id, EntryId)
    }

    /// The number an entry is known by: for a delivered result, that of its call.
    #[must_use]
    pub fn named(&self, id: EntryId) -> EntryId {
        match self.nodes.get(id.0).map(|node| &node.record) {
            Some(Record::Delivered { of, .. }) => EntryId(*of),
            _ => id,
        }
    }

    /// The newest entry at or below `id`: the tip of its branch.
    #[must_use]
    pub fn tip(&self, id: EntryId) -> EntryId {
        let mut below = BTreeSet::from([id.0]);
        for (child, node) in self.nodes.iter_from(id.0).filter(|(child, _)| *child != id.0) {
            if node.parent.is_some_and(|parent| below.contains(&parent)) {
                below.insert(child);
            }
        }
        EntryId(below.last().copied().unwrap_or(id.0))
    }

    /// The delivered or pending reads on the branch since the barrier, oldest first, and how many entries that is.
    #[must_use]
    pub fn window(&self) -> (usize, Vec<&Answered>) {
        let mut reads = Vec::new();
        let mut entries = 0;
        for (_, node) in self.walk(self.leaf) {
            match &node.record {
                Record::Compact { .. } => break,
                Record::Delivered { of, .. } => {
                    entries += 1;
                    if let Some(Record::Answer { answer, .. }) = self.nodes.get(*of).map(|node| &node.record) {
                        reads.push(&**answer);
                    }
                }
                Record::Seen { .. } | Record::Refresh { .. } | Record::ContextEdit { .. } => entries += 1,
                Record::Open { .. }
                | Record::Answer { .. }
                | Record::Begun { .. }
                | Record::Change { .. }
                | Record::Alike { .. }
                | Record::Distrust { .. }
                | Record::Switch { .. }
                | Record::Unknown { .. } => {}
            }
        }
        reads.reverse();
        (entries, reads)
    }

    fn listed<'a>(&'a self, id: u64, node: &'a Node) -> Entry<'a> {
        let delivered = node.delivered.is_some();
        let step = match &node.record {
            Record::Answer { answer, .. } => Step::Read { answer, delivered },
            Record::Begun { path, .. } => Step::Write { path, delivered },
            Record::Change { changed, .. } => Step::Write { path: &changed.path, delivered },
            Record::Seen { files, .. } => Step::Seen { files },
            Record::Refresh { paths, scope, .. } => Step::Refresh { paths, scope },
            Record::Compact { summary, .. } => Step::Compact { summary: summary.as_deref() },
            Record::ContextEdit { target, block, .. } => {
                Step::ContextEdit { target: self.named(EntryId(*target)), dropped: block.is_none() }
            }
            Record::Open { .. }
            | Record::Delivered { .. }
            | Record::Alike { .. }
            | Record::Distrust { .. }
            | Record::Switch { .. }
            | Record::Unknown { .. } => Step::Unknown,
        };
        let parent = node.parent.map(|parent| self.named(EntryId(parent)));
        Entry { id: EntryId(id), parent, step }
    }
}
