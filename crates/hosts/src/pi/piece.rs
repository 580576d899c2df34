//! A value of a line that is looked at only when it is needed.

use std::borrow::Cow;

use super::Source;

pub(super) enum Piece {
    /// It can be read again from the session's file.
    At { at: u64, len: u32 },
    /// There is no file, so it is kept.
    Kept(Box<[u8]>),
}

impl Piece {
    /// The raw value; `None` if it is gone.
    pub(super) fn get<'a>(&'a self, source: &'a dyn Source) -> Option<Cow<'a, [u8]>> {
        match self {
            Self::At { at, len } => source.appended(*at, *len as usize),
            Self::Kept(value) => Some(Cow::Borrowed(value)),
        }
    }
}

/// The offset of a value in the line it is borrowed from.
pub(super) fn offset(line: &[u8], value: &[u8]) -> usize {
    value.as_ptr().addr().saturating_sub(line.as_ptr().addr())
}
