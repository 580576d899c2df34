//! Names that are not UTF-8, spelt as text: every name is text outside this crate, and means the same bytes when it comes back.
//! A byte that is not part of UTF-8 is spelt as U+FFFD and two hexadecimal digits, so `caf\xe9` is `caf\u{fffd}e9`. Every call to
//! the system that takes a name from outside takes it from [`on_disk`].

use std::{
    borrow::Cow,
    ffi::{OsStr, OsString},
    os::unix::ffi::{OsStrExt, OsStringExt},
};

/// Stands before the digits of a byte.
const MARK: char = '\u{fffd}';

/// A name as text; `None` if the text would mean another name, because the name itself looks spelt.
#[must_use]
pub fn spelt(name: &[u8]) -> Option<Cow<'_, str>> {
    let text = match str::from_utf8(name) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(spell(name)),
    };
    (!text.contains(MARK) || on_disk(&text).as_bytes() == name).then_some(text)
}

fn spell(name: &[u8]) -> String {
    let mut text = String::with_capacity(name.len() + 8);
    for chunk in name.utf8_chunks() {
        text.push_str(chunk.valid());
        chunk.invalid().iter().for_each(|byte| text.push_str(&format!("{MARK}{byte:02x}")));
    }
    text
}

/// The name that a text means, part by part.
#[must_use]
pub fn on_disk(text: &str) -> Cow<'_, OsStr> {
    if !text.contains(MARK) {
        return Cow::Borrowed(OsStr::new(text));
    }
    let parts: Vec<Cow<'_, [u8]>> = text.split('/').map(part_on_disk).collect();
    Cow::Owned(OsString::from_vec(parts.join(&b'/')))
}

fn part_on_disk(text: &str) -> Cow<'_, [u8]> {
    let mut parts = text.split(MARK);
    let mut name = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        match byte_of(part) {
            Some(byte) => {
                name.push(byte);
                name.extend(part.bytes().skip(2));
            }
            None => name.extend(MARK.encode_utf8(&mut [0; 4]).bytes().chain(part.bytes())),
        }
    }
    // Any other text than the one that such a name is given is a name of its own, or two texts would mean one file.
    if spell(&name) == text { Cow::Owned(name) } else { Cow::Borrowed(text.as_bytes()) }
}

/// The byte that a text begins with, in digits as [`spell`] writes them. ASCII is never spelt.
fn byte_of(text: &str) -> Option<u8> {
    let digits =
        text.get(..2).filter(|digits| digits.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f')))?;
    u8::from_str_radix(digits, 16).ok().filter(|byte| !byte.is_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_comes_back() {
        let table: [(&[u8], Option<&str>); 10] = [
            (b"plain.txt", Some("plain.txt")),
            ("naïve".as_bytes(), Some("naïve")),
            (b"caf\xe9.txt", Some("caf\u{fffd}e9.txt")),
            (b"\xff\xfe", Some("\u{fffd}ff\u{fffd}fe")),
            // A character that is cut off.
            (b"a\xe2\x82", Some("a\u{fffd}e2\u{fffd}82")),
            // The mark itself is a character like any other.
            ("a\u{fffd}b".as_bytes(), Some("a\u{fffd}b")),
            ("a\u{fffd}41".as_bytes(), Some("a\u{fffd}41")),
            ("a\u{fffd}E9".as_bytes(), Some("a\u{fffd}E9")),
            // It looks spelt and is not.
            ("a\u{fffd}e9".as_bytes(), None),
            (b"\xff\xef\xbf\xbde9", None),
        ];
        for (name, text) in table {
            assert_eq!(spelt(name).as_deref(), text, "{name:?}");
            if let Some(text) = text {
                assert_eq!(on_disk(text).as_bytes(), name, "{text}");
            }
        }
    }

    #[test]
    fn two_texts_never_mean_one_name() {
        // Bytes that are UTF-8 together are not spelt one by one.
        let e = "\u{fffd}c3\u{fffd}a9";
        for text in [e, &format!("{e}\u{fffd}ff"), "\u{fffd}", "\u{fffd}e", "x\u{fffd}41", "\u{fffd}FF"] {
            assert_eq!(on_disk(text).as_bytes(), text.as_bytes(), "{text}");
        }
        assert_eq!(on_disk("\u{e9}\u{fffd}ff").as_bytes(), b"\xc3\xa9\xff");
    }

    #[test]
    fn any_bytes_come_back_or_have_no_text() {
        let mut state = 1_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let pieces: [&[u8]; 9] = [b"a", b"/", b"\xff", b"\xe9", b"\xc3", b"\xa9", b"\xef\xbf\xbd", b"e9", b"ff"];
        for _ in 0..20_000 {
            let name: Vec<u8> = (0..random(8)).flat_map(|_| pieces[random(9) as usize].to_vec()).collect();
            let Some(text) = spelt(&name) else { continue };
            assert_eq!(on_disk(&text).as_bytes(), name, "{text}");
            // And a text that is taken as a name is the text of that name.
            let taken = on_disk(&text).into_owned();
            assert_eq!(spelt(taken.as_bytes()).as_deref(), Some(&*text));
        }
    }
}
