//! Handles: what a caller says that the model still sees, and nothing more.
#![allow(clippy::unwrap_used, reason = "a test may panic, in its helpers too")]

use readproof_core::{
    decide::{Mode, Reason},
    limits::Answers,
    path::Bearings,
    pick::Pick,
};
use readproof_disk::{Root, SessionName};
use readproof_engine::{
    Answer, Engine, Handle, HandleConversation, Refreshed, Replayed, Settings,
    operation::{AnswerLimit, Audience, Freshness, Operation, Partial, Read, Refresh},
};
use readproof_testkit::ask::{Ask, WAIT};
use std::{
    cell::{Cell, RefCell},
    fmt::Write as _,
    fs,
};
use tempfile::TempDir;

struct Fixture {
    dir: TempDir,
    engine: Engine,
}

fn numbered(count: u32, changed: Option<u32>) -> String {
    (1..=count).fold(String::new(), |mut text, n| {
        let word = if Some(n) == changed { "changed" } else { "line" };
        writeln!(text, "{word} {n} of a file that is long enough for a diff").unwrap();
        text
    })
}

impl Fixture {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let engine = engine(&dir);
        let fixture = Self { dir, engine };
        fixture.put("f", &numbered(60, None));
        fixture.put("g", "beside\n");
        fixture
    }

    fn put(&self, name: &str, text: &str) {
        fs::write(self.dir.path().join(name), text).unwrap();
    }

    fn ask(&self, request: Read, known: Option<&str>) -> Answer<Handle> {
        self.engine.read_known(Some(&s()), known, request, WAIT).unwrap()
    }

    fn read(&self, path: &str, known: Option<&str>) -> Answer<Handle> {
        self.ask(Read { path: path.to_owned(), ..Read::default() }, known)
    }

    fn page(&self, offset: u64, limit: u64, known: Option<&str>) -> Answer<Handle> {
        self.ask(Read { path: "f".to_owned(), offset: Some(offset), limit: Some(limit), ..Read::default() }, known)
    }

    /// Every recorded answer can be replayed.
    fn end(self) {
        for session in self.engine.ask::<Vec<Replayed>>(None, Operation::Replay).unwrap() {
            let wrong: Vec<String> = session.wrong.iter().map(|f| format!("{:?} {:?}", f.entry, f.what)).collect();
            assert!(wrong.is_empty() && session.unverifiable.is_empty(), "{wrong:?} {:?}", session.unverifiable);
        }
    }
}

fn s() -> SessionName {
    SessionName::parse("s").unwrap()
}

fn engine(dir: &TempDir) -> Engine {
    let root = Root::open(dir.path()).unwrap();
    let cwd = root.path().display().to_string();
    Engine::new(root, Bearings { cwd, home: None }, Settings::default(), Box::new(|| 0)).unwrap()
}

fn told(answer: &Answer<Handle>) -> (Mode, Reason) {
    (answer.mode, answer.reason)
}

#[test]
fn with_its_handle_a_text_is_not_sent_again() {
    let mut f = Fixture::new();
    let first = f.read("f", None);
    assert_eq!((first.text.as_str(), told(&first)), (numbered(60, None).as_str(), (Mode::Full, Reason::NoHandle)));
    let handle = first.given.unwrap();
    assert!(handle.len() < 24, "{handle}");
    let again = f.read("f", Some(&handle));
    assert_eq!(told(&again), (Mode::Unchanged, Reason::SameText));
    assert_eq!(again.given.as_deref(), Some(handle.as_str()), "the text is where it was");
    assert_eq!(told(&f.page(3, 4, Some(&handle))).0, Mode::UnchangedRange);
    assert_eq!(told(&f.read("f", None)), (Mode::Full, Reason::NoHandle));
    let fresh = Read { path: "f".to_owned(), freshness: Freshness::Fresh, ..Read::default() };
    assert_eq!(told(&f.ask(fresh, Some(&handle))), (Mode::Full, Reason::Fresh));
    // After a restart too.
    f.engine = engine(&f.dir);
    assert_eq!(told(&f.read("f", Some(&handle))).0, Mode::Unchanged);
    f.end();
}

#[test]
fn lines_that_a_handle_stands_for_are_named_and_the_others_sent() {
    let mut f = Fixture::new();
    let root = Root::open(f.dir.path()).unwrap();
    let bearings = Bearings { cwd: root.path().display().to_string(), home: None };
    let settings = Settings { answers: Answers::Lean, ..Settings::default() };
    f.engine = Engine::new(root, bearings, settings, Box::new(|| 0)).unwrap();
    let lean = |offset, limit, known: Option<&str>| {
        let (path, partial) = ("f".to_owned(), Partial::Allowed);
        f.ask(Read { path, offset: Some(offset), limit: Some(limit), partial, ..Read::default() }, known)
    };
    let first = lean(1, 40, None).given.unwrap();
    let second = lean(21, 30, Some(&first));
    let rest: String = numbered(60, None).split_inclusive('\n').skip(40).take(10).collect();
    assert_eq!(told(&second), (Mode::Partial, Reason::PartHeld));
    assert_eq!(second.text, format!("[readcache: lines 21-50 of 60; sent: 41-50; others unchanged]\n{rest}"));
    let both = second.given.unwrap();
    assert_eq!(both.split('+').next(), Some(first.as_str()), "it names the answer that it builds on");
    assert_eq!(told(&lean(1, 50, Some(&both))).0, Mode::UnchangedRange);
    assert_eq!(told(&lean(21, 30, Some(both.split('+').next_back().unwrap()))), (Mode::Full, Reason::UnknownHandle));
    // A literal read is sent whole; so is what goes to a program.
    assert_eq!(told(&f.page(21, 35, Some(&both))).0, Mode::Full);
    // Of another text nothing is named: other answers may have shown it under the same numbers.
    let third = lean(1, 40, None).given.unwrap();
    f.put("f", &numbered(60, Some(30)));
    assert_eq!(told(&lean(1, 45, Some(&third))).0, Mode::Full);
    f.end();
}

#[test]
fn a_diff_names_its_base_too() {
    let f = Fixture::new();
    let first = f.read("f", None).given.unwrap();
    f.put("f", &numbered(60, Some(30)));
    let second = f.read("f", Some(&first));
    assert_eq!(told(&second).0, Mode::Diff);
    let both = second.given.unwrap();
    let (_, own) = both.rsplit_once('+').unwrap();
    assert!(both.starts_with(&first), "{both}");
    assert_eq!(told(&f.read("f", Some(&both))).0, Mode::Unchanged);
    assert_eq!(told(&f.read("f", Some(own))), (Mode::Full, Reason::UnknownHandle), "a diff alone is no text");
    let swapped = format!("{own}+{first}");
    assert_eq!(told(&f.read("f", Some(&swapped))).1, Reason::UnknownHandle);
    f.end();
}

#[test]
fn pages_add_up() {
    let f = Fixture::new();
    let one = f.page(1, 30, None).given.unwrap();
    let two = f.page(31, 90, Some(&one)).given.unwrap();
    assert!(two.starts_with(&one) && two.contains('+'), "{two}");
    assert_eq!(told(&f.read("f", Some(&two))).0, Mode::Unchanged);
    assert_eq!(told(&f.read("f", Some(&one))).0, Mode::Full, "one page is not the file");
    f.end();
}

#[test]
fn a_handle_is_of_one_file_one_conversation_and_one_text() {
    let f = Fixture::new();
    let handle = f.read("f", None).given.unwrap();
    assert_eq!(told(&f.read("g", Some(&handle))).1, Reason::UnknownHandle);
    for guess in
        ["", "h", "h2-", "h2-0000000000000000", "h18446744073709551615-0", "+", "e2", &handle[..handle.len() - 1]]
    {
        assert_eq!(told(&f.read("f", Some(guess))).1, Reason::UnknownHandle, "{guess}");
    }
    let (other, read) = (SessionName::parse("other").ok(), Read { path: "f".to_owned(), ..Read::default() });
    let other = f.engine.read_known(other.as_ref(), Some(&handle), read, WAIT).unwrap();
    assert_eq!(told(&other).1, Reason::UnknownHandle);
    // A, B, A: the text shown last is not the one the handle stands for.
    f.put("f", &numbered(60, Some(2)));
    f.read("f", None);
    f.put("f", &numbered(60, None));
    assert_eq!(told(&f.read("f", Some(&handle))).1, Reason::UnknownHandle);
    f.end();
}

#[test]
fn asked_for_afresh_no_handle_stands() {
    let f = Fixture::new();
    let handle = f.read("f", None).given.unwrap();
    let refresh = Operation::Refresh(Refresh { path: "f".to_owned(), offset: Some(2), limit: Some(3) });
    let done = f.engine.call(&mut HandleConversation::new(Some(s()), None), refresh, WAIT).unwrap();
    assert!(Refreshed::try_from(done).unwrap().entry.is_some());
    assert_eq!(told(&f.read("f", Some(&handle))), (Mode::Full, Reason::UnknownHandle));
    let handle = f.read("f", None).given.unwrap();
    assert_eq!(told(&f.read("f", Some(&handle))).0, Mode::Unchanged);
    f.end();
}

#[test]
fn a_secret_has_no_handle() {
    let f = Fixture::new();
    f.put(".env", "KEY=1\n");
    let first = f.read(".env", None);
    assert_eq!((first.reason, first.given), (Reason::Sensitive, None));
    let unseen = Read { path: "f".to_owned(), audience: Audience::Program, ..Read::default() };
    let unseen = f.ask(unseen, None);
    assert_eq!((unseen.reason, unseen.given), (Reason::ForProgram, None));
}

#[test]
fn windows_are_cut_by_characters_and_lines_are_picked() {
    let f = Fixture::new();
    f.put("u", &"ääääääääää\n".repeat(10));
    let most = Some(AnswerLimit { lines: 300, chars: 25 });
    let cut = f.ask(Read { path: "u".to_owned(), most, ..Read::default() }, None);
    assert_eq!((cut.text.chars().count(), cut.next), (22, Some(3)));
    let last = f.ask(Read { path: "f".to_owned(), pick: Pick::Last(2), ..Read::default() }, None);
    assert_eq!(last.text.lines().count(), 2);
    assert_eq!(told(&f.page(59, 2, last.given.as_deref())).0, Mode::UnchangedRange);
    let pick = Pick::Around { query: "LINE 30".to_owned(), context: 1 };
    let around = f.ask(Read { path: "f".to_owned(), pick, ..Read::default() }, None);
    assert_eq!(around.lines.map(|lines| (lines.first(), lines.last())), Some((29, 31)));
    let none =
        Read { path: "f".to_owned(), pick: Pick::Around { query: "zz".to_owned(), context: 1 }, ..Read::default() };
    assert_eq!(f.engine.read_known(None, None, none, WAIT).unwrap_err().code(), "NO_MATCH");
    f.end();
}

#[test]
fn a_handle_comes_back_in_its_one_spelling() {
    let f = Fixture::new();
    let one = f.page(1, 30, None).given.unwrap();
    let two = f.page(31, 90, Some(&one)).given.unwrap();
    let again = f.read("f", Some(&format!(" {} ", two.replace('+', " +\n"))));
    assert_eq!((told(&again).0, again.given), (Mode::Unchanged, Some(two)));
    f.end();
}

#[test]
fn what_goes_to_a_program_has_no_handle() {
    let f = Fixture::new();
    let handle = f.read("f", None).given.unwrap();
    let program = Read { path: "f".to_owned(), audience: Audience::Program, ..Read::default() };
    for known in [None, Some(handle.as_str())] {
        let answer = f.ask(program.clone(), known);
        assert_eq!((told(&answer), answer.given), ((Mode::Full, Reason::ForProgram), None));
    }
    assert_eq!(told(&f.read("f", Some(&handle))).0, Mode::Unchanged);
    f.end();
}

#[test]
fn a_diff_speaks_of_the_whole_file() {
    let f = Fixture::new();
    let handle = f.read("f", None).given.unwrap();
    f.put("f", &numbered(60, Some(30)));
    let most = Some(AnswerLimit { lines: 40, chars: 10_000 });
    let diff = f.ask(Read { path: "f".to_owned(), most, ..Read::default() }, Some(&handle));
    assert_eq!(told(&diff).0, Mode::Diff);
    assert_eq!(diff.trailer(None, "offset", (&[], &[]), false), "[f: lines 1-60 of 60]");
    f.end();
}

/// The file is read in two parts at once, by two processes or by two threads of one: neither names the other's answer.
#[test]
fn an_answer_stands_behind_its_own_call() {
    for (known, shares) in [(false, false), (true, false), (false, true), (true, true)] {
        for at in 0..4 {
            let f = Fixture::new();
            let first = f.page(1, 10, None).given.filter(|_| known);
            let (process, count, came) = (engine(&f.dir), Cell::new(0), RefCell::new(None));
            let other = if shares { &f.engine } else { &process };
            let half = |offset| Read { path: "f".to_owned(), offset: Some(offset), limit: Some(20), ..Read::default() };
            let hook = || {
                if count.replace(count.get() + 1) == at {
                    let answer = other.read_known(Some(&s()), first.as_deref(), half(11), WAIT).unwrap();
                    *came.borrow_mut() = answer.given;
                }
                false
            };
            let handle = f.engine.read_known(Some(&s()), first.as_deref(), half(31), &hook).unwrap().given.unwrap();
            let theirs = came.into_inner().unwrap();
            let (_, own) = theirs.rsplit_once('+').unwrap_or(("", &theirs));
            assert!(!handle.contains(own), "{handle} {theirs}");
            let held = f.ask(half(31), Some(&handle));
            assert_eq!(told(&held).0, Mode::UnchangedRange);
            f.end();
        }
    }
}
