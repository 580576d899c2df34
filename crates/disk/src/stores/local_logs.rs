//! The logs of a local store: one file each, `log/<session>.log`, `log/<session>.calls`, `log/calls`,
//! `log/versions` and `log/approvals`. Opens only private regular
//! files and never follows a link. Putting a log aside is a mark on the file, which all who have it open see, and a rename.

mod audit;
mod log;

pub(super) use audit::LocalAudit;
pub use audit::copy_out;

use std::{
    fs::File,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::Arc,
};

use rustix::{
    fs::{AtFlags, Mode, OFlags, RenameFlags},
    io::Errno,
};

use self::log::LocalLog;
use super::{
    Create, Log, LogError, LogName, Logs, RetiredLog, SessionName,
    local_leases::{lock, to_retire_logs},
    local_store::{READ_FLAGS, entries, names},
};
use crate::{fault::missing_or, snapshot::bytes::read_at};

/// Far more than a header has: a log with a second line has it within these.
const HEADER_BYTES: u64 = 64 * 1024;

/// The files of the logs that are of no session. No session's file can have such a name: they all end in `.log` or `.calls`.
const VERSIONS: &str = "versions";
const APPROVALS: &str = "approvals";
const CALLS: &str = "calls";

/// The folder of the logs.
#[derive(Debug)]
pub(super) struct LocalLogs {
    folder: Arc<OwnedFd>,
}

impl LocalLogs {
    pub(super) fn new(folder: Arc<OwnedFd>) -> Self {
        Self { folder }
    }

    /// The logs in use and their bytes, sorted by name.
    pub(super) fn sizes(&self) -> Vec<(LogName, u64)> {
        let sized = |(name, bytes): (String, u64)| Some((LogName::of_file(&name)?, bytes));
        let mut found: Vec<(LogName, u64)> = entries(self.folder()).into_iter().filter_map(sized).collect();
        found.sort_unstable();
        found
    }

    /// As [`super::Stores::retire`], whatever the state of the store around the logs.
    pub(super) fn retire(&self, log: &LogName) -> Result<Option<RetiredLog>, LogError> {
        let fail = |errno: Errno| LogError::from_io(log, errno.into());
        // Without it, as on a file system that has no locks, it is done all the same.
        let _lease = to_retire_logs(&self.folder);
        let name = log.file();
        let found = missing_or(rustix::fs::statat(&self.folder, &name, AtFlags::SYMLINK_NOFOLLOW));
        if found.map_err(fail)?.is_none() {
            return Ok(None);
        }
        // Everyone who has it open sees by this mark that it is out of use, even if it cannot be renamed.
        let file = rustix::fs::openat(&self.folder, &name, READ_FLAGS, Mode::empty()).map(File::from);
        let marked = file.as_ref().map_err(|errno| *errno).and_then(|file| rustix::fs::fchmod(file, Mode::RUSR));
        if marked.is_ok() && file.is_ok_and(|file| says_nothing(&file)) {
            return rustix::fs::unlinkat(&self.folder, &name, AtFlags::empty()).map(|()| None).map_err(fail);
        }
        for number in 1..=u32::MAX {
            let retired = RetiredLog { log: log.clone(), number };
            let (to, flags) = (retired.to_string(), RenameFlags::NOREPLACE);
            match rustix::fs::renameat_with(&self.folder, &name, &self.folder, &to, flags) {
                Ok(()) => return Ok(Some(retired)),
                Err(Errno::EXIST) => {}
                // Another process was faster.
                Err(Errno::NOENT) => return Ok(None),
                Err(errno) => return marked.map(|()| None).map_err(|_| fail(errno)),
            }
        }
        Ok(None)
    }

    fn folder(&self) -> BorrowedFd<'_> {
        self.folder.as_fd()
    }

    fn evidence(&self, log: &LogName, name: &str) -> Result<Option<Box<dyn Log>>, LogError> {
        let file = match rustix::fs::openat(&self.folder, name, READ_FLAGS, Mode::empty()) {
            Ok(fd) => File::from(fd),
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::NXIO) => return Err(LogError::NotAFile { log: log.clone() }),
            Err(errno) => return Err(LogError::from_io(log, errno.into())),
        };
        Ok(Some(Box::new(LocalLog::new(&self.folder, log, file)?.into_evidence())))
    }
}

impl Logs for LocalLogs {
    fn list(&self) -> Vec<LogName> {
        self.sizes().into_iter().map(|(log, _)| log).collect()
    }

    fn open(&self, log: &LogName, create: Create) -> Result<Option<Box<dyn Log>>, LogError> {
        let fail = |errno: Errno| LogError::from_io(log, errno.into());
        // Non-blocking, or something else in its place could make us wait.
        let flags =
            OFlags::RDWR | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let flags = match create {
            Create::Yes => flags | OFlags::CREATE,
            Create::No => flags,
        };
        let name = log.file();
        // Every read asks for the log of versions, which most workspaces do not have: an open that fails costs twice as much as this.
        let is_there =
            || !matches!(rustix::fs::statat(&self.folder, &name, AtFlags::SYMLINK_NOFOLLOW), Err(Errno::NOENT));
        if create == Create::No && !is_there() {
            return Ok(None);
        }
        let file = match rustix::fs::openat(&self.folder, &name, flags, Mode::RUSR | Mode::WUSR) {
            Ok(fd) => fd,
            // It can be read all the same.
            Err(Errno::ROFS) if create == Create::No => {
                rustix::fs::openat(&self.folder, &name, READ_FLAGS, Mode::empty()).map_err(fail)?
            }
            Err(Errno::NOENT) if create == Create::No => return Ok(None),
            Err(Errno::NXIO | Errno::ISDIR) => return Err(LogError::NotAFile { log: log.clone() }),
            Err(errno) => return Err(fail(errno)),
        };
        Ok(Some(Box::new(LocalLog::new(&self.folder, log, File::from(file))?)))
    }

    fn draft(&self, log: &LogName) -> Result<Box<dyn Log>, LogError> {
        let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        for number in 0..u32::MAX {
            let name = format!("{}.draft-{}-{number}", log.file(), std::process::id());
            match rustix::fs::openat(&self.folder, &name, flags, Mode::RUSR | Mode::WUSR) {
                Ok(fd) => return Ok(Box::new(LocalLog::new(&self.folder, log, File::from(fd))?.into_draft(name))),
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(LogError::from_io(log, errno.into())),
            }
        }
        Err(LogError::Busy { log: log.clone() })
    }

    fn look(&self, log: &LogName) -> Result<Option<Box<dyn Log>>, LogError> {
        self.evidence(log, &log.file())
    }

    fn retired(&self) -> Vec<RetiredLog> {
        let mut found: Vec<RetiredLog> =
            names(self.folder()).iter().filter_map(|name| RetiredLog::of_file(name)).collect();
        found.sort_unstable();
        found
    }

    fn look_at_retired(&self, retired: &RetiredLog) -> Result<Box<dyn Log>, LogError> {
        let gone = || LogError::Gone { log: retired.log.clone() };
        self.evidence(&retired.log, &retired.to_string())?.ok_or_else(gone)
    }
}

impl LogName {
    /// The name of its file.
    fn file(&self) -> String {
        match self {
            Self::Session(name) => format!("{name}.log"),
            Self::Versions => VERSIONS.to_owned(),
            Self::Approvals => APPROVALS.to_owned(),
            Self::Calls(Some(name)) => format!("{name}.{CALLS}"),
            Self::Calls(None) => CALLS.to_owned(),
        }
    }

    /// The log whose file has this name; `None` when no log has.
    pub(crate) fn of_file(name: &str) -> Option<Self> {
        match name {
            VERSIONS => Some(Self::Versions),
            APPROVALS => Some(Self::Approvals),
            CALLS => Some(Self::Calls(None)),
            other => match other.rsplit_once('.')? {
                (session, "log") => SessionName::parse(session).ok().map(Self::Session),
                (session, CALLS) => SessionName::parse(session).ok().map(|name| Self::Calls(Some(name))),
                _ => None,
            },
        }
    }
}

impl RetiredLog {
    fn of_file(name: &str) -> Option<Self> {
        let (log, number) = name.rsplit_once(".retired-")?;
        let retired = Self { log: LogName::of_file(log)?, number: number.parse().ok()? };
        (retired.to_string() == name).then_some(retired)
    }
}

/// Whether a log that was just marked as out of use holds no more than a header: there was no space for anything else. Its
/// lock is taken, so a writer that came before the mark is waited for; those that come after see the mark.
fn says_nothing(file: &File) -> bool {
    let lines = |bytes: Vec<u8>| bytes.iter().filter(|byte| **byte == b'\n').count();
    lock(file).is_ok() && read_at(file, 0, HEADER_BYTES).is_ok_and(|bytes| lines(bytes) < 2)
}
