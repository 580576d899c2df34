//! What a conversation is in the middle of, and what it is told unasked: the words of both, for every wire.

use readproof_core::{operation::Operation, path::label, scope::Lines};
use readproof_engine::{ContextFound, DiffStatus, Handle, KnownFile, KnownState, RecentFile, Told, Uncommitted};
use serde_json::{Value, json};

use super::{
    call::{Refused, ToolCall, ToolOutput, Tools},
    history::{entry_object, output, what, who},
};
use crate::report::listed::counted;

pub(super) fn context(tools: &Tools<'_>, call: &ToolCall<'_>) -> Result<ToolOutput, Refused> {
    let found: Box<ContextFound> = tools.ask(call, Operation::Context)?.try_into()?;
    Ok(context_said(&found))
}

pub(crate) fn context_said(found: &ContextFound) -> ToolOutput {
    let mut text = Vec::new();
    let mut part = |title: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            text.push(title.to_owned());
            text.extend(lines.into_iter().map(|line| format!("  {line}")));
        }
    };
    let recent = |file: &RecentFile| format!("{}{}", label(&file.path), if file.written { "  written" } else { "" });
    part("recent:", found.recent.iter().map(recent).collect());
    part("shown:", found.files.iter().map(known_line).collect());
    part("own changes:", found.own.iter().map(|entry| format!("{}  {}", entry.id, what(entry))).collect());
    let waiting = |approval: &readproof_engine::Approval| {
        let paths: Vec<String> = approval.request.asked.paths.iter().map(|path| label(path)).collect();
        format!("{}  {}  {}", approval.request.id, approval.request.asked.what, paths.join(", "))
    };
    part("waits for a person:", found.waiting.iter().map(waiting).collect());
    let conflict = |open: &readproof_engine::OpenedConflict| format!("{}  {}", open.id, label(&open.conflict.path));
    part("in conflict:", found.conflicts.iter().map(conflict).collect());
    let status = |(path, status): &(String, DiffStatus)| format!("{}  {}", status.as_str(), label(path));
    let uncommitted = found.uncommitted.iter().flat_map(|found| &found.files);
    part("not committed:", uncommitted.map(status).collect());
    output(text.join("\n"), summary(found), contract(found), "text")
}

fn known_line(file: &KnownFile) -> String {
    let held = match (file.whole, &file.lines[..]) {
        (Some(true), _) => "all of it".to_owned(),
        (_, []) => String::new(),
        (_, lines) => format!("lines {}", lines.iter().take(5).map(span).collect::<Vec<_>>().join(", ")),
    };
    let state = match file.state {
        KnownState::Same => "",
        KnownState::Changed => "changed since",
        KnownState::Gone => "gone",
        KnownState::Unknown => "not looked at",
    };
    let words: Vec<String> =
        [label(&file.path), held, state.to_owned()].into_iter().filter(|word| !word.is_empty()).collect();
    words.join("  ")
}

fn span(lines: &Lines) -> String {
    format!("{}-{}", lines.first(), lines.last())
}

fn summary(found: &ContextFound) -> String {
    let stale = found.files.iter().filter(|file| file.state == KnownState::Changed).count();
    let mut said = vec![format!("{} shown", counted(found.files_total, "file"))];
    if stale > 0 {
        said.push(format!("{stale} of them changed since"));
    }
    if found.others > 0 {
        said.push(format!(
            "{} by others since your last one: changes {{}} shows them",
            counted(found.others, "change")
        ));
    }
    match &found.uncommitted {
        Some(Uncommitted { total, more, .. }) => {
            let at_least = if *more { "at least " } else { "" };
            said.push(format!("{at_least}{} not committed", counted(*total, "file")));
        }
        None => said.push("git has no commit to compare with".to_owned()),
    }
    said.join("; ")
}

fn contract(found: &ContextFound) -> Value {
    let known = |file: &KnownFile| {
        let lines: Vec<String> = file.lines.iter().map(span).collect();
        json!({"path": file.path, "state": file.state.as_str(), "whole": file.whole, "held_lines": lines})
    };
    let recent = |file: &RecentFile| json!({"path": file.path, "written": file.written});
    let waiting = |approval: &readproof_engine::Approval| {
        let asked = &approval.request.asked;
        json!({"id": approval.request.id.to_string(), "what": asked.what, "paths": asked.paths})
    };
    let conflict =
        |open: &readproof_engine::OpenedConflict| json!({"id": open.id.to_string(), "path": open.conflict.path});
    let status = |(path, status): &(String, DiffStatus)| json!({"path": path, "status": status.as_str()});
    json!({
        "ok": true,
        "recent": found.recent.iter().map(recent).collect::<Vec<_>>(),
        "shown": found.files.iter().map(known).collect::<Vec<_>>(),
        "shown_total": found.files_total,
        "own_changes": found.own.iter().map(entry_object).collect::<Vec<_>>(),
        "changes_by_others": found.others,
        "waiting": found.waiting.iter().map(waiting).collect::<Vec<_>>(),
        "conflicts": found.conflicts.iter().map(conflict).collect::<Vec<_>>(),
        "uncommitted": found.uncommitted.as_ref().map(|found| json!({
            "files": found.files.iter().map(status).collect::<Vec<_>>(),
            "total": found.total,
            "more": found.more,
        })),
    })
}

/// The blocks that tell a conversation what others changed: each diff in a block of its own, and one line about all of them.
pub(super) fn told_blocks(told: &[Told<Handle>]) -> Vec<String> {
    if told.is_empty() {
        return Vec::new();
    }
    let diffs = told.iter().filter(|news| !news.diff.is_empty()).map(|news| news.diff.clone());
    let line = |news: &Told<Handle>| {
        let (path, who) = (label(&news.path), who(&news.by));
        let by = if news.by.is_outside() { "another program".to_owned() } else { who };
        match (news.removed, news.diff.is_empty()) {
            (true, _) => format!("{path} was removed by {by} ({})", news.version),
            (false, true) => format!("{path} was changed by {by} ({}): read it again", news.version),
            (false, false) => format!("{path} was changed by {by} ({}): the diff above is all of it", news.version),
        }
    };
    let lines: Vec<String> = told.iter().map(line).collect();
    diffs.chain([format!("[since you last saw it: {}]", lines.join("; "))]).collect()
}

/// The same for programs.
pub(super) fn told_contract(told: &[Told<Handle>]) -> Value {
    let news = |news: &Told<Handle>| {
        json!({
            "path": news.path,
            "version_id": news.version.to_string(),
            "operation": news.operation,
            "by": news.by,
            "removed": news.removed,
            "shown": !news.diff.is_empty(),
        })
    };
    told.iter().map(news).collect()
}
