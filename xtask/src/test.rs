//! `cargo xtask test`: the README's test command. Runs the steps in order, stops at the first that fails, and leaves
//! with its exit code. Tidy and the scenarios are ordinary tests, so they run inside the step `tests`.

use std::{
    env,
    ffi::OsString,
    path::Path,
    time::{Duration, Instant},
};

use crate::{Failure, ctags, mcp, mutants, no_arguments, pi, process};

/// Seeds and length of the soundness runs: fixed, so that a red run is the change's fault.
const SEEDS: [u32; 3] = [1, 2, 3];
const STEPS: u32 = 4000;

/// The same for agents that return handles.
const MCP: &str = "--mcp --steps 20000 --seed 301";

/// Which ripgrep searches are compared with.
const RIPGREP: &str = "15.2.0";

struct Step {
    name: String,
    action: Action,
}

enum Action {
    /// The arguments as one line; none of them contains a space.
    Cargo(String),
    Ripgrep,
    MutantPatches,
    RealPi,
    RealClients,
    Ctags,
}

impl Step {
    fn cargo(name: &str, arguments: &str) -> Self {
        Self { name: name.to_owned(), action: Action::Cargo(arguments.to_owned()) }
    }
}

/// Which program runs the tests.
#[derive(Clone, Copy, Debug)]
enum Runner {
    Nextest,
    Cargo,
}

/// Runs every step.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<(), Failure> {
    no_arguments(arguments)?;
    require_components(root)?;
    let runner = if process::has_subcommand(root, "nextest") { Runner::Nextest } else { Runner::Cargo };
    let steps = steps(runner);
    let begin = Instant::now();
    let mut passed = Vec::new();
    for step in &steps {
        println!("== {}: {}", step.name, step.action.describe());
        let begin = Instant::now();
        let outcome = step.action.run(root);
        let took = begin.elapsed();
        match outcome {
            Ok(()) => println!("== {}: ok in {}\n", step.name, seconds(took)),
            Err(failure) => {
                println!(
                    "== {}: failed after {}\n\n{}",
                    step.name,
                    seconds(took),
                    summary(&steps, &passed, Some(took))
                );
                return Err(Failure { code: failure.code, message: format!("{}: {}", step.name, failure.message) });
            }
        }
        passed.push(took);
    }
    println!("{}all {} steps passed in {}", summary(&steps, &passed, None), steps.len(), seconds(begin.elapsed()));
    if !process::may_mount() {
        println!(
            "NOTE: nothing can be mounted here (`unshare -rm mount`), so NO REAL FULL OR READ-ONLY DISK was tried"
        );
    }
    Ok(())
}

fn steps(runner: Runner) -> Vec<Step> {
    let mut steps = vec![
        Step::cargo("fmt", "fmt --all --check"),
        Step::cargo("clippy", "clippy --workspace --all-targets --locked -- -D warnings"),
        Step::cargo("build", "build --workspace --locked"),
        Step { name: "ripgrep".to_owned(), action: Action::Ripgrep },
    ];
    match runner {
        Runner::Nextest => {
            steps.push(Step::cargo("tests", "nextest run --workspace --locked"));
            steps.push(Step::cargo("doc tests", "test --doc --workspace --locked"));
        }
        Runner::Cargo => steps.push(Step::cargo("tests", "test --workspace --locked")),
    }
    for seed in SEEDS {
        let line = format!("run --locked -p readproof-testkit --bin soundness -- --steps {STEPS} --seed {seed}");
        steps.push(Step::cargo(&format!("soundness {seed}"), &line));
    }
    let line = format!("run --locked -p readproof-testkit --bin soundness -- {MCP}");
    steps.push(Step::cargo("soundness mcp", &line));
    steps.push(Step { name: "mutant patches".to_owned(), action: Action::MutantPatches });
    steps.push(Step { name: "real pi".to_owned(), action: Action::RealPi });
    steps.push(Step { name: "real MCP clients".to_owned(), action: Action::RealClients });
    steps.push(Step { name: "universal-ctags".to_owned(), action: Action::Ctags });
    steps
}

/// A missing component would otherwise show as cargo's "no such command", which does not say what to do.
fn require_components(root: &Path) -> Result<(), Failure> {
    for (subcommand, component) in [("fmt", "rustfmt"), ("clippy", "clippy")] {
        if !process::has_subcommand(root, subcommand) {
            return Err(Failure::failed(format!(
                "`cargo {subcommand}` does not work: the component {component} is missing; \
                 install it with `rustup component add {component}`"
            )));
        }
    }
    Ok(())
}

impl Action {
    fn describe(&self) -> String {
        match self {
            Self::Cargo(arguments) => format!("cargo {arguments}"),
            Self::Ripgrep => format!("cargo {} (once)", install_line()),
            Self::MutantPatches => "git apply --check mutants/*.patch".to_owned(),
            Self::RealPi => "cargo xtask pi".to_owned(),
            Self::RealClients => "cargo xtask mcp".to_owned(),
            Self::Ctags => "cargo xtask ctags".to_owned(),
        }
    }

    fn run(&self, root: &Path) -> Result<(), Failure> {
        match self {
            Self::Cargo(arguments) => cargo(root, arguments.split(' ').map(OsString::from)),
            Self::Ripgrep => ripgrep(root),
            Self::MutantPatches => mutants::check_patches(root),
            Self::RealPi => pi::run(root, &[]),
            Self::RealClients => mcp::run(root, &[]),
            Self::Ctags => ctags::run(root, &[]),
        }
    }
}

fn cargo(root: &Path, arguments: impl Iterator<Item = OsString>) -> Result<(), Failure> {
    let status = process::cargo(root)
        .args(arguments)
        .status()
        .map_err(|error| Failure::failed(format!("cargo could not be started: {error}")))?;
    if status.success() {
        return Ok(());
    }
    Err(Failure { code: process::exit_code(status), message: format!("ended with {status}") })
}

fn install_line() -> String {
    format!("install --quiet --locked ripgrep@{RIPGREP}")
}

/// Searches are compared with the published ripgrep, which is made from the registry. The tests look for it beside what
/// was built; what cannot be fetched is a failure, never a skipped test.
fn ripgrep(root: &Path) -> Result<(), Failure> {
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |folder| root.join(folder));
    let place = target.join("tools");
    if place.join("bin/rg").exists() {
        return Ok(());
    }
    let to = [OsString::from("--root"), place.into_os_string()];
    cargo(root, install_line().split(' ').map(OsString::from).chain(to))
}

/// One line per step: those that passed, then the one that failed, then those that were never started.
fn summary(steps: &[Step], passed: &[Duration], failed: Option<Duration>) -> String {
    let mut times = passed.iter().map(|took| ("ok", *took)).chain(failed.map(|took| ("FAILED", took)));
    let mut text = String::new();
    for step in steps {
        let (result, took) = times.next().map_or(("not run", String::new()), |(word, took)| (word, seconds(took)));
        text.push_str(format!("{:16} {result:8} {took:>9}", step.name).trim_end());
        text.push('\n');
    }
    text
}

fn seconds(took: Duration) -> String {
    format!("{:.1} s", took.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(runner: Runner) -> Vec<String> {
        steps(runner).iter().map(|step| step.action.describe()).collect()
    }

    #[test]
    fn without_nextest_cargo_runs_the_tests() {
        let with = lines(Runner::Nextest);
        let without = lines(Runner::Cargo);
        assert!(with.contains(&"cargo nextest run --workspace --locked".to_owned()));
        assert!(with.contains(&"cargo test --doc --workspace --locked".to_owned()));
        assert!(without.contains(&"cargo test --workspace --locked".to_owned()));
        assert!(!without.iter().any(|line| line.contains("nextest")));
    }

    #[test]
    fn the_summary_tells_passed_failed_and_never_started_apart() {
        let steps = ["a", "b", "c"].map(|name| Step::cargo(name, "check"));
        let second = Duration::from_secs(1);
        assert_eq!(
            summary(&steps, &[second], Some(second * 2)),
            "a                ok           1.0 s\n\
             b                FAILED       2.0 s\n\
             c                not run\n"
        );
    }
}
