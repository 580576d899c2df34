//! From a path as written to a file that may be opened and the lines that are meant.

use readproof_core::{
    path::{candidates, split_range},
    scope::ScopeError,
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

impl Engine {
    /// The path as a file, else its `:10-20` taken off; a file that is really called so comes first.
    pub(crate) fn place(&self, path: &str, offset: Option<u64>, limit: Option<u64>) -> Result<Placed, Error> {
        if path.is_empty() {
            return Err(Error::EmptyPath);
        }
        let missing = match self.root.locate(&candidates(path, &self.bearings)) {
            Ok(file) => return Ok(Placed { file, offset, limit }),
            Err(error @ (LocateError::Missing { .. } | LocateError::NameTooLong { .. })) => error,
            Err(error) => return Err(Error::Locate(error)),
        };
        let parts = path.rsplit_once(':').filter(|(bare, _)| !bare.is_empty());
        if let (None, None, Some((bare, range))) = (offset, limit, parts)
            && let Ok(file) = self.root.locate(&candidates(bare, &self.bearings))
        {
            let fail = |source| Error::Range { path: bare.to_owned(), source };
            let text = range.to_owned();
            let range = split_range(path).map_err(fail)?.ok_or_else(|| fail(ScopeError::NotANumber { text }))?;
            let limit = range.last.map(|last| last - range.first + 1);
            return Ok(Placed { file, offset: Some(range.first), limit });
        }
        match missing {
            LocateError::Missing { .. } => Err(Error::Missing { near: self.near(path), source: missing }),
            LocateError::Outside { .. }
            | LocateError::NulInName
            | LocateError::NameTooLong { .. }
            | LocateError::LinkLoop { .. }
            | LocateError::LinkOut { .. }
            | LocateError::Denied { .. }
            | LocateError::Io { .. } => Err(Error::Locate(missing)),
        }
    }

    /// Names beside a missing file that resemble it.
    fn near(&self, path: &str) -> Vec<String> {
        let Ok(file) = self.root.locate_new(&candidates(path, &self.bearings)) else { return Vec::new() };
        let key = file.key().as_str();
        let (folder, name) = key.rsplit_once('/').unwrap_or((".", key));
        let join = |name: String| if folder == "." { name } else { format!("{folder}/{name}") };
        // A dangling link is listed under the very name that leads nowhere.
        let names = nearest(name, &self.root.list_names(folder)).into_iter().filter(|near| near != name);
        names.map(join).collect()
    }
}
