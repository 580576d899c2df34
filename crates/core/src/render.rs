//! Turns a decision into the exact text of the answer, and decides how much of a text one answer shows, by whole lines. Only
//! this file makes a [`Shown`], so what is recorded is what was shown.

pub mod fence;
pub mod meta;
pub mod page;
mod partial;
pub mod trailer;

pub use partial::partial;

use alloc::{borrow::Cow, format, string::String, vec::Vec};
use core::fmt;

use crate::{
    decide::{Ask, Decision, Mode, Reason},
    diff::Unified,
    knowledge::{Event, Piece},
    limits::Limits,
    page::{Page, Stop},
    path::PathKey,
    scope::{Lines, Scope},
    text::{ContentHash, Text, Version},
};

/// How every marker begins.
pub const MARKER: &str = "[readcache: ";

/// The notice for file text that looks like a marker.
pub const LOOKS_LIKE_MARKER: &str = "the text holds lines that look like this tool's own markers; they are file text";

/// What a plain answer to a request shows: whole lines, or the beginning of one line that is too long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    scope: Scope,
    lines: Option<Lines>,
    bytes: usize,
    end: bool,
    part: Option<Part>,
    next: Option<u32>,
    page: Option<Page>,
}

/// A line of which only the beginning fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The number of the line.
    pub line: u32,
    /// Its length in bytes; on a page without its terminator, elsewhere with it.
    pub bytes: usize,
    /// How many of these bytes are shown.
    pub shown: usize,
}

impl Window {
    /// Whole lines of `scope` from its start, as many as the limits allow; a first line that does not fit is shown in
    /// part. `asked_to` is the last line the caller named, if any: a request for lines up to one that exists does not show
    /// where the file ends, unless that line has no terminator.
    #[must_use]
    pub fn cut(text: &Text, scope: Scope, asked_to: Option<u64>, limits: &Limits) -> Self {
        let Some(asked) = scope.lines(text.total()) else {
            return Self { scope, lines: None, bytes: 0, end: true, part: None, next: None, page: None };
        };
        let from = text.start(asked.first());
        let most = limits.fitting(&text.as_str()[from..]);
        let mut last = asked.last().min(asked.first().saturating_add(limits.answer_lines.saturating_sub(1)));
        if text.end(last) - from > most {
            // The last line whose end still fits.
            last = text.line_at(from + most) - 1;
        }
        let Some(lines) = Lines::new(asked.first(), last) else {
            let line = text.line(asked.first());
            let shown = line.floor_char_boundary(most);
            let part = Part { line: asked.first(), bytes: line.len(), shown };
            let next = (asked.last() > part.line).then(|| part.line + 1);
            let scope = Lines::new(part.line, part.line).map_or(scope, Scope::Lines);
            return Self { scope, lines: None, bytes: shown, end: false, part: Some(part), next, page: None };
        };
        let cut = lines != asked;
        let reaches = last == text.total();
        let open = asked_to.is_none_or(|to| to > u64::from(text.total())) || !text.as_str().ends_with('\n');
        Self {
            scope: if cut { Scope::Lines(lines) } else { scope },
            lines: Some(lines),
            bytes: text.end(last) - from,
            end: reaches && open,
            part: None,
            next: cut.then(|| last + 1),
            page: None,
        }
    }

    /// The window that a page is.
    #[must_use]
    pub fn of_page(page: Page) -> Self {
        let (lines, end) = (page.lines, page.shows_end());
        let part = match page.stop {
            Stop::LongLine { bytes, .. } => Some(Part { line: page.first, bytes, shown: 0 }),
            Stop::End | Stop::Asked | Stop::Cut { .. } => None,
        };
        let scope = match lines {
            Some(lines) if page.first > 1 || !end => Scope::Lines(lines),
            Some(_) | None => Scope::Full,
        };
        let next = lines.filter(|_| !end).map(|lines| lines.last() + 1);
        Self { scope, lines, bytes: page.bytes, end, part, next, page: Some(page) }
    }

    /// The lines of this window as a scope: `full` only when it shows the whole file.
    #[must_use]
    pub fn scope(&self) -> Scope {
        self.scope
    }

    /// The lines shown whole; `None` for an empty file and for a line shown in part.
    #[must_use]
    pub fn lines(&self) -> Option<Lines> {
        self.lines
    }

    /// Bytes of file text in a plain answer.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The line shown in part, if there is one; then no other line is shown.
    #[must_use]
    pub fn part(&self) -> Option<Part> {
        self.part
    }

    /// Whether the request and the text together show where the file ends.
    #[must_use]
    pub fn shows_end(&self) -> bool {
        self.end
    }

    /// The line to continue with, where more was asked for than is shown.
    #[must_use]
    pub fn next(&self) -> Option<u32> {
        self.next
    }

    /// The page this window was made of, on a surface with a page style.
    #[must_use]
    pub fn page(&self) -> Option<&Page> {
        self.page.as_ref()
    }

    /// Whether a marker for this window would speak of the end of the file as of a line: pages may count the empty line after
    /// a final newline. Such a marker needs the end held.
    #[must_use]
    pub fn vouches_for_end(&self) -> bool {
        self.page.as_ref().is_some_and(Page::shows_end)
    }

    /// Lines in the file, as the surface counts.
    fn total(&self, version: Version) -> u64 {
        self.page.as_ref().map_or(u64::from(version.total), |page| page.total)
    }

    /// The first and last of `lines`, as the surface counts.
    fn counted(&self, lines: Lines) -> (u64, u64) {
        let last = self.page.as_ref().map_or(u64::from(lines.last()), Page::last);
        (u64::from(lines.first()), last)
    }

    fn text<'a>(&self, now: &'a Text) -> &'a str {
        match (self.lines, self.part) {
            (Some(lines), _) if self.page.is_some() => &now.as_str()[now.start(lines.first())..][..self.bytes],
            (Some(lines), _) => now.slice(lines),
            (None, Some(part)) => &now.line(part.line)[..part.shown],
            (None, None) => "",
        }
    }
}

/// What the model must be told beside the text; never part of the text block itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The answer stops before the end of what was asked for.
    Cut {
        /// The lines shown.
        lines: Lines,
        /// Lines in the file.
        total: u32,
    },
    /// Only the beginning of a line is shown.
    Part(Part),
    /// More lines follow the line shown in part.
    GoOn {
        /// The line to continue with.
        offset: u32,
    },
    /// A line of the file looks like a marker.
    LooksLikeMarker,
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cut { lines, total } => {
                let (first, last) = (lines.first(), lines.last());
                write!(f, "lines {first}-{last} of {total}; go on with offset {}", last + 1)
            }
            Self::Part(Part { line, bytes, shown }) => {
                write!(f, "line {line} is {bytes} bytes long and is shown in part: its first {shown} bytes")
            }
            Self::GoOn { offset } => write!(f, "go on with offset {offset}"),
            Self::LooksLikeMarker => f.write_str(LOOKS_LIKE_MARKER),
        }
    }
}

/// An answer as the model gets it, and which lines of which text it shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown<'t> {
    text: Cow<'t, str>,
    tail: String,
    mode: Mode,
    reason: Reason,
    version: Version,
    base: Option<ContentHash>,
    pieces: Vec<Piece>,
    window: Window,
    notices: Vec<Notice>,
}

impl Shown<'_> {
    /// The answer's text, to the byte.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What follows the text in the same block: a host's notice on a page, empty everywhere else.
    #[must_use]
    pub fn tail(&self) -> &str {
        &self.tail
    }

    /// The answer's text; `None` when it is the whole file, which the caller has anyway.
    #[must_use]
    pub fn into_text(self) -> Option<String> {
        if self.is_whole_file() { None } else { Some(self.text.into_owned()) }
    }

    /// The hash of the answer's text and its [`Self::tail`].
    #[must_use]
    pub fn text_hash(&self) -> ContentHash {
        if self.is_whole_file() && self.tail.is_empty() {
            self.version.hash
        } else {
            ContentHash::of_parts(&[self.text.as_bytes(), self.tail.as_bytes()])
        }
    }

    /// Whether the answer is the file's text, all of it.
    fn is_whole_file(&self) -> bool {
        !self.mode.is_derived() && self.window.scope == Scope::Full && self.window.part.is_none()
    }

    /// How the request was answered.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Why it was answered so.
    #[must_use]
    pub fn reason(&self) -> Reason {
        self.reason
    }

    /// The text of the file that the answer shows or vouches for.
    #[must_use]
    pub fn version(&self) -> Version {
        self.version
    }

    /// The text the answer relies on; see [`Decision::base`].
    #[must_use]
    pub fn base(&self) -> Option<ContentHash> {
        self.base
    }

    /// The lines that the answer names and does not show; empty but for a partial answer.
    #[must_use]
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// What a plain answer shows or would have shown.
    #[must_use]
    pub fn window(&self) -> &Window {
        &self.window
    }

    /// What must be said beside the text; empty on a page, which has its own words in [`Self::tail`].
    #[must_use]
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }

    /// The lines this answer shows or vouches for: `full` for a diff, else the window's scope.
    #[must_use]
    pub fn scope(&self) -> Scope {
        if self.mode == Mode::Diff { Scope::Full } else { self.window.scope }
    }

    /// [`Self::scope`] in the surface's own counting of lines.
    #[must_use]
    pub fn counted(&self) -> CountedScope {
        let (scope, total) = (self.scope(), self.window.total(self.version));
        let capped = |line: u64| u32::try_from(line).unwrap_or(u32::MAX);
        match scope {
            Scope::Full => CountedScope { scope, first: 1, last: total, total },
            Scope::Lines(lines) => {
                let (first, last) = self.window.counted(lines);
                let scope = Lines::new(capped(first), capped(last)).map_or(scope, Scope::Lines);
                CountedScope { scope, first, last, total }
            }
        }
    }

    /// Whether request and answer together show where the file ends.
    #[must_use]
    pub fn shows_end(&self) -> bool {
        // The marker for the present text names its number of lines, and so does a partial answer.
        self.window.end || matches!(self.mode, Mode::Diff | Mode::Partial) || self.base == Some(self.version.hash)
    }

    /// What the answer does to knowledge once it stands on a branch.
    #[must_use]
    pub fn event(&self, path: &PathKey) -> Event {
        let (path, version) = (path.clone(), self.version);
        match (self.mode, self.base) {
            (Mode::Full | Mode::BaselineFallback, _) => Event::Shown {
                path,
                version,
                lines: self.window.lines,
                end: self.window.end,
                part: self.window.part.map(|part| part.line),
            },
            (Mode::Unchanged | Mode::UnchangedRange, Some(base)) => {
                Event::Same { path, base, version, scope: self.window.scope, ends: self.shows_end() }
            }
            (Mode::Diff, Some(base)) => Event::Diff { path, base, version },
            (Mode::Partial, _) => match self.window.lines {
                Some(lines) => Event::Partial { path, version, lines, pieces: self.pieces.clone() },
                None => Event::Void { path },
            },
            (Mode::Unchanged | Mode::UnchangedRange | Mode::Diff, None) => Event::Void { path },
        }
    }
}

/// A scope in a surface's own counting of lines. The whole file is `1..=total`, even where it has no line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountedScope {
    /// `full`, or `first` and `last` as far as a scope can say them.
    pub scope: Scope,
    /// The first line.
    pub first: u64,
    /// The last line.
    pub last: u64,
    /// Lines in the file.
    pub total: u64,
}

/// The marker line that precedes a diff.
#[must_use]
pub fn diff_prefix(diff: &Unified, now: &Text, window: &Window) -> String {
    format!("{MARKER}{} lines changed of {}]\n", diff.changed(), window.total(now.version()))
}

/// The marker in place of lines that the model holds; `None` for the other modes, and for a range without a whole line.
#[must_use]
pub fn marker(mode: Mode, reason: Reason, now: &Text, window: &Window) -> Option<String> {
    let total = window.total(now.version());
    match (mode, window.lines) {
        (Mode::Unchanged, _) => Some(format!("{MARKER}unchanged, {total} lines]")),
        (Mode::UnchangedRange, Some(lines)) => {
            let (first, last) = window.counted(lines);
            Some(if reason == Reason::SameLines {
                format!("{MARKER}unchanged in lines {first}-{last}; changes exist outside this range]")
            } else {
                format!("{MARKER}unchanged in lines {first}-{last} of {total}]")
            })
        }
        (Mode::UnchangedRange, None) | (Mode::Full | Mode::BaselineFallback | Mode::Diff | Mode::Partial, _) => None,
    }
}

/// The exact answer for a decision.
#[must_use]
pub fn render<'t>(decision: &Decision, now: &'t Text, ask: &Ask) -> Shown<'t> {
    let window = &ask.window;
    let named = window.lines.filter(|_| decision.mode == Mode::Partial);
    let partial = named.and_then(|lines| partial(now, lines, &decision.pieces));
    let text: Cow<'t, str> = match (&decision.diff, marker(decision.mode, decision.reason, now, window), partial) {
        (Some(diff), _, _) => (diff_prefix(diff, now, window) + &diff.body).into(),
        (None, Some(marker), _) => marker.into(),
        (None, None, Some(partial)) => partial.into(),
        (None, None, None) => window.text(now).into(),
    };
    let notices = notices(decision.mode, &text, window, now.total());
    let (tail, notices) = match &window.page {
        Some(page) => (tail(decision.mode, page, &notices), Vec::new()),
        None => (String::new(), notices),
    };
    Shown {
        notices,
        tail,
        text,
        mode: decision.mode,
        reason: decision.reason,
        version: now.version(),
        base: decision.base,
        pieces: decision.pieces.clone(),
        window: window.clone(),
    }
}

/// What follows the text in the block of a page: the host's notice, and ours where file text could be taken for a marker.
fn tail(mode: Mode, page: &Page, notices: &[Notice]) -> String {
    let mut tail = match (mode, page.stop) {
        (Mode::Full | Mode::BaselineFallback, _) | (Mode::Unchanged | Mode::UnchangedRange, Stop::Cut { .. }) => {
            page.tail.clone()
        }
        (Mode::Unchanged | Mode::UnchangedRange | Mode::Diff | Mode::Partial, _) => String::new(),
    };
    if notices.contains(&Notice::LooksLikeMarker) {
        tail.push_str(&format!("\n\n[readproof: {}]", Notice::LooksLikeMarker));
    }
    tail
}

fn notices(mode: Mode, text: &str, window: &Window, total: u32) -> Vec<Notice> {
    let mut notices = Vec::new();
    if !mode.is_derived() && looks_like_marker(text) {
        notices.push(Notice::LooksLikeMarker);
    }
    // A diff is about the whole file, whatever the window.
    if mode != Mode::Diff {
        let cut = window.lines.filter(|_| window.next.is_some());
        notices.extend(cut.map(|lines| Notice::Cut { lines, total }));
        notices.extend(window.part.map(Notice::Part));
        let after_part = window.next.filter(|_| window.part.is_some());
        notices.extend(after_part.map(|offset| Notice::GoOn { offset }));
    }
    notices
}

/// Whether a line of `text` could be taken for a marker.
#[must_use]
pub fn looks_like_marker(text: &str) -> bool {
    memchr::memmem::find_iter(text.as_bytes(), MARKER.trim_end().as_bytes())
        .any(|at| at == 0 || text.as_bytes()[at - 1] == b'\n')
}
