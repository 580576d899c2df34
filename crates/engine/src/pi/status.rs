//! How a pi session stands at a leaf: what is held, how reads were answered since the barrier, and what that saved.

use readproof_core::decide::Mode;

use super::PiTalk;
use crate::Engine;

/// How a session stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PiStatus {
    /// Files of which something is held.
    pub files: usize,
    /// Runs of lines held.
    pub scopes: usize,
    /// Entries on the branch since its barrier.
    pub window: usize,
    /// Whether there is a barrier.
    pub compacted: bool,
    /// Reads since then, by how they were answered.
    pub modes: Vec<(Mode, usize)>,
    /// Bytes that were not sent; a marker may be longer than a short text.
    pub saved: i64,
    /// Texts stored.
    pub objects: usize,
    /// Their bytes.
    pub object_bytes: u64,
    /// Whether the host was seen to drop or change results.
    pub distrusted: bool,
    /// Whether the leaf is known at all.
    pub known: bool,
}

impl Engine {
    /// How the session stands at a leaf.
    pub fn status_in_pi(&self, talk: &mut PiTalk, leaf: Option<&str>) -> PiStatus {
        let stored = talk.behind.texts.as_ref().map(|texts| texts.stored()).unwrap_or_default();
        let mut status = PiStatus {
            objects: stored.len(),
            object_bytes: stored.iter().map(|text| text.bytes).sum(),
            distrusted: talk.distrusted,
            ..PiStatus::default()
        };
        let Ok(place) = talk.place(leaf) else { return status };
        let known = talk.known_at(place);
        status.known = true;
        for (path, knowledge) in known.files() {
            status.files += 1;
            status.scopes += knowledge.of(path).len();
        }
        (status.window, status.compacted) = (known.window(), known.barrier().is_some());
        let reads: Vec<_> = known.reads().collect();
        let count = |mode| (mode, reads.iter().filter(|read| read.mode == mode).count());
        status.modes = Mode::ALL.map(count).to_vec();
        status.saved = reads.iter().filter_map(|read| read.saved).sum();
        status
    }
}
