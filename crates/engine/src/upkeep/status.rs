//! What is held, what was answered, what it saved, what it takes on disk.

use readproof_core::{decide::Mode, knowledge::Held, scope::Lines};
use readproof_disk::{Create, SessionName, Usage};
use std::collections::BTreeMap;

use crate::{Engine, Error};

/// The state of a workspace and, if asked for, of one session's branch.
#[derive(Clone, Debug)]
pub struct Status {
    /// The workspace.
    pub workspace: String,
    /// What the store takes; `None` when there is none yet.
    pub store: Option<Usage>,
    /// The sessions there are.
    pub sessions: Vec<SessionName>,
    /// The session asked for.
    pub session: Option<SessionStatus>,
}

/// One session, on its current branch since the last compaction.
#[derive(Clone, Debug)]
pub struct SessionStatus {
    /// Its name.
    pub name: SessionName,
    /// What the model holds.
    pub files: Vec<FileStatus>,
    /// Entries since the barrier: what knowledge is derived from.
    pub window: usize,
    /// Reads by decision.
    pub counts: BTreeMap<Mode, u64>,
    /// Bytes that plain answers would have had.
    pub plain_bytes: u64,
    /// Bytes that were sent.
    pub sent_bytes: u64,
    /// Whether the host was seen to change what the model sees.
    pub distrusted: bool,
}

/// One file of which something is held.
#[derive(Clone, Debug)]
pub struct FileStatus {
    /// Its name in the workspace.
    pub path: String,
    /// Whether all of one text is held.
    pub whole: bool,
    /// The lines held and the entry that showed them.
    pub spans: Vec<(Lines, u64)>,
}

impl Engine {
    /// The state of the workspace, and of a session if one is named.
    ///
    /// # Errors
    /// When the store or the log cannot be read, or there is no such session.
    pub fn status(&mut self, session: Option<&SessionName>) -> Result<Status, Error> {
        let sessions = self.session_list()?;
        let store = self.store(Create::No)?.map(|store| store.usage());
        let session = session.map(|name| self.session_status(name)).transpose()?;
        let workspace = self.root.path().display().to_string();
        Ok(Status { workspace, store, sessions, session })
    }

    /// The state of one session's branch. What is not relied on, as an answer is still out, is not listed as held.
    ///
    /// # Errors
    /// When there is no such session or its log cannot be read.
    pub fn session_status(&mut self, name: &SessionName) -> Result<SessionStatus, Error> {
        let answers = self.settings.answers;
        let transcript = self.session(name, Create::No)?.transcript();
        let knowledge = transcript.knowledge();
        let span = |held: &Held| held.lines().map(|lines| (lines, held.at()));
        let files = knowledge
            .paths()
            .filter(|(path, _)| !transcript.is_distrusted() && !transcript.is_pending(path))
            .map(|(path, held)| FileStatus {
                path: path.to_string(),
                whole: knowledge.holds_whole(path, answers).is_some(),
                spans: held.iter().filter_map(span).collect(),
            })
            .collect();
        let (window, reads) = transcript.window();
        let mut counts = BTreeMap::new();
        for mode in reads.iter().filter_map(|read| Mode::parse(&read.mode)) {
            *counts.entry(mode).or_default() += 1;
        }
        Ok(SessionStatus {
            name: name.clone(),
            files,
            window,
            counts,
            plain_bytes: reads.iter().map(|read| read.plain_bytes).sum(),
            sent_bytes: reads.iter().map(|read| read.sent_bytes).sum(),
            distrusted: transcript.is_distrusted(),
        })
    }
}
