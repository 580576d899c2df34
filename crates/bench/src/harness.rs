//! Samples of a floor and a case that take turns, and what they come to. Knows nothing about what is measured.

use std::time::{Duration, Instant};

use crate::Broken;

/// Rounds that are thrown away: caches and allocators settle.
pub(crate) const WARM_UP: u32 = 10;

/// What samples count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Unit {
    #[default]
    Nanoseconds,
    Bytes,
}

/// What both sides took.
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
    pub(crate) bar: f64,
    pub(crate) rounds: usize,
    pub(crate) unit: Unit,
    pub(crate) floor: Spread,
    pub(crate) case: Spread,
}

/// The middle of some samples and where most of them lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spread {
    pub(crate) p10: u64,
    pub(crate) median: u64,
    pub(crate) p90: u64,
}

/// What is measured: a subject that is prepared anew for every round and that both sides use.
pub(crate) trait Subject {
    /// Not timed.
    fn prepare(&mut self, round: u32) -> Result<(), Broken>;

    /// Timed; what the case is held against.
    fn floor(&mut self) -> Result<(), Broken>;

    /// Timed.
    fn case(&mut self) -> Result<(), Broken>;

    /// What belongs to the case and is measured elsewhere; not timed.
    fn settle(&mut self) -> Result<(), Broken> {
        Ok(())
    }
}

/// Runs both sides in every round, each going first every other time.
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
    /// None yet.
    pub(crate) fn of(unit: Unit) -> Self {
        Self { unit, ..Self::default() }
    }

    /// One of each side.
    pub(crate) fn push(&mut self, floor: u64, case: u64) {
        self.floor.push(floor);
        self.case.push(case);
    }

    pub(crate) fn row(self, name: &'static str, about: &'static str, bar: f64) -> Row {
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
    /// The median of the case in medians of the floor.
    #[allow(clippy::cast_precision_loss, reason = "nanoseconds of one call are far below 2^52")]
    pub(crate) fn ratio(&self) -> f64 {
        self.case.median as f64 / (self.floor.median.max(1)) as f64
    }

    pub(crate) fn holds(&self) -> bool {
        self.ratio() <= self.bar
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
        assert_eq!(samples.row("", "", 1.0).rounds, 5);
    }
}
