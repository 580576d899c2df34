//! `cargo xtask fuzz`: the fuzz targets on any number of inputs, in release with every check on. Knows none of their options.

use std::path::Path;

use crate::{Failure, process};

/// Passes the arguments on, and the exit code back.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<(), Failure> {
    let status = process::cargo(root)
        .args(["run", "--quiet", "--profile", "fuzz", "--locked", "-p", "readproof-fuzz", "--bin", "fuzz", "--"])
        .args(arguments)
        .status()
        .map_err(|error| Failure::failed(format!("cargo could not be started: {error}")))?;
    if status.success() {
        return Ok(());
    }
    Err(Failure { code: process::exit_code(status), message: format!("the fuzz run ended with {status}") })
}
