//! One line of a session file: the kind and the place of its entry. Only the fields that the kind needs are looked at,
//! and one of the wrong type is ignored rather than failing the line.

use std::borrow::Cow;

use super::call::Tool;
use crate::json::{bytes, number, scan::Scan, slow_fields, text};

/// The version of session files that is understood.
const VERSION: u64 = 3;

/// The `customType` of an invalidation.
const READCACHE: &[u8] = b"pi-readcache";

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    Header {
        /// The folder that relative names start from; `None` if the file has another version.
        cwd: Option<String>,
    },
    Entry {
        id: Cow<'a, [u8]>,
        parent: Option<Cow<'a, [u8]>>,
        payload: Payload<'a>,
    },
}

/// What an entry says, as far as it can matter, as raw JSON.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Payload<'a> {
    /// The content of an assistant message that may have tool calls we know.
    Assistant(&'a [u8]),
    Result(ToolResult<'a>),
    /// The calls that a program made. Its result may show anything they returned.
    Program(&'a [u8]),
    Compaction,
    /// Fresh text was asked for; the data says of what.
    Invalidation(&'a [u8]),
    /// What the model sees of an entry was changed.
    ContextEdit {
        target: Cow<'a, [u8]>,
    },
    /// Anything else: the entry only keeps its place in the tree.
    Nothing,
}

/// The result of a tool we know.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ToolResult<'a> {
    pub(super) call: Cow<'a, [u8]>,
    pub(super) tool: Tool,
    pub(super) failed: bool,
    pub(super) content: &'a [u8],
    pub(super) details: Option<&'a [u8]>,
}

/// A raw value of the line.
type Raw<'a> = Option<&'a [u8]>;

/// The fields of a line that can matter.
#[derive(Debug, Default, PartialEq, Eq)]
struct Fields<'a> {
    kind: Raw<'a>,
    id: Raw<'a>,
    parent_id: Raw<'a>,
    version: Raw<'a>,
    cwd: Raw<'a>,
    message: Option<Message<'a>>,
    custom_type: Raw<'a>,
    data: Raw<'a>,
    target_id: Raw<'a>,
}

/// The fields of a message that can matter.
#[derive(Debug, Default, PartialEq, Eq)]
struct Message<'a> {
    role: Raw<'a>,
    content: Raw<'a>,
    tool_call_id: Raw<'a>,
    tool_name: Raw<'a>,
    is_error: Raw<'a>,
    details: Raw<'a>,
    nested_calls: Raw<'a>,
    /// Whether the content can have a tool call we know.
    may_call: bool,
}

/// Parses a line; `None` if it is neither a header nor an entry.
pub(super) fn parse(line: &[u8]) -> Option<Line<'_>> {
    let mut fields = Fields::default();
    if scanned(line, &mut fields).is_none() {
        fields = loose(str::from_utf8(line).ok()?.as_bytes())?;
    }
    fields.line()
}

fn string(raw: Raw<'_>) -> Option<Cow<'_, [u8]>> {
    raw.and_then(bytes)
}

impl<'a> Fields<'a> {
    fn line(&self) -> Option<Line<'a>> {
        let payload = match string(self.kind)?.as_ref() {
            b"session" => {
                let known = self.version.and_then(number) == Some(VERSION);
                let cwd = self.cwd.and_then(text).filter(|cwd| known && cwd.starts_with('/'));
                return Some(Line::Header { cwd: cwd.map(Cow::into_owned) });
            }
            b"compaction" => Payload::Compaction,
            b"custom" if string(self.custom_type).as_deref() == Some(READCACHE) => {
                self.data.map_or(Payload::Nothing, Payload::Invalidation)
            }
            b"context_edit" => match string(self.target_id) {
                Some(target) => Payload::ContextEdit { target },
                None => Payload::Nothing,
            },
            b"message" => self.message.as_ref().and_then(Message::payload).unwrap_or(Payload::Nothing),
            _ => Payload::Nothing,
        };
        Some(Line::Entry { id: string(self.id)?, parent: parent(self.parent_id)?, payload })
    }
}

/// `Some(None)` without a parent: the root. `None` if it is not an id.
fn parent(raw: Raw<'_>) -> Option<Option<Cow<'_, [u8]>>> {
    match raw {
        None | Some(b"null") => Some(None),
        Some(raw) => bytes(raw).map(Some),
    }
}

impl<'a> Message<'a> {
    fn payload(&self) -> Option<Payload<'a>> {
        let content = self.content.filter(|content| *content != b"null");
        match string(self.role)?.as_ref() {
            b"assistant" => self.may_call.then_some(Payload::Assistant(content?)),
            b"toolResult" => {
                let known = string(self.tool_name).and_then(|name| Tool::parse(&name));
                match (self.nested_calls.filter(|nested| *nested != b"null"), known) {
                    (None, _) => {}
                    (Some(nested), None) => return Some(Payload::Program(nested)),
                    // It shows both its own file and whatever its program read, which cannot be told apart.
                    (Some(nested), Some(_)) => return Some(Payload::Program(&nested[..0])),
                }
                // Whatever it showed, a result came in. That counts even if its content was not kept.
                let content = content.or(self.role.map(|role| &role[..0]))?;
                let (call, tool) = (string(self.tool_call_id)?, Tool::parse(&string(self.tool_name)?)?);
                let failed = self.is_error != Some(b"false");
                Some(Payload::Result(ToolResult { call, tool, failed, content, details: self.details }))
            }
            _ => None,
        }
    }
}

/// The length of the longest word we look for with every letter escaped.
const ESCAPED_WORD: usize = 8 * 6;

/// The fields of a line as pi prints it; `None` decides nothing.
fn scanned<'a>(line: &'a [u8], fields: &mut Fields<'a>) -> Option<()> {
    let mut scan = Scan::new(line)?;
    if beginning(&mut scan, fields).is_none() {
        scan.again();
        *fields = Fields::default();
        scan.eat(b'{')?;
    }
    scan.fields(|scan, name| {
        let slot = match name {
            b"message" if fields.message.is_none() => {
                fields.message = Some(message(scan)?);
                return Some(());
            }
            b"message" => return None,
            b"type" => &mut fields.kind,
            b"id" => &mut fields.id,
            b"parentId" => &mut fields.parent_id,
            b"version" => &mut fields.version,
            b"cwd" => &mut fields.cwd,
            b"customType" => &mut fields.custom_type,
            b"data" => &mut fields.data,
            b"targetId" => &mut fields.target_id,
            _ => return scan.value(),
        };
        scan.field(slot)
    })?;
    scan.is_done().then_some(())
}

/// How pi begins the line of an entry, up to the next name. Any other order only costs a second pass.
fn beginning<'a>(scan: &mut Scan<'a>, fields: &mut Fields<'a>) -> Option<()> {
    scan.word("{\"type\":")?;
    scan.field(&mut fields.kind)?;
    scan.word(",\"id\":")?;
    scan.field(&mut fields.id)?;
    scan.word(",\"parentId\":")?;
    scan.field(&mut fields.parent_id)?;
    scan.word(",\"timestamp\":")?;
    scan.value()?;
    scan.eat(b',')
}

fn message<'a>(scan: &mut Scan<'a>) -> Option<Message<'a>> {
    let mut message = Message::default();
    scan.object(|scan, name| {
        let slot = match name {
            b"role" => &mut message.role,
            b"content" => {
                let (mut call, mut tool) = (false, false);
                scan.noted(&mut message.content, |text, escaped| match text {
                    b"toolCall" => call = true,
                    b"read" | b"edit" | b"write" => tool = true,
                    // With escapes it may be any word.
                    _ if escaped && text.len() <= ESCAPED_WORD && memchr::memmem::find(text, b"\\u").is_some() => {
                        (call, tool) = (true, true);
                    }
                    _ => {}
                })?;
                message.may_call = call && tool;
                return Some(());
            }
            b"toolCallId" => &mut message.tool_call_id,
            b"toolName" => &mut message.tool_name,
            b"isError" => &mut message.is_error,
            b"details" => &mut message.details,
            b"nestedCalls" => &mut message.nested_calls,
            _ => return scan.value(),
        };
        scan.field(slot)
    })?;
    Some(message)
}

/// The fields of any line that is one JSON object.
fn loose(line: &[u8]) -> Option<Fields<'_>> {
    const NAMES: [&str; 9] = ["type", "id", "parentId", "version", "cwd", "customType", "data", "targetId", "message"];
    let [kind, id, parent_id, version, cwd, custom_type, data, target_id, message] = slow_fields(line, &NAMES)?;
    let message = message.and_then(loose_message);
    Some(Fields { kind, id, parent_id, version, cwd, message, custom_type, data, target_id })
}

fn loose_message(message: &[u8]) -> Option<Message<'_>> {
    const NAMES: [&str; 7] = ["role", "content", "toolCallId", "toolName", "isError", "details", "nestedCalls"];
    let [role, content, tool_call_id, tool_name, is_error, details, nested_calls] = slow_fields(message, &NAMES)?;
    // A word may have escapes, though pi writes none.
    let holds = |content: &[u8], word: &[u8]| memchr::memmem::find(content, word).is_some();
    let may_call = content.is_some_and(|content| holds(content, b"\"toolCall\"") || holds(content, b"\\u"));
    Some(Message { role, content, tool_call_id, tool_name, is_error, details, nested_calls, may_call })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pi::{call::calls, id::Names, piece::Piece};
    use readproof_core::path::Bearings;
    use serde::Deserialize;
    use serde_json::value::RawValue;

    /// Lines of every kind, as pi prints them.
    const USUAL: &[&str] = &[
        r#"{"type":"session","version":3,"id":"0198","timestamp":"2026-11-01T00:00:00.000Z","cwd":"/w"}"#,
        r#"{"type":"message","id":"9a000001","parentId":null,"timestamp":"t","message":{"role":"user","content":[{"type":"text","text":"read é \"a\"\n"}],"timestamp":1793491200000}}"#,
        r#"{"type":"message","id":"9a000002","parentId":"9a000001","timestamp":"t","message":{"role":"assistant","content":[{"type":"thinking","thinking":"hm \u001b[0m"},{"type":"toolCall","id":"c1","name":"read","arguments":{"path":"a.txt","offset":-1.5e+3}}],"usage":{"input":0,"cost":{"total":0.012}},"stopReason":"toolUse"}}"#,
        r#"{"type":"message","id":"9a000003","parentId":"9a000002","timestamp":"t","message":{"role":"toolResult","toolCallId":"c1","toolName":"read","content":[{"type":"text","text":"a\n\tb \\ \/\n"}],"details":{"readcache":{"v":1,"lines":[1,2],"end":true}},"isError":false}}"#,
        r#"{"type":"message","id":"9a000004","parentId":"9a000003","timestamp":"t","message":{"role":"toolResult","toolCallId":"c2","toolName":"bash","content":[],"details":null,"isError":true}}"#,
        r#"{"type":"message","id":"9a00000b","parentId":"9a000004","timestamp":"t","message":{"role":"toolResult","toolCallId":"c2","toolName":"codemode","content":[],"nestedCalls":{"calls":[{"id":"c2/1","name":"read","arguments":{"path":"a"},"status":"ok"}],"complete":true},"isError":false}}"#,
        r#"{"type":"message","id":"9a000005","parentId":"9a000004","timestamp":"t","message":{"role":"assistant","content":[{"type":"toolCall","id":"c3","name":"bash","arguments":{"command":"read"}}]}}"#,
        r#"{"type":"compaction","id":"9a000006","parentId":"9a000005","timestamp":"t","summary":"s","details":{"readFiles":[]}}"#,
        r#"{"type":"custom","id":"9a000007","parentId":"9a000006","timestamp":"t","customType":"pi-readcache","data":{"v":1}}"#,
        r#"{"type":"context_edit","id":"9a000008","parentId":"9a000007","timestamp":"t","targetId":"9a000003","replacement":{"content":"x"}}"#,
        r#"{"message":{"content":"plain","role":"assistant"},"parentId":"9a000008","id":"9a000009","type":"message"}"#,
        r#"{"type":"label","id":"9a00000a","parentId":"9a000009","timestamp":"t","label":[[],{},[{"a":[true,false,null,-0,1E9]}]]}"#,
    ];

    /// The same fields by serde alone.
    fn reference(line: &[u8]) -> Option<Line<'_>> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Whole<'a> {
            #[serde(borrow, rename = "type")]
            kind: Option<&'a RawValue>,
            #[serde(borrow)]
            id: Option<&'a RawValue>,
            #[serde(borrow)]
            parent_id: Option<&'a RawValue>,
            #[serde(borrow)]
            version: Option<&'a RawValue>,
            #[serde(borrow)]
            cwd: Option<&'a RawValue>,
            #[serde(borrow)]
            message: Option<&'a RawValue>,
            #[serde(borrow)]
            custom_type: Option<&'a RawValue>,
            #[serde(borrow)]
            data: Option<&'a RawValue>,
            #[serde(borrow)]
            target_id: Option<&'a RawValue>,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Inside<'a> {
            #[serde(borrow)]
            role: Option<&'a RawValue>,
            #[serde(borrow)]
            content: Option<&'a RawValue>,
            #[serde(borrow)]
            tool_call_id: Option<&'a RawValue>,
            #[serde(borrow)]
            tool_name: Option<&'a RawValue>,
            #[serde(borrow)]
            is_error: Option<&'a RawValue>,
            #[serde(borrow)]
            details: Option<&'a RawValue>,
            #[serde(borrow)]
            nested_calls: Option<&'a RawValue>,
        }
        fn raw(value: Option<&RawValue>) -> Raw<'_> {
            value.map(|value| value.get().as_bytes())
        }
        fn inside(value: &RawValue) -> Option<Message<'_>> {
            let read: Option<Inside<'_>> = serde_json::from_str(value.get()).ok();
            read.filter(|_| value.get().starts_with('{')).map(|read| Message {
                role: raw(read.role),
                content: raw(read.content),
                tool_call_id: raw(read.tool_call_id),
                tool_name: raw(read.tool_name),
                is_error: raw(read.is_error),
                details: raw(read.details),
                nested_calls: raw(read.nested_calls),
                may_call: true,
            })
        }
        let text = str::from_utf8(line).ok().filter(|line| line.trim_start().starts_with('{'))?;
        let read: Whole<'_> = serde_json::from_str(text).ok()?;
        let fields = Fields {
            kind: raw(read.kind),
            id: raw(read.id),
            parent_id: raw(read.parent_id),
            version: raw(read.version),
            cwd: raw(read.cwd),
            message: read.message.and_then(inside),
            custom_type: raw(read.custom_type),
            data: raw(read.data),
            target_id: raw(read.target_id),
        };
        fields.line()
    }

    /// What a line amounts to: a message without calls we know says nothing, null data is no data, and null details are
    /// no details.
    fn settled(line: Option<Line<'_>>) -> Option<Line<'_>> {
        let mut names = Names::new(Bearings { cwd: "/w".into(), home: None });
        let mut none = |content: &[u8]| calls(content, &mut names, &|raw| Piece::Kept(raw.into())).is_empty();
        line.map(|line| match line {
            Line::Entry { id, parent, payload } => {
                let payload = match payload {
                    Payload::Assistant(content) if none(content) => Payload::Nothing,
                    Payload::Invalidation(b"null") => Payload::Nothing,
                    Payload::Result(result) => {
                        Payload::Result(ToolResult { details: result.details.filter(|raw| *raw != b"null"), ..result })
                    }
                    other @ (Payload::Assistant(_)
                    | Payload::Program(_)
                    | Payload::Compaction
                    | Payload::Invalidation(_)
                    | Payload::ContextEdit { .. }
                    | Payload::Nothing) => other,
                };
                Line::Entry { id, parent, payload }
            }
            header @ Line::Header { .. } => header,
        })
    }

    fn agrees(line: &[u8]) {
        assert_eq!(settled(parse(line)), settled(reference(line)), "{}", String::from_utf8_lossy(line));
    }

    struct Random(u64);

    impl Random {
        fn below(&mut self, n: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(self.0 >> 33).unwrap() % n.max(1)
        }

        /// A line, mostly with something wrong in it.
        fn harmed(&mut self) -> Vec<u8> {
            const BYTES: &[u8] = b"{}[]\",:\\u0dn \t\r\n-+.eE1tfx/\x00\x1f\x7f\x80\xc3\xa9\xff";
            let mut line = USUAL[self.below(USUAL.len())].as_bytes().to_vec();
            for _ in 0..=self.below(3) {
                let (at, to) = (self.below(line.len()), self.below(line.len()));
                let (from, end) = (at.min(to), at.max(to).min(at.min(to) + 40));
                let byte = BYTES[self.below(BYTES.len())];
                match self.below(8) {
                    0 if !line.is_empty() => line[at] = byte,
                    1 if !line.is_empty() => drop(line.remove(at)),
                    2 => line.insert(at, byte),
                    3 => drop(line.splice(at..at, line[from..end].to_vec())),
                    4 => drop(line.drain(from..end)),
                    5 => line.truncate(at),
                    6 => line.extend_from_slice(USUAL[self.below(USUAL.len())].as_bytes()),
                    // A field twice, or another field.
                    _ => {
                        let more = USUAL[self.below(USUAL.len())].as_bytes();
                        let cut = memchr::memchr_iter(b',', more).nth(self.below(6)).unwrap_or(1);
                        let place = memchr::memchr_iter(b',', &line).nth(self.below(6)).unwrap_or(0);
                        let piece: Vec<u8> = more[cut..].iter().take(self.below(60)).copied().collect();
                        line.splice(place..place, piece);
                    }
                }
            }
            line
        }
    }

    #[test]
    fn what_pi_prints_is_taken_at_the_first_look() {
        for line in USUAL {
            assert!(scanned(line.as_bytes(), &mut Fields::default()).is_some(), "{line}");
            agrees(line.as_bytes());
        }
    }

    #[test]
    fn odd_lines_mean_what_serde_makes_of_them() {
        for line in [
            r#" { "type" : "label" , "id" : "a" , "parentId" : null } "#,
            r#"{"type":"label","i\u0064":"a","id":"b"}"#,
            r#"{"type":"label","id":"a","id":"a"}"#,
            r#"{"type":"label","id":"a","x":1,"x":2}"#,
            r#"{"type":"message","id":"a","message":{"role":"user","role":"user","content":[]}}"#,
            r#"{"type":"message","id":"a","message":{"role":"assistant","content":null}}"#,
            r#"{"type":"message","id":"a","message":{"role":"toolResult","toolCallId":"c","toolName":"read","isError":false}}"#,
            r#"{"type":"message","id":"a","message":{"role":"toolResult","toolCallId":"c","toolName":"write","content":null}}"#,
            r#"{"type":"message","id":"a","message":null,"message":{}}"#,
            r#"{"type":"label","id":"\ud800","parentId":null}"#,
            r#"{"type":"label","id":"a","\ud800":1}"#,
            r#"{"type":"label","id":"a","x":"\ud800"}"#,
            r#"{"type":"label","id":"a","x":01}"#,
            r#"{"type":"label","id":"a","x":1.}"#,
            r#"{"type":"label","id":"a","x":-}"#,
            r#"{"type":"label","id":"a","x":1e400}"#,
            r#"{"type":"label","id":"a","x":"\q"}"#,
            r#"{"type":"label","id":"a","x":"\u12g4"}"#,
            r#"{"type":"label","id":"a",}"#,
            r#"{"type":"label","id":"a"}}"#,
            r#"{"type":"label","id":"a"}{"#,
            "{\"type\":\"label\",\"id\":\"a\",\"x\":\"\t\"}",
            "{\"type\":\"label\",\"id\":\"a\"}\r",
            "{}",
            "",
        ] {
            agrees(line.as_bytes());
        }
        let deep = |n: usize| format!(r#"{{"type":"label","id":"a","x":{}{}}}"#, "[".repeat(n), "]".repeat(n));
        for depth in [1, 59, 60, 61, 62, 100, 10_000] {
            agrees(deep(depth).as_bytes());
        }
    }

    #[test]
    fn harmed_lines_mean_what_serde_makes_of_them() {
        let (mut random, mut quick, mut entries) = (Random(1), 0, 0);
        for _ in 0..200_000 {
            let line = random.harmed();
            agrees(&line);
            quick += usize::from(scanned(&line, &mut Fields::default()).is_some());
            entries += usize::from(parse(&line).is_some());
        }
        assert!(quick > 15_000 && entries > 15_000, "{quick} and {entries}: few tell anything");
    }
}
