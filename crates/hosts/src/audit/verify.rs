//! Compares an audit log with its signed checkpoint, and with one that was kept elsewhere, and names what is wrong. There are
//! three witnesses of every line: the line, the hashes in the tiles, and the signed root. Whichever agrees with the root is
//! right, and the other is compared with it. What comes after the last checkpoint is not signed, and nothing is said of it.

use readproof_core::tlog::{Checkpoint, Hash, Kind, PublicKey, TILE_WIDTH, Tile, Unsigned, bundle, leaf, subtree};
use readproof_disk::AuditPart;
use std::collections::BTreeMap;

use super::{
    AuditError, AuditLog, Line,
    log::{Tail, hashes_of},
    writer::missing_of,
};

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// How many lines there are.
    pub size: u64,
    /// How many of them the checkpoint signs.
    pub signed: Option<u64>,
    /// How many lines are elsewhere; of them only the hashes were looked at.
    pub moved: u64,
    /// How many calls have no line, by the log itself and by the counts of processes that are gone.
    pub missing: u64,
    /// The processes that run and how many calls they have made is not known here; those that are gone without a word are.
    pub problems: Vec<Problem>,
}

/// Which checkpoint is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhichCheckpoint {
    /// That of the log itself.
    Own,
    /// One that was kept elsewhere.
    Kept,
}

/// Something that is not as it was signed. Lines are counted from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// A checkpoint is not signed by the log's key.
    Checkpoint {
        which: WhichCheckpoint,
        why: Unsigned,
    },
    /// The checkpoint is of another log.
    OtherLog {
        which: WhichCheckpoint,
        origin: String,
    },
    /// Lines were written and nothing was ever signed, or the checkpoint is gone.
    NoCheckpoint,
    Changed {
        entry: u64,
    },
    /// A line that stood here is gone, and later ones moved up.
    Removed {
        entry: u64,
    },
    Inserted {
        entry: u64,
    },
    Swapped {
        one: u64,
        other: u64,
    },
    /// The log ends before what was signed.
    Cut {
        which: WhichCheckpoint,
        size: u64,
        signed: u64,
    },
    /// A bundle, or a tile that is needed to check it, is not there.
    Missing {
        part: String,
    },
    /// A bundle or a tile is not one.
    Malformed {
        part: String,
    },
    /// Hashes were changed; the lines are as signed.
    Tile {
        part: String,
    },
    /// Lines and their hashes were changed together, somewhere in here.
    Rewritten {
        first: u64,
        last: u64,
    },
    /// Everything fits together, but it is not what was signed.
    Rebuilt {
        which: WhichCheckpoint,
        signed: u64,
    },
    /// This log was begun because another was put aside.
    Aside {
        name: String,
    },
}

/// The hashes of the leaves, from the lines and from the tiles.
struct Leaves {
    lines: Vec<Hash>,
    tiles: Vec<Hash>,
    problems: Vec<Problem>,
    moved: u64,
    missing: u64,
    /// Entries before this one may be elsewhere.
    moved_before: u64,
}

impl AuditLog {
    /// Compares the log with its checkpoint, and with another one if that is given. `progress` is told how many lines were
    /// looked at, and of how many.
    ///
    /// # Errors
    /// [`AuditError`] when the log cannot be read at all.
    pub fn verify(
        &self,
        key: &PublicKey,
        kept: Option<&str>,
        progress: &dyn Fn(u64, u64),
    ) -> Result<Verified, AuditError> {
        let mut found = Verified::default();
        let own = self.checkpoint()?;
        let own = own.map(|note| (WhichCheckpoint::Own, note));
        let kept = kept.map(|note| (WhichCheckpoint::Kept, note.to_owned()));
        let has_own = own.is_some();
        let mut signed = Vec::new();
        for (which, note) in own.into_iter().chain(kept) {
            match Checkpoint::verified(&note, key) {
                Ok(checkpoint) if checkpoint.origin == key.name() => signed.push((which, checkpoint)),
                Ok(other) => found.problems.push(Problem::OtherLog { which, origin: other.origin }),
                Err(why) => found.problems.push(Problem::Checkpoint { which, why }),
            }
        }
        let leaves = self.leaves(progress)?;
        found.size = leaves.lines.len() as u64;
        found.moved = leaves.moved;
        found.missing = leaves.missing + self.not_written_yet();
        if !has_own && found.size > 0 {
            found.problems.push(Problem::NoCheckpoint);
        }
        found.problems.extend(self.aside().into_iter().map(|name| Problem::Aside { name }));
        found.signed = signed.iter().find(|(which, _)| *which == WhichCheckpoint::Own).map(|(_, signed)| signed.size);
        let most = signed.iter().map(|(_, signed)| signed.size).max();
        found.problems.extend(leaves.problems.iter().filter(|problem| concerns(problem, most)).cloned());
        let own = found.signed.and_then(|size| Tile::of_row(Kind::Hashes(0), size / TILE_WIDTH, size));
        if let Some(tile) = own.filter(|tile| !tile.is_full())
            && self.parts.load(&AuditPart::Tile(Tile::full(Kind::Hashes(0), tile.index)))?.is_none()
            && self.parts.load(&AuditPart::Tile(tile))?.is_none()
        {
            found.problems.push(Problem::Missing { part: tile.path() });
        }
        for (which, checkpoint) in signed {
            self.against(&leaves, which, &checkpoint, &mut found.problems);
        }
        found.problems.extend(self.upper(&leaves.lines, &found.problems));
        found.problems.dedup();
        Ok(found)
    }

    /// Compares everything with one checkpoint.
    fn against(&self, leaves: &Leaves, which: WhichCheckpoint, signed: &Checkpoint, problems: &mut Vec<Problem>) {
        let size = leaves.lines.len() as u64;
        let Ok(want) = usize::try_from(signed.size) else { return };
        let by_lines = leaves.lines.get(..want).map(subtree);
        if by_lines == Some(signed.root) {
            for bundle in differing(&leaves.lines, &leaves.tiles) {
                push(problems, Problem::Tile { part: leaf_tile(bundle, leaves.tiles.len()).path() });
            }
            return;
        }
        let by_tiles = leaves.tiles.get(..want).map(subtree);
        let before = problems.len();
        if by_tiles == Some(signed.root) {
            for (one, other) in segments(&differing(&leaves.lines, &leaves.tiles)) {
                let bound = |bundle: u64| usize::try_from(bundle * TILE_WIDTH).unwrap_or(usize::MAX);
                let were = &leaves.tiles[bound(one).min(leaves.tiles.len())..bound(other).min(leaves.tiles.len())];
                // If the last hash is among them, lines may have moved beyond it.
                let is_end = bound(other) >= leaves.tiles.len();
                let end = if is_end { leaves.lines.len() } else { bound(other).min(leaves.lines.len()) };
                let lines = leaves.lines.get(bound(one)..end).unwrap_or_default();
                explain(one * TILE_WIDTH, lines, were, problems);
            }
        }
        if size < signed.size {
            push(problems, Problem::Cut { which, size, signed: signed.size });
        } else if by_tiles != Some(signed.root) {
            self.rewritten(leaves, which, signed.size, problems);
        }
        if problems.len() == before {
            push(problems, Problem::Rebuilt { which, signed: signed.size });
        }
    }

    /// Neither lines nor hashes are as signed: where they differ from each other, and from the hashes above.
    fn rewritten(&self, leaves: &Leaves, which: WhichCheckpoint, signed: u64, problems: &mut Vec<Problem>) {
        let mut places: Vec<u64> = differing(&leaves.lines, &leaves.tiles);
        let full = leaves.lines.as_chunks::<256>().0;
        for (bundle, lines) in (0_u64..).zip(full).filter(|(bundle, _)| bundle * TILE_WIDTH < signed) {
            let (kind, index) = (Kind::Hashes(1), bundle / TILE_WIDTH);
            let width = Tile::of_row(kind, index, full.len() as u64);
            let above = width.and_then(|tile| hashes_of(&self.parts.load(&AuditPart::Tile(tile)).ok()??));
            let at = usize::try_from(bundle % TILE_WIDTH).unwrap_or(0);
            if above.is_some_and(|above| above.get(at) != Some(&subtree(lines))) {
                places.push(bundle);
            }
        }
        places.sort_unstable();
        places.dedup();
        for (one, other) in segments(&places) {
            let last = (other * TILE_WIDTH).min(leaves.lines.len() as u64).saturating_sub(1);
            push(problems, Problem::Rewritten { first: one * TILE_WIDTH, last });
        }
        if places.is_empty() || which == WhichCheckpoint::Kept {
            push(problems, Problem::Rebuilt { which, signed });
        }
    }

    /// Tiles above the leaves that do not have the hashes that the lines give. Of lines that are wrong themselves nothing more
    /// is said.
    fn upper(&self, lines: &[Hash], known: &[Problem]) -> Vec<Problem> {
        let is_known = known.iter().any(|problem| !matches!(problem, Problem::Tile { .. } | Problem::Aside { .. }));
        let mut problems = Vec::new();
        let mut row: Vec<Hash> = lines.to_vec();
        for level in 1..=7_u8 {
            row = row.as_chunks::<256>().0.iter().map(|chunk| subtree(chunk)).collect();
            if row.is_empty() || is_known {
                break;
            }
            for (index, expected) in (0_u64..).zip(row.chunks(256)) {
                let Some(tile) = Tile::of_row(Kind::Hashes(level), index, row.len() as u64) else { continue };
                match self.parts.load(&AuditPart::Tile(tile)) {
                    Ok(Some(bytes)) if bytes == expected.as_flattened() => {}
                    Ok(Some(_)) => problems.push(Problem::Tile { part: tile.path() }),
                    Ok(None) | Err(_) => problems.push(Problem::Missing { part: tile.path() }),
                }
            }
        }
        problems
    }

    /// The hashes of all leaves, by their lines and by the tiles.
    fn leaves(&self, progress: &dyn Fn(u64, u64)) -> Result<Leaves, AuditError> {
        let tail = self.raw_tail()?;
        let size = tail.first + tail.entries.len() as u64;
        let mut found = Leaves {
            lines: Vec::new(),
            tiles: Vec::new(),
            problems: Vec::new(),
            moved: 0,
            missing: 0,
            moved_before: self.moved_before(&tail)?,
        };
        let tiles: BTreeMap<u64, Tile> = self
            .parts
            .parts()
            .into_iter()
            .filter_map(|part| match part {
                AuditPart::Tile(tile) if tile.kind == Kind::Hashes(0) && !tile.is_full() => Some((tile.index, tile)),
                AuditPart::Tile(_)
                | AuditPart::Key
                | AuditPart::PublicKey
                | AuditPart::Checkpoint
                | AuditPart::Tail
                | AuditPart::Kept { .. } => None,
            })
            .collect();
        for index in 0..tail.first / TILE_WIDTH {
            self.bundle_leaves(index, &mut found);
            progress((index + 1) * TILE_WIDTH, size);
        }
        let lines: Vec<Hash> = tail.entries.iter().map(|entry| leaf(entry)).collect();
        found.missing += tail.entries.iter().map(|entry| missing(entry)).sum::<u64>();
        // Of the tail there are hashes up to the last checkpoint.
        if let Some(tile) = tiles.get(&(tail.first / TILE_WIDTH)) {
            let stored = hashes_of(&self.parts.load(&AuditPart::Tile(*tile))?.unwrap_or_default());
            match stored {
                Some(stored) if stored.len() == usize::from(tile.width) => found.tiles.extend(stored),
                Some(_) | None => found.problems.push(Problem::Malformed { part: tile.path() }),
            }
        }
        found.lines.extend(lines);
        Ok(found)
    }

    /// The same of a full bundle.
    fn bundle_leaves(&self, index: u64, found: &mut Leaves) {
        let (entries, hashes) = (Tile::full(Kind::Entries, index), Tile::full(Kind::Hashes(0), index));
        let mut load = |tile: Tile, is_needed: bool| match self.parts.load(&AuditPart::Tile(tile)) {
            Ok(Some(bytes)) => Some(bytes),
            Ok(None) | Err(_) => {
                if is_needed {
                    found.problems.push(Problem::Missing { part: tile.path() });
                }
                None
            }
        };
        let may_be_moved = (index + 1) * TILE_WIDTH <= found.moved_before;
        let (bytes, row) = (load(entries, !may_be_moved), load(hashes, true));
        let is_moved = bytes.is_none() && may_be_moved;
        let mut malformed = |tile: Tile| found.problems.push(Problem::Malformed { part: tile.path() });
        let row = row.map(|row| match hashes_of(&row) {
            Some(row) if row.len() as u64 == TILE_WIDTH => row,
            Some(_) | None => {
                malformed(hashes);
                Vec::new()
            }
        });
        let lines: Option<Vec<Hash>> = bytes.map(|bytes| {
            let (split, used) = bundle::split(&bytes);
            if used != bytes.len() {
                malformed(entries);
            }
            found.missing += split.iter().map(|entry| missing(entry)).sum::<u64>();
            split.into_iter().map(leaf).collect()
        });
        // What is not there is taken from the other witness; if there is none, it can match nothing.
        let filled = |one: Option<Vec<Hash>>, other: Option<&Vec<Hash>>| match (one, other) {
            (Some(one), _) if !one.is_empty() => one,
            (_, Some(other)) if !other.is_empty() => other.clone(),
            (_, _) => vec![[0; 32]; 256],
        };
        found.moved += if is_moved { TILE_WIDTH } else { 0 };
        found.tiles.extend(filled(row.clone(), lines.as_ref()));
        found.lines.extend(filled(lines, row.as_ref()));
    }

    /// The tail with every entry, whatever it holds.
    fn raw_tail(&self) -> Result<Tail, AuditError> {
        let Some(bytes) = self.parts.load(&AuditPart::Tail)? else { return Ok(Tail::default()) };
        match bytes.split_first_chunk::<8>() {
            Some((head, rest)) if u64::from_be_bytes(*head).is_multiple_of(TILE_WIDTH) => {
                let first = u64::from_be_bytes(*head);
                // A head that promises more bundles than there are would make us look for them for ever.
                let last = first.checked_sub(TILE_WIDTH).map(|last| Tile::full(Kind::Hashes(0), last / TILE_WIDTH));
                if let Some(last) = last
                    && self.parts.load(&AuditPart::Tile(last))?.is_none()
                {
                    return Err(AuditError::Damaged { part: AuditPart::Tail.path() });
                }
                let entries = bundle::split(rest).0.into_iter().map(<[u8]>::to_vec).collect();
                Ok(Tail { first, entries, used: 0, torn: 0 })
            }
            Some(_) | None => Err(AuditError::Damaged { part: AuditPart::Tail.path() }),
        }
    }

    /// Up to which entry bundles may be elsewhere, by the log's own word.
    fn moved_before(&self, tail: &Tail) -> Result<u64, AuditError> {
        let mut most = 0;
        let mut look = |entries: &[Vec<u8>]| {
            for entry in entries.iter().filter(|entry| entry.starts_with(b"{\"kind\":\"rotated\"")) {
                if let Some(Line::Rotated(line)) = Line::parse(entry) {
                    most = most.max(line.moved_before);
                }
            }
        };
        look(&tail.entries);
        let first_missing = (0..tail.first / TILE_WIDTH)
            .take_while(|index| {
                matches!(self.parts.load(&AuditPart::Tile(Tile::full(Kind::Entries, *index))), Ok(None))
            })
            .count() as u64;
        if first_missing > 0 {
            // Only then does it matter, and the line that says so is in a bundle that is still here.
            for index in first_missing..tail.first / TILE_WIDTH {
                look(&self.bundle(index).ok().flatten().unwrap_or_default());
            }
        }
        Ok(most)
    }

    /// Calls of processes that are gone, of which no line tells yet.
    fn not_written_yet(&self) -> u64 {
        self.parts.ended().iter().map(|(writer, counted)| missing_of(self, writer, *counted)).sum()
    }
}

/// Whether a problem of a part concerns what was signed.
fn concerns(problem: &Problem, signed: Option<u64>) -> bool {
    let part = match problem {
        Problem::Missing { part } | Problem::Malformed { part } => part,
        Problem::Checkpoint { .. }
        | Problem::OtherLog { .. }
        | Problem::NoCheckpoint
        | Problem::Changed { .. }
        | Problem::Removed { .. }
        | Problem::Inserted { .. }
        | Problem::Swapped { .. }
        | Problem::Cut { .. }
        | Problem::Tile { .. }
        | Problem::Rewritten { .. }
        | Problem::Rebuilt { .. }
        | Problem::Aside { .. } => return true,
    };
    let first = Tile::parse(part).map_or(0, |tile| tile.index * TILE_WIDTH);
    signed.is_none_or(|signed| first < signed)
}

/// How many calls have no line, by this one.
fn missing(entry: &[u8]) -> u64 {
    if !entry.starts_with(b"{\"kind\":\"gap\"") {
        return 0;
    }
    match Line::parse(entry) {
        Some(Line::Gap(gap)) => gap.missing,
        Some(_) | None => 0,
    }
}

/// The bundles whose lines and hashes differ. Lines after the last hash are not signed yet.
fn differing(lines: &[Hash], tiles: &[Hash]) -> Vec<u64> {
    let differs = |(bundle, tile): &(u64, &[Hash])| {
        let first = usize::try_from(bundle * TILE_WIDTH).unwrap_or(usize::MAX);
        lines.get(first..first.saturating_add(tile.len())) != Some(*tile)
    };
    (0_u64..).zip(tiles.chunks(256)).filter(differs).map(|(bundle, _)| bundle).collect()
}

/// Runs of neighbours: the first, and the one after the last.
fn segments(places: &[u64]) -> Vec<(u64, u64)> {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for place in places {
        match runs.last_mut() {
            Some((_, end)) if *end == *place => *end += 1,
            Some(_) | None => runs.push((*place, *place + 1)),
        }
    }
    runs
}

/// Names how lines differ from what they were. Lines after those that were signed may follow.
fn explain(first: u64, lines: &[Hash], were: &[Hash], problems: &mut Vec<Problem>) {
    let Some(at) = (0..were.len()).find(|at| lines.get(*at) != were.get(*at)) else { return };
    let entry = first + at as u64;
    let (now, then) = (lines.get(at..).unwrap_or_default(), &were[at..]);
    // First: of the last two lines, swapped, the second stands where it would if the first were gone.
    let differ: Vec<usize> = (0..then.len()).filter(|at| now.get(*at) != then.get(*at)).collect();
    if let [one, other] = differ[..]
        && now.get(one) == then.get(other)
        && now.get(other) == then.get(one)
    {
        return push(problems, Problem::Swapped { one: entry + one as u64, other: entry + other as u64 });
    }
    // Of one line at the end nobody can tell whether it was removed or changed.
    if now.starts_with(&then[1..]) && (then.len() > 1 || now.is_empty()) {
        return push(problems, Problem::Removed { entry });
    }
    if now.get(1..).is_some_and(|rest| rest.starts_with(then)) {
        return push(problems, Problem::Inserted { entry });
    }
    for at in differ {
        push(problems, Problem::Changed { entry: entry + at as u64 });
    }
}

fn push(problems: &mut Vec<Problem>, problem: Problem) {
    if !problems.contains(&problem) {
        problems.push(problem);
    }
}

/// The tile that has the hashes of a bundle.
fn leaf_tile(bundle: u64, count: usize) -> Tile {
    let kind = Kind::Hashes(0);
    Tile::of_row(kind, bundle, count as u64).unwrap_or_else(|| Tile::full(kind, bundle))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said of lines, each a letter, that were others.
    fn said(were: &str, now: &str) -> Vec<Problem> {
        let hashes = |lines: &str| lines.bytes().map(|line| [line; 32]).collect::<Vec<Hash>>();
        let mut problems = Vec::new();
        explain(10, &hashes(now), &hashes(were), &mut problems);
        problems
    }

    #[test]
    fn each_alteration_has_its_name_wherever_it_is() {
        assert_eq!(said("abcd", "abcde"), []);
        for (one, other, now) in [(10, 11, "bacd"), (11, 12, "acbd"), (12, 13, "abdc"), (10, 13, "dbca")] {
            assert_eq!(said("abcd", now), [Problem::Swapped { one, other }], "{now}");
            assert_eq!(said("abcd", &format!("{now}e")), [Problem::Swapped { one, other }], "{now}");
        }
        for (entry, now) in [(10, "bcd"), (11, "acd"), (12, "abd"), (13, "abc"), (11, "acde")] {
            assert_eq!(said("abcd", now), [Problem::Removed { entry }], "{now}");
        }
        for (entry, now) in [(10, "xabcd"), (11, "axbcd"), (13, "abcxd")] {
            assert_eq!(said("abcd", now), [Problem::Inserted { entry }], "{now}");
        }
        for (entry, now) in [(10, "xbcd"), (12, "abxd"), (13, "abcx")] {
            assert_eq!(said("abcd", now), [Problem::Changed { entry }], "{now}");
        }
    }
}
