//! Writes the query log: what the record of a call says, in the form that a replay needs. A program that serves many calls leaves
//! that to a thread, so that no read waits; a change waits until its line is on the disk. Text of a sensitive file never gets here.
//! A log that cannot be written costs the line, never the answer; what was lost is said with the next answer, and in the log as
//! soon as that can be written again.

use readproof_core::{
    operation::Operation,
    text::{ContentHash, Text},
};
use readproof_disk::{Create, LogName, SessionName, Store, Stores};
use readproof_hosts::{
    block::{Block, Sha},
    calls::{self, Calls, CallsError, LoggedCall, LoggedFile},
    versions::By,
};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use super::{
    CallRecord, Error, Notice,
    later::Later,
    record::{PastCall, StoodOn},
};
use crate::{Engine, conversation::locked};

/// How long the end of a program waits for the last lines.
const LAST_LINES: Duration = Duration::from_secs(5);

/// How long the thread sleeps if nothing is to be done.
const IDLE: Duration = Duration::from_secs(3600);

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

/// A call on its way to a log.
struct Waiting {
    store: Arc<dyn Store>,
    past: Arc<PastCall>,
    /// Whether it was made in a folder outside the workspace, for the person of the workspace.
    is_outside: bool,
}

/// Lines that could not be written.
#[derive(Default)]
struct Lost {
    /// Since the log could last be written, by log.
    by_log: BTreeMap<Option<SessionName>, u64>,
    /// Not said yet, and why the latest was lost.
    unsaid: Option<(u64, Error)>,
}

/// The open logs.
struct Keeper {
    stores: Arc<dyn Stores>,
    open: Mutex<BTreeMap<Option<SessionName>, Calls>>,
    lost: Mutex<Lost>,
}

impl Keeper {
    fn write(&self, waiting: &Waiting) {
        if let Err(why) = self.try_write(waiting) {
            self.lose(&waiting.past, why.into());
        }
    }

    fn lose(&self, past: &PastCall, why: Error) {
        let mut lost = locked(&self.lost);
        *lost.by_log.entry(past.session.clone()).or_default() += 1;
        let calls = lost.unsaid.take().map_or(0, |(calls, _)| calls) + 1;
        lost.unsaid = Some((calls, why));
    }

    fn try_write(&self, waiting: &Waiting) -> Result<(), CallsError> {
        let Waiting { store, past, .. } = waiting;
        let (call, texts) = logged(waiting);
        for text in &texts {
            // Without it the call cannot be verified, and the replay says so.
            let _ = store.objects().put(text);
        }
        let mut open = locked(&self.open);
        let mut why = None;
        // One that cannot be used is put aside once, as evidence.
        for _ in 0..2 {
            let calls = match open.remove(&past.session) {
                Some(calls) => Ok(calls),
                None => Calls::open(&**store, past.session.as_ref(), call.at),
            };
            let mut calls = match calls {
                Ok(calls) => calls,
                Err(error) => {
                    if error.is_damage() {
                        let _ = self.stores.retire(&LogName::Calls(past.session.clone()));
                    }
                    why = Some(error);
                    continue;
                }
            };
            let missing = locked(&self.lost).by_log.get(&past.session).copied().unwrap_or(0);
            if missing > 0
                && let Err(error) = calls.add_gap(call.at, missing)
            {
                why = Some(error.into());
                continue;
            }
            locked(&self.lost).by_log.remove(&past.session);
            if let Err(error) = calls.add(call.clone()) {
                why = Some(error.into());
                continue;
            }
            let synced = if past.has_changed { calls.sync() } else { Ok(()) };
            if calls.is_long() {
                let _ = self.stores.retire(calls.name());
            } else {
                open.insert(past.session.clone(), calls);
            }
            return Ok(synced?);
        }
        why.map_or(Ok(()), Err)
    }

    /// The thread that writes lines, until the engine goes.
    fn work(&self, list: &Later<Waiting>) {
        loop {
            let batch = list.next(IDLE);
            batch.pieces.iter().for_each(|waiting| self.write(waiting));
            // Each change was synced by itself.
            list.is_done(&batch, true);
            if batch.is_over {
                return;
            }
        }
    }
}

/// Where calls are logged.
pub(crate) struct CallLogs {
    keeper: Arc<Keeper>,
    list: Arc<Later<Waiting>>,
}

impl Drop for CallLogs {
    fn drop(&mut self) {
        self.list.end(LAST_LINES);
    }
}

impl CallLogs {
    pub(crate) fn new(stores: &Arc<dyn Stores>) -> Self {
        let keeper = Keeper { stores: Arc::clone(stores), open: Mutex::default(), lost: Mutex::default() };
        Self { keeper: Arc::new(keeper), list: Arc::default() }
    }

    /// Leaves a line to the thread; a change waits for it.
    fn later(&self, waiting: Waiting) {
        let (bytes, has_changed) = (waiting.past.text.len(), waiting.past.has_changed);
        let keeper = Arc::clone(&self.keeper);
        let work = move |list: &Later<Waiting>| keeper.work(list);
        let (number, back) = self.list.add((bytes, has_changed), |_| waiting, ("calls", work));
        match back {
            Some(waiting) => self.keeper.write(&waiting),
            None if has_changed => self.list.wait_for(number),
            None => {}
        }
    }

    /// Waits until every line so far is written.
    pub(super) fn finish(&self) {
        self.list.flush(LAST_LINES);
    }

    /// What is to be said of lines that were lost.
    pub(super) fn take_lost(&self) -> Option<Notice> {
        let (calls, why) = locked(&self.keeper.lost).unsaid.take()?;
        Some(Notice::NotLogged { calls, why: Arc::new(why) })
    }
}

impl Engine {
    /// Logs a call, if calls are logged and there is a store.
    pub(super) fn log_call(&self, record: &CallRecord<'_>) {
        let how = self.shared.settings.call_log;
        // A replay would otherwise find itself in the log that it is about.
        if how == CallLog::Off || *record.operation == Operation::Replay {
            return;
        }
        let store = match self.store(Create::No) {
            Ok(Some(store)) => store,
            Ok(None) => return,
            Err(why) => return self.shared.calls.keeper.lose(record.past(), why),
        };
        let waiting = Waiting { store, past: Arc::clone(record.past()), is_outside: self.asker.is_some() };
        match how {
            CallLog::Later => self.shared.calls.later(waiting),
            CallLog::AtOnce | CallLog::Off => self.shared.calls.keeper.write(&waiting),
        }
    }
}

/// The line of a call, and the texts that a replay of it needs.
fn logged(Waiting { past, is_outside, .. }: &Waiting) -> (LoggedCall, Vec<Text>) {
    let secret = past.is_sensitive;
    // What a call that failed brought along was meant for something that nobody may have found.
    let bare = secret || !past.is_ok();
    let args = if bare { calls::described(&past.operation) } else { calls::encoded(&past.operation) };
    let noted = &past.noted;
    let mut call = LoggedCall {
        at: past.at,
        by: By::from(&past.caller),
        v: calls::vocabulary(),
        op: past.operation.name().to_owned(),
        args,
        code: past.code.to_owned(),
        rules: past.operation.rules().iter().map(|rule| (*rule).into()).collect(),
        files: past.stood_on.iter().map(of_file).collect(),
        read: noted.read.clone().filter(|_| !secret),
        inputs: noted.inputs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
        text: (!secret).then(|| Block::of(&past.text)),
        found: past.found.clone(),
        approval: past.approval.map(|id| id.to_string()),
        version: past.version.map(|id| id.0),
    };
    if *is_outside {
        // Its answer names files as the person of the other workspace knows them.
        call.inputs.insert("outside".to_owned(), "1".to_owned());
    }
    if secret {
        // What is searched for in a secret may be the secret.
        call.args.retain(|name, _| name == "path");
    }
    let (mut brought, mut texts) = (Vec::new(), Vec::new());
    calls::texts_apart(&mut call.args, &mut brought);
    if past.conversation.is_some() && !secret {
        texts.extend(past.stood_on.iter().filter_map(|file| file.text.clone()));
        texts.extend(noted.texts.iter().cloned());
        // What is no text cannot be stored, and was refused as well.
        texts.extend(brought.into_iter().filter_map(|text| Text::from_bytes(text.into_bytes()).ok()));
    }
    (call, texts)
}

fn of_file(file: &StoodOn) -> LoggedFile {
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
