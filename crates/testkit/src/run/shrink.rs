//! From a run that breaks a promise to the fewest operations that still break it.

use crate::{op::Op, world::Broken};

/// The shortest run found, by leaving out ever smaller pieces while the promise stays broken, which `breaks` tells.
///
/// # Errors
/// When the harness itself cannot work.
pub fn shrink<K: Clone>(
    ops: &[Op<K>],
    breaks: impl Fn(&[Op<K>]) -> Result<bool, Broken>,
) -> Result<Vec<Op<K>>, Broken> {
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
