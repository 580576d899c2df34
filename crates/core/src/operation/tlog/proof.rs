//! Proofs that can be kept apart from the log (C2SP tlog-proof): an index, the hashes from its leaf to the root, and the
//! signed checkpoint, with whatever is needed to make the entry again.

use alloc::{borrow::ToOwned, format, string::String, vec::Vec};

use super::{Checkpoint, Hash, PublicKey, Unsigned, base64, check_inclusion, leaf};

const HEAD: &str = "c2sp.org/tlog-proof@v1\n";

/// The most bytes of a proof that is looked at.
const PROOF_BYTES: usize = 64 << 20;

/// More than any tree has levels.
const MOST_HASHES: usize = 64;

/// A proof as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// What its maker put beside it. Nothing vouches for it.
    pub extra: Option<Vec<u8>>,
    /// The entry's place in the log, from 0.
    pub index: u64,
    /// From the leaf up.
    pub hashes: Vec<Hash>,
    /// The signed note.
    pub checkpoint: String,
}

/// Why a proof does not show that an entry is in a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{self:?}")]
pub enum Unproved {
    /// Its checkpoint is not one of the log.
    Checkpoint(Unsigned),
    /// The checkpoint is of a log that is not longer than the index.
    Beyond,
    /// The hashes do not lead from the entry to the root.
    Hashes,
}

impl Proof {
    /// The text of a proof.
    #[must_use]
    pub fn to_text(&self) -> String {
        let extra = self.extra.as_ref().map(|extra| format!("extra {}\n", base64::encode(extra))).unwrap_or_default();
        let hashes: String = self.hashes.iter().map(|hash| format!("{}\n", base64::encode(hash))).collect();
        format!("{HEAD}{extra}index {}\n{hashes}\n{}", self.index, self.checkpoint)
    }

    /// Reads [`Self::to_text`]; `None` if it is malformed.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() > PROOF_BYTES {
            return None;
        }
        let mut rest = text.strip_prefix(HEAD)?;
        let mut extra = None;
        if let Some(after) = rest.strip_prefix("extra ") {
            let (encoded, after) = after.split_once('\n')?;
            extra = Some(base64::decode(encoded)?);
            rest = after;
        }
        let (number, mut rest) = rest.strip_prefix("index ")?.split_once('\n')?;
        let index: u64 = number.parse().ok()?;
        if format!("{index}") != number {
            return None;
        }
        let mut hashes = Vec::new();
        loop {
            let (line, after) = rest.split_once('\n')?;
            rest = after;
            if line.is_empty() {
                break;
            }
            hashes.push(base64::decode(line)?.try_into().ok().filter(|_| hashes.len() < MOST_HASHES)?);
        }
        Some(Self { extra, index, hashes, checkpoint: rest.to_owned() })
    }

    /// The checkpoint, if this entry is at this index of the log whose key is given.
    ///
    /// # Errors
    /// [`Unproved`] says what does not fit.
    pub fn check(&self, entry: &[u8], key: &PublicKey) -> Result<Checkpoint, Unproved> {
        let found = Checkpoint::verified(&self.checkpoint, key).map_err(Unproved::Checkpoint)?;
        if self.index >= found.size {
            return Err(Unproved::Beyond);
        }
        let holds = check_inclusion(&leaf(entry), self.index, (found.size, &found.root), &self.hashes);
        if holds { Ok(found) } else { Err(Unproved::Hashes) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{SigningKey, node};
    use super::*;
    use alloc::{string::ToString, vec};

    #[test]
    fn a_proof_shows_its_own_entry_only() {
        let key = SigningKey::new("example.org/log", [1; 32]).unwrap();
        let (one, two) = (leaf(b"one"), leaf(b"two"));
        let head = Checkpoint { origin: "example.org/log".to_string(), size: 2, root: node(&one, &two) };
        let checkpoint = head.sign(&key).unwrap();
        let proof = Proof { extra: Some(b"beside".to_vec()), index: 1, hashes: vec![one], checkpoint };
        assert_eq!(Proof::parse(&proof.to_text()).as_ref(), Some(&proof));
        assert_eq!(proof.check(b"two", key.public()), Ok(head));
        assert_eq!(proof.check(b"one", key.public()), Err(Unproved::Hashes));
        let other = |index| Proof { index, ..proof.clone() }.check(b"two", key.public());
        assert_eq!((other(0), other(2)), (Err(Unproved::Hashes), Err(Unproved::Beyond)));
        let stranger = SigningKey::new("example.org/log", [2; 32]).unwrap();
        assert_eq!(proof.check(b"two", stranger.public()), Err(Unproved::Checkpoint(Unsigned::OtherKey)));
        let text = proof.to_text();
        for wrong in
            [text.replace("@v1", "@v2"), text.replace("index 1", "index 01"), text.replace("extra ", "extra  ")]
        {
            assert_eq!(Proof::parse(&wrong), None, "{wrong}");
        }
    }
}
