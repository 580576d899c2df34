//! Handles: what a caller says that the model still sees, and nothing more.
#![allow(clippy::unwrap_used, reason = "a test may panic, in its helpers too")]

use readproof_core::{
    decide::{Mode, Reason},
    path::Bearings,
    pick::Pick,
};
use readproof_disk::{Root, SessionName};
use readproof_engine::{Audience, Echoed, Engine, Freshness, Most, Read, Settings};
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

    fn ask(&mut self, request: Read, known: Option<&str>) -> Echoed {
        let session = request.session.clone().or_else(|| SessionName::parse("s").ok());
        self.engine.read_echoed(&Read { session, ..request }, known, &|| false).unwrap()
    }

    fn read(&mut self, path: &str, known: Option<&str>) -> Echoed {
        self.ask(Read { path: path.to_owned(), ..Read::default() }, known)
    }

    fn page(&mut self, offset: u64, limit: u64, known: Option<&str>) -> Echoed {
        self.ask(Read { path: "f".to_owned(), offset: Some(offset), limit: Some(limit), ..Read::default() }, known)
    }

    /// Every recorded answer can be replayed.
    fn end(mut self) {
        for session in self.engine.replay(None).unwrap() {
            let wrong: Vec<String> = session.wrong.iter().map(|f| format!("{:?} {}", f.entry, f.what)).collect();
            assert!(wrong.is_empty() && session.unverifiable.is_empty(), "{wrong:?} {:?}", session.unverifiable);
        }
    }
}

fn engine(dir: &TempDir) -> Engine {
    let root = Root::open(dir.path()).unwrap();
    let cwd = root.path().display().to_string();
    Engine::new(root, Bearings { cwd, home: None }, Settings::default(), Box::new(|| 0)).unwrap()
}

fn told(echoed: &Echoed) -> (Mode, Reason) {
    (echoed.answer.mode, echoed.answer.reason)
}

#[test]
fn with_its_handle_a_text_is_not_sent_again() {
    let mut f = Fixture::new();
    let first = f.read("f", None);
    assert_eq!(
        (first.answer.text.as_str(), told(&first)),
        (numbered(60, None).as_str(), (Mode::Full, Reason::NoHandle))
    );
    let handle = first.handle.unwrap();
    assert!(handle.len() < 24, "{handle}");
    let again = f.read("f", Some(&handle));
    assert_eq!(told(&again), (Mode::Unchanged, Reason::SameText));
    assert_eq!(again.handle.as_deref(), Some(handle.as_str()), "the text is where it was");
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
fn a_diff_names_its_base_too() {
    let mut f = Fixture::new();
    let first = f.read("f", None).handle.unwrap();
    f.put("f", &numbered(60, Some(30)));
    let second = f.read("f", Some(&first));
    assert_eq!(told(&second).0, Mode::Diff);
    let both = second.handle.unwrap();
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
    let mut f = Fixture::new();
    let one = f.page(1, 30, None).handle.unwrap();
    let two = f.page(31, 90, Some(&one)).handle.unwrap();
    assert!(two.starts_with(&one) && two.contains('+'), "{two}");
    assert_eq!(told(&f.read("f", Some(&two))).0, Mode::Unchanged);
    assert_eq!(told(&f.read("f", Some(&one))).0, Mode::Full, "one page is not the file");
    f.end();
}

#[test]
fn a_handle_is_of_one_file_one_conversation_and_one_text() {
    let mut f = Fixture::new();
    let handle = f.read("f", None).handle.unwrap();
    assert_eq!(told(&f.read("g", Some(&handle))).1, Reason::UnknownHandle);
    for guess in
        ["", "h", "h2-", "h2-0000000000000000", "h18446744073709551615-0", "+", "e2", &handle[..handle.len() - 1]]
    {
        assert_eq!(told(&f.read("f", Some(guess))).1, Reason::UnknownHandle, "{guess}");
    }
    let other = Read { path: "f".to_owned(), session: SessionName::parse("other").ok(), ..Read::default() };
    assert_eq!(told(&f.ask(other, Some(&handle))).1, Reason::UnknownHandle);
    // A, B, A: the text shown last is not the one the handle stands for.
    f.put("f", &numbered(60, Some(2)));
    f.read("f", None);
    f.put("f", &numbered(60, None));
    assert_eq!(told(&f.read("f", Some(&handle))).1, Reason::UnknownHandle);
    f.end();
}

#[test]
fn asked_for_afresh_no_handle_stands() {
    let mut f = Fixture::new();
    let handle = f.read("f", None).handle.unwrap();
    f.engine.refresh_echoed("f", (Some(2), Some(3)), &SessionName::parse("s").unwrap()).unwrap();
    assert_eq!(told(&f.read("f", Some(&handle))), (Mode::Full, Reason::UnknownHandle));
    let handle = f.read("f", None).handle.unwrap();
    assert_eq!(told(&f.read("f", Some(&handle))).0, Mode::Unchanged);
    f.end();
}

#[test]
fn a_secret_has_no_handle() {
    let mut f = Fixture::new();
    f.put(".env", "KEY=1\n");
    let first = f.read(".env", None);
    assert_eq!((first.answer.reason, first.handle), (Reason::Sensitive, None));
    let unseen = Read { path: "f".to_owned(), audience: Audience::Program, ..Read::default() };
    let unseen = f.ask(unseen, None);
    assert_eq!((unseen.answer.reason, unseen.handle), (Reason::ForProgram, None));
}

#[test]
fn windows_are_cut_by_characters_and_lines_are_picked() {
    let mut f = Fixture::new();
    f.put("u", &"ääääääääää\n".repeat(10));
    let most = Some(Most { lines: 300, chars: 25 });
    let cut = f.ask(Read { path: "u".to_owned(), most, ..Read::default() }, None);
    assert_eq!((cut.answer.text.chars().count(), cut.answer.next), (22, Some(3)));
    let last = f.ask(Read { path: "f".to_owned(), pick: Pick::Last(2), ..Read::default() }, None);
    assert_eq!(last.answer.text.lines().count(), 2);
    assert_eq!(told(&f.page(59, 2, last.handle.as_deref())).0, Mode::UnchangedRange);
    let pick = Pick::Around { query: "LINE 30".to_owned(), context: 1 };
    let around = f.ask(Read { path: "f".to_owned(), pick, ..Read::default() }, None);
    assert_eq!(around.answer.lines.map(|lines| (lines.first(), lines.last())), Some((29, 31)));
    let none =
        Read { path: "f".to_owned(), pick: Pick::Around { query: "zz".to_owned(), context: 1 }, ..Read::default() };
    assert_eq!(f.engine.read_echoed(&none, None, &|| false).unwrap_err().code(), "NO_MATCH");
    f.end();
}

#[test]
fn a_handle_comes_back_in_its_one_spelling() {
    let mut f = Fixture::new();
    let one = f.page(1, 30, None).handle.unwrap();
    let two = f.page(31, 90, Some(&one)).handle.unwrap();
    let again = f.read("f", Some(&format!(" {} ", two.replace('+', " +\n"))));
    assert_eq!((told(&again).0, again.handle), (Mode::Unchanged, Some(two)));
    f.end();
}

#[test]
fn what_goes_to_a_program_has_no_handle() {
    let mut f = Fixture::new();
    let handle = f.read("f", None).handle.unwrap();
    let program = Read { path: "f".to_owned(), audience: Audience::Program, ..Read::default() };
    for known in [None, Some(handle.as_str())] {
        let answer = f.ask(program.clone(), known);
        assert_eq!((told(&answer), answer.handle), ((Mode::Full, Reason::ForProgram), None));
    }
    assert_eq!(told(&f.read("f", Some(&handle))).0, Mode::Unchanged);
    f.end();
}

#[test]
fn a_diff_speaks_of_the_whole_file() {
    let mut f = Fixture::new();
    let handle = f.read("f", None).handle.unwrap();
    f.put("f", &numbered(60, Some(30)));
    let most = Some(Most { lines: 40, chars: 10_000 });
    let diff = f.ask(Read { path: "f".to_owned(), most, ..Read::default() }, Some(&handle));
    assert_eq!(told(&diff).0, Mode::Diff);
    assert_eq!(diff.trailer(None, "offset", &[], false), "[f: lines 1-60 of 60]");
    f.end();
}

/// The file is read in two parts by two processes at once: neither names the other's answer.
#[test]
fn an_answer_stands_behind_its_own_call() {
    for known in [false, true] {
        for at in 0..4 {
            let mut f = Fixture::new();
            let first = f.page(1, 10, None).handle.filter(|_| known);
            let session = SessionName::parse("s").ok();
            let (other, count, came) = (RefCell::new(engine(&f.dir)), Cell::new(0), RefCell::new(None));
            let half = |offset| Read {
                path: "f".to_owned(),
                offset: Some(offset),
                limit: Some(20),
                session: session.clone(),
                ..Read::default()
            };
            let hook = || {
                if count.replace(count.get() + 1) == at {
                    let answer = other.borrow_mut().read_echoed(&half(11), first.as_deref(), &|| false).unwrap();
                    *came.borrow_mut() = answer.handle;
                }
                false
            };
            let handle = f.engine.read_echoed(&half(31), first.as_deref(), &hook).unwrap().handle.unwrap();
            let theirs = came.into_inner().unwrap();
            let (_, own) = theirs.rsplit_once('+').unwrap_or(("", &theirs));
            assert!(!handle.contains(own), "{handle} {theirs}");
            let held = f.ask(half(31), Some(&handle));
            assert_eq!(told(&held).0, Mode::UnchangedRange);
            f.end();
        }
    }
}
