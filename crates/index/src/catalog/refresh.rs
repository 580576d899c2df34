//! Bringing the catalog up to date: what the walk meets is compared with what is known by the stat of each file, what may
//! have changed is read and hashed, and only a text that was not met before is parsed.

use readproof_core::text::{ContentHash, Text};
use readproof_disk::{Root, Sensitive, SnapshotError, SnapshotRules, Stat, Watch};
use rusqlite::{Connection, params};
use std::{
    cell::Cell,
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
use crate::{BadWalk, Entry, Language, NoOutline, Outline, Parsers, walk::walk_watched};

/// No larger file is parsed.
const MOST_BYTES: u64 = 2 << 20;

/// So many files are written down together: what is done survives when the rest is given up.
const TOGETHER: usize = 64;

/// So often it is asked whether anybody still waits.
const PATIENCE: Duration = Duration::from_millis(20);

/// What may be looked at.
#[derive(Clone, Copy)]
pub struct Rules<'a> {
    /// Which files are read.
    pub snapshot: SnapshotRules,
    /// Names of which nothing is kept.
    pub sensitive: &'a Sensitive,
}

/// What a refresh did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refreshed {
    /// Files in a language that is known.
    pub files: u64,
    /// Those that were read, as they may have changed.
    pub read: u64,
    /// Texts that were parsed.
    pub parsed: u64,
    /// Files that are gone.
    pub gone: u64,
    /// Files of which nothing is kept, as their names say that they hold secrets.
    pub sensitive: u64,
}

/// Why the catalog is not up to date.
#[derive(Debug)]
pub enum Upset {
    /// The caller lost interest.
    Cancelled,
    /// The workspace cannot be walked.
    Walk(BadWalk),
    /// The database cannot be used.
    Database(rusqlite::Error),
}

impl<E: Into<rusqlite::Error>> From<E> for Upset {
    fn from(error: E) -> Self {
        Self::Database(error.into())
    }
}

/// How often what other processes wrote meanwhile is looked at again.
const ATTEMPTS: u32 = 100;

/// A file that may have changed.
struct Changed {
    name: String,
    len: u64,
    /// Its row as it was when the file was looked at.
    row: Option<i64>,
}

/// What was found out about one file.
struct Read {
    file: Changed,
    /// None where a later change could go unnoticed.
    stamp: Option<Vec<u8>>,
    what: What,
}

enum What {
    /// Nothing is kept of it.
    Nothing,
    /// The same, as it is sensitive.
    Sensitive,
    /// Nobody need look at it again until it changes.
    NoSymbols,
    /// The same, and what it defines is missed.
    Large,
    Text(ContentHash, Language, Parsed),
}

enum Parsed {
    /// It was met before.
    Known,
    New(Outline),
    TooHard,
}

impl Catalog {
    /// Brings it up to date. `progress` is told how many files of how many are done.
    ///
    /// # Errors
    /// [`Upset`]; what was done is kept.
    pub fn refresh(
        &mut self,
        root: &Root,
        rules: Rules<'_>,
        cancelled: &dyn Fn() -> bool,
        progress: &dyn Fn(u64, u64),
    ) -> Result<Refreshed, Upset> {
        let mut all = Refreshed::default();
        for _ in 0..ATTEMPTS {
            let (done, overtaken) = self.pass(root, rules, cancelled, progress)?;
            all = Refreshed {
                files: done.files,
                read: all.read + done.read,
                parsed: all.parsed + done.parsed,
                gone: all.gone + done.gone,
                sensitive: done.sensitive,
            };
            // A file that another process has written down meanwhile may have been looked at before or after this one
            // did: only another look tells.
            if !overtaken {
                break;
            }
        }
        Ok(all)
    }

    /// One look at every file; whether another process has overtaken it.
    fn pass(
        &mut self,
        root: &Root,
        rules: Rules<'_>,
        cancelled: &dyn Fn() -> bool,
        progress: &dyn Fn(u64, u64),
    ) -> Result<(Refreshed, bool), Upset> {
        let version = rows::changes(&self.db)?;
        let all_watched = Cell::new(true);
        let _ = self.watch.as_ref().map(Watch::is_quiet);
        let (mut done, changed, gone) = self.meet(root, &all_watched, cancelled)?;
        done.read = changed.len() as u64;
        done.gone = gone.len() as u64;
        let mut overtaken = self.forget(&gone)?;
        let kept = self.take_in(root, rules, changed, cancelled, progress)?;
        (done.parsed, done.sensitive) = (kept.parsed, kept.sensitive);
        overtaken |= kept.overtaken;
        if done.read > 0 || done.gone > 0 {
            rows::sweep(&self.db)?;
        }
        // What was written here is no news; what another process wrote meanwhile is, whether or not this has seen it.
        let _ = self.others.are_quiet(&self.db, version);
        let alone = !overtaken && rows::changes(&self.db)? == version;
        self.fresh = (alone && all_watched.get()).then_some(version);
        self.sensitive = done.sensitive;
        Ok((done, overtaken))
    }

    /// Walks: counts files, and finds those that may have changed and those that are gone.
    fn meet(
        &self,
        root: &Root,
        all_watched: &Cell<bool>,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<(Refreshed, Vec<Changed>, Vec<Changed>), Upset> {
        let mut known = known(&self.db)?;
        let folders = |folder: &Path| {
            if !self.watch.as_ref().is_some_and(|watch| watch.add(folder)) {
                all_watched.set(false);
            }
        };
        let (mut done, mut changed) = (Refreshed::default(), Vec::new());
        let walk = walk_watched(root, None, &folders).map_err(Upset::Walk)?;
        for entry in walk {
            if cancelled() {
                return Err(Upset::Cancelled);
            }
            let name = match entry {
                Entry::File(name) if may_be_known(&name) => name,
                // What is in a folder that cannot be listed is not there; when that changes, its folder changes.
                Entry::File(_) | Entry::Other | Entry::OddName | Entry::Unreadable => continue,
            };
            done.files += 1;
            let before = known.remove(&name);
            let (row, kept) = before.map_or((None, None), |(row, kept)| (Some(row), kept));
            let now = root.glance(&name);
            // What is written under another name of the file does not happen in its folder.
            if now.as_ref().is_some_and(|now| now.nlink > 1) {
                all_watched.set(false);
            }
            if !matches!((kept, &now), (Some(kept), Some(now)) if kept == stamp(now)) {
                changed.push(Changed { name, len: now.map_or(0, |now| now.len), row });
            }
        }
        // The large ones first, so that no core is left alone with one at the end.
        changed.sort_by_key(|file| Reverse(file.len));
        let gone = known.into_iter().map(|(name, (row, _))| Changed { name, len: 0, row: Some(row) });
        Ok((done, changed, gone.collect()))
    }

    /// Whether another process has overtaken it.
    fn forget(&mut self, gone: &[Changed]) -> Result<bool, Upset> {
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

    /// Reads what may have changed, on all cores, and writes down what it defines.
    fn take_in(
        &mut self,
        root: &Root,
        rules: Rules<'_>,
        changed: Vec<Changed>,
        cancelled: &dyn Fn() -> bool,
        progress: &dyn Fn(u64, u64),
    ) -> Result<Kept, Upset> {
        let total = changed.len();
        if total == 0 {
            return Ok(Kept::default());
        }
        let known = known_texts(&self.db)?;
        let reader = Reader { root, rules, known: &known };
        if total == 1 {
            let read: Vec<Option<Read>> =
                changed.into_iter().map(|file| reader.read(file, &mut self.parsers, cancelled)).collect();
            return keep(&mut self.db, read.into_iter(), 1, cancelled, progress);
        }
        let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get).min(total);
        let (files, stop) = (Mutex::new(changed.into_iter()), AtomicBool::new(false));
        let (done, results) = mpsc::sync_channel(TOGETHER);
        thread::scope(|scope| {
            for _ in 0..threads {
                let (done, files, stop, reader) = (done.clone(), &files, &stop, &reader);
                scope.spawn(move || {
                    let mut parsers = Parsers::default();
                    let next = || files.lock().unwrap_or_else(PoisonError::into_inner).next();
                    while let Some(file) = next().filter(|_| !stop.load(Ordering::Relaxed)) {
                        if done.send(reader.read(file, &mut parsers, &|| stop.load(Ordering::Relaxed))).is_err() {
                            return;
                        }
                    }
                });
            }
            drop(done);
            // Whoever loses interest does not wait for a file that takes long.
            let next = || loop {
                match results.recv_timeout(PATIENCE) {
                    Ok(read) => return Some(read),
                    Err(mpsc::RecvTimeoutError::Timeout) if !cancelled() => {}
                    Err(mpsc::RecvTimeoutError::Timeout | mpsc::RecvTimeoutError::Disconnected) => return None,
                }
            };
            let kept = keep(&mut self.db, std::iter::from_fn(next), total, cancelled, progress);
            // Where it was given up the others end with the file they have.
            stop.store(true, Ordering::Relaxed);
            drop(results);
            kept
        })
    }
}

/// What became of files that were read.
#[derive(Default)]
struct Kept {
    /// Texts that were parsed.
    parsed: u64,
    /// Whether another process had written down one of them meanwhile, and that was left.
    overtaken: bool,
    /// Sensitive files.
    sensitive: u64,
}

/// Writes down what comes in.
fn keep(
    db: &mut Connection,
    mut results: impl Iterator<Item = Option<Read>>,
    total: usize,
    cancelled: &dyn Fn() -> bool,
    progress: &dyn Fn(u64, u64),
) -> Result<Kept, Upset> {
    let (mut kept, mut done) = (Kept::default(), 0);
    loop {
        let batch: Vec<Option<Read>> = results.by_ref().take(TOGETHER).take_while(|_| !cancelled()).collect();
        if batch.is_empty() {
            return if cancelled() { Err(Upset::Cancelled) } else { Ok(kept) };
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

/// `false`: another process has written it down since it was looked at.
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
                // It was known, and somebody has removed it since.
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
    rules: Rules<'a>,
    known: &'a HashSet<(ContentHash, String)>,
}

impl Reader<'_> {
    /// `None`: the caller lost interest.
    fn read(&self, file: Changed, parsers: &mut Parsers, cancelled: &dyn Fn() -> bool) -> Option<Read> {
        let nothing = |file| Some(Read { file, stamp: None, what: What::Nothing });
        let name = file.name.clone();
        let path = self.root.absolute(&name);
        // Without a handle a link has taken its place since the walk.
        let Ok((found, Some(opened))) = self.root.locate_open(&[path]) else { return nothing(file) };
        let most = SnapshotRules { max_bytes: self.rules.snapshot.max_bytes.min(MOST_BYTES), ..self.rules.snapshot };
        let read = match self.root.snapshot_opened(&found, Some(opened), None, &most) {
            Ok(read) => read,
            // As long as it does not change that will not either.
            Err(error @ (SnapshotError::TooLarge { .. } | SnapshotError::NotText { .. })) => {
                let stamp = self.root.glance(&name).filter(Stat::tells).map(|now| stamp(&now));
                let large = matches!(error, SnapshotError::TooLarge { .. }) && Language::of(&name, "").is_some();
                return Some(Read { file, stamp, what: if large { What::Large } else { What::NoSymbols } });
            }
            Err(_) => return nothing(file),
        };
        if self.rules.sensitive.is_sensitive_read(&found, &read) {
            return Some(Read { file, stamp: None, what: What::Sensitive });
        }
        let stamp = Some(read.stat).filter(Stat::tells).map(|now| stamp(&now));
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

/// Whether the name alone does not rule it out.
fn may_be_known(name: &str) -> bool {
    let file = name.rsplit('/').next().unwrap_or(name);
    !file.trim_start_matches('.').contains('.') || Language::of(name, "").is_some()
}

/// What tells that a file is as it was.
fn stamp(stat: &Stat) -> Vec<u8> {
    let numbers = [stat.len, stat.mtime_ns.cast_unsigned(), stat.ctime_ns.cast_unsigned(), stat.dev, stat.ino];
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// The row and the stamp of every file.
type Known = HashMap<String, (i64, Option<Vec<u8>>)>;

fn known(db: &Connection) -> Result<Known, rusqlite::Error> {
    let mut rows = db.prepare_cached("SELECT path, id, stamp FROM files")?;
    let rows = rows.query_map([], |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?))))?;
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
