//! What an audit log can lose without losing its tree: whole bundles of lines, of which the hashes stay, and what is kept apart
//! from lines. The log itself says what went.

use readproof_core::tlog::{Kind, TILE_WIDTH, Tile};
use readproof_disk::{AuditPart, StoreError};

use super::{AuditError, AuditLog, Line};

/// What would go, or went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rotation {
    /// Lines before this one.
    pub lines_before: u64,
    /// Nonces and texts of lines before this one.
    pub texts_before: u64,
    /// How many files.
    pub files: u64,
}

impl AuditLog {
    /// The first line of the first bundle that is not wholly older than a time, in milliseconds since 1970. The tail stays.
    ///
    /// # Errors
    /// [`AuditError`] when the log cannot be read.
    pub fn older_than(&self, time: u64) -> Result<u64, AuditError> {
        let full = self.size()? / TILE_WIDTH;
        let is_old = |index: &u64| match self.bundle(*index) {
            Ok(Some(lines)) => lines.iter().rev().find_map(|line| at(line)).is_some_and(|at| at < time),
            // It went earlier.
            Ok(None) => true,
            Err(_) => false,
        };
        Ok((0..full).take_while(is_old).count() as u64 * TILE_WIDTH)
    }

    /// The files that a rotation removes.
    #[must_use]
    pub fn parts_before(&self, lines_before: u64, texts_before: u64) -> Vec<AuditPart> {
        let goes = |part: &AuditPart| match part {
            AuditPart::Tile(Tile { kind: Kind::Entries, index, .. }) => (index + 1) * TILE_WIDTH <= lines_before,
            AuditPart::Kept { bundle, .. } => (bundle + 1) * TILE_WIDTH <= texts_before,
            AuditPart::Tile(_) | AuditPart::Key | AuditPart::PublicKey | AuditPart::Checkpoint | AuditPart::Tail => {
                false
            }
        };
        self.parts.parts().into_iter().filter(goes).collect()
    }

    /// Removes a file. The log must have said so before.
    ///
    /// # Errors
    /// [`StoreError`] when it is still there.
    pub fn remove(&self, part: &AuditPart) -> Result<(), StoreError> {
        self.parts.remove(part)
    }
}

fn at(line: &[u8]) -> Option<u64> {
    match Line::parse(line)? {
        Line::Call(call) => Some(call.at),
        Line::Gap(gap) => Some(gap.at),
        Line::Began(began) => Some(began.at),
        Line::Rotated(rotated) => Some(rotated.at),
        Line::Erased(erased) => Some(erased.at),
        Line::Unknown => None,
    }
}
