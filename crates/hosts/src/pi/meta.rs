//! What a read result and an invalidation say of themselves: metadata V1, and what our own surface adds to it. A field of
//! the wrong type makes all of it invalid.

use readproof_core::{
    meta::{InvalidationV1, MetaV1, RawInvalidation, RawMeta},
    scope::Lines,
    text::ContentHash,
};
use std::{borrow::Cow, collections::BTreeSet, str::FromStr};

use super::{
    block::Block,
    object::{fields, text},
};

/// Metadata of a read result.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Meta {
    /// V1.
    pub(super) v1: MetaV1,
    /// Our own fields: `None` for the older tool.
    pub(super) extras: Option<Extras>,
}

/// What our own surface records beside V1.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Extras {
    pub(super) block: Block,
    pub(super) total: u32,
    pub(super) lines: Option<Lines>,
    pub(super) end: bool,
}

/// A field that is absent, or null, is `Some(None)`; one of another type is `None`.
type Field<T> = Option<Option<T>>;

fn field<'a, T>(raw: Option<&'a str>, read: impl Fn(&'a str) -> Option<T>) -> Field<T> {
    match raw {
        None | Some("null") => Some(None),
        Some(raw) => read(raw).map(Some),
    }
}

/// A whole number as JSON has them, which is how Rust has them but for a sign.
fn number<T: FromStr>(raw: Option<&str>) -> Field<T> {
    field(raw, |raw| raw.parse().ok())
}

fn string(raw: Option<&str>) -> Field<Cow<'_, str>> {
    field(raw, text)
}

/// Metadata V1 with what our own surface adds; `None` when it is absent or not valid.
pub(super) fn meta(details: &str) -> Option<Meta> {
    const NAMES: [&str; 15] = [
        "v",
        "pathKey",
        "scopeKey",
        "servedHash",
        "baseHash",
        "mode",
        "totalLines",
        "rangeStart",
        "rangeEnd",
        "bytes",
        "textSha",
        "textBytes",
        "total",
        "lines",
        "end",
    ];
    let [readcache] = fields(details, &["readcache"])?;
    let [v, path, scope, served, base, mode, all, start, end, bytes, sha, text_bytes, total, lines, ends] =
        fields(readcache?, &NAMES)?;
    let (path, scope, served) = (string(path)?, string(scope)?, string(served)?);
    let (base, mode, sha) = (string(base)?, string(mode)?, string(sha)?);
    let v1 = RawMeta {
        v: number(v)?,
        path_key: path.as_deref(),
        scope_key: scope.as_deref(),
        served_hash: served.as_deref(),
        base_hash: base.as_deref(),
        mode: mode.as_deref(),
        total_lines: number(all)?,
        range_start: number(start)?,
        range_end: number(end)?,
        bytes: number(bytes)?,
    };
    let text_bytes = number(text_bytes)?;
    let (total, lines) = (number(total)?, field(lines, pair)?);
    let ends = field(ends, |raw| raw.parse::<bool>().ok())?;
    let extras = match sha {
        Some(sha) => Some(Extras {
            block: Block { sha: ContentHash::parse(&sha)?, bytes: text_bytes? },
            total: total?,
            lines: match lines {
                Some((first, last)) => Some(Lines::new(first, last)?),
                None => None,
            },
            end: ends?,
        }),
        None => None,
    };
    Some(Meta { v1: MetaV1::parse(&v1)?, extras })
}

/// Two numbers in an array.
fn pair(raw: &str) -> Option<(u32, u32)> {
    let (first, second) = raw.strip_prefix('[')?.strip_suffix(']')?.split_once(',')?;
    let number = |raw: &str| raw.trim_ascii().parse().ok();
    Some((number(first)?, number(second)?))
}

/// What an invalidation asks for; `None` when it is not valid.
pub(super) fn invalidation(data: &str) -> Option<InvalidationV1> {
    let [v, kind, path, scope, at] = fields(data, &["v", "kind", "pathKey", "scopeKey", "at"])?;
    let (kind, path, scope) = (string(kind)?, string(path)?, string(scope)?);
    InvalidationV1::parse(&RawInvalidation {
        v: number(v)?,
        kind: kind.as_deref(),
        path_key: path.as_deref(),
        scope_key: scope.as_deref(),
        at: number(at)?,
    })
}

/// The digits of a SHA-256.
const DIGITS: usize = 64;

/// Adds every SHA-256 that is spelled out in these bytes, understood or not: which texts a session may need as a base.
pub fn hashes(bytes: &[u8], into: &mut BTreeSet<ContentHash>) {
    for run in bytes.split(|byte| !byte.is_ascii_hexdigit()) {
        if run.len() == DIGITS {
            let digits = str::from_utf8(run).map(str::to_ascii_lowercase).unwrap_or_default();
            into.extend(ContentHash::parse(&digits));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_hashes_wherever_they_stand() {
        let (one, other) = (ContentHash::of(b"1"), ContentHash::of(b"2"));
        let text =
            format!("{{\"servedHash\":\"{one}\",no json sha256-{}.txt {one}0 {}", other, &other.to_string()[1..]);
        let mut found = BTreeSet::new();
        hashes(text.as_bytes(), &mut found);
        assert_eq!(found, [one, other].into());
        hashes(ContentHash::of(b"3").to_string().to_uppercase().as_bytes(), &mut found);
        assert_eq!(found.len(), 3);
    }
}
