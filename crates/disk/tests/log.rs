//! The session log: what was appended comes back, in order and verified, whatever is cut or altered.
#![allow(clippy::unwrap_used, reason = "tests and their helpers")]

mod world;

use std::{
    fs,
    io::Write,
    ops::ControlFlow,
    os::unix::fs::{PermissionsExt, symlink},
    thread,
};

use readproof_disk::{
    Create, LocalStores, Log, LogError, LogName, Payload, Right, SessionName, SmallTexts, Store, StoreError, Stores,
    Whose,
};
use world::{World, append, open_log, session, texts};

const FILE: &str = ".readproof/log/s.log";

/// Replaces the bytes of the log, as no program of ours would.
fn write(world: &World, bytes: &[u8]) {
    world.write(FILE, bytes);
    fs::set_permissions(world.at(FILE), fs::Permissions::from_mode(0o600)).unwrap();
}

fn open(world: &World) -> Box<dyn Log> {
    open_log(&world.store())
}

fn stores(world: &World) -> LocalStores {
    LocalStores::new(&world.root, Whose::default(), SmallTexts::default())
}

#[test]
fn session_names() {
    for good in ["a", "A-b_c.9", "_x", "0", &"x".repeat(64)] {
        assert_eq!(SessionName::parse(good).unwrap().as_str(), good);
    }
    for bad in ["", ".", "..", ".a", "-a", "a/b", "a b", "é", "a\n", "a\0", &"x".repeat(65)] {
        assert!(SessionName::parse(bad).is_err(), "{bad}");
    }
    assert_eq!("a/b".parse::<SessionName>().unwrap_err().name, "a/b");
}

#[test]
fn what_is_appended_comes_back() {
    let world = World::new();
    let store = world.store();
    assert!(store.logs().open(&session(), Create::No).unwrap().is_none());
    assert!(store.logs().list().is_empty());
    let mut writer = open(&world);
    assert_eq!(writer.catch_up().unwrap(), []);
    let payloads = ["{\"a\":1}", "", "é \u{feff} \r\t", "x y  z "];
    for (n, payload) in payloads.iter().enumerate() {
        assert_eq!(append(&mut *writer, payload), n as u64 + 1);
    }
    assert_eq!(writer.catch_up().unwrap(), [], "not its own lines");
    writer.sync().unwrap();
    writer.sync().unwrap();

    let mut reader = store.logs().open(&session(), Create::No).unwrap().unwrap();
    let read = reader.catch_up().unwrap();
    assert_eq!(texts(&read), payloads);
    assert_eq!(read.iter().map(|payload| payload.line).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert_eq!(reader.catch_up().unwrap(), []);
    append(&mut *writer, "more");
    append(&mut *writer, "and more");
    assert_eq!(texts(&reader.catch_up().unwrap()), ["more", "and more"]);
    assert_eq!(append(&mut *reader, "mine"), 7);
    assert_eq!(writer.catch_up().unwrap(), [Payload { line: 7, text: "mine".into() }]);
    assert_eq!((writer.lines(), writer.torn()), (7, 0));

    fs::write(world.at(FILE).with_file_name("not a session.log"), "").unwrap();
    let other = SessionName::parse("b.log").unwrap();
    store.logs().open(&LogName::from(&other), Create::Yes).unwrap();
    assert_eq!(store.logs().sessions().iter().map(SessionName::as_str).collect::<Vec<_>>(), ["b.log", "s"]);
    assert_eq!(store.usage().logs, 2);
}

#[test]
fn the_format_is_what_it_says() {
    let world = World::new();
    let mut log = open(&world);
    append(&mut *log, "one");
    append(&mut *log, "two");
    // printf '\0…(32)…one' | sha256sum, then the same with that digest and `two`.
    let first = readproof_core::text::ContentHash::of_parts(&[&[0; 32], b"one"]);
    let second = readproof_core::text::ContentHash::of_parts(&[first.as_bytes(), b"two"]);
    assert_eq!(fs::read_to_string(world.at(FILE)).unwrap(), format!("{first} one\n{second} two\n"));
}

#[test]
fn payloads_that_are_no_line_are_refused() {
    let world = World::new();
    let mut log = open(&world);
    for bad in ["a\nb", "\n", "\u{18}", "a\u{18}\u{18}"] {
        assert!(matches!(log.append(bad), Err(LogError::BadPayload { .. })));
    }
    assert_eq!(log.append("fine").unwrap(), 1);
}

#[test]
fn appending_needs_to_be_caught_up() {
    let world = World::new();
    let (mut a, mut b) = (open(&world), open(&world));
    append(&mut *a, "first");
    assert!(matches!(b.append("blind"), Err(LogError::Behind { .. })));
    assert_eq!(texts(&b.catch_up().unwrap()), ["first"]);
    assert_eq!(b.append("second").unwrap(), 2);
    assert_eq!(texts(&a.catch_up().unwrap()), ["second"]);
}

/// Another process that appends is waited for, but not for ever.
#[test]
fn one_appends_at_a_time() {
    let world = World::new();
    let (mut a, mut b) = (open(&world), open(&world));
    append(&mut *a, "one");
    b.catch_up().unwrap();
    let other = fs::File::open(world.at(FILE)).unwrap();
    other.lock().unwrap();
    assert!(matches!(b.append("two"), Err(LogError::Busy { .. })));
    assert_eq!(a.catch_up().unwrap(), [], "reading needs no lock");
    drop(other);
    assert_eq!(b.append("two").unwrap(), 2);
}

#[test]
fn a_line_that_is_refused_is_given_again() {
    let world = World::new();
    let (mut writer, mut reader) = (open(&world), open(&world));
    for payload in ["one", "two", "three"] {
        append(&mut *writer, payload);
    }
    for _ in 0..2 {
        let mut given = Vec::new();
        let until_two = &mut |line: u64, text: &str| {
            given.push((line, text.to_owned()));
            if text == "two" { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        reader.catch_up_each(until_two).unwrap();
        assert_eq!(given.last(), Some(&(2, "two".to_owned())));
        assert_eq!(reader.lines(), 1);
        assert!(matches!(reader.append("blind"), Err(LogError::Behind { .. })));
    }
    assert_eq!(texts(&reader.catch_up().unwrap()), ["two", "three"]);
    assert_eq!(reader.append("four").unwrap(), 4);
}

#[test]
fn a_lease_has_one_holder() {
    let world = World::new();
    let (one, other) = (world.store(), world.store());
    let held = one.leases().take(Right::RetireLogs).unwrap();
    let refused = other.leases().take(Right::RetireLogs);
    assert!(matches!(&refused, Err(StoreError::Busy { name }) if name == ".readproof/log"), "{refused:?}");
    drop(held);
    other.leases().take(Right::RetireLogs).unwrap();
    // Another right is another lease, and who waits for one has it as soon as it is free.
    let held = one.leases().wait(Right::Watch).unwrap();
    other.leases().take(Right::RetireLogs).unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| other.leases().wait(Right::Watch).map(drop));
        drop(held);
        waiting.join().unwrap().unwrap();
    });
}

#[test]
fn texts_are_erased_while_nobody_keeps_any() {
    let world = World::new();
    let (one, other) = (world.store(), world.store());
    let keeping = [&one, &other].map(|store| store.leases().take(Right::KeepTexts).unwrap());
    let refused = other.leases().take(Right::EraseTexts);
    assert!(matches!(&refused, Err(StoreError::Busy { name }) if name == ".readproof/objects"), "{refused:?}");
    drop(keeping);
    let erasing = one.leases().take(Right::EraseTexts).unwrap();
    assert!(matches!(other.leases().take(Right::KeepTexts), Err(StoreError::Busy { .. })));
    drop(erasing);
    other.leases().wait(Right::KeepTexts).unwrap();
}

#[test]
fn many_append_at_once_and_all_chain() {
    let world = World::new();
    let count = 25;
    thread::scope(|scope| {
        let writers: Vec<_> = (0..8)
            .map(|n| {
                let world = &world;
                scope.spawn(move || {
                    let mut log = open(world);
                    for i in 0..count {
                        append(&mut *log, &format!("{n}:{i}:{}", "x".repeat(i * 10)));
                    }
                })
            })
            .collect();
        // A reader without a lock never takes half a line for damage.
        let mut reader = open(&world);
        let mut seen = 0;
        while !writers.iter().all(thread::ScopedJoinHandle::is_finished) {
            seen += reader.catch_up().unwrap().len();
        }
        assert_eq!(seen + reader.catch_up().unwrap().len(), 8 * count);
    });
    let payloads = open(&world).catch_up().unwrap();
    assert_eq!(payloads.len(), 8 * count);
    for n in 0..8 {
        let own: Vec<&str> = texts(&payloads).into_iter().filter(|text| text.starts_with(&format!("{n}:"))).collect();
        let expected: Vec<String> = (0..count).map(|i| format!("{n}:{i}:{}", "x".repeat(i * 10))).collect();
        assert_eq!(own, expected);
    }
}

/// A log with a sealed fragment in its middle, its payloads, and where each of its lines ends.
fn sample(world: &World) -> (Vec<u8>, Vec<&'static str>) {
    let mut log = open(world);
    append(&mut *log, "one");
    append(&mut *log, "zwei ö");
    let mut file = fs::OpenOptions::new().append(true).open(world.at(FILE)).unwrap();
    file.write_all(b"0123456789abcdef torn in the mid").unwrap();
    assert_eq!(append(&mut *log, "drei"), 4);
    append(&mut *log, "four {}");
    assert_eq!((log.lines(), log.torn()), (5, 1));
    (fs::read(world.at(FILE)).unwrap(), vec!["one", "zwei ö", "drei", "four {}"])
}

fn ends(bytes: &[u8]) -> Vec<usize> {
    bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1).collect()
}

/// The line that holds the byte at `at`, from 1.
fn line_of(bytes: &[u8], at: usize) -> usize {
    ends(bytes).iter().filter(|end| **end <= at).count() + 1
}

#[test]
fn a_log_cut_anywhere_keeps_its_whole_lines_and_goes_on() {
    let world = World::new();
    let (bytes, payloads) = sample(&world);
    for cut in 0..=bytes.len() {
        write(&world, &bytes[..cut]);
        let lines = ends(&bytes[..cut]).len();
        // The third line is the sealed fragment.
        let kept: Vec<&str> = payloads[..lines - usize::from(lines >= 3)].to_vec();
        let mut log = open(&world);
        assert_eq!(texts(&log.catch_up().unwrap()), kept, "cut at {cut}");
        append(&mut *log, "after");
        append(&mut *log, "again");
        assert_eq!(log.catch_up().unwrap(), []);
        let mut fresh = open(&world);
        let read = fresh.catch_up().unwrap();
        assert_eq!(texts(&read), [&kept[..], &["after", "again"]].concat(), "cut at {cut}");
        assert_eq!((fresh.lines(), fresh.torn()), (log.lines(), log.torn()));
        assert_eq!(read.last().unwrap().line, log.lines());
    }
}

#[test]
fn every_altered_byte_is_damage_at_its_line() {
    let world = World::new();
    let (bytes, payloads) = sample(&world);
    let seal = b"\x1832\x18\n".len();
    let fragment = ends(&bytes)[1]..ends(&bytes)[2] - seal;
    for at in 0..bytes.len() {
        for flip in [1, 0x20, 0x80, bytes[at] ^ b'\n', bytes[at] ^ 0x18, bytes[at] ^ b' '] {
            let mut altered = bytes.clone();
            altered[at] ^= flip;
            if altered == bytes {
                continue;
            }
            write(&world, &altered);
            let mut log = open(&world);
            let read = log.catch_up();
            if at == bytes.len() - 1 {
                // Without its end the last line is a torn tail.
                assert_eq!(texts(&read.unwrap()), payloads[..3]);
            } else if fragment.contains(&at) && altered[at] != b'\n' {
                assert_eq!(texts(&read.unwrap()), payloads);
            } else {
                let line = line_of(&bytes, at) as u64;
                let found = read.unwrap_err();
                assert!(matches!(found, LogError::Damaged { line: l, .. } if l == line), "byte {at} ^ {flip}: {found}");
                assert!(matches!(log.catch_up(), Err(LogError::Damaged { line: l, .. }) if l == line));
                let appended = log.append("more");
                assert!(matches!(appended, Err(LogError::Damaged { line: l, .. }) if l == line));
                assert_eq!(fs::read(world.at(FILE)).unwrap(), altered, "evidence is kept");
            }
        }
    }
}

#[test]
fn lines_taken_out_or_put_in_are_damage() {
    let world = World::new();
    let mut log = open(&world);
    for payload in ["one", "two", "three"] {
        append(&mut *log, payload);
    }
    let bytes = fs::read(world.at(FILE)).unwrap();
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    for (order, line) in
        [(vec![1, 2], 1), (vec![0, 2], 2), (vec![0, 0, 1, 2], 2), (vec![1, 0, 2], 1), (vec![0, 1, 2, 2], 4)]
    {
        write(&world, &order.iter().flat_map(|n| lines[*n]).copied().collect::<Vec<u8>>());
        assert!(matches!(open(&world).catch_up(), Err(LogError::Damaged { line: l, .. }) if l == line), "{order:?}");
    }
    for extra in ["\n", " \n", "x\n", "\u{18}\n", &format!("{} x\n", "0".repeat(64))] {
        write(&world, &[&bytes, extra.as_bytes()].concat());
        let error = open(&world).catch_up().unwrap_err();
        assert!(matches!(&error, LogError::Damaged { line: 4, log } if *log == session()), "{extra:?}");
    }
}

#[test]
fn a_log_that_shrank_is_damaged() {
    let world = World::new();
    let mut log = open(&world);
    append(&mut *log, "one");
    append(&mut *log, "two");
    let bytes = fs::read(world.at(FILE)).unwrap();
    // Written in place: the open handles see it.
    write(&world, &bytes[..bytes.len() - 1]);
    assert!(matches!(log.catch_up(), Err(LogError::Damaged { line: 2, .. })));
    write(&world, &bytes);
    assert!(matches!(log.catch_up(), Err(LogError::Damaged { line: 2, .. })), "it stays so");
    assert_eq!(open(&world).catch_up().unwrap().len(), 2, "another handle judges for itself");
}

#[test]
fn a_half_written_line_is_not_yet_there() {
    let world = World::new();
    let mut writer = open(&world);
    append(&mut *writer, "one");
    let whole = fs::read(world.at(FILE)).unwrap();
    let mut reader = open(&world);
    for end in 0..whole.len() {
        write(&world, &whole[..end]);
        assert_eq!(reader.catch_up().unwrap(), [], "{end} bytes");
    }
    write(&world, &whole);
    assert_eq!(texts(&reader.catch_up().unwrap()), ["one"]);
}

#[test]
fn a_removed_log_is_gone() {
    let world = World::new();
    let mut log = open(&world);
    append(&mut *log, "one");
    fs::remove_file(world.at(FILE)).unwrap();
    assert!(matches!(log.catch_up(), Err(LogError::Gone { .. })));
    assert!(matches!(log.append("two"), Err(LogError::Gone { .. })));
}

#[test]
fn nothing_else_passes_for_a_log() {
    let world = World::new();
    let store = world.store();
    let open = |create| store.logs().open(&session(), create).map(|log| log.is_some());
    for create in [Create::Yes, Create::No] {
        fs::write(world.at("elsewhere"), "").unwrap();
        for target in ["../../elsewhere", "nowhere"] {
            symlink(target, world.at(FILE)).unwrap();
            assert!(matches!(open(create), Err(LogError::Link { .. })), "{target}");
            fs::remove_file(world.at(FILE)).unwrap();
        }
        rustix::fs::mknodat(rustix::fs::CWD, world.at(FILE), rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        assert!(matches!(open(create), Err(LogError::NotAFile { .. })));
        fs::remove_file(world.at(FILE)).unwrap();

        fs::create_dir(world.at(FILE)).unwrap();
        assert!(matches!(open(create), Err(LogError::NotAFile { .. })));
        fs::remove_dir(world.at(FILE)).unwrap();

        for mode in [0o644, 0o660, 0o606] {
            fs::write(world.at(FILE), "").unwrap();
            fs::set_permissions(world.at(FILE), fs::Permissions::from_mode(mode)).unwrap();
            assert!(matches!(open(create), Err(LogError::NotPrivate { mode: m, .. }) if m == mode));
        }
        fs::remove_file(world.at(FILE)).unwrap();
    }
    fs::remove_dir_all(world.at(".readproof")).unwrap();
    assert!(matches!(open(Create::Yes), Err(LogError::Gone { .. })));
    assert!(matches!(open(Create::No), Ok(false)));
}

/// What a log with these lines is kept as when it is put aside.
fn kept(lines: u32) -> Option<String> {
    let world = World::new();
    let mut log = open(&world);
    for number in 0..lines {
        append(&mut *log, &number.to_string());
    }
    let kept = stores(&world).retire(&session()).unwrap().map(|retired| retired.to_string());
    assert!(!world.at(FILE).exists());
    assert!(matches!(log.catch_up(), Err(LogError::Gone { .. })));
    kept
}

#[test]
fn a_log_that_says_nothing_is_not_kept() {
    assert_eq!(kept(0), None);
    assert_eq!(kept(1), None, "a header");
    assert_eq!(kept(2).as_deref(), Some("s.log.retired-1"));
}

/// Whoever puts a log aside must not put aside another that took its name: its users would go on with it.
#[test]
fn every_log_that_was_put_aside_is_marked() {
    let world = World::new();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let store = world.store();
                for number in 0..60 {
                    let Ok(Some(mut log)) = store.logs().open(&session(), Create::Yes) else { continue };
                    for line in 0..3 {
                        // Another may have put it aside by now.
                        let _ = log.catch_up().and_then(|_| log.append(&format!("{number} {line}")));
                    }
                    stores(&world).retire(&session()).unwrap();
                }
            });
        }
    });
    let store = world.store();
    assert!(store.logs().retired().len() > 20, "{:?}", store.logs().retired());
    for retired in store.logs().retired() {
        let mode = fs::metadata(world.at(FILE).with_file_name(retired.to_string())).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o400, "{retired}");
        let mut log = store.logs().look_at_retired(&retired).unwrap();
        assert!(log.is_out_of_use() && log.catch_up().unwrap().len() > 1);
    }
}

/// A process was killed while it put a log aside.
#[test]
fn a_log_that_is_marked_can_be_looked_at() {
    let world = World::new();
    append(&mut *open(&world), "one");
    fs::set_permissions(world.at(FILE), fs::Permissions::from_mode(0o400)).unwrap();
    let mut log = world.store().logs().look(&session()).unwrap().unwrap();
    assert_eq!(texts(&log.catch_up().unwrap()), ["one"]);
    assert!(log.is_out_of_use());
    assert!(log.append("two").is_err());
    let other = SessionName::parse("other").unwrap();
    assert!(world.store().logs().look(&LogName::from(&other)).unwrap().is_none());
}

/// The logs of versions and approvals are logs like any other, but of no session, whatever sessions are called.
#[test]
fn the_log_of_versions_is_no_session() {
    let world = World::new();
    let store = world.store();
    assert!(store.logs().open(&LogName::Versions, Create::No).unwrap().is_none(), "a store of before has none");
    for name in ["versions", "versions.retired-1", "versions.draft-1-0"] {
        let log = LogName::from(&SessionName::parse(name).unwrap());
        append(&mut *store.logs().open(&log, Create::Yes).unwrap().unwrap(), "of a session");
    }
    let mut log = store.logs().open(&LogName::Versions, Create::Yes).unwrap().unwrap();
    assert_eq!((append(&mut *log, "first"), append(&mut *log, "second")), (1, 2));
    log.sync().unwrap();
    let mut approvals = store.logs().open(&LogName::Approvals, Create::Yes).unwrap().unwrap();
    append(&mut *approvals, "apart");
    assert_eq!(store.logs().sessions().len(), 3);
    assert_eq!(store.logs().list()[3..], [LogName::Versions, LogName::Approvals]);
    assert_eq!(store.usage().logs, 5);
    assert!(!store.logs().draft(&LogName::Versions).unwrap().publish().unwrap(), "the name is taken");

    let retired = stores(&world).retire(&LogName::Versions).unwrap().unwrap();
    assert_eq!((retired.to_string().as_str(), retired.log.session()), ("versions.retired-1", None));
    assert_eq!(store.logs().retired(), std::slice::from_ref(&retired));
    let other = stores(&world).retire(&LogName::Approvals).unwrap();
    assert_eq!(other, None, "one line says nothing");
    assert!(matches!(log.append("late"), Err(LogError::Gone { .. })));
    assert_eq!(texts(&store.logs().look_at_retired(&retired).unwrap().catch_up().unwrap()), ["first", "second"]);
    assert_eq!(store.logs().sessions().len(), 3);

    let mut again = store.logs().open(&LogName::Versions, Create::Yes).unwrap().unwrap();
    append(&mut *again, "anew");
    world.write(".readproof/log/versions", "altered\n");
    let mut again = store.logs().open(&LogName::Versions, Create::No).unwrap().unwrap();
    assert!(matches!(again.catch_up(), Err(LogError::Damaged { log: LogName::Versions, line: 1 })));
}

/// A draft that a killed process left is found.
#[test]
fn a_draft_of_versions_that_was_left() {
    let world = World::new();
    drop(world.store());
    world.write(".readproof/log/versions.draft-999999999-0", "");
    world.write(".readproof/log/versionsx.draft-999999999-0", "");
    let (left, _) = world.root.leftovers();
    assert_eq!(left.iter().map(|left| &*left.name).collect::<Vec<_>>(), [".readproof/log/versions.draft-999999999-0"]);
}
