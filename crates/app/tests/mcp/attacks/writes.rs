//! Leftovers of killed or foreign writes in a workspace: our temporary files are never read, listed, suggested or
//! stored.

use super::calls;
use crate::client::Server;
use serde_json::json;
use std::fs;

const SECRET: &str = "KEY=of-a-killed-write";
const TEMPORARY: &str = "d/.readproof-999999999-0.tmp";

#[test]
fn temporary_files_are_nobodys() {
    let files =
        [("a.txt", "inside\n"), ("d/b.txt", "inside too\n"), (TEMPORARY, SECRET), ("d/.readproof-turn", SECRET)];
    let mut server = Server::start(&files, &["--tools", "all"]);
    std::os::unix::fs::symlink(".readproof-999999999-0.tmp", server.path("d/link")).unwrap();
    for name in [TEMPORARY, "d/.readproof-turn", "d/link"] {
        for (tool, arguments) in calls(name) {
            let given = server.call(tool, arguments);
            let raw = given.raw.to_string();
            assert!(!raw.contains(SECRET), "{tool} {name}: {raw}");
            if !matches!(tool, "readcache_refresh") {
                assert!(given.is_error, "{tool} {name}: {raw}");
            }
        }
    }
    for mode in ["text", "regex", "path", "references"] {
        for query in ["KEY", "readproof"] {
            let given = server.call("search", json!({"mode": mode, "query": query, "glob": "**"}));
            let raw = given.raw.to_string();
            assert!(!raw.contains(SECRET) && !raw.contains("999999999"), "{mode} {query}: {raw}");
        }
    }
    let near = server.call("read", json!({"mode": "file", "target": "d/.readproof-999999999-1.tmp"}));
    assert!(!near.raw.to_string().contains("-0.tmp"), "{:?}", near.raw);
    let preview = server.call("dry_run_diff", json!({"path": TEMPORARY, "content": "x\n", "against": "WORKTREE"}));
    assert!(preview.is_error && !preview.raw.to_string().contains(SECRET), "{:?}", preview.raw);
    // Nothing of it was stored.
    let mut folders = vec![server.path(".readproof")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            } else {
                let bytes = fs::read(entry.path()).unwrap();
                assert!(!String::from_utf8_lossy(&bytes).contains(SECRET), "{:?}", entry.path());
            }
        }
    }
}

/// Whoever reads beside the note of a stranger gets the file as it is, and the note is gone.
#[test]
fn a_note_that_came_with_the_files() {
    let hash = "0".repeat(64);
    let note = format!("readproof-turn-1 1 2 .readproof-999999999-0.tmp {hash} 612e747874\n\nstep bytes:{hash} none\n");
    let files = [("a.txt", "as it is\n"), (".readproof-turn", &*note), (".readproof-999999999-0.tmp", "evil\n")];
    let mut server = Server::start(&files, &["--tools", "all"]);
    assert_eq!(server.call("read", json!({"mode": "file", "target": "a.txt"})).text(), "as it is\n");
    assert!(!server.path(".readproof-turn").exists());
    // A pipe in its place does not block.
    let status = std::process::Command::new("mkfifo").arg(server.path(".readproof-turn")).status().unwrap();
    assert!(status.success());
    assert_eq!(server.call("read", json!({"mode": "file", "target": "a.txt"})).text(), "as it is\n");
}
