//! Opens and lists the folders and files of a store: beneath a handle, never through a link, never blocking, and only if
//! nobody else can use them.

use std::{
    fs,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::Path,
};

use rustix::{
    fs::{AtFlags, Mode, OFlags},
    io::Errno,
};

use super::super::{Create, Removed, StoreError};
use crate::{fault::missing_or, snapshot::FileKind};

/// Opens a folder that only this user can use. `None`: it is missing and not to be created.
pub(crate) fn private_folder(
    parent: BorrowedFd<'_>,
    name: &str,
    shown: &str,
    create: Create,
) -> Result<Option<OwnedFd>, StoreError> {
    let fail = |errno: Errno| StoreError::from_io(shown, errno.into());
    let mut opened = open_folder(parent, name);
    if create == Create::Yes && matches!(opened, Err(Errno::NOENT)) {
        match rustix::fs::mkdirat(parent, name, Mode::RWXU) {
            // Another process may be faster.
            Ok(()) | Err(Errno::EXIST) => opened = open_folder(parent, name),
            Err(errno) => return Err(fail(errno)),
        }
    }
    match opened {
        Ok(folder) => {
            check_private(folder.as_fd(), shown)?;
            Ok(Some(folder))
        }
        Err(Errno::NOENT) if create == Create::No => Ok(None),
        Err(Errno::NOTDIR | Errno::LOOP) => Err(not_a_folder(parent, name, shown)),
        Err(errno) => Err(fail(errno)),
    }
}

/// Opens or creates a folder that other programs use too.
pub(in super::super) fn shared_folder(parent: BorrowedFd<'_>, name: &str, shown: &str) -> Result<OwnedFd, StoreError> {
    let fail = |errno: Errno| StoreError::from_io(shown, errno.into());
    match rustix::fs::mkdirat(parent, name, Mode::RWXU | Mode::RWXG | Mode::RWXO) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(errno) => return Err(fail(errno)),
    }
    match open_folder(parent, name) {
        Err(Errno::NOTDIR | Errno::LOOP) => Err(not_a_folder(parent, name, shown)),
        opened => opened.map_err(fail),
    }
}

/// Opens a folder beneath another, never through a link.
pub(crate) fn open_folder(parent: BorrowedFd<'_>, name: &str) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(parent, name, flags, Mode::empty())
}

fn not_a_folder(parent: BorrowedFd<'_>, name: &str, shown: &str) -> StoreError {
    let name_shown = shown.to_owned();
    match rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(found) if FileKind::of(found.st_mode) == Some(FileKind::Link) => StoreError::LinkOut { name: name_shown },
        Ok(_) | Err(_) => StoreError::NotAFolder { name: name_shown },
    }
}

/// If others can write a store, they can make it claim anything; if they can read it, it reveals what was read.
pub(super) fn check_private(open: BorrowedFd<'_>, shown: &str) -> Result<(), StoreError> {
    is_private(&rustix::fs::fstat(open).map_err(|errno| StoreError::from_io(shown, errno.into()))?, shown)
}

pub(in super::super) fn is_private(found: &rustix::fs::Stat, shown: &str) -> Result<(), StoreError> {
    match Privacy::of(found.st_mode, found.st_uid) {
        Privacy::Private => Ok(()),
        Privacy::Open { mode } => Err(StoreError::NotPrivate { name: shown.to_owned(), mode }),
        Privacy::Foreign { uid } => Err(StoreError::NotOurs { name: shown.to_owned(), uid }),
    }
}

/// Who can use a file.
pub(in super::super) enum Privacy {
    Private,
    /// Others can use it too.
    Open {
        mode: u32,
    },
    Foreign {
        uid: u32,
    },
}

impl Privacy {
    pub(in super::super) fn of(mode: u32, uid: u32) -> Self {
        if uid != rustix::process::geteuid().as_raw() {
            Self::Foreign { uid }
        } else if mode & 0o077 != 0 {
            Self::Open { mode: mode & 0o7777 }
        } else {
            Self::Private
        }
    }
}

/// How a file of the store is opened for reading: never through a link, never blocking.
pub(crate) const READ_FLAGS: OFlags =
    OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// The regular files in a folder of the store with their sizes, sorted by name.
pub(in super::super) fn entries(folder: BorrowedFd<'_>) -> Vec<(String, u64)> {
    let look = |name: String| {
        let stat = rustix::fs::statat(folder, &name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let len = u64::try_from(stat.st_size).ok()?;
        FileKind::of(stat.st_mode).is_none().then_some((name, len))
    };
    names(folder).into_iter().filter_map(look).collect()
}

/// Removes a file.
pub(crate) fn remove(folder: BorrowedFd<'_>, name: &str) -> Result<Removed, Errno> {
    let removed = missing_or(rustix::fs::unlinkat(folder, name, AtFlags::empty()))?;
    Ok(removed.map_or(Removed::Before, |()| Removed::Done))
}

/// The names in a folder of the store, sorted.
pub(crate) fn names(folder: BorrowedFd<'_>) -> Vec<String> {
    let Ok(dir) = rustix::fs::Dir::read_from(folder) else { return Vec::new() };
    let mut found: Vec<String> =
        dir.filter_map(|entry| Some(entry.ok()?.file_name().to_str().ok()?.to_owned())).collect();
    found.sort_unstable();
    found
}

/// Whether a folder exists; for the folders of hosts, outside every workspace.
#[must_use]
pub fn is_folder(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_dir())
}
