//! `cargo xtask crash`, `processes`, `fulldisk`, `readonly` and `clock`: the testkit's `load` program at any length, in
//! release. Knows none of their options. And `cargo xtask savings`, whose traces lie outside the repository.

use std::{env, path::Path};

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

/// Where the traces are looked for, seen from the root of the tree.
const TRACES: &str = "../shared/traces";

/// What re-reads save on recorded sessions of real agents: builds the program and plays the traces through it.
pub(crate) fn savings(root: &Path, arguments: &[String]) -> Result<(), Failure> {
    let traces = match arguments.iter().position(|word| word == "--traces") {
        Some(at) => arguments.get(at + 1).map(|folder| env::current_dir().unwrap_or_default().join(folder)),
        None => Some(root.join(TRACES)),
    };
    let traces = traces.ok_or_else(|| Failure::usage("--traces needs a folder".to_owned()))?;
    if !traces.is_dir() {
        let name = traces.display();
        return Err(Failure::usage(format!(
            "there are no traces at {name}: they are not part of the repository; name their folder with --traces FOLDER"
        )));
    }
    let rest = arguments.iter().enumerate().filter(|(at, word)| {
        *word != "--traces" && (*at == 0 || arguments.get(*at - 1).is_none_or(|before| before != "--traces"))
    });
    let built = process::cargo(root)
        .args(["build", "--locked", "-p", "readproof", "-p", "readproof-testkit", "--bins"])
        .status()
        .map_err(|error| Failure::failed(format!("cargo could not be started: {error}")))?;
    if !built.success() {
        return Err(Failure { code: process::exit_code(built), message: format!("the build ended with {built}") });
    }
    let built =
        env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |folder| root.join(folder)).join("debug");
    let status = std::process::Command::new(built.join("savings"))
        .arg("--binary")
        .arg(built.join("readproof"))
        .arg("--traces")
        .arg(&traces)
        .args(rest.map(|(_, word)| word))
        .status()
        .map_err(|error| Failure::failed(format!("the savings run could not be started: {error}")))?;
    if status.success() {
        return Ok(());
    }
    Err(Failure { code: process::exit_code(status), message: format!("the savings run ended with {status}") })
}
