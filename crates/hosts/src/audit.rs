//! The audit log: one line for every call, as the leaves of a transparency log (`core::tlog`) whose head is signed. What a call
//! returned is not in its line, only a hash over a nonce and the text; both are kept apart and can be erased, and everything
//! else stays provable. Bytes lie in `disk`; this says what they mean.
//!
//! Lines are appended to `tail`. With its 256th line a bundle is complete: it becomes a tile, its hashes another, and a new
//! tail begins. A checkpoint signs the size and root of what is durable.

mod erase;
mod line;
mod log;
mod prove;
mod rotate;
mod verify;
mod writer;

pub use line::{BeganLine, CallFacts, CallLine, ErasedLine, FileFacts, GapLine, Line, RotatedLine, SCHEMA};
pub use log::{AuditLog, Disclosed};
pub use prove::{Disclosure, Proved, Unshown, check_proof};
pub use rotate::Rotation;
pub use verify::{Problem, Verified, WhichCheckpoint};
pub use writer::{AuditWriter, Begun, Opened, Pending};

pub use crate::block::Sha;

use readproof_core::tlog::Unsigned;
use readproof_disk::StoreError;

/// Why an audit log cannot be used or asked.
#[derive(Debug, thiserror::Error)]
#[error("{self:?}")]
pub enum AuditError {
    Store(#[from] StoreError),
    /// A part of it does not hold what it must.
    Damaged {
        /// Its path in the log's folder.
        part: String,
    },
    /// The signed checkpoint does not fit the log.
    Checkpoint(Unsigned),
    /// The log is not the one that its last checkpoint was signed for.
    NotAsSigned {
        size: u64,
    },
    NoEntry {
        entry: u64,
        size: u64,
    },
    /// The entry is not of a call.
    NoCall {
        entry: u64,
    },
    /// The bundle of the entry was moved away.
    MovedAway {
        entry: u64,
    },
    /// No random numbers to be had.
    NoRandom,
}
