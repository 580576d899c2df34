//! Looks at a file of a repository before anyone opens it: a regular file, no larger than files of its kind are, and not behind
//! a link that leaves the workspace. A repository may be a stranger's: opening a pipe waits for ever, and a device never ends.

use std::{
    fs, io,
    io::Read,
    os::unix::fs::FileTypeExt,
    path::{Component, Path, PathBuf},
};

use rustix::fs::{Mode, OFlags};

use super::GitError;
use crate::{fault::Fault, root::Root, snapshot::Stat};

/// So many bytes of each kind of file are read. Files of large, real repositories fit: an index of a million files takes 100 MB.
/// Packs and their indexes have no cap, as they are mapped and only looked up in.
pub(super) mod most {
    /// One line with a path, an id or the name of a branch.
    pub(in crate::git) const LINE: u64 = 8 << 10;
    /// One file of settings. A parsed one takes 170 times its length at worst.
    pub(in crate::git) const CONFIG: u64 = 512 << 10;
    /// All files of settings of one repository.
    pub(in crate::git) const CONFIGS: u64 = 640 << 10;
    /// Files of settings, each as often as it is included.
    pub(in crate::git) const INCLUDED: u64 = 50;
    /// One file of attributes.
    pub(in crate::git) const ATTRIBUTES: u64 = 1 << 20;
    /// All files of attributes that count for one file.
    pub(in crate::git) const ALL_ATTRIBUTES: u64 = 2 << 20;
    /// All branches and tags, sorted as git has written them since 2018.
    pub(in crate::git) const PACKED_REFS: u64 = 64 << 20;
    /// As before, where they must be sorted first.
    pub(in crate::git) const UNSORTED_REFS: u64 = 8 << 20;
    /// The index, which is read from its begin to its end and never held.
    pub(in crate::git) const INDEX: u64 = 512 << 20;
    /// The commits at which a shallow clone ends.
    pub(in crate::git) const SHALLOW: u64 = 16 << 20;
    /// Where other databases of objects are.
    pub(in crate::git) const ALTERNATES: u64 = 64 << 10;
    /// Databases of objects.
    pub(in crate::git) const DATABASES: u64 = 64;
    /// Files in one folder of packs.
    pub(in crate::git) const PACKS: u64 = 50_000;
    /// Objects that others stand for.
    pub(in crate::git) const REPLACED: u64 = 5_000;
    /// What gix may reserve at once for one object and all that it is made from.
    pub(in crate::git) const OBJECT: u64 = 96 << 20;
    /// One commit or tag.
    pub(in crate::git) const COMMIT: u64 = 4 << 20;
    /// One folder of a commit.
    pub(in crate::git) const TREE: u64 = 32 << 20;
}

/// Where a repository's files are, and where they may be.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// The file that was asked about, by its name in the workspace.
    pub(super) key: String,
    /// `.git` as it was found beside the files.
    pub(super) git: PathBuf,
    /// The folder with `HEAD` and the index, free of links.
    pub(super) private: PathBuf,
    /// The folder with everything that work trees share, free of links.
    pub(super) common: PathBuf,
    /// The workspace under both of its names.
    workspace: Vec<PathBuf>,
}

impl Place {
    pub(super) fn new(root: &Root, key: &str, git: &Path) -> Self {
        let workspace = [Some(root.path().to_path_buf()), root.given.as_ref().map(PathBuf::from)];
        let git = git.to_path_buf();
        Self {
            key: key.to_owned(),
            private: git.clone(),
            common: git.clone(),
            git,
            workspace: workspace.into_iter().flatten().collect(),
        }
    }

    /// Whether a path that is free of links may be read: it is in the workspace or in the repository that owns the work tree.
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

    /// What cannot be decoded.
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

    /// The folders on the way to a file below one that is free of links. `None` where one of them is not there.
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

    /// A folder, or a link to one that may be read.
    pub(super) fn folder(&self, path: &Path) -> Result<Option<()>, GitError> {
        let Some(found) = self.found(path)? else { return Ok(None) };
        Ok(found.is_dir().then_some(()))
    }

    /// A file that may be opened; `None` where there is none.
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

    /// What a name stands for; a link is followed if it leads to where one may read.
    fn found(&self, path: &Path) -> Result<Option<fs::Metadata>, GitError> {
        let absent = |error: &io::Error| matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
        let found = match fs::symlink_metadata(path) {
            Ok(found) => found,
            Err(error) if absent(&error) => return Ok(None),
            Err(error) => return Err(self.failed(path, &error)),
        };
        if !found.is_symlink() {
            return Ok(Some(found));
        }
        let real = match fs::canonicalize(path) {
            Ok(real) => real,
            Err(error) if absent(&error) => return Ok(None),
            Err(error) => return Err(self.failed(path, &error)),
        };
        if !self.holds(&real) {
            return Err(self.leads_out(path));
        }
        fs::symlink_metadata(&real).map(Some).map_err(|error| self.failed(path, &error))
    }

    /// Opens a file without waiting for it, whatever took its place since it was looked at.
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

    /// All of a file.
    pub(super) fn read(&self, path: &Path, max: u64) -> Result<Option<Vec<u8>>, GitError> {
        let Some((file, stat)) = self.open(path, max)? else { return Ok(None) };
        let mut bytes = Vec::with_capacity(usize::try_from(stat.len).unwrap_or(0));
        file.take(max + 1).read_to_end(&mut bytes).map_err(|error| self.failed(path, &error))?;
        if bytes.len() as u64 > max {
            return Err(self.too_many(path, (bytes.len() as u64, max), "bytes"));
        }
        Ok(Some(bytes))
    }

    /// The one line of a file.
    pub(super) fn line(&self, path: &Path) -> Result<Option<String>, GitError> {
        let Some(bytes) = self.read(path, most::LINE)? else { return Ok(None) };
        let text = String::from_utf8(bytes).map_err(|_| self.malformed(path))?;
        Ok(Some(text.trim_end_matches(['\r', '\n']).to_owned()))
    }

    /// Every file in a folder, and those below it: checked by what the folder says of them.
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

    /// The files of a folder of packs that are mapped, by what the folder says of them. Gives how many entries there are.
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

/// Said of whatever does not decode.
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
