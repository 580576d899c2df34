//! Where a run keeps what the product remembers, and how outside hands reach the stored texts there.

use readproof_core::{path::Bearings, text::ContentHash};
use readproof_disk::{Objects, Root};
use readproof_engine::{Auditing, CallLog, Clock, Engine, Settings};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::Broken;
use crate::{
    memory::{MemoryObjects, MemoryStores},
    op::Random,
};

/// Where the product keeps what it remembers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    /// In files beneath the workspace.
    #[default]
    OnDisk,
    /// In memory; engines that begin later find it there.
    InMemory,
}

/// The same, begun.
#[derive(Clone, Debug)]
pub(crate) enum Kept {
    OnDisk,
    InMemory(MemoryStores),
}

impl Kept {
    pub(crate) fn new(keep: Keep) -> Self {
        match keep {
            Keep::OnDisk => Self::OnDisk,
            Keep::InMemory => Self::InMemory(MemoryStores::default()),
        }
    }

    /// An engine that keeps things here, with an audit if the settings say so. Its clock stands still.
    pub(crate) fn engine(&self, root: &Path, cwd: String, settings: &Settings) -> Result<Engine, Broken> {
        self.engine_with(root, cwd, settings, Box::new(|| 0))
    }

    /// The same with this clock.
    pub(crate) fn engine_with(
        &self,
        root: &Path,
        cwd: String,
        settings: &Settings,
        clock: Clock,
    ) -> Result<Engine, Broken> {
        let (bearings, root) = (Bearings { cwd, home: None }, Root::open(root)?);
        let settings = settings.clone();
        let engine = match self {
            Self::OnDisk => Engine::new(root, bearings, settings, clock)?,
            Self::InMemory(stores) => Engine::with_stores(root, bearings, settings, clock, Arc::new(stores.clone()))?,
        };
        Ok(engine.with_audit(None))
    }

    /// The stored texts: files in `folder` beneath the workspace, or in memory those of the host with that folder.
    pub(crate) fn texts(&self, root: &Path, folder: &[&str]) -> Texts {
        match self {
            Self::OnDisk => Texts::Files(root.join(folder.join("/"))),
            Self::InMemory(stores) if folder == OWN_TEXTS => Texts::Memory(stores.texts(None)),
            Self::InMemory(stores) => Texts::Memory(stores.texts(Some(folder))),
        }
    }
}

/// In a quarter of all worlds every call leaves a line in the query log and one in the audit log. What is answered must not depend
/// on it, so the choice takes nothing from the run's own numbers.
pub(crate) fn some_logged(seed: u64, settings: Settings) -> Settings {
    match Random::new(seed ^ 0x106_6ED).below(4) {
        0 => Settings { audit: Auditing::On, call_log: CallLog::Later, ..settings },
        _ => settings,
    }
}

/// Where our own store has its texts.
pub(crate) const OWN_TEXTS: [&str; 2] = [".readproof", "objects"];

/// Stored texts, by the names of their files.
pub(crate) enum Texts {
    Files(PathBuf),
    /// `None` before there are any.
    Memory(Option<Arc<MemoryObjects>>),
}

impl Texts {
    /// All of them, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        match self {
            Self::Files(folder) => {
                // Texts that are seldom needed are in a folder beneath.
                let in_folder = |folder: &Path, before: &'static str| {
                    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
                    let files = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
                    let names = files.filter_map(|entry| entry.file_name().into_string().ok());
                    names.map(|name| format!("{before}{name}")).collect::<Vec<_>>()
                };
                let mut names = [in_folder(folder, ""), in_folder(&folder.join("cold"), "cold/")].concat();
                names.sort();
                names
            }
            Self::Memory(objects) => {
                let stored = objects.iter().flat_map(|objects| objects.stored());
                stored.map(|stored| format!("sha256-{}.txt", stored.hash)).collect()
            }
        }
    }

    pub(crate) fn read(&self, name: &str) -> Result<Vec<u8>, Broken> {
        match self {
            Self::Files(folder) => Ok(fs::read(folder.join(name))?),
            Self::Memory(objects) => {
                let (objects, hash) = in_memory(objects.as_ref(), name)?;
                Ok(objects.bytes(hash).ok_or("there is no such text")?)
            }
        }
    }

    pub(crate) fn write(&self, name: &str, bytes: Vec<u8>) -> Result<(), Broken> {
        match self {
            Self::Files(folder) => Ok(fs::write(folder.join(name), bytes)?),
            Self::Memory(objects) => {
                let (objects, hash) = in_memory(objects.as_ref(), name)?;
                objects.alter(hash, bytes);
                Ok(())
            }
        }
    }

    pub(crate) fn remove(&self, name: &str) -> Result<(), Broken> {
        match self {
            Self::Files(folder) => Ok(fs::remove_file(folder.join(name))?),
            Self::Memory(objects) => {
                let (objects, hash) = in_memory(objects.as_ref(), name)?;
                objects.drop_one(hash);
                Ok(())
            }
        }
    }
}

fn in_memory<'o>(
    objects: Option<&'o Arc<MemoryObjects>>,
    name: &str,
) -> Result<(&'o MemoryObjects, ContentHash), Broken> {
    let hex = name.strip_prefix("sha256-").and_then(|name| name.strip_suffix(".txt"));
    let hash = hex.and_then(ContentHash::parse).ok_or("not the name of a stored text")?;
    Ok((objects.ok_or("nothing is stored yet")?, hash))
}
