//! What Claude Code's hooks ask the running server, by two tools that are not listed: whether a text that its `Read` shows is one
//! that the model holds, and whether a rule denies a call. An answer is the JSON that a hook prints. Whatever fails leaves the
//! host's own call as it is.

mod held;

pub(crate) use held::HELD;

use readproof_core::{
    decide::Mode,
    operation::{Caller, Operation, Read},
    policy::{Act, Effect},
};
use readproof_engine::{Call, Control, Engine, Error, HostRead, HostSessions, LoggedSession, Outcome, Reading};
use serde_json::{Map, Value, json};
use std::{
    path::{Path, PathBuf},
    sync::Mutex,
    time::Duration,
};

use super::locked;

/// Asked after each `Read`.
pub(crate) const AFTER_READ: &str = "claude_code_after_read";

/// Asked before each call that names a file.
pub(crate) const BEFORE_CALL: &str = "claude_code_before_call";

/// Asked after a compaction.
pub(crate) const AFTER_COMPACTION: &str = "claude_code_after_compaction";

/// How long the host may take to write down what it sent.
pub(crate) const PATIENCE: Duration = Duration::from_millis(150);

/// How often that is looked at.
pub(crate) const PAUSE: Duration = Duration::from_millis(8);

/// The answer that changes nothing.
pub(crate) const UNTOUCHED: &str = "{}";

/// A read that was made, as the hook tells it.
#[derive(Clone, Debug)]
pub(crate) struct AfterRead {
    path: String,
    transcript: PathBuf,
    read: HostRead,
}

impl AfterRead {
    /// `None` if it is not text, or something is missing.
    pub(crate) fn parse(given: &Map<String, Value>) -> Option<Self> {
        if text(given, "kind")? != "text" {
            return None;
        }
        let read = HostRead {
            call: text(given, "id")?,
            content: given.get("content")?.as_str()?.to_owned(),
            first: number(given, "first")?.try_into().ok()?,
            total: number(given, "total")?.try_into().ok()?,
            limit: number(given, "limit"),
        };
        let lines = read.content.split('\n').count() as u64;
        if number(given, "lines")? != lines {
            return None;
        }
        let transcript = transcript(&text(given, "transcript")?, text(given, "agent").as_deref())?;
        Some(Self { path: text(given, "path")?, transcript, read })
    }
}

/// The transcript of a session, or of one of its agents.
fn transcript(session: &str, agent: Option<&str>) -> Option<PathBuf> {
    let file = Path::new(session);
    if !file.is_absolute() || file.extension().is_none_or(|end| end != "jsonl") {
        return None;
    }
    let Some(agent) = agent else { return Some(file.to_path_buf()) };
    let is_id = agent.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
    is_id.then(|| file.with_extension("").join("subagents").join(format!("agent-{agent}.jsonl")))
}

/// A text that the hook filled in. What does not exist stays as it was written, or is empty.
fn text(given: &Map<String, Value>, name: &str) -> Option<String> {
    let text = given.get(name)?.as_str()?;
    (!text.is_empty() && !text.starts_with("${")).then(|| text.to_owned())
}

/// A number, which a hook may give as text.
fn number(given: &Map<String, Value>, name: &str) -> Option<u64> {
    let value = given.get(name)?;
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

/// Takes in what the host wrote. Whether there is nothing to wait for.
pub(crate) fn is_recorded(engine: &Engine, sessions: &Mutex<HostSessions>, asked: &AfterRead) -> bool {
    locked(sessions).follow(engine, &asked.transcript, &asked.read.call).unwrap_or(false)
}

/// The hook's answer to a read.
pub(crate) fn after_read(
    engine: &Engine,
    sessions: &Mutex<HostSessions>,
    caller: &Caller,
    asked: &AfterRead,
) -> String {
    let AfterRead { path, transcript, read } = asked;
    let total = read.total;
    let mut sessions = locked(sessions);
    let operation = Operation::Read(Read { path: path.clone(), ..Read::default() });
    let mut conversation = sessions.call(transcript, read.clone());
    let call = Call { caller, conversation: &mut conversation, operation, control: Control::WAIT };
    let done = engine.perform(call).and_then(Outcome::into_reading);
    drop(conversation);
    let Ok(Reading::Answer(answer)) = done else {
        return UNTOUCHED.to_owned();
    };
    match answer.mode {
        Mode::Unchanged | Mode::UnchangedRange => {
            sessions.marked(transcript);
            marked(path, &answer.text, total).to_string()
        }
        // A diff would be numbered like lines of the file.
        Mode::Full | Mode::BaselineFallback | Mode::Diff | Mode::Partial => UNTOUCHED.to_owned(),
    }
}

/// A marker in the shape of a read. No file has a line 0.
fn marked(path: &str, marker: &str, total: u32) -> Value {
    let file = json!({"filePath": path, "content": marker, "numLines": 1, "startLine": 0, "totalLines": total});
    json!({"hookSpecificOutput": {"hookEventName": "PostToolUse", "updatedToolOutput": {"type": "text", "file": file}}})
}

/// The hook's answer after a compaction: the host may have compacted before the model saw the last markers.
pub(crate) fn after_compaction(sessions: &Mutex<HostSessions>, given: &Map<String, Value>) -> String {
    let file = text(given, "transcript").and_then(|session| transcript(&session, text(given, "agent").as_deref()));
    if !file.is_some_and(|file| locked(sessions).compacted(&file)) {
        return UNTOUCHED.to_owned();
    }
    json!({"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": GONE}}).to_string()
}

/// What the model is told then.
const GONE: &str = "[readproof: answers `[readcache: unchanged …]` from before this compaction stand for text that may be out of \
                    sight now; read a file again to see it]";

/// The hook's answer before a call: denied if a rule of the workspace denies the file.
pub(crate) fn before_call(engine: &Engine, caller: &Caller, given: &Map<String, Value>) -> String {
    let acts: &[Act] = match text(given, "tool").as_deref() {
        Some("Read" | "Grep" | "Glob") => &[Act::Read],
        Some("Edit" | "MultiEdit" | "Write" | "NotebookEdit") => &[Act::Read, Act::Write],
        _ => return UNTOUCHED.to_owned(),
    };
    let Some(path) = ["path", "folder", "notebook"].iter().find_map(|name| text(given, name)) else {
        return UNTOUCHED.to_owned();
    };
    for act in acts {
        match is_denied(engine, caller, &path, *act) {
            Ok(false) => {}
            Ok(true) => return denied("readproof: a rule of this workspace denies this file"),
            Err(error) if matches!(error, Error::Policy(_)) => {
                return denied("readproof: the rules of this workspace cannot be read, so every file is denied");
            }
            // Outside the workspace, or not a name: the host decides.
            Err(_) => {}
        }
    }
    UNTOUCHED.to_owned()
}

fn is_denied(engine: &Engine, caller: &Caller, path: &str, act: Act) -> Result<bool, Error> {
    let operation = Operation::CheckPolicy { path: path.to_owned(), act: Some(act), caller: None };
    let mut nobody = LoggedSession::named(None);
    let call = Call { caller, conversation: &mut nobody, operation, control: Control::WAIT };
    let Outcome::PolicyChecked(checked) = engine.perform(call)? else { return Ok(false) };
    Ok(checked.acts.iter().any(|ruled| ruled.ruling.verdict.effect() == Effect::Deny))
}

fn denied(why: &str) -> String {
    json!({"hookSpecificOutput": {
        "hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": why,
    }})
    .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(fields: &[(&str, &str)]) -> Map<String, Value> {
        fields.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect()
    }

    #[test]
    fn what_a_hook_tells() {
        let usual = [
            ("kind", "text"),
            ("path", "/w/a"),
            ("id", "t1"),
            ("transcript", "/h/s.jsonl"),
            ("content", "a\nb"),
            ("first", "3"),
            ("lines", "2"),
            ("total", "9"),
            ("limit", "${tool_input.limit}"),
            ("agent", ""),
        ];
        let parsed = AfterRead::parse(&given(&usual)).unwrap();
        assert_eq!((parsed.read.first, parsed.read.total, parsed.read.limit), (3, 9, None));
        assert_eq!(parsed.transcript, Path::new("/h/s.jsonl"));
        let with = |name: &str, value: &str| {
            let mut fields = given(&usual);
            fields.insert(name.to_owned(), json!(value));
            AfterRead::parse(&fields)
        };
        assert_eq!(with("agent", "a1").unwrap().transcript, Path::new("/h/s/subagents/agent-a1.jsonl"));
        assert_eq!(with("limit", "2").unwrap().read.limit, Some(2));
        for (name, value) in [
            ("kind", "image"),
            ("lines", "3"),
            ("transcript", "s.jsonl"),
            ("transcript", "/etc/passwd"),
            ("agent", "../x"),
            ("id", ""),
        ] {
            assert!(with(name, value).is_none(), "{name} {value}");
        }
    }
}
