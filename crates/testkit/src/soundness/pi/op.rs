//! What can happen in a run of pi sessions.

use readproof_core::decide::Mode;

use crate::{
    op::{Op, Random, drawn, kinds},
    report::Event,
};

/// The kinds of operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A read of a whole file or some of its lines.
    Read,
    /// The file just read, again.
    ReadAgain,
    /// A read that asks for plain text.
    ReadFresh,
    /// A read that pi's own tool answers.
    OwnRead,
    /// A read that the older tool answers and records.
    OlderRead,
    /// A file that changes between two stages of a read.
    Race,
    /// Several calls in one message.
    Batch,
    /// A file is read whole, changes, is read in part and whole again.
    Walk,
    /// A result that another extension shortened.
    Shortened,
    /// A result that another extension altered.
    Altered,
    /// A result without its metadata, of several blocks, or marked as an error.
    Bare,
    /// Someone else changes a file.
    Outside,
    /// Another agent edits a file through this program.
    Another,
    /// A file goes back to an earlier text.
    Revert,
    /// A person writes, changes or takes back rules that deny files.
    Policy,
    /// The model writes a file.
    Write,
    /// The model edits a file.
    Edit,
    /// A write or edit that reports a failure, whatever it did.
    FailedChange,
    /// A write or edit whose result never arrives.
    LostChange,
    /// A write or edit after which the file has another text.
    FalseChange,
    /// Continues from an earlier entry.
    Move,
    /// Continues from an earlier entry, with a summary of the abandoned branch.
    Summary,
    /// Forks a session with the same entries.
    Fork,
    /// Another session continues.
    Switch,
    /// A compaction: the barrier.
    Compact,
    /// The host drops the block of a result.
    DropResult,
    /// The host shows another text instead.
    ReplaceResult,
    /// The host drops a message with calls.
    DropCalls,
    /// Fresh text is asked for.
    Refresh,
    /// The process ends and another begins; every entry is sent again.
    Restart,
    /// Another process begins, from the session file.
    FromFile,
    /// The last entries are not sent before a read.
    Late,
    /// Entries are sent in the wrong order.
    OutOfOrder,
    /// A stored object is removed.
    DropObject,
    /// A stored object is altered.
    AlterObject,
    /// The product is asked what is held.
    Inspect,
    /// Entries that have nothing to do with files.
    Noise,
    /// A program reads files and prints something of them.
    Program,
    /// The extension notes the moment in the session.
    Noted,
    /// The model sees another text by a shell, someone looks at the files, and the file goes back.
    Shell,
    /// The model runs this program in pi's shell.
    Console,
    /// A person goes back to an earlier moment on the command line.
    Rewind,
    /// A person moves in the tree, and the files go along.
    TreeRewind,
    /// The host is noticed to prune results per request.
    Distrust,
    /// Another extension starts or stops pruning results from each request; the extension watches what the model is sent.
    Prune,
}

/// Kinds of operation, and how often each occurs.
const WEIGHTS: [(Kind, usize); 45] = [
    (Kind::Read, 20),
    (Kind::ReadAgain, 18),
    (Kind::ReadFresh, 2),
    (Kind::OwnRead, 2),
    (Kind::OlderRead, 6),
    (Kind::Race, 2),
    (Kind::Batch, 6),
    (Kind::Walk, 4),
    (Kind::Shortened, 2),
    (Kind::Altered, 2),
    (Kind::Bare, 2),
    (Kind::Outside, 14),
    (Kind::Another, 3),
    (Kind::Revert, 6),
    (Kind::Policy, 5),
    (Kind::Write, 4),
    (Kind::Edit, 5),
    (Kind::FailedChange, 2),
    (Kind::LostChange, 2),
    (Kind::FalseChange, 3),
    (Kind::Move, 5),
    (Kind::Summary, 1),
    (Kind::Fork, 1),
    (Kind::Switch, 2),
    (Kind::Compact, 2),
    (Kind::DropResult, 2),
    (Kind::ReplaceResult, 3),
    (Kind::DropCalls, 1),
    (Kind::Refresh, 4),
    (Kind::Restart, 1),
    (Kind::FromFile, 1),
    (Kind::Late, 1),
    (Kind::OutOfOrder, 1),
    (Kind::DropObject, 2),
    (Kind::AlterObject, 2),
    (Kind::Inspect, 4),
    (Kind::Noise, 2),
    (Kind::Program, 4),
    (Kind::Noted, 4),
    (Kind::Shell, 4),
    (Kind::Console, 2),
    (Kind::Rewind, 2),
    (Kind::TreeRewind, 3),
    (Kind::Distrust, 0),
    (Kind::Prune, 0),
];

/// Once a host was noticed to prune, everything is plain until the process ends.
const EVENTS: [Kind; 43] = kinds(&WEIGHTS);

impl Event for Kind {
    /// A partial answer never.
    const SHORT: &'static [Mode] = &[Mode::Unchanged, Mode::UnchangedRange, Mode::Diff];
    const ALL: &'static [Self] = &EVENTS;
}

/// The operations of one run.
#[must_use]
pub fn script(seed: u64, length: usize) -> Vec<Op<Kind>> {
    let mut random = Random::new(seed);
    let stays = |kind| matches!(kind, Kind::Read | Kind::ReadAgain);
    let mut ops = drawn(&WEIGHTS, stays, length, &mut random);
    if random.below(6) == 0 && length > 10 {
        ops[length * 3 / 4].kind = Kind::Distrust;
    }
    if random.below(4) == 0 && length > 10 {
        ops[random.below(length)].kind = Kind::Prune;
    }
    ops
}
