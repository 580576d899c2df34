//! The trait of an audit log's parts: a few named pieces of bytes, one of which grows. What they mean is up to whoever writes
//! them; here they are only kept, and one writer at a time is let in.

use std::{fmt, sync::Arc};

use readproof_core::tlog::{Kind, Tile};

use super::super::{Lease, StoreError};

/// One piece of an audit log.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AuditPart {
    /// The key that signs.
    Key,
    /// The key that verifies.
    PublicKey,
    /// The newest signed checkpoint.
    Checkpoint,
    /// The entries after the last full bundle.
    Tail,
    /// Hashes, or a bundle of entries.
    Tile(Tile),
    /// What one process keeps apart from the entries of a bundle, so that it can be erased: nonces and texts.
    Kept { bundle: u64, writer: String },
}

impl AuditPart {
    /// Its path below the log's folder, `/`-separated.
    #[must_use]
    pub fn path(&self) -> String {
        match self {
            Self::Key => KEY.to_owned(),
            Self::PublicKey => PUBLIC_KEY.to_owned(),
            Self::Checkpoint => CHECKPOINT.to_owned(),
            Self::Tail => TAIL.to_owned(),
            Self::Tile(tile) => tile.path(),
            Self::Kept { bundle, writer } => {
                let number = Tile::full(Kind::Entries, *bundle).path();
                format!("{KEPT}{}/{writer}", number.strip_prefix(ENTRIES).unwrap_or(&number))
            }
        }
    }

    /// Reads [`Self::path`]; anything else is `None`.
    #[must_use]
    pub fn parse(path: &str) -> Option<Self> {
        match path {
            KEY => Some(Self::Key),
            PUBLIC_KEY => Some(Self::PublicKey),
            CHECKPOINT => Some(Self::Checkpoint),
            TAIL => Some(Self::Tail),
            other => match other.strip_prefix(KEPT) {
                Some(rest) => {
                    let (number, writer) = rest.rsplit_once('/')?;
                    let tile = Tile::parse(&format!("{ENTRIES}{number}")).filter(Tile::is_full)?;
                    is_writer(writer).then(|| Self::Kept { bundle: tile.index, writer: writer.to_owned() })
                }
                None => Tile::parse(other).map(Self::Tile),
            },
        }
    }
}

const KEY: &str = "key";
const PUBLIC_KEY: &str = "key.pub";
const CHECKPOINT: &str = "checkpoint";
const TAIL: &str = "tail";
const KEPT: &str = "kept/";
const ENTRIES: &str = "tile/entries/";

/// Whether a process may be known by this name: lower-case hex digits.
#[must_use]
pub(crate) fn is_writer(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 64
        && name.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// Whether what is written must survive a power failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lasting {
    /// The disk is waited for.
    Yes,
    /// It survives the end of the process.
    No,
}

/// Gets a piece of a part, and says where the next one begins and how many bytes it has.
pub type NextPiece<'n> = &'n mut dyn FnMut(&[u8]) -> Option<(u64, u64)>;

/// The audit log of one store. Shared by threads, and several processes may use one.
pub trait AuditParts: fmt::Debug + Send + Sync {
    /// The bytes of a part; `None` if there is none.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read, or others can write it.
    fn load(&self, part: &AuditPart) -> Result<Option<Vec<u8>>, StoreError>;

    /// Reads pieces of a part one after another, none if there is no such part. `next` gets each piece, the first time nothing, and
    /// says where the next one begins and how long it is; where the part ends before, it is shorter.
    ///
    /// # Errors
    /// As [`Self::load`].
    fn pieces(&self, part: &AuditPart, next: NextPiece<'_>) -> Result<(), StoreError>;

    /// Writes a part, or another in its place, in one step: whoever reads it sees one or the other.
    ///
    /// # Errors
    /// [`StoreError`]; what was there is still there.
    fn put(&self, part: &AuditPart, bytes: &[u8], lasting: Lasting) -> Result<(), StoreError>;

    /// Writes behind the first `at` bytes of a part, which is made if need be. Whatever stands there already goes: a write that
    /// was not finished.
    ///
    /// # Errors
    /// [`StoreError`]; the part may then end in the beginning of `bytes`.
    fn append(&self, part: &AuditPart, at: u64, bytes: &[u8], lasting: Lasting) -> Result<(), StoreError>;

    /// Overwrites bytes in the middle of a part, durably. The part keeps its length.
    ///
    /// # Errors
    /// [`StoreError`]; some of the bytes may be overwritten.
    fn overwrite(&self, part: &AuditPart, at: u64, bytes: &[u8]) -> Result<(), StoreError>;

    /// Removes a part, if it is there.
    ///
    /// # Errors
    /// [`StoreError`] when it is still there.
    fn remove(&self, part: &AuditPart) -> Result<(), StoreError>;

    /// Every part, sorted; what is none is left out.
    fn parts(&self) -> Vec<AuditPart>;

    /// Lets one writer in at a time, and waits for its turn.
    ///
    /// # Errors
    /// [`StoreError`] when nobody can be let in.
    fn lock(&self) -> Result<Box<dyn Lease>, StoreError>;

    /// Begins to count for a process. It ends with the process, however that ends; then [`Self::ended`] has its last numbers.
    ///
    /// # Errors
    /// [`StoreError`] when no count can be kept.
    fn count(&self, writer: &str) -> Result<Arc<dyn AuditCount>, StoreError>;

    /// The counts of processes that are gone and did not take them back.
    fn ended(&self) -> Vec<(String, Counted)>;

    /// Takes a count back.
    ///
    /// # Errors
    /// [`StoreError`] when it is still there.
    fn forget_count(&self, writer: &str) -> Result<(), StoreError>;

    /// Takes the whole log out of use and keeps it as evidence, under the name that is returned.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be.
    fn put_aside(&self) -> Result<String, StoreError>;

    /// The logs that were put aside, by name.
    fn aside(&self) -> Vec<String>;
}

/// What one process counts. Each change is one small write, which survives the process.
pub trait AuditCount: fmt::Debug + Send + Sync {
    /// How many calls were made.
    ///
    /// # Errors
    /// [`StoreError`] when it is not kept.
    fn calls(&self, calls: u64) -> Result<(), StoreError>;

    /// A batch begins at this index of the log; before it, the process wrote so many lines. Both are kept or neither.
    ///
    /// # Errors
    /// [`StoreError`] when it is not kept.
    fn batch(&self, from: u64, lines: u64) -> Result<(), StoreError>;
}

/// The numbers of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    pub calls: u64,
    /// The index of the first line of its last batch.
    pub from: u64,
    /// How many lines it wrote before that batch.
    pub lines: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_has_one_path() {
        let kept = |bundle, writer: &str| AuditPart::Kept { bundle, writer: writer.to_owned() };
        let cases = [
            (AuditPart::Key, "key"),
            (AuditPart::Tail, "tail"),
            (AuditPart::Tile(Tile { kind: Kind::Hashes(1), index: 0, width: 3 }), "tile/1/000.p/3"),
            (kept(1_234, "0a1b"), "kept/x001/234/0a1b"),
        ];
        for (part, path) in cases {
            assert_eq!(part.path(), path);
            assert_eq!(AuditPart::parse(path), Some(part));
        }
        for path in
            ["", "keys", "kept/000", "kept/000/", "kept/000/../key", "kept/000/XY", "kept/000.p/3/0a", "tile/0/0"]
        {
            assert_eq!(AuditPart::parse(path), None, "{path}");
        }
    }
}
