//! Files beside what git keeps of them, against git itself. Needs git in the path, and nothing of its settings.
#![allow(clippy::disallowed_methods, reason = "tests look at files")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests and their helpers")]

mod clean;
mod hostile;
mod random;
mod repo;
mod states;
mod stores;
