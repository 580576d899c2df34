//! What killed processes left of changes over several files: undone or completed before anything else is answered, and
//! recorded.

use readproof_core::text::{ContentHash, Text};
use readproof_disk::{Conflicting, Create, DisplacedText, Outcome, Present, RecoverError, Recovered};
use readproof_hosts::{
    block::Sha,
    versions::{By, Change, ChangedFile, Conflict, DISPLACED, Gap, Gaps},
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

    /// Stores what other programs had saved and a write displaced: each text is a version of its file. Of a sensitive file
    /// nothing is kept.
    pub(crate) fn keep_displaced(&self) {
        for DisplacedText { name, bytes } in self.root.take_displaced() {
            if let Err(why) = self.keep_one_displaced(&name, bytes) {
                self.add_notice(Notice::NotRecovered { files: vec![name], why: Arc::new(why) });
            }
        }
    }

    fn keep_one_displaced(&self, name: &str, bytes: Vec<u8>) -> Result<(), Error> {
        let file = self.new_file(&self.root.absolute(name))?;
        let (false, Ok(text)) = (self.shared.sensitive.is_sensitive(&self.root, &file), Text::from_bytes(bytes)) else {
            return Ok(());
        };
        let _keeping = self.keeping_texts()?;
        if let Some(store) = self.store(Create::Yes)? {
            store.objects().put_all_synced(&[&text])?;
        }
        let after = Some(Sha(text.hash()));
        let gaps = Gaps { before: Some(Gap::NotLookedAt), after: None };
        let file = ChangedFile {
            path: self.logged_name(&file),
            before: None,
            after,
            from: None,
            removed: false,
            since: None,
            gaps,
            mode: None,
        };
        let (by, at) = (By::outside(), self.now());
        let change = Change { operation: DISPLACED.into(), files: vec![file], by, at, entry: None, event: None };
        self.with_versions(Create::Yes, |versions| versions.changed(change)).map(drop)
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

    /// A file that someone changed in the middle of a change over several files: it stays as it is, and what was meant for it
    /// is kept. No file counts as an empty one.
    pub(super) fn record_left(&self, by: &By, file: &Conflicting) -> Result<(), Error> {
        let theirs = match file.present {
            Present::Bytes(hash) => Some(Sha(hash)),
            Present::Nothing | Present::Other => None,
        };
        let there = self.new_file(&self.root.absolute(&file.path)).ok();
        let read = there.and_then(|there| {
            let read = self.root.snapshot(&there, &self.snapshot_rules()).ok()?;
            (!self.shared.sensitive.is_sensitive_read(&there, &read)).then_some(read)
        });
        let empty = Text::new(String::new());
        let _keeping = self.keeping_texts()?;
        if let Some(store) = self.store(Create::Yes)? {
            let texts: Vec<&Text> = read.iter().map(|read| &read.text).chain([&empty]).collect();
            store.objects().put_all_synced(&texts)?;
        }
        let sha = |hash: Option<ContentHash>| Sha(hash.unwrap_or_else(|| empty.hash()));
        let (path, by, at) = (file.path.clone(), by.clone(), self.now());
        let conflict = Conflict { path, base: sha(file.before), ours: sha(file.after), theirs, by, at };
        self.with_versions(Create::Yes, |versions| versions.conflicted(conflict)).map(drop)
    }
}
