//! The log of approvals: what stands about a call after what was asked, decided and used, in one process and in several, and
//! after crashes.
#![allow(clippy::unwrap_used, reason = "a test may panic, in its helpers too")]
#![allow(clippy::disallowed_methods, reason = "damages a log from outside")]

use readproof_core::{
    operation::approval::{Decision, How, Scope},
    text::ContentHash,
};
use readproof_disk::{Create, LocalStore, LogError, LogName, Root, Store};
use readproof_hosts::{
    approvals::{ApprovalId, Approvals, ApprovalsError, Asked, AskingRule, MOST_WAITING, Standing, State, Undecided},
    block::Sha,
    versions::By,
};
use std::{fs, io::Write as _, path::PathBuf};

const MINUTE: u64 = 60_000;

struct Fixture {
    dir: tempfile::TempDir,
    store: LocalStore,
}

impl Fixture {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::open(dir.path()).unwrap();
        let store = LocalStore::open(&root).unwrap();
        Self { dir, store }
    }

    /// As a process that was just started opens it.
    fn open(&self) -> Approvals {
        Approvals::open(&self.store, Create::Yes, 0).unwrap().unwrap()
    }

    fn file(&self) -> PathBuf {
        self.dir.path().join(".readproof/log/approvals")
    }
}

fn by(conversation: Option<&str>) -> By {
    By { surface: "mcp".to_owned(), conversation: conversation.map(str::to_owned), ..By::default() }
}

/// A call that deletes `path`, whose text is `text`.
fn delete(path: &str, text: &str, at: u64) -> Asked {
    Asked {
        digest: Sha(ContentHash::of_parts(&[path.as_bytes(), b"\0", text.as_bytes()])),
        what: "delete".to_owned(),
        act: "delete".to_owned(),
        paths: vec![path.to_owned()],
        rule: AskingRule { file: "readproof.toml".to_owned(), line: 3, text: "*".to_owned(), reason: None },
        by: by(Some("s")),
        at,
        expires_at: at + 60 * MINUTE,
        diff: Some("-a\n\u{18}".to_owned()),
    }
}

fn waits(standing: Standing) -> ApprovalId {
    let Standing::Waits { id, .. } = standing else { panic!("{standing:?}") };
    id
}

fn decide(log: &mut Approvals, id: ApprovalId, what: (Decision, Scope), at: u64) -> Result<State, Undecided> {
    let decided = log.decide(id, (what.0, what.1, How::Key), (By::default(), at)).unwrap();
    decided.map(|request| request.state(at))
}

const YES: (Decision, Scope) = (Decision::Approve, Scope::Once);
const NO: (Decision, Scope) = (Decision::Deny, Scope::Once);

#[test]
fn an_approval_of_one_call_is_used_once() {
    let fixture = Fixture::new();
    let mut log = fixture.open();
    let call = delete("a", "1", 0);
    let id = waits(log.ask(&call).unwrap());
    assert_eq!(waits(log.ask(&call).unwrap()), id, "the same call waits once");
    assert_eq!(ApprovalId::parse(&id.to_string()), Some(id));
    assert_eq!(decide(&mut log, id, YES, 1), Ok(State::Approved(Scope::Once)));
    assert_ne!(waits(log.ask(&delete("a", "2", 2)).unwrap()), id, "the file has another text");
    assert_ne!(waits(log.ask(&delete("b", "1", 2)).unwrap()), id, "another file");
    let other = Asked { by: By { client: Some("other".to_owned()), ..by(Some("s")) }, ..call.clone() };
    assert_ne!(waits(log.ask(&other).unwrap()), id, "another caller");
    let restarted = Asked { by: by(Some("t")), ..call.clone() };
    assert_eq!(log.ask(&restarted).unwrap(), Standing::Approved(id));
    assert_ne!(waits(log.ask(&call).unwrap()), id, "it is spent");
    assert_eq!(decide(&mut log, id, YES, 3), Err(Undecided::Over(State::Used)));
}

#[test]
fn an_approval_is_for_one_user() {
    let of = |user: Option<&str>, text: &str| Asked {
        by: By { user: user.map(str::to_owned), ..by(Some("s")) },
        ..delete("a", text, 0)
    };
    let fixture = Fixture::new();
    let mut log = fixture.open();
    let id = waits(log.ask(&of(Some("alice"), "1")).unwrap());
    assert!(decide(&mut log, id, (Decision::Approve, Scope::Always), 1).is_ok());
    assert_eq!(log.ask(&of(Some("alice"), "2")).unwrap(), Standing::Approved(id));
    assert_ne!(waits(log.ask(&of(Some("bob"), "2")).unwrap()), id);
    assert_ne!(waits(log.ask(&of(None, "2")).unwrap()), id);

    // A record of an earlier version has no user, and still counts.
    let fixture = Fixture::new();
    let id = waits(fixture.open().ask(&of(None, "1")).unwrap());
    assert!(!fs::read_to_string(fixture.file()).unwrap().contains("user"));
    assert!(decide(&mut fixture.open(), id, (Decision::Approve, Scope::Always), 1).is_ok());
    assert_eq!(fixture.open().ask(&of(Some("alice"), "2")).unwrap(), Standing::Approved(id));
    let read: By = serde_json::from_str(r#"{"surface":"cli","identity":"uid 7"}"#).unwrap();
    assert_eq!((read.user, read.identity.as_deref()), (None, Some("uid 7")));
}

#[test]
fn a_process_that_died_after_it_was_allowed_left_nothing_approved() {
    let fixture = Fixture::new();
    let call = delete("a", "1", 0);
    let id = waits(fixture.open().ask(&call).unwrap());
    assert!(decide(&mut fixture.open(), id, YES, 1).is_ok());
    assert_eq!(fixture.open().ask(&call).unwrap(), Standing::Approved(id));
    // It died here, and nothing was written.
    let again = waits(fixture.open().ask(&call).unwrap());
    assert_ne!(again, id);
    let states: Vec<State> = fixture.open().requests().map(|request| request.state(2)).collect();
    assert_eq!(states, [State::Used, State::Waiting]);
}

#[test]
fn of_two_processes_one_uses_it() {
    let fixture = Fixture::new();
    let (mut one, mut two) = (fixture.open(), fixture.open());
    let call = delete("a", "1", 0);
    let id = waits(one.ask(&call).unwrap());
    assert!(decide(&mut two, id, YES, 1).is_ok());
    let both = std::thread::scope(|scope| {
        let ask = |mut log: Approvals| {
            scope.spawn({
                let call = call.clone();
                move || log.ask(&call).unwrap()
            })
        };
        [ask(one), ask(two)].map(|thread| thread.join().unwrap())
    });
    assert_eq!(both.iter().filter(|standing| matches!(standing, Standing::Approved(_))).count(), 1, "{both:?}");
}

#[test]
fn a_denial_holds_until_the_request_expires() {
    let fixture = Fixture::new();
    let mut log = fixture.open();
    let call = delete("a", "1", 0);
    let id = waits(log.ask(&call).unwrap());
    assert_eq!(decide(&mut log, id, NO, 1), Ok(State::Denied));
    let at = |at: u64| Asked { at, expires_at: at + 60 * MINUTE, ..call.clone() };
    assert_eq!(log.ask(&at(59 * MINUTE)).unwrap(), Standing::Denied(id));
    let anew = waits(log.ask(&at(60 * MINUTE)).unwrap());
    assert_ne!(anew, id);
    // Who denied may think again.
    assert_eq!(decide(&mut log, anew, NO, 61 * MINUTE), Ok(State::Denied));
    assert_eq!(decide(&mut log, anew, YES, 62 * MINUTE), Ok(State::Approved(Scope::Once)));
    assert_eq!(log.ask(&at(63 * MINUTE)).unwrap(), Standing::Approved(anew));
}

#[test]
fn what_waited_too_long_is_asked_anew() {
    let fixture = Fixture::new();
    let mut log = fixture.open();
    let at = |at: u64| Asked { at, expires_at: at + 60 * MINUTE, ..delete("a", "1", 0) };
    let id = waits(log.ask(&at(0)).unwrap());
    assert_eq!(decide(&mut log, id, YES, 60 * MINUTE), Err(Undecided::Over(State::Expired)));
    let second = waits(log.ask(&at(60 * MINUTE)).unwrap());
    assert_ne!(second, id);
    assert!(decide(&mut log, second, YES, 61 * MINUTE).is_ok());
    assert_ne!(waits(log.ask(&at(120 * MINUTE)).unwrap()), second, "an approval that nobody used expires too");
}

#[test]
fn an_approval_may_last() {
    let fixture = Fixture::new();
    let mut log = fixture.open();
    let late = |path: &str, text: &str| delete(path, text, 500 * MINUTE);
    let in_session = |call: Asked, session: Option<&str>| Asked { by: by(session), ..call };
    for scope in [Scope::Session, Scope::Always] {
        let path = scope.as_str();
        let both = Asked { paths: vec![path.to_owned(), "z".to_owned()], ..delete(path, "1", 0) };
        let id = waits(log.ask(&both).unwrap());
        assert_eq!(decide(&mut log, id, (Decision::Approve, scope), 1), Ok(State::Approved(scope)));
        for text in ["2", "3"] {
            assert_eq!(log.ask(&late(path, text)).unwrap(), Standing::Approved(id), "some of the paths");
        }
        waits(log.ask(&Asked { paths: vec![path.to_owned(), "y".to_owned()], ..late(path, "4") }).unwrap());
        waits(log.ask(&Asked { act: "edit".to_owned(), ..late(path, "5") }).unwrap());
        waits(log.ask(&Asked { paths: Vec::new(), ..late(path, "6") }).unwrap());
        let elsewhere = log.ask(&in_session(late(path, "7"), Some("t"))).unwrap();
        assert_eq!(elsewhere == Standing::Approved(id), scope == Scope::Always, "{elsewhere:?}");
        // It can be taken back when the request itself has long expired, and not be given again.
        assert_eq!(
            decide(&mut log, id, (Decision::Approve, scope), 500 * MINUTE),
            Err(Undecided::Over(State::Expired))
        );
        assert_eq!(decide(&mut log, id, NO, 500 * MINUTE), Ok(State::Expired));
        waits(log.ask(&late(path, "2")).unwrap());
    }
    let homeless = in_session(delete("h", "1", 0), None);
    let id = waits(log.ask(&homeless).unwrap());
    assert_eq!(decide(&mut log, id, (Decision::Approve, Scope::Session), 1), Err(Undecided::NoSession));
    let unknown = ApprovalId::parse("000000-1").unwrap();
    assert_eq!(decide(&mut log, unknown, YES, 1), Err(Undecided::Unknown), "the header has that line");
}

#[test]
fn not_more_wait_than_a_person_can_look_through() {
    let fixture = Fixture::new();
    let mut log = fixture.open();
    for number in 0..MOST_WAITING {
        waits(log.ask(&delete(&number.to_string(), "", 0)).unwrap());
    }
    assert_eq!(log.ask(&delete("more", "", 1)).unwrap(), Standing::TooMany);
    waits(log.ask(&delete("0", "", 1)).unwrap());
    waits(log.ask(&delete("more", "", 60 * MINUTE)).unwrap());
}

#[test]
fn a_torn_line_is_nothing_and_an_altered_one_ends_all() {
    let fixture = Fixture::new();
    let call = delete("a", "1", 0);
    let id = waits(fixture.open().ask(&call).unwrap());
    let whole = fs::read_to_string(fixture.file()).unwrap();
    fs::OpenOptions::new().append(true).open(fixture.file()).unwrap().write_all(b"0123 {\"kind\":\"deci").unwrap();
    let mut log = fixture.open();
    assert_eq!(waits(log.ask(&call).unwrap()), id);
    assert!(decide(&mut log, id, NO, 1).is_ok(), "the log goes on after the fragment");
    assert_eq!(fixture.open().ask(&call).unwrap(), Standing::Denied(id));

    fs::write(fixture.file(), whole.replace("\"delete\"", "\"remove\"")).unwrap();
    let damaged = Approvals::open(&fixture.store, Create::Yes, 0);
    assert!(matches!(damaged, Err(ApprovalsError::Log(LogError::Damaged { log: LogName::Approvals, line: 2 }))));
}

#[test]
fn what_a_newer_version_wrote_approves_nothing() {
    let fixture = Fixture::new();
    let call = delete("a", "1", 0);
    let id = waits(fixture.open().ask(&call).unwrap());
    let mut raw = fixture.store.logs().open(&LogName::Approvals, Create::No).unwrap().unwrap();
    raw.catch_up().unwrap();
    let by = r#"{"surface":"cli"}"#;
    for line in [
        format!(
            r#"{{"kind":"decided","request":2,"decision":"approve","scope":"forever","how":"x","by":{by},"at":1}}"#
        ),
        format!(r#"{{"kind":"decided","request":2,"decision":"perhaps","scope":"once","how":"x","by":{by},"at":1}}"#),
        r#"{"kind":"delegated","request":2}"#.to_owned(),
    ] {
        raw.append(&line).unwrap();
    }
    assert_eq!(waits(fixture.open().ask(&call).unwrap()), id);
    raw.append(r#"{"kind":"open","v":2,"nonce":"","at":0}"#).unwrap();
    assert!(matches!(Approvals::open(&fixture.store, Create::No, 0), Err(ApprovalsError::Newer)));
}

#[test]
fn ids_are_read_as_they_are_printed() {
    for wrong in ["", "7", "v7", "0a1b2c", "0a1b2c-", "0A1B2C-7", "a1b2c-7", "0a1b2c-07", "0a1b2c-7-8", "+a1b2c-7"] {
        assert_eq!(ApprovalId::parse(wrong), None, "{wrong}");
    }
    assert_eq!(ApprovalId::parse("0a1b2c-7").unwrap().to_string(), "0a1b2c-7");
}
