//! Asking for fresh text: the lines are taken out of what is held, under every name of the file.

use readproof_core::{path::PathKey, scope::Scope};
use readproof_disk::{Create, FileRef, SessionName};

use crate::{Engine, Error, Refreshed, read::Placed};

impl Engine {
    /// The next read of these lines is plain text, on this branch, also after a restart.
    ///
    /// # Errors
    /// When there is no such file or session, or the log cannot be written.
    pub fn refresh(
        &mut self,
        path: &str,
        offset: Option<u64>,
        limit: Option<u64>,
        session: &SessionName,
    ) -> Result<Refreshed, Error> {
        let (placed, scope) = self.scope_of(path, offset, limit)?;
        let at = self.now();
        let known: Vec<_> = {
            let knowledge = self.session(session, Create::No)?.knowledge();
            knowledge.paths().map(|(path, _)| path.clone()).collect()
        };
        let names = self.names(&placed.file, known.into_iter());
        let paths: Vec<String> = names.iter().map(ToString::to_string).collect();
        let entry = self.session(session, Create::No)?.refresh(paths.clone(), scope, at)?;
        Ok(Refreshed { paths, scope, entry })
    }

    /// A file and which of its lines are meant.
    pub(crate) fn scope_of(
        &mut self,
        path: &str,
        offset: Option<u64>,
        limit: Option<u64>,
    ) -> Result<(Placed, Scope), Error> {
        let mut placed = self.place(path, offset, limit)?;
        let now = self.look(&mut placed)?.text;
        let scope = Scope::of(placed.offset, placed.limit, now.total()).map_err(|source| placed.bad_range(source))?;
        Ok((placed, scope))
    }

    /// Every name of a file among those that are known, its own included.
    pub(crate) fn names(&self, file: &FileRef, known: impl Iterator<Item = PathKey>) -> Vec<PathKey> {
        let mut names = self.root.file_id(file).map_or_else(Vec::new, |id| self.root.names_of(id, known));
        if !names.contains(file.key()) {
            names.insert(0, file.key().clone());
        }
        names
    }
}
