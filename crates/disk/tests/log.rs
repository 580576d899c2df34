//! The session log: what was appended comes back, in order and verified, whatever is cut or altered.
#![allow(clippy::unwrap_used, reason = "tests and their helpers")]

use std::{
    fs,
    io::Write,
    os::unix::fs::{PermissionsExt, symlink},
    path::PathBuf,
    thread,
};

use readproof_disk::{Create, LogError, Payload, Root, SessionLog, SessionName, Store};

struct World {
    temp: tempfile::TempDir,
    store: Store,
}

impl World {
    fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let store = Store::open(&Root::open(temp.path()).unwrap()).unwrap();
        Self { temp, store }
    }

    fn file(&self) -> PathBuf {
        self.temp.path().join(".readproof/log/s.log")
    }

    fn open(&self) -> SessionLog {
        SessionLog::open(&self.store, &session(), Create::Yes).unwrap().unwrap()
    }

    /// Replaces the bytes of the log, as no program of ours would.
    fn write(&self, bytes: &[u8]) {
        fs::write(self.file(), bytes).unwrap();
        fs::set_permissions(self.file(), fs::Permissions::from_mode(0o600)).unwrap();
    }
}

fn session() -> SessionName {
    SessionName::parse("s").unwrap()
}

fn append(log: &mut SessionLog, payload: &str) -> u64 {
    let mut locked = log.lock().unwrap();
    locked.catch_up().unwrap();
    locked.append(payload).unwrap()
}

fn texts(payloads: &[Payload]) -> Vec<&str> {
    payloads.iter().map(|payload| payload.text.as_str()).collect()
}

#[test]
fn session_names() {
    for good in ["a", "A-b_c.9", "_x", "0", &"x".repeat(64)] {
        assert_eq!(SessionName::parse(good).unwrap().as_str(), good);
    }
    for bad in ["", ".", "..", ".a", "-a", "a/b", "a b", "é", "a\n", "a\0", &"x".repeat(65)] {
        assert!(SessionName::parse(bad).is_err(), "{bad}");
    }
    assert!("a/b".parse::<SessionName>().unwrap_err().to_string().starts_with("`a/b` is no session name; use 1 to 64"));
}

#[test]
fn what_is_appended_comes_back() {
    let world = World::new();
    assert!(SessionLog::open(&world.store, &session(), Create::No).unwrap().is_none());
    assert!(SessionLog::list(&world.store).is_empty());
    let mut writer = world.open();
    assert_eq!(writer.catch_up().unwrap(), []);
    let payloads = ["{\"a\":1}", "", "é \u{feff} \r\t", "x y  z "];
    for (n, payload) in payloads.iter().enumerate() {
        assert_eq!(append(&mut writer, payload), n as u64 + 1);
    }
    assert_eq!(writer.catch_up().unwrap(), [], "not its own lines");
    writer.sync().unwrap();
    writer.sync().unwrap();

    let mut reader = SessionLog::open(&world.store, &session(), Create::No).unwrap().unwrap();
    let read = reader.catch_up().unwrap();
    assert_eq!(texts(&read), payloads);
    assert_eq!(read.iter().map(|payload| payload.line).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert_eq!(reader.catch_up().unwrap(), []);
    append(&mut writer, "more");
    append(&mut writer, "and more");
    assert_eq!(texts(&reader.catch_up().unwrap()), ["more", "and more"]);
    assert_eq!(append(&mut reader, "mine"), 7);
    assert_eq!(writer.catch_up().unwrap(), [Payload { line: 7, text: "mine".into() }]);
    assert_eq!((writer.lines(), writer.torn(), writer.session()), (7, 0, &session()));

    fs::write(world.file().with_file_name("not a session.log"), "").unwrap();
    SessionLog::open(&world.store, &SessionName::parse("b.log").unwrap(), Create::Yes).unwrap();
    assert_eq!(SessionLog::list(&world.store).iter().map(SessionName::as_str).collect::<Vec<_>>(), ["b.log", "s"]);
    assert_eq!(world.store.usage().logs, 2);
}

#[test]
fn the_format_is_what_it_says() {
    let world = World::new();
    let mut log = world.open();
    append(&mut log, "one");
    append(&mut log, "two");
    // printf '\0…(32)…one' | sha256sum, then the same with that digest and `two`.
    let first = readproof_core::text::ContentHash::of_parts(&[&[0; 32], b"one"]);
    let second = readproof_core::text::ContentHash::of_parts(&[first.as_bytes(), b"two"]);
    assert_eq!(fs::read_to_string(world.file()).unwrap(), format!("{first} one\n{second} two\n"));
}

#[test]
fn payloads_that_are_no_line_are_refused() {
    let world = World::new();
    let mut log = world.open();
    let mut locked = log.lock().unwrap();
    for bad in ["a\nb", "\n", "\u{18}", "a\u{18}\u{18}"] {
        assert!(matches!(locked.append(bad), Err(LogError::BadPayload { .. })));
    }
    assert_eq!(locked.append("fine").unwrap(), 1);
}

#[test]
fn appending_needs_to_be_caught_up() {
    let world = World::new();
    let (mut a, mut b) = (world.open(), world.open());
    append(&mut a, "first");
    let mut locked = b.lock().unwrap();
    assert!(matches!(locked.append("blind"), Err(LogError::Behind { .. })));
    assert_eq!(texts(&locked.catch_up().unwrap()), ["first"]);
    assert_eq!(locked.append("second").unwrap(), 2);
    drop(locked);
    assert_eq!(texts(&a.catch_up().unwrap()), ["second"]);
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
                    let mut log = world.open();
                    for i in 0..count {
                        append(&mut log, &format!("{n}:{i}:{}", "x".repeat(i * 10)));
                    }
                })
            })
            .collect();
        // A reader without a lock never takes half a line for damage.
        let mut reader = world.open();
        let mut seen = 0;
        while !writers.iter().all(thread::ScopedJoinHandle::is_finished) {
            seen += reader.catch_up().unwrap().len();
        }
        assert_eq!(seen + reader.catch_up().unwrap().len(), 8 * count);
    });
    let payloads = world.open().catch_up().unwrap();
    assert_eq!(payloads.len(), 8 * count);
    for n in 0..8 {
        let own: Vec<&str> = texts(&payloads).into_iter().filter(|text| text.starts_with(&format!("{n}:"))).collect();
        let expected: Vec<String> = (0..count).map(|i| format!("{n}:{i}:{}", "x".repeat(i * 10))).collect();
        assert_eq!(own, expected);
    }
}

/// A log with a sealed fragment in its middle, its payloads, and where each of its lines ends.
fn sample(world: &World) -> (Vec<u8>, Vec<&'static str>) {
    let mut log = world.open();
    append(&mut log, "one");
    append(&mut log, "zwei ö");
    let mut file = fs::OpenOptions::new().append(true).open(world.file()).unwrap();
    file.write_all(b"0123456789abcdef torn in the mid").unwrap();
    assert_eq!(append(&mut log, "drei"), 4);
    append(&mut log, "four {}");
    assert_eq!((log.lines(), log.torn()), (5, 1));
    (fs::read(world.file()).unwrap(), vec!["one", "zwei ö", "drei", "four {}"])
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
        world.write(&bytes[..cut]);
        let lines = ends(&bytes[..cut]).len();
        // The third line is the sealed fragment.
        let kept: Vec<&str> = payloads[..lines - usize::from(lines >= 3)].to_vec();
        let mut log = world.open();
        assert_eq!(texts(&log.catch_up().unwrap()), kept, "cut at {cut}");
        append(&mut log, "after");
        append(&mut log, "again");
        assert_eq!(log.catch_up().unwrap(), []);
        let mut fresh = world.open();
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
            world.write(&altered);
            let mut log = world.open();
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
                let appended = log.lock().unwrap().append("more");
                assert!(matches!(appended, Err(LogError::Damaged { line: l, .. }) if l == line));
                assert_eq!(fs::read(world.file()).unwrap(), altered, "evidence is kept");
            }
        }
    }
}

#[test]
fn lines_taken_out_or_put_in_are_damage() {
    let world = World::new();
    let mut log = world.open();
    for payload in ["one", "two", "three"] {
        append(&mut log, payload);
    }
    let bytes = fs::read(world.file()).unwrap();
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    for (order, line) in
        [(vec![1, 2], 1), (vec![0, 2], 2), (vec![0, 0, 1, 2], 2), (vec![1, 0, 2], 1), (vec![0, 1, 2, 2], 4)]
    {
        world.write(&order.iter().flat_map(|n| lines[*n]).copied().collect::<Vec<u8>>());
        assert!(matches!(world.open().catch_up(), Err(LogError::Damaged { line: l, .. }) if l == line), "{order:?}");
    }
    for extra in ["\n", " \n", "x\n", "\u{18}\n", &format!("{} x\n", "0".repeat(64))] {
        world.write(&[&bytes, extra.as_bytes()].concat());
        let error = world.open().catch_up().unwrap_err();
        assert!(matches!(error, LogError::Damaged { line: 4, .. }), "{extra:?}");
        assert_eq!(
            error.to_string(),
            "the log of session `s` is damaged at line 4 (`.readproof/log/s.log`); the next read with it keeps the log as \
             evidence and begins anew"
        );
    }
}

#[test]
fn a_log_that_shrank_is_damaged() {
    let world = World::new();
    let mut log = world.open();
    append(&mut log, "one");
    append(&mut log, "two");
    let bytes = fs::read(world.file()).unwrap();
    // Written in place: the open handles see it.
    world.write(&bytes[..bytes.len() - 1]);
    assert!(matches!(log.catch_up(), Err(LogError::Damaged { line: 2, .. })));
    world.write(&bytes);
    assert!(matches!(log.catch_up(), Err(LogError::Damaged { line: 2, .. })), "it stays so");
    assert_eq!(world.open().catch_up().unwrap().len(), 2, "another handle judges for itself");
}

#[test]
fn a_half_written_line_is_not_yet_there() {
    let world = World::new();
    let mut writer = world.open();
    append(&mut writer, "one");
    let whole = fs::read(world.file()).unwrap();
    let mut reader = world.open();
    for end in 0..whole.len() {
        world.write(&whole[..end]);
        assert_eq!(reader.catch_up().unwrap(), [], "{end} bytes");
    }
    world.write(&whole);
    assert_eq!(texts(&reader.catch_up().unwrap()), ["one"]);
}

#[test]
fn a_removed_log_is_gone() {
    let world = World::new();
    let mut log = world.open();
    append(&mut log, "one");
    fs::remove_file(world.file()).unwrap();
    assert!(matches!(log.catch_up(), Err(LogError::Gone { .. })));
    assert!(matches!(log.lock().unwrap().append("two"), Err(LogError::Gone { .. })));
}

#[test]
fn nothing_else_passes_for_a_log() {
    let world = World::new();
    let open = |create| SessionLog::open(&world.store, &session(), create).map(|log| log.is_some());
    for create in [Create::Yes, Create::No] {
        fs::write(world.temp.path().join("elsewhere"), "").unwrap();
        for target in ["../../elsewhere", "nowhere"] {
            symlink(target, world.file()).unwrap();
            assert!(matches!(open(create), Err(LogError::Link { .. })), "{target}");
            fs::remove_file(world.file()).unwrap();
        }
        rustix::fs::mknodat(rustix::fs::CWD, world.file(), rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        assert!(matches!(open(create), Err(LogError::NotAFile { .. })));
        fs::remove_file(world.file()).unwrap();

        fs::create_dir(world.file()).unwrap();
        assert!(matches!(open(create), Err(LogError::NotAFile { .. })));
        fs::remove_dir(world.file()).unwrap();

        for mode in [0o644, 0o660, 0o606] {
            fs::write(world.file(), "").unwrap();
            fs::set_permissions(world.file(), fs::Permissions::from_mode(mode)).unwrap();
            assert!(matches!(open(create), Err(LogError::NotPrivate { mode: m, .. }) if m == mode));
        }
        fs::remove_file(world.file()).unwrap();
    }
    fs::remove_dir_all(world.temp.path().join(".readproof")).unwrap();
    assert!(matches!(open(Create::Yes), Err(LogError::Gone { .. })));
    assert!(matches!(open(Create::No), Ok(false)));
}

/// What a log with these lines is kept as when it is put aside.
fn kept(lines: u32) -> Option<String> {
    let world = World::new();
    let mut log = world.open();
    for number in 0..lines {
        append(&mut log, &number.to_string());
    }
    let kept = SessionLog::retire(&Root::open(world.temp.path()).unwrap(), &session()).unwrap();
    assert!(!world.file().exists());
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
    let root = || Root::open(world.temp.path()).unwrap();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let store = Store::open(&root()).unwrap();
                for number in 0..60 {
                    let Ok(Some(mut log)) = SessionLog::open(&store, &session(), Create::Yes) else { continue };
                    for line in 0..3 {
                        // Another may have put it aside by now.
                        let Ok(mut locked) = log.lock() else { break };
                        let _ = locked.catch_up().and_then(|_| locked.append(&format!("{number} {line}")));
                    }
                    SessionLog::retire(&root(), &session()).unwrap();
                }
            });
        }
    });
    assert!(world.store.retired().len() > 20, "{:?}", world.store.retired());
    for retired in world.store.retired() {
        let mode = fs::metadata(world.file().with_file_name(retired.to_string())).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o400, "{retired}");
        let mut log = SessionLog::look_at_retired(&world.store, &retired).unwrap();
        assert!(log.is_out_of_use() && log.catch_up().unwrap().len() > 1);
    }
}

/// A process was killed while it put a log aside.
#[test]
fn a_log_that_is_marked_can_be_looked_at() {
    let world = World::new();
    append(&mut world.open(), "one");
    fs::set_permissions(world.file(), fs::Permissions::from_mode(0o400)).unwrap();
    let mut log = SessionLog::look(&world.store, &session()).unwrap().unwrap();
    assert_eq!(texts(&log.catch_up().unwrap()), ["one"]);
    assert!(log.is_out_of_use());
    assert!(log.lock().unwrap().append("two").is_err());
    let other = SessionName::parse("other").unwrap();
    assert!(SessionLog::look(&world.store, &other).unwrap().is_none());
}
