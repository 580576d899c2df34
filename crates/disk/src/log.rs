//! The append-only, hash-chained log of one session: `<64 hex> <payload>\n`, the hash being that of the previous line's
//! hash and the payload. Verifies every line it returns. Never rewrites, truncates or repairs a log, and never looks into a
//! payload.

use std::{
    fmt,
    fs::{File, Metadata, TryLockError},
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::fs::MetadataExt,
    },
    str::FromStr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use readproof_core::text::ContentHash;
use rustix::{
    fs::{Mode, OFlags},
    io::Errno,
};

use crate::{
    fault::Fault,
    root::Root,
    snapshot::bytes::read_at,
    snapshot::{Extent, FileKind, MOST_BYTES},
    store::{Privacy, READ_FLAGS, RetiredLog, STORE_NAME, Store, entries},
};

/// How often a lock is tried, one millisecond apart. An append takes microseconds.
const LOCK_TRIES: u32 = 1000;

/// Far more than a header has: a log with a second line has it within these.
const HEADER_BYTES: u64 = 64 * 1024;

/// What a writer puts around the length of a torn tail before it ends that line: U+0018, CANCEL. Payloads cannot hold it,
/// and one altered byte cannot make two of it, so a line sealed like that is a fragment and nothing else.
const CANCEL: u8 = 0x18;

/// The name of a session: 1 to 64 of `A-Z a-z 0-9 . _ -`, beginning with neither `.` nor `-`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionName(String);

impl SessionName {
    /// Checks a name.
    ///
    /// # Errors
    /// [`BadSessionName`] when it could not be a file name everywhere.
    pub fn parse(name: &str) -> Result<Self, BadSessionName> {
        let fits = (1..=64).contains(&name.len())
            && !name.starts_with(['.', '-'])
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'));
        fits.then(|| Self(name.to_owned())).ok_or_else(|| BadSessionName { name: name.chars().take(80).collect() })
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The session whose log has this file name.
    pub(crate) fn of_file(name: &str) -> Option<Self> {
        Self::parse(name.strip_suffix(".log")?).ok()
    }
}

impl FromStr for SessionName {
    type Err = BadSessionName;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::parse(name)
    }
}

impl fmt::Display for SessionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A session name that is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{name}` is no session name; use 1 to 64 letters, digits, dots, underscores or hyphens, beginning with a letter, \
     digit or underscore"
)]
pub struct BadSessionName {
    /// As given, its first 80 characters.
    pub name: String,
}

/// Whether a log that is missing is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Create {
    /// Made, empty.
    Yes,
    /// Left missing.
    No,
}

/// What one line carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payload {
    /// The number of the line in the file, from 1.
    pub line: u64,
    /// What was appended.
    pub text: String,
}

/// Which log, whatever its name: one that was put aside keeps its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogId {
    dev: u64,
    ino: u64,
    /// The hash in its first good line: a file made after another was removed may have its number, but not its header.
    first: Option<ContentHash>,
}

impl LogId {
    /// A word for something in this log that nobody can guess who does not see the log: its first line is random. `None`
    /// until that was read or written.
    #[must_use]
    pub fn word(&self, what: &[u8]) -> Option<ContentHash> {
        self.first.map(|first| ContentHash::of_parts(&[first.as_bytes(), what]))
    }
}

/// An open log and how far it has been read.
#[derive(Debug)]
pub struct SessionLog {
    session: SessionName,
    id: LogId,
    /// The name it has until it is published.
    draft: Option<String>,
    file: File,
    /// Opened only to look at it, as its file system cannot be written.
    read_only: bool,
    folder: Arc<OwnedFd>,
    folder_synced: AtomicBool,
    /// Behind the last whole line that was read or written.
    at: u64,
    /// How long the file was then; beyond `at` lies a torn tail. `None` after a write that went wrong.
    end: Option<u64>,
    /// The hash in the last good line.
    last: [u8; 32],
    lines: u64,
    torn: u64,
    damaged: Option<u64>,
    /// Only looked at, whether it is in use or not.
    is_evidence: bool,
}

impl SessionLog {
    /// Opens the log of a session; `None` when there is none and none is to be made.
    ///
    /// # Errors
    /// [`LogError`] when it is no private regular file.
    pub fn open(store: &Store, session: &SessionName, create: Create) -> Result<Option<Self>, LogError> {
        let fail = |error| LogError::from_io(session, error);
        // Non-blocking, or something else in its place could make us wait.
        let flags =
            OFlags::RDWR | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let flags = match create {
            Create::Yes => flags | OFlags::CREATE,
            Create::No => flags,
        };
        let name = format!("{session}.log");
        let file = match rustix::fs::openat(store.log().as_fd(), &name, flags, Mode::RUSR | Mode::WUSR) {
            Ok(fd) => File::from(fd),
            // To look at it is possible all the same.
            Err(Errno::ROFS) if create == Create::No => {
                let opened = rustix::fs::openat(store.log().as_fd(), &name, READ_FLAGS, Mode::empty());
                File::from(opened.map_err(|errno| fail(errno.into()))?)
            }
            Err(Errno::NOENT) if create == Create::No => return Ok(None),
            Err(Errno::NXIO | Errno::ISDIR) => return Err(LogError::NotAFile { session: session.clone() }),
            Err(errno) => return Err(fail(errno.into())),
        };
        Self::fresh(store, session, file, None).map(Some)
    }

    /// A new log that has no name yet: nobody sees it until [`Self::publish`].
    ///
    /// # Errors
    /// [`LogError`] when none can be made.
    pub fn draft(store: &Store, session: &SessionName) -> Result<Self, LogError> {
        let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        for number in 0..u32::MAX {
            let name = format!("{session}.log.draft-{}-{number}", std::process::id());
            match rustix::fs::openat(store.log().as_fd(), &name, flags, Mode::RUSR | Mode::WUSR) {
                Ok(fd) => return Self::fresh(store, session, File::from(fd), Some(name)),
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(LogError::from_io(session, errno.into())),
            }
        }
        Err(LogError::Busy { session: session.clone() })
    }

    /// Gives a draft its name, unless that is taken: then `false`, and the draft goes.
    ///
    /// # Errors
    /// [`LogError`] when it cannot be named.
    pub fn publish(&mut self) -> Result<bool, LogError> {
        let Some(draft) = self.draft.take() else { return Ok(true) };
        let name = format!("{}.log", self.session);
        let flags = rustix::fs::RenameFlags::NOREPLACE;
        let named = rustix::fs::renameat_with(&self.folder, &draft, &self.folder, &name, flags);
        if named.is_err() {
            // Left behind, it would only take room.
            let _ = rustix::fs::unlinkat(&self.folder, &draft, rustix::fs::AtFlags::empty());
        }
        match named {
            Ok(()) => self.sync().map(|()| true),
            Err(Errno::EXIST) => Ok(false),
            Err(errno) => Err(LogError::from_io(&self.session, errno.into())),
        }
    }

    fn fresh(store: &Store, session: &SessionName, file: File, draft: Option<String>) -> Result<Self, LogError> {
        let found = file.metadata().map_err(|error| LogError::from_io(session, error))?;
        check_private(session, &found)?;
        Ok(Self {
            session: session.clone(),
            id: LogId { dev: found.dev(), ino: found.ino(), first: None },
            draft,
            read_only: rustix::fs::fcntl_getfl(&file).is_ok_and(|flags| !flags.contains(OFlags::RDWR)),
            file,
            folder: Arc::clone(store.log()),
            folder_synced: AtomicBool::new(false),
            at: 0,
            end: Some(0),
            last: [0; 32],
            lines: 0,
            torn: 0,
            damaged: None,
            is_evidence: false,
        })
    }

    /// Opens the log of a session as evidence: it is only read, even if it was just taken out of use. `None`: there is none.
    ///
    /// # Errors
    /// [`LogError`] when it is no private regular file.
    pub fn look(store: &Store, session: &SessionName) -> Result<Option<Self>, LogError> {
        Self::evidence(store, session, &format!("{session}.log"))
    }

    /// Opens a log that was put aside, likewise.
    ///
    /// # Errors
    /// [`LogError`] when it is no private regular file, or gone.
    pub fn look_at_retired(store: &Store, retired: &RetiredLog) -> Result<Self, LogError> {
        let gone = || LogError::Gone { session: retired.session.clone() };
        Self::evidence(store, &retired.session, &retired.to_string())?.ok_or_else(gone)
    }

    fn evidence(store: &Store, session: &SessionName, name: &str) -> Result<Option<Self>, LogError> {
        let file = match rustix::fs::openat(store.log().as_fd(), name, READ_FLAGS, Mode::empty()) {
            Ok(fd) => File::from(fd),
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::NXIO) => return Err(LogError::NotAFile { session: session.clone() }),
            Err(errno) => return Err(LogError::from_io(session, errno.into())),
        };
        Ok(Some(Self { is_evidence: true, ..Self::fresh(store, session, file, None)? }))
    }

    /// Whether it was taken out of use: it missed something, and no session relies on it.
    #[must_use]
    pub fn is_out_of_use(&self) -> bool {
        Extent::of(&self.file).is_ok_and(|found| !is_in_use(found.nlink, found.mode))
    }

    /// Which log this is, by its file and its first line: it has no name of its own until that was read or written.
    #[must_use]
    pub fn id(&self) -> LogId {
        self.id
    }

    /// The sessions that have a log, sorted.
    #[must_use]
    pub fn list(store: &Store) -> Vec<SessionName> {
        let mut names: Vec<SessionName> =
            entries(store.log().as_fd()).iter().filter_map(|(name, _)| SessionName::of_file(name)).collect();
        names.sort_unstable();
        names
    }

    /// Whose log it is.
    #[must_use]
    pub fn session(&self) -> &SessionName {
        &self.session
    }

    /// How many lines have been read or written, fragments included.
    #[must_use]
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// How many of them are fragments that a failed write left.
    #[must_use]
    pub fn torn(&self) -> u64 {
        self.torn
    }

    /// What was appended since the last call, by anyone but this handle, verified. What follows the last line end is
    /// ignored: its writer is not done, or died. When nothing is new this costs one `fstat`.
    ///
    /// # Errors
    /// [`LogError::Damaged`] when a line does not fit the chain or lines already read are gone; it stays so.
    pub fn catch_up(&mut self) -> Result<Vec<Payload>, LogError> {
        let mut payloads = Vec::new();
        self.catch_up_into(&mut payloads)?;
        Ok(payloads)
    }

    /// As [`SessionLog::catch_up`], one after the other: the number of a line and what was appended. The first error of
    /// `take` ends it; what it was not given is not given again.
    ///
    /// # Errors
    /// As [`SessionLog::catch_up`], or that of `take`.
    pub fn catch_up_each<E: From<LogError>>(
        &mut self,
        take: &mut impl FnMut(u64, &str) -> Result<(), E>,
    ) -> Result<(), E> {
        let bytes = self.appended()?;
        let mut from = 0;
        for end in memchr::memchr_iter(b'\n', &bytes) {
            let taken = self.take(&bytes[from..end])?;
            self.at += (end + 1 - from) as u64;
            from = end + 1;
            if let Some((line, text)) = taken {
                take(line, text)?;
            }
        }
        Ok(())
    }

    /// As [`SessionLog::catch_up`]; what stands before the damage is given too, for those who look into a log.
    ///
    /// # Errors
    /// As [`SessionLog::catch_up`].
    pub fn catch_up_into(&mut self, payloads: &mut Vec<Payload>) -> Result<(), LogError> {
        self.catch_up_each(&mut |line, text| {
            payloads.push(Payload { line, text: text.to_owned() });
            Ok(())
        })
    }

    /// The bytes that were appended since the last look, as far as lines are whole and beyond.
    fn appended(&mut self) -> Result<Vec<u8>, LogError> {
        let len = self.len()?;
        if self.end == Some(len) {
            return Ok(Vec::new());
        }
        let new = len - self.at;
        if new > MOST_BYTES {
            return Err(LogError::TooLarge { session: self.session.clone(), len, max: MOST_BYTES });
        }
        let mut bytes = read_at(&self.file, self.at, new).map_err(|error| LogError::from_io(&self.session, error))?;
        // Only what the stat knew of: the byte beyond would belong to a write that is not done.
        bytes.truncate(usize::try_from(new).unwrap_or(usize::MAX));
        self.end = Some(self.at + bytes.len() as u64);
        Ok(bytes)
    }

    /// Waits up to about a second for the exclusive right to append, which ends when the value is dropped.
    ///
    /// # Errors
    /// [`LogError::Busy`] when another keeps it that long.
    pub fn lock(&mut self) -> Result<Locked<'_>, LogError> {
        self.lock_within(LOCK_TRIES)
    }

    fn lock_within(&mut self, tries: u32) -> Result<Locked<'_>, LogError> {
        for _ in 0..tries {
            match self.file.try_lock() {
                Ok(()) => return Ok(Locked { log: self, len: None }),
                Err(TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(1)),
                Err(TryLockError::Error(error)) => return Err(LogError::from_io(&self.session, error)),
            }
        }
        Err(LogError::Busy { session: self.session.clone() })
    }

    /// Makes what was appended outlive a power failure. Needs no lock.
    ///
    /// # Errors
    /// [`LogError`] when the system cannot promise that.
    pub fn sync(&self) -> Result<(), LogError> {
        let fail = |errno: Errno| LogError::from_io(&self.session, errno.into());
        rustix::fs::fdatasync(&self.file).map_err(fail)?;
        if !self.folder_synced.load(Ordering::Relaxed) {
            // The log may be new, and its name is in the folder.
            rustix::fs::fsync(&self.folder).map_err(fail)?;
            self.folder_synced.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Takes the log of a session out of use, for every process that has it open too: it missed something that happened,
    /// so what it says last is no longer true. It is kept as evidence under another name, unless it says nothing, and the
    /// session begins anew. Works on a store that is otherwise refused, and needs no room on the disk. `None`: nothing was
    /// kept.
    ///
    /// # Errors
    /// [`LogError`] when the system does not let it.
    pub fn retire(root: &Root, session: &SessionName) -> Result<Option<String>, LogError> {
        let fail = |errno: Errno| LogError::from_io(session, errno.into());
        let folder = match open_folder(root) {
            Ok(folder) => File::from(folder),
            Err(Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(fail(errno)),
        };
        // One at a time, or one process would mark a log and another rename the next of that name, which is in use.
        let _ = locked(&folder);
        let name = format!("{session}.log");
        let at = rustix::fs::AtFlags::SYMLINK_NOFOLLOW;
        match rustix::fs::statat(&folder, &name, at) {
            Ok(_) => {}
            Err(Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(fail(errno)),
        }
        // Whoever has it open sees by this that it is out of use, even if it cannot be renamed.
        let log = rustix::fs::openat(&folder, &name, READ_FLAGS, Mode::empty()).map(File::from);
        let marked = log.as_ref().map_err(|errno| *errno).and_then(|log| rustix::fs::fchmod(log, Mode::RUSR));
        if marked.is_ok() && log.is_ok_and(|log| says_nothing(&log)) {
            return rustix::fs::unlinkat(&folder, &name, rustix::fs::AtFlags::empty()).map(|()| None).map_err(fail);
        }
        for number in 1..=u32::MAX {
            let kept = format!("{name}.retired-{number}");
            let flags = rustix::fs::RenameFlags::NOREPLACE;
            match rustix::fs::renameat_with(&folder, &name, &folder, &kept, flags) {
                Ok(()) => return Ok(Some(kept)),
                Err(Errno::EXIST) => {}
                // Another was faster.
                Err(Errno::NOENT) => return Ok(None),
                Err(errno) => return marked.map(|()| None).map_err(|_| fail(errno)),
            }
        }
        Ok(None)
    }

    /// The length of a log that can be used.
    fn len(&mut self) -> Result<u64, LogError> {
        if let Some(line) = self.damaged {
            return Err(self.damage(line));
        }
        let found = Extent::of(&self.file).map_err(|error| LogError::from_io(&self.session, error))?;
        if !self.is_evidence && !is_in_use(found.nlink, found.mode) {
            return Err(LogError::Gone { session: self.session.clone() });
        }
        if found.len < self.at {
            return Err(self.damage(self.lines));
        }
        Ok(found.len)
    }

    /// Takes one whole line into the chain. `None`: a fragment.
    fn take<'b>(&mut self, body: &'b [u8]) -> Result<Option<(u64, &'b str)>, LogError> {
        let number = self.lines + 1;
        if let Some((hash, text)) = self.verified(body) {
            self.chain(hash);
            self.lines = number;
            return Ok(Some((number, text)));
        }
        if is_sealed(body) {
            self.lines = number;
            self.torn += 1;
            return Ok(None);
        }
        Err(self.damage(number))
    }

    fn verified<'b>(&self, body: &'b [u8]) -> Option<(ContentHash, &'b str)> {
        let (hex, text) = str::from_utf8(body).ok()?.split_once(' ')?;
        let hash = self.chained(text);
        (hex.as_bytes() == hash.to_hex()).then_some((hash, text))
    }

    /// The chain goes on from here.
    fn chain(&mut self, hash: ContentHash) {
        self.id.first.get_or_insert(hash);
        self.last = *hash.as_bytes();
    }

    fn chained(&self, payload: &str) -> ContentHash {
        ContentHash::of_parts(&[&self.last, payload.as_bytes()])
    }

    fn damage(&mut self, line: u64) -> LogError {
        self.damaged = Some(line);
        LogError::Damaged { session: self.session.clone(), line }
    }
}

/// Ends a torn tail of that many bytes.
fn seal(tail: u64) -> Vec<u8> {
    let mark = char::from(CANCEL);
    format!("{mark}{tail}{mark}\n").into_bytes()
}

/// Whether a line is a torn tail that a later writer ended. With the length in it, neither a part of one nor one that
/// swallowed the line before it passes.
fn is_sealed(body: &[u8]) -> bool {
    let Some((&CANCEL, rest)) = body.split_last() else { return false };
    let at = rest.iter().rposition(|byte| *byte == CANCEL);
    at.is_some_and(|at| rest[at + 1..] == *at.to_string().as_bytes())
}

/// The folder of the logs, whatever the state of the store around it.
fn open_folder(root: &Root) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let store = rustix::fs::openat(&root.dir, STORE_NAME, flags, Mode::empty())?;
    rustix::fs::openat(&store, "log", flags, Mode::empty())
}

/// Whether a log that was just taken out of use holds no more than a header: there was no room for anything else. Its
/// writers are waited for: who comes after them sees that it is out of use.
fn says_nothing(log: &File) -> bool {
    let lines = |bytes: Vec<u8>| bytes.iter().filter(|byte| **byte == b'\n').count();
    locked(log) && read_at(log, 0, HEADER_BYTES).is_ok_and(|bytes| lines(bytes) < 2)
}

/// Waits a while for the lock of a file, which ends when it is closed.
pub(crate) fn locked(file: &File) -> bool {
    for _ in 0..LOCK_TRIES {
        match file.try_lock() {
            Ok(()) => return true,
            Err(TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(1)),
            Err(TryLockError::Error(_)) => return false,
        }
    }
    false
}

/// Neither deleted nor retired.
fn is_in_use(nlink: u64, mode: u32) -> bool {
    nlink > 0 && mode & 0o200 != 0
}

fn check_private(session: &SessionName, found: &Metadata) -> Result<(), LogError> {
    let session = session.clone();
    if FileKind::of(found.mode()).is_some() {
        return Err(LogError::NotAFile { session });
    }
    match Privacy::of(found.mode(), found.uid()) {
        Privacy::Private => Ok(()),
        Privacy::Open { mode } => Err(LogError::NotPrivate { session, mode }),
        Privacy::Foreign { uid } => Err(LogError::NotOurs { session, uid }),
    }
}

/// The exclusive right to append to a log.
#[derive(Debug)]
pub struct Locked<'l> {
    log: &'l mut SessionLog,
    /// How long the file is, once caught up: while this is held nobody else appends.
    len: Option<u64>,
}

impl Locked<'_> {
    /// As [`SessionLog::catch_up_each`]; needed before [`Locked::append`] when others appended.
    ///
    /// # Errors
    /// As [`SessionLog::catch_up_each`].
    pub fn catch_up_each<E: From<LogError>>(
        &mut self,
        take: &mut impl FnMut(u64, &str) -> Result<(), E>,
    ) -> Result<(), E> {
        self.log.catch_up_each(take)?;
        self.len = self.log.end;
        Ok(())
    }

    /// As [`SessionLog::catch_up`].
    ///
    /// # Errors
    /// As [`SessionLog::catch_up`].
    pub fn catch_up(&mut self) -> Result<Vec<Payload>, LogError> {
        let payloads = self.log.catch_up()?;
        self.len = self.log.end;
        Ok(payloads)
    }

    /// Appends one line with a single write and returns its number; a torn tail is sealed by the same write. This handle's
    /// next `catch_up` does not return the line. Nothing is synced.
    ///
    /// # Errors
    /// [`LogError::Behind`] when something was appended that this handle has not read. After any other failure but
    /// [`LogError::Damaged`] the log can be used on: catch up, then append again.
    pub fn append(&mut self, payload: &str) -> Result<u64, LogError> {
        if self.log.read_only {
            return Err(LogError::from_io(&self.log.session, Errno::ROFS.into()));
        }
        let log = &mut *self.log;
        if memchr::memchr2(b'\n', CANCEL, payload.as_bytes()).is_some() {
            return Err(LogError::BadPayload { session: log.session.clone() });
        }
        let len = match self.len.take() {
            Some(len) => len,
            None => log.len()?,
        };
        if log.end != Some(len) {
            return Err(LogError::Behind { session: log.session.clone() });
        }
        let is_torn = len > log.at;
        let hash = log.chained(payload);
        let mut bytes = Vec::with_capacity(payload.len() + 70);
        if is_torn {
            bytes.extend(seal(len - log.at));
        }
        bytes.extend_from_slice(&hash.to_hex());
        bytes.push(b' ');
        bytes.extend_from_slice(payload.as_bytes());
        bytes.push(b'\n');
        log.write(&bytes)?;
        log.chain(hash);
        log.torn += u64::from(is_torn);
        log.lines += 1 + u64::from(is_torn);
        log.at = len + bytes.len() as u64;
        log.end = Some(log.at);
        Ok(log.lines)
    }
}

impl SessionLog {
    fn write(&mut self, bytes: &[u8]) -> Result<(), LogError> {
        let written = loop {
            match rustix::io::write(&self.file, bytes) {
                Err(Errno::INTR) => {}
                other => break other,
            }
        };
        match written {
            Ok(count) if count == bytes.len() => Ok(()),
            Ok(_) => {
                // A regular file takes less than all only when there is no room for more.
                self.end = None;
                Err(LogError::Full { session: self.session.clone() })
            }
            Err(errno) => Err(LogError::from_io(&self.session, errno.into())),
        }
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        // Closing the file would release it as well; there is nothing else to do about a failure.
        let _ = self.log.file.unlock();
    }
}

/// Why a log cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// It is not what was written.
    #[error(
        "the log of session `{session}` is damaged at line {line} (`{}`); the next read with it keeps the log as \
         evidence and begins anew", shown(.session)
    )]
    Damaged {
        /// Whose log.
        session: SessionName,
        /// The first line that does not fit.
        line: u64,
    },
    /// Another appends.
    #[error("the log of session `{session}` is locked by another process; try again, or start another session")]
    Busy {
        /// Whose log.
        session: SessionName,
    },
    /// The caller has not read what others appended.
    #[error("the log of session `{session}` grew since it was read; catch up before appending")]
    Behind {
        /// Whose log.
        session: SessionName,
    },
    /// It would be two lines, or look like a fragment.
    #[error("a payload for session `{session}` holds a line end or U+0018; escape it")]
    BadPayload {
        /// Whose log.
        session: SessionName,
    },
    /// Someone removed it or took it out of use.
    #[error("the log of session `{session}` was removed or taken out of use; try again: the session begins anew")]
    Gone {
        /// Whose log.
        session: SessionName,
    },
    /// A link could lead anywhere.
    #[error("`{}` is a symbolic link; remove it", shown(.session))]
    Link {
        /// Whose log.
        session: SessionName,
    },
    /// Something else has its name.
    #[error("`{}` is no regular file; move it away", shown(.session))]
    NotAFile {
        /// Whose log.
        session: SessionName,
    },
    /// Others can use it.
    #[error(
        "`{}` can be used by others (mode {mode:04o}), so nothing in it is trusted; if it is yours, run `chmod 600` on it, \
         else delete it", shown(.session)
    )]
    NotPrivate {
        /// Whose log.
        session: SessionName,
        /// Its permissions.
        mode: u32,
    },
    /// It is another user's.
    #[error("`{}` belongs to user {uid}, so nothing in it is trusted; delete it or run as that user", shown(.session))]
    NotOurs {
        /// Whose log.
        session: SessionName,
        /// Its owner.
        uid: u32,
    },
    /// More than is read at once.
    #[error("`{}` has {len} bytes, more than the {max} that are read; start another session", shown(.session))]
    TooLarge {
        /// Whose log.
        session: SessionName,
        /// Its bytes.
        len: u64,
        /// The cap.
        max: u64,
    },
    /// No space.
    #[error("there is no space left for the log of session `{session}`; free some and try again")]
    Full {
        /// Whose log.
        session: SessionName,
    },
    /// No writes.
    #[error(
        "the log of session `{session}` lies on a read-only file system; nothing is recorded until it can be written"
    )]
    ReadOnly {
        /// Whose log.
        session: SessionName,
    },
    /// Permissions.
    #[error("`{}` may not be used by this user; change its permissions", shown(.session))]
    Denied {
        /// Whose log.
        session: SessionName,
    },
    /// Anything else.
    #[error("`{}` cannot be used: {source}; try again or start another session", shown(.session))]
    Io {
        /// Whose log.
        session: SessionName,
        /// What the system said.
        source: io::Error,
    },
}

fn shown(session: &SessionName) -> String {
    format!("{STORE_NAME}/log/{session}.log")
}

impl LogError {
    fn from_io(session: &SessionName, source: io::Error) -> Self {
        let session = session.clone();
        match Fault::of(&source) {
            Fault::Missing | Fault::NotFolder => Self::Gone { session },
            Fault::LinkOut | Fault::LinkLoop => Self::Link { session },
            Fault::Denied => Self::Denied { session },
            Fault::ReadOnly => Self::ReadOnly { session },
            Fault::Full => Self::Full { session },
            Fault::TooLong | Fault::Other => Self::Io { session, source },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::Root;

    #[test]
    fn the_lock_excludes_others_and_ends() {
        let temp = tempfile::tempdir().unwrap();
        let store = Store::open(&Root::open(temp.path()).unwrap()).unwrap();
        let session = SessionName::parse("s").unwrap();
        let open = || SessionLog::open(&store, &session, Create::Yes).unwrap().unwrap();
        let (mut a, mut b) = (open(), open());
        let held = a.lock().unwrap();
        let error = b.lock_within(3).unwrap_err();
        assert!(matches!(error, LogError::Busy { .. }), "{error}");
        assert_eq!(b.catch_up().unwrap(), [], "reading needs no lock");
        drop(held);
        b.lock_within(1).unwrap();
    }

    #[test]
    fn only_a_whole_seal_seals() {
        for (body, expected) in [
            (&b"frag\x184\x18"[..], true),
            (b"\x180\x18", true),
            (b"ab\x18\x184\x18", false),
            (b"ab\x181\x184\x18", true),
            (b"frag\x183\x18", false),
            (b"frag\x1804\x18", false),
            (b"frag\x18+4\x18", false),
            (b"frag\x184", false),
            (b"frag4\x18", false),
            (b"\x18\x18", false),
            (b"\x18", false),
            (b"", false),
        ] {
            assert_eq!(is_sealed(body), expected, "{body:?}");
        }
    }
}
