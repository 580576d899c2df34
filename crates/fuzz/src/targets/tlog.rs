//! The forms of a transparency log: signed notes with checkpoints, proofs, and paths of tiles. What parses prints to the same
//! bytes, and no altered note or proof counts.

use readproof_core::tlog::{Checkpoint, Hash, Kind, Note, Proof, PublicKey, SigningKey, Tile, Unsigned, leaf, node};
use readproof_testkit::op::Random;

use super::{Seen, Target};

pub(super) const NOTE: Target = Target {
    name: "note",
    accepts: "it is a signed note",
    check: check_note,
    start: start_note,
    words: &[
        "\n\n",
        "\u{2014} ",
        "example.org/log ",
        "AAAAAAA=",
        "\n1\n",
        "\n0\n",
        "+",
        "\r",
        "\t",
        "/w==",
        "18446744073709551615",
    ],
    most: 2048,
};

pub(super) const PROOF: Target = Target {
    name: "proof",
    accepts: "it is a proof",
    check: check_proof,
    start: start_proof,
    words: &["c2sp.org/tlog-proof@v1\n", "extra ", "index ", "index 0\n", "\n\n", "\u{2014} ", "01", "AAAA", "="],
    most: 4096,
};

pub(super) const TILE: Target = Target {
    name: "tile",
    accepts: "it is the path of a tile",
    check: check_tile,
    start: start_tile,
    words: &["tile/", "entries/", "x001/", "/", "000", ".p/", "255", "256", "63", "64", "x", "-", "+", "0"],
    most: 96,
};

/// A key that everyone knows, so that inputs can be signed.
fn key() -> SigningKey {
    SigningKey::new("example.org/log", [7; 32]).unwrap_or_else(|| unreachable!("the name is plain"))
}

/// A checkpoint of two leaves.
fn note(random: &mut Random) -> (String, [Hash; 2]) {
    let leaves = [leaf(b"entry"), leaf(&random.bits().to_be_bytes())];
    let head = Checkpoint { origin: "example.org/log".to_owned(), size: 2, root: node(&leaves[0], &leaves[1]) };
    (head.sign(&key()).unwrap_or_default(), leaves)
}

fn start_note(random: &mut Random) -> Vec<u8> {
    let (note, _) = note(random);
    match random.below(4) {
        0 => key().sign("a text\n\nof two parts\n").unwrap_or_default().into_bytes(),
        _ => note.into_bytes(),
    }
}

fn check_note(input: &[u8]) -> Seen {
    let text = String::from_utf8_lossy(input);
    let parsed = Note::parse(&text);
    if let Some(note) = &parsed {
        assert_eq!(note.to_string(), text, "one spelling");
    }
    let (key, stranger) = (key(), SigningKey::new("example.org/log", [8; 32]));
    let found = Checkpoint::verified(&text, key.public());
    if let Some(stranger) = stranger {
        assert!(Checkpoint::verified(&text, stranger.public()).is_err(), "only one key signs here");
    }
    let kind = match &found {
        Ok(head) => {
            assert_eq!(head.text(), head_of(&text), "what is signed is what is read");
            assert_eq!(Checkpoint::parse(&head.text()).as_ref(), Some(head));
            1
        }
        Err(Unsigned::NotANote) => {
            assert!(parsed.is_none());
            2 + text.matches("\n\n").count().min(3) as u64
        }
        Err(Unsigned::OtherKey) => 6,
        Err(Unsigned::BadSignature) => 7,
        Err(Unsigned::NotACheckpoint) => 8,
    };
    // A key is parsed like a note's signature.
    for line in text.lines() {
        if let Some(public) = PublicKey::parse(line) {
            assert_eq!(public.to_string(), line);
        }
    }
    Seen { accepted: parsed.is_some(), kind }
}

/// The first three lines.
fn head_of(note: &str) -> String {
    note.split_inclusive('\n').take(3).collect()
}

fn start_proof(random: &mut Random) -> Vec<u8> {
    let (checkpoint, [_, other]) = note(random);
    let extra = (random.below(2) == 0).then(|| b"beside".to_vec());
    Proof { extra, index: 0, hashes: vec![other], checkpoint }.to_text().into_bytes()
}

fn check_proof(input: &[u8]) -> Seen {
    let text = String::from_utf8_lossy(input);
    let parsed = Proof::parse(&text);
    let mut kind = text.lines().count().min(15) as u64;
    if let Some(proof) = &parsed {
        assert_eq!(proof.to_text(), text, "one spelling");
        let (key, holds) = (key(), proof.check(b"entry", key().public()));
        assert!(proof.check(b"another entry", key.public()).is_err(), "a proof is of one entry");
        if let Ok(head) = &holds {
            assert!(proof.index < head.size);
        }
        kind =
            16 + u64::from(holds.is_ok()) + 2 * u64::from(proof.extra.is_some()) + 4 * proof.hashes.len().min(8) as u64;
    }
    Seen { accepted: parsed.is_some(), kind }
}

fn start_tile(random: &mut Random) -> Vec<u8> {
    let kind =
        if random.below(3) == 0 { Kind::Entries } else { Kind::Hashes(u8::try_from(random.below(64)).unwrap_or(0)) };
    let width = u16::try_from(1 + random.below(256)).unwrap_or(1);
    let index = random.bits() >> random.below(64);
    Tile { kind, index, width }.path().into_bytes()
}

fn check_tile(input: &[u8]) -> Seen {
    let text = String::from_utf8_lossy(input);
    let parsed = Tile::parse(&text);
    let kind = match parsed {
        Some(tile) => {
            assert_eq!(tile.path(), text, "one path for each tile");
            assert!((1..=256).contains(&tile.width));
            100 + u64::from(tile.is_full())
                + 2 * u64::from(tile.kind == Kind::Entries)
                + 4 * u64::from(tile.index.checked_ilog10().unwrap_or(0))
        }
        None => text.split('/').count().min(20) as u64,
    };
    Seen { accepted: parsed.is_some(), kind }
}
