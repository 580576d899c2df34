//! Proofs and checkpoints, as they are and altered, before three judges: the product, the Python checker, and `tlog_tiles`.

use readproof_core::tlog::{Checkpoint, Proof, PublicKey, check_consistency, check_inclusion, leaf};
use readproof_hosts::audit::{Disclosure, check_proof};
use serde_json::{Value, json};
use std::{
    fmt,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Command, Stdio},
};
use tlog_tiles::{Hash, check_record, check_tree, record_hash};

use super::{opened, written};
use crate::{op::Random, world::Broken};

/// What the judges said.
#[derive(Clone, Debug, Default)]
pub struct Agreed {
    pub proofs: u64,
    pub checkpoints: u64,
    pub held: u64,
}

impl fmt::Display for Agreed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { proofs, checkpoints, held } = self;
        write!(f, "{proofs} proofs and {checkpoints} checkpoints, {held} of them good: three judges agree on all")
    }
}

/// Lets the judges judge. `checker` is the Python program.
///
/// # Errors
/// The first case on which they do not agree.
pub fn agree(cases: u64, seed: u64, checker: &Path) -> Result<Agreed, Broken> {
    let log = written(700, seed)?;
    let open = opened(&log.parts)?;
    let key = open.key()?;
    let note = open.checkpoint()?.ok_or("no checkpoint")?;
    let mut python = Command::new("python3")
        .arg(checker)
        .args(["batch", "--key", &key.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut asked = python.stdin.take().ok_or("no input")?;
    let mut answers = BufReader::new(python.stdout.take().ok_or("no output")?).lines();
    let (mut random, mut done) = (Random::new(seed), Agreed::default());
    for _ in 0..cases {
        let is_proof = random.below(3) > 0;
        let good = if is_proof { open.prove(1 + random.bits() % (log.size - 1))?.to_text() } else { note.clone() };
        let text = if random.below(3) == 0 { good } else { spoilt(&good, &mut random) };
        let ours = if is_proof {
            same_tree(&text)?;
            check_proof(&text, &key).is_ok()
        } else {
            same_checkpoint(&text, &key)?
        };
        writeln!(asked, "{}", json!({"what": if is_proof { "proof" } else { "checkpoint" }, "text": text}))?;
        let answer: Value = serde_json::from_str(&answers.next().ok_or("the checker ended")??)?;
        if answer["ok"] != json!(ours) {
            return Err(format!("we say {ours}, the checker {answer}:\n{text}").into());
        }
        done.held += u64::from(ours);
        *(if is_proof { &mut done.proofs } else { &mut done.checkpoints }) += 1;
    }
    drop(asked);
    python.wait()?;
    consistent(&mut random)?;
    Ok(done)
}

/// One character is another, or something is missing.
fn spoilt(good: &str, random: &mut Random) -> String {
    let mut text: Vec<char> = good.chars().collect();
    let at = random.below(text.len());
    match random.below(5) {
        0 => drop(text.remove(at)),
        1 => text.insert(at, 'A'),
        2 => {
            let other = random.below(text.len());
            text.swap(at, other);
        }
        3 => text.truncate(at),
        _ => {
            let others: Vec<char> = "AQgw5+/= \n\u{2014}x".chars().collect();
            text[at] = *random.pick(&others).unwrap_or(&'?');
        }
    }
    text.into_iter().collect()
}

/// Whether a proof's hashes lead to its root: `tlog_tiles` must think as we do.
fn same_tree(text: &str) -> Result<(), Broken> {
    let Some(proof) = Proof::parse(text) else { return Ok(()) };
    let Some(beside) = proof.extra.as_deref().and_then(|extra| serde_json::from_slice::<Disclosure>(extra).ok()) else {
        return Ok(());
    };
    let Some(head) = proof.checkpoint.rfind("\n\n").and_then(|at| Checkpoint::parse(&proof.checkpoint[..=at])) else {
        return Ok(());
    };
    let entry = beside.line.as_bytes();
    if record_hash(entry).0 != leaf(entry) {
        return Err("the hash of a leaf differs".into());
    }
    let ours = check_inclusion(&leaf(entry), proof.index, (head.size, &head.root), &proof.hashes);
    let hashes: Vec<Hash> = proof.hashes.iter().map(|hash| Hash(*hash)).collect();
    let theirs = check_record(&hashes, head.size, Hash(head.root), proof.index, Hash(leaf(entry))).is_ok();
    if ours == theirs { Ok(()) } else { Err(format!("we say {ours}, tlog_tiles {theirs}:\n{text}").into()) }
}

/// Whether a checkpoint counts; of the text that is signed, `tlog_tiles` must read the same.
fn same_checkpoint(note: &str, key: &PublicKey) -> Result<bool, Broken> {
    if let Some(at) = note.rfind("\n\n") {
        let text = &note[..=at];
        let (ours, theirs) = (Checkpoint::parse(text), tlog_tiles::Checkpoint::from_bytes(text.as_bytes()).ok());
        let ours = ours.map(|head| (head.size, head.root));
        let theirs = theirs.map(|head| (head.size(), head.hash().0));
        if ours != theirs {
            return Err(format!("we read {ours:?}, tlog_tiles {theirs:?}:\n{text}").into());
        }
    }
    Ok(Checkpoint::verified(note, key).is_ok_and(|head| head.origin == key.name()))
}

/// Proofs that one tree goes on from another.
fn consistent(random: &mut Random) -> Result<(), Broken> {
    let leaves: Vec<[u8; 32]> = (0..300_u32).map(|number| leaf(&number.to_be_bytes())).collect();
    struct Row<'l>(&'l [[u8; 32]]);
    impl readproof_core::tlog::HashSource for Row<'_> {
        fn hash(&self, level: u32, index: u64) -> Option<[u8; 32]> {
            let first = usize::try_from(index << level).ok()?;
            self.0.get(first..first + (1 << level)).map(readproof_core::tlog::subtree)
        }
    }
    for _ in 0..300 {
        let new = 1 + random.below(300);
        let old = 1 + random.below(new);
        let roots = [old, new].map(|size| readproof_core::tlog::subtree(&leaves[..size]));
        let found = readproof_core::tlog::consistency(old as u64, new as u64, &Row(&leaves));
        let mut proof = found.ok_or("no proof")?;
        if random.below(2) == 0 && !proof.is_empty() {
            let at = random.below(proof.len());
            proof[at][random.below(32)] ^= 1;
        }
        let ours = check_consistency((old as u64, &roots[0]), (new as u64, &roots[1]), &proof);
        let hashes: Vec<Hash> = proof.iter().map(|hash| Hash(*hash)).collect();
        let theirs = check_tree(&hashes, new as u64, Hash(roots[1]), old as u64, Hash(roots[0])).is_ok();
        if ours != theirs {
            return Err(format!("{old} to {new}: we say {ours}, tlog_tiles {theirs}").into());
        }
    }
    Ok(())
}
