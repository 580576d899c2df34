//! Commands that talk to a git remote.

pub mod push;

pub const DEFAULT_REMOTE: &str = "origin";
