//! Finds the lines that match a pattern with ripgrep's engine: those that `rg` prints, each once, in order. Holds no more of
//! a text than a block, the longest line and the lines asked for. As in `rg`, a byte-order mark at the start is not part of
//! a line, and text that begins with one of UTF-16 is decoded.

use grep_matcher::{LineTerminator, Matcher};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use readproof_core::text::NotText;
use readproof_disk::{KnownBy, Stream, View};
use std::{cell::Cell, io, ops::Range};

use crate::UseKind;

mod decoded;
mod width;

pub(crate) use decoded::{decoded, room};

/// How a query is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Query {
    /// As literal text.
    Literal,
    /// As a regular expression.
    Regex,
}

/// Whether case matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// Case-sensitive.
    Exact,
    /// Case-insensitive.
    Folded,
}

/// A query that is malformed or too large.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{self:?}")]
pub struct BadQuery {
    pub query: String,
    pub why: String,
}

/// The longest line that is searched; at a longer one the search of a file ends. A wide pattern has a lower limit.
pub const LINE_BYTES: usize = 32 << 20;

/// The most memory that a compiled query takes, and that its lazy automaton takes during a search.
const QUERY_BYTES: usize = 8 << 20;

/// The most states that a pattern may be in at once.
const WIDTH: usize = 4096;

/// The most states, summed over the bytes of a line, that are followed before a search asks whether it is cancelled: at worst
/// a tenth of a second.
const STEPS: usize = 1 << 24;

/// A file up to this size is read at once.
const AT_ONCE: u64 = 1 << 20;

/// For a text that is in memory. Nothing at all would be refused.
const NO_BUFFER: usize = 1;

/// The most lines kept before or after a match.
const MOST_AROUND: usize = 1000;

/// Characters of a printed line beside its path and text: the number and the separators.
pub const NUMBER_CHARS: usize = 16;

/// Characters of a printed line beside its text if the path, escaped if need be, is printed with it.
#[must_use]
pub fn label(path: &str) -> usize {
    path.escape_default().count() + NUMBER_CHARS
}

/// A compiled query. Compiling costs more than searching a small file.
#[derive(Debug)]
pub struct Finder {
    matcher: RegexMatcher,
    /// The longest line that is searched with it.
    line_bytes: usize,
}

/// How much of a text is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The most matching lines that are kept; all are counted.
    pub matches: usize,
    /// Lines kept before each match.
    pub before: usize,
    /// Lines kept after each match.
    pub after: usize,
    /// The most characters kept of one line.
    pub line_chars: usize,
    /// The most characters of all lines that are kept, labels included.
    pub chars: usize,
    /// Characters printed beside the text of each line.
    pub label: usize,
}

impl Default for Extent {
    fn default() -> Self {
        Self { matches: usize::MAX, before: 0, after: 0, line_chars: usize::MAX, chars: usize::MAX, label: 0 }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// From 1.
    pub number: u64,
    /// Without the terminator.
    pub text: String,
    /// Whether it matches; else it is context.
    pub matches: bool,
    /// Whether part of it is left out.
    pub cut: bool,
    /// Whether it is not UTF-8; the text then has U+FFFD in place of what is not.
    pub lossy: bool,
    /// How it uses the name, where references are searched and it matches.
    pub kind: Option<UseKind>,
}

/// The matches in one text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matches {
    /// The lines that were kept, in order, none twice.
    pub lines: Vec<Line>,
    /// Number of matching lines, kept or not.
    pub total: u64,
    /// Position of the first NUL; nothing after its block was searched.
    pub binary: Option<u64>,
    /// Characters of the lines that were kept, labels included.
    pub chars: usize,
    /// Whether a line was not kept because [`Extent::chars`] was used up.
    pub dropped: bool,
    /// What a file was decoded from; `None` if the lines are its bytes.
    pub view: Option<View>,
}

impl Matches {
    /// How many of the lines that were kept match.
    #[must_use]
    pub fn given(&self) -> u64 {
        self.lines.iter().filter(|line| line.matches).count() as u64
    }
}

impl Finder {
    /// Compiles a query.
    ///
    /// # Errors
    /// [`BadQuery`] says where it is malformed.
    pub fn new(query: &str, kind: Query, case: Case) -> Result<Self, BadQuery> {
        Self::any_of(&[query], kind, case)
    }

    /// Compiles several queries: a line matches if one of them does.
    ///
    /// # Errors
    /// [`BadQuery`] says where one is malformed.
    pub fn any_of<Q: AsRef<str>>(queries: &[Q], kind: Query, case: Case) -> Result<Self, BadQuery> {
        Self::for_threads(1, queries, kind, case)
    }

    /// Like [`Self::any_of`], for several threads that together take no more memory than one.
    pub(crate) fn for_threads<Q: AsRef<str>>(
        threads: usize,
        queries: &[Q],
        kind: Query,
        case: Case,
    ) -> Result<Self, BadQuery> {
        // As ripgrep does, with less memory.
        let mut builder = RegexMatcherBuilder::new();
        builder.multi_line(true).line_terminator(Some(b'\n')).ban_byte(Some(0));
        builder.size_limit(QUERY_BYTES).dfa_size_limit(QUERY_BYTES / threads.max(1));
        builder.case_insensitive(case == Case::Folded).fixed_strings(kind == Query::Literal);
        let bad = |why| BadQuery { query: queries.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(" "), why };
        let width = match kind {
            Query::Literal => 1,
            Query::Regex => queries.iter().map(|query| width::of(query.as_ref(), case)).sum::<usize>().max(1),
        };
        if width > WIDTH {
            return Err(bad(too_wide(width)));
        }
        let matcher = builder.build_many(queries).map_err(|error| bad(error.to_string()))?;
        Ok(Self { matcher, line_bytes: (STEPS / width).min(LINE_BYTES) })
    }

    /// Refuses a pattern that is too large, before anything is prepared for it.
    ///
    /// # Errors
    /// [`BadQuery`] says how large it is.
    pub fn check(query: &str, case: Case) -> Result<(), BadQuery> {
        let width = width::of(query, case);
        if width > WIDTH { Err(BadQuery { query: query.to_owned(), why: too_wide(width) }) } else { Ok(()) }
    }

    /// The longest line that is searched, at most [`LINE_BYTES`].
    #[must_use]
    pub fn line_bytes(&self) -> usize {
        self.line_bytes
    }

    /// The matching lines of a text.
    ///
    /// # Errors
    /// From reading. An error without an OS code means a line longer than [`Finder::line_bytes`].
    pub fn find(&self, text: impl io::Read, extent: Extent) -> io::Result<Matches> {
        self.search(extent, self.line_bytes, |searcher, keep| searcher.search_reader(&self.matcher, text, keep))
    }

    /// With a buffer that grows up to `buffer`.
    fn search(
        &self,
        extent: Extent,
        buffer: usize,
        run: impl FnOnce(&mut Searcher, &mut Keep<'_>) -> io::Result<()>,
    ) -> io::Result<Matches> {
        let mut searcher = SearcherBuilder::new()
            .line_number(true)
            .before_context(extent.before.min(MOST_AROUND))
            .after_context(extent.after.min(MOST_AROUND))
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(buffer))
            .build();
        let extent = Extent { after: extent.after.min(MOST_AROUND), ..extent };
        let mut keep =
            Keep { matcher: &self.matcher, extent, found: Matches::default(), after: 0, before: 0, full: false };
        run(&mut searcher, &mut keep)?;
        Ok(keep.found)
    }

    /// The matching lines of a file, which is read in blocks up to the length it had when it was opened.
    ///
    /// # Errors
    /// [`SearchError`] says why it was not searched.
    pub fn find_in(
        &self,
        stream: &Stream,
        extent: Extent,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Matches, SearchError> {
        let len = stream.stat().len;
        if len <= AT_ONCE && len <= self.line_bytes as u64 {
            if cancelled() {
                return Err(SearchError::Cancelled);
            }
            let text = stream.at(0, usize::try_from(len).unwrap_or(usize::MAX)).map_err(SearchError::Io)?;
            // What has a mark is decoded, or loses it, below.
            if !matches!(text[..], [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [0xef, 0xbb, 0xbf, ..]) {
                return self.find_at_once(&text, extent);
            }
        }
        let (stopped, view) = (Cell::new(false), Cell::new(None));
        let blocks = Blocks { stream, at: 0, end: stream.stat().len, cancelled, stopped: &stopped, view: &view };
        match self.find(blocks, extent) {
            Ok(found) => match found.binary {
                Some(at) => Err(SearchError::Binary(NotText::Nul(usize::try_from(at).unwrap_or(usize::MAX)))),
                None => Ok(Matches { view: view.get(), ..found }),
            },
            Err(_) if stopped.get() => Err(SearchError::Cancelled),
            Err(error) if error.raw_os_error().is_none() => Err(SearchError::LongLine),
            Err(error) => Err(SearchError::Io(error)),
        }
    }

    /// The matching lines of a text that is at hand: the same as of a file with these bytes.
    ///
    /// # Errors
    /// [`SearchError`] says why it was not searched.
    pub fn find_text(&self, text: &str, extent: Extent, cancelled: &dyn Fn() -> bool) -> Result<Matches, SearchError> {
        if cancelled() {
            return Err(SearchError::Cancelled);
        }
        let bytes = text.as_bytes();
        if bytes.len() as u64 <= AT_ONCE && bytes.len() <= self.line_bytes && !bytes.starts_with(&[0xef, 0xbb, 0xbf]) {
            return self.find_at_once(bytes, extent);
        }
        match self.find(bytes, extent) {
            Ok(found) => match found.binary {
                Some(at) => Err(SearchError::Binary(NotText::Nul(usize::try_from(at).unwrap_or(usize::MAX)))),
                None => Ok(found),
            },
            Err(error) if error.raw_os_error().is_none() => Err(SearchError::LongLine),
            Err(error) => Err(SearchError::Io(error)),
        }
    }

    fn find_at_once(&self, text: &[u8], extent: Extent) -> Result<Matches, SearchError> {
        if let Some(at) = memchr::memchr(0, text) {
            return Err(SearchError::Binary(NotText::Nul(at)));
        }
        // What the searcher asks first, unless the pattern is about the whole text: then it looks at every line by itself.
        let is_by_line = self.matcher.line_terminator() == Some(LineTerminator::byte(b'\n'));
        if is_by_line && matches!(self.matcher.find_candidate_line(text), Ok(None)) {
            return Ok(Matches::default());
        }
        let found = self.search(extent, NO_BUFFER, |searcher, keep| searcher.search_slice(&self.matcher, text, keep));
        found.map_err(SearchError::Io)
    }

    /// The first match at or after a place in a text.
    pub(crate) fn next_in(&self, text: &[u8], at: usize) -> Option<Range<usize>> {
        let found = self.matcher.find_at(text, at).ok().flatten()?;
        Some(found.start()..found.end())
    }

    /// Whether anything in a text matches.
    #[must_use]
    pub fn is_in(&self, text: &[u8]) -> bool {
        self.matcher.is_match(text).unwrap_or(false)
    }
}

fn too_wide(width: usize) -> String {
    format!(
        "this pattern is too large (it may be in {width} states at once; {WIDTH} are allowed); make it simpler, for example \
         with smaller counts in `{{…}}`"
    )
}

/// Why a file was not searched.
#[derive(Debug)]
pub enum SearchError {
    /// The caller no longer wants the result.
    Cancelled,
    /// A line is longer than [`Finder::line_bytes`].
    LongLine,
    /// It is not text.
    Binary(NotText),
    /// It cannot be read.
    Io(io::Error),
}

/// A file in blocks.
struct Blocks<'a> {
    stream: &'a Stream,
    at: u64,
    end: u64,
    cancelled: &'a dyn Fn() -> bool,
    stopped: &'a Cell<bool>,
    /// What the searcher decodes it from.
    view: &'a Cell<Option<View>>,
}

impl io::Read for Blocks<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if (self.cancelled)() {
            self.stopped.set(true);
            return Err(io::ErrorKind::Other.into());
        }
        let left = usize::try_from(self.end.saturating_sub(self.at)).unwrap_or(usize::MAX);
        if left == 0 {
            return Ok(0);
        }
        let bytes = self.stream.at(self.at, into.len().min(left))?;
        if self.at == 0 {
            let encoding = decoded::utf16(&bytes).map(encoding_rs::Encoding::name);
            self.view.set(encoding.map(|encoding| View { encoding, known_by: KnownBy::Mark }));
        }
        into[..bytes.len()].copy_from_slice(&bytes);
        self.at += bytes.len() as u64;
        Ok(bytes.len())
    }
}

/// Keeps what is asked for and counts the rest.
struct Keep<'m> {
    matcher: &'m RegexMatcher,
    extent: Extent,
    found: Matches,
    /// Context lines still to be kept after the last match.
    after: usize,
    /// Context lines that were kept for the next match.
    before: usize,
    /// A matching line did not fit.
    full: bool,
}

impl Keep<'_> {
    /// Keeps a line if it fits. Context before it makes room, the farthest line first.
    fn push(&mut self, number: Option<u64>, bytes: &[u8], matches: bool) -> bool {
        if self.full {
            return false;
        }
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let found = || self.matcher.find(bytes).ok().flatten().map_or(0, |found| found.start());
        let line = line(number.unwrap_or(0), bytes, matches.then(found), self.extent.line_chars);
        let chars = self.cost(&line);
        while self.found.chars.saturating_add(chars) > self.extent.chars && self.before > 0 {
            let farthest = self.found.lines.len().saturating_sub(self.before);
            let gone = self.found.lines.remove(farthest);
            self.found.chars = self.found.chars.saturating_sub(self.cost(&gone));
            self.found.dropped = true;
            self.before -= 1;
        }
        let fits = self.found.chars.saturating_add(chars) <= self.extent.chars;
        self.found.dropped |= !fits;
        if fits {
            self.found.chars += chars;
            self.found.lines.push(line);
        }
        fits
    }

    fn cost(&self, line: &Line) -> usize {
        line.text.chars().count().saturating_add(self.extent.label)
    }

    /// Nothing is kept from the first match on that does not fit, its context included.
    fn matched(&mut self, number: Option<u64>, bytes: &[u8]) {
        if !self.push(number, bytes, true) && !self.full {
            self.full = true;
            let left = self.found.lines.len().saturating_sub(self.before);
            self.found.lines.truncate(left);
        }
        self.before = 0;
    }
}

/// A line, decoded only as far as it is kept: its beginning or, if the match is further on, the part around the match with
/// `…` before it.
pub(crate) fn line(number: u64, bytes: &[u8], found: Option<usize>, most: usize) -> Line {
    let lossy = std::str::from_utf8(bytes).is_err();
    let starts = |byte: &u8| *byte & 0xc0 != 0x80;
    let behind = found.filter(|at| *at >= most && bytes[..*at].iter().filter(|byte| starts(byte)).count() >= most);
    let from = behind.map_or(0, |at| {
        let near = at - at.min(most / 4);
        near + bytes[near..].iter().position(starts).unwrap_or(0)
    });
    let (mark, most) = if from > 0 { ("…", most.saturating_sub(1)) } else { ("", most) };
    let rest = &bytes[from..];
    // A character has at most four bytes, so one that is split at the edge is cut off below.
    let edge = most.saturating_mul(4).saturating_add(4).min(rest.len());
    let mut text = String::from_utf8_lossy(&rest[..edge]).into_owned();
    let end = text.char_indices().nth(most).map(|(at, _)| at);
    if let Some(end) = end {
        text.truncate(end);
    }
    text.insert_str(0, mark);
    Line { number, text, matches: found.is_some(), cut: end.is_some() || from > 0, lossy, kind: None }
}

impl Sink for Keep<'_> {
    type Error = io::Error;

    fn matched(&mut self, _searcher: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        self.found.total += 1;
        if usize::try_from(self.found.total).is_ok_and(|total| total <= self.extent.matches) {
            self.matched(found.line_number(), found.bytes());
            self.after = self.extent.after;
        } else if self.after > 0 {
            // Context of the last match that was kept.
            self.after -= 1;
            self.matched(found.line_number(), found.bytes());
        }
        Ok(true)
    }

    fn context(&mut self, _searcher: &Searcher, line: &SinkContext<'_>) -> io::Result<bool> {
        use grep_searcher::SinkContextKind::{After, Before, Other};
        let room = usize::try_from(self.found.total).is_ok_and(|total| total < self.extent.matches);
        match line.kind() {
            Before if room => {
                let kept = self.push(line.line_number(), line.bytes(), false);
                self.before += usize::from(kept);
            }
            After if self.after > 0 => {
                let kept = self.push(line.line_number(), line.bytes(), false);
                // No gap in the context.
                self.after = if kept { self.after - 1 } else { 0 };
            }
            Before | After | Other => {}
        }
        Ok(true)
    }

    fn context_break(&mut self, _searcher: &Searcher) -> io::Result<bool> {
        self.after = 0;
        Ok(true)
    }

    fn binary_data(&mut self, _searcher: &Searcher, at: u64) -> io::Result<bool> {
        self.found.binary = Some(at);
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(query: &str, kind: Query, text: &str, extent: Extent) -> String {
        let found = Finder::new(query, kind, Case::Exact).unwrap().find(text.as_bytes(), extent).unwrap();
        let line = |line: &Line| format!("{}{}{}", line.number, if line.matches { ':' } else { '-' }, line.text);
        let lines: Vec<String> = found.lines.iter().map(line).collect();
        format!("{} of {}", lines.join(" "), found.total)
    }

    #[test]
    fn lines_in_order_each_once_with_their_neighbours() {
        let text = "a\nb a\nc\nd\ne a a\nf\n";
        let all = Extent::default();
        assert_eq!(found("a", Query::Literal, text, all), "1:a 2:b a 5:e a a of 3");
        assert_eq!(found("^a|f$", Query::Regex, text, all), "1:a 6:f of 2");
        assert_eq!(found("e a", Query::Literal, text, Extent { before: 1, after: 1, ..all }), "4-d 5:e a a 6-f of 1");
        let first = Extent { matches: 1, before: 1, after: 2, ..all };
        assert_eq!(found("a", Query::Literal, text, first), "1:a 2:b a 3-c of 3");
        assert_eq!(found("zz", Query::Literal, text, all), " of 0");
        assert_eq!(found("a.c", Query::Literal, "abc\na.c", all), "2:a.c of 1");
        assert_eq!(found("^$", Query::Regex, "a\n\nb\n", all), "2: of 1");
    }

    #[test]
    fn lines_beyond_the_room_are_counted() {
        let text = "1\na1\n2\na2\n3\na3\n";
        let room = |chars| Extent { before: 1, chars, label: 1, ..Extent::default() };
        assert_eq!(found("a", Query::Literal, text, room(5)), "1-1 2:a1 of 3");
        // Context makes room for its match, and is dropped with a match that does not fit.
        assert_eq!(found("a", Query::Literal, text, room(8)), "1-1 2:a1 4:a2 of 3");
        assert_eq!(found("a", Query::Literal, text, room(7)), "1-1 2:a1 of 3");
        assert_eq!(found("a", Query::Literal, text, room(10)), "1-1 2:a1 3-2 4:a2 of 3");
        assert_eq!(found("a", Query::Literal, text, Extent { matches: 0, ..room(99) }), " of 3");
    }

    #[test]
    fn long_lines_are_cut_between_characters() {
        let short = Extent { line_chars: 3, ..Extent::default() };
        let of = |text: &[u8]| {
            let finder = Finder::new("a", Query::Literal, Case::Exact).unwrap();
            let line = finder.find(text, short).unwrap().lines.remove(0);
            (line.text, line.cut, line.lossy)
        };
        assert_eq!(of("äöa".as_bytes()), ("äöa".to_owned(), false, false));
        assert_eq!(of("😀😀😀a".as_bytes()), ("…a".to_owned(), true, false));
        assert_eq!(of("😀😀a😀😀".as_bytes()), ("😀😀a".to_owned(), true, false));
        assert_eq!(of("a😀".repeat(99).as_bytes()), ("a😀a".to_owned(), true, false));
        assert_eq!(of(b"a\xff\n"), ("a\u{fffd}".to_owned(), false, true));
        assert_eq!(of(b"a\r\n"), ("a\r".to_owned(), false, false));
    }

    #[test]
    fn binaries_and_bad_queries() {
        let finder = Finder::new("a", Query::Literal, Case::Folded).unwrap();
        let found = finder.find(&b"A\n\0a\n"[..], Extent::default()).unwrap();
        assert_eq!(found.binary, Some(2));
        for (query, kind) in [("(", Query::Regex), ("a\nb", Query::Literal), ("\\w{9999}", Query::Regex)] {
            let error = Finder::new(query, kind, Case::Exact).unwrap_err();
            assert!(error.query == query && !error.why.is_empty(), "{error}");
        }
    }

    /// Also where a pattern is about the beginning or end of a text: the text is then each line.
    #[test]
    fn a_text_in_memory_is_searched_as_one_that_is_read() {
        let patterns = [
            "b", "^b", "b$", "^$", "", "$", r"\z", r"\Ab", r"b\z", r"\Ab\z", "(?-m)^b", "(?-m:b$)", r"\s", r"a\s*b",
            "[^x]b", r"\bb\b", "(?s)a.b", "b|^$", r"\w+\(", "zz", r"(?R)b$", r"\r$",
        ];
        let texts =
            ["", "\n", "b", "b\n", "a\nb", "a\nb\n", "a\n\nb\nc", "ab\r\nb\r\n", "xb\n\n", "c\nd(\n\n\n", "a b\nzz"];
        let (mut some, mut none) = (0, 0);
        for pattern in patterns {
            let finder = Finder::new(pattern, Query::Regex, Case::Exact).unwrap();
            for text in texts {
                for extent in [Extent::default(), Extent { before: 1, after: 1, ..Extent::default() }] {
                    let read = finder.find(text.as_bytes(), extent).unwrap();
                    assert_eq!(finder.find_at_once(text.as_bytes(), extent).unwrap(), read, "{pattern:?} {text:?}");
                    *if read.total > 0 { &mut some } else { &mut none } += 1;
                }
            }
        }
        assert!(some > 99 && none > 99, "{some} {none}");
    }

    #[test]
    fn a_line_beyond_all_bounds_is_an_error() {
        let finder = Finder::new("b", Query::Literal, Case::Exact).unwrap();
        let endless = io::Read::take(io::repeat(b'a'), 10 * LINE_BYTES as u64);
        let error = finder.find(endless, Extent::default()).unwrap_err();
        assert_eq!(error.raw_os_error(), None);
    }

    #[test]
    fn usual_patterns_are_searched_for() {
        let words: Vec<String> = (0..500).map(|n| format!("word{n}number")).collect();
        let text = "let x = word499number(a);\nÜber naïve foo bar 2026-11-16\n";
        for (pattern, expected) in [
            (r"\w+\s*\(", 1),
            (r"(?i)ÜBER\s+naïve", 1),
            (&words.join("|"), 1),
            (&format!("(?i){}", words.join("|").to_uppercase()), 1),
            (r"\p{L}{1,20}", 2),
            (r".{0,200}foo", 1),
            (r"(?:.*a){3}", 0),
            (r"\d{4}-\d{2}-\d{2}", 1),
            (r"[\w\s]{1,50}foo", 1),
        ] {
            let found = Finder::new(pattern, Query::Regex, Case::Exact).unwrap();
            assert_eq!(found.find(text.as_bytes(), Extent::default()).unwrap().total, expected, "{pattern}");
        }
        // Also on a line as long as those of bundled scripts.
        let long = format!("{}foo(", "let a=b+c;".repeat(100_000));
        let finder = Finder::new(r"\bfoo\s*\(", Query::Regex, Case::Exact).unwrap();
        assert_eq!(finder.find(long.as_bytes(), Extent { line_chars: 9, ..Extent::default() }).unwrap().total, 1);
    }

    #[test]
    fn patterns_that_cost_too_much_are_refused_or_not_searched_for_in_long_lines() {
        for pattern in ["(?:a{100}){1000}", "(?:(?:a?){500}a{500}){9}", "(?:.*a){5000}"] {
            let error = Finder::new(pattern, Query::Regex, Case::Exact).unwrap_err().why;
            assert!(error.contains("this pattern is too large (") && error.contains("make it simpler"), "{error}");
        }
        let mut bits = 1_u32;
        let mut next = || {
            bits = bits.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            if bits >> 31 == 0 { 'a' } else { 'b' }
        };
        let line: String = std::iter::repeat_with(&mut next).take(80_000).collect();
        let finder = Finder::new("[ab]*a[ab]{300}c", Query::Regex, Case::Exact).unwrap();
        assert_eq!(finder.line_bytes(), STEPS / 303);
        let error = finder.find(line.as_bytes(), Extent::default()).unwrap_err();
        assert_eq!(error.raw_os_error(), None);
        // The same text is searched if it is divided into lines.
        let lines: String =
            line.as_bytes().chunks(400).map(|line| format!("{}\n", str::from_utf8(line).unwrap())).collect();
        assert_eq!(finder.find(lines.as_bytes(), Extent::default()).unwrap().total, 0);
    }
}
