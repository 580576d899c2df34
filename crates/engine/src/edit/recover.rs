//! What killed processes left of changes over several files: undone or completed before anything else is answered, and
//! recorded.

use readproof_disk::{Conflicting, Create, Outcome, Present, RecoverError, Recovered};
use readproof_hosts::{
    block::Sha,
    versions::{By, Change, Conflict},
};
use std::sync::Arc;

use crate::{Engine, Error, Notice};

impl Engine {
    /// Costs one `stat` if nothing was left.
    pub(crate) fn recover(&self) {
        if !self.root.has_journal() {
            return;
        }
        // Opens the store, in which the texts are.
        if let Err(error) = self.store(Create::No) {
            self.add_notice(Notice::NotRecovered { files: Vec::new(), why: Arc::new(error) });
            return;
        }
        let swept = self.root.recover_all(&|hash| self.stored(hash), &mut |found| self.record_recovered(&found));
        match swept {
            Ok(_) => {}
            Err(RecoverError::Unrestored { source, files, .. }) => {
                let files = files.into_iter().map(|file| file.path).collect();
                self.add_notice(Notice::NotRecovered { files, why: Arc::new(Error::Replace(source)) });
            }
            Err(RecoverError::Unrecorded(why)) => {
                self.add_notice(Notice::NotRecovered { files: Vec::new(), why: Arc::new(why) });
            }
            Err(RecoverError::Journal(why)) => {
                self.add_notice(Notice::NotRecovered { files: Vec::new(), why: Arc::new(Error::Store(why)) });
            }
        }
    }

    fn record_recovered(&self, found: &Recovered) -> Result<(), Error> {
        let Some(change) = Change::from_note(&found.note) else { return Ok(()) };
        match &found.outcome {
            Outcome::Done => self.with_versions(Create::Yes, |versions| versions.changed_once(change)).map(drop),
            Outcome::Undone => Ok(()),
            Outcome::Conflict { files } => {
                for file in files {
                    self.record_left(&change.by, file)?;
                }
                Ok(())
            }
        }
    }

    /// A file that someone changed after the process was killed: it stays as it is, and what was meant for it is kept.
    fn record_left(&self, by: &By, file: &Conflicting) -> Result<(), Error> {
        let (Some(base), Some(ours)) = (file.before, file.after) else { return Ok(()) };
        let theirs = match file.present {
            Present::Bytes(hash) => Some(Sha(hash)),
            Present::Nothing | Present::Other => None,
        };
        let (path, by, at) = (file.path.clone(), by.clone(), self.now());
        let conflict = Conflict { path, base: Sha(base), ours: Sha(ours), theirs, by, at };
        self.with_versions(Create::Yes, |versions| versions.conflicted(conflict)).map(drop)
    }
}
