//! `load crash --kills N --seed S`: workers killed at random moments. `load processes --processes N --reads N --seed S
//! [--gc]`: many processes on one store. Exit code 0: all in order. 1: something was lost, altered or refused. 2: usage.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command of the test kit")]

use readproof_disk::SessionName;
use readproof_testkit::{
    load::{InOrder, Worker},
    processes::{Beside, crash, processes},
    world::Broken,
};
use std::{collections::BTreeMap, io::Write, path::PathBuf, process::ExitCode, time::Instant};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let Some((command, rest)) = words.split_first() else { return usage("no command") };
    let outcome = match command.as_str() {
        "worker" => worker(rest),
        "crash" => match options(rest, &["kills", "seed"]) {
            Ok((numbers, _)) => killed(&numbers),
            Err(message) => return usage(&message),
        },
        "processes" => match options(rest, &["processes", "reads", "seed", "gc"]) {
            Ok((numbers, beside)) => together(&numbers, beside),
            Err(message) => return usage(&message),
        },
        other => return usage(&format!("unknown command {other}")),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("FAILED: {error}");
            ExitCode::from(1)
        }
    }
}

fn usage(message: &str) -> ExitCode {
    eprintln!("{message}\nusage: load crash [--kills N] [--seed S]");
    eprintln!("       load processes [--processes N] [--reads N] [--seed S] [--gc]");
    ExitCode::from(2)
}

type Numbers = BTreeMap<String, u64>;

fn options(words: &[String], known: &[&str]) -> Result<(Numbers, Beside), String> {
    let (mut numbers, mut beside) = (Numbers::new(), Beside::Edits);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let name = word.strip_prefix("--").filter(|name| known.contains(name)).ok_or(format!("unknown {word}"))?;
        if name == "gc" {
            beside = Beside::Removal;
            continue;
        }
        let number = words.next().and_then(|text| text.parse().ok()).ok_or(format!("{word} needs a number"))?;
        numbers.insert(name.to_owned(), number);
    }
    Ok((numbers, beside))
}

/// One process of the crowd: every acknowledgement is one line, written at once.
fn worker(words: &[String]) -> Result<(), Broken> {
    let [root, session, seed, reads] = words else { return Err("worker ROOT SESSION SEED READS".into()) };
    let session = SessionName::parse(session)?;
    let worker = Worker { root: PathBuf::from(root), session, seed: seed.parse()?, reads: reads.parse()? };
    let mut out = std::io::stdout().lock();
    worker.work(&mut |ack| {
        // One write below the size that a pipe takes whole.
        out.write_all(format!("{ack}\n").as_bytes())?;
        Ok(out.flush()?)
    })
}

fn killed(numbers: &Numbers) -> Result<(), Broken> {
    let (kills, seed) = (numbers.get("kills").copied().unwrap_or(200), numbers.get("seed").copied().unwrap_or(1));
    let begin = Instant::now();
    let done = crash(&std::env::current_exe()?, kills, seed)?;
    println!(
        "{} kills in {} workspaces, {} before anything was acknowledged, in {:.1} s (seed {seed})",
        done.kills,
        done.workspaces,
        done.before_anything,
        begin.elapsed().as_secs_f64()
    );
    print(&done.found);
    Ok(())
}

fn together(numbers: &Numbers, beside: Beside) -> Result<(), Broken> {
    let number = |name: &str, otherwise| numbers.get(name).copied().unwrap_or(otherwise);
    let (count, reads, seed) = (number("processes", 8), number("reads", 2000), number("seed", 1));
    let begin = Instant::now();
    let found = processes(&std::env::current_exe()?, count, reads, seed, beside)?;
    let took = begin.elapsed().as_secs_f64();
    println!("{count} processes x {reads} reads, {beside:?} going on, in {took:.1} s (seed {seed})");
    print(&found);
    Ok(())
}

fn print(found: &InOrder) {
    println!("{} acknowledged entries, all in their logs; {} torn writes", found.acknowledged, found.torn);
    println!("{} objects, none altered", found.objects);
    let (replayed, written) = (found.replayed, found.written);
    println!("{replayed} answers and {written} writes replayed, none wrong; {} unverifiable", found.unverifiable);
    println!("{} writes announced and never recorded as done", found.unfinished);
    let modes: Vec<String> = found.modes.iter().map(|(mode, count)| format!("{mode} {count}")).collect();
    println!("answers: {}", modes.join(", "));
}
