//! What can happen in a run of Claude Code's conversations.

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
    /// The file just read or changed, again.
    ReadAgain,
    /// A read that counts from 0.
    ReadFromZero,
    /// Several calls in one message.
    Batch,
    /// A file that changes between the program's read and ours.
    Race,
    /// A read that another hook sends to another file.
    Redirected,
    /// The model edits a file.
    Edit,
    /// The model edits every place of a text.
    EditAll,
    /// An edit that fails.
    FailedEdit,
    /// An edit or write that a person or a hook alters.
    AlteredChange,
    /// A change of the model that is sent otherwise than it was made.
    SentOtherwise,
    /// A call with a name that the program makes another of.
    OddName,
    /// The model writes a file.
    Write,
    /// Someone else changes a file.
    Outside,
    /// A file goes back to an earlier text.
    Revert,
    /// A file is read whole, changes, is read in part and whole again.
    Walk,
    /// The model looks at a file by `cat`.
    Cat,
    /// The model looks at lines of a file by `grep`.
    Grep,
    /// The model sees another text by a shell, and the file goes back.
    Shell,
    /// The model sees another text by a program that names no file, we meet that text too, and the file goes back.
    Met,
    /// The model sees another text by a command that does not name the file as it is, and the file goes back.
    Eyes,
    /// A command of the model changes a file.
    ShellChange,
    /// The program tells of a change by itself.
    Pushed,
    /// The same behind a text that has the program's own tags in it, and the file goes back.
    Swallowed,
    /// A compaction: the barrier. Files are attached anew.
    Compact,
    /// A compaction after a result and before the request that has it.
    CompactByItself,
    /// Goes back in the conversation.
    Rewind,
    /// Forks the conversation.
    Fork,
    /// Another conversation continues.
    Switch,
    /// An agent of the conversation begins, or goes on.
    Agent,
    /// The program ends and takes the conversation up again.
    Resume,
    /// Our process ends and another begins.
    Restart,
    /// The record of a request is missing.
    NoRecord,
    /// The record of a request is not what its hash says.
    AlteredRecord,
    /// The record of a request is written too late.
    LateRecord,
    /// A person writes, changes or takes back rules that deny files.
    Policy,
    /// A person says something.
    Prompt,
    /// Another hook alters the text of a read.
    OtherHook,
    /// The program clears an old result.
    ClearedResult,
    /// An old result is sent with another text.
    AlteredResult,
    /// The service clears old results.
    ServiceClears,
    /// The same, and the record does not say so.
    Withheld,
}

/// Kinds of operation, and how often each occurs.
const WEIGHTS: [(Kind, usize); 42] = [
    (Kind::Read, 22),
    (Kind::ReadAgain, 26),
    (Kind::ReadFromZero, 1),
    (Kind::Batch, 5),
    (Kind::Race, 2),
    (Kind::Redirected, 1),
    (Kind::Edit, 9),
    (Kind::EditAll, 3),
    (Kind::FailedEdit, 2),
    (Kind::AlteredChange, 3),
    (Kind::SentOtherwise, 1),
    (Kind::OddName, 2),
    (Kind::Write, 4),
    (Kind::Outside, 9),
    (Kind::Revert, 6),
    (Kind::Walk, 3),
    (Kind::Cat, 3),
    (Kind::Grep, 3),
    (Kind::Shell, 3),
    (Kind::Met, 2),
    (Kind::Eyes, 3),
    (Kind::ShellChange, 3),
    (Kind::Pushed, 3),
    (Kind::Swallowed, 2),
    (Kind::Compact, 2),
    (Kind::CompactByItself, 2),
    (Kind::Rewind, 4),
    (Kind::Fork, 1),
    (Kind::Switch, 2),
    (Kind::Agent, 3),
    (Kind::Resume, 1),
    (Kind::Restart, 1),
    (Kind::NoRecord, 1),
    (Kind::LateRecord, 1),
    (Kind::Policy, 2),
    (Kind::Prompt, 2),
    (Kind::AlteredRecord, 0),
    (Kind::OtherHook, 0),
    (Kind::ClearedResult, 0),
    (Kind::AlteredResult, 0),
    (Kind::ServiceClears, 0),
    (Kind::Withheld, 0),
];

/// Once a result is seen to be cleared or altered, or a message cannot be verified, the conversation is plain.
const EVENTS: [Kind; 36] = kinds(&WEIGHTS);

impl Event for Kind {
    const ALL: &'static [Self] = &EVENTS;

    /// A diff would be numbered like lines of the file, so none is shown.
    const SHORT: &'static [Mode] = &[Mode::Unchanged, Mode::UnchangedRange];
}

/// The operations of one run.
#[must_use]
pub fn script(seed: u64, length: usize) -> Vec<Op<Kind>> {
    let mut random = Random::new(seed);
    let stays = |kind| matches!(kind, Kind::Read | Kind::ReadAgain);
    let mut ops = drawn(&WEIGHTS, stays, length, &mut random);
    let last = [
        Kind::AlteredRecord,
        Kind::OtherHook,
        Kind::ClearedResult,
        Kind::AlteredResult,
        Kind::ServiceClears,
        Kind::Withheld,
    ];
    if random.below(3) == 0 && length > 10 {
        let at = length / 2 + random.below(length / 2);
        ops[at].kind = last[random.below(last.len())];
    }
    ops
}
