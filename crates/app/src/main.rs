//! The `readproof` command: parses the command line, runs one command and sets the exit code: 0 done, 1 refused or
//! failed, 2 wrong usage.

mod cli;
mod commands;
#[cfg(test)]
mod concern;
mod config;
mod output;
mod report;
mod serve;
mod tools;

use std::{
    process::ExitCode,
    sync::{Arc, atomic::AtomicBool},
};

fn main() -> ExitCode {
    // With a handler, a write beyond `ulimit -f` fails with an error; without one, the signal ends the process. The
    // flag itself is not used.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::new(AtomicBool::new(false)));
    let (set, words) = cli::settings_first(cli::spelt_words(std::env::args_os()));
    let cli = match cli::Cli::parsed(&words) {
        Ok(cli) => cli::Cli { set: set.into_iter().chain(cli.set).collect(), ..cli },
        Err(error) => {
            let asked = std::env::args_os().any(|word| word == "--json");
            return output::not_understood(&error, asked);
        }
    };
    let json = cli.json;
    match commands::run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => output::failure(&failure, json),
    }
}
