//! A SQLite file in the store, for what can be made again at any time. Private like the rest of the store, and never opened
//! through a link.

use std::{os::fd::BorrowedFd, path::Path};

use rusqlite::{Connection, OpenFlags};
use rustix::{
    fs::{AtFlags, Mode, OFlags},
    io::Errno,
};

use super::{
    super::{Database, StoreError},
    STORE_NAME,
    folder::is_private,
};
use crate::snapshot::FileKind;

/// The suffixes of files that SQLite puts beside a database.
const BESIDE: [&str; 3] = ["-wal", "-shm", "-journal"];

/// Opens a database, creating it if it is missing.
pub(super) fn open(folder: BorrowedFd<'_>, path: &Path, name: &str) -> Result<Database, StoreError> {
    let shown = format!("{STORE_NAME}/{name}");
    let fail = |errno: Errno| StoreError::from_io(&shown, errno.into());
    // Created here, because SQLite would let others read it; its side files get the same permissions. An existing one is
    // not opened here: closing it again would release the locks of another connection in this process.
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match rustix::fs::openat(folder, name, flags, Mode::RUSR | Mode::WUSR) {
        Ok(_) | Err(Errno::EXIST) => {}
        Err(errno) => return Err(fail(errno)),
    }
    let found = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).map_err(fail)?;
    if FileKind::of(found.st_mode).is_some() {
        return Err(StoreError::Damaged { name: shown, why: "it is not a regular file" });
    }
    is_private(&found, &shown)?;
    connect(&path.join(name)).map_err(|_| StoreError::Damaged { name: shown, why: "SQLite cannot open it" })
}

pub(super) fn remove(folder: BorrowedFd<'_>, name: &str) -> Result<(), StoreError> {
    for name in BESIDE.iter().map(|end| format!("{name}{end}")).chain([name.to_owned()]) {
        let removed = super::remove(folder, &name);
        removed.map_err(|errno| StoreError::from_io(&format!("{STORE_NAME}/{name}"), errno.into()))?;
    }
    Ok(())
}

/// A database that ends with the process.
///
/// # Errors
/// When there is no memory for one.
pub fn database_in_memory() -> Result<Connection, rusqlite::Error> {
    Connection::open_in_memory()
}

fn connect(path: &Path) -> Result<Connection, rusqlite::Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    Connection::open_with_flags(path, flags)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LocalStore, Root, Store};
    use std::{
        fs,
        os::unix::fs::{PermissionsExt, symlink},
    };

    #[test]
    fn a_database_is_private_and_no_link() {
        let temp = tempfile::tempdir().unwrap();
        let root = Root::open(temp.path()).unwrap();
        let store = LocalStore::open(&root).unwrap();
        let at = |name: &str| temp.path().join(STORE_NAME).join(name);
        let db = store.database("a.db").unwrap();
        db.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t(x); INSERT INTO t VALUES (1);").unwrap();
        for name in ["a.db", "a.db-wal", "a.db-shm"] {
            assert_eq!(fs::metadata(at(name)).unwrap().permissions().mode() & 0o777, 0o600, "{name}");
        }
        let again = store.database("a.db").unwrap();
        assert_eq!(again.query_row("SELECT x FROM t", [], |row| row.get(0)), Ok(1));
        drop((db, again));
        store.remove_database("a.db").unwrap();
        assert!(!at("a.db").exists() && !at("a.db-wal").exists());

        fs::write(temp.path().join("mine"), "").unwrap();
        symlink("../mine", at("b.db")).unwrap();
        assert!(matches!(store.database("b.db"), Err(StoreError::Damaged { .. })));
        fs::create_dir(at("c.db")).unwrap();
        assert!(matches!(store.database("c.db"), Err(StoreError::Damaged { .. })));
        fs::write(at("d.db"), "").unwrap();
        fs::set_permissions(at("d.db"), fs::Permissions::from_mode(0o644)).unwrap();
        assert!(matches!(store.database("d.db"), Err(StoreError::NotPrivate { .. })));
    }
}
