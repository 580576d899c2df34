//! Append-only logs in memory. An append compares how many lines there are with how many its handle has taken, as a log on
//! another machine would.

use readproof_core::text::ContentHash;
use readproof_disk::{Create, Log, LogError, LogId, LogName, Logs, RetiredLog, TakeLine};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use super::locked;

/// The logs of one store.
#[derive(Clone, Debug, Default)]
pub(super) struct MemoryLogs(Arc<Mutex<All>>);

#[derive(Debug, Default)]
struct All {
    in_use: BTreeMap<LogName, Arc<Lines>>,
    retired: BTreeMap<RetiredLog, Arc<Lines>>,
    /// How many were ever made.
    made: u64,
}

/// What one log holds, whatever its name.
#[derive(Debug)]
struct Lines {
    number: u64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    payloads: Vec<String>,
    out_of_use: bool,
}

impl MemoryLogs {
    /// How many logs are in use, and their bytes.
    pub(super) fn usage(&self) -> (u64, u64) {
        let all = locked(&self.0);
        let bytes =
            |lines: &Arc<Lines>| locked(&lines.state).payloads.iter().map(|line| line.len() as u64).sum::<u64>();
        (all.in_use.len() as u64, all.in_use.values().map(bytes).sum())
    }

    pub(super) fn retire(&self, log: &LogName) -> Option<RetiredLog> {
        let mut all = locked(&self.0);
        let lines = all.in_use.remove(log)?;
        let says_nothing = {
            let mut state = locked(&lines.state);
            state.out_of_use = true;
            state.payloads.len() < 2
        };
        if says_nothing {
            return None;
        }
        let numbers = all.retired.keys().filter(|retired| retired.log == *log).map(|retired| retired.number);
        let retired = RetiredLog { log: log.clone(), number: numbers.max().unwrap_or(0) + 1 };
        all.retired.insert(retired.clone(), lines);
        Some(retired)
    }

    fn handle(&self, log: &LogName, lines: &Arc<Lines>, kind: Kind) -> Box<dyn Log> {
        let id = LogId::at((0, lines.number));
        Box::new(MemoryLog { log: log.clone(), lines: Arc::clone(lines), logs: self.clone(), kind, id, taken: 0 })
    }
}

impl All {
    fn make(&mut self) -> Arc<Lines> {
        self.made += 1;
        Arc::new(Lines { number: self.made, state: Mutex::default() })
    }
}

impl Logs for MemoryLogs {
    fn list(&self) -> Vec<LogName> {
        locked(&self.0).in_use.keys().cloned().collect()
    }

    fn open(&self, log: &LogName, create: Create) -> Result<Option<Box<dyn Log>>, LogError> {
        let mut all = locked(&self.0);
        if create == Create::Yes && !all.in_use.contains_key(log) {
            let lines = all.make();
            all.in_use.insert(log.clone(), lines);
        }
        Ok(all.in_use.get(log).map(|lines| self.handle(log, lines, Kind::InUse)))
    }

    fn draft(&self, log: &LogName) -> Result<Box<dyn Log>, LogError> {
        let lines = locked(&self.0).make();
        Ok(self.handle(log, &lines, Kind::Draft))
    }

    fn look(&self, log: &LogName) -> Result<Option<Box<dyn Log>>, LogError> {
        Ok(locked(&self.0).in_use.get(log).map(|lines| self.handle(log, lines, Kind::Evidence)))
    }

    fn retired(&self) -> Vec<RetiredLog> {
        locked(&self.0).retired.keys().cloned().collect()
    }

    fn look_at_retired(&self, retired: &RetiredLog) -> Result<Box<dyn Log>, LogError> {
        let gone = || LogError::Gone { log: retired.log.clone() };
        let lines = locked(&self.0).retired.get(retired).cloned().ok_or_else(gone)?;
        Ok(self.handle(&retired.log, &lines, Kind::Evidence))
    }
}

/// What a handle is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    InUse,
    Draft,
    Evidence,
}

#[derive(Debug)]
struct MemoryLog {
    log: LogName,
    lines: Arc<Lines>,
    logs: MemoryLogs,
    kind: Kind,
    id: LogId,
    /// How many lines this handle has taken or appended.
    taken: usize,
}

impl MemoryLog {
    fn took(&mut self, payload: &str) {
        self.id.note(ContentHash::of_parts(&[&self.lines.number.to_le_bytes(), payload.as_bytes()]));
        self.taken += 1;
    }

    fn gone(&self) -> LogError {
        LogError::Gone { log: self.log.clone() }
    }
}

impl Log for MemoryLog {
    fn id(&self) -> LogId {
        self.id
    }

    fn lines(&self) -> u64 {
        self.taken as u64
    }

    fn torn(&self) -> u64 {
        0
    }

    fn is_out_of_use(&self) -> bool {
        locked(&self.lines.state).out_of_use
    }

    fn catch_up_each(&mut self, take: TakeLine<'_>) -> Result<(), LogError> {
        let new = {
            let state = locked(&self.lines.state);
            if state.out_of_use && self.kind != Kind::Evidence {
                return Err(self.gone());
            }
            state.payloads[self.taken..].to_vec()
        };
        for payload in new {
            if take(self.lines() + 1, &payload).is_break() {
                break;
            }
            self.took(&payload);
        }
        Ok(())
    }

    fn append(&mut self, payload: &str) -> Result<u64, LogError> {
        let log = || self.log.clone();
        if payload.contains(['\n', '\u{18}']) {
            return Err(LogError::BadPayload { log: log() });
        }
        {
            let mut state = locked(&self.lines.state);
            match self.kind {
                Kind::Evidence => return Err(LogError::ReadOnly { log: log() }),
                Kind::InUse | Kind::Draft if state.out_of_use => return Err(self.gone()),
                Kind::InUse | Kind::Draft => {}
            }
            if state.payloads.len() != self.taken {
                return Err(LogError::Behind { log: log() });
            }
            state.payloads.push(payload.to_owned());
        }
        self.took(payload);
        Ok(self.lines())
    }

    fn sync(&self) -> Result<(), LogError> {
        Ok(())
    }

    fn publish(&mut self) -> Result<bool, LogError> {
        if self.kind != Kind::Draft {
            return Ok(true);
        }
        let mut all = locked(&self.logs.0);
        if all.in_use.contains_key(&self.log) {
            return Ok(false);
        }
        all.in_use.insert(self.log.clone(), Arc::clone(&self.lines));
        self.kind = Kind::InUse;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use readproof_disk::SessionName;

    #[test]
    fn a_handle_that_is_behind_appends_nothing() {
        for name in [LogName::Session(SessionName::parse("s").unwrap()), LogName::Versions, LogName::Approvals] {
            behind(&MemoryLogs::default(), &name);
        }
    }

    fn behind(logs: &MemoryLogs, name: &LogName) {
        let open = || logs.open(name, Create::Yes).unwrap().unwrap();
        let (mut one, mut other) = (open(), open());
        assert_eq!((one.append("a").unwrap(), one.append("b").unwrap()), (1, 2));
        assert!(matches!(other.append("blind"), Err(LogError::Behind { .. })));
        assert_eq!(other.catch_up().unwrap().len(), 2);
        assert_eq!(other.append("c").unwrap(), 3);
        assert_eq!(one.id(), other.id());
        assert_eq!((logs.list(), logs.sessions().len()), (vec![name.clone()], usize::from(name.session().is_some())));
        let retired = logs.retire(name).unwrap();
        assert!(matches!(one.catch_up(), Err(LogError::Gone { .. })));
        assert!(matches!(other.append("late"), Err(LogError::Gone { .. })));
        assert_eq!(logs.look_at_retired(&retired).unwrap().catch_up().unwrap().len(), 3);
        assert!(logs.list().is_empty() && open().id() != one.id());
    }
}
