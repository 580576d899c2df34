//! Small texts, many to a file: `objects/small-<first hex digit of the hash>`. Creating a file costs many times as much as
//! appending to one. A record is `sha256-<64hex> <bytes> <seconds since 1970>\n`, the text, `\n`, appended by one write, by any
//! number of processes, without a lock. Nothing is ever appended after a record that is torn or unknown: such a pack stays as
//! it is until it is rewritten. A text is verified against its hash on every load, so a damaged pack cannot mislead.

mod record;

pub(super) use record::SMALL;

use std::{
    collections::{BTreeSet, HashMap},
    fs::File,
    io,
    os::fd::BorrowedFd,
    sync::{Mutex, MutexGuard, PoisonError, atomic::AtomicU64},
    time::SystemTime,
};

use readproof_core::text::{ContentHash, Text};
use rustix::{
    fs::{Mode, OFlags},
    io::Errno,
};

use self::record::{Place, Records};
use super::super::{
    Create, Loaded, Put, Stored,
    local_leases::lock,
    local_store::{Privacy, READ_FLAGS},
};
use crate::{
    replace::temp::Temp,
    snapshot::{Extent, FileKind},
};

/// A pack of this size is full, because opening one means to find all its records. Further texts get files of their own.
const MOST: u64 = 64 << 20;

/// How often a pack that was rewritten meanwhile is opened again.
const TRIES: u32 = 8;

/// The packs of one store. Threads share them; each pack has a lock of its own, so that texts seldom wait for each other.
#[derive(Debug, Default)]
pub(super) struct Packs([Mutex<Slot>; 16]);

/// A pack; `None` until it is needed.
type Slot = Option<Pack>;

/// One pack and what is known of it.
#[derive(Debug)]
struct Pack {
    file: File,
    can_append: bool,
    /// The end of the last record that was understood.
    seen: u64,
    /// Whether something follows there that is not a record.
    damaged: bool,
    texts: HashMap<ContentHash, Known>,
}

/// A text that a header announces.
#[derive(Clone, Copy, Debug)]
struct Known {
    place: Place,
    /// Whether this process has written or read it, so that it is really there.
    verified: bool,
}

/// Whether an open pack still has its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Now {
    Current,
    Replaced,
}

impl Packs {
    /// Stores a small text. An error means that its pack cannot be appended to; the text can still have a file of its own.
    pub(super) fn put(&self, folder: BorrowedFd<'_>, text: &Text) -> io::Result<Put> {
        let digit = digit(text.hash());
        put_below(&mut self.slot(digit), folder, text, MOST)
    }

    /// The text of that hash, verified.
    pub(super) fn load(&self, folder: BorrowedFd<'_>, hash: ContentHash) -> Loaded {
        let digit = digit(hash);
        match caught_up(&mut self.slot(digit), folder, digit, Create::No) {
            Ok(Some(pack)) => pack.load(hash),
            Ok(None) | Err(_) => Loaded::Missing,
        }
    }

    /// Whether a pack holds this text.
    pub(super) fn holds(&self, folder: BorrowedFd<'_>, text: &Text) -> bool {
        let digit = digit(text.hash());
        let found =
            caught_up(&mut self.slot(digit), folder, digit, Create::No).map(|pack| pack.map(|pack| pack.has(text)));
        matches!(found, Ok(Some(true)))
    }

    /// Everything in all packs. Nothing is verified.
    pub(super) fn all(&self, folder: BorrowedFd<'_>) -> Vec<Stored> {
        let mut all = Vec::new();
        for digit in 0..16 {
            if let Ok(Some(pack)) = caught_up(&mut self.slot(digit), folder, digit, Create::No) {
                let stored = |(hash, known): (&ContentHash, &Known)| Stored {
                    hash: *hash,
                    bytes: known.place.bytes,
                    modified: known.place.seconds.saturating_mul(1000),
                    packed: false,
                };
                all.extend(pack.texts.iter().map(stored));
            }
        }
        all
    }

    /// The names of the packs that hold something other than records.
    pub(super) fn damaged(&self, folder: BorrowedFd<'_>) -> Vec<String> {
        let is_damaged = |digit: &usize| {
            let found =
                caught_up(&mut self.slot(*digit), folder, *digit, Create::No).map(|pack| pack.map(|pack| pack.damaged));
            matches!(found, Ok(Some(true)))
        };
        (0..16).filter(is_damaged).map(name).collect()
    }

    /// Rewrites every pack that holds one of `gone`, or that is damaged, with the other good texts in it. Returns what was
    /// removed, and the packs for which that failed.
    pub(super) fn remove(
        &self,
        folders: (BorrowedFd<'_>, BorrowedFd<'_>),
        temps: &AtomicU64,
        gone: &BTreeSet<ContentHash>,
    ) -> (BTreeSet<ContentHash>, Vec<(String, io::Error)>) {
        let (mut removed, mut failed) = (BTreeSet::new(), Vec::new());
        for digit in 0..16 {
            if let Err(error) = rewrite(&mut self.slot(digit), folders, temps, (digit, gone), &mut removed) {
                failed.push((name(digit), error));
            }
        }
        (removed, failed)
    }

    /// A slot only says where texts are, and each is verified: a panic of another thread does no harm.
    fn slot(&self, digit: usize) -> MutexGuard<'_, Slot> {
        self.0[digit].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Stores a small text, unless its pack has `most` bytes or more.
fn put_below(slot: &mut Slot, folder: BorrowedFd<'_>, text: &Text, most: u64) -> io::Result<Put> {
    // If another process has stored it since, it is there twice.
    if let Some(pack) = slot
        && !pack.texts.contains_key(&text.hash())
        && pack.can_append
        && !pack.damaged
        && pack.seen < most
        && pack.append(text)? == Now::Current
    {
        return Ok(Put::Stored);
    }
    for _ in 0..TRIES {
        let Some(pack) = caught_up(slot, folder, digit(text.hash()), Create::Yes)? else { break };
        if pack.has(text) {
            return Ok(Put::Present);
        }
        if pack.seen >= most {
            return Err(Errno::FBIG.into());
        }
        if pack.append(text)? == Now::Current {
            return Ok(Put::Stored);
        }
        // The pack was rewritten while this was appended to the old one.
    }
    Err(Errno::BUSY.into())
}

/// Rewrites a pack without what is `gone` or damaged. If it cannot be read now, that is an error and it stays as it is.
fn rewrite(
    slot: &mut Slot,
    (folder, tmp): (BorrowedFd<'_>, BorrowedFd<'_>),
    temps: &AtomicU64,
    (digit, gone): (usize, &BTreeSet<ContentHash>),
    removed: &mut BTreeSet<ContentHash>,
) -> io::Result<()> {
    let Some(pack) = locked(slot, folder, digit)? else { return Ok(()) };
    let mut going: BTreeSet<ContentHash> = pack.texts.keys().filter(|hash| gone.contains(hash)).copied().collect();
    if going.is_empty() && !pack.damaged {
        return Ok(());
    }
    let temp = Temp::create(tmp, "", Mode::RUSR | Mode::WUSR, temps)?;
    let mut copied = BTreeSet::new();
    let mut records = Records::new(&pack.file, Extent::of(&pack.file)?.len);
    let done = records.each_good(0, |text, seconds| {
        if gone.contains(&text.hash()) {
            going.insert(text.hash());
        } else if copied.insert(text.hash()) {
            record::write(temp.file(), &text, seconds)?;
        }
        Ok(())
    })?;
    // Otherwise a power failure could leave an empty file under the name.
    rustix::fs::fsync(temp.file())?;
    temp.replace(folder, &name(digit))?;
    removed.append(&mut going);
    *slot = None;
    // A writer that appends to the old pack after this rename notices, and appends to the new one. One that appended
    // between the copy and the rename does not notice: what it wrote is copied here.
    let mut records = Records::new(&pack.file, Extent::of(&pack.file)?.len);
    let mut failed = Ok(());
    records.each_good(done, |text, _| {
        // It was there, so there is space.
        if !copied.contains(&text.hash())
            && let Err(error) = put_below(slot, folder, &text, u64::MAX)
        {
            failed = Err(error);
        }
        Ok(())
    })?;
    failed
}

/// A pack that no other process rewrites while this is held. Waits about a second for another process.
fn locked(slot: &mut Slot, folder: BorrowedFd<'_>, digit: usize) -> io::Result<Option<Pack>> {
    for _ in 0..TRIES {
        *slot = None;
        let Some(mut pack) = Pack::open(folder, &name(digit), Create::No)? else { return Ok(None) };
        if lock(&pack.file).is_err() {
            break;
        }
        if pack.catch_up()? == Now::Current {
            return Ok(Some(pack));
        }
    }
    Err(Errno::BUSY.into())
}

/// The pack of a digit as it is now; `None` when there is none.
fn caught_up<'s>(
    slot: &'s mut Slot,
    folder: BorrowedFd<'_>,
    digit: usize,
    create: Create,
) -> io::Result<Option<&'s mut Pack>> {
    for _ in 0..TRIES {
        if slot.as_ref().is_none_or(|pack| create == Create::Yes && !pack.can_append) {
            *slot = Pack::open(folder, &name(digit), create)?;
        }
        let Some(pack) = slot else { return Ok(None) };
        if pack.catch_up()? == Now::Current {
            return Ok(slot.as_mut());
        }
        *slot = None;
    }
    Err(Errno::BUSY.into())
}

impl Pack {
    fn open(folder: BorrowedFd<'_>, name: &str, create: Create) -> io::Result<Option<Self>> {
        let flags = READ_FLAGS | OFlags::RDWR | OFlags::APPEND;
        let flags = if create == Create::Yes { flags | OFlags::CREATE } else { flags };
        let (file, can_append) = match rustix::fs::openat(folder, name, flags, Mode::RUSR | Mode::WUSR) {
            Ok(fd) => (File::from(fd), true),
            Err(Errno::NOENT) => return Ok(None),
            // It can be read all the same.
            Err(Errno::ROFS) => (File::from(rustix::fs::openat(folder, name, READ_FLAGS, Mode::empty())?), false),
            Err(errno) => return Err(errno.into()),
        };
        let found = rustix::fs::fstat(&file)?;
        // A file with another name may belong to someone.
        let is_ours = found.st_nlink <= 1 && matches!(Privacy::of(found.st_mode, found.st_uid), Privacy::Private);
        if FileKind::of(found.st_mode).is_some() || !is_ours {
            return Err(Errno::ACCESS.into());
        }
        Ok(Some(Self { file, can_append, seen: 0, damaged: false, texts: HashMap::new() }))
    }

    /// Reads what was appended. Costs one `statx` when nothing was.
    fn catch_up(&mut self) -> io::Result<Now> {
        let found = Extent::of(&self.file)?;
        if found.nlink == 0 {
            return Ok(Now::Replaced);
        }
        if found.len < self.seen {
            // It was truncated.
            self.seen = 0;
            self.texts.clear();
        }
        self.scan(found.len)?;
        Ok(Now::Current)
    }

    fn scan(&mut self, end: u64) -> io::Result<()> {
        self.damaged = false;
        let mut records = Records::new(&self.file, end);
        while self.seen < end && !self.damaged {
            match records.at(self.seen)? {
                Some((hash, place)) => {
                    self.seen = place.end();
                    let known = self.texts.entry(hash).or_insert(Known { place, verified: false });
                    // The later of two counts, unless the first is known to be good.
                    known.place = if known.verified { known.place } else { place };
                }
                // Torn, altered, or being written just now.
                None => self.damaged = true,
            }
        }
        Ok(())
    }

    fn load(&mut self, hash: ContentHash) -> Loaded {
        let Some(known) = self.texts.get_mut(&hash) else { return Loaded::Missing };
        let loaded = record::read(&self.file, hash, known.place).unwrap_or(Loaded::Missing);
        known.verified = matches!(loaded, Loaded::Text(_));
        loaded
    }

    /// Whether a text is here and can be loaded. Forgets one that cannot.
    fn has(&mut self, text: &Text) -> bool {
        let Some(known) = self.texts.get_mut(&text.hash()) else { return false };
        known.verified = known.verified || record::holds(&self.file, known.place, text);
        let has = known.verified;
        if !has {
            self.texts.remove(&text.hash());
        }
        has
    }

    /// Appends a text; whether others appended too is checked afterwards.
    fn append(&mut self, text: &Text) -> io::Result<Now> {
        if self.damaged || !self.can_append {
            return Err(Errno::INVAL.into());
        }
        let seconds = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        // A failed write may leave a torn record; the next catch-up tells.
        let written = record::write(&self.file, text, seconds).inspect_err(|_| self.damaged = true)?;
        let found = Extent::of(&self.file)?;
        if found.nlink == 0 {
            return Ok(Now::Replaced);
        }
        if found.len == self.seen + written {
            let bytes = text.as_str().len() as u64;
            let place = Place { at: found.len - bytes - 1, bytes, seconds };
            self.texts.insert(text.hash(), Known { place, verified: true });
            self.seen = found.len;
            return Ok(Now::Current);
        }
        // Another process appended meanwhile; after a torn record this text would not be found.
        match self.catch_up()? {
            Now::Current if !self.texts.contains_key(&text.hash()) => Err(Errno::BUSY.into()),
            now @ (Now::Current | Now::Replaced) => Ok(now),
        }
    }
}

/// Which pack a text belongs in.
fn digit(hash: ContentHash) -> usize {
    usize::from(hash.as_bytes()[0] >> 4)
}

fn name(digit: usize) -> String {
    format!("small-{digit:x}")
}
