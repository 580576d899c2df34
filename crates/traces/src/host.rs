//! Transcripts of Claude Code as recordings: every read in them is asked about as the hook of its plugin would have asked, and every
//! marker is judged by the request that the record says was sent. Nothing of the sessions is made again; the host's record has it all.

pub mod requests;
mod transcript;

use readproof_core::{
    decide::Mode,
    operation::{Caller, Operation, Read},
    path::Bearings,
    policy::Preset,
};
use readproof_disk::{PolicySources, Root, Scratch, transcripts_in};
use readproof_engine::{Auditing, Call, CallLog, Control, Engine, HostRead, HostSessions, Outcome, Reading, Settings};
use readproof_reader::{Complaint, claude::Rebuilt};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

use self::{
    requests::{judge_of, markers},
    transcript::{PastRead, Talk},
};
use crate::{Cost, Options, SessionTally, Tally, TracesError, count::Counter, play::Sight};

/// The transcripts in a folder, those of agents included.
pub(crate) fn transcripts(folder: &Path) -> Result<Vec<PathBuf>, TracesError> {
    let mut found = transcripts_in(folder)?;
    for session in found.clone() {
        found.extend(transcripts_in(&session.with_extension("").join("subagents"))?);
    }
    found.sort();
    found.dedup();
    found.retain(|file| Talk::is_one(file));
    Ok(found)
}

/// One transcript.
pub(crate) struct Playing<'a> {
    file: &'a Path,
    counter: &'a Counter,
    talk: Talk,
    cwd: String,
    scratch: Scratch,
    root: PathBuf,
    engine: Engine,
    sessions: HostSessions,
    tally: Tally,
}

impl<'a> Playing<'a> {
    /// What a session saves. It is played once: the record says what was sent, not what would have been sent otherwise.
    pub(crate) fn all(
        options: &Options,
        file: &'a Path,
        session: u64,
        counter: &'a Counter,
    ) -> Result<SessionTally, TracesError> {
        let strict = Self::new(options, file, counter)?.run()?;
        let (open, unreported, seed) = (strict.clone(), strict.clone(), strict.clone());
        Ok(SessionTally { session, strict, open, unreported, seed })
    }

    fn new(options: &Options, file: &'a Path, counter: &'a Counter) -> Result<Self, TracesError> {
        let talk = Talk::open(file)?;
        let cwd = talk.cwd.clone().unwrap_or_default();
        let scratch = Scratch::new(&options.scratch, "readproof-traces")?;
        let root = Root::open(scratch.path())?;
        let place = root.path().to_path_buf();
        let bearings = Bearings { cwd: place.display().to_string(), home: None };
        let settings = Settings {
            limits: options.limits,
            answers: options.answers,
            policy: PolicySources { preset: Some(Preset::Open), ..PolicySources::default() },
            audit: Auditing::Off,
            call_log: CallLog::Off,
            ..Settings::default()
        };
        let engine = Engine::new(root, bearings, settings, Box::new(|| 0))?;
        let sessions = HostSessions::of_folder(Path::new(&cwd));
        Ok(Self { file, counter, talk, cwd, scratch, root: place, engine, sessions, tally: Tally::default() })
    }

    fn run(mut self) -> Result<Tally, TracesError> {
        (self.tally.edits, self.tally.compactions) = (self.talk.edits, self.talk.compactions);
        for read in std::mem::take(&mut self.talk.reads) {
            match self.question(&read) {
                Some((name, asked)) => self.ask(&read, &name, asked)?,
                None => self.tally.skipped += 1,
            }
        }
        Ok(self.tally)
    }

    /// The name in the workspace, and what the hook would have told of a read; `None` if the transcript does not have the text, or the
    /// file is not in the folder.
    fn question(&self, read: &PastRead) -> Option<(String, HostRead)> {
        let name = read.path.strip_prefix(self.cwd.as_str())?.strip_prefix('/')?.to_owned();
        let (first, content) = numbered(&read.shown).or_else(|| self.behind_a_marker(read))?;
        let lines = u32::try_from(content.split('\n').count()).ok()?;
        let last = first.checked_add(lines)?.checked_sub(1)?;
        // Transcripts of agents do not say how long a file is: a read that got fewer lines than it may reaches the end.
        let more = read.limit.is_some_and(|limit| limit <= u64::from(lines));
        let total = read.total.unwrap_or(if more { last.checked_add(1)? } else { last });
        Some((name, HostRead { call: read.call.clone(), content, first, total, limit: read.limit }))
    }

    /// What a marker that the model was shown stands for, by the request before it.
    fn behind_a_marker(&self, read: &PastRead) -> Option<(u32, String)> {
        let messages = self.talk.messages_of(&read.request).filter(|_| read.shown.starts_with("0\t[readcache: "));
        let rebuilt = rebuilt(messages?, read, &read.shown, &self.cwd)?.ok()?;
        Some((u32::try_from(rebuilt.first).ok()?, rebuilt.lines.join("\n")))
    }

    fn ask(&mut self, read: &PastRead, name: &str, asked: HostRead) -> Result<(), TracesError> {
        self.scratch.put(name, &asked.content)?;
        self.sessions.follow(&self.engine, self.file, &read.call)?;
        let (first, content) = (asked.first, asked.content.clone());
        let mut conversation = self.sessions.call(self.file, asked);
        let caller = Caller::of("traces");
        let path = self.root.join(name).display().to_string();
        let operation = Operation::Read(Read { path, ..Read::default() });
        let call = Call { caller: &caller, conversation: &mut conversation, operation, control: Control::WAIT };
        let (mode, why, text) = match self.engine.perform(call).and_then(Outcome::into_reading) {
            Ok(Reading::Answer(answer)) => {
                let why = format!("{} ({})", answer.mode.as_str(), answer.reason.as_str());
                (answer.mode, why, answer.text)
            }
            Ok(Reading::NotOurs(_)) => (Mode::Full, "full (left to the host)".to_owned(), String::new()),
            Err(error) => return Err(error.into()),
        };
        // A diff would be numbered like lines of the file, so it is not shown.
        let short = matches!(mode, Mode::Unchanged | Mode::UnchangedRange).then(|| format!("0\t{text}"));
        let messages = self.talk.messages_of(&read.request);
        let sight = messages.as_deref().map_or(Sight::First, |messages| {
            let judge = judge_of(messages, &self.cwd);
            let shown = |number| judge.lines(&read.path, number, number).and_then(|mut lines| lines.pop());
            Sight::by(judge.knows(&read.path), content.split('\n'), u64::from(first), shown)
        });
        let rows: Vec<String> =
            (first..).zip(content.split('\n')).map(|(number, line)| format!("{number}\t{line}")).collect();
        self.count(&rows.join("\n"), short.as_deref(), &why, sight);
        if let Some(short) = short {
            let wrong = judged(messages, read, &short, (first, &content), &self.cwd);
            let told = |wrong| format!("{} {}, {why}: {wrong}", self.file.display(), read.call);
            self.tally.violations.extend(wrong.map(told));
        }
        Ok(())
    }

    fn count(&mut self, plain: &str, short: Option<&str>, why: &str, sight: Sight) {
        let tokens = self.counter.tokens(plain);
        let cost = Cost { reads: 1, plain: tokens, sent: short.map_or(tokens, |short| self.counter.tokens(short)) };
        self.tally.reads += 1;
        self.tally.decisions.entry(why.to_owned()).or_default().add(cost);
        if short.is_none() {
            let of_sight = self.tally.plain.entry(sight.as_str().to_owned()).or_default();
            of_sight.entry(why.to_owned()).or_default().add(cost);
        }
    }
}

/// What is wrong with a marker in the place of a result, by the request that the model answered with the call.
fn judged(
    messages: Option<Vec<Value>>,
    read: &PastRead,
    short: &str,
    (first, content): (u32, &str),
    cwd: &str,
) -> Option<String> {
    let Some(messages) = messages else { return Some("the request is not recorded".to_owned()) };
    match rebuilt(messages, read, short, cwd) {
        None => Some("the answer is no marker".to_owned()),
        Some(Err(complaint)) => Some(complaint.to_string()),
        Some(Ok(rebuilt)) => {
            let same = rebuilt.first == u64::from(first) && rebuilt.lines.iter().eq(content.split('\n'));
            (!same).then(|| "what was rebuilt is not what the read showed".to_owned())
        }
    }
}

/// What a marker stands for as the result of a call that the model made after these messages.
fn rebuilt(mut messages: Vec<Value>, read: &PastRead, marker: &str, cwd: &str) -> Option<Result<Rebuilt, Complaint>> {
    let call = json!([{"type": "tool_use", "id": read.call, "name": "Read", "input": read.input}]);
    let result = json!([{"type": "tool_result", "tool_use_id": read.call, "content": marker}]);
    messages.push(json!({"role": "assistant", "content": call}));
    messages.push(json!({"role": "user", "content": result}));
    markers(&messages, cwd).into_iter().find(|(call, _)| *call == read.call).map(|(_, rebuilt)| rebuilt)
}

/// The number of the first line, and the lines without their numbers; `None` if it is not file text, or one of our markers.
fn numbered(shown: &str) -> Option<(u32, String)> {
    let rows: Option<Vec<(u32, &str)>> = shown
        .split('\n')
        .map(|row| row.split_once('\t').and_then(|(number, line)| Some((number.parse().ok()?, line))))
        .collect();
    let rows = rows?;
    let first = rows.first()?.0;
    let in_order = (first..).zip(&rows).all(|(number, row)| number == row.0);
    let lines: Vec<&str> = rows.into_iter().map(|(_, line)| line).collect();
    (first > 0 && in_order).then(|| (first, lines.join("\n")))
}
