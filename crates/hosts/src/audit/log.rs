//! Reads an audit log: its lines, the hashes of its tree, its newest checkpoint, and what was kept apart. Changes nothing and
//! waits for nobody; a bundle that is completed meanwhile is found where it went.

use readproof_core::tlog::{Checkpoint, Hash, Kind, PublicKey, TILE_WIDTH, Tile, TileHashes, bundle, leaf, subtree};
use readproof_disk::{AuditPart, AuditParts, Create, Store};
use std::{cell::RefCell, collections::BTreeMap, mem, sync::Arc};

use super::{AuditError, Line};

/// How many bytes stand before a text that is kept: the number of the call, the nonce, and the length.
pub(super) const KEPT_HEAD: usize = 8 + 32 + 4;

/// How many bytes stand before the entries of the tail: the index of the first.
const HEAD: usize = 8;

/// The entries after the last full bundle.
#[derive(Clone, Debug, Default)]
pub(super) struct Tail {
    /// The index of its first entry.
    pub(super) first: u64,
    pub(super) entries: Vec<Vec<u8>>,
    /// How many bytes its head and its whole entries take.
    pub(super) used: u64,
    /// What follows them: an append that was not finished.
    pub(super) torn: u64,
}

impl Tail {
    pub(super) fn load(parts: &dyn AuditParts) -> Result<Self, AuditError> {
        let Some(bytes) = parts.load(&AuditPart::Tail)? else { return Ok(Self::default()) };
        let damaged = || AuditError::Damaged { part: AuditPart::Tail.path() };
        let Some((head, rest)) = bytes.split_first_chunk::<HEAD>() else {
            // Its first append was not finished.
            return Ok(Self { torn: bytes.len() as u64, ..Self::default() });
        };
        let first = u64::from_be_bytes(*head);
        if !first.is_multiple_of(TILE_WIDTH) {
            return Err(damaged());
        }
        let (entries, used) = bundle::split(rest);
        // A power failure can leave zeros where bytes should be. No line is empty.
        let whole: Vec<Vec<u8>> =
            entries.iter().take_while(|entry| is_line(entry)).map(|entry| entry.to_vec()).collect();
        let used = if whole.len() == entries.len() { used } else { whole.iter().map(|entry| entry.len() + 2).sum() };
        if whole.len() as u64 > TILE_WIDTH {
            return Err(damaged());
        }
        Ok(Self { first, used: (HEAD + used) as u64, torn: (rest.len() - used) as u64, entries: whole })
    }

    pub(super) fn size(&self) -> u64 {
        self.first + self.entries.len() as u64
    }

    pub(super) fn hashes(&self) -> Vec<Hash> {
        self.entries.iter().map(|entry| leaf(entry)).collect()
    }

    pub(super) fn head(first: u64) -> [u8; HEAD] {
        first.to_be_bytes()
    }
}

fn is_line(entry: &[u8]) -> bool {
    entry.first() == Some(&b'{') && entry.last() == Some(&b'}')
}

/// An audit log to be read.
#[derive(Clone, Debug)]
pub struct AuditLog {
    pub(super) parts: Arc<dyn AuditParts>,
}

/// What was kept apart from a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disclosed {
    pub nonce: [u8; 32],
    pub text: String,
}

impl AuditLog {
    /// The log of a store; `None` if it has none.
    ///
    /// # Errors
    /// [`AuditError`] when it cannot be opened.
    pub fn open(store: &dyn Store) -> Result<Option<Self>, AuditError> {
        Ok(store.audit(Create::No)?.map(|parts| Self { parts }))
    }

    /// How many lines it has.
    ///
    /// # Errors
    /// [`AuditError`] when the tail cannot be read.
    pub fn size(&self) -> Result<u64, AuditError> {
        Ok(Tail::load(&*self.parts)?.size())
    }

    /// The lines of a bundle, the last one as far as it has any; `None` if it is not there.
    ///
    /// # Errors
    /// [`AuditError`] when it cannot be read or is damaged.
    pub fn bundle(&self, index: u64) -> Result<Option<Vec<Vec<u8>>>, AuditError> {
        let part = AuditPart::Tile(Tile::full(Kind::Entries, index));
        let mut found = self.parts.load(&part)?;
        if found.is_none() {
            let tail = Tail::load(&*self.parts)?;
            if tail.first == index * TILE_WIDTH {
                return Ok(Some(tail.entries).filter(|entries| !entries.is_empty()));
            }
            // It was completed between the two looks.
            found = self.parts.load(&part)?;
        }
        let Some(bytes) = found else { return Ok(None) };
        let entries = bundle::entries(&bytes).ok_or_else(|| AuditError::Damaged { part: part.path() })?;
        Ok(Some(entries.into_iter().map(<[u8]>::to_vec).collect()))
    }

    /// One line, from 0.
    ///
    /// # Errors
    /// [`AuditError`] when there is none, or it was moved away.
    pub fn entry(&self, index: u64) -> Result<Vec<u8>, AuditError> {
        let size = self.size()?;
        if index >= size {
            return Err(AuditError::NoEntry { entry: index, size });
        }
        let lines = self.bundle(index / TILE_WIDTH)?.ok_or(AuditError::MovedAway { entry: index })?;
        let at = usize::try_from(index % TILE_WIDTH).unwrap_or(usize::MAX);
        lines.into_iter().nth(at).ok_or(AuditError::NoEntry { entry: index, size })
    }

    /// The newest signed checkpoint as it is, verified by nobody.
    ///
    /// # Errors
    /// [`AuditError`] when it cannot be read.
    pub fn checkpoint(&self) -> Result<Option<String>, AuditError> {
        text_of(&*self.parts, &AuditPart::Checkpoint)
    }

    /// The key that verifies its checkpoints.
    ///
    /// # Errors
    /// [`AuditError`] when there is none that can be used.
    pub fn key(&self) -> Result<PublicKey, AuditError> {
        let part = AuditPart::PublicKey;
        let text = text_of(&*self.parts, &part)?;
        let key = text.and_then(|text| PublicKey::parse(text.trim_end()));
        key.ok_or_else(|| AuditError::Damaged { part: part.path() })
    }

    /// What was kept apart from a line; `None` if it was erased, or never kept.
    ///
    /// # Errors
    /// [`AuditError`] when it cannot be read.
    pub fn disclosed(&self, index: u64, line: &Line) -> Result<Option<Disclosed>, AuditError> {
        let Line::Call(call) = line else { return Ok(None) };
        let part = AuditPart::Kept { bundle: index / TILE_WIDTH, writer: call.writer.clone() };
        if AuditPart::parse(&part.path()).as_ref() != Some(&part) {
            // Whoever wrote this line, it was not a process of ours.
            return Ok(None);
        }
        let mut search = Search { seq: call.seq, at: 0, asked: Asked::Nothing, found: None };
        self.parts.pieces(&part, &mut |piece| search.next(piece))?;
        Ok(search.found)
    }

    /// The hashes of the tree as they are stored. Each tile is read once: a proof needs many hashes of few tiles.
    pub(super) fn hashes(&self, size: u64) -> TileHashes<impl Fn(Tile) -> Option<Vec<Hash>>> {
        let (parts, tail) = (Arc::clone(&self.parts), Tail::load(&*self.parts).unwrap_or_default());
        let met = RefCell::new(BTreeMap::<Tile, Option<Vec<Hash>>>::new());
        TileHashes::new(size, move |tile| {
            let mut met = met.borrow_mut();
            met.entry(tile).or_insert_with(|| stored_hashes(&*parts, &tail, tile)).clone()
        })
    }

    /// The logs that were put aside, by name.
    #[must_use]
    pub fn aside(&self) -> Vec<String> {
        self.parts.aside()
    }
}

/// The hashes of a tile of this log, at least as many as are asked for. A tile that has grown meanwhile serves too.
pub(super) fn stored_hashes(parts: &dyn AuditParts, tail: &Tail, tile: Tile) -> Option<Vec<Hash>> {
    let Kind::Hashes(level) = tile.kind else { return None };
    if level == 0 && tile.index * TILE_WIDTH == tail.first {
        return Some(tail.hashes());
    }
    let load = |tile: Tile| hashes_of(&parts.load(&AuditPart::Tile(tile)).ok()??);
    let grown = Tile::of_row(tile.kind, tile.index, tail.size().checked_shr(8 * u32::from(level))?)?;
    load(grown)
        .or_else(|| load(tile))
        .or_else(|| load(Tile::full(tile.kind, tile.index)))
        .or_else(|| rebuilt(parts, tail, grown))
}

/// The hashes of a tile above the leaves, from the tiles below it.
fn rebuilt(parts: &dyn AuditParts, tail: &Tail, tile: Tile) -> Option<Vec<Hash>> {
    let Kind::Hashes(level) = tile.kind else { return None };
    let below = level.checked_sub(1)?;
    let first = tile.index.checked_mul(TILE_WIDTH)?;
    let below =
        |index| stored_hashes(parts, tail, Tile::full(Kind::Hashes(below), index)).filter(|row| row.len() == 256);
    (first..first + u64::from(tile.width)).map(|index| Some(subtree(&below(index)?))).collect()
}

pub(super) fn hashes_of(bytes: &[u8]) -> Option<Vec<Hash>> {
    let (rows, rest) = bytes.as_chunks::<32>();
    (rest.is_empty() && !rows.is_empty()).then(|| rows.to_vec())
}

pub(super) fn text_of(parts: &dyn AuditParts, part: &AuditPart) -> Result<Option<String>, AuditError> {
    let Some(bytes) = parts.load(part)? else { return Ok(None) };
    String::from_utf8(bytes).map(Some).map_err(|_| AuditError::Damaged { part: part.path() })
}

/// What a signed note of this log says, whoever signed it.
pub(super) fn said(note: &str) -> Option<Checkpoint> {
    note.rfind("\n\n").and_then(|at| Checkpoint::parse(&note[..=at]))
}

/// One record of what is kept apart: the number of the call, the nonce, and the text behind its length.
pub(super) fn keep(bytes: &mut Vec<u8>, seq: u64, nonce: &[u8; 32], text: &str) {
    let len = u32::try_from(text.len()).unwrap_or(u32::MAX);
    bytes.extend_from_slice(&seq.to_be_bytes());
    bytes.extend_from_slice(nonce);
    bytes.extend_from_slice(&len.to_be_bytes());
    bytes.extend_from_slice(&text.as_bytes()[..usize::try_from(len).unwrap_or(usize::MAX).min(text.len())]);
}

/// The records of what is kept apart, without one that was not finished.
pub(super) fn kept(mut bytes: &[u8]) -> impl Iterator<Item = (u64, [u8; 32], &[u8])> {
    std::iter::from_fn(move || {
        let (seq, nonce, len, rest) = kept_head(bytes)?;
        let (text, rest) = rest.split_at_checked(usize::try_from(len).ok()?)?;
        bytes = rest;
        Some((seq, nonce, text))
    })
}

/// The number, the nonce and the length of a record, and what follows them.
fn kept_head(bytes: &[u8]) -> Option<(u64, [u8; 32], u32, &[u8])> {
    let (seq, rest) = bytes.split_first_chunk::<8>()?;
    let (nonce, rest) = rest.split_first_chunk::<32>()?;
    let (len, rest) = rest.split_first_chunk::<4>()?;
    Some((u64::from_be_bytes(*seq), *nonce, u32::from_be_bytes(*len), rest))
}

/// How much of what is kept is read at a time. Texts are passed over, so a proof among long ones reads little more than its own.
const PIECE: u64 = 4096;

/// Looks for one record of what is kept apart, piece by piece.
struct Search {
    seq: u64,
    /// Where the next record begins.
    at: u64,
    asked: Asked,
    found: Option<Disclosed>,
}

/// What the next piece is.
enum Asked {
    Nothing,
    Records,
    /// The text that is looked for, with its nonce and its length.
    Text([u8; 32], u64),
}

impl Search {
    fn next(&mut self, piece: &[u8]) -> Option<(u64, u64)> {
        match mem::replace(&mut self.asked, Asked::Records) {
            Asked::Nothing => return Some((0, PIECE)),
            Asked::Records => {}
            Asked::Text(nonce, len) => {
                let text = Some(piece.to_vec()).filter(|text| text.len() as u64 == len);
                self.found = text.and_then(|text| Some(Disclosed { nonce, text: String::from_utf8(text).ok()? }));
                return None;
            }
        }
        let mut rest = piece;
        while let Some((seq, nonce, len, text)) = kept_head(rest) {
            if seq == self.seq {
                self.asked = Asked::Text(nonce, len.into());
                return Some((self.at + KEPT_HEAD as u64, len.into()));
            }
            self.at += KEPT_HEAD as u64 + u64::from(len);
            rest = usize::try_from(len).ok().and_then(|len| text.get(len..)).unwrap_or_default();
        }
        (piece.len() >= KEPT_HEAD).then_some((self.at, PIECE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `pieces` of a store reads them.
    fn search(bytes: &[u8], seq: u64) -> Option<Disclosed> {
        let mut search = Search { seq, at: 0, asked: Asked::Nothing, found: None };
        let mut piece: &[u8] = &[];
        while let Some((at, most)) = search.next(piece) {
            let at = usize::try_from(at).unwrap().min(bytes.len());
            piece = &bytes[at..(at + usize::try_from(most).unwrap()).min(bytes.len())];
        }
        search.found
    }

    #[test]
    fn a_record_is_found_wherever_pieces_end() {
        let (mut bytes, piece) = (Vec::new(), usize::try_from(PIECE).unwrap());
        let lengths = [0, 1, piece - 2 * KEPT_HEAD, piece, 0, 3 * piece + 1, piece - KEPT_HEAD - 1, 5, piece - 1, 7];
        let text = |at: usize| char::from(b'a' + u8::try_from(at).unwrap()).to_string().repeat(lengths[at]);
        let mut ends = Vec::new();
        for at in 0..lengths.len() {
            keep(&mut bytes, at as u64 + 1, &[u8::try_from(at).unwrap(); 32], &text(at));
            ends.push(bytes.len());
        }
        for at in 0..lengths.len() {
            let found = search(&bytes, at as u64 + 1).unwrap();
            assert!(found.text == text(at) && found.nonce == [u8::try_from(at).unwrap(); 32], "{at}");
            // One that was not finished is none.
            assert_eq!(search(&bytes[..ends[at] - 1], at as u64 + 1), None, "{at}");
            assert_eq!(kept(&bytes[..ends[at] - 1]).count(), at, "{at}");
        }
        assert_eq!(search(&bytes, 99), None);
        assert_eq!(search(&[], 1), None);
    }
}
