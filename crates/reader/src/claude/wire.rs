//! Takes the texts of a request apart: numbered lines, what the host says around them, markers, files that are attached, notes
//! about changed files. It looks at the words alone.

use crate::answer::fields;

/// Everything that the host says by itself begins with this.
const REMINDER: &str = "<system-reminder>";
const REMINDER_END: &str = "\n</system-reminder>";

/// How the model is told that markers may stand for text that a compaction took away.
const RETRACTS: &str = "SessionStart hook additional context: [readproof: a result `[readcache: unchanged ...]` from before this \
                        compaction stands for text that may be out of sight now;";

/// Lines with their numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Numbered<'a> {
    pub(super) first: u64,
    pub(super) lines: Vec<&'a str>,
}

/// What the result of a `Read` is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Result<'a> {
    /// Lines of the file.
    Plain(Numbered<'a>),
    /// There are no lines.
    Empty,
    /// The file ends before the first line asked for.
    Beyond,
    /// A marker.
    Marker(Marker<'a>),
    /// Something else.
    Unknown,
}

/// A marker, and what came beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Marker<'a> {
    /// The whole file is unchanged.
    Unchanged { total: u64 },
    /// Lines are unchanged; the others are too only if there is a `total`.
    Range { first: u64, last: u64, total: Option<u64> },
    /// A diff of the whole file.
    Diff { changed: u64, total: u64, diff: &'a str },
}

/// Parses the result of a read.
pub(super) fn result(text: &str) -> Result<'_> {
    if text.starts_with("<system-reminder>Warning: the file exists but the contents are empty.") {
        return Result::Empty;
    }
    if text.starts_with("<system-reminder>Warning: the file exists but is shorter than") {
        return Result::Beyond;
    }
    if let Some(words) = text.strip_prefix("0\t[readcache: ") {
        let (words, _) = body(words);
        return marker(words).map_or(Result::Unknown, Result::Marker);
    }
    let (lines, told) = body(text);
    numbered(lines, told).map_or(Result::Unknown, Result::Plain)
}

/// The text, and whether the host says something behind it.
fn body(text: &str) -> (&str, bool) {
    let (body, said) = apart(text);
    (body, !said.is_empty())
}

/// What the host says behind the text of a result, piece by piece.
pub(super) fn behind(text: &str) -> Vec<&str> {
    apart(text).1
}

/// What the host says stands at the end, each piece behind an empty line, and the text before may look the same: only from the end
/// can they be told apart.
fn apart(text: &str) -> (&str, Vec<&str>) {
    let begins = format!("\n\n{REMINDER}\n");
    let (mut rest, mut said) = (text, Vec::new());
    while let Some(at) = rest.trim_end().strip_suffix(REMINDER_END).and_then(|before| before.rfind(&begins)) {
        said.insert(0, rest[at..].trim());
        rest = &rest[..at];
    }
    (rest, said)
}

/// What follows `[readcache: `.
fn marker(words: &str) -> Option<Marker<'_>> {
    if let Some([total]) = fields(words, "unchanged, {} lines]") {
        return Some(Marker::Unchanged { total });
    }
    if let Some([first, last, total]) = fields(words, "unchanged in lines {}-{} of {}]") {
        return Some(Marker::Range { first, last, total: Some(total) });
    }
    if let Some([first, last]) = fields(words, "unchanged in lines {}-{}; changes exist outside this range]") {
        return Some(Marker::Range { first, last, total: None });
    }
    let (head, diff) = words.split_once('\n')?;
    let [changed, total] = fields(head, "{} lines changed of {}]")?;
    Some(Marker::Diff { changed, total, diff })
}

/// `3\tthree` on each line. A last line without blanks may have lost its tab.
pub(super) fn numbered(text: &str, told: bool) -> Option<Numbered<'_>> {
    let mut lines = Vec::new();
    let mut first = 0;
    let count = text.split('\n').count();
    for (at, row) in text.split('\n').enumerate() {
        let (number, line) = match row.split_once('\t') {
            Some(both) => both,
            None if at + 1 == count && told => (row, ""),
            None => return None,
        };
        let plain = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        let number: u64 = number.parse().ok().filter(|_| plain)?;
        if at == 0 {
            first = number;
        }
        if number != first + at as u64 {
            return None;
        }
        lines.push(line);
    }
    Some(Numbered { first, lines })
}

/// What the host says by itself in a block of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Said<'a> {
    /// The next block has this file.
    Attaches { path: String, part: bool },
    /// The file announced before, as a read shows it.
    Attached(Option<Numbered<'a>>),
    /// A file changed; the lines shown of it.
    Changed { path: &'a str, lines: Vec<(u64, &'a str)> },
    /// Markers that came before say nothing any more.
    Retracts,
    /// Something else.
    Else,
}

/// Parses a block that is not the result of a call.
pub(super) fn said(text: &str) -> Said<'_> {
    let Some(inside) =
        text.trim_end_matches('\n').strip_prefix(REMINDER).and_then(|rest| rest.strip_suffix(REMINDER_END))
    else {
        return Said::Else;
    };
    let inside = inside.strip_prefix('\n').unwrap_or(inside);
    if let Some(input) = inside.strip_prefix("Called the Read tool with the following input: ") {
        return match string_field(input, "file_path") {
            Some(path) => Said::Attaches { path, part: input.contains("\"offset\"") || input.contains("\"limit\"") },
            None => Said::Else,
        };
    }
    if let Some(lines) = inside.strip_prefix("Result of calling the Read tool:\n") {
        // The host replaces what would end its own words: such text is not the file's.
        let exact = !lines.to_ascii_lowercase().contains("system-reminder");
        return Said::Attached(numbered(lines, false).filter(|_| exact));
    }
    if inside.starts_with(RETRACTS) && inside.ends_with("read the file again to see it]") {
        return Said::Retracts;
    }
    let changed = inside.strip_prefix("Note: ").and_then(|note| {
        let ends = [" was modified, either by ", " changed on disk since you last read it."];
        ends.iter().find_map(|end| note.split_once(end))
    });
    match changed {
        Some((path, rest)) => Said::Changed { path, lines: rest.split('\n').filter_map(row).collect() },
        None => Said::Else,
    }
}

fn row(line: &str) -> Option<(u64, &str)> {
    let (number, text) = line.split_once('\t')?;
    let plain = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    Some((number.parse().ok().filter(|_| plain)?, text))
}

/// `12:text`, as `grep -n` prints the lines of one file.
pub(super) fn found(text: &str) -> Vec<(u64, &str)> {
    let (text, _) = body(text);
    let row = |line: &'_ str| -> Option<(u64, usize)> {
        let (number, _) = line.split_once(':')?;
        Some((number.parse().ok()?, number.len() + 1))
    };
    text.split('\n').filter_map(|line| row(line).map(|(number, at)| (number, &line[at..]))).collect()
}

/// What a program printed, without what the host says behind it.
pub(super) fn printed(text: &str) -> &str {
    body(text).0
}

/// A field of a JSON object of one level whose value is a string without escapes but `\"` and `\\`.
fn string_field(json: &str, name: &str) -> Option<String> {
    let start = format!("\"{name}\":\"");
    let rest = &json[json.find(&start)? + start.len()..];
    let mut value = String::new();
    let mut chars = rest.chars();
    loop {
        match chars.next()? {
            '"' => return Some(value),
            '\\' => match chars.next()? {
                escaped @ ('"' | '\\' | '/') => value.push(escaped),
                _ => return None,
            },
            other => value.push(other),
        }
    }
}
