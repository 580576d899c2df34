//! Encoded operations, as `readproof query` and the query log have them. Input: a JSON object with `op`, perhaps `v`, and fields.

use readproof_hosts::calls::{decoded, encoded, texts_apart, texts_back};
use readproof_testkit::op::Random;
use serde_json::{Map, Value};

use super::{Seen, Target};

pub(super) const TARGET: Target = Target {
    name: "operation",
    accepts: "it is an operation",
    check,
    start,
    words: &[
        "\"op\":",
        "\"path\":",
        "\"read\"",
        "\"write\"",
        "\"edits\":[",
        "\"old\":",
        "\"new\":",
        "\"all\":true",
        "\"v\":1",
        "{}",
        "[]",
        "null",
        "18446744073709551615",
        "-1",
        "1.5",
        "\"start_line\":",
        "\"end_line\":",
        "\"of\":",
        "\"snapshot\":",
        "\"query\":",
    ],
    most: 512,
};

const STARTS: [&str; 8] = [
    r#"{"op":"read","path":"a","offset":3,"limit":4,"max_lines":9,"max_chars":99}"#,
    r#"{"op":"read","path":"a","start_line":3,"end_line":4,"context_lines":2}"#,
    r#"{"op":"search","query":"x","mode":"regex","case":"smart","glob":"*.rs","limit":3}"#,
    r#"{"op":"write","path":"a","edits":[{"old":"a","new":"b","after":["c"],"line":4,"shape":"hunk"}]}"#,
    r#"{"op":"rewind","to":"v3","paths":["a","b"],"dry_run":true}"#,
    r#"{"op":"write","path":"a","old":"x","new":"y","all":true,"over_anything":true}"#,
    r#"{"op":"list_files","globs":["a,b"],"tags":["source"]}"#,
    r#"{"op":"check_policy","path":"a","act":"read","as":"mcp","as_agent":"x"}"#,
];

fn start(random: &mut Random) -> Vec<u8> {
    STARTS[random.below(STARTS.len())].as_bytes().to_vec()
}

fn check(input: &[u8]) -> Seen {
    let refused = Seen { accepted: false, kind: 0 };
    let Ok(mut args) = serde_json::from_slice::<Map<String, Value>>(input) else { return refused };
    let version = args.remove("v").and_then(|v| v.as_u64()).unwrap_or(1);
    let Some(Value::String(name)) = args.remove("op") else { return Seen { accepted: false, kind: 1 } };
    let Ok(operation) = decoded(version, &name, &args) else { return Seen { accepted: false, kind: 2 } };
    assert_eq!(operation.name(), name);
    let whole = encoded(&operation);
    assert_eq!(decoded(version, &name, &whole).as_ref(), Ok(&operation), "what is encoded means the same");
    let (mut apart, mut texts) = (whole.clone(), Vec::new());
    texts_apart(&mut apart, &mut texts);
    let found = texts_back(&mut apart, &mut |hash| {
        let is_it = |text: &&String| readproof_core::text::ContentHash::of(text.as_bytes()) == hash;
        texts.iter().find(is_it).cloned().ok_or(())
    });
    assert!(found.is_ok(), "every text that was taken out can be put back");
    assert_eq!(apart, whole);
    let kind = 3 + whole.len() as u64 + 16 * u64::from(name.as_bytes()[0]);
    Seen { accepted: true, kind }
}
