//! How long proofs and the verification of a long audit log take, on disk.

use readproof_disk::{Lasting, LocalStore, Root};
use readproof_hosts::audit::{AuditLog, AuditWriter, Begun, Opened, Pending, check_proof};
use std::{
    fmt, fs,
    time::{Duration, Instant},
};

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
    pub proof: [Duration; 3],
    /// The same without the time in which other programs had the processor.
    pub undisturbed: [Duration; 3],
    /// Lines verified in a second.
    pub verified: u64,
}

impl fmt::Display for Speed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { lines, written, verified, .. } = self;
        let said = |[median, most, slowest]: [Duration; 3]| {
            format!("{median:?} (99 of 100 at most {most:?}, the slowest {slowest:?})")
        };
        writeln!(f, "{lines} lines: {written} written/s, {verified} verified/s")?;
        writeln!(f, "a proof takes {}", said(self.proof))?;
        write!(f, "without waiting for a processor {}", said(self.undisturbed))
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
    let (mut took, mut undisturbed) = (Vec::new(), Vec::new());
    for _ in 0..PROOFS {
        let (entry, waited, begin) = (1 + random.bits() % (size - 1), waited(), Instant::now());
        let text = log.prove(entry)?.to_text();
        took.push(begin.elapsed());
        undisturbed.push(begin.elapsed().saturating_sub(self::waited().saturating_sub(waited)));
        let proved = check_proof(&text, &key)?;
        if proved.index != entry || proved.text.is_none() {
            return Err(format!("line {entry} is not proved").into());
        }
    }
    let begin = Instant::now();
    let found = log.verify(&key, None, &|_, _| ())?;
    if !found.problems.is_empty() || found.signed != Some(size) {
        return Err(format!("{found:?}").into());
    }
    let verified = rate(size, begin);
    Ok(Speed { lines: size, written, proof: spread(took), undisturbed: spread(undisturbed), verified })
}

fn spread(mut took: Vec<Duration>) -> [Duration; 3] {
    took.sort_unstable();
    [took.len() / 2, took.len() * 99 / 100, took.len() - 1].map(|at| took.get(at).copied().unwrap_or_default())
}

/// How long this thread has waited for a processor, ready to run; nothing where the system does not tell.
fn waited() -> Duration {
    let told = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(told.split(' ').nth(1).and_then(|waited| waited.parse().ok()).unwrap_or(0))
}

fn rate(lines: u64, begin: Instant) -> u64 {
    u64::try_from(u128::from(lines) * 1_000_000 / begin.elapsed().as_micros().max(1)).unwrap_or(u64::MAX)
}
