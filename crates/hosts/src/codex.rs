//! Codex keeps a record of every thread, its rollout. It is read here for one thing: whether the model itself made a
//! call. Calls made by a script (Codex's code mode) carry the same `_meta`, but are not in the record as calls, and the
//! model sees only what the script prints.

use memchr::memmem;
use readproof_disk::{Appended, TranscriptFile, transcripts_named};
use serde::Deserialize;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

/// The most threads that are followed at once.
const THREADS: usize = 16;

/// The largest rollout that is read.
const MOST_BYTES: u64 = 1 << 30;

pub struct Rollouts {
    sessions: PathBuf,
    threads: BTreeMap<String, Rollout>,
}

impl Rollouts {
    /// `home` is what Codex calls `CODEX_HOME`.
    #[must_use]
    pub fn new(home: &Path) -> Self {
        Self { sessions: home.join("sessions"), threads: BTreeMap::new() }
    }

    /// Whether the record of a thread has this call as one that the model made. `false` if there is no record or it
    /// cannot be read.
    pub fn made(&mut self, thread: &str, call: &str) -> bool {
        let is_id = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        // A relative folder could be one that someone else made.
        if thread.is_empty() || call.is_empty() || !is_id(thread) || !self.sessions.is_absolute() {
            return false;
        }
        if self.threads.get_mut(thread).is_some_and(|rollout| rollout.has(call)) {
            return true;
        }
        // The thread may continue in another file.
        let Some(mut found) = self.newest(thread) else { return false };
        let has = found.has(call);
        if self.threads.len() >= THREADS {
            self.threads.clear();
        }
        self.threads.insert(thread.to_owned(), found);
        has
    }

    /// The newest rollout of a thread: `rollout-<time>-<thread>.jsonl`, or `…-<thread>_<id>.jsonl` after going back in
    /// it.
    fn newest(&self, thread: &str) -> Option<Rollout> {
        let is_it = |name: &str| {
            let stem = name.strip_prefix("rollout-").and_then(|name| name.strip_suffix(".jsonl"));
            stem.and_then(|stem| stem.split('_').next()).is_some_and(|stem| stem.ends_with(&format!("-{thread}")))
        };
        let path = transcripts_named(&self.sessions, &is_it).pop()?;
        let known = self.threads.get(thread).is_some_and(|rollout| rollout.path == path);
        if known {
            return None;
        }
        let file = TranscriptFile::open(&path, MOST_BYTES).ok()?;
        Some(Rollout { path, file, calls: BTreeSet::new() })
    }
}

struct Rollout {
    path: PathBuf,
    file: TranscriptFile,
    calls: BTreeSet<String>,
}

impl Rollout {
    fn has(&mut self, call: &str) -> bool {
        loop {
            match self.file.appended() {
                Ok(Appended::More(lines)) => self.take_in(&lines),
                Ok(Appended::Anew(lines)) => {
                    self.calls.clear();
                    self.take_in(&lines);
                }
                Ok(Appended::Nothing) => return self.calls.contains(call),
                Err(_) => return false,
            }
        }
    }

    fn take_in(&mut self, lines: &[u8]) {
        let finder = memmem::Finder::new(b"\"function_call\"");
        let called = |line: &&[u8]| finder.find(line).is_some();
        let calls = lines.split(|byte| *byte == b'\n').filter(called).filter_map(call_of);
        self.calls.extend(calls);
    }
}

/// The id of the call that a line records, if it records one.
fn call_of(line: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Line {
        r#type: String,
        payload: Payload,
    }
    #[derive(Deserialize)]
    struct Payload {
        r#type: String,
        call_id: String,
    }
    let line: Line = serde_json::from_slice(line).ok()?;
    let is_call = line.r#type == "response_item" && line.payload.r#type == "function_call";
    is_call.then_some(line.payload.call_id)
}
