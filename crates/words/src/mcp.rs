//! What tools say otherwise. The workspace's absolute path is never shown, lines have the names of the tool's own arguments, and
//! a file that is too large comes with the tools that take it. One line, whatever a name holds.

use readproof_core::path::printable;
use readproof_engine::Error;

use crate::{Terms, ToolTerms, engine};

/// Said of a file that is too large.
const ANY_SIZE: &str = "; read_file_head, read_file_tail and search_in_file take a file of any size";

/// An error.
pub(crate) fn error(tool: &ToolTerms<'_>, error: &Error) -> String {
    let first_line = if tool.start_line { ("start_line", "a start_line") } else { Terms::PLAIN.first_line };
    let message = engine::error(Terms { hidden: Some((tool.root, tool.asked)), first_line }, error);
    // Only the search engine draws; a name with a line end in it must not.
    let message = if let Error::Query(_) = error {
        message.lines().map(printable).collect::<Vec<_>>().join("\n")
    } else {
        printable(&message)
    };
    if error.code() == "TOO_LARGE" { message + ANY_SIZE } else { message }
}
