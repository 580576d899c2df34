//! Which stored texts a session file may still need as a base, at whatever leaf: every SHA-256 that occurs anywhere in its
//! lines, understood or not, and the texts of own writes, whose hashes stand nowhere. Rather too many than too few.

use readproof_core::text::ContentHash;
use std::collections::BTreeSet;

/// The digits of a SHA-256.
const DIGITS: usize = 64;

/// Adds every SHA-256 that is spelled out in these bytes.
pub fn hashes(bytes: &[u8], into: &mut BTreeSet<ContentHash>) {
    for run in bytes.split(|byte| !byte.is_ascii_hexdigit()) {
        if run.len() == DIGITS {
            let digits = str::from_utf8(run).map(str::to_ascii_lowercase).unwrap_or_default();
            into.extend(ContentHash::parse(&digits));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_hashes_wherever_they_stand() {
        let (one, other) = (ContentHash::of(b"1"), ContentHash::of(b"2"));
        let text =
            format!("{{\"servedHash\":\"{one}\",no json sha256-{}.txt {one}0 {}", other, &other.to_string()[1..]);
        let mut found = BTreeSet::new();
        hashes(text.as_bytes(), &mut found);
        assert_eq!(found, [one, other].into());
        hashes(ContentHash::of(b"3").to_string().to_uppercase().as_bytes(), &mut found);
        assert_eq!(found.len(), 3);
    }
}
