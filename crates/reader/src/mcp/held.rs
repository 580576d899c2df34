//! What the answers that a handle names add up to. They are of one text, or of one text and the diffs that follow it.

use std::{collections::BTreeMap, sync::Arc};

use crate::{Complaint, demand, diff};

/// One visible answer.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    /// The message of the agent that asked for it.
    pub(super) turn: u64,
    pub(super) path: String,
    /// Its own handle: of a marker, that of the last answer it relies on.
    pub(super) part: Option<String>,
    /// The lines it stands for.
    pub(super) first: u64,
    pub(super) lines: Vec<Arc<str>>,
    pub(super) shows: Shows,
}

/// What an answer shows by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Shows {
    /// Nothing: a marker.
    Nothing,
    /// Lines of a file with this many lines.
    Text { total: u64 },
    /// Those of its lines in these runs, of a file with this many lines.
    Part { total: u64, sent: Vec<(u64, u64)> },
    /// What changed.
    Diff(String),
}

impl Shows {
    /// Whether it shows this line, if it stands for it.
    fn line(&self, number: u64) -> bool {
        match self {
            Self::Nothing | Self::Diff(_) => false,
            Self::Text { .. } => true,
            Self::Part { sent, .. } => sent.iter().any(|(first, last)| (*first..=*last).contains(&number)),
        }
    }
}

/// Lines by number, each with the message that showed it last, and the number of lines if it is known.
#[derive(Clone, Debug, Default)]
pub(super) struct Held {
    lines: BTreeMap<u64, (Arc<str>, u64)>,
    total: Option<u64>,
    turn: u64,
}

impl Held {
    /// Takes in one more answer.
    pub(super) fn add(&mut self, seen: &Seen) -> Result<(), Complaint> {
        self.turn = self.turn.max(seen.turn);
        match &seen.shows {
            Shows::Nothing => Ok(()),
            Shows::Text { total } | Shows::Part { total, .. } => {
                let same = self.total.is_none_or(|held| held == *total);
                demand!(same, "the handle joins a text of {:?} lines and one of {total}", self.total);
                self.total = Some(*total);
                for (number, line) in (seen.first..).zip(&seen.lines).filter(|(number, _)| seen.shows.line(*number)) {
                    let other = self.lines.insert(number, (line.clone(), seen.turn)).filter(|(old, _)| old != line);
                    demand!(other.is_none(), "the handle joins two texts that differ in line {number}");
                }
                Ok(())
            }
            Shows::Diff(diff) => self.apply(&seen.path, diff, seen.turn).map(drop),
        }
    }

    /// The message that showed the newest of it.
    pub(super) fn turn(&self) -> u64 {
        self.turn
    }

    /// Applies a diff to all of it; returns how many lines that changes.
    pub(super) fn apply(&mut self, path: &str, diff: &str, turn: u64) -> Result<u64, Complaint> {
        let Some(total) = self.total else {
            return Err(Complaint("a diff came, and where its base ends was not told".to_owned()));
        };
        let applied = diff::apply(&self.lines(1, total)?.concat(), path, diff)?;
        let lines = applied.text.split_inclusive('\n').map(|line| (Arc::from(line), turn));
        self.lines = (1..).zip(lines).collect();
        self.total = Some(applied.lines);
        Ok(applied.added.max(applied.removed))
    }

    pub(super) fn total(&self) -> Option<u64> {
        self.total
    }

    /// A line and the message that showed it.
    pub(super) fn line(&self, number: u64) -> Option<(&Arc<str>, u64)> {
        self.lines.get(&number).map(|(line, turn)| (line, *turn))
    }

    /// All of these lines.
    pub(super) fn lines(&self, first: u64, last: u64) -> Result<Vec<Arc<str>>, Complaint> {
        // Walks what is held, not the numbers: a forged marker may claim any number of lines.
        let mut lines = Vec::new();
        let mut next = first;
        for (number, (line, _)) in self.lines.range(first..) {
            if next > last || *number != next {
                break;
            }
            lines.push(line.clone());
            next += 1;
        }
        demand!(next > last, "line {next} of {first}-{last} is not in the answers that the handle names");
        Ok(lines)
    }
}
