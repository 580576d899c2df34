//! Temporary files: written under a name of their own, then renamed, and removed if that never happens. A killed process leaves
//! one behind; those are found by their names. Works only inside the folder handle it is given, with names of one component;
//! never follows a link, never removes anything but such a file of this user.

use std::{
    fs::File,
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::atomic::{AtomicU64, Ordering},
};

use readproof_core::text::ContentHash;
use rustix::{
    fs::{AtFlags, Mode, OFlags, RenameFlags},
    io::Errno,
    process::Pid,
};

use super::{
    ahead::Content,
    note::NOTE,
    turn::{NoTurn, Turn, is_taken},
};
use crate::{
    fault::missing_or,
    root::Root,
    snapshot::FileKind,
    snapshot::spelling::on_disk,
    stores::{LogName, Removed, STORE_NAME, StoreError, names, open_folder, remove},
};

/// How the names of temporary files in a workspace begin.
pub(crate) const IN_WORKSPACE: &str = ".readproof-";

/// How many taken names are skipped: leftovers of crashed processes with the same process id.
const TRIES: u32 = 65_536;

/// The outcome of a rename that must not replace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Placed {
    New,
    /// The name was taken; the temporary file is gone.
    Taken,
}

/// A temporary file; dropping it removes it.
pub(crate) struct Temp<'f> {
    folder: BorrowedFd<'f>,
    name: String,
    file: File,
    renamed: bool,
}

impl<'f> Temp<'f> {
    /// Creates `<prefix><pid>-<n>.tmp`. Uniqueness comes from `O_EXCL`; `counter` only makes collisions rare.
    pub(crate) fn create(folder: BorrowedFd<'f>, prefix: &str, mode: Mode, counter: &AtomicU64) -> io::Result<Self> {
        for _ in 0..TRIES {
            match Self::create_as(folder, name_by(prefix, counter), mode) {
                Ok(temp) => return Ok(temp),
                Err(Errno::EXIST | Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Err(Errno::EXIST.into())
    }

    /// The same in a folder whose turn is held: the note names the file before it exists.
    pub(crate) fn create_noted(
        turn: &mut Turn<'f>,
        (base, new): (&str, ContentHash),
        mode: Mode,
        counter: &AtomicU64,
    ) -> Result<Self, NoTurn> {
        let folder = turn.folder();
        for _ in 0..TRIES {
            let name = note_free(turn, (base, new), counter)?;
            match Self::create_as(folder, name, mode) {
                Ok(temp) => return Ok(temp),
                Err(Errno::EXIST | Errno::INTR) => turn.unnote()?,
                Err(errno) => return Err(NoTurn::Io(errno.into())),
            }
        }
        Err(NoTurn::Io(Errno::EXIST.into()))
    }

    /// The same with a content that is on disk already, moved here; `None` if that is not possible.
    pub(super) fn move_noted(
        turn: &mut Turn<'f>,
        what: (&str, ContentHash),
        content: Content<'_>,
        counter: &AtomicU64,
    ) -> Result<Option<Self>, NoTurn> {
        let folder = turn.folder();
        let name = note_free(turn, what, counter)?;
        match content.moved(folder, &name) {
            Some(file) => Ok(Some(Self { folder, name, file, renamed: false })),
            None => {
                // Moved and then not opened, perhaps.
                missing_or(rustix::fs::unlinkat(folder, &name, AtFlags::empty())).map_err(io::Error::from)?;
                turn.unnote()?;
                Ok(None)
            }
        }
    }

    fn create_as(folder: BorrowedFd<'f>, name: String, mode: Mode) -> Result<Self, Errno> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(folder, &name, flags, mode)?.into();
        Ok(Self { folder, name, file, renamed: false })
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Renames it, replacing what has that name.
    pub(crate) fn replace(mut self, to: impl AsFd, name: &str) -> io::Result<()> {
        rustix::fs::renameat(self.folder, &self.name, to, &*on_disk(name))?;
        self.renamed = true;
        Ok(())
    }

    /// Exchanges names with what has that name, atomically. `false`: the file system cannot.
    pub(crate) fn exchange(&self, name: &str) -> io::Result<bool> {
        match rustix::fs::renameat_with(self.folder, &self.name, self.folder, &*on_disk(name), RenameFlags::EXCHANGE) {
            Ok(()) => Ok(true),
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    }

    /// The temporary name; after [`Self::exchange`] it holds the replaced file.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Leaves what has the temporary name for the next process.
    pub(crate) fn leave(mut self) {
        self.renamed = true;
    }

    /// Renames it unless the name is taken.
    pub(crate) fn place(mut self, to: impl AsFd, name: &str) -> io::Result<Placed> {
        let placed = rename_new((self.folder, &self.name), (to.as_fd(), name))?;
        self.renamed = placed == Placed::New;
        Ok(placed)
    }
}

/// Writes the note with a temporary name that nothing has.
pub(crate) fn note_free(
    turn: &mut Turn<'_>,
    (base, new): (&str, ContentHash),
    counter: &AtomicU64,
) -> Result<String, NoTurn> {
    for _ in 0..TRIES {
        let name = name_by(IN_WORKSPACE, counter);
        if matches!(rustix::fs::statat(turn.folder(), &name, AtFlags::SYMLINK_NOFOLLOW), Err(Errno::NOENT)) {
            turn.note(&name, base, new)?;
            return Ok(name);
        }
    }
    Err(NoTurn::Io(Errno::EXIST.into()))
}

/// Renames a file unless the other name is taken.
pub(crate) fn rename_new(
    (folder, name): (BorrowedFd<'_>, &str),
    (to, other): (BorrowedFd<'_>, &str),
) -> io::Result<Placed> {
    match rustix::fs::renameat_with(folder, &*on_disk(name), to, &*on_disk(other), RenameFlags::NOREPLACE) {
        Ok(()) => Ok(Placed::New),
        Err(Errno::EXIST) => Ok(Placed::Taken),
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => link_new((folder, name), (to, other)),
        Err(errno) => Err(errno.into()),
    }
}

/// The same on file systems without a rename that refuses to replace.
fn link_new((folder, name): (BorrowedFd<'_>, &str), (to, other): (BorrowedFd<'_>, &str)) -> io::Result<Placed> {
    match rustix::fs::linkat(folder, &*on_disk(name), to, &*on_disk(other), AtFlags::empty()) {
        Ok(()) => {}
        Err(Errno::EXIST) => return Ok(Placed::Taken),
        Err(errno) => return Err(errno.into()),
    }
    missing_or(rustix::fs::unlinkat(folder, &*on_disk(name), AtFlags::empty()))?;
    Ok(Placed::New)
}

fn name_by(prefix: &str, counter: &AtomicU64) -> String {
    format!("{prefix}{}-{}.tmp", std::process::id(), counter.fetch_add(1, Ordering::Relaxed))
}

/// Whether the last part of a name is that of a temporary file in a workspace, or of the note. Such files are never read,
/// listed, searched, shown or stored, and callers may not write them.
#[must_use]
pub fn is_ours(base: &str) -> bool {
    // The first test rules out nearly all names.
    base.get(..IN_WORKSPACE.len()).is_some_and(|start| start.eq_ignore_ascii_case(IN_WORKSPACE))
        && (base.eq_ignore_ascii_case(NOTE) || is_temporary(&base.to_ascii_lowercase()))
}

/// Whether it is exactly the name of a temporary file in a workspace.
pub(crate) fn is_temporary(base: &str) -> bool {
    made_by("", base).is_some()
}

/// Whether the process that a temporary file is named after may run. Only "no such process" proves that it does not.
pub(crate) fn is_running(temp: &str) -> bool {
    made_by("", temp).is_some_and(|pid| rustix::process::test_kill_process(pid) != Err(Errno::SRCH))
}

/// How many names of a folder are checked for leftovers before a write.
const SWEPT: usize = 1000;

/// Removes the temporary files that dead processes left without a note. Only for the holder of the folder's turn.
pub(crate) fn sweep(folder: &OwnedFd) {
    let Ok(entries) = rustix::fs::Dir::read_from(folder) else { return };
    for entry in entries.take(SWEPT).flatten() {
        let Ok(name) = entry.file_name().to_str() else { continue };
        if is_temporary(name) && found(folder, "", name).is_some_and(|left| !left.running) {
            let _ = rustix::fs::unlinkat(folder, name, AtFlags::empty());
        }
    }
}

/// A temporary file whose process may be dead.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Leftover {
    /// Relative to the workspace root.
    pub name: String,
    pub bytes: u64,
    /// When it was written, in milliseconds since 1970.
    pub modified: u64,
    /// Whether a process with the id in its name runs; for a note, whether a process writes in its folder.
    pub running: bool,
    ino: u64,
}

/// Deeper folders are not searched.
const DEPTH: usize = 100;

/// No more names are checked.
const NAMES: usize = 2_000_000;

impl Root {
    /// The temporary files of this user in the workspace and its store, including those of running processes, sorted; and
    /// whether all folders could be searched.
    #[must_use]
    pub fn leftovers(&self) -> (Vec<Leftover>, bool) {
        let mut looking = Looking { found: Vec::new(), names: 0, all: true };
        match open_folder(self.dir.as_fd(), ".") {
            Ok(folder) => looking.look(&folder, "", 0),
            Err(_) => looking.all = false,
        }
        looking.found.sort_unstable();
        (looking.found, looking.all)
    }

    /// Removes a temporary file, if it is still the one that was found.
    ///
    /// # Errors
    /// [`StoreError`] when the system does not let it.
    pub fn remove_leftover(&self, leftover: &Leftover) -> Result<Removed, StoreError> {
        let removed = self.unlink(leftover);
        removed.map_err(|errno| StoreError::from_io(&leftover.name, errno.into()))
    }

    fn unlink(&self, leftover: &Leftover) -> Result<Removed, Errno> {
        let (path, name) = leftover.name.rsplit_once('/').unwrap_or(("", &leftover.name));
        let mut folder = open_folder(self.dir.as_fd(), ".")?;
        for part in path.split('/').filter(|part| !part.is_empty()) {
            folder = open_folder(folder.as_fd(), part)?;
        }
        match found(&folder, path, name) {
            Some(again) if again == *leftover => {}
            _ => return Ok(Removed::Before),
        }
        if path.split('/').next() != Some(STORE_NAME) {
            // A note may say that it holds what must be put back.
            match Turn::take(&folder, self.at(if path.is_empty() { "." } else { path })) {
                Ok(turn) => drop(turn),
                Err(NoTurn::Busy | NoTurn::InTheWay) => return Err(Errno::AGAIN),
                Err(NoTurn::Io(error)) => return Err(Errno::from_io_error(&error).unwrap_or(Errno::IO)),
            }
            if found(&folder, path, name).as_ref() != Some(leftover) {
                return Ok(Removed::Done);
            }
        }
        remove(folder.as_fd(), name)
    }
}

struct Looking {
    found: Vec<Leftover>,
    names: usize,
    all: bool,
}

impl Looking {
    fn look(&mut self, folder: &OwnedFd, path: &str, depth: usize) {
        for name in names(folder.as_fd()) {
            self.names += 1;
            if self.names > NAMES {
                self.all = false;
                return;
            }
            // A store below belongs to another workspace.
            if name == "." || name == ".." || (name == STORE_NAME && depth > 0) {
                continue;
            }
            match open_folder(folder.as_fd(), &name) {
                Ok(below) if depth < DEPTH => {
                    let path = if path.is_empty() { name } else { format!("{path}/{name}") };
                    self.look(&below, &path, depth + 1);
                }
                // Not a folder, or a link.
                Err(Errno::NOTDIR | Errno::LOOP) => self.found.extend(found(folder, path, &name)),
                // Gone since it was listed.
                Err(Errno::NOENT) => {}
                Ok(_) | Err(_) => self.all = false,
            }
        }
    }
}

/// The file of that name, if it is a temporary file of Readproof: by its name, regular, and this user's.
fn found(folder: &OwnedFd, path: &str, name: &str) -> Option<Leftover> {
    let in_store = path.split('/').next() == Some(STORE_NAME);
    let pid = if name == NOTE && !in_store { None } else { Some(made_by(path, name)?) };
    let stat = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    if FileKind::of(stat.st_mode).is_some() || stat.st_uid != rustix::process::geteuid().as_raw() {
        return None;
    }
    Some(Leftover {
        name: if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") },
        bytes: u64::try_from(stat.st_size).ok()?,
        modified: u64::try_from(stat.st_mtime).unwrap_or(0).saturating_mul(1000),
        // Only "no such process" proves that it is dead.
        running: match pid {
            Some(pid) => rustix::process::test_kill_process(pid) != Err(Errno::SRCH),
            None => is_taken(folder),
        },
        ino: stat.st_ino,
    })
}

/// The process that made a temporary file of this name in this folder.
fn made_by(path: &str, name: &str) -> Option<Pid> {
    let numbers = match path.split_once('/').unwrap_or((path, "")) {
        (STORE_NAME, "tmp") => name.strip_suffix(".tmp")?,
        (STORE_NAME, "log") => {
            let (log, numbers) = name.rsplit_once(".draft-")?;
            LogName::of_file(log)?;
            numbers
        }
        (STORE_NAME, _) => return None,
        (_, _) => name.strip_prefix(IN_WORKSPACE)?.strip_suffix(".tmp")?,
    };
    process_of(numbers)
}

/// The process of `<pid>-<n>`.
fn process_of(numbers: &str) -> Option<Pid> {
    let (pid, count) = numbers.split_once('-')?;
    let number = |text: &str| text.parse::<u64>().ok().filter(|number| number.to_string() == text);
    number(count)?;
    Pid::from_raw(i32::try_from(number(pid)?).ok()?)
}

/// Whether the process of `<pid>-<n>` may run.
pub(super) fn is_alive(numbers: &str) -> bool {
    process_of(numbers).is_some_and(|pid| rustix::process::test_kill_process(pid) != Err(Errno::SRCH))
}

impl Drop for Temp<'_> {
    fn drop(&mut self) {
        if !self.renamed {
            // A failure cannot be handled here, and the name is never read.
            let _ = rustix::fs::unlinkat(self.folder, &self.name, AtFlags::empty());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn folder() -> (tempfile::TempDir, File) {
        let dir = tempfile::tempdir().unwrap();
        let open = File::open(dir.path()).unwrap();
        (dir, open)
    }

    fn names(dir: &tempfile::TempDir) -> Vec<String> {
        let mut names: Vec<String> =
            dir.path().read_dir().unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn names_of_ours() {
        let made = |path: &str, name: &str| made_by(path, name).map(Pid::as_raw_nonzero).map(i32::from);
        for (path, name) in [
            ("", ".readproof-12-0.tmp"),
            ("a/b", ".readproof-12-3.tmp"),
            (".readproof/tmp", "12-4.tmp"),
            (".readproof/log", "s.log.draft-12-0"),
        ] {
            assert_eq!(made(path, name), Some(12), "{path} {name}");
        }
        for (path, name) in [
            ("", "12-0.tmp"),
            ("", "readproof-12-0.tmp"),
            ("", ".readproof-12.tmp"),
            ("", ".readproof-12-0.tmp.bak"),
            ("", ".readproof-012-0.tmp"),
            ("", ".readproof-+12-0.tmp"),
            ("", ".readproof-0-0.tmp"),
            ("", ".readproof--12-0.tmp"),
            ("", ".readproof-99999999999-0.tmp"),
            ("", ".readproof-12-0-0.tmp"),
            (".readproof/tmp", ".readproof-12-0.tmp"),
            (".readproof/tmp", "note.tmp"),
            (".readproof/log", "s.log"),
            (".readproof/log", "s.log.retired-1"),
            (".readproof/objects", "12-0.tmp"),
            (".readproof", ".readproof-12-0.tmp"),
            ("sub/.readproof/tmp", "12-0.tmp"),
        ] {
            assert_eq!(made(path, name), None, "{path} {name}");
        }
    }

    #[test]
    fn a_taken_name_is_stepped_over() {
        let (dir, open) = folder();
        let taken = format!("x{}-0.tmp", std::process::id());
        std::fs::write(dir.path().join(&taken), "old").unwrap();
        let temp = Temp::create(open.as_fd(), "x", Mode::RUSR, &AtomicU64::new(0)).unwrap();
        assert_eq!(temp.name, format!("x{}-1.tmp", std::process::id()));
        drop(temp);
        assert_eq!(names(&dir), [taken]);
    }

    #[test]
    fn linking_serves_where_a_rename_cannot() {
        let (dir, open) = folder();
        let counter = AtomicU64::new(0);
        let make = |text: &str| {
            let temp = Temp::create(open.as_fd(), "", Mode::RUSR | Mode::WUSR, &counter).unwrap();
            temp.file().write_all(text.as_bytes()).unwrap();
            temp
        };
        let link = |temp: Temp<'_>| link_new((temp.folder, &temp.name), (open.as_fd(), "name")).unwrap();
        assert_eq!(link(make("one")), Placed::New);
        assert_eq!(link(make("two")), Placed::Taken);
        assert_eq!(make("two").place(&open, "name").unwrap(), Placed::Taken);
        assert_eq!(std::fs::read_to_string(dir.path().join("name")).unwrap(), "one");
        make("three").replace(&open, "name").unwrap();
        assert_eq!(std::fs::read_to_string(dir.path().join("name")).unwrap(), "three");
        assert_eq!(names(&dir), ["name"]);
    }
}
