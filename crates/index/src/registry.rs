//! Every file of a workspace as it was when it was last looked at, in SQLite, shared by processes. A stat only ever skips work, and
//! only where it proves that nothing changed since; the hash decides. What was found is kept once the caller has recorded it, so
//! that nothing is lost if a process ends in between. The database can be removed at any time.

mod known;
mod tags;

pub use tags::Tag;

use ignore::overrides::Override;
use readproof_core::text::{ContentHash, Text};
use readproof_disk::{BlobId, Root, SnapshotError, SnapshotRules, Stamp, Stands, Stat, Tracked, on_disk};
use rusqlite::{Connection, Params, Row, Transaction, params};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    num::NonZeroUsize,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use crate::{
    BadWalk, FileRules, Language, WalkEntry, WalkRules,
    catalog::create,
    walk::{Folders, Ignores, is_among, judged, only_all, walk_told},
};
use known::{Known, Name, may_have_changed};

/// The layout of the tables.
const MADE_BY: &str = "registry 5";

const TABLES: &str = "
    CREATE TABLE about(made_by TEXT NOT NULL);
    CREATE TABLE files(path TEXT PRIMARY KEY, stamp BLOB, kind INTEGER NOT NULL, bytes INTEGER NOT NULL,
        modified INTEGER NOT NULL, hash BLOB, lines INTEGER NOT NULL, blob TEXT, language TEXT, since INTEGER NOT NULL, walked INTEGER NOT NULL, mode INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE looks(settings TEXT PRIMARY KEY, since INTEGER NOT NULL, ignores TEXT NOT NULL) WITHOUT ROWID;
";

/// What [`registered`] reads.
const ROWS: &str =
    "SELECT path, stamp, kind, bytes, modified, hash, lines, blob, language, since, walked, mode FROM files";

/// What a walk compares.
const STAMPS: &str = "SELECT path, stamp FROM files";

/// The bits of a mode that are permissions.
const PERMISSIONS: u32 = 0o777;

/// What a file holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holds {
    Text {
        hash: ContentHash,
        lines: u32,
        /// Where git keeps these very bytes.
        blob: Option<BlobId>,
    },
    TooLarge,
    NotText,
    Sensitive,
    /// It cannot be read.
    Unknown,
    /// Nobody looks at it any more: a rule or an ignore file leaves it out.
    Unseen,
    /// A link, which is not followed, or a pipe, a socket or a device.
    NotAFile,
}

/// A file as it was at a look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registered {
    pub bytes: u64,
    pub modified_ms: i64,
    pub language: Option<&'static str>,
    pub holds: Holds,
    /// The record of the version log after which it was first seen so.
    pub since: u64,
    /// Whether every look meets this name, so that one who did not meet it knows that it was not there. Not of a hidden name, nor
    /// of one that is looked at only because git tracks it or a change of it is recorded.
    pub walked: bool,
    /// Its permissions; 0 if they are not known.
    pub mode: u32,
}

/// A file that may have changed since the last look.
#[derive(Clone, Debug)]
pub struct Suspect {
    pub path: String,
    pub before: Option<Registered>,
    walked: bool,
}

/// A file that was looked at.
#[derive(Debug)]
pub struct Met {
    pub path: String,
    /// `None` if no look ever met it.
    pub before: Option<Registered>,
    /// `None` if it is gone.
    pub now: Option<Registered>,
    /// Its text, where one can be kept.
    pub text: Option<Text>,
    /// `None` if a later change could go unnoticed.
    stamp: Option<Stamp>,
}

/// Which names a walk meets beyond those that nobody ignores.
pub struct Due<'d> {
    /// What git tracks.
    pub tracked: &'d Tracked,
    /// Those of which changes are recorded.
    pub logged: BTreeSet<String>,
    /// Whether no others are met.
    pub only: bool,
}

/// What a walk found.
#[derive(Debug, Default)]
pub struct Walked {
    /// How many files there are.
    pub files: u64,
    /// Those that may have changed.
    pub suspects: Vec<Suspect>,
    /// Names that are not there any more, or are left out by a rule now.
    pub unmet: Vec<Suspect>,
    /// How many names cannot be spelt as text.
    pub odd: u64,
    /// Whether there are folders that cannot be listed.
    pub unreadable: bool,
    /// What the ignore files say: while it is the same, a look meets the same names. Of a walk of some names what all of them said at
    /// the last look at everything, if nothing that concerns these names has changed.
    pub ignores: Option<Ignores>,
}

/// Why the files cannot be told.
#[derive(Debug)]
pub enum RegistryError {
    Cancelled,
    Walk(BadWalk),
    Database(rusqlite::Error),
}

impl From<rusqlite::Error> for RegistryError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error)
    }
}

/// The files of a workspace.
#[derive(Debug)]
pub struct Registry {
    db: Connection,
}

impl Registry {
    /// Opens it in a database, which may be new; `None` if another version of this program made it.
    ///
    /// # Errors
    /// When the database cannot be used.
    pub fn new(db: Connection) -> Result<Option<Self>, RegistryError> {
        db.busy_timeout(std::time::Duration::from_secs(10))?;
        db.pragma_update(None, "journal_mode", "WAL")?;
        db.pragma_update(None, "synchronous", "NORMAL")?;
        Ok(create(&db, TABLES, MADE_BY)?.then_some(Self { db }))
    }

    /// The record of the version log since which all files are looked at with these settings: a name that is new was not there then.
    ///
    /// # Errors
    /// When the database cannot be used.
    pub fn complete_since(&self, settings: &str) -> Result<Option<u64>, RegistryError> {
        let mut row = self.db.prepare_cached("SELECT since FROM looks WHERE settings = ?1")?;
        let mut rows = row.query(params![settings])?;
        Ok(rows.next()?.map(|row| row.get::<_, i64>(0)).transpose()?.and_then(|since| u64::try_from(since).ok()))
    }

    /// What the ignore files said at the last look at everything.
    fn ignores_then(&self) -> Result<Option<Ignores>, rusqlite::Error> {
        let mut row = self.db.prepare_cached("SELECT ignores FROM looks")?;
        let mut rows = row.query([])?;
        let text = rows.next()?.map(|row| row.get::<_, String>(0)).transpose()?;
        Ok(text.as_deref().and_then(Ignores::decode))
    }

    /// A file as it was at the last look.
    ///
    /// # Errors
    /// When the database cannot be used.
    pub fn file(&self, path: &str) -> Result<Option<Registered>, RegistryError> {
        let mut row = self.db.prepare_cached(&format!("{ROWS} WHERE path = ?1"))?;
        let mut rows = row.query(params![path])?;
        Ok(rows.next()?.map(registered).transpose()?)
    }

    /// Every file, by its name.
    ///
    /// # Errors
    /// When the database cannot be used.
    pub fn files(&self) -> Result<BTreeMap<String, Registered>, RegistryError> {
        let mut rows = self.db.prepare_cached(ROWS)?;
        let rows = rows.query_map([], |row| Ok((row.get(0)?, registered(row)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Walks the workspace, or what the rules say of it, and compares stats. Files that git tracks, and those of which changes are
    /// logged, are met although they are ignored. `folders` is told every folder in which names are met, before it is listed.
    ///
    /// # Errors
    /// [`RegistryError`]; nothing was changed.
    pub fn walk(
        &self,
        root: &Root,
        rules: &WalkRules<'_>,
        Due { tracked, logged, only }: &Due<'_>,
        (cancelled, folders): (&dyn Fn() -> bool, Folders<'_>),
    ) -> Result<Walked, RegistryError> {
        let known = self.known(rules.among)?;
        let is_due = |path: &str| tracked.get(path).is_some() || logged.contains(path);
        let (mut odd, mut unreadable, mut files) = (0, false, 0);
        let mut walk = walk_told(root, rules, folders).map_err(RegistryError::Walk)?;
        let walking = |give: &mut dyn FnMut(Name)| {
            for entry in walk.by_ref() {
                if cancelled() {
                    return Err(RegistryError::Cancelled);
                }
                match entry {
                    WalkEntry::File(path) if !only || is_due(&path) => {
                        files += 1;
                        // Where only what git tracks is met, a name may have been there before git knew it.
                        give(Name { path, walked: !only });
                    }
                    // What later stands there in its place was not nowhere before.
                    WalkEntry::Link(path) if !only || is_due(&path) => give(Name { path, walked: !only }),
                    WalkEntry::Unreadable => unreadable = true,
                    WalkEntry::OddName => odd += 1,
                    WalkEntry::File(_) | WalkEntry::Link(_) | WalkEntry::Other => {}
                }
            }
            Ok(())
        };
        let mut met = judged(walking, |name| may_have_changed(root, &known, &name).then_some(name))?;
        let is_asked = |path: &str| rules.among.is_none_or(|names| is_among(names, path));
        let new: HashSet<&str> =
            met.iter().filter(|name| !known.contains_key(&name.path)).map(|name| name.path.as_str()).collect();
        let is_met = |path: &str| known.get(path).is_some_and(Known::is_met) || new.contains(path);
        // What git tracks, or of which a change is recorded, may be ignored.
        let logged_too = logged.iter().map(String::as_str).filter(|path| is_asked(path) && !is_met(path));
        let due: BTreeSet<&str> = tracked.names(rules.among, &is_met).chain(logged_too).collect();
        tell_folders_of(&due, root, folders);
        let (mut gone, mut late) = (Vec::new(), Vec::new());
        for path in due {
            // Behind a link it is another name of a file that has its own.
            if matches!(root.stands(path), Stands::File | Stands::Link | Stands::Other) {
                files += 1;
                late.push(Name { path: path.to_owned(), walked: false });
            } else if !known.contains_key(path) && logged.contains(path) {
                gone.push(Suspect { path: path.to_owned(), before: None, walked: false });
            }
        }
        drop(new);
        met.extend(late.into_iter().filter(|name| may_have_changed(root, &known, name)));
        let mut walked = Walked { files, odd, unreadable: unreadable || walk.closed() > 0, ..Walked::default() };
        for Name { path, walked: walked_to } in met {
            let before = if known.contains_key(&path) { self.file(&path)? } else { None };
            let is_hidden = path.split('/').any(|part| part.starts_with('.'));
            walked.suspects.push(Suspect { path, before, walked: walked_to && !is_hidden });
        }
        walked.suspects.sort_by(|one, other| one.path.cmp(&other.path));
        for (path, _) in known.into_iter().filter(|(_, known)| !known.is_met()) {
            let Some(before) = self.file(&path)? else { continue };
            walked.unmet.push(Suspect { walked: before.walked, path, before: Some(before) });
        }
        walked.unmet.append(&mut gone);
        walked.unmet.sort_by(|one, other| one.path.cmp(&other.path));
        walked.ignores = match rules.among {
            None => Some(walk.ignores()),
            Some(names) => self.ignores_then()?.filter(|then| walk.ignores().agrees_about(then, names)),
        };
        Ok(walked)
    }

    /// What was met, all of it or what has one of these names or lies in such a folder.
    fn known(&self, among: Option<&BTreeSet<String>>) -> Result<HashMap<String, Known>, rusqlite::Error> {
        let mut found = HashMap::new();
        let Some(names) = among else {
            self.known_by(STAMPS, params![], &mut found)?;
            return Ok(found);
        };
        let below = format!("{STAMPS} WHERE path = ?1 OR (path > ?2 AND path < ?3)");
        for name in names {
            // `0` comes right after the slash.
            self.known_by(&below, params![name, format!("{name}/"), format!("{name}0")], &mut found)?;
        }
        Ok(found)
    }

    fn known_by(
        &self,
        asked: &str,
        about: impl Params,
        into: &mut HashMap<String, Known>,
    ) -> Result<(), rusqlite::Error> {
        let mut rows = self.db.prepare_cached(asked)?;
        let rows = rows.query_map(about, |row| Ok((row.get(0)?, Known::new(row.get(1)?))))?;
        for row in rows {
            let (path, known) = row?;
            into.insert(path, known);
        }
        Ok(())
    }

    /// Keeps what was met, as seen after this record of the version log.
    ///
    /// # Errors
    /// When the database cannot be used; then none of it is kept.
    pub fn keep<'m>(&mut self, met: impl Iterator<Item = &'m Met>, newest: u64) -> Result<(), RegistryError> {
        let work = self.db.transaction()?;
        for met in met {
            match &met.now {
                Some(now) => {
                    let same = met.before.as_ref().filter(|before| before.holds == now.holds);
                    insert(&work, &met.path, now, (met.stamp, same.map_or(newest, |before| before.since)))?;
                }
                None => remove(&work, &met.path)?,
            }
        }
        Ok(work.commit()?)
    }

    /// Notes names that nobody looks at any more, after this record of the version log.
    ///
    /// # Errors
    /// When the database cannot be used.
    pub fn leave_out<'p>(&mut self, paths: impl Iterator<Item = &'p str>, newest: u64) -> Result<(), RegistryError> {
        let work = self.db.transaction()?;
        for path in paths {
            let unseen = Registered {
                bytes: 0,
                modified_ms: 0,
                language: None,
                holds: Holds::Unseen,
                since: newest,
                walked: false,
                mode: 0,
            };
            insert(&work, path, &unseen, (None, newest))?;
        }
        Ok(work.commit()?)
    }

    /// Remembers that all files were looked at with these settings and ignore files, after this record of the version log.
    ///
    /// # Errors
    /// When the database cannot be used.
    pub fn completed(&mut self, settings: &str, ignores: &Ignores, newest: u64) -> Result<(), RegistryError> {
        let work = self.db.transaction()?;
        work.execute("DELETE FROM looks WHERE settings <> ?1", params![settings])?;
        work.execute(
            "INSERT OR IGNORE INTO looks(settings, since, ignores) VALUES (?1, ?2, ?3)",
            params![settings, i64::try_from(newest).unwrap_or(i64::MAX), ignores.encode()],
        )?;
        Ok(work.commit()?)
    }
}

/// Tells the folders of names that no walk meets.
fn tell_folders_of(names: &BTreeSet<&str>, root: &Root, folders: Folders<'_>) {
    let above = names.iter().flat_map(|name| name.match_indices('/').map(|(at, _)| &name[..at]));
    for folder in above.collect::<BTreeSet<&str>>() {
        folders(&root.path().join(on_disk(folder)));
    }
}

fn remove(work: &Transaction<'_>, path: &str) -> Result<(), rusqlite::Error> {
    work.prepare_cached("DELETE FROM files WHERE path = ?1")?.execute(params![path]).map(drop)
}

fn insert(
    work: &Transaction<'_>,
    path: &str,
    now: &Registered,
    (stamp, since): (Option<Stamp>, u64),
) -> Result<(), rusqlite::Error> {
    let (kind, hash, lines, blob) = match &now.holds {
        Holds::Text { hash, lines, blob } => (0, Some(*hash.as_bytes()), *lines, blob.map(|blob| blob.to_string())),
        Holds::TooLarge => (1, None, 0, None),
        Holds::NotText => (2, None, 0, None),
        Holds::Sensitive => (3, None, 0, None),
        Holds::Unknown => (4, None, 0, None),
        Holds::Unseen => (5, None, 0, None),
        Holds::NotAFile => (6, None, 0, None),
    };
    let mut row = work.prepare_cached(
        "INSERT OR REPLACE INTO files(path, stamp, kind, bytes, modified, hash, lines, blob, language, since, walked, mode)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
    )?;
    let bytes = i64::try_from(now.bytes).unwrap_or(i64::MAX);
    let since = i64::try_from(since).unwrap_or(i64::MAX);
    let (language, walked, mode) = (now.language, now.walked, now.mode);
    let facts = params![path, stamp, kind, bytes, now.modified_ms, hash, lines, blob, language, since, walked, mode];
    row.execute(facts).map(drop)
}

fn registered(row: &Row<'_>) -> Result<Registered, rusqlite::Error> {
    let hash: Option<[u8; 32]> = row.get(5)?;
    let holds = match (row.get::<_, i64>(2)?, hash) {
        (0, Some(hash)) => Holds::Text {
            hash: ContentHash::from_digest(hash),
            lines: row.get(6)?,
            blob: row.get_ref(7)?.as_str_or_null()?.and_then(BlobId::parse),
        },
        (1, _) => Holds::TooLarge,
        (2, _) => Holds::NotText,
        (3, _) => Holds::Sensitive,
        (5, _) => Holds::Unseen,
        (6, _) => Holds::NotAFile,
        (_, _) => Holds::Unknown,
    };
    let language = row.get_ref(8)?.as_str_or_null()?.and_then(language);
    Ok(Registered {
        bytes: u64::try_from(row.get::<_, i64>(3)?).unwrap_or_default(),
        modified_ms: row.get(4)?,
        language,
        holds,
        since: u64::try_from(row.get::<_, i64>(9)?).unwrap_or(u64::MAX),
        walked: row.get(10)?,
        mode: row.get(11)?,
    })
}

fn language(word: &str) -> Option<&'static str> {
    Language::ALL.iter().map(|language| language.as_str()).find(|name| *name == word)
}

/// Which files a list of globs means, as ripgrep's `-g` does; all if there are none.
pub struct FileGlobs(Override);

/// Reads globs.
///
/// # Errors
/// [`BadWalk`] for one that is malformed.
pub fn file_globs(globs: &[String]) -> Result<FileGlobs, BadWalk> {
    only_all(globs.iter().map(String::as_str)).map(FileGlobs)
}

impl FileGlobs {
    /// Whether a file is meant.
    #[must_use]
    pub fn is_wanted(&self, path: &str) -> bool {
        !self.0.matched(path, false).is_ignore()
    }
}

/// How many files are read at once by one thread.
const AT_ONCE: usize = 16;

/// Reads files on all cores; in the order that they were given.
#[must_use]
pub fn look_at(root: &Root, rules: FileRules<'_>, tracked: &Tracked, suspects: &[Suspect]) -> Vec<Met> {
    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get).min(suspects.len().div_ceil(AT_ONCE));
    let one = |suspect: &Suspect| look(root, rules, tracked.get(&suspect.path), suspect);
    if threads < 2 {
        return suspects.iter().map(one).collect();
    }
    let next = AtomicUsize::new(0);
    let chunks: Vec<&[Suspect]> = suspects.chunks(AT_ONCE).collect();
    let work = || {
        let mut done: Vec<(usize, Vec<Met>)> = Vec::new();
        while let Some((at, chunk)) =
            Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| Some((at, chunks.get(at)?)))
        {
            done.push((at, chunk.iter().map(one).collect()));
        }
        done
    };
    let mut all: Vec<(usize, Vec<Met>)> = thread::scope(|scope| {
        let others: Vec<_> =
            (1..threads).filter_map(|_| thread::Builder::new().spawn_scoped(scope, work).ok()).collect();
        let mut all = work();
        // Only a fault of this program ends a thread early; what it took is then looked at next time.
        all.extend(others.into_iter().filter_map(|other| other.join().ok()).flatten());
        all
    });
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().flat_map(|(_, met)| met).collect()
}

fn look(root: &Root, rules: FileRules<'_>, staged: Option<BlobId>, suspect: &Suspect) -> Met {
    let Suspect { path, before, .. } = suspect;
    let met = |now, text, stamp| Met { path: path.clone(), before: before.clone(), now, text, stamp };
    // What is only there by way of a link has another name, and a folder is no file.
    let stands = root.stands(path);
    let stat = root.glance(path).filter(|_| !matches!(stands, Stands::Folder | Stands::BehindLink));
    let Some(stat) = stat else { return met(None, None, None) };
    let plain = |holds| Registered {
        bytes: stat.len,
        modified_ms: stat.mtime_ns / 1_000_000,
        language: Language::of(path, "").map(Language::as_str),
        holds,
        since: u64::MAX,
        walked: suspect.walked,
        mode: stat.mode & PERMISSIONS,
    };
    let stamp = Some(stat).filter(Stat::tells).map(|now| now.stamp());
    if matches!(stands, Stands::Link | Stands::Other) {
        return met(Some(plain(Holds::NotAFile)), None, stamp);
    }
    let located = root.locate_open(&[root.absolute(path)]);
    let Ok((file, Some(opened))) = located else { return met(Some(plain(Holds::Unknown)), None, None) };
    let most: &SnapshotRules = &rules.snapshot;
    let read = match root.snapshot_opened(&file, Some(opened), None, most) {
        Ok(read) => read,
        Err(SnapshotError::TooLarge { .. }) => return met(Some(plain(Holds::TooLarge)), None, stamp),
        Err(SnapshotError::NotText { .. }) => return met(Some(plain(Holds::NotText)), None, stamp),
        Err(SnapshotError::Missing { .. }) => return met(None, None, None),
        Err(_) => return met(Some(plain(Holds::Unknown)), None, None),
    };
    if rules.sensitive.is_sensitive_read(&file, &read) {
        return met(Some(plain(Holds::Sensitive)), None, stamp);
    }
    let (hash, lines) = (read.text.hash(), read.text.total());
    let blob = staged.filter(|blob| blob.is_of(read.text.as_str().as_bytes()));
    let now = Registered {
        bytes: read.stat.len,
        modified_ms: read.stat.mtime_ns / 1_000_000,
        language: Language::of(path, read.text.as_str()).map(Language::as_str),
        holds: Holds::Text { hash, lines, blob },
        since: u64::MAX,
        walked: suspect.walked,
        mode: read.stat.mode & PERMISSIONS,
    };
    met(Some(now), Some(read.text), Some(read.stat).filter(Stat::tells).map(|now| now.stamp()))
}

impl Registered {
    /// Where git keeps the text of this hash, if that is the one.
    #[must_use]
    pub fn blob_of(&self, asked: ContentHash) -> Option<BlobId> {
        match self.holds {
            Holds::Text { hash, blob, .. } if hash == asked => blob,
            Holds::Text { .. }
            | Holds::TooLarge
            | Holds::NotText
            | Holds::Sensitive
            | Holds::Unknown
            | Holds::Unseen
            | Holds::NotAFile => None,
        }
    }

    /// The hash of its text, if it has one that is kept.
    #[must_use]
    pub fn hash(&self) -> Option<ContentHash> {
        match self.holds {
            Holds::Text { hash, .. } => Some(hash),
            Holds::TooLarge | Holds::NotText | Holds::Sensitive | Holds::Unknown | Holds::Unseen | Holds::NotAFile => {
                None
            }
        }
    }
}
