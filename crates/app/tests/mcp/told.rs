//! What a conversation is told unasked: what others changed of the files that it was shown.

use crate::client::Server;
use serde_json::json;

const TEXT: &str = "one\ntwo\nthree\n";

/// A server whose conversation was shown `a.txt`, and a second one that looks at all files.
fn shown() -> (Server, Server) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("a.txt"), TEXT).unwrap();
    std::fs::write(dir.path().join("b.txt"), "b\n").unwrap();
    let mut server = Server::spawn(dir, &["--set", "tell=true"]);
    server.initialize("2025-06-18");
    let mut other = Server::spawn_in(&server, &[]);
    other.initialize("2025-06-18");
    other.call("list_files", json!({}));
    server.call("read", json!({"path": "a.txt"}));
    (server, other)
}

#[test]
fn a_change_by_another_program_is_told_once_with_a_diff() {
    let (mut server, mut other) = shown();
    server.put("a.txt", "one\n2\nthree\n");
    server.put("b.txt", "bb\n");
    let before = server.call("read", json!({"path": "b.txt"}));
    assert_eq!(before.blocks.len(), 2, "nobody has met it yet: {:?}", before.blocks);
    other.call("list_files", json!({}));
    let told = server.call("read", json!({"path": "b.txt"}));
    assert_eq!(told.blocks.len(), 4, "{:?}", told.blocks);
    assert_eq!(
        told.blocks[2],
        "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"
    );
    assert_eq!(
        told.blocks[3],
        "[since you last saw it: a.txt was changed by another program (v3): the diff above is all of it]"
    );
    assert_eq!(told.contract["told"][0]["path"], "a.txt");
    // `b.txt` was read after it changed, and `a.txt` was told.
    assert_eq!(server.call("read", json!({"path": "b.txt"})).blocks.len(), 2);
}

#[test]
fn what_was_told_takes_the_handle_of_the_other_text() {
    let (mut server, mut other) = shown();
    let set = json!({"readproof/window": "w", "readproof/direct": true});
    server.meta = set.as_object().unwrap().clone();
    let handle = server.call("read", json!({"path": "a.txt"})).handle().unwrap();
    server.put("a.txt", "one\n2\nthree\n");
    other.call("list_files", json!({}));
    assert_eq!(server.call("list", json!({})).contract["told"][0]["shown"], true);
    server.put("a.txt", TEXT);
    let again = server.call("read", json!({"path": "a.txt", "known": handle}));
    assert_eq!((again.decision(), again.text()), ("full", TEXT), "another text was shown since");
}

#[test]
fn own_changes_are_not_told_and_others_edits_are() {
    let (mut server, mut other) = shown();
    server.call("edit", json!({"path": "a.txt", "old": "two", "new": "2"}));
    assert_eq!(server.call("list", json!({})).contract.get("told"), None);
    other.call("read", json!({"path": "a.txt"}));
    other.call("edit", json!({"path": "a.txt", "old": "three", "new": "3"}));
    let told = server.call("list", json!({}));
    assert!(told.blocks[told.blocks.len() - 2].contains("\n-three\n+3\n"), "{:?}", told.blocks);
    assert!(told.trailer().starts_with("[since you last saw it: a.txt was changed by mcp"), "{}", told.trailer());
    std::fs::remove_file(server.dir.path().join("a.txt")).unwrap();
    other.call("list_files", json!({}));
    let gone = server.call("list", json!({}));
    assert!(gone.trailer().contains("a.txt was removed by another program"), "{}", gone.trailer());
    assert_eq!(server.call("list", json!({})).contract.get("told"), None);
}

#[test]
fn what_is_denied_is_not_told() {
    let (mut server, mut other) = shown();
    server.put("a.txt", "one\nsecret\nthree\n");
    other.call("list_files", json!({}));
    server.put(".aiignore", "a.txt\n");
    assert_eq!(server.call("list", json!({})).contract.get("told"), None);
}

#[test]
fn where_a_conversation_is() {
    let (mut server, _other) = shown();
    server.put("a.txt", "other\n");
    let found = server.call("context", json!({}));
    assert_eq!(found.contract["recent"], json!([{"path": "a.txt", "written": false}]));
    let shown = &found.contract["shown"][0];
    assert_eq!((&shown["path"], &shown["state"]), (&json!("a.txt"), &json!("changed")));
    assert!(found.text().starts_with("recent:\n  a.txt\nshown:\n  a.txt  changed since"), "{}", found.text());
    assert_eq!(found.contract["uncommitted"], json!(null));
}
