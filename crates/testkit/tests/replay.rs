//! Whatever a random run did, its logs can be replayed with the same answers, except for texts that the run itself
//! removed or altered.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests and their helpers")]

use readproof_core::edit::Places;
use readproof_core::{
    limits::Answers,
    path::{Bearings, PathKey},
};
use readproof_disk::{Create, LocalStore, LogName, Root, SessionName, Store};
use readproof_engine::{
    Engine, Replayed, ReplayedLog, Settings, Unverifiable, Wrong,
    operation::{Change, Operation, Read},
};
use readproof_hosts::session::{Focus, Session};
use readproof_testkit::{
    ask::Ask,
    kept::Keep,
    op::{Random, script},
    run::{left, replayed},
};
use readproof_words::replay as words;
use serde_json::Value;
use std::{fs, path::Path};

/// A command that answers one read looks only at what concerns its file, and must know as much about it as a full load.
#[test]
fn what_is_held_of_a_file_needs_no_other_files_answers() {
    let mut seeds = Random::new(12);
    let (mut compared, mut held) = (0, 0);
    for _ in 0..25 {
        let world = left(seeds.bits(), &script(seeds.bits(), 120)).expect("the harness works");
        let store = LocalStore::open(&Root::open(world.path()).unwrap()).unwrap();
        for name in store.logs().sessions() {
            let open = |focus| Session::open_for(&store, &name, Create::No, Answers::Held, focus).unwrap().unwrap();
            let all = open(Focus::All);
            for file in world.names().iter().map(|name| PathKey::new(name)) {
                let one = open(Focus::Named(file.as_str().rsplit('/').next().unwrap().to_owned()));
                assert!(one.covers(&file) && all.covers(&file));
                assert_eq!(one.transcript().leaf(), all.transcript().leaf());
                assert_eq!(one.transcript().is_pending(&file), all.transcript().is_pending(&file));
                for entry in 0..=all.transcript().leaf().unwrap_or(0) {
                    let at = |session: &Session| session.transcript().knowledge_at(Some(entry)).of(&file).to_vec();
                    assert_eq!(at(&one), at(&all), "{name} {file} at {entry}");
                    held += usize::from(!at(&one).is_empty());
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 10_000 && held > 500, "{held} of {compared}");
}

#[test]
fn what_random_runs_recorded_comes_out_again() {
    let mut seeds = Random::new(11);
    let (mut verified, mut written, mut gone, mut altered) = (0, 0, 0, 0);
    for round in 0..30 {
        let (world, ops) = (seeds.bits(), script(seeds.bits(), 80));
        let keep = if round < 25 { Keep::OnDisk } else { Keep::InMemory };
        for session in replayed(world, &ops, keep).expect("the harness works") {
            verified += session.verified;
            written += session.written;
            for finding in &session.wrong {
                let by_the_run = matches!(finding.what, Wrong::DamagedObject(_));
                assert!(by_the_run, "seed {world}: {:?} {:?}: {:?}", session.session, finding.entry, finding.what);
                altered += 1;
            }
            for finding in &session.unverifiable {
                // What the log of calls cannot verify it says by design; what is wrong in it counts above.
                let expected = session.of == ReplayedLog::Calls
                    || matches!(
                        finding.what,
                        Unverifiable::Sensitive
                            | Unverifiable::TextMissing(_)
                            | Unverifiable::BaseMissing(_)
                            | Unverifiable::Unfinished
                            | Unverifiable::PutAside(_)
                    );
                assert!(expected, "seed {world}: {:?} {:?}: {:?}", session.session, finding.entry, finding.what);
                gone += 1;
            }
        }
    }
    let said = format!("{verified} verified, {written} written, {gone} gone, {altered} altered");
    assert!(verified > 400 && written > 50 && gone > 0 && altered > 0, "{said}");
}

/// A log with a correct hash chain and wrong records: only a replay can tell.
#[test]
fn a_forged_record_is_named() {
    let check = |line: u64, alter: fn(&mut Value), expected: &str| {
        let dir = tempfile::tempdir().expect("a folder");
        let engine = engine(dir.path());
        for ninth in ["9", "nine"] {
            fs::write(dir.path().join("a.txt"), ninety(ninth)).unwrap();
            for _ in 0..2 {
                let answer = engine.read(Some(&s()), read()).unwrap();
                engine.delivered(&answer.given.unwrap()).unwrap();
            }
        }
        let clean = engine.ask::<Vec<Replayed>>(None, Operation::Replay).unwrap();
        assert!(clean.iter().all(|session| session.verified == 4 && session.wrong.is_empty()));
        let said = forged(&engine, dir.path(), line, alter);
        assert!(said.iter().any(|line| line.contains(expected)), "{expected}: {said:?}");
    };
    // 1 open, 2 full, 3 its delivery, 4 unchanged, 5, 6 diff, 7, 8 unchanged, 9.
    check(2, |r| r["answer"]["block"]["bytes"] = 7.into(), "EntryId(2)) the text shown differs: recorded 7 bytes");
    check(2, |r| r["answer"]["scope"] = "r:1:2".into(), "EntryId(2)) the scope differs");
    check(2, |r| r["answer"]["lines"] = serde_json::json!([1, 35]), "EntryId(2)) the lines shown differs");
    check(2, |r| r["answer"]["end"] = false.into(), "EntryId(2)) the end shown differs");
    check(2, |r| r["answer"]["limit"] = 2.into(), "EntryId(2)) the text shown differs");
    check(2, |r| r["answer"]["offset"] = 99.into(), "EntryId(2)) the request cannot be meant");
    check(6, |r| r["answer"]["path"] = "b.txt".into(), "EntryId(6)) what was held before it does not allow");
    check(3, |r| r["of"] = 99.into(), "EntryId(4)) what was held before it does not allow");
    check(3, |r| r["kind"] = "shiny".into(), "EntryId(3)) the record is of a kind");
    check(6, |r| r["answer"]["reason"] = "same_lines".into(), "EntryId(6)) the reason differs");
    check(6, |r| r["answer"]["rule"] = "lf-2".into(), "EntryId(6)) it was made under the line rule `lf-2`");
    check(1, |r| r["v"] = 9.into(), "None the log was written by a newer readproof");
}

#[test]
fn a_forged_write_is_named() {
    let check = |line: u64, alter: fn(&mut Value), expected: &str| {
        let dir = tempfile::tempdir().expect("a folder");
        let engine = engine(dir.path());
        let edit =
            |old: &str, new: &str| Change::Replace { old: old.to_owned(), new: new.to_owned(), places: Places::One };
        for change in [Change::Whole(ninety("9")), edit("9\n10\n", "nine\n"), edit("\n90\n", "")] {
            engine.write(&s(), "a.txt", change).unwrap();
        }
        let clean = engine.ask::<Vec<Replayed>>(None, Operation::Replay).unwrap().remove(0);
        assert!(clean.written == 3 && clean.wrong.is_empty() && clean.unverifiable.is_empty(), "{clean:?}");
        let said = forged(&engine, dir.path(), line, alter);
        assert!(said.iter().any(|line| line.contains(expected)), "{expected}: {said:?}");
    };
    // 1 open, 2 begun, 3 whole, 4 begun, 5 edit, 6 begun, 7 edit.
    check(3, |r| r["changed"]["after"][1] = 7.into(), "EntryId(3)) the number of lines differs: recorded 7");
    check(3, |r| r["changed"]["path"] = "b.txt".into(), "EntryId(3)) no entry before it says");
    check(3, |r| r["changed"]["begun"] = 1.into(), "EntryId(3)) no entry before it says");
    check(3, |r| r["changed"]["begun"] = 1.into(), "EntryId(2)) a write was begun here and its outcome");
    check(5, |r| r["changed"]["before"][1] = 91.into(), "EntryId(5)) the number of lines before differs");
    check(5, |r| r["changed"]["before"] = r["changed"]["after"].clone(), "EntryId(5)) the text after it is not");
    check(5, |r| r["changed"]["before"] = Value::Null, "EntryId(5)) the text after it is not");
    // What its answer said.
    check(5, |r| r["changed"]["stated"][0][1] = 9.into(), "EntryId(5)) the text after it is not");
    check(5, |r| r["changed"]["stated"][0][2] = 2.into(), "EntryId(5)) the text after it is not");
    check(7, |r| r["changed"]["stated"][0][0] = 0.into(), "EntryId(7)) the text after it is not");
    check(7, |r| r["changed"]["stated"][0][1] = u32::MAX.into(), "EntryId(7)) the text after it is not");
    // A record of an older program, whose answer did not say which lines changed.
    check(5, |r| older(r, [9, 9, 1]), "EntryId(5)) the text after it is not");
    check(7, |r| older(r, [0, 90, 89]), "EntryId(7)) the text after it is not");
    check(7, |r| older(r, [1, u32::MAX, 89]), "EntryId(7)) the text after it is not");
    check(7, |r| r["changed"]["after"] = Value::Null, "EntryId(7)) the file is sensitive");
}

/// An edit as it was recorded before answers said which lines changed.
fn older(record: &mut Value, hunk: [u32; 3]) {
    let changed = record["changed"].as_object_mut().unwrap();
    changed.remove("stated");
    changed.remove("block");
    changed.insert("hunk".to_owned(), serde_json::json!(hunk));
}

/// What a replay says about a copy of session `s` with one record altered and the hash chain recomputed.
fn forged(engine: &Engine, root: &Path, line: u64, alter: fn(&mut Value)) -> Vec<String> {
    let (from, to) = (s(), SessionName::parse("forged").unwrap());
    let store = LocalStore::open(&Root::open(root).unwrap()).unwrap();
    let payloads = store.logs().open(&LogName::from(&from), Create::No).unwrap().unwrap().catch_up().unwrap();
    let mut log = store.logs().open(&LogName::from(&to), Create::Yes).unwrap().unwrap();
    for payload in payloads {
        let mut record: Value = serde_json::from_str(&payload.text).unwrap();
        if payload.line == line {
            alter(&mut record);
        }
        log.append(&record.to_string()).unwrap();
    }
    let forged = engine.ask::<Vec<Replayed>>(Some(&to), Operation::Replay).unwrap().remove(0);
    let wrong = forged.wrong.iter().map(|finding| format!("{:?} {}", finding.entry, words::wrong(&finding.what)));
    let open = forged.unverifiable.iter();
    let open = open.map(|finding| format!("{:?} {}", finding.entry, words::unverifiable(&finding.what)));
    wrong.chain(open).collect()
}

/// Ninety lines, the ninth as given.
fn ninety(ninth: &str) -> String {
    (1..=90).map(|n| if n == 9 { format!("{ninth}\n") } else { format!("{n}\n") }).collect()
}

fn engine(root: &Path) -> Engine {
    let bearings = Bearings { cwd: root.display().to_string(), home: None };
    Engine::new(Root::open(root).unwrap(), bearings, Settings::default(), Box::new(|| 0)).unwrap()
}

fn s() -> SessionName {
    SessionName::parse("s").unwrap()
}

fn read() -> Read {
    Read { path: "a.txt".to_owned(), ..Read::default() }
}
