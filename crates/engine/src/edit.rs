//! Own writes and edits: announced in the log, made durable on disk, then recorded. Until the result is delivered
//! nothing of the file is held, so a crash at any step is safe.

use readproof_core::{
    edit::replace_once,
    path::candidates,
    text::{NotText, Text},
};
use readproof_disk::{Create, Expected, FileRef, LogId, SessionName, SnapshotError};
use readproof_hosts::own::{Changed, SessionError, Sha};

use crate::{Change, Engine, Error, Receipt, SETTINGS_FILE, Write, Written};

/// What is to be written, worked out before anything is touched.
struct Plan {
    before: Option<Text>,
    after: Text,
    hunk: Option<(u32, u32, u32)>,
}

impl Engine {
    /// Writes or edits a file as the agent of a session.
    ///
    /// # Errors
    /// [`Error`]; the file is as before, unless it says that only the record failed.
    pub fn write(&mut self, request: &Write) -> Result<Written, Error> {
        let file = match &request.change {
            Change::Whole(_) if request.path.is_empty() => return Err(Error::EmptyPath),
            Change::Whole(_) => {
                self.root.locate_new(&candidates(&request.path, &self.bearings)).map_err(Error::Locate)?
            }
            // What is edited must be there; a path that is not gets the same help as for a read.
            Change::Replace { .. } => self.place(&request.path, Some(1), None)?.file,
        };
        let real = self.root.real_name(&file);
        if [Some(file.key()), real.as_ref()].into_iter().flatten().any(|name| name.as_str() == SETTINGS_FILE) {
            return Err(Error::OwnSettings);
        }
        let plan = self.plan(&file, &request.change)?;
        let sensitive = self.sensitive.is_sensitive(&self.root, &file);

        let (path, at) = (file.key().to_string(), self.now());
        self.session(&request.session, Create::Yes)?;
        if !sensitive {
            // While the file is as it was: where there is no room for its texts, it stays so.
            self.keep_texts(&plan)?;
        }
        let session = self.session(&request.session, Create::Yes)?;
        let (begun, log) = (session.begin(&path, at)?, session.log_id());
        let expected = plan.before.as_ref().map_or(Expected::Anything, |before| Expected::Text(before.hash()));
        self.root.replace(&file, plan.after.as_str(), expected, self.settings.hard_links)?;
        let bare = Changed { begun: begun.0, path: path.clone(), before: None, after: None, hunk: None, at };
        let entry = self
            .keep(&request.session, log, &plan, bare, sensitive)
            .map_err(|source| Error::Unrecorded { path: path.clone(), source: Box::new(source) })?;
        Ok(Written {
            path,
            bytes: plan.after.as_str().len() as u64,
            lines: plan.after.total(),
            receipt: Receipt { session: request.session.clone(), entry, log },
        })
    }

    /// The texts of a write, synced. The one before it serves only a later replay, which can do without.
    fn keep_texts(&mut self, plan: &Plan) -> Result<(), Error> {
        let Some(store) = self.store(Create::Yes)? else { return Ok(()) };
        if let Some(before) = &plan.before {
            let _ = store.objects().put(before);
        }
        store.objects().put_synced(&plan.after)?;
        Ok(())
    }

    /// The history of a write, synced. A sensitive file leaves only the fact.
    fn keep(
        &mut self,
        session: &SessionName,
        log: LogId,
        plan: &Plan,
        bare: Changed,
        sensitive: bool,
    ) -> Result<readproof_hosts::own::EntryId, Error> {
        let version = |text: &Text| (Sha(text.hash()), text.total());
        let changed = if sensitive {
            bare
        } else {
            Changed {
                before: plan.before.as_ref().map(version),
                after: Some(version(&plan.after)),
                hunk: plan.hunk,
                ..bare
            }
        };
        let name = session;
        let session = self.session(name, Create::No)?;
        if session.log_id() != log {
            return Err(SessionError::OtherLog(name.clone()).into());
        }
        Ok(session.change(changed)?)
    }

    fn plan(&self, file: &FileRef, change: &Change) -> Result<Plan, Error> {
        let plan = match change {
            Change::Whole(content) => {
                let after = Text::from_bytes(content.clone().into_bytes()).map_err(|why: NotText| {
                    Error::Snapshot(SnapshotError::NotText { name: file.key().to_string(), why })
                })?;
                Plan { before: None, after, hunk: None }
            }
            Change::Replace { old, new } => {
                let before = self.root.snapshot(file, &self.snapshot_rules())?.text;
                let edit = replace_once(&before, old, new)
                    .map_err(|source| Error::Edit { path: file.key().to_string(), source })?;
                let hunk = Some((edit.hunk.old.first(), edit.hunk.old.last(), edit.hunk.new_count));
                Plan { before: Some(before), after: edit.after, hunk }
            }
        };
        let bytes = plan.after.as_str().len() as u64;
        if bytes > self.settings.file_bytes {
            return Err(Error::TooLarge { path: file.key().to_string(), bytes, max: self.settings.file_bytes });
        }
        Ok(plan)
    }
}
