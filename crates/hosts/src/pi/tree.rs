//! Entries, each behind its parent, and which of them has an id. Knows nothing of what they say.

use super::id::{Ids, Index};

/// No entry: the root.
pub(super) const ROOT: u32 = u32::MAX;

/// One entry: its id, its parent, what stands there and what it says, all by number.
pub(super) struct Entry {
    id: u64,
    pub(super) parent: u32,
    pub(super) state: u32,
    pub(super) fact: u32,
}

/// The entries in the order they came.
pub(super) struct Tree {
    ids: Ids,
    index: Index,
    entries: Vec<Entry>,
    /// So many are in the index; the others wait, as many at once are noted much faster.
    noted: usize,
    /// One of them has the id of another.
    twice: Option<u32>,
}

impl Tree {
    pub(super) fn new() -> Self {
        Self { ids: Ids::default(), index: Index::new(), entries: Vec::new(), noted: 0, twice: None }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The entry of this id among those that were noted.
    pub(super) fn find(&self, id: &[u8]) -> Option<u32> {
        self.index.find(self.ids.find(id)?, |at| self.entries[at as usize].id)
    }

    /// The entry of this id, which is most often the last one. Others are noted first.
    pub(super) fn find_any(&mut self, id: &[u8]) -> Option<u32> {
        let number = self.ids.find(id)?;
        if self.entries.last().is_some_and(|last| last.id == number) {
            return self.last();
        }
        self.note();
        self.index.find(number, |at| self.entries[at as usize].id)
    }

    /// The last one.
    pub(super) fn last(&self) -> Option<u32> {
        self.entries.len().checked_sub(1).and_then(|at| u32::try_from(at).ok())
    }

    /// The id of an entry.
    pub(super) fn id(&self, at: u32) -> Option<String> {
        self.get(at).map(|entry| self.ids.name(entry.id))
    }

    /// Whether an entry has this id.
    pub(super) fn has_id(&self, at: u32, id: &[u8]) -> bool {
        self.get(at).is_some_and(|entry| self.ids.find(id) == Some(entry.id))
    }

    pub(super) fn get(&self, at: u32) -> Option<&Entry> {
        self.entries.get(at as usize)
    }

    pub(super) fn get_mut(&mut self, at: u32) -> Option<&mut Entry> {
        self.entries.get_mut(at as usize)
    }

    /// From an entry up to the root. A parent always stands before its child, so this ends.
    pub(super) fn walk(&self, from: u32) -> impl Iterator<Item = (u32, &Entry)> {
        let mut next = from;
        std::iter::from_fn(move || {
            let at = next;
            let entry = self.get(at)?;
            next = entry.parent;
            Some((at, entry))
        })
    }

    /// Puts an entry behind the others, to be noted later.
    pub(super) fn push(&mut self, id: &[u8], parent: u32, state: u32, fact: u32) {
        let id = self.ids.intern(id);
        self.entries.push(Entry { id, parent, state, fact });
    }

    /// Notes the entries that wait; gives an entry whose id came again.
    pub(super) fn note(&mut self) -> Option<u32> {
        for (entry, at) in self.entries[self.noted..].iter().zip(self.noted..) {
            let at = u32::try_from(at).unwrap_or(ROOT);
            let taken = self.index.insert(entry.id, at, |at| self.entries[at as usize].id);
            self.twice = self.twice.or(taken);
        }
        self.noted = self.entries.len();
        self.twice
    }

    /// Takes the entries from `len` on away again, and with them an id that came twice.
    pub(super) fn truncate(&mut self, len: usize) {
        self.entries.truncate(len);
        self.twice = None;
        if self.noted > len + 1 {
            self.index = Index::new();
            self.noted = 0;
            self.note();
        }
        self.noted = len;
    }
}
