//! Audit logs that someone alters, at random: every alteration of what was signed must be found and named. And proofs and
//! checkpoints, good and bad, of which the product, a checker that shares no code with it, and the crate `tlog_tiles` must
//! think the same (`agree`).

pub mod agree;
pub mod speed;

use readproof_core::{
    operation::{Caller, Field},
    tlog::{Checkpoint, Kind, SigningKey, TILE_WIDTH, Tile, bundle, leaf, subtree},
};
use readproof_disk::{AuditPart, Create, Lasting, Store, Stores};
use readproof_hosts::audit::{AuditError, AuditLog, AuditWriter, Begun, CallFacts, Opened, Pending, Problem, Verified};
use std::{collections::BTreeMap, fmt, sync::Arc};

use crate::{memory::MemoryStores, op::Random, world::Broken};

/// Every part of a log.
type Parts = BTreeMap<AuditPart, Vec<u8>>;

/// How long the logs are. All cases of tiles are among them: none, one, and two levels of full ones.
const SIZES: [u64; 4] = [40, 300, 900, 70_000];

/// What the run did.
#[derive(Clone, Debug, Default)]
pub struct Tampered {
    pub cases: u64,
    /// How often each kind of alteration was made.
    pub kinds: BTreeMap<&'static str, u64>,
}

impl fmt::Display for Tampered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} alterations, all found and named:", self.cases)?;
        self.kinds.iter().try_for_each(|(kind, count)| write!(f, " {kind} {count}"))
    }
}

/// A log as it was written, and a checkpoint that was kept before it grew.
pub(crate) struct Written {
    pub(crate) parts: Parts,
    pub(crate) kept: String,
    pub(crate) size: u64,
}

/// A call as it may come.
#[must_use]
pub fn facts(random: &mut Random) -> CallFacts {
    let path = format!("src/file{}.rs", random.below(50));
    let text = format!("line {} of a text\n", random.bits()).repeat(1 + random.below(4));
    CallFacts {
        at: 1_763_449_200_000 + random.bits() % 1_000_000,
        caller: Caller::of("mcp"),
        conversation: Some(format!("s{}", random.below(5))),
        tool: "read",
        args: vec![("path", Field::Text(path))],
        code: "OK",
        is_ok: true,
        files: Vec::new(),
        approval: None,
        version: None,
        us: random.bits() % 1000,
        tokens: 5,
        text,
        rules: &["lf-1"],
        is_sensitive: false,
    }
}

/// Writes a log of about this many lines.
pub(crate) fn written(size: u64, seed: u64) -> Result<Written, Broken> {
    let (mut random, store) = (Random::new(seed), store()?);
    let with = Opened { keeps_texts: size < 10_000, now: 1 };
    let mut writer = AuditWriter::open(&*store, Begun::new(&*store)?, with)?;
    let (mut seq, mut kept) = (0, None);
    while seq < size {
        let count = 1 + random.below(if size > 10_000 { 2_000 } else { 60 }) as u64;
        let calls: Vec<Pending> =
            (seq + 1..=(seq + count).min(size)).map(|seq| Pending { seq, facts: facts(&mut random) }).collect();
        seq += calls.len() as u64;
        writer.append(&calls, Lasting::No)?;
        if kept.is_none() && seq >= size / 2 {
            kept = writer.sign()?;
        }
    }
    writer.sign()?;
    writer.close(0);
    let log = store.audit(Create::No)?.ok_or("no log")?;
    let load = |part: AuditPart| Ok::<_, Broken>((part.clone(), log.load(&part)?.unwrap_or_default()));
    let parts = log.parts().into_iter().map(load).collect::<Result<Parts, Broken>>()?;
    let size = AuditLog::open(&*store)?.ok_or("no log")?.size()?;
    Ok(Written { parts, kept: kept.ok_or("nothing was signed")?, size })
}

fn store() -> Result<Arc<dyn Store>, Broken> {
    Ok(MemoryStores::default().open(Create::Yes)?.ok_or("no store")?.store)
}

/// A log with these parts.
pub(crate) fn opened(parts: &Parts) -> Result<AuditLog, Broken> {
    let store = store()?;
    let log = store.audit(Create::Yes)?.ok_or("no log")?;
    for (part, bytes) in parts {
        log.put(part, bytes, Lasting::No)?;
    }
    Ok(AuditLog::open(&*store)?.ok_or("no log")?)
}

/// What must be said of an alteration.
enum Expected {
    /// Exactly this.
    Only(Problem),
    /// One of several, as it may be seen in more than one way.
    Like(fn(&Problem) -> bool),
}

/// Alters logs at random.
///
/// # Errors
/// The first alteration that is not found, or is called something else.
pub fn tamper(cases: u64, seed: u64) -> Result<Tampered, Broken> {
    let sizes = if cases < 1_000 { &SIZES[..3] } else { &SIZES[..] };
    let logs = sizes.iter().map(|size| written(*size, seed ^ size)).collect::<Result<Vec<_>, _>>()?;
    for log in &logs {
        let found = verified(&log.parts, None)?.map_err(|error| format!("an unaltered log: {error:?}"))?;
        let kept = verified(&log.parts, Some(&log.kept))?.map_err(|error| format!("an unaltered log: {error:?}"))?;
        if !found.problems.is_empty() || !kept.problems.is_empty() {
            return Err(format!("an unaltered log of {} lines: {found:?} {kept:?}", log.size).into());
        }
    }
    let (mut random, mut done) = (Random::new(seed), Tampered::default());
    while done.cases < cases {
        // Long logs take long to read.
        let last = if random.below(40) == 0 { logs.len() } else { logs.len().min(3) };
        let log = &logs[random.below(last)];
        let case = random.bits();
        let (kind, parts, kept, expected) = altered(log, &mut Random::new(case))?;
        if parts == log.parts {
            continue;
        }
        let found = verified(&parts, kept.as_deref())?;
        let is_named = match (&found, &expected) {
            (Ok(found), Expected::Only(problem)) => found.problems == [problem.clone()],
            (Ok(found), Expected::Like(like)) => !found.problems.is_empty() && found.problems.iter().any(like),
            // A part that cannot be read at all is named by the error.
            (Err(AuditError::Damaged { .. }), Expected::Like(_)) => true,
            (Err(_), _) => false,
        };
        if !is_named {
            return Err(format!("case {case} of {} lines, {kind}: {found:?}", log.size).into());
        }
        done.cases += 1;
        *done.kinds.entry(kind).or_default() += 1;
    }
    Ok(done)
}

fn verified(parts: &Parts, kept: Option<&str>) -> Result<Result<Verified, AuditError>, Broken> {
    let log = opened(parts)?;
    Ok(log.key().and_then(|key| log.verify(&key, kept, &|_, _| ())))
}

type Altered = (&'static str, Parts, Option<String>, Expected);

/// One alteration, and what must be said of it.
fn altered(log: &Written, random: &mut Random) -> Result<Altered, Broken> {
    let mut parts = log.parts.clone();
    match random.below(9) {
        0..=3 => lines(log, random),
        4 => {
            let tiles: Vec<AuditPart> = parts.keys().filter(|part| is_hashes(part)).cloned().collect();
            let tile = random.pick(&tiles).ok_or("no tiles")?.clone();
            let bytes = parts.get_mut(&tile).ok_or("no tile")?;
            let at = random.below(bytes.len());
            match random.below(3) {
                0 => bytes.truncate(at),
                _ => bytes[at] ^= 1 << random.below(8),
            }
            let like = |problem: &Problem| matches!(problem, Problem::Tile { .. } | Problem::Malformed { .. });
            Ok(("tile", parts, None, Expected::Like(like)))
        }
        5 => {
            let can_go = |part: &&AuditPart| match part {
                AuditPart::Tile(_) => true,
                AuditPart::Key
                | AuditPart::PublicKey
                | AuditPart::Checkpoint
                | AuditPart::Tail
                | AuditPart::Kept { .. } => false,
            };
            let tiles: Vec<AuditPart> = parts.keys().filter(can_go).cloned().collect();
            let Some(tile) = random.pick(&tiles).cloned() else { return lines(log, random) };
            parts.remove(&tile);
            Ok(("removed file", parts, None, Expected::Like(|problem| matches!(problem, Problem::Missing { .. }))))
        }
        6 => {
            let note = parts.get_mut(&AuditPart::Checkpoint).ok_or("no checkpoint")?;
            let at = random.below(note.len());
            note[at] ^= 1 << random.below(7);
            let like = |problem: &Problem| matches!(problem, Problem::Checkpoint { .. });
            Ok(("checkpoint", parts, None, Expected::Like(like)))
        }
        7 => {
            let mut cut = split(log)?;
            let left = random.below(cut.len());
            cut.truncate(left);
            put(&mut parts, &cut, Tiles::Left);
            let is_cut = |problem: &Problem| matches!(problem, Problem::Cut { .. } | Problem::Missing { .. });
            Ok(("cut tail", parts, None, Expected::Like(is_cut)))
        }
        _ => rebuilt(log, random),
    }
}

/// Lines are changed, removed, swapped or inserted, and the hashes left as they were.
fn lines(log: &Written, random: &mut Random) -> Result<Altered, Broken> {
    let mut parts = log.parts.clone();
    let mut lines = split(log)?;
    let at = random.below(lines.len());
    let entry = at as u64;
    let (kind, problem) = match random.below(4) {
        0 => {
            let byte = random.below(lines[at].len());
            lines[at][byte] ^= 1 << random.below(8);
            ("changed line", Problem::Changed { entry })
        }
        1 => {
            lines.remove(at);
            ("removed line", Problem::Removed { entry })
        }
        2 => {
            let other = random.below(lines.len());
            if other == at {
                return Ok(("same", parts, None, Expected::Like(|_| true)));
            }
            lines.swap(at, other);
            let (one, other) = (entry.min(other as u64), entry.max(other as u64));
            if one / TILE_WIDTH != other / TILE_WIDTH {
                put(&mut parts, &lines, Tiles::Left);
                // Bundles far apart are compared one by one.
                let like = |problem: &Problem| matches!(problem, Problem::Changed { .. } | Problem::Swapped { .. });
                return Ok(("swapped far", parts, None, Expected::Like(like)));
            }
            ("swapped lines", Problem::Swapped { one, other })
        }
        _ => {
            lines.insert(at, format!("{{\"kind\":\"call\",\"x\":{}}}", random.bits()).into_bytes());
            ("inserted line", Problem::Inserted { entry })
        }
    };
    put(&mut parts, &lines, Tiles::Left);
    let moved = matches!(problem, Problem::Removed { .. } | Problem::Inserted { .. });
    let expected = if moved && lines.len() as u64 / TILE_WIDTH != log.size / TILE_WIDTH {
        // The last bundle is another one now, so the hashes of the end are missing or too many.
        Expected::Like(|_| true)
    } else if matches!(problem, Problem::Removed { .. }) {
        // One line fewer than was signed, too.
        Expected::Like(|problem| matches!(problem, Problem::Removed { .. }))
    } else {
        Expected::Only(problem)
    };
    Ok((kind, parts, None, expected))
}

/// The owner changes a line and makes every hash anew, and perhaps signs the result.
fn rebuilt(log: &Written, random: &mut Random) -> Result<Altered, Broken> {
    let mut parts = log.parts.clone();
    let mut lines = split(log)?;
    let signed = readproof_core::tlog::Note::parse(&log.kept).and_then(|_| log.kept.lines().nth(1)?.parse().ok());
    let signed: usize = signed.ok_or("the kept checkpoint has no size")?;
    let at = random.below(signed);
    lines[at] = format!("{{\"kind\":\"call\",\"other\":{}}}", random.bits()).into_bytes();
    put(&mut parts, &lines, Tiles::Made);
    if random.below(2) == 0 {
        let like = |problem: &Problem| matches!(problem, Problem::Rebuilt { .. } | Problem::Rewritten { .. });
        return Ok(("rebuilt", parts, None, Expected::Like(like)));
    }
    let text = String::from_utf8(parts.get(&AuditPart::Key).ok_or("no key")?.clone())?;
    let key = SigningKey::parse(text.trim_end()).ok_or("not a key")?;
    let hashes: Vec<_> = lines.iter().map(|line| leaf(line)).collect();
    let head = Checkpoint { origin: key.public().name().to_owned(), size: lines.len() as u64, root: subtree(&hashes) };
    parts.insert(AuditPart::Checkpoint, head.sign(&key).ok_or("not signed")?.into_bytes());
    let alone = verified(&parts, None)?;
    if !alone.is_ok_and(|found| found.problems.is_empty()) {
        return Err("a log that its owner signed anew fits itself".into());
    }
    let like = |problem: &Problem| matches!(problem, Problem::Rebuilt { .. });
    Ok(("signed anew", parts, Some(log.kept.clone()), Expected::Like(like)))
}

fn is_hashes(part: &AuditPart) -> bool {
    matches!(part, AuditPart::Tile(Tile { kind: Kind::Hashes(_), .. }))
}

/// Every line of a log.
fn split(log: &Written) -> Result<Vec<Vec<u8>>, Broken> {
    let open = opened(&log.parts)?;
    let mut lines = Vec::new();
    for index in 0..log.size.div_ceil(TILE_WIDTH) {
        lines.extend(open.bundle(index)?.ok_or("no bundle")?);
    }
    Ok(lines)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Tiles {
    Left,
    Made,
}

/// Puts other lines into a log.
fn put(parts: &mut Parts, lines: &[Vec<u8>], tiles: Tiles) {
    parts.retain(|part, _| {
        let is_entries = matches!(part, AuditPart::Tile(Tile { kind: Kind::Entries, .. }));
        !is_entries && (tiles == Tiles::Left || !is_hashes(part))
    });
    let mut rest = Vec::new();
    let full = lines.len() / 256 * 256;
    rest.extend_from_slice(&(full as u64).to_be_bytes());
    for (index, chunk) in (0..).zip(lines.chunks(256)) {
        let mut bytes = Vec::new();
        for line in chunk {
            assert!(bundle::push(&mut bytes, line), "lines are short");
        }
        if chunk.len() == 256 {
            parts.insert(AuditPart::Tile(Tile::full(Kind::Entries, index)), bytes);
        } else {
            rest.extend(bytes);
        }
    }
    parts.insert(AuditPart::Tail, rest);
    if tiles == Tiles::Left {
        return;
    }
    let mut row: Vec<_> = lines.iter().map(|line| leaf(line)).collect();
    for level in 0..8 {
        for (index, chunk) in (0..).zip(row.chunks(256)) {
            if let Some(tile) = Tile::of_row(Kind::Hashes(level), index, row.len() as u64) {
                parts.insert(AuditPart::Tile(tile), chunk.as_flattened().to_vec());
            }
        }
        row = row.as_chunks::<256>().0.iter().map(|chunk| subtree(chunk)).collect();
        if row.is_empty() {
            break;
        }
    }
}
