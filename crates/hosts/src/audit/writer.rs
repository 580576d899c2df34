//! Appends to an audit log, in batches, one process at a time. A line counts as written when it survives the end of the
//! process, and as durable when it survives a power failure. Nothing is signed that is not durable, and nothing that does not
//! go on from what was signed before: such a log is put aside as a whole, and another begins that says so.

use readproof_core::tlog::{Checkpoint, Hash, Kind, SigningKey, TILE_WIDTH, Tile, TileHashes, bundle, root, subtree};
use readproof_disk::{AuditCount, AuditPart, AuditParts, Counted, Create, Lasting, Store};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use super::{
    AuditError, BeganLine, CallFacts, GapLine, Line, RotatedLine, SCHEMA,
    log::{Tail, keep, said, stored_hashes, text_of},
};

/// How the names of our logs begin; the rest follows from the key.
const ORIGIN: &str = "readproof/audit/";

/// A call that waits for its line.
#[derive(Clone, Debug)]
pub struct Pending {
    /// The how many-th call of this process it is, from 1.
    pub seq: u64,
    pub facts: CallFacts,
}

/// Whether texts are kept, and the time for lines that no call makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened {
    pub keeps_texts: bool,
    /// Milliseconds since 1970.
    pub now: u64,
}

/// A process that counts its calls and has not written a line yet.
#[derive(Clone, Debug)]
pub struct Begun {
    parts: Arc<dyn AuditParts>,
    writer: String,
    count: Arc<dyn AuditCount>,
    /// How many lines it wrote.
    lines: Arc<AtomicU64>,
}

impl Begun {
    /// Begins to count the calls of this process; quick, as nothing is looked at.
    ///
    /// # Errors
    /// [`AuditError`] when the store has no place for an audit log.
    pub fn new(store: &dyn Store) -> Result<Self, AuditError> {
        let parts = store.audit(Create::Yes)?.ok_or(AuditError::NoRandom)?;
        let writer = random::<8>()?.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let count = parts.count(&writer)?;
        Ok(Self { parts, writer, count, lines: Arc::default() })
    }

    /// Notes how many calls there were. Counted first, a call that never gets its line is missed.
    ///
    /// # Errors
    /// [`AuditError`] when it is not kept.
    pub fn calls(&self, calls: u64) -> Result<(), AuditError> {
        Ok(self.count.calls(calls)?)
    }
}

/// Writes the lines of one process.
#[derive(Debug)]
pub struct AuditWriter {
    pub(super) parts: Arc<dyn AuditParts>,
    key: SigningKey,
    /// The name of this process in its lines.
    writer: String,
    count: Arc<dyn AuditCount>,
    /// How many lines it wrote.
    own: Arc<AtomicU64>,
    keeps_texts: bool,
    /// The bundle to which something was kept last, and how long its file is.
    kept: Option<(u64, u64)>,
    /// The log that was put aside to begin this one.
    aside: Option<String>,
    /// Whether anything was ever signed when it was opened.
    was_signed: bool,
}

impl AuditWriter {
    /// Opens the log of a store, makes it if need be, and records what processes that are gone did not write. `begun` is how this
    /// process counts; it may be another one afterwards.
    ///
    /// # Errors
    /// [`AuditError`] when nothing can be written.
    pub fn open(store: &dyn Store, begun: Begun, with: Opened) -> Result<Self, AuditError> {
        let why = match Self::open_in(begun.clone(), with, None) {
            Err(error @ (AuditError::NotAsSigned { .. } | AuditError::Damaged { .. } | AuditError::Checkpoint(_))) => {
                reason(&error)
            }
            opened => return opened,
        };
        let aside = {
            let _turn = begun.parts.lock()?;
            begun.parts.put_aside()?
        };
        let next = Begun::new(store)?;
        next.lines.store(begun.lines.load(Ordering::Relaxed), Ordering::Relaxed);
        Self::open_in(next, with, Some((aside, why)))
    }

    fn open_in(begun: Begun, with: Opened, aside: Option<(String, String)>) -> Result<Self, AuditError> {
        let Begun { parts, writer, count, lines: own } = begun;
        let turn = parts.lock()?;
        let (key, is_new) = key(&*parts)?;
        let mut tail = Tail::load(&*parts)?;
        let was_signed = fits(&*parts, &key, &tail)?.is_some();
        let (aside, why) = aside.unzip();
        let mut lines = Vec::new();
        if is_new {
            lines.push(Line::Began(BeganLine { v: SCHEMA, at: with.now, aside: aside.clone(), why }));
        }
        let this =
            Self { parts, key, writer, count, own, keeps_texts: with.keeps_texts, kept: None, aside, was_signed };
        if tail.torn > 0 && tail.size() > 0 {
            let why = "an append was cut off".to_owned();
            lines.push(Line::Gap(GapLine { v: SCHEMA, at: with.now, writer: None, missing: 0, why }));
        }
        let ended = this.parts.ended();
        for (writer, counted) in &ended {
            let log = super::AuditLog { parts: Arc::clone(&this.parts) };
            let missing = missing_of(&log, writer, *counted);
            if missing > 0 {
                let why = "the process ended before it wrote them".to_owned();
                lines.push(Line::Gap(GapLine { v: SCHEMA, at: with.now, writer: Some(writer.clone()), missing, why }));
            }
        }
        for line in &lines {
            this.add(&mut tail, &[line.to_text().into_bytes()], Lasting::No)?;
        }
        for (writer, _) in &ended {
            this.parts.forget_count(writer)?;
        }
        drop(turn);
        Ok(this)
    }

    /// The log that was put aside because it was not as it had been signed.
    #[must_use]
    pub fn aside(&self) -> Option<&str> {
        self.aside.as_deref()
    }

    /// Whether the log had a checkpoint when it was opened.
    #[must_use]
    pub fn was_signed(&self) -> bool {
        self.was_signed
    }

    /// How this process counts its calls now.
    #[must_use]
    pub fn begun(&self) -> Begun {
        let (parts, count, lines) = (Arc::clone(&self.parts), Arc::clone(&self.count), Arc::clone(&self.own));
        Begun { parts, writer: self.writer.clone(), count, lines }
    }

    /// The key of this log's checkpoints.
    #[must_use]
    pub fn key(&self) -> String {
        self.key.public().to_string()
    }

    /// Appends the lines of calls, in the order of their numbers.
    ///
    /// # Errors
    /// [`AuditError`]; some of them may have been written.
    pub fn append(&mut self, calls: &[Pending], lasting: Lasting) -> Result<(), AuditError> {
        if calls.is_empty() {
            return Ok(());
        }
        let nonces = random_many(calls.len())?;
        let _turn = self.parts.lock()?;
        let mut tail = self.tail()?;
        self.say_lost(&mut tail, &calls[0])?;
        self.count.batch(tail.size(), self.own.load(Ordering::Relaxed))?;
        let (mut calls, mut nonces) = (calls, &nonces[..]);
        while !calls.is_empty() {
            let room =
                usize::try_from(TILE_WIDTH).unwrap_or(0).saturating_sub(tail.entries.len()).clamp(1, calls.len());
            let (now, later) = calls.split_at(room);
            let (used, unused) = nonces.split_at(room);
            // First, so that whoever finds the line finds its text.
            self.keep(tail.first / TILE_WIDTH, now, used)?;
            let line =
                |(call, nonce): (&Pending, &[u8; 32])| call.facts.line(&self.writer, call.seq, nonce).into_bytes();
            let lines: Vec<Vec<u8>> = now.iter().zip(used).map(line).collect();
            self.add(&mut tail, &lines, lasting)?;
            self.own.fetch_add(lines.len() as u64, Ordering::Relaxed);
            (calls, nonces) = (later, unused);
        }
        Ok(())
    }

    /// Says how many calls before this one got no line, because nothing could be written.
    fn say_lost(&self, tail: &mut Tail, call: &Pending) -> Result<(), AuditError> {
        let missing = call.seq.saturating_sub(1).saturating_sub(self.own.load(Ordering::Relaxed));
        if missing == 0 {
            return Ok(());
        }
        let (writer, why) = (Some(self.writer.clone()), "they could not be written".to_owned());
        let line = Line::Gap(GapLine { v: SCHEMA, at: call.facts.at, writer, missing, why });
        self.add(tail, &[line.to_text().into_bytes()], Lasting::No)?;
        // From here on they are accounted for.
        self.own.fetch_add(missing, Ordering::Relaxed);
        Ok(())
    }

    /// Signs what is in the log, once it is durable. Gives the checkpoint; `None` if the newest one has everything already.
    ///
    /// # Errors
    /// [`AuditError::NotAsSigned`] when the log does not go on from what was signed before.
    pub fn sign(&mut self) -> Result<Option<String>, AuditError> {
        let _turn = self.parts.lock()?;
        let tail = self.tail()?;
        let before = fits(&*self.parts, &self.key, &tail)?;
        let size = tail.size();
        if before.as_ref().is_some_and(|before| before.size == size) {
            return Ok(None);
        }
        let hashes = tail.hashes();
        if !hashes.is_empty() {
            self.parts.append(&AuditPart::Tail, tail.used, &[], Lasting::Yes)?;
        }
        let unknown = || AuditError::Damaged { part: "tile".to_owned() };
        let top = root(size, &hashes_of_log(&*self.parts, &tail, size)).ok_or_else(unknown)?;
        let checkpoint = Checkpoint { origin: self.key.public().name().to_owned(), size, root: top };
        let note = checkpoint.sign(&self.key).ok_or_else(unknown)?;
        if let Some(partial) = partial(size) {
            self.parts.put(&AuditPart::Tile(partial), hashes.as_flattened(), Lasting::Yes)?;
        }
        self.parts.put(&AuditPart::Checkpoint, note.as_bytes(), Lasting::Yes)?;
        if let Some(old) = before.and_then(|before| partial(before.size)) {
            self.parts.remove(&AuditPart::Tile(old))?;
        }
        Ok(Some(note))
    }

    /// Records that bundles before an entry were moved away, or that what is kept apart from entries before another was erased.
    ///
    /// # Errors
    /// [`AuditError`] when it cannot be.
    pub fn rotated(&mut self, now: u64, (moved_before, erased_before): (u64, u64)) -> Result<(), AuditError> {
        let line = Line::Rotated(RotatedLine { v: SCHEMA, at: now, moved_before, erased_before });
        let _turn = self.parts.lock()?;
        let mut tail = self.tail()?;
        self.add(&mut tail, &[line.to_text().into_bytes()], Lasting::Yes)
    }

    /// The tail, completed if the last writer did not come to it.
    pub(super) fn tail(&self) -> Result<Tail, AuditError> {
        let mut tail = Tail::load(&*self.parts)?;
        if tail.torn > 0 {
            // What looks like an append that was cut off may be a line that was signed.
            fits(&*self.parts, &self.key, &tail)?;
        }
        if tail.entries.len() as u64 >= TILE_WIDTH {
            self.complete(&mut tail)?;
        }
        Ok(tail)
    }

    pub(super) fn add(&self, tail: &mut Tail, lines: &[Vec<u8>], lasting: Lasting) -> Result<(), AuditError> {
        let mut bytes = Vec::new();
        if tail.used == 0 {
            bytes.extend_from_slice(&Tail::head(tail.first));
        }
        for line in lines {
            if !bundle::push(&mut bytes, line) {
                return Err(AuditError::Damaged { part: AuditPart::Tail.path() });
            }
        }
        if lines.is_empty() {
            return Ok(());
        }
        self.parts.append(&AuditPart::Tail, tail.used, &bytes, lasting)?;
        tail.used += bytes.len() as u64;
        tail.torn = 0;
        tail.entries.extend_from_slice(lines);
        if tail.entries.len() as u64 >= TILE_WIDTH {
            self.complete(tail)?;
        }
        Ok(())
    }

    /// Makes a full tail a bundle, writes the hashes above it, and begins another tail. May be done again at any point.
    fn complete(&self, tail: &mut Tail) -> Result<(), AuditError> {
        let (mut index, mut bytes) = (tail.first / TILE_WIDTH, Vec::new());
        let fits = tail.entries.iter().all(|entry| bundle::push(&mut bytes, entry));
        debug_assert!(fits, "they came from a bundle");
        let mut row = tail.hashes();
        let put = |kind, index, width, bytes: &[u8]| {
            self.parts.put(&AuditPart::Tile(Tile { kind, index, width }), bytes, Lasting::Yes)
        };
        put(Kind::Entries, index, 256, &bytes)?;
        put(Kind::Hashes(0), index, 256, row.as_flattened())?;
        // Higher levels have a hash for each full tile below.
        for level in 1..=7_u8 {
            let hash = subtree(&row);
            let (above, at) = (index / TILE_WIDTH, u16::try_from(index % TILE_WIDTH).unwrap_or(0));
            let kind = Kind::Hashes(level);
            row = match at {
                0 => Vec::new(),
                _ => {
                    let found = stored_hashes(&*self.parts, tail, Tile { kind, index: above, width: at });
                    let mut found = found
                        .ok_or_else(|| AuditError::Damaged { part: Tile { kind, index: above, width: at }.path() })?;
                    found.truncate(usize::from(at));
                    found
                }
            };
            row.push(hash);
            put(kind, above, at + 1, row.as_flattened())?;
            if at > 0 {
                self.parts.remove(&AuditPart::Tile(Tile { kind, index: above, width: at }))?;
            }
            if row.len() as u64 != TILE_WIDTH {
                break;
            }
            index = above;
        }
        let signed = text_of(&*self.parts, &AuditPart::Checkpoint)?.and_then(|note| said(&note));
        *tail = Tail { first: tail.first + TILE_WIDTH, used: Tail::head(0).len() as u64, ..Tail::default() };
        self.parts.put(&AuditPart::Tail, &Tail::head(tail.first), Lasting::Yes)?;
        match signed.and_then(|signed| partial(signed.size)) {
            Some(old) => Ok(self.parts.remove(&AuditPart::Tile(old))?),
            None => Ok(()),
        }
    }

    /// Keeps nonces and texts apart from the lines.
    fn keep(&mut self, bundle: u64, calls: &[Pending], nonces: &[[u8; 32]]) -> Result<(), AuditError> {
        if !self.keeps_texts {
            return Ok(());
        }
        let mut bytes = Vec::new();
        for (call, nonce) in calls.iter().zip(nonces).filter(|(call, _)| !call.facts.is_sensitive) {
            keep(&mut bytes, call.seq, nonce, &call.facts.text);
        }
        if bytes.is_empty() {
            return Ok(());
        }
        let at = self.kept.filter(|(of, _)| *of == bundle).map_or(0, |(_, len)| len);
        let part = AuditPart::Kept { bundle, writer: self.writer.clone() };
        self.parts.append(&part, at, &bytes, Lasting::No)?;
        self.kept = Some((bundle, at + bytes.len() as u64));
        Ok(())
    }

    /// Ends the count of a process that made so many calls. If some have no line, the count stays, so that the next process to
    /// open the log says so.
    pub fn close(self, calls: u64) {
        if self.own.load(Ordering::Relaxed) >= calls {
            // If it stays, it says the same.
            let _ = self.parts.forget_count(&self.writer);
        }
    }
}

/// How many calls of a process that is gone have no line: its last batch may be written wholly, in part or not at all.
pub(super) fn missing_of(log: &super::AuditLog, writer: &str, counted: Counted) -> u64 {
    let (mut lines, mut at) = (counted.lines, counted.from);
    let mut bundle: Option<(u64, Vec<Vec<u8>>)> = None;
    while lines < counted.calls {
        let index = at / TILE_WIDTH;
        if bundle.as_ref().is_none_or(|(of, _)| *of != index) {
            bundle = log.bundle(index).ok().flatten().map(|lines| (index, lines));
        }
        let offset = usize::try_from(at % TILE_WIDTH).unwrap_or(usize::MAX);
        match bundle.as_ref().and_then(|(_, lines)| Line::parse(lines.get(offset)?)) {
            Some(Line::Call(call)) if call.writer == writer => lines += 1,
            Some(_) | None => break,
        }
        at += 1;
    }
    counted.calls.saturating_sub(lines)
}

/// The partial tile of leaves that a checkpoint of this size needs.
fn partial(size: u64) -> Option<Tile> {
    Tile::of_row(Kind::Hashes(0), size / TILE_WIDTH, size).filter(|tile| !tile.is_full())
}

fn hashes_of_log<'l>(
    parts: &'l dyn AuditParts,
    tail: &'l Tail,
    size: u64,
) -> TileHashes<impl Fn(Tile) -> Option<Vec<Hash>> + 'l> {
    TileHashes::new(size, move |tile| stored_hashes(parts, tail, tile))
}

/// What was signed last, if the log goes on from it.
fn fits(parts: &dyn AuditParts, key: &SigningKey, tail: &Tail) -> Result<Option<Checkpoint>, AuditError> {
    let Some(note) = text_of(parts, &AuditPart::Checkpoint)? else { return Ok(None) };
    let signed = Checkpoint::verified(&note, key.public()).map_err(AuditError::Checkpoint)?;
    let is_there = signed.size <= tail.size();
    let now = is_there.then(|| root(signed.size, &hashes_of_log(parts, tail, signed.size))).flatten();
    if now == Some(signed.root) { Ok(Some(signed)) } else { Err(AuditError::NotAsSigned { size: signed.size }) }
}

/// The key of the log, and whether it was just made: then the log is empty.
fn key(parts: &dyn AuditParts) -> Result<(SigningKey, bool), AuditError> {
    let damaged = || AuditError::Damaged { part: AuditPart::Key.path() };
    if let Some(text) = text_of(parts, &AuditPart::Key)? {
        let key = SigningKey::parse(text.trim_end()).ok_or_else(damaged)?;
        let public = format!("{}\n", key.public());
        if text_of(parts, &AuditPart::PublicKey)?.as_deref() != Some(&public) {
            parts.put(&AuditPart::PublicKey, public.as_bytes(), Lasting::Yes)?;
        }
        return Ok((key, Tail::load(parts)?.size() == 0));
    }
    if parts.load(&AuditPart::Tail)?.is_some() || parts.load(&AuditPart::Checkpoint)?.is_some() {
        return Err(damaged());
    }
    let key = SigningKey::named_by_itself(ORIGIN, random()?).ok_or_else(damaged)?;
    parts.put(&AuditPart::Key, format!("{}\n", key.to_text()).as_bytes(), Lasting::Yes)?;
    parts.put(&AuditPart::PublicKey, format!("{}\n", key.public()).as_bytes(), Lasting::Yes)?;
    Ok((key, true))
}

/// Why a log was put aside, for its successor's first line.
fn reason(error: &AuditError) -> String {
    match error {
        AuditError::NotAsSigned { size } => format!("its first {size} lines were not as signed"),
        AuditError::Damaged { part } => format!("{part} was damaged"),
        AuditError::Checkpoint(_) => "its checkpoint was not signed by its key".to_owned(),
        AuditError::Store(_)
        | AuditError::NoEntry { .. }
        | AuditError::NoCall { .. }
        | AuditError::MovedAway { .. }
        | AuditError::NoRandom => "it could not be used".to_owned(),
    }
}

fn random<const N: usize>() -> Result<[u8; N], AuditError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|_| AuditError::NoRandom)?;
    Ok(bytes)
}

fn random_many(count: usize) -> Result<Vec<[u8; 32]>, AuditError> {
    let mut nonces = vec![[0; 32]; count];
    getrandom::fill(nonces.as_flattened_mut()).map_err(|_| AuditError::NoRandom)?;
    Ok(nonces)
}
