//! The tables. A text, by its hash and language, stands for all files that have it; its definitions are packed in its row,
//! and the names table leads to it. A file gets a new id whenever it is stored, so that another process notices.

use readproof_core::text::ContentHash;
use rusqlite::{Connection, config::DbConfig, params};

use super::{Unusable, packed::pack};
use crate::{Symbol, target::rank};

/// How long to wait for another process's lock.
const PATIENCE_MS: u32 = 10_000;

/// Size of the write-ahead log at which it is checkpointed: 16 MiB.
const CHECKPOINT_PAGES: u32 = 4096;

const TABLES: &str = "
    CREATE TABLE about(made_by TEXT NOT NULL);
    CREATE TABLE texts(id INTEGER PRIMARY KEY, hash BLOB NOT NULL, language TEXT NOT NULL, symbols BLOB NOT NULL,
        hard INTEGER NOT NULL, UNIQUE(hash, language));
    CREATE INDEX texts_hard ON texts(id) WHERE hard;
    CREATE TABLE files(id INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT NOT NULL UNIQUE, text INTEGER, stamp BLOB,
        large INTEGER NOT NULL);
    CREATE INDEX files_text ON files(text);
    CREATE INDEX files_large ON files(path) WHERE large;
    CREATE TABLE names(name TEXT NOT NULL, rank INTEGER NOT NULL, text INTEGER NOT NULL,
        PRIMARY KEY(name, rank, text)) WITHOUT ROWID;
";

/// The texts that define a name, the best kinds first. The unary plus keeps SQLite from planning anew for every name.
pub(super) const NAMED: &str = "SELECT f.path, t.hash, n.rank, t.symbols \
     FROM names n JOIN texts t ON t.id = n.text JOIN files f ON f.text = n.text \
     WHERE n.name = +?1 ORDER BY n.rank LIMIT 2000";

/// The text of every file.
pub(super) const ALL: &str =
    "SELECT f.path, t.hash, t.symbols FROM files f JOIN texts t ON t.id = f.text ORDER BY f.path";

/// Files that are not indexed, each with whether it is too large; the others take too many steps to parse. Not sorted, and
/// joined in this order: otherwise SQLite scans all files, and these are few.
pub(super) const UNINDEXED: &str = "SELECT path, 1 FROM files INDEXED BY files_large WHERE large \
     UNION ALL SELECT f.path, 0 FROM texts t INDEXED BY texts_hard CROSS JOIN files f ON f.text = t.id WHERE t.hard";

/// Creates the tables of a new database; refuses those of another version.
pub(super) fn prepare(db: &Connection, made_by: &str) -> Result<(), Unusable> {
    db.busy_timeout(std::time::Duration::from_millis(PATIENCE_MS.into()))?;
    // Creation does not wait for the disk: after a power cut an older state, or none, is just as good.
    db.pragma_update(None, "synchronous", "OFF")?;
    db.pragma_update(None, "journal_mode", "WAL")?;
    db.pragma_update(None, "synchronous", "NORMAL")?;
    db.pragma_update(None, "temp_store", "MEMORY")?;
    // Checkpoint by size, not whenever a process ends.
    db.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    if create(db, TABLES, made_by)? { Ok(()) } else { Err(Unusable::Other) }
}

/// Creates the tables of a new database, and says whether those that it has were made by the same.
pub(crate) fn create(db: &Connection, tables: &str, made_by: &str) -> Result<bool, rusqlite::Error> {
    let number = || db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0));
    if number()? == 0 {
        db.execute_batch("BEGIN IMMEDIATE")?;
        // Another process may have been faster.
        let done = match number() {
            Ok(0) => db
                .execute_batch(tables)
                .and_then(|()| db.execute("INSERT INTO about VALUES (?1)", params![made_by]).map(drop)),
            other => other.map(drop),
        };
        db.execute_batch(if done.is_ok() { "COMMIT" } else { "ROLLBACK" })?;
        done?;
    }
    let made: String = db.query_row("SELECT made_by FROM about", [], |row| row.get(0))?;
    Ok(made == made_by)
}

/// A number that changes when another connection has changed the database.
pub(crate) fn changes(db: &Connection) -> Result<i64, rusqlite::Error> {
    db.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))
}

/// The row of a text.
pub(super) fn text(db: &Connection, hash: ContentHash, language: &str) -> Result<Option<i64>, rusqlite::Error> {
    let mut known = db.prepare_cached("SELECT id FROM texts WHERE hash = +?1 AND language = +?2")?;
    let mut rows = known.query(params![hash.as_bytes(), language])?;
    rows.next()?.map(|row| row.get(0)).transpose()
}

/// Stores the definitions of a new text.
pub(super) fn insert(
    db: &Connection,
    hash: ContentHash,
    language: &str,
    symbols: &[Symbol],
    hard: bool,
) -> Result<i64, rusqlite::Error> {
    db.prepare_cached("INSERT INTO texts(hash, language, symbols, hard) VALUES (?1, ?2, ?3, ?4)")?.execute(params![
        hash.as_bytes(),
        language,
        pack(symbols),
        hard
    ])?;
    let id = db.last_insert_rowid();
    let mut row = db.prepare_cached("INSERT OR IGNORE INTO names(name, rank, text) VALUES (?1, ?2, ?3)")?;
    for symbol in symbols {
        row.execute(params![symbol.name, rank(symbol.kind), id])?;
    }
    Ok(id)
}

/// A hash from its column.
pub(super) fn hash(bytes: &[u8]) -> Option<ContentHash> {
    bytes.try_into().ok().map(ContentHash::from_digest)
}

/// Texts that no file has any more are kept, as files often return to an earlier text: as many as are in use, and this many
/// more.
const SPARE: i64 = 1000;

/// Removes texts that no file has, if there are many.
pub(super) fn sweep(db: &Connection) -> Result<(), rusqlite::Error> {
    let count = |sql: &str| db.query_row(sql, [], |row| row.get::<_, i64>(0));
    let live = count("SELECT count(DISTINCT text) FROM files")?;
    if count("SELECT count(*) FROM texts")? - live <= live + SPARE {
        return Ok(());
    }
    db.execute_batch(
        "BEGIN IMMEDIATE;
         DELETE FROM names WHERE text NOT IN (SELECT text FROM files WHERE text IS NOT NULL);
         DELETE FROM texts WHERE id NOT IN (SELECT text FROM files WHERE text IS NOT NULL);
         COMMIT",
    )
}
