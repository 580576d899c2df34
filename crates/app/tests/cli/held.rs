//! `readproof held` of a session of our own: what the model holds, what proves it, what is stale.

use serde_json::json;

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
    assert_eq!(bare, [
        "├─ a.txt",
        "│  └─ lines 2-3 of 4",
        "├─ b.txt  whole file",
        "│  └─ lines 1-1 and the end",
        "└─ c.txt  whole file  gone from disk",
        "   └─ lines 1-1 and the end",
    ]);
    assert!(text.starts_with("session    s (readproof)\nworkspace  "), "{text}");
    let stale: Vec<Option<&str>> = tail.lines().map(|line| line.split_once("  stale: ").map(|(_, what)| what)).collect();
    assert_eq!(stale, [None, Some("2"), None, None, None, Some("1, the end")]);
    let json = ws.run("held --session s a.txt --json").json();
    let span = &json["files"][0]["spans"][0];
    assert_eq!((&span["now"], &span["stale_lines"], &span["tool"]), (&json!("stale"), &json!([[2, 2]]), &json!("read")));
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
