//! Files that are removed or get another name while other programs act, and processes that end meanwhile.

use super::*;
use std::os::unix::fs::{MetadataExt, symlink};

const CAUSES: [Moment; 3] = [Moment::Turn, Moment::Checked, Moment::Announced];

fn remove(root: &Root, file: &FileRef) -> Result<(), ReplaceError> {
    root.remove(file, old(), HardLinks::Refuse)
}

fn is_changed<T>(done: &Result<T, ReplaceError>, of: &str) -> bool {
    matches!(done, Err(ReplaceError::Changed { name }) if name == of)
}

#[test]
fn a_file_is_removed_if_it_is_as_expected() {
    let world = World::new();
    let file = world.file("f");
    assert!(is_changed(&world.root.remove(&file, Expected::Text(ContentHash::of(b"x")), HardLinks::Refuse), "f"));
    assert!(is_changed(&world.root.remove(&file, Expected::Nothing, HardLinks::Refuse), "f"));
    assert_eq!((world.text().as_str(), world.names()), (OLD, vec!["f".to_owned()]));
    remove(&world.root, &file).unwrap();
    assert_eq!(world.names(), [""; 0]);
    assert!(is_changed(&remove(&world.root, &file), "f"));
    assert!(is_changed(&world.root.remove(&world.file("no/f"), Expected::Anything, HardLinks::Refuse), "no/f"));
    world.root.remove(&file, Expected::Nothing, HardLinks::Refuse).unwrap();
    fs::write(world.at("f"), "whatever").unwrap();
    world.root.remove(&file, Expected::Anything, HardLinks::Refuse).unwrap();
    assert_eq!(world.names(), [""; 0]);
}

/// Neither a link nor what it leads to, nor anything that a write refuses.
#[test]
fn what_is_no_file_of_its_own_is_not_removed() {
    let world = World::new();
    fs::create_dir_all(world.at("folder")).unwrap();
    fs::create_dir_all(world.at(".git")).unwrap();
    fs::write(world.at(".git/config"), OLD).unwrap();
    symlink("f", world.at("link")).unwrap();
    symlink("folder", world.at("way")).unwrap();
    fs::write(world.at("folder/g"), OLD).unwrap();
    fs::hard_link(world.at("folder/g"), world.at("h")).unwrap();
    for (name, expected) in [("link", FileKind::Link), ("folder", FileKind::Directory), (".", FileKind::Directory)] {
        let refused = remove(&world.root, &world.file(name)).unwrap_err();
        assert!(matches!(&refused, ReplaceError::NotAFile { kind, .. } if *kind == expected), "{name}: {refused}");
        let to = world.root.rename(&world.file(name), &world.file("new"), Expected::Anything).unwrap_err();
        assert!(matches!(&to, ReplaceError::NotAFile { kind, .. } if *kind == expected), "{name}: {to}");
    }
    let refused = remove(&world.root, &world.file(".git/config")).unwrap_err();
    assert!(matches!(refused, ReplaceError::InGit { .. }), "{refused}");
    let refused = world.root.rename(&world.file("f"), &world.file(".git/hook"), old()).unwrap_err();
    assert!(matches!(refused, ReplaceError::InGit { .. }), "{refused}");
    let refused = world.root.rename(&world.file("f"), &world.file(".readproof/f"), old()).unwrap_err();
    assert!(matches!(refused, ReplaceError::OwnStore { .. }), "{refused}");
    assert!(matches!(remove(&world.root, &world.file("h")), Err(ReplaceError::HardLinked { .. })));
    // A link to the folder is followed.
    world.root.remove(&world.file("way/g"), old(), HardLinks::Allow).unwrap();
    assert_eq!(names_in(&world.at("folder")), [""; 0]);
    assert_eq!(world.names(), [".git", "f", "folder", "h", "link", "way"]);
}

/// What another program saved is never removed, and nothing is left behind.
#[test]
fn a_change_by_another_is_not_removed() {
    for moment in CAUSES {
        let world = World::new();
        let kept = remove(&world.beside(moment, |folder| save(folder, "mine")), &world.file("f"));
        assert!(is_changed(&kept, "f"), "{moment:?}: {kept:?}");
        assert_eq!((world.text().as_str(), world.names()), ("mine", vec!["f".to_owned()]), "{moment:?}");

        let world = World::new();
        let gone = remove(&world.beside(moment, |folder| fs::remove_file(folder.join("f")).unwrap()), &world.file("f"));
        assert!(is_changed(&gone, "f"), "{moment:?}: {gone:?}");
        assert_eq!(world.names(), [""; 0], "{moment:?}");
    }
    // A new file with the name of the removed one stays; one that still has an open handle and writes is noticed.
    let world = World::new();
    remove(&world.beside(Moment::Aside, |folder| save(folder, "new")), &world.file("f")).unwrap();
    assert_eq!((world.text().as_str(), world.names()), ("new", vec!["f".to_owned()]));
    let world = World::new();
    let open = fs::OpenOptions::new().append(true).open(world.at("f")).unwrap();
    let late = remove(&world.beside(Moment::Aside, move |_| (&open).write_all(b"late\n").unwrap()), &world.file("f"));
    assert!(is_changed(&late, "f"));
    assert_eq!((world.text().as_str(), world.names()), ("old\nlate\n", vec!["f".to_owned()]));
}

/// Wherever the process ends: the next open finds the file whole or gone, and what another saved is there.
#[test]
fn a_crash_of_a_removal_loses_nothing() {
    use Moment::{Announced, Aside, Back, GoingBack};
    let saved: [&[(Moment, &'static str)]; 5] = [
        &[],
        &[(Announced, "one")],
        &[(Aside, "two")],
        &[(Announced, "one"), (GoingBack, "three")],
        &[(Announced, "one"), (Back, "four")],
    ];
    let (mut came, mut back, mut gone) = (0, 0, 0);
    for moment in Moment::ALL.into_iter().chain([Aside]) {
        for acts in saved {
            let world = World::new();
            let file = world.file("f");
            let acted: Vec<_> = acts.iter().map(|(when, text)| (*when, saves(text))).collect();
            let (here, done) = world.crash_in(moment, acted, |root| drop(remove(root, &file)));
            let what = format!("{moment:?} {acts:?}: {:?}", world.names());
            let before = fs::read_to_string(world.at("f")).ok();
            // As every operation opens a file: the first look already finds it.
            let text = match world.root.locate_open(&[world.at("f").display().to_string()]) {
                Ok(_) => Some(world.read("f").unwrap()),
                Err(_) => None,
            };
            match acts[..done].last() {
                Some((_, saved)) => assert_eq!(text.as_deref(), Some(*saved), "{what}"),
                None => assert!(text.is_none() || text.as_deref() == Some(OLD), "{what}: {text:?}"),
            }
            assert!(world.names().iter().all(|name| name == "f"), "{what}");
            came += u32::from(here);
            back += u32::from(here && before.is_none() && text.is_some());
            gone += u32::from(here && text.is_none());
        }
    }
    assert!(came >= 30 && back >= 2 && gone >= 5, "{came} {back} {gone}");
}

/// A reader who meets a removal waits until it is decided.
#[test]
fn a_reader_beside_a_removal() {
    let world = World::new();
    let (folder, saving) = (world.root.path().to_path_buf(), world.at("."));
    let (sent, got) = mpsc::channel();
    let sent = Mutex::new(sent);
    let root = world.watched(move |now| {
        if now == Moment::Announced {
            save(&saving, "mine");
        }
        if now == Moment::Aside {
            let folder = folder.clone();
            let reader = thread::spawn(move || {
                let root = Root::open(&folder).unwrap();
                root.locate_open(&[root.absolute("f")]).map(drop)
            });
            thread::sleep(Duration::from_millis(30));
            assert!(!reader.is_finished(), "it was told that a file is gone which is not");
            sent.lock().unwrap().send(reader).unwrap();
        }
    });
    assert!(is_changed(&remove(&root, &world.file("f")), "f"));
    got.recv().unwrap().join().unwrap().unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn a_removal_on_a_disk_that_is_read_only_by_now() {
    use rustix::io::Errno;
    let world = World::new();
    let file = world.file("f");
    assert!(world.crash_in(Moment::Announced, Vec::new(), |root| drop(remove(root, &file))).0);
    let calls = vec![seccomp::every(seccomp::RENAMEAT2), seccomp::every(seccomp::UNLINKAT)];
    assert_eq!(seccomp::with_failing(calls, Errno::ROFS, || world.read("f")).unwrap(), OLD);
    let calls = vec![seccomp::every(seccomp::RENAMEAT2), seccomp::every(seccomp::UNLINKAT)];
    let refused = seccomp::with_failing(calls, Errno::ROFS, || remove(&world.root, &file));
    assert!(matches!(refused, Err(ReplaceError::ReadOnly { .. })), "{refused:?}");
    assert_eq!(world.text(), OLD);
}

#[test]
fn a_file_gets_another_name() {
    let world = World::new();
    set_mode(&world.at("f"), 0o750);
    let ino = fs::metadata(world.at("f")).unwrap().ino();
    let (from, to) = (world.file("f"), world.file("new/deep/g"));
    let other = Expected::Text(ContentHash::of(b"x"));
    assert!(is_changed(&world.root.rename(&from, &to, other), "f"));
    assert!(is_changed(&world.root.rename(&world.file("none"), &to, Expected::Anything), "none"));
    assert!(is_changed(&world.root.rename(&world.file("no/f"), &to, Expected::Anything), "no/f"));
    assert_eq!(world.names(), ["f"], "no folder is left of what was refused");
    world.root.rename(&from, &to, old()).unwrap();
    assert_eq!((world.names(), names_in(&world.at("new/deep"))), (vec!["new".to_owned()], vec!["g".to_owned()]));
    let found = fs::metadata(world.at("new/deep/g")).unwrap();
    assert_eq!((found.ino(), found.mode() & 0o777), (ino, 0o750));
    // Back, and in the same folder.
    world.root.rename(&to, &world.file("g"), old()).unwrap();
    world.root.rename(&world.file("g"), &from, old()).unwrap();
    assert_eq!(world.text(), OLD);
    assert!(is_changed(&world.root.rename(&from, &from, old()), "f"));
}

/// Nothing is replaced: neither a file, nor a link that leads nowhere, nor what comes at the last moment.
#[test]
fn a_name_that_is_taken_stays() {
    let world = World::new();
    fs::write(world.at("g"), "mine").unwrap();
    symlink("nowhere", world.at("link")).unwrap();
    fs::create_dir(world.at("folder")).unwrap();
    for name in ["g", "link", "folder"] {
        assert!(is_changed(&world.root.rename(&world.file("f"), &world.file(name), old()), name), "{name}");
    }
    let root = world.beside(Moment::Checked, |folder| fs::write(folder.join("late"), "late").unwrap());
    assert!(is_changed(&root.rename(&world.file("f"), &world.file("late"), old()), "late"));
    assert_eq!(world.text(), OLD);
    assert_eq!(fs::read_to_string(world.at("g")).unwrap(), "mine");
    assert_eq!(world.names(), ["f", "folder", "g", "late", "link"]);
}

/// What another program saves meanwhile keeps its name.
#[test]
fn a_change_by_another_is_not_moved() {
    for moment in [Moment::Turn, Moment::Checked] {
        let world = World::new();
        let moved =
            world.beside(moment, |folder| save(folder, "mine")).rename(&world.file("f"), &world.file("new/g"), old());
        assert!(is_changed(&moved, "f"), "{moment:?}: {moved:?}");
        assert_eq!((world.text().as_str(), world.names()), ("mine", vec!["f".to_owned()]), "{moment:?}");
    }
    // One that comes after the move is another file.
    let world = World::new();
    let root = world.beside(Moment::Moved, |folder| save(folder, "new"));
    root.rename(&world.file("f"), &world.file("h"), old()).unwrap();
    assert_eq!((world.text().as_str(), fs::read_to_string(world.at("h")).unwrap().as_str()), ("new", OLD));
    // Nor is one that someone takes away again put back.
    let world = World::new();
    let root = world.beside(Moment::Moved, |folder| fs::remove_file(folder.join("h")).unwrap());
    assert!(is_changed(&root.rename(&world.file("f"), &world.file("h"), old()), "f"));
    assert_eq!(world.names(), [""; 0]);
}

/// Wherever the process ends, the file has one of the names.
#[test]
fn a_crash_of_a_rename_loses_nothing() {
    for moment in Moment::ALL.into_iter().chain(Moment::OF_NAMES) {
        let world = World::new();
        let (from, to) = (world.file("f"), world.file("g"));
        world.crash_in(moment, Vec::new(), |root| drop(root.rename(&from, &to, old())));
        let names = world.names();
        assert!(names == ["f"] || names == ["g"], "{moment:?}: {names:?}");
        assert_eq!(world.read(&names[0]).unwrap(), OLD);
    }
}

/// Two who move files between the same folders, each the other way, do not wait for each other for ever.
#[test]
fn renames_in_both_directions() {
    let world = World::new();
    for folder in ["a", "b"] {
        fs::create_dir(world.at(folder)).unwrap();
        fs::write(world.at(folder).join(format!("of-{folder}")), OLD).unwrap();
    }
    let go = |name: &'static str, from: &'static str, to: &'static str| {
        let path = world.root.path().to_path_buf();
        move || {
            let pause = |now| {
                if now == Moment::Turn {
                    thread::sleep(Duration::from_millis(5));
                }
            };
            let root = Root::open(&path).unwrap().watched(Arc::new(pause));
            let at = |folder: &str| root.locate_new(&[root.absolute(&format!("{folder}/{name}"))]).unwrap();
            for _ in 0..10 {
                root.rename(&at(from), &at(to), old()).unwrap();
                root.rename(&at(to), &at(from), old()).unwrap();
            }
        }
    };
    let threads = [thread::spawn(go("of-a", "a", "b")), thread::spawn(go("of-b", "b", "a"))];
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!((names_in(&world.at("a")), names_in(&world.at("b"))), (vec!["of-a".into()], vec!["of-b".into()]));
}

/// Where folders cannot be locked, or names not exchanged.
#[cfg(target_os = "linux")]
#[test]
fn names_on_a_simple_file_system() {
    use rustix::io::Errno;
    let world = World::new();
    seccomp::with_failing(vec![seccomp::every(seccomp::RENAMEAT2)], Errno::INVAL, || {
        world.root.rename(&world.file("f"), &world.file("g"), old()).unwrap();
        let kept = remove(
            &world.beside(Moment::Announced, |folder| fs::write(folder.join("g"), "mine").unwrap()),
            &world.file("g"),
        );
        assert!(is_changed(&kept, "g"), "{kept:?}");
        assert_eq!(
            (fs::read_to_string(world.at("g")).unwrap().as_str(), world.names()),
            ("mine", vec!["g".to_owned()])
        );
        world.root.remove(&world.file("g"), Expected::Text(ContentHash::of(b"mine")), HardLinks::Refuse).unwrap();
    });
    assert_eq!(world.names(), [""; 0]);
    fs::write(world.at("f"), OLD).unwrap();
    seccomp::with_failing(vec![seccomp::every(seccomp::FLOCK)], Errno::BADF, || {
        world.root.rename(&world.file("f"), &world.file("g"), old()).unwrap();
        remove(&world.root, &world.file("g")).unwrap();
    });
    assert_eq!(world.names(), [""; 0]);
}
