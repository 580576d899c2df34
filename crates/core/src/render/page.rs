//! A page: what a host's own `read` tool shows of a text, to the byte. Such a host counts lines and cuts in its own way, and
//! puts a notice about what it left out into the same block as the text. How it does that is data, a [`PageStyle`], which
//! lives with the host; this file carries it out.

use alloc::{
    format,
    string::{String, ToString},
};

use crate::{
    limits::Limits,
    scope::{Lines, ScopeError},
    text::Text,
};

/// How a host counts lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineCounting {
    /// By `lf-1`, as everywhere else: a final newline starts no further line.
    Lf1,
    /// The pieces of `split("\n")`: a text with a final newline has one more, empty, line than `lf-1` counts, and so has the
    /// empty text. Knowledge has the end of the file in exactly that slot, so line `n` is slot `n` under both countings.
    Split,
}

impl LineCounting {
    /// The number of lines in `text`.
    #[must_use]
    pub fn total(self, text: &Text) -> u64 {
        u64::from(text.total()) + u64::from(self.end_line(text).is_some())
    }

    /// The number of the empty line after a final newline, which is the end slot; `None` where there is no such line.
    #[must_use]
    pub fn end_line(self, text: &Text) -> Option<u32> {
        let open = !text.as_str().is_empty() && !text.as_str().ends_with('\n');
        match self {
            Self::Split if !open => Some(text.total().saturating_add(1)),
            Self::Split | Self::Lf1 => None,
        }
    }
}

/// How a host's own `read` counts, cuts and words: everything a page needs to be that host's to the byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageStyle {
    /// How its line numbers and totals count.
    pub counting: LineCounting,
    /// The most lines it shows at once.
    pub most_lines: u32,
    /// The most bytes of file text it shows at once.
    pub most_bytes: u32,
    /// What it says after the text.
    pub notices: PageNotices,
}

impl PageStyle {
    /// `limits` with this style's limits of an answer in place of theirs.
    #[must_use]
    pub fn limits(&self, limits: Limits) -> Limits {
        Limits { answer_lines: self.most_lines, answer_bytes: self.most_bytes, ..limits }
    }
}

/// What a host says after the text, for each way a page can stop before the end of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageNotices {
    /// The lines asked for are shown, and the file goes on.
    pub more: &'static [Fragment],
    /// [`PageStyle::most_lines`] is reached.
    pub cut_by_lines: &'static [Fragment],
    /// [`PageStyle::most_bytes`] is reached.
    pub cut_by_bytes: &'static [Fragment],
    /// The first line alone is longer than [`PageStyle::most_bytes`]; the notice stands in place of the text.
    pub long_line: &'static [Fragment],
}

/// A piece of a notice. Numbers of lines are in the host's counting; sizes are written as `700B`, `1.5KB`, `2.0MB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fragment {
    /// These words.
    Words(&'static str),
    /// The first line shown.
    First,
    /// The last line shown.
    Last,
    /// The line after it.
    Next,
    /// The number of lines after the last one shown.
    Remaining,
    /// The number of lines in the file.
    Total,
    /// The path as the caller wrote it.
    Path,
    /// The size of the first line, without its terminator.
    LineSize,
    /// [`PageStyle::most_bytes`] as a size.
    LimitSize,
    /// [`PageStyle::most_bytes`] as a number.
    LimitBytes,
}

/// What the host's `read` shows for one offset and limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The first line asked for.
    pub first: u32,
    /// The lines shown whole, by `lf-1`: without the empty line after a final newline.
    pub lines: Option<Lines>,
    /// Bytes of file text shown.
    pub bytes: usize,
    /// Lines in the file, as the host counts.
    pub total: u64,
    /// Whether the whole file was asked for.
    pub asked_all: bool,
    /// Why it stops where it does.
    pub stop: Stop,
    /// The host's notice after the text; empty at the end of the file.
    pub tail: String,
}

/// Why a page stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It reaches the end of the file.
    End,
    /// The request asks for no more.
    Asked,
    /// What was asked for does not fit one answer.
    Cut {
        /// Whether the limit of bytes was reached, rather than that of lines.
        by_bytes: bool,
        /// What was asked for.
        selected: Selected,
    },
    /// Not even the first line fits one answer.
    LongLine {
        /// Bytes of that line, without its terminator.
        bytes: usize,
        /// What was asked for.
        selected: Selected,
    },
}

/// The part of a file that was asked for, before it is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selected {
    /// Its lines by `lf-1`.
    pub lines: u32,
    /// Its bytes, without the terminator of the last line where the file goes on.
    pub bytes: usize,
}

impl Page {
    /// What is shown from line `offset` on, at most `limit` lines. `path` is the path as the caller wrote it.
    ///
    /// # Errors
    /// [`ScopeError`] when a number is zero, or the offset is not a line of the text. A page cannot begin at the empty line
    /// after a final newline: it would show nothing whose place in the file could be known.
    pub fn of(
        text: &Text,
        offset: Option<u64>,
        limit: Option<u64>,
        path: &str,
        style: &PageStyle,
    ) -> Result<Self, ScopeError> {
        if let Some(what) = [(offset, "offset"), (limit, "limit")].iter().find(|(n, _)| *n == Some(0)) {
            return Err(ScopeError::Zero { what: what.1 });
        }
        let (total, offset) = (style.counting.total(text), offset.unwrap_or(1));
        let beyond = ScopeError::BeyondEnd { offset, total: u32::try_from(total).unwrap_or(u32::MAX) };
        let first = u32::try_from(offset).ok().filter(|first| *first <= text.total().max(1)).ok_or(beyond)?;
        let last = limit.map_or(total, |limit| offset.saturating_add(limit - 1).min(total));
        let reaches = last == total;
        // Before the end every line has a terminator, and that of the last line shown is left out.
        let line = u32::try_from(last).map_or(text.total(), |last| last.min(text.total()));
        let from = text.start(first);
        let bytes = if reaches { text.as_str().len() - from } else { text.end(line) - 1 - from };
        let asked_all = first == 1 && reaches;
        let page = |lines, bytes, stop| {
            let page = Self { first, lines, bytes, total, asked_all, stop, tail: String::new() };
            Self { tail: page.notice(path, style), ..page }
        };

        let selected = Selected { lines: counted(text, first, line, from + bytes), bytes };
        let (most, most_lines) = (style.most_bytes as usize, style.most_lines);
        if selected.lines <= most_lines && bytes <= most {
            let stop = if reaches { Stop::End } else { Stop::Asked };
            return Ok(page(Lines::new(first, line), bytes, stop));
        }
        let long = content(text, first);
        if long > most {
            return Ok(page(None, 0, Stop::LongLine { bytes: long, selected }));
        }
        // The last line that fits without its terminator.
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

    /// The last line shown, as the host counts.
    #[must_use]
    pub fn last(&self) -> u64 {
        if self.shows_end() { self.total } else { self.lines.map_or(0, |lines| u64::from(lines.last())) }
    }

    fn notice(&self, path: &str, style: &PageStyle) -> String {
        let notices = &style.notices;
        let (fragments, line_bytes) = match self.stop {
            Stop::End => return String::new(),
            Stop::Asked => (notices.more, 0),
            Stop::Cut { by_bytes: false, .. } => (notices.cut_by_lines, 0),
            Stop::Cut { by_bytes: true, .. } => (notices.cut_by_bytes, 0),
            Stop::LongLine { bytes, .. } => (notices.long_line, bytes),
        };
        let written = |fragment: &Fragment| match fragment {
            Fragment::Words(words) => (*words).to_string(),
            Fragment::First => self.first.to_string(),
            Fragment::Last => self.last().to_string(),
            Fragment::Next => (self.last() + 1).to_string(),
            Fragment::Remaining => (self.total - self.last()).to_string(),
            Fragment::Total => self.total.to_string(),
            Fragment::Path => path.to_string(),
            Fragment::LineSize => size(line_bytes),
            Fragment::LimitSize => size(style.most_bytes as usize),
            Fragment::LimitBytes => style.most_bytes.to_string(),
        };
        fragments.iter().map(written).collect()
    }
}

/// The bytes of a line without its `\n`.
fn content(text: &Text, line: u32) -> usize {
    let line = text.line(line);
    line.strip_suffix('\n').unwrap_or(line).len()
}

/// How many lines `first` to `last` have bytes before `end`.
fn counted(text: &Text, first: u32, last: u32, end: usize) -> u32 {
    let none = text.as_str().is_empty() || end <= text.start(first);
    // An empty last line whose terminator is left out has no byte.
    let empty_last = end <= text.start(last);
    if none { 0 } else { last - first + 1 - u32::from(empty_last) }
}

/// A number of bytes for a person: in the largest unit that fits, with one decimal.
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
