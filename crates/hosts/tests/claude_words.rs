//! Conversations of Claude Code written by hand: what a call, a result or a note does to what is held.
#![allow(clippy::unwrap_used, reason = "tests and their helpers")]

use readproof_core::{limits::Answers, path::PathKey, text::ContentHash};
use readproof_hosts::claude_code::{Distrust, Source, Transcript};
use serde_json::{Value, json};

const TOLD: &str = "<system-reminder>\n<total_tokens>9 tokens left</total_tokens>\n</system-reminder>";

/// A transcript as the program writes it, in the folder `/w`.
#[derive(Default)]
struct Talk {
    lines: String,
    messages: Vec<Value>,
    count: usize,
    leaf: Option<String>,
}

impl Talk {
    fn line(&mut self, kind: &str, more: Value) {
        self.count += 1;
        let uuid = format!("u{}", self.count);
        let mut line = json!({"parentUuid": self.leaf, "type": kind, "uuid": uuid, "cwd": "/w"});
        line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.lines.push_str(&format!("{line}\n"));
        self.leaf = Some(uuid);
    }

    fn push(&mut self, role: &str, blocks: Vec<Value>) {
        match self.messages.last_mut().filter(|last| last["role"] == "user" && role == "user") {
            Some(last) => last["content"].as_array_mut().unwrap().extend(blocks),
            None => self.messages.push(json!({"content": blocks, "role": role})),
        }
    }

    /// A person or the program says something.
    fn said(&mut self, text: &str) {
        self.push("user", vec![json!({"text": text, "type": "text"})]);
    }

    /// A request, and the calls that the model answers it with.
    fn calls(&mut self, calls: &[(&str, Value)]) -> Vec<String> {
        if self.messages.is_empty() {
            self.said("Go.");
        }
        let mut tail = Vec::new();
        for message in &self.messages {
            let hash = ContentHash::of(message.to_string().as_bytes()).to_string();
            let blob = json!({"type": "api-request-blob", "hash": hash, "message": message});
            self.lines.push_str(&format!("{blob}\n"));
            tail.push(hash);
        }
        self.count += 1;
        let (request, message) = (format!("r{}", self.count), format!("m{}", self.count));
        let sent = json!({"type": "api-request", "id": request, "params": {}, "keep": 0, "tail": tail});
        self.lines.push_str(&format!("{sent}\n"));
        let mut ids = Vec::new();
        let mut blocks = Vec::new();
        for (name, input) in calls {
            self.count += 1;
            let id = format!("c{}", self.count);
            let block = json!({"id": id, "input": input, "name": name, "type": "tool_use"});
            self.line(
                "assistant",
                json!({"message": {"id": message, "role": "assistant", "content": [block.clone()]}, "requestRef": request}),
            );
            ids.push(id);
            blocks.push(block);
        }
        self.push("assistant", blocks);
        ids
    }

    fn result(&mut self, id: &str, text: &str, own: &Value, notes: &[&str]) {
        let block = json!({"content": text, "tool_use_id": id, "type": "tool_result"});
        self.line("user", json!({"message": {"role": "user", "content": [block]}, "toolUseResult": own}));
        let told: Vec<&str> = notes.iter().copied().chain([TOLD]).collect();
        let sent = format!("{}\n\n{}", text.trim_end(), told.join("\n\n"));
        self.push("user", vec![json!({"content": sent, "tool_use_id": id, "type": "tool_result"})]);
    }

    /// A call with one text as its result.
    fn tool(&mut self, name: &str, input: Value, text: &str) {
        let id = self.calls(&[(name, input)]).remove(0);
        self.result(&id, text, &json!({}), &[]);
    }

    fn read(&mut self, name: &str, text: &str) {
        let id = self.calls(&[("Read", json!({"file_path": name}))]).remove(0);
        self.show(&id, name, text);
    }

    fn show(&mut self, id: &str, name: &str, text: &str) {
        let rows: Vec<String> = (1..).zip(text.split('\n')).map(|(number, row)| format!("{number}\t{row}")).collect();
        let count = rows.len();
        let file = json!({"filePath": name, "content": text, "numLines": count, "startLine": 1, "totalLines": count});
        self.result(id, &rows.join("\n"), &json!({"type": "text", "file": file}), &[]);
    }

    fn bash(&mut self, command: &str, printed: &str) {
        let own = json!({"stdout": printed, "stderr": "", "interrupted": false});
        let id = self.calls(&[("Bash", json!({"command": command, "description": "d"}))]).remove(0);
        self.result(&id, printed, &own, &[]);
    }

    /// What is held where the next call is made: `name first-last`, with `.` behind the end of the file.
    fn held(&mut self) -> Result<Vec<String>, Distrust> {
        let call = self.calls(&[("Read", json!({"file_path": "/w/other"}))]).remove(0);
        self.messages.pop();
        let bytes = self.lines.as_bytes();
        let mut transcript = Transcript::new(Answers::Held);
        transcript.append(bytes);
        let known = transcript.known_at_call(&call, &bytes as &dyn Source)?;
        let mut found = Vec::new();
        for (path, held) in known.knowledge().paths() {
            let runs: Vec<String> = held
                .iter()
                .map(|held| {
                    let lines = held.lines().map(|lines| format!("{}-{}", lines.first(), lines.last()));
                    format!("{}{}", lines.unwrap_or_default(), if held.end() { "." } else { "" })
                })
                .collect();
            found.push(format!("{} {}", path.as_str().trim_start_matches("/w/"), runs.join(" ")));
        }
        Ok(found)
    }

    #[track_caller]
    fn holds(&mut self, expected: &[&str]) {
        assert_eq!(self.held().unwrap(), expected);
    }
}

const A: &str = "one\ntwo\nthree\n";

/// A conversation in which `a.txt` was read.
fn talk() -> Talk {
    let mut talk = Talk::default();
    talk.read("/w/a.txt", A);
    talk.holds(&["a.txt 1-4."]);
    talk
}

#[test]
fn a_read_that_was_sent_to_another_file() {
    let mut talk = talk();
    talk.read("/w/b.txt", "b\n");
    let id = talk.calls(&[("Read", json!({"file_path": "/w/a.txt"}))]).remove(0);
    talk.show(&id, "/w/b.txt", "b\n");
    talk.holds(&[]);
    let bytes = talk.lines.as_bytes();
    let mut transcript = Transcript::new(Answers::Held);
    transcript.append(bytes);
    assert_eq!(transcript.file_of(&id, &bytes as &dyn Source), Some(PathKey::new("/w/a.txt")));
}

#[test]
fn names_that_the_host_makes_others_of() {
    for name in
        ["a.txt", "./a.txt", "~/a.txt", "/w/a.txt ", " /w/a.txt", "/w//a.txt", "/w/x/../a.txt", "/w/a.txt\u{feff}"]
    {
        let mut talk = talk();
        talk.read("/w/b.txt", "b\n");
        let input = json!({"file_path": name, "old_string": "two", "new_string": "2", "replace_all": false});
        let id = talk.calls(&[("Edit", input)]).remove(0);
        let own = json!({"oldString": "two", "newString": "2", "replaceAll": false, "userModified": false});
        talk.result(&id, &format!("The file {name} has been updated successfully."), &own, &[]);
        assert_eq!(talk.held().unwrap(), ["b.txt 1-2."], "{name:?}");
    }
    // Another character, which is composed to the same one.
    let mut talk = Talk::default();
    talk.read("/w/\u{e9}.txt", A);
    talk.read("/w/e\u{301}.txt", A);
    talk.holds(&[]);
}

#[test]
fn what_other_eyes_see() {
    let b = "one\nTWO\nthree\n";
    for (command, printed) in [
        ("cat a.txt", b),
        ("head -1 a.txt", "one"),
        ("cat \"a\".txt", b),
        ("cat a\\.txt", b),
        ("cat ~/a.txt", b),
        ("cat ../w/a.txt", b),
        ("cat $PWD/a.txt", b),
        ("cat src//a.txt", b),
        ("head -50 *.txt", b),
        ("cat {a,b}.txt", b),
        ("for f in [a]*; do cat $f; done", b),
        ("grep -rn TWO .", "./a.txt:2:TWO"),
        ("git diff", "diff --git a/a.txt b/a.txt\n-two\n+TWO"),
        ("git diff | grep '^+'", "+TWO"),
        ("sed -n 2p a.txt", "two"),
        ("cd /w && cat a.txt", "(Bash completed with no output)"),
        ("head -9 a.txt", "x\n\n<system-reminder>\nTWO"),
        ("ls | xargs cat", b),
        ("grep -n t a.txt", "2:two"),
    ] {
        let mut talk = talk();
        talk.bash(command, printed);
        assert_eq!(talk.held().unwrap(), [""; 0], "{command}");
    }
    for (command, printed) in [
        ("cat a.txt", "one\ntwo\nthree"),
        ("grep -n two /w/a.txt", "2:two"),
        ("ls -la *", "a.txt b.txt"),
        ("cargo test", "ok: 5 passed"),
        ("git status", "modified: a.txt"),
        ("grep -rn foo src --include=*.txt", "src/b.txt:1:foo"),
    ] {
        let mut talk = talk();
        talk.bash(command, printed);
        assert_eq!(talk.held().unwrap(), ["a.txt 1-4."], "{command}");
    }
}

#[test]
fn tools_that_are_not_known_and_what_a_person_shows() {
    let b = "one\nTWO\nthree\n";
    for tool in ["TaskOutput", "mcp__fs__read_file"] {
        let mut talk = talk();
        talk.tool(tool, json!({"task_id": "b1"}), b);
        talk.holds(&[]);
    }
    for (prompt, report) in [("Look at a.txt.", "Done."), ("Look around.", "a.txt has TWO.")] {
        let mut talk = talk();
        talk.tool("Agent", json!({"prompt": prompt}), report);
        talk.holds(&[]);
    }
    let mut shown = talk();
    shown.tool("Grep", json!({"pattern": "T", "path": "~/a.txt", "output_mode": "content"}), "2:TWO");
    shown.holds(&[]);
    for said in [
        "<bash-input>cat *.txt</bash-input>",
        "<bash-stdout>./a.txt: TWO</bash-stdout>",
        "<system-reminder>\nThe user selected the lines 2 to 2 from /w/a.txt:\nTWO\n</system-reminder>",
    ] {
        let mut talk = talk();
        talk.said(said);
        talk.holds(&[]);
    }
    for (tool, input, text) in [
        ("TodoWrite", json!({"todos": []}), "a.txt is noted"),
        ("Grep", json!({"pattern": "T"}), "a.txt"),
        ("Agent", json!({"prompt": "Look around."}), "Done."),
    ] {
        let mut talk = talk();
        talk.said("What of a.txt?");
        talk.tool(tool, input, text);
        talk.holds(&["a.txt 1-4."]);
    }
}

#[test]
fn failures_that_show_what_stands_there() {
    let edit = || json!({"file_path": "/w/a.txt", "old_string": "x", "new_string": "y"});
    let fail = |text: &str, tool: &str| {
        let mut talk = talk();
        let id = talk.calls(&[(tool, edit())]).remove(0);
        talk.result(&id, text, &json!("Error"), &[]);
        let sent = talk.messages.last_mut().unwrap();
        sent["content"][0]["is_error"] = json!(true);
        talk.held().unwrap()
    };
    let quiet = "<tool_use_error>String to replace not found in file.\nString: x</tool_use_error>";
    assert_eq!(fail(quiet, "Edit"), ["a.txt 1-4."]);
    assert!(
        fail("<tool_use_error>String to replace not found in file. Nearest: 2: TWO</tool_use_error>", "Edit")
            .is_empty()
    );
    assert!(fail("File does not exist.", "Read").is_empty());
}

#[test]
fn a_note_behind_a_text_that_has_the_tag() {
    let note = "<system-reminder>\nNote: /w/a.txt changed on disk since you last read it. Here are the relevant changes (shown with line numbers):\n2\tTWO\n</system-reminder>";
    for printed in
        ["x\n<system-reminder>\ny", "x\n<system-reminder><system-reminder>\ny", "\n\n<system-reminder>\n", "x"]
    {
        let mut talk = talk();
        let id = talk.calls(&[("Bash", json!({"command": "make"}))]).remove(0);
        talk.result(&id, printed, &json!({}), &[note]);
        talk.holds(&[]);
    }
}

#[test]
fn a_call_that_is_sent_otherwise_than_it_was_made() {
    let mut talk = talk();
    let id = talk.calls(&[("Write", json!({"file_path": "/w/a.txt", "content": "new\n"}))]).remove(0);
    let sent = talk.messages.last_mut().unwrap();
    sent["content"][0]["input"]["content"] = json!("[cleared]");
    let own = json!({"type": "update", "filePath": "/w/a.txt", "content": "new\n", "userModified": false});
    talk.result(&id, "The file /w/a.txt has been updated successfully.", &own, &[]);
    talk.holds(&[]);
}
