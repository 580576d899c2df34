//! Writes during which other programs act, and writes that end in the middle. A crash is simulated by putting the folder back
//! as it was at one moment of a write, after the write: with the same inodes, and with the turn free.

#[cfg(target_os = "linux")]
#[path = "../../tests/seccomp/mod.rs"]
mod seccomp;

mod names;
mod several;

use super::*;
use crate::snapshot::{SnapshotError, SnapshotRules};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, mpsc},
    thread,
    time::Duration,
};

const OLD: &str = "old\n";
const NEW: &str = "new\n";
const RULES: SnapshotRules = SnapshotRules { max_bytes: 1 << 20, hard_links: HardLinks::Refuse };

type Act = Box<dyn Fn(&Path) + Send + Sync>;

struct World {
    temp: tempfile::TempDir,
    root: Root,
}

impl World {
    /// A folder `d` with a file `f`, and beside it a folder for the state at a crash.
    fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        for folder in ["d", "kept"] {
            fs::create_dir(temp.path().join(folder)).unwrap();
        }
        let root = Root::open(&temp.path().join("d")).unwrap();
        fs::write(temp.path().join("d/f"), OLD).unwrap();
        Self { temp, root }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.temp.path().join("d").join(name)
    }

    fn file(&self, name: &str) -> FileRef {
        self.root.locate_new(&[format!("{}/{name}", self.root.path().display())]).unwrap()
    }

    fn watched(&self, at: impl Fn(Moment) + Send + Sync + 'static) -> Root {
        Root::open(self.root.path()).unwrap().watched(Arc::new(at))
    }

    /// Where another program acts at that moment.
    fn beside(&self, moment: Moment, other: impl Fn(&Path) + Send + Sync + 'static) -> Root {
        let folder = self.at(".");
        self.watched(move |now| {
            if now == moment {
                other(&folder)
            }
        })
    }

    fn replace(&self, at: impl Fn(Moment) + Send + Sync + 'static, expected: Expected) -> Result<(), ReplaceError> {
        self.watched(at).replace(&self.file("f"), NEW, expected, HardLinks::Refuse).map(drop)
    }

    /// Edits `f` while another program acts at that moment.
    fn edit(&self, moment: Moment, other: impl Fn(&Path) + Send + Sync + 'static) -> Result<(), ReplaceError> {
        let root = self.beside(moment, other);
        root.replace(&self.file("f"), NEW, old(), HardLinks::Refuse).map(drop)
    }

    /// Edits `f` and puts the folder back as it was when that moment first came; each of `acts` happens once. Returns whether
    /// the moment came, and which acts had happened by then.
    fn crash(&self, moment: Moment, expected: Expected, acts: Vec<(Moment, Act)>) -> (bool, usize) {
        self.crash_in(moment, acts, |root| {
            let _ = root.replace(&self.file("f"), NEW, expected, HardLinks::Refuse);
        })
    }

    /// The same in anything else that is done in the folder.
    fn crash_in(&self, moment: Moment, acts: Vec<(Moment, Act)>, work: impl FnOnce(&Root)) -> (bool, usize) {
        let state = Arc::new(Mutex::new((false, 0, Vec::new())));
        let (folder, kept, shared) = (self.at("."), self.temp.path().join("kept"), state.clone());
        let at = move |now: Moment| {
            let mut state = shared.lock().unwrap();
            if state.0 {
                return;
            }
            if let Some((when, act)) = acts.get(state.1)
                && *when == now
            {
                act(&folder);
                state.1 += 1;
            }
            if now == moment {
                state.0 = true;
                state.2 = fs::read(folder.join(NOTE)).unwrap_or_default();
                for name in names_in(&folder) {
                    fs::hard_link(folder.join(&name), kept.join(&name)).unwrap();
                }
            }
        };
        work(&self.watched(at));
        let state = state.lock().unwrap();
        if state.0 {
            for name in names_in(&self.at(".")) {
                fs::remove_file(self.at(&name)).unwrap();
            }
            for name in names_in(&self.temp.path().join("kept")) {
                fs::rename(self.temp.path().join("kept").join(&name), self.at(&name)).unwrap();
            }
            if self.names().contains(&NOTE.to_owned()) {
                fs::write(self.at(NOTE), &state.2).unwrap();
            }
        }
        (state.0, state.1)
    }

    fn names(&self) -> Vec<String> {
        names_in(&self.at("."))
    }

    fn text(&self) -> String {
        fs::read_to_string(self.at("f")).unwrap()
    }

    fn read(&self, name: &str) -> Result<String, SnapshotError> {
        self.root.snapshot(&self.file(name), &RULES).map(|snapshot| snapshot.text.into_string())
    }
}

/// All names, including Readproof's.
fn names_in(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn old() -> Expected {
    Expected::Text(ContentHash::of(OLD.as_bytes()))
}

/// Saves as an editor does.
fn save(folder: &Path, text: &str) {
    fs::write(folder.join("g"), text).unwrap();
    fs::rename(folder.join("g"), folder.join("f")).unwrap();
}

fn saves(text: &'static str) -> Act {
    Box::new(move |folder: &Path| save(folder, text))
}

#[test]
fn what_is_as_expected_is_replaced() {
    let world = World::new();
    world.edit(Moment::Checked, |_| {}).unwrap();
    assert_eq!(world.text(), NEW);
    assert_eq!(world.names(), ["f"]);
}

/// What is done beside a write is done before the names change, or once they have changed; a failure of the one leaves the file
/// as it was, a failure of the other leaves the new text.
#[test]
fn what_is_done_beside_a_write() {
    let text = Text::new(NEW.to_owned());
    let world = World::new();
    let (is_ready, said) = (Arc::new(Mutex::new(false)), Arc::new(Mutex::new(Vec::new())));
    let (ready, seen) = (is_ready.clone(), said.clone());
    let root = world.watched(move |now| seen.lock().unwrap().push((now, *ready.lock().unwrap())));
    let done = root.replace_beside(
        &world.file("f"),
        &text,
        (Some(&Text::new(OLD.to_owned())), HardLinks::Refuse, None),
        || {
            thread::sleep(Duration::from_millis(20));
            assert_eq!(world.text(), OLD);
            *is_ready.lock().unwrap() = true;
            Ok::<_, ()>(())
        },
        || Ok(world.text()),
    );
    assert_eq!(done.unwrap(), NEW);
    let said = said.lock().unwrap();
    assert!(said.iter().all(|(moment, ready)| *ready || *moment < Moment::Checked), "{said:?}");
    assert!(said.contains(&(Moment::Written, false)), "it is not waited for before: {said:?}");

    let world = World::new();
    let old = Text::new(OLD.to_owned());
    let run = |before, ready, then: Result<(), i32>| {
        let what = (before, HardLinks::Refuse, None);
        world.root.replace_beside(&world.file("f"), &text, what, || ready, || then)
    };
    assert!(matches!(run(Some(&old), Err(1), Ok(())), Err(BesideError::Ready(1))));
    assert_eq!((world.text().as_str(), world.names()), (OLD, vec!["f".to_owned()]));
    let replaced = run(None, Ok(()), Err(3));
    assert!(matches!(replaced, Err(BesideError::Replace(ReplaceError::Changed { .. }))), "{replaced:?}");
    assert_eq!((world.text().as_str(), world.names()), (OLD, vec!["f".to_owned()]));
    assert!(matches!(run(Some(&old), Ok(()), Err(2)), Err(BesideError::Then(2))));
    assert_eq!((world.text().as_str(), world.names()), (NEW, vec!["f".to_owned()]));
}

/// A change at any moment before the exchange is kept, and nothing is left behind.
#[test]
fn a_change_by_another_is_never_lost() {
    for moment in [Moment::Written, Moment::Checked, Moment::Announced] {
        let world = World::new();
        let rewritten = world.edit(moment, |folder| fs::write(folder.join("f"), "mine").unwrap());
        assert!(matches!(rewritten, Err(ReplaceError::Changed { .. })), "{moment:?}");
        assert_eq!(world.text(), "mine");
        assert_eq!(world.names(), ["f"]);

        // Another file of the same length, as an editor leaves it.
        let world = World::new();
        let replaced = world.edit(moment, |folder| save(folder, "mine"));
        assert!(matches!(replaced, Err(ReplaceError::Changed { .. })), "{moment:?}");
        assert_eq!(world.text(), "mine");
        assert_eq!(world.names(), ["f"]);

        let world = World::new();
        let removed = world.edit(moment, |folder| fs::remove_file(folder.join("f")).unwrap());
        assert!(matches!(removed, Err(ReplaceError::Changed { .. })), "{moment:?}");
        assert_eq!(world.names(), [""; 0]);

        let world = World::new();
        fs::write(world.at("g"), OLD).unwrap();
        let linked = world.edit(moment, |folder| {
            fs::remove_file(folder.join("f")).unwrap();
            std::os::unix::fs::symlink("g", folder.join("f")).unwrap();
        });
        assert!(matches!(linked, Err(ReplaceError::Changed { .. })), "{moment:?}");
        assert_eq!(fs::read_link(world.at("f")).unwrap(), PathBuf::from("g"));
        assert_eq!(world.names(), ["f", "g"]);
    }
}

/// A file that another program created first is kept, and nothing is left behind.
#[test]
fn a_new_file_replaces_nothing() {
    let world = World::new();
    let make = |name: &'static str, act: fn(&Path)| {
        let folder = world.at(".");
        let root = Root::open(world.root.path()).unwrap();
        let root = root.watched(Arc::new(move |now| {
            if now == Moment::Written {
                act(&folder)
            }
        }));
        root.replace(&world.file(name), NEW, Expected::Nothing, HardLinks::Refuse)
    };
    make("g", |_| {}).unwrap();
    assert_eq!(fs::read_to_string(world.at("g")).unwrap(), NEW);
    let late = make("h", |folder| fs::write(folder.join("h"), "mine").unwrap());
    assert!(matches!(late, Err(ReplaceError::Changed { .. })));
    assert_eq!(fs::read_to_string(world.at("h")).unwrap(), "mine");
    assert!(matches!(make("f", |_| {}), Err(ReplaceError::Changed { .. })));
    assert_eq!(world.names(), ["f", "g", "h"]);
}

/// A program that still writes into the old file after it was replaced is noticed; one that replaces the new file wins.
#[test]
fn a_change_after_the_names_changed_places() {
    let world = World::new();
    let open = fs::OpenOptions::new().append(true).open(world.at("f")).unwrap();
    let late = world.edit(Moment::Exchanged, move |_| (&open).write_all(b"late\n").unwrap());
    assert!(matches!(late, Err(ReplaceError::Changed { .. })));
    assert_eq!(world.text(), "old\nlate\n");
    assert_eq!(world.names(), ["f"]);

    let world = World::new();
    let open = fs::OpenOptions::new().append(true).open(world.at("f")).unwrap();
    let both = world.edit(Moment::Exchanged, move |folder| {
        (&open).write_all(b"late\n").unwrap();
        save(folder, "last word");
    });
    assert!(matches!(both, Err(ReplaceError::Changed { .. })));
    assert_eq!(world.text(), "last word");
    assert_eq!(world.names(), ["f"]);
}

/// Wherever a writer ends, and whatever another program saved before: the next read returns what was saved last, and removes
/// everything the writer left.
#[test]
fn a_crash_at_any_moment_loses_nothing() {
    use Moment::{Announced, Back, Exchanged, GoingBack};
    let saved: [&[(Moment, &'static str)]; 7] = [
        &[],
        &[(Announced, "one")],
        &[(Exchanged, "two")],
        &[(Announced, "one"), (Exchanged, "two")],
        &[(Announced, "one"), (GoingBack, "three")],
        &[(Announced, "one"), (Back, "four")],
        &[(Announced, "one"), (GoingBack, "three"), (Back, "four")],
    ];
    let mut back = 0;
    for moment in Moment::ALL {
        for acts in saved {
            let world = World::new();
            let (came, done) =
                world.crash(moment, old(), acts.iter().map(|(when, text)| (*when, saves(text))).collect());
            let what = format!("{moment:?} {acts:?}: {:?}", world.names());
            let before = world.text();
            let text = world.read("f").unwrap();
            match acts[..done].last() {
                Some((_, saved)) => assert_eq!(text, *saved, "{what}"),
                None => assert!(text == OLD || text == NEW, "{what}: {text}"),
            }
            back += u32::from(came && before != text);
            assert_eq!(world.names(), ["f"], "{what}");
        }
    }
    assert!(back >= 5, "only {back} of the crashes had to be put right");
}

/// The same for a new file and for one that is replaced whatever it holds.
#[test]
fn a_crash_of_a_plain_write_leaves_nothing() {
    for moment in Moment::ALL {
        for expected in [Expected::Anything, Expected::Nothing] {
            let world = World::new();
            if expected == Expected::Nothing {
                fs::remove_file(world.at("f")).unwrap();
            }
            fs::write(world.at("other"), "beside\n").unwrap();
            world.crash(moment, expected, Vec::new());
            assert_eq!(world.read("other").unwrap(), "beside\n");
            assert!(world.names().iter().all(|name| !is_ours(name)), "{moment:?}: {:?}", world.names());
            match world.read("f") {
                Ok(text) => assert!(text == NEW || (text == OLD && expected == Expected::Anything), "{text}"),
                Err(error) => assert!(matches!(error, SnapshotError::Missing { .. }), "{error}"),
            }
        }
    }
}

/// Looking for a name that does not exist puts its folder in order too.
#[test]
fn a_missing_name_leaves_no_secret_beside_it() {
    let world = World::new();
    fs::remove_file(world.at("f")).unwrap();
    assert_eq!(world.crash(Moment::Written, Expected::Nothing, Vec::new()), (true, 0));
    assert_eq!(world.names().len(), 2);
    assert!(world.root.locate_open(&[world.at("f").display().to_string()]).is_err());
    assert_eq!(world.names(), [""; 0]);
}

/// A recovery that ends in the middle is resumed.
#[test]
fn a_crash_while_a_crash_is_put_right() {
    for moment in [Moment::GoingBack, Moment::Back, Moment::Settled, Moment::Cleared] {
        let world = World::new();
        assert_eq!(world.crash(Moment::Exchanged, old(), vec![(Moment::Announced, saves("one"))]), (true, 1));
        // The next writer takes the turn, begins the recovery and ends there.
        let expected = Expected::Text(ContentHash::of(b"one"));
        assert_eq!(world.crash(moment, expected, Vec::new()), (true, 0), "{moment:?}");
        assert_eq!(world.read("f").unwrap(), "one", "{moment:?}");
        assert_eq!(world.names(), ["f"], "{moment:?}");
    }
}

/// A reader never gets a text that is undone: it waits while that is undecided, and only then.
#[test]
fn a_reader_beside_a_writer() {
    let world = World::new();
    fs::write(world.at("other"), "beside\n").unwrap();
    let (sent, got) = mpsc::channel();
    let (folder, sent) = (world.at(".").canonicalize().unwrap(), Mutex::new(sent));
    let saving = folder.clone();
    let reading = move |name: &'static str| {
        let folder = folder.clone();
        move || {
            let root = Root::open(&folder).unwrap();
            let file = root.locate(&[folder.join(name).display().to_string()]).unwrap();
            root.snapshot(&file, &RULES).map(|snapshot| snapshot.text.into_string()).unwrap()
        }
    };
    let changed = world.replace(
        move |now| {
            // Other files can always be read, and this one until the exchange.
            assert_eq!(reading("other")(), "beside\n", "{now:?}");
            if now < Moment::Announced {
                assert_eq!(reading("f")(), OLD, "{now:?}");
            }
            if now == Moment::Announced {
                save(&saving, "mine");
            }
            if now == Moment::Exchanged {
                let reader = thread::spawn(reading("f"));
                thread::sleep(Duration::from_millis(30));
                assert!(!reader.is_finished(), "it read what is taken back");
                sent.lock().unwrap().send(reader).unwrap();
            }
        },
        old(),
    );
    assert!(matches!(changed, Err(ReplaceError::Changed { .. })));
    assert_eq!(got.recv().unwrap().join().unwrap(), "mine");
    assert_eq!(world.text(), "mine");
}

/// If an opened file has lost its name since, the name is opened again.
#[test]
fn a_file_that_was_taken_back_is_not_read() {
    let world = World::new();
    let (file, opened) = world.root.locate_open(&[world.root.absolute("f")]).unwrap();
    save(&world.at("."), "mine");
    let read = world.root.snapshot_opened(&file, opened, None, &RULES).unwrap();
    assert_eq!(read.text.as_str(), "mine");
    let (file, opened) = world.root.locate_open(&[world.root.absolute("f")]).unwrap();
    save(&world.at("."), "again");
    let stream = world.root.stream(&file, opened, HardLinks::Refuse).unwrap();
    assert_eq!(stream.at(0, 9).unwrap(), b"again");
}

/// Two writers of Readproof take turns: the second sees what the first has written.
#[test]
fn writers_take_turns() {
    let world = World::new();
    let (folder, wrote) = (world.at("."), Arc::new(Mutex::new(None)));
    let other = wrote.clone();
    let first = world.edit(Moment::Announced, move |_| {
        let folder = folder.clone();
        let second = thread::spawn(move || {
            let root = Root::open(&folder).unwrap();
            let file = root.locate(&[root.absolute("f")]).unwrap();
            root.replace(&file, "second\n", old(), HardLinks::Refuse).map(drop)
        });
        thread::sleep(Duration::from_millis(20));
        *other.lock().unwrap() = Some(second);
    });
    first.unwrap();
    let second = wrote.lock().unwrap().take().unwrap().join().unwrap();
    assert!(matches!(second, Err(ReplaceError::Changed { .. })), "{second:?}");
    assert_eq!(world.text(), NEW);
    assert_eq!(world.names(), ["f"]);
}

/// A writer that hangs costs other writers an error after a while, and readers of other files nothing.
#[test]
fn a_writer_that_does_not_go_on() {
    let world = World::new();
    fs::write(world.at("other"), "beside\n").unwrap();
    let folder = fs::File::open(world.at(".")).unwrap();
    rustix::fs::flock(&folder, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let late = world.edit(Moment::Checked, |_| {}).unwrap_err();
    assert!(matches!(late, ReplaceError::Busy { .. }), "{late}");
    assert_eq!((world.text(), world.names().len()), (OLD.to_owned(), 2));
    assert_eq!(world.read("f").unwrap(), OLD);
    rustix::fs::flock(&folder, rustix::fs::FlockOperation::Unlock).unwrap();
    assert!(world.crash(Moment::Exchanged, old(), Vec::new()).0);
    rustix::fs::flock(&folder, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let late = world.read("f").unwrap_err();
    assert!(matches!(late, SnapshotError::Busy { .. }), "{late}");
    assert_eq!(world.read("other").unwrap(), "beside\n");
}

/// A root that must not wait refuses at once, even if no writer is at work.
#[test]
fn a_reader_that_does_not_wait() {
    let world = World::new();
    let _ = world.crash(Moment::Written, old(), Vec::new());
    let root = Root::open(world.at("").as_path()).unwrap().without_waiting();
    let file = root.locate(&[root.absolute("f")]).unwrap();
    let rules = crate::SnapshotRules { max_bytes: 1000, hard_links: HardLinks::Allow };
    assert!(matches!(root.snapshot(&file, &rules), Err(SnapshotError::Busy { .. })));
    assert!(world.read("f").is_ok() && root.snapshot(&file, &rules).is_ok());
}

/// A note that came with a stranger's files is removed and does nothing else; what is not a note stays.
#[test]
fn notes_that_nobody_here_wrote() {
    let (one, two) = (ContentHash::of(NEW.as_bytes()), ContentHash::of(b"x"));
    let forged = |folder: u64, note: u64, base: &str| {
        let base: String = base.bytes().map(|byte| format!("{byte:02x}")).collect();
        format!("readproof-turn-1 {folder} {note} .readproof-1-0.tmp {one} {base}\n\nstep bytes:{one} bytes:{two}\n")
    };
    let ino = |path: PathBuf| std::os::unix::fs::MetadataExt::ino(&fs::metadata(path).unwrap());
    for base in ["f", "../kept/g", "..", "", "a/b", ".git", ".readproof", ".readproof-turn", ".readproof-2-0.tmp"] {
        for genuine in [false, true] {
            let world = World::new();
            save(&world.at("."), NEW);
            fs::write(world.at("../kept/g"), NEW).unwrap();
            fs::write(world.at(".readproof-1-0.tmp"), "evil").unwrap();
            fs::write(world.at(NOTE), "").unwrap();
            set_mode(&world.at(NOTE), 0o600);
            let (folder, note) = if genuine { (ino(world.at(".")), ino(world.at(NOTE))) } else { (1, 2) };
            fs::write(world.at(NOTE), forged(folder, note, base)).unwrap();
            let text = world.read("f").unwrap();
            // Its inodes are only known on this machine.
            assert_eq!(text, if genuine && base == "f" { "evil" } else { NEW }, "{base} {genuine}");
            assert_eq!(fs::read_to_string(world.at("../kept/g")).unwrap(), NEW, "{base}");
            assert!(!world.names().contains(&NOTE.to_owned()), "{base}");
        }
    }
}

fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn what_is_no_note_is_left_alone() {
    let ways: [fn(&Path, &Path); 4] = [
        |note, _| fs::create_dir(note).unwrap(),
        |note, kept| std::os::unix::fs::symlink(kept, note).unwrap(),
        |note, kept| fs::hard_link(kept, note).unwrap(),
        |note, _| fs::write(note, vec![b'x'; 20_000]).unwrap(),
    ];
    for make in ways {
        let world = World::new();
        let kept = world.temp.path().join("kept/k");
        fs::write(&kept, "kept").unwrap();
        make(&world.at(NOTE), &kept);
        assert_eq!(world.read("f").unwrap(), OLD);
        let refused = world.edit(Moment::Checked, |_| {}).unwrap_err();
        assert!(matches!(&refused, ReplaceError::InTheWay { name } if name == "f"), "{refused}");
        assert_eq!(world.names(), [NOTE, "f"]);
        assert_eq!((world.text(), fs::read_to_string(&kept).unwrap()), (OLD.to_owned(), "kept".to_owned()));
    }
}

/// Readproof's temporary files are neither read nor written by name, nor listed.
#[test]
fn temporaries_are_ours() {
    let world = World::new();
    let (temp, running) = (".readproof-999999999-0.tmp", format!(".readproof-{}-7.tmp", std::process::id()));
    for name in [temp, &running] {
        fs::write(world.at(name), "SECRET=1\n").unwrap();
    }
    std::os::unix::fs::symlink(temp, world.at("link")).unwrap();
    for name in [temp, "link"] {
        let file = world.file(name);
        assert!(matches!(world.read(name), Err(SnapshotError::Ours { .. })), "{name}");
        assert!(matches!(world.root.stream(&file, None, HardLinks::Allow), Err(SnapshotError::Ours { .. })), "{name}");
        assert!(matches!(world.root.found(&file), Err(SnapshotError::Ours { .. })), "{name}");
        let write = world.root.replace(&file, "x", Expected::Anything, HardLinks::Allow);
        assert!(matches!(write, Err(ReplaceError::Ours { .. })), "{name}");
    }
    assert!(world.root.working(&world.file(temp), &RULES).is_err());
    assert_eq!(world.root.list_names("."), ["f", "link"]);
    for name in [NOTE, ".READPROOF-TURN", ".readproof-1-0.tmp", ".Readproof-1-0.TMP"] {
        assert!(is_ours(name), "{name}");
    }
    for name in [".readproof", ".readproof-", ".readproof-turns", ".readproof-x-0.tmp", "readproof-1-0.tmp", "é"] {
        assert!(!is_ours(name), "{name}");
    }
    // Those of dead processes are removed by the next write in the folder.
    world.edit(Moment::Checked, |_| {}).unwrap();
    assert_eq!(world.names(), [running.as_str(), "f", "link"]);
}

/// Leftovers are reported, and removing one first completes the write it belongs to.
#[test]
fn leftovers_hold_what_must_go_back() {
    for first in [NOTE, ".tmp"] {
        let world = World::new();
        assert!(world.crash(Moment::Exchanged, old(), vec![(Moment::Announced, saves("mine"))]).0);
        let (left, all) = world.root.leftovers();
        assert!(all && left.len() == 2 && left.iter().any(|left| left.name == NOTE && !left.running), "{left:?}");
        let one = left.iter().find(|left| left.name.ends_with(first)).unwrap();
        assert_eq!(world.root.remove_leftover(one).unwrap(), crate::stores::Removed::Done, "{first}");
        assert_eq!((world.text(), world.names()), ("mine".to_owned(), vec!["f".to_owned()]), "{first}");
    }
    // Each counts as removed, though they belong together.
    let world = World::new();
    for number in 0..2 {
        fs::write(world.at(&format!(".readproof-999999999-{number}.tmp")), "").unwrap();
    }
    for one in world.root.leftovers().0 {
        assert_eq!(world.root.remove_leftover(&one).unwrap(), crate::stores::Removed::Done, "{one:?}");
    }
    // A writer at work has a note too, and that is not a leftover.
    let world = World::new();
    let folder = world.root.path().to_path_buf();
    world
        .edit(Moment::Written, move |_| {
            let (left, _) = Root::open(&folder).unwrap().leftovers();
            assert!(left.len() == 2 && left.iter().all(|left| left.running), "{left:?}");
        })
        .unwrap();
}

/// On a read-only disk the right text is read; if the name holds a wrong one, the read is refused.
#[cfg(target_os = "linux")]
#[test]
fn a_crash_on_a_disk_that_is_read_only_by_now() {
    use rustix::io::Errno;
    let read_only = |world: &World, name: &'static str| {
        let calls = vec![seccomp::every(seccomp::RENAMEAT2), seccomp::every(seccomp::UNLINKAT)];
        seccomp::with_failing(calls, Errno::ROFS, || world.read(name))
    };
    let world = World::new();
    fs::write(world.at("other"), "beside\n").unwrap();
    assert!(world.crash(Moment::Exchanged, old(), Vec::new()).0);
    assert_eq!(read_only(&world, "f").unwrap(), NEW);

    let world = World::new();
    fs::write(world.at("other"), "beside\n").unwrap();
    assert!(world.crash(Moment::Exchanged, old(), vec![(Moment::Announced, saves("mine"))]).0);
    let refused = read_only(&world, "f").unwrap_err();
    assert!(matches!(refused, SnapshotError::Unrestored { .. }), "{refused}");
    assert_eq!(read_only(&world, "other").unwrap(), "beside\n");
    assert_eq!(world.read("f").unwrap(), "mine");
}

/// Where folders cannot be locked, the note is the turn.
#[cfg(target_os = "linux")]
#[test]
fn a_file_system_without_locks() {
    use rustix::io::Errno;
    let unlocked = |work: &(dyn Fn() + Sync)| {
        seccomp::with_failing(vec![seccomp::every(seccomp::FLOCK)], Errno::BADF, work);
    };
    let world = World::new();
    unlocked(&|| world.edit(Moment::Checked, |_| {}).unwrap());
    assert_eq!((world.text().as_str(), world.names()), (NEW, vec!["f".to_owned()]));
    // Its writer seems to run: it is this process.
    let world = World::new();
    assert!(world.crash(Moment::Exchanged, old(), vec![(Moment::Announced, saves("mine"))]).0);
    unlocked(&|| assert!(matches!(world.read("f"), Err(SnapshotError::Busy { .. }))));
    let note = fs::read_to_string(world.at(NOTE)).unwrap();
    let (ours, gone) = (format!("-{}-", std::process::id()), "-999999999-");
    let temp = world.names().into_iter().find(|name| name.ends_with(".tmp")).unwrap();
    fs::rename(world.at(&temp), world.at(&temp.replace(&ours, gone))).unwrap();
    fs::write(world.at(NOTE), note.replace(&ours, gone)).unwrap();
    unlocked(&|| assert_eq!(world.read("f").unwrap(), "mine"));
    assert_eq!(world.names(), ["f"]);
}
