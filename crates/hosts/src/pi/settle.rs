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

impl Transcript {
    /// The state at a leaf, derived if nobody asked before.
    pub(super) fn settle(&mut self, leaf: u32, source: &dyn Source) -> u32 {
        if self.state_of(leaf) != UNSETTLED {
            return self.state_of(leaf);
        }
        let mut fresh: Vec<u32> =
            self.walk(leaf).take_while(|(_, entry)| entry.state == UNSETTLED).map(|(at, _)| at).collect();
        fresh.reverse();
        for at in &fresh {
            self.read(*at, source);
        }
        match self.edits(&fresh, source) {
            None => self.settle_all(&fresh),
            Some(edits) => self.settle_anew(leaf, &edits),
        }
    }

    /// Entries one behind the other, the first of which stands behind one that is settled.
    fn settle_all(&mut self, fresh: &[u32]) -> u32 {
        let behind = fresh.first().and_then(|first| self.entry(*first)).map_or(0, |entry| self.state_of(entry.parent));
        let (mut state, mut number) = (self.state(behind).clone(), behind);
        for at in fresh {
            let says = self.take(&mut state, *at);
            number = self.settle_at(*at, &state, (!says).then_some(number));
        }
        number
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

    /// The same with edits among them. What was derived without knowing of an edit stays right for leaves before it, so it
    /// starts before the first entry that was edited and settles only from the last edit on.
    fn settle_anew(&mut self, leaf: u32, edits: &Edits) -> u32 {
        let first = edits.targets.first().copied().unwrap_or(leaf);
        let is_start = |at: u32, state: u32| at < first && state != UNSETTLED;
        let mut branch: Vec<u32> =
            self.walk(leaf).take_while(|(at, entry)| !is_start(*at, entry.state)).map(|(at, _)| at).collect();
        branch.reverse();
        let start = branch.first().and_then(|at| self.entry(*at)).map_or(0, |entry| self.state_of(entry.parent));
        let mut state = State { altered: edits.targets.iter().copied().collect(), ..self.state(start).clone() };
        let mut number = None;
        for at in branch {
            let says = self.take(&mut state, at);
            if at >= edits.last {
                number = Some(self.settle_at(at, &state, number.filter(|_| !says)));
            }
        }
        number.unwrap_or(0)
    }

    /// The edits among these entries, with those on the branch before them; `None` when these change nothing. Once
    /// altered, an entry never counts again on that branch.
    fn edits(&self, fresh: &[u32], source: &dyn Source) -> Option<Edits> {
        let edit = |at: &u32| {
            let edit = ContextEdit::from_fact(self.fact_of(*at)?)?;
            Some((*at, self.index(&edit.target)?, edit.visible))
        };
        let found: Vec<_> = fresh.iter().filter_map(edit).collect();
        let first = found.iter().map(|(_, target, _)| *target).min()?;
        let behind = self.entry(*fresh.first()?)?.parent;
        let before = self.state(self.state_of(behind));
        // From the first target to the leaf, in order.
        let mut branch: Vec<u32> = self.walk(behind).map(|(at, _)| at).take_while(|at| *at >= first).collect();
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
