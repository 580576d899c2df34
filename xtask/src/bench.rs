//! `cargo xtask bench`: builds the program and the bench as they are published and runs the bench. Knows none of its
//! options.

use std::{path::Path, process::Command};

use crate::{Failure, process};

/// Passes the arguments on, and the exit code back.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<(), Failure> {
    let program = process::build_dist(root)?;
    // The bench times the program that stands beside it.
    let bench = program.with_file_name("readproof-bench");
    process::finish(Command::new(bench).args(arguments).current_dir(root), "the bench")
}
