//! Which folder is the workspace: the one named, else the nearest with `.readproof`, else the git root, else the
//! current one; and what relative paths are relative to.

use std::{fs, path::Path};

use crate::workspace::{Done, READPROOF, Workspace, finish};

/// Runs `readproof` in a folder, with no workspace in the environment.
fn run_in(ws: &Workspace, folder: impl AsRef<Path>, words: &str) -> Done {
    let mut command = ws.command(READPROOF);
    finish(command.env_remove("READPROOF_WORKSPACE").current_dir(folder).args(words.split_whitespace()))
}

/// The workspace that is found from a folder.
#[track_caller]
fn found_from(ws: &Workspace, folder: &str) -> String {
    let config = run_in(ws, ws.path(folder), "config --json").json();
    let root = config["workspace"].as_str().unwrap().to_owned();
    let below = Path::new(&root).strip_prefix(ws.path("")).unwrap_or(Path::new("elsewhere"));
    below.display().to_string()
}

fn tree() -> Workspace {
    Workspace::with(&[("repo/sub/deep/a.txt", "deep\n"), ("repo/a.txt", "repo\n"), ("repo/sub/b.txt", "sub\n")])
}

fn folder(ws: &Workspace, name: &str) {
    fs::create_dir(ws.path(name)).unwrap();
}

#[test]
fn the_nearest_store_else_git_else_here() {
    let ws = tree();
    assert_eq!(found_from(&ws, "repo/sub/deep"), "repo/sub/deep");
    folder(&ws, "repo/.git");
    assert_eq!(found_from(&ws, "repo/sub/deep"), "repo");
    folder(&ws, ".readproof");
    assert_eq!(found_from(&ws, "repo/sub/deep"), "", "a store further up beats a git root");
    folder(&ws, "repo/sub/.readproof");
    assert_eq!(found_from(&ws, "repo/sub/deep"), "repo/sub", "the nearest store");
    assert_eq!(found_from(&ws, "repo/sub"), "repo/sub", "the folder itself counts");
    assert_eq!(found_from(&ws, "repo"), "");
}

#[test]
fn a_git_work_tree_is_a_file() {
    let ws = tree();
    ws.put("repo/.git", "gitdir: elsewhere\n");
    assert_eq!(found_from(&ws, "repo/sub"), "repo");
}

#[test]
fn a_store_that_is_no_folder_does_not_count() {
    let ws = tree();
    folder(&ws, "repo/.git");
    ws.put("repo/sub/.readproof", "");
    ws.link("repo/sub/deep/.readproof", "../../.git");
    assert_eq!(found_from(&ws, "repo/sub/deep"), "repo");
}

#[test]
fn relative_names_start_where_one_stands() {
    let ws = tree();
    folder(&ws, "repo/.git");
    run_in(&ws, ws.path("repo/sub"), "read b.txt").gives("sub\n");
    run_in(&ws, ws.path("repo/sub"), "read ../a.txt").gives("repo\n");
    run_in(&ws, ws.path("repo/sub"), "read deep/a.txt").gives("deep\n");
    // As a search prints it: a name from the root, where the folder has none of its own.
    run_in(&ws, ws.path("repo/sub"), "read a.txt").gives("repo\n");
    run_in(&ws, ws.path("repo/sub"), "read ./a.txt").refused(1, &["/repo/sub/a.txt` does not exist"]);
    run_in(&ws, ws.path("repo/sub"), "read ../../x").refused(1, &["lies outside the workspace"]);
}

#[test]
fn one_file_has_one_name_wherever_one_stands() {
    let ws = tree();
    folder(&ws, "repo/.git");
    run_in(&ws, ws.path("repo"), "read sub/b.txt --session s").gives("sub\n");
    run_in(&ws, ws.path("repo/sub"), "read b.txt --session s").gives("[readcache: unchanged, 1 lines]");
    let absolute = format!("read {} --session s", ws.path("repo/sub/b.txt").display());
    run_in(&ws, ws.path("repo/sub/deep"), &absolute).gives("[readcache: unchanged, 1 lines]");
}

#[test]
fn a_workspace_may_be_named() {
    let ws = tree();
    let top = ws.top();
    run_in(&ws, &top, "read a.txt --workspace ws/repo").gives("repo\n");
    run_in(&ws, &top, "read a.txt --workspace ./ws/../ws/repo/").gives("repo\n");
    run_in(&ws, &top, &format!("read a.txt --workspace {}", ws.path("repo").display())).gives("repo\n");
    run_in(&ws, &top, "--workspace ws/repo read sub/b.txt").gives("sub\n");
    run_in(&ws, ws.path("repo/sub"), "read b.txt --workspace ..").gives("sub\n");
    run_in(&ws, &top, "read ../x --workspace ws/repo").refused(1, &["lies outside the workspace"]);
}

#[test]
fn a_workspace_may_stand_in_the_environment() {
    let ws = tree();
    let run = |folder: &str, workspace: &str, words: &str| {
        let mut command = ws.command(READPROOF);
        let words = words.split_whitespace();
        finish(command.current_dir(ws.path(folder)).env("READPROOF_WORKSPACE", workspace).args(words))
    };
    run("", "repo", "read a.txt").gives("repo\n");
    run("repo/sub", "..", "read ../a.txt").gives("repo\n");
    run("", "repo", "read b.txt --workspace repo/sub").gives("sub\n");
    run("", "nowhere", "read a.txt").refused(1, &["/nowhere` does not exist", "give an existing one"]);
}

#[test]
fn a_workspace_that_cannot_be_used() {
    let ws = tree();
    ws.run("read a.txt --workspace nowhere").refused(1, &["/nowhere` does not exist", "give an existing one"]);
    ws.run("read a.txt --workspace repo/a.txt").refused(1, &["repo/a.txt` is not a directory"]);
    let json = ws.run("read a.txt --json --workspace nowhere");
    assert!(json.code == Some(1) && json.out.contains("\"BAD_WORKSPACE\""), "{json:?}");
}

#[test]
fn a_workspace_reached_through_a_link() {
    let ws = tree();
    std::os::unix::fs::symlink(ws.path("repo"), ws.top().join("link")).unwrap();
    let link = ws.top().join("link");
    run_in(&ws, &link, "read a.txt --session s").gives("repo\n");
    run_in(&ws, ws.path("repo"), "read a.txt --session s").gives("[readcache: unchanged, 1 lines]");
    let named = format!("read {0}/a.txt --session s --workspace {0}", link.display());
    run_in(&ws, ws.top(), &named).gives("[readcache: unchanged, 1 lines]");
}

#[test]
fn the_current_folder_is_gone() {
    let ws = tree();
    let script = "unset READPROOF_WORKSPACE; mkdir gone && cd gone && rmdir ../gone && exec \"$@\"";
    let done = ws.shell(script, "read a.txt");
    done.refused(1, &["the current folder cannot be used", "cd to one that exists"]);
}

#[test]
fn without_a_home() {
    let ws = tree();
    let run = |words: &str| finish(ws.command(READPROOF).env_remove("HOME").args(words.split_whitespace()));
    run("read repo/a.txt --session s").gives("repo\n");
    run("read ~/a.txt").refused(1, &["/~/a.txt` does not exist"]);
}

/// Every printed name can be passed back, from any folder.
#[test]
fn printed_names_lead_back() {
    let ws = tree();
    folder(&ws, "repo/.git");
    ws.put("repo/sub/only.txt", "needle sub\n");
    ws.put("repo/sub/sub/only.txt", "needle deeper\n");
    ws.put("repo/sub/sub/x.txt", "needle x\n");
    for here in ["repo", "repo/sub", "repo/sub/sub", "repo/sub/deep"] {
        let found = run_in(&ws, ws.path(here), "search needle --json").json();
        let results = found["results"].as_array().unwrap();
        assert_eq!(results.len(), 3, "{here}");
        for hit in results {
            let (path, line) = (hit["path"].as_str().unwrap(), hit["lines"][0]["text"].as_str().unwrap());
            run_in(&ws, ws.path(here), &format!("read {path}")).gives(&format!("{line}\n"));
            let stat = run_in(&ws, ws.path(here), &format!("stat {path} --json")).json();
            assert_eq!((&stat["path"], &stat["exists"]), (&hit["path"], &serde_json::json!(true)), "{here} {path}");
        }
    }
}

/// A new file stands where one is, even if the root has a file of that name.
#[test]
fn a_write_never_lands_on_a_file_of_the_root() {
    let ws = tree();
    folder(&ws, "repo/.git");
    let mut command = ws.command(READPROOF);
    command.env_remove("READPROOF_WORKSPACE").current_dir(ws.path("repo/sub"));
    let mut writing = command
        .args(["write", "a.txt", "--session", "s"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut writing.stdin.take().unwrap(), b"new\n").unwrap();
    assert!(writing.wait().unwrap().success());
    run_in(&ws, ws.path("repo"), "read a.txt").gives("repo\n");
    run_in(&ws, ws.path("repo"), "read sub/a.txt").gives("new\n");
}
