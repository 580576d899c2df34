//! The new contents of several files, written and synced together before the first of them is touched: a disk takes about as long to
//! sync a hundred files as one. They lie in the store's folder for temporary files, and each is moved beside its file when its turn
//! comes. Where that is not possible, whoever replaces a file writes the content there as ever; nothing fails because of this.

use std::{
    fs::File,
    io::{self, Write},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    thread,
};

use rustix::fs::{AtFlags, Mode, OFlags};

use super::{Like, temp::Temp};
use crate::snapshot::spelling::on_disk;
use crate::stores::{Create, STORE_NAME, private_folder};

/// The folder, in the store's.
const FOLDER: &str = "tmp";

/// How many files are open at once.
const AT_ONCE: usize = 64;

/// How many of them are synced at once: they wait for the same disk, which then writes them together.
const SYNCING: usize = 16;

/// A content to be written.
pub(super) struct Wanted<'t> {
    pub(super) text: &'t str,
    /// What the file is like that it will replace.
    pub(super) like: Option<Like>,
    /// Whether nothing else says what its permissions are, so that those of any new file are right.
    pub(super) is_new: bool,
}

/// Contents that are on disk; those that nobody took are removed in the end.
pub(super) struct Ahead {
    folder: OwnedFd,
    names: Vec<Option<Written>>,
}

struct Written {
    name: String,
    like: Option<Like>,
    is_new: bool,
    /// Whether it was moved away: another file of this process may have the name by now.
    is_taken: AtomicBool,
}

/// One of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Content<'a> {
    pub(super) folder: BorrowedFd<'a>,
    pub(super) name: &'a str,
    pub(super) like: Option<Like>,
    pub(super) is_new: bool,
    is_taken: &'a AtomicBool,
}

impl Ahead {
    /// Writes and syncs them; `None` if that is not possible, and then nothing is left of them.
    pub(super) fn write(store: BorrowedFd<'_>, wanted: &[Option<Wanted<'_>>], counter: &AtomicU64) -> Option<Self> {
        let folder = private_folder(store, FOLDER, &format!("{STORE_NAME}/{FOLDER}"), Create::No).ok().flatten()?;
        let mut ahead = Self { folder, names: Vec::with_capacity(wanted.len()) };
        for wanted in wanted.chunks(AT_ONCE) {
            let mut files = Vec::new();
            for wanted in wanted {
                let written = wanted.as_ref().map(|wanted| ahead.write_one(wanted, counter)).transpose().ok()?;
                let (name, file) = written.unzip();
                files.extend(file);
                ahead.names.push(name);
            }
            sync_all(&files).ok()?;
        }
        // Their names need not be on disk: whoever moves them away syncs where they come to stand.
        Some(ahead)
    }

    fn write_one(&self, wanted: &Wanted<'_>, counter: &AtomicU64) -> io::Result<(Written, File)> {
        let Wanted { text, like, is_new } = *wanted;
        let mode = if is_new { 0o666 } else { 0o600 };
        let temp = Temp::create(self.folder.as_fd(), "", Mode::from_raw_mode(mode), counter)?;
        temp.file().write_all(text.as_bytes())?;
        if let Some(like) = like {
            like.give(temp.file())?;
        }
        let file = temp.file().try_clone()?;
        let name = temp.name().to_owned();
        temp.leave();
        Ok((Written { name, like, is_new, is_taken: AtomicBool::new(false) }, file))
    }

    /// The content with this number, if it is there.
    pub(super) fn content(&self, at: usize) -> Option<Content<'_>> {
        let Written { name, like, is_new, is_taken } = self.names.get(at)?.as_ref()?;
        Some(Content { folder: self.folder.as_fd(), name, like: *like, is_new: *is_new, is_taken })
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        for written in self.names.iter().flatten().filter(|written| !written.is_taken.load(Ordering::Relaxed)) {
            let _ = rustix::fs::unlinkat(&self.folder, &written.name, AtFlags::empty());
        }
    }
}

impl Content<'_> {
    /// Moves it to another folder, under a name that nothing has; `None` if that is not possible.
    pub(super) fn moved(&self, to: BorrowedFd<'_>, name: &str) -> Option<File> {
        let placed = super::temp::rename_new((self.folder, self.name), (to, name)).ok()?;
        if placed != super::temp::Placed::New {
            return None;
        }
        self.is_taken.store(true, Ordering::Relaxed);
        let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        rustix::fs::openat(to, &*on_disk(name), flags, Mode::empty()).ok().map(File::from)
    }
}

/// Syncs files or folders, several at once.
pub(super) fn sync_all<F: AsFd + Sync>(files: &[F]) -> io::Result<()> {
    let next = AtomicUsize::new(0);
    let work = || -> io::Result<()> {
        while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            rustix::fs::fsync(file)?;
        }
        Ok(())
    };
    thread::scope(|scope| {
        let others: Vec<_> = (1..SYNCING.min(files.len()))
            .filter_map(|_| thread::Builder::new().spawn_scoped(scope, work).ok())
            .collect();
        let mut done = work();
        for other in others {
            let synced = other.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()));
            done = done.and(synced);
        }
        done
    })
}
