//! What was: files and their versions, whoever changed them, and the way back.

use serde_json::json;

use crate::workspace::{Workspace, numbered};

/// `a.txt` was changed by the agent of session `s` (v3), and by another program before that (v2 is where it was met).
fn changed() -> Workspace {
    let ws = Workspace::with(&[("a.txt", "one\ntwo\nthree\n"), ("b.txt", "b\n")]);
    ws.run("files").text();
    ws.read("a.txt");
    ws.run("edit a.txt --session s --old two --new TWO").text();
    ws
}

fn out(ws: &Workspace, words: &str) -> String {
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
fn a_file_that_comes_back_has_the_permissions_it_had() {
    let ws = Workspace::with(&[("by_shell.sh", "one\n"), ("by_agent.sh", "two\n"), ("alone.sh", "three\n")]);
    for name in ["by_shell.sh", "by_agent.sh", "alone.sh"] {
        ws.chmod(name, 0o755);
    }
    ws.run("checkpoint here").text();
    std::fs::remove_file(ws.path("by_shell.sh")).unwrap();
    ws.run("delete by_agent.sh --force --set policy_preset=open").text();
    ws.run("checkpoint between").text();
    std::fs::remove_file(ws.path("alone.sh")).unwrap();
    // One file is replaced without a journal, several with one.
    out(&ws, "rewind between");
    assert_eq!(ws.mode("alone.sh"), 0o755);
    out(&ws, "rewind here");
    assert_eq!((ws.mode("by_shell.sh"), ws.mode("by_agent.sh")), (0o755, 0o755));
}

#[test]
fn a_folder_where_a_file_was_holds_nothing_else_up() {
    let ws = Workspace::with(&[("a", "one\n"), ("b/x.txt", "x\n"), ("c.txt", "c\n")]);
    ws.run("checkpoint here").text();
    std::fs::remove_file(ws.path("a")).unwrap();
    ws.put("a/inside.txt", "i\n");
    std::fs::remove_dir_all(ws.path("b")).unwrap();
    ws.put("b", "a file\n");
    ws.put("c.txt", "cc\n");
    let plan = out(&ws, "rewind here --dry-run");
    assert_eq!(
        plan,
        "a: left as it is, as a folder stands there now\na/inside.txt: removed\nb: removed\n\
         b/x.txt: left as it is, as a file stands where its folder was\nc.txt: restored\n"
    );
    out(&ws, "rewind here --set policy_preset=open");
    assert_eq!(ws.get("c.txt"), "c\n");
    // What was in the way is gone, but for an empty folder.
    std::fs::remove_dir(ws.path("a")).unwrap();
    assert_eq!(out(&ws, "rewind here --dry-run"), "a: made again\nb/x.txt: made again\n");
    out(&ws, "rewind here");
    assert_eq!((ws.get("a"), ws.get("b/x.txt")), ("one\n".to_owned(), "x\n".to_owned()));
}

#[test]
fn one_file_that_may_not_be_changed_holds_nothing_else_up() {
    let rule = "[[policy.rule]]\neffect = \"deny\"\npaths = [\"kept.txt\"]\nacts = [\"edit\", \"write\", \"delete\"]\n";
    let ws = Workspace::with(&[("a.txt", "a\n"), ("kept.txt", "k\n"), ("twin.txt", "t\n"), ("readproof.toml", rule)]);
    ws.run("checkpoint here").text();
    for name in ["a.txt", "kept.txt", "twin.txt"] {
        ws.put(name, "changed\n");
    }
    std::fs::hard_link(ws.path("twin.txt"), ws.top().join("elsewhere.txt")).unwrap();
    let done = ws.run("rewind here --json --set hard_links=refuse").json();
    assert_eq!(
        done["rewound"],
        json!([
            {"path": "a.txt", "outcome": "restored", "why": null},
            {"path": "kept.txt", "outcome": "denied", "why": null},
            {"path": "twin.txt", "outcome": "blocked", "why": "hard_linked"},
        ])
    );
    assert_eq!(ws.get("a.txt") + &ws.get("kept.txt") + &ws.get("twin.txt"), "a\nchanged\nchanged\n");
    if !ws.is_root() {
        ws.put("a.txt", "again\n");
        ws.chmod("a.txt", 0o444);
        ws.run("rewind here --dry-run").noticed(&[]).contains("do not let it be changed");
    }
}

#[test]
fn a_link_is_never_followed_back() {
    let ws = Workspace::with(&[("a.txt", "one\n"), ("b.txt", "b\n"), ("dir/c.txt", "c\n")]);
    ws.link("then.txt", "b.txt");
    ws.run("checkpoint here").text();
    // A link where a file was, a file where a link was, and a folder that is another one now.
    std::fs::remove_file(ws.path("a.txt")).unwrap();
    ws.link("a.txt", "b.txt");
    std::fs::remove_file(ws.path("then.txt")).unwrap();
    ws.put("then.txt", "text\n");
    std::fs::rename(ws.path("dir"), ws.path("other")).unwrap();
    ws.link("dir", "other");
    ws.put("b.txt", "bb\n");
    let plan = out(&ws, "rewind here --dry-run --paths a.txt then.txt dir/c.txt");
    assert_eq!(
        plan,
        "a.txt: left as it is, as a symbolic link stands there now\n\
         dir/c.txt: left as it is, as a symbolic link stands there now\n\
         then.txt: left as it is, as its text then is not known: it is a link, or something else that is no regular file\n"
    );
    out(&ws, "rewind here --set policy_preset=open");
    assert_eq!(ws.get("b.txt"), "b\n");
    assert!(ws.path("a.txt").is_symlink() && ws.path("dir").is_symlink() && ws.get("then.txt") == "text\n");
}

#[test]
fn a_rule_holds_for_every_name_that_a_version_had() {
    let ws = Workspace::with(&[("a.txt", "the word\n"), ("b.txt", "b\n")]);
    ws.run("checkpoint here").text();
    ws.run("move a.txt secret.txt").text();
    ws.put("b.txt", "bb\n");
    ws.run("show v2 a.txt").gives("the word\n");
    ws.put("readproof.toml", "[policy]\ndeny = [\"secret.txt\"]\n");
    for words in ["show v2 a.txt", "show here a.txt", "diff a.txt --version v2 --to here"] {
        let done = ws.run(words);
        assert!(done.code == Some(1) && !done.out.contains("word"), "{words}: {done:?}");
    }
    assert_eq!(out(&ws, "rewind here --dry-run"), "b.txt: restored\n");
    out(&ws, "rewind here");
    assert!(!ws.path("a.txt").exists() && ws.get("b.txt") == "b\n");
    // The other way round: what a file was under a name that is denied.
    ws.put("readproof.toml", "");
    ws.run("move secret.txt public.txt").text();
    ws.run("edit public.txt --old word --new letter").text();
    ws.put("readproof.toml", "[policy]\ndeny = [\"secret.txt\"]\n");
    assert!(!out(&ws, "blame public.txt").contains("the word"));
    for words in ["log public.txt", "changes --since here"] {
        assert!(!out(&ws, words).contains("word"), "{words}");
    }
}

#[test]
fn a_checkpoint_is_a_version_of_every_file() {
    let ws = changed();
    crate::diff::git(&ws, &["init", "-q"]);
    ws.put("c.txt", "c\n");
    crate::diff::git(&ws, &["add", "c.txt"]);
    ws.run("checkpoint here").text();
    ws.run("edit a.txt --session s --old TWO --new 2").text();
    ws.run("show here a.txt").gives("one\nTWO\nthree\n");
    ws.run("show here c.txt").gives("c\n");
    ws.run("show here").refused(1, &["`here` is a checkpoint of all files; name the file"]);
    ws.put("c.txt", "cc\n");
    ws.run("show here c.txt").gives("c\n");
    let diff = out(&ws, "diff a.txt --version here --to working");
    assert!(diff.contains("-TWO\n+2\n"), "{diff}");
    ws.run("show here later.txt").refused(1, &["nobody looked at it then"]);
}

#[test]
fn blame_follows_a_move() {
    let ws = changed();
    ws.run("move a.txt sub/b.txt --session s").text();
    ws.run("read sub/b.txt --session s").text();
    ws.run("edit sub/b.txt --session s --old three --new 3").text();
    assert_eq!(out(&ws, "blame sub/b.txt"), "-  1: one\nv3 2: TWO\nv5 3: 3\n");
}

#[test]
fn changes_are_those_of_others_alone() {
    let ws = Workspace::with(&[("a.txt", &numbered(9))]);
    ws.run("read a.txt --session s").text();
    ws.run("checkpoint here").text();
    ws.run("edit a.txt --session s --old 3 --new own").text();
    ws.put("a.txt", ws.get("a.txt").replace('7', "other"));
    ws.run("files").text();
    ws.put("a.txt", ws.get("a.txt").replace("other", "others"));
    let said = out(&ws, "changes --session s --since here");
    assert!(said.contains("-7\n+others\n") && !said.contains("+own") && !said.contains("-other\n"), "{said}");
}

#[test]
fn a_session_that_never_began_goes_back_too() {
    let ws = Workspace::with(&[("a.txt", "one\n")]);
    ws.run("checkpoint here --session s").text();
    ws.put("a.txt", "two\n");
    let done = ws.run("rewind here --session s --conversation");
    assert!(done.code == Some(0) && ws.get("a.txt") == "one\n", "{done:?}");
}

#[test]
fn what_one_look_meets_is_one_event() {
    let ws = Workspace::new();
    let names: Vec<String> = (0..1500).map(|number| format!("f/{number}.txt")).collect();
    names.iter().for_each(|name| ws.put(name, "one\n"));
    ws.run("checkpoint here").text();
    names.iter().for_each(|name| ws.put(name, "two\n"));
    let log = ws.run("log --json").json();
    let entries = log["versions"].as_array().unwrap();
    assert_eq!(entries.len(), 3, "one first look, one checkpoint, one change of all");
    let longest = ws.get(".readproof/log/versions").lines().map(str::len).max().unwrap();
    assert!(longest < 400_000, "{longest}");
    // It has one number, whichever of its records names a file.
    let (id, ends) = (entries[0]["version_id"].as_str().unwrap().to_owned(), ["f/0.txt", "f/999.txt"]);
    ends.iter().for_each(|name| ws.put(name, "three\n"));
    ws.run(&format!("show {id} {}", ends[1])).gives("two\n");
    out(&ws, &format!("rewind {id} --paths {} {}", ends[0], ends[1]));
    assert!(ends.iter().all(|name| ws.get(name) == "two\n"));
}

#[test]
fn what_a_look_finds_is_not_so_since_the_change_before_it() {
    let ws = Workspace::with(&[("a.txt", "one\n"), ("b.txt", "b\n")]);
    ws.run("edit a.txt --old one --new two").text();
    // Nobody has looked at it when it goes, and it was there at v2.
    std::fs::remove_file(ws.path("b.txt")).unwrap();
    ws.run("files").text();
    ws.put("b.txt", "bb\n");
    assert_eq!(
        out(&ws, "rewind v2 --dry-run"),
        "b.txt: left as it is, as its text then is not known: nobody looked at it then\n"
    );
}

#[test]
fn a_link_where_a_file_was_does_not_stand_for_another_file() {
    let ws = Workspace::with(&[("b.txt", "b\n")]);
    ws.put("data.bin", [0_u8, 255]);
    ws.run("checkpoint here").text();
    std::fs::remove_file(ws.path("data.bin")).unwrap();
    ws.link("data.bin", "b.txt");
    ws.put("b.txt", "bb\n");
    let plan = out(&ws, "rewind here --paths data.bin --dry-run");
    assert_eq!(plan, "data.bin: left as it is, as a symbolic link stands there now\n");
    out(&ws, "rewind here --paths data.bin");
    assert_eq!(ws.get("b.txt"), "bb\n");
}
