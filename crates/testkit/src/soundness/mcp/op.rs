//! What can happen in a run of agents that read over MCP.

use crate::{
    op::{Op, Random, drawn, kinds},
    report::Event,
};

/// The kinds of operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A read, mostly with the newest visible handle of its file.
    Read,
    /// The file just read, again.
    ReadAgain,
    /// A file is read, changes, and is read again with the handle.
    Walk,
    /// A definition, by its name.
    Symbol,
    /// A read that asks for plain text.
    ReadFresh,
    /// A read whose answer goes to a program, which may print some of it.
    ReadForProgram,
    /// A search of the workspace, or of one file.
    Search,
    /// A diff of a working file and other text.
    Preview,
    /// What a file, or the whole workspace, defines, with signatures.
    Outline,
    /// A list of the workspace's names.
    List,
    /// Several files in one call.
    Several,
    /// A file in another encoding is read, and then has UTF-8 text again.
    View,
    /// The agent writes a file.
    Write,
    /// The agent edits a file.
    Edit,
    /// An edit that is refused.
    FailedEdit,
    /// Several pieces of a file, text behind it, a new file.
    Pieces,
    /// An edit that does not match to the byte.
    Loose,
    /// A file changes between a read and the edit that is made for it.
    Stale,
    /// A patch of one file or several.
    Patch,
    /// A file goes, or gets another name.
    Rename,
    /// Versions of a file side by side.
    Versions,
    /// An earlier text, who wrote which line, what others changed.
    LookBack,
    /// The agent is told what others changed of what it was shown, and asks where it is.
    Told,
    /// The agent sees another text by a shell, someone looks at the files, and the file goes back.
    Shell,
    /// Back to an earlier moment.
    Rewind,
    /// A conflict ends.
    Resolve,
    /// With a visible handle that is not the newest of its file.
    Older,
    /// With the handle of another file.
    OtherFile,
    /// With a handle from which a part is missing.
    CutPart,
    /// With something that is not a handle, or almost one.
    Guess,
    /// With a handle that only a summary quotes.
    Quoted,
    /// With a handle that another agent or a program received.
    HandedOver,
    /// Several calls in one message.
    Batch,
    /// Another process answers in the same conversation between two stages of a read.
    Between,
    /// A file that changes between two stages of a read.
    Race,
    /// A read that is cancelled between two stages.
    Aborted,
    /// An answer that never reaches the agent.
    Lost,
    /// Someone else changes a file.
    Outside,
    /// A file goes back to an earlier text.
    Revert,
    /// A person writes, changes or takes back rules that deny files.
    Policy,
    /// Fresh text is asked for.
    Refresh,
    /// A summary replaces all answers.
    Compact,
    /// Another agent with the same history.
    Fork,
    /// Another agent continues.
    OtherAgent,
    /// The process ends and another begins.
    Restart,
    /// A stored object is removed.
    DropObject,
    /// A stored object is altered.
    AlterObject,
    /// Stored texts are garbage-collected.
    Gc,
}

/// Kinds of operation, and how often each occurs.
const WEIGHTS: [(Kind, usize); 48] = [
    (Kind::Read, 20),
    (Kind::ReadAgain, 20),
    (Kind::Walk, 12),
    (Kind::Symbol, 8),
    (Kind::ReadFresh, 2),
    (Kind::ReadForProgram, 3),
    (Kind::Search, 4),
    (Kind::Preview, 3),
    (Kind::Outline, 4),
    (Kind::List, 1),
    (Kind::Several, 3),
    (Kind::View, 3),
    (Kind::Write, 2),
    (Kind::Edit, 2),
    (Kind::FailedEdit, 3),
    (Kind::Pieces, 2),
    (Kind::Loose, 2),
    (Kind::Stale, 4),
    (Kind::Patch, 2),
    (Kind::Rename, 1),
    (Kind::Versions, 2),
    (Kind::LookBack, 3),
    (Kind::Told, 3),
    (Kind::Shell, 2),
    (Kind::Rewind, 2),
    (Kind::Resolve, 1),
    (Kind::Older, 4),
    (Kind::OtherFile, 3),
    (Kind::CutPart, 4),
    (Kind::Guess, 4),
    (Kind::Quoted, 4),
    (Kind::HandedOver, 4),
    (Kind::Batch, 5),
    (Kind::Between, 3),
    (Kind::Race, 2),
    (Kind::Aborted, 2),
    (Kind::Lost, 3),
    (Kind::Outside, 12),
    (Kind::Revert, 7),
    (Kind::Policy, 6),
    (Kind::Refresh, 3),
    (Kind::Compact, 2),
    (Kind::Fork, 2),
    (Kind::OtherAgent, 3),
    (Kind::Restart, 2),
    (Kind::DropObject, 2),
    (Kind::AlterObject, 2),
    (Kind::Gc, 2),
];

const EVENTS: [Kind; 48] = kinds(&WEIGHTS);

impl Event for Kind {
    const ALL: &'static [Self] = &EVENTS;
}

/// The operations of one run.
#[must_use]
pub fn script(seed: u64, length: usize) -> Vec<Op<Kind>> {
    let stays = |kind| matches!(kind, Kind::Read | Kind::ReadAgain);
    drawn(&WEIGHTS, stays, length, &mut Random::new(seed))
}
