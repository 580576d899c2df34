//! One run of Readproof's own sessions: operations through the real engine, every answer judged at once from what the model
//! can see.

mod change;
pub mod conversation;
mod glimpse;
mod history;
pub(crate) mod play;
pub mod report;
pub mod shrink;
mod step;

use readproof_core::scope::{Lines, ScopeError};
use readproof_disk::SessionName;
use readproof_engine::{
    EntryId, Error, Receipt, Replayed, Status,
    operation::{Audience, Freshness, Operation, Read},
};
use readproof_reader::{Rebuilt, Rendered, Seen};
use readproof_words::notice::notices;
use std::{cell::Cell, fs};

use self::{
    conversation::{Conversation, Turn, lost},
    play::Play,
};
use crate::{
    ask::{Ask, Logged},
    changes::FRESH,
    kept::Keep,
    op::{Kind, Op, Random},
    report::Report,
    world::{Broken, MIDDLING, NAMES, Watched, World, session, watch::is_by_rule},
};

/// The result of a run.
pub struct Outcome<K = Kind> {
    pub report: Report<K>,
    /// The first broken promise and the operation that broke it.
    pub violation: Option<(usize, String)>,
    /// What was done, in words, for the report of a violation.
    pub trace: Vec<String>,
}

/// Why an operation ended.
pub(crate) enum Stop {
    /// The product broke a promise.
    Violation(String),
    /// A rule refused what was asked for, as it should.
    Refused,
    /// The harness itself failed.
    Broken(Broken),
}

impl From<Broken> for Stop {
    fn from(error: Broken) -> Self {
        Self::Broken(error)
    }
}

impl From<std::io::Error> for Stop {
    fn from(error: std::io::Error) -> Self {
        Self::Broken(error.into())
    }
}

/// What the harness asks for outside of reads is always allowed, unless a rule denies it: whether one does is judged where the
/// call is made.
impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        if is_by_rule(&error) {
            return Self::Refused;
        }
        Self::Violation(format!("refused without a reason: {error}"))
    }
}

pub(crate) type Step<T = ()> = Result<T, Stop>;

pub(crate) fn violation<T>(what: String) -> Step<T> {
    Err(Stop::Violation(what))
}

/// A read call of the model.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) name: &'static str,
    pub(crate) offset: Option<u64>,
    pub(crate) limit: Option<u64>,
}

impl Call {
    fn seen(&self, answer: &Logged) -> Seen {
        Seen::Read {
            path: self.name.to_owned(),
            offset: self.offset,
            limit: self.limit,
            answer: Rendered { text: answer.text.clone(), notices: notices(&answer.notices) },
        }
    }
}

/// An answer on its way to the model.
pub(crate) struct OnItsWay {
    pub(crate) node: usize,
    pub(crate) receipt: Receipt,
    pub(crate) seen: Seen,
}

/// One conversation and its name.
pub(crate) struct NamedConversation {
    pub(crate) name: SessionName,
    pub(crate) conversation: Conversation,
}

/// The state of a run.
pub(crate) struct Run {
    pub(crate) world: World,
    pub(crate) conversations: Vec<NamedConversation>,
    pub(crate) current: usize,
    pub(crate) agent: usize,
    pub(crate) last: Option<Call>,
    pub(crate) marks: Vec<history::Mark>,
    report: Report,
    pub(crate) trace: Vec<String>,
}

/// Performs these operations in a workspace made from `seed`.
///
/// # Errors
/// When the harness itself cannot work, for example on a full disk.
pub fn run(seed: u64, ops: &[Op]) -> Result<Outcome, Broken> {
    judged(seed, ops, Keep::OnDisk)
}

/// The same with a store in memory.
///
/// # Errors
/// When the harness itself cannot work.
pub fn run_in_memory(seed: u64, ops: &[Op]) -> Result<Outcome, Broken> {
    judged(seed, ops, Keep::InMemory)
}

fn judged(seed: u64, ops: &[Op], keep: Keep) -> Result<Outcome, Broken> {
    let (mut run, broke) = played(seed, ops, keep)?;
    let last = ops.len().saturating_sub(1);
    let violation = broke.or_else(|| run.world.stored_secret().map(|what| (last, what)));
    Ok(play::outcome(&mut run, violation))
}

/// Performs these operations, then replays every log they left.
///
/// # Errors
/// When the harness itself cannot work.
pub fn replayed(seed: u64, ops: &[Op], keep: Keep) -> Result<Vec<Replayed>, Broken> {
    let (run, _) = played(seed, ops, keep)?;
    run.world.watch.lift()?;
    Ok(run.world.open()?.ask(None, Operation::Replay)?)
}

/// Performs these operations; returns the workspace they leave.
///
/// # Errors
/// When the harness itself cannot work.
pub fn left(seed: u64, ops: &[Op]) -> Result<World, Broken> {
    Ok(played(seed, ops, Keep::OnDisk)?.0.world)
}

/// Runs to the end, or to the first operation that breaks a promise.
fn played(seed: u64, ops: &[Op], keep: Keep) -> Result<(Run, Option<(usize, String)>), Broken> {
    let mut run = Run {
        world: World::new(seed, keep, &[])?,
        conversations: vec![NamedConversation { name: session(0)?, conversation: Conversation::default() }],
        current: 0,
        agent: 0,
        last: None,
        marks: Vec::new(),
        report: Report::default(),
        trace: Vec::new(),
    };
    let broke = play::play(&mut run, ops)?;
    Ok((run, broke))
}

impl Play for Run {
    type Kind = Kind;

    fn perform(&mut self, op: &Op) -> Step {
        let done = self.step(op);
        if matches!(done, Ok(()) | Err(Stop::Refused)) {
            self.claims()?;
        }
        done
    }

    fn wrong(&self) -> Option<String> {
        self.world.watch.wrong()
    }

    fn told(&mut self) -> (&mut Report, &mut Vec<String>) {
        (&mut self.report, &mut self.trace)
    }
}

impl Run {
    /// Counts an operation that cannot be performed at this point.
    pub(crate) fn idle(&mut self) -> Step {
        self.report.idle += 1;
        Ok(())
    }

    pub(crate) fn note(&mut self, what: String) {
        self.trace.push(what);
    }

    pub(crate) fn engine(&self) -> &Watched {
        self.world.engine(self.agent)
    }

    pub(crate) fn name(&self) -> SessionName {
        self.conversations[self.current].name.clone()
    }

    pub(crate) fn conversation(&mut self) -> &mut Conversation {
        &mut self.conversations[self.current].conversation
    }

    /// What the product says is held must be visible to the model, line by line, whether or not it is asked for.
    fn claims(&mut self) -> Step {
        if self.conversation().nodes.is_empty() {
            return Ok(());
        }
        let name = self.name();
        let status: Status = self.engine().ask(Some(&name), Operation::Status)?;
        let reader = self.conversation().reader().clone();
        let Some(status) = status.conversation else { return violation(format!("{name} has no status")) };
        for file in status.files {
            let held = |lines: &Lines| reader.holds(&file.path, u64::from(lines.first()), u64::from(lines.last()));
            if let Some((lines, at)) = file.lines.iter().find(|(lines, _)| !held(lines)) {
                return violation(format!("{} {lines:?} counts as held since e{at}, but is not in sight", file.path));
            }
            if file.whole && !reader.holds_whole(&file.path) {
                return violation(format!("{} counts as held whole, but where it ends is not in sight", file.path));
            }
        }
        Ok(())
    }

    pub(crate) fn some_call(&self, random: &mut Random) -> Call {
        // With files of medium length, every kind of answer can occur.
        let names = self.world.names();
        let middling = random.below(2) == 0 && names.len() == NAMES.len();
        let names = if middling { &MIDDLING[..] } else { names };
        let fresh = self.world.there(&FRESH);
        let names = if random.below(12) == 0 && !fresh.is_empty() { &fresh } else { names };
        let any = random.pick(names).copied().unwrap_or(NAMES[0].0);
        let name = self.last.as_ref().filter(|_| random.below(3) == 0).map_or(any, |last| last.name);
        self.call_of(name, random)
    }

    /// All of a file, or some of its lines; sometimes lines that do not exist.
    pub(crate) fn call_of(&self, name: &'static str, random: &mut Random) -> Call {
        let total = self.world.truth(name).map_or(0, |text| text.lines().count());
        let mut call = Call { name, offset: None, limit: None };
        let half = (total / 2) as u64;
        match random.below(10) {
            0..=4 => return call,
            // Adjoining pages, the last with or without its visible end.
            5 => return Call { limit: Some(half.max(1)), ..call },
            6 => return Call { offset: Some(half + 1), limit: Some((total as u64 - half).max(1)), ..call },
            7 => return Call { offset: Some(half + 1), ..call },
            _ => {}
        }
        if random.below(6) > 0 {
            let beyond = usize::from(random.below(12) == 0) * 3;
            call.offset = Some(1 + random.below(total + beyond) as u64);
        }
        if random.below(5) > 0 {
            call.limit = Some(1 + random.below(total + 2) as u64);
        }
        call
    }

    pub(crate) fn request(&self, call: &Call) -> Read {
        Read { path: call.name.to_owned(), offset: call.offset, limit: call.limit, ..Read::default() }
    }

    /// Makes a call, judges the answer, and adds the call to the conversation. `None`: it was refused, as required.
    pub(crate) fn ask(&mut self, call: &Call, random: &mut Random) -> Step<Option<OnItsWay>> {
        // Sometimes a file changes while it is read.
        let race = self.report.under_way() == Some(Kind::Race);
        let before = self.world.truth(call.name);
        let path = self.world.path().join(call.name);
        let (at, count) = (random.below(6), Cell::new(0));
        let after = format!("{}raced {}\n", before.clone().unwrap_or_default(), random.below(100));
        let request = self.request(call);
        let hook = || {
            if race && count.get() == at && before.is_some() {
                // If this fails, the text stays as it was, which is expected too.
                let _ = fs::write(&path, &after);
            }
            count.set(count.get() + 1);
            false
        };
        let result = self.engine().read_while(Some(&self.name()), request, &hook);
        let mut truths = vec![before.clone()];
        if race && before.is_some() {
            truths.push(Some(after.clone()));
            self.world.remember(call.name);
        }
        self.judge(call, &truths, result)
    }

    pub(crate) fn judge(
        &mut self,
        call: &Call,
        truths: &[Option<String>],
        result: Result<Logged, Error>,
    ) -> Step<Option<OnItsWay>> {
        let leaf = self.conversation().leaf;
        self.judge_at(leaf, call, truths, result)
    }

    /// The promise: from what the model can see and this answer, the lines asked for can be rebuilt byte for byte. The call
    /// was made after `asked_at`.
    pub(crate) fn judge_at(
        &mut self,
        asked_at: Option<usize>,
        call: &Call,
        truths: &[Option<String>],
        result: Result<Logged, Error>,
    ) -> Step<Option<OnItsWay>> {
        let answer = match result {
            Ok(answer) => answer,
            Err(error) => return self.refused(call, truths, &error).map(|()| None),
        };
        let seen = call.seen(&answer);
        let what = format!("{call:?} was answered {} ({})", answer.mode.as_str(), answer.reason.as_str());
        self.note(what.clone());
        let mut reader = self.conversation().reader().clone();
        let rebuilt = match reader.see(&seen) {
            Ok(Some(rebuilt)) => rebuilt,
            Ok(None) => return violation(format!("{what}: nothing to rebuild")),
            Err(complaint) => return violation(format!("{what}: {complaint}")),
        };
        let fits = truths.iter().flatten().any(|truth| self.is_true(call, &rebuilt, truth));
        if !fits {
            return violation(format!("{what}: rebuilt {rebuilt:?}, but the file says {truths:?}"));
        }
        if answer.mode.is_derived() && (self.conversation().distrusted || call.name == ".env") {
            return violation(format!("{what}, where only plain text may be sent"));
        }
        self.report.answer(answer.mode, answer.reason.as_str());
        let Some(receipt) = answer.given else {
            return violation(format!("{what}: it was not recorded; notices {:?}", answer.notices));
        };
        let node = self.conversation().insert(asked_at, Turn::Called { glimpsed: None }, Some(receipt.entry));
        self.last = Some(call.clone());
        Ok(Some(OnItsWay { node, receipt, seen }))
    }

    /// A refusal must be justified by the file.
    fn refused(&mut self, call: &Call, truths: &[Option<String>], error: &Error) -> Step {
        let start = call.offset.unwrap_or(1);
        let justified = truths.iter().any(|truth| match (truth, error) {
            (_, error) if is_by_rule(error) => true,
            (None, Error::Missing { .. }) => true,
            (Some(text), Error::Range { source: ScopeError::BeyondEnd { .. }, .. }) => {
                start > lines(text).len().max(1) as u64
            }
            _ => false,
        });
        self.report.refused += 1;
        self.note(format!("{call:?} was refused: {error}"));
        if justified { Ok(()) } else { violation(format!("{call:?} was refused: {error}")) }
    }

    /// Whether what was rebuilt is what the file says, and as much of it as was asked for or declared.
    fn is_true(&self, call: &Call, rebuilt: &Rebuilt, truth: &str) -> bool {
        let start = call.offset.unwrap_or(1);
        let all = lines(truth);
        let from = usize::try_from(start - 1).unwrap_or(usize::MAX).min(all.len());
        let to = call.limit.map_or(all.len(), |limit| {
            usize::try_from(limit).unwrap_or(usize::MAX).saturating_add(from).min(all.len())
        });
        let wanted: String = all[from..to].concat();
        let limits = self.world.limits();
        if !rebuilt.cut {
            return rebuilt.first == start && rebuilt.text == wanted;
        }
        // Cut: whole lines from the start, as many as fit, and not all of them.
        let got = lines(&rebuilt.text).len();
        let next = all.get(from + got).map_or(0, |line| line.len());
        let full = got >= limits.answer_lines as usize || rebuilt.text.len() + next > limits.answer_bytes as usize;
        rebuilt.first == start && wanted.starts_with(&rebuilt.text) && rebuilt.text.len() < wanted.len() && full
    }

    /// Delivers the result to the model and tells the product so.
    pub(crate) fn deliver(&mut self, way: OnItsWay) -> Step {
        self.engine().delivered(&way.receipt)?;
        if way.node.is_multiple_of(3) {
            // Confirming twice changes nothing.
            self.engine().delivered(&way.receipt)?;
        }
        let entry = Some(way.receipt.entry);
        let conversation = self.conversation();
        if conversation.is_on_branch(way.node) {
            // Without its call, a result shows neither its file nor its line numbers.
            let seen = if conversation.window().contains(&way.node) { way.seen } else { lost(&way.seen) };
            conversation.push(Turn::Saw(seen), entry);
        } else {
            conversation.insert(Some(way.node), Turn::Saw(way.seen), entry);
        }
        Ok(())
    }

    /// Makes a call and delivers its result.
    pub(crate) fn read(&mut self, call: &Call, random: &mut Random) -> Step {
        match self.ask(call, random)? {
            Some(way) => self.deliver(way),
            None => Ok(()),
        }
    }

    /// A program gets the plain text, whatever the model holds; the model sees none of it.
    pub(crate) fn read_for_program(&mut self, call: &Call, random: &mut Random) -> Step {
        let request = Read { audience: Audience::Program, ..self.request(call) };
        let truth = self.world.truth(call.name);
        match self.engine().read(Some(&self.name()), request) {
            Ok(answer) => {
                let mut nobody = readproof_reader::Reader::default();
                let rebuilt = nobody.see(&call.seen(&answer)).ok().flatten();
                let plain = rebuilt.zip(truth).is_some_and(|(rebuilt, truth)| self.is_true(call, &rebuilt, &truth));
                if !plain || answer.mode.is_derived() {
                    return violation(format!("{call:?} for a program was answered {:?}", answer.text));
                }
                self.note(format!("{call:?} went to a program"));
                if let Some(receipt) = &answer.given {
                    self.conversation().push(Turn::Called { glimpsed: None }, Some(receipt.entry));
                    self.engine().delivered(receipt)?;
                }
                if random.below(2) == 0 {
                    self.program_prints(call, &answer, random);
                }
                Ok(())
            }
            Err(error) => self.refused(call, &[truth], &error),
        }
    }

    pub(crate) fn read_fresh(&mut self, call: &Call) -> Step {
        let request = Read { freshness: Freshness::Fresh, ..self.request(call) };
        let truth = self.world.truth(call.name);
        let result = self.engine().read(Some(&self.name()), request);
        if result.as_ref().is_ok_and(|answer| answer.mode.is_derived()) {
            return violation(format!("{call:?}: plain text was asked for"));
        }
        match self.judge(call, &[truth], result)? {
            Some(way) => self.deliver(way),
            None => Ok(()),
        }
    }

    /// Cancelled between two stages: nothing may be recorded.
    pub(crate) fn read_aborted(&mut self, call: &Call, random: &mut Random) -> Step {
        let (at, count) = (random.below(4), Cell::new(0));
        let request = self.request(call);
        let give_up = || {
            count.set(count.get() + 1);
            count.get() > at
        };
        let truth = self.world.truth(call.name);
        match self.engine().read_while(Some(&self.name()), request, &give_up) {
            Err(Error::Aborted) => {
                self.note(format!("{call:?} was given up at stage {at}"));
                Ok(())
            }
            Ok(answer) => violation(format!("{call:?} was answered {} after being given up", answer.mode.as_str())),
            Err(error) => self.refused(call, &[truth], &error),
        }
    }

    /// A turn of the current branch that satisfies something.
    pub(crate) fn some_turn(&mut self, random: &mut Random, is: fn(&Turn) -> bool) -> Option<(usize, EntryId)> {
        let conversation = self.conversation();
        let fit: Vec<usize> =
            conversation.window().into_iter().filter(|at| is(&conversation.nodes[*at].turn)).collect();
        let at = *random.pick(&fit)?;
        Some((at, conversation.nodes[at].entry?))
    }
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}
