//! Which pieces of a text look like credentials, and the text without them. A table of well-known forms, values that are
//! assigned to telling names, and values that are assigned and look random. It errs towards masking: a search for a secret
//! must not put the secret into a log.

use alloc::{borrow::Cow, string::String, vec::Vec};

/// Begins of tokens that say whose they are, and how many characters follow at least.
const PREFIXES: &[(&str, usize)] = &[
    ("AKIA", 12),
    ("ASIA", 12),
    ("AIza", 30),
    ("ghp_", 20),
    ("gho_", 20),
    ("ghu_", 20),
    ("ghs_", 20),
    ("ghr_", 20),
    ("github_pat_", 20),
    ("glpat-", 16),
    ("npm_", 20),
    ("pypi-", 20),
    ("sk-", 16),
    ("sk_live_", 10),
    ("sk_test_", 10),
    ("rk_live_", 10),
    ("xoxa-", 10),
    ("xoxb-", 10),
    ("xoxp-", 10),
    ("xoxs-", 10),
    ("dop_v1_", 20),
    ("hf_", 20),
    ("SG.", 20),
    ("eyJ", 20),
    ("AGE-SECRET-KEY-", 20),
    ("PRIVATE+KEY+", 10),
];

/// Parts of names to which credentials are assigned, in lower case.
const NAMES: &[&str] = &[
    "passw",
    "passphrase",
    "pwd",
    "secret",
    "token",
    "apikey",
    "api_key",
    "api-key",
    "access_key",
    "private_key",
    "credential",
];

/// Words before a credential in a header.
const SCHEMES: &[&str] = &["bearer ", "basic "];

/// A value this long that looks random counts as a credential wherever it is assigned.
const RANDOM_CHARS: usize = 20;

/// What stands where a credential stood.
pub const MASK: &str = "[masked]";

/// The text without what looks like a credential. Masking twice changes nothing.
#[must_use]
pub fn masked(text: &str) -> Cow<'_, str> {
    let mut spans: Vec<(usize, usize)> = Vec::new();
    private_keys(text, &mut spans);
    prefixed(text, &mut spans);
    schemes(text, &mut spans);
    in_urls(text, &mut spans);
    assigned(text, &mut spans);
    spans.retain(|(start, end)| start < end && &text[*start..*end] != MASK);
    if spans.is_empty() {
        return Cow::Borrowed(text);
    }
    spans.sort_unstable();
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    for (start, end) in spans {
        if start >= at {
            out.push_str(&text[at..start]);
            out.push_str(MASK);
        }
        at = at.max(end);
    }
    out.push_str(&text[at..]);
    Cow::Owned(out)
}

/// From the first dash of a key in PEM to the last one, or to the end of the text.
fn private_keys(text: &str, spans: &mut Vec<(usize, usize)>) {
    let mut from = 0;
    while let Some(at) = text[from..].find("-----BEGIN ").map(|at| from + at) {
        let line = text[at..].split('\n').next().unwrap_or_default();
        let Some(_) = line.find("PRIVATE KEY") else {
            from = at + 11;
            continue;
        };
        let end = text[at..].find("-----END ").map(|found| at + found);
        let end = end.map_or(text.len(), |end| {
            let rest = &text[end + 9..];
            end + 9 + rest.find("-----").map_or(rest.len(), |dashes| dashes + 5)
        });
        spans.push((at, end));
        from = end;
    }
}

fn prefixed(text: &str, spans: &mut Vec<(usize, usize)>) {
    let bytes = text.as_bytes();
    for (prefix, least) in PREFIXES {
        let mut from = 0;
        while let Some(at) = text[from..].find(prefix).map(|at| from + at) {
            from = at + prefix.len();
            let is_inside = at > 0 && bytes[at - 1].is_ascii_alphanumeric();
            let end = from + bytes[from..].iter().take_while(|byte| is_token(**byte)).count();
            if !is_inside && end - from >= *least {
                spans.push((at, end));
                from = end;
            }
        }
    }
}

fn schemes(text: &str, spans: &mut Vec<(usize, usize)>) {
    let lower = text.to_ascii_lowercase();
    for scheme in SCHEMES {
        for (at, _) in lower.match_indices(scheme) {
            let start = at + scheme.len();
            let end = start + text.as_bytes()[start..].iter().take_while(|byte| is_token(**byte)).count();
            if end - start >= 8 {
                spans.push((start, end));
            }
        }
    }
}

/// The password of `scheme://user:password@host`.
fn in_urls(text: &str, spans: &mut Vec<(usize, usize)>) {
    for (at, _) in text.match_indices("://") {
        let start = at + 3;
        let end = text[start..]
            .find(|c: char| c.is_whitespace() || matches!(c, '/' | '"' | '\''))
            .map_or(text.len(), |n| start + n);
        let authority = &text[start..end];
        if let Some((user, _)) = authority.rsplit_once('@')
            && let Some(colon) = user.find(':')
        {
            spans.push((start + colon + 1, start + user.len()));
        }
    }
}

/// Values after `=` or `:` whose name tells what they are, or that look random.
fn assigned(text: &str, spans: &mut Vec<(usize, usize)>) {
    let bytes = text.as_bytes();
    for (at, _) in bytes.iter().enumerate().filter(|(_, byte)| matches!(**byte, b'=' | b':')) {
        let name = text[..at].trim_end_matches([' ', '"', '\'', ':']);
        let name_start = name
            .rfind(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')))
            .map_or(0, |n| n + name[n..].chars().next().map_or(1, char::len_utf8));
        let name = name[name_start..].to_ascii_lowercase();
        let start = at
            + 1
            + bytes[at + 1..].iter().take_while(|byte| matches!(**byte, b' ' | b'"' | b'\'' | b'=' | b'>')).count();
        let ends =
            |byte: &&u8| !matches!(**byte, b' ' | b'\t' | b'\n' | b'\r' | b'"' | b'\'' | b',' | b';' | b'&' | b')');
        let end = start + bytes[start..].iter().take_while(ends).count();
        let value = &text[start..end];
        let tells = NAMES.iter().any(|part| name.contains(part)) && value.len() >= 4;
        if !name.is_empty() && (tells || is_random(value)) {
            spans.push((start, end));
        }
    }
}

/// Whether a value has the letters of base64 or hex, digits among them, and is long and mixed enough to be a key. Names and paths are not.
fn is_random(value: &str) -> bool {
    let bytes = value.as_bytes();
    if bytes.len() < RANDOM_CHARS
        || !bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'_' | b'-'))
    {
        return false;
    }
    let digits = bytes.iter().filter(|byte| byte.is_ascii_digit()).count();
    let mut seen = [0_u8; 256];
    for byte in bytes {
        seen[usize::from(*byte)] = 1;
    }
    let kinds: usize = seen.iter().map(|count| usize::from(*count)).sum();
    digits * 8 >= bytes.len() && kinds >= 10
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'+' | b'/' | b'=' | b'~')
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    #[test]
    fn credentials_are_masked_and_masking_twice_changes_nothing() {
        let cases = [
            ("AKIAIOSFODNN7EXAMPLE", MASK),
            ("use ghp_abcdefghijklmnopqrst0123 here", "use [masked] here"),
            ("Authorization: Bearer abcdefgh12345", "Authorization: Bearer [masked]"),
            ("postgres://me:hunter2@db/x", "postgres://me:[masked]@db/x"),
            ("PASSWORD=hunter22", "PASSWORD=[masked]"),
            ("{\"api_key\": \"abcd-efgh\"}", "{\"api_key\": \"[masked]\"}"),
            ("db.password := s3cret!x;", "db.password := [masked];"),
            ("x = 9f86d081884c7d659a2feaa0c55ad015", "x = [masked]"),
            ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nafter", "[masked]\nafter"),
            ("-----BEGIN PRIVATE KEY-----\nMIIE", MASK),
        ];
        for (text, expected) in cases {
            let once = masked(text);
            assert_eq!(once, expected);
            assert_eq!(masked(&once), expected, "twice");
        }
    }

    #[test]
    fn what_is_no_credential_stays() {
        for text in [
            "",
            "fn main() { let x = 1; }",
            "src/engine/read.rs:10-20",
            "https://example.org/a:b@c",
            "-----BEGIN CERTIFICATE-----\nMIIE",
            "mode = read_the_whole_configuration",
            "risk-",
            "tokens: 12",
        ] {
            assert_eq!(masked(text), text);
        }
    }

    #[test]
    fn a_planted_credential_is_gone_wherever_it_stands() {
        let secrets = ["ghp_0123456789abcdefghijkl", "sk-0123456789abcdefghij", "xoxb-1234567890-abcdef"];
        for before in ["", "é ", "a=", "\"", "://", "-----BEGIN ", "x:"] {
            for after in ["", " é", "\n", "\"}", "@"] {
                for secret in secrets {
                    let text = format!("{before}{secret}{after}");
                    assert!(!masked(&text).contains(secret), "{text}");
                }
            }
        }
    }
}
