//! pi's way of counting, cutting and wording: what its own `read` shows of a text, to the byte. A line is a piece of
//! `split("\n")`, so a text with a final newline has one more, empty, line than `lf-1` counts; so has the empty text. That
//! line stands exactly where `lf-1` has the end of the file.

use alloc::{
    format,
    string::{String, ToString},
};

use crate::{
    limits::Limits,
    scope::{Lines, ScopeError},
    text::Text,
};

/// The most lines pi's `read` shows.
pub const LINES: u32 = 2000;

/// The most bytes pi's `read` shows.
pub const BYTES: u32 = 50 * 1024;

/// How many lines pi counts in a text.
#[must_use]
pub fn total_lines(text: &Text) -> u64 {
    u64::from(text.total()) + u64::from(end_line(text).is_some())
}

/// pi's number of the empty line behind a final newline, which is the end slot; `None` when the last line is open.
#[must_use]
pub fn end_line(text: &Text) -> Option<u32> {
    let open = !text.as_str().is_empty() && !text.as_str().ends_with('\n');
    (!open).then(|| text.total().saturating_add(1))
}

/// Whether pi takes a text for an image, by how it begins. Its other images are no text.
#[must_use]
pub fn is_image(text: &str) -> bool {
    let begin = text.as_bytes();
    begin.starts_with(b"GIF87a") || begin.starts_with(b"GIF89a") || {
        begin.starts_with(b"RIFF") && begin.get(8..12) == Some(b"WEBP")
    }
}

/// What pi's `read` shows for an offset and a limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The first line.
    pub first: u32,
    /// The lines shown whole, without the empty one at the end.
    pub lines: Option<Lines>,
    /// Bytes of file text shown.
    pub bytes: usize,
    /// Lines in the file, as pi counts.
    pub total: u64,
    /// Whether all of the file was asked for.
    pub asked_all: bool,
    /// Why it stops where it stops.
    pub stop: Stop,
    /// What pi says behind the text.
    pub tail: String,
}

/// Why a page stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The file ends there.
    End,
    /// So much was asked for.
    Asked,
    /// There is more than one answer holds.
    Cut {
        /// Whether by the limit of bytes.
        by_bytes: bool,
        /// What was asked for.
        selected: Selected,
    },
    /// The first line alone is more than one answer holds.
    LongLine {
        /// Its bytes, without its terminator.
        bytes: usize,
        /// What was asked for.
        selected: Selected,
    },
}

/// The part of a file that was asked for, as pi measures it before it cuts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selected {
    /// Its lines; here a final newline starts no line.
    pub lines: u32,
    /// Its bytes.
    pub bytes: usize,
}

impl Page {
    /// What is shown from line `offset` on, `limit` lines at most. Both are 1 or more; `path` is the path as written.
    ///
    /// # Errors
    /// [`ScopeError`] when a number is zero, or the offset is not a line of the text. The empty line behind a final newline
    /// is none to begin at: it shows nothing that could be placed.
    pub fn of(
        text: &Text,
        offset: Option<u64>,
        limit: Option<u64>,
        path: &str,
        limits: &Limits,
    ) -> Result<Self, ScopeError> {
        if let Some(what) = [(offset, "offset"), (limit, "limit")].iter().find(|(n, _)| *n == Some(0)) {
            return Err(ScopeError::Zero { what: what.1 });
        }
        let (total, offset) = (total_lines(text), offset.unwrap_or(1));
        let beyond = ScopeError::BeyondEnd { offset, total: u32::try_from(total).unwrap_or(u32::MAX) };
        let first = u32::try_from(offset).ok().filter(|first| *first <= text.total().max(1)).ok_or(beyond)?;
        let last = limit.map_or(total, |limit| offset.saturating_add(limit - 1).min(total));
        let reaches = last == total;
        // Short of the last line every line has a terminator, and the last one's is not shown.
        let line = u32::try_from(last).map_or(text.total(), |last| last.min(text.total()));
        let from = text.start(first);
        let bytes = if reaches { text.as_str().len() - from } else { text.end(line) - 1 - from };
        let asked_all = first == 1 && reaches;
        let page = |lines, bytes, stop| {
            let page = Self { first, lines, bytes, total, asked_all, stop, tail: String::new() };
            Self { tail: page.words(path, limits), ..page }
        };

        let selected = Selected { lines: counted(text, first, line, from + bytes), bytes };
        let (most, most_lines) = (limits.answer_bytes as usize, limits.answer_lines);
        if selected.lines <= most_lines && bytes <= most {
            let stop = if reaches { Stop::End } else { Stop::Asked };
            return Ok(page(Lines::new(first, line), bytes, stop));
        }
        let long = content(text, first);
        if long > most {
            return Ok(page(None, 0, Stop::LongLine { bytes: long, selected }));
        }
        // The last line that ends, without its terminator, within the limit.
        let at = text.line_at(from + most).min(text.total());
        let fit = if text.start(at) + content(text, at) - from > most { at - 1 } else { at };
        let least = selected.lines.min(most_lines);
        let shown = (fit - first + 1).min(least);
        let last = first + shown - 1;
        let stop = Stop::Cut { by_bytes: shown < least, selected };
        Ok(page(Lines::new(first, last), text.start(last) + content(text, last) - from, stop))
    }

    /// Whether the end of the file is shown.
    #[must_use]
    pub fn shows_end(&self) -> bool {
        self.stop == Stop::End
    }

    /// The last line shown, as pi counts.
    #[must_use]
    pub fn last(&self) -> u64 {
        if self.shows_end() { self.total } else { self.lines.map_or(0, |lines| u64::from(lines.last())) }
    }

    fn words(&self, path: &str, limits: &Limits) -> String {
        let (first, last, total) = (self.first, self.last(), self.total);
        let most = size(limits.answer_bytes as usize);
        match self.stop {
            Stop::End => String::new(),
            Stop::Asked => {
                format!("\n\n[{} more lines in file. Use offset={} to continue.]", total - last, last + 1)
            }
            Stop::Cut { by_bytes, .. } => {
                let limit = if by_bytes { format!(" ({most} limit)") } else { String::new() };
                format!("\n\n[Showing lines {first}-{last} of {total}{limit}. Use offset={} to continue.]", last + 1)
            }
            Stop::LongLine { bytes, .. } => format!(
                "[Line {first} is {}, exceeds {most} limit. Use bash: sed -n '{first}p' {path} | head -c {}]",
                size(bytes),
                limits.answer_bytes
            ),
        }
    }
}

/// The bytes of a line without its `\n`.
fn content(text: &Text, line: u32) -> usize {
    let line = text.line(line);
    line.strip_suffix('\n').unwrap_or(line).len()
}

/// The lines from `first` to `last` as far as `end`, where a final newline starts no line.
fn counted(text: &Text, first: u32, last: u32, end: usize) -> u32 {
    let none = text.as_str().is_empty() || end <= text.start(first);
    // The last line may be there by its number only: an empty one of which not even the terminator is shown.
    let empty_last = end <= text.start(last);
    if none { 0 } else { last - first + 1 - u32::from(empty_last) }
}

/// A number of bytes as pi writes it.
fn size(bytes: usize) -> String {
    let tenths = |unit: usize| {
        let tenths = (bytes * 10 + unit / 2) / unit;
        format!("{}.{}", tenths / 10, tenths % 10)
    };
    match bytes {
        0..1024 => bytes.to_string() + "B",
        1024..1_048_576 => tenths(1024) + "KB",
        _ => tenths(1_048_576) + "MB",
    }
}
