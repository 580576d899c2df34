//! The traits of a store and of where stores come from. A store is opened only if it may be relied on: what one says that
//! another user, machine or folder made counts for nothing.

use std::{fmt, sync::Arc};

use super::{AuditParts, Leases, LogError, LogName, Logs, Objects, RetiredLog, StoreError};

/// A SQLite database.
pub type Database = rusqlite::Connection;

/// Everything that is remembered of one workspace. Shared by threads, and several processes may use one.
pub trait Store: fmt::Debug + Send + Sync {
    /// The stored texts.
    fn objects(&self) -> &dyn Objects;

    /// The append-only logs.
    fn logs(&self) -> &dyn Logs;

    /// The rights that one holder at a time has.
    fn leases(&self) -> &dyn Leases;

    /// The audit log; `None` if there is none and none is to be made.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be used.
    fn audit(&self, create: Create) -> Result<Option<Arc<dyn AuditParts>>, StoreError>;

    /// How much is in it. What cannot be looked at is not counted.
    fn usage(&self) -> Usage;

    /// Why nothing can be kept in it, as far as can be told without trying: read-only, or permissions.
    fn refuses(&self) -> Option<StoreError>;

    /// Whether git ignores it, as it was made to.
    fn ignores_itself(&self) -> bool;

    /// The stores that were put aside in this one because they may not be relied on, by name.
    fn aside(&self) -> Vec<String>;

    /// Opens a database of this machine, for what can be made again at any time; it is made if need be.
    ///
    /// # Errors
    /// [`StoreError`]; the caller can do without it.
    fn database(&self, name: &str) -> Result<Database, StoreError>;

    /// The names of the databases there are.
    fn databases(&self) -> Vec<String>;

    /// Removes a database that cannot be used. Whoever has it open goes on without it.
    ///
    /// # Errors
    /// [`StoreError`] when it is still there.
    fn remove_database(&self, name: &str) -> Result<(), StoreError>;
}

/// Where the store of a workspace comes from.
pub trait Stores: fmt::Debug + Send + Sync {
    /// Opens the store if it may be relied on; `None` when there is none and none is to be made. With [`Create::Yes`] a
    /// store that may not be relied on is put aside and another one begun.
    ///
    /// # Errors
    /// [`StoreError`]; the caller can go on without a store.
    fn open(&self, create: Create) -> Result<Option<OpenedStore>, StoreError>;

    /// Takes a log out of use for everyone who has it open, because it missed something that happened: what it says last is
    /// no longer true. It is kept as evidence, unless it says nothing, and its name is free again. Works on a store that
    /// [`Self::open`] refuses, and needs no space. `None`: nothing was kept.
    ///
    /// # Errors
    /// [`LogError`] when the system does not let it.
    fn retire(&self, log: &LogName) -> Result<Option<RetiredLog>, LogError>;

    /// The texts in a folder beneath the workspace that a host shares with other tools: each is verified against its name,
    /// so it does not matter who wrote it. `None` when there is no such folder and none is to be made.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be made, or others can use it.
    fn host_objects(&self, under: &[&str], create: Create) -> Result<Option<Arc<dyn Objects>>, StoreError>;
}

/// Whether what is missing is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Create {
    /// It is made, empty.
    Yes,
    /// It is left missing.
    No,
}

/// A store that may be relied on.
#[derive(Clone, Debug)]
pub struct OpenedStore {
    pub store: Arc<dyn Store>,
    /// What was put aside to make room for it.
    pub put_aside: Option<PutAside>,
}

/// A store that may not be relied on and was put aside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PutAside {
    /// Why it may not.
    pub why: Strange,
    /// Where it is now, seen from the workspace.
    pub aside: String,
}

/// Why a store may not be relied on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strange {
    /// It was made by another user, on another machine, or in another folder.
    Elsewhere,
    /// It was made by a version that did not record its owner.
    Older,
}

impl Strange {
    /// The predicate of a sentence about the store.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Elsewhere => "was not made in this folder by this user on this machine",
            Self::Older => "was made by an older version, which did not say whose it is",
        }
    }
}

/// How much a store holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// The number of stored texts.
    pub objects: u64,
    /// Their bytes.
    pub object_bytes: u64,
    /// The number of logs in use.
    pub logs: u64,
    /// Their bytes.
    pub log_bytes: u64,
}
