//! Where names are defined in a workspace: what every file defines, kept in SQLite by the hash of its text, so that only
//! a text not met before is parsed. Can be made again at any time; several processes share one. What it says of a file is
//! true of the text it was made from, and it names that text: whoever uses it compares.

mod lookup;
mod packed;
mod refresh;
mod rows;

pub use lookup::{Defined, Fitting, Unindexed};
pub use refresh::{Refreshed, Rules, Upset};

use readproof_disk::Watch;
use rusqlite::Connection;
use std::{fmt, path::Path};

use crate::{Language, Parsers};

/// Another number for another layout of the tables.
const LAYOUT: u32 = 4;

/// What every file of a workspace defines.
pub struct Catalog {
    db: Connection,
    parsers: Parsers,
    watch: Option<Watch>,
    others: Others,
    /// The state of the database after the last refresh, if every folder of the workspace is watched since.
    fresh: Option<i64>,
    /// Files that the last refresh left out, as they are sensitive.
    sensitive: u64,
}

/// How changes by other processes are noticed.
enum Others {
    /// It is in memory.
    None,
    /// The folder of the database is watched, which costs less than to ask the database.
    Watched(Watch),
    /// It is asked.
    Asked,
}

impl Others {
    fn of(db: &Connection) -> Self {
        let Some(path) = db.path().filter(|path| !path.is_empty()) else { return Self::None };
        let watch = Watch::new().filter(|watch| Path::new(path).parent().is_some_and(|folder| watch.add(folder)));
        watch.map_or(Self::Asked, Self::Watched)
    }

    /// Whether nobody else can have changed it since it was in this state.
    fn are_quiet(&self, db: &Connection, state: i64) -> bool {
        match self {
            Self::None => true,
            Self::Watched(watch) => watch.is_quiet(),
            Self::Asked => rows::changes(db).is_ok_and(|now| now == state),
        }
    }
}

/// Why there is no catalog.
#[derive(Debug)]
pub enum Unusable {
    /// Made by another version of this program, or with other languages.
    Other,
    /// SQLite says so.
    Broken(rusqlite::Error),
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Other => f.write_str("another version of this program uses it"),
            Self::Broken(error) => write!(f, "{error}"),
        }
    }
}

impl From<rusqlite::Error> for Unusable {
    fn from(error: rusqlite::Error) -> Self {
        Self::Broken(error)
    }
}

impl Catalog {
    /// Takes a database, which may be new.
    ///
    /// # Errors
    /// [`Unusable`]: remove it and take a new one, or one in memory.
    pub fn new(db: Connection) -> Result<Self, Unusable> {
        rows::prepare(&db, &made_by())?;
        let others = Others::of(&db);
        Ok(Self { db, parsers: Parsers::default(), watch: Watch::new(), others, fresh: None, sensitive: 0 })
    }

    /// Says that it may be out of date, whatever it knows of changes.
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

/// What the rows depend on beside the texts.
fn made_by() -> String {
    let languages: Vec<&str> =
        Language::ALL.iter().filter(|language| language.is_built_in()).map(|language| language.as_str()).collect();
    format!("{LAYOUT} {} {} {}", env!("CARGO_PKG_VERSION"), env!("SYMBOL_RULES"), languages.join(" "))
}
