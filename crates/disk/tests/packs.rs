//! Small texts that share a file: found by everyone, safe under races, honest about damage, mended by removing.
#![allow(clippy::unwrap_used, reason = "tests and their helpers")]

mod seccomp;
mod world;

use std::{
    collections::BTreeSet,
    fs,
    io::Write,
    os::unix::fs::{PermissionsExt, symlink},
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use readproof_core::text::{ContentHash, Text};
use readproof_disk::{Loaded, LocalStore, Put, Removal, SmallTexts, Store, StoreError};
use rustix::{
    fs::{CWD, FileType, Mode},
    io::Errno,
};
use seccomp::{every, reads_over, with_failing, with_idle};
use world::{World, text};

const OBJECTS: &str = ".readproof/objects";

fn open(world: &World) -> LocalStore {
    world.store().with_small_texts(SmallTexts::Together)
}

fn at(world: &World, name: &str) -> PathBuf {
    world.at(OBJECTS).join(name)
}

fn pack_of(text: &Text) -> String {
    format!("small-{}", &text.hash().to_string()[..1])
}

fn object_of(text: &Text) -> String {
    format!("sha256-{}.txt", text.hash())
}

/// A text like this that goes into that pack.
fn of_pack(pack: &str, content: &str) -> Text {
    (0..).map(|n| text(&format!("{n} {content}"))).find(|text| pack_of(text) == pack).unwrap()
}

/// Texts that all go into one pack.
fn of_one_pack(count: usize) -> Vec<Text> {
    let first = pack_of(&text("text 0\n"));
    (0..).map(|n| text(&format!("text {n}\n"))).filter(|text| pack_of(text) == first).take(count).collect()
}

fn put_all(store: &LocalStore, texts: &[Text]) {
    for text in texts {
        assert_eq!(store.objects().put(text).unwrap(), Put::Stored);
    }
}

/// Removes, or only mends, without a failure.
#[track_caller]
fn removed(store: &LocalStore, texts: &[&Text]) -> BTreeSet<ContentHash> {
    let Removal { removed, failed } = store.objects().remove(&texts.iter().map(|text| text.hash()).collect());
    assert!(failed.is_empty(), "{failed:?}");
    removed
}

fn found(store: &LocalStore, text: &Text) -> bool {
    store.objects().load(text.hash()) == Loaded::Text(text.clone())
}

#[test]
fn small_texts_share_files_and_come_back_as_they_were() {
    let world = World::new();
    let (store, other) = (open(&world), open(&world));
    let contents = ["", "a", "a\r\nb\n", "\u{feff}é", "sha256-\n\n", &"x".repeat(1 << 20), &"x".repeat((1 << 20) + 1)];
    for content in contents {
        let text = text(content);
        assert_eq!(store.objects().load(text.hash()), Loaded::Missing);
        assert_eq!(store.objects().put(&text).unwrap(), Put::Stored);
        assert_eq!(store.objects().put(&text).unwrap(), Put::Present);
        assert_eq!(other.objects().put(&text).unwrap(), Put::Present, "another process knows");
        assert!(found(&store, &text) && found(&other, &text));
        assert_eq!(store.objects().put_synced(&text).unwrap() == Put::Present, content.len() > 1 << 20);
    }
    let apart = world.store();
    for content in contents {
        assert!(found(&apart, &text(content)), "one that stores texts apart finds them");
    }
    let bytes = contents.iter().map(|content| content.len() as u64).sum();
    assert_eq!((apart.usage().objects, apart.usage().object_bytes), (7, bytes), "each counts once");
    assert!(apart.objects().stored().iter().all(|stored| stored.modified > 1_700_000_000_000));
    assert_eq!(fs::metadata(at(&world, &pack_of(&text("a")))).unwrap().permissions().mode() & 0o7777, 0o600);
}

#[test]
fn many_append_at_once_and_nothing_is_lost() {
    let world = World::new();
    drop(open(&world));
    thread::scope(|scope| {
        for worker in 0..8 {
            let world = &world;
            scope.spawn(move || {
                let store = open(world);
                for n in 0..200 {
                    let own = text(&format!("{worker} {n}\n").repeat(n));
                    store.objects().put(&own).unwrap();
                    store.objects().put(&text(&format!("same {n}"))).unwrap();
                    assert!(found(&store, &own));
                }
            });
        }
    });
    let store = open(&world);
    for n in 0..200 {
        assert!((0..8).all(|worker| found(&store, &text(&format!("{worker} {n}\n").repeat(n)))));
        assert!(found(&store, &text(&format!("same {n}"))));
    }
    assert_eq!(store.objects().damaged(), [""; 0]);
}

#[test]
fn an_altered_text_is_damaged_and_an_altered_header_ends_the_pack() {
    let world = World::new();
    let texts = of_one_pack(3);
    put_all(&open(&world), &texts);
    let path = at(&world, &pack_of(&texts[0]));
    let whole = fs::read(&path).unwrap();
    let mut ends = Vec::new();
    for text in &texts {
        let header = 7 + 64 + " 7 1234567890\n".len();
        assert!(text.as_str().len() < 10);
        ends.push(ends.last().unwrap_or(&0) + header + text.as_str().len() + 1);
    }
    assert_eq!(ends.last(), Some(&whole.len()));
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        fs::write(&path, &bytes).unwrap();
        let store = open(&world);
        for (n, text) in texts.iter().enumerate() {
            let loaded = store.objects().load(text.hash());
            assert!(matches!(&loaded, Loaded::Missing | Loaded::Damaged) || loaded == Loaded::Text(text.clone()));
            // Texts before the change are found; those after it may not be.
            assert!(found(&store, text) || at < ends[n], "{at}: {n}");
        }
    }
}

#[test]
fn nothing_is_appended_behind_a_torn_record() {
    let world = World::new();
    let texts = of_one_pack(4);
    put_all(&open(&world), &texts[..2]);
    let path = at(&world, &pack_of(&texts[0]));
    let whole = fs::read(&path).unwrap();
    let first = whole.len() / 2;
    for cut in first..=whole.len() {
        fs::write(&path, &whole[..cut]).unwrap();
        let store = open(&world);
        assert!(found(&store, &texts[0]));
        let is_torn = cut != first && cut != whole.len();
        assert_eq!(store.objects().damaged().len(), usize::from(is_torn), "{cut}");
        assert_eq!(found(&store, &texts[1]), cut == whole.len(), "{cut}");
        store.objects().put(&texts[2]).unwrap();
        assert!(found(&store, &texts[2]));
        if is_torn {
            assert_eq!(fs::read(&path).unwrap(), whole[..cut], "{cut}");
            assert!(world.names(OBJECTS).contains(&object_of(&texts[2])));
            fs::remove_file(at(&world, &object_of(&texts[2]))).unwrap();
        }
    }
    // Removing mends: what is good stays, and the pack grows again.
    fs::write(&path, &whole[..whole.len() - 1]).unwrap();
    let (store, running) = (open(&world), open(&world));
    assert!(found(&running, &texts[0]));
    assert_eq!(store.objects().remove(&BTreeSet::new()).removed.len(), 0);
    assert_eq!(store.objects().damaged().len(), 0);
    assert!(found(&store, &texts[0]) && !found(&store, &texts[1]));
    assert_eq!(running.objects().put(&texts[3]).unwrap(), Put::Stored);
    assert_eq!(running.objects().put(&texts[0]).unwrap(), Put::Present);
    assert!(found(&store, &texts[3]) && !world.names(OBJECTS).contains(&object_of(&texts[3])));
}

#[test]
fn what_is_no_pack_of_ours_is_left_alone() {
    let one = text("one");
    let world = World::new();
    drop(open(&world));
    let (pack, victim) = (at(&world, &pack_of(&one)), world.at("victim"));
    let check = |what: &str| {
        let store = open(&world);
        assert_eq!(store.objects().put(&one).unwrap(), Put::Stored, "{what}");
        assert!(found(&store, &one), "{what}");
        assert_eq!(store.objects().stored().len(), 1, "{what}");
        assert_eq!(fs::read(&victim).unwrap(), b"mine", "{what}");
        fs::remove_file(at(&world, &object_of(&one))).unwrap();
        fs::remove_dir(&pack).or_else(|_| fs::remove_file(&pack)).unwrap();
    };
    fs::write(&victim, "mine").unwrap();
    symlink(&victim, &pack).unwrap();
    check("a link");
    fs::hard_link(&victim, &pack).unwrap();
    check("another name of a file");
    rustix::fs::mknodat(CWD, &pack, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    check("a pipe");
    fs::create_dir(&pack).unwrap();
    check("a folder");
    fs::write(&pack, "").unwrap();
    fs::set_permissions(&pack, fs::Permissions::from_mode(0o620)).unwrap();
    check("a file that others can write");
    fs::write(&pack, "something else").unwrap();
    fs::set_permissions(&pack, fs::Permissions::from_mode(0o600)).unwrap();
    check("a file of another kind");
}

#[test]
fn texts_are_removed_beside_others_that_store() {
    let world = World::new();
    let old: Vec<Text> = (0..300).map(|n| text(&format!("old {n}"))).collect();
    let kept: Vec<Text> = (0..50).map(|n| text(&format!("kept {n}"))).collect();
    let store = open(&world);
    put_all(&store, &old);
    put_all(&store, &kept);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..3)
            .map(|worker| {
                let world = &world;
                scope.spawn(move || {
                    let store = open(world);
                    for n in 0..400 {
                        store.objects().put(&text(&format!("new {worker} {n}"))).unwrap();
                    }
                })
            })
            .collect();
        // Two who remove, in pieces.
        for half in 0..2 {
            let (world, old, done) = (&world, &old, &done);
            scope.spawn(move || {
                let store = open(world);
                let hashes: Vec<ContentHash> = old.iter().skip(half).step_by(2).map(Text::hash).collect();
                for some in hashes.chunks(10).cycle() {
                    let Removal { failed, .. } = store.objects().remove(&some.iter().copied().collect());
                    assert!(failed.is_empty(), "{failed:?}");
                    if done.load(Ordering::Relaxed) {
                        break;
                    }
                }
                let Removal { failed, .. } = store.objects().remove(&hashes.into_iter().collect());
                assert!(failed.is_empty(), "{failed:?}");
            });
        }
        for worker in workers {
            worker.join().unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
    let store = open(&world);
    assert!(old.iter().all(|text| !found(&store, text)));
    assert!(kept.iter().all(|text| found(&store, text)));
    for worker in 0..3 {
        assert!((0..400).all(|n| found(&store, &text(&format!("new {worker} {n}")))));
    }
    assert_eq!(store.usage().objects, 50 + 1200);
    assert_eq!(world.temps(), 0);
}

#[test]
fn a_pack_emptied_underneath_is_begun_anew() {
    let world = World::new();
    let store = open(&world);
    let texts = of_one_pack(3);
    put_all(&store, &texts);
    fs::write(at(&world, &pack_of(&texts[0])), "").unwrap();
    assert!(texts.iter().all(|text| !found(&store, text)));
    put_all(&store, &texts[..1]);
    fs::write(at(&world, &pack_of(&texts[0])), "").unwrap();
    assert_eq!(store.objects().put(&texts[0]).unwrap(), Put::Stored, "what is gone is not called present");
    put_all(&store, &texts[1..]);
    assert!(texts.iter().all(|text| found(&store, text)));
    fs::write(at(&world, &pack_of(&texts[0])), "").unwrap();
    let other = text(&format!("{} and more", texts[0].as_str()));
    store.objects().put(&other).unwrap();
    assert!(found(&store, &other) && !world.names(OBJECTS).contains(&object_of(&other)));
}

#[test]
fn nothing_is_appended_behind_an_own_torn_record() {
    let world = World::new();
    let store = open(&world);
    let texts = of_one_pack(3);
    put_all(&store, &texts[..1]);
    let path = at(&world, &pack_of(&texts[0]));
    // A write that the disk had room for in part.
    assert_eq!(with_idle(vec![every(seccomp::WRITEV)], || store.objects().put(&texts[1])).unwrap(), Put::Stored);
    let header = format!("sha256-{} {} 5\nte", texts[1].hash(), texts[1].as_str().len());
    fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(header.as_bytes()).unwrap();
    let torn = fs::read(&path).unwrap();
    put_all(&store, &texts[2..]);
    assert_eq!(fs::read(&path).unwrap(), torn);
    assert!(texts.iter().all(|text| found(&store, text)));
    assert!(world.names(OBJECTS).contains(&object_of(&texts[2])));
}

#[test]
fn a_text_that_cannot_be_loaded_is_not_called_present() {
    // What follows a torn record may look like the rest of it, or even end where it would end.
    for filling in ["y", "\n"] {
        let world = World::new();
        let store = open(&world);
        let [first, torn, next] = [10, 500, 2000].map(|n| of_pack("small-3", &filling.repeat(n)));
        put_all(&store, &[first]);
        let mut pack = fs::OpenOptions::new().append(true).open(at(&world, "small-3")).unwrap();
        pack.write_all(format!("sha256-{} {} 5\nhalf", torn.hash(), torn.as_str().len()).as_bytes()).unwrap();
        for text in [next, torn] {
            assert_eq!(store.objects().put(&text).unwrap(), Put::Stored);
            assert!(found(&store, &text));
            assert_eq!(store.objects().put(&text).unwrap(), Put::Present);
        }
    }
}

#[test]
fn an_altered_text_is_stored_again() {
    let world = World::new();
    let texts = of_one_pack(3);
    put_all(&open(&world), &texts);
    let path = at(&world, &pack_of(&texts[0]));
    let bytes = fs::read(&path).unwrap();
    let altered = String::from_utf8(bytes).unwrap().replace(texts[1].as_str(), &texts[1].as_str().to_uppercase());
    fs::write(&path, altered).unwrap();
    let store = open(&world);
    assert_eq!(store.objects().load(texts[1].hash()), Loaded::Damaged);
    for expected in [Put::Stored, Put::Present] {
        assert_eq!(store.objects().put(&texts[1]).unwrap(), expected);
        assert!(texts.iter().all(|text| found(&store, text)));
    }
    let other = open(&world);
    assert_eq!(other.objects().put(&texts[1]).unwrap(), Put::Present);
    assert!(texts.iter().all(|text| found(&other, text)), "the later of two records counts");
}

#[test]
fn a_damaged_file_is_made_anew_though_a_pack_has_its_text() {
    let world = World::new();
    let store = open(&world);
    let one = text("hello there\n");
    put_all(&store, std::slice::from_ref(&one));
    fs::write(at(&world, &object_of(&one)), "HELLO there\n").unwrap();
    assert_eq!(store.objects().put_synced(&one).unwrap(), Put::Stored);
    assert_eq!(fs::read_to_string(at(&world, &object_of(&one))).unwrap(), one.as_str());
    assert_eq!(store.objects().put_synced(&one).unwrap(), Put::Present);
}

#[test]
fn a_pack_is_synced_before_it_takes_the_place_of_a_good_one() {
    let world = World::new();
    let texts = of_one_pack(2);
    let store = open(&world);
    put_all(&store, &texts);
    let gone = [texts[0].hash()].into();
    let Removal { removed: went, failed } =
        with_failing(vec![every(seccomp::FSYNC)], Errno::IO, || store.objects().remove(&gone));
    assert!(went.is_empty() && failed.len() == 1, "{went:?} {failed:?}");
    assert!(texts.iter().all(|text| found(&store, text)));
    assert_eq!(removed(&store, &[&texts[0]]), gone);
}

#[test]
fn what_can_only_not_be_read_just_now_stays() {
    let world = World::new();
    let store = open(&world);
    let (gone, kept) = (of_pack("small-7", "x"), of_pack("small-7", &"x".repeat(100_000)));
    put_all(&store, &[gone.clone(), kept.clone()]);
    let remove = || store.objects().remove(&[gone.hash()].into());
    let Removal { removed: went, failed } = with_failing(vec![reads_over(80_000)], Errno::IO, remove);
    assert!(went.is_empty(), "{went:?}");
    assert!(matches!(&failed[..], [StoreError::Io { name, .. }] if name.ends_with("small-7")), "{failed:?}");
    assert!(found(&store, &kept) && found(&store, &gone));
    assert_eq!(removed(&store, &[&gone]).len(), 1);
    assert!(found(&store, &kept) && !found(&store, &gone));
}

#[test]
fn one_pack_that_cannot_be_used_keeps_only_its_own_texts() {
    let world = World::new();
    let store = open(&world);
    let texts = ["small-0", "small-5", "small-f"].map(|pack| of_pack(pack, ""));
    put_all(&store, &texts);
    fs::hard_link(at(&world, "small-5"), world.at("backup")).unwrap();
    let Removal { removed: gone, failed } = open(&world).objects().remove(&texts.iter().map(Text::hash).collect());
    assert_eq!(gone, [texts[0].hash(), texts[2].hash()].into());
    assert!(matches!(&failed[..], [StoreError::Denied { name }] if name.ends_with("small-5")), "{failed:?}");
    fs::remove_file(world.at("backup")).unwrap();
    assert_eq!(texts.map(|text| found(&open(&world), &text)), [false, true, false]);
}

#[test]
fn a_full_disk_keeps_only_what_would_have_to_be_copied() {
    let world = World::new();
    let store = open(&world);
    let [lone, apart] = ["small-f", "small-2"].map(|pack| of_pack(pack, ""));
    let [gone, kept, both] = ["gone", "kept", "both"].map(|content| of_pack("small-5", content));
    put_all(&store, &[lone.clone(), gone.clone(), kept.clone(), both.clone()]);
    for text in [&apart, &both] {
        assert_eq!(store.objects().put_synced(text).unwrap(), Put::Stored);
    }
    let hashes = [&lone, &apart, &gone, &both].map(Text::hash).into();
    let full = vec![every(seccomp::WRITEV)];
    let Removal { removed: went, failed } = with_failing(full, Errno::NOSPC, || store.objects().remove(&hashes));
    assert_eq!(went, [lone.hash(), apart.hash()].into());
    assert!(matches!(&failed[..], [StoreError::Full { name }] if name.ends_with("small-5")), "{failed:?}");
    assert!(!world.names(OBJECTS).contains(&object_of(&both)), "single files go first: they need no room");
    assert!(found(&store, &gone) && found(&store, &kept) && found(&store, &both));
    assert_eq!(removed(&store, &[&gone, &both]), [gone.hash(), both.hash()].into());
    assert!(found(&store, &kept));
}

#[test]
fn a_bad_byte_costs_no_other_text_when_the_pack_is_made_anew() {
    let world = World::new();
    let first = of_pack("small-4", "first\n");
    // A text that speaks of records, one of them of a good text: nothing is believed.
    let forged = format!("sha256-{} 3 5\nabc\nsha256-{} 9 5\n", first.hash(), text("none").hash());
    let texts = [first, of_pack("small-4", &format!("\n{forged}")), of_pack("small-4", "third\n")];
    put_all(&open(&world), &texts);
    let path = at(&world, "small-4");
    let whole = fs::read(&path).unwrap();
    let mut ends = Vec::new();
    for text in &texts {
        let bytes = text.as_str().len();
        let header = format!("sha256-{} {bytes} 1234567890\n", text.hash()).len();
        ends.push(ends.last().unwrap_or(&0) + header + bytes + 1);
    }
    assert_eq!(ends.last(), Some(&whole.len()));
    for at in 0..whole.len() {
        for flip in [1, whole[at] ^ b'\n', whole[at] ^ b'9'] {
            let mut bytes = whole.clone();
            bytes[at] ^= flip;
            fs::write(&path, &bytes).unwrap();
            let store = open(&world);
            assert!(removed(&store, &[]).is_empty());
            assert_eq!(store.objects().damaged(), [""; 0]);
            let hit = ends.iter().position(|end| at < *end);
            for (n, text) in texts.iter().enumerate() {
                assert!(found(&store, text) || Some(n) == hit, "{at} {flip}: {n}");
            }
        }
    }
}

#[test]
fn a_locked_pack_is_not_waited_for_without_end() {
    let world = World::new();
    let store = open(&world);
    let texts = ["small-0", "small-5", "small-f"].map(|pack| of_pack(pack, ""));
    put_all(&store, &texts);
    let held = fs::File::open(at(&world, "small-5")).unwrap();
    held.lock().unwrap();
    let hashes = texts.iter().map(Text::hash).collect();
    let Removal { removed: gone, failed } = store.objects().remove(&hashes);
    assert_eq!(gone, [texts[0].hash(), texts[2].hash()].into());
    assert!(matches!(&failed[..], [StoreError::Busy { name }] if name == ".readproof/objects/small-5"), "{failed:?}");
    drop(held);
    assert_eq!(removed(&store, &[&texts[1]]), [texts[1].hash()].into());
}

/// How often this thread has read from a file.
fn reads() -> u64 {
    let counts = fs::read_to_string("/proc/thread-self/io").unwrap();
    counts.lines().find_map(|line| line.strip_prefix("syscr: ")).unwrap().parse().unwrap()
}

#[test]
fn a_pack_is_opened_by_few_reads() {
    let world = World::new();
    let texts = of_one_pack(1000);
    put_all(&open(&world), &texts);
    let (store, before) = (open(&world), reads());
    assert!(found(&store, &texts[999]));
    assert!(reads() - before < 20, "{}", reads() - before);
    assert!(texts.iter().all(|text| found(&store, text)));
}

#[test]
fn a_full_pack_leaves_texts_to_files_of_their_own() {
    let world = World::new();
    drop(open(&world));
    let texts = ["one", "two"].map(|content| of_pack("small-9", content));
    // 64 records of 1 MiB; that their texts are holes does not matter for what follows.
    let path = at(&world, "small-9");
    fs::write(&path, "").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let mut pack = fs::OpenOptions::new().append(true).open(&path).unwrap();
    for n in 0..64 {
        pack.write_all(format!("sha256-9{n:063x} {} 5\n", 1 << 20).as_bytes()).unwrap();
        pack.set_len(pack.metadata().unwrap().len() + (1 << 20)).unwrap();
        pack.write_all(b"\n").unwrap();
        if n == 62 {
            put_all(&open(&world), &texts[..1]);
        }
    }
    let (store, len) = (open(&world), fs::metadata(&path).unwrap().len());
    assert_eq!(store.objects().put(&texts[0]).unwrap(), Put::Present);
    for expected in [Put::Stored, Put::Present] {
        assert_eq!(store.objects().put(&texts[1]).unwrap(), expected);
    }
    assert!(texts.iter().all(|text| found(&store, text)));
    assert_eq!(fs::metadata(&path).unwrap().len(), len);
    assert_eq!(world.names(OBJECTS), [object_of(&texts[1]), "small-9".to_owned()]);
    assert_eq!(store.usage().objects, 66);
}
