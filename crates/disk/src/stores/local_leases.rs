//! Leases on local files: a `flock`, which the system releases when its holder ends. It is taken on a part of the
//! store that exists anyway, so it needs no space and leaves nothing behind.

use std::{
    fs::{File, TryLockError},
    io,
    os::fd::{AsFd, OwnedFd},
    sync::Arc,
    thread,
    time::Duration,
};

use super::{
    leases::{Lease, Leases, Right},
    local_store::{STORE_NAME, open_folder},
    store_error::StoreError,
};

/// How often a lock is tried, one millisecond apart. An append takes microseconds.
const LOCK_TRIES: u32 = 1000;

/// The leases of one local store.
#[derive(Debug)]
pub(super) struct LocalLeases {
    /// The folder of the logs.
    logs: Arc<OwnedFd>,
    /// The folder of temporary files.
    tmp: Arc<OwnedFd>,
    /// The folder of the stored texts.
    objects: Arc<OwnedFd>,
}

/// A folder that is locked while this is open.
#[derive(Debug)]
struct LocalLease {
    _locked: File,
}

impl Lease for LocalLease {}

impl LocalLeases {
    pub(super) fn new(logs: Arc<OwnedFd>, tmp: Arc<OwnedFd>, objects: Arc<OwnedFd>) -> Self {
        Self { logs, tmp, objects }
    }

    fn place(&self, right: Right) -> (&OwnedFd, &'static str) {
        match right {
            Right::RetireLogs => (&self.logs, LOGS),
            Right::Watch => (&self.tmp, "tmp"),
            Right::KeepTexts | Right::EraseTexts => (&self.objects, "objects"),
        }
    }
}

/// Whether others may have the same right at the same time.
fn is_shared(right: Right) -> bool {
    match right {
        Right::KeepTexts => true,
        Right::RetireLogs | Right::Watch | Right::EraseTexts => false,
    }
}

const LOGS: &str = "log";

impl Leases for LocalLeases {
    fn take(&self, right: Right) -> Result<Box<dyn Lease>, StoreError> {
        let (folder, name) = self.place(right);
        match is_shared(right) {
            true => granted(folder, name, |file| tried(|| file.try_lock_shared(), LOCK_TRIES)),
            false => granted(folder, name, lock),
        }
    }

    fn wait(&self, right: Right) -> Result<Box<dyn Lease>, StoreError> {
        let (folder, name) = self.place(right);
        granted(folder, name, |file| {
            let locked = if is_shared(right) { file.lock_shared() } else { file.lock() };
            locked.map_err(LockError::Io)
        })
    }
}

/// The right to put logs of this folder aside, whatever the state of the store around it.
pub(super) fn to_retire_logs(logs: &OwnedFd) -> Result<Box<dyn Lease>, StoreError> {
    granted(logs, LOGS, lock)
}

/// Waits for the exclusive right to a folder of the store, as long as it takes.
pub(super) fn wait_for(folder: &OwnedFd, name: &str) -> Result<Box<dyn Lease>, StoreError> {
    granted(folder, name, |file| file.lock().map_err(LockError::Io))
}

fn granted(
    folder: &OwnedFd,
    name: &str,
    lock: impl FnOnce(&File) -> Result<(), LockError>,
) -> Result<Box<dyn Lease>, StoreError> {
    let shown = || format!("{STORE_NAME}/{name}");
    // A handle of its own: a lock belongs to the open file, and this one is shared.
    let opened = open_folder(folder.as_fd(), ".").map_err(|errno| StoreError::from_io(&shown(), errno.into()))?;
    let file = File::from(opened);
    match lock(&file) {
        Ok(()) => Ok(Box::new(LocalLease { _locked: file })),
        Err(LockError::Busy) => Err(StoreError::Busy { name: shown() }),
        Err(LockError::Io(error)) => Err(StoreError::from_io(&shown(), error)),
    }
}

/// Why a file was not locked.
#[derive(Debug)]
pub(super) enum LockError {
    /// Another kept it locked all the time.
    Busy,
    Io(io::Error),
}

/// Waits up to about a second for the exclusive lock of a file. Closing the file releases it.
pub(super) fn lock(file: &File) -> Result<(), LockError> {
    lock_within(file, LOCK_TRIES)
}

pub(super) fn lock_within(file: &File, tries: u32) -> Result<(), LockError> {
    tried(|| file.try_lock(), tries)
}

fn tried(lock: impl Fn() -> Result<(), TryLockError>, tries: u32) -> Result<(), LockError> {
    for _ in 0..tries {
        match lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(1)),
            Err(TryLockError::Error(error)) => return Err(LockError::Io(error)),
        }
    }
    Err(LockError::Busy)
}
