//! From a path as written to a file that may be opened and the lines that are meant.

use readproof_core::{
    path::{candidates, split_range},
    scope::{Lines, Scope, ScopeError},
};
use readproof_disk::{FileRef, LocateError};
use readproof_index::nearest;

use crate::{Engine, Error};

/// A file inside the workspace and the lines asked of it.
pub(crate) struct Placed {
    pub(crate) file: FileRef,
    pub(crate) offset: Option<u64>,
    pub(crate) limit: Option<u64>,
}

impl Placed {
    /// The scope without looking at the file: its end may lie behind the file's.
    pub(crate) fn scope(&self) -> Result<Scope, ScopeError> {
        for (what, number) in [("offset", self.offset), ("limit", self.limit)] {
            if number == Some(0) {
                return Err(ScopeError::Zero { what });
            }
        }
        let first = self.offset.unwrap_or(1);
        let last = self.limit.map_or(u64::from(u32::MAX), |limit| first.saturating_add(limit - 1));
        let number = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
        Ok(match (self.offset, self.limit) {
            (None | Some(1), None) => Scope::Full,
            _ => Lines::new(number(first), number(last)).map_or(Scope::Full, Scope::Lines),
        })
    }
}

impl Engine {
    /// The path as a file, else its `:10-20` taken off; a file that is really called so comes first.
    pub(crate) fn place(&self, path: &str, offset: Option<u64>, limit: Option<u64>) -> Result<Placed, Error> {
        if path.is_empty() {
            return Err(Error::EmptyPath);
        }
        let missing = match self.root.locate(&candidates(path, &self.bearings)) {
            Ok(file) => return Ok(Placed { file, offset, limit }),
            Err(error @ LocateError::Missing { .. }) => error,
            Err(error) => return Err(Error::Locate(error)),
        };
        let bare = path.rsplit_once(':').map(|(bare, _)| bare).filter(|bare| !bare.is_empty());
        if let (None, None, Some(bare)) = (offset, limit, bare)
            && let Ok(file) = self.root.locate(&candidates(bare, &self.bearings))
        {
            let range = split_range(path).map_err(|source| Error::Range { path: bare.to_owned(), source })?;
            if let Some(range) = range {
                let limit = range.last.map(|last| last - range.first + 1);
                return Ok(Placed { file, offset: Some(range.first), limit });
            }
        }
        Err(Error::Missing { near: self.near(path), source: missing })
    }

    /// Names beside a missing file that resemble it.
    fn near(&self, path: &str) -> Vec<String> {
        let Ok(file) = self.root.locate_new(&candidates(path, &self.bearings)) else { return Vec::new() };
        let key = file.key().as_str();
        let (folder, name) = key.rsplit_once('/').unwrap_or((".", key));
        let join = |name: String| if folder == "." { name } else { format!("{folder}/{name}") };
        nearest(name, &self.root.list_names(folder)).into_iter().map(join).collect()
    }
}
