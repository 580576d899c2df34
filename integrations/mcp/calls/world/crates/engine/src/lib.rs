//! Keeps versions of records.

pub mod commands;
pub mod redact;
pub mod revset;
pub mod table;
pub mod transaction;
pub mod working_copy;

pub use transaction::{Transaction, TransactionError};
pub use working_copy::{Snapshot, WorkingCopy};

/// The version of the format on disk.
pub const FORMAT_VERSION: u32 = 7;

/// A version of all records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommitId(pub u64);

impl CommitId {
    pub const ROOT: Self = Self(0);

    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl std::fmt::Display for CommitId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "c{:08x}", self.0)
    }
}
