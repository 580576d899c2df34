//! The working copy: records as files that the user edits.

use crate::CommitId;
use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

/// The files at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    pub files: BTreeMap<PathBuf, u64>,
    pub of: Option<CommitId>,
}

/// A folder with the files of one commit.
#[derive(Debug)]
pub struct WorkingCopy {
    root: PathBuf,
    checked_out: CommitId,
}

impl WorkingCopy {
    pub fn open(root: &Path, checked_out: CommitId) -> Self {
        Self { root: root.to_owned(), checked_out }
    }

    pub fn checked_out(&self) -> CommitId {
        self.checked_out
    }
}

/// Records what the files of the working copy are now.
pub fn snapshot_working_copy(copy: &WorkingCopy) -> io::Result<Snapshot> {
    let mut files = BTreeMap::new();
    visit(&copy.root, &mut |path, length| {
        files.insert(path.to_owned(), length);
    })?;
    Ok(Snapshot { files, of: Some(copy.checked_out) })
}

fn visit(folder: &Path, found: &mut dyn FnMut(&Path, u64)) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            visit(&entry.path(), found)?;
        } else if kind.is_file() {
            found(&entry.path(), entry.metadata()?.len());
        }
    }
    Ok(())
}

/// The paths that differ between two snapshots.
pub fn changed_paths<'a>(old: &'a Snapshot, new: &'a Snapshot) -> Vec<&'a Path> {
    let mut paths: Vec<&Path> = Vec::new();
    for (path, length) in &new.files {
        if old.files.get(path) != Some(length) {
            paths.push(path);
        }
    }
    paths.extend(old.files.keys().filter(|path| !new.files.contains_key(*path)).map(PathBuf::as_path));
    paths
}
