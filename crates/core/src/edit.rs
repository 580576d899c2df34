//! An own edit worked out on text: replace bytes that occur exactly once, and say which lines that touched.

use alloc::string::String;

use crate::{knowledge::Hunk, scope::Lines, text::Text};

/// An edit that can be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The text after it.
    pub after: Text,
    /// The lines it touches, so that every other line is as before, moved at most.
    pub hunk: Hunk,
}

/// An edit that cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// There is nothing to look for.
    #[error("the old text is empty; give the text to replace, or write the whole file")]
    Empty,
    /// It does not occur.
    #[error("the old text does not occur in the file; read the file again and copy the text exactly")]
    NotFound,
    /// It occurs more than once.
    #[error("the old text occurs {count} times; add lines around it until it is the only one")]
    Many {
        /// How often.
        count: usize,
    },
    /// The result would not be text.
    #[error("the new text holds a NUL byte, so the file would no longer be text")]
    NotText,
}

/// Replaces `old`, which must occur exactly once, by `new`.
///
/// # Errors
/// [`EditError`] when it is not there exactly once.
pub fn replace_once(before: &Text, old: &str, new: &str) -> Result<Edit, EditError> {
    if old.is_empty() {
        return Err(EditError::Empty);
    }
    if new.contains('\0') {
        return Err(EditError::NotText);
    }
    let text = before.as_str();
    let at = text.find(old).ok_or(EditError::NotFound)?;
    let count = occurrences(text, old);
    if count > 1 {
        return Err(EditError::Many { count });
    }
    let end = at + old.len();
    let first = before.line_at(at);
    let mut last = before.line_at(end - 1);
    let mut region = String::new();
    region.push_str(&text[before.start(first)..at]);
    region.push_str(new);
    region.push_str(&text[end..before.end(last)]);
    if !region.is_empty() && !region.ends_with('\n') && last < before.total() {
        // The line lost its end, so it runs into the next one.
        last += 1;
        region.push_str(before.line(last));
    }
    let mut after = String::with_capacity(text.len() + new.len());
    after.push_str(&text[..before.start(first)]);
    after.push_str(&region);
    after.push_str(&text[before.end(last)..]);
    // `first` is 1 or more and not behind `last`, so this is never the other arm.
    let old = Lines::new(first, last).ok_or(EditError::NotFound)?;
    Ok(Edit { after: Text::new(after), hunk: Hunk { old, new_count: Text::new(region).total() } })
}

/// Overlapping ones count too: which of them is meant cannot be told.
fn occurrences(text: &str, old: &str) -> usize {
    let mut from = 0;
    let mut count = 0;
    while let Some(at) = text[from..].find(old) {
        count += 1;
        from += at + old.chars().next().map_or(1, char::len_utf8);
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn touched_lines() {
        let check = |text: &str, old: &str, new: &str, after: &str, hunk: (u32, u32, u32)| {
            let edit = replace_once(&Text::new(text.into()), old, new).unwrap();
            assert_eq!(edit.after.as_str(), after);
            assert_eq!((edit.hunk.old.first(), edit.hunk.old.last(), edit.hunk.new_count), hunk, "{old:?} -> {new:?}");
        };
        check("a\nb\nc\n", "b", "x", "a\nx\nc\n", (2, 2, 1));
        check("a\nb\nc\n", "b\n", "", "a\nc\n", (2, 2, 0));
        check("a\nb\nc\n", "b\n", "x", "a\nxc\n", (2, 3, 1));
        check("a\nb\nc\n", "a\nb", "1\n2\n3", "1\n2\n3\nc\n", (1, 2, 3));
        check("a\nb", "b", "b\n", "a\nb\n", (2, 2, 1));
        check("a\nb\n", "\nb\n", "", "a", (1, 2, 1));
        check("a", "a", "", "", (1, 1, 0));
    }

    #[test]
    fn only_one_place_will_do() {
        let text = Text::new("aaa\nb\n".into());
        assert_eq!(replace_once(&text, "", "x"), Err(EditError::Empty));
        assert_eq!(replace_once(&text, "z", "x"), Err(EditError::NotFound));
        assert_eq!(replace_once(&text, "aa", "x"), Err(EditError::Many { count: 2 }));
        assert_eq!(replace_once(&text, "b", "\0"), Err(EditError::NotText));
    }
}
