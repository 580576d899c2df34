//! The audit as a concern of every call: its record becomes a line of the audit log, written by a thread of its own. A read does
//! not wait for that; a call that changed files waits until its line is durable. Lines that cannot be written are told with
//! the next answer, and counted. Also the way to the log for whoever reads it; only the person's own commands go there.

use readproof_core::{operation::rules::tokens, scope::Lines, tlog::TILE_WIDTH};
use readproof_disk::{Create, Lasting, Loaded, StoreError};
use readproof_hosts::{
    audit::{AuditError, AuditLog, AuditWriter, Begun, CallFacts, FileFacts, Line, Opened, Pending},
    block::Sha,
};
use std::{
    mem,
    sync::{Arc, Condvar, Mutex, MutexGuard, Weak},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use super::{CallRecord, Concern, Error, Notice};
use crate::{Engine, conversation::locked};

/// How long the first line of a batch waits for others.
const BATCH: Duration = Duration::from_millis(20);

/// How old the newest line may be before it is signed.
const UNSIGNED: Duration = Duration::from_secs(1);

/// How long the thread sleeps if nothing is to be done.
const IDLE: Duration = Duration::from_secs(3600);

/// As many lines are a batch at once.
const FULL: usize = 256;

/// A call waits while more lines than this are not written yet: memory is finite.
const MOST_WAITING: usize = 20_000;

/// How long the end of a program waits for the last lines.
const LAST_LINES: Duration = Duration::from_secs(5);

/// Whether every call leaves a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Auditing {
    /// None does.
    #[default]
    Off,
    /// Each does.
    On,
}

impl Auditing {
    /// As written in settings.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::On => "on",
        }
    }

    /// Reads [`Self::as_str`]; anything else is `None`.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Off, Self::On].into_iter().find(|auditing| auditing.as_str() == word)
    }
}

/// Takes each signed checkpoint to a place outside the store. A failure is told with the next answer.
pub type Witness = Arc<dyn Fn(&str) -> Result<(), String> + Send + Sync>;

/// What calls and the writing thread share.
#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: Vec<Pending>,
    /// How many calls were made.
    calls: u64,
    /// Up to which call lines are durable, or are known to have failed.
    durable: u64,
    /// Up to which call lines are written, or are known to have failed.
    written: u64,
    /// Whether a call waits for the disk.
    is_urgent: bool,
    /// Whether the program ends.
    is_over: bool,
    /// The calls whose lines could not be written.
    failed: Vec<u64>,
    /// How calls are counted; none before the first, and while there is no store.
    begun: Option<Begun>,
    is_running: bool,
}

/// The concern.
struct Audit {
    /// Without this concern: for the store, the clock and notices.
    engine: Engine,
    queue: Arc<Queue>,
    witness: Option<Witness>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Engine {
    /// Leaves a line in the audit log for every call, if the settings say so.
    #[must_use]
    pub fn with_audit(self, witness: Option<Witness>) -> Self {
        if self.shared.settings.audit == Auditing::Off {
            return self;
        }
        let (engine, queue, thread) = (self.clone(), Arc::default(), Mutex::default());
        self.with_concern(Arc::new(Audit { engine, queue, witness, thread }))
    }

    /// Waits, for a few seconds at most, until every call has its line: for the end of a program.
    pub fn finish_concerns(&self) {
        for concern in self.concerns.iter() {
            concern.finish();
        }
    }

    /// The audit log of this workspace, to be read; `None` if there is none.
    ///
    /// # Errors
    /// [`Error`] when it cannot be opened.
    pub fn audit_log(&self) -> Result<Option<AuditLog>, Error> {
        let Some(store) = self.store(Create::No)? else { return Ok(None) };
        Ok(AuditLog::open(&*store)?)
    }

    /// The newest line of a call that returned certain lines of a file, as the file was then; `None` if no kept text holds them.
    ///
    /// # Errors
    /// [`Error`] when the log cannot be read.
    pub fn audit_shown(&self, path: &str, (first, last): (u32, u32)) -> Result<Option<u64>, Error> {
        let (Some(log), Some(lines)) = (self.audit_log()?, Lines::new(first, last)) else { return Ok(None) };
        for bundle in (0..log.size()?.div_ceil(TILE_WIDTH)).rev() {
            let found = log.bundle(bundle)?.unwrap_or_default();
            for (at, line) in found.iter().enumerate().rev() {
                let entry = bundle * TILE_WIDTH + at as u64;
                if self.is_shown(&log, (entry, line), path, lines)? {
                    return Ok(Some(entry));
                }
            }
        }
        Ok(None)
    }

    fn is_shown(&self, log: &AuditLog, (entry, line): (u64, &[u8]), path: &str, lines: Lines) -> Result<bool, Error> {
        let Some(line @ Line::Call(_)) = Line::parse(line) else { return Ok(false) };
        let Line::Call(call) = &line else { return Ok(false) };
        let hash = call.files.iter().find(|file| file.path == path).and_then(|file| file.before);
        let Some(Loaded::Text(text)) = hash.map(|hash| self.load(hash.0)) else { return Ok(false) };
        if lines.last() > text.total() {
            return Ok(false);
        }
        let kept = log.disclosed(entry, &line)?;
        // The last line of an answer may lack its newline.
        Ok(kept.is_some_and(|kept| kept.text.contains(text.slice(lines).trim_end_matches('\n'))))
    }

    /// The audit log of this workspace, to sign or rotate it.
    ///
    /// # Errors
    /// [`Error`] when it cannot be written.
    pub fn audit_writer(&self) -> Result<AuditWriter, Error> {
        let store = self.store(Create::Yes)?.ok_or(Error::NoConversation)?;
        let with = Opened { keeps_texts: self.shared.settings.audit_texts, now: self.now() };
        Ok(AuditWriter::open(&*store, Begun::new(&*store)?, with)?)
    }
}

impl Concern for Audit {
    fn after(&self, record: &CallRecord<'_>) {
        let facts = facts(record);
        let must_last = facts.is_ok
            && (record.operation.is_change()
                || record.version().is_some()
                || record.stood_on.iter().any(|file| file.before != file.after));
        let mut state = locked(&self.queue.state);
        while state.waiting.len() >= MOST_WAITING && self.is_writing(&state) {
            state = self.wait(state, BATCH);
        }
        state.calls += 1;
        let seq = state.calls;
        if state.begun.is_none() {
            state.begun = self.begin();
        }
        if let Some(begun) = &state.begun {
            // Without a count a killed process is not missed; the line itself is written all the same.
            let _ = begun.calls(seq);
        }
        state.waiting.push(Pending { seq, facts });
        state.is_urgent |= must_last;
        if !state.is_running {
            state.is_running = self.start();
        }
        if must_last || state.waiting.len() == 1 || state.waiting.len() >= FULL {
            self.queue.changed.notify_all();
        }
        while must_last && state.durable < seq && self.is_writing(&state) {
            state = self.wait(state, UNSIGNED);
        }
    }

    fn finish(&self) {
        let end = Instant::now() + LAST_LINES;
        let mut state = locked(&self.queue.state);
        state.is_over = true;
        self.queue.changed.notify_all();
        while self.is_writing(&state) && Instant::now() < end {
            state = self.wait(state, BATCH);
        }
    }
}

impl Audit {
    fn begin(&self) -> Option<Begun> {
        let store = self.engine.store(Create::Yes).ok().flatten()?;
        Begun::new(&*store).ok()
    }

    /// Whether the thread that writes will come to what waits.
    fn is_writing(&self, state: &State) -> bool {
        state.is_running && locked(&self.thread).as_ref().is_some_and(|thread| !thread.is_finished())
    }

    fn wait<'s>(&self, state: MutexGuard<'s, State>, time: Duration) -> MutexGuard<'s, State> {
        self.queue.changed.wait_timeout(state, time).unwrap_or_else(std::sync::PoisonError::into_inner).0
    }

    /// Starts the thread that writes. If there can be none, lines stay unwritten, and are counted.
    fn start(&self) -> bool {
        let (queue, engine, witness) = (Arc::downgrade(&self.queue), self.engine.clone(), self.witness.clone());
        let run = move || Writing { queue, engine, witness, writer: None, signed: None, told: false }.run();
        let started = thread::Builder::new().name("audit".to_owned()).spawn(run).ok();
        let is_running = started.is_some();
        *locked(&self.thread) = started;
        is_running
    }
}

impl Drop for Audit {
    fn drop(&mut self) {
        self.finish();
    }
}

/// The thread that writes.
struct Writing {
    queue: Weak<Queue>,
    engine: Engine,
    witness: Option<Witness>,
    writer: Option<AuditWriter>,
    /// When the log was signed last, and how many calls had lines then.
    signed: Option<(Instant, u64)>,
    /// Whether it was told that nothing can be written.
    told: bool,
}

/// What to do next.
struct Batch {
    calls: Vec<Pending>,
    is_urgent: bool,
    is_over: bool,
}

impl Writing {
    fn run(mut self) {
        let began = Instant::now();
        while let Some(queue) = self.queue.upgrade() {
            let batch = self.next(&queue);
            let last = batch.calls.last().map(|call| call.seq);
            let lasting = if batch.is_urgent { Lasting::Yes } else { Lasting::No };
            let written = self.write(&batch.calls, lasting);
            let is_due = self.signed.is_none_or(|(at, _)| at.elapsed() >= UNSIGNED) && began.elapsed() >= UNSIGNED;
            let mut state = locked(&queue.state);
            if let Some(last) = last {
                if written.is_err() {
                    state.failed.extend(batch.calls.iter().map(|call| call.seq));
                }
                state.written = last;
                state.durable = if batch.is_urgent || written.is_err() { last } else { state.durable };
            }
            let written_all = state.written;
            queue.changed.notify_all();
            drop(state);
            // After those that wait were told: a signature is not part of what is acknowledged.
            let is_new = self.signed.is_none_or(|(_, calls)| calls < written_all);
            if is_new
                && written.is_ok()
                && (batch.is_urgent || is_due || (batch.is_over && began.elapsed() >= UNSIGNED))
            {
                self.sign(written_all);
            }
            if batch.is_over && locked(&queue.state).waiting.is_empty() {
                break;
            }
        }
        let Some(queue) = self.queue.upgrade() else { return };
        let mut state = locked(&queue.state);
        if let Some(writer) = self.writer.take() {
            writer.close(state.calls);
        }
        state.is_running = false;
        queue.changed.notify_all();
    }

    /// Waits until something is to be done.
    fn next(&self, queue: &Queue) -> Batch {
        let mut state = locked(&queue.state);
        let wait =
            |state, time| queue.changed.wait_timeout(state, time).unwrap_or_else(std::sync::PoisonError::into_inner);
        loop {
            let unsigned = self.signed.map_or(0, |(_, calls)| calls) < state.written;
            if !state.waiting.is_empty() || state.is_over {
                break;
            }
            let (now, waited) = wait(state, if unsigned { UNSIGNED } else { IDLE });
            state = now;
            if waited.timed_out() && unsigned {
                break;
            }
        }
        let end = Instant::now() + BATCH;
        while !state.waiting.is_empty() && !state.is_urgent && !state.is_over && state.waiting.len() < FULL {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state = wait(state, left).0;
        }
        let (calls, is_urgent) = (mem::take(&mut state.waiting), mem::take(&mut state.is_urgent));
        Batch { calls, is_urgent, is_over: state.is_over }
    }

    fn write(&mut self, calls: &[Pending], lasting: Lasting) -> Result<(), ()> {
        if calls.is_empty() {
            return Ok(());
        }
        let mut written = self.append(calls, lasting);
        if matches!(
            written,
            Err(Error::Audit(AuditError::Store(StoreError::Gone { .. }) | AuditError::NotAsSigned { .. }))
        ) {
            // Another process put the log aside, or it has to be now.
            self.writer = None;
            written = self.append(calls, lasting);
        }
        written.map_err(|why| {
            self.writer = None;
            if !mem::replace(&mut self.told, true) || lasting == Lasting::Yes {
                self.engine.add_notice(Notice::NotAudited { calls: calls.len() as u64, why: Arc::new(why) });
            }
        })
    }

    fn append(&mut self, calls: &[Pending], lasting: Lasting) -> Result<(), Error> {
        if self.writer.is_none() {
            self.writer = Some(self.open()?);
        }
        match &mut self.writer {
            Some(writer) => Ok(writer.append(calls, lasting)?),
            None => Ok(()),
        }
    }

    fn open(&self) -> Result<AuditWriter, Error> {
        let store = self.engine.store(Create::Yes)?.ok_or(Error::NoConversation)?;
        let queue = self.queue.upgrade();
        let begun = queue.as_ref().and_then(|queue| locked(&queue.state).begun.clone());
        let begun = match begun {
            Some(begun) => begun,
            None => Begun::new(&*store)?,
        };
        let with = Opened { keeps_texts: self.engine.settings().audit_texts, now: self.engine.now() };
        let writer = AuditWriter::open(&*store, begun, with)?;
        if let Some(aside) = writer.aside() {
            self.engine.add_notice(Notice::AuditPutAside(aside.to_owned()));
        }
        if let Some(queue) = queue {
            let mut state = locked(&queue.state);
            let begun = writer.begun();
            begun.calls(state.calls)?;
            state.begun = Some(begun);
        }
        Ok(writer)
    }

    fn sign(&mut self, calls: u64) {
        let Some(writer) = &mut self.writer else { return };
        match writer.sign() {
            Ok(note) => {
                self.signed = Some((Instant::now(), calls));
                let told = note.zip(self.witness.as_ref()).map(|(note, witness)| witness(&note));
                if let Some(Err(why)) = told {
                    self.engine.add_notice(Notice::NotWitnessed(why));
                }
            }
            Err(why) => {
                self.writer = None;
                self.engine.add_notice(Notice::NotAudited { calls: 0, why: Arc::new(why.into()) });
            }
        }
    }
}

/// What the line of a call is made of.
fn facts(record: &CallRecord<'_>) -> CallFacts {
    let text = record.text().into_owned();
    let file = |file: &super::StoodOn| FileFacts {
        path: file.path.clone(),
        before: file.before.map(Sha),
        after: file.after.map(Sha),
        sensitive: file.sensitive,
    };
    CallFacts {
        at: record.at,
        caller: record.caller.clone(),
        conversation: record.conversation.map(str::to_owned),
        tool: record.operation.name(),
        args: record.operation.fields(),
        code: record.code(),
        is_ok: record.error().is_none(),
        files: record.stood_on.iter().map(file).collect(),
        approval: record.approval.map(|id| id.to_string()),
        version: record.version().map(|id| id.to_string()),
        us: u64::try_from(record.took.as_micros()).unwrap_or(u64::MAX),
        tokens: tokens(text.len() as u64),
        text,
        rules: record.rules(),
        is_sensitive: record.is_sensitive(),
    }
}
