//! What is held, what was answered, what it saved, what it takes on disk.

use readproof_disk::{Create, SessionName, Usage};

use crate::{Conversation, ConversationStatus, Engine, Error};

/// The state of a workspace and, if there is one, of the conversation.
#[derive(Clone, Debug)]
pub struct Status {
    /// The workspace.
    pub workspace: String,
    /// What the store takes; `None` when there is none yet.
    pub store: Option<Usage>,
    /// The sessions there are.
    pub sessions: Vec<SessionName>,
    /// The conversation that asks.
    pub conversation: Option<ConversationStatus>,
}

impl Engine {
    /// The state of the workspace, and of the conversation that asks.
    pub(crate) fn status<C: Conversation>(&self, conversation: &mut C) -> Result<Status, Error> {
        let sessions = self.list_sessions()?;
        let store = self.store(Create::No)?.map(|store| store.usage());
        let conversation = conversation.status(self)?;
        let workspace = self.root.path().display().to_string();
        Ok(Status { workspace, store, sessions, conversation })
    }
}
