//! Reads the index's entries for the names that matter, from start to end through one small buffer. Whatever the file holds, this
//! takes no more memory than the buffer and no more time than its length. Its checksum is ignored, as git ignores it.

use std::os::unix::ffi::OsStrExt;
use std::{
    collections::BTreeMap,
    fs,
    io::{Read, Seek, SeekFrom},
    path::Path,
};

use gix::{
    ObjectId,
    index::entry::{Flags, Mode},
};

use super::{GitError, look::most, open::Found};
use crate::snapshot::spelling::{on_disk, spelt};

/// The size of the buffer.
const BUFFER: usize = 64 << 10;

/// The longest name that an index can have.
const LONGEST_NAME: usize = 32 << 10;

/// The largest list of entries of a shared index that have changed.
const LARGEST_LINK: u32 = 32 << 20;

/// The most names of one object that are considered.
const MOST_NAMES: usize = 1_000;

/// One version of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub(super) mode: Mode,
    pub(super) id: ObjectId,
    pub(super) flags: Flags,
}

impl Item {
    /// 0 for the staged version, 1 to 3 for the sides of a merge.
    pub(super) fn stage(&self) -> u32 {
        self.flags.stage_raw()
    }
}

/// The entries with the names that were looked for.
#[derive(Default)]
pub(super) struct Index(BTreeMap<Vec<u8>, Vec<Item>>);

impl Index {
    pub(super) fn at_stage(&self, name: &str, stage: u32) -> Option<Item> {
        self.0.get(on_disk(name).as_bytes())?.iter().find(|item| item.stage() == stage).copied()
    }
}

impl Found<'_> {
    /// The entries of the file, of the attribute files on the way to it, and of the folders on that way, which may be single
    /// entries of a sparse index.
    pub(super) fn index(&self) -> Result<Index, GitError> {
        let mut wanted = BTreeMap::from([(on_disk(&self.name).as_bytes().to_vec(), Vec::new())]);
        wanted.insert(b".gitattributes".to_vec(), Vec::new());
        for (at, _) in self.name.match_indices('/') {
            let folder = &self.name[..=at];
            wanted.insert(on_disk(folder).as_bytes().to_vec(), Vec::new());
            wanted.insert(on_disk(&format!("{folder}.gitattributes")).as_bytes().to_vec(), Vec::new());
        }
        self.scan(&mut wanted, &mut |wanted, name, item| {
            if let Some(found) = wanted.get_mut(name)
                && found.len() < 4
            {
                found.push(item);
            }
        })?;
        Ok(Index(wanted))
    }

    /// The names that the index has for an object, up to the limit.
    pub(super) fn staged_names(&self, id: ObjectId) -> Result<Vec<String>, GitError> {
        let mut names = BTreeMap::new();
        self.scan(&mut names, &mut |names, name, item| {
            if item.id == id && names.len() < MOST_NAMES {
                names.insert(name.to_vec(), Vec::new());
            }
        })?;
        Ok(names.into_keys().filter_map(|name| Some(spelt(&name)?.into_owned())).collect())
    }

    /// Every entry, in the order of the file; none if there is no index.
    pub(super) fn scan(&self, found: &mut Items, visit: &mut Visit<'_>) -> Result<(), GitError> {
        let path = self.place.private.join("index");
        let before = found.clone();
        let Some(mut entries) = self.entries(&path)? else { return Ok(()) };
        while let Some((name, item)) = entries.next(self)? {
            visit(found, name, item);
        }
        let Some(link) = entries.link(self)? else { return Ok(()) };
        // Only now it is known that it refers to a shared index.
        *found = before;
        self.scan_split(&path, &link, found, visit)
    }

    /// An index that only has the differences to a shared one.
    fn scan_split(&self, path: &Path, link: &Link, found: &mut Items, visit: &mut Visit<'_>) -> Result<(), GitError> {
        let shared = self.place.private.join(format!("sharedindex.{}", link.base));
        let bad = || self.place.malformed(path);
        let gone = || self.place.broken("the shared index", "there is none of the name that the index says");
        let (Some(mut split), Some(mut base)) = (self.entries(path)?, self.entries(&shared)?) else {
            return Err(gone());
        };
        let bits = link.bitmaps(base.count).ok_or_else(bad)?;
        let mut at = 0;
        // First come the new versions of entries of the shared index, without their names.
        while let Some((name, item)) = base.next(self)? {
            let (deleted, replaced) = (bits[0].has(at), bits[1].has(at));
            at += 1;
            let item = if replaced {
                match split.next(self)? {
                    Some((b"", new)) => new,
                    Some(_) | None => return Err(bad()),
                }
            } else {
                item
            };
            if !deleted {
                visit(found, name, item);
            }
        }
        while let Some((name, item)) = split.next(self)? {
            if name.is_empty() {
                return Err(bad());
            }
            visit(found, name, item);
        }
        Ok(())
    }

    fn entries(&self, path: &Path) -> Result<Option<Entries>, GitError> {
        let Some((file, stat)) = self.place.open(path, most::INDEX)? else { return Ok(None) };
        let hash = self.repo.object_hash().len_in_bytes();
        let entries = Entries::begin(file, stat.len, hash);
        entries.map(Some).ok_or_else(|| self.place.malformed(path))
    }
}

type Items = BTreeMap<Vec<u8>, Vec<Item>>;
type Visit<'a> = dyn FnMut(&mut Items, &[u8], Item) + 'a;

/// The entries of one index file, one after the other.
struct Entries {
    file: fs::File,
    buffer: Vec<u8>,
    /// The part of the buffer that is not used yet.
    unread: std::ops::Range<usize>,
    /// Bytes used so far, and the length of the file.
    used: u64,
    len: u64,
    hash: usize,
    version: u32,
    count: u32,
    left: u32,
    name: Vec<u8>,
}

impl Entries {
    fn begin(file: fs::File, len: u64, hash: usize) -> Option<Self> {
        let (buffer, unread) = (vec![0; BUFFER], 0..0);
        let mut entries =
            Self { file, buffer, unread, used: 0, len, hash, version: 0, count: 0, left: 0, name: Vec::new() };
        let header = entries.take(12)?;
        if !header.starts_with(b"DIRC") {
            return None;
        }
        let (version, count) = (number(&header[4..8])?, number(&header[8..12])?);
        (entries.version, entries.count, entries.left) = (version, count, count);
        (2..=4).contains(&version).then_some(entries)
    }

    fn next(&mut self, found: &Found<'_>) -> Result<Option<(&[u8], Item)>, GitError> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        if self.left.is_multiple_of(16_384) {
            found.go_on()?;
        }
        let item = self.item().ok_or_else(|| found.broken("the index"))?;
        Ok(Some((&self.name, item)))
    }

    /// 40 bytes of which only the mode matters, the id, flags, and the name: padded, or as the difference to the previous one.
    fn item(&mut self) -> Option<Item> {
        let (hash, version) = (self.hash, self.version);
        let fixed = self.take(42 + hash)?;
        let mode = Mode::from_bits_truncate(number(&fixed[24..28])?);
        let id = ObjectId::try_from(&fixed[40..40 + hash]).ok()?;
        let low = u32::from(u16::from_be_bytes([fixed[40 + hash], fixed[41 + hash]]));
        let mut flags = low & !NAME_BITS & !EXTENDED;
        let mut size = 42 + hash;
        if low & EXTENDED != 0 {
            if version < 3 {
                return None;
            }
            let high = self.take(2)?;
            flags |= u32::from(u16::from_be_bytes([high[0], high[1]])) << 16;
            size += 2;
        }
        if version == 4 {
            let drop = self.varint()?;
            let keep = self.name.len().checked_sub(drop)?;
            self.name.truncate(keep);
            self.until_nul()?;
        } else {
            self.name.clear();
            self.until_nul()?;
            // At least one NUL, which is used already, and as many as are needed for a multiple of 8.
            let whole = (size + self.name.len() + 8) & !7;
            self.take(whole - size - self.name.len() - 1)?;
        }
        Some(Item { mode, id, flags: Flags::from_bits_retain(flags) })
    }

    /// The extension after the entries that names the shared index.
    fn link(&mut self, found: &Found<'_>) -> Result<Option<Link>, GitError> {
        self.extensions().ok_or_else(|| found.broken("the index"))
    }

    fn extensions(&mut self) -> Option<Option<Link>> {
        let end = self.len.checked_sub(self.hash as u64)?;
        let mut link = None;
        while self.used < end {
            let head = self.take(8)?;
            let (name, size) = ([head[0], head[1], head[2], head[3]], number(&head[4..8])?);
            if self.used + u64::from(size) > end {
                return None;
            }
            match &name {
                b"link" if size <= LARGEST_LINK => {
                    let bytes = self.long(size)?;
                    link = Link::parse(bytes, self.hash)?;
                }
                b"sdir" => self.skip(size)?,
                // Names of optional extensions begin with a capital letter.
                [b'A'..=b'Z', ..] => self.skip(size)?,
                _ => return None,
            }
        }
        (self.used == end).then_some(link)
    }

    /// The next bytes, at most as many as the buffer has.
    fn take(&mut self, count: usize) -> Option<&[u8]> {
        self.fill(count)?;
        let from = self.unread.start;
        self.unread.start += count;
        self.used += count as u64;
        Some(&self.buffer[from..from + count])
    }

    fn fill(&mut self, count: usize) -> Option<()> {
        if self.unread.len() >= count {
            return Some(());
        }
        self.buffer.copy_within(self.unread.clone(), 0);
        self.unread = 0..self.unread.len();
        while self.unread.len() < count {
            let read = self.file.read(self.buffer.get_mut(self.unread.end..)?).ok().filter(|read| *read > 0)?;
            self.unread.end += read;
        }
        Some(())
    }

    /// Appends the bytes before the next NUL to the name.
    fn until_nul(&mut self) -> Option<()> {
        loop {
            self.fill(1)?;
            let rest = &self.buffer[self.unread.clone()];
            let (part, used) = match memchr::memchr(0, rest) {
                Some(end) => (&rest[..end], end + 1),
                None => (rest, rest.len()),
            };
            self.name.extend_from_slice(part);
            let is_end = part.len() < used;
            self.unread.start += used;
            self.used += used as u64;
            if self.name.len() > LONGEST_NAME {
                return None;
            }
            if is_end {
                return Some(());
            }
        }
    }

    fn varint(&mut self) -> Option<usize> {
        let mut byte = self.take(1)?[0];
        let mut value = usize::from(byte & 127);
        while byte & 128 != 0 {
            byte = self.take(1)?[0];
            value = value.checked_add(1).filter(|value| *value < LONGEST_NAME)? << 7 | usize::from(byte & 127);
        }
        Some(value)
    }

    fn long(&mut self, size: u32) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut left = usize::try_from(size).ok()?;
        while left > 0 {
            let part = self.take(left.min(BUFFER))?;
            left -= part.len();
            bytes.extend_from_slice(part);
        }
        Some(bytes)
    }

    fn skip(&mut self, size: u32) -> Option<()> {
        let size = u64::from(size);
        let held = self.unread.len() as u64;
        if size <= held {
            self.unread.start += usize::try_from(size).ok()?;
        } else {
            self.unread = 0..0;
            self.file.seek(SeekFrom::Current(i64::try_from(size - held).ok()?)).ok()?;
        }
        self.used += size;
        Some(())
    }
}

const NAME_BITS: u32 = 0xfff;
const EXTENDED: u32 = 0x4000;

fn number(bytes: &[u8]) -> Option<u32> {
    bytes.try_into().ok().map(u32::from_be_bytes)
}

/// The shared index that an index refers to, and which of its entries are deleted or replaced.
struct Link {
    base: ObjectId,
    bits: Vec<u8>,
}

impl Link {
    /// `None` inside if it refers to none.
    fn parse(mut bytes: Vec<u8>, hash: usize) -> Option<Option<Self>> {
        let base = ObjectId::try_from(bytes.get(..hash)?).ok()?;
        bytes.drain(..hash);
        Some((!base.is_null()).then_some(Self { base, bits: bytes }))
    }

    /// Which of these entries are deleted, and which are replaced.
    fn bitmaps(&self, count: u32) -> Option<[Bits; 2]> {
        if self.bits.is_empty() {
            return Some([Bits::default(), Bits::default()]);
        }
        let (deleted, rest) = Bits::decode(&self.bits, count)?;
        let (replaced, rest) = Bits::decode(rest, count)?;
        rest.is_empty().then_some([deleted, replaced])
    }
}

/// One bit for each entry.
#[derive(Default)]
struct Bits(Vec<u64>);

impl Bits {
    fn has(&self, at: usize) -> bool {
        self.0.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
    }

    /// Git's compressed form: a word says how many words repeat one bit and how many literal words follow.
    fn decode(bytes: &[u8], count: u32) -> Option<(Self, &[u8])> {
        let words = usize::try_from(number(bytes.get(4..8)?)?).ok()?;
        let end = words.checked_mul(8)?.checked_add(8)?;
        let (packed, rest) = (bytes.get(8..end)?, bytes.get(end.checked_add(4)?..)?);
        let most = usize::try_from(count).ok()?.div_ceil(64);
        let mut packed = packed.as_chunks::<8>().0.iter().map(|word| u64::from_be_bytes(*word));
        let mut out: Vec<u64> = Vec::new();
        while let Some(marker) = packed.next() {
            let (same, run) = (marker & 1, usize::try_from(marker >> 1 & 0xffff_ffff).ok()?);
            let literals = usize::try_from(marker >> 33).ok()?;
            let len = out.len().checked_add(run).filter(|len| *len <= most)?;
            out.resize(len, if same == 1 { u64::MAX } else { 0 });
            for _ in 0..literals {
                let word = packed.next()?;
                if out.len() < most {
                    out.push(word);
                } else if word != 0 {
                    return None;
                }
            }
        }
        Some((Self(out), rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(bits: u32, words: &[u64]) -> Vec<u8> {
        let mut bytes = [bits.to_be_bytes(), u32::try_from(words.len()).unwrap().to_be_bytes()].concat();
        words.iter().for_each(|word| bytes.extend(word.to_be_bytes()));
        bytes.extend([0; 4]);
        bytes
    }

    #[test]
    fn bits_are_those_that_were_packed() {
        let bytes = packed(130, &[1 << 1 | 1, 1 << 33, 0b101]);
        let (bits, rest) = Bits::decode(&bytes, 130).unwrap();
        let set: Vec<usize> = (0..200).filter(|at| bits.has(*at)).collect();
        assert_eq!((set.len(), set[63], set[64], rest.len()), (66, 63, 64, 0));
        assert!(bits.has(66) && !bits.has(65));
    }

    #[test]
    fn bits_take_no_more_room_than_there_are_entries() {
        let long_run = packed(10, &[0xffff_ffff << 1 | 1]);
        assert!(Bits::decode(&long_run, 10).is_none());
        assert!(Bits::decode(&packed(10, &[1 << 33]), 10).is_none(), "a word is missing");
        assert!(Bits::decode(&packed(10, &[])[..6], 10).is_none());
        assert!(Bits::decode(&[0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff, 0, 0], 10).is_none());
    }
}
