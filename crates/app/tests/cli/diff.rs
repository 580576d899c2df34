//! `readproof diff`: a patch on standard output, what is said of it on standard error.

use crate::workspace::Workspace;

const TEXT: &str = "one\ntwo\nthree\n";

fn repository() -> Workspace {
    let ws = Workspace::with(&[("a.txt", TEXT), ("d/b.txt", "b\n")]);
    git(&ws, &["init", "-q", "-b", "main"]);
    git(&ws, &["add", "."]);
    git(&ws, &["commit", "-qm", "x"]);
    ws
}

pub(crate) fn git(ws: &Workspace, args: &[&str]) -> String {
    let mut git = ws.command("git");
    git.env("GIT_CONFIG_NOSYSTEM", "1").args(["-c", "user.name=a", "-c", "user.email=b"]).args(args);
    let output = git.output().expect("git is in the path");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn what_it_prints_can_be_applied() {
    let ws = repository();
    ws.put("a.txt", "one\n2\nthree");
    let done = ws.run("diff a.txt");
    assert_eq!(
        done.out,
        "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n-three\n+2\n+three\n\\ No newline at end of \
         file\n"
    );
    let commit = git(&ws, &["rev-parse", "HEAD"]);
    assert_eq!(done.err, format!("readproof: [a.txt against HEAD ({}): 2 lines added, 2 removed]\n", &commit[..7]));
    ws.put("../patch", done.out);
    git(&ws, &["checkout", "-q", "a.txt"]);
    git(&ws, &["apply", "../patch"]);
    assert_eq!(ws.get("a.txt"), "one\n2\nthree");
    git(&ws, &["apply", "-R", "../patch"]);
    let done = ws.run("diff a.txt --against index");
    assert!(done.out.is_empty() && done.err.contains("unchanged, the diff is empty"), "{}", done.err);
    // The unified `read` gives the same.
    ws.put("a.txt", "1\n");
    assert_eq!(ws.run("read a.txt --mode diff_preview").out, ws.run("diff a.txt").out);
    assert_eq!(ws.run("read a.txt --mode diff_preview --against INDEX").out, ws.run("diff a.txt").out);
}

#[test]
fn content_comes_from_a_file_or_from_standard_input() {
    let ws = repository();
    ws.put("a.txt", "working\n");
    ws.put("../new.txt", "working\nnew\n");
    let path = ws.top().join("new.txt");
    let path = path.to_str().unwrap();
    let from_file = ws.run_args(&["diff", "a.txt", "--against", "WORKTREE", "--content", path]);
    assert!(from_file.out.ends_with("@@ -1,1 +1,2 @@\n working\n+new\n"), "{}", from_file.out);
    let here = ws.run_args(&["diff", "a.txt", "--content", "d/b.txt"]);
    assert!(here.out.contains("-one\n-two\n-three\n+b\n"), "{}", here.out);
    let piped = ws.feed("diff a.txt --against WORKTREE --content -", "working\nnew\n");
    assert_eq!(piped.out, from_file.out);
    let missing = ws.run("diff a.txt --content none.txt");
    assert_eq!(missing.code, Some(1));
    assert!(missing.err.contains("there is no such file"), "{}", missing.err);
    let bad = ws.feed("diff a.txt --content -", b"\xff");
    assert!(bad.code == Some(1) && bad.err.contains("not valid UTF-8 from byte 0"), "{}", bad.err);
}

#[test]
fn json_is_the_contract_with_the_text() {
    let ws = repository();
    ws.put("a.txt", "one\n");
    let object = ws.run("--json diff a.txt").json();
    assert_eq!(
        (&object["ok"], &object["mode"], &object["target"]),
        (&true.into(), &"diff_preview".into(), &"a.txt".into())
    );
    assert_eq!(object["text"], ws.run("diff a.txt").out);
    assert_eq!((&object["meta"]["removed"], &object["meta"]["status"]), (&2.into(), &"modified".into()));
    assert_eq!(object["meta"]["baseline"]["commit"], git(&ws, &["rev-parse", "HEAD"]).trim());
    // The whole diff, however long it is.
    ws.put("long.txt", "line\n".repeat(20_000));
    let object = ws.run("--json diff long.txt").json();
    assert_eq!((&object["meta"]["truncated"], &object["meta"]["added"]), (&false.into(), &20_000.into()));
    assert!(object["text"].as_str().unwrap().len() > 100_000);
}

#[test]
fn errors_and_their_exit_codes() {
    let ws = repository();
    for (words, exit, code) in [
        ("diff a.txt --against WORKTREE", 2, "NO_CONTENT"),
        ("diff a.txt --against main", 2, "USAGE"),
        ("diff", 2, "USAGE"),
        ("diff none.txt", 1, "NOT_FOUND"),
        ("diff d", 1, "NOT_A_FILE"),
        ("diff /etc/passwd", 1, "OUTSIDE_WORKSPACE"),
        ("diff .git/HEAD", 1, "GIT_FOLDER"),
    ] {
        let done = ws.run(&format!("--json {words}"));
        let object: serde_json::Value = serde_json::from_str(&done.out).unwrap();
        assert_eq!((done.code, object["error"]["code"].as_str()), (Some(exit), Some(code)), "{words}");
        assert_eq!(ws.run(words).code, Some(exit));
    }
    let ws = Workspace::with(&[("a.txt", TEXT)]);
    let done = ws.run("diff a.txt");
    assert!(done.code == Some(1) && done.err.contains("is not in a git repository"), "{}", done.err);
}

#[test]
fn nothing_is_left_behind_and_no_git_variable_counts() {
    let ws = repository();
    ws.put("a.txt", "one\n");
    let before = (ws.names(), git(&ws, &["status", "--porcelain"]));
    let other = Workspace::with(&[("a.txt", "other\n")]);
    let plain = ws.run("diff a.txt");
    let mut command = ws.command(crate::workspace::READPROOF);
    command.env("GIT_DIR", other.path("")).env("GIT_INDEX_FILE", "/nonexistent").env("GIT_WORK_TREE", other.path(""));
    command.env("GIT_CONFIG_COUNT", "1").env("GIT_CONFIG_KEY_0", "core.autocrlf").env("GIT_CONFIG_VALUE_0", "true");
    command.env("GIT_CONFIG_GLOBAL", "/nonexistent").env("GIT_OBJECT_DIRECTORY", "/nonexistent");
    let output = command.args(["diff", "a.txt"]).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), plain.out);
    assert_eq!((ws.names(), git(&ws, &["status", "--porcelain"])), before);
}
