//! The short versions of `cargo xtask tamper`, `audit-kills`, `crash`, `processes`, `fulldisk`, `readonly` and `clock`.
#![allow(clippy::expect_used, reason = "tests")]

use readproof_testkit::load::{
    audited,
    clock::jumps,
    processes::{Beside, crash, processes},
    scarce::{Disk, Plan, full_disk, read_only},
    tamper::{agree::agree, tamper},
};
use std::{
    io::{self, Write},
    path::Path,
    process::Command,
};

const LOAD: &str = env!("CARGO_BIN_EXE_load");

#[test]
fn what_was_acknowledged_survives_being_killed() {
    let done = crash(Path::new(LOAD), 10, 1).expect("nothing is lost, altered or refused");
    assert!(done.kills >= 28 && done.found.acknowledged > 0, "{done:?}");
    assert!(done.windows.killed.len() == 13 && done.windows.saves >= 7 && done.windows.left > 5, "{done:?}");
}

#[test]
fn processes_share_a_store() {
    let done = processes(Path::new(LOAD), 4, 50, 1, Beside::Edits).expect("nothing is lost, altered or refused");
    let (found, windows) = done;
    assert!(windows.killed.len() == 13, "{windows}");
    assert!(found.replayed >= 200 && found.modes.len() >= 4, "{found:?}");
}

#[test]
fn processes_share_a_store_whose_texts_are_removed() {
    let (found, _) =
        processes(Path::new(LOAD), 4, 50, 2, Beside::Removal).expect("nothing is lost, altered or refused");
    assert!(found.replayed + found.unverifiable >= 200, "{found:?}");
}

/// Runs in a private mount namespace; where that is not permitted, says so and does what it can.
fn apart(words: &str) {
    let output = Command::new(LOAD).args(words.split(' ')).output().expect("it can be started");
    let said = [&output.stdout[..], &output.stderr[..]].concat();
    let said = String::from_utf8_lossy(&said);
    // Bypasses the test runner's capture: it may say that nothing could be mounted.
    let _ = writeln!(io::stderr(), "{said}");
    assert!(output.status.success(), "{said}");
}

#[test]
fn a_disk_that_fills_up() {
    apart("fulldisk --rounds 4 --processes 4 --steps 150 --seed 1");
}

#[test]
fn a_disk_that_is_read_only_for_a_while() {
    apart("readonly --rounds 2 --processes 3 --steps 60 --seed 4");
}

/// The replacement for mounts must work everywhere.
#[test]
fn a_limit_instead_of_a_disk() {
    let plan = Plan { rounds: 1, workers: 3, steps: 60, seed: 1 };
    for run in [full_disk, read_only] {
        let done = run(Path::new(LOAD), Disk::Limited, &plan).expect("nothing is lost, altered or refused");
        assert!(done.plain > 0 && done.refused > 0, "{done}");
    }
}

#[test]
fn a_clock_that_jumps() {
    let done = jumps(250, 1).expect("nothing depends on the clock");
    assert!(done.answers > 100 && done.back > 20 && done.removed > 0 && done.future > 0, "{done:?}");
    assert!(done.modes.len() >= 4, "{done:?}");
}

#[test]
fn every_alteration_of_an_audit_log_is_found_and_named() {
    let done = tamper(200, 1).expect("all are found");
    assert!(done.cases == 200 && done.kinds.len() >= 10, "{done}");
}

#[test]
fn three_judges_agree_on_proofs_and_checkpoints() {
    let checker = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../integrations/verify/verify.py");
    let done = agree(60, 1, &checker).expect("they agree");
    assert!(done.proofs > 20 && done.checkpoints > 5 && done.held > 10 && done.held < 60, "{done}");
}

#[test]
fn an_acknowledged_edit_has_its_line_wherever_its_process_ends() {
    let done = audited::kills(Path::new(LOAD), 6, 1).expect("nothing acknowledged is lost");
    assert!(done.kills == 6 && done.reads > 0 && done.writes > 0, "{done}");
}
