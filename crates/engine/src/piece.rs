//! The first or the last lines of a file, however large it is: beyond the largest file that is read at once, memory is
//! bounded by the answer, nothing is hashed and nothing is known of it.

use readproof_core::limits::Limits;
use readproof_disk::{SnapshotError, Stream};

use crate::{Engine, Error};

/// Which end of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The first lines.
    Head,
    /// The last lines.
    Tail,
}

/// Some lines of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The file, by its name in the workspace.
    pub path: String,
    /// The lines, to the byte.
    pub text: String,
    /// The number of the first line; unknown at the end of a file that was not read whole.
    pub first: Option<u64>,
    /// How many lines.
    pub count: u64,
    /// Lines in the file, where all of it was read.
    pub total: Option<u64>,
    /// Whether the file has more lines than these.
    pub truncated: bool,
    /// Whether fewer lines than asked for are given, as one answer holds no more.
    pub cut: bool,
    /// Bytes in the file.
    pub bytes: u64,
}

/// How much is read at a time.
const BLOCK: usize = 1 << 16;

impl Engine {
    /// The first or last `lines` lines of a file, as far as one answer holds them.
    ///
    /// # Errors
    /// As [`Engine::read`].
    pub fn piece(&self, path: &str, end: End, lines: u64) -> Result<Piece, Error> {
        let placed = self.place(path, None, None)?;
        let name = placed.file.key().to_string();
        let stream = self.root.stream(&placed.file, placed.opened, self.settings.hard_links)?;
        let most = Most { lines, bytes: u64::from(self.settings.limits.answer_bytes) };
        let fail = |source| SnapshotError::Io { name: name.clone(), source };
        let found = match end {
            End::Head => head(&stream, most).map_err(fail)?,
            End::Tail => tail(&stream, most).map_err(fail)?,
        };
        let text = readproof_core::text::Text::from_bytes(found.bytes);
        let text = text.map_err(|why| SnapshotError::NotText { name: name.clone(), why })?;
        Ok(Piece {
            path: name,
            first: found.first,
            count: u64::from(text.total()),
            total: found.total,
            truncated: found.truncated,
            cut: found.cut,
            bytes: stream.stat().len,
            text: text.into_string(),
        })
    }
}
