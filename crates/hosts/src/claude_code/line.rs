//! One line of a transcript: an entry of the conversation, or a part of the record of what was sent. Only the fields that the
//! kind needs are looked at; one of the wrong type is ignored rather than failing the line.

use readproof_core::text::ContentHash;
use std::borrow::Cow;

use crate::json::{fields, fields_of_each, number, text};

/// The id of an entry or of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Id([u8; 16]);

impl Id {
    /// A UUID as it is; anything else by its hash.
    pub(super) fn parse(name: &str) -> Self {
        Self(uuid(name).unwrap_or_else(|| {
            let hash = ContentHash::of(name.as_bytes());
            let mut id = [0; 16];
            id.copy_from_slice(&hash.as_bytes()[..16]);
            id
        }))
    }
}

fn uuid(name: &str) -> Option<[u8; 16]> {
    let bytes = name.as_bytes();
    if bytes.len() != 36 || [8, 13, 18, 23].iter().any(|at| bytes[*at] != b'-') {
        return None;
    }
    let mut digits = bytes.iter().filter(|byte| **byte != b'-').map(|byte| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    });
    let mut id = [0; 16];
    for byte in &mut id {
        *byte = digits.next()?? << 4 | digits.next()??;
    }
    digits.next().is_none().then_some(id)
}

/// What a line is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    Entry {
        uuid: Id,
        parent: Option<Id>,
        payload: Payload<'a>,
        /// When it was written, in milliseconds since 1970.
        time: Option<u64>,
    },
    /// A request that was sent.
    Request { id: Id, sent: Sent },
    /// A message of requests.
    Blob { hash: ContentHash, message: &'a [u8] },
    /// Anything else that is valid.
    Other,
}

/// What an entry says, as raw JSON.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Payload<'a> {
    Message {
        role: Role,
        /// The host joins lines of one message of the model by it.
        message: Option<Cow<'a, str>>,
        content: &'a [u8],
        /// The request that the model answered with it.
        request: Option<Id>,
        /// What the host itself knows of the result in it.
        result: Option<&'a [u8]>,
        /// Whether the service said that it left out more than the model's own thinking.
        cleared: bool,
    },
    /// Text that the host added to the conversation.
    Attachment {
        kind: Attachment,
        /// The file that it is about.
        name: Cow<'a, str>,
        raw: &'a [u8],
        rendered: &'a [u8],
    },
    /// A compaction, and the entries that it kept.
    Boundary { kept: Vec<Id> },
    /// It only keeps its place.
    Nothing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    User,
    Assistant,
}

impl Role {
    /// As raw JSON.
    pub(super) fn raw(self) -> &'static [u8] {
        match self {
            Self::User => b"\"user\"",
            Self::Assistant => b"\"assistant\"",
        }
    }
}

/// Attachments that show text of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Attachment {
    /// A file as a read of it would show it.
    File,
    /// What others changed of a file.
    Changed,
}

/// The messages of a request: the first ones of an earlier request, and then some more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sent {
    pub(super) base: Option<Id>,
    pub(super) keep: usize,
    pub(super) tail: Vec<ContentHash>,
    /// Whether the service was asked to leave out more than the model's own thinking.
    pub(super) edited: bool,
}

const NAMES: [&str; 19] = [
    "parentUuid",
    "type",
    "message",
    "requestRef",
    "uuid",
    "timestamp",
    "toolUseResult",
    "attachment",
    "rendered",
    "subtype",
    "compactMetadata",
    "id",
    "params",
    "base",
    "keep",
    "tail",
    "hash",
    "withheld",
    "cut",
];

/// Parses a line; `None` if it is not an object with a type.
pub(super) fn parse(line: &[u8]) -> Option<Line<'_>> {
    let [
        parent,
        kind,
        message,
        request,
        uuid,
        time,
        result,
        attachment,
        rendered,
        subtype,
        compact,
        id,
        params,
        base,
        keep,
        tail,
        hash,
        withheld,
        cut,
    ] = fields(line, &NAMES)?;
    let payload = match text(kind?)?.as_ref() {
        "user" => message.and_then(|raw| said(raw, Role::User, request, result)),
        "assistant" => message.and_then(|raw| said(raw, Role::Assistant, request, None)),
        "attachment" => attachment.and_then(|raw| attached(raw, rendered?)),
        "system" if subtype.and_then(text).as_deref() == Some("compact_boundary") => {
            Some(Payload::Boundary { kept: compact.map(kept).unwrap_or_default() })
        }
        "api-request" => {
            let sent = id_of(id).zip(sent(params, [withheld, cut], base, keep, tail));
            return Some(sent.map_or(Line::Other, |(id, sent)| Line::Request { id, sent }));
        }
        "api-request-blob" => {
            let hash = hash.and_then(text).and_then(|hash| ContentHash::parse(&hash));
            return Some(hash.zip(message).map_or(Line::Other, |(hash, message)| Line::Blob { hash, message }));
        }
        _ => None,
    };
    let Some(uuid) = id_of(uuid) else { return Some(Line::Other) };
    let time = time.and_then(text).and_then(|time| milliseconds(&time));
    Some(Line::Entry { uuid, parent: id_of(parent), payload: payload.unwrap_or(Payload::Nothing), time })
}

/// A time as the host prints it, `2026-11-18T10:13:08.430Z`.
fn milliseconds(time: &str) -> Option<u64> {
    let bytes = time.as_bytes();
    let shape = "dddd-dd-ddTdd:dd:dd.dddZ".bytes();
    let fits = |(byte, form): (&u8, u8)| if form == b'd' { byte.is_ascii_digit() } else { *byte == form };
    if bytes.len() != shape.len() || !bytes.iter().zip(shape).all(fits) {
        return None;
    }
    let part = |from: usize, to: usize| time.get(from..to).and_then(|digits| digits.parse::<u64>().ok());
    let (year, month, day) = (part(0, 4)?, part(5, 7)?, part(8, 10)?);
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Years begin in March here, so that the day of a leap year is the last one.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 1;
    let days = days.checked_sub(719_468)?;
    let seconds = ((days * 24 + part(11, 13)?) * 60 + part(14, 16)?) * 60 + part(17, 19)?;
    Some(seconds * 1000 + part(20, 23)?)
}

fn id_of(raw: Option<&[u8]>) -> Option<Id> {
    raw.and_then(text).map(|name| Id::parse(&name))
}

fn said<'a>(raw: &'a [u8], role: Role, request: Option<&[u8]>, result: Option<&'a [u8]>) -> Option<Payload<'a>> {
    let [said_role, message, content, management] = fields(raw, &["role", "id", "content", "context_management"])?;
    if said_role? != role.raw() {
        return None;
    }
    let (message, request) = (message.and_then(text), id_of(request));
    let cleared = !management.is_none_or(|management| only_thinking(management, "applied_edits"));
    Some(Payload::Message { role, message, content: content?, request, result, cleared })
}

fn attached<'a>(raw: &'a [u8], rendered: &'a [u8]) -> Option<Payload<'a>> {
    let [kind, name] = fields(raw, &["type", "filename"])?;
    let kind = match text(kind?)?.as_ref() {
        "file" => Attachment::File,
        "edited_text_file" => Attachment::Changed,
        _ => return None,
    };
    Some(Payload::Attachment { kind, name: text(name?)?, raw, rendered })
}

/// The entries that a compaction kept as they were.
fn kept(metadata: &[u8]) -> Vec<Id> {
    let lists = fields(metadata, &["preservedMessages"])
        .and_then(|[kept]| fields(kept?, &["uuids", "allUuids"]))
        .into_iter()
        .flatten()
        .flatten();
    let ids = lists.filter_map(|list| serde_json::from_slice::<Vec<String>>(list).ok()).flatten();
    ids.map(|id| Id::parse(&id)).collect()
}

fn sent(
    params: Option<&[u8]>,
    unsaid: [Option<&[u8]>; 2],
    base: Option<&[u8]>,
    keep: Option<&[u8]>,
    tail: Option<&[u8]>,
) -> Option<Sent> {
    let hashes: Vec<String> = serde_json::from_slice(tail?).ok()?;
    let tail = hashes.iter().map(|hash| ContentHash::parse(hash)).collect::<Option<_>>()?;
    let keep = keep.map_or(Some(0), number)?;
    // What was sent and not recorded may ask for anything.
    let all_recorded = unsaid.into_iter().flatten().all(|names| names == b"null" || names == b"[]");
    let edited = !all_recorded || !params.is_some_and(only_thinking_is_cleared);
    Some(Sent { base: id_of(base), keep, tail, edited })
}

/// Whether nothing but the model's own thinking is left out by the service.
fn only_thinking_is_cleared(params: &[u8]) -> bool {
    let Some([management]) = fields(params, &["context_management"]) else { return false };
    management.is_none_or(|management| only_thinking(management, "edits"))
}

/// Whether the edits that an object lists under this name are only about the model's own thinking.
fn only_thinking(management: &[u8], name: &str) -> bool {
    if management == b"null" {
        return true;
    }
    let Some([edits]) = fields(management, &[name]) else { return false };
    let Some(edits) = edits.filter(|raw| *raw != b"[]") else { return true };
    let is_thinking =
        |[kind]: &[Option<&[u8]>; 1]| kind.and_then(text).is_some_and(|kind| kind.starts_with("clear_thinking_"));
    fields_of_each(edits, &["type"]).is_some_and(|edits| edits.iter().all(is_thinking))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids() {
        assert_eq!(uuid("00000000-0000-0000-0000-00000000000f").map(|id| id[15]), Some(15));
        assert_eq!(uuid("00000000-0000-0000-0000-00000000000F"), None);
        assert_eq!(uuid("00000000-0000-0000-0000-0000000000000"), None);
        assert_ne!(Id::parse("a"), Id::parse("b"));
    }

    #[test]
    fn times() {
        assert_eq!(milliseconds("1970-01-01T00:00:00.001Z"), Some(1));
        assert_eq!(milliseconds("2026-11-18T10:13:08.430Z"), Some(1_794_996_788_430));
        assert_eq!(milliseconds("2024-02-29T23:59:59.999Z"), Some(1_709_251_199_999));
        assert_eq!(milliseconds("2026-11-18T10:13:08Z"), None);
        assert_eq!(milliseconds("1969-11-18T10:13:08.430Z"), None);
    }

    #[test]
    fn only_clearing_of_thinking_is_no_edit() {
        let edited = |params: &str| {
            let line = format!(r#"{{"type":"api-request","id":"r","params":{params},"keep":0,"tail":[]}}"#);
            match parse(line.as_bytes()) {
                Some(Line::Request { sent, .. }) => sent.edited,
                other => panic!("{other:?}"),
            }
        };
        assert!(!edited(r#"{"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]}}"#));
        assert!(!edited(r#"{"model":"m"}"#) && !edited(r#"{"context_management":null}"#));
        assert!(edited(r#"{"context_management":{"edits":[{"type":"clear_tool_uses_20250919"}]}}"#));
        assert!(edited(r#"{"context_management":{"edits":[{"type":"clear_thinking_20251015"},{}]}}"#));
        assert!(edited("7") && edited(r#"{"context_management":7}"#));
    }

    #[test]
    fn what_was_not_recorded_may_have_cleared_something() {
        let edited = |more: &str| {
            let line = format!(r#"{{"type":"api-request","id":"r","params":{{}},"keep":0,"tail":[]{more}}}"#);
            matches!(parse(line.as_bytes()), Some(Line::Request { sent: Sent { edited: true, .. }, .. }))
        };
        assert!(!edited("") && !edited(r#","withheld":[]"#) && !edited(r#","cut":null"#));
        for more in [r#","withheld":["context_management"]"#, r#","withheld":["metadata"]"#, r#","cut":["x"]"#] {
            assert!(edited(more), "{more}");
        }
        let cleared = |management: &str| {
            let line = format!(
                r#"{{"type":"assistant","uuid":"u","message":{{"role":"assistant","content":[],"context_management":{management}}}}}"#
            );
            matches!(parse(line.as_bytes()), Some(Line::Entry { payload: Payload::Message { cleared: true, .. }, .. }))
        };
        assert!(!cleared("null") && !cleared(r#"{"applied_edits":[]}"#));
        assert!(!cleared(r#"{"applied_edits":[{"type":"clear_thinking_20251015"}]}"#));
        assert!(cleared(r#"{"applied_edits":[{"type":"clear_tool_uses_20250919","cleared_tool_uses":2}]}"#));
        assert!(cleared("7"));
    }

    #[test]
    fn lines_of_every_kind() {
        fn kind(line: &str) -> Option<Line<'_>> {
            parse(line.as_bytes())
        }
        assert_eq!(kind("{}"), None);
        assert_eq!(kind(r#"{"type":"mode","mode":"normal"}"#), Some(Line::Other));
        let boundary = kind(
            r#"{"parentUuid":null,"type":"system","subtype":"compact_boundary","uuid":"b","compactMetadata":{"preservedMessages":{"uuids":["x"],"allUuids":["x","y"]}}}"#,
        );
        let kept = ["x", "x", "y"].map(Id::parse).to_vec();
        let payload = Payload::Boundary { kept };
        assert_eq!(boundary, Some(Line::Entry { uuid: Id::parse("b"), parent: None, payload, time: None }));
        let Some(Line::Entry { payload: Payload::Message { role, message, content, request, .. }, .. }) = kind(
            r#"{"parentUuid":"a","message":{"id":"m","role":"assistant","content":[{"type":"text","text":"t"}]},"requestRef":"r","type":"assistant","uuid":"u"}"#,
        ) else {
            panic!("no message")
        };
        assert_eq!((role, message.as_deref(), request), (Role::Assistant, Some("m"), Some(Id::parse("r"))));
        assert_eq!(content, br#"[{"type":"text","text":"t"}]"#);
        let blob = format!(r#"{{"type":"api-request-blob","hash":"{}","message":{{"role":"user"}}}}"#, "0".repeat(64));
        assert!(matches!(kind(&blob), Some(Line::Blob { message: br#"{"role":"user"}"#, .. })));
        assert_eq!(kind(r#"{"type":"api-request-blob","hash":"0","message":{}}"#), Some(Line::Other));
    }
}
