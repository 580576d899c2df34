//! A workspace of its own for each test, and what several test files do in it.
#![allow(clippy::unwrap_used, reason = "a test helper")]
#![allow(dead_code, unreachable_pub, reason = "each test file uses a part of it")]

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use readproof_core::text::Text;
use readproof_disk::{Create, FileRef, LocalStore, Log, LogError, LogName, Payload, Root, SessionName, Store};

pub struct World {
    /// Removed with the world.
    temp: tempfile::TempDir,
    pub root: Root,
}

impl World {
    pub fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let root = Root::open(temp.path()).unwrap();
        Self { temp, root }
    }

    pub fn path(&self) -> &Path {
        self.temp.path()
    }

    /// Where a name of the workspace lies.
    pub fn at(&self, name: &str) -> PathBuf {
        self.temp.path().join(name)
    }

    /// The absolute name, as a caller would write it.
    pub fn name(&self, name: &str) -> String {
        format!("{}/{name}", self.root.path().display())
    }

    pub fn file(&self, name: &str) -> FileRef {
        self.root.locate_new(&[self.name(name)]).unwrap()
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.at(name), content).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.at(name)).unwrap()
    }

    /// Everything in a folder, sorted, our own names included.
    pub fn names(&self, folder: &str) -> Vec<String> {
        let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
        let mut names: Vec<String> = fs::read_dir(self.at(folder)).unwrap().map(name).collect();
        names.sort();
        names
    }

    pub fn store(&self) -> LocalStore {
        LocalStore::open(&self.root).unwrap()
    }

    /// How many temporary files the store has.
    pub fn temps(&self) -> usize {
        self.names(".readproof/tmp").len()
    }
}

pub fn text(content: &str) -> Text {
    Text::new(content.to_owned())
}

pub fn session() -> LogName {
    LogName::Session(SessionName::parse("s").unwrap())
}

/// The log of the one session, made if need be.
pub fn open_log(store: &LocalStore) -> Box<dyn Log> {
    store.logs().open(&session(), Create::Yes).unwrap().unwrap()
}

/// Appends whatever others append meanwhile.
pub fn append(log: &mut dyn Log, payload: &str) -> u64 {
    loop {
        log.catch_up().unwrap();
        match log.append(payload) {
            Err(LogError::Behind { .. }) => {}
            appended => return appended.unwrap(),
        }
    }
}

pub fn texts(payloads: &[Payload]) -> Vec<&str> {
    payloads.iter().map(|payload| payload.text.as_str()).collect()
}
