//! `cargo xtask bench`: builds the program and the bench in release and runs the bench. Knows none of its options.

use std::path::Path;

use crate::{Failure, process};

/// Passes the arguments on, and the exit code back.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<(), Failure> {
    // The bench times the program that stands beside it.
    cargo(root, &["build", "--quiet", "--release", "--locked", "-p", "readproof", "-p", "readproof-bench"], &[])?;
    cargo(root, &["run", "--quiet", "--release", "--locked", "-p", "readproof-bench", "--"], arguments)
}

fn cargo(root: &Path, first: &[&str], rest: &[String]) -> Result<(), Failure> {
    let started = process::cargo(root).args(first).args(rest).status();
    let status = started.map_err(|error| Failure::failed(format!("cargo could not be started: {error}")))?;
    if status.success() {
        return Ok(());
    }
    Err(Failure { code: process::exit_code(status), message: format!("the bench ended with {status}") })
}
