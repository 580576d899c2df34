//! How much a call and a conversation may spend. What is written is limited here; of what is read nothing is counted yet, so
//! every such call is made as asked.

use alloc::{boxed::Box, string::String};

use super::{Caller, Operation};
use crate::limits::FILE_BYTES;

/// What the budget says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The call is made as asked.
    AsAsked,
    /// A smaller one is made instead, and the answer says so.
    Reduced {
        /// What is done.
        operation: Box<Operation>,
        /// What the caller is told.
        why: String,
    },
    /// The call is refused.
    Refused {
        /// What the caller is told, with a call that works.
        why: String,
    },
}

/// How much may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteLimits {
    /// The most bytes by one call.
    pub bytes: u64,
    /// The most files by one call.
    pub files: u64,
    /// How many calls of one conversation may write.
    pub calls: u64,
}

impl Default for WriteLimits {
    fn default() -> Self {
        Self { bytes: FILE_BYTES, files: 200, calls: 1_000_000 }
    }
}

/// What is limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spending {
    /// Bytes by one call.
    Bytes,
    /// Files by one call.
    Files,
    /// Calls by one conversation.
    Calls,
}

/// A limit and what goes beyond it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Over {
    /// What is limited.
    pub what: Spending,
    /// How much there would be.
    pub asked: u64,
    /// How much may be.
    pub most: u64,
}

impl WriteLimits {
    /// The limit that a call exceeds: it writes so much, and is that call of its conversation.
    #[must_use]
    pub fn exceeded(&self, bytes: u64, files: u64, calls: u64) -> Option<Over> {
        let limits = [
            (Spending::Files, files, self.files),
            (Spending::Bytes, bytes, self.bytes),
            (Spending::Calls, calls, self.calls),
        ];
        let over = limits.into_iter().find(|(_, asked, most)| asked > most);
        over.map(|(what, asked, most)| Over { what, asked, most })
    }
}

/// The verdict on a call that the rules allow.
#[must_use]
pub fn verdict(_caller: &Caller, _operation: &Operation) -> Verdict {
    Verdict::AsAsked
}
