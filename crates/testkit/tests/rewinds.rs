//! The short versions of `cargo xtask rewinds`.
#![allow(clippy::expect_used, reason = "tests")]

use readproof_testkit::contended::rewinds::{kills::kills, rewinds};
use std::path::Path;

#[test]
fn rewinds_do_what_they_say() {
    let done = rewinds(200, 1).expect("every file is as it was, or is listed");
    let words: Vec<&str> = done.files.keys().copied().collect();
    for word in ["blocked", "conflict", "made", "merged", "not_kept", "not_known", "removed", "restored"] {
        assert!(words.contains(&word), "{word}: {done}");
    }
    assert!(done.undone > 50 && done.found_again > 100 && done.reads.len() > 2, "{done}");
}

#[test]
fn killed_rewinds_are_made_or_not() {
    let done = kills(Path::new(env!("CARGO_BIN_EXE_rewinds")), 12, 1).expect("each is made or not");
    assert!(done.windows.len() > 4 && done.persons > 2, "{done}");
}
