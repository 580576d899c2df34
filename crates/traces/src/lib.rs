//! Plays recorded sessions of real agents, and transcripts of Claude Code, through the engine, in workspaces of their own, and counts what was sent and what
//! plain answers would have sent. The reader, which sees only what the model sees, rebuilds every answer; what it cannot
//! rebuild is a violation. Knows no wire and prints nothing; never looks at the user's workspace.
#![allow(
    missing_docs,
    reason = "a name that says everything needs no comment; the crate is only used in this workspace"
)]

mod count;
mod error;
mod host;
mod kept;
mod play;
mod recorded;
mod report;
mod tally;

pub use count::Counted;
pub use error::TracesError;
pub use host::requests;
pub use report::Report;
pub use tally::{Cost, SessionTally, Tally};

use readproof_core::limits::{Answers, Limits};
use std::{
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use count::Counter;
use host::Playing;
use kept::Kept;
use play::Play;
use recorded::Recorded;

/// What is measured, and where.
#[derive(Clone, Debug)]
pub struct Options {
    /// The folder with the recordings.
    pub traces: PathBuf,
    /// Which answers may be given.
    pub answers: Answers,
    /// When diffs are tried and markers sent; answers are never cut, as the recorded ones were not.
    pub limits: Limits,
    /// Only the first so many sessions.
    pub sessions: Option<usize>,
    /// Where workspaces are made.
    pub scratch: PathBuf,
    /// Where results are kept while it runs, so that the next run can go on where this one ended.
    pub keep: Option<PathBuf>,
    /// Whether to take over what an earlier run left there.
    pub resume: Resume,
}

/// Whether to take over the results that an earlier run left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resume {
    Yes,
    No,
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    pub sessions: usize,
    pub of: usize,
    pub reads: u64,
    /// Sessions whose results an earlier run left.
    pub resumed: usize,
}

/// Plays every session. `progress` is called after each one, from any thread.
///
/// # Errors
/// [`TracesError`] when the recordings cannot be read, or a workspace cannot be made.
pub fn run(options: &Options, progress: &(dyn Fn(Pace) + Sync)) -> Result<Report, TracesError> {
    let recorded = Recorded::open(&options.traces)?;
    let counter = Counter::new()?;
    let sessions = recorded.sessions(options.sessions);
    let kept = Kept::open(options, &recorded, &counter);
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::<SessionTally>::new()));
    let (broken, resumed) = (Mutex::new(None), AtomicUsize::new(0));
    let one = |number: u64| -> Result<SessionTally, TracesError> {
        if let Some(tally) = kept.of(number) {
            resumed.fetch_add(1, Ordering::Relaxed);
            return Ok(tally.clone());
        }
        let tally = match recorded.transcript(number) {
            Some(file) => Playing::all(options, file, number, &counter)?,
            None => Play::all(options, &recorded, number, &counter)?,
        };
        kept.add(&tally);
        Ok(tally)
    };
    let work = || {
        while let Some(number) = sessions.get(next.fetch_add(1, Ordering::Relaxed)) {
            match one(*number) {
                Ok(tally) => {
                    let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
                    done.push(tally);
                    let reads = done.iter().map(|tally| tally.strict.reads).sum();
                    let resumed = resumed.load(Ordering::Relaxed);
                    progress(Pace { sessions: done.len(), of: sessions.len(), reads, resumed });
                }
                Err(error) => {
                    *broken.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                    next.store(usize::MAX / 2, Ordering::Relaxed);
                    return;
                }
            }
        }
    };
    let workers = thread::available_parallelism().map_or(2, usize::from).min(8);
    thread::scope(|scope| (0..workers).for_each(|_| drop(scope.spawn(work))));
    if let Some(error) = broken.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    kept.remove();
    let mut sessions = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    sessions.sort_by_key(|tally| tally.session);
    let transcripts = sessions.iter().filter(|tally| recorded.transcript(tally.session).is_some()).count();
    Ok(Report { counted: counter.counted(), answers: options.answers, sessions, transcripts })
}

/// The name of a folder, for messages.
fn shown(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests make and look at files")]
mod tests {
    use super::*;
    use std::fs;

    const READ: &str = r#"{"s":N,"a":"main","t":"Read","path":"/a","start":1,"total":2,"blob":"x"}"#;

    fn options(folder: &Path) -> Options {
        let events: Vec<String> = (0..3).map(|n| READ.replace('N', &n.to_string())).collect();
        fs::write(folder.join("t.events.jsonl"), events.join("\n")).unwrap();
        fs::write(folder.join("t.blobs.jsonl"), r#"{"h":"x","s":"one\n"}"#).unwrap();
        Options {
            traces: folder.to_path_buf(),
            answers: Answers::Held,
            limits: Limits::default(),
            sessions: None,
            scratch: folder.to_path_buf(),
            keep: Some(folder.join("kept")),
            resume: Resume::Yes,
        }
    }

    #[test]
    fn a_run_that_was_ended_goes_on() {
        let dir = tempfile::tempdir().unwrap();
        let options = options(dir.path());
        let earlier =
            SessionTally { session: 1, strict: Tally { outside: 77, ..Tally::default() }, ..SessionTally::default() };
        let leave = || {
            let (recorded, counter) = (Recorded::open(dir.path()).unwrap(), Counter::new().unwrap());
            Kept::open(&options, &recorded, &counter).add(&earlier);
        };
        leave();
        let resumed = Mutex::new(0);
        let progress = |pace: Pace| *resumed.lock().unwrap() = pace.resumed;
        let report = run(&options, &progress).unwrap();
        assert_eq!((report.strict().reads, report.strict().outside), (2, 77));
        assert_eq!(*resumed.lock().unwrap(), 1);
        // What is over leaves nothing, and whoever wants to begins anew.
        assert_eq!(run(&options, &progress).unwrap().strict().reads, 3);
        leave();
        let anew = Options { resume: Resume::No, ..options.clone() };
        assert_eq!(run(&anew, &progress).unwrap().strict().reads, 3);
        // Results under other settings do not count.
        leave();
        let other = Options { answers: Answers::Seed, ..options.clone() };
        assert_eq!(run(&other, &progress).unwrap().strict().reads, 3);
    }
}
