//! What `status` says: the store, the sessions, and what a session's reads really cost.

use serde_json::json;

use crate::workspace::{Workspace, numbered};

#[test]
fn without_a_store() {
    let ws = Workspace::with(&[("a.txt", "a\n")]);
    let root = ws.path("").display().to_string();
    let none =
        format!("workspace  {root}\nstore      none yet; the first read with --session makes it\nsessions   none\n");
    ws.run("status").gives(&none);
    let expected = json!({"ok": true, "workspace": root, "store": null, "sessions": [], "status": null});
    assert_eq!(ws.run("status --json").json(), expected);
}

#[test]
fn a_session_in_words() {
    let ws = Workspace::with(&[("a.txt", &numbered(400)), ("b.txt", &numbered(40))]);
    ws.read("a.txt");
    ws.read("a.txt");
    ws.run("read b.txt:3-7 --session s").text();
    ws.run("read b.txt:20-21 --session other").text();
    let text = ws.run("status --session s").text();
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    assert_eq!(lines[0], format!("workspace  {}", ws.path("").display()));
    assert!(lines[1].starts_with("store      2 objects, 1.5 KiB; 2 logs, "), "{text}");
    assert_eq!(lines[2], "sessions   other, s");
    assert_eq!(lines[4], "session s, on its branch since the last compaction (3 entries)");
    assert_eq!(lines[5], "  reads    full 2, unchanged 1");
    // 1492 + 33 + 10 bytes instead of 1492 + 1492 + 10.
    let tokens = "  tokens   ~384 sent where plain answers would have been ~749: ~365 saved (bytes/4)";
    assert_eq!(lines[6..8], [tokens, "  held"]);
    assert_eq!(
        lines[8..],
        ["    a.txt                            whole file", "    b.txt                            lines 3-7"]
    );
}

#[test]
fn a_session_as_json() {
    let ws = Workspace::with(&[("a.txt", &numbered(400)), ("b.txt", &numbered(40))]);
    let mut sent = 0;
    for words in ["a.txt", "a.txt", "b.txt:3-7"] {
        sent += ws.read(words).len();
    }
    ws.put("a.txt", numbered(400).replace("\n200\n", "\ntwo hundred\n"));
    sent += ws.read("a.txt").len();
    let plain = numbered(400).len() * 2 + "3\n4\n5\n6\n7\n".len() + ws.get("a.txt").len();
    let status = ws.run("status --session s --json").json();
    let session = &status["status"];
    assert_eq!(session["counts"], json!({"full": 2, "unchanged": 1, "diff": 1}));
    assert_eq!((&session["sent_bytes"], &session["plain_bytes"]), (&json!(sent), &json!(plain)));
    assert_eq!(session["tokens_saved"], plain.div_ceil(4) - sent.div_ceil(4));
    assert_eq!((&session["window_entries"], &session["distrusted"]), (&json!(4), &json!(false)));
    assert_eq!(session["files"][0]["whole"], true);
    let spans = json!({"path": "b.txt", "whole": false, "spans": [{"lines": [3, 7], "entry": "e7"}]});
    assert_eq!(session["files"][1], spans);
    assert_eq!((&status["sessions"], &status["store"]["objects"]), (&json!(["s"]), &json!(3)));
    assert_eq!(status["store"]["log_bytes"], ws.get(".readproof/log/s.log").len());
}

#[test]
fn a_read_says_what_it_saved() {
    let ws = Workspace::with(&[("a.txt", &numbered(400))]);
    ws.read("a.txt");
    let tokens = ws.run("read a.txt --session s --json").json()["tokens"].clone();
    let marker = "[readcache: unchanged, 400 lines]".len().div_ceil(4);
    let plain = numbered(400).len().div_ceil(4);
    assert_eq!(tokens, json!({"estimate": "bytes/4", "sent": marker, "plain": plain, "saved": plain - marker}));
}

#[test]
fn after_a_compaction_counting_begins_anew() {
    let ws = Workspace::with(&[("a.txt", &numbered(9))]);
    ws.read("a.txt");
    ws.run("session compact --session s").text();
    assert_eq!(ws.counts(), json!({}));
    let text = ws.run("status --session s").text();
    assert!(text.contains("  reads    none\n") && text.contains("  held     nothing"), "{text}");
    ws.read("a.txt");
    assert_eq!(ws.counts(), json!({"full": 1}));
    ws.run("session branch e2 --session s").text();
    assert_eq!(ws.counts(), json!({"full": 1}));
}

#[test]
fn reads_without_a_session_are_not_counted() {
    let ws = Workspace::with(&[("a.txt", &numbered(9))]);
    ws.read("a.txt");
    ws.run("read a.txt").text();
    assert_eq!(ws.counts(), json!({"full": 1}));
}
