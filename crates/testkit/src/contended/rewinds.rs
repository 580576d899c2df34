//! Rewinds at random, through the real disk and the door: agents of two conversations and other programs change files, and someone
//! goes back. A recorder of its own knows every byte at every moment; what is judged is taken from it, never from the product.

mod judge;
pub mod kills;
mod play;
mod recorder;

use std::{collections::BTreeMap, fmt};

use crate::{op::Random, world::Broken};

/// After so many wrong runs nothing more is learned.
const MOST_WRONG: usize = 8;

/// What runs came to.
#[derive(Clone, Debug, Default)]
pub struct Rewinds {
    pub cases: u64,
    pub rewinds: u64,
    pub refused: u64,
    /// Rewinds of rewinds, after which everything was as before.
    pub undone: u64,
    /// Files by what became of them.
    pub files: BTreeMap<&'static str, u64>,
    /// Texts that vanished and were found again in the versions.
    pub found_again: u64,
    /// Reads after a rewind, by what the answer was.
    pub reads: BTreeMap<&'static str, u64>,
}

impl fmt::Display for Rewinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cases, rewinds, refused, undone, files, found_again, reads } = self;
        writeln!(f, "{cases} runs, {rewinds} rewinds, {refused} refused, {undone} undone by another one;")?;
        writeln!(f, "{found_again} texts that went were found in the versions;")?;
        for (what, count) in files {
            write!(f, " {what} {count}")?;
        }
        write!(f, "; read afterwards:")?;
        for (what, count) in reads {
            write!(f, " {what} {count}")?;
        }
        Ok(())
    }
}

/// Plays so many runs.
///
/// # Errors
/// When rewinds are wrong: which cases, and why.
pub fn rewinds(cases: u64, seed: u64) -> Result<Rewinds, Broken> {
    let (mut done, mut wrong) = (Rewinds::default(), Vec::new());
    for case in 0..cases {
        let mut random = Random::new(seed.wrapping_mul(1_000_003).wrapping_add(case));
        if let Err(error) = play::case(&mut random, &mut done) {
            wrong.push(format!("case {case}, seed {seed}: {error}"));
        }
        done.cases += 1;
        if wrong.len() == MOST_WRONG {
            break;
        }
    }
    if wrong.is_empty() { Ok(done) } else { Err(wrong.join("\n").into()) }
}

/// A folder in memory where there is one: what a lost power supply does is not tried here, and nothing has to be waited for.
fn folder() -> Result<tempfile::TempDir, Broken> {
    Ok(tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir())?)
}
