//! Whole programs: how long the shortest call takes, the size of ours, and where ripgrep is.

use std::{
    env, fs,
    path::{Path, PathBuf},
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
    Some(fs::metadata(beside_us()?).ok()?.len())
}

pub(crate) fn beside_us() -> Option<PathBuf> {
    Some(env::current_exe().ok()?.parent()?.join("readproof"))
}

/// The ripgrep to compare with: the one that was asked for, or one that is there. It may be run in any folder.
pub(crate) fn ripgrep(asked: Option<PathBuf>) -> Result<PathBuf, Broken> {
    let found = asked.or_else(installed_ripgrep).ok_or(
        "there is no rg on PATH or in target/hosts; install the Debian package ripgrep, or use `cargo xtask`, which fetches it",
    )?;
    Ok(fs::canonicalize(&found).map_err(|error| format!("{}: {error}", found.display()))?)
}

/// `rg` from PATH, or the one that Codex brings, if `cargo xtask hosts` has fetched it.
fn installed_ripgrep() -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let installed = env::split_paths(&path).map(|folder| folder.join("rg")).find(|program| program.is_file());
    installed.or_else(|| brought(&env::current_exe().ok()?.parent()?.parent()?.join("hosts"), 0))
}

fn brought(folder: &Path, depth: u32) -> Option<PathBuf> {
    let program = folder.join("codex-path/rg");
    if program.is_file() {
        return Some(program);
    }
    let folders =
        fs::read_dir(folder).ok()?.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders.filter(|_| depth < 9).find_map(|entry| brought(&entry.path(), depth + 1))
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
