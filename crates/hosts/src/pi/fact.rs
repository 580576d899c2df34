//! What an entry says, without its texts: read from its line once, the same wherever in the tree it is asked about.

use readproof_core::{path::PathKey, scope::Scope};
use std::{borrow::Cow, sync::Arc};

use super::{
    Source,
    block::Visible,
    call::{Call, Tool, calls, programmed},
    id::Names,
    json::piece::{Piece, offset},
    line::{Line, Payload, ToolResult, parse},
    meta::{invalidation, meta},
    outcome::ReadResult,
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
    /// A program that read or changed these files printed what it likes.
    Program(Box<[PathKey]>),
    /// Fresh text was asked for.
    Refreshed(Box<(PathKey, Scope)>),
    /// What the model sees of another entry was changed.
    ContextEdit(Box<ContextEdit>),
}

/// Where a line stands, and in it what will be needed.
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
    /// The content of an assistant message.
    Calls(Span),
    /// A tool result. Its content is most of the line, and seldom needed.
    Result { tool: Tool, failed: bool, call: Span, content: Span, details: Option<Span> },
    /// All of it.
    Line,
}

impl Unread {
    /// A line that stands at some place in the file; its id, if it stands there without escapes.
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

    /// Looks at the line, of which `is_it` knows the id; `None` when it stands there no more.
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

/// Lines are far shorter than 4 GiB: the disk's cap on a file is below.
fn short<N: TryInto<u32>>(n: N) -> u32 {
    n.try_into().unwrap_or(u32::MAX)
}

/// Where the bytes that are looked at stand in the file.
struct Again<'a> {
    bytes: &'a [u8],
    at: u64,
    /// The content of a result, if it is none of these bytes.
    content: Option<Piece>,
}

impl Again<'_> {
    fn piece(&self, value: &[u8]) -> Piece {
        Piece::At { at: self.at + offset(self.bytes, value) as u64, len: short(value.len()) }
    }
}

/// With what lines are looked at.
pub(super) struct Look<'a> {
    pub(super) source: &'a dyn Source,
    pub(super) names: &'a mut Names,
}

/// The result of a call.
pub(super) struct Outcome {
    /// Which call.
    pub(super) call: Box<[u8]>,
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
    pub(super) target: Box<[u8]>,
    /// What is seen of it.
    pub(super) visible: Visible,
}

impl Look<'_> {
    /// What a line says that is seen now and never again.
    pub(super) fn now(self, payload: Payload<'_>) -> Fact {
        self.fact(payload, None)
    }

    /// What a payload says. `again` is where it stands in a file; without one, what can matter later is kept. A compaction
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
            Payload::Invalidation(data) => invalidation(data).map_or(Fact::Nothing, |asked| {
                Fact::Refreshed(Box::new((self.names.recorded(&asked.path_key), asked.scope)))
            }),
            Payload::ContextEdit { target, replacement } => {
                let visible = Visible::replaced(replacement);
                Fact::ContextEdit(Box::new(ContextEdit { target: target.into(), visible }))
            }
            Payload::Compaction | Payload::Nothing => Fact::Nothing,
        }
    }

    fn shows(self, result: &ToolResult<'_>, again: Option<Again<'_>>) -> Shows {
        match result.tool {
            Tool::Read if !result.failed => {}
            // It is called a failure, and shows text all the same.
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
    /// Whether it counts no longer once the model sees `visible` instead.
    pub(super) fn is_altered_by(&self, visible: Visible, source: &dyn Source) -> bool {
        match self {
            Self::Calls(_) | Self::Lost => true,
            Self::Result(outcome) => !outcome.read().is_some_and(|read| read.is_seen_as(visible, source)),
            Self::Unread(_) | Self::Nothing | Self::Program(_) | Self::Refreshed(_) | Self::ContextEdit(_) => false,
        }
    }
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
