//! The entries of a tree by number. Numbers are lines of a log, so nearly all are taken and a list finds them at once.

/// Entries by number; some numbers stand for lines that are no entry.
pub(super) struct Nodes<N>(Vec<Option<N>>);

impl<N> Nodes<N> {
    pub(super) fn new() -> Self {
        Self(Vec::new())
    }

    pub(super) fn get(&self, id: u64) -> Option<&N> {
        self.0.get(usize::try_from(id).ok()?)?.as_ref()
    }

    pub(super) fn get_mut(&mut self, id: u64) -> Option<&mut N> {
        self.0.get_mut(usize::try_from(id).ok()?)?.as_mut()
    }

    pub(super) fn contains(&self, id: u64) -> bool {
        self.get(id).is_some()
    }

    /// Adds the newest entry.
    pub(super) fn insert(&mut self, id: u64, node: N) {
        let Ok(at) = usize::try_from(id) else { return };
        if self.0.len() <= at {
            self.0.resize_with(at + 1, || None);
        }
        self.0[at] = Some(node);
    }

    /// Every entry from a number on, in order.
    pub(super) fn iter_from(&self, first: u64) -> impl Iterator<Item = (u64, &N)> {
        let skipped = usize::try_from(first).unwrap_or(usize::MAX);
        (0..).zip(&self.0).skip(skipped).filter_map(|(id, node)| node.as_ref().map(|node| (id, node)))
    }
}
