//! Standard base64 (RFC 4648 §4) in its one canonical form: padded, without line breaks, unused bits zero.

use alloc::{string::String, vec::Vec};

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Encodes bytes.
#[must_use]
pub fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let at = |index: usize| u32::from(group.get(index).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for digit in 0..4_usize {
            let value = (bits >> (18 - 6 * digit)) & 63;
            text.push(if digit <= group.len() { char::from(DIGITS[value as usize]) } else { '=' });
        }
    }
    text
}

/// Decodes what [`encode`] gives; anything else is `None`, so that every byte string has one spelling.
#[must_use]
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    if !digits.len().is_multiple_of(4) {
        return None;
    }
    let mut bytes = Vec::with_capacity(digits.len() / 4 * 3);
    let groups = digits.len() / 4;
    for (number, group) in digits.chunks_exact(4).enumerate() {
        let padding = group.iter().rev().take_while(|digit| **digit == b'=').count();
        if padding > 2 || (padding > 0 && number + 1 != groups) {
            return None;
        }
        let mut bits = 0_u32;
        for digit in &group[..4 - padding] {
            bits = bits << 6 | value(*digit)?;
        }
        bits <<= 6 * padding;
        let [_, one, two, three] = bits.to_be_bytes();
        let used = 3 - padding;
        if [one, two, three][used..].iter().any(|byte| *byte != 0) {
            return None;
        }
        bytes.extend_from_slice(&[one, two, three][..used]);
    }
    Some(bytes)
}

fn value(digit: u8) -> Option<u32> {
    let value = match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(value.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vectors_of_the_rfc_hold_both_ways() {
        let cases =
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE=")];
        for (bytes, text) in cases {
            assert_eq!(encode(bytes.as_bytes()), text);
            assert_eq!(decode(text).as_deref(), Some(bytes.as_bytes()));
        }
    }

    #[test]
    fn another_spelling_is_refused() {
        for text in ["Zg", "Zg=", "Zh==", "Zm9=", "Z===", "====", "Zg==Zg==", "Zm9v\n", "Zm-v", " Zm9v"] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
