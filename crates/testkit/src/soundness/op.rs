//! What can happen in a run, as data: operations with a seed for their choices, which are taken modulo what there is to
//! choose from, so that any part of a run is a run.

use crate::report::Event;

/// A small deterministic generator (splitmix64).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n` (0 when `n` is 0).
    pub fn below(&mut self, n: usize) -> usize {
        if n == 0 { 0 } else { usize::try_from(self.bits() % n as u64).unwrap_or(0) }
    }

    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.below(items.len()))
    }
}

/// The first kinds in a table of weights: those that a report counts.
pub(crate) const fn kinds<K: Copy, const ALL: usize, const FIRST: usize>(weights: &[(K, usize); ALL]) -> [K; FIRST] {
    let mut kinds = [weights[0].0; FIRST];
    let mut at = 0;
    while at < FIRST {
        kinds[at] = weights[at].0;
        at += 1;
    }
    kinds
}

/// The kinds of operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A read of a whole file or some of its lines.
    Read,
    /// The file just read, again.
    ReadAgain,
    /// A read that asks for plain text.
    ReadFresh,
    /// A read whose answer goes to a program.
    ReadForProgram,
    /// A search of the workspace, or of one file.
    Search,
    /// A diff of a working file and other text.
    Preview,
    /// Several reads at once: none is a base for another.
    Batch,
    /// A read that is cancelled between two stages.
    Aborted,
    /// An answer that is never confirmed; the model may have seen it.
    Unconfirmed,
    /// An answer that arrives after the leaf moved.
    Late,
    /// A file that changes between two stages of a read.
    Race,
    /// Another process moves the conversation between two stages of a read.
    MovedUnder,
    /// Someone else changes a file.
    Outside,
    /// A file goes back to an earlier text.
    Revert,
    /// A person writes, changes or takes back rules that deny files.
    Policy,
    /// The agent writes a file.
    Write,
    /// The agent edits a file.
    Edit,
    /// The agent edits every occurrence of a text in a file.
    EditAll,
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
    /// The conversation is told what others changed of what it was shown, and asks where it is.
    Told,
    /// The model sees another text by a shell, someone looks at the files, and the file goes back.
    Shell,
    /// Back to an earlier moment.
    Rewind,
    /// A conflict ends.
    Resolve,
    /// A write whose result never arrives.
    LostWrite,
    /// An edit whose result never arrives.
    LostEdit,
    /// Continues from an earlier entry.
    Branch,
    /// Switches to the tip of another branch.
    Switch,
    /// Forks a session.
    Fork,
    /// A compaction: the barrier.
    Compact,
    /// The host drops or changes a block.
    ContextEdit,
    /// Fresh text is asked for.
    Refresh,
    /// The process ends and another begins.
    Restart,
    /// A stored object is removed.
    DropObject,
    /// A stored object is altered.
    AlterObject,
    /// Another conversation continues.
    OtherSession,
    /// The host is noticed to prune results per request.
    Prune,
}

/// Kinds of operation, and how often each occurs.
const WEIGHTS: [(Kind, usize); 43] = [
    (Kind::Read, 22),
    (Kind::ReadAgain, 16),
    (Kind::ReadFresh, 2),
    (Kind::ReadForProgram, 2),
    (Kind::Search, 3),
    (Kind::Preview, 2),
    (Kind::Batch, 4),
    (Kind::Aborted, 2),
    (Kind::Unconfirmed, 3),
    (Kind::Late, 2),
    (Kind::Race, 2),
    (Kind::MovedUnder, 2),
    (Kind::Outside, 12),
    (Kind::Revert, 6),
    (Kind::Policy, 5),
    (Kind::Write, 4),
    (Kind::Edit, 7),
    (Kind::EditAll, 3),
    (Kind::FailedEdit, 3),
    (Kind::Pieces, 3),
    (Kind::Loose, 3),
    (Kind::Stale, 5),
    (Kind::Patch, 3),
    (Kind::Rename, 1),
    (Kind::Versions, 2),
    (Kind::LookBack, 3),
    (Kind::Told, 4),
    (Kind::Shell, 3),
    (Kind::Rewind, 3),
    (Kind::Resolve, 1),
    (Kind::LostWrite, 1),
    (Kind::LostEdit, 1),
    (Kind::Branch, 4),
    (Kind::Switch, 3),
    (Kind::Fork, 1),
    (Kind::Compact, 2),
    (Kind::ContextEdit, 4),
    (Kind::Refresh, 4),
    (Kind::Restart, 2),
    (Kind::DropObject, 2),
    (Kind::AlterObject, 2),
    (Kind::OtherSession, 4),
    (Kind::Prune, 0),
];

/// Without the last kind: after a prune everything is plain, by rule.
const EVENTS: [Kind; 42] = kinds(&WEIGHTS);

impl Event for Kind {
    const ALL: &'static [Self] = &EVENTS;
}

/// One operation.
#[derive(Clone, Debug)]
pub struct Op<K = Kind> {
    pub kind: K,
    /// The seed of its choices.
    pub seed: u64,
}

/// The weights of one run: about half of the runs leave out about half of the kinds, so that the others meet more often
/// than they would by chance.
fn some_weights<K: Copy>(all: &[(K, usize)], stays: impl Fn(K) -> bool, random: &mut Random) -> Vec<(K, usize)> {
    let swarm = random.below(2) == 0;
    let mut keep = |kind: K| !swarm || stays(kind) || random.below(2) == 0;
    all.iter().filter(|(kind, _)| keep(*kind)).copied().collect()
}

/// Draws operations by weight; kinds for which `stays` is true are in every run.
pub(crate) fn drawn<K: Copy>(
    all: &[(K, usize)],
    stays: impl Fn(K) -> bool,
    length: usize,
    random: &mut Random,
) -> Vec<Op<K>> {
    let weights = some_weights(all, stays, random);
    let total: usize = weights.iter().map(|(_, weight)| weight).sum();
    let mut draw = || {
        let mut at = random.below(total);
        let kind = weights.iter().find(|(_, weight)| {
            let here = at < *weight;
            at = at.wrapping_sub(if here { 0 } else { *weight });
            here
        });
        kind.map(|(kind, _)| Op { kind: *kind, seed: random.bits() })
    };
    (0..length).filter_map(|_| draw()).collect()
}

/// The operations of one run.
#[must_use]
pub fn script(seed: u64, length: usize) -> Vec<Op> {
    let mut random = Random::new(seed);
    let stays = |kind| matches!(kind, Kind::Read | Kind::ReadAgain);
    let mut ops = drawn(&WEIGHTS, stays, length, &mut random);
    // From there on everything is plain, so it comes late and not in every run.
    if random.below(4) == 0 && length > 10 {
        let at = length * 3 / 4;
        ops[at].kind = Kind::Prune;
    }
    ops
}
