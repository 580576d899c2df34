//! Cold packs. Input: a pack, which gets the name that its index asks for, so that what the index declares is looked at and not only
//! refused. Whatever it holds, a text that is loaded has the hash that was asked for, and every other one is missing or damaged.

use std::{
    collections::BTreeSet,
    fs::{self, OpenOptions},
    io::Write,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::PathBuf,
};

use readproof_core::text::{ContentHash, Text};
use readproof_disk::{Loaded, Store};
use readproof_testkit::op::Random;

use super::{
    Seen, Target,
    scratch::{self, Scratch},
};

pub(super) const TARGET: Target = Target {
    name: "pack",
    accepts: "a text can be loaded",
    check,
    start,
    words: &["rp-cold1", "1dloc-pr", "\0\0\0\0", "\u{1}\0\0\0", "(\u{b5}/\u{fd}"],
    most: 4096,
};

/// The trailer: where the index is, how many frames and texts it names, and the mark of the end.
const TRAILER: usize = 24;

fn cold(scratch: &Scratch) -> PathBuf {
    scratch.folder().join(readproof_disk::STORE_NAME).join("objects/cold")
}

/// A pack of some texts, made by the product.
fn start(random: &mut Random) -> Vec<u8> {
    let texts: Vec<Text> = (0..=random.below(4))
        .map(|number| Text::new(format!("{number}\n{}", "a line\n".repeat(random.below(20)))))
        .collect();
    scratch::with(|scratch| {
        let objects = scratch.store.objects();
        let stored = objects.put_all_synced(&texts.iter().collect::<Vec<_>>());
        assert!(stored.is_ok(), "{stored:?}");
        let hashes: Vec<ContentHash> = texts.iter().map(Text::hash).collect();
        let packed = objects.pack(&[hashes]);
        assert!(packed.failed.is_empty(), "{packed:?}");
        let made = fs::read_dir(cold(scratch)).into_iter().flatten().flatten().next();
        let bytes = made.and_then(|pack| fs::read(pack.path()).ok()).unwrap_or_default();
        objects.remove(&objects.stored().iter().map(|stored| stored.hash).collect::<BTreeSet<_>>());
        bytes
    })
}

/// What the trailer says is the index, if it lies in the file.
fn index(pack: &[u8]) -> Option<&[u8]> {
    let trailer = pack.len().checked_sub(TRAILER)?;
    let at = u64::from_le_bytes(pack.get(trailer..trailer + 8)?.try_into().ok()?);
    pack.get(usize::try_from(at).ok()?..trailer)
}

fn check(input: &[u8]) -> Seen {
    let index = index(input);
    let name = ContentHash::of(index.unwrap_or_default());
    scratch::with(|scratch| {
        let (objects, folder) = (scratch.store.objects(), cold(scratch));
        let path = folder.join(name.to_string());
        // One that others can write is not looked at.
        let private = fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder);
        let file = || OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path);
        let made = private.and_then(|()| file()?.write_all(input));
        assert!(made.is_ok(), "the scratch folder cannot be used: {made:?}");
        let stored = objects.stored();
        let (mut loaded, mut damaged) = (0, 0);
        for text in &stored {
            match objects.load(text.hash) {
                Loaded::Text(found) => {
                    assert_eq!(ContentHash::of(found.as_str().as_bytes()), text.hash);
                    assert_eq!(found.as_str().len() as u64, text.bytes);
                    loaded += 1;
                }
                Loaded::Damaged => damaged += 1,
                Loaded::Missing => panic!("{} is listed and missing", text.hash),
            }
        }
        let is_named = objects.damaged().iter().any(|damaged| damaged.ends_with(&name.to_string()));
        assert!(!is_named || stored.is_empty(), "a damaged pack lists texts");
        let removed = fs::remove_file(&path);
        assert!(removed.is_ok(), "{removed:?}");
        // It is forgotten once it is not listed any more.
        assert_eq!(objects.stored().len(), 0);
        Seen { accepted: loaded > 0, kind: u64::from(is_named) | (loaded.min(7) << 1) | (u64::from(damaged > 0) << 4) }
    })
}
