//! The hash tree of RFC 6962: hashes of leaves and nodes, roots, and proofs that an entry is in a tree and that one tree goes
//! on from another. Where hashes come from is up to the caller.

use alloc::vec::Vec;
use sha2::{Digest, Sha256};

/// A hash in the tree.
pub type Hash = [u8; 32];

/// The hash of a leaf.
#[must_use]
pub fn leaf(entry: &[u8]) -> Hash {
    let mut hasher = Sha256::new();
    hasher.update([0]);
    hasher.update(entry);
    hasher.finalize().into()
}

/// The hash of a node from those of its children.
#[must_use]
pub fn node(left: &Hash, right: &Hash) -> Hash {
    let mut hasher = Sha256::new();
    hasher.update([1]);
    hasher.update(left);
    hasher.update(right);
    hasher.finalize().into()
}

/// Gives the hashes of complete subtrees.
pub trait HashSource {
    /// The hash over the leaves `index << level .. (index + 1) << level`; `None` if it is not known.
    fn hash(&self, level: u32, index: u64) -> Option<Hash>;
}

/// The hash of a tree with these leaves, or with these subtrees of one size; at most 2^63. An empty tree has the hash of nothing.
#[must_use]
pub fn subtree(hashes: &[Hash]) -> Hash {
    let mut row = hashes.to_vec();
    while row.len() > 1 {
        let pair = |pair: &[Hash]| match pair {
            [left, right] => node(left, right),
            [alone, ..] => *alone,
            [] => Hash::default(),
        };
        row = row.chunks(2).map(pair).collect();
    }
    row.first().copied().unwrap_or_else(|| Sha256::digest([]).into())
}

/// The root of the tree of the first `size` leaves. `None`: a hash is missing.
#[must_use]
pub fn root(size: u64, source: &impl HashSource) -> Option<Hash> {
    if size == 0 { Some(subtree(&[])) } else { over(0, size, source) }
}

/// The proof that the leaf at `index` is in the tree of the first `size` leaves, from the leaf up. `None`: it is not, or a
/// hash is missing.
#[must_use]
pub fn inclusion(index: u64, size: u64, source: &impl HashSource) -> Option<Vec<Hash>> {
    if index >= size {
        return None;
    }
    let (mut first, mut end) = (0, size);
    let mut path = Vec::new();
    while end - first > 1 {
        let middle = first + split(end - first);
        if index < middle {
            path.push(over(middle, end, source)?);
            end = middle;
        } else {
            path.push(over(first, middle, source)?);
            first = middle;
        }
    }
    path.reverse();
    Some(path)
}

/// The proof that the tree of `new` leaves begins with the tree of `old` leaves. `None`: `old` is larger, or a hash is
/// missing.
#[must_use]
pub fn consistency(old: u64, new: u64, source: &impl HashSource) -> Option<Vec<Hash>> {
    if old > new {
        return None;
    }
    if old == 0 || old == new {
        return Some(Vec::new());
    }
    let (mut first, mut end, mut is_whole) = (0, new, true);
    let mut path = Vec::new();
    while end != old {
        let middle = first + split(end - first);
        if old <= middle {
            path.push(over(middle, end, source)?);
            end = middle;
        } else {
            path.push(over(first, middle, source)?);
            first = middle;
            is_whole = false;
        }
    }
    if !is_whole {
        path.push(over(first, end, source)?);
    }
    path.reverse();
    Some(path)
}

/// Whether a proof shows that a leaf is in a tree.
#[must_use]
pub fn check_inclusion(leaf: &Hash, index: u64, (size, root): (u64, &Hash), proof: &[Hash]) -> bool {
    if index >= size {
        return false;
    }
    let (mut at, mut last, mut hash) = (index, size - 1, *leaf);
    for step in proof {
        if last == 0 {
            return false;
        }
        if at & 1 == 1 || at == last {
            hash = node(step, &hash);
            while at & 1 == 0 && at != 0 {
                at >>= 1;
                last >>= 1;
            }
        } else {
            hash = node(&hash, step);
        }
        at >>= 1;
        last >>= 1;
    }
    last == 0 && hash == *root
}

/// Whether a proof shows that the second tree begins with the first.
#[must_use]
pub fn check_consistency((old, old_root): (u64, &Hash), (new, new_root): (u64, &Hash), proof: &[Hash]) -> bool {
    if old == new {
        return proof.is_empty() && old_root == new_root;
    }
    if old == 0 {
        return proof.is_empty() && *old_root == subtree(&[]);
    }
    if old > new {
        return false;
    }
    let whole = old.is_power_of_two().then_some(old_root);
    let mut steps = whole.into_iter().chain(proof);
    let Some(start) = steps.next().filter(|_| !proof.is_empty()) else { return false };
    let (mut at, mut last) = (old - 1, new - 1);
    while at & 1 == 1 {
        at >>= 1;
        last >>= 1;
    }
    let (mut before, mut after) = (*start, *start);
    for step in steps {
        if last == 0 {
            return false;
        }
        if at & 1 == 1 || at == last {
            before = node(step, &before);
            after = node(step, &after);
            while at & 1 == 0 && at != 0 {
                at >>= 1;
                last >>= 1;
            }
        } else {
            after = node(&after, step);
        }
        at >>= 1;
        last >>= 1;
    }
    last == 0 && before == *old_root && after == *new_root
}

/// How many leaves the left side of a tree has: the largest power of two below its size, which is at least 2.
fn split(size: u64) -> u64 {
    1 << (size - 1).ilog2()
}

/// The hash over the leaves `first .. end`, which begin where a subtree of their size may.
fn over(first: u64, end: u64, source: &impl HashSource) -> Option<Hash> {
    let size = end - first;
    if size.is_power_of_two() {
        return source.hash(size.ilog2(), first / size);
    }
    let middle = first + split(size);
    Some(node(&over(first, middle, source)?, &over(middle, end, source)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::ContentHash;
    use alloc::string::ToString;

    /// A tree in memory.
    struct Leaves(Vec<Hash>);

    impl HashSource for Leaves {
        fn hash(&self, level: u32, index: u64) -> Option<Hash> {
            let first = usize::try_from(index << level).ok()?;
            self.0.get(first..first + (1 << level)).map(subtree)
        }
    }

    fn tree(size: u8) -> Leaves {
        Leaves((0..size).map(|number| leaf(&[number])).collect())
    }

    /// The tree with which implementations of RFC 6962 are compared.
    #[test]
    fn the_roots_of_the_reference_tree_are_as_published() {
        let entries: [&[u8]; 8] = [b"", b"\0", b"\x10", b" !", b"01", b"@ABC", b"PQRSTUVW", b"`abcdefghijklmno"];
        let roots = [
            "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
            "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
            "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
            "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
            "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
            "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
            "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
            "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
        ];
        let leaves = Leaves(entries.iter().map(|entry| leaf(entry)).collect());
        for (size, expected) in (1..).zip(roots) {
            let found = root(size, &leaves).unwrap();
            assert_eq!(ContentHash::from_digest(found).to_string(), expected, "{size}");
            assert_eq!(found, subtree(&leaves.0[..usize::try_from(size).unwrap()]));
        }
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(ContentHash::from_digest(root(0, &leaves).unwrap()).to_string(), empty);
    }

    #[test]
    fn every_proof_holds_for_its_own_entry_and_no_other() {
        let leaves = tree(37);
        for size in 1..=37_u64 {
            let top = root(size, &leaves).unwrap();
            for index in 0..size {
                let proof = inclusion(index, size, &leaves).unwrap();
                for other in 0..size {
                    let at = usize::try_from(other).unwrap();
                    let holds = check_inclusion(&leaves.0[at], index, (size, &top), &proof);
                    assert_eq!(holds, other == index, "{size} {index} {other}");
                }
                let leaf = &leaves.0[usize::try_from(index).unwrap()];
                assert!(!check_inclusion(leaf, index + 1, (size, &top), &proof));
                assert!(!check_inclusion(leaf, index, (size, &[7; 32]), &proof));
                assert!(proof.is_empty() || !check_inclusion(leaf, index, (size, &top), &proof[1..]));
                let longer: Vec<Hash> = proof.iter().copied().chain([top]).collect();
                assert!(!check_inclusion(leaf, index, (size, &top), &longer));
            }
            assert_eq!(inclusion(size, size, &leaves), None);
        }
    }

    #[test]
    fn a_tree_goes_on_only_from_its_own_beginning() {
        let leaves = tree(37);
        let mut altered = tree(37);
        altered.0[5] = leaf(b"another");
        for new in 0..=37_u64 {
            let after = root(new, &leaves).unwrap();
            for old in 0..=new {
                let (before, proof) = (root(old, &leaves).unwrap(), consistency(old, new, &leaves).unwrap());
                assert!(check_consistency((old, &before), (new, &after), &proof), "{old} {new}");
                let other = root(old, &altered).unwrap();
                assert_eq!(check_consistency((old, &other), (new, &after), &proof), old <= 5, "{old} {new}");
                if !proof.is_empty() {
                    assert!(!check_consistency((old, &before), (new, &after), &proof[1..]), "{old} {new}");
                }
            }
            assert_eq!(consistency(new + 1, new, &leaves), None);
        }
    }

    #[test]
    fn a_missing_hash_is_no_proof() {
        let leaves = tree(3);
        assert_eq!(root(4, &leaves), None);
        assert_eq!(inclusion(0, 4, &leaves), None);
        assert_eq!(consistency(2, 5, &leaves), None);
    }
}
