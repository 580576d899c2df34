//! The requests and replies of the pi protocol. Field names are part of the contract.

use readproof_core::meta::VERSION;
use readproof_engine::{Answer, PiCut, PiGiven, PiMeta};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// The operation of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Op {
    Hello,
    Read,
    Refresh,
    Status,
    Moment,
    Rewind,
    Changes,
    Cancel,
}

/// One request line. Fields that an operation does not need are ignored.
#[derive(Debug, Deserialize)]
pub(super) struct Request<'a> {
    #[serde(default)]
    pub(super) id: u64,
    pub(super) op: Op,
    #[serde(borrow, default)]
    pub(super) header: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) entries: Vec<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) leaf: Option<Cow<'a, str>>,
    #[serde(default)]
    pub(super) distrusted: bool,
    #[serde(borrow, default)]
    pub(super) path: Cow<'a, str>,
    #[serde(default)]
    pub(super) offset: Option<u64>,
    #[serde(default)]
    pub(super) limit: Option<u64>,
    #[serde(default)]
    pub(super) fresh: bool,
    #[serde(borrow, default)]
    pub(super) moment: Option<Cow<'a, str>>,
    #[serde(rename = "dryRun", default)]
    pub(super) dry_run: bool,
    #[serde(default)]
    pub(super) agreed: bool,
}

/// The id in the header of a session.
pub(super) fn session_id(header: &RawValue) -> Option<String> {
    #[derive(Deserialize)]
    struct Header {
        id: String,
    }
    serde_json::from_str(header.get()).ok().map(|header: Header| header.id)
}

/// The id of the request that a line cancels.
pub(super) fn cancelled(line: &[u8]) -> Option<u64> {
    #[derive(Deserialize)]
    struct Cancel {
        op: Op,
        target: u64,
    }
    // Nearly every line is something else and may be long, so long lines are not parsed here.
    let short = line.len() < 256;
    let cancel: Cancel = short.then(|| serde_json::from_slice(line).ok()).flatten()?;
    (cancel.op == Op::Cancel).then_some(cancel.target)
}

/// The reply to a request.
#[derive(Serialize)]
pub(crate) struct Reply {
    pub(super) id: Option<u64>,
    pub(super) ok: bool,
    #[serde(flatten)]
    pub(super) body: Body,
}

/// The content of a reply.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum Body {
    Hello {
        protocol: u64,
        version: &'static str,
        workspace: String,
    },
    Read(Box<Block>),
    UsePiRead {
        own: String,
    },
    #[serde(rename_all = "camelCase")]
    Refreshed {
        path_keys: Vec<String>,
        scope_key: String,
        text: String,
    },
    Said {
        text: String,
    },
    Moment {
        #[serde(skip_serializing_if = "Option::is_none")]
        moment: Option<String>,
    },
    Rewound {
        changes: usize,
        stays: usize,
        files: Vec<String>,
        text: String,
    },
    Failed {
        code: &'static str,
        error: String,
    },
}

/// The answer to a read.
#[derive(Default, Serialize)]
pub(crate) struct Block {
    text: String,
    tail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    readcache: Option<Readcache>,
    #[serde(skip_serializing_if = "Option::is_none")]
    truncation: Option<Truncation>,
    notices: Vec<String>,
}

impl From<Answer<PiGiven>> for Block {
    fn from(answer: Answer<PiGiven>) -> Self {
        let readcache = answer.record().map(Readcache::from);
        let Answer { text, notices, given: PiGiven { tail, cut, .. }, .. } = answer;
        Self {
            text,
            tail,
            readcache,
            truncation: cut.map(Truncation::from),
            notices: readproof_words::notice::notices(&notices),
        }
    }
}

/// Metadata V1, and the fields by which a later replay checks the block.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Readcache {
    v: u64,
    path_key: String,
    scope_key: String,
    served_hash: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    base_hash: Option<String>,
    mode: &'static str,
    total_lines: u64,
    range_start: u64,
    range_end: u64,
    bytes: u64,
    text_sha: String,
    text_bytes: u64,
    total: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    lines: Option<[u32; 2]>,
    end: bool,
    plain_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    moment: Option<String>,
}

impl From<PiMeta> for Readcache {
    fn from(meta: PiMeta) -> Self {
        let PiMeta { v1, block, block_bytes, total, lines, end, plain_bytes, moment } = meta;
        Self {
            v: VERSION,
            path_key: v1.path_key,
            scope_key: v1.scope.to_string(),
            served_hash: v1.served.to_string(),
            base_hash: v1.base.map(|base| base.to_string()),
            mode: v1.mode.as_str(),
            total_lines: v1.total_lines,
            range_start: v1.range_start,
            range_end: v1.range_end,
            bytes: v1.bytes,
            text_sha: block.to_string(),
            text_bytes: block_bytes,
            total,
            lines: lines.map(|lines| [lines.first(), lines.last()]),
            end,
            plain_bytes,
            moment: moment.map(|moment| moment.to_string()),
        }
    }
}

/// pi's `truncation`, without the content.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Truncation {
    truncated: bool,
    truncated_by: &'static str,
    total_lines: u32,
    total_bytes: usize,
    output_lines: u32,
    output_bytes: usize,
    last_line_partial: bool,
    first_line_exceeds_limit: bool,
    max_lines: u32,
    max_bytes: u32,
}

impl From<PiCut> for Truncation {
    fn from(cut: PiCut) -> Self {
        Self {
            truncated: true,
            truncated_by: if cut.by_bytes { "bytes" } else { "lines" },
            total_lines: cut.lines,
            total_bytes: cut.bytes,
            output_lines: cut.shown_lines,
            output_bytes: cut.shown_bytes,
            last_line_partial: false,
            first_line_exceeds_limit: cut.long_line,
            max_lines: cut.limits.answer_lines,
            max_bytes: cut.limits.answer_bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_cancel_cancels() {
        assert_eq!(cancelled(br#"{"op":"cancel","target":7}"#), Some(7));
        assert_eq!(cancelled(br#"{"target":7,"op":"cancel","id":9}"#), Some(7));
        for other in [r#"{"op":"read","target":7}"#, r#"{"op":"cancel"}"#, r#"{"op":"cancel","target":-1}"#, "cancel"] {
            assert_eq!(cancelled(other.as_bytes()), None, "{other}");
        }
    }
}
