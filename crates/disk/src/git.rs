//! Compares a file of the workspace with git's versions of it. Reads the repository, never writes to it, and never runs a
//! program: not git, and nothing that a configuration names. If git would have to run something, that is an error that says
//! so, never a different answer. A repository stays open only while nothing that opening it read can have changed. It may
//! come from a stranger: every file of it is checked before it is opened, and there is a limit for each kind.

mod baseline;
mod clean;
mod error;
mod index;
mod look;
mod open;
mod opened;
mod outside;
mod settings;
mod tracked;

pub(crate) use clean::utf_32;
pub(crate) use opened::Opened;

pub use clean::looks_binary;
pub use error::GitError;
pub use tracked::{BlobId, Tracked};

use baseline::Staged;
use cap_std::fs::MetadataExt;
use clean::Attributes;
use gix::{ObjectId, objs::tree::EntryKind};
use open::Found;
use std::{collections::BTreeSet, fmt, path::PathBuf};

use crate::{
    fault::is_missing,
    locate::FileRef,
    replace::is_ours,
    root::Root,
    snapshot::spelling::on_disk,
    snapshot::{FileKind, SnapshotError, SnapshotRules},
};

/// What a file is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Baseline {
    /// The commit that is checked out.
    Head,
    /// The staged version.
    Index,
}

/// Which git settings count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GitSettings {
    /// The repository's, the user's and the system's, as in git itself.
    #[default]
    All,
    /// Only the repository's.
    Repository,
}

/// A file in the work tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Working {
    Missing,
    File {
        bytes: Vec<u8>,
        /// Whether its owner may execute it.
        executable: bool,
    },
    /// A symbolic link.
    Link {
        /// Where it leads, as written in the link.
        target: Vec<u8>,
    },
    Folder,
}

/// The kinds of files that git stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GitMode {
    Plain,
    /// An executable file.
    Executable,
    Link,
}

impl GitMode {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Plain, Self::Executable, Self::Link];

    /// The mode as git prints it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Plain => "100644",
            Self::Executable => "100755",
            Self::Link => "120000",
        }
    }
}

/// One version of a file, as git stores it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    pub mode: GitMode,
    pub bytes: Vec<u8>,
    /// The id of its object, if it comes from one.
    pub id: Option<String>,
    /// Whether git shows it as binary.
    pub binary: bool,
}

/// Why the index's version stands for the working file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StandsIn {
    /// `git update-index --assume-unchanged`.
    AssumedUnchanged,
    /// Outside a sparse checkout, or `git update-index --skip-worktree`.
    SkipWorktree,
}

/// Both sides, and what git knows about the file.
#[derive(Clone, Debug)]
pub struct Compared {
    /// The name of the file in the repository.
    pub name: String,
    /// The commit that is checked out; `None` before the first one.
    pub commit: Option<String>,
    pub old: Option<Kept>,
    /// The working file, or the content given for it.
    pub new: Option<Kept>,
    /// Whether the file is in the index.
    pub in_index: bool,
    /// Whether only its name is in the index: `git add --intent-to-add`.
    pub intended: bool,
    /// Whether a merge left several versions in the index.
    pub conflicted: bool,
    /// Why the index's version stands for the working file, if it does.
    pub stands_in: Option<StandsIn>,
    /// Whether Git LFS stores it, so that both sides are pointers.
    pub lfs: bool,
    /// Whether git would store other bytes than the working file has.
    pub cleaned: bool,
    /// If the baseline has no file of this name: one that is gone and had exactly these bytes.
    pub renamed_from: Option<String>,
}

impl Root {
    /// The names that are spelt as inside the root and may be used, in their order.
    #[must_use]
    pub fn names(&self, candidates: &[String]) -> Vec<FileRef> {
        let inside = candidates.iter().filter_map(|candidate| self.file_ref(candidate));
        inside.filter(|file| self.refuses(file).is_none()).collect()
    }

    /// Reads a working file once. A link at the end of its name is not followed.
    ///
    /// # Errors
    /// [`GitError`] when a link leads to its folder; [`SnapshotError`] as for [`Root::snapshot`], but bytes need not be text.
    pub fn working(&self, file: &FileRef, rules: &SnapshotRules) -> Result<Working, WorkingError> {
        let name = file.name();
        if name.split('/').any(|part| part.eq_ignore_ascii_case(".git")) {
            return Err(GitError::GitFolder { name: name.to_owned() }.into());
        }
        if is_ours(name.rsplit('/').next().unwrap_or(name)) {
            return Err(SnapshotError::Ours { name: name.to_owned() }.into());
        }
        if let Some((folder, last)) = name.rsplit_once('/') {
            let real = self.follow(folder).ok().and_then(|names| names.last().cloned());
            if real.as_deref() != Some(folder) {
                let real = real.map(|real| format!("{real}/{last}"));
                return Err(GitError::BehindLink { name: name.to_owned(), real }.into());
            }
        }
        let found = match self.dir.symlink_metadata(&*on_disk(name)) {
            Ok(found) => found,
            Err(error) if is_missing(&error) => {
                return Ok(Working::Missing);
            }
            Err(error) => return Err(SnapshotError::from_io(name, error).into()),
        };
        match FileKind::of(found.mode()) {
            Some(FileKind::Link) => {
                let target = self
                    .dir
                    .read_link_contents(&*on_disk(name))
                    .map_err(|error| SnapshotError::from_io(name, error))?;
                Ok(Working::Link { target: target.into_os_string().into_encoded_bytes() })
            }
            Some(FileKind::Directory) => Ok(Working::Folder),
            Some(kind) => Err(SnapshotError::NotAFile { name: name.to_owned(), kind }.into()),
            None => {
                let (bytes, stat) = self.snapshot_bytes(file, rules)?;
                Ok(Working::File { bytes, executable: stat.mode & 0o100 != 0 })
            }
        }
    }

    /// The hidden files that git tracks, and every folder on the way to one, by their names in the workspace. Empty if there is
    /// no repository around the workspace, or none that may be used.
    #[must_use]
    pub fn tracked_hidden(&self, ask: &Compare<'_>) -> BTreeSet<String> {
        self.tracked(ask).hidden()
    }

    /// The encoding that git's attributes declare for a working file; `None` also if there is no repository around it, or none
    /// that may be used. Attributes that are only in the index do not count: reading it would take longer than all the rest.
    pub(crate) fn working_tree_encoding(&self, file: &FileRef, ask: &Compare<'_>) -> Option<String> {
        let found = open::find(self, file, ask).ok()?;
        match found.attributes(None) {
            Ok(attributes) => attributes.encoding,
            // Try again with the repository opened afresh.
            Err(_) if found.kept => {
                self.repositories.forget();
                open::find(self, file, ask).ok()?.attributes(None).ok()?.encoding
            }
            Err(_) => None,
        }
    }

    /// Compares a working file with git's version of it, cleaned as git would clean it. `content` replaces its bytes.
    ///
    /// # Errors
    /// [`GitError`] when there is no repository, it may not be used, or there is nothing to compare.
    pub fn compare(&self, file: &FileRef, mut working: Working, ask: &Compare<'_>) -> Result<Compared, GitError> {
        let found = open::find(self, file, ask)?;
        let kept = found.kept;
        match found.compare(&mut working, ask) {
            Ok(compared) => Ok(compared),
            Err(error @ GitError::Cancelled { .. }) => Err(error),
            // Try again with the repository opened afresh, so that no error is stale.
            Err(_) if kept => {
                self.repositories.forget();
                open::find(self, file, ask)?.compare(&mut working, ask)
            }
            Err(error) => Err(error),
        }
    }
}

/// The arguments of [`Root::compare`].
#[derive(Clone, Copy)]
pub struct Compare<'a> {
    pub baseline: Baseline,
    pub settings: GitSettings,
    /// The files with the user's and the system's settings; empty if unknown.
    pub settings_files: &'a [PathBuf],
    /// Used instead of the bytes of the working file.
    pub content: Option<&'a str>,
    /// The largest version that is read.
    pub max_bytes: u64,
    /// Asked between two steps: whether the caller cancelled.
    pub cancelled: &'a dyn Fn() -> bool,
}

impl fmt::Debug for Compare<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { baseline, settings, settings_files, content, max_bytes, cancelled: _ } = self;
        let given = content.map(str::len);
        write!(f, "Compare({baseline:?}, {settings:?}, {settings_files:?}, {given:?}, {max_bytes})")
    }
}

/// Why a working file cannot be compared.
#[derive(Debug, thiserror::Error)]
#[error("{self:?}")]
pub enum WorkingError {
    Git(#[from] GitError),
    Snapshot(#[from] SnapshotError),
}

/// The working side, before it is known what it is compared with.
struct NewSide {
    kept: Option<Kept>,
    stands_in: Option<StandsIn>,
    lfs: bool,
    cleaned: bool,
}

impl NewSide {
    /// The bytes of the working file, to be compared again.
    fn give_back(self, working: &mut Working) {
        if let (Working::File { bytes, .. }, Some(kept), false, true) =
            (working, self.kept, self.cleaned, self.stands_in.is_none())
            && bytes.is_empty()
        {
            *bytes = kept.bytes;
        }
    }
}

impl Found<'_> {
    /// Consumes the bytes of the working file only on success.
    fn compare(&self, working: &mut Working, ask: &Compare<'_>) -> Result<Compared, GitError> {
        if self.name.is_empty() {
            return Err(GitError::Folder { name: self.key.clone() });
        }
        let head = self.head()?;
        let index = self.index()?;
        let staged = self.staged(&index, &self.name)?;
        if ask.baseline == Baseline::Index && matches!(staged, Staged::Conflict { .. }) {
            return Err(GitError::Conflicted { name: self.key.clone() });
        }
        let entry = match ask.baseline {
            Baseline::Head => head.as_ref().map(|head| self.in_tree(head.tree, &self.name)).transpose()?.flatten(),
            Baseline::Index => staged.entry(),
        };
        let staged_entry = staged.entry();
        for (kind, id) in [entry, staged_entry].into_iter().flatten() {
            if kind == EntryKind::Commit {
                return Err(GitError::Submodule { name: self.key.clone(), commit: id.to_string() });
            }
        }
        if *working == Working::Folder {
            return Err(GitError::Folder { name: self.key.clone() });
        }
        let attributes = self.attributes(Some(&index))?;
        let old = entry.map(|(kind, id)| self.kept(kind, id, ask.max_bytes, &attributes)).transpose()?.flatten();
        let is_there = !matches!(working, Working::Missing);
        let new = self.new_side(working, ask, &staged, &attributes)?;
        let renamed_from = match (&old, &new.kept, is_there) {
            (None, Some(kept), true) => self.renamed_from(kept, head.as_ref(), ask.baseline),
            (Some(_), _, _) | (None, None, _) | (None, Some(_), false) => Ok(None),
        };
        let renamed_from = match renamed_from {
            Ok(renamed_from) => renamed_from,
            Err(error) => {
                new.give_back(working);
                return Err(error);
            }
        };
        Ok(Compared {
            name: self.name.clone(),
            commit: head.map(|head| head.commit.to_string()),
            old,
            new: new.kept,
            in_index: !matches!(staged, Staged::No),
            intended: matches!(staged, Staged::Intended),
            conflicted: matches!(staged, Staged::Conflict { .. }),
            stands_in: new.stands_in,
            lfs: new.lfs,
            cleaned: new.cleaned,
            renamed_from,
        })
    }

    fn new_side(
        &self,
        working: &mut Working,
        ask: &Compare<'_>,
        staged: &Staged,
        attributes: &Attributes,
    ) -> Result<NewSide, GitError> {
        let as_it_is = |kept| NewSide { kept, stands_in: None, lfs: false, cleaned: false };
        let missing = *working == Working::Missing;
        if ask.content.is_none()
            && let Some(why) = staged.stands_in(missing, self.is_sparse_checkout()?)
        {
            let kept =
                staged.entry().map(|(kind, id)| self.kept(kind, id, ask.max_bytes, attributes)).transpose()?.flatten();
            return Ok(NewSide { stands_in: Some(why), ..as_it_is(kept) });
        }
        let (bytes, executable) = match (&*working, ask.content) {
            (Working::Folder, _) => return Err(GitError::Folder { name: self.key.clone() }),
            (Working::Missing, None) => return Ok(as_it_is(None)),
            (Working::Link { .. }, Some(_)) => return Err(GitError::ContentForLink { name: self.key.clone() }),
            (Working::Link { target }, None) => {
                let link = self.version(GitMode::Link, target.clone(), None, attributes);
                return Ok(as_it_is(Some(link)));
            }
            (Working::File { bytes, executable }, None) => (bytes.as_slice(), Some(*executable)),
            (Working::File { executable, .. }, Some(text)) => (text.as_bytes(), Some(*executable)),
            (Working::Missing, Some(text)) => (text.as_bytes(), None),
        };
        let mode = self.mode_of(executable, staged)?;
        let (kept, lfs) = self.clean(bytes, attributes, staged, ask.max_bytes)?;
        let cleaned = kept.is_some();
        let bytes = match (kept, working, ask.content) {
            (Some(kept), _, _) => kept,
            (None, _, Some(text)) => text.as_bytes().to_vec(),
            (None, Working::File { bytes, .. }, None) => std::mem::take(bytes),
            (None, Working::Missing | Working::Link { .. } | Working::Folder, None) => Vec::new(),
        };
        let kept = self.version(mode, bytes, None, attributes);
        Ok(NewSide { kept: Some(kept), stands_in: None, lfs, cleaned })
    }

    /// The mode git assumes for a regular file: the index's if the file system does not keep the executable bit.
    fn mode_of(&self, executable: Option<bool>, staged: &Staged) -> Result<GitMode, GitError> {
        let staged = staged.entry().and_then(|(kind, _)| mode(kind));
        if staged == Some(GitMode::Link) && !self.flag("core.symlinks", true)? {
            return Ok(GitMode::Link);
        }
        let staged = staged.filter(|mode| *mode != GitMode::Link).unwrap_or(GitMode::Plain);
        Ok(match executable {
            Some(executable) if self.flag("core.fileMode", true)? => {
                if executable {
                    GitMode::Executable
                } else {
                    GitMode::Plain
                }
            }
            Some(_) | None => staged,
        })
    }

    fn version(&self, mode: GitMode, bytes: Vec<u8>, id: Option<ObjectId>, attributes: &Attributes) -> Kept {
        let binary = self.is_binary(attributes, mode, &bytes);
        Kept { mode, bytes, id: id.map(|id| id.to_string()), binary }
    }
}

/// `None` for what git does not store as a file.
fn mode(kind: EntryKind) -> Option<GitMode> {
    match kind {
        EntryKind::Blob => Some(GitMode::Plain),
        EntryKind::BlobExecutable => Some(GitMode::Executable),
        EntryKind::Link => Some(GitMode::Link),
        EntryKind::Tree | EntryKind::Commit => None,
    }
}
