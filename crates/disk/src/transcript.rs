//! A host's transcript: a file that a person named, outside any workspace. Opened read-only, without blocking; returns only
//! whole lines that were appended since the last call. Knows nothing about the content of the lines.

use std::{
    fs::{self, File, OpenOptions},
    io, mem,
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use rustix::{fs::OFlags, io::Errno};

use crate::{
    fault::Fault,
    snapshot::bytes::read_at,
    snapshot::{FileKind, MOST_BYTES},
};

/// How much one call reads, unless a single line is longer.
const CHUNK: u64 = 16 * 1024 * 1024;

/// How much is read to find the first line.
const HEAD: u64 = 64 * 1024;

/// How many bytes before the current position must be unchanged.
const REMEMBERED: usize = 64;

/// A transcript file and how far it was read.
#[derive(Debug)]
pub struct TranscriptFile {
    path: PathBuf,
    file: File,
    /// The largest file that is read.
    most: u64,
    /// Where the next whole line begins.
    at: u64,
    /// The last bytes before `at`: a file rewritten in place differs here.
    tail: Vec<u8>,
    /// Whether the file is not the one read before, and the caller was not told yet.
    anew: bool,
}

/// What [`TranscriptFile::appended`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Appended {
    /// No further whole line.
    Nothing,
    /// These lines; there may be more.
    More(Vec<u8>),
    /// The file shrank, was replaced or rewritten: what was read before no longer counts, and these are its first lines.
    Anew(Vec<u8>),
}

impl TranscriptFile {
    /// Opens a regular file of at most `most` bytes, and never more than 1 GiB.
    ///
    /// # Errors
    /// [`TranscriptError`] when it does not exist, is not a regular file or is too large.
    pub fn open(path: &Path, most: u64) -> Result<Self, TranscriptError> {
        let file = open(path, most.min(MOST_BYTES))?;
        Ok(Self { path: path.to_path_buf(), file, most: most.min(MOST_BYTES), at: 0, tail: Vec::new(), anew: false })
    }

    /// The first line, if it ends within 64 KiB; does not count as read.
    ///
    /// # Errors
    /// [`TranscriptError`] when the file cannot be read.
    pub fn first_line(&self) -> Result<Option<Vec<u8>>, TranscriptError> {
        let bytes = read_at(&self.file, 0, HEAD).map_err(|error| TranscriptError::from_io(&self.path, error))?;
        Ok(bytes.iter().position(|b| *b == b'\n').map(|end| bytes[..end].to_vec()))
    }

    /// The whole lines appended since the last call, at most 16 MiB of them unless one line is longer. A torn last line
    /// is left for a later call. Call it until it returns [`Appended::Nothing`].
    ///
    /// # Errors
    /// [`TranscriptError`] when the file cannot be read or has become too large.
    pub fn appended(&mut self) -> Result<Appended, TranscriptError> {
        if self.is_another()? {
            self.file = open(&self.path, self.most)?;
            (self.at, self.anew) = (0, true);
            self.tail.clear();
        }
        // Reported together with the lines: if this read fails, they must not look as if appended to the old file.
        let lines = self.next_lines()?;
        Ok(match (mem::take(&mut self.anew), lines.is_empty()) {
            (true, _) => Appended::Anew(lines),
            (false, true) => Appended::Nothing,
            (false, false) => Appended::More(lines),
        })
    }

    /// Bytes that were read before; `None` when they can no longer be read.
    #[must_use]
    pub fn again(&self, at: u64, len: usize) -> Option<Vec<u8>> {
        let mut bytes = read_at(&self.file, at, len as u64).ok()?;
        bytes.truncate(len);
        (bytes.len() == len).then_some(bytes)
    }

    /// Whether the name now leads to another file, or this file was rewritten.
    fn is_another(&self) -> Result<bool, TranscriptError> {
        let fail = |error| TranscriptError::from_io(&self.path, error);
        let (named, open) = (fs::metadata(&self.path).map_err(fail)?, self.file.metadata().map_err(fail)?);
        if (named.dev(), named.ino()) != (open.dev(), open.ino()) || open.len() < self.at {
            return Ok(true);
        }
        let from = self.at - self.tail.len() as u64;
        let mut found = read_at(&self.file, from, self.tail.len() as u64).map_err(fail)?;
        found.truncate(self.tail.len());
        Ok(found != self.tail)
    }

    fn next_lines(&mut self) -> Result<Vec<u8>, TranscriptError> {
        let fail = |error| TranscriptError::from_io(&self.path, error);
        let len = self.file.metadata().map_err(fail)?.len();
        if len > self.most {
            return Err(TranscriptError::TooLarge { path: self.path.clone(), len, max: self.most });
        }
        let rest = len.saturating_sub(self.at);
        let mut want = rest.min(CHUNK);
        loop {
            let mut bytes = read_at(&self.file, self.at, want).map_err(fail)?;
            let whole = bytes.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
            if whole == 0 && want < rest {
                want = rest.min(want.saturating_mul(4));
                continue;
            }
            bytes.truncate(whole);
            self.at += whole as u64;
            if whole > 0 {
                self.tail = bytes[whole.saturating_sub(REMEMBERED)..].to_vec();
            }
            return Ok(bytes);
        }
    }
}

/// The possible transcripts in a host's folder: `*.jsonl` in it and in its direct subfolders, sorted. None if there is no such
/// folder.
///
/// # Errors
/// [`TranscriptError`] when one of the folders cannot be listed.
pub fn transcripts_in(folder: &Path) -> Result<Vec<PathBuf>, TranscriptError> {
    let (mut found, mut folders) = look_into(folder)?;
    folders.sort();
    for folder in folders {
        found.extend(look_into(&folder)?.0);
    }
    found.sort();
    Ok(found)
}

/// The file that was changed last; none if none can be looked at.
#[must_use]
pub fn newest_file(files: &[PathBuf]) -> Option<PathBuf> {
    let changed = |file: &&PathBuf| fs::metadata(file).and_then(|found| found.modified()).ok();
    files.iter().filter(|file| changed(file).is_some()).max_by_key(changed).cloned()
}

/// Opens a recording of sessions, which a person named, with its size in bytes.
///
/// # Errors
/// [`TranscriptError`] when it does not exist, is not a regular file or is larger than 1 GiB.
pub fn open_recording(path: &Path) -> Result<(File, u64), TranscriptError> {
    let file = open(path, MOST_BYTES)?;
    let bytes = file.metadata().map_err(|error| TranscriptError::from_io(path, error))?.len();
    Ok((file, bytes))
}

/// The files in a folder of recordings, sorted.
///
/// # Errors
/// [`TranscriptError`] when there is no such folder, or it cannot be listed.
pub fn recordings_in(folder: &Path) -> Result<Vec<PathBuf>, TranscriptError> {
    let fail = |error| TranscriptError::from_io(folder, error);
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(fail)? {
        found.push(entry.map_err(fail)?.path());
    }
    found.retain(|path| path.is_file());
    found.sort();
    Ok(found)
}

/// How deep a host's folders are searched: year, month and day.
const DEPTH: u32 = 3;

/// The transcripts of a host whose names fit, sorted: those in the last folder, by name, that has any, as hosts name folders by
/// date. A folder that cannot be listed counts as empty.
#[must_use]
pub fn transcripts_named(folder: &Path, fits: &dyn Fn(&str) -> bool) -> Vec<PathBuf> {
    named(folder, fits, DEPTH)
}

fn named(folder: &Path, fits: &dyn Fn(&str) -> bool, depth: u32) -> Vec<PathBuf> {
    let Ok((mut files, mut folders)) = look_into(folder) else { return Vec::new() };
    files.retain(|file| file.file_name().and_then(|name| name.to_str()).is_some_and(fits));
    if !files.is_empty() || depth == 0 {
        files.sort();
        return files;
    }
    folders.sort();
    let found = folders.iter().rev().map(|folder| named(folder, fits, depth - 1));
    found.into_iter().find(|found| !found.is_empty()).unwrap_or_default()
}

/// The transcripts and the folders in a folder. Links are followed: a host's folder belongs to the user.
fn look_into(folder: &Path) -> Result<(Vec<PathBuf>, Vec<PathBuf>), TranscriptError> {
    let fail = |error| TranscriptError::from_io(folder, error);
    let (mut files, mut folders) = (Vec::new(), Vec::new());
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((files, folders)),
        other => other.map_err(fail)?,
    };
    for entry in entries {
        let path = entry.map_err(fail)?.path();
        if path.is_dir() {
            folders.push(path);
        } else if path.extension().is_some_and(|end| end == "jsonl") {
            files.push(path);
        }
    }
    Ok((files, folders))
}

fn open(path: &Path, most: u64) -> Result<File, TranscriptError> {
    // Non-blocking, as opening a FIFO would wait for a writer.
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(path);
    let file = opened.map_err(|error| match Errno::from_io_error(&error) {
        Some(Errno::NXIO) => TranscriptError::NotAFile { path: path.to_path_buf(), kind: FileKind::Socket },
        _ => TranscriptError::from_io(path, error),
    })?;
    let found = file.metadata().map_err(|error| TranscriptError::from_io(path, error))?;
    if let Some(kind) = FileKind::of(found.mode()) {
        return Err(TranscriptError::NotAFile { path: path.to_path_buf(), kind });
    }
    if found.len() > most {
        return Err(TranscriptError::TooLarge { path: path.to_path_buf(), len: found.len(), max: most });
    }
    Ok(file)
}

/// Why a transcript cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{self:?}")]
pub enum TranscriptError {
    Missing { path: PathBuf },
    Denied { path: PathBuf },
    NotAFile { path: PathBuf, kind: FileKind },
    TooLarge { path: PathBuf, len: u64, max: u64 },
    Io { path: PathBuf, source: io::Error },
}

impl TranscriptError {
    fn from_io(path: &Path, source: io::Error) -> Self {
        let path = path.to_path_buf();
        match Fault::of(&source) {
            Fault::Missing | Fault::NotFolder => Self::Missing { path },
            Fault::Denied => Self::Denied { path },
            Fault::LinkOut | Fault::LinkLoop | Fault::TooLong | Fault::ReadOnly | Fault::Full | Fault::Other => {
                Self::Io { path, source }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn append(path: &Path, more: &str) {
        OpenOptions::new().append(true).open(path).unwrap().write_all(more.as_bytes()).unwrap();
    }

    fn more(text: &str) -> Appended {
        Appended::More(text.as_bytes().to_vec())
    }

    #[test]
    fn only_whole_lines_and_each_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.jsonl");
        fs::write(&path, "a\nb\nto").unwrap();
        let mut file = TranscriptFile::open(&path, 1000).unwrap();
        assert_eq!(file.appended().unwrap(), more("a\nb\n"));
        assert_eq!(file.appended().unwrap(), Appended::Nothing);
        append(&path, "rn");
        assert_eq!(file.appended().unwrap(), Appended::Nothing);
        append(&path, "\nc\n");
        assert_eq!(file.appended().unwrap(), more("torn\nc\n"));
        assert_eq!(file.again(2, 6).unwrap(), b"b\ntorn");
        assert_eq!(file.again(10, 2), None);
    }

    #[test]
    fn another_file_is_read_from_its_start() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.jsonl");
        let anew = |text: &str| Appended::Anew(text.as_bytes().to_vec());
        fs::write(&path, "one\ntwo\n").unwrap();
        let mut file = TranscriptFile::open(&path, 1000).unwrap();
        file.appended().unwrap();
        fs::write(&path, "1\n").unwrap();
        assert_eq!(file.appended().unwrap(), anew("1\n"), "shrank");
        fs::write(&path, "rewritten in place\n").unwrap();
        assert_eq!(file.appended().unwrap(), anew("rewritten in place\n"));
        fs::write(dir.path().join("new"), "rewritten in place\nmore\n").unwrap();
        fs::rename(dir.path().join("new"), &path).unwrap();
        assert_eq!(file.appended().unwrap(), anew("rewritten in place\nmore\n"), "replaced");
        fs::write(&path, "").unwrap();
        assert_eq!(file.appended().unwrap(), anew(""));
        assert_eq!(file.appended().unwrap(), Appended::Nothing);
    }

    #[test]
    fn transcripts_are_found_one_folder_deep() {
        let dir = tempfile::tempdir().unwrap();
        let names = ["b.jsonl", "a.txt", "w/a.jsonl", "w/x/deep.jsonl"];
        fs::create_dir_all(dir.path().join("w/x")).unwrap();
        for name in names {
            fs::write(dir.path().join(name), "one\ntwo").unwrap();
        }
        let found = transcripts_in(dir.path()).unwrap();
        assert_eq!(found, ["b.jsonl", "w/a.jsonl"].map(|name| dir.path().join(name)));
        assert!(transcripts_in(&dir.path().join("none")).unwrap().is_empty());
        assert!(transcripts_in(&dir.path().join("a.txt")).is_err());
        let first = |path: &Path| TranscriptFile::open(path, 1000).unwrap().first_line().unwrap();
        assert_eq!(first(&found[0]).as_deref(), Some(&b"one"[..]));
        fs::write(&found[0], "torn").unwrap();
        assert_eq!(first(&found[0]), None);
    }

    #[test]
    fn only_regular_files_up_to_the_cap() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.jsonl");
        let refused = |path: &Path| TranscriptFile::open(path, 4).unwrap_err();
        assert!(matches!(refused(&path), TranscriptError::Missing { .. }));
        assert!(matches!(refused(dir.path()), TranscriptError::NotAFile { kind: FileKind::Directory, .. }));
        let fifo = dir.path().join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
        assert!(matches!(refused(&fifo), TranscriptError::NotAFile { kind: FileKind::Fifo, .. }));
        fs::write(&path, "12345").unwrap();
        assert!(matches!(refused(&path), TranscriptError::TooLarge { len: 5, max: 4, .. }));
        fs::write(&path, "1\n").unwrap();
        let mut file = TranscriptFile::open(&path, 4).unwrap();
        append(&path, "23\n");
        assert!(matches!(file.appended(), Err(TranscriptError::TooLarge { len: 5, .. })));
    }
}
