//! The judge for answers over MCP. It is given what one agent can see: its calls, and the two blocks of each answer, the
//! text and the trailer after it. An earlier answer counts only if the call names its handle and the agent still sees that
//! answer; a handle alone, from a summary or from another agent, proves nothing.
//!
//! It does not know the files; a harness compares what was rebuilt with the truth.

mod held;
mod trailer;

use std::sync::Arc;

use crate::{
    Complaint, Glimpse, Kind,
    answer::{self, Form, Partial},
    demand,
};
use held::{Held, Seen, Shows};
use trailer::Trailer;

/// A call of the agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The file, by its name in the workspace; perhaps with `./` before it.
    pub path: String,
    /// Which lines.
    pub asks: Asks,
    /// The handle passed back with it.
    pub known: Option<String>,
}

/// Which lines a call asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asks {
    /// Those from `offset` on, `limit` of them.
    Lines {
        /// The first line; line 1 when left out.
        offset: Option<u64>,
        /// How many; all when left out.
        limit: Option<u64>,
    },
    /// This many of the last lines.
    Last(u64),
    /// A range of lines, with context on either side.
    Span {
        /// The first.
        first: u64,
        /// The last.
        last: u64,
        /// Lines of context before and after.
        context: u64,
    },
    /// Those around some words.
    Around(String),
    /// Those of the function of this name, in a file where one ends at the first line that is a brace alone.
    Symbol(String),
}

/// An answer as the agent sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// File text, or one of the markers.
    pub text: String,
    /// The trailer after it.
    pub trailer: String,
}

/// What an answer stands for, rebuilt from visible text alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rebuilt {
    /// Which kind of answer it was.
    pub kind: Kind,
    /// The number of the first line.
    pub first: u64,
    /// Exact bytes of the lines from there on; a line shown in part is left out.
    pub text: String,
    /// Lines in the file.
    pub total: u64,
    /// The line to continue with, if there is more of what was asked for.
    pub next: Option<u64>,
    /// The beginning of a line that is too long.
    pub part: Option<String>,
    /// How many lines are said to be blank and are not shown.
    pub blank: u64,
    /// To be passed back as long as this answer is visible.
    pub handle: Option<String>,
}

/// A request for fresh text.
#[derive(Clone, Debug)]
struct Refreshed {
    turn: u64,
    paths: Vec<String>,
    lines: Option<(u64, u64)>,
}

/// Lines shown by something other than a read.
#[derive(Clone, Debug)]
struct Glimpsed {
    turn: u64,
    path: String,
    lines: Vec<Glimpse>,
}

/// What one agent sees. Clone it where a conversation is forked.
#[derive(Clone, Debug, Default)]
pub struct Agent {
    turn: u64,
    seen: Vec<Arc<Seen>>,
    refreshed: Vec<Refreshed>,
    glimpsed: Vec<Glimpsed>,
    handles: Vec<(String, String)>,
}

impl Agent {
    /// Takes in one message of the agent: its calls, each with its answer. No answer was visible when the calls were made.
    pub fn see(&mut self, message: &[(Call, Blocks)]) {
        let turn = self.turn + 1;
        let judged: Vec<_> = message.iter().filter_map(|(call, blocks)| self.judged(call, blocks, turn).ok()).collect();
        self.turn = turn;
        for (rebuilt, seen) in judged {
            self.handles.extend(rebuilt.handle.map(|handle| (seen.path.clone(), handle)));
            self.seen.push(Arc::new(seen));
        }
    }

    /// Fresh text of a file was asked for, under all its names: nothing shown before may be vouched for.
    pub fn refresh(&mut self, paths: Vec<String>, lines: Option<(u64, u64)>) {
        self.turn += 1;
        self.refreshed.push(Refreshed { turn: self.turn, paths, lines });
    }

    /// Lines of a file are shown by something other than a read: a search, a diff, a program that received them.
    pub fn glimpse(&mut self, path: &str, lines: Vec<Glimpse>) {
        self.turn += 1;
        self.glimpsed.push(Glimpsed { turn: self.turn, path: path.to_owned(), lines });
    }

    /// The agent itself changed the file: nothing shown before may be vouched for.
    pub fn wrote(&mut self, path: &str) {
        self.refresh(vec![path.to_owned()], None);
    }

    /// No answer is visible any more; what a summary says about them does not count.
    pub fn compact(&mut self) {
        *self = Self { turn: self.turn, ..Self::default() };
    }

    /// Every handle that a visible trailer gives, with its file, oldest first.
    pub fn handles(&self) -> impl Iterator<Item = (&str, &str)> {
        self.handles.iter().map(|(path, handle)| (path.as_str(), handle.as_str()))
    }

    /// What an answer to a call made now stands for. Changes nothing.
    ///
    /// # Errors
    /// A complaint when it cannot be rebuilt from what is visible, or its trailer is not true.
    pub fn answer(&self, call: &Call, blocks: &Blocks) -> Result<Rebuilt, Complaint> {
        self.judged(call, blocks, self.turn + 1).map(|(rebuilt, _)| rebuilt)
    }

    fn judged(&self, call: &Call, blocks: &Blocks, turn: u64) -> Result<(Rebuilt, Seen), Complaint> {
        let path = call.path.strip_prefix("./").unwrap_or(&call.path);
        let trailer = trailer::read(&blocks.trailer, path)?;
        let form = answer::form(&blocks.text, trailer.origin)?;
        let answer = Answer { agent: self, call, path, trailer: &trailer };
        let (kind, lines, shows) = match form {
            Form::Plain => answer.plain(&blocks.text)?,
            Form::Unchanged { total } => answer.unchanged(total)?,
            Form::UnchangedRange { first, last, total } => answer.range(first, last, Some(total))?,
            Form::UnchangedElsewhere { first, last } => answer.range(first, last, None)?,
            Form::Diff { changed, total, diff } => answer.diff(changed, total, diff)?,
            Form::Partial(said) => answer.partial(&said)?,
        };
        let part = trailer.part.as_ref().map(|_| blocks.text.clone());
        let first = trailer.lines.map_or_else(|| trailer.part.map_or(1, |part| part.line), |(first, _)| first);
        answer.asked(kind, &lines)?;
        let seen = Seen { turn, path: path.to_owned(), part: trailer.handle.last().cloned(), first, lines, shows };
        answer.handle(&seen)?;
        let handle = (!trailer.handle.is_empty()).then(|| trailer.handle.join("+"));
        let (text, total, next) = (seen.lines.concat(), trailer.total, trailer.next);
        let blank = trailer.lines.filter(|_| trailer.blank).map_or(0, |(first, last)| last + 1 - first);
        Ok((Rebuilt { kind, first, text, total, next, part, blank, handle }, seen))
    }

    /// The visible answer of which this is the handle.
    fn visible(&self, part: &str, path: &str) -> Result<&Arc<Seen>, Complaint> {
        let own = |seen: &&Arc<Seen>| seen.part.as_deref() == Some(part) && seen.shows != Shows::Nothing;
        let Some(seen) = self.seen.iter().find(own) else {
            return Err(Complaint(format!("the answer of {part} is not visible")));
        };
        demand!(seen.path == path, "{part} is of {}", seen.path);
        Ok(seen)
    }

    /// What the handle that a call names stands for.
    fn held(&self, call: &Call, path: &str) -> Result<Held, Complaint> {
        let Some(known) = &call.known else {
            return Err(Complaint("the call names no handle".to_owned()));
        };
        let mut held = Held::default();
        for part in parts(known) {
            held.add(self.visible(part, path)?)?;
        }
        Ok(held)
    }

    /// Nothing later shows these lines differently, and fresh text was asked for none of them since.
    fn newest(&self, path: &str, held: &Held, first: u64, last: u64) -> Result<(), Complaint> {
        for later in self.seen.iter().filter(|seen| seen.path == path && seen.shows != Shows::Nothing) {
            for (number, line) in (later.first..).zip(&later.lines).take_while(|(number, _)| *number <= last) {
                let other = held.line(number).filter(|(shown, turn)| *turn < later.turn && *shown != line);
                demand!(number < first || other.is_none(), "line {number} was shown otherwise since");
            }
        }
        for later in self.glimpsed.iter().filter(|glimpsed| glimpsed.path == path) {
            for shown in &later.lines {
                let number = shown.number;
                let other = held.line(number).filter(|(line, turn)| *turn < later.turn && !shown.is_of(line));
                let inside = (first..=last).contains(&number);
                demand!(!inside || other.is_none(), "line {number} was shown otherwise since");
                let beyond = held.total().is_some_and(|total| number > total) && held.turn() < later.turn;
                demand!(!beyond, "line {number} was shown since, which is beyond the end");
            }
        }
        for refresh in self.refreshed.iter().filter(|refresh| refresh.paths.iter().any(|name| name == path)) {
            let (from, to) = refresh.lines.unwrap_or((1, u64::MAX));
            let old = (first.max(from)..=last.min(to)).find(|n| held.line(*n).is_some_and(|(_, t)| t < refresh.turn));
            demand!(old.is_none(), "line {old:?} was asked for afresh since");
        }
        Ok(())
    }
}

/// The handle of each answer that a handle names.
fn parts(known: &str) -> impl Iterator<Item = &str> {
    known.split('+').map(str::trim)
}

/// The kind of an answer, the lines that it stands for, and what it shows of them.
type Stands = (Kind, Vec<Arc<str>>, Shows);

/// An answer about to be judged.
struct Answer<'a> {
    agent: &'a Agent,
    call: &'a Call,
    path: &'a str,
    trailer: &'a Trailer,
}

impl Answer<'_> {
    fn plain(&self, text: &str) -> Result<Stands, Complaint> {
        let mut lines: Vec<Arc<str>> = text.split_inclusive('\n').map(Arc::from).collect();
        let Trailer { lines: said, total, part, .. } = self.trailer;
        if let Some(part) = part {
            let open = lines.pop().filter(|line| lines.is_empty() && !line.ends_with('\n'));
            let shown = open.map(|line| line.len() as u64);
            demand!(shown == Some(part.shown), "{shown:?} bytes of line {} are shown", part.line);
        }
        if self.trailer.blank {
            demand!(text.is_empty() && self.trailer.handle.is_empty(), "blank lines are shown, or have a handle");
            return Ok((Kind::Plain, Vec::new(), Shows::Text { total: *total }));
        }
        let count = said.map_or(0, |(first, last)| last + 1 - first);
        demand!(count == lines.len() as u64, "{} lines are shown as {said:?}", lines.len());
        let open = lines.last().is_some_and(|line| !line.ends_with('\n'));
        let ends = said.is_some_and(|(_, last)| last == *total);
        demand!(!open || ends, "line {said:?} of {total} has no end");
        Ok((Kind::Plain, lines, Shows::Text { total: *total }))
    }

    fn unchanged(&self, total: u64) -> Result<Stands, Complaint> {
        let held = self.agent.held(self.call, self.path)?;
        demand!(held.total() == Some(total), "{total} lines are claimed, the handle has {:?}", held.total());
        let lines = self.vouched(&held, 1, total, total)?;
        Ok((Kind::Unchanged, lines, Shows::Nothing))
    }

    fn range(&self, first: u64, last: u64, total: Option<u64>) -> Result<Stands, Complaint> {
        let held = self.agent.held(self.call, self.path)?;
        demand!(first <= last, "the marker ends before it begins");
        let lines = self.vouched(&held, first, last, total.unwrap_or(self.trailer.total))?;
        let open = lines.last().is_some_and(|line| !line.ends_with('\n'));
        demand!(!open || last == self.trailer.total, "line {last} ends the file, and the file goes on");
        let kind = if total.is_some() { Kind::UnchangedRange } else { Kind::UnchangedElsewhere };
        Ok((kind, lines, Shows::Nothing))
    }

    fn diff(&self, changed: u64, total: u64, diff: &str) -> Result<Stands, Complaint> {
        let mut held = self.agent.held(self.call, self.path)?;
        let Some(base) = held.total() else {
            return Err(Complaint("a diff came, and where its base ends was not told".to_owned()));
        };
        held.lines(1, base)?;
        self.agent.newest(self.path, &held, 1, base)?;
        let counted = held.apply(self.path, diff, self.agent.turn + 1)?;
        demand!(changed == counted, "{changed} lines are said to be changed, the diff changes {counted}");
        demand!(held.total() == Some(total), "{total} lines are claimed, the diff leads to {:?}", held.total());
        let lines = self.said(&held, 1, total, total)?;
        Ok((Kind::Diff, lines, Shows::Diff(diff.to_owned())))
    }

    /// What does not follow must be in the answers that the handle names, of the same text.
    fn partial(&self, said: &Partial<'_>) -> Result<Stands, Complaint> {
        let held = self.agent.held(self.call, self.path)?;
        let Partial { first, last, total, .. } = *said;
        demand!(said.moved.is_empty(), "what moved is of another text than the handle's");
        demand!(held.total() == Some(total), "{total} lines are claimed, the handle has {:?}", held.total());
        let trailer = (self.trailer.lines, self.trailer.total);
        demand!(
            trailer == (Some((first, last)), total),
            "{first}-{last} of {total} are meant, the trailer says {trailer:?}"
        );
        demand!(self.trailer.part.is_none(), "a partial answer shows no line in part");
        demand!(last <= total, "the answer goes beyond the file");
        let mut lines: Vec<Arc<str>> = Vec::new();
        for number in first..=last {
            if said.sends(number) {
                let run = said.sent.iter().find(|((from, to), _)| (*from..=*to).contains(&number));
                lines.extend(
                    run.and_then(|((from, _), run)| run.get(usize::try_from(number - from).ok()?))
                        .map(|line| Arc::from(*line)),
                );
                continue;
            }
            lines.extend(held.lines(number, number)?);
            self.agent.newest(self.path, &held, number, number)?;
        }
        let open = lines.iter().position(|line| !line.ends_with('\n')).map(|at| first + at as u64);
        demand!(open.is_none_or(|line| line == total), "line {open:?} of {total} has no end");
        let sent = said.sent.iter().map(|(run, _)| *run).collect();
        Ok((Kind::Partial, lines, Shows::Part { total, sent }))
    }

    /// Lines that a marker speaks of.
    fn vouched(&self, held: &Held, first: u64, last: u64, total: u64) -> Result<Vec<Arc<str>>, Complaint> {
        let lines = self.said(held, first, last, total)?;
        self.agent.newest(self.path, held, first, last)?;
        Ok(lines)
    }

    /// Lines of which the trailer says the same.
    fn said(&self, held: &Held, first: u64, last: u64, total: u64) -> Result<Vec<Arc<str>>, Complaint> {
        let said = (self.trailer.lines, self.trailer.total);
        let due = (total > 0).then_some((first, last));
        demand!(said == (due, total), "lines {first}-{last} of {total} are meant, the trailer says {said:?}");
        demand!(self.trailer.part.is_none(), "a marker shows no line in part");
        held.lines(first, last)
    }

    /// The lines must be those asked for: all of them, or the first ones and how to continue.
    fn asked(&self, kind: Kind, lines: &[Arc<str>]) -> Result<(), Complaint> {
        let Trailer { total, beyond, next, .. } = *self.trailer;
        let part = self.trailer.part.map(|part| (part.line, part.line));
        let shown = self.trailer.lines.or(part);
        let (first, to) = match &self.call.asks {
            Asks::Lines { offset, limit } => {
                let first = offset.unwrap_or(1);
                (first, limit.map(|limit| (first - 1).saturating_add(limit)))
            }
            // As many as fit one answer.
            Asks::Last(count) => {
                let due = (total + 1).saturating_sub(*count).max(1);
                (shown.map_or(1, |(from, _)| from.max(due)), None)
            }
            Asks::Span { first, last, context } => return self.spanned(*first, *last, *context),
            // A diff is of the whole file.
            Asks::Symbol(_) if kind == Kind::Diff => return Ok(()),
            Asks::Symbol(name) => return self.defined(name, lines),
            Asks::Around(query) => {
                // If no line has all of it, the lines with most of its words are due.
                let query = query.trim().to_lowercase();
                let has = |line: &Arc<str>, words: &str| line.to_lowercase().contains(words);
                let found = lines.iter().any(|line| query.split_whitespace().any(|word| has(line, word)));
                demand!(found || next.is_some() || part.is_some(), "{query:?} does not stand in the lines shown");
                return Ok(());
            }
        };
        let past = to.filter(|to| *to > total);
        demand!(beyond == past, "{beyond:?} is said to be beyond the end, {past:?} is");
        let Some((from, last)) = shown else {
            demand!(total == 0 && first == 1, "line {first} was asked for");
            return Ok(());
        };
        let due = to.map_or(total, |to| to.min(total));
        demand!(from == first, "line {first} was asked for, {from} came");
        let stops = if next.is_some() { last < due } else { last == due };
        demand!(stops, "the answer stops at line {last}, asked for are the lines up to {due}, go on: {next:?}");
        Ok(())
    }

    /// One function with its comments and attributes, or its first lines and how to continue.
    fn defined(&self, name: &str, lines: &[Arc<str>]) -> Result<(), Complaint> {
        let opens = format!("fn {name}(");
        let head = lines.iter().take_while(|line| !line.starts_with("fn ")).count();
        let above = lines[..head].iter().all(|line| line.starts_with("///") || line.starts_with("#["));
        demand!(above, "{lines:?} begin with what is not of {name}");
        let body = lines.get(head..).unwrap_or_default();
        let ends = body.iter().position(|line| line.trim_end() == "}");
        match (body.first(), self.trailer.next) {
            (Some(first), _) if !first.starts_with(&opens) => Err(Complaint(format!("{first:?} is not {name}"))),
            (Some(_), None) if ends == Some(body.len() - 1) => Ok(()),
            (_, Some(_)) if ends.is_none() => Ok(()),
            (_, _) => Err(Complaint(format!("{lines:?} are not all of {name} and no more"))),
        }
    }

    /// All lines that are named, or the first of them and how to continue; no more context than was asked for.
    fn spanned(&self, first: u64, last: u64, context: u64) -> Result<(), Complaint> {
        let Trailer { total, beyond, next, .. } = *self.trailer;
        let past = Some(last).filter(|last| *last > total);
        demand!(beyond == past, "{beyond:?} is said to be beyond the end, {past:?} is");
        let part = self.trailer.part.map(|part| (part.line, part.line));
        let Some((from, to)) = self.trailer.lines.or(part) else {
            demand!(total == 0 && first == 1, "line {first} was asked for");
            return Ok(());
        };
        // A diff is of the whole file.
        if (from, to) == (1, total) {
            return Ok(());
        }
        let due = last.min(total);
        demand!(from <= first && first <= to, "line {first} was asked for, {from}-{to} came");
        let stops = if next.is_some() { to < due } else { to >= due };
        demand!(stops, "the answer stops at line {to}, asked for are the lines up to {due}, go on: {next:?}");
        let within = first - from <= context && to.saturating_sub(due) <= context;
        demand!(within, "{from}-{to} came with {context} lines around {first}-{due}");
        Ok(())
    }

    /// The handle names the answers that the call names, then this one if it shows something; all are of one text.
    fn handle(&self, seen: &Seen) -> Result<(), Complaint> {
        let known: Vec<&str> = self.call.known.iter().flat_map(|known| parts(known)).collect();
        let given: Vec<&str> = self.trailer.handle.iter().map(String::as_str).collect();
        let (behind, own) = match (given.split_last(), &seen.shows) {
            (None, _) => return Ok(()),
            (Some(_), Shows::Nothing) => (&given[..], None),
            (Some((own, behind)), Shows::Text { .. } | Shows::Part { .. } | Shows::Diff(_)) => (behind, Some(*own)),
        };
        let stands = behind == known || (behind.is_empty() && matches!(seen.shows, Shows::Text { .. }));
        demand!(stands, "the call names {known:?}, and the handle {given:?}");
        let again = own.filter(|own| self.agent.seen.iter().any(|seen| seen.part.as_deref() == Some(*own)));
        demand!(again.is_none(), "{again:?} is the handle of another answer");
        let mut held = Held::default();
        for part in behind {
            held.add(self.agent.visible(part, self.path)?)?;
        }
        if own.is_some() {
            held.add(seen)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "h2-aaaaaaaaaaaaaaaa";
    const B: &str = "h4-bbbbbbbbbbbbbbbb";
    const TEN: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";
    const DIFF: &str = "[readcache: 1 lines changed of 10]\n--- a/f\n+++ b/f\n@@ -10 +10 @@\n-10\n+ten\n";

    fn whole(known: Option<&str>) -> Call {
        page(None, None, known)
    }

    fn page(offset: Option<u64>, limit: Option<u64>, known: Option<&str>) -> Call {
        Call { path: "f".to_owned(), asks: Asks::Lines { offset, limit }, known: known.map(str::to_owned) }
    }

    fn blocks(text: &str, trailer: &str) -> Blocks {
        Blocks { text: text.to_owned(), trailer: format!("[f: {trailer}]") }
    }

    fn saw(messages: &[(Call, Blocks)]) -> Agent {
        let mut agent = Agent::default();
        for message in messages {
            agent.answer(&message.0, &message.1).unwrap();
            agent.see(std::slice::from_ref(message));
        }
        agent
    }

    fn all(handle: &str) -> (Call, Blocks) {
        (whole(None), blocks(TEN, &format!("lines 1-10 of 10; known={handle}")))
    }

    fn unchanged(handle: &str) -> Blocks {
        blocks("[readcache: unchanged, 10 lines]", &format!("lines 1-10 of 10; known={handle}"))
    }

    fn check(agent: &Agent, call: &Call, blocks: &Blocks, expected: Result<(Kind, &str), &str>) {
        match (agent.answer(call, blocks), expected) {
            (Ok(rebuilt), Ok(expected)) => assert_eq!((rebuilt.kind, rebuilt.text.as_str()), expected),
            (Err(complaint), Err(why)) => assert!(complaint.0.contains(why), "{complaint} is not about {why}"),
            (got, expected) => panic!("{got:?}, but {expected:?}"),
        }
    }

    #[test]
    fn a_handle_counts_while_its_answer_is_visible() {
        let mut agent = saw(&[all(A)]);
        check(&agent, &whole(Some(A)), &unchanged(A), Ok((Kind::Unchanged, TEN)));
        check(&agent, &whole(Some(&format!(" {A} "))), &unchanged(A), Ok((Kind::Unchanged, TEN)));
        check(&agent, &whole(None), &unchanged(A), Err("names no handle"));
        check(&agent, &whole(Some(B)), &unchanged(B), Err("is not visible"));
        check(&agent, &Call { path: "g".to_owned(), ..whole(Some(A)) }, &unchanged(A), Err("no trailer of g"));
        let of_g = Blocks { trailer: unchanged(A).trailer.replace("[f", "[g"), ..unchanged(A) };
        check(&agent, &Call { path: "g".to_owned(), ..whole(Some(A)) }, &of_g, Err("is of f"));
        check(&Agent::default(), &whole(Some(A)), &unchanged(A), Err("is not visible"));
        agent.compact();
        check(&agent, &whole(Some(A)), &unchanged(A), Err("is not visible"));
    }

    #[test]
    fn a_diff_needs_its_base() {
        let both = format!("{A}+{B}");
        let diff = blocks(DIFF, &format!("lines 1-10 of 10; known={both}"));
        let ten = TEN.replace("10", "ten");
        check(&saw(&[all(A)]), &whole(Some(A)), &diff, Ok((Kind::Diff, &ten)));
        let agent = saw(&[all(A), (whole(Some(A)), diff.clone())]);
        check(&agent, &whole(Some(&both)), &unchanged(&both), Ok((Kind::Unchanged, &ten)));
        check(&agent, &whole(Some(B)), &unchanged(B), Err("where its base ends"));
        check(&agent, &whole(Some(A)), &unchanged(A), Err("line 10 was shown otherwise since"));
        check(&agent, &whole(Some(&both)), &unchanged(A), Err("the call names"));
        let part = (page(None, Some(5), None), blocks("1\n2\n3\n4\n5\n", &format!("lines 1-5 of 10; known={A}")));
        check(&saw(&[part]), &whole(Some(A)), &diff, Err("line 6 of 1-10"));
    }

    #[test]
    fn pages_add_up_if_they_are_of_one_text() {
        let both = format!("{A}+{B}");
        let first = (page(None, Some(5), None), blocks("1\n2\n3\n4\n5\n", &format!("lines 1-5 of 10; known={A}")));
        let rest = |text: &str, trailer: &str| (page(Some(5), None, Some(A)), blocks(text, trailer));
        let same = rest("5\n6\n7\n8\n9\n10\n", &format!("lines 5-10 of 10; known={both}"));
        let agent = saw(&[first.clone(), same]);
        check(&agent, &whole(Some(&both)), &unchanged(&both), Ok((Kind::Unchanged, TEN)));
        check(&agent, &whole(Some(A)), &unchanged(A), Err("line 6 of 1-10"));
        let agent = saw(&[first]);
        let (call, other) = rest("five\n6\n", &format!("lines 5-6 of 6; known={both}"));
        check(&agent, &call, &other, Err("a text of Some(10) lines and one of 6"));
        let (call, other) = rest("five\n6\n7\n8\n9\n10\n", &format!("lines 5-10 of 10; known={both}"));
        check(&agent, &call, &other, Err("two texts that differ in line 5"));
    }

    #[test]
    fn what_was_asked_for_afresh_is_not_vouched_for() {
        let mut agent = saw(&[all(A)]);
        agent.refresh(vec!["g".to_owned()], None);
        check(&agent, &whole(Some(A)), &unchanged(A), Ok((Kind::Unchanged, TEN)));
        agent.refresh(vec!["f".to_owned()], Some((9, 9)));
        check(&agent, &whole(Some(A)), &unchanged(A), Err("line Some(9) was asked for afresh"));
        let two = blocks("[readcache: unchanged in lines 1-2 of 10]", &format!("lines 1-2 of 10; known={A}"));
        check(&agent, &page(None, Some(2), Some(A)), &two, Ok((Kind::UnchangedRange, "1\n2\n")));
    }

    #[test]
    fn lines_are_those_asked_for() {
        let nobody = Agent::default();
        let two = |trailer: &str| blocks("1\n2\n", trailer);
        check(
            &nobody,
            &whole(None),
            &two("lines 1-2 of 9; go on with offset=3 of=0123abcd"),
            Ok((Kind::Plain, "1\n2\n")),
        );
        check(&nobody, &whole(None), &two("lines 1-2 of 9"), Err("stops at line 2"));
        check(&nobody, &whole(None), &two("lines 2-3 of 3"), Err("line 1 was asked for"));
        check(&nobody, &whole(None), &two("line 1 of 1"), Err("2 lines are shown"));
        check(&nobody, &page(None, Some(2), None), &two("lines 1-2 of 9; go on with offset=3"), Err("stops at line 2"));
        let beyond = two("lines 1-2 of 2; line 5 is beyond the end");
        check(&nobody, &page(None, Some(5), None), &beyond, Ok((Kind::Plain, "1\n2\n")));
        check(&nobody, &page(None, Some(4), None), &beyond, Err("beyond the end"));
        let last = Call { asks: Asks::Last(2), ..whole(None) };
        check(&nobody, &last, &two("lines 8-9 of 9"), Ok((Kind::Plain, "1\n2\n")));
        check(&nobody, &last, &two("lines 7-8 of 9"), Err("line 8 was asked for"));
        let span = |first, last, context| Call { asks: Asks::Span { first, last, context }, ..whole(None) };
        check(&nobody, &span(8, 9, 0), &two("lines 8-9 of 9"), Ok((Kind::Plain, "1\n2\n")));
        check(&nobody, &span(9, 9, 1), &two("lines 8-9 of 9"), Ok((Kind::Plain, "1\n2\n")));
        check(&nobody, &span(9, 9, 0), &two("lines 8-9 of 9"), Err("with 0 lines around 9-9"));
        check(&nobody, &span(6, 8, 0), &two("lines 8-9 of 9"), Err("line 6 was asked for"));
        check(&nobody, &span(8, 12, 0), &two("lines 8-9 of 9"), Err("beyond the end"));
        check(&nobody, &span(5, 7, 0), &two("lines 5-6 of 9"), Err("stops at line 6"));
        check(&nobody, &span(5, 7, 0), &two("lines 5-6 of 9; go on with offset=7"), Ok((Kind::Plain, "1\n2\n")));
        let around = Call { asks: Asks::Around("2".to_owned()), ..whole(None) };
        check(&nobody, &around, &two("lines 8-9 of 9"), Ok((Kind::Plain, "1\n2\n")));
        check(
            &nobody,
            &Call { asks: Asks::Around("x".to_owned()), ..around },
            &two("lines 8-9 of 9"),
            Err("does not stand"),
        );
    }
}
