//! Takes what the rules deny out of what the host's own searches found, in the shape that the host gave. A line counts as one of
//! every file whose name it can begin with, so that nothing of a denied file is left; lines that begin with no name are left out.

use readproof_core::{
    operation::{Caller, Operation},
    policy::{Act, Effect},
};
use readproof_engine::{Call, Control, Engine, Error, LoggedSession, Outcome};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

use super::{UNTOUCHED, ruled, text};

/// Asked after each `Grep` and `Glob`.
pub(crate) const AFTER_SEARCH: &str = "claude_code_after_search";

/// What stands between places of a file, or of two.
const BETWEEN: &str = "--";

/// The hook's answer to a search: what it found, without denied files; nothing if none is denied.
pub(crate) fn after_search(engine: &Engine, caller: &Caller, given: &Map<String, Value>) -> String {
    let parsed = |name: &str| text(given, name).and_then(|json| serde_json::from_str::<Map<String, Value>>(&json).ok());
    let (Some(input), Some(mut found)) = (parsed("input"), parsed("response")) else { return UNTOUCHED.to_owned() };
    if input.get("path").and_then(Value::as_str).is_some_and(|path| is_file(engine, caller, path)) {
        // Denied before the call, or not at all.
        return UNTOUCHED.to_owned();
    }
    let folder = text(given, "cwd").unwrap_or_default();
    // `Grep` says in which mode it searched.
    let acts: &[Act] = if found.contains_key("mode") { &[Act::Search, Act::Read] } else { &[Act::List] };
    let mut known: BTreeMap<String, bool> = BTreeMap::new();
    let mut denied = |name: &str| {
        if let Some(known) = known.get(name) {
            return *known;
        }
        let path = if name.starts_with('/') { name.to_owned() } else { format!("{folder}/{name}") };
        let is_denied = acts.iter().any(|act| match ruled(engine, caller, &path, *act) {
            // Nobody can be asked about one line of many.
            Ok(effect) => effect != Effect::Allow,
            // Outside the workspace the host decides.
            Err(error) => matches!(error, Error::Policy(_)),
        });
        known.insert(name.to_owned(), is_denied);
        is_denied
    };
    let numbered = input.get("-n") != Some(&Value::Bool(false));
    if !filter(&mut found, numbered, &mut denied) {
        return UNTOUCHED.to_owned();
    }
    json!({"hookSpecificOutput": {"hookEventName": "PostToolUse", "updatedToolOutput": found}}).to_string()
}

fn is_file(engine: &Engine, caller: &Caller, path: &str) -> bool {
    let mut nobody = LoggedSession::named(None);
    let operation = Operation::Stat { path: path.to_owned() };
    let call = Call { caller, conversation: &mut nobody, operation, control: Control::WAIT };
    matches!(engine.perform(call), Ok(Outcome::Stat(stat)) if stat.kind == Some("file"))
}

/// Leaves out what is denied. Whether anything was.
fn filter(found: &mut Map<String, Value>, numbered: bool, denied: &mut dyn FnMut(&str) -> bool) -> bool {
    let mut dropped = 0;
    if let Some(Value::Array(names)) = found.get_mut("filenames") {
        let before = names.len();
        names.retain(|name| name.as_str().is_some_and(|name| !denied(name)));
        dropped = before - names.len();
    }
    let mode = found.get("mode").and_then(Value::as_str).unwrap_or_default().to_owned();
    if let Some(content) = found.get("content").and_then(Value::as_str) {
        let lines: Vec<&str> = content.split('\n').filter(|_| !content.is_empty()).collect();
        let kept: Vec<&str> = match mode.as_str() {
            "count" => {
                lines.iter().copied().filter(|line| counted(line).is_some_and(|(name, _)| !denied(name))).collect()
            }
            _ => without_ends(lines.iter().copied().filter(|line| is_shown(line, numbered, denied)).collect()),
        };
        dropped += lines.len() - kept.len();
        let (text, count) = (kept.join("\n"), kept.len());
        let matches: u64 = kept.iter().filter_map(|line| counted(line)).map(|(_, count)| count).sum();
        found.insert("content".to_owned(), json!(text));
        if mode == "count" {
            found.insert("numFiles".to_owned(), json!(count));
            found.insert("numMatches".to_owned(), json!(matches));
        } else {
            found.insert("numLines".to_owned(), json!(count));
        }
    }
    if let Some(names) = found.get("filenames").and_then(Value::as_array).map(Vec::len)
        && !found.contains_key("content")
    {
        found.insert("numFiles".to_owned(), json!(names));
    }
    for total in ["totalFiles", "totalLines", "totalMatches"] {
        if let Some(count) = found.get(total).and_then(Value::as_u64) {
            found.insert(total.to_owned(), json!(count.saturating_sub(dropped as u64)));
        }
    }
    dropped > 0
}

/// `name:12`
fn counted(line: &str) -> Option<(&str, u64)> {
    let (name, count) = line.rsplit_once(':')?;
    Some((name, count.parse().ok()?))
}

/// Whether no name that a line can begin with is denied.
fn is_shown(line: &str, numbered: bool, denied: &mut dyn FnMut(&str) -> bool) -> bool {
    if line == BETWEEN {
        return true;
    }
    let any: Vec<&str> =
        line.match_indices([':', '-']).map(|(at, _)| &line[..at]).filter(|name| !name.is_empty()).collect();
    let before_numbers: Vec<&str> =
        any.iter().copied().filter(|name| numbered && is_number(&line[name.len()..])).collect();
    let names = if before_numbers.is_empty() { any } else { before_numbers };
    !names.is_empty() && !names.into_iter().any(denied)
}

/// Whether a text begins with `:12:` or `-12-`.
fn is_number(rest: &str) -> bool {
    let Some(between) = rest.chars().next() else { return false };
    let after = rest[1..].trim_start_matches(|c: char| c.is_ascii_digit());
    after.len() < rest.len() - 1 && after.starts_with(between)
}

/// Without separators that separate nothing.
fn without_ends(lines: Vec<&str>) -> Vec<&str> {
    let mut kept: Vec<&str> = Vec::new();
    for line in lines {
        if line != BETWEEN || kept.last().is_some_and(|last| *last != BETWEEN) {
            kept.push(line);
        }
    }
    if kept.last() == Some(&BETWEEN) {
        kept.pop();
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is left of a result if `secret.txt` and `s-1:2.txt` are denied.
    fn left(found: Value, numbered: bool) -> Option<Value> {
        let Value::Object(mut found) = found else { return None };
        let mut denied = |name: &str| ["secret.txt", "s-1:2.txt"].contains(&name);
        filter(&mut found, numbered, &mut denied).then_some(Value::Object(found))
    }

    #[test]
    fn names() {
        let found = json!({"mode": "files_with_matches", "filenames": ["a.txt", "secret.txt"], "numFiles": 2, "totalFiles": 9, "appliedLimit": 2});
        let expected = json!({"mode": "files_with_matches", "filenames": ["a.txt"], "numFiles": 1, "totalFiles": 8, "appliedLimit": 2});
        assert_eq!(left(found, true), Some(expected));
        let found =
            json!({"filenames": ["s-1:2.txt"], "durationMs": 7, "numFiles": 1, "truncated": false, "totalMatches": 1});
        let expected = json!({"filenames": [], "durationMs": 7, "numFiles": 0, "truncated": false, "totalMatches": 0});
        assert_eq!(left(found, true), Some(expected));
        assert_eq!(left(json!({"filenames": ["a.txt"], "numFiles": 1}), true), None);
    }

    #[test]
    fn counts() {
        let found = json!({"mode": "count", "filenames": [], "content": "a.txt:3\ns-1:2.txt:4\nb.txt:1", "numFiles": 3, "numMatches": 8});
        let expected =
            json!({"mode": "count", "filenames": [], "content": "a.txt:3\nb.txt:1", "numFiles": 2, "numMatches": 4});
        assert_eq!(left(found, true), Some(expected));
    }

    #[test]
    fn lines() {
        let check = |content: &str, numbered, expected: Option<&str>| {
            let lines = content.split('\n').count();
            let found = json!({"mode": "content", "filenames": [], "numFiles": 0, "content": content, "numLines": lines, "totalLines": lines});
            let left = left(found, numbered);
            assert_eq!(left.as_ref().map(|left| left["content"].as_str().unwrap()), expected, "{content}");
            if let Some(left) = left {
                let count = left["content"].as_str().unwrap().split('\n').filter(|line| !line.is_empty()).count();
                assert_eq!(left["numLines"], json!(count));
            }
        };
        check("a.txt:1:x\nsecret.txt:1:y\na.txt:2:z", true, Some("a.txt:1:x\na.txt:2:z"));
        check("a.txt-1-x\n--\nsecret.txt-1-y\nsecret.txt:2:y\n--\nb.txt:2:z", true, Some("a.txt-1-x\n--\nb.txt:2:z"));
        check("secret.txt:1:y\n--\nb.txt:2:z", true, Some("b.txt:2:z"));
        check("s-1:2.txt:3:y", true, Some(""));
        check("s-1:2.txt:y", false, Some(""));
        // What a line says is not its name.
        check("a.txt:1:secret.txt:2", true, None);
        check("secret.txt:y\na.txt:z", false, Some("a.txt:z"));
        check("secret.txt: binary file matches", true, Some(""));
        check("a.txt:1:x", true, None);
    }
}
