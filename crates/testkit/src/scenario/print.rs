//! The format of `expected.txt`: how steps, answers, refusals and the state that a step asks for are printed.

use readproof_core::{scope::Lines, text::ContentHash};
use readproof_disk::STORE_NAME;
use readproof_engine::{ConversationStatus, Error, SessionView, Status, operation::Operation};
use readproof_words::{Surface, notice::notices};
use serde_json::Value;
use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use super::{
    format::Step,
    stage::{Stage, all_files, named},
};
use crate::{
    ask::{Ask, Logged},
    world::Broken,
};

/// A longer plain text is printed as its number of lines and its hash.
const LONGEST: usize = 30;

/// A path as it is printed.
pub(super) fn name(path: &str) -> String {
    shown(&Value::from(path))
}

pub(super) fn shown(value: &Value) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./:@~-".contains(c);
    match value.as_str() {
        Some(text) if !text.is_empty() && text.chars().all(plain) => text.to_owned(),
        _ => ascii(&value.to_string()),
    }
}

/// The text, with an escape for every character that is invisible or ambiguous.
fn ascii(text: &str) -> String {
    let mut out = String::new();
    let mut units = [0; 2];
    for c in text.chars() {
        if c.is_ascii() && !c.is_ascii_control() {
            out.push(c);
        } else {
            let escaped = c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}"));
            out.extend(escaped);
        }
    }
    out
}

/// The steps that print state.
impl Stage {
    pub(super) fn show_store(&mut self) -> Result<(), Broken> {
        let store = self.root.join(STORE_NAME);
        if !store.exists() {
            self.say("no store");
            return Ok(());
        }
        let (mut temporary, mut open, mut lines) = (0, 0, Vec::new());
        for path in all_files(&store)? {
            open += usize::from(fs::metadata(&path)?.permissions().mode() & 0o077 != 0);
            temporary += usize::from(path.starts_with(store.join("tmp")));
            if path.starts_with(store.join("objects")) {
                lines.push(self.object_line(&path)?);
            }
        }
        lines.sort();
        for line in &lines {
            self.say(line);
        }
        self.say(&format!("{} objects, {temporary} temporary files, {open} files that others can read", lines.len()));
        Ok(())
    }

    fn object_line(&self, path: &Path) -> Result<String, Broken> {
        let bytes = fs::read(path)?;
        let whole = path
            .file_name()
            .is_some_and(|name| name.to_str() == Some(&format!("sha256-{}.txt", ContentHash::of(&bytes))));
        let mut names = Vec::new();
        for file in all_files(&self.root)? {
            if !file.starts_with(self.root.join(STORE_NAME)) && fs::read(&file)? == bytes {
                names.push(file.strip_prefix(&self.root)?.display().to_string());
            }
        }
        let of = if names.is_empty() {
            "the text of no file now".to_owned()
        } else {
            format!("the text of {}", names.join(", "))
        };
        let state = if whole { "as named" } else { "NOT as named" };
        Ok(format!("object: {} bytes, {state}, {of}", bytes.len()))
    }

    pub(super) fn search_store(&mut self, words: &str) -> Result<(), Broken> {
        let store = self.root.join(STORE_NAME);
        let mut count = 0;
        for path in all_files(&store)? {
            count += usize::from(fs::read(path)?.windows(words.len()).any(|window| window == words.as_bytes()));
        }
        self.say(&format!("in {count} files of the store"));
        Ok(())
    }

    pub(super) fn show_entries(&mut self, step: &Step) -> Result<(), Broken> {
        let result = self.engine.ask(Some(named(step)?), Operation::ShowSession);
        let Some(view) = self.granted::<SessionView>(result) else { return Ok(()) };
        for entry in view.entries {
            let called =
                self.labels.iter().find(|(_, labelled)| labelled.entry == entry.id && labelled.session == view.session);
            let called = called.map(|(label, _)| format!("{label}:"));
            let words = [
                Some(if entry.on_branch { "*" } else { "-" }.to_owned()),
                called,
                Some(entry.kind.to_owned()),
                entry.path.as_deref().map(name),
                entry.mode.map(|mode| mode.as_str().to_owned()),
                Some(entry.note).filter(|note| !note.is_empty() && entry.kind != "context_edit"),
            ];
            self.say(&words.into_iter().flatten().collect::<Vec<_>>().join(" "));
        }
        Ok(())
    }

    pub(super) fn show_status(&mut self, step: &Step) -> Result<(), Broken> {
        let result = self.engine.ask(Some(named(step)?), Operation::Status);
        let Some(status) = self.granted::<Status>(result) else { return Ok(()) };
        let ConversationStatus { files, window, counts, plain_bytes, sent_bytes, .. } =
            status.conversation.ok_or("the status names no session")?;
        for file in files {
            let range = |(lines, _): &(Lines, u64)| format!("{}-{}", lines.first(), lines.last());
            let spans: Vec<_> = file.lines.iter().map(range).collect();
            let whole = if file.whole { ", all of it" } else { "" };
            self.say(&format!("holds {}: lines {}{whole}", name(&file.path), spans.join(", ")));
        }
        let counts: Vec<_> = counts.iter().map(|(mode, count)| format!("{} {count}", mode.as_str())).collect();
        let counts = if counts.is_empty() { "no reads".to_owned() } else { counts.join(", ") };
        self.say(&format!("{window} entries since the barrier; {counts}"));
        self.say(&format!("{sent_bytes} bytes sent for {plain_bytes}"));
        Ok(())
    }
}

pub(super) fn refusal(error: &Error, root: &Path) -> String {
    let message = Surface::Cli.error(error).replace(&root.display().to_string(), "WORKSPACE");
    let above = root.parent().unwrap_or(root).display().to_string();
    let message = message.replace(&above, "ABOVE");
    ascii(&format!("refused {}: {message}", error.code()))
}

/// An answer as it is printed: our words begin in the first column, file text never does.
pub(super) fn block(answer: &Logged) -> String {
    let (mode, reason, path) = (answer.mode.as_str(), answer.reason.as_str(), name(&answer.path));
    let mut out = format!("{mode} ({reason}) {path} {}\n", answer.scope);
    for notice in notices(&answer.notices) {
        out += &format!("notice: {}\n", ascii(&notice));
    }
    out + &printed(&answer.text, !answer.mode.is_derived())
}

fn printed(text: &str, may_be_short: bool) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    if lines.is_empty() {
        return "no text\n".to_owned();
    }
    if may_be_short && lines.len() > LONGEST {
        return format!("{} lines, sha256 {}\n", lines.len(), ContentHash::of(text.as_bytes()));
    }
    let mut out = String::new();
    for line in lines {
        let bare = line.strip_suffix('\n').unwrap_or(line);
        let odd = bare.is_empty() || bare.ends_with(' ') || bare.chars().any(|c| c.is_control() || c == '\u{feff}');
        out += &if odd { format!("= {}\n", ascii(&Value::from(bare).to_string())) } else { format!("  {bare}\n") };
    }
    if !text.ends_with('\n') {
        out += "\\ no newline at the end\n";
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_printed_so_that_every_byte_shows() {
        assert_eq!(printed("", true), "no text\n");
        assert_eq!(
            printed("a\n\nb \n\tc\r\nd", true),
            "  a\n= \"\"\n= \"b \"\n= \"\\tc\\r\"\n  d\n\\ no newline at the end\n"
        );
        assert!(printed(&"x\n".repeat(31), true).starts_with("31 lines, sha256 "));
        assert!(printed(&"x\n".repeat(31), false).starts_with("  x\n"));
    }
}
