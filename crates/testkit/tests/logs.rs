//! The rules of the audit log, the query log and continuations, one test for each: what their mutants must fail.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests make files, and may panic")]

use readproof_core::{edit::Places, operation::Forget, path::Bearings};
use readproof_disk::{Lasting, Root, SessionName};
use readproof_engine::{
    Auditing, Call, CallLog, Control, Engine, LoggedSession, Outcome, Settings,
    audit::{AuditLog, AuditWriter, Begun, CallLine, Line, Opened, Pending},
    operation::{Caller, Change, Operation, Read},
};
use readproof_testkit::{ask::Ask, load::tamper};
use std::{fs, path::Path};
use tempfile::TempDir;

fn engine(root: &Path) -> Engine {
    let bearings = Bearings { cwd: root.display().to_string(), home: None };
    let settings = Settings { audit: Auditing::On, call_log: CallLog::Later, ..Settings::default() };
    Engine::new(Root::open(root).unwrap(), bearings, settings, Box::new(|| 1)).unwrap().with_audit(None)
}

/// A workspace with a file, and its engine.
fn begun() -> (TempDir, Engine) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.txt"), "one\ntwo\nthree\n").unwrap();
    fs::write(folder.path().join(".env"), "KEY=value\n").unwrap();
    let engine = engine(&folder.path().canonicalize().unwrap());
    (folder, engine)
}

fn session() -> SessionName {
    SessionName::parse("s").unwrap()
}

fn of(path: &str) -> Read {
    Read { path: path.to_owned(), ..Read::default() }
}

fn replace(engine: &Engine, old: &str, new: &str) {
    let change = Change::Replace { old: old.to_owned(), new: new.to_owned(), places: Places::One };
    engine.write(&session(), "a.txt", change).unwrap();
}

/// The calls in the log, each with what is kept of it.
fn calls(engine: &Engine) -> Vec<(CallLine, Option<String>)> {
    let Some(log) = engine.audit_log().unwrap() else { return Vec::new() };
    let line = |entry| {
        let line = Line::parse(&log.entry(entry).unwrap()).unwrap();
        let kept = log.disclosed(entry, &line).unwrap().map(|kept| kept.text);
        if let Line::Call(call) = line { Some((*call, kept)) } else { None }
    };
    (0..log.size().unwrap()).filter_map(line).collect()
}

#[test]
fn a_change_is_acknowledged_after_its_lines_are_written() {
    let (folder, engine) = begun();
    engine.read(Some(&session()), of("a.txt")).unwrap();
    for round in 0..5 {
        replace(&engine, "two", "2");
        assert_eq!(calls(&engine).last().unwrap().0.tool, "write", "round {round}");
        let logged = fs::read_to_string(folder.path().join(".readproof/log/s.calls")).unwrap();
        assert!(logged.lines().last().unwrap().contains("\"op\":\"write\""), "round {round}: {logged}");
        replace(&engine, "2", "two");
    }
}

#[test]
fn the_same_text_leaves_another_hash_each_time() {
    let (_folder, engine) = begun();
    for _ in 0..2 {
        engine.read(None, of("a.txt")).unwrap();
    }
    engine.finish_concerns();
    let calls = calls(&engine);
    assert_eq!(calls.len(), 2);
    assert_eq!(calls[0].1, calls[1].1);
    assert!(calls[0].0.returned.is_some() && calls[0].0.returned != calls[1].0.returned);
}

#[test]
fn nothing_is_kept_of_a_sensitive_file() {
    let (folder, engine) = begun();
    engine.read(Some(&session()), of(".env")).unwrap();
    engine.finish_concerns();
    engine.finish_logs();
    let (call, kept) = calls(&engine).pop().unwrap();
    assert!(call.files[0].sensitive && call.returned.is_none() && kept.is_none(), "{call:?}");
    for part in walk(&folder.path().join(".readproof")) {
        let bytes = fs::read(&part).unwrap();
        assert!(!String::from_utf8_lossy(&bytes).contains("KEY=value"), "{}", part.display());
    }
}

fn walk(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

#[test]
fn an_altered_log_is_put_aside_and_not_signed_again() {
    let (folder, engine) = begun();
    replace(&engine, "two", "2");
    engine.finish_concerns();
    drop(engine);
    let tail = folder.path().join(".readproof/audit/tail");
    let mut bytes = fs::read(&tail).unwrap();
    let at = bytes.windows(5).position(|bytes| bytes == b"a.txt").unwrap();
    bytes[at] = b'b';
    fs::write(&tail, bytes).unwrap();
    let engine = self::engine(&folder.path().canonicalize().unwrap());
    let writer = engine.audit_writer().unwrap();
    assert!(writer.aside().is_some());
    assert!(folder.path().join(".readproof/audit.aside-1").exists());
}

#[test]
fn calls_that_got_no_line_are_said_before_the_next_one() {
    let (_folder, engine) = begun();
    engine.read(None, of("a.txt")).unwrap();
    engine.finish_concerns();
    let root = engine.root().path().to_path_buf();
    let store = readproof_disk::LocalStore::open(&Root::open(&root).unwrap()).unwrap();
    let mut random = readproof_testkit::op::Random::new(1);
    let with = Opened { keeps_texts: true, now: 1 };
    let mut writer = AuditWriter::open(&store, Begun::new(&store).unwrap(), with).unwrap();
    let pending = |seq, random: &mut _| Pending { seq, facts: tamper::facts(random) };
    writer.append(&[pending(5, &mut random)], Lasting::No).unwrap();
    writer.append(&[pending(6, &mut random), pending(7, &mut random)], Lasting::No).unwrap();
    writer.append(&[pending(9, &mut random)], Lasting::No).unwrap();
    writer.sign().unwrap();
    writer.close(9);
    let log = AuditLog::open(&store).unwrap().unwrap();
    let gaps: Vec<u64> = (0..log.size().unwrap())
        .filter_map(|entry| {
            let line = Line::parse(&log.entry(entry).unwrap());
            if let Some(Line::Gap(gap)) = line { Some(gap.missing) } else { None }
        })
        .collect();
    assert_eq!(gaps, [4, 1]);
    let found = log.verify(&log.key().unwrap(), None, &|_, _| ()).unwrap();
    assert_eq!((found.missing, found.problems), (5, Vec::new()));
}

#[test]
fn a_forgotten_text_goes_from_the_audit_and_its_line_stays() {
    let (_folder, engine) = begun();
    engine.read(Some(&session()), of("a.txt")).unwrap();
    replace(&engine, "two", "2");
    let (caller, conversation) = (Caller::of("test"), &mut LoggedSession::named(None));
    let forget = Forget { paths: vec!["a.txt".to_owned()], before: None, dry_run: false };
    let call = Call { caller: &caller, conversation, operation: Operation::Forget(forget), control: Control::WAIT };
    let Outcome::Forgotten(done) = engine.perform(call).unwrap() else { panic!("forgotten") };
    assert_eq!(done.told, 2, "{done:?}");
    let calls = calls(&engine);
    assert!(calls.iter().take(2).all(|(_, kept)| kept.is_none()), "{calls:?}");
    let log = engine.audit_log().unwrap().unwrap();
    assert_eq!(log.verify(&log.key().unwrap(), None, &|_, _| ()).unwrap().problems, Vec::new());
}

#[test]
fn a_continuation_is_of_the_text_that_it_names_or_refused() {
    let (folder, engine) = begun();
    let first = engine.read(None, of("a.txt")).unwrap();
    let hash = readproof_core::text::ContentHash::of(first.text.as_bytes()).to_string();
    let rest = || Read { offset: Some(3), snapshot: Some(hash[..12].to_owned()), ..of("a.txt") };
    assert_eq!(engine.read(None, rest()).unwrap().text, "three\n");
    fs::write(folder.path().join("a.txt"), "zero\none\ntwo\nthree\n").unwrap();
    let refused = engine.read(None, rest()).unwrap_err();
    assert!(refused.to_string().contains("OtherText"), "{refused}");
}
