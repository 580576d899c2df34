//! Words for what cannot be searched.

use readproof_index::{BadQuery, BadWalk, IGNORE_BYTES, RegistryError, Unusable};

use crate::{Terms, disk::root};

/// What a [`BadQuery`] is in words.
#[must_use]
pub fn query(error: &BadQuery) -> String {
    let BadQuery { query, why } = error;
    format!("`{query}` cannot be searched for: {why}; correct it, or search for it as plain text")
}

/// What a [`BadWalk`] is in words.
#[must_use]
pub fn walk(terms: Terms<'_>, error: &BadWalk) -> String {
    match error {
        BadWalk::Glob { glob, why } => format!("`{glob}` is not a valid glob: {why}; use one like `*.rs` or `src/**`"),
        BadWalk::IgnoreFile { name } => format!(
            "`{name}` is not a regular file of at most {IGNORE_BYTES} bytes inside the workspace; put one there or remove it"
        ),
        BadWalk::Root(source) => root(terms, source),
    }
}

/// What an [`Unusable`] is in words.
#[must_use]
pub fn unusable(error: &Unusable) -> String {
    match error {
        Unusable::Other => "another version of this program uses it".to_owned(),
        Unusable::Broken(error) => error.to_string(),
    }
}

/// What a [`RegistryError`] is in words.
#[must_use]
pub fn registry(error: &RegistryError) -> String {
    match error {
        RegistryError::Cancelled => "it was cancelled".to_owned(),
        RegistryError::Walk(_) => "the workspace cannot be walked".to_owned(),
        RegistryError::Database(error) => error.to_string(),
    }
}
