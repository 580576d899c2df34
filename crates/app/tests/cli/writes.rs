//! Writes and edits by the agent: what is written is held, and a refused write leaves the file unchanged.

use std::fs;

use readproof_core::text::ContentHash;

use crate::workspace::{Done, Workspace, numbered};

#[test]
fn what_was_written_is_known() {
    let ws = Workspace::new();
    ws.feed("write a.txt --session s", numbered(9)).gives("wrote a.txt: 18 bytes, 9 lines\n");
    assert_eq!(ws.get("a.txt"), numbered(9));
    ws.run("read a.txt --session s").gives("[readcache: unchanged, 9 lines]");
    ws.run("read a.txt:3-4 --session s").gives("[readcache: unchanged in lines 3-4 of 9]");
    ws.run("read a.txt --session other").gives(&numbered(9));
}

#[test]
fn what_was_edited_is_known() {
    let ws = Workspace::with(&[("a.txt", &numbered(40))]);
    ws.read("a.txt");
    ws.run("edit a.txt --session s --old 20 --new twenty").gives("edited a.txt: lines 20-20 are now 20-20; 40 lines\n");
    assert_eq!(ws.get("a.txt"), numbered(40).replace("\n20\n", "\ntwenty\n"));
    ws.run("read a.txt --session s").gives("[readcache: unchanged, 40 lines]");
}

#[test]
fn all_places_are_edited_and_stated() {
    let ws = Workspace::with(&[("a.txt", &numbered(40))]);
    ws.read("a.txt");
    ws.run("edit a.txt --session s --old 3 --new three").refused(1, &["occurs 14 times", "--all to change every one"]);
    let said = "edited a.txt: lines 3-3 are now 3-3, 13-13 are now 13-13, 23-23 are now 23-23, 30-39 are now 30-39; 40 lines\n";
    ws.run("edit a.txt --session s --old 3 --new three --all").gives(said);
    assert_eq!(ws.get("a.txt"), numbered(40).replace('3', "three"));
    ws.run("read a.txt --session s").gives("[readcache: unchanged, 40 lines]");
}

/// What someone else wrote is never lost: it is stored before it is replaced, and a replay reports it.
#[test]
fn what_a_write_replaces_is_kept() {
    let ws = Workspace::with(&[("a.txt", &numbered(40))]);
    ws.read("a.txt");
    ws.put("a.txt", "someone else's\n");
    ws.feed("write a.txt --session s --force", numbered(9)).text();
    let text = ws.run("replay --verify s").text();
    assert!(text.contains("1 writes: 1 verified"), "{text}");
    assert!(text.contains("a.txt: someone else had changed the file: it was sha256-"), "{text}");
    let json = ws.run("replay --verify s --json").json();
    assert_eq!(json["sessions"][0]["outside_changes"][0]["code"], "outside_change");
    // Without a change in between, there is nothing to report.
    ws.feed("write a.txt --session s", numbered(8)).text();
    let json = ws.run("replay --verify s --json").json();
    assert_eq!(json["sessions"][0]["outside_changes"].as_array().map(Vec::len), Some(1));
}

#[test]
fn what_cannot_be_kept_is_not_replaced() {
    let ws = Workspace::new();
    fs::write(ws.path("a.bin"), b"\xff\x00").unwrap();
    ws.feed("write a.bin --session s", "text\n")
        .refused(1, &["could not be kept", "Move it elsewhere or delete it first"]);
    assert_eq!(fs::read(ws.path("a.bin")).unwrap(), b"\xff\x00");
}

#[test]
fn an_edit_of_a_file_never_read_vouches_for_nothing() {
    let ws = Workspace::with(&[("a.txt", &numbered(40))]);
    ws.run("edit a.txt --session s --old 20 --new twenty").text();
    assert_eq!(ws.read("a.txt"), ws.get("a.txt"));
}

/// By default a marker stands only for longer text.
#[test]
fn a_marker_is_never_longer_than_its_text() {
    let ws = Workspace::new();
    ws.feed("write a.txt --session s", numbered(13)).text();
    ws.run("read a.txt --session s --set markers=shorter").gives(&numbered(13));
    ws.feed("write a.txt --session s", numbered(14)).text();
    ws.run("read a.txt --session s --set markers=shorter").gives("[readcache: unchanged, 14 lines]");
    let json = ws.run("read a.txt:3-9 --session s --set markers=shorter --json").json();
    assert_eq!((&json["mode"], &json["reason"]), (&"baseline_fallback".into(), &"marker_not_shorter".into()));
    assert_eq!(ws.run("replay --verify --json").json()["ok"], true);
}

#[test]
fn an_outside_edit_after_an_own_write_is_a_diff() {
    let ws = Workspace::new();
    ws.feed("write a.txt --session s", numbered(40)).text();
    ws.put("a.txt", numbered(40).replace("\n20\n", "\ntwenty\n"));
    assert!(ws.read("a.txt").contains("\n-20\n+twenty\n"));
}

#[test]
fn with_answers_seed_own_writes_do_not_count() {
    let ws = Workspace::new();
    ws.feed("write a.txt --session s", numbered(9)).text();
    ws.run("read a.txt --session s --set answers=seed").gives(&numbered(9));
}

#[test]
fn the_json_of_a_write() {
    let ws = Workspace::new();
    let done = ws.feed("write a.txt --session s --json", "x\ny").json();
    assert_eq!((&done["success"], &done["conflict"], &done["version_id"]), (&true.into(), &false.into(), &"v2".into()));
    assert_eq!((&done["text"], &done["session"]), (&"wrote a.txt: 3 bytes, 2 lines".into(), &"s".into()));
    let file = &done["files"][0];
    assert_eq!((&file["path"], &file["bytes"], &file["lines"]), (&"a.txt".into(), &3.into(), &2.into()));
    assert_eq!((&file["before"], file["after"].as_str().map(str::len)), (&serde_json::Value::Null, Some(64)));
    let done = ws.run("edit a.txt --session s --old x --new z\\nz --json").json();
    let file = &done["files"][0];
    assert_eq!((&file["replaced"], file["lines"].as_u64()), (&serde_json::json!([[1, 1, 1]]), Some(2)));
    assert_eq!(done["diff"].as_str().map(|diff| diff.contains("\n-x\n")), Some(true), "{done}");
}

#[test]
fn every_byte_that_comes_in_is_written() {
    let ws = Workspace::new();
    for text in ["", "x", "\u{feff}a\r\nb\r", "  \n\n\t", "\u{2028}é😀\n"] {
        ws.feed("write a.txt --session s", text).text();
        assert_eq!(ws.get("a.txt"), text);
    }
}

#[test]
fn a_write_makes_the_folders() {
    let ws = Workspace::new();
    ws.feed("write new/folder/a.txt --session s", "a\n").gives("wrote new/folder/a.txt: 2 bytes, 1 lines\n");
    assert_eq!(ws.get("new/folder/a.txt"), "a\n");
    ws.run("read new/folder/a.txt --session s").gives("[readcache: unchanged, 1 lines]");
}

#[test]
fn a_write_through_a_link_keeps_the_link() {
    let ws = Workspace::with(&[("folder/target.txt", "old\n")]);
    ws.link("link.txt", "folder/target.txt");
    ws.feed("write link.txt --session s --force", "new\n").gives("wrote link.txt: 4 bytes, 1 lines\n");
    assert_eq!(fs::read_link(ws.path("link.txt")).unwrap().to_str(), Some("folder/target.txt"));
    assert_eq!(ws.get("folder/target.txt"), "new\n");
}

#[test]
fn permissions_are_kept() {
    let ws = Workspace::with(&[("a.sh", "old\n")]);
    for mode in [0o755, 0o600, 0o444, 0o666] {
        ws.chmod("a.sh", mode);
        if mode & 0o200 == 0 && !ws.is_root() {
            continue;
        }
        ws.feed("write a.sh --session s --force", format!("{mode}\n")).text();
        assert_eq!(ws.mode("a.sh"), mode);
    }
}

#[test]
fn a_write_leaves_nothing_beside_the_file() {
    let ws = Workspace::with(&[("a.txt", "old\n")]);
    ws.feed("write a.txt --session s --force", "new\n").text();
    ws.run("edit a.txt --session s --old new --new newer").text();
    ws.feed("write . --session s", "x").refused(1, &["`.` is a directory"]);
    assert_eq!(ws.names(), [".readproof", "a.txt"]);
}

#[test]
fn what_is_no_text_is_not_written() {
    let ws = Workspace::with(&[("a.txt", "old\n")]);
    ws.read("a.txt");
    let broken = ws.feed("write a.txt --session s", b"caf\xe9");
    broken.refused(1, &["the content is not valid UTF-8 from byte 3 on"]);
    ws.feed("write a.txt --session s", b"a\0b").refused(1, &["`a.txt` is not text", "NUL byte at offset 1"]);
    let json = ws.feed("write a.txt --session s --json", b"\xff");
    assert_eq!(json.code, Some(1));
    assert!(json.out.contains("\"NOT_TEXT\""), "{json:?}");
    assert_eq!(ws.get("a.txt"), "old\n");
    ws.run("read a.txt --session s").gives("[readcache: unchanged, 1 lines]");
}

#[test]
fn writes_that_are_refused_change_nothing() {
    let ws = Workspace::with(&[("a.txt", "old\n"), ("folder/x", "x\n")]);
    fs::write(ws.top().join("beside"), "beside\n").unwrap();
    ws.link("out", "../beside");
    ws.link("loop", "loop");
    ws.put("repo/.git/config", "[core]\n");
    ws.link("to_git", "repo/.git/config");
    ws.link("to_folder", "repo/.git");
    ws.put("sub/.git", "gitdir: ../repo/.git\n");
    let outside = "lies outside the workspace";
    for (name, word) in [
        ("../beside", outside),
        ("/etc/readproof-test", outside),
        ("out", "link out of the workspace"),
        ("loop", "links in a circle"),
        ("folder", "`folder` is a directory"),
        ("a.txt/below", "check the parents"),
        (".readproof/format", "readproof's store"),
        (".READPROOF/format", "readproof's store"),
        (".git/config", "`.git/config` belongs to git"),
        (".git", "belongs to git"),
        (".GIT/hooks/pre-commit", "belongs to git"),
        ("deep/er/.Git/config", "belongs to git"),
        ("to_git", "belongs to git"),
        ("to_folder/config", "belongs to git"),
        ("sub/.git", "belongs to git"),
    ] {
        ws.feed(&format!("write {name} --session s"), "new\n").refused(1, &[word]);
    }
    let edit = ["edit", "--session", "s", "to_git", "--old", "core", "--new", "alias"];
    ws.run_args(&edit).refused(1, &["belongs to git"]);
    assert_eq!(ws.get("repo/.git/config"), "[core]\n");
    assert!(!ws.path(".git").exists() && !ws.path("deep").exists());
    let capped = ws.feed("write a.txt --session s --set file_bytes=3", "new\n");
    capped.refused(1, &["has 4 bytes, more than the 3"]);
    let capped = ws.feed("write new.txt --session s --set file_bytes=3", "new\n");
    capped.refused(1, &["4 bytes are more than", "(3)", "raise `file_bytes`"]);
    ws.feed("write a.txt", "new\n").refused(1, &["has not shown all of it"]);
    assert_eq!((ws.get("a.txt"), ws.get("folder/x")), ("old\n".to_owned(), "x\n".to_owned()));
    assert_eq!(fs::read_to_string(ws.top().join("beside")).unwrap(), "beside\n");
}

#[test]
fn what_is_written_is_limited_by_call_and_by_conversation() {
    let ws =
        Workspace::with(&[("a.txt", "x x x x x x x x\n"), ("b.txt", "b\n"), ("long.txt", "0123456789 0123456789\n")]);
    ws.put("readproof.toml", "write_bytes = 10\nwrite_files = 1\nwrite_calls = 3\n");
    let refused = |done: Done, word: &str| done.refused(1, &[word, "nothing was changed"]);
    refused(
        ws.feed("write new.txt --session s", "eleven byte"),
        "writes 11 bytes, and one call may write 10 (`write_bytes`)",
    );
    let grows = ["edit", "a.txt", "--session", "s", "--old", "x", "--new", "abc", "--all"];
    refused(ws.run_args(&grows), "writes 16 bytes");
    let patch = "*** Begin Patch\n*** Add File: c.txt\n+c\n*** Update File: b.txt\n@@\n-b\n+d\n*** End Patch\n";
    refused(ws.feed("patch --session s", patch), "changes 2 files, and one call may change 1 (`write_files`)");
    assert!(!ws.path("new.txt").exists() && !ws.path("c.txt").exists());
    // A small change of a long file is small, and a move brings nothing.
    ws.run_args(&["edit", "long.txt", "--session", "s", "--old", " ", "--new", "_"]).text();
    ws.run("move b.txt to.txt --session s").text();
    ws.run_args(&["edit", "long.txt", "--session", "s", "--old", "_", "--new", " "]).text();
    refused(
        ws.feed("write new.txt --session s", "n\n"),
        "has changed files 3 times, which is as often as it may (`write_calls`)",
    );
    let told = ws.feed("write new.txt --session s --json", "n\n");
    assert!(told.out.contains("BUDGET_EXCEEDED"), "{told:?}");
    assert!(!ws.path("new.txt").exists());
    ws.feed("write new.txt --session other", "n\n").text();
}

#[test]
fn a_line_that_moved_is_not_taken_for_the_one_that_was_read() {
    let lines = |moved: usize| -> String {
        let mut all: Vec<String> = (1..=20).map(|n| format!("line {n}\n")).collect();
        (all[2], all[16]) = ("\n".to_owned(), "\n".to_owned());
        all.insert(moved, "moves\n".to_owned());
        all.concat()
    };
    let ws = Workspace::with(&[("a.txt", &lines(2))]);
    ws.read("a.txt");
    // Someone moves the line to another blank line, where nothing was shown since.
    ws.put("a.txt", lines(16));
    ws.run("read a.txt:19-21 --session s")
        .gives("[readcache: unchanged in lines 19-21; changes exist outside this range]");
    let patch = "--- a/a.txt\n+++ b/a.txt\n@@\n-moves\n-\n+moves\n+\n+more\n@@\n \n-line 18\n+LINE 18\n line 19\n";
    ws.feed("patch --session s", patch).refused(1, &["has another text than the call is for", "nothing was changed"]);
    assert_eq!(ws.get("a.txt"), lines(16));
}

#[test]
fn a_text_that_was_held_twice_is_not_looked_for_elsewhere() {
    let lines = |of: &[(usize, &str)]| -> String {
        let word =
            |n| of.iter().find(|(at, _)| *at == n).map_or_else(|| format!("line {n}"), |(_, word)| (*word).to_owned());
        (1..=40).map(|n| word(n) + "\n").collect()
    };
    let ws = Workspace::with(&[("a.txt", &lines(&[(5, "target")]))]);
    ws.read("a.txt");
    ws.put("a.txt", lines(&[(5, "target"), (30, "other")]));
    ws.run("read a.txt:3-12 --session s")
        .gives("[readcache: unchanged in lines 3-12; changes exist outside this range]");
    let now = lines(&[(20, "target"), (30, "other")]);
    ws.put("a.txt", &now);
    let edit = ["edit", "a.txt", "--session", "s", "--old", "target", "--new", "EDITED"];
    ws.run_args(&edit).refused(1, &["someone else changed the same lines"]);
    assert_eq!(ws.get("a.txt"), now);
}

#[test]
fn edits_that_are_refused_change_nothing() {
    let ws = Workspace::with(&[("a.txt", "one\ntwo\ntwo\naaa\n")]);
    ws.read("a.txt");
    let edit = |old: &str| ws.run_args(&["edit", "a.txt", "--session", "s", "--old", old, "--new", "x"]);
    edit("two").refused(1, &["a.txt: the old text occurs 2 times", "add lines around the one that is meant"]);
    edit("aa").refused(1, &["a.txt: the old text occurs 2 times"]);
    edit("three").refused(1, &["a.txt: the old text does not occur", "search for a line of it"]);
    edit("").refused(1, &["a.txt: the old text is empty", "write the whole file"]);
    ws.run("edit b.txt --session s --old x --new y").refused(1, &["b.txt", "does not exist"]);
    assert_eq!(ws.get("a.txt"), "one\ntwo\ntwo\naaa\n");
    ws.run("read a.txt --session s").gives("[readcache: unchanged, 4 lines]");
}

#[test]
fn no_refusal_names_the_hash_of_a_secret() {
    let ws = Workspace::with(&[(".env", "TOKEN=hunter2\n"), ("a.txt", "TOKEN=other\n")]);
    // The text of the other file is stored, and no base for this one.
    ws.read("a.txt");
    let sha = |name: &str| ContentHash::of(ws.get(name).as_bytes()).to_string();
    let secret = sha(".env");
    for expected in ["0".repeat(64), sha("a.txt")] {
        let edit =
            ["edit", ".env", "--set", "policy_preset=open", "--expect", &expected, "--old", "TOKEN", "--new", "KEY"];
        for flag in [&[][..], &["--json"]] {
            let answer = ws.run_args(&[&edit, flag].concat());
            assert!(!answer.out.contains(&secret) && !answer.err.contains(&secret), "{answer:?}");
            assert_eq!(answer.code, Some(1), "{answer:?}");
        }
    }
    let open = ["edit", ".env", "--set", "policy_preset=open"];
    ws.run_args(&[&open[..], &["--expect", &secret, "--old", "TOKEN", "--new", "KEY"]].concat()).text();
    assert_eq!(ws.get(".env"), "KEY=hunter2\n");
}

#[test]
fn an_edit_for_a_named_text_that_is_gone_stands_there_to_the_byte() {
    let ws = Workspace::with(&[("a.txt", "one \ntwo\nthree\nfour\n")]);
    ws.read("a.txt");
    let named = ContentHash::of(ws.get("a.txt").as_bytes()).to_string();
    let now = "one \ntwo\nthree\nfour\nfive\n";
    ws.put("a.txt", now);
    let edit = |old: &str| ws.run_args(&["edit", "a.txt", "--expect", &named, "--old", old, "--new", "1\n2\n"]);
    // A text that only resembles one that is gone may have been written for another.
    edit("one\ntwo\n").refused(1, &["a.txt"]);
    assert_eq!(ws.get("a.txt"), now);
    edit("one \ntwo\n").text();
    assert_eq!(ws.get("a.txt"), "1\n2\nthree\nfour\nfive\n");
}

#[test]
fn a_text_of_another_file_is_no_base() {
    let ws = Workspace::with(&[("a.txt", "one\nbeside\ntwo\ntwo\ntwo\n"), ("b.txt", "one\ntwo\ntwo\ntwo\n")]);
    ws.read("a.txt");
    ws.read("b.txt");
    let named = ContentHash::of(ws.get("b.txt").as_bytes()).to_string();
    let before = ws.get("a.txt");
    for more in [&["--session", "s"][..], &[]] {
        let words = [&["edit", "a.txt", "--expect", &named, "--old", "one\ntwo\n", "--new", "1\n"][..], more].concat();
        ws.run_args(&words).refused(1, &["a.txt"]);
        assert_eq!(ws.get("a.txt"), before);
    }
}

#[test]
fn an_edit_takes_what_looks_like_a_flag() {
    let ws = Workspace::with(&[("a.txt", "--old\n-x\n")]);
    ws.run_args(&["edit", "a.txt", "--session", "s", "--old", "-x\n", "--new", "--json\n"]).text();
    assert_eq!(ws.get("a.txt"), "--old\n--json\n");
}

#[test]
fn a_write_into_a_damaged_log_is_refused_and_the_file_untouched() {
    let ws = Workspace::with(&[("a.txt", "old\n")]);
    ws.read("a.txt");
    let log = ws.get(".readproof/log/s.log").replacen("answer", "Answer", 1);
    ws.put(".readproof/log/s.log", log);
    ws.feed("write a.txt --session s", "new\n").refused(1, &["the log of session `s` is damaged"]);
    assert_eq!(ws.get("a.txt"), "old\n");
}

#[test]
fn hard_links_can_be_refused() {
    let ws = Workspace::with(&[("a.txt", "old\n")]);
    fs::hard_link(ws.path("a.txt"), ws.path("b.txt")).unwrap();
    ws.run("read b.txt --set hard_links=refuse").refused(1, &["`b.txt` is one of 2 hard links"]);
    ws.feed("write b.txt --session s --set hard_links=refuse", "new\n").refused(1, &["`b.txt` is one of 2 hard links"]);
    ws.run("read b.txt").gives("old\n");
}
