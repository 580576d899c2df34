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
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use super::{CallRecord, Concern, Error, Notice, StoodOn, later::Later, record::PastCall};
use crate::{Engine, conversation::locked};

/// How old the newest line may be before it is signed.
const UNSIGNED: Duration = Duration::from_secs(1);

/// How long the thread sleeps if nothing is to be done.
const IDLE: Duration = Duration::from_secs(3600);

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

/// A call that waits for its line.
struct Waiting {
    /// The how many-th call of this process it is, from 1.
    seq: u64,
    past: Arc<PastCall>,
}

/// How this process counts its calls; none before the first, and while there is no store.
type Counting = Arc<Mutex<Option<Begun>>>;

/// The concern.
struct Audit {
    /// Without this concern: for the store, the clock and notices.
    engine: Engine,
    list: Arc<Later<Waiting>>,
    counting: Counting,
    witness: Option<Witness>,
}

impl Engine {
    /// Leaves a line in the audit log for every call, if the settings say so.
    #[must_use]
    pub fn with_audit(self, witness: Option<Witness>) -> Self {
        if self.shared.settings.audit == Auditing::Off {
            return self;
        }
        let (engine, list, counting) = (self.clone(), Arc::default(), Arc::default());
        self.with_concern(Arc::new(Audit { engine, list, counting, witness }))
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
        let past = Arc::clone(record.past());
        let (bytes, has_changed) = (past.text.len(), past.has_changed);
        let (engine, counting, witness) = (&self.engine, &self.counting, &self.witness);
        let make = |seq| {
            count(engine, counting, seq);
            Waiting { seq, past }
        };
        let (engine, counting, witness) = (engine.clone(), Arc::clone(counting), witness.clone());
        let work = move |list: &Later<Waiting>| {
            Writing { list, engine, counting, witness, writer: None, signed: None, told: false }.run();
        };
        let (seq, _unwritten) = self.list.add((bytes, has_changed), make, ("audit", work));
        if has_changed {
            self.list.wait_for(seq);
        }
    }

    fn finish(&self) {
        self.list.end(LAST_LINES);
    }
}

/// Counts a call before anything else, so that one that never gets its line is missed.
fn count(engine: &Engine, counting: &Counting, seq: u64) {
    let mut counting = locked(counting);
    if counting.is_none() {
        let store = engine.store(Create::Yes).ok().flatten();
        *counting = store.and_then(|store| Begun::new(&*store).ok());
    }
    if let Some(begun) = &*counting {
        // Without a count a killed process is not missed; the line itself is written all the same.
        let _ = begun.calls(seq);
    }
}

impl Drop for Audit {
    fn drop(&mut self) {
        self.finish();
    }
}

/// The thread that writes.
struct Writing<'l> {
    list: &'l Later<Waiting>,
    engine: Engine,
    counting: Counting,
    witness: Option<Witness>,
    writer: Option<AuditWriter>,
    /// When the log was signed last, and how many calls had lines then.
    signed: Option<(Instant, u64)>,
    /// Whether it was told that nothing can be written.
    told: bool,
}

impl Writing<'_> {
    fn run(mut self) {
        let (began, mut written, mut has_changed) = (Instant::now(), 0, false);
        loop {
            let is_unsigned = self.signed.map_or(0, |(_, calls)| calls) < written;
            let batch = self.list.next(if is_unsigned { UNSIGNED } else { IDLE });
            let lasting = if batch.is_urgent { Lasting::Yes } else { Lasting::No };
            let outcome = self.write(&batch.pieces, lasting);
            // Who waits for a line that cannot be written waits in vain.
            self.list.is_done(&batch, batch.is_urgent || outcome.is_err());
            written = batch.upto;
            has_changed |= batch.is_urgent;
            // After those that wait were told: a signature is not part of what is acknowledged. A program that only looks and ends
            // at once leaves it to the next one, unless nothing was ever signed.
            has_changed |= self.writer.as_ref().is_some_and(|writer| !writer.was_signed());
            let is_due = self.signed.map_or(began, |(at, _)| at).elapsed() >= UNSIGNED;
            let is_last = batch.is_over && (has_changed || began.elapsed() >= UNSIGNED);
            let is_new = self.signed.map_or(0, |(_, calls)| calls) < written;
            if is_new && outcome.is_ok() && (is_due || is_last) {
                self.sign(written);
            }
            if batch.is_over {
                break;
            }
        }
        if let Some(writer) = self.writer.take() {
            writer.close(self.list.count());
        }
    }

    fn write(&mut self, calls: &[Waiting], lasting: Lasting) -> Result<(), ()> {
        if calls.is_empty() {
            return Ok(());
        }
        let calls: Vec<Pending> =
            calls.iter().map(|Waiting { seq, past }| Pending { seq: *seq, facts: facts(past) }).collect();
        let mut written = self.append(&calls, lasting);
        if matches!(
            written,
            Err(Error::Audit(AuditError::Store(StoreError::Gone { .. }) | AuditError::NotAsSigned { .. }))
        ) {
            // Another process put the log aside, or it has to be now.
            self.writer = None;
            written = self.append(&calls, lasting);
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
        let begun = locked(&self.counting).clone();
        let begun = match begun {
            Some(begun) => begun,
            None => Begun::new(&*store)?,
        };
        let with = Opened { keeps_texts: self.engine.settings().audit_texts, now: self.engine.now() };
        let writer = AuditWriter::open(&*store, begun, with)?;
        if let Some(aside) = writer.aside() {
            self.engine.add_notice(Notice::AuditPutAside(aside.to_owned()));
        }
        let begun = writer.begun();
        // No call is counted in between.
        self.list.at_count(|calls| {
            let counted = begun.calls(calls);
            *locked(&self.counting) = Some(begun.clone());
            counted
        })?;
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
fn facts(past: &PastCall) -> CallFacts {
    let file = |file: &StoodOn| FileFacts {
        path: file.path.clone(),
        before: file.before.map(Sha),
        after: file.after.map(Sha),
        sensitive: file.sensitive,
    };
    CallFacts {
        at: past.at,
        caller: past.caller.clone(),
        conversation: past.conversation.clone(),
        tool: past.operation.name(),
        args: past.operation.fields(),
        code: past.code,
        is_ok: past.is_ok(),
        files: past.stood_on.iter().map(file).collect(),
        approval: past.approval.map(|id| id.to_string()),
        version: past.version.map(|id| id.to_string()),
        us: u64::try_from(past.took.as_micros()).unwrap_or(u64::MAX),
        tokens: tokens(past.text.len() as u64),
        text: past.text.clone(),
        rules: past.operation.rules(),
        is_sensitive: past.is_sensitive,
    }
}
