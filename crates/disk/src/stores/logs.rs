//! The trait of append-only logs. A log grows by one line at a time and is never changed otherwise; a line is verified when
//! it is read. A log that missed something can only be taken out of use as a whole.

mod audit;

pub(super) use audit::is_writer;
pub use audit::{AuditCount, AuditPart, AuditParts, Counted, Lasting, NextPiece};

use std::{fmt, ops::ControlFlow};

use readproof_core::text::ContentHash;

use super::{Create, LogError, SessionName};

/// Which log of a store is meant.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LogName {
    /// What happened in a session.
    Session(SessionName),
    /// Which texts the files of the workspace have had, whoever wrote them; there is one such log.
    Versions,
    /// Which calls waited for a person, and what was decided; there is one such log.
    Approvals,
    /// The calls of a conversation, or those without one.
    Calls(Option<SessionName>),
}

impl LogName {
    /// The session it is the log of; `None` for any other log.
    #[must_use]
    pub fn session(&self) -> Option<&SessionName> {
        match self {
            Self::Session(name) => Some(name),
            Self::Versions | Self::Approvals | Self::Calls(_) => None,
        }
    }
}

impl From<&SessionName> for LogName {
    fn from(session: &SessionName) -> Self {
        Self::Session(session.clone())
    }
}

impl fmt::Display for LogName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Session(name) => write!(f, "session `{name}`"),
            Self::Versions => f.write_str("the workspace's versions"),
            Self::Approvals => f.write_str("approvals"),
            Self::Calls(Some(name)) => write!(f, "the calls of session `{name}`"),
            Self::Calls(None) => f.write_str("the calls without a session"),
        }
    }
}

/// The logs of one store.
pub trait Logs: fmt::Debug + Send + Sync {
    /// The logs in use, sorted.
    fn list(&self) -> Vec<LogName>;

    /// Opens a log; `None` when there is none and none is to be made.
    ///
    /// # Errors
    /// [`LogError`] when it cannot be trusted or opened.
    fn open(&self, name: &LogName, create: Create) -> Result<Option<Box<dyn Log>>, LogError>;

    /// A new log that nobody sees until [`Log::publish`].
    ///
    /// # Errors
    /// [`LogError`] when none can be made.
    fn draft(&self, name: &LogName) -> Result<Box<dyn Log>, LogError>;

    /// Opens a log as evidence: it can only be read, even if it was taken out of use. `None`: there is none.
    ///
    /// # Errors
    /// [`LogError`] when it cannot be trusted or opened.
    fn look(&self, name: &LogName) -> Result<Option<Box<dyn Log>>, LogError>;

    /// The logs that were put aside because they missed something, sorted.
    fn retired(&self) -> Vec<RetiredLog>;

    /// Opens a log that was put aside as evidence.
    ///
    /// # Errors
    /// [`LogError`] when it cannot be trusted or opened, or is gone.
    fn look_at_retired(&self, retired: &RetiredLog) -> Result<Box<dyn Log>, LogError>;

    /// The sessions that have a log, sorted.
    fn sessions(&self) -> Vec<SessionName> {
        self.list().iter().filter_map(|log| log.session().cloned()).collect()
    }
}

/// Told the number of a line, from 1, and its payload. [`ControlFlow::Break`] refuses the line.
pub type TakeLine<'t> = &'t mut dyn FnMut(u64, &str) -> ControlFlow<()>;

/// One open log, and how far it has been read.
pub trait Log: fmt::Debug + Send {
    /// Which log it is, whatever its name: a log that was put aside keeps its id, and the one that takes its name has another.
    fn id(&self) -> LogId;

    /// How many lines have been read or written, fragments included.
    fn lines(&self) -> u64;

    /// How many of them are fragments that failed writes left.
    fn torn(&self) -> u64;

    /// Whether it was taken out of use: it missed something, and nothing relies on it any more.
    fn is_out_of_use(&self) -> bool;

    /// Takes the lines that were appended since the last call by anyone but this handle, verified, in order. A line that
    /// `take` refuses ends the call; it and all after it are given again by the next one.
    ///
    /// # Errors
    /// [`LogError::Damaged`] when a line was altered or lines already read are gone; it stays so for this handle.
    fn catch_up_each(&mut self, take: TakeLine<'_>) -> Result<(), LogError>;

    /// Appends one line and returns its number. Nothing is synced, and a later catch-up does not give the line again.
    ///
    /// # Errors
    /// [`LogError::Behind`] when the log holds lines that this handle has not taken: catch up, decide again, append again.
    /// After any other failure but [`LogError::Damaged`] the log can be used on in the same way.
    fn append(&mut self, payload: &str) -> Result<u64, LogError>;

    /// Makes everything appended so far survive a power failure.
    ///
    /// # Errors
    /// [`LogError`] when the system cannot promise that.
    fn sync(&self) -> Result<(), LogError>;

    /// Gives a draft its name and syncs it, unless the name is taken: then `false`, and the draft is gone. Does nothing to
    /// any other log.
    ///
    /// # Errors
    /// [`LogError`] when it cannot be named.
    fn publish(&mut self) -> Result<bool, LogError>;

    /// As [`Self::catch_up_each`], all lines at once. Those before an error are kept in `payloads`.
    ///
    /// # Errors
    /// As [`Self::catch_up_each`].
    fn catch_up_into(&mut self, payloads: &mut Vec<Payload>) -> Result<(), LogError> {
        self.catch_up_each(&mut |line, text| {
            payloads.push(Payload { line, text: text.to_owned() });
            ControlFlow::Continue(())
        })
    }

    /// As [`Self::catch_up_each`], all lines at once.
    ///
    /// # Errors
    /// As [`Self::catch_up_each`].
    fn catch_up(&mut self) -> Result<Vec<Payload>, LogError> {
        let mut payloads = Vec::new();
        self.catch_up_into(&mut payloads)?;
        Ok(payloads)
    }
}

/// What one line carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payload {
    /// The number of the line in the log, from 1.
    pub line: u64,
    /// What was appended.
    pub text: String,
}

/// Tells logs of the same name apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogId {
    /// What the store knows it by; of a local log, device and inode. May be used again once the log is gone.
    place: (u64, u64),
    /// The hash in its first good line, once that was read or written. It never comes again, as first lines are random.
    first: Option<ContentHash>,
}

impl LogId {
    /// The id of a log at this place of its store, of which no line is known yet.
    #[must_use]
    pub fn at(place: (u64, u64)) -> Self {
        Self { place, first: None }
    }

    /// Notes the hash of a good line; only the first counts.
    pub fn note(&mut self, line: ContentHash) {
        self.first.get_or_insert(line);
    }

    /// A token for something in this log that only those who can read the log can work out. `None` until its first line is
    /// known.
    #[must_use]
    pub fn word(&self, what: &[u8]) -> Option<ContentHash> {
        self.first.map(|first| ContentHash::of_parts(&[first.as_bytes(), what]))
    }
}

/// A log that was put aside because it missed something.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RetiredLog {
    /// The name it had in use.
    pub log: LogName,
    /// From 1, counted for each name.
    pub number: u32,
}

impl fmt::Display for RetiredLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.log {
            LogName::Session(name) => write!(f, "{name}.log.retired-{}", self.number),
            LogName::Versions => write!(f, "versions.retired-{}", self.number),
            LogName::Approvals => write!(f, "approvals.retired-{}", self.number),
            LogName::Calls(Some(name)) => write!(f, "{name}.calls.retired-{}", self.number),
            LogName::Calls(None) => write!(f, "calls.retired-{}", self.number),
        }
    }
}
