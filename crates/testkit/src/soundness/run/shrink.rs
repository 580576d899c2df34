//! Reduces a run that breaks a promise to the fewest operations that still break it.

use super::Outcome;
use crate::{
    op::{Op, Random},
    report::{Event, Report},
    world::Broken,
};

/// Operations in one workspace.
const RUN: usize = 80;

/// Plays operations in a workspace made from a seed.
pub type Run<K> = fn(u64, &[Op<K>]) -> Result<Outcome<K>, Broken>;

/// Plays runs from a seed until this many steps are done.
///
/// # Errors
/// On the first broken promise, with the shortest run that shows it; and when the harness itself cannot work.
pub fn plays<K: Event>(
    script: fn(u64, usize) -> Vec<Op<K>>,
    run: Run<K>,
    seed: u64,
    steps: u64,
) -> Result<Report<K>, Broken> {
    let (mut seeds, mut report) = (Random::new(seed), Report::default());
    while report.steps < steps {
        let (world, ops) = (seeds.bits(), script(seeds.bits(), RUN));
        let outcome = run(world, &ops)?;
        report.add(&outcome.report);
        if let Some((at, what)) = outcome.violation {
            let shortest = shrink(&ops[..=at], |ops| Ok(run(world, ops)?.violation.is_some()))?;
            let trace = run(world, &shortest)?.trace.join("\n  ");
            return Err(format!("seed {seed}, step {}: {what}\n  {trace}", report.steps).into());
        }
    }
    Ok(report)
}

/// The shortest run found by leaving out ever smaller pieces while `breaks` says that the promise is still broken.
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
