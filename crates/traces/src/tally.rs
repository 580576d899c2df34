//! What was counted in one session, under each barrier.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Reads, and the tokens of plain answers to them and of what was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    pub reads: u64,
    pub plain: u64,
    pub sent: u64,
}

impl Cost {
    pub(crate) fn add(&mut self, other: Self) {
        self.reads += other.reads;
        self.plain += other.plain;
        self.sent += other.sent;
    }

    /// How much of the plain answers was saved, in percent.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "a percentage for people")]
    pub fn saved_percent(self) -> f64 {
        if self.plain == 0 { 0.0 } else { 100.0 * (self.plain as f64 - self.sent as f64) / self.plain as f64 }
    }
}

/// What was counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    pub reads: u64,
    /// Own edits and writes that were made as recorded.
    pub edits: u64,
    /// Edits and writes that could not be made here, and were made from outside instead.
    pub outside: u64,
    /// Reads whose file had to be assembled from pieces, because the recording has no whole text of it.
    pub pieced: u64,
    pub compactions: u64,
    /// Reads that were not asked about: a transcript does not have their text, or the file is not in the session's folder.
    #[serde(default)]
    pub skipped: u64,
    /// Tokens of the answers to edits and writes.
    pub edit_answers: u64,
    /// By decision and reason.
    pub decisions: BTreeMap<String, Cost>,
    /// Reads that were answered plain, by what the model could see of their lines, then by decision and reason.
    pub plain: BTreeMap<String, BTreeMap<String, Cost>>,
    pub violations: Vec<String>,
}

impl Tally {
    pub(crate) fn add(&mut self, other: &Self) {
        self.reads += other.reads;
        self.edits += other.edits;
        self.outside += other.outside;
        self.pieced += other.pieced;
        self.compactions += other.compactions;
        self.skipped += other.skipped;
        self.edit_answers += other.edit_answers;
        for (decision, cost) in &other.decisions {
            self.decisions.entry(decision.clone()).or_default().add(*cost);
        }
        for (sight, decisions) in &other.plain {
            let sum = self.plain.entry(sight.clone()).or_default();
            for (decision, cost) in decisions {
                sum.entry(decision.clone()).or_default().add(*cost);
            }
        }
        self.violations.extend(other.violations.iter().cloned());
    }

    /// All reads together.
    #[must_use]
    pub fn cost(&self) -> Cost {
        let mut sum = Cost::default();
        self.decisions.values().for_each(|cost| sum.add(*cost));
        sum
    }

    /// Reads that were answered with less than the text.
    #[must_use]
    pub fn short(&self) -> u64 {
        self.reads - self.plain.values().flat_map(BTreeMap::values).map(|cost| cost.reads).sum::<u64>()
    }
}

/// One session, played several times.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionTally {
    pub session: u64,
    /// After a compaction nothing earlier counts.
    pub strict: Tally,
    /// As if no compaction had been.
    pub open: Tally,
    /// As `strict`, and every edit and write is a change by someone else.
    pub unreported: Tally,
    /// As `strict`, and only ranges that were read exactly so, or whole files, count as held.
    pub seed: Tally,
}
