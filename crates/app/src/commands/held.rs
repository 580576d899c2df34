//! `readproof held`: what the model of a conversation holds now, line by line, what proves it, and what of it is stale on disk; for a
//! person and as JSON. Each host has a row: how its transcripts are known, and how one is opened.

use readproof_core::{decide::Mode, operation::Operation, scope::Lines};
use readproof_disk::{find_workspace, is_folder};
use readproof_engine::{Engine, Error, HeldFile, HeldNow, HeldSpan, Now, OnDisk};
use serde_json::{Value, json};
use std::{
    fmt::Write,
    path::{Path, PathBuf},
};

use super::{Done, Terminal, audited, clock};
use crate::{
    cli::HeldArgs,
    config::{Beyond, Config},
    output::Failure,
    report::{json::range, printable},
    serve::{HELD_BY_HOOKS, bridge},
};

/// A host whose transcripts can be looked at.
pub(crate) struct HeldIn {
    /// As the flag `--host` names it.
    pub(crate) host: &'static str,
    /// Whether a file is a transcript of this host.
    pub(crate) is_its: fn(&Path) -> bool,
    /// The folder in which the session of a transcript ran.
    pub(crate) ran_in: fn(&Path) -> Option<PathBuf>,
    /// The newest transcript of this workspace.
    pub(crate) newest: fn(&Config) -> Option<PathBuf>,
    /// Asks at a place in a transcript.
    pub(crate) ask: fn(&Terminal, &Path, Option<&str>, Operation) -> Result<HeldNow, Error>,
}

/// Every host.
const HOSTS: &[HeldIn] = &[bridge::HELD, HELD_BY_HOOKS];

/// The word for sessions of our own.
const OWN: &str = "readproof";

pub(super) fn run(args: &HeldArgs, workspace: Option<PathBuf>, set: &[String], json: bool) -> Done {
    let operation = Operation::Held { path: args.path.clone() };
    let host = args.host.as_deref().map(named).transpose()?;
    let named_file = || args.session.as_deref().filter(|name| is_file_name(name)).map(PathBuf::from);
    let file = args.file.clone().or_else(named_file);
    let terminal;
    let held = match (host, file) {
        (Some(Some(host)), Some(file)) => {
            terminal = open(host, &file, workspace, set, json)?;
            (host.ask)(&terminal, &file, args.leaf.as_deref(), operation)?
        }
        (Some(Some(host)), None) => {
            let file = newest(host, args, workspace.clone(), set)?;
            terminal = open(host, &file, workspace, set, json)?;
            (host.ask)(&terminal, &file, args.leaf.as_deref(), operation)?
        }
        (None, Some(file)) => {
            let host = HOSTS.iter().find(|host| (host.is_its)(&file)).unwrap_or(&HOSTS[0]);
            terminal = open(host, &file, workspace, set, json)?;
            (host.ask)(&terminal, &file, args.leaf.as_deref(), operation)?
        }
        (Some(None) | None, _) => {
            if args.leaf.is_some() {
                let wrong =
                    "--leaf is for the transcripts of hosts; go to another entry with `readproof session branch`";
                return Err(Failure::usage(wrong.to_owned()));
            }
            terminal = Terminal::open(workspace, set, json, Beyond::Nothing)?;
            let session = own_session(&terminal, args.session.as_deref())?;
            *terminal.ask_in::<Box<HeldNow>>(Some(&session), operation)?
        }
    };
    terminal.show(|| as_json(&held), || report(&held))
}

/// The host of this name; `None` is our own sessions.
fn named(word: &str) -> Result<Option<&'static HeldIn>, Failure> {
    if word == OWN {
        return Ok(None);
    }
    let words = || HOSTS.iter().map(|host| host.host).collect::<Vec<_>>().join(", ");
    let wrong = || Failure::usage(format!("--host {word} is not known; use one of {OWN}, {}", words()));
    HOSTS.iter().find(|host| host.host == word).map(Some).ok_or_else(wrong)
}

/// Names of our own sessions have neither.
fn is_file_name(session: &str) -> bool {
    session.contains('/') || Path::new(session).extension().is_some_and(|end| end == "jsonl")
}

/// The workspace in which a session ran, if the user names none and it still exists.
fn open(
    host: &HeldIn,
    file: &PathBuf,
    workspace: Option<PathBuf>,
    set: &[String],
    json: bool,
) -> Result<Terminal, Failure> {
    let ran_in = || (host.ran_in)(file).filter(|folder| is_folder(folder)).map(|folder| find_workspace(&folder));
    let workspace = workspace.or_else(ran_in);
    let config = Config::load_with(workspace, set, Beyond::Transcripts(std::slice::from_ref(file)))?;
    let engine = Engine::new(config.root, config.bearings, config.settings, Box::new(clock))?.with_names_from_root();
    Ok(Terminal::of(audited(engine), json))
}

fn newest(host: &HeldIn, args: &HeldArgs, workspace: Option<PathBuf>, set: &[String]) -> Result<PathBuf, Failure> {
    if let Some(session) = &args.session {
        let wrong =
            format!("--session {session} is not a file; name a transcript of {}, as in ./{session}.jsonl", host.host);
        return Err(Failure::usage(wrong));
    }
    let mut config = Config::bare(workspace)?;
    config.fill(set)?;
    let none = || {
        let message =
            format!("no transcript of {} was found for this workspace; name one with --session FILE", host.host);
        Failure::refused("NO_SESSION", message)
    };
    (host.newest)(&config).ok_or_else(none)
}

/// The session that is named, or the only one.
fn own_session(terminal: &Terminal, named: Option<&str>) -> Result<String, Failure> {
    if let Some(name) = named {
        return Ok(name.to_owned());
    }
    let all: Vec<readproof_disk::SessionName> = terminal.ask_in(None, Operation::ListSessions)?;
    match all.as_slice() {
        [one] => Ok(one.to_string()),
        [] => {
            let message =
                "this workspace has no sessions; name a host with --host, or a transcript with --session FILE";
            Err(Failure::refused("NO_SESSION", message.to_owned()))
        }
        several => {
            let names: Vec<String> = several.iter().map(ToString::to_string).collect();
            Err(Failure::usage(format!("name one of the sessions with --session: {}", names.join(", "))))
        }
    }
}

/// The field names are part of the contract.
fn as_json(held: &HeldNow) -> Value {
    let span = |span: &HeldSpan| {
        json!({
            "lines": span.lines.map(range),
            "end": span.end,
            "hash": span.hash.to_string(),
            "form": span.form.as_str(),
            "total_lines": span.total,
            "entry": span.proof.entry,
            "tool": span.proof.tool,
            "mode": span.proof.mode.map(Mode::as_str),
            "now": now_word(&span.now),
            "stale_lines": stale(&span.now).iter().copied().map(range).collect::<Vec<_>>(),
        })
    };
    let file = |file: &HeldFile| {
        let spans: Vec<Value> = file.spans.iter().map(span).collect();
        json!({"path": file.path, "whole": file.whole, "disk": disk_word(file.disk), "spans": spans})
    };
    let of = &held.of;
    let pending: Vec<Value> = of.pending.iter().map(|(tool, path)| json!({"tool": tool, "path": path})).collect();
    json!({
        "ok": true,
        "host": of.host,
        "session": of.session,
        "cwd": of.folder,
        "workspace": held.workspace,
        "leaf": of.leaf,
        "barrier": of.barrier,
        "window_entries": of.window,
        "entries": of.entries,
        "skipped_lines": of.skipped,
        "compactions": of.compactions,
        "distrusted": of.distrusted,
        "files": held.files.iter().map(file).collect::<Vec<_>>(),
        "pending": pending,
    })
}

fn disk_word(disk: OnDisk) -> &'static str {
    match disk {
        OnDisk::Text => "text",
        OnDisk::Gone => "gone",
        OnDisk::NotCompared => "not_compared",
    }
}

fn now_word(now: &Now) -> &'static str {
    match now {
        Now::Same => "same",
        Now::Stale { .. } => "stale",
        Now::Changed => "changed",
        Now::Unknown => "unknown",
    }
}

fn stale(now: &Now) -> &[Lines] {
    match now {
        Now::Stale { lines, .. } => lines,
        Now::Same | Now::Changed | Now::Unknown => &[],
    }
}

/// A tree: the session, its files, what is held of each and why. Writing to a `String` cannot fail.
fn report(held: &HeldNow) -> String {
    let (of, mut out) = (&held.of, String::new());
    let or = |text: &Option<String>, none: &str| text.as_deref().map_or(none.to_owned(), printable);
    let _ = writeln!(out, "session    {} ({})", printable(&of.session), of.host);
    if of.host != OWN {
        let _ = writeln!(
            out,
            "folder     {}",
            or(&of.folder, "unknown: the file does not say where it ran, so nothing counts")
        );
    }
    let _ = writeln!(out, "workspace  {}", printable(&held.workspace));
    let skipped = if of.skipped == 0 { String::new() } else { format!(" ({} lines skipped)", of.skipped) };
    let _ = writeln!(out, "entries    {}{skipped}", of.entries);
    let _ = writeln!(out, "leaf       {}, {} entries since the barrier", or(&of.leaf, "none"), of.window);
    let _ = writeln!(out, "barrier    {} ({} compactions in all)", or(&of.barrier, "none"), of.compactions);
    if let Some(why) = of.distrusted {
        let _ = writeln!(out, "distrusted {why}");
    }
    out.push_str(if held.files.is_empty() { "held       nothing\n" } else { "held\n" });
    for (at, file) in held.files.iter().enumerate() {
        let last = at + 1 == held.files.len() && of.pending.is_empty();
        tree(&mut out, last, file);
    }
    for (at, (tool, path)) in of.pending.iter().enumerate() {
        let branch = if at + 1 == of.pending.len() { "└─" } else { "├─" };
        let _ = writeln!(out, "{branch} {} (its {tool} has no result yet)", or(path, "an unknown file"));
    }
    out.trim_end().to_owned()
}

fn tree(out: &mut String, last: bool, file: &HeldFile) {
    let (branch, trunk) = if last { ("└─", "  ") } else { ("├─", "│ ") };
    let whole = if file.whole { "  whole file" } else { "" };
    let disk = match file.disk {
        OnDisk::Text => "",
        OnDisk::Gone => "  gone from disk",
        OnDisk::NotCompared => "  not compared with the disk",
    };
    let _ = writeln!(out, "{branch} {}{whole}{disk}", printable(&file.path));
    for (at, span) in file.spans.iter().enumerate() {
        let branch = if at + 1 == file.spans.len() { "└─" } else { "├─" };
        let lines = match (span.lines, span.end) {
            (Some(lines), true) => format!("lines {}-{} and the end", lines.first(), lines.last()),
            (Some(lines), false) => format!("lines {}-{} of {}", lines.first(), lines.last(), span.total),
            (None, _) => "the end".to_owned(),
        };
        let mode = span.proof.mode.map_or(String::new(), |mode| format!(" {}", mode.as_str()));
        let text: String = span.hash.to_string().chars().take(12).collect();
        let (tool, entry) = (span.proof.tool, printable(&span.proof.entry));
        let _ = writeln!(out, "{trunk} {branch} {lines}  text {text}  by {tool}{mode} in {entry}{}", now(&span.now));
    }
}

fn now(now: &Now) -> String {
    match now {
        Now::Same | Now::Unknown => String::new(),
        Now::Changed => "  stale: the file changed, and the held text is not stored".to_owned(),
        Now::Stale { lines, end } => {
            let run = |lines: &Lines| match lines.count() {
                1 => lines.first().to_string(),
                _ => format!("{}-{}", lines.first(), lines.last()),
            };
            let mut parts: Vec<String> = lines.iter().map(run).collect();
            parts.extend(end.then(|| "the end".to_owned()));
            format!("  stale: {}", parts.join(", "))
        }
    }
}
