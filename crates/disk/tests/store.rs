//! The store and its objects: made private, refused when forged, safe under races, honest about damage.
#![allow(clippy::unwrap_used, reason = "tests and their helpers")]

mod world;

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    path::{Path, PathBuf},
    thread,
};

use readproof_core::text::{ContentHash, Text};
use readproof_disk::{Create, Loaded, LocalStore, LogError, Put, Store, StoreError, Usage};
use rustix::fs::{CWD, FileType};
use world::{World, open_log, session, text};

/// What both ways of opening say.
fn refusal(world: &World) -> StoreError {
    let made = LocalStore::open(&world.root).unwrap_err();
    let existing = LocalStore::open_existing(&world.root).unwrap_err();
    assert_eq!(made.to_string(), existing.to_string());
    made
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn object(world: &World, text: &Text) -> PathBuf {
    world.at(&format!(".readproof/objects/sha256-{}.txt", text.hash()))
}

#[test]
fn a_store_is_private_and_ignores_itself() {
    let world = World::new();
    assert!(LocalStore::open_existing(&world.root).unwrap().is_none());
    assert!(!world.at(".readproof").exists());
    let store = world.store();
    let stored = text("a\n");
    assert_eq!(store.objects().put(&stored).unwrap(), Put::Stored);
    open_log(&store);
    for folder in ["", "/objects", "/tmp", "/log"] {
        assert_eq!(mode(&world.at(&format!(".readproof{folder}"))), 0o700, "{folder}");
    }
    for file in [".readproof/.gitignore", ".readproof/format", ".readproof/log/s.log"] {
        assert_eq!(mode(&world.at(file)), 0o600, "{file}");
    }
    assert_eq!(mode(&object(&world, &stored)), 0o600);
    assert_eq!(fs::read_to_string(world.at(".readproof/.gitignore")).unwrap(), "*\n");
    assert_eq!(fs::read_to_string(world.at(".readproof/format")).unwrap(), "2\n");
    assert_eq!(store.usage(), Usage { objects: 1, object_bytes: 2, logs: 1, log_bytes: 0 });

    let again = LocalStore::open_existing(&world.root).unwrap().unwrap();
    assert_eq!(again.objects().load(stored.hash()), Loaded::Text(stored));
}

#[test]
fn a_store_is_made_once_by_many() {
    let world = World::new();
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let store = LocalStore::open(&world.root).unwrap();
                store.objects().put(&text("x")).unwrap();
            });
        }
    });
    assert_eq!(world.temps(), 0);
    assert_eq!(world.store().usage().objects, 1);
}

#[test]
fn what_is_missing_is_made_again() {
    let world = World::new();
    drop(world.store());
    fs::remove_dir(world.at(".readproof/objects")).unwrap();
    fs::remove_file(world.at(".readproof/.gitignore")).unwrap();
    assert!(matches!(
        LocalStore::open_existing(&world.root),
        Err(StoreError::Damaged { name, .. }) if name == ".readproof/objects"
    ));
    assert!(!world.at(".readproof/objects").exists());
    drop(world.store());
    assert!(world.at(".readproof/objects").is_dir());
    assert!(world.at(".readproof/.gitignore").is_file());

    // Killed while it was made: the format comes last.
    fs::remove_file(world.at(".readproof/format")).unwrap();
    assert!(LocalStore::open_existing(&world.root).unwrap().is_none());
    drop(world.store());
    assert!(LocalStore::open_existing(&world.root).unwrap().is_some());
}

#[test]
fn a_store_that_others_can_use_is_refused() {
    for (name, open, private) in [
        (".readproof", 0o755, 0o700),
        (".readproof", 0o770, 0o700),
        (".readproof", 0o701, 0o700),
        (".readproof/format", 0o644, 0o600),
        (".readproof/format", 0o620, 0o600),
        (".readproof/objects", 0o777, 0o700),
        (".readproof/log", 0o750, 0o700),
        (".readproof/tmp", 0o707, 0o700),
    ] {
        let world = World::new();
        drop(world.store());
        chmod(&world.at(name), open);
        let error = refusal(&world);
        assert!(matches!(&error, StoreError::NotPrivate { name: n, mode } if n == name && *mode == open), "{error}");
        chmod(&world.at(name), private);
        drop(world.store());
    }
    let world = World::new();
    fs::create_dir(world.at(".readproof")).unwrap();
    chmod(&world.at(".readproof"), 0o755);
    let error = LocalStore::open(&world.root).unwrap_err();
    assert!(matches!(&error, StoreError::NotPrivate { name, mode: 0o755 } if name == ".readproof"), "{error}");
    assert_eq!(fs::read_dir(world.at(".readproof")).unwrap().count(), 0, "a refused store is left alone");
}

#[test]
fn a_store_of_another_user_is_refused() {
    // Only root can give a file away; anyone else cannot be put into this situation by a test.
    if !rustix::process::geteuid().is_root() {
        return;
    }
    for name in [".readproof", ".readproof/format", ".readproof/log"] {
        let world = World::new();
        drop(world.store());
        std::os::unix::fs::chown(world.at(name), Some(12345), None).unwrap();
        let error = refusal(&world);
        assert!(matches!(&error, StoreError::NotOurs { name: n, uid: 12345 } if n == name), "{error}");
    }
    let world = World::new();
    let store = world.store();
    open_log(&store);
    std::os::unix::fs::chown(world.at(".readproof/log/s.log"), Some(12345), None).unwrap();
    assert!(matches!(store.logs().open(&session(), Create::No), Err(LogError::NotOurs { uid: 12345, .. })));
}

#[test]
fn a_link_is_no_store() {
    let elsewhere = World::new();
    drop(elsewhere.store());
    for part in ["", "/objects", "/tmp", "/log"] {
        for target in [elsewhere.at(&format!(".readproof{part}")), "inside".into()] {
            let world = World::new();
            drop(world.store());
            let name = format!(".readproof{part}");
            fs::rename(world.at(&name), world.at("inside")).unwrap();
            symlink(&target, world.at(&name)).unwrap();
            let error = refusal(&world);
            assert!(matches!(&error, StoreError::LinkOut { name: n } if *n == name), "{error}");
        }
    }
    let world = World::new();
    drop(world.store());
    fs::rename(world.at(".readproof/format"), world.at("format")).unwrap();
    symlink("../format", world.at(".readproof/format")).unwrap();
    assert!(matches!(refusal(&world), StoreError::LinkOut { .. }));
}

#[test]
fn a_file_is_no_store() {
    let world = World::new();
    fs::write(world.at(".readproof"), "").unwrap();
    assert!(matches!(refusal(&world), StoreError::NotAFolder { name } if name == ".readproof"));
}

#[test]
fn formats_are_read_strictly() {
    let world = World::new();
    drop(world.store());
    let with = |content: &[u8]| {
        fs::write(world.at(".readproof/format"), content).unwrap();
        refusal(&world)
    };
    assert!(matches!(with(b"3\n"), StoreError::Newer { found: 3, known: 2 }));
    assert!(matches!(with(b"4294967295\n"), StoreError::Newer { found: u32::MAX, known: 2 }));
    for garbage in
        [&b""[..], b"2", b"0\n", b"-1\n", b" 2\n", b"x\n", b"2\n2\n", b"4294967296\n", b"\xff\n", &[b'1'; 99]]
    {
        assert!(matches!(with(garbage), StoreError::Damaged { .. }), "{garbage:?}");
    }
    fs::remove_file(world.at(".readproof/format")).unwrap();
    fs::create_dir(world.at(".readproof/format")).unwrap();
    assert!(matches!(refusal(&world), StoreError::Damaged { why: "it is not a file", .. }));
}

#[test]
fn a_store_removed_under_us_is_said_to_be_gone() {
    let world = World::new();
    let store = world.store();
    let (one, two) = (text("one"), text("two"));
    store.objects().put(&one).unwrap();
    fs::remove_dir_all(world.at(".readproof")).unwrap();
    assert!(matches!(store.objects().put(&two), Err(StoreError::Gone { .. })));
    assert!(matches!(store.objects().put_synced(&one), Err(StoreError::Gone { .. })));
    assert_eq!(store.objects().load(one.hash()), Loaded::Missing);
    assert_eq!(store.usage(), Usage::default());
    fs::write(world.at(".readproof"), "").unwrap();
    assert!(matches!(store.objects().put(&two), Err(StoreError::Gone { .. })));
}

#[test]
fn texts_come_back_as_they_were() {
    let world = World::new();
    let store = world.store();
    let objects = store.objects();
    let mut hashes = Vec::new();
    for content in ["", "a", "a\r\nb\n", "\u{feff}é\n", &"x".repeat(1 << 20)] {
        let text = text(content);
        assert_eq!(objects.load(text.hash()), Loaded::Missing);
        assert_eq!(objects.put(&text).unwrap(), Put::Stored);
        assert_eq!(objects.put(&text).unwrap(), Put::Present);
        assert_eq!(objects.put_synced(&text).unwrap(), Put::Present);
        assert_eq!(objects.load(text.hash()), Loaded::Text(text.clone()));
        hashes.push((text.hash(), content.len() as u64));
    }
    assert_eq!(objects.put_synced(&text("synced")).unwrap(), Put::Stored);
    hashes.push((ContentHash::of(b"synced"), 6));
    hashes.sort_unstable();
    fs::write(world.at(".readproof/objects/notes.txt"), "not an object").unwrap();
    let stored: Vec<_> = store.objects().stored().iter().map(|stored| (stored.hash, stored.bytes)).collect();
    assert_eq!(stored, hashes);
    assert_eq!(store.usage().objects, 6);
    assert_eq!(world.temps(), 0);
}

/// Several are stored together, whatever is there of them.
#[test]
fn texts_are_stored_together() {
    let world = World::new();
    let store = world.store();
    let texts = ["present", "altered", "new", "new", "torn", ""].map(text);
    let refs: Vec<_> = texts.iter().collect();
    store.objects().put(&texts[0]).unwrap();
    fs::write(object(&world, &texts[1]), "ALTERED").unwrap();
    fs::write(object(&world, &texts[4]), "to").unwrap();
    let put = store.objects().put_all_synced(&refs).unwrap();
    assert_eq!(put, [Put::Present, Put::Stored, Put::Stored, Put::Present, Put::Stored, Put::Stored]);
    assert!(texts.iter().all(|text| store.objects().load(text.hash()) == Loaded::Text(text.clone())));
    assert!(store.objects().put_all_synced(&refs).unwrap().iter().all(|put| *put == Put::Present));
    assert_eq!(store.objects().put_all_synced(&[]).unwrap(), []);
    assert_eq!((world.temps(), store.usage().objects), (0, 5));
}

#[test]
fn many_store_the_same_text_at_once() {
    let world = World::new();
    let same = text(&"same\n".repeat(50_000));
    let stored = thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|n| {
                let (world, same) = (&world, &same);
                // Some share a store, some have their own, as processes do.
                scope.spawn(move || {
                    let store = world.store();
                    let put = store.objects().put(same).unwrap();
                    assert_eq!(store.objects().load(same.hash()), Loaded::Text(same.clone()));
                    assert_eq!(store.objects().put(&text(&n.to_string())).unwrap(), Put::Stored);
                    put
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).filter(|put| *put == Put::Stored).count()
    });
    assert_eq!(stored, 1);
    assert_eq!(world.store().usage().objects, 9);
    assert_eq!(world.temps(), 0);
}

#[test]
fn a_torn_object_is_replaced() {
    let world = World::new();
    let store = world.store();
    let whole = text("whole text\n");
    for torn in ["", "whole", "whole text\nand more"] {
        fs::write(object(&world, &whole), torn).unwrap();
        assert_eq!(store.objects().load(whole.hash()), Loaded::Damaged, "{torn}");
        assert_eq!(store.objects().put(&whole).unwrap(), Put::Stored, "{torn}");
        assert_eq!(store.objects().load(whole.hash()), Loaded::Text(whole.clone()));
    }
}

#[test]
fn an_altered_object_is_damaged() {
    let world = World::new();
    let store = world.store();
    let whole = text("whole text\n");
    for altered in [&b"whole texT\n"[..], b"whole tex\xff\n", b"whole tex\0\n"] {
        store.objects().put_synced(&whole).unwrap();
        fs::write(object(&world, &whole), altered).unwrap();
        assert_eq!(store.objects().load(whole.hash()), Loaded::Damaged);
        // Of the right length, so only the durable way, which reads it, repairs it.
        assert_eq!(store.objects().put(&whole).unwrap(), Put::Present);
        assert_eq!(store.objects().load(whole.hash()), Loaded::Damaged);
        assert_eq!(store.objects().put_synced(&whole).unwrap(), Put::Stored);
        assert_eq!(store.objects().load(whole.hash()), Loaded::Text(whole.clone()));
    }
}

#[test]
fn nothing_else_passes_for_an_object() {
    let world = World::new();
    let store = world.store();
    let whole = text("whole text\n");
    let place = object(&world, &whole);
    fs::write(world.at("elsewhere"), "whole text\n").unwrap();

    symlink(world.at("elsewhere"), &place).unwrap();
    assert_eq!(store.objects().load(whole.hash()), Loaded::Damaged);
    assert_eq!(store.objects().put(&whole).unwrap(), Put::Stored);
    assert!(fs::symlink_metadata(&place).unwrap().is_file());
    assert_eq!(fs::read_to_string(world.at("elsewhere")).unwrap(), "whole text\n");

    fs::remove_file(&place).unwrap();
    for kind in [FileType::Fifo, FileType::Socket] {
        rustix::fs::mknodat(CWD, &place, kind, 0o600.into(), 0).unwrap();
        assert_eq!(store.objects().load(whole.hash()), Loaded::Damaged, "{kind:?}");
        fs::remove_file(&place).unwrap();
    }

    fs::create_dir(&place).unwrap();
    assert_eq!(store.objects().load(whole.hash()), Loaded::Damaged);
    assert!(matches!(store.objects().put(&whole), Err(StoreError::Io { .. })));
    assert_eq!(world.temps(), 0);
    fs::remove_dir(&place).unwrap();

    fs::File::create(&place).unwrap().set_len((1 << 30) + 1).unwrap();
    assert_eq!(store.objects().load(whole.hash()), Loaded::Damaged);
    assert_eq!(store.objects().put(&whole).unwrap(), Put::Stored);
}
