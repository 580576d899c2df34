//! Words for what core refuses.

use readproof_core::operation::BadOperation;
use readproof_core::{
    diff::{
        ApplyError,
        edit::{BadPatch, BadPatchWhy, EditError, Nearest},
    },
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

/// What an [`EditError`] is in words. The lines that it is about are said behind it.
#[must_use]
pub fn edit(terms: Terms<'_>, error: &EditError, of: usize) -> String {
    let which = |piece: &usize| if of > 1 { format!("change {}", piece + 1) } else { "the change".to_owned() };
    let old = |piece: &usize| {
        if of > 1 { format!("the old text of change {}", piece + 1) } else { "the old text".to_owned() }
    };
    match error {
        EditError::Empty => "the old text is empty; give the text to replace, or write the whole file".to_owned(),
        EditError::NotFound { piece, nearest: None } => format!(
            "{} does not occur in the file, and nothing in it comes close; search for a line of it, or read the file",
            old(piece)
        ),
        EditError::NotFound { piece, nearest: Some(Nearest { lines, differs_at, wanted, found }) } => format!(
            "{} does not occur in the file. Lines {}-{} come closest; line {differs_at} is the first that differs: the \
             old text has `{}`, the file has `{}`. Repeat the edit with the lines as they are in the file",
            old(piece),
            lines.first(),
            lines.last(),
            wanted.trim_end_matches(['\n', '\r']),
            found.trim_end_matches(['\n', '\r']),
        ),
        EditError::Many { piece, count, places } => {
            let lines: Vec<String> = places.iter().map(ToString::to_string).collect();
            let more = if *count > places.len() { ", …" } else { "" };
            format!(
                "{} occurs {count} times, at lines {}{more}; add lines around the one that is meant until it is the \
                 only one, or say {} to change every one",
                old(piece),
                lines.join(", "),
                terms.every_place()
            )
        }
        EditError::Overlap { first, second } => format!(
            "{} and {} are about the same lines; make one change of them, or leave one out",
            which(first),
            which(second)
        ),
        EditError::Elision { piece, line } => format!(
            "{} leaves text out (`{}`), and what is left out cannot be known; give every line, or several small changes",
            which(piece),
            line.trim()
        ),
        EditError::NoContext { piece } => format!(
            "{} has neither a line that goes nor a line beside it, so nothing says where it belongs; add a line of the file before or \
             after it",
            which(piece)
        ),
        EditError::Ours { piece } => format!(
            "{} has a line of readproof's own answer in it, which is not in the file; leave that line out",
            old(piece)
        ),
        EditError::Anchor { piece, anchor, line } => format!(
            "the text of {} is at line {line}, but not below `{anchor}`; leave the anchor out, or give the right one",
            which(piece)
        ),
        EditError::NotText => "the new text holds a NUL byte, so the file would no longer be text".to_owned(),
        EditError::Unverified => {
            "the result is not the file with only that change, which is a fault of this program; nothing was written"
                .to_owned()
        }
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

/// What a [`BadPatch`] is in words.
#[must_use]
pub fn bad_patch(error: &BadPatch) -> String {
    let BadPatch { line, why } = error;
    let why = match why {
        BadPatchWhy::Unknown => {
            return "the text is no patch: it is neither a unified diff (`--- a/FILE`, `+++ b/FILE`, `@@`), nor `*** Begin Patch`, nor \
                    `<<<<<<< SEARCH` blocks"
                .to_owned();
        }
        BadPatchWhy::Line => "belongs to no part of a patch; in a hunk every line begins with a space, + or -",
        BadPatchWhy::Name => "does not say which file is meant",
        BadPatchWhy::TwoNames => {
            "names another file than the line before it, and nothing says that the file is renamed"
        }
        BadPatchWhy::Twice => "names a file that is in the patch already; put its changes together",
        BadPatchWhy::Nothing => "changes nothing in this file",
        BadPatchWhy::Separator => {
            "is a second separator in one block, so it is open where the old text ends; use edit for this text"
        }
        BadPatchWhy::Unclosed => "begins a part that does not end",
        BadPatchWhy::Binary => "is about a binary file",
        BadPatchWhy::Unsupported => "is a copy of a file or the diff of a merge, which is not supported",
        BadPatchWhy::Newline => "says that a line has no newline, and other lines follow it",
    };
    format!("line {line} of the patch {why}")
}

/// What a [`BadOperation`] is in words.
#[must_use]
pub fn bad_operation(error: &BadOperation) -> String {
    match error {
        BadOperation::Newer { version } => {
            format!("it is of version {version} of the vocabulary, which this readproof does not know")
        }
        BadOperation::Unknown { name } => format!("there is no operation `{name}`"),
        BadOperation::Missing { field } => format!("`{field}` is missing"),
        BadOperation::NoField { field } => format!("the operation has no field `{field}`, or not with such a value"),
        BadOperation::Value { field, expected } => format!("`{field}` must be {expected}"),
    }
}
