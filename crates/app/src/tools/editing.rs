//! The tools that change files, and the diff between versions. Each makes an operation and words its outcome.

use readproof_core::{
    edit::{EditError, Piece, Places},
    limits::TEXT_CHARS,
    operation::{AnswerLimit, Change, CompareVersions, Operation, Over, Patch, Write},
    path::label,
    text::ContentHash,
};
use readproof_engine::{ComparedVersions, Error, Which, Written, WrittenFile};
use readproof_words::notice::notices as words;
use serde_json::{Map, Value, json};

use super::{
    args::invalid,
    call::{Refused, ToolCall, ToolOutput, Tools},
};

/// The text that a call is for: the one it names by its hash, or the one that the model holds.
fn over(call: &ToolCall<'_>) -> Result<Over, Refused> {
    let Some(text) = call.args.text("expected_hash") else { return Ok(Over::Held) };
    let bare = text.trim().trim_start_matches("sha256:").trim_start_matches("sha256-");
    ContentHash::parse(bare).map(Over::Hash).ok_or_else(|| {
        let path = call.args.text("path").or(call.args.text("filepath")).unwrap_or_default();
        let better = call.args.but_for(&["expected_hash"]);
        invalid(call.tool, call.args.all(), path, "expected_hash must be a SHA-256 in 64 hex digits.", &better).into()
    })
}

fn path(call: &ToolCall<'_>) -> String {
    call.args.text("path").or(call.args.text("filepath")).unwrap_or_default().to_owned()
}

pub(super) fn edit(tools: &Tools<'_>, call: &ToolCall<'_>) -> Result<ToolOutput, Refused> {
    let path = path(call);
    let refuse = |message: &str, better: &Value| invalid(call.tool, call.args.all(), &path, message, better);
    let one = (call.args.text("old"), call.args.text("new"));
    let places = |all: bool| if all { Places::All } else { Places::One };
    let pieces = match (one, call.args.edits()) {
        ((Some(_), _) | (_, Some(_)), Some(_)) => {
            let better = call.args.but_for(&["edits"]);
            return Err(refuse("Give old and new, or edits, not both.", &better).into());
        }
        ((Some(old), Some(new)), None) => {
            vec![Piece::replace(old.to_owned(), new.to_owned(), places(call.args.flag("all")))]
        }
        ((None, None), Some(edits)) => edits
            .iter()
            .map(|edit| {
                let text = |name: &str| edit.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
                let all = edit.get("all").and_then(Value::as_bool).unwrap_or(false);
                Piece::replace(text("old"), text("new"), places(all))
            })
            .collect(),
        ((Some(_) | None, Some(_) | None), None) => {
            return Err(refuse(
                "old and new are required: the text that is there, and the text instead.",
                &json!({"path": path}),
            )
            .into());
        }
    };
    let write = Write { path, change: Change::Edit(pieces), over: over(call)? };
    changed(tools, call, Operation::Write(write))
}

pub(super) fn write(tools: &Tools<'_>, call: &ToolCall<'_>) -> Result<ToolOutput, Refused> {
    let content = call.args.text("content").unwrap_or_default().to_owned();
    let change = match call.args.text("mode") {
        Some("append") => Change::Append(content),
        Some("create") => Change::Create(content),
        Some(_) | None => Change::Whole(content),
    };
    changed(tools, call, Operation::Write(Write { path: path(call), change, over: over(call)? }))
}

pub(super) fn patch(tools: &Tools<'_>, call: &ToolCall<'_>) -> Result<ToolOutput, Refused> {
    let patch = call.args.text("patch").unwrap_or_default().to_owned();
    let path = call.args.text("filepath").map(str::to_owned);
    changed(tools, call, Operation::Patch(Patch { patch, path, over: over(call)? }))
}

pub(super) fn delete(tools: &Tools<'_>, call: &ToolCall<'_>) -> Result<ToolOutput, Refused> {
    changed(tools, call, Operation::Write(Write { path: path(call), change: Change::Delete, over: over(call)? }))
}

pub(super) fn rename(tools: &Tools<'_>, call: &ToolCall<'_>) -> Result<ToolOutput, Refused> {
    let to = call.args.text("to").unwrap_or_default().to_owned();
    changed(tools, call, Operation::Write(Write { path: path(call), change: Change::Move { to }, over: over(call)? }))
}

fn changed(tools: &Tools<'_>, call: &ToolCall<'_>, operation: Operation) -> Result<ToolOutput, Refused> {
    let written: Written = tools.ask(call, operation)?.try_into()?;
    let contract = contract(call.tool.name, &written);
    let said = ToolOutput { contract, text_key: "text", ..ToolOutput::default() };
    Ok(ToolOutput { text: Some(written.text), ..said }.beside(&written.notices))
}

/// `PatchResult` of seed 004, and what became of each file.
pub(crate) fn contract(operation: &str, written: &Written) -> Value {
    let diff: String = written.files.iter().map(|file| file.diff.as_str()).collect();
    json!({
        "ok": true,
        "success": true,
        "operation": operation,
        "message": written.text.lines().next().unwrap_or_default(),
        "conflict": false,
        "diff": diff,
        "version_id": written.version.map(|version| version.to_string()),
        "files": written.files.iter().map(file).collect::<Vec<_>>(),
        "notices": words(&written.notices),
    })
}

fn file(file: &WrittenFile) -> Value {
    let hash = |hash: Option<ContentHash>| hash.map(|hash| hash.to_string());
    json!({
        "path": file.path,
        "from": file.from,
        "removed": file.removed,
        "changed": !file.same,
        "merged": file.merged,
        "exact": file.assumed.is_empty(),
        "before": hash(file.before),
        "after": hash(file.after),
        "bytes": file.bytes,
        "lines": file.lines,
        "replaced": file.hunks.iter().map(|hunk| json!([hunk.old.first(), hunk.old.last(), hunk.new_count])).collect::<Vec<_>>(),
    })
}

/// What a program may want to know of a change that was refused.
pub(super) fn facts(error: &Error) -> Map<String, Value> {
    let hash = |hash: Option<ContentHash>| json!(hash.map(|hash| hash.to_string()));
    let facts = if let Error::Precondition { path, expected, actual } = error {
        json!({"path": path, "expected": hash(*expected), "actual": hash(*actual)})
    } else if let Error::Exists { path, actual } = error {
        json!({"path": path, "expected": null, "actual": hash(*actual)})
    } else if let Error::Conflict { path, id, actual, .. } = error {
        json!({"path": path, "conflict": id.map(|id| id.to_string()), "actual": hash(Some(*actual))})
    } else if let Error::Edit { path, source, .. } = error {
        placing(path, source)
    } else if let Error::ApprovalNeeded(request) = error {
        json!({"id": request.id, "act": request.act.as_str(), "paths": request.paths, "expires_at": request.expires_at})
    } else if let Error::NotApproved { id, paths, .. } = error {
        json!({"id": id, "paths": paths})
    } else if let Error::BadPatch { source } = error {
        json!({"line": source.line})
    } else {
        json!({})
    };
    facts.as_object().cloned().unwrap_or_default()
}

/// Where a change could not be placed.
fn placing(path: &str, error: &EditError) -> Value {
    if let EditError::Many { piece, count, places } = error {
        return json!({"path": path, "edit": piece, "count": count, "places": places});
    }
    if let EditError::NotFound { piece, nearest } = error {
        let nearest = nearest.as_ref().map(|nearest| {
            let (first, last) = (nearest.lines.first(), nearest.lines.last());
            json!({"start_line": first, "end_line": last, "differs_at": nearest.differs_at})
        });
        return json!({"path": path, "edit": piece, "nearest": nearest});
    }
    json!({"path": path})
}

pub(super) fn diff(tools: &Tools<'_>, call: &ToolCall<'_>) -> Result<ToolOutput, Refused> {
    let (from, to) = (call.args.text("version1").map(str::to_owned), call.args.text("version2").map(str::to_owned));
    let most = AnswerLimit { lines: u32::MAX, chars: TEXT_CHARS };
    let operation = Operation::CompareVersions(CompareVersions { path: path(call), from, to, most });
    let found: ComparedVersions = tools.ask(call, operation)?.try_into()?;
    Ok(compared(&found))
}

/// A diff of two versions, for every wire.
pub(crate) fn compared(found: &ComparedVersions) -> ToolOutput {
    let name = |which: &Which| match which {
        Which::Working => "the working file".to_owned(),
        Which::First => "the text before v1".to_owned(),
        Which::Version(id) => id.to_string(),
    };
    let (from, to, (added, removed)) = (name(&found.sides.0), name(&found.sides.1), found.changed);
    let cut = if found.is_cut { "; only a part fits, so read the file" } else { "" };
    let trailer = if found.diff.is_empty() {
        format!("[{}: {from} and {to} are the same]", label(&found.path))
    } else {
        format!("[{}: {from} to {to}, +{added} -{removed}{cut}]", label(&found.path))
    };
    let contract = json!({
        "ok": true,
        "success": true,
        "path": found.path,
        "version1": from,
        "version2": to,
        "added": added,
        "removed": removed,
        "truncated": found.is_cut,
    });
    let text = Some(found.diff.clone()).filter(|diff| !diff.is_empty());
    ToolOutput { text, trailer: Some(trailer.into()), contract, text_key: "diff", ..ToolOutput::default() }
}
