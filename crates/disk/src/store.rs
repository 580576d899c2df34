//! The `.readproof` directory of a workspace: made private, and refused when it is not. Opened beneath the root and never
//! through a link, because a cloned repository could bring one. Knows the layout; never what is in an object or a log.

mod database;
mod objects;
mod owner;
mod packs;
mod upkeep;

pub use database::database_in_memory;
pub use objects::{Loaded, Objects, Put, StoredTexts};
pub use owner::{Owner, user_id};
pub use upkeep::{Removed, RetiredLog, Stored, is_folder};

use std::{
    fs::File,
    io::{self, Write},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::{Arc, Mutex, atomic::AtomicU64},
};

use rustix::{
    fs::{AtFlags, Mode, OFlags},
    io::Errno,
};

use self::packs::Packs;
use crate::{
    fault::Fault,
    log::SessionName,
    replace::temp::Temp,
    root::Root,
    snapshot::{FileKind, bytes::read_at},
};

/// What the directory is called.
pub const STORE_NAME: &str = ".readproof";

/// Where its texts lie.
const OBJECTS_NAME: &str = ".readproof/objects";

/// What makes git ignore a folder.
pub(crate) const IGNORE_ALL: &str = "*\n";

/// The format this program writes: a number, and behind it the seal of whose the store is.
const FORMAT: u32 = 2;

/// The format before, without a seal.
const UNSEALED: u32 = 1;

/// The longest format file: ten digits, a seal of 64, and two line ends.
const FORMAT_BYTES: u64 = 76;

/// The directory a workspace's objects and logs live in. May be shared between threads; several processes may use one.
#[derive(Debug)]
pub struct Store {
    folder: OwnedFd,
    objects: OwnedFd,
    tmp: OwnedFd,
    log: Arc<OwnedFd>,
    temps: AtomicU64,
    small_texts: SmallTexts,
    packs: Mutex<Packs>,
}

/// How small texts are stored. Both kinds are found whoever stored them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SmallTexts {
    /// Each in a file of its own: for a program that stores one and ends.
    #[default]
    Apart,
    /// Many to a file, which takes a fraction of the time: for a program that lives long.
    Together,
}

/// How much a store holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Stored texts.
    pub objects: u64,
    /// Their bytes.
    pub object_bytes: u64,
    /// Session logs.
    pub logs: u64,
    /// Their bytes.
    pub log_bytes: u64,
}

/// Whether what is missing is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Missing {
    Make,
    Leave,
}

impl Store {
    /// Opens the store of a workspace; whatever of it is missing is made. An existing store is opened without a write.
    ///
    /// # Errors
    /// [`StoreError`]; the caller can go on without a store.
    pub fn open(root: &Root) -> Result<Self, StoreError> {
        Self::open_of(root, None)
    }

    /// The same, if it is this owner's; without one, whoever made it.
    ///
    /// # Errors
    /// [`StoreError`], [`StoreError::Foreign`] when it is another's.
    pub fn open_of(root: &Root, owner: Option<&Owner>) -> Result<Self, StoreError> {
        let gone = || StoreError::Gone { name: STORE_NAME.to_owned() };
        Self::open_with(root, Missing::Make, owner)?.ok_or_else(gone)
    }

    /// Opens the store of a workspace if it has one; never makes or changes anything.
    ///
    /// # Errors
    /// [`StoreError`], also when a part of the store is missing.
    pub fn open_existing(root: &Root) -> Result<Option<Self>, StoreError> {
        Self::open_existing_of(root, None)
    }

    /// The same, if it is this owner's; without one, whoever made it.
    ///
    /// # Errors
    /// [`StoreError`], [`StoreError::Foreign`] when it is another's.
    pub fn open_existing_of(root: &Root, owner: Option<&Owner>) -> Result<Option<Self>, StoreError> {
        Self::open_with(root, Missing::Leave, owner)
    }

    /// The stored texts.
    #[must_use]
    pub fn objects(&self) -> Objects<'_> {
        let (objects, tmp) = (self.objects.as_fd(), self.tmp.as_fd());
        let (temps, packs, small_texts) = (&self.temps, &self.packs, self.small_texts);
        Objects { objects, tmp, prefix: "", temps, small_texts, packs, shown: OBJECTS_NAME }
    }

    /// Stores small texts like this from now on.
    #[must_use]
    pub fn with_small_texts(self, small_texts: SmallTexts) -> Self {
        Self { small_texts, ..self }
    }

    /// How much is in it; what cannot be looked at is not counted.
    #[must_use]
    pub fn usage(&self) -> Usage {
        let mut usage = Usage::default();
        for object in self.stored() {
            usage.objects += 1;
            usage.object_bytes += object.bytes;
        }
        for (name, len) in entries(self.log.as_fd()) {
            if SessionName::of_file(&name).is_some() {
                usage.logs += 1;
                usage.log_bytes += len;
            }
        }
        usage
    }

    pub(crate) fn folder(&self) -> BorrowedFd<'_> {
        self.folder.as_fd()
    }

    pub(crate) fn objects_folder(&self) -> BorrowedFd<'_> {
        self.objects.as_fd()
    }

    pub(crate) fn tmp_folder(&self) -> BorrowedFd<'_> {
        self.tmp.as_fd()
    }

    pub(crate) fn log(&self) -> &Arc<OwnedFd> {
        &self.log
    }

    fn open_with(root: &Root, missing: Missing, owner: Option<&Owner>) -> Result<Option<Self>, StoreError> {
        let Some(folder) = private_folder(root.dir.as_fd(), STORE_NAME, STORE_NAME, missing)? else {
            return Ok(None);
        };
        let part = |name: &'static str| {
            let shown = format!("{STORE_NAME}/{name}");
            let part = private_folder(folder.as_fd(), name, &shown, missing)?;
            part.ok_or(StoreError::Damaged { name: shown, why: "it is missing" })
        };
        let format = read_format(folder.as_fd())?;
        check_owner(folder.as_fd(), format.as_ref(), owner)?;
        if format.is_none() && missing == Missing::Leave {
            // The format is written last: this one is only being made.
            return Ok(None);
        }
        let (objects, tmp, log) = (part("objects")?, part("tmp")?, Arc::new(part("log")?));
        let (small_texts, packs) = (SmallTexts::default(), Mutex::default());
        let store = Self { folder, objects, tmp, log, temps: AtomicU64::new(0), small_texts, packs };
        if missing == Missing::Make {
            // The store ignores itself, so that no repository ever carries one.
            store.make(".gitignore", IGNORE_ALL)?;
        }
        if format.is_none() {
            let seal = owner.map(|owner| owner.seal(store.folder())).transpose();
            let seal = seal.map_err(|error| StoreError::from_io(&format!("{STORE_NAME}/format"), error))?;
            let seal = seal.map(|seal| format!("{seal}\n")).unwrap_or_default();
            store.make("format", &format!("{FORMAT}\n{seal}"))?;
            // Another may have been faster.
            let format = read_format(store.folder.as_fd())?;
            check_owner(store.folder(), format.as_ref(), owner)?;
        }
        Ok(Some(store))
    }

    /// Makes a small file in one step, unless it is there.
    fn make(&self, name: &str, content: &str) -> Result<(), StoreError> {
        let fail = |error| StoreError::from_io(&format!("{STORE_NAME}/{name}"), error);
        match rustix::fs::statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(_) => return Ok(()),
            Err(Errno::NOENT) => {}
            Err(errno) => return Err(fail(errno.into())),
        }
        let temp = Temp::create(self.tmp.as_fd(), "", Mode::RUSR | Mode::WUSR, &self.temps).map_err(fail)?;
        temp.file().write_all(content.as_bytes()).map_err(fail)?;
        temp.place(&self.folder, name).map_err(fail)?;
        Ok(())
    }
}

impl Root {
    /// Whether anything has the name of the store.
    #[must_use]
    pub fn has_store(&self) -> bool {
        let found = rustix::fs::statat(&self.dir, STORE_NAME, AtFlags::SYMLINK_NOFOLLOW);
        !found.is_err_and(|errno| errno == Errno::NOENT)
    }
}

/// Opens a folder that only this user can use. `None`: it is missing and not to be made.
fn private_folder(
    parent: BorrowedFd<'_>,
    name: &str,
    shown: &str,
    missing: Missing,
) -> Result<Option<OwnedFd>, StoreError> {
    let fail = |errno: Errno| StoreError::from_io(shown, errno.into());
    let mut opened = open_folder(parent, name);
    if missing == Missing::Make && matches!(opened, Err(Errno::NOENT)) {
        match rustix::fs::mkdirat(parent, name, Mode::RWXU) {
            // Another process may be quicker.
            Ok(()) | Err(Errno::EXIST) => opened = open_folder(parent, name),
            Err(errno) => return Err(fail(errno)),
        }
    }
    match opened {
        Ok(folder) => {
            check_private(folder.as_fd(), shown)?;
            Ok(Some(folder))
        }
        Err(Errno::NOENT) if missing == Missing::Leave => Ok(None),
        Err(Errno::NOTDIR | Errno::LOOP) => Err(not_a_folder(parent, name, shown)),
        Err(errno) => Err(fail(errno)),
    }
}

/// Opens or makes a folder that other programs use too.
fn shared_folder(parent: BorrowedFd<'_>, name: &str, shown: &str) -> Result<OwnedFd, StoreError> {
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

/// A folder beneath another, never through a link.
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

/// A store that others can write could vouch for what they like; one that others can read gives away what was read.
fn check_private(open: BorrowedFd<'_>, shown: &str) -> Result<(), StoreError> {
    is_private(&rustix::fs::fstat(open).map_err(|errno| StoreError::from_io(shown, errno.into()))?, shown)
}

fn is_private(found: &rustix::fs::Stat, shown: &str) -> Result<(), StoreError> {
    match Privacy::of(found.st_mode, found.st_uid) {
        Privacy::Private => Ok(()),
        Privacy::Open { mode } => Err(StoreError::NotPrivate { name: shown.to_owned(), mode }),
        Privacy::Foreign { uid } => Err(StoreError::NotOurs { name: shown.to_owned(), uid }),
    }
}

/// Who can use a file.
pub(crate) enum Privacy {
    /// Only this user.
    Private,
    /// Others too.
    Open {
        /// Its permissions.
        mode: u32,
    },
    /// It is another user's.
    Foreign {
        /// That user.
        uid: u32,
    },
}

impl Privacy {
    pub(crate) fn of(mode: u32, uid: u32) -> Self {
        if uid != rustix::process::geteuid().as_raw() {
            Self::Foreign { uid }
        } else if mode & 0o077 != 0 {
            Self::Open { mode: mode & 0o7777 }
        } else {
            Self::Private
        }
    }
}

/// What the format file says.
enum Format {
    /// That of the version before.
    Unsealed,
    /// This one, and the seal of whose it is; none where whoever made it did not care.
    Sealed(Option<String>),
}

/// Reads the format file. `None`: there is none.
fn read_format(folder: BorrowedFd<'_>) -> Result<Option<Format>, StoreError> {
    let shown = format!("{STORE_NAME}/format");
    let file = match rustix::fs::openat(folder, "format", READ_FLAGS, Mode::empty()) {
        Ok(fd) => File::from(fd),
        Err(Errno::NOENT) => return Ok(None),
        Err(errno) => return Err(StoreError::from_io(&shown, errno.into())),
    };
    let found = rustix::fs::fstat(&file).map_err(|errno| StoreError::from_io(&shown, errno.into()))?;
    if FileKind::of(found.st_mode).is_some() {
        return Err(StoreError::Damaged { name: shown, why: "it is no file" });
    }
    check_private(file.as_fd(), &shown)?;
    // Anything longer fails to parse.
    let bytes = read_at(&file, 0, FORMAT_BYTES + 1).map_err(|error| StoreError::from_io(&shown, error))?;
    let lines = str::from_utf8(&bytes).ok().and_then(|text| text.split_once('\n'));
    let number = lines.and_then(|(number, rest)| Some((number.parse::<u32>().ok()?, rest)));
    match number {
        Some((UNSEALED, "")) => Ok(Some(Format::Unsealed)),
        Some((FORMAT, "")) => Ok(Some(Format::Sealed(None))),
        Some((FORMAT, seal)) if seal.len() == 65 && seal.ends_with('\n') => {
            Ok(Some(Format::Sealed(Some(seal.trim_end().to_owned()))))
        }
        Some((found, _)) if found > FORMAT => Err(StoreError::Newer { found, known: FORMAT }),
        Some(_) | None => Err(StoreError::Damaged { name: shown, why: "it holds no known number" }),
    }
}

/// Whether a store may be relied on by this owner.
fn check_owner(folder: BorrowedFd<'_>, format: Option<&Format>, owner: Option<&Owner>) -> Result<(), StoreError> {
    let Some(owner) = owner else { return Ok(()) };
    let seal = match format {
        // One that is being made is empty. Another may have made it since its format was looked for.
        None if !owner::holds_something(folder) => return Ok(()),
        None => match read_format(folder)? {
            Some(Format::Sealed(Some(seal))) => seal,
            Some(Format::Sealed(None) | Format::Unsealed) | None => {
                return Err(StoreError::Foreign { why: Strange::Elsewhere });
            }
        },
        Some(Format::Unsealed) => return Err(StoreError::Foreign { why: Strange::Older }),
        Some(Format::Sealed(None)) => return Err(StoreError::Foreign { why: Strange::Elsewhere }),
        Some(Format::Sealed(Some(seal))) => seal.clone(),
    };
    let own = owner.seal(folder).map_err(|error| StoreError::from_io(STORE_NAME, error))?;
    if own == seal { Ok(()) } else { Err(StoreError::Foreign { why: Strange::Elsewhere }) }
}

/// Why a store is not this user's of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strange {
    /// It was made by another, on another machine, or in another folder.
    Elsewhere,
    /// It was made by a version that did not say whose it is.
    Older,
}

impl Strange {
    /// In words.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Elsewhere => "was not made in this folder by this user on this machine",
            Self::Older => "was made by an older version, which did not say whose it is",
        }
    }
}

/// How a file of the store is opened for reading: never through a link, never waiting.
pub(crate) const READ_FLAGS: OFlags =
    OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// The regular files in a folder of the store with their sizes, sorted by name.
pub(crate) fn entries(folder: BorrowedFd<'_>) -> Vec<(String, u64)> {
    let look = |name: String| {
        let stat = rustix::fs::statat(folder, &name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let len = u64::try_from(stat.st_size).ok()?;
        FileKind::of(stat.st_mode).is_none().then_some((name, len))
    };
    names(folder).into_iter().filter_map(look).collect()
}

/// The names in a folder of the store, sorted.
pub(crate) fn names(folder: BorrowedFd<'_>) -> Vec<String> {
    let Ok(dir) = rustix::fs::Dir::read_from(folder) else { return Vec::new() };
    let mut found: Vec<String> =
        dir.filter_map(|entry| Some(entry.ok()?.file_name().to_str().ok()?.to_owned())).collect();
    found.sort_unstable();
    found
}

/// Why there is no store to use. A read goes on without one.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A link could lead anywhere, now or later.
    #[error("`{name}` is a symbolic link; the store must be a directory of its own: remove the link")]
    LinkOut {
        /// The link.
        name: String,
    },
    /// Something else has its name.
    #[error("`{name}` is not a directory; move it away so that the store can be made")]
    NotAFolder {
        /// What is in the way.
        name: String,
    },
    /// Others can use it.
    #[error(
        "`{name}` can be used by others (mode {mode:04o}), so nothing in it is trusted; if it is yours, run \
         `chmod -R go= {}`, else delete it",
        folder_of(name)
    )]
    NotPrivate {
        /// The part of the store.
        name: String,
        /// Its permissions.
        mode: u32,
    },
    /// It is another user's.
    #[error("`{name}` belongs to user {uid}, so nothing in it is trusted; delete it or run as that user")]
    NotOurs {
        /// The part of the store.
        name: String,
        /// Its owner.
        uid: u32,
    },
    /// Nobody knows who wrote what it says.
    #[error("the store `.readproof` {}, so nothing in it counts; delete it or let it be put aside", .why.as_str())]
    Foreign {
        /// Why.
        why: Strange,
    },
    /// As before, too often.
    #[error(
        "`.readproof` was not made here, and as many as are kept were put aside already; delete `.readproof/foreign-*`"
    )]
    TooManyAside,
    /// There is no place for the id that stores are known by.
    #[error(
        "no folder of this user outside the workspace can keep the id by which its stores are known; set \
         READPROOF_STATE_DIR to one"
    )]
    NoOwner,
    /// Made by a later version.
    #[error("the store has format {found}, this program knows {known}; use a newer readproof or delete `.readproof`")]
    Newer {
        /// In the store.
        found: u32,
        /// By this program.
        known: u32,
    },
    /// Not as it was made.
    #[error("the store is damaged at `{name}`: {why}; delete `{}` to begin anew", folder_of(name))]
    Damaged {
        /// The part of the store.
        name: String,
        /// What is wrong.
        why: &'static str,
    },
    /// It was there.
    #[error("`{name}` was removed while in use; open the store again")]
    Gone {
        /// The part of the store.
        name: String,
    },
    /// Another uses it.
    #[error("`{name}` is kept locked by another process; try again")]
    Busy {
        /// The part of the store.
        name: String,
    },
    /// No writes.
    #[error("`{name}` lies on a read-only file system; nothing is kept until it can be written")]
    ReadOnly {
        /// The part of the store.
        name: String,
    },
    /// No space.
    #[error("there is no space left for `{name}`; free some or delete `{}`", folder_of(name))]
    Full {
        /// The part of the store.
        name: String,
    },
    /// Permissions.
    #[error("`{name}` may not be used by this user; change its permissions or those of the workspace")]
    Denied {
        /// The part of the store.
        name: String,
    },
    /// Anything else.
    #[error("`{name}` cannot be used: {source}; check it or delete `{}`", folder_of(name))]
    Io {
        /// The part of the store.
        name: String,
        /// What the system said.
        source: io::Error,
    },
}

/// The folder that may be deleted whole: our own, or the one of ours in another tool's.
fn folder_of(name: &str) -> &str {
    let depth = usize::from(!name.starts_with(STORE_NAME));
    name.match_indices('/').nth(depth).map_or(name, |(end, _)| &name[..end])
}

impl StoreError {
    pub(crate) fn from_io(name: &str, source: io::Error) -> Self {
        let name = name.to_owned();
        match Fault::of(&source) {
            Fault::Missing => Self::Gone { name },
            Fault::LinkOut | Fault::LinkLoop => Self::LinkOut { name },
            Fault::NotFolder => Self::NotAFolder { name },
            Fault::Denied => Self::Denied { name },
            Fault::ReadOnly => Self::ReadOnly { name },
            Fault::Full => Self::Full { name },
            Fault::TooLong | Fault::Other => Self::Io { name, source },
        }
    }
}
