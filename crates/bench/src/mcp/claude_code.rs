//! Claude Code's transcripts: opening one against skipping through its lines, and a step on a long one against the same on a short
//! one. The transcripts are generated, with the record of every request and true hashes, and the same every time.

use std::{
    borrow::Cow,
    fs::{File, OpenOptions},
    hint::black_box,
    io::Write as _,
    time::Instant,
};

use readproof_core::{limits::Answers, path::PathKey, scope::Lines, text::ContentHash, text::Form};
use readproof_disk::{Appended, TranscriptFile};
use readproof_hosts::claude_code::{Source, Transcript};
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    Broken,
    cases::Case,
    harness::{Bar, Samples, Subject, Unit, measure},
};

const LONG: usize = 50 * 1024 * 1024;
const SHORT: usize = 1024 * 1024;

/// What the work of the hook may take, in nanoseconds.
const HOOK: u64 = 15_000_000;

/// A line of a file, of which each read shows 160.
const LINE: &str = "    let found = table.iter().find(|row| row.name == name); // \"odd\" \\ cases\n";
const LINES: u32 = 160;

/// Files that are read in turn.
const FILES: u32 = 100;

/// After so many reads a context of 200,000 tokens is full, and the host compacts.
const WINDOW: u32 = 60;

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "claude-code-open",
        about: "a Claude Code transcript of 50 MB is opened and its last call asked about; floor: skipped by serde_json",
        bar: Bar::AtMost(2.0),
        rounds: 10,
        run: |rounds| measure(rounds, &mut Open { session: Session::of(LONG), opened: None }),
    },
    Case {
        name: "claude-code-append",
        about: "a read is appended to 50 MB and the next call asked about; floor: to 1 MB",
        bar: Bar::AtMost(1.3),
        rounds: 500,
        run: |rounds| measure(rounds, &mut Steps { long: Followed::of(LONG)?, short: Followed::of(SHORT)? }),
    },
    Case {
        name: "claude-code-follow",
        about: "50 MB that are open are followed on disk by one read, and the next call asked about; floor: 15 ms",
        bar: Bar::Below(1.0),
        rounds: 500,
        run: follow,
    },
];

/// A transcript that grows.
struct Session {
    bytes: Vec<u8>,
    turn: u32,
    /// Messages in the last request.
    messages: usize,
    /// The entry that the next one follows.
    parent: Option<String>,
    /// What the next request adds, as hashes.
    tail: Vec<String>,
}

impl Session {
    fn of(bytes: usize) -> Self {
        let mut session =
            Self { bytes: Vec::with_capacity(bytes + 100_000), turn: 0, messages: 0, parent: None, tail: Vec::new() };
        let go = json!([{"type": "text", "text": "go"}]);
        session.entry("user", &json!({"message": {"role": "user", "content": go.clone()}}));
        session.blob("user", &go);
        session.call();
        while session.bytes.len() < bytes {
            session.step();
        }
        session
    }

    /// The result of the last call, and the next call.
    fn step(&mut self) {
        self.result();
        if self.turn.is_multiple_of(WINDOW) {
            self.compact();
        }
        self.call();
    }

    fn line(&mut self, line: &Value) {
        self.bytes.extend_from_slice(line.to_string().as_bytes());
        self.bytes.push(b'\n');
    }

    fn entry(&mut self, kind: &str, more: &Value) {
        let uuid = format!("00000000-0000-4000-8000-{:012x}", self.bytes.len());
        let mut line = json!({
            "parentUuid": self.parent, "isSidechain": false, "type": kind, "uuid": uuid, "sessionId": "s",
            "timestamp": "2026-11-18T10:13:16.128Z", "userType": "external", "entrypoint": "sdk-cli", "cwd": "/w",
            "version": "2.1.325", "gitBranch": "HEAD",
        });
        let (Some(all), Some(more)) = (line.as_object_mut(), more.as_object()) else { return };
        all.extend(more.clone());
        self.line(&line);
        self.parent = Some(uuid);
    }

    /// A message as it was sent; the request names it by its hash.
    fn blob(&mut self, role: &str, content: &Value) {
        let message = json!({"role": role, "content": content});
        let hash = ContentHash::of(message.to_string().as_bytes()).to_string();
        self.line(&json!({"type": "api-request-blob", "sessionId": "s", "hash": hash, "message": message}));
        self.tail.push(hash);
    }

    /// A request, and the call with which the model answers it.
    fn call(&mut self) {
        let (id, tail) = (format!("request-{}", self.turn), std::mem::take(&mut self.tail));
        let base = (self.messages > 0).then(|| format!("request-{}", self.turn - 1));
        let mut request = json!({
            "type": "api-request", "sessionId": "s", "id": id, "keep": self.messages, "tail": tail,
            "params": {"model": "m", "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]}},
        });
        if let Some(base) = base {
            request["base"] = json!(base);
        }
        self.line(&request);
        self.messages += tail.len();
        let content =
            json!([{"type": "tool_use", "id": self.id(), "name": "Read", "input": {"file_path": self.file()}}]);
        let message =
            json!({"id": format!("msg-{}", self.turn), "type": "message", "role": "assistant", "content": content});
        self.entry("assistant", &json!({"message": message, "requestRef": id}));
        let sent = json!({"role": "assistant", "content": content});
        self.tail.push(ContentHash::of(sent.to_string().as_bytes()).to_string());
    }

    fn result(&mut self) {
        let text = LINE.repeat(LINES as usize);
        let numbered: Vec<String> = text.split('\n').zip(1..).map(|(line, n)| format!("{n}\t{line}")).collect();
        let numbered = numbered.join("\n");
        let result = |shown: &str| json!([{"tool_use_id": self.id(), "type": "tool_result", "content": shown}]);
        let (kept, sent) = (
            result(&numbered),
            result(&format!("{}\n\n<system-reminder>\nx\n</system-reminder>", numbered.trim_end())),
        );
        let file = json!({"filePath": self.file(), "content": text, "numLines": LINES + 1, "startLine": 1, "totalLines": LINES + 1});
        self.entry(
            "user",
            &json!({
                "message": {"role": "user", "content": kept}, "toolUseResult": {"type": "text", "file": file},
            }),
        );
        self.blob("user", &sent);
        self.turn += 1;
    }

    fn compact(&mut self) {
        let parent = self.parent.take();
        self.entry(
            "system",
            &json!({"subtype": "compact_boundary", "logicalParentUuid": parent, "content": "Conversation compacted"}),
        );
        (self.messages, self.tail) = (0, Vec::new());
        let summary = json!([{"type": "text", "text": "a summary"}]);
        self.entry("user", &json!({"isCompactSummary": true, "message": {"role": "user", "content": summary.clone()}}));
        self.blob("user", &summary);
    }

    fn id(&self) -> String {
        format!("toolu_{}", self.turn)
    }

    fn file(&self) -> String {
        format!("/w/src/file{}.rs", self.turn % FILES)
    }

    /// A file whose text the model holds at the last call, if the window has one.
    fn held(&self) -> Option<PathKey> {
        let since = self.turn % WINDOW;
        (since > 0).then(|| PathKey::new(&format!("/w/src/file{}.rs", (self.turn - 1) % FILES)))
    }
}

/// Asks about the last call; what was read last must be held, so that nothing is measured that does not work.
fn ask(transcript: &mut Transcript, session: &Session, source: &dyn Source) -> Result<(), Broken> {
    let known = transcript.known_at_call(&session.id(), source).map_err(|why| format!("nothing is known: {why:?}"))?;
    let (Some(path), Some(lines)) = (session.held(), Lines::new(1, LINES - 1)) else { return Ok(()) };
    match known.knowledge().holds_lines(&path, lines, Form::Stripped, Answers::Held) {
        Some(text) => {
            black_box(text);
            Ok(())
        }
        None => Err(format!("{path} is not held at {}", session.id()).into()),
    }
}

struct Open {
    session: Session,
    /// Dropping it is not part of opening.
    opened: Option<Transcript>,
}

impl Subject for Open {
    fn prepare(&mut self, _round: u32) -> Result<(), Broken> {
        self.opened = None;
        Ok(())
    }

    fn floor(&mut self) -> Result<(), Broken> {
        for line in self.session.bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            black_box(serde_json::from_slice::<IgnoredAny>(line)?);
        }
        Ok(())
    }

    fn case(&mut self) -> Result<(), Broken> {
        let mut transcript = Transcript::new(Answers::Held);
        transcript.append(&self.session.bytes);
        ask(&mut transcript, &self.session, &self.session.bytes.as_slice())?;
        self.opened = Some(transcript);
        Ok(())
    }
}

/// A transcript that is open, and what comes after it.
struct Followed {
    session: Session,
    transcript: Transcript,
    /// How much of it the transcript has.
    taken: usize,
}

impl Followed {
    fn of(bytes: usize) -> Result<Self, Broken> {
        let session = Session::of(bytes);
        let mut followed = Self { session, transcript: Transcript::new(Answers::Held), taken: 0 };
        followed.take()?;
        Ok(followed)
    }

    fn take(&mut self) -> Result<(), Broken> {
        self.transcript.append(&self.session.bytes[self.taken..]);
        self.taken = self.session.bytes.len();
        ask(&mut self.transcript, &self.session, &self.session.bytes.as_slice())
    }
}

struct Steps {
    long: Followed,
    short: Followed,
}

impl Subject for Steps {
    fn prepare(&mut self, _round: u32) -> Result<(), Broken> {
        self.long.session.step();
        self.short.session.step();
        Ok(())
    }

    fn floor(&mut self) -> Result<(), Broken> {
        self.short.take()
    }

    fn case(&mut self) -> Result<(), Broken> {
        self.long.take()
    }
}

/// Lines are read again from the file.
struct OnDisk(TranscriptFile);

impl Source for OnDisk {
    fn appended(&self, at: u64, len: usize) -> Option<Cow<'_, [u8]>> {
        self.0.again(at, len).map(Cow::Owned)
    }
}

fn follow(rounds: u32) -> Result<Samples, Broken> {
    let (dir, mut session) = (TempDir::new()?, Session::of(LONG));
    let path = dir.path().join("s.jsonl");
    File::create(&path)?.write_all(&session.bytes)?;
    let mut file = OnDisk(TranscriptFile::open(&path, 1 << 30)?);
    let mut transcript = Transcript::new(Answers::Held);
    let mut samples = Samples::of(Unit::Nanoseconds);
    for round in 0..=rounds {
        let begin = Instant::now();
        loop {
            match file.0.appended()? {
                Appended::Nothing => break,
                Appended::More(lines) => transcript.append(&lines),
                Appended::Anew(_) => return Err("the transcript was taken for another one".into()),
            }
        }
        ask(&mut transcript, &session, &file)?;
        // The first is the opening.
        if round > 0 {
            samples.push(HOOK, u64::try_from(begin.elapsed().as_nanos())?);
        }
        let before = session.bytes.len();
        session.step();
        OpenOptions::new().append(true).open(&path)?.write_all(&session.bytes[before..])?;
    }
    Ok(samples)
}
