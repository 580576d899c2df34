//! MCP roots: a server that was started elsewhere serves the client's project.

use crate::client::{Given, Server};
use serde_json::{Value, json};
use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

/// Folders with a file `who` that has the folder's name, and a server that was started in the first of them.
fn started(folders: &[&str], roots: impl FnOnce(&Path) -> Value, words: &[&str]) -> Server {
    let dir = tempfile::tempdir().unwrap();
    for folder in folders {
        fs::create_dir_all(dir.path().join(folder)).unwrap();
        fs::write(dir.path().join(folder).join("who"), folder).unwrap();
    }
    let (at, roots) = (dir.path().join(folders[0]), roots(dir.path()));
    let mut server = Server::spawn_at(dir, &at, words);
    server.roots = Some(roots);
    server.initialize("2025-06-18");
    server
}

fn listed(dir: &Path, folders: &[&str]) -> Value {
    let root = |folder: &&str| json!({"uri": format!("file://{}/{folder}", dir.display()), "name": folder});
    json!({"result": {"roots": folders.iter().map(root).collect::<Vec<_>>()}})
}

fn who(server: &mut Server) -> Given {
    server.call("read", json!({"path": "who"}))
}

fn change(server: &mut Server, roots: Value) {
    server.roots = Some(roots);
    server.send(&json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}));
}

#[test]
fn a_root_elsewhere_is_the_workspace() {
    let mut server = started(&["home", "project"], |dir| listed(dir, &["project"]), &[]);
    fs::write(server.path("project/readproof.toml"), "window_lines = 1\n").unwrap();
    fs::write(server.path("project/long"), "one\ntwo\n").unwrap();
    server.request("ping", json!({}));
    server.request("tools/list", json!({}));
    assert_eq!(server.asked, 0, "only calls need it");
    let first = who(&mut server);
    assert_eq!((first.text(), first.blocks.len()), ("project", 2), "{first:?}");
    assert_eq!(server.call("read", json!({"path": "long"})).text(), "one\n", "its settings count");
    let (outside, root) = (server.path("home/who"), server.path("project"));
    let refused = server.call("read", json!({"path": outside}));
    assert_eq!(refused.code(), "OUTSIDE_WORKSPACE");
    assert!(refused.blocks[0].contains(root.to_str().unwrap()), "{refused:?}");
    assert_eq!(server.asked, 1, "once");
    assert!(!server.path("home/.readproof").exists(), "nothing is stored where it was started");
}

#[test]
fn a_server_inside_a_root_stays_where_it_is() {
    let mut server = started(&["repo/sub", "other"], |dir| listed(dir, &["other", "repo"]), &[]);
    assert_eq!((who(&mut server).text(), server.asked), ("repo/sub", 1));
    // Also if the root is named through a link.
    std::os::unix::fs::symlink(server.path("repo"), server.path("link")).unwrap();
    let roots = listed(server.dir.path(), &["link", "other"]);
    change(&mut server, roots);
    assert_eq!((who(&mut server).text(), server.asked), ("repo/sub", 2));
}

#[test]
fn the_first_root_that_is_a_folder_counts() {
    let roots = |dir: &Path| {
        let mut roots = listed(dir, &["gone", "home/who", "a b ü", "last"]);
        let list = roots["result"]["roots"].as_array_mut().unwrap();
        let encoded = format!("file://localhost{}/a%20b%20%C3%BC", dir.display());
        (list[2]["uri"], list[3]["name"]) = (json!(encoded), Value::Null);
        list.insert(0, json!({"uri": "https://example.org/x"}));
        roots
    };
    let mut server = started(&["home", "a b ü", "last"], roots, &[]);
    let given = who(&mut server);
    assert_eq!((given.text(), given.blocks.len()), ("a b ü", 2), "no notice: {given:?}");
}

#[test]
fn a_root_that_cannot_be_used_is_said_once() {
    for (name, why) in [("gone", "does not exist"), ("home/who", "is not a directory")] {
        let mut server = started(&["home"], |dir| listed(dir, &[name]), &[]);
        let given = who(&mut server);
        assert_eq!(given.text(), "home");
        let all = given.blocks.concat();
        assert!(all.contains("the client's root `file://") && all.contains(why), "{all}");
        let again = who(&mut server).blocks.concat();
        assert!(!again.contains("root `"), "{again}");
    }
    let far = json!({"result": {"roots": [{"uri": format!("vscode-remote://{}", "x".repeat(100_000))}]}});
    let mut server = started(&["home"], |_| far, &[]);
    let all = who(&mut server).blocks.concat();
    assert!(all.contains("only file:// URIs") && all.len() < 1000, "{all}");
}

#[test]
fn no_answer_and_no_roots_change_nothing() {
    let answers = [
        json!({"result": {"roots": []}}),
        json!({"error": {"code": -32601, "message": "no such method"}}),
        json!({"result": {"roots": "none"}}),
        json!({"result": {}}),
        json!({"result": null}),
        json!({"error": "no"}),
        // Nothing at all.
        Value::Null,
    ];
    for answer in answers {
        let mut server = started(&["home", "project"], |_| answer.clone(), &[]);
        let begin = Instant::now();
        let given = who(&mut server);
        assert_eq!((given.text(), given.blocks.len()), ("home", 2), "{answer}: {given:?}");
        assert!(begin.elapsed() < Duration::from_secs(20), "{answer}");
        let begin = Instant::now();
        assert_eq!((who(&mut server).text(), server.asked), ("home", 1), "{answer}");
        assert!(begin.elapsed() < Duration::from_millis(1500), "{answer}: only the first call waits");
    }
}

#[test]
fn calls_wait_for_one_question_and_nothing_else_does() {
    let mut server = started(&["home", "project"], |_| Value::Null, &[]);
    let calls: Vec<u64> =
        (0..3).map(|_| server.ask("tools/call", json!({"name": "read", "arguments": {"path": "who"}}))).collect();
    let question = server.message();
    assert_eq!(question["method"], "roots/list");
    let cancelled = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": calls[1]}});
    server.send(&cancelled);
    let ping = server.ask("ping", json!({}));
    assert_eq!(server.message()["id"], ping, "before any call");
    server.request("tools/list", json!({}));
    let project = listed(server.dir.path(), &["project"]);
    server.roots = Some(project);
    server.answer(&question);
    for id in [calls[0], calls[2]] {
        let answer = server.message();
        assert_eq!(answer["id"], id, "in their order");
        assert_eq!(Server::given(answer).text(), "project");
    }
    assert_eq!(server.asked, 1);
}

#[test]
fn a_cancelled_call_leaves_the_question_to_the_next() {
    let mut server = started(&["home", "project"], |dir| listed(dir, &["project"]), &[]);
    let call = server.ask("tools/call", json!({"name": "read", "arguments": {"path": "who"}}));
    let question = server.message();
    server.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": call}}));
    assert_eq!((who(&mut server).text(), server.asked), ("project", 1));
    // The answer to the first question comes late.
    server.answer(&question);
    assert_eq!(who(&mut server).text(), "project");
}

#[test]
fn changed_roots_are_asked_for_again() {
    let mut server = started(&["home", "one", "two"], |dir| listed(dir, &["one"]), &[]);
    server.window("t", "t:0");
    let one = who(&mut server);
    assert_eq!(one.text(), "one");
    let roots = listed(server.dir.path(), &["two", "one"]);
    change(&mut server, roots);
    let two = server.call("read", json!({"path": "who", "known": one.handle().unwrap()}));
    assert_eq!((two.text(), two.decision(), server.asked), ("two", "full", 2), "a handle of one counts only there");
    // No roots, or no answer: it stays.
    change(&mut server, json!({"result": {"roots": []}}));
    assert_eq!(who(&mut server).text(), "two");
    // The same ones: the same engine.
    let known = who(&mut server).handle().unwrap();
    let roots = listed(server.dir.path(), &["two"]);
    change(&mut server, roots);
    let again = server.call("read", json!({"path": "who", "known": known}));
    assert_eq!((again.decision(), server.asked), ("unchanged", 4));
    let roots = listed(server.dir.path(), &["one", "home"]);
    change(&mut server, roots);
    assert_eq!((who(&mut server).text(), server.asked), ("home", 5), "where it was started");
}

#[test]
fn a_workspace_that_the_user_names_is_never_asked_about() {
    let mut server = started(&["home", "project"], |dir| listed(dir, &["project"]), &["--workspace", "../home"]);
    assert_eq!((who(&mut server).text(), server.asked), ("home", 0));
    let roots = listed(server.dir.path(), &["project"]);
    change(&mut server, roots.clone());
    assert_eq!((who(&mut server).text(), server.asked), ("home", 0));

    let at = server.path("home");
    let environment = [("READPROOF_WORKSPACE", &*at)];
    let mut server = Server::spawn_with(tempfile::tempdir().unwrap(), &at, &[], &environment);
    server.roots = Some(roots);
    server.initialize("2025-11-25");
    assert_eq!((who(&mut server).text(), server.asked), ("home", 0));
}

#[test]
fn the_second_era_has_no_questions() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().to_path_buf();
    let mut server = Server::spawn_at(dir, &at, &[]);
    server.put("who", "home");
    server.put("project/who", "project");
    server.roots = Some(listed(&at, &["project"]));
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {"roots": {}},
    });
    server.meta = meta.as_object().unwrap().clone();
    server.request("server/discover", json!({}));
    assert_eq!((who(&mut server).text(), server.asked), ("home", 0));
}

#[test]
fn responses_that_nobody_waits_for_are_ignored() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().to_path_buf();
    let mut server = Server::spawn(dir, &[]);
    let odd = [
        json!({"jsonrpc": "2.0", "id": 0, "result": {"roots": [{"uri": "file:///"}]}}),
        json!({"jsonrpc": "2.0", "id": 0, "error": {"code": 1, "message": "x"}}),
        json!({"jsonrpc": "2.0", "error": {"code": 1, "message": "x"}}),
        json!({"jsonrpc": "2.0", "id": [0], "result": 1}),
        json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}),
    ];
    server.put("home/who", "home");
    // Also before the handshake is over.
    server.request("ping", json!({}));
    server.request("server/discover", json!({}));
    server.request("tools/list", json!({}));
    odd.iter().for_each(|line| server.send(line));
    server.roots = Some(listed(&at, &["home"]));
    server.initialize("2025-06-18");
    odd.iter().for_each(|line| server.send(line));
    assert_eq!((who(&mut server).text(), server.asked), ("home", 1));
    odd.iter().for_each(|line| server.send(line));
    assert_eq!((who(&mut server).text(), server.asked), ("home", 2), "only the notice counts");
}

#[test]
fn many_roots_cost_little() {
    let roots = |dir: &Path| {
        let mut roots = listed(dir, &["project"]);
        let list = roots["result"]["roots"].as_array_mut().unwrap();
        list.splice(0..0, (0..50_000).map(|n| json!({"uri": format!("file:///gone/{n}/{}", "x".repeat(50))})));
        roots
    };
    let mut server = started(&["home", "project"], roots, &[]);
    assert_eq!(who(&mut server).text(), "home", "only the first are looked at");
    assert!(server.peak_kib() < 200 << 10, "{}", server.peak_kib());
    let long = json!({"result": {"roots": [{"uri": format!("file:///{}", "%20".repeat(4_000_000))}]}});
    change(&mut server, long);
    let all = who(&mut server).blocks.concat();
    assert!(all.contains("is not used as the workspace") && all.len() < 10_000, "{}", all.len());
}

#[test]
fn behind_a_wall_the_server_stays_where_it_was_started() {
    // Whether the kernel can raise it or not: the same server serves one workspace.
    let roots = |dir: &Path| listed(dir, &["project"]);
    let mut server = started(&["home", "project"], roots, &["--set", "wall=landlock"]);
    let first = who(&mut server);
    assert_eq!(first.text(), "home");
    let said = first.blocks.join("\n");
    assert!(said.contains("a server stays in the workspace that it was started in"), "{said}");
    assert!(said.contains("READPROOF_WORKSPACE"), "{said}");

    let mut server = started(&["home", "project"], roots, &[]);
    fs::write(server.path("project/readproof.toml"), "wall = \"landlock\"\n").unwrap();
    let first = who(&mut server);
    assert!(first.text() == "home" && first.blocks.join("\n").contains("stays in the workspace"), "{first:?}");
}

/// Waits until the version log of a folder says a word so many times.
fn recorded(folder: &Path, word: &str, times: usize) {
    let begin = Instant::now();
    let count = || fs::read_to_string(folder.join(".readproof/log/versions")).unwrap_or_default().matches(word).count();
    while count() < times {
        assert!(begin.elapsed() < Duration::from_secs(60), "{word} is recorded {} times", count());
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn what_others_change_between_two_calls_is_kept_by_the_server() {
    let mut server = started(&["home", "project"], |dir| listed(dir, &["project"]), &["--tools", "all"]);
    let project = server.path("project");
    assert_eq!(who(&mut server).text(), "project");
    // The first text is kept before anybody changes it, and each that follows.
    recorded(&project, "\"first\"", 1);
    for (text, times) in [("two", 1), ("three", 2)] {
        fs::write(project.join("who"), text).unwrap();
        recorded(&project, "\"operation\":\"outside\"", times);
    }
    fs::write(project.join("who"), "project").unwrap();
    let history = server.call("file_history", json!({"filepath": "who"}));
    assert_eq!(history.text().matches("outside").count(), 3, "{}", history.text());
    assert_eq!(server.call("show_version", json!({"version": "v3", "filepath": "who"})).text(), "two");
    // Nobody meant the folder that it was started in.
    assert!(!server.path("home/.readproof").exists());
    assert_eq!(server.end(), Some(0));
}

#[test]
fn a_server_that_is_told_not_to_watch_does_not() {
    let words = ["--set", "watch=false"];
    let mut server = started(&["home", "project"], |dir| listed(dir, &["project"]), &words);
    assert_eq!(who(&mut server).text(), "project");
    let threads = |id: u32| {
        let tasks = fs::read_dir(format!("/proc/{id}/task")).unwrap();
        let name = |task: fs::DirEntry| fs::read_to_string(task.path().join("comm")).unwrap_or_default();
        tasks.map(|task| name(task.unwrap())).collect::<Vec<_>>()
    };
    let names = threads(server.id());
    assert!(!names.iter().any(|name| name.trim() == "watch"), "{names:?}");
}
