//! The durable write: links stay, permissions stay, nothing is left behind, nothing but a file is replaced.
#![allow(clippy::unwrap_used, reason = "tests and their helpers")]

mod world;

use std::{
    fs,
    os::unix::{
        fs::{MetadataExt, PermissionsExt, symlink},
        net::UnixListener,
    },
    thread,
};

use readproof_core::text::ContentHash;
use readproof_disk::{Expected, FileKind, HardLinks, ReplaceError};
use world::World;

fn replace(world: &World, name: &str, text: &str) -> Result<ContentHash, ReplaceError> {
    world.root.replace(&world.file(name), text, Expected::Anything, HardLinks::Refuse)
}

#[test]
fn a_file_is_made_and_replaced_whole() {
    let world = World::new();
    assert_eq!(replace(&world, "f", "one\n").unwrap(), ContentHash::of(b"one\n"));
    assert_eq!(world.read("f"), "one\n");
    let before = fs::metadata(world.at("f")).unwrap().ino();
    replace(&world, "f", "").unwrap();
    assert_eq!(world.read("f"), "");
    assert_ne!(fs::metadata(world.at("f")).unwrap().ino(), before);
    assert_eq!(world.names("."), ["f"]);
}

#[test]
fn missing_folders_are_made() {
    let world = World::new();
    fs::create_dir(world.at("a")).unwrap();
    fs::create_dir(world.at("real")).unwrap();
    symlink("../real", world.at("a/link")).unwrap();
    replace(&world, "a/b/c/f", "deep").unwrap();
    assert_eq!(world.read("a/b/c/f"), "deep");
    replace(&world, "a/link/new/f", "linked").unwrap();
    assert_eq!(world.read("real/new/f"), "linked");
    fs::write(world.at("file"), "").unwrap();
    assert!(matches!(replace(&world, "file/x", "x"), Err(ReplaceError::NoFolder { .. })));
    assert!(matches!(replace(&world, "file/x/y", "x"), Err(ReplaceError::NoFolder { .. })));
    assert_eq!(world.read("file"), "");
}

#[test]
fn a_link_stays_a_link() {
    let world = World::new();
    fs::create_dir(world.at("d")).unwrap();
    fs::write(world.at("d/target"), "old").unwrap();
    symlink("d/target", world.at("link")).unwrap();
    symlink("../link", world.at("d/second")).unwrap();
    symlink("d/not/yet", world.at("dangling")).unwrap();
    for (link, target) in [("link", "d/target"), ("d/second", "d/target"), ("dangling", "d/not/yet")] {
        replace(&world, link, link).unwrap();
        assert!(fs::symlink_metadata(world.at(link)).unwrap().is_symlink(), "{link}");
        assert!(fs::symlink_metadata(world.at(target)).unwrap().is_file(), "{target}");
        assert_eq!(world.read(target), link);
    }
    assert_eq!(world.names("."), ["d", "dangling", "link"]);
}

#[test]
fn permissions_and_owner_stay() {
    let world = World::new();
    for mode in [0o600, 0o640, 0o755, 0o666, 0o777] {
        fs::write(world.at("f"), "old").unwrap();
        fs::set_permissions(world.at("f"), fs::Permissions::from_mode(mode)).unwrap();
        replace(&world, "f", "new").unwrap();
        assert_eq!(fs::metadata(world.at("f")).unwrap().mode() & 0o7777, mode);
    }
    fs::set_permissions(world.at("f"), fs::Permissions::from_mode(0o6755)).unwrap();
    replace(&world, "f", "new").unwrap();
    assert_eq!(fs::metadata(world.at("f")).unwrap().mode() & 0o7777, 0o755);
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(world.at("f"), Some(123), Some(456)).unwrap();
        replace(&world, "f", "new").unwrap();
        let found = fs::metadata(world.at("f")).unwrap();
        assert_eq!((found.uid(), found.gid(), found.mode() & 0o777), (123, 456, 0o755));
    }
    // As any program would make it here.
    fs::write(world.at("usual"), "").unwrap();
    replace(&world, "new", "").unwrap();
    let mode = |name| fs::metadata(world.at(name)).unwrap().mode();
    assert_eq!(mode("new"), mode("usual"));
    fs::create_dir(world.at("usual_folder")).unwrap();
    replace(&world, "new_folder/f", "").unwrap();
    assert_eq!(mode("new_folder"), mode("usual_folder"));
}

#[test]
fn only_files_are_replaced() {
    let world = World::new();
    fs::create_dir(world.at("folder")).unwrap();
    symlink("folder", world.at("to_folder")).unwrap();
    symlink(".", world.at("to_root")).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, world.at("pipe"), rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    let _listener = UnixListener::bind(world.at("socket")).unwrap();
    for (name, expected) in [
        ("folder", FileKind::Directory),
        ("to_folder", FileKind::Directory),
        (".", FileKind::Directory),
        ("to_root", FileKind::Directory),
        ("pipe", FileKind::Fifo),
        ("socket", FileKind::Socket),
    ] {
        let error = replace(&world, name, "x").unwrap_err();
        assert!(matches!(error, ReplaceError::NotAFile { kind, .. } if kind == expected), "{name}: {error}");
    }
    assert_eq!(world.names("."), ["folder", "pipe", "socket", "to_folder", "to_root"]);
}

#[test]
fn hard_links_by_the_rule() {
    let world = World::new();
    fs::write(world.at("a"), "old").unwrap();
    fs::hard_link(world.at("a"), world.at("b")).unwrap();
    assert!(matches!(replace(&world, "a", "new"), Err(ReplaceError::HardLinked { .. })));
    assert_eq!(world.read("a"), "old");
    world.root.replace(&world.file("a"), "new", Expected::Anything, HardLinks::Allow).unwrap();
    assert_eq!((world.read("a"), world.read("b")), ("new".into(), "old".into()));
}

#[test]
fn no_store_is_written() {
    let world = World::new();
    drop(world.store());
    symlink(".readproof", world.at("side")).unwrap();
    for name in [".readproof/log/s.log", ".ReadProof/x", "sub/.readproof/format", "side/format", ".readproof"] {
        assert!(matches!(replace(&world, name, "x"), Err(ReplaceError::OwnStore { .. })), "{name}");
    }
    assert_eq!(world.read(".readproof/format"), "2\n");
}

#[test]
fn writers_at_once_leave_one_whole_text() {
    let world = World::new();
    let texts: Vec<String> = (0..8).map(|n: u8| n.to_string().repeat(100_000)).collect();
    thread::scope(|scope| {
        for text in &texts {
            scope.spawn(|| replace(&world, "new/f", text).unwrap());
        }
    });
    assert!(texts.contains(&world.read("new/f")));
    assert_eq!(world.names("new"), ["f"]);
}
