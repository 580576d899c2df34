//! A block of text as the model sees it, by hash and length. By these a transcript tells whether an answer still stands as
//! it was given, without keeping its text.

use readproof_core::text::ContentHash;
use serde::{Deserialize, Serialize, de::Error as _};

/// A hash in a record: 64 hex digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sha(pub ContentHash);

impl Serialize for Sha {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Sha {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        ContentHash::parse(&text).map(Self).ok_or_else(|| D::Error::custom("not a SHA-256"))
    }
}

/// One block of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// Of its bytes.
    pub sha: Sha,
    /// Its length.
    pub bytes: u64,
}

impl Block {
    /// The block that is this text.
    #[must_use]
    pub fn of(text: &str) -> Self {
        Self { sha: Sha(ContentHash::of(text.as_bytes())), bytes: text.len() as u64 }
    }

    /// Whether this text is that block; hashed only if the length fits.
    #[must_use]
    pub fn is(&self, text: &str) -> bool {
        self.bytes == text.len() as u64 && *self == Self::of(text)
    }
}
