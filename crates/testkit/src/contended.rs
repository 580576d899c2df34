//! Edits under load, through the real disk and the door: merges and stale edits compared with git, refusals that a scripted
//! caller follows, many writers, writers that are killed, rewinds, approved calls that are killed, and work that reads only parts of files. What is expected is worked
//! out here or by git, never by the product.

pub mod approved;
pub mod git;
pub mod helped;
pub mod kills;
pub mod merges;
pub mod races;
pub mod rewinds;
pub mod stale;
pub mod workflows;
pub mod writers;
