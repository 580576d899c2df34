//! Moving in a session's tree, forking it, and asking for fresh text.

use crate::workspace::{Workspace, numbered};

/// Session `s` read `a.txt` (e2), was compacted (e4) and read it again (e5).
fn compacted() -> Workspace {
    let ws = Workspace::with(&[("a.txt", &numbered(9))]);
    ws.read("a.txt");
    ws.run("session compact --session s --summary short").text();
    ws.read("a.txt");
    ws
}

#[test]
fn a_tree_is_shown_with_its_branch() {
    let ws = compacted();
    let straight = "session s\n\
                    * e2    read         a.txt                        full              full\n\
                    * e4    compact                                                     short\n\
                    * e5    read         a.txt                        full              full  <- here\n";
    ws.run("session show --session s").gives(straight);
    ws.run("session branch e2 --session s").gives("session s goes on after e2\n");
    ws.run("read a.txt:2-3 --session s").gives("[readcache: unchanged in lines 2-3 of 9]");
    let split = "session s\n\
                 * e2    read         a.txt                        full              full\n\
                 \u{20} e4    compact                                                     short  (after e2)\n\
                 \u{20} e5    read         a.txt                        full              full\n\
                 * e8    read         a.txt                        unchanged_range   r:2:3  (after e2)  <- here\n";
    ws.run("session show --session s").gives(split);
}

#[test]
fn a_tree_as_json() {
    let ws = compacted();
    let view = ws.run("session show --session s --json").json();
    assert_eq!((&view["session"], &view["leaf"]), (&"s".into(), &"e5".into()));
    let entries = view["entries"].as_array().unwrap();
    let column = |key: &str| entries.iter().map(|entry| entry[key].clone()).collect::<serde_json::Value>();
    assert_eq!(column("entry"), serde_json::json!(["e2", "e4", "e5"]));
    assert_eq!(column("parent"), serde_json::json!([null, "e2", "e4"]));
    assert_eq!(column("kind"), serde_json::json!(["read", "compact", "read"]));
    assert_eq!(column("on_branch"), serde_json::json!([true, true, true]));
    assert_eq!(column("mode"), serde_json::json!(["full", null, "full"]));
}

#[test]
fn writes_and_refreshes_are_listed() {
    let ws = Workspace::new();
    ws.feed("write a.txt --session s", "a\n").text();
    ws.run("refresh a.txt --session s").text();
    let shown = "session s\n\
                 * e3    write        a.txt\n\
                 * e5    refresh      a.txt                                          full  <- here\n";
    ws.run("session show --session s").gives(shown);
}

#[test]
fn back_to_the_root_nothing_is_known() {
    let ws = compacted();
    ws.run("session branch root --session s --json").gives("{\"leaf\":\"root\",\"ok\":true,\"session\":\"s\"}\n");
    assert!(ws.run("session show --session s").text().starts_with("session s\n* root  <- here\n  e2 "));
    assert_eq!(ws.read("a.txt"), numbered(9));
}

#[test]
fn switching_goes_to_the_tip_of_a_branch() {
    let ws = compacted();
    ws.run("session branch e2 --session s").text();
    ws.run("read a.txt:1-1 --session s").text();
    ws.run("session switch e4 --session s").gives("session s goes on after e5\n");
    ws.run("read a.txt --session s").gives("[readcache: unchanged, 9 lines]");
    ws.run("session switch e8 --session s --json").gives("{\"leaf\":\"e8\",\"ok\":true,\"session\":\"s\"}\n");
}

#[test]
fn entries_may_be_named_by_number_alone() {
    let ws = compacted();
    ws.run("session branch 2 --session s").gives("session s goes on after e2\n");
    ws.run("session switch 2 --session s").gives("session s goes on after e5\n");
}

#[test]
fn a_fork_knows_what_its_branch_knew() {
    let ws = compacted();
    ws.run("session fork --session s").gives("s-fork\n");
    ws.run("read a.txt --session s-fork").gives("[readcache: unchanged, 9 lines]");
    ws.run("session fork --session s").gives("s-fork-2\n");
    ws.run("session fork e2 --as early --session s --json").gives("{\"ok\":true,\"session\":\"early\"}\n");
    ws.run("read a.txt --session early").gives("[readcache: unchanged, 9 lines]");
    ws.run("session fork e4 --as barren --session s").gives("barren\n");
    ws.run("read a.txt --session barren").gives(&numbered(9));
    ws.run("session list").gives("barren\nearly\ns\ns-fork\ns-fork-2\n");
}

#[test]
fn a_fork_goes_its_own_way() {
    let ws = compacted();
    ws.run("session fork --as t --session s").text();
    ws.run("session compact --session t").text();
    ws.run("read a.txt --session t").gives(&numbered(9));
    ws.run("read a.txt --session s").gives("[readcache: unchanged, 9 lines]");
}

#[test]
fn a_name_that_is_taken_is_refused() {
    let ws = compacted();
    ws.run("session fork --as s --session s").refused(1, &["session s exists already", "choose another name"]);
    ws.run("session fork --as ../x --session s").refused(2, &["`../x` is not a valid session name"]);
    ws.run("session list").gives("s\n");
}

#[test]
fn a_session_that_is_not_there() {
    let ws = compacted();
    for words in ["show", "branch e2", "branch root", "fork", "compact", "switch e2"] {
        let words = format!("session {words} --session none");
        ws.run(&words).refused(1, &["there is no session none", "readproof session list"]);
    }
    for words in ["status --session none", "refresh a.txt --session none"] {
        ws.run(words).refused(1, &["there is no session none"]);
    }
    let done = ws.run("session show --session none --json");
    assert!(done.code == Some(1) && done.out.contains("\"NO_SESSION\""), "{done:?}");
    ws.run("session list --json").gives("{\"ok\":true,\"sessions\":[\"s\"]}\n");
}

#[test]
fn an_entry_that_is_not_there() {
    let ws = compacted();
    for entry in ["e99", "e0", "e1", "18446744073709551615"] {
        for command in ["branch", "switch", "fork"] {
            let done = ws.run(&format!("session {command} {entry} --session s"));
            done.refused(1, &["session s has no entry", "readproof session show --session s"]);
        }
    }
    ws.run("session list").gives("s\n");
}

#[test]
fn an_entry_that_is_no_number() {
    let ws = compacted();
    for entry in ["x", "", "e", "2e", "e-2", "e2.5", "E2", "e99999999999999999999"] {
        for command in ["branch", "switch", "fork"] {
            let done = ws.run_args(&["session", command, entry, "--session", "s"]);
            done.refused(2, &[&format!("`{entry}` is no entry"), "as in e12"]);
        }
    }
    ws.run("session branch --session s").refused(2, &["<ENTRY>"]);
}

#[test]
fn a_refresh_makes_the_next_read_plain() {
    let ws = Workspace::with(&[("a.txt", &numbered(9))]);
    ws.read("a.txt");
    ws.run("refresh a.txt --session s").gives("the next read of a.txt (full) is plain text\n");
    assert_eq!(ws.read("a.txt"), numbered(9));
    assert_eq!(ws.read("a.txt"), "[readcache: unchanged, 9 lines]");
}

#[test]
fn a_refresh_of_lines_takes_only_those() {
    let ws = Workspace::with(&[("a.txt", &numbered(40))]);
    ws.read("a.txt");
    ws.run("refresh a.txt:10-20 --session s").gives("the next read of a.txt (r:10:20) is plain text\n");
    ws.run("read a.txt:1-9 --session s").gives("[readcache: unchanged in lines 1-9 of 40]");
    ws.run("read a.txt:21-40 --session s").gives("[readcache: unchanged in lines 21-40 of 40]");
    ws.run("read a.txt:20-21 --session s").gives("20\n21\n");
    assert_eq!(ws.read("a.txt"), numbered(40));
    assert_eq!(ws.read("a.txt"), "[readcache: unchanged, 40 lines]");
}

#[test]
fn a_refresh_by_offset_and_limit() {
    let ws = Workspace::with(&[("a.txt", &numbered(40))]);
    ws.read("a.txt");
    let done = ws.run("refresh a.txt --offset 10 --limit 11 --session s --json");
    done.gives("{\"entry\":\"e4\",\"ok\":true,\"paths\":[\"a.txt\"],\"scope\":\"r:10:20\"}\n");
    ws.run("read a.txt:9-9 --session s").gives("[readcache: unchanged in lines 9-9 of 40]");
    ws.run("read a.txt:10-10 --session s").gives("10\n");
}

#[test]
fn a_refresh_is_of_every_name_of_the_file() {
    let ws = Workspace::with(&[("a.txt", &numbered(9))]);
    ws.link("b.txt", "a.txt");
    ws.read("a.txt");
    ws.read("b.txt");
    ws.run("refresh b.txt --session s").gives("the next read of a.txt, b.txt (full) is plain text\n");
    assert_eq!(ws.read("a.txt"), numbered(9));
}

#[test]
fn a_refresh_that_is_refused() {
    let ws = Workspace::with(&[("a.txt", &numbered(9))]);
    ws.read("a.txt");
    ws.run("refresh b.txt --session s").refused(1, &["b.txt` does not exist", "did you mean a.txt?"]);
    ws.run("refresh ../b.txt --session s").refused(1, &["lies outside the workspace"]);
    ws.run("refresh a.txt:5-2 --session s").refused(1, &["range 5-2 is reversed"]);
    ws.run("refresh a.txt --offset 0 --session s").refused(2, &["--offset 0 is no line count"]);
    ws.run("refresh a.txt").refused(2, &["--session"]);
    ws.run("read a.txt --session s").gives("[readcache: unchanged, 9 lines]");
}
