//! Texts stored under their hash, `objects/sha256-<64hex>.txt`, or with other small ones in a pack. An object appears whole,
//! by rename, and is verified against its name on every load; one that is missing or damaged is data, not an error. Never
//! overwrites a good object, never follows a link.

use std::{
    fs::File,
    io::{self, Write},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::{Mutex, MutexGuard, PoisonError, atomic::AtomicU64},
};

use readproof_core::text::{ContentHash, Text};
use rustix::{
    fs::{AtFlags, Mode},
    io::Errno,
};

use super::{
    IGNORE_ALL, Missing, READ_FLAGS, SmallTexts, StoreError, open_folder,
    packs::{Packs, SMALL},
    private_folder, shared_folder,
};
use crate::{
    replace::temp::{IN_WORKSPACE, Placed, Temp},
    root::Root,
    snapshot::bytes::read_at,
    snapshot::{FileKind, MOST_BYTES},
};

/// The stored texts of one store.
#[derive(Clone, Copy, Debug)]
pub struct Objects<'s> {
    pub(super) objects: BorrowedFd<'s>,
    pub(super) tmp: BorrowedFd<'s>,
    /// How the names of temporary files begin.
    pub(super) prefix: &'static str,
    pub(super) temps: &'s AtomicU64,
    pub(super) small_texts: SmallTexts,
    pub(super) packs: &'s Mutex<Packs>,
    /// The folder as people know it, beneath the workspace.
    pub(super) shown: &'s str,
}

/// What storing a text did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// It is new, or took the place of a torn one.
    Stored,
    /// It was there.
    Present,
}

/// What is stored under a hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Loaded {
    /// The text with that hash.
    Text(Text),
    /// Nothing, or nothing that can be read.
    Missing,
    /// Something that is not that text.
    Damaged,
}

/// What has the name of an object, without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum There {
    Nothing,
    Fitting,
    Torn,
}

impl Objects<'_> {
    /// Stores a text. An object of the right length counts as present without being read; nothing is synced, so a power
    /// failure may leave a torn object, which every load notices.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be written; nothing is left behind.
    pub fn put(&self, text: &Text) -> Result<Put, StoreError> {
        if self.small_texts == SmallTexts::Together
            && text.as_str().len() <= SMALL
            && let Ok(put) = self.packs().put(self.objects, text)
        {
            return Ok(put);
        }
        let name = object_name(text.hash());
        let there = self.look(&name, text).map_err(|error| self.failed(&name, error))?;
        if there == There::Fitting {
            return Ok(Put::Present);
        }
        self.write(&name, text, there, |_| Ok(())).map_err(|error| self.failed(&name, error))
    }

    /// Stores a text so that it outlives a power failure. One that is present is read, made anew if damaged, and synced.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be written and synced.
    pub fn put_synced(&self, text: &Text) -> Result<Put, StoreError> {
        let name = object_name(text.hash());
        self.put_durably(&name, text).map_err(|error| self.failed(&name, error))
    }

    /// The text of that hash, verified.
    #[must_use]
    pub fn load(&self, hash: ContentHash) -> Loaded {
        match load_from(self.objects, hash) {
            text @ Loaded::Text(_) => text,
            Loaded::Missing => self.packs().load(self.objects, hash),
            Loaded::Damaged => match self.packs().load(self.objects, hash) {
                text @ Loaded::Text(_) => text,
                Loaded::Missing | Loaded::Damaged => Loaded::Damaged,
            },
        }
    }

    /// What is known of a pack is only where its texts stand, and each is verified: a panic elsewhere spoils nothing.
    fn packs(&self) -> MutexGuard<'_, Packs> {
        self.packs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn look(&self, name: &str, text: &Text) -> io::Result<There> {
        match rustix::fs::statat(self.objects, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => {
                let len = usize::try_from(found.st_size).ok();
                let fits = FileKind::of(found.st_mode).is_none() && len == Some(text.as_str().len());
                Ok(if fits { There::Fitting } else { There::Torn })
            }
            Err(Errno::NOENT) => Ok(There::Nothing),
            Err(errno) => Err(errno.into()),
        }
    }

    fn put_durably(&self, name: &str, text: &Text) -> io::Result<Put> {
        let there = match self.look(name, text)? {
            // What a pack holds is not synced.
            There::Fitting if load_from(self.objects, text.hash()) == Loaded::Text(text.clone()) => {
                let file = rustix::fs::openat(self.objects, name, READ_FLAGS, Mode::empty())?;
                rustix::fs::fsync(&file)?;
                rustix::fs::fsync(self.objects)?;
                return Ok(Put::Present);
            }
            There::Fitting | There::Torn => There::Torn,
            There::Nothing => There::Nothing,
        };
        let put = self.write(name, text, there, |file| Ok(rustix::fs::fsync(file)?))?;
        rustix::fs::fsync(self.objects)?;
        Ok(put)
    }

    fn failed(&self, name: &str, error: io::Error) -> StoreError {
        StoreError::from_io(&format!("{}/{name}", self.shown), error)
    }

    /// Writes a temporary file, lets `finish` sync it, and gives it its name.
    fn write(&self, name: &str, text: &Text, there: There, finish: fn(&File) -> io::Result<()>) -> io::Result<Put> {
        let temp = Temp::create(self.tmp, self.prefix, Mode::RUSR | Mode::WUSR, self.temps)?;
        temp.file().write_all(text.as_str().as_bytes())?;
        finish(temp.file())?;
        if there == There::Torn {
            temp.replace(self.objects, name)?;
            return Ok(Put::Stored);
        }
        Ok(match temp.place(self.objects, name)? {
            Placed::New => Put::Stored,
            // Another process stored the same text.
            Placed::Taken => Put::Present,
        })
    }
}

/// Texts in a folder that another tool may have filled under the same names. Each is verified against its name, so it does
/// not matter who wrote it.
#[derive(Debug)]
pub struct StoredTexts {
    pub(super) folder: OwnedFd,
    temps: AtomicU64,
    /// There are none here.
    packs: Mutex<Packs>,
    /// As people know it, beneath the workspace.
    shown: String,
}

impl StoredTexts {
    /// The folder `under` beneath a root, never through a link; `None` when there is no such folder.
    #[must_use]
    pub fn open(root: &Root, under: &[&str]) -> Option<Self> {
        let (first, rest) = under.split_first()?;
        let mut folder = open_folder(root.dir.as_fd(), first).ok()?;
        for name in rest {
            folder = open_folder(folder.as_fd(), name).ok()?;
        }
        Some(Self::of(folder, under))
    }

    /// The same, and whatever of it is missing is made: the first folder as any other, what is beneath it private and
    /// ignored by git.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be made, or others can use it.
    pub fn make(root: &Root, under: &[&str]) -> Result<Self, StoreError> {
        let mut folder = root.dir.as_fd().try_clone_to_owned().map_err(|error| failed_at(under, error))?;
        for (depth, name) in under.iter().enumerate() {
            let shown = under[..=depth].join("/");
            folder = if depth == 0 {
                shared_folder(folder.as_fd(), name, &shown)?
            } else {
                let made = private_folder(folder.as_fd(), name, &shown, Missing::Make)?;
                made.ok_or(StoreError::Gone { name: shown })?
            };
            if depth == 1 {
                let ignore = Self::of(folder.try_clone().map_err(|error| failed_at(under, error))?, under);
                ignore.ignore_all().map_err(|error| failed_at(under, error))?;
            }
        }
        Ok(Self::of(folder, under))
    }

    fn of(folder: OwnedFd, under: &[&str]) -> Self {
        Self { folder, temps: AtomicU64::new(0), packs: Mutex::default(), shown: under.join("/") }
    }

    fn ignore_all(&self) -> io::Result<()> {
        match rustix::fs::statat(&self.folder, ".gitignore", AtFlags::SYMLINK_NOFOLLOW) {
            Ok(_) => return Ok(()),
            Err(Errno::NOENT) => {}
            Err(errno) => return Err(errno.into()),
        }
        let temp = Temp::create(self.folder.as_fd(), IN_WORKSPACE, Mode::RUSR | Mode::WUSR, &self.temps)?;
        temp.file().write_all(IGNORE_ALL.as_bytes())?;
        temp.place(&self.folder, ".gitignore").map(drop)
    }

    /// The text of that hash, verified.
    #[must_use]
    pub fn load(&self, hash: ContentHash) -> Loaded {
        load_from(self.folder.as_fd(), hash)
    }

    /// Whether a file stands where this text would be stored, of its length; it is verified when it is loaded.
    #[must_use]
    pub fn holds(&self, text: &Text) -> bool {
        matches!(self.objects().look(&object_name(text.hash()), text), Ok(There::Fitting))
    }

    fn objects(&self) -> Objects<'_> {
        let (folder, temps) = (self.folder.as_fd(), &self.temps);
        let (small_texts, shown) = (SmallTexts::Apart, &self.shown);
        Objects { objects: folder, tmp: folder, prefix: IN_WORKSPACE, temps, small_texts, packs: &self.packs, shown }
    }

    /// Stores a text, as [`Objects::put`] does.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be written; nothing is left behind.
    pub fn put(&self, text: &Text) -> Result<Put, StoreError> {
        self.objects().put(text)
    }
}

fn failed_at(under: &[&str], error: io::Error) -> StoreError {
    StoreError::from_io(&under.join("/"), error)
}

fn load_from(folder: BorrowedFd<'_>, hash: ContentHash) -> Loaded {
    let name = object_name(hash);
    let file = match rustix::fs::openat(folder, &name, READ_FLAGS, Mode::empty()) {
        Ok(fd) => File::from(fd),
        // A link or a socket in its place.
        Err(Errno::LOOP | Errno::NXIO) => return Loaded::Damaged,
        Err(_) => return Loaded::Missing,
    };
    let Ok(found) = rustix::fs::fstat(&file) else { return Loaded::Missing };
    let len = u64::try_from(found.st_size).unwrap_or(u64::MAX);
    if FileKind::of(found.st_mode).is_some() || len > MOST_BYTES {
        return Loaded::Damaged;
    }
    let Ok(bytes) = read_at(&file, 0, len) else { return Loaded::Missing };
    match Text::from_bytes(bytes) {
        Ok(text) if text.hash() == hash => Loaded::Text(text),
        Ok(_) | Err(_) => Loaded::Damaged,
    }
}

/// The name of the object of a text.
pub(crate) fn object_name(hash: ContentHash) -> String {
    format!("sha256-{hash}.txt")
}

/// The hash in the name of an object; `None` for any other name.
pub(crate) fn object_hash(name: &str) -> Option<ContentHash> {
    ContentHash::parse(name.strip_prefix("sha256-")?.strip_suffix(".txt")?)
}
