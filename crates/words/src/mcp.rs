//! What tools say otherwise. The workspace's absolute path is never shown, lines have the names of the tool's own arguments, and
//! a file that is too large comes with the tools that take it.

use readproof_core::path::{label, printable};
use readproof_disk::RootError;
use readproof_engine::{ApprovalRequest, Error};

use crate::{Terms, ToolTerms, disk, engine};

/// Said of a file that is too large.
const ANY_SIZE: &str = "; read_file_head, read_file_tail and search_in_file take a file of any size";

/// An error.
pub(crate) fn error(tool: &ToolTerms<'_>, error: &Error) -> String {
    let first_line = if tool.start_line { ("start_line", "a start_line") } else { Terms::PLAIN.first_line };
    let message = engine::error(Terms { hidden: Some((tool.root, tool.asked)), first_line, ..Terms::PLAIN }, error);
    if error.code() == "TOO_LARGE" { message + ANY_SIZE } else { message }
}

/// Why the workspace is not a root that the client named.
#[derive(Debug)]
pub enum UnusedRoot {
    /// It is not a `file://` URI of this machine.
    NotAFile,
    /// There is no such folder, or it cannot be opened.
    Folder(RootError),
    /// The folder is there, but cannot be served, in the words of the command line.
    NotServed(String),
    /// Opening it took too long.
    Slow,
}

/// The most characters of a diff that a client shows in a question.
const DIFF_CHARS: usize = 3_000;

/// The question whether a call may be made, for the person at the client. Says where the rule stands that asks, and not what it
/// says: some clients keep the question where the model sees it.
#[must_use]
pub fn question(request: &ApprovalRequest) -> String {
    let paths = request.paths.iter().map(|path| label(path)).collect::<Vec<_>>().join(", ");
    let rule = if request.rule.file.is_empty() {
        String::new()
    } else {
        format!("\nThe rule that asks: {}:{}", request.rule.file, request.rule.line)
    };
    let diff = request.diff.as_ref().filter(|diff| !diff.is_empty());
    let diff = diff.map(|diff| format!("\n\n{}", shortened(diff.trim_end(), DIFF_CHARS))).unwrap_or_default();
    let said = format!("The agent wants to {} {paths}. Approve it? (request {}){rule}{diff}", request.what, request.id);
    said.lines()
        .map(|line| line.split('\t').map(printable).collect::<Vec<_>>().join("\t"))
        .collect::<Vec<_>>()
        .join("\n")
}

/// The most characters of a URI that are shown, and of why it is not used.
const URI_CHARS: usize = 200;
const WHY_CHARS: usize = 600;

/// That a root is not used.
#[must_use]
pub fn unused_root(uri: &str, why: &UnusedRoot) -> String {
    let why = match why {
        UnusedRoot::NotAFile => "only file:// URIs with an absolute path can be".to_owned(),
        UnusedRoot::Folder(error) => disk::root(Terms::PLAIN, error),
        UnusedRoot::NotServed(why) => why.clone(),
        UnusedRoot::Slow => "opening it takes too long".to_owned(),
    };
    let (uri, why) = (shortened(uri, URI_CHARS), shortened(&why, WHY_CHARS));
    printable(&format!("the client's root `{uri}` is not used as the workspace: {why}"))
}

fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
