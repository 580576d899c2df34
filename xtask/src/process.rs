//! How other programs are started: cargo and git, with nothing on their standard input.

use std::{
    env,
    ffi::OsString,
    path::Path,
    process::{Command, ExitStatus, Stdio},
};

/// The cargo that started us, so that the chosen toolchain carries over; the one on the path otherwise.
pub(crate) fn cargo(folder: &Path) -> Command {
    let program = env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(program);
    command.current_dir(folder).stdin(Stdio::null());
    command
}

/// git in `folder`, free of the variables a git hook would set.
pub(crate) fn git(folder: &Path) -> Command {
    let mut command = Command::new("git");
    command.current_dir(folder).stdin(Stdio::null());
    for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"] {
        command.env_remove(variable);
    }
    command
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

/// Whether a file system can be mounted where nobody else sees it; some tests need that.
pub(crate) fn may_mount() -> bool {
    Command::new("unshare")
        .args(["-rm", "mount", "-t", "tmpfs", "tmpfs", "/tmp"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}
