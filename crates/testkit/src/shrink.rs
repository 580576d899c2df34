//! From a run that breaks a promise to the fewest operations that still break it.

use crate::{op::Op, run::run, world::Broken};

/// The shortest run found, by leaving out ever smaller pieces while the promise stays broken.
///
/// # Errors
/// When the harness itself cannot work.
pub fn shrink(seed: u64, ops: &[Op]) -> Result<Vec<Op>, Broken> {
    let breaks = |ops: &[Op]| run(seed, ops).map(|outcome| outcome.violation.is_some());
    let mut best = ops.to_vec();
    let mut piece = best.len().div_ceil(2);
    while piece > 0 {
        let mut at = 0;
        while at < best.len() {
            let mut shorter = best.clone();
            shorter.drain(at..(at + piece).min(best.len()));
            if breaks(&shorter)? {
                best = shorter;
            } else {
                at += piece;
            }
        }
        piece /= 2;
    }
    Ok(best)
}
