//! Brings the catalog up to date: walks the workspace, compares the stat of each file with the known one, reads and hashes
//! the files that may have changed, and parses only texts that are new.

use readproof_core::text::{ContentHash, Text};
use readproof_disk::{Root, SnapshotError, SnapshotRules, Stamp, Stat, Watch};
use rusqlite::{Connection, params};
use std::{
    cmp::Reverse,
    collections::{HashMap, HashSet},
    num::NonZeroUsize,
    path::Path,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use super::{Catalog, rows};
use crate::{
    BadWalk, FileRules, Language, NoOutline, Outline, Parsers, WalkEntry,
    walk::{judged, walk_watched},
};

/// The largest file that is parsed.
const MOST_BYTES: u64 = 2 << 20;

/// Files stored in one transaction: what is done is kept if the rest is cancelled.
const TOGETHER: usize = 64;

/// Files that a thread hands over together, as waking the thread that stores them costs more than storing one.
const SENT_AT_ONCE: usize = 16;

/// How often cancellation is checked while results are awaited.
const PATIENCE: Duration = Duration::from_millis(20);

/// What a refresh did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Indexed {
    /// Files in a known language.
    pub files: u64,
    /// Files that were read because they may have changed.
    pub read: u64,
    /// Texts that were parsed.
    pub parsed: u64,
    /// Files that no longer exist.
    pub gone: u64,
    /// Files that were left out because their names say that they hold secrets.
    pub sensitive: u64,
}

/// Why the catalog is not up to date.
#[derive(Debug)]
pub enum CatalogError {
    /// The caller no longer wants the result.
    Cancelled,
    /// The workspace cannot be walked.
    Walk(BadWalk),
    /// The database cannot be used.
    Database(rusqlite::Error),
}

impl<E: Into<rusqlite::Error>> From<E> for CatalogError {
    fn from(error: E) -> Self {
        Self::Database(error.into())
    }
}

/// The most passes over the workspace when other processes keep writing to the catalog.
const ATTEMPTS: u32 = 100;

/// A file that may have changed.
struct Changed {
    name: String,
    len: u64,
    /// Its row in the database when its stat was compared.
    row: Option<i64>,
}

/// The result of reading one file.
struct Read {
    file: Changed,
    /// `None` if a later change could go unnoticed.
    stamp: Option<Stamp>,
    what: What,
}

enum What {
    /// Nothing is stored.
    Nothing,
    /// Nothing is stored because the file is sensitive.
    Sensitive,
    /// It has no definitions, which is remembered until it changes.
    NoSymbols,
    /// It is too large, which is remembered until it changes.
    Large,
    Text(ContentHash, Language, Parsed),
}

enum Parsed {
    /// The text is in the catalog already.
    Known,
    New(Outline),
    TooHard,
}

impl Catalog {
    /// Brings the catalog up to date. `progress` is told how many files of how many are done.
    ///
    /// # Errors
    /// [`CatalogError`]; what was done until then is kept.
    pub fn refresh(
        &mut self,
        root: &Root,
        rules: FileRules<'_>,
        cancelled: &dyn Fn() -> bool,
        progress: &dyn Fn(u64, u64),
    ) -> Result<Indexed, CatalogError> {
        let mut all = Indexed::default();
        for _ in 0..ATTEMPTS {
            let (done, overtaken) = self.pass(root, rules, cancelled, progress)?;
            all = Indexed {
                files: done.files,
                read: all.read + done.read,
                parsed: all.parsed + done.parsed,
                gone: all.gone + done.gone,
                sensitive: done.sensitive,
            };
            // Another process may have read a file before or after this one did; only another pass tells which state is
            // the newer one.
            if !overtaken {
                break;
            }
        }
        Ok(all)
    }

    /// One pass over every file. Also tells whether another process has stored one of the files meanwhile.
    fn pass(
        &mut self,
        root: &Root,
        rules: FileRules<'_>,
        cancelled: &dyn Fn() -> bool,
        progress: &dyn Fn(u64, u64),
    ) -> Result<(Indexed, bool), CatalogError> {
        let version = rows::changes(&self.db)?;
        let all_watched = AtomicBool::new(true);
        let _ = self.watch.as_ref().map(Watch::is_quiet);
        let mut known = match self.known.take() {
            Some((state, known)) if state == version => known,
            Some(_) | None => known(&self.db)?,
        };
        let (mut done, changed, gone) = self.meet(root, &mut known, &all_watched, cancelled)?;
        done.read = changed.len() as u64;
        done.gone = gone.len() as u64;
        let mut overtaken = self.forget(&gone)?;
        let kept = self.take_in(root, rules, changed, cancelled, progress)?;
        (done.parsed, done.sensitive) = (kept.parsed, kept.sensitive);
        overtaken |= kept.overtaken;
        if done.read > 0 || done.gone > 0 {
            rows::sweep(&self.db)?;
        } else if known.len() <= KEPT_IN_MEMORY {
            self.known = Some((version, known));
        }
        // Forget this process's own writes. A write by another process during the pass means that the catalog is not
        // fresh, whether or not the pass has seen it.
        let _ = self.others.are_quiet(&self.db, version);
        let alone = !overtaken && rows::changes(&self.db)? == version;
        self.fresh = (alone && all_watched.load(Ordering::Relaxed)).then_some(version);
        self.sensitive = done.sensitive;
        Ok((done, overtaken))
    }

    /// Walks: counts files, and lists those that may have changed and those that no longer exist.
    fn meet(
        &self,
        root: &Root,
        known: &mut Known,
        all_watched: &AtomicBool,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<(Indexed, Vec<Changed>, Vec<Changed>), CatalogError> {
        let folders = |folder: &Path| {
            if !self.watch.as_ref().is_some_and(|watch| watch.add(folder)) {
                all_watched.store(false, Ordering::Relaxed);
            }
        };
        let mut done = Indexed::default();
        let walk = walk_watched(root, None, &folders).map_err(CatalogError::Walk)?;
        let walking = |give: &mut dyn FnMut(String)| {
            for entry in walk {
                if cancelled() {
                    return Err(CatalogError::Cancelled);
                }
                match entry {
                    WalkEntry::File(name) if may_be_known(&name) => {
                        done.files += 1;
                        give(name);
                    }
                    // The files of an unreadable folder count as missing. When it becomes readable, its parent changes.
                    WalkEntry::File(_)
                    | WalkEntry::Link(_)
                    | WalkEntry::Other
                    | WalkEntry::OddName
                    | WalkEntry::Unreadable => {}
                }
            }
            Ok(())
        };
        let mut changed = judged(walking, |name: String| {
            let before = known.get(&name);
            let (row, kept) = before.map_or((None, None), |before| {
                before.met.store(true, Ordering::Relaxed);
                (Some(before.row), before.stamp)
            });
            let now = root.glance(&name);
            // A write through another hard link does not touch this folder, so the watch does not see it.
            if now.as_ref().is_some_and(|now| now.nlink > 1) {
                all_watched.store(false, Ordering::Relaxed);
            }
            let is_same = matches!((kept, &now), (Some(kept), Some(now)) if kept == now.stamp());
            (!is_same).then(|| Changed { name, len: now.map_or(0, |now| now.len), row })
        })?;
        // Large files first, so that no core is left alone with one at the end.
        changed.sort_by_key(|file| Reverse(file.len));
        let mut gone = Vec::new();
        for (name, before) in known {
            if !std::mem::take(before.met.get_mut()) {
                gone.push(Changed { name: name.clone(), len: 0, row: Some(before.row) });
            }
        }
        Ok((done, changed, gone))
    }

    /// Removes files; whether another process has changed one of them meanwhile.
    fn forget(&mut self, gone: &[Changed]) -> Result<bool, CatalogError> {
        if gone.is_empty() {
            return Ok(false);
        }
        let work = self.db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        let mut overtaken = false;
        for file in gone {
            let removed = work.prepare_cached("DELETE FROM files WHERE id = +?1")?.execute(params![file.row])?;
            overtaken |= removed == 0;
        }
        work.commit()?;
        Ok(overtaken)
    }

    /// Reads and parses files on all cores, and stores their definitions.
    fn take_in(
        &mut self,
        root: &Root,
        rules: FileRules<'_>,
        changed: Vec<Changed>,
        cancelled: &dyn Fn() -> bool,
        progress: &dyn Fn(u64, u64),
    ) -> Result<Kept, CatalogError> {
        let total = changed.len();
        if total == 0 {
            return Ok(Kept::default());
        }
        let known = known_texts(&self.db)?;
        let reader = Reader { root, rules, known: &known };
        let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get).min(total);
        let (files, stop) = (Mutex::new(changed.into_iter()), AtomicBool::new(false));
        let next_file = || files.lock().unwrap_or_else(PoisonError::into_inner).next();
        let (done, results) = mpsc::sync_channel(TOGETHER);
        thread::scope(|scope| {
            let start = |done: mpsc::SyncSender<Vec<Option<Read>>>| {
                let stopped = || stop.load(Ordering::Relaxed);
                let (next_file, stopped, reader) = (&next_file, stopped, &reader);
                let work = move || {
                    let (mut parsers, mut batch) = (Parsers::default(), Vec::new());
                    while let Some(file) = next_file().filter(|_| !stopped()) {
                        batch.push(reader.read(file, &mut parsers, &stopped));
                        if batch.len() == SENT_AT_ONCE && done.send(std::mem::take(&mut batch)).is_err() {
                            return;
                        }
                    }
                    // Nobody is left to take it only after a cancellation.
                    let _ = done.send(batch);
                };
                thread::Builder::new().spawn_scoped(scope, work).is_ok()
            };
            // One file is not worth a thread, and the system may allow none.
            if total == 1 || (0..threads).filter(|_| start(done.clone())).count() == 0 {
                let parsers = &mut self.parsers;
                let read = std::iter::from_fn(next_file).map(|file| reader.read(file, parsers, cancelled));
                return keep(&mut self.db, read, total, cancelled, progress);
            }
            drop(done);
            // Cancellation does not wait for a slow file.
            let next = || loop {
                match results.recv_timeout(PATIENCE) {
                    Ok(batch) => return Some(batch),
                    Err(mpsc::RecvTimeoutError::Timeout) if !cancelled() => {}
                    Err(mpsc::RecvTimeoutError::Timeout | mpsc::RecvTimeoutError::Disconnected) => return None,
                }
            };
            let kept = keep(&mut self.db, std::iter::from_fn(next).flatten(), total, cancelled, progress);
            // After a cancellation the other threads end with their present file.
            stop.store(true, Ordering::Relaxed);
            drop(results);
            kept
        })
    }
}

/// What was stored.
#[derive(Default)]
struct Kept {
    /// Texts that were parsed.
    parsed: u64,
    /// Whether another process had stored one of the files meanwhile; its row was kept.
    overtaken: bool,
    sensitive: u64,
}

/// Stores results in batches.
fn keep(
    db: &mut Connection,
    mut results: impl Iterator<Item = Option<Read>>,
    total: usize,
    cancelled: &dyn Fn() -> bool,
    progress: &dyn Fn(u64, u64),
) -> Result<Kept, CatalogError> {
    let (mut kept, mut done) = (Kept::default(), 0);
    loop {
        let batch: Vec<Option<Read>> = results.by_ref().take(TOGETHER).take_while(|_| !cancelled()).collect();
        if batch.is_empty() {
            return if cancelled() { Err(CatalogError::Cancelled) } else { Ok(kept) };
        }
        done += batch.len();
        let work = db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        for read in batch.into_iter().flatten() {
            kept.parsed += u64::from(matches!(read.what, What::Text(_, _, Parsed::New(_) | Parsed::TooHard)));
            kept.sensitive += u64::from(matches!(read.what, What::Sensitive));
            kept.overtaken |= !write(&work, read)?;
        }
        work.commit()?;
        progress(done as u64, total as u64);
    }
}

/// Stores one result; `false` if another process has stored the file since its stat was compared.
fn write(db: &Connection, read: Read) -> Result<bool, rusqlite::Error> {
    let now = {
        let mut row = db.prepare_cached("SELECT id FROM files WHERE path = +?1")?;
        let mut rows = row.query(params![read.file.name])?;
        rows.next()?.map(|row| row.get::<_, i64>(0)).transpose()?
    };
    if now != read.file.row {
        return Ok(false);
    }
    let large = matches!(read.what, What::Large);
    let text = match read.what {
        What::Nothing | What::Sensitive => {
            db.prepare_cached("DELETE FROM files WHERE path = +?1")?.execute(params![read.file.name])?;
            return Ok(true);
        }
        What::NoSymbols | What::Large => None,
        What::Text(hash, language, parsed) => {
            let symbols = match &parsed {
                Parsed::New(outline) => &outline.symbols[..],
                Parsed::Known | Parsed::TooHard => &[],
            };
            match (rows::text(db, hash, language.as_str())?, &parsed) {
                (Some(id), _) => Some(id),
                // Another process has removed it since.
                (None, Parsed::Known) => return Ok(false),
                (None, Parsed::New(_) | Parsed::TooHard) => {
                    let hard = matches!(parsed, Parsed::TooHard);
                    Some(rows::insert(db, hash, language.as_str(), symbols, hard)?)
                }
            }
        }
    };
    db.prepare_cached("INSERT OR REPLACE INTO files(path, text, stamp, large) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![read.file.name, text, read.stamp, large])
        .map(|_| true)
}

/// Reads and parses files.
struct Reader<'a> {
    root: &'a Root,
    rules: FileRules<'a>,
    known: &'a HashSet<(ContentHash, String)>,
}

impl Reader<'_> {
    /// `None` if cancelled.
    fn read(&self, file: Changed, parsers: &mut Parsers, cancelled: &dyn Fn() -> bool) -> Option<Read> {
        let nothing = |file| Some(Read { file, stamp: None, what: What::Nothing });
        let name = file.name.clone();
        let path = self.root.absolute(&name);
        // Without a handle, a link has taken its place since the walk.
        let Ok((found, Some(opened))) = self.root.locate_open(&[path]) else { return nothing(file) };
        let most = SnapshotRules { max_bytes: self.rules.snapshot.max_bytes.min(MOST_BYTES), ..self.rules.snapshot };
        let read = match self.root.snapshot_opened(&found, Some(opened), None, &most) {
            Ok(read) => read,
            // This holds until the file changes.
            Err(error @ (SnapshotError::TooLarge { .. } | SnapshotError::NotText { .. })) => {
                let stamp = self.root.glance(&name).filter(Stat::tells).map(|now| now.stamp());
                let large = matches!(error, SnapshotError::TooLarge { .. }) && Language::of(&name, "").is_some();
                return Some(Read { file, stamp, what: if large { What::Large } else { What::NoSymbols } });
            }
            Err(_) => return nothing(file),
        };
        if self.rules.sensitive.is_sensitive_read(&found, &read) {
            return Some(Read { file, stamp: None, what: What::Sensitive });
        }
        let stamp = Some(read.stat).filter(Stat::tells).map(|now| now.stamp());
        let Some(language) = Language::of(&name, read.text.as_str()) else {
            return Some(Read { file, stamp, what: What::NoSymbols });
        };
        let parsed = self.parse(&read.text, language, parsers, cancelled)?;
        Some(Read { file, stamp, what: What::Text(read.text.hash(), language, parsed) })
    }

    fn parse(
        &self,
        text: &Text,
        language: Language,
        parsers: &mut Parsers,
        cancelled: &dyn Fn() -> bool,
    ) -> Option<Parsed> {
        if self.known.contains(&(text.hash(), language.as_str().to_owned())) {
            return Some(Parsed::Known);
        }
        match parsers.outline(language, text.as_str(), cancelled) {
            Ok(outline) => Some(Parsed::New(outline)),
            Err(NoOutline::TooHard) => Some(Parsed::TooHard),
            Err(NoOutline::Cancelled) => None,
        }
    }
}

/// Whether a file may be in a known language, by its name.
fn may_be_known(name: &str) -> bool {
    let file = name.rsplit('/').next().unwrap_or(name);
    !file.trim_start_matches('.').contains('.') || Language::of(name, "").is_some()
}

/// Rows are kept in memory for the next refresh in a workspace with up to so many files: about 3 MB.
const KEPT_IN_MEMORY: usize = 20_000;

/// The row of every file.
pub(super) type Known = HashMap<String, Before>;

/// A file in the database.
pub(super) struct Before {
    row: i64,
    stamp: Option<Stamp>,
    /// Whether the walk has met it.
    met: AtomicBool,
}

fn known(db: &Connection) -> Result<Known, rusqlite::Error> {
    let mut rows = db.prepare_cached("SELECT path, id, stamp FROM files")?;
    let rows = rows.query_map([], |row| {
        Ok((row.get(0)?, Before { row: row.get(1)?, stamp: row.get(2)?, met: AtomicBool::new(false) }))
    })?;
    rows.collect()
}

fn known_texts(db: &Connection) -> Result<HashSet<(ContentHash, String)>, rusqlite::Error> {
    let mut rows = db.prepare_cached("SELECT hash, language FROM texts")?;
    let rows = rows.query_map([], |row| {
        let hash: Vec<u8> = row.get(0)?;
        Ok(rows::hash(&hash).zip(row.get(1)?))
    })?;
    rows.filter_map(Result::transpose).collect()
}
