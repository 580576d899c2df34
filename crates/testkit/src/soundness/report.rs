//! The table of short answers, by decision and by the kinds of operation shortly before. An empty cell is a failure: plain
//! text everywhere proves nothing.

use readproof_core::decide::Mode;
use std::{collections::BTreeMap, fmt::Debug};

use crate::op::Kind;

/// A kind of operation.
pub trait Event: Copy + Ord + Debug + 'static {
    /// The kinds after which short answers must still occur.
    const ALL: &'static [Self];

    /// The decisions that rely on what the model holds, and are shown to it.
    const SHORT: &'static [Mode] = &[Mode::Unchanged, Mode::UnchangedRange, Mode::Diff, Mode::Partial];
}

/// How many operations count as shortly before an answer, the one that asked for it included.
const RECENT: usize = 8;

/// The counts of a run.
#[derive(Clone, Debug)]
pub struct Report<K = Kind> {
    cells: BTreeMap<(Mode, K), u64>,
    modes: BTreeMap<Mode, u64>,
    reasons: BTreeMap<&'static str, u64>,
    /// The latest kinds of operation, at most [`RECENT`].
    recent: Vec<K>,
    /// Operations done.
    pub steps: u64,
    /// Operations that could not be done at that point, and were skipped.
    pub idle: u64,
    /// Requests that were refused, and had to be.
    pub refused: u64,
}

impl<K> Default for Report<K> {
    fn default() -> Self {
        let (cells, modes, reasons) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { cells, modes, reasons, recent: Vec::new(), steps: 0, idle: 0, refused: 0 }
    }
}

impl<K: Event> Report<K> {
    /// An operation of this kind begins.
    pub fn begin(&mut self, kind: K) {
        self.steps += 1;
        self.recent.push(kind);
        let from = self.recent.len().saturating_sub(RECENT);
        self.recent.drain(..from);
    }

    /// The kind of the operation under way.
    #[must_use]
    pub fn under_way(&self) -> Option<K> {
        self.recent.last().copied()
    }

    /// Counts an answer, together with the kinds of operation shortly before it.
    pub fn answer(&mut self, mode: Mode, reason: &'static str) {
        *self.modes.entry(mode).or_default() += 1;
        *self.reasons.entry(reason).or_default() += 1;
        if mode.is_derived() {
            for kind in &self.recent {
                *self.cells.entry((mode, *kind)).or_default() += 1;
            }
        }
    }

    /// Adds another run's counts.
    pub fn add(&mut self, other: &Self) {
        for (key, count) in &other.cells {
            *self.cells.entry(*key).or_default() += count;
        }
        for (key, count) in &other.modes {
            *self.modes.entry(*key).or_default() += count;
        }
        for (key, count) in &other.reasons {
            *self.reasons.entry(key).or_default() += count;
        }
        self.steps += other.steps;
        self.idle += other.idle;
        self.refused += other.refused;
    }

    /// Pairs of a decision and a kind of operation that never met.
    #[must_use]
    pub fn empty_cells(&self) -> Vec<(Mode, K)> {
        let all = K::SHORT.iter().flat_map(|mode| K::ALL.iter().map(|kind| (*mode, *kind)));
        all.filter(|cell| !self.cells.contains_key(cell)).collect()
    }

    #[must_use]
    pub fn table(&self) -> String {
        let mut out = format!("{:<16}", "event");
        for mode in K::SHORT {
            out.push_str(&format!("{:>17}", mode.as_str()));
        }
        out.push('\n');
        for kind in K::ALL {
            out.push_str(&format!("{:<16}", format!("{kind:?}")));
            for mode in K::SHORT {
                out.push_str(&format!("{:>17}", self.cells.get(&(*mode, *kind)).copied().unwrap_or(0)));
            }
            out.push('\n');
        }
        let list = |counts: Vec<(&str, u64)>| {
            counts.iter().map(|(word, count)| format!("{word} {count}")).collect::<Vec<_>>().join(", ")
        };
        let modes = self.modes.iter().map(|(mode, count)| (mode.as_str(), *count)).collect();
        let reasons = self.reasons.iter().map(|(reason, count)| (*reason, *count)).collect();
        out.push_str(&format!("answers: {}\nreasons: {}\n", list(modes), list(reasons)));
        out.push_str(&format!("steps {}, idle {}, refused as required {}", self.steps, self.idle, self.refused));
        out
    }
}
