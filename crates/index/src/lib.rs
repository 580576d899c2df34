//! Finding things: names by walking and ranking them, lines by ripgrep's engine. Opens no file: `disk` hands over names
//! and bytes, and lists folders.

mod catalog;
mod grep;
mod nearest;
mod rank;
mod symbols;
mod target;
mod walk;

pub use catalog::{Catalog, Defined, Fitting, Refreshed, Rules, Unindexed, Unusable, Upset};
pub use grep::{BadQuery, Case, Extent, Finder, Found, LINE_BYTES, Line, Query};
pub use nearest::nearest;
pub use rank::{Best, Fit, Text, Words, fit};
pub use symbols::{Language, NoOutline, Outline, Parsers, Symbol, SymbolKind};
pub use target::{Target, rank};
pub use walk::{BadWalk, Entry, Walk, walk};
