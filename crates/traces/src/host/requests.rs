//! A request of Claude Code as the judge sees it: from the JSON of its messages to blocks. Used by random runs and for requests that
//! the real program sent.

use readproof_core::text::ContentHash;
use readproof_reader::{
    Complaint,
    claude::{Asks, Call, Judge, Rebuilt, Seen},
};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The hash by which a record names a message: SHA-256 of the compact JSON with sorted names.
#[must_use]
pub fn hash(message: &Value) -> String {
    ContentHash::of(sorted(message).to_string().as_bytes()).to_string()
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields: BTreeMap<&String, Value> = fields.iter().map(|(name, value)| (name, sorted(value))).collect();
            Value::Object(fields.into_iter().map(|(name, value)| (name.clone(), value)).collect::<Map<_, _>>())
        }
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => other.clone(),
    }
}

/// What a request shows.
#[must_use]
pub fn judge_of(messages: &[Value], cwd: &str) -> Judge {
    let mut judge = Judge::new(cwd);
    for seen in messages.iter().flat_map(blocks) {
        judge.see(&seen);
    }
    judge
}

/// What the markers in the newest results of a request stand for, by the id of their call.
#[must_use]
pub fn markers(messages: &[Value], cwd: &str) -> Vec<(String, Result<Rebuilt, Complaint>)> {
    judged(messages, Judge::new(cwd))
}

/// The same by a judge who knows more.
#[must_use]
pub fn judged(messages: &[Value], mut judge: Judge) -> Vec<(String, Result<Rebuilt, Complaint>)> {
    let newest = messages.iter().rposition(|message| message["role"] == "assistant").unwrap_or(0);
    let mut found = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        for seen in blocks(message) {
            let rebuilt = judge.see(&seen);
            if let (Some(rebuilt), Seen::Result { call, .. }) = (rebuilt, &seen)
                && at > newest
            {
                found.push((call.clone(), rebuilt));
            }
        }
    }
    if judge.retracts() {
        found.retain(|(_, rebuilt)| rebuilt.is_ok());
    }
    found
}

/// The blocks of one message.
fn blocks(message: &Value) -> Vec<Seen> {
    let begins = (message["role"] == "assistant").then_some(Seen::Message);
    let content = match &message["content"] {
        Value::String(text) => vec![Seen::Text(text.clone())],
        Value::Array(blocks) => blocks.iter().map(block).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    };
    begins.into_iter().chain(content).collect()
}

fn block(block: &Value) -> Seen {
    let word = |name: &str| block[name].as_str().unwrap_or_default().to_owned();
    match block["type"].as_str() {
        Some("tool_use") => Seen::Call(Call { id: word("id"), asks: asks(&word("name"), &block["input"]) }),
        Some("tool_result") => Seen::Result {
            call: word("tool_use_id"),
            text: text_of(&block["content"]),
            failed: block["is_error"] == true,
        },
        _ => Seen::Text(word("text")),
    }
}

/// The text of a result; none if there is something else in it.
fn text_of(content: &Value) -> Option<String> {
    match content {
        Value::String(text) => Some(text.clone()),
        Value::Array(blocks) => {
            let texts: Option<Vec<&str>> = blocks.iter().map(|block| block["text"].as_str()).collect();
            texts.filter(|texts| texts.len() == 1).map(|texts| texts.concat())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

fn asks(tool: &str, input: &Value) -> Asks {
    let word = |name: &str| input[name].as_str().unwrap_or_default().to_owned();
    let path = word("file_path");
    match tool {
        "Read" => Asks::Read { path, offset: input["offset"].as_i64(), limit: input["limit"].as_u64() },
        "Write" => Asks::Write { path, content: word("content") },
        "Edit" => {
            let all = input["replace_all"] == true;
            Asks::Edit { path, old: word("old_string"), new: word("new_string"), all }
        }
        "Bash" => Asks::Shell { command: word("command") },
        // The output of a command that runs on, or a tool of others.
        "TaskOutput" => Asks::Shell { command: format!("{tool} {input}") },
        _ => Asks::Other,
    }
}

/// The lines of a file as the program's `Read` counts them: without byte order mark, and without carriage returns at line ends.
#[must_use]
pub fn pieces(text: &str) -> Vec<String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    text.replace("\r\n", "\n").split('\n').map(str::to_owned).collect()
}

/// Whether what was rebuilt is what a plain answer about this file shows.
///
/// # Errors
/// Which line is another.
pub fn compare(rebuilt: &Rebuilt, text: &str, (offset, limit): (Option<i64>, Option<u64>)) -> Result<(), String> {
    let all = pieces(text);
    let first = usize::try_from(offset.unwrap_or(1).max(1)).unwrap_or(1);
    let count = limit.map_or(all.len(), |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let due: Vec<&String> = all.iter().skip(first - 1).take(count).collect();
    if rebuilt.first != first as u64 {
        return Err(format!("lines from {} on were rebuilt, lines from {first} on are due", rebuilt.first));
    }
    if rebuilt.lines.len() != due.len() {
        return Err(format!("{} lines were rebuilt, {} are due", rebuilt.lines.len(), due.len()));
    }
    for (at, (came, line)) in rebuilt.lines.iter().zip(&due).enumerate() {
        if came != *line {
            return Err(format!("line {}: {came:?} was rebuilt, the file has {line:?}", first + at));
        }
    }
    Ok(())
}
