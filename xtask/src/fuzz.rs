//! `cargo xtask fuzz`: runs the fuzz targets on any number of inputs, in release with every check on. Knows neither the
//! targets nor the driver's options. With `--coverage`, libFuzzer makes the inputs; only that needs a C++ compiler.

use std::{path::Path, process::Command};

use crate::{Failure, process};

/// Compiler flags that record which branches an input takes.
const COVERAGE_FLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares";

/// Passes the arguments on and the exit code back.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<(), Failure> {
    match arguments.iter().position(|word| word == "--coverage") {
        Some(at) => coverage(root, &[&arguments[..at], &arguments[at + 1..]].concat()),
        None => process::finish(driver(root).args(arguments), "the fuzz run"),
    }
}

fn driver(root: &Path) -> Command {
    let mut command = process::cargo(root);
    command.args(["run", "--quiet", "--profile", "fuzz", "--locked", "-p", "readproof-fuzz", "--bin", "fuzz", "--"]);
    command
}

/// The arguments of a coverage run.
#[derive(Debug, PartialEq, Eq)]
struct Coverage {
    targets: Vec<String>,
    inputs: u64,
    seed: u32,
}

fn parse_coverage(arguments: &[String]) -> Result<Coverage, Failure> {
    let mut run = Coverage { targets: Vec::new(), inputs: 1_000_000, seed: 1 };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let mut number = || words.next().and_then(|text| text.parse().ok());
        let wrong = || Failure::usage(format!("{word} needs a number"));
        match word.as_str() {
            "--inputs" => run.inputs = number().ok_or_else(wrong)?,
            "--seed" => run.seed = number().and_then(|seed| u32::try_from(seed).ok()).ok_or_else(wrong)?,
            option if option.starts_with('-') => {
                return Err(Failure::usage(format!("--coverage has no option {option}")));
            }
            name => run.targets.push(name.to_owned()),
        }
    }
    if run.targets.is_empty() {
        return Err(Failure::usage("--coverage needs the name of a target"));
    }
    Ok(run)
}

/// The driver writes the seed inputs and the dictionary; findings go to `target/fuzzed/`.
fn coverage(root: &Path, arguments: &[String]) -> Result<(), Failure> {
    let Coverage { targets, inputs, seed } = parse_coverage(arguments)?;
    let host = host(root)?;
    for target in &targets {
        let folder = format!("target/fuzzed/coverage/{target}");
        process::finish(driver(root).args([target, "--starts", &folder]), "the fuzz run")?;
        // Cargo resolves its paths from where it starts, libFuzzer from where it runs: both are the repository.
        let mut command = process::cargo(root);
        command.args([
            "run",
            "--quiet",
            "--release",
            "--locked",
            "--manifest-path",
            "fuzz/Cargo.toml",
            "--target",
            &host,
        ]);
        command.args(["--target-dir", "target/coverage", "--", &folder]);
        command.args([format!("-dict={folder}.dict"), format!("-runs={inputs}"), format!("-seed={seed}")]);
        command.args(["-max_len=4096".to_owned(), format!("-artifact_prefix=target/fuzzed/{target}-")]);
        let run = process::finish(command.env("RUSTFLAGS", COVERAGE_FLAGS).env("FUZZ_TARGET", target), "the fuzz run");
        run.map_err(|failure| Failure {
            message: format!("{}; repeat with `cargo xtask fuzz {target} --input FILE`", failure.message),
            ..failure
        })?;
    }
    Ok(())
}

/// The host triple. With an explicit `--target`, build scripts are compiled without the coverage flags.
fn host(root: &Path) -> Result<String, Failure> {
    let output = process::cargo(root).args(["-vV"]).output();
    let output = output.map_err(|error| Failure::not_started("cargo", &error))?;
    let words = String::from_utf8_lossy(&output.stdout).into_owned();
    let host = words.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| Failure::failed("`cargo -vV` names no host"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_coverage_run_names_its_targets() {
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let expected = Coverage { targets: vec!["a".to_owned(), "b".to_owned()], inputs: 5, seed: 7 };
        assert_eq!(parse_coverage(&words("a --inputs 5 b --seed 7")).unwrap(), expected);
        for bad in ["", "--inputs 5", "a --inputs", "a --inputs x", "a --seed 99999999999", "a --out x"] {
            assert_eq!(parse_coverage(&words(bad)).unwrap_err().code, 2, "{bad}");
        }
    }
}
