//! Handles over MCP: issued if the host reports its window, invalid after a compaction and for another agent.

use crate::client::{Server, numbered};
use serde_json::json;

fn read(server: &mut Server, known: Option<&str>) -> crate::client::Given {
    server.call("read", json!({"mode": "file", "target": "a.txt", "known": known}))
}

#[test]
fn a_host_that_tells_nothing_gets_plain_text() {
    let mut server = Server::start(&[("a.txt", &numbered(50))], &[]);
    let first = read(&mut server, None);
    assert!(first.handle().is_none() && !first.trailer().contains("known"), "{}", first.trailer());
    assert_eq!(read(&mut server, None).text(), numbered(50), "also to the second agent on this connection");
    server.window("t", "t:0");
    let handle = read(&mut server, None).handle().unwrap();
    server.meta.clear();
    assert_eq!(read(&mut server, Some(&handle)).text(), numbered(50));
}

#[test]
fn a_window_that_is_told_makes_handles_worth_something() {
    let mut server = Server::start(&[("a.txt", &numbered(50))], &[]);
    server.window("t", "t:0");
    let first = read(&mut server, None);
    let handle = first.handle().unwrap();
    assert!(first.trailer().ends_with(&format!("known={handle}]")), "{}", first.trailer());
    let again = read(&mut server, Some(&handle));
    assert_eq!((again.text(), again.decision()), ("[readcache: unchanged, 50 lines]", "unchanged"));
    assert_eq!(again.contract["meta"]["proof"], "echo");
    let part =
        server.call("read_file_range", json!({"path": "a.txt", "start_line": 3, "end_line": 5, "known": handle}));
    assert_eq!(part.decision(), "unchanged_range");
    server.put("a.txt", numbered(50).replace("line 20 ", "line twenty "));
    let changed = read(&mut server, Some(&handle));
    assert_eq!(changed.decision(), "diff");
    let both = changed.handle().unwrap();
    assert_eq!(read(&mut server, Some(&both)).decision(), "unchanged");
    // After a compaction, for another thread, and after a refresh.
    server.window("t", "t:1");
    assert_eq!(read(&mut server, Some(&both)).decision(), "full");
    server.window("u", "t:0");
    assert_eq!(read(&mut server, Some(&both)).decision(), "full");
    server.window("t", "t:0");
    server.call("readcache_refresh", json!({"path": "a.txt"}));
    assert_eq!(read(&mut server, Some(&both)).decision(), "full");
}

/// A read, then another call shows another version of a line, then the file is restored to the first version.
fn shown_otherwise_between(show: impl Fn(&mut Server)) {
    let mut server = Server::start(&[("a.txt", &numbered(50))], &[]);
    server.window("t", "t:0");
    let handle = read(&mut server, None).handle().unwrap();
    show(&mut server);
    assert_eq!(read(&mut server, Some(&handle)).decision(), "unchanged", "the same text was shown");
    server.put("a.txt", numbered(50).replace("line 20 ", "line twenty "));
    show(&mut server);
    server.put("a.txt", numbered(50));
    assert_eq!(read(&mut server, Some(&handle)).decision(), "full");
}

#[test]
fn a_search_takes_what_it_shows_from_older_texts() {
    for mode in ["text", "regex"] {
        shown_otherwise_between(|server| {
            let found = server.call("search", json!({"query": "twenty|line 20 |line", "mode": mode, "limit": 100}));
            assert!(mode == "text" || found.text().contains("a.txt:20:"), "{found:?}");
            server.call("search", json!({"query": "twenty", "mode": mode}));
        });
    }
    shown_otherwise_between(|server| {
        let found = server.call("search", json!({"query": "line", "mode": "references"}));
        assert!(found.text().contains("a.txt:20:"), "{found:?}");
    });
    shown_otherwise_between(|server| {
        server.call("search_in_file", json!({"path": "a.txt", "query": "line"}));
    });
}

#[test]
fn a_diff_takes_what_it_shows_from_older_texts() {
    shown_otherwise_between(|server| {
        let content = numbered(50).replace("line 21 ", "line XXI ");
        let given = json!({"mode": "diff_preview", "target": "a.txt", "against": "WORKTREE", "content": content});
        assert!(server.call("read", given).text().contains("XXI"));
    });
}

#[test]
fn what_a_program_gets_takes_it_from_older_texts() {
    shown_otherwise_between(|server| {
        server.meta.insert("readproof/direct".to_owned(), json!(false));
        let given = read(server, None);
        assert_eq!((given.handle(), given.decision()), (None, "full"));
        server.meta.insert("readproof/direct".to_owned(), json!(true));
    });
}

/// Codex sends the same `_meta` for calls of the model and of scripts; only its record tells them apart.
#[test]
fn a_call_that_codex_has_not_recorded_is_a_programs() {
    let mut server = Server::start(&[("a.txt", &numbered(50))], &[]);
    let call = |server: &mut Server, id: &str, known: Option<&str>| {
        for (key, value) in [("threadId", "0199-t"), ("windowId", "0199-t:0"), ("callId", id)] {
            server.meta.insert(key.to_owned(), json!(value));
        }
        read(server, known)
    };
    let line = |id: &str, kind: &str| {
        let payload = json!({"type": kind, "call_id": id, "name": "read", "arguments": "{}"});
        json!({"timestamp": "t", "type": "response_item", "payload": payload}).to_string() + "\n"
    };
    assert!(call(&mut server, "call_1", None).handle().is_none(), "there is no record");
    let rollout = ".codex/sessions/2026/11/16/rollout-2026-11-16T10-00-00-0199-t.jsonl";
    let mut record = line("call_1", "function_call") + &line("call_2", "function_call");
    server.put(rollout, &record);
    server.put(".codex/sessions/2026/11/15/rollout-2026-11-15T10-00-00-0199-u.jsonl", line("call_9", "function_call"));
    let first = call(&mut server, "call_1", None);
    let handle = first.handle().unwrap();
    assert_eq!(call(&mut server, "call_2", Some(&handle)).decision(), "unchanged");
    for (id, why) in [("exec-1", "a script made it"), ("call_3", "not recorded"), ("call_9", "of another thread")] {
        let given = call(&mut server, id, Some(&handle));
        assert_eq!((given.decision(), given.handle()), ("full", None), "{why}");
    }
    record += &line("call_3", "function_call_output");
    record += &line("call_4", "custom_tool_call");
    server.put(rollout, &record);
    for id in ["call_3", "call_4"] {
        assert_eq!(call(&mut server, id, Some(&handle)).decision(), "full", "{id} is no call of the model");
    }
    server.put(rollout, record + &line("call_5", "function_call"));
    assert_eq!(call(&mut server, "call_5", Some(&handle)).decision(), "unchanged");
}

/// Some hosts refuse a message with such a block, and then the conversation is stuck.
#[test]
fn blank_lines_are_told_and_not_sent() {
    let mut server = Server::start(&[("blank.txt", "\n \t\n\r\n"), ("empty.txt", ""), ("a.txt", "a\n\n\nb\n")], &[]);
    server.window("t", "t:0");
    let blank = server.call("read", json!({"mode": "file", "target": "blank.txt"}));
    assert_eq!(blank.blocks, ["[blank.txt: lines 1-3 of 3; these lines are blank and not shown]"]);
    assert_eq!(blank.contract["meta"]["handle"], json!(null));
    let part = server.call("read_file_range", json!({"path": "a.txt", "start_line": 2, "end_line": 3}));
    assert_eq!(part.blocks, ["[a.txt: lines 2-3 of 4; these lines are blank and not shown]"]);
    let empty = server.call("read", json!({"mode": "file", "target": "empty.txt"}));
    assert_eq!((empty.blocks.len(), empty.text()), (1, ""));
    let handle = empty.handle().unwrap();
    let again = server.call("read", json!({"mode": "file", "target": "empty.txt", "known": handle}));
    assert_eq!(again.decision(), "unchanged");
}

/// Some hosts cut the middle out of a long result and keep its end, where the handle would be.
#[test]
fn what_a_host_may_cut_has_no_handle() {
    let mut server = Server::start(&[("a.txt", &numbered(700))], &["--set", "handle_bytes=10000"]);
    server.window("t", "t:0");
    let long = server.call("read_file", json!({"path": "a.txt"}));
    assert!(long.text().len() > 10_000 && long.handle().is_none(), "{}", long.trailer());
    let wide = "\u{6f22}".repeat(100) + "\n";
    server.put("wide.txt", wide.repeat(100));
    let lines = |count: u64| json!({"mode": "file", "target": "wide.txt", "limit": count});
    assert!(server.call("read", lines(50)).handle().is_none());
    let short = server.call("read", lines(20));
    assert!(short.text().len() < 10_000 && short.handle().is_some());
}

/// A marker for lines of a file that changed elsewhere leaves its handle as it was.
#[test]
fn a_handle_that_was_given_back_is_taken_again() {
    let mut server = Server::start(&[("a.txt", &numbered(50))], &[]);
    server.window("t", "t:0");
    let handle = read(&mut server, None).handle().unwrap();
    server.put("a.txt", numbered(60));
    for _ in 0..2 {
        let head = server.call("read_file_head", json!({"path": "a.txt", "max_lines": 20, "known": handle}));
        assert_eq!((head.decision(), head.handle().as_deref()), ("unchanged_range", Some(handle.as_str())));
    }
}

#[test]
fn settings_say_otherwise() {
    let mut server = Server::start(&[("a.txt", &numbered(50))], &["--set", "handles=always"]);
    let handle = read(&mut server, None).handle().unwrap();
    assert_eq!(read(&mut server, Some(&handle)).decision(), "unchanged");
    let mut server = Server::start(&[("a.txt", &numbered(50))], &["--set", "handles=never"]);
    server.window("t", "t:0");
    assert!(read(&mut server, None).handle().is_none());
}

#[test]
fn another_server_knows_the_handle_of_the_same_window() {
    let mut server = Server::start(&[("a.txt", &numbered(50))], &[]);
    server.window("t", "t:0");
    let handle = read(&mut server, None).handle().unwrap();
    let text = numbered(50);
    let again = tempfile::tempdir().unwrap();
    for name in [".readproof", "a.txt"] {
        std::fs::rename(server.path(name), again.path().join(name)).unwrap();
    }
    drop(server);
    let mut server = Server::spawn(again, &[]);
    server.initialize("2025-11-25");
    server.window("t", "t:0");
    assert_eq!(read(&mut server, Some(&handle)).decision(), "unchanged");
    assert_eq!(read(&mut server, None).text(), text);
}
