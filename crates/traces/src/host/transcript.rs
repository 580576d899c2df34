//! A transcript of Claude Code, read as a whole: its reads, and the requests that it has a record of. It shares nothing with what the
//! product makes of the same file, as the judge is asked with it.

use readproof_disk::{Appended, TranscriptFile, open_recording};
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    io::{BufRead, BufReader},
    path::Path,
};

use super::requests::hash;
use crate::TracesError;

/// The largest transcript that is read.
const MOST: u64 = 1 << 30;

/// How many lines at the beginning may be about other things than the conversation.
const BEGINNING: usize = 20;

/// A read that was made.
#[derive(Clone, Debug)]
pub(super) struct PastRead {
    pub(super) call: String,
    /// The request that the model answered with it.
    pub(super) request: String,
    pub(super) input: Value,
    pub(super) path: String,
    pub(super) limit: Option<u64>,
    /// Lines of the file, where the transcript says so.
    pub(super) total: Option<u32>,
    /// What the model was shown.
    pub(super) shown: String,
}

/// A request by the hashes of its messages.
struct Sent {
    base: Option<String>,
    keep: usize,
    tail: Vec<String>,
}

/// What a transcript says.
#[derive(Default)]
pub(super) struct Talk {
    /// The folder in which it ran.
    pub(super) cwd: Option<String>,
    pub(super) reads: Vec<PastRead>,
    /// Edits and writes that the model asked for.
    pub(super) edits: u64,
    pub(super) compactions: u64,
    requests: HashMap<String, Sent>,
    messages: HashMap<String, Value>,
    /// The message that the last line belongs to.
    run: Option<(Value, Vec<Value>)>,
    /// Reads without a result.
    open: HashMap<String, (String, Value)>,
}

impl Talk {
    /// Whether a file is such a transcript.
    pub(super) fn is_one(file: &Path) -> bool {
        let Ok((opened, _)) = open_recording(file) else { return false };
        let is_entry = |line: String| {
            let line: Value = serde_json::from_str(&line).unwrap_or_default();
            line["sessionId"].is_string() && line["cwd"].is_string() && line["uuid"].is_string()
        };
        BufReader::new(opened).lines().take(BEGINNING).map_while(Result::ok).any(is_entry)
    }

    pub(super) fn open(file: &Path) -> Result<Self, TracesError> {
        let (mut opened, mut talk) = (TranscriptFile::open(file, MOST)?, Self::default());
        while let Appended::More(lines) | Appended::Anew(lines) = opened.appended()? {
            for line in lines.split(|byte| *byte == b'\n') {
                if let Ok(line) = serde_json::from_slice::<Value>(line) {
                    talk.take(&line);
                }
            }
        }
        Ok(talk)
    }

    fn take(&mut self, line: &Value) {
        if self.cwd.is_none() {
            self.cwd = line["cwd"].as_str().map(str::to_owned);
        }
        let text = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
        match text("type").as_str() {
            "api-request" => {
                let tail = line["tail"].as_array().into_iter().flatten();
                let tail = tail.map(|hash| hash.as_str().unwrap_or_default().to_owned()).collect();
                let keep = line["keep"].as_u64().and_then(|keep| usize::try_from(keep).ok()).unwrap_or(0);
                let base = line["base"].as_str().map(str::to_owned);
                self.requests.insert(text("id"), Sent { base, keep, tail });
            }
            "api-request-blob" => {
                let message = &line["message"];
                let message = json!({"content": content_of(message), "role": message["role"]});
                if hash(&message) == text("hash") {
                    self.messages.insert(text("hash"), message);
                }
            }
            "user" | "assistant" => self.said(line),
            "system" if line["subtype"] == "compact_boundary" => {
                self.compactions += 1;
                self.run = None;
            }
            _ => {}
        }
    }

    /// A line of the conversation. Those of one message stand together; a message may end at each of them.
    fn said(&mut self, line: &Value) {
        let message = &line["message"];
        let content = content_of(message);
        let whose =
            json!([message["role"], if message["role"] == "assistant" { &message["id"] } else { &Value::Null }]);
        let mut blocks = match self.run.take() {
            Some((last, blocks)) if last == whose => blocks,
            _ => Vec::new(),
        };
        blocks.extend(content.iter().cloned());
        let whole = json!({"content": blocks, "role": message["role"]});
        self.messages.insert(hash(&whole), whole);
        self.run = Some((whose, blocks));
        for block in &content {
            self.called(block, line);
        }
    }

    fn called(&mut self, block: &Value, line: &Value) {
        let text = |name: &str| block[name].as_str().unwrap_or_default().to_owned();
        match (block["type"].as_str(), block["name"].as_str()) {
            (Some("tool_use"), Some("Read")) => {
                let request = line["requestRef"].as_str().unwrap_or_default().to_owned();
                self.open.insert(text("id"), (request, block["input"].clone()));
            }
            (Some("tool_use"), Some("Edit" | "MultiEdit" | "Write")) => self.edits += 1,
            (Some("tool_result"), _) if block["is_error"] != true => {
                let call = text("tool_use_id");
                let Some((request, input)) = self.open.remove(&call) else { return };
                let path = input["file_path"].as_str().unwrap_or_default().to_owned();
                let total = &line["toolUseResult"]["file"]["totalLines"];
                let total = total.as_u64().and_then(|total| u32::try_from(total).ok());
                let limit = input["limit"].as_u64();
                self.reads.push(PastRead { call, request, input, path, limit, total, shown: text("content") });
            }
            _ => {}
        }
    }

    /// The messages of a request; `None` if one of them is not there.
    pub(super) fn messages_of(&self, request: &str) -> Option<Vec<Value>> {
        let mut chain = Vec::new();
        let mut next = Some(request);
        while let Some(id) = next {
            let sent = self.requests.get(id)?;
            chain.push(sent);
            next = sent.base.as_deref();
            if chain.len() > self.requests.len() {
                return None;
            }
        }
        let mut hashes: Vec<&String> = Vec::new();
        for sent in chain.into_iter().rev() {
            hashes.truncate(sent.keep);
            hashes.extend(&sent.tail);
        }
        hashes.into_iter().map(|hash| self.messages.get(hash).cloned()).collect()
    }
}

/// The blocks of a message; text alone stands for one block of text.
fn content_of(message: &Value) -> Vec<Value> {
    match &message["content"] {
        Value::String(text) => vec![json!({"text": text, "type": "text"})],
        Value::Array(blocks) => blocks.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    }
}
