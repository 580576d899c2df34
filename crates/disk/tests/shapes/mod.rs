//! The hostile shapes of names, as one table that runs twice: with `openat2`, and without it.
#![allow(clippy::unwrap_used, reason = "a test helper")]
#![allow(unreachable_pub, reason = "used by two test files")]

use std::{fs, os::unix::fs::symlink, path::Path};

use readproof_core::path::{Bearings, candidates};
use readproof_disk::{
    Expected, HardLinks, LocateError, ReplaceError, Root, STANDARD_PATTERNS, Sensitive, SnapshotError, SnapshotRules,
};

const RULES: SnapshotRules = SnapshotRules { max_bytes: 1000, hard_links: HardLinks::Allow };

/// Everything that must hold however names are resolved.
pub fn check_all() {
    let temp = tempfile::tempdir().unwrap();
    let top = temp.path().canonicalize().unwrap();
    build(&top);
    let root = Root::open(&top.join("ws")).unwrap();
    every_shape(&root, &top);
    links_are_sensitive_by_their_target(&root);
    swapped_after_it_was_located(&root, &top);
    kernel_links();
    assert_eq!(fs::read_to_string(top.join("outside/secret.txt")).unwrap(), "secret");
    assert_eq!(fs::read_dir(top.join("outside")).unwrap().count(), 1);
}

fn build(top: &Path) {
    let ws = top.join("ws");
    fs::create_dir_all(ws.join("sub/deep")).unwrap();
    fs::create_dir(top.join("outside")).unwrap();
    fs::write(top.join("outside/secret.txt"), "secret").unwrap();
    fs::write(ws.join("in.txt"), "inside").unwrap();
    fs::write(ws.join("sub/deep/d.txt"), "deep").unwrap();
    fs::write(ws.join(".env"), "KEY=1").unwrap();
    for (name, target) in [
        ("link_in", "in.txt".into()),
        ("sub/link_up", "../in.txt".into()),
        ("link_dir", "sub/deep".into()),
        ("link_twice", "sub/link_up".into()),
        ("link_round", "sub/../link_dir/d.txt".into()),
        ("link_env", ".env".into()),
        ("abs_out", top.join("outside/secret.txt")),
        ("abs_in", ws.join("in.txt")),
        ("rel_out", "../outside/secret.txt".into()),
        ("dir_out", "../outside".into()),
        ("sub/far_out", "../../outside/secret.txt".into()),
        ("dangling", "nothing".into()),
        ("loop_a", "loop_b".into()),
        ("loop_b", "loop_a".into()),
        ("self", "self".into()),
    ] {
        symlink(target, ws.join(name)).unwrap();
    }
}

fn every_shape(root: &Root, top: &Path) {
    let bearings = Bearings { cwd: root.path().to_str().unwrap().into(), home: None };
    let outcome = |raw: &str| match root.locate(&candidates(raw, &bearings)) {
        Ok(file) => match root.snapshot(&file, &RULES) {
            Ok(snapshot) => format!("{} = {}", file.key(), snapshot.text.as_str()),
            Err(SnapshotError::NotAFile { kind, .. }) => format!("{} is {kind}", file.key()),
            Err(other) => other.to_string(),
        },
        Err(LocateError::Missing { .. }) => "missing".into(),
        Err(LocateError::Outside { .. }) => "outside".into(),
        Err(LocateError::LinkOut { name }) => format!("{name} leads out"),
        Err(LocateError::LinkLoop { name }) => format!("{name} loops"),
        Err(other) => other.to_string(),
    };
    let absolute = top.join("outside/secret.txt");
    for (raw, expected) in [
        // inside
        ("in.txt", "in.txt = inside"),
        ("./sub/deep/../deep/d.txt", "sub/deep/d.txt = deep"),
        (root.path().join("in.txt").to_str().unwrap(), "in.txt = inside"),
        // inside symlink
        ("link_in", "link_in = inside"),
        ("sub/link_up", "sub/link_up = inside"),
        ("link_dir/d.txt", "link_dir/d.txt = deep"),
        ("link_twice", "link_twice = inside"),
        ("link_round", "link_round = deep"),
        // symlinks out
        ("abs_out", "abs_out leads out"),
        ("abs_in", "abs_in leads out"),
        ("rel_out", "rel_out leads out"),
        ("sub/far_out", "sub/far_out leads out"),
        ("dir_out/secret.txt", "dir_out/secret.txt leads out"),
        ("dir_out", "dir_out leads out"),
        // dots
        ("../outside/secret.txt", "outside"),
        ("sub/../../outside/secret.txt", "outside"),
        ("..", "outside"),
        ("../ws/in.txt", "in.txt = inside"),
        ("../ws2/in.txt", "outside"),
        // absolute
        (absolute.to_str().unwrap(), "outside"),
        ("/", "outside"),
        // missing
        ("none", "missing"),
        ("none/none", "missing"),
        ("in.txt/x", "missing"),
        ("dangling", "missing"),
        // loop
        ("loop_a", "loop_a loops"),
        ("loop_a/x", "loop_a/x loops"),
        ("self", "self loops"),
        // folders
        (".", ". is a directory"),
        ("", ". is a directory"),
        ("link_dir", "link_dir is a directory"),
    ] {
        assert_eq!(outcome(raw), expected, "{raw}");
    }
}

fn links_are_sensitive_by_their_target(root: &Root) {
    let sensitive = Sensitive::new(STANDARD_PATTERNS).unwrap();
    let at = |name: &str| root.locate(&[format!("{}/{name}", root.path().display())]).unwrap();
    for (name, expected) in [(".env", true), ("link_env", true), ("in.txt", false), ("link_round", false)] {
        assert_eq!(sensitive.is_sensitive(root, &at(name)), expected, "{name}");
    }
    assert_eq!(root.real_name(&at("link_round")).unwrap().as_str(), "sub/deep/d.txt");
    assert_eq!(root.real_name(&at("link_twice")).unwrap().as_str(), "in.txt");
    assert_eq!(root.real_name(&at(".")).unwrap().as_str(), ".");
}

/// What was checked is not what is there any more: the opening itself must refuse.
fn swapped_after_it_was_located(root: &Root, top: &Path) {
    let ws = root.path();
    let at = |name: &str| root.locate_new(&[format!("{}/{name}", ws.display())]).unwrap();
    fs::create_dir(ws.join("swap")).unwrap();
    fs::write(ws.join("swap/secret.txt"), "harmless").unwrap();
    let in_folder = at("swap/secret.txt");
    let new = at("swap/new.txt");
    fs::remove_dir_all(ws.join("swap")).unwrap();
    symlink(top.join("outside"), ws.join("swap")).unwrap();
    assert!(matches!(root.snapshot(&in_folder, &RULES), Err(SnapshotError::LinkOut { .. })));
    for file in [&in_folder, &new] {
        assert!(matches!(
            root.replace(file, "x", Expected::Anything, HardLinks::Allow),
            Err(ReplaceError::LinkOut { .. })
        ));
    }

    fs::write(ws.join("plain"), "harmless").unwrap();
    let plain = at("plain");
    for target in ["../outside/secret.txt", "loop_a"] {
        fs::remove_file(ws.join("plain")).unwrap();
        symlink(target, ws.join("plain")).unwrap();
        assert!(root.snapshot(&plain, &RULES).is_err(), "{target}");
        assert!(root.replace(&plain, "x", Expected::Anything, HardLinks::Allow).is_err(), "{target}");
        assert_eq!(root.file_id(&plain), None);
        assert!(root.names_of(root.file_id(&at("in.txt")).unwrap(), [plain.key().clone()].into_iter()).is_empty());
    }
    assert_eq!(root.list_names("dir_out"), [""; 0]);
    assert_eq!(root.list_names("../outside"), [""; 0]);
    assert_eq!(root.list_names("sub"), ["deep", "far_out", "link_up"]);
}

/// Links of `/proc` lead where no path leads.
fn kernel_links() {
    let root = Root::open(Path::new("/proc/self")).unwrap();
    let ws = root.path().to_str().unwrap();
    for name in ["fd/0", "cwd", "root/etc", "exe"] {
        let error = root.locate(&[format!("{ws}/{name}")]).unwrap_err();
        let refused =
            matches!(error, LocateError::LinkLoop { .. } | LocateError::LinkOut { .. } | LocateError::Missing { .. });
        assert!(refused, "{name}: {error}");
    }
}
