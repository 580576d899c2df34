//! What a change made of a text, for someone who holds the text before: the exact diff, and the lines it touches.

use alloc::{format, string::String, vec::Vec};

use super::{Change, Room, counts, file_line, groups, large, print_hunk};
use crate::{
    knowledge::{Hunk, Keeps},
    scope::Lines,
    text::Text,
};

/// A change of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// The exact diff, headers included. Empty if nothing changed.
    pub diff: String,
    /// Lines added.
    pub added: u32,
    /// Lines removed.
    pub removed: u32,
    /// The touched lines. Every new line of them is in the diff. Empty if the text before has no line to name them by.
    pub hunks: Vec<Hunk>,
}

/// The change from `before` to `after`; `name` goes into the header of its diff.
#[must_use]
pub fn made(before: &Text, after: &Text, name: &str) -> Made {
    let (changes, _) = large::near(before, after, &|| false).unwrap_or_default();
    let (added, removed) = counts(&changes);
    let mut diff = String::new();
    if !changes.is_empty() {
        diff = format!("--- {}\n+++ {}\n", file_line("a/", name), file_line("b/", name));
        for group in groups(&changes) {
            print_hunk(&mut diff, (Some(before), Some(after)), group, &mut { Room::ALL });
        }
    }
    Made { diff, added, removed, hunks: touched(&changes, before.total()) }
}

/// Which lines of one text are which of another, by what changed: counted from 0, in order, those before and those instead.
#[must_use]
pub fn changed_lines(before: &Text, after: &Text) -> Vec<(core::ops::Range<u32>, core::ops::Range<u32>)> {
    let (changes, _) = large::near(before, after, &|| false).unwrap_or_default();
    changes.into_iter().map(|change| (change.old, change.new)).collect()
}

/// The runs of lines that one text has in common with another, in order: the first line of each in either, from 1, and how many.
pub fn equal_runs(before: &Text, after: &Text) -> impl Iterator<Item = (u32, u32, u32)> {
    let (changes, _) = large::near(before, after, &|| false).unwrap_or_default();
    let end = Change { old: before.total()..before.total(), new: after.total()..after.total() };
    let (mut old, mut new) = (0, 0);
    changes.into_iter().chain([end]).filter_map(move |change| {
        let run = (old + 1, new + 1, change.old.start - old);
        (old, new) = (change.old.end, change.new.end);
        (run.2 > 0).then_some(run)
    })
}

/// Lines that are only added have no number in the text before: the line beside them, which a diff always shows, is then
/// touched too.
fn touched(changes: &[Change], total: u32) -> Vec<Hunk> {
    let mut runs: Vec<Change> = Vec::new();
    for change in changes {
        let mut run = change.clone();
        if run.old.is_empty() && run.old.start > 0 {
            (run.old.start, run.new.start) = (run.old.start - 1, run.new.start.saturating_sub(1));
        } else if run.old.is_empty() {
            (run.old.end, run.new.end) = (run.old.end + 1, run.new.end + 1);
        }
        if run.old.end > total {
            return Vec::new();
        }
        match runs.last_mut().filter(|last| run.old.start < last.old.end) {
            Some(last) => (last.old.end, last.new.end) = (run.old.end.max(last.old.end), run.new.end.max(last.new.end)),
            None => runs.push(run),
        }
    }
    let hunk = |run: &Change| {
        let old = Lines::new(run.old.start + 1, run.old.end)?;
        Some(Hunk { old, new_count: run.new.end - run.new.start, keeps: Keeps::Shown })
    };
    runs.iter().map(hunk).collect::<Option<_>>().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::apply;
    use alloc::vec;

    #[test]
    fn touched_lines_and_their_diff() {
        let check = |before: &str, after: &str, hunks: &[(u32, u32, u32)]| {
            let (old, new) = (Text::new(before.into()), Text::new(after.into()));
            let made = made(&old, &new, "f");
            let found: Vec<_> = made.hunks.iter().map(|h| (h.old.first(), h.old.last(), h.new_count)).collect();
            assert_eq!(found, hunks, "{before:?} -> {after:?}");
            if before != after {
                assert_eq!(apply(&made.diff, &old).unwrap(), after);
            }
        };
        check("a\nb\nc\n", "a\nb\nc\n", &[]);
        check("a\nb\nc\n", "a\nx\nc\n", &[(2, 2, 1)]);
        check("a\nb\nc\n", "a\nc\n", &[(2, 2, 0)]);
        check("a\nb\nc\n", "a\nb\nx\nc\n", &[(2, 2, 2)]);
        check("a\nb\nc\n", "x\na\nb\nc\n", &[(1, 1, 2)]);
        check("a\nb\nc\n", "a\nb\nc\nx\n", &[(3, 3, 2)]);
        check("a\nb\nc\nd\n", "a\nx\nb\ny\nc\nd\n", &[(1, 1, 2), (2, 2, 2)]);
        check("a\nb\nc\nd\n", "x\na\ny\nb\nc\nd\n", &[(1, 1, 3)]);
        check("", "x\n", &[]);
        check("a", "a\n", &[(1, 1, 1)]);
    }

    /// Every pair of small texts: the counts add up, and lines outside the hunks are the same.
    #[test]
    fn lines_outside_the_hunks_are_as_before() {
        let mut texts = vec![String::new()];
        for _ in 0..4 {
            let longer: Vec<String> =
                texts.iter().flat_map(|t| ["a\n", "b\n"].map(|line| format!("{t}{line}"))).collect();
            texts.extend(longer);
        }
        texts.sort();
        texts.dedup();
        for before in texts.iter().filter(|text| !text.is_empty()) {
            for after in &texts {
                let (old, new) = (Text::new(before.clone()), Text::new(after.clone()));
                let (mut at, mut now) = (1, 1);
                for hunk in made(&old, &new, "f").hunks {
                    while at < hunk.old.first() {
                        assert_eq!(old.line(at), new.line(now), "{before:?} -> {after:?}");
                        (at, now) = (at + 1, now + 1);
                    }
                    (at, now) = (hunk.old.last() + 1, now + hunk.new_count);
                }
                assert_eq!(old.total() + 1 - at, new.total() + 1 - now, "{before:?} -> {after:?}");
                for (at, now) in (at..=old.total()).zip(now..) {
                    assert_eq!(old.line(at), new.line(now), "{before:?} -> {after:?}");
                }
            }
        }
    }
}
