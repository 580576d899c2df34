//! What comes back through the door: plain data, never the wording of a wire. Each operation has one kind of outcome.

use readproof_core::{
    decide::{Mode, Reason},
    edit::Assumed,
    knowledge::{Hunk, Piece},
    meta::MetaV1,
    render,
    scope::{Lines, Scope},
    text::ContentHash,
};
use readproof_disk::{LogError, LogId, PutAside, RetiredLog, SessionName, StoreError, View};
use readproof_hosts::{
    session::EntryId,
    versions::{OpenedConflict, VersionId, VersionsError},
};
use readproof_index::{Unindexed, Unusable};
use std::sync::Arc;

use super::approval::Approval;
use super::{PolicyChecked, PolicyListed};
use crate::{
    Blamed, ChangesFound, Collection, Compared, ComparedVersions, ConflictTexts, ContextFound, Defined, Error,
    FileStat, FilesListed, Forgotten, HistoryListed, InFile, Listed, NotOurs, Outlines, Rewound, Searched, SessionView,
    ShownVersion, Status, SymbolsFound, Told,
    conversation::HeldNow,
    read::EndOfFile,
    upkeep::{Check, Replayed},
};

/// The answer to a read. `G` is what its conversation returns with the text.
#[derive(Clone, Debug)]
pub struct Answer<G> {
    /// The text block, exact to the byte.
    pub text: String,
    /// What must be said beside it; never part of the block.
    pub notices: Vec<Notice>,
    /// The file, by its name in the workspace.
    pub path: String,
    /// How it was answered.
    pub mode: Mode,
    /// Why it was answered so.
    pub reason: Reason,
    /// The lines that the answer covers.
    pub scope: Scope,
    /// The lines that a plain answer would show.
    pub lines: Option<Lines>,
    /// Those of them that the answer names and does not show: only in a partial answer.
    pub pieces: Vec<Piece>,
    /// Whether the call and the answer together show where the file ends.
    pub end: bool,
    /// The line to continue at, if more was asked for than fits into one answer.
    pub next: Option<u32>,
    /// Whether the picked lines are fewer than were asked for.
    pub reduced: bool,
    /// Lines in the file.
    pub total_lines: u32,
    /// Size of a plain answer.
    pub plain_bytes: u64,
    /// Metadata V1; none for a line that is shown only in part, as no scope can name that.
    pub meta: Option<MetaV1>,
    /// What the conversation returns with it: a receipt, a handle, metadata.
    pub given: G,
}

impl<G> Answer<G> {
    /// The text block; none if it would be empty or blank.
    #[must_use]
    pub fn block(&self) -> Option<&str> {
        Some(self.text.as_str()).filter(|text| !text.trim().is_empty())
    }
}

/// What becomes of a read.
#[derive(Clone, Debug)]
pub enum Reading<G> {
    /// The answer. It was recorded before it is given, and is relied on only after it was delivered.
    Answer(Box<Answer<G>>),
    /// The host answers it; nothing was recorded.
    NotOurs(NotOurs),
}

/// A result that was recorded and is on its way: to be handed back once it has reached the model. Without that it is never
/// relied on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// The session that recorded it.
    pub session: SessionName,
    /// The entry that records the result.
    pub entry: EntryId,
    /// The log it is in; another log may have taken its name since.
    pub log: LogId,
}

/// The result of a write.
#[derive(Clone, Debug)]
pub struct Written {
    /// What the model sees. It states which lines were replaced; only so can the edit be relied on.
    pub text: String,
    /// What became of each file.
    pub files: Vec<WrittenFile>,
    /// The number of the version that this made; none if nothing changed or nothing can be kept.
    pub version: Option<VersionId>,
    /// What must be said beside it.
    pub notices: Vec<Notice>,
    /// To be handed back once the result has reached the model: one for each file that changed, if the conversation has a log.
    pub receipts: Vec<Receipt>,
}

/// What became of one file.
#[derive(Clone, Debug)]
pub struct WrittenFile {
    /// The file, relative to the workspace root.
    pub path: String,
    /// The name that it had before.
    pub from: Option<String>,
    /// Whether it is gone.
    pub removed: bool,
    /// Whether it was so already, and nothing was written.
    pub same: bool,
    /// The text before; none if there was no file, and for a sensitive file.
    pub before: Option<ContentHash>,
    /// The text after; none if there is no file, and for a sensitive file.
    pub after: Option<ContentHash>,
    /// Its new size.
    pub bytes: u64,
    /// Its new number of lines.
    pub lines: u32,
    /// The lines that were replaced; none for a whole file.
    pub hunks: Vec<Hunk>,
    /// What was assumed, where the old text did not match exactly.
    pub assumed: Vec<Assumed>,
    /// Whether another's change was merged.
    pub merged: bool,
    /// The exact change; empty for a sensitive file.
    pub diff: String,
    /// The text that the edit was made for, where others had changed the file since.
    pub base: Option<ContentHash>,
}

/// Lines of a file that a refusal shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownLines {
    /// The number of the first.
    pub first: u32,
    /// The lines without terminators.
    pub lines: Vec<String>,
}

/// The result of a refresh.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refreshed {
    /// Every path of the file; empty if nothing is ever held of such a file.
    pub paths: Vec<String>,
    /// The lines that are no longer held.
    pub scope: Scope,
    /// Whether the file exists now.
    pub found: bool,
    /// The entry that records it, if the conversation has a log of ours.
    pub entry: Option<EntryId>,
}

macro_rules! outcomes {
    ($($(#[$doc:meta])* $variant:ident($inner:ty),)*) => {
        /// The outcome of an operation.
        #[derive(Debug)]
        pub enum Outcome<G> {
            /// A read, or why the host must answer it.
            Read(Reading<G>),
            /// One definition.
            Defined(Box<Defined<G>>),
            /// What others changed of the files that the conversation was shown.
            Told(Vec<Told<G>>),
            $($(#[$doc])* $variant($inner),)*
        }

        $(impl<G> TryFrom<Outcome<G>> for $inner {
            type Error = Error;

            fn try_from(outcome: Outcome<G>) -> Result<Self, Error> {
                if let Outcome::$variant(inner) = outcome { Ok(inner) } else { Err(Error::OtherOutcome) }
            }
        })*
    };
}

outcomes! {
    /// The first or last lines.
    EndOfFile(EndOfFile),
    /// What a path leads to.
    Stat(FileStat),
    /// Matching lines of one file.
    InFile(InFile),
    /// A search of the workspace.
    Searched(Searched),
    /// Definitions.
    Symbols(SymbolsFound),
    /// What a file defines.
    Outlined(Outlines),
    /// What is in a folder.
    Listed(Listed),
    /// A diff.
    Compared(Compared),
    /// A write.
    Written(Written),
    /// Two versions of a file.
    ComparedVersions(ComparedVersions),
    /// Files of the workspace.
    Files(FilesListed),
    /// Changes of files.
    History(HistoryListed),
    /// A text after a change.
    Version(ShownVersion),
    /// Lines and who wrote them.
    Blamed(Blamed),
    /// What others changed.
    Changes(ChangesFound),
    /// What the conversation is in the middle of.
    Context(Box<ContextFound>),
    /// A moment.
    Marked(VersionId),
    /// A rewind.
    Rewound(Rewound),
    /// Conflicts.
    Conflicts(Vec<OpenedConflict>),
    /// One conflict with its texts.
    Conflict(Box<ConflictTexts>),
    /// Calls that wait for a person, or waited.
    Approvals(Vec<Approval>),
    /// One of them.
    Approval(Box<Approval>),
    /// A refresh.
    Refreshed(Refreshed),
    /// The state of the workspace and of the conversation.
    Status(Status),
    /// What the conversation holds, line by line.
    Held(Box<HeldNow>),
    /// All sessions of the workspace.
    Sessions(Vec<SessionName>),
    /// The tree of one session.
    Session(SessionView),
    /// The entry at which a session now stands; `None` is the root.
    Moved(Option<EntryId>),
    /// The new session.
    Forked(SessionName),
    /// The entry that records it.
    Recorded(EntryId),
    /// One report for each log that was replayed.
    Replayed(Vec<Replayed>),
    /// What was removed, or would be.
    Collected(Collection),
    /// What was erased, or would be.
    Forgotten(Forgotten),
    /// What the rules say about a name.
    PolicyChecked(PolicyChecked),
    /// The rules in force.
    Policy(PolicyListed),
    /// The checks of `doctor`.
    Checked(Vec<Check>),
}

impl<G> Outcome<G> {
    /// The answer to a read.
    ///
    /// # Errors
    /// When it is another outcome, or the host must answer the read.
    pub fn into_answer(self) -> Result<Answer<G>, Error> {
        match self.into_reading()? {
            Reading::Answer(answer) => Ok(*answer),
            Reading::NotOurs(_) => Err(Error::OtherOutcome),
        }
    }

    /// The read, whoever answers it.
    ///
    /// # Errors
    /// When it is another outcome.
    pub fn into_reading(self) -> Result<Reading<G>, Error> {
        if let Self::Read(reading) = self { Ok(reading) } else { Err(Error::OtherOutcome) }
    }

    /// What the conversation is told.
    ///
    /// # Errors
    /// When it is another outcome.
    pub fn into_told(self) -> Result<Vec<Told<G>>, Error> {
        if let Self::Told(told) = self { Ok(told) } else { Err(Error::OtherOutcome) }
    }

    /// The definition.
    ///
    /// # Errors
    /// When it is another outcome.
    pub fn into_defined(self) -> Result<Defined<G>, Error> {
        if let Self::Defined(defined) = self { Ok(*defined) } else { Err(Error::OtherOutcome) }
    }
}

/// Something to be said beside an answer.
#[derive(Clone, Debug)]
pub enum Notice {
    /// What the answer says of the lines it shows.
    Shown(render::Notice),
    /// A setting that was not taken, in the words of the program that read the settings.
    Setting(String),
    /// Less was asked for than the caller asked, in the words of the budget.
    Reduced(String),
    /// There is no index of symbols yet: only files that contain the name were looked at.
    NoIndexYet,
    /// The text was decoded.
    Decoded(View),
    /// A killed process left a change over several files half made, and it could not be completed or undone.
    NotRecovered {
        /// The files that are not as they were before.
        files: Vec<String>,
        /// Why.
        why: Arc<Error>,
    },
    /// A file was so already, and nothing was written.
    SoAlready(String),
    /// There is no file of the name asked for; this is the one that ends in it.
    InsteadOf(String),
    /// A text could not be stored.
    NotStored {
        /// Which.
        text: ShownText,
        /// Why.
        why: Arc<StoreError>,
    },
    /// The answer could not be recorded.
    NotRemembered {
        /// Why.
        why: Arc<Error>,
        /// What became of the log.
        log: LogAfter,
    },
    /// The log of versions was damaged: it was put aside, and another is begun.
    HistoryPutAside {
        /// Why.
        why: Arc<VersionsError>,
        /// What it is now.
        kept: RetiredLog,
    },
    /// A store that was not made here was put aside.
    StorePutAside(PutAside),
    /// The index of symbols is not stored.
    IndexInMemory(Arc<NoIndex>),
    /// Files whose definitions are not in the index.
    Unindexed(Unindexed),
    /// How a comparison is to be taken.
    Compared(CompareNotice),
    /// Calls have no line in the query log.
    NotLogged {
        /// How many.
        calls: u64,
        /// Why the latest has none.
        why: Arc<Error>,
    },
    /// Calls have no line in the audit log.
    NotAudited {
        /// How many; 0 if they have, and it could not be signed.
        calls: u64,
        /// Why.
        why: Arc<Error>,
    },
    /// A checkpoint of the audit log could not be taken elsewhere, in the words of who should have.
    NotWitnessed(String),
    /// The audit log was not as it had been signed, and was put aside under this name.
    AuditPutAside(String),
}

/// Causes that the system gives have no equality of their own.
impl PartialEq for Notice {
    fn eq(&self, other: &Self) -> bool {
        format!("{self:?}") == format!("{other:?}")
    }
}

impl Eq for Notice {}

/// A text that was shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShownText {
    /// In this answer.
    This,
    /// In an answer before it.
    Earlier,
}

/// What became of the log of a session that missed an answer.
#[derive(Clone, Debug)]
pub enum LogAfter {
    /// There was none.
    None,
    /// It is kept as evidence, and the session begins anew.
    Kept(RetiredLog),
    /// It cannot be put aside, so the session cannot be used.
    InTheWay {
        /// The session.
        session: SessionName,
        /// Why.
        why: Arc<LogError>,
    },
}

/// Why the index of symbols cannot be stored, or not be used at all.
#[derive(Debug)]
pub enum NoIndex {
    /// There is no store.
    NoStore,
    /// The store cannot be opened.
    Unopened(Error),
    /// The store cannot hold its database.
    Store(StoreError),
    /// Its database cannot be used.
    Database(Unusable),
}

impl From<StoreError> for NoIndex {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<Unusable> for NoIndex {
    fn from(error: Unusable) -> Self {
        Self::Database(error)
    }
}

/// What must be said so that nobody takes a diff for another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompareNotice {
    /// The repository has no commit.
    NoCommit,
    /// Only the name is in the index.
    OnlyName,
    /// It is in the index, not in the baseline.
    NotInBaseline {
        /// The baseline.
        against: &'static str,
    },
    /// Git does not track it.
    Untracked {
        /// The baseline.
        against: &'static str,
    },
    /// It was removed from the index.
    NotInIndex,
    /// A file that is gone had the same bytes.
    RenamedFrom(String),
    /// A merge left several versions.
    Conflicted,
    /// The index's version stands for the working file, as it is marked so.
    AssumedUnchanged,
    /// Likewise, as it is not checked out.
    SkipWorktree,
    /// Git LFS keeps it.
    Lfs,
    /// Git keeps other bytes than the working file has.
    Cleaned,
    /// Blocks too large to compare line by line.
    TooLarge {
        /// Lines of the baseline.
        old: u32,
        /// New lines.
        new: u32,
    },
}
