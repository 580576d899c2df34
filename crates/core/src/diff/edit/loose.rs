//! Matches that are not to the byte: whole lines of which every one agrees with the old text except for one thing. What takes
//! their place keeps the bytes of the file in every line that the piece does not change.

use alloc::{string::String, vec::Vec};
use core::ops::Range;

use super::{
    Looseness, Places, Shape, Shift,
    find::{Hits, Place, bom, is_line_start},
};
use crate::{
    diff::{Change, compared},
    text::Text,
};

/// The rules, from strict to loose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Rung {
    Exact,
    LineEnds,
    Trailing,
    Indented(Shift),
    /// The indentation differs, and not everywhere in the same way: it counts as a place, and cannot be used.
    Uneven,
    Punctuation,
}

impl Rung {
    pub(super) fn level(&self) -> u8 {
        match self {
            Self::Exact => 0,
            Self::LineEnds => 1,
            Self::Trailing => 2,
            Self::Indented(_) | Self::Uneven => 3,
            Self::Punctuation => 4,
        }
    }
}

/// The loosest rule to try.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Most {
    LineEnds,
    Trailing,
    All,
}

/// A line without its end, and the end: `\n`, `\r\n` or nothing.
#[derive(Clone, Copy)]
struct Line<'a> {
    content: &'a str,
    end: &'a str,
}

fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    text.split_inclusive('\n').map(|line| {
        let bare = line.strip_suffix('\n').unwrap_or(line);
        let bare = if bare.len() < line.len() { bare.strip_suffix('\r').unwrap_or(bare) } else { bare };
        Line { content: bare, end: &line[bare.len()..] }
    })
}

/// Comparing stops after this many bytes for each byte of text and piece, so that texts that repeat themselves cost no more.
const WORK: usize = 16;

/// How far changes are moved to see whether the outcome depends on it.
const SLIDES: usize = 64;

/// What a line counts for beside its bytes.
const ROW: usize = 16;

/// The places that differ only by their line ends, or if there are none, by one of the other rules: with more than blanks at the
/// ends of lines or the like, all of them count. Never more than work that grows with the size of both texts.
pub(super) fn places(text: &Text, old: &str, new: &str, how: (Shape, Places), most: Most) -> Hits {
    let work = (text.as_str().len() + old.len() + new.len()).saturating_mul(WORK).saturating_add(1 << 20);
    let mut search =
        Search { text: text.as_str(), old: lines(old).collect(), texts: (old, new), shape: how.0, most, work };
    let mut found = search.candidates(trimmed_probe, false);
    let best = found.iter().map(|place| place.rung.level()).min();
    if best == Some(Rung::LineEnds.level()) {
        found.retain(|place| place.rung == Rung::LineEnds);
    } else if most == Most::All && !(text.as_str().is_ascii() && old.is_ascii()) {
        // Of two places that differ from the old text in different ways, neither is the nearer one.
        for place in search.candidates(plain_probe, true) {
            if found.iter().all(|there| there.range != place.range) {
                found.push(place);
            }
        }
        found.sort_by_key(|place| place.range.start);
    }
    if search.work == 0 {
        return Hits { places: found, all: false };
    }
    match how.1 {
        Places::One if found.len() > 1 => return Hits { places: found, all: true },
        Places::One => {}
        Places::All => {
            let mut end = 0;
            found.retain(|place| {
                let apart = place.range.start >= end;
                end = if apart { place.range.end } else { end };
                apart
            });
        }
    }
    // A place where the new text cannot be made to fit counts among others, and cannot be used.
    let fits = found.iter().all(|place| adapt(text.as_str(), place, old, new).is_some());
    Hits { places: if fits { found } else { Vec::new() }, all: true }
}

struct Search<'a> {
    text: &'a str,
    old: Vec<Line<'a>>,
    texts: (&'a str, &'a str),
    shape: Shape,
    most: Most,
    work: usize,
}

/// Whether two lines have nothing but blanks, one of them tabs and the other none.
fn other_blanks(one: &str, other: &str) -> bool {
    let is_blank = |line: &str| !line.is_empty() && line.trim().is_empty();
    is_blank(one) && is_blank(other) && one.contains('\t') != other.contains('\t')
}

/// The longest line without the blanks around it: every match has it.
fn trimmed_probe(line: &str) -> &str {
    line.trim()
}

/// The longest run of characters that no rule for punctuation changes.
fn plain_probe(line: &str) -> &str {
    line.split(|c: char| plain(c) != c || matches!(c, '\'' | '"' | '-' | ' ')).max_by_key(|run| run.len()).unwrap_or("")
}

impl<'a> Search<'a> {
    /// Every place that matches by some rule.
    fn candidates(&mut self, probe: fn(&str) -> &str, punctuation: bool) -> Vec<Place> {
        let probes = self.old.iter().map(|line| probe(line.content)).enumerate();
        // The first of the longest, so that the choice does not depend on the order of comparing.
        let Some((row, probe)) = probes.rev().max_by_key(|(_, probe)| probe.len()).filter(|(_, p)| !p.is_empty())
        else {
            return Vec::new();
        };
        let finder = memchr::memmem::Finder::new(probe.as_bytes());
        let (mut found, mut from) = (Vec::new(), 0);
        while let Some(at) = self.text.as_bytes().get(from..).and_then(|rest| finder.find(rest)).map(|at| from + at) {
            from = memchr::memchr(b'\n', &self.text.as_bytes()[at..]).map_or(self.text.len(), |end| at + end + 1);
            if let Some(start) = self.rows_up(at, row) {
                found.extend(if punctuation { self.punctuated(start) } else { self.fit(start) });
            }
            if self.work == 0 {
                break;
            }
        }
        found
    }

    /// The start of the line that is `rows` lines above the one with this byte.
    fn rows_up(&mut self, at: usize, rows: usize) -> Option<usize> {
        let mut start = line_start(self.text, at);
        for row in 0..rows {
            let Some(above) = start.checked_sub(1) else {
                spend(&mut self.work, at + ROW * row);
                return None;
            };
            start = line_start(self.text, above);
        }
        spend(&mut self.work, at - start + ROW * rows);
        // A byte order mark belongs to no line.
        Some(if start == 0 { bom(self.text) } else { start })
    }

    /// Compares the lines from here with the old ones, by the strictest rule that they follow.
    fn fit(&mut self, start: usize) -> Option<Place> {
        let mut window = Window::open(self.text, start);
        let mut trailing = false;
        for old in &self.old {
            let line = window.next()?;
            if line.content == old.content {
                continue;
            }
            if self.tells_of_tabs(line.content, old.content) {
                spend(&mut self.work, window.work());
                return None;
            }
            if self.most != Most::LineEnds && line.content.trim_end() == old.content.trim_end() {
                trailing = true;
                continue;
            }
            let indented = self.most == Most::All && line.content.trim() == old.content.trim();
            spend(&mut self.work, window.work());
            return if indented { self.shifted(start) } else { None };
        }
        spend(&mut self.work, window.work());
        self.place(start, window, if trailing { Rung::Trailing } else { Rung::LineEnds })
    }

    /// Whether only a line of blanks tells that tabs were written as blanks, and nothing tells by which, so that indented lines of the
    /// new text cannot be made to fit.
    fn tells_of_tabs(&self, line: &str, old: &str) -> bool {
        other_blanks(line, old) && self.brings_indented_lines()
    }

    /// Whether the new text has lines of its own that begin with a blank.
    fn brings_indented_lines(&self) -> bool {
        let is_own = |line: &Line<'_>| self.old.iter().all(|old| old.content != line.content);
        lines(self.texts.1).any(|line| line.content.starts_with([' ', '\t']) && is_own(&line))
    }

    fn shifted(&mut self, start: usize) -> Option<Place> {
        let mut window = Window::open(self.text, start);
        let mut pairs = Vec::with_capacity(self.old.len());
        for old in &self.old {
            let line = window.next()?;
            if line.content.trim() != old.content.trim() {
                spend(&mut self.work, window.work());
                return None;
            }
            if !old.content.trim().is_empty() {
                pairs.push((indent(old.content), indent(line.content)));
            }
        }
        spend(&mut self.work, window.work());
        self.place(start, window, shift(&pairs).map_or(Rung::Uneven, Rung::Indented))
    }

    fn punctuated(&mut self, start: usize) -> Option<Place> {
        let mut window = Window::open(self.text, start);
        for old in &self.old {
            let line = window.next()?;
            let (a, b) = (line.content.trim_end(), old.content.trim_end());
            if !a.chars().map(plain).eq(b.chars().map(plain)) || self.tells_of_tabs(line.content, old.content) {
                spend(&mut self.work, window.work());
                return None;
            }
        }
        spend(&mut self.work, window.work());
        self.place(start, window, Rung::Punctuation)
    }

    /// The place whose lines agree, if its ends do too.
    fn place(&self, start: usize, window: Window<'a>, rung: Rung) -> Option<Place> {
        let (last, old) = (window.last?, self.old.last()?);
        let at_end = window.at == self.text.len();
        let (old_ends, new_ends) = (self.texts.0.ends_with('\n'), self.texts.1.ends_with('\n'));
        let within = self.shape == Shape::Text && !old_ends;
        let closed = self.shape == Shape::Text || (old_ends && (new_ends || self.texts.1.is_empty()));
        if !closed && !at_end {
            // Only the last line of a file has no newline.
            return None;
        }
        let range = start..if within { window.at - last.end.len() } else { window.at };
        let mut loose = Vec::new();
        let ends = || self.old.iter().zip(lines(&self.text[start..]));
        if ends().any(|(old, line)| old.end != line.end && !old.end.is_empty() && !line.end.is_empty()) {
            loose.push(Looseness::LineEnds);
        }
        if !within && old.end.is_empty() != last.end.is_empty() {
            if self.text.ends_with('\r') {
                // It may be half of a line end.
                return None;
            }
            loose.push(Looseness::FinalNewline);
        }
        match &rung {
            Rung::Exact | Rung::LineEnds | Rung::Uneven => {}
            Rung::Trailing => loose.push(Looseness::TrailingBlanks),
            Rung::Indented(by) => loose.push(Looseness::Indentation { by: by.clone() }),
            Rung::Punctuation => loose.push(Looseness::Punctuation),
        }
        Some(Place { range, rung, loose })
    }
}

/// Reads lines from a place on.
struct Window<'a> {
    text: &'a str,
    from: usize,
    at: usize,
    rows: usize,
    last: Option<Line<'a>>,
}

impl<'a> Window<'a> {
    fn open(text: &'a str, at: usize) -> Self {
        Self { text, from: at, at, rows: 0, last: None }
    }

    /// What reading the lines so far counts for.
    fn work(&self) -> usize {
        self.at - self.from + ROW * self.rows
    }

    fn next(&mut self) -> Option<Line<'a>> {
        let rest = self.text.get(self.at..)?;
        let end = memchr::memchr(b'\n', rest.as_bytes()).map_or(rest.len(), |at| at + 1);
        let line = lines(&rest[..end]).next()?;
        self.at += end;
        self.rows += 1;
        self.last = Some(line);
        Some(line)
    }
}

fn spend(work: &mut usize, bytes: usize) {
    *work = work.saturating_sub(bytes + ROW);
}

fn line_start(text: &str, at: usize) -> usize {
    memchr::memrchr(b'\n', &text.as_bytes()[..at]).map_or(0, |newline| newline + 1)
}

fn indent(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

/// The one way in which all these indentations differ, each given as that of the piece and that of the file.
fn shift(pairs: &[(&str, &str)]) -> Option<Shift> {
    let (old, file) = *pairs.first()?;
    let deeper =
        file.strip_suffix(old).map(|by| (by, pairs.iter().all(|(old, file)| file.strip_suffix(old) == Some(by))));
    if let Some((by, true)) = deeper {
        return Some(Shift::Deeper(by.into()));
    }
    let less =
        old.strip_suffix(file).map(|by| (by, pairs.iter().all(|(old, file)| old.strip_suffix(file) == Some(by))));
    if let Some((by, true)) = less {
        return Some(Shift::Shallower(by.into()));
    }
    let only = |text: &str, blank: u8| text.bytes().all(|byte| byte == blank);
    let (old, file) = *pairs.iter().find(|(old, file)| old != file)?;
    let (tabs, spaces) = if only(file, b'\t') { (file, old) } else { (old, file) };
    let width = spaces.len().checked_div(tabs.len()).and_then(|width| u8::try_from(width).ok())?;
    let fits = |tabs: &str, spaces: &str| {
        only(tabs, b'\t') && only(spaces, b' ') && spaces.len() == tabs.len() * usize::from(width)
    };
    if !(1..=8).contains(&width) {
        None
    } else if pairs.iter().all(|(old, file)| fits(file, old)) {
        Some(Shift::Tabs(width))
    } else if pairs.iter().all(|(old, file)| fits(old, file)) {
        Some(Shift::Spaces(width))
    } else {
        None
    }
}

/// A new line with the indentation of the file; `None` if it cannot be told.
fn shifted(line: &str, by: &Shift, out: &mut String) -> Option<()> {
    if line.trim().is_empty() {
        out.push_str(line);
        return Some(());
    }
    let (blanks, rest) = line.split_at(indent(line).len());
    match by {
        Shift::Deeper(more) => {
            out.push_str(more);
            out.push_str(line);
        }
        Shift::Shallower(less) => out.push_str(line.strip_prefix(less.as_str())?),
        Shift::Tabs(width) => {
            let width = usize::from(*width);
            if !blanks.bytes().all(|blank| blank == b' ') || blanks.len() % width != 0 {
                return None;
            }
            out.extend(core::iter::repeat_n('\t', blanks.len() / width));
            out.push_str(rest);
        }
        Shift::Spaces(width) => {
            let tabs = blanks.bytes().take_while(|blank| *blank == b'\t').count();
            if !blanks.bytes().skip(tabs).all(|blank| blank == b' ') {
                return None;
            }
            out.extend(core::iter::repeat_n(' ', tabs * usize::from(*width)));
            out.push_str(&line[tabs..]);
        }
    }
    Some(())
}

/// The ASCII character that is typed for one of Unicode; every other is itself.
fn plain(c: char) -> char {
    match c {
        '\u{2018}'..='\u{201b}' | '\u{2032}' | '\u{2bc}' => '\'',
        '\u{201c}'..='\u{201f}' | '\u{2033}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
        other => other,
    }
}

/// The new text as it must stand at a place: lines that the old text has too are those of the file, and the others end, and are
/// indented, like them. `None` if that cannot be told: the indentation of a new line, or which of several equal lines stays.
pub(super) fn adapt(text: &str, place: &Place, old: &str, new: &str) -> Option<String> {
    if place.rung == Rung::Uneven {
        return None;
    }
    let (olds, news): (Vec<Line<'_>>, Vec<Line<'_>>) = (lines(old).collect(), lines(new).collect());
    let files: Vec<Line<'_>> = lines(&text[place.range.start..]).take(olds.len()).collect();
    fn content<'a>(line: &Line<'a>) -> &'a str {
        line.content
    }
    let forth: Vec<Change> = compared(olds.iter().map(content), news.iter().map(content), (0, 0)).collect();
    let lined = Lined { text, rung: &place.rung, files: &files, olds: &olds, news: &news };
    let mut out = lined.written(&forth)?;
    if files.iter().zip(&olds).any(|(file, old)| content(file) != content(old) || file.end != old.end) {
        // Compared from the end, other lines may count as those that stay.
        let (olds, news) = (olds.iter().rev().map(content), news.iter().rev().map(content));
        let mut back: Vec<Change> = compared(olds, news, (0, 0)).map(|change| lined.turned(&change)).collect();
        back.reverse();
        if (back != forth && lined.written(&back).as_ref() != Some(&out)) || lined.slides(&forth, &out) {
            return None;
        }
    }
    // At the end of the file its last line stays with or without a newline, as it was.
    let (ended, file_ended) = (old.ends_with('\n'), text[..place.range.end].ends_with('\n'));
    if place.loose.contains(&Looseness::FinalNewline) {
        if ended && !file_ended {
            if let Some(bare) = out.strip_suffix('\n').map(|bare| bare.strip_suffix('\r').unwrap_or(bare)) {
                if bare.is_empty() || bare.ends_with('\n') {
                    // A blank last line without its newline is no line.
                    return None;
                }
                out.truncate(bare.len());
            }
        } else if !ended && file_ended && !out.is_empty() && !out.ends_with('\n') {
            out.push_str(files.last().map_or("\n", |line| line.end));
        }
    }
    Some(out)
}

/// The lines of both texts of a piece, and those of the file that the old ones agree with.
struct Lined<'a> {
    text: &'a str,
    rung: &'a Rung,
    files: &'a [Line<'a>],
    olds: &'a [Line<'a>],
    news: &'a [Line<'a>],
}

impl Lined<'_> {
    /// A change between the reversed texts, as one between the texts.
    fn turned(&self, change: &Change) -> Change {
        let turn = |range: &Range<u32>, count: usize| {
            let count = u32::try_from(count).unwrap_or(u32::MAX);
            count.saturating_sub(range.end)..count.saturating_sub(range.start)
        };
        Change { old: turn(&change.old, self.olds.len()), new: turn(&change.new, self.news.len()) }
    }

    /// Whether lines that go or come could as well be equal ones beside them, with another outcome. A change that can be moved
    /// too far counts as such.
    fn slides(&self, changes: &[Change], out: &str) -> bool {
        for (at, change) in changes.iter().enumerate() {
            let mut steps = 0;
            if change.old.is_empty() == change.new.is_empty() {
                continue;
            }
            let first = at.checked_sub(1).map_or((0, 0), |at| (changes[at].old.end, changes[at].new.end));
            let last = changes.get(at + 1).map(|next| (next.old.start, next.new.start));
            for down in [true, false] {
                let mut moved = change.clone();
                while self.slide(&mut moved, first, last, down) {
                    steps += 1;
                    let mut changes = changes.to_vec();
                    changes[at] = moved.clone();
                    if steps > SLIDES || self.written(&changes).as_deref() != Some(out) {
                        return true;
                    }
                }
            }
        }
        false
    }

    /// Moves a change by one line, if the line that it takes in equals the one that it lets go.
    fn slide(&self, change: &mut Change, first: (u32, u32), last: Option<(u32, u32)>, down: bool) -> bool {
        let count = |lines: &[Line<'_>]| u32::try_from(lines.len()).unwrap_or(u32::MAX);
        let last = last.unwrap_or((count(self.olds), count(self.news)));
        let room = if down {
            change.old.end < last.0 && change.new.end < last.1
        } else {
            change.old.start > first.0 && change.new.start > first.1
        };
        let (lines, range) = if change.new.is_empty() { (self.olds, &change.old) } else { (self.news, &change.new) };
        let pair = if down {
            Some((range.start, range.end))
        } else {
            range.start.checked_sub(1).zip(range.end.checked_sub(1))
        };
        let content = |at: u32| lines.get(at as usize).map(|line| line.content);
        if !room || !pair.is_some_and(|(one, other)| content(one).is_some() && content(one) == content(other)) {
            return false;
        }
        let by =
            |range: &Range<u32>| if down { range.start + 1..range.end + 1 } else { range.start - 1..range.end - 1 };
        *change = Change { old: by(&change.old), new: by(&change.new) };
        true
    }

    /// The new lines, of which those outside the changes are the file's.
    fn written(&self, changes: &[Change]) -> Option<String> {
        let mut out = Writer { text: self.text, files: self.files, out: String::new() };
        let (mut row, mut at) = (0, 0);
        for change in changes {
            let (from, until) = (change.old.start as usize, change.new.start as usize);
            out.keep(row..from, &self.news[at..until]);
            let paired = change.old.len() == change.new.len();
            let there = |row: usize| self.files.get(row).zip(self.olds.get(row));
            let typed = |row: usize| there(row).is_some_and(|(file, old)| file.content != old.content);
            let lost = !paired && !change.new.is_empty() && change.old.clone().any(|row| typed(row as usize));
            if *self.rung == Rung::Punctuation && lost {
                // Which of the new lines keep the characters of these cannot be told.
                return None;
            }
            for (n, line) in self.news[until..change.new.end as usize].iter().enumerate() {
                match (self.rung, there(from + n).filter(|_| paired)) {
                    (Rung::Indented(by), _) => shifted(line.content, by, &mut out.out)?,
                    (Rung::Punctuation, Some((file, old))) => {
                        merged(file.content, old.content, line.content, &mut out.out);
                    }
                    (Rung::Exact | Rung::LineEnds | Rung::Trailing | Rung::Uneven | Rung::Punctuation, _) => {
                        out.out.push_str(line.content);
                    }
                }
                out.end(*line, from + n);
            }
            (row, at) = (change.old.end as usize, change.new.end as usize);
        }
        out.keep(row..self.olds.len(), &self.news[at..]);
        Some(out.out)
    }
}

struct Writer<'a> {
    text: &'a str,
    files: &'a [Line<'a>],
    out: String,
}

impl Writer<'_> {
    /// Lines of the file, ended like these new ones.
    fn keep(&mut self, rows: Range<usize>, news: &[Line<'_>]) {
        for (row, new) in rows.zip(news) {
            self.out.push_str(self.files.get(row).map_or(new.content, |line| line.content));
            self.end(*new, row);
        }
    }

    /// Ends a line, if the new one is ended, as the file ends the line of that row or one near it.
    fn end(&mut self, new: Line<'_>, row: usize) {
        if new.end.is_empty() {
            return;
        }
        let row = row.min(self.files.len().saturating_sub(1));
        let near = self.files.iter().take(row + 1).rev().chain(self.files.iter().skip(row + 1));
        let end = near.map(|line| line.end).find(|end| !end.is_empty());
        self.out.push_str(end.or_else(|| line_end(self.text, 0)).unwrap_or("\n"));
    }
}

/// A changed line: the characters that the old and the new one share are those of the file.
fn merged(file: &str, old: &str, new: &str, out: &mut String) {
    /// Longer lines are only compared from both ends.
    const MOST: usize = 4096;
    let (file, old) = (file.trim_end(), old.trim_end());
    let theirs: Vec<char> = file.chars().collect();
    let olds: Vec<&str> = chars(old).collect();
    let news: Vec<&str> = chars(new).collect();
    if olds.len() > MOST || news.len() > MOST || olds.len() != theirs.len() {
        out.push_str(new);
        return;
    }
    let mut row = 0;
    for change in compared(olds.iter().copied(), news.iter().copied(), (0, 0)) {
        out.extend(&theirs[row..change.old.start as usize]);
        out.extend(news[change.new.start as usize..change.new.end as usize].iter().copied());
        row = change.old.end as usize;
    }
    out.extend(&theirs[row..]);
}

fn chars(text: &str) -> impl Iterator<Item = &str> {
    text.char_indices().map(|(at, c)| &text[at..at + c.len_utf8()])
}

/// How the line with this byte ends; `None` for a last line without an end.
pub(super) fn line_end(text: &str, at: usize) -> Option<&'static str> {
    let end = at + memchr::memchr(b'\n', text.as_bytes().get(at..)?)?;
    Some(if text.as_bytes()[..end].ends_with(b"\r") { "\r\n" } else { "\n" })
}

/// The end of a file without a newline that agrees with whole lines of a piece to the byte before it.
pub(super) fn open_end(text: &str, old: &str) -> Option<Place> {
    let bare = old.strip_suffix('\n').filter(|bare| !bare.is_empty() && !text.ends_with(['\n', '\r']))?;
    let start = text.strip_suffix(bare)?.len();
    let place = Place { range: start..text.len(), rung: Rung::LineEnds, loose: Vec::from([Looseness::FinalNewline]) };
    is_line_start(text, start).then_some(place)
}
