//! The JSON of every result. Field names are part of the contract.

use crate::tools::contract;
use readproof_core::{knowledge::Piece, meta::MetaV1, scope::Lines};
use readproof_engine::{Answer, Receipt, Refreshed, SessionView, Status, Written};
use serde_json::{Value, json};

use crate::{
    config::{Config, SETTINGS},
    report::{saved, tokens},
};

pub(crate) fn answer(answer: &Answer<Option<Receipt>>) -> Value {
    let sent = answer.text.len() as u64;
    let mut object = json!({
        "ok": true,
        "mode": answer.mode.as_str(),
        "reason": answer.reason.as_str(),
        "path": answer.path,
        "text": answer.text,
        "notices": readproof_words::notice::notices(&answer.notices),
        "scope": answer.scope.to_string(),
        "lines": answer.lines.map(range),
        "total_lines": answer.total_lines,
        "cut": answer.next.is_some(),
        "next_offset": answer.next,
        "tokens": {
            "estimate": "bytes/4",
            "sent": tokens(sent),
            "plain": tokens(answer.plain_bytes),
            "saved": saved(answer.plain_bytes, sent),
        },
        "session": answer.given.as_ref().map(|receipt| receipt.session.to_string()),
        "entry": answer.given.as_ref().map(|receipt| receipt.entry.to_string()),
        "readcache": answer.meta.as_ref().map(meta),
    });
    if !answer.pieces.is_empty() {
        object["held_lines"] = answer.pieces.iter().map(piece).collect();
    }
    object
}

/// Lines that an answer names, and the numbers under which they were shown.
pub(crate) fn piece(piece: &Piece) -> Value {
    json!({"lines": range(piece.lines), "shown_as": piece.held_lines().map(range)})
}

/// First and last line.
pub(crate) fn range(lines: Lines) -> [u32; 2] {
    [lines.first(), lines.last()]
}

/// Metadata V1, exactly as specified.
fn meta(meta: &MetaV1) -> Value {
    let mut object = json!({
        "v": readproof_core::meta::VERSION,
        "pathKey": meta.path_key,
        "scopeKey": meta.scope.to_string(),
        "servedHash": meta.served.to_string(),
        "mode": meta.mode.as_str(),
        "totalLines": meta.total_lines,
        "rangeStart": meta.range_start,
        "rangeEnd": meta.range_end,
        "bytes": meta.bytes,
    });
    if let (Some(base), Some(fields)) = (meta.base, object.as_object_mut()) {
        fields.insert("baseHash".to_owned(), Value::String(base.to_string()));
    }
    object
}

/// A write as the tools report it, with the text and the entry that records it.
pub(crate) fn written(operation: &str, written: &Written) -> Value {
    let mut object = contract(operation, written);
    object["text"] = json!(written.text);
    if let Some(receipt) = written.receipts.first() {
        object["session"] = json!(receipt.session.to_string());
        object["entry"] = json!(receipt.entry.to_string());
    }
    object
}

pub(crate) fn refreshed(refreshed: &Refreshed) -> Value {
    json!({
        "ok": true,
        "paths": refreshed.paths,
        "scope": refreshed.scope.to_string(),
        "entry": refreshed.entry.map(|entry| entry.to_string()),
    })
}

pub(crate) fn session(view: &SessionView) -> Value {
    let entries: Vec<Value> = view
        .entries
        .iter()
        .map(|entry| {
            json!({
                "entry": entry.id.to_string(),
                "parent": entry.parent.map(|id| id.to_string()),
                "on_branch": entry.on_branch,
                "kind": entry.kind,
                "path": entry.path,
                "mode": entry.mode.map(readproof_core::decide::Mode::as_str),
                "note": entry.note,
            })
        })
        .collect();
    let leaf = view.leaf.map(|id| id.to_string());
    json!({"ok": true, "session": view.session.to_string(), "leaf": leaf, "entries": entries})
}

pub(crate) fn status(status: &Status) -> Value {
    let store = status.store.as_ref().map(|usage| {
        json!({
            "objects": usage.objects,
            "object_bytes": usage.object_bytes,
            "logs": usage.logs,
            "log_bytes": usage.log_bytes,
        })
    });
    let session = status.conversation.as_ref().map(|session| {
        let files: Vec<Value> = session
            .files
            .iter()
            .map(|file| {
                let span = |(lines, at): &(Lines, u64)| json!({"lines": range(*lines), "entry": format!("e{at}")});
                let spans: Vec<Value> = file.lines.iter().map(span).collect();
                json!({"path": file.path, "whole": file.whole, "spans": spans})
            })
            .collect();
        let counts: serde_json::Map<String, Value> =
            session.counts.iter().map(|(mode, count)| (mode.as_str().to_owned(), json!(count))).collect();
        json!({
            "session": session.name.as_ref().map(ToString::to_string),
            "files": files,
            "window_entries": session.window,
            "counts": counts,
            "plain_bytes": session.plain_bytes,
            "sent_bytes": session.sent_bytes,
            "tokens_saved": saved(session.plain_bytes, session.sent_bytes),
            "distrusted": session.distrusted,
        })
    });
    let sessions: Vec<String> = status.sessions.iter().map(ToString::to_string).collect();
    json!({"ok": true, "workspace": status.workspace, "store": store, "sessions": sessions, "status": session})
}

pub(crate) fn config(config: &Config) -> Value {
    let settings: serde_json::Map<String, Value> = SETTINGS
        .iter()
        .zip(&config.sources)
        .map(|(setting, source)| {
            let value = serde_json::to_value(setting.value(&config.settings)).unwrap_or_default();
            let entry = json!({"value": value, "source": source.as_str(), "variable": setting.variable(), "help": setting.help});
            (setting.key.to_owned(), entry)
        })
        .collect();
    let (workspace, not_taken) = (config.root.path().display().to_string(), &config.notices);
    json!({"ok": true, "workspace": workspace, "settings": settings, "not_taken": not_taken})
}
