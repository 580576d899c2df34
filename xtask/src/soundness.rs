//! `cargo xtask soundness`: the random runs of the testkit at any length, in release. Knows none of their options.

use std::path::Path;

use crate::{Failure, process};

/// Runs the testkit's `soundness` program with the same arguments and passes its exit code on.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<(), Failure> {
    let status = process::cargo(root)
        .args(["run", "--release", "--locked", "-p", "readproof-testkit", "--bin", "soundness", "--"])
        .args(arguments)
        .status()
        .map_err(|error| Failure::failed(format!("cargo could not be started: {error}")))?;
    if status.success() {
        return Ok(());
    }
    Err(Failure { code: process::exit_code(status), message: format!("the soundness run ended with {status}") })
}
