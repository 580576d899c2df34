//! What opening, holding and moving cost. By hand:
//! `cargo test --release -p readproof-hosts --test pi figures -- --ignored --nocapture --test-threads 1`.
#![allow(clippy::disallowed_methods, reason = "asks the system how much memory is held")]
#![allow(clippy::print_stdout, reason = "figures are for people")]

use readproof_core::{limits::Answers, path::PathKey};
use readproof_hosts::pi::Transcript;
use serde_json::json;
use std::{hint::black_box, time::Instant};

use crate::{
    session::{HEADER, extras, meta},
    slow::generated,
};

/// Bytes this process holds.
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

/// Seconds, the middle of several runs.
fn median(mut run: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = (0..7)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed().as_secs_f64()
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[3]
}

/// Turns of a user, words of an assistant, a command of 4 kB output and, every fourth time, a read of 8 kB.
fn typical(turns: usize) -> String {
    let output = "drwxr-xr-x 2 user user 4096 Nov  1 00:00 \"some folder\"\n".repeat(75);
    let file = "    let value = compute(\"name\", 42); // a comment of some length\n".repeat(125);
    let text = readproof_core::text::Text::new(file.clone());
    let block = |text: &String| format!(r#"[{{"type":"text","text":{}}}]"#, json!(text));
    let blocks = [block(&file), block(&output)];
    let mut lines = vec![HEADER.to_owned()];
    let mut entry = |message: serde_json::Value| {
        let at = lines.len();
        let parent = (at > 1).then(|| format!("{:08x}", at - 1));
        let line = json!({"type": "message", "id": format!("{at:08x}"), "parentId": parent, "message": message});
        // As pi orders its fields.
        let line = line.to_string().replace("[\"FILE\"]", &blocks[0]).replace("[\"OUTPUT\"]", &blocks[1]);
        let at_type = line.rfind(",\"type\":\"message\"").unwrap();
        let tail = &line[at_type + 17..];
        lines.push(format!("{{\"type\":\"message\",{}{tail}", &line[1..at_type]));
    };
    for turn in 0..turns {
        entry(json!({"role": "user", "content": [{"type": "text", "text": "please go on with the work"}]}));
        let (tool, arguments) = if turn % 4 == 0 {
            ("read", json!({"path": format!("f{}", turn % 400)}))
        } else {
            ("bash", json!({"command": "ls -la"}))
        };
        let call = json!({"type": "toolCall", "id": format!("c{turn}"), "name": tool, "arguments": arguments});
        entry(
            json!({"role": "assistant", "content": [{"type": "text", "text": "I look at it first. ".repeat(20)}, call]}),
        );
        let details = (tool == "read").then(|| {
            let plain = meta(&format!("f{}", turn % 400), &text, "full", None);
            json!({"readcache": extras(plain, &file, text.total(), Some((1, text.total())), true)})
        });
        let shown = if tool == "read" { "FILE" } else { "OUTPUT" };
        entry(json!({
            "role": "toolResult", "toolCallId": format!("c{turn}"), "toolName": tool,
            "content": [shown], "details": details, "isError": false,
        }));
    }
    lines.join("\n") + "\n"
}

fn opening(name: &str, bytes: &str, lookup: readproof_hosts::pi::Lookup<'_>) {
    let skip = median(|| {
        for line in bytes.lines() {
            black_box(serde_json::from_str::<serde::de::IgnoredAny>(line).unwrap());
        }
    });
    let mut entries = 0;
    let open = median(|| {
        let mut transcript = Transcript::new(Answers::Held, None);
        transcript.append(bytes.as_bytes(), lookup);
        entries = transcript.counts().entries;
    });
    let speed = |seconds: f64| bytes.len() as f64 / seconds / 1e6;
    println!(
        "{name}: {entries} entries, {} MB: opened at {:.0} MB/s, skipped at {:.0} MB/s, ratio {:.2}",
        bytes.len() / 1_000_000,
        speed(open),
        speed(skip),
        skip / open
    );
}

#[test]
#[ignore = "figures, by hand"]
fn opening_against_skipping() {
    let bytes = typical(20_000);
    opening("typical", &bytes, &|_| None);
}

#[test]
#[ignore = "figures, by hand"]
fn opening_where_every_second_entry_matters() {
    let g = generated(1, 100_000, 50, 20);
    let bytes = g.lines().join("\n") + "\n";
    opening("generated", &bytes, &|hash| g.object(hash));
}

#[test]
#[ignore = "figures, by hand"]
fn memory_of_an_entry_that_is_no_read() {
    const ENTRIES: usize = 500_000;
    let mut transcript = Transcript::new(Answers::Held, None);
    transcript.append(format!("{HEADER}\n").as_bytes(), &|_| None);
    let before = resident();
    for at in 1..=ENTRIES {
        let id = |at: usize| format!("{:08x}", at.wrapping_mul(0x9e37_79b1) & 0xffff_ffff);
        let message = json!({"role": "user", "content": "hello"});
        let line = json!({"type": "message", "id": id(at), "parentId": id(at - 1), "message": message});
        transcript.append(format!("{line}\n").as_bytes(), &|_| None);
    }
    println!("{} bytes an entry", (resident() - before) / ENTRIES);
    assert_eq!(transcript.counts().entries, ENTRIES);
}

#[test]
#[ignore = "figures, by hand"]
fn one_step_on_a_short_and_a_long_transcript() {
    for turns in [333, 33_333] {
        let bytes = typical(turns);
        let mut transcript = Transcript::new(Answers::Held, None);
        transcript.append(bytes.as_bytes(), &|_| None);
        let path = PathKey::new("/w/f4");
        let mut at = transcript.counts().entries;
        let lookups = median(|| {
            for back in 0..1000 {
                let leaf = transcript.find(&format!("{:08x}", at - back % 500));
                black_box(transcript.knowledge_at(leaf).holds_whole(&path, Answers::Held));
            }
        });
        let appends = median(|| {
            for _ in 0..1000 {
                let (id, parent) = (format!("{:08x}", at + 1), format!("{at:08x}"));
                let line = format!("{{\"type\":\"label\",\"id\":\"{id}\",\"parentId\":\"{parent}\"}}\n");
                transcript.append(line.as_bytes(), &|_| None);
                at += 1;
            }
        });
        println!(
            "{} entries: a leaf looked up in {:.0} ns, a line taken in in {:.0} ns",
            turns * 3,
            lookups * 1e6,
            appends * 1e6
        );
    }
}
