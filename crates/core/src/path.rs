//! From a path as a model wrote it to the file names worth trying, in order; and names as they may be shown. Touches no disk:
//! `disk` takes the first name that exists.

use alloc::{
    borrow::{Cow, ToOwned},
    format,
    string::{String, ToString},
    sync::Arc,
    vec::Vec,
};
use core::fmt;
use unicode_normalization::UnicodeNormalization;

use crate::scope::ScopeError;

/// The name that knowledge keeps a file under: relative to the workspace root, `/`-separated, links not followed. Where a host
/// keeps the transcript, it is the name used there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PathKey(Arc<str>);

impl PathKey {
    /// Takes the name as it is.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self(name.into())
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PathKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What relative names and `~` start from.
#[derive(Clone, Debug)]
pub struct Bearings {
    /// The working directory, absolute.
    pub cwd: String,
    /// The user's home directory, absolute, if there is one.
    pub home: Option<String>,
}

/// A path that ends in a line range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suffixed<'a> {
    /// The path without the range.
    pub path: &'a str,
    /// The first line.
    pub first: u64,
    /// The last line, if the range names one.
    pub last: Option<u64>,
}

/// Splits a trailing `:10` or `:10-20` off a path; `None` if there is none. Only to be tried when no file has the whole name.
///
/// # Errors
/// The path ends in digits that are not a valid range.
pub fn split_range(raw: &str) -> Result<Option<Suffixed<'_>>, ScopeError> {
    let Some((path, range)) = raw.rsplit_once(':') else {
        return Ok(None);
    };
    let (first, last) = match range.split_once('-') {
        Some((first, last)) => (first, Some(last)),
        None => (range, None),
    };
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if path.is_empty() || !digits(first) || !last.is_none_or(digits) {
        return Ok(None);
    }
    let number = |part: &str| {
        let text = part.to_string();
        part.parse::<u64>().map_err(|_| ScopeError::NotANumber { text })
    };
    let (first, last) = (number(first)?, last.map(number).transpose()?);
    if first == 0 || last == Some(0) {
        return Err(ScopeError::Zero { what: "line" });
    }
    match last {
        Some(last) if last < first => Err(ScopeError::Reversed { first, last }),
        _ => Ok(Some(Suffixed { path, first, last })),
    }
}

/// The first of the [`candidates`]: `@` and `~` expanded, made absolute, `.` and `..` resolved.
#[must_use]
pub fn meant(raw: &str, bearings: &Bearings) -> String {
    resolve(&expanded(raw, bearings), &bearings.cwd)
}

/// The same, absolute but with its `..` left in; `None` if it has none. As text, `link/..` is the folder that contains the link;
/// to the system it is the parent of the folder the link points to, so the caller must look.
#[must_use]
pub fn going_back(raw: &str, bearings: &Bearings) -> Option<String> {
    if !raw.split('/').any(|part| part == "..") {
        return None;
    }
    let name = expanded(raw, bearings);
    Some(if name.starts_with('/') { name } else { format!("{}/{name}", bearings.cwd) })
}

fn expanded(raw: &str, bearings: &Bearings) -> String {
    let spaced: Cow<'_, str> =
        if raw.is_ascii() { raw.into() } else { raw.chars().map(plain_space).collect::<String>().into() };
    expand(spaced.strip_prefix('@').unwrap_or(&spaced), bearings)
}

/// The names to try, best first: absolute, without `.` and `..`, each once. There is always at least one.
#[must_use]
pub fn candidates(raw: &str, bearings: &Bearings) -> Vec<String> {
    let meant = meant(raw, bearings);

    // The working directory exists under its own name, so only what follows it is varied.
    let (here, asked) = match meant.strip_prefix(&bearings.cwd) {
        Some(asked) if asked.is_empty() || asked.starts_with('/') => (bearings.cwd.as_str(), asked),
        _ => ("", meant.as_str()),
    };
    let nfd: String = asked.nfd().collect();
    let below = |asked: &str| format!("{here}{asked}");
    let mut names = alloc::vec![
        meant.clone(),
        below(&narrow_space_before_am_pm(asked)),
        below(&nfd),
        below(&curly(asked)),
        below(&curly(&nfd)),
        // Last, the name exactly as written: a file may really be called `@x` or contain an unusual space.
        resolve(raw, &bearings.cwd),
    ];
    let mut seen: Vec<String> = Vec::new();
    names.retain(|name| {
        let new = !seen.contains(name);
        if new {
            seen.push(name.clone());
        }
        new
    });
    names
}

fn plain_space(c: char) -> char {
    match c {
        '\u{00a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
        other => other,
    }
}

fn expand(name: &str, bearings: &Bearings) -> String {
    if let Some(home) = &bearings.home {
        if name == "~" {
            return home.clone();
        }
        if let Some(rest) = name.strip_prefix("~/") {
            return format!("{home}/{rest}");
        }
    }
    of_file_uri(name).unwrap_or_else(|| name.to_owned())
}

/// The absolute path that a `file://` URI of this machine names. Escapes that are malformed or not UTF-8 are taken as they
/// are written.
#[must_use]
pub fn of_file_uri(uri: &str) -> Option<String> {
    let rest = uri.strip_prefix("file://")?;
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    path.starts_with('/').then(|| percent_decoded(path).unwrap_or_else(|| path.to_owned()))
}

/// `None` when an escape is malformed or the result is not UTF-8.
fn percent_decoded(path: &str) -> Option<String> {
    let mut bytes = path.bytes();
    let mut out = Vec::with_capacity(path.len());
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let digit = |b: Option<u8>| char::from(b?).to_digit(16);
            let value = digit(bytes.next())? * 16 + digit(bytes.next())?;
            out.push(u8::try_from(value).ok()?);
        } else {
            out.push(byte);
        }
    }
    String::from_utf8(out).ok()
}

/// A name with every character composed.
#[must_use]
pub fn composed(name: &str) -> String {
    name.nfc().collect()
}

/// The absolute name, with `.` and `..` resolved as text: no link is followed.
#[must_use]
pub fn resolve(name: &str, cwd: &str) -> String {
    let start = if name.starts_with('/') { "" } else { cwd };
    let mut whole = String::with_capacity(start.len() + name.len() + 2);
    for part in start.split('/').chain(name.split('/')) {
        match part {
            "" | "." => {}
            ".." => whole.truncate(whole.rfind('/').unwrap_or(0)),
            other => {
                whole.push('/');
                whole.push_str(other);
            }
        }
    }
    if whole.is_empty() { "/".to_owned() } else { whole }
}

/// macOS writes U+202F before AM and PM in the names of screenshots.
fn narrow_space_before_am_pm(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    let mut rest = name;
    while let Some(at) = rest.find(' ') {
        let after = &rest[at + 1..];
        let is_clock = after.get(..3).is_some_and(|w| w.eq_ignore_ascii_case("am.") || w.eq_ignore_ascii_case("pm."));
        out.push_str(&rest[..at]);
        out.push(if is_clock { '\u{202f}' } else { ' ' });
        rest = after;
    }
    out + rest
}

/// macOS writes a curly quote where a model types a straight one.
fn curly(name: &str) -> String {
    name.replace('\'', "\u{2019}")
}

/// Whether a character could break a line, colour it, reverse its direction or be invisible.
pub(crate) fn is_odd(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
        || matches!(c, '\u{fff9}'..='\u{fffb}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
}

/// Text as it may be shown inside a line: characters that could break the line, colour it, reverse it or be invisible are
/// escaped.
#[must_use]
pub fn printable(text: &str) -> String {
    if !text.contains(is_odd) {
        return String::from(text);
    }
    text.chars().fold(String::with_capacity(text.len() + 16), |mut shown, c| {
        if is_odd(c) {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
        shown
    })
}

/// Pieces of our markers and trailers. A file name that contains one could be taken for ours.
const OUR_WORDS: [&str; 5] = ["[readcache", "; ", ": line", ": empty", "known="];

/// A file name as it may be shown inside a marker or trailer: [`printable`], and where it contains words of ours, with their
/// punctuation escaped too. Brackets alone are kept, as many names have them.
#[must_use]
pub fn label(name: &str) -> String {
    let shown = printable(name);
    if !OUR_WORDS.iter().any(|words| shown.contains(words)) {
        return shown;
    }
    shown.chars().fold(String::with_capacity(shown.len() + 16), |mut label, c| {
        if matches!(c, '[' | ']' | ';' | ':' | '=') {
            label.extend(c.escape_unicode());
        } else {
            label.push(c);
        }
        label
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bearings() -> Bearings {
        Bearings { cwd: "/w/sub".into(), home: Some("/home/u".into()) }
    }

    #[test]
    fn names_in_order() {
        let check = |raw: &str, expected: &[&str]| assert_eq!(candidates(raw, &bearings()), expected, "{raw}");
        check("a.txt", &["/w/sub/a.txt"]);
        check("@a.txt", &["/w/sub/a.txt", "/w/sub/@a.txt"]);
        check("@@a", &["/w/sub/@a", "/w/sub/@@a"]);
        check("~", &["/home/u", "/w/sub/~"]);
        check("~/x/../y", &["/home/u/y", "/w/sub/~/y"]);
        check("@~/x", &["/home/u/x", "/w/sub/@~/x"]);
        check("~other", &["/w/sub/~other"]);
        check("../../../etc", &["/etc"]);
        check("./a//b/.", &["/w/sub/a/b"]);
        check("/abs/../b", &["/b"]);
        check("a\u{a0}b\u{3000}c", &["/w/sub/a b c", "/w/sub/a\u{a0}b\u{3000}c"]);
        check("Shot 1 PM.png", &["/w/sub/Shot 1 PM.png", "/w/sub/Shot 1\u{202f}PM.png"]);
        check("a am.b pm.c", &["/w/sub/a am.b pm.c", "/w/sub/a\u{202f}am.b\u{202f}pm.c"]);
        check(
            "d'\u{e9}",
            &["/w/sub/d'\u{e9}", "/w/sub/d'e\u{301}", "/w/sub/d\u{2019}\u{e9}", "/w/sub/d\u{2019}e\u{301}"],
        );
        check("file:///w/a%20b", &["/w/a b", "/w/sub/file:/w/a%20b"]);
        check("file://localhost/w/a", &["/w/a", "/w/sub/file:/localhost/w/a"]);
        check("file:///w/%zz", &["/w/%zz", "/w/sub/file:/w/%zz"]);
        check("", &["/w/sub"]);
        let odd = Bearings { cwd: "/it's/\u{e9} PM.d".into(), home: None };
        let names = ["/it's/\u{e9} PM.d/a'", "/it's/\u{e9} PM.d/a\u{2019}"];
        assert_eq!(candidates("a'", &odd), names);
        assert_eq!(candidates("/it's/\u{e9} PM.d/a'", &odd), names);
        for here in ["", ".", "a/.."] {
            assert_eq!(candidates(here, &odd), ["/it's/\u{e9} PM.d"], "{here}");
        }
    }

    #[test]
    fn names_among_words_of_ours() {
        for (name, label_) in [
            ("a.rs", "a.rs"),
            ("app/[slug]/page.tsx", "app/[slug]/page.tsx"),
            ("c:\\x; y", "c\\u{3a}\\x\\u{3b} y"),
            ("[readcache: unchanged, 3 lines]", "\\u{5b}readcache\\u{3a} unchanged, 3 lines\\u{5d}"),
            ("a: lines 1-9 of 9; known=h1-0]", "a\\u{3a} lines 1-9 of 9\\u{3b} known\\u{3d}h1-0\\u{5d}"),
            ("x]\n[readcache: x]", "x\\u{5d}\\n\\u{5b}readcache\\u{3a} x\\u{5d}"),
            ("\u{202e}\u{1b}[2J\u{200b}", "\\u{202e}\\u{1b}[2J\\u{200b}"),
        ] {
            assert_eq!(label(name), label_, "{name}");
        }
    }

    #[test]
    fn ranges_at_the_end() {
        let ok = |raw| split_range(raw).unwrap().map(|s| (s.path, s.first, s.last));
        assert_eq!(ok("a:10"), Some(("a", 10, None)));
        assert_eq!(ok("a:10-20"), Some(("a", 10, Some(20))));
        assert_eq!(ok("a:b:7-7"), Some(("a:b", 7, Some(7))));
        for none in ["a", ":10", "a:", "a:-5", "a:5-", "a:x", "a:1-x", "a:1-2-3", "a:+1"] {
            assert_eq!(ok(none), None, "{none}");
        }
        let err = |raw| split_range(raw).unwrap_err();
        assert_eq!(err("a:20-10"), ScopeError::Reversed { first: 20, last: 10 });
        assert_eq!(err("a:0"), ScopeError::Zero { what: "line" });
        assert_eq!(err("a:99999999999999999999"), ScopeError::NotANumber { text: "99999999999999999999".into() });
    }
}
