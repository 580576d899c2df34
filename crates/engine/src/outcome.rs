//! What comes back through the door: data, never words of a wire. Each operation has one kind of outcome.

use readproof_core::{
    decide::{Mode, Reason},
    knowledge::Hunk,
    meta::MetaV1,
    scope::{Lines, Scope},
};
use readproof_disk::{LogId, SessionName};
use readproof_hosts::session::EntryId;

use crate::{
    Collection, Compared, Defined, Error, FileStat, InFile, NotOurs, Outlined, Searched, SessionView, Status,
    SymbolsFound,
    read::EndOfFile,
    upkeep::{Check, Replayed},
};

/// What a read gives. `G` is what its conversation gives beside the text.
#[derive(Clone, Debug)]
pub struct Answer<G> {
    /// The text block, to the byte.
    pub text: String,
    /// What must be said beside it; never part of the block.
    pub notices: Vec<String>,
    /// The file, by its name in the workspace.
    pub path: String,
    /// How it was answered.
    pub mode: Mode,
    /// Why.
    pub reason: Reason,
    /// The lines that the call settles.
    pub scope: Scope,
    /// The lines that a plain answer shows.
    pub lines: Option<Lines>,
    /// Whether call and answer together show where the file ends.
    pub end: bool,
    /// The line to go on with, if more was asked for than one answer holds.
    pub next: Option<u32>,
    /// Whether fewer lines were picked than were asked for.
    pub reduced: bool,
    /// Lines in the file.
    pub total_lines: u32,
    /// Bytes that a plain answer would have had.
    pub plain_bytes: u64,
    /// Metadata V1; none for a line shown in part, which no scope can name.
    pub meta: Option<MetaV1>,
    /// What the conversation gives back.
    pub given: G,
}

impl<G> Answer<G> {
    /// The block of text; none if it would be empty or blank.
    #[must_use]
    pub fn block(&self) -> Option<&str> {
        Some(self.text.as_str()).filter(|text| !text.trim().is_empty())
    }
}

/// What becomes of a read.
#[derive(Clone, Debug)]
pub enum Reading<G> {
    /// The answer. It was recorded before it is given, and is relied on only after it was delivered.
    Answer(Box<Answer<G>>),
    /// The host answers it; nothing was recorded.
    NotOurs(NotOurs),
}

/// A result that was recorded and is on its way: to be handed back once it has reached the model. Without that it is never
/// relied on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// The session.
    pub session: SessionName,
    /// The entry that records the result.
    pub entry: EntryId,
    /// The log it stands in: another may have taken its name since.
    pub log: LogId,
}

/// What a write did.
#[derive(Clone, Debug)]
pub struct Written {
    /// What the model is to see: for an edit it states the lines it replaced, and is relied on only so.
    pub text: String,
    /// The file, by its name in the workspace.
    pub path: String,
    /// Its bytes now.
    pub bytes: u64,
    /// Its lines now.
    pub lines: u32,
    /// For an edit, the lines it replaced.
    pub hunks: Vec<Hunk>,
    /// What must be said beside it.
    pub notices: Vec<String>,
    /// To be handed back once the result has reached the model.
    pub receipt: Receipt,
}

/// What a refresh did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refreshed {
    /// Every name it applies to; none when nothing is ever held of such a file.
    pub paths: Vec<String>,
    /// The lines.
    pub scope: Scope,
    /// Whether there is a file of that name now.
    pub found: bool,
    /// The entry that records it, if it stands in a log of ours.
    pub entry: Option<EntryId>,
}

macro_rules! outcomes {
    ($($(#[$doc:meta])* $variant:ident($inner:ty),)*) => {
        /// What an operation gives.
        #[derive(Debug)]
        pub enum Outcome<G> {
            /// A read, or why the host answers it.
            Read(Reading<G>),
            /// One definition.
            Defined(Box<Defined<G>>),
            $($(#[$doc])* $variant($inner),)*
        }

        $(impl<G> TryFrom<Outcome<G>> for $inner {
            type Error = Error;

            fn try_from(outcome: Outcome<G>) -> Result<Self, Error> {
                if let Outcome::$variant(inner) = outcome { Ok(inner) } else { Err(Error::OtherOutcome) }
            }
        })*
    };
}

outcomes! {
    /// The first or last lines.
    EndOfFile(EndOfFile),
    /// What a path leads to.
    Stat(FileStat),
    /// Matching lines of one file.
    InFile(InFile),
    /// A search of the workspace.
    Searched(Searched),
    /// Definitions.
    Symbols(SymbolsFound),
    /// What a file defines.
    Outlined(Outlined),
    /// A diff.
    Compared(Compared),
    /// A write.
    Written(Written),
    /// A refresh.
    Refreshed(Refreshed),
    /// How things stand.
    Status(Status),
    /// The sessions there are.
    Sessions(Vec<SessionName>),
    /// The tree of one.
    Session(SessionView),
    /// Where a session goes on; the root if absent.
    Moved(Option<EntryId>),
    /// The session that was made.
    Forked(SessionName),
    /// The entry that was recorded.
    Recorded(EntryId),
    /// What was re-run.
    Replayed(Vec<Replayed>),
    /// What was removed, or would be.
    Collected(Collection),
    /// What was checked.
    Checked(Vec<Check>),
}

impl<G> Outcome<G> {
    /// The answer to a read.
    ///
    /// # Errors
    /// When it is another outcome, or the host answers the read.
    pub fn into_answer(self) -> Result<Answer<G>, Error> {
        match self.into_reading()? {
            Reading::Answer(answer) => Ok(*answer),
            Reading::NotOurs(_) => Err(Error::OtherOutcome),
        }
    }

    /// What became of a read.
    ///
    /// # Errors
    /// When it is another outcome.
    pub fn into_reading(self) -> Result<Reading<G>, Error> {
        if let Self::Read(reading) = self { Ok(reading) } else { Err(Error::OtherOutcome) }
    }

    /// The definition.
    ///
    /// # Errors
    /// When it is another outcome.
    pub fn into_defined(self) -> Result<Defined<G>, Error> {
        if let Self::Defined(defined) = self { Ok(*defined) } else { Err(Error::OtherOutcome) }
    }
}
