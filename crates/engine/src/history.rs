//! What was: every version of every file, whoever changed it, and the way back to one. Own changes are recorded when they are made;
//! what other programs did is met by a look at all files ([`look`]), before any question here is answered. Lines that an answer
//! shows of an earlier text are never a base.

mod blame;
mod context;
mod error;
mod git;
mod log;
mod look;
mod rewind;
mod since;
mod state;
mod tell;
mod undo;
mod versions;
mod watch;

pub(crate) use blame::blamed_again;
pub use blame::{Blamed, BlamedLine};
pub use context::{ContextFound, KnownFile, KnownState, RecentFile, Uncommitted};
pub use error::HistoryError;
pub use git::{Compared, DiffStatus};
pub use log::{FilesListed, HistoryEntry, HistoryListed, ListedFile, ShownVersion};
pub(crate) use log::{HistoryAgain, cut};
pub use look::Looked;
pub use rewind::{Rewound, RewoundFile};
pub use since::ChangesFound;
pub(crate) use state::State;
pub use tell::Told;
pub(crate) use tell::{Present, met};
pub use undo::Undo;
pub(crate) use versions::versions_again;
pub use versions::{Compared as ComparedVersions, Which};
pub(crate) use watch::Watched;
pub use watch::{OnSight, Sighting};

use readproof_hosts::versions::{FIRST, UNSEEN};

/// Whether a record of the version log tells of a change, rather than of what is looked at.
fn is_change(operation: &str) -> bool {
    operation != FIRST && operation != UNSEEN
}
