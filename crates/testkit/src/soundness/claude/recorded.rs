//! Recordings of conversations in the real program (`integrations/hosts/plugin`): the lines of its transcripts, and the requests
//! that the model was sent. The requests are judged as they are; the transcripts are played again to the product.

use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use super::request::{compare, hash, markers};
use crate::world::Broken;

/// A recording.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    pub name: String,
    /// The folder of the project, in all names.
    pub cwd: String,
    /// The transcripts by their names, line by line.
    pub transcripts: BTreeMap<String, Vec<Value>>,
    pub requests: Vec<Request>,
}

/// A request, and the files when the model answered it.
#[derive(Clone, Debug)]
pub struct Request {
    pub messages: Vec<Value>,
    pub files: BTreeMap<String, String>,
    /// What the model answered.
    pub content: Vec<Value>,
}

/// A read of the model.
#[derive(Clone, Debug)]
pub struct Read {
    pub call: String,
    pub input: Value,
    /// The files when it was made.
    pub files: BTreeMap<String, String>,
    /// What the model was sent, if it was.
    pub result: Option<String>,
}

impl Read {
    /// The name of the file in the project.
    fn name<'r>(&'r self, cwd: &str) -> Option<&'r str> {
        self.input["file_path"].as_str()?.strip_prefix(cwd)?.strip_prefix('/')
    }

    fn window(&self) -> (Option<i64>, Option<u64>) {
        (self.input["offset"].as_i64(), self.input["limit"].as_u64())
    }

    /// Whether it was answered by a marker.
    #[must_use]
    pub fn is_short(&self) -> bool {
        self.result.as_deref().is_some_and(|text| text.starts_with("0\t[readcache: "))
    }
}

impl Recording {
    /// Reads a recording.
    ///
    /// # Errors
    /// When it is not one.
    pub fn open(file: &Path) -> Result<Self, Broken> {
        let mut recording = Self::default();
        let (mut before, mut files) = (BTreeMap::<String, Vec<Value>>::new(), BTreeMap::new());
        for line in fs::read_to_string(file)?.lines() {
            let line: Value = serde_json::from_str(line)?;
            if let Some(name) = line["case"].as_str() {
                (recording.name, recording.cwd) =
                    (name.to_owned(), line["cwd"].as_str().unwrap_or_default().to_owned());
            } else if let Some(name) = line["file"].as_str() {
                recording.transcripts.entry(name.to_owned()).or_default().push(line["line"].clone());
            } else {
                let request = &line["request"];
                let messages = before.entry(request["kind"].as_str().unwrap_or_default().to_owned()).or_default();
                messages.truncate(usize::try_from(request["keep"].as_u64().unwrap_or(0))?);
                messages.extend(request["tail"].as_array().into_iter().flatten().cloned());
                for (name, text) in request["files"].as_object().into_iter().flatten() {
                    match text.as_str() {
                        Some(text) => drop(files.insert(name.clone(), text.to_owned())),
                        None => drop(files.remove(name)),
                    }
                }
                let content = request["content"].as_array().cloned().unwrap_or_default();
                recording.requests.push(Request { messages: messages.clone(), files: files.clone(), content });
            }
        }
        Ok(recording)
    }

    /// The reads of the conversation, in order.
    #[must_use]
    pub fn reads(&self) -> Vec<Read> {
        let mut reads = Vec::new();
        for (at, request) in self.requests.iter().enumerate() {
            for block in request.content.iter().filter(|block| block["name"] == "Read") {
                let call = block["id"].as_str().unwrap_or_default().to_owned();
                let result = self.requests[at + 1..].iter().find_map(|later| result_of(&later.messages, &call));
                let (input, files) = (block["input"].clone(), request.files.clone());
                reads.push(Read { call, input, files, result });
            }
        }
        reads
    }

    /// Judges every marker by the first request that has it.
    ///
    /// # Errors
    /// What is wrong.
    pub fn judge(&self) -> Result<usize, String> {
        let reads: BTreeMap<String, Read> = self.reads().into_iter().map(|read| (read.call.clone(), read)).collect();
        let mut judged = 0;
        for request in &self.requests {
            for (call, rebuilt) in markers(&request.messages, &self.cwd) {
                let read = reads.get(&call).ok_or(format!("{call}: nobody made this call"))?;
                let name = read.name(&self.cwd).ok_or(format!("{call}: a marker for a file outside"))?;
                let text = read.files.get(name).ok_or(format!("{call}: a marker for {name}, which is not there"))?;
                let rebuilt =
                    rebuilt.map_err(|complaint| format!("{call}: nobody can know what it stands for: {complaint}"))?;
                compare(&rebuilt, text, read.window()).map_err(|why| format!("{call} of {name}: {why}"))?;
                judged += 1;
            }
        }
        Ok(judged)
    }

    /// The same recording for a project in another folder. Messages that name files get other hashes.
    ///
    /// # Errors
    /// When a line cannot be written again.
    pub fn moved(&self, cwd: &str) -> Result<Self, Broken> {
        let elsewhere = |value: &Value| -> Result<Value, Broken> {
            Ok(serde_json::from_str(&value.to_string().replace(&format!("{}/", self.cwd), &format!("{cwd}/")))?)
        };
        let mut moved = Self { name: self.name.clone(), cwd: cwd.to_owned(), ..Self::default() };
        for (name, lines) in &self.transcripts {
            let mut hashes = BTreeMap::new();
            for message in messages_of(lines) {
                hashes.insert(hash_of(&message), hash_of(&elsewhere(&message)?));
            }
            let mut now = Vec::new();
            for line in lines {
                let mut line = elsewhere(line)?;
                if let Some(name) = line.get_mut("hash") {
                    *name = renamed(name, &hashes);
                }
                for name in line.get_mut("tail").and_then(Value::as_array_mut).into_iter().flatten() {
                    *name = renamed(name, &hashes);
                }
                now.push(line);
            }
            moved.transcripts.insert(name.clone(), now);
        }
        for request in &self.requests {
            let messages = request.messages.iter().map(elsewhere).collect::<Result<_, _>>()?;
            let content = request.content.iter().map(elsewhere).collect::<Result<_, _>>()?;
            moved.requests.push(Request { messages, content, files: request.files.clone() });
        }
        Ok(moved)
    }

    /// Writes the transcripts as they were before the result of a call, and says which one has the call.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn write_until(&self, call: &str, home: &Path) -> Result<Option<PathBuf>, Broken> {
        let mut found = None;
        for (name, lines) in &self.transcripts {
            let is_its = |line: &&Value| result_of(&[line["message"].clone()], call).is_some();
            let end = lines.iter().position(|line| is_its(&line)).unwrap_or(lines.len());
            let file = home.join(name);
            if let Some(folder) = file.parent() {
                fs::create_dir_all(folder)?;
            }
            let text: Vec<String> = lines[..end].iter().map(|line| format!("{line}\n")).collect();
            fs::write(&file, text.concat())?;
            // A fork copies the line of a call; the one that was asked about has its request.
            let has_call = |line: &Value| calls_in(&line["message"]).any(|block| block["id"] == call);
            let asked = lines[..end].iter().any(has_call);
            let recorded = lines.iter().any(|line| has_call(line) && self.has_request(lines, &line["requestRef"]));
            if asked && recorded {
                found = Some(file);
            }
        }
        Ok(found)
    }

    fn has_request(&self, lines: &[Value], id: &Value) -> bool {
        lines.iter().any(|line| line["type"] == "api-request" && line["id"] == *id)
    }
}

fn renamed(name: &Value, hashes: &BTreeMap<String, String>) -> Value {
    name.as_str().and_then(|name| hashes.get(name)).map_or(name.clone(), |now| json!(now))
}

/// Text alone stands for one block of text.
fn hash_of(message: &Value) -> String {
    let content = match &message["content"] {
        Value::String(text) => json!([{"text": text, "type": "text"}]),
        other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => other.clone(),
    };
    hash(&json!({"content": content, "role": message["role"]}))
}

/// Every message that a request may name: those with a line of their own, and those that lines of the conversation make.
fn messages_of(lines: &[Value]) -> Vec<Value> {
    let mut messages: Vec<Value> = Vec::new();
    let mut made: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for line in lines {
        match line["type"].as_str() {
            Some("api-request-blob") => messages.push(line["message"].clone()),
            Some("assistant") => {
                let id = line["message"]["id"].as_str().unwrap_or_default().to_owned();
                let blocks = made.entry(id).or_default();
                blocks.extend(line["message"]["content"].as_array().into_iter().flatten().cloned());
                messages.push(json!({"content": blocks, "role": "assistant"}));
            }
            Some("user") => messages.push(json!({"content": line["message"]["content"], "role": "user"})),
            _ => {}
        }
    }
    messages
}

fn calls_in(message: &Value) -> impl Iterator<Item = &Value> {
    message["content"].as_array().into_iter().flatten().filter(|block| block["type"] == "tool_use")
}

/// The text of a result; none for one that failed.
fn result_of(messages: &[Value], call: &str) -> Option<String> {
    let blocks = messages.iter().flat_map(|message| message["content"].as_array().into_iter().flatten());
    let result = blocks.into_iter().find(|block| block["type"] == "tool_result" && block["tool_use_id"] == call)?;
    Some(result["content"].as_str().unwrap_or_default().to_owned())
}
