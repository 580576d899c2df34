//! One line of a session file: what kind of entry it is and where it stands. Fields are looked at only where their kind
//! needs them, and a field of the wrong type means nothing rather than failing the line.

use std::borrow::Cow;

use super::{
    call::Tool,
    object::{slow_fields, text},
    scan,
};

/// The version of session files that is understood.
const VERSION: u64 = 3;

/// The `customType` of an invalidation.
const READCACHE: &str = "pi-readcache";

/// One line.
#[derive(Debug, PartialEq, Eq)]
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

/// What an entry says, as far as it can matter, not yet looked into.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Payload<'a> {
    /// The content of an assistant message that may hold tool calls we know.
    Assistant(&'a str),
    /// The result of a tool call.
    Result(ToolResult<'a>),
    /// The barrier.
    Compaction,
    /// Fresh text was asked for: the data that says of what.
    Invalidation(&'a str),
    /// What the model sees of an entry was changed.
    ContextEdit {
        /// Which entry.
        target: Cow<'a, str>,
        /// What is seen instead.
        replacement: Option<&'a str>,
    },
    /// Anything else keeps its place in the tree.
    Nothing,
}

/// The result of one of the tools we know.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ToolResult<'a> {
    /// Which call.
    pub(super) call: Cow<'a, str>,
    /// Which tool.
    pub(super) tool: Tool,
    /// Whether the tool failed.
    pub(super) failed: bool,
    /// Its content.
    pub(super) content: &'a str,
    /// Its details.
    pub(super) details: Option<&'a str>,
}

/// A value as it stands in the line.
type Raw<'a> = Option<&'a str>;

/// The fields of a line that can matter.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Fields<'a> {
    pub(super) kind: Raw<'a>,
    pub(super) id: Raw<'a>,
    pub(super) parent_id: Raw<'a>,
    pub(super) version: Raw<'a>,
    pub(super) cwd: Raw<'a>,
    pub(super) message: Option<Message<'a>>,
    pub(super) custom_type: Raw<'a>,
    pub(super) data: Raw<'a>,
    pub(super) target_id: Raw<'a>,
    pub(super) replacement: Raw<'a>,
}

/// The fields of a message that can matter.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Message<'a> {
    pub(super) role: Raw<'a>,
    pub(super) content: Raw<'a>,
    pub(super) tool_call_id: Raw<'a>,
    pub(super) tool_name: Raw<'a>,
    pub(super) is_error: Raw<'a>,
    pub(super) details: Raw<'a>,
    /// Whether the content can hold a tool call we know.
    pub(super) may_call: bool,
}

/// Reads a line; `None` when it is neither a header nor an entry.
pub(super) fn parse(line: &str) -> Option<Line<'_>> {
    scan::line(line).or_else(|| loose(line))?.line()
}

fn string(raw: Raw<'_>) -> Option<Cow<'_, str>> {
    raw.and_then(text)
}

impl<'a> Fields<'a> {
    fn line(self) -> Option<Line<'a>> {
        let payload = match string(self.kind)?.as_ref() {
            "session" => {
                let known = self.version.and_then(|raw| raw.parse().ok()) == Some(VERSION);
                let cwd = string(self.cwd).filter(|cwd| known && cwd.starts_with('/'));
                return Some(Line::Header { cwd: cwd.map(Cow::into_owned) });
            }
            "compaction" => Payload::Compaction,
            "custom" if string(self.custom_type).as_deref() == Some(READCACHE) => {
                self.data.map_or(Payload::Nothing, Payload::Invalidation)
            }
            "context_edit" => match string(self.target_id) {
                Some(target) => Payload::ContextEdit { target, replacement: self.replacement },
                None => Payload::Nothing,
            },
            "message" => self.message.and_then(|message| message.payload()).unwrap_or(Payload::Nothing),
            _ => Payload::Nothing,
        };
        Some(Line::Entry { id: string(self.id)?, parent: parent(self.parent_id)?, payload })
    }
}

/// `None`: something that is no id. No parent at all is the root.
fn parent(raw: Raw<'_>) -> Option<Option<Cow<'_, str>>> {
    match raw {
        None | Some("null") => Some(None),
        Some(raw) => text(raw).map(Some),
    }
}

impl<'a> Message<'a> {
    fn payload(&self) -> Option<Payload<'a>> {
        let content = self.content.filter(|content| *content != "null")?;
        match string(self.role)?.as_ref() {
            "assistant" => self.may_call.then_some(Payload::Assistant(content)),
            "toolResult" => {
                let (call, tool) = (string(self.tool_call_id)?, Tool::parse(&string(self.tool_name)?)?);
                let failed = self.is_error != Some("false");
                Some(Payload::Result(ToolResult { call, tool, failed, content, details: self.details }))
            }
            _ => None,
        }
    }
}

/// The fields of any line that is one JSON object.
pub(super) fn loose(line: &str) -> Option<Fields<'_>> {
    const NAMES: [&str; 10] =
        ["type", "id", "parentId", "version", "cwd", "customType", "data", "targetId", "replacement", "message"];
    let [kind, id, parent_id, version, cwd, custom_type, data, target_id, replacement, message] =
        slow_fields(line, &NAMES)?;
    let message = message.and_then(loose_message);
    Some(Fields { kind, id, parent_id, version, cwd, message, custom_type, data, target_id, replacement })
}

fn loose_message(message: &str) -> Option<Message<'_>> {
    const NAMES: [&str; 6] = ["role", "content", "toolCallId", "toolName", "isError", "details"];
    let [role, content, tool_call_id, tool_name, is_error, details] = slow_fields(message, &NAMES)?;
    // A word may be spelt with escapes, though pi itself does not.
    let may_call = content.is_some_and(|content| content.contains("\"toolCall\"") || content.contains("\\u"));
    Some(Message { role, content, tool_call_id, tool_name, is_error, details, may_call })
}
