//! The moments of a write between which other programs may act or the process may end. A test kit can register to be called at
//! each, to act or be killed exactly there. Nothing about a write depends on it.

use std::{fmt, sync::Arc};

/// How far a write has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Moment {
    /// The folder's turn is held; nothing is done yet.
    Turn,
    /// The note is written.
    Noted,
    /// The temporary file exists, without the new content.
    Made,
    /// The new content is written; the old one is not checked yet.
    Written,
    /// The old content is as expected.
    Checked,
    /// The note announces the exchange.
    Announced,
    /// The names are exchanged.
    Exchanged,
    /// Another program's text was displaced, and the note announces that it is put back.
    GoingBack,
    /// That text is back.
    Back,
    /// The name is settled; the temporary file still exists.
    Settled,
    /// The temporary file is gone; the note still exists.
    Cleared,
    /// The note is gone; others still wait.
    Unnoted,
    /// Others may write; the folder is not synced yet.
    Released,
    /// A file that is removed has the temporary name; what it holds is not checked yet.
    Aside,
    /// A file has its other name; what it holds is not checked yet.
    Moved,
    /// The journal of a change over several files is on disk; no file is touched yet.
    Journaled,
    /// One more of the files is changed.
    Stepped,
    /// One more of the files is as it was before.
    SteppedBack,
    /// All files are changed, and the journal says so.
    Complete,
    /// All that can be undone is undone, and the journal says so.
    Undone,
    /// The journal is gone.
    Unjournaled,
}

impl Moment {
    /// Those of the write of one file, in order.
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

    /// Those that only a file has which is removed or gets another name.
    pub const OF_NAMES: [Self; 2] = [Self::Aside, Self::Moved];

    /// Those that only a change over several files has, in order.
    pub const OF_SEVERAL: [Self; 6] =
        [Self::Journaled, Self::Stepped, Self::SteppedBack, Self::Complete, Self::Undone, Self::Unjournaled];
}

type Watcher = Arc<dyn Fn(Moment) + Send + Sync>;

/// What is called at each moment; nothing, outside a test kit.
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
    /// Calls this at every moment of a write and of a recovery, on the thread that performs it.
    #[must_use]
    pub fn watched(mut self, watcher: Arc<dyn Fn(Moment) + Send + Sync>) -> Self {
        self.moments = Moments(Some(watcher));
        self
    }
}
