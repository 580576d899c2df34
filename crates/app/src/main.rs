//! The `readproof` command: picks a front and turns its outcome into an exit code. 0 done, 1 refused or failed, 2 usage.

mod cli;
mod commands;
mod config;
mod demo;
mod json;
mod output;
mod report;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    let json = cli.json;
    match commands::run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => output::failure(&failure, json),
    }
}
