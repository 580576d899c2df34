//! `cargo xtask soundness`, `crash`, `processes`, `fulldisk`, `readonly` and `clock`: the testkit's programs at any length,
//! in release. Knows none of their options.

use std::path::Path;

use crate::{Failure, process};

/// Random runs judged by the reader.
pub(crate) fn soundness(root: &Path, arguments: &[String]) -> Result<(), Failure> {
    run(root, &["soundness", "--"], "soundness", arguments)
}

/// Workers killed at random moments.
pub(crate) fn crash(root: &Path, arguments: &[String]) -> Result<(), Failure> {
    load(root, "crash", arguments)
}

/// Many processes on one store.
pub(crate) fn processes(root: &Path, arguments: &[String]) -> Result<(), Failure> {
    load(root, "processes", arguments)
}

/// A disk that fills up.
pub(crate) fn fulldisk(root: &Path, arguments: &[String]) -> Result<(), Failure> {
    load(root, "fulldisk", arguments)
}

/// A disk that cannot be written for a while.
pub(crate) fn readonly(root: &Path, arguments: &[String]) -> Result<(), Failure> {
    load(root, "readonly", arguments)
}

/// A clock that jumps.
pub(crate) fn clock(root: &Path, arguments: &[String]) -> Result<(), Failure> {
    load(root, "clock", arguments)
}

fn load(root: &Path, command: &str, arguments: &[String]) -> Result<(), Failure> {
    run(root, &["load", "--", command], command, arguments)
}

fn run(root: &Path, program: &[&str], name: &str, arguments: &[String]) -> Result<(), Failure> {
    let mut cargo = process::cargo(root);
    cargo.args(["run", "--release", "--locked", "-p", "readproof-testkit", "--bin"]).args(program).args(arguments);
    process::finish(&mut cargo, &format!("the {name} run"))
}
