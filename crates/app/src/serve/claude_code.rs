//! What Claude Code's hooks ask the running server, by tools that are not listed: whether a text that its `Read` shows is one
//! that the model holds, whether a rule denies a call, and what a search may show. An answer is the JSON that a hook prints. Whatever fails leaves the
//! host's own call as it is.

mod held;
mod pace;
mod search;

pub(crate) use held::HELD;
pub(crate) use pace::HookPace;
pub(crate) use search::{AFTER_SEARCH, after_search};

use readproof_core::{
    decide::Mode,
    operation::{Caller, Operation, Read},
    path::resolve,
    policy::{Act, Effect, SizeLimit},
};
use readproof_engine::{Call, Control, Engine, Error, HostRead, HostSessions, LoggedSession, Outcome, Reading};
use serde_json::{Map, Value, json};
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::Mutex,
    time::Duration,
};

use super::locked;

/// Asked after each `Read`.
pub(crate) const AFTER_READ: &str = "claude_code_after_read";

/// Asked before each call that names a file.
pub(crate) const BEFORE_CALL: &str = "claude_code_before_call";

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
        Mode::Unchanged | Mode::UnchangedRange => marked(path, &answer.text, total).to_string(),
        // A diff would be numbered like lines of the file.
        Mode::Full | Mode::BaselineFallback | Mode::Diff => UNTOUCHED.to_owned(),
    }
}

/// A marker in the shape of a read. No file has a line 0.
fn marked(path: &str, marker: &str, total: u32) -> Value {
    let file = json!({"filePath": path, "content": marker, "numLines": 1, "startLine": 0, "totalLines": total});
    json!({"hookSpecificOutput": {"hookEventName": "PostToolUse", "updatedToolOutput": {"type": "text", "file": file}}})
}

/// What a tool of the host does to the file or folder that it names; nothing if it names none.
fn acts_of(tool: &str) -> &'static [Act] {
    match tool {
        "Read" => &[Act::Read],
        "Grep" => &[Act::Search, Act::Read],
        "Glob" => &[Act::List],
        "Edit" | "MultiEdit" | "NotebookEdit" => &[Act::Read, Act::Edit],
        // It may replace what is there.
        "Write" => &[Act::Write, Act::Edit],
        _ => &[],
    }
}

/// The hook's answer before a call: denied if a rule of the workspace denies the file, and for a person to decide if one asks.
pub(crate) fn before_call(engine: &Engine, caller: &Caller, given: &Map<String, Value>) -> String {
    let acts = acts_of(&text(given, "tool").unwrap_or_default());
    let names = named(given);
    if names.is_empty() || acts.is_empty() {
        return UNTOUCHED.to_owned();
    }
    let mut verdict = Effect::Allow;
    for (name, act) in names.iter().flat_map(|name| acts.iter().map(move |act| (name, act))) {
        match ruled(engine, caller, name, *act) {
            Ok(effect) => verdict = verdict.max(effect),
            Err(Error::Policy(_)) => {
                return decided(
                    "deny",
                    "readproof: the rules of this workspace cannot be read, so every file is denied",
                );
            }
            // Outside the workspace, or not a name: the host decides.
            Err(_) => {}
        }
    }
    match verdict {
        Effect::Allow => UNTOUCHED.to_owned(),
        Effect::Ask => decided("ask", "readproof: a rule of this workspace asks a person about this"),
        Effect::Deny => decided("deny", "readproof: a rule of this workspace denies this"),
    }
}

/// The names that a call may mean to the host: it takes blanks away around a name and resolves it. A link from elsewhere may lead into
/// the workspace, so where a name leads counts too.
fn named(given: &Map<String, Value>) -> BTreeSet<String> {
    let cwd = text(given, "cwd").unwrap_or_else(|| "/".to_owned());
    let mut names = BTreeSet::new();
    // What a call does not have stays as the hook has it written.
    for (field, unfilled) in [("path", "file_path"), ("folder", "path"), ("notebook", "notebook_path")] {
        let unfilled = format!("${{tool_input.{unfilled}}}");
        let Some(name) = given.get(field).and_then(Value::as_str) else { continue };
        if name.is_empty() || name == unfilled {
            continue;
        }
        // To the host, its own folder is the one that it works in.
        let of_host = name.trim().strip_prefix("/proc/self/cwd").map(|rest| format!("{cwd}{rest}"));
        for name in [Some(name), Some(name.trim()), of_host.as_deref()].into_iter().flatten() {
            names.insert(name.to_owned());
            if !name.starts_with('~') {
                names.insert(resolve(name, &cwd));
            }
        }
    }
    names
}

/// What the rules say about a name, and about the size of what is there.
fn ruled(engine: &Engine, caller: &Caller, path: &str, act: Act) -> Result<Effect, Error> {
    let perform = |operation| {
        let mut nobody = LoggedSession::named(None);
        engine.perform(Call { caller, conversation: &mut nobody, operation, control: Control::WAIT })
    };
    let asked = Operation::CheckPolicy { path: path.to_owned(), act: Some(act), caller: None };
    let Outcome::PolicyChecked(checked) = perform(asked)? else { return Ok(Effect::Allow) };
    let rulings = || checked.acts.iter().map(|ruled| &ruled.ruling);
    let by_name = rulings().map(|ruling| ruling.verdict.effect()).max().unwrap_or(Effect::Allow);
    if by_name == Effect::Deny || rulings().all(|ruling| ruling.ask_above.is_none() && ruling.deny_above.is_none()) {
        return Ok(by_name);
    }
    let size = match perform(Operation::Stat { path: path.to_owned() }) {
        Ok(Outcome::Stat(stat)) => stat.size_bytes.unwrap_or(0),
        Ok(_) | Err(_) => 0,
    };
    let is_larger = |limit: &Option<SizeLimit>| limit.as_ref().is_some_and(|limit| size > limit.bytes);
    let by_size = rulings().map(|ruling| match (is_larger(&ruling.deny_above), is_larger(&ruling.ask_above)) {
        (true, _) => Effect::Deny,
        (false, true) => Effect::Ask,
        (false, false) => Effect::Allow,
    });
    Ok(by_size.fold(by_name, Effect::max))
}

fn decided(decision: &str, why: &str) -> String {
    json!({"hookSpecificOutput": {
        "hookEventName": "PreToolUse", "permissionDecision": decision, "permissionDecisionReason": why,
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
