//! Text in another encoding than UTF-8, decoded. That is a view: not the file's bytes, so it is never compared with them. Known by
//! its byte order mark, or else guessed; what is no text in any encoding stays refused.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8};
use readproof_core::text::Text;

use super::{Snapshot, SnapshotError, SnapshotRules};
use crate::{locate::FileRef, root::Root};

impl Root {
    /// Reads a file that is not UTF-8. Its text is decoded, and [`Snapshot::view`] names the encoding.
    ///
    /// # Errors
    /// As [`Root::snapshot`]; [`SnapshotError::NotText`] if it is text in no known encoding.
    pub fn view(&self, file: &FileRef, rules: &SnapshotRules) -> Result<Snapshot, SnapshotError> {
        let (bytes, stat) = self.snapshot_bytes(file, rules)?;
        // A file behind a link is not read so.
        let led = Vec::new();
        let not_text = |why| SnapshotError::NotText { name: file.name().to_owned(), why };
        match decoded(&bytes) {
            Some((text, encoding)) => {
                let text = Text::from_bytes(text.into_bytes()).map_err(not_text)?;
                Ok(Snapshot { text, stat, led, view: Some(encoding) })
            }
            None => Text::from_bytes(bytes).map(|text| Snapshot { text, stat, led, view: None }).map_err(not_text),
        }
    }
}

/// The text and the name of its encoding; `None` if it is UTF-8, or no text.
fn decoded(bytes: &[u8]) -> Option<(String, &'static str)> {
    let (encoding, rest) = match Encoding::for_bom(bytes) {
        Some((encoding, mark)) => (encoding, &bytes[mark..]),
        None if bytes.contains(&0) || std::str::from_utf8(bytes).is_ok() => return None,
        None => {
            let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
            detector.feed(bytes, true);
            (detector.guess(None, Utf8Detection::Deny), bytes)
        }
    };
    if encoding == UTF_8 {
        return None;
    }
    let text = encoding.decode_without_bom_handling_and_without_replacement(rest)?.into_owned();
    // Random bytes are letters in some encodings, but not without control characters.
    let is_text = text.chars().all(|c| !c.is_control() || matches!(c, '\n' | '\r' | '\t' | '\u{c}'));
    is_text.then(|| (text, encoding.name()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_and_guesses() {
        let utf16: Vec<u8> =
            [0xff, 0xfe].into_iter().chain("héllo\n".encode_utf16().flat_map(u16::to_le_bytes)).collect();
        assert_eq!(decoded(&utf16), Some(("héllo\n".to_owned(), "UTF-16LE")));
        let western = b"Fran\xe7ois et H\xe9l\xe8ne sont d\xe9j\xe0 l\xe0.\n";
        assert_eq!(decoded(western), Some(("François et Hélène sont déjà là.\n".to_owned(), "windows-1252")));
        let japanese = b"\x93\xfa\x96{\x8c\xea\x82\xcc\x83e\x83L\x83X\x83g\x82\xc5\x82\xb7\x81B\n";
        assert_eq!(decoded(japanese), Some(("日本語のテキストです。\n".to_owned(), "Shift_JIS")));
        assert_eq!(decoded("héllo".as_bytes()), None, "it is UTF-8");
        assert_eq!(decoded(b"\xef\xbb\xbfhello"), None, "it is UTF-8 with a mark");
        assert_eq!(decoded(b"a\0b\xff"), None, "a NUL byte");
        assert_eq!(decoded(b"\x7fELF\x02\x01\x01\xff\xfe\x80\x81"), None, "control characters");
        assert_eq!(decoded(&[0xff, 0xfe, 0x00]), None, "half a unit");
    }
}
