//! What the model sees of files other than by reading them: commands, searches, tools of others, what a person runs. It never adds
//! anything. A file that may have been shown is held no more, unless what was shown is provably what is held.

use readproof_core::path::PathKey;

use super::{
    call::{Input, Tool},
    shell::{Reach, one_program, unquoted},
    state::Step,
    transcript::last_part,
};

/// How the host begins its note about files that a command changed.
const MODIFIED: &str = "[This command modified ";

impl Step<'_> {
    /// A result of a tool that is not the host's own `Read`, `Edit` or `Write`. `shown` is all of its text.
    pub(super) fn other_eyes(&mut self, tool: Tool, input: &Input, shown: &str) {
        match tool {
            Tool::Blind => {}
            // Without it, only names and numbers are shown.
            Tool::Grep if input.output_mode.as_deref() != Some("content") => {}
            Tool::Grep => {
                let place = input.path.as_deref().unwrap_or_default();
                self.void_seen(|name| place.contains(name) || shown.contains(name));
            }
            Tool::Shell => match input.command.as_deref() {
                Some(command) => self.ran(command, shown),
                None => self.void_seen(|_| true),
            },
            Tool::Agent => {
                let asked = input.prompt.as_deref().unwrap_or_default();
                self.void_seen(|name| asked.contains(name) || shown.contains(name));
            }
            Tool::Other => self.void_seen(|_| true),
            Tool::Read | Tool::Edit | Tool::MultiEdit | Tool::Write | Tool::Notebook => {}
        }
    }

    fn ran(&mut self, command: &str, shown: &str) {
        let said = unquoted(command);
        match Reach::of(command) {
            Reach::Nothing if shown.contains(MODIFIED) => self.void_seen(|name| shown.contains(name)),
            Reach::Nothing => {}
            Reach::All => self.void_seen(|_| true),
            Reach::Named(patterns) => {
                let same = self.confirmed(command, shown);
                let named = |name: &str| said.contains(name) || shown.contains(name);
                let seen = |name: &str| named(name) || patterns.iter().any(|pattern| pattern.matches(name));
                self.void_seen_but(seen, same.as_ref());
            }
        }
    }

    /// What a person ran, or what the host tells of a file in other words than those that are known.
    pub(super) fn told(&mut self, text: &str) {
        let command = text.split_once("<bash-input>").and_then(|(_, rest)| rest.split_once("</bash-input>"));
        if let Some((command, _)) = command {
            self.ran(command, text);
        } else {
            self.void_seen(|name| text.contains(name));
        }
    }

    fn void_seen(&mut self, seen: impl Fn(&str) -> bool) {
        self.void_seen_but(seen, None);
    }

    /// Voids every file whose last part was seen, but for one.
    fn void_seen_but(&mut self, seen: impl Fn(&str) -> bool, but: Option<&PathKey>) {
        let files = self.held.knowledge.paths().map(|(path, _)| path.clone());
        let is_seen = |path: &PathKey| {
            let as_is = path.as_str().rsplit('/').next().unwrap_or_default();
            seen(as_is) || last_part(as_is).is_none_or(|last| seen(&last))
        };
        let gone: Vec<PathKey> = files.filter(|path| Some(path) != but && is_seen(path)).collect();
        gone.into_iter().for_each(|path| self.void(path));
    }

    /// The file that a command shows as it is held: all of it by `cat`, or all its lines with a plain word by `grep -n`.
    fn confirmed(&self, command: &str, shown: &str) -> Option<PathKey> {
        let words = one_program(command)?;
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let name = *words.last()?;
        let path = self.held.knowledge.paths().map(|(path, _)| path).find(|path| is_name_of(name, path))?;
        let held = self.assembled(path).filter(|held| held.whole)?;
        let text = held.text.as_str();
        let same = match words.as_slice() {
            // The output is trimmed on both sides.
            ["cat", _] => text.trim() == shown.trim(),
            ["grep", "-n", word, _] if word.chars().all(char::is_alphanumeric) => {
                let lines = (1..).zip(text.lines()).filter(|(_, line)| line.contains(word));
                let found: Vec<String> = lines.map(|(number, line)| format!("{number}:{line}")).collect();
                !found.is_empty() && found.join("\n").trim() == shown.trim()
            }
            _ => false,
        };
        same.then(|| path.clone())
    }
}

/// Whether a name, from whatever folder, can be that of a file.
fn is_name_of(name: &str, path: &PathKey) -> bool {
    let (name, path) = (name.trim_start_matches("./"), path.as_str());
    let end = path.strip_suffix(name);
    !name.is_empty() && end.is_some_and(|folder| folder.is_empty() || folder.ends_with('/') || name.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files() {
        let path = PathKey::new("/w/src/a.rs");
        for name in ["/w/src/a.rs", "src/a.rs", "./src/a.rs", "a.rs"] {
            assert!(is_name_of(name, &path), "{name}");
        }
        for name in ["", "b.rs", "rc/a.rs", "/src/b.rs", "./"] {
            assert!(!is_name_of(name, &path), "{name}");
        }
    }
}
