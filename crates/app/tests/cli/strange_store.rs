//! A store counts only for the user who created it, on the same machine and in the same folder. A store from an archive
//! or a clone is put aside, with one notice.

use crate::workspace::{Done, READPROOF, Workspace, finish, numbered};
use std::{fs, path::Path, process::Command};

const SAYS: &str = "was not made in this folder by this user on this machine";

/// A workspace in which session `s` holds a file.
fn held() -> Workspace {
    let ws = Workspace::with(&[("a.txt", &numbered(40))]);
    ws.read("a.txt");
    assert_eq!(ws.read("a.txt"), "[readcache: unchanged, 40 lines]");
    ws
}

/// The same bytes with the same permissions, as `tar` or `cp -a` leave them.
fn copy(from: &Path, to: &Path) {
    let done = Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap();
    assert!(done.success());
}

fn is_put_aside(ws: &Workspace, says: &str, name: &str) {
    let done = ws.run("read a.txt --session s");
    assert_eq!(done.noticed(&[says, &format!("put aside as `{name}`"), "a new one is begun"]), ws.get("a.txt"));
    assert!(ws.path(name).join("log/s.log").exists() || ws.path(name).join("log").exists());
    assert_eq!(ws.read("a.txt"), "[readcache: unchanged, 40 lines]");
}

#[test]
fn a_store_that_was_brought_along_is_put_aside() {
    let made = held();
    let ws = Workspace::with(&[("a.txt", &numbered(40))]);
    copy(&made.path(".readproof"), &ws.path(".readproof"));
    is_put_aside(&ws, SAYS, ".readproof/foreign-1");
    assert!(ws.path(".readproof/foreign-1/log/s.log").exists());
    // Nothing else is left, and git does not see it.
    assert_eq!(ws.names(), [".readproof", "a.txt"]);
    assert_eq!(ws.get(".readproof/foreign-1/.gitignore"), "*\n");
    let doctor = ws.run("doctor").text();
    assert!(doctor.contains("1 stores put aside because they were not made here: foreign-1"), "{doctor}");
}

#[test]
fn a_store_moves_with_its_workspace_and_is_not_copied() {
    let ws = held();
    let (old, new, copied) = (ws.path(""), ws.top().join("moved"), ws.top().join("copied"));
    copy(&old, &copied);
    fs::rename(&old, &new).unwrap();
    let read = |at: &Path| {
        let mut command = Command::new(READPROOF);
        command.env_clear().env("HOME", ws.top().join("home")).env("READPROOF_MARKERS", "always").current_dir(at);
        finish(
            command
                .args(["read", "a.txt", "--session", "s"])
                .stdout(std::process::Stdio::piped())
                .stderr(std::process::Stdio::piped()),
        )
    };
    read(&new).gives("[readcache: unchanged, 40 lines]");
    assert_eq!(read(&copied).noticed(&[SAYS]), numbered(40));
    read(&new).gives("[readcache: unchanged, 40 lines]");
}

#[test]
fn another_user_or_machine_has_another_id() {
    let ws = held();
    let id = ws.top().join("home/.local/state/readproof/id");
    let kept = fs::read_to_string(&id).unwrap();
    assert!(kept.len() == 33 && !ws.get(".readproof/format").contains(kept.trim_end()), "{kept}");
    assert_eq!(fs::metadata(&id).unwrap().permissions(), std::os::unix::fs::PermissionsExt::from_mode(0o100_600));
    fs::remove_file(&id).unwrap();
    is_put_aside(&ws, SAYS, ".readproof/foreign-1");
    // The next one gets another name.
    fs::write(&id, "0123456789abcdef0123456789abcdef\n").unwrap();
    is_put_aside(&ws, SAYS, ".readproof/foreign-2");
    assert!(ws.path(".readproof/foreign-1/log/s.log").exists() && !ws.path(".readproof/foreign-2/foreign-1").exists());
}

#[test]
fn a_store_that_does_not_say_whose_it_is_does_not_count() {
    let ws = held();
    ws.put(".readproof/format", "1\n");
    is_put_aside(&ws, "was made by an older version", ".readproof/foreign-1");
    ws.put(".readproof/format", "2\n");
    is_put_aside(&ws, SAYS, ".readproof/foreign-2");
    fs::remove_file(ws.path(".readproof/format")).unwrap();
    is_put_aside(&ws, SAYS, ".readproof/foreign-3");
    // A read-only command changes nothing.
    ws.put(".readproof/format", "2\n");
    for words in ["status", "session list", "session show --session s", "replay --verify"] {
        ws.run(words).refused(1, &[SAYS]);
    }
    let doctor = ws.run("doctor");
    assert!(doctor.out.contains(SAYS), "{doctor:?}");
    assert!(!ws.path(".readproof/foreign-4").exists());
    // A write also begins a new store.
    let done = ws.feed("write b.txt --session s", "new\n");
    assert!(done.err.contains(SAYS), "{done:?}");
    assert!(ws.path(".readproof/foreign-4/log/s.log").exists());
}

#[test]
fn as_many_as_are_kept() {
    let ws = held();
    for number in 1..=8 {
        ws.put(".readproof/format", "2\n");
        is_put_aside(&ws, SAYS, &format!(".readproof/foreign-{number}"));
    }
    ws.put(".readproof/format", "2\n");
    let done = ws.run("read a.txt --session s");
    assert_eq!(done.noticed(&["delete `.readproof/foreign-*`"]), numbered(40));
    ws.run("read a.txt --session s").noticed(&["delete `.readproof/foreign-*`"]);
}

/// With these variables and no other home.
fn without_home(ws: &Workspace, variables: &[(&str, &Path)]) -> Done {
    let mut command = ws.command(READPROOF);
    command.env_remove("HOME").env_remove("XDG_STATE_HOME").envs(variables.iter().copied());
    finish(command.args(["read", "a.txt", "--session", "s"]))
}

#[test]
fn where_the_id_is_kept() {
    let ws = Workspace::with(&[("a.txt", &numbered(40)), ("inside/x", "")]);
    let top = ws.top();
    // Not in the workspace, not in a folder that others can write to, not where nothing can be created.
    fs::create_dir(top.join("open")).unwrap();
    fs::set_permissions(top.join("open"), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let link = top.join("link");
    std::os::unix::fs::symlink(ws.path("inside"), &link).unwrap();
    for folder in
        [ws.path("inside"), ws.path("inside/new"), top.join("open"), link, top.join("a/b/c/d/e"), "state".into()]
    {
        let done = without_home(&ws, &[("READPROOF_STATE_DIR", &folder)]);
        assert_eq!(done.noticed(&["no folder outside the workspace can hold the id"]), numbered(40), "{folder:?}");
    }
    assert!(!ws.path(".readproof").exists() && !ws.path("inside/new").exists());
    // Without a home directory it is kept in the temporary folder.
    let temp = [("TMPDIR", top.as_path())];
    without_home(&ws, &temp).gives(&numbered(40));
    without_home(&ws, &temp).gives("[readcache: unchanged, 40 lines]");
    let kept = fs::read_dir(&top).unwrap().filter_map(|entry| entry.unwrap().file_name().into_string().ok());
    assert_eq!(kept.filter(|name| name.starts_with("readproof-")).count(), 1);
}

#[test]
fn many_begin_at_once() {
    let ws = held();
    for round in 1..=3 {
        ws.put(".readproof/format", "2\n");
        let start = |name: &str| {
            let mut command = ws.command(READPROOF);
            command.args(["read", "a.txt", "--session", name]).spawn().unwrap()
        };
        let all: Vec<_> = (0..6).map(|n| start(&format!("t{n}"))).collect();
        for child in all {
            let done = child.wait_with_output().unwrap();
            assert_eq!(String::from_utf8_lossy(&done.stdout), numbered(40));
        }
        // Only the foreign store was put aside, none of the new ones.
        assert!(ws.path(&format!(".readproof/foreign-{round}/log/s.log")).exists() || round > 1);
        assert!(!ws.path(&format!(".readproof/foreign-{}", round + 1)).exists());
        for n in 0..6 {
            ws.run(&format!("read a.txt --session t{n}")).gives("[readcache: unchanged, 40 lines]");
        }
    }
}
