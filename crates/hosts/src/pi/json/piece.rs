//! A value of a line that is looked at only if it must be.

use std::borrow::Cow;

use crate::pi::Source;

/// A value as it stands in its line.
pub(in crate::pi) enum Piece {
    /// It can be had again from the session's file.
    At { at: u64, len: u32 },
    /// There is no file, so it is kept.
    Kept(Box<[u8]>),
}

impl Piece {
    /// The value; `None` when it cannot be had any more.
    pub(in crate::pi) fn get<'a>(&'a self, source: &'a dyn Source) -> Option<Cow<'a, [u8]>> {
        match self {
            Self::At { at, len } => source.appended(*at, *len as usize),
            Self::Kept(value) => Some(Cow::Borrowed(value)),
        }
    }
}

/// Where in a line a value of it begins: the distance of their first bytes.
pub(in crate::pi) fn offset(line: &[u8], value: &[u8]) -> usize {
    value.as_ptr().addr().saturating_sub(line.as_ptr().addr())
}
