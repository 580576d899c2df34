//! `soundness [--pi|--mcp|--claude] [--memory] --steps N --seed S [--from STEP]`: random runs of our own sessions, of pi's, of Claude
//! Code's, or of agents that return handles, with the store on disk or in memory; the table of short answers, and on a broken promise the shortest
//! run that breaks it. `--from` begins with the workspace of this step, which is as it is in the whole run. Exit code 0: nothing
//! found. 1: a violation, or an empty cell in a run long enough to fill them. 2: usage.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command of the test kit")]

use readproof_testkit::{
    claude,
    kept::Keep,
    mcp,
    op::{self, Op, Random},
    pi,
    report::{Event, Report},
    run::{
        self,
        shrink::{Run, shrink},
    },
    world::Broken,
};
use std::{io::IsTerminal, process::ExitCode};

/// Operations in one workspace before the next is made.
const RUN: usize = 80;

/// From this length on, every cell of the table must be filled.
const FILLED_FROM: u64 = 20_000;

/// Whose conversations are played.
#[derive(Clone, Copy)]
enum Whose {
    Own,
    Pi,
    Mcp,
    Claude,
}

struct Args {
    whose: Whose,
    keep: Keep,
    steps: u64,
    seed: u64,
    /// Workspaces whose last step is before this one are not played.
    from: u64,
}

/// Where the runs come from and how one is done.
struct Runs<K> {
    script: fn(u64, usize) -> Vec<Op<K>>,
    run: Run<K>,
}

fn main() -> ExitCode {
    let args = match parse(std::env::args().skip(1)) {
        Ok(args) => args,
        Err(message) => {
            eprintln!(
                "{message}\nusage: soundness [--pi|--mcp|--claude] [--memory] [--steps N] [--seed S] [--from STEP]"
            );
            return ExitCode::from(2);
        }
    };
    let done = match (args.whose, args.keep) {
        (Whose::Own, Keep::OnDisk) => soundness(&args, &Runs { script: op::script, run: run::run }),
        (Whose::Own, Keep::InMemory) => soundness(&args, &Runs { script: op::script, run: run::run_in_memory }),
        (Whose::Pi, Keep::OnDisk) => soundness(&args, &Runs { script: pi::script, run: pi::run }),
        (Whose::Pi, Keep::InMemory) => soundness(&args, &Runs { script: pi::script, run: pi::run_in_memory }),
        (Whose::Mcp, Keep::OnDisk) => soundness(&args, &Runs { script: mcp::script, run: mcp::run }),
        (Whose::Mcp, Keep::InMemory) => soundness(&args, &Runs { script: mcp::script, run: mcp::run_in_memory }),
        (Whose::Claude, Keep::OnDisk) => soundness(&args, &Runs { script: claude::script, run: claude::run }),
        (Whose::Claude, Keep::InMemory) => {
            soundness(&args, &Runs { script: claude::script, run: claude::run_in_memory })
        }
    };
    match done {
        Ok(code) => code,
        Err(error) => {
            eprintln!("the harness cannot go on: {error}");
            ExitCode::from(2)
        }
    }
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<Args, String> {
    let mut args = Args { whose: Whose::Own, keep: Keep::OnDisk, steps: 20_000, seed: 1, from: 1 };
    while let Some(word) = words.next() {
        match word.as_str() {
            "--pi" => args.whose = Whose::Pi,
            "--mcp" => args.whose = Whose::Mcp,
            "--claude" => args.whose = Whose::Claude,
            "--memory" => args.keep = Keep::InMemory,
            _ => {
                let value = number(&word, words.next())?;
                match word.as_str() {
                    "--steps" => args.steps = value,
                    "--seed" => args.seed = value,
                    "--from" => args.from = value,
                    _ => return Err(format!("{word} is not known")),
                }
            }
        }
    }
    Ok(args)
}

fn number(word: &str, value: Option<String>) -> Result<u64, String> {
    let value = value.ok_or(format!("{word} needs a number"))?;
    value.replace('_', "").parse().map_err(|_| format!("{value} is not a number"))
}

fn soundness<K: Event>(args: &Args, runs: &Runs<K>) -> Result<ExitCode, Broken> {
    let mut seeds = Random::new(args.seed);
    let mut report = Report::default();
    let mut done = 0;
    while done < args.steps {
        let left = usize::try_from(args.steps - done).unwrap_or(RUN).min(RUN);
        let (world, script) = (seeds.bits(), seeds.bits());
        let begin = done;
        done += left as u64;
        if done < args.from {
            continue;
        }
        let ops = (runs.script)(script, left);
        let outcome = (runs.run)(world, &ops)?;
        report.add(&outcome.report);
        if let Some((at, what)) = outcome.violation {
            println!("VIOLATION at step {}: {what}\nseed {}, world {world}", begin + at as u64 + 1, args.seed);
            show_shortest(runs, world, &ops[..=at])?;
            return Ok(ExitCode::from(1));
        }
        if std::io::stderr().is_terminal() {
            eprint!("\r{done} of {} steps", args.steps);
        }
    }
    println!("seed {}\n{}", args.seed, report.table());
    let empty = report.empty_cells();
    if empty.is_empty() {
        println!("no violation, no empty cell");
    } else {
        println!("no violation; {} empty cells: {empty:?}", empty.len());
        if report.steps >= FILLED_FROM {
            return Ok(ExitCode::from(1));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn show_shortest<K: Event>(runs: &Runs<K>, world: u64, ops: &[Op<K>]) -> Result<(), Broken> {
    let shortest = shrink(ops, |ops| Ok((runs.run)(world, ops)?.violation.is_some()))?;
    let outcome = (runs.run)(world, &shortest)?;
    println!("the shortest run that shows it ({} operations):", shortest.len());
    for line in outcome.trace {
        println!("  {line}");
    }
    if let Some((_, what)) = outcome.violation {
        println!("  -> {what}");
    }
    Ok(())
}
