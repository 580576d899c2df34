//! Answers that the model gets together.

use readproof_core::{path::PathKey, text::ContentHash};
use std::collections::{BTreeMap, BTreeSet};

/// The answers to one message of the model. The model sees none of them before it sees all. If two of them are about
/// different versions of a file, "unchanged" would be ambiguous.
pub(crate) struct Batch<M> {
    message: Option<M>,
    answered: BTreeMap<PathKey, BTreeSet<ContentHash>>,
}

impl<M> Default for Batch<M> {
    fn default() -> Self {
        Self { message: None, answered: BTreeMap::new() }
    }
}

impl<M: PartialEq> Batch<M> {
    /// Continues with the calls of this message, or starts over for a new one.
    pub(crate) fn continue_with(&mut self, message: Option<M>) {
        if self.message != message {
            *self = Self { message, ..Self::default() };
        }
    }

    /// Whether an answer was about another version of the file.
    pub(crate) fn holds_other(&self, path: &PathKey, text: ContentHash) -> bool {
        self.answered.get(path).is_some_and(|texts| texts.iter().any(|other| *other != text))
    }

    pub(crate) fn answer(&mut self, path: PathKey, text: ContentHash) {
        self.answered.entry(path).or_default().insert(text);
    }
}
