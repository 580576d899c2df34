//! `mode=references`: lines that have a name as a whole word, by how they use it. A file is read once: its lines are found in
//! the text that is parsed. Only so many files are parsed; lines of the others count as text.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use super::{
    Hit, Left, PREVIEW_CHARS, Seen, Skip, TreeError, TreeMatches, TreeSearch, UnderWay, case_of, scan::Desk, text_of,
};
use crate::{
    Case, Finder, Language, Line, NoOutline, Parsers, Query, UseKind,
    grep::{label, line, room},
    symbols::{Place, Sought},
};

/// The largest file that is parsed.
const PARSED_BYTES: u64 = 512 << 10;

/// Bytes of memory that a syntax tree may take for each byte of its text: a list of numbers takes 150.
const TREE_BYTES: u64 = 128;

/// The most files that are parsed.
const PARSED_FILES: usize = 300;

/// The most lines given before and after each that matches.
const MOST_AROUND: usize = 1000;

/// Characters of the line that says which kind follows.
const HEADER_CHARS: usize = 24;

const KINDS: usize = UseKind::ALL.len();

/// What a search for references says beside its lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Uses {
    /// The name that was searched for.
    pub name: String,
    /// Matching lines of each kind, given or not, in the order of [`UseKind::ALL`].
    pub counts: [u64; KINDS],
    /// Files with matching lines that have a grammar and were not parsed: too many, too large, or given up.
    pub unparsed: u64,
}

impl Uses {
    /// Matching lines of a kind, given or not.
    #[must_use]
    pub fn count(&self, kind: UseKind) -> u64 {
        self.counts[kind as usize]
    }
}

/// The name that a query means: the last part of `Type::name`, `object.name` or `name()`. `None` if it is not a name.
#[must_use]
pub fn name_in(query: &str) -> Option<&str> {
    let query = query.trim();
    let called = query.strip_suffix(')').and_then(|query| query.split_once('(')).map_or(query, |(before, _)| before);
    let plain = called.strip_suffix('!').unwrap_or(called);
    let plain = plain.strip_prefix(['@', '#']).unwrap_or(plain);
    let mut rest = plain.strip_prefix("::").unwrap_or(plain);
    while let Some((qualifier, last)) = ["::", ".", "->", "#", "\\"].iter().find_map(|by| rest.split_once(by)) {
        if !is_name(qualifier.strip_suffix("()").unwrap_or(qualifier)) {
            return None;
        }
        rest = last;
    }
    is_name(rest).then_some(rest)
}

fn is_name(text: &str) -> bool {
    let is_letter = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '$';
    !text.is_empty() && text.len() <= 1024 && text.chars().all(is_letter) && !text.ends_with('$')
}

/// Whether its identifiers can be told from its text.
fn is_code(language: Language) -> bool {
    !matches!(language, Language::Json | Language::Toml | Language::Yaml | Language::Markdown)
}

/// What was found in a file.
#[derive(Default)]
struct Found {
    /// Lines by kind, each with how many match. Some may be left out.
    groups: [(u64, Vec<Line>); KINDS],
    parsed: bool,
    unparsed: bool,
}

/// What the threads share.
struct Shared {
    finder: Finder,
    /// What may still be given of each kind. Threads that look ahead see it too large, never too small.
    left: [Left; KINDS],
    /// Files whose parse counts. Threads that look ahead see it too small, never too large.
    parsed: AtomicUsize,
    parsers: Mutex<Vec<Parsers>>,
}

/// A line that has the name.
struct Used {
    /// From 0.
    index: usize,
    kind: UseKind,
    /// Where the name is, in bytes of the line.
    at: usize,
}

impl TreeSearch<'_> {
    fn uses_in(&self, shared: &Shared, path: &str, desk: &Desk<'_>) -> Seen<Found> {
        let stream = self.open(path)?;
        if stream.stat().len > PARSED_BYTES {
            drop(stream);
            return self.uses_in_large(shared, path, desk);
        }
        let is_parsed = Language::of(path, "").is_some_and(is_code);
        let tree = if is_parsed { stream.stat().len * TREE_BYTES } else { 0 };
        let _held = desk.hold(room(&stream) + tree)?;
        let text = text_of(&stream, desk.cancelled)?;
        let starts: Vec<usize> = std::iter::once(0)
            .chain(text.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1))
            .collect();
        let places = places(&shared.finder, &text, &starts);
        if places.is_empty() {
            return Ok(Found::default());
        }
        let mut found = Found::default();
        let kinds = shared.kinds(path, &text, &places, (&mut found, desk.cancelled))?;
        let mut used: Vec<Used> = Vec::new();
        for (place, kind) in places.iter().zip(kinds) {
            let index = usize::try_from(place.line).unwrap_or(usize::MAX) - 1;
            match used.last_mut().filter(|last| last.index == index) {
                Some(last) if last.kind <= kind => {}
                Some(last) => *last = Used { index, kind, at: place.at.start - starts[index] },
                None => used.push(Used { index, kind, at: place.at.start - starts[index] }),
            }
        }
        for (group, kind) in found.groups.iter_mut().zip(UseKind::ALL) {
            let of_kind: Vec<&Used> = used.iter().filter(|used| used.kind == kind).collect();
            group.0 = of_kind.len() as u64;
            group.1 = if shared.left[kind as usize].matches() > 0 {
                self.lines_with(&text, &starts, &of_kind, label(path))
            } else {
                Vec::new()
            };
        }
        Ok(found)
    }

    /// A file that is too large to be parsed.
    fn uses_in_large(&self, shared: &Shared, path: &str, desk: &Desk<'_>) -> Seen<Found> {
        let mut found = Found::default();
        let text = &mut found.groups[UseKind::Text as usize];
        // Not what is left, so that the lines do not depend on how far ahead this thread is.
        let matches = self.lines_of(&shared.finder, path, &Left::new(self.limit, self.max_chars), desk)?;
        *text = (matches.total, matches.lines);
        for line in text.1.iter_mut().filter(|line| line.matches) {
            line.kind = Some(UseKind::Text);
        }
        found.unparsed = text.0 > 0 && Language::of(path, "").is_some_and(is_code);
        Ok(found)
    }

    /// Lines of one kind with those around them, as many as one answer may have.
    fn lines_with(&self, text: &[u8], starts: &[usize], used: &[&Used], label: usize) -> Vec<Line> {
        let of = |index: usize, at: Option<usize>| {
            let end = starts.get(index + 1).map_or(text.len(), |next| next - 1);
            line(index as u64 + 1, &text[starts[index]..end], at, PREVIEW_CHARS)
        };
        // Nothing follows the last line terminator.
        let count = if starts.last() == Some(&text.len()) { starts.len() - 1 } else { starts.len() };
        let around = self.context_lines.min(MOST_AROUND);
        let (mut lines, mut chars, mut next) = (Vec::new(), 0_usize, 0);
        for (which, one) in used.iter().take(self.limit).enumerate() {
            let mut push = |line: Line| {
                chars = chars.saturating_add(cost(&line, label));
                lines.push(line);
            };
            (next.max(one.index.saturating_sub(around))..one.index).for_each(|index| push(of(index, None)));
            push(Line { kind: Some(one.kind), ..of(one.index, Some(one.at)) });
            let end = used.get(which + 1).map_or(count, |next| next.index).min(one.index + 1 + around);
            (one.index + 1..end).for_each(|index| push(of(index, None)));
            next = end.max(one.index + 1);
            if chars > self.max_chars {
                break;
            }
        }
        lines
    }
}

impl Shared {
    /// How the name is used at each place; all is text if the file is not parsed.
    fn kinds(
        &self,
        path: &str,
        text: &[u8],
        places: &[Place],
        (found, cancelled): (&mut Found, &dyn Fn() -> bool),
    ) -> Seen<Vec<UseKind>> {
        let textual = || vec![UseKind::Text; places.len()];
        let Ok(text) = std::str::from_utf8(text) else { return Ok(textual()) };
        let Some(language) = Language::of(path, text).filter(|language| is_code(*language)) else {
            return Ok(textual());
        };
        if self.parsed.load(Ordering::Relaxed) >= PARSED_FILES {
            found.unparsed = true;
            return Ok(textual());
        }
        let pool = || self.parsers.lock().unwrap_or_else(PoisonError::into_inner);
        let mut parsers = pool().pop().unwrap_or_default();
        let is_name = |name: &str| self.finder.next_in(name.as_bytes(), 0) == Some(0..name.len());
        let kinds = parsers.uses(language, text, &Sought { places, is_name: &is_name }, cancelled);
        pool().push(parsers);
        found.parsed = true;
        match kinds {
            Ok(kinds) => Ok(kinds.unwrap_or_else(textual)),
            Err(NoOutline::Cancelled) => Err(Skip::Cancelled),
            Err(NoOutline::TooHard) => {
                found.unparsed = true;
                Ok(textual())
            }
        }
    }
}

impl UnderWay<'_> {
    pub(super) fn references(&self, out: &mut TreeMatches) -> Result<(), TreeError> {
        let search = self.search;
        let case = case_of(search.letters, search.query, Case::Exact);
        let pattern = format!(r"\b{{start-half}}{}\b{{end-half}}", search.query.replace('$', r"\$"));
        let shared = Shared {
            finder: Finder::for_threads(self.threads, &[&pattern], Query::Regex, case)?,
            left: std::array::from_fn(|_| Left::new(search.limit, search.max_chars)),
            parsed: AtomicUsize::new(0),
            parsers: Mutex::default(),
        };
        let mut uses = Uses { name: search.query.to_owned(), ..Uses::default() };
        let mut groups: [Vec<Hit>; KINDS] = Default::default();
        let look = |path: &str, desk: &Desk<'_>| search.uses_in(&shared, path, desk);
        self.each(out, &look, &mut |out, path, found, desk| {
            let is_beyond = found.parsed && shared.parsed.load(Ordering::Relaxed) >= PARSED_FILES;
            let found = if is_beyond { look(&path, desk)? } else { found };
            shared.parsed.fetch_add(usize::from(found.parsed), Ordering::Relaxed);
            uses.unparsed += u64::from(found.unparsed);
            let total: u64 = found.groups.iter().map(|(count, _)| count).sum();
            (out.matches, out.files) = (out.matches + total, out.files + u64::from(total > 0));
            for (kind, (count, lines)) in found.groups.into_iter().enumerate().filter(|(_, (count, _))| *count > 0) {
                uses.counts[kind] += count;
                let lines = shared.left[kind].begin(lines, count, (search.context_lines, label(&path)));
                if !lines.is_empty() {
                    groups[kind].push(Hit { path: path.clone(), matches: count, lines, ..Hit::default() });
                }
            }
            Ok(())
        })?;
        let left = Left::new(search.limit, search.max_chars);
        for group in groups {
            left.spend(if group.is_empty() { 0 } else { HEADER_CHARS });
            for mut hit in group {
                hit.lines = left.begin(hit.lines, hit.matches, (search.context_lines, label(&hit.path)));
                out.hits.extend((!hit.lines.is_empty()).then_some(hit));
            }
        }
        let given = out.hits.iter().flat_map(|hit| &hit.lines).filter(|line| line.matches).count() as u64;
        out.truncated = given < out.matches;
        out.uses = Some(uses);
        Ok(())
    }
}

impl Left {
    fn new(matches: usize, chars: usize) -> Self {
        Self { matches: AtomicUsize::new(matches), chars: AtomicUsize::new(chars) }
    }

    fn spend(&self, chars: usize) {
        self.chars.store(self.chars().saturating_sub(chars), Ordering::Relaxed);
    }

    /// The beginning of some lines that still fits. After a line that does not, nothing fits.
    fn begin(&self, mut lines: Vec<Line>, matches: u64, (around, label): (usize, usize)) -> Vec<Line> {
        let (mut kept, mut given, mut chars) = (0, 0, 0_usize);
        for line in &lines {
            chars = chars.saturating_add(cost(line, label));
            if chars > self.chars() || (line.matches && given == self.matches()) {
                break;
            }
            (kept, given) = (kept + 1, given + usize::from(line.matches));
        }
        let is_whole = usize::try_from(matches) == Ok(given);
        lines.truncate(kept);
        // Not what stands before a line that is left out.
        let last = lines.iter().rfind(|line| line.matches).map(|line| line.number.saturating_add(around as u64));
        lines.retain(|line| last.is_some_and(|last| line.number <= last));
        self.spend(lines.iter().map(|line| cost(line, label)).sum());
        self.matches.store(if is_whole { self.matches() - given } else { 0 }, Ordering::Relaxed);
        lines
    }
}

fn cost(line: &Line, label: usize) -> usize {
    line.text.chars().count().saturating_add(label)
}

/// Where the name is in a text.
fn places(finder: &Finder, text: &[u8], starts: &[usize]) -> Vec<Place> {
    let (mut places, mut from, mut line) = (Vec::new(), 0, 0);
    while let Some(at) = finder.next_in(text, from).filter(|at| !at.is_empty()) {
        from = at.end;
        while starts.get(line + 1).is_some_and(|next| *next <= at.start) {
            line += 1;
        }
        places.push(Place { line: line as u64 + 1, at });
    }
    places
}
