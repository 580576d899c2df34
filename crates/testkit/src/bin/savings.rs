//! `savings --binary FILE --traces FOLDER [--json] [--sessions N] [--answers WORD]`: replays recorded sessions of real agents through the
//! command line, one process per read, edit and write, with the strict barrier, and counts what was sent and what plain
//! answers would have sent. The reader rebuilds every answer from visible text. Exit code 0: nothing found. 1: a violation,
//! or less saved than required. 2: usage.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command of the test kit")]

use readproof_reader::{Reader, Rendered, Replaces, Seen};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, HashMap},
    fs,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

type Broken = Box<dyn std::error::Error + Send + Sync>;

/// The least percentage of read tokens that must be saved.
const LEAST: f64 = 10.0;

/// One step of an agent.
#[derive(Clone, Debug, Deserialize)]
struct Event {
    s: u64,
    a: String,
    t: String,
    path: Option<String>,
    offset: Option<u64>,
    limit: Option<u64>,
    start: Option<u64>,
    total: Option<u64>,
    blob: Option<String>,
    before: Option<String>,
    old: Option<String>,
    new: Option<String>,
    #[serde(default)]
    all: Option<bool>,
    #[serde(default)]
    err: Option<bool>,
}

#[derive(Clone, Debug, Default)]
struct Tally {
    sessions: u64,
    reads: u64,
    short: u64,
    edits: u64,
    /// Edits and writes of the trace that could not be made here, and were made from outside instead.
    outside: u64,
    /// Reads whose file had to be assembled from pieces, because the trace has no whole text of it.
    pieced: u64,
    plain: u64,
    sent: u64,
    answers: u64,
    reasons: BTreeMap<String, (u64, u64)>,
    violations: Vec<String>,
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.sessions += other.sessions;
        self.reads += other.reads;
        self.short += other.short;
        self.edits += other.edits;
        self.outside += other.outside;
        self.pieced += other.pieced;
        self.plain += other.plain;
        self.sent += other.sent;
        self.answers += other.answers;
        for (reason, (count, bytes)) in other.reasons {
            let sum = self.reasons.entry(reason).or_default();
            *sum = (sum.0 + count, sum.1 + bytes);
        }
        self.violations.extend(other.violations);
    }

    #[allow(clippy::cast_precision_loss, reason = "a percentage for people")]
    fn percent(&self) -> f64 {
        if self.plain == 0 { 0.0 } else { 100.0 * (self.plain as f64 - self.sent as f64) / self.plain as f64 }
    }
}

struct Args {
    binary: PathBuf,
    traces: PathBuf,
    json: bool,
    sessions: usize,
    /// The setting `answers`, if not the default.
    answers: Option<String>,
}

fn main() -> ExitCode {
    let args = match parse(std::env::args().skip(1)) {
        Ok(args) => args,
        Err(message) => {
            eprintln!(
                "{message}\nusage: savings --binary FILE --traces FOLDER [--json] [--sessions N] [--answers WORD]"
            );
            return ExitCode::from(2);
        }
    };
    match all(&args) {
        Ok(tally) => report(&args, &tally),
        Err(error) => {
            eprintln!("the harness cannot go on: {error}");
            ExitCode::from(2)
        }
    }
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<Args, String> {
    let mut args =
        Args { binary: PathBuf::new(), traces: PathBuf::new(), json: false, sessions: usize::MAX, answers: None };
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
        match word.as_str() {
            "--binary" => args.binary = value()?.into(),
            "--traces" => args.traces = value()?.into(),
            "--sessions" => args.sessions = value()?.parse().map_err(|_| "--sessions needs a number".to_owned())?,
            "--answers" => args.answers = Some(value()?),
            "--json" => args.json = true,
            _ => return Err(format!("unknown argument {word}")),
        }
    }
    if args.binary.as_os_str().is_empty() || args.traces.as_os_str().is_empty() {
        return Err("--binary and --traces are needed".to_owned());
    }
    Ok(args)
}

fn report(args: &Args, tally: &Tally) -> ExitCode {
    let (percent, tokens) = (tally.percent(), |bytes: u64| bytes.div_ceil(4));
    if args.json {
        let object = json!({
            "sessions": tally.sessions, "reads": tally.reads, "short": tally.short, "edits": tally.edits,
            "outside": tally.outside, "pieced": tally.pieced, "estimate": "bytes/4",
            "plain_tokens": tokens(tally.plain), "sent_tokens": tokens(tally.sent),
            "edit_answer_tokens": tokens(tally.answers), "saved_percent": percent,
            "reasons": tally.reasons.iter().map(|(reason, (count, bytes))| (reason.clone(), json!([count, tokens(*bytes)])))
                .collect::<serde_json::Map<_, _>>(),
            "violations": tally.violations,
        });
        println!("{object}");
    } else {
        println!(
            "{} sessions, {} reads ({} answered short), {} own edits and writes",
            tally.sessions, tally.reads, tally.short, tally.edits
        );
        println!(
            "{} changes could not be made as recorded, {} reads of files put together",
            tally.outside, tally.pieced
        );
        println!(
            "read tokens (bytes/4): plain {}, sent {}: {percent:.2} % saved",
            tokens(tally.plain),
            tokens(tally.sent)
        );
        println!("answers to edits: {} tokens", tokens(tally.answers));
        let mut reasons: Vec<_> = tally.reasons.iter().collect();
        reasons.sort_by_key(|(_, (_, bytes))| std::cmp::Reverse(*bytes));
        for (reason, (count, bytes)) in reasons {
            println!("  {reason:<40} {count:>6} reads {:>9} tokens asked for", tokens(*bytes));
        }
        for violation in tally.violations.iter().take(20) {
            println!("VIOLATION: {violation}");
        }
        println!("{} violations", tally.violations.len());
    }
    let short_of = percent < LEAST && args.sessions == usize::MAX;
    if short_of {
        eprintln!("less than {LEAST} % of read tokens are saved");
    }
    ExitCode::from(u8::from(short_of || !tally.violations.is_empty()))
}

/// All sessions, a few at a time.
fn all(args: &Args) -> Result<Tally, Broken> {
    let blobs = blobs(&args.traces)?;
    let (sessions, binary) = (sessions(&args.traces)?, args.binary.canonicalize()?);
    let sessions: Vec<Vec<Event>> = sessions.into_values().take(args.sessions).collect();
    let next = AtomicUsize::new(0);
    let (sum, broken) = (Mutex::new(Tally::default()), Mutex::new(None));
    let workers = thread::available_parallelism().map_or(2, usize::from).min(8);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(events) = sessions.get(next.fetch_add(1, Ordering::Relaxed)) {
                    match Play::new((&binary, args.answers.as_deref()), &blobs, events).and_then(Play::run) {
                        Ok(tally) => sum.lock().unwrap_or_else(PoisonError::into_inner).add(tally),
                        Err(error) => {
                            *broken.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                            return;
                        }
                    }
                }
            });
        }
    });
    match broken.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(error),
        None => Ok(sum.into_inner().unwrap_or_else(PoisonError::into_inner)),
    }
}

/// The lines of a compressed file.
fn unpacked(file: &Path) -> Result<impl Iterator<Item = std::io::Result<String>>, Broken> {
    if !file.is_file() {
        return Err(format!(
            "there is no {}; the traces are not part of the repository: name their folder with --traces",
            file.display()
        )
        .into());
    }
    let child = Command::new("gzip").arg("-dc").arg(file).stdout(Stdio::piped()).spawn()?;
    let out = child.stdout.ok_or("gzip has no output")?;
    Ok(BufReader::new(out).lines())
}

fn blobs(traces: &Path) -> Result<HashMap<String, String>, Broken> {
    #[derive(Deserialize)]
    struct Blob {
        h: String,
        s: String,
    }
    let mut blobs = HashMap::new();
    for line in unpacked(&traces.join("entire-cli.blobs.jsonl.gz"))? {
        let Blob { h, s } = serde_json::from_str(&line?)?;
        blobs.insert(h, s);
    }
    Ok(blobs)
}

fn sessions(traces: &Path) -> Result<BTreeMap<u64, Vec<Event>>, Broken> {
    let mut sessions: BTreeMap<u64, Vec<Event>> = BTreeMap::new();
    for line in unpacked(&traces.join("entire-cli.events.jsonl.gz"))? {
        let line = line?;
        let event: Event = serde_json::from_str(&line)?;
        if matches!(event.t.as_str(), "Read" | "Edit" | "Write" | "compact_boundary") && event.err != Some(true) {
            sessions.entry(event.s).or_default().push(event);
        }
    }
    Ok(sessions)
}

/// One recorded session in its own workspace.
struct Play<'a> {
    binary: &'a Path,
    answers: Option<&'a str>,
    blobs: &'a HashMap<String, String>,
    events: &'a [Event],
    dir: tempfile::TempDir,
    /// What each agent can see.
    readers: BTreeMap<String, Reader>,
    names: BTreeMap<String, String>,
    tally: Tally,
}

impl<'a> Play<'a> {
    fn new(
        (binary, answers): (&'a Path, Option<&'a str>),
        blobs: &'a HashMap<String, String>,
        events: &'a [Event],
    ) -> Result<Self, Broken> {
        let dir = tempfile::tempdir()?;
        let tally = Tally { sessions: 1, ..Tally::default() };
        Ok(Self { binary, answers, blobs, events, dir, readers: BTreeMap::new(), names: BTreeMap::new(), tally })
    }

    fn run(mut self) -> Result<Tally, Broken> {
        for at in 0..self.events.len() {
            let event = &self.events[at];
            match event.t.as_str() {
                "compact_boundary" => self.compact(event)?,
                "Read" => self.read(at, event)?,
                _ => self.change(event)?,
            }
        }
        Ok(self.tally)
    }

    fn blob(&self, hash: Option<&String>) -> Option<&'a str> {
        hash.and_then(|hash| self.blobs.get(hash)).map(String::as_str)
    }

    /// A neutral name for a path, so that none is sensitive or outside the workspace.
    fn name(&mut self, path: &str) -> String {
        let number = self.names.len();
        self.names.entry(path.to_owned()).or_insert_with(|| format!("file{number}.txt")).clone()
    }

    fn text(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.dir.path().join(name)).ok()
    }

    fn put(&self, name: &str, text: &str) -> Result<(), Broken> {
        if self.text(name).as_deref() != Some(text) {
            fs::write(self.dir.path().join(name), text)?;
        }
        Ok(())
    }

    fn session(event: &Event) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        format!("a-{}", event.a.chars().map(plain).take(40).collect::<String>())
    }

    /// Runs one process; `None` if it refused.
    fn command(&self, event: &Event, words: &[&str], input: Option<&str>) -> Result<Option<Value>, Broken> {
        let mut command = Command::new(self.binary);
        command.current_dir(self.dir.path()).env("READPROOF_STATE_DIR", readproof_testkit::state_dir()).args(words);
        command.args(["--session", &Self::session(event), "--json", "--workspace", "."]);
        command.args(["--set", "answer_lines=1000000", "--set", "answer_bytes=50000000"]);
        if let Some(answers) = self.answers {
            command.args(["--set", &format!("answers={answers}")]);
        }
        let stdin = if input.is_some() { Stdio::piped() } else { Stdio::null() };
        let mut child = command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        if let (Some(input), Some(mut stdin)) = (input, child.stdin.take()) {
            stdin.write_all(input.as_bytes())?;
        }
        let done = child.wait_with_output()?;
        if !done.status.success() {
            return Ok(None);
        }
        Ok(Some(serde_json::from_slice(&done.stdout)?))
    }

    fn reader(&mut self, event: &Event) -> &mut Reader {
        self.readers.entry(Self::session(event)).or_default()
    }

    fn compact(&mut self, event: &Event) -> Result<(), Broken> {
        // Without an earlier read there is no session yet, and nothing to forget.
        self.command(event, &["session", "compact"], None)?;
        *self.reader(event) = Reader::default();
        Ok(())
    }

    /// Changes the file so that it has the text that was served in the trace.
    fn stage(&mut self, at: usize, event: &Event, name: &str, served: &str) -> Result<(), Broken> {
        let (start, total) =
            (usize::try_from(event.start.unwrap_or(1).max(1))?, usize::try_from(event.total.unwrap_or(0))?);
        // The trace counts lines as its host does: after a final newline there is one more, empty line.
        let lines: Vec<&str> = served.split('\n').collect();
        let fits = |text: &str| {
            let all: Vec<&str> = text.split('\n').collect();
            all.len() == total && all.get(start - 1..start - 1 + lines.len()) == Some(&lines[..])
        };
        let current = self.text(name);
        if current.as_deref().is_some_and(fits) {
            return Ok(());
        }
        // A whole text of the file from the trace: the next one first.
        let of_it = |other: &&Event| other.path == event.path;
        let whole = |other: &Event| match other.t.as_str() {
            "Read" if other.start == Some(1) => self.blob(other.blob.as_ref()),
            "Edit" => self.blob(other.before.as_ref()),
            "Write" => self.blob(other.blob.as_ref()),
            _ => None,
        };
        let later = self.events[at..].iter().filter(of_it).take(12);
        let earlier = self.events[..at].iter().rev().filter(of_it).take(12);
        let found = later.chain(earlier).filter_map(whole).find(|text| fits(text));
        if let Some(text) = found {
            return self.put(name, text);
        }
        self.tally.pieced += 1;
        let old: Vec<String> = current.unwrap_or_default().split('\n').map(str::to_owned).collect();
        let unknown = |n: usize| format!("(line {n} of {name} is not in the trace, step {at})");
        let mut made: Vec<String> = (0..start - 1).map(|n| old.get(n).cloned().unwrap_or_else(|| unknown(n))).collect();
        made.extend(lines.iter().map(|line| (*line).to_owned()));
        let rest = total.saturating_sub(made.len());
        // The rest is aligned to the end: the change was most likely before it.
        let from = old.len().saturating_sub(rest);
        made.extend((0..rest).map(|n| old.get(from + n).cloned().unwrap_or_else(|| unknown(total - rest + n))));
        self.put(name, &made.join("\n"))
    }

    fn read(&mut self, at: usize, event: &Event) -> Result<(), Broken> {
        let (Some(path), Some(served)) = (event.path.as_deref(), self.blob(event.blob.as_ref())) else { return Ok(()) };
        let name = self.name(path);
        self.stage(at, event, &name, served)?;
        let truth = self.text(&name).unwrap_or_default();
        // A call without a limit got only what was served.
        let count = served.split('\n').count() as u64;
        let total = truth.split('\n').count() as u64;
        let offset = event.offset.filter(|offset| *offset > 1);
        let cut = offset.unwrap_or(1) - 1 + count < total;
        let limit = event.limit.or_else(|| cut.then_some(count));
        let (from, most) = (offset.map(|n| n.to_string()), limit.map(|n| n.to_string()));
        let mut words = vec!["read", &name];
        words.extend(from.as_deref().into_iter().flat_map(|n| ["--offset", n]));
        words.extend(most.as_deref().into_iter().flat_map(|n| ["--limit", n]));
        let Some(answer) = self.command(event, &words, None)? else { return Ok(()) };
        let text = answer["text"].as_str().unwrap_or_default().to_owned();
        let notices = answer["notices"].as_array().into_iter().flatten();
        let notices = notices.filter_map(|notice| notice.as_str().map(str::to_owned)).collect();

        let first = usize::try_from(offset.unwrap_or(1))? - 1;
        let most = usize::try_from(limit.unwrap_or(u64::MAX))?;
        let plain: String = truth.split_inclusive('\n').skip(first).take(most).collect();
        self.tally.reads += 1;
        self.tally.plain += plain.len() as u64;
        self.tally.sent += text.len() as u64;
        let mode = answer["mode"].as_str().unwrap_or_default();
        self.tally.short += u64::from(!matches!(mode, "full" | "baseline_fallback"));
        let why = format!("{mode} ({})", answer["reason"].as_str().unwrap_or_default());
        let counted = self.tally.reasons.entry(why.clone()).or_default();
        *counted = (counted.0 + 1, counted.1 + plain.len() as u64);
        let seen = Seen::Read { path: name.clone(), offset, limit, answer: Rendered { text, notices } };
        let wrong = match self.reader(event).see(&seen) {
            Ok(Some(rebuilt)) if rebuilt.text == plain && rebuilt.first == first as u64 + 1 => None,
            Ok(_) => Some("what was rebuilt is not what the file says".to_owned()),
            Err(complaint) => Some(complaint.to_string()),
        };
        let told = |wrong| format!("session {} {} step {at}, {why}: {wrong}", event.s, event.a);
        self.tally.violations.extend(wrong.map(told));
        Ok(())
    }

    fn change(&mut self, event: &Event) -> Result<(), Broken> {
        let Some(path) = event.path.as_deref() else { return Ok(()) };
        let name = self.name(path);
        if let Some(before) = self.blob(event.before.as_ref()) {
            self.put(&name, before)?;
        }
        let done = if event.t == "Write" {
            let Some(content) = self.blob(event.blob.as_ref()) else { return Ok(()) };
            let done = self.command(event, &["write", &name], Some(content))?;
            done.map(|_| Seen::Write { path: name.clone(), content: content.to_owned() })
        } else {
            self.edit(event, &name)?
        };
        match done {
            Some(seen) => {
                self.tally.edits += 1;
                if let Err(complaint) = self.reader(event).see(&seen) {
                    self.tally.violations.push(format!("session {}: {complaint}", event.s));
                }
            }
            None => self.tally.outside += 1,
        }
        Ok(())
    }

    fn edit(&mut self, event: &Event, name: &str) -> Result<Option<Seen>, Broken> {
        let (Some(old), Some(new)) = (self.blob(event.old.as_ref()), self.blob(event.new.as_ref())) else {
            return Ok(None);
        };
        let all = event.all == Some(true);
        let mut words = vec!["edit", name, "--old", old, "--new", new];
        words.extend(all.then_some("--all"));
        let Some(answer) = self.command(event, &words, None)? else {
            // The agent's change was still made.
            let text = self.text(name).unwrap_or_default();
            self.put(name, &if all { text.replace(old, new) } else { text.replacen(old, new, 1) })?;
            return Ok(None);
        };
        let said = answer["text"].as_str().unwrap_or_default().to_owned();
        self.tally.answers += said.len() as u64;
        let replaces = if all { Replaces::All } else { Replaces::One };
        Ok(Some(Seen::Edit { path: name.to_owned(), old: old.to_owned(), new: new.to_owned(), replaces, answer: said }))
    }
}
