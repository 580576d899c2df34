//! Places pieces in one text: all of them or none. Each is looked for in the base, not in what the pieces before it leave; where
//! several places are alike, only what was said about the place decides, and only if it leaves exactly one.

use alloc::{borrow::Cow, string::String, vec::Vec};
use core::ops::Range;

use super::{
    Assumed, Edit, EditError, Looseness, Numbers, Piece, Places, Shape, choose,
    compose::{self, Kept, Seg},
    find::{self, Found, Place},
    nearest::nearest,
    odd,
};
use crate::text::Text;

/// Places all pieces in one text. Never makes only some of them.
///
/// # Errors
/// [`EditError`] for the piece at fault.
pub fn place(base: &Text, pieces: &[Piece], numbers: Numbers) -> Result<Edit, EditError> {
    let mut found = Vec::with_capacity(pieces.len());
    for (index, piece) in pieces.iter().enumerate() {
        found.push(look(base, index, piece, numbers)?);
    }
    choose::choose(base, &mut found, numbers)?;
    in_order(base, &found, numbers)?;
    // The answer to a call with one exact piece names all lines of its old text: only so can it be followed from the call.
    let uncut = matches!(&found[..], [one] if one.is_exact());
    let mut made = Made { base, segs: Vec::new(), assumed: Vec::new(), uncut };
    let kept = match &found[..] {
        [one] if one.piece.places == Places::One && one.is_exact() => Kept::One(&one.piece.old),
        _ => Kept::All,
    };
    for found in &found {
        made.add(found, kept)?;
    }
    made.finish(kept, found.iter().map(|found| found.places.len().max(1)).sum())
}

/// Where a piece may stand in the base; no places if it is not there at all.
fn look<'p>(base: &Text, index: usize, piece: &'p Piece, numbers: Numbers) -> Result<Found<'p>, EditError> {
    if piece.new.contains('\0') {
        return Err(EditError::NotText);
    }
    if piece.old.is_empty() {
        return between(base, index, piece, numbers);
    }
    let found = find::find(base, index, piece);
    if !found.all {
        return Err(find::many(base, index, found.places.iter()));
    }
    // Also where it happens to stand at the end of a line.
    if let Some(line) = odd::elision_in(base, &piece.old) {
        return Err(EditError::Elision { piece: index, line });
    }
    if found.places.is_empty() {
        if odd::is_ours(&piece.old) {
            return Err(EditError::Ours { piece: index });
        }
    } else if let Some(line) = odd::elision_in(base, &piece.new) {
        return Err(EditError::Elision { piece: index, line });
    }
    Ok(found)
}

/// A piece without old text stands at the only place that an empty text has, at the end if it says so, or where a number says.
fn between<'p>(base: &Text, index: usize, piece: &'p Piece, numbers: Numbers) -> Result<Found<'p>, EditError> {
    let text = base.as_str();
    let stated = piece.line.filter(|line| numbers == Numbers::BreakTies && *line <= base.total().saturating_add(1));
    let at = match (piece.shape, stated) {
        (Shape::Text, _) => return Err(EditError::Empty),
        (Shape::Block | Shape::Hunk, _) if text.is_empty() => 0,
        (Shape::Hunk, _) if piece.at_end => text.len(),
        (Shape::Hunk, Some(line)) if line <= 1 => find::bom(text),
        (Shape::Hunk, Some(line)) => base.start(line),
        (Shape::Block | Shape::Hunk, _) => return Err(EditError::NoContext { piece: index }),
    };
    let mut found = Found::new(index, piece);
    let mut place = Place::exact(at..at);
    if at == text.len() && !text.is_empty() && !text.ends_with('\n') {
        let bare = piece.new.strip_suffix('\n').unwrap_or(&piece.new);
        if bare.is_empty() || bare.ends_with('\n') {
            // A blank last line without its newline is no line.
            return Err(EditError::NoContext { piece: index });
        }
        // The last line gets the newline that the new last line does without.
        found.new = Cow::Owned(["\n", bare].concat());
        place.loose.push(Looseness::FinalNewline);
    } else if at < text.len() && !piece.new.is_empty() && !piece.new.ends_with('\n') {
        return Err(EditError::NoContext { piece: index });
    }
    found.places.push(place);
    Ok(found)
}

/// What the pieces so far make of the base.
struct Made<'t, 'p> {
    base: &'t Text,
    segs: Vec<Seg<'p>>,
    assumed: Vec<Assumed>,
    /// Whether places keep the lines at their ends that do not change.
    uncut: bool,
}

impl<'p> Made<'_, 'p> {
    fn add(&mut self, found: &Found<'p>, kept: Kept<'_>) -> Result<(), EditError> {
        if found.places.is_empty() {
            return self.add_own(found);
        }
        if found.is_looser_than_line_ends() && !self.segs.is_empty() {
            // A piece before may have made the very text, elsewhere.
            let there = find::strict(&self.so_far()?, found.index, found.piece);
            if !there.places.is_empty() || !there.all {
                return Err(find::many(self.base, found.index, found.places.iter()));
            }
        }
        for place in &found.places {
            let Some(new) = find::made(self.base, found, place) else {
                return Err(missing(self.base, found));
            };
            let cores = Cores::of(&self.base.as_str()[place.range.clone()], &new);
            let moved = |range: &Range<usize>| place.range.start + range.start..place.range.start + range.end;
            let (piece, whole) = (found.index, place.range.clone());
            match kept {
                Kept::One(_) => self.segs.push(Seg { range: whole.clone(), new, piece, core: whole }),
                Kept::All if self.uncut => self.segs.push(Seg { range: whole.clone(), new, piece, core: whole }),
                Kept::All if found.piece.shape != Shape::Hunk => {
                    let new = String::from(&new[cores.new.clone()]).into();
                    self.segs.push(Seg { range: moved(&cores.old), new, piece, core: whole });
                }
                Kept::All if cores.old.is_empty() && cores.new.is_empty() => {}
                Kept::All => {
                    let new = String::from(&new[cores.new.clone()]).into();
                    self.segs.push(Seg { range: moved(&cores.old), new, piece, core: moved(&cores.wide) });
                }
            }
            let line = self.base.line_at(place.range.start);
            self.assumed.extend(place.loose.iter().map(|what| Assumed { piece, line, what: what.clone() }));
        }
        Ok(())
    }

    /// The base with the pieces so far.
    fn so_far(&mut self) -> Result<Text, EditError> {
        clash(&self.segs)?;
        self.segs.sort_by_key(|seg| (seg.range.start, seg.range.end));
        Ok(Text::new(compose::after(self.base.as_str(), &self.segs)))
    }

    /// A piece that is not in the base may be in the text after the pieces before it. What it changes of them becomes one with it.
    fn add_own(&mut self, found: &Found<'p>) -> Result<(), EditError> {
        if self.segs.is_empty() {
            return Err(missing(self.base, found));
        }
        let so_far = self.so_far()?;
        let there = find::strict(&so_far, found.index, found.piece);
        let [place] = &there.places[..] else {
            return Err(if there.places.is_empty() && there.all {
                missing(self.base, found)
            } else {
                find::many(&so_far, found.index, there.places.iter())
            });
        };
        if !there.all {
            return Err(find::many(&so_far, found.index, there.places.iter()));
        }
        let (text, at) = (so_far.as_str(), place.range.clone());
        let (mut before, mut own, mut behind) = (Vec::new(), Vec::new(), Vec::new());
        let mut grown = 0_isize;
        // By how much the text grew before the place, and up to its end.
        let (mut to_start, mut to_end) = (0, 0);
        for seg in core::mem::take(&mut self.segs) {
            let start = seg.range.start.wrapping_add_signed(grown);
            let span = start..start + seg.new.len();
            grown += seg.new.len().cast_signed() - seg.range.len().cast_signed();
            if span.end <= at.start {
                (to_start, to_end) = (grown, grown);
                before.push(seg);
            } else if span.start >= at.end {
                behind.push(seg);
            } else {
                to_end = grown;
                own.push((span, seg));
            }
        }
        let unmoved = |at: usize, grown: isize| at.wrapping_add_signed(-grown);
        let (start, head) = match own.first() {
            Some((span, seg)) if span.start <= at.start => (seg.range.start, &text[span.start..at.start]),
            Some(_) | None => (unmoved(at.start, to_start), ""),
        };
        let (end, tail) = match own.last() {
            Some((span, seg)) if span.end >= at.end => (seg.range.end, &text[at.end..span.end]),
            Some(_) | None => (unmoved(at.end, to_end), ""),
        };
        let made = find::made(&so_far, &there, place).ok_or_else(|| missing(self.base, found))?;
        let new = [head, &made, tail].concat();
        let (piece, core) = (found.index, start..end);
        self.segs = before;
        self.segs.push(Seg { range: start..end, new: new.into(), piece, core });
        self.segs.append(&mut behind);
        let line = self.base.line_at(start);
        self.assumed.push(Assumed { piece, line, what: Looseness::OwnEdit });
        self.assumed.extend(place.loose.iter().map(|what| Assumed { piece, line, what: what.clone() }));
        Ok(())
    }

    fn finish(mut self, kept: Kept<'_>, count: usize) -> Result<Edit, EditError> {
        clash(&self.segs)?;
        self.segs.sort_by_key(|seg| (seg.range.start, seg.range.end));
        let after = compose::after(self.base.as_str(), &self.segs);
        let after = Text::in_form(after, self.base.form());
        if !compose::is_proved(self.base, &after, &self.segs) {
            return Err(EditError::Unverified);
        }
        let noop = after.as_str() == self.base.as_str();
        let hunks = if noop { Vec::new() } else { compose::hunks(self.base, &self.segs, kept) };
        Ok(Edit { after, hunks, count, assumed: self.assumed, noop })
    }
}

/// Hunks that have an order must stand in it: one that is found at or above the hunk before it has lost its own place, and what was
/// found is another that looks like it. So has one that is found within that hunk, or in lines of it although the stated lines are
/// apart, unless the text is known to be the one that the hunks were written for. Whatever is known, one hunk may not take a line
/// that the other shows as staying, nor stand in lines that all go with the other.
fn in_order(base: &Text, found: &[Found<'_>], numbers: Numbers) -> Result<(), EditError> {
    let mut last: Option<(&Found<'_>, &Place)> = None;
    for found in found.iter().filter(|found| found.piece.ordered) {
        let [place @ Place { range, .. }] = &found.places[..] else { continue };
        let Some((first, at)) = last else {
            last = Some((found, place));
            continue;
        };
        let (before, overlap) = (&at.range, EditError::Overlap { first: first.index, second: found.index });
        if range.start <= before.start {
            return Err(if before.start < range.end { overlap } else { missing(base, found) });
        }
        let overlaps = range.start < before.end && !range.is_empty();
        let is_within = overlaps && range.end <= before.end;
        let is_lost = numbers == Numbers::Ignore && (is_within || stated_apart(first.piece, found.piece));
        if overlaps && (is_lost || removes(base, first, at, range) || takes_of(base, found, place, before)) {
            return Err(overlap);
        }
        last = Some((found, place));
    }
    Ok(())
}

/// Whether the second piece is stated to begin below all lines of the first.
fn stated_apart(first: &Piece, second: &Piece) -> bool {
    let below = |line: u32| line.saturating_add(u32::try_from(first.old.lines().count()).unwrap_or(u32::MAX));
    first.line.zip(second.line).is_some_and(|(first, second)| second >= below(first))
}

/// Whether a piece at its place removes all of these bytes.
fn removes(base: &Text, found: &Found<'_>, place: &Place, range: &Range<usize>) -> bool {
    let Some(new) = find::made(base, found, place) else { return false };
    let cores = Cores::of(&base.as_str()[place.range.clone()], &new);
    let start = place.range.start;
    start + cores.old.start <= range.start && range.end <= start + cores.old.end
}

/// Whether a piece at its place removes some of these bytes, or may be meant to.
fn takes_of(base: &Text, found: &Found<'_>, place: &Place, range: &Range<usize>) -> bool {
    let Some(new) = find::made(base, found, place) else { return false };
    let Cores { old, wide, .. } = Cores::of(&base.as_str()[place.range.clone()], &new);
    let start = place.range.start;
    !old.is_empty() && start + wide.start < range.end && range.start < start + wide.end
}

fn missing(base: &Text, found: &Found<'_>) -> EditError {
    EditError::NotFound { piece: found.index, nearest: nearest(base, found.piece) }
}

/// Refuses pieces that change the same place.
fn clash(segs: &[Seg<'_>]) -> Result<(), EditError> {
    let mut sorted: Vec<&Seg<'_>> = segs.iter().collect();
    sorted.sort_by_key(|seg| (seg.core.start, seg.core.end));
    let mut last: Option<&Seg<'_>> = None;
    for seg in sorted {
        if let Some(before) = last.filter(|before| seg.core.start < before.core.end || seg.core == before.core) {
            return Err(EditError::Overlap { first: before.piece.min(seg.piece), second: before.piece.max(seg.piece) });
        }
        last = Some(seg);
    }
    Ok(())
}

/// What differs between an old and a new text, by whole lines.
pub(super) struct Cores {
    /// Bytes of the old text that are replaced.
    old: Range<usize>,
    /// Bytes of the new text that replace them.
    new: Range<usize>,
    /// Bytes of the old text that may be meant: where lines repeat, the same change can be made at several places.
    pub(super) wide: Range<usize>,
}

impl Cores {
    pub(super) fn of(old: &str, new: &str) -> Self {
        let head = same_head(old, new);
        let tail = same_tail(&old[head..], &new[head..]);
        let all_tail = same_tail(old, new);
        let least = same_head(&old[..old.len() - all_tail], &new[..new.len() - all_tail]);
        Self {
            old: head..old.len() - tail,
            new: head..new.len() - tail,
            wide: if old == new { 0..0 } else { least..old.len() - tail },
        }
    }
}

/// The length of the lines that two texts begin with.
fn same_head(a: &str, b: &str) -> usize {
    a.split_inclusive('\n').zip(b.split_inclusive('\n')).take_while(|(a, b)| a == b).map(|(a, _)| a.len()).sum()
}

/// The length of the lines that two texts end with.
fn same_tail(a: &str, b: &str) -> usize {
    a.split_inclusive('\n')
        .rev()
        .zip(b.split_inclusive('\n').rev())
        .take_while(|(a, b)| a == b)
        .map(|(a, _)| a.len())
        .sum()
}

#[cfg(test)]
mod tests;
