//! What a read result and an invalidation say of themselves: metadata V1, and what our own surface adds to it.

use readproof_core::{
    meta::{InvalidationV1, MetaV1, RawInvalidation, RawMeta},
    scope::Lines,
    text::ContentHash,
};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::block::Block;

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

/// Metadata V1 with what our own surface adds; `None` when it is absent or not valid.
pub(super) fn meta(details: &str) -> Option<Meta> {
    #[derive(Deserialize)]
    struct Details<'a> {
        #[serde(borrow)]
        readcache: Option<&'a RawValue>,
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

/// What an invalidation asks for; `None` when it is not valid.
pub(super) fn invalidation(data: &str) -> Option<InvalidationV1> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Data {
        v: Option<u64>,
        kind: Option<String>,
        path_key: Option<String>,
        scope_key: Option<String>,
        at: Option<u64>,
    }
    let data: Data = serde_json::from_str(data).ok()?;
    InvalidationV1::parse(&RawInvalidation {
        v: data.v,
        kind: data.kind.as_deref(),
        path_key: data.path_key.as_deref(),
        scope_key: data.scope_key.as_deref(),
        at: data.at,
    })
}
