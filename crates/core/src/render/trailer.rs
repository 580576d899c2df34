//! The trailer: one line after the text of an answer, in a block of its own, that says which lines were shown, how to
//! continue, and which handle to return. It is one line so that neither it nor the text can be taken for the other.

use alloc::{format, string::String, vec::Vec};

use crate::{
    limits::TRAILER_CHARS,
    path::{is_odd, label, printable},
    scope::Lines,
    text::ContentHash,
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
    /// The text that the next lines must be of, so that nobody puts the pages of two texts together; said where there is more.
    pub of: Option<ContentHash>,
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
        parts.extend(self.next.map(|(word, line)| format!("go on with {word}={line}{}", self.snapshot())));
        parts.extend(self.handle.map(|handle| format!("known={handle}")));
        parts.extend(self.notices.iter().map(|notice| printable(notice)));
        // Room for the brackets.
        format!("[{}]", short(&parts.join("; "), TRAILER_CHARS as usize - 2))
    }
}

/// How many hex digits of a content hash name a text in a trailer.
pub const OF_DIGITS: usize = 8;

impl Trailer<'_> {
    fn snapshot(&self) -> String {
        let digits =
            |of: ContentHash| of.to_hex().iter().take(OF_DIGITS).map(|digit| char::from(*digit)).collect::<String>();
        self.of.map_or_else(String::new, |of| format!(" of={}", digits(of)))
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

/// The most characters that [`hidden`] names one by one.
const NAMED: usize = 4;

/// Names the characters of a shown text that nobody sees but that change what is seen, or what a program makes of it: control
/// characters, such that reverse the direction, and such without width. Tabs, line ends and a byte order mark at the
/// beginning are none of these.
#[must_use]
pub fn hidden(text: &str) -> Option<String> {
    let is_usual = |byte: u8| matches!(byte, b'\t' | b'\n' | b' '..=b'~');
    if text.bytes().all(is_usual) {
        return None;
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut places = Vec::new();
    let mut more = 0_u32;
    for (line, number) in text.split('\n').zip(1_u32..) {
        let line = line.strip_suffix('\r').unwrap_or(line);
        for c in line.chars().filter(|c| *c != '\t' && is_odd(*c)) {
            if places.len() < NAMED {
                places.push(format!("U+{:04X} in its line {number}", u32::from(c)));
            } else {
                more += 1;
            }
        }
    }
    if more > 0 {
        places.push(format!("{more} more"));
    }
    (!places.is_empty()).then(|| format!("the text has hidden characters: {}", places.join(", ")))
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
    fn hidden_characters_are_named() {
        for plain in ["", "a\tb\r\nc\n", "\u{feff}a\n", "über 日本 😀\n"] {
            assert_eq!(hidden(plain), None, "{plain:?}");
        }
        let said = "the text has hidden characters: U+202E in its line 2, U+001B in its line 3";
        assert_eq!(hidden("a\nb\u{202e}c\n\u{1b}[2J\n").as_deref(), Some(said));
        let said = "the text has hidden characters: U+000D in its line 1, U+200B in its line 1, U+200B in its line 1, \
                    U+FEFF in its line 2, 2 more";
        assert_eq!(hidden("a\rb\u{200b}\u{200b}\n\u{feff}\u{7f}\u{ad}").as_deref(), Some(said));
    }

    #[test]
    fn one_line_says_it_all() {
        let notices = [String::from("a\nb")];
        let all = Trailer {
            path: "s\u{1b}[1m\u{202e}.rs",
            lines: Lines::new(1, 300),
            total: 812,
            beyond: Some(900),
            next: Some(("offset", 301)),
            of: Some(ContentHash::of(b"a")),
            notices: &notices,
            handle: Some("h2-0f"),
        };
        let line = "[s\\u{1b}[1m\\u{202e}.rs: lines 1-300 of 812; line 900 is beyond the end; go on with offset=301 of=ca978112; \
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
