//! `attacks --binary PROGRAM [--only NAME] [--rounds N] [--seed S]`: the attacks at length. Exit code 0: all held. 1: one did
//! not. 2: usage.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command of the test kit")]

use readproof_testkit::load::attacks::{ATTACKS, Attack};
use std::{path::PathBuf, process::ExitCode, time::Instant};

struct Options {
    binary: PathBuf,
    only: Option<String>,
    rounds: Option<u64>,
    seed: u64,
}

fn main() -> ExitCode {
    let options = match options() {
        Ok(options) => options,
        Err(message) => {
            eprintln!("attacks: {message}");
            return ExitCode::from(2);
        }
    };
    let mut held = true;
    for (name, standard, run) in ATTACKS {
        if options.only.as_ref().is_some_and(|only| only != name) {
            continue;
        }
        let rounds = options.rounds.unwrap_or(*standard);
        let began = Instant::now();
        let outcome = run(&Attack { binary: &options.binary, rounds, seed: options.seed });
        let seconds = began.elapsed().as_secs_f64();
        match outcome {
            Ok(figures) => println!("{name}: held, {figures} ({seconds:.1} s)"),
            Err(broken) => {
                held = false;
                println!("{name}: BROKEN after {seconds:.1} s: {broken}");
            }
        }
    }
    if held { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn options() -> Result<Options, String> {
    let (mut binary, mut only, mut rounds, mut seed) = (None, None, None, 1);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("{word} needs a value"))?;
        let number = || value.parse::<u64>().map_err(|_| format!("{word} needs a number"));
        match word.as_str() {
            "--binary" => binary = std::path::absolute(&value).ok(),
            "--only" if ATTACKS.iter().any(|(name, ..)| *name == value) => only = Some(value),
            "--only" => {
                let names: Vec<&str> = ATTACKS.iter().map(|(name, ..)| *name).collect();
                return Err(format!("there is no attack `{value}`; there are: {}", names.join(", ")));
            }
            "--rounds" => rounds = Some(number()?),
            "--seed" => seed = number()?,
            other => return Err(format!("unknown option `{other}`: --binary, --only, --rounds and --seed exist")),
        }
    }
    let binary = binary.ok_or("--binary PROGRAM is needed")?;
    Ok(Options { binary, only, rounds, seed })
}
