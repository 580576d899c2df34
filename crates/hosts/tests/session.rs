//! Sessions: what appending, moving and editing cost, and that a session reads the same however it is opened.
#![allow(clippy::unwrap_used, reason = "a test may panic, in its helpers too")]

use readproof_core::{
    decide::{Ask, Base, Reason, decide},
    limits::{Answers, Limits},
    path::PathKey,
    render::render,
    scope::Lines,
    text::{Form, Text},
};
use readproof_disk::{Create, LocalStore, LocalStores, LogName, Root, SessionName, SmallTexts, Store, Stores, Whose};
use readproof_hosts::session::{Answered, Block, EntryId, Session, Stands};

struct Fixture {
    _dir: tempfile::TempDir,
    root: Root,
    store: LocalStore,
}

impl Fixture {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::open(dir.path()).unwrap();
        let store = LocalStore::open(&root).unwrap();
        Self { _dir: dir, root, store }
    }

    fn session(&self, name: &str) -> Session {
        let name = SessionName::parse(name).unwrap();
        let mut session = Session::open(&self.store, &name, Create::Yes, Answers::Held).unwrap().unwrap();
        session.ensure_header(0).unwrap();
        session
    }
}

fn plain(path: &str, text: &str) -> Answered {
    let (limits, text, path) = (Limits::default(), Text::new(text.to_owned()), PathKey::new(path));
    let ask = Ask::new(&text, None, None, &limits).unwrap();
    let shown = render(&decide(&text, &path, &ask, Base::None(Reason::NotHeld), &limits), &text, &ask);
    Answered::new(&path, &shown, (None, None), (Answers::Held, limits), 0)
}

fn show(session: &mut Session, path: &str, text: &str) -> EntryId {
    let offer = session.offer((session.call(), Stands::AtLeaf), session.mark(), plain(path, text)).unwrap();
    session.deliver(offer).unwrap();
    offer
}

fn holds(session: &Session, path: &str) -> bool {
    let knowledge = session.knowledge();
    knowledge.holds_lines(&PathKey::new(path), Lines::new(1, 1).unwrap(), Form::Disk, Answers::Held).is_some()
}

#[test]
fn appending_costs_the_appended_and_moving_costs_nothing() {
    let fixture = Fixture::new();
    let mut session = fixture.session("s");
    let mut entries = Vec::new();
    for n in 0..200 {
        entries.push(show(&mut session, &format!("{n}.txt"), "a\n"));
        assert_eq!(session.transcript().applied(), n + 1, "one event a read");
    }
    for at in [0, 100, 199, 50] {
        session.move_to(Some(entries[at]), 0).unwrap();
        assert_eq!(session.knowledge().paths().count(), at + 1);
    }
    assert_eq!(session.transcript().applied(), 200, "another leaf is only looked up");

    let again = fixture.session("s");
    assert_eq!(again.transcript().applied(), 200);
    assert_eq!(again.knowledge().paths().count(), 51, "a new process has the leaf of the old one");
}

#[test]
fn another_process_sees_what_was_appended() {
    let fixture = Fixture::new();
    let (mut one, mut two) = (fixture.session("s"), fixture.session("s"));
    show(&mut one, "a", "1\n");
    two.catch_up().unwrap();
    assert!(holds(&two, "a"));
    two.compact(None, 0).unwrap();
    one.catch_up().unwrap();
    assert!(!holds(&one, "a"));
}

#[test]
fn an_answer_counts_once_delivered_and_only_once() {
    let fixture = Fixture::new();
    let mut session = fixture.session("s");
    let old = session.offer((session.call(), Stands::AtLeaf), session.mark(), plain("a", "old\n")).unwrap();
    assert!(!holds(&session, "a"));
    assert!(session.transcript().is_pending(&PathKey::new("a")));
    session.deliver(old).unwrap();
    assert!(holds(&session, "a"));
    show(&mut session, "a", "new\n");
    let newest = session.knowledge().of(&PathKey::new("a"))[0].version();
    session.deliver(old).unwrap();
    assert_eq!(session.knowledge().of(&PathKey::new("a"))[0].version(), newest, "delivered twice, it is not newer");
}

#[test]
fn a_context_edit_derives_anew_from_its_target() {
    let fixture = Fixture::new();
    let mut session = fixture.session("s");
    let first = show(&mut session, "a", "1\n");
    show(&mut session, "b", "2\n");
    session.edit_context(first, Some(Block::of("1\n")), 0).unwrap();
    assert!(holds(&session, "a"), "the same block changes nothing");
    session.edit_context(first, None, 0).unwrap();
    assert!(!holds(&session, "a"));
    assert!(holds(&session, "b"));
    session.move_to(Some(first), 0).unwrap();
    assert!(holds(&session, "a"), "it is held before the edit");
}

#[test]
fn a_fork_goes_its_own_way() {
    let fixture = Fixture::new();
    let mut session = fixture.session("s");
    let first = show(&mut session, "a", "1\n");
    show(&mut session, "b", "2\n");
    let name = SessionName::parse("t").unwrap();
    let mut fork = session.fork(&fixture.store, &name, Some(first), 0).unwrap();
    assert!(holds(&fork, "a") && !holds(&fork, "b"));
    fork.compact(None, 0).unwrap();
    assert!(holds(&session, "a"));
    assert!(session.fork(&fixture.store, &name, None, 0).is_err(), "the name is taken");
}

#[test]
fn no_session_goes_on_with_a_retired_log() {
    let fixture = Fixture::new();
    let (mut one, mut two) = (fixture.session("s"), fixture.session("s"));
    show(&mut one, "a", "1\n");
    two.catch_up().unwrap();
    let name = SessionName::parse("s").unwrap();
    let stores = LocalStores::new(&fixture.root, Whose::default(), SmallTexts::default());
    let kept = stores.retire(&LogName::from(&name)).unwrap();
    assert_eq!(kept.map(|kept| kept.to_string()).as_deref(), Some("s.log.retired-1"));
    assert!(one.catch_up().is_err());
    assert!(two.catch_up().is_err());
    assert!(!holds(&fixture.session("s"), "a"), "the session begins anew");
    assert_eq!(stores.retire(&LogName::from(&SessionName::parse("t").unwrap())).unwrap(), None);
}

#[test]
fn unknown_records_keep_their_place() {
    let fixture = Fixture::new();
    let mut session = fixture.session("s");
    let first = show(&mut session, "a", "1\n");
    let name = LogName::from(&SessionName::parse("s").unwrap());
    let mut log = fixture.store.logs().open(&name, Create::No).unwrap().unwrap();
    log.catch_up().unwrap();
    let leaf = session.transcript().settled(first).0;
    log.append(&format!("{{\"kind\":\"from_the_future\",\"parent\":{leaf}}}")).unwrap();
    session.catch_up().unwrap();
    assert!(holds(&session, "a"));
    show(&mut session, "b", "2\n");
    assert!(holds(&session, "a") && holds(&session, "b"));
}

#[test]
fn a_fork_that_is_not_whole_is_not_there() {
    let fixture = Fixture::new();
    let (logs, name) = (fixture.store.logs(), LogName::from(&SessionName::parse("t").unwrap()));
    let mut draft = logs.draft(&name).unwrap();
    draft.append("{\"kind\":\"open\",\"v\":1,\"session\":\"t\",\"at\":0}").unwrap();
    // Whoever makes it may die here.
    assert!(logs.list().is_empty());
    assert!(logs.open(&name, Create::No).unwrap().is_none());
    assert!(draft.publish().unwrap());
    assert_eq!(logs.list(), std::slice::from_ref(&name));
    let mut late = logs.draft(&name).unwrap();
    assert!(!late.publish().unwrap(), "the name is taken, and what has it stays");
    assert!(logs.open(&name, Create::No).unwrap().unwrap().catch_up().unwrap().len() == 1);
}
