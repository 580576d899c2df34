//! How the history is stored: compressed by `gc`, erased by age, size or a person's wish, and what every question says afterwards.

use serde_json::json;
use std::{
    fs::{self, File},
    thread,
    time::{Duration, SystemTime},
};

use crate::workspace::{READPROOF, Workspace};

/// `a.txt` was met as v2 and edited as v3 to v(2 + edits); `b.txt` was met as v2.
fn edited(edits: usize) -> Workspace {
    let ws = Workspace::with(&[("a.txt", "0\nand more\n"), ("b.txt", "b\n")]);
    ws.run("files").text();
    for n in 0..edits {
        let (old, new) = (format!("{n}\nand"), format!("{}\nand", n + 1));
        assert_eq!(ws.run_args(&["edit", "a.txt", "--old", &old, "--new", &new]).code, Some(0));
    }
    // Texts stored in the last hour may be of a change that is just being made.
    age(&ws);
    ws
}

fn age(ws: &Workspace) {
    let long_ago = SystemTime::now() - Duration::from_secs(2 * 60 * 60);
    for entry in fs::read_dir(ws.path(".readproof/objects")).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_file() {
            File::open(entry.path()).unwrap().set_modified(long_ago).unwrap();
        }
    }
}

/// The texts that have a file of their own, and the cold packs.
fn stored(ws: &Workspace) -> (usize, usize) {
    let names = |folder: &str| {
        let all = fs::read_dir(ws.path(folder)).into_iter().flatten().map(Result::unwrap);
        all.filter(|entry| entry.file_type().unwrap().is_file()).count()
    };
    (names(".readproof/objects"), names(".readproof/objects/cold"))
}

/// The output of a command that has something to say beside it.
#[track_caller]
fn out(ws: &Workspace, words: &str) -> String {
    let done = ws.run(words);
    assert_eq!(done.code, Some(0), "{done:?}");
    done.out
}

#[track_caller]
fn history_check(ws: &Workspace) -> (String, String) {
    let checks = ws.run("doctor --json");
    let checks: serde_json::Value = serde_json::from_str(&checks.out).unwrap();
    let of =
        |name: &str| checks["checks"].as_array().unwrap().iter().find(|check| check["check"] == name).unwrap().clone();
    assert_eq!(of("objects")["health"], "ok", "{checks}");
    let check = of("history");
    (check["health"].as_str().unwrap().to_owned(), check["message"].as_str().unwrap().to_owned())
}

#[test]
fn gc_compresses_what_only_earlier_versions_need() {
    let ws = edited(5);
    assert_eq!(stored(&ws), (7, 0));
    assert!(!ws.run("gc --dry-run").text().contains("compressed"), "not before a week has passed");
    let dry = ws.run("gc --dry-run --set pack_days=0").text();
    assert!(dry.ends_with("\n5 texts (55 B) would be compressed\n"), "{dry}");
    assert_eq!(stored(&ws), (7, 0));
    let json = ws.run("gc --dry-run --json --set pack_days=0").json();
    assert_eq!(json["planned"]["compressed"], json!({"objects": 5, "bytes": 55}));
    let done = ws.run("gc --set pack_days=0").text();
    assert!(done.contains("\ncompressed 5 texts; all compressed texts take "), "{done}");
    assert_eq!(stored(&ws), (2, 1), "the newest text of each file stays as it is");
    assert!(!ws.run("gc --set pack_days=0").text().contains("compressed"), "nothing is left to do");
    // Every question is answered as before.
    ws.run("show v4 a.txt").gives("2\nand more\n");
    out(&ws, "blame a.txt");
    out(&ws, "rewind v3 --paths a.txt");
    assert_eq!(ws.get("a.txt"), "1\nand more\n");
    assert_eq!(
        history_check(&ws),
        ("ok".into(), "7 texts of earlier versions, 0 of them erased, the others are stored".into())
    );
}

#[test]
fn a_gc_that_is_killed_loses_nothing() {
    let ws = edited(12);
    for delay in [0, 1, 2, 3, 5, 7, 9, 12, 16, 25] {
        let mut child = ws.command(READPROOF).args(["gc", "--set", "pack_days=0"]).spawn().unwrap();
        thread::sleep(Duration::from_millis(delay));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(history_check(&ws).0, "ok", "killed after {delay} ms");
        for n in 1..=12 {
            ws.run(&format!("show v{} a.txt", n + 2)).gives(&format!("{n}\nand more\n"));
        }
        // Further texts, so that there is something to do.
        let text = ws.get("a.txt");
        ws.put("a.txt", format!("{text}{delay}\n"));
        ws.run("files").text();
        ws.put("a.txt", text);
        ws.run("files").text();
    }
}

#[test]
fn no_text_goes_while_someone_stores_one_for_a_version() {
    let ws = edited(4);
    // Another process has found the text of v2 in the store and is about to record that a file has it again.
    let storing = File::open(ws.path(".readproof/objects")).unwrap();
    storing.lock_shared().unwrap();
    let mut gc = ws.command(READPROOF).args(["gc", "--set", "history_bytes=30"]).spawn().unwrap();
    for _ in 0..20 {
        thread::sleep(Duration::from_millis(20));
        assert_eq!(gc.try_wait().unwrap(), None, "it does not wait");
    }
    assert_eq!(stored(&ws).0, 6);
    // Others may do the same meanwhile.
    ws.put("a.txt", "0\nand more\n");
    ws.run("files").text();
    drop(storing);
    assert!(gc.wait().unwrap().success());
    assert!(stored(&ws).0 < 6, "it goes on with a new plan");
    ws.run("show v2 a.txt").gives("0\nand more\n");
}

#[test]
fn earlier_texts_go_by_size_and_every_question_says_so() {
    let ws = edited(4);
    out(&ws, "checkpoint kept");
    for (old, new) in [("4\nand", "5\nand"), ("5\nand", "6\nand")] {
        ws.run_args(&["edit", "a.txt", "--old", old, "--new", new]).text();
    }
    age(&ws);
    assert_eq!(ws.run("gc --json").json()["removed"]["objects"], 0, "off unless it is set");
    ws.put("readproof.toml", "history_bytes = 30\n");
    let dry = ws.run("gc --dry-run").text();
    let lost = "these versions lose their text:\na.txt: v2, v3, v4, v5, v8 (55 B)";
    assert!(dry.starts_with("would remove 5 objects (55 B)") && dry.contains(lost), "{dry}");
    ws.run("show v3 a.txt").gives("1\nand more\n");
    let json = ws.run("gc --json").json();
    assert_eq!(json["planned"]["erased_versions"].as_array().unwrap().len(), 5);
    let first = &json["planned"]["erased_versions"][0]["versions"][0];
    assert_eq!(first["path"], "a.txt");
    assert_eq!(json["removed"]["objects"], 5);
    // The newest and the checkpoint's are there, and nothing else.
    ws.run("show v9 a.txt").gives("6\nand more\n");
    ws.run("show v6 a.txt").gives("4\nand more\n");
    ws.run("show v3 a.txt").refused(1, &["of a.txt was erased"]);
    ws.run("diff a.txt --version v3").refused(1, &["of a.txt was erased"]);
    let log = out(&ws, "log a.txt");
    assert_eq!(log.lines().filter(|line| line.ends_with("a.txt (erased)")).count(), 5, "{log}");
    let entry = ws.run("log a.txt --json").json()["versions"][0].clone();
    assert_eq!((&entry["files"][0]["gap_before"], &entry["files"][0]["gap_after"]), (&json!("erased"), &json!(null)));
    let plan = out(&ws, "rewind v3 --paths a.txt --dry-run");
    assert!(plan.contains("a.txt: left as it is, as its text then is not known: it was erased"), "{plan}");
    let blame = ws.run("blame a.txt");
    assert!(blame.err.contains("the text of v2, v3, v4, v5, v8 was erased"), "{blame:?}");
    out(&ws, "rewind kept --paths a.txt");
    assert_eq!(ws.get("a.txt"), "4\nand more\n");
    let (health, says) = history_check(&ws);
    assert!(health == "ok" && says.contains("5 of them erased"), "{says}");
    // A text that a file has again is kept again.
    ws.put("a.txt", "1\nand more\n");
    ws.run("files").text();
    ws.run("show v3 a.txt").gives("1\nand more\n");
}

#[test]
fn what_a_session_needs_stays() {
    let ws = edited(1);
    ws.run("read a.txt --session s").text();
    ws.run("edit a.txt --session s --old more --new less").text();
    ws.run("edit a.txt --session s --old less --new none").text();
    age(&ws);
    let plan = ws.run("gc --dry-run --json --set history_bytes=1").json();
    let lost: Vec<&str> = plan["planned"]["erased_versions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|text| text["versions"][0]["version_id"].as_str().unwrap())
        .collect();
    assert_eq!(lost, ["v2"], "only the one that the session never saw");
}

#[test]
fn a_person_erases_the_texts_of_a_file() {
    let ws = edited(3);
    // The same text in another file.
    ws.put("copy.txt", "2\nand more\n");
    ws.run("read a.txt --session s").text();
    assert_eq!(ws.run("symbols").code, Some(0));
    assert!(ws.path(".readproof/index.db").exists());
    ws.run("gc --set pack_days=0").text();
    let dry = ws.run("forget a.txt --dry-run");
    assert!(dry.out.starts_with("would erase 3 texts (33 B)\na.txt: v2, v3, v4 (33 B)\n"), "{dry:?}");
    assert!(dry.out.contains("other files that had one of these texts lose it too: copy.txt\n"), "{dry:?}");
    assert!(dry.out.ends_with("what these files hold now stays: a.txt\n"), "{dry:?}");
    assert!(dry.err.contains("copies elsewhere are not touched"), "{dry:?}");
    ws.run("show v3 a.txt").gives("1\nand more\n");
    let done = ws.run("forget a.txt --json").json();
    assert_eq!((&done["erased"]["texts"], &done["other_files"]), (&json!(3), &json!(["copy.txt"])));
    for version in ["v2", "v3", "v4"] {
        ws.run(&format!("show {version} a.txt")).refused(1, &["of a.txt was erased"]);
    }
    ws.run("show v5 a.txt").gives("3\nand more\n");
    assert_eq!((ws.get("a.txt"), ws.get("copy.txt")), ("3\nand more\n".into(), "2\nand more\n".into()));
    let erased = |ws: &Workspace| {
        let files = ["objects", "objects/cold", "."].map(|folder| ws.path(".readproof").join(folder));
        let all = files.iter().flat_map(|folder| fs::read_dir(folder).into_iter().flatten()).map(Result::unwrap);
        all.filter(|entry| {
            entry.file_type().unwrap().is_file() && !entry.file_name().to_string_lossy().starts_with("registry")
        })
        .all(|entry| !String::from_utf8_lossy(&fs::read(entry.path()).unwrap()).contains("1\nand more"))
    };
    assert!(erased(&ws) && !ws.path(".readproof/index.db").exists());
    assert_eq!(history_check(&ws).0, "ok");
    // Again there is nothing to do.
    assert!(ws.run("forget a.txt").out.starts_with("erased 0 texts (0 B)"));
    // The file goes on as before, and what is changed from here on is kept.
    ws.run_args(&["edit", "copy.txt", "--old", "and more", "--new", "and less"]).text();
    ws.run("edit a.txt --old more --new less").text();
    out(&ws, "rewind v5 --paths a.txt");
    assert_eq!(ws.get("a.txt"), "3\nand more\n");
    assert_eq!(history_check(&ws).0, "ok");
}

#[test]
fn a_person_erases_what_is_older_than_a_moment() {
    let ws = edited(4);
    ws.run("forget").refused(2, &["PATH"]);
    ws.run("forget --before 2026-02-30").refused(2, &["`2026-02-30` is no moment"]);
    ws.run("forget --before v77").refused(1, &["`v77` is no version and no checkpoint"]);
    ws.run("forget ../x").refused(1, &[]);
    assert!(ws.run("forget --before 2001-01-01").out.starts_with("erased 0 texts"));
    // v4 names the text that was there before it.
    let dry = ws.run("forget --before v4 --dry-run").out;
    assert!(dry.starts_with("would erase 1 text (11 B)\na.txt: v2 (11 B)\n"), "{dry}");
    let done = ws.run("forget a.txt --before v5").out;
    assert!(done.starts_with("erased 2 texts (22 B)\na.txt: v2, v3 (22 B)\n"), "{done}");
    ws.run("show v4 a.txt").gives("2\nand more\n");
    let done = ws.run("forget --before 2999-12-31T00:00:00Z").out;
    assert!(done.starts_with("erased 2 texts (22 B)\n"), "{done}");
    ws.run("show v6 a.txt").gives("4\nand more\n");
    ws.run("show v2 b.txt").gives("b\n");
    assert_eq!(history_check(&ws).0, "ok");
}

#[test]
fn a_file_in_conflict_is_first_resolved() {
    let ws = Workspace::with(&[("a.txt", "one\ntwo\nthree\n")]);
    ws.run("read a.txt --session s").text();
    ws.put("a.txt", "one\nTWO\nthree\n");
    ws.run("edit a.txt --session s --old two --new 2").refused(1, &["conflict v2"]);
    ws.run("forget a.txt").refused(1, &["a.txt is in conflict v2; resolve it first"]);
    assert!(out(&ws, "forget --before 2999-01-01").starts_with("erased 0 texts"), "what an open conflict needs stays");
    assert!(out(&ws, "conflicts show v2").contains("||||||| base\ntwo\n"));
    assert_eq!(ws.run("conflicts resolve v2 --with theirs").code, Some(0));
    assert!(out(&ws, "forget a.txt").starts_with("erased 2 texts"), "the base and the edit that was not made");
}

#[test]
fn what_was_erased_but_not_removed_goes_with_the_next_gc() {
    let ws = edited(2);
    let objects = ws.path(".readproof/objects");
    let kept = ws.top().join("kept");
    fs::create_dir(&kept).unwrap();
    for entry in fs::read_dir(&objects).unwrap().map(Result::unwrap) {
        fs::copy(entry.path(), kept.join(entry.file_name())).unwrap();
    }
    assert_eq!(ws.run("forget a.txt").code, Some(0));
    // As if the process had been killed between the record and the removal.
    for entry in fs::read_dir(&kept).unwrap().map(Result::unwrap) {
        fs::copy(entry.path(), objects.join(entry.file_name())).unwrap();
    }
    ws.run("show v3 a.txt").refused(1, &["of a.txt was erased"]);
    assert_eq!(ws.run("gc --json").json()["removed"]["objects"], 2);
    assert_eq!(stored(&ws).0, 2);
}

#[test]
fn the_doctor_finds_texts_that_nobody_erased() {
    let ws = edited(3);
    assert_eq!(history_check(&ws).0, "ok");
    let text = ws.run("show v3 a.txt --json").json()["sha256"].as_str().unwrap().to_owned();
    fs::remove_file(ws.path(&format!(".readproof/objects/sha256-{text}.txt"))).unwrap();
    let (health, says) = history_check(&ws);
    assert!(health == "warning" && says.ends_with("1 are not stored any more: v3 a.txt"), "{says}");
    // One that `gc --force` removes is recorded.
    let ws = edited(3);
    ws.run("gc --force --older-than 0").noticed(&["these versions lose their text:"]);
    assert_eq!(history_check(&ws).0, "ok");
    ws.run("show v3 a.txt").refused(1, &["was erased"]);
}

#[test]
fn a_damaged_pack_is_named() {
    let ws = edited(3);
    ws.run("gc --set pack_days=0").text();
    let cold = ws.path(".readproof/objects/cold");
    let pack = fs::read_dir(&cold).unwrap().next().unwrap().unwrap().path();
    let bytes = fs::read(&pack).unwrap();
    fs::write(&pack, &bytes[..bytes.len() - 1]).unwrap();
    let checks = ws.run("doctor --json");
    assert!(
        checks.code == Some(1) && checks.out.contains("damaged, so that nothing in it can be found: cold/"),
        "{checks:?}"
    );
    ws.run("show v3 a.txt").refused(1, &["is not stored any more"]);
}

#[test]
fn a_workspace_can_only_shorten_what_the_user_keeps() {
    let ws = Workspace::with(&[("readproof.toml", "history_days = 30\nhistory_bytes = 0\n")]);
    let user = ws.top().join("home/.config/readproof");
    fs::create_dir_all(&user).unwrap();
    fs::write(user.join("config.toml"), "history_days = 10\nhistory_bytes = 1000\n").unwrap();
    let config = ws.run("config --json");
    let config: serde_json::Value = serde_json::from_str(&config.out).unwrap();
    assert_eq!(config["settings"]["history_days"]["value"], 10);
    assert_eq!(config["settings"]["history_bytes"]["value"], 1000);
    ws.put("readproof.toml", "history_days = 3\n");
    let config: serde_json::Value = serde_json::from_str(&ws.run("config --json").out).unwrap();
    assert_eq!(config["settings"]["history_days"]["value"], 3);
    ws.run("config --set history_days=-1").refused(2, &["history_days"]);
}
