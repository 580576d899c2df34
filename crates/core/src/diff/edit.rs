//! The agent's edits, worked out on text: replaces a text that occurs exactly once, or every occurrence of it; says which lines
//! that touched; and words the answer. That answer is what tells the model where the edit is, so it is worded here and nowhere
//! else.

use alloc::{format, string::String, vec::Vec};
use core::fmt::Write as _;

use crate::{
    knowledge::{Hunk, Keeps},
    scope::Lines,
    text::Text,
};

/// The most places that an answer lists.
pub const MOST_STATED: usize = 16;

/// How often the old text may occur.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Places {
    /// Exactly once.
    #[default]
    One,
    /// Once or more; every occurrence is replaced.
    All,
}

/// An edit that was worked out and not yet written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The text after the edit.
    pub after: Text,
    /// The lines it touches, in order. Every other line stays as it is, though its number may change.
    pub hunks: Vec<Hunk>,
    /// How often the old text was replaced.
    pub count: usize,
}

/// Why an edit cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{self:?}")]
pub enum EditError {
    /// The old text is empty.
    Empty,
    /// The old text does not occur.
    NotFound,
    /// The old text occurs more than once, and only one occurrence was allowed.
    Many {
        /// How often, overlapping occurrences included.
        count: usize,
    },
    /// The new text contains a NUL.
    NotText,
}

/// Replaces `old` by `new`: one occurrence, or with [`Places::All`] every one from left to right.
///
/// # Errors
/// [`EditError`] when `old` does not occur as often as it must, or one of the texts is not allowed.
pub fn replace(before: &Text, old: &str, new: &str, places: Places) -> Result<Edit, EditError> {
    if old.is_empty() {
        return Err(EditError::Empty);
    }
    if new.contains('\0') {
        return Err(EditError::NotText);
    }
    let text = before.as_str();
    let found: Vec<usize> = match places {
        Places::One => text.find(old).into_iter().collect(),
        Places::All => text.match_indices(old).map(|(at, _)| at).collect(),
    };
    if found.is_empty() {
        return Err(EditError::NotFound);
    }
    if places == Places::One {
        let count = occurrences(text, old);
        if count > 1 {
            return Err(EditError::Many { count });
        }
    }
    let mut after = String::with_capacity(text.len() + new.len());
    let (mut hunks, mut copied, mut next) = (Vec::new(), 0, 0);
    while let Some(at) = found.get(next) {
        let first = before.line_at(*at);
        after.push_str(&text[copied..before.start(first)]);
        let mut region =
            Region { text: before, old, new, last: first, copied: before.start(first), made: String::new() };
        next += region.fill(&found[next..]);
        // `first` is at least 1 and at most `last`, so this never fails.
        let lines = Lines::new(first, region.last).ok_or(EditError::NotFound)?;
        let swallowed = u64::from(lines.count()) > old.split_inclusive('\n').count() as u64;
        let keeps = match places {
            Places::All => Keeps::All,
            Places::One if old.ends_with('\n') && !swallowed => Keeps::Head,
            Places::One => Keeps::Ends,
        };
        after.push_str(&region.made);
        copied = before.end(region.last);
        hunks.push(Hunk { old: lines, new_count: Text::new(region.made).total(), keeps });
    }
    after.push_str(&text[copied..]);
    Ok(Edit { after: Text::new(after), hunks, count: found.len() })
}

/// A run of touched lines while its new text is being put together.
struct Region<'t> {
    text: &'t Text,
    old: &'t str,
    new: &'t str,
    last: u32,
    copied: usize,
    made: String,
}

impl Region<'_> {
    /// Replaces at the first of these places and at those that touch its lines or the line after them; returns how many.
    fn fill(&mut self, places: &[usize]) -> usize {
        let text = self.text.as_str();
        let mut done = 0;
        loop {
            while let Some(at) = places.get(done).filter(|at| done == 0 || self.text.line_at(**at) <= self.last + 1) {
                self.made.push_str(&text[self.copied..*at]);
                self.made.push_str(self.new);
                self.copied = at + self.old.len();
                self.last = self.text.line_at(self.copied - 1);
                done += 1;
            }
            let end = self.text.end(self.last);
            let rest = &text[self.copied..end];
            let tail = if rest.is_empty() { self.made.as_str() } else { rest };
            let open = !tail.is_empty() && !tail.ends_with('\n');
            if !open || self.last == self.text.total() {
                self.made.push_str(rest);
                return done;
            }
            // The line lost its terminator and runs into the next one, which may contain another place.
            self.last += 1;
            if places.get(done).is_none_or(|at| self.text.line_at(*at) > self.last + 1) {
                self.made.push_str(&text[self.copied..self.text.end(self.last)]);
                return done;
            }
        }
    }
}

/// Overlapping occurrences count too, because it cannot be known which of them is meant.
fn occurrences(text: &str, old: &str) -> usize {
    let mut from = 0;
    let mut count = 0;
    while let Some(at) = text[from..].find(old) {
        count += 1;
        from += at + old.chars().next().map_or(1, char::len_utf8);
    }
    count
}

/// What the answer to an edit says: for every run of touched lines where it is now, and the number of lines in the file. `None`
/// when there are too many runs to list; the answer says so, and the model then holds nothing of the file.
#[must_use]
pub fn stated(hunks: &[Hunk], total: u32) -> Option<String> {
    if hunks.is_empty() || hunks.len() > MOST_STATED {
        return None;
    }
    let mut said = String::new();
    let mut added = 0_i64;
    for hunk in hunks {
        let (first, last) = (hunk.old.first(), hunk.old.last());
        let now = i64::from(first) + added;
        let comma = if said.is_empty() { "lines " } else { ", " };
        // Writing into a string cannot fail.
        let _ = match hunk.new_count {
            0 => write!(said, "{comma}{first}-{last} are gone"),
            count => write!(said, "{comma}{first}-{last} are now {now}-{}", now + i64::from(count) - 1),
        };
        added += i64::from(hunk.new_count) - i64::from(hunk.old.count());
    }
    Some(format!("{said}; {total} lines"))
}

/// The answer to an edit of a file.
#[must_use]
pub fn answer(path: &str, edit: &Edit) -> String {
    let total = edit.after.total();
    match stated(&edit.hunks, total) {
        Some(said) => format!("edited {path}: {said}"),
        None => format!("edited {path}: {} places, too many to state, so read it again; {total} lines", edit.count),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn once(text: &str, old: &str, new: &str) -> Result<Edit, EditError> {
        replace(&Text::new(text.into()), old, new, Places::One)
    }

    #[test]
    fn touched_lines() {
        let check = |text: &str, old: &str, new: &str, after: &str, hunk: (u32, u32, u32), keeps: Keeps| {
            let edit = once(text, old, new).unwrap();
            assert_eq!(edit.after.as_str(), after);
            let [made] = edit.hunks[..] else { panic!("{:?}", edit.hunks) };
            assert_eq!((made.old.first(), made.old.last(), made.new_count), hunk, "{old:?} -> {new:?}");
            assert_eq!(made.keeps, keeps, "{old:?} -> {new:?}");
        };
        check("a\nb\nc\n", "b", "x", "a\nx\nc\n", (2, 2, 1), Keeps::Ends);
        check("a\nb\nc\n", "b\n", "", "a\nc\n", (2, 2, 0), Keeps::Head);
        check("a\nb\nc\n", "b\n", "x\n", "a\nx\nc\n", (2, 2, 1), Keeps::Head);
        check("a\nb\nc\n", "b\n", "x", "a\nxc\n", (2, 3, 1), Keeps::Ends);
        check("a\nb\nc\n", "a\nb", "1\n2\n3", "1\n2\n3\nc\n", (1, 2, 3), Keeps::Ends);
        check("a\nb", "b", "b\n", "a\nb\n", (2, 2, 1), Keeps::Ends);
        check("a\nb\n", "\nb\n", "", "a", (1, 2, 1), Keeps::Head);
        check("a", "a", "", "", (1, 1, 0), Keeps::Ends);
    }

    #[test]
    fn all_places() {
        let check = |text: &str, old: &str, new: &str, hunks: &[(u32, u32, u32)]| {
            let before = Text::new(text.into());
            let edit = replace(&before, old, new, Places::All).unwrap();
            assert_eq!(edit.after.as_str(), text.replace(old, new), "{text:?}: {old:?} -> {new:?}");
            let made: Vec<_> = edit.hunks.iter().map(|h| (h.old.first(), h.old.last(), h.new_count)).collect();
            assert_eq!(made, hunks, "{text:?}: {old:?} -> {new:?}");
        };
        check("a a\nb\nc\na\n", "a", "x", &[(1, 1, 1), (4, 4, 1)]);
        check("a\na\nb\na\n", "a", "x\ny", &[(1, 2, 4), (4, 4, 2)]);
        check("a\nb\nc\nd\na\n", "a\n", "", &[(1, 1, 0), (5, 5, 0)]);
        // Runs into the next line, and from there into a place beside it.
        check("a\nb\nc\n", "a\n", "x", &[(1, 2, 1)]);
        check("a\nb\na\nc\nd\n", "a\n", "x", &[(1, 4, 2)]);
        check("a\nb\na\nc\n", "a\n", "x", &[(1, 4, 2)]);
        check("aaa\n", "aa", "b", &[(1, 1, 1)]);
        check("a\na", "a", "", &[(1, 2, 1)]);
    }

    /// Every small text, every piece of it, several replacements: outside the hunks no line changed, and the counts add up.
    #[test]
    fn lines_outside_the_hunks_are_as_before() {
        for text in ["a\na\nb\n", "ab\nab\nb", "\n\na\n\n", "a\nb\na\nc\na\nd\n"] {
            let before = Text::new(text.into());
            for from in 0..text.len() {
                for to in from + 1..=text.len() {
                    for new in ["", "x", "\n", "x\n", "x\ny", "\nx\n"] {
                        let edit = replace(&before, &text[from..to], new, Places::All).unwrap();
                        assert_eq!(edit.after.as_str(), text.replace(&text[from..to], new));
                        check_outside(&before, &edit);
                    }
                }
            }
        }
    }

    fn check_outside(before: &Text, edit: &Edit) {
        let (mut old, mut new) = (1, 1);
        for hunk in &edit.hunks {
            while old < hunk.old.first() {
                assert_eq!(before.line(old), edit.after.line(new), "{before:?} {edit:?}");
                (old, new) = (old + 1, new + 1);
            }
            (old, new) = (hunk.old.last() + 1, new + hunk.new_count);
        }
        assert_eq!(before.total() + 1 - old, edit.after.total() + 1 - new, "{before:?} {edit:?}");
        for (old, new) in (old..=before.total()).zip(new..) {
            assert_eq!(before.line(old), edit.after.line(new), "{before:?} {edit:?}");
        }
    }

    #[test]
    fn only_one_place_will_do() {
        assert_eq!(once("aaa\nb\n", "", "x"), Err(EditError::Empty));
        assert_eq!(once("aaa\nb\n", "z", "x"), Err(EditError::NotFound));
        assert_eq!(once("aaa\nb\n", "aa", "x"), Err(EditError::Many { count: 2 }));
        assert_eq!(once("aaa\nb\n", "b", "\0"), Err(EditError::NotText));
    }

    #[test]
    fn what_the_answer_states() {
        let said = |text: &str, old: &str, new: &str| {
            answer("f", &replace(&Text::new(text.into()), old, new, Places::All).unwrap())
        };
        assert_eq!(said("a\nb\nc\n", "b\n", "x\ny\n"), "edited f: lines 2-2 are now 2-3; 4 lines");
        assert_eq!(said("b\na\nb\nc\n", "b\n", ""), "edited f: lines 1-1 are gone, 3-3 are gone; 2 lines");
        assert_eq!(said("b\na\nb\nc\n", "b", "1\n2"), "edited f: lines 1-1 are now 1-2, 3-3 are now 4-5; 6 lines");
        let many = "b\na\n".repeat(MOST_STATED + 1);
        assert_eq!(said(&many, "b", "c"), "edited f: 17 places, too many to state, so read it again; 34 lines");
    }
}
