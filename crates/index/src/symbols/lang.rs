//! The tables of the languages, one file for each family.

#[cfg(feature = "rust")]
mod rust;

use super::{Language, grammar::Spec};

/// What there is to know of a language; `None` where it is not built in.
pub(super) fn spec(language: Language) -> Option<Spec> {
    match language {
        #[cfg(feature = "rust")]
        Language::Rust => Some(rust::spec()),
        #[cfg(not(feature = "rust"))]
        Language::Rust => None,
    }
}
