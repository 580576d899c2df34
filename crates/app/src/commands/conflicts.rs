//! `readproof conflicts`: edits that met another's change of the same lines, looked at, proposed for and resolved.

use readproof_core::operation::{Operation, Resolution};
use readproof_engine::{ConflictTexts, OpenedConflict, Written};
use serde_json::{Value, json};
use std::{
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
};

use super::{Done, Terminal, diff::content, edit};
use crate::{
    cli::ConflictsCommand,
    output::{self, Failure},
    report::label,
};

pub(super) fn run(terminal: &Terminal, command: ConflictsCommand) -> Done {
    match command {
        ConflictsCommand::List { all } => {
            let found: Vec<OpenedConflict> = terminal.ask_in(None, Operation::ListConflicts { all })?;
            terminal.show(
                || json!({"ok": true, "conflicts": found.iter().map(facts).collect::<Vec<_>>()}),
                || lines(&found),
            )
        }
        ConflictsCommand::Show { id } => {
            let found: Box<ConflictTexts> = terminal.ask_in(None, Operation::ShowConflict { id })?;
            show(terminal, &found)
        }
        ConflictsCommand::Propose { id, text } => {
            let text = match text {
                Some(file) => content(&terminal.engine, &file)?,
                None => reviewed(terminal, &id)?,
            };
            let found: Box<ConflictTexts> = terminal.ask_in(None, Operation::Propose { id, text })?;
            show(terminal, &found)
        }
        ConflictsCommand::Resolve { id, text, session } => {
            let with = match text.as_str() {
                "ours" => Resolution::Ours,
                "theirs" => Resolution::Theirs,
                "proposal" => Resolution::Proposal,
                file => Resolution::Text(content(&terminal.engine, Path::new(file))?),
            };
            let written: Written = terminal.ask_in(session.as_deref(), Operation::Resolve { id, with })?;
            edit::said(terminal, "resolve", &written)
        }
    }
}

fn lines(found: &[OpenedConflict]) -> String {
    if found.is_empty() {
        return "no conflicts".to_owned();
    }
    let line = |open: &OpenedConflict| {
        let state = match (&open.resolved, &open.proposal) {
            (Some((how, _)), _) => format!("resolved with {how}"),
            (None, Some(_)) => "open, with a proposal".to_owned(),
            (None, None) => "open".to_owned(),
        };
        format!("{}  {}  {state}", open.id, label(&open.conflict.path))
    };
    found.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn facts(open: &OpenedConflict) -> Value {
    json!({
        "id": open.id.to_string(),
        "path": open.conflict.path,
        "base": open.conflict.base,
        "ours": open.conflict.ours,
        "theirs": open.conflict.theirs,
        "proposal": open.proposal.as_ref().map(|(hash, _)| hash.to_string()),
        "by": open.conflict.by,
        "at": open.conflict.at,
        "resolved": open.resolved.as_ref().map(|(how, _)| how),
    })
}

/// Everything about a conflict, as the review command gets it.
fn whole(found: &ConflictTexts) -> Value {
    let mut object = facts(&found.conflict);
    let text = |text: &Option<readproof_core::text::Text>| text.as_ref().map(|text| text.as_str().to_owned());
    let sides = &found.sides;
    object["texts"] = json!({
        "base": text(&sides.base),
        "ours": text(&sides.ours),
        "theirs": text(&sides.theirs),
        "proposal": text(&sides.proposal),
        "marked": text(&sides.marked),
    });
    object["ok"] = json!(true);
    object
}

fn show(terminal: &Terminal, found: &ConflictTexts) -> Done {
    if terminal.json {
        return Ok(output::line(&whole(found).to_string())?);
    }
    let shown = found.sides.proposal.as_ref().or(found.sides.marked.as_ref()).or(found.sides.theirs.as_ref());
    if let Some(text) = shown {
        output::text(text.as_str())?;
    }
    let (id, path) = (found.conflict.id, label(&found.conflict.conflict.path));
    let what = if found.sides.proposal.is_some() { "the proposal" } else { "both changes between markers" };
    output::notice(&format!(
        "{path}: {what}; `readproof conflicts resolve {id} --with ours|theirs|proposal|FILE` ends it"
    ));
    Ok(())
}

/// Asks the review command of the settings for a text.
fn reviewed(terminal: &Terminal, id: &str) -> Result<String, Failure> {
    let wrong = |why: String| Failure::refused("REVIEW", format!("the review command gave no text: {why}"));
    let none = || {
        Failure::usage(
            "no review command is set; set `review_command` in your own settings, or name a file with the text"
                .to_owned(),
        )
    };
    let command = terminal.engine.settings().review_command.clone();
    let (program, words) = command.split_first().ok_or_else(none)?;
    let found: Box<ConflictTexts> = terminal.ask_in(None, Operation::ShowConflict { id: id.to_owned() })?;
    let mut child = Command::new(program)
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| wrong(format!("{program}: {error}")))?;
    let input = whole(&found).to_string();
    let pipe = child.stdin.take();
    let fed = std::thread::spawn(move || pipe.map(|mut pipe| pipe.write_all(input.as_bytes())));
    let done = child.wait_with_output().map_err(|error| wrong(error.to_string()))?;
    drop(fed.join());
    if !done.status.success() {
        return Err(wrong(format!("{program} ended with {}", done.status)));
    }
    String::from_utf8(done.stdout)
        .ok()
        .filter(|text| !text.is_empty())
        .ok_or_else(|| wrong("it is empty, or not UTF-8".to_owned()))
}
