//! The tools that look back: which files there are, who changed what, and the way back. Their words serve every wire.

use readproof_core::{
    limits::TEXT_CHARS,
    operation::{
        AnswerLimit, Blame, Changes, History, Leaf, ListFiles, Operation, OutsideChanges, Rewind, ShowVersion,
    },
    path::label,
};
use readproof_engine::{
    Blamed, By, ChangedFile, ChangesFound, FilesListed, Gap, HistoryEntry, HistoryListed, ListedFile, Rewound,
    RewoundFile, ShownVersion, Undo, VersionId,
};
use readproof_words::{disk::obstacle as obstacle_words, hosts::gap as gap_words, notice::notices as words};
use serde_json::{Value, json};

use super::{
    call::{Refused, ToolCall, ToolOutput, Tools},
    editing,
};
use crate::report::listed::counted;

/// How much of a text or of a blame one answer shows.
const MOST: AnswerLimit = AnswerLimit { lines: u32::MAX, chars: TEXT_CHARS };

fn text(call: &ToolCall<'_>, name: &str) -> Option<String> {
    call.args.text(name).map(str::to_owned)
}

pub(super) fn files(tools: &Tools<'_>, call: &ToolCall<'_>) -> Result<ToolOutput, Refused> {
    let list = |name: &str| -> Vec<String> {
        let words = call.args.text(name).unwrap_or_default().split(',');
        words.map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect()
    };
    let limit = call.args.number("limit").map(|limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let asked = ListFiles { globs: list("globs"), tags: list("tags"), changed: call.args.flag("changed"), limit };
    let found: FilesListed = tools.ask(call, Operation::ListFiles(asked))?.try_into()?;
    Ok(files_said(&found))
}

pub(super) fn history(tools: &Tools<'_>, call: &ToolCall<'_>) -> Result<ToolOutput, Refused> {
    let limit = call.args.number("limit").map(|limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let asked = History { path: text(call, "filepath"), limit };
    let found: HistoryListed = tools.ask(call, Operation::History(asked))?.try_into()?;
    Ok(history_said(&found))
}

pub(super) fn show(tools: &Tools<'_>, call: &ToolCall<'_>) -> Result<ToolOutput, Refused> {
    let version = text(call, "version").unwrap_or_default();
    let asked = ShowVersion { version, path: text(call, "filepath"), most: MOST };
    let found: ShownVersion = tools.ask(call, Operation::ShowVersion(asked))?.try_into()?;
    Ok(version_said(&found))
}

pub(super) fn blame(tools: &Tools<'_>, call: &ToolCall<'_>) -> Result<ToolOutput, Refused> {
    let path = text(call, "filepath").unwrap_or_default();
    let asked = Blame { path, offset: call.args.number("offset"), limit: call.args.number("limit"), most: MOST };
    let found: Blamed = tools.ask(call, Operation::Blame(asked))?.try_into()?;
    Ok(blame_said(&found))
}

pub(super) fn changes(tools: &Tools<'_>, call: &ToolCall<'_>) -> Result<ToolOutput, Refused> {
    let found: ChangesFound =
        tools.ask(call, Operation::Changes(Changes { since: text(call, "since") }))?.try_into()?;
    Ok(changes_said(&found))
}

pub(super) fn checkpoint(tools: &Tools<'_>, call: &ToolCall<'_>) -> Result<ToolOutput, Refused> {
    let name = text(call, "name");
    let id: VersionId = tools.ask(call, Operation::Checkpoint { name: name.clone() })?.try_into()?;
    Ok(checkpoint_said(id, name.as_deref()))
}

pub(super) fn rollback(tools: &Tools<'_>, call: &ToolCall<'_>) -> Result<ToolOutput, Refused> {
    let asked = Rewind {
        to: text(call, "version").or(text(call, "checkpoint")).unwrap_or_default(),
        paths: text(call, "filepath").into_iter().collect(),
        outside: OutsideChanges::default(),
        leaf: Leaf::Stays,
        everything: call.args.flag("everything"),
        assume: call.args.flag("assume"),
        dry_run: call.args.flag("dry_run"),
    };
    let found: Rewound = tools.ask(call, Operation::Rewind(asked))?.try_into()?;
    Ok(rewound_said(&found))
}

pub(crate) fn files_said(found: &FilesListed) -> ToolOutput {
    let line = |file: &ListedFile| {
        let size = match (file.lines, file.gap) {
            (Some(lines), _) => format!("{lines} lines"),
            (None, Some(gap)) => format!("{} bytes, {}", file.bytes, gap.as_str()),
            (None, None) => format!("{} bytes", file.bytes),
        };
        let version = file.version.map(|version| format!("  {version}")).unwrap_or_default();
        format!("{}  {size}  {}{version}", label(&file.path), file.tag.as_str())
    };
    let lines: Vec<String> = found.files.iter().map(line).collect();
    let shown = found.files.len() as u64;
    let mut said = match (found.off, shown < found.total) {
        (true, _) => "files are not registered, as history = \"off\"".to_owned(),
        (false, true) => format!("{shown} of {} files; narrow it with globs or tags", found.total),
        (false, false) => format!("{} files", found.total),
    };
    if found.odd > 0 {
        said = format!("{said}; {} cannot be spelt as text and is not listed", found.odd);
    }
    let object = |file: &ListedFile| {
        json!({
            "path": file.path,
            "size_bytes": file.bytes,
            "modified_unix_ms": file.modified_ms,
            "sha256": file.hash.map(|hash| hash.to_string()),
            "lines": file.lines,
            "language": file.language,
            "tag": file.tag.as_str(),
            "sensitive": file.gap == Some(Gap::Sensitive),
            "not_kept": file.gap.map(Gap::as_str),
            "version_id": file.version.map(|version| version.to_string()),
        })
    };
    let contract = json!({
        "ok": true,
        "files": found.files.iter().map(object).collect::<Vec<_>>(),
        "total": found.total,
        "truncated": shown < found.total,
    });
    output(lines.join("\n"), said, contract, "text")
}

/// Who made a change, in a word or two.
pub(super) fn who(by: &By) -> String {
    if by.is_outside() {
        return "outside".to_owned();
    }
    let client = by.client.as_deref().map(|client| format!(" {client}")).unwrap_or_default();
    // Elsewhere it is a number that says nothing.
    let session = by.conversation.as_deref().filter(|_| by.surface == "cli");
    let session = session.map(|session| format!(" session {session}")).unwrap_or_default();
    label(&format!("{}{client}{session}", by.surface))
}

pub(crate) fn entry_line(entry: &HistoryEntry) -> String {
    format!("{}  {}  {}", entry.id, time(entry.at), what(entry))
}

/// What was done, by whom, to which files.
pub(super) fn what(entry: &HistoryEntry) -> String {
    let file = |(file, _): &(ChangedFile, Option<u64>)| {
        let what = if file.removed { " (removed)" } else { "" };
        let gap = file.gaps.after.map(|gap| format!(" ({})", gap.as_str())).unwrap_or_default();
        let from = file.from.as_ref().map(|from| format!(" from {}", label(from))).unwrap_or_default();
        format!("{}{what}{gap}{from}", label(&file.path))
    };
    let mut files: Vec<String> = entry.files.iter().take(8).map(file).collect();
    if entry.files.len() > 8 {
        files.push(format!("{} more", entry.files.len() - 8));
    }
    let name = entry.name.as_deref().map(|name| format!(" {}", label(name))).unwrap_or_default();
    let files = if files.is_empty() { String::new() } else { format!("  {}", files.join(", ")) };
    let by = if entry.by.is_outside() { String::new() } else { format!("  {}", who(&entry.by)) };
    format!("{}{name}{by}{files}", entry.operation)
}

pub(crate) fn entry_object(entry: &HistoryEntry) -> Value {
    let file = |(file, bytes): &(ChangedFile, Option<u64>)| {
        json!({
            "path": file.path,
            "from": file.from,
            "removed": file.removed,
            "before": file.before,
            "after": file.after,
            "size_bytes": bytes,
            "gap_before": file.gaps.before.map(Gap::as_str),
            "gap_after": file.gaps.after.map(Gap::as_str),
        })
    };
    json!({
        "version_id": entry.id.to_string(),
        "operation": entry.operation,
        "name": entry.name,
        "by": entry.by,
        "at_unix_ms": entry.at,
        "files": entry.files.iter().map(file).collect::<Vec<_>>(),
    })
}

pub(crate) fn history_said(found: &HistoryListed) -> ToolOutput {
    let lines: Vec<String> = found.entries.iter().map(entry_line).collect();
    let shown = found.entries.len() as u64;
    let of = found.path.as_deref().map(|path| format!("{}: ", label(path))).unwrap_or_default();
    let said = match (found.total, shown < found.total) {
        (0, _) => format!("{of}no change is recorded"),
        (total, true) => format!("{of}the newest {shown} of {total} changes"),
        (total, false) => format!("{of}{total} changes, the newest first"),
    };
    let contract = json!({
        "ok": true,
        "path": found.path,
        "versions": found.entries.iter().map(entry_object).collect::<Vec<_>>(),
        "total": found.total,
        "truncated": shown < found.total,
    });
    output(lines.join("\n"), said, contract, "text")
}

pub(crate) fn version_said(found: &ShownVersion) -> ToolOutput {
    let (shown, total) = found.lines;
    let lines = if shown < total { format!("lines 1-{shown} of {total}") } else { format!("{total} lines") };
    let said = format!("{}: {}, {lines}", label(&found.path), found.version);
    let contract = json!({
        "ok": true,
        "path": found.path,
        "version_id": found.version.to_string(),
        "sha256": found.hash.to_string(),
        "lines": total,
        "truncated": shown < total,
    });
    let is_plain = true;
    ToolOutput { is_plain, ..output(found.text.clone(), said, contract, "content") }
}

pub(crate) fn blame_said(found: &Blamed) -> ToolOutput {
    let name = |version: Option<VersionId>| version.map_or_else(|| "-".to_owned(), |version| version.to_string());
    let width = found.lines.iter().map(|line| name(line.version).len()).max().unwrap_or(1);
    let lines: Vec<String> = found
        .lines
        .iter()
        .map(|line| format!("{:width$} {}: {}", name(line.version), line.number, line.text))
        .collect();
    let known: Vec<String> = found
        .changes
        .iter()
        .map(|(id, (operation, by, _))| match by.is_outside() {
            true => format!("{id} is {operation}"),
            false => format!("{id} is {operation} by {}", who(by)),
        })
        .collect();
    let known = if known.is_empty() { "no change is recorded".to_owned() } else { known.join("; ") };
    let cut = if found.is_cut { "; only a part fits, so name lines" } else { "" };
    let erased: Vec<String> = found.erased.iter().take(8).map(ToString::to_string).collect();
    let more = if found.erased.len() > 8 { " and others" } else { "" };
    let erased = match erased.is_empty() {
        true => String::new(),
        false => format!("; the text of {}{more} was erased, so who wrote older lines is not known", erased.join(", ")),
    };
    let said = format!("{}: {known}{erased}{cut}", label(&found.path));
    let line = |line: &readproof_engine::BlamedLine| json!({"line": line.number, "version_id": line.version.map(|id| id.to_string()), "text": line.text});
    let change = |(id, (operation, by, at)): (&VersionId, &(String, By, u64))| json!({"version_id": id.to_string(), "operation": operation, "by": by, "at_unix_ms": at});
    let contract = json!({
        "ok": true,
        "path": found.path,
        "lines": found.lines.iter().map(line).collect::<Vec<_>>(),
        "changes": found.changes.iter().map(change).collect::<Vec<_>>(),
        "erased": found.erased.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "total_lines": found.total,
        "truncated": found.is_cut,
    });
    output(lines.join("\n"), said, contract, "text")
}

pub(crate) fn changes_said(found: &ChangesFound) -> ToolOutput {
    let since = if found.since == VersionId(0) { "the beginning".to_owned() } else { found.since.to_string() };
    let listed: Vec<String> =
        found.entries.iter().take(10).map(|entry| format!("{} {}", entry.id, what(entry))).collect();
    let mut said = match found.total {
        0 => format!("nobody else changed anything since {since}"),
        total => format!("{total} changes by others since {since}: {}", listed.join("; ")),
    };
    if !found.unshown.is_empty() {
        let names: Vec<String> = found.unshown.iter().take(20).map(|path| label(path)).collect();
        said = format!("{said}; not shown, or not whole: {}", names.join(", "));
    }
    let contract = json!({
        "ok": true,
        "since": found.since.to_string(),
        "changes": found.entries.iter().map(entry_object).collect::<Vec<_>>(),
        "total": found.total,
        "not_shown": found.unshown,
    });
    output(found.diff.clone(), said, contract, "diff")
}

pub(crate) fn checkpoint_said(id: VersionId, name: Option<&str>) -> ToolOutput {
    let called = name.map(|name| format!(", called {}", label(name))).unwrap_or_default();
    let contract = json!({"ok": true, "checkpoint": id.to_string(), "name": name});
    output(String::new(), format!("checkpoint {id}{called}"), contract, "text")
}

pub(crate) fn undone(file: &RewoundFile) -> String {
    let path = label(&file.path);
    match file.what {
        Undo::Restored => format!("{path}: restored"),
        Undo::Made => format!("{path}: made again"),
        Undo::Removed => format!("{path}: removed"),
        Undo::Merged => format!("{path}: merged with what others changed"),
        Undo::NotKnown(gap) => format!("{path}: left as it is, as its text then is not known: {}", gap_words(gap)),
        Undo::NotKept(gap) => format!("{path}: left as it is, as what is there now cannot be kept: {}", gap_words(gap)),
        Undo::Rules => format!("{path}: left as it is, as it holds rules; name it to restore it"),
        Undo::Denied => format!("{path}: left as it is, as a rule does not let you change it"),
        Undo::Blocked(obstacle) => format!("{path}: left as it is, as {}", obstacle_words(obstacle)),
        Undo::Conflict(Some(id)) => format!("{path}: left as it is, in conflict {id}: others changed the same lines"),
        Undo::Conflict(None) => format!("{path}: left as it is: others changed the same lines"),
    }
}

pub(crate) fn rewound_said(found: &Rewound) -> ToolOutput {
    let left: Vec<String> = found.files.iter().filter(|file| file.what.stays()).map(undone).collect();
    let changed = found.files.len() - left.len();
    let done = match &found.written {
        Some(written) => {
            let undo = written.version.map(|version| format!("; this is {version}")).unwrap_or_default();
            let merged = found.files.iter().filter(|file| file.what == Undo::Merged).count();
            let beside = if merged > 0 { format!(", {merged} merged with what others changed") } else { String::new() };
            format!("{} as at {}{beside}{undo}", counted((changed - merged) as u64, "file"), found.to)
        }
        None if found.files.is_empty() => format!("nothing to undo since {}", found.to),
        None => format!("{} would change, {} would stay", counted(changed as u64, "file"), left.len()),
    };
    let leaf = match found.leaf {
        Some(Some(entry)) => format!("; the session goes on after {entry}"),
        Some(None) => "; the session begins anew".to_owned(),
        None => String::new(),
    };
    let left = if left.is_empty() { String::new() } else { format!("; {}", left.join("; ")) };
    let others = match found.others {
        0 => String::new(),
        count => format!("; {count} more files were changed by others alone: everything=true undoes that too"),
    };
    let plan = || found.files.iter().map(undone).collect::<Vec<_>>().join("\n");
    let text = found.written.as_ref().map_or_else(plan, |written| written.text.clone());
    let mut contract = match &found.written {
        Some(written) => editing::contract("rollback", written),
        None => json!({"ok": true, "success": true, "version_id": null}),
    };
    contract["changed_by_others"] = json!(found.others);
    contract["to"] = json!(found.to.to_string());
    let file = |file: &RewoundFile| {
        let why = match file.what {
            Undo::NotKnown(gap) | Undo::NotKept(gap) => Some(gap.as_str()),
            Undo::Blocked(obstacle) => Some(obstacle.as_str()),
            Undo::Restored
            | Undo::Made
            | Undo::Removed
            | Undo::Merged
            | Undo::Rules
            | Undo::Denied
            | Undo::Conflict(_) => None,
        };
        json!({"path": file.path, "outcome": file.what.as_str(), "why": why})
    };
    contract["rewound"] = found.files.iter().map(file).collect();
    contract["entry"] = json!(found.leaf.flatten().map(|entry| entry.to_string()));
    let notices = found.written.as_ref().map(|written| words(&written.notices)).unwrap_or_default();
    let notices: String = notices.iter().map(|notice| format!("; {notice}")).collect();
    output(text, format!("{done}{leaf}{left}{others}{notices}"), contract, "text")
}

pub(super) fn output(text: String, said: String, contract: Value, text_key: &'static str) -> ToolOutput {
    let text = Some(text).filter(|text| !text.is_empty());
    ToolOutput { text, trailer: Some(format!("[{said}]").into()), contract, text_key, ..ToolOutput::default() }
}

/// A moment in UTC, to the second.
pub(crate) fn time(unix_ms: u64) -> String {
    let (days, seconds) = (unix_ms / 86_400_000, unix_ms / 1000 % 86_400);
    // Days of the proleptic Gregorian calendar, counted from 0000-03-01 in cycles of 400 years.
    let day = days + 719_468;
    let (cycle, of_cycle) = (day / 146_097, day % 146_097);
    let year = (of_cycle - of_cycle / 1460 + of_cycle / 36_524 - of_cycle / 146_096) / 365;
    let of_year = of_cycle - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let (month, date) = (if shifted < 10 { shifted + 3 } else { shifted - 9 }, of_year - (153 * shifted + 2) / 5 + 1);
    let year = cycle * 400 + year + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{date:02} {:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_in_utc() {
        for (ms, text) in [
            (0, "1970-01-01 00:00:00"),
            (951_826_245_999, "2000-02-29 12:10:45"),
            (1_763_419_149_000, "2025-11-17 22:39:09"),
            (4_102_444_799_000, "2099-12-31 23:59:59"),
        ] {
            assert_eq!(time(ms), text);
        }
    }
}
