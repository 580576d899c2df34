//! Turns: a writer holds the lock of its folder; a process that finds the note of a dead writer completes what the note says
//! before it reads or writes there. The lock is a kernel lock on the folder itself, so nothing of it outlives the process.
//! Where folders cannot be locked (NFS), creating the note is the turn; a note whose process does not run on this machine
//! counts as left behind after a wait.
//!
//! Every wait is bounded, and a reader never waits for a writer of another file.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    thread,
    time::Duration,
};

use readproof_core::text::{ContentHash, Text};
use rustix::{
    fs::{AtFlags, FlockOperation},
    io::Errno,
};

use super::{
    displaced::At,
    moment::Moment,
    note::{self, Content, Exchange, Found, NOTE, Note},
    temp::{Placed, is_ours, is_running, rename_new},
};
use crate::{
    fault::missing_or,
    locate::FileRef,
    root::Root,
    snapshot::spelling::on_disk,
    snapshot::{FileKind, SnapshotError},
};

/// How often the turn is tried: about ten seconds to write, two to read. This crate's tests wait less.
const TO_WRITE: u32 = if cfg!(test) { 100 } else { 1000 };
const TO_READ: u32 = if cfg!(test) { 100 } else { 200 };

/// The pause between two tries; the first pauses are shorter.
const PAUSE: Duration = Duration::from_millis(10);
const SHORT_PAUSE: Duration = Duration::from_millis(1);
const SHORT_PAUSES: u32 = 20;

/// How often other programs may replace a file within microseconds before the last of them has to wait for the next call.
const STEPS: u32 = 32;

/// Why there is no turn.
#[derive(Debug)]
pub(crate) enum NoTurn {
    /// Another process holds it and does not release it.
    Busy,
    /// Something that is not a note has the note's name.
    InTheWay,
    Io(io::Error),
}

impl From<io::Error> for NoTurn {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// The right to write in a folder; dropping it removes the note and releases the right.
pub(crate) struct Turn<'f> {
    folder: &'f OwnedFd,
    at: At<'f>,
    locked: bool,
    noted: Option<note::Open>,
}

impl<'f> Turn<'f> {
    /// Waits for the folder's turn, and completes what a dead writer left.
    pub(crate) fn take(folder: &'f OwnedFd, at: At<'f>) -> Result<Self, NoTurn> {
        for attempt in 0..TO_WRITE {
            let locked = match try_lock(folder)? {
                Lock::Taken => true,
                Lock::Busy => {
                    pause(attempt);
                    continue;
                }
                Lock::Impossible if is_free(folder, attempt + 1 == TO_WRITE) => false,
                Lock::Impossible => {
                    pause(attempt);
                    continue;
                }
            };
            let turn = Self { folder, at, locked, noted: None };
            recover(folder.as_fd(), at)?;
            at.tell(Moment::Turn);
            return Ok(turn);
        }
        Err(NoTurn::Busy)
    }

    pub(crate) fn folder(&self) -> BorrowedFd<'f> {
        self.folder.as_fd()
    }

    /// Writes the note, before anything is done.
    pub(crate) fn note(&mut self, temp: &str, base: &str, new: ContentHash) -> Result<(), NoTurn> {
        for attempt in 0..TO_WRITE {
            match note::Open::create(self.folder.as_fd(), temp, base, new) {
                Ok(note) => {
                    self.noted = Some(note);
                    self.at.tell(Moment::Noted);
                    return Ok(());
                }
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error.into()),
                // The holder of the lock has found out that it is not a note.
                Err(_) if self.locked => return Err(NoTurn::InTheWay),
                Err(_) => pause(attempt),
            }
        }
        Err(NoTurn::Busy)
    }

    /// Removes the note again.
    pub(crate) fn unnote(&mut self) -> io::Result<()> {
        self.noted = None;
        note::remove(self.folder.as_fd())
    }

    /// Leaves the note for the next process.
    pub(crate) fn leave(&mut self) {
        self.noted = None;
    }

    /// Adds to the note that names are exchanged next.
    pub(crate) fn announce(&self, step: Exchange) -> io::Result<()> {
        self.noted.as_ref().map_or(Ok(()), |note| note.step(step))
    }

    /// See [`settle_name`].
    pub(crate) fn settle(
        &self,
        temp: &str,
        base: &str,
        step: Exchange,
        likely: Option<&Text>,
    ) -> io::Result<Displaced> {
        let Some(note) = &self.noted else { return Ok(Displaced::Expected) };
        settle_name((self.folder.as_fd(), temp, base), (step, likely), note, self.at)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.at.tell(Moment::Cleared);
        if self.noted.take().is_some() {
            // If it stays, the next process that opens something here finds it.
            let _ = note::remove(self.folder.as_fd());
        }
        self.at.tell(Moment::Unnoted);
        if self.locked {
            let _ = rustix::fs::flock(self.folder, FlockOperation::Unlock);
        }
    }
}

pub(super) enum Lock {
    Taken,
    Busy,
    /// The file system cannot lock folders.
    Impossible,
}

pub(super) fn try_lock(folder: impl AsFd) -> io::Result<Lock> {
    match rustix::fs::flock(folder, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Lock::Taken),
        Err(Errno::WOULDBLOCK | Errno::INTR) => Ok(Lock::Busy),
        Err(Errno::BADF | Errno::INVAL | Errno::NOLCK | Errno::NOSYS | Errno::OPNOTSUPP) => Ok(Lock::Impossible),
        Err(errno) => Err(errno.into()),
    }
}

/// Where the note is the turn: whether there is none or, after a wait (`waited`), only one of a dead process.
fn is_free(folder: &OwnedFd, waited: bool) -> bool {
    match Found::read(folder.as_fd()) {
        Found::Nothing => true,
        Found::NotOurs | Found::Worthless => waited,
        Found::Note(note) => waited && !is_running(&note.temp),
    }
}

/// Whether a process writes in a folder.
pub(crate) fn is_taken(folder: &OwnedFd) -> bool {
    match try_lock(folder) {
        Ok(Lock::Taken) => {
            let _ = rustix::fs::flock(folder, FlockOperation::Unlock);
            false
        }
        Ok(Lock::Busy) => true,
        Ok(Lock::Impossible) | Err(_) => !is_free(folder, true),
    }
}

fn pause(attempt: u32) {
    thread::sleep(if attempt < SHORT_PAUSES { SHORT_PAUSE } else { PAUSE });
}

/// What a name held when new content was put there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Displaced {
    /// The expected content.
    Expected,
    /// Something else; that, or something newer, is back under the name.
    Another,
}

/// After an exchange: if the displaced file is not what was expected, another program put it there meanwhile, and it is put
/// back. That is an exchange too, so what it displaces is checked in the same way. In the end the name holds the newest file
/// that others put there, wherever this is interrupted and resumed.
fn settle_name(
    names: (BorrowedFd<'_>, &str, &str),
    (step, likely): (Exchange, Option<&Text>),
    note: &note::Open,
    at: At<'_>,
) -> io::Result<Displaced> {
    let displaced = settle_names(names, (step, likely), note, at)?;
    if displaced == Displaced::Another {
        at.keep(names, &[step.put, step.over]);
    }
    Ok(displaced)
}

fn settle_names(
    (folder, temp, base): (BorrowedFd<'_>, &str, &str),
    (mut step, likely): (Exchange, Option<&Text>),
    note: &note::Open,
    at: At<'_>,
) -> io::Result<Displaced> {
    let mut displaced = Displaced::Expected;
    for _ in 0..STEPS {
        let found = Content::of_anything_likely(folder, temp, likely)?;
        if found == step.over || found == Content::Missing {
            return Ok(displaced);
        }
        displaced = Displaced::Another;
        if Content::of_anything(folder, base)? != step.put {
            // Newer than the displaced file.
            return Ok(displaced);
        }
        step = Exchange { put: found, over: step.put };
        // It is put back even if that cannot be noted.
        let _ = note.step(step);
        at.tell(Moment::GoingBack);
        if !put_back((folder, temp, base), step)? {
            return Ok(displaced);
        }
        at.tell(Moment::Back);
    }
    Ok(displaced)
}

/// Gives the file that was displaced its name again. `false`: the name is no longer as `step` says.
fn put_back((folder, temp, base): (BorrowedFd<'_>, &str, &str), step: Exchange) -> io::Result<bool> {
    if step.over == Content::Missing {
        return Ok(rename_new((folder, temp), (folder, base))? == Placed::New);
    }
    let exchanged = rustix::fs::renameat_with(folder, temp, folder, &*on_disk(base), rustix::fs::RenameFlags::EXCHANGE);
    Ok(missing_or(exchanged)?.is_some())
}

/// What happened to a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Recovered {
    /// It is gone.
    Done,
    /// Something of that name is not ours.
    NotOurs,
}

/// Completes what a dead writer left. Only for the holder of the turn.
fn recover(folder: BorrowedFd<'_>, at: At<'_>) -> io::Result<Recovered> {
    match Found::read(folder) {
        Found::Nothing => return Ok(Recovered::Done),
        Found::NotOurs => return Ok(Recovered::NotOurs),
        Found::Worthless => {}
        Found::Note(note) => {
            if let Some(step) = note.step {
                resume(folder, &note, step, at)?;
            }
            at.tell(Moment::Settled);
            remove_temp(folder, &note.temp)?;
        }
    }
    at.tell(Moment::Cleared);
    note::remove(folder)?;
    Ok(Recovered::Done)
}

fn resume(folder: BorrowedFd<'_>, note: &Note, step: Exchange, at: At<'_>) -> io::Result<()> {
    let names = (folder, &*note.temp, &*note.base);
    // A new text that never got its name was never acknowledged, and a file that still has its name was not removed; the
    // file to be put back was acknowledged.
    let is_first = step.put == Content::Bytes(note.new) || step.put == Content::Missing;
    if Content::of_anything(folder, &note.temp)? != step.put {
        // The names were exchanged.
        settle_name(names, (step, None), &note::reopen(folder)?, at)?;
    } else if !is_first && Content::of_anything(folder, &note.base)? == step.over && put_back(names, step)? {
        at.tell(Moment::Back);
        settle_name(names, (step, None), &note::reopen(folder)?, at)?;
    }
    if !is_first {
        // Something newer has the name.
        at.keep(names, &[Content::Bytes(note.new)]);
    }
    Ok(())
}

/// Removes the temporary file that a note names, whatever it is now, except a folder.
fn remove_temp(folder: BorrowedFd<'_>, temp: &str) -> io::Result<()> {
    let found = missing_or(rustix::fs::statat(folder, temp, AtFlags::SYMLINK_NOFOLLOW))?;
    if found.is_some_and(|found| FileKind::of(found.st_mode) != Some(FileKind::Directory)) {
        missing_or(rustix::fs::unlinkat(folder, temp, AtFlags::empty()))?;
    }
    Ok(())
}

/// Whether an opened file can be relied on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Settled {
    /// No write was under way.
    Yes,
    /// A write was under way and is over: open the file again.
    Anew,
}

impl Root {
    /// Call this after a file was opened and before its link count is checked. Tells whether a write of it that may have to be
    /// undone is under way or was left behind. Costs one `stat` if nobody writes in the folder, and one more for each part of
    /// the name if any part may be a link.
    ///
    /// Undoing a write unlinks the file that was opened, so a file with a name and no note beside it is settled.
    ///
    /// # Errors
    /// [`SnapshotError`] for a temporary file of Readproof, a writer that hangs, or a disk on which nothing can be put back.
    pub(crate) fn settled(&self, file: &FileRef, links: Links) -> Result<Settled, SnapshotError> {
        let followed;
        let real = match links {
            Links::None => file.name(),
            Links::Perhaps => {
                followed = self.follow(file.name()).unwrap_or_default();
                followed.last().map_or(file.name(), String::as_str)
            }
        };
        let (parent, base) = real.rsplit_once('/').unwrap_or((".", real));
        if is_ours(base) {
            return Err(SnapshotError::Ours { name: file.name().to_owned() });
        }
        if !self.has_note(parent) {
            return Ok(Settled::Yes);
        }
        if !self.waits {
            return Err(SnapshotError::Busy { name: file.name().to_owned() });
        }
        self.settle(parent, base).map_err(|unsettled| match unsettled {
            Unsettled::Busy => SnapshotError::Busy { name: file.name().to_owned() },
            Unsettled::Left(source) => SnapshotError::Unrestored { name: file.name().to_owned(), source },
        })
    }

    /// A root whose reads never wait: while a writer may be at work they are refused as busy.
    #[must_use]
    pub fn without_waiting(mut self) -> Self {
        self.waits = false;
        self
    }

    /// For a name that does not exist: still removes what a killed writer left beside it, and waits for one who may give a
    /// file this name again. Whether the name should be looked for once more.
    pub(crate) fn settle_beside(&self, file: &FileRef) -> bool {
        let (parent, base) = file.name().rsplit_once('/').unwrap_or((".", file.name()));
        self.waits && self.has_note(parent) && matches!(self.settle(parent, base), Ok(Settled::Anew))
    }

    fn has_note(&self, parent: &str) -> bool {
        let mut path = String::with_capacity(parent.len() + 1 + NOTE.len());
        path.push_str(parent);
        path.push('/');
        path.push_str(NOTE);
        rustix::fs::statat(&self.dir, &*on_disk(&path), AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }

    fn settle(&self, parent: &str, base: &str) -> Result<Settled, Unsettled> {
        let Ok(folder) = self.open_folder(parent) else { return Ok(Settled::Yes) };
        for attempt in 0..TO_READ {
            let found = Found::read(folder.as_fd());
            let lock = try_lock(&folder).map_err(Unsettled::Left)?;
            let last = attempt + 1 == TO_READ;
            let may = match lock {
                Lock::Taken => true,
                Lock::Busy => false,
                Lock::Impossible => last && is_free(&folder, last),
            };
            if may {
                return restore(&folder, base, self.at(parent));
            }
            match &found {
                Found::Nothing => return Ok(Settled::Anew),
                // Names are exchanged only after the note is complete and says so.
                Found::Worthless => return Ok(Settled::Yes),
                Found::Note(note) if note.step.is_none() || !note.is_about(base) => return Ok(Settled::Yes),
                Found::Note(_) | Found::NotOurs => pause(attempt),
            }
        }
        Err(Unsettled::Busy)
    }
}

/// Whether a name may lead through links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Links {
    /// It was opened without following any.
    None,
    /// Unknown.
    Perhaps,
}

impl Links {
    pub(crate) fn unless(free_of_links: bool) -> Self {
        if free_of_links { Self::None } else { Self::Perhaps }
    }
}

enum Unsettled {
    Busy,
    Left(io::Error),
}

/// Completes what was left, for a reader that holds the lock; the lock ends with the folder's handle.
fn restore(folder: &OwnedFd, base: &str, at: At<'_>) -> Result<Settled, Unsettled> {
    match recover(folder.as_fd(), at) {
        Ok(Recovered::Done) => Ok(Settled::Anew),
        Ok(Recovered::NotOurs) => Ok(Settled::Yes),
        // If nothing can be written, a name holds the right text unless another file waits to be put back there.
        Err(error) => match must_go_back(folder.as_fd(), base) {
            Ok(false) => Ok(Settled::Yes),
            Ok(true) | Err(_) => Err(Unsettled::Left(error)),
        },
    }
}

/// Whether the name holds a text that was never acknowledged instead of one that was.
fn must_go_back(folder: BorrowedFd<'_>, base: &str) -> io::Result<bool> {
    let Found::Note(Note { temp, base: of, new, step: Some(step) }) = Found::read(folder) else { return Ok(false) };
    if of.to_lowercase() != base.to_lowercase() {
        return Ok(false);
    }
    let (aside, there) = (Content::of_anything(folder, &temp)?, Content::of_anything(folder, &of)?);
    if aside == step.put {
        let is_first = step.put == Content::Bytes(new) || step.put == Content::Missing;
        return Ok(!is_first && there == step.over);
    }
    Ok(aside != step.over && aside != Content::Missing && there == step.put)
}
