//! Whole programs: how long the shortest call takes, and the size of ours.

use std::{
    path::PathBuf,
    process::{Command, Stdio},
};

use crate::{
    Broken,
    harness::{Samples, Subject, measure},
};

/// `readproof --version` against `git --version`.
pub(crate) fn version(rounds: u32) -> Result<Samples, Broken> {
    let program = beside_us().filter(|path| path.is_file()).ok_or("there is no `readproof` beside the bench")?;
    measure(rounds, &mut Version { program })
}

/// The published profile strips the program.
pub(crate) fn stripped_size() -> Option<u64> {
    Some(std::fs::metadata(beside_us()?).ok()?.len())
}

pub(crate) fn beside_us() -> Option<PathBuf> {
    Some(std::env::current_exe().ok()?.parent()?.join("readproof"))
}

struct Version {
    program: PathBuf,
}

impl Subject for Version {
    fn prepare(&mut self, _round: u32) -> Result<(), Broken> {
        Ok(())
    }

    fn floor(&mut self) -> Result<(), Broken> {
        call(Command::new("git"))
    }

    fn case(&mut self) -> Result<(), Broken> {
        call(Command::new(&self.program))
    }
}

fn call(mut command: Command) -> Result<(), Broken> {
    let status = command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).status()?;
    if status.success() { Ok(()) } else { Err(format!("{command:?} ended with {status}").into()) }
}
