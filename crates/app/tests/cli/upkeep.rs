//! `readproof gc` and `readproof doctor`: what is removed and what never is; which problems are found, and the advice.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use serde_json::Value;

use crate::workspace::{Workspace, names_in, numbered};

const DAY: u64 = 24 * 60 * 60;

/// Makes a file look as if it was written that many seconds ago.
fn age(path: &Path, seconds: u64) {
    let then = SystemTime::now() - Duration::from_secs(seconds);
    fs::File::open(path).unwrap().set_modified(then).unwrap();
}

fn objects(ws: &Workspace) -> Vec<String> {
    names_in(&ws.path(".readproof/objects"))
}

/// A stored text of 1,000 bytes that no session mentions.
fn stray(ws: &Workspace, days: u64, letter: &str) -> PathBuf {
    let session = format!("gone-{letter}");
    let name = format!("{letter}.txt");
    ws.put(&name, letter.repeat(1000));
    let before = objects(ws);
    ws.run_args(&["read", &name, "--session", &session]).text();
    fs::remove_file(ws.path(&format!(".readproof/log/{session}.log"))).unwrap();
    let new = objects(ws).into_iter().find(|name| !before.contains(name)).unwrap();
    let path = ws.path(".readproof/objects").join(new);
    age(&path, days * DAY);
    path
}

/// Session `s` holds `a.txt`, whose text is a year old.
fn held() -> Workspace {
    let ws = Workspace::with(&[("a.txt", &numbered(400))]);
    ws.read("a.txt");
    for name in objects(&ws) {
        age(&ws.path(".readproof/objects").join(name), 365 * DAY);
    }
    ws
}

fn changed(ws: &Workspace) -> Value {
    ws.put("a.txt", numbered(400).replace("\n20\n", "\ntwenty\n"));
    ws.run("read a.txt --session s --json").json()["mode"].clone()
}

#[test]
fn gc_removes_old_texts_that_nobody_needs() {
    let ws = held();
    let (old, young) = (stray(&ws, 31, "x"), stray(&ws, 29, "y"));
    let dry = ws.run("gc --dry-run").text();
    assert!(dry.starts_with("would remove 1 object (1000 B) and 0 temporary files; kept 2 objects"), "{dry}");
    assert!(old.exists());
    let text = ws.run("gc").text();
    assert!(text.starts_with("removed 1 object (1000 B) and 0 temporary files; kept 2 objects"), "{text}");
    assert!(text.contains("1 of them only because sessions could need them"), "{text}");
    assert!(!old.exists() && young.exists());
    ws.run("gc --older-than 29").text();
    assert!(!young.exists());
    assert_eq!(changed(&ws), "diff", "what the session holds is still there");
    ws.run("replay --verify").text();
}

#[test]
fn gc_removes_the_oldest_until_the_rest_fits() {
    let ws = held();
    let strays = [stray(&ws, 3, "x"), stray(&ws, 2, "y"), stray(&ws, 1, "z")];
    let needed = fs::metadata(ws.path("a.txt")).unwrap().len();
    let json = ws.run(&format!("gc --json --max-bytes {}", needed + 1500)).json();
    assert_eq!(json["removed"]["objects"], 2, "{json}");
    assert_eq!(strays.each_ref().map(|path| path.exists()), [false, false, true]);
    let json = ws.run("gc --json --max-bytes 0").json();
    assert_eq!((&json["removed"]["objects"], &json["kept"]["needed"]), (&1.into(), &1.into()), "{json}");
    assert_eq!(changed(&ws), "diff");
}

#[test]
fn gc_takes_what_is_needed_only_by_force_and_says_so_first() {
    let ws = held();
    let dry = ws.run("gc --force --dry-run").text();
    assert!(dry.contains("session s could still need 1 of these"), "{dry}");
    assert_eq!(objects(&ws).len(), 1);
    let out = ws.run("gc --force").noticed(&["removing 1 object", "session s could still need 1 of these"]);
    assert!(out.starts_with("removed 1 object"), "{out}");
    assert_eq!(changed(&ws), "baseline_fallback");
    assert!(ws.run("replay --verify").text().contains("1 unverifiable, 0 wrong"));
}

#[test]
fn gc_removes_nothing_beside_a_log_it_cannot_read() {
    for (what, spoil) in
        [("damaged", (|bytes| bytes[100] ^= 1) as fn(&mut Vec<u8>)), ("damaged", |bytes| bytes.extend(b"garbage\n"))]
    {
        let ws = held();
        let old = stray(&ws, 31, "x");
        let log = ws.path(".readproof/log/s.log");
        let mut bytes = fs::read(&log).unwrap();
        spoil(&mut bytes);
        fs::write(&log, bytes).unwrap();
        let text = ws.run("gc").text();
        assert!(text.starts_with("removed 0 objects") && text.contains("needs of session s are not known"), "{text}");
        assert!(text.contains(what) && old.exists(), "{text}");
        ws.run("gc --force").noticed(&["removing 2 objects"]);
        assert!(!old.exists());
    }
    let ws = held();
    let old = stray(&ws, 31, "x");
    ws.chmod(".readproof/log/s.log", 0o644);
    assert!(ws.run("gc").text().contains("needs of session s are not known"));
    assert!(old.exists());
}

/// A process id that no system uses.
const GONE: u32 = 999_999_999;

#[test]
fn gc_removes_temporary_files_of_processes_that_are_gone() {
    let ws = held();
    let (running, link) = (std::process::id(), format!("sub/.readproof-{GONE}-7.tmp"));
    let put = |name: &str, seconds| {
        ws.put(name, "half");
        age(&ws.path(name), seconds);
        name.to_owned()
    };
    let goes = [
        put(&format!(".readproof/log/s.log.draft-{GONE}-0"), 3700),
        put(&format!(".readproof/tmp/{GONE}-0.tmp"), 3700),
        put(&format!(".readproof-{GONE}-0.tmp"), 3700),
        put(&format!("sub/deep/.readproof-{GONE}-12.tmp"), 3700),
    ];
    let mut stays = vec![
        put(&format!(".readproof/tmp/{GONE}-1.tmp"), 60),
        put(&format!(".readproof/tmp/{running}-0.tmp"), 3700),
        put(".readproof/tmp/note.tmp", 3700),
        put(&format!("sub/.readproof-{GONE}-1.tmp"), 60),
        put(&format!("sub/.readproof-{running}-0.tmp"), 3700),
        put(&format!("sub/x.readproof-{GONE}-0.tmp"), 3700),
        put(&format!("sub/.readproof-{GONE}-0.tmp.txt"), 3700),
        put(&format!("sub/.readproof/tmp/{GONE}-0.tmp"), 3700),
        put(&format!("sub/.readproof-{GONE}-9.tmp/x"), 3700),
        put("precious.txt", 3700),
    ];
    ws.link(&link, "../precious.txt");
    stays.push(link);
    ws.link("loop", ".");
    if ws.is_root() {
        stays.push(put(&format!("sub/.readproof-{GONE}-3.tmp"), 3700));
        std::os::unix::fs::chown(ws.path(&stays[stays.len() - 1]), Some(12345), None).unwrap();
    }
    let dry = ws.run("gc --dry-run --json").json();
    let mut named: Vec<&str> = goes.iter().map(String::as_str).collect();
    named.sort_unstable();
    assert_eq!(dry["planned"]["temporary_files"], serde_json::json!(named));
    finds(&ws, "leftovers", "warning", &["4 temporary files of processes that are gone", &goes[2], &goes[3]]);
    let text = ws.run("gc").text();
    assert!(text.starts_with("removed 0 objects (0 B) and 4 temporary files;"), "{text}");
    for name in &goes {
        assert!(!ws.path(name).exists(), "{name}");
    }
    for name in &stays {
        assert!(fs::symlink_metadata(ws.path(name)).is_ok(), "{name}");
    }
    finds(&ws, "leftovers", "ok", &["none"]);
}

#[test]
fn gc_says_which_folders_it_could_not_look_into() {
    let ws = held();
    if ws.is_root() {
        // Permissions do not apply to root, but the depth limit does.
        fs::create_dir_all(ws.path(&"d/".repeat(120))).unwrap();
    } else {
        ws.put("closed/x", "");
        ws.chmod("closed", 0o000);
    }
    assert!(ws.run("gc").text().contains("not all folders could be looked into"));
    finds(&ws, "leftovers", "warning", &["not all folders could be looked into"]);
    if !ws.is_root() {
        ws.chmod("closed", 0o700);
    }
}

#[test]
fn gc_without_a_store_makes_none() {
    let ws = Workspace::new();
    assert!(ws.run("gc").text().starts_with("removed 0 objects"));
    ws.run("gc --older-than soon").refused(2, &["--older-than"]);
    assert_eq!(ws.names(), [""; 0]);
}

/// The health of a check by its name.
fn health(ws: &Workspace, name: &str) -> (Option<i32>, String, String) {
    let done = ws.run("doctor --json");
    let json: Value = serde_json::from_str(&done.out).unwrap_or_else(|error| panic!("{error}: {done:?}"));
    assert_eq!(json["ok"] == true, done.code == Some(0), "{json}");
    let of = |check: &Value| (check["health"].as_str().unwrap().to_owned(), check["message"].to_string());
    let mut found: Vec<_> = json["checks"].as_array().unwrap().iter().filter(|c| c["check"] == name).map(of).collect();
    let (health, says) = found.pop().unwrap_or_else(|| panic!("no {name} in {json}"));
    (done.code, health, says)
}

#[track_caller]
fn finds(ws: &Workspace, name: &str, expected: &str, words: &[&str]) {
    let (code, health, says) = health(ws, name);
    assert_eq!((health.as_str(), code), (expected, Some(i32::from(expected == "problem"))), "{says}");
    assert!(words.iter().all(|word| says.contains(word)), "{says}");
}

#[test]
fn the_doctor_finds_nothing_where_nothing_is_wrong() {
    let ws = Workspace::new();
    finds(&ws, "store", "ok", &["none yet"]);
    assert_eq!(ws.names(), [""; 0]);
    let ws = held();
    for check in ["workspace", "store", "git", "objects", "logs", "leftovers", "settings", "host"] {
        finds(&ws, check, "ok", &[]);
    }
    let text = ws.run("doctor").text();
    assert!(text.contains("1 stored texts") && text.contains("1 sessions, 3 entries"), "{text}");
}

#[test]
fn the_doctor_names_what_is_wrong() {
    let ws = held();
    let object = ws.path(".readproof/objects").join(objects(&ws).remove(0));
    let good = fs::read(&object).unwrap();
    fs::write(&object, "other").unwrap();
    finds(&ws, "objects", "problem", &["1 damaged: sha256-"]);
    assert!(ws.run("doctor").out.contains("-> delete these files"));
    fs::write(&object, good).unwrap();

    ws.put("readproof.toml", "answer_lines = \"many\"\n");
    finds(&ws, "settings", "problem", &["answer_lines", "will not do"]);
    ws.put("readproof.toml", "answer_lines = \n");
    finds(&ws, "settings", "problem", &["not valid TOML"]);
    fs::remove_file(ws.path("readproof.toml")).unwrap();

    ws.chmod(".readproof/tmp", 0o755);
    finds(&ws, "store", "problem", &["can be used by others"]);
    ws.chmod(".readproof/tmp", 0o700);

    let log = ws.path(".readproof/log/s.log");
    let good = fs::read(&log).unwrap();
    fs::write(&log, [&good[..], b"x\n"].concat()).unwrap();
    finds(&ws, "log", "problem", &["damaged at line 4"]);
    fs::write(&log, [&good[..], b"torn"].concat()).unwrap();
    finds(&ws, "logs", "ok", &["1 sessions"]);
    ws.chmod(".readproof/log/s.log", 0o640);
    finds(&ws, "log", "problem", &["s.log"]);
}

#[test]
fn the_doctor_warns_of_what_costs_nothing_yet() {
    let ws = held();
    ws.put(".readproof/.gitignore", "");
    finds(&ws, "git", "warning", &["missing or changed"]);
    fs::remove_file(ws.path(".readproof/.gitignore")).unwrap();
    finds(&ws, "git", "warning", &["missing or changed"]);
    ws.read("a.txt");
    finds(&ws, "git", "ok", &[]);
    let left = format!(".readproof/tmp/{GONE}-0.tmp");
    ws.put(&left, "half");
    age(&ws.path(&left), 3700);
    ws.put(".readproof/log/s.log.retired-1", "");
    finds(&ws, "leftovers", "warning", &["1 temporary files", "s.log.retired-1"]);
}
