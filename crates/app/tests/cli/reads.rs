//! Reading and re-reading: plain text once, then the least text needed, only on this branch and in this session.

use crate::workspace::{Workspace, numbered};

#[test]
fn a_second_read_is_a_marker() {
    let ws = Workspace::with(&[("a.txt", "one\ntwo\nthree\n")]);
    ws.run("read a.txt --session s").gives("one\ntwo\nthree\n");
    ws.run("read a.txt --session s").gives("[readcache: unchanged, 3 lines]");
    ws.run("read a.txt --session s").gives("[readcache: unchanged, 3 lines]");
}

#[test]
fn an_outside_edit_is_a_diff() {
    let ws = Workspace::with(&[("a.txt", &numbered(40))]);
    ws.read("a.txt");
    ws.put("a.txt", numbered(40).replace("\n20\n", "\ntwenty\n"));
    let diff = "[readcache: 1 lines changed of 40]\n--- a/a.txt\n+++ b/a.txt\n@@ -17,7 +17,7 @@\n 17\n 18\n 19\n-20\n\
                +twenty\n 21\n 22\n 23\n";
    ws.run("read a.txt --session s").gives(diff);
    ws.run("read a.txt --session s").gives("[readcache: unchanged, 40 lines]");
}

#[test]
fn an_edit_taken_back_is_a_diff_against_the_newest_text() {
    let ws = Workspace::with(&[("a.txt", &numbered(400))]);
    ws.read("a.txt");
    ws.put("a.txt", numbered(400).replace("\n20\n", "\ntwenty\n"));
    ws.read("a.txt");
    ws.put("a.txt", numbered(400));
    assert!(ws.read("a.txt").contains("\n-twenty\n+20\n"));
}

#[test]
fn a_diff_that_is_no_shorter_is_plain_text() {
    let ws = Workspace::with(&[("a.txt", "one\n")]);
    ws.read("a.txt");
    ws.put("a.txt", "two\n");
    ws.run("read a.txt --session s").gives("two\n");
    ws.run("read a.txt --session s").gives("[readcache: unchanged, 1 lines]");
}

#[test]
fn lines_of_a_known_file_are_a_marker() {
    let ws = Workspace::with(&[("a.txt", &numbered(40))]);
    ws.read("a.txt");
    ws.run("read a.txt:5-9 --session s").gives("[readcache: unchanged in lines 5-9 of 40]");
    ws.run("read a.txt:38 --session s").gives("[readcache: unchanged in lines 38-40 of 40]");
    ws.run("read a.txt --offset 5 --limit 2 --session s").gives("[readcache: unchanged in lines 5-6 of 40]");
    ws.run("read a.txt:30-99 --session s").gives("[readcache: unchanged in lines 30-40 of 40]");
    ws.put("a.txt", numbered(40).replace("\n20\n", "\ntwenty\n"));
    let outside = "[readcache: unchanged in lines 5-9; changes exist outside this range]";
    ws.run("read a.txt:5-9 --session s").gives(outside);
    ws.run("read a.txt:19-21 --session s").gives("19\ntwenty\n21\n");
}

#[test]
fn lines_shown_vouch_for_no_others() {
    let ws = Workspace::with(&[("a.txt", &numbered(40))]);
    ws.run("read a.txt:1-10 --session s").gives(&numbered(10));
    ws.run("read a.txt --session s").gives(&numbered(40));
}

#[test]
fn pages_shown_one_by_one_add_up() {
    let ws = Workspace::with(&[("a.txt", &numbered(40))]);
    ws.run("read a.txt:1-20 --session s");
    ws.run("read a.txt:21 --session s");
    ws.run("read a.txt:10-30 --session s").gives("[readcache: unchanged in lines 10-30 of 40]");
    ws.run("read a.txt --session s").gives("[readcache: unchanged, 40 lines]");
}

#[test]
fn a_long_file_is_cut_and_only_what_was_shown_counts() {
    let ws = Workspace::with(&[("a.txt", &numbered(5000))]);
    let cut = "readproof: lines 1-2000 of 5000; go on with offset 2001\n";
    let first = ws.run("read a.txt --session s");
    assert_eq!((first.out.as_str(), first.err.as_str()), (numbered(2000).as_str(), cut));
    let again = ws.run("read a.txt --session s");
    assert_eq!((again.out.as_str(), again.err.as_str()), ("[readcache: unchanged in lines 1-2000 of 5000]", cut));
    let next = ws.run("read a.txt:2001-2002 --session s");
    next.gives("2001\n2002\n");
}

#[test]
fn a_giant_line_is_shown_in_part_and_never_relied_on() {
    let ws = Workspace::with(&[("a.txt", &"y".repeat(100_000))]);
    for _ in 0..2 {
        let out = ws.run("read a.txt --session s").noticed(&["line 1 is 100000 bytes long", "first 40000 bytes"]);
        assert_eq!(out, "y".repeat(40_000));
    }
}

#[test]
fn after_a_compaction_plain_text() {
    let ws = Workspace::with(&[("a.txt", &numbered(9))]);
    ws.read("a.txt");
    ws.run("session compact --session s").gives("session s is compacted at e4: nothing before it counts\n");
    ws.run("read a.txt --session s").gives(&numbered(9));
    ws.run("read a.txt --session s").gives("[readcache: unchanged, 9 lines]");
}

#[test]
fn on_a_branch_from_before_the_compaction_what_was_known_there() {
    let ws = Workspace::with(&[("a.txt", &numbered(40))]);
    ws.read("a.txt");
    ws.run("session compact --session s");
    ws.put("a.txt", numbered(40).replace("\n20\n", "\ntwenty\n"));
    ws.read("a.txt");
    ws.run("session branch e2 --session s").gives("session s goes on after e2\n");
    assert!(ws.read("a.txt").starts_with("[readcache: 1 lines changed of 40]\n"));
    ws.run("session branch root --session s").gives("session s goes on after root\n");
    assert_eq!(ws.read("a.txt").lines().count(), 40);
}

#[test]
fn another_session_gets_plain_text() {
    let ws = Workspace::with(&[("a.txt", &numbered(9))]);
    ws.read("a.txt");
    ws.run("read a.txt --session other").gives(&numbered(9));
    ws.run("read a.txt --session other").gives("[readcache: unchanged, 9 lines]");
}

#[test]
fn without_a_session_always_plain_and_no_store() {
    let ws = Workspace::with(&[("a.txt", &numbered(9))]);
    for _ in 0..3 {
        ws.run("read a.txt").gives(&numbered(9));
    }
    ws.run("read a.txt --fresh --json").text();
    ws.run("status").text();
    ws.run("session list").text();
    ws.run("config").text();
    assert_eq!(ws.names(), ["a.txt"]);
}

#[test]
fn fresh_is_plain_and_counts_as_shown() {
    let ws = Workspace::with(&[("a.txt", &numbered(9))]);
    ws.read("a.txt");
    ws.run("read a.txt --session s --fresh").gives(&numbered(9));
    ws.run("read a.txt --session s").gives("[readcache: unchanged, 9 lines]");
}

#[test]
fn text_that_looks_like_a_marker_is_sent_with_a_notice() {
    let ws = Workspace::with(&[("a.txt", "[readcache: unchanged, 4 lines]\n")]);
    let out = ws.run("read a.txt --session s").noticed(&["markers; they are file text"]);
    assert_eq!(out, "[readcache: unchanged, 4 lines]\n");
}

#[test]
fn every_byte_of_a_text_comes_out() {
    for text in ["", "\n", "x", "x\r\ny\r\n", "\u{feff}bom\n", "tab\t \n\n\n"] {
        let ws = Workspace::with(&[("a.txt", text)]);
        ws.run("read a.txt --session s").gives(text);
    }
    for (text, named) in
        [("\u{2028}\u{85}\u{c}\n", "U+2028 in its line 1, U+0085"), ("a\nlone\rcr", "U+000D in its line 2")]
    {
        let ws = Workspace::with(&[("a.txt", text)]);
        let shown = ws.run("read a.txt --session s").noticed(&["the text has hidden characters", named]);
        assert_eq!(shown, text);
    }
}

#[test]
fn a_deleted_file_that_comes_back_is_a_diff_or_a_marker() {
    let ws = Workspace::with(&[("a.txt", &numbered(40))]);
    ws.read("a.txt");
    std::fs::remove_file(ws.path("a.txt")).unwrap();
    ws.run("read a.txt --session s").refused(1, &["does not exist"]);
    ws.put("a.txt", numbered(40));
    ws.run("read a.txt --session s").gives("[readcache: unchanged, 40 lines]");
}

#[test]
fn a_sensitive_file_is_plain_and_never_stored() {
    let ws = Workspace::with(&[(".env", "TOKEN=hunter2\n"), ("Server.PEM", "TOKEN=hunter2\n")]);
    ws.link("innocent", ".env");
    for name in [".env", "Server.PEM", "innocent"] {
        assert_eq!(ws.read(name), "TOKEN=hunter2\n");
        assert_eq!(ws.read(name), "TOKEN=hunter2\n");
    }
    ws.feed("write .env --session s", "TOKEN=hunter2\n").refused(1, &["is sensitive", "--force"]);
    let written = ws.feed("write .env --session s --force --set policy_preset=open", "TOKEN=hunter2\n");
    assert_eq!(written.code, Some(0));
    assert_eq!(ws.run("status --json").json()["store"]["objects"], 0);
    assert!(!ws.get(".readproof/log/s.log").contains("hunter2"));
}

#[test]
fn the_json_of_a_read_names_what_was_answered() {
    let ws = Workspace::with(&[("a.txt", "one\ntwo\nthree\n")]);
    let first = ws.run("read a.txt:1-2 --session s --json").json();
    assert_eq!(first["ok"], true);
    assert_eq!((&first["mode"], &first["reason"]), (&"full".into(), &"not_held".into()));
    assert_eq!((&first["text"], &first["scope"]), (&"one\ntwo\n".into(), &"r:1:2".into()));
    assert_eq!(first["lines"], serde_json::json!([1, 2]));
    assert_eq!((&first["path"], &first["total_lines"]), (&"a.txt".into(), &3.into()));
    assert_eq!((&first["session"], &first["entry"]), (&"s".into(), &"e2".into()));
    assert_eq!((&first["cut"], &first["next_offset"]), (&false.into(), &serde_json::Value::Null));
    assert_eq!(first["tokens"]["saved"], 0);
    let meta = &first["readcache"];
    assert_eq!((&meta["v"], &meta["scopeKey"], &meta["mode"]), (&1.into(), &"r:1:2".into(), &"full".into()));
    assert_eq!(meta["pathKey"], ws.path("a.txt").to_str().unwrap());
    let again = ws.run("read a.txt:1-2 --session s --json").json();
    assert_eq!(again["mode"], "unchanged_range");
    assert_eq!(again["readcache"]["baseHash"], again["readcache"]["servedHash"]);
}
