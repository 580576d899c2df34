//! The entries of a tree by number. Numbers grow, and few are left out, so an entry is found almost at once.

/// Entries by number, in order.
pub(super) struct Nodes<N>(Vec<(u64, N)>);

impl<N> Nodes<N> {
    pub(super) fn new() -> Self {
        Self(Vec::new())
    }

    pub(super) fn get(&self, id: u64) -> Option<&N> {
        self.place(id).ok().and_then(|at| self.0.get(at)).map(|(_, node)| node)
    }

    pub(super) fn get_mut(&mut self, id: u64) -> Option<&mut N> {
        self.place(id).ok().and_then(|at| self.0.get_mut(at)).map(|(_, node)| node)
    }

    pub(super) fn contains(&self, id: u64) -> bool {
        self.place(id).is_ok()
    }

    /// Adds an entry; nearly always it is the last.
    pub(super) fn insert(&mut self, id: u64, node: N) {
        match self.place(id) {
            Ok(at) => self.0[at] = (id, node),
            Err(at) => self.0.insert(at, (id, node)),
        }
    }

    /// Every entry from a number on, in order.
    pub(super) fn iter_from(&self, first: u64) -> impl Iterator<Item = (u64, &N)> {
        let (Ok(at) | Err(at)) = self.place(first);
        self.0[at..].iter().map(|(id, node)| (*id, node))
    }

    /// Where an entry is, or would be: as far before its number as numbers were left out before it.
    fn place(&self, id: u64) -> Result<usize, usize> {
        let len = self.0.len();
        let Some((last, _)) = self.0.last().filter(|(last, _)| *last >= id) else { return Err(len) };
        let position = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        // Behind it stand at most as many entries as there are numbers up to the last.
        let from = len.saturating_sub(position(last - id).saturating_add(1));
        let to = len.min(position(id).saturating_add(1));
        self.0[from..to].binary_search_by_key(&id, |(id, _)| *id).map(|at| at + from).map_err(|at| at + from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn entries_are_found_like_in_a_map() {
        for ids in [vec![], vec![0, 1, 2], vec![1, 2, 5, 6, 7, 9], vec![3, u64::MAX], vec![7, 2, 2, 900, 5]] {
            let (mut nodes, mut map) = (Nodes::new(), BTreeMap::new());
            for (n, id) in ids.into_iter().enumerate() {
                nodes.insert(id, n);
                map.insert(id, n);
                for wanted in (0..12).chain([899, 900, 901, u64::MAX - 1, u64::MAX]) {
                    assert_eq!(nodes.get(wanted), map.get(&wanted), "{wanted}");
                    assert_eq!(nodes.contains(wanted), map.contains_key(&wanted));
                    assert!(nodes.iter_from(wanted).eq(map.range(wanted..).map(|(id, n)| (*id, n))), "{wanted}");
                }
            }
        }
    }
}
