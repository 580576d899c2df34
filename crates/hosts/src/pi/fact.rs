//! What an entry says, without its texts. Read from its line once, and the same wherever in the tree it is asked about.

use readproof_core::{path::PathKey, scope::Scope};
use std::{borrow::Cow, sync::Arc};

use super::{
    Source,
    call::{Call, Tool, calls, programmed},
    id::Names,
    line::{Line, Payload, ToolResult, parse},
    meta::{invalidation, meta, noted},
    outcome::ReadResult,
    piece::{Piece, offset},
};
use crate::versions::Moment;

pub(super) enum Fact {
    /// Its line was not looked at yet.
    Unread(Unread),
    /// Its line says nothing that matters.
    Nothing,
    /// Its line cannot be had any more, so it may have said anything.
    Lost,
    /// An assistant message made these calls.
    Calls(Box<[Arc<Call>]>),
    /// The result of a call.
    Result(Box<Outcome>),
    /// A program that read or changed these files may have printed any of them.
    Program(Box<[PathKey]>),
    /// Fresh text was asked for.
    Refreshed(Box<(PathKey, Scope)>),
    /// Every record of the version log up to this one was made before the entry.
    Noted(Moment),
    /// What the model sees of another entry was changed.
    ContextEdit(Box<ContextEdit>),
}

/// Where a line is in the file, and where in it the parts are that will be needed.
pub(super) struct Unread {
    at: u64,
    len: u32,
    id: Span,
    parts: Parts,
}

#[derive(Clone, Copy)]
struct Span {
    from: u32,
    len: u32,
}

#[derive(Clone, Copy)]
enum Parts {
    Calls(Span),
    /// A tool result. Its content is most of the line, and seldom needed.
    Result {
        tool: Tool,
        failed: bool,
        call: Span,
        content: Span,
        details: Option<Span>,
    },
    /// The whole line.
    Line,
}

impl Unread {
    /// A line at this offset in the file. `id` is its id as it stands in the line, if it has no escapes.
    pub(super) fn new(id: Option<&[u8]>, payload: &Payload<'_>, line: &[u8], at: u64) -> Self {
        let span = |part: &[u8]| Span { from: short(offset(line, part)), len: short(part.len()) };
        let Some(id) = id else {
            let nowhere = Span { from: 0, len: 0 };
            return Self { at, len: short(line.len()), id: nowhere, parts: Parts::Line };
        };
        let parts = match payload {
            Payload::Assistant(content) => Parts::Calls(span(content)),
            Payload::Result(ToolResult { call: Cow::Borrowed(call), tool, failed, content, details }) => {
                let details = details.map(span);
                Parts::Result { tool: *tool, failed: *failed, call: span(call), content: span(content), details }
            }
            Payload::Result(_)
            | Payload::Program(_)
            | Payload::Compaction
            | Payload::Invalidation(_)
            | Payload::ContextEdit { .. }
            | Payload::Nothing => Parts::Line,
        };
        Self { at, len: short(line.len()), id: span(id), parts }
    }

    /// Looks at the line. `is_it` checks its id; `None` if the line is no longer there.
    pub(super) fn read(&self, source: &dyn Source, names: &mut Names, is_it: impl Fn(&[u8]) -> bool) -> Option<Fact> {
        let part = |span: Span| source.appended(self.at + u64::from(span.from), span.len as usize);
        let again = |bytes, span: Span| Again { bytes, at: self.at + u64::from(span.from), content: None };
        if !matches!(self.parts, Parts::Line) && !is_it(&part(self.id)?) {
            return None;
        }
        let look = Look { source, names };
        match self.parts {
            Parts::Calls(span) => {
                let content = part(span)?;
                Some(look.fact(Payload::Assistant(&content), Some(again(&*content, span))))
            }
            Parts::Result { tool, failed, call, content, details } => {
                let details = match details {
                    Some(details) => Some(part(details)?),
                    None => None,
                };
                let content = Piece::At { at: self.at + u64::from(content.from), len: content.len };
                let again = Again { content: Some(content), ..again(&[][..], call) };
                let (call, details) = (part(call)?, details.as_deref());
                let result = ToolResult { call: Cow::Borrowed(&*call), tool, failed, content: &[], details };
                Some(look.fact(Payload::Result(result), Some(again)))
            }
            Parts::Line => {
                let span = Span { from: 0, len: self.len };
                let line = part(span)?;
                match parse(&line)? {
                    Line::Entry { id, payload, .. } if is_it(&id) => {
                        Some(look.fact(payload, Some(again(&*line, span))))
                    }
                    Line::Entry { .. } | Line::Header { .. } => None,
                }
            }
        }
    }
}

/// Lines are far shorter than 4 GiB, because the disk's limit on a file is below that.
fn short<N: TryInto<u32>>(n: N) -> u32 {
    n.try_into().unwrap_or(u32::MAX)
}

/// Where the bytes that are looked at are in the file.
struct Again<'a> {
    bytes: &'a [u8],
    at: u64,
    /// The content of a result, if it is not among these bytes.
    content: Option<Piece>,
}

impl Again<'_> {
    fn piece(&self, value: &[u8]) -> Piece {
        Piece::At { at: self.at + offset(self.bytes, value) as u64, len: short(value.len()) }
    }
}

/// What is needed to look at lines.
pub(super) struct Look<'a> {
    pub(super) source: &'a dyn Source,
    pub(super) names: &'a mut Names,
}

pub(super) struct Outcome {
    pub(super) call: Box<[u8]>,
    pub(super) tool: Tool,
    pub(super) failed: bool,
    /// For a read.
    pub(super) shows: Shows,
}

pub(super) enum Shows {
    /// It is not a read, or failed.
    Nothing,
    /// Text of the file of its call that cannot be placed.
    Unplaced,
    /// What its metadata tells.
    Recorded(Arc<ReadResult>),
}

pub(super) struct ContextEdit {
    pub(super) target: Box<[u8]>,
}

impl Look<'_> {
    /// For a line that can be seen only now.
    pub(super) fn now(self, payload: Payload<'_>) -> Fact {
        self.fact(payload, None)
    }

    /// What a payload says. `again` is where it is in a file; without one, what can matter later is kept. A compaction
    /// says nothing here: it is known before its line is looked at.
    fn fact(self, payload: Payload<'_>, again: Option<Again<'_>>) -> Fact {
        match payload {
            Payload::Assistant(content) => {
                let kept = |value: &[u8]| Piece::Kept(value.into());
                let piece = |value: &[u8]| again.as_ref().map_or_else(|| kept(value), |again| again.piece(value));
                let calls = calls(content, self.names, &piece);
                if calls.is_empty() { Fact::Nothing } else { Fact::Calls(calls.into()) }
            }
            Payload::Result(result) => {
                let shows = self.shows(&result, again);
                let ToolResult { call, tool, failed, .. } = result;
                Fact::Result(Box::new(Outcome { call: call.into(), tool, failed, shows }))
            }
            Payload::Program(nested) => {
                programmed(nested, self.names).map_or(Fact::Lost, |files| Fact::Program(files.into()))
            }
            Payload::Invalidation(data) => match invalidation(data) {
                Some(asked) => Fact::Refreshed(Box::new((self.names.recorded(&asked.path_key), asked.scope))),
                None => noted(data).map_or(Fact::Nothing, Fact::Noted),
            },
            Payload::ContextEdit { target } => Fact::ContextEdit(Box::new(ContextEdit { target: target.into() })),
            Payload::Compaction | Payload::Nothing => Fact::Nothing,
        }
    }

    fn shows(self, result: &ToolResult<'_>, again: Option<Again<'_>>) -> Shows {
        match result.tool {
            Tool::Read if !result.failed => {}
            // The result is marked as a failure and shows text all the same.
            Tool::Read if result.details.and_then(meta).is_some() => return Shows::Unplaced,
            Tool::Read | Tool::Write | Tool::Edit => return Shows::Nothing,
        }
        let Some(meta) = result.details.and_then(meta) else { return Shows::Unplaced };
        let path = self.names.recorded(&meta.v1.path_key);
        Shows::Recorded(Arc::new(match again {
            Some(again) => {
                let here = again.piece(result.content);
                ReadResult::new(path, meta, again.content.unwrap_or(here))
            }
            None => ReadResult::judged(path, meta, result.content, self.source),
        }))
    }
}

impl Fact {
    /// Whether it no longer counts once a context edit has it as its target. What the edit shows does not matter, not even if
    /// it is the same text: the extension watches only results that were never edited, so it would not be noticed that the
    /// model is not sent this one.
    pub(super) fn ends_with_an_edit(&self) -> bool {
        match self {
            Self::Calls(_) | Self::Lost | Self::Result(_) => true,
            Self::Unread(_)
            | Self::Nothing
            | Self::Program(_)
            | Self::Refreshed(_)
            | Self::Noted(_)
            | Self::ContextEdit(_) => false,
        }
    }
}

impl ContextEdit {
    pub(super) fn from_fact(fact: &Fact) -> Option<&Self> {
        if let Fact::ContextEdit(edit) = fact { Some(edit) } else { None }
    }
}

impl Outcome {
    /// The read, if its metadata is there.
    pub(super) fn read(&self) -> Option<&Arc<ReadResult>> {
        match &self.shows {
            Shows::Recorded(read) => Some(read),
            Shows::Nothing | Shows::Unplaced => None,
        }
    }
}
