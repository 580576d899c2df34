//! Splits text into words. An identifier is a run of letters, digits and underscores; its words end at underscores, before
//! capitals, and between letters and digits: `HTTPServer_v2` is `http`, `server`, `v`, `2`. Words are compared by their
//! stems, and a stem is always the beginning of its word, so that a stem can be looked for as it is.

use std::ops::Range;

/// Longer identifiers are data, not names.
const LONGEST: usize = 128;

/// Words that say nothing about what is meant.
const STOP_WORDS: [&str; 66] = [
    "a", "about", "after", "all", "also", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can",
    "did", "do", "does", "for", "from", "had", "has", "have", "how", "i", "if", "in", "into", "is", "it", "its", "may",
    "more", "no", "not", "of", "on", "only", "or", "our", "should", "so", "some", "such", "than", "that", "the",
    "their", "then", "there", "these", "this", "to", "use", "used", "was", "we", "what", "when", "where", "which",
    "will", "with", "you", "your",
];

pub(crate) fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok()
}

fn is_part(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// The identifier around a place in a text.
pub(super) fn identifier_at(text: &[u8], at: usize) -> Range<usize> {
    let start = text[..at].iter().rposition(|byte| !is_part(*byte)).map_or(0, |before| before + 1);
    let end = text[at..].iter().position(|byte| !is_part(*byte)).map_or(text.len(), |after| at + after);
    start..end
}

/// Every identifier of a text.
pub(crate) fn identifiers(text: &[u8]) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + text[at..].iter().position(|byte| is_part(*byte))?;
        let end = text[start..].iter().position(|byte| !is_part(*byte)).map_or(text.len(), |after| start + after);
        at = end;
        Some(start..end)
    })
}

/// The words of an identifier; none if it is too long to be a name.
pub(crate) fn words(identifier: &[u8]) -> impl Iterator<Item = &[u8]> {
    let identifier = if identifier.len() > LONGEST { &[] } else { identifier };
    identifier.split(|byte| *byte == b'_').filter(|part| !part.is_empty()).flat_map(|part| {
        let mut at = 0;
        std::iter::from_fn(move || {
            let rest = part.get(at..).filter(|rest| !rest.is_empty())?;
            let len = first_word(rest);
            at += len;
            Some(&rest[..len])
        })
    })
}

/// The length of the first word of what has no underscores.
fn first_word(text: &[u8]) -> usize {
    let is_digit = text[0].is_ascii_digit();
    let run = |from: usize, is_in: &dyn Fn(u8) -> bool| {
        text[from..].iter().position(|byte| !is_in(*byte)).map_or(text.len(), |end| from + end)
    };
    if is_digit {
        return run(0, &|byte| byte.is_ascii_digit());
    }
    let capitals = run(0, &|byte| byte.is_ascii_uppercase());
    let small = |byte: u8| !byte.is_ascii_uppercase() && !byte.is_ascii_digit();
    match capitals {
        0 | 1 => run(capitals, &small),
        // `HTTPServer`: the last capital begins a word, if small letters follow.
        _ if text.get(capitals).is_some_and(|byte| small(*byte)) => capitals - 1,
        _ => capitals,
    }
}

/// In lower case. What is no UTF-8 is folded as far as it is ASCII.
pub(crate) fn folded(word: &[u8], into: &mut Vec<u8>) {
    into.clear();
    match std::str::from_utf8(word) {
        Ok(text) if !text.is_ascii() => into.extend_from_slice(text.to_lowercase().as_bytes()),
        _ => into.extend(word.iter().map(u8::to_ascii_lowercase)),
    }
}

/// The words of a name, or of several, in lower case.
#[must_use]
pub fn name_words(text: &str) -> Vec<String> {
    let lower = |word: &[u8]| {
        let mut out = Vec::new();
        folded(word, &mut out);
        String::from_utf8_lossy(&out).into_owned()
    };
    identifiers(text.as_bytes())
        .flat_map(|range| words(&text.as_bytes()[range]).map(lower).collect::<Vec<_>>())
        .collect()
}

/// The length of the stem of a folded word: without the endings of plurals and verbs, and without a last `e` or `y`.
pub(crate) fn stem(word: &[u8]) -> usize {
    let mut len = word.len();
    if len < 3 || !word.iter().all(u8::is_ascii_lowercase) {
        return len;
    }
    let has_vowel = |word: &[u8]| word.iter().any(|byte| b"aeiouy".contains(byte));
    if (word.ends_with(b"ies") || word.ends_with(b"ied")) && len > 4 {
        return len - 3;
    }
    let plural =
        word.ends_with(b"s") && len > 3 && ![b"ss", b"us", b"is", b"as"].iter().any(|end| word.ends_with(*end));
    if plural {
        let after_hiss = [&b"sses"[..], b"xes", b"ches", b"shes", b"zes"].iter().any(|end| word.ends_with(end));
        len -= if after_hiss { 2 } else { 1 };
    }
    let verb = |ending: &[u8]| {
        let rest = word[..len].strip_suffix(ending)?;
        (rest.len() >= 2 && has_vowel(rest) && !rest.ends_with(b"e")).then_some(rest.len())
    };
    if let Some(rest) = verb(b"ing").or_else(|| verb(b"ed")) {
        len = rest;
        // `stopped`: the doubled letter is not part of the stem.
        let doubled = len > 3 && word[len - 1] == word[len - 2] && !b"aeiouls".contains(&word[len - 1]);
        len -= usize::from(doubled);
    }
    if len > 3 && word[len - 1] == b'y' && !b"aeiou".contains(&word[len - 2]) || len > 2 && word[len - 1] == b'e' {
        len -= 1;
    }
    len
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_identifiers() {
        let check = |identifier: &str, expected: &[&str]| {
            let found: Vec<String> =
                words(identifier.as_bytes()).map(|word| String::from_utf8_lossy(word).into_owned()).collect();
            assert_eq!(found, expected, "{identifier}");
        };
        check("snapshot_working_copy", &["snapshot", "working", "copy"]);
        check("SnapshotWorkingCopy", &["Snapshot", "Working", "Copy"]);
        check("HTTPServer_v2", &["HTTP", "Server", "v", "2"]);
        check("__init__", &["init"]);
        check("sha256sum", &["sha", "256", "sum"]);
        check("größeÄndern", &["größeÄndern"]);
        check("ABC", &["ABC"]);
        check("aB", &["a", "B"]);
        check("_", &[]);
        check(&"x".repeat(200), &[]);
        let text = "fn a_b(c: D) -> é";
        let found: Vec<&str> = identifiers(text.as_bytes()).map(|range| &text[range]).collect();
        assert_eq!(found, ["fn", "a_b", "c", "D", "é"]);
        assert_eq!(identifier_at(b"a foo_bar.", 5), 2..9);
    }

    #[test]
    fn stems_are_beginnings() {
        let same = [
            &["copy", "copies", "copied", "copying"][..],
            &["parse", "parses", "parsed", "parsing"],
            &["stop", "stopped", "stopping", "stops"],
            &["index", "indexes", "indexed"],
            &["class", "classes"],
            &["alias", "aliases"],
            &["query", "queries"],
            &["node", "nodes"],
            &["cache", "caches", "cached", "caching"],
            &["call", "calls", "called", "calling"],
        ];
        for words in same {
            for word in words {
                assert_eq!(word[..stem(word.as_bytes())], words[0][..stem(words[0].as_bytes())], "{word}");
            }
        }
        let own = ["string", "status", "bus", "this", "need", "red", "is", "h264", "größe", "process"];
        for word in own {
            assert_eq!(stem(word.as_bytes()), word.len(), "{word}");
        }
        assert!(STOP_WORDS.is_sorted());
    }
}
