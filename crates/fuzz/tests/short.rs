//! The short versions of `cargo xtask fuzz`: every target on a few thousand inputs.
#![allow(clippy::expect_used, reason = "tests")]

use readproof_fuzz::{corpus, driver, targets};

/// Enough to reach every kind of input. The seed is fixed, so that a failure is caused by the change.
fn short(name: &str, inputs: u64) {
    let target = targets::named(name).expect("a target");
    let kept = corpus::load(name).expect("the kept inputs");
    match driver::run(&target, &kept, inputs, 1, &mut |_, _| ()) {
        Ok(report) => assert_eq!(report.shallow(), None, "{report:?}"),
        Err(found) => panic!("{}\n{} bytes: {}", found.message, found.input.len(), found.input.escape_ascii()),
    }
}

#[test]
fn paths() {
    short("paths", 20_000);
}

#[test]
fn scope() {
    short("scope", 20_000);
}

#[test]
fn meta() {
    short("meta", 20_000);
}

#[test]
fn session() {
    short("session", 10_000);
}

#[test]
fn claude_code() {
    short("claude_code", 1_500);
}

#[test]
fn patch() {
    short("patch", 20_000);
}

#[test]
fn ladder() {
    short("ladder", 20_000);
}

#[test]
fn log() {
    short("log", 10_000);
}

#[test]
fn diff() {
    short("diff", 20_000);
}

#[test]
fn operation() {
    short("operation", 20_000);
}

#[test]
fn pack() {
    short("pack", 1_500);
}

#[test]
fn note() {
    short("note", 3_000);
}

#[test]
fn proof() {
    short("proof", 3_000);
}

#[test]
fn tile() {
    short("tile", 20_000);
}
