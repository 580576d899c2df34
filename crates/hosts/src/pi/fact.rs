//! What an entry says, without its texts: read from its line once, the same wherever in the tree it is asked about.

use readproof_core::{knowledge::Event, path::Bearings};

use super::{
    Source,
    block::{Visible, text_of},
    call::{Call, Tool, calls},
    id::recorded,
    line::{Payload, ToolResult},
    meta::{invalidation, meta},
    outcome::{Seen, Told},
};

/// What an entry says.
pub(super) enum Fact {
    /// Its line was not looked at yet: where that stands.
    Unread { at: u64, len: u32 },
    /// Nothing after all.
    Nothing,
    /// Its line cannot be had any more, so it may have said anything.
    Lost,
    /// An assistant message made these calls.
    Calls(Box<[Call]>),
    /// A call has its result.
    Result(Box<Outcome>),
    /// Fresh text was asked for.
    Refreshed(Box<Event>),
    /// What the model sees of another entry was changed.
    ContextEdit(Box<ContextEdit>),
}

/// The result of a call.
pub(super) struct Outcome {
    /// Which call.
    pub(super) call: Box<str>,
    /// Which tool gave it.
    pub(super) tool: Tool,
    /// Whether the tool failed.
    pub(super) failed: bool,
    /// What a read tells.
    pub(super) shows: Shows,
}

/// What the result of a read tells.
pub(super) enum Shows {
    /// It is no read, or failed.
    Nothing,
    /// Text of its call's file that cannot be placed.
    Unplaced,
    /// What the metadata says.
    Told(Box<Told>),
}

/// A context edit.
pub(super) struct ContextEdit {
    /// Which entry.
    pub(super) target: String,
    /// What is seen of it.
    pub(super) visible: Visible,
}

impl Fact {
    /// What a payload says. A compaction is none: it is known before its line is looked at.
    pub(super) fn of(payload: Payload<'_>, bearings: &Bearings, source: &dyn Source) -> Self {
        match payload {
            Payload::Assistant(content) => {
                let calls = calls(content, bearings);
                if calls.is_empty() { Self::Nothing } else { Self::Calls(calls.into()) }
            }
            Payload::Result(result) if result.call.contains('/') => Self::Nothing,
            Payload::Result(result) => {
                let shows = shows(&result, bearings, source);
                let ToolResult { call, tool, failed, .. } = result;
                Self::Result(Box::new(Outcome { call: call.into(), tool, failed, shows }))
            }
            Payload::Invalidation(data) => invalidation(data).map_or(Self::Nothing, |asked| {
                let paths = vec![recorded(&asked.path_key, bearings)];
                Self::Refreshed(Box::new(Event::Refreshed { paths, scope: asked.scope }))
            }),
            Payload::ContextEdit { target, replacement } => {
                let visible = Visible::replaced(replacement);
                Self::ContextEdit(Box::new(ContextEdit { target: target.into_owned(), visible }))
            }
            Payload::Compaction | Payload::Nothing => Self::Nothing,
        }
    }

    /// Whether it counts no longer once the model sees `visible` instead.
    pub(super) fn is_altered_by(&self, visible: Visible) -> bool {
        match self {
            Self::Calls(_) | Self::Lost => true,
            Self::Result(outcome) => outcome.told().and_then(|told| told.block).map(Visible::Text) != Some(visible),
            Self::Unread { .. } | Self::Nothing | Self::Refreshed(_) | Self::ContextEdit(_) => false,
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
    /// What its metadata says.
    pub(super) fn told(&self) -> Option<&Told> {
        match &self.shows {
            Shows::Told(told) => Some(told),
            Shows::Nothing | Shows::Unplaced => None,
        }
    }
}

fn shows(result: &ToolResult<'_>, bearings: &Bearings, source: &dyn Source) -> Shows {
    match result.tool {
        Tool::Read if !result.failed => {}
        Tool::Read | Tool::Write | Tool::Edit => return Shows::Nothing,
    }
    let Some(meta) = result.details.and_then(meta) else { return Shows::Unplaced };
    let path = recorded(&meta.v1.path_key, bearings);
    let told = match text_of(result.content) {
        Some(text) => Seen { path, meta: &meta, text: &text }.told(source),
        None => Told::void(path),
    };
    Shows::Told(Box::new(told))
}
