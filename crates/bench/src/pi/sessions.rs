//! Generated pi session files, the same every time, with the fields in pi's order.

use std::{borrow::Cow, collections::BTreeMap, fmt::Display};

use readproof_core::{
    path::PathKey,
    text::{ContentHash, Text},
};
use readproof_hosts::pi::{Source, total_lines};
use serde_json::{Value, json};

/// A session file and the texts stored for it.
pub(crate) struct Session {
    pub(crate) bytes: String,
    pub(crate) entries: u32,
    /// The file that was read last.
    pub(crate) last_read: PathKey,
    texts: BTreeMap<ContentHash, Text>,
    leaf: Option<u32>,
    calls: u32,
    random: u64,
}

impl Source for Session {
    fn text(&self, hash: ContentHash) -> Option<Text> {
        self.texts.get(&hash).cloned()
    }

    fn appended(&self, at: u64, len: usize) -> Option<Cow<'_, [u8]>> {
        let at = usize::try_from(at).ok()?;
        self.bytes.as_bytes().get(at..at + len).map(Cow::Borrowed)
    }
}

/// The id of an entry, in pi's form.
pub(crate) fn id(entry: u32) -> String {
    format!("{:08x}", entry.wrapping_mul(0x9e37_79b1))
}

/// A user message, a command and, every other time, a read with our own record: what most sessions consist of.
pub(crate) fn typical(entries: u32) -> Session {
    let mut session = Session::new();
    let file = code(40);
    while session.entries < entries {
        session.user();
        let number = session.below(100);
        if session.below(2) == 0 {
            session.read(number, &file, Record::Ours);
        } else {
            session.run("ok\n");
        }
    }
    session
}

/// Many small entries of every kind: reads recorded by us and by the older tool, writes, edits, refreshes, context edits,
/// 50 branches and 20 compactions.
pub(crate) fn mixed(entries: u32) -> Session {
    let mut session = Session::new();
    let files: Vec<Text> = (0..60).map(|n| Text::new(format!("<{n}>\nsame\n{}", code(n % 4)))).collect();
    for file in &files {
        session.texts.insert(file.hash(), file.clone());
    }
    let (mut branches, mut compactions) = (0, 0);
    while session.entries < entries {
        let number = session.below(60);
        let file = files[number as usize].as_str().to_owned();
        match session.below(20) {
            0..=5 => session.user(),
            6..=8 => session.run("some words about \"read\" and\nlines"),
            9..=12 => session.read(number, &file, Record::Ours),
            13..=15 => session.read(number, &file, Record::Older),
            16 => session.write(number, &file),
            17 => session.edit(number),
            18 => session.refresh(number),
            _ if session.entries > 50 && session.below(4) == 0 => {
                let target = session.entries - 1 - session.below(50);
                session.omit(target);
            }
            _ => session.user(),
        }
        if session.entries * 21 / entries > compactions && compactions < 20 {
            compactions += 1;
            session.compact();
        }
        if session.entries * 51 / entries > branches && branches < 50 {
            branches += 1;
            session.leaf = Some(session.below(session.entries));
        }
    }
    session
}

/// Long reasoning, and commands with outputs of 10 to 50 KB and many escapes.
pub(crate) fn outputs(turns: u32) -> Session {
    let mut session = Session::new();
    let output =
        "\u{1b}[31merror\u{1b}[0m: \"caf\u{e9}\" in\tmain.rs:12\n    at C:\\\\src\\\\main.rs \u{2014} d\u{e9}tail\n"
            .repeat(800);
    let thought =
        "The user wants \"this\"; I look at it first.\nThen I go on with the tests and their output. ".repeat(60);
    for turn in 0..turns {
        session.user();
        session.think(&thought);
        let from = session.below(100) as usize * 74;
        let length = (10_000 + session.below(40_000)) as usize;
        let end = output.ceil_char_boundary((from + length).min(output.len()));
        let piece = output[output.ceil_char_boundary(from)..end].to_owned();
        session.run(&piece);
        if turn % 40 == 39 {
            session.compact();
        }
    }
    session
}

/// Reads of 8 KB files with our own record, and a compaction after this many turns, as a context of 200,000 tokens needs.
pub(crate) fn reads(turns: u32, files: u32, window: u32) -> Session {
    let mut session = Session::new();
    let file = code(160);
    for turn in 0..turns {
        let number = session.below(files);
        session.read(number, &format!("// {number}\n{file}"), Record::Ours);
        if turn % window == window - 1 {
            session.compact();
        }
    }
    session
}

/// Reads of 8 KB, each omitted by a context edit ten turns later, and never a compaction.
pub(crate) fn edits(turns: u32) -> Session {
    let mut session = Session::new();
    let file = code(160);
    let mut results = Vec::new();
    for _ in 0..turns {
        let number = session.below(100);
        session.read(number, &file, Record::Ours);
        results.push(session.entries - 1);
        if let Some(target) = results.len().checked_sub(10).map(|at| results[at]) {
            session.omit(target);
        }
    }
    session
}

/// Which tool recorded a read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Record {
    Ours,
    Older,
}

impl Session {
    fn new() -> Self {
        let header =
            r#"{"type":"session","version":3,"id":"0198c0de","timestamp":"2026-11-01T00:00:00.000Z","cwd":"/w"}"#;
        let bytes = format!("{header}\n");
        Self { bytes, entries: 0, last_read: PathKey::new(""), texts: BTreeMap::new(), leaf: None, calls: 0, random: 1 }
    }

    fn below(&mut self, n: u32) -> u32 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        u32::try_from((self.random >> 33) % u64::from(n)).unwrap_or(0)
    }

    /// The line of the next entry, after a parent.
    pub(crate) fn line(&self, parent: Option<u32>, kind: &str, rest: impl Display) -> String {
        let parent = parent.map_or_else(|| "null".to_owned(), |parent| format!("\"{}\"", id(parent)));
        let id = id(self.entries);
        let time = "2026-11-01T00:00:00.000Z";
        format!(r#"{{"type":"{kind}","id":"{id}","parentId":{parent},"timestamp":"{time}",{rest}}}"#)
    }

    fn entry(&mut self, kind: &str, rest: impl Display) {
        let line = self.line(self.leaf, kind, rest);
        self.bytes += &line;
        self.bytes.push('\n');
        self.leaf = Some(self.entries);
        self.entries += 1;
    }

    fn user(&mut self) {
        let content = r#"[{"type":"text","text":"please go on with the work"}]"#;
        self.entry("message", format!(r#""message":{{"role":"user","content":{content},"timestamp":1793491200000}}"#));
    }

    fn assistant(&mut self, content: &str) {
        self.entry("message", assistant(content));
    }

    fn think(&mut self, thought: &str) {
        let thought = json!(thought);
        self.assistant(&format!(
            r#"{{"type":"thinking","thinking":{thought}}},{{"type":"text","text":"I look at it."}}"#
        ));
    }

    fn call(&mut self, tool: &str, arguments: &Value) {
        self.calls += 1;
        self.assistant(&self.called(tool, arguments));
    }

    fn called(&self, tool: &str, arguments: &Value) -> String {
        let call =
            format!(r#"{{"type":"toolCall","id":"call_{}","name":"{tool}","arguments":{arguments}}}"#, self.calls);
        format!(r#"{{"type":"text","text":"I look at it first."}},{call}"#)
    }

    /// The result of the latest call, as the fields of an entry.
    fn result(&self, tool: &str, text: &str, details: Option<&str>) -> String {
        let (call, text) = (self.calls, json!(text));
        let from = format!(r#""role":"toolResult","toolCallId":"call_{call}","toolName":"{tool}""#);
        let details = details.map_or(String::new(), |details| format!(r#""details":{details},"#));
        let content = format!(r#""content":[{{"type":"text","text":{text}}}]"#);
        format!(r#""message":{{{from},{content},{details}"isError":false,"timestamp":1793491200000}}"#)
    }

    fn run(&mut self, output: &str) {
        self.call("bash", &json!({ "command": "cargo test \"it\" 2>&1 | tail" }));
        let result = self.result("bash", output, None);
        self.entry("message", result);
    }

    fn read(&mut self, number: u32, text: &str, record: Record) {
        self.last_read = PathKey::new(&format!("/w/f{number}"));
        self.call("read", &json!({ "path": format!("f{number}") }));
        let result = self.read_result(number, text, record);
        self.entry("message", result);
    }

    /// A read of any file, with our own record.
    pub(crate) fn read_of(&mut self, path: &str, text: &str) {
        self.call("read", &json!({ "path": path }));
        let result = self.shown(path, text, Record::Ours);
        self.entry("message", result);
    }

    fn read_result(&self, number: u32, text: &str, record: Record) -> String {
        self.shown(&format!("/w/f{number}"), text, record)
    }

    fn shown(&self, path: &str, text: &str, record: Record) -> String {
        let text = Text::new(text.to_owned());
        let (total, hash, bytes) = (total_lines(&text), text.hash(), text.as_str().len());
        let whole = format!(r#""totalLines":{total},"rangeStart":1,"rangeEnd":{total},"bytes":{bytes}"#);
        let ours = match (record, text.total()) {
            (Record::Older, _) => String::new(),
            (Record::Ours, lines) => {
                let block = format!(r#","textSha":"{hash}","textBytes":{bytes}"#);
                format!(r#"{block},"total":{lines},"lines":[1,{lines}],"end":true"#)
            }
        };
        let path = json!(path);
        let file = format!(r#""pathKey":{path},"scopeKey":"full","servedHash":"{hash}","mode":"full""#);
        let details = format!(r#"{{"readcache":{{"v":1,{file},{whole}{ours}}}}}"#);
        self.result("read", text.as_str(), Some(&details))
    }

    fn write(&mut self, number: u32, text: &str) {
        self.call("write", &json!({ "path": format!("f{number}"), "content": text }));
        let result = self.result("write", "Successfully wrote", None);
        self.entry("message", result);
    }

    fn edit(&mut self, number: u32) {
        let edit = json!({ "oldText": format!("<{number}>"), "newText": "edited" });
        self.call("edit", &json!({ "path": format!("f{number}"), "edits": [edit] }));
        let result = self.result("edit", "Successfully replaced", None);
        self.entry("message", result);
    }

    fn refresh(&mut self, number: u32) {
        let data =
            json!({ "v": 1, "kind": "invalidate", "pathKey": format!("/w/f{number}"), "scopeKey": "full", "at": 1 });
        self.entry("custom", format!(r#""customType":"pi-readcache","data":{data}"#));
    }

    fn omit(&mut self, target: u32) {
        self.entry("context_edit", format!(r#""targetId":"{}","replacement":null"#, id(target)));
    }

    fn compact(&mut self) {
        self.entry("compaction", r#""summary":"what was done","firstKeptEntryId":"00000000","tokensBefore":180000"#);
    }

    /// The line of a read call after an entry; it is not added to the file.
    pub(crate) fn call_line(&mut self, parent: u32) -> String {
        self.calls += 1;
        let call = self.called("read", &json!({ "path": "f1" }));
        self.line(Some(parent), "message", assistant(&call))
    }

    /// The line of a read's result after the call at `parent`; it is not added to the file.
    pub(crate) fn result_line(&self, parent: u32) -> String {
        self.line(Some(parent), "message", self.read_result(1, &code(40), Record::Ours))
    }
}

/// The fields of an assistant's entry.
fn assistant(content: &str) -> String {
    let usage = r#""usage":{"input":1200,"output":88,"cacheRead":51234,"cacheWrite":0,"cost":{"total":0.0123}}"#;
    let more =
        format!(r#""api":"x","provider":"p","model":"m",{usage},"stopReason":"toolUse","timestamp":1793491200000"#);
    format!(r#""message":{{"role":"assistant","content":[{content}],{more}}}"#)
}

/// Lines of code, about 50 bytes each.
pub(crate) fn code(lines: u32) -> String {
    (0..lines).map(|n| format!("    let value_{n} = compute(\"name\", &table[{}])?;\n", n % 17)).collect()
}
