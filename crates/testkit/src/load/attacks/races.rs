//! Names that change while they are looked at: links redirected to a secret or out of the workspace, a file and a pipe, a
//! folder and a link out, a file and another. Whatever is answered, nothing from outside is in it, no secret is kept, and an
//! answer comes.

use readproof_core::{edit::Places, path::Bearings};
use readproof_disk::{Root, SessionName};
use readproof_engine::{Change, Engine, Settings, Write};
use serde_json::{Value, json};
use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
    time::Duration,
};

use super::{Attack, server::Server};
use crate::world::Broken;

/// After this time a call counts as hanging.
const PATIENCE: Duration = Duration::from_secs(30);

/// The arguments of every server.
const HANDLES: [&str; 2] = ["--set", "handles=always"];

/// In files with a sensitive name; may be shown, but never stored.
const SECRET: &str = "hidden_word_of_the_workspace";

/// In files and names outside the workspace; may be neither shown nor stored.
const OUTSIDE: &str = "outside_word_of_the_host";

/// The names that change during calls.
const NAMES: [&str; 5] = ["link.rs", "chain.rs", "pipe.rs", "folder/x.rs", "file.rs"];

/// Writes wait for the disk, so there are fewer of them.
const PER_WRITE: u64 = 20;

/// Every verb, `rounds` times each.
///
/// # Errors
/// On anything shown or stored that should not be, and on an answer that does not come.
pub(super) fn run(attack: &Attack<'_>) -> Result<String, Broken> {
    let writes = attack.rounds / PER_WRITE;
    let (mut told, mut broken) = (Vec::new(), Vec::new());
    let mut note = |verb: &str, outcome: Result<u64, Broken>| match outcome {
        Ok(turns) => told.push(format!("{verb} ({turns} turns)")),
        Err(why) => broken.push(format!("{verb}: {why}")),
    };
    for (verb, ask) in VERBS {
        note(verb, raced(|top| in_mcp(attack, top, ask)));
    }
    note("pi", raced(|top| in_pi(attack, top)));
    note("edit and write", raced(|top| edits(top, writes)));
    if broken.is_empty() {
        Ok(format!("{} calls of each of {}; {writes} writes", attack.rounds, told.join(", ")))
    } else {
        Err(format!("{}\nheld: {}", broken.join("\n"), told.join(", ")).into())
    }
}

/// Runs `work` in a new workspace whose names are exchanged meanwhile, and checks what was stored; returns how often they
/// were exchanged.
fn raced(work: impl FnOnce(&Path) -> Result<(), Broken>) -> Result<u64, Broken> {
    let place = Place::new()?;
    let turns = place.raced(|| work(&place.top))?;
    place.check()?;
    Ok(turns)
}

/// Calls of one tool.
fn in_mcp(attack: &Attack<'_>, top: &Path, ask: Ask) -> Result<(), Broken> {
    let mut server = Server::mcp(attack.binary, &HANDLES, top, PATIENCE)?;
    (0..attack.rounds).try_for_each(|round| {
        let (tool, arguments) = ask(name_of(round));
        let params = json!({"name": tool, "arguments": arguments});
        asked(&mut server, json!({"jsonrpc": "2.0", "method": "tools/call", "params": params}))
    })
}

type Ask = fn(&str) -> (&'static str, Value);

const VERBS: [(&str, Ask); 11] = [
    ("read", |name| ("read", json!({"mode": "file", "target": name}))),
    ("read_file", |name| ("read_file", json!({"path": name}))),
    ("range", |name| ("read_file_range", json!({"path": name, "start_line": 1, "end_line": 2}))),
    ("head", |name| ("read_file_head", json!({"path": name, "max_lines": 2}))),
    ("tail", |name| ("read_file_tail", json!({"path": name, "max_lines": 2}))),
    ("search_in_file", |name| ("search_in_file", json!({"path": name, "query": "word"}))),
    ("search", |_| ("search", json!({"query": "word", "mode": "regex"}))),
    ("paths", |_| ("search", json!({"query": "x", "mode": "path"}))),
    ("stat", |name| ("stat_file", json!({"path": name}))),
    ("symbol", |name| ("read", json!({"mode": "symbol", "target": "found", "path": name}))),
    ("diff_preview", |name| {
        ("read", json!({"mode": "diff_preview", "target": name, "against": "WORKTREE", "content": "new\n"}))
    }),
];

fn name_of(round: u64) -> &'static str {
    NAMES[usize::try_from(round % NAMES.len() as u64).unwrap_or(0)]
}

/// A workspace, and a folder outside of it.
struct Place {
    _temp: tempfile::TempDir,
    outer: PathBuf,
    top: PathBuf,
}

impl Place {
    fn new() -> Result<Self, Broken> {
        let temp = tempfile::tempdir()?;
        let base = temp.path().canonicalize()?;
        let (outer, top) = (base.join("outer"), base.join("ws"));
        fs::create_dir_all(&outer)?;
        fs::create_dir_all(top.join("folder"))?;
        let text = |word: &str| format!("fn found() {{}}\n// {word}\n// flag=a\n");
        fs::write(outer.join("x.rs"), text(OUTSIDE))?;
        fs::write(outer.join(format!("{OUTSIDE}_x.rs")), text(OUTSIDE))?;
        fs::write(top.join(".env.rs"), text(SECRET))?;
        for name in ["ok.rs", "file.rs", "folder/x.rs", ".one", ".two", ".regular"] {
            fs::write(top.join(name), text(&format!("plain word of {}", name.trim_start_matches('.'))))?;
        }
        let made = Command::new("mkfifo").arg(top.join(".fifo")).status()?;
        if !made.success() {
            return Err("no pipe can be made here".into());
        }
        symlink("ok.rs", top.join("link.rs"))?;
        symlink("link.rs", top.join("chain.rs"))?;
        Ok(Self { _temp: temp, outer, top })
    }

    /// Runs `work` while names are exchanged; returns how often they were.
    fn raced(&self, work: impl FnOnce() -> Result<(), Broken>) -> Result<u64, Broken> {
        let (done, turns) = (AtomicBool::new(false), AtomicU64::new(0));
        let outcome = thread::scope(|scope| {
            let turner = scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    self.turn().map_err(|error| error.to_string())?;
                    turns.fetch_add(1, Ordering::Relaxed);
                }
                Ok::<_, String>(())
            });
            let outcome = work();
            done.store(true, Ordering::Relaxed);
            let turned = turner.join().map_err(|_| "the turner failed")?;
            outcome.and(turned.map_err(Broken::from))
        });
        outcome.map(|()| turns.into_inner())
    }

    /// Each name takes each form once.
    fn turn(&self) -> Result<(), Broken> {
        let at = |name: &str| self.top.join(name);
        let place = |name: &str| fs::rename(at(".new"), at(name));
        let out = self.outer.join("x.rs");
        for target in [Path::new(".env.rs"), &out, Path::new("../outer/x.rs"), Path::new("ok.rs")] {
            symlink(target, at(".new"))?;
            place("link.rs")?;
        }
        for (from, to) in [(".fifo", "pipe.rs"), (".regular", "pipe.rs"), (".one", "file.rs"), (".two", "file.rs")] {
            // A temporary name, so that a new one appears at once.
            fs::hard_link(at(from), at(".new"))?;
            place(to)?;
        }
        fs::rename(at("folder"), at(".folder"))?;
        symlink(&self.outer, at("folder"))?;
        thread::yield_now();
        fs::remove_file(at("folder"))?;
        Ok(fs::rename(at(".folder"), at("folder"))?)
    }

    /// Nothing of it was stored.
    fn check(&self) -> Result<(), Broken> {
        for folder in [".readproof", ".pi"] {
            kept(&self.top.join(folder))?;
        }
        Ok(())
    }
}

fn kept(folder: &Path) -> Result<(), Broken> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            kept(&path)?;
            continue;
        }
        let bytes = fs::read(&path)?;
        for word in [SECRET, OUTSIDE] {
            if bytes.windows(word.len()).any(|part| part == word.as_bytes()) {
                return Err(format!("{} holds `{word}`", path.display()).into());
            }
        }
    }
    Ok(())
}

/// Sends a message and checks the answer.
fn asked(server: &mut Server, message: Value) -> Result<(), Broken> {
    let shown = message.to_string();
    let mark = format!("\"id\":{}", server.ask(message)?);
    loop {
        let line = server.line()?;
        if line.contains(OUTSIDE) {
            return Err(format!("{shown} was answered with what lies outside: {line}").into());
        }
        if line.contains(&mark) {
            return Ok(());
        }
    }
}

/// Reads in a pi session.
fn in_pi(attack: &Attack<'_>, top: &Path) -> Result<(), Broken> {
    let words: Vec<&str> = ["pi"].into_iter().chain(HANDLES).collect();
    let mut server = Server::start(attack.binary, &words, top, PATIENCE)?;
    asked(&mut server, json!({"op": "hello", "protocol": 1}))?;
    let header =
        json!({"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": top});
    for round in 0..attack.rounds {
        let mut request = json!({"op": "read", "entries": [], "leaf": null, "path": name_of(round)});
        if round == 0 {
            request["header"] = header.clone();
        }
        asked(&mut server, request)?;
    }
    Ok(())
}

/// Edits and writes, by the engine itself: a secret is not stored, neither the old text nor the new one.
fn edits(top: &Path, rounds: u64) -> Result<(), Broken> {
    let bearings = Bearings { cwd: top.display().to_string(), home: None };
    let mut engine = Engine::new(Root::open(top)?, bearings, Settings::default(), Box::new(|| 0))?;
    let session = SessionName::parse("s")?;
    let (mut flag, mut other) = ("// flag=a", "// flag=b");
    for round in 0..rounds {
        let change = match round % 4 {
            0..3 => Change::Replace { old: flag.to_owned(), new: other.to_owned(), places: Places::One },
            _ => Change::Whole("fn found() {}\n// flag=a\n".to_owned()),
        };
        // Not in the folder: a write would create it while it is absent for a moment.
        let path = ["link.rs", "file.rs", "link.rs", "chain.rs", "pipe.rs"][usize::try_from(round % 5).unwrap_or(0)];
        let path = path.to_owned();
        // Many of them are refused, as they should be.
        if engine.write(&Write { path, session: session.clone(), change }).is_err() {
            (flag, other) = (other, flag);
        }
        // Restore what was overwritten, or soon nothing would be left to find.
        fs::write(top.join(".env.rs"), format!("// {SECRET}\n{flag}\n"))?;
    }
    Ok(())
}
