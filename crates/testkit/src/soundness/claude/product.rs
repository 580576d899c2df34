//! The product, asked as the hooks of the plugin ask it (`app/src/serve/claude_code.rs`).

use readproof_core::{
    decide::Mode,
    operation::{Operation, Read},
};
use readproof_engine::{HostRead, HostSessions, Outcome, Reading};
use serde_json::{Value, json};
use std::path::Path;

use super::Step;
use crate::{
    ask::{Ask, WAIT},
    world::Watched,
};

/// What the hook on `Read` passes on.
pub(super) struct Asked<'a> {
    pub(super) transcript: &'a Path,
    pub(super) call: &'a str,
    pub(super) path: &'a str,
    pub(super) input: &'a Value,
    pub(super) response: &'a Value,
}

/// What it gets back.
pub(super) struct Answered {
    /// What the model is shown instead; `None` leaves the read as it is.
    pub(super) instead: Option<Value>,
    pub(super) mode: Mode,
    pub(super) reason: &'static str,
}

impl Answered {
    fn untouched(mode: Mode, reason: &'static str) -> Self {
        Self { instead: None, mode, reason }
    }
}

/// The hooks of the plugin.
const HOOKS: &str = include_str!("../../../../../integrations/claude-code/plugins/readproof/hooks/hooks.json");

/// What the plugin tells the model after a compaction: a command prints it as JSON between single quotes.
pub(super) fn told_after_compaction() -> Option<String> {
    let hooks: Value = serde_json::from_str(HOOKS).ok()?;
    let command = hooks["hooks"]["SessionStart"][0]["hooks"][0]["command"].as_str()?;
    let (_, rest) = command.split_once("'{")?;
    let (said, _) = rest.split_once("}'")?;
    let said: Value = serde_json::from_str(&format!("{{{said}}}")).ok()?;
    said["hookSpecificOutput"]["additionalContext"].as_str().map(str::to_owned)
}

/// Asks about a read. What is not recorded by now is not waited for.
pub(super) fn ask(engine: &Watched, sessions: &mut HostSessions, asked: &Asked<'_>) -> Step<Answered> {
    let file = &asked.response["file"];
    let number = |name: &str| file[name].as_u64().and_then(|number| u32::try_from(number).ok());
    let content = file["content"].as_str().unwrap_or_default().to_owned();
    let (Some(first), Some(total), Some(lines)) = (number("startLine"), number("totalLines"), number("numLines"))
    else {
        return Ok(Answered::untouched(Mode::Full, "no_numbers"));
    };
    if content.split('\n').count() != lines as usize {
        return Ok(Answered::untouched(Mode::Full, "other_number_of_lines"));
    }
    let read = HostRead { call: asked.call.to_owned(), content, first, total, limit: asked.input["limit"].as_u64() };
    sessions.follow(engine, asked.transcript, asked.call)?;
    let mut call = sessions.call(asked.transcript, read);
    let operation = Operation::Read(Read { path: asked.path.to_owned(), ..Read::default() });
    let answer = match engine.call(&mut call, operation, WAIT).and_then(Outcome::into_reading) {
        Ok(Reading::Answer(answer)) => answer,
        Ok(Reading::NotOurs(_)) => return Ok(Answered::untouched(Mode::Full, "not_ours")),
        Err(_) => return Ok(Answered::untouched(Mode::Full, "refused")),
    };
    let reason = answer.reason.as_str();
    if !matches!(answer.mode, Mode::Unchanged | Mode::UnchangedRange) {
        return Ok(Answered::untouched(Mode::Full, reason));
    }
    let file =
        json!({"filePath": asked.path, "content": answer.text, "numLines": 1, "startLine": 0, "totalLines": total});
    Ok(Answered { instead: Some(json!({"type": "text", "file": file})), mode: answer.mode, reason })
}
