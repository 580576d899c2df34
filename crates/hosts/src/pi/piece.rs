//! A value of a line that is looked at only if it must be.

use std::borrow::Cow;

use super::Source;

/// A value as it stands in its line.
pub(super) enum Piece {
    /// It can be had again from the session's file.
    At { at: u64, len: u32 },
    /// There is no file, so it is kept.
    Kept(Box<str>),
}

impl Piece {
    /// The value; `None` when it cannot be had any more.
    pub(super) fn get<'a>(&'a self, source: &'a dyn Source) -> Option<Cow<'a, str>> {
        match self {
            Self::At { at, len } => text(source.appended(*at, *len as usize)?),
            Self::Kept(value) => Some(Cow::Borrowed(value)),
        }
    }
}

/// Bytes as text, if they are.
pub(super) fn text(bytes: Cow<'_, [u8]>) -> Option<Cow<'_, str>> {
    match bytes {
        Cow::Borrowed(bytes) => str::from_utf8(bytes).ok().map(Cow::Borrowed),
        Cow::Owned(bytes) => String::from_utf8(bytes).ok().map(Cow::Owned),
    }
}

/// Where in a line a value of it begins: the distance of their first bytes.
pub(super) fn offset(line: &str, value: &str) -> u64 {
    value.as_ptr().addr().saturating_sub(line.as_ptr().addr()) as u64
}
