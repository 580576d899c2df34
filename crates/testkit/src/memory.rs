//! A store in memory, for the traits of `disk`: the random runs must hold with it as they do with files. Engines that share
//! one [`MemoryStores`] share what they remember, as processes share a disk. Outside hands reach the stored bytes through
//! [`MemoryObjects`]. Never part of the program.

mod audit;
mod logs;
mod objects;

pub use objects::MemoryObjects;

use readproof_disk::{
    AuditParts, Create, Database, Lease, Leases, LogError, LogName, Logs, Objects, OpenedStore, RetiredLog, Right,
    Store, StoreError, Stores, Usage, database_in_memory,
};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use self::{audit::MemoryAudit, logs::MemoryLogs};

/// How often a right is tried, one millisecond apart.
const TRIES: u32 = 1000;

/// What is remembered of one workspace. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct MemoryStores(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    /// Once it was made.
    store: Mutex<Option<Arc<MemoryStore>>>,
    /// The texts of hosts, by their folder.
    hosts: Mutex<BTreeMap<String, Arc<MemoryObjects>>>,
}

impl MemoryStores {
    /// The stored texts; those of a host if its folder is named. `None` until there are any.
    #[must_use]
    pub fn texts(&self, under: Option<&[&str]>) -> Option<Arc<MemoryObjects>> {
        match under {
            None => locked(&self.0.store).as_ref().map(|store| Arc::clone(&store.objects)),
            Some(under) => locked(&self.0.hosts).get(&under.join("/")).cloned(),
        }
    }
}

impl Stores for MemoryStores {
    fn open(&self, create: Create) -> Result<Option<OpenedStore>, StoreError> {
        let mut store = locked(&self.0.store);
        if store.is_none() && create == Create::Yes {
            *store = Some(Arc::default());
        }
        let opened = |store: &Arc<MemoryStore>| OpenedStore { store: store.clone(), put_aside: None };
        Ok(store.as_ref().map(opened))
    }

    fn retire(&self, log: &LogName) -> Result<Option<RetiredLog>, LogError> {
        let Some(store) = locked(&self.0.store).clone() else { return Ok(None) };
        let _lease = store.leases.take(Right::RetireLogs);
        Ok(store.logs.retire(log))
    }

    fn host_objects(&self, under: &[&str], create: Create) -> Result<Option<Arc<dyn Objects>>, StoreError> {
        let mut hosts = locked(&self.0.hosts);
        if create == Create::Yes {
            hosts.entry(under.join("/")).or_default();
        }
        Ok(hosts.get(&under.join("/")).map(|objects| Arc::clone(objects) as Arc<dyn Objects>))
    }
}

#[derive(Debug, Default)]
struct MemoryStore {
    objects: Arc<MemoryObjects>,
    logs: MemoryLogs,
    leases: MemoryLeases,
    /// Once it was made.
    audit: Mutex<Option<Arc<MemoryAudit>>>,
}

impl Store for MemoryStore {
    fn objects(&self) -> &dyn Objects {
        &*self.objects
    }

    fn logs(&self) -> &dyn Logs {
        &self.logs
    }

    fn leases(&self) -> &dyn Leases {
        &self.leases
    }

    fn audit(&self, create: Create) -> Result<Option<Arc<dyn AuditParts>>, StoreError> {
        let mut audit = locked(&self.audit);
        if create == Create::Yes {
            audit.get_or_insert_default();
        }
        Ok(audit.as_ref().map(|log| Arc::clone(log) as Arc<dyn AuditParts>))
    }

    fn usage(&self) -> Usage {
        let (stored, (logs, log_bytes)) = (self.objects.stored(), self.logs.usage());
        Usage {
            objects: stored.len() as u64,
            object_bytes: stored.iter().map(|object| object.bytes).sum(),
            logs,
            log_bytes,
        }
    }

    fn refuses(&self) -> Option<StoreError> {
        None
    }

    fn ignores_itself(&self) -> bool {
        true
    }

    fn aside(&self) -> Vec<String> {
        Vec::new()
    }

    /// Each one is empty: it holds only what can be made again.
    fn database(&self, name: &str) -> Result<Database, StoreError> {
        let unusable = |_| StoreError::Damaged { name: name.to_owned(), why: "SQLite cannot open it" };
        database_in_memory().map_err(unusable)
    }

    fn databases(&self) -> Vec<String> {
        Vec::new()
    }

    fn remove_database(&self, _: &str) -> Result<(), StoreError> {
        Ok(())
    }
}

/// The rights that are held, and how often.
#[derive(Clone, Debug, Default)]
struct MemoryLeases(Arc<Mutex<BTreeMap<Right, usize>>>);

#[derive(Debug)]
struct MemoryLease {
    right: Right,
    held: MemoryLeases,
}

impl Leases for MemoryLeases {
    fn take(&self, right: Right) -> Result<Box<dyn Lease>, StoreError> {
        for _ in 0..TRIES {
            if grants(&mut locked(&self.0), right) {
                return Ok(Box::new(MemoryLease { right, held: self.clone() }));
            }
            thread::sleep(Duration::from_millis(1));
        }
        Err(StoreError::Busy { name: format!("{right:?}") })
    }

    fn wait(&self, right: Right) -> Result<Box<dyn Lease>, StoreError> {
        loop {
            match self.take(right) {
                Err(StoreError::Busy { .. }) => {}
                taken => return taken,
            }
        }
    }
}

/// Takes a right unless one is held that excludes it.
fn grants(held: &mut BTreeMap<Right, usize>, right: Right) -> bool {
    let excluded: &[Right] = match right {
        Right::KeepTexts => &[Right::EraseTexts],
        Right::EraseTexts => &[Right::KeepTexts, Right::EraseTexts],
        Right::RetireLogs | Right::Watch => &[right],
    };
    let is_free = excluded.iter().all(|other| !held.contains_key(other));
    if is_free {
        *held.entry(right).or_default() += 1;
    }
    is_free
}

impl Lease for MemoryLease {}

impl Drop for MemoryLease {
    fn drop(&mut self) {
        let mut held = locked(&self.held.0);
        if let Some(count) = held.get_mut(&self.right) {
            *count -= 1;
        }
        held.retain(|_, count| *count > 0);
    }
}

/// Nothing here is left half done by a panic.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
