//! `cargo xtask crash`, `processes`, `fulldisk`, `readonly` and `clock`: the testkit's `load` program at any length, in
//! release. Knows none of their options.

use std::path::Path;

use crate::{Failure, process};

/// Workers killed at random moments.
pub(crate) fn crash(root: &Path, arguments: &[String]) -> Result<(), Failure> {
    run(root, "crash", arguments)
}

/// Many processes on one store.
pub(crate) fn processes(root: &Path, arguments: &[String]) -> Result<(), Failure> {
    run(root, "processes", arguments)
}

/// A disk that fills up.
pub(crate) fn fulldisk(root: &Path, arguments: &[String]) -> Result<(), Failure> {
    run(root, "fulldisk", arguments)
}

/// A disk that cannot be written for a while.
pub(crate) fn readonly(root: &Path, arguments: &[String]) -> Result<(), Failure> {
    run(root, "readonly", arguments)
}

/// A clock that jumps.
pub(crate) fn clock(root: &Path, arguments: &[String]) -> Result<(), Failure> {
    run(root, "clock", arguments)
}

fn run(root: &Path, command: &str, arguments: &[String]) -> Result<(), Failure> {
    let status = process::cargo(root)
        .args(["run", "--release", "--locked", "-p", "readproof-testkit", "--bin", "load", "--", command])
        .args(arguments)
        .status()
        .map_err(|error| Failure::failed(format!("cargo could not be started: {error}")))?;
    if status.success() {
        return Ok(());
    }
    Err(Failure { code: process::exit_code(status), message: format!("the {command} run ended with {status}") })
}
