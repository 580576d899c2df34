//! A cold pack as bytes: `rp-cold1`, zstd frames, an index, a trailer. The pack is named by the hash of its index. Everything the
//! index and the trailer declare is checked against the file and against the limits here before anything is reserved or inflated.
//!
//! index: for each frame its packed and raw length (`u32` each), then for each text its hash, frame, offset and length (`u32` each)
//! and the seconds since 1970 when it was stored (`u64`). trailer: position of the index (`u64`), number of frames and of texts
//! (`u32` each), `1dloc-pr`. All numbers are little-endian.

use std::{
    collections::HashMap,
    fs::File,
    io::{self, Write},
};

use readproof_core::text::{ContentHash, Text};
use rustix::io::Errno;
use zstd::bulk::{Compressor, Decompressor};

use super::super::super::Loaded;
use crate::snapshot::{MOST_BYTES, bytes::read_at};

/// How many bytes of texts share a frame. A load inflates one frame. A longer text has a frame of its own.
pub(super) const FRAME: usize = 4 << 20;

/// The window is a whole frame, so that every version in it can refer to the one before.
const WINDOW_LOG: u32 = 22;

const LEVEL: i32 = 3;

/// A pack with so many texts, or so many bytes, is full.
const MOST_TEXTS: usize = 1 << 16;
const MOST_PACKED: u64 = 64 << 20;

const BEGIN: &[u8; 8] = b"rp-cold1";
const END: &[u8; 8] = b"1dloc-pr";
const TRAILER: u64 = 24;
const FRAME_ENTRY: usize = 8;
const TEXT_ENTRY: usize = 52;

/// Where a frame is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    at: u64,
    packed: u32,
    raw: u32,
}

/// Where a text is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) frame: u32,
    at: u32,
    pub(super) bytes: u32,
    pub(super) seconds: u64,
}

/// What a pack holds.
#[derive(Debug, Default)]
pub(super) struct Index {
    pub(super) frames: Vec<Frame>,
    pub(super) texts: HashMap<ContentHash, Place>,
}

impl Index {
    /// Reads the index of a pack of `len` bytes; `None` if it is not the one that the pack is named by.
    pub(super) fn read(file: &File, len: u64, name: ContentHash) -> io::Result<Option<Self>> {
        let Some(trailer_at) = len.checked_sub(TRAILER).filter(|at| *at >= BEGIN.len() as u64) else { return Ok(None) };
        let trailer = read_at(file, trailer_at, TRAILER)?;
        let mut numbers = Numbers(&trailer);
        let (Some(at), Some(frames), Some(texts)) = (numbers.u64(), numbers.u32(), numbers.u32()) else {
            return Ok(None);
        };
        let bytes = u64::from(frames) * FRAME_ENTRY as u64 + u64::from(texts) * TEXT_ENTRY as u64;
        let fits = texts as usize <= MOST_TEXTS && frames <= texts && at.checked_add(bytes) == Some(trailer_at);
        if !fits || numbers.0 != END || read_at(file, 0, BEGIN.len() as u64)?.get(..BEGIN.len()) != Some(BEGIN) {
            return Ok(None);
        }
        let mut index = read_at(file, at, bytes)?;
        index.truncate(usize::try_from(bytes).unwrap_or(usize::MAX));
        if ContentHash::of(&index) != name {
            return Ok(None);
        }
        Ok(Self::parse(Numbers(&index), (frames, texts), at))
    }

    fn parse(mut numbers: Numbers<'_>, (frames, texts): (u32, u32), end: u64) -> Option<Self> {
        let mut index = Self::default();
        let mut at = BEGIN.len() as u64;
        for _ in 0..frames {
            let (packed, raw) = (numbers.u32()?, numbers.u32()?);
            index.frames.push(Frame { at, packed, raw });
            at = at.checked_add(packed.into())?;
        }
        if at != end {
            return None;
        }
        for _ in 0..texts {
            let hash = ContentHash::from_digest(numbers.take::<32>()?);
            let place =
                Place { frame: numbers.u32()?, at: numbers.u32()?, bytes: numbers.u32()?, seconds: numbers.u64()? };
            let raw = index.frames.get(place.frame as usize)?.raw;
            // Only a text that declares its own length may make a load reserve more than a frame.
            let is_alone = place.at == 0 && place.bytes == raw && u64::from(raw) <= MOST_BYTES;
            if place.at.checked_add(place.bytes)? > raw || (raw as usize > FRAME && !is_alone) {
                return None;
            }
            index.texts.insert(hash, place);
        }
        Some(index)
    }

    /// The texts of each frame, in their order.
    pub(super) fn by_frame(&self) -> Vec<Vec<(ContentHash, Place)>> {
        let mut all = vec![Vec::new(); self.frames.len()];
        for (hash, place) in &self.texts {
            if let Some(frame) = all.get_mut(place.frame as usize) {
                frame.push((*hash, *place));
            }
        }
        for frame in &mut all {
            frame.sort_unstable_by_key(|(hash, place)| (place.at, *hash));
        }
        all
    }
}

impl Frame {
    /// Its texts, one after the other; `None` if it is not what the index declares. Never inflates beyond that.
    pub(super) fn inflate(self, file: &File) -> io::Result<Option<Vec<u8>>> {
        let packed = self.packed(file)?;
        let (mut bytes, len) = (Vec::new(), self.raw as usize);
        bytes.try_reserve_exact(len)?;
        let inflated = Decompressor::new()?.decompress_to_buffer(&packed, &mut bytes);
        Ok((inflated.is_ok() && bytes.len() == len).then_some(bytes))
    }

    pub(super) fn is_shared(self) -> bool {
        self.raw as usize <= FRAME
    }

    fn packed(self, file: &File) -> io::Result<Vec<u8>> {
        let mut packed = read_at(file, self.at, self.packed.into())?;
        packed.truncate(self.packed as usize);
        Ok(packed)
    }
}

impl Place {
    /// The text here, verified.
    pub(super) fn text(self, frame: &[u8], hash: ContentHash) -> Loaded {
        let from = self.at as usize;
        let Some(bytes) = frame.get(from..from + self.bytes as usize) else { return Loaded::Damaged };
        match Text::from_bytes(bytes.to_vec()) {
            Ok(text) if text.hash() == hash => Loaded::Text(text),
            Ok(_) | Err(_) => Loaded::Damaged,
        }
    }
}

/// Little-endian numbers, one after the other.
struct Numbers<'b>(&'b [u8]);

impl Numbers<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*first)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }
}

/// Writes a pack into a file, frame by frame.
pub(super) struct Writer<'f> {
    file: &'f File,
    compressor: Compressor<'static>,
    at: u64,
    frames: Vec<Frame>,
    texts: Vec<(ContentHash, Place)>,
    /// The texts of the frame that is being filled.
    raw: Vec<u8>,
}

impl<'f> Writer<'f> {
    pub(super) fn new(mut file: &'f File) -> io::Result<Self> {
        let mut compressor = Compressor::new(LEVEL)?;
        compressor.window_log(WINDOW_LOG)?;
        // Finds the version before however long a text is.
        compressor.long_distance_matching(true)?;
        file.write_all(BEGIN)?;
        let at = BEGIN.len() as u64;
        Ok(Self { file, compressor, at, frames: Vec::new(), texts: Vec::new(), raw: Vec::new() })
    }

    pub(super) fn is_full(&self) -> bool {
        self.texts.len() >= MOST_TEXTS || self.at >= MOST_PACKED
    }

    pub(super) fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    pub(super) fn add(&mut self, text: &Text, seconds: u64) -> io::Result<()> {
        let bytes = text.as_str().as_bytes();
        if !self.raw.is_empty() && self.raw.len() + bytes.len() > FRAME {
            self.end_frame()?;
        }
        let length = |len: usize| u32::try_from(len).map_err(|_| io::Error::from(Errno::FBIG));
        let (at, bytes_len) = (length(self.raw.len())?, length(bytes.len())?);
        let place = Place { frame: length(self.frames.len())?, at, bytes: bytes_len, seconds };
        self.raw.extend_from_slice(bytes);
        self.texts.push((text.hash(), place));
        Ok(())
    }

    /// Takes a frame of another pack as it is.
    pub(super) fn copy(&mut self, from: &File, frame: Frame, texts: &[(ContentHash, Place)]) -> io::Result<()> {
        self.end_frame()?;
        let packed = frame.packed(from)?;
        let number = u32::try_from(self.frames.len()).map_err(|_| io::Error::from(Errno::FBIG))?;
        self.texts.extend(texts.iter().map(|(hash, place)| (*hash, Place { frame: number, ..*place })));
        self.append(&packed, frame.raw)
    }

    fn end_frame(&mut self) -> io::Result<()> {
        if self.raw.is_empty() && self.texts.last().is_none_or(|(_, last)| (last.frame as usize) < self.frames.len()) {
            return Ok(());
        }
        let raw = std::mem::take(&mut self.raw);
        let packed = self.compressor.compress(&raw)?;
        self.append(&packed, u32::try_from(raw.len()).map_err(|_| io::Error::from(Errno::FBIG))?)
    }

    fn append(&mut self, packed: &[u8], raw: u32) -> io::Result<()> {
        let length = u32::try_from(packed.len()).map_err(|_| io::Error::from(Errno::FBIG))?;
        self.file.write_all(packed)?;
        self.frames.push(Frame { at: self.at, packed: length, raw });
        self.at += u64::from(length);
        Ok(())
    }

    /// Writes what is left and the index. Returns the name of the pack. Nothing is synced.
    pub(super) fn finish(mut self) -> io::Result<ContentHash> {
        self.end_frame()?;
        let mut index = Vec::with_capacity(self.frames.len() * FRAME_ENTRY + self.texts.len() * TEXT_ENTRY);
        for frame in &self.frames {
            index.extend(frame.packed.to_le_bytes());
            index.extend(frame.raw.to_le_bytes());
        }
        for (hash, place) in &self.texts {
            index.extend(hash.as_bytes());
            index.extend([place.frame, place.at, place.bytes].map(u32::to_le_bytes).as_flattened());
            index.extend(place.seconds.to_le_bytes());
        }
        let name = ContentHash::of(&index);
        let count = |len: usize| u32::try_from(len).map_err(|_| io::Error::from(Errno::FBIG));
        let (frames, texts) = (count(self.frames.len())?, count(self.texts.len())?);
        index.extend(self.at.to_le_bytes());
        index.extend([frames, texts].map(u32::to_le_bytes).as_flattened());
        index.extend(END);
        self.file.write_all(&index)?;
        Ok(name)
    }
}
