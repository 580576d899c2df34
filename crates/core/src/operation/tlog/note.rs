//! Signed notes (C2SP signed-note): a text and signatures by named keys. Only Ed25519 is known; signatures by other keys are
//! left alone. Key bytes come from the caller.

use alloc::{
    borrow::ToOwned,
    format,
    string::{String, ToString},
    vec::Vec,
};
use core::fmt;
use sha2::{Digest, Sha256};

use super::base64;

/// The type byte of Ed25519.
const ED25519: u8 = 1;

/// The most bytes of a note that is looked at. A checkpoint has a few hundred.
pub(super) const NOTE_BYTES: usize = 1 << 20;

const DASH: &str = "\u{2014} ";

/// A key that verifies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey {
    name: String,
    key: [u8; 32],
}

impl PublicKey {
    /// Reads `name+id+key` as it is printed; `None` for anything else, or if the id is not the key's.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (name, rest) = text.split_once('+')?;
        let (id, key) = rest.split_once('+')?;
        let bytes = base64::decode(key)?;
        let (kind, key) = bytes.split_first()?;
        let public = Self { name: is_name(name).then(|| name.to_owned())?, key: key.try_into().ok()? };
        (*kind == ED25519 && format!("{:08x}", public.id()) == id).then_some(public)
    }

    /// What the key is called in signatures.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The number that stands in front of its signatures: no proof, only a hint which key to try.
    #[must_use]
    pub fn id(&self) -> u32 {
        let mut hasher = Sha256::new();
        hasher.update(self.name.as_bytes());
        hasher.update([b'\n', ED25519]);
        hasher.update(self.key);
        let digest: [u8; 32] = hasher.finalize().into();
        u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]])
    }

    fn verifies(&self, text: &str, signature: &[u8]) -> bool {
        let Ok(signature) = ed25519_compact::Signature::from_slice(signature) else { return false };
        ed25519_compact::PublicKey::new(self.key).verify(text, &signature).is_ok()
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = Vec::from([ED25519]);
        bytes.extend_from_slice(&self.key);
        write!(f, "{}+{:08x}+{}", self.name, self.id(), base64::encode(&bytes))
    }
}

/// A key that signs. Never printed, but by [`Self::to_text`].
pub struct SigningKey {
    pair: ed25519_compact::KeyPair,
    public: PublicKey,
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({})", self.public)
    }
}

impl SigningKey {
    /// The key of 32 random bytes. `None`: nothing can be called this.
    #[must_use]
    pub fn new(name: &str, seed: [u8; 32]) -> Option<Self> {
        let pair = ed25519_compact::KeyPair::from_seed(ed25519_compact::Seed::new(seed));
        let public = PublicKey { name: is_name(name).then(|| name.to_owned())?, key: *pair.pk };
        Some(Self { pair, public })
    }

    /// Reads [`Self::to_text`].
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (name, rest) = text.strip_prefix("PRIVATE+KEY+")?.split_once('+')?;
        let (id, seed) = rest.split_once('+')?;
        let bytes = base64::decode(seed)?;
        let (kind, seed) = bytes.split_first()?;
        let key = Self::new(name, seed.try_into().ok()?)?;
        (*kind == ED25519 && format!("{:08x}", key.public.id()) == id).then_some(key)
    }

    /// The form in which signers of notes keep keys. Whoever has it can sign.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut bytes = Vec::from([ED25519]);
        bytes.extend_from_slice(&*self.pair.sk.seed());
        format!("PRIVATE+KEY+{}+{:08x}+{}", self.public.name, self.public.id(), base64::encode(&bytes))
    }

    /// The key that verifies what this one signs.
    #[must_use]
    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    /// A note with this text, which must end in a newline and have no other control characters, or `None`.
    #[must_use]
    pub fn sign(&self, text: &str) -> Option<String> {
        if !text.ends_with('\n') || !is_plain(text) {
            return None;
        }
        let mut signature = self.public.id().to_be_bytes().to_vec();
        signature.extend_from_slice(&*self.pair.sk.sign(text, None));
        Some(format!("{text}\n{DASH}{} {}\n", self.public.name, base64::encode(&signature)))
    }
}

/// A note whose signatures nobody has looked at yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note<'n> {
    text: &'n str,
    signatures: Vec<Signature<'n>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Signature<'n> {
    name: &'n str,
    id: u32,
    bytes: Vec<u8>,
}

impl<'n> Note<'n> {
    /// Reads a note; `None` if it is malformed.
    #[must_use]
    pub fn parse(note: &'n str) -> Option<Self> {
        if note.len() > NOTE_BYTES || !is_plain(note) {
            return None;
        }
        let at = note.rfind("\n\n")?;
        let (text, lines) = (&note[..=at], &note[at + 2..]);
        let lines = lines.strip_suffix('\n')?;
        let signatures: Option<Vec<Signature<'n>>> = lines.split('\n').map(signature).collect();
        Some(Self { text, signatures: signatures? })
    }

    /// The text, if this key signed it and none of its signatures is wrong.
    #[must_use]
    pub fn verified(&self, key: &PublicKey) -> Option<&'n str> {
        let id = key.id();
        let mut own = self.signatures.iter().filter(|signed| signed.name == key.name && signed.id == id).peekable();
        own.peek()?;
        own.all(|signed| key.verifies(self.text, &signed.bytes)).then_some(self.text)
    }

    /// Whether there is a signature that names this key, right or wrong.
    #[must_use]
    pub fn names(&self, key: &PublicKey) -> bool {
        let id = key.id();
        self.signatures.iter().any(|signed| signed.name == key.name && signed.id == id)
    }
}

impl fmt::Display for Note<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.text)?;
        for Signature { name, id, bytes } in &self.signatures {
            let mut all = id.to_be_bytes().to_vec();
            all.extend_from_slice(bytes);
            writeln!(f, "{DASH}{name} {}", base64::encode(&all))?;
        }
        Ok(())
    }
}

fn signature(line: &str) -> Option<Signature<'_>> {
    let (name, encoded) = line.strip_prefix(DASH)?.split_once(' ')?;
    let bytes = base64::decode(encoded)?;
    let (id, bytes) = bytes.split_first_chunk::<4>()?;
    (is_name(name) && !bytes.is_empty()).then(|| Signature { name, id: u32::from_be_bytes(*id), bytes: bytes.to_vec() })
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && is_plain(name) && !name.contains(|c: char| c.is_whitespace() || c == '+')
}

/// Without control characters of ASCII, but for newlines.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| byte >= b' ' || byte == b'\n')
}

/// A name for a log that nobody else has: it follows from its key.
impl SigningKey {
    /// The key of 32 random bytes, named after itself.
    #[must_use]
    pub fn named_by_itself(prefix: &str, seed: [u8; 32]) -> Option<Self> {
        let key = Self::new(prefix, seed)?;
        let mut name = prefix.to_string();
        for byte in &key.public.key[..8] {
            name.push_str(&format!("{byte:02x}"));
        }
        Self::new(&name, seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
    const NOTE: &str = "If you think cryptography is the answer to your problem,\n\
        then you don't know what your problem is.\n\
        \n\
        \u{2014} PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n";

    /// The example of Go's package, from which the format comes.
    #[test]
    fn a_note_of_another_program_verifies() {
        let key = PublicKey::parse(KEY).unwrap();
        assert_eq!(key.to_string(), KEY);
        let note = Note::parse(NOTE).unwrap();
        assert_eq!(note.to_string(), NOTE);
        assert!(note.verified(&key).is_some_and(|text| text.starts_with("If you") && text.ends_with("is.\n")));
        let other = SigningKey::new("PeterNeumann", [7; 32]).unwrap();
        assert_eq!(note.verified(other.public()), None);
        let altered = NOTE.replace("answer", "Answer");
        assert_eq!(Note::parse(&altered).unwrap().verified(&key), None);
    }

    #[test]
    fn what_a_key_signs_only_its_public_key_verifies() {
        let key = SigningKey::named_by_itself("example.org/", [3; 32]).unwrap();
        assert_eq!(SigningKey::parse(&key.to_text()).unwrap().public(), key.public());
        assert_eq!(PublicKey::parse(&key.public().to_string()).as_ref(), Some(key.public()));
        let note = key.sign("one\n\ntwo\n").unwrap();
        let parsed = Note::parse(&note).unwrap();
        assert_eq!(parsed.verified(key.public()), Some("one\n\ntwo\n"));
        // A wrong signature by a known key spoils the note; one by an unknown key does not.
        let wrong = key.sign("other\n").unwrap();
        let line = wrong.lines().last().unwrap();
        let both = format!("{note}{line}\n");
        assert_eq!(Note::parse(&both).unwrap().verified(key.public()), None);
        let foreign = line.replace("example.org/", "elsewhere/");
        let both = format!("{note}{foreign}\n");
        assert!(Note::parse(&both).unwrap().verified(key.public()).is_some());
        for text in ["no newline", "a tab\t\n", "a bell\u{7}\n"] {
            assert_eq!(key.sign(text), None);
        }
    }

    #[test]
    fn what_is_no_note_is_refused() {
        for note in ["", "\n", "text\n", "text\n\n", "text\n\n\u{2014} a\n", "text\n\n- a AAAAAAA=\n"] {
            assert_eq!(Note::parse(note), None, "{note:?}");
        }
        for note in [
            "t\n\n\u{2014} a AAAAAAA=",
            "t\n\n\u{2014} a+b AAAAAAA=\n",
            "t\n\n\u{2014} a AAAA\n",
            "t\r\n\n\u{2014} a AAAAAAA=\n",
        ] {
            assert_eq!(Note::parse(note), None, "{note:?}");
        }
        assert!(Note::parse("t\n\n\u{2014} a AAAAAAA=\n").is_some());
        for key in ["", "a+b", "a+00000000+AQ==", "a b+00000000+AQ==", &KEY.replace("c74f", "c74e")] {
            assert_eq!(PublicKey::parse(key), None, "{key}");
        }
    }
}
