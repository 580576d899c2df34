//! What an edit assumed, in the words that the model reads. They are part of the answer that is recorded, so they stand here.

use alloc::{format, string::String};

use super::edit::{Assumed, Looseness, Shift};

/// One assumption of an edit.
#[must_use]
pub fn assumption(assumed: &Assumed) -> String {
    let how = match &assumed.what {
        Looseness::LineEnds => "with the file's own line ends (CR LF against LF)".into(),
        Looseness::FinalNewline => "without regard to the newline at the end of the file".into(),
        Looseness::TrailingBlanks => "without regard to blanks at the ends of lines".into(),
        Looseness::Indentation { by: Shift::Deeper(blanks) } => {
            format!("indented deeper by {} characters, and so was the new text", blanks.chars().count())
        }
        Looseness::Indentation { by: Shift::Shallower(blanks) } => {
            format!("indented less by {} characters, and so was the new text", blanks.chars().count())
        }
        Looseness::Indentation { by: Shift::Tabs(spaces) } => {
            format!("with a tab for every {spaces} spaces, and so was the new text")
        }
        Looseness::Indentation { by: Shift::Spaces(spaces) } => {
            format!("with {spaces} spaces for every tab, and so was the new text")
        }
        Looseness::Punctuation => "with the file's own quotes, dashes and spaces".into(),
        Looseness::LineNumbers => "without the line numbers before its lines".into(),
        Looseness::OwnEdit => "after the changes before it".into(),
    };
    format!("change {} was found at line {} {how}", assumed.piece + 1, assumed.line)
}
