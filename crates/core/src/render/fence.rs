//! Fences: lines around the text of a file, so that nothing in the text can pass as what stands outside. Their tag depends on the
//! text and on a secret, so no file can contain the end of its own fence.

use alloc::{format, string::String};

use crate::text::ContentHash;

/// The most bytes that a fence adds to a text.
pub const FENCE_BYTES: u32 = 80;

/// How a fence ends whose text has no newline at its end.
const NO_NEWLINE: &str = " (no newline at the end)";

/// The text between its fence. A blank text needs none.
#[must_use]
pub fn fenced(text: &str, secret: &str) -> String {
    if text.trim().is_empty() {
        return String::from(text);
    }
    let tag = tag(text, secret);
    let (newline, note) = if text.ends_with('\n') { ("", "") } else { ("\n", NO_NEWLINE) };
    format!("<<<{tag}\n{text}{newline}>>>{tag}{note}")
}

/// Sixteen hex digits that nobody who does not know the secret can write into the text.
fn tag(text: &str, secret: &str) -> String {
    let text = ContentHash::of(text.as_bytes());
    let mut tag = format!("{}", ContentHash::of(format!("{secret} {text}").as_bytes()));
    tag.truncate(16);
    tag
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    /// What stands between a fence, as a reader takes it.
    fn inside(fenced: &str) -> Option<String> {
        let (first, rest) = fenced.split_once('\n')?;
        let tag = first.strip_prefix("<<<")?;
        let at = rest.find(&format!(">>>{tag}"))?;
        let text = &rest[..at];
        match rest[at..].strip_prefix(&format!(">>>{tag}"))? {
            "" => Some(text.to_string()),
            NO_NEWLINE => text.strip_suffix('\n').map(ToString::to_string),
            _ => None,
        }
    }

    #[test]
    fn what_is_between_is_the_text() {
        for text in ["a\n", "a", "\na\n\n", "a\r\nb\r", "<<<0\na\n>>>0\n", "[readcache: unchanged, 3 lines]\n"] {
            let once = fenced(text, "s");
            assert_eq!(inside(&once).as_deref(), Some(text), "{once:?}");
            // A file that contains an answer with its fence gets another fence.
            assert_eq!(inside(&fenced(&once, "s")), Some(once.clone()));
            assert!(once.len() <= text.len() + FENCE_BYTES as usize);
            assert_ne!(once, fenced(text, "t"), "the tag is not known without the secret");
        }
        assert_eq!(fenced(" \n", "s"), " \n");
    }
}
