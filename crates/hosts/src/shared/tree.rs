//! The entries of a transcript in the order in which they came, each after its parent, and found by their ids. It knows
//! nothing of what they say. How an id becomes a number is up to each host.

mod index;

use index::Index;
use readproof_core::knowledge::Place;

/// An entry, by its place in the order in which entries came. A parent always comes before its children.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct At(u32);

impl At {
    /// The place in knowledge that stands for this entry.
    pub(crate) fn place(self) -> Place {
        Place::from(self.0)
    }

    /// The entry that a place in knowledge stands for.
    pub(crate) fn of_place(place: Place) -> Option<Self> {
        u32::try_from(place).ok().map(Self)
    }

    fn from_index(index: usize) -> Self {
        // The tree is never larger: see `is_full`.
        Self(u32::try_from(index).unwrap_or(ROOT))
    }

    fn index(self) -> usize {
        self.0 as usize
    }
}

/// Stands for "no entry" where an entry takes four bytes.
const ROOT: u32 = u32::MAX;

/// One entry. Of a long session most say nothing, so its size matters.
struct Node<E> {
    id: u64,
    /// [`ROOT`] for an entry without a parent.
    parent: u32,
    /// The number of the state that holds here. `derive` gives it.
    state: u32,
    entry: E,
}

impl<E> Node<E> {
    fn parent(&self) -> Option<At> {
        Some(self.parent).filter(|parent| *parent != ROOT).map(At)
    }
}

/// The entries in the order in which they came.
pub(crate) struct Tree<E> {
    nodes: Vec<Node<E>>,
    index: Index,
    /// How many are in the index. The others wait: noting many at once is much faster.
    noted: usize,
    /// The entry whose id came again.
    twice: Option<At>,
}

impl<E> Tree<E> {
    pub(crate) fn new() -> Self {
        Self { nodes: Vec::new(), index: Index::new(), noted: 0, twice: None }
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether no further entry can be numbered.
    pub(crate) fn is_full(&self) -> bool {
        self.nodes.len() >= ROOT as usize
    }

    pub(crate) fn get(&self, at: At) -> Option<&E> {
        self.nodes.get(at.index()).map(|node| &node.entry)
    }

    pub(crate) fn get_mut(&mut self, at: At) -> Option<&mut E> {
        self.nodes.get_mut(at.index()).map(|node| &mut node.entry)
    }

    pub(crate) fn id(&self, at: At) -> Option<u64> {
        self.nodes.get(at.index()).map(|node| node.id)
    }

    /// The entry before one on its branch; `None` for the first.
    pub(crate) fn parent(&self, at: At) -> Option<At> {
        self.nodes.get(at.index()).and_then(Node::parent)
    }

    pub(crate) fn last(&self) -> Option<At> {
        self.nodes.len().checked_sub(1).map(At::from_index)
    }

    /// Every entry there is now. Does not borrow the tree.
    pub(crate) fn all(&self) -> impl Iterator<Item = At> + use<E> {
        (0..self.nodes.len()).map(At::from_index)
    }

    /// Every entry after one, on whatever branch, oldest first; after `None`, all.
    pub(crate) fn after(&self, at: Option<At>) -> impl Iterator<Item = (At, &E)> {
        let first = at.map_or(0, |at| at.index() + 1);
        self.nodes.iter().enumerate().skip(first).map(|(index, node)| (At::from_index(index), &node.entry))
    }

    /// From an entry up to the first of its branch.
    pub(crate) fn walk(&self, leaf: Option<At>) -> impl Iterator<Item = (At, &E)> {
        let mut next = leaf;
        std::iter::from_fn(move || {
            let at = next?;
            let node = self.nodes.get(at.index())?;
            next = node.parent();
            Some((at, &node.entry))
        })
    }

    /// The entries of a branch up to `leaf`, oldest first. Going back from the leaf, it stops before the first entry for
    /// which `until` holds.
    pub(crate) fn branch(&self, leaf: Option<At>, until: impl Fn(At) -> bool) -> Vec<At> {
        let mut branch: Vec<At> = self.walk(leaf).map(|(at, _)| at).take_while(|at| !until(*at)).collect();
        branch.reverse();
        branch
    }

    /// Whether an entry stands on the branch that ends at `leaf`.
    pub(crate) fn is_on_branch(&self, at: At, leaf: Option<At>) -> bool {
        self.walk(leaf).take_while(|(other, _)| *other >= at).any(|(other, _)| other == at)
    }

    /// The entry with this id among those that were noted.
    pub(crate) fn find(&self, id: u64) -> Option<At> {
        self.index.find(id, |at| self.nodes[at as usize].id).map(At)
    }

    /// The entry with this id, which most often is the last. The others are noted first.
    pub(crate) fn find_any(&mut self, id: u64) -> Option<At> {
        if self.nodes.last().is_some_and(|last| last.id == id) {
            return self.last();
        }
        self.note();
        self.find(id)
    }

    /// Adds an entry, to be noted later. For an orphan, whose parent never came, `parent` is `None`: that parent may be
    /// anything, so nothing before the entry counts, and nothing that comes later under its id belongs to the entry.
    pub(crate) fn push(&mut self, id: u64, parent: Option<At>, state: u32, entry: E) -> At {
        let at = At::from_index(self.nodes.len());
        self.nodes.push(Node { id, parent: parent.map_or(ROOT, |parent| parent.0), state, entry });
        at
    }

    /// Notes the ids of the entries that wait. Gives an entry whose id came again: the first with an id counts.
    pub(crate) fn note(&mut self) -> Option<At> {
        for (node, at) in self.nodes[self.noted..].iter().zip(self.noted..) {
            let taken = self.index.insert(node.id, At::from_index(at).0, |at| self.nodes[at as usize].id);
            self.twice = self.twice.or(taken.map(At));
        }
        self.noted = self.nodes.len();
        self.twice
    }

    /// Takes the entries from `len` on away again, and with them an id that came twice.
    pub(crate) fn truncate(&mut self, len: usize) {
        // An entry whose id was taken is not in the index; if it is the only one that goes, the index stays as it is.
        let only_the_second = self.twice.is_some() && self.noted == len + 1;
        self.nodes.truncate(len);
        self.twice = None;
        if self.noted > len && !only_the_second {
            self.index = Index::new();
            self.noted = 0;
            self.note();
        }
        self.noted = self.noted.min(len);
    }

    /// The number of the state at an entry.
    pub(crate) fn state(&self, at: At) -> Option<u32> {
        self.nodes.get(at.index()).map(|node| node.state)
    }

    pub(crate) fn set_state(&mut self, at: At, state: u32) {
        if let Some(node) = self.nodes.get_mut(at.index()) {
            node.state = state;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn entries_are_found_by_their_ids_like_in_a_map() {
        for ids in [vec![], vec![0, 1, 2], vec![1, 2, 5, 6, 7, 9], vec![3, u64::MAX], vec![7, 2, 900, 5]] {
            let (mut tree, mut map) = (Tree::new(), BTreeMap::new());
            for (n, id) in ids.into_iter().enumerate() {
                let parent = tree.last();
                assert_eq!(tree.push(id, parent, 0, n), At::from_index(n));
                assert_eq!(tree.note(), None);
                map.insert(id, n);
                for wanted in (0..12).chain([899, 900, 901, u64::MAX - 1, u64::MAX]) {
                    let found = tree.find(wanted);
                    assert_eq!(found.and_then(|at| tree.get(at)), map.get(&wanted), "{wanted}");
                    assert_eq!(tree.find_any(wanted), found);
                }
            }
        }
    }

    #[test]
    fn a_branch_is_the_way_from_its_first_entry_to_its_leaf() {
        let mut tree = Tree::new();
        let root = tree.push(1, None, 0, ());
        let left = tree.push(2, Some(root), 0, ());
        let right = tree.push(3, Some(root), 0, ());
        let leaf = tree.push(4, Some(left), 0, ());
        let orphan = tree.push(5, None, 0, ());
        assert_eq!(tree.branch(Some(leaf), |_| false), [root, left, leaf]);
        assert_eq!(tree.branch(Some(leaf), |at| at <= root), [left, leaf]);
        assert_eq!(tree.branch(Some(orphan), |_| false), [orphan]);
        assert_eq!(tree.branch(None, |_| false), []);
        assert!(tree.is_on_branch(left, Some(leaf)) && tree.is_on_branch(leaf, Some(leaf)));
        assert!(!tree.is_on_branch(right, Some(leaf)) && !tree.is_on_branch(leaf, Some(left)));
        assert_eq!(tree.after(Some(right)).map(|(at, ())| at).collect::<Vec<_>>(), [leaf, orphan]);
    }

    #[test]
    fn an_id_that_comes_again_is_taken_back() {
        let mut tree = Tree::new();
        let first = tree.push(1, None, 0, "first");
        tree.push(2, Some(first), 0, "other");
        assert_eq!(tree.note(), None);
        tree.push(1, Some(first), 0, "again");
        assert_eq!(tree.note(), Some(first));
        tree.truncate(2);
        assert_eq!((tree.note(), tree.find(1), tree.len()), (None, Some(first), 2));
        tree.push(3, Some(first), 0, "third");
        tree.push(2, Some(first), 0, "again");
        assert_eq!(tree.note(), tree.find(2));
        tree.truncate(2);
        assert_eq!((tree.note(), tree.find(3), tree.find(2).and_then(|at| tree.get(at))), (None, None, Some(&"other")));
    }
}
