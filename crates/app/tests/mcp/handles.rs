//! Handles over the wire: on where the host tells its window, dead after a compaction, worth nothing to another agent.

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

/// Some hosts cut the middle out of a long result and leave its end, where the handle would stand.
#[test]
fn what_a_host_may_cut_has_no_handle() {
    let mut server = Server::start(&[("a.txt", &numbered(700))], &[]);
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
