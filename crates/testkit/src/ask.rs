//! How tests, benches and load runs call the engine: every method makes one call through the door and adds no rule.

use readproof_disk::SessionName;
use readproof_engine::{
    Answer, Call, Control, Conversation, Engine, Error, Handle, HandleConversation, LoggedSession, Outcome,
    PiConversation, PiGiven, Reading, Receipt, Written,
    operation::{Caller, Change, Operation, Over, Read, Write},
};
use std::fmt::Debug;

/// Asked between the stages of a call.
pub type Hook<'a> = &'a dyn Fn() -> bool;

/// A caller that waits for the end of the call.
pub const WAIT: Hook<'static> = &|| false;

/// An answer that is recorded in a session, or in none.
pub type Logged = Answer<Option<Receipt>>;

/// A write of one file.
#[derive(Clone, Debug)]
pub struct OneWritten {
    /// What the model sees.
    pub text: String,
    /// The file.
    pub path: String,
    /// Its new size.
    pub bytes: u64,
    /// Its new number of lines.
    pub lines: u32,
    /// To be handed back once the result has reached the model.
    pub receipt: Receipt,
}

impl TryFrom<Written> for OneWritten {
    type Error = Error;

    fn try_from(written: Written) -> Result<Self, Error> {
        let Written { text, files, receipts, .. } = written;
        let (Some(file), Some(receipt)) = (files.into_iter().next(), receipts.into_iter().next()) else {
            return Err(Error::OtherOutcome);
        };
        Ok(Self { text, path: file.path, bytes: file.bytes, lines: file.lines, receipt })
    }
}

/// Calls to an engine.
pub trait Ask {
    /// Asks in any conversation.
    ///
    /// # Errors
    /// Those of [`Engine::perform`].
    fn call<C: Conversation<Given: Debug>>(
        &self,
        conversation: &mut C,
        operation: Operation,
        hook: Hook<'_>,
    ) -> Result<Outcome<C::Given>, Error>;

    /// Asks in a session, or in none.
    ///
    /// # Errors
    /// Those of [`Engine::perform`].
    fn ask_while<T>(&self, session: Option<&SessionName>, operation: Operation, hook: Hook<'_>) -> Result<T, Error>
    where
        T: TryFrom<Outcome<Option<Receipt>>, Error = Error>,
    {
        self.call(&mut LoggedSession::named(session.cloned()), operation, hook)?.try_into()
    }

    /// Asks in a session, or in none, and waits.
    ///
    /// # Errors
    /// Those of [`Engine::perform`].
    fn ask<T>(&self, session: Option<&SessionName>, operation: Operation) -> Result<T, Error>
    where
        T: TryFrom<Outcome<Option<Receipt>>, Error = Error>,
    {
        self.ask_while(session, operation, WAIT)
    }

    /// Reads in a session, or in none.
    ///
    /// # Errors
    /// Those of [`Engine::perform`].
    fn read_while(&self, session: Option<&SessionName>, read: Read, hook: Hook<'_>) -> Result<Logged, Error> {
        self.call(&mut LoggedSession::named(session.cloned()), Operation::Read(read), hook)?.into_answer()
    }

    /// Reads in a session, or in none, and waits.
    ///
    /// # Errors
    /// Those of [`Engine::perform`].
    fn read(&self, session: Option<&SessionName>, read: Read) -> Result<Logged, Error> {
        self.read_while(session, read, WAIT)
    }

    /// Reads in a conversation of handles.
    ///
    /// # Errors
    /// Those of [`Engine::perform`].
    fn read_known(
        &self,
        session: Option<&SessionName>,
        known: Option<&str>,
        read: Read,
        hook: Hook<'_>,
    ) -> Result<Answer<Handle>, Error> {
        let mut conversation = HandleConversation::new(session.cloned(), known);
        self.call(&mut conversation, Operation::Read(read), hook)?.into_answer()
    }

    /// Reads in a pi session, at this leaf.
    ///
    /// # Errors
    /// Those of [`Engine::perform`].
    fn read_in_pi(
        &self,
        talk: &mut PiConversation,
        leaf: Option<&str>,
        read: Read,
        hook: Hook<'_>,
    ) -> Result<Reading<PiGiven>, Error> {
        self.call(&mut talk.call(leaf), Operation::Read(read), hook)?.into_reading()
    }

    /// Writes as the agent of a session.
    ///
    /// # Errors
    /// Those of [`Engine::perform`].
    fn write(&self, session: &SessionName, path: &str, change: Change) -> Result<OneWritten, Error> {
        let write = Write { path: path.to_owned(), change, over: Over::Anything };
        self.ask::<Written>(Some(session), Operation::Write(write))?.try_into()
    }
}

impl Ask for Engine {
    fn call<C: Conversation<Given: Debug>>(
        &self,
        conversation: &mut C,
        operation: Operation,
        hook: Hook<'_>,
    ) -> Result<Outcome<C::Given>, Error> {
        let control = Control { cancelled: hook, ..Control::WAIT };
        let caller = Caller { conversation: conversation.log().map(ToString::to_string), ..Caller::of("test") };
        self.perform(Call { caller: &caller, conversation, operation, control })
    }
}
