//! A conversation as Claude Code keeps it: the messages that it sends, and the lines that it writes about them. A request is
//! recorded by the hashes of its messages; what no line of the transcript says as it was sent stands in a line of its own.

use readproof_traces::requests::hash;
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, OpenOptions},
    io::Write,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use crate::world::Broken;

/// The version whose files these are.
const VERSION: &str = "2.1.325";
/// What the program says in every request.
const REMINDER: &str = "<system-reminder>\n<total_tokens>15000000 tokens left</total_tokens>\n</system-reminder>";
/// What stands in the place of a result that the program cleared.
pub(super) const CLEARED: &str = "[Old tool result content cleared]";

/// A result of a call.
#[derive(Clone, Debug)]
pub(super) struct Given {
    pub(super) call: String,
    pub(super) text: String,
    pub(super) failed: bool,
    /// What the program itself knows of it.
    pub(super) own: Value,
    /// Whether it is of a tool that reads or changes one file.
    pub(super) of_file: bool,
}

/// A part of the conversation, in the order in which it is sent.
#[derive(Clone, Debug)]
enum Item {
    /// Texts of a person or of the program.
    Said { texts: Vec<String> },
    /// A message of the model.
    Model { content: Vec<Value> },
    /// Results, and what the program says behind the last.
    Results { given: Vec<Given>, notes: Vec<String> },
}

/// What is wrong with the record of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flaw {
    /// There is none.
    Missing,
    /// The newest result is sent cleared, and recorded as it was.
    Altered,
    /// The service is asked to clear results.
    Clears,
    /// The same, and the record only says that something was left out of it.
    Withheld,
    /// It is written only after the call is answered.
    Late,
}

/// What a compaction leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compaction {
    /// Nothing.
    OfAll,
    /// The newest messages.
    Keeps,
    /// The newest messages, with results that were not sent yet: the program compacts by itself before it sends them.
    BeforeTheNextRequest,
}

/// One conversation.
#[derive(Clone, Debug)]
pub(super) struct Session {
    pub(super) file: PathBuf,
    pub(super) id: String,
    /// The agent whose conversation it is.
    pub(super) agent: Option<String>,
    cwd: String,
    items: Vec<Item>,
    /// The newest line of the branch.
    leaf: Option<String>,
    /// For every item: the line it ends with.
    ends: Vec<String>,
    /// The latest request: its id, and the hashes of its messages.
    base: Option<(String, Vec<String>)>,
    /// The hashes that a line of this file stands for.
    resolved: BTreeSet<String>,
    /// Results that are sent otherwise than they are recorded.
    other: BTreeMap<String, String>,
    /// Arguments that are sent otherwise than they are recorded.
    arguments: BTreeMap<String, Value>,
    /// Lines that are not written yet.
    late: Vec<String>,
    /// The lines of the active branch, for a fork.
    lines: Vec<Value>,
    counter: u64,
    clock: Arc<AtomicU64>,
    /// The service clears all results but the newest.
    pub(super) cleared: bool,
    /// That is not recorded.
    withheld: bool,
}

impl Session {
    pub(super) fn new(
        file: PathBuf,
        id: String,
        agent: Option<String>,
        cwd: String,
        (counter, clock): (u64, Arc<AtomicU64>),
    ) -> Result<Self, Broken> {
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&file, "")?;
        let mut session = Self {
            file,
            id,
            agent,
            cwd,
            items: Vec::new(),
            leaf: None,
            ends: Vec::new(),
            base: None,
            resolved: BTreeSet::new(),
            other: BTreeMap::new(),
            arguments: BTreeMap::new(),
            late: Vec::new(),
            lines: Vec::new(),
            counter,
            clock,
            cleared: false,
            withheld: false,
        };
        session.prompt("Go.")?;
        Ok(session)
    }

    /// A person says something.
    pub(super) fn prompt(&mut self, text: &str) -> Result<(), Broken> {
        self.said(vec![REMINDER.to_owned(), text.to_owned()], text)
    }

    fn said(&mut self, texts: Vec<String>, text: &str) -> Result<(), Broken> {
        let line = self.line("user", json!({"message": {"role": "user", "content": text}}), self.leaf.clone());
        self.append(&line)?;
        self.push(Item::Said { texts });
        Ok(())
    }

    /// The messages as they are sent.
    pub(super) fn wire(&self) -> Vec<Value> {
        let mut messages: Vec<Value> = Vec::new();
        for item in &self.items {
            let (role, content) = match item {
                Item::Said { texts } => {
                    ("user", texts.iter().map(|text| json!({"text": text, "type": "text"})).collect())
                }
                Item::Model { content } => ("assistant", content.iter().map(|block| self.sent_call(block)).collect()),
                Item::Results { given, notes } => ("user", self.results(given, notes)),
            };
            match messages.last_mut().filter(|last| last["role"] == "user" && role == "user") {
                Some(last) => last["content"].as_array_mut().map(|blocks| blocks.extend(content)).unwrap_or_default(),
                None => messages.push(json!({"content": content, "role": role})),
            }
        }
        messages
    }

    fn sent_call(&self, block: &Value) -> Value {
        let mut block = block.clone();
        if let Some(input) = block["id"].as_str().and_then(|id| self.arguments.get(id)) {
            block["input"] = input.clone();
        }
        block
    }

    /// From now on the newest call is sent with another text in this argument.
    pub(super) fn resend(&mut self, name: &str, text: &str) {
        let Some(Item::Model { content }) = self.items.iter().rev().find(|item| matches!(item, Item::Model { .. }))
        else {
            return;
        };
        let Some((id, mut input)) =
            content.last().and_then(|block| Some((block["id"].as_str()?.to_owned(), block["input"].clone())))
        else {
            return;
        };
        input[name] = json!(text);
        self.arguments.insert(id, input);
    }

    /// The messages as the model sees them: what the service cleared is gone.
    pub(super) fn sight(&self) -> Vec<Value> {
        let mut messages = self.wire();
        if self.cleared {
            let newest = messages.len().saturating_sub(1);
            for message in messages.iter_mut().take(newest) {
                for block in message["content"].as_array_mut().into_iter().flatten() {
                    if block["type"] == "tool_result" {
                        block["content"] = json!(CLEARED);
                    }
                }
            }
        }
        messages
    }

    /// Only the last result of a message carries what the program says, and loses the blanks at its end.
    fn results(&self, given: &[Given], notes: &[String]) -> Vec<Value> {
        let mut blocks = Vec::new();
        for (at, one) in given.iter().enumerate() {
            let text = self.other.get(&one.call).unwrap_or(&one.text);
            let text = if at + 1 == given.len() {
                let told: Vec<&str> = notes.iter().map(String::as_str).chain([REMINDER]).collect();
                format!("{}\n\n{}", text.trim_end(), told.join("\n\n"))
            } else {
                text.clone()
            };
            blocks.push(result_block(&one.call, &text, one.failed));
        }
        blocks
    }

    /// The model answers with these blocks; the request that it answers is recorded first. The lines of its calls are returned.
    pub(super) fn answer(&mut self, content: Vec<Value>, flaw: Option<Flaw>) -> Result<Vec<String>, Broken> {
        let request = self.request(flaw)?;
        self.counter += 1;
        let id = format!("msg_{:06}", self.counter);
        let mut lines = Vec::new();
        for (at, block) in content.iter().enumerate() {
            let message = json!({"id": id, "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "content": [block]});
            let more = json!({"message": message, "apiBlockIndex": at, "requestRef": request});
            let line = self.line("assistant", more, self.leaf.clone());
            lines.push(line["uuid"].as_str().unwrap_or_default().to_owned());
            if flaw == Some(Flaw::Late) {
                self.hold(&line);
            } else {
                self.append(&line)?;
            }
        }
        self.resolved.insert(hash(&json!({"content": content, "role": "assistant"})));
        self.push(Item::Model { content });
        Ok(lines)
    }

    fn request(&mut self, flaw: Option<Flaw>) -> Result<String, Broken> {
        let recorded = self.wire();
        if let (Some(Flaw::Altered), Some(Item::Results { given, .. })) = (flaw, self.items.last())
            && let Some(last) = given.last()
        {
            // What is sent is not what is recorded.
            self.other.insert(last.call.clone(), CLEARED.to_owned());
        }
        let messages = self.wire();
        let hashes: Vec<String> = messages.iter().map(hash).collect();
        let mut lines = Vec::new();
        let newest = messages.len() - 1;
        for (at, (message, hash)) in messages.iter().zip(&hashes).enumerate() {
            if self.resolved.insert(hash.clone()) || (flaw == Some(Flaw::Altered) && at == newest) {
                let message = if flaw == Some(Flaw::Altered) && at == newest { &recorded[at] } else { message };
                lines.push(self.bare("api-request-blob", json!({"hash": hash, "message": message.clone()})));
            }
        }
        let id = self.uuid();
        let (base, keep) = match &self.base {
            Some((base, before)) => {
                (Some(base.clone()), before.iter().zip(&hashes).take_while(|(a, b)| a == b).count())
            }
            None => (None, 0),
        };
        if matches!(flaw, Some(Flaw::Clears | Flaw::Withheld)) {
            (self.cleared, self.withheld) = (true, flaw == Some(Flaw::Withheld));
        }
        let mut edits = vec![json!({"type": "clear_thinking_20251015", "keep": "all"})];
        if self.cleared {
            edits.push(json!({"type": "clear_tool_uses_20250919", "keep": {"type": "tool_uses", "value": 1}}));
        }
        let mut params = json!({"model": "claude-sonnet-4-5", "max_tokens": 32000});
        if !self.withheld {
            params["context_management"] = json!({"edits": edits});
        }
        let mut more = json!({"id": id, "version": VERSION, "querySource": "sdk", "params": params, "keep": keep, "tail": hashes[keep..]});
        if let Some(base) = base {
            more["base"] = json!(base);
        }
        if self.withheld {
            more["withheld"] = json!(["context_management"]);
        }
        lines.push(self.bare("api-request", more));
        self.base = Some((id.clone(), hashes));
        match flaw {
            Some(Flaw::Missing) => {
                self.base = None;
                lines.iter().filter_map(|line| line["hash"].as_str()).for_each(|hash| {
                    self.resolved.remove(hash);
                });
            }
            Some(Flaw::Late) => lines.iter().for_each(|line| self.hold(line)),
            _ => lines.iter().try_for_each(|line| self.write(line))?,
        }
        Ok(id)
    }

    /// Results arrive: each line follows that of its call. What was late is written before.
    pub(super) fn arrive(&mut self, given: Vec<Given>, calls: &BTreeMap<String, String>) -> Result<(), Broken> {
        self.flush()?;
        for one in &given {
            let call = calls.get(&one.call).cloned();
            let block = result_block(&one.call, &one.text, one.failed);
            let mut more = json!({"message": {"role": "user", "content": [block]}, "sourceToolAssistantUUID": call});
            // The program does not write it down for agents.
            if self.agent.is_none() {
                more["toolUseResult"] = one.own.clone();
            }
            let line = self.line("user", more, call);
            self.append(&line)?;
        }
        self.push(Item::Results { given, notes: Vec::new() });
        Ok(())
    }

    /// The program says something about a file behind the newest results.
    pub(super) fn note(&mut self, name: &str, snippet: &str) -> Result<bool, Broken> {
        let Some(Item::Results { notes, .. }) = self.items.last_mut() else { return Ok(false) };
        // The words of this version, and those of older ones, whose conversations can be taken up.
        let words = if self.counter.is_multiple_of(2) {
            "changed on disk since you last read it. That's usually deliberate, so take it as the current state rather than reverting it; \
             if the change looks wrong, say so rather than undoing it yourself \u{2014} otherwise no need to call it out. Here are the \
             relevant changes (shown with line numbers):"
        } else {
            "was modified, either by the user or by a linter. This change was intentional, so make sure to take it into account as you \
             proceed. Here are the relevant changes (shown with line numbers):"
        };
        let text = format!("<system-reminder>\nNote: {name} {words}\n{snippet}\n</system-reminder>");
        notes.push(text.clone());
        let more = json!({
            "attachment": {"type": "edited_text_file", "filename": name, "snippet": snippet},
            "rendered": [{"content": text}],
            "renderedRole": "user",
        });
        let line = self.line("attachment", more, self.leaf.clone());
        self.append(&line)?;
        self.moved();
        Ok(true)
    }

    /// A compaction: only the summary, `kept` messages, these files as they are now, and what our hook tells are sent from here on.
    pub(super) fn compact(
        &mut self,
        files: &[(String, String)],
        kind: Compaction,
        told: Option<&str>,
    ) -> Result<(), Broken> {
        let (keeps, kept_ends) = self.kept(kind);
        self.flush()?;
        let trigger = if kind == Compaction::BeforeTheNextRequest { "auto" } else { "manual" };
        let more = json!({
            "subtype": "compact_boundary", "logicalParentUuid": self.leaf, "content": "Conversation compacted", "isMeta": false, "level": "info",
            "compactMetadata": {"trigger": trigger, "preTokens": 15, "preservedMessages": {"uuids": kept_ends, "allUuids": kept_ends}},
        });
        let line = self.line("system", more, None);
        self.lines.clear();
        self.append(&line)?;
        self.items.clear();
        self.ends.clear();
        self.base = None;
        let summary = "This session is being continued from a previous conversation that ran out of context.";
        let more = json!({"message": {"role": "user", "content": summary}, "isCompactSummary": true, "isVisibleInTranscriptOnly": true});
        let line = self.line("user", more, self.leaf.clone());
        self.append(&line)?;
        self.push(Item::Said { texts: vec![summary.to_owned()] });
        keeps.into_iter().for_each(|item| self.push(item));
        for (name, text) in files {
            self.attach(name, text)?;
        }
        if let Some(told) = told {
            self.tell(told)?;
        }
        if kind == Compaction::BeforeTheNextRequest { Ok(()) } else { self.prompt("On.") }
    }

    /// The messages that a compaction keeps, and the lines that they end with.
    fn kept(&self, kind: Compaction) -> (Vec<Item>, Vec<String>) {
        if kind == Compaction::OfAll || self.items.len() < 3 {
            return (Vec::new(), Vec::new());
        }
        let from = self.items.len() - 2;
        match &self.items[from] {
            Item::Model { .. } => (self.items[from..].to_vec(), self.ends[from..].to_vec()),
            Item::Said { .. } | Item::Results { .. } => (Vec::new(), Vec::new()),
        }
    }

    /// A hook adds something when the conversation begins anew.
    fn tell(&mut self, words: &str) -> Result<(), Broken> {
        let text = format!("<system-reminder>\nSessionStart hook additional context: {words}\n</system-reminder>");
        let more = json!({
            "attachment": {"type": "hook_additional_context", "content": [words], "hookName": "SessionStart", "toolUseID": "SessionStart", "hookEvent": "SessionStart"},
            "rendered": [{"content": text}],
            "renderedRole": "system",
        });
        let line = self.line("attachment", more, self.leaf.clone());
        self.append(&line)?;
        self.push(Item::Said { texts: vec![text] });
        Ok(())
    }

    /// A file is attached as `Read` would show it.
    fn attach(&mut self, name: &str, text: &str) -> Result<(), Broken> {
        let pieces = super::request::pieces(text);
        let rows: Vec<String> = (1..).zip(&pieces).map(|(number, line)| format!("{number}\t{line}")).collect();
        // What would end the program's own words is replaced.
        let rows = rows.join("\n").replace("</system-reminder>", "&lt;/system-reminder>");
        let called = format!(
            "<system-reminder>\nCalled the Read tool with the following input: {{\"file_path\":\"{name}\"}}\n</system-reminder>"
        );
        let shown = format!("<system-reminder>\nResult of calling the Read tool:\n{rows}\n</system-reminder>");
        let file = json!({"filePath": name, "content": pieces.join("\n"), "numLines": pieces.len(), "startLine": 1, "totalLines": pieces.len()});
        let more = json!({
            "attachment": {"type": "file", "filename": name, "content": {"type": "text", "file": file}, "displayPath": name},
            "rendered": [{"content": called}, {"content": shown}],
            "renderedRole": "user",
        });
        let line = self.line("attachment", more, self.leaf.clone());
        self.append(&line)?;
        self.push(Item::Said { texts: vec![called, shown] });
        Ok(())
    }

    /// Goes back to after an earlier item, or stays if there is none to go back to.
    pub(super) fn rewind(&mut self, to: usize) -> Result<bool, Broken> {
        // Results belong to the calls before them.
        let can = |item: &Item| !matches!(item, Item::Model { content } if content.iter().any(|block| block["type"] == "tool_use"));
        let Some(at) = (1..self.items.len()).filter(|at| can(&self.items[at - 1])).nth(to) else { return Ok(false) };
        self.flush()?;
        self.items.truncate(at);
        self.ends.truncate(at);
        self.leaf = self.ends.last().cloned();
        self.prompt("Back.")?;
        Ok(true)
    }

    /// How many places there are to go back to.
    pub(super) fn places(&self) -> usize {
        self.items.len()
    }

    /// The program ends, and another takes the conversation up.
    pub(super) fn resume(&mut self) -> Result<(), Broken> {
        self.flush()?;
        self.base = None;
        self.prompt("Again.")
    }

    /// The same conversation in a file of its own, which begins at the latest compaction; requests are not copied.
    pub(super) fn fork(&self, file: PathBuf, id: String, counter: u64) -> Result<Self, Broken> {
        let mut fork = self.clone();
        (fork.file, fork.id, fork.counter, fork.base) = (file, id, counter, None);
        fork.resolved.clear();
        fork.late.clear();
        let mut text = String::new();
        for line in &self.lines {
            let mut line = line.clone();
            line["sessionId"] = json!(fork.id);
            text.push_str(&format!("{line}\n"));
        }
        fs::write(&fork.file, text)?;
        for item in &fork.items {
            if let Item::Model { content } = item {
                fork.resolved.insert(hash(&json!({"content": content, "role": "assistant"})));
            }
        }
        fork.prompt("Elsewhere.")?;
        Ok(fork)
    }

    /// A result is sent otherwise from now on.
    pub(super) fn replace(&mut self, which: usize, text: impl Fn(&str) -> String) -> Option<String> {
        let results: Vec<&Given> = self
            .items
            .iter()
            .filter_map(|item| if let Item::Results { given, .. } = item { Some(given) } else { None })
            .flatten()
            .filter(|given| !given.failed)
            .collect();
        let one = results.get(which % results.len().max(1))?;
        let (call, text) = (one.call.clone(), text(&one.text));
        self.other.insert(call.clone(), text);
        Some(call)
    }

    /// Whether a result is sent that was cleared, or that has another text than the one recorded.
    pub(super) fn sends_otherwise(&self) -> bool {
        let results = self.items.iter().filter_map(|item| match item {
            Item::Results { given, .. } => Some(given),
            Item::Said { .. } | Item::Model { .. } => None,
        });
        let sent = results.flatten().filter_map(|one| self.other.get(&one.call).map(|text| (one, text)));
        let mut sent = sent.filter(|(one, text)| text.as_str() == CLEARED || (one.of_file && **text != one.text));
        sent.next().is_some()
    }

    fn push(&mut self, item: Item) {
        self.items.push(item);
        self.ends.push(self.leaf.clone().unwrap_or_default());
    }

    /// The newest item ends with the newest line.
    fn moved(&mut self) {
        if let (Some(end), Some(leaf)) = (self.ends.last_mut(), &self.leaf) {
            end.clone_from(leaf);
        }
    }

    fn uuid(&mut self) -> String {
        self.counter += 1;
        format!("{:08x}-0000-4000-8000-{:012x}", self.counter >> 48, self.counter)
    }

    /// A line of the tree.
    fn line(&mut self, kind: &str, more: Value, parent: Option<String>) -> Value {
        let uuid = self.uuid();
        let mut line = json!({"parentUuid": parent, "isSidechain": self.agent.is_some(), "type": kind, "uuid": uuid});
        merge(&mut line, more);
        merge(
            &mut line,
            json!({"timestamp": self.time(), "userType": "external", "entrypoint": "sdk-cli", "cwd": self.cwd, "sessionId": self.id, "version": VERSION, "gitBranch": "HEAD"}),
        );
        if let Some(agent) = &self.agent {
            line["agentId"] = json!(agent);
        }
        self.leaf = Some(uuid);
        line
    }

    /// A line that is not part of the tree.
    fn bare(&self, kind: &str, more: Value) -> Value {
        let mut line = json!({"type": kind, "sessionId": self.id, "timestamp": self.time()});
        merge(&mut line, more);
        if let Some(agent) = &self.agent {
            line["agentId"] = json!(agent);
        }
        line
    }

    fn time(&self) -> String {
        // 20,775 days after 1970 is 2026-11-18.
        let time = self.clock.fetch_add(500, Ordering::Relaxed);
        let (day, seconds) = (18 + time / 86_400_000 - 20_775, time / 1000 % 86_400);
        let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        format!("2026-11-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", time % 1000)
    }

    fn append(&mut self, line: &Value) -> Result<(), Broken> {
        self.lines.push(line.clone());
        self.write(line)
    }

    fn hold(&mut self, line: &Value) {
        if line.get("uuid").is_some() {
            self.lines.push(line.clone());
        }
        self.late.push(line.to_string());
    }

    fn flush(&mut self) -> Result<(), Broken> {
        let late = std::mem::take(&mut self.late);
        late.iter().try_for_each(|line| self.put(line))
    }

    fn write(&self, line: &Value) -> Result<(), Broken> {
        self.put(&line.to_string())
    }

    fn put(&self, line: &str) -> Result<(), Broken> {
        let mut file = OpenOptions::new().append(true).open(&self.file)?;
        Ok(writeln!(file, "{line}")?)
    }
}

fn merge(line: &mut Value, more: Value) {
    if let (Some(line), Value::Object(more)) = (line.as_object_mut(), more) {
        line.extend(more);
    }
}

fn result_block(call: &str, text: &str, failed: bool) -> Value {
    if failed {
        json!({"content": text, "is_error": true, "tool_use_id": call, "type": "tool_result"})
    } else {
        json!({"content": text, "tool_use_id": call, "type": "tool_result"})
    }
}
