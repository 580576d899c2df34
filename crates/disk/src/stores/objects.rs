//! The trait of stored texts. A text is known by the hash of its bytes, is verified on every load, and is never altered:
//! one that is missing or damaged is data, not an error.

use std::{collections::BTreeSet, fmt};

use readproof_core::text::{ContentHash, Text};

use super::StoreError;

/// Stored texts, by their hash. Several processes may use the same ones.
pub trait Objects: fmt::Debug + Send + Sync {
    /// Stores a text without waiting for the disk. After a power failure it may be missing or torn, which every load
    /// notices.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be written; nothing of it is left.
    fn put(&self, text: &Text) -> Result<Put, StoreError>;

    /// Stores texts so that they survive a power failure; what the disk has to do for that is waited for once for all of
    /// them. One that is present is verified, and replaced if it is damaged.
    ///
    /// # Errors
    /// [`StoreError`] when one of them cannot be written and synced; others may be stored then.
    fn put_all_synced(&self, texts: &[&Text]) -> Result<Vec<Put>, StoreError>;

    /// The same for one text.
    ///
    /// # Errors
    /// As [`Self::put_all_synced`].
    fn put_synced(&self, text: &Text) -> Result<Put, StoreError> {
        let put = self.put_all_synced(&[text])?;
        Ok(put.first().copied().unwrap_or(Put::Present))
    }

    /// The text of that hash, verified.
    fn load(&self, hash: ContentHash) -> Loaded;

    /// Whether the text seems to be stored. This is the cheap question: only [`Self::load`] verifies.
    fn holds(&self, text: &Text) -> bool;

    /// Everything stored, sorted by hash. Nothing is read or verified.
    fn stored(&self) -> Vec<Stored>;

    /// Removes stored texts and repairs what [`Self::damaged`] names. A later load finds them missing; a later put stores
    /// them again. Readers and writers may go on meanwhile.
    fn remove(&self, hashes: &BTreeSet<ContentHash>) -> Removal;

    /// The parts of the storage that hold something other than texts, by name. What follows that in them is not found.
    fn damaged(&self) -> Vec<String>;

    /// Moves texts that are seldom needed to where they take little space, if there is such a place. Each run is of texts that
    /// resemble their neighbours, as the versions of one file do. Nothing is lost wherever the process ends, and every other
    /// method finds them as before.
    fn pack(&self, _runs: &[Vec<ContentHash>]) -> Packing {
        Packing::default()
    }

    /// Sorts hashes so that loading all of them in that order takes the least time.
    fn sort(&self, _hashes: &mut [ContentHash]) {}
}

/// The outcome of [`Objects::pack`].
#[derive(Debug, Default)]
pub struct Packing {
    /// The texts that were moved.
    pub moved: BTreeSet<ContentHash>,
    /// How many bytes all packed texts take together, those of earlier calls included.
    pub bytes: u64,
    /// What could not be moved.
    pub failed: Vec<StoreError>,
}

/// What storing a text did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// It is new, or replaced a torn one.
    Stored,
    /// It was there already.
    Present,
}

/// What is stored under a hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Loaded {
    /// The text with that hash.
    Text(Text),
    /// Nothing, or nothing that can be read.
    Missing,
    /// Something that is not that text.
    Damaged,
}

/// One stored text, not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// The hash it is stored under.
    pub hash: ContentHash,
    pub bytes: u64,
    /// When it was written, in milliseconds since 1970.
    pub modified: u64,
    /// Whether it is stored compressed, and only so.
    pub packed: bool,
}

/// The outcome of [`Objects::remove`].
#[derive(Debug, Default)]
pub struct Removal {
    /// The texts that were there and are gone.
    pub removed: BTreeSet<ContentHash>,
    /// What could not be removed or repaired.
    pub failed: Vec<StoreError>,
}

/// The outcome of removing one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removed {
    /// It is gone.
    Done,
    /// It was gone already.
    Before,
}
