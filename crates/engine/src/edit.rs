//! Writes and edits by the agent. The file is read first, the write is announced in the log, made durable on disk, then
//! recorded. Until the result is delivered nothing of the file is held, so a crash at any step is safe. A write
//! replaces only a text that was read and stored, or creates a new file.

use readproof_core::{
    alike::alike,
    edit::{Edit, answer, replace, stated},
    knowledge::Hunk,
    limits::Answers,
    operation::{Change, Write},
    path::candidates,
    text::{NotText, Text},
};
use readproof_disk::{Create, Expected, FileRef, LogId, ReplaceError, SessionName, SnapshotError, is_in_git};
use readproof_hosts::session::{AlikeLines, Block, Changed, EntryId, SessionError, Sha, Stated};

use crate::{
    Engine, Error, SETTINGS_FILE,
    door::{Receipt, Written},
};

/// How often a whole-file write is tried if someone else changes the file meanwhile.
const ATTEMPTS: u32 = 3;

/// What will be written, computed before anything is touched.
struct Plan {
    /// The current text; `None` if there is no file.
    before: Option<Text>,
    /// Whether the current text was read under a sensitive name.
    sensitive: bool,
    after: Text,
    /// For an edit, the lines it replaces.
    hunks: Vec<Hunk>,
    /// The text of the result.
    answer: String,
}

impl Engine {
    /// Writes or edits a file as the agent of a session. After an error the file is unchanged, except after
    /// [`Error::Unrecorded`].
    pub(crate) fn write(&self, log: Option<&SessionName>, request: &Write) -> Result<Written, Error> {
        let name = log.ok_or(Error::NoConversation)?;
        let file = match &request.change {
            Change::Whole(_) if request.path.is_empty() => return Err(Error::EmptyPath),
            Change::Whole(_) => {
                self.refuse_back_through_link(&request.path)?;
                // From the current folder only: a new file must not land on one that the root happens to have.
                self.root.locate_new(&candidates(&request.path, &self.bearings)).map_err(Error::Locate)?
            }
            // The file must exist; if it does not, the error is the same as for a read.
            Change::Replace { .. } => self.resolve_target(&request.path, Some(1), None)?.file,
        };
        let real = self.root.real_name(&file);
        for key in [Some(file.key()), real.as_ref()].into_iter().flatten() {
            if key.as_str() == SETTINGS_FILE {
                return Err(Error::OwnSettings);
            }
            if is_in_git(key.as_str()) {
                return Err(ReplaceError::InGit { name: key.to_string() }.into());
            }
        }
        for attempt in 1.. {
            let plan = self.plan(&file, &request.change)?;
            match (self.carry_out(name, &file, &plan), &request.change) {
                // The new text does not depend on the old one: read and store that again, and retry.
                (Err(Error::Replace(ReplaceError::Changed { .. })), Change::Whole(_)) if attempt < ATTEMPTS => {}
                (done, _) => return done,
            }
        }
        Err(Error::Aborted)
    }

    fn carry_out(&self, name: &SessionName, file: &FileRef, plan: &Plan) -> Result<Written, Error> {
        // A link may point elsewhere by now. Either target makes the write sensitive.
        let sensitive = plan.sensitive || self.sensitive.is_sensitive(&self.root, file);
        let (path, at) = (file.key().to_string(), self.now());
        self.with_session(name, Create::Yes, |_| ())?;
        if !sensitive {
            // Before the file is touched: if its texts do not fit on the disk, it stays as it is.
            self.keep_texts(plan)?;
            self.find_alike(name, file, plan, at)?;
        }
        let (begun, log) = self.with_session(name, Create::Yes, |session| {
            session.begin(&path, at).map(|begun| (begun, session.log_id()))
        })??;
        let expected = plan.before.as_ref().map_or(Expected::Nothing, |before| Expected::Text(before.hash()));
        self.root.replace(file, plan.after.as_str(), expected, self.hard_links())?;
        let entry = self
            .keep(name, log, plan, (begun, path.clone(), at), sensitive)
            .map_err(|source| Error::Unrecorded { path: path.clone(), source: Box::new(source) })?;
        Ok(Written {
            text: plan.answer.clone(),
            bytes: plan.after.as_str().len() as u64,
            lines: plan.after.total(),
            hunks: plan.hunks.clone(),
            notices: self.take_notices(),
            receipt: Receipt { session: name.clone(), entry, log },
            path,
        })
    }

    /// Stores both texts of a write, synced, so that the old one can be restored.
    fn keep_texts(&self, plan: &Plan) -> Result<(), Error> {
        let Some(store) = self.store(Create::Yes)? else { return Ok(()) };
        store.objects().put_all_synced(&plan.before.iter().chain([&plan.after]).collect::<Vec<_>>())?;
        Ok(())
    }

    /// Lines that the model holds of other versions of the file may also be in the version that is edited; they then
    /// move with the edit.
    fn find_alike(&self, name: &SessionName, file: &FileRef, plan: &Plan, at: u64) -> Result<(), Error> {
        let (false, Some(before)) = (plan.hunks.is_empty(), &plan.before) else { return Ok(()) };
        if self.settings.answers == Answers::Seed {
            return Ok(());
        }
        let (mark, knowledge) =
            self.with_session(name, Create::Yes, |session| (session.mark(), session.knowledge()))?;
        let pieces = alike(knowledge.of(file.key()), before, |hash| self.stored(hash));
        let pieces: Vec<_> = pieces.into_iter().map(|piece| (Sha(piece.base), piece.first, piece.last)).collect();
        if pieces.is_empty() {
            return Ok(());
        }
        let version = (Sha(before.hash()), before.total());
        let found = AlikeLines { path: file.key().to_string(), version, pieces, at };
        match self.with_session(name, Create::Yes, |session| session.found_alike(mark, found))? {
            // The edit is right without it.
            Ok(()) | Err(SessionError::Moved) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Records a write, synced. Of a sensitive file only the fact is recorded.
    fn keep(
        &self,
        name: &SessionName,
        log: LogId,
        plan: &Plan,
        (begun, path, at): (EntryId, String, u64),
        sensitive: bool,
    ) -> Result<EntryId, Error> {
        let bare = Changed {
            begun: begun.0,
            path,
            before: None,
            after: None,
            hunk: None,
            stated: Vec::new(),
            block: None,
            at,
        };
        let version = |text: &Text| (Sha(text.hash()), text.total());
        let changed = if sensitive {
            bare
        } else {
            let said = stated(&plan.hunks, plan.after.total()).is_some();
            Changed {
                before: plan.before.as_ref().map(version),
                after: Some(version(&plan.after)),
                hunk: plan.hunks.first().map(|hunk| (hunk.old.first(), hunk.old.last(), hunk.new_count)),
                stated: plan.hunks.iter().filter(|_| said).map(|hunk| Stated::from(*hunk)).collect(),
                block: Some(Block::of(&plan.answer)),
                ..bare
            }
        };
        self.with_session(name, Create::No, |session| {
            if session.log_id() != log {
                return Err(SessionError::OtherLog(name.clone()).into());
            }
            Ok(session.change(changed)?)
        })?
    }

    fn plan(&self, file: &FileRef, change: &Change) -> Result<Plan, Error> {
        let name = || file.key().to_string();
        let plan = match change {
            Change::Whole(content) => {
                let after = Text::from_bytes(content.clone().into_bytes())
                    .map_err(|why: NotText| Error::Snapshot(SnapshotError::NotText { name: name(), why }))?;
                self.fits(file, &after)?;
                let (bytes, lines) = (after.as_str().len(), after.total());
                let answer = format!("wrote {}: {bytes} bytes, {lines} lines", file.key());
                let (before, sensitive) = self.there(file)?;
                Plan { before, sensitive, after, hunks: Vec::new(), answer }
            }
            Change::Replace { old, new, places } => {
                let read = self.root.snapshot(file, &self.snapshot_rules())?;
                let (sensitive, before) = (self.sensitive.is_sensitive_read(file, &read), read.text);
                let edit = replace(&before, old, new, *places)
                    .map_err(|source| Error::Edit { path: file.key().to_string(), source })?;
                let said = answer(file.key().as_str(), &edit);
                let Edit { after, hunks, .. } = edit;
                Plan { before: Some(before), sensitive, after, hunks, answer: said }
            }
        };
        self.fits(file, &plan.after)?;
        Ok(plan)
    }

    /// Refuses a text that would be too large to read again.
    fn fits(&self, file: &FileRef, after: &Text) -> Result<(), Error> {
        let (bytes, max) = (after.as_str().len() as u64, self.settings.file_bytes);
        if bytes > max {
            return Err(Error::TooLarge { path: file.key().to_string(), bytes, max });
        }
        Ok(())
    }

    /// The text that a whole-file write would replace, and whether it is sensitive. What cannot be stored is not
    /// replaced.
    fn there(&self, file: &FileRef) -> Result<(Option<Text>, bool), Error> {
        match self.root.snapshot(file, &self.snapshot_rules()) {
            Ok(read) => {
                let sensitive = self.sensitive.is_sensitive_read(file, &read);
                Ok((Some(read.text), sensitive))
            }
            Err(SnapshotError::Missing { .. }) => Ok((None, false)),
            Err(why @ (SnapshotError::NotText { .. } | SnapshotError::TooLarge { .. })) => {
                Err(Error::NotKept { path: file.key().to_string(), why })
            }
            Err(other) => Err(other.into()),
        }
    }
}
