//! The shape of a transcript's lines: the names of their fields, for a comparison of random runs with the real program.

use serde_json::Value;
use std::{collections::BTreeSet, fs};

use super::{
    session::{Compaction, Given},
    world::World,
};
use crate::{kept::Keep, world::Broken};

/// Fields that recordings leave out, as they say nothing about messages.
const LEFT_OUT: [&str; 6] = ["userType", "entrypoint", "version", "gitBranch", "timestamp", "cwd"];

/// The fields of a line, and of what it has inside, behind its kind.
#[must_use]
pub fn of(line: &Value) -> Vec<String> {
    let attached = line["attachment"]["type"].as_str().map(|kind| format!("/{kind}")).unwrap_or_default();
    let result = if line.get("toolUseResult").is_some() { "/result" } else { "" };
    let kind = format!("{}{attached}{result}", line["type"].as_str().unwrap_or_default());
    let mut names = Vec::new();
    for (name, value) in line.as_object().into_iter().flatten().filter(|(name, _)| !LEFT_OUT.contains(&name.as_str())) {
        names.push(format!("{kind}.{name}"));
        if ["message", "params", "compactMetadata", "attachment"].contains(&name.as_str()) {
            names.extend(value.as_object().into_iter().flatten().map(|(inner, _)| format!("{kind}.{name}.{inner}")));
        }
    }
    names
}

/// The shape of all lines that a session of the random runs can write.
///
/// # Errors
/// When the harness itself cannot work.
pub fn of_random_runs() -> Result<BTreeSet<String>, Broken> {
    let world = World::new(1, Keep::InMemory)?;
    let mut session = world.session(0)?;
    for round in 0..3 {
        let id = format!("toolu_{round}");
        let block = serde_json::json!({"id": id, "input": {"file_path": "/f"}, "name": "Read", "type": "tool_use"});
        let lines = session.answer(vec![block], None)?;
        let own = serde_json::json!({"type": "text", "file": {}});
        let given = Given { call: id.clone(), text: "1\ta".to_owned(), failed: false, own, of_file: true };
        session.arrive(vec![given], &[(id, lines[0].clone())].into())?;
        if round == 1 {
            session.compact(&[("/f".to_owned(), "a\n".to_owned())], Compaction::Keeps, Some("told"))?;
        }
    }
    let mut found = BTreeSet::new();
    for line in fs::read_to_string(&session.file)?.lines() {
        found.extend(of(&serde_json::from_str(line)?));
    }
    Ok(found)
}
