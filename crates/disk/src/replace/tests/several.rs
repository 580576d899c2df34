//! Changes over several files: killed at every moment, refused, undone and recovered, with other programs beside.

use super::*;
use std::{
    io::Read as _,
    os::unix::{
        fs::{PermissionsExt, symlink},
        process::ExitStatusExt,
    },
    process::{Command, Stdio},
};

const JOURNAL: &str = ".readproof/journal";

/// Name, text before, text after. `moved` becomes `new/deep/moved`.
const FILES: [(&str, Option<&str>, Option<&str>); 6] = [
    ("one", Some("one\n"), Some("ONE\n")),
    ("sub/two", Some("two\n"), Some("two\nand more\n")),
    ("new/fresh", None, Some("fresh\n")),
    ("new/deep/moved", None, Some("moved\n")),
    ("moved", Some("moved\n"), None),
    ("gone", Some("gone\n"), None),
];

fn hash(text: &str) -> ContentHash {
    ContentHash::of(text.as_bytes())
}

fn load(wanted: ContentHash) -> Option<Text> {
    let texts = FILES.into_iter().flat_map(|(_, before, after)| [before, after]).flatten();
    texts.into_iter().find(|text| hash(text) == wanted).map(|text| Text::new(text.to_owned()))
}

struct Several {
    temp: tempfile::TempDir,
    root: Root,
}

impl Several {
    fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        fs::create_dir(temp.path().join("w")).unwrap();
        let root = Root::open(&temp.path().join("w")).unwrap();
        let several = Self { temp, root };
        for folder in ["sub", ".readproof", ".readproof/tmp"] {
            fs::create_dir(several.at(folder)).unwrap();
            set_mode(&several.at(folder), 0o700);
        }
        for (name, before, _) in FILES {
            if let Some(before) = before {
                fs::write(several.at(name), before).unwrap();
                set_mode(&several.at(name), 0o750);
            }
        }
        several
    }

    fn at(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn text(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.at(name)).ok()
    }

    fn watched(&self, at: impl Fn(Moment) + Send + Sync + 'static) -> Root {
        Root::open(self.root.path()).unwrap().watched(Arc::new(at))
    }

    /// Makes the change, and something else when a moment comes for the nth time, from 1.
    fn beside(&self, (moment, nth): (Moment, u32), other: impl Fn(&Path) + Send + Sync + 'static) -> Root {
        let (folder, count) = (self.root.path().to_path_buf(), Mutex::new(0));
        self.watched(move |now| {
            let mut count = count.lock().unwrap();
            *count += u32::from(now == moment);
            if now == moment && *count == nth {
                other(&folder);
            }
        })
    }

    /// Recovers; what was told.
    fn recover(&self) -> (Result<Swept, RecoverError<()>>, Vec<Recovered>) {
        recover(&self.root)
    }

    fn finds_nothing(&self) -> bool {
        let (swept, told) = self.recover();
        swept.is_ok_and(|swept| swept == Swept::default()) && told.is_empty()
    }

    fn is(&self, after: bool, name: &str) -> bool {
        let (_, old, new) = FILES.into_iter().find(|(of, ..)| *of == name).unwrap();
        let expected = if after { new } else { old };
        let mode = fs::metadata(self.at(name)).map(|found| found.permissions().mode() & 0o777);
        let as_made = name == "new/fresh" || mode.is_err() || mode.is_ok_and(|mode| mode == 0o750);
        self.text(name).as_deref() == expected && as_made
    }

    /// Whether every file except this one is as after, or as before.
    fn all(&self, after: bool, except: &str) -> bool {
        FILES.iter().all(|(name, ..)| *name == except || self.is(after, name))
    }

    /// Nothing of ours is left anywhere, and no folder that was made for nothing.
    #[track_caller]
    fn is_clean(&self, what: &str) {
        assert!(!self.root.has_journal(), "{what}");
        for folder in [".", "sub", "new", "new/deep"] {
            let names = fs::read_dir(self.at(folder)).into_iter().flatten();
            let names: Vec<String> = names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
            assert!(names.iter().all(|name| !is_ours(name)), "{what}: {folder} {names:?}");
            assert!(folder == "." || !self.at(folder).exists() || !names.is_empty(), "{what}: {folder} is left");
        }
    }
}

fn recover(root: &Root) -> (Result<Swept, RecoverError<()>>, Vec<Recovered>) {
    let mut told = Vec::new();
    let swept = root.recover_all(&load, &mut |recovered| {
        told.push(recovered);
        Ok(())
    });
    (swept, told)
}

fn steps(root: &Root) -> Vec<Step> {
    let file = |name: &str| root.locate_new(&[root.absolute(name)]).unwrap();
    let step = |(name, before, after): (&str, Option<&str>, Option<&str>)| Step {
        file: file(name),
        before: before.map(hash),
        after: after.map(|text| Text::new(text.to_owned())),
        mode_of: (name == "new/deep/moved").then(|| file("moved")),
        mode: None,
    };
    FILES.into_iter().map(step).collect()
}

fn change(root: &Root) -> Result<Applied, ReplaceAllError> {
    root.replace_all(&load, &steps(root), "the note\n", HardLinks::Refuse)
}

/// Runs in a process of its own: does `work` in `root` and is killed at the nth moment, from 0.
#[test]
#[ignore = "a part of other tests"]
fn child() {
    let mut asked = String::new();
    std::io::stdin().read_to_string(&mut asked).unwrap();
    let [work, nth, root] = asked.splitn(3, ' ').collect::<Vec<_>>()[..] else { return };
    let (nth, count) = (nth.parse::<u32>().unwrap(), Mutex::new(0));
    let root = Root::open(Path::new(root)).unwrap().watched(Arc::new(move |_| {
        let mut count = count.lock().unwrap();
        if *count == nth {
            let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
        }
        *count += 1;
    }));
    match work {
        "change" => change(&root).unwrap().finish().unwrap(),
        "recover" => drop(recover(&root).0.unwrap()),
        other => panic!("{other}"),
    }
}

/// Whether the process was killed before it was done.
fn killed(work: &str, nth: u32, root: &Root) -> bool {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "replace::tests::several::child", "--ignored", "--nocapture"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let asked = format!("{work} {nth} {}", root.path().display());
    child.stdin.take().unwrap().write_all(asked.as_bytes()).unwrap();
    let ended = child.wait().unwrap();
    assert!(ended.success() || ended.signal() == Some(9), "{ended}");
    !ended.success()
}

#[test]
fn all_files_are_changed_and_the_journal_goes() {
    let several = Several::new();
    // Where there is no store, nothing of one is left.
    fs::remove_dir_all(several.at(".readproof")).unwrap();
    let applied = change(&several.root).unwrap();
    assert!(several.root.has_journal() && several.all(true, ""));
    assert_eq!(several.recover().0.unwrap(), Swept { recovered: 0, busy: 1 }, "its owner lives");
    applied.finish().unwrap();
    assert!(several.all(true, ""));
    several.is_clean("");
    assert!(several.finds_nothing() && !several.at(".readproof").exists());
}

/// With a store the new contents are on disk before the first file is touched, and nothing is left of them.
#[test]
fn what_is_written_ahead_is_moved() {
    let several = Several::new();
    let ahead = several.at(".readproof/tmp");
    let count = |folder: &Path| fs::read_dir(folder).unwrap().count();
    let (seen, folder) = (Arc::new(Mutex::new(Vec::new())), ahead.clone());
    let told = Arc::clone(&seen);
    let root = several.watched(move |moment| {
        if moment == Moment::Written {
            told.lock().unwrap().push(count(&folder));
        }
    });
    change(&root).unwrap().finish().unwrap();
    assert!(several.all(true, ""));
    several.is_clean("");
    // Each of the four that get a content takes one.
    assert_eq!(*seen.lock().unwrap(), [3, 2, 1, 0]);
    assert_eq!(count(&ahead), 0);
}

/// Killed at every single moment: the next process finds all of it or nothing, and what it is told is true.
#[test]
fn killed_at_every_moment() {
    let (mut done, mut undone, mut nth) = (0, 0, 0);
    loop {
        let several = Several::new();
        let was_killed = killed("change", nth, &several.root);
        let there = several.root.has_journal();
        let (swept, told) = several.recover();
        let what = format!("moment {nth}: {told:?}");
        assert!(swept.unwrap().busy == 0 && told.len() <= 1, "{what}");
        let after = several.all(true, "");
        assert!(after || several.all(false, ""), "{what}");
        several.is_clean(&what);
        if let Some(told) = told.first() {
            assert!(there && told.note == "the note\n", "{what}");
            assert_eq!(told.outcome, if after { Outcome::Done } else { Outcome::Undone }, "{what}");
            if after { done += 1 } else { undone += 1 }
        }
        if !was_killed {
            assert!(after && told.is_empty());
            break;
        }
        nth += 1;
    }
    assert!(nth > 50 && done >= 2 && undone > 40, "{nth} {done} {undone}");
}

/// The same, and a person edits one of the files before the recovery: that edit stays, and the others are all as before or all
/// as after.
#[test]
fn a_person_edits_before_the_recovery() {
    let (mut conflicts, mut done) = (0, 0);
    for nth in 0.. {
        let several = Several::new();
        if !killed("change", nth, &several.root) {
            break;
        }
        let name = ["one", "moved", "new/fresh"][nth as usize % 3];
        // As any reader would leave the folder before a person can know of the file.
        let _ = several.root.locate_open(&[several.root.absolute(name)]);
        fs::create_dir_all(several.at(name).parent().unwrap()).unwrap();
        fs::write(several.at(name), "a person's\n").unwrap();
        let (swept, told) = several.recover();
        let what = format!("moment {nth} {name}: {told:?}");
        swept.unwrap();
        assert_eq!(several.text(name).as_deref(), Some("a person's\n"), "{what}");
        let (before, after) = (several.all(false, name), several.all(true, name));
        match told.first().map(|told| &told.outcome) {
            None => assert!(before || after, "{what}"),
            Some(Outcome::Done) => assert!(after, "{what}"),
            Some(Outcome::Undone) => panic!("{what}"),
            Some(Outcome::Conflict { files }) => {
                assert!(before && files.len() == 1, "{what}");
                assert_eq!((&*files[0].path, files[0].present), (name, Present::Bytes(hash("a person's\n"))));
                conflicts += 1;
            }
        }
        done += u32::from(told.first().is_some_and(|told| told.outcome == Outcome::Done));
        assert!(!several.root.has_journal(), "{what}");
    }
    assert!(conflicts > 40 && done >= 1, "{conflicts} {done}");
}

/// A recovery that is killed at any moment is completed by the next.
#[test]
fn killed_while_recovering() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (several, moments) = (Several::new(), seen.clone());
    change(&several.watched(move |now| moments.lock().unwrap().push(now))).unwrap().finish().unwrap();
    let seen = seen.lock().unwrap();
    let at = |wanted| seen.iter().enumerate().filter(move |(_, moment)| **moment == wanted).map(|(at, _)| at as u32);
    // Within the fifth file, and when all are changed but nothing is recorded.
    let (within, complete) = (at(Moment::Aside).next().unwrap(), at(Moment::Complete).next().unwrap());
    for (from, after) in [(within, false), (complete, true)] {
        let (mut nth, mut told_twice) = (0, 0);
        loop {
            let several = Several::new();
            assert!(killed("change", from, &several.root) && several.root.has_journal());
            let was_killed = killed("recover", nth, &several.root);
            let (swept, told) = several.recover();
            let what = format!("{from} {nth}: {told:?} {:?}", several.text("one"));
            swept.unwrap();
            assert!(several.all(after, ""), "{what}");
            several.is_clean(&what);
            told_twice += u32::from(!told.is_empty());
            if !was_killed {
                break;
            }
            nth += 1;
        }
        assert!(after || (nth > 10 && told_twice > 0), "{nth} {told_twice}");
    }
}

/// Once all files are changed the change is done, whatever a person does to one of them.
#[test]
fn a_complete_change_is_not_undone() {
    let several = Several::new();
    drop(change(&several.root).unwrap());
    fs::write(several.at("one"), "a person's\n").unwrap();
    let (_, told) = several.recover();
    assert_eq!(told, [Recovered { note: "the note\n".into(), outcome: Outcome::Done }]);
    assert!(several.all(true, "one") && several.text("one").as_deref() == Some("a person's\n"));

    // Nor is one that a recovery found complete, or undone, if that recovery could not tell.
    for (nth, after) in [(6, true), (3, false)] {
        let several = Several::new();
        half(&several, nth);
        let refused = several.root.recover_all(&load, &mut |_| Err(7)).unwrap_err();
        assert!(matches!(refused, RecoverError::Unrecorded(7)), "{refused}");
        fs::write(several.at("one"), "a person's\n").unwrap();
        let (_, told) = several.recover();
        assert_eq!(told[0].outcome, if after { Outcome::Done } else { Outcome::Undone });
        assert!(several.all(after, "one") && several.text("one").as_deref() == Some("a person's\n"));
    }
}

/// Leaves the journal of a process that was killed after this many files, without saying that it was all.
fn half(several: &Several, files: u32) {
    let applied = several.beside((Moment::Stepped, files), |folder| {
        let name = names_in(&folder.join(JOURNAL)).pop().unwrap();
        let from = folder.join(JOURNAL).join(name);
        // The journal itself must keep its inode.
        fs::write(folder.join("../journal-at-kill"), fs::read(&from).unwrap()).unwrap();
        fs::write(folder.join("../journal-name"), from.to_str().unwrap()).unwrap();
    });
    let applied = change(&applied).unwrap();
    let name = fs::read_to_string(several.temp.path().join("journal-name")).unwrap();
    fs::write(&name, fs::read(several.temp.path().join("journal-at-kill")).unwrap()).unwrap();
    drop(applied);
    for (name, before, _) in &FILES[files as usize..] {
        match before {
            Some(before) => {
                fs::write(several.at(name), before).unwrap();
                set_mode(&several.at(name), 0o750);
            }
            None => fs::remove_file(several.at(name)).unwrap(),
        }
    }
    assert!(several.root.has_journal());
}

/// A step that cannot be made undoes the others, and nothing is left of it.
#[test]
fn a_step_that_fails_undoes_the_others() {
    for nth in 1..=4 {
        let several = Several::new();
        let root = several.beside((Moment::Stepped, nth), |folder| fs::write(folder.join("gone"), "mine\n").unwrap());
        let failed = change(&root).unwrap_err();
        let ReplaceAllError::Step { source: ReplaceError::Changed { name }, left, unrestored: None } = failed else {
            panic!("{failed}")
        };
        assert_eq!((&*name, left), ("gone", Vec::new()));
        assert_eq!(several.text("gone").as_deref(), Some("mine\n"));
        assert!(several.all(false, "gone"), "{nth}");
        several.is_clean("");
    }
    // A file that another program changed after its step is left and named.
    let several = Several::new();
    let root = several.beside((Moment::Stepped, 2), |folder| {
        fs::write(folder.join("one"), "theirs\n").unwrap();
        fs::write(folder.join("gone"), "mine\n").unwrap();
    });
    let failed = change(&root).unwrap_err();
    let ReplaceAllError::Step { left, unrestored: None, .. } = failed else { panic!("{failed}") };
    let theirs = Present::Bytes(hash("theirs\n"));
    let (before, after) = (Some(hash("one\n")), Some(hash("ONE\n")));
    assert_eq!(left, [Conflicting { path: "one".into(), before, after, present: theirs }]);
    assert_eq!(several.text("one").as_deref(), Some("theirs\n"));
    fs::write(several.at("gone"), "gone\n").unwrap();
    assert!(several.all(false, "one"));
    several.is_clean("");
}

/// What can be seen to fail is refused before there is a journal.
#[test]
fn what_cannot_be_made_is_refused_at_once() {
    type Hinder = fn(&Several, &mut Vec<Step>);
    type Expects = fn(&ReplaceAllError) -> bool;
    let ways: [(Hinder, Expects); 8] = [
        (
            |_, steps| steps.push(steps[0].clone()),
            |error| matches!(error, ReplaceAllError::BadStep { name } if name == "one"),
        ),
        (
            |several, steps| {
                symlink("one", several.at("link")).unwrap();
                steps[5].file = several.root.locate_new(&[several.root.absolute("link")]).unwrap();
                steps[5].after = steps[0].after.clone();
            },
            |error| matches!(error, ReplaceAllError::BadStep { name } if name == "link"),
        ),
        (
            |_, steps| (steps[2].before, steps[2].after) = (None, None),
            |error| matches!(error, ReplaceAllError::BadStep { .. }),
        ),
        (
            |several, _| fs::write(several.at("new"), "").unwrap(),
            |error| is_step(error, |why| matches!(why, ReplaceError::NoFolder { .. })),
        ),
        (
            |several, _| fs::remove_file(several.at("gone")).unwrap(),
            |error| is_step(error, |why| matches!(why, ReplaceError::Changed { .. })),
        ),
        (
            |several, _| fs::hard_link(several.at("gone"), several.at("other")).unwrap(),
            |error| is_step(error, |why| matches!(why, ReplaceError::HardLinked { .. })),
        ),
        (
            |several, steps| steps[5].file = several.root.locate_new(&[several.root.absolute(".git/config")]).unwrap(),
            |error| is_step(error, |why| matches!(why, ReplaceError::InGit { .. })),
        ),
        (
            |several, _| {
                fs::remove_file(several.at("gone")).unwrap();
                symlink("one", several.at("gone")).unwrap();
            },
            |error| is_step(error, |why| matches!(why, ReplaceError::NotAFile { .. })),
        ),
    ];
    for (number, (hinder, expected)) in ways.into_iter().enumerate() {
        let several = Several::new();
        let mut steps = steps(&several.root);
        hinder(&several, &mut steps);
        let root = several.watched(|now| panic!("{now:?}"));
        let refused = root.replace_all(&load, &steps, "", HardLinks::Refuse).unwrap_err();
        assert!(expected(&refused), "{number}: {refused}");
        assert!(several.is(false, "one") && several.is(false, "sub/two") && !several.root.has_journal());
    }
    let several = Several::new();
    let long = "x".repeat(17 << 20);
    let refused = several.root.replace_all(&load, &steps(&several.root), &long, HardLinks::Refuse).unwrap_err();
    assert!(matches!(refused, ReplaceAllError::TooLarge { .. }));
    several.is_clean("");
}

fn is_step(error: &ReplaceAllError, is: fn(&ReplaceError) -> bool) -> bool {
    matches!(error, ReplaceAllError::Step { source, left, unrestored: None } if left.is_empty() && is(source))
}

/// Several processes find the same journal: one recovers it.
#[test]
fn one_of_many_recovers() {
    for files in [3, 6] {
        let several = Several::new();
        half(&several, files);
        let told = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let root = Root::open(several.root.path()).unwrap();
                    let (swept, mine) = recover(&root);
                    swept.unwrap();
                    told.lock().unwrap().extend(mine);
                });
            }
        });
        assert_eq!(told.into_inner().unwrap().len(), 1);
        assert!(several.all(files == 6, ""));
        several.is_clean("");
    }
}

/// Writers at once, each with a journal, while others recover all the time.
#[test]
fn journals_come_and_go_at_once() {
    let several = Several::new();
    thread::scope(|scope| {
        for number in 0..4 {
            let path = several.root.path();
            scope.spawn(move || {
                let root = Root::open(path).unwrap();
                for round in 0..10 {
                    let step = |name: &str| Step {
                        file: root.locate_new(&[root.absolute(&format!("{name}-{number}-{round}"))]).unwrap(),
                        before: None,
                        after: Some(Text::new("x\n".to_owned())),
                        mode_of: None,
                        mode: None,
                    };
                    let steps = [step("a"), step("sub/b")];
                    root.replace_all(&load, &steps, "", HardLinks::Refuse).unwrap().finish().unwrap();
                    let (swept, told) = recover(&root);
                    assert!(swept.is_ok() && told.is_empty(), "{swept:?} {told:?}");
                }
            });
        }
    });
    several.is_clean("");
    assert_eq!(names_in(&several.at("sub")).len(), 41);
}

/// A journal that was not wholly written says nothing, and nothing was touched.
#[test]
fn a_torn_journal_goes() {
    let several = Several::new();
    half(&several, 3);
    let path = several.at(JOURNAL).join(names_in(&several.at(JOURNAL)).pop().unwrap());
    let whole = fs::read(&path).unwrap();
    let as_left: Vec<_> = FILES.iter().map(|(name, ..)| several.text(name)).collect();
    for cut in (0..whole.len()).step_by(7).chain([whole.len() - 1]) {
        fs::create_dir_all(several.at(JOURNAL)).unwrap();
        set_mode(&several.at(JOURNAL), 0o700);
        fs::write(&path, &whole[..cut]).unwrap();
        set_mode(&path, 0o600);
        // It is another file by now, so its own line is made to fit; the rest is torn.
        let ino = |path: &Path| std::os::unix::fs::MetadataExt::ino(&fs::metadata(path).unwrap());
        let text = String::from_utf8(whole[..cut].to_vec()).unwrap();
        let text = text.split_once('\n').map_or(text.clone(), |(_, rest)| {
            format!("readproof-journal-1 {} {}\n{rest}", ino(&several.at(JOURNAL)), ino(&path))
        });
        fs::write(&path, text).unwrap();
        let (swept, told) = several.recover();
        assert_eq!((swept.unwrap(), told), (Swept::default(), Vec::new()), "{cut}");
        assert!(!several.root.has_journal());
        assert_eq!(FILES.iter().map(|(name, ..)| several.text(name)).collect::<Vec<_>>(), as_left, "{cut}");
    }
}

/// A journal that came with a stranger's files is removed and does nothing.
#[test]
fn a_copied_journal_counts_for_nothing() {
    let several = Several::new();
    half(&several, 3);
    let copy = several.temp.path().join("copy");
    let copied = Command::new("cp").arg("-a").arg(several.root.path()).arg(&copy).status().unwrap();
    assert!(copied.success());
    let root = Root::open(&copy).unwrap();
    assert!(root.has_journal());
    let (swept, told) = recover(&root);
    assert_eq!((swept.unwrap(), told), (Swept::default(), Vec::new()));
    assert_eq!(fs::read_to_string(copy.join("one")).unwrap(), "ONE\n");
    assert!(!root.has_journal());
}

/// What is no folder of this user's journals is left alone, refuses changes over several files, and nothing else.
#[test]
fn a_journal_folder_that_is_not_ours() {
    type Make = fn(&Path, &Path);
    let ways: [Make; 5] = [
        |journal, elsewhere| symlink(elsewhere, journal).unwrap(),
        |journal, _| fs::write(journal, "").unwrap(),
        |journal, _| {
            rustix::fs::mknodat(rustix::fs::CWD, journal, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        },
        |journal, _| {
            fs::create_dir(journal).unwrap();
            set_mode(journal, 0o755);
        },
        |journal, _| {
            fs::create_dir(journal).unwrap();
            set_mode(journal, 0o700);
            if rustix::process::geteuid().is_root() {
                std::os::unix::fs::chown(journal, Some(12345), None).unwrap();
            } else {
                set_mode(journal, 0o770);
            }
        },
    ];
    for (number, make) in ways.into_iter().enumerate() {
        let several = Several::new();
        let elsewhere = several.temp.path().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        make(&several.at(JOURNAL), &elsewhere);
        let there = fs::symlink_metadata(several.at(JOURNAL)).unwrap().file_type();
        let refused = change(&several.root).unwrap_err();
        assert!(matches!(refused, ReplaceAllError::Journal(_)), "{number}: {refused}");
        assert!(several.all(false, ""));
        assert!(several.finds_nothing(), "{number}");
        assert_eq!(names_in(&elsewhere), [""; 0]);
        // An empty folder of ours goes; anything else stays.
        assert_eq!(fs::symlink_metadata(several.at(JOURNAL)).unwrap().file_type(), there, "{number}");
    }
    // Files in it that are not ours: a link, a pipe, one with another name, one that others can read.
    let several = Several::new();
    half(&several, 3);
    let path = several.at(JOURNAL).join(names_in(&several.at(JOURNAL)).pop().unwrap());
    symlink(&path, several.at(JOURNAL).join("1-0.journal")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        several.at(JOURNAL).join("1-1.journal"),
        rustix::fs::FileType::Fifo,
        0o600.into(),
        0,
    )
    .unwrap();
    for mode in [0o644, 0o600] {
        set_mode(&path, mode);
        if mode == 0o600 {
            fs::hard_link(&path, several.temp.path().join("kept-link")).unwrap();
        }
        assert!(several.finds_nothing(), "{mode:o}");
        assert_eq!(several.text("one").as_deref(), Some("ONE\n"));
    }
    fs::remove_file(several.temp.path().join("kept-link")).unwrap();
    assert_eq!(several.recover().1.len(), 1);
    assert!(several.all(false, ""));
    assert_eq!(names_in(&several.at(JOURNAL)), ["1-0.journal", "1-1.journal"]);
}

/// On a disk without space or that is read-only nothing is touched.
#[cfg(target_os = "linux")]
#[test]
fn a_journal_that_cannot_be_written() {
    use rustix::io::Errno;
    for (calls, errno) in [
        (vec![seccomp::every(seccomp::MKDIRAT)], Errno::ROFS),
        (vec![seccomp::creating_opens()], Errno::ROFS),
        (vec![seccomp::file_writes()], Errno::NOSPC),
        (vec![seccomp::every(seccomp::FSYNC)], Errno::IO),
    ] {
        let several = Several::new();
        let refused = seccomp::with_failing(calls, errno, || change(&several.root)).unwrap_err();
        assert!(
            matches!(
                (&refused, errno),
                (ReplaceAllError::Journal(crate::StoreError::ReadOnly { .. }), Errno::ROFS)
                    | (ReplaceAllError::Journal(crate::StoreError::Full { .. }), Errno::NOSPC)
                    | (ReplaceAllError::Journal(crate::StoreError::Io { .. }), Errno::IO)
            ),
            "{refused}"
        );
        assert!(several.all(false, "") && !several.at("new").exists());
        assert!(!several.root.has_journal());
    }
}

/// A recovery that cannot write says so and which files are how, keeps the journal, and is made up for later.
#[cfg(target_os = "linux")]
#[test]
fn a_recovery_on_a_disk_that_is_read_only_by_now() {
    use rustix::io::Errno;
    let read_only = || {
        vec![
            seccomp::every(seccomp::RENAMEAT2),
            seccomp::every(seccomp::UNLINKAT),
            seccomp::creating_opens(),
            seccomp::file_writes(),
        ]
    };
    let several = Several::new();
    half(&several, 3);
    let (failed, told) = seccomp::with_failing(read_only(), Errno::ROFS, || several.recover());
    let Err(RecoverError::Unrestored { note, source: ReplaceError::ReadOnly { .. }, files }) = failed else {
        panic!("{failed:?}")
    };
    assert_eq!((note.as_str(), told.len()), ("the note\n", 0));
    let paths: Vec<_> = files.iter().map(|file| (&*file.path, file.present.is(file.after))).collect();
    assert_eq!(paths, [("one", true), ("sub/two", true), ("new/fresh", true)]);
    assert!(several.root.has_journal());
    assert_eq!(several.recover().1[0].outcome, Outcome::Undone);
    assert!(several.all(false, ""));
    several.is_clean("");

    // One that is complete is told, though its journal stays.
    let several = Several::new();
    half(&several, 6);
    let (failed, told) = seccomp::with_failing(read_only(), Errno::ROFS, || several.recover());
    assert!(matches!(failed, Err(RecoverError::Journal(crate::StoreError::ReadOnly { .. }))), "{failed:?}");
    assert_eq!(told[0].outcome, Outcome::Done);
    assert!(several.all(true, ""));
}

/// A disk that fills up in the middle: what cannot be undone now is undone later.
#[cfg(target_os = "linux")]
#[test]
fn a_change_that_cannot_be_undone_now() {
    use rustix::io::Errno;
    let several = Several::new();
    let failed = Arc::new(Mutex::new(None));
    let (path, outcome) = (several.root.path().to_path_buf(), failed.clone());
    // From the second file on nothing can be renamed.
    let root = several.beside((Moment::Stepped, 2), move |_| {
        let calls: seccompiler::BpfProgram = seccompiler::SeccompFilter::new(
            [seccomp::every(seccomp::RENAMEAT2)].into_iter().collect(),
            seccompiler::SeccompAction::Allow,
            seccompiler::SeccompAction::Errno(Errno::NOSPC.raw_os_error().cast_unsigned()),
            std::env::consts::ARCH.try_into().unwrap(),
        )
        .unwrap()
        .try_into()
        .unwrap();
        seccompiler::apply_filter(&calls).unwrap();
    });
    thread::spawn(move || *outcome.lock().unwrap() = Some(change(&root).map(drop))).join().unwrap();
    let failed = failed.lock().unwrap().take().unwrap().unwrap_err();
    let ReplaceAllError::Step {
        source: ReplaceError::Full { .. }, unrestored: Some(ReplaceError::Full { .. }), ..
    } = failed
    else {
        panic!("{failed}")
    };
    assert!(several.root.has_journal());
    let root = Root::open(&path).unwrap();
    assert_eq!(recover(&root).1[0].outcome, Outcome::Undone);
    assert!(several.all(false, ""));
    several.is_clean("");
}

/// A text that is not stored any more cannot be put back: the file is named.
#[test]
fn a_text_that_is_not_stored() {
    let several = Several::new();
    half(&several, 3);
    let mut told = Vec::new();
    let none = |wanted| load(wanted).filter(|text| text.as_str() != "one\n");
    let mut tell = |recovered| {
        told.push(recovered);
        Ok::<_, ()>(())
    };
    several.root.recover_all(&none, &mut tell).unwrap();
    let Outcome::Conflict { files } = &told[0].outcome else { panic!("{told:?}") };
    assert_eq!((files.len(), &*files[0].path, files[0].present), (1, "one", Present::Bytes(hash("ONE\n"))));
    assert!(several.all(false, "one") && several.is(true, "one"));
}

/// Where files cannot be locked, the process in the name tells whether the journal has an owner.
#[cfg(target_os = "linux")]
#[test]
fn journals_without_locks() {
    use rustix::io::Errno;
    let several = Several::new();
    half(&several, 3);
    let without = |work: &(dyn Fn() + Sync)| {
        seccomp::with_failing(vec![seccomp::every(seccomp::FLOCK)], Errno::BADF, work);
    };
    without(&|| assert_eq!(several.recover().0.unwrap(), Swept { recovered: 0, busy: 1 }));
    let name = names_in(&several.at(JOURNAL)).pop().unwrap();
    fs::rename(several.at(JOURNAL).join(name), several.at(JOURNAL).join("999999999-0.journal")).unwrap();
    without(&|| assert_eq!(several.recover().0.unwrap(), Swept { recovered: 1, busy: 0 }));
    assert!(several.all(false, ""));
    several.is_clean("");
}

/// What was made of a change that may still be undone is nothing to build on, for whoever else writes.
#[test]
fn nobody_builds_on_half_a_change() {
    for (nth, name, after) in [(1, "one", Some("ONE\n")), (3, "new/fresh", Some("fresh\n")), (5, "moved", None)] {
        let several = Several::new();
        let tried = Arc::new(Mutex::new(Vec::new()));
        let seen = tried.clone();
        let root = several.beside((Moment::Stepped, nth), move |folder| {
            let other = Root::open(folder).unwrap();
            let file = other.locate_new(&[other.absolute(name)]).unwrap();
            let expected = after.map_or(Expected::Nothing, |text| Expected::Text(hash(text)));
            seen.lock().unwrap().push(other.replace(&file, "more\n", expected, HardLinks::Allow));
        });
        let applied = root.replace_all(&load, &steps(&root), "", HardLinks::Allow).unwrap();
        let tried = std::mem::take(&mut *tried.lock().unwrap());
        assert!(matches!(&tried[..], [Err(ReplaceError::Unfinished { name: of })] if of == name), "{tried:?}");
        assert!(several.all(true, ""), "{name}");
        // Complete, it is.
        let file = several.root.locate_new(&[several.root.absolute("one")]).unwrap();
        several.root.replace(&file, "more\n", Expected::Text(hash("ONE\n")), HardLinks::Allow).unwrap();
        applied.finish().unwrap();
    }
}

/// Two programs save while a file is written: the second text has the name, the first is handed out.
#[test]
fn what_cannot_be_put_back_is_handed_out() {
    let several = Several::new();
    let save = |text: &'static str| {
        move |folder: &Path| {
            fs::write(folder.join("sub/saved"), text).unwrap();
            fs::rename(folder.join("sub/saved"), folder.join("sub/two")).unwrap();
        }
    };
    let (first, second, folder) = (save("first\n"), save("second\n"), several.root.path().to_path_buf());
    let root = several.watched(move |moment| {
        if moment == Moment::Announced {
            first(&folder);
        } else if moment == Moment::Exchanged {
            second(&folder);
        }
    });
    let file = root.locate_new(&[root.absolute("sub/two")]).unwrap();
    let failed = root.replace(&file, "own\n", Expected::Text(hash("two\n")), HardLinks::Allow);
    assert!(matches!(failed, Err(ReplaceError::Changed { .. })), "{failed:?}");
    assert_eq!(several.text("sub/two").as_deref(), Some("second\n"));
    let [displaced] = &root.take_displaced()[..] else { panic!("one text is handed out") };
    assert_eq!((displaced.name.as_str(), &displaced.bytes[..]), ("sub/two", &b"first\n"[..]));
    assert!(root.take_displaced().is_empty());
}

/// Two make the same change at once: the one that comes second is refused, and leaves what the first one made.
#[test]
fn a_refused_change_does_not_undo_what_another_made() {
    let several = Several::new();
    let steps = steps(&several.root);
    fs::write(several.at("one"), "ONE\n").unwrap();
    let refused = several.root.replace_all(&load, &steps, "", HardLinks::Refuse).unwrap_err();
    assert!(matches!(refused, ReplaceAllError::Step { source: ReplaceError::Changed { .. }, .. }), "{refused:?}");
    assert_eq!(several.text("one").as_deref(), Some("ONE\n"));
    assert!(several.all(false, "one"));
}
