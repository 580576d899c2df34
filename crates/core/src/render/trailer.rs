//! The trailer: one line after the text of an answer, in a block of its own, that says which lines were shown, how to
//! continue, and which handle to return. It is one line so that neither it nor the text can be taken for the other.

use alloc::{format, string::String, vec::Vec};

use crate::{
    limits::TRAILER_CHARS,
    path::{label, printable},
    scope::Lines,
};

/// What a trailer says.
#[derive(Clone, Debug, Default)]
pub struct Trailer<'a> {
    /// The file, relative to the workspace root.
    pub path: &'a str,
    /// The lines that are shown or vouched for.
    pub lines: Option<Lines>,
    /// Lines in the file.
    pub total: u32,
    /// The last line asked for, where the file ends before it.
    pub beyond: Option<u64>,
    /// The argument to continue with, and its value.
    pub next: Option<(&'a str, u32)>,
    /// Anything else there is to say.
    pub notices: &'a [String],
    /// The handle to return while this answer can still be seen.
    pub handle: Option<&'a str>,
}

impl Trailer<'_> {
    /// The trailer as text, in brackets, without a newline, and at most [`TRAILER_CHARS`] characters. Control characters and
    /// names that read like a trailer are escaped.
    #[must_use]
    pub fn line(&self) -> String {
        let (path, total) = (short(&label(self.path), PATH_CHARS), self.total);
        let lines = match self.lines {
            Some(lines) if lines.count() == 1 => format!("{path}: line {} of {total}", lines.first()),
            Some(lines) => format!("{path}: lines {}-{} of {total}", lines.first(), lines.last()),
            None if total == 0 => format!("{path}: empty file"),
            None => format!("{path}: {total} lines"),
        };
        let mut parts = Vec::from([lines]);
        parts.extend(self.beyond.map(|line| format!("line {line} is beyond the end")));
        parts.extend(self.next.map(|(word, line)| format!("go on with {word}={line}")));
        parts.extend(self.handle.map(|handle| format!("known={handle}")));
        parts.extend(self.notices.iter().map(|notice| printable(notice)));
        // Room for the brackets.
        format!("[{}]", short(&parts.join("; "), TRAILER_CHARS as usize - 2))
    }
}

/// The trailer of an answer that does not show lines of a file: the file, what is said about it, and notices.
#[must_use]
pub fn remark(path: &str, said: &str, notices: &[String]) -> String {
    let path = short(&label(path), PATH_CHARS);
    let notices = notices.iter().map(|notice| printable(notice));
    let parts: Vec<String> = [format!("{path} {}", printable(said))].into_iter().chain(notices).collect();
    format!("[{}]", short(&parts.join("; "), TRAILER_CHARS as usize - 2))
}

/// The most characters of a path in a trailer.
const PATH_CHARS: usize = 400;

/// `text` with at most `most` characters; where it is cut, the last one is `…`.
fn short(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some(_) => text.chars().take(most.saturating_sub(1)).chain(['…']).collect(),
        None => String::from(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_says_it_all() {
        let notices = [String::from("a\nb")];
        let all = Trailer {
            path: "s\u{1b}[1m\u{202e}.rs",
            lines: Lines::new(1, 300),
            total: 812,
            beyond: Some(900),
            next: Some(("offset", 301)),
            notices: &notices,
            handle: Some("h2-0f"),
        };
        let line = "[s\\u{1b}[1m\\u{202e}.rs: lines 1-300 of 812; line 900 is beyond the end; go on with offset=301; \
                    known=h2-0f; a\\nb]";
        assert_eq!(all.line(), line);
        assert_eq!(Trailer { path: "a", ..Trailer::default() }.line(), "[a: empty file]");
        let (path, long) = ("x".repeat(5000), [String::from("y").repeat(5000)]);
        let long = Trailer { path: &path, notices: &long, handle: Some("h"), ..Trailer::default() }.line();
        assert!(long.chars().count() == TRAILER_CHARS as usize && long.contains("known=h"), "{long}");
        assert_eq!(
            Trailer { path: "a", total: 3, lines: Lines::new(2, 2), ..Trailer::default() }.line(),
            "[a: line 2 of 3]"
        );
        assert_eq!(remark("a\n", "differs", &notices), "[a\\n differs; a\\nb]");
        assert_eq!(remark("a; known=h1-0]", "differs", &[]), "[a\\u{3b} known\\u{3d}h1-0\\u{5d} differs]");
        assert_eq!(
            Trailer { path: "b: line 1 of 1]", total: 3, lines: Lines::new(2, 2), ..Trailer::default() }.line(),
            "[b\\u{3a} line 1 of 1\\u{5d}: line 2 of 3]"
        );
    }
}
