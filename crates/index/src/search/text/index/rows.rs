//! The tables. Files are indexed in batches: a word of a batch leads to the files of the batch that have it, each by its place
//! in the batch with how often it occurs there. A batch is never changed; a file that is indexed again is in a later one, and
//! what earlier ones say of it no longer counts.

use rusqlite::{Connection, config::DbConfig};

use crate::catalog::create;

/// Version of the table layout and of the rules for words.
const LAYOUT: u32 = 1;

const TABLES: &str = "
    CREATE TABLE about(made_by TEXT NOT NULL);
    CREATE TABLE batches(id INTEGER PRIMARY KEY AUTOINCREMENT, files INTEGER NOT NULL);
    CREATE TABLE docs(path TEXT PRIMARY KEY, stamp BLOB NOT NULL, batch INTEGER, place INTEGER NOT NULL,
        bytes INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE words(batch INTEGER NOT NULL, word BLOB NOT NULL, files BLOB NOT NULL, PRIMARY KEY(batch, word)) WITHOUT ROWID;
";

/// How long to wait for another process's lock.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(5);

/// Creates the tables of a new database; `false` if they are those of another version, or of other settings.
pub(super) fn prepare(db: &Connection, settings: &str) -> Result<bool, rusqlite::Error> {
    let made_by = format!("{LAYOUT} {} {settings}", env!("CARGO_PKG_VERSION"));
    db.busy_timeout(PATIENCE)?;
    // It can be made again at any time.
    db.pragma_update(None, "synchronous", "OFF")?;
    db.pragma_update(None, "journal_mode", "WAL")?;
    db.pragma_update(None, "temp_store", "MEMORY")?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    create(db, TABLES, &made_by)
}

/// Appends a number, seven bits a byte.
pub(super) fn number(into: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        into.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    into.push((value & 0x7f) as u8);
}

pub(super) fn take_number(bytes: &mut &[u8]) -> Option<u64> {
    let (mut value, mut shift) = (0_u64, 0_u32);
    loop {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return Some(value);
        }
        shift += 7;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        let mut bytes = Vec::new();
        let all = [0, 1, 127, 128, 300, 1 << 20, u64::MAX];
        all.iter().for_each(|value| number(&mut bytes, *value));
        let mut rest = &bytes[..];
        assert_eq!(all.map(|_| take_number(&mut rest).unwrap()), all);
        assert_eq!(take_number(&mut rest), None);
        assert_eq!(take_number(&mut &[0x80; 30][..]), None);
    }
}
