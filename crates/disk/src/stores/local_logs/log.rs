//! One log as a file of hash-chained lines: `<64 hex> <payload>\n`, the hash being that of the previous line's hash and the
//! payload. Verifies every line it returns. Never rewrites, truncates or repairs the file, and never looks into a payload.

use std::{
    fs::{File, Metadata},
    ops::ControlFlow,
    os::{fd::OwnedFd, unix::fs::MetadataExt},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use readproof_core::text::ContentHash;
use rustix::{
    fs::{AtFlags, OFlags, RenameFlags},
    io::Errno,
};

use super::super::{
    Log, LogError, LogId, LogName,
    local_leases::{LockError, lock},
    local_store::Privacy,
    logs::TakeLine,
};
use crate::{
    snapshot::bytes::read_at,
    snapshot::{Extent, FileKind, MOST_BYTES},
};

/// How much of a log is read at a time.
const BLOCK_BYTES: u64 = 64 * 1024;

/// What a writer puts around the length of a torn tail before it ends that line: U+0018, CANCEL. Payloads cannot hold it,
/// and one altered byte cannot make two of it, so a line sealed like that is a fragment and nothing else.
const CANCEL: u8 = 0x18;

/// An open file and how far it has been read.
#[derive(Debug)]
pub(super) struct LocalLog {
    log: LogName,
    id: LogId,
    /// The name of its file until it is published.
    draft: Option<String>,
    file: File,
    /// Opened only to be read, as its file system cannot be written.
    read_only: bool,
    folder: Arc<OwnedFd>,
    folder_synced: AtomicBool,
    /// Where the last line that was taken or written ends.
    at: u64,
    /// How long the file was then; beyond `at` lies a torn tail. `None`: it must be read again before an append.
    end: Option<u64>,
    /// The hash in the last good line.
    last: [u8; 32],
    lines: u64,
    torn: u64,
    /// The line at which it was found to be damaged.
    damaged: Option<u64>,
    /// It is only read, whether it is in use or not.
    is_evidence: bool,
}

/// What a whole line is.
enum Line<'b> {
    Good(ContentHash, &'b str),
    /// What a failed write left.
    Fragment,
}

impl LocalLog {
    pub(super) fn new(folder: &Arc<OwnedFd>, log: &LogName, file: File) -> Result<Self, LogError> {
        let found = file.metadata().map_err(|error| LogError::from_io(log, error))?;
        check_private(log, &found)?;
        Ok(Self {
            log: log.clone(),
            id: LogId::at((found.dev(), found.ino())),
            draft: None,
            read_only: rustix::fs::fcntl_getfl(&file).is_ok_and(|flags| !flags.contains(OFlags::RDWR)),
            file,
            folder: Arc::clone(folder),
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

    pub(super) fn into_draft(self, name: String) -> Self {
        Self { draft: Some(name), ..self }
    }

    pub(super) fn into_evidence(self) -> Self {
        Self { is_evidence: true, ..self }
    }

    /// The length of a log that can be used.
    fn len(&mut self) -> Result<u64, LogError> {
        if let Some(line) = self.damaged {
            return Err(self.damage(line));
        }
        let found = Extent::of(&self.file).map_err(|error| LogError::from_io(&self.log, error))?;
        if !self.is_evidence && !is_in_use(found.nlink, found.mode) {
            return Err(LogError::Gone { log: self.log.clone() });
        }
        if found.len < self.at {
            return Err(self.damage(self.lines));
        }
        Ok(found.len)
    }

    /// Takes the whole lines of these bytes; gives how many bytes they are, and whether to go on.
    fn take_lines(&mut self, bytes: &[u8], take: TakeLine<'_>) -> Result<(usize, ControlFlow<()>), LogError> {
        let mut from = 0;
        for end in memchr::memchr_iter(b'\n', bytes) {
            match self.read(&bytes[from..end])? {
                Line::Good(_, text) if take(self.lines + 1, text).is_break() => {
                    return Ok((from, ControlFlow::Break(())));
                }
                Line::Good(hash, _) => self.chain(hash),
                Line::Fragment => self.torn += 1,
            }
            self.lines += 1;
            self.at += (end + 1 - from) as u64;
            from = end + 1;
        }
        Ok((from, ControlFlow::Continue(())))
    }

    fn read<'b>(&mut self, body: &'b [u8]) -> Result<Line<'b>, LogError> {
        if let Some((hash, text)) = self.verified(body) {
            return Ok(Line::Good(hash, text));
        }
        if is_sealed(body) {
            return Ok(Line::Fragment);
        }
        Err(self.damage(self.lines + 1))
    }

    fn verified<'b>(&self, body: &'b [u8]) -> Option<(ContentHash, &'b str)> {
        let (hex, text) = str::from_utf8(body).ok()?.split_once(' ')?;
        let hash = self.chained(text);
        (hex.as_bytes() == hash.to_hex()).then_some((hash, text))
    }

    /// The chain goes on from here.
    fn chain(&mut self, hash: ContentHash) {
        self.id.note(hash);
        self.last = *hash.as_bytes();
    }

    fn chained(&self, payload: &str) -> ContentHash {
        ContentHash::of_parts(&[&self.last, payload.as_bytes()])
    }

    fn damage(&mut self, line: u64) -> LogError {
        self.damaged = Some(line);
        LogError::Damaged { log: self.log.clone(), line }
    }

    /// One line by a single write, which also seals a torn tail. The file is locked meanwhile.
    fn append_locked(&mut self, payload: &str) -> Result<u64, LogError> {
        let len = self.len()?;
        if self.end != Some(len) {
            return Err(LogError::Behind { log: self.log.clone() });
        }
        let is_torn = len > self.at;
        let hash = self.chained(payload);
        let mut bytes = Vec::with_capacity(payload.len() + 70);
        if is_torn {
            bytes.extend(seal(len - self.at));
        }
        bytes.extend_from_slice(&hash.to_hex());
        bytes.push(b' ');
        bytes.extend_from_slice(payload.as_bytes());
        bytes.push(b'\n');
        self.write(&bytes)?;
        self.chain(hash);
        self.torn += u64::from(is_torn);
        self.lines += 1 + u64::from(is_torn);
        self.at = len + bytes.len() as u64;
        self.end = Some(self.at);
        Ok(self.lines)
    }

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
                // A regular file accepts less than everything only when there is no space for more.
                self.end = None;
                Err(LogError::Full { log: self.log.clone() })
            }
            Err(errno) => Err(LogError::from_io(&self.log, errno.into())),
        }
    }
}

impl Log for LocalLog {
    fn id(&self) -> LogId {
        self.id
    }

    fn lines(&self) -> u64 {
        self.lines
    }

    fn torn(&self) -> u64 {
        self.torn
    }

    fn is_out_of_use(&self) -> bool {
        Extent::of(&self.file).is_ok_and(|found| !is_in_use(found.nlink, found.mode))
    }

    /// What follows the last line end is ignored: its writer is not done, or died. Costs one `fstat` when nothing is new.
    fn catch_up_each(&mut self, take: TakeLine<'_>) -> Result<(), LogError> {
        let len = self.len()?;
        if self.end == Some(len) {
            return Ok(());
        }
        if len - self.at > MOST_BYTES {
            return Err(LogError::TooLarge { log: self.log.clone(), len, max: MOST_BYTES });
        }
        self.end = None;
        // Block by block: memory for a whole log costs more than reading it.
        let (mut rest, mut at) = (Vec::new(), self.at);
        while at < len {
            // Only what the stat knew of: a byte beyond would belong to a write that is not done.
            let want = (len - at).min(BLOCK_BYTES);
            let read = read_at(&self.file, at, want).map_err(|error| LogError::from_io(&self.log, error))?;
            let block = &read[..read.len().min(usize::try_from(want).unwrap_or(usize::MAX))];
            if block.is_empty() {
                break;
            }
            at += block.len() as u64;
            rest.extend_from_slice(block);
            let (used, on) = self.take_lines(&rest, take)?;
            if on.is_break() {
                return Ok(());
            }
            rest.drain(..used);
        }
        self.end = Some(at);
        Ok(())
    }

    fn append(&mut self, payload: &str) -> Result<u64, LogError> {
        if self.read_only {
            return Err(LogError::from_io(&self.log, Errno::ROFS.into()));
        }
        if memchr::memchr2(b'\n', CANCEL, payload.as_bytes()).is_some() {
            return Err(LogError::BadPayload { log: self.log.clone() });
        }
        match lock(&self.file) {
            Ok(()) => {}
            Err(LockError::Busy) => return Err(LogError::Busy { log: self.log.clone() }),
            Err(LockError::Io(error)) => return Err(LogError::from_io(&self.log, error)),
        }
        let appended = self.append_locked(payload);
        // Closing the file would release it as well; there is nothing else to do about a failure.
        let _ = self.file.unlock();
        appended
    }

    fn sync(&self) -> Result<(), LogError> {
        let fail = |errno: Errno| LogError::from_io(&self.log, errno.into());
        rustix::fs::fdatasync(&self.file).map_err(fail)?;
        if !self.folder_synced.load(Ordering::Relaxed) {
            // The log may be new, and its name is in the folder.
            rustix::fs::fsync(&self.folder).map_err(fail)?;
            self.folder_synced.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    fn publish(&mut self) -> Result<bool, LogError> {
        let Some(draft) = self.draft.take() else { return Ok(true) };
        let (name, flags) = (self.log.file(), RenameFlags::NOREPLACE);
        let named = rustix::fs::renameat_with(&self.folder, &draft, &self.folder, &name, flags);
        if named.is_err() {
            // Left behind, it would only take space.
            let _ = rustix::fs::unlinkat(&self.folder, &draft, AtFlags::empty());
        }
        match named {
            Ok(()) => self.sync().map(|()| true),
            Err(Errno::EXIST) => Ok(false),
            Err(errno) => Err(LogError::from_io(&self.log, errno.into())),
        }
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

/// Neither deleted nor marked as out of use.
fn is_in_use(nlink: u64, mode: u32) -> bool {
    nlink > 0 && mode & 0o200 != 0
}

fn check_private(log: &LogName, found: &Metadata) -> Result<(), LogError> {
    let log = log.clone();
    if FileKind::of(found.mode()).is_some() {
        return Err(LogError::NotAFile { log });
    }
    match Privacy::of(found.mode(), found.uid()) {
        Privacy::Private => Ok(()),
        Privacy::Open { mode } => Err(LogError::NotPrivate { log, mode }),
        Privacy::Foreign { uid } => Err(LogError::NotOurs { log, uid }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
