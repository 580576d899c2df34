//! A host's settings file: where it is, its text, and its replacement. Knows nothing of what is written in it.

use readproof_core::text::ContentHash;
use readproof_disk::{Expected, FileRef, HardLinks, LocateError, ReplaceError, Root, SnapshotRules};
use readproof_words::{
    Terms,
    disk::{locate, replace, root as root_words, snapshot as snapshot_words},
};
use std::{
    path::{Path, PathBuf},
    slice,
};

use crate::cli::Scope;

/// The largest settings file that is edited. Claude Code's also holds its history.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// A settings file. In a workspace no symbolic link may lead out of it, as the repository may be a stranger's; in the
/// user's home, links are followed to the file itself.
pub(crate) struct HostFile {
    pub(crate) path: PathBuf,
    /// The folder through which it is opened, and its name there.
    root: Root,
    name: String,
}

impl HostFile {
    /// The first of these files that exists, else the last; `None` without any. An error is in words.
    pub(crate) fn find(files: &[PathBuf], scope: Scope, workspace: &Path) -> Result<Option<Self>, (PathBuf, String)> {
        let mut found = None;
        for path in files {
            let file = Self::at(path, scope, workspace).map_err(|why| (path.clone(), why))?;
            let exists = file.root.locate(slice::from_ref(&file.name)).is_ok();
            found = Some(file);
            if exists {
                break;
            }
        }
        Ok(found)
    }

    fn at(path: &Path, scope: Scope, workspace: &Path) -> Result<Self, String> {
        let (root, name) = match scope {
            Scope::Project => Root::open(workspace).map(|root| (root, path.display().to_string())),
            Scope::User => Root::around(path),
        }
        .map_err(|error| root_words(Terms::PLAIN, &error))?;
        Ok(Self { path: path.to_path_buf(), root, name })
    }

    pub(crate) fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// The whole text; `None` if there is no file. An error is in words.
    pub(crate) fn read(&self) -> Result<Option<String>, String> {
        let file = match self.root.locate(slice::from_ref(&self.name)) {
            Ok(file) => file,
            Err(LocateError::Missing { .. }) => return Ok(None),
            Err(error) => return Err(locate(Terms::PLAIN, &error)),
        };
        let rules = SnapshotRules { max_bytes: MOST_BYTES, hard_links: HardLinks::Allow };
        let snapshot = self.root.snapshot(&file, &rules).map_err(|error| snapshot_words(&error))?;
        Ok(Some(snapshot.text.as_str().to_owned()))
    }

    /// Writes the text that was made from `before`, unless the file has changed since. An error is in words.
    pub(crate) fn write(&self, before: Option<&str>, text: &str) -> Result<(), String> {
        let file: FileRef =
            self.root.locate_new(slice::from_ref(&self.name)).map_err(|error| locate(Terms::PLAIN, &error))?;
        let expected = before.map_or(Expected::Nothing, |text| Expected::Text(ContentHash::of(text.as_bytes())));
        match self.root.replace(&file, text, expected, HardLinks::Refuse) {
            Ok(_) => Ok(()),
            Err(ReplaceError::HardLinked { .. }) => {
                Err("it has several hard links, which replacing it would separate".to_owned())
            }
            Err(error) => Err(replace(&error)),
        }
    }
}
