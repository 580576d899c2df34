//! Random rewinds, and rewinds that are killed. Exit code 0: all in order. 1: something is wrong. 2: usage.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command of the test kit")]

use readproof_testkit::{
    contended::{
        kills::Said,
        rewinds::{
            kills::{kills, rewinder},
            rewinds,
        },
    },
    world::Broken,
};
use std::{fmt, io::Write, process::ExitCode, sync::Arc, time::Instant};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let Some(("rewinder", rest)) = words.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        return finished(rewinder(rest, &told()));
    }
    let (mut cases, mut killed, mut seed) = (2000, 300, 1);
    for pair in words.chunks(2) {
        let number = pair.get(1).and_then(|number| number.parse().ok());
        match (pair[0].as_str(), number) {
            ("--cases", Some(number)) => cases = number,
            ("--kills", Some(number)) => killed = number,
            ("--seed", Some(number)) => seed = number,
            _ => {
                eprintln!("{pair:?}\nusage: rewinds [--cases N] [--kills N] [--seed S]");
                return ExitCode::from(2);
            }
        }
    }
    finished(run(cases, killed, seed))
}

fn run(cases: u64, killed: u64, seed: u64) -> Result<(), Broken> {
    if cases > 0 {
        timed(|| rewinds(cases, seed))?;
    }
    if killed > 0 {
        let program = std::env::current_exe()?;
        timed(|| kills(&program, killed, seed))?;
    }
    Ok(())
}

fn finished(outcome: Result<(), Broken>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("VIOLATION in {error}");
            ExitCode::from(1)
        }
    }
}

/// Writes what a process reports as one line, at once.
fn told() -> Arc<dyn Fn(&Said) + Send + Sync> {
    Arc::new(|said: &Said| {
        let mut out = std::io::stdout().lock();
        // If nobody listens, the parent is gone and will not kill us.
        if out.write_all(format!("{said}\n").as_bytes()).and_then(|()| out.flush()).is_err() {
            std::process::exit(1);
        }
    })
}

fn timed<T: fmt::Display>(work: impl FnOnce() -> Result<T, Broken>) -> Result<(), Broken> {
    let begin = Instant::now();
    let done = work()?;
    println!("{done} ({:.1} s)", begin.elapsed().as_secs_f64());
    Ok(())
}
