//! `readproof replay --verify`: recorded answers are reproduced, and a single altered byte is found.

use std::{fs, path::PathBuf};

use crate::workspace::{Workspace, numbered};

/// A session that was answered in every way.
fn every_decision() -> Workspace {
    let ws = Workspace::with(&[("a.txt", &numbered(40)), (".env", "SECRET=1\n"), ("b.txt", "one\n")]);
    ws.read("a.txt");
    ws.read("a.txt");
    ws.read("a.txt:3-9");
    ws.put("a.txt", numbered(40).replace("\n20\n", "\ntwenty\n"));
    ws.read("a.txt:3-9");
    ws.read("a.txt");
    ws.put("a.txt", numbered(40).replace("\n20\n", "\nTWENTY\n"));
    ws.read("a.txt:18-22");
    ws.read("b.txt");
    ws.put("b.txt", "two\n");
    ws.read("b.txt");
    let counts = ws.counts();
    for mode in ["full", "unchanged", "unchanged_range", "diff", "baseline_fallback"] {
        assert!(counts[mode].as_u64().unwrap_or(0) > 0, "no {mode} in {counts}");
    }
    ws
}

fn objects(ws: &Workspace) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(ws.path(".readproof/objects")).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

#[test]
fn every_decision_comes_out_again() {
    let ws = every_decision();
    let line = format!("{:<24} 8 answers: 8 verified, 0 unverifiable, 0 wrong\n", "s");
    ws.run("replay --verify s").gives(&line);
    ws.run("read a.txt --session s --set answer_lines=5 --set answers=seed").code.unwrap();
    ws.run("session fork --session s --as t").gives("t\n");
    let json = ws.run("replay --verify --json").json();
    assert_eq!(json["ok"], true);
    for (at, name) in ["s", "t"].iter().enumerate() {
        let session = &json["sessions"][at];
        assert_eq!((&session["session"], &session["verified"]), (&(*name).into(), &9.into()), "{json}");
    }
    // The files themselves do not matter.
    fs::remove_file(ws.path("a.txt")).unwrap();
    ws.run("replay --verify s").text();
}

#[test]
fn a_sensitive_file_is_said_to_be_unverifiable() {
    let ws = every_decision();
    ws.read(".env");
    let text = ws.run("replay --verify").text();
    assert!(text.contains("9 answers: 8 verified, 1 unverifiable, 0 wrong\n"), "{text}");
    assert!(text.contains(".env: the file is sensitive"), "{text}");
}

#[test]
fn any_altered_byte_of_a_log_is_named() {
    let ws = every_decision();
    let path = ws.path(".readproof/log/s.log");
    let good = fs::read(&path).unwrap();
    for at in (0..good.len()).step_by(97) {
        let mut bad = good.clone();
        bad[at] ^= 1;
        fs::write(&path, &bad).unwrap();
        let done = ws.run("replay --verify");
        let line = 1 + good[..at].iter().filter(|byte| **byte == b'\n').count();
        let named = [line, line + 1].iter().any(|n| done.out.contains(&format!("damaged at line {n} ")));
        assert!(named && done.code == Some(1) && done.err.is_empty(), "byte {at}, line {line}: {done:?}");
    }
    fs::write(&path, &good).unwrap();
    ws.run("replay --verify").text();
}

#[test]
fn any_altered_object_is_named() {
    let ws = every_decision();
    for path in objects(&ws) {
        let good = fs::read(&path).unwrap();
        let mut bad = good.clone();
        bad[good.len() / 2] ^= 1;
        fs::write(&path, &bad).unwrap();
        let done = ws.run("replay --verify");
        let name = path.file_name().unwrap().to_str().unwrap();
        assert_eq!(done.code, Some(1), "{done:?}");
        assert!(done.out.contains(&format!("{name} is damaged")) && done.out.contains("WRONG: s e"), "{done:?}");
        let json: serde_json::Value = serde_json::from_str(&ws.run("replay --verify --json").out).unwrap();
        assert_eq!((&json["ok"], &json["sessions"][0]["wrong"][0]["code"]), (&false.into(), &"damaged_object".into()));
        fs::write(&path, &good).unwrap();
    }
    ws.run("replay --verify").text();
}

#[test]
fn a_removed_object_makes_answers_unverifiable_and_nothing_wrong() {
    let ws = every_decision();
    for path in objects(&ws) {
        fs::remove_file(path).unwrap();
    }
    let text = ws.run("replay --verify").text();
    assert!(text.contains("8 answers: 0 verified, 8 unverifiable, 0 wrong\n"), "{text}");
    assert!(text.contains("is not stored, or no longer"), "{text}");
}

#[test]
fn own_writes_are_replayed() {
    let ws = Workspace::with(&[("a.txt", &numbered(40))]);
    ws.feed("write new.txt --session s", "one\ntwo\n").text();
    ws.run("edit a.txt --session s --old 39 --new thirty-nine").text();
    ws.feed("write .env --session s --set policy_preset=open", "SECRET=1\n").text();
    ws.run("edit a.txt --session s --old nothing --new x").refused(1, &["does not occur"]);
    let text = ws.run("replay --verify").text();
    assert!(text.contains("0 answers: 0 verified, 0 unverifiable, 0 wrong; 3 writes: 2 verified, 1 unver"), "{text}");
    assert!(text.contains(".env: the file is sensitive"), "{text}");
    let json = ws.run("replay --verify --json").json()["sessions"][0].clone();
    assert_eq!((&json["writes"], &json["verified_writes"]), (&3.into(), &2.into()), "{json}");
    assert_eq!(json["unverifiable"][0]["about"], "write", "{json}");
    for path in objects(&ws) {
        let good = fs::read(&path).unwrap();
        fs::write(&path, "altered").unwrap();
        let done = ws.run("replay --verify");
        assert!(done.code == Some(1) && done.out.contains("is damaged: it is not the text"), "{done:?}");
        fs::remove_file(&path).unwrap();
        let text = ws.run("replay --verify").text();
        assert!(text.contains("3 writes: 1 verified, 2 unverifiable, 0 wrong"), "{text}");
        fs::write(&path, good).unwrap();
        ws.chmod(path.to_str().unwrap(), 0o600);
    }
}

/// A write that was announced and whose outcome was lost with the end of the log.
#[test]
fn a_write_without_an_outcome_is_said() {
    let ws = Workspace::with(&[("a.txt", &numbered(40))]);
    ws.feed("write new.txt --session s", "x").text();
    let log = ws.get(".readproof/log/s.log");
    let begun = log.split_inclusive('\n').position(|line| line.contains("\"begun\"")).unwrap();
    ws.put(".readproof/log/s.log", log.split_inclusive('\n').take(begun + 1).collect::<String>());
    let text = ws.run("replay --verify").text();
    assert!(text.contains("1 writes: 0 verified, 1 unverifiable, 0 wrong"), "{text}");
    assert!(text.contains("new.txt: a write was begun here and its outcome is not recorded"), "{text}");
    // One that cannot begin is not announced.
    ws.feed("write a.txt/below --session t", "x").refused(1, &["check the parents"]);
    assert!(!ws.run("replay --verify").text().contains("below"));
}

#[test]
fn logs_that_were_put_aside_are_replayed() {
    let ws = every_decision();
    let limited = || ws.shell("trap '' XFSZ; ulimit -f 1; exec \"$@\"", "read a.txt --session s");
    limited().noticed(&["no space left", "s.log.retired-1"]);
    let text = ws.run("replay --verify").text();
    let line = format!("{:<24} 8 answers: 8 verified, 0 unverifiable, 0 wrong\n", "s.log.retired-1");
    assert_eq!(text, line);
    ws.read("a.txt");
    let line = format!("{:<24} 1 answers: 1 verified, 0 unverifiable, 0 wrong\n{line}", "s");
    ws.run("replay --verify s").gives(&line);
    // Damage to a log that nothing relies on is reported, but is not an error of an answer.
    let aside = ws.path(".readproof/log/s.log.retired-1");
    ws.chmod(".readproof/log/s.log.retired-1", 0o600);
    let mut bytes = fs::read(&aside).unwrap();
    let end = bytes.len() - 2;
    bytes[end] ^= 1;
    fs::write(&aside, bytes).unwrap();
    let text = ws.run("replay --verify s").text();
    assert!(text.contains("s.log.retired-1          8 answers: 8 verified, 1 unverifiable, 0 wrong"), "{text}");
    assert!(
        text.contains("retired-1 log: the rest of this log, which was put aside, cannot be read: it is dam"),
        "{text}"
    );
    fs::remove_file(&aside).unwrap();
    fs::create_dir(&aside).unwrap();
    let json = ws.run("replay --verify --json").json()["sessions"][1].clone();
    assert_eq!((&json["retired"], &json["unverifiable"][0]["code"]), (&1.into(), &"put_aside".into()), "{json}");
}

#[test]
fn many_findings_are_counted_not_listed() {
    let ws = Workspace::with(&[(".env", "SECRET=1\n")]);
    for _ in 0..23 {
        ws.read(".env");
    }
    let text = ws.run("replay --verify").text();
    assert_eq!(text.matches("unverifiable: s e").count(), 20, "{text}");
    assert!(text.ends_with("unverifiable: s and 3 more\n"), "{text}");
}

#[test]
fn without_sessions_and_with_unknown_ones() {
    let ws = Workspace::with(&[("a.txt", "a\n")]);
    ws.run("replay --verify").gives("there are no sessions in this workspace\n");
    ws.run("replay --verify s").refused(1, &["there is no session s"]);
    ws.run("replay s").refused(1, &["there is no session s"]);
    ws.read("a.txt");
    ws.run("replay --verify t").refused(1, &["there is no session t"]);
    ws.run("replay --verify ../t").refused(2, &["not a valid session name"]);
    ws.chmod(".readproof/log/s.log", 0o644);
    let done = ws.run("replay --verify");
    assert!(done.code == Some(1) && done.out.contains("WRONG: s log"), "{done:?}");
}
