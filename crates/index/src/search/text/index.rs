//! The index of words: what a text query counts in every file, counted beforehand, in SQLite. A file that has changed since, or
//! is not in it, is counted directly, so an answer is the same with and without it. It can be removed at any time and is shared
//! between processes. Sensitive files are not in it.

mod batch;
mod rows;

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
};

use readproof_disk::{Root, Stamp, Watch};
use rusqlite::{Connection, params};

use super::query::{Count, Kind, SHORTEST_START, TextQuery};
use crate::{
    BadWalk, HiddenFiles, WalkEntry, WalkRules,
    catalog::changes,
    search::{Skip, TreeSearch, scan, text_of},
    walk::{judged, walk_told},
};
use batch::{Batch, NAME_MARK};

/// A larger file is not worth its words.
const MOST_BYTES: u64 = 4 << 20;

/// With more batches the index is made anew.
const MOST_BATCHES: usize = 200;

/// Why there is no answer from the index.
#[derive(Debug)]
pub enum NoWords {
    Cancelled,
    Walk(BadWalk),
    Database(rusqlite::Error),
}

impl From<rusqlite::Error> for NoWords {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error)
    }
}

/// A file in the index.
#[derive(Clone, Copy)]
pub(super) struct Doc {
    stamp: Stamp,
    pub(super) bytes: u64,
    pub(super) is_text: bool,
}

/// What the database says of files.
#[derive(Default)]
struct Docs {
    by_path: HashMap<String, u32>,
    rows: Vec<Doc>,
    /// The files of each batch by their places; `u32::MAX` for one that is in a later batch.
    batches: HashMap<i64, Vec<u32>>,
}

/// The files of a search, in the order of the walk, each with its row if the index covers it.
#[derive(Default)]
pub(super) struct Survey {
    pub(super) files: Vec<(String, Option<u32>)>,
    pub(super) odd_names: u64,
    pub(super) unreadable: u64,
    pub(super) closed: u64,
}

/// A survey of the whole workspace.
struct Kept {
    survey: Arc<Survey>,
    /// The hidden files that were met.
    hidden: BTreeSet<String>,
    /// What of it can be seen.
    sight: Option<String>,
}

/// The words of a workspace.
pub struct WordIndex {
    db: Connection,
    watch: Option<Watch>,
    docs: Docs,
    /// The state of the database that `docs` is of.
    state: Option<i64>,
    /// The whole workspace as far as one caller sees it, if every folder has been watched since.
    kept: Option<Kept>,
}

impl WordIndex {
    /// Opens the index in a database, which may be new; `None` if it belongs to another version or other settings.
    ///
    /// # Errors
    /// When the database cannot be used.
    pub fn new(db: Connection, settings: &str) -> Result<Option<Self>, rusqlite::Error> {
        let is_ours = rows::prepare(&db, settings)?;
        Ok(is_ours.then(|| Self { db, watch: Watch::new(), docs: Docs::default(), state: None, kept: None }))
    }

    /// Reads what the database says of files, unless that is known. Call within a transaction.
    fn load(&mut self) -> Result<(), rusqlite::Error> {
        let now = changes(&self.db)?;
        if self.state == Some(now) {
            return Ok(());
        }
        let mut docs = Docs::default();
        {
            let mut batches = self.db.prepare_cached("SELECT id, files FROM batches")?;
            let mut found = batches.query([])?;
            while let Some(row) = found.next()? {
                let files: u32 = row.get(1)?;
                docs.batches.insert(row.get(0)?, vec![u32::MAX; files as usize]);
            }
            let mut all = self.db.prepare_cached("SELECT path, stamp, batch, place, bytes FROM docs")?;
            let mut found = all.query([])?;
            while let Some(row) = found.next()? {
                let (batch, place): (Option<i64>, u32) = (row.get(2)?, row.get(3)?);
                let slot = u32::try_from(docs.rows.len()).unwrap_or(u32::MAX);
                if let Some(batch) = batch {
                    let Some(files) = docs.batches.get_mut(&batch) else { continue };
                    let Some(at) = files.get_mut(place as usize) else { continue };
                    *at = slot;
                }
                let bytes: u32 = row.get(4)?;
                docs.rows.push(Doc { stamp: row.get(1)?, bytes: bytes.into(), is_text: batch.is_some() });
                docs.by_path.insert(row.get(0)?, slot);
            }
        }
        (self.docs, self.state, self.kept) = (docs, Some(now), None);
        Ok(())
    }

    pub(super) fn doc(&self, slot: u32) -> Doc {
        self.docs.rows[slot as usize]
    }

    /// The files of a search. A file counts as covered if its stat is the one it was indexed with.
    pub(super) fn survey(
        &mut self,
        root: &Root,
        rules: &WalkRules<'_>,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Arc<Survey>, NoWords> {
        self.db.execute_batch("BEGIN DEFERRED")?;
        let loaded = self.load();
        self.db.execute_batch("COMMIT")?;
        loaded?;
        let hidden = match rules.hidden {
            HiddenFiles::Named(names) => names.clone(),
            HiddenFiles::None | HiddenFiles::All => BTreeSet::new(),
        };
        let whole = rules.under.is_none_or(|under| matches!(under, "" | "."))
            && rules.glob.is_none()
            && !rules.ignored
            && matches!(rules.hidden, HiddenFiles::Named(_));
        let quiet = self.watch.as_ref().is_some_and(Watch::is_quiet);
        if !quiet {
            self.kept = None;
        }
        let sight = root.sight();
        if let Some(kept) = &self.kept
            && whole
            && (&kept.hidden, &kept.sight) == (&hidden, &sight)
        {
            return Ok(Arc::clone(&kept.survey));
        }
        let all_watched = AtomicBool::new(self.watch.is_some());
        let told = |folder: &Path| {
            if whole && !self.watch.as_ref().is_some_and(|watch| watch.add(folder)) {
                all_watched.store(false, Ordering::Relaxed);
            }
        };
        let mut out = Survey::default();
        let mut walk = walk_told(root, rules, &told).map_err(NoWords::Walk)?;
        let walking = |give: &mut dyn FnMut(String)| {
            for entry in walk.by_ref() {
                if cancelled() {
                    return Err(NoWords::Cancelled);
                }
                match entry {
                    WalkEntry::File(name) => give(name),
                    WalkEntry::OddName => out.odd_names += 1,
                    WalkEntry::Unreadable => out.unreadable += 1,
                    WalkEntry::Link(_) | WalkEntry::Other => {}
                }
            }
            Ok(())
        };
        let docs = &self.docs;
        let files = judged(walking, |name: String| {
            let now = root.glance(&name);
            // A write through another hard link does not touch this folder.
            if now.as_ref().is_none_or(|now| now.nlink > 1) {
                all_watched.store(false, Ordering::Relaxed);
            }
            let slot = docs.by_path.get(&name).copied();
            let same = |slot: &u32| now.as_ref().is_some_and(|now| now.stamp() == docs.rows[*slot as usize].stamp);
            Some((name, slot.filter(same)))
        })?;
        out.files = files;
        out.closed = walk.closed();
        let out = Arc::new(out);
        if whole && all_watched.load(Ordering::Relaxed) {
            self.kept = Some(Kept { survey: Arc::clone(&out), hidden, sight });
        }
        Ok(out)
    }

    /// What a query counts in the files of the index, by their rows; `None` if another process has changed it since the survey.
    pub(super) fn counts(&mut self, query: &TextQuery) -> Result<Option<HashMap<u32, Vec<Count>>>, NoWords> {
        self.db.execute_batch("BEGIN DEFERRED")?;
        let counted = self.counts_now(query);
        self.db.execute_batch("COMMIT")?;
        counted
    }

    fn counts_now(&self, query: &TextQuery) -> Result<Option<HashMap<u32, Vec<Count>>>, NoWords> {
        if self.state != Some(changes(&self.db)?) {
            return Ok(None);
        }
        let mut counts: HashMap<u32, Vec<Count>> = HashMap::new();
        let mut exact = self.db.prepare_cached("SELECT files FROM words WHERE batch = ?1 AND word = ?2")?;
        let mut starts =
            self.db.prepare_cached("SELECT files FROM words WHERE batch = ?1 AND word > ?2 AND word < ?3")?;
        for (batch, files) in &self.docs.batches {
            for (n, term) in query.terms.iter().enumerate() {
                let mut each = |list: &[u8], whole: bool| {
                    let (mut list, mut place) = (list, 0_u64);
                    while let Some((step, often)) = rows::take_number(&mut list).zip(rows::take_number(&mut list)) {
                        place += step;
                        let at = usize::try_from(place.saturating_sub(1)).ok().and_then(|at| files.get(at));
                        let Some(slot) = at.filter(|slot| **slot != u32::MAX) else { continue };
                        let of_file = counts.entry(*slot).or_insert_with(|| vec![Count::default(); query.terms.len()]);
                        let often_u32 = u32::try_from(often / 2).unwrap_or(u32::MAX);
                        if whole {
                            of_file[n].whole += often_u32;
                            of_file[n].defined |= often % 2 == 1;
                        } else {
                            of_file[n].starts += often_u32;
                        }
                    }
                };
                let key = match term.kind {
                    Kind::Word => term.key.clone(),
                    Kind::Name | Kind::Run => [&[NAME_MARK], &term.key[..]].concat(),
                };
                let mut found = exact.query(params![batch, key])?;
                while let Some(row) = found.next()? {
                    each(row.get_ref(0)?.as_blob().unwrap_or_default(), true);
                }
                if term.kind == Kind::Word && key.len() >= SHORTEST_START {
                    let mut end = key.clone();
                    // No letter has the highest byte.
                    end.last_mut().into_iter().for_each(|byte| *byte += 1);
                    let mut found = starts.query(params![batch, key, end])?;
                    while let Some(row) = found.next()? {
                        each(row.get_ref(0)?.as_blob().unwrap_or_default(), false);
                    }
                }
            }
        }
        Ok(Some(counts))
    }
}

/// What a build did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WordsBuilt {
    /// Files of the workspace.
    pub files: u64,
    /// Files that were read.
    pub read: u64,
}

impl WordIndex {
    /// Indexes every file that is not covered.
    ///
    /// # Errors
    /// [`NoWords`]; what was done until then is kept.
    pub fn build(
        &mut self,
        search: &TreeSearch<'_>,
        cancelled: &(dyn Fn() -> bool + Sync),
        progress: &dyn Fn(u64, u64),
    ) -> Result<WordsBuilt, NoWords> {
        let survey = self.survey(search.root, &search.walk, cancelled)?;
        let anew = self.docs.batches.len() >= MOST_BATCHES;
        if anew {
            self.db
                .execute_batch("BEGIN IMMEDIATE; DELETE FROM docs; DELETE FROM batches; DELETE FROM words; COMMIT")?;
            self.state = None;
        }
        let gone = {
            let met: HashSet<&str> = survey.files.iter().map(|(name, _)| name.as_str()).collect();
            let is_gone = |name: &&String| !met.contains(name.as_str());
            self.docs.by_path.keys().filter(is_gone).cloned().collect::<Vec<String>>()
        };
        self.forget(&gone)?;
        let total = survey.files.len() as u64;
        let todo = survey.files.iter().filter(|(_, slot)| anew || slot.is_none()).map(|(name, _)| name.clone());
        let todo: Vec<String> = todo.collect();
        drop(survey);
        let built = WordsBuilt { files: total, read: todo.len() as u64 };
        if todo.is_empty() {
            return Ok(built);
        }
        let (next, stop) = (Mutex::new(todo.into_iter()), AtomicBool::new(false));
        let (done, batches) = mpsc::sync_channel::<Batch>(1);
        let stored = thread::scope(|scope| {
            let threads = scan::threads();
            let (next, stop) = (&next, &stop);
            let work = |done: mpsc::SyncSender<Batch>| {
                move || {
                    let mut batch = Batch::default();
                    let name = || next.lock().unwrap_or_else(PoisonError::into_inner).next();
                    while let Some(name) = name().filter(|_| !stop.load(Ordering::Relaxed)) {
                        read_into(&mut batch, search, name, &|| stop.load(Ordering::Relaxed));
                        if batch.is_full() && done.send(std::mem::take(&mut batch)).is_err() {
                            return;
                        }
                    }
                    // Nobody is left to take it only after a failure.
                    let _ = done.send(batch);
                }
            };
            let started =
                (0..threads).filter(|_| thread::Builder::new().spawn_scoped(scope, work(done.clone())).is_ok());
            if started.count() == 0 {
                stop.store(true, Ordering::Relaxed);
            }
            drop(done);
            let mut files = 0;
            let mut stored = Ok(());
            while let Ok(batch) = batches.recv() {
                files += batch.docs.len() as u64;
                stored = if cancelled() { Err(NoWords::Cancelled) } else { self.store(batch).map_err(NoWords::from) };
                if stored.is_err() {
                    stop.store(true, Ordering::Relaxed);
                    break;
                }
                progress(files, built.read);
            }
            drop(batches);
            stored
        });
        self.state = None;
        stored.map(|()| built)
    }

    /// Removes files that are no longer there.
    fn forget(&mut self, gone: &[String]) -> Result<(), rusqlite::Error> {
        if gone.is_empty() {
            return Ok(());
        }
        self.state = None;
        let work = self.db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        for name in gone {
            work.prepare_cached("DELETE FROM docs WHERE path = ?1")?.execute(params![name])?;
        }
        work.commit()
    }

    fn store(&mut self, batch: Batch) -> Result<(), rusqlite::Error> {
        if batch.docs.is_empty() {
            return Ok(());
        }
        let (docs, words) = batch.finish();
        let work = self.db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        work.execute("INSERT INTO batches(files) VALUES (?1)", params![u32::try_from(docs.len()).unwrap_or(u32::MAX)])?;
        let id = work.last_insert_rowid();
        {
            let mut row = work.prepare_cached("INSERT INTO words(batch, word, files) VALUES (?1, ?2, ?3)")?;
            for (word, files) in &words {
                row.execute(params![id, word, files])?;
            }
            let mut row = work.prepare_cached(
                "INSERT OR REPLACE INTO docs(path, stamp, batch, place, bytes) VALUES (?1, ?2, ?3, ?4, ?5)",
            )?;
            for (place, doc) in (0_u32..).zip(&docs) {
                let of = doc.is_text.then_some(id);
                let bytes = u32::try_from(doc.bytes).unwrap_or(u32::MAX);
                row.execute(params![doc.path, doc.stamp, of, place, bytes])?;
            }
        }
        work.commit()
    }
}

/// Reads a file, unless what is read could go on changing unnoticed, or must not be kept.
fn read_into(batch: &mut Batch, search: &TreeSearch<'_>, name: String, cancelled: &dyn Fn() -> bool) {
    let Ok(stream) = search.open(&name) else { return };
    let before = stream.stat();
    if before.len > MOST_BYTES || !before.tells() {
        return;
    }
    let text = text_of(&stream, cancelled);
    let before = before.stamp();
    if search.root.glance(&name).is_none_or(|after| after.stamp() != before) {
        return;
    }
    match text {
        Ok(text) => batch.add(name, before, Some(&text)),
        Err(Skip::Binary) => batch.add(name, before, None),
        Err(Skip::Cancelled | Skip::Sensitive | Skip::Unreadable | Skip::Large | Skip::LongLine) => {}
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests make files")]
mod tests;
