//! Writes the query log: what the record of a call says, in the form that a replay needs. A program that serves many calls hands
//! lines to a thread, so that no read waits; a change waits until its line is on the disk. Text of a sensitive file never gets here,
//! and a log that cannot be written costs the line, never the answer.

use readproof_core::{
    operation::Operation,
    text::{ContentHash, Text},
};
use readproof_disk::{SessionName, Store, Stores};
use readproof_hosts::{
    block::{Block, Sha},
    calls::{self, Calls, LoggedCall, LoggedFile},
    versions::By,
};
use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread::JoinHandle,
};

use super::{CallRecord, record::Canonical};
use crate::{Engine, conversation::locked};

/// The most lines that wait for the thread; a call that finds so many waits too.
const WAITING: usize = 1024;

/// Whether calls are logged, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CallLog {
    /// Not at all.
    #[default]
    Off,
    /// Before the answer is given: for a process that answers once.
    AtOnce,
    /// By a thread, except for changes.
    Later,
}

impl CallLog {
    /// The same for a program that serves many calls.
    #[must_use]
    pub fn later(self) -> Self {
        if self == Self::Off { Self::Off } else { Self::Later }
    }
}

/// A line on its way to a log.
struct Line {
    store: Arc<dyn Store>,
    session: Option<SessionName>,
    call: LoggedCall,
    /// What came back, unless that may not be kept.
    returned: Option<String>,
    /// Texts that a replay needs.
    texts: Vec<Text>,
    /// Told once the line is on the disk.
    durable: Option<SyncSender<()>>,
}

/// What the thread is handed.
enum Message {
    Line(Box<Line>),
    /// Told once every line before it is written.
    Done(SyncSender<()>),
}

/// The open logs.
struct Keeper {
    stores: Arc<dyn Stores>,
    open: Mutex<BTreeMap<Option<SessionName>, Calls>>,
}

impl Keeper {
    fn write(&self, line: Line) {
        let Line { store, session, mut call, returned, texts, durable } = line;
        for text in &texts {
            // Without it the call cannot be verified, and the replay says so.
            let _ = store.objects().put(text);
        }
        call.text = returned.map(|text| Block::of(&text));
        let mut open = locked(&self.open);
        // One that cannot be used is put aside once, as evidence.
        for _ in 0..2 {
            let calls = match open.remove(&session) {
                Some(calls) => Ok(calls),
                None => Calls::open(&*store, session.as_ref(), call.at),
            };
            let Ok(mut calls) = calls else {
                let _ = self.stores.retire(&readproof_disk::LogName::Calls(session.clone()));
                continue;
            };
            if calls.add(call.clone()).is_err() {
                continue;
            }
            if let Some(durable) = &durable {
                let _ = calls.sync();
                let _ = durable.send(());
            }
            if calls.is_long() {
                let _ = self.stores.retire(calls.name());
            } else {
                open.insert(session, calls);
            }
            return;
        }
    }
}

/// The thread that writes lines, as long as the engine lives.
struct Writer {
    lines: Option<SyncSender<Message>>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.lines = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Where calls are logged.
pub(crate) struct CallLogs {
    keeper: Arc<Keeper>,
    writer: Mutex<Option<Writer>>,
}

impl CallLogs {
    pub(crate) fn new(stores: &Arc<dyn Stores>) -> Self {
        let keeper = Arc::new(Keeper { stores: Arc::clone(stores), open: Mutex::default() });
        Self { keeper, writer: Mutex::default() }
    }

    /// Hands a line to the thread, which is started with the first.
    fn later(&self, line: Line) {
        let sender = {
            let mut writer = locked(&self.writer);
            let writer = writer.get_or_insert_with(|| {
                let (lines, taken): (SyncSender<Message>, Receiver<Message>) = sync_channel(WAITING);
                let keeper = Arc::clone(&self.keeper);
                let work = move || {
                    taken.into_iter().for_each(|message| match message {
                        Message::Line(line) => keeper.write(*line),
                        Message::Done(done) => drop(done.send(())),
                    });
                };
                let thread = std::thread::Builder::new().name("calls".to_owned()).spawn(work).ok();
                Writer { lines: thread.is_some().then_some(lines), thread }
            });
            writer.lines.clone()
        };
        match sender {
            Some(sender) => drop(sender.send(Message::Line(Box::new(line)))),
            None => self.keeper.write(line),
        }
    }

    /// Waits until every line so far is written.
    pub(super) fn finish(&self) {
        let sender = locked(&self.writer).as_ref().and_then(|writer| writer.lines.clone());
        let (done, wait) = sync_channel(1);
        if sender.is_some_and(|sender| sender.send(Message::Done(done)).is_ok()) {
            let _ = wait.recv();
        }
    }
}

impl Engine {
    /// Logs a call, if calls are logged and there is a store.
    pub(super) fn log_call(
        &self,
        session: Option<&SessionName>,
        record: &CallRecord<'_>,
        outcome: Option<&dyn Canonical>,
    ) {
        let how = self.shared.settings.call_log;
        // A replay would otherwise find itself in the log that it is about.
        if how == CallLog::Off || *record.operation == Operation::Replay {
            return;
        }
        let Ok(Some(store)) = self.store(readproof_disk::Create::No) else { return };
        let secret = record.is_sensitive();
        let mut texts = Vec::new();
        // What a change that failed brought along was meant for a file that nobody may have found.
        let bare = secret || (record.operation.is_change() && record.error().is_some());
        let args = if bare { calls::described(record.operation) } else { calls::encoded(record.operation) };
        let mut call = LoggedCall {
            at: record.at,
            by: By::from(record.caller),
            v: calls::vocabulary(),
            op: record.operation.name().to_owned(),
            args,
            code: record.code().to_owned(),
            rules: record.rules().iter().map(|rule| (*rule).into()).collect(),
            files: record.stood_on.iter().map(of_file).collect(),
            read: record.read.clone().filter(|_| !secret),
            inputs: record.inputs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
            text: None,
            found: outcome.map(Canonical::found).unwrap_or_default(),
            approval: record.approval.map(|id| id.to_string()),
            version: record.version().map(|id| id.0),
        };
        if self.asker.is_some() {
            // Its answer names files as the person of the other workspace knows them.
            call.inputs.insert("outside".to_owned(), "1".to_owned());
        }
        if secret {
            // What is searched for in a secret may be the secret.
            call.args.retain(|name, _| name == "path");
        }
        let mut brought = Vec::new();
        calls::texts_apart(&mut call.args, &mut brought);
        if session.is_some() && !secret {
            texts.extend(record.stood_on.iter().filter_map(|file| file.text.clone()));
            // What is no text cannot be stored, and was refused as well.
            texts.extend(brought.into_iter().filter_map(|text| Text::from_bytes(text.into_bytes()).ok()));
        }
        let returned = (!secret).then(|| record.text().into_owned());
        let (durable, done) = sync_channel(1);
        let waits = how == CallLog::Later && record.operation.is_change();
        let durable = record.operation.is_change().then_some(durable);
        let line = Line { store, session: session.cloned(), call, returned, texts, durable };
        match how {
            CallLog::Later => self.shared.calls.later(line),
            CallLog::AtOnce | CallLog::Off => self.shared.calls.keeper.write(line),
        }
        if waits {
            // A thread that is gone drops the sender.
            let _ = done.recv();
        }
    }
}

fn of_file(file: &super::StoodOn) -> LoggedFile {
    let changed = |hash: &ContentHash| file.before != Some(*hash);
    LoggedFile {
        path: file.path.clone(),
        before: file.before.map(Sha),
        after: file.after.filter(changed).map(Sha),
        removed: file.before.is_some() && file.after.is_none(),
        base: file.base.map(Sha),
        sensitive: file.sensitive,
    }
}
