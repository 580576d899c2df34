//! Invalid requests: each gets a message with the value and a next step, exit code 1 or 2, the same as JSON, and
//! nothing is recorded as shown. A NUL in a name cannot be tested here, as no process argument can contain one.

use std::{fs, os::unix::net::UnixListener, process::Command};

use crate::workspace::{Done, READPROOF, Workspace, finish, numbered};

/// A workspace whose session `s` has read `good.txt`, with everything that invalid requests can name.
fn hostile() -> Workspace {
    let ws = Workspace::with(&[("good.txt", &numbered(40)), ("folder/inner.txt", "inner\n"), ("binary", "a\0b\n")]);
    ws.put("broken", b"caf\xe9\n");
    fs::write(ws.top().join("secret"), "secret\n").unwrap();
    ws.link("out", ws.top().join("secret"));
    ws.link("relative_out", "../secret");
    ws.link("folder_out", "..");
    ws.link("loop", "pool");
    ws.link("pool", "loop");
    ws.link("dangling", "nothing");
    assert_eq!(ws.read("good.txt"), numbered(40));
    ws
}

/// The same refusal as text and as JSON, and nothing in the session but its first read.
#[track_caller]
fn refused(ws: &Workspace, args: &[&str], exit: i32, code: &str, words: &[&str]) {
    let with = |more: &[&str]| ws.run_args(&[&["read", "--session", "s"], more, args].concat());
    let text = with(&[]);
    let message = text.err.trim_end().trim_start_matches("readproof: ").to_owned();
    text.refused(exit, words);
    as_json(with(&["--json"]), exit, code, &message);
    assert_eq!(ws.counts(), serde_json::json!({"full": 1}), "{args:?}");
    let status = ws.run("status --session s --json").json();
    assert_eq!(status["status"]["files"].as_array().unwrap().len(), 1, "{args:?}");
}

#[track_caller]
fn as_json(done: Done, exit: i32, code: &str, message: &str) {
    assert_eq!((done.code, done.err.as_str()), (Some(exit), ""), "{done:?}");
    let object: serde_json::Value = serde_json::from_str(&done.out).unwrap();
    let expected = serde_json::json!({"ok": false, "error": {"code": code, "message": message}});
    assert_eq!(object, expected);
}

#[test]
fn names_that_lead_to_no_file() {
    let ws = hostile();
    refused(&ws, &["goood.txt"], 1, "NOT_FOUND", &["goood.txt` does not exist", "did you mean good.txt?"]);
    refused(&ws, &["GOOD.TXT"], 1, "NOT_FOUND", &["did you mean good.txt?"]);
    refused(&ws, &["folder/iner.txt"], 1, "NOT_FOUND", &["did you mean folder/inner.txt?"]);
    refused(&ws, &["nothing/like/it"], 1, "NOT_FOUND", &["nothing/like/it` does not exist", "check the name"]);
    refused(&ws, &["good.txt/below"], 1, "NOT_FOUND", &["good.txt/below` does not exist"]);
    refused(&ws, &["dangling"], 1, "NOT_FOUND", &["dangling` does not exist"]);
    refused(&ws, &["folder"], 1, "NOT_A_FILE", &["`folder` is a directory", "name a regular file"]);
    refused(&ws, &["."], 1, "NOT_A_FILE", &["`.` is a directory"]);
    refused(&ws, &[""], 2, "EMPTY_PATH", &["the path is empty", "readproof read src/main.rs"]);
    let long = "n".repeat(10_000);
    refused(&ws, &[&long], 1, "BAD_PATH", &["too long (10000 bytes", "use a shorter one"]);
    let deep = "d/".repeat(5_000);
    refused(&ws, &[&deep], 1, "BAD_PATH", &["too long", "use a shorter one"]);
}

#[test]
fn names_that_lead_out() {
    let ws = hostile();
    let top = ws.top().display().to_string();
    let outside = ["lies outside the workspace", "only names inside it can be used"];
    refused(&ws, &[".."], 1, "OUTSIDE_WORKSPACE", &outside);
    refused(&ws, &["../secret"], 1, "OUTSIDE_WORKSPACE", &["/secret` lies outside", outside[1]]);
    refused(&ws, &["folder/../../secret"], 1, "OUTSIDE_WORKSPACE", &outside);
    refused(&ws, &["../../../../../../etc/passwd"], 1, "OUTSIDE_WORKSPACE", &["`/etc/passwd` lies outside"]);
    refused(&ws, &["/etc/passwd"], 1, "OUTSIDE_WORKSPACE", &["`/etc/passwd` lies outside", outside[1]]);
    refused(&ws, &["file:///etc/passwd"], 1, "OUTSIDE_WORKSPACE", &["`/etc/passwd` lies outside"]);
    refused(&ws, &["~/x"], 1, "OUTSIDE_WORKSPACE", &["/home/x` lies outside"]);
    refused(&ws, &[&format!("{top}/ws-beside")], 1, "OUTSIDE_WORKSPACE", &["/ws-beside` lies outside"]);
    for link in ["out", "relative_out", "folder_out/secret"] {
        refused(&ws, &[link], 1, "OUTSIDE_WORKSPACE", &[link, "link out of the workspace", "name a file inside it"]);
    }
    refused(&ws, &["loop"], 1, "BAD_PATH", &["`loop` leads through links in a circle", "name the file itself"]);
}

#[test]
fn ranges_that_mean_nothing() {
    let ws = hostile();
    refused(&ws, &["good.txt:20-10"], 1, "BAD_RANGE", &["good.txt: range 20-10 is reversed", "try 10-20"]);
    refused(&ws, &["good.txt:0"], 1, "BAD_RANGE", &["good.txt: line 0", "counted from 1"]);
    refused(&ws, &["good.txt:0-5"], 1, "BAD_RANGE", &["good.txt: line 0", "counted from 1"]);
    refused(&ws, &["good.txt:41"], 1, "BAD_RANGE", &["offset 41 is beyond the end", "(40 lines total)", "at most 40"]);
    refused(&ws, &["good.txt:41-50"], 1, "BAD_RANGE", &["offset 41 is beyond the end"]);
    refused(&ws, &["good.txt:99999999999999999999"], 1, "BAD_RANGE", &["`99999999999999999999` is not a line number"]);
    for range in ["ten", "-5", "5-", "1-2-3", "1-x", ""] {
        let words = ["good.txt: ", &format!("`{range}` is not a line number"), "as in `10` or `10-20`"];
        refused(&ws, &[&format!("good.txt:{range}")], 1, "BAD_RANGE", &words);
    }
    let huge = u64::MAX.to_string();
    refused(&ws, &["good.txt", "--offset", &huge], 1, "BAD_RANGE", &[&huge, "beyond the end", "at most 40"]);
    refused(&ws, &["good.txt", "--offset", "4294967297"], 1, "BAD_RANGE", &["4294967297", "beyond the end"]);
    for flag in ["--offset", "--limit"] {
        for value in ["0", "-1", "ten", "", "1.5", "0x10", "99999999999999999999", "1 "] {
            let said = format!("{flag} {value} is no line count");
            refused(&ws, &["good.txt", flag, value], 2, "USAGE", &[&said, "a whole number from 1 on"]);
        }
    }
}

/// `--offset +5` is not only digits either.
#[test]
fn a_sign_is_no_line_count() {
    let ws = hostile();
    refused(&ws, &["good.txt", "--offset", "+5"], 2, "USAGE", &["--offset +5 is no line count"]);
}

#[test]
fn ranges_beyond_the_end_are_clamped_where_they_begin_inside() {
    let ws = hostile();
    ws.run("read good.txt:39-99").gives("39\n40\n");
    ws.run(&format!("read good.txt:39-{}", u64::MAX)).gives("39\n40\n");
    ws.run(&format!("read good.txt --offset 40 --limit {}", u64::MAX)).gives("40\n");
}

/// A name of 250 characters is valid; with `:10-20` after it, it would be too long.
#[test]
fn lines_of_a_file_with_a_long_name() {
    let ws = Workspace::new();
    let name = "n".repeat(250);
    ws.put(&name, numbered(40));
    ws.run(&format!("read {name}:10-11")).gives("10\n11\n");
}

#[test]
fn what_is_no_text() {
    let ws = hostile();
    let tool = "use a tool for binary files";
    refused(&ws, &["binary"], 1, "NOT_TEXT", &["`binary` is not text", "NUL byte at offset 1", tool]);
    ws.put("noise", b"\x01\x02 \xff\xfe\x80\x9d\n");
    refused(&ws, &["noise"], 1, "NOT_TEXT", &["`noise` is not text", "not valid UTF-8 from byte 3 on", tool]);
    // Text in another encoding is decoded and says so; it never counts as held.
    for _ in 0..2 {
        assert_eq!(ws.run("read broken --session s").noticed(&["decoded from windows-1252"]), "caf\u{e9}\n");
    }
    ws.put("broken", "caf\u{e9}\n");
    assert_eq!(ws.read("broken"), "caf\u{e9}\n", "once it is UTF-8 it is plain first");
}

#[test]
fn a_file_over_the_cap() {
    let ws = hostile();
    let cap = ["good.txt", "--set", "file_bytes=110"];
    refused(&ws, &cap, 1, "TOO_LARGE", &["`good.txt` has 111 bytes, more than the 110", "raise the limit"]);
    let exact = ws.run("read good.txt --session s --set file_bytes=111");
    exact.gives("[readcache: unchanged, 40 lines]");
}

#[test]
fn what_is_no_file_is_refused_without_waiting() {
    let ws = hostile();
    let made = finish(ws.command("mkfifo").arg("pipe"));
    assert_eq!(made.code, Some(0), "{made:?}");
    let _socket = UnixListener::bind(ws.path("socket")).unwrap();
    refused(&ws, &["pipe"], 1, "NOT_A_FILE", &["`pipe` is a named pipe", "name a regular file"]);
    refused(&ws, &["socket"], 1, "NOT_A_FILE", &["`socket` is a socket", "name a regular file"]);
    let device = ws.run("read null --workspace /dev");
    device.refused(1, &["`null` is a character device", "name a regular file"]);
    ws.feed("write pipe --session s", "x").refused(1, &["`pipe` is a named pipe"]);
}

/// Permissions do not apply to root, so root runs it as `nobody`. Without `setpriv` this cannot be tested.
#[test]
fn what_may_not_be_read() {
    let ws = hostile();
    ws.put("closed.txt", "closed\n");
    ws.put("shut/inside.txt", "inside\n");
    ws.chmod("closed.txt", 0o000);
    ws.chmod("shut", 0o000);
    let Some(run) = unprivileged(&ws) else { return };
    for (name, said) in [("closed.txt", "this user may not read"), ("shut/inside.txt", "this user may not look at")] {
        let text = finish(run(&ws).args(["read", name]));
        let message = text.err.trim_end().trim_start_matches("readproof: ").to_owned();
        text.refused(1, &[name, said, "change"]);
        as_json(finish(run(&ws).args(["read", name, "--json"])), 1, "DENIED", &message);
    }
    let out = finish(run(&ws).args(["read", "good.txt", "--session", "s"]));
    assert_eq!(out.noticed(if ws.is_root() { &["this user may not use `.readproof`"] } else { &[] }), {
        if ws.is_root() { numbered(40) } else { "[readcache: unchanged, 40 lines]".to_owned() }
    });
    ws.chmod("shut", 0o700);
}

/// A command that runs the binary as an unprivileged user: a copy of it, as the original may be in a folder of root's.
fn unprivileged(ws: &Workspace) -> Option<fn(&Workspace) -> Command> {
    if !ws.is_root() {
        return Some(|ws| ws.command(READPROOF));
    }
    use std::os::unix::fs::PermissionsExt;
    fs::copy(READPROOF, ws.top().join("copy")).unwrap();
    fs::set_permissions(ws.top(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::create_dir(ws.top().join("nobodys")).unwrap();
    std::os::unix::fs::chown(ws.top().join("nobodys"), Some(65534), Some(65534)).unwrap();
    let nobody: fn(&Workspace) -> Command = |ws| {
        let mut command = ws.command("setpriv");
        command.env("READPROOF_STATE_DIR", ws.top().join("nobodys"));
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(ws.top().join("copy"));
        command
    };
    let works = nobody(ws).arg("--version").output().is_ok_and(|output| output.status.success());
    works.then_some(nobody)
}

#[test]
fn session_names_that_are_none() {
    let ws = hostile();
    let long = "s".repeat(65);
    for name in ["", ".", "..", "../s", "a/b", "a b", ".hidden", "ü", "a\nb", "*", &long] {
        let words = ["is not a valid session name", "1 to 64 letters"];
        ws.run_args(&["read", "good.txt", "--session", name]).refused(2, &words);
        let done = ws.run_args(&["read", "good.txt", "--json", "--session", name]);
        assert_eq!(done.code, Some(2));
        assert!(done.out.contains("\"BAD_SESSION_NAME\""), "{done:?}");
    }
    ws.run("read good.txt --session=-x").refused(2, &["`-x` is not a valid session name"]);
    ws.run("read good.txt --session -x").refused(2, &["-x"]);
    ws.run("session list").gives("s\n");
    ws.run(&format!("read good.txt --session {}", "s".repeat(64))).gives(&numbered(40));
}

#[test]
fn a_file_that_was_refused_is_plain_when_it_can_be_read() {
    let ws = hostile();
    ws.run("read later.txt --session s").refused(1, &["does not exist"]);
    ws.put("later.txt", numbered(12));
    ws.run("read later.txt:13 --session s").refused(1, &["beyond the end"]);
    ws.run("read later.txt --session s --set file_bytes=3").refused(1, &["more than the 3"]);
    assert_eq!(ws.read("later.txt"), numbered(12));
}

#[test]
fn a_refused_read_makes_no_store_and_no_session() {
    let ws = Workspace::with(&[("a.txt", "a\n")]);
    ws.run("read b.txt --session s").refused(1, &["did you mean a.txt?"]);
    ws.run("read a.txt:9 --session s").refused(1, &["beyond the end"]);
    ws.run("read a.txt --session .").refused(2, &["not a valid session name"]);
    assert_eq!(ws.names(), ["a.txt"]);
    ws.run("status --session s").refused(1, &["there is no session s", "session list"]);
}

#[test]
fn what_cannot_be_parsed_exits_with_2() {
    let ws = Workspace::with(&[("a.txt", "a\n")]);
    for words in
        ["read", "read a.txt b.txt", "read --bogus a.txt", "read a.txt --session", "bogus", "session bogus", "-x"]
    {
        ws.run(words).refused(2, &["--help"]);
    }
    ws.run("").refused(2, &["Usage: readproof"]);
}
