//! Asking for fresh text in a pi session: which entries pi has to append, one for every name of the file.

use readproof_core::{
    path::{PathKey, meant},
    scope::Scope,
};
use readproof_hosts::pi::total_lines;
use std::path::Path;

use super::PiTalk;
use crate::{Engine, Error};

/// What a refresh comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PiRefreshed {
    /// The names it applies to, as metadata has them; none when nothing is ever held of such a file.
    pub paths: Vec<String>,
    /// Which lines, as pi counts.
    pub scope: Scope,
    /// Whether there is a file of that name now.
    pub found: bool,
}

impl Engine {
    /// The next read of these lines is plain text once the invalidations stand in the branch.
    ///
    /// # Errors
    /// A range that means nothing.
    pub fn refresh_in_pi(
        &mut self,
        talk: &mut PiTalk,
        leaf: Option<&str>,
        path: &str,
        (offset, limit): (Option<u64>, Option<u64>),
    ) -> Result<PiRefreshed, Error> {
        let mut placed = match self.place(path, offset, limit) {
            Ok(placed) => placed,
            Err(error @ (Error::Range { .. } | Error::EmptyPath)) => return Err(error),
            // It may have been removed since it was read.
            Err(error) => {
                let found = !matches!(error, Error::Missing { .. });
                let name = meant(path, &self.bearings);
                let paths = if self.root.holds(Path::new(&name)) { vec![name] } else { Vec::new() };
                return Ok(PiRefreshed { paths, scope: Scope::Full, found });
            }
        };
        let scope = match self.look(&mut placed) {
            Ok(now) => {
                let total = u32::try_from(total_lines(&now.text)).unwrap_or(u32::MAX);
                Scope::of(placed.offset, placed.limit, total).map_err(|source| placed.bad_range(source))?
            }
            Err(_) => Scope::Full,
        };
        let top = format!("{}/", self.root.path().to_string_lossy().trim_end_matches('/'));
        let known: Vec<PathKey> = match talk.place(leaf) {
            Ok(place) => {
                let known = talk.known_at(place);
                let names = known.files().filter_map(|(path, _)| path.as_str().strip_prefix(&top).map(PathKey::new));
                names.collect()
            }
            Err(_) => Vec::new(),
        };
        let names = self.names(&placed.file, known.into_iter());
        let paths = names.iter().map(|key| format!("{top}{key}")).collect();
        Ok(PiRefreshed { paths, scope, found: true })
    }
}
