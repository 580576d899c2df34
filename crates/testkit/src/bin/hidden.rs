//! Calls in workspaces that differ only in files that are denied to the caller: every answer is the same, or tells of them.
//! Through the door, or with `--binary` over the wires of that program. Exit code 0: all are. 1: one is not. 2: usage.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command of the test kit")]

use readproof_testkit::hidden::{hidden, one_case};
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (mut calls, mut seed, mut leaks, mut case, mut binary) = (100_000, 1, 1, None, None);
    for pair in words.chunks(2) {
        if let ["--binary", file] = pair.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            binary = std::path::absolute(file).ok();
            continue;
        }
        let number = pair.get(1).and_then(|number| number.parse::<u64>().ok());
        match (pair[0].as_str(), number) {
            ("--calls", Some(number)) => calls = number,
            ("--seed", Some(number)) => seed = number,
            ("--leaks", Some(number)) => leaks = usize::try_from(number).unwrap_or(1),
            ("--case", Some(number)) => case = Some(number),
            _ => {
                eprintln!(
                    "{pair:?} is not understood\nusage: hidden [--binary PROGRAM] [--calls N] [--seed S] [--leaks N] [--case C]"
                );
                return ExitCode::from(2);
            }
        }
    }
    let outcome = match case {
        Some(case) => one_case(binary.as_deref(), case),
        None => hidden(binary.as_deref(), calls, seed, leaks),
    };
    match outcome {
        Ok(run) => {
            println!("{run}");
            ExitCode::from(u8::from(!run.leaks.is_empty()))
        }
        Err(error) => {
            eprintln!("FAILED: {error}");
            ExitCode::from(3)
        }
    }
}
