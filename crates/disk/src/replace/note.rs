//! What a writer leaves in the folder in case it is killed: which temporary file belongs to which name, and which content was
//! about to replace which. One small file of a fixed name is enough, as one writer at a time has the folder's turn. A note
//! counts only in the folder and under the inode it was made for, so one that came with a stranger's files is ignored. Never
//! follows a link.

use std::{
    fmt,
    fs::File,
    io::{self, Write},
    os::fd::{AsFd, BorrowedFd},
};

use readproof_core::text::{ContentHash, Text};
use rustix::{
    fs::{AtFlags, Mode, OFlags},
    io::Errno,
};

use super::temp::{is_ours, is_temporary};
use crate::{
    fault::missing_or,
    snapshot::spelling::on_disk,
    snapshot::{FileKind, MOST_BYTES, bytes::read_at},
    stores::{READ_FLAGS, STORE_NAME},
};

/// The fixed name of a note.
pub const NOTE: &str = ".readproof-turn";

/// How the first line of a note begins.
const HEAD: &str = "readproof-turn-1";

/// The longest note is smaller.
const NOTE_BYTES: u64 = 16 << 10;

/// A file is hashed in blocks of this size.
const BLOCK: usize = 64 << 10;

/// What a name holds, so far as needed to recognise it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// No file.
    Missing,
    /// A regular file with these bytes.
    Bytes(ContentHash),
    /// Something else, or a file that cannot be read.
    Other { mode: u32, ino: u64 },
}

/// Whether a file has exactly these bytes.
fn has_bytes(file: &File, bytes: &[u8]) -> Result<bool, Errno> {
    let (mut buffer, mut at) = (vec![0; BLOCK], 0);
    loop {
        let read = read_block(file, &mut buffer, at as u64)?;
        if read == 0 {
            return Ok(at == bytes.len());
        }
        if bytes.get(at..at + read) != Some(&buffer[..read]) {
            return Ok(false);
        }
        at += read;
    }
}

fn read_block(file: &File, buffer: &mut [u8], at: u64) -> Result<usize, Errno> {
    loop {
        match rustix::io::pread(file, &mut *buffer, at) {
            Err(Errno::INTR) => {}
            read => return read,
        }
    }
}

impl Content {
    /// Looks at a name without following a link.
    pub(crate) fn of(folder: BorrowedFd<'_>, name: &str) -> io::Result<Self> {
        Self::of_likely(folder, name, None)
    }

    /// The same where a file most likely has this text: that is compared, which is far quicker than to hash it.
    pub(crate) fn of_likely(folder: BorrowedFd<'_>, name: &str, likely: Option<&Text>) -> io::Result<Self> {
        let file = match rustix::fs::openat(folder, &*on_disk(name), READ_FLAGS, Mode::empty()) {
            Ok(fd) => File::from(fd),
            Err(Errno::NOENT) => return Ok(Self::Missing),
            Err(Errno::LOOP | Errno::NXIO) => return Self::by_stat(folder, name),
            Err(errno) => return Err(errno.into()),
        };
        let found = rustix::fs::fstat(&file)?;
        let len = u64::try_from(found.st_size).unwrap_or(u64::MAX);
        if FileKind::of(found.st_mode).is_some() || len > MOST_BYTES {
            return Ok(Self::Other { mode: found.st_mode, ino: found.st_ino });
        }
        if let Some(likely) = likely.filter(|likely| likely.as_str().len() as u64 == len)
            && has_bytes(&file, likely.as_str().as_bytes())?
        {
            return Ok(Self::Bytes(likely.hash()));
        }
        let mut at = 0;
        let hash = ContentHash::of_pieces(BLOCK, |buffer| -> Result<usize, Errno> {
            let read = read_block(&file, buffer, at)?;
            at += read as u64;
            Ok(read)
        })?;
        Ok(Self::Bytes(hash))
    }

    /// The same for anything: what cannot be read is recognised by its inode.
    pub(crate) fn of_anything(folder: BorrowedFd<'_>, name: &str) -> io::Result<Self> {
        Self::of_anything_likely(folder, name, None)
    }

    /// As [`Self::of_anything`] and [`Self::of_likely`].
    pub(crate) fn of_anything_likely(folder: BorrowedFd<'_>, name: &str, likely: Option<&Text>) -> io::Result<Self> {
        Self::of_likely(folder, name, likely).or_else(|_| Self::by_stat(folder, name))
    }

    fn by_stat(folder: BorrowedFd<'_>, name: &str) -> io::Result<Self> {
        let found = missing_or(rustix::fs::statat(folder, &*on_disk(name), AtFlags::SYMLINK_NOFOLLOW))?;
        Ok(found.map_or(Self::Missing, |found| Self::Other { mode: found.st_mode, ino: found.st_ino }))
    }

    fn parse(text: &str) -> Option<Self> {
        match text.split_once(':') {
            Some(("bytes", hash)) => ContentHash::parse(hash).map(Self::Bytes),
            Some(("other", rest)) => {
                let (mode, ino) = rest.split_once(':')?;
                Some(Self::Other { mode: mode.parse().ok()?, ino: ino.parse().ok()? })
            }
            Some(_) | None => (text == "none").then_some(Self::Missing),
        }
    }
}

impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("none"),
            Self::Bytes(hash) => write!(f, "bytes:{hash}"),
            Self::Other { mode, ino } => write!(f, "other:{mode}:{ino}"),
        }
    }
}

/// One announced exchange of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exchange {
    /// What moves from the temporary name to the name.
    pub(crate) put: Content,
    /// What is expected under the name.
    pub(crate) over: Content,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Note {
    pub(crate) temp: String,
    /// The name that is being written.
    pub(crate) base: String,
    /// The hash of the new text.
    pub(crate) new: ContentHash,
    /// The exchange that was announced last.
    pub(crate) step: Option<Exchange>,
}

/// What was found under the note's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Nothing,
    /// Not a note of this user; it is left alone.
    NotOurs,
    /// A note from elsewhere, or one whose first line is incomplete, so that its temporary file was not created yet.
    Worthless,
    Note(Note),
}

impl Found {
    pub(crate) fn read(folder: BorrowedFd<'_>) -> Self {
        let file = match rustix::fs::openat(folder, NOTE, READ_FLAGS, Mode::empty()) {
            Ok(fd) => File::from(fd),
            Err(Errno::NOENT) => return Self::Nothing,
            Err(_) => return Self::NotOurs,
        };
        let (Ok(found), Ok(around)) = (rustix::fs::fstat(&file), rustix::fs::fstat(folder)) else {
            return Self::NotOurs;
        };
        let len = u64::try_from(found.st_size).unwrap_or(u64::MAX);
        let is_ours = found.st_uid == rustix::process::geteuid().as_raw() && found.st_nlink <= 1;
        if FileKind::of(found.st_mode).is_some() || !is_ours || len > NOTE_BYTES {
            return Self::NotOurs;
        }
        let Ok(bytes) = read_at(&file, 0, NOTE_BYTES) else { return Self::NotOurs };
        let text = String::from_utf8_lossy(&bytes);
        match Note::parse(&text, (around.st_ino, found.st_ino)) {
            Some(note) if found.st_mode & 0o077 == 0 => Self::Note(note),
            Some(_) | None => Self::Worthless,
        }
    }
}

impl Note {
    fn parse(text: &str, (folder, note): (u64, u64)) -> Option<Self> {
        let mut lines = text.split_inclusive('\n').map_while(|line| line.strip_suffix('\n'));
        let words: Vec<&str> = lines.next()?.split(' ').collect();
        let [HEAD, in_folder, as_note, temp, new, base] = words[..] else { return None };
        if (in_folder.parse(), as_note.parse()) != (Ok(folder), Ok(note)) {
            return None;
        }
        let base = from_hex(base)?;
        let plain = !matches!(&*base, "" | "." | "..") && !base.contains(['/', '\0']);
        let kept = [STORE_NAME, ".git"].iter().any(|name| base.eq_ignore_ascii_case(name));
        if !plain || kept || is_ours(&base) || !is_temporary(temp) {
            return None;
        }
        let step = |line: &str| {
            let (put, over) = line.strip_prefix("step ")?.split_once(' ')?;
            Some(Exchange { put: Content::parse(put)?, over: Content::parse(over)? })
        };
        // Nothing was done about a torn line.
        let step = lines.filter_map(step).last();
        Some(Self { temp: temp.to_owned(), base, new: ContentHash::parse(new)?, step })
    }

    /// Whether this is about the file of that name. Names that some file systems treat as equal count as equal.
    pub(crate) fn is_about(&self, base: &str) -> bool {
        self.base == base || self.base.to_lowercase() == base.to_lowercase()
    }
}

/// The note of the current turn.
pub(crate) struct Open {
    file: File,
}

impl Open {
    /// Creates the note; fails if its name is taken.
    pub(crate) fn create(folder: BorrowedFd<'_>, temp: &str, base: &str, new: ContentHash) -> io::Result<Self> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::APPEND | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::openat(folder, NOTE, flags, Mode::RUSR | Mode::WUSR)?);
        let written = (|| {
            let (around, own) = (rustix::fs::fstat(folder)?.st_ino, rustix::fs::fstat(&file)?.st_ino);
            let line = format!("{HEAD} {around} {own} {temp} {new} {}\n", to_hex(base));
            (&file).write_all(line.as_bytes())
        })();
        match written {
            Ok(()) => Ok(Self { file }),
            Err(error) => {
                remove(folder)?;
                Err(error)
            }
        }
    }

    /// Announces the next exchange, in one write; on a new line, whatever was torn before.
    pub(crate) fn step(&self, step: Exchange) -> io::Result<()> {
        (&self.file).write_all(format!("\nstep {} {}\n", step.put, step.over).as_bytes())
    }
}

/// Opens an existing note, to continue it.
pub(crate) fn reopen(folder: BorrowedFd<'_>) -> io::Result<Open> {
    let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::APPEND | OFlags::CLOEXEC;
    Ok(Open { file: rustix::fs::openat(folder, NOTE, flags, Mode::empty())?.into() })
}

pub(crate) fn remove(folder: BorrowedFd<'_>) -> io::Result<()> {
    missing_or(rustix::fs::unlinkat(folder.as_fd(), NOTE, AtFlags::empty()))?;
    Ok(())
}

pub(super) fn to_hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

pub(super) fn from_hex(hex: &str) -> Option<String> {
    let digits = hex.as_bytes().chunks(2);
    let byte = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).ok().filter(|pair| pair.len() == 2)?, 16).ok();
    String::from_utf8(digits.map(byte).collect::<Option<_>>()?).ok()
}
