//! Small texts, many to a file: `objects/small-<first hex digit of the hash>`. To make a file costs many times what it costs
//! to append to one. A record is `sha256-<64hex> <bytes> <seconds since 1970>\n`, the text, `\n`, appended by one write, by
//! any number of processes, without a lock. Nothing is ever appended behind a record that is torn or not understood: such a
//! pack is left as it is until it is made anew. A text is verified against its hash on every load, so it does not matter
//! what a damaged pack seems to say.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    io::{self, IoSlice},
    os::fd::BorrowedFd,
    sync::atomic::AtomicU64,
    time::SystemTime,
};

use readproof_core::text::{ContentHash, Text};
use rustix::{
    fs::{FlockOperation, Mode, OFlags},
    io::Errno,
};

use super::{
    Privacy, READ_FLAGS,
    objects::{Loaded, Put},
    upkeep::Stored,
};
use crate::{
    bytes::read_at,
    snapshot::{Extent, FileKind},
    temp::Temp,
};

/// Texts up to this many bytes are small.
pub(super) const SMALL: usize = 1 << 20;

/// `sha256-`, the hash, a space, seven digits, a space, twenty digits and a line end are the most a header can have.
const HEADER_BYTES: u64 = 7 + 64 + 1 + 7 + 1 + 20 + 1;

/// How often a pack that was made anew underneath is opened again.
const TRIES: u32 = 8;

/// The packs of one store, each opened when it is first needed.
#[derive(Debug, Default)]
pub(super) struct Packs([Option<Pack>; 16]);

/// One pack and what is known of it.
#[derive(Debug)]
struct Pack {
    file: File,
    can_append: bool,
    /// Behind the last record that was understood.
    seen: u64,
    /// Whether something follows there that is no record.
    damaged: bool,
    texts: BTreeMap<ContentHash, Place>,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    at: u64,
    bytes: u64,
    seconds: u64,
}

/// Whether an open pack still is the one of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Now {
    Current,
    Replaced,
}

/// Whether a pack that is missing is made.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    Make,
    Leave,
}

impl Packs {
    /// Stores a small text. An error means that its pack cannot be appended to; the text can still have a file of its own.
    pub(super) fn put(&mut self, folder: BorrowedFd<'_>, text: &Text) -> io::Result<Put> {
        let digit = digit(text.hash());
        // Should another have stored it since, it stands there twice.
        if let Some(pack) = &mut self.0[digit]
            && !pack.texts.contains_key(&text.hash())
            && pack.can_append
            && !pack.damaged
            && pack.append(text)? == Now::Current
        {
            return Ok(Put::Stored);
        }
        for _ in 0..TRIES {
            let Some(pack) = self.caught_up(folder, digit, Missing::Make)? else { break };
            if pack.texts.contains_key(&text.hash()) {
                return Ok(Put::Present);
            }
            if pack.append(text)? == Now::Current {
                return Ok(Put::Stored);
            }
            // Made anew while this was written to the old one.
        }
        Err(Errno::BUSY.into())
    }

    /// The text of that hash, verified.
    pub(super) fn load(&mut self, folder: BorrowedFd<'_>, hash: ContentHash) -> Loaded {
        match self.caught_up(folder, digit(hash), Missing::Leave) {
            Ok(Some(pack)) => pack.texts.get(&hash).map_or(Loaded::Missing, |place| pack.read(hash, *place)),
            Ok(None) | Err(_) => Loaded::Missing,
        }
    }

    /// Everything in all packs. Nothing is verified.
    pub(super) fn all(&mut self, folder: BorrowedFd<'_>) -> Vec<Stored> {
        let mut all = Vec::new();
        for digit in 0..16 {
            if let Ok(Some(pack)) = self.caught_up(folder, digit, Missing::Leave) {
                let stored = |(hash, place): (&ContentHash, &Place)| Stored {
                    hash: *hash,
                    bytes: place.bytes,
                    modified: place.seconds.saturating_mul(1000),
                };
                all.extend(pack.texts.iter().map(stored));
            }
        }
        all
    }

    /// The names of the packs that hold something that is no record.
    pub(super) fn damaged(&mut self, folder: BorrowedFd<'_>) -> Vec<String> {
        let is_damaged = |packs: &mut Self, digit| matches!(packs.caught_up(folder, digit, Missing::Leave), Ok(Some(pack)) if pack.damaged);
        (0..16).filter(|digit| is_damaged(self, *digit)).map(name).collect()
    }

    /// Makes every pack anew that holds one of `gone`, or that is damaged, with what else is good in it. Returns what went.
    pub(super) fn remove(
        &mut self,
        folders: (BorrowedFd<'_>, BorrowedFd<'_>),
        temps: &AtomicU64,
        gone: &BTreeSet<ContentHash>,
    ) -> io::Result<BTreeSet<ContentHash>> {
        let mut removed = BTreeSet::new();
        for digit in 0..16 {
            removed.extend(self.make_anew(folders, temps, digit, gone)?);
        }
        Ok(removed)
    }

    fn make_anew(
        &mut self,
        (folder, tmp): (BorrowedFd<'_>, BorrowedFd<'_>),
        temps: &AtomicU64,
        digit: usize,
        gone: &BTreeSet<ContentHash>,
    ) -> io::Result<Vec<ContentHash>> {
        let Some(mut pack) = self.locked(folder, digit)? else { return Ok(Vec::new()) };
        let removed: Vec<ContentHash> = pack.texts.keys().filter(|hash| gone.contains(hash)).copied().collect();
        if removed.is_empty() && !pack.damaged {
            return Ok(removed);
        }
        let temp = Temp::create(tmp, "", Mode::RUSR | Mode::WUSR, temps)?;
        for (hash, place) in pack.texts.iter().filter(|(hash, _)| !gone.contains(hash)) {
            if let Loaded::Text(text) = pack.read(*hash, *place) {
                write(temp.file(), &text, place.seconds)?;
            }
        }
        let copied: BTreeSet<ContentHash> = pack.texts.keys().copied().collect();
        temp.replace(folder, &name(digit))?;
        self.0[digit] = None;
        // Who appended to the old one after it was replaced finds that out and does it again; who did before did not.
        pack.scan(Extent::of(&pack.file)?.len)?;
        for (hash, place) in pack.texts.iter().filter(|(hash, _)| !copied.contains(hash)) {
            if let Loaded::Text(text) = pack.read(*hash, *place) {
                self.put(folder, &text)?;
            }
        }
        Ok(removed)
    }

    /// A pack that nobody else makes anew while this is held.
    fn locked(&mut self, folder: BorrowedFd<'_>, digit: usize) -> io::Result<Option<Pack>> {
        for _ in 0..TRIES {
            self.0[digit] = None;
            let Some(mut pack) = Pack::open(folder, &name(digit), Missing::Leave)? else { return Ok(None) };
            rustix::fs::flock(&pack.file, FlockOperation::LockExclusive)?;
            if pack.catch_up()? == Now::Current {
                return Ok(Some(pack));
            }
        }
        Err(Errno::BUSY.into())
    }

    /// The pack of a digit as it is now; `None` when there is none.
    fn caught_up(&mut self, folder: BorrowedFd<'_>, digit: usize, missing: Missing) -> io::Result<Option<&mut Pack>> {
        for _ in 0..TRIES {
            if self.0[digit].as_ref().is_none_or(|pack| missing == Missing::Make && !pack.can_append) {
                self.0[digit] = Pack::open(folder, &name(digit), missing)?;
            }
            let Some(pack) = &mut self.0[digit] else { return Ok(None) };
            if pack.catch_up()? == Now::Current {
                return Ok(self.0[digit].as_mut());
            }
            self.0[digit] = None;
        }
        Err(Errno::BUSY.into())
    }
}

impl Pack {
    fn open(folder: BorrowedFd<'_>, name: &str, missing: Missing) -> io::Result<Option<Self>> {
        let flags = READ_FLAGS | OFlags::RDWR | OFlags::APPEND;
        let flags = if missing == Missing::Make { flags | OFlags::CREATE } else { flags };
        let (file, can_append) = match rustix::fs::openat(folder, name, flags, Mode::RUSR | Mode::WUSR) {
            Ok(fd) => (File::from(fd), true),
            Err(Errno::NOENT) => return Ok(None),
            // To look into it is possible all the same.
            Err(Errno::ROFS) => (File::from(rustix::fs::openat(folder, name, READ_FLAGS, Mode::empty())?), false),
            Err(errno) => return Err(errno.into()),
        };
        let found = rustix::fs::fstat(&file)?;
        // What has another name too may be someone's file.
        let is_ours = found.st_nlink <= 1 && matches!(Privacy::of(found.st_mode, found.st_uid), Privacy::Private);
        if FileKind::of(found.st_mode).is_some() || !is_ours {
            return Err(Errno::ACCESS.into());
        }
        Ok(Some(Self { file, can_append, seen: 0, damaged: false, texts: BTreeMap::new() }))
    }

    /// Takes in what was appended. When nothing was, this costs one `statx`.
    fn catch_up(&mut self) -> io::Result<Now> {
        let found = Extent::of(&self.file)?;
        if found.nlink == 0 || found.len < self.seen {
            return Ok(Now::Replaced);
        }
        self.scan(found.len)?;
        Ok(Now::Current)
    }

    fn scan(&mut self, end: u64) -> io::Result<()> {
        self.damaged = false;
        while self.seen < end && !self.damaged {
            match self.record_at(self.seen, end)? {
                Some((hash, place)) => {
                    self.seen = place.at + place.bytes + 1;
                    self.texts.insert(hash, place);
                }
                // Torn, altered, or being written just now.
                None => self.damaged = true,
            }
        }
        Ok(())
    }

    /// The record that begins at `at`, if it is whole.
    fn record_at(&self, at: u64, end: u64) -> io::Result<Option<(ContentHash, Place)>> {
        let bytes = read_at(&self.file, at, HEADER_BYTES.min(end - at))?;
        let parsed = || {
            let line = bytes.split(|byte| *byte == b'\n').next().filter(|line| line.len() < bytes.len())?;
            let mut words = str::from_utf8(line).ok()?.strip_prefix("sha256-")?.split(' ');
            let hash = ContentHash::parse(words.next()?)?;
            let (bytes, seconds) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
            let place = Place { at: at + line.len() as u64 + 1, bytes, seconds };
            let fits = words.next().is_none() && bytes <= SMALL as u64 && place.at + bytes < end;
            fits.then_some((hash, place))
        };
        Ok(parsed())
    }

    fn read(&self, hash: ContentHash, place: Place) -> Loaded {
        let Ok(mut bytes) = read_at(&self.file, place.at, place.bytes) else { return Loaded::Missing };
        bytes.truncate(usize::try_from(place.bytes).unwrap_or(usize::MAX));
        match Text::from_bytes(bytes) {
            Ok(text) if text.hash() == hash => Loaded::Text(text),
            Ok(_) | Err(_) => Loaded::Damaged,
        }
    }

    /// Appends a text; that it stands behind what is known is found out afterwards.
    fn append(&mut self, text: &Text) -> io::Result<Now> {
        if self.damaged || !self.can_append {
            return Err(Errno::INVAL.into());
        }
        let seconds = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        let written = write(&self.file, text, seconds)?;
        let found = Extent::of(&self.file)?;
        if found.nlink == 0 {
            return Ok(Now::Replaced);
        }
        if found.len == self.seen + written {
            let bytes = text.as_str().len() as u64;
            self.texts.insert(text.hash(), Place { at: found.len - bytes - 1, bytes, seconds });
            self.seen = found.len;
            return Ok(Now::Current);
        }
        // Another appended meanwhile; behind a torn record of theirs this one would not be found.
        match self.catch_up()? {
            Now::Current if !self.texts.contains_key(&text.hash()) => Err(Errno::BUSY.into()),
            now @ (Now::Current | Now::Replaced) => Ok(now),
        }
    }
}

/// One record by one write; returns its bytes.
fn write(file: &File, text: &Text, seconds: u64) -> io::Result<u64> {
    let header = format!("sha256-{} {} {seconds}\n", text.hash(), text.as_str().len());
    let parts = [header.as_bytes(), text.as_str().as_bytes(), b"\n"].map(IoSlice::new);
    let whole = parts.iter().map(|part| part.len()).sum::<usize>();
    let written = loop {
        match rustix::io::writev(file, &parts) {
            Err(Errno::INTR) => {}
            other => break other?,
        }
    };
    // A regular file takes less than all only when there is no room for more.
    if written == whole { Ok(whole as u64) } else { Err(Errno::NOSPC.into()) }
}

/// Which pack a text belongs in.
fn digit(hash: ContentHash) -> usize {
    usize::from(hash.as_bytes()[0] >> 4)
}

fn name(digit: usize) -> String {
    format!("small-{digit:x}")
}
