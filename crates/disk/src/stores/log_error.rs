//! Why a log cannot be used.

use std::io;

use super::LogName;
use crate::fault::Fault;

/// Why a log cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{self:?}")]
pub enum LogError {
    Damaged {
        log: LogName,
        /// The first line that does not fit the chain.
        line: u64,
    },
    Busy {
        log: LogName,
    },
    Behind {
        log: LogName,
    },
    /// It would become two lines, or look like a fragment.
    BadPayload {
        log: LogName,
    },
    Gone {
        log: LogName,
    },
    /// A link could lead anywhere.
    Link {
        log: LogName,
    },
    NotAFile {
        log: LogName,
    },
    NotPrivate {
        log: LogName,
        mode: u32,
    },
    NotOurs {
        log: LogName,
        uid: u32,
    },
    TooLarge {
        log: LogName,
        len: u64,
        max: u64,
    },
    Full {
        log: LogName,
    },
    ReadOnly {
        log: LogName,
    },
    Denied {
        log: LogName,
    },
    Io {
        log: LogName,
        source: io::Error,
    },
}

impl LogError {
    pub(super) fn from_io(log: &LogName, source: io::Error) -> Self {
        let log = log.clone();
        match Fault::of(&source) {
            Fault::Missing | Fault::NotFolder => Self::Gone { log },
            Fault::LinkOut | Fault::LinkLoop => Self::Link { log },
            Fault::Denied => Self::Denied { log },
            Fault::ReadOnly => Self::ReadOnly { log },
            Fault::Full => Self::Full { log },
            Fault::TooLong | Fault::Other => Self::Io { log, source },
        }
    }
}
