//! Finds the lines of a window that the model holds, so that a partial answer can name them and send only the others. A line that
//! stands where it was shown is named by its number. One that someone else's change moved is also named by the number under which
//! it was shown, and only if no other text was shown under that number.

use alloc::{vec, vec::Vec};

use super::span::{Held, Slots, overlapping};
use crate::{
    diff::equal_runs,
    knowledge::Knowledge,
    limits::Limits,
    path::PathKey,
    scope::Lines,
    text::{ContentHash, Text},
};

/// A run of lines that an answer names instead of sending it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The text of which the lines are held.
    pub base: ContentHash,
    /// The number of the first line in that text.
    pub shown_as: u32,
    /// The lines in the present text.
    pub lines: Lines,
}

impl Piece {
    /// The lines in the text of which they are held; `None` if they cannot be numbers of lines.
    #[must_use]
    pub fn held_lines(&self) -> Option<Lines> {
        Lines::new(self.shown_as, self.shown_as.checked_add(self.lines.count() - 1)?)
    }

    /// Whether the lines had other numbers when they were shown.
    #[must_use]
    pub fn is_moved(&self) -> bool {
        self.shown_as != self.lines.first()
    }
}

/// Which held lines an answer may name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Naming {
    /// None.
    #[default]
    Nothing,
    /// Lines that are held of the present text.
    OfThisText,
    /// Also lines of other texts that are equal in it, whether or not they have moved.
    OfOtherTexts,
}

/// The most other texts that are loaded and compared.
const MOST_TEXTS: usize = 8;

/// The lines of `window` that are held in the form of `now`, in order. `load` gives a stored text, verified. Other texts beyond the
/// limits of a diff are not searched for lines that have moved.
pub fn pieces(
    (held, path): (&Knowledge, &PathKey),
    (now, window): (&Text, Lines),
    naming: Naming,
    limits: &Limits,
    load: impl FnMut(ContentHash) -> Option<Text>,
) -> Vec<Piece> {
    let spans = held.of(path);
    if naming == Naming::Nothing || spans.is_empty() {
        return Vec::new();
    }
    let mut found = Found { window, sources: vec![None; window.count() as usize] };
    let of_this_form = || spans.iter().filter(|span| span.version().form == now.form());
    for span in of_this_form().filter(|span| span.is_of(now.id())) {
        found.claim_each(span, |line| (line <= now.total()).then_some(now.hash()));
    }
    if naming == Naming::OfOtherTexts {
        let texts = others(of_this_form().filter(|span| !span.is_of(now.id())), load);
        for (base, text) in &texts {
            let of_base = || of_this_form().filter(|span| span.version().hash == *base && !span.is_of(now.id()));
            for span in of_base() {
                let is_same = |line| line <= text.total() && line <= now.total() && text.line(line) == now.line(line);
                found.claim_each(span, |line| is_same(line).then_some(*base));
            }
        }
        for (base, text) in texts.iter().filter(|(_, text)| is_comparable(text, now, limits)) {
            for (old, new, count) in equal_runs(text, now).filter(|(old, new, _)| old != new) {
                let is_held = |line| held.bears_alone(path, line, *base, now.form());
                (0..count).filter(|at| is_held(old + at)).for_each(|at| found.claim(new + at, (*base, old + at)));
            }
        }
    }
    found.pieces(now, limits.partial_piece as usize)
}

/// Each text of these runs, once, if it is stored.
fn others<'h>(
    spans: impl Iterator<Item = &'h Held>,
    mut load: impl FnMut(ContentHash) -> Option<Text>,
) -> Vec<(ContentHash, Text)> {
    let mut hashes: Vec<ContentHash> = Vec::new();
    for span in spans {
        let hash = span.version().hash;
        if !hashes.contains(&hash) && hashes.len() < MOST_TEXTS {
            hashes.push(hash);
        }
    }
    hashes.into_iter().filter_map(|hash| load(hash).map(|text| (hash, text))).collect()
}

fn is_comparable(one: &Text, other: &Text, limits: &Limits) -> bool {
    [one, other]
        .iter()
        .all(|text| text.as_str().len() <= limits.diff_bytes as usize && text.total() <= limits.diff_lines)
}

/// For each line of a window the text of which it is held, and its number there.
struct Found {
    window: Lines,
    sources: Vec<Option<(ContentHash, u32)>>,
}

impl Found {
    /// What was found first stays.
    fn claim(&mut self, line: u32, source: (ContentHash, u32)) {
        let at = line.checked_sub(self.window.first()).and_then(|at| self.sources.get_mut(at as usize));
        if let Some(place) = at {
            place.get_or_insert(source);
        }
    }

    /// Those lines of a run that `base` gives a text for, under the numbers they have.
    fn claim_each(&mut self, span: &Held, base: impl Fn(u32) -> Option<ContentHash>) {
        let Some(lines) = span.lines() else { return };
        let (first, last) = (lines.first().max(self.window.first()), lines.last().min(self.window.last()));
        for line in first..=last {
            if let Some(base) = base(line) {
                self.claim(line, (base, line));
            }
        }
    }

    /// Runs of lines that can be named together and have at least so many bytes.
    fn pieces(mut self, now: &Text, least: usize) -> Vec<Piece> {
        let first = self.window.first();
        let offset = |(line, source): (u32, Option<(ContentHash, u32)>)| {
            // Lines that have not moved are named together, whatever text they are held of.
            source.map(|(base, old)| (i64::from(old) - i64::from(line), (old != line).then_some(base)))
        };
        let all: Vec<(u32, Option<(ContentHash, u32)>)> = (first..).zip(self.sources.iter().copied()).collect();
        for run in all.chunk_by(|a, b| offset(*a) == offset(*b)) {
            let (from, to) = (run[0].0, run[run.len() - 1].0);
            if now.end(to) - now.start(from) < least {
                (from..=to).for_each(|line| self.sources[(line - first) as usize] = None);
            }
        }
        let mut pieces: Vec<Piece> = Vec::new();
        for (line, source) in (first..).zip(self.sources) {
            let Some((base, old)) = source else { continue };
            let goes_on = |piece: &&mut Piece| {
                piece.base == base && piece.lines.last() + 1 == line && piece.shown_as + piece.lines.count() == old
            };
            match pieces.last_mut().filter(goes_on) {
                Some(piece) => piece.lines = Lines::new(piece.lines.first(), line).unwrap_or(piece.lines),
                None => {
                    pieces.extend(Lines::new(line, line).map(|lines| Piece { base, shown_as: old, lines }));
                }
            }
        }
        pieces
    }
}

/// The lines of `window` that are in none of these pieces, which are in order.
#[must_use]
pub fn others_than(window: Lines, pieces: &[Piece]) -> Vec<Lines> {
    let mut sent = Vec::new();
    let mut next = window.first();
    for piece in pieces {
        sent.extend(Lines::new(next, piece.lines.first() - 1));
        next = piece.lines.last() + 1;
    }
    sent.extend(Lines::new(next, window.last()));
    sent
}

/// Whether pieces are in order, lie inside the window and have numbers that lines can have.
pub(super) fn are_in_order(window: Lines, pieces: &[Piece]) -> bool {
    let mut next = window.first();
    pieces.iter().all(|piece| {
        let fits = piece.lines.first() >= next && piece.lines.last() <= window.last() && piece.held_lines().is_some();
        next = piece.lines.last().saturating_add(1);
        fits
    })
}

/// Whether recorded pieces are true, by comparing the texts again; `None` if a text is not stored.
pub fn are_equal(pieces: &[Piece], now: &Text, mut load: impl FnMut(ContentHash) -> Option<Text>) -> Option<bool> {
    for piece in pieces.iter().filter(|piece| piece.base != now.hash() || piece.is_moved()) {
        let text = load(piece.base)?;
        let lines = piece.held_lines().filter(|lines| lines.last() <= text.total());
        let is_same = |lines: Lines| piece.lines.last() <= now.total() && text.slice(lines) == now.slice(piece.lines);
        if !lines.is_some_and(is_same) {
            return Some(false);
        }
    }
    Some(true)
}

/// Runs of slots under which more than one text was shown, in order.
pub(super) fn also_worn(worn: &[Slots], more: impl Iterator<Item = Slots>) -> Vec<Slots> {
    let mut all: Vec<Slots> = worn.iter().copied().chain(more.filter(|slots| slots.from < slots.to)).collect();
    all.sort_unstable_by_key(|slots| slots.from);
    all.dedup_by(|later, before| {
        let joins = later.from <= before.to;
        if joins {
            before.to = before.to.max(later.to);
        }
        joins
    });
    all
}

/// The slots of runs that are held no longer of any text of which they were.
pub(super) fn taken(before: &[Held], after: &[Held]) -> Vec<Slots> {
    let mut all = Vec::new();
    for old in before {
        let is_still = |new: &&Held| old.versions().any(|version| new.is_of(version.id()));
        let mut from = old.slots.from;
        for new in overlapping(after, old.slots).filter(is_still) {
            all.push(Slots { from, to: new.slots.from.min(old.slots.to) });
            from = from.max(new.slots.to);
        }
        all.push(Slots { from, to: old.slots.to });
    }
    all.retain(|slots| slots.from < slots.to);
    all
}
