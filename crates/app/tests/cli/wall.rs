//! `wall = "landlock"`: every command works as before, and what our own checks would allow outside the workspace is refused by
//! the kernel. On a kernel without Landlock only the notice is checked, and the output says so.

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};
use serde_json::json;
use std::{fs, path::Path, process::Command, thread};

use readproof_disk::can_raise_wall;

use crate::workspace::{Done, READPROOF, Workspace, finish, finish_with};

const NO_WALL: &str = "there is no wall, although `wall = \"landlock\"` asks for one";

/// A workspace in git with the wall in the user's own settings, and a file outside it; `None` where there is no wall.
fn walled(files: &[(&str, &str)]) -> Option<Workspace> {
    let ws = Workspace::with(files);
    own_file(&ws, "wall = \"landlock\"\n");
    fs::create_dir(ws.top().join("out")).unwrap();
    fs::write(ws.top().join("out/secret.txt"), "secret\n").unwrap();
    if can_raise_wall().is_err() {
        ws.run("list").noticed(&[NO_WALL]);
        // This kernel has no Landlock: only the notice is checked.
        return None;
    }
    Some(ws)
}

fn own_file(ws: &Workspace, text: &str) {
    let folder = ws.top().join("home/.config/readproof");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("config.toml"), text).unwrap();
}

fn git(folder: &Path, words: &str) {
    let mut command = Command::new("git");
    command.current_dir(folder).args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(words.split(' '));
    assert!(command.output().unwrap().status.success(), "git {words}");
}

#[test]
fn the_kernel_refuses_what_the_program_would_open() {
    let Some(ws) = walled(&[("a.txt", "one\n"), ("in.txt", "inside\n")]) else { return };
    let outside = ws.top().join("out/secret.txt").display().to_string();
    let write = |file: &str| ws.run_args(&["diff", "a.txt", "--against", "WORKTREE", "--content", file]);
    assert!(write("in.txt").noticed(&[]).contains("+inside"));
    let refused = write(&outside);
    assert!(refused.code == Some(1) && !refused.out.contains("secret"), "{refused:?}");
    // The same call without the wall: nothing else refuses it.
    let open = ws.run_args(&["diff", "a.txt", "--against", "WORKTREE", "--content", &outside, "--set", "wall=none"]);
    assert!(open.noticed(&[]).contains("+secret"));
    // What was opened before the program started is not the wall's business.
    let fed = ws.shell(&format!("\"$@\" < '{outside}'"), "diff a.txt --against WORKTREE --content -");
    assert!(fed.noticed(&[]).contains("+secret"));
}

#[test]
fn a_watch_works_behind_it() {
    let Some(ws) = walled(&[("a.txt", "one\n")]) else { return };
    let watching = crate::history::Watching::start(&ws);
    assert_eq!(watching.line()["watching"], json!(true));
    ws.put("new/b.txt", "two\n");
    assert_eq!(watching.line()["change"]["files"][0]["path"], "new/b.txt");
    assert_eq!(watching.end(), Some(0));
}

#[test]
fn every_command_works_behind_it() {
    let Some(ws) =
        walled(&[("src/a.rs", "fn main() {\n    one();\n}\n"), (".gitignore", "*.log\n"), ("x.log", "one\n")])
    else {
        return;
    };
    git(&ws.path(""), "init -q");
    git(&ws.path(""), "add -A");
    git(&ws.path(""), "commit -q -m x");
    assert!(ws.run("read src/a.rs --session s").noticed(&[]).contains("one();"));
    ws.run("read src/a.rs --session s").gives("[readcache: unchanged, 3 lines]");
    ws.run("grep one src/a.rs").gives("src/a.rs:2:    one();\n");
    assert_eq!(ws.run("search one").noticed(&[]).lines().next(), Some("src/a.rs:2:    one();"));
    assert!(ws.run("list --json").noticed(&[]).contains("a.rs"));
    ws.run("symbols main").gives("src/a.rs:1-3: function main\n");
    assert!(ws.run("outline src").noticed(&[]).contains("main"));
    ws.run("edit src/a.rs --session s --old one --new two").noticed(&[]);
    assert!(ws.run("diff src/a.rs --json").noticed(&[]).contains("two"));
    ws.feed("write made/b.txt --session s", "text\n").noticed(&[]);
    ws.run("move made/b.txt other/c.txt --session s").noticed(&[]);
    ws.run("stat other/c.txt").noticed(&[]);
    ws.run("delete other/c.txt --force --session s --set policy_preset=open").noticed(&[]);
    for words in
        ["session list", "session show --session s", "status --session s", "replay --verify", "gc", "conflicts list"]
    {
        ws.run(words).noticed(&[]);
    }
    for words in
        ["approvals list --all", "policy list", "policy check src/a.rs", "config", "refresh src/a.rs --session s"]
    {
        ws.run(words).noticed(&[]);
    }
    let doctor = ws.run("doctor --json").json();
    let check = doctor["checks"].as_array().unwrap().iter().find(|check| check["check"] == "wall").unwrap();
    assert_eq!((&doctor["ok"], &check["health"]), (&json!(true), &json!("ok")), "{doctor}");
}

#[test]
fn git_elsewhere_and_transcripts_are_readable() {
    let Some(ws) = walled(&[("main/a.txt", "one\n")]) else { return };
    git(&ws.path("main"), "init -q");
    git(&ws.path("main"), "add -A");
    git(&ws.path("main"), "commit -q -m x");
    git(&ws.path("main"), "worktree add -q ../linked");
    ws.put("linked/a.txt", "two\n");
    ws.put("main/deep/b.txt", "b\n");
    ws.put("../home/.gitconfig", "[include]\n\tpath = ~/more\n");
    ws.put("../home/more", "[core]\n\tautocrlf = input\n");
    let at = |folder: &str, words: &str| {
        let mut command = ws.command(READPROOF);
        finish(command.env("READPROOF_WORKSPACE", ws.path(folder)).args(words.split(' ')))
    };
    assert!(at("linked", "diff a.txt").noticed(&[]).contains("-one\n+two"));
    assert!(at("main/deep", "diff b.txt").noticed(&[]).contains("+b"));
    let session = "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"cwd\":\"/w\"}\n";
    ws.put("../out/session.jsonl", session);
    ws.put("../home/.pi/agent/sessions/x/session.jsonl", session);
    let named = ws.top().join("out/session.jsonl").display().to_string();
    assert_eq!(at("linked", &format!("pi-session {named}")).code, Some(0));
    assert_eq!(at("linked", &format!("gc --pi-session {named}")).code, Some(0));
}

#[test]
fn the_review_command_runs_behind_it() {
    let Some(ws) = walled(&[("a.txt", "one\ntwo\nthree\n")]) else { return };
    let (outside, review) = (ws.top().join("out/secret.txt"), ws.top().join("review"));
    fs::write(&review, format!("#!/bin/sh\ncat '{}' 2>/dev/null || echo nothing seen\n", outside.display())).unwrap();
    fs::set_permissions(&review, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    own_file(&ws, &format!("wall = \"landlock\"\nreview_command = [\"{}\"]\n", review.display()));
    ws.read("a.txt");
    ws.put("a.txt", "one\nTHEIRS\nthree\n");
    let refused = ws.run("edit a.txt --session s --old two --new OURS --json");
    let said = ws.run("conflicts list --json").json();
    let id = said["conflicts"][0]["id"].as_str().unwrap_or_else(|| panic!("{refused:?} {said}"));
    let proposed = ws.run(&format!("conflicts propose {id}"));
    assert_eq!((proposed.code, proposed.out.as_str()), (Some(0), "nothing seen\n"), "{proposed:?}");
    let open = ws.run(&format!("conflicts propose {id} --set wall=none"));
    assert_eq!(open.out, "secret\n");
}

#[test]
fn servers_stand_behind_it() {
    let Some(ws) = walled(&[("a.txt", "one\n")]) else { return };
    ws.link("link", ws.top().join("out/secret.txt"));
    let call = |id: u32, path: &str| {
        let arguments = json!({"name": "read", "arguments": {"path": path}});
        format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": arguments}))
    };
    let params =
        json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let first = format!("{}\n", json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}));
    let begun = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
    let said = ws.feed("mcp", [&first, begun, &call(2, "a.txt"), &call(3, "link")].concat()).text();
    assert!(said.contains("\"text\":\"one\\n\"") && !said.contains("secret\\n"), "{said}");
    let hello = "{\"id\":0,\"op\":\"hello\",\"protocol\":1}\n{\"id\":1,\"op\":\"read\",\"path\":\"a.txt\"}\n";
    let said = ws.feed("pi", hello).text();
    assert!(said.lines().count() == 2 && said.contains("one\\n"), "{said}");
}

#[test]
fn a_workspace_can_ask_for_it_and_not_refuse_it() {
    let ws = Workspace::with(&[("readproof.toml", "wall = \"landlock\"\n"), ("a.txt", "one\n")]);
    let of = |done: Done| {
        let config: serde_json::Value = serde_json::from_str(&done.out).unwrap();
        (config["settings"]["wall"]["value"].clone(), config["settings"]["wall"]["source"].clone())
    };
    assert_eq!(of(ws.run("config --json")), (json!("landlock"), json!("readproof.toml")));
    own_file(&ws, "wall = \"landlock\"\n");
    ws.put("readproof.toml", "wall = \"none\"\n");
    ws.run("read a.txt").noticed(&["readproof.toml may only narrow: wall = \"none\" is not taken"]);
    assert_eq!(of(ws.run("config --json")), (json!("landlock"), json!("readproof/config.toml")));
    assert_eq!(of(ws.run("config --json --set wall=none")), (json!("none"), json!("--set")));
    ws.run("config --set wall=yes").refused(2, &["wall = \"yes\" will not do; expected \"none\" or \"landlock\""]);
}

/// Runs `readproof` on a kernel that says that it has no Landlock.
fn without_landlock(command: &mut Command, input: &str) -> Done {
    const CREATE_RULESET: i64 = 444;
    const ENOSYS: u32 = 38;
    let arch = std::env::consts::ARCH.try_into().unwrap();
    let rules = [(CREATE_RULESET, Vec::new())].into_iter().collect();
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(ENOSYS), arch).unwrap();
    let program: BpfProgram = filter.try_into().unwrap();
    // The filter holds for this thread, and for what it starts.
    thread::scope(|scope| {
        let run = scope.spawn(|| {
            seccompiler::apply_filter(&program).unwrap();
            finish_with(command, input.as_bytes())
        });
        run.join().unwrap()
    })
}

#[test]
fn a_kernel_that_cannot_is_told_about() {
    let ws = Workspace::with(&[("readproof.toml", "wall = \"landlock\"\n"), ("a.txt", "one\n")]);
    let run = |words: &str, input: &str| without_landlock(ws.command(READPROOF).args(words.split_whitespace()), input);
    assert_eq!(run("read a.txt", "").noticed(&[NO_WALL]), "one\n");
    for server in ["mcp", "pi"] {
        assert_eq!(run(server, "").noticed(&[NO_WALL]), "", "{server}");
    }
    let doctor = run("doctor --json", "").noticed(&[NO_WALL]);
    let doctor: serde_json::Value = serde_json::from_str(&doctor).unwrap();
    let check = doctor["checks"].as_array().unwrap().iter().find(|check| check["check"] == "wall").unwrap();
    assert_eq!((&doctor["ok"], &check["health"]), (&json!(true), &json!("warning")));
    assert!(check["message"].as_str().unwrap().starts_with(NO_WALL));
}
