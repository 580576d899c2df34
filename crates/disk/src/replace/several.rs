//! A change over several files: all of it, or nothing, as seen by whoever opens something here next. A journal says what is
//! about to happen before the first file is touched. Each file is changed by the durable write, the removal and their rules;
//! what was begun and not completed is undone in the same way, by this process or by the next one. A file is touched only if
//! it holds exactly the text before or the text after; anything else is left alone and reported.

use std::{collections::BTreeSet, fmt, io, os::fd::AsFd};

use readproof_core::text::{ContentHash, Text};

use super::{
    Expected, How, Like, Moment, Moments, Part, ReplaceError, Toward,
    ahead::{Ahead, Wanted, sync_all},
    journal::{self, Entry, Found, MOST_BYTES, Open, Plan, Said},
    may_replace,
    note::Content,
    split, stat_of,
    turn::{NoTurn, Turn},
};
use crate::{
    fault::{Fault, is_missing},
    locate::FileRef,
    root::Root,
    snapshot::HardLinks,
    stores::StoreError,
};

/// How many folders are open at once to be synced.
const FOLDERS_AT_ONCE: usize = 64;

/// One file of a change over several files.
#[derive(Clone, Debug)]
pub struct Step {
    pub file: FileRef,
    /// `None`: no file may be there.
    pub before: Option<ContentHash>,
    /// `None`: it is removed.
    pub after: Option<Text>,
    /// A new file takes its permissions from this one, which is moved.
    pub mode_of: Option<FileRef>,
    /// The permissions of a new file, if it takes them from no other.
    pub mode: Option<u32>,
}

/// Finds a stored text.
pub type Load<'l> = &'l dyn Fn(ContentHash) -> Option<Text>;

/// A change that was made. Its journal is there until [`Self::finish`]; if that is never called, the next recovery says that
/// the change is done.
#[derive(Debug)]
pub struct Applied {
    open: Open,
    moments: Moments,
}

impl Applied {
    /// Call this once the change is recorded: removes the journal.
    ///
    /// # Errors
    /// [`StoreError`] when it is still there; then a later recovery tells of the change once more.
    pub fn finish(self) -> Result<(), StoreError> {
        self.open.remove()?;
        self.moments.tell(Moment::Unjournaled);
        Ok(())
    }
}

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Present {
    Nothing,
    Bytes(ContentHash),
    /// No regular file, or one that cannot be read.
    Other,
}

impl Present {
    /// Whether it is the text with this hash, or nothing for `None`.
    #[must_use]
    pub fn is(self, hash: Option<ContentHash>) -> bool {
        self == hash.map_or(Self::Nothing, Self::Bytes)
    }
}

/// A file that is as it was neither before nor after the change, or cannot be put back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflicting {
    /// The key of the file.
    pub path: String,
    pub before: Option<ContentHash>,
    pub after: Option<ContentHash>,
    pub present: Present,
}

/// What became of a change whose process was killed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// What the caller of [`Root::replace_all`] gave.
    pub note: String,
    pub outcome: Outcome,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Every file was changed.
    Done,
    /// Every file is as it was before.
    Undone,
    /// These files are left as they are; every other one is as it was before.
    Conflict { files: Vec<Conflicting> },
}

/// How many journals there were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Completed or undone.
    pub recovered: u32,
    /// Of a living process, or recovered by another one just now.
    pub busy: u32,
}

/// Why a change over several files was not made.
#[derive(Debug, thiserror::Error)]
#[error("{self:?}")]
pub enum ReplaceAllError {
    /// There can be no journal. Nothing was touched.
    Journal(StoreError),
    /// Too many files, or too long a note. Nothing was touched.
    TooLarge { bytes: usize, max: usize },
    /// Another step is about the same file, or the step is about no text. Nothing was touched.
    BadStep { name: String },
    /// A step failed, and those before it were undone.
    Step {
        source: ReplaceError,
        /// The files among them that another program changed meanwhile; they are left alone.
        left: Vec<Conflicting>,
        /// Why it could not all be undone. The journal is kept for the next recovery.
        unrestored: Option<ReplaceError>,
    },
}

/// Why a change is still half made, or its outcome not recorded. Its journal is kept.
#[derive(Debug, thiserror::Error)]
#[error("{self:?}")]
pub enum RecoverError<E: fmt::Debug> {
    /// The disk does not let files be put back; `files` are those that are not as they were before.
    Unrestored { note: String, source: ReplaceError, files: Vec<Conflicting> },
    /// The caller could not record the outcome.
    Unrecorded(E),
    /// The journal cannot be removed; the outcome is recorded.
    Journal(StoreError),
}

/// What undoing came to.
#[derive(Default)]
struct Undoing {
    left: Vec<Conflicting>,
    failed: Option<ReplaceError>,
}

impl Undoing {
    /// The first failure counts.
    fn fail(&mut self, error: ReplaceError) {
        self.failed.get_or_insert(error);
    }
}

impl Root {
    /// Makes all steps, or none. The texts before and after must be stored, synced, so that `load` finds them in this process
    /// and the next. `note` is kept in the journal for whoever completes the change.
    ///
    /// If this process is killed, [`Self::recover_all`] undoes or completes the change. Other programs may see a mix meanwhile.
    ///
    /// # Errors
    /// [`ReplaceAllError`]; nothing is changed then, except what it names.
    pub fn replace_all(
        &self,
        load: Load<'_>,
        steps: &[Step],
        note: &str,
        hard_links: HardLinks,
    ) -> Result<Applied, ReplaceAllError> {
        let refused = |source| ReplaceAllError::Step { source, left: Vec::new(), unrestored: None };
        let mut plan = Plan { note: note.to_owned(), folders: Vec::new(), entries: Vec::new(), said: None };
        let (mut names, mut likes) = (BTreeSet::new(), Vec::new());
        for step in steps {
            let (entry, found, like) = self.entry(step, hard_links).map_err(refused)?;
            if !names.insert(entry.real.clone()) || (step.before.is_none() && step.after.is_none()) {
                return Err(ReplaceAllError::BadStep { name: entry.path });
            }
            if entry.after.is_some() {
                // No file's name ends like this.
                let missing = self.missing_folders(split(&entry.real).0);
                plan.folders.extend(missing.into_iter().filter(|folder| names.insert(format!("{folder}/"))));
            }
            plan.entries.push(entry);
            likes.push((found, like));
        }
        let bytes = plan.body().len();
        if bytes > MOST_BYTES / 2 {
            return Err(ReplaceAllError::TooLarge { bytes, max: MOST_BYTES / 2 });
        }
        let open = Open::create(self, &plan, &self.temps).map_err(ReplaceAllError::Journal)?;
        self.moments.tell(Moment::Journaled);
        let ahead = self.write_ahead(&open, steps, &likes);
        for (at, (step, (_, like))) in steps.iter().zip(likes).enumerate() {
            let part = Some(Part { journal: open.name() });
            let how = How { like, mode: step.mode, part, ..How::on(hard_links) };
            let ahead = ahead.as_ref().and_then(|ahead| ahead.content(at));
            if let Err(source) = self.make(step, How { ahead, ..how }) {
                return Err(self.give_up(load, (open, &plan), at, source));
            }
            self.moments.tell(Moment::Stepped);
        }
        if let Err(source) = self.sync_folders(&plan) {
            return Err(self.give_up(load, (open, &plan), plan.entries.len(), source));
        }
        // Without it the files themselves tell, unless another program changes one of them.
        let _ = open.say(Said::Complete);
        self.moments.tell(Moment::Complete);
        Ok(Applied { open, moments: self.moments.clone() })
    }

    /// Completes or undoes what killed processes left. `done` is told each outcome while its journal is still there, so that
    /// it can be recorded; it may be told again if this process is killed before the journal is gone.
    ///
    /// A change is done if every file was changed. Otherwise every file that holds exactly its text after gets its text
    /// before, and one that holds neither is left alone and named. `load` finds the texts before.
    ///
    /// # Errors
    /// [`RecoverError`] of the first journal that has one; the others are recovered all the same.
    pub fn recover_all<E: fmt::Debug>(
        &self,
        load: Load<'_>,
        done: &mut dyn FnMut(Recovered) -> Result<(), E>,
    ) -> Result<Swept, RecoverError<E>> {
        let (mut swept, mut failed) = (Swept::default(), None);
        journal::each(self, |found| match found {
            Found::Nothing => {}
            Found::Busy => swept.busy += 1,
            Found::Journal(open, plan) => match self.recover_one(load, (open, plan), done) {
                Ok(()) => swept.recovered += 1,
                Err(error) => {
                    failed.get_or_insert(error);
                }
            },
        });
        failed.map_or(Ok(swept), Err)
    }

    /// Whether there may be a journal. Costs one `stat`.
    #[must_use]
    pub fn has_journal(&self) -> bool {
        journal::is_there(self)
    }

    /// Refuses to build on a text, or on the absence of a file, that is part of a change over several files which may still be
    /// undone. Call this in the folder's turn: without that, such a change could be made meanwhile. Costs one `stat` if nobody
    /// makes one.
    pub(super) fn refuse_half_made(
        &self,
        (file, real): (&FileRef, &str),
        expected: Expected,
        how: How<'_>,
    ) -> Result<(), ReplaceError> {
        let text = match (how.toward, expected) {
            (Toward::New, Expected::Text(hash)) => Some(hash),
            (Toward::New, Expected::Nothing) => None,
            (Toward::New, Expected::Anything) | (Toward::Before, _) => return Ok(()),
        };
        if !self.has_journal() {
            return Ok(());
        }
        let plans = journal::plans(self, how.part.map(|part| part.journal));
        let mut open = plans.iter().filter(|plan| plan.said.is_none()).flat_map(|plan| &plan.entries);
        if open.any(|entry| entry.real == real && entry.after == text) {
            return Err(ReplaceError::Unfinished { name: file.name().to_owned() });
        }
        Ok(())
    }

    /// The new contents on disk, before the first file is touched.
    fn write_ahead(&self, open: &Open, steps: &[Step], likes: &[(Option<Like>, Option<Like>)]) -> Option<Ahead> {
        let mut wanted = Vec::new();
        for (step, (found, like)) in steps.iter().zip(likes) {
            let like = found.or(*like);
            let is_new = like.is_none() && step.mode.is_none();
            wanted.push(step.after.as_ref().map(|text| Wanted { text: text.as_str(), like, is_new }));
        }
        Ahead::write(open.store(), &wanted, &self.temps)
    }

    /// Syncs every folder in which a file has another content now.
    fn sync_folders(&self, plan: &Plan) -> Result<(), ReplaceError> {
        let mut folders = Vec::new();
        let names: BTreeSet<&str> = plan.entries.iter().map(|entry| split(&entry.real).0).collect();
        for names in names.into_iter().collect::<Vec<_>>().chunks(FOLDERS_AT_ONCE) {
            folders.clear();
            for name in names {
                match self.open_folder(name) {
                    Err(error) if is_missing(&error) => {}
                    opened => folders.push(opened.map_err(|error| ReplaceError::from_io(name, error))?),
                }
            }
            let first = names.first().copied().unwrap_or(".");
            sync_all(&folders).map_err(|error| ReplaceError::from_io(first, error))?;
        }
        Ok(())
    }

    /// Checks a step as far as that costs little; what its file is like, and what a new file is made like.
    fn entry(&self, step: &Step, hard_links: HardLinks) -> Result<(Entry, Option<Like>, Option<Like>), ReplaceError> {
        let file = &step.file;
        let real = if step.after.is_some() { self.written_name(file)? } else { self.own_name(file)? };
        let found = self.like(file, &real, Some(hard_links))?;
        if found.is_some() != step.before.is_some() {
            return Err(ReplaceError::Changed { name: file.name().to_owned() });
        }
        let like = match &step.mode_of {
            Some(other) => self.like(other, &self.written_name(other)?, None)?,
            None => None,
        };
        let entry = Entry {
            path: file.name().to_owned(),
            real,
            before: step.before,
            after: step.after.as_ref().map(Text::hash),
            like: found.filter(|_| step.after.is_none()),
        };
        Ok((entry, found, like))
    }

    /// What a file is like; `None`: there is none. With `hard_links`, whether it may be replaced.
    fn like(&self, file: &FileRef, real: &str, hard_links: Option<HardLinks>) -> Result<Option<Like>, ReplaceError> {
        let fail = |error: io::Error| ReplaceError::from_io(file.name(), error);
        let (parent, base) = split(real);
        let folder = match self.open_folder(parent) {
            Err(error) if Fault::of(&error) == Fault::Missing => return Ok(None),
            opened => opened.map_err(fail)?,
        };
        let Some(found) = stat_of(&folder, base).map_err(fail)? else { return Ok(None) };
        if let Some(hard_links) = hard_links {
            may_replace(file, (&folder, base), &found, hard_links)?;
        }
        Ok(Some(Like::of(&found)))
    }

    fn make(&self, step: &Step, how: How<'_>) -> Result<(), ReplaceError> {
        let expected = step.before.map_or(Expected::Nothing, Expected::Text);
        match &step.after {
            Some(text) => self.replace_as(&step.file, (text.as_str(), text.hash()), expected, how),
            None => self.remove_as(&step.file, expected, how),
        }
    }

    /// Undoes the steps before the one that failed, and that one as far as it was made.
    fn give_up(&self, load: Load<'_>, (open, plan): (Open, &Plan), at: usize, source: ReplaceError) -> ReplaceAllError {
        let (made, failed) = plan.entries.split_at(at);
        let mut undoing = Undoing::default();
        // Only what the disk does can go wrong after a file was changed. Otherwise, if it has the text after, another made it.
        let may_be_made = matches!(source, ReplaceError::Io { .. } | ReplaceError::Full { .. });
        for entry in failed.iter().take(1).filter(|_| may_be_made) {
            let as_made = self.present(entry).is_ok_and(|present| present.is(entry.after));
            if as_made {
                self.undo(load, entry, &mut undoing);
            }
        }
        for entry in made.iter().rev() {
            self.undo(load, entry, &mut undoing);
        }
        if undoing.failed.is_none() {
            self.undone(&open, plan);
            // If it stays, the next recovery finds nothing to do.
            let _ = open.remove();
            self.moments.tell(Moment::Unjournaled);
        }
        ReplaceAllError::Step { source, left: undoing.left, unrestored: undoing.failed }
    }

    fn recover_one<E: fmt::Debug>(
        &self,
        load: Load<'_>,
        (open, plan): (Open, Plan),
        done: &mut dyn FnMut(Recovered) -> Result<(), E>,
    ) -> Result<(), RecoverError<E>> {
        let outcome = match plan.said {
            Some(Said::Complete) => Outcome::Done,
            Some(Said::Undone) => Outcome::Undone,
            None => match self.undo_or_keep(load, (&open, &plan)) {
                Ok(outcome) => outcome,
                Err(source) => {
                    let files = plan.entries.iter().filter_map(|entry| self.unlike(entry)).collect();
                    return Err(RecoverError::Unrestored { note: plan.note, source, files });
                }
            },
        };
        done(Recovered { note: plan.note, outcome }).map_err(RecoverError::Unrecorded)?;
        open.remove().map_err(RecoverError::Journal)?;
        self.moments.tell(Moment::Unjournaled);
        Ok(())
    }

    fn undo_or_keep(&self, load: Load<'_>, (open, plan): (&Open, &Plan)) -> Result<Outcome, ReplaceError> {
        let mut all = true;
        for entry in &plan.entries {
            all &= self.present(entry)?.is(entry.after);
        }
        if all {
            // Said, so that a later change of one of the files does not undo the others.
            let _ = open.say(Said::Complete);
            self.moments.tell(Moment::Complete);
            return Ok(Outcome::Done);
        }
        let mut undoing = Undoing::default();
        for entry in plan.entries.iter().rev() {
            self.undo(load, entry, &mut undoing);
        }
        if let Some(failed) = undoing.failed {
            return Err(failed);
        }
        if undoing.left.is_empty() {
            self.undone(open, plan);
            return Ok(Outcome::Undone);
        }
        self.remove_folders(plan.folders.iter());
        undoing.left.reverse();
        Ok(Outcome::Conflict { files: undoing.left })
    }

    fn undone(&self, open: &Open, plan: &Plan) {
        self.remove_folders(plan.folders.iter());
        let _ = open.say(Said::Undone);
        self.moments.tell(Moment::Undone);
    }

    /// Puts one file back, if it holds exactly the text after.
    fn undo(&self, load: Load<'_>, entry: &Entry, undoing: &mut Undoing) {
        let Entry { path, before, after, .. } = entry;
        let left = |present| Conflicting { path: path.clone(), before: *before, after: *after, present };
        let present = match self.present(entry) {
            Ok(present) => present,
            Err(error) => return undoing.fail(error),
        };
        if present.is(*before) {
            return;
        }
        if !present.is(*after) {
            return undoing.left.push(left(present));
        }
        match self.go_back(load, entry) {
            Ok(true) => self.moments.tell(Moment::SteppedBack),
            Ok(false) => undoing.left.push(left(present)),
            Err(ReplaceError::Changed { .. }) => match self.present(entry) {
                Ok(now) => undoing.left.push(left(now)),
                Err(error) => undoing.fail(error),
            },
            Err(error) => undoing.fail(error),
        }
    }

    /// `false`: the text before is not stored.
    fn go_back(&self, load: Load<'_>, entry: &Entry) -> Result<bool, ReplaceError> {
        let expected = entry.after.map_or(Expected::Nothing, Expected::Text);
        let Some(file) = self.file_ref(&self.absolute(&entry.real)) else { return Ok(false) };
        let how = How { like: entry.like, toward: Toward::Before, ..How::on(HardLinks::Allow) };
        let Some(before) = entry.before else {
            self.remove_as(&file, expected, how)?;
            return Ok(true);
        };
        let Some(text) = load(before).filter(|text| text.hash() == before) else { return Ok(false) };
        self.replace_as(&file, (text.as_str(), before), expected, how)?;
        Ok(true)
    }

    /// What a file holds, once what a killed writer left beside it is put right.
    fn present(&self, entry: &Entry) -> Result<Present, ReplaceError> {
        let fail = |error: io::Error| ReplaceError::from_io(&entry.path, error);
        let (parent, base) = split(&entry.real);
        let folder = match self.open_folder(parent) {
            Err(error) if is_missing(&error) => return Ok(Present::Nothing),
            opened => opened.map_err(fail)?,
        };
        let turn = match Turn::take(&folder, self.at(parent)) {
            Ok(turn) => Some(turn),
            // On a disk that cannot be written it can still be looked at.
            Err(NoTurn::Io(_)) => None,
            Err(error @ (NoTurn::Busy | NoTurn::InTheWay)) => {
                return Err(ReplaceError::without_turn(&entry.path, error));
            }
        };
        let content = Content::of_anything(turn.as_ref().map_or(folder.as_fd(), Turn::folder), base);
        Ok(match content.map_err(fail)? {
            Content::Missing => Present::Nothing,
            Content::Bytes(hash) => Present::Bytes(hash),
            Content::Other { .. } => Present::Other,
        })
    }

    /// The file, if it is not as it was before.
    fn unlike(&self, entry: &Entry) -> Option<Conflicting> {
        let present = self.present(entry).unwrap_or(Present::Other);
        let Entry { path, before, after, .. } = entry;
        let file = Conflicting { path: path.clone(), before: *before, after: *after, present };
        (!present.is(*before)).then_some(file)
    }
}
