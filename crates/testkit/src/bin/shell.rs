//! `shell [--steps N] [--seed S] [--watch|--looks]`: a random shell session beside an agent; every state of every file that a look
//! or the watch must meet can be shown afterwards. Exit code 0: all of them. 1: one is missing. 2: usage.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command of the test kit")]

use readproof_testkit::load::shell::{Meeting, run};
use std::{
    process::ExitCode,
    time::{Duration, Instant},
};

fn main() -> ExitCode {
    let (mut steps, mut seed, mut meeting) = (10_000, 1, Meeting::Looks);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut number = || words.next().and_then(|text| text.parse().ok());
        match word.as_str() {
            "--looks" => meeting = Meeting::Looks,
            "--watch" => meeting = Meeting::Watch(Duration::from_secs(1)),
            "--steps" | "--seed" => match number() {
                Some(number) if word == "--steps" => steps = number,
                Some(number) => seed = number,
                None => return usage(&word),
            },
            _ => return usage(&word),
        }
    }
    let begin = Instant::now();
    match run(steps, seed, meeting) {
        Ok(tally) => {
            println!("{tally}\n({:.1} s)", begin.elapsed().as_secs_f64());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("FAILED: {error}");
            ExitCode::from(1)
        }
    }
}

fn usage(word: &str) -> ExitCode {
    eprintln!("{word} is unknown or needs a number\nusage: shell [--steps N] [--seed S] [--watch|--looks]");
    ExitCode::from(2)
}
