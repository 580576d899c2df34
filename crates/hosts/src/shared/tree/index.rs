//! Which entry has an id: a hash table from ids to entries that keeps neither, in ten to twenty bytes an entry.

use std::hash::{BuildHasher, RandomState};

/// The entries by their ids.
pub(super) struct Index {
    /// Each at the first free slot from where its mark leads; a power of two of them, at most three quarters in use.
    slots: Vec<Slot>,
    used: usize,
    /// Keeps ids that someone chose from all leading to the same slot.
    seed: u64,
}

/// An entry and the mark of its id. All zero is free, which is what fresh memory is.
#[derive(Clone, Copy, Default)]
struct Slot {
    mark: u32,
    /// The entry's number and one.
    next: u32,
}

impl Slot {
    fn entry(self) -> Option<u32> {
        self.next.checked_sub(1)
    }
}

impl Index {
    pub(super) fn new() -> Self {
        // The standard library seeds its own hash tables with this. Only the speed of the table depends on it, so it must
        // be unknown to those who choose ids, but it need not be a secret, and getting it cannot fail.
        Self { slots: vec![Slot::default(); 16], used: 0, seed: RandomState::new().hash_one(0) }
    }

    /// The entry of an id. `id_of` tells the id of an entry.
    pub(super) fn find(&self, id: u64, id_of: impl Fn(u32) -> u64) -> Option<u32> {
        self.slots[self.slot(self.mark(id), |entry| id_of(entry) == id)].entry()
    }

    /// Notes the entry of an id, unless there is one: then that is given.
    pub(super) fn insert(&mut self, id: u64, entry: u32, id_of: impl Fn(u32) -> u64) -> Option<u32> {
        if (self.used + 1) * 4 > self.slots.len() * 3 {
            self.grow();
        }
        let mark = self.mark(id);
        let slot = self.slot(mark, |entry| id_of(entry) == id);
        let taken = self.slots[slot].entry();
        if taken.is_none() {
            self.slots[slot] = Slot { mark, next: entry.saturating_add(1) };
            self.used += 1;
        }
        taken
    }

    fn grow(&mut self) {
        let grown = vec![Slot::default(); self.slots.len() * 2];
        for old in std::mem::replace(&mut self.slots, grown).into_iter().filter(|old| old.entry().is_some()) {
            let slot = self.slot(old.mark, |_| false);
            self.slots[slot] = old;
        }
    }

    fn mark(&self, id: u64) -> u32 {
        u32::try_from((id ^ self.seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32).unwrap_or(0)
    }

    /// Where an id of this mark stands, or would.
    fn slot(&self, mark: u32, is_it: impl Fn(u32) -> bool) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = mark as usize & mask;
        loop {
            let slot = self.slots[at];
            match slot.entry() {
                None => return at,
                Some(entry) if slot.mark == mark && is_it(entry) => return at,
                Some(_) => at = (at + 1) & mask,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn an_id_leads_to_its_first_entry() {
        let ids: Vec<u64> = (0..1000).map(|n: u64| n.wrapping_mul(0x9e37_79b1) & 0xffff).collect();
        let (mut index, mut first) = (Index::new(), BTreeMap::new());
        for (entry, id) in (0..).zip(&ids) {
            let taken = index.insert(*id, entry, |entry| ids[entry as usize]);
            assert_eq!(taken, first.get(id).copied());
            first.entry(*id).or_insert(entry);
        }
        for id in 0..0x1_0000 {
            assert_eq!(index.find(id, |entry| ids[entry as usize]), first.get(&id).copied());
        }
    }
}
