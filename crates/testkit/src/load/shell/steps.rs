//! What happens in a session: commands of a shell, programs that save files in their own ways, git, and the agent's own edits. Never
//! looks at what the product made of it.

use readproof_core::edit::Places;
use readproof_disk::SessionName;
use readproof_engine::{
    Engine, Written,
    operation::{Change, Operation, Over, Patch, Write},
};
use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
};

use super::observer::IGNORED;
use crate::{ask::Ask, op::Random, world::Broken};

/// The kinds of steps, with how often each is taken.
const KINDS: [(&str, usize); 22] = [
    ("sed", 10),
    ("beside", 8),
    ("in_place", 8),
    ("append", 5),
    ("touch", 6),
    ("chmod", 2),
    ("move", 6),
    ("swap", 3),
    ("case", 3),
    ("remove", 5),
    ("remove_folder", 2),
    ("new", 8),
    ("binary", 1),
    ("format", 3),
    ("into_folder", 2),
    ("commit", 6),
    ("checkout", 5),
    ("stash", 4),
    ("reset", 3),
    ("clean", 2),
    ("rebase", 3),
    ("agent", 14),
];

pub(super) struct Shell {
    top: PathBuf,
    engine: Arc<Engine>,
    session: SessionName,
    number: u64,
    pub(super) kinds: BTreeMap<&'static str, u64>,
    /// What was done, for who looks into a failure.
    pub(super) told: Vec<String>,
}

impl Shell {
    pub(super) fn new(top: &Path, engine: Arc<Engine>) -> Result<Self, Broken> {
        let (session, kinds) = (SessionName::parse("agent")?, BTreeMap::new());
        Ok(Self { top: top.to_path_buf(), engine, session, number: 0, kinds, told: Vec::new() })
    }

    /// The files at the beginning: some in git, some not.
    pub(super) fn begin(&mut self, random: &mut Random) -> Result<(), Broken> {
        fs::write(self.top.join(".gitignore"), IGNORED)?;
        for name in ["a.txt", "b.txt", "src/main.rs", "src/lib.rs", "docs/notes.md", "docs/deep/x.md"] {
            self.put(name, random)?;
        }
        self.git("init -q -b main")?;
        self.git("add -A")?;
        self.git("commit -q -m first")?;
        for name in ["untracked.txt", "src/new.rs", "build/out.txt", "run.log"] {
            self.put(name, random)?;
        }
        Ok(())
    }

    /// One step of the session.
    pub(super) fn step(&mut self, random: &mut Random) -> Result<(), Broken> {
        let all: usize = KINDS.iter().map(|(_, weight)| weight).sum();
        let mut left = random.below(all);
        let mut chosen = KINDS[0].0;
        for (kind, weight) in KINDS {
            if left < weight {
                chosen = kind;
                break;
            }
            left -= weight;
        }
        self.number += 1;
        *self.kinds.entry(chosen).or_default() += 1;
        let files = self.files()?;
        let Some(file) = random.pick(&files).cloned() else { return self.put("a.txt", random) };
        let what = format!("{} {chosen} {file}", self.number);
        self.told.push(what.clone());
        let done = match chosen {
            "sed" | "beside" | "in_place" | "append" | "touch" | "chmod" | "binary" | "format" => {
                self.save(chosen, &file, random)
            }
            "commit" | "checkout" | "stash" | "reset" | "clean" | "rebase" => self.with_git(chosen, random),
            "agent" => self.agent(&file, random),
            _ => self.rename(chosen, &file, random),
        };
        done.map_err(|error| format!("{what}: {error}").into())
    }

    fn files(&self) -> Result<Vec<String>, Broken> {
        let mut tree = super::observer::Observer::default();
        Ok(tree.note(&self.top)?.keys().cloned().collect())
    }

    fn text(&self, random: &mut Random) -> String {
        let line = |at: usize, random: &mut Random| format!("line {at} of {} is {}  \n", self.number, random.below(9));
        (0..3 + random.below(6)).map(|at| line(at, random)).collect()
    }

    /// Makes a file, and its folder; not where a file is in the way.
    fn put(&mut self, name: &str, random: &mut Random) -> Result<(), Broken> {
        let path = self.top.join(name);
        let made = path.parent().map(fs::create_dir_all).transpose();
        if made.is_ok() && !path.is_dir() {
            fs::write(path, self.text(random))?;
        }
        Ok(())
    }

    /// Another text in a file, saved in the way of some program.
    fn save(&mut self, kind: &str, file: &str, random: &mut Random) -> Result<(), Broken> {
        let (path, text) = (self.top.join(file), self.text(random));
        match kind {
            "sed" => self.shell(&format!("sed -i 's/is {}/is sed {}/' '{file}'", random.below(9), self.number)),
            "beside" => {
                let beside = path.with_extension("new~");
                fs::write(&beside, text)?;
                Ok(fs::rename(beside, path)?)
            }
            "append" => self.shell(&format!("echo 'more {}' >> '{file}'", self.number)),
            "touch" => {
                // The same length and the same time of last change, but another text.
                let mut bytes = fs::read(&path)?;
                if let Some(byte) = bytes.iter_mut().rev().find(|byte| byte.is_ascii_digit()) {
                    *byte = b'0' + (*byte - b'0' + 1) % 10;
                }
                fs::write(self.top.join(".bytes"), bytes)?;
                self.shell(&format!(
                    "touch -r '{file}' .time && cat .bytes > '{file}' && touch -r .time '{file}'; rm -f .time .bytes"
                ))
            }
            "chmod" => {
                let mode = [0o600, 0o644, 0o755][random.below(3)];
                Ok(fs::set_permissions(path, fs::Permissions::from_mode(mode))?)
            }
            "binary" => Ok(fs::write(path, [0, 159, u8::try_from(self.number % 251)?, 150])?),
            "format" => {
                let folder = file.rsplit_once('/').map_or(".", |(folder, _)| folder);
                self.shell(&format!("find '{folder}' -maxdepth 1 -type f ! -name '.*' -exec sed -i 's/ *$//' {{}} +"))
            }
            _ => Ok(fs::write(path, text)?),
        }
    }

    fn rename(&mut self, kind: &str, file: &str, random: &mut Random) -> Result<(), Broken> {
        let number = self.number;
        let folder = file.split_once('/').map(|(folder, _)| folder.to_owned());
        match kind {
            "move" => match folder.filter(|_| random.below(3) == 0) {
                Some(folder) => self.shell(&format!("mv '{folder}' moved{number}")),
                None => self.shell(&format!("mv '{file}' moved{number}.txt")),
            },
            "swap" => {
                let files = self.files()?;
                let other = random.pick(&files).cloned().unwrap_or_default();
                self.shell(&format!("mv '{file}' .swap && mv '{other}' '{file}'; mv .swap '{other}'; true"))
            }
            "case" => {
                let (folder, name) = file.rsplit_once('/').map_or(("", file), |(folder, name)| (folder, name));
                let is_upper = name.chars().any(char::is_uppercase);
                let name = if is_upper { name.to_lowercase() } else { name.to_uppercase() };
                let to = if folder.is_empty() { name } else { format!("{folder}/{name}") };
                self.shell(&format!("mv -n '{file}' '{to}'"))
            }
            "remove" => Ok(fs::remove_file(self.top.join(file))?),
            "remove_folder" => match folder {
                Some(folder) => self.shell(&format!("rm -rf '{folder}'")),
                None => Ok(()),
            },
            "into_folder" => {
                fs::remove_file(self.top.join(file))?;
                self.put(&format!("{file}/inside.txt"), random)
            }
            _ => {
                let folder = ["", "src/", "docs/", "made/deep/", "build/"][random.below(5)];
                self.put(&format!("{folder}new{number}.txt"), random)
            }
        }
    }

    fn with_git(&mut self, kind: &str, random: &mut Random) -> Result<(), Broken> {
        let branch = format!("b{}", random.below(4));
        match kind {
            "commit" => {
                self.git("add -A")?;
                self.try_git(&format!("commit -q -m {}", self.number));
            }
            "checkout" if random.below(3) == 0 => self.try_git("checkout -q main"),
            "checkout" => {
                self.try_git(&format!("checkout -q {branch}"));
                self.try_git(&format!("checkout -q -b {branch}"));
            }
            "stash" if random.below(2) == 0 => self.try_git("stash -q -u"),
            "stash" => {
                self.try_git("stash pop -q");
            }
            "reset" => {
                let to = if random.below(2) == 0 { "HEAD" } else { "HEAD~1" };
                self.try_git(&format!("reset -q --hard {to}"));
            }
            "clean" => self.try_git("clean -q -f -d"),
            _ => {
                self.git("add -A")?;
                self.try_git(&format!("commit -q -m {}", self.number));
                self.try_git("rebase -q main");
                self.try_git("rebase --abort");
            }
        }
        // What a conflict leaves open would make most later commands fail.
        if random.below(3) == 0 {
            self.try_git("reset -q");
        }
        Ok(())
    }

    /// The agent edits a file, or several, through the product. It may be refused.
    fn agent(&mut self, file: &str, random: &mut Random) -> Result<(), Broken> {
        let write = |change| Operation::Write(Write { path: file.to_owned(), change, over: Over::Anything });
        let text = self.text(random);
        let operation = match random.below(6) {
            0 => write(Change::Delete),
            1 => write(Change::Move { to: format!("agent{}.txt", self.number) }),
            2 => {
                let made = |at| format!("*** Add File: agent/{}-{at}.txt\n+made {at}\n", self.number);
                let files: String = (0..3).map(made).collect();
                let patch = format!("*** Begin Patch\n{files}*** End Patch\n");
                Operation::Patch(Patch { patch, path: None, over: Over::Held })
            }
            3 => {
                let found = fs::read_to_string(self.top.join(file)).unwrap_or_default();
                let old = found.lines().next().unwrap_or("none").to_owned();
                let new = format!("edited {}", self.number);
                write(Change::Replace { old, new, places: Places::All })
            }
            _ => write(Change::Whole(text)),
        };
        if let Err(error) = self.engine.ask::<Written>(Some(&self.session), operation) {
            self.told.push(format!("  refused: {}", error.code()));
        }
        Ok(())
    }

    fn command(&self, mut command: Command) -> Result<(bool, String), Broken> {
        command.current_dir(&self.top).stdin(Stdio::null());
        // No settings of the user's.
        command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
        for name in ["GIT_AUTHOR", "GIT_COMMITTER"] {
            command.env(format!("{name}_NAME"), "n").env(format!("{name}_EMAIL"), "e");
        }
        let output = command.output()?;
        Ok((output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned()))
    }

    fn shell(&mut self, line: &str) -> Result<(), Broken> {
        let mut command = Command::new("sh");
        command.arg("-c").arg(line);
        self.told.push(format!("  {line}"));
        match self.command(command)? {
            (true, _) => Ok(()),
            (false, why) => Err(format!("{line}: {why}").into()),
        }
    }

    fn git(&mut self, words: &str) -> Result<(), Broken> {
        match self.run_git(words)? {
            (true, _) => Ok(()),
            (false, why) => Err(format!("git {words}: {why}").into()),
        }
    }

    /// Runs git, which may refuse.
    fn try_git(&mut self, words: &str) {
        let _ = self.run_git(words);
    }

    fn run_git(&mut self, words: &str) -> Result<(bool, String), Broken> {
        let mut command = Command::new("git");
        command.args(words.split(' '));
        let done = self.command(command);
        let is_done = done.as_ref().is_ok_and(|(is_done, _)| *is_done);
        self.told.push(format!("  git {words}{}", if is_done { "" } else { " (refused)" }));
        done
    }
}
