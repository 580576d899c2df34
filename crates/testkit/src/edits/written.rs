//! An intent as a model writes it: in one of the dialects, with one of the usual mistakes.

mod mistakes;

pub(super) use mistakes::Mistake;

use readproof_core::edit::{Numbers, Piece, Places};
use std::ops::Range;

use super::{
    intent::{Change, File, changes},
    sources::Sources,
};
use crate::op::Random;

/// The dialects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Form {
    Replace,
    Edits,
    Unified,
    Begin,
    Blocks,
}

impl Form {
    pub(super) const ALL: [Self; 5] = [Self::Replace, Self::Edits, Self::Unified, Self::Begin, Self::Blocks];
}

/// One edit to judge.
pub(super) struct Case {
    pub(super) base: String,
    /// What must come out; `None` if nothing may.
    pub(super) intended: Option<String>,
    pub(super) request: Request,
    pub(super) numbers: Numbers,
    /// Where each piece is meant to stand, as the first byte of the base.
    pub(super) starts: Vec<usize>,
    /// Whether git is asked too.
    pub(super) git: bool,
}

pub(super) enum Request {
    Pieces(Vec<Piece>),
    Patch(String),
}

/// One hunk: lines of context, and between them those that change.
#[derive(Clone)]
pub(super) struct Hunk {
    /// The first row of the base.
    row: usize,
    before: Vec<String>,
    old: Vec<String>,
    new: Vec<String>,
    behind: Vec<String>,
    /// A line above it.
    anchor: Option<String>,
}

impl Hunk {
    fn old_side(&self) -> Vec<&str> {
        self.before.iter().chain(&self.old).chain(&self.behind).map(String::as_str).collect()
    }

    fn new_side(&self) -> Vec<&str> {
        self.before.iter().chain(&self.new).chain(&self.behind).map(String::as_str).collect()
    }

    fn each(&mut self, change: &mut dyn FnMut(&mut String)) {
        let all = [&mut self.before, &mut self.old, &mut self.new, &mut self.behind];
        all.into_iter().flatten().for_each(change);
    }
}

/// Writes an edit of one of the files; `None` if that file does not allow this one.
pub(super) fn write(sources: &Sources, form: Form, mistake: Mistake, random: &mut Random) -> Option<Case> {
    let lines = sources.pick(random).to_vec();
    let mut file = File { lines, end: "\n", final_newline: true, mark: false };
    mistake.prepare(&mut file, random)?;
    if form == Form::Replace && mistake == Mistake::None && random.below(4) == 0 {
        return within_a_line(&file, random);
    }
    let most = if form == Form::Replace { 1 } else { 3 };
    let mut changes = changes(&file, &mistake.wanted(most), random)?;
    if mistake == Mistake::Trailing {
        // A changed line stands as it is written.
        changes.iter_mut().flat_map(|change| &mut change.new).for_each(|line| line.truncate(line.trim_end().len()));
    }
    let context = if form == Form::Unified { 3 } else { random.below(4) };
    let mut hunks = hunks(&file, &changes, context, form, mistake, random);
    let exact = hunks.clone();
    let lost = mistake.make(&mut hunks, &file, random)?;
    let untold = |(hunk, exact): (&Hunk, &Hunk)| hunk.old_side() == exact.old_side() && hunk.new != exact.new;
    if mistake.is_in_new_lines() && hunks.iter().zip(&exact).any(untold) {
        // Nothing tells how the new lines differ from those of the file.
        return None;
    }
    let intended = file.intended(&changes);
    let base = file.base();
    let request = match form {
        Form::Replace | Form::Edits => Request::Pieces(pieces(&hunks, mistake, random)),
        Form::Unified => Request::Patch(unified(&hunks, &file, mistake, random)?),
        Form::Begin => Request::Patch(begin(&hunks, mistake)),
        Form::Blocks => Request::Patch(blocks(&hunks)),
    };
    let request = mistake.garble(request);
    let numbers = if random.below(2) == 0 { Numbers::BreakTies } else { Numbers::Ignore };
    let start = |hunk: &Hunk| file.text(&file.lines[..hunk.row]).len();
    let starts = hunks.iter().map(start).collect();
    let git = form == Form::Unified && mistake.is_given_to_git();
    Some(Case { base, intended: (!lost).then_some(intended), request, numbers, starts, git })
}

/// A word within a line, once or everywhere.
fn within_a_line(file: &File, random: &mut Random) -> Option<Case> {
    let line = random.pick(&file.lines)?;
    let words: Vec<&str> =
        line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| word.len() > 3).collect();
    let word = *random.pick(&words)?;
    let (base, new) = (file.base(), format!("{word}_{}", random.below(50)));
    let places = if base.matches(word).count() == 1 { Places::One } else { Places::All };
    let intended = Some(base.replace(word, &new));
    let request = Request::Pieces(vec![Piece::replace(word, new, places)]);
    Some(Case { base, intended, request, numbers: Numbers::Ignore, starts: Vec::new(), git: false })
}

fn hunks(
    file: &File,
    changes: &[Change],
    context: usize,
    form: Form,
    mistake: Mistake,
    random: &mut Random,
) -> Vec<Hunk> {
    let copy = |rows: Range<usize>| file.lines[rows].to_vec();
    let mut hunks: Vec<Hunk> = Vec::new();
    for (at, change) in changes.iter().enumerate() {
        let from = changes[..at].last().map_or(0, |before| before.rows.end);
        let until = changes.get(at + 1).map_or(file.lines.len(), |next| next.rows.start);
        // Two hunks share no line, except where a forgotten edit is wanted. A diff has context on both sides where it can.
        let middle = if form == Form::Unified { from } else { from + (change.rows.start - from) / 2 };
        let first = change.rows.start.saturating_sub(context).max(middle);
        let last = if form == Form::Unified {
            (change.rows.end + context).min(change.rows.end + (until - change.rows.end) / 2)
        } else {
            (change.rows.end + context).min(until)
        };
        let last = last.min(change.rows.end + (until - change.rows.end).div_ceil(2));
        let first =
            if form == Form::Unified && at > 0 { first.max(from + (change.rows.start - from) / 2) } else { first };
        let mut before = copy(first..change.rows.start);
        let mut row = first;
        if mistake == Mistake::OwnEdit && at > 0 && first == from {
            let earlier = &changes[at - 1];
            before = earlier.new.iter().cloned().chain(before).collect();
            row = earlier.rows.start;
        }
        let anchor = (form == Form::Begin && random.below(2) == 0).then(|| anchor(file, first)).flatten();
        let (old, behind) = (copy(change.rows.clone()), copy(change.rows.end..last));
        hunks.push(Hunk { row, before, old, new: change.new.clone(), behind, anchor });
    }
    hunks
}

/// The nearest line above that is indented less: what the place is in.
fn anchor(file: &File, row: usize) -> Option<String> {
    let depth = |line: &str| line.len() - line.trim_start().len();
    let own = depth(file.lines.get(row)?);
    let above = file.lines[..row].iter().rev().find(|line| !line.trim().is_empty() && depth(line) < own)?;
    (above.trim().len() > 3).then(|| above.trim().to_owned())
}

fn joined(lines: &[&str]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn pieces(hunks: &[Hunk], mistake: Mistake, random: &mut Random) -> Vec<Piece> {
    let piece = |hunk: &Hunk, random: &mut Random| {
        let (old, new) = (joined(&hunk.old_side()), joined(&hunk.new_side()));
        // Often the newline at the end of both is left out.
        let cut =
            random.below(2) == 0 && !new.is_empty() && !matches!(mistake, Mistake::FinalNewline | Mistake::Trailing);
        let text = |text: String| if cut { text.strip_suffix('\n').unwrap_or(&text).to_owned() } else { text };
        Piece::replace(text(old), text(new), Places::One)
    };
    hunks.iter().map(|hunk| piece(hunk, random)).collect()
}

fn unified(hunks: &[Hunk], file: &File, mistake: Mistake, random: &mut Random) -> Option<String> {
    let mut text = String::from("--- a/f\n+++ b/f\n");
    let mut added = 0_i64;
    for hunk in hunks {
        let (old, new) = (hunk.old_side(), hunk.new_side());
        let first = |count: usize, row: i64| if count == 0 { row } else { row + 1 };
        let row = i64::try_from(hunk.row).ok()?;
        let (mut a, mut b) = (first(old.len(), row), first(new.len(), row + added));
        let (mut counts, mut head) = ((old.len(), new.len()), String::new());
        if mistake == Mistake::Numbers {
            let by = i64::try_from(random.below(80)).ok()? - 40;
            (a, b) = ((a + by).max(1), (b + by + i64::try_from(random.below(2)).ok()?).max(1));
            // A number that names an equal place elsewhere is another request.
            let there = usize::try_from(a - 1).ok()?;
            let window = file.lines.get(there..(there + old.len()).min(file.lines.len()));
            let equal = window.is_some_and(|lines| lines.iter().map(String::as_str).eq(old.iter().copied()));
            if old.is_empty() || (equal && by != 0) {
                return None;
            }
        } else if mistake == Mistake::Counts {
            counts = (counts.0 + random.below(3), counts.1 + random.below(4));
        } else if mistake == Mistake::Bare {
            head = ["@@\n", "@@ ... @@\n", "@@ @@\n"][random.below(3)].to_owned();
        }
        if head.is_empty() {
            head = format!("@@ -{a},{} +{b},{} @@\n", counts.0, counts.1);
        }
        text.push_str(&head);
        added += i64::try_from(hunk.new.len()).ok()? - i64::try_from(hunk.old.len()).ok()?;
        for (sign, lines) in [(" ", &hunk.before), ("-", &hunk.old), ("+", &hunk.new), (" ", &hunk.behind)] {
            for line in lines {
                let lost = mistake == Mistake::LostSpaces && sign == " " && line.is_empty();
                text.push_str(&if lost { "\n".to_owned() } else { format!("{sign}{line}\n") });
            }
        }
    }
    Some(text)
}

fn begin(hunks: &[Hunk], mistake: Mistake) -> String {
    let mut text = String::from("*** Begin Patch\n*** Update File: f\n");
    for hunk in hunks {
        text.push_str(&hunk.anchor.as_ref().map_or("@@\n".to_owned(), |anchor| format!("@@ {anchor}\n")));
        for (sign, lines) in [(" ", &hunk.before), ("-", &hunk.old), ("+", &hunk.new), (" ", &hunk.behind)] {
            for line in lines {
                let lost = mistake == Mistake::LostSpaces && sign == " " && line.is_empty();
                text.push_str(&if lost { "\n".to_owned() } else { format!("{sign}{line}\n") });
            }
        }
    }
    text + "*** End Patch\n"
}

fn blocks(hunks: &[Hunk]) -> String {
    let block = |hunk: &Hunk| {
        format!("<<<<<<< SEARCH\n{}=======\n{}>>>>>>> REPLACE\n", joined(&hunk.old_side()), joined(&hunk.new_side()))
    };
    hunks.iter().map(block).collect()
}
