//! Text and its lines, by the rule `lf-1`: a line ends at `\n`, a `\r` before it belongs to the line, and a final newline
//! starts no further line. Also content hashes and forms. Never changes a byte.

use alloc::{string::String, sync::Arc, vec::Vec};
use core::fmt;
use sha2::{Digest, Sha256};

use crate::scope::Lines;

/// The id of the line rule, written into every record that counts lines.
pub const LINE_RULE: &str = "lf-1";

/// The SHA-256 of some bytes; prints as 64 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentHash([u8; 32]);

impl ContentHash {
    /// Hashes `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Hashes several pieces as if they were one.
    #[must_use]
    pub fn of_parts(parts: &[&[u8]]) -> Self {
        let mut hasher = Sha256::new();
        for part in parts {
            hasher.update(part);
        }
        Self(hasher.finalize().into())
    }

    /// Hashes what `read` puts into a buffer of `size` bytes, until it returns 0.
    ///
    /// # Errors
    /// The first error of `read`.
    pub fn of_pieces<E>(size: usize, mut read: impl FnMut(&mut [u8]) -> Result<usize, E>) -> Result<Self, E> {
        let (mut hasher, mut buffer) = (Sha256::new(), alloc::vec![0; size]);
        loop {
            let read = read(&mut buffer)?;
            if read == 0 {
                return Ok(Self(hasher.finalize().into()));
            }
            hasher.update(&buffer[..read.min(size)]);
        }
    }

    /// Takes a digest that was computed earlier.
    #[must_use]
    pub fn from_digest(digest: [u8; 32]) -> Self {
        Self(digest)
    }

    /// The text with this hash in `form`.
    #[must_use]
    pub fn in_form(self, form: Form) -> TextId {
        TextId { hash: self, form }
    }

    /// The raw digest.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// 64 lower-case hex digits, as ASCII.
    #[must_use]
    pub fn to_hex(&self) -> [u8; 64] {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut hex = [0; 64];
        for (pair, byte) in hex.chunks_exact_mut(2).zip(self.0) {
            pair[0] = DIGITS[usize::from(byte >> 4)];
            pair[1] = DIGITS[usize::from(byte & 15)];
        }
        hex
    }

    /// Reads 64 lower-case hex digits; anything else is `None`.
    #[must_use]
    pub fn parse(hex: &str) -> Option<Self> {
        let digits = hex.as_bytes();
        if digits.len() != 64 {
            return None;
        }
        let mut out = [0; 32];
        for (byte, pair) in out.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = nibble(pair[0])? << 4 | nibble(pair[1])?;
        }
        Some(Self(out))
    }
}

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(core::str::from_utf8(&self.to_hex()).unwrap_or_default())
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// How a file was read. A model that was shown one form has not seen the other, so what it holds in one form never serves an
/// answer in the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    /// The bytes as they are on disk.
    Disk,
    /// As a host's own `read` gives them: without a byte order mark and without the CR before a newline.
    Stripped,
}

impl Form {
    /// The word used in records.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Disk => "disk",
            Self::Stripped => "stripped",
        }
    }

    /// Reads [`Self::as_str`]; anything else is `None`.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Disk, Self::Stripped].into_iter().find(|form| form.as_str() == word)
    }
}

/// Identifies a text: the same bytes in another form are another text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextId {
    /// Of the bytes in this form.
    pub hash: ContentHash,
    /// How the file was read.
    pub form: Form,
}

/// One text that a file has had, as knowledge names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    /// Of the bytes in this form.
    pub hash: ContentHash,
    /// Number of lines by `lf-1`.
    pub total: u32,
    /// How the file was read.
    pub form: Form,
}

impl Version {
    /// Without the number of lines, which follows from the bytes.
    #[must_use]
    pub fn id(self) -> TextId {
        TextId { hash: self.hash, form: self.form }
    }
}

/// Why bytes are not text. The number is the offset of the first byte that is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{self:?}")]
pub enum NotText {
    /// A NUL byte, which means binary data.
    Nul(usize),
    /// A sequence that is not UTF-8.
    Encoding(usize),
}

/// A text with its hash and an index of its lines. A clone shares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    all: Arc<All>,
}

/// What is known of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
struct All {
    text: String,
    total: u32,
    /// The number of newlines before each block. A line is then found within one block; an index of every line would take
    /// longer to build than most answers take in all.
    before: Vec<u32>,
    hash: ContentHash,
    form: Form,
}

/// Bytes in a block.
const BLOCK: usize = 1024;

impl Text {
    /// Hashes `text`, which is in the form of the disk, and counts its lines. Texts over 4 GiB never get here: the largest file
    /// that is read is far smaller.
    #[must_use]
    pub fn new(text: String) -> Self {
        Self::in_form(text, Form::Disk)
    }

    /// The same for a text that is in `form` already; nothing is converted.
    #[must_use]
    pub fn in_form(text: String, form: Form) -> Self {
        let hash = ContentHash::of(text.as_bytes());
        let mut before = Vec::with_capacity(text.len() / BLOCK + 1);
        let mut newlines = 0;
        for block in text.as_bytes().chunks(BLOCK) {
            before.push(offset(newlines));
            newlines += count(block);
        }
        let open = !text.is_empty() && !text.ends_with('\n');
        Self { all: Arc::new(All { total: offset(newlines + usize::from(open)), text, before, hash, form }) }
    }

    /// Takes the bytes of a file, if they are text.
    ///
    /// # Errors
    /// [`NotText`] when they are not UTF-8 or contain a NUL.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, NotText> {
        if let Some(at) = memchr::memchr(0, &bytes) {
            return Err(NotText::Nul(at));
        }
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Self::new(text)),
            Err(error) => Err(NotText::Encoding(error.utf8_error().valid_up_to())),
        }
    }

    /// The whole text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.all.text
    }

    /// The whole text.
    #[must_use]
    pub fn into_string(self) -> String {
        Arc::try_unwrap(self.all).map_or_else(|all| all.text.clone(), |all| all.text)
    }

    /// The number of lines by `lf-1`.
    #[must_use]
    pub fn total(&self) -> u32 {
        self.all.total
    }

    /// The hash of all bytes, computed once when the text was made.
    #[must_use]
    pub fn hash(&self) -> ContentHash {
        self.all.hash
    }

    /// How the file was read.
    #[must_use]
    pub fn form(&self) -> Form {
        self.all.form
    }

    /// Hash and form.
    #[must_use]
    pub fn id(&self) -> TextId {
        self.version().id()
    }

    /// Hash, number of lines and form.
    #[must_use]
    pub fn version(&self) -> Version {
        Version { hash: self.all.hash, total: self.total(), form: self.all.form }
    }

    /// These lines with their terminators, as far as they exist.
    #[must_use]
    pub fn slice(&self, lines: Lines) -> &str {
        let last = lines.last().min(self.total());
        if lines.first() > last {
            return "";
        }
        &self.all.text[self.start(lines.first())..self.end(last)]
    }

    /// One line with its terminator; empty if there is no such line.
    #[must_use]
    pub fn line(&self, number: u32) -> &str {
        Lines::new(number, number).map_or("", |lines| self.slice(lines))
    }

    /// Every line with its terminator, in order.
    pub fn lines(&self) -> impl Iterator<Item = &str> {
        self.all.text.split_inclusive('\n')
    }

    /// The number of the line that the byte at `at` belongs to; beyond the end, one more than there are lines.
    #[must_use]
    pub fn line_at(&self, at: usize) -> u32 {
        if at >= self.all.text.len() {
            return self.all.total + 1;
        }
        let block = at / BLOCK;
        let newlines = count(&self.all.text.as_bytes()[block * BLOCK..at]);
        self.all.before.get(block).copied().unwrap_or(0) + offset(newlines) + 1
    }

    /// The byte offset at which a line begins. `number` is 1 or more; beyond the last line it is the end of the text.
    pub(crate) fn start(&self, number: u32) -> usize {
        if number <= 1 {
            return 0;
        }
        if number > self.all.total {
            return self.all.text.len();
        }
        // The line begins after this newline, which exists because the text has a line of that number.
        let newline = number - 1;
        let block = self.all.before.partition_point(|before| *before < newline).saturating_sub(1);
        let skipped = newline - self.all.before.get(block).copied().unwrap_or(0) - 1;
        let from = block * BLOCK;
        let found = memchr::memchr_iter(b'\n', &self.all.text.as_bytes()[from..]).nth(skipped as usize);
        found.map_or(self.all.text.len(), |at| from + at + 1)
    }

    /// The byte offset after a line's terminator.
    pub(crate) fn end(&self, number: u32) -> usize {
        self.start(number.saturating_add(1))
    }
}

fn count(bytes: &[u8]) -> usize {
    memchr::memchr_iter(b'\n', bytes).count()
}

/// Offsets and line counts fit 32 bits, because the largest file that is read is well below 4 GiB.
fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::{string::ToString, vec};

    #[test]
    fn lines_by_lf_1() {
        let check = |text: &str, lines: &[&str]| {
            let text = Text::new(text.into());
            let got: Vec<&str> = (1..=text.total()).map(|n| text.line(n)).collect();
            assert_eq!(got, lines);
        };
        check("", &[]);
        check("\n", &["\n"]);
        check("a", &["a"]);
        check("a\n", &["a\n"]);
        check("a\nb", &["a\n", "b"]);
        check("a\r\nb\rc\n\n", &["a\r\n", "b\rc\n", "\n"]);
        check("\u{feff}a\u{2028}b\n", &["\u{feff}a\u{2028}b\n"]);
    }

    #[test]
    fn lines_are_found_in_every_block() {
        let mut state = 1_u64;
        let mut next = move |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from((state >> 33) % n).unwrap()
        };
        for round in 0..300 {
            // Lines of one byte up to several blocks, and texts that end at the end of a block.
            let mut text = String::new();
            while text.len() < round * 20 {
                text.push_str(&"x".repeat(next([2, 80, 3000][round % 3])));
                text.push('\n');
            }
            text.truncate([text.len(), BLOCK, 2 * BLOCK, 2 * BLOCK + 1][next(4)]);
            let plain: Vec<&str> = text.split_inclusive('\n').collect();
            let ends: Vec<usize> = plain
                .iter()
                .scan(0, |at, line| {
                    *at += line.len();
                    Some(*at)
                })
                .collect();
            let found = Text::new(text.clone());
            let lines: Vec<&str> = (1..=found.total()).map(|n| found.line(n)).collect();
            assert_eq!(lines, plain);
            assert!(found.lines().eq(lines));
            for _ in 0..20 {
                let at = next(text.len() as u64 + 3);
                assert_eq!(found.line_at(at) as usize, ends.partition_point(|end| *end <= at) + 1, "{at}");
            }
        }
    }

    #[test]
    fn slices_are_exact_and_clamped() {
        let text = Text::new("1\n2\r\n3".into());
        let slice = |a, b| text.slice(Lines::new(a, b).unwrap());
        assert_eq!(slice(1, 3), "1\n2\r\n3");
        assert_eq!(slice(2, 2), "2\r\n");
        assert_eq!(slice(3, 9), "3");
        assert_eq!(slice(4, 9), "");
        assert_eq!([text.line_at(0), text.line_at(1), text.line_at(2), text.line_at(5)], [1, 1, 2, 3]);
    }

    #[test]
    fn not_text_is_named() {
        assert_eq!(Text::from_bytes(vec![b'a', 0]), Err(NotText::Nul(1)));
        assert_eq!(Text::from_bytes(vec![b'a', 0xff]), Err(NotText::Encoding(1)));
        assert_eq!(Text::from_bytes(vec![0xef, 0xbb, 0xbf]).unwrap().as_str(), "\u{feff}");
    }

    #[test]
    fn hashes_print_and_parse() {
        let hash = ContentHash::of(b"abc");
        let hex = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hash.to_string(), hex);
        assert_eq!(ContentHash::parse(hex), Some(hash));
        assert_eq!(ContentHash::of_parts(&[b"a", b"bc"]), hash);
        assert_eq!(ContentHash::parse(&hex.to_uppercase()), None);
        assert_eq!(ContentHash::parse(&hex[1..]), None);
    }
}
