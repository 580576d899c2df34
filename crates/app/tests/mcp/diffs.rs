//! `mode=diff_preview` and `dry_run_diff`: the diff in one block, the trailer in another, the rest in the contract.

use crate::client::Server;
use serde_json::json;
use std::process::Command;

const TEXT: &str = "one\ntwo\nthree\n";

/// A server in a repository with one commit.
fn server(words: &[&str]) -> Server {
    let server = Server::start(&[("src/a.rs", TEXT), ("b.txt", "b\n")], words);
    git(&server, &["init", "-q", "-b", "main"]);
    git(&server, &["add", "."]);
    git(&server, &["commit", "-qm", "x"]);
    server
}

fn git(server: &Server, args: &[&str]) -> String {
    let mut git = Command::new("git");
    git.current_dir(server.dir.path()).env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    git.env("GIT_CONFIG_NOSYSTEM", "1").env("HOME", server.dir.path());
    git.args(["-c", "user.name=a", "-c", "user.email=b"]).args(args);
    let output = git.output().expect("git is in the path");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_diff_and_what_is_said_of_it() {
    let mut server = server(&[]);
    server.put("src/a.rs", "one\n2\nthree\n");
    let given = server.call("read", json!({"mode": "diff_preview", "target": "src/a.rs"}));
    assert_eq!(
        given.text(),
        "diff --git a/src/a.rs b/src/a.rs\n--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"
    );
    let (commit, blob) = (git(&server, &["rev-parse", "HEAD"]), git(&server, &["rev-parse", "HEAD:src/a.rs"]));
    let trailer = format!("[src/a.rs against HEAD ({}): 1 line added, 1 removed]", &commit[..7]);
    assert_eq!((given.trailer(), given.blocks.len()), (trailer.as_str(), 2));
    assert_eq!(
        given.contract,
        json!({
            "ok": true,
            "mode": "diff_preview",
            "target": "src/a.rs",
            "location": {"file": "src/a.rs", "line": null, "end_line": null},
            "meta": {
                "against": "HEAD",
                "baseline": {"commit": commit.trim(), "blob": blob.trim()},
                "status": "modified",
                "binary": false,
                "added": 1,
                "removed": 1,
                "hunks": 1,
                "shown_hunks": 1,
                "diff_lines": 8,
                "shown_lines": 8,
                "truncated": false,
                "preview_degraded": false,
                "token_estimate": 25,
                "diff_path": "src/a.rs",
                "notices": [],
            },
        })
    );
    // Its lines do not count as held, and it has no handle.
    assert!(given.handle().is_none());
    let old = server.call("dry_run_diff", json!({"path": "src/a.rs", "against": "head"}));
    assert_eq!((old.text(), old.trailer()), (given.text(), given.trailer()));
    let index = server.call("dry_run_diff", json!({"file_path": "src/a.rs", "against": "INDEX"}));
    assert!(index.trailer().starts_with("[src/a.rs against INDEX (blob "), "{}", index.trailer());
    let none = server.call("read", json!({"mode": "diff_preview", "target": "src/a.rs", "preview_mode": "none"}));
    assert_eq!((none.blocks.len(), &none.contract["meta"]["added"]), (1, &json!(1)));
}

#[test]
fn states_are_told_in_the_trailer() {
    let mut server = server(&[]);
    let mut ask = |target: &str, against: &str| {
        let given = server.call("read", json!({"mode": "diff_preview", "target": target, "against": against}));
        assert_eq!(given.contract["meta"]["against"], against);
        (
            given.contract["meta"]["status"].as_str().unwrap().to_owned(),
            given.trailer().to_owned(),
            given.text().to_owned(),
        )
    };
    let (status, trailer, text) = ask("b.txt", "HEAD");
    assert_eq!((status.as_str(), text.as_str()), ("unchanged", ""));
    assert!(trailer.ends_with("): unchanged, the diff is empty]"), "{trailer}");
    std::fs::remove_file(server.path("b.txt")).unwrap();
    server.put("new.txt", "b\n");
    let mut ask = |target: &str, against: &str| {
        let given = server.call("read", json!({"mode": "diff_preview", "target": target, "against": against}));
        (
            given.contract["meta"]["status"].as_str().unwrap().to_owned(),
            given.trailer().to_owned(),
            given.blocks[0].clone(),
        )
    };
    let (status, trailer, text) = ask("b.txt", "INDEX");
    assert!(status == "deleted" && text.contains("deleted file mode 100644"), "{trailer}");
    let (status, trailer, text) = ask("new.txt", "HEAD");
    assert!(status == "untracked" && text.contains("--- /dev/null\n"), "{text}");
    assert!(trailer.contains("git does not track it") && trailer.contains("likely renamed from `b.txt`"), "{trailer}");
}

#[test]
fn content_stands_for_the_file() {
    let mut server = server(&[]);
    server.put("src/a.rs", "working\n");
    let ask = |server: &mut Server, against: &str, content: &str| {
        let given = server.call(
            "read",
            json!({"mode": "diff_preview", "target": "src/a.rs", "against": against, "content": content}),
        );
        (given.contract["meta"]["added"].clone(), given.contract["meta"]["removed"].clone())
    };
    assert_eq!(ask(&mut server, "HEAD", "one\ntwo\n"), (json!(0), json!(1)));
    assert_eq!(ask(&mut server, "INDEX", TEXT), (json!(0), json!(0)));
    assert_eq!(ask(&mut server, "WORKTREE", "working\nmore\n"), (json!(1), json!(0)));
    assert_eq!(std::fs::read_to_string(server.path("src/a.rs")).unwrap(), "working\n");
}

#[test]
fn errors_say_what_to_do() {
    let mut server = server(&[]);
    let refused = server.call("read", json!({"mode": "diff_preview", "target": "src/a.rs", "against": "WORKTREE"}));
    assert_eq!(refused.code(), "NO_CONTENT");
    let lines: Vec<&str> = refused.blocks[0].lines().collect();
    assert!(
        lines[0].starts_with("NO_CONTENT: against='WORKTREE' compares the working file with other text"),
        "{lines:?}"
    );
    let (tool, example) = lines[3].strip_prefix("example: ").unwrap().split_once(' ').unwrap();
    let example: serde_json::Value = serde_json::from_str(example).unwrap();
    assert_eq!((tool, &example["against"]), ("read", &json!("WORKTREE")));
    assert!(server.call(tool, example).text().contains("+the new text\n"));

    let mut code = |arguments| server.call("read", arguments).code().to_owned();
    assert_eq!(code(json!({"mode": "diff_preview", "target": "gone.txt"})), "NOT_FOUND");
    assert_eq!(code(json!({"mode": "diff_preview", "target": "../x"})), "OUTSIDE_WORKSPACE");
    assert_eq!(code(json!({"mode": "diff_preview", "target": "src"})), "NOT_A_FILE");
    assert_eq!(code(json!({"mode": "diff_preview", "target": ".git/config"})), "GIT_FOLDER");
    assert_eq!(code(json!({"mode": "diff_preview", "target": "b.txt", "against": "main"})), "INVALID_ARGS");
    assert_eq!(code(json!({"mode": "diff_preview", "target": "b.txt", "start_line": 1})), "INVALID_ARGS");
    assert_eq!(code(json!({"mode": "diff_preview", "target": "b.txt", "offset": 1})), "INVALID_ARGS");
    server.put("b.txt", b"\xff\n");
    assert_eq!(server.call("read", json!({"mode": "diff_preview", "target": "b.txt"})).code(), "NOT_TEXT");
    server.put(".gitattributes", "b.txt filter=x\n");
    git(&server, &["config", "filter.x.clean", "touch ran; cat"]);
    let refused = server.call("read", json!({"mode": "diff_preview", "target": "b.txt"}));
    assert!(refused.code() == "FILTERED" && refused.blocks[0].contains("the filter `x`"), "{refused:?}");
    assert!(!server.path("ran").exists());

    let mut bare = Server::start(&[("a.txt", "1\n")], &[]);
    let refused = bare.call("dry_run_diff", json!({"path": "a.txt"}));
    assert_eq!(refused.code(), "NO_REPOSITORY");
    assert!(!refused.blocks[0].contains(bare.dir.path().to_str().unwrap()), "{refused:?}");
}

#[test]
fn the_environment_of_git_is_not_looked_at_but_the_persons_settings_are() {
    let mut server = server(&[]);
    server.put("b.txt", "b\r\n");
    let status = |server: &mut Server| {
        let given = server.call("read", json!({"mode": "diff_preview", "target": "b.txt"}));
        given.contract["meta"]["status"].as_str().unwrap().to_owned()
    };
    assert_eq!(status(&mut server), "modified");
    // The home directory of the server is its workspace.
    server.put(".gitconfig", "[core]\n\tautocrlf = input\n");
    assert_eq!(status(&mut server), "unchanged");
    server.put(".config/git/attributes", "b.txt -text\n");
    assert_eq!(status(&mut server), "modified");
}

#[test]
fn a_large_diff_is_cut_between_hunks() {
    let mut server = server(&[]);
    let text: String = (0..20_000).map(|n| format!("line {n}\n")).collect();
    server.put("big.txt", &text);
    git(&server, &["add", "."]);
    git(&server, &["commit", "-qm", "big"]);
    server.put("big.txt", text.replace("5\n", "five\n"));
    for (arguments, most) in [
        (json!({"mode": "diff_preview", "target": "big.txt"}), 40_000),
        (json!({"mode": "diff_preview", "target": "big.txt", "max_preview_chars": 900_000}), 40_000),
        (json!({"mode": "diff_preview", "target": "big.txt", "max_preview_chars": 700}), 2300),
        (json!({"mode": "diff_preview", "target": "big.txt", "limit": 30}), 2500),
    ] {
        let given = server.call("read", arguments.clone());
        let chars: usize = given.blocks.iter().map(|block| block.chars().count()).sum();
        assert!(chars <= most, "{arguments}: {chars}");
        let meta = &given.contract["meta"];
        assert_eq!((&meta["truncated"], &meta["hunks"]), (&json!(true), &json!(2000)), "{arguments}");
        let shown = meta["shown_hunks"].as_u64().unwrap();
        assert!(shown > 0 && given.text().matches("\n@@ ").count() as u64 == shown, "{arguments}: {shown}");
        let said = format!("cut, not to be applied: {shown} of 2000 hunks and ");
        assert!(given.trailer().contains(&said), "{}", given.trailer());
    }
    // A new file is one hunk.
    server.put("new.txt", &text);
    let given = server.call("read", json!({"mode": "diff_preview", "target": "new.txt"}));
    assert!(given.trailer().contains("cut, not to be applied: 0 of 1 hunks and "), "{}", given.trailer());
    assert!(given.text().chars().count() > 30_000 && given.text().ends_with('\n'));
}
