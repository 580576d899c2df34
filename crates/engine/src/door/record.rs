//! The record of a call: who asked what, what it stood on, what came back. Made after every call, on every surface, whether it
//! succeeded or not, and lent to every concern. Nothing of it is worked out unless a concern is there and asks for it.

use readproof_core::{
    operation::{
        Caller, Operation, Read,
        rules::{RuleId, tokens},
    },
    text::{ContentHash, Text},
};
use readproof_disk::SessionName;
use readproof_hosts::{approvals::ApprovalId, calls::LoggedLines, session::Answered, versions::VersionId};
use std::{
    borrow::Cow,
    cell::OnceCell,
    sync::{Arc, Mutex, OnceLock},
    time::{Duration, Instant},
};

use super::{CallLog, Error, Outcome, canonical};
use crate::{Conversation, Engine, ResolvedTarget, conversation::locked, read::PendingAnswer};

/// What a call returned.
const OK: &str = "OK";

/// The input that says that a read was cut as its host cuts: the path as the call had it.
pub(crate) const PAGE: &str = "page";

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
    /// The text that an edit was made for, where others had changed the file since.
    pub base: Option<ContentHash>,
    /// Whether it counts as holding secrets. Then no hash and no text is given, and of the answer neither may be kept.
    pub sensitive: bool,
}

impl StoodOn {
    /// A text that was looked at.
    pub(crate) fn text(path: &str, text: &Text) -> Self {
        let hash = Some(text.hash());
        Self { before: hash, after: hash, text: Some(text.clone()), ..Self::unkept(path) }
    }

    /// A text of which only the hash is at hand.
    pub(crate) fn hash(path: &str, hash: ContentHash) -> Self {
        Self { before: Some(hash), after: Some(hash), ..Self::unkept(path) }
    }

    /// A file whose bytes are not at hand as text: decoded, or only looked at in part.
    pub(crate) fn unkept(path: &str) -> Self {
        Self { path: path.to_owned(), before: None, after: None, text: None, base: None, sensitive: false }
    }

    /// A file of which nothing may be kept.
    pub(crate) fn sensitive(path: &str) -> Self {
        Self { sensitive: true, ..Self::unkept(path) }
    }
}

/// What a running call notes for its record.
#[derive(Default)]
pub(crate) struct Notes {
    /// The approval that the call used.
    pub(crate) approval: OnceLock<ApprovalId>,
    stood_on: Mutex<Vec<StoodOn>>,
    read: Mutex<Option<Answered>>,
    inputs: Mutex<Vec<(&'static str, String)>>,
    texts: Mutex<Vec<Text>>,
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
    /// What was asked, normalised. [`Operation::encoded`] is its one encoding; [`Operation::fields`] the same without texts.
    pub operation: &'a Operation,
    /// When it began by the engine's clock, in milliseconds since 1970.
    pub at: u64,
    /// How long it took.
    pub took: Duration,
    /// The approval of a person that it used.
    pub approval: Option<ApprovalId>,
    /// The files that it stood on, in the order in which they were met, each once.
    pub stood_on: Arc<Vec<StoodOn>>,
    session: Option<&'a SessionName>,
    noted: Arc<Noted>,
    ended: Result<&'a dyn Canonical, &'a Error>,
    past: OnceCell<Arc<PastCall>>,
}

/// What a call noted for its replay.
pub(super) struct Noted {
    /// Of a read: what was decided, and under which limits.
    pub(super) read: Option<Answered>,
    /// Whatever else the answer depends on, by name.
    pub(super) inputs: Vec<(&'static str, String)>,
    /// Texts that are no file's, of which an input has the hash.
    pub(super) texts: Vec<Text>,
}

/// A call as it was, and nothing that lives only as long as it: what logs make their lines of, while the answer is on its way.
pub(super) struct PastCall {
    pub(super) caller: Caller,
    pub(super) conversation: Option<String>,
    /// The conversation's own log.
    pub(super) session: Option<SessionName>,
    pub(super) operation: Operation,
    pub(super) at: u64,
    pub(super) took: Duration,
    pub(super) approval: Option<ApprovalId>,
    pub(super) version: Option<VersionId>,
    pub(super) stood_on: Arc<Vec<StoodOn>>,
    pub(super) noted: Arc<Noted>,
    /// `OK`, or the code of the error.
    pub(super) code: &'static str,
    /// What came back; empty where that may not be kept.
    pub(super) text: String,
    pub(super) found: Vec<LoggedLines>,
    pub(super) is_sensitive: bool,
    /// Whether it changed files or marked a moment, so that its lines are waited for.
    pub(super) has_changed: bool,
}

impl PastCall {
    pub(super) fn is_ok(&self) -> bool {
        self.code == OK
    }
}

/// What a record says of an outcome, whatever its conversation gives with it.
pub(crate) trait Canonical {
    fn canonical(&self) -> Cow<'_, str>;
    fn stood_on(&self) -> Vec<StoodOn>;
    fn version(&self) -> Option<VersionId>;
    /// The lines that a search of many files shows.
    fn found(&self) -> Vec<LoggedLines>;
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

    /// Whether it changed files or marked a moment: then it is acknowledged only after its lines are on the disk.
    #[must_use]
    pub fn has_changed(&self) -> bool {
        let is_change = || self.stood_on.iter().any(|file| file.before != file.after);
        self.error().is_none() && (self.operation.is_change() || self.version().is_some() || is_change())
    }

    /// The same to keep, made once for all who want it.
    pub(super) fn past(&self) -> &Arc<PastCall> {
        self.past.get_or_init(|| {
            Arc::new(PastCall {
                caller: self.caller.clone(),
                conversation: self.conversation.map(str::to_owned),
                session: self.session.cloned(),
                operation: self.operation.clone(),
                at: self.at,
                took: self.took,
                approval: self.approval,
                version: self.version(),
                stood_on: Arc::clone(&self.stood_on),
                noted: Arc::clone(&self.noted),
                code: self.code(),
                text: self.text().into_owned(),
                found: self.ended.map(Canonical::found).unwrap_or_default(),
                is_sensitive: self.is_sensitive(),
                has_changed: self.has_changed(),
            })
        })
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
        if self.concerns.is_empty() && self.shared.settings.call_log == CallLog::Off {
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

    /// Notes what was decided about a read.
    pub(crate) fn notes_read(&self, pending: &PendingAnswer<'_>) {
        // Decoded text is no text of the file.
        let Some(notes) = self.notes.as_ref().filter(|_| pending.snapshot.view.is_none()) else { return };
        let asked = (pending.target.offset, pending.target.limit);
        let rules = (self.shared.settings.answers, pending.limits);
        let answered = Answered::new(pending.target.file.key(), pending.shown, asked, rules, self.now());
        *locked(&notes.read) = Some(answered);
    }

    /// Notes that a read is cut as the host of its conversation cuts.
    pub(crate) fn notes_page<C: Conversation>(&self, conversation: &C, read: &Read, target: &ResolvedTarget) {
        if self.is_recorded()
            && let Some(name) = conversation.page_name(read, target)
        {
            self.notes_input(PAGE, || name);
        }
    }

    /// Notes something that the answer depends on beside texts.
    pub(crate) fn notes_input(&self, name: &'static str, value: impl FnOnce() -> String) {
        if let Some(notes) = &self.notes {
            locked(&notes.inputs).push((name, value()));
        }
    }

    /// Notes a text that is no file's, under a name.
    pub(crate) fn notes_text(&self, name: &'static str, text: impl FnOnce() -> String) {
        if let Some(notes) = &self.notes {
            let text = Text::new(text());
            self.notes_input(name, || text.hash().to_string());
            locked(&notes.texts).push(text);
        }
    }

    /// Whether anyone wants the record of this call.
    pub(crate) fn is_recorded(&self) -> bool {
        self.notes.is_some()
    }

    /// Gives the record of a call to the query log and to every concern.
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
            stood_on: Arc::new(once_each(stood_on)),
            session: conversation,
            noted: Arc::new(Noted {
                read: locked(&notes.read).take(),
                inputs: std::mem::take(&mut *locked(&notes.inputs)),
                texts: std::mem::take(&mut *locked(&notes.texts)),
            }),
            ended: outcome.as_ref().map(|outcome| outcome as &dyn Canonical),
            past: OnceCell::new(),
        };
        self.log_call(&record);
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
                (known.after, known.base) = (file.after, file.base.or(known.base));
            }
            None => each.push(file),
        }
    }
    for file in each.iter_mut().filter(|file| file.sensitive) {
        (file.before, file.after, file.text) = (None, None, None);
    }
    each
}
