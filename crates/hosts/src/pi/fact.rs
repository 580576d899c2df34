//! What an entry says, without its texts: read from its line once, the same wherever in the tree it is asked about.

use readproof_core::{
    path::{Bearings, PathKey},
    scope::Scope,
};
use std::{borrow::Cow, sync::Arc};

use super::{
    Source,
    block::Visible,
    call::{Call, Tool, calls},
    id::recorded,
    line::{Payload, ToolResult},
    meta::{invalidation, meta},
    outcome::ReadResult,
    piece::{Piece, offset, text},
};

/// What an entry says.
pub(super) enum Fact {
    /// Its line was not looked at yet.
    Unread(Unread),
    /// Nothing after all.
    Nothing,
    /// Its line cannot be had any more, so it may have said anything.
    Lost,
    /// An assistant message made these calls.
    Calls(Box<[Arc<Call>]>),
    /// A call has its result.
    Result(Box<Outcome>),
    /// Fresh text was asked for.
    Refreshed(Box<(PathKey, Scope)>),
    /// What the model sees of another entry was changed.
    ContextEdit(Box<ContextEdit>),
}

/// Where a line stands.
#[derive(Clone, Copy)]
pub(super) struct Unread {
    at: u64,
    len: u32,
    /// Where in it a tool result's content begins and ends: most of the line, and seldom needed.
    content: (u32, u32),
}

impl Unread {
    /// A line that stands at some place in the file.
    pub(super) fn new(payload: &Payload<'_>, line: &str, at: u64) -> Self {
        let number = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
        let content = if let Payload::Result(result) = payload { result.content } else { "" };
        let start = if content.is_empty() { 0 } else { offset(line, content) };
        let content = (number(start), number(start + content.len() as u64));
        Self { at, len: number(line.len() as u64), content }
    }

    /// The line, with the content of a result left out.
    pub(super) fn line<'a>(&self, source: &'a dyn Source) -> Option<Cow<'a, str>> {
        let (start, end) = self.content;
        let part = |from: u32, to: u32| {
            let len = to.checked_sub(from)?;
            text(source.appended(self.at + u64::from(from), len as usize)?)
        };
        if start == end {
            return part(0, self.len);
        }
        Some(Cow::Owned([&part(0, start)?, "0", &part(end, self.len)?].concat()))
    }

    /// The content of a result.
    fn content(&self) -> Piece {
        let (start, end) = self.content;
        self.piece(u64::from(start), (end - start) as usize)
    }

    fn piece(&self, from: u64, len: usize) -> Piece {
        Piece::At { at: self.at + from, len: u32::try_from(len).unwrap_or(u32::MAX) }
    }
}

/// The result of a call.
pub(super) struct Outcome {
    /// Which call.
    pub(super) call: Box<str>,
    /// Which tool gave it.
    pub(super) tool: Tool,
    /// Whether the tool failed.
    pub(super) failed: bool,
    /// What a read shows.
    pub(super) shows: Shows,
}

/// What the result of a read shows.
pub(super) enum Shows {
    /// It is no read, or failed.
    Nothing,
    /// Text of its call's file that cannot be placed.
    Unplaced,
    /// What its metadata says.
    Recorded(Arc<ReadResult>),
}

/// A context edit.
pub(super) struct ContextEdit {
    /// Which entry.
    pub(super) target: String,
    /// What is seen of it.
    pub(super) visible: Visible,
}

impl Fact {
    /// What the payload of a line says. `again` is where the line stands in a file; without one, what can matter later is
    /// kept. A compaction says nothing here: it is known before its line is looked at.
    pub(super) fn of(payload: Payload<'_>, line: &str, again: Option<Unread>, at: &At<'_>) -> Self {
        match payload {
            Payload::Assistant(content) => {
                let piece = |value: &str| match again {
                    Some(unread) => unread.piece(offset(line, value), value.len()),
                    None => Piece::Kept(value.into()),
                };
                let calls = calls(content, at.bearings, &piece);
                if calls.is_empty() { Self::Nothing } else { Self::Calls(calls.into()) }
            }
            Payload::Result(result) if result.call.contains('/') => Self::Nothing,
            Payload::Result(result) => {
                let shows = shows(&result, again, at);
                let ToolResult { call, tool, failed, .. } = result;
                Self::Result(Box::new(Outcome { call: call.into(), tool, failed, shows }))
            }
            Payload::Invalidation(data) => invalidation(data).map_or(Self::Nothing, |asked| {
                Self::Refreshed(Box::new((recorded(&asked.path_key, at.bearings), asked.scope)))
            }),
            Payload::ContextEdit { target, replacement } => {
                let visible = Visible::replaced(replacement);
                Self::ContextEdit(Box::new(ContextEdit { target: target.into_owned(), visible }))
            }
            Payload::Compaction | Payload::Nothing => Self::Nothing,
        }
    }

    /// Whether it counts no longer once the model sees `visible` instead.
    pub(super) fn is_altered_by(&self, visible: Visible, source: &dyn Source) -> bool {
        match self {
            Self::Calls(_) | Self::Lost => true,
            Self::Result(outcome) => !outcome.read().is_some_and(|read| read.is_seen_as(visible, source)),
            Self::Unread(_) | Self::Nothing | Self::Refreshed(_) | Self::ContextEdit(_) => false,
        }
    }
}

/// What a line is looked at with.
pub(super) struct At<'a> {
    pub(super) bearings: &'a Bearings,
    pub(super) source: &'a dyn Source,
}

impl ContextEdit {
    /// The edit that a fact is.
    pub(super) fn from_fact(fact: &Fact) -> Option<&Self> {
        if let Fact::ContextEdit(edit) = fact { Some(edit) } else { None }
    }
}

impl Outcome {
    /// The read whose metadata this is.
    pub(super) fn read(&self) -> Option<&Arc<ReadResult>> {
        match &self.shows {
            Shows::Recorded(read) => Some(read),
            Shows::Nothing | Shows::Unplaced => None,
        }
    }
}

fn shows(result: &ToolResult<'_>, again: Option<Unread>, at: &At<'_>) -> Shows {
    match result.tool {
        Tool::Read if !result.failed => {}
        Tool::Read | Tool::Write | Tool::Edit => return Shows::Nothing,
    }
    let Some(meta) = result.details.and_then(meta) else { return Shows::Unplaced };
    let path = recorded(&meta.v1.path_key, at.bearings);
    Shows::Recorded(Arc::new(match again {
        Some(unread) => ReadResult::new(path, meta, unread.content()),
        None => ReadResult::judged(path, meta, result.content, at.source),
    }))
}
