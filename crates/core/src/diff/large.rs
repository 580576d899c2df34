//! Compares texts of any size in time that grows with their size: equal lines at both ends are left out first, then lines that
//! each side has exactly once divide the rest into pieces. A piece that is still too large counts as replaced, as one block.

use alloc::{vec, vec::Vec};
use core::ops::Range;

use super::{Change, compared};
use crate::{scope::Lines, text::Text};

/// A piece with more lines or bytes is not compared line by line. A read's diff has the same limits.
const LINES: u32 = 12_000;
const BYTES: usize = 2 << 20;

/// The most lines that are compared in all pieces together, both sides counted.
const ALL_LINES: u32 = 240_000;

/// A text with more lines, both sides counted, is not divided.
const DIVIDED: u32 = 2_000_000;

/// The changes, and how many lines of each side are in blocks that were not compared; `None` if cancelled.
pub(super) type Changes = Option<(Vec<Change>, (u32, u32))>;

/// A side that does not exist is `None`.
pub(super) fn changes(before: Option<&Text>, after: Option<&Text>, cancelled: &dyn Fn() -> bool) -> Changes {
    let total = |text: Option<&Text>| text.map_or(0, Text::total);
    let whole = Change { old: 0..total(before), new: 0..total(after) };
    let (Some(before), Some(after)) = (before, after) else {
        return Some(if whole.is_empty() { (Vec::new(), (0, 0)) } else { (vec![whole], (0, 0)) });
    };
    if fits(before, &whole.old) && fits(after, &whole.new) {
        return Some((super::changes(before, after), (0, 0)));
    }
    near(before, after, cancelled)
}

/// The same, where most of both texts is known to be equal: only what is between the equal ends is looked at.
pub(super) fn near(before: &Text, after: &Text, cancelled: &dyn Fn() -> bool) -> Changes {
    let mut work = Work { before, after, left: ALL_LINES, found: Vec::new(), blocks: (0, 0), cancelled };
    let rest = without_ends(before, after);
    if rest.is_empty() {
        return Some((Vec::new(), (0, 0)));
    }
    if work.is_small(&rest) || rest.lines() > u64::from(DIVIDED) {
        work.piece(rest)?;
    } else {
        work.divide(&rest)?;
    }
    Some((work.found, work.blocks))
}

fn fits(text: &Text, lines: &Range<u32>) -> bool {
    lines.end - lines.start <= LINES && slice(text, lines).len() <= BYTES
}

fn slice<'a>(text: &'a Text, lines: &Range<u32>) -> &'a str {
    Lines::new(lines.start + 1, lines.end).map_or("", |lines| text.slice(lines))
}

impl Change {
    fn is_empty(&self) -> bool {
        self.old.is_empty() && self.new.is_empty()
    }

    /// Lines of both sides.
    fn lines(&self) -> u64 {
        u64::from(self.old.end - self.old.start) + u64::from(self.new.end - self.new.start)
    }
}

/// What is left between the equal lines at both ends.
fn without_ends(before: &Text, after: &Text) -> Change {
    let (old, new) = (before.as_str().as_bytes(), after.as_str().as_bytes());
    let same = same_begin(old, new);
    let begin = memchr::memrchr(b'\n', &old[..same]).map_or(0, |at| at + 1);
    let (old_rest, new_rest) = (&old[begin..], &new[begin..]);
    let mut end = same_end(old_rest, new_rest);
    let starts_line = |rest: &[u8]| end == rest.len() || rest[rest.len() - end - 1] == b'\n';
    if !starts_line(old_rest) || !starts_line(new_rest) {
        let tail = &old_rest[old_rest.len() - end..];
        end = memchr::memchr(b'\n', tail).map_or(0, |at| tail.len() - at - 1);
    }
    let count = |bytes: &[u8]| {
        let open = !bytes.is_empty() && bytes.last() != Some(&b'\n');
        u32::try_from(memchr::memchr_iter(b'\n', bytes).count() + usize::from(open)).unwrap_or(u32::MAX)
    };
    let (first, last) = (count(&old[..begin]), count(&old[old.len() - end..]));
    Change { old: first..before.total() - last, new: first..after.total() - last }
}

fn same_begin(a: &[u8], b: &[u8]) -> usize {
    const STEP: usize = 4096;
    let whole = a.chunks_exact(STEP).zip(b.chunks_exact(STEP)).take_while(|(a, b)| a == b).count() * STEP;
    whole + a[whole..].iter().zip(&b[whole..]).take_while(|(a, b)| a == b).count()
}

fn same_end(a: &[u8], b: &[u8]) -> usize {
    const STEP: usize = 4096;
    let whole = a.rchunks_exact(STEP).zip(b.rchunks_exact(STEP)).take_while(|(a, b)| a == b).count() * STEP;
    let (a, b) = (&a[..a.len() - whole], &b[..b.len() - whole]);
    whole + a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count()
}

struct Work<'a> {
    before: &'a Text,
    after: &'a Text,
    /// How many more lines may be compared.
    left: u32,
    found: Vec<Change>,
    blocks: (u32, u32),
    cancelled: &'a dyn Fn() -> bool,
}

impl Work<'_> {
    fn is_small(&self, piece: &Change) -> bool {
        fits(self.before, &piece.old) && fits(self.after, &piece.new)
    }

    /// Compares one piece, or takes it as a block. A piece with an empty side, or one line on each, needs no comparing: its ends
    /// are known to differ.
    fn piece(&mut self, piece: Change) -> Option<()> {
        let is_pair = piece.old.len() == 1 && piece.new.len() == 1;
        if is_pair || piece.old.is_empty() || piece.new.is_empty() {
            self.found.extend(Some(piece).filter(|piece| !piece.is_empty()));
            return Some(());
        }
        if (self.cancelled)() {
            return None;
        }
        let left = u32::try_from(piece.lines()).ok().and_then(|lines| self.left.checked_sub(lines));
        if let Some(left) = left.filter(|_| self.is_small(&piece)) {
            self.left = left;
            let (old, new) = (slice(self.before, &piece.old), slice(self.after, &piece.new));
            let at = (piece.old.start, piece.new.start);
            self.found.extend(compared(old.split_inclusive('\n'), new.split_inclusive('\n'), at));
            return Some(());
        }
        self.blocks.0 += piece.old.end - piece.old.start;
        self.blocks.1 += piece.new.end - piece.new.start;
        self.found.push(piece);
        Some(())
    }

    /// Compares what is between the lines that each side has exactly once, as far as they are in the same order on both.
    fn divide(&mut self, rest: &Change) -> Option<()> {
        let go_on = || (!(self.cancelled)()).then_some(());
        let old = Rows::new(slice(self.before, &rest.old));
        go_on()?;
        let new = Rows::new(slice(self.after, &rest.new));
        go_on()?;
        let ours = old.single();
        go_on()?;
        let theirs = new.single();
        go_on()?;
        let anchors = anchors(shared(&old, &new, &ours, &theirs));
        let mut at = (0, 0);
        for anchor in anchors.into_iter().chain([(old.len(), new.len())]) {
            let (mut a, mut b) = (at.0..anchor.0, at.1..anchor.1);
            while !a.is_empty() && !b.is_empty() && old.row(a.start) == new.row(b.start) {
                (a.start, b.start) = (a.start + 1, b.start + 1);
            }
            while !a.is_empty() && !b.is_empty() && old.row(a.end - 1) == new.row(b.end - 1) {
                (a.end, b.end) = (a.end - 1, b.end - 1);
            }
            self.piece(Change {
                old: a.start + rest.old.start..a.end + rest.old.start,
                new: b.start + rest.new.start..b.end + rest.new.start,
            })?;
            at = (anchor.0 + 1, anchor.1 + 1);
        }
        Some(())
    }
}

/// The lines of a text, numbered from 0, each with a checksum.
struct Rows<'a> {
    text: &'a str,
    /// The byte offset after each.
    ends: Vec<u32>,
    sums: Vec<u64>,
}

impl<'a> Rows<'a> {
    fn new(text: &'a str) -> Self {
        let (mut ends, mut sums) = (Vec::new(), Vec::new());
        let mut end = 0;
        for row in text.split_inclusive('\n') {
            end += row.len();
            ends.push(u32::try_from(end).unwrap_or(u32::MAX));
            sums.push(sum(row.as_bytes()));
        }
        Self { text, ends, sums }
    }

    fn len(&self) -> u32 {
        u32::try_from(self.ends.len()).unwrap_or(u32::MAX)
    }

    fn row(&self, at: u32) -> &'a str {
        let at = at as usize;
        let begin = at.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        let end = self.ends.get(at).copied().unwrap_or(begin);
        &self.text[begin as usize..end as usize]
    }

    /// The checksum and number of every row whose checksum occurs once, ordered by checksum.
    fn single(&self) -> Vec<(u64, u32)> {
        let mut all: Vec<(u64, u32)> = self.sums.iter().copied().zip(0..).collect();
        all.sort_unstable();
        all.chunk_by(|a, b| a.0 == b.0).filter_map(|same| if let [one] = same { Some(*one) } else { None }).collect()
    }
}

/// A fast checksum. Collisions can be made on purpose, which does no harm: rows are compared before they count as equal.
fn sum(bytes: &[u8]) -> u64 {
    let step = |sum: u64, word: u64| (sum.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    let (words, rest) = bytes.as_chunks::<8>();
    let sum = words.iter().fold(bytes.len() as u64, |sum, word| step(sum, u64::from_le_bytes(*word)));
    rest.iter().fold(sum, |sum, byte| step(sum, u64::from(*byte)))
}

/// Pairs of equal rows on both sides, in the order of the old one.
fn shared(old: &Rows<'_>, new: &Rows<'_>, ours: &[(u64, u32)], theirs: &[(u64, u32)]) -> Vec<(u32, u32)> {
    let mut theirs = theirs.iter().peekable();
    let mut pairs: Vec<(u32, u32)> = Vec::new();
    for (sum, at) in ours {
        while theirs.next_if(|(their, _)| their < sum).is_some() {}
        if let Some((_, place)) = theirs.next_if(|(their, _)| their == sum)
            && old.row(*at) == new.row(*place)
        {
            pairs.push((*at, *place));
        }
    }
    pairs.sort_unstable();
    pairs
}

/// The longest subsequence of pairs that increases on both sides.
fn anchors(pairs: Vec<(u32, u32)>) -> Vec<(u32, u32)> {
    // For each length the subsequence with the smallest last pair, and for each pair its predecessor.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<usize> = Vec::with_capacity(pairs.len());
    for (at, (_, place)) in pairs.iter().enumerate() {
        let length = ends.partition_point(|end| pairs[*end].1 < *place);
        before.push(length.checked_sub(1).map_or(usize::MAX, |shorter| ends[shorter]));
        match ends.get_mut(length) {
            Some(end) => *end = at,
            None => ends.push(at),
        }
    }
    let mut longest = Vec::with_capacity(ends.len());
    let mut next = ends.last().copied();
    while let Some((at, pair)) = next.and_then(|at| Some((at, pairs.get(at)?))) {
        longest.push(*pair);
        next = before.get(at).copied();
    }
    longest.reverse();
    longest
}

#[cfg(test)]
mod tests {
    use alloc::{format, string::String};

    use super::*;
    use crate::diff::{Side, apply, fit, patches};

    fn both(before: &str, after: &str) -> (Text, Text) {
        (Text::new(before.into()), Text::new(after.into()))
    }

    /// The patch as text, applied to prove that it is one, and how many lines are in blocks.
    fn check(before: &str, after: &str) -> (String, (u32, u32)) {
        let (before, after) = both(before, after);
        let side = |text| Some(Side { mode: "100644", text: Some(text), same: false });
        let all = patches("f", side(&before), side(&after), &|| false).unwrap();
        let fitted = fit(&all, u32::MAX, u32::MAX);
        assert_eq!((fitted.lines.0, fitted.hunks.0), (fitted.lines.1, fitted.hunks.1));
        assert_eq!(fitted.lines.0 as usize, fitted.text.lines().count());
        let body = fitted.text.split_once('\n').unwrap().1;
        assert_eq!(apply(body, &before).as_deref(), Ok(after.as_str()));
        (fitted.text, all[0].blocks)
    }

    fn numbered(lines: u32) -> String {
        (0..lines).map(|n| format!("line {n}\n")).collect()
    }

    #[test]
    fn a_few_edits_of_a_long_text_are_found() {
        let before = numbered(200_000);
        let after = before
            .replace("\nline 7\n", "\nseven\n")
            .replace("\nline 100000\n", "\n")
            .replace("\nline 199990\n", "\nx\ny\n");
        let (text, blocks) = check(&before, &after);
        assert_eq!((text.matches("\n@@ ").count(), blocks), (3, (0, 0)), "{text}");
        assert_eq!((text.matches("\n-").count(), text.matches("\n+").count()), (4, 4), "{text}");
        let (text, blocks) = check(&before, &before.replace("\nline 7\n", "\nseven\n"));
        assert_eq!((text.lines().count(), blocks), (12, (0, 0)), "{text}");
    }

    #[test]
    fn what_has_nothing_in_common_is_one_block() {
        let (text, blocks) = check(&numbered(30_000), &numbered(30_000).replace("line", "row"));
        assert_eq!((text.matches("\n@@ ").count(), blocks), (1, (30_000, 30_000)));
        // Lines that occur many times divide nothing.
        let (_, blocks) = check(&"a\nb\n".repeat(20_000), &"b\na\nc\n".repeat(20_000));
        assert_eq!(blocks, (40_000, 60_000));
        let before = "\n".repeat(100_000);
        let (text, blocks) = check(&before, &format!("x{before}"));
        assert_eq!((text.matches("\n+").count(), blocks), (2, (0, 0)));
        let (text, blocks) = check(&before, "x");
        assert!(text.ends_with("+x\n\\ No newline at end of file\n"), "{blocks:?}");
    }

    #[test]
    fn long_texts_of_every_shape() {
        let mut state = 3_u64;
        let mut next = move |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from((state >> 33) % n).unwrap()
        };
        for round in 0..12 {
            let kinds = [3, 500, 1 << 40][round % 3];
            let mut lines: Vec<String> = (0..13_000).map(|_| format!("{}\n", next(kinds))).collect();
            let before = lines.concat();
            for _ in 0..next(40) {
                let at = next(lines.len() as u64);
                match next(3) {
                    0 => drop(lines.remove(at)),
                    1 => lines.insert(at, format!("{}\n", next(kinds))),
                    _ => lines[at] = format!("{}\n", next(kinds)),
                }
            }
            let mut after = lines.concat();
            if next(2) == 0 {
                after.pop();
            }
            if before != after {
                check(&before, &after);
                check(&after, &before);
            }
        }
    }

    #[test]
    fn both_ends_are_left_out_by_whole_lines() {
        for (before, after, old, new) in [
            ("a\nb\nc\n", "a\nx\nc\n", 1..2, 1..2),
            ("a\n", "a\na\n", 1..1, 1..2),
            ("aa\n", "ab\n", 0..1, 0..1),
            ("ba\n", "aa\n", 0..1, 0..1),
            ("a", "a\n", 0..1, 0..1),
            ("", "a\n", 0..0, 0..1),
            ("a\nb", "b", 0..1, 0..0),
            ("xb\nc\n", "b\nc\n", 0..1, 0..1),
            ("a\nb\n", "a\nb\nc", 2..2, 2..3),
        ] {
            let (one, other) = both(before, after);
            assert_eq!(without_ends(&one, &other), Change { old, new }, "{before:?} {after:?}");
        }
    }

    #[test]
    fn it_can_be_called_off() {
        let (before, after) = both(&numbered(20_000), &numbered(20_000).replace("9\n", "\n"));
        assert!(changes(Some(&before), Some(&after), &|| true).is_none());
    }
}
