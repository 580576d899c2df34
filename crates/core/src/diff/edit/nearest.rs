//! The lines of a text that come closest to an old text that is not in it. The work is bounded by the sizes of both.

use alloc::{collections::BTreeMap, string::ToString, vec::Vec};

use super::{Nearest, Piece, Shape};
use crate::{scope::Lines, text::Text};

/// The most lines that are shown.
const SHOWN: u32 = 40;

/// Lines shown around the place.
const AROUND: u32 = 3;

/// The most lines, and words of a line, that are looked for.
const PROBES: usize = 24;
const WORDS: usize = 8;

/// A line or word that occurs more often says nothing.
const HITS: usize = 64;

pub(super) fn nearest(base: &Text, piece: &Piece) -> Option<Nearest> {
    let old: Vec<&str> = piece.old.lines().collect();
    let start = votes(base, &old, piece).or_else(|| words(base, &old))?;
    let total = base.total();
    let (row, at) = first_difference(base, &old, start, piece.shape);
    let wanted = old.get(row).copied().unwrap_or_default();
    let found = base.line(at);
    let height = u32::try_from(old.len()).unwrap_or(SHOWN).saturating_add(2 * AROUND).min(SHOWN);
    // The line that differs is always among them.
    let first = start.max(1).saturating_sub(AROUND).max(1).max(at.saturating_sub(SHOWN - AROUND - 1)).min(total);
    let lines = Lines::new(first, (first + height - 1).min(total))?;
    Some(Nearest {
        lines,
        differs_at: at,
        wanted: wanted.to_string(),
        found: found.strip_suffix('\n').unwrap_or(found).to_string(),
    })
}

/// Every line of the old text that the file has votes for where the old text would begin; rare lines weigh more.
fn votes(base: &Text, old: &[&str], piece: &Piece) -> Option<u32> {
    let mut probes: Vec<(usize, &str)> =
        old.iter().map(|line| line.trim()).enumerate().filter(|(_, line)| !line.is_empty()).collect();
    probes.sort_by_key(|(row, line)| (usize::MAX - line.len(), *row));
    probes.truncate(PROBES);
    let mut tally: BTreeMap<i64, u64> = BTreeMap::new();
    for (row, probe) in probes {
        let lines = hits(base, probe, |line| line.trim() == probe);
        let weight = 1_000_000 / (lines.len() as u64).max(1);
        for line in lines {
            *tally.entry(begins(line, row)).or_default() += weight;
        }
    }
    let stated = piece.line.map(i64::from);
    let far = |start: i64| stated.map_or(start, |line| (line - start).abs());
    let best = tally.into_iter().max_by_key(|(start, weight)| (*weight, core::cmp::Reverse(far(*start))));
    best.map(|(start, _)| clamp(start, base))
}

/// Where no line is found, the words of the longest line are.
fn words(base: &Text, old: &[&str]) -> Option<u32> {
    let (row, longest) = old.iter().enumerate().rev().max_by_key(|(_, line)| line.trim().len())?;
    let mut words: Vec<&str> =
        longest.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| word.len() >= 2).collect();
    words.sort_by_key(|word| (usize::MAX - word.len(), *word));
    words.dedup();
    words.truncate(WORDS);
    let mut tally: BTreeMap<u32, u64> = BTreeMap::new();
    for word in words {
        let lines = hits(base, word, |_| true);
        let weight = 1_000_000 / (lines.len() as u64).max(1);
        for line in lines {
            *tally.entry(line).or_default() += weight;
        }
    }
    let best = tally.into_iter().max_by_key(|(line, weight)| (*weight, core::cmp::Reverse(*line)));
    best.map(|(line, _)| clamp(begins(line, row), base))
}

fn begins(line: u32, row: usize) -> i64 {
    i64::from(line) - i64::try_from(row).unwrap_or(i64::MAX)
}

fn clamp(start: i64, base: &Text) -> u32 {
    u32::try_from(start.max(1)).unwrap_or(u32::MAX).min(base.total().max(1))
}

/// The lines that contain a text and fit; none if there are too many.
fn hits(base: &Text, text: &str, fits: impl Fn(&str) -> bool) -> Vec<u32> {
    let mut lines = Vec::new();
    for at in memchr::memmem::find_iter(base.as_str().as_bytes(), text).take(16 * HITS) {
        let line = base.line_at(at);
        if lines.last() != Some(&line) && fits(base.line(line)) {
            lines.push(line);
        }
        if lines.len() > HITS {
            return Vec::new();
        }
    }
    lines
}

/// The first line of the old text that is not in the file at its place, and the line of the file.
fn first_difference(base: &Text, old: &[&str], start: u32, shape: Shape) -> (usize, u32) {
    let last = old.len().saturating_sub(1);
    for (row, wanted) in old.iter().enumerate() {
        let at = start.saturating_add(u32::try_from(row).unwrap_or(u32::MAX));
        let line = base.line(at);
        let bare = line.strip_suffix('\n').unwrap_or(line);
        let bare = bare.strip_suffix('\r').unwrap_or(bare);
        // The first and the last line of a text may be parts of lines.
        let part = shape == Shape::Text;
        let same = match (part && row == 0, part && row == last) {
            (true, true) => bare.contains(wanted),
            (true, false) => bare.ends_with(wanted),
            (false, true) => bare.starts_with(wanted),
            (false, false) => bare == *wanted,
        };
        if !same || at > base.total() {
            return (row, at.min(base.total().saturating_add(1)));
        }
    }
    (last, start.saturating_add(u32::try_from(last).unwrap_or(0)).min(base.total()))
}
