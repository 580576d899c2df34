//! What looking after a store needs: how old its texts are, removing them, which logs were put aside, and the room there
//! is. Removing is one unlink, so whoever has a file open keeps it; never looks into a log.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    fs::{self, File},
    io,
    os::fd::{AsFd, BorrowedFd},
    path::Path,
    sync::{MutexGuard, PoisonError},
};

use readproof_core::text::ContentHash;
use rustix::{
    fs::{Access, AtFlags, Mode},
    io::Errno,
};

use super::packs::Packs;
use super::{
    IGNORE_ALL, READ_FLAGS, STORE_NAME, Store, StoreError, names,
    objects::{StoredTexts, object_hash, object_name},
    open_folder,
};
use crate::{
    log::SessionName,
    root::Root,
    snapshot::{FileKind, bytes::read_at},
};

/// One stored text, not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// The hash in its name.
    pub hash: ContentHash,
    /// Its length.
    pub bytes: u64,
    /// When it was written, in milliseconds since 1970.
    pub modified: u64,
}

/// A log that was put aside because it missed something.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RetiredLog {
    /// Whose it was.
    pub session: SessionName,
    /// Which of them.
    pub number: u32,
}

impl RetiredLog {
    fn of_file(name: &str) -> Option<Self> {
        let (log, number) = name.rsplit_once(".retired-")?;
        let retired = Self { session: SessionName::of_file(log)?, number: number.parse().ok()? };
        (retired.to_string() == name).then_some(retired)
    }
}

impl fmt::Display for RetiredLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.log.retired-{}", self.session, self.number)
    }
}

/// What removing came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removed {
    /// It is gone.
    Done,
    /// It was gone already.
    Before,
}

impl Store {
    /// Everything stored, sorted by hash; nothing is read.
    #[must_use]
    pub fn stored(&self) -> Vec<Stored> {
        let mut all: BTreeMap<ContentHash, Stored> = BTreeMap::new();
        let apart = stored_in(self.objects_folder());
        for stored in self.packs().all(self.objects_folder()).into_iter().chain(apart) {
            // In both: it goes by the younger.
            let known = all.entry(stored.hash).or_insert(stored);
            known.modified = known.modified.max(stored.modified);
        }
        all.into_values().collect()
    }

    /// Files of small texts that hold something else too. What stands behind that is not found; removing mends them.
    #[must_use]
    pub fn damaged_packs(&self) -> Vec<String> {
        self.packs().damaged(self.objects_folder())
    }

    fn packs(&self) -> MutexGuard<'_, Packs> {
        self.packs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Logs that were put aside because they missed something, by session and number.
    #[must_use]
    pub fn retired(&self) -> Vec<RetiredLog> {
        let mut found: Vec<RetiredLog> =
            names(self.log().as_fd()).iter().filter_map(|name| RetiredLog::of_file(name)).collect();
        found.sort_unstable();
        found
    }

    /// Removes stored texts and mends what held them. Who needs one later finds it missing and sends plain text; who
    /// stores it again makes it anew. Returns what went, and what failed.
    #[must_use]
    pub fn remove_objects(&self, hashes: &BTreeSet<ContentHash>) -> (BTreeSet<ContentHash>, Vec<StoreError>) {
        let folders = (self.objects_folder(), self.tmp_folder());
        let (mut gone, mut failed) = (BTreeSet::new(), Vec::new());
        // Files of their own first: that needs no room, and makes some.
        for hash in hashes {
            let name = object_name(*hash);
            match remove(self.objects_folder(), &name) {
                Ok(Removed::Done) => drop(gone.insert(*hash)),
                // In a pack, or another was faster.
                Ok(Removed::Before) => {}
                Err(errno) => failed.push(StoreError::from_io(&format!("{STORE_NAME}/objects/{name}"), errno.into())),
            }
        }
        let mut packs = self.packs();
        let (removed, left) = packs.remove(folders, &self.temps, hashes);
        gone.extend(removed);
        if !left.is_empty() {
            // What such a pack still holds is not gone.
            for stored in packs.all(self.objects_folder()) {
                gone.remove(&stored.hash);
            }
        }
        failed.extend(left.into_iter().map(|(name, error)| left_pack(&name, error)));
        (gone, failed)
    }

    /// Why nothing can be kept in it, as far as the system says without trying: read-only, or permissions.
    #[must_use]
    pub fn refuses(&self) -> Option<StoreError> {
        let parts = [(self.objects_folder(), "objects"), (self.tmp_folder(), "tmp"), (self.log().as_fd(), "log")];
        parts.into_iter().find_map(|(folder, part)| {
            let wanted = Access::WRITE_OK | Access::EXEC_OK;
            let refused = rustix::fs::accessat(folder, ".", wanted, AtFlags::EACCESS).err()?;
            Some(StoreError::from_io(&format!("{STORE_NAME}/{part}"), refused.into()))
        })
    }

    /// Whether git ignores the store, as it was made to.
    #[must_use]
    pub fn ignores_itself(&self) -> bool {
        let opened = rustix::fs::openat(self.folder(), ".gitignore", READ_FLAGS, Mode::empty());
        let bytes = opened.ok().and_then(|fd| read_at(&File::from(fd), 0, 16).ok());
        bytes.is_some_and(|bytes| bytes == IGNORE_ALL.as_bytes())
    }
}

impl StoredTexts {
    /// Everything stored, sorted by hash; nothing is read.
    #[must_use]
    pub fn stored(&self) -> Vec<Stored> {
        stored_in(self.folder.as_fd())
    }

    /// Removes a stored text, as [`Store::remove_objects`] does.
    ///
    /// # Errors
    /// [`StoreError`] when the system does not let it.
    pub fn remove(&self, hash: ContentHash) -> Result<Removed, StoreError> {
        let name = object_name(hash);
        remove(self.folder.as_fd(), &name).map_err(|errno| StoreError::from_io(&name, errno.into()))
    }
}

impl Root {
    /// The bytes this user can still write where the store lies, or would lie; `None` when the system does not say.
    #[must_use]
    pub fn free_bytes(&self) -> Option<u64> {
        let store = open_folder(self.dir.as_fd(), STORE_NAME);
        let found = store.and_then(rustix::fs::fstatvfs).or_else(|_| rustix::fs::fstatvfs(&self.dir)).ok()?;
        found.f_bavail.checked_mul(found.f_frsize)
    }
}

/// Whether there is a folder of this name. For what hosts keep outside every workspace.
#[must_use]
pub fn is_folder(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_dir())
}

fn stored_in(folder: BorrowedFd<'_>) -> Vec<Stored> {
    let look = |name: String| {
        let hash = object_hash(&name)?;
        let stat = rustix::fs::statat(folder, &name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let modified = u64::try_from(stat.st_mtime).unwrap_or(0).saturating_mul(1000);
        let bytes = u64::try_from(stat.st_size).ok()?;
        FileKind::of(stat.st_mode).is_none().then_some(Stored { hash, bytes, modified })
    };
    names(folder).into_iter().filter_map(look).collect()
}

/// Why a pack was left as it is.
fn left_pack(name: &str, error: io::Error) -> StoreError {
    let name = format!("{STORE_NAME}/objects/{name}");
    match Errno::from_io_error(&error) {
        Some(Errno::BUSY) => StoreError::Busy { name },
        _ => StoreError::from_io(&name, error),
    }
}

fn remove(folder: BorrowedFd<'_>, name: &str) -> Result<Removed, Errno> {
    match rustix::fs::unlinkat(folder, name, AtFlags::empty()) {
        Ok(()) => Ok(Removed::Done),
        Err(Errno::NOENT) => Ok(Removed::Before),
        Err(errno) => Err(errno),
    }
}
