//! Rewinds of what is odd: permissions, folders where files were, links, rules, many files; and looks back at moved files.

use serde_json::json;

use crate::{
    history::{changed, out},
    workspace::{Workspace, numbered},
};

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
