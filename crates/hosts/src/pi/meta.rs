//! The metadata of read results and invalidations: V1, and what Readproof adds to it. A field of the wrong type makes
//! all of it invalid.

use readproof_core::{
    meta::{InvalidationV1, MetaV1, RawInvalidation, RawMeta, VERSION},
    scope::Lines,
    text::ContentHash,
};
use std::{borrow::Cow, collections::BTreeSet, str::FromStr};

use crate::json::{self, fields, fields_in, text};
use crate::{
    block::{Block, Sha},
    versions::Moment,
};

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Meta {
    pub(super) v1: MetaV1,
    /// What Readproof adds; `None` for results of the older tool.
    pub(super) extras: Option<Extras>,
    /// Every record of the version log up to this one was made before the file was looked at.
    pub(super) moment: Option<Moment>,
}

/// The fields that Readproof adds to V1.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Extras {
    pub(super) block: Block,
    pub(super) total: u32,
    pub(super) lines: Option<Lines>,
    pub(super) end: bool,
    pub(super) plain: Option<u64>,
}

/// `Some(None)` if the field is absent or null, `None` if it has another type.
type Field<T> = Option<Option<T>>;

fn field<'a, T>(raw: Option<&'a [u8]>, read: impl Fn(&'a [u8]) -> Option<T>) -> Field<T> {
    match raw {
        None | Some(b"null") => Some(None),
        Some(raw) => read(raw).map(Some),
    }
}

fn number<T: FromStr>(raw: Option<&[u8]>) -> Field<T> {
    field(raw, json::number)
}

fn string(raw: Option<&[u8]>) -> Field<Cow<'_, str>> {
    field(raw, text)
}

/// The metadata in `details`; `None` if it is absent or invalid.
pub(super) fn meta(details: &[u8]) -> Option<Meta> {
    const NAMES: [&str; 17] = [
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
        "plainBytes",
        "moment",
    ];
    let [
        v,
        path,
        scope,
        served,
        base,
        mode,
        all,
        start,
        end,
        bytes,
        sha,
        text_bytes,
        total,
        lines,
        ends,
        plain,
        moment,
    ] = fields_in(details, "readcache", &NAMES)?;
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
    let (ends, plain) = (field(ends, json::number::<bool>)?, number(plain)?);
    let extras = match sha {
        Some(sha) => Some(Extras {
            block: Block { sha: Sha(ContentHash::parse(&sha)?), bytes: text_bytes? },
            total: total?,
            lines: match lines {
                Some((first, last)) => Some(Lines::new(first, last)?),
                None => None,
            },
            end: ends?,
            plain,
        }),
        None => None,
    };
    // One that is not understood tells nothing, as if it were absent.
    let moment = string(moment)?.and_then(|moment| Moment::parse(&moment));
    Some(Meta { v1: MetaV1::parse(&v1)?, extras, moment })
}

/// The moment that an entry of ours notes; `None` if it is another kind of entry, or invalid.
pub(super) fn noted(data: &[u8]) -> Option<Moment> {
    let [v, kind, moment] = fields(data, &["v", "kind", "moment"])?;
    let (v, kind, moment) = (number(v)?, string(kind)?, string(moment)?);
    Moment::parse(&moment.filter(|_| v == Some(VERSION) && kind.as_deref() == Some("moment"))?)
}

/// Two numbers in an array.
fn pair(raw: &[u8]) -> Option<(u32, u32)> {
    let (first, second) = str::from_utf8(raw).ok()?.strip_prefix('[')?.strip_suffix(']')?.split_once(',')?;
    let number = |raw: &str| raw.trim_ascii().parse().ok();
    Some((number(first)?, number(second)?))
}

/// What an invalidation asks for; `None` if it is invalid.
pub(super) fn invalidation(data: &[u8]) -> Option<InvalidationV1> {
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

/// Hex digits of a SHA-256.
const DIGITS: usize = 64;

/// Adds every SHA-256 that is written out in these bytes, in whatever field: the texts that a session may need as a
/// base.
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
    use serde::Deserialize;

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

    #[test]
    fn a_moment_is_noted_by_an_entry_of_ours() {
        let check = |data: &str, noted_as: Option<(u64, u64)>| {
            let found = noted(data.as_bytes()).map(|moment| (moment.version.0, moment.log));
            assert_eq!(found, noted_as, "{data}");
        };
        check(r#"{"v":1,"kind":"moment","moment":"v7@00000000000000ff","at":5}"#, Some((7, 255)));
        check(r#"{"v":2,"kind":"moment","moment":"v7@00000000000000ff"}"#, None);
        check(r#"{"v":1,"kind":"invalidate","moment":"v7@00000000000000ff"}"#, None);
        check(r#"{"v":1,"kind":"moment","moment":"v7"}"#, None);
        check(r#"{"v":1,"kind":"moment","moment":"7@00000000000000ff"}"#, None);
        check(r#"{"v":1,"kind":"moment","moment":"v7@+0000000000000ff"}"#, None);
        check(r#"{"v":1,"kind":"moment"}"#, None);
        let moment = Moment { log: 255, version: crate::versions::VersionId(7) };
        assert_eq!(Moment::parse(&moment.to_string()), Some(moment));
    }

    /// The same by serde alone.
    fn reference(details: &str) -> Option<Meta> {
        #[derive(Deserialize)]
        struct Details {
            readcache: Option<Fields>,
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
            plain_bytes: Option<u64>,
            moment: Option<String>,
        }
        let Details { readcache } = serde_json::from_str(details).ok()?;
        let fields = readcache?;
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
        let block = |sha: &String| Some(Block { sha: Sha(ContentHash::parse(sha)?), bytes: fields.text_bytes? });
        let extras = |sha: &String| {
            let lines = fields.lines.map(|(first, last)| Lines::new(first, last).ok_or(())).transpose().ok()?;
            let plain = fields.plain_bytes;
            Some(Extras { block: block(sha)?, total: fields.total?, lines, end: fields.end?, plain })
        };
        let extras = fields.text_sha.as_ref().map(|sha| extras(sha).ok_or(())).transpose().ok()?;
        Some(Meta { v1, extras, moment: fields.moment.and_then(|moment| Moment::parse(&moment)) })
    }

    #[test]
    fn metadata_means_what_serde_makes_of_it() {
        let hash = ContentHash::of(b"");
        let whole = format!(
            r#"{{"readcache":{{"v":1,"pathKey":"/w/a","scopeKey":"full","servedHash":"{hash}","baseHash":null,"mode":"full","totalLines":4,"rangeStart":1,"rangeEnd":4,"bytes":6,"textSha":"{hash}","textBytes":6,"total":3,"lines":[1,3],"end":true,"plainBytes":6,"moment":"v12@00000000000000ff"}}}}"#
        );
        let check = |details: &str| {
            let meta = meta(details.as_bytes());
            assert_eq!(meta, reference(details), "{details}");
            usize::from(meta.is_some())
        };
        assert_eq!(check(&whole), 1);
        let values = [
            "null",
            "0",
            "-0",
            "1.0",
            "1e0",
            "4",
            "18446744073709551616",
            "4294967296",
            "\"4\"",
            "true",
            "false",
            "[1,3]",
            "[1]",
            "[1, 3 ]",
            "[1,3,4]",
            "[3,1]",
            "[1,\"3\"]",
            "[]",
            "{}",
            "\"\"",
            "\"r:1:3\"",
            "\"\\u0066ull\"",
            "\"diff\"",
            "\"v9@0123456789abcdeF\"",
            "\"v9@0123456789abcde\"",
        ];
        let mut valid = 0;
        let names = whole.match_indices("\":").skip(1).map(|(at, _)| at + 2);
        for at in names {
            let end = at + whole[at..].find([',', '}']).unwrap();
            for value in values {
                valid += check(&format!("{}{value}{}", &whole[..at], &whole[end..]));
                valid += check(&format!("{} {value} {}", &whole[..at], &whole[end..]));
            }
            valid += check(&format!("{}{}", &whole[..at], &whole[end..]));
        }
        assert!(valid > 30, "{valid} are valid");
        assert!(meta(whole.as_bytes()).is_some_and(|meta| meta.moment.is_some()));
        for odd in
            ["", "null", "{}", "[]", r#"{"readcache":null}"#, r#"{"readcache":{"v":1,"v":1}}"#, r#"{"readcache":7}"#]
        {
            check(odd);
        }
    }
}
