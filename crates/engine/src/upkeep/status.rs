//! The state of the workspace: what the model holds, how reads were answered, what that saved, and the size of the
//! store.

use readproof_disk::{Create, SessionName, Usage};

use crate::{Conversation, ConversationStatus, Engine, Error};

/// The state of a workspace and of the conversation, if there is one.
#[derive(Clone, Debug)]
pub struct Status {
    /// Its absolute path.
    pub workspace: String,
    /// The size of the store; `None` if there is none yet.
    pub store: Option<Usage>,
    /// All sessions of the workspace.
    pub sessions: Vec<SessionName>,
    /// The conversation that asks.
    pub conversation: Option<ConversationStatus>,
}

impl Engine {
    /// The state of the workspace, and of the conversation that asks.
    pub(crate) fn status<C: Conversation>(&self, conversation: &mut C) -> Result<Status, Error> {
        let sessions = self.list_sessions()?;
        let store = self.store(Create::No)?.map(|store| store.usage());
        let mut conversation = conversation.status(self)?;
        if let Some(status) = &mut conversation {
            status.files.retain(|file| self.may_name(&file.path));
        }
        let workspace = self.root.path().display().to_string();
        Ok(Status { workspace, store, sessions, conversation })
    }
}
