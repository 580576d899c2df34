//! Edits under load. `merges` and `stale`: against git. `helped`: refusals that a caller follows. `writers`: many of them at
//! once. `kills`: in the middle of patches. `approved`: between an approval and its deletion. `races`: with another program. `all`: one after the other. Exit code 0: all in order. 1: something is wrong. 2: usage.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command of the test kit")]

use readproof_testkit::{
    contended::{
        approved::{self, approved},
        helped::helped,
        kills::{self, kills},
        merges::merges,
        races::races,
        stale::stale,
        writers::{self, writers},
    },
    world::Broken,
};
use std::{
    collections::BTreeMap,
    fmt,
    io::Write,
    process::ExitCode,
    sync::Arc,
    time::{Duration, Instant},
};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let Some((command, rest)) = words.split_first() else { return usage("no command") };
    match command.as_str() {
        "patcher" => return finished(kills::patcher(rest, &told())),
        "writer" => return finished(writers::writer(rest, &told())),
        "deleter" => return finished(approved::deleter(rest, &told())),
        "opener" => return finished(kills::opener(rest, &told())),
        _ => {}
    }
    let numbers = match options(rest) {
        Ok(numbers) => numbers,
        Err(message) => return usage(&message),
    };
    let known: &[&str] = if command == "all" { &ALL } else { &[command.as_str()] };
    if let Some(other) = known.iter().find(|name| !ALL.contains(name)) {
        return usage(&format!("unknown command {other}"));
    }
    finished(known.iter().try_for_each(|name| one(name, &numbers)))
}

const ALL: [&str; 7] = ["merges", "stale", "helped", "writers", "kills", "approved", "races"];

fn one(name: &str, numbers: &BTreeMap<String, u64>) -> Result<(), Broken> {
    let number = |name: &str, otherwise| numbers.get(name).copied().unwrap_or(otherwise);
    let (seed, program) = (number("seed", 1), std::env::current_exe()?);
    match name {
        "merges" => timed(|| merges(number("cases", 2000), seed)),
        "stale" => timed(|| stale(number("cases", 1000), seed)),
        "helped" => timed(|| helped(number("cases", 1000), seed)),
        "kills" => timed(|| kills(&program, number("cases", 300), seed)),
        "approved" => timed(|| approved(&program, number("cases", 300), seed)),
        "writers" => timed(|| writers(&program, Duration::from_secs(number("seconds", 60)), seed)),
        _ => timed(|| races(number("cases", 1000), seed)),
    }
}

fn finished(outcome: Result<(), Broken>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("FAILED: {error}");
            ExitCode::from(1)
        }
    }
}

/// Writes what a process reports as one line, at once.
fn told<T: fmt::Display>() -> Arc<dyn Fn(&T) + Send + Sync> {
    Arc::new(|said: &T| {
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

fn usage(message: &str) -> ExitCode {
    eprintln!(
        "{message}\nusage: contended merges|stale|helped|kills|approved|races [--cases N] [--seed S]\n       contended writers [--seconds N] [--seed S]\n       contended all [--seed S]"
    );
    ExitCode::from(2)
}

fn options(words: &[String]) -> Result<BTreeMap<String, u64>, String> {
    let mut numbers = BTreeMap::new();
    for pair in words.chunks(2) {
        let [name, number] = pair else { return Err(format!("{pair:?} needs a number")) };
        let name = name.strip_prefix("--").filter(|name| ["cases", "seed", "seconds"].contains(name));
        let name = name.ok_or_else(|| format!("unknown {pair:?}"))?;
        numbers.insert(name.to_owned(), number.parse().map_err(|_| format!("{pair:?} needs a number"))?);
    }
    Ok(numbers)
}
