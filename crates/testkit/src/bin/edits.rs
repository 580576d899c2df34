//! `edits [--count N] [--seed S]`: generated edits of real files in every dialect with the usual mistakes. Exit code 0: none is
//! silently wrong, and mistakes that a rule covers do not prevent an edit. 1: otherwise. 2: usage.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command of the test kit")]

use readproof_testkit::edits;
use std::process::ExitCode;

fn main() -> ExitCode {
    let (mut count, mut seed) = (100_000, 1);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let number = words.next().and_then(|text| text.parse().ok());
        match (word.as_str(), number) {
            ("--count", Some(number)) => count = number,
            ("--seed", Some(number)) => seed = number,
            _ => {
                eprintln!("{word} is unknown or needs a number\nusage: edits [--count N] [--seed S]");
                return ExitCode::from(2);
            }
        }
    }
    match edits::run(count, seed) {
        Ok(tally) => {
            println!("{tally}");
            let useless = tally.useless();
            useless.iter().for_each(|line| println!("USELESS: {line}"));
            ExitCode::from(u8::from(!tally.wrong.is_empty() || !useless.is_empty()))
        }
        Err(error) => {
            eprintln!("the harness cannot go on: {error}");
            ExitCode::from(2)
        }
    }
}
