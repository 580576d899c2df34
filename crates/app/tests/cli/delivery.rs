//! An answer counts only once it was written: closed pipes, full outputs, and concurrent processes.

use std::{fs::OpenOptions, io::pipe, process::Stdio};

use crate::workspace::{READPROOF, Workspace, finish, numbered, wait};

/// Nothing of `a.txt` is held, and then it is again.
#[track_caller]
fn plain_then_marker(ws: &Workspace) {
    assert!(ws.run("session show --session s").text().contains("not confirmed"));
    assert_eq!(ws.read("a.txt"), ws.get("a.txt"));
    assert!(ws.read("a.txt").starts_with("[readcache: unchanged, "));
}

#[test]
fn an_answer_into_a_closed_pipe_was_not_given() {
    for flags in ["", "--json"] {
        let ws = Workspace::with(&[("a.txt", &numbered(2000))]);
        let (reader, writer) = pipe().unwrap();
        drop(reader);
        let words = format!("read a.txt --session s {flags}");
        let done = finish(ws.command(READPROOF).args(words.split_whitespace()).stdout(writer));
        assert_eq!(done.code, Some(1), "{done:?}");
        plain_then_marker(&ws);
    }
}

/// As `readproof read a.txt | head -c 1`, with an answer larger than a pipe holds.
#[test]
fn an_answer_of_which_only_the_beginning_was_taken_was_not_given() {
    let ws = Workspace::with(&[("a.txt", &numbered(100_000))]);
    let script = "\"$@\" --set answer_lines=100000 --set answer_bytes=1000000 | head -c 1";
    let done = ws.shell(script, "read a.txt --session s");
    assert_eq!(done.out, "1");
    assert!(done.err.contains("the answer could not be written: Broken pipe"), "{done:?}");
    assert!(ws.run("session show --session s").text().contains("not confirmed"));
    let whole = "read a.txt --session s --set answer_lines=100000 --set answer_bytes=1000000";
    ws.run(whole).gives(&numbered(100_000));
    ws.run(whole).gives("[readcache: unchanged, 100000 lines]");
}

#[test]
fn an_answer_onto_a_full_disk_was_not_given() {
    let ws = Workspace::with(&[("a.txt", &numbered(40))]);
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let done = finish(ws.command(READPROOF).args(["read", "a.txt", "--session", "s"]).stdout(full));
    assert_eq!(done.code, Some(1), "{done:?}");
    assert!(done.err.contains("the answer could not be written: No space left"), "{done:?}");
    plain_then_marker(&ws);
}

#[test]
fn a_diff_that_was_not_given_voids_what_was_held() {
    let ws = Workspace::with(&[("a.txt", &numbered(40))]);
    ws.read("a.txt");
    ws.put("a.txt", numbered(40).replace("\n20\n", "\ntwenty\n"));
    let (reader, writer) = pipe().unwrap();
    drop(reader);
    let done = finish(ws.command(READPROOF).args(["read", "a.txt", "--session", "s"]).stdout(writer));
    assert_eq!(done.code, Some(1), "{done:?}");
    plain_then_marker(&ws);
}

#[test]
fn a_write_whose_result_was_not_given_is_not_known() {
    let ws = Workspace::with(&[("a.txt", &numbered(40))]);
    ws.read("a.txt");
    let (reader, writer) = pipe().unwrap();
    drop(reader);
    let words = ["edit", "a.txt", "--session", "s", "--old", "20", "--new", "twenty"];
    let done = finish(ws.command(READPROOF).args(words).stdout(writer));
    assert_eq!(done.code, Some(1), "{done:?}");
    plain_then_marker(&ws);
}

#[test]
fn a_closed_standard_error_is_no_failure() {
    let ws = Workspace::with(&[("a.txt", &numbered(5000))]);
    let (reader, writer) = pipe().unwrap();
    drop(reader);
    let done = finish(ws.command(READPROOF).args(["read", "a.txt", "--session", "s"]).stderr(writer));
    assert_eq!((done.code, done.out), (Some(0), numbered(2000)));
}

#[test]
fn eight_readers_at_once() {
    let ws = Workspace::with(&[("a.txt", &numbered(40))]);
    let answers = [numbered(40), "[readcache: unchanged, 40 lines]".to_owned()];
    for round in 0..20 {
        let spawn = |_| ws.command(READPROOF).args(["read", "a.txt", "--session", "s"]).spawn().unwrap();
        let children: Vec<_> = (0..8).map(spawn).collect();
        for child in children {
            let text = wait(child).text();
            assert!(answers.contains(&text), "round {round}: {text}");
        }
    }
    ws.run("read a.txt --session s").gives(&answers[1]);
    let counts = ws.counts();
    let total: u64 = counts.as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(total, 161, "{counts}");
}

#[test]
fn the_store_is_made_by_eight_at_once() {
    for _ in 0..10 {
        let ws = Workspace::with(&[("a.txt", &numbered(40))]);
        let spawn = |n| {
            let name = format!("s{}", n % 3);
            ws.command(READPROOF).args(["read", "a.txt", "--session", &name]).spawn().unwrap()
        };
        let children: Vec<_> = (0..8).map(spawn).collect();
        for child in children {
            let text = wait(child).text();
            assert!(text == numbered(40) || text.starts_with("[readcache: unchanged"), "{text}");
        }
        ws.run("session list").gives("s0\ns1\ns2\n");
        ws.run("read a.txt --session s1").gives("[readcache: unchanged, 40 lines]");
    }
}

#[test]
fn readers_writers_and_movers_at_once() {
    let ws = Workspace::with(&[("a.txt", &numbered(40))]);
    ws.read("a.txt");
    let mut children = Vec::new();
    for n in 0..5 {
        for words in ["read a.txt", "session branch e2", "session compact", "refresh a.txt"] {
            let mut command = ws.command(READPROOF);
            command.args(words.split_whitespace()).args(["--session", "s"]);
            children.push(command.spawn().unwrap());
        }
        let mut write = ws.command(READPROOF);
        write.args(["write", &format!("b{n}.txt"), "--session", "s"]).stdin(Stdio::null());
        children.push(write.spawn().unwrap());
    }
    for child in children {
        let done = wait(child);
        assert_eq!((done.code, done.err.as_str()), (Some(0), ""), "{done:?}");
    }
    ws.run("session compact --session s").text();
    assert_eq!(ws.read("a.txt"), numbered(40));
    assert_eq!(ws.read("a.txt"), "[readcache: unchanged, 40 lines]");
}
