//! Moments at which a conversation moves, a result is late, or a log is lost, while an answer or a write is on its way.
//! After each, what the model saw last must not be mistaken for what it saw before.
#![allow(clippy::unwrap_used, reason = "a test may panic, in its helpers too")]

use readproof_core::edit::Places;
use readproof_core::{limits::Answers, path::Bearings, text::Text};
use readproof_disk::{Create, LocalStore, LocalStores, LogName, Root, SessionName, SmallTexts, Store, Stores, Whose};
use readproof_engine::{Answer, Change, Engine, Read, Receipt, Settings, Write};
use readproof_hosts::own::{Changed, Session, Sha};
use std::{
    cell::{Cell, RefCell},
    fs,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};
use tempfile::TempDir;

const OLD: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\neleven\ntwelve\n";

fn new() -> String {
    OLD.replace("two", "TWO")
}

/// A workspace with a file `f`; every engine is a process of its own.
struct Fixture {
    dir: TempDir,
}

impl Fixture {
    fn new() -> Self {
        let fixture = Self { dir: tempfile::tempdir().unwrap() };
        fixture.put("f", OLD);
        fixture.put("g", "beside\n");
        fixture
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn put(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn root(&self) -> Root {
        Root::open(self.dir.path()).unwrap()
    }

    fn engine(&self) -> Engine {
        let cwd = self.root().path().display().to_string();
        Engine::new(self.root(), Bearings { cwd, home: None }, Settings::default(), Box::new(|| 0)).unwrap()
    }
}

fn s() -> SessionName {
    SessionName::parse("s").unwrap()
}

fn request(path: &str, session: &str) -> Read {
    let session = Some(SessionName::parse(session).unwrap());
    Read { path: path.to_owned(), session, ..Read::default() }
}

/// An answer that is not confirmed yet.
fn ask(engine: &mut Engine, path: &str) -> Receipt {
    engine.read(&request(path, "s"), &|| false).unwrap().receipt.unwrap()
}

fn read_in(engine: &mut Engine, path: &str, session: &str) -> Answer {
    let answer = engine.read(&request(path, session), &|| false).unwrap();
    if let Some(receipt) = &answer.receipt {
        engine.delivered(receipt).unwrap();
    }
    answer
}

fn read(engine: &mut Engine, path: &str) -> Answer {
    read_in(engine, path, "s")
}

#[track_caller]
fn is_plain(answer: &Answer) {
    assert!(!answer.mode.is_derived(), "{:?} {:?}", answer.mode, answer.text);
}

#[test]
fn a_fork_of_a_branch_with_a_result_confirmed_twice() {
    let fixture = Fixture::new();
    let mut engine = fixture.engine();
    let receipt = ask(&mut engine, "f");
    engine.delivered(&receipt).unwrap();
    engine.delivered(&receipt).unwrap();
    fixture.put("f", &new());
    read(&mut engine, "f");
    engine.session_fork(&s(), None, Some(SessionName::parse("t").unwrap())).unwrap();
    fixture.put("f", OLD);
    is_plain(&read_in(&mut fixture.engine(), "f", "t"));
}

#[test]
fn a_fork_of_a_branch_with_an_entry_of_a_later_program() {
    let fixture = Fixture::new();
    let mut engine = fixture.engine();
    read(&mut engine, "f");
    let store = LocalStore::open(&fixture.root()).unwrap();
    let mut log = store.logs().open(&LogName::from(&s()), Create::No).unwrap().unwrap();
    log.catch_up().unwrap();
    log.append("{\"kind\":\"later\",\"parent\":3}").unwrap();
    fixture.put("f", &new());
    read(&mut engine, "f");
    engine.session_fork(&s(), None, Some(SessionName::parse("t").unwrap())).unwrap();
    fixture.put("f", OLD);
    is_plain(&read_in(&mut fixture.engine(), "f", "t"));
}

#[test]
fn a_receipt_of_a_log_that_was_put_aside() {
    let fixture = Fixture::new();
    let mut slow = fixture.engine();
    let receipt = ask(&mut slow, "f");
    let stores = LocalStores::new(&fixture.root(), Whose::default(), SmallTexts::default()).unwrap();
    stores.retire(&LogName::from(&s())).unwrap();
    // Of another process, which dies before it shows anything.
    ask(&mut fixture.engine(), "g");
    assert!(slow.delivered(&receipt).is_err());
    is_plain(&read(&mut fixture.engine(), "g"));
}

/// Somebody compacts, or goes to the root.
fn move_away(engine: &mut Engine, compacts: bool) {
    if compacts {
        engine.session_compact(&s(), None).unwrap();
    } else {
        engine.session_branch(&s(), None).unwrap();
    }
}

#[test]
fn a_write_that_is_out_while_the_conversation_moves() {
    for compacts in [true, false] {
        let fixture = Fixture::new();
        let mut engine = fixture.engine();
        read(&mut engine, "f");
        let store = LocalStore::open(&fixture.root()).unwrap();
        let mut writer = Session::open(&store, &s(), Create::No, Answers::Held).unwrap().unwrap();
        let text = Text::new(new());
        let begun = writer.begin("f", 0).unwrap().0;
        move_away(&mut engine, compacts);
        fixture.put("f", text.as_str());
        let after = Some((Sha(text.hash()), text.total()));
        let change = Changed {
            begun,
            path: "f".to_owned(),
            before: None,
            after,
            hunk: None,
            stated: Vec::new(),
            block: None,
            at: 0,
        };
        let done = writer.change(change).unwrap();
        writer.deliver(done).unwrap();
        is_plain(&read(&mut engine, "f"));
    }
}

#[test]
fn a_plain_read_that_is_out_while_the_conversation_moves() {
    for compacts in [true, false] {
        for stage in 0..4 {
            let fixture = Fixture::new();
            let mut engine = fixture.engine();
            read(&mut engine, "g");
            let (other, count) = (RefCell::new(fixture.engine()), Cell::new(0));
            let hook = || {
                if count.get() == stage {
                    move_away(&mut other.borrow_mut(), compacts);
                }
                count.set(count.get() + 1);
                false
            };
            let answer = engine.read(&request("f", "s"), &hook).unwrap();
            engine.delivered(&answer.receipt.unwrap()).unwrap();
            is_plain(&read(&mut engine, "f"));
        }
    }
}

#[test]
fn a_batch_confirmed_in_another_order_than_asked() {
    let fixture = Fixture::new();
    let mut engine = fixture.engine();
    let first = ask(&mut engine, "f");
    fixture.put("f", &new());
    let second = ask(&mut engine, "f");
    engine.delivered(&second).unwrap();
    engine.delivered(&first).unwrap();
    fixture.put("f", OLD);
    is_plain(&read(&mut engine, "f"));
}

#[test]
fn a_refresh_while_an_answer_is_out() {
    let fixture = Fixture::new();
    let mut engine = fixture.engine();
    let receipt = ask(&mut engine, "f");
    engine.refresh("f", None, None, &s()).unwrap();
    engine.delivered(&receipt).unwrap();
    is_plain(&read(&mut engine, "f"));
}

#[test]
fn a_context_edit_of_another_branch_is_refused() {
    let fixture = Fixture::new();
    let mut engine = fixture.engine();
    let entry = read(&mut engine, "f").receipt.unwrap().entry;
    engine.session_branch(&s(), None).unwrap();
    read(&mut engine, "g");
    assert!(engine.context_edited(&s(), entry, None).is_err());
    engine.session_switch(&s(), entry).unwrap();
    engine.context_edited(&s(), entry, None).unwrap();
    is_plain(&read(&mut engine, "f"));
}

#[test]
fn a_store_that_was_a_link_for_a_while() {
    let fixture = Fixture::new();
    read(&mut fixture.engine(), "f");
    fs::rename(fixture.path(".readproof"), fixture.path("x")).unwrap();
    std::os::unix::fs::symlink("x", fixture.path(".readproof")).unwrap();
    fixture.put("f", &new());
    let answer = read(&mut fixture.engine(), "f");
    assert!(answer.notices[0].contains("use another session than s"), "{:?}", answer.notices);
}

/// The process that could not put the log aside does so as soon as it can, and relies on nothing before that.
#[test]
fn a_store_that_comes_back_under_a_process() {
    let fixture = Fixture::new();
    read(&mut fixture.engine(), "f");
    fs::rename(fixture.path(".readproof"), fixture.path("x")).unwrap();
    std::os::unix::fs::symlink("x", fixture.path(".readproof")).unwrap();
    let mut engine = fixture.engine();
    fixture.put("f", &new());
    assert!(engine.read(&request("f", "s"), &|| false).unwrap().receipt.is_none());
    fs::remove_file(fixture.path(".readproof")).unwrap();
    fs::rename(fixture.path("x"), fixture.path(".readproof")).unwrap();
    // What the log knows is the first text, and what the model saw last is the second.
    fixture.put("f", OLD);
    is_plain(&read(&mut engine, "f"));
    assert!(fixture.path(".readproof/log/s.log.retired-1").exists());
    assert!(read(&mut engine, "f").mode.is_derived(), "it is remembered again");
}

#[test]
fn a_store_that_was_removed_is_made_anew() {
    let fixture = Fixture::new();
    let mut engine = fixture.engine();
    read(&mut engine, "f");
    fs::remove_dir_all(fixture.path(".readproof")).unwrap();
    is_plain(&read(&mut engine, "f"));
    is_plain(&read(&mut engine, "f"));
    assert!(read(&mut engine, "f").mode.is_derived(), "it is remembered again");
}

#[test]
fn a_marker_for_a_third_text_leaves_the_second_whole() {
    let fixture = Fixture::new();
    let text: String = (1..=60).map(|n| format!("line number {n} of the text\n")).collect();
    fixture.put("f", &text);
    let mut engine = fixture.engine();
    read(&mut engine, "f");
    let page = |engine: &mut Engine, offset, limit| {
        let answer = engine.read(&Read { offset, limit, ..request("f", "s") }, &|| false).unwrap();
        engine.delivered(answer.receipt.as_ref().unwrap()).unwrap();
        answer.mode.as_str()
    };
    let second = text.replace("number 60 ", "number sixty ");
    fixture.put("f", &second);
    assert_eq!(page(&mut engine, None, Some(5)), "unchanged_range");
    assert_eq!(page(&mut engine, Some(6), None), "baseline_fallback");
    fixture.put("f", &second.replace("number 59 ", "number fifty-nine "));
    assert_eq!(page(&mut engine, None, Some(5)), "unchanged_range");
    assert_eq!(read(&mut engine, "f").mode.as_str(), "diff");
}

/// Another saves the file between the look of an edit at it and its write.
#[test]
fn an_edit_that_was_overtaken() {
    let fixture = Fixture::new();
    let path = fixture.path("f");
    let cwd = fixture.root().path().display().to_string();
    let saves = Arc::new(AtomicBool::new(false));
    let save = Arc::clone(&saves);
    // The time is asked for between the two.
    let clock = Box::new(move || {
        if save.load(Ordering::Relaxed) {
            fs::write(&path, new()).unwrap();
        }
        0
    });
    let mut engine = Engine::new(fixture.root(), Bearings { cwd, home: None }, Settings::default(), clock).unwrap();
    read(&mut engine, "f");
    saves.store(true, Ordering::Relaxed);
    let change = Change::Replace { old: "ten".to_owned(), new: "TEN".to_owned(), places: Places::One };
    let request = Write { path: "f".to_owned(), session: s(), change };
    let error = engine.write(&request).unwrap_err();
    assert_eq!(error.code(), "CHANGED");
    assert!(error.to_string().contains("changed or removed by another program while it was edited"), "{error}");
    assert_eq!(fs::read_to_string(fixture.path("f")).unwrap(), new());
    is_plain(&read(&mut engine, "f"));
    saves.store(false, Ordering::Relaxed);
    engine.write(&request).unwrap();
    assert_eq!(fs::read_to_string(fixture.path("f")).unwrap(), new().replace("ten", "TEN"));
}

#[test]
fn that_a_text_is_not_stored_is_said_once() {
    let fixture = Fixture::new();
    read(&mut fixture.engine(), "f");
    // Something in the way of its text, which nothing can replace.
    let object = fixture.path(&format!(".readproof/objects/sha256-{}.txt", Text::new(OLD.to_owned()).hash()));
    fs::remove_file(&object).unwrap();
    fs::create_dir_all(object.join("in the way")).unwrap();
    let (mut engine, other) = (fixture.engine(), RefCell::new(fixture.engine()));
    // The branch moves whenever it is looked at.
    let moves = || {
        read(&mut other.borrow_mut(), "g");
        false
    };
    let answer = engine.read(&request("f", "s"), &moves).unwrap();
    assert_eq!(answer.reason, readproof_core::decide::Reason::BranchMoved);
    let said = answer.notices.iter().filter(|notice| notice.contains("was not stored")).count();
    assert_eq!(said, 1, "{:?}", answer.notices);
}

#[test]
fn a_late_result_of_a_log_that_is_gone_confirms_nothing_in_the_next() {
    let fixture = Fixture::new();
    fixture.put("h", "never seen\n");
    let mut engine = fixture.engine();
    let late = ask(&mut engine, "f");
    drop(engine);
    // A file made right after another was removed often is the same to the system; emptied, it always is.
    fs::write(fixture.path(".readproof/log/s.log"), "").unwrap();
    let mut engine = fixture.engine();
    let unseen = ask(&mut engine, "h");
    assert_eq!(late.entry, unseen.entry);
    assert!(engine.delivered(&late).is_err());
    is_plain(&read(&mut engine, "h"));
    assert!(engine.delivered(&unseen).is_ok());
}

#[test]
fn an_empty_log_gets_its_header_before_anything_else() {
    let fixture = Fixture::new();
    read(&mut fixture.engine(), "f");
    fs::write(fixture.path(".readproof/log/s.log"), "").unwrap();
    let mut engine = fixture.engine();
    assert!(engine.session_show(&s()).unwrap().entries.is_empty());
    is_plain(&read(&mut engine, "f"));
    assert!(read(&mut engine, "f").mode.is_derived());
    let log = fs::read_to_string(fixture.path(".readproof/log/s.log")).unwrap();
    assert!(log.lines().next().unwrap().contains(r#"{"kind":"open","#), "{log}");
}
