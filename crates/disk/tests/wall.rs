//! The wall: what the kernel still lets a thread open once it stands. Each case raises it in a thread of its own, because nobody
//! can take it down again. On a system without Landlock only that is checked, and the output says so.
#![allow(clippy::disallowed_methods, reason = "tests make and look at files")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, reason = "tests and their helpers")]

use readproof_disk::{NoWall, Root, Wall, Whose, can_raise_wall};
use std::{
    fs::{self, File, OpenOptions},
    io::ErrorKind,
    os::unix::fs::symlink,
    path::Path,
    process::Command,
    thread,
};

/// A workspace `ws` beside folders `out` and `kept`, each with a file.
fn world() -> tempfile::TempDir {
    let temp = tempfile::tempdir().unwrap();
    for folder in ["ws/sub", "out", "kept"] {
        fs::create_dir_all(temp.path().join(folder)).unwrap();
    }
    for file in ["ws/a.txt", "out/secret.txt", "kept/log.txt"] {
        fs::write(temp.path().join(file), file).unwrap();
    }
    symlink("../out/secret.txt", temp.path().join("ws/link")).unwrap();
    symlink("../out", temp.path().join("ws/folder")).unwrap();
    temp
}

/// Runs `work` behind the wall.
fn behind(top: &Path, wall: Wall, work: impl FnOnce(&Path) + Send) {
    let root = Root::open(&top.join("ws")).unwrap();
    let raised = thread::scope(|scope| {
        let walled = scope.spawn(|| {
            let raised = wall.raise(&root);
            if raised.is_ok() {
                work(top);
            }
            raised
        });
        walled.join().unwrap()
    });
    assert_eq!(raised, can_raise_wall());
    if raised == Err(NoWall::Unsupported) {
        // This kernel has no Landlock: only that is checked.
    }
}

#[track_caller]
fn denied<T>(done: std::io::Result<T>) {
    assert_eq!(done.err().map(|error| error.kind()), Some(ErrorKind::PermissionDenied));
}

#[test]
fn nothing_outside_is_opened_listed_or_changed() {
    let temp = world();
    behind(temp.path(), Wall::default(), |top| {
        let out = |name: &str| top.join("out").join(name);
        denied(fs::read(out("secret.txt")));
        denied(fs::read(top.join("ws/link")));
        denied(fs::read(top.join("ws/folder/secret.txt")));
        denied(fs::read(top.join("ws/../out/secret.txt")));
        denied(fs::read_dir(top.join("out")));
        denied(fs::read_dir(top.join("ws/folder")));
        denied(fs::read("/etc/passwd"));
        denied(File::create(out("new.txt")));
        denied(File::create(top.join("ws/folder/new.txt")));
        denied(OpenOptions::new().append(true).open(out("secret.txt")));
        denied(fs::create_dir(out("new")));
        denied(fs::remove_file(out("secret.txt")));
        denied(Command::new("/bin/true").status());
        // Within one file system the kernel says that the folders are on two of them.
        fs::rename(top.join("ws/a.txt"), out("a.txt")).unwrap_err();
        fs::rename(out("secret.txt"), top.join("ws/secret.txt")).unwrap_err();
        fs::hard_link(out("secret.txt"), top.join("ws/secret.txt")).unwrap_err();
        thread::scope(|scope| {
            scope.spawn(|| denied(fs::read(out("secret.txt"))));
        });
    });
    assert_eq!(fs::read_to_string(temp.path().join("out/secret.txt")).unwrap(), "out/secret.txt");
    fs::read("/etc/passwd").unwrap();
}

#[test]
fn inside_everything_works() {
    let temp = world();
    behind(temp.path(), Wall::default(), |top| {
        let at = |name: &str| top.join("ws").join(name);
        assert_eq!(fs::read_to_string(at("a.txt")).unwrap(), "ws/a.txt");
        fs::write(at("a.txt"), "shorter").unwrap();
        fs::create_dir(at("made")).unwrap();
        fs::rename(at("a.txt"), at("made/b.txt")).unwrap();
        fs::hard_link(at("made/b.txt"), at("sub/c.txt")).unwrap();
        fs::remove_file(at("made/b.txt")).unwrap();
        fs::remove_dir(at("made")).unwrap();
        assert_eq!(fs::read_dir(at("sub")).unwrap().count(), 1);
        OpenOptions::new().write(true).open("/dev/null").unwrap();
        File::open("/dev/urandom").unwrap();
    });
}

#[test]
fn what_is_named_can_be_read_and_not_changed() {
    let temp = world();
    let missing = temp.path().join("later.txt");
    let readable = vec![temp.path().join("kept"), missing.clone()];
    behind(temp.path(), Wall { readable, ..Wall::default() }, |top| {
        let kept = |name: &str| top.join("kept").join(name);
        assert_eq!(fs::read_to_string(kept("log.txt")).unwrap(), "kept/log.txt");
        assert_eq!(fs::read_dir(top.join("kept")).unwrap().count(), 1);
        denied(File::create(kept("log.txt")));
        denied(File::create(kept("new.txt")));
        denied(fs::read(top.join("out/secret.txt")));
    });
    let runnable = ["/bin", "/usr", "/lib", "/lib64", "/etc/ld.so.cache"].map(Into::into).to_vec();
    behind(temp.path(), Wall { runnable, ..Wall::default() }, |top| {
        assert!(Command::new("/bin/true").status().unwrap().success());
        let told = Command::new("/bin/cat").arg(top.join("out/secret.txt")).output().unwrap();
        assert!(told.stdout.is_empty() && !told.status.success(), "a program that is started stands behind it too");
    });
}

#[test]
fn the_id_is_there_before_the_wall() {
    let temp = world();
    let root = Root::open(&temp.path().join("ws")).unwrap();
    let folder = temp.path().join("state/readproof");
    assert_eq!(Whose::Kept(vec![folder.clone()]).settled(&root), std::slice::from_ref(&folder));
    assert!(folder.join("id").is_file());
    assert!(Whose::Anyones.settled(&root).is_empty());
}
