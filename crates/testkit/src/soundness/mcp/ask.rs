//! One call: made through the engine, judged from what its agent sees, compared with the file.

use readproof_core::{pick::Pick, scope::ScopeError};
use readproof_disk::SessionName;
use readproof_engine::{
    Answer, Error, Handle, HandleConversation, Outcome, Reading, Status,
    operation::{AnswerLimit, Audience, Freshness, Operation, Partial, Read, ReadSymbol},
};
use readproof_reader::{
    Kind as Answered,
    mcp::{Agent, Asks, Blocks, Call, Rebuilt},
};
use readproof_words::notice::notices;
use std::{
    cell::{Cell, RefCell},
    fs,
};

use super::{Host, Run, code};
use crate::{
    ask::{Ask, Hook, WAIT},
    glimpse,
    op::Random,
    run::{Step, violation},
    world::{Broken, MIDDLING, Watched, watch::is_by_rule},
};

/// A call before it is made.
#[derive(Clone, Debug)]
pub(super) struct Question {
    pub(super) name: &'static str,
    pub(super) asks: Asks,
    pub(super) most: Option<AnswerLimit>,
    pub(super) known: Option<String>,
    pub(super) freshness: Freshness,
    /// Whether a symbol is asked for without its file.
    pub(super) anywhere: bool,
}

impl Question {
    fn call(&self) -> Call {
        Call { path: self.name.to_owned(), asks: self.asks.clone(), known: self.known.clone() }
    }

    /// The last line that it names.
    fn asked_to(&self) -> Option<u64> {
        match self.asks {
            Asks::Lines { offset, limit } => limit.map(|limit| offset.unwrap_or(1) - 1 + limit),
            Asks::Span { last, .. } => Some(last),
            Asks::Last(_) | Asks::Around(_) | Asks::Symbol(_) => None,
        }
    }
}

/// A call as the server performs it.
struct Request {
    session: SessionName,
    /// The handle as the server passes it on: never, if the host tells nothing.
    known: Option<String>,
    operation: Operation,
}

impl Request {
    /// Makes the call.
    fn put(&self, engine: &Watched, hook: Hook<'_>) -> Result<Answer<Handle>, Error> {
        let mut conversation = HandleConversation::new(Some(self.session.clone()), self.known.as_deref());
        let outcome = engine.call(&mut conversation, self.operation.clone(), hook)?;
        let reading = if let Outcome::Defined(defined) = outcome { defined.reading } else { outcome.into_reading()? };
        match reading {
            Reading::Answer(answer) => Ok(*answer),
            Reading::NotOurs(_) => Err(Error::OtherOutcome),
        }
    }
}

impl Run {
    /// Some file, often the one read last or one of medium length.
    pub(super) fn some_name(&self, random: &mut Random) -> &'static str {
        if let Some((name, _)) = self.last.as_ref().filter(|_| random.below(2) == 0) {
            return name;
        }
        let middling: Vec<&str> = self.names.iter().copied().filter(|name| MIDDLING.contains(name)).collect();
        let names = if random.below(2) == 0 && !middling.is_empty() { &middling } else { &self.names };
        random.pick(names).copied().unwrap_or("small.txt")
    }

    /// All of a file, or some of its lines.
    pub(super) fn some_asks(&self, name: &str, random: &mut Random) -> Asks {
        let truth = self.world.truth(name).unwrap_or_default();
        let total = truth.lines().count() as u64;
        let some = |random: &mut Random, most: u64| 1 + random.bits() % most.max(1);
        let half = total / 2;
        if code::is_code(name) && random.below(3) > 0 {
            return Asks::Symbol(code::some_name(random));
        }
        let (offset, limit) = match random.below(16) {
            0..=6 => (None, None),
            7 => (None, Some(half.max(1))),
            8 => (Some(half + 1), Some((total - half).max(1))),
            9 => (Some(half + 1), None),
            10 => return Asks::Last(some(random, total + 2)),
            11 => return Asks::Around(some_words(&truth, random)),
            12 => (Some(1), Some(total.max(1))),
            13 => {
                let beyond = u64::from(random.below(12) == 0);
                let first = some(random, total + beyond);
                return Asks::Span { first, last: first - 1 + some(random, 6), context: random.bits() % 5 };
            }
            _ => {
                let beyond = if random.below(12) == 0 { 3 } else { 0 };
                let offset = some(random, total + beyond);
                (Some(offset), (random.below(5) > 0).then(|| some(random, total + 2)))
            }
        };
        Asks::Lines { offset, limit }
    }

    pub(super) fn question(
        &self,
        name: &'static str,
        asks: Asks,
        known: Option<String>,
        random: &mut Random,
    ) -> Question {
        let most = match random.below(4) {
            0 => Some(AnswerLimit { lines: 300, chars: 12_000 }),
            1 => Some(AnswerLimit { lines: 1 + some_u32(random, 50), chars: 100 + some_u32(random, 3000) }),
            _ => None,
        };
        let anywhere = random.below(2) == 0 && self.means(name, &asks);
        Question { name, asks, most, known, freshness: Freshness::Known, anywhere }
    }

    /// Whether a symbol without a file can mean this file: not if only another file defines it.
    fn means(&self, name: &str, asks: &Asks) -> bool {
        let Asks::Symbol(symbol) = asks else { return false };
        let count = |file: &str| self.findable(file).map_or(0, |text| code::places(&text, symbol).len());
        let all: usize = code::FILES.iter().map(|file| count(file)).sum();
        count(name) > 0 || all != 1
    }

    /// The text of a file in which names are looked for.
    fn findable(&self, name: &str) -> Option<String> {
        self.world.truth(name).filter(|_| !self.world.watch.is_unsearched(name))
    }

    fn request(&self, question: &Question, audience: Audience) -> Result<Request, Broken> {
        let known = question.known.clone().filter(|_| self.host == Host::TellsWindows);
        Ok(Request { session: self.session()?, known, operation: self.operation(question, audience) })
    }

    fn operation(&self, question: &Question, audience: Audience) -> Operation {
        let (most, freshness) = (question.most, question.freshness);
        let (offset, limit, pick) = match question.asks.clone() {
            Asks::Lines { offset, limit } => (offset, limit, Pick::Given),
            Asks::Last(count) => (None, None, Pick::Last(count)),
            Asks::Span { first, last, context } => (None, None, Pick::Span { first, last, context }),
            Asks::Around(query) => (None, None, Pick::Around { query, context: 2 }),
            Asks::Symbol(target) => {
                let path = (!question.anywhere).then(|| question.name.to_owned());
                // In ASCII, which all files of code are, a byte is a character.
                let limits = self.world.limits();
                let most = most.unwrap_or(AnswerLimit { lines: limits.answer_lines, chars: limits.answer_bytes });
                let include_context = false;
                return Operation::ReadSymbol(ReadSymbol { target, path, include_context, most, freshness, audience });
            }
        };
        let (path, partial) = (question.name.to_owned(), Partial::Allowed);
        Operation::Read(Read { path, offset, limit, pick, most, freshness, partial, audience, ..Read::default() })
    }

    /// How many answers are recorded in the agent's session, as another process sees it.
    fn recorded(&self) -> Step<u64> {
        let mut conversation = HandleConversation::new(Some(self.session()?), None);
        let status: Status = self.observer.call(&mut conversation, Operation::Status, WAIT)?.try_into()?;
        Ok(status.conversation.map_or(0, |status| status.counts.values().sum()))
    }

    /// Every answer is recorded, and nothing else is.
    fn all_recorded(&self, before: u64, results: &[&Result<Answer<Handle>, Error>]) -> Step {
        let answers = results.iter().filter(|result| result.is_ok()).count() as u64;
        let recorded = self.recorded()?;
        if recorded == before + answers {
            return Ok(());
        }
        let notices: Vec<_> = results.iter().filter_map(|result| result.as_ref().ok()).map(|a| &a.notices).collect();
        let what = format!("{answers} answers were given, and {} recorded", recorded.wrapping_sub(before));
        violation(format!("{what}; notices {notices:?}"))
    }

    /// Makes a call and judges the answer. `None`: it was refused, as required.
    pub(super) fn ask(&mut self, question: &Question) -> Step<Option<(Call, Blocks)>> {
        // A file may have changed since the call was chosen, so that it means another one.
        let anywhere = question.anywhere && self.means(question.name, &question.asks);
        let question = &Question { anywhere, ..question.clone() };
        let truth = self.world.truth(question.name);
        let request = self.request(question, Audience::Model)?;
        let before = self.recorded()?;
        let result = request.put(self.world.engine(self.process), WAIT);
        self.all_recorded(before, &[&result])?;
        self.judge(question, &[truth], result)
    }

    /// The file changes between two stages of the call.
    pub(super) fn ask_in_a_race(&mut self, question: &Question, random: &mut Random) -> Step<Option<(Call, Blocks)>> {
        let Some(before) = self.world.truth(question.name) else { return self.ask(question) };
        let (path, at, count) = (self.world.path().join(question.name), random.below(6), Cell::new(0));
        let number = random.below(100);
        let after = match (code::is_code(question.name), random.below(2)) {
            (true, 0) => format!("// raced {number}\n\n{before}"),
            (true, _) => format!("{before}\n// raced {number}\n"),
            (false, _) => format!("{before}raced {number}\n"),
        };
        let hook = || {
            if count.replace(count.get() + 1) == at {
                // If this fails, the text stays as it was, which is expected too.
                let _ = fs::write(&path, &after);
            }
            false
        };
        let request = self.request(question, Audience::Model)?;
        let recorded = self.recorded()?;
        let result = request.put(self.world.engine(self.process), &hook);
        self.all_recorded(recorded, &[&result])?;
        self.world.remember(question.name);
        self.judge(question, &[Some(before), Some(after)], result)
    }

    /// Another process answers another call of the same message between two stages.
    pub(super) fn ask_both(
        &mut self,
        question: &Question,
        other: &Question,
        random: &mut Random,
    ) -> Step<Vec<(Call, Blocks)>> {
        let (truth, beside) = (self.world.truth(question.name), self.world.truth(other.name));
        let (request, second) = (self.request(question, Audience::Model)?, self.request(other, Audience::Model)?);
        let engine = self.world.open()?;
        let (at, count, came) = (random.below(4), Cell::new(0), RefCell::new(None));
        let hook = || {
            if count.replace(count.get() + 1) == at {
                *came.borrow_mut() = Some(second.put(&engine, WAIT));
            }
            false
        };
        let before = self.recorded()?;
        let result = request.put(self.world.engine(self.process), &hook);
        let came = came.into_inner();
        self.all_recorded(before, &[&result].into_iter().chain(came.as_ref()).collect::<Vec<_>>())?;
        let mut both: Vec<_> = self.judge(question, &[truth], result)?.into_iter().collect();
        if let Some(result) = came {
            both.extend(self.judge(other, &[beside], result)?);
        }
        Ok(both)
    }

    pub(super) fn give_up(&mut self, question: &Question, random: &mut Random) -> Step {
        let (at, count) = (random.below(4), Cell::new(0));
        let hook = || count.replace(count.get() + 1) == at;
        let request = self.request(question, Audience::Model)?;
        let before = self.recorded()?;
        let result = request.put(self.world.engine(self.process), &hook);
        self.all_recorded(before, &[&result])?;
        self.note(format!("{question:?} is given up: {}", result.is_err()));
        Ok(())
    }

    /// A program gets the plain text, whatever the agent sees; the agent sees none of it except, perhaps, the handle.
    pub(super) fn ask_for_program(&mut self, question: &Question, random: &mut Random) -> Step {
        let truth = self.world.truth(question.name);
        let request = self.request(question, Audience::Program)?;
        let answer = match request.put(self.world.engine(self.process), WAIT) {
            Ok(answer) => answer,
            Err(error) => return self.refused(question, &[truth], &error),
        };
        let (call, blocks) = (Call { known: None, ..question.call() }, self.blocks(question, &answer));
        let what = format!("{question:?} for a program: {:?}, {}", answer.mode, blocks.trailer);
        self.note(what.clone());
        let rebuilt = match Agent::default().answer(&call, &blocks) {
            Ok(rebuilt) => rebuilt,
            Err(complaint) => return violation(format!("{what}: {complaint}")),
        };
        if !truth.is_some_and(|truth| self.is_true(question, &rebuilt, &truth)) {
            return violation(format!("{what}: {rebuilt:?} is not the file"));
        }
        if random.below(2) == 0 {
            let lines = glimpse::printed(&rebuilt.text, rebuilt.first, random);
            self.note(format!("and it prints some of {}", question.name));
            self.agent().sight.glimpse(question.name, lines);
        }
        let heard = rebuilt.handle.map(|handle| (question.name.to_owned(), handle));
        self.agent().heard.extend(heard);
        Ok(())
    }

    fn blocks(&self, question: &Question, answer: &Answer<Handle>) -> Blocks {
        let said = match &question.asks {
            Asks::Symbol(name) => vec![format!("function {name}")],
            Asks::Lines { .. } | Asks::Last(_) | Asks::Span { .. } | Asks::Around(_) => Vec::new(),
        };
        let trailer = answer.trailer(
            question.asked_to(),
            "offset",
            (&said, &notices(&answer.notices)),
            self.host == Host::TellsWindows,
        );
        Blocks { text: answer.block().unwrap_or_default().to_owned(), trailer }
    }

    /// The promise: from what this agent can see and this answer, the lines asked for can be rebuilt byte for byte.
    fn judge(
        &mut self,
        question: &Question,
        truths: &[Option<String>],
        result: Result<Answer<Handle>, Error>,
    ) -> Step<Option<(Call, Blocks)>> {
        let answer = match result {
            Ok(answer) => answer,
            Err(error) => return self.refused(question, truths, &error).map(|()| None),
        };
        let (call, blocks) = (question.call(), self.blocks(question, &answer));
        let said = format!("{} ({}), {}", answer.mode.as_str(), answer.reason.as_str(), blocks.trailer);
        let what = format!("{question:?} was answered {said}");
        self.note(what.clone());
        let rebuilt = match self.agent().sight.answer(&call, &blocks) {
            Ok(rebuilt) => rebuilt,
            Err(complaint) => return violation(format!("{what}: {complaint}")),
        };
        let fits = truths.iter().flatten().any(|truth| self.is_true(question, &rebuilt, truth));
        if !fits {
            return violation(format!("{what}: rebuilt {rebuilt:?}, but the file says {truths:?}"));
        }
        let secret = question.name == ".env";
        let asked_plain = question.freshness == Freshness::Fresh || self.host == Host::TellsNothing;
        if rebuilt.kind != Answered::Plain && (secret || asked_plain) {
            return violation(format!("{what}, where only plain text may be sent"));
        }
        if rebuilt.handle.is_some() && (secret || self.host == Host::TellsNothing) {
            return violation(format!("{what}, where no handle may be given"));
        }
        if (rebuilt.kind == Answered::Plain) == answer.mode.is_derived() {
            return violation(format!("{what}, and it is {:?}", rebuilt.kind));
        }
        self.report.answer(answer.mode, answer.reason.as_str());
        self.last = Some((question.name, question.asks.clone()));
        if self.cuts.is_some_and(|most| blocks.text.len() + blocks.trailer.len() > most) {
            let heard = rebuilt.handle.map(|handle| (question.name.to_owned(), handle));
            self.agent().heard.extend(heard);
            return Ok(None);
        }
        Ok(Some((call, blocks)))
    }

    /// A refusal must be justified by the file.
    fn refused(&mut self, question: &Question, truths: &[Option<String>], error: &Error) -> Step {
        let justified = truths.iter().any(|truth| match (truth, error, &question.asks) {
            (_, error, _) if is_by_rule(error) => true,
            (None, Error::Missing { .. }, _) => true,
            (Some(text), Error::Range { source: ScopeError::BeyondEnd { .. }, .. }, Asks::Lines { offset, .. }) => {
                offset.unwrap_or(1) > (lines(text).len() as u64).max(1)
            }
            (Some(text), Error::Range { source: ScopeError::BeyondEnd { .. }, .. }, Asks::Span { first, .. }) => {
                *first > (lines(text).len() as u64).max(1)
            }
            (Some(text), Error::NoMatch { .. }, Asks::Around(query)) => {
                let query = query.trim().to_lowercase();
                query.is_empty() || !lines(text).iter().any(|line| line.to_lowercase().contains(&query))
            }
            (Some(text), Error::NoSymbol { .. }, Asks::Symbol(name)) => self.defined(question, text, name) == 0,
            (Some(text), Error::Ambiguous { .. }, Asks::Symbol(name)) => self.defined(question, text, name) > 1,
            _ => false,
        });
        self.report.refused += 1;
        let what = format!("{question:?} was refused: {error}");
        self.note(what.clone());
        if justified { Ok(()) } else { violation(what) }
    }

    /// How often a name is defined where the call looks for it, if its file has this text.
    fn defined(&self, question: &Question, text: &str, name: &str) -> usize {
        let elsewhere = code::FILES.iter().filter(|file| question.anywhere && **file != question.name);
        let here = !question.anywhere || self.findable(question.name).is_some();
        let texts = elsewhere.filter_map(|file| self.findable(file)).chain(here.then(|| text.to_owned()));
        texts.map(|text| code::places(&text, name).len()).sum()
    }

    /// Whether what was rebuilt is what the file says, and as much of it as fits one answer.
    fn is_true(&self, question: &Question, rebuilt: &Rebuilt, truth: &str) -> bool {
        let all = lines(truth);
        let first = usize::try_from(rebuilt.first - 1).unwrap_or(usize::MAX).min(all.len());
        let got = lines(&rebuilt.text).len();
        let Some(same) = all.get(first..first + got) else { return false };
        if rebuilt.total != all.len() as u64 || same.concat() != rebuilt.text {
            return false;
        }
        if rebuilt.blank > 0 {
            let hidden = usize::try_from(rebuilt.blank).unwrap_or(usize::MAX);
            let said = all.get(first..first.saturating_add(hidden)).unwrap_or_default();
            return said.len() == hidden && said.iter().all(|line| line.trim().is_empty());
        }
        let limits = self.world.limits();
        let (most, fits): (usize, &dyn Fn(&str) -> bool) = match question.most {
            Some(AnswerLimit { lines, chars }) => (lines as usize, &move |text| text.chars().count() <= chars as usize),
            None => (limits.answer_lines as usize, &move |text| text.len() <= limits.answer_bytes as usize),
        };
        if let Some(part) = &rebuilt.part {
            return got == 0 && all[first].starts_with(part.as_str()) && fits(part) && !fits(all[first]);
        }
        // A diff stands for all lines, however many fit one answer.
        let within = rebuilt.kind == Answered::Diff || (got <= most && fits(&rebuilt.text));
        let full = |longer: String| got == most || !fits(&longer);
        let more = || all.get(first + got).is_some_and(|next| full(format!("{}{next}", rebuilt.text)));
        let before = || first == 0 || full(format!("{}{}", all[first - 1], rebuilt.text));
        // If the last lines do not fit, those at the end are shown.
        if let Asks::Symbol(name) = &question.asks
            && rebuilt.kind != Answered::Diff
            && !is_definition(truth, name, rebuilt)
        {
            return false;
        }
        if let Asks::Around(query) = &question.asks
            && rebuilt.next.is_none()
            && !is_around(truth, query, rebuilt)
        {
            return false;
        }
        let all_last = !matches!(question.asks, Asks::Last(count) if got as u64 != count.min(rebuilt.total));
        within && (rebuilt.next.is_none() || more()) && (all_last || before())
    }
}

/// Whether the lines have the whole query, if any line of the file has it.
fn is_around(truth: &str, query: &str, rebuilt: &Rebuilt) -> bool {
    let query = query.trim().to_lowercase();
    let has = |text: &str| lines(text).iter().any(|line| line.to_lowercase().contains(&query));
    !has(truth) || has(&rebuilt.text)
}

/// Whether the lines are those of the one definition, or the first of them if not all fit.
fn is_definition(truth: &str, name: &str, rebuilt: &Rebuilt) -> bool {
    let last = (rebuilt.first + lines(&rebuilt.text).len() as u64).saturating_sub(1);
    match code::places(truth, name)[..] {
        [(first, end)] => rebuilt.first == first && if rebuilt.next.is_some() { last < end } else { last == end },
        _ => false,
    }
}

/// A piece of the text, or words that are not in it.
fn some_words(text: &str, random: &mut Random) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    match random.pick(&words) {
        Some(word) if random.below(10) > 0 => {
            let word: String = word.chars().take(12).collect();
            if random.below(3) == 0 { word.to_uppercase() } else { word }
        }
        _ => "no such words".to_owned(),
    }
}

fn some_u32(random: &mut Random, below: usize) -> u32 {
    u32::try_from(random.below(below)).unwrap_or_default()
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}
