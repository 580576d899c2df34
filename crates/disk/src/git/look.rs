//! Checks a file of a repository before it is opened: a regular file, within the limit for its kind, and not reached by a link
//! that leaves the workspace. A repository may come from a stranger: opening a pipe blocks, and a device never ends.

use std::{
    fs, io,
    io::Read,
    os::unix::fs::FileTypeExt,
    path::{Component, Path, PathBuf},
};

use rustix::fs::{Mode, OFlags};

use super::GitError;
use crate::{
    fault::{Fault, is_missing},
    root::Root,
    snapshot::Stat,
};

/// The most bytes that are read, for each kind of file. Files of large, real repositories fit: an index of a million files takes
/// 100 MB. Packs and their indexes have no limit, as they are mapped and only searched.
pub(super) mod most {
    /// One line with a path, an id or the name of a branch.
    pub(in crate::git) const LINE: u64 = 8 << 10;
    /// One settings file. Parsed, it takes up to 170 times its length.
    pub(in crate::git) const CONFIG: u64 = 512 << 10;
    /// All settings files of one repository.
    pub(in crate::git) const CONFIGS: u64 = 640 << 10;
    /// The number of settings files, each counted as often as it is included.
    pub(in crate::git) const INCLUDED: u64 = 50;
    /// One attributes file.
    pub(in crate::git) const ATTRIBUTES: u64 = 1 << 20;
    /// All attributes files that apply to one file.
    pub(in crate::git) const ALL_ATTRIBUTES: u64 = 2 << 20;
    /// All branches and tags, sorted as git has written them since 2018.
    pub(in crate::git) const PACKED_REFS: u64 = 64 << 20;
    /// The same, if it is not sorted.
    pub(in crate::git) const UNSORTED_REFS: u64 = 8 << 20;
    /// The index, which is read from start to end and never held in memory.
    pub(in crate::git) const INDEX: u64 = 512 << 20;
    /// The commits at which a shallow clone ends.
    pub(in crate::git) const SHALLOW: u64 = 16 << 20;
    /// The list of alternate object folders.
    pub(in crate::git) const ALTERNATES: u64 = 64 << 10;
    /// The number of object folders.
    pub(in crate::git) const DATABASES: u64 = 64;
    /// The number of files in one folder of packs.
    pub(in crate::git) const PACKS: u64 = 50_000;
    /// The number of replaced objects.
    pub(in crate::git) const REPLACED: u64 = 5_000;
    /// The memory that gix may reserve for one object and everything it is built from.
    pub(in crate::git) const OBJECT: u64 = 96 << 20;
    /// One commit or tag.
    pub(in crate::git) const COMMIT: u64 = 4 << 20;
    /// One folder of a commit.
    pub(in crate::git) const TREE: u64 = 32 << 20;
}

/// Where a repository's files are, and where they may lie.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// The name in the workspace of the file that was asked about.
    pub(super) key: String,
    /// `.git` as it was found beside the files.
    pub(super) git: PathBuf,
    /// The folder with `HEAD` and the index, links resolved.
    pub(super) private: PathBuf,
    /// The folder with everything that work trees share, links resolved.
    pub(super) common: PathBuf,
    /// The workspace under both of its names.
    workspace: Vec<PathBuf>,
}

impl Place {
    pub(super) fn new(root: &Root, key: &str, git: &Path) -> Self {
        let workspace = [Some(root.path().to_path_buf()), root.given.as_deref().map(PathBuf::from)];
        let git = git.to_path_buf();
        Self {
            key: key.to_owned(),
            private: git.clone(),
            common: git.clone(),
            git,
            workspace: workspace.into_iter().flatten().collect(),
        }
    }

    /// Whether a path without links may be read: it lies in the workspace or in the repository that owns the work tree.
    pub(super) fn holds(&self, real: &Path) -> bool {
        self.workspace.iter().chain([&self.private, &self.common]).any(|folder| real.starts_with(folder))
    }

    /// The name of a file in an error.
    fn called(&self, path: &Path) -> String {
        let inside = [&self.private, &self.common, &self.git].into_iter().find_map(|folder| {
            let rest = path.strip_prefix(folder).ok()?;
            Some(if rest.as_os_str().is_empty() { PathBuf::from(".git") } else { Path::new(".git").join(rest) })
        });
        let inside = inside
            .or_else(|| self.workspace.iter().find_map(|folder| path.strip_prefix(folder).ok().map(Path::to_path_buf)));
        let last = || {
            let shown = if path.is_absolute() { path.file_name() } else { Some(path.as_os_str()) };
            PathBuf::from(shown.unwrap_or_default())
        };
        let name = inside.unwrap_or_else(last).display().to_string();
        let name: String = name.chars().filter(|c| !c.is_control()).take(200).collect();
        format!("`{name}`")
    }

    pub(super) fn broken(&self, what: impl Into<String>, why: &'static str) -> GitError {
        GitError::Broken { name: self.key.clone(), what: what.into(), why }
    }

    pub(super) fn too_large(&self, what: &str, len: u64, max: u64) -> GitError {
        GitError::Oversized { name: self.key.clone(), file: what.to_owned(), len, max, unit: "bytes" }
    }

    /// The error for a file that does not decode.
    pub(super) fn malformed(&self, path: &Path) -> GitError {
        self.broken(self.called(path), MALFORMED)
    }

    pub(super) fn unsupported(&self, what: impl Into<String>) -> GitError {
        GitError::Unsupported { name: self.key.clone(), what: what.into() }
    }

    pub(super) fn leads_out(&self, path: &Path) -> GitError {
        self.setting_leads_out(self.called(path))
    }

    pub(super) fn setting_leads_out(&self, file: impl Into<String>) -> GitError {
        GitError::LeadsOut { name: self.key.clone(), file: file.into() }
    }

    pub(super) fn too_many(&self, path: &Path, (len, max): (u64, u64), unit: &'static str) -> GitError {
        GitError::Oversized { name: self.key.clone(), file: self.called(path), len, max, unit }
    }

    fn odd(&self, path: &Path, kind: &'static str) -> GitError {
        GitError::NotRegular { name: self.key.clone(), file: self.called(path), kind }
    }

    fn failed(&self, path: &Path, error: &io::Error) -> GitError {
        let why = match Fault::of(error) {
            Fault::Denied => "permission denied",
            Fault::LinkLoop => "a link that leads to itself",
            Fault::TooLong => "its name is too long",
            Fault::Missing | Fault::NotFolder => "it is gone",
            Fault::LinkOut | Fault::ReadOnly | Fault::Full | Fault::Other => "an input or output error",
        };
        self.broken(self.called(path), why)
    }

    /// Checks the folders on the way to a file below a path without links. `None` if one of them does not exist.
    pub(super) fn way(&self, base: &Path, below: &Path) -> Result<Option<()>, GitError> {
        let mut at = base.to_path_buf();
        for part in below.components() {
            match part {
                Component::Normal(name) => at.push(name),
                Component::CurDir | Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                    return Err(self.leads_out(below));
                }
            }
            if self.folder(&at)?.is_none() {
                return Ok(None);
            }
        }
        Ok(Some(()))
    }

    /// A folder, or a link to one, that may be read.
    pub(super) fn folder(&self, path: &Path) -> Result<Option<()>, GitError> {
        let Some(found) = self.found(path)? else { return Ok(None) };
        Ok(found.is_dir().then_some(()))
    }

    /// A file that may be opened; `None` if it does not exist.
    pub(super) fn file(&self, path: &Path, max: u64) -> Result<Option<fs::Metadata>, GitError> {
        let Some(found) = self.found(path)? else { return Ok(None) };
        self.check(path, found.file_type(), found.len(), max)?;
        Ok(Some(found))
    }

    fn check(&self, path: &Path, kind: fs::FileType, len: u64, max: u64) -> Result<(), GitError> {
        if let Some(kind) = not_regular(kind) {
            return Err(self.odd(path, kind));
        }
        if len > max {
            return Err(self.too_many(path, (len, max), "bytes"));
        }
        Ok(())
    }

    /// What a name leads to; a link is followed if its target may be read.
    fn found(&self, path: &Path) -> Result<Option<fs::Metadata>, GitError> {
        let found = match fs::symlink_metadata(path) {
            Ok(found) => found,
            Err(error) if is_missing(&error) => return Ok(None),
            Err(error) => return Err(self.failed(path, &error)),
        };
        if !found.is_symlink() {
            return Ok(Some(found));
        }
        let real = match fs::canonicalize(path) {
            Ok(real) => real,
            Err(error) if is_missing(&error) => return Ok(None),
            Err(error) => return Err(self.failed(path, &error)),
        };
        if !self.holds(&real) {
            return Err(self.leads_out(path));
        }
        fs::symlink_metadata(&real).map(Some).map_err(|error| self.failed(path, &error))
    }

    /// Opens a file without blocking, whatever replaced it since it was checked.
    pub(super) fn open(&self, path: &Path, max: u64) -> Result<Option<(fs::File, Stat)>, GitError> {
        if self.file(path, max)?.is_none() {
            return Ok(None);
        }
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let opened = rustix::fs::open(path, flags, Mode::empty()).map(fs::File::from).map_err(io::Error::from);
        let checked = opened.and_then(|file| Ok((Stat::of(&file)?, file.metadata()?.file_type(), file)));
        let (stat, kind, file) = checked.map_err(|error| self.failed(path, &error))?;
        self.check(path, kind, stat.len, max)?;
        Ok(Some((file, stat)))
    }

    /// The whole content of a file.
    pub(super) fn read(&self, path: &Path, max: u64) -> Result<Option<Vec<u8>>, GitError> {
        let Some((file, stat)) = self.open(path, max)? else { return Ok(None) };
        let mut bytes = Vec::with_capacity(usize::try_from(stat.len).unwrap_or(0));
        file.take(max + 1).read_to_end(&mut bytes).map_err(|error| self.failed(path, &error))?;
        if bytes.len() as u64 > max {
            return Err(self.too_many(path, (bytes.len() as u64, max), "bytes"));
        }
        Ok(Some(bytes))
    }

    /// The content of a file with one line.
    pub(super) fn line(&self, path: &Path) -> Result<Option<String>, GitError> {
        let Some(bytes) = self.read(path, most::LINE)? else { return Ok(None) };
        let text = String::from_utf8(bytes).map_err(|_| self.malformed(path))?;
        Ok(Some(text.trim_end_matches(['\r', '\n']).to_owned()))
    }

    /// Checks every file in and below a folder, by the types in its listing.
    pub(super) fn files_below(&self, folder: &Path, count: u64, max: u64) -> Result<(), GitError> {
        let mut folders = Vec::from([folder.to_path_buf()]);
        let mut left = count;
        while let Some(folder) = folders.pop() {
            let Ok(entries) = fs::read_dir(&folder) else { continue };
            for entry in entries.flatten() {
                left = left.checked_sub(1).ok_or_else(|| self.too_many(&folder, (count + 1, count), "files"))?;
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                    Ok(_) | Err(_) => {
                        self.file(&entry.path(), max)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Checks the files in a folder of packs that gix maps, by the types in its listing. Returns the number of entries.
    pub(super) fn packs(&self, folder: &Path) -> Result<u64, GitError> {
        let Ok(entries) = fs::read_dir(folder) else { return Ok(0) };
        let mut count = 0;
        for entry in entries.flatten() {
            count += 1;
            if count > most::PACKS {
                return Err(self.too_many(folder, (count, most::PACKS), "files"));
            }
            let path = entry.path();
            let mapped = path.extension().is_some_and(|end| end == "idx" || end == "pack")
                || path.file_name().is_some_and(|name| name == "multi-pack-index");
            if mapped && !entry.file_type().is_ok_and(|kind| kind.is_file()) {
                self.file(&path, u64::MAX)?;
            }
        }
        Ok(count)
    }
}

/// The words for a file that does not decode.
pub(super) const MALFORMED: &str = "it is damaged, or not in git's format";

fn not_regular(kind: fs::FileType) -> Option<&'static str> {
    if kind.is_file() {
        None
    } else if kind.is_dir() {
        Some("a directory")
    } else if kind.is_fifo() {
        Some("a pipe")
    } else if kind.is_socket() {
        Some("a socket")
    } else {
        Some("a device")
    }
}
