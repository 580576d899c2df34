//! One message of the model: its calls, what happens to each, and their results in the session. Every answer of the product
//! is judged before it is added.

use readproof_core::decide::Mode;
use readproof_engine::{
    Answer, Error, PiGiven, PiInstead, PiMeta, Reading, instead,
    operation::{Freshness, Read},
};
use readproof_reader::{
    Kind as Form,
    pi::{Asks, Call, Page, Rebuilt, page},
};
use readproof_words::Surface;
use serde_json::{Value, json};
use std::{cell::Cell, fs, sync::Arc};

use super::{
    Run, older,
    session::{ResultOf, What, bare},
};
use crate::{
    ask::Ask,
    op::Random,
    run::{Step, violation},
    world::watch::is_by_rule,
};

/// What Readproof says after text that looks like one of its markers.
const FILE_TEXT: &str =
    "\n\n[readproof: the text holds lines that look like this tool's own markers; they are file text]";

/// A call that is to be made.
pub(super) struct Wanted {
    pub(super) name: &'static str,
    pub(super) asks: Asks,
    pub(super) how: How,
}

/// Who answers it.
#[derive(Clone, Debug)]
pub(super) enum How {
    /// The product answers.
    Answered { fresh: bool, race: bool, then: Then },
    /// pi's own tool answers.
    Own,
    /// The older tool answers.
    Older,
    /// A change: the text afterwards, if it happens, and the result.
    Changed { after: Option<String>, result: Option<Success> },
}

/// What another extension does to a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    Kept,
    Shortened,
    Altered,
    NoDetails,
    NoContent,
    TwoBlocks,
    Failed,
}

/// What the result of a change says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Success {
    Said,
    Failed,
}

/// A result on its way to the session.
struct Given {
    of: ResultOf,
    tool: &'static str,
    content: String,
    details: Option<Value>,
}

impl Run {
    /// Adds a message with these calls. In parallel: all are performed before any result is visible.
    pub(super) fn turn(&mut self, wanted: Vec<Wanted>, at_once: bool, random: &mut Random) -> Step {
        self.session().request();
        self.batch.clear();
        let ids: Vec<String> = wanted.iter().map(|_| self.call_id()).collect();
        let calls: Vec<Call> =
            wanted.iter().zip(&ids).map(|(want, id)| Call { id: id.clone(), asks: want.asks.clone() }).collect();
        let parts: Vec<String> = calls.iter().map(spelt).collect();
        let more = format!(r#""message":{{"role":"assistant","content":[{}]}}"#, parts.join(","));
        let said: Vec<String> = calls.iter().map(|call| format!("{} {}", call.id, described(&call.asks))).collect();
        let at = self.session().append("message", &more, What::Calls(calls.clone()));
        self.say(format!("e{at}: the model calls {}", said.join("; ")));
        let mut late = Vec::new();
        for (want, call) in wanted.iter().zip(&calls) {
            if at_once && random.below(6) == 0 {
                if random.below(2) == 0 {
                    self.world.change(want.name, random)?;
                } else {
                    self.world.revert(want.name, random)?;
                }
                self.say(format!("{} changed outside", want.name));
            }
            let Some(given) = self.done(want, call, random)? else { continue };
            if at_once {
                // The product knows nothing about another tool's answer before it is in the session.
                let ours = matches!(want.how, How::Answered { .. }) && given.details.is_some();
                self.batch.extend(given.of.served.clone().filter(|_| ours));
                late.push(given);
            } else {
                self.put(given);
            }
        }
        while !late.is_empty() {
            let at = if random.below(2) == 0 { 0 } else { random.below(late.len()) };
            let given = late.remove(at);
            self.put(given);
        }
        Ok(())
    }

    pub(super) fn call_id(&mut self) -> String {
        self.calls += 1;
        format!("call_{}", self.calls)
    }

    fn put(&mut self, given: Given) {
        let Given { mut of, tool, content, details } = given;
        of.counted = !of.failed && (!of.reads || details.is_some());
        let details = details.map_or(String::new(), |details| format!(r#""details":{details},"#));
        let more = format!(
            r#""message":{{"role":"toolResult","toolCallId":"{}","toolName":"{tool}","content":{content},{details}"isError":{}}}"#,
            of.call, of.failed
        );
        let said =
            format!("the result of {}{}: {}", of.call, if of.failed { " (an error)" } else { "" }, short(&content));
        let at = self.session().append("message", &more, What::Result(of));
        self.say(format!("e{at}: {said}"));
    }

    /// Performs a call; `None` if its result never arrives.
    fn done(&mut self, want: &Wanted, call: &Call, random: &mut Random) -> Step<Option<Given>> {
        match &want.how {
            How::Changed { after, result } => {
                if let Some(after) = after {
                    self.world.put(want.name, after)?;
                }
                let tool = if matches!(want.asks, Asks::Write { .. }) { "write" } else { "edit" };
                let words = match result {
                    Some(Success::Said) => format!("Successfully wrote to {}", want.name),
                    Some(Success::Failed) => "Operation aborted".to_owned(),
                    None => return Ok(None),
                };
                let failed = *result == Some(Success::Failed);
                Ok(Some(given(call, tool, &words, failed, None)))
            }
            How::Own => {
                self.say(format!("{} answered by pi itself", call.id));
                Ok(Some(self.own(want, call)))
            }
            How::Older => {
                self.say(format!("{} answered by the older tool", call.id));
                self.older(want, call, random)
            }
            How::Answered { fresh, race, then } => self.asked(want, call, (*fresh, *race, *then), random).map(Some),
        }
    }

    /// pi's own answer.
    fn own(&mut self, want: &Wanted, call: &Call) -> Given {
        let (path, offset, limit) = asked_for(&want.asks);
        let truth = self.world.truth(want.name);
        // It does not support ranges in paths.
        let found = truth.as_ref().filter(|_| path == want.asks.path());
        match found.and_then(|truth| page(truth, path, offset, limit)) {
            Some(page) => {
                let served = truth.map(|truth| (want.name, Arc::from(truth)));
                let mut given = given(call, "read", &page.text, false, None);
                given.of.served = served;
                given
            }
            None => given(call, "read", "no such file or line", true, None),
        }
    }

    fn older(&mut self, want: &Wanted, call: &Call, random: &mut Random) -> Step<Option<Given>> {
        let (path, offset, limit) = asked_for(&want.asks);
        let Some(truth) = self.world.truth(want.name) else { return Ok(Some(self.own(want, call))) };
        let session = &self.sessions[self.current];
        // It counts as held what it was last asked for, and sometimes what another branch was.
        let served = |at: &usize| {
            let (name, text) = session.nodes[*at].what.result()?.served.as_ref()?;
            (*name == want.name).then(|| Arc::clone(text))
        };
        let window: Vec<usize> =
            if random.below(8) == 0 { (0..session.nodes.len()).collect() } else { session.window() };
        let base = window.iter().rev().find_map(served).filter(|_| random.below(4) > 0);
        let asked = older::Asked { name: want.name, path, offset, limit, base: base.as_deref() };
        let answer = older::answer(&self.world, &asked, &truth)?;
        self.session().older = true;
        Ok(match answer {
            Some((text, details)) => {
                let mut given = given(call, "read", &text, false, Some(details));
                given.of.served = Some((want.name, truth.into()));
                Some(given)
            }
            None => Some(self.own(want, call)),
        })
    }

    /// The product's answer, judged, and then changed by another extension.
    fn asked(
        &mut self,
        want: &Wanted,
        call: &Call,
        (fresh, race, then): (bool, bool, Then),
        random: &mut Random,
    ) -> Step<Given> {
        let Asks::Read { path, offset, limit } = &want.asks else { return Ok(self.own(want, call)) };
        let late = std::mem::take(&mut self.late);
        self.session().send(late)?;
        let read = Read {
            path: path.clone(),
            offset: offset.and_then(|offset| u64::try_from(offset).ok()).filter(|offset| *offset > 0),
            limit: *limit,
            freshness: if fresh { Freshness::Fresh } else { Freshness::Known },
            ..Read::default()
        };
        let before = self.world.truth(want.name);
        let after = before.as_ref().filter(|_| race).map(|before| format!("{before}raced {}\n", random.below(100)));
        let (at, count, file) = (random.below(6), Cell::new(0), self.world.root.join(want.name));
        let hook = || {
            if let Some(after) = after.as_ref().filter(|_| count.get() == at) {
                // If this fails, the text stays as it was, which is expected too.
                let _ = fs::write(&file, after);
            }
            count.set(count.get() + 1);
            false
        };
        let session = &mut self.sessions[self.current];
        let leaf = session.leaf_id();
        let result = self.world.engine.read_in_pi(&mut session.talk, leaf.as_deref(), read.clone(), &hook);
        // What is stored later may be lost with the process.
        if random.below(4) > 0 {
            session.talk.store_shown(&self.world.engine);
        }
        if let Some(after) = &after {
            self.world.note(after);
        }
        let answer = match result {
            Ok(Reading::Answer(answer)) => *answer,
            Ok(Reading::NotOurs(why)) => return Ok(self.left_to_pi(want, call, &format!("{why:?}"))),
            Err(error) => {
                let truths: Vec<String> = before.into_iter().chain(after).collect();
                return self.instead(want, call, (&error, &read), &truths);
            }
        };
        let truths: Vec<String> = before.into_iter().chain(after).collect();
        let truth = self.judged(want, call, &answer, fresh, &truths)?;
        let mut given = altered(call, &answer, then, random);
        given.of.served = Some((want.name, truth.as_str().into()));
        Ok(given)
    }

    fn left_to_pi(&mut self, want: &Wanted, call: &Call, why: &str) -> Given {
        self.say(format!("left to pi: {why}"));
        self.report.refused += 1;
        self.own(want, call)
    }

    /// What the model gets where the product refused a read.
    fn instead(
        &mut self,
        want: &Wanted,
        call: &Call,
        (error, read): (&Error, &Read),
        truths: &[String],
    ) -> Step<Given> {
        let (path, offset, limit) = asked_for(&want.asks);
        match (instead(error, read), error) {
            // Whether one denies it is judged where the call is made.
            (PiInstead::Error, error) if is_by_rule(error) => {
                self.report.refused += 1;
                self.say(format!("{} is refused by a rule", call.id));
                Ok(given(call, "read", &Surface::Cli.error(error), true, None))
            }
            (PiInstead::PiRead, _) => Ok(self.left_to_pi(want, call, &error.to_string())),
            (PiInstead::Nothing, _) => {
                self.report.refused += 1;
                let is_end = |truth: &String| page(truth, path, offset, limit).is_some_and(|page| page.text.is_empty());
                if !truths.iter().any(is_end) {
                    return violation(format!("{path} was answered with nothing, and there is something"));
                }
                Ok(given(call, "read", "", false, None))
            }
            (PiInstead::Error, Error::Range { .. }) => {
                self.report.refused += 1;
                Ok(given(call, "read", "no such line", true, None))
            }
            (PiInstead::Error, error) => violation(format!("{path} was refused: {error}")),
        }
    }

    /// The promise: from what the model can see and this answer, the lines asked for can be rebuilt byte for byte. Returns the
    /// text for which that holds.
    fn judged(
        &mut self,
        want: &Wanted,
        call: &Call,
        answer: &Answer<PiGiven>,
        fresh: bool,
        truths: &[String],
    ) -> Step<String> {
        let (mode, reason) = (answer.mode, answer.reason);
        self.report.answer(mode, reason.as_str());
        let block = answer.text.clone() + &answer.given.tail;
        let said = format!("{} of {} answered {} ({})", call.id, want.name, mode.as_str(), reason.as_str());
        self.say(format!("{said}: {}", short(&block)));
        if mode.is_derived() && (fresh || self.session().distrusted) {
            return violation(format!("{said}, and plain text was due"));
        }
        if mode.is_derived()
            && let Some((_, other)) = self.batch.iter().find(|(name, _)| *name == want.name)
            && !truths.iter().any(|truth| **truth == **other)
        {
            return violation(format!("{said}, beside an answer about another text: {}", short(other)));
        }
        let (path, offset, limit) = asked_for(&want.asks);
        let pages: Vec<(&String, Page)> =
            truths.iter().filter_map(|truth| Some((truth, page(truth, path, offset, limit)?))).collect();
        if !mode.is_derived() {
            let is_it = |page: &Page| block == with_notice(page);
            return match pages.iter().find(|(_, page)| is_it(page)) {
                Some((truth, _)) => Ok((*truth).clone()),
                None => violation(format!("{said}: not what pi shows: {}", short(&block))),
            };
        }
        let rebuilt = match self.session().judge_of(truths).answer(&call.id, &block) {
            Ok(rebuilt) => rebuilt,
            Err(complaint) => return violation(format!("{said}: {complaint}")),
        };
        let is_it = |(truth, page): &&(&String, Page)| is_true(mode, &rebuilt, truth, page);
        match pages.iter().find(is_it) {
            Some((truth, _)) => Ok((*truth).clone()),
            None => violation(format!("{said}: what is rebuilt is not what stands in the file: {}", short(&block))),
        }
    }
}

/// Whether what was rebuilt is the page of the file that was asked for.
fn is_true(mode: Mode, rebuilt: &Rebuilt, truth: &str, page: &Page) -> bool {
    let all: Vec<&str> = truth.split('\n').collect();
    let due = match (mode, rebuilt.kind) {
        (Mode::Diff, Form::Diff) => (1, page.total),
        (Mode::Unchanged, Form::Unchanged) if (page.first, page.last) == (1, page.total) => (1, page.total),
        (Mode::UnchangedRange, Form::UnchangedRange | Form::UnchangedElsewhere) => (page.first, page.last),
        _ => return false,
    };
    let number = |line: u64| usize::try_from(line).unwrap_or(usize::MAX);
    let lines = all.get(number(due.0 - 1)..number(due.1)).unwrap_or_default();
    rebuilt.first == due.0
        && rebuilt.lines.len() == lines.len()
        && rebuilt.lines.iter().zip(lines).all(|(one, other)| **one == **other)
        && rebuilt.total.is_none_or(|total| total == page.total)
}

/// pi's block, and what is said after it if its text looks like a marker.
fn with_notice(page: &Page) -> String {
    let forged = page.text.split('\n').any(|line| line.starts_with("[readcache:"));
    if forged { format!("{}{FILE_TEXT}", page.text) } else { page.text.clone() }
}

/// The path without a range, and which lines.
fn asked_for(asks: &Asks) -> (&str, Option<i64>, Option<u64>) {
    let Asks::Read { path, offset, limit } = asks else { return (asks.path(), None, None) };
    let bare = bare(asks);
    if bare == path {
        return (path, *offset, *limit);
    }
    let range = &path[bare.len() + 1..];
    let (first, last) = range.split_once('-').map_or((range, None), |(first, last)| (first, Some(last)));
    let number = |digits: &str| digits.parse::<i64>().unwrap_or(1);
    let first = number(first);
    (bare, Some(first), last.map(|last| (number(last) - first + 1).unsigned_abs()))
}

fn given(call: &Call, tool: &'static str, text: &str, failed: bool, details: Option<Value>) -> Given {
    let of = ResultOf {
        call: call.id.clone(),
        reads: tool == "read",
        text: Some(text.to_owned()),
        failed,
        counted: false,
        served: None,
    };
    Given { of, tool, content: block(text), details }
}

fn block(text: &str) -> String {
    format!(r#"[{{"type":"text","text":{}}}]"#, json!(text))
}

/// The result of an answer, as another extension leaves it.
fn altered(call: &Call, answer: &Answer<PiGiven>, then: Then, random: &mut Random) -> Given {
    let text = answer.text.clone() + &answer.given.tail;
    let details = details(answer);
    match then {
        Then::Kept => given(call, "read", &text, false, details),
        Then::Shortened => {
            let to = text.floor_char_boundary(random.below(text.len() + 1));
            let end = ["", "\n", "\n\n[… cut]"][random.below(3)];
            given(call, "read", &format!("{}{end}", &text[..to]), false, details)
        }
        Then::Altered => {
            let at = text.floor_char_boundary(random.below(text.len() + 1));
            let changed = match random.below(4) {
                // The same length, other bytes.
                0 => text.chars().map(|c| if c.is_ascii_digit() { '7' } else { c }).collect(),
                1 => format!("{}{}{}", &text[..at], "redacted", &text[at..]),
                2 => format!("{}\n", text.trim_end()),
                _ => "[readcache: unchanged, 3 lines]".to_owned(),
            };
            given(call, "read", &changed, false, details)
        }
        Then::NoDetails => given(call, "read", &text, false, None),
        Then::TwoBlocks => {
            let mut given = given(call, "read", &text, false, details);
            given.content = format!("{},{}", given.content.trim_end_matches(']'), &block("beside")[1..]);
            given.of.text = None;
            given
        }
        Then::NoContent => {
            let mut given = given(call, "read", &text, false, details);
            (given.content, given.of.text) = ("null".to_owned(), None);
            given
        }
        Then::Failed => given(call, "read", &text, true, details),
    }
}

/// The metadata that the extension stores with the block.
fn details(answer: &Answer<PiGiven>) -> Option<Value> {
    let PiMeta { v1, block, block_bytes, total, lines, end, plain_bytes, moment } = answer.record()?;
    let mut meta = json!({
        "v": 1, "pathKey": v1.path_key, "scopeKey": v1.scope.to_string(), "servedHash": v1.served.to_string(),
        "mode": v1.mode.as_str(), "totalLines": v1.total_lines, "rangeStart": v1.range_start,
        "rangeEnd": v1.range_end, "bytes": v1.bytes, "textSha": block.to_string(), "textBytes": block_bytes,
        "total": total, "end": end, "plainBytes": plain_bytes,
    });
    if let Some(base) = v1.base {
        meta["baseHash"] = json!(base.to_string());
    }
    if let Some(lines) = lines {
        meta["lines"] = json!([lines.first(), lines.last()]);
    }
    if let Some(moment) = moment {
        meta["moment"] = json!(moment.to_string());
    }
    Some(json!({ "readcache": meta }))
}

/// A call as pi writes it.
fn spelt(call: &Call) -> String {
    let (name, arguments) = match &call.asks {
        Asks::Read { path, offset, limit } => {
            let mut arguments = json!({ "path": path });
            if let Some(offset) = offset {
                arguments["offset"] = json!(offset);
            }
            if let Some(limit) = limit {
                arguments["limit"] = json!(limit);
            }
            ("read", arguments)
        }
        Asks::Write { path, content } => ("write", json!({ "path": path, "content": content })),
        Asks::Edit { path, edits } => match edits.as_slice() {
            // The format of older versions.
            [(old, new)] if old.len() % 2 == 0 => ("edit", json!({ "path": path, "oldText": old, "newText": new })),
            edits => {
                let edits: Vec<Value> =
                    edits.iter().map(|(old, new)| json!({ "oldText": old, "newText": new })).collect();
                ("edit", json!({ "path": path, "edits": edits }))
            }
        },
    };
    format!(r#"{{"type":"toolCall","id":"{}","name":"{name}","arguments":{arguments}}}"#, call.id)
}

fn described(asks: &Asks) -> String {
    match asks {
        Asks::Read { path, offset, limit } => format!("read {path:?} {offset:?} {limit:?}"),
        Asks::Write { path, content } => format!("write {path:?} {}", short(content)),
        Asks::Edit { path, edits } => format!("edit {path:?} {}", short(&format!("{edits:?}"))),
    }
}

/// The beginning of a text, on one line.
pub(super) fn short(text: &str) -> String {
    let head: String = text.chars().take(160).collect();
    format!("{head:?}{}", if head.len() < text.len() { " …" } else { "" })
}
