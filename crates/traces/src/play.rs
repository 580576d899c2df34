//! One recorded session in a workspace of its own: every read, edit, write and compaction through the door, and the reader beside
//! it. What the model sees is modelled from the calls and their visible answers alone.

mod sight;
mod stage;

use readproof_core::{
    decide::Mode,
    edit::{Piece, Places},
    limits::{Answers, Limits},
    operation::{Caller, Change, Operation, Over, Read, Write},
    path::Bearings,
    policy::Preset,
};
use readproof_disk::{PolicySources, Root, Scratch, SessionName};
use readproof_engine::{
    Answer, Auditing, Call, CallLog, Control, Engine, Error, LoggedSession, Outcome, Receipt, Settings, Written,
};
use readproof_reader::{Reader, Rendered, Replaces, Seen};
use readproof_words::notice::notices as words;
use std::collections::BTreeMap;

pub(crate) use self::sight::Sight;
use self::stage::as_size;
use crate::{
    Cost, Options, SessionTally, Tally, TracesError,
    count::Counter,
    recorded::{Event, Recorded, Step},
};

/// Whether a compaction ends what is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Barrier {
    Strict,
    /// As if no compaction had been: what that would save, not what may be answered.
    None,
}

/// Who makes the agent's edits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Edits {
    /// The agent, by calls.
    Own,
    /// Someone else, as where a host does not tell of them.
    Unreported,
}

/// How a session is played.
#[derive(Clone, Copy, Debug)]
struct Variant {
    barrier: Barrier,
    edits: Edits,
    answers: Answers,
}

/// No answer is cut: the recorded ones were cut already, by their `limit`.
const ANSWER_LINES: u32 = 1_000_000;
const ANSWER_BYTES: u32 = 50_000_000;

/// A session that is being played.
pub(crate) struct Play<'a> {
    recorded: &'a Recorded,
    counter: &'a Counter,
    number: u64,
    events: &'a [Event],
    variant: Variant,
    scratch: Scratch,
    engine: Engine,
    /// What each agent can see.
    readers: BTreeMap<SessionName, Reader>,
    /// A neutral name for each path, so that none is sensitive or outside the workspace.
    names: BTreeMap<String, String>,
    tally: Tally,
}

impl<'a> Play<'a> {
    /// Plays a session with the strict barrier, and again with one thing changed each time.
    pub(crate) fn all(
        options: &Options,
        recorded: &'a Recorded,
        session: u64,
        counter: &'a Counter,
    ) -> Result<SessionTally, TracesError> {
        let play = |variant| Self::new(options, recorded, (session, variant), counter)?.run();
        let as_is = Variant { barrier: Barrier::Strict, edits: Edits::Own, answers: options.answers };
        let strict = play(as_is)?;
        // Without a compaction, or an edit, the two are the same.
        let open = match strict.compactions {
            0 => strict.clone(),
            _ => play(Variant { barrier: Barrier::None, ..as_is })?,
        };
        let unreported = match strict.edits {
            0 => strict.clone(),
            _ => play(Variant { edits: Edits::Unreported, ..as_is })?,
        };
        let seed = match options.answers {
            Answers::Seed => strict.clone(),
            Answers::Held => play(Variant { answers: Answers::Seed, ..as_is })?,
        };
        Ok(SessionTally { session, strict, open, unreported, seed })
    }

    fn new(
        options: &Options,
        recorded: &'a Recorded,
        (number, variant): (u64, Variant),
        counter: &'a Counter,
    ) -> Result<Self, TracesError> {
        let scratch = Scratch::new(&options.scratch, "readproof-traces")?;
        let root = Root::open(scratch.path())?;
        let bearings = Bearings { cwd: root.path().display().to_string(), home: None };
        let limits = Limits { answer_lines: ANSWER_LINES, answer_bytes: ANSWER_BYTES, ..options.limits };
        let settings = Settings {
            limits,
            answers: variant.answers,
            // Nobody can be asked.
            policy: PolicySources { preset: Some(Preset::Open), ..PolicySources::default() },
            audit: Auditing::Off,
            call_log: CallLog::Off,
            ..Settings::default()
        };
        let engine = Engine::new(root, bearings, settings, Box::new(|| 0))?;
        let (readers, names) = (BTreeMap::new(), BTreeMap::new());
        let (events, tally) = (recorded.events(number), Tally::default());
        Ok(Self { recorded, counter, number, events, variant, scratch, engine, readers, names, tally })
    }

    fn run(mut self) -> Result<Tally, TracesError> {
        let events = self.events;
        for (at, event) in events.iter().enumerate() {
            match event.step() {
                Some(Step::Read) => self.read(at, event)?,
                Some(Step::Edit | Step::Write) => self.change(event)?,
                Some(Step::Compaction) => self.compact(event)?,
                None => {}
            }
        }
        Ok(self.tally)
    }

    fn text_of(&self, hash: Option<&String>) -> Option<&'a str> {
        self.recorded.text(hash)
    }

    fn name(&mut self, path: &str) -> String {
        let number = self.names.len();
        self.names.entry(path.to_owned()).or_insert_with(|| format!("file{number}.txt")).clone()
    }

    fn put(&self, name: &str, text: &str) -> Result<(), TracesError> {
        if self.scratch.text(name).as_deref() != Some(text) {
            self.scratch.put(name, text)?;
        }
        Ok(())
    }

    /// Each agent is a conversation.
    fn session(event: &Event) -> Result<SessionName, TracesError> {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let name = format!("a-{}", event.a.chars().map(plain).take(40).collect::<String>());
        Ok(SessionName::parse(&name).map_err(Error::from)?)
    }

    fn perform(&self, event: &Event, operation: Operation) -> Result<Outcome<Option<Receipt>>, TracesError> {
        let session = Self::session(event)?;
        let caller = Caller { conversation: Some(session.to_string()), ..Caller::of("traces") };
        let mut conversation = LoggedSession::new(session);
        let call = Call { caller: &caller, conversation: &mut conversation, operation, control: Control::WAIT };
        Ok(self.engine.perform(call)?)
    }

    fn reader(&mut self, event: &Event) -> Result<&mut Reader, TracesError> {
        Ok(self.readers.entry(Self::session(event)?).or_default())
    }

    fn compact(&mut self, event: &Event) -> Result<(), TracesError> {
        self.tally.compactions += 1;
        if self.variant.barrier == Barrier::Strict && self.readers.contains_key(&Self::session(event)?) {
            self.perform(event, Operation::Compact { summary: None })?;
            *self.reader(event)? = Reader::default();
        }
        Ok(())
    }

    fn read(&mut self, at: usize, event: &Event) -> Result<(), TracesError> {
        let (Some(path), Some(served)) = (event.path.as_deref(), self.text_of(event.blob.as_ref())) else {
            return Ok(());
        };
        let name = self.name(path);
        self.stage(at, &name, served)?;
        let truth = self.scratch.text(&name).unwrap_or_default();
        let (offset, limit) = asked(event, served, &truth);
        let read = Read { path: name.clone(), offset, limit, ..Read::default() };
        let answer = match self.perform(event, Operation::Read(read)) {
            Ok(outcome) => outcome.into_answer()?,
            // The recording asks for lines that the file does not have.
            Err(TracesError::Engine(_)) => return Ok(()),
            Err(broken) => return Err(broken),
        };
        if let Some(receipt) = &answer.given {
            self.engine.delivered(receipt)?;
        }
        let first = as_size(offset.unwrap_or(1)) - 1;
        let most = as_size(limit.unwrap_or(u64::MAX));
        let plain: String = truth.split_inclusive('\n').skip(first).take(most).collect();
        let why = format!("{} ({})", answer.mode.as_str(), answer.reason.as_str());
        let sight = Sight::of(self.reader(event)?, &name, &plain, first as u64 + 1);
        self.count(&answer, &plain, &why, sight);

        let rendered = Rendered { text: answer.text, notices: words(&answer.notices) };
        let seen = Seen::Read { path: name, offset, limit, answer: rendered };
        let wrong = judged(self.reader(event)?, &seen, &plain, first as u64 + 1);
        let told = |wrong| format!("session {} agent {} step {at}, {why}: {wrong}", self.number, event.a);
        self.tally.violations.extend(wrong.map(told));
        Ok(())
    }

    fn count(&mut self, answer: &Answer<Option<Receipt>>, plain: &str, why: &str, sight: Sight) {
        let tokens = self.counter.tokens(plain);
        let text = if answer.text == plain { tokens } else { self.counter.tokens(&answer.text) };
        let notices: u64 = words(&answer.notices).iter().map(|notice| self.counter.tokens(notice)).sum();
        let cost = Cost { reads: 1, plain: tokens, sent: text + notices };
        self.tally.reads += 1;
        self.tally.decisions.entry(why.to_owned()).or_default().add(cost);
        if matches!(answer.mode, Mode::Full | Mode::BaselineFallback) {
            let of_sight = self.tally.plain.entry(sight.as_str().to_owned()).or_default();
            of_sight.entry(why.to_owned()).or_default().add(cost);
        }
    }

    fn change(&mut self, event: &Event) -> Result<(), TracesError> {
        let Some(path) = event.path.as_deref() else { return Ok(()) };
        let name = self.name(path);
        if let Some(before) = self.text_of(event.before.as_ref()) {
            self.put(&name, before)?;
        }
        let seen = match event.step() {
            Some(Step::Write) => self.write(event, &name)?,
            _ => self.edit(event, &name)?,
        };
        let Some(seen) = seen else {
            self.tally.outside += 1;
            return Ok(());
        };
        self.tally.edits += 1;
        if let Err(complaint) = self.reader(event)?.see(&seen) {
            self.tally.violations.push(format!("session {} agent {}: {complaint}", self.number, event.a));
        }
        Ok(())
    }

    /// Makes a change; `None` if it was refused, or is not the agent's.
    fn changed(
        &mut self,
        event: &Event,
        name: &str,
        change: Change,
        over: Over,
    ) -> Result<Option<String>, TracesError> {
        if self.variant.edits == Edits::Unreported {
            return Ok(None);
        }
        let write = Write { path: name.to_owned(), change, over };
        let written: Written = match self.perform(event, Operation::Write(write)) {
            Ok(outcome) => outcome.try_into()?,
            Err(TracesError::Engine(_)) => return Ok(None),
            Err(broken) => return Err(broken),
        };
        for receipt in &written.receipts {
            self.engine.delivered(receipt)?;
        }
        self.tally.edit_answers += self.counter.tokens(&written.text);
        Ok(Some(written.text))
    }

    /// The recorded host let the agent write, so what is there is replaced. A refused write is still made.
    fn write(&mut self, event: &Event, name: &str) -> Result<Option<Seen>, TracesError> {
        let Some(content) = self.text_of(event.blob.as_ref()) else { return Ok(None) };
        if self.changed(event, name, Change::Whole(content.to_owned()), Over::Anything)?.is_none() {
            self.put(name, content)?;
            return Ok(None);
        }
        Ok(Some(Seen::Write { path: name.to_owned(), content: content.to_owned() }))
    }

    /// The same for an edit.
    fn edit(&mut self, event: &Event, name: &str) -> Result<Option<Seen>, TracesError> {
        let (Some(old), Some(new)) = (self.text_of(event.old.as_ref()), self.text_of(event.new.as_ref())) else {
            return Ok(None);
        };
        let all = event.all == Some(true);
        let piece = Piece::replace(old.to_owned(), new.to_owned(), if all { Places::All } else { Places::One });
        let Some(answer) = self.changed(event, name, Change::Edit(vec![piece]), Over::Held)? else {
            let text = self.scratch.text(name).unwrap_or_default();
            self.put(name, &if all { text.replace(old, new) } else { text.replacen(old, new, 1) })?;
            return Ok(None);
        };
        let replaces = if all { Replaces::All } else { Replaces::One };
        Ok(Some(Seen::Edit { path: name.to_owned(), old: old.to_owned(), new: new.to_owned(), replaces, answer }))
    }
}

/// What is wrong with an answer: it cannot be rebuilt from what is visible, or something else is rebuilt.
fn judged(reader: &mut Reader, seen: &Seen, plain: &str, first: u64) -> Option<String> {
    match reader.see(seen) {
        Ok(Some(rebuilt)) if rebuilt.text == plain && rebuilt.first == first => None,
        Ok(_) => Some("what was rebuilt is not what the file says".to_owned()),
        Err(complaint) => Some(complaint.to_string()),
    }
}

/// The window of a read. One without a limit got only what was served.
fn asked(event: &Event, served: &str, truth: &str) -> (Option<u64>, Option<u64>) {
    let lines = |text: &str| text.split('\n').count() as u64;
    let offset = event.offset.filter(|offset| *offset > 1);
    let is_cut = offset.unwrap_or(1) - 1 + lines(served) < lines(truth);
    (offset, event.limit.or_else(|| is_cut.then(|| lines(served))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_cannot_be_rebuilt_is_a_violation() {
        let mut reader = Reader::default();
        let read = |text: &str| {
            let answer = Rendered { text: text.to_owned(), notices: Vec::new() };
            Seen::Read { path: "a".to_owned(), offset: None, limit: None, answer }
        };
        assert_eq!(judged(&mut reader, &read("one\ntwo\n"), "one\ntwo\n", 1), None);
        assert_eq!(judged(&mut reader, &read("[readcache: unchanged, 2 lines]"), "one\ntwo\n", 1), None);
        // The file changed, and the model is told that it did not.
        assert!(judged(&mut reader, &read("[readcache: unchanged, 2 lines]"), "one\n2\n", 1).is_some());
        // After a compaction nothing is visible.
        let mut reader = Reader::default();
        assert!(judged(&mut reader, &read("[readcache: unchanged, 2 lines]"), "one\ntwo\n", 1).is_some());
    }
}
