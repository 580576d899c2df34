//! Why a log cannot be used, and the words for it.

use std::io;

use super::{LogName, STORE_NAME};
use crate::fault::Fault;

/// Why a log cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    #[error(
        "the log of {log} is damaged at line {line} (`{}`); the next read with it keeps the log as \
         evidence and begins anew", shown(.log)
    )]
    Damaged {
        log: LogName,
        /// The first line that does not fit the chain.
        line: u64,
    },
    #[error("the log of {log} is locked by another process; try again, or start another session")]
    Busy { log: LogName },
    #[error("the log of {log} grew since it was read; catch up before appending")]
    Behind { log: LogName },
    /// It would become two lines, or look like a fragment.
    #[error("a payload for {log} holds a line end or U+0018; escape it")]
    BadPayload { log: LogName },
    #[error("the log of {log} was removed or taken out of use; try again: the session begins anew")]
    Gone { log: LogName },
    /// A link could lead anywhere.
    #[error("`{}` is a symbolic link; remove it", shown(.log))]
    Link { log: LogName },
    #[error("`{}` is not a regular file; move it away", shown(.log))]
    NotAFile { log: LogName },
    #[error(
        "`{}` can be used by others (mode {mode:04o}), so nothing in it is trusted; if it is yours, run `chmod 600` on it, \
         else delete it", shown(.log)
    )]
    NotPrivate { log: LogName, mode: u32 },
    #[error("`{}` belongs to user {uid}, so nothing in it is trusted; delete it or run as that user", shown(.log))]
    NotOurs { log: LogName, uid: u32 },
    #[error("`{}` has {len} bytes, more than the {max} that are read; start another session", shown(.log))]
    TooLarge { log: LogName, len: u64, max: u64 },
    #[error("there is no space left for the log of {log}; free some and try again")]
    Full { log: LogName },
    #[error("the log of {log} lies on a read-only file system; nothing is recorded until it can be written")]
    ReadOnly { log: LogName },
    #[error("this user may not use `{}`; change its permissions", shown(.log))]
    Denied { log: LogName },
    #[error("`{}` cannot be used: {source}; try again or start another session", shown(.log))]
    Io { log: LogName, source: io::Error },
}

/// The file of a log, seen from the workspace.
fn shown(log: &LogName) -> String {
    match log {
        LogName::Session(name) => format!("{STORE_NAME}/log/{name}.log"),
    }
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
