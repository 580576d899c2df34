//! Paths as models write them, and files with unusual names.

use crate::workspace::{Workspace, numbered};

/// `typed` leads to `real`.
#[track_caller]
fn leads(ws: &Workspace, typed: &str, real: &str) {
    let answer = ws.run_args(&["read", "--json", "--", typed]).json();
    assert_eq!(answer["path"], real, "{typed}");
    assert_eq!(answer["text"], ws.get(real));
}

#[test]
fn prefixes_and_urls() {
    let ws = Workspace::with(&[("a.txt", "a\n"), ("sub/b c.txt", "b\n")]);
    let root = ws.path("").display().to_string();
    leads(&ws, "@a.txt", "a.txt");
    leads(&ws, "./a.txt", "a.txt");
    leads(&ws, "sub/../a.txt", "a.txt");
    leads(&ws, "no/such/../../a.txt", "a.txt");
    leads(&ws, "../ws/a.txt", "a.txt");
    leads(&ws, "//a.txt".trim_start_matches('/'), "a.txt");
    leads(&ws, &format!("{root}//a.txt"), "a.txt");
    leads(&ws, &format!("file://{root}/a.txt"), "a.txt");
    leads(&ws, &format!("file://localhost{root}/sub/b%20c.txt"), "sub/b c.txt");
    leads(&ws, "sub/b\u{a0}c.txt", "sub/b c.txt");
    leads(&ws, "~/../ws/a.txt", "a.txt");
}

#[test]
fn names_as_other_systems_spell_them() {
    let ws = Workspace::with(&[("cafe\u{301}", "nfd\n"), ("it\u{2019}s", "curly\n"), ("Shot 9\u{202f}PM.txt", "pm\n")]);
    leads(&ws, "caf\u{e9}", "cafe\u{301}");
    leads(&ws, "it's", "it\u{2019}s");
    leads(&ws, "Shot 9 PM.txt", "Shot 9\u{202f}PM.txt");
}

#[test]
fn files_that_are_really_called_so() {
    let odd =
        ["-", "@x", "~", ":", "a:10", "a:5-9", "b\u{a0}c", "%41", " ", "new\nline", "quo\"te", "*", "😀", "\u{1b}[1m"];
    for name in odd {
        let ws = Workspace::with(&[(name, "text\n")]);
        leads(&ws, name, name);
        assert_eq!(ws.read(name), "text\n");
        assert_eq!(ws.read(name), "[readcache: unchanged, 1 lines]");
    }
}

#[test]
fn a_name_beats_a_range() {
    let ws = Workspace::with(&[("a", &numbered(9)), ("a:5", "a file\n")]);
    ws.run("read a:5").gives("a file\n");
    ws.run("read a:6-7").gives("6\n7\n");
    ws.run("read a:5:1").gives("a file\n");
}

#[test]
fn a_range_behind_every_spelling() {
    let ws = Workspace::with(&[("a.txt", &numbered(9))]);
    let root = ws.path("").display().to_string();
    for typed in ["a.txt:3-4", "@a.txt:3-4", "./a.txt:03-04"] {
        ws.run_args(&["read", typed]).gives("3\n4\n");
    }
    ws.run_args(&["read", &format!("file://{root}/a.txt:3-4")]).gives("3\n4\n");
}

#[test]
fn a_link_is_a_name_of_its_own() {
    let ws = Workspace::with(&[("a.txt", &numbered(9))]);
    ws.link("link", "a.txt");
    ws.read("a.txt");
    ws.run("read link --session s").gives(&numbered(9));
    ws.run("read link --session s").gives("[readcache: unchanged, 9 lines]");
}

#[test]
fn a_name_that_is_not_utf8_is_spelt() {
    use std::os::unix::ffi::OsStrExt;
    let ws = Workspace::new();
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9");
    std::fs::write(ws.path("").join(name), "text\n").unwrap();
    let done = crate::workspace::finish(ws.command(crate::workspace::READPROOF).arg("read").arg(name));
    done.gives("text\n");
    ws.run("read caf\u{fffd}e9").gives("text\n");
    assert_eq!(ws.run("list").out, "caf\u{fffd}e9 1 line, 5 B\n");
}
