//! The tables, and symbols as rows. A text stands for all files that have it, by its hash and language. Whenever a file is
//! written down it gets another id, so that who looked at it earlier notices.

use readproof_core::{scope::Lines, text::ContentHash};
use rusqlite::{Connection, Row, Statement, config::DbConfig, params};

use super::Unusable;
use crate::{Outline, Symbol, SymbolKind, target::rank};

/// Between the parts of a scope: no name holds it, as texts that do have no outline worth finding.
const APART: char = '\u{1f}';

/// So long another process may hold the database.
const PATIENCE_MS: u32 = 10_000;

/// So many pages are written before they are moved to their place: 16 MiB.
const CHECKPOINT_PAGES: u32 = 4096;

const TABLES: &str = "
    CREATE TABLE about(made_by TEXT NOT NULL);
    CREATE TABLE texts(id INTEGER PRIMARY KEY, hash BLOB NOT NULL, language TEXT NOT NULL, state INTEGER NOT NULL,
        UNIQUE(hash, language));
    CREATE TABLE files(id INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT NOT NULL UNIQUE, text INTEGER, stamp BLOB);
    CREATE INDEX files_text ON files(text);
    CREATE TABLE symbols(text INTEGER NOT NULL, at INTEGER NOT NULL, name TEXT NOT NULL, rank INTEGER NOT NULL,
        kind TEXT NOT NULL, scope TEXT NOT NULL, of TEXT, first INTEGER NOT NULL, last INTEGER NOT NULL,
        line INTEGER NOT NULL, sig_first INTEGER NOT NULL, sig_last INTEGER NOT NULL, parent INTEGER);
    CREATE INDEX symbols_name ON symbols(name, rank);
";

/// The columns of a symbol, in the order [`symbol`] reads them.
pub(super) const COLUMNS: &str =
    "s.name, s.kind, s.scope, s.of, s.first, s.last, s.line, s.sig_first, s.sig_last, s.parent";

/// The definitions of a name, the best kinds first, as far as they are looked at: [`symbol`] reads them from the third
/// column on. With the plus SQLite does not plan anew for every name.
pub(super) const NAMED: &str = "SELECT f.path, t.hash, s.name, s.kind, s.scope, s.of, s.first, s.last, s.line, s.sig_first, s.sig_last, s.parent \
     FROM symbols s JOIN texts t ON t.id = s.text JOIN files f ON f.text = s.text \
     WHERE s.name = +?1 ORDER BY s.rank LIMIT 2000";

/// How a text was parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Whole,
    /// There are more symbols than are kept.
    Truncated,
    /// It takes too many steps.
    TooHard,
}

impl State {
    pub(super) fn number(self) -> i64 {
        match self {
            Self::Whole => 0,
            Self::Truncated => 1,
            Self::TooHard => 2,
        }
    }
}

/// Makes the tables of a new database; refuses those of another version.
pub(super) fn prepare(db: &Connection, made_by: &str) -> Result<(), Unusable> {
    db.busy_timeout(std::time::Duration::from_millis(PATIENCE_MS.into()))?;
    // Written without waiting for the disk: after a power cut an older state is as good, and none at all is, too.
    db.pragma_update(None, "synchronous", "OFF")?;
    db.pragma_update(None, "journal_mode", "WAL")?;
    db.pragma_update(None, "synchronous", "NORMAL")?;
    db.pragma_update(None, "temp_store", "MEMORY")?;
    // What was written is moved to its place when there is much of it, not whenever a process ends.
    db.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    let made = |db: &Connection| db.query_row("SELECT made_by FROM about", [], |row| row.get::<_, String>(0));
    let tables = |db: &Connection| db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0));
    if tables(db)? == 0 {
        db.execute_batch("BEGIN IMMEDIATE")?;
        // Another process may have been quicker.
        let done = match tables(db) {
            Ok(0) => db
                .execute_batch(TABLES)
                .and_then(|()| db.execute("INSERT INTO about VALUES (?1)", params![made_by]).map(drop)),
            other => other.map(drop),
        };
        db.execute_batch(if done.is_ok() { "COMMIT" } else { "ROLLBACK" })?;
        done?;
    }
    if made(db)? == made_by { Ok(()) } else { Err(Unusable::Other) }
}

/// A number that changes when another connection has changed the database.
pub(super) fn changes(db: &Connection) -> Result<i64, rusqlite::Error> {
    db.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))
}

/// The row of a text, if it is known.
pub(super) fn text(db: &Connection, hash: ContentHash, language: &str) -> Result<Option<i64>, rusqlite::Error> {
    let mut known = db.prepare_cached("SELECT id FROM texts WHERE hash = +?1 AND language = +?2")?;
    let mut rows = known.query(params![hash.as_bytes(), language])?;
    rows.next()?.map(|row| row.get(0)).transpose()
}

/// Keeps what a text defines.
pub(super) fn insert(
    db: &Connection,
    hash: ContentHash,
    language: &str,
    outline: Option<&Outline>,
) -> Result<i64, rusqlite::Error> {
    if let Some(id) = text(db, hash, language)? {
        return Ok(id);
    }
    let state = match outline {
        Some(outline) if outline.truncated => State::Truncated,
        Some(_) => State::Whole,
        None => State::TooHard,
    };
    db.prepare_cached("INSERT INTO texts(hash, language, state) VALUES (?1, ?2, ?3)")?.execute(params![
        hash.as_bytes(),
        language,
        state.number()
    ])?;
    let id = db.last_insert_rowid();
    let mut row =
        db.prepare_cached("INSERT INTO symbols VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)")?;
    for (at, symbol) in outline.map_or(&[][..], |outline| &outline.symbols).iter().enumerate() {
        insert_symbol(&mut row, id, at, symbol)?;
    }
    Ok(id)
}

fn insert_symbol(row: &mut Statement<'_>, text: i64, at: usize, symbol: &Symbol) -> Result<(), rusqlite::Error> {
    let mut scope = String::new();
    for part in &symbol.scope {
        scope.push_str(part);
        scope.push(APART);
    }
    row.execute(params![
        text,
        i64::try_from(at).unwrap_or(i64::MAX),
        symbol.name,
        rank(symbol.kind),
        symbol.kind.as_str(),
        scope,
        symbol.of,
        symbol.lines.first(),
        symbol.lines.last(),
        symbol.line,
        symbol.signature.first(),
        symbol.signature.last(),
        symbol.parent,
    ])
    .map(drop)
}

/// Reads [`COLUMNS`], which begin at `from`; `None` for a row that no version of this program has written.
pub(super) fn symbol(row: &Row<'_>, from: usize) -> Result<Option<Symbol>, rusqlite::Error> {
    let kind: String = row.get(from + 1)?;
    let scope: String = row.get(from + 2)?;
    let lines = |first: usize| Ok::<_, rusqlite::Error>(Lines::new(row.get(first)?, row.get(first + 1)?));
    let (Some(kind), Some(all), Some(signature)) = (SymbolKind::parse(&kind), lines(from + 4)?, lines(from + 7)?)
    else {
        return Ok(None);
    };
    Ok(Some(Symbol {
        name: row.get(from)?,
        kind,
        scope: scope.split_terminator(APART).map(str::to_owned).collect(),
        of: row.get(from + 3)?,
        lines: all,
        line: row.get(from + 6)?,
        signature,
        parent: row.get(from + 9)?,
    }))
}

/// A hash as it is kept.
pub(super) fn hash(bytes: &[u8]) -> Option<ContentHash> {
    bytes.try_into().ok().map(ContentHash::from_digest)
}

/// Texts that no file has are kept for a while, as files go back to them; but no more than there are files, and some.
const SPARE: i64 = 1000;

/// Removes what no file has, when it has become much.
pub(super) fn sweep(db: &Connection) -> Result<(), rusqlite::Error> {
    let count = |sql: &str| db.query_row(sql, [], |row| row.get::<_, i64>(0));
    let live = count("SELECT count(DISTINCT text) FROM files")?;
    if count("SELECT count(*) FROM texts")? - live <= live + SPARE {
        return Ok(());
    }
    db.execute_batch(
        "BEGIN IMMEDIATE;
         DELETE FROM symbols WHERE text NOT IN (SELECT text FROM files WHERE text IS NOT NULL);
         DELETE FROM texts WHERE id NOT IN (SELECT text FROM files WHERE text IS NOT NULL);
         COMMIT",
    )
}
