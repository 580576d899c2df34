//! Finding things by name. Works on names that `disk` hands over and opens nothing itself.

mod nearest;

pub use nearest::nearest;
