//! The texts that the pi extension keeps in a workspace, and the pi sessions that may still need them. Read-only:
//! records nothing and creates no store.

use readproof_core::{
    limits::Answers,
    text::{ContentHash, Text},
};
use readproof_disk::{Appended, Root, TranscriptFile, is_folder, transcripts_in};
use readproof_hosts::pi::{Source, Transcript, hashes};
use std::{
    borrow::Cow,
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use super::MOST;
use crate::{
    Error,
    upkeep::{HostSession, HostTexts, Unread},
};

/// The folder of the pi extension's texts, relative to the workspace root.
pub(super) const OBJECTS: [&str; 3] = [".pi", "readcache", "objects"];

/// Where to look for pi's session files.
#[derive(Clone, Debug, Default)]
pub struct PiSources {
    /// Session files, or folders of them, that the user named. Each counts, wherever its session ran.
    pub named: Vec<PathBuf>,
    /// pi's folder of sessions. Of these, only sessions that ran in the workspace count.
    pub folder: Option<PathBuf>,
}

impl HostTexts for PiSources {
    fn host(&self) -> &'static str {
        "pi"
    }

    fn folder(&self) -> &'static [&'static str] {
        &OBJECTS
    }

    fn needs(&self, file: &Path, texts: &dyn Fn(ContentHash) -> Option<Text>) -> Result<BTreeSet<ContentHash>, Error> {
        needs(file, texts)
    }

    fn sessions(&self, root: &Root) -> Vec<HostSession> {
        let mut found = Vec::new();
        for named in &self.named {
            match if is_folder(named) { transcripts_in(named) } else { Ok(vec![named.clone()]) } {
                Ok(files) => found.extend(files.into_iter().map(|file| {
                    let unread = ran_in(&file).err();
                    HostSession { file, unread }
                })),
                Err(error) => found.push(HostSession { file: named.clone(), unread: Some(error.into()) }),
            }
        }
        if let Some(folder) = &self.folder {
            match transcripts_in(folder) {
                Ok(files) => found.extend(files.into_iter().filter_map(|file| in_workspace(root, folder, file))),
                Err(error) => found.push(HostSession { file: folder.clone(), unread: Some(error.into()) }),
            }
        }
        found.sort_unstable_by(|one, other| one.file.cmp(&other.file));
        found.dedup_by(|one, other| one.file == other.file);
        found
    }
}

/// A file of pi's folder of sessions, if its session ran in the workspace. A file that does not say where it ran counts
/// if it is in the subfolder of this workspace's sessions, or in no subfolder.
fn in_workspace(root: &Root, folder: &Path, file: PathBuf) -> Option<HostSession> {
    match ran_in(&file) {
        Ok(cwd) => root.leads_inside(Path::new(&cwd)).then_some(HostSession { file, unread: None }),
        Err(why) => {
            let parent = file.parent().filter(|parent| *parent != folder);
            let name = parent.and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
            let is_ours = name.is_none_or(|name| name.starts_with(&folder_name(&root.path().to_string_lossy())));
            is_ours.then_some(HostSession { file, unread: Some(why) })
        }
    }
}

/// The prefix of the subfolders in which pi keeps the sessions of a folder and the folders below it.
fn folder_name(cwd: &str) -> String {
    let dashes = |c: char| if matches!(c, '/' | '\\' | ':') { '-' } else { c };
    format!("--{}", cwd.trim_start_matches('/').chars().map(dashes).collect::<String>())
}

/// The folder a session runs in.
fn ran_in(file: &Path) -> Result<String, Unread> {
    let open = TranscriptFile::open(file, MOST)?;
    let first = open.first_line()?.unwrap_or_default();
    let mut transcript = Transcript::new(Answers::default(), None);
    transcript.append(&first);
    transcript.cwd().map(str::to_owned).ok_or(Unread::NoHeader)
}

/// Every text that a session file may need as a base, at any leaf. `texts` loads stored texts.
fn needs(file: &Path, texts: &dyn Fn(ContentHash) -> Option<Text>) -> Result<BTreeSet<ContentHash>, Error> {
    let mut open = TranscriptFile::open(file, MOST)?;
    let mut transcript = Transcript::new(Answers::Held, None);
    let mut needed = BTreeSet::new();
    loop {
        let lines = match open.appended()? {
            Appended::Nothing => break,
            Appended::More(lines) => lines,
            Appended::Anew(lines) => {
                transcript = Transcript::new(Answers::Held, None);
                lines
            }
        };
        hashes(&lines, &mut needed);
        transcript.append(&lines);
    }
    needed.extend(transcript.written(&AnyStore { file: &open, texts }));
    Ok(needed)
}

/// A session file, and texts from any store.
struct AnyStore<'a> {
    file: &'a TranscriptFile,
    texts: &'a dyn Fn(ContentHash) -> Option<Text>,
}

impl Source for AnyStore<'_> {
    fn text(&self, hash: ContentHash) -> Option<Text> {
        (self.texts)(hash)
    }

    fn appended(&self, at: u64, len: usize) -> Option<Cow<'_, [u8]>> {
        self.file.again(at, len).map(Cow::Owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_of_a_workspace() {
        assert_eq!(folder_name("/home/u/my ws"), "--home-u-my ws");
        assert_eq!(folder_name("/c:\\x"), "--c--x");
    }
}
