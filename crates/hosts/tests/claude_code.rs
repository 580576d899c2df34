//! Recorded sessions of the real Claude Code, trimmed: what is held at each call, worked out from its own record of what it sent.
#![allow(clippy::unwrap_used, reason = "tests and their helpers")]

use readproof_core::{knowledge::Held, limits::Answers};
use readproof_hosts::claude_code::{Distrust, Source, Transcript};

const BASIC: &[u8] = include_bytes!("claude_code/basic.jsonl");
const EDITS: &[u8] = include_bytes!("claude_code/edits.jsonl");
const COMPACT: &[u8] = include_bytes!("claude_code/compact.jsonl");
const ALTERED: &[u8] = include_bytes!("claude_code/hook_alters.jsonl");
const EDITS_ALTERED: &[u8] = include_bytes!("claude_code/hook_input.jsonl");
const MARKERS: &[u8] = include_bytes!("claude_code/hook_marker.jsonl");
const PARALLEL: &[u8] = include_bytes!("claude_code/parallel.jsonl");
const RESUMED: &[u8] = include_bytes!("claude_code/resume1.jsonl");
const FORKED: &[u8] = include_bytes!("claude_code/resume2.jsonl");
const REWOUND: &[u8] = include_bytes!("claude_code/rewind.jsonl");
const AGENT: &[u8] = include_bytes!("claude_code/subagent.jsonl");

/// Checks what is held at calls: each line is the call's number and the files.
#[track_caller]
fn check(bytes: &'static [u8], expected: &[(&str, &[&str])]) {
    for (call, files) in expected {
        let held = held(bytes, call);
        assert_eq!(held.as_deref(), Ok(files.iter().map(ToString::to_string).collect::<Vec<_>>().as_slice()), "{call}");
    }
}

#[test]
fn reads_of_files_and_ranges() {
    check(
        BASIC,
        &[
            ("toolu_001", &[]),
            ("toolu_002", &["a.txt 1-21."]),
            ("toolu_004", &["a.txt 1-4 5-7 8-21."]),
            ("toolu_006", &["a.txt 1-4 5-7 8-17 18-21."]),
            // A read past the end shows no line, and one from line 0 numbers them wrongly.
            ("toolu_007", &[]),
            ("toolu_008", &[]),
            ("toolu_010", &["crlf.txt 1-4."]),
            ("toolu_012", &["bom.txt 1-3.", "crlf.txt 1-4."]),
        ],
    );
}

#[test]
fn changes_that_the_model_made() {
    check(
        EDITS,
        &[
            ("toolu_003", &["a.txt 1-21."]),
            // A failed edit and one that is ambiguous change nothing.
            ("toolu_007", &["a.txt 1-21."]),
            ("toolu_010", &["a.txt 1-5 6-21.", "new.txt 1-3."]),
            ("toolu_012", &["a.txt 1-3.", "new.txt 1-3."]),
            ("toolu_015", &["a.txt 1-3.", "new.txt 1-3."]),
            ("toolu_017", &["a.txt 1-3.", "crlf.txt 1-4.", "new.txt 1-3."]),
            // What is written with CR is shown without.
            ("toolu_019", &["a.txt 1-3.", "new.txt 1-3."]),
            ("toolu_021", &["a.txt 1-3.", "crlf.txt 1-3.", "new.txt 1-4."]),
        ],
    );
    assert_eq!(text_at(EDITS, "toolu_021", "new.txt"), "n1\nn2\n  n3\n\n");
    assert!(text_at(EDITS, "toolu_003", "a.txt").starts_with("line 1 of a\nline 2 of a\nLINE THREE\nline 4 of a\n"));
}

#[test]
fn an_edit_that_somebody_altered_voids_the_file() {
    check(EDITS_ALTERED, &[("toolu_002", &["a.txt 1-21."]), ("toolu_003", &[])]);
}

#[test]
fn markers_without_what_they_speak_of() {
    check(MARKERS, &[("toolu_002", &[]), ("toolu_003", &[]), ("toolu_005", &[]), ("toolu_006", &[])]);
}

#[test]
fn after_a_compaction_only_what_was_attached_anew_counts() {
    let anew: &[&str] = &["a.txt 1-21.", "b.txt 1-13.", "crlf.txt 1-4.", "trailnl.txt 1-6."];
    check(COMPACT, &[("toolu_002", &["a.txt 1-21."]), ("toolu_006", anew), ("toolu_007", anew)]);
    // Without the attachments nothing of before is held, though messages were kept.
    let text = String::from_utf8(COMPACT.to_vec()).unwrap();
    let without = text.replace("\"attachment\":{\"type\":\"file\"", "\"attachment\":{\"type\":\"other\"");
    assert_ne!(text, without);
    assert_eq!(held(Box::leak(without.into_bytes().into_boxed_slice()), "toolu_006"), Ok(Vec::new()));
}

#[test]
fn calls_of_one_message_do_not_see_each_other() {
    let before: &[&str] = &["a.txt 1-2 3-4 5-21.", "b.txt 1-13."];
    check(PARALLEL, &[("toolu_002", &[]), ("toolu_003", &[]), ("toolu_004", before), ("toolu_006", before)]);
}

#[test]
fn forks_rewinds_and_agents() {
    check(FORKED, &[("toolu_002", &["a.txt 1-21."]), ("toolu_003", &["a.txt 1-21.", "b.txt 1-13."])]);
    let both: &[&str] = &["a.txt 1-21.", "b.txt 1-13."];
    check(RESUMED, &[("toolu_004", both), ("toolu_005", both)]);
    // The branch goes on from the call, so its result is not on it.
    check(REWOUND, &[("toolu_0002", &["a.txt 1-21."]), ("toolu_0003", &[])]);
    // Agents' transcripts do not say where a file ends, nor what an edit did: its call and the words of its result are what counts.
    check(AGENT, &[("toolu_005", &["a.txt 1-21"]), ("toolu_009", &["a.txt 1-2 3-3 4-21"])]);
}

#[test]
fn a_text_that_another_hook_altered_is_what_the_model_sees() {
    check(ALTERED, &[("toolu_002", &["a.txt 1-21."])]);
}

/// The file with one thing changed.
fn changed(bytes: &[u8], from: &str, to: &str) -> &'static [u8] {
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    assert!(text.contains(from), "{from}");
    Box::leak(text.replacen(from, to, 1).into_bytes().into_boxed_slice())
}

#[test]
fn what_cannot_be_relied_on() {
    let at = |bytes| held(bytes, "toolu_003");
    assert!(at(BASIC).is_ok());
    // A message that is not the one the request names.
    let blob = "\"content\":\"1\\tline 1 of a\\n2\\tline 2 of a";
    let forge = |line: &str| {
        if line.contains("api-request-blob") {
            line.replace(blob, &blob.replace("line 2", "LINE 2"))
        } else {
            line.to_owned()
        }
    };
    let forged: String = str::from_utf8(BASIC).unwrap().split_inclusive('\n').map(forge).collect();
    assert_eq!(at(Box::leak(forged.into_bytes().into_boxed_slice())), Err(Distrust::NotVerified));
    // What the service leaves out.
    let all = String::from_utf8(BASIC.to_vec()).unwrap().replace("clear_thinking_20251015", "clear_tool_uses_20250919");
    assert_eq!(at(Box::leak(all.into_bytes().into_boxed_slice())), Err(Distrust::Edited));
    // A result that was recorded as another text.
    let other = changed(
        BASIC,
        "\"tool_use_id\":\"toolu_001\",\"type\":\"tool_result\",\"content\":\"1\\tline 1 of a",
        "\"tool_use_id\":\"toolu_001\",\"type\":\"tool_result\",\"content\":\"1\\tLINE 1 of a",
    );
    assert_eq!(at(other), Err(Distrust::Altered));
    // A call without a request, and no call.
    let refs = String::from_utf8(BASIC.to_vec()).unwrap().replace("\"requestRef\"", "\"requestNotRecorded\"");
    assert_eq!(at(Box::leak(refs.into_bytes().into_boxed_slice())), Err(Distrust::NotRecorded));
    assert_eq!(held(BASIC, "toolu_999"), Err(Distrust::NoCall));
}

#[test]
fn lines_may_come_one_by_one() {
    for bytes in [BASIC, EDITS, COMPACT, PARALLEL, FORKED, REWOUND] {
        let mut transcript = Transcript::new(Answers::Held);
        let source = &bytes as &dyn Source;
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            transcript.append(line);
            if let Some(call) = transcript.last_call().map(str::to_owned) {
                let one = transcript.known_at_call(&call, source).map(|known| known.knowledge().paths().count());
                assert_eq!(one, held(bytes, &call).map(|files| files.len()), "{call}");
            }
        }
    }
}

/// What is held of a file, as one text.
fn text_at(bytes: &'static [u8], call: &str, name: &str) -> String {
    let mut transcript = Transcript::new(Answers::Held);
    transcript.append(bytes);
    let source = &bytes as &dyn Source;
    let known = transcript.known_at_call(call, source).unwrap();
    let path = readproof_core::path::PathKey::new(&format!("/w/p/{name}"));
    let spans = known.knowledge().of(&path).iter();
    spans.map(|held| known.text(held.version().hash).unwrap().slice(held.lines().unwrap())).collect()
}

/// What is held at a call: for each file its runs of lines, with `.` behind a run that includes the end of the file.
fn held(bytes: &'static [u8], call: &str) -> Result<Vec<String>, Distrust> {
    let mut transcript = Transcript::new(Answers::Held);
    transcript.append(bytes);
    let source = &bytes as &dyn Source;
    let known = transcript.known_at_call(call, source)?;
    let run = |held: &Held| {
        let lines = held.lines().map_or(String::new(), |lines| format!("{}-{}", lines.first(), lines.last()));
        format!("{lines}{}", if held.end() { "." } else { "" })
    };
    let files = known.knowledge().paths().map(|(path, held)| {
        format!("{} {}", path.as_str().trim_start_matches("/w/p/"), held.iter().map(run).collect::<Vec<_>>().join(" "))
    });
    Ok(files.collect())
}
