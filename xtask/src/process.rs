//! Starts other programs (cargo and git, without standard input), measures their processor time, and defines the two
//! builds that all commands share.

use std::{
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    time::Duration,
};

use crate::Failure;

/// The one development build. Every step that builds, lints or tests names the same packages and targets: with others,
/// cargo would choose other features of shared dependencies and build most of the tree again.
pub(crate) const BUILD: &str = "build --workspace --all-targets --locked";

/// The build of what is published and measured.
const BUILD_DIST: &str = "build --quiet --profile dist --locked -p readproof -p readproof-bench";

/// Linux reports process times in hundredths of a second, whatever its internal clock rate.
const TICKS_PER_SECOND: u64 = 100;

/// The cargo that started us, so that the chosen toolchain carries over; the one on the path otherwise.
pub(crate) fn cargo(folder: &Path) -> Command {
    let program = env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(program);
    command.current_dir(folder).stdin(Stdio::null());
    command
}

/// git in `folder`, without the variables that a git hook would set.
pub(crate) fn git(folder: &Path) -> Command {
    let mut command = Command::new("git");
    command.current_dir(folder).stdin(Stdio::null());
    for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"] {
        command.env_remove(variable);
    }
    command
}

/// Cargo's target folder.
pub(crate) fn target(root: &Path) -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |folder| root.join(folder))
}

/// The path of a program of the development build, which must have been built.
pub(crate) fn built(root: &Path, name: &str) -> PathBuf {
    target(root).join("debug").join(name)
}

/// Builds the program and its bench with the published profile; returns the path of the program.
pub(crate) fn build_dist(root: &Path) -> Result<PathBuf, Failure> {
    finish(cargo(root).args(BUILD_DIST.split(' ')), "the build")?;
    Ok(target(root).join("dist/readproof"))
}

/// Runs a program to its end; its exit code is passed on.
pub(crate) fn finish(command: &mut Command, name: &str) -> Result<(), Failure> {
    let started = command.stdin(Stdio::null()).status();
    let status = started.map_err(|error| {
        let program = command.get_program().display();
        Failure::failed(format!("{name} could not be started ({program}): {error}"))
    })?;
    if status.success() {
        return Ok(());
    }
    Err(Failure { code: exit_code(status), message: format!("{name} ended with {status}") })
}

/// Processor time used by programs that we started and that have ended, and by their children. Processes that outlive
/// their parent, such as tmux's server, are not counted. `None` where the system does not report it.
pub(crate) fn children_cpu() -> Option<Duration> {
    children_ticks(&fs::read_to_string("/proc/self/stat").ok()?)
        .map(|ticks| Duration::from_millis(ticks * (1000 / TICKS_PER_SECOND)))
}

/// `cutime` and `cstime` of proc(5): fields 16 and 17. The name, field 2, may contain anything.
fn children_ticks(stat: &str) -> Option<u64> {
    let (_, rest) = stat.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split(' ').collect();
    let ticks = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    Some(ticks(16)? + ticks(17)?)
}

/// The exit code to pass on; a program ended by a signal counts as 1.
pub(crate) fn exit_code(status: ExitStatus) -> u8 {
    status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

/// Whether `cargo NAME --version` works, that is, whether the subcommand is installed.
pub(crate) fn has_subcommand(folder: &Path, name: &str) -> bool {
    cargo(folder)
        .args([name, "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Whether a file system can be mounted in a private namespace, which some tests need.
pub(crate) fn may_mount() -> bool {
    Command::new("unshare")
        .args(["-rm", "mount", "-t", "tmpfs", "tmpfs", "/tmp"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_children_is_found_after_any_name() {
        let stat = "7 (a) b (c) S 1 7 7 0 -1 4194560 100 200 0 0 11 12 340 56 20 0 1 0 1 2 3";
        assert_eq!(children_ticks(stat), Some(396));
        assert_eq!(children_ticks("7 (short) S 1"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_time_of_a_child_is_counted_once_it_has_ended() {
        let busy = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        let before = children_cpu().unwrap();
        finish(Command::new("sh").args(["-c", busy]), "counting").unwrap();
        assert!(children_cpu().unwrap() > before);
    }
}
