//! The short versions of `cargo xtask crash` and `cargo xtask processes`.
#![allow(clippy::expect_used, reason = "tests")]

use readproof_testkit::processes::{Beside, crash, processes};
use std::path::Path;

const LOAD: &str = env!("CARGO_BIN_EXE_load");

#[test]
fn what_was_acknowledged_survives_being_killed() {
    let done = crash(Path::new(LOAD), 10, 1).expect("nothing is lost, altered or refused");
    assert!(done.kills >= 10 && done.found.acknowledged > 0, "{done:?}");
}

#[test]
fn processes_share_a_store() {
    let found = processes(Path::new(LOAD), 4, 50, 1, Beside::Edits).expect("nothing is lost, altered or refused");
    assert!(found.replayed >= 200 && found.modes.len() >= 4, "{found:?}");
}

#[test]
fn processes_share_a_store_whose_texts_are_removed() {
    let found = processes(Path::new(LOAD), 4, 50, 2, Beside::Removal).expect("nothing is lost, altered or refused");
    assert!(found.replayed + found.unverifiable >= 200, "{found:?}");
}
