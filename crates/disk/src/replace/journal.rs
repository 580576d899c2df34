//! The journal of a change over several files, `.readproof/journal/<pid>-<n>.journal`: which files, by which texts' hashes, so
//! that a later process can complete or undo what a killed one began. On disk before the first file is touched, locked by its
//! owner while that lives, and gone when all is recorded; the folder exists only while a journal does. Like a note it counts
//! only for its user and under the inodes it was made for. Holds no text, and never follows a link.

use std::{
    fmt::Write as _,
    fs::File,
    io::{self, Write},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::Duration,
};

use readproof_core::text::ContentHash;
use rustix::{
    fs::{AtFlags, Mode, OFlags, Stat},
    io::Errno,
};

use super::{
    Like,
    note::{from_hex, to_hex},
    temp::is_alive,
    turn::{Lock, try_lock},
};
use crate::{
    root::Root,
    snapshot::{FileKind, bytes::read_at},
    stores::{Create, READ_FLAGS, STORE_NAME, StoreError, names, private_folder},
};

/// The folder of the journals, in the store's.
const FOLDER: &str = "journal";

/// How the names of journals end.
const END: &str = ".journal";

/// How the first line begins.
const HEAD: &str = "readproof-journal-1";

/// No journal is larger.
pub(super) const MOST_BYTES: usize = 64 << 20;

/// How often a journal is begun again that another process took for a torn one.
const TRIES: u32 = 100;

/// How often, and with which pauses, the turn is tried.
const WAITS: u32 = if cfg!(test) { 100 } else { 2000 };
const WAIT: Duration = Duration::from_millis(5);

/// One file of the change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// As the caller names it.
    pub(super) path: String,
    /// The name under which it really lies.
    pub(super) real: String,
    pub(super) before: Option<ContentHash>,
    pub(super) after: Option<ContentHash>,
    /// What a file that is removed was like.
    pub(super) like: Option<Like>,
}

/// How far a change has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// All files are changed.
    Complete,
    /// All that could be undone is undone.
    Undone,
}

impl Said {
    fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Undone => "undone",
        }
    }
}

/// What a journal says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) note: String,
    /// The folders that the change makes, those above first.
    pub(super) folders: Vec<String>,
    pub(super) entries: Vec<Entry>,
    pub(super) said: Option<Said>,
}

impl Plan {
    /// The lines between the first and the last.
    pub(super) fn body(&self) -> String {
        let mut body = format!("note {}\n", to_hex(&self.note));
        for folder in &self.folders {
            let _ = writeln!(body, "folder {}", to_hex(folder));
        }
        let hash = |hash: Option<ContentHash>| hash.map_or_else(|| "-".to_owned(), |hash| hash.to_string());
        for Entry { path, real, before, after, like } in &self.entries {
            let like = like.map_or_else(|| "-".to_owned(), |like| format!("{}:{}:{}", like.mode, like.uid, like.gid));
            let (before, after) = (hash(*before), hash(*after));
            let _ = writeln!(body, "step {before} {after} {like} {} {}", to_hex(path), to_hex(real));
        }
        body
    }

    /// `None`: it is torn, or was not made under these inodes.
    fn parse(text: &str, (folder, journal): (u64, u64)) -> Option<Self> {
        let (head, rest) = text.split_once('\n')?;
        if head != head_of(folder, journal) {
            return None;
        }
        let (body, tail) = rest.split_once("end ")?;
        let mut tail = tail.split_inclusive('\n').map_while(|line| line.strip_suffix('\n'));
        if ContentHash::parse(tail.next()?)? != end_of(head, body) {
            return None;
        }
        let is = |said: Said| move |line: &str| (line == said.as_str()).then_some(said);
        let said = tail.filter_map(|line| is(Said::Complete)(line).or_else(|| is(Said::Undone)(line))).last();
        let mut plan = Self { note: String::new(), folders: Vec::new(), entries: Vec::new(), said };
        for line in body.lines() {
            match line.split(' ').collect::<Vec<_>>()[..] {
                ["note", note] => plan.note = from_hex(note)?,
                ["folder", name] => plan.folders.push(from_hex(name)?),
                ["step", before, after, like, path, real] => plan.entries.push(Entry {
                    path: from_hex(path)?,
                    real: from_hex(real)?,
                    before: maybe(before, ContentHash::parse)?,
                    after: maybe(after, ContentHash::parse)?,
                    like: maybe(like, like_of)?,
                }),
                _ => return None,
            }
        }
        Some(plan)
    }
}

fn head_of(folder: u64, journal: u64) -> String {
    format!("{HEAD} {folder} {journal}")
}

/// What the last line of a whole journal holds.
fn end_of(head: &str, body: &str) -> ContentHash {
    ContentHash::of_parts(&[head.as_bytes(), b"\n", body.as_bytes()])
}

fn maybe<T>(word: &str, parse: fn(&str) -> Option<T>) -> Option<Option<T>> {
    if word == "-" { Some(None) } else { parse(word).map(Some) }
}

fn like_of(word: &str) -> Option<Like> {
    let mut numbers = word.split(':').map(|number| number.parse().ok());
    let (mode, uid, gid) = (numbers.next()??, numbers.next()??, numbers.next()??);
    numbers.next().is_none().then_some(Like { mode, uid, gid })
}

/// A journal that this process has locked.
#[derive(Debug)]
pub(super) struct Open {
    store: OwnedFd,
    folder: OwnedFd,
    file: File,
    name: String,
    /// The workspace, if the folder of the store was made for it.
    around: Option<OwnedFd>,
}

impl Open {
    /// Writes a journal, synced with its name.
    pub(super) fn create(root: &Root, plan: &Plan, counter: &AtomicU64) -> Result<Self, StoreError> {
        let fail = |error| StoreError::from_io(&shown(), error);
        for _ in 0..TRIES {
            let (store, around) = store_folder(root)?;
            wait_for_turn(&store).map_err(fail)?.ok_or_else(|| StoreError::Busy { name: shown() })?;
            let folder = match private_folder(store.as_fd(), FOLDER, &shown(), Create::Yes) {
                Ok(Some(folder)) => folder,
                // Another process removes it whenever it is empty.
                Ok(None) | Err(StoreError::Gone { .. }) => continue,
                Err(error) => return Err(error),
            };
            let count = counter.fetch_add(1, Ordering::Relaxed);
            let name = format!("{}-{count}{END}", std::process::id());
            let flags =
                OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::APPEND | OFlags::CLOEXEC;
            let file = match rustix::fs::openat(&folder, &name, flags, Mode::RUSR | Mode::WUSR) {
                Ok(fd) => File::from(fd),
                Err(Errno::NOENT | Errno::EXIST | Errno::INTR) => continue,
                Err(errno) => {
                    remove_folder(store.as_fd());
                    return Err(fail(errno.into()));
                }
            };
            let open = Self { store, folder, file, name, around };
            match open.write(plan) {
                Ok(true) => return Ok(open),
                // Another process took it for a torn one.
                Ok(false) => {}
                Err(error) => {
                    let _ = open.remove();
                    return Err(fail(error));
                }
            }
        }
        Err(StoreError::Busy { name: shown() })
    }

    /// Locks and writes it. `false`: another process was faster and has removed it.
    fn write(&self, plan: &Plan) -> io::Result<bool> {
        let mut tries = 0..TRIES;
        while matches!(try_lock(&self.file)?, Lock::Busy) {
            if tries.next().is_none() {
                return Ok(false);
            }
            thread::sleep(Duration::from_millis(1));
        }
        let own = rustix::fs::fstat(&self.file)?;
        if own.st_nlink == 0 {
            return Ok(false);
        }
        let (head, body) = (head_of(rustix::fs::fstat(&self.folder)?.st_ino, own.st_ino), plan.body());
        (&self.file).write_all(format!("{head}\n{body}end {}\n", end_of(&head, &body)).as_bytes())?;
        self.file.sync_all()?;
        for folder in [&self.folder, &self.store] {
            rustix::fs::fsync(folder)?;
        }
        Ok(true)
    }

    /// Its name among the journals.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The folder of the store.
    pub(super) fn store(&self) -> BorrowedFd<'_> {
        self.store.as_fd()
    }

    /// Notes how far the change has come, synced.
    pub(super) fn say(&self, said: Said) -> io::Result<()> {
        (&self.file).write_all(format!("\n{}\n", said.as_str()).as_bytes())?;
        self.file.sync_data()
    }

    /// Removes the journal, and its folder if that is empty then. Nothing is synced: if it comes back, it says how far the
    /// change had come.
    pub(super) fn remove(self) -> Result<(), StoreError> {
        match rustix::fs::unlinkat(&self.folder, &self.name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(errno) => return Err(StoreError::from_io(&format!("{}/{}", shown(), self.name), errno.into())),
        }
        remove_folder(self.store.as_fd());
        if let Some(around) = self.around {
            // Fails if something else is in it by now.
            let _ = rustix::fs::unlinkat(around, STORE_NAME, AtFlags::REMOVEDIR);
        }
        Ok(())
    }
}

/// One process at a time makes a change over several files, so that two of them do not undo each other. Waits about ten
/// seconds; the turn ends with the handle. `None`: another one has it and does not end.
fn wait_for_turn(store: &OwnedFd) -> io::Result<Option<()>> {
    for _ in 0..WAITS {
        match try_lock(store)? {
            Lock::Taken | Lock::Impossible => return Ok(Some(())),
            Lock::Busy => thread::sleep(WAIT),
        }
    }
    Ok(None)
}

/// The folder of the store; and, if it was made here, the workspace.
fn store_folder(root: &Root) -> Result<(OwnedFd, Option<OwnedFd>), StoreError> {
    let open = |create| private_folder(root.dir.as_fd(), STORE_NAME, STORE_NAME, create);
    if let Some(store) = open(Create::No)? {
        return Ok((store, None));
    }
    let store = open(Create::Yes)?.ok_or_else(|| StoreError::Gone { name: STORE_NAME.to_owned() })?;
    Ok((store, root.dir.as_fd().try_clone_to_owned().ok()))
}

/// The folder of the journals, seen from the workspace.
fn shown() -> String {
    format!("{STORE_NAME}/{FOLDER}")
}

/// Removes the folder of the journals, if it is empty.
fn remove_folder(store: BorrowedFd<'_>) {
    let _ = rustix::fs::unlinkat(store, FOLDER, AtFlags::REMOVEDIR);
}

/// A journal that was found.
pub(super) enum Found {
    /// Its owner lives, or another process recovers it.
    Busy,
    /// Nothing was begun: torn, not ours, or gone by now.
    Nothing,
    Journal(Open, Plan),
}

/// Whether the folder of the journals is there, whatever it is.
pub(super) fn is_there(root: &Root) -> bool {
    rustix::fs::statat(&root.dir, shown(), AtFlags::SYMLINK_NOFOLLOW).is_ok()
}

/// What every journal but one's own says that is whole, whoever has it.
pub(super) fn plans(root: &Root, own: Option<&str>) -> Vec<Plan> {
    let private = |parent: BorrowedFd<'_>, name: &str| private_folder(parent, name, name, Create::No).ok().flatten();
    let Some(store) = private(root.dir.as_fd(), STORE_NAME) else { return Vec::new() };
    let Some(folder) = private(store.as_fd(), FOLDER) else { return Vec::new() };
    let plan = |name: String| {
        let file = File::from(rustix::fs::openat(&folder, &name, READ_FLAGS, Mode::empty()).ok()?);
        read(&folder, &file).ok().flatten()
    };
    let is_other = |name: &String| name.ends_with(END) && own != Some(name);
    names(folder.as_fd()).into_iter().filter(is_other).filter_map(plan).collect()
}

/// Takes every journal that nobody else has. What is not this user's folder counts for nothing.
pub(super) fn each(root: &Root, mut take: impl FnMut(Found)) {
    let private = |parent: BorrowedFd<'_>, name: &str| private_folder(parent, name, name, Create::No).ok().flatten();
    let Some(store) = private(root.dir.as_fd(), STORE_NAME) else { return };
    let Some(folder) = private(store.as_fd(), FOLDER) else { return };
    for name in names(folder.as_fd()).into_iter().filter(|name| name.ends_with(END)) {
        let handles = store.try_clone().and_then(|store| Ok((store, folder.try_clone()?)));
        match handles {
            Ok((store, folder)) => take(found(store, folder, name).unwrap_or(Found::Nothing)),
            Err(_) => take(Found::Busy),
        }
    }
    remove_folder(store.as_fd());
}

/// Locks and reads a journal. One that is torn or was made elsewhere is removed.
fn found(store: OwnedFd, folder: OwnedFd, name: String) -> io::Result<Found> {
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::APPEND | OFlags::CLOEXEC;
    let file = match rustix::fs::openat(&folder, &name, flags, Mode::empty()) {
        Ok(fd) => File::from(fd),
        Err(Errno::ROFS) => File::from(rustix::fs::openat(&folder, &name, READ_FLAGS, Mode::empty())?),
        Err(errno) => return Err(errno.into()),
    };
    match try_lock(&file)? {
        Lock::Taken => {}
        Lock::Busy => return Ok(Found::Busy),
        Lock::Impossible if owner_lives(&name) => return Ok(Found::Busy),
        Lock::Impossible => {}
    }
    let own = rustix::fs::fstat(&file)?;
    if !may_count(&own) {
        return Ok(Found::Nothing);
    }
    let plan = read(&folder, &file)?;
    let open = Open { store, folder, file, name, around: None };
    Ok(match plan {
        Some(plan) => Found::Journal(open, plan),
        None => {
            let _ = open.remove();
            Found::Nothing
        }
    })
}

/// Whether it can be a journal of this user.
fn may_count(own: &Stat) -> bool {
    let is_ours = own.st_uid == rustix::process::geteuid().as_raw() && own.st_nlink == 1 && own.st_mode & 0o077 == 0;
    FileKind::of(own.st_mode).is_none() && is_ours && usize::try_from(own.st_size).is_ok_and(|len| len <= MOST_BYTES)
}

/// What a journal says; `None`: it is torn, or was made elsewhere.
fn read(folder: &OwnedFd, file: &File) -> io::Result<Option<Plan>> {
    let own = rustix::fs::fstat(file)?;
    if !may_count(&own) {
        return Ok(None);
    }
    let bytes = read_at(file, 0, u64::try_from(own.st_size).unwrap_or(0))?;
    Ok(Plan::parse(&String::from_utf8_lossy(&bytes), (rustix::fs::fstat(folder)?.st_ino, own.st_ino)))
}

/// Where files cannot be locked: whether the process may run that a journal is named after.
fn owner_lives(name: &str) -> bool {
    name.strip_suffix(END).is_some_and(is_alive)
}
