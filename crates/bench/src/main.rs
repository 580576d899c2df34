//! `bench [--json] [--check] [--rounds N] [CASE…]`: how long a read takes against the floor, which is to open, stat, read and
//! hash the same file; other cases have their own floors. Floor and case take turns in one process, so that a busy machine
//! slows both; the result is the ratio of the medians. `bench mcp …` compares the MCP server with others, `bench beside …`
//! measures how long calls wait during a hostile one, `bench answers` how long answers are beside the shell's, `bench cold` how long the
//! first definition takes in a large tree, `bench words` how long searches by words take in one, `bench history` what looking back costs in one. Exit code 0; 1 with `--check` and a missed bar; 2 when something cannot be measured.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a developer's command talks to the terminal")]

mod cases;
mod edits;
mod git;
mod harness;
mod mcp;
mod pi;
mod programs;
mod report;
mod symbols;
mod threads;
mod words;

use std::{error::Error, process::ExitCode};

use cases::Case;
use harness::Row;

/// Why something could not be measured.
pub(crate) type Broken = Box<dyn Error>;

struct Args {
    json: bool,
    check: bool,
    rounds: Option<u32>,
    names: Vec<String>,
}

fn cases() -> impl Iterator<Item = &'static Case> {
    cases::CASES
        .iter()
        .chain(edits::CASES)
        .chain(git::CASES)
        .chain(pi::CASES)
        .chain(mcp::claude_code::CASES)
        .chain(symbols::CASES)
        .chain(threads::CASES)
}

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some(pi::HELD) {
        let Ok(held) = pi::held() else { return ExitCode::from(2) };
        println!("{held}");
        return ExitCode::SUCCESS;
    }
    let apart = match std::env::args().nth(1).as_deref() {
        Some(mcp::WORD) => Some(mcp::run(std::env::args().skip(2))),
        Some(mcp::beside::WORD) => Some(mcp::beside::run(std::env::args().skip(2))),
        Some(mcp::cold::WORD) => Some(mcp::cold::run(std::env::args().skip(2))),
        Some(mcp::history::WORD) => Some(mcp::history::run(std::env::args().skip(2))),
        Some(words::WORD) => Some(words::run(std::env::args().skip(2))),
        Some(mcp::answers::WORD) => Some(mcp::answers::run(std::env::args().skip(2))),
        Some(_) | None => None,
    };
    match apart {
        Some(Ok(true)) => return ExitCode::SUCCESS,
        Some(Ok(false)) => return ExitCode::from(1),
        Some(Err(error)) => return not_measured(&error),
        None => {}
    }
    let args = match parse(std::env::args().skip(1)) {
        Ok(args) => args,
        Err(message) => {
            eprintln!("{message}\nusage: bench [--json] [--check] [--rounds N] [CASE…]\n{}", names());
            return ExitCode::from(2);
        }
    };
    match run(&args) {
        Ok(rows) if args.check && rows.iter().any(|row| !row.holds()) => ExitCode::from(1),
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => not_measured(&error),
    }
}

fn not_measured(error: &Broken) -> ExitCode {
    eprintln!("cannot be measured: {error}");
    ExitCode::from(2)
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<Args, String> {
    let mut args = Args { json: false, check: false, rounds: None, names: Vec::new() };
    while let Some(word) = words.next() {
        match word.as_str() {
            "--json" => args.json = true,
            "--check" => args.check = true,
            "--rounds" => {
                let value = words.next().ok_or("--rounds needs a number")?;
                args.rounds = Some(value.parse().map_err(|_| format!("{value} is not a number"))?);
            }
            name if cases().any(|case| case.name == name) => args.names.push(word),
            _ => return Err(format!("unknown argument {word}")),
        }
    }
    Ok(args)
}

fn names() -> String {
    let names: Vec<&str> = cases().map(|case| case.name).collect();
    format!("cases: {}", names.join(", "))
}

fn run(args: &Args) -> Result<Vec<Row>, Broken> {
    let mut rows = Vec::new();
    for case in cases().filter(|case| args.names.is_empty() || args.names.iter().any(|name| name == case.name)) {
        let samples = (case.run)(args.rounds.unwrap_or(case.rounds))?;
        rows.push(samples.row(case.name, case.about, case.bar));
    }
    let size = programs::stripped_size();
    if args.json {
        println!("{:#}", report::json(&rows, size));
    } else {
        println!("{}", report::table(&rows, size));
    }
    Ok(rows)
}
