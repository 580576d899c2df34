//! Texts that are seldom needed, compressed: `objects/cold/<hash of its index>`. Versions of one file stand side by side in a zstd
//! frame, so that each costs little more than its difference from the one before. A pack appears whole, by rename, and is never
//! changed: removing texts makes another pack and then removes this one. So readers need no lock; whoever writes packs or removes
//! them holds the lock of the folder. A text is verified against its hash on every load, so a damaged pack cannot mislead.

mod format;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fs::File,
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::{Mutex, MutexGuard, PoisonError, atomic::AtomicU64},
};

use readproof_core::text::{ContentHash, Text};
use rustix::{fs::Mode, io::Errno};

use self::format::{Index, Writer};
use super::super::{
    Create, Loaded, STORE_NAME, StoreError, Stored,
    local_leases::{LockError, lock},
    local_store::{Privacy, READ_FLAGS, names, open_folder, private_folder, remove},
};
use crate::{replace::temp::Temp, snapshot::FileKind};

/// The folder of the packs, beside the other texts.
const FOLDER: &str = "cold";

/// How often the packs are listed again when one goes between listing and opening.
const TRIES: u32 = 8;

/// Packs with fewer bytes are made into one when there is something to pack, and when there are this many of them.
const LITTLE: u64 = 1 << 20;
const MANY: usize = 8;

/// The cold packs of one store, as far as they were looked at. Threads share them.
#[derive(Debug, Default)]
pub(super) struct Cold(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    packs: BTreeMap<String, Opened>,
    /// The frame that was inflated last, as versions are asked for in their order.
    frame: Option<Inflated>,
}

#[derive(Debug)]
enum Opened {
    Pack(Pack),
    /// Its index is not what its name says.
    Damaged,
}

#[derive(Debug)]
struct Pack {
    file: File,
    bytes: u64,
    index: Index,
}

#[derive(Debug)]
struct Inflated {
    pack: String,
    frame: u32,
    bytes: Vec<u8>,
}

/// Where packs are made: the folder of the texts, and that of temporary files.
#[derive(Clone, Copy)]
pub(super) struct Folders<'f> {
    pub(super) objects: BorrowedFd<'f>,
    pub(super) tmp: BorrowedFd<'f>,
    pub(super) temps: &'f AtomicU64,
}

/// The name of a little pack, and its texts with the seconds since 1970 when each was stored.
type LittlePack = (String, Vec<(ContentHash, u64)>);

/// The right to write and remove packs, for as long as this is open.
struct Locked {
    folder: OwnedFd,
    _lock: File,
}

impl Cold {
    /// The text of that hash, verified.
    pub(super) fn load(&self, objects: BorrowedFd<'_>, hash: ContentHash) -> Loaded {
        let mut known = self.known();
        let (mut seen, mut found) = (None, Loaded::Missing);
        for _ in 0..TRIES {
            let names = known.look(objects);
            // A pack may take the place of another while they are listed.
            if seen.as_ref() == Some(&names) {
                break;
            }
            match known.load(hash) {
                text @ Loaded::Text(_) => return text,
                other @ (Loaded::Missing | Loaded::Damaged) => found = other,
            }
            if names.is_empty() {
                break;
            }
            seen = Some(names);
        }
        found
    }

    /// Whether a pack announces this text.
    pub(super) fn holds(&self, objects: BorrowedFd<'_>, text: &Text) -> bool {
        let mut known = self.known();
        known.look(objects);
        let has = |pack: &Pack| {
            let found = pack.index.texts.get(&text.hash());
            found.is_some_and(|place| place.bytes as usize == text.as_str().len())
        };
        known.good().any(|(_, pack)| has(pack))
    }

    /// Everything in all packs. Nothing is verified.
    pub(super) fn all(&self, objects: BorrowedFd<'_>) -> Vec<Stored> {
        let mut known = self.known();
        known.look(objects);
        let stored = |(hash, place): (&ContentHash, &format::Place)| Stored {
            hash: *hash,
            bytes: place.bytes.into(),
            modified: place.seconds.saturating_mul(1000),
            packed: true,
        };
        known.good().flat_map(|(_, pack)| &pack.index.texts).map(stored).collect()
    }

    /// The names of the packs that cannot be read.
    pub(super) fn damaged(&self, objects: BorrowedFd<'_>) -> Vec<String> {
        let mut known = self.known();
        known.look(objects);
        let damaged = known.packs.iter().filter(|(_, pack)| matches!(pack, Opened::Damaged));
        damaged.map(|(name, _)| format!("{FOLDER}/{name}")).collect()
    }

    /// How many bytes the packs take.
    pub(super) fn bytes(&self, objects: BorrowedFd<'_>) -> u64 {
        let mut known = self.known();
        known.look(objects);
        known.good().map(|(_, pack)| pack.bytes).sum()
    }

    /// Sorts hashes so that texts of one frame follow each other.
    pub(super) fn sort(&self, objects: BorrowedFd<'_>, hashes: &mut [ContentHash]) {
        let mut known = self.known();
        known.look(objects);
        hashes.sort_by_cached_key(|hash| {
            let place = known.good().find_map(|(name, pack)| Some((name.clone(), pack.index.texts.get(hash)?.frame)));
            (place, *hash)
        });
    }

    /// Packs texts, those of a run side by side, unless they are packed. `load` gives a text that is not. Returns those that a
    /// pack holds now: synced, read back and verified.
    pub(super) fn pack(
        &self,
        folders: Folders<'_>,
        runs: &[Vec<ContentHash>],
        (seconds, load): (&HashMap<ContentHash, u64>, &dyn Fn(ContentHash) -> Loaded),
    ) -> Result<BTreeSet<ContentHash>, StoreError> {
        if runs.iter().all(Vec::is_empty) {
            return Ok(BTreeSet::new());
        }
        let Some(locked) = Locked::take(folders.objects, Create::Yes)? else { return Ok(BTreeSet::new()) };
        let (packed, merging) = self.packed(folders.objects);
        let merged: HashMap<ContentHash, u64> = merging.iter().flat_map(|(_, texts)| texts).copied().collect();
        let mut wanted: Vec<(ContentHash, u64)> = Vec::new();
        let (mut chosen, mut is_new) = (BTreeSet::new(), false);
        for hash in runs.iter().flatten() {
            if packed.contains(hash) || !chosen.insert(*hash) {
                continue;
            }
            is_new |= !merged.contains_key(hash);
            let since = merged.get(hash).or_else(|| seconds.get(hash)).copied();
            wanted.push((*hash, since.unwrap_or_default()));
        }
        if is_new || merging.len() >= MANY {
            let others = merging.iter().flat_map(|(_, texts)| texts).filter(|(hash, _)| chosen.insert(*hash));
            wanted.extend(others);
            self.write(folders, &locked, &wanted, load).map_err(failed)?;
            self.remove_merged(folders.objects, &locked, &merging).map_err(failed)?;
        }
        let mut asked: Vec<ContentHash> = runs.iter().flatten().copied().collect();
        self.sort(folders.objects, &mut asked);
        let is_there = |hash: &ContentHash| matches!(self.load(folders.objects, *hash), Loaded::Text(_));
        Ok(asked.into_iter().filter(|hash| seconds.contains_key(hash) && is_there(hash)).collect())
    }

    /// What large packs hold, and the little ones with their texts.
    fn packed(&self, objects: BorrowedFd<'_>) -> (BTreeSet<ContentHash>, Vec<LittlePack>) {
        let mut known = self.known();
        known.look(objects);
        let (little, large): (Vec<_>, Vec<_>) = known.good().partition(|(_, pack)| pack.bytes < LITTLE);
        let texts = |pack: &Pack| {
            let in_order = pack.index.by_frame().into_iter().flatten();
            in_order.map(|(hash, place)| (hash, place.seconds)).collect()
        };
        let little = little.into_iter().map(|(name, pack)| (name.clone(), texts(pack))).collect();
        (large.into_iter().flat_map(|(_, pack)| pack.index.texts.keys().copied()).collect(), little)
    }

    /// Writes packs with these texts, as far as they can be loaded, and waits until they are on the disk.
    fn write(
        &self,
        folders: Folders<'_>,
        locked: &Locked,
        wanted: &[(ContentHash, u64)],
        load: &dyn Fn(ContentHash) -> Loaded,
    ) -> io::Result<()> {
        let mut left = wanted.iter().peekable();
        while left.peek().is_some() {
            let temp = Temp::create(folders.tmp, "", Mode::RUSR | Mode::WUSR, folders.temps)?;
            let mut writer = Writer::new(temp.file())?;
            while !writer.is_full()
                && let Some((hash, since)) = left.next()
            {
                match load(*hash) {
                    Loaded::Text(text) => writer.add(&text, *since)?,
                    // It stays where and as it is.
                    Loaded::Missing | Loaded::Damaged => {}
                }
            }
            if !writer.is_empty() {
                let name = writer.finish()?;
                locked.place(temp, name)?;
            }
        }
        rustix::fs::fsync(&locked.folder)?;
        // The folder itself may be new.
        Ok(rustix::fs::fsync(folders.objects)?)
    }

    /// Removes little packs of which every text can be loaded from another one.
    fn remove_merged(&self, objects: BorrowedFd<'_>, locked: &Locked, merged: &[LittlePack]) -> io::Result<()> {
        let mut known = self.known();
        known.look(objects);
        let names: Vec<&String> = merged.iter().map(|(name, _)| name).collect();
        let others: Vec<String> =
            known.good().filter(|(other, _)| !names.contains(other)).map(|(other, _)| other.clone()).collect();
        for (name, texts) in merged {
            if texts.iter().all(|(hash, _)| matches!(known.load_in(&others, *hash), Loaded::Text(_))) {
                remove(locked.folder.as_fd(), name)?;
            }
        }
        known.look(objects);
        Ok(())
    }

    /// Makes every pack that holds one of `gone` anew without it. Frames without one are copied as they are. Returns what was
    /// removed, and the packs for which that failed.
    pub(super) fn remove(
        &self,
        folders: Folders<'_>,
        gone: &BTreeSet<ContentHash>,
    ) -> (BTreeSet<ContentHash>, Vec<StoreError>) {
        let (mut removed, mut left) = (BTreeSet::new(), Vec::new());
        let is_hit = |pack: &Pack| pack.index.texts.keys().any(|hash| gone.contains(hash));
        let hit = |known: &mut Known| {
            known.look(folders.objects);
            known.good().any(|(_, pack)| is_hit(pack))
        };
        if !hit(&mut self.known()) {
            return (removed, left);
        }
        let locked = match Locked::take(folders.objects, Create::No) {
            Ok(Some(locked)) => locked,
            Ok(None) => return (removed, left),
            Err(error) => return (removed, vec![error]),
        };
        let mut known = self.known();
        known.look(folders.objects);
        for (name, pack) in known.good().filter(|(_, pack)| is_hit(pack)) {
            match rewrite(folders, &locked, pack, gone).and_then(|()| Ok(remove(locked.folder.as_fd(), name)?)) {
                Ok(_) => removed.extend(pack.index.texts.keys().filter(|hash| gone.contains(hash))),
                Err(error) => left.push(StoreError::from_io(&shown(name), error)),
            }
        }
        left.extend(rustix::fs::fsync(&locked.folder).err().map(|errno| failed(errno.into())));
        known.look(folders.objects);
        (removed, left)
    }

    /// What is known only says where texts are, and each is verified: a panic of another thread does no harm.
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes the pack that takes the place of another, if anything stays, and waits until it is on the disk.
fn rewrite(folders: Folders<'_>, locked: &Locked, pack: &Pack, gone: &BTreeSet<ContentHash>) -> io::Result<()> {
    let temp = Temp::create(folders.tmp, "", Mode::RUSR | Mode::WUSR, folders.temps)?;
    let mut writer = Writer::new(temp.file())?;
    for (frame, texts) in pack.index.frames.iter().zip(pack.index.by_frame()) {
        if texts.is_empty() {
            continue;
        }
        if texts.iter().all(|(hash, _)| !gone.contains(hash)) {
            writer.copy(&pack.file, *frame, &texts)?;
            continue;
        }
        // What cannot be inflated is lost already.
        let bytes = frame.inflate(&pack.file)?.unwrap_or_default();
        for (hash, place) in texts.iter().filter(|(hash, _)| !gone.contains(hash)) {
            if let Loaded::Text(text) = place.text(&bytes, *hash) {
                writer.add(&text, place.seconds)?;
            }
        }
    }
    if writer.is_empty() {
        return Ok(());
    }
    let name = writer.finish()?;
    locked.place(temp, name)?;
    Ok(rustix::fs::fsync(&locked.folder)?)
}

impl Locked {
    /// Waits about a second for another process. `None`: there is no folder, and none is to be made.
    fn take(objects: BorrowedFd<'_>, create: Create) -> Result<Option<Self>, StoreError> {
        let shown = format!("{STORE_NAME}/objects/{FOLDER}");
        let Some(folder) = private_folder(objects, FOLDER, &shown, create)? else { return Ok(None) };
        // A handle of its own, which is closed with the lock.
        let handle = open_folder(folder.as_fd(), ".").map_err(|errno| failed(errno.into()))?;
        let handle = File::from(handle);
        match lock(&handle) {
            Ok(()) => Ok(Some(Self { folder, _lock: handle })),
            Err(LockError::Busy) => Err(StoreError::Busy { name: shown }),
            Err(LockError::Io(error)) => Err(failed(error)),
        }
    }

    /// Gives a pack its name once its bytes are on the disk. One that has the name holds the same texts, unless it is damaged.
    fn place(&self, temp: Temp<'_>, name: ContentHash) -> io::Result<()> {
        rustix::fs::fsync(temp.file())?;
        temp.replace(&self.folder, &name.to_string())
    }
}

fn shown(name: &str) -> String {
    format!("{STORE_NAME}/objects/{FOLDER}/{name}")
}

fn failed(error: io::Error) -> StoreError {
    StoreError::from_io(&format!("{STORE_NAME}/objects/{FOLDER}"), error)
}

impl Known {
    /// Opens packs that are new and closes those that are gone. Returns the names there are.
    fn look(&mut self, objects: BorrowedFd<'_>) -> Vec<String> {
        let mut listed = Vec::new();
        for _ in 0..TRIES {
            let folder = private_folder(objects, FOLDER, FOLDER, Create::No).ok().flatten();
            listed = folder.as_ref().map(|folder| names(folder.as_fd())).unwrap_or_default();
            listed.retain(|name| ContentHash::parse(name).is_some());
            self.packs.retain(|name, _| listed.binary_search(name).is_ok());
            let Some(folder) = folder else { break };
            let mut is_gone = false;
            for name in &listed {
                // Another one may have taken the place of a damaged one.
                if matches!(self.packs.get(name), Some(Opened::Pack(_))) {
                    continue;
                }
                match Pack::open(folder.as_fd(), name) {
                    Ok(Some(opened)) => drop(self.packs.insert(name.clone(), opened)),
                    // Another pack has taken its place.
                    Ok(None) => is_gone = true,
                    // It may be readable the next time.
                    Err(_) => {}
                }
            }
            if !is_gone {
                break;
            }
        }
        if self.frame.as_ref().is_some_and(|frame| !self.packs.contains_key(&frame.pack)) {
            self.frame = None;
        }
        listed
    }

    fn good(&self) -> impl Iterator<Item = (&String, &Pack)> {
        self.packs.iter().filter_map(|(name, pack)| match pack {
            Opened::Pack(pack) => Some((name, pack)),
            Opened::Damaged => None,
        })
    }

    fn load(&mut self, hash: ContentHash) -> Loaded {
        let names: Vec<String> = self
            .good()
            .filter(|(_, pack)| pack.index.texts.contains_key(&hash))
            .map(|(name, _)| name.clone())
            .collect();
        self.load_in(&names, hash)
    }

    /// The text of that hash in one of these packs.
    fn load_in(&mut self, names: &[String], hash: ContentHash) -> Loaded {
        let mut found = Loaded::Missing;
        for name in names {
            let Some(Opened::Pack(pack)) = self.packs.get(name) else { continue };
            let Some(place) = pack.index.texts.get(&hash).copied() else { continue };
            let Some(frame) = pack.index.frames.get(place.frame as usize).copied() else { continue };
            let kept = self.frame.take_if(|kept| kept.pack == *name && kept.frame == place.frame);
            let bytes = match kept {
                Some(kept) => kept.bytes,
                None => match frame.inflate(&pack.file) {
                    Ok(Some(bytes)) => bytes,
                    Ok(None) => {
                        found = Loaded::Damaged;
                        continue;
                    }
                    Err(_) => continue,
                },
            };
            let text = place.text(&bytes, hash);
            if frame.is_shared() {
                self.frame = Some(Inflated { pack: name.clone(), frame: place.frame, bytes });
            }
            match text {
                text @ Loaded::Text(_) => return text,
                Loaded::Missing | Loaded::Damaged => found = Loaded::Damaged,
            }
        }
        found
    }
}

impl Pack {
    /// Opens a pack; `None` if it is gone.
    fn open(folder: BorrowedFd<'_>, name: &str) -> io::Result<Option<Opened>> {
        let file = match rustix::fs::openat(folder, name, READ_FLAGS, Mode::empty()) {
            Ok(fd) => File::from(fd),
            Err(Errno::NOENT) => return Ok(None),
            // A link, which is never followed.
            Err(Errno::LOOP) => return Ok(Some(Opened::Damaged)),
            Err(errno) => return Err(errno.into()),
        };
        let found = rustix::fs::fstat(&file)?;
        // A file with another name may belong to someone.
        let is_ours = found.st_nlink <= 1 && matches!(Privacy::of(found.st_mode, found.st_uid), Privacy::Private);
        let hash = ContentHash::parse(name).filter(|_| is_ours && FileKind::of(found.st_mode).is_none());
        let (Some(hash), Ok(bytes)) = (hash, u64::try_from(found.st_size)) else { return Ok(Some(Opened::Damaged)) };
        let index = Index::read(&file, bytes, hash)?;
        Ok(Some(index.map_or(Opened::Damaged, |index| Opened::Pack(Self { file, bytes, index }))))
    }
}
