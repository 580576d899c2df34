//! Why there is no way back, or nothing to look at.

use readproof_disk::NoWatch;
use readproof_hosts::versions::{Gap, VersionId};
use readproof_index::RegistryError;

use crate::Error;

/// A version, a checkpoint or a way back that cannot be.
#[derive(Debug)]
pub enum HistoryError {
    /// There is no such version or checkpoint.
    NoMoment {
        /// As asked.
        asked: String,
    },
    /// A checkpoint cannot be called so.
    NoMomentName {
        /// As asked.
        name: String,
    },
    /// The conversation did not make that change or checkpoint, so it cannot go back to it.
    NotOfConversation {
        /// As asked.
        asked: String,
    },
    /// A file that would be rewound is in a conflict.
    Unresolved {
        /// Which file.
        path: String,
        /// The conflict.
        id: VersionId,
    },
    /// A change of several files, of which one must be named.
    SeveralFiles {
        /// As asked.
        version: String,
        /// Those that may be named.
        paths: Vec<String>,
    },
    /// The text that a file had after a change was not kept.
    NotKeptThen {
        /// Which file.
        path: String,
        /// As asked.
        version: String,
        /// Why.
        gap: Gap,
    },
    /// A checkpoint is of all files, of which one must be named.
    MomentOfAll {
        /// As asked.
        asked: String,
    },
    /// More files, or larger ones, than one rewind changes.
    TooMuch {
        /// How many would change.
        files: usize,
        /// How many bytes they would get.
        bytes: usize,
        /// The most of each.
        most: (usize, usize),
    },
    /// The registry of files.
    Registry(RegistryError),
    /// Nothing of what others change is kept, because the settings say so.
    NotKept,
    /// Changes cannot be met as they happen.
    NotWatched(NoWatch),
    /// Files that changed could not be looked at, or not recorded.
    LookFailed(Box<Error>),
    /// There is no such tag.
    NoTag {
        /// As asked.
        tag: String,
    },
}

impl HistoryError {
    /// The identifier used on every wire.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoMoment { .. } | Self::NotOfConversation { .. } => "NOT_FOUND",
            Self::NoMomentName { .. } | Self::NoTag { .. } | Self::SeveralFiles { .. } | Self::MomentOfAll { .. } => {
                "BAD_ARGUMENT"
            }
            Self::TooMuch { .. } => "TOO_LARGE",
            Self::Registry(_) => "REGISTRY_FAILED",
            Self::Unresolved { .. } => "CONFLICT",
            Self::NotKeptThen { .. } | Self::NotKept => "NOT_KEPT",
            Self::NotWatched(_) => "NOT_WATCHED",
            Self::LookFailed(source) => source.code(),
        }
    }
}
