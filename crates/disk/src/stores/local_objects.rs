//! Texts as local files: `sha256-<64hex>.txt` each, many small ones in a pack, or compressed in a cold pack. An object appears
//! whole, by rename, and is verified against its name on every load. Never overwrites a good object, never follows a link.

mod cold;
mod packs;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fs::File,
    io::{self, Write},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::{Arc, atomic::AtomicU64},
    thread,
    time::SystemTime,
};

use readproof_core::text::{ContentHash, Text};
use rustix::{
    fs::{AtFlags, Mode},
    io::Errno,
};

use self::{
    cold::{Cold, Folders},
    packs::{Packs, SMALL},
};
use super::{
    Create, Loaded, Objects, Packing, Put, Removal, Removed, STORE_NAME, SmallTexts, StoreError, Stored,
    local_store::{IGNORE_ALL, READ_FLAGS, names, open_folder, private_folder, remove, shared_folder},
};
use crate::{
    fault::missing_or,
    replace::temp::{IN_WORKSPACE, Placed, Temp},
    root::Root,
    snapshot::bytes::read_at,
    snapshot::{FileKind, MOST_BYTES},
};

/// A folder of texts.
#[derive(Debug)]
pub(super) struct LocalObjects {
    folder: Arc<OwnedFd>,
    /// Where temporary files are made.
    tmp: Arc<OwnedFd>,
    /// How their names begin.
    prefix: &'static str,
    temps: AtomicU64,
    /// `None` for a folder that other tools use too.
    packs: Option<Packs>,
    /// Beside those packs only.
    cold: Cold,
    small_texts: SmallTexts,
    /// The folder seen from the workspace, for errors.
    shown: String,
}

/// What has the name of an object, without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum There {
    Nothing,
    Fitting,
    Torn,
}

/// A text that is to survive a power failure.
enum Begun<'f> {
    /// It is there.
    There(File),
    /// It is in a temporary file, which takes the place of that.
    New(Temp<'f>, There),
}

impl Begun<'_> {
    fn file(&self) -> &File {
        match self {
            Self::There(file) => file,
            Self::New(temp, _) => temp.file(),
        }
    }
}

impl LocalObjects {
    /// The texts of a store.
    pub(super) fn of_store(folder: Arc<OwnedFd>, tmp: Arc<OwnedFd>) -> Self {
        Self {
            folder,
            tmp,
            prefix: "",
            temps: AtomicU64::new(0),
            packs: Some(Packs::default()),
            cold: Cold::default(),
            small_texts: SmallTexts::default(),
            shown: format!("{STORE_NAME}/objects"),
        }
    }

    pub(super) fn with_small_texts(self, small_texts: SmallTexts) -> Self {
        Self { small_texts, ..self }
    }

    /// The texts in the folder `under` beneath a root, never through a link; `None` when there is no such folder.
    pub(super) fn beneath(root: &Root, under: &[&str]) -> Option<Self> {
        let (first, rest) = under.split_first()?;
        let mut folder = open_folder(root.dir.as_fd(), first).ok()?;
        for name in rest {
            folder = open_folder(folder.as_fd(), name).ok()?;
        }
        Some(Self::shared(folder, under))
    }

    /// The same, and whatever of it is missing is made: the first folder as any other, what is beneath it private and
    /// ignored by git.
    pub(super) fn make_beneath(root: &Root, under: &[&str]) -> Result<Self, StoreError> {
        let fail = |error| StoreError::from_io(&under.join("/"), error);
        let mut folder = root.dir.as_fd().try_clone_to_owned().map_err(fail)?;
        for (depth, name) in under.iter().enumerate() {
            let shown = under[..=depth].join("/");
            folder = if depth == 0 {
                shared_folder(folder.as_fd(), name, &shown)?
            } else {
                let made = private_folder(folder.as_fd(), name, &shown, Create::Yes)?;
                made.ok_or(StoreError::Gone { name: shown })?
            };
            if depth == 1 {
                ignore_all(folder.as_fd()).map_err(fail)?;
            }
        }
        Ok(Self::shared(folder, under))
    }

    fn shared(folder: OwnedFd, under: &[&str]) -> Self {
        let folder = Arc::new(folder);
        let (tmp, shown) = (Arc::clone(&folder), under.join("/"));
        let (temps, small_texts) = (AtomicU64::new(0), SmallTexts::Apart);
        let cold = Cold::default();
        Self { folder, tmp, prefix: IN_WORKSPACE, temps, packs: None, cold, small_texts, shown }
    }

    pub(super) fn folder(&self) -> BorrowedFd<'_> {
        self.folder.as_fd()
    }

    fn look(&self, name: &str, text: &Text) -> io::Result<There> {
        let found = missing_or(rustix::fs::statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW))?;
        Ok(found.map_or(There::Nothing, |found| {
            let len = usize::try_from(found.st_size).ok();
            let fits = FileKind::of(found.st_mode).is_none() && len == Some(text.as_str().len());
            if fits { There::Fitting } else { There::Torn }
        }))
    }

    /// Finds a text or writes a temporary file with it. Nothing is synced yet.
    fn begin(&self, name: &str, text: &Text) -> io::Result<Begun<'_>> {
        // What a pack holds is not synced.
        let there = self.look(name, text)?;
        if there == There::Fitting
            && let Some(fd) = missing_or(rustix::fs::openat(&self.folder, name, READ_FLAGS, Mode::empty()))?
        {
            let (file, text) = (File::from(fd), text.as_str().as_bytes());
            if read_at(&file, 0, text.len() as u64).is_ok_and(|bytes| bytes == text) {
                // It is needed now, whatever removes old texts; where that cannot be noted it is as old as it was.
                let _ = file.set_modified(SystemTime::now());
                return Ok(Begun::There(file));
            }
        }
        let replaces = if there == There::Nothing { There::Nothing } else { There::Torn };
        Ok(Begun::New(self.temp(text)?, replaces))
    }

    fn failed(&self, name: &str, error: io::Error) -> StoreError {
        StoreError::from_io(&format!("{}/{name}", self.shown), error)
    }

    /// A temporary file with a text.
    fn temp(&self, text: &Text) -> io::Result<Temp<'_>> {
        let temp = Temp::create(self.tmp.as_fd(), self.prefix, Mode::RUSR | Mode::WUSR, &self.temps)?;
        temp.file().write_all(text.as_str().as_bytes())?;
        Ok(temp)
    }

    /// Gives a temporary file its name.
    fn name(&self, temp: Temp<'_>, name: &str, there: There) -> io::Result<Put> {
        if there == There::Torn {
            temp.replace(&self.folder, name)?;
            return Ok(Put::Stored);
        }
        Ok(match temp.place(&self.folder, name)? {
            Placed::New => Put::Stored,
            // Another process stored the same text.
            Placed::Taken => Put::Present,
        })
    }

    /// The text of that hash where it is not compressed.
    fn load_apart(&self, hash: ContentHash) -> Loaded {
        let packed = || self.packs.as_ref().map_or(Loaded::Missing, |packs| packs.load(self.folder(), hash));
        match load_from(self.folder(), hash) {
            text @ Loaded::Text(_) => text,
            Loaded::Missing => packed(),
            Loaded::Damaged => match packed() {
                text @ Loaded::Text(_) => text,
                Loaded::Missing | Loaded::Damaged => Loaded::Damaged,
            },
        }
    }

    /// What is stored and not compressed.
    fn stored_apart(&self) -> impl Iterator<Item = Stored> {
        let packed = self.packs.as_ref().map(|packs| packs.all(self.folder())).unwrap_or_default();
        packed.into_iter().chain(stored_in(self.folder()))
    }

    fn remove_apart(&self, hashes: &BTreeSet<ContentHash>) -> Removal {
        let mut done = Removal::default();
        // Files of their own first: that needs no space, and makes some.
        for hash in hashes {
            let name = object_name(*hash);
            match remove(self.folder(), &name) {
                Ok(Removed::Done) => drop(done.removed.insert(*hash)),
                // In a pack, or another process was faster.
                Ok(Removed::Before) => {}
                Err(errno) => done.failed.push(self.failed(&name, errno.into())),
            }
        }
        let Some(packs) = &self.packs else { return done };
        let (removed, left) = packs.remove((self.folder(), self.tmp.as_fd()), &self.temps, hashes);
        done.removed.extend(removed);
        if !left.is_empty() {
            // What such a pack still holds is not gone.
            for stored in packs.all(self.folder()) {
                done.removed.remove(&stored.hash);
            }
        }
        done.failed.extend(left.into_iter().map(|(name, error)| self.left_pack(&name, error)));
        done
    }

    fn cold_folders(&self) -> Folders<'_> {
        Folders { objects: self.folder(), tmp: self.tmp.as_fd(), temps: &self.temps }
    }

    /// Why a pack was left as it is.
    fn left_pack(&self, name: &str, error: io::Error) -> StoreError {
        match Errno::from_io_error(&error) {
            Some(Errno::BUSY) => StoreError::Busy { name: format!("{}/{name}", self.shown) },
            _ => self.failed(name, error),
        }
    }
}

impl Objects for LocalObjects {
    /// An object of the right length counts as present without being read.
    fn put(&self, text: &Text) -> Result<Put, StoreError> {
        if let Some(packs) = &self.packs
            && self.small_texts == SmallTexts::Together
            && text.as_str().len() <= SMALL
            && let Ok(put) = packs.put(self.folder(), text)
        {
            return Ok(put);
        }
        let name = object_name(text.hash());
        let there = self.look(&name, text).map_err(|error| self.failed(&name, error))?;
        if there == There::Fitting {
            return Ok(Put::Present);
        }
        let put = self.temp(text).and_then(|temp| self.name(temp, &name, there));
        put.map_err(|error| self.failed(&name, error))
    }

    fn put_all_synced(&self, texts: &[&Text]) -> Result<Vec<Put>, StoreError> {
        let names: Vec<String> = texts.iter().map(|text| object_name(text.hash())).collect();
        let begin = |(name, text): (&String, &&Text)| self.begin(name, text).map_err(|error| self.failed(name, error));
        let begun = names.iter().zip(texts).map(begin).collect::<Result<Vec<_>, _>>()?;
        let synced = sync_all(&begun.iter().map(Begun::file).collect::<Vec<_>>());
        for (name, synced) in names.iter().zip(synced) {
            synced.map_err(|error| self.failed(name, error))?;
        }
        let put = |(name, begun): (&String, Begun<'_>)| match begun {
            Begun::There(_) => Ok(Put::Present),
            Begun::New(temp, there) => self.name(temp, name, there).map_err(|error| self.failed(name, error)),
        };
        let put = names.iter().zip(begun).map(put).collect::<Result<Vec<_>, _>>()?;
        if put.is_empty() {
            return Ok(put);
        }
        rustix::fs::fsync(&self.folder).map_err(|errno| StoreError::from_io(&self.shown, errno.into()))?;
        Ok(put)
    }

    fn load(&self, hash: ContentHash) -> Loaded {
        // Texts are only ever moved from here to the cold packs, so one that is moved meanwhile is found there.
        match (self.load_apart(hash), &self.packs) {
            (found @ Loaded::Text(_), _) | (found, None) => found,
            (found @ (Loaded::Missing | Loaded::Damaged), Some(_)) => match self.cold.load(self.folder(), hash) {
                Loaded::Missing => found,
                cold @ (Loaded::Text(_) | Loaded::Damaged) => cold,
            },
        }
    }

    /// A file of its own of the right length, or a record in a pack.
    fn holds(&self, text: &Text) -> bool {
        matches!(self.look(&object_name(text.hash()), text), Ok(There::Fitting))
            || self
                .packs
                .as_ref()
                .is_some_and(|packs| packs.holds(self.folder(), text) || self.cold.holds(self.folder(), text))
    }

    fn stored(&self) -> Vec<Stored> {
        let mut all: BTreeMap<ContentHash, Stored> = BTreeMap::new();
        let cold = self.packs.as_ref().map(|_| self.cold.all(self.folder())).unwrap_or_default();
        for stored in cold.into_iter().chain(self.stored_apart()) {
            // One that is in several places counts once, by the youngest.
            let known = all.entry(stored.hash).or_insert(stored);
            known.modified = known.modified.max(stored.modified);
            known.packed &= stored.packed;
        }
        all.into_values().collect()
    }

    fn remove(&self, hashes: &BTreeSet<ContentHash>) -> Removal {
        let mut done = self.remove_apart(hashes);
        if self.packs.is_none() {
            return done;
        }
        let (removed, left) = self.cold.remove(self.cold_folders(), hashes);
        done.removed.extend(removed);
        if !left.is_empty() {
            for stored in self.cold.all(self.folder()) {
                done.removed.remove(&stored.hash);
            }
        }
        done.failed.extend(left);
        done
    }

    fn damaged(&self) -> Vec<String> {
        let Some(packs) = &self.packs else { return Vec::new() };
        let mut damaged = packs.damaged(self.folder());
        damaged.extend(self.cold.damaged(self.folder()));
        damaged
    }

    fn pack(&self, runs: &[Vec<ContentHash>]) -> Packing {
        let mut done = Packing::default();
        if self.packs.is_none() {
            return done;
        }
        let seconds: HashMap<ContentHash, u64> =
            self.stored_apart().map(|stored| (stored.hash, stored.modified / 1000)).collect();
        match self.cold.pack(self.cold_folders(), runs, (&seconds, &|hash| self.load(hash))) {
            Ok(packed) => {
                let Removal { removed, failed } = self.remove_apart(&packed);
                (done.moved, done.failed) = (removed, failed);
            }
            Err(error) => done.failed.push(error),
        }
        done.bytes = self.cold.bytes(self.folder());
        done
    }

    fn sort(&self, hashes: &mut [ContentHash]) {
        self.cold.sort(self.folder(), hashes);
    }
}

/// Syncs files, all at once, so that the disk is waited for about as long as for one of them.
fn sync_all(files: &[&File]) -> Vec<io::Result<()>> {
    let Some((last, others)) = files.split_last() else { return Vec::new() };
    thread::scope(|scope| {
        let start = |file| (file, thread::Builder::new().spawn_scoped(scope, move || File::sync_all(file)));
        let started: Vec<_> = others.iter().copied().map(start).collect();
        let last = last.sync_all();
        // A sync whose thread is missing is made here.
        let mut all: Vec<_> = started
            .into_iter()
            .map(|(file, thread)| thread.ok().and_then(|thread| thread.join().ok()).unwrap_or_else(|| file.sync_all()))
            .collect();
        all.push(last);
        all
    })
}

/// Makes git ignore a folder, unless that was done.
fn ignore_all(folder: BorrowedFd<'_>) -> io::Result<()> {
    if missing_or(rustix::fs::statat(folder, ".gitignore", AtFlags::SYMLINK_NOFOLLOW))?.is_some() {
        return Ok(());
    }
    let temp = Temp::create(folder, IN_WORKSPACE, Mode::RUSR | Mode::WUSR, &AtomicU64::new(0))?;
    temp.file().write_all(IGNORE_ALL.as_bytes())?;
    temp.place(folder, ".gitignore").map(drop)
}

/// The texts that have a file of their own, sorted.
fn stored_in(folder: BorrowedFd<'_>) -> Vec<Stored> {
    let look = |name: String| {
        let hash = object_hash(&name)?;
        let stat = rustix::fs::statat(folder, &name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let modified = u64::try_from(stat.st_mtime).unwrap_or(0).saturating_mul(1000);
        let bytes = u64::try_from(stat.st_size).ok()?;
        FileKind::of(stat.st_mode).is_none().then_some(Stored { hash, bytes, modified, packed: false })
    };
    names(folder).into_iter().filter_map(look).collect()
}

fn load_from(folder: BorrowedFd<'_>, hash: ContentHash) -> Loaded {
    let name = object_name(hash);
    let file = match rustix::fs::openat(folder, &name, READ_FLAGS, Mode::empty()) {
        Ok(fd) => File::from(fd),
        // A link or a socket in its place.
        Err(Errno::LOOP | Errno::NXIO) => return Loaded::Damaged,
        Err(_) => return Loaded::Missing,
    };
    let Ok(found) = rustix::fs::fstat(&file) else { return Loaded::Missing };
    let len = u64::try_from(found.st_size).unwrap_or(u64::MAX);
    if FileKind::of(found.st_mode).is_some() || len > MOST_BYTES {
        return Loaded::Damaged;
    }
    let Ok(bytes) = read_at(&file, 0, len) else { return Loaded::Missing };
    match Text::from_bytes(bytes) {
        Ok(text) if text.hash() == hash => Loaded::Text(text),
        Ok(_) | Err(_) => Loaded::Damaged,
    }
}

/// The name of the object of a text.
fn object_name(hash: ContentHash) -> String {
    format!("sha256-{hash}.txt")
}

/// The hash in the name of an object; `None` for any other name.
fn object_hash(name: &str) -> Option<ContentHash> {
    ContentHash::parse(name.strip_prefix("sha256-")?.strip_suffix(".txt")?)
}
