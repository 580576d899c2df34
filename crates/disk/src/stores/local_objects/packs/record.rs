//! The records of a pack: how one is written, found and read. Reads in blocks, as most records are small. Keeps no state, and
//! never trusts a header.

use std::{
    fs::File,
    io::{self, IoSlice},
};

use memchr::memmem;
use readproof_core::text::{ContentHash, Text};
use rustix::io::Errno;

use super::super::super::Loaded;
use crate::snapshot::bytes::read_at;

/// Texts up to this many bytes are small.
pub(in super::super) const SMALL: usize = 1 << 20;

/// The longest header: `sha256-`, the hash, a space, seven digits, a space, twenty digits and a line end.
const HEADER_BYTES: usize = 7 + 64 + 1 + 7 + 1 + 20 + 1;

/// How every record begins.
const FIRST: &[u8] = b"sha256-";

/// How much is read at once to find records.
const BLOCK: u64 = 64 << 10;

/// Where the text of a record is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) at: u64,
    pub(super) bytes: u64,
    pub(super) seconds: u64,
}

impl Place {
    /// The end of its record.
    pub(super) fn end(self) -> u64 {
        self.at + self.bytes + 1
    }
}

/// The records of a pack up to `end`.
pub(super) struct Records<'f> {
    file: &'f File,
    end: u64,
    /// The block that was read last, and its position.
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
        let bytes = &bytes[..bytes.len().min(HEADER_BYTES)];
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
        // If the text is torn, there is no line end where it should be.
        let is_whole = self.bytes(place.at + place.bytes, 1)?.first() == Some(&b'\n');
        Ok(is_whole.then_some((hash, place)))
    }

    /// Every good text from `at` on, with its seconds; returns the end of the last one. Skips anything else between them.
    pub(super) fn each_good(
        &mut self,
        mut at: u64,
        mut take: impl FnMut(Text, u64) -> io::Result<()>,
    ) -> io::Result<u64> {
        let mut done = at;
        while at < self.end {
            let found = self.at(at)?;
            let text = found.map(|(hash, place)| read(self.file, hash, place)).transpose()?;
            if let (Some((_, place)), Some(Loaded::Text(text))) = (found, text) {
                take(text, place.seconds)?;
                (at, done) = (place.end(), place.end());
            } else {
                at = self.next(at)?;
            }
        }
        Ok(done)
    }

    /// Where the next record after `at` may begin. It does no harm if a text contains something that looks like one.
    fn next(&mut self, mut at: u64) -> io::Result<u64> {
        let end = self.end;
        at += 1;
        loop {
            let bytes = self.bytes(at, FIRST.len())?;
            if let Some(found) = memmem::find(bytes, FIRST) {
                return Ok(at + found as u64);
            }
            if bytes.len() < FIRST.len() {
                return Ok(end);
            }
            // A part of it may be at the end of the block.
            at += (bytes.len() - (FIRST.len() - 1)) as u64;
        }
    }

    /// The bytes from `at` on: at least `least`, unless the file ends.
    fn bytes(&mut self, at: u64, least: usize) -> io::Result<&[u8]> {
        let left = usize::try_from(self.end.saturating_sub(at)).unwrap_or(usize::MAX);
        let read = at.checked_sub(self.at).and_then(|from| self.block.get(usize::try_from(from).ok()?..));
        if read.is_none_or(|bytes| bytes.len() < least.min(left)) {
            self.block = read_at(self.file, at, BLOCK.min(left as u64))?;
            self.at = at;
        }
        let rest = usize::try_from(at - self.at).ok().and_then(|from| self.block.get(from..)).unwrap_or_default();
        Ok(&rest[..rest.len().min(left)])
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

/// Whether this text is at a place.
pub(super) fn holds(file: &File, place: Place, text: &Text) -> bool {
    let text = text.as_str().as_bytes();
    let is = |bytes: Vec<u8>| bytes.get(..text.len()) == Some(text);
    place.bytes == text.len() as u64 && read_at(file, place.at, place.bytes).is_ok_and(is)
}

/// Appends one record with one write; returns its length.
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
    // A regular file accepts less than everything only when there is no space for more.
    if written == whole { Ok(whole as u64) } else { Err(Errno::NOSPC.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// The good texts after these bytes of something else, and where they end.
    fn after(other: &[u8], texts: &[Text]) -> (Vec<Text>, u64, u64) {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(other).unwrap();
        for text in texts {
            write(&file, text, 5).unwrap();
        }
        let (end, mut good) = (file.metadata().unwrap().len(), Vec::new());
        let take = |text, seconds| {
            assert_eq!(seconds, 5);
            good.push(text);
            Ok(())
        };
        let done = Records::new(&file, end).each_good(0, take).unwrap();
        (good, done, end)
    }

    #[test]
    fn records_are_found_wherever_a_block_ends() {
        let texts = ["one".to_owned(), "sha256-\n".repeat(20_000), String::new()].map(Text::new);
        let block = usize::try_from(BLOCK).unwrap();
        for bytes in (0..10).chain(block - 300..block + 10) {
            for other in ["\n", "s", "sha256-"] {
                let other: Vec<u8> = other.bytes().cycle().take(bytes).collect();
                let (good, done, end) = after(&other, &texts);
                assert_eq!((good.as_slice(), done), (texts.as_slice(), end), "after {bytes}");
            }
        }
    }
}
