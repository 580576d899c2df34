//! The moments of a write at which others may act or the process may end. A test kit can be told of them, to act or to be
//! killed exactly there; nobody else is, and nothing about a write depends on it.

use std::{fmt, sync::Arc};

/// Where a write is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Moment {
    /// The folder's turn is taken, nothing is done.
    Turn,
    /// The note says what will be done.
    Noted,
    /// There is a temporary file, without the new content.
    Made,
    /// The new content is written, the old not looked at yet.
    Written,
    /// The old content is as expected.
    Checked,
    /// The note says that names change places next.
    Announced,
    /// They changed places.
    Exchanged,
    /// What another wrote meanwhile was displaced, and the note says that it is put back next.
    GoingBack,
    /// It is back.
    Back,
    /// The name is settled, the temporary file is still there.
    Settled,
    /// The temporary file is gone, the note is still there.
    Cleared,
    /// The note is gone, others still wait.
    Unnoted,
    /// Others may write, and the folder is not synced.
    Released,
}

impl Moment {
    /// All of them, in their order.
    pub const ALL: [Self; 13] = [
        Self::Turn,
        Self::Noted,
        Self::Made,
        Self::Written,
        Self::Checked,
        Self::Announced,
        Self::Exchanged,
        Self::GoingBack,
        Self::Back,
        Self::Settled,
        Self::Cleared,
        Self::Unnoted,
        Self::Released,
    ];
}

type Watcher = Arc<dyn Fn(Moment) + Send + Sync>;

/// Who is told; nobody, outside a test kit.
#[derive(Clone, Default)]
pub(crate) struct Moments(Option<Watcher>);

impl Moments {
    pub(crate) fn tell(&self, moment: Moment) {
        if let Some(watcher) = &self.0 {
            watcher(moment);
        }
    }
}

impl fmt::Debug for Moments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Moments(watched)" } else { "Moments" })
    }
}

#[cfg(any(test, feature = "moments"))]
impl crate::root::Root {
    /// Tells every moment of a write and of a recovery, on the thread that is in it.
    #[must_use]
    pub fn watched(mut self, watcher: Arc<dyn Fn(Moment) + Send + Sync>) -> Self {
        self.moments = Moments(Some(watcher));
        self
    }
}
