//! `readproof held` of a pi session, also by its old name `pi-session`: what the model holds, shown without touching anything.

use readproof_core::text::ContentHash;
use serde_json::{Value, json};

use crate::workspace::Workspace;

const TEXT: &str = "a\nb\nc\n";

/// Where pi's tool keeps a text.
fn object(text: &str) -> String {
    format!(".pi/readcache/objects/sha256-{}.txt", ContentHash::of(text.as_bytes()))
}

fn message(id: &str, parent: Option<&str>, message: &Value) -> String {
    json!({"type": "message", "id": id, "parentId": parent, "message": message}).to_string()
}

/// A session that read `a.txt`, wrote `b.txt`, was compacted on one branch, and is about to write on the other.
fn session(ws: &Workspace) -> String {
    let call = |id: &str, name: &str, arguments: Value| json!({"role": "assistant", "content": [{"type": "toolCall", "id": id, "name": name, "arguments": arguments}]});
    let result = |id: &str, name: &str, text: &str, details: Value| {
        let content = json!([{"type": "text", "text": text}]);
        json!({"role": "toolResult", "toolCallId": id, "toolName": name, "content": content, "details": details, "isError": false})
    };
    let meta = json!({"readcache": {
        "v": 1, "pathKey": ws.path("a.txt"), "scopeKey": "full", "servedHash": ContentHash::of(TEXT.as_bytes()).to_string(),
        "mode": "full", "totalLines": 4, "rangeStart": 1, "rangeEnd": 4, "bytes": 6,
    }});
    let write = |content: &str| json!({"path": "b.txt", "content": content});
    [
        json!({"type": "session", "version": 3, "id": "x", "cwd": ws.path("")}).to_string(),
        message("00000001", None, &call("1", "read", json!({"path": "a.txt"}))),
        message("00000002", Some("00000001"), &result("1", "read", TEXT, meta)),
        message("00000003", Some("00000002"), &call("2", "write", write("x\n"))),
        message("00000004", Some("00000003"), &result("2", "write", "Successfully wrote", Value::Null)),
        json!({"type": "compaction", "id": "00000005", "parentId": "00000004", "summary": "s"}).to_string(),
        "no entry".to_owned(),
        message("00000006", Some("00000004"), &call("3", "write", write("y\n"))),
        "{\"type\":\"message\",\"id\":\"torn".to_owned(),
    ]
    .join("\n")
}

#[test]
fn what_is_held_and_why() {
    let ws = Workspace::with(&[(&object(TEXT), TEXT), ("b.txt", "x\n")]);
    ws.put("../home/s.jsonl", session(&ws));
    let (root, hash) = (ws.path("").display().to_string(), |text: &str| ContentHash::of(text.as_bytes()).to_string());
    let held = format!(
        "session    ../home/s.jsonl (pi)\n\
         folder     {root}\n\
         workspace  {root}\n\
         entries    6 (1 lines skipped)\n\
         leaf       00000004, 4 entries since the barrier\n\
         barrier    none (1 compactions in all)\n\
         held\n\
         ├─ a.txt  whole file  gone from disk\n\
         │  └─ lines 1-3 and the end  text {}  by read full in 00000002  stale: 1-3, the end\n\
         └─ b.txt  whole file\n\
         \u{20}  └─ lines 1-1 and the end  text {}  by write in 00000004\n",
        &hash(TEXT)[..12],
        &hash("x\n")[..12]
    );
    ws.run("pi-session ../home/s.jsonl --leaf 00000004").gives(&held);
    ws.run("held --session ../home/s.jsonl --leaf 00000004").gives(&held);
    ws.run("held --host pi --session ../home/s.jsonl --leaf 00000004").gives(&held);
    let now = ws.run("pi-session ../home/s.jsonl").text();
    assert!(now.contains(&format!("└─ {root}/b.txt (its write has no result yet)")), "{now}");
    assert!(now.contains("leaf       00000006, 5 entries since the barrier"), "{now}");
    let compacted = ws.run("pi-session ../home/s.jsonl --leaf 00000005").text();
    assert!(compacted.contains("barrier    00000005 (") && compacted.ends_with("held       nothing\n"), "{compacted}");
    assert_eq!(ws.names(), [".pi", "b.txt"], "nothing is made");
}

#[test]
fn as_json() {
    let ws = Workspace::with(&[(&object(TEXT), TEXT)]);
    ws.put("../home/s.jsonl", session(&ws));
    let view = ws.run("pi-session ../home/s.jsonl --json").json();
    let of = |key: &str| view[key].clone();
    assert_eq!((of("leaf"), of("barrier"), of("window_entries")), (json!("00000006"), Value::Null, json!(5)));
    assert_eq!((of("entries"), of("skipped_lines"), of("compactions")), (json!(6), json!(1), json!(1)));
    assert_eq!(of("pending"), json!([{"tool": "write", "path": ws.path("b.txt")}]));
    let span = json!({
        "lines": [1, 3], "end": true, "hash": ContentHash::of(TEXT.as_bytes()).to_string(), "total_lines": 3,
        "entry": "00000002", "tool": "read", "mode": "full", "form": "disk", "now": "stale", "stale_lines": [[1, 3]],
    });
    assert_eq!(of("files"), json!([{"path": "a.txt", "whole": true, "disk": "gone", "spans": [span]}]));
    assert_eq!((of("host"), of("workspace")), (json!("pi"), json!(ws.path(""))));
}

#[test]
fn without_stored_texts_the_older_tool_shows_nothing() {
    for stored in [None, Some("altered\n")] {
        let ws = Workspace::new();
        if let Some(altered) = stored {
            ws.put(&object(TEXT), altered);
        }
        ws.put("../home/s.jsonl", session(&ws));
        let text = ws.run("pi-session ../home/s.jsonl --leaf 00000004").text();
        assert!(!text.contains("a.txt") && text.contains("b.txt  whole file"), "{text}");
    }
}

#[test]
fn texts_may_be_looked_for_elsewhere() {
    let ws = Workspace::with(&[(&format!("sub/{}", object(TEXT)), TEXT)]);
    ws.put("../home/s.jsonl", session(&ws));
    let text = ws.run("pi-session ../home/s.jsonl --workspace sub --leaf 00000002").text();
    assert!(text.contains("a.txt  whole file"), "{text}");
}

#[test]
fn what_cannot_be_shown() {
    let ws = Workspace::with(&[("empty.jsonl", ""), ("odd.jsonl", "{\"type\":\"session\",\"version\":9}\n")]);
    ws.put("s.jsonl", session(&ws));
    ws.run("pi-session none.jsonl").refused(1, &["the transcript `none.jsonl` does not exist"]);
    ws.run("pi-session .").refused(1, &["the transcript `.` is a directory, not a file"]);
    ws.run("pi-session s.jsonl --leaf ffffffff").refused(1, &["s.jsonl has no entry ffffffff"]);
    ws.run("pi-session").refused(2, &["<FILE>"]);
    for file in ["empty.jsonl", "odd.jsonl"] {
        let text = ws.run(&format!("pi-session {file}")).text();
        assert!(
            text.contains("unknown: the file does not say where it ran") && text.contains("leaf       none"),
            "{text}"
        );
    }
}

#[test]
fn a_transcript_that_was_copied_is_compared_with_another_workspace() {
    let ws = Workspace::with(&[(&object(TEXT), TEXT), ("b.txt", "x\n"), ("a.txt", "a\nB\nc\n")]);
    let copied = session(&ws).replace(&ws.path("").display().to_string(), "/nowhere/project");
    ws.put("../home/copied.jsonl", copied);
    let text = ws.run("held --session ../home/copied.jsonl --leaf 00000004").text();
    assert!(text.contains("├─ a.txt  whole file\n") && text.contains("in 00000002  stale: 2\n"), "{text}");
    assert!(text.contains("└─ b.txt  whole file\n") && text.ends_with("by write in 00000004\n"), "{text}");
    let text = ws.run("held --session ../home/copied.jsonl --leaf 00000004 b.txt").text();
    assert!(!text.contains("a.txt") && text.contains("b.txt"), "{text}");
}

#[test]
fn the_newest_session_of_the_workspace_is_found() {
    let ws = Workspace::with(&[("b.txt", "x\n")]);
    ws.run("held --host pi").refused(1, &["no transcript of pi was found for this workspace", "--session FILE"]);
    let put = |name: &str, text: String| ws.put(&format!("../home/.pi/agent/sessions/--w--/{name}.jsonl"), text);
    put("2026-11-01T00-00-00-000Z_a", session(&ws));
    put("2026-11-02T00-00-00-000Z_b", session(&ws).replace("00000006", "0000000b"));
    put("2026-11-03T00-00-00-000Z_c", session(&ws).replace(&ws.path("").display().to_string(), "/elsewhere"));
    assert_eq!(ws.run("held --host pi --json").json()["leaf"], "0000000b");
    ws.run("held --host emacs").refused(2, &["--host emacs is not known; use one of readproof, pi"]);
    ws.run("held --host pi --session x").refused(2, &["--session x is not a file"]);
}

#[test]
fn denied_files_are_not_named() {
    let ws = Workspace::with(&[("b.txt", "x\n"), (".aiignore", "b.txt\n")]);
    ws.put("../home/s.jsonl", session(&ws));
    for words in ["--leaf 00000004", "--leaf 00000006", "--leaf 00000004 b.txt"] {
        let text = ws.run(&format!("held --session ../home/s.jsonl {words}")).text();
        assert!(!text.contains("b.txt"), "{text}");
    }
}
