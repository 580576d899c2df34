//! How much a conversation may still spend on a call. Nothing is counted yet, so every call is made as asked; this is the only
//! place that says so.

use alloc::{boxed::Box, string::String};

use super::{Caller, Operation};

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

/// The verdict on a call that the rules allow.
#[must_use]
pub fn verdict(_caller: &Caller, _operation: &Operation) -> Verdict {
    Verdict::AsAsked
}
