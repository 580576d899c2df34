//! Metadata V1 and the invalidation entry: which fields make them valid, and that what an answer writes is read back.
#![allow(clippy::unwrap_used)]

use readproof_core::{
    decide::{Ask, Decision, Mode, Reason},
    diff::unified,
    limits::Limits,
    meta::{InvalidationV1, MetaV1, RawInvalidation, RawMeta},
    render::{Shown, render},
    scope::{Lines, Scope},
    text::{ContentHash, Text},
};

const SERVED: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
const BASE: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// A valid record of a whole file.
const FULL: RawMeta<'static> = RawMeta {
    v: Some(1),
    path_key: Some("/w/a.txt"),
    scope_key: Some("full"),
    served_hash: Some(SERVED),
    base_hash: None,
    mode: Some("full"),
    total_lines: Some(5),
    range_start: Some(1),
    range_end: Some(5),
    bytes: Some(40),
};

/// The same of a range.
const RANGE: RawMeta<'static> = RawMeta { scope_key: Some("r:2:3"), range_start: Some(2), range_end: Some(3), ..FULL };

fn mode(raw: RawMeta<'static>, mode: &'static str, base: Option<&'static str>) -> RawMeta<'static> {
    RawMeta { mode: Some(mode), base_hash: base, ..raw }
}

fn refused(raw: &RawMeta<'_>) {
    assert_eq!(MetaV1::parse(raw), None, "{raw:?}");
}

#[test]
fn valid_records_are_read_whole() {
    let full = MetaV1 {
        path_key: "/w/a.txt".into(),
        scope: Scope::Full,
        served: ContentHash::parse(SERVED).unwrap(),
        base: None,
        mode: Mode::Full,
        total_lines: 5,
        range_start: 1,
        range_end: 5,
        bytes: 40,
    };
    let lines = Scope::Lines(Lines::new(2, 3).unwrap());
    let range = MetaV1 { scope: lines, range_start: 2, range_end: 3, ..full.clone() };
    let check = |raw: RawMeta<'static>, like: &MetaV1, mode: Mode| {
        let base = raw.base_hash.map(|hash| ContentHash::parse(hash).unwrap());
        assert_eq!(MetaV1::parse(&raw), Some(MetaV1 { base, mode, ..like.clone() }), "{raw:?}");
    };
    // A base is optional for plain text.
    for base in [None, Some(BASE)] {
        check(mode(FULL, "full", base), &full, Mode::Full);
        check(mode(RANGE, "full", base), &range, Mode::Full);
        check(mode(FULL, "baseline_fallback", base), &full, Mode::BaselineFallback);
        check(mode(RANGE, "baseline_fallback", base), &range, Mode::BaselineFallback);
    }
    check(mode(FULL, "unchanged", Some(SERVED)), &full, Mode::Unchanged);
    check(mode(FULL, "diff", Some(BASE)), &full, Mode::Diff);
    check(mode(RANGE, "unchanged_range", Some(SERVED)), &range, Mode::UnchangedRange);
    check(mode(RANGE, "unchanged_range", Some(BASE)), &range, Mode::UnchangedRange);
}

#[test]
fn every_field_but_the_base_is_required() {
    for raw in [FULL, RANGE, mode(FULL, "diff", Some(BASE)), mode(RANGE, "unchanged_range", Some(BASE))] {
        assert!(MetaV1::parse(&raw).is_some());
        refused(&RawMeta { v: None, ..raw.clone() });
        refused(&RawMeta { path_key: None, ..raw.clone() });
        refused(&RawMeta { scope_key: None, ..raw.clone() });
        refused(&RawMeta { served_hash: None, ..raw.clone() });
        refused(&RawMeta { mode: None, ..raw.clone() });
        refused(&RawMeta { total_lines: None, ..raw.clone() });
        refused(&RawMeta { range_start: None, ..raw.clone() });
        refused(&RawMeta { range_end: None, ..raw.clone() });
        refused(&RawMeta { bytes: None, ..raw });
    }
    refused(&RawMeta::default());
}

#[test]
fn a_derived_record_names_its_base() {
    for bad in [None, Some(""), Some("x"), Some(&BASE[1..])] {
        refused(&mode(FULL, "unchanged", bad));
        refused(&mode(FULL, "diff", bad));
        refused(&mode(RANGE, "unchanged_range", bad));
    }
}

#[test]
fn each_mode_has_its_scope() {
    refused(&mode(RANGE, "unchanged", Some(BASE)));
    refused(&mode(RANGE, "diff", Some(BASE)));
    refused(&mode(FULL, "unchanged_range", Some(BASE)));
    for word in ["", "Full", "full ", "partial", "full_fallback"] {
        refused(&mode(FULL, word, Some(BASE)));
    }
}

#[test]
fn values_that_mean_nothing() {
    for v in [0, 2, u64::MAX] {
        refused(&RawMeta { v: Some(v), ..FULL });
    }
    refused(&RawMeta { path_key: Some(""), ..FULL });
    let upper: &str = &SERVED.to_uppercase();
    let (longer, wide) = (format!("{SERVED}0"), format!("{}é", &SERVED[2..]));
    for hash in
        ["", "abc", &SERVED[1..], upper, &longer, &wide, &SERVED.replace('b', "g"), &format!(" {}", &SERVED[1..])]
    {
        refused(&RawMeta { served_hash: Some(hash), ..FULL });
        refused(&RawMeta { base_hash: Some(hash), ..FULL });
    }
    for key in ["", "Full", "r:", "r:2", "r:2:", "r:3:2", "r:0:3", "r:02:3", "r:2:3:4", "r:-2:3", "r:2:9999999999"] {
        refused(&RawMeta { scope_key: Some(key), ..RANGE });
    }
}

#[test]
fn a_range_is_the_one_its_key_names() {
    for (start, end) in [(1, 3), (2, 4), (3, 3), (2, 2), (3, 2), (0, 3), (1, 5)] {
        refused(&RawMeta { range_start: Some(start), range_end: Some(end), ..RANGE });
    }
    refused(&RawMeta { range_start: Some(0), ..FULL });
}

#[test]
fn invalidations() {
    let valid = RawInvalidation {
        v: Some(1),
        kind: Some("invalidate"),
        path_key: Some("/w/a.txt"),
        scope_key: Some("full"),
        at: Some(7),
    };
    let full = InvalidationV1 { path_key: "/w/a.txt".into(), scope: Scope::Full, at: 7 };
    assert_eq!(InvalidationV1::parse(&valid), Some(full.clone()));
    let raw = RawInvalidation { scope_key: Some("r:2:3"), ..valid.clone() };
    let range = InvalidationV1 { scope: Scope::Lines(Lines::new(2, 3).unwrap()), ..full };
    assert_eq!(InvalidationV1::parse(&raw), Some(range));
    for bad in [
        RawInvalidation { v: None, ..valid.clone() },
        RawInvalidation { v: Some(2), ..valid.clone() },
        RawInvalidation { kind: None, ..valid.clone() },
        RawInvalidation { kind: Some(""), ..valid.clone() },
        RawInvalidation { kind: Some("Invalidate"), ..valid.clone() },
        RawInvalidation { path_key: None, ..valid.clone() },
        RawInvalidation { path_key: Some(""), ..valid.clone() },
        RawInvalidation { scope_key: None, ..valid.clone() },
        RawInvalidation { scope_key: Some(""), ..valid.clone() },
        RawInvalidation { scope_key: Some("r:3:2"), ..valid.clone() },
        RawInvalidation { scope_key: Some("r:0:2"), ..valid.clone() },
        RawInvalidation { at: None, ..valid.clone() },
        RawInvalidation::default(),
    ] {
        assert_eq!(InvalidationV1::parse(&bad), None, "{bad:?}");
    }
}

/// The answer to a call about `now`, decided as told.
fn answer(mode: Mode, now: &str, offset: Option<u64>, limit: Option<u64>, limits: &Limits) -> Shown<'static> {
    let now: &'static Text = Box::leak(Box::new(Text::new(now.into())));
    let ask = Ask::new(now, offset, limit, limits).unwrap();
    let diff = (mode == Mode::Diff).then(|| unified(&Text::new("before\n".into()), now, "a"));
    let base = mode.is_derived().then(|| ContentHash::parse(BASE).unwrap());
    render(&Decision { mode, reason: Reason::NotHeld, base, diff, pieces: Vec::new() }, now, &ask)
}

/// As an edge would print it and read it again.
fn round_trip(meta: &MetaV1) -> Option<MetaV1> {
    let (scope, served, base) = (meta.scope.to_string(), meta.served.to_string(), meta.base.map(|b| b.to_string()));
    MetaV1::parse(&RawMeta {
        v: Some(1),
        path_key: Some(&meta.path_key),
        scope_key: Some(&scope),
        served_hash: Some(&served),
        base_hash: base.as_deref(),
        mode: Some(meta.mode.as_str()),
        total_lines: Some(meta.total_lines),
        range_start: Some(meta.range_start),
        range_end: Some(meta.range_end),
        bytes: Some(meta.bytes),
    })
}

#[test]
fn the_record_of_an_answer_is_read_back() {
    let (wide, narrow) = (Limits::default(), Limits { answer_lines: 2, ..Limits::default() });
    let five = "1\n2\n3\n4\n5\n";
    for (mode, now, offset, limit, limits, scope, range) in [
        (Mode::Full, five, None, None, &wide, "full", (1, 5)),
        (Mode::Full, five, Some(2), Some(2), &wide, "r:2:3", (2, 3)),
        (Mode::Full, five, Some(4), None, &wide, "r:4:5", (4, 5)),
        (Mode::Full, "", None, None, &wide, "full", (1, 0)),
        // Cut: the lines shown, never the scope asked for.
        (Mode::Full, five, None, None, &narrow, "r:1:2", (1, 2)),
        (Mode::BaselineFallback, five, Some(2), None, &narrow, "r:2:3", (2, 3)),
        (Mode::BaselineFallback, five, None, None, &wide, "full", (1, 5)),
        (Mode::Unchanged, five, None, None, &wide, "full", (1, 5)),
        (Mode::Unchanged, "", None, None, &wide, "full", (1, 0)),
        (Mode::UnchangedRange, five, None, None, &narrow, "r:1:2", (1, 2)),
        (Mode::UnchangedRange, five, Some(5), Some(1), &wide, "r:5:5", (5, 5)),
        (Mode::Diff, five, None, None, &wide, "full", (1, 5)),
        (Mode::Diff, five, None, None, &narrow, "full", (1, 5)),
    ] {
        let shown = answer(mode, now, offset, limit, limits);
        let meta = MetaV1::of(&shown, "/w/a.txt", now.len() as u64).unwrap();
        let expected = MetaV1 {
            path_key: "/w/a.txt".into(),
            scope: Scope::parse(scope).unwrap(),
            served: ContentHash::of(now.as_bytes()),
            base: mode.is_derived().then(|| ContentHash::parse(BASE).unwrap()),
            mode,
            total_lines: u64::from(Text::new(now.into()).total()),
            range_start: range.0,
            range_end: range.1,
            bytes: now.len() as u64,
        };
        assert_eq!(meta, expected);
        assert_eq!(round_trip(&meta), Some(meta));
    }
}

/// A reader of V1 takes mode `full` for text of which every line was shown.
#[test]
fn a_part_of_one_line_has_no_metadata() {
    let limits = Limits { answer_bytes: 4, ..Limits::default() };
    let meta = MetaV1::of(&answer(Mode::Full, "1234567\nb\n", None, None, &limits), "/w/a.txt", 10);
    assert_eq!(meta, None);
}

/// `full` spans the file exactly, and a range lies within it.
#[test]
fn a_scope_and_the_total_agree() {
    for (start, end) in [(2, 5), (1, 4), (1, 6), (3, 2)] {
        refused(&RawMeta { range_start: Some(start), range_end: Some(end), ..FULL });
    }
    let (scope_key, total_lines) = (Some("r:2:3"), Some(2));
    refused(&RawMeta { scope_key, total_lines, ..RANGE });
}
