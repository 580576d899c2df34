//! Where names are defined in a workspace: what every file defines, kept in SQLite by the hash of its text, so that only
//! a text not met before is parsed. Can be made again at any time; several processes share one. What it says of a file is
//! true of the text it was made from, and it names that text: whoever uses it compares.

mod lookup;
mod refresh;
mod rows;

pub use lookup::{Defined, Fitting};
pub use refresh::{Refreshed, Rules, Upset};

use readproof_disk::Watch;
use rusqlite::Connection;
use std::fmt;

use crate::{Language, Parsers};

/// Another number for another layout, or for other rules of what is a symbol.
const LAYOUT: u32 = 1;

/// What every file of a workspace defines.
pub struct Catalog {
    db: Connection,
    parsers: Parsers,
    watch: Option<Watch>,
    /// What the last refresh relied on: other processes' changes, and whether every folder is watched.
    fresh: Option<i64>,
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
        Ok(Self { db, parsers: Parsers::default(), watch: Watch::new(), fresh: None })
    }

    /// Says that it may be out of date, whatever it knows of changes.
    pub fn doubt(&mut self) {
        self.fresh = None;
    }

    /// Whether nothing can have changed since the last refresh.
    #[must_use]
    pub fn is_fresh(&mut self) -> bool {
        let quiet = self.watch.as_ref().is_some_and(Watch::is_quiet);
        let same = quiet && self.fresh.is_some() && rows::changes(&self.db).ok() == self.fresh;
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
    format!("{LAYOUT} {} {}", env!("CARGO_PKG_VERSION"), languages.join(" "))
}
