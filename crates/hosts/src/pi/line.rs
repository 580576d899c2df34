//! One line of a session file: what kind of entry it is and where it stands. Fields are looked at only where their kind
//! needs them, and a field of the wrong type means nothing rather than failing the line.

use readproof_core::{
    meta::{InvalidationV1, MetaV1, RawInvalidation, RawMeta},
    scope::Lines,
    text::ContentHash,
};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

use super::block::{Block, Visible};

/// The version of session files that is understood.
const VERSION: u64 = 3;

/// The `customType` of an invalidation.
const READCACHE: &str = "pi-readcache";

/// How pi begins the line of a message; another order of fields only costs a second look.
const MESSAGE: &str = "{\"type\":\"message\"";

/// One line.
pub(super) enum Line<'a> {
    /// The header of a file.
    Header {
        /// Where relative names start; `None` when the file is of another version.
        cwd: Option<String>,
    },
    /// An entry of the tree.
    Entry {
        /// Its id.
        id: Cow<'a, str>,
        /// The entry before it.
        parent: Option<Cow<'a, str>>,
        /// What it says.
        payload: Payload<'a>,
    },
}

/// What an entry says, as far as it can matter.
pub(super) enum Payload<'a> {
    /// An assistant message that may hold tool calls we know.
    Assistant(&'a str),
    /// The result of a tool call.
    Result(ToolResult<'a>),
    /// The barrier.
    Compaction,
    /// Fresh text was asked for.
    Invalidation(InvalidationV1),
    /// What the model sees of an entry was changed.
    ContextEdit {
        /// Which entry.
        target: Cow<'a, str>,
        /// What is seen instead.
        visible: Visible,
    },
    /// Anything else keeps its place in the tree.
    Nothing,
}

/// A tool result of one of the tools we know.
pub(super) struct ToolResult<'a> {
    /// Which call.
    pub(super) call: Cow<'a, str>,
    /// Which tool.
    pub(super) tool: Cow<'a, str>,
    /// Whether the tool failed.
    pub(super) failed: bool,
    /// Its content.
    pub(super) content: &'a str,
    /// Its details.
    pub(super) details: Option<&'a str>,
}

/// Metadata of a read result.
pub(super) struct Meta {
    /// V1.
    pub(super) v1: MetaV1,
    /// Our own fields: `None` for the older tool.
    pub(super) extras: Option<Extras>,
}

/// What our own surface records beside V1.
pub(super) struct Extras {
    pub(super) block: Block,
    pub(super) total: u32,
    pub(super) lines: Option<Lines>,
    pub(super) end: bool,
}

type Raw<'a> = Option<&'a RawValue>;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Loose<'a> {
    #[serde(borrow, rename = "type")]
    kind: Raw<'a>,
    #[serde(borrow)]
    id: Raw<'a>,
    #[serde(borrow)]
    parent_id: Raw<'a>,
    #[serde(borrow)]
    version: Raw<'a>,
    #[serde(borrow)]
    cwd: Raw<'a>,
    #[serde(borrow)]
    message: Raw<'a>,
    #[serde(borrow)]
    custom_type: Raw<'a>,
    #[serde(borrow)]
    data: Raw<'a>,
    #[serde(borrow)]
    target_id: Raw<'a>,
    #[serde(borrow)]
    replacement: Raw<'a>,
}

/// The same with the message taken apart at once, so that most lines are gone through only once.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Typical<'a> {
    #[serde(borrow, rename = "type")]
    kind: Raw<'a>,
    #[serde(borrow)]
    id: Raw<'a>,
    #[serde(borrow)]
    parent_id: Raw<'a>,
    #[serde(borrow)]
    message: Message<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message<'a> {
    #[serde(borrow)]
    role: Raw<'a>,
    #[serde(borrow)]
    content: Raw<'a>,
    #[serde(borrow)]
    tool_call_id: Raw<'a>,
    #[serde(borrow)]
    tool_name: Raw<'a>,
    #[serde(borrow)]
    is_error: Raw<'a>,
    #[serde(borrow)]
    details: Raw<'a>,
}

/// A string, unescaped only if it must be.
pub(super) fn text(raw: &str) -> Option<Cow<'_, str>> {
    let inner = raw.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'))?;
    if inner.contains('\\') { serde_json::from_str(raw).ok().map(Cow::Owned) } else { Some(Cow::Borrowed(inner)) }
}

fn string<'a>(raw: Raw<'a>) -> Option<Cow<'a, str>> {
    raw.and_then(|raw| text(raw.get()))
}

/// Reads a line; `None` when it is neither a header nor an entry.
pub(super) fn parse(line: &str) -> Option<Line<'_>> {
    if line.starts_with(MESSAGE)
        && let Ok(Typical { kind, id, parent_id, message }) = serde_json::from_str(line)
        && string(kind).as_deref() == Some("message")
    {
        return Some(Line::Entry { id: string(id)?, parent: parent(parent_id)?, payload: message.payload() });
    }
    parse_loose(line)
}

fn parse_loose(line: &str) -> Option<Line<'_>> {
    let loose: Loose<'_> = serde_json::from_str(line).ok()?;
    let payload = match string(loose.kind)?.as_ref() {
        "session" => {
            let known = loose.version.and_then(|raw| raw.get().parse().ok()) == Some(VERSION);
            let cwd = string(loose.cwd).filter(|cwd| known && cwd.starts_with('/'));
            return Some(Line::Header { cwd: cwd.map(Cow::into_owned) });
        }
        "compaction" => Payload::Compaction,
        "custom" if string(loose.custom_type).as_deref() == Some(READCACHE) => {
            invalidation(loose.data).map_or(Payload::Nothing, Payload::Invalidation)
        }
        "context_edit" => match string(loose.target_id) {
            Some(target) => {
                Payload::ContextEdit { target, visible: Visible::replaced(loose.replacement.map(RawValue::get)) }
            }
            None => Payload::Nothing,
        },
        "message" => {
            let message: Option<Message<'_>> = loose.message.and_then(|raw| serde_json::from_str(raw.get()).ok());
            message.map_or(Payload::Nothing, |message| message.payload())
        }
        _ => Payload::Nothing,
    };
    Some(Line::Entry { id: string(loose.id)?, parent: parent(loose.parent_id)?, payload })
}

/// `None`: something that is no id. No parent at all is the root.
fn parent(raw: Raw<'_>) -> Option<Option<Cow<'_, str>>> {
    match raw {
        None => Some(None),
        Some(raw) if raw.get() == "null" => Some(None),
        raw => string(raw).map(Some),
    }
}

impl<'a> Message<'a> {
    fn payload(&self) -> Payload<'a> {
        let Some(content) = self.content.map(RawValue::get) else { return Payload::Nothing };
        match string(self.role).as_deref() {
            Some("assistant") => Payload::Assistant(content),
            Some("toolResult") => {
                let (Some(call), Some(tool)) = (string(self.tool_call_id), string(self.tool_name)) else {
                    return Payload::Nothing;
                };
                let failed = self.is_error.is_none_or(|raw| raw.get() != "false");
                Payload::Result(ToolResult { call, tool, failed, content, details: self.details.map(RawValue::get) })
            }
            Some(_) | None => Payload::Nothing,
        }
    }
}

fn invalidation(data: Raw<'_>) -> Option<InvalidationV1> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Data {
        v: Option<u64>,
        kind: Option<String>,
        path_key: Option<String>,
        scope_key: Option<String>,
        at: Option<u64>,
    }
    let data: Data = serde_json::from_str(data?.get()).ok()?;
    InvalidationV1::parse(&RawInvalidation {
        v: data.v,
        kind: data.kind.as_deref(),
        path_key: data.path_key.as_deref(),
        scope_key: data.scope_key.as_deref(),
        at: data.at,
    })
}

/// Metadata V1 with what our own surface adds; `None` when it is absent or not valid.
pub(super) fn meta(details: &str) -> Option<Meta> {
    #[derive(Deserialize)]
    struct Details<'a> {
        #[serde(borrow)]
        readcache: Raw<'a>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Fields {
        v: Option<u64>,
        path_key: Option<String>,
        scope_key: Option<String>,
        served_hash: Option<String>,
        base_hash: Option<String>,
        mode: Option<String>,
        total_lines: Option<u64>,
        range_start: Option<u64>,
        range_end: Option<u64>,
        bytes: Option<u64>,
        text_sha: Option<String>,
        text_bytes: Option<u64>,
        total: Option<u32>,
        lines: Option<(u32, u32)>,
        end: Option<bool>,
    }
    let Details { readcache } = serde_json::from_str(details).ok()?;
    let fields: Fields = serde_json::from_str(readcache?.get()).ok()?;
    let v1 = MetaV1::parse(&RawMeta {
        v: fields.v,
        path_key: fields.path_key.as_deref(),
        scope_key: fields.scope_key.as_deref(),
        served_hash: fields.served_hash.as_deref(),
        base_hash: fields.base_hash.as_deref(),
        mode: fields.mode.as_deref(),
        total_lines: fields.total_lines,
        range_start: fields.range_start,
        range_end: fields.range_end,
        bytes: fields.bytes,
    })?;
    let extras = match &fields.text_sha {
        Some(sha) => Some(Extras {
            block: Block { sha: ContentHash::parse(sha)?, bytes: fields.text_bytes? },
            total: fields.total?,
            lines: match fields.lines {
                Some((first, last)) => Some(Lines::new(first, last)?),
                None => None,
            },
            end: fields.end?,
        }),
        None => None,
    };
    Some(Meta { v1, extras })
}
