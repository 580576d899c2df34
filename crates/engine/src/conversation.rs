//! The host seam: the conversation that a call belongs to. A conversation says what the model provably holds, where an
//! answer is recorded, and what the caller gets with it. Each kind has its own file. Transcripts are interpreted in
//! `hosts`, not here.

mod batch;
mod claude_code;
mod handles;
mod held;
mod open;
mod pi;
mod refresh;
mod session;
mod tree;

pub use claude_code::*;
pub use handles::{Handle, HandleConversation};
pub use held::{HeldFile, HeldNow, HeldSpan, Holding, HoldingFile, Now, OnDisk, Proof};
pub(crate) use open::{Open, locked};
pub use pi::*;
pub use session::LoggedSession;
pub use tree::{SessionEntry, SessionView};

use readproof_core::{
    decide::{Ask, Mode},
    knowledge::Naming,
    limits::Limits,
    operation::{AnswerLimit, Read},
    path::PathKey,
    render::Notice,
    scope::{Lines, Scope, ScopeError},
    text::{ContentHash, Text},
};
use readproof_disk::{FileRef, Loaded, Root, SessionName, Snapshot};
use std::collections::{BTreeMap, BTreeSet};

use crate::{
    Engine, Error, RecentFile,
    door::Refreshed,
    read::{CallContext, KnowledgeAtCall, PendingAnswer, Recorded, ResolvedTarget},
};

/// Why the host answers a read itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotOurs {
    /// The host shows it as an image.
    Image,
    /// The file is on the list of sensitive names.
    Sensitive,
    /// The host would resolve this path to another file, or to none.
    OtherName,
    /// The path is a URL that needs decoding.
    EncodedUrl,
    /// What the host read is not what the file has now.
    OtherText,
}

/// The state of a conversation since its last compaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConversationStatus {
    /// The session, if the conversation has a log of ours.
    pub name: Option<SessionName>,
    /// The files of which the model holds something.
    pub files: Vec<FileStatus>,
    /// Number of entries that knowledge is derived from.
    pub window: usize,
    /// Whether there was a compaction.
    pub compacted: bool,
    /// Reads by decision.
    pub counts: BTreeMap<Mode, u64>,
    /// Bytes that plain answers would have taken.
    pub plain_bytes: u64,
    /// Bytes that were sent.
    pub sent_bytes: u64,
    /// Bytes saved; negative where markers were longer than the texts they stand for.
    pub saved_bytes: i64,
    /// Whether the host was seen to change or drop earlier results.
    pub distrusted: bool,
    /// Whether the conversation knows the entry that was asked about.
    pub known: bool,
    /// Number and total size of the texts that the host keeps outside our store.
    pub texts: Option<(u64, u64)>,
}

/// One file of which something is held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileStatus {
    /// Relative to the workspace root.
    pub path: String,
    /// Whether all of one text is held.
    pub whole: bool,
    /// Number of separate runs of lines, or file ends, that are held.
    pub spans: usize,
    /// The held lines, each run with the entry that showed it.
    pub lines: Vec<(Lines, u64)>,
}

/// A conversation, for the duration of one call.
pub trait Conversation {
    /// What the caller gets beside an answer: a receipt, a handle, metadata.
    type Given;

    /// The session whose log records what is shown; `None` if nothing is recorded here.
    fn log(&self) -> Option<&SessionName> {
        None
    }

    /// Notes where in the conversation a read is made, before anything is looked at.
    fn begin(&mut self, _engine: &Engine, _read: &Read) -> Option<NotOurs> {
        None
    }

    /// Whether the host answers a read itself that we decline or fail.
    fn hands_on(&self) -> bool {
        false
    }

    /// The size limits of one answer.
    fn limits(&self, engine: &Engine, read: &Read) -> Limits {
        let limits = engine.settings().limits;
        match read.most {
            // The limit is in characters; none has more than four bytes.
            Some(AnswerLimit { lines, chars }) => Limits {
                answer_lines: lines,
                answer_bytes: chars.saturating_mul(4),
                answer_chars: Some(chars),
                ..limits
            },
            None => limits,
        }
    }

    /// Which lines are meant, and which of them one plain answer would show.
    ///
    /// # Errors
    /// [`ScopeError`] when the range is not valid in this text.
    fn ask(&self, now: &Text, _read: &Read, target: &ResolvedTarget, limits: &Limits) -> Result<Ask, ScopeError> {
        Ask::new(now, target.offset, target.limit, limits)
    }

    /// The name of the file as the host's own page of it may print it; `None` where pages are ours.
    fn page_name(&self, _read: &Read, _target: &ResolvedTarget) -> Option<String> {
        None
    }

    /// The path under which the conversation knows a file.
    fn key(&self, file: &FileRef) -> PathKey {
        file.key().clone()
    }

    /// Whether the host answers a read of this text itself. A host that read the file puts the text that it shows in place of the
    /// disk's.
    fn declines(&mut self, _engine: &Engine, _file: &FileRef, _read: &mut Snapshot) -> Option<NotOurs> {
        None
    }

    /// Opens what a read needs. If that fails, nothing is relied on, but the text is still sent.
    fn context(&mut self, engine: &Engine, read: &Read, file: &FileRef, snapshot: &Snapshot) -> CallContext;

    /// What the model holds of a file.
    fn held(&mut self, engine: &Engine, context: &CallContext, path: &PathKey) -> KnowledgeAtCall;

    /// The same, if the requested lines are held from several versions of the file: lines that are identical in the
    /// current version count as held of it, provided that the conversation can record that.
    fn add_up(
        &mut self,
        _engine: &Engine,
        _context: &CallContext,
        (_path, _now, _ask): (&PathKey, &Text, &Ask),
        held: KnowledgeAtCall,
    ) -> KnowledgeAtCall {
        held
    }

    /// Which held lines a partial answer may name. Where the host has no such answer, none.
    fn naming(&self, _engine: &Engine, _read: &Read) -> Naming {
        Naming::Nothing
    }

    /// Loads a stored text and verifies its hash.
    fn load(&self, engine: &Engine, hash: ContentHash) -> Loaded;

    /// Whether the answer must carry this notice. A trailer already states some of them.
    fn says(&self, _notice: &Notice) -> bool {
        true
    }

    /// Stores the text and records the answer. If that fails, knowledge is lost, but the answer is still sent.
    fn record(
        &mut self,
        engine: &Engine,
        context: &mut CallContext,
        pending: &PendingAnswer<'_>,
    ) -> Recorded<Self::Given>;

    /// The number of lines that a range may refer to.
    fn total_lines(&self, text: &Text) -> u32 {
        text.total()
    }

    /// The result of a refresh whose file cannot be read. By default that is an error.
    ///
    /// # Errors
    /// `error`, if the conversation cannot do without the file.
    fn refresh_unseen(&self, _engine: &Engine, _path: &str, error: Error) -> Result<Refreshed, Error> {
        Err(error)
    }

    /// What the model holds now, for a person who asks, with what proves it.
    ///
    /// # Errors
    /// When there is no such conversation, or its record cannot be read.
    fn holding(&mut self, _engine: &Engine) -> Result<Holding, Error> {
        Err(Error::NoConversation)
    }

    /// Every file of which the conversation may hold something, relative to the workspace root.
    ///
    /// # Errors
    /// When there is no such conversation.
    fn known_files(&mut self, engine: &Engine) -> Result<Vec<PathKey>, Error>;

    /// Of these files the text that the conversation was last shown, or made. Only what a record of it tells.
    fn last_texts(&mut self, _engine: &Engine, _paths: &BTreeSet<String>) -> BTreeMap<String, ContentHash> {
        BTreeMap::new()
    }

    /// The files that it read or wrote, the latest first, each once.
    fn recent(&mut self, _engine: &Engine) -> Vec<RecentFile> {
        Vec::new()
    }

    /// Whether what it is told unasked can be confirmed as delivered, and so counts.
    fn confirms(&self) -> bool {
        false
    }

    /// Makes the conversation forget these lines of a file, under each of its names.
    ///
    /// # Errors
    /// When that cannot be recorded.
    fn refresh(&mut self, engine: &Engine, names: Vec<PathKey>, scope: Scope) -> Result<Refreshed, Error>;

    /// The state of the conversation; `None` if there is no conversation.
    ///
    /// # Errors
    /// When its record cannot be read.
    fn status(&mut self, engine: &Engine) -> Result<Option<ConversationStatus>, Error>;
}

/// If the workspace was opened through a symbolic link, that path and the real one.
fn alias(root: &Root) -> Option<(String, String)> {
    root.alias().map(|(from, to)| (from.to_owned(), to.to_owned()))
}
