//! The index of all definitions in a workspace, in SQLite. Definitions are stored by the hash of the text, so that only a
//! new text is parsed. It can be rebuilt at any time and is shared between processes. Each answer names the text that it is
//! true of; the caller compares that with the file.

mod lookup;
mod packed;
mod refresh;
mod rows;

pub use lookup::{Defined, Fitting, Part, Unindexed};
pub use refresh::{CatalogError, Indexed};
pub(crate) use rows::{changes, create};

use readproof_disk::Watch;
use rusqlite::Connection;
use std::path::Path;

use crate::{Language, Parsers};

/// Version of the table layout.
const LAYOUT: u32 = 4;

/// The definitions of a workspace.
pub struct Catalog {
    db: Connection,
    parsers: Parsers,
    watch: Option<Watch>,
    others: Others,
    /// The state of the database after the last refresh, if every folder of the workspace has been watched since.
    fresh: Option<i64>,
    /// Number of files that the last refresh left out because they are sensitive.
    sensitive: u64,
    /// What the last refresh found in the database, with its state then, unless that refresh changed something.
    known: Option<(i64, refresh::Known)>,
}

/// How changes to the database by other processes are noticed.
enum Others {
    /// Not at all: it is in memory.
    None,
    /// By watching its folder, which is cheaper than a query.
    Watched(Watch),
    /// By a query.
    Asked,
}

impl Others {
    fn of(db: &Connection) -> Self {
        let Some(path) = db.path().filter(|path| !path.is_empty()) else { return Self::None };
        let watch = Watch::new().filter(|watch| Path::new(path).parent().is_some_and(|folder| watch.add(folder)));
        watch.map_or(Self::Asked, Self::Watched)
    }

    /// Whether no other process can have changed it since it was in this state.
    fn are_quiet(&self, db: &Connection, state: i64) -> bool {
        match self {
            Self::None => true,
            Self::Watched(watch) => watch.is_quiet(),
            Self::Asked => rows::changes(db).is_ok_and(|now| now == state),
        }
    }
}

/// Why a database cannot be used.
#[derive(Debug)]
pub enum Unusable {
    /// It was made by another version of this program, or one with other languages.
    Other,
    /// An error of SQLite.
    Broken(rusqlite::Error),
}

impl From<rusqlite::Error> for Unusable {
    fn from(error: rusqlite::Error) -> Self {
        Self::Broken(error)
    }
}

impl Catalog {
    /// Opens the catalog in a database, which may be new.
    ///
    /// # Errors
    /// [`Unusable`]: remove the database and use a new one, or one in memory.
    pub fn new(db: Connection) -> Result<Self, Unusable> {
        rows::prepare(&db, &made_by())?;
        let others = Others::of(&db);
        Ok(Self {
            db,
            parsers: Parsers::default(),
            watch: Watch::new(),
            others,
            fresh: None,
            sensitive: 0,
            known: None,
        })
    }

    /// Whether no file was ever indexed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let any = self.db.query_row("SELECT EXISTS(SELECT 1 FROM files)", [], |row| row.get::<_, bool>(0));
        any.is_ok_and(|any| !any)
    }

    /// Forces a refresh at the next question, even if no change was noticed.
    pub fn doubt(&mut self) {
        self.fresh = None;
    }

    /// Whether nothing can have changed since the last refresh.
    #[must_use]
    pub fn is_fresh(&mut self) -> bool {
        let quiet = self.watch.as_ref().is_some_and(Watch::is_quiet);
        let same = self.fresh.is_some_and(|state| quiet && self.others.are_quiet(&self.db, state));
        if !same {
            self.fresh = None;
        }
        same
    }
}

/// Everything beside the texts that the rows depend on.
fn made_by() -> String {
    let languages: Vec<&str> =
        Language::ALL.iter().filter(|language| language.is_built_in()).map(|language| language.as_str()).collect();
    format!("{LAYOUT} {} {} {}", env!("CARGO_PKG_VERSION"), env!("SYMBOL_RULES"), languages.join(" "))
}
