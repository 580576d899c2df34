//! An edit by the agent, as its call and its answer show it: which lines the answer says were replaced, and which of the
//! new ones follow from the call and from lines that are held.
//!
//! It must never search for the position of an edit: only the answer says where it is. What is held may be of another
//! version of the file; a line that does not fit the call must then not become part of a new one.

use crate::answer::decimal;
use crate::diff::{self, Row};
use crate::view::View;
use crate::{Complaint, demand};
use std::collections::BTreeMap;

/// How often the old text is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replaces {
    /// It occurs exactly once in the file.
    One,
    /// Everywhere in the file, from left to right.
    All,
    /// The call has several changes, or a patch: which of its lines went where is not to be guessed.
    Several,
}

/// The call.
pub(crate) struct Call<'a> {
    pub(crate) old: &'a str,
    pub(crate) new: &'a str,
    pub(crate) replaces: Replaces,
}

/// A run of old lines, and the new ones as far as they are known.
pub(crate) struct Placed {
    pub(crate) first: u64,
    pub(crate) last: u64,
    pub(crate) lines: Vec<Option<String>>,
}

/// What an answer shows behind its first line: what was assumed, and the diff of all that changed.
struct Told {
    rows: Vec<Row>,
}

/// Applies an edit to the view. `None`: the answer does not say where, so nothing of the file is held any more.
pub(crate) fn edited(
    view: &View,
    call: &Call<'_>,
    path: Option<&str>,
    answer: &str,
) -> Result<Option<View>, Complaint> {
    demand!(call.replaces == Replaces::Several || !call.old.is_empty(), "an edit of nothing is said to have been made");
    let (stated, rest) = answer.split_once('\n').map_or((answer, None), |(stated, rest)| (stated, Some(rest)));
    let Some(said) = said(stated) else {
        let unsaid = [" places, too many to state, ", ": no lines to state it by, "];
        demand!(
            unsaid.iter().any(|words| stated.contains(words)),
            "the answer does not say what was edited: {answer:?}"
        );
        let bare = rest.is_none_or(|rest| rest.split('\n').all(is_note));
        demand!(bare, "lines are shown of an edit that is not stated: {answer:?}");
        return Ok(None);
    };
    let told = rest.map(|rest| told(path, rest)).transpose()?;
    let (runs, total) = said?;
    let mut placed = Vec::new();
    let grown = |so_far: i128, run: &Run| so_far + i128::from(run.count) - i128::from(run.last - run.first + 1);
    let mut added = 0;
    let mut next = 1;
    for run in &runs {
        demand!(run.first >= next && run.first <= run.last, "the lines replaced do not stand in order: {answer:?}");
        let now = i128::from(run.first) + added;
        demand!(run.now.is_none_or(|stands| i128::from(stands) == now), "new lines stand elsewhere: {answer:?}");
        next = run.last + 1;
        added = grown(added, run);
        let ends = i128::from(run.last) == i128::from(total) - runs.iter().fold(0, grown);
        let lines = match (&told, call.replaces) {
            (Some(told), _) => told.lines(u64::try_from(now).unwrap_or(0), run.count)?,
            (None, Replaces::One) => new_lines(view, call, run, ends)?,
            (None, Replaces::All) => all_lines(view, call, run, ends),
            (None, Replaces::Several) => unknown(run.count),
        };
        placed.push(Placed { first: run.first, last: run.last, lines });
    }
    let many = call.replaces != Replaces::One || told.is_some();
    demand!(many || placed.len() == 1, "one place was edited, {} are stated", placed.len());
    let before = i128::from(total) - added;
    demand!(before >= i128::from(next) - 1, "lines beyond the file are said to be replaced: {answer:?}");
    let mut view = view.replaced(&placed, u64::try_from(before).unwrap_or(0), total);
    if let Some(told) = &told {
        told.check(&runs)?;
        // Lines beside the change are shown too, and perhaps otherwise than before.
        for row in &told.rows {
            row.new.into_iter().for_each(|number| view.set_line(number, &row.line));
        }
    }
    Ok(Some(view))
}

/// A line between the first one and the diff.
fn is_note(line: &str) -> bool {
    let kinds = ["change ", "merged with what someone else changed since you read it", "as it was at v"];
    kinds.iter().any(|kind| line.starts_with(kind))
}

/// The notes, each of a known kind, then a diff.
fn told(path: Option<&str>, rest: &str) -> Result<Told, Complaint> {
    let mut diff = rest;
    while let Some((note, behind)) = diff.split_once('\n').filter(|(line, _)| !line.starts_with("--- ")) {
        demand!(is_note(note), "neither a note nor a diff: {note:?}");
        diff = behind;
    }
    Ok(Told { rows: diff::rows(path, diff)? })
}

impl Told {
    /// The new lines from `first` on, all of which are shown.
    fn lines(&self, first: u64, count: u64) -> Result<Vec<Option<String>>, Complaint> {
        let new: BTreeMap<u64, &String> =
            self.rows.iter().filter_map(|row| row.new.map(|new| (new, &row.line))).collect();
        let mut lines = Vec::new();
        for number in first..first + count {
            let Some(line) = new.get(&number) else {
                return Err(Complaint(format!("new line {number} is stated, and not shown")));
            };
            lines.push(Some((*line).clone()));
        }
        Ok(lines)
    }

    /// All that the diff changes is stated, and what it does not change stands where the statement leaves it.
    fn check(&self, runs: &[Run]) -> Result<(), Complaint> {
        for row in &self.rows {
            let number = row.old.or(row.new).unwrap_or(0);
            let (mut shift, mut inside) = (0, false);
            for run in runs {
                let now = i128::from(run.first) + shift;
                let of_old = row.old.is_some_and(|old| (run.first..=run.last).contains(&old));
                let of_new = row.new.is_some_and(|new| (now..now + i128::from(run.count)).contains(&new.into()));
                inside |= match (row.old, row.new) {
                    (Some(_), Some(_)) => of_old && of_new,
                    (_, None) => of_old,
                    (None, _) => of_new,
                };
                if row.old.is_none_or(|old| run.last < old) {
                    shift += i128::from(run.count) - i128::from(run.last - run.first + 1);
                }
            }
            let stays = row.old.zip(row.new).is_some_and(|(old, new)| i128::from(old) + shift == i128::from(new));
            demand!(inside || stays, "the diff changes line {number}, which is not stated");
        }
        Ok(())
    }
}

/// Lines that were replaced, how many there are now, and where they stand.
struct Run {
    first: u64,
    last: u64,
    count: u64,
    now: Option<u64>,
}

/// What follows the name: `lines 3-4 are now 3-5, 9-9 are gone; 12 lines`.
fn said(answer: &str) -> Option<Result<(Vec<Run>, u64), Complaint>> {
    // A name may contain anything; the statement contains no colon.
    let (_, stated) = answer.rsplit_once(": lines ")?;
    let (runs, total) = stated.rsplit_once("; ")?;
    let total = decimal(total.strip_suffix(" lines")?)?;
    let runs: Option<Vec<Run>> = runs.split(", ").map(run).collect();
    let wrong = || Complaint(format!("the answer does not say what was edited: {answer:?}"));
    Some(runs.ok_or_else(wrong).map(|runs| (runs, total)))
}

fn run(text: &str) -> Option<Run> {
    let pair = |text: &str| text.split_once('-').and_then(|(a, b)| Some((decimal(a)?, decimal(b)?)));
    if let Some(old) = text.strip_suffix(" are gone") {
        return pair(old).filter(|(first, _)| *first > 0).map(|(first, last)| Run { first, last, count: 0, now: None });
    }
    let (old, new) = text.split_once(" are now ")?;
    let ((first, last), (now, until)) = (pair(old)?, pair(new)?);
    let count = until.checked_sub(now)?.checked_add(1)?;
    (first > 0 && last < u64::MAX / 4 && count < u64::MAX / 4).then_some(Run { first, last, count, now: Some(now) })
}

/// The new lines of one place. The first begins with what stood before the old text, the last ends with what follows it;
/// those parts are known only if the old line is held and fits.
fn new_lines(view: &View, call: &Call<'_>, run: &Run, ends: bool) -> Result<Vec<Option<String>>, Complaint> {
    let olds: Vec<&str> = call.old.split_inclusive('\n').collect();
    let (Some(first_old), Some(last_old)) = (olds.first(), olds.last()) else { return Ok(Vec::new()) };
    let spans = run.first + olds.len() as u64 - 1;
    let swallows = run.last == spans + 1 && call.old.ends_with('\n');
    demand!(run.last == spans || swallows, "lines {}-{} are not where the old text can stand", run.first, run.last);

    let within = |line: &str| {
        let mut places = line.match_indices(call.old);
        let place = places.next().filter(|_| places.next().is_none()).map(|(at, _)| at);
        place.map(|at| (line[..at].to_owned(), line[at + call.old.len()..].to_owned()))
    };
    let inside = olds.len() == 1 && !call.old.ends_with('\n');
    let line = |number: u64| view.join(number, number).ok();
    let head = line(run.first).and_then(|line| {
        if inside { within(&line).map(|(head, _)| head) } else { line.strip_suffix(first_old).map(str::to_owned) }
    });
    let tail = if swallows {
        line(run.last)
    } else if call.old.ends_with('\n') {
        Some(String::new())
    } else {
        line(run.last).and_then(|line| {
            if inside { within(&line).map(|(_, tail)| tail) } else { line.strip_prefix(last_old).map(str::to_owned) }
        })
    };

    let pieces: Vec<&str> = call.new.split('\n').collect();
    let breaks = pieces.len() as u64 - 1;
    demand!(
        run.count == breaks || run.count == breaks + 1,
        "{} new lines are stated, the new text has {breaks} line ends",
        run.count
    );
    let goes = run.count == breaks && call.new.rsplit('\n').next().is_some_and(|last| !last.is_empty());
    demand!(!goes, "lines {}-{} are said to be gone, and a line of it is in the call", run.first, run.last);
    let mut lines: Vec<Option<String>> = Vec::new();
    for (at, piece) in (0..).zip(&pieces) {
        let before = if at == 0 { head.as_deref() } else { Some("") };
        let behind = if at == breaks { tail.as_deref() } else { Some("\n") };
        lines.push(before.zip(behind).map(|(before, behind)| [before, piece, behind].concat()));
    }
    // The last piece may be no line at all, and says so by being empty.
    let last = lines.pop().flatten();
    if run.count == breaks {
        return Ok(lines);
    }
    let fits = |line: &String| !line.is_empty() && (line.ends_with('\n') || ends);
    lines.push(last.filter(fits));
    Ok(lines)
}

fn unknown(count: u64) -> Vec<Option<String>> {
    vec![None; usize::try_from(count).unwrap_or(0).min(1 << 20)]
}

/// The new lines where every occurrence was replaced: known only together, because an old line may have had several.
fn all_lines(view: &View, call: &Call<'_>, run: &Run, ends: bool) -> Vec<Option<String>> {
    let Ok(held) = view.join(run.first, run.last) else { return unknown(run.count) };
    let text = held.replace(call.old, call.new);
    let lines: Vec<Option<String>> = text.split_inclusive('\n').map(|line| Some(line.to_owned())).collect();
    let fits = held.contains(call.old) && lines.len() as u64 == run.count;
    if fits && (text.is_empty() || text.ends_with('\n') || ends) { lines } else { unknown(run.count) }
}
