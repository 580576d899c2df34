//! What concerns every call, whatever it asks and whichever wire it comes from: policy and budget before it, the audit
//! record after it. A new concern is one file that implements [`Concern`]; no wire and no operation changes.

mod approval;
mod audit;
mod calls;
mod canonical;
mod elsewhere;
mod error;
mod explain;
mod later;
mod outcome;
mod policy;
mod record;
pub(crate) mod settings;

pub(crate) use approval::Ask;
pub use approval::{Approval, ApprovalRequest};
pub use audit::{Auditing, Witness};
pub use calls::CallLog;
pub(crate) use calls::CallLogs;
pub(crate) use canonical::{canonical_of, of_error as canonical_of_error, of_rewound_files};
pub use error::Error;
pub use explain::{PolicyChecked, PolicyListed, RuledAct};
pub use outcome::{
    Answer, CompareNotice, LogAfter, NoIndex, Notice, Outcome, Reading, Receipt, Refreshed, ShownLines, ShownText,
    Written, WrittenFile,
};
pub(crate) use policy::refusal;
pub use record::{CallRecord, StoodOn};
pub(crate) use record::{Notes, PAGE, Running};

use readproof_core::{
    budget,
    operation::{Caller, Operation},
    path::Bearings,
    policy::Acts,
};
use readproof_disk::{
    Create, HardLinks, LocalStores, Policy, Root, STORE_NAME, Sensitive, SessionName, SnapshotRules, Stop, Stores,
};
use readproof_hosts::session::{EntryId, SessionError};
use std::sync::{Arc, Mutex, atomic::AtomicU64};

use crate::{Clock, Engine, HostTexts, OnSight, Settings, Shared, conversation::locked};

/// How far a long call has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Files or objects done.
    pub done: u64,
    /// How many there are in all, if known.
    pub total: Option<u64>,
}

/// How the caller follows and stops a running call.
#[derive(Clone, Copy)]
pub struct Control<'a> {
    /// Checked between stages: whether the caller has cancelled.
    pub cancelled: &'a dyn Fn() -> bool,
    /// Called as the work proceeds.
    pub progress: &'a dyn Fn(Progress),
    /// A read of a larger file is refused as [`Error::NotQuick`], so that the caller can repeat it where there is time.
    pub file_bytes: Option<u64>,
}

impl Control<'static> {
    /// Never cancelled, without progress reports.
    pub const WAIT: Self = Self { cancelled: &|| false, progress: &|_| (), file_bytes: None };
}

impl Control<'_> {
    pub(crate) fn check_cancelled(&self) -> Result<(), Error> {
        if (self.cancelled)() { Err(Error::Aborted) } else { Ok(()) }
    }

    pub(crate) fn report(&self, done: u64, total: Option<u64>) {
        (self.progress)(Progress { done, total });
    }
}

/// One call: who asks what, in which conversation.
pub struct Call<'a, C> {
    /// Who asks.
    pub caller: &'a Caller,
    /// Says what the model holds, and records the answer.
    pub conversation: &'a mut C,
    /// What is asked.
    pub operation: Operation,
    /// Cancellation and progress.
    pub control: Control<'a>,
}

/// A concern of every call, such as audit or a budget.
pub trait Concern: Send + Sync {
    /// Called before the engine looks at anything.
    ///
    /// # Errors
    /// An error ends the call.
    fn before(&self, _caller: &Caller, _operation: &Operation) -> Result<(), Error> {
        Ok(())
    }

    /// Called after the call, whether it succeeded or not.
    fn after(&self, _record: &CallRecord<'_>) {}

    /// Called at the end of a program, to complete what is done beside calls.
    fn finish(&self) {}
}

impl Engine {
    /// Opens a workspace. Its store is opened only when a session is first used.
    ///
    /// # Errors
    /// When a pattern for sensitive names is malformed, or the workspace cannot be opened again.
    pub fn new(root: Root, bearings: Bearings, settings: Settings, clock: Clock) -> Result<Self, Error> {
        let stores = LocalStores::new(&root, settings.whose.clone(), settings.small_texts);
        Self::with_stores(root, bearings, settings, clock, Arc::new(stores))
    }

    /// The same with another store. [`Settings::whose`] and [`Settings::small_texts`] are then that store's concern.
    ///
    /// # Errors
    /// When a pattern for sensitive names is malformed.
    pub fn with_stores(
        root: Root,
        bearings: Bearings,
        settings: Settings,
        clock: Clock,
        stores: Arc<dyn Stores>,
    ) -> Result<Self, Error> {
        let sensitive = Arc::new(Sensitive::new(&settings.sensitive)?);
        let policy = Policy::new(settings.policy.clone());
        let shared = Shared {
            notices: settings.notices.iter().cloned().map(Notice::Setting).collect::<Vec<_>>().into(),
            bearings,
            calls: CallLogs::new(&stores),
            settings,
            sensitive,
            policy,
            clock,
            stores,
            open: crate::conversation::Open::default(),
            recent: std::sync::Mutex::default(),
            symbols: crate::find::Symbols::default(),
            words: crate::find::Words::default(),
            versions: Mutex::default(),
            registry: Mutex::default(),
            watched: Mutex::default(),
            approvals: Mutex::default(),
            told: Mutex::default(),
            unnamed_writes: AtomicU64::default(),
        };
        Ok(Self {
            root,
            one_read: false,
            names_from_root: false,
            asking: None,
            unseen: false,
            asker: None,
            notes: None,
            concerns: Arc::default(),
            hosts: Arc::default(),
            shared: Arc::new(shared),
        })
    }

    /// Also takes names relative to the workspace's root, as answers print them, where the current folder has no such file.
    #[must_use]
    pub fn with_names_from_root(mut self) -> Self {
        self.names_from_root = true;
        self
    }

    /// For a process that answers one read and exits: of a session's log it reads only what concerns that file, so that
    /// a long session costs little more than a short one. This engine must not be used for any other operation.
    #[must_use]
    pub fn for_one_read(self) -> Self {
        Self { one_read: true, ..self }
    }

    /// Adds a concern. Concerns are called in the order in which they were added.
    #[must_use]
    pub fn with_concern(mut self, concern: Arc<dyn Concern>) -> Self {
        Arc::make_mut(&mut self.concerns).push(concern);
        self
    }

    /// Adds texts that a host keeps outside our store, so that `gc` and `doctor` cover them too.
    #[must_use]
    pub fn with_host_texts(mut self, texts: Arc<dyn HostTexts>) -> Self {
        Arc::make_mut(&mut self.hosts).push(texts);
        self
    }

    /// Budget and every other concern that may end a call before it begins, or make less of it.
    pub(crate) fn admit(&self, caller: &Caller, operation: &mut Operation) -> Result<(), Error> {
        match budget::verdict(caller, operation) {
            budget::Verdict::AsAsked => {}
            budget::Verdict::Reduced { operation: reduced, why } => {
                self.add_notice(Notice::Reduced(why));
                *operation = *reduced;
            }
            budget::Verdict::Refused { why } => return Err(Error::OverBudget { why }),
        }
        for concern in self.concerns.iter() {
            concern.before(caller, operation)?;
        }
        Ok(())
    }

    /// Confirms that a result reached the model: from here on it is relied on. The last step of the call that gave the
    /// receipt, and no operation of its own.
    ///
    /// # Errors
    /// When the log cannot be written. The result is then never relied on, which is safe.
    pub fn delivered(&self, receipt: &Receipt) -> Result<EntryId, Error> {
        let Receipt { session: name, entry, log } = receipt;
        // Appending also catches up with the log; only if that fails the log is opened again.
        let at_once = self.with_open_session(name, |session| {
            (session.log_id() == *log).then(|| session.deliver(*entry).ok()).flatten()
        });
        if let Some(done) = at_once.flatten() {
            return Ok(done);
        }
        let other = || Error::Session(SessionError::OtherLog(name.clone()));
        self.with_session(name, Create::No, |session| {
            if session.log_id() != *log {
                return Err(other());
            }
            Ok(session.deliver(*entry)?)
        })?
    }

    /// Waits until every call so far is in its log: before a process ends that logs calls later.
    pub fn finish_logs(&self) {
        self.shared.calls.finish();
    }

    /// What is to be said and no answer has said yet.
    pub fn take_notices(&self) -> Vec<Notice> {
        let mut said = std::mem::take(&mut *locked(&self.shared.notices));
        said.extend(self.shared.calls.take_lost());
        said
    }

    pub(crate) fn add_notice(&self, notice: Notice) {
        locked(&self.shared.notices).push(notice);
    }

    /// The workspace.
    #[must_use]
    pub fn root(&self) -> &Root {
        &self.root
    }

    /// The settings in force.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.shared.settings
    }

    /// Where relative paths start.
    #[must_use]
    pub fn bearings(&self) -> &Bearings {
        &self.shared.bearings
    }

    /// The file that a path from elsewhere most likely means: the longest end of it that is a name in the workspace.
    #[must_use]
    pub fn name_inside(&self, path: &str) -> Option<String> {
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        (0..parts.len()).map(|at| parts[at..].join("/")).find(|name| self.is_file(name))
    }

    /// Whether any file changed since this conversation was last told what others changed.
    #[must_use]
    pub fn has_news(&self, conversation: &SessionName) -> bool {
        self.is_news_for(conversation)
    }

    /// Whether an answer was given without the index of symbols, which should be made now that nobody waits; asked once.
    #[must_use]
    pub fn wants_index(&self) -> bool {
        self.take_index_wish()
    }

    /// Whether a search by words read many files, so that the index of words should be made now; asked once.
    #[must_use]
    pub fn wants_word_index(&self) -> bool {
        self.take_words_wish()
    }

    /// Makes the index of words, or brings it up to date. Until then, files are read.
    pub fn make_word_index(&self) {
        if let Ok(seen) = self.seen_by(&Caller::default(), Acts::FINDING) {
            seen.index_words_now();
        }
    }

    /// Meets changes of other programs as they happen, until it is stopped. If another process does so already, this one waits
    /// and goes on when that ends.
    ///
    /// # Errors
    /// [`Error`] when the files cannot be watched; they are then looked at before each question, as ever.
    pub fn watch(&self, stop: &Stop, told: OnSight<'_>) -> Result<(), Error> {
        self.watch_files(stop, told)
    }

    /// Whether its folder is marked as one that people work in: it is in a work tree, or has a store.
    #[must_use]
    pub fn is_marked(&self) -> bool {
        self.root.is_in_git() || self.root.names_folder(STORE_NAME)
    }

    /// Makes the index of symbols. It may take minutes; until then, answers are given without it.
    pub fn make_index(&self) {
        if let Ok(seen) = self.seen_by(&Caller::default(), Acts::FINDING) {
            seen.index_now();
        }
    }

    /// Whether a path as written leads to a folder.
    #[must_use]
    pub fn is_folder(&self, path: &str) -> bool {
        self.stat(path).is_ok_and(|found| found.kind == Some("directory"))
    }

    /// Whether a workspace path leads to a regular file.
    #[must_use]
    pub fn is_file(&self, name: &str) -> bool {
        let found = self.root.locate(&[self.root.absolute(name)]).map(|file| self.root.found(&file));
        matches!(found, Ok(Ok(found)) if found.kind.is_none())
    }

    pub(crate) fn snapshot_rules(&self) -> SnapshotRules {
        SnapshotRules { max_bytes: self.shared.settings.file_bytes, hard_links: self.shared.settings.hard_links }
    }

    pub(crate) fn hard_links(&self) -> HardLinks {
        self.shared.settings.hard_links
    }

    pub(crate) fn now(&self) -> u64 {
        (self.shared.clock)()
    }
}

// Compiles only while threads can share an engine.
const _: () = {
    const fn shared<T: Send + Sync>() {}
    shared::<Engine>();
};
