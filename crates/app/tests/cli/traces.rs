//! `readproof bench traces`: recorded sessions through the engine, judged by the reader.

use std::fs;

use crate::workspace::{Done, READPROOF, Workspace, finish, names_in};

const RECORDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/traces");

#[track_caller]
fn traces(ws: &Workspace, folder: &str, words: &[&str]) -> Done {
    let temp = ws.top().join("temp");
    fs::create_dir_all(&temp).unwrap();
    let done = finish(ws.command(READPROOF).args(["bench", "traces", folder]).args(words).env("TMPDIR", &temp));
    assert_eq!(names_in(&temp), [""; 0], "a workspace was left behind");
    assert_eq!(ws.names(), [""; 0], "the user's workspace was touched");
    done
}

#[test]
fn every_step_of_a_recording_is_answered_and_judged() {
    let object = traces(&Workspace::new(), RECORDED, &["--json"]).json();
    assert_eq!(object["violations"], serde_json::json!([]));
    let strict = &object["strict"];
    let counts = ["reads", "short", "edits", "outside", "compactions"].map(|key| strict[key].as_u64().unwrap());
    // The failed read of the recording is no read, and the two compactions are of different agents.
    assert_eq!(counts, [12, 7, 3, 0, 2], "{strict:#}");
    let reads = |side: &str, decision: &str| object[side]["decisions"][decision]["reads"].as_u64().unwrap_or(0);
    assert_eq!(reads("strict", "full (not_held)"), 5);
    assert_eq!(reads("strict", "unchanged (same_text)"), 4);
    assert_eq!(reads("strict", "unchanged_range (same_text)"), 2);
    assert_eq!(reads("strict", "diff (changed)"), 1);
    // Without its barriers, the recording has two first reads less.
    assert_eq!(reads("without_barrier", "full (not_held)"), 3);
    let saved = |side: &str| object[side]["saved_percent"].as_f64().unwrap();
    assert!(saved("without_barrier") > saved("strict"), "{object:#}");
    assert!(saved("strict") > saved("edits_not_reported"), "{object:#}");
    assert!(saved("strict") > saved("answers_seed"), "{object:#}");
    let (plain, sent) = (strict["plain_tokens"].as_f64().unwrap(), strict["sent_tokens"].as_f64().unwrap());
    assert!((100.0 * (plain - sent) / plain - saved("strict")).abs() < 0.01);
}

#[test]
fn the_report_is_markdown_and_the_bar_decides_the_exit_code() {
    let ws = Workspace::new();
    let text = traces(&ws, RECORDED, &["--least", "10"]).text();
    for part in
        ["# What re-reads save on 2 recorded sessions", "| violations | 0 | 0 |", "| **read tokens saved** | **"]
    {
        assert!(text.contains(part), "{part} is missing:\n{text}");
    }
    let done = traces(&ws, RECORDED, &["--least", "99"]);
    assert_eq!(done.code, Some(1));
    assert!(done.err.contains("less than --least asks for"), "{}", done.err);
    assert_eq!(traces(&ws, RECORDED, &["--sessions", "1", "--json"]).json()["sessions"], 1);
}

#[test]
fn settings_count() {
    let object = traces(&Workspace::new(), RECORDED, &["--json", "--set", "answers=seed"]).json();
    assert_eq!(object["answers"], "seed");
    assert_eq!(object["strict"]["saved_percent"], object["answers_seed"]["saved_percent"]);
}

#[test]
fn what_is_no_recording_is_named() {
    let ws = Workspace::new();
    let folder = ws.top().join("recordings");
    let said = |what: &str| {
        let done = traces(&ws, folder.to_str().unwrap(), &[]);
        assert_eq!(done.code, Some(1));
        assert!(done.err.contains(what), "{}", done.err);
    };
    said("there is no folder `");
    fs::create_dir(&folder).unwrap();
    said("there are no recorded sessions in");
    let put = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
    put("a.events.jsonl", "{\"s\":0,\"a\":\"main\",\"t\":\"Read\"}\nnonsense\n");
    said("has no NAME.blobs.jsonl beside it");
    put("a.blobs.jsonl", "");
    said("line 2 of");
    fs::remove_file(folder.join("a.events.jsonl")).unwrap();
    fs::write(folder.join("a.events.jsonl.gz"), [0x1f, 0x8b, 8, 0]).unwrap();
    said("cannot be read to its end");
}

/// Recordings of the real Claude Code, as the folders that it keeps: one for each project.
fn projects(ws: &Workspace) -> std::path::PathBuf {
    let folder = ws.top().join("projects");
    let recordings = concat!(env!("CARGO_MANIFEST_DIR"), "/../../integrations/hosts/plugin/recordings");
    for entry in fs::read_dir(recordings).unwrap() {
        let path = entry.unwrap().path();
        let project = folder.join(path.file_stem().unwrap());
        for line in fs::read_to_string(&path).unwrap().lines() {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            let Some(name) = line["file"].as_str() else { continue };
            let file = project.join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            let known = fs::read_to_string(&file).unwrap_or_default();
            fs::write(&file, format!("{known}{}\n", line["line"])).unwrap();
        }
    }
    folder
}

#[test]
fn transcripts_of_claude_code_are_asked_about_and_judged() {
    let ws = Workspace::new();
    let folder = projects(&ws);
    let object = traces(&ws, folder.to_str().unwrap(), &["--json"]).json();
    assert_eq!(object["violations"], serde_json::json!([]));
    let count = |name: &str| object["strict"][name].as_u64().unwrap();
    assert!(object["transcripts"].as_u64().unwrap() > 15, "{object:#}");
    assert!(count("reads") > 60 && count("short") > 20 && count("edits") > 5 && count("compactions") > 0, "{object:#}");
    let text = traces(&ws, folder.to_str().unwrap(), &[]).text();
    assert!(text.contains("transcripts of Claude Code"), "{text}");
}
