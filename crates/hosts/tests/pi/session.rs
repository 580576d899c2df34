//! A session file being written: lines as pi writes them, one call a line, and what is held then.

use readproof_core::{
    limits::Answers,
    path::PathKey,
    text::{ContentHash, Form, Text},
};
use readproof_hosts::pi::{EntryRef, Known, Source, Transcript, total_lines};
use serde_json::{Value, json};
use std::{borrow::Cow, cell::Cell, collections::BTreeMap};

pub(crate) const HEADER: &str =
    r#"{"type":"session","version":3,"id":"x","timestamp":"2026-11-01T00:00:00.000Z","cwd":"/w"}"#;

/// The session's file and the texts that are stored.
#[derive(Default)]
pub(crate) struct Stored {
    /// How often it was asked for bytes of the file.
    pub(crate) looks: Cell<usize>,
    pub(crate) bytes: Vec<u8>,
    pub(crate) objects: BTreeMap<ContentHash, Text>,
}

impl Source for Stored {
    fn text(&self, hash: ContentHash) -> Option<Text> {
        self.objects.get(&hash).cloned()
    }

    fn appended(&self, at: u64, len: usize) -> Option<Cow<'_, [u8]>> {
        self.looks.set(self.looks.get() + 1);
        let at = usize::try_from(at).unwrap();
        self.bytes.get(at..at + len).map(Cow::Borrowed)
    }
}

/// A conversation.
pub(crate) struct Session {
    pub(crate) transcript: Transcript,
    pub(crate) stored: Stored,
    /// The parent of the next entry.
    pub(crate) leaf: Option<String>,
    next: u32,
}

impl Session {
    pub(crate) fn new() -> Self {
        let mut session = Self {
            transcript: Transcript::new(Answers::Held, None),
            stored: Stored::default(),
            leaf: None,
            next: 0x1000_0000,
        };
        session.raw(HEADER);
        session
    }

    /// Stores a text.
    pub(crate) fn store(&mut self, text: &str) -> Text {
        let text = Text::new(text.to_owned());
        self.stored.objects.insert(text.hash(), text.clone());
        text
    }

    /// A line as it is.
    pub(crate) fn raw(&mut self, line: &str) {
        self.bytes(format!("{line}\n").as_bytes());
    }

    /// Whole lines as they are.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.stored.bytes.extend_from_slice(bytes);
        self.transcript.append(bytes);
    }

    /// Starts again with an empty file.
    pub(crate) fn begin_anew(&mut self) {
        self.transcript = Transcript::new(Answers::Held, None);
        self.stored.bytes.clear();
    }

    /// An entry of a kind with more fields, after the leaf; gives its id.
    pub(crate) fn entry(&mut self, kind: &str, more: Value) -> String {
        let id = format!("{:08x}", self.next);
        self.next += 1;
        let mut entry = json!({"type": kind, "id": id, "parentId": self.leaf, "timestamp": "2026-11-01T00:00:00.000Z"});
        entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.raw(&entry.to_string());
        self.leaf = Some(id.clone());
        id
    }

    pub(crate) fn message(&mut self, message: Value) -> String {
        self.entry("message", json!({ "message": message }))
    }

    /// An assistant message that makes calls: id, tool, arguments.
    pub(crate) fn calls(&mut self, calls: &[(&str, &str, Value)]) -> String {
        let call = |(id, name, arguments): &(&str, &str, Value)| json!({"type": "toolCall", "id": id, "name": name, "arguments": arguments});
        let mut content = vec![json!({"type": "text", "text": "I look"})];
        content.extend(calls.iter().map(call));
        self.message(json!({"role": "assistant", "content": content, "stopReason": "toolUse"}))
    }

    pub(crate) fn result(&mut self, call: &str, tool: &str, text: &str, readcache: Option<Value>) -> String {
        let details = readcache.map(|meta| json!({ "readcache": meta }));
        self.message(json!({
            "role": "toolResult", "toolCallId": call, "toolName": tool,
            "content": [{"type": "text", "text": text}], "details": details, "isError": false,
        }))
    }

    pub(crate) fn failed(&mut self, call: &str, tool: &str) -> String {
        let content = json!([{"type": "text", "text": "ENOENT"}]);
        let message =
            json!({"role": "toolResult", "toolCallId": call, "toolName": tool, "content": content, "isError": true});
        self.message(message)
    }

    /// A plain read of a whole file as the older tool records it; gives the result's id.
    pub(crate) fn read(&mut self, path: &str, text: &str) -> String {
        let text = self.store(text);
        let call = format!("call_{}", self.next);
        self.calls(&[(&call, "read", json!({ "path": path }))]);
        self.result(&call, "read", text.as_str(), Some(meta(path, &text, "full", None)))
    }

    /// A read that is answered in any other way.
    pub(crate) fn answer(&mut self, arguments: Value, shown: &str, meta: Value) -> String {
        let call = format!("call_{}", self.next);
        self.calls(&[(&call, "read", arguments)]);
        self.result(&call, "read", shown, Some(meta))
    }

    pub(crate) fn write(&mut self, path: &str, content: &str) -> String {
        let call = format!("call_{}", self.next);
        self.calls(&[(&call, "write", json!({"path": path, "content": content}))]);
        self.result(&call, "write", "Successfully wrote", None)
    }

    pub(crate) fn edit(&mut self, path: &str, edits: &[(&str, &str)]) -> String {
        let call = format!("call_{}", self.next);
        let edits: Vec<Value> = edits.iter().map(|(old, new)| json!({"oldText": old, "newText": new})).collect();
        self.calls(&[(&call, "edit", json!({"path": path, "edits": edits}))]);
        self.result(&call, "edit", "Successfully replaced", None)
    }

    pub(crate) fn context_edit(&mut self, target: &str, replacement: Value) -> String {
        self.entry("context_edit", json!({"targetId": target, "replacement": replacement}))
    }

    pub(crate) fn compact(&mut self) -> String {
        self.entry("compaction", json!({"summary": "short", "firstKeptEntryId": "x", "tokensBefore": 9}))
    }

    /// What is held of a path at the leaf, as `1-3$ 5` (`$` is the end), without the texts' hashes.
    pub(crate) fn held(&mut self, path: &str) -> String {
        let leaf = self.leaf.clone();
        self.held_at(path, leaf.as_deref())
    }

    pub(crate) fn held_at(&mut self, path: &str, leaf: Option<&str>) -> String {
        let (leaf, path) = (leaf.map(|leaf| self.transcript.find(leaf).unwrap()), PathKey::new(path));
        let held = self.known_at(leaf).of(&path).of(&path);
        let span = |held: &readproof_core::knowledge::Held| {
            let lines = held.lines().map_or(String::new(), |lines| format!("{}-{}", lines.first(), lines.last()));
            format!("{lines}{}", if held.end() { "$" } else { "" })
        };
        held.iter().map(span).collect::<Vec<_>>().join(" ")
    }

    /// The hash that a whole file is held under.
    pub(crate) fn whole(&mut self, path: &str) -> Option<ContentHash> {
        let leaf = self.leaf.as_deref().map(|leaf| self.transcript.find(leaf).unwrap());
        let path = PathKey::new(path);
        let whole = self.known_at(leaf).of(&path).holds_whole(&path, Form::Disk, Answers::Held);
        whole.map(|version| version.hash)
    }

    pub(crate) fn known_at(&mut self, leaf: Option<EntryRef>) -> Known<'_> {
        self.transcript.known_at(leaf, &self.stored)
    }

    /// What holds at the last entry.
    pub(crate) fn known(&mut self) -> Known<'_> {
        self.known_at(self.transcript.last())
    }
}

/// Metadata V1 of the older tool for the whole file.
pub(crate) fn meta(path: &str, text: &Text, mode: &str, base: Option<&Text>) -> Value {
    let total = total_lines(text);
    let mut meta = json!({
        "v": 1, "pathKey": format!("/w/{path}"), "scopeKey": "full", "servedHash": text.hash().to_string(), "mode": mode,
        "totalLines": total, "rangeStart": 1, "rangeEnd": total, "bytes": text.as_str().len(),
    });
    if let Some(base) = base {
        meta["baseHash"] = json!(base.hash().to_string());
    }
    meta
}

/// The same for some of pi's lines.
pub(crate) fn ranged(mut meta: Value, first: u64, last: u64) -> Value {
    meta["scopeKey"] = json!(format!("r:{first}:{last}"));
    meta["rangeStart"] = json!(first);
    meta["rangeEnd"] = json!(last);
    meta
}

/// The same with what Readproof adds.
pub(crate) fn extras(mut meta: Value, shown: &str, total: u32, lines: Option<(u32, u32)>, end: bool) -> Value {
    meta["textSha"] = json!(ContentHash::of(shown.as_bytes()).to_string());
    meta["textBytes"] = json!(shown.len());
    meta["total"] = json!(total);
    meta["lines"] = json!(lines);
    meta["end"] = json!(end);
    meta
}
