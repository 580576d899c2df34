//! What holds at a leaf, derived from the nearest entry behind it where that is known. Context edits on the way are
//! collected first, so that however many there are the branch is gone through once.

use std::collections::BTreeSet;

use super::{
    Source,
    fact::{ContextEdit, Fact},
    state::State,
    transcript::{Transcript, UNSETTLED},
};

/// The context edits on a branch that change something.
struct Edits {
    /// The entries that the model sees otherwise than they were given.
    targets: BTreeSet<u32>,
    /// The last edit.
    last: u32,
}

/// So many entries before a leaf are settled with it, each; before those, one of so many.
const NEAR: usize = 32;

impl Transcript {
    /// The state at a leaf, derived if nobody asked before.
    pub(super) fn settle(&mut self, leaf: u32, source: &dyn Source) -> u32 {
        if self.state_of(leaf) != UNSETTLED {
            return self.state_of(leaf);
        }
        let fresh = self.branch(leaf, |_, state| state != UNSETTLED);
        for at in &fresh {
            self.read(*at, source);
        }
        let behind =
            fresh.first().and_then(|first| self.tree.get(*first)).map_or(0, |entry| self.state_of(entry.parent));
        match self.edits(&fresh, source) {
            None => self.settle_all(&fresh, 0, self.state(behind).clone(), Some(behind)),
            Some(edits) => self.settle_anew(leaf, &edits),
        }
    }

    /// The entries up to a leaf, in order, behind the nearest one for which `until` holds.
    fn branch(&self, leaf: u32, until: impl Fn(u32, u32) -> bool) -> Vec<u32> {
        let walk = self.tree.walk(leaf).take_while(|(at, entry)| !until(*at, entry.state));
        let mut branch: Vec<u32> = walk.map(|(at, _)| at).collect();
        branch.reverse();
        branch
    }

    /// Derives entries one behind the other, and settles some of those from `from` on: near the end every one, as that is
    /// where a leaf moves. `kept` is the number of the state, if it has one.
    fn settle_all(&mut self, branch: &[u32], from: u32, mut state: State, mut kept: Option<u32>) -> u32 {
        for (at, left) in branch.iter().zip((0..branch.len()).rev()) {
            if self.take(&mut state, *at) {
                kept = None;
            }
            if *at >= from && (left < NEAR || left % NEAR == 0) {
                kept = Some(self.settle_at(*at, &state, kept));
            }
        }
        kept.unwrap_or(0)
    }

    /// The same with edits among them. What was derived without knowing of an edit stays right for leaves before it, so it
    /// starts before the first entry that was edited and settles only from the last edit on.
    fn settle_anew(&mut self, leaf: u32, edits: &Edits) -> u32 {
        let first = edits.targets.first().copied().unwrap_or(leaf);
        let branch = self.branch(leaf, |at, state| at < first && state != UNSETTLED);
        let start = branch.first().and_then(|at| self.tree.get(*at)).map_or(0, |entry| self.state_of(entry.parent));
        let altered = edits.targets.iter().copied().collect();
        let state = State { altered, ..self.state(start).clone() };
        self.settle_all(&branch, edits.last, state, None)
    }

    /// Takes an entry into a state; `false` when it says nothing.
    fn take(&self, state: &mut State, at: u32) -> bool {
        match self.fact_of(at) {
            None | Some(Fact::Nothing | Fact::ContextEdit(_)) => false,
            Some(fact) => {
                state.take(at, fact);
                true
            }
        }
    }

    /// The edits among these entries, with those on the branch before them; `None` when these change nothing. Once
    /// altered, an entry never counts again on that branch.
    fn edits(&self, fresh: &[u32], source: &dyn Source) -> Option<Edits> {
        let edit = |at: &u32| {
            let edit = ContextEdit::from_fact(self.fact_of(*at)?)?;
            Some((*at, self.tree.find(&edit.target)?, edit.visible))
        };
        let found: Vec<_> = fresh.iter().filter_map(edit).collect();
        let first = found.iter().map(|(_, target, _)| *target).min()?;
        let behind = self.tree.get(*fresh.first()?)?.parent;
        let before = self.state(self.state_of(behind));
        // From the first target to the leaf, in order.
        let mut branch: Vec<u32> = self.tree.walk(behind).map(|(at, _)| at).take_while(|at| *at >= first).collect();
        branch.reverse();
        branch.extend(fresh);
        let mut edits = Edits { targets: before.altered.iter().copied().collect(), last: 0 };
        for (at, target, visible) in found {
            let stands = target < at
                && before.barrier.is_none_or(|barrier| target > barrier)
                && branch.binary_search(&target).is_ok();
            let alters = stands && self.fact_of(target).is_some_and(|fact| fact.is_altered_by(visible, source));
            if alters && edits.targets.insert(target) {
                edits.last = at;
            }
        }
        (edits.last > 0).then_some(edits)
    }
}
