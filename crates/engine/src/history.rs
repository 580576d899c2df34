//! What was: every version of every file, whoever changed it, and the way back to one. Own changes are recorded when they are made;
//! what other programs did is met by a look at all files ([`look`]), before any question here is answered. Lines that an answer
//! shows of an earlier text are never a base.

mod blame;
mod error;
mod git;
mod log;
mod look;
mod rewind;
mod since;
mod state;
mod undo;
mod versions;

pub use blame::{Blamed, BlamedLine};
pub use error::HistoryError;
pub use git::{Compared, DiffStatus};
pub use log::{FilesListed, HistoryEntry, HistoryListed, ListedFile, ShownVersion};
pub use look::Looked;
pub use rewind::{Rewound, RewoundFile};
pub use since::ChangesFound;
pub use undo::Undo;
pub use versions::{Compared as ComparedVersions, Which};
