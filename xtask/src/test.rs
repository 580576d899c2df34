//! `cargo xtask check` and `cargo xtask test`: steps in order, up to the first that fails, whose exit code is passed on.
//! Everything is built once, and later steps run that build. Tidy and the scenarios are ordinary tests.

use std::{
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use crate::{Failure, ctags, mcp, mutants, no_arguments, pi, process, ripgrep};

/// The soundness runs of both commands. Seeds are fixed, so that a failure is caused by the change.
const SHORT_RUNS: [(&str, &str); 5] = [
    ("soundness 1", "--steps 4000 --seed 1"),
    ("soundness pi", "--pi --steps 4000 --seed 201"),
    ("soundness mcp", "--mcp --steps 4000 --seed 301"),
    ("soundness claude", "--claude --steps 4000 --seed 501"),
    ("soundness memory", "--memory --steps 4000 --seed 401"),
];
/// Those of `test` alone.
const LONGER_RUNS: [(&str, &str); 7] = [
    ("soundness 2", "--steps 4000 --seed 2"),
    ("soundness 3", "--steps 4000 --seed 3"),
    ("soundness pi 2", "--pi --steps 20000 --seed 202"),
    ("soundness mcp 2", "--mcp --steps 20000 --seed 302"),
    ("soundness claude 2", "--claude --steps 20000 --seed 502"),
    ("memory, pi", "--memory --pi --steps 4000 --seed 402"),
    ("memory, mcp", "--memory --mcp --steps 4000 --seed 403"),
];

struct Step {
    name: &'static str,
    action: Action,
}

enum Action {
    /// The arguments as one line; none of them contains a space.
    Cargo(&'static str),
    /// The testkit's soundness program, as built, with these arguments.
    Soundness(&'static str),
    MutantPatches,
    /// An xtask command that fetches what it compares with.
    Network(&'static str, fn(&Path, &[String]) -> Result<(), Failure>),
}

/// Which program runs the tests.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Runner {
    Nextest,
    Cargo,
}

/// How long a step took.
#[derive(Clone, Copy)]
struct Cost {
    wall: Duration,
    /// `None` where the system does not report it.
    cpu: Option<Duration>,
}

/// The checks that need no network, for use between two edits.
pub(crate) fn check(root: &Path, arguments: &[String]) -> Result<(), Failure> {
    no_arguments(arguments)?;
    run(root, &offline_steps(Runner::here(root)))?;
    note_missing_mounts();
    Ok(())
}

/// Everything that must hold before a change goes in.
pub(crate) fn test(root: &Path, arguments: &[String]) -> Result<(), Failure> {
    no_arguments(arguments)?;
    run(root, &all_steps(Runner::here(root)))?;
    note_missing_mounts();
    Ok(())
}

/// Tests of full and read-only disks limit the size of files where they may not mount one. They pass, so it is said here.
fn note_missing_mounts() {
    if !process::may_mount() {
        println!(
            "NOTE: nothing can be mounted here (`unshare -rm mount`), so NO REAL FULL OR READ-ONLY DISK was tested"
        );
    }
}

fn run(root: &Path, steps: &[Step]) -> Result<(), Failure> {
    require_components(root)?;
    let mut passed = Vec::new();
    for step in steps {
        println!("== {}: {}", step.name, step.action.describe());
        let (begin, cpu) = (Instant::now(), process::children_cpu());
        let outcome = step.action.run(root);
        let cpu = process::children_cpu().zip(cpu).map(|(after, before)| after.saturating_sub(before));
        let cost = Cost { wall: begin.elapsed(), cpu };
        match outcome {
            Ok(()) => println!("== {}: ok in {}\n", step.name, seconds(cost.wall)),
            Err(failure) => {
                println!(
                    "== {}: failed after {}\n\n{}",
                    step.name,
                    seconds(cost.wall),
                    summary(steps, &passed, Some(cost))
                );
                return Err(Failure { code: failure.code, message: format!("{}: {}", step.name, failure.message) });
            }
        }
        passed.push(cost);
    }
    println!("{}all {} steps passed", summary(steps, &passed, None), steps.len());
    Ok(())
}

/// The steps of `check`: what works without network.
fn offline_steps(runner: Runner) -> Vec<Step> {
    let mut steps = vec![
        Step { name: "fmt", action: Action::Cargo("fmt --all --check") },
        Step { name: "build", action: Action::Cargo(process::BUILD) },
        Step { name: "clippy", action: Action::Cargo("clippy --workspace --all-targets --locked -- -D warnings") },
        Step { name: "tests", action: Action::Cargo(runner.tests()) },
        Step { name: "doc tests", action: Action::Cargo("test --doc --workspace --locked") },
        Step { name: "mutant patches", action: Action::MutantPatches },
    ];
    steps.extend(SHORT_RUNS.map(|(name, line)| Step { name, action: Action::Soundness(line) }));
    steps
}

/// The steps of `test`: the same, longer runs, and then what needs the package registries.
fn all_steps(runner: Runner) -> Vec<Step> {
    let mut steps = offline_steps(runner);
    steps.extend(LONGER_RUNS.map(|(name, line)| Step { name, action: Action::Soundness(line) }));
    steps.extend([
        Step { name: "ripgrep", action: Action::Network("ripgrep", ripgrep::run) },
        Step { name: "real pi", action: Action::Network("pi", pi::run) },
        Step { name: "real MCP clients", action: Action::Network("mcp", mcp::run) },
        Step { name: "universal-ctags", action: Action::Network("ctags", ctags::run) },
    ]);
    steps
}

/// Says which component to install; cargo itself would only say "no such command".
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

impl Runner {
    /// nextest if it is installed.
    pub(crate) fn here(root: &Path) -> Self {
        if process::has_subcommand(root, "nextest") { Self::Nextest } else { Self::Cargo }
    }

    fn tests(self) -> &'static str {
        match self {
            Self::Nextest => "nextest run --workspace --all-targets --locked",
            Self::Cargo => "test --workspace --all-targets --locked",
        }
    }

    /// The tests that need something fetched.
    pub(crate) fn ignored_tests(self) -> &'static str {
        match self {
            Self::Nextest => "nextest run --workspace --all-targets --locked --run-ignored only",
            Self::Cargo => "test --workspace --all-targets --locked -- --ignored",
        }
    }
}

impl Action {
    fn describe(&self) -> String {
        match self {
            Self::Cargo(arguments) => format!("cargo {arguments}"),
            Self::Soundness(arguments) => format!("target/debug/soundness {arguments}"),
            Self::MutantPatches => "git apply --check mutants/*.patch".to_owned(),
            Self::Network(name, _) => format!("cargo xtask {name} (needs the network)"),
        }
    }

    fn run(&self, root: &Path) -> Result<(), Failure> {
        match self {
            Self::Cargo(arguments) => process::finish(process::cargo(root).args(arguments.split(' ')), "cargo"),
            Self::Soundness(arguments) => {
                let mut runs = Command::new(process::built(root, "soundness"));
                process::finish(runs.args(arguments.split(' ')).current_dir(root), "the soundness run")
            }
            Self::MutantPatches => mutants::check_patches(root),
            Self::Network(_, command) => command(root, &[]),
        }
    }
}

/// One line per step: those that passed, then the one that failed, then those that were never started; then the sum.
fn summary(steps: &[Step], passed: &[Cost], failed: Option<Cost>) -> String {
    let mut costs = passed.iter().map(|cost| ("ok", *cost)).chain(failed.map(|cost| ("FAILED", cost)));
    let mut text = line("step", "result", "CPU", "wall");
    for step in steps {
        text.push_str(&match costs.next() {
            Some((result, cost)) => line(step.name, result, &cost.cpu(), &seconds(cost.wall)),
            None => line(step.name, "not run", "", ""),
        });
    }
    let all = passed.iter().copied().chain(failed);
    let nothing = Cost { wall: Duration::ZERO, cpu: Some(Duration::ZERO) };
    let total = all.fold(nothing, |sum, cost| Cost {
        wall: sum.wall + cost.wall,
        cpu: sum.cpu.zip(cost.cpu).map(|(sum, cpu)| sum + cpu),
    });
    text.push_str(&line("total", "", &total.cpu(), &seconds(total.wall)));
    text
}

fn line(name: &str, result: &str, cpu: &str, wall: &str) -> String {
    format!("{:16} {result:8} {cpu:>10} {wall:>10}", name).trim_end().to_owned() + "\n"
}

impl Cost {
    fn cpu(self) -> String {
        self.cpu.map_or_else(|| "-".to_owned(), seconds)
    }
}

fn seconds(took: Duration) -> String {
    format!("{:.1} s", took.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_that_builds_names_the_same_packages_and_targets() {
        for runner in [Runner::Nextest, Runner::Cargo] {
            for Step { name, action } in all_steps(runner) {
                let Action::Cargo(line) = action else { continue };
                let words: Vec<&str> = line.split(' ').collect();
                let has = |word| words.contains(&word);
                // Formatting builds nothing, and doc tests are of libraries only.
                let targets = has("--all-targets") || has("--doc");
                assert!(name == "fmt" || (has("--workspace") && targets && has("--locked")), "{line}");
                let others = ["-p", "--package", "--release", "--profile"];
                assert!(!others.iter().any(|word| has(word)) && !line.contains("features"), "{line}");
            }
        }
    }

    #[test]
    fn what_needs_the_network_comes_last_and_says_so() {
        let lines: Vec<String> = all_steps(Runner::Cargo).iter().map(|step| step.action.describe()).collect();
        let networked = |line: &String| line.contains("needs the network");
        let first = lines.iter().position(networked).unwrap();
        assert!(lines[first..].iter().all(networked) && lines.len() - first == 4);
        assert!(!offline_steps(Runner::Cargo).iter().any(|step| networked(&step.action.describe())));
        assert!(!lines.iter().any(|line| line.contains("nextest")));
    }

    #[test]
    fn the_summary_tells_passed_failed_and_never_started_apart() {
        let steps = ["a", "b", "c"].map(|name| Step { name, action: Action::MutantPatches });
        let cost = |cpu, wall| Cost { wall: Duration::from_secs(wall), cpu: Some(Duration::from_secs(cpu)) };
        assert_eq!(
            summary(&steps, &[cost(3, 1)], Some(cost(10, 5))),
            "step             result          CPU       wall\n\
             a                ok            3.0 s      1.0 s\n\
             b                FAILED       10.0 s      5.0 s\n\
             c                not run\n\
             total                         13.0 s      6.0 s\n"
        );
    }
}
