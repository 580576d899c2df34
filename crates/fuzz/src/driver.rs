//! Makes inputs and runs a target on them: kept and generated ones, changed again and again. An input with a new kind of
//! outcome joins those that are changed further. The same seed gives the same inputs.

use std::{
    cell::RefCell,
    collections::BTreeSet,
    panic::{self, AssertUnwindSafe},
    sync::Once,
};

use readproof_testkit::op::Random;

use crate::{
    mutate::{Material, mutate},
    targets::{Seen, Target},
};

/// The most inputs in the pool that is changed further.
const KEPT: usize = 4096;

/// The most tries to make a failing input shorter.
const SHRINK_TRIES: usize = 20_000;

/// The result of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Inputs given to the target.
    pub inputs: u64,
    /// Those it accepted.
    pub accepted: u64,
    /// Those it refused.
    pub refused: u64,
    /// Kinds of outcome.
    pub kinds: usize,
    /// A checksum of all inputs: two runs with the same value had the same inputs.
    pub digest: u64,
}

impl Report {
    /// Why the run proves nothing although nothing failed; `None` if inputs were both accepted and refused.
    #[must_use]
    pub fn shallow(&self) -> Option<&'static str> {
        match (self.accepted, self.refused) {
            (0, _) => Some("no input was accepted: nothing behind the parser was reached"),
            (_, 0) => Some("no input was refused: nothing that must be refused was tried"),
            _ => None,
        }
    }
}

/// An input that a target fails on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The shortest one found.
    pub input: Vec<u8>,
    /// The message of its panic.
    pub message: String,
    /// How many inputs were run before it.
    pub after: u64,
}

/// Called with every input before the target runs.
pub type Watch<'a> = &'a mut dyn FnMut(u64, &[u8]);

/// Runs a target on `inputs` inputs, the kept ones first.
///
/// # Errors
/// [`Finding`] at the first input that fails.
pub fn run(
    target: &Target,
    kept: &[Vec<u8>],
    inputs: u64,
    seed: u64,
    watch: Watch<'_>,
) -> Result<Report, Box<Finding>> {
    let mut random = Random::new(seed);
    let mut pool: Vec<Vec<u8>> = kept.to_vec();
    let mut kinds = BTreeSet::new();
    let mut report = Report::default();
    for number in 0..inputs {
        let kept = usize::try_from(number).ok().and_then(|at| kept.get(at));
        let input = kept.cloned().unwrap_or_else(|| next(target, &pool, &mut random));
        watch(number, &input);
        let seen = caught(target, &input).map_err(|message| Box::new(shrunk(target, &input, message, number)))?;
        report.inputs += 1;
        report.accepted += u64::from(seen.accepted);
        report.refused += u64::from(!seen.accepted);
        report.digest = digest(report.digest, &input);
        if kinds.insert((seen.accepted, seen.kind)) {
            if pool.len() < KEPT {
                pool.push(input);
            } else {
                let at = random.below(pool.len());
                pool[at] = input;
            }
        }
    }
    report.kinds = kinds.len();
    Ok(report)
}

/// A generated input or one of the pool, mostly changed.
fn next(target: &Target, pool: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let fresh = random.below(4) == 0;
    let from = if fresh { None } else { random.pick(pool) };
    let mut input = from.cloned().unwrap_or_else(|| (target.start)(random));
    if fresh && random.below(4) == 0 {
        return input;
    }
    let other = random.pick(pool).map_or(&[][..], Vec::as_slice);
    mutate(&mut input, random, &Material { words: target.words, other, most: target.most });
    input
}

fn digest(before: u64, input: &[u8]) -> u64 {
    input.iter().fold(before ^ input.len() as u64, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3).rotate_left(5)
    })
}

thread_local! {
    /// The message of a panic caught in this thread; `None` if panics are not caught.
    static CAUGHT: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs a target on one input and catches its panic.
///
/// # Errors
/// The message and place of the panic.
pub fn caught(target: &Target, input: &[u8]) -> Result<Seen, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let quiet = CAUGHT.with_borrow_mut(|caught| {
                caught.as_mut().is_some_and(|words| {
                    *words = info.to_string();
                    true
                })
            });
            if !quiet {
                before(info);
            }
        }));
    });
    CAUGHT.set(Some(String::new()));
    let outcome = panic::catch_unwind(AssertUnwindSafe(|| (target.check)(input)));
    let words = CAUGHT.take().unwrap_or_default();
    outcome.map_err(|_| words)
}

/// Leaves out ever smaller pieces while the input still fails.
fn shrunk(target: &Target, input: &[u8], message: String, after: u64) -> Finding {
    let mut best = Finding { input: input.to_vec(), message, after };
    let mut tries = 0;
    let mut piece = best.input.len().div_ceil(2);
    while piece > 0 {
        let before = best.input.len();
        let mut at = 0;
        while at < best.input.len() && tries < SHRINK_TRIES {
            let mut shorter = best.input.clone();
            shorter.drain(at..(at + piece).min(best.input.len()));
            tries += 1;
            match caught(target, &shorter) {
                Ok(_) => at += piece,
                Err(message) => best = Finding { input: shorter, message, after },
            }
        }
        // What could not be left out before may be left out now.
        piece = if piece == 1 && best.input.len() < before && tries < SHRINK_TRIES { 1 } else { piece / 2 };
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails on `!` anywhere; accepts what begins with `a`.
    fn toy(input: &[u8]) -> Seen {
        assert!(!input.contains(&b'!'), "a mark");
        Seen { accepted: input.starts_with(b"a"), kind: input.len() as u64 }
    }

    fn target(words: &'static [&'static str], check: fn(&[u8]) -> Seen) -> Target {
        let start = |random: &mut Random| vec![b'a'; random.below(9)];
        Target { name: "toy", accepts: "", check, start, words, most: 64 }
    }

    #[test]
    fn the_seed_decides_every_input() {
        let target = target(&["x"], |input| Seen { accepted: input.starts_with(b"a"), kind: input.len() as u64 });
        let run = |seed| run(&target, &[], 3000, seed, &mut |_, _| ()).unwrap();
        assert_eq!(run(1), run(1));
        assert_ne!(run(1).digest, run(2).digest);
        assert_eq!(run(1).shallow(), None);
        assert_eq!((run(1).inputs, run(1).accepted + run(1).refused), (3000, 3000));
    }

    #[test]
    fn a_failing_input_is_caught_and_made_short() {
        let found = run(&target(&["x!y"], toy), &[], 100_000, 1, &mut |_, _| ()).unwrap_err();
        assert_eq!(found.input, b"!");
        assert!(found.message.contains("a mark") && found.message.contains("driver.rs"), "{}", found.message);
        assert!(caught(&target(&[], toy), &found.input).is_err());
    }

    #[test]
    fn a_run_that_reaches_one_side_only_is_shallow() {
        for accepted in [true, false] {
            let check = if accepted {
                |_: &[u8]| Seen { accepted: true, kind: 0 }
            } else {
                |_: &[u8]| Seen { accepted: false, kind: 0 }
            };
            assert!(run(&target(&[], check), &[], 10, 1, &mut |_, _| ()).unwrap().shallow().is_some());
        }
    }

    #[test]
    fn kept_inputs_come_first() {
        let mut first = Vec::new();
        let kept = [b"one".to_vec(), b"two".to_vec()];
        let seen = run(&target(&[], |_| Seen { accepted: true, kind: 0 }), &kept, 2, 1, &mut |_, input| {
            first.push(input.to_vec());
        });
        assert_eq!((first.as_slice(), seen.unwrap().inputs), (kept.as_slice(), 2));
    }
}
