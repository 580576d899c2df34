//! Three texts made one. The base is what the edit was made for, ours the base with the edit, theirs what stands in the file.
//! Changes that are apart wherever they can be told to be are both made; the others are gix-merge's to judge, and are a conflict
//! also where git would see one.

use gix_imara_diff::{Algorithm, Diff, InternedInput, Token};
use gix_merge::blob::{
    Resolution,
    builtin_driver::text as merge,
    builtin_driver::text::{Conflict, ConflictStyle, Labels, Options},
};
use readproof_core::{scope::Lines, text::Text};
use std::ops::Range;

/// A text with more lines or bytes is not merged: the work could take too long.
const MOST_LINES: u32 = 100_000;
const MOST_BYTES: usize = 8 << 20;

/// The outcome of a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Merged {
    /// Both changes stand in it, and no line was changed by both.
    Clean(Text),
    /// Both changed the same lines; these stand between markers.
    Conflict(Text),
    /// Both changed lines that can be told to be the same; there is no text with markers.
    Disputed,
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
    let (own, others) = (changes(base, ours), changes(base, theirs));
    let meeting = meeting(&own, &others);
    if let Meeting::Never = meeting {
        return Merged::Clean(both(base, &own, &others));
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
    match (found, meeting) {
        (Resolution::Complete, Meeting::Otherwise) => Merged::Disputed,
        (Resolution::Complete, Meeting::Never | Meeting::Alike) => Merged::Clean(Text::new(text)),
        (Resolution::CompleteWithAutoResolvedConflict | Resolution::Conflict, _) => Merged::Conflict(Text::new(text)),
    }
}

/// A change of a text: the lines that go, and the new lines.
#[derive(PartialEq)]
struct Changed<'t> {
    old: Range<u32>,
    new: Vec<&'t str>,
    /// Where else it can be told to be.
    reach: Range<u32>,
}

/// Whether changes of two sides touch each other.
#[derive(Clone, Copy)]
enum Meeting {
    Never,
    /// Only where both made the same change.
    Alike,
    Otherwise,
}

fn meeting(ours: &[Changed<'_>], theirs: &[Changed<'_>]) -> Meeting {
    let mut found = Meeting::Never;
    let mut theirs = theirs.iter().peekable();
    for our in ours {
        while theirs.next_if(|their| their.reach.end < our.reach.start).is_some() {}
        for their in theirs.clone().take_while(|their| their.reach.start <= our.reach.end) {
            if (&their.old, &their.new) != (&our.old, &our.new) {
                return Meeting::Otherwise;
            }
            found = Meeting::Alike;
        }
    }
    found
}

/// The changes of a text. Lines that repeat what stands beside them can be added or removed at several places with the same
/// result: git takes the last one, others another.
fn changes<'t>(base: &'t Text, text: &'t Text) -> Vec<Changed<'t>> {
    let input = InternedInput::new(base.as_str(), text.as_str());
    let mut diff = Diff::compute(Algorithm::Myers, &input);
    let first: Vec<_> = diff.hunks().collect();
    diff.postprocess_no_heuristic(&input);
    let change = |hunk: gix_imara_diff::Hunk| {
        let (old, new) = (hunk.before.clone(), hunk.after.clone());
        let (up, down) = match (old.is_empty(), new.is_empty()) {
            (true, _) => slide(&input.after, &new),
            (_, true) => slide(&input.before, &old),
            (false, false) => (0, 0),
        };
        let mut reach = old.start.saturating_sub(up)..old.end + down;
        // Changes that are told apart before they are moved may be one afterwards.
        let from = first.partition_point(|other| other.before.end < old.start);
        for other in first.iter().skip(from).take_while(|other| other.before.start <= old.end) {
            reach = reach.start.min(other.before.start)..reach.end.max(other.before.end);
        }
        let lines = input.after.iter().skip(new.start as usize).take(new.len()).map(|token| input.interner[*token]);
        Changed { reach, new: lines.collect(), old }
    };
    diff.hunks().map(change).collect()
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

/// The base with the changes of both sides, which are apart.
fn both(base: &Text, ours: &[Changed<'_>], theirs: &[Changed<'_>]) -> Text {
    let mut all: Vec<&Changed<'_>> = ours.iter().chain(theirs).collect();
    all.sort_by_key(|change| (change.old.start, change.old.end));
    let kept = |lines: Range<u32>| Lines::new(lines.start + 1, lines.end).map_or("", |lines| base.slice(lines));
    let (mut made, mut next) = (String::with_capacity(base.as_str().len()), 0);
    for change in all {
        made.push_str(kept(next..change.old.start));
        change.new.iter().for_each(|line| made.push_str(line));
        next = change.old.end;
    }
    made.push_str(kept(next..base.total()));
    Text::new(made)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(base: &str, ours: &str, theirs: &str) -> Merged {
        let text = |text: &str| Text::new(text.to_owned());
        three_way(&text(base), &text(ours), &text(theirs))
    }

    fn clean(text: &str) -> Merged {
        Merged::Clean(Text::new(text.into()))
    }

    /// As git merge-file says of each.
    #[test]
    fn lines_that_could_stand_beside_the_other_change() {
        let is_conflict = |made: Merged| matches!(made, Merged::Conflict(_) | Merged::Disputed);
        assert!(is_conflict(merged("\nA\n\nC\nA\n", "\nA\n\nC\nC\nA\n", "\nA\n\nC\nE\n")));
        assert!(is_conflict(merged("x\nC\nC\ny\n", "x\nC\ny\n", "x\nC\nC\nz\n")));
        assert_eq!(merged("x\nC\ny\nz\n", "x\nC\nC\ny\nz\n", "x\nC\ny\ne\n"), clean("x\nC\nC\ny\ne\n"));
        assert_eq!(merged("a\nb\nc\n", "x\nb\nc\n", "x\nb\ny\n"), clean("x\nb\ny\n"));
        // The lines that go can be the first two or the second and third; only the latter touch the other's change.
        let base = "fn x() {\n    c();\nfn x() {\n    x += 1;\n}\n";
        let (ours, theirs) = (base.replacen("fn x() {\n    c();\n", "", 1), base.replace("x += 1", "return"));
        assert!(is_conflict(merged(base, &ours, &theirs)));
    }

    #[test]
    fn changes_that_are_apart_are_both_made() {
        let (base, both) = ("a\nb\nc\nd\ne\n", "a\nB\nc\nd\ne\n");
        let theirs = both.replace('e', "E");
        assert_eq!(merged(base, both, &theirs), clean(&theirs));
        assert_eq!(merged(base, both, "a\nb\nc\nd\nE"), clean("a\nB\nc\nd\nE"));
        assert_eq!(merged(base, "b\nc\nd\ne\n", "a\nb\nc\nd\ne\nf\n"), clean("b\nc\nd\ne\nf\n"));
        assert!(matches!(merged(base, "a\nx\nc\nd\ne\n", "a\ny\nc\nd\ne\n"), Merged::Conflict(_)));
    }
}
