//! The targets: for each a function that takes any bytes and asserts what must hold, the inputs to start from, and the
//! words its format is made of.

mod diff;
mod held;
mod ladder;
mod log;
mod meta;
mod operation;
mod pack;
mod patch;
mod paths;
mod records;
mod scope;
mod scratch;
mod session;
mod tlog;

use readproof_testkit::op::Random;

/// The outcome of one input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Whether the parser accepted it; see [`Target::accepts`].
    pub accepted: bool,
    /// A number for the kind of outcome: an input of a new kind is worth changing further.
    pub kind: u64,
}

/// A parser to fuzz.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name on the command line.
    pub name: &'static str,
    /// When an input counts as accepted.
    pub accepts: &'static str,
    /// Panics when something does not hold.
    pub check: fn(&[u8]) -> Seen,
    /// An input that is mostly valid.
    pub start: fn(&mut Random) -> Vec<u8>,
    /// Words of the format.
    pub words: &'static [&'static str],
    /// The most bytes of an input.
    pub most: usize,
}

/// Every target.
pub const TARGETS: [Target; 14] = [
    paths::TARGET,
    scope::TARGET,
    meta::TARGET,
    session::TARGET,
    session::claude_code::TARGET,
    log::TARGET,
    diff::TARGET,
    patch::TARGET,
    ladder::TARGET,
    pack::TARGET,
    operation::TARGET,
    tlog::NOTE,
    tlog::PROOF,
    tlog::TILE,
];

/// The target of this name.
#[must_use]
pub fn named(name: &str) -> Option<Target> {
    TARGETS.into_iter().find(|target| target.name == name)
}
