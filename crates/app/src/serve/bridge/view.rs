//! pi's row of `readproof held`: which files are its sessions, and what is held at an entry of one.

use readproof_core::operation::Operation;
use readproof_disk::{TranscriptFile, transcripts_in};
use readproof_engine::{Error, HeldNow, PiConversation};
use serde::Deserialize;
use std::path::{Path, PathBuf};

use crate::{
    commands::{Terminal, held::HeldIn},
    config::{Config, pi_sessions_folder},
};

pub(crate) const HELD: HeldIn = HeldIn { host: "pi", is_its: |file| header(file).is_some(), ran_in, newest, ask };

/// The largest session file that is read.
const MOST: u64 = 1 << 30;

/// The first line of a session file.
#[derive(Deserialize)]
struct Header {
    #[serde(rename = "type")]
    kind: String,
    cwd: Option<String>,
}

fn header(file: &Path) -> Option<Header> {
    let line = TranscriptFile::open(file, MOST).ok()?.first_line().ok()??;
    serde_json::from_slice(&line).ok().filter(|header: &Header| header.kind == "session")
}

fn ran_in(file: &Path) -> Option<PathBuf> {
    header(file)?.cwd.map(PathBuf::from)
}

/// pi names its files by the time at which a session began.
fn newest(config: &Config) -> Option<PathBuf> {
    let files = transcripts_in(&pi_sessions_folder()?).ok()?;
    let is_here = |file: &PathBuf| ran_in(file).is_some_and(|folder| folder.starts_with(config.root.path()));
    let name = |file: &PathBuf| file.file_name().map(std::ffi::OsStr::to_os_string);
    files.into_iter().filter(is_here).max_by_key(name)
}

fn ask(terminal: &Terminal, file: &Path, leaf: Option<&str>, operation: Operation) -> Result<HeldNow, Error> {
    let mut conversation = PiConversation::open_copy(terminal.engine(), file)?;
    let held: Box<HeldNow> = terminal.ask(&mut conversation.call_at(leaf)?, operation)?.try_into()?;
    Ok(*held)
}
