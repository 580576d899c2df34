//! `diff_preview` against spawning `git diff` for the same file, in a packed repository of a thousand files. Ours stays open
//! between calls.

use std::{
    fs,
    hint::black_box,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use readproof_core::path::Bearings;
use readproof_disk::Root;
use readproof_engine::{
    Compared, Engine, Settings,
    operation::{Against, AnswerLimit, Compare, Operation},
};
use readproof_testkit::ask::Ask;
use tempfile::TempDir;

use crate::{
    Broken,
    cases::{Case, text},
    harness::{Bar, Subject, measure},
};

pub(crate) const CASES: &[Case] = &[Case {
    name: "diff-preview",
    about: "one line of 10 KB changed: diff_preview against HEAD, against spawning `git diff`",
    bar: Bar::AtMost(0.2),
    rounds: 300,
    run: |rounds| measure(rounds, &mut Previews::new()?),
}];

const FILE: &str = "src/12/file-512.rs";

struct Previews {
    folder: TempDir,
    engine: Engine,
    asked: Compare,
}

impl Previews {
    fn new() -> Result<Self, Broken> {
        let folder = tempfile::tempdir()?;
        let top = folder.path().canonicalize()?;
        for number in 0..1000_u32 {
            let file = top.join(format!("src/{}/file-{number}.rs", number % 20));
            fs::create_dir_all(file.parent().unwrap_or(&top))?;
            fs::write(file, text(10_000, Some(number)))?;
        }
        // Packed, like a clone.
        for args in [&["init", "-q"][..], &["add", "."], &["commit", "-qm", "x"], &["gc", "-q"]] {
            let status = git(&top).args(args).status()?;
            if !status.success() {
                return Err(format!("git {args:?} ended with {status}").into());
            }
        }
        // A repository stays open between calls only if it was not changed just now.
        std::thread::sleep(std::time::Duration::from_millis(2500));
        let bearings = Bearings { cwd: top.display().to_string(), home: None };
        let settings = Settings { git_files: git_files(), ..Settings::default() };
        let engine = Engine::new(Root::open(&top)?, bearings, settings, Box::new(|| 0))?;
        let asked = Compare { path: FILE.to_owned(), against: Against::Head, content: None, most: AnswerLimit::NONE };
        Ok(Self { folder, engine, asked })
    }
}

/// The git configuration files that the program uses.
fn git_files() -> Vec<PathBuf> {
    let home = std::env::home_dir().unwrap_or_default();
    [PathBuf::from("/etc/gitconfig"), home.join(".config/git/config"), home.join(".gitconfig")].into()
}

/// git with the user's settings, as the engine sees them; a commit only needs a name.
fn git(folder: &Path) -> Command {
    let mut git = Command::new("git");
    git.current_dir(folder).args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "core.pager=cat"]);
    git.stdin(Stdio::null()).stderr(Stdio::null());
    git
}

impl Subject for Previews {
    fn prepare(&mut self, round: u32) -> Result<(), Broken> {
        Ok(fs::write(self.folder.path().join(FILE), text(10_000, Some(100_000 + round)))?)
    }

    fn floor(&mut self) -> Result<(), Broken> {
        let output = git(self.folder.path()).args(["diff", "HEAD", "--", FILE]).output()?;
        let changed = output.stdout.split(|byte| *byte == b'\n').filter(|line| line.starts_with(b"+ ")).count();
        if changed == 1 { Ok(()) } else { Err("git shows another change".into()) }
    }

    fn case(&mut self) -> Result<(), Broken> {
        let found: Compared = self.engine.ask(None, Operation::Compare(self.asked.clone()))?;
        if (found.added, found.removed) != (1, 1) {
            return Err(format!("{} lines were added, {} removed", found.added, found.removed).into());
        }
        black_box(found);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_see_the_same_change() {
        measure(1, &mut Previews::new().unwrap()).unwrap();
    }
}
