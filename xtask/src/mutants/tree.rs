//! The copy of the source tree that mutants change. A file is written only when its bytes differ, so that cargo rebuilds
//! only what a patch touched. A symbolic link is copied as the file it points to.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

use crate::{Failure, process};

pub(crate) struct Tree {
    root: PathBuf,
    folder: PathBuf,
}

impl Tree {
    /// Copies nothing yet.
    pub(crate) fn new(root: &Path, folder: PathBuf) -> Self {
        Self { root: root.to_path_buf(), folder }
    }

    /// The copy.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Makes the copy equal to the original, whatever a patch or a run left in it.
    pub(crate) fn restore(&self) -> Result<(), Failure> {
        mirror(&self.root, &self.folder, &self.source_files()?).map_err(|error| self.copy_failure(&error))
    }

    pub(crate) fn is_as_the_original(&self) -> Result<bool, Failure> {
        same(&self.root, &self.folder, &self.source_files()?).map_err(|error| self.copy_failure(&error))
    }

    /// The files that git tracks or would track: no build output, nothing ignored.
    fn source_files(&self) -> Result<BTreeSet<PathBuf>, Failure> {
        let output = process::git(&self.root)
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .output()
            .map_err(|error| Failure::not_started("git", &error))?;
        if !output.status.success() {
            let words = String::from_utf8_lossy(&output.stderr);
            return Err(Failure::failed(format!("git ls-files failed, mutants need a git checkout: {}", words.trim())));
        }
        let names = String::from_utf8_lossy(&output.stdout);
        // Git still lists a file whose deletion is not staged.
        Ok(names.split_terminator('\0').map(PathBuf::from).filter(|name| self.root.join(name).is_file()).collect())
    }

    fn copy_failure(&self, error: &io::Error) -> Failure {
        Failure::failed(format!("copying the tree to {}: {error}", self.folder.display()))
    }
}

fn mirror(from: &Path, to: &Path, names: &BTreeSet<PathBuf>) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for extra in files_below(to)?.difference(names) {
        fs::remove_file(to.join(extra))?;
    }
    for name in names {
        let (source, copy) = (fs::read(from.join(name))?, to.join(name));
        if fs::read(&copy).is_ok_and(|bytes| bytes == source) {
            continue;
        }
        if let Some(parent) = copy.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(&copy, source)?;
    }
    Ok(())
}

fn same(from: &Path, to: &Path, names: &BTreeSet<PathBuf>) -> io::Result<bool> {
    if files_below(to)? != *names {
        return Ok(false);
    }
    for name in names {
        if fs::read(from.join(name))? != fs::read(to.join(name))? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Every file below `folder`, named relative to it.
fn files_below(folder: &Path) -> io::Result<BTreeSet<PathBuf>> {
    let mut files = BTreeSet::new();
    let mut pending = vec![PathBuf::new()];
    while let Some(below) = pending.pop() {
        for entry in fs::read_dir(folder.join(&below))? {
            let entry = entry?;
            let name = below.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                pending.push(name);
            } else {
                files.insert(name);
            }
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{env, fs::File, process, time::SystemTime};

    #[test]
    fn a_restored_copy_equals_the_original_and_untouched_files_keep_their_time() {
        let scratch = env::temp_dir().join(format!("xtask-tree-{}", process::id()));
        let (from, to) = (scratch.join("from"), scratch.join("to"));
        let names: BTreeSet<PathBuf> = ["a.txt", "sub/b.txt"].map(PathBuf::from).into();
        fs::create_dir_all(from.join("sub")).unwrap();
        for name in &names {
            fs::write(from.join(name), name.to_str().unwrap()).unwrap();
        }
        mirror(&from, &to, &names).unwrap();
        assert!(same(&from, &to, &names).unwrap());
        let untouched = File::options().write(true).open(to.join("a.txt")).unwrap();
        untouched.set_modified(SystemTime::UNIX_EPOCH).unwrap();

        fs::write(to.join("sub/b.txt"), "changed by a patch").unwrap();
        assert!(!same(&from, &to, &names).unwrap());
        mirror(&from, &to, &names).unwrap();
        fs::write(to.join("added_by_a_patch.txt"), "").unwrap();
        assert!(!same(&from, &to, &names).unwrap());
        mirror(&from, &to, &names).unwrap();

        assert!(same(&from, &to, &names).unwrap());
        assert_eq!(fs::metadata(to.join("a.txt")).unwrap().modified().unwrap(), SystemTime::UNIX_EPOCH);
        fs::remove_dir_all(&scratch).unwrap();
    }
}
