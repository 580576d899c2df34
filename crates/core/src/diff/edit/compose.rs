//! Puts the text after an edit together, says which lines it touches, and proves the result by another way.

use alloc::{borrow::Cow, string::String, vec::Vec};
use core::ops::Range;

use crate::{
    diff::{apply, made},
    knowledge::{Hunk, Keeps},
    scope::Lines,
    text::Text,
};

/// A place in the base and what stands there afterwards.
#[derive(Clone, Debug)]
pub(super) struct Seg<'a> {
    /// Bytes of the base.
    pub(super) range: Range<usize>,
    pub(super) new: Cow<'a, str>,
    /// The piece it comes from.
    pub(super) piece: usize,
    /// Bytes of the base that no other piece may change.
    pub(super) core: Range<usize>,
}

/// Which new lines contain old bytes.
#[derive(Clone, Copy)]
pub(super) enum Kept<'a> {
    /// There is one place, where exactly this text was replaced.
    One(&'a str),
    /// Nothing is known.
    All,
}

impl Kept<'_> {
    fn keeps(self, lines: Lines) -> Keeps {
        match self {
            Self::One(old) => {
                // The line behind the old text lost its beginning to it.
                let swallowed = u64::from(lines.count()) > old.split_inclusive('\n').count() as u64;
                if old.ends_with('\n') && !swallowed { Keeps::Head } else { Keeps::Ends }
            }
            Self::All => Keeps::All,
        }
    }
}

/// The text with every place replaced. The places are in order and do not overlap.
pub(super) fn after(base: &str, segs: &[Seg<'_>]) -> String {
    let grown: usize = segs.iter().map(|seg| seg.new.len()).sum();
    let mut after = String::with_capacity(base.len() + grown);
    let mut copied = 0;
    for seg in segs {
        after.push_str(&base[copied..seg.range.start]);
        after.push_str(&seg.new);
        copied = seg.range.end;
    }
    after.push_str(&base[copied..]);
    after
}

/// The runs of lines that the places touch. A place between lines touches the line behind it, or the last line.
pub(super) fn hunks(base: &Text, segs: &[Seg<'_>], kept: Kept<'_>) -> Vec<Hunk> {
    let (mut hunks, mut next) = (Vec::new(), 0);
    while let Some(seg) = segs.get(next).filter(|_| base.total() > 0) {
        let first = line_of(base, seg.range.start);
        let mut region = Region { base, last: first, copied: base.start(first), made: Made::default() };
        next += region.fill(&segs[next..]);
        // `first` is at least 1 and at most `last`, so there always are lines.
        let lines = Lines::new(first, region.last);
        hunks.extend(lines.map(|old| Hunk { old, new_count: region.made.lines(), keeps: kept.keeps(old) }));
    }
    hunks
}

fn line_of(base: &Text, at: usize) -> u32 {
    base.line_at(at).min(base.total())
}

/// The number of lines of a text that is put together, without the text.
#[derive(Default)]
struct Made {
    newlines: usize,
    open: bool,
}

impl Made {
    fn push(&mut self, text: &str) {
        self.newlines += memchr::memchr_iter(b'\n', text.as_bytes()).count();
        if !text.is_empty() {
            self.open = !text.ends_with('\n');
        }
    }

    fn lines(&self) -> u32 {
        u32::try_from(self.newlines + usize::from(self.open)).unwrap_or(u32::MAX)
    }
}

/// A run of touched lines while its new text is being counted.
struct Region<'t> {
    base: &'t Text,
    last: u32,
    copied: usize,
    made: Made,
}

impl Region<'_> {
    /// Replaces at the first of these places and at those that touch its lines or the line after them; returns how many.
    fn fill(&mut self, segs: &[Seg<'_>]) -> usize {
        let text = self.base.as_str();
        let mut done = 0;
        loop {
            let touches = |seg: &&Seg<'_>, last: u32| done == 0 || line_of(self.base, seg.range.start) <= last + 1;
            if let Some(seg) = segs.get(done).filter(|seg| touches(seg, self.last)) {
                self.made.push(&text[self.copied..seg.range.start]);
                self.made.push(&seg.new);
                self.copied = seg.range.end;
                let end = if seg.range.is_empty() { seg.range.start } else { seg.range.end - 1 };
                self.last = self.last.max(line_of(self.base, end));
                done += 1;
                continue;
            }
            let end = self.base.end(self.last);
            let rest = &text[self.copied..end];
            let open = if rest.is_empty() { self.made.open } else { !rest.ends_with('\n') };
            if !open || self.last == self.base.total() {
                self.made.push(rest);
                return done;
            }
            // The line lost its terminator and runs into the next one, which may contain another place.
            self.last += 1;
        }
    }
}

/// Whether `after` is `base` with these places replaced and nothing else changed, told by two ways that share nothing with
/// [`after`]: every byte between the places stands in both texts, and the exact diff between the two, applied to the base,
/// gives the second one.
pub(super) fn is_proved(base: &Text, after: &Text, segs: &[Seg<'_>]) -> bool {
    let (mut old, mut new) = (base.as_str(), after.as_str());
    let mut taken = 0;
    for seg in segs {
        let Some(kept) = seg.range.start.checked_sub(taken) else { return false };
        let Some((before, rest)) = old.split_at_checked(kept) else { return false };
        let Some((_, behind)) = rest.split_at_checked(seg.range.len()) else { return false };
        let Some(left) = new.strip_prefix(before).and_then(|new| new.strip_prefix(&*seg.new)) else { return false };
        (old, new, taken) = (behind, left, seg.range.end);
    }
    if old != new {
        return false;
    }
    base.as_str() == after.as_str() || apply(&made(base, after, "").diff, base).is_ok_and(|made| made == after.as_str())
}
