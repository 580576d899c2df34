//! Removing a file and giving it another name, by the same rules as the durable write: in the folder's turn, only if it holds
//! what the caller expects, never over a change that the caller has not seen, and put right by the next process if this one is
//! killed. Never follows a link in the last part of a name.

use std::{
    io,
    os::fd::{AsFd, OwnedFd},
};

use readproof_core::text::ContentHash;
use rustix::fs::AtFlags;

use super::{
    Expected, How, Moment, ReplaceError, changed, may_replace,
    note::{Content, Exchange},
    split, stat_of,
    temp::{Placed, note_free, rename_new, sweep},
    turn::{Displaced, NoTurn, Turn},
};
use crate::{
    fault::{Fault, missing_or},
    locate::FileRef,
    root::Root,
    snapshot::HardLinks,
    snapshot::spelling::on_disk,
};

impl Root {
    /// Removes a file and returns once that is on disk. A link is refused.
    ///
    /// With [`Expected::Text`] the file is moved to a temporary name, so that what was really removed can be checked: if
    /// another program has put another text there, that is put back. A note announces it, as in [`Self::replace`].
    ///
    /// # Errors
    /// [`ReplaceError`]; the file is then intact. [`ReplaceError::Changed`] also when there is no such file, unless
    /// [`Expected::Nothing`] says so.
    pub fn remove(&self, file: &FileRef, expected: Expected, hard_links: HardLinks) -> Result<(), ReplaceError> {
        self.remove_as(file, expected, How::on(hard_links))
    }

    pub(super) fn remove_as(&self, file: &FileRef, expected: Expected, how: How<'_>) -> Result<(), ReplaceError> {
        let fail = |error| ReplaceError::from_io(file.name(), error);
        let real = self.own_name(file)?;
        let (parent, base) = split(&real);
        let folder = match self.open_folder(parent) {
            Ok(folder) => folder,
            Err(error) if Fault::of(&error) == Fault::Missing => {
                return if expected == Expected::Nothing { Ok(()) } else { Err(changed(file)) };
            }
            Err(error) => return Err(fail(error)),
        };
        let no_turn = |error| ReplaceError::without_turn(file.name(), error);
        let mut turn = Turn::take(&folder, self.at(parent)).map_err(no_turn)?;
        sweep(&folder);
        let old = stat_of(&folder, base).map_err(fail)?;
        if let Some(old) = &old {
            may_replace(file, (&folder, base), old, how.hard_links)?;
        }
        self.refuse_half_made((file, &real), expected, how)?;
        match (expected, old) {
            (Expected::Nothing, None) => return Ok(()),
            (Expected::Nothing, Some(_)) | (Expected::Anything | Expected::Text(_), None) => return Err(changed(file)),
            (Expected::Anything, Some(_)) => {
                rustix::fs::unlinkat(&folder, &*on_disk(base), AtFlags::empty()).map_err(|errno| fail(errno.into()))?;
            }
            (Expected::Text(hash), Some(_)) => match self.take_away(&mut turn, base, hash).map_err(no_turn)? {
                Displaced::Expected => {}
                Displaced::Another => return Err(changed(file)),
            },
        }
        drop(turn);
        self.moments.tell(Moment::Released);
        if how.part.is_some() {
            return Ok(());
        }
        rustix::fs::fsync(&folder).map_err(|errno| fail(errno.into()))
    }

    /// Moves a file to a temporary name, looks at it there, and removes it or puts it back.
    fn take_away(&self, turn: &mut Turn<'_>, base: &str, hash: ContentHash) -> Result<Displaced, NoTurn> {
        let (folder, tell) = (turn.folder(), |moment| self.moments.tell(moment));
        let step = Exchange { put: Content::Missing, over: Content::Bytes(hash) };
        if Content::of(folder, base)? != step.over {
            return Ok(Displaced::Another);
        }
        tell(Moment::Checked);
        let temp = note_free(turn, (base, hash), &self.temps)?;
        turn.announce(step)?;
        tell(Moment::Announced);
        match rename_new((folder, base), (folder, &temp)) {
            Ok(Placed::New) => {}
            // Someone else has the temporary name.
            Ok(Placed::Taken) => return Err(NoTurn::InTheWay),
            Err(error) if Fault::of(&error) == Fault::Missing => return Ok(Displaced::Another),
            Err(error) => return Err(error.into()),
        }
        tell(Moment::Aside);
        let settled = turn.settle(&temp, base, step, None).and_then(|displaced| {
            tell(Moment::Settled);
            missing_or(rustix::fs::unlinkat(folder, &temp, AtFlags::empty()))?;
            Ok(displaced)
        });
        if settled.is_err() {
            // What must be put back is still there, and the note says so.
            turn.leave();
        }
        Ok(settled?)
    }

    /// Gives a file another name, unless something has that name, and returns once that is on disk. Creates missing parents.
    /// A link is refused, and so is a name on another file system.
    ///
    /// The file moves in one step and keeps everything; if this process is killed it has one of the names. With
    /// [`Expected::Text`] it is checked before and after: if another program has saved it meanwhile, it gets its name back.
    ///
    /// # Errors
    /// [`ReplaceError`] with the name it is about; nothing has moved then, except that after a failed final sync it may have.
    pub fn rename(&self, from: &FileRef, to: &FileRef, expected: Expected) -> Result<(), ReplaceError> {
        let fail = |file: &FileRef| {
            let name = file.name().to_owned();
            move |error| ReplaceError::from_io(&name, error)
        };
        let (source, target) = (self.own_name(from)?, self.own_name(to)?);
        let old = match self.open_folder(split(&source).0) {
            Err(error) if Fault::of(&error) == Fault::Missing => return Err(changed(from)),
            opened => opened.map_err(fail(from))?,
        };
        let made = self.missing_folders(split(&target).0);
        let moved = self.folder_for(split(&target).0).map_err(fail(to)).and_then(|new| {
            self.in_both_turns((from, &old), (to, &new), || {
                self.move_checked((from, &old, split(&source).1), (to, &new, split(&target).1), expected)
            })?;
            self.moments.tell(Moment::Released);
            rustix::fs::fsync(&new).map_err(|errno| fail(to)(errno.into()))?;
            rustix::fs::fsync(&old).map_err(|errno| fail(from)(errno.into()))
        });
        if moved.is_err() {
            self.remove_folders(made.iter());
        }
        moved
    }

    /// Has the turns of two folders, which may be the same. They are taken in the order of their inodes, so that two who
    /// rename do not wait for each other.
    fn in_both_turns<T>(
        &self,
        (from, old): (&FileRef, &OwnedFd),
        (to, new): (&FileRef, &OwnedFd),
        work: impl FnOnce() -> Result<T, ReplaceError>,
    ) -> Result<T, ReplaceError> {
        let id = |file: &FileRef, folder: &OwnedFd| {
            let found = rustix::fs::fstat(folder).map_err(|errno| ReplaceError::from_io(file.name(), errno.into()));
            found.map(|found| (found.st_dev, found.st_ino))
        };
        let (one, other) = (id(from, old)?, id(to, new)?);
        let (_first, _second) = match one.cmp(&other) {
            std::cmp::Ordering::Equal => (self.turn(from, old)?, None),
            std::cmp::Ordering::Less => (self.turn(from, old)?, Some(self.turn(to, new)?)),
            std::cmp::Ordering::Greater => (self.turn(to, new)?, Some(self.turn(from, old)?)),
        };
        work()
    }

    fn turn<'f>(&'f self, file: &'f FileRef, folder: &'f OwnedFd) -> Result<Turn<'f>, ReplaceError> {
        let turn = Turn::take(folder, self.at(split(file.name()).0));
        turn.map_err(|error| ReplaceError::without_turn(file.name(), error))
    }

    fn move_checked(
        &self,
        (from, old, base): (&FileRef, &OwnedFd, &str),
        (to, new, other): (&FileRef, &OwnedFd, &str),
        expected: Expected,
    ) -> Result<(), ReplaceError> {
        let fail = |error: io::Error| ReplaceError::from_io(from.name(), error);
        let Some(found) = stat_of(old, base).map_err(fail)? else { return Err(changed(from)) };
        may_replace(from, (old, base), &found, HardLinks::Allow)?;
        let is_expected = |folder: &OwnedFd, name: &str| match expected {
            Expected::Anything => true,
            Expected::Nothing => false,
            Expected::Text(hash) => Content::of(folder.as_fd(), name).is_ok_and(|there| there == Content::Bytes(hash)),
        };
        if !is_expected(old, base) {
            return Err(changed(from));
        }
        self.moments.tell(Moment::Checked);
        match rename_new((old.as_fd(), base), (new.as_fd(), other)) {
            Ok(Placed::New) => {}
            Ok(Placed::Taken) => return Err(changed(to)),
            Err(error) if Fault::of(&error) == Fault::Missing => return Err(changed(from)),
            Err(error) => return Err(fail(error)),
        }
        self.moments.tell(Moment::Moved);
        if is_expected(new, other) {
            return Ok(());
        }
        // If something newer has the old name, both stay.
        match rename_new((new.as_fd(), other), (old.as_fd(), base)) {
            Err(error) if Fault::of(&error) != Fault::Missing => Err(fail(error)),
            Ok(Placed::New | Placed::Taken) | Err(_) => Err(changed(from)),
        }
    }
}
