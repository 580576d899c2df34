//! The tree of a session: its entries, the leaf, and at every entry the knowledge that holds there.

use readproof_core::{knowledge::Knowledge, limits::Answers, path::PathKey};
use std::{collections::BTreeSet, fmt};

use super::{
    record::Record,
    state::{Holdings, Logged, Taking, View},
};
use crate::{
    derive::{Brings, Derive, Derived, DerivedOf, Effect, State, settle},
    tree::{At, Tree},
};

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

pub struct Transcript {
    answers: Answers,
    pub(super) derived: Derived<Logged, Holdings, View>,
    pub(super) leaf: Option<At>,
    distrusted: bool,
    /// How often the tree changed.
    moves: u64,
    /// How often the leaf was moved to an entry that was there.
    turns: u64,
    /// How many events were applied: what deriving all knowledge has cost.
    applied: u64,
    lines: u64,
    /// Every file that was read or written, on any branch.
    pub(super) known: BTreeSet<String>,
}

impl Transcript {
    #[must_use]
    pub fn new(answers: Answers) -> Self {
        let (derived, known) = (Derived::new(), BTreeSet::new());
        Self { answers, derived, leaf: None, distrusted: false, moves: 0, turns: 0, applied: 0, lines: 0, known }
    }

    #[must_use]
    pub fn answers(&self) -> Answers {
        self.answers
    }

    /// Whether the log has no line yet, not even a header.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lines == 0
    }

    /// The line of the leaf; `None` is the root.
    #[must_use]
    pub fn leaf(&self) -> Option<u64> {
        self.leaf.map(|leaf| self.line(leaf))
    }

    /// Grows with every change of the tree.
    #[must_use]
    pub fn moves(&self) -> u64 {
        self.moves
    }

    /// Grows with every move of the leaf to an entry that was there.
    #[must_use]
    pub fn turns(&self) -> u64 {
        self.turns
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

    /// Whether there is a compaction on the branch.
    #[must_use]
    pub fn is_compacted(&self) -> bool {
        self.state_at(self.leaf).is_some_and(|state| state.barrier.is_some())
    }

    /// What the model holds at the leaf.
    #[must_use]
    pub fn knowledge(&self) -> Knowledge {
        self.knowledge_of(self.leaf)
    }

    /// Whether an answer about this path, or a write to it, is pending: then nothing of it is held.
    #[must_use]
    pub fn is_pending(&self, path: &PathKey) -> bool {
        self.state_at(self.leaf).is_some_and(|state| state.held.pending.values().any(|pending| pending == path))
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
        let named = parent;
        let parent = named.and_then(|parent| self.tree().find(parent));
        // A result can only be delivered after it.
        let delivers = if let Record::Delivered { of, .. } = record { self.tree().find(of) } else { None };
        let compacts = matches!(record, Record::Compact { .. });
        self.applied += u64::from(compacts);
        let brings = if compacts { Brings::Barrier } else { Brings::Something };
        let at = self.derived.push(line, parent, Logged { record, delivered: None }, brings);
        let tree = self.derived.tree_mut();
        tree.note();
        if let Some(call) = delivers.and_then(|call| tree.get_mut(call)) {
            call.delivered.get_or_insert(at);
        }
        settle(self, Some(at));
        // A result that comes in after the leaf moved elsewhere is put on its own branch and does not move the leaf.
        let is_orphan = named.is_some() && parent.is_none();
        if parent == self.leaf || is_orphan {
            self.leaf = Some(at);
        }
        self.moves += 1;
    }

    /// Takes in a record that is not an entry of the tree.
    fn turn(&mut self, record: &Record) {
        if let Record::Switch { to, .. } = record {
            self.turns += 1;
            self.leaf = to.and_then(|to| self.tree().find(to));
        } else if let Record::Distrust { .. } = record {
            self.distrusted = true;
        } else {
            return;
        }
        self.moves += 1;
    }

    /// Where the result `of` is put: after the leaf while that is on the branch of its call, else after the call.
    #[must_use]
    pub fn parent_for_result(&self, of: EntryId) -> Option<Option<u64>> {
        let call = self.tree().find(of.0)?;
        Some(if self.tree().is_on_branch(call, self.leaf) { self.leaf() } else { Some(of.0) })
    }

    /// Whether an entry is on the branch of the leaf with no compaction after it: a call made there is still in sight.
    #[must_use]
    pub fn reaches(&self, call: Option<u64>) -> bool {
        let barrier = self.state_at(self.leaf).and_then(|state| state.barrier);
        match call {
            None => barrier.is_none(),
            Some(call) => self.tree().find(call).is_some_and(|call| {
                barrier.is_none_or(|barrier| call >= barrier) && self.tree().is_on_branch(call, self.leaf)
            }),
        }
    }

    #[must_use]
    pub fn knowledge_at(&self, entry: Option<u64>) -> Knowledge {
        self.knowledge_of(entry.and_then(|line| self.tree().find(line)))
    }

    fn knowledge_of(&self, at: Option<At>) -> Knowledge {
        self.state_at(at).map(|state| state.held.knowledge.clone()).unwrap_or_default()
    }

    fn state_at(&self, at: Option<At>) -> Option<&State<Holdings, View>> {
        self.derived.state_at(at)
    }

    pub(super) fn tree(&self) -> &Tree<Logged> {
        self.derived.tree()
    }

    pub(super) fn get(&self, id: EntryId) -> Option<&Logged> {
        self.tree().find(id.0).and_then(|at| self.tree().get(at))
    }

    pub(super) fn line(&self, at: At) -> u64 {
        self.tree().id(at).unwrap_or_default()
    }
}

impl Derive for Transcript {
    type Entry = Logged;
    type Holdings = Holdings;
    type View = View;

    fn derived(&self) -> &DerivedOf<Self> {
        &self.derived
    }

    fn derived_mut(&mut self) -> &mut DerivedOf<Self> {
        &mut self.derived
    }

    fn take(&mut self, at: At, state: &mut State<Holdings, View>) -> Effect {
        let tree = self.derived.tree();
        let (Some(entry), Some(line)) = (tree.get(at), tree.id(at)) else { return Effect::Nothing };
        Taking { tree, answers: self.answers, applied: &mut self.applied, at, line, state }.take(&entry.record)
    }

    fn target(&self, at: At) -> Option<At> {
        let Record::ContextEdit { target, .. } = self.tree().get(at)?.record else { return None };
        self.tree().find(target)
    }

    /// The last edit decides: the host may show the block again.
    fn view(&self, at: At, _target: At, _before: Option<&View>) -> Option<View> {
        let Record::ContextEdit { block, .. } = self.tree().get(at)?.record else { return None };
        Some(block)
    }
}
