//! Searching in a hostile tree: texts that are hard to parse, patterns that are hard to match, files that are swapped
//! during the search, and files with secrets.

use crate::client::Server;
use serde_json::{Value, json};
use std::{
    fs,
    os::unix::fs::symlink,
    process::Command,
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

#[test]
fn a_text_that_is_hard_to_parse_is_named_and_the_others_are_indexed() {
    let mut server = Server::start(&[("ok.java", "class Fine {}\n"), ("d/ok.rs", "fn fine() {}\n")], &[]);
    server.put("bomb.java", "a<".repeat(20_000));
    server.put("d/large.js", "x = 1;\n".repeat(400_000));
    for _ in 0..2 {
        let found = server.call("search", json!({"query": "fin", "mode": "symbol"}));
        assert!(found.text().contains("ok.java") && found.text().contains("d/ok.rs"), "{found:?}");
        let said = found.trailer();
        assert!(
            said.contains("2 not indexed: `bomb.java` takes too many steps to parse, `d/large.js` is too large"),
            "{said}"
        );
    }
    let inside = server.call("search", json!({"query": "fine", "mode": "symbol", "glob": "d/**"}));
    assert!(inside.trailer().contains("1 not indexed: `d/large.js`"), "{}", inside.trailer());
    let one = server.call("read", json!({"mode": "symbol", "target": "Fine"}));
    assert!(one.text().contains("class Fine") && one.trailer().contains("2 not indexed"), "{one:?}");
    let none = server.call("read", json!({"mode": "symbol", "target": "Unheard"}));
    assert!(none.code() == "NO_SYMBOL" && none.blocks[0].contains("`bomb.java` takes too many steps"), "{none:?}");
    let asked = server.call("read", json!({"mode": "symbol", "target": "Fine", "path": "bomb.java"}));
    assert!(asked.code() == "TOO_HARD" && asked.blocks[0].contains("bomb.java"), "{asked:?}");
}

#[test]
fn a_pattern_that_is_too_large_is_refused_at_once() {
    let mut server = Server::start(&[("ok.txt", "aaaa\n")], &["--tools", "all"]);
    server.put("line.txt", "a".repeat(100_000));
    let began = Instant::now();
    for (tool, arguments) in [
        ("search", json!({"query": "(?:a{100}){1000}", "mode": "regex"})),
        ("search_in_file", json!({"path": "line.txt", "query": "(?:a{100}){1000}", "is_regex": true})),
    ] {
        let given = server.call(tool, arguments);
        assert!(given.code() == "BAD_QUERY" && given.blocks[0].contains("this pattern is too large"), "{given:?}");
    }
    let wide = server.call("search", json!({"query": "a{4,1000}", "mode": "regex"}));
    assert!(wide.text().contains("ok.txt:1:aaaa"), "{wide:?}");
    assert!(wide.trailer().contains("1 with a line too long for this pattern"), "{}", wide.trailer());
    let one = server.call("search_in_file", json!({"path": "line.txt", "query": "a{4,1000}", "is_regex": true}));
    assert!(one.code() == "TOO_LARGE" && one.blocks[0].contains("for so large a pattern"), "{one:?}");
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
}

#[test]
fn sensitive_files_are_searched_only_by_name() {
    let files = [("a.txt", "token here\n"), (".env", "token=1\n"), ("d/id_rsa", "token\n"), ("d/x.pem", "token\n")];
    let mut server = Server::start(&files, &["--tools", "all"]);
    for mode in ["text", "regex"] {
        let found = server.call("search", json!({"query": "token", "mode": mode}));
        assert_eq!(found.text(), "a.txt:1:token here\n", "{mode}");
        let said = found.trailer();
        assert!(said.contains("2 sensitive files were not searched; name one with search_in_file"), "{mode}: {said}");
        assert_eq!(found.contract["meta"]["skipped"]["sensitive"], 2, "{mode}");
        // A pattern that lets it through is no name; the name is.
        let some = server.call("search", json!({"query": "token", "mode": mode, "glob": "d/*"}));
        assert_eq!(some.text(), "", "{mode}");
        let one = server.call("search", json!({"query": "token", "mode": mode, "glob": "d/id_rsa"}));
        assert_eq!(one.text(), "d/id_rsa:1:token\n", "{mode}");
        assert_eq!(one.contract["meta"]["skipped"]["sensitive"], 0, "{mode}");
    }
    assert_eq!(server.call("search_in_file", json!({"path": ".env", "query": "token"})).text(), "1:token=1\n");
    assert!(server.call("search", json!({"query": "rsa", "mode": "path"})).text().contains("d/id_rsa"));
}

/// During searches, an ignore file is replaced by a pipe and a folder by a link to the outside.
#[test]
fn swaps_while_searching() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("outside_name.rs"), "fn outside_name() {}\n").unwrap();
    let mut server = Server::start(&[("a.rs", "fn inside() {}\n"), ("d/b.rs", "fn inside() {}\n")], &[]);
    server.put("e/.gitignore", "x\n");
    fs::create_dir(server.path(".git")).unwrap();
    let (dir, target) = (server.dir.path().to_owned(), outside.path().to_owned());
    let (stop, stopped) = mpsc::channel::<()>();
    let swapping = thread::spawn(move || {
        let at = |name: &str| dir.join(name);
        while stopped.try_recv() == Err(mpsc::TryRecvError::Empty) {
            fs::rename(at("d"), at("kept")).unwrap();
            symlink(&target, at("d")).unwrap();
            fs::remove_file(at("e/.gitignore")).unwrap();
            assert!(Command::new("mkfifo").arg(at("e/.gitignore")).status().unwrap().success());
            fs::remove_file(at("d")).unwrap();
            fs::rename(at("kept"), at("d")).unwrap();
            fs::remove_file(at("e/.gitignore")).unwrap();
            fs::write(at("e/.gitignore"), "x\n").unwrap();
        }
    });
    for round in 0..60 {
        let (query, mode) = [("name", "path"), ("outside_name", "regex"), ("outside", "symbol")][round % 3];
        let found = server.call("search", json!({"query": query, "mode": mode}));
        assert!(!found.text().contains("outside_name"), "{mode}: {}", found.text());
    }
    stop.send(()).unwrap();
    swapping.join().unwrap();
}

/// Work ends when its call is cancelled, at any stage.
#[test]
fn a_search_that_is_cancelled_leaves_the_server_to_others() {
    let mut server = Server::start(&[("a.txt", "x\n")], &["--tools", "all"]);
    let mut bits = 1_u32;
    let mut next = || {
        bits = bits.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        if bits >> 31 == 0 { 'a' } else { 'b' }
    };
    let line = |_| std::iter::repeat_with(&mut next).take(400).chain(['\n']).collect::<String>();
    let text: String = (0..10_000).map(line).collect();
    server.put("slow.txt", &text);
    let arguments = json!({"query": "[ab]*a[ab]{300}c", "mode": "regex"});
    let id = server.ask("tools/call", json!({"name": "search", "arguments": arguments}));
    thread::sleep(Duration::from_millis(200));
    server.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
    let began = Instant::now();
    let given = server.call("search", json!({"query": "x", "mode": "regex", "glob": "a.txt"}));
    assert_eq!(given.text(), "a.txt:1:x\n");
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    let gone: Value = server.request("ping", json!({}));
    assert!(gone["result"].is_object());
}
