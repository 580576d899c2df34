//! Words for what core refuses.

use readproof_core::{
    diff::{ApplyError, edit::EditError},
    scope::ScopeError,
    text::NotText,
};

use crate::Terms;

/// What a [`NotText`] is in words.
#[must_use]
pub fn not_text(error: &NotText) -> String {
    match error {
        NotText::Nul(at) => format!("it holds a NUL byte at offset {at}, so it is binary"),
        NotText::Encoding(at) => format!("it is not valid UTF-8 from byte {at} on"),
    }
}

/// What a [`ScopeError`] is in words.
#[must_use]
pub fn scope(terms: Terms<'_>, error: &ScopeError) -> String {
    match error {
        ScopeError::Zero { what } => {
            let what = terms.argument(what);
            format!("{what} 0 is not valid: lines are counted from 1; use {what} 1 or leave it out")
        }
        ScopeError::Reversed { first, last } => {
            format!("range {first}-{last} is reversed: the end is before the start; try {last}-{first}")
        }
        ScopeError::BeyondEnd { offset, total } => {
            let ((line, a_line), most) = (terms.first_line, total.max(&1));
            format!(
                "{line} {offset} is beyond the end of the file ({total} lines total); use {a_line} of at most {most}"
            )
        }
        ScopeError::NotANumber { text } => format!("`{text}` is not a line number; use digits, as in `10` or `10-20`"),
    }
}

/// What an [`EditError`] is in words.
#[must_use]
pub fn edit(error: &EditError) -> String {
    match error {
        EditError::Empty => "the old text is empty; give the text to replace, or write the whole file".to_owned(),
        EditError::NotFound { .. } => {
            "the old text does not occur in the file; read the file again and copy the text exactly".to_owned()
        }
        EditError::Many { count, .. } => format!(
            "the old text occurs {count} times; add lines around it until it is the only one, or replace all of them"
        ),
        EditError::Overlap { first, second } => {
            format!("edits {} and {} change the same place; make one edit of them", first + 1, second + 1)
        }
        EditError::Elision { line, .. } => {
            format!("`{}` stands for text that is left out; give all of the text", line.trim())
        }
        EditError::NoContext { .. } => "nothing says where the new lines belong; add lines around them".to_owned(),
        EditError::Ours { .. } => {
            "the old text contains a line of this tool's answers, which is not in the file; leave it out".to_owned()
        }
        EditError::Anchor { anchor, line, .. } => {
            format!("the old text is at line {line}, which is not below `{anchor}`; correct that line or leave it out")
        }
        EditError::Unverified => {
            "the result could not be verified, so nothing was changed; this is a fault of readproof".to_owned()
        }
        EditError::NotText => "the new text holds a NUL byte, so the file would no longer be text".to_owned(),
    }
}

/// What an [`ApplyError`] is in words.
#[must_use]
pub fn apply(error: &ApplyError) -> String {
    match error {
        ApplyError::Malformed { line } => format!("line {line} of the diff is malformed"),
        ApplyError::Mismatch { line } => format!("line {line} of the diff does not match the text"),
    }
}
