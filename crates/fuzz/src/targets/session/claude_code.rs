//! Claude Code's transcripts. Input: one byte that says where the file is cut while it is written, then its lines. Messages are
//! named by their hashes, which are made anew after the input was changed, so that changed messages count too. However the file is
//! cut, the same is known; every line that is held is in a text that is known.

use readproof_core::{limits::Answers, text::ContentHash};
use readproof_hosts::claude_code::{Distrust, Source, Transcript};
use readproof_testkit::op::Random;
use serde_json::{Value, json};
use std::collections::BTreeMap;

use super::super::{Seen, Target, held};

pub(in crate::targets) const TARGET: Target = Target {
    name: "claude_code",
    accepts: "something is held at some call",
    check,
    start,
    words: &[
        "\"type\":\"user\"",
        "\"type\":\"assistant\"",
        "\"type\":\"tool_use\"",
        "\"type\":\"tool_result\"",
        "\"tool_use_id\":\"t1\"",
        "\"name\":\"Read\"",
        "\"name\":\"Edit\"",
        "\"name\":\"Write\"",
        "\"subtype\":\"compact_boundary\"",
        "\"parentUuid\":null",
        "\"is_error\":true",
        "\"limit\":2",
        "\"offset\":0",
        "1\\ta\\n2\\tb",
        "0\\t[readcache: unchanged, 2 lines]",
        "<system-reminder>\\nx\\n</system-reminder>",
        "The file /w/a has been updated successfully.",
        "\"replace_all\":true",
        "\\n",
        "4294967295\\tx",
        "\n",
    ],
    most: 6000,
};

fn start(random: &mut Random) -> Vec<u8> {
    let bits = random.bits();
    let mut file = vec![bits.to_le_bytes()[0]];
    let mut made = Made { parent: None, sent: Vec::new(), lines: Vec::new(), request: 0 };
    made.user(&json!("go"));
    let mut text = String::from("1\ta\n2\tb\n3\tc");
    for turn in 0..3 + bits % 5 {
        let id = format!("t{turn}");
        let (input, result, shape) = match (bits >> (8 + turn * 3)) & 7 {
            0..=2 => (
                json!({"name": "Read", "input": {"file_path": "/w/a"}}),
                text.clone(),
                json!({"type": "text", "file": {"startLine": 1, "numLines": text.lines().count(), "totalLines": text.lines().count()}}),
            ),
            3 => (
                json!({"name": "Read", "input": {"file_path": "/w/a", "offset": 2, "limit": 1}}),
                text.lines().nth(1).unwrap_or_default().to_owned(),
                json!({"type": "text", "file": {"startLine": 2, "numLines": 1, "totalLines": 3}}),
            ),
            4 | 5 => {
                text = text.replace('b', "d");
                (
                    json!({"name": "Edit", "input": {"file_path": "/w/a", "old_string": "b", "new_string": "d"}}),
                    "The file /w/a has been updated successfully.".to_owned(),
                    json!({"oldString": "b", "newString": "d"}),
                )
            }
            6 => {
                text = "1\tx\n2\ty\n3".to_owned();
                (
                    json!({"name": "Write", "input": {"file_path": "/w/a", "content": "x\ny\n"}}),
                    "File created successfully at: /w/a".to_owned(),
                    json!({"content": "x\ny\n"}),
                )
            }
            _ => {
                made.boundary();
                (json!({"name": "Bash", "input": {"command": "cat /w/a"}}), "x".to_owned(), Value::Null)
            }
        };
        made.call(&id, &input);
        made.result(&id, &result, &shape);
    }
    made.call("last", &json!({"name": "Read", "input": {"file_path": "/w/a"}}));
    for line in made.lines {
        file.extend(line.to_string().into_bytes());
        file.push(b'\n');
    }
    file
}

/// A file that is being made.
struct Made {
    parent: Option<String>,
    sent: Vec<Value>,
    lines: Vec<Value>,
    request: u32,
}

impl Made {
    fn entry(&mut self, mut line: Value) {
        let uuid = format!("u{}", self.lines.len());
        line["uuid"] = json!(uuid);
        line["parentUuid"] = json!(self.parent.replace(uuid));
        self.lines.push(line);
    }

    fn user(&mut self, content: &Value) {
        self.sent.push(json!({"role": "user", "content": content}));
        self.entry(json!({"type": "user", "message": {"role": "user", "content": content}}));
    }

    fn boundary(&mut self) {
        self.parent = None;
        self.sent.clear();
        self.entry(json!({"type": "system", "subtype": "compact_boundary"}));
        self.user(&json!("summary"));
    }

    fn call(&mut self, id: &str, call: &Value) {
        self.request += 1;
        let request = format!("r{}", self.request);
        for message in &self.sent {
            self.lines.push(json!({"type": "api-request-blob", "hash": hash(message), "message": message}));
        }
        let tail: Vec<String> = self.sent.iter().map(hash).collect();
        self.lines.push(json!({"type": "api-request", "id": request, "params": {}, "keep": 0, "tail": tail}));
        let content = json!([{"type": "tool_use", "id": id, "name": call["name"], "input": call["input"]}]);
        self.sent.push(json!({"role": "assistant", "content": content}));
        let message = json!({"role": "assistant", "id": request, "content": content});
        self.entry(json!({"type": "assistant", "message": message, "requestRef": request}));
    }

    fn result(&mut self, id: &str, text: &str, made: &Value) {
        let content = json!([{"type": "tool_result", "tool_use_id": id, "content": text}]);
        self.sent.push(json!({"role": "user", "content": content}));
        let message = json!({"role": "user", "content": content});
        self.entry(json!({"type": "user", "message": message, "toolUseResult": made}));
    }
}

/// The hash of a message, worked out without the product's code. Objects are sorted by their names already.
fn hash(message: &Value) -> String {
    let content = match &message["content"] {
        Value::String(text) => json!([{"type": "text", "text": text}]),
        other => other.clone(),
    };
    let named = json!({"content": content, "role": message["role"]});
    ContentHash::of(named.to_string().as_bytes()).to_string()
}

/// The file with the hashes of its messages as they are now.
fn signed(bytes: &[u8]) -> Vec<u8> {
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let mut renamed = BTreeMap::new();
    let mut values: Vec<Option<Value>> = lines.iter().map(|line| serde_json::from_slice(line).ok()).collect();
    for value in values.iter_mut().flatten().filter(|value| value["type"] == "api-request-blob") {
        let now = hash(&value["message"]);
        if let Value::String(before) = std::mem::replace(&mut value["hash"], json!(now)) {
            renamed.insert(before, now);
        }
    }
    let mut out = Vec::new();
    for (line, value) in lines.iter().zip(&mut values) {
        let Some(value) = value else {
            out.extend_from_slice(line);
            continue;
        };
        if let Some(tail) = value.get_mut("tail").and_then(Value::as_array_mut) {
            for hash in tail {
                let now = hash.as_str().and_then(|hash| renamed.get(hash));
                if let Some(now) = now {
                    *hash = json!(now);
                }
            }
        }
        out.extend(value.to_string().into_bytes());
        out.push(b'\n');
    }
    out
}

fn check(input: &[u8]) -> Seen {
    let (cut, bytes) = input.split_first().map_or((0, input), |(cut, bytes)| (*cut, bytes));
    let file = signed(bytes);
    let at = file.len() * usize::from(cut) / 256;
    let at = file[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let (mut once, mut twice) = (Transcript::new(Answers::Held), Transcript::new(Answers::Held));
    once.append(&file);
    twice.append(&file[..at]);
    twice.append(&file[at..]);
    let mut kind = 0;
    for call in (0..8).map(|turn| format!("t{turn}")).chain(["last".to_owned()]) {
        let source: &[u8] = &file;
        let one = known(&mut once, &call, &source);
        assert_eq!(one, known(&mut twice, &call, &source), "{call}");
        kind |= match one {
            Ok(held) => held,
            Err(why) => 1 << (8 + why as u64),
        };
    }
    Seen { accepted: kind & 0x1f != 0, kind }
}

/// A few bits that characterize what is held.
fn known(transcript: &mut Transcript, call: &str, source: &dyn Source) -> Result<u64, Distrust> {
    let known = transcript.known_at_call(call, source)?;
    for (path, spans) in known.knowledge().paths() {
        for span in spans {
            let text = known.text(span.version().hash);
            assert!(text.is_some_and(|text| text.version() == span.version()), "{path}: {span:?} has no text");
        }
    }
    Ok(held::sound(known.knowledge(), u64::from(u32::MAX)))
}
