//! The host seam: the conversation that a call belongs to. A conversation says what the model provably holds, where an answer is
//! recorded, and what the caller gets back beside it. One file for each kind; the host's own record is read in `hosts`.

mod handles;
mod open;
mod pi;
mod refresh;
mod session;
mod tree;

pub use handles::{Handle, HandleConversation};
pub(crate) use open::{Open, locked};
pub use pi::*;
pub use session::LoggedSession;
pub use tree::{SessionEntry, SessionView};

use readproof_core::{
    decide::{Ask, Mode},
    limits::Limits,
    operation::{AnswerLimit, Read},
    path::PathKey,
    render::Notice,
    scope::{Lines, Scope, ScopeError},
    text::{ContentHash, Text},
};
use readproof_disk::{FileRef, Loaded, SessionName, Snapshot};
use std::collections::BTreeMap;

use crate::{
    Engine, Error,
    outcome::Refreshed,
    read::{CallContext, KnowledgeAtCall, PendingAnswer, Recorded, ResolvedTarget},
};

/// Why the host answers a read itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotOurs {
    /// The host shows it as an image.
    Image,
    /// The file is on the list of sensitive names.
    Sensitive,
    /// The host would not find the same file by this path.
    OtherName,
    /// The path is a URL that needs decoding.
    EncodedUrl,
}

/// How a conversation stands, since its last compaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConversationStatus {
    /// Its name, if it has a log of ours.
    pub name: Option<SessionName>,
    /// What the model holds.
    pub files: Vec<FileStatus>,
    /// Entries that knowledge is derived from.
    pub window: usize,
    /// Whether there was a compaction.
    pub compacted: bool,
    /// Reads by decision.
    pub counts: BTreeMap<Mode, u64>,
    /// Bytes that plain answers would have had.
    pub plain_bytes: u64,
    /// Bytes that were sent.
    pub sent_bytes: u64,
    /// Bytes that were not sent; a marker may be longer than a short text.
    pub saved_bytes: i64,
    /// Whether the host was seen to change what the model sees.
    pub distrusted: bool,
    /// Whether the place asked about is known at all.
    pub known: bool,
    /// Texts the host's own folder holds, and their bytes, if they lie apart from our store.
    pub texts: Option<(u64, u64)>,
}

/// One file of which something is held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileStatus {
    /// Its name in the workspace.
    pub path: String,
    /// Whether all of one text is held.
    pub whole: bool,
    /// How many runs of lines, or ends of a file, are held.
    pub spans: usize,
    /// The lines held and the entry that showed them.
    pub lines: Vec<(Lines, u64)>,
}

/// One conversation, for the length of one call.
pub trait Conversation {
    /// What the caller gets beside an answer: a receipt, a handle, metadata.
    type Given;

    /// The session log that records what is shown; without one nothing is recorded here.
    fn log(&self) -> Option<&SessionName> {
        None
    }

    /// Notes where in the conversation a read is asked, before anything is looked at.
    fn begin(&mut self, _engine: &Engine, _read: &Read) -> Option<NotOurs> {
        None
    }

    /// How much one answer carries.
    fn limits(&self, engine: &Engine, read: &Read) -> Limits {
        let limits = engine.settings().limits;
        match read.most {
            // Characters are counted in place of bytes; none has more than four.
            Some(AnswerLimit { lines, chars }) => Limits {
                answer_lines: lines,
                answer_bytes: chars.saturating_mul(4),
                answer_chars: Some(chars),
                ..limits
            },
            None => limits,
        }
    }

    /// Which lines are meant, and which of them one plain answer shows.
    ///
    /// # Errors
    /// [`ScopeError`] when the numbers mean nothing in this text.
    fn ask(&self, now: &Text, _read: &Read, target: &ResolvedTarget, limits: &Limits) -> Result<Ask, ScopeError> {
        Ask::new(now, target.offset, target.limit, limits)
    }

    /// The name by which the conversation knows a file.
    fn key(&self, file: &FileRef) -> PathKey {
        file.key().clone()
    }

    /// Whether the host answers a read of this text itself.
    fn declines(&self, _engine: &Engine, _file: &FileRef, _read: &Snapshot) -> Option<NotOurs> {
        None
    }

    /// Opens what a read needs. What cannot be used costs the knowledge, never the text.
    fn context(&mut self, engine: &Engine, read: &Read, file: &FileRef, snapshot: &Snapshot) -> CallContext;

    /// What the model holds of a file.
    fn held(&mut self, engine: &Engine, context: &CallContext, path: &PathKey) -> KnowledgeAtCall;

    /// The same, where the lines asked for are held of several texts: those that are the same in the present one count as
    /// its own, if the conversation can record that.
    fn add_up(
        &mut self,
        _engine: &Engine,
        _context: &CallContext,
        (_path, _now, _ask): (&PathKey, &Text, &Ask),
        held: KnowledgeAtCall,
    ) -> KnowledgeAtCall {
        held
    }

    /// A stored text, verified.
    fn load(&self, engine: &Engine, hash: ContentHash) -> Loaded;

    /// Whether the answer itself must say this. A trailer says some of it by numbers.
    fn says(&self, _notice: &Notice) -> bool {
        true
    }

    /// Stores the text and records the answer. What cannot be stored or recorded costs knowledge, never the answer.
    fn record(
        &mut self,
        engine: &Engine,
        context: &mut CallContext,
        pending: &PendingAnswer<'_>,
    ) -> Recorded<Self::Given>;

    /// How many lines of a text a range may name.
    fn total_lines(&self, text: &Text) -> u32 {
        text.total()
    }

    /// What a refresh comes to when there is no file to look at. By default that is an error.
    ///
    /// # Errors
    /// The one given, where the conversation can do nothing about it.
    fn refresh_unseen(&self, _engine: &Engine, _path: &str, error: Error) -> Result<Refreshed, Error> {
        Err(error)
    }

    /// Every file of which the conversation may hold something, by its name in the workspace.
    ///
    /// # Errors
    /// When there is no such conversation.
    fn known_files(&mut self, engine: &Engine) -> Result<Vec<PathKey>, Error>;

    /// Takes lines of every name of a file out of what is held.
    ///
    /// # Errors
    /// When that cannot be recorded.
    fn refresh(&mut self, engine: &Engine, names: Vec<PathKey>, scope: Scope) -> Result<Refreshed, Error>;

    /// How the conversation stands; `None` where there is none to speak of.
    ///
    /// # Errors
    /// When its record cannot be read.
    fn status(&mut self, engine: &Engine) -> Result<Option<ConversationStatus>, Error>;
}
