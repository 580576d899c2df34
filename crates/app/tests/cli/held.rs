//! `readproof held` of a session of our own: what the model holds, what proves it, what is stale.

use readproof_core::text::ContentHash;
use serde_json::{Value, json};

use crate::workspace::Workspace;

#[test]
fn what_a_session_holds_and_what_is_stale() {
    let ws = Workspace::with(&[("a.txt", "1\n2\n3\n4\n"), ("b.txt", "x\n"), ("c.txt", "gone\n")]);
    ws.run("held").refused(1, &["this workspace has no sessions"]);
    for words in ["a.txt:2-3", "b.txt", "c.txt"] {
        ws.run(&format!("read {words} --session s")).text();
    }
    ws.put("a.txt", "1\nzwei\n3\n4\n");
    std::fs::remove_file(ws.path("c.txt")).unwrap();
    let text = ws.run("held").text();
    let tail = text.split_once("held\n").unwrap().1;
    let bare: Vec<String> = tail.lines().map(|line| line.split("  text ").next().unwrap().to_owned()).collect();
    assert_eq!(
        bare,
        [
            "├─ a.txt",
            "│  └─ lines 2-3 of 4",
            "├─ b.txt  whole file",
            "│  └─ lines 1-1 and the end",
            "└─ c.txt  whole file  gone from disk",
            "   └─ lines 1-1 and the end",
        ]
    );
    assert!(text.starts_with("session    s (readproof)\nworkspace  "), "{text}");
    let stale: Vec<Option<&str>> =
        tail.lines().map(|line| line.split_once("  stale: ").map(|(_, what)| what)).collect();
    assert_eq!(stale, [None, Some("2"), None, None, None, Some("1, the end")]);
    let json = ws.run("held --session s a.txt --json").json();
    let span = &json["files"][0]["spans"][0];
    assert_eq!(
        (&span["now"], &span["stale_lines"], &span["tool"]),
        (&json!("stale"), &json!([[2, 2]]), &json!("read"))
    );
    assert_eq!((&json["host"], json["files"].as_array().unwrap().len()), (&json!("readproof"), 1));
}

#[test]
fn a_compaction_ends_it() {
    let ws = Workspace::with(&[("a.txt", "1\n")]);
    ws.run("read a.txt --session s").text();
    ws.run("session compact --session s").text();
    let json = ws.run("held --session s --json").json();
    assert_eq!((&json["files"], &json["compactions"]), (&json!([]), &json!(1)));
    assert!(json["barrier"].as_str().is_some_and(|entry| entry.starts_with('e')), "{json}");
}

#[test]
fn whose_session_must_be_clear() {
    let ws = Workspace::with(&[("a.txt", "1\n")]);
    for session in ["one", "two"] {
        ws.run(&format!("read a.txt --session {session}")).text();
    }
    ws.run("held").refused(2, &["name one of the sessions with --session: one, two"]);
    ws.run("held --session three").refused(1, &["three"]);
    ws.run("held --session one --leaf e1").refused(2, &["--leaf is for the transcripts of hosts"]);
    ws.run("held --session none.jsonl").refused(1, &["`none.jsonl` does not exist"]);
}

#[test]
fn denied_files_are_not_named() {
    let ws = Workspace::with(&[("a.txt", "1\n"), ("b.txt", "2\n")]);
    for name in ["a.txt", "b.txt"] {
        ws.run(&format!("read {name} --session s")).text();
    }
    ws.put(".aiignore", "b.txt\n");
    for words in ["held", "held b.txt", "held --json"] {
        let text = ws.run(words).text();
        assert!(!text.contains("b.txt"), "{text}");
    }
}

/// A Claude Code session that read `a.txt` and is about to read something else, with the record of its two requests.
fn claude_code(cwd: &str) -> String {
    let hash = |role: &str, content: &Value| {
        ContentHash::of(json!({"role": role, "content": content}).to_string().as_bytes()).to_string()
    };
    let entry = |uuid: &str, parent: Option<&str>, kind: &str, more: Value| {
        let mut line = json!({"parentUuid": parent, "uuid": uuid, "type": kind, "sessionId": "s", "cwd": cwd, "isSidechain": false});
        line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        line
    };
    let blob = |role: &str, content: &Value| json!({"type": "api-request-blob", "sessionId": "s", "hash": hash(role, content), "message": {"role": role, "content": content}});
    let go = json!([{"type": "text", "text": "go"}]);
    let read = |id: &str| json!([{"type": "tool_use", "id": id, "name": "Read", "input": {"file_path": format!("{cwd}/a.txt")}}]);
    let result = json!([{"tool_use_id": "toolu_1", "type": "tool_result", "content": "1\tone\n2\ttwo\n3\t"}]);
    let request = |id: &str, base: Option<&str>, keep: u64, tail: Vec<String>| json!({"type": "api-request", "sessionId": "s", "id": id, "base": base, "keep": keep, "tail": tail, "params": {"model": "m"}});
    let said = |content: Value, request: &str| json!({"message": {"id": format!("m-{request}"), "role": "assistant", "content": content}, "requestRef": request});
    let file = json!({"filePath": format!("{cwd}/a.txt"), "content": "one\ntwo\n", "numLines": 3, "startLine": 1, "totalLines": 3});
    let lines = [
        json!({"type": "queue-operation", "operation": "enqueue", "sessionId": "s"}),
        entry("u-1", None, "user", json!({"message": {"role": "user", "content": go}})),
        blob("user", &go),
        request("r-1", None, 0, vec![hash("user", &go)]),
        entry("u-2", Some("u-1"), "assistant", said(read("toolu_1"), "r-1")),
        entry(
            "u-3",
            Some("u-2"),
            "user",
            json!({"message": {"role": "user", "content": result}, "toolUseResult": {"type": "text", "file": file}}),
        ),
        blob("user", &result),
        request("r-2", Some("r-1"), 1, vec![hash("assistant", &read("toolu_1")), hash("user", &result)]),
        entry("u-4", Some("u-3"), "assistant", said(read("toolu_2"), "r-2")),
    ];
    // A request that begins anew names no base.
    lines.iter().map(|line| line.to_string().replace("\"base\":null,", "") + "\n").collect()
}

#[test]
fn a_transcript_of_claude_code_and_a_copy_of_it() {
    let ws = Workspace::with(&[("a.txt", "one\r\nzwei\r\n")]);
    let cwd = ws.path("").display().to_string();
    ws.put("../home/s.jsonl", claude_code(&cwd));
    let check = |words: &str| {
        let json = ws.run(&format!("held --json {words}")).json();
        assert_eq!(
            (&json["host"], &json["distrusted"], &json["leaf"]),
            (&json!("claude-code"), &Value::Null, &json!("toolu_2")),
            "{json:#}"
        );
        let file = &json["files"][0];
        assert_eq!(
            (&file["path"], &file["whole"], &file["spans"][0]["form"]),
            (&json!("a.txt"), &json!(true), &json!("stripped")),
            "{json:#}"
        );
        assert_eq!(file["spans"][0]["stale_lines"], json!([[2, 2]]), "{json:#}");
        assert_eq!(file["spans"][0]["entry"].as_str().map(str::len), Some(64), "{json:#}");
    };
    check("--session ../home/s.jsonl");
    check("--host claude-code --session ../home/s.jsonl a.txt");
    ws.put("../home/copied.jsonl", claude_code("/nowhere/project"));
    check("--session ../home/copied.jsonl");
    let slug: String = cwd.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    ws.put(&format!("../home/.claude/projects/{slug}/s.jsonl"), claude_code(&cwd));
    check("--host claude-code");
    // Where the first call was made, nothing was seen yet.
    let first = ws.run("held --session ../home/s.jsonl --leaf toolu_1").text();
    assert!(first.ends_with("held       nothing\n"), "{first}");
    ws.run("held --session ../home/s.jsonl --leaf toolu_9").refused(1, &["has no entry toolu_9"]);
}

#[test]
fn a_transcript_whose_record_does_not_verify_holds_nothing() {
    let ws = Workspace::with(&[("a.txt", "one\ntwo\n")]);
    let text = claude_code(&ws.path("").display().to_string());
    let blob = text.lines().find(|line| line.contains("api-request-blob") && line.contains("tool_result")).unwrap();
    ws.put("../home/s.jsonl", text.replace(blob, &blob.replace("two", "TWO")));
    let text = ws.run("held --session ../home/s.jsonl").text();
    assert!(
        text.contains("distrusted the record of what was sent") && text.ends_with("held       nothing\n"),
        "{text}"
    );
}
