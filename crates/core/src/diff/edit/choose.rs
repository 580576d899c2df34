//! Decides between places that are alike, by what was said about the place: the lines above it, the end of the file, a stated line,
//! and the order of the hunks of a patch. Each decides only if exactly one place is left.

use alloc::{string::String, vec::Vec};
use core::ops::Range;

use super::{
    EditError, Numbers, Places, Shape,
    find::{self, Found, Place},
    place::Cores,
};
use crate::text::Text;

/// Leaves one place for every piece that has any, or all places of a piece for all places.
pub(super) fn choose(base: &Text, found: &mut [Found<'_>], numbers: Numbers) -> Result<(), EditError> {
    for found in found.iter_mut() {
        below(base, found)?;
        if is_tied(found) && found.piece.at_end {
            only(found, |place| place.range.end == base.as_str().len());
        }
    }
    if numbers == Numbers::BreakTies && are_right(base, found) {
        for found in found.iter_mut().filter(|found| is_tied(found)) {
            if let Some(line) = found.line {
                only(found, |place| base.line_at(place.range.start) == line);
            }
        }
    }
    if found.iter().any(is_tied) {
        by_order(base, found);
    }
    match found.iter().find(|found| is_tied(found)) {
        Some(tied) => Err(find::many(base, tied.index, tied.places.iter())),
        None => Ok(()),
    }
}

fn is_tied(found: &Found<'_>) -> bool {
    found.piece.places == Places::One && found.places.len() > 1
}

/// Takes the only place of which this is true, if there is one.
fn only(found: &mut Found<'_>, is: impl Fn(&Place) -> bool) {
    let mut fitting = found.places.iter().filter(|place| is(place));
    if let (Some(one), None) = (fitting.next(), fitting.next()) {
        found.places = Vec::from([one.clone()]);
    }
}

/// Whether every stated line is right where there is only one place: else the numbers are of another text, or made up.
fn are_right(base: &Text, found: &[Found<'_>]) -> bool {
    found.iter().all(|found| match (&found.places[..], found.line) {
        ([one], Some(line)) => base.line_at(one.range.start) == line || found.piece.old.is_empty(),
        _ => true,
    })
}

/// Leaves the places below the lines that are said to stand above.
fn below(base: &Text, found: &mut Found<'_>) -> Result<(), EditError> {
    let (Some(place), false) = (found.places.first(), found.piece.after.is_empty()) else { return Ok(()) };
    let first = base.line_at(place.range.start);
    let away = |anchor: &String| EditError::Anchor { piece: found.index, anchor: anchor.clone(), line: first };
    let text = base.as_str();
    // The first line that may be meant; as long as it is the only one, the next is looked for in its block.
    let (mut from, mut until, mut last) = (0, Some(text.len()), None);
    for anchor in &found.piece.after {
        let within = until.map_or_else(Vec::new, |until| naming(&text[..until], from, anchor.trim()));
        let alone = within.len() == 1;
        let lines = if within.is_empty() { naming(text, from, anchor.trim()) } else { within };
        let (start, end) = lines.first().copied().ok_or_else(|| away(anchor))?;
        until = alone.then(|| block(text, start));
        (from, last) = (end, Some((start, anchor)));
    }
    let Some((anchor, name)) = last else { return Ok(()) };
    if !found.places.iter().any(|place| place.range.start >= anchor) {
        return Err(away(name));
    }
    found.places.retain(|place| place.range.start >= anchor);
    if let Some(until) = until.filter(|_| is_tied(found)) {
        only(found, |place| place.range.end <= until);
    }
    Ok(())
}

/// The lines from a byte on that are `anchor`, or begin with it if none is; each as its start and end.
fn naming(text: &str, from: usize, anchor: &str) -> Vec<(usize, usize)> {
    let pick = |is: fn(&str, &str) -> bool| {
        let mut at = from;
        let mut found = Vec::new();
        for line in text[from..].split_inclusive('\n') {
            if is(line.trim(), anchor) {
                found.push((at, at + line.len()));
            }
            at += line.len();
        }
        found
    };
    let equal = pick(|line, anchor| line == anchor);
    if equal.is_empty() { pick(|line, anchor| line.starts_with(anchor)) } else { equal }
}

/// Where the block ends that a line begins: at the next line that is indented no deeper, unless it only closes it.
fn block(text: &str, start: usize) -> usize {
    let depth = |line: &str| line.len() - line.trim_start().len();
    let mut lines = text[start..].split_inclusive('\n');
    let first = lines.next().unwrap_or_default();
    let mut end = start + first.len();
    for line in lines {
        let closes = line.trim().bytes().all(|byte| !byte.is_ascii_alphanumeric());
        if depth(line) <= depth(first) && !closes {
            break;
        }
        end += line.len();
    }
    end
}

/// The most places that are put in order.
const MOST: usize = 20_000;

/// Hunks of a patch follow each other. If that leaves exactly one way to place all of them, it is taken, unless a stated line is
/// nearer to another place, or a hunk would stand on lines that another one changes: then its own may be gone.
fn by_order(base: &Text, found: &mut [Found<'_>]) {
    let ordered = |found: &Found<'_>| {
        found.piece.ordered
            && found.piece.shape == Shape::Hunk
            && found.piece.places == Places::One
            && !found.places.is_empty()
    };
    let size = |found: &Found<'_>| found.places.len().saturating_mul(found.piece.old.len() + found.piece.new.len());
    let work: usize = found.iter().filter(|found| ordered(found)).map(size).sum();
    let count: usize = found.iter().filter(|found| ordered(found)).map(|found| found.places.len()).sum();
    if count > MOST || work > base.as_str().len().saturating_mul(16) + (1 << 20) {
        return;
    }
    let mut hunks: Vec<(&mut Found<'_>, Vec<Range<usize>>)> = Vec::new();
    for found in found.iter_mut().filter(|found| ordered(found)) {
        let cores = found.places.iter().map(|place| core(base, found, place)).collect();
        hunks.push((found, cores));
    }
    if are_shared(&hunks) {
        return;
    }
    let Some(first) = lowest(hunks.iter().map(|(_, cores)| &cores[..])) else { return };
    let Some(last) = highest(hunks.iter().map(|(_, cores)| &cores[..])) else { return };
    if first != last || is_changed_by_another(&hunks, &first) {
        return;
    }
    let nearest = |found: &Found<'_>, chosen: usize| {
        let Some(line) = found.line else { return true };
        let far = |place: &Place| base.line_at(place.range.start).abs_diff(line);
        found
            .places
            .iter()
            .enumerate()
            .all(|(at, place)| at == chosen || found.places.get(chosen).is_some_and(|one| far(one) < far(place)))
    };
    if !hunks.iter().zip(&first).all(|((found, _), chosen)| nearest(found, *chosen)) {
        return;
    }
    for ((found, _), chosen) in hunks.into_iter().zip(first) {
        let one = found.places.get(chosen).cloned();
        found.places = one.into_iter().collect();
    }
}

/// Whether two hunks may stand at the same place: then one of them may be meant for both, or be there twice.
fn are_shared(hunks: &[(&mut Found<'_>, Vec<Range<usize>>)]) -> bool {
    let mut starts: Vec<usize> =
        hunks.iter().flat_map(|(found, _)| found.places.iter().map(|place| place.range.start)).collect();
    starts.sort_unstable();
    starts.windows(2).any(|pair| matches!(pair, [a, b] if a == b))
}

/// Whether a hunk has lines, at the places chosen, that another hunk changes.
fn is_changed_by_another(hunks: &[(&mut Found<'_>, Vec<Range<usize>>)], chosen: &[usize]) -> bool {
    let placed: Vec<(&Range<usize>, &Range<usize>)> = hunks
        .iter()
        .zip(chosen)
        .filter_map(|((found, cores), at)| Some((&found.places.get(*at)?.range, cores.get(*at)?)))
        .collect();
    // Hunks are in order, so only neighbours can meet.
    let meet = |lines: &Range<usize>, core: &Range<usize>| core.start < lines.end && lines.start < core.end;
    placed.windows(2).any(|pair| match pair {
        [(lines, core), (next_lines, next_core)] => meet(lines, next_core) || meet(next_lines, core),
        _ => false,
    })
}

/// The bytes that a hunk changes at a place.
fn core(base: &Text, found: &Found<'_>, place: &Place) -> Range<usize> {
    let Some(made) = find::made(base, found, place) else { return place.range.clone() };
    let wide = Cores::of(&base.as_str()[place.range.clone()], &made).wide;
    place.range.start + wide.start..place.range.start + wide.end
}

/// For each hunk the first of its places that is behind that of the hunk before.
fn lowest<'a>(hunks: impl Iterator<Item = &'a [Range<usize>]>) -> Option<Vec<usize>> {
    let mut last: Option<Range<usize>> = None;
    let mut chosen = Vec::new();
    for places in hunks {
        let follows = |place: &Range<usize>| last.as_ref().is_none_or(|last| place.start >= last.end && place != last);
        let at = places.iter().position(follows)?;
        last = places.get(at).cloned();
        chosen.push(at);
    }
    Some(chosen)
}

/// For each hunk the last of its places that is before that of the hunk behind it.
fn highest<'a>(hunks: impl DoubleEndedIterator<Item = &'a [Range<usize>]>) -> Option<Vec<usize>> {
    let mut next: Option<Range<usize>> = None;
    let mut chosen = Vec::new();
    for places in hunks.rev() {
        let precedes = |place: &Range<usize>| next.as_ref().is_none_or(|next| place.end <= next.start && place != next);
        let at = places.iter().rposition(precedes)?;
        next = places.get(at).cloned();
        chosen.push(at);
    }
    chosen.reverse();
    Some(chosen)
}
