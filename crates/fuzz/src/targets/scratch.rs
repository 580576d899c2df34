//! A folder for files that targets read: in memory where the system supports it, one per thread, removed at the end.

use std::{
    cell::RefCell,
    fs::{File, OpenOptions},
    io,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use readproof_disk::{Create, LocalStore, LogName, Root, SessionName, Store};
use tempfile::TempDir;

/// A store with the log of one session, and a transcript beside it.
pub(super) struct Scratch {
    pub(super) store: LocalStore,
    pub(super) session: SessionName,
    pub(super) fork: SessionName,
    pub(super) log: Rewritten,
    pub(super) transcript: Rewritten,
    fork_path: PathBuf,
    folder: TempDir,
}

/// A file that is rewritten for every input.
pub(super) struct Rewritten {
    pub(super) path: PathBuf,
    file: File,
}

impl Rewritten {
    fn new(path: PathBuf) -> io::Result<Self> {
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(&path)?;
        Ok(Self { path, file })
    }

    /// Replaces its content.
    pub(super) fn set(&self, bytes: &[u8]) {
        held(self.file.set_len(0).and_then(|()| self.file.write_all_at(bytes, 0)));
    }

    /// Overwrites or appends.
    pub(super) fn put(&self, at: usize, bytes: &[u8]) {
        held(self.file.write_all_at(bytes, at as u64));
    }
}

impl Scratch {
    fn new() -> Result<Self, Box<dyn std::error::Error>> {
        let memory = Path::new("/dev/shm");
        let folder = tempfile::tempdir_in(memory).or_else(|_| tempfile::tempdir())?;
        let store = LocalStore::open(&Root::open(folder.path())?)?;
        let (session, fork) = (SessionName::parse("s")?, SessionName::parse("fork")?);
        store.logs().open(&LogName::from(&session), Create::Yes)?;
        let logs = folder.path().join(readproof_disk::STORE_NAME).join("log");
        Ok(Self {
            log: Rewritten::new(logs.join("s.log"))?,
            transcript: Rewritten::new(folder.path().join("transcript"))?,
            fork_path: logs.join("fork.log"),
            folder,
            store,
            session,
            fork,
        })
    }

    /// The workspace of the store.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Removes the log of the fork.
    pub(super) fn drop_fork(&self) {
        held(std::fs::remove_file(&self.fork_path));
    }
}

/// Nobody else uses the folder, so a failure here is the machine's.
fn held<T>(result: io::Result<T>) -> T {
    result.unwrap_or_else(|error| panic!("the scratch folder cannot be used: {error}"))
}

thread_local! {
    static SCRATCH: RefCell<Option<Scratch>> = const { RefCell::new(None) };
}

/// Runs with this thread's folder.
pub(super) fn with<T>(use_it: impl FnOnce(&Scratch) -> T) -> T {
    SCRATCH.with_borrow_mut(|slot| {
        let made = || Scratch::new().unwrap_or_else(|error| panic!("no scratch folder: {error}"));
        use_it(slot.get_or_insert_with(made))
    })
}
