//! Finding things: names by walking and ranking them, lines by ripgrep's engine, definitions by parsing. Opens no file:
//! `disk` hands over names and bytes, and lists folders.
#![allow(missing_docs, reason = "used by our own crates only: docs say what a name does not")]

mod catalog;
mod file_rules;
mod grep;
mod registry;
mod search;
mod symbols;
mod target;
mod walk;

pub use catalog::{Catalog, CatalogError, Defined, Fitting, Indexed, Part, Unindexed, Unusable};
pub use file_rules::FileRules;
pub use grep::{BadQuery, Case, Extent, Finder, LINE_BYTES, Line, Matches, NUMBER_CHARS, Query, SearchError, label};
pub use registry::{Due, Holds, Met, Registered, Registry, RegistryError, Suspect, Tag, Walked, file_globs, look_at};
pub use search::{
    Fit, Hit, NoWords, Skipped, TreeError, TreeMatches, TreeSearch, Uses, WordIndex, WordsBuilt, name_in, name_words,
};
pub use symbols::{Language, NoOutline, Outline, Parsers, Symbol, SymbolKind, UseKind};
pub use target::{Target, rank};
pub use walk::{
    BadWalk, Folders, HiddenFiles, IGNORE_BYTES, Ignores, Walk, WalkEntry, WalkRules, is_among, nearest, walk, walk_by,
};
