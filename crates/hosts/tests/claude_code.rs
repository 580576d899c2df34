//! Recorded sessions of the real Claude Code, trimmed: what is held at each call, worked out from its own record of what it sent.

use readproof_core::{knowledge::Held, limits::Answers, text::ContentHash};
use readproof_hosts::claude_code::{Distrust, Source, Transcript};

const fn file(name: &str, bytes: &'static [u8]) -> (&str, &'static [u8]) {
    (name, bytes)
}

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

#[test]
fn print_all() {
    for (name, bytes) in [
        file("basic", BASIC),
        file("edits", EDITS),
        file("compact", COMPACT),
        file("altered", ALTERED),
        file("edits altered", EDITS_ALTERED),
        file("markers", MARKERS),
        file("parallel", PARALLEL),
        file("resumed", RESUMED),
        file("forked", FORKED),
        file("rewound", REWOUND),
        file("agent", AGENT),
    ] {
        println!("== {name}");
        for (id, what) in calls(bytes) {
            println!("{id} {what}: {:?}", held(bytes, &id));
        }
    }
}

/// The calls in a file, in order.
fn calls(bytes: &[u8]) -> Vec<(String, String)> {
    let mut calls = Vec::new();
    for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let line: serde_json::Value = serde_json::from_slice(line).unwrap();
        for block in line["message"]["content"].as_array().into_iter().flatten().filter(|_| line["type"] == "assistant")
        {
            if block["type"] == "tool_use" {
                calls.push((block["id"].as_str().unwrap().to_owned(), format!("{} {}", block["name"], block["input"])));
            }
        }
    }
    calls
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
