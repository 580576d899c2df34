//! What was: files and their versions, whoever changed them, and the way back.

use serde_json::json;

use crate::workspace::{Workspace, numbered};

/// `a.txt` was changed by the agent of session `s` (v3), and by another program before that (v2 is where it was met).
pub(crate) fn changed() -> Workspace {
    let ws = Workspace::with(&[("a.txt", "one\ntwo\nthree\n"), ("b.txt", "b\n")]);
    ws.run("files").text();
    ws.read("a.txt");
    ws.run("edit a.txt --session s --old two --new TWO").text();
    ws
}

pub(crate) fn out(ws: &Workspace, words: &str) -> String {
    let done = ws.run(words);
    assert_eq!(done.code, Some(0), "{done:?}");
    done.out
}

#[test]
fn files_with_their_tags_and_versions() {
    let ws = Workspace::with(&[("src/main.rs", "fn main() {}\n"), ("README.md", "# x\n"), ("tests/t.rs", "")]);
    ws.put("data.bin", [0_u8, 159, 146, 150]);
    ws.put(".env", "TOKEN=hunter2\n");
    let all = out(&ws, "files");
    assert_eq!(
        all,
        "README.md  1 lines  doc  v2\ndata.bin  4 bytes, not_text  other  v2\nsrc/main.rs  1 lines  code  v2\ntests/t.rs  0 lines  test  v2\n"
    );
    assert_eq!(out(&ws, "files --tag doc"), "README.md  1 lines  doc  v2\n");
    assert_eq!(out(&ws, "files *.rs --tag code"), "src/main.rs  1 lines  code  v2\n");
    ws.run("files --tag docs").refused(1, &["`docs` is no tag; use test, doc, config, code or other"]);
    ws.run("files [").refused(1, &["`[` is not a valid glob"]);
    let listed = ws.run("files src/** --json").json();
    let file = &listed["files"][0];
    assert_eq!((&file["path"], &file["lines"], &file["language"]), (&json!("src/main.rs"), &json!(1), &json!("rust")));
    // The registry only saves time.
    std::fs::remove_file(ws.path(".readproof/registry.db")).unwrap();
    assert_eq!(out(&ws, "files"), all);
    // A look that is told to keep nothing.
    let off = ws.run("files --set history=off");
    assert!(off.out.is_empty() && off.err.contains("history = \"off\""), "{off:?}");
}

#[test]
fn what_other_programs_did_is_a_version() {
    let ws = changed();
    ws.put("a.txt", "one\nTWO\nthree\nfour\n");
    std::fs::remove_file(ws.path("b.txt")).unwrap();
    ws.put("new.txt", "n\n");
    let said = out(&ws, "changes --session s");
    for line in ["+four", "-b", "+n"] {
        assert!(said.lines().any(|one| one == line), "{line} in {said}");
    }
    let log = out(&ws, "log");
    let operations: Vec<&str> = log.lines().map(|line| line.split("  ").nth(2).unwrap()).collect();
    assert_eq!(operations, ["outside", "edit", "first"]);
    assert!(log.lines().next().unwrap().ends_with("outside  a.txt, b.txt (removed), new.txt"), "{log}");
    assert_eq!(out(&ws, "blame a.txt"), "v2 1: one\nv3 2: TWO\nv2 3: three\nv4 4: four\n".replace("v2", "- "));
    ws.run("show v3 a.txt").gives("one\nTWO\nthree\n");
    ws.run("show v4 b.txt").refused(1, &["`v4` is no version of b.txt"]);
    ws.run("show v4").refused(1, &["v4 changed several files; name one of a.txt, b.txt, new.txt"]);
    ws.run("show v9").refused(1, &["`v9` is no version and no checkpoint"]);
    // Nothing has changed since.
    assert_eq!(out(&ws, "log"), log);
}

#[test]
fn a_file_that_git_keeps_is_not_stored_until_it_changes() {
    let ws = Workspace::with(&[("a.txt", "one\n"), ("c.txt", "c\n")]);
    let git = |words: &str| crate::diff::git(&ws, &words.split(' ').collect::<Vec<_>>());
    git("init -q");
    git("add -A");
    git("-c user.name=n -c user.email=e commit -qm first");
    ws.run("files").text();
    assert!(!ws.path(".readproof/objects").read_dir().is_ok_and(|mut all| all.next().is_some()));
    ws.put("a.txt", "two\n");
    assert!(out(&ws, "changes").contains("\n-one\n+two\n"));
    git("checkout -q -- a.txt");
    git("rm -q c.txt");
    let log = out(&ws, "log");
    assert!(log.lines().next().unwrap().ends_with("git  a.txt, c.txt (removed)"), "{log}");
    ws.run("show v2 a.txt").gives("two\n");
    out(&ws, "rewind v2 --paths a.txt");
    assert_eq!(ws.get("a.txt"), "two\n");
    assert_eq!(out(&ws, "rewind v3 --paths c.txt --dry-run"), "");
    assert!(!ws.path("c.txt").exists());
}

#[test]
fn back_to_a_checkpoint_and_forth_again() {
    let ws = changed();
    assert_eq!(out(&ws, "checkpoint here --session s"), "v4  here\n");
    ws.run("edit a.txt --session s --old three --new 3").text();
    ws.put("b.txt", "bb\n");
    ws.put("sub/c.txt", "c\n");
    let plan = "a.txt: restored\nb.txt: restored\nsub/c.txt: removed\n";
    assert_eq!(out(&ws, "rewind here --dry-run"), plan);
    assert_eq!(ws.get("b.txt"), "bb\n");
    // Only one file; the session is told by a diff what it now has.
    let done = out(&ws, "rewind here --session s --paths a.txt");
    assert!(done.starts_with("edited a.txt: lines 3-3 are now 3-3; 3 lines\nas it was at v4\n--- a/a.txt\n"), "{done}");
    ws.run("read a.txt --session s").gives("[readcache: unchanged, 3 lines]");
    assert_eq!(ws.get("a.txt"), "one\nTWO\nthree\n");
    // What goes asks a person, unless the rules say otherwise.
    ws.run("rewind here").refused(1, &["a person must approve this first"]);
    assert_eq!(ws.get("b.txt"), "bb\n");
    out(&ws, "rewind here --set policy_preset=open");
    assert!(ws.get("b.txt") == "b\n" && !ws.path("sub/c.txt").exists());
    let last = out(&ws, "log --limit 2");
    let before = last.lines().nth(1).unwrap().split("  ").next().unwrap().to_owned();
    out(&ws, &format!("rewind {before}"));
    assert!(ws.get("b.txt") == "bb\n" && ws.get("sub/c.txt") == "c\n", "undone by another rewind");
}

#[test]
fn the_session_goes_back_too() {
    let ws = changed();
    ws.run("checkpoint here --session s").text();
    ws.run("edit a.txt --session s --old three --new 3").text();
    ws.run("read a.txt --session s").gives("[readcache: unchanged, 3 lines]");
    let done = ws.run("rewind here --session s --conversation");
    assert!(done.code == Some(0) && done.err.contains("the session goes on after e"), "{done:?}");
    assert_eq!(ws.get("a.txt"), "one\nTWO\nthree\n");
    ws.run("read a.txt --session s").gives("[readcache: unchanged, 3 lines]");
    let shown = out(&ws, "session show --session s");
    assert!(shown.lines().last().unwrap().contains("<- here"), "{shown}");
    // Of a change by its number; of another session there is no such place.
    ws.run("edit a.txt --session s --old one --new 1").text();
    out(&ws, "rewind v3 --session s --conversation");
    ws.run("rewind v3 --session t --conversation").refused(1, &["`v3` was not made in this session"]);
    ws.run("rewind v3 --conversation").refused(2, &["--session"]);
}

#[test]
fn what_others_changed_stays() {
    let text = numbered(9);
    let ws = Workspace::with(&[("a.txt", text.as_str())]);
    for session in ["s", "t"] {
        ws.run(&format!("read a.txt --session {session}")).text();
    }
    ws.run("checkpoint here").text();
    ws.run("edit a.txt --session s --old 3 --new own").text();
    ws.run("edit a.txt --session t --old 7 --new other").text();
    let plan = out(&ws, "rewind here --session s --dry-run");
    assert_eq!(plan, "a.txt: merged with what others changed\n");
    out(&ws, "rewind here --session s");
    assert_eq!(ws.get("a.txt"), text.replace('7', "other"));
    // The same lines: nothing is undone, and it is a conflict.
    ws.run("checkpoint there").text();
    ws.run("read a.txt --session s").text();
    ws.run("edit a.txt --session s --old 5 --new own").text();
    ws.run("read a.txt --session t").text();
    ws.run("edit a.txt --session t --old own --new others").text();
    let now = ws.get("a.txt");
    let done = ws.run("rewind there --session s");
    assert!(done.err.contains("others changed the same lines"), "{done:?}");
    assert_eq!(ws.get("a.txt"), now);
    ws.run("rewind there --session s").refused(1, &["a.txt is in conflict v", "resolve it first"]);
    // A person takes everything back, once it is resolved.
    let id = out(&ws, "conflicts list").split_whitespace().next().unwrap().to_owned();
    out(&ws, &format!("conflicts resolve {id} --with theirs"));
    out(&ws, "rewind there");
    assert_eq!(ws.get("a.txt"), text.replace('7', "other"));
}

#[test]
fn what_cannot_be_restored_is_named_and_left() {
    let ws =
        Workspace::with(&[("a.txt", "one\n"), ("b.txt", "b\n"), (".aiignore", "secret.txt\n"), ("secret.txt", "s\n")]);
    ws.run("checkpoint here").text();
    ws.put("a.txt", [0_u8, 255]);
    ws.put("b.txt", "bb\n");
    ws.put("secret.txt", "t\n");
    let plan = out(&ws, "rewind here --dry-run");
    assert_eq!(plan, "a.txt: left as it is, as what is there now cannot be kept: it is not text\nb.txt: restored\n");
    let done = ws.run("rewind here --json").json();
    assert_eq!(done["rewound"][0], json!({"path": "a.txt", "outcome": "not_kept", "why": "not_text"}));
    assert_eq!((ws.get("b.txt"), ws.get("secret.txt")), ("b\n".to_owned(), "t\n".to_owned()));
    assert_eq!(std::fs::read(ws.path("a.txt")).unwrap(), [0_u8, 255]);
    for (words, said) in [
        ("rewind nowhere", "`nowhere` is no version and no checkpoint"),
        ("rewind v99", "`v99` is no version and no checkpoint"),
        ("checkpoint v7", "a checkpoint cannot be called `v7`"),
    ] {
        ws.run(words).refused(1, &[said]);
    }
}

#[test]
fn a_link_leads_to_the_versions_of_its_file() {
    let ws = Workspace::with(&[("a.txt", "one\n")]);
    std::os::unix::fs::symlink("a.txt", ws.path("link.txt")).unwrap();
    ws.run("checkpoint here").text();
    ws.run("read link.txt --session s").text();
    ws.run("edit link.txt --session s --old one --new two").text();
    assert_eq!(out(&ws, "log link.txt"), out(&ws, "log a.txt"));
    assert_eq!(out(&ws, "blame link.txt"), "v4 1: two\n");
    out(&ws, "rewind here --paths link.txt");
    assert_eq!(ws.get("a.txt"), "one\n");
    assert!(ws.path("link.txt").is_symlink());
}

#[test]
fn a_change_that_a_call_meets_first_is_a_version_too() {
    let ws = Workspace::with(&[("a.txt", "one\n"), ("bin", "x")]);
    crate::diff::git(&ws, &["init", "-q"]);
    crate::diff::git(&ws, &["add", "-A"]);
    ws.put("bin", [0_u8, 1]);
    ws.run("checkpoint here").text();
    // Git has the first text, nobody looked at the second one before the call.
    ws.put("a.txt", "two\n");
    ws.put("new.txt", "n\n");
    ws.put("bin", "text\n");
    for (name, old) in [("a.txt", "two"), ("new.txt", "n"), ("bin", "text")] {
        ws.run_args(&["edit", name, "--old", old, "--new", "x"]).text();
    }
    let plan = out(&ws, "rewind here --dry-run");
    let kept = "bin: left as it is, as its text then is not known: it is not text";
    // Whether the new one was there at that moment nobody knows: it stays.
    let unknown = "new.txt: left as it is, as its text then is not known: nobody looked at it then";
    assert_eq!(plan, format!("a.txt: restored\n{kept}\n{unknown}\n"));
    out(&ws, "rewind here --paths a.txt");
    assert_eq!(ws.get("a.txt"), "one\n");
}

#[test]
fn what_no_look_meets_is_not_taken_for_absent() {
    let ws =
        Workspace::with(&[("data/x.txt", "keep\n"), (".gitignore", "data/\n"), (".editorconfig", "root = true\n")]);
    crate::diff::git(&ws, &["init", "-q"]);
    ws.run("checkpoint here").text();
    // Not ignored any more; and a hidden file that only a call looks at.
    ws.put(".gitignore", "");
    out(&ws, "edit .editorconfig --old true --new false");
    ws.put("new.txt", "n\n");
    let plan = out(&ws, "rewind here --dry-run");
    assert!(!plan.contains("x.txt: removed") && !plan.contains(".editorconfig: removed"), "{plan}");
    out(&ws, "rewind here --set policy_preset=open");
    assert_eq!(ws.get("data/x.txt"), "keep\n");
    // With the same ignore files, what came since goes.
    let ws = Workspace::with(&[("a.txt", "a\n")]);
    ws.run("checkpoint here").text();
    ws.put("new.txt", "n\n");
    out(&ws, "rewind here --set policy_preset=open");
    assert!(!ws.path("new.txt").exists());
}

#[test]
fn what_git_did_not_track_yet_is_not_taken_for_absent() {
    let ws = Workspace::with(&[("a.txt", "a\n"), ("x.txt", "keep\n")]);
    crate::diff::git(&ws, &["init", "-q"]);
    crate::diff::git(&ws, &["add", "a.txt"]);
    ws.run("checkpoint here --set history=tracked").text();
    crate::diff::git(&ws, &["add", "x.txt"]);
    out(&ws, "rewind here --set history=tracked --set policy_preset=open");
    assert_eq!(ws.get("x.txt"), "keep\n");
}

#[test]
fn a_file_that_went_and_was_written_anew_comes_back() {
    let ws = Workspace::with(&[("a.txt", "one\ntwo\n")]);
    crate::diff::git(&ws, &["init", "-q"]);
    crate::diff::git(&ws, &["add", "-A"]);
    ws.run("checkpoint here").text();
    std::fs::remove_file(ws.path("a.txt")).unwrap();
    crate::workspace::finish_with(ws.command(crate::workspace::READPROOF).args(["write", "a.txt"]), b"new\n");
    assert_eq!(ws.get("a.txt"), "new\n");
    out(&ws, "rewind here");
    assert_eq!(ws.get("a.txt"), "one\ntwo\n");
}

#[test]
fn what_a_shell_did_before_a_call_is_a_version_of_its_own() {
    let ws = changed();
    ws.run("checkpoint here").text();
    ws.put("a.txt", "one\nTWO\nthree\nshell\n");
    out(&ws, "edit a.txt --old one --new mine");
    assert_eq!(
        out(&ws, "blame a.txt").lines().map(|line| line.split(' ').next().unwrap()).collect::<Vec<_>>(),
        ["v6", "v3", "-", "v5"]
    );
    out(&ws, "rewind here --keep-outside");
    assert_eq!(ws.get("a.txt"), "one\nTWO\nthree\nshell\n");
}

#[test]
fn the_context_of_a_session() {
    let ws = changed();
    let git = |words: &str| crate::diff::git(&ws, &words.split(' ').collect::<Vec<_>>());
    git("init -q");
    ws.put(".gitignore", "ignored.txt\n");
    ws.put("image.bin", [0_u8, 159, 146, 150]);
    ws.put("gone.txt", "g\n");
    ws.put("staged.txt", "s\n");
    git("add a.txt b.txt .gitignore image.bin gone.txt");
    git("-c user.name=n -c user.email=e commit -qm first");
    let clean = ws.run("context --session s --json").json();
    let only = json!({"files": [{"path": "staged.txt", "status": "untracked"}], "total": 1, "more": false});
    assert_eq!(clean["uncommitted"], only);
    assert_eq!(clean["recent"], json!([{"path": "a.txt", "written": true}]));
    assert_eq!((&clean["shown"][0]["whole"], &clean["shown"][0]["state"]), (&json!(true), &json!("same")));
    git("add staged.txt");
    ws.put("a.txt", "else\n");
    ws.put("ignored.txt", "i\n");
    ws.put("image.bin", [0_u8, 1, 2, 3]);
    std::fs::remove_file(ws.path("gone.txt")).unwrap();
    let text = out(&ws, "context --session s");
    let not_committed =
        "not committed:\n  modified  a.txt\n  deleted  gone.txt\n  modified  image.bin\n  added  staged.txt\n";
    assert!(text.ends_with(not_committed), "{text}");
    assert!(text.contains("shown:\n  a.txt  all of it  changed since\n"), "{text}");
    let workspace = out(&ws, "context");
    assert!(!workspace.contains("shown:") && workspace.ends_with(not_committed), "{workspace}");
    assert_eq!(ws.run("context --session none").code, Some(0));
}

#[test]
fn what_others_wrote_meanwhile_may_have_been_seen_by_a_shell() {
    let ws = Workspace::with(&[("a.txt", "one\ntwo\n"), ("b.txt", "b\n")]);
    ws.run("files").text();
    let read = || ws.run("read a.txt --session s");
    read().gives("one\ntwo\n");
    read().gives("[readcache: unchanged, 2 lines]");
    // Another file does not matter, nor does a text that nobody met.
    ws.put("b.txt", "bb\n");
    ws.put("a.txt", "one\n2\n");
    ws.put("a.txt", "one\ntwo\n");
    ws.run("files").text();
    read().gives("[readcache: unchanged, 2 lines]");
    ws.put("a.txt", "one\n2\n");
    ws.run("files").text();
    ws.put("a.txt", "one\ntwo\n");
    read().gives("one\ntwo\n");
    read().gives("[readcache: unchanged, 2 lines]");
    // The session's own changes are in its record.
    ws.run("edit a.txt --session s --old two --new TWO").text();
    ws.run("edit a.txt --session s --old TWO --new two").text();
    read().gives("[readcache: unchanged, 2 lines]");
}

/// Where a folder has the name of a file, the file is gone; it used to count as one that nobody looks at any more.
#[test]
fn a_folder_in_the_place_of_a_file_and_a_file_in_the_place_of_a_folder() {
    let ws = Workspace::with(&[("a.txt", "a\n"), ("d/x.txt", "x\n")]);
    ws.run("files").text();
    std::fs::remove_file(ws.path("a.txt")).unwrap();
    ws.put("a.txt/inside.txt", "i\n");
    std::fs::remove_dir_all(ws.path("d")).unwrap();
    ws.put("d", "d\n");
    let log = out(&ws, "log");
    let newest = log.lines().next().unwrap();
    assert!(newest.ends_with("outside  a.txt (removed), a.txt/inside.txt, d, d/x.txt (removed)"), "{log}");
    // The same for a name of which a change is recorded already.
    std::fs::remove_file(ws.path("d")).unwrap();
    ws.put("d/x.txt", "x\n");
    let log = out(&ws, "log");
    assert!(log.lines().next().unwrap().ends_with("outside  d (removed), d/x.txt"), "{log}");
}

/// A `readproof watch` that began.
pub(crate) struct Watching {
    child: std::process::Child,
    lines: std::sync::mpsc::Receiver<String>,
}

impl Watching {
    pub(crate) fn start(ws: &Workspace) -> Self {
        let mut command = ws.command(crate::workspace::READPROOF);
        command.args(["watch", "--json"]);
        Self::of(command)
    }

    /// Watches by this command.
    fn of(mut command: std::process::Command) -> Self {
        let mut child = command
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let out = child.stdout.take().unwrap();
        let (sender, lines) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            for line in std::io::BufRead::lines(std::io::BufReader::new(out)) {
                let _ = sender.send(line.unwrap());
            }
        });
        Self { child, lines }
    }

    pub(crate) fn line(&self) -> serde_json::Value {
        let line = self.lines.recv_timeout(std::time::Duration::from_secs(60)).expect("nothing is told");
        serde_json::from_str(&line).unwrap()
    }

    fn switches(&self) -> String {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        status.lines().find(|line| line.starts_with("voluntary")).unwrap().to_owned()
    }

    pub(crate) fn end(self) -> Option<i32> {
        self.end_by(rustix::process::Signal::TERM)
    }

    /// The exit code, once it ends by itself.
    fn ended(mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }

    fn end_by(mut self, signal: rustix::process::Signal) -> Option<i32> {
        let id = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(id, signal).unwrap();
        self.child.wait().unwrap().code()
    }
}

#[test]
fn a_watch_keeps_every_change_and_sleeps_between() {
    let ws = Workspace::with(&[("a.txt", "one\n"), ("d/b.txt", "b\n")]);
    let watching = Watching::start(&ws);
    assert_eq!(watching.line()["watching"], json!(true));
    for text in ["two\n", "three\n"] {
        ws.put("a.txt", text);
        let met = watching.line();
        assert_eq!(met["change"]["operation"], "outside", "{met}");
        assert_eq!(met["change"]["files"][0]["path"], "a.txt", "{met}");
    }
    // A folder that is new is watched too.
    ws.put("new/deep/c.txt", "1\n");
    assert_eq!(watching.line()["change"]["files"][0]["path"], "new/deep/c.txt");
    ws.put("new/deep/c.txt", "2\n");
    assert_eq!(watching.line()["change"]["files"][0]["path"], "new/deep/c.txt");
    // Nothing wakes it.
    std::thread::sleep(std::time::Duration::from_secs(2));
    let before = watching.switches();
    std::thread::sleep(std::time::Duration::from_secs(2));
    assert_eq!(watching.switches(), before);
    assert_eq!(watching.end(), Some(0));
    ws.run("show v3 a.txt").gives("two\n");
    ws.run("show v4 a.txt").gives("three\n");
    ws.run("watch --set history=off").refused(1, &["with history = \"off\" nothing"]);
}

#[test]
fn of_two_watches_one_waits_and_what_nobody_watched_is_a_gap() {
    let ws = Workspace::with(&[("a.txt", "one\n")]);
    let first = Watching::start(&ws);
    assert_eq!(first.line()["watching"], json!(true));
    let second = Watching::start(&ws);
    assert_eq!(second.line()["watching"], json!(false));
    assert_eq!(first.end(), Some(0));
    assert_eq!(second.line()["watching"], json!(true));
    ws.put("a.txt", "two\n");
    assert_eq!(second.line()["change"]["operation"], "outside");
    assert_eq!(second.end(), Some(0));
    let log = out(&ws, "log");
    let operations: Vec<&str> = log.lines().map(|line| line.split("  ").nth(2).unwrap()).collect();
    assert_eq!(operations, ["outside", "gap not_running", "first"], "{log}");
}

#[test]
fn a_watch_that_is_killed_leaves_a_gap_and_its_turn() {
    let ws = Workspace::with(&[("a.txt", "one\n")]);
    let first = Watching::start(&ws);
    assert_eq!(first.line()["watching"], json!(true));
    ws.put("a.txt", "two\n");
    assert_eq!(first.line()["change"]["operation"], "outside");
    // Killed right after a change, so perhaps in the middle of a look.
    ws.put("a.txt", "three\n");
    assert_eq!(first.end_by(rustix::process::Signal::KILL), None);
    ws.put("a.txt", "four\n");
    let second = Watching::start(&ws);
    assert_eq!(second.line()["watching"], json!(true), "the turn ended with its holder");
    ws.put("a.txt", "five\n");
    let told = || second.line()["change"]["version_id"].as_str().unwrap().to_owned();
    while out(&ws, &format!("show {} a.txt", told())) != "five\n" {}
    assert_eq!(second.end(), Some(0));
    let log = out(&ws, "log");
    assert!(log.contains("gap not_running"), "{log}");
    let texts: Vec<String> = (1..20).map(|id| ws.run(&format!("show v{id} a.txt"))).map(|done| done.out).collect();
    for text in ["one\n", "two\n", "four\n", "five\n"] {
        assert!(texts.iter().any(|kept| kept == text), "{text}: {log}");
    }
    ws.run("doctor").text();
}

#[test]
fn where_the_system_allows_no_more_watches() {
    let ws = Workspace::with(&[("a.txt", "one\n"), ("b/c/d/e.txt", "e\n")]);
    let limited = |script: &str| {
        let mut command = ws.command("unshare");
        let limit = "echo 3 > /proc/sys/user/max_inotify_watches";
        command.args(["-r", "sh", "-ec", &format!("{limit}; {script}"), "sh", crate::workspace::READPROOF]);
        command
    };
    if !limited("true").output().is_ok_and(|output| output.status.success()) {
        // The system does not permit another limit here: there is nothing to test.
        return;
    }
    // Four folders are one too many at the start.
    let refused = limited("exec \"$1\" watch").output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(said.contains("max_user_watches"), "{said}");
    // A folder that comes later is one too many: the watch ends and says why, rather than leave it out.
    std::fs::remove_dir_all(ws.path("b/c/d")).unwrap();
    let watching = Watching::of(limited("exec \"$1\" watch --json"));
    assert_eq!(watching.line()["folders"], json!(3));
    ws.put("new/f.txt", "f\n");
    let ended = watching.ended();
    assert_eq!(ended, Some(1));
    // Nothing is lost by it: the next question looks at everything.
    let log = out(&ws, "log");
    assert!(log.contains("new/f.txt"), "{log}");
}

#[test]
fn names_that_are_not_utf8_are_kept_as_bytes() {
    use std::{ffi::OsStr, fs, os::unix::ffi::OsStrExt};
    let ws = Workspace::with(&[("a.txt", "a\n")]);
    let odd = ws.path("").join(OsStr::from_bytes(b"d\xfe/caf\xe9.txt"));
    fs::create_dir(odd.parent().unwrap()).unwrap();
    fs::write(&odd, "one\ntwo\n").unwrap();
    let name = "d\u{fffd}fe/caf\u{fffd}e9.txt";
    assert_eq!(out(&ws, "files"), format!("a.txt  1 lines  doc  v2\n{name}  2 lines  doc  v2\n"));
    fs::write(&odd, "one\nTWO\n").unwrap();
    assert!(out(&ws, "changes").contains(&format!("--- a/{name}\n+++ b/{name}\n@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n")));
    ws.run(&format!("show v2 {name}")).gives("one\ntwo\n");
    // As a shell gives it.
    let done = ws
        .command(crate::workspace::READPROOF)
        .arg("read")
        .arg(odd.strip_prefix(ws.path("")).unwrap())
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&done.stdout), "one\nTWO\n", "{done:?}");
    ws.run(&format!("edit {name} --session s --old one --new ONE")).text();
    assert_eq!(fs::read(&odd).unwrap(), b"ONE\nTWO\n");
    fs::remove_dir_all(odd.parent().unwrap()).unwrap();
    out(&ws, "rewind v3");
    assert_eq!(fs::read(&odd).unwrap(), b"one\nTWO\n");
    assert!(!ws.path(name).exists(), "the spelling is no name of its own");
}

#[test]
fn a_damaged_log_of_versions_is_put_aside_by_the_next_edit() {
    let ws = changed();
    ws.run("read a.txt --session s").text();
    let log = ws.path(".readproof/log/versions");
    let mut bytes = std::fs::read(&log).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&log, bytes).unwrap();
    for words in ["log", "files", "changes", "rewind v2", "checkpoint x", "blame a.txt"] {
        ws.run(words).refused(1, &["versions is damaged at line", "the next edit keeps the log as evidence"]);
    }
    assert_eq!(std::fs::read_to_string(ws.path("a.txt")).unwrap(), "one\nTWO\nthree\n");
    // Others may have changed the file, and nobody can know.
    ws.run("read a.txt --session s").gives("one\nTWO\nthree\n");
    let edit = ws.run("edit a.txt --session s --old three --new THREE");
    assert!(edit.code == Some(0) && edit.err.contains("kept as .readproof/log/versions.retired-1"), "{edit:?}");
    assert!(out(&ws, "log").lines().any(|line| line.contains("  edit  ") && line.ends_with("a.txt")));
    // What was shown before is not vouched for, as changes after it may be lost; what is shown now is.
    ws.run("read a.txt --session s").gives("one\nTWO\nTHREE\n");
    assert!(ws.run("read a.txt --session s").out.contains("unchanged"));
    ws.run("doctor").text();
}

#[test]
fn the_history_of_a_copy_is_put_aside_and_said_to_be() {
    let ws = changed();
    let copy = Workspace::with(&[]);
    let copied = std::process::Command::new("cp").arg("-r").arg(ws.path(".readproof")).arg(copy.path("")).status();
    assert!(copied.unwrap().success());
    let log = copy.run("log");
    assert!(log.code == Some(0) && log.err.contains("was not made in this folder"), "{log:?}");
}

#[test]
fn what_a_rule_in_a_folder_hid_is_not_taken_for_absent() {
    let ws = Workspace::with(&[("a.txt", "a\n")]);
    ws.run("files").text();
    ws.put("sub/.cursorignore", "/deep.txt\n");
    ws.put("sub/deep.txt", "deep\n");
    ws.put("a.txt", "b\n");
    ws.run("checkpoint hidden").text();
    std::fs::remove_file(ws.path("sub/.cursorignore")).unwrap();
    ws.put("sub/deep.txt", "deep\nmore\n");
    let said = ws.run("rewind hidden --dry-run").out;
    assert!(!said.contains("sub/deep.txt: removed"), "{said}");
}
