//! What a caller must be allowed to do with every name that an operation looks at or shows. What a change needs beyond that is
//! asked for each file, when it is known which files change.

use super::{Act, Acts};
use crate::operation::Operation;

/// A file whose text is looked at by its own name.
const READING: Acts = Acts::of(&[Act::Read]);

/// A file that is found, and of which text or more than its name is shown.
const FINDING: Acts = Acts::of(&[Act::Read, Act::List, Act::Search]);

/// A file of which only the name is shown.
const LISTING: Acts = Acts::of(&[Act::List]);

/// A file of which an earlier text is shown.
const LOOKING_BACK: Acts = Acts::of(&[Act::Read, Act::History]);

impl Acts {
    /// What names in suggestions need: they may be listed and read.
    pub const SUGGESTING: Self = Self::of(&[Act::Read, Act::List]);

    /// What an index is made of.
    pub const FINDING: Self = FINDING;

    /// What every name needs that an operation looks at or shows.
    #[must_use]
    pub fn needed_by(operation: &Operation) -> Self {
        match operation {
            Operation::Read(_)
            | Operation::ReadEnd(_)
            | Operation::Refresh(_)
            | Operation::Write(_)
            | Operation::Patch(_) => READING,
            Operation::SearchFile(_) => Self::of(&[Act::Read, Act::Search]),
            Operation::ReadSymbol(_) | Operation::Search(_) | Operation::ListSymbols(_) | Operation::Outline(_) => {
                FINDING
            }
            Operation::Stat { .. } | Operation::List(_) | Operation::ListFiles(_) | Operation::Status => LISTING,
            Operation::Compare(_)
            | Operation::CompareVersions(_)
            | Operation::History(_)
            | Operation::ShowVersion(_)
            | Operation::Blame(_)
            | Operation::Changes(_)
            | Operation::Tell
            | Operation::Context
            | Operation::Rewind(_)
            | Operation::Forget(_)
            | Operation::ListConflicts { .. }
            | Operation::ShowConflict { .. }
            | Operation::Propose { .. }
            | Operation::Resolve { .. }
            | Operation::ShowSession
            | Operation::Held { .. }
            | Operation::Replay => LOOKING_BACK,
            Operation::ListSessions
            | Operation::Branch { .. }
            | Operation::Switch { .. }
            | Operation::Fork { .. }
            | Operation::Compact { .. }
            | Operation::EditContext { .. }
            | Operation::Distrust { .. }
            | Operation::Collect(_)
            | Operation::CheckPolicy { .. }
            | Operation::ListPolicy
            | Operation::Checkpoint { .. }
            | Operation::ListApprovals { .. }
            | Operation::ShowApproval { .. }
            | Operation::Decide { .. }
            | Operation::Doctor => Self::of(&[]),
        }
    }
}
