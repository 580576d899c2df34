//! Entries one after another, each behind its length in two bytes: the form of entry bundles (C2SP tlog-tiles).

use alloc::vec::Vec;

/// The most bytes of one entry.
pub const ENTRY_BYTES: usize = u16::MAX as usize;

/// Appends an entry. `false`: it is too long, and nothing was appended.
#[must_use]
pub fn push(bundle: &mut Vec<u8>, entry: &[u8]) -> bool {
    let Ok(len) = u16::try_from(entry.len()) else { return false };
    bundle.extend_from_slice(&len.to_be_bytes());
    bundle.extend_from_slice(entry);
    true
}

/// The whole entries at the beginning, and how many bytes they take. What follows is the beginning of one more.
#[must_use]
pub fn split(bundle: &[u8]) -> (Vec<&[u8]>, usize) {
    let (mut entries, mut at) = (Vec::new(), 0);
    while let Some((len, rest)) = bundle[at..].split_first_chunk::<2>() {
        let Some(entry) = rest.get(..usize::from(u16::from_be_bytes(*len))) else { break };
        entries.push(entry);
        at += 2 + entry.len();
    }
    (entries, at)
}

/// The entries of a bundle; `None` if it does not end with an entry.
#[must_use]
pub fn entries(bundle: &[u8]) -> Option<Vec<&[u8]>> {
    let (entries, used) = split(bundle);
    (used == bundle.len()).then_some(entries)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn entries_come_back_and_a_torn_one_is_left() {
        let mut bundle = Vec::new();
        for entry in [&b"one"[..], b"", b"three"] {
            assert!(push(&mut bundle, entry));
        }
        assert_eq!(entries(&bundle), Some(vec![&b"one"[..], b"", b"three"]));
        for cut in 0..bundle.len() {
            let (whole, used) = split(&bundle[..cut]);
            assert!(used <= cut && whole.len() <= 2, "{cut}");
            assert_eq!(entries(&bundle[..cut]).is_some(), used == cut);
        }
        assert!(!push(&mut bundle, &[0; ENTRY_BYTES + 1]));
        assert!(push(&mut bundle, &[0; ENTRY_BYTES]));
    }
}
