//! Reading the files that hold rules, and telling whether one has changed since. What cannot be read is an error, never
//! "no rules". Does not know what the files mean.

use std::{fs::File, io, path::Path, thread, time::Duration};

use rustix::{
    fs::{AtFlags, FileType, Mode, OFlags},
    io::Errno,
};

use super::error::PolicyError;
use crate::{
    root::Root,
    snapshot::spelling::on_disk,
    snapshot::{FileKind, SnapshotError, Stamp, Stat, TO_READ, bytes::read_at, times::Times},
};

/// The largest file with rules.
pub(super) const MOST_BYTES: u64 = 128 << 10;

/// A file or folder as it was at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// `None` if there was nothing of that name.
    pub(super) stamp: Option<Stamp>,
    mode: u32,
    /// Whether the same stamp later means that nothing has changed.
    tells: bool,
}

impl Mark {
    pub(super) const ABSENT: Self = Self { stamp: None, mode: 0, tells: true };

    /// To be made right after the stat: what happens later must get a later time.
    pub(crate) fn of(stat: &Stat, times: Times) -> Self {
        // What a link leads to may change and the link stays the same.
        let tells = FileType::from_raw_mode(stat.mode) != FileType::Symlink && times.tell(stat);
        Self { stamp: Some(stat.stamp()), mode: stat.mode, tells }
    }

    /// The workspace's root.
    pub(super) fn of_top(root: &Root) -> Result<Self, PolicyError> {
        let unreadable = |errno: Errno| PolicyError::Unreadable { file: ".".to_owned(), source: errno.into() };
        Ok(Self::of(&Stat::from(rustix::fs::fstat(&root.dir).map_err(unreadable)?), root.times))
    }

    /// A name in the workspace, no link at its end followed.
    pub(super) fn of_name(root: &Root, name: &str) -> Result<Self, PolicyError> {
        match rustix::fs::statat(&root.dir, &*on_disk(name), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Self::of(&Stat::from(stat), root.times)),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::NAMETOOLONG) => Ok(Self::ABSENT),
            // Nothing in a folder that may not be passed can be opened; whoever tries finds out.
            Err(Errno::ACCESS) => Ok(Self { tells: false, ..Self::ABSENT }),
            Err(errno) => Err(PolicyError::Unreadable { file: name.to_owned(), source: errno.into() }),
        }
    }

    /// A file outside every workspace, links followed: a link to another file has the stamp of that file.
    pub(super) fn of_path(path: &Path) -> Result<Self, PolicyError> {
        let found = match rustix::fs::lstat(path).map(Stat::from) {
            // One that leads nowhere may have led to rules.
            Ok(stat) if FileType::from_raw_mode(stat.mode) == FileType::Symlink => {
                rustix::fs::stat(path).map(Stat::from)
            }
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(Self::ABSENT),
            found => found,
        };
        let unreadable =
            |errno: Errno| PolicyError::Unreadable { file: path.display().to_string(), source: errno.into() };
        found.map(|stat| Self::of(&stat, Times::default())).map_err(unreadable)
    }

    pub(super) fn is_folder(&self) -> bool {
        self.stamp.is_some() && FileType::from_raw_mode(self.mode) == FileType::Directory
    }

    /// Whether it tells that nothing changed until `now`.
    pub(super) fn is_still(&self, now: &Self) -> bool {
        self.stamp == now.stamp && self.tells
    }

    /// Whether another mark can be compared with it at all.
    pub(super) fn tells(&self) -> bool {
        self.tells
    }
}

/// The text of a file in the workspace, and what it was when it was read; `None` if there is no file of that name. A link is
/// followed if it stays inside.
pub(super) fn read(root: &Root, name: &str) -> Result<(Option<String>, Mark), PolicyError> {
    let mark = Mark::of_name(root, name)?;
    if mark.stamp.is_none() || mark.is_folder() {
        return Ok((None, mark));
    }
    let missing = || PolicyError::Unreadable { file: name.to_owned(), source: Errno::NOENT.into() };
    let file = root.file_ref(&root.absolute(name)).ok_or_else(missing)?;
    let opened = match root.open_to_read(&file) {
        Ok((opened, _)) => opened,
        // It was removed just now.
        Err(SnapshotError::Missing { .. }) if Mark::of_name(root, name)?.stamp.is_none() => {
            return Ok((None, Mark::ABSENT));
        }
        Err(error) => return Err(refused(name, error)),
    };
    Ok((Some(text(&opened, name)?), mark))
}

/// The same for a file outside every workspace.
pub(super) fn read_path(path: &Path) -> Result<(Option<String>, Mark), PolicyError> {
    let mark = Mark::of_path(path)?;
    if mark.stamp.is_none() || mark.is_folder() {
        return Ok((None, mark));
    }
    let name = path.display().to_string();
    let opened = rustix::fs::open(path, TO_READ | OFlags::CLOEXEC, Mode::empty())
        .map_err(|errno| PolicyError::Unreadable { file: name.clone(), source: errno.into() })?;
    Ok((Some(text(&opened.into(), &name)?), mark))
}

/// How often a file that changes while it is read is read again, and how long whoever writes it is then given. Half of a file with
/// rules would be fewer rules.
const ATTEMPTS: usize = 100;
const WAIT: Duration = Duration::from_millis(1);

fn text(opened: &File, name: &str) -> Result<String, PolicyError> {
    let file = || name.to_owned();
    let unreadable = |source: io::Error| PolicyError::Unreadable { file: file(), source };
    for _ in 0..ATTEMPTS {
        let stat = Stat::of(opened).map_err(unreadable)?;
        if FileKind::of(stat.mode).is_some() {
            return Err(PolicyError::NotAFile { file: file() });
        }
        if stat.len > MOST_BYTES {
            return Err(PolicyError::TooLarge { file: file(), len: stat.len, max: MOST_BYTES });
        }
        let bytes = read_at(opened, 0, stat.len).map_err(unreadable)?;
        if Stat::of(opened).map_err(unreadable)?.stamp() != stat.stamp() || bytes.len() as u64 != stat.len {
            thread::sleep(WAIT);
            continue;
        }
        return String::from_utf8(bytes).map_err(|error| {
            let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            PolicyError::NotUtf8 { file: file(), line: line_after(before) }
        });
    }
    Err(unreadable(Errno::AGAIN.into()))
}

fn refused(name: &str, error: SnapshotError) -> PolicyError {
    let file = name.to_owned();
    let errno = match error {
        SnapshotError::LinkOut { .. } => return PolicyError::LinkOut { file },
        SnapshotError::NotAFile { .. } => return PolicyError::NotAFile { file },
        SnapshotError::Io { source, .. } | SnapshotError::Unrestored { source, .. } => {
            return PolicyError::Unreadable { file, source };
        }
        SnapshotError::Missing { .. } => Errno::NOENT,
        SnapshotError::LinkLoop { .. } => Errno::LOOP,
        SnapshotError::Denied { .. } | SnapshotError::Refused(_) => Errno::ACCESS,
        SnapshotError::Changing { .. } | SnapshotError::Busy { .. } => Errno::AGAIN,
        // Not for an open alone.
        SnapshotError::HardLinked { .. }
        | SnapshotError::TooLarge { .. }
        | SnapshotError::Ours { .. }
        | SnapshotError::NotText { .. } => Errno::INVAL,
    };
    PolicyError::Unreadable { file, source: errno.into() }
}

/// The line in which the byte after these stands, counted from 1.
pub(super) fn line_after(before: &[u8]) -> u32 {
    u32::try_from(memchr::memchr_iter(b'\n', before).count() + 1).unwrap_or(u32::MAX)
}

/// The line of a text in which this byte stands.
pub(super) fn line_of(text: &str, at: usize) -> u32 {
    line_after(&text.as_bytes()[..at.min(text.len())])
}
