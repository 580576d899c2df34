//! Why recordings cannot be played.

use readproof_disk::{RootError, TranscriptError};
use readproof_engine::Error;
use std::{io, path::PathBuf};

#[derive(Debug, thiserror::Error)]
#[error("{self:?}")]
pub enum TracesError {
    NoFolder {
        folder: PathBuf,
    },
    /// Neither recordings nor transcripts are in this folder.
    NothingRecorded {
        folder: PathBuf,
    },
    /// There are events, but the texts they name are missing.
    NoTexts {
        file: PathBuf,
    },
    Unreadable(#[from] TranscriptError),
    /// Unpacking or reading failed in the middle.
    Io {
        file: PathBuf,
        source: io::Error,
    },
    /// A line is not what it should be.
    BadLine {
        file: PathBuf,
        line: usize,
        why: String,
    },
    /// The tokenizer cannot be loaded.
    Tokens(String),
    /// The engine failed where it must not.
    Engine(#[from] Error),
    /// A workspace cannot be made.
    Scratch(#[from] RootError),
}
