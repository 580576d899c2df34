//! Names: the hostile shapes with `openat2`, odd names, and what is not a regular file.
#![allow(clippy::unwrap_used, reason = "tests and their helpers")]

mod shapes;
mod world;

use std::{
    fs,
    os::unix::{fs::symlink, net::UnixListener},
    path::Path,
};

use readproof_core::{path::PathKey, text::NotText};
use readproof_disk::{FileKind, HardLinks, LocateError, Root, SnapshotError, SnapshotRules};
use rustix::fs::{CWD, FileType, Mode};
use world::World;

const RULES: SnapshotRules = SnapshotRules { max_bytes: 100, hard_links: HardLinks::Refuse };

#[test]
fn the_hostile_shapes() {
    shapes::check_all();
}

#[test]
fn odd_names_are_refused_by_type() {
    let world = World::new();
    let root = &world.root;
    let refuse = |name: &str| root.locate(&[world.name(name)]).unwrap_err();
    assert!(matches!(refuse("a\0b"), LocateError::NulInName));
    assert!(matches!(refuse(&"x".repeat(10_000)), LocateError::NameTooLong { len: 10_000 }));
    assert!(matches!(refuse(&"x".repeat(256)), LocateError::NameTooLong { len: 256 }));
    assert!(matches!(refuse(&"x".repeat(255)), LocateError::Missing { .. }));
    assert!(matches!(refuse(&"é".repeat(128)), LocateError::NameTooLong { len: 256 }));
    assert!(matches!(refuse(&"x/".repeat(3000)), LocateError::Outside { .. }));
    assert!(matches!(refuse(&format!("{}x", "x/".repeat(3000))), LocateError::NameTooLong { len } if len > 6000));
    assert!(matches!(refuse("a//b"), LocateError::Outside { .. }));
    assert!(matches!(refuse("a/../b"), LocateError::Outside { .. }));
    assert!(matches!(root.locate(&[]), Err(LocateError::Outside { .. })));
    assert!(matches!(root.locate(&[String::new()]), Err(LocateError::Outside { .. })));
    for name in ["a\0b", &"x".repeat(256)] {
        assert!(root.locate_new(&[world.name(name)]).is_err());
    }
}

#[test]
fn odd_but_real_names_are_found() {
    let world = World::new();
    let root = &world.root;
    for name in ["sp ace", "nl\nx", "tab\t", "quote'\"", "é", "e\u{301}", "emoji🙂", "-dash", "back\\slash", "*", "~"]
    {
        world.write(name, name);
        let file = root.locate(&[world.name(name)]).unwrap();
        assert_eq!(file.key().as_str(), name);
        assert_eq!(file.absolute(), world.name(name));
        assert_eq!(root.snapshot(&file, &RULES).unwrap().text.as_str(), name);
    }
}

#[test]
fn the_first_candidate_that_exists_is_taken() {
    let world = World::new();
    let root = &world.root;
    world.write("b", "");
    symlink("/etc/hostname", world.at("out")).unwrap();
    let (a, b, out, far) = (world.name("a"), world.name("b"), world.name("out"), "/elsewhere".to_owned());
    let key = |names: &[&String]| {
        let names: Vec<String> = names.iter().map(|name| (*name).clone()).collect();
        (root.locate(&names).map(|f| f.key().to_string()), root.locate_new(&names).map(|f| f.key().to_string()))
    };
    assert!(matches!(key(&[&a, &b]), (Ok(x), Ok(y)) if x == "b" && y == "b"));
    assert!(matches!(key(&[&far, &out, &b]), (Ok(x), Ok(y)) if x == "b" && y == "b"));
    assert!(matches!(key(&[&a, &far]), (Err(LocateError::Missing { asked }), Ok(y)) if asked == a && y == "a"));
    assert!(matches!(key(&[&far, &a]), (Err(LocateError::Outside { asked, .. }), Err(_)) if asked == far));
    assert!(matches!(key(&[&a, &out]), (Err(LocateError::LinkOut { .. }), Err(LocateError::LinkOut { .. }))));
    let error = root.locate(std::slice::from_ref(&far)).unwrap_err();
    let workspace = root.path().to_str().unwrap();
    assert!(
        matches!(&error, LocateError::Outside { asked, root } if asked == "/elsewhere" && root == workspace),
        "{error}"
    );
}

#[test]
fn names_under_the_path_as_given_are_inside() {
    let temp = tempfile::tempdir().unwrap();
    fs::create_dir(temp.path().join("real")).unwrap();
    fs::write(temp.path().join("real/f"), "").unwrap();
    symlink("real", temp.path().join("link")).unwrap();
    let given = temp.path().join("link/");
    let root = Root::open(&given).unwrap();
    let found = root.locate(&[temp.path().join("link/f").to_str().unwrap().to_owned()]).unwrap();
    assert_eq!((found.key().as_str(), found.absolute()), ("f", format!("{}/f", root.path().display())));
    assert_eq!(root.locate(&[temp.path().join("link").to_str().unwrap().to_owned()]).unwrap().key().as_str(), ".");
    assert!(root.locate(&[temp.path().join("linkf").to_str().unwrap().to_owned()]).is_err());
}

#[test]
fn the_whole_file_system_can_be_a_root() {
    let root = Root::open(Path::new("/")).unwrap();
    let file = root.locate(&["/etc".to_owned()]).unwrap();
    assert_eq!((file.key().as_str(), file.absolute().as_str()), ("etc", "/etc"));
    let file = root.locate(&["/".to_owned()]).unwrap();
    assert_eq!((file.key().as_str(), file.absolute().as_str()), (".", "/"));
}

#[test]
fn what_is_no_file_is_named_and_never_waited_for() {
    let world = World::new();
    let root = &world.root;
    rustix::fs::mknodat(CWD, world.at("pipe"), FileType::Fifo, Mode::RWXU, 0).unwrap();
    let _listener = UnixListener::bind(world.at("socket")).unwrap();
    fs::create_dir(world.at("folder")).unwrap();
    symlink("pipe", world.at("to_pipe")).unwrap();
    let kind = |root: &Root, name: &str| match root.snapshot(&root.locate(&[name.to_owned()]).unwrap(), &RULES) {
        Err(SnapshotError::NotAFile { kind, .. }) => kind,
        other => panic!("{name}: {other:?}"),
    };
    assert_eq!(kind(root, &world.name("pipe")), FileKind::Fifo);
    assert_eq!(kind(root, &world.name("to_pipe")), FileKind::Fifo);
    assert_eq!(kind(root, &world.name("socket")), FileKind::Socket);
    assert_eq!(kind(root, &world.name("folder")), FileKind::Directory);
    let dev = Root::open(Path::new("/dev")).unwrap();
    assert_eq!(kind(&dev, "/dev/null"), FileKind::CharDevice);
    assert_eq!(kind(&dev, "/dev/zero"), FileKind::CharDevice);
}

#[test]
fn what_is_no_text_or_too_large_is_said() {
    let world = World::new();
    let root = &world.root;
    let read = |content: &[u8]| {
        world.write("f", content);
        root.snapshot(&root.locate(&[world.name("f")]).unwrap(), &RULES)
    };
    assert_eq!(read(b"").unwrap().text.total(), 0);
    assert_eq!(read(&[b'x'; 100]).unwrap().stat.len, 100);
    assert!(matches!(read(&[b'x'; 101]), Err(SnapshotError::TooLarge { len: 101, max: 100, .. })));
    assert!(matches!(read(b"a\0"), Err(SnapshotError::NotText { why: NotText::Nul(1), .. })));
    assert!(matches!(read(b"\xff"), Err(SnapshotError::NotText { why: NotText::Encoding(0), .. })));
    let huge = fs::File::create(world.at("huge")).unwrap();
    huge.set_len(1 << 40).unwrap();
    let rules = SnapshotRules { max_bytes: u64::MAX, hard_links: HardLinks::Allow };
    let error = root.snapshot(&root.locate(&[world.name("huge")]).unwrap(), &rules).unwrap_err();
    assert!(matches!(error, SnapshotError::TooLarge { max: readproof_disk::MOST_BYTES, .. }));
    let gone = root.locate(&[world.name("f")]).unwrap();
    fs::remove_file(world.at("f")).unwrap();
    assert!(matches!(root.snapshot(&gone, &RULES), Err(SnapshotError::Missing { name }) if name == "f"));
}

#[test]
fn a_file_of_many_names_is_one_file() {
    let world = World::new();
    let root = &world.root;
    world.write("a", "text");
    world.write("other", "text");
    fs::hard_link(world.at("a"), world.at("b")).unwrap();
    symlink("b", world.at("c")).unwrap();
    let file = root.locate(&[world.name("a")]).unwrap();
    let id = root.file_id(&file).unwrap();
    let keys = ["a", "b", "c", "other", "none", "../a", "/etc/passwd", "nul\0"].map(PathKey::new);
    assert_eq!(root.names_of(id, keys.into_iter()), ["a", "b", "c"].map(PathKey::new));

    assert!(matches!(root.snapshot(&file, &RULES), Err(SnapshotError::HardLinked { links: 2, .. })));
    let allow = SnapshotRules { hard_links: HardLinks::Allow, ..RULES };
    let snapshot = root.snapshot(&file, &allow).unwrap();
    assert_eq!((snapshot.stat.dev, snapshot.stat.ino, snapshot.stat.nlink), (id.dev, id.ino, 2));
}

#[test]
fn listings_are_sorted_and_capped() {
    let world = World::new();
    let root = &world.root;
    for n in 0..2100 {
        world.write(&format!("f{n:04}"), "");
    }
    let names = root.list_names(".");
    assert_eq!(names.len(), 2000);
    assert!(names.is_sorted());
    assert_eq!(root.list_names("none"), [""; 0]);
    assert_eq!(root.list_names("f0000"), [""; 0]);
}
