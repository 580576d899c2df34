//! The protocol itself: both eras, cancellation, progress, what is malformed, and the end.

use crate::client::{Server, numbered};
use serde_json::{Value, json};

#[test]
fn the_server_says_who_it_is() {
    let mut server = Server::spawn(tempfile::tempdir().unwrap(), &[]);
    let answer = server.initialize("2025-11-25");
    let info = &answer["result"]["serverInfo"];
    assert_eq!((&info["name"], &info["version"]), (&json!("readproof"), &json!(env!("CARGO_PKG_VERSION"))));
    assert_eq!(answer["result"]["protocolVersion"], "2025-11-25");
    assert_eq!(server.end(), Some(0));
}

#[test]
fn the_second_era_needs_no_handshake() {
    let mut server = Server::spawn(tempfile::tempdir().unwrap(), &[]);
    let client = json!({"name": "test", "version": "1"});
    server.meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": client,
        "io.modelcontextprotocol/clientCapabilities": {},
    })
    .as_object()
    .unwrap()
    .clone();
    server.put("a.txt", "one\n");
    let found = server.request("server/discover", json!({}));
    let versions = found["result"]["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&json!("2026-07-28")), "{found}");
    assert_eq!(server.call("read_file", json!({"path": "a.txt"})).text(), "one\n");
    assert_eq!(server.request("tools/list", json!({}))["result"]["tools"].as_array().unwrap().len(), 5);
}

#[test]
fn what_is_malformed_changes_nothing() {
    let mut server = Server::start(&[("a.txt", "one\n")], &[]);
    for line in [
        "",
        "{",
        "null",
        "[]",
        "\"x\"",
        "{\"jsonrpc\":\"2.0\"}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/nothing\"}",
    ] {
        server.send_raw(line);
    }
    assert!(server.request("no/such/method", json!({}))["error"].is_object());
    let odd = server.request("tools/call", json!({"name": "read_file", "arguments": {"path": ["a"]}}));
    assert_eq!(odd["result"]["isError"], true);
    assert_eq!(server.call("read_file", json!({"path": "a.txt"})).text(), "one\n");
}

#[test]
fn many_calls_at_once_are_all_answered() {
    let mut server = Server::start(&[("a.txt", &numbered(50))], &[]);
    let tools = ["read_file", "stat_file"];
    let asked: Vec<u64> = (0..60)
        .map(|n| server.ask("tools/call", json!({"name": tools[n % 2], "arguments": {"path": "a.txt"}})))
        .collect();
    let mut answered: Vec<u64> = (0..60).map(|_| server.message()["id"].as_u64().unwrap()).collect();
    answered.sort_unstable();
    assert_eq!(answered, asked);
}

#[test]
fn a_long_search_tells_its_progress_and_can_be_cancelled() {
    let mut server = Server::start(&[], &[]);
    for n in 0..3000 {
        server.put(&format!("d{}/f{n}.txt", n % 30), "some words that are searched for\n".repeat(300));
    }
    server.meta.insert("progressToken".to_owned(), json!("p"));
    let search =
        json!({"name": "search", "arguments": {"query": "(some|words|that).*(nothing|else)", "mode": "regex"}});
    let id = server.ask("tools/call", search);
    let mut progress = 0;
    let answer = loop {
        let message = server.message();
        if message["method"] == "notifications/progress" {
            progress += 1;
            server.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
            break Value::Null;
        }
        if message["id"] == id {
            break message;
        }
    };
    // A machine that is too fast to be asked to wait has answered.
    assert!(progress > 0 || answer["result"]["isError"] != true, "{answer}");
    server.meta.clear();
    assert_eq!(server.call("stat_file", json!({"path": "d1"})).contract["kind"], "directory");
}

#[test]
fn nothing_is_written_but_the_protocol_and_the_store() {
    let mut server = Server::start(&[("a.txt", "one\n")], &[]);
    server.call("search", json!({"query": "one"}));
    assert!(!server.path(".readproof").exists(), "a search leaves nothing");
    server.call("read_file", json!({"path": "a.txt"}));
    let mut names: Vec<String> = std::fs::read_dir(server.dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, [".readproof", "a.txt"]);
}
