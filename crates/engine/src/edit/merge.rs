//! Three texts made one. The base is what the edit was made for, ours the base with the edit, theirs what stands in the file.

use gix_imara_diff::{Algorithm, Diff, InternedInput, Token};
use gix_merge::blob::{
    Resolution,
    builtin_driver::text as merge,
    builtin_driver::text::{Conflict, ConflictStyle, Labels, Options},
};
use readproof_core::text::Text;
use std::ops::Range;

/// A text with more lines or bytes is not merged: the work could take too long.
const MOST_LINES: u32 = 100_000;
const MOST_BYTES: usize = 8 << 20;

/// The outcome of a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Merged {
    /// Both changes stand in it, and no line was changed by both.
    Clean(Text),
    /// Both changed the same lines, which stand between markers, or lines that can be told to be the same.
    Conflict(Text),
    /// The texts are too large.
    TooLarge,
}

/// Merges two changes of one text.
#[must_use]
pub fn three_way(base: &Text, ours: &Text, theirs: &Text) -> Merged {
    let fits = |text: &Text| text.total() <= MOST_LINES && text.as_str().len() <= MOST_BYTES;
    if ![base, ours, theirs].into_iter().all(fits) {
        return Merged::TooLarge;
    }
    if ours.as_str() == theirs.as_str() || theirs.as_str() == base.as_str() {
        return Merged::Clean(ours.clone());
    }
    let labels = Labels { ancestor: Some("base".into()), current: Some("ours".into()), other: Some("theirs".into()) };
    let conflict = match Conflict::default() {
        Conflict::Keep { marker_size, .. } => Conflict::Keep { style: ConflictStyle::Diff3, marker_size },
        other @ (Conflict::ResolveWithOurs | Conflict::ResolveWithTheirs | Conflict::ResolveWithUnion) => other,
    };
    let (mut out, mut input) = (Vec::new(), InternedInput::default());
    let [current, ancestor, other] = [ours, base, theirs].map(|text| text.as_str().as_bytes());
    let options = Options { conflict, ..Options::default() };
    let found = merge(&mut out, &mut input, labels, current, ancestor, other, options);
    // Lines of texts are joined, so the result is a text too.
    let Ok(text) = String::from_utf8(out) else { return Merged::TooLarge };
    match found {
        Resolution::Complete if meet(base, ours, theirs) => Merged::Conflict(Text::new(text)),
        Resolution::Complete => Merged::Clean(Text::new(text)),
        Resolution::CompleteWithAutoResolvedConflict | Resolution::Conflict => Merged::Conflict(Text::new(text)),
    }
}

/// A change of a text: the lines that go, where else they or the new ones could stand just as well, and the new lines.
struct Changed<'t> {
    old: Range<u32>,
    reach: Range<u32>,
    new: Vec<&'t str>,
}

/// Whether two changes touch if one of them is told to be at another of the places that are alike. Lines that repeat what
/// stands beside them can be added or removed at several places with the same result, and which one is meant is not known.
fn meet(base: &Text, ours: &Text, theirs: &Text) -> bool {
    let (ours, theirs) = (changes(base, ours), changes(base, theirs));
    let mut theirs = theirs.iter().peekable();
    for our in &ours {
        while theirs.next_if(|their| their.reach.end < our.reach.start).is_some() {}
        let near = theirs.clone().take_while(|their| their.reach.start <= our.reach.end);
        // The same change by both is one.
        if near.into_iter().any(|their| their.old != our.old || their.new != our.new) {
            return true;
        }
    }
    false
}

fn changes<'t>(base: &'t Text, text: &'t Text) -> Vec<Changed<'t>> {
    let input = InternedInput::new(base.as_str(), text.as_str());
    let change = |hunk: gix_imara_diff::Hunk| {
        let (old, new) = (hunk.before.clone(), hunk.after.clone());
        let (up, down) = match (old.is_empty(), new.is_empty()) {
            (true, _) => slide(&input.after, &new),
            (_, true) => slide(&input.before, &old),
            (false, false) => (0, 0),
        };
        let lines = input.after.iter().skip(new.start as usize).take(new.len()).map(|token| input.interner[*token]);
        Changed { reach: old.start.saturating_sub(up)..old.end + down, new: lines.collect(), old }
    };
    Diff::compute(Algorithm::Myers, &input).hunks().map(change).collect()
}

/// By how many lines a run of lines can be told to begin earlier or later.
fn slide(lines: &[Token], run: &Range<u32>) -> (u32, u32) {
    let at = |index: Option<u32>| index.and_then(|index| lines.get(index as usize));
    let same = |a: Option<u32>, b: Option<u32>| at(a).is_some_and(|token| at(b) == Some(token));
    let up = (1..).take_while(|by| same(run.start.checked_sub(*by), run.end.checked_sub(*by))).count();
    let down = (0..).take_while(|by| same(run.start.checked_add(*by), run.end.checked_add(*by))).count();
    let short = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    (short(up), short(down))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_could_stand_beside_the_other_change() {
        let merged = |base: &str, ours: &str, theirs: &str| {
            three_way(&Text::new(base.into()), &Text::new(ours.into()), &Text::new(theirs.into()))
        };
        let clean = |text: &str| Merged::Clean(Text::new(text.into()));
        // As git merge-file says of each.
        assert!(matches!(merged("\nA\n\nC\nA\n", "\nA\n\nC\nC\nA\n", "\nA\n\nC\nE\n"), Merged::Conflict(_)));
        assert!(matches!(merged("x\nC\nC\ny\n", "x\nC\ny\n", "x\nC\nC\nz\n"), Merged::Conflict(_)));
        assert_eq!(merged("x\nC\ny\nz\n", "x\nC\nC\ny\nz\n", "x\nC\ny\ne\n"), clean("x\nC\nC\ny\ne\n"));
        assert_eq!(merged("a\nb\nc\n", "x\nb\nc\n", "x\nb\ny\n"), clean("x\nb\ny\n"));
    }
}
