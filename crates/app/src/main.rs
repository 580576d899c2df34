//! The `readproof` command: picks a front and turns its outcome into an exit code. 0 done, 1 refused or failed, 2 usage.

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
    // A write beyond `ulimit -f` then fails and is told; otherwise the signal ends the process. Nobody looks at the flag.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::new(AtomicBool::new(false)));
    let (set, words) = cli::settings_first(std::env::args_os().collect());
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
