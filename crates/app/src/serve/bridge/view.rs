//! `readproof pi-session`: what is held at a leaf of a pi session, for a person and as JSON.

use readproof_core::decide::Mode;
use readproof_engine::{PiFile, PiSession, PiSpan, PiView};
use serde_json::{Value, json};
use std::{fmt::Write, path::PathBuf};

use crate::{
    cli::HostSessionArgs,
    config::{Beyond, Config},
    output::{self, Failure},
    report::{json::range, printable},
};

/// The user names the session file, so it may be anywhere; of the settings only `answers` matters.
pub(crate) fn show_session(
    args: HostSessionArgs,
    workspace: Option<PathBuf>,
    set: &[String],
    as_json: bool,
) -> Result<(), Failure> {
    let config = Config::load_with(workspace.clone(), set, Beyond::Transcripts(std::slice::from_ref(&args.file)))?;
    let asked = PiSession {
        file: args.file,
        leaf: args.leaf,
        workspace: workspace.map(|_| config.root.path().to_path_buf()),
        home: config.bearings.home,
        answers: config.settings.answers,
    };
    let view = readproof_engine::pi_session(&asked)?;
    Ok(output::line(&if as_json { json(&view).to_string() } else { report(&view) })?)
}

/// The field names are part of the contract.
fn json(view: &PiView) -> Value {
    let span = |span: &PiSpan| {
        json!({
            "lines": span.lines.map(range),
            "end": span.end,
            "hash": span.hash.to_string(),
            "total_lines": span.total,
            "entry": span.entry,
            "tool": span.tool,
            "mode": span.mode.map(Mode::as_str),
        })
    };
    let file = |file: &PiFile| {
        let spans: Vec<Value> = file.spans.iter().map(span).collect();
        json!({"path": file.path, "whole": file.whole, "spans": spans})
    };
    let files: Vec<Value> = view.files.iter().map(file).collect();
    let pending: Vec<Value> = view.pending.iter().map(|(tool, path)| json!({"tool": tool, "path": path})).collect();
    json!({
        "ok": true,
        "cwd": view.cwd,
        "leaf": view.leaf,
        "barrier": view.barrier,
        "window_entries": view.window,
        "entries": view.entries,
        "skipped_lines": view.skipped,
        "compactions": view.compactions,
        "objects": view.objects,
        "files": files,
        "pending": pending,
    })
}

/// A tree: the session, its files, what is held of each and why. Writing to a `String` cannot fail.
fn report(view: &PiView) -> String {
    let mut out = String::new();
    let or = |text: &Option<String>, none: &str| text.as_deref().map_or(none.to_owned(), printable);
    let _ = writeln!(out, "folder     {}", or(&view.cwd, "unknown: no header of version 3, so nothing counts"));
    let _ = writeln!(out, "entries    {} ({} lines skipped)", view.entries, view.skipped);
    let _ = writeln!(out, "leaf       {}, {} entries since the barrier", or(&view.leaf, "none"), view.window);
    let _ = writeln!(out, "barrier    {} ({} compactions in all)", or(&view.barrier, "none"), view.compactions);
    let _ = writeln!(out, "texts      {}", or(&view.objects, "none stored: reads of the older tool do not count"));
    out.push_str(if view.files.is_empty() { "held       nothing\n" } else { "held\n" });
    for (at, file) in view.files.iter().enumerate() {
        let last = at + 1 == view.files.len() && view.pending.is_empty();
        tree(&mut out, last, file);
    }
    for (at, (tool, path)) in view.pending.iter().enumerate() {
        let branch = if at + 1 == view.pending.len() { "└─" } else { "├─" };
        let _ = writeln!(out, "{branch} {} (its {tool} has no result yet)", or(path, "an unknown file"));
    }
    out.trim_end().to_owned()
}

fn tree(out: &mut String, last: bool, file: &PiFile) {
    let (branch, trunk) = if last { ("└─", "  ") } else { ("├─", "│ ") };
    let whole = if file.whole { "  whole file" } else { "" };
    let _ = writeln!(out, "{branch} {}{whole}", printable(&file.path));
    for (at, span) in file.spans.iter().enumerate() {
        let branch = if at + 1 == file.spans.len() { "└─" } else { "├─" };
        let lines = match (span.lines, span.end) {
            (Some(lines), true) => format!("lines {}-{} and the end", lines.first(), lines.last()),
            (Some(lines), false) => format!("lines {}-{} of {}", lines.first(), lines.last(), span.total),
            (None, _) => "the end".to_owned(),
        };
        let mode = span.mode.map_or(String::new(), |mode| format!(" {}", mode.as_str()));
        let text: String = span.hash.to_string().chars().take(12).collect();
        let _ = writeln!(
            out,
            "{trunk} {branch} {lines}  text {text}  by {}{mode} in {}",
            span.tool,
            printable(&span.entry)
        );
    }
}
