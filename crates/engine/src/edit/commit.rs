//! Carries out what was planned: texts stored, writes announced, files replaced, all recorded. One file is replaced as it is;
//! several are replaced under a journal, so that all of them change or none.

use readproof_core::{
    alike::alike,
    edit::stated,
    limits::Answers,
    operation::Caller,
    text::{ContentHash, Text},
};
use readproof_disk::{Applied, BesideError, Create, Expected, FileRef, LogId, SessionName, Step};
use readproof_hosts::{
    session::{AlikeLines, Block, Changed, EntryId, SessionError, Sha, Stated},
    versions::{By, Change, ChangedFile, Gap, Gaps, VersionId},
};

use std::sync::{Mutex, OnceLock};

use super::{Plans, plan::Plan};
use crate::{
    Engine, Error,
    conversation::locked,
    door::{Notice, Receipt, Written, WrittenFile},
};

/// The session that records a call, and the entries that announce its writes.
struct Announced<'a> {
    name: &'a SessionName,
    log: LogId,
    begun: Vec<EntryId>,
}

impl Engine {
    /// Makes all plans real, or none.
    pub(super) fn commit(
        &self,
        caller: &Caller,
        log: Option<&SessionName>,
        operation: &'static str,
        plans: Plans,
    ) -> Result<Written, Error> {
        let mut plans = plans;
        for plan in &mut plans {
            // A link may point elsewhere by now. Either target makes the write sensitive.
            plan.sensitive = plan.sensitive || self.shared.sensitive.is_sensitive(&self.root, &plan.file);
        }
        let at = self.now();
        if let (true, Some(secret)) = (plans.len() > 1, plans.iter().find(|plan| plan.sensitive)) {
            // Its texts are not stored, so it could not be put back.
            return Err(Error::SensitiveTogether { path: secret.path.clone() });
        }
        let (announced, keeping) = (OnceLock::new(), Mutex::new(None));
        // Before a file is touched its texts are stored: if they do not fit on the disk, it stays as it is. Then it is announced.
        let ready = || {
            // Until the change is recorded, which is when this function returns.
            *locked(&keeping) = self.keeping_texts()?;
            self.keep_texts(&plans)?;
            if let Some(name) = log {
                let _ = announced.set(self.announce(name, &plans, at)?);
            }
            Ok(())
        };
        let (changing, needless): (Vec<&Plan>, Vec<&Plan>) = plans.iter().partition(|plan| !plan.is_needless());
        let path = plans.first().map(|plan| plan.path.clone()).unwrap_or_default();
        let unrecorded = |source: Error| Error::Unrecorded { path: path.clone(), source: Box::new(source) };
        let (text, change) = (said(&plans), self.change_of(caller, operation, &changing, at));
        let record = || {
            let announced = announced.get();
            let entry = announced.and_then(|announced: &Announced<'_>| announced.begun.first()).map(|entry| entry.0);
            let change = || {
                let mut change = Change { entry, ..change.clone() };
                for file in change.files.iter_mut().filter(|file| file.gaps == Gaps::default()) {
                    // That this cannot be told is not a reason to call the change unrecorded.
                    file.since = self.met_by_call(&file.path, file.before.map(|Sha(hash)| hash)).ok().flatten();
                }
                change
            };
            let version = if changing.is_empty() { None } else { self.record_version(change())? };
            let receipts = match announced {
                Some(announced) => self.keep(announced, &plans, &text, at)?,
                None => Vec::new(),
            };
            Ok((version, receipts))
        };
        let (version, receipts) = match &changing[..] {
            [Plan { file, before, after: Some(after), mode, .. }] => {
                let over = (before.as_ref(), self.hard_links(), *mode);
                self.root.replace_beside(file, after, over, ready, record).map_err(|error| match error {
                    BesideError::Replace(source) => Error::Replace(source),
                    BesideError::Ready(source) => source,
                    BesideError::Then(source) => unrecorded(source),
                })?
            }
            [Plan { file, before, after: None, .. }] => {
                ready()?;
                let expected = before.as_ref().map_or(Expected::Nothing, |before| Expected::Text(before.hash()));
                self.root.remove(file, expected, self.hard_links())?;
                record().map_err(unrecorded)?
            }
            several => {
                ready()?;
                let steps: Vec<Step> = several.iter().map(|plan| step_of(plan)).collect();
                let load = |hash| self.stored(hash);
                let applied = match &steps[..] {
                    [] => None,
                    steps => Some(self.root.replace_all(&load, steps, &change.to_note(), self.hard_links())?),
                };
                let recorded = record().map_err(unrecorded)?;
                // If its journal stays, the next call finds that the change is recorded.
                drop(applied.map(Applied::finish));
                recorded
            }
        };
        let so_already = needless.iter().map(|plan| Notice::SoAlready(plan.path.clone()));
        let notices = so_already.chain(self.take_notices()).collect();
        Ok(Written { text, files: plans.iter().map(file_of).collect(), version, notices, receipts })
    }

    /// Stores all texts of a call, synced, so that the old ones can be restored.
    fn keep_texts(&self, plans: &[Plan]) -> Result<(), Error> {
        let texts: Vec<&Text> = plans
            .iter()
            .filter(|plan| !plan.sensitive)
            .flat_map(|plan| [plan.before.as_ref(), plan.after.as_ref()])
            .flatten()
            .collect();
        if let (Some(store), false) = (self.store(Create::Yes)?, texts.is_empty()) {
            store.objects().put_all_synced(&texts)?;
        }
        Ok(())
    }

    /// Says in the log which files are about to change.
    fn announce<'a>(&self, name: &'a SessionName, plans: &[Plan], at: u64) -> Result<Announced<'a>, Error> {
        self.with_session(name, Create::Yes, |_| ())?;
        for plan in plans.iter().filter(|plan| !plan.sensitive) {
            self.find_alike(name, plan, at)?;
        }
        let (begun, log) = self.with_session(name, Create::Yes, |session| {
            let begun: Result<Vec<EntryId>, SessionError> =
                plans.iter().map(|plan| session.begin(&plan.path, at)).collect();
            begun.map(|begun| (begun, session.log_id()))
        })??;
        Ok(Announced { name, log, begun })
    }

    /// Lines that the model holds of other versions of the file may also be in the version that is edited; they then
    /// move with the edit.
    fn find_alike(&self, name: &SessionName, plan: &Plan, at: u64) -> Result<(), Error> {
        let (false, Some(before)) = (plan.hunks.is_empty(), plan.base.as_ref().or(plan.before.as_ref())) else {
            return Ok(());
        };
        if self.shared.settings.answers == Answers::Seed {
            return Ok(());
        }
        let (mark, knowledge) =
            self.with_session(name, Create::Yes, |session| (session.mark(), session.knowledge()))?;
        let pieces = alike(knowledge.of(plan.file.key()), before, |hash| self.stored(hash));
        let pieces: Vec<_> = pieces.into_iter().map(|piece| (Sha(piece.base), piece.first, piece.last)).collect();
        if pieces.is_empty() {
            return Ok(());
        }
        let version = (Sha(before.hash()), before.total());
        let found = AlikeLines { path: plan.path.clone(), version, pieces, at };
        match self.with_session(name, Create::Yes, |session| session.found_alike(mark, found))? {
            // The edit is right without it.
            Ok(()) | Err(SessionError::Moved) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Records what was done in the conversation, synced. Of a sensitive file only the fact is recorded.
    fn keep(&self, announced: &Announced<'_>, plans: &[Plan], text: &str, at: u64) -> Result<Vec<Receipt>, Error> {
        let Announced { name, log, begun } = announced;
        self.with_session(name, Create::No, |session| {
            if session.log_id() != *log {
                return Err(SessionError::OtherLog((*name).clone()).into());
            }
            let changes: Vec<Changed> =
                plans.iter().zip(begun).map(|(plan, begun)| changed(plan, *begun, text, at)).collect();
            let entries = session.change_all(changes)?;
            let receipt = |entry| Receipt { session: (*name).clone(), entry, log: *log };
            Ok(entries.into_iter().map(receipt).collect())
        })?
    }
}

/// What the session's log says of one file.
fn changed(plan: &Plan, begun: EntryId, text: &str, at: u64) -> Changed {
    let path = plan.path.clone();
    let bare =
        Changed { begun: begun.0, path, before: None, after: None, hunk: None, stated: Vec::new(), block: None, at };
    if plan.sensitive || plan.after.is_none() {
        return bare;
    }
    let version = |text: &Text| (Sha(text.hash()), text.total());
    let total = plan.after.as_ref().map_or(0, Text::total);
    let said = stated(&plan.hunks, total).is_some();
    // A change whose lines are not stated is one that the model cannot place.
    let unplaced = (!plan.whole).then_some((1, 1, 0));
    Changed {
        before: plan.base.as_ref().or(plan.before.as_ref()).map(version),
        after: plan.after.as_ref().map(version),
        hunk: plan.hunks.first().map(|hunk| (hunk.old.first(), hunk.old.last(), hunk.new_count)).or(unplaced),
        stated: plan.hunks.iter().filter(|_| said).map(|hunk| Stated::from(*hunk)).collect(),
        block: Some(Block::of(text)),
        ..bare
    }
}

/// The whole answer: a part for each file.
fn said(plans: &[Plan]) -> String {
    say_all(plans.iter().map(|plan| plan.said.as_str()))
}

/// What is said of each file, as one answer.
pub(crate) fn say_all<'s>(parts: impl Iterator<Item = &'s str>) -> String {
    let parts = parts.map(|part| part.trim_end_matches('\n'));
    parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

fn file_of(plan: &Plan) -> WrittenFile {
    let hash = |text: Option<&Text>| text.map(Text::hash).filter(|_| !plan.sensitive);
    WrittenFile {
        path: plan.path.clone(),
        from: plan.from.as_ref().map(|from| from.key().to_string()),
        removed: plan.after.is_none(),
        same: plan.is_needless(),
        before: hash(plan.before.as_ref()),
        after: hash(plan.after.as_ref()),
        bytes: plan.after.as_ref().map_or(0, |text| text.as_str().len() as u64),
        lines: plan.after.as_ref().map_or(0, Text::total),
        hunks: plan.hunks.clone(),
        assumed: plan.assumed.clone(),
        merged: plan.base.is_some(),
        diff: plan.diff(),
        base: hash(plan.base.as_ref()),
    }
}

fn step_of(plan: &Plan) -> Step {
    Step {
        file: plan.file.clone(),
        before: plan.before.as_ref().map(Text::hash),
        after: plan.after.clone(),
        mode_of: plan.from.clone(),
        mode: plan.mode,
    }
}

impl Engine {
    /// What the version log says of a call. A file has its own name there, whatever link led to it.
    fn change_of(&self, caller: &Caller, operation: &'static str, plans: &[&Plan], at: u64) -> Change {
        let hash = |plan: &Plan, text: Option<&Text>| -> Option<ContentHash> {
            text.map(Text::hash).filter(|_| !plan.sensitive)
        };
        let gap = |plan: &Plan, text: Option<&Text>| text.filter(|_| plan.sensitive).map(|_| Gap::Sensitive);
        let file = |plan: &&Plan| ChangedFile {
            path: self.logged_name(&plan.file),
            before: hash(plan, plan.before.as_ref()).map(Sha),
            after: hash(plan, plan.after.as_ref()).map(Sha),
            from: plan.from.as_ref().map(|from| from.key().to_string()),
            removed: plan.after.is_none(),
            since: None,
            gaps: Gaps { before: gap(plan, plan.before.as_ref()), after: gap(plan, plan.after.as_ref()) },
            mode: plan.mode.filter(|_| plan.after.is_none()),
        };
        let files = plans.iter().map(file).collect();
        Change { operation: operation.into(), files, by: By::from(caller), at, entry: None, event: None }
    }

    /// The name of a file in the version log: that of the file behind links.
    pub(crate) fn logged_name(&self, file: &FileRef) -> String {
        self.root.real_name(file).map_or_else(|| file.key().to_string(), |name| name.to_string())
    }

    fn record_version(&self, change: Change) -> Result<Option<VersionId>, Error> {
        self.with_versions(Create::Yes, |versions| versions.changed(change))
    }
}
