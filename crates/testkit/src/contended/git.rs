//! `git merge-file` as the judge of merges.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use crate::world::Broken;

/// What git makes of three texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judged {
    /// This text.
    Clean(Vec<u8>),
    /// Both changed the same lines; these stand between markers.
    Conflict(Vec<u8>),
}

/// Merges two changes of one text with git. Uses files in `folder`.
///
/// # Errors
/// When git cannot be run, or fails.
pub fn merge_file(folder: &Path, [ours, base, theirs]: [&str; 3]) -> Result<Judged, Broken> {
    for (name, text) in [("ours", ours), ("base", base), ("theirs", theirs)] {
        fs::write(folder.join(name), text)?;
    }
    let mut git = Command::new("git");
    git.current_dir(folder).args(["merge-file", "-p", "--diff3", "ours", "base", "theirs"]);
    // No settings of the user's.
    git.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null").stdin(Stdio::null());
    let output = git.output()?;
    // The code is the number of conflicts, or 255 for an error.
    match output.status.code() {
        Some(0) => Ok(Judged::Clean(output.stdout)),
        Some(1..=127) => Ok(Judged::Conflict(output.stdout)),
        _ => Err(format!("git merge-file: {}: {}", output.status, String::from_utf8_lossy(&output.stderr)).into()),
    }
}
