//! What is meant: a file as its lines, and the lines that are to stand in it afterwards.

use std::ops::Range;

use crate::op::Random;

/// A file as its lines without their ends.
#[derive(Clone, Debug)]
pub(super) struct File {
    pub(super) lines: Vec<String>,
    pub(super) end: &'static str,
    pub(super) final_newline: bool,
    pub(super) mark: bool,
}

impl File {
    pub(super) fn text(&self, lines: &[String]) -> String {
        let mut text = String::from(if self.mark { "\u{feff}" } else { "" });
        text.push_str(&lines.join(self.end));
        if self.final_newline && !lines.is_empty() {
            text.push_str(self.end);
        }
        text
    }

    pub(super) fn base(&self) -> String {
        self.text(&self.lines)
    }

    pub(super) fn intended(&self, changes: &[Change]) -> String {
        let (mut lines, mut at) = (Vec::new(), 0);
        for change in changes {
            lines.extend_from_slice(&self.lines[at..change.rows.start]);
            lines.extend_from_slice(&change.new);
            at = change.rows.end;
        }
        lines.extend_from_slice(&self.lines[at..]);
        self.text(&lines)
    }
}

/// Rows of the file, counted from 0, and the lines that take their place.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub(super) rows: Range<usize>,
    pub(super) new: Vec<String>,
}

/// What kind of changes are wanted.
pub(super) struct Wanted {
    pub(super) most: usize,
    pub(super) gap: Range<usize>,
    pub(super) near: Near,
    /// Whether a line may be put beside its equal. Where the model's copy of a line is not that of the file, nothing then tells
    /// which of the two is the file's own.
    pub(super) copies: bool,
}

/// Where in the file.
#[derive(Clone, Copy)]
pub(super) enum Near {
    Anywhere,
    Start,
    End,
}

/// Some changes with some lines between them, in order.
pub(super) fn changes(file: &File, wanted: &Wanted, random: &mut Random) -> Option<Vec<Change>> {
    let count = 1 + random.below(wanted.most);
    let gap = &wanted.gap;
    let mut changes: Vec<Change> = Vec::new();
    let near = file.lines.len().min(6);
    let mut from = match wanted.near {
        Near::Anywhere => random.below(file.lines.len()),
        Near::Start => random.below(near),
        Near::End => file.lines.len() - near + random.below(near),
    };
    for _ in 0..count {
        if from >= file.lines.len() {
            break;
        }
        let change = change(file, from, wanted.copies, random);
        from = change.rows.end + gap.start + random.below(gap.len());
        // Without a newline at the end, what becomes of the line before it is nobody's intent.
        let last = change.rows.end == file.lines.len() && change.new.is_empty();
        if !last {
            changes.push(change);
        }
    }
    (!changes.is_empty() && file.intended(&changes) != file.base()).then_some(changes)
}

fn change(file: &File, row: usize, copies: bool, random: &mut Random) -> Change {
    let end = |rows: usize| (row + rows).min(file.lines.len());
    let line = file.lines.get(row).map_or("", String::as_str);
    let indent = &line[..line.len() - line.trim_start().len()];
    let fresh = |random: &mut Random| {
        format!("{indent}{}_{};", ["let made", "call", "// note"][random.below(3)], random.below(1000))
    };
    match random.below(10) {
        0..=4 => {
            let rows = row..end(1 + random.below(3));
            let new = file.lines[rows.clone()].iter().map(|line| reworded(line, random)).collect();
            Change { rows, new }
        }
        5 | 6 => Change { rows: row..row, new: (0..=random.below(3)).map(|_| fresh(random)).collect() },
        7 => Change { rows: row..end(1 + random.below(3)), new: Vec::new() },
        8 if copies => Change { rows: row..row, new: vec![line.to_owned()] },
        _ => {
            Change { rows: row..end(1 + random.below(3)), new: (0..=random.below(4)).map(|_| fresh(random)).collect() }
        }
    }
}

/// The line with another word in it; with a word more if it has none.
fn reworded(line: &str, random: &mut Random) -> String {
    let words: Vec<(usize, &str)> = line
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| word.len() >= 2)
        .map(|word| (word.as_ptr() as usize - line.as_ptr() as usize, word))
        .collect();
    match random.pick(&words) {
        Some((at, word)) => format!("{}{word}_{}{}", &line[..*at], random.below(100), &line[at + word.len()..]),
        None => format!("{line}x{}", random.below(100)),
    }
}
