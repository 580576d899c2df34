//! What pi's extension says otherwise: pi's own words, where it has some.

use readproof_core::scope::ScopeError;
use readproof_engine::Error;
use readproof_hosts::pi::UnknownEntry;

use crate::{Terms, engine};

/// An error.
pub(crate) fn error(error: &Error) -> String {
    if let Error::Range { source: ScopeError::BeyondEnd { offset, total }, .. } = error {
        format!("Offset {offset} is beyond end of file ({total} lines total)")
    } else if matches!(error, Error::Aborted) {
        "Operation aborted".to_owned()
    } else {
        engine::error(Terms::PLAIN, error)
    }
}

/// What an [`UnknownEntry`] is in words.
#[must_use]
pub fn unknown_entry(error: &UnknownEntry) -> String {
    let UnknownEntry { entry } = error;
    format!("the session has no entry `{entry}`; send its entries first, or name one of them")
}
