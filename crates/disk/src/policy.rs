//! Which names are special: those that are sensitive.

mod sensitive;

pub use sensitive::{BadPattern, STANDARD_PATTERNS, Sensitive};
