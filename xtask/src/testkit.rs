//! The commands that run the testkit's programs: `soundness`, `edits`, `rewinds`, `crash`, `processes`, `fulldisk`, `readonly` and `clock` in
//! release; `attacks` and `hidden` against the `readproof` program; and the bench. Knows none of their options.

use std::{env, path::Path, process::Command};

use crate::{Failure, process};

/// Random runs judged by the reader.
pub(crate) fn soundness(root: &Path, arguments: &[String]) -> Result<(), Failure> {
    run(root, &["soundness", "--"], "soundness", arguments)
}

/// Generated edits in every dialect.
pub(crate) fn edits(root: &Path, arguments: &[String]) -> Result<(), Failure> {
    run(root, &["edits", "--"], "edits", arguments)
}

/// Audit logs that someone alters.
pub(crate) fn tamper(root: &Path, arguments: &[String]) -> Result<(), Failure> {
    load(root, "tamper", arguments)
}

/// How long proofs and the verification of a long audit log take.
pub(crate) fn audit_bench(root: &Path, arguments: &[String]) -> Result<(), Failure> {
    load(root, "audit-bench", arguments)
}

/// Workers with the audit on, killed at random moments.
pub(crate) fn audit_kills(root: &Path, arguments: &[String]) -> Result<(), Failure> {
    load(root, "audit-kills", arguments)
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

/// Calls that are replayed elsewhere.
pub(crate) fn replay(root: &Path, arguments: &[String]) -> Result<(), Failure> {
    load(root, "replay", arguments)
}

/// Changes under load.
pub(crate) fn contended(root: &Path, arguments: &[String]) -> Result<(), Failure> {
    run(root, &["contended", "--"], "contended", arguments)
}

/// A shell session beside an agent.
pub(crate) fn shell(root: &Path, arguments: &[String]) -> Result<(), Failure> {
    run(root, &["shell", "--"], "shell", arguments)
}

/// Random rewinds, and rewinds that are killed.
pub(crate) fn rewinds(root: &Path, arguments: &[String]) -> Result<(), Failure> {
    run(root, &["rewinds", "--"], "rewinds", arguments)
}

fn load(root: &Path, command: &str, arguments: &[String]) -> Result<(), Failure> {
    run(root, &["load", "--", command], command, arguments)
}

fn run(root: &Path, program: &[&str], name: &str, arguments: &[String]) -> Result<(), Failure> {
    let mut cargo = process::cargo(root);
    cargo.args(["run", "--release", "--locked", "-p", "readproof-testkit", "--bin"]).args(program).args(arguments);
    process::finish(&mut cargo, &format!("the {name} run"))
}

/// Calls in workspaces that differ only in denied files: through the door, then a fiftieth as many over the wires.
pub(crate) fn hidden(root: &Path, arguments: &[String]) -> Result<(), Failure> {
    let (mut calls, mut seed) = (100_000_u64, 1_u64);
    for pair in arguments.chunks(2) {
        let number = pair.get(1).and_then(|number| number.parse().ok());
        match (pair[0].as_str(), number) {
            ("--calls", Some(number)) => calls = number,
            ("--seed", Some(number)) => seed = number,
            _ => return Err(Failure::usage("hidden takes --calls N and --seed S")),
        }
    }
    let mut cargo = process::cargo(root);
    cargo.args(["build", "--release", "--locked", "-p", "readproof", "-p", "readproof-testkit", "--bins"]);
    process::finish(&mut cargo, "the build")?;
    let built = process::target(root).join("release");
    let run = |calls: u64, more: &[&Path]| {
        let mut hidden = Command::new(built.join("hidden"));
        hidden.args(["--calls", &calls.to_string(), "--seed", &seed.to_string()]).args(more);
        process::finish(&mut hidden, "the run with denied files")
    };
    run(calls, &[])?;
    run(calls / 50, &[Path::new("--binary"), &built.join("readproof")])
}

/// The attacks at length, on the release build.
pub(crate) fn attacks(root: &Path, arguments: &[String]) -> Result<(), Failure> {
    let mut cargo = process::cargo(root);
    cargo.args(["build", "--release", "--locked", "-p", "readproof", "-p", "readproof-testkit", "--bins"]);
    process::finish(&mut cargo, "the build")?;
    let built = process::target(root).join("release");
    let mut attacks = Command::new(built.join("attacks"));
    process::finish(attacks.arg("--binary").arg(built.join("readproof")).args(arguments), "the attack run")
}

/// The bench, with the program and the bench built as they are published.
pub(crate) fn bench(root: &Path, arguments: &[String]) -> Result<(), Failure> {
    let program = process::build_dist(root)?;
    // The bench times the program that stands beside it.
    let bench = program.with_file_name("readproof-bench");
    process::finish(Command::new(bench).args(arguments).current_dir(root), "the bench")
}
