//! What a rule denies shows in no answer: the short version of `cargo xtask hidden`, and what it found.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic, in its helpers too")]

use readproof_core::{edit::Places, path::Bearings};
use readproof_disk::{Root, SessionName};
use readproof_engine::{
    Engine, FileStat, Listed, ListedKind, Replayed, SessionView, Settings, Status,
    operation::{Change, List, Operation, Over, Read, Write},
};
use readproof_testkit::{ask::Ask, hidden::hidden};
use std::{fs, process::Command};
use tempfile::TempDir;

#[test]
fn answers_are_the_same_without_denied_files() {
    let run = hidden(None, 1_000, 1, 1).expect("it can be run");
    assert!(run.leaks.is_empty(), "{run}");
    let answered = run.kinds.values().filter(|[answered, _, _]| *answered > 0).count();
    assert!(answered > 15, "{run}");
}

struct Fixture {
    dir: TempDir,
    engine: Engine,
}

impl Fixture {
    fn new(files: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::open(dir.path()).unwrap();
        let cwd = root.path().display().to_string();
        let bearings = Bearings { cwd, home: None };
        let engine = Engine::new(root, bearings, Settings::default(), Box::new(|| 0)).unwrap();
        let fixture = Self { dir, engine };
        files.iter().for_each(|(name, text)| fixture.put(name, text));
        fixture
    }

    fn put(&self, name: &str, text: &str) {
        let path = self.dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn deny(&self, name: &str) {
        self.put("readproof.toml", &format!("[policy]\ndeny = [\"{name}\"]\n"));
    }

    fn read(&self, name: &str) {
        let answer = self.engine.read(Some(&s()), Read { path: name.to_owned(), ..Read::default() }).unwrap();
        self.engine.delivered(&answer.given.unwrap()).unwrap();
    }
}

fn s() -> SessionName {
    SessionName::parse("s").unwrap()
}

#[test]
fn a_folder_does_not_tell_how_much_is_in_it() {
    let fixture = Fixture::new(&[("d/secret", "x\n")]);
    let stat: FileStat = fixture.engine.ask(None, Operation::Stat { path: "d".to_owned() }).unwrap();
    assert_eq!((stat.kind, stat.size_bytes, stat.modified_unix_ms), (Some("directory"), None, None));
}

#[test]
fn a_folder_with_a_file_of_its_own_name_is_listed_as_a_folder() {
    let fixture = Fixture::new(&[("a/a", "one\n"), ("a/b", "one\ntwo\n")]);
    let mut list = List::default();
    list.extent.path = Some("a".to_owned());
    let listed: Listed = fixture.engine.ask(None, Operation::List(list)).unwrap();
    let found: Vec<(&str, ListedKind)> = listed.entries.iter().map(|entry| (entry.name.as_str(), entry.what)).collect();
    let file = |bytes, lines| ListedKind::File { bytes, lines: Some(lines) };
    assert_eq!(found, [("a/a", file(4, 1)), ("a/b", file(8, 2))]);
}

#[test]
fn the_status_counts_no_reads_of_files_that_are_denied_since() {
    let fixture = Fixture::new(&[("a", "plain\n"), ("secret", "one\ntwo\nthree\n")]);
    fixture.read("a");
    fixture.read("secret");
    fixture.deny("secret");
    let status: Status = fixture.engine.ask(Some(&s()), Operation::Status).unwrap();
    let talk = status.conversation.unwrap();
    assert_eq!((talk.counts.values().sum::<u64>(), talk.plain_bytes), (1, 6));
}

#[test]
fn a_replay_tells_no_hashes_of_denied_files() {
    let fixture = Fixture::new(&[("secret", "one\ntwo\n")]);
    fixture.read("secret");
    fixture.put("secret", "one\ntwo\nthree\n");
    let change = Change::Replace { old: "one".to_owned(), new: "1".to_owned(), places: Places::One };
    let write = Write { path: "secret".to_owned(), change, over: Over::Anything };
    fixture.engine.ask::<readproof_engine::Written>(Some(&s()), Operation::Write(write)).unwrap();
    let replay = || fixture.engine.ask::<Vec<Replayed>>(Some(&s()), Operation::Replay).unwrap();
    assert_eq!(replay()[0].outside.len(), 1);
    fixture.deny("secret");
    assert!(replay()[0].outside.is_empty());
}

#[test]
fn the_view_of_a_session_tells_no_lines_of_denied_files() {
    let fixture = Fixture::new(&[("secret", "one\ntwo\nthree\n")]);
    fixture.read("secret:2-9");
    fixture.deny("secret");
    let view: SessionView = fixture.engine.ask(Some(&s()), Operation::ShowSession).unwrap();
    let entry = &view.entries[0];
    assert_eq!((entry.path.as_deref(), entry.mode, entry.note.as_str()), (Some("(hidden by a rule)"), None, ""));
}

#[test]
fn a_denied_file_that_git_tracks_does_not_show_what_lies_beside_it() {
    let fixture = Fixture::new(&[("a", "x\n"), (".hidden/beside", "x\n"), (".hidden/secret", "x\n")]);
    for words in ["init -q", "add .hidden/secret"] {
        let git = Command::new("git").current_dir(fixture.dir.path()).args(words.split(' ')).status();
        assert!(git.unwrap().success());
    }
    let names = || {
        let listed: Listed = fixture.engine.ask(None, Operation::List(List::default())).unwrap();
        listed.entries.into_iter().map(|entry| entry.name).collect::<Vec<_>>()
    };
    assert!(names().contains(&".hidden/secret".to_owned()));
    fixture.deny("secret");
    assert_eq!(names(), ["a", "readproof.toml"]);
}
