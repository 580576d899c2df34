//! What a pack consists of: how a record is written, found and read. Reads by blocks, as most records are small. Remembers
//! nothing, and never believes what a header says of its text.

use std::{
    fs::File,
    io::{self, IoSlice},
};

use readproof_core::text::{ContentHash, Text};
use rustix::io::Errno;

use super::super::objects::Loaded;
use crate::bytes::read_at;

/// Texts up to this many bytes are small.
pub(in crate::store) const SMALL: usize = 1 << 20;

/// `sha256-`, the hash, a space, seven digits, a space, twenty digits and a line end are the most a header can have.
const HEADER_BYTES: usize = 7 + 64 + 1 + 7 + 1 + 20 + 1;

/// How much is read at once to look for records.
const BLOCK: u64 = 64 << 10;

/// Where the text of a record stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) at: u64,
    pub(super) bytes: u64,
    pub(super) seconds: u64,
}

impl Place {
    /// Behind its record.
    pub(super) fn end(self) -> u64 {
        self.at + self.bytes + 1
    }
}

/// The records of a pack up to some place.
pub(super) struct Records<'f> {
    file: &'f File,
    end: u64,
    /// What was read last, and where it stands.
    block: Vec<u8>,
    at: u64,
}

impl<'f> Records<'f> {
    pub(super) fn new(file: &'f File, end: u64) -> Self {
        Self { file, end, block: Vec::new(), at: 0 }
    }

    /// The record that begins at `at`, if it is whole.
    pub(super) fn at(&mut self, at: u64) -> io::Result<Option<(ContentHash, Place)>> {
        let end = self.end;
        let bytes = self.bytes(at, HEADER_BYTES)?;
        let parsed = || {
            let line = bytes.split(|byte| *byte == b'\n').next().filter(|line| line.len() < bytes.len())?;
            let mut words = str::from_utf8(line).ok()?.strip_prefix("sha256-")?.split(' ');
            let hash = ContentHash::parse(words.next()?)?;
            let (bytes, seconds) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
            let place = Place { at: at + line.len() as u64 + 1, bytes, seconds };
            let fits = words.next().is_none() && bytes <= SMALL as u64 && place.end() <= end;
            fits.then_some((hash, place))
        };
        let Some((hash, place)) = parsed() else { return Ok(None) };
        // Behind a header whose text is torn stands something else, or its line end is not where it should be.
        let is_whole = self.bytes(place.at + place.bytes, 1)? == b"\n";
        Ok(is_whole.then_some((hash, place)))
    }

    /// As many bytes from `at` on as there are.
    fn bytes(&mut self, at: u64, most: usize) -> io::Result<&[u8]> {
        let left = self.end.saturating_sub(at);
        let most = usize::try_from(left).map_or(most, |left| left.min(most));
        let from = at.checked_sub(self.at).and_then(|from| usize::try_from(from).ok());
        let read = from.filter(|from| self.block.len().saturating_sub(*from) >= most);
        if read.is_none() {
            self.block = read_at(self.file, at, left.min(BLOCK))?;
            self.at = at;
        }
        let rest = self.block.get(read.unwrap_or(0)..).unwrap_or_default();
        Ok(&rest[..rest.len().min(most)])
    }
}

/// The text of a record, verified.
pub(super) fn read(file: &File, hash: ContentHash, place: Place) -> io::Result<Loaded> {
    let mut bytes = read_at(file, place.at, place.bytes)?;
    bytes.truncate(usize::try_from(place.bytes).unwrap_or(usize::MAX));
    Ok(match Text::from_bytes(bytes) {
        Ok(text) if text.hash() == hash => Loaded::Text(text),
        Ok(_) | Err(_) => Loaded::Damaged,
    })
}

/// Whether this text stands at a place.
pub(super) fn holds(file: &File, place: Place, text: &Text) -> bool {
    let text = text.as_str().as_bytes();
    let is = |bytes: Vec<u8>| bytes.get(..text.len()) == Some(text);
    place.bytes == text.len() as u64 && read_at(file, place.at, place.bytes).is_ok_and(is)
}

/// One record by one write; returns its bytes.
pub(super) fn write(file: &File, text: &Text, seconds: u64) -> io::Result<u64> {
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
