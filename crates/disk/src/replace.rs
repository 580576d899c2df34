//! The durable write of a whole file, in the folder's turn: note, temporary file, sync, rename, sync. A link stays a link and
//! its target is replaced. Never leaves a half-written file under the name, never writes outside the root or into a store, and
//! never over a change that the caller has not seen, if the caller says what is expected. Wherever the process ends, every name
//! holds an acknowledged text, or gets it back when something in its folder is next opened.

mod ahead;
mod displaced;
mod journal;
mod moment;
mod note;
mod remove;
mod results;
mod scratch;
mod several;
pub(crate) mod temp;
pub(crate) mod turn;
mod way;

pub use displaced::DisplacedText;
pub(crate) use displaced::DisplacedTexts;
pub use moment::Moment;
pub(crate) use moment::Moments;
pub use note::NOTE;
pub use results::ResultsFile;
pub use scratch::Scratch;
pub use several::{
    Applied, Conflicting, Load, Outcome, Present, RecoverError, Recovered, ReplaceAllError, Step, Swept,
};
pub use temp::{Leftover, is_ours};
pub use way::{Obstacle, Stands};

use std::{
    fmt,
    fs::File,
    io::{self, Write},
    os::fd::OwnedFd,
    sync::{Mutex, PoisonError},
    thread,
};

use readproof_core::text::{ContentHash, Text};
use rustix::fs::{Access, AtFlags, Gid, Mode, OFlags, Stat, Uid};

use crate::{
    fault::{Fault, is_missing, missing_or},
    locate::FileRef,
    root::Root,
    snapshot::spelling::on_disk,
    snapshot::{FileKind, HardLinks},
    stores::STORE_NAME,
};
use note::{Content, Exchange};
use temp::{Placed, Temp, sweep};
use turn::{Displaced, NoTurn, Turn};

/// What a write expects to replace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// Anything, or no file at all.
    Anything,
    /// No file of this name.
    Nothing,
    /// The text with this hash.
    Text(ContentHash),
}

/// How a file is replaced or removed.
#[derive(Clone, Copy, Debug)]
struct How<'t> {
    hard_links: HardLinks,
    /// What a new file is like.
    like: Option<Like>,
    /// Its permissions, if nothing else says what it is like.
    mode: Option<u32>,
    toward: Toward,
    /// The text that is expected, if it is at hand.
    likely: Option<&'t Text>,
    /// The new content, if it is on disk already.
    ahead: Option<ahead::Content<'t>>,
    /// The change over several files that this is a step of.
    part: Option<Part<'t>>,
}

/// What a step knows of the change that it belongs to: the name of its journal, which is no other's. The whole change syncs the folders.
#[derive(Clone, Copy, Debug)]
struct Part<'t> {
    journal: &'t str,
}

impl How<'_> {
    fn on(hard_links: HardLinks) -> Self {
        Self { hard_links, like: None, mode: None, toward: Toward::New, likely: None, ahead: None, part: None }
    }
}

/// Whether a write builds on what is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Toward {
    /// Then that must not be something that may still be undone.
    New,
    /// It undoes what is there.
    Before,
}

/// What happened to the name.
enum Named {
    Done,
    Changed,
}

impl Root {
    /// Makes `text` the whole content of the file and returns its hash once it is on disk. Creates missing parents.
    ///
    /// Keeps the permissions, without set-user-id and set-group-id, and the owner if this user may. Does not keep access lists
    /// and extended attributes; and with [`HardLinks::Allow`] the other names keep the old content, as after any rename.
    ///
    /// One Readproof process at a time writes in a folder; others wait, at most about ten seconds. With [`Expected::Text`] the
    /// file is checked once more just before it is replaced. Old and new file then exchange names, so that what was really
    /// replaced can be checked as well: if another program has put another text there, that is put back. A note in the folder
    /// announces the exchange: if this process is killed, the next one that opens something in the folder puts it back. What
    /// can still be lost: a change by another program between check and rename where the file system cannot exchange names;
    /// and, as after any rename, what is written later through a handle that was opened before.
    ///
    /// # Errors
    /// [`ReplaceError`]; the old content is then intact, except that after a failed final sync it may be either.
    pub fn replace(
        &self,
        file: &FileRef,
        text: &str,
        expected: Expected,
        hard_links: HardLinks,
    ) -> Result<ContentHash, ReplaceError> {
        let new = ContentHash::of(text.as_bytes());
        self.replace_as(file, (text, new), expected, How::on(hard_links))?;
        Ok(new)
    }

    /// As [`Self::replace`], for a text whose hash is known.
    ///
    /// # Errors
    /// As [`Self::replace`].
    pub fn replace_text(
        &self,
        file: &FileRef,
        text: &Text,
        expected: Expected,
        hard_links: HardLinks,
    ) -> Result<(), ReplaceError> {
        self.replace_as(file, (text.as_str(), text.hash()), expected, How::on(hard_links))
    }

    /// As [`Self::replace_text`] over a text, or with these permissions where no file is, beside what else the disk must be waited for: `ready` is done while the new content is
    /// written, and the file is touched only if it succeeds; `then` is done once the file has the new text, while its folder
    /// is synced.
    ///
    /// # Errors
    /// [`BesideError`]; after [`BesideError::Then`] the file has the new text, synced.
    pub fn replace_beside<T, E: fmt::Debug + Send>(
        &self,
        file: &FileRef,
        text: &Text,
        over: (Option<&Text>, HardLinks, Option<u32>),
        ready: impl FnOnce() -> Result<(), E> + Send,
        then: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, BesideError<E>> {
        let (before, hard_links, mode) = over;
        let expected = before.map_or(Expected::Nothing, |before| Expected::Text(before.hash()));
        let how = How { likely: before, mode, ..How::on(hard_links) };
        let mut done = None;
        let mut refused = None;
        let replaced = self.replace_in(
            file,
            (text.as_str(), text.hash()),
            (expected, how),
            |write| {
                let (temp, ready) = at_once(write, ready);
                refused = ready.map(Result::err);
                if matches!(refused, Some(None)) { temp } else { Err(NoTurn::Busy) }
            },
            |sync| {
                let (then, synced) = at_once(then, sync);
                done = Some(then);
                synced.unwrap_or_else(sync)
            },
        );
        match (replaced, refused.flatten(), done) {
            (_, Some(error), _) => Err(BesideError::Ready(error)),
            (Ok(()), None, Some(done)) => done.map_err(BesideError::Then),
            (Err(error), None, _) => Err(BesideError::Replace(error)),
            // It was not replaced if nothing was done then.
            (Ok(()), None, None) => Err(BesideError::Replace(changed(file))),
        }
    }

    fn replace_as(
        &self,
        file: &FileRef,
        (text, new): (&str, ContentHash),
        expected: Expected,
        how: How<'_>,
    ) -> Result<(), ReplaceError> {
        let sync = |sync: Syncing<'_>| if how.part.is_some() { Ok(()) } else { sync() };
        self.replace_in(file, (text, new), (expected, how), |write| write(), sync)
    }

    /// The whole of a write. `writing` and `syncing` surround what waits for the disk.
    fn replace_in(
        &self,
        file: &FileRef,
        (text, new): (&str, ContentHash),
        (expected, how): (Expected, How<'_>),
        writing: impl for<'t> FnOnce(Writing<'_, 't>) -> Result<Temp<'t>, NoTurn>,
        syncing: impl FnOnce(Syncing<'_>) -> io::Result<()>,
    ) -> Result<(), ReplaceError> {
        let fail = |error| ReplaceError::from_io(file.name(), error);
        let real = self.written_name(file)?;
        let (parent, base) = split(&real);
        let no_turn = |error| ReplaceError::without_turn(file.name(), error);
        let folder = self.folder_for(parent).map_err(fail)?;
        let mut turn = Turn::take(&folder, self.at(parent)).map_err(no_turn)?;
        sweep(&folder);
        let old = stat_of(&folder, base).map_err(fail)?;
        if let Some(old) = &old {
            may_replace(file, (&folder, base), old, how.hard_links)?;
        }
        self.refuse_half_made((file, &real), expected, how)?;
        let like = old.as_ref().map(Like::of).or(how.like);
        let made = (like, how.mode, how.ahead);
        let temp = writing(&mut || self.written(&mut turn, (base, new), text, made)).map_err(no_turn)?;
        match self.named(&mut turn, temp, (base, new), (expected, how.likely)).map_err(fail)? {
            Named::Done => {}
            Named::Changed => return Err(changed(file)),
        }
        drop(turn);
        self.moments.tell(Moment::Released);
        syncing(&|| Ok(rustix::fs::fsync(&folder)?)).map_err(fail)
    }

    /// The name under which a file really lies, all links followed, if it may be written.
    fn written_name(&self, file: &FileRef) -> Result<String, ReplaceError> {
        let names = self.follow(file.name()).map_err(|error| ReplaceError::from_io(file.name(), error))?;
        may_write(file, names)
    }

    /// The same, but if the last part of the name is a link, that link's own name.
    fn own_name(&self, file: &FileRef) -> Result<String, ReplaceError> {
        let (parent, base) = split(file.name());
        let names = self.follow(parent).map_err(|error| ReplaceError::from_io(file.name(), error))?;
        let own = |name: &String| if name == "." { base.to_owned() } else { format!("{name}/{base}") };
        may_write(file, names.iter().map(own).collect())
    }

    /// A temporary file with the new content, synced.
    fn written<'f>(
        &self,
        turn: &mut Turn<'f>,
        what: (&str, ContentHash),
        text: &str,
        (like, permissions, ahead): (Option<Like>, Option<u32>, Option<ahead::Content<'_>>),
    ) -> Result<Temp<'f>, NoTurn> {
        // Only one that nobody can read who may not read the file.
        let ahead = ahead.filter(|ahead| ahead.is_new == (like.is_none() && permissions.is_none()));
        if let Some(content) = ahead
            && let Some(temp) = Temp::move_noted(turn, what, content, &self.temps)?
        {
            self.moments.tell(Moment::Made);
            if let Some(like) = like.filter(|_| content.like != like) {
                like.give(temp.file())?;
            }
            give_mode(temp.file(), permissions.filter(|_| like.is_none()))?;
            self.moments.tell(Moment::Written);
            return Ok(temp);
        }
        let mode = match like {
            Some(_) => Mode::RUSR | Mode::WUSR,
            None => Mode::from_raw_mode(0o666),
        };
        let temp = Temp::create_noted(turn, what, mode, &self.temps)?;
        self.moments.tell(Moment::Made);
        temp.file().write_all(text.as_bytes())?;
        match like {
            Some(like) => like.give(temp.file())?,
            None => give_mode(temp.file(), permissions)?,
        }
        rustix::fs::fsync(temp.file()).map_err(io::Error::from)?;
        self.moments.tell(Moment::Written);
        Ok(temp)
    }

    /// Gives the new content its name, unless something unexpected has that name.
    fn named(
        &self,
        turn: &mut Turn<'_>,
        temp: Temp<'_>,
        (base, new): (&str, ContentHash),
        (expected, likely): (Expected, Option<&Text>),
    ) -> io::Result<Named> {
        let (folder, tell) = (turn.folder(), |moment| self.moments.tell(moment));
        let hash = match expected {
            Expected::Text(hash) => hash,
            Expected::Anything => {
                temp.replace(folder, base)?;
                tell(Moment::Settled);
                return Ok(Named::Done);
            }
            Expected::Nothing => {
                let placed = temp.place(folder, base)?;
                tell(Moment::Settled);
                return Ok(match placed {
                    Placed::New => Named::Done,
                    Placed::Taken => Named::Changed,
                });
            }
        };
        let step = Exchange { put: Content::Bytes(new), over: Content::Bytes(hash) };
        if Content::of_likely(folder, base, likely)? != step.over {
            return Ok(Named::Changed);
        }
        tell(Moment::Checked);
        turn.announce(step)?;
        tell(Moment::Announced);
        match temp.exchange(base) {
            Ok(true) => {}
            Ok(false) => {
                temp.replace(folder, base)?;
                tell(Moment::Settled);
                return Ok(Named::Done);
            }
            Err(error) if Fault::of(&error) == Fault::Missing => return Ok(Named::Changed),
            Err(error) => return Err(error),
        }
        tell(Moment::Exchanged);
        match turn.settle(temp.name(), base, step, likely) {
            Ok(displaced) => {
                tell(Moment::Settled);
                Ok(match displaced {
                    Displaced::Expected => Named::Done,
                    Displaced::Another => Named::Changed,
                })
            }
            Err(error) => {
                // What must be put back is still there, and the note says so.
                temp.leave();
                turn.leave();
                Err(error)
            }
        }
    }

    /// Opens a folder so that it can be synced; creates it if it is missing.
    fn folder_for(&self, name: &str) -> io::Result<OwnedFd> {
        match self.open_folder(name) {
            Err(error) if Fault::of(&error) == Fault::Missing => {
                self.make_folders(name)?;
                self.open_folder(name)
            }
            opened => opened,
        }
    }

    pub(crate) fn open_folder(&self, name: &str) -> io::Result<OwnedFd> {
        let dir = self.dir.open_dir(&*on_disk(name))?;
        // cap-std's handle has no read access; a folder must be opened to be synced.
        Ok(rustix::fs::openat(&dir, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?)
    }

    /// Makes the folders of a name that are missing.
    fn make_folders(&self, name: &str) -> io::Result<()> {
        let mut parent = ".";
        for folder in folders_of(name) {
            match self.dir.create_dir(&*on_disk(folder)) {
                Ok(()) => rustix::fs::fsync(self.open_folder(parent)?)?,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
            parent = folder;
        }
        Ok(())
    }

    /// The folders of a name that [`Self::make_folders`] would make.
    fn missing_folders(&self, name: &str) -> Vec<String> {
        let missing =
            |folder: &&str| self.dir.symlink_metadata(&*on_disk(folder)).is_err_and(|error| is_missing(&error));
        folders_of(name).filter(missing).map(str::to_owned).collect()
    }

    /// Removes folders that were made, unless something is in them by now.
    fn remove_folders<'n>(&self, made: impl DoubleEndedIterator<Item = &'n String>) {
        for folder in made.rev() {
            let _ = self.dir.remove_dir(&*on_disk(folder));
        }
    }
}

/// Gives a new file these permissions, if any are known; never with set-user-id, whatever a record says.
fn give_mode(file: &File, permissions: Option<u32>) -> io::Result<()> {
    permissions.map_or(Ok(()), |mode| Ok(rustix::fs::fchmod(file, Mode::from_raw_mode(mode & 0o777))?))
}

/// A folder and all above it, the topmost first.
fn folders_of(name: &str) -> impl Iterator<Item = &str> {
    let ends = name.match_indices('/').map(|(at, _)| at).chain([name.len()]);
    ends.map(|end| &name[..end]).filter(|folder| *folder != ".")
}

/// Whether a name is `.git` or lies in it. Compared without case, as some file systems do.
#[must_use]
pub fn is_in_git(name: &str) -> bool {
    name.split('/').any(|part| part.eq_ignore_ascii_case(".git"))
}

/// Whether a name lies in a store of ours, whatever case its letters have.
#[must_use]
pub fn is_in_store(name: &str) -> bool {
    name.split('/').any(|part| part.eq_ignore_ascii_case(STORE_NAME))
}

fn stat_of(folder: &OwnedFd, base: &str) -> io::Result<Option<Stat>> {
    Ok(missing_or(rustix::fs::statat(folder, &*on_disk(base), AtFlags::SYMLINK_NOFOLLOW))?)
}

/// Writes the temporary file.
type Writing<'w, 't> = &'w mut dyn FnMut() -> Result<Temp<'t>, NoTurn>;

/// Syncs the folder.
type Syncing<'s> = &'s (dyn Fn() -> io::Result<()> + Sync);

/// Does two things at once, the second on a thread of its own if there can be one. It is missing if its thread panicked.
fn at_once<A, B: Send>(one: impl FnOnce() -> A, other: impl FnOnce() -> B + Send) -> (A, Option<B>) {
    let other = Mutex::new(Some(other));
    let take = || other.lock().unwrap_or_else(PoisonError::into_inner).take();
    thread::scope(|scope| {
        let started = thread::Builder::new().spawn_scoped(scope, || take().map(|other| other()));
        let one = one();
        let done = started.ok().and_then(|thread| thread.join().ok().flatten());
        (one, done.or_else(|| take().map(|other| other())))
    })
}

fn changed(file: &FileRef) -> ReplaceError {
    ReplaceError::Changed { name: file.name().to_owned() }
}

/// The folder of a name, and its last part.
fn split(name: &str) -> (&str, &str) {
    name.rsplit_once('/').unwrap_or((".", name))
}

/// The last of the names that a file goes by, if none of them is one that nobody may write.
fn may_write(file: &FileRef, mut names: Vec<String>) -> Result<String, ReplaceError> {
    let name = || file.name().to_owned();
    let in_git = names.iter().any(|name| is_in_git(name));
    let real = names.pop().unwrap_or_else(name);
    if real == "." {
        return Err(ReplaceError::NotAFile { name: name(), kind: FileKind::Directory });
    }
    if is_in_store(&real) {
        return Err(ReplaceError::OwnStore { name: name() });
    }
    if in_git {
        return Err(ReplaceError::InGit { name: name() });
    }
    if is_ours(split(&real).1) {
        return Err(ReplaceError::Ours { name: name() });
    }
    Ok(real)
}

/// Refuses to replace or remove what is no file, has other names, or may not be written.
fn may_replace(
    file: &FileRef,
    (folder, base): (&OwnedFd, &str),
    old: &Stat,
    hard_links: HardLinks,
) -> Result<(), ReplaceError> {
    if let Some(kind) = FileKind::of(old.st_mode) {
        return Err(ReplaceError::NotAFile { name: file.name().to_owned(), kind });
    }
    if old.st_nlink > 1 && hard_links == HardLinks::Refuse {
        return Err(ReplaceError::HardLinked { name: file.name().to_owned() });
    }
    // A rename needs no permission on the file, but a file that this user may not write must stay as it is.
    let writable = rustix::fs::accessat(folder, &*on_disk(base), Access::WRITE_OK, AtFlags::EACCESS);
    writable.map_err(|errno| ReplaceError::from_io(file.name(), errno.into()))
}

/// The owner and the permissions of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Like {
    mode: u32,
    uid: u32,
    gid: u32,
}

impl Like {
    fn of(found: &Stat) -> Self {
        // A write clears set-user-id as well.
        Self { mode: found.st_mode & 0o1777, uid: found.st_uid, gid: found.st_gid }
    }

    fn give(self, file: &File) -> io::Result<()> {
        let new = rustix::fs::fstat(file)?;
        if (new.st_uid, new.st_gid) != (self.uid, self.gid) {
            // Only root may give files away; for anyone else the new file belongs to the user.
            let _ = rustix::fs::fchown(file, Some(Uid::from_raw(self.uid)), Some(Gid::from_raw(self.gid)));
        }
        Ok(rustix::fs::fchmod(file, Mode::from_raw_mode(self.mode))?)
    }
}

/// Why [`Root::replace_beside`] failed.
#[derive(Debug, thiserror::Error)]
#[error("{self:?}")]
pub enum BesideError<E: fmt::Debug> {
    /// As [`Root::replace`] says.
    Replace(ReplaceError),
    /// What had to be done before failed; the file is as it was.
    Ready(E),
    /// What had to be done afterwards failed; the file has the new text.
    Then(E),
}

/// Why a file was not written. `name` is the key.
#[derive(Debug, thiserror::Error)]
#[error("{self:?}")]
pub enum ReplaceError {
    NotAFile {
        name: String,
        kind: FileKind,
    },
    /// What an answer relies on must not be written by the one who gets the answer.
    OwnStore {
        name: String,
    },
    /// Git would run what an agent writes there.
    InGit {
        name: String,
    },
    Ours {
        name: String,
    },
    Busy {
        name: String,
    },
    /// Something else has the name of the note.
    InTheWay {
        name: String,
    },
    HardLinked {
        name: String,
    },
    /// Another program was faster.
    Changed {
        name: String,
    },
    /// It is part of another's change over several files, which may still be undone.
    Unfinished {
        name: String,
    },
    LinkOut {
        name: String,
    },
    LinkLoop {
        name: String,
    },
    /// A parent is not a folder, or vanished.
    NoFolder {
        name: String,
    },
    NameTooLong {
        name: String,
    },
    Denied {
        name: String,
    },
    ReadOnly {
        name: String,
    },
    Full {
        name: String,
    },
    Io {
        name: String,
        source: io::Error,
    },
}

impl ReplaceError {
    fn without_turn(name: &str, why: NoTurn) -> Self {
        match why {
            NoTurn::Busy => Self::Busy { name: name.to_owned() },
            NoTurn::InTheWay => Self::InTheWay { name: name.to_owned() },
            NoTurn::Io(source) => Self::from_io(name, source),
        }
    }

    fn from_io(name: &str, source: io::Error) -> Self {
        let name = name.to_owned();
        match Fault::of(&source) {
            Fault::Missing | Fault::NotFolder => Self::NoFolder { name },
            Fault::LinkOut => Self::LinkOut { name },
            Fault::LinkLoop => Self::LinkLoop { name },
            Fault::TooLong => Self::NameTooLong { name },
            Fault::Denied => Self::Denied { name },
            Fault::ReadOnly => Self::ReadOnly { name },
            Fault::Full => Self::Full { name },
            Fault::Other => Self::Io { name, source },
        }
    }
}

#[cfg(test)]
mod tests;
