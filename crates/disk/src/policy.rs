//! Which names are special: those that are sensitive.

mod guard;
mod sensitive;

pub use guard::{Guard, Refusal};
pub use sensitive::{BadPattern, STANDARD_PATTERNS, Sensitive};
