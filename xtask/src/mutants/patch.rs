//! A mutant's patch file: some lines of description, then a git diff. Applies it with git, and only to the given folder.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{Failure, process};

/// One file `mutants/NAME.patch`.
#[derive(Debug)]
pub(crate) struct Patch {
    pub(crate) name: String,
    pub(crate) runs: Runs,
    /// The lowest room it changes, as an index into `ROOMS`; `ROOMS.len()` for anything else.
    pub(crate) room: usize,
    file: PathBuf,
    description: String,
}

/// The crates that the random runs are built from, in build order.
const ROOMS: [&str; 5] = ["core", "disk", "hosts", "index", "engine"];

/// Which random runs must catch a mutant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Runs {
    /// Those of Readproof's own sessions.
    #[default]
    Own,
    /// Those of pi sessions: the description has a line `Runs: pi`.
    Pi,
    /// Those of agents that return handles: `Runs: mcp`.
    Mcp,
    /// Those of Claude Code's conversations: `Runs: claude`.
    Claude,
    /// Those with denied files: `Runs: hidden`.
    Hidden,
    /// The tests of the rules themselves, for what random runs meet too seldom: `Runs: tests`.
    Tests,
    /// Rewinds judged by a recorder of every byte: `Runs: rewinds`.
    Rewinds,
    /// The tests of settings on the command line: `Runs: settings`.
    Settings,
}

/// The tests of the rules of edits, of what conversations see, of times of files, of the logs, and of what the program itself decides about
/// hosts' tools.
const TESTS: [&str; 14] = [
    "test",
    "--locked",
    "--lib",
    "--bin=readproof",
    "--test=sights",
    "--test=logs",
    "-p",
    "readproof-core",
    "-p",
    "readproof-disk",
    "-p",
    "readproof-testkit",
    "-p",
    "readproof",
];

/// Those of settings, which only the program has.
const SETTINGS: [&str; 6] = ["test", "--locked", "-p", "readproof", "--test=cli", "settings::"];

impl Runs {
    /// Its name in log files.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Pi => "pi",
            Self::Mcp => "mcp",
            Self::Claude => "claude",
            Self::Hidden => "hidden",
            Self::Tests => "tests",
            Self::Rewinds => "rewinds",
            Self::Settings => "settings",
        }
    }

    /// The program that plays them, and its options for so many steps.
    pub(crate) fn program(self, steps: u64) -> (&'static str, Vec<String>) {
        let steps_of = |option: Option<&str>| {
            let words = option.into_iter().map(str::to_owned);
            words.chain(["--steps".to_owned(), steps.to_string()]).collect()
        };
        match self {
            Self::Own => ("soundness", steps_of(None)),
            Self::Pi => ("soundness", steps_of(Some("--pi"))),
            Self::Mcp => ("soundness", steps_of(Some("--mcp"))),
            Self::Claude => ("soundness", steps_of(Some("--claude"))),
            // Each call is made in three workspaces that are made anew.
            Self::Hidden => ("hidden", vec!["--calls".to_owned(), (steps / 5).to_string()]),
            Self::Tests => ("cargo", TESTS.iter().map(|word| (*word).to_owned()).collect()),
            Self::Settings => ("cargo", SETTINGS.iter().map(|word| (*word).to_owned()).collect()),
            // One run is about fifty calls in a workspace of its own.
            Self::Rewinds => {
                ("rewinds", ["--kills", "0", "--cases", &(steps / 50).to_string()].map(str::to_owned).to_vec())
            }
        }
    }
}

/// Every patch of the repository, sorted by name. None at all is a failure: then nothing shows that the runs can fail.
pub(crate) fn load_all(root: &Path) -> Result<Vec<Patch>, Failure> {
    let folder = root.join("mutants");
    let mut patches = Vec::new();
    for entry in fs::read_dir(&folder).map_err(|error| Failure::io(&folder, &error))? {
        let file = entry.map_err(|error| Failure::io(&folder, &error))?.path();
        let Some(name) = file.file_name().and_then(|name| name.to_str()?.strip_suffix(".patch")) else { continue };
        let text = fs::read_to_string(&file).map_err(|error| Failure::io(&file, &error))?;
        patches.push(Patch::from_text(name, file.clone(), &text));
    }
    if patches.is_empty() {
        return Err(Failure::failed("there is no mutants/*.patch: put a hole back and save the diff there"));
    }
    patches.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(patches)
}

impl Patch {
    pub(crate) fn from_text(name: &str, file: PathBuf, text: &str) -> Self {
        let head = || text.lines().take_while(|line| !line.starts_with("diff ") && !line.starts_with("---"));
        let description = head().map(str::trim).find(|line| !line.is_empty()).unwrap_or("(no description)");
        let said = |line: &str| match line {
            "Runs: pi" => Some(Runs::Pi),
            "Runs: mcp" => Some(Runs::Mcp),
            "Runs: claude" => Some(Runs::Claude),
            "Runs: hidden" => Some(Runs::Hidden),
            "Runs: tests" => Some(Runs::Tests),
            "Runs: rewinds" => Some(Runs::Rewinds),
            "Runs: settings" => Some(Runs::Settings),
            _ => None,
        };
        let runs = head().find_map(said).unwrap_or_default();
        let changes = |room: &str| text.contains(&format!("\n+++ b/crates/{room}/"));
        let room = ROOMS.iter().position(|room| changes(room)).unwrap_or(ROOMS.len());
        Self { name: name.to_owned(), runs, room, file, description: description.to_owned() }
    }

    /// The first line of the description.
    pub(crate) fn description(&self) -> &str {
        &self.description
    }

    /// Whether the patch applies to the tree at `folder`; changes nothing.
    pub(crate) fn check(&self, folder: &Path) -> Result<(), Failure> {
        self.git_apply(folder, &["--check"])
    }

    /// Changes the tree at `folder`.
    pub(crate) fn apply(&self, folder: &Path) -> Result<(), Failure> {
        self.git_apply(folder, &[])
    }

    fn git_apply(&self, folder: &Path, options: &[&str]) -> Result<(), Failure> {
        let mut command = process::git(folder);
        // Without a ceiling git would find a repository above `folder` and skip the paths it considers outside.
        if let Some(parent) = folder.parent() {
            command.env("GIT_CEILING_DIRECTORIES", parent);
        }
        let output = command
            .args(["apply", "--whitespace=nowarn"])
            .args(options)
            .arg(&self.file)
            .output()
            .map_err(|error| Failure::not_started("git", &error))?;
        if output.status.success() {
            return Ok(());
        }
        let words = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
        Err(Failure::failed(format!("mutants/{}.patch does not apply: {words}", self.name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_description_is_the_first_line_before_the_diff() {
        let check = |text: &str, expected: &str| {
            assert_eq!(Patch::from_text("x", PathBuf::new(), text).description(), expected);
        };
        check(
            "A cut answer vouches for the file.\nMore.\n\ndiff --git a/x b/x\n",
            "A cut answer vouches for the file.",
        );
        check("\n  Indented.\n--- a/x\n+++ b/x\n", "Indented.");
        check("diff --git a/x b/x\nnot this\n", "(no description)");
        check("", "(no description)");
    }

    #[test]
    fn the_lowest_room_it_changes_is_its_room() {
        let room = |text: &str| Patch::from_text("x", PathBuf::new(), text).room;
        assert_eq!(room("A hole.\n\n--- a/x\n+++ b/crates/engine/src/x.rs\n"), 4);
        assert_eq!(room("A hole.\n\n--- a/x\n+++ b/crates/engine/a\n--- a/y\n+++ b/crates/disk/b\n"), 1);
        assert_eq!(room("A hole.\n\n--- a/x\n+++ b/docs/x.md\n"), 5);
    }

    #[test]
    fn the_description_says_which_runs() {
        let runs = |text: &str| Patch::from_text("x", PathBuf::new(), text).runs;
        assert_eq!(runs("A hole.\n\nRuns: pi\n\ndiff --git a/x b/x\n"), Runs::Pi);
        assert_eq!(runs("A hole.\n\nRuns: mcp\n\ndiff --git a/x b/x\n"), Runs::Mcp);
        assert_eq!(runs("A hole.\n\nRuns: hidden\n\ndiff --git a/x b/x\n"), Runs::Hidden);
        assert_eq!(runs("A hole.\n\ndiff --git a/x b/x\nRuns: pi\n"), Runs::Own);
    }
}
