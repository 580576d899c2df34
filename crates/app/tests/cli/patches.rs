//! The diff of an answer, applied by the real `patch` and `git apply`, turns the old file into the new one byte for
//! byte.

use std::{fs, process::Command};

use crate::workspace::{Workspace, finish};

/// Sixty lines, wide enough that a diff is worth it.
fn old() -> String {
    (1..=60).map(|n| format!("line {n} of a file that is long enough\n")).collect()
}

fn new() -> String {
    old().replace("line 30 of", "LINE 30 of").replace("line 50 of a file that is long enough\n", "")
}

/// Reads `before`, changes the file from outside, and hands the second answer to both programs.
#[track_caller]
fn check(name: &str, before: &str, after: &str) {
    let ws = Workspace::with(&[(name, before)]);
    let typed = format!("./{name}");
    assert_eq!(ws.read(&typed), before);
    ws.put(name, after);
    // Hidden characters are named beside it.
    let diff = ws.run_args(&["read", &typed, "--session", "s"]).noticed(&[]);
    assert!(diff.starts_with("[readcache: ") && diff.contains("\n--- "), "no diff: {diff}");
    fs::write(ws.top().join("diff"), &diff).unwrap();
    follow(&ws, name, before, after, &["patch", "-p1", "--no-backup-if-mismatch", "-i", "../diff"]);
    follow(&ws, name, before, after, &["git", "apply", "--whitespace=nowarn", "-p1", "../diff"]);
}

/// Applies the diff in a folder that holds the old file and nothing else.
#[track_caller]
fn follow(ws: &Workspace, name: &str, before: &str, after: &str, program: &[&str]) {
    let folder = ws.top().join(program[0]);
    let file = folder.join(name);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, before).unwrap();
    let mut command: Command = ws.command(program[0]);
    command.args(&program[1..]).current_dir(&folder).env("GIT_CEILING_DIRECTORIES", ws.top());
    let there = ws.command(program[0]).arg("--version").output();
    assert!(there.is_ok(), "`{}` must be installed: what it makes of a diff is what is promised", program[0]);
    let done = finish(&mut command);
    assert_eq!(done.code, Some(0), "{program:?} refused the diff for {name:?}: {done:?}");
    assert_eq!(fs::read(&file).unwrap(), after.as_bytes(), "{program:?} made another text of {name:?}");
    let count = fs::read_dir(file.parent().unwrap()).unwrap().count();
    assert_eq!(count, 1, "{program:?} left other files beside {name:?}");
}

#[test]
fn plain_lines() {
    check("a.txt", &old(), &new());
    check("a.txt", &old(), &format!("a new first line\n{}", old()));
    check("a.txt", &old(), &old().replace("line 1 of a file that is long enough\n", ""));
    check("a.txt", &old(), &format!("{}a new last line\n", old()));
    check("a.txt", &old(), &old().replace("line 5 of a file that is long enough\n", "\n\n"));
}

#[test]
fn carriage_returns() {
    let crlf = |text: String| text.replace('\n', "\r\n");
    check("a.txt", &crlf(old()), &crlf(new()));
    check("a.txt", &old(), &old().replace("line 5 of a file that is long enough\n", "line 5\r\n"));
    check("a.txt", &crlf(old()), &crlf(old()).replace("line 5 of a file that is long enough\r\n", "line 5\n"));
    check("a.txt", &old(), &old().replace("line 5 of", "a\rb\r"));
}

#[test]
fn the_final_newline() {
    let bare = |text: String| text.trim_end().to_owned();
    check("a.txt", &old(), &bare(new()));
    check("a.txt", &bare(old()), &new());
    check("a.txt", &bare(old()), &bare(new()));
    check("a.txt", &bare(old()), &format!("{}!", bare(old())));
    check("a.txt", &old(), &format!("{}\r", bare(old())));
}

#[test]
fn a_byte_order_mark() {
    check("a.txt", &format!("\u{feff}{}", old()), &format!("\u{feff}{}", new()));
    check("a.txt", &format!("\u{feff}{}", old()), &new());
    check("a.txt", &old(), &format!("\u{feff}{}", new()));
}

#[test]
fn trailing_spaces_and_other_blanks() {
    check("a.txt", &old(), &old().replace("line 7 of a file that is long enough\n", "line 7  \n"));
    check("a.txt", &old(), &old().replace("line 7 of a file that is long enough\n", "\t\n"));
    check("a.txt", &old(), &old().replace("line 7 of", "\u{c}\u{b}\u{2028}\u{85}\u{a0}"));
}

#[test]
fn lines_that_look_like_a_diff() {
    check("a.txt", &old(), &old().replace("line 7 of", "--- a/x\n+++ b/x\n@@ -1,1 +1,1 @@\n"));
    check("a.txt", &old(), &old().replace("line 7 of", "\\ No newline at end of file\n"));
    check("a.txt", &old(), &old().replace("line 7 of", "[readcache: 1 lines changed of 60]\n"));
    check("a.txt", &old().replace("line 7 of", "-- 7"), &old().replace("line 7 of", "++ 7"));
}

#[test]
fn names_with_spaces() {
    check("with space.txt", &old(), &new());
    check("two  spaces", &old(), &new());
    check(" leading", &old(), &new());
    check("folder with space/file.txt", &old(), &new());
}

/// GNU patch takes the tab of `a/name \t` for the start of a timestamp and then loses the space before it, so such a
/// name must be quoted.
#[test]
fn a_name_that_ends_with_a_space() {
    check("trailing ", &old(), &new());
}

#[test]
fn names_beyond_ascii() {
    for name in ["ünï→.txt", "日本語/ファイル.txt", "emoji 😀", "e\u{301}", "a\u{2028}b", "x\u{202e}y", "\u{85}"]
    {
        check(name, &old(), &new());
    }
}

#[test]
fn names_with_quotes_and_control_characters() {
    for name in
        ["quo\"te", "apo'strophe", "back\\slash", "new\nline", "tab\tbed", "cr\r", "bell\u{7}", "\u{1b}[31m", "\u{7f}"]
    {
        check(name, &old(), &new());
    }
}

#[test]
fn names_that_look_like_something_else() {
    for name in ["--- a", "@@ -1 +1 @@", "-dash", "dev/null", "a:10", "100%", "*?[x]", "b", "x\t2020-01-01 00:00:00"] {
        check(name, &old(), &new());
    }
}

#[test]
fn a_diff_against_what_an_earlier_diff_left() {
    let ws = Workspace::with(&[("a.txt", &old())]);
    ws.read("a.txt");
    ws.put("a.txt", new());
    ws.read("a.txt");
    let newest = new().replace("line 10 of", "LINE 10 of");
    ws.put("a.txt", &newest);
    fs::write(ws.top().join("diff"), ws.read("a.txt")).unwrap();
    follow(&ws, "a.txt", &new(), &newest, &["patch", "-p1", "--no-backup-if-mismatch", "-i", "../diff"]);
}
