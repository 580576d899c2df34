//! A disk that is full or read-only and a file system that lacks something, played by system calls that fail on one thread.
#![allow(clippy::unwrap_used, reason = "tests and their helpers")]

mod seccomp;
mod world;

use std::{fs, io::Write};

use readproof_core::text::Text;
use readproof_disk::{
    Appended, Create, Expected, HardLinks, Loaded, LocalStore, LocateError, LogError, Put, ReplaceError, SnapshotError,
    SnapshotRules, Store, StoreError, TranscriptError, TranscriptFile,
};
use rustix::io::Errno;
use seccomp::{careful_renames, creating_opens, every, file_writes, with_failing, with_idle};
use world::{World, append, open_log, session, texts};

#[test]
fn a_full_disk_leaves_the_old_content_and_no_rest() {
    let world = World::new();
    fs::write(world.at("f"), "old").unwrap();
    let file = world.root.locate(&[world.name("f")]).unwrap();
    for errno in [Errno::NOSPC, Errno::DQUOT] {
        let failed = with_failing(vec![file_writes()], errno, || {
            world.root.replace(&file, "new", Expected::Anything, HardLinks::Refuse)
        });
        assert!(matches!(failed, Err(ReplaceError::Full { .. })), "{failed:?}");
    }
    let failed = with_failing(vec![every(seccomp::FSYNC)], Errno::IO, || {
        world.root.replace(&file, "new", Expected::Anything, HardLinks::Refuse)
    });
    assert!(matches!(failed, Err(ReplaceError::Io { .. })), "{failed:?}");
    assert_eq!(fs::read_to_string(world.at("f")).unwrap(), "old");
    assert_eq!(fs::read_dir(world.path()).unwrap().count(), 1);
}

#[test]
fn a_full_disk_stores_nothing_and_leaves_no_temp() {
    let world = World::new();
    let store = world.store();
    let text = Text::new("text\n".into());
    for put in [|s: &LocalStore, t: &Text| s.objects().put(t), |s: &LocalStore, t: &Text| s.objects().put_synced(t)] {
        let failed = with_failing(vec![file_writes()], Errno::NOSPC, || put(&store, &text));
        assert!(matches!(failed, Err(StoreError::Full { .. })), "{failed:?}");
    }
    let failed = with_failing(vec![every(seccomp::FSYNC)], Errno::IO, || store.objects().put_synced(&text));
    assert!(matches!(failed, Err(StoreError::Io { .. })), "{failed:?}");
    let other = Text::new("other\n".into());
    for calls in [vec![every(seccomp::FSYNC)], vec![file_writes()]] {
        let failed = with_failing(calls, Errno::IO, || store.objects().put_all_synced(&[&text, &other]));
        assert!(matches!(failed, Err(StoreError::Io { .. })), "{failed:?}");
    }
    assert_eq!((world.temps(), store.usage().objects), (0, 0));
    assert_eq!(store.objects().put(&text).unwrap(), Put::Stored);
}

#[test]
fn a_full_disk_stops_a_log_until_there_is_space() {
    let world = World::new();
    let store = world.store();
    let mut log = open_log(&store);
    log.append("one").unwrap();
    let failed = with_failing(vec![file_writes()], Errno::NOSPC, || log.append("two"));
    assert!(matches!(failed, Err(LogError::Full { .. })), "{failed:?}");
    assert_eq!(log.append("two").unwrap(), 2);
}

/// A write that the disk had room for in part: the call reports less than all, and that much is in the file.
#[test]
fn a_line_written_in_part_can_be_written_again() {
    // What two failed appends in a row would have written: a line, then the seal of its rest and the line again.
    let world = World::new();
    let store = world.store();
    let path = world.at(".readproof/log/s.log");
    let open = |create| store.logs().open(&session(), create).unwrap().unwrap();
    let mut log = open(Create::Yes);
    log.append("one").unwrap();
    let one = fs::read(&path).unwrap();
    log.append("two").unwrap();
    let line = fs::read(&path).unwrap().split_off(one.len());
    for first in (0..line.len()).step_by(17) {
        let resealed = [format!("\x18{first}\x18\n").as_bytes(), &line].concat();
        for second in 0..resealed.len() {
            fs::write(&path, &one).unwrap();
            let mut log = open(Create::No);
            log.catch_up().unwrap();
            for part in [&line[..first], &resealed[..second]] {
                let failed = with_idle(vec![file_writes()], || log.append("two"));
                assert!(matches!(failed, Err(LogError::Full { .. })), "{failed:?}");
                fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(part).unwrap();
                assert!(matches!(log.append("two"), Err(LogError::Behind { .. })));
                assert_eq!(log.catch_up().unwrap(), []);
                if first == 0 {
                    break;
                }
            }
            let line = log.append("two").unwrap();
            assert_eq!(line, log.lines());
            let mut fresh = open(Create::No);
            let texts: Vec<String> = fresh.catch_up().unwrap().into_iter().map(|payload| payload.text).collect();
            assert_eq!(texts, ["one", "two"], "after {first} and {second} bytes");
            assert_eq!((fresh.lines(), fresh.torn()), (log.lines(), log.torn()));
        }
    }
}

#[test]
fn lines_that_could_not_be_read_are_read_again() {
    let world = World::new();
    let (mut writer, mut reader) = (open_log(&world.store()), open_log(&world.store()));
    for payload in ["one", "two"] {
        append(&mut *writer, payload);
    }
    let failed = with_failing(vec![every(seccomp::PREAD64)], Errno::IO, || reader.catch_up());
    assert!(matches!(failed, Err(LogError::Io { .. })), "{failed:?}");
    assert!(matches!(reader.append("blind"), Err(LogError::Behind { .. })));
    assert_eq!(texts(&reader.catch_up().unwrap()), ["one", "two"]);
}

#[test]
fn a_read_only_disk_is_said_to_be_so() {
    let world = World::new();
    let calls = || vec![creating_opens(), every(seccomp::MKDIRAT), every(seccomp::RENAMEAT2)];
    let failed = with_failing(calls(), Errno::ROFS, || LocalStore::open(&world.root).map(|_| ()));
    assert!(matches!(failed, Err(StoreError::ReadOnly { .. })), "{failed:?}");
    assert!(with_failing(calls(), Errno::ROFS, || LocalStore::open_existing(&world.root)).unwrap().is_none());

    drop(LocalStore::open(&world.root).unwrap());
    fs::write(world.at("f"), "old").unwrap();
    with_failing(calls(), Errno::ROFS, || {
        let store = world.store();
        let text = Text::new("text\n".into());
        assert!(matches!(store.objects().put(&text), Err(StoreError::ReadOnly { .. })));
        assert_eq!(store.objects().load(text.hash()), Loaded::Missing);
        assert!(matches!(store.logs().open(&session(), Create::Yes), Err(LogError::ReadOnly { .. })));
        let file = world.root.locate(&[world.name("f")]).unwrap();
        let failed = world.root.replace(&file, "new", Expected::Anything, HardLinks::Refuse);
        assert!(matches!(failed, Err(ReplaceError::ReadOnly { .. })));
    });
    assert_eq!(fs::read_to_string(world.at("f")).unwrap(), "old");
}

#[test]
fn what_may_not_be_touched_is_denied() {
    let world = World::new();
    fs::write(world.at("f"), "old").unwrap();
    let file = world.root.locate(&[world.name("f")]).unwrap();
    with_failing(vec![every(seccomp::OPENAT2)], Errno::ACCESS, || {
        assert!(matches!(world.root.locate(&[world.name("f")]), Err(LocateError::Denied { .. })));
        let rules = SnapshotRules { max_bytes: 10, hard_links: HardLinks::Allow };
        assert!(matches!(world.root.snapshot(&file, &rules), Err(SnapshotError::Denied { .. })));
    });
    let failed = with_failing(vec![creating_opens()], Errno::ACCESS, || {
        world.root.replace(&file, "new", Expected::Anything, HardLinks::Refuse)
    });
    assert!(matches!(failed, Err(ReplaceError::Denied { .. })), "{failed:?}");
    // A file that may not be written in a folder that may: a rename would not ask.
    let asking = vec![every(seccomp::FACCESSAT), every(seccomp::FACCESSAT2)];
    let failed =
        with_failing(asking, Errno::ACCESS, || world.root.replace(&file, "new", Expected::Anything, HardLinks::Refuse));
    assert!(matches!(failed, Err(ReplaceError::Denied { .. })), "{failed:?}");
    assert_eq!(fs::read_to_string(world.at("f")).unwrap(), "old");
    let failed =
        with_failing(vec![every(seccomp::MKDIRAT)], Errno::ACCESS, || LocalStore::open(&world.root).map(|_| ()));
    assert!(matches!(failed, Err(StoreError::Denied { .. })), "{failed:?}");
}

#[test]
fn a_file_system_without_careful_renames_will_do() {
    let world = World::new();
    for errno in [Errno::INVAL, Errno::NOSYS] {
        with_failing(vec![careful_renames()], errno, || {
            let store = world.store();
            let text = Text::new(format!("text {errno}"));
            assert_eq!(store.objects().put(&text).unwrap(), Put::Stored);
            assert_eq!(store.objects().put(&text).unwrap(), Put::Present);
            assert_eq!(store.objects().load(text.hash()), Loaded::Text(text));
            assert_eq!(world.temps(), 0);
        });
    }
    assert!(LocalStore::open_existing(&world.root).unwrap().is_some());
}

#[test]
fn that_a_transcript_was_replaced_is_not_lost_by_a_failed_read() {
    let world = World::new();
    let [path, new] = ["s.jsonl", "new"].map(|name| world.at(name));
    fs::write(&path, "old\n").unwrap();
    let mut file = TranscriptFile::open(&path, 1000).unwrap();
    assert_eq!(file.appended().unwrap(), Appended::More(b"old\n".to_vec()));
    fs::write(&new, "new\n").unwrap();
    fs::rename(&new, &path).unwrap();
    for _ in 0..2 {
        let failed = with_failing(vec![every(seccomp::PREAD64)], Errno::IO, || file.appended());
        assert!(matches!(failed, Err(TranscriptError::Io { .. })), "{failed:?}");
    }
    assert_eq!(file.appended().unwrap(), Appended::Anew(b"new\n".to_vec()));
    assert_eq!(file.appended().unwrap(), Appended::Nothing);
}
