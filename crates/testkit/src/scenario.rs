//! Scenarios: files, steps and expected answers as data, played through the real engine on a scratch workspace.
//! `scenarios/README.md` describes both files; [`format`] reads `steps.jsonl`, [`stage`] plays it, [`print`] writes what
//! `expected.txt` is compared with. The reader judges every answer too, so a wrong one cannot be recorded as expected.
//! Deterministic: the clock stands still, and entry numbers are never printed.

mod format;
mod print;
mod stage;

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::world::Broken;

/// The scenarios in a folder, sorted by name: every subfolder is one.
///
/// # Errors
/// When the folder cannot be read.
pub fn folders(within: &Path) -> Result<Vec<PathBuf>, Broken> {
    let mut found = Vec::new();
    for entry in fs::read_dir(within)? {
        let path = entry?.path();
        if path.is_dir() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// The number in the name of a scenario; `None` when the name is not `NNN_[a-z0-9_]+`.
#[must_use]
pub fn number(folder: &Path) -> Option<u32> {
    let (number, rest) = folder.file_name()?.to_str()?.split_once('_')?;
    let digits = number.len() == 3 && number.bytes().all(|b| b.is_ascii_digit());
    let word = !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    if digits && word { number.parse().ok() } else { None }
}

/// Plays the steps of a scenario and gives all that was answered.
///
/// # Errors
/// When a step is malformed or cannot be done, or when an answer breaks the promise.
pub fn play(folder: &Path) -> Result<String, Broken> {
    let steps = fs::read_to_string(folder.join("steps.jsonl"))?;
    let mut stage = stage::Stage::new(&folder.join("files"))?;
    for (at, line) in steps.lines().enumerate() {
        let done = format::parse(line).and_then(|step| stage.step(&step));
        done.map_err(|error| format!("steps.jsonl, line {}: {error}", at + 1))?;
    }
    Ok(stage.into_output())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_scenarios() {
        for (name, expected) in
            [("001_a", Some(1)), ("123_b_2", Some(123)), ("01_a", None), ("001_A", None), ("001_", None)]
        {
            assert_eq!(number(Path::new(name)), expected, "{name}");
        }
    }
}
