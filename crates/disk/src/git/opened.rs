//! Keeps a repository open between questions, because opening one takes as long as all the rest. It is opened again whenever
//! anything that opening it read may have changed, and after every error.

use std::{
    fmt, fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use gix::{Repository, ThreadSafeRepository};

use super::{GitSettings, tracked::Staged};
use crate::snapshot::Stat;

/// What opening a repository reads in its folder, besides the configuration.
const READ: [&str; 7] =
    ["config", "config.worktree", "packed-refs", "refs/replace", "shallow", "objects/info/alternates", "info/grafts"];

/// The repository that was asked about last, and what its index said.
#[derive(Default)]
pub(crate) struct Opened {
    open: Mutex<Option<Open>>,
    staged: Mutex<Option<KeptIndex>>,
}

/// An index by its path, as it was before it was read, and what it said.
type KeptIndex = (PathBuf, Stat, Arc<Staged>);

struct Open {
    git: PathBuf,
    settings: GitSettings,
    repo: ThreadSafeRepository,
    databases: Vec<PathBuf>,
    /// The identity of the folder and of its parent.
    owners: [Option<Owner>; 2],
    /// The state of everything that was read.
    marks: Vec<(PathBuf, Option<Stat>)>,
}

/// An open repository, and its object folders.
pub(super) struct Kept {
    pub(super) repo: Repository,
    pub(super) databases: Vec<PathBuf>,
}

/// Device, inode, owner and permissions of a folder.
type Owner = (u64, u64, u32, u32);

impl fmt::Debug for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Opened")
    }
}

impl Opened {
    /// The repository with this folder, if it is open and nothing has changed.
    pub(super) fn get(&self, git: &Path, settings: GitSettings) -> Option<Kept> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let same = open.as_ref().is_some_and(|open| {
            open.git == git
                && open.settings == settings
                && open.owners == owners(git)
                && open.marks.iter().all(|(path, before)| mark(path) == *before)
        });
        if !same {
            *open = None;
        }
        open.as_ref().map(|open| Kept { repo: open.repo.to_thread_local(), databases: open.databases.clone() })
    }

    /// Keeps a repository open; `marks` were taken before it was opened.
    pub(super) fn keep(
        &self,
        git: &Path,
        settings: GitSettings,
        before: Before,
        repo: &Repository,
        databases: &[PathBuf],
    ) {
        // An include may depend on anything.
        let includes = |name: &[u8]| name.to_ascii_lowercase().starts_with(b"include");
        let config = repo.config_snapshot();
        let listed = |path: &Path| before.marks.iter().any(|(known, _)| known == path);
        let known = config
            .plumbing()
            .sections()
            .all(|section| !includes(section.header().name()) && section.meta().path.as_deref().is_none_or(listed));
        // A file that changed just now may change again within the same tick of the clock.
        let settled = before.marks.iter().all(|(_, mark)| mark.as_ref().is_none_or(Stat::tells));
        let kept = (known && settled).then(|| Open {
            git: git.to_path_buf(),
            settings,
            repo: repo.clone().into_sync(),
            databases: databases.to_vec(),
            owners: before.owners,
            marks: before.marks,
        });
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = kept;
    }

    /// What the index said, if it is still the same.
    pub(super) fn staged(&self, path: &Path, now: &Stat) -> Option<Arc<Staged>> {
        let kept = self.staged.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, _, staged) = kept.as_ref().filter(|(of, then, _)| of == path && then.stamp() == now.stamp())?;
        Some(Arc::clone(staged))
    }

    /// Keeps what an index said; nothing if it is too young to tell whether it changes again.
    pub(super) fn keep_staged(&self, kept: Option<KeptIndex>) {
        *self.staged.lock().unwrap_or_else(PoisonError::into_inner) = kept;
    }

    /// Closes it; the next question opens it again.
    pub(super) fn forget(&self) {
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// The state of everything that opening a repository reads.
pub(super) struct Before {
    owners: [Option<Owner>; 2],
    marks: Vec<(PathBuf, Option<Stat>)>,
}

impl Before {
    /// `None` if settings count whose files are unknown. The packs are included: a new file among them must be checked before
    /// it is opened.
    pub(super) fn of(git: &Path, settings: GitSettings, files: &[PathBuf], databases: &[PathBuf]) -> Option<Self> {
        if settings == GitSettings::All && files.is_empty() {
            return None;
        }
        let read = READ.iter().map(|name| git.join(name));
        let packs = databases.iter().map(|folder| folder.join("pack"));
        let borrowed = databases.iter().skip(1).map(|folder| folder.join("info/alternates"));
        let marks = read
            .chain(packs)
            .chain(borrowed)
            .chain(files.iter().cloned())
            .map(|path| (path.clone(), mark(&path)))
            .collect();
        Some(Self { owners: owners(git), marks })
    }
}

/// The identity of a folder and of its parent.
fn owners(git: &Path) -> [Option<Owner>; 2] {
    [Some(git), git.parent()].map(|path| {
        let found = fs::symlink_metadata(path?).ok()?;
        Some((found.dev(), found.ino(), found.uid(), found.mode()))
    })
}

fn mark(path: &Path) -> Option<Stat> {
    rustix::fs::stat(path).ok().map(Stat::from)
}
