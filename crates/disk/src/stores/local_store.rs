//! The `.readproof` directory of a workspace: made private, and refused when it is not. Opened beneath the root and never
//! through a link, because a cloned repository could bring one. Knows the layout; never what is in an object or a log.

mod database;
mod folder;
mod format;
mod owner;

pub use database::database_in_memory;
pub use folder::is_folder;
pub(super) use folder::{Privacy, entries, is_private, shared_folder};
pub(crate) use folder::{READ_FLAGS, names, open_folder, private_folder, remove};
pub use owner::{user_id, user_name};

use std::{
    fs::File,
    io::Write,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError, atomic::AtomicU64},
};

use rustix::fs::{Access, AtFlags, Mode};

use self::owner::Owner;
use super::{
    AuditParts, Create, Database, Leases, LogError, LogName, Logs, Objects, OpenedStore, PutAside, RetiredLog, Store,
    StoreError, Stores, Usage,
    local_leases::LocalLeases,
    local_logs::{LocalAudit, LocalLogs},
    local_objects::LocalObjects,
};
use crate::{fault::missing_or, replace::temp::Temp, root::Root, snapshot::bytes::read_at};

/// The name of the directory.
pub const STORE_NAME: &str = ".readproof";

/// What makes git ignore a folder.
pub(super) const IGNORE_ALL: &str = "*\n";

/// How small texts are stored. Both kinds are found, however they were stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SmallTexts {
    /// Each in a file of its own: for a program that stores one and ends.
    #[default]
    Apart,
    /// Many to a file, which takes a fraction of the time: for a program that lives long.
    Together,
}

/// Whose store counts. An archive or clone from a stranger may bring one that claims anything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Whose {
    /// Anyone's: for a workspace that no stranger has touched.
    #[default]
    Anyones,
    /// Only this user's on this machine, by an id that is kept in the first of these folders that can be used.
    Kept(Vec<PathBuf>),
}

impl Whose {
    /// The folders that have to be readable so that a store counts. The id is created now if there is none, so that nothing has
    /// to be written there later.
    #[must_use]
    pub fn settled(&self, root: &Root) -> &[PathBuf] {
        match self {
            Self::Anyones => &[],
            Self::Kept(folders) => {
                // Without one, nothing is remembered, and whoever opens the store says so.
                drop(Owner::of(root, folders));
                folders
            }
        }
    }
}

/// Opens the local store of one workspace.
#[derive(Debug)]
pub struct LocalStores {
    root: Root,
    whose: Whose,
    small_texts: SmallTexts,
    /// Looked up when a store is first opened.
    owner: Mutex<Option<Arc<Owner>>>,
}

impl LocalStores {
    /// The stores of this workspace. Opens and creates nothing yet.
    #[must_use]
    pub fn new(root: &Root, whose: Whose, small_texts: SmallTexts) -> Self {
        Self { root: root.unguarded(), whose, small_texts, owner: Mutex::default() }
    }

    fn owner(&self) -> Result<Option<Arc<Owner>>, StoreError> {
        let Whose::Kept(folders) = &self.whose else { return Ok(None) };
        let mut owner = self.owner.lock().unwrap_or_else(PoisonError::into_inner);
        if owner.is_none() {
            *owner = Some(Arc::new(Owner::of(&self.root, folders)?));
        }
        Ok(owner.clone())
    }

    fn open_of(&self, create: Create, owner: Option<&Owner>) -> Result<Option<LocalStore>, StoreError> {
        let opened = LocalStore::open_with(&self.root, create, owner)?;
        Ok(opened.map(|store| store.with_small_texts(self.small_texts)))
    }

    /// Whether anything has the name of the store.
    fn is_there(&self) -> bool {
        let found = rustix::fs::statat(&self.root.dir, STORE_NAME, AtFlags::SYMLINK_NOFOLLOW);
        !matches!(missing_or(found), Ok(None))
    }
}

impl Stores for LocalStores {
    fn open(&self, create: Create) -> Result<Option<OpenedStore>, StoreError> {
        if create == Create::No && !self.is_there() {
            return Ok(None);
        }
        let owner = self.owner()?;
        let opened = |store: LocalStore, put_aside| OpenedStore { store: Arc::new(store), put_aside };
        match (self.open_of(create, owner.as_deref()), owner.as_deref()) {
            (Err(StoreError::Foreign { why }), Some(owner)) if create == Create::Yes => {
                let aside = owner::put_aside(&self.root, owner)?.map(|aside| PutAside { why, aside });
                Ok(self.open_of(create, Some(owner))?.map(|store| opened(store, aside)))
            }
            (store, _) => Ok(store?.map(|store| opened(store, None))),
        }
    }

    fn retire(&self, log: &LogName) -> Result<Option<RetiredLog>, LogError> {
        let folder = open_folder(self.root.dir.as_fd(), STORE_NAME);
        let folder = missing_or(folder.and_then(|folder| open_folder(folder.as_fd(), "log")));
        match folder.map_err(|errno| LogError::from_io(log, errno.into()))? {
            Some(folder) => LocalLogs::new(Arc::new(folder)).retire(log),
            None => Ok(None),
        }
    }

    fn host_objects(&self, under: &[&str], create: Create) -> Result<Option<Arc<dyn Objects>>, StoreError> {
        let objects = match create {
            Create::Yes => Some(LocalObjects::make_beneath(&self.root, under)?),
            Create::No => LocalObjects::beneath(&self.root, under),
        };
        Ok(objects.map(|objects| Arc::new(objects) as Arc<dyn Objects>))
    }
}

/// An open `.readproof` directory.
#[derive(Debug)]
pub struct LocalStore {
    /// Its path, for SQLite, which opens files by path.
    path: PathBuf,
    folder: Arc<OwnedFd>,
    tmp: Arc<OwnedFd>,
    log: Arc<OwnedFd>,
    objects: LocalObjects,
    logs: LocalLogs,
    leases: LocalLeases,
}

impl LocalStore {
    /// Opens the store of a workspace, no matter who made it, and creates what is missing. An existing store is opened without
    /// a write.
    ///
    /// # Errors
    /// [`StoreError`]; the caller can go on without a store.
    pub fn open(root: &Root) -> Result<Self, StoreError> {
        let gone = || StoreError::Gone { name: STORE_NAME.to_owned() };
        Self::open_with(root, Create::Yes, None)?.ok_or_else(gone)
    }

    /// The same if there is one; never creates or changes anything.
    ///
    /// # Errors
    /// [`StoreError`], also when a part of the store is missing.
    pub fn open_existing(root: &Root) -> Result<Option<Self>, StoreError> {
        Self::open_with(root, Create::No, None)
    }

    /// Stores small texts like this from now on.
    #[must_use]
    pub fn with_small_texts(self, small_texts: SmallTexts) -> Self {
        Self { objects: self.objects.with_small_texts(small_texts), ..self }
    }

    fn open_with(root: &Root, create: Create, owner: Option<&Owner>) -> Result<Option<Self>, StoreError> {
        let Some(folder) = private_folder(root.dir.as_fd(), STORE_NAME, STORE_NAME, create)? else {
            return Ok(None);
        };
        let part = |name: &'static str| {
            let shown = format!("{STORE_NAME}/{name}");
            let part = private_folder(folder.as_fd(), name, &shown, create)?;
            part.ok_or(StoreError::Damaged { name: shown, why: "it is missing" })
        };
        let format = format::read(folder.as_fd())?;
        format::check_owner(folder.as_fd(), format.as_ref(), owner)?;
        if format.is_none() && create == Create::No {
            // The format is written last: this one is only being made.
            return Ok(None);
        }
        let part = |name| part(name).map(Arc::new);
        let (objects, tmp, log) = (part("objects")?, part("tmp")?, part("log")?);
        let store = Self {
            path: root.path().join(STORE_NAME),
            objects: LocalObjects::of_store(Arc::clone(&objects), Arc::clone(&tmp)),
            logs: LocalLogs::new(Arc::clone(&log)),
            leases: LocalLeases::new(Arc::clone(&log), Arc::clone(&tmp), objects),
            folder: Arc::new(folder),
            tmp,
            log,
        };
        if create == Create::Yes {
            // The store ignores itself, so that no repository ever carries one.
            store.make(".gitignore", IGNORE_ALL)?;
        }
        if format.is_none() {
            store.make("format", &format::content(store.folder(), owner)?)?;
            // Another process may have been faster.
            format::check_owner(store.folder(), format::read(store.folder())?.as_ref(), owner)?;
        }
        Ok(Some(store))
    }

    /// Makes a small file in one step, unless it is there.
    fn make(&self, name: &str, content: &str) -> Result<(), StoreError> {
        let fail = |error| StoreError::from_io(&format!("{STORE_NAME}/{name}"), error);
        let found = missing_or(rustix::fs::statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW));
        if found.map_err(|errno| fail(errno.into()))?.is_some() {
            return Ok(());
        }
        let temp = Temp::create(self.tmp.as_fd(), "", Mode::RUSR | Mode::WUSR, &AtomicU64::new(0)).map_err(fail)?;
        temp.file().write_all(content.as_bytes()).map_err(fail)?;
        temp.place(&self.folder, name).map_err(fail)?;
        Ok(())
    }

    fn folder(&self) -> BorrowedFd<'_> {
        self.folder.as_fd()
    }
}

impl Store for LocalStore {
    fn objects(&self) -> &dyn Objects {
        &self.objects
    }

    fn logs(&self) -> &dyn Logs {
        &self.logs
    }

    fn leases(&self) -> &dyn Leases {
        &self.leases
    }

    fn audit(&self, create: Create) -> Result<Option<Arc<dyn AuditParts>>, StoreError> {
        let found = LocalAudit::open(&self.folder, &self.tmp, create)?;
        Ok(found.map(|log| Arc::new(log) as Arc<dyn AuditParts>))
    }

    fn usage(&self) -> Usage {
        let mut usage = Usage::default();
        for object in self.objects.stored() {
            usage.objects += 1;
            usage.object_bytes += object.bytes;
        }
        for (_, bytes) in self.logs.sizes() {
            usage.logs += 1;
            usage.log_bytes += bytes;
        }
        usage
    }

    fn refuses(&self) -> Option<StoreError> {
        let parts = [(self.objects.folder(), "objects"), (self.tmp.as_fd(), "tmp"), (self.log.as_fd(), "log")];
        parts.into_iter().find_map(|(folder, part)| {
            let wanted = Access::WRITE_OK | Access::EXEC_OK;
            let refused = rustix::fs::accessat(folder, ".", wanted, AtFlags::EACCESS).err()?;
            Some(StoreError::from_io(&format!("{STORE_NAME}/{part}"), refused.into()))
        })
    }

    fn ignores_itself(&self) -> bool {
        let opened = rustix::fs::openat(self.folder(), ".gitignore", READ_FLAGS, Mode::empty());
        let bytes = opened.ok().and_then(|fd| read_at(&File::from(fd), 0, 16).ok());
        bytes.is_some_and(|bytes| bytes == IGNORE_ALL.as_bytes())
    }

    fn aside(&self) -> Vec<String> {
        owner::aside(self.folder())
    }

    fn database(&self, name: &str) -> Result<Database, StoreError> {
        database::open(self.folder(), &self.path, name)
    }

    fn databases(&self) -> Vec<String> {
        names(self.folder()).into_iter().filter(|name| name.ends_with(".db")).collect()
    }

    fn remove_database(&self, name: &str) -> Result<(), StoreError> {
        database::remove(self.folder(), name)
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
