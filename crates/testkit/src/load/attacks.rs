//! Long attacks on the installed program: each returns what it tried, or what went wrong. The short forms are tests.

mod bombs;
mod kills;
mod races;
mod repos;
mod requests;
pub(crate) mod server;

use std::path::Path;

use crate::world::Broken;

/// The parameters of an attack.
#[derive(Clone, Copy, Debug)]
pub struct Attack<'a> {
    /// The program.
    pub binary: &'a Path,
    /// How often it is tried.
    pub rounds: u64,
    /// The seed of its choices.
    pub seed: u64,
}

/// Returns the figures in one line.
pub type Run = fn(&Attack<'_>) -> Result<String, Broken>;

/// Every attack by name, with the rounds of a full run.
pub const ATTACKS: &[(&str, u64, Run)] = &[
    ("bombs", 2_000, bombs::run),
    ("kills", 1_000, kills::run),
    ("races", 20_000, races::run),
    ("repos", 500, repos::run),
    ("requests", 50_000, requests::run),
];
