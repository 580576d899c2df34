//! Diffs of working files against git, compared with git itself. Needs git on `PATH`; its configuration is ignored.
#![allow(clippy::disallowed_methods, reason = "tests look at files")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests and their helpers")]

mod clean;
mod hostile;
mod random;
mod repo;
mod states;
mod stores;
mod views;
