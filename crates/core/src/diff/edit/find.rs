//! Where the old text of a piece stands in a text, and what then takes its place: first the very bytes, then other line ends, then
//! looser rules. A stricter rule that finds anything is the only one used.

use alloc::{borrow::Cow, vec::Vec};
use core::ops::Range;

use super::{
    EditError, Looseness, MOST_STATED, Piece, Places, Shape,
    loose::{self, Rung},
    odd,
};
use crate::text::Text;

/// A piece and the places where it may stand.
#[derive(Clone, Debug)]
pub(super) struct Found<'p> {
    pub(super) index: usize,
    pub(super) piece: &'p Piece,
    /// The texts without line numbers that were copied along.
    pub(super) old: Cow<'p, str>,
    pub(super) new: Cow<'p, str>,
    /// The stated first line.
    pub(super) line: Option<u32>,
    pub(super) places: Vec<Place>,
    /// Whether these are all of them.
    pub(super) all: bool,
}

/// A place where an old text stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Bytes of the text that was searched.
    pub(super) range: Range<usize>,
    pub(super) rung: Rung,
    /// What was taken as equal.
    pub(super) loose: Vec<Looseness>,
}

/// What a search found.
pub(super) struct Hits {
    pub(super) places: Vec<Place>,
    /// Whether these are all of them; if not, none can be taken for the only one.
    pub(super) all: bool,
}

impl Place {
    pub(super) fn exact(range: Range<usize>) -> Self {
        Self { range, rung: Rung::Exact, loose: Vec::new() }
    }
}

impl<'p> Found<'p> {
    pub(super) fn new(index: usize, piece: &'p Piece) -> Self {
        let (old, new) = (Cow::Borrowed(piece.old.as_str()), Cow::Borrowed(piece.new.as_str()));
        Self { index, piece, old, new, line: piece.line, places: Vec::new(), all: true }
    }

    /// Takes what a search found; whether that is an answer.
    fn take(&mut self, hits: Hits) -> bool {
        (self.places, self.all) = (hits.places, hits.all);
        !self.places.is_empty() || !self.all
    }

    /// Whether the old text stands everywhere to the byte, and the new one is taken as it is.
    pub(super) fn is_exact(&self) -> bool {
        !self.places.is_empty() && self.places.iter().all(|place| place.loose.is_empty()) && !self.piece.old.is_empty()
    }

    pub(super) fn is_looser_than_line_ends(&self) -> bool {
        self.places.iter().any(|place| match place.rung {
            Rung::Exact | Rung::LineEnds => false,
            Rung::Trailing | Rung::Indented(_) | Rung::Uneven | Rung::Punctuation => true,
        })
    }
}

/// Looks for a piece by every rule.
pub(super) fn find<'p>(text: &Text, index: usize, piece: &'p Piece) -> Found<'p> {
    let mut found = strict(text, index, piece);
    let how = (piece.shape, piece.places);
    if !found.places.is_empty() || !found.all {
        return found;
    }
    if found.take(loose::places(text, &piece.old, &piece.new, how, loose::Most::All)) {
        return found;
    }
    let mut best: Option<(Found<'p>, u8)> = None;
    for (old, new, first) in odd::without_numbers(&piece.old, &piece.new) {
        let mut bare = Found { old: old.into(), new: new.into(), line: piece.line.or(Some(first)), ..found.clone() };
        let hits = loose::places(text, &bare.old, &bare.new, how, loose::Most::Trailing);
        if !bare.take(hits) {
            continue;
        }
        bare.places.iter_mut().for_each(|place| place.loose.insert(0, Looseness::LineNumbers));
        let level = bare.places.first().map_or(0, |place| place.rung.level());
        if best.as_ref().is_none_or(|(_, before)| level < *before) {
            best = Some((bare, level));
        }
    }
    best.map_or(found, |(bare, _)| bare)
}

/// Looks for a piece to the byte, then with other line ends.
pub(super) fn strict<'p>(text: &Text, index: usize, piece: &'p Piece) -> Found<'p> {
    let mut found = Found::new(index, piece);
    let how = (piece.shape, piece.places);
    let other_ends = || loose::places(text, &piece.old, &piece.new, how, loose::Most::LineEnds);
    if !found.take(exact(text.as_str(), &piece.old, &piece.new, how)) {
        found.take(other_ends());
    } else if piece.places == Places::One && text.as_str().contains('\r') {
        // Nobody sees line ends: a place that differs only in them may be the one that is meant.
        let Hits { places, all } = other_ends();
        let apart = |place: &Place| {
            found
                .places
                .iter()
                .all(|known| known.range.end <= place.range.start || place.range.end <= known.range.start)
        };
        let more: Vec<Place> = places.into_iter().filter(apart).collect();
        found.places.extend(more);
        found.all &= all;
    }
    found
}

/// What takes the place of the old text there; `None` if it cannot be told, so that the place cannot be used.
pub(super) fn made<'p>(text: &Text, found: &Found<'p>, place: &Place) -> Option<Cow<'p, str>> {
    if (place.rung == Rung::Exact && place.loose.is_empty()) || found.piece.old.is_empty() {
        return Some(found.new.clone());
    }
    if place.rung == Rung::Exact && place.loose == [Looseness::LineEnds] {
        let lines = found.new.replace("\r\n", "\n");
        let at = if found.old.starts_with('\n') { place.range.start } else { place.range.end };
        let end = loose::line_end(text.as_str(), at).unwrap_or("\n");
        return Some(Cow::Owned(if end == "\n" { lines } else { lines.replace('\n', end) }));
    }
    loose::adapt(text.as_str(), place, &found.old, &found.new).map(Cow::Owned)
}

/// Overlapping occurrences are counted one by one, up to this many bytes of comparing for each byte of the text.
const WORK: usize = 8;

/// Where the very bytes of `old` stand: with [`Places::All`] from left to right without overlaps, otherwise also overlapping ones,
/// because it cannot be known which of them is meant. Places that do not fit do not count. Also whether these are all of them.
pub(super) fn occurrences(
    text: &str,
    old: &str,
    places: Places,
    fits: impl Fn(&Range<usize>) -> bool,
) -> (Vec<Range<usize>>, bool) {
    let bytes = text.as_bytes();
    let finder = memchr::memmem::Finder::new(old.as_bytes());
    let (mut from, mut work) = (0, bytes.len().saturating_mul(WORK).saturating_add(1 << 20));
    let mut found = Vec::new();
    while let Some(at) = bytes.get(from..).and_then(|rest| finder.find(rest)).map(|at| from + at) {
        let range = at..at + old.len();
        let fits = fits(&range);
        from = match places {
            Places::All if fits => range.end,
            Places::All | Places::One => at + old.chars().next().map_or(1, char::len_utf8),
        };
        if fits {
            found.push(range);
        }
        match work.checked_sub(old.len()) {
            Some(left) => work = left,
            None => return (found, false),
        }
    }
    (found, true)
}

/// Every place where the very bytes of `old` stand. The last line counts as equal without its newline too, as a reader does not
/// show the difference.
fn exact(text: &str, old: &str, new: &str, (shape, places): (Shape, Places)) -> Hits {
    let fits = |range: &Range<usize>| match shape {
        Shape::Text => true,
        Shape::Block | Shape::Hunk => is_whole(text, range, (old, new)),
    };
    let (ranges, all) = occurrences(text, old, places, fits);
    let mut found: Vec<Place> = ranges.into_iter().map(|range| whole_end(text, old, range)).collect();
    let unusable = found.iter().filter(|place| place.rung == Rung::Uneven).count();
    if unusable > 0 && (places == Places::All || found.len() == 1) {
        return Hits { places: Vec::new(), all };
    }
    if shape == Shape::Text && !old.contains('\n') && new.contains('\n') {
        // Nothing in the old text says how lines end.
        let other = |place: &&mut Place| loose::line_end(text, place.range.end).is_some_and(|end| has_other(new, end));
        found.iter_mut().filter(other).for_each(|place| place.loose.push(Looseness::LineEnds));
    }
    if let Some(end) = loose::open_end(text, old) {
        // Where the new text cannot be made to fit, it counts among others, and cannot be used.
        let counts = places == Places::One && !found.is_empty();
        if counts || loose::adapt(text, &end, old, new).is_some() {
            found.push(end);
        }
    }
    Hits { places: found, all }
}

/// A place of the very bytes, where it does not begin between CR and LF. One that does would leave half a line end behind: it takes
/// the CR along, and the new lines end likewise. If more lines of it end otherwise, it cannot be used.
fn whole_end(text: &str, old: &str, range: Range<usize>) -> Place {
    // Whoever writes a CR sees them.
    let blind = !old.contains('\r') && text[..range.start].ends_with('\r');
    let Some(rest) = old.strip_prefix('\n').filter(|_| blind) else {
        return Place::exact(range);
    };
    let rung = if rest.contains('\n') { Rung::Uneven } else { Rung::Exact };
    Place { range: range.start - 1..range.end, rung, loose: Vec::from([Looseness::LineEnds]) }
}

/// Whether every line of a text ends in the other way.
fn has_other(new: &str, end: &str) -> bool {
    new.split_inclusive('\n').filter(|line| line.ends_with('\n')).all(|line| line.ends_with("\r\n") != (end == "\r\n"))
}

/// Whether these bytes are whole lines, and would be after the change. A byte order mark belongs to no line.
fn is_whole(text: &str, range: &Range<usize>, (old, new): (&str, &str)) -> bool {
    let ends = |text: &str| text.ends_with('\n');
    let at_end = range.end == text.len();
    is_line_start(text, range.start) && (at_end || (ends(old) && (new.is_empty() || ends(new))))
}

pub(super) fn is_line_start(text: &str, at: usize) -> bool {
    at == 0 || text.as_bytes().get(at - 1) == Some(&b'\n') || at == bom(text)
}

/// The length of the byte order mark.
pub(super) fn bom(text: &str) -> usize {
    const BOM: &str = "\u{feff}";
    if text.starts_with(BOM) { BOM.len() } else { 0 }
}

/// The error for several places.
pub(super) fn many<'a>(text: &Text, piece: usize, places: impl ExactSizeIterator<Item = &'a Place>) -> EditError {
    let count = places.len();
    EditError::Many {
        piece,
        count,
        places: places.take(MOST_STATED).map(|place| text.line_at(place.range.start)).collect(),
    }
}
