//! Claude Code's row of `readproof held`: which files are its transcripts, and what is held at a call of one.

use readproof_core::operation::Operation;
use readproof_disk::{Appended, TranscriptFile, newest_file, transcripts_in};
use readproof_engine::{Error, HeldNow, LookedAt};
use serde::Deserialize;
use std::path::{Path, PathBuf};

use crate::{
    commands::{Terminal, held::HeldIn},
    config::{Config, host_environment},
};

pub(crate) const HELD: HeldIn =
    HeldIn { host: "claude-code", is_its: |file| first(file).is_some(), ran_in, newest, ask };

/// The largest transcript that is read.
const MOST: u64 = 1 << 30;

/// What every entry of a conversation has.
#[derive(Deserialize)]
struct Entry {
    #[serde(rename = "sessionId")]
    _session: String,
    cwd: Option<String>,
}

/// The first entries of a transcript.
fn entries(file: &Path) -> Option<Vec<u8>> {
    match TranscriptFile::open(file, MOST).ok()?.appended().ok()? {
        Appended::More(lines) | Appended::Anew(lines) => Some(lines),
        Appended::Nothing => None,
    }
}

fn parsed(line: &[u8]) -> Option<Entry> {
    serde_json::from_slice(line).ok()
}

fn first(file: &Path) -> Option<Entry> {
    parsed(entries(file)?.split(|byte| *byte == b'\n').next()?)
}

/// The first lines of a transcript are about other things than the conversation.
fn ran_in(file: &Path) -> Option<PathBuf> {
    let lines = entries(file)?;
    let mut entries = lines.split(|byte| *byte == b'\n').filter_map(parsed);
    entries.find_map(|entry| entry.cwd).map(PathBuf::from)
}

/// Claude Code names the folder of a project by its path, with everything but letters and digits replaced.
fn newest(config: &Config) -> Option<PathBuf> {
    let hosts = host_environment();
    let folder = hosts.claude.or_else(|| hosts.home.map(|home| home.join(".claude")))?;
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let name: String = config.root.path().display().to_string().chars().map(plain).collect();
    let folder = folder.join("projects").join(name);
    let mut files = transcripts_in(&folder).ok()?;
    // Those of subagents are in folders of their own.
    files.retain(|file| file.parent() == Some(&folder));
    newest_file(&files)
}

fn ask(terminal: &Terminal, file: &Path, leaf: Option<&str>, operation: Operation) -> Result<HeldNow, Error> {
    let ran_in = ran_in(file);
    let mut looked = LookedAt::open(terminal.engine(), file, (ran_in.as_deref(), leaf))?;
    let held: Box<HeldNow> = terminal.ask(&mut looked, operation)?.try_into()?;
    Ok(*held)
}
