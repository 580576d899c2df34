//! A conversation moves, a result is late, or a log is lost, while an answer or a write is under way.
//! After each, what the model saw last must not be mistaken for what it saw before.
#![allow(clippy::unwrap_used, reason = "a test may panic, in its helpers too")]

use readproof_core::edit::{Piece, Places};
use readproof_core::{decide::Reason, limits::Answers, path::Bearings, text::Text};
use readproof_disk::{Create, LocalStore, LocalStores, LogName, Root, SessionName, SmallTexts, Store, Stores, Whose};
use readproof_engine::{
    Engine, EntryId, Error, Receipt, Refreshed, SessionView, Settings, Written,
    operation::{Change, Operation, Over, Read, Refresh, Write},
};
use readproof_hosts::session::{Changed, Session, Sha};
use readproof_testkit::ask::{Ask, Logged};
use readproof_words::notice::notice;
use std::{
    cell::Cell,
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

/// A workspace with a file `f`; every engine stands for a process.
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

fn request(path: &str) -> Read {
    Read { path: path.to_owned(), ..Read::default() }
}

/// An answer that is not confirmed yet.
fn ask(engine: &Engine, path: &str) -> Receipt {
    engine.read(Some(&s()), request(path)).unwrap().given.unwrap()
}

fn read_in(engine: &Engine, path: &str, session: &str) -> Logged {
    let answer = engine.read(Some(&SessionName::parse(session).unwrap()), request(path)).unwrap();
    if let Some(receipt) = &answer.given {
        engine.delivered(receipt).unwrap();
    }
    answer
}

fn read(engine: &Engine, path: &str) -> Logged {
    read_in(engine, path, "s")
}

#[track_caller]
fn is_plain(answer: &Logged) {
    assert!(!answer.mode.is_derived(), "{:?} {:?}", answer.mode, answer.text);
}

#[test]
fn a_fork_of_a_branch_with_a_result_confirmed_twice() {
    let fixture = Fixture::new();
    let engine = fixture.engine();
    let receipt = ask(&engine, "f");
    engine.delivered(&receipt).unwrap();
    engine.delivered(&receipt).unwrap();
    fixture.put("f", &new());
    read(&engine, "f");
    fork(&engine);
    fixture.put("f", OLD);
    is_plain(&read_in(&fixture.engine(), "f", "t"));
}

#[test]
fn a_fork_of_a_branch_with_an_entry_of_a_later_program() {
    let fixture = Fixture::new();
    let engine = fixture.engine();
    read(&engine, "f");
    let store = LocalStore::open(&fixture.root()).unwrap();
    let mut log = store.logs().open(&LogName::from(&s()), Create::No).unwrap().unwrap();
    log.catch_up().unwrap();
    log.append("{\"kind\":\"later\",\"parent\":3}").unwrap();
    drop(log);
    fixture.put("f", &new());
    read(&engine, "f");
    fork(&engine);
    fixture.put("f", OLD);
    is_plain(&read_in(&fixture.engine(), "f", "t"));
}

#[test]
fn a_receipt_of_a_log_that_was_put_aside() {
    let fixture = Fixture::new();
    let slow = fixture.engine();
    let receipt = ask(&slow, "f");
    let stores = LocalStores::new(&fixture.root(), Whose::default(), SmallTexts::default());
    stores.retire(&LogName::from(&s())).unwrap();
    // By another process, which dies before it shows anything.
    ask(&fixture.engine(), "g");
    assert!(slow.delivered(&receipt).is_err());
    is_plain(&read(&fixture.engine(), "g"));
}

/// Another process compacts, or moves to the root.
fn move_away(engine: &Engine, compacts: bool) {
    if compacts {
        engine.ask::<EntryId>(Some(&s()), Operation::Compact { summary: None }).unwrap();
    } else {
        branch_at_root(engine);
    }
}

fn branch_at_root(engine: &Engine) {
    assert_eq!(engine.ask::<Option<EntryId>>(Some(&s()), Operation::Branch { at: None }).unwrap(), None);
}

/// Session `t` from the branch of `s`.
fn fork(engine: &Engine) {
    let made = engine.ask::<SessionName>(Some(&s()), Operation::Fork { from: None, into: Some("t".to_owned()) });
    assert_eq!(made.unwrap().as_str(), "t");
}

#[test]
fn a_write_that_is_out_while_the_conversation_moves() {
    for compacts in [true, false] {
        let fixture = Fixture::new();
        let engine = fixture.engine();
        read(&engine, "f");
        let store = LocalStore::open(&fixture.root()).unwrap();
        let mut writer = Session::open(&store, &s(), Create::No, Answers::Held).unwrap().unwrap();
        let text = Text::new(new());
        let begun = writer.begin("f", 0).unwrap().0;
        move_away(&engine, compacts);
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
        let done = writer.change_all(vec![change]).unwrap().remove(0);
        writer.deliver(done).unwrap();
        is_plain(&read(&engine, "f"));
    }
}

#[test]
fn a_plain_read_that_is_out_while_the_conversation_moves() {
    for (compacts, shares) in [(true, false), (false, false), (true, true), (false, true)] {
        for stage in 0..4 {
            let fixture = Fixture::new();
            let engine = fixture.engine();
            read(&engine, "g");
            let (process, count) = (fixture.engine(), Cell::new(0));
            // Another process, or another thread of this one.
            let other = if shares { &engine } else { &process };
            let hook = || {
                if count.get() == stage {
                    move_away(other, compacts);
                }
                count.set(count.get() + 1);
                false
            };
            let answer = engine.read_while(Some(&s()), request("f"), &hook).unwrap();
            engine.delivered(&answer.given.unwrap()).unwrap();
            is_plain(&read(&engine, "f"));
        }
    }
}

#[test]
fn a_batch_confirmed_in_another_order_than_asked() {
    let fixture = Fixture::new();
    let engine = fixture.engine();
    let first = ask(&engine, "f");
    fixture.put("f", &new());
    let second = ask(&engine, "f");
    engine.delivered(&second).unwrap();
    engine.delivered(&first).unwrap();
    fixture.put("f", OLD);
    is_plain(&read(&engine, "f"));
}

#[test]
fn a_refresh_while_an_answer_is_out() {
    let fixture = Fixture::new();
    let engine = fixture.engine();
    let receipt = ask(&engine, "f");
    let refresh = Refresh { path: "f".to_owned(), ..Refresh::default() };
    engine.ask::<Refreshed>(Some(&s()), Operation::Refresh(refresh)).unwrap();
    engine.delivered(&receipt).unwrap();
    is_plain(&read(&engine, "f"));
}

#[test]
fn a_context_edit_of_another_branch_is_refused() {
    let fixture = Fixture::new();
    let engine = fixture.engine();
    let entry = read(&engine, "f").given.unwrap().entry;
    branch_at_root(&engine);
    read(&engine, "g");
    let edit = || engine.ask::<EntryId>(Some(&s()), Operation::EditContext { target: entry.0, text: None });
    assert!(edit().is_err());
    engine.ask::<Option<EntryId>>(Some(&s()), Operation::Switch { to: entry.0 }).unwrap();
    edit().unwrap();
    is_plain(&read(&engine, "f"));
}

#[test]
fn a_store_that_was_a_link_for_a_while() {
    let fixture = Fixture::new();
    read(&fixture.engine(), "f");
    fs::rename(fixture.path(".readproof"), fixture.path("x")).unwrap();
    std::os::unix::fs::symlink("x", fixture.path(".readproof")).unwrap();
    fixture.put("f", &new());
    let answer = read(&fixture.engine(), "f");
    assert!(notice(&answer.notices[0]).contains("use another session than s"), "{:?}", answer.notices);
}

/// The process that could not put the log aside does so as soon as it can, and relies on nothing before that.
#[test]
fn a_store_that_comes_back_under_a_process() {
    let fixture = Fixture::new();
    read(&fixture.engine(), "f");
    fs::rename(fixture.path(".readproof"), fixture.path("x")).unwrap();
    std::os::unix::fs::symlink("x", fixture.path(".readproof")).unwrap();
    let engine = fixture.engine();
    fixture.put("f", &new());
    assert!(engine.read(Some(&s()), request("f")).unwrap().given.is_none());
    fs::remove_file(fixture.path(".readproof")).unwrap();
    fs::rename(fixture.path("x"), fixture.path(".readproof")).unwrap();
    // The log knows the first text; the model saw the second last.
    fixture.put("f", OLD);
    is_plain(&read(&engine, "f"));
    assert!(fixture.path(".readproof/log/s.log.retired-1").exists());
    assert!(read(&engine, "f").mode.is_derived(), "it is remembered again");
}

#[test]
fn a_store_that_was_removed_is_made_anew() {
    let fixture = Fixture::new();
    let engine = fixture.engine();
    read(&engine, "f");
    fs::remove_dir_all(fixture.path(".readproof")).unwrap();
    is_plain(&read(&engine, "f"));
    is_plain(&read(&engine, "f"));
    assert!(read(&engine, "f").mode.is_derived(), "it is remembered again");
}

#[test]
fn a_marker_for_a_third_text_leaves_the_second_whole() {
    let fixture = Fixture::new();
    let text: String = (1..=60).map(|n| format!("line number {n} of the text\n")).collect();
    fixture.put("f", &text);
    let engine = fixture.engine();
    read(&engine, "f");
    let page = |engine: &Engine, offset, limit| {
        let answer = engine.read(Some(&s()), Read { offset, limit, ..request("f") }).unwrap();
        engine.delivered(answer.given.as_ref().unwrap()).unwrap();
        answer.mode.as_str()
    };
    let second = text.replace("number 60 ", "number sixty ");
    fixture.put("f", &second);
    assert_eq!(page(&engine, None, Some(5)), "unchanged_range");
    assert_eq!(page(&engine, Some(6), None), "baseline_fallback");
    fixture.put("f", &second.replace("number 59 ", "number fifty-nine "));
    assert_eq!(page(&engine, None, Some(5)), "unchanged_range");
    assert_eq!(read(&engine, "f").mode.as_str(), "diff");
}

/// Another program saves the file after an edit has read it and before it writes.
#[test]
fn an_edit_that_was_overtaken() {
    let fixture = Fixture::new();
    let path = fixture.path("f");
    let cwd = fixture.root().path().display().to_string();
    let saves = Arc::new(AtomicBool::new(false));
    let save = Arc::clone(&saves);
    // The clock is read between the two.
    let clock = Box::new(move || {
        if save.swap(false, Ordering::Relaxed) {
            fs::write(&path, new()).unwrap();
        }
        0
    });
    let engine = Engine::new(fixture.root(), Bearings { cwd, home: None }, Settings::default(), clock).unwrap();
    read(&engine, "f");
    saves.store(true, Ordering::Relaxed);
    let change = Change::Replace { old: "ten".to_owned(), new: "TEN".to_owned(), places: Places::One };
    // It is made in the text that is there by then.
    engine.write(&s(), "f", change).unwrap();
    saves.store(false, Ordering::Relaxed);
    assert_eq!(fs::read_to_string(fixture.path("f")).unwrap(), new().replace("ten", "TEN"));
    is_plain(&read(&engine, "f"));
    // One that is not there any more is refused.
    saves.store(true, Ordering::Relaxed);
    let change = Change::Replace { old: "TEN".to_owned(), new: "ten".to_owned(), places: Places::One };
    let error = engine.write(&s(), "f", change).unwrap_err();
    assert_eq!(error.code(), "NOT_FOUND");
    assert_eq!(fs::read_to_string(fixture.path("f")).unwrap(), new());
}

#[test]
fn that_a_text_is_not_stored_is_said_once() {
    for shares in [false, true] {
        let fixture = Fixture::new();
        read(&fixture.engine(), "f");
        // Something that cannot be replaced blocks its text.
        let object = fixture.path(&format!(".readproof/objects/sha256-{}.txt", Text::new(OLD.to_owned()).hash()));
        fs::remove_file(&object).unwrap();
        fs::create_dir_all(object.join("in the way")).unwrap();
        let (engine, process) = (fixture.engine(), fixture.engine());
        let other = if shares { &engine } else { &process };
        // The branch moves whenever the session is read.
        let moves = || {
            read(other, "g");
            false
        };
        let answer = engine.read_while(Some(&s()), request("f"), &moves).unwrap();
        assert_eq!(answer.reason, Reason::BranchMoved);
        let said = answer.notices.iter().filter(|said| notice(said).contains("was not stored")).count();
        assert_eq!(said, 1, "{:?}", answer.notices);
    }
}

#[test]
fn a_late_result_of_a_log_that_is_gone_confirms_nothing_in_the_next() {
    let fixture = Fixture::new();
    fixture.put("h", "never seen\n");
    let engine = fixture.engine();
    let late = ask(&engine, "f");
    drop(engine);
    // A file created right after another was removed often has the same inode; an emptied one always does.
    fs::write(fixture.path(".readproof/log/s.log"), "").unwrap();
    let engine = fixture.engine();
    let unseen = ask(&engine, "h");
    assert_eq!(late.entry, unseen.entry);
    assert!(engine.delivered(&late).is_err());
    is_plain(&read(&engine, "h"));
    assert!(engine.delivered(&unseen).is_ok());
}

#[test]
fn an_empty_log_gets_its_header_before_anything_else() {
    let fixture = Fixture::new();
    read(&fixture.engine(), "f");
    fs::write(fixture.path(".readproof/log/s.log"), "").unwrap();
    let engine = fixture.engine();
    assert!(engine.ask::<SessionView>(Some(&s()), Operation::ShowSession).unwrap().entries.is_empty());
    is_plain(&read(&engine, "f"));
    assert!(read(&engine, "f").mode.is_derived());
    let log = fs::read_to_string(fixture.path(".readproof/log/s.log")).unwrap();
    assert!(log.lines().next().unwrap().contains(r#"{"kind":"open","#), "{log}");
}

/// Which of two places a model means that saw both cannot be told from the one that is left.
#[test]
fn an_edit_of_a_text_that_was_seen_twice_is_refused_though_one_is_gone() {
    let fixture = Fixture::new();
    let engine = fixture.engine();
    let seen = "head\nsame\nmiddle\nsame\ntail\n";
    let left = "head\nsame\nmiddle\nother\ntail\n";
    let edit = || {
        let change = Change::Replace { old: "same\n".to_owned(), new: "new\n".to_owned(), places: Places::One };
        let write = Operation::Write(Write { path: "f".to_owned(), change, over: Over::Held });
        engine.ask::<Written>(Some(&s()), write)
    };
    let read = || engine.delivered(&engine.read(Some(&s()), request("f")).unwrap().given.unwrap()).unwrap();
    fixture.put("f", seen);
    read();
    fixture.put("f", left);
    let refused = edit().map(|written| written.text);
    let expected = Text::new(seen.to_owned()).hash();
    assert!(
        matches!(&refused, Err(Error::Precondition { expected: Some(hash), .. }) if *hash == expected),
        "{refused:?}"
    );
    assert_eq!(fs::read_to_string(fixture.path("f")).unwrap(), left);
    // Once the model has seen that one is left, it means that.
    read();
    edit().unwrap();
    assert_eq!(fs::read_to_string(fixture.path("f")).unwrap(), "head\nnew\nmiddle\nother\ntail\n");
}

/// What the call was written for stands in the file, and only something like it in the text that it names.
#[test]
fn an_edit_that_names_another_text_than_the_one_it_fits_is_refused() {
    let fixture = Fixture::new();
    let engine = fixture.engine();
    let (named, there) = ("a\r\ng\r\nd\r\nend\r\n", "a\r\ng\r\nd\r\nend\r\nc\ng\nd\n");
    let edit = |hash| {
        let piece = |old: &str, new: &str| Piece::replace(old, new, Places::One);
        let pieces = vec![piece("a\r\ng\r\nd\r\n", "c\r\ng\r\nd\r\n"), piece("c\ng\nd\n", "c\ng\nx\nd\n")];
        let write =
            Operation::Write(Write { path: "f".to_owned(), change: Change::Edit(pieces), over: Over::Hash(hash) });
        engine.ask::<Written>(Some(&s()), write).map(|written| written.text)
    };
    fixture.put("f", named);
    engine.delivered(&engine.read(Some(&s()), request("f")).unwrap().given.unwrap()).unwrap();
    fixture.put("f", there);
    let refused = edit(Text::new(named.to_owned()).hash());
    assert!(matches!(refused, Err(Error::Precondition { .. })), "{refused:?}");
    assert_eq!(fs::read_to_string(fixture.path("f")).unwrap(), there);
    edit(Text::new(there.to_owned()).hash()).unwrap();
    assert_eq!(fs::read_to_string(fixture.path("f")).unwrap(), "c\r\ng\r\nd\r\nend\r\nc\ng\nx\nd\n");
}

/// What others did after a text was shown may have been recorded in the log that is gone.
#[test]
fn a_log_of_versions_that_was_put_aside_vouches_for_nothing() {
    let fixture = Fixture::new();
    let engine = fixture.engine();
    let edit = |engine: &Engine, old: &str, new: &str| {
        let change = Change::Replace { old: old.to_owned(), new: new.to_owned(), places: Places::One };
        engine.write(&s(), "g", change).unwrap()
    };
    edit(&engine, "beside", "aside");
    read(&engine, "f");
    assert!(read(&engine, "f").mode.is_derived());
    let log = fixture.path(".readproof/log/versions");
    let damaged = fs::read_to_string(&log).unwrap().replace("write", "wrote").replace("edit", "tide");
    fs::write(&log, damaged).unwrap();
    // Nobody can know what it said.
    let engine = fixture.engine();
    is_plain(&read(&engine, "f"));
    is_plain(&read(&engine, "f"));
    edit(&engine, "aside", "beside");
    assert!(fixture.path(".readproof/log/versions.retired-1").exists());
    is_plain(&read(&engine, "f"));
    assert!(read(&engine, "f").mode.is_derived(), "what is shown since then counts");
}

/// The conversation goes back to the root while a read is made that was asked for after a refused edit.
#[test]
fn a_read_after_a_refusal_while_the_conversation_goes_to_the_root() {
    for at in 0..4 {
        let fixture = Fixture::new();
        std::os::unix::fs::symlink("f", fixture.path("link")).unwrap();
        let (engine, other) = (fixture.engine(), fixture.engine());
        read(&engine, "f");
        branch_at_root(&engine);
        let change = Change::Replace { old: "elfen\n".to_owned(), new: "x\n".to_owned(), places: Places::One };
        assert_eq!(engine.write(&s(), "link", change).unwrap_err().code(), "NOT_FOUND");
        let count = Cell::new(0);
        let hook = || {
            if count.get() == at {
                branch_at_root(&other);
            }
            count.set(count.get() + 1);
            false
        };
        let answer = engine.read_while(Some(&s()), request("f"), &hook).unwrap();
        engine.delivered(&answer.given.unwrap()).unwrap();
        is_plain(&read(&engine, "f"));
        assert!(read(&engine, "f").mode.is_derived());
    }
}
