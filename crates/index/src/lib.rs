//! Finding things by name. Works on names that `disk` hands over and opens nothing itself.

mod grep;
mod nearest;

pub use grep::{BadQuery, Case, Extent, Finder, Found, Line, Query};
pub use nearest::nearest;
