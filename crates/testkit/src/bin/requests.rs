//! `requests RECORDING…`: judges what Claude Code sent the model in recorded conversations. Exit code 0: every marker stands for
//! lines that the same request shows. 1: one does not. 2: usage.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command of the test kit")]

use readproof_testkit::claude::recorded::Recording;
use std::{path::Path, process::ExitCode};

fn main() -> ExitCode {
    let files: Vec<String> = std::env::args().skip(1).collect();
    if files.is_empty() {
        eprintln!("usage: requests RECORDING…");
        return ExitCode::from(2);
    }
    let mut wrong = 0;
    for file in &files {
        match Recording::open(Path::new(file)).map(|recording| recording.judge()) {
            Ok(Ok(judged)) => println!("{file}: {judged} markers stand for what the model sees"),
            Ok(Err(why)) => {
                wrong += 1;
                println!("VIOLATION in {file}: {why}");
            }
            Err(error) => {
                eprintln!("{file}: {error}");
                return ExitCode::from(2);
            }
        }
    }
    ExitCode::from(u8::from(wrong > 0))
}
