//! The record of a call: who asked what, what it stood on, what came back. Made after every call, on every surface, whether it
//! succeeded or not, and lent to every concern. Nothing of it is worked out unless a concern is there and asks for it.

use readproof_core::{
    operation::{
        Caller, Operation,
        rules::{RuleId, tokens},
    },
    text::{ContentHash, Text},
};
use readproof_disk::SessionName;
use readproof_hosts::{approvals::ApprovalId, versions::VersionId};
use std::{
    borrow::Cow,
    sync::{Arc, Mutex, OnceLock},
    time::{Duration, Instant},
};

use super::{Error, Outcome, canonical};
use crate::{Engine, conversation::locked};

/// What a call returned.
const OK: &str = "OK";

/// A file that an answer was made from, or that a call changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoodOn {
    /// Relative to the workspace root.
    pub path: String,
    /// The text that the call found; none if there was no file, or its bytes are not kept as text.
    pub before: Option<ContentHash>,
    /// The text that the call left; none if it left no file. The same as `before` where nothing was changed.
    pub after: Option<ContentHash>,
    /// The text that was found, if it is at hand: for who wants to store it.
    pub text: Option<Text>,
    /// Whether it counts as holding secrets. Then no hash and no text is given, and of the answer neither may be kept.
    pub sensitive: bool,
}

impl StoodOn {
    /// A text that was looked at.
    pub(crate) fn text(path: &str, text: &Text) -> Self {
        let hash = Some(text.hash());
        Self { path: path.to_owned(), before: hash, after: hash, text: Some(text.clone()), sensitive: false }
    }

    /// A text of which only the hash is at hand.
    pub(crate) fn hash(path: &str, hash: ContentHash) -> Self {
        Self { path: path.to_owned(), before: Some(hash), after: Some(hash), text: None, sensitive: false }
    }

    /// A file whose bytes are not at hand as text: decoded, or only looked at in part.
    pub(crate) fn unkept(path: &str) -> Self {
        Self { path: path.to_owned(), before: None, after: None, text: None, sensitive: false }
    }

    /// A file of which nothing may be kept.
    pub(crate) fn sensitive(path: &str) -> Self {
        Self { path: path.to_owned(), before: None, after: None, text: None, sensitive: true }
    }
}

/// What a running call notes for its record.
#[derive(Default)]
pub(crate) struct Notes {
    /// The approval that the call used.
    pub(crate) approval: OnceLock<ApprovalId>,
    stood_on: Mutex<Vec<StoodOn>>,
}

/// A call that runs, if anyone wants its record.
pub(crate) struct Running {
    pub(crate) notes: Arc<Notes>,
    at: u64,
    begun: Instant,
}

/// One call, after it was made.
pub struct CallRecord<'a> {
    /// Who asked.
    pub caller: &'a Caller,
    /// The conversation it was asked in, by the name of its log, or as the caller names it.
    pub conversation: Option<&'a str>,
    /// What was asked, normalised. [`Operation::fields`] is its one encoding.
    pub operation: &'a Operation,
    /// When it began by the engine's clock, in milliseconds since 1970.
    pub at: u64,
    /// How long it took.
    pub took: Duration,
    /// The approval of a person that it used.
    pub approval: Option<ApprovalId>,
    /// The files that it stood on, in the order in which they were met, each once.
    pub stood_on: Vec<StoodOn>,
    ended: Result<&'a dyn Canonical, &'a Error>,
}

/// What a record says of an outcome, whatever its conversation gives with it.
pub(crate) trait Canonical {
    fn canonical(&self) -> Cow<'_, str>;
    fn stood_on(&self) -> Vec<StoodOn>;
    fn version(&self) -> Option<VersionId>;
}

impl CallRecord<'_> {
    /// `OK`, or the code of the error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.ended.as_ref().map_or_else(|error| error.code(), |_| OK)
    }

    /// Why it failed.
    #[must_use]
    pub fn error(&self) -> Option<&Error> {
        self.ended.err()
    }

    /// What came back, by the rule `canonical-1`: exact text where the outcome is a text, else lines in a fixed form. The same
    /// for the same outcome on every surface.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        match self.ended {
            Ok(outcome) => outcome.canonical(),
            Err(error) => Cow::Owned(canonical::of_error(error)),
        }
    }

    /// The estimated tokens of [`Self::text`].
    #[must_use]
    pub fn tokens(&self) -> u64 {
        tokens(self.text().len() as u64)
    }

    /// The rules that decided what the answer is.
    #[must_use]
    pub fn rules(&self) -> &'static [RuleId] {
        self.operation.rules()
    }

    /// The version that it made.
    #[must_use]
    pub fn version(&self) -> Option<VersionId> {
        self.ended.ok().and_then(Canonical::version)
    }

    /// Whether text of a file that counts as holding secrets came back: then neither the text nor a plain hash of it may be kept.
    #[must_use]
    pub fn is_sensitive(&self) -> bool {
        self.stood_on.iter().any(|file| file.sensitive)
    }
}

impl Engine {
    /// Begins the record of a call; `None` if nobody wants one.
    pub(crate) fn begun(&self) -> Option<Running> {
        if self.concerns.is_empty() {
            return None;
        }
        Some(Running { notes: Arc::default(), at: self.now(), begun: Instant::now() })
    }

    /// Notes a file that the answer is made from.
    pub(crate) fn stands_on(&self, file: impl FnOnce() -> StoodOn) {
        if let Some(notes) = &self.notes {
            locked(&notes.stood_on).push(file());
        }
    }

    /// Gives the record of a call to every concern: query log, audit and others.
    pub(crate) fn note<G>(
        &self,
        running: Option<Running>,
        (caller, conversation): (&Caller, Option<&SessionName>),
        operation: &Operation,
        outcome: &Result<Outcome<G>, Error>,
    ) {
        let Some(Running { notes, at, begun }) = running else { return };
        let mut stood_on = std::mem::take(&mut *locked(&notes.stood_on));
        stood_on.extend(outcome.as_ref().map(Canonical::stood_on).unwrap_or_default());
        let record = CallRecord {
            caller,
            conversation: conversation.map(SessionName::as_str).or(caller.conversation.as_deref()),
            operation,
            at,
            took: begun.elapsed(),
            approval: notes.approval.get().copied(),
            stood_on: once_each(stood_on),
            ended: outcome.as_ref().map(|outcome| outcome as &dyn Canonical),
        };
        for concern in self.concerns.iter() {
            concern.after(&record);
        }
    }
}

/// Each file once: what an operation noted first, with what became of it.
fn once_each(all: Vec<StoodOn>) -> Vec<StoodOn> {
    let mut each: Vec<StoodOn> = Vec::new();
    for file in all {
        let same = |other: &&mut StoodOn| other.path == file.path && (other.before == file.before || file.sensitive);
        match each.iter_mut().find(same) {
            Some(known) => {
                known.sensitive |= file.sensitive;
                known.text = known.text.take().or(file.text);
                known.after = file.after;
            }
            None => each.push(file),
        }
    }
    for file in each.iter_mut().filter(|file| file.sensitive) {
        (file.before, file.after, file.text) = (None, None, None);
    }
    each
}
