//! Conversations as pi writes them, to start from: reads in every form, writes, compactions, context edits, refreshes and
//! branches. What they should lead to is not known here.

use readproof_core::{
    diff::unified,
    text::{ContentHash, Text},
};
use readproof_hosts::pi::total_lines;
use readproof_testkit::op::Random;
use serde_json::{Value, json};

/// The texts that are stored.
pub(super) const TEXTS: [&str; 10] = [
    "",
    "a\n",
    "a",
    "a\nb\n",
    "a\nc\n",
    "a\nb\nc\nd\ne\nf\ng\n",
    "a\nb\nX\nd\ne\nf\ng\n",
    "a\nb\nX\nd\ne\nf\ng",
    "\u{e9}\r\n\tb \"q\"\\",
    "[readcache: unchanged, 3 lines]\n",
];

const PATHS: [&str; 8] = ["a", "b", "/w/a", "@a", "./b", "~/a", "a:1-2", "a:2"];

struct Writer<'r> {
    random: &'r mut Random,
    lines: Vec<String>,
    ids: Vec<String>,
    leaf: Option<String>,
    calls: usize,
}

/// pi writes the type first in entries and blocks, which the fast paths rely on.
fn as_pi_does(spelt: &str, kind: &str) -> String {
    let kind = format!("\"type\":\"{kind}\"");
    let entry = spelt.replacen(&format!(",{kind}"), "", 1).replacen('{', &format!("{{{kind},"), 1);
    let block = entry.replacen("[{\"text\":", "[{\"type\":\"text\",\"text\":", 1);
    if block == entry { entry } else { block.replacen(",\"type\":\"text\"}]", "}]", 1) }
}

/// A file of a few entries.
pub(super) fn conversation(random: &mut Random) -> String {
    let mut lines = Vec::new();
    if random.below(20) > 0 {
        lines.push(json!({"type": "session", "version": 3, "id": "x", "timestamp": "t", "cwd": "/w"}).to_string());
    }
    let mut writer = Writer { random, lines, ids: Vec::new(), leaf: None, calls: 0 };
    for _ in 0..1 + writer.random.below(5) {
        writer.step();
    }
    writer.lines.join("\n") + "\n"
}

impl Writer<'_> {
    fn step(&mut self) {
        match self.random.below(14) {
            0..=5 => self.read(),
            6 => self.write(),
            7 => self.edit(),
            8 => drop(self.entry("compaction", json!({"summary": "s"}))),
            9 => {
                let target = self.any_id();
                let text = self.text();
                let replacement = match self.random.below(3) {
                    0 => Value::Null,
                    1 => json!({"content": [{"type": "text", "text": text.as_str()}]}),
                    _ => json!({"content": "gone"}),
                };
                self.entry("context_edit", json!({"targetId": target, "replacement": replacement}));
            }
            10 => {
                let scope = ["full", "r:1:1", "r:2:3"][self.random.below(3)];
                let data = json!({"v": 1, "kind": "invalidate", "pathKey": "/w/a", "scopeKey": scope, "at": 5});
                self.entry("custom", json!({"customType": "pi-readcache", "data": data}));
            }
            11 => self.leaf = self.any_id(),
            12 => drop(self.entry("thinking_level_change", json!({"level": "high"}))),
            _ => drop(self.message(&json!({"role": "user", "content": "go on"}))),
        }
    }

    fn any_id(&mut self) -> Option<String> {
        self.random.pick(&self.ids).cloned()
    }

    fn text(&mut self) -> Text {
        Text::new(self.random.pick(&TEXTS).copied().unwrap_or_default().to_owned())
    }

    fn entry(&mut self, kind: &str, more: Value) -> String {
        let id = format!("{:08x}", self.ids.len() + 1);
        let mut entry = json!({"type": kind, "id": id, "parentId": self.leaf, "timestamp": "t"});
        if let (Some(entry), Value::Object(more)) = (entry.as_object_mut(), more) {
            entry.extend(more);
        }
        let spelt = entry.to_string();
        self.lines.push(if self.random.below(4) == 0 { spelt } else { as_pi_does(&spelt, kind) });
        self.ids.push(id.clone());
        self.leaf = Some(id.clone());
        id
    }

    fn message(&mut self, message: &Value) -> String {
        self.entry("message", json!({ "message": message }))
    }

    fn call(&mut self, tool: &str, arguments: Value) -> String {
        self.calls += 1;
        let id = format!("c{}", self.calls);
        let mut content = vec![json!({"type": "toolCall", "id": id, "name": tool, "arguments": arguments})];
        if self.random.below(6) == 0 {
            content.push(json!({"type": "toolCall", "id": "beside", "name": "read", "arguments": {"path": "b"}}));
        }
        self.message(&json!({"role": "assistant", "content": content}));
        id
    }

    fn result(&mut self, call: &str, tool: &str, text: &str, readcache: Option<Value>) {
        if self.random.below(12) == 0 {
            return;
        }
        let details = readcache.map(|meta| json!({ "readcache": meta }));
        let failed = self.random.below(12) == 0;
        self.message(&json!({
            "role": "toolResult", "toolCallId": call, "toolName": tool,
            "content": [{"type": "text", "text": text}], "details": details, "isError": failed,
        }));
    }

    /// A read with an answer that may or may not fit what came before.
    fn read(&mut self) {
        let (served, base) = (self.text(), self.text());
        let path = PATHS[self.random.below(PATHS.len())];
        let total = total_lines(&served);
        let mut arguments = json!({ "path": path });
        let (mut first, mut last) = (1, total);
        if self.random.below(3) == 0 {
            first = 1 + self.random.bits() % total;
            last = first + self.random.bits() % (total - first + 1);
            arguments["offset"] = json!(first);
            arguments["limit"] = json!(last - first + 1);
        }
        let whole = (first, last) == (1, total);
        let lines: Vec<&str> = served.as_str().split('\n').collect();
        let range = |from: u64, to: u64| {
            lines[usize::try_from(from - 1).unwrap_or(0)..usize::try_from(to).unwrap_or(0)].join("\n")
        };
        let (mode, text, base) = match self.random.below(6) {
            0 if whole => ("unchanged", format!("[readcache: unchanged, {total} lines]"), Some(&served)),
            0 => {
                ("unchanged_range", format!("[readcache: unchanged in lines {first}-{last} of {total}]"), Some(&served))
            }
            1 if !whole => {
                let text = format!("[readcache: unchanged in lines {first}-{last}; changes exist outside this range]");
                ("unchanged_range", text, Some(&base))
            }
            2 if whole => {
                let diff = unified(&base, &served, "a");
                (
                    "diff",
                    format!("[readcache: {} lines changed of {total}]\n{}", diff.changed(), diff.body),
                    Some(&base),
                )
            }
            3 if last < total => {
                let notice =
                    format!("\n\n[Showing lines {first}-{last} of {total}. Use offset={} to continue.]", last + 1);
                ("full", range(first, last) + &notice, None)
            }
            _ => ("full", range(first, last), None),
        };
        let scope = if whole { "full".to_owned() } else { format!("r:{first}:{last}") };
        let mut meta = json!({
            "v": 1, "pathKey": if path.contains('b') { "/w/b" } else { "/w/a" }, "scopeKey": scope,
            "servedHash": served.hash().to_string(), "mode": mode, "totalLines": total, "rangeStart": first,
            "rangeEnd": last, "bytes": served.as_str().len(),
        });
        if let Some(base) = base {
            meta["baseHash"] = json!(base.hash().to_string());
        }
        if self.random.below(3) == 0 {
            let shown = last.min(u64::from(served.total()));
            meta["textSha"] = json!(ContentHash::of(text.as_bytes()).to_string());
            meta["textBytes"] = json!(text.len());
            meta["total"] = json!(served.total());
            meta["lines"] = if first <= shown { json!([first, shown]) } else { Value::Null };
            meta["end"] = json!(last == total);
        }
        let call = self.call("read", arguments);
        let meta = (self.random.below(10) > 0).then_some(meta);
        self.result(&call, "read", &text, meta);
    }

    fn write(&mut self) {
        let (text, path) = (self.text(), PATHS[self.random.below(6)]);
        let call = self.call("write", json!({"path": path, "content": text.as_str()}));
        self.result(&call, "write", "done", None);
    }

    fn edit(&mut self) {
        let (old, new) = (["a", "c\n", "X"][self.random.below(3)], ["b", "", "X"][self.random.below(3)]);
        let pair = json!({"oldText": old, "newText": new});
        let arguments = if self.random.below(3) == 0 {
            json!({"path": "a", "oldText": old, "newText": new})
        } else {
            json!({"path": "a", "edits": [pair]})
        };
        let call = self.call("edit", arguments);
        self.result(&call, "edit", "done", None);
    }
}
