//! Whether a call may be made at all. Rules come later; until then every call is allowed, and this is the only place that
//! says so.

use alloc::string::String;

use super::{Caller, Operation};

/// Where a rule stands, for the person who wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The file that holds it.
    pub file: String,
    /// Its line in that file.
    pub line: u32,
}

/// What the rules say. Deny wins over ask, ask over allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The call is made.
    Allow,
    /// The call is refused.
    Deny(Rule),
    /// A person is asked first.
    Ask(Rule),
}

/// The verdict on a call, before any file is looked for.
#[must_use]
pub fn verdict(_caller: &Caller, _operation: &Operation) -> Verdict {
    Verdict::Allow
}
