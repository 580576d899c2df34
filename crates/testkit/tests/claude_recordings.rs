//! Recordings of the real Claude Code (`cargo xtask hosts --plugin --update`): what it sent is judged as it is, and its transcripts
//! are played again to the product, without the program and without a network.
#![allow(clippy::unwrap_used, reason = "tests and their helpers")]

use readproof_testkit::claude::{recorded::Recording, replay::replay, shape};
use std::{collections::BTreeSet, path::PathBuf};

fn recordings() -> Vec<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../integrations/hosts/plugin/recordings");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() > 9, "recordings are missing: {files:?}");
    files
}

#[test]
fn what_the_real_program_sent_shows_what_markers_stand_for() {
    let mut judged = 0;
    for file in recordings() {
        judged += Recording::open(&file).unwrap().judge().unwrap_or_else(|why| panic!("{}: {why}", file.display()));
    }
    assert!(judged > 20, "only {judged} markers");
}

#[test]
fn recorded_conversations_are_answered_as_then() {
    let (mut short, mut wrong) = (0, Vec::new());
    for file in recordings() {
        let recording = Recording::open(&file).unwrap();
        for one in replay(&recording).unwrap() {
            let is_short = one.mode.is_derived();
            short += usize::from(is_short);
            let name = format!("{} {} {}", recording.name, one.read.call, one.read.input);
            if let Some(why) = one.wrong {
                wrong.push(format!("{name}: {why}"));
            }
            if recording.name == "cleared" && is_short {
                wrong.push(format!("{name}: a result was cleared, and the answer is short"));
            }
            // A record that came too late then is there now, so there may be more short answers, never fewer. What a hook told of an
            // agent's read is lost: where its file ends stands in no transcript.
            if one.read.is_short() && !is_short && recording.name != "agents" {
                wrong.push(format!("{name}: answered with text ({}), and shortly then", one.reason));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(short > 20, "only {short} short answers");
}

/// The lines that random runs write have no fields that the real program does not write.
#[test]
fn random_runs_write_lines_as_the_real_program_does() {
    let mut real = BTreeSet::new();
    for file in recordings() {
        for line in Recording::open(&file).unwrap().transcripts.values().flatten() {
            real.extend(shape::of(line));
        }
    }
    let unknown: Vec<String> =
        shape::of_random_runs().unwrap().into_iter().filter(|field| !real.contains(field)).collect();
    assert!(unknown.is_empty(), "the real program does not write {unknown:?}");
}
