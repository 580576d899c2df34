//! The agent's edits, worked out on text. Every dialect becomes [`Piece`]s; [`place`] finds each of them in one text, exactly or by
//! a stated, looser rule, and makes all of them or none. Also words the answer, which is what tells the model where an edit is, so
//! it is worded here and nowhere else.

mod choose;
mod compose;
mod find;
mod loose;
mod nearest;
mod odd;
mod parse;
mod place;

pub use odd::elision;
pub use parse::{BadPatch, BadPatchWhy, Dialect, FileChange, FilePatch, parse_patch};
pub use place::place;

use alloc::{format, string::String, vec::Vec};
use core::fmt::Write as _;

use self::compose::{Kept, Seg};
use crate::{knowledge::Hunk, path::label, scope::Lines, text::Text};

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

/// One wanted change of a file, as a dialect wrote it: what is looked for, and what takes its place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Piece {
    /// The text that is looked for.
    pub old: String,
    /// The text that takes its place.
    pub new: String,
    /// How often it may occur.
    pub places: Places,
    /// The stated first line in the base, 1-based; where `old` is empty, the line that `new` stands before.
    pub line: Option<u32>,
    /// Lines above the place, in order, as `@@ class Foo` names them: whole or their beginnings, without blanks around them.
    pub after: Vec<String>,
    /// Whether the place is said to be at the end of the file.
    pub at_end: bool,
    /// What kind of text it is.
    pub shape: Shape,
    /// Whether it stands below the ordered pieces before it in the call. Decides only between places that are alike.
    pub ordered: bool,
}

impl Piece {
    /// Replaces one text by another, anywhere.
    #[must_use]
    pub fn replace(old: impl Into<String>, new: impl Into<String>, places: Places) -> Self {
        Self { old: old.into(), new: new.into(), places, ..Self::default() }
    }
}

/// What kind of text a piece is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shape {
    /// Any text; it may begin and end within a line.
    #[default]
    Text,
    /// Whole lines.
    Block,
    /// Whole lines, some of them only context, which may also be that of other hunks or change there.
    Hunk,
}

impl Shape {
    /// The word used in logs.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Block => "block",
            Self::Hunk => "hunk",
        }
    }

    /// Reads [`Self::as_str`]; anything else is `None`.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Text, Self::Block, Self::Hunk].into_iter().find(|shape| shape.as_str() == word)
    }
}

/// What stated line numbers are worth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Numbers {
    /// The base is known: a stated line is a line of it, and decides between places that are alike.
    BreakTies,
    /// It is not known of which text they are.
    #[default]
    Ignore,
}

/// An edit that was worked out and not yet written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The text after the edit.
    pub after: Text,
    /// The lines it touches, in order. Every other line stays as it is, though its number may change. Empty when nothing
    /// changes, and when the text before has no lines.
    pub hunks: Vec<Hunk>,
    /// How many places were changed.
    pub count: usize,
    /// What was assumed, where a match was not exact. Then the model cannot know the result from its call alone.
    pub assumed: Vec<Assumed>,
    /// Whether the text is as it was.
    pub noop: bool,
}

/// A match that was not exact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assumed {
    /// Which piece, counted from 0.
    pub piece: usize,
    /// The first line of the place in the base.
    pub line: u32,
    /// What was taken as equal.
    pub what: Looseness,
}

/// What was taken as equal although it is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Looseness {
    /// CR LF and LF. New lines end as those around them.
    LineEnds,
    /// The newline at the end of the file, which is as it was.
    FinalNewline,
    /// Blanks at the end of lines.
    TrailingBlanks,
    /// All lines are indented differently by the same amount; so is the new text.
    Indentation {
        /// How the file differs from the piece.
        by: Shift,
    },
    /// Quotes, dashes and spaces of Unicode and those of ASCII.
    Punctuation,
    /// Line numbers before every line, copied from a reader's answer.
    LineNumbers,
    /// The text is there only after the pieces before this one.
    OwnEdit,
}

/// How the indentation of a file differs from that of a piece.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shift {
    /// Every line of the file has this before it.
    Deeper(String),
    /// Every line of the piece has this before it.
    Shallower(String),
    /// The file has a tab for so many spaces of the piece.
    Tabs(u8),
    /// The file has so many spaces for a tab of the piece.
    Spaces(u8),
}

/// Why an edit cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{self:?}")]
pub enum EditError {
    /// The old text is empty.
    Empty,
    /// The new text contains a NUL.
    NotText,
    /// The old text does not occur.
    NotFound {
        /// Which piece, counted from 0.
        piece: usize,
        /// What comes closest to it.
        nearest: Option<Nearest>,
    },
    /// The old text occurs more than once, and nothing says which place is meant.
    Many {
        /// Which piece, counted from 0.
        piece: usize,
        /// How often, overlapping occurrences included; at least so often where the text repeats itself very often.
        count: usize,
        /// The first lines of these places, at most [`MOST_STATED`].
        places: Vec<u32>,
    },
    /// Two pieces change the same lines, or one is given twice.
    Overlap {
        /// The piece that stands first in the call.
        first: usize,
        /// The other one.
        second: usize,
    },
    /// A line stands for text that was left out.
    Elision {
        /// Which piece, counted from 0.
        piece: usize,
        /// The line.
        line: String,
    },
    /// A hunk has neither context nor removed lines, so nothing says where its lines belong.
    NoContext {
        /// Which piece, counted from 0.
        piece: usize,
    },
    /// The old text contains a line of Readproof's own answers.
    Ours {
        /// Which piece, counted from 0.
        piece: usize,
    },
    /// The line that is said to stand above the place does not.
    Anchor {
        /// Which piece, counted from 0.
        piece: usize,
        /// The line.
        anchor: String,
        /// Where the old text stands nevertheless.
        line: u32,
    },
    /// The result is not the base with only the wanted changes. This is a fault of this program.
    Unverified,
}

/// The lines of the text that come closest to an old text that was not found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nearest {
    /// At most 40.
    pub lines: Lines,
    /// The first line of the file that differs; one more than there are lines, if the file ends before it.
    pub differs_at: u32,
    /// What the old text has there, without its newline.
    pub wanted: String,
    /// What the file has there, without its newline.
    pub found: String,
}

/// Replaces `old` by `new` to the byte: one occurrence, or with [`Places::All`] every one from left to right.
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
    let (found, _) = find::occurrences(before.as_str(), old, places, |_| true);
    if found.is_empty() {
        return Err(EditError::NotFound { piece: 0, nearest: None });
    }
    if places == Places::One && found.len() > 1 {
        let places = found.iter().take(MOST_STATED).map(|range| before.line_at(range.start)).collect();
        return Err(EditError::Many { piece: 0, count: found.len(), places });
    }
    let count = found.len();
    let segs: Vec<Seg<'_>> =
        found.into_iter().map(|range| Seg { core: range.clone(), range, new: new.into(), piece: 0 }).collect();
    let kept = match places {
        Places::One => Kept::One(old),
        Places::All => Kept::All,
    };
    let (after, hunks) = (compose::after(before.as_str(), &segs), compose::hunks(before, &segs, kept));
    Ok(Edit { noop: old == new, after: Text::new(after), hunks, count, assumed: Vec::new() })
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

/// The first line of the answer to an edit of a file, which has `total` lines now. `count` is how many places were changed.
#[must_use]
pub fn answer(path: &str, hunks: &[Hunk], total: u32, count: usize) -> String {
    match stated(hunks, total) {
        Some(said) => format!("edited {}: {said}", label(path)),
        None => too_many(path, total, count),
    }
}

/// The first line of an answer that cannot say where the changes are.
#[must_use]
pub fn too_many(path: &str, total: u32, count: usize) -> String {
    let path = label(path);
    match count {
        0 | 1 => format!("edited {path}: no lines to state it by, so read it again; {total} lines"),
        count => format!("edited {path}: {count} places, too many to state, so read it again; {total} lines"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::Keeps;
    use alloc::vec;

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

    /// Every line outside the hunks is as it was, and the counts add up.
    pub(super) fn check_outside(before: &Text, edit: &Edit) {
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
        assert_eq!(once("aaa\nb\n", "z", "x"), Err(EditError::NotFound { piece: 0, nearest: None }));
        assert_eq!(once("aaa\nb\n", "aa", "x"), Err(EditError::Many { piece: 0, count: 2, places: vec![1, 1] }));
        assert_eq!(once("aaa\nb\n", "b", "\0"), Err(EditError::NotText));
    }

    #[test]
    fn what_the_answer_states() {
        let said = |text: &str, old: &str, new: &str| {
            let edit = replace(&Text::new(text.into()), old, new, Places::All).unwrap();
            answer("f", &edit.hunks, edit.after.total(), edit.count)
        };
        assert_eq!(said("a\nb\nc\n", "b\n", "x\ny\n"), "edited f: lines 2-2 are now 2-3; 4 lines");
        assert_eq!(said("b\na\nb\nc\n", "b\n", ""), "edited f: lines 1-1 are gone, 3-3 are gone; 2 lines");
        assert_eq!(said("b\na\nb\nc\n", "b", "1\n2"), "edited f: lines 1-1 are now 1-2, 3-3 are now 4-5; 6 lines");
        let many = "b\na\n".repeat(MOST_STATED + 1);
        assert_eq!(said(&many, "b", "c"), "edited f: 17 places, too many to state, so read it again; 34 lines");
    }
}
