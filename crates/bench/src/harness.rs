//! Samples of a floor and a case that take turns, and their summary. Knows nothing about what is measured.

use std::{
    fmt,
    time::{Duration, Instant},
};

use crate::Broken;

/// Rounds that are discarded while caches and allocators settle.
pub(crate) const WARM_UP: u32 = 10;

/// What a sample counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Unit {
    #[default]
    Nanoseconds,
    Bytes,
    /// The throughput of several threads in multiples of one thread's, in thousandths.
    Scaling,
}

/// The required ratio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Bar {
    Below(f64),
    AtMost(f64),
    AtLeast(f64),
}

impl Bar {
    pub(crate) fn holds(self, ratio: f64) -> bool {
        match self {
            Self::Below(bar) => ratio < bar,
            Self::AtMost(bar) => ratio <= bar,
            Self::AtLeast(bar) => ratio >= bar,
        }
    }
}

impl fmt::Display for Bar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Below(bar) => write!(f, "< {bar}"),
            Self::AtMost(bar) => write!(f, "≤ {bar}"),
            Self::AtLeast(bar) => write!(f, "≥ {bar}"),
        }
    }
}

/// The samples of both sides.
#[derive(Debug, Default)]
pub(crate) struct Samples {
    unit: Unit,
    floor: Vec<u64>,
    case: Vec<u64>,
}

/// One line of the report.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) bar: Bar,
    pub(crate) rounds: usize,
    pub(crate) unit: Unit,
    pub(crate) floor: Spread,
    pub(crate) case: Spread,
}

/// The median of some samples, and the range of most of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spread {
    pub(crate) p10: u64,
    pub(crate) median: u64,
    pub(crate) p90: u64,
}

/// What is measured. Both sides use it, and it is prepared for every round.
pub(crate) trait Subject {
    /// Not timed.
    fn prepare(&mut self, round: u32) -> Result<(), Broken>;

    /// Timed; what the case is compared with.
    fn floor(&mut self) -> Result<(), Broken>;

    /// Timed.
    fn case(&mut self) -> Result<(), Broken>;

    /// Not timed: what belongs to the case, but is measured elsewhere.
    fn settle(&mut self) -> Result<(), Broken> {
        Ok(())
    }
}

/// Runs both sides in every round; they take turns in going first.
pub(crate) fn measure(rounds: u32, subject: &mut impl Subject) -> Result<Samples, Broken> {
    let mut samples = Samples::default();
    for round in 0..rounds + WARM_UP {
        subject.prepare(round)?;
        let (floor, case) = if round % 2 == 0 {
            let floor = timed(|| subject.floor())?;
            (floor, timed(|| subject.case())?)
        } else {
            let case = timed(|| subject.case())?;
            (timed(|| subject.floor())?, case)
        };
        subject.settle()?;
        if round >= WARM_UP {
            samples.push(nanoseconds(floor), nanoseconds(case));
        }
    }
    Ok(samples)
}

fn timed(mut work: impl FnMut() -> Result<(), Broken>) -> Result<Duration, Broken> {
    let begin = Instant::now();
    work()?;
    Ok(begin.elapsed())
}

fn nanoseconds(took: Duration) -> u64 {
    u64::try_from(took.as_nanos()).unwrap_or(u64::MAX)
}

impl Samples {
    /// No samples yet.
    pub(crate) fn of(unit: Unit) -> Self {
        Self { unit, ..Self::default() }
    }

    /// One sample of each side.
    pub(crate) fn push(&mut self, floor: u64, case: u64) {
        self.floor.push(floor);
        self.case.push(case);
    }

    pub(crate) fn row(self, name: &'static str, about: &'static str, bar: Bar) -> Row {
        let (rounds, unit) = (self.case.len(), self.unit);
        Row { name, about, bar, rounds, unit, floor: Spread::of(self.floor), case: Spread::of(self.case) }
    }
}

impl Spread {
    pub(crate) fn of(mut samples: Vec<u64>) -> Self {
        samples.sort_unstable();
        let at = |percent: usize| samples.get((samples.len().saturating_sub(1)) * percent / 100).copied().unwrap_or(0);
        Self { p10: at(10), median: at(50), p90: at(90) }
    }
}

impl Row {
    /// The median of the case divided by the median of the floor.
    #[allow(clippy::cast_precision_loss, reason = "nanoseconds of one call are far below 2^52")]
    pub(crate) fn ratio(&self) -> f64 {
        self.case.median as f64 / (self.floor.median.max(1)) as f64
    }

    pub(crate) fn holds(&self) -> bool {
        self.bar.holds(self.ratio())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_and_most() {
        let spread = Spread::of((0..=100).rev().collect());
        assert_eq!(spread, Spread { p10: 10, median: 50, p90: 90 });
        assert_eq!(Spread::of(Vec::new()), Spread { p10: 0, median: 0, p90: 0 });
    }

    #[test]
    fn a_bar_is_held_or_missed() {
        let held = |bar: Bar| [0.9, 1.0, 1.1].map(|ratio| bar.holds(ratio));
        assert_eq!(held(Bar::Below(1.0)), [true, false, false]);
        assert_eq!(held(Bar::AtMost(1.0)), [true, true, false]);
        assert_eq!(held(Bar::AtLeast(1.0)), [false, true, true]);
        assert_eq!(Bar::AtLeast(0.85).to_string(), "≥ 0.85");
    }

    #[test]
    fn both_sides_run_once_a_round() {
        #[derive(Default)]
        struct Counts(u32, u32, u32);
        impl Subject for Counts {
            fn prepare(&mut self, round: u32) -> Result<(), Broken> {
                self.0 = round;
                Ok(())
            }
            fn floor(&mut self) -> Result<(), Broken> {
                self.1 += 1;
                Ok(())
            }
            fn case(&mut self) -> Result<(), Broken> {
                self.2 += 1;
                Ok(())
            }
        }
        let mut counts = Counts::default();
        let samples = measure(5, &mut counts).unwrap();
        assert_eq!((counts.0, counts.1, counts.2), (14, 15, 15));
        assert_eq!((samples.floor.len(), samples.case.len()), (5, 5));
        assert_eq!(samples.row("", "", Bar::AtMost(1.0)).rounds, 5);
    }
}
