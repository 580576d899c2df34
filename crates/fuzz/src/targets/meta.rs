//! Metadata V1 and invalidations. Input: a JSON object with their fields, and with fields of an answer to be made (`text`,
//! `before`, `offset`, `limit`, `answerLines`, `answerBytes`), whose record must be parsed again.

use readproof_core::{
    decide::{Ask, Base, Mode, Reason, decide},
    diff::apply,
    limits::Limits,
    meta::{InvalidationV1, MetaV1, RawInvalidation, RawMeta},
    path::PathKey,
    render::{MARKER, Shown, render},
    scope::{Lines, Scope},
    text::{ContentHash, Text},
};
use readproof_testkit::op::Random;
use serde_json::{Value, json};

use super::{Seen, Target};

pub(super) const TARGET: Target = Target {
    name: "meta",
    accepts: "the fields are metadata V1 or an invalidation",
    check,
    start,
    words: &[
        "\"v\":1",
        "\"mode\":\"full\"",
        "\"mode\":\"diff\"",
        "\"mode\":\"unchanged\"",
        "\"mode\":\"unchanged_range\"",
        "\"mode\":\"baseline_fallback\"",
        "\"scopeKey\":\"full\"",
        "\"scopeKey\":\"r:2:3\"",
        "\"totalLines\":",
        "\"rangeStart\":",
        "\"rangeEnd\":",
        "\"bytes\":",
        "\"baseHash\":",
        "\"servedHash\":",
        "\"pathKey\":",
        "\"kind\":\"invalidate\"",
        "\"at\":1",
        "\"text\":\"a\\nb\\n\"",
        "\"before\":\"a\\nc\\n\"",
        "\"offset\":",
        "\"limit\":",
        "\"answerLines\":",
        "\"answerBytes\":",
        "null",
        ",",
        "{",
        "}",
        ":",
        "\\n",
        "\u{e9}",
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    ],
    most: 2048,
};

fn start(random: &mut Random) -> Vec<u8> {
    let total = 1 + random.below(9);
    let first = 1 + random.below(total);
    let last = first + random.below(total - first + 1);
    let mode = random.pick(&Mode::ALL).map_or("full", |mode| mode.as_str());
    let ranged = mode == "unchanged_range" || (!matches!(mode, "unchanged" | "diff") && random.below(2) == 0);
    let (first, last) = if ranged { (first, last) } else { (1, total) };
    let scope = if ranged { format!("r:{first}:{last}") } else { "full".to_owned() };
    let hash = |n: usize| ContentHash::of(&[b'0' + u8::try_from(n % 10).unwrap_or(0)]).to_string();
    let mut fields = json!({
        "v": 1, "pathKey": "/w/a", "scopeKey": scope, "servedHash": hash(random.below(3)), "mode": mode,
        "totalLines": total, "rangeStart": first, "rangeEnd": last, "bytes": random.below(99),
    });
    if mode != "full" || random.below(2) == 0 {
        fields["baseHash"] = json!(hash(random.below(3)));
    }
    if random.below(3) == 0 {
        fields["kind"] = json!("invalidate");
        fields["at"] = json!(random.below(99));
    }
    let text = |random: &mut Random| {
        let lines = ["a\n", "b\n", "\n", "\u{e9}\r\n", "[readcache: x]\n", "c"];
        (0..random.below(7)).map(|_| *random.pick(&lines).unwrap_or(&"")).collect::<String>()
    };
    fields["text"] = json!(text(random));
    for (name, most) in [("offset", 6), ("limit", 6), ("answerLines", 4), ("answerBytes", 40)] {
        if random.below(3) == 0 {
            fields[name] = json!(random.below(most));
        }
    }
    if random.below(2) == 0 {
        fields["before"] = json!(text(random));
    }
    fields.to_string().into_bytes()
}

fn check(input: &[u8]) -> Seen {
    let Ok(fields) = serde_json::from_slice::<Value>(input) else { return Seen { accepted: false, kind: 0 } };
    let raw = raw_meta(&fields);
    let meta = MetaV1::parse(&raw);
    if let Some(meta) = &meta {
        valid(meta);
        same_fields(meta, &raw);
    }
    let asked = invalidation(&fields);
    let shown = fields["text"].as_str().map_or(0, |text| answered(text, &fields));
    let mode = meta.as_ref().map_or(0, |meta| 1 + meta.mode as u64);
    let present = ["v", "pathKey", "scopeKey", "servedHash", "baseHash", "mode", "totalLines", "rangeStart", "bytes"];
    let present = present.iter().fold(0, |bits, name| bits << 1 | u64::from(!fields[*name].is_null()));
    let kind = present << 32 | shown << 8 | u64::from(asked) << 4 | mode;
    Seen { accepted: meta.is_some() || asked, kind }
}

fn raw_meta(fields: &Value) -> RawMeta<'_> {
    let (text, number) = (|name: &str| fields[name].as_str(), |name: &str| fields[name].as_u64());
    RawMeta {
        v: number("v"),
        path_key: text("pathKey"),
        scope_key: text("scopeKey"),
        served_hash: text("servedHash"),
        base_hash: text("baseHash"),
        mode: text("mode"),
        total_lines: number("totalLines"),
        range_start: number("rangeStart"),
        range_end: number("rangeEnd"),
        bytes: number("bytes"),
    }
}

/// What every reader of V1 may rely on.
fn valid(meta: &MetaV1) {
    assert!(!meta.path_key.is_empty());
    let range = (meta.range_start, meta.range_end);
    match meta.scope {
        Scope::Full => assert_eq!(range, (1, meta.total_lines)),
        Scope::Lines(lines) => {
            assert_eq!(range, (u64::from(lines.first()), u64::from(lines.last())));
            assert!(meta.range_end <= meta.total_lines);
        }
    }
    assert!(!meta.mode.is_derived() || meta.base.is_some(), "a derived answer names its base");
    match meta.mode {
        Mode::Unchanged | Mode::Diff => assert_eq!(meta.scope, Scope::Full),
        Mode::UnchangedRange => assert_ne!(meta.scope, Scope::Full),
        Mode::Partial => panic!("no metadata has this mode"),
        Mode::Full | Mode::BaselineFallback => {}
    }
}

/// Printed and parsed again, the fields are the same.
fn same_fields(meta: &MetaV1, raw: &RawMeta<'_>) {
    let (scope, served, base) =
        (meta.scope.to_string(), meta.served.to_string(), meta.base.map(|base| base.to_string()));
    let printed = RawMeta {
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
    };
    assert_eq!(format!("{printed:?}"), format!("{raw:?}"));
    assert_eq!(MetaV1::parse(&printed).as_ref(), Some(meta));
}

fn invalidation(fields: &Value) -> bool {
    let text = |name: &str| fields[name].as_str();
    let raw = RawInvalidation {
        v: fields["v"].as_u64(),
        kind: text("kind"),
        path_key: text("pathKey"),
        scope_key: text("scopeKey"),
        at: fields["at"].as_u64(),
    };
    let Some(asked) = InvalidationV1::parse(&raw) else { return false };
    let scope = asked.scope.to_string();
    assert_eq!(raw.scope_key, Some(scope.as_str()));
    assert_eq!((raw.path_key, raw.at), (Some(asked.path_key.as_str()), Some(asked.at)));
    assert_eq!((raw.v, raw.kind), (Some(1), Some("invalidate")));
    true
}

/// Makes an answer and parses its record again.
fn answered(text: &str, fields: &Value) -> u64 {
    let number = |name: &str| fields[name].as_u64();
    let small = |name: &str, otherwise: u32| number(name).map_or(otherwise, |n| u32::try_from(n).unwrap_or(u32::MAX));
    let standard = Limits::default();
    let limits = Limits {
        answer_lines: small("answerLines", standard.answer_lines),
        answer_bytes: small("answerBytes", standard.answer_bytes),
        ..standard
    };
    let (now, path) = (Text::new(text.to_owned()), PathKey::new("a"));
    let Ok(ask) = Ask::new(&now, number("offset"), number("limit"), &limits) else { return 1 };
    let before = fields["before"].as_str().map(|before| Text::new(before.to_owned()));
    let mut kinds = 0;
    let whole = before.as_ref().map(|text| Base::Other { text, whole: true });
    let partly = before.as_ref().map(|text| Base::Other { text, whole: false });
    let missing = before.as_ref().map(|text| Base::Missing(text.hash()));
    // A line shown in part is never held: see `choose_base`.
    let same = ask.window.part().is_none().then_some(Base::Same);
    for base in [Some(Base::None(Reason::NotHeld)), same, whole, partly, missing].into_iter().flatten() {
        let shown = render(&decide(&now, &path, &ask, base, &limits), &now, &ask);
        says_what_is_there(&shown, &now, before.as_ref());
        if let Some(meta) = MetaV1::of(&shown, "/w/a", text.len() as u64) {
            valid(&meta);
            let fields = printed(&meta);
            assert_eq!(MetaV1::parse(&raw_meta(&fields)), Some(meta));
        } else {
            assert!(shown.window().part().is_some());
        }
        kinds |= 2 << (shown.mode() as u64);
    }
    kinds | u64::from(ask.window.part().is_some()) << 8 | u64::from(ask.window.next().is_some()) << 9
}

fn printed(meta: &MetaV1) -> Value {
    let mut fields = json!({
        "v": 1, "pathKey": meta.path_key, "scopeKey": meta.scope.to_string(), "servedHash": meta.served.to_string(),
        "mode": meta.mode.as_str(), "totalLines": meta.total_lines, "rangeStart": meta.range_start,
        "rangeEnd": meta.range_end, "bytes": meta.bytes,
    });
    if let Some(base) = meta.base {
        fields["baseHash"] = json!(base.to_string());
    }
    fields
}

/// The text of an answer is the file's own bytes, a correct marker, or a diff that leads to them.
fn says_what_is_there(shown: &Shown, now: &Text, before: Option<&Text>) {
    let window = shown.window();
    let whole = |lines: Option<Lines>| lines.map_or("", |lines| now.slice(lines));
    match shown.mode() {
        Mode::Full | Mode::BaselineFallback => match window.part() {
            None => assert_eq!(shown.text(), whole(window.lines())),
            Some(part) => assert!(now.line(part.line).starts_with(shown.text()) && shown.text().len() == part.shown),
        },
        Mode::Unchanged | Mode::UnchangedRange => {
            assert!(shown.text().starts_with(MARKER));
            if let (true, Some(before)) = (shown.base() != Some(now.hash()), before) {
                let lines = window.lines();
                assert_eq!(lines.map(|lines| before.slice(lines)), lines.map(|lines| now.slice(lines)));
            }
        }
        Mode::Partial => panic!("nothing was named"),
        Mode::Diff => {
            let body = shown.text().split_once('\n').map(|(_, body)| body);
            let led = body.zip(before).and_then(|(body, before)| apply(body, before).ok());
            assert_eq!(led.as_deref(), Some(now.as_str()));
        }
    }
}
