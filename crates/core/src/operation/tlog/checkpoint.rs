//! Checkpoints (C2SP tlog-checkpoint): the size and root of a log, as a note that its key signs.

use alloc::{borrow::ToOwned, format, string::String};

use super::{Hash, Note, PublicKey, SigningKey, base64};

/// The head of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// Which log it is of.
    pub origin: String,
    /// How many entries it has.
    pub size: u64,
    /// The root of their tree.
    pub root: Hash,
}

/// Why a text is not the checkpoint of a key's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{self:?}")]
pub enum Unsigned {
    /// It is not a signed note.
    NotANote,
    /// The key is not among those that signed it.
    OtherKey,
    /// The signature is not by the key that it names.
    BadSignature,
    /// The text of the note is not a checkpoint.
    NotACheckpoint,
}

impl Checkpoint {
    /// The text that is signed.
    #[must_use]
    pub fn text(&self) -> String {
        format!("{}\n{}\n{}\n", self.origin, self.size, base64::encode(&self.root))
    }

    /// Reads the text of a note. Lines after the third are allowed and mean nothing here.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut lines = text.strip_suffix('\n')?.split('\n');
        let (origin, size, root) = (lines.next()?, lines.next()?, lines.next()?);
        let number: u64 = size.parse().ok()?;
        // One spelling for each number.
        if format!("{number}") != size || origin.is_empty() || lines.any(str::is_empty) {
            return None;
        }
        let root = base64::decode(root)?.try_into().ok()?;
        Some(Self { origin: origin.to_owned(), size: number, root })
    }

    /// The signed note; `None` if the origin cannot stand in one.
    #[must_use]
    pub fn sign(&self, key: &SigningKey) -> Option<String> {
        if self.origin.is_empty() || self.origin.contains('\n') { None } else { key.sign(&self.text()) }
    }

    /// Reads a signed note of this key.
    ///
    /// # Errors
    /// [`Unsigned`] says what is wrong with it.
    pub fn verified(note: &str, key: &PublicKey) -> Result<Self, Unsigned> {
        let note = Note::parse(note).ok_or(Unsigned::NotANote)?;
        if !note.names(key) {
            return Err(Unsigned::OtherKey);
        }
        let text = note.verified(key).ok_or(Unsigned::BadSignature)?;
        Self::parse(text).ok_or(Unsigned::NotACheckpoint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn a_checkpoint_comes_back_only_as_it_was_signed() {
        let key = SigningKey::new("example.org/log", [1; 32]).unwrap();
        let made = Checkpoint { origin: "example.org/log".to_string(), size: 923_748, root: [9; 32] };
        assert_eq!(Checkpoint::parse(&made.text()).as_ref(), Some(&made));
        let note = made.sign(&key).unwrap();
        assert_eq!(Checkpoint::verified(&note, key.public()), Ok(made));
        let check =
            |note: &str, expected| assert_eq!(Checkpoint::verified(note, key.public()), Err(expected), "{note}");
        check(&note.replace("923748", "923749"), Unsigned::BadSignature);
        check("nothing", Unsigned::NotANote);
        check(&key.sign("a\nb\n").unwrap(), Unsigned::NotACheckpoint);
        let other = SigningKey::new("example.org/other", [1; 32]).unwrap();
        check(&other.sign("a\n1\n").unwrap(), Unsigned::OtherKey);
    }

    #[test]
    fn what_is_no_checkpoint_is_refused() {
        let root = base64::encode(&[0; 32]);
        for text in [
            format!("\n1\n{root}\n"),
            format!("a\n01\n{root}\n"),
            format!("a\n+1\n{root}\n"),
            format!("a\n18446744073709551616\n{root}\n"),
            format!("a\n1\n{root}"),
            format!("a\n1\n{root}\n\n"),
            "a\n1\nAAAA\n".to_string(),
            "a\n1\n".to_string(),
        ] {
            assert_eq!(Checkpoint::parse(&text), None, "{text:?}");
        }
        assert!(Checkpoint::parse(&format!("a\n1\n{root}\nmore\n")).is_some());
    }
}
