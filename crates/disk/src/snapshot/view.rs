//! Text in another encoding than UTF-8, decoded. That is a view: not the file's bytes, so it is never compared with them. Known by
//! its byte order mark, else declared by git's attributes or an `.editorconfig` file, else guessed; what is no text in any
//! encoding stays refused. A declaration counts only if all of the file decodes by it to text.

mod editorconfig;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};
use readproof_core::text::Text;

use super::{Snapshot, SnapshotError, SnapshotRules};
use crate::{
    git::{Compare, utf_32},
    locate::FileRef,
    root::Root,
};

/// How a text that is not UTF-8 was decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    pub encoding: &'static str,
    pub known_by: KnownBy,
}

/// How the encoding of a file is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnownBy {
    /// A byte order mark.
    Mark,
    /// The attribute `working-tree-encoding`.
    GitAttributes,
    /// A `charset` in an `.editorconfig` file.
    EditorConfig,
    /// Its bytes look like it.
    Guess,
}

impl Root {
    /// Reads a file that is not UTF-8. Its text is decoded, and [`Snapshot::view`] says from what. Declarations are looked up,
    /// which opens a repository, only for a file without a byte order mark; with `git` not given, such a file is `None`.
    ///
    /// # Errors
    /// As [`Root::snapshot`]; [`SnapshotError::NotText`] if it is text in no known encoding.
    pub fn view(
        &self,
        file: &FileRef,
        rules: &SnapshotRules,
        git: Option<&Compare<'_>>,
    ) -> Result<Option<Snapshot>, SnapshotError> {
        let (bytes, stat) = self.snapshot_bytes(file, rules)?;
        // A file behind a link is not read so.
        let led = Vec::new();
        let not_text = |why| SnapshotError::NotText { name: file.name().to_owned(), why };
        let decoded = match (Encoding::for_bom(&bytes), git) {
            (Some((encoding, mark)), _) => decode(encoding, &bytes[mark..]).map(|found| (found, KnownBy::Mark)),
            (None, _) if !bytes.contains(&0) && std::str::from_utf8(&bytes).is_ok() => None,
            (None, Some(git)) => {
                self.declared(file, &bytes, git).or_else(|| guessed(&bytes).map(|found| (found, KnownBy::Guess)))
            }
            (None, None) => return Ok(None),
        };
        match decoded {
            Some(((text, encoding), known_by)) => {
                let text = Text::from_bytes(text.into_bytes()).map_err(not_text)?;
                Ok(Some(Snapshot { text, stat, led, view: Some(View { encoding, known_by }) }))
            }
            None => {
                Text::from_bytes(bytes).map(|text| Some(Snapshot { text, stat, led, view: None })).map_err(not_text)
            }
        }
    }

    /// The text by a declared encoding, if one is declared and it fits.
    fn declared(&self, file: &FileRef, bytes: &[u8], git: &Compare<'_>) -> Option<(Decoded, KnownBy)> {
        let by_git = || self.working_tree_encoding(file, git).and_then(|name| decode_as(&name, bytes));
        let by_editor = || self.charset(file).and_then(|name| decode_as(&name, bytes));
        let found = by_git().map(|found| (found, KnownBy::GitAttributes));
        found.or_else(|| by_editor().map(|found| (found, KnownBy::EditorConfig)))
    }
}

/// The text and the name of its encoding.
type Decoded = (String, &'static str);

/// By the name of an encoding, as git and editors take it. `None` if that is not known, or not what the bytes are in.
fn decode_as(name: &str, bytes: &[u8]) -> Option<Decoded> {
    let found = match &*name.to_ascii_uppercase() {
        // UTF-8 and ASCII it is not; the others need a byte order mark.
        "UTF-8" | "UTF8" | "ASCII" | "US-ASCII" | "UTF-16" | "UTF16" | "UTF-32" | "UTF32" => return None,
        "UTF16LE" => return decode(UTF_16LE, bytes),
        "UTF16BE" => return decode(UTF_16BE, bytes),
        "UTF-32LE" | "UTF32LE" => (utf_32(bytes, true)?, "UTF-32LE"),
        "UTF-32BE" | "UTF32BE" => (utf_32(bytes, false)?, "UTF-32BE"),
        // On the web these are names for windows-1252.
        "ISO-8859-1" | "ISO8859-1" | "LATIN1" | "LATIN-1" => {
            (bytes.iter().map(|byte| char::from(*byte)).collect(), "ISO-8859-1")
        }
        label => return decode(Encoding::for_label_no_replacement(label.as_bytes())?, bytes),
    };
    is_text(&found.0).then_some(found)
}

fn guessed(bytes: &[u8]) -> Option<Decoded> {
    if bytes.contains(&0) {
        return None;
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(bytes, true);
    decode(detector.guess(None, Utf8Detection::Deny), bytes)
}

/// `None` if it is UTF-8, or does not decode to text.
fn decode(encoding: &'static Encoding, bytes: &[u8]) -> Option<Decoded> {
    if encoding == UTF_8 {
        return None;
    }
    let text = encoding.decode_without_bom_handling_and_without_replacement(bytes)?.into_owned();
    is_text(&text).then(|| (text, encoding.name()))
}

/// Random bytes are letters in some encodings, but not without control characters.
fn is_text(text: &str) -> bool {
    text.chars().all(|c| !c.is_control() || matches!(c, '\n' | '\r' | '\t' | '\u{c}'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Baseline, GitSettings, HardLinks};
    use std::fs;

    const RULES: SnapshotRules = SnapshotRules { max_bytes: 1 << 20, hard_links: HardLinks::Allow };

    fn utf16(text: &str) -> Vec<u8> {
        text.encode_utf16().flat_map(u16::to_le_bytes).collect()
    }

    /// The text and the encoding of a file with these bytes, in a folder with an `.editorconfig`.
    fn viewed(charset: &str, bytes: &[u8]) -> Option<(String, View)> {
        let temp = tempfile::tempdir().unwrap();
        fs::write(temp.path().join("f"), bytes).unwrap();
        fs::write(temp.path().join(".editorconfig"), format!("[*]\ncharset = {charset}\n")).unwrap();
        let root = Root::open(temp.path()).unwrap();
        let file = root.locate(&[root.absolute("f")]).unwrap();
        let git = Compare {
            baseline: Baseline::Index,
            settings: GitSettings::Repository,
            settings_files: &[],
            content: None,
            max_bytes: 1 << 20,
            cancelled: &|| false,
        };
        // Without looking for declarations, only a mark tells.
        let quick = root.view(&file, &RULES, None);
        let found = root.view(&file, &RULES, Some(&git)).ok().flatten();
        let found = found.and_then(|found| Some((found.view?, found.text.into_string())));
        match &found {
            Some((view, _)) => assert_eq!(quick.unwrap().is_some(), view.known_by == KnownBy::Mark, "{view:?}"),
            None => assert!(quick.ok().flatten().is_none_or(|quick| quick.view.is_none())),
        }
        found.map(|(view, text)| (text, view))
    }

    #[test]
    fn marks_and_guesses() {
        let some = |text: &str, encoding, known_by| Some((text.to_owned(), View { encoding, known_by }));
        let decoded = |bytes: &[u8]| viewed("unset", bytes);
        let marked = [&[0xff, 0xfe][..], &utf16("héllo\n")].concat();
        assert_eq!(decoded(&marked), some("héllo\n", "UTF-16LE", KnownBy::Mark));
        let western = b"Fran\xe7ois et H\xe9l\xe8ne sont d\xe9j\xe0 l\xe0.\n";
        assert_eq!(decoded(western), some("François et Hélène sont déjà là.\n", "windows-1252", KnownBy::Guess));
        let japanese = b"\x93\xfa\x96{\x8c\xea\x82\xcc\x83e\x83L\x83X\x83g\x82\xc5\x82\xb7\x81B\n";
        assert_eq!(decoded(japanese), some("日本語のテキストです。\n", "Shift_JIS", KnownBy::Guess));
        assert_eq!(decoded("héllo".as_bytes()), None, "it is UTF-8");
        assert_eq!(decoded(b"\xef\xbb\xbfhello"), None, "it is UTF-8 with a mark");
        assert_eq!(decoded(b"a\0b\xff"), None, "a NUL byte");
        assert_eq!(decoded(b"\x7fELF\x02\x01\x01\xff\xfe\x80\x81"), None, "control characters");
        assert_eq!(decoded(&[0xff, 0xfe, 0x00]), None, "half a unit");
    }

    #[test]
    fn a_declared_encoding_comes_before_a_guess_and_after_a_mark() {
        let some = |text: &str, encoding, known_by| Some((text.to_owned(), View { encoding, known_by }));
        let (declared, guess) = (KnownBy::EditorConfig, KnownBy::Guess);
        let japanese = b"\x93\xfa\x96{\n";
        assert_eq!(viewed("latin1", b"\xbfqu\xe9?\n"), some("¿qué?\n", "ISO-8859-1", declared));
        assert_eq!(viewed("utf-16le", &utf16("a\nb\n")), some("a\nb\n", "UTF-16LE", declared));
        assert_eq!(viewed("utf-16be", b"\0a\0\n"), some("a\n", "UTF-16BE", declared));
        assert_eq!(viewed("latin1", &[&[0xff, 0xfe][..], &utf16("a")].concat()), some("a", "UTF-16LE", KnownBy::Mark));
        // What does not fit is guessed, and what is UTF-8 is never decoded.
        assert_eq!(viewed("utf-8", b"caf\xe9\n"), some("café\n", "windows-1252", guess));
        assert_eq!(viewed("utf-16le", b"caf\xe9 a\n"), some("café a\n", "windows-1252", guess), "half a unit");
        assert_ne!(viewed("latin1", japanese).unwrap().1.known_by, declared, "control characters in Latin-1");
        assert_eq!(viewed("utf-16be", &utf16("Ø\n")), None, "half a pair, and a guess is never UTF-16");
        assert_eq!(viewed("latin1", "é\n".as_bytes()), None);
        assert_eq!(viewed("latin1", b"a\0b\xff"), None);
        assert_eq!(viewed("utf-17", b"caf\xe9\n"), some("café\n", "windows-1252", guess));
    }

    #[test]
    fn names_of_encodings_as_git_takes_them() {
        for (name, bytes, expected) in [
            ("UTF-16LE", &b"a\0"[..], Some(("a", "UTF-16LE"))),
            ("utf16be", b"\0a", Some(("a", "UTF-16BE"))),
            ("UTF-32LE", b"a\0\0\0", Some(("a", "UTF-32LE"))),
            ("utf-32be", b"\0\0\0a", Some(("a", "UTF-32BE"))),
            ("utf-32be", b"\0\0a", None),
            ("Shift-JIS", b"\x93\xfa", Some(("日", "Shift_JIS"))),
            ("CP1252", b"\x80", Some(("€", "windows-1252"))),
            ("ISO-8859-1", b"\x80", None),
            ("UTF-16", b"a\0", None),
            ("ASCII", b"\xe9", None),
            ("none such", b"\xe9", None),
            ("", b"\xe9", None),
        ] {
            let found = decode_as(name, bytes);
            assert_eq!(found.as_ref().map(|(text, name)| (text.as_str(), *name)), expected, "{name}");
        }
    }
}
