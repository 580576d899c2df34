//! What the model sees of files other than by reading them: searches and shells. It never adds anything. Lines that are seen to
//! be other than those held are held no more, and if it cannot be told which lines were seen, nothing of the file is.

use readproof_core::{
    knowledge::Event,
    path::PathKey,
    scope::{Lines, Scope},
};

use super::{
    call::{Input, Tool},
    numbered::without_reminders,
    state::Step,
};

impl Step<'_> {
    pub(super) fn other_eyes(&mut self, tool: Tool, input: &Input, text: Option<&str>) {
        let Some(text) = text else { return };
        let shown = without_reminders(text);
        let files: Vec<PathKey> = self.held.knowledge.paths().map(|(path, _)| path.clone()).collect();
        for path in files {
            if tool == Tool::Grep {
                self.searched(&path, input, shown);
            } else if input.command.as_deref().is_some_and(|command| names(command, &path)) {
                let all = input.command.as_deref().is_some_and(prints_all);
                // A command that prints whole files and prints nothing says that the file is empty.
                if !says_something(shown) && !all {
                    continue;
                }
                let held = self.assembled(&path).filter(|held| held.whole);
                // The shell's output is trimmed on both sides.
                let same = |held: &str| if all { held.trim() == shown.trim() } else { held.contains(shown.trim()) };
                if !held.is_some_and(|held| same(held.text.as_str())) {
                    self.void(path);
                }
            }
        }
    }

    /// Lines that a search found: `name:number:line`, with `-` for lines around them, or without the name in a single file.
    fn searched(&mut self, path: &PathKey, input: &Input, shown: &str) {
        if input.output_mode.as_deref() != Some("content") {
            return;
        }
        let single = input.path.as_deref().is_some_and(|place| is_name_of(place, path));
        for line in shown.lines() {
            let Some(rest) = of_file(line, path, single) else { continue };
            let Some((number, said)) = numbered(rest) else {
                let known = self
                    .assembled(path)
                    .is_some_and(|held| held.text.lines().any(|held| held.trim_end_matches('\n') == rest));
                if !known {
                    return self.void(path.clone());
                }
                continue;
            };
            let held = self.assembled(path);
            let same = held.is_some_and(|held| held.text.line(number).trim_end_matches('\n') == said);
            if let Some(lines) = Lines::new(number, number).filter(|_| !same) {
                self.apply(&Event::Refreshed { paths: vec![path.clone()], scope: Scope::Lines(lines) });
            }
        }
    }
}

/// What a line of a search shows of this file.
fn of_file<'l>(line: &'l str, path: &PathKey, single: bool) -> Option<&'l str> {
    let splits = line.match_indices([':', '-']).map(|(at, _)| (&line[..at], &line[at + 1..]));
    let named = splits.filter(|(name, _)| !name.is_empty()).find(|(name, _)| is_name_of(name, path));
    named.map(|(_, rest)| rest).or_else(|| single.then_some(line))
}

/// A number, and what follows it.
fn numbered(line: &str) -> Option<(u32, &str)> {
    let at = line.find([':', '-'])?;
    let number = line[..at].parse().ok()?;
    Some((number, &line[at + 1..]))
}

/// Whether a name, from whatever folder, can be that of a file.
fn is_name_of(name: &str, path: &PathKey) -> bool {
    let (name, path) = (name.trim_start_matches("./"), path.as_str());
    let end = path.strip_suffix(name);
    !name.is_empty() && end.is_some_and(|folder| folder.is_empty() || folder.ends_with('/') || name.starts_with('/'))
}

/// Whether a command names a file.
fn names(command: &str, path: &PathKey) -> bool {
    let words = command.split(|c: char| c.is_whitespace() || "'\"`;|&<>()=:,".contains(c));
    words.into_iter().any(|word| is_name_of(word, path))
}

/// Whether a command prints whole files, so that what it does not print is not there.
fn prints_all(command: &str) -> bool {
    ["cat", "bat", "less", "more", "nl", "tac"].contains(&command.split_whitespace().next().unwrap_or_default())
}

/// Whether a shell printed anything of its own.
fn says_something(shown: &str) -> bool {
    let shown = shown.trim();
    !shown.is_empty() && shown != "(Bash completed with no output)" && !is_note(shown)
}

/// Whether it is only the host's note about files that the command changed.
fn is_note(shown: &str) -> bool {
    shown.starts_with("[This command modified ") && shown.ends_with("]") && !shown.contains('\n')
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
        assert!(names("cat 'src/a.rs' | head", &path) && names("git diff HEAD:src/a.rs", &path));
        assert!(!names("cargo test a_rs", &path));
    }

    #[test]
    fn lines_of_searches() {
        let path = PathKey::new("/w/src/a-b.rs");
        assert_eq!(of_file("src/a-b.rs:12:let x = 1;", &path, false), Some("12:let x = 1;"));
        assert_eq!(of_file("src/a-b.rs-13-y", &path, false), Some("13-y"));
        assert_eq!(of_file("12:let x = 1;", &path, true), Some("12:let x = 1;"));
        assert_eq!(of_file("12:let x = 1;", &path, false), None);
        assert_eq!(numbered("12:let x"), Some((12, "let x")));
        assert_eq!(numbered("let x"), None);
    }
}
