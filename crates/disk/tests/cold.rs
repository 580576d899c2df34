//! Texts that are compressed: found by everyone as before, safe wherever the process ends and under races, honest about damage.
#![allow(clippy::unwrap_used, reason = "tests and their helpers")]

mod world;

use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use readproof_core::text::{ContentHash, Text};
use readproof_disk::{Loaded, LocalStore, Packing, Put, Removal, SmallTexts, Store, StoreError};
use world::{World, text};

const OBJECTS: &str = ".readproof/objects";
const COLD: &str = ".readproof/objects/cold";

/// Versions of one file, each with another line changed.
fn versions(name: &str, count: usize) -> Vec<Text> {
    let mut lines: Vec<String> = (0..200).map(|n| format!("{name} line {n} {:x}\n", n * 7919)).collect();
    let next = |n: usize| {
        lines[n % 200] = format!("{name} change {n} {:x}\n", n * 104_729);
        text(&lines.concat())
    };
    (0..count).map(next).collect()
}

fn hashes(texts: &[Text]) -> Vec<ContentHash> {
    texts.iter().map(Text::hash).collect()
}

fn put(store: &LocalStore, texts: &[Text]) {
    for text in texts {
        store.objects().put_synced(text).unwrap();
    }
}

/// Stores texts and compresses them.
#[track_caller]
fn packed(store: &LocalStore, texts: &[Text]) -> Packing {
    put(store, texts);
    let done = store.objects().pack(&[hashes(texts)]);
    assert!(done.failed.is_empty(), "{:?}", done.failed);
    done
}

fn found(store: &LocalStore, text: &Text) -> bool {
    store.objects().load(text.hash()) == Loaded::Text(text.clone())
}

fn packs(world: &World) -> Vec<PathBuf> {
    world.names(COLD).into_iter().map(|name| world.at(COLD).join(name)).collect()
}

/// The names of the texts that have a file of their own.
fn apart(world: &World) -> Vec<String> {
    world.names(OBJECTS).into_iter().filter(|name| name.starts_with("sha256-")).collect()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    fs::set_permissions(to, fs::metadata(from).unwrap().permissions()).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to)
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

#[test]
fn compressed_texts_come_back_as_they_were_and_take_little_space() {
    let world = World::new();
    let (store, other) = (world.store(), world.store());
    let mut all = versions("a", 300);
    all.extend([text(""), text("\u{feff}é\r\n"), text(&"x\n".repeat(3 << 20))]);
    let raw: usize = all.iter().map(|text| text.as_str().len()).sum();
    assert!(found(&other, &text("")) || store.objects().put_synced(&text("")).unwrap() == Put::Stored);
    let done = packed(&store, &all);
    assert_eq!(done.moved, hashes(&all).into_iter().collect());
    assert!(done.bytes < raw as u64 / 20, "{} of {raw}", done.bytes);
    assert_eq!(apart(&world), [""; 0]);
    for text in &all {
        assert!(found(&store, text) && found(&other, text), "another process knows");
        assert!(other.objects().holds(text));
    }
    let stored = other.objects().stored();
    assert_eq!(stored.iter().map(|one| one.bytes).sum::<u64>(), raw as u64, "the size of a text is that of the text");
    assert!(stored.iter().all(|one| one.packed && one.modified > 1_700_000_000_000));
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!((mode(&world.at(COLD)), mode(&packs(&world)[0])), (0o700, 0o600));
    assert_eq!(world.temps(), 0);
}

#[test]
fn small_texts_that_share_a_file_are_compressed_too() {
    let world = World::new();
    let store = world.store().with_small_texts(SmallTexts::Together);
    let all = versions("a", 50);
    for text in &all {
        assert_eq!(store.objects().put(text).unwrap(), Put::Stored);
    }
    let done = store.objects().pack(&[hashes(&all)]);
    assert_eq!((done.moved.len(), done.failed.len()), (50, 0));
    assert!(store.objects().stored().iter().all(|one| one.packed));
    assert!(all.iter().all(|text| found(&store, text)));
}

#[test]
fn packing_again_makes_one_pack_of_little_ones_and_leaves_the_rest() {
    let world = World::new();
    let store = world.store();
    let all = versions("a", 40);
    for some in all.chunks(10) {
        packed(&store, some);
        assert_eq!(packs(&world).len(), 1);
    }
    assert!(all.iter().all(|text| found(&store, text)));
    let before = packs(&world);
    assert_eq!(packed(&store, &[]).moved.len(), 0);
    assert_eq!(store.objects().pack(&[hashes(&all)]).moved.len(), 0);
    assert_eq!(packs(&world), before, "nothing new, nothing written");
    // One that was stored again is there twice, and once after the next time.
    assert_eq!(store.objects().put_synced(&all[3]).unwrap(), Put::Stored);
    assert!(!store.objects().stored().iter().find(|one| one.hash == all[3].hash()).unwrap().packed);
    assert_eq!(store.objects().pack(&[hashes(&all)]).moved, BTreeSet::from([all[3].hash()]));
    assert_eq!(apart(&world), [""; 0]);
}

#[test]
fn removing_makes_a_pack_without_them() {
    let world = World::new();
    let (store, other) = (world.store(), world.store());
    let all = versions("a", 100);
    packed(&store, &all);
    assert!(found(&other, &all[7]), "a frame is in memory");
    let gone: BTreeSet<ContentHash> = [&all[7], &all[8], &text("never stored")].map(Text::hash).into();
    let Removal { removed, failed } = store.objects().remove(&gone);
    assert_eq!((removed, failed.len()), ([&all[7], &all[8]].map(Text::hash).into(), 0));
    for (at, text) in all.iter().enumerate() {
        assert_eq!(found(&store, text), at != 7 && at != 8);
        assert_eq!(found(&other, text), at != 7 && at != 8, "another process notices");
    }
    assert_eq!(store.objects().put_synced(&all[7]).unwrap(), Put::Stored);
    let everything = hashes(&all).into_iter().collect();
    assert_eq!(store.objects().remove(&everything).removed.len(), 99);
    assert_eq!((packs(&world).len(), store.objects().stored().len(), world.temps()), (0, 0, 0));
}

#[test]
fn frames_without_a_removed_text_stay_as_they_are() {
    let world = World::new();
    let store = world.store();
    // Three frames.
    let all: Vec<Text> = (0..9).map(|n| text(&format!("{n} \n").repeat(400_000))).collect();
    packed(&store, &all);
    assert_eq!(store.objects().remove(&BTreeSet::from([all[4].hash()])).removed.len(), 1);
    for (at, text) in all.iter().enumerate() {
        assert_eq!(found(&store, text), at != 4);
    }
}

/// Every state that a killed process can leave, made by hand: the order is temporary file, pack, then the texts one by one.
#[test]
fn nothing_is_lost_wherever_packing_ends() {
    let (before, after) = (World::new(), World::new());
    let all = versions("a", 20);
    let old = versions("b", 5);
    for world in [&before, &after] {
        packed(&world.store(), &old);
        put(&world.store(), &all);
    }
    packed(&after.store(), &all);
    let check = |world: &World, step: &str| {
        let store = world.store();
        assert!(all.iter().chain(&old).all(|text| found(&store, text)), "after {step}");
        assert_eq!(store.objects().damaged(), [""; 0], "after {step}");
        let done = packed(&store, &all);
        assert!(all.iter().chain(&old).all(|text| found(&store, text)), "packed after {step}");
        // A little pack that another one repeats goes when there is something new to pack.
        assert!(apart(world).is_empty() && packs(world).len() <= 2, "after {step}: {done:?}");
    };
    let state = || {
        let world = World::new();
        copy(&before.at(".readproof"), &world.at(".readproof"));
        world
    };
    let whole = fs::read(&packs(&after)[0]).unwrap();
    for len in [0, 8, whole.len() / 2, whole.len()] {
        let world = state();
        fs::write(world.at(".readproof/tmp/1-0.tmp"), &whole[..len]).unwrap();
        check(&world, "a part of the temporary file");
    }
    let with_pack = || {
        let world = state();
        copy(&after.at(COLD), &world.at(COLD));
        world
    };
    check(&with_pack(), "the pack has its name");
    for some in [1, 10, 20] {
        let world = with_pack();
        for pack in packs(&before) {
            fs::remove_file(world.at(COLD).join(pack.file_name().unwrap())).unwrap();
        }
        all.iter().take(some).for_each(|text| {
            fs::remove_file(world.at(OBJECTS).join(format!("sha256-{}.txt", text.hash()))).unwrap();
        });
        check(&world, "some texts are gone");
    }
}

#[test]
fn a_pack_that_is_torn_or_altered_never_gives_another_text() {
    let world = World::new();
    let store = world.store();
    let all = versions("a", 30);
    packed(&store, &all);
    let pack = packs(&world).remove(0);
    let whole = fs::read(&pack).unwrap();
    let mut lost = 0;
    let steps = (0..whole.len()).step_by(whole.len() / 97).chain(whole.len().saturating_sub(60)..whole.len());
    for at in steps {
        for harm in ["torn", "altered"] {
            let mut bytes = whole.clone();
            if harm == "torn" {
                bytes.truncate(at)
            } else {
                bytes[at] ^= 0x41
            }
            fs::write(&pack, &bytes).unwrap();
            let store = world.store();
            for text in &all {
                match store.objects().load(text.hash()) {
                    Loaded::Text(loaded) => assert_eq!(&loaded, text),
                    Loaded::Missing | Loaded::Damaged => lost += 1,
                }
            }
            let is_readable = store.objects().damaged().is_empty();
            assert!(harm == "altered" || !is_readable, "a torn pack is named");
            assert!(is_readable || store.objects().stored().is_empty());
        }
    }
    assert!(lost > 1000);
    fs::write(&pack, &whole).unwrap();
    assert!(all.iter().all(|text| found(&world.store(), text)));
}

/// Removing from a pack with a harmed frame keeps what is good in the others.
#[test]
fn a_harmed_frame_costs_its_own_texts_only() {
    let world = World::new();
    let all: Vec<Text> = (0..9).map(|n| text(&format!("{n} \n").repeat(400_000))).collect();
    packed(&world.store(), &all);
    let pack = packs(&world).remove(0);
    let mut bytes = fs::read(&pack).unwrap();
    bytes[40] ^= 0xff;
    fs::write(&pack, &bytes).unwrap();
    let store = world.store();
    let good: Vec<&Text> = all.iter().filter(|text| found(&store, text)).collect();
    assert_eq!(good.len(), 6);
    let harmed = all.iter().find(|text| !found(&store, text)).unwrap();
    assert_eq!(store.objects().load(harmed.hash()), Loaded::Damaged);
    // It is stored again, and found whatever the pack says.
    store.objects().put_synced(harmed).unwrap();
    assert!(found(&store, harmed));
    store.objects().remove(&BTreeSet::from([harmed.hash()]));
    assert!(good.iter().all(|text| found(&store, text)));
    assert_eq!(store.objects().load(harmed.hash()), Loaded::Missing);
}

/// Writes a pack by hand: one frame that says it holds `raw` bytes, and one text in it.
fn forged(world: &World, packed: &[u8], raw: u32, (at, bytes): (u32, u32), texts: u32) -> ContentHash {
    let hash = ContentHash::of(b"whatever it inflates to");
    let mut index = Vec::new();
    index.extend(u32::try_from(packed.len()).unwrap().to_le_bytes());
    index.extend(raw.to_le_bytes());
    index.extend(hash.as_bytes());
    index.extend([0, at, bytes].map(u32::to_le_bytes).as_flattened());
    index.extend(7_u64.to_le_bytes());
    let name = ContentHash::of(&index);
    let mut pack = b"rp-cold1".to_vec();
    pack.extend(packed);
    let index_at = pack.len() as u64;
    pack.extend(&index);
    pack.extend(index_at.to_le_bytes());
    pack.extend([1, texts].map(u32::to_le_bytes).as_flattened());
    pack.extend(b"1dloc-pr");
    let file = world.at(COLD).join(name.to_string());
    fs::write(&file, &pack).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    hash
}

#[test]
fn a_frame_inflates_no_further_than_declared_and_allowed() {
    // 64 MiB of zeros in a few kilobytes.
    let bomb = zstd::bulk::compress(&vec![b'0'; 64 << 20], 3).unwrap();
    let small = zstd::bulk::compress(b"whatever it inflates to", 3).unwrap();
    for (packed, raw, place, texts, expected) in [
        (&small, 23, (0, 23), 1, "text"),
        // More than it declares, or less.
        (&bomb, 1 << 20, (0, 1 << 20), 1, "damaged"),
        (&small, 24, (0, 24), 1, "damaged"),
        (&bomb, 64 << 20, (0, 64 << 20), 1, "damaged"),
        // What no pack of ours declares.
        (&bomb, 64 << 20, (0, 5), 1, "missing"),
        (&bomb, u32::MAX, (0, u32::MAX), 1, "missing"),
        (&small, 23, (1, 23), 1, "missing"),
        (&small, 23, (u32::MAX, 2), 1, "missing"),
        (&small, 23, (0, 23), u32::MAX, "missing"),
        (&small, 23, (0, 23), 0, "missing"),
    ] {
        let world = World::new();
        packed_one(&world);
        let hash = forged(&world, packed, raw, place, texts);
        let store = world.store();
        let loaded = match store.objects().load(hash) {
            Loaded::Text(text) if text.hash() == hash => "text",
            Loaded::Text(_) => "another text",
            Loaded::Damaged => "damaged",
            Loaded::Missing => "missing",
        };
        assert_eq!(loaded, expected, "{raw} {place:?} {texts}");
        assert_eq!(store.objects().damaged().len(), usize::from(expected == "missing"));
    }
}

fn packed_one(world: &World) {
    packed(&world.store(), &[text("one\n")]);
}

#[test]
fn what_is_no_pack_of_this_user_is_not_read() {
    let world = World::new();
    let all = versions("a", 3);
    packed(&world.store(), &all);
    let pack = packs(&world).remove(0);
    let elsewhere = world.at("elsewhere");
    let harms: [(&str, &dyn Fn()); 3] = [
        ("others can read it", &|| fs::set_permissions(&pack, fs::Permissions::from_mode(0o644)).unwrap()),
        ("it has another name too", &|| fs::hard_link(&pack, &elsewhere).unwrap()),
        ("it is a link", &|| {
            fs::rename(&pack, &elsewhere).unwrap();
            symlink(&elsewhere, &pack).unwrap();
        }),
    ];
    let bytes = fs::read(&pack).unwrap();
    for (what, harm) in harms {
        harm();
        let store = world.store();
        assert_eq!(store.objects().load(all[0].hash()), Loaded::Missing, "{what}");
        assert_eq!(store.objects().damaged().len(), 1, "{what}");
        for path in [&pack, &elsewhere] {
            let _ = fs::remove_file(path);
        }
        fs::write(&pack, &bytes).unwrap();
        fs::set_permissions(&pack, fs::Permissions::from_mode(0o600)).unwrap();
        assert!(found(&store, &all[0]), "mended");
    }
}

#[test]
fn readers_writers_and_packers_go_on_together() {
    let world = World::new();
    drop(world.store());
    let all = versions("a", 120);
    put(&world.store(), &all);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let store = world.store();
                while !done.load(Ordering::Relaxed) {
                    all.iter().step_by(7).for_each(|text| assert!(found(&store, text)));
                }
            });
        }
        scope.spawn(|| {
            let store = world.store();
            while !done.load(Ordering::Relaxed) {
                put(&store, &all[..30]);
            }
        });
        let packers: Vec<_> = (0..2)
            .map(|packer| {
                let (world, all) = (&world, &all);
                scope.spawn(move || {
                    let store = world.store();
                    for round in 0..12 {
                        let some = &all[..10 * (round + 1 - packer % 2 * round / 2)];
                        let failed = store.objects().pack(&[hashes(some)]).failed;
                        assert!(failed.iter().all(|error| matches!(error, StoreError::Busy { .. })), "{failed:?}");
                        let odd = text(&format!("{packer} {round}"));
                        packed_or_busy(&store, &odd);
                        store.objects().remove(&BTreeSet::from([odd.hash()]));
                    }
                })
            })
            .collect();
        packers.into_iter().for_each(|packer| packer.join().unwrap());
        done.store(true, Ordering::Relaxed);
    });
    let store = world.store();
    assert!(all.iter().all(|text| found(&store, text)));
    assert_eq!(store.objects().damaged(), [""; 0]);
    assert_eq!(world.temps(), 0);
}

fn packed_or_busy(store: &LocalStore, text: &Text) {
    store.objects().put_synced(text).unwrap();
    store.objects().pack(&[vec![text.hash()]]);
    assert!(found(store, text));
}

#[test]
fn texts_that_follow_each_other_are_loaded_in_the_order_of_their_frames() {
    let world = World::new();
    let store = world.store();
    let all = versions("a", 50);
    packed(&store, &all);
    let mut sorted = hashes(&all);
    store.objects().sort(&mut sorted);
    assert_eq!(sorted.iter().collect::<BTreeSet<_>>(), hashes(&all).iter().collect());
}
