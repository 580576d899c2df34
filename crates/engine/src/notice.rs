//! What must be said beside an answer, as data: each surface has its own words for it.

use readproof_core::render;
use readproof_disk::{LogError, PutAside, RetiredLog, SessionName, StoreError};
use readproof_index::{Unindexed, Unusable};
use std::sync::Arc;

use crate::Error;

/// Something to be said beside an answer.
#[derive(Clone, Debug)]
pub enum Notice {
    /// What the answer says of the lines it shows.
    Shown(render::Notice),
    /// A setting that was not taken, in the words of the program that read the settings.
    Setting(String),
    /// Less was asked for than the caller asked, in the words of the budget.
    Reduced(String),
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
    /// A store that was not made here was put aside.
    StorePutAside(PutAside),
    /// The index of symbols is not stored.
    IndexInMemory(Arc<NoIndex>),
    /// Files whose definitions are not in the index.
    Unindexed(Unindexed),
    /// How a comparison is to be taken.
    Compared(CompareNotice),
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
