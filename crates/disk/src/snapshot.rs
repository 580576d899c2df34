//! The one read of a file: its bytes, read once, with their stat. Never blocks on anything but a regular file, never reads
//! more than one byte beyond the limit, never mixes bytes of two states of a file that the stat can tell apart.

pub(crate) mod bytes;
mod folder;
pub(crate) mod spelling;
mod stream;
pub(crate) mod times;
mod view;
mod watch;

pub use folder::{EntryKind, Folder, Small};
pub use stream::{Found, Stream};
pub use view::{KnownBy, View};
pub use watch::{
    Happened, MOST_NAMES, NameWatch, NoWatch, Stop, Stopper, Waiting, Watch, Woken, input_is_closed_at_last,
};

use std::{fmt, fs::File, io, time::SystemTime};

use readproof_core::text::{NotText, Text};
use rustix::{
    fs::{FileType, OFlags},
    io::Errno,
};

use crate::{
    fault::Fault,
    locate::{FileId, FileRef, Opened},
    policy::Refusal,
    replace::turn::{Links, Settled},
    root::Root,
    snapshot::spelling::on_disk,
};
use bytes::read_at;

/// No larger file is read, whatever the rules say: line offsets have 32 bits.
pub const MOST_BYTES: u64 = 1 << 30;

/// No file system has coarser timestamps.
const TICK_NS: i128 = 2_000_000_000;

/// How a file of the workspace is opened: non-blocking, or opening a FIFO would wait for a writer.
pub(crate) const TO_READ: OFlags = OFlags::NONBLOCK.union(OFlags::NOCTTY);

/// How often a file that changes during the read is read before giving up.
const ATTEMPTS: usize = 3;

/// How often a link that changes while it is followed is followed again.
const TURNS: usize = 10;

/// The text of one file as it was at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    pub text: Text,
    /// The same before and after the read.
    pub stat: Stat,
    /// The names that links led through, last the one it was opened by; empty when no part of its name is a link.
    pub led: Vec<String>,
    /// What the text was decoded from; `None` if the text is the file's bytes.
    pub view: Option<View>,
}

/// What an index keeps of a stat.
pub type Stamp = [u8; 40];

/// What the file system says about a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    pub len: u64,
    /// When its bytes last changed, in nanoseconds since 1970.
    pub mtime_ns: i64,
    /// When its bytes or metadata last changed, in nanoseconds since 1970.
    pub ctime_ns: i64,
    pub dev: u64,
    pub ino: u64,
    pub nlink: u64,
    /// Type and permissions.
    pub mode: u32,
}

impl Stat {
    /// By a plain `fstat`, which costs half as much as the `statx` in [`File::metadata`].
    pub(crate) fn of(open: &File) -> io::Result<Self> {
        Ok(Self::from(rustix::fs::fstat(open)?))
    }

    /// What an index keeps of it: a file with the same stamp is unchanged, if the stat [tells](Self::tells).
    #[must_use]
    pub fn stamp(&self) -> Stamp {
        let numbers = [self.len, self.mtime_ns.cast_unsigned(), self.ctime_ns.cast_unsigned(), self.dev, self.ino];
        let mut stamp = [0; 40];
        for (place, number) in stamp.chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        stamp
    }

    /// Whether it is of a regular file; not of a folder or a link that has its name.
    #[must_use]
    pub fn is_file(&self) -> bool {
        FileKind::of(self.mode).is_none()
    }

    /// Whether it is of a folder.
    #[must_use]
    pub fn is_folder(&self) -> bool {
        FileKind::of(self.mode) == Some(FileKind::Directory)
    }

    /// Whether a file with the same stat has the same bytes. Not if the file changed so recently that another change within
    /// the same tick of the file system's clock would go unnoticed.
    #[must_use]
    pub fn tells(&self) -> bool {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
        i128::from(self.ctime_ns.max(self.mtime_ns)) + TICK_NS < i128::try_from(now).unwrap_or(0)
    }
}

impl From<rustix::fs::Stat> for Stat {
    #[allow(clippy::useless_conversion, reason = "the widths differ between systems")]
    fn from(found: rustix::fs::Stat) -> Self {
        let ns = |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
        Self {
            len: u64::try_from(found.st_size).unwrap_or(u64::MAX),
            mtime_ns: ns(found.st_mtime, i64::try_from(found.st_mtime_nsec).unwrap_or(0)),
            ctime_ns: ns(found.st_ctime, i64::try_from(found.st_ctime_nsec).unwrap_or(0)),
            dev: found.st_dev.into(),
            ino: found.st_ino.into(),
            nlink: found.st_nlink.into(),
            mode: found.st_mode.into(),
        }
    }
}

/// How long a file of the store is, and whether it still has a name.
pub(crate) struct Extent {
    pub(crate) len: u64,
    pub(crate) nlink: u64,
    pub(crate) mode: u32,
}

impl Extent {
    /// Does not ask for times: then the kernel would keep them exactly, and the next append would have to write the inode.
    #[cfg(target_os = "linux")]
    pub(crate) fn of(file: &File) -> io::Result<Self> {
        use rustix::fs::{AtFlags, StatxFlags};
        let asked = StatxFlags::SIZE | StatxFlags::NLINK | StatxFlags::MODE;
        match rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, asked) {
            Ok(found) => Ok(Self { len: found.stx_size, nlink: found.stx_nlink.into(), mode: found.stx_mode.into() }),
            Err(Errno::NOSYS) => Stat::of(file).map(Self::from),
            Err(errno) => Err(errno.into()),
        }
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn of(file: &File) -> io::Result<Self> {
        Stat::of(file).map(Self::from)
    }
}

impl From<Stat> for Extent {
    fn from(found: Stat) -> Self {
        Self { len: found.len, nlink: found.nlink, mode: found.mode }
    }
}

/// What may be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotRules {
    /// The largest file, at most [`MOST_BYTES`].
    pub max_bytes: u64,
    pub hard_links: HardLinks,
}

/// Whether a file with several names may be used: another name may be sensitive or lie outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HardLinks {
    Allow,
    Refuse,
}

/// What a name leads to when it is not a regular file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    Directory,
    Fifo,
    Socket,
    CharDevice,
    BlockDevice,
    Link,
    Unknown,
}

impl FileKind {
    /// `None` for a regular file.
    pub(crate) fn of(mode: u32) -> Option<Self> {
        match FileType::from_raw_mode(mode) {
            FileType::RegularFile => None,
            FileType::Directory => Some(Self::Directory),
            FileType::Fifo => Some(Self::Fifo),
            FileType::Socket => Some(Self::Socket),
            FileType::CharacterDevice => Some(Self::CharDevice),
            FileType::BlockDevice => Some(Self::BlockDevice),
            FileType::Symlink => Some(Self::Link),
            FileType::Unknown => Some(Self::Unknown),
        }
    }
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Directory => "a directory",
            Self::Fifo => "a named pipe",
            Self::Socket => "a socket",
            Self::CharDevice => "a character device",
            Self::BlockDevice => "a block device",
            Self::Link => "a symbolic link",
            Self::Unknown => "of an unknown kind",
        })
    }
}

impl Root {
    /// Reads a file. If it does not change meanwhile, this costs `openat2`, `fstat`, one read, `fstat` and `close`, and no copy
    /// of the bytes.
    ///
    /// # Errors
    /// [`SnapshotError`] when it is not a regular file, not text, too large, gone, or changes during every attempt.
    pub fn snapshot(&self, file: &FileRef, rules: &SnapshotRules) -> Result<Snapshot, SnapshotError> {
        self.snapshot_opened(file, None, None, rules)
    }

    /// The stat of a name that a walk has met. Opens nothing, and follows no link at its end.
    #[must_use]
    pub fn glance(&self, name: &str) -> Option<Stat> {
        rustix::fs::statat(&self.dir, &*on_disk(name), rustix::fs::AtFlags::SYMLINK_NOFOLLOW).ok().map(Stat::from)
    }

    /// As [`Root::snapshot`], of a file that [`Root::locate_open`] may have opened already. If it still has the text `known`,
    /// byte for byte, that text is returned and nothing is hashed.
    ///
    /// # Errors
    /// As [`Root::snapshot`].
    pub fn snapshot_opened(
        &self,
        file: &FileRef,
        opened: Option<Opened>,
        known: Option<Text>,
        rules: &SnapshotRules,
    ) -> Result<Snapshot, SnapshotError> {
        let mut opened = opened;
        for _ in 0..ATTEMPTS {
            // Opened again each time: the file may have been replaced rather than rewritten.
            let Some((open, led)) = self.open_settled(file, opened.take())? else { continue };
            if let Some((bytes, stat)) = read_once(&open, file.name(), rules, |_| {})?
                && !self.is_unlinked(file, &stat)
            {
                self.admit_size(file, stat.len)?;
                let same = known.filter(|known| known.as_str().as_bytes() == bytes);
                return match same.map_or_else(|| Text::from_bytes(bytes), Ok) {
                    Ok(text) => Ok(Snapshot { text, stat, led, view: None }),
                    Err(why) => Err(SnapshotError::NotText { name: file.name().to_owned(), why }),
                };
            }
        }
        Err(SnapshotError::Changing { name: file.name().to_owned() })
    }

    /// As [`Root::snapshot`], but the bytes need not be text, and a name that became a link meanwhile is not followed.
    pub(crate) fn snapshot_bytes(
        &self,
        file: &FileRef,
        rules: &SnapshotRules,
    ) -> Result<(Vec<u8>, Stat), SnapshotError> {
        for _ in 0..ATTEMPTS {
            let (open, links) = match self.open_without_links(file) {
                Ok(opened) => (opened.file, Links::None),
                Err(Errno::LOOP) => continue,
                Err(_) => (self.open_to_read(file)?.0, Links::Perhaps),
            };
            if self.settled(file, links)? == Settled::Anew {
                continue;
            }
            if let Some(read) = read_once(&open, file.name(), rules, |_| {})?
                && !self.is_unlinked(file, &read.1)
            {
                return Ok(read);
            }
        }
        Err(SnapshotError::Changing { name: file.name().to_owned() })
    }

    /// Opens a file, following links, and returns the names they led through. The last is the name that was opened, and no
    /// part of it is a link: switching a link meanwhile cannot make us open one file and judge another name.
    pub(crate) fn open_to_read(&self, file: &FileRef) -> Result<(File, Vec<String>), SnapshotError> {
        let fail = |errno: Errno| match errno {
            Errno::NXIO => SnapshotError::NotAFile { name: file.name().to_owned(), kind: self.kind_of(file) },
            other => SnapshotError::from_io(file.name(), other.into()),
        };
        match self.open_without_links(file) {
            Ok(opened) => return Ok((opened.file, Vec::new())),
            // A link, or no `openat2`.
            Err(Errno::LOOP | Errno::AGAIN | Errno::NOSYS | Errno::PERM) => {}
            Err(errno) => return Err(fail(errno)),
        }
        for _ in 0..TURNS {
            let led = self.follow(file.name()).map_err(|error| SnapshotError::from_io(file.name(), error))?;
            if let Some(refusal) = led.iter().find_map(|name| self.refusal(name)) {
                let name = file.name().to_owned();
                return Err(SnapshotError::Refused(Box::new(Refusal { name, ..refusal })));
            }
            match self.open_exactly(led.last().map_or(file.name(), String::as_str)) {
                Ok(open) => return Ok((open, led)),
                // A part became a link, or is no longer a folder.
                Err(Errno::LOOP | Errno::AGAIN) => {}
                Err(errno) => return Err(fail(errno)),
            }
        }
        Err(SnapshotError::Changing { name: file.name().to_owned() })
    }

    /// The same, or what was opened already. `None`: a killed writer's work was put right meanwhile; open it again.
    pub(crate) fn open_settled(
        &self,
        file: &FileRef,
        opened: Option<Opened>,
    ) -> Result<Option<(File, Vec<String>)>, SnapshotError> {
        let by_name = opened.map(|opened| (opened.file, Vec::new()));
        let (open, led) = by_name.map_or_else(|| self.open_to_read(file), Ok)?;
        let settled = self.settled(file, Links::unless(led.is_empty()))?;
        Ok((settled != Settled::Anew).then_some((open, led)))
    }

    /// Whether the file has lost its name since it was opened: then it may be a write that was undone. On file systems that
    /// do not count links, the name is looked up.
    pub(crate) fn is_unlinked(&self, file: &FileRef, stat: &Stat) -> bool {
        let now = FileId { dev: stat.dev, ino: stat.ino };
        stat.nlink == 0 && self.file_id(file) != Some(now)
    }

    /// Whether a file of this size may be used.
    pub(crate) fn admit_size(&self, file: &FileRef, bytes: u64) -> Result<(), SnapshotError> {
        match self.refusal_of_size(file.name(), bytes) {
            Some(refusal) => Err(SnapshotError::Refused(Box::new(refusal))),
            None => Ok(()),
        }
    }

    /// The kind of a file that cannot even be opened: a socket, or a device without a driver.
    fn kind_of(&self, file: &FileRef) -> FileKind {
        use cap_std::fs::MetadataExt;
        let found = self.dir.metadata(&*on_disk(file.name())).ok();
        found.and_then(|found| FileKind::of(found.mode())).unwrap_or(FileKind::Unknown)
    }
}

/// The moments at which a test changes the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Sized,
    Read,
}

/// One attempt. `None`: the file changed meanwhile. `at` is called between the system calls, for the tests below.
fn read_once(
    open: &File,
    name: &str,
    rules: &SnapshotRules,
    mut at: impl FnMut(Step),
) -> Result<Option<(Vec<u8>, Stat)>, SnapshotError> {
    let io = |error| SnapshotError::from_io(name, error);
    let before = Stat::of(open).map_err(io)?;
    check(&before, name, rules)?;
    at(Step::Sized);
    let bytes = read_at(open, 0, before.len).map_err(io)?;
    at(Step::Read);
    let after = Stat::of(open).map_err(io)?;
    // A rewrite of equal length within one tick of the file system's clock goes unnoticed; text and hash still agree.
    let times = |stat: &Stat| (stat.len, stat.mtime_ns, stat.ctime_ns);
    let unchanged = times(&before) == times(&after) && bytes.len() as u64 == before.len;
    Ok(unchanged.then_some((bytes, after)))
}

fn check(stat: &Stat, name: &str, rules: &SnapshotRules) -> Result<(), SnapshotError> {
    let name = || name.to_owned();
    if let Some(kind) = FileKind::of(stat.mode) {
        return Err(SnapshotError::NotAFile { name: name(), kind });
    }
    if stat.nlink > 1 && rules.hard_links == HardLinks::Refuse {
        return Err(SnapshotError::HardLinked { name: name(), links: stat.nlink });
    }
    let max = rules.max_bytes.min(MOST_BYTES);
    if stat.len > max {
        return Err(SnapshotError::TooLarge { name: name(), len: stat.len, max });
    }
    Ok(())
}

/// Why there is no snapshot. `name` is the key.
#[derive(Debug, thiserror::Error)]
#[error("{self:?}")]
pub enum SnapshotError {
    Missing {
        name: String,
    },
    LinkOut {
        name: String,
    },
    LinkLoop {
        name: String,
    },
    Denied {
        name: String,
    },
    /// The guard of the root does not let it through.
    Refused(Box<Refusal>),
    NotAFile {
        name: String,
        kind: FileKind,
    },
    HardLinked {
        name: String,
        links: u64,
    },
    TooLarge {
        name: String,
        len: u64,
        max: u64,
    },
    Changing {
        name: String,
    },
    Ours {
        name: String,
    },
    Busy {
        name: String,
    },
    /// A killed writer's work can neither be finished nor undone.
    Unrestored {
        name: String,
        source: io::Error,
    },
    NotText {
        name: String,
        why: NotText,
    },
    Io {
        name: String,
        source: io::Error,
    },
}

impl SnapshotError {
    pub(crate) fn from_io(name: &str, source: io::Error) -> Self {
        let name = name.to_owned();
        match Fault::of(&source) {
            Fault::Missing | Fault::NotFolder => Self::Missing { name },
            Fault::LinkOut => Self::LinkOut { name },
            Fault::LinkLoop => Self::LinkLoop { name },
            Fault::Denied => Self::Denied { name },
            Fault::TooLong | Fault::ReadOnly | Fault::Full | Fault::Other => Self::Io { name, source },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, io::Write, path::PathBuf};

    const RULES: SnapshotRules = SnapshotRules { max_bytes: 10, hard_links: HardLinks::Allow };

    fn file(content: &[u8]) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        fs::write(&path, content).unwrap();
        (dir, path)
    }

    /// Reads a file of "12345" while `change` happens at `when`.
    fn during(when: Step, change: impl Fn(&PathBuf)) -> Option<Vec<u8>> {
        let (_dir, path) = file(b"12345");
        let open = File::open(&path).unwrap();
        let at = |step| {
            if step == when {
                change(&path);
            }
        };
        read_once(&open, "f", &RULES, at).unwrap().map(|(bytes, _)| bytes)
    }

    fn append(path: &PathBuf, more: &[u8]) {
        fs::OpenOptions::new().append(true).open(path).unwrap().write_all(more).unwrap();
    }

    fn cut(path: &PathBuf, len: u64) {
        fs::OpenOptions::new().write(true).open(path).unwrap().set_len(len).unwrap();
    }

    #[test]
    fn a_file_at_rest_is_read_as_it_is() {
        assert_eq!(during(Step::Sized, |_| {}).unwrap(), b"12345");
        let (_dir, path) = file(b"");
        let (bytes, stat) = read_once(&File::open(path).unwrap(), "f", &RULES, |_| {}).unwrap().unwrap();
        assert_eq!((bytes.len(), stat.len, stat.nlink), (0, 0, 1));
    }

    #[test]
    fn every_change_underneath_is_seen() {
        for when in [Step::Sized, Step::Read] {
            assert_eq!(during(when, |path| append(path, b"6")), None, "{when:?}: grew by one");
            assert_eq!(during(when, |path| append(path, &[b'x'; 5000])), None, "{when:?}: grew beyond the cap");
            assert_eq!(during(when, |path| cut(path, 2)), None, "{when:?}: shrank");
            assert_eq!(during(when, |path| cut(path, 0)), None, "{when:?}: emptied");
            let touched = |path: &PathBuf| {
                let file = fs::OpenOptions::new().write(true).open(path).unwrap();
                file.set_modified(std::time::UNIX_EPOCH).unwrap();
            };
            assert_eq!(during(when, touched), None, "{when:?}: another time");
        }
    }

    #[test]
    fn replacing_the_name_leaves_the_open_file_whole() {
        let swap = |path: &PathBuf| {
            let other = path.with_extension("new");
            fs::write(&other, "other").unwrap();
            fs::rename(&other, path).unwrap();
        };
        // Its link count and change time differ, so the new file is read instead.
        assert_eq!(during(Step::Read, swap), None);
    }

    #[test]
    fn a_growing_file_is_never_read_beyond_its_size() {
        let (_dir, path) = file(b"1234567890");
        append(&path, &[b'x'; 4000]);
        assert_eq!(read_at(&File::open(&path).unwrap(), 0, 10).unwrap().len(), 11);
        assert_eq!(read_at(&File::open(&path).unwrap(), 4008, 10).unwrap().len(), 2);
        let open = File::open(&path).unwrap();
        let error = read_once(&open, "f", &RULES, |_| {}).unwrap_err();
        assert!(matches!(&error, SnapshotError::TooLarge { name, len: 4010, max: 10 } if name == "f"), "{error}");
    }

    #[test]
    fn three_attempts_then_it_is_given_up() {
        // A file in /proc claims to be empty and is not, so it "changes" during every read.
        let root = Root::open(std::path::Path::new("/proc")).unwrap();
        let file = root.locate(&["/proc/version".into()]).unwrap();
        assert!(matches!(root.snapshot(&file, &RULES), Err(SnapshotError::Changing { .. })));
    }
}
