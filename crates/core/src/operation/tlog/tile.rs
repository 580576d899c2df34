//! Tiles (C2SP tlog-tiles): rows of 256 hashes of the tree, and bundles of 256 entries, under paths that any file server can
//! serve. Says which tile holds which hash.

use alloc::{format, string::String, vec::Vec};

use super::{Hash, HashSource, merkle::subtree};

/// How many hashes, or entries, a full tile has.
pub const TILE_WIDTH: u64 = 256;

/// How many levels of the tree one tile spans.
const HEIGHT: u32 = 8;

/// The highest level of tiles that a path can name.
const MOST_LEVEL: u8 = 63;

/// What a tile holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Hashes of a level: 0 are leaves, each further level is 8 levels of the tree higher.
    Hashes(u8),
    /// The entries themselves.
    Entries,
}

/// One tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tile {
    /// What it holds.
    pub kind: Kind,
    /// Its place in the row.
    pub index: u64,
    /// How many hashes or entries it holds: 1 to 256.
    pub width: u16,
}

impl Tile {
    /// A full tile.
    #[must_use]
    pub fn full(kind: Kind, index: u64) -> Self {
        Self { kind, index, width: 256 }
    }

    /// Whether it holds all it can.
    #[must_use]
    pub fn is_full(&self) -> bool {
        u64::from(self.width) == TILE_WIDTH
    }

    /// The path below the log's own, as in `tile/0/x001/234.p/5`.
    #[must_use]
    pub fn path(&self) -> String {
        let row = match self.kind {
            Kind::Hashes(level) => format!("{level}"),
            Kind::Entries => String::from("entries"),
        };
        let mut number = format!("{:03}", self.index % 1000);
        let mut rest = self.index / 1000;
        while rest > 0 {
            number = format!("x{:03}/{number}", rest % 1000);
            rest /= 1000;
        }
        let part = if self.is_full() { String::new() } else { format!(".p/{}", self.width) };
        format!("tile/{row}/{number}{part}")
    }

    /// Reads [`Self::path`]; anything else is `None`, so that every tile has one path.
    #[must_use]
    pub fn parse(path: &str) -> Option<Self> {
        let (row, rest) = path.strip_prefix("tile/")?.split_once('/')?;
        let kind = match row {
            "entries" => Kind::Entries,
            level => Kind::Hashes(level.parse().ok().filter(|level| *level <= MOST_LEVEL)?),
        };
        let (number, width) = match rest.split_once(".p/") {
            Some((number, width)) => (number, width.parse().ok().filter(|width| (1..256).contains(width))?),
            None => (rest, 256),
        };
        let mut index = 0_u64;
        for part in number.split('/') {
            let digits = part.strip_prefix('x').unwrap_or(part);
            if digits.len() != 3 {
                return None;
            }
            index = index.checked_mul(1000)?.checked_add(digits.parse().ok()?)?;
        }
        let tile = Self { kind, index, width };
        // Whatever spells a number otherwise has another path.
        (tile.path() == path).then_some(tile)
    }

    /// The tiles that a tree of `size` leaves has and one of `before` leaves has not, lower levels first. The last tile of a
    /// level is partial.
    #[must_use]
    pub fn added(before: u64, size: u64) -> Vec<Self> {
        let mut tiles = Vec::new();
        for level in 0..=MOST_LEVEL {
            let shift = HEIGHT * u32::from(level);
            let count = |leaves: u64| leaves.checked_shr(shift).unwrap_or(0);
            let (old, new) = (count(before), count(size));
            if new == 0 {
                break;
            }
            let first = old / TILE_WIDTH;
            let full = new / TILE_WIDTH;
            tiles.extend((first..full).map(|index| Self::full(Kind::Hashes(level), index)));
            if let Ok(width @ 1..) = u16::try_from(new % TILE_WIDTH)
                && new > old
            {
                tiles.push(Self { kind: Kind::Hashes(level), index: full, width });
            }
        }
        tiles
    }

    /// The tile of this index in a row of `count` hashes or entries; `None` if nothing of it is there yet.
    #[must_use]
    pub fn of_row(kind: Kind, index: u64, count: u64) -> Option<Self> {
        let width = count.saturating_sub(index.checked_mul(TILE_WIDTH)?).min(TILE_WIDTH);
        u16::try_from(width).ok().filter(|width| *width > 0).map(|width| Self { kind, index, width })
    }
}

/// Gives the bytes of tiles of hashes.
pub trait Tiles {
    /// The hashes of a tile, at least as many as it is wide; `None` if it is missing.
    fn hashes(&self, tile: Tile) -> Option<Vec<Hash>>;
}

impl<F: Fn(Tile) -> Option<Vec<Hash>>> Tiles for F {
    fn hashes(&self, tile: Tile) -> Option<Vec<Hash>> {
        self(tile)
    }
}

/// The hashes of a tree of a certain size, from its tiles.
#[derive(Debug)]
pub struct TileHashes<T> {
    size: u64,
    tiles: T,
}

impl<T: Tiles> TileHashes<T> {
    /// Of the tree of the first `size` leaves.
    pub fn new(size: u64, tiles: T) -> Self {
        Self { size, tiles }
    }
}

impl<T: Tiles> HashSource for TileHashes<T> {
    fn hash(&self, level: u32, index: u64) -> Option<Hash> {
        let (row, height) = (u8::try_from(level / HEIGHT).ok()?, level % HEIGHT);
        let first = index.checked_shl(height)?;
        let count = self.size.checked_shr(u32::from(row) * HEIGHT)?;
        let tile = Tile::of_row(Kind::Hashes(row), first / TILE_WIDTH, count)?;
        let at = usize::try_from(first % TILE_WIDTH).ok()?;
        let hashes = self.tiles.hashes(tile)?;
        let width = usize::from(tile.width).min(hashes.len());
        hashes.get(..width)?.get(at..at + (1 << height)).map(subtree)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{consistency, inclusion, leaf, root};
    use super::*;
    use alloc::{collections::BTreeMap, vec};

    #[test]
    fn a_tile_has_one_path() {
        let cases = [
            (Tile::full(Kind::Hashes(0), 0), "tile/0/000"),
            (Tile::full(Kind::Hashes(4), 1_234_067), "tile/4/x001/x234/067"),
            (Tile { kind: Kind::Hashes(1), index: 273, width: 112 }, "tile/1/273.p/112"),
            (Tile { kind: Kind::Entries, index: 1000, width: 1 }, "tile/entries/x001/000.p/1"),
            (Tile::full(Kind::Hashes(63), u64::MAX), "tile/63/x018/x446/x744/x073/x709/x551/615"),
        ];
        for (tile, path) in cases {
            assert_eq!(tile.path(), path);
            assert_eq!(Tile::parse(path), Some(tile));
        }
        let wrong = [
            "",
            "tile",
            "tile/0/",
            "tile/0/0",
            "tile/0/0000",
            "tile/00/000",
            "tile/64/000",
            "tile/+1/000",
            "tile/0/x000/000",
            "tile/0/000.p/0",
            "tile/0/000.p/256",
            "tile/0/000.p/01",
            "tile/0/000.p/",
            "tile/0/001/002",
            "tile/0/x001",
            "tile/0/x018/x446/x744/x073/x709/x551/616",
            "tile/entry/000",
            "/tile/0/000",
            "tile/0/000/",
            "tile/0/-01",
        ];
        for path in wrong {
            assert_eq!(Tile::parse(path), None, "{path}");
        }
    }

    /// The example of the specification.
    #[test]
    fn a_tree_of_70_000_leaves_has_the_tiles_that_the_specification_counts() {
        let tiles = Tile::added(0, 70_000);
        let of = |level: u8, is_full: bool| {
            let wanted = |tile: &&Tile| tile.kind == Kind::Hashes(level) && tile.is_full() == is_full;
            tiles.iter().filter(wanted).map(|tile| tile.width).collect::<Vec<_>>()
        };
        assert_eq!((of(0, true).len(), of(0, false), of(1, true).len()), (273, vec![112], 1));
        assert_eq!((of(1, false), of(2, false), of(2, true).len(), of(3, false).len()), (vec![17], vec![1], 0, 0));
        assert_eq!(Tile::added(70_000, 70_000), []);
        assert_eq!(
            Tile::added(255, 256),
            [Tile::full(Kind::Hashes(0), 0), Tile { kind: Kind::Hashes(1), index: 0, width: 1 }]
        );
    }

    #[test]
    fn tiles_give_the_roots_and_proofs_that_the_leaves_give() {
        let leaves: Vec<Hash> = (0..66_000_u32).map(|number| leaf(&number.to_be_bytes())).collect();
        let mut stored: BTreeMap<Tile, Vec<Hash>> = BTreeMap::new();
        for size in [1_u64, 2, 255, 256, 257, 512, 65_535, 65_536, 65_537, 66_000] {
            let whole = usize::try_from(size).unwrap();
            let mut rows = vec![leaves[..whole].to_vec()];
            while let Some(row) = rows.last().filter(|row| row.len() >= 256) {
                let up = row.chunks_exact(256).map(subtree).collect();
                rows.push(up);
            }
            for tile in Tile::added(0, size) {
                let Kind::Hashes(level) = tile.kind else { panic!("only hashes") };
                let first = usize::try_from(tile.index * TILE_WIDTH).unwrap();
                let hashes = rows[usize::from(level)][first..first + usize::from(tile.width)].to_vec();
                stored.insert(tile, hashes);
            }
            let source = TileHashes::new(size, |tile: Tile| stored.get(&tile).cloned());
            let top = root(size, &source).unwrap();
            assert_eq!(top, subtree(&leaves[..whole]), "{size}");
            for index in [0, size / 2, size - 1] {
                let proof = inclusion(index, size, &source).unwrap();
                let leaf = &leaves[usize::try_from(index).unwrap()];
                assert!(super::super::check_inclusion(leaf, index, (size, &top), &proof), "{size} {index}");
            }
            let proof = consistency(size / 3, size, &source).unwrap();
            let before = subtree(&leaves[..whole / 3]);
            assert!(super::super::check_consistency((size / 3, &before), (size, &top), &proof), "{size}");
        }
    }
}
