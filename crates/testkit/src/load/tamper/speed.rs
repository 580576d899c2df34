//! How long proofs and the verification of a long audit log take, on disk.

use readproof_disk::{Lasting, LocalStore, Root};
use readproof_hosts::audit::{AuditLog, AuditWriter, Begun, Opened, Pending, check_proof};
use std::{fmt, time::Duration, time::Instant};

use super::facts;
use crate::{op::Random, world::Broken};

/// How many proofs are made.
const PROOFS: usize = 300;

/// What was measured.
#[derive(Clone, Copy, Debug)]
pub struct Speed {
    pub lines: u64,
    /// Lines written in a second, durable tiles included.
    pub written: u64,
    /// The median, the one that 99 of 100 are below, and the longest of a few hundred.
    pub proof: Duration,
    pub proof_99: Duration,
    pub slowest: Duration,
    /// Lines verified in a second.
    pub verified: u64,
}

impl fmt::Display for Speed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { lines, written, proof, proof_99, slowest, verified } = self;
        write!(
            f,
            "{lines} lines: {written} written/s, a proof takes {proof:?} (99 of 100 at most {proof_99:?}, the slowest {slowest:?}), {verified} verified/s"
        )
    }
}

/// Writes a log of this many lines, proves and verifies.
///
/// # Errors
/// When something does not hold.
pub fn speed(lines: u64, seed: u64) -> Result<Speed, Broken> {
    let dir = tempfile::tempdir()?;
    let store = LocalStore::open(&Root::open(dir.path())?)?;
    let mut writer = AuditWriter::open(&store, Begun::new(&store)?, Opened { keeps_texts: true, now: 1 })?;
    let (mut random, begin, mut seq) = (Random::new(seed), Instant::now(), 0);
    while seq < lines {
        let calls: Vec<Pending> =
            (seq + 1..=(seq + 4096).min(lines)).map(|seq| Pending { seq, facts: facts(&mut random) }).collect();
        seq += calls.len() as u64;
        writer.append(&calls, Lasting::No)?;
    }
    writer.sign()?;
    let written = rate(lines, begin);
    let log = AuditLog::open(&store)?.ok_or("no log")?;
    let (key, size) = (log.key()?, log.size()?);
    let mut took = Vec::new();
    for _ in 0..PROOFS {
        let (entry, begin) = (1 + random.bits() % (size - 1), Instant::now());
        let text = log.prove(entry)?.to_text();
        took.push(begin.elapsed());
        let proved = check_proof(&text, &key)?;
        if proved.index != entry || proved.text.is_none() {
            return Err(format!("line {entry} is not proved").into());
        }
    }
    took.sort_unstable();
    let begin = Instant::now();
    let found = log.verify(&key, None, &|_, _| ())?;
    if !found.problems.is_empty() || found.signed != Some(size) {
        return Err(format!("{found:?}").into());
    }
    let slowest = took.last().copied().unwrap_or_default();
    let (proof, proof_99) = (took[took.len() / 2], took[took.len() * 99 / 100]);
    Ok(Speed { lines: size, written, proof, proof_99, slowest, verified: rate(size, begin) })
}

fn rate(lines: u64, begin: Instant) -> u64 {
    u64::try_from(u128::from(lines) * 1_000_000 / begin.elapsed().as_micros().max(1)).unwrap_or(u64::MAX)
}
