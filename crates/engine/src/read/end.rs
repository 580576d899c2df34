//! The first or the last lines of a file of any size. Memory is bounded by the answer and one block. The lines never
//! count as held. Only the lines that are shown must be valid text.

use readproof_core::{
    operation::{End, ReadEnd},
    text::{NotText, Text},
};
use readproof_disk::{SessionName, SnapshotError, Stream};
use std::io;

use super::Glimpse;
use crate::{Engine, Error, Notice};

/// Some lines of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndOfFile {
    /// The file, relative to the workspace root.
    pub path: String,
    /// Which end it is.
    pub end: End,
    /// The lines, exact to the byte.
    pub text: String,
    /// The number of the first line; unknown for the last lines of a file that was not read whole.
    pub first: Option<u64>,
    /// How many lines; a partial one counts.
    pub count: u64,
    /// Lines in the file, if all of it was read.
    pub total: Option<u64>,
    /// Whether the file has more than this.
    pub truncated: bool,
    /// Whether less than asked for is given, because of the size limit of an answer.
    pub cut: bool,
    /// Whether not even one line fits, so that this is only its first or last part.
    pub partial: bool,
    /// Bytes in the file.
    pub bytes: u64,
    /// Whatever else there is to say.
    pub notices: Vec<Notice>,
}

/// How much is read at a time.
const BLOCK: usize = 1 << 16;

impl Engine {
    /// The first or last lines of a file, as many as fit into one answer.
    pub(crate) fn read_end(&self, log: Option<&SessionName>, asked: &ReadEnd) -> Result<EndOfFile, Error> {
        let call = self.asked_in(log);
        let mut end = self.end_of(asked)?;
        let shown = match end.first.filter(|_| !end.partial) {
            Some(first) => Glimpse::text(&end.path, first, &end.text),
            None => Glimpse::somewhere(&end.path),
        };
        end.notices = self.saw(log, call, [shown].into_iter());
        Ok(end)
    }

    fn end_of(&self, asked: &ReadEnd) -> Result<EndOfFile, Error> {
        let ReadEnd { path, end, lines, chars } = asked;
        let (end, lines, chars) = (*end, *lines, *chars);
        // With an offset given, `:10-20` is not taken for a range but for part of the name.
        let mut target = self.resolve_target(path, Some(1), None)?;
        let name = target.file.key().to_string();
        if let Some(text) = self.ground_text(&mut target) {
            return end_in(&name, &text, asked);
        }
        let stream = self.root.stream(&target.file, target.opened, self.hard_links())?;
        let most = Room { lines, chars: chars as usize };
        let bytes = stream.stat().len;
        let read = |at, len| Stream::at(&stream, at, len);
        let found = match end {
            End::Head => head(read, most),
            End::Tail => tail(read, bytes, most),
        };
        end_of_file(name, (end, bytes), found)
    }
}

/// The first or last lines of a text.
pub(crate) fn end_in(name: &str, text: &Text, asked: &ReadEnd) -> Result<EndOfFile, Error> {
    let all = text.as_str().as_bytes();
    let read = |at: u64, len: usize| {
        let at = usize::try_from(at).unwrap_or(usize::MAX).min(all.len());
        Ok(all[at..all.len().min(at.saturating_add(len))].to_vec())
    };
    let (bytes, most) = (all.len() as u64, Room { lines: asked.lines, chars: asked.chars as usize });
    let found = match asked.end {
        End::Head => head(read, most),
        End::Tail => tail(read, bytes, most),
    };
    end_of_file(name.to_owned(), (asked.end, bytes), found)
}

fn end_of_file(name: String, (end, bytes): (End, u64), found: Result<EndLines, EndError>) -> Result<EndOfFile, Error> {
    let found = found.map_err(|error| match error {
        EndError::Io(source) => SnapshotError::Io { name: name.clone(), source },
        EndError::Shrank => SnapshotError::Changing { name: name.clone() },
    })?;
    let EndLines { first, total, truncated, cut, partial, .. } = found;
    let count = lines_of(&found.bytes).count() as u64;
    let text = found.text().map_err(|why| SnapshotError::NotText { name: name.clone(), why })?;
    let notices = Vec::new();
    Ok(EndOfFile { path: name, end, text, first, count, total, truncated, cut, partial, bytes, notices })
}

/// The limits of one answer.
#[derive(Clone, Copy)]
struct Room {
    lines: u64,
    chars: usize,
}

impl Room {
    /// So many bytes hold more characters than an answer may have, whatever their encoding.
    fn bytes(self) -> usize {
        self.chars.saturating_mul(4).saturating_add(4)
    }
}

/// Why no lines can be given.
#[derive(Debug)]
enum EndError {
    Io(io::Error),
    /// The file ended before the length it had.
    Shrank,
}

impl From<io::Error> for EndError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// The bytes of some lines, not yet known to be text.
#[derive(Debug)]
struct EndLines {
    bytes: Vec<u8>,
    /// Their position in the file.
    at: u64,
    first: Option<u64>,
    total: Option<u64>,
    truncated: bool,
    cut: bool,
    partial: bool,
}

impl EndLines {
    /// As strict as a snapshot. The position of invalid bytes is counted from the start of the file.
    fn text(self) -> Result<String, NotText> {
        let place = |at: usize| usize::try_from(self.at).unwrap_or(usize::MAX).saturating_add(at);
        if let Some(at) = self.bytes.iter().position(|byte| *byte == 0) {
            return Err(NotText::Nul(place(at)));
        }
        String::from_utf8(self.bytes).map_err(|error| NotText::Encoding(place(error.utf8_error().valid_up_to())))
    }
}

/// Lines with their terminators.
fn lines_of(bytes: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n')
}

/// Counts characters. Invalid text is refused later, so its count does not matter.
fn chars_of(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| starts_char(**byte)).count()
}

fn starts_char(byte: u8) -> bool {
    byte & 0b1100_0000 != 0b1000_0000
}

/// Reads from the start until there are enough lines, more than fits into an answer, or the file ends.
fn head(read: impl Fn(u64, usize) -> io::Result<Vec<u8>>, most: Room) -> Result<EndLines, EndError> {
    let (mut bytes, mut newlines, mut whole) = (Vec::new(), 0, false);
    while !whole && newlines < most.lines && bytes.len() < most.bytes() {
        let block = read(bytes.len() as u64, BLOCK)?;
        whole = block.is_empty();
        newlines += block.iter().filter(|byte| **byte == b'\n').count() as u64;
        bytes.extend(block);
    }
    let (mut given, mut count, mut chars, mut cut) = (0, 0, 0, false);
    for line in lines_of(&bytes) {
        if count == most.lines {
            break;
        }
        chars += chars_of(line);
        // A line that was not read to its end is also longer than an answer.
        cut = chars > most.chars || !(line.ends_with(b"\n") || whole);
        if cut {
            break;
        }
        (given, count) = (given + line.len(), count + 1);
    }
    let partial = cut && count == 0;
    if partial {
        let starts = bytes.iter().enumerate().filter(|(_, byte)| starts_char(**byte));
        given = starts.map(|(at, _)| at).nth(most.chars).unwrap_or(bytes.len());
    }
    // Reads again only if the last block ended exactly with the last line.
    let truncated = given < bytes.len() || (!whole && !read(given as u64, 1)?.is_empty());
    let total = (whole || !truncated).then(|| lines_of(&bytes).count() as u64);
    bytes.truncate(given);
    Ok(EndLines { first: (given > 0).then_some(1), bytes, at: 0, total, truncated, cut, partial })
}

/// Reads backwards from the end that the file had when it was opened, until there are enough lines, more than fits into
/// an answer, or the start is reached.
fn tail(read: impl Fn(u64, usize) -> io::Result<Vec<u8>>, len: u64, most: Room) -> Result<EndLines, EndError> {
    let (mut blocks, mut size, mut newlines, mut start) = (Vec::new(), 0, 0, len);
    while start > 0 && newlines <= most.lines && size < most.bytes() && most.lines > 0 {
        let from = start.saturating_sub(BLOCK as u64);
        let want = usize::try_from(start - from).unwrap_or(BLOCK);
        let block = read(from, want)?;
        if block.len() < want {
            return Err(EndError::Shrank);
        }
        newlines += block.iter().filter(|byte| **byte == b'\n').count() as u64;
        (size, start) = (size + block.len(), from);
        blocks.push(block);
    }
    blocks.reverse();
    let mut bytes = blocks.concat();
    let whole = start == 0;
    let (mut given, mut count, mut chars, mut cut) = (bytes.len(), 0, 0, false);
    for line in lines_of(&bytes).rev() {
        if count == most.lines {
            break;
        }
        chars += chars_of(line);
        cut = chars > most.chars || (given == line.len() && !whole);
        if cut {
            break;
        }
        (given, count) = (given - line.len(), count + 1);
    }
    let partial = cut && count == 0;
    if partial {
        let starts = bytes.iter().enumerate().rev().filter(|(_, byte)| starts_char(**byte));
        given = starts.map(|(at, _)| at).nth(most.chars.saturating_sub(1)).unwrap_or(0);
    }
    let total = whole.then(|| lines_of(&bytes).count() as u64);
    let bytes = bytes.split_off(given);
    let at = start + given as u64;
    let first = total.filter(|_| !bytes.is_empty()).map(|total| total - lines_of(&bytes).count() as u64 + 1);
    Ok(EndLines { truncated: at > 0, bytes, at, first, total, cut, partial })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &[u8]) -> impl Fn(u64, usize) -> io::Result<Vec<u8>> {
        |at, len| {
            let at = usize::try_from(at).unwrap().min(text.len());
            Ok(text[at..text.len().min(at + len)].to_vec())
        }
    }

    fn show(found: &EndLines) -> String {
        let flag = |name, on| if on { name } else { "" };
        let (first, total) = (found.first.unwrap_or(0), found.total.map_or("?".to_owned(), |total| total.to_string()));
        let flags = [flag(" truncated", found.truncated), flag(" cut", found.cut), flag(" partial", found.partial)];
        format!("{:?} from {first} of {total}{}", String::from_utf8_lossy(&found.bytes), flags.concat())
    }

    #[track_caller]
    fn check(end: End, text: &str, lines: u64, chars: usize, expected: &str) {
        let most = Room { lines, chars };
        let found = match end {
            End::Head => head(at(text.as_bytes()), most),
            End::Tail => tail(at(text.as_bytes()), text.len() as u64, most),
        };
        assert_eq!(show(&found.unwrap()), expected);
    }

    #[test]
    fn the_first_lines() {
        use End::Head;
        check(Head, "", 3, 99, r#""" from 0 of 0"#);
        check(Head, "a\nb", 3, 99, r#""a\nb" from 1 of 2"#);
        check(Head, "a\nb\n", 2, 99, r#""a\nb\n" from 1 of 2"#);
        check(Head, "a\nb\n", 1, 99, r#""a\n" from 1 of ? truncated"#);
        check(Head, "a\r\n\n\n", 2, 99, r#""a\r\n\n" from 1 of ? truncated"#);
        check(Head, "a\n", 0, 99, r#""" from 0 of ? truncated"#);
        check(Head, "", 0, 99, r#""" from 0 of 0"#);
        // The answer is full.
        check(Head, "ab\ncd\nef\n", 3, 7, r#""ab\ncd\n" from 1 of ? truncated cut"#);
        check(Head, "ab\ncd", 3, 4, r#""ab\n" from 1 of 2 truncated cut"#);
        check(Head, "äöü\n", 3, 4, r#""äöü\n" from 1 of 1"#);
        check(Head, "äöü\n", 1, 2, r#""äö" from 1 of ? truncated cut partial"#);
        check(Head, &"x".repeat(9 * BLOCK), 1, 2, r#""xx" from 1 of ? truncated cut partial"#);
    }

    #[test]
    fn the_last_lines() {
        use End::Tail;
        check(Tail, "", 3, 99, r#""" from 0 of 0"#);
        check(Tail, "a\nb", 3, 99, r#""a\nb" from 1 of 2"#);
        check(Tail, "a\nb\n", 2, 99, r#""a\nb\n" from 1 of 2"#);
        check(Tail, "a\nb\n", 1, 99, r#""b\n" from 2 of 2 truncated"#);
        check(Tail, "a\nb", 1, 99, r#""b" from 2 of 2 truncated"#);
        check(Tail, "\n\n\r\n", 2, 99, r#""\n\r\n" from 2 of 3 truncated"#);
        check(Tail, "a\n", 0, 99, r#""" from 0 of ? truncated"#);
        check(Tail, "ab\ncd\nef\n", 3, 7, r#""cd\nef\n" from 2 of 3 truncated cut"#);
        check(Tail, "äöü", 3, 3, r#""äöü" from 1 of 1"#);
        check(Tail, "x\näöü", 1, 2, r#""öü" from 2 of 2 truncated cut partial"#);
        check(Tail, &"x".repeat(9 * BLOCK), 1, 2, r#""xx" from 0 of ? truncated cut partial"#);
        let long = "line\n".repeat(BLOCK);
        check(Tail, &long, 2, 99, r#""line\nline\n" from 0 of ? truncated"#);
    }

    #[test]
    fn lines_that_end_where_a_block_ends() {
        for extra in 0..3 {
            let text = format!("{}\n{}", "a".repeat(BLOCK - 1), "b\n".repeat(extra));
            let most = Room { lines: 1, chars: 2 * BLOCK };
            let found = head(at(text.as_bytes()), most).unwrap();
            assert_eq!((found.bytes.len(), found.truncated, found.cut), (BLOCK, extra > 0, false), "{extra}");
            let most = Room { lines: extra as u64 + 1, chars: 2 * BLOCK };
            let found = tail(at(text.as_bytes()), text.len() as u64, most).unwrap();
            assert_eq!((found.bytes, found.truncated), (text.clone().into_bytes(), false), "{extra}");
        }
    }

    #[test]
    fn a_file_that_changes_underneath() {
        let most = Room { lines: 5, chars: 99 };
        assert!(matches!(tail(at(b"a\n"), 9, most), Err(EndError::Shrank)));
        assert_eq!(tail(at(b"a\nb\n"), 2, most).unwrap().bytes, b"a\n");
        // A file that grows without end: reading stops at the limit of an answer.
        let endless = |_, len| Ok(vec![b'x'; len]);
        assert!(head(endless, most).unwrap().partial);
    }

    #[test]
    fn what_is_no_text_is_named_by_its_place() {
        let found = tail(at(b"ab\nc\0\n"), 6, Room { lines: 1, chars: 99 }).unwrap();
        assert_eq!(found.text(), Err(NotText::Nul(4)));
        let found = head(at(b"ab\n\xff\n"), Room { lines: 2, chars: 99 }).unwrap();
        assert_eq!(found.text(), Err(NotText::Encoding(3)));
        assert_eq!(head(at(b"ab\n\xff\n"), Room { lines: 1, chars: 99 }).unwrap().text(), Ok("ab\n".to_owned()));
    }
}
