//! A file of the workspace beside what git keeps of it. Reads the repository, never writes to it, and never runs a program:
//! not git, and nothing that a configuration names. What git would only know by running something is an error that says
//! so, never another answer. A repository stays open only as long as nothing that opening it has read can have changed.
//! It may be a stranger's: every file of it is looked at before it is opened, and what is read of each kind has a cap.

mod baseline;
mod clean;
mod error;
mod index;
mod look;
mod open;
mod opened;
mod settings;

pub(crate) use opened::Opened;

pub use clean::looks_binary;
pub use error::GitError;

use baseline::Staged;
use cap_std::fs::MetadataExt;
use clean::Attributes;
use gix::{ObjectId, objs::tree::EntryKind};
use open::Found;
use std::{fmt, path::PathBuf};

use crate::{
    fault::Fault,
    locate::FileRef,
    replace::is_ours,
    root::Root,
    snapshot::{FileKind, SnapshotError, SnapshotRules},
};

/// What a file is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Baseline {
    /// The commit that is checked out.
    Head,
    /// What is staged.
    Index,
}

/// Whose settings of git count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GitSettings {
    /// The repository's, the person's and the system's, as git itself takes them.
    #[default]
    All,
    /// The repository's alone.
    Repository,
}

/// A file as it stands in the work tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Working {
    Missing,
    File {
        /// All of it.
        bytes: Vec<u8>,
        /// Whether its owner may run it.
        executable: bool,
    },
    /// A link, by the text of where it leads.
    Link {
        /// That text.
        target: Vec<u8>,
    },
    Folder,
}

/// What git keeps of a file: the kind, and the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GitMode {
    /// A file.
    Plain,
    /// A file that may be run.
    Executable,
    /// A link.
    Link,
}

impl GitMode {
    /// As git prints it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Plain => "100644",
            Self::Executable => "100755",
            Self::Link => "120000",
        }
    }
}

/// One version of a file, as git keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// What kind of file.
    pub mode: GitMode,
    /// All of it.
    pub bytes: Vec<u8>,
    /// The name of the object that holds this, where it comes from one.
    pub id: Option<String>,
    /// Whether git shows it as binary.
    pub binary: bool,
}

/// Why something else stands for the working file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StandsIn {
    /// `git update-index --assume-unchanged`.
    AssumedUnchanged,
    /// Outside a sparse checkout, or `git update-index --skip-worktree`.
    SkipWorktree,
}

/// Both sides, and what git knows of the file.
#[derive(Clone, Debug)]
pub struct Compared {
    /// The file, by its name in the repository.
    pub name: String,
    /// The commit that is checked out; none before the first.
    pub commit: Option<String>,
    /// The baseline's version.
    pub old: Option<Kept>,
    /// The working file, or what was given for it.
    pub new: Option<Kept>,
    /// Whether it is in the index.
    pub in_index: bool,
    /// Whether only its name is in the index: `git add --intent-to-add`.
    pub intended: bool,
    /// Whether a merge left several versions in the index.
    pub conflicted: bool,
    /// Whether the index's version stands for the working file, and why.
    pub stands_in: Option<StandsIn>,
    /// Whether Git LFS keeps it, so that both sides are pointers.
    pub lfs: bool,
    /// Whether the working file's bytes are others than those git would keep of it.
    pub cleaned: bool,
    /// A file that is gone and had these very bytes, where the baseline has none of this name.
    pub renamed_from: Option<String>,
}

impl Root {
    /// The names inside the root, by the letters alone, in their order.
    #[must_use]
    pub fn names(&self, candidates: &[String]) -> Vec<FileRef> {
        candidates.iter().filter_map(|candidate| self.file_ref(candidate)).collect()
    }

    /// The one read of a working file; its last part is not followed if it is a link.
    ///
    /// # Errors
    /// [`GitError`] when it stands behind a link; [`SnapshotError`] as for [`Root::snapshot`], but bytes need not be text.
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
        let found = match self.dir.symlink_metadata(name) {
            Ok(found) => found,
            Err(error) if matches!(Fault::of(&error), Fault::Missing | Fault::NotFolder) => {
                return Ok(Working::Missing);
            }
            Err(error) => return Err(SnapshotError::from_io(name, error).into()),
        };
        match FileKind::of(found.mode()) {
            Some(FileKind::Link) => {
                let target = self.dir.read_link_contents(name).map_err(|error| SnapshotError::from_io(name, error))?;
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

    /// A working file beside what git keeps of it: cleaned as git would clean it. `content` stands for its bytes.
    ///
    /// # Errors
    /// [`GitError`] when there is no repository, none that may be used, or nothing that can be compared.
    pub fn compare(&self, file: &FileRef, mut working: Working, ask: &Compare<'_>) -> Result<Compared, GitError> {
        let found = open::find(self, file, ask)?;
        let kept = found.kept;
        match found.compare(&mut working, ask) {
            Ok(compared) => Ok(compared),
            Err(error @ GitError::Cancelled { .. }) => Err(error),
            // Whatever it is, a repository that was opened just now shall say it.
            Err(_) if kept => {
                self.repositories.forget();
                open::find(self, file, ask)?.compare(&mut working, ask)
            }
            Err(error) => Err(error),
        }
    }
}

/// What is asked of [`Root::compare`].
#[derive(Clone, Copy)]
pub struct Compare<'a> {
    /// With what.
    pub baseline: Baseline,
    /// Whose settings count.
    pub settings: GitSettings,
    /// Where those are that are not the repository's own; none: nobody knows.
    pub settings_files: &'a [PathBuf],
    /// What stands for the bytes of the working file.
    pub content: Option<&'a str>,
    /// The largest version that is read.
    pub max_bytes: u64,
    /// Asked between two steps: whether the caller lost interest.
    pub cancelled: &'a dyn Fn() -> bool,
}

impl fmt::Debug for Compare<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { baseline, settings, settings_files, content, max_bytes, cancelled: _ } = self;
        let given = content.map(str::len);
        write!(f, "Compare({baseline:?}, {settings:?}, {settings_files:?}, {given:?}, {max_bytes})")
    }
}

/// Why a working file cannot be looked at.
#[derive(Debug, thiserror::Error)]
pub enum WorkingError {
    /// For git's reasons.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The file cannot be read.
    #[error(transparent)]
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
    /// The bytes of the working file, to be compared once more.
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
    /// Takes the bytes of the working file only where it succeeds.
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
        let attributes = self.attributes(&index)?;
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

    /// The mode git takes for a regular file: where the file system cannot be trusted to tell, the index does.
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

/// `None` for what is no file of git's.
fn mode(kind: EntryKind) -> Option<GitMode> {
    match kind {
        EntryKind::Blob => Some(GitMode::Plain),
        EntryKind::BlobExecutable => Some(GitMode::Executable),
        EntryKind::Link => Some(GitMode::Link),
        EntryKind::Tree | EntryKind::Commit => None,
    }
}
