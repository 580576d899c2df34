//! Text in UTF-16 with a byte order mark, which is searched decoded, as ripgrep does; every other file is searched as its
//! bytes are. What is not valid becomes U+FFFD.

use encoding_rs::{Encoding, UTF_16BE, UTF_16LE};
use readproof_disk::Stream;

/// How much is decoded before it is asked whether anybody still wants the result.
const PIECE: usize = 1 << 20;

/// A file up to this size is not worth a look at its mark.
const SMALL: u64 = 256 << 10;

/// The encoding of a file that begins with these bytes, if it is searched decoded.
pub(crate) fn utf16(start: &[u8]) -> Option<&'static Encoding> {
    match start {
        [0xff, 0xfe, ..] => Some(UTF_16LE),
        [0xfe, 0xff, ..] => Some(UTF_16BE),
        _ => None,
    }
}

/// The memory that a whole file takes: decoded, two bytes become up to three, beside the file itself.
pub(crate) fn room(stream: &Stream) -> u64 {
    let len = stream.stat().len;
    if len <= SMALL {
        return len * 2;
    }
    let is_utf16 = stream.at(0, 2).is_ok_and(|start| utf16(&start).is_some());
    if is_utf16 { len.saturating_add(len.saturating_mul(3) / 2) } else { len }
}

/// The text of a file as it is searched. `None`: cancelled.
pub(crate) fn decoded(bytes: Vec<u8>, cancelled: &dyn Fn() -> bool) -> Option<Vec<u8>> {
    let Some(encoding) = utf16(&bytes) else { return Some(bytes) };
    let mut decoder = encoding.new_decoder_with_bom_removal();
    let mut text = String::with_capacity(bytes.len().saturating_mul(3) / 2);
    let mut pieces = bytes.chunks(PIECE).peekable();
    while let Some(piece) = pieces.next() {
        if cancelled() {
            return None;
        }
        text.reserve(decoder.max_utf8_buffer_length(piece.len()).unwrap_or(0));
        // Everything fits, so it is read to its end.
        let _ = decoder.decode_to_string(piece, &mut text, pieces.peek().is_none());
    }
    Some(text.into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(bytes: &[u8]) -> String {
        String::from_utf8(decoded(bytes.to_vec(), &|| false).unwrap()).unwrap()
    }

    #[test]
    fn only_utf16_with_a_mark_is_decoded() {
        assert_eq!(of(b"\xff\xfea\0\n\0=\xd8\x00\xde"), "a\n😀");
        assert_eq!(of(b"\xfe\xff\0a\0\n"), "a\n");
        assert_eq!(of(b"\xff\xfe\0\xd8a\0b"), "\u{fffd}a\u{fffd}", "half a pair, and half a unit");
        assert_eq!(of(b"\xff\xfe"), "");
        assert_eq!(of(b"\xef\xbb\xbfa"), "\u{feff}a");
        let latin = b"caf\xe9\n".to_vec();
        assert_eq!(decoded(latin.clone(), &|| true), Some(latin));
        let large: Vec<u8> = [0xff, 0xfe].into_iter().chain([b'\xe9', 0].repeat(3 << 20)).collect();
        assert_eq!(of(&large), "é".repeat(3 << 20));
        assert_eq!(decoded(large, &|| true), None);
    }
}
