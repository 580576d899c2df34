//! Which files may be read for a search or for the catalog.

use readproof_disk::{Sensitive, SnapshotRules};

/// Which files may be read.
#[derive(Clone, Copy)]
pub struct FileRules<'a> {
    /// By size and hard links.
    pub snapshot: SnapshotRules,
    /// By name: nothing is kept of these, and a search passes over them unless it names them.
    pub sensitive: &'a Sensitive,
}
