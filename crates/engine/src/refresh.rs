//! Asking for fresh text: the lines are taken out of what is held, under every name of the file.

use readproof_core::scope::Scope;
use readproof_disk::{Create, SessionName};

use crate::{Engine, Error, Refreshed};

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
        let mut placed = self.place(path, offset, limit)?;
        let now = self.look(&mut placed)?.text;
        let scope = Scope::of(placed.offset, placed.limit, now.total()).map_err(|source| placed.bad_range(source))?;
        let at = self.now();
        let known: Vec<_> = {
            let knowledge = self.session(session, Create::No)?.knowledge();
            knowledge.paths().map(|(path, _)| path.clone()).collect()
        };
        let own = placed.file.key().clone();
        let mut paths = match self.root.file_id(&placed.file) {
            Some(id) => self.root.names_of(id, known.into_iter()),
            None => Vec::new(),
        };
        if !paths.contains(&own) {
            paths.insert(0, own);
        }
        let paths: Vec<String> = paths.iter().map(ToString::to_string).collect();
        let entry = self.session(session, Create::No)?.refresh(paths.clone(), scope, at)?;
        Ok(Refreshed { paths, scope, entry })
    }
}
