//! Which operations can be run again from stored texts, and which only look, so that another machine may ask them.

use super::{
    Blame, Compare, CompareVersions, History, List, Operation, Outline, Patch, Read, ReadEnd, ReadSymbol, Rewind,
    Search, SearchFile, ShowVersion, Write,
};

/// What a replay does with an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again<'a> {
    /// Lines of a text.
    Read(&'a Read),
    /// Lines of a definition in a text.
    Symbol(&'a ReadSymbol),
    /// The first or last lines of a text.
    End(&'a ReadEnd),
    /// Matching lines of a text.
    InFile(&'a SearchFile),
    /// Matching lines of the texts that matched.
    Search(&'a Search),
    /// What texts define.
    Outline(&'a Outline),
    /// Names that were there.
    List(&'a List),
    /// Two texts side by side.
    Compare(&'a Compare),
    /// The same.
    CompareVersions(&'a CompareVersions),
    /// The first lines of a text.
    Version(&'a ShowVersion),
    /// A change of a text.
    Write(&'a Write),
    /// Changes of texts.
    Patch(&'a Patch),
    /// Earlier texts of files.
    Rewind(&'a Rewind),
    /// The changes that were listed.
    History(&'a History),
    /// A text, and those that it came from.
    Blame(&'a Blame),
    /// Nothing: it looks at no text.
    Stat,
    /// Nothing: its answer follows from more than texts.
    Nothing,
}

impl Operation {
    /// What a replay does with it.
    #[must_use]
    pub fn again(&self) -> Again<'_> {
        match self {
            Self::Read(read) => Again::Read(read),
            Self::ReadSymbol(read) => Again::Symbol(read),
            Self::ReadEnd(read) => Again::End(read),
            Self::SearchFile(search) => Again::InFile(search),
            Self::Search(search) => Again::Search(search),
            Self::Outline(outline) => Again::Outline(outline),
            Self::List(list) => Again::List(list),
            Self::Compare(compare) => Again::Compare(compare),
            Self::CompareVersions(compare) => Again::CompareVersions(compare),
            Self::ShowVersion(show) => Again::Version(show),
            Self::Write(write) => Again::Write(write),
            Self::Patch(patch) => Again::Patch(patch),
            Self::Rewind(rewind) => Again::Rewind(rewind),
            Self::History(history) => Again::History(history),
            Self::Blame(blame) => Again::Blame(blame),
            Self::Stat { .. } => Again::Stat,
            Self::ListSymbols(_)
            | Self::ListFiles(_)
            | Self::Changes(_)
            | Self::Tell
            | Self::Context
            | Self::Checkpoint { .. }
            | Self::ListConflicts { .. }
            | Self::ShowConflict { .. }
            | Self::Propose { .. }
            | Self::Resolve { .. }
            | Self::ListApprovals { .. }
            | Self::ShowApproval { .. }
            | Self::Decide { .. }
            | Self::Refresh(_)
            | Self::Status
            | Self::ListSessions
            | Self::ShowSession
            | Self::Held { .. }
            | Self::Branch { .. }
            | Self::Switch { .. }
            | Self::Fork { .. }
            | Self::Compact { .. }
            | Self::EditContext { .. }
            | Self::Distrust { .. }
            | Self::Replay
            | Self::Collect(_)
            | Self::Forget(_)
            | Self::CheckPolicy { .. }
            | Self::ListPolicy
            | Self::Doctor => Again::Nothing,
        }
    }

    /// Whether it only looks at files and their history: what another machine may ask. What changes a file, a conversation or the
    /// store needs the tools made for that, which also ask a person where a rule says so.
    #[must_use]
    pub fn only_looks(&self) -> bool {
        match self.again() {
            Again::Write(_) | Again::Patch(_) | Again::Rewind(_) => false,
            Again::Nothing => matches!(self, Self::ListSymbols(_) | Self::ListFiles(_) | Self::Changes(_)),
            Again::Read(_)
            | Again::Symbol(_)
            | Again::End(_)
            | Again::InFile(_)
            | Again::Search(_)
            | Again::Outline(_)
            | Again::List(_)
            | Again::Compare(_)
            | Again::CompareVersions(_)
            | Again::Version(_)
            | Again::History(_)
            | Again::Blame(_)
            | Again::Stat => true,
        }
    }
}
