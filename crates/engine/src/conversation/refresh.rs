//! `refresh`: the conversation forgets lines of a file, under every name of the file, so that the next read sends text.

use readproof_core::{operation::Refresh, path::PathKey, scope::Scope};
use readproof_disk::FileRef;

use super::Conversation;
use crate::{Engine, Error, door::Refreshed};

impl Engine {
    /// Makes the next read of these lines on this branch plain text, even after a restart.
    pub(crate) fn refresh<C: Conversation>(&self, conversation: &mut C, asked: &Refresh) -> Result<Refreshed, Error> {
        let mut target = match self.resolve_target(&asked.path, asked.offset, asked.limit) {
            Ok(target) => target,
            Err(error) => return conversation.refresh_unseen(self, &asked.path, error),
        };
        let total = match self.look(&mut target) {
            Ok(now) => Some(conversation.total_lines(&now.text)),
            Err(error) => {
                conversation.refresh_unseen(self, &asked.path, error)?;
                None
            }
        };
        let scope = match total {
            Some(total) => Scope::of(target.offset, target.limit, total).map_err(|source| target.bad_range(source))?,
            None => Scope::Full,
        };
        let known = conversation.known_files(self)?;
        let names = self.names(&target.file, known.into_iter());
        let mut done = conversation.refresh(self, names, scope)?;
        // Names that a rule hides are forgotten too, and not told.
        done.paths.retain(|path| self.may_name(path));
        Ok(done)
    }

    /// Every known name of a file, including the one given.
    fn names(&self, file: &FileRef, known: impl Iterator<Item = PathKey>) -> Vec<PathKey> {
        let mut names = self.root.file_id(file).map_or_else(Vec::new, |id| self.root.names_of(id, known));
        if !names.contains(file.key()) {
            names.insert(0, file.key().clone());
        }
        names
    }
}
