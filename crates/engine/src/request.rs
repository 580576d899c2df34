//! The one vocabulary: what can be asked and what comes back. Plain values, no wire format.

use readproof_core::{
    decide::{Mode, Reason},
    edit::Places,
    knowledge::Hunk,
    meta::MetaV1,
    pick::Pick,
    scope::{Lines, Scope},
};
use readproof_disk::{LogId, SessionName};
use readproof_hosts::session::EntryId;

/// Who gets the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Audience {
    /// The model itself sees the result.
    #[default]
    Model,
    /// A program between: it holds nothing, and what it gets the model may never see.
    Program,
}

/// Whether what is known may be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Freshness {
    /// The least text that is needed.
    #[default]
    Known,
    /// Plain text.
    Fresh,
}

/// How much of a text one answer shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Most {
    /// Lines.
    pub lines: u32,
    /// Characters.
    pub chars: u32,
}

/// One read.
#[derive(Clone, Debug, Default)]
pub struct Read {
    /// The path as written, perhaps with `:10-20` at its end.
    pub path: String,
    /// The first line.
    pub offset: Option<u64>,
    /// How many lines.
    pub limit: Option<u64>,
    /// Lines that are found by looking at the text, in place of both.
    pub pick: Pick,
    /// How much one answer shows, where that is not as the settings say.
    pub most: Option<Most>,
    /// Whose conversation this belongs to; none: plain text.
    pub session: Option<SessionName>,
    /// Whether knowledge may be used.
    pub freshness: Freshness,
    /// Who gets it.
    pub audience: Audience,
}

impl Read {
    /// The first line; where lines are picked a `:10-20` is no range but part of the name.
    pub(crate) fn first(&self) -> Option<u64> {
        if self.pick == Pick::Given { self.offset } else { Some(1) }
    }
}

/// What a read gives.
#[derive(Clone, Debug)]
pub struct Answer {
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
    /// What was settled.
    pub scope: Scope,
    /// The lines that a plain answer shows.
    pub lines: Option<Lines>,
    /// Whether call and answer together show where the file ends.
    pub end: bool,
    /// The line to go on with, where more was asked for than one answer holds.
    pub next: Option<u32>,
    /// Whether fewer lines were picked than were asked for.
    pub reduced: bool,
    /// Lines in the file.
    pub total_lines: u32,
    /// Bytes that a plain answer would have had.
    pub plain_bytes: u64,
    /// Metadata V1; none for a line shown in part, which no scope can say.
    pub meta: Option<MetaV1>,
    /// To be handed back once the answer has reached the model; without it the answer is never relied on.
    pub receipt: Option<Receipt>,
}

/// A result that was recorded and is on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// Whose.
    pub session: SessionName,
    /// Which.
    pub entry: EntryId,
    /// In which log: another may have taken its name since.
    pub log: LogId,
}

/// How an own write changes a file.
#[derive(Clone, Debug)]
pub enum Change {
    /// The whole content.
    Whole(String),
    /// Bytes that occur exactly once, or all that occur.
    Replace {
        /// The old ones.
        old: String,
        /// The new ones.
        new: String,
        /// Where.
        places: Places,
    },
}

/// An own write.
#[derive(Clone, Debug)]
pub struct Write {
    /// The path as written.
    pub path: String,
    /// Whose.
    pub session: SessionName,
    /// What.
    pub change: Change,
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
    /// To be handed back once the result has reached the model.
    pub receipt: Receipt,
}

/// What a refresh did.
#[derive(Clone, Debug)]
pub struct Refreshed {
    /// Every name it applies to.
    pub paths: Vec<String>,
    /// Which lines.
    pub scope: Scope,
    /// The entry that says so.
    pub entry: EntryId,
}
