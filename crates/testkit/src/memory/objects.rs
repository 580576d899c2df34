//! Texts in memory, as bytes that outside hands can harm; every load verifies them.

use readproof_core::text::{ContentHash, Text};
use readproof_disk::{Loaded, Objects, Put, Removal, StoreError, Stored};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Mutex,
};

use super::locked;

/// Bytes by the hash that they should have.
#[derive(Debug, Default)]
pub struct MemoryObjects(Mutex<BTreeMap<ContentHash, Vec<u8>>>);

impl MemoryObjects {
    /// The bytes stored under a hash, whatever they are.
    #[must_use]
    pub fn bytes(&self, hash: ContentHash) -> Option<Vec<u8>> {
        locked(&self.0).get(&hash).cloned()
    }

    /// Puts other bytes in the place of what is stored.
    pub fn alter(&self, hash: ContentHash, bytes: Vec<u8>) {
        locked(&self.0).insert(hash, bytes);
    }

    /// Removes what is stored.
    pub fn drop_one(&self, hash: ContentHash) {
        locked(&self.0).remove(&hash);
    }
}

impl Objects for MemoryObjects {
    /// As with files, an object of the right length counts as present without being read.
    fn put(&self, text: &Text) -> Result<Put, StoreError> {
        if self.holds(text) {
            return Ok(Put::Present);
        }
        locked(&self.0).insert(text.hash(), text.as_str().as_bytes().to_vec());
        Ok(Put::Stored)
    }

    fn put_all_synced(&self, texts: &[&Text]) -> Result<Vec<Put>, StoreError> {
        let put = |text: &&Text| {
            let stored = locked(&self.0).insert(text.hash(), text.as_str().as_bytes().to_vec());
            if stored.as_deref() == Some(text.as_str().as_bytes()) { Put::Present } else { Put::Stored }
        };
        Ok(texts.iter().map(put).collect())
    }

    fn load(&self, hash: ContentHash) -> Loaded {
        let Some(bytes) = self.bytes(hash) else { return Loaded::Missing };
        match Text::from_bytes(bytes) {
            Ok(text) if text.hash() == hash => Loaded::Text(text),
            Ok(_) | Err(_) => Loaded::Damaged,
        }
    }

    fn holds(&self, text: &Text) -> bool {
        locked(&self.0).get(&text.hash()).is_some_and(|bytes| bytes.len() == text.as_str().len())
    }

    fn stored(&self) -> Vec<Stored> {
        let stored = |(hash, bytes): (&ContentHash, &Vec<u8>)| Stored {
            hash: *hash,
            bytes: bytes.len() as u64,
            // The clock of the runs stands still.
            modified: 0,
            packed: false,
        };
        locked(&self.0).iter().map(stored).collect()
    }

    fn remove(&self, hashes: &BTreeSet<ContentHash>) -> Removal {
        let mut stored = locked(&self.0);
        let removed = hashes.iter().filter(|hash| stored.remove(hash).is_some()).copied().collect();
        Removal { removed, failed: Vec::new() }
    }

    fn damaged(&self) -> Vec<String> {
        Vec::new()
    }
}
