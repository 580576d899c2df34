//! An edit by the agent, as its call and its answer show it: which lines the answer says were replaced, and which of the
//! new ones follow from the call and from lines that are held.
//!
//! It must never search for the position of an edit: only the answer says where it is. What is held may be of another
//! version of the file; a line that does not fit the call must then not become part of a new one.

use crate::answer::decimal;
use crate::diff;
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

/// Applies an edit to the view. `None`: the answer does not say where, so nothing of the file is held any more.
pub(crate) fn edited(view: &View, call: &Call<'_>, answer: &str) -> Result<Option<View>, Complaint> {
    demand!(call.replaces == Replaces::Several || !call.old.is_empty(), "an edit of nothing is said to have been made");
    // A change that is more or other than the call says is shown whole, as a diff behind the first line.
    let (stated, shown) = match answer.split_once('\n') {
        Some((stated, rest)) => (stated, Some(diff::new_lines(rest)?)),
        None => (answer, None),
    };
    let Some(said) = said(stated) else {
        demand!(answer.contains(" places, too many to state, "), "the answer does not say what was edited: {answer:?}");
        return Ok(None);
    };
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
        let lines = match (&shown, call.replaces) {
            (Some(shown), _) => shown_lines(shown, u64::try_from(now).unwrap_or(0), run.count),
            (None, Replaces::One) => new_lines(view, call, run, ends)?,
            (None, Replaces::All) => all_lines(view, call, run, ends),
            (None, Replaces::Several) => unknown(run.count),
        };
        placed.push(Placed { first: run.first, last: run.last, lines });
    }
    let many = call.replaces != Replaces::One || shown.is_some();
    demand!(many || placed.len() == 1, "one place was edited, {} are stated", placed.len());
    let before = i128::from(total) - added;
    demand!(before >= i128::from(next) - 1, "lines beyond the file are said to be replaced: {answer:?}");
    Ok(Some(view.replaced(&placed, u64::try_from(before).unwrap_or(0), total)))
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

/// The lines from `first` on that a diff shows.
fn shown_lines(shown: &BTreeMap<u64, String>, first: u64, count: u64) -> Vec<Option<String>> {
    let numbers = (first..).zip(unknown(count));
    numbers.map(|(number, _)| shown.get(&number).cloned()).collect()
}

/// The new lines where every occurrence was replaced: known only together, because an old line may have had several.
fn all_lines(view: &View, call: &Call<'_>, run: &Run, ends: bool) -> Vec<Option<String>> {
    let Ok(held) = view.join(run.first, run.last) else { return unknown(run.count) };
    let text = held.replace(call.old, call.new);
    let lines: Vec<Option<String>> = text.split_inclusive('\n').map(|line| Some(line.to_owned())).collect();
    let fits = held.contains(call.old) && lines.len() as u64 == run.count;
    if fits && (text.is_empty() || text.ends_with('\n') || ends) { lines } else { unknown(run.count) }
}
