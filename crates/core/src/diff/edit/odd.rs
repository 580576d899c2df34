//! What models write into an old or new text that is not text of the file: line numbers copied from a reader's answer, lines that
//! stand for text left out, and lines of our own answers.

use alloc::{
    collections::BTreeSet,
    string::{String, ToString},
    vec::Vec,
};

use crate::{render::MARKER, text::Text};

/// What follows a line number in a reader's answer.
const SEPARATORS: [&str; 8] = ["\t", "\u{2192}", " | ", "| ", "|", ": ", ":", "\u{2502}"];

/// Both texts without the line numbers before every line, by every way to read them, and the first number. The numbers of the old
/// text ascend by one; those of the new one ascend, or it has none at all.
pub(super) fn without_numbers(old: &str, new: &str) -> Vec<(String, String, u32)> {
    let first = old.trim_start_matches([' ', '\t']);
    if !first.starts_with(|c: char| c.is_ascii_digit()) {
        return Vec::new();
    }
    let mut ways = Vec::new();
    for separator in SEPARATORS {
        let Some((bare, numbers)) = stripped(old, separator) else { continue };
        if bare.is_empty() || bare.ends_with('\n') != old.ends_with('\n') {
            // An empty last line without a newline is no line.
            continue;
        }
        if !numbers.windows(2).all(|pair| matches!(pair, [a, b] if a.checked_add(1) == Some(*b))) {
            continue;
        }
        let new = match stripped(new, separator) {
            Some((new, numbers)) if numbers.windows(2).all(|pair| matches!(pair, [a, b] if a < b)) => new,
            Some(_) => continue,
            None if new.lines().any(|line| number(line, separator).is_some()) => continue,
            None => new.to_string(),
        };
        ways.extend(numbers.first().map(|first| (bare, new, *first)));
    }
    ways
}

fn stripped(text: &str, separator: &str) -> Option<(String, Vec<u32>)> {
    let mut out = String::with_capacity(text.len());
    let mut numbers = Vec::new();
    for line in text.split_inclusive('\n') {
        let (first, rest) = number(line, separator)?;
        numbers.push(first);
        out.push_str(rest);
    }
    Some((out, numbers))
}

/// A line's number and what follows it. Blanks at the end of a separator may be missing before an empty line.
fn number<'a>(line: &'a str, separator: &str) -> Option<(u32, &'a str)> {
    let line = line.trim_start_matches([' ', '\t']);
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, rest) = (line.get(..digits)?.parse().ok()?, line.get(digits..)?);
    let bare = separator.trim_end_matches(' ');
    let cut = rest.strip_prefix(separator);
    let empty = || rest.strip_prefix(bare).filter(|left| left.trim_end_matches(['\r', '\n']).is_empty());
    cut.or_else(empty).map(|rest| (number, rest))
}

/// The first line of `text` that stands for text left out, and is not a line of the file.
pub(super) fn elision_in(base: &Text, text: &str) -> Option<String> {
    elision(text)?;
    let there: BTreeSet<&str> = base.as_str().lines().filter(|line| is_elision(line)).map(str::trim).collect();
    let left_out = |line: &&str| is_elision(line) && !there.contains(line.trim());
    text.lines().find(left_out).map(ToString::to_string)
}

/// The first line of a text that seems to stand for text left out.
#[must_use]
pub fn elision(text: &str) -> Option<&str> {
    text.lines().find(|line| is_elision(line))
}

/// Words around which a line of dots, or a comment, stands for text left out.
const LEFT_OUT: [&str; 22] = [
    "existing code",
    "existing implementation",
    "existing content",
    "rest of the code",
    "rest of code",
    "rest of the file",
    "rest of file",
    "rest of the function",
    "rest of the implementation",
    "rest of the method",
    "rest of the class",
    "rest remains",
    "rest is unchanged",
    "rest unchanged",
    "remaining code",
    "remaining implementation",
    "remains unchanged",
    "unchanged code",
    "code unchanged",
    "same as before",
    "previous code",
    "other code",
];

fn is_elision(line: &str) -> bool {
    let line = line.trim();
    if line.len() > 200 {
        return false;
    }
    let inner = line
        .trim_start_matches(['/', '#', '-', ';', '*', '<', '!', '%', '{', '(', '[', ' '])
        .trim_end_matches(['/', '#', '-', '*', '>', '}', ')', ']', ' ']);
    let comment = inner.len() < line.len();
    let dots = |text: &str| text.starts_with("...") || text.starts_with('…');
    let bare = inner.trim_matches(['.', '…', ' ']);
    if bare.is_empty() {
        // Fewer dots are no elision, and none are an empty comment.
        return dots(inner)
            && (line == inner || !line.contains(['(', '[', '{', '<']) || comment && line.starts_with("{/*"));
    }
    let words = bare.to_ascii_lowercase();
    let around = dots(inner) || inner.ends_with("...") || inner.ends_with('…');
    (comment || around) && LEFT_OUT.iter().any(|left| words.starts_with(left) || (around && words.contains(left)))
        || (comment
            && around
            && ["existing", "rest", "remaining", "unchanged", "omitted", "same"].iter().any(|w| words.contains(w)))
}

/// Whether a line of `text` is one of our own answers: a marker, or the trailer.
pub(super) fn is_ours(text: &str) -> bool {
    text.lines().any(|line| {
        let line = line.trim();
        let inner = line.strip_prefix('[').and_then(|line| line.strip_suffix(']'));
        line.starts_with(MARKER.trim_end()) || line.starts_with("[readproof: ") || inner.is_some_and(is_trailer)
    })
}

/// `f: lines 1-3 of 9; …`, `f: line 2 of 3`, `f: empty file`, `f: 9 lines`, or with a handle.
fn is_trailer(inner: &str) -> bool {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    let said = inner.split("; ").next().and_then(|first| first.split_once(": ")).map(|(_, said)| said);
    let words: Vec<&str> = said.unwrap_or_default().split(' ').collect();
    let lines = match words[..] {
        ["line" | "lines", some, "of", total] => number(some) && number(total),
        ["empty", "file"] => true,
        [total, "lines"] => number(total),
        _ => false,
    };
    lines || inner.contains("; known=h")
}
