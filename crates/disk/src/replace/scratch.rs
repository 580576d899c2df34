//! A short-lived private folder, removed when dropped.

use std::{
    fs,
    io::ErrorKind,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    process,
};

use crate::root::RootError;

/// A new folder that only this user can use.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// Creates one inside `parent`.
    ///
    /// # Errors
    /// When none can be created there.
    pub fn new(parent: &Path, prefix: &str) -> Result<Self, RootError> {
        let mut number = 0_u32;
        loop {
            let path = parent.join(format!("{prefix}-{}-{number}", process::id()));
            match fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Self { path }),
                Err(error) if error.kind() == ErrorKind::AlreadyExists && number < 1000 => number += 1,
                Err(source) => return Err(RootError::Io { path, source }),
            }
        }
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Puts a file into it. `name` must not come from a caller.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn put(&self, name: &str, text: &str) -> Result<(), RootError> {
        let path = self.path.join(name);
        fs::write(&path, text).map_err(|source| RootError::Io { path, source })
    }

    /// The text of a file in it; none if there is no such file, or it is not text. `name` must not come from a caller.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.path.join(name)).ok()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed is left to the system, like any temporary file.
        let _ = fs::remove_dir_all(&self.path);
    }
}
