//! Recorded conversations played again: the product is asked about every read as the hook asked it, with the transcripts as they
//! were then, and its answer is judged by the request that followed.

use serde_json::Value;
use std::{collections::BTreeMap, fs};

use readproof_core::{decide::Mode, path::Bearings};
use readproof_disk::Root;
use readproof_engine::{Engine, HostSessions};

use super::{
    product::{self, Asked},
    recorded::{Read, Recording},
    request::{compare, judge_of, markers},
    tools,
};
use crate::{
    run::Stop,
    world::{Broken, Watched, watch::Watch},
};

/// What came of one read.
#[derive(Clone, Debug)]
pub struct Replayed {
    pub read: Read,
    pub mode: Mode,
    pub reason: &'static str,
    /// What is wrong with a short answer.
    pub wrong: Option<String>,
}

/// Plays a recording again.
///
/// # Errors
/// When the harness itself cannot work.
pub fn replay(recording: &Recording) -> Result<Vec<Replayed>, Broken> {
    let dir = tempfile::tempdir()?;
    let top = dir.path().canonicalize()?;
    let (root, home) = (top.join("project"), top.join("home"));
    fs::create_dir_all(&root)?;
    let cwd = root.display().to_string();
    let moved = recording.moved(&cwd)?;
    let watch = Watch::new(root.clone(), vec![cwd.clone()], "", Vec::new());
    let (bearings, settings) = (Bearings { cwd: cwd.clone(), home: None }, crate::open_settings());
    let engine = Watched::new(Engine::new(Root::open(&root)?, bearings, settings, Box::new(|| 0))?, &watch);
    let mut replayed = Vec::new();
    for read in moved.reads() {
        let Some(transcript) = moved.write_until(&read.call, &home)? else { continue };
        put(&root, &read.files)?;
        let path = read.input["file_path"].as_str().unwrap_or_default().to_owned();
        let (offset, limit) = (read.input["offset"].as_i64(), read.input["limit"].as_u64());
        let Ok(response) = tools::read(&path, offset, limit) else { continue };
        let asked =
            Asked { transcript: &transcript, call: &read.call, path: &path, input: &read.input, response: &response };
        let answered = match product::ask(&engine, &mut HostSessions::default(), &asked) {
            Ok(answered) => answered,
            Err(Stop::Broken(error)) => return Err(error),
            Err(Stop::Violation(what)) => return Err(what.into()),
            Err(Stop::Refused) => return Err("a rule refuses it".into()),
        };
        let wrong = answered.instead.as_ref().and_then(|instead| judged(&moved, &read, instead, &response));
        replayed.push(Replayed { read, mode: answered.mode, reason: answered.reason, wrong });
    }
    Ok(replayed)
}

/// The request that followed, with this answer in it instead of what came then.
fn judged(recording: &Recording, read: &Read, instead: &Value, response: &Value) -> Option<String> {
    let call = read.call.as_str();
    let is_its = |block: &Value| block["type"] == "tool_result" && block["tool_use_id"] == call;
    let has = |message: &Value| message["content"].as_array().is_some_and(|blocks| blocks.iter().any(is_its));
    let request = recording.requests.iter().find(|request| request.messages.iter().any(has))?;
    let mut messages = request.messages.clone();
    for block in messages.iter_mut().filter_map(|message| message["content"].as_array_mut()).flatten() {
        if is_its(block) {
            // What the program says behind a result is still said: that a compaction took text away, for one.
            let said =
                block["content"].as_str().and_then(|text| text.find("\n\n<system-reminder>").map(|at| &text[at..]));
            block["content"] = format!("{}{}", tools::shown(instead), said.unwrap_or_default()).into();
        }
    }
    let content = response["file"]["content"].as_str().unwrap_or_default();
    for (of, rebuilt) in markers(&messages, &recording.cwd) {
        if of != call {
            continue;
        }
        return match rebuilt {
            Err(complaint) => Some(complaint.to_string()),
            // What the read showed is all that was asked for.
            Ok(rebuilt) => {
                let first = usize::try_from(rebuilt.first).unwrap_or(1);
                let text = format!("{}{content}", "\n".repeat(first - 1));
                compare(&rebuilt, &text, (i64::try_from(first).ok(), None)).err()
            }
        };
    }
    // The model is told in the same request not to rely on it.
    if judge_of(&messages, &recording.cwd).retracts() {
        return None;
    }
    Some("the answer is not in the request".to_owned())
}

fn put(root: &std::path::Path, files: &BTreeMap<String, String>) -> Result<(), Broken> {
    for entry in fs::read_dir(root)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            fs::remove_file(entry.path())?;
        }
    }
    for (name, text) in files {
        fs::write(root.join(name), text)?;
    }
    Ok(())
}
