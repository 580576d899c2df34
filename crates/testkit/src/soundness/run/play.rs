//! The loop of every kind of run: operations one after the other, up to the first that breaks a promise.

use std::mem::take;

use super::{Outcome, Step, Stop, report::Event};
use crate::{op::Op, report::Report, world::Broken};

/// A run that can be played.
pub(crate) trait Play {
    type Kind: Event;

    fn perform(&mut self, op: &Op<Self::Kind>) -> Step;

    /// What is wrong with the calls so far, whatever came of the operations.
    fn wrong(&self) -> Option<String>;

    /// The counts, and what was done, in words.
    fn told(&mut self) -> (&mut Report<Self::Kind>, &mut Vec<String>);
}

/// Plays to the end, or to the first operation that breaks a promise: its number, and what is wrong. An operation that a rule ended
/// has no more to do.
pub(crate) fn play<P: Play>(run: &mut P, ops: &[Op<P::Kind>]) -> Result<Option<(usize, String)>, Broken> {
    for (at, op) in ops.iter().enumerate() {
        run.told().0.begin(op.kind);
        let done = run.perform(op);
        if let Some(wrong) = run.wrong() {
            return Ok(Some((at, wrong)));
        }
        match done {
            Ok(()) => {}
            Err(Stop::Refused) => {
                let (report, trace) = run.told();
                report.refused += 1;
                trace.push("a rule refuses it".to_owned());
            }
            Err(Stop::Violation(what)) => return Ok(Some((at, what))),
            Err(Stop::Broken(error)) => return Err(error),
        }
    }
    Ok(None)
}

/// What came of a run that was played.
pub(crate) fn outcome<P: Play>(run: &mut P, violation: Option<(usize, String)>) -> Outcome<P::Kind> {
    let (report, trace) = run.told();
    Outcome { report: take(report), violation, trace: take(trace) }
}
