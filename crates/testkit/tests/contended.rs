//! The short versions of `cargo xtask contended`.
#![allow(clippy::expect_used, reason = "tests")]

use readproof_testkit::contended::{
    approved::approved, helped::helped, kills::kills, merges::merges, races::races, stale::stale, workflows::workflows,
    writers::writers,
};
use std::{path::Path, time::Duration};

const EDITS: &str = env!("CARGO_BIN_EXE_contended");

#[test]
fn merges_are_those_of_git() {
    let done = merges(100, 1).expect("clean merges are git's");
    assert!(done.clean > 20 && done.conflicts > 20, "{done}");
}

#[test]
fn stale_edits_are_made_merged_or_refused() {
    let done = stale(72, 1).expect("all as the oracle says");
    let words: std::collections::BTreeSet<&str> = done.verdicts.keys().map(|(_, word)| *word).collect();
    assert_eq!(words.into_iter().collect::<Vec<_>>(), ["conflict", "made", "merged", "refused"], "{done}");
}

#[test]
fn refusals_say_what_to_do() {
    let done = helped(50, 1).expect("nine of ten succeed");
    assert_eq!(done.succeeded.len(), 5, "{done}");
}

#[test]
fn writers_lose_nothing() {
    let done = writers(Path::new(EDITS), Duration::from_secs(2), 1).expect("nothing is lost or twice");
    assert!(done.edits > 15 && done.changes > done.edits, "{done}");
}

#[test]
fn killed_patches_are_there_or_not() {
    let done = kills(Path::new(EDITS), 20, 1).expect("each is there or not");
    assert!(done.windows.len() >= 9 && done.persons > 2 && done.undone > 0, "{done}");
}

#[test]
fn an_approved_call_that_is_killed_is_made_once_or_not_at_all() {
    let done = approved(Path::new(EDITS), 40, 1).expect("made once or not at all");
    assert!(done.kills > 15 && done.windows.len() >= 4 && done.made > 5 && done.asked_anew > 3, "{done}");
}

#[test]
fn what_others_save_meanwhile_is_kept() {
    let done = races(40, 1).expect("nothing is lost");
    assert!(done.saves > 20 && done.there > 10, "{done}");
}

#[test]
fn work_needs_no_whole_file() {
    let used = workflows().expect("all files are as intended");
    let used: Vec<&str> = used.into_keys().collect();
    assert_eq!(used, ["apply_patch", "edit", "get_diff", "read_lines", "search", "search_in_file"]);
}
