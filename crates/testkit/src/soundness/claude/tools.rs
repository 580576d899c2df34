//! The program's own tools, as the real program was seen to do their work (`integrations/hosts/plugin`).

use serde_json::{Value, json};
use std::{fs, path::Path};

use super::request::pieces;

/// What a tool gives back: the text for the model, whether it failed, and what the program itself knows of it.
pub(super) struct Done {
    pub(super) text: String,
    pub(super) failed: bool,
    pub(super) own: Value,
}

impl Done {
    pub(super) fn failed(words: &str) -> Self {
        let (text, own) = (format!("<tool_use_error>{words}</tool_use_error>"), json!(format!("Error: {words}")));
        Self { text, failed: true, own }
    }

    fn changed(path: &str, own: Value) -> Self {
        let text = format!(
            "The file {path} has been updated successfully. (file state is current in your context — no need to Read it back)"
        );
        Self { text, failed: false, own }
    }
}

/// The text of a file as the program sees it.
pub(super) fn text_of(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| pieces(&text).join("\n"))
}

/// `Read`: the response that a hook is given, or a failure.
pub(super) fn read(path: &str, offset: Option<i64>, limit: Option<u64>) -> Result<Value, Done> {
    let Some(text) = text_of(Path::new(path)) else {
        let words = "File does not exist. Note: your current working directory is elsewhere.";
        return Err(Done { text: words.to_owned(), failed: true, own: json!(format!("Error: {words}")) });
    };
    let all: Vec<&str> = text.split('\n').collect();
    let start = offset.unwrap_or(1);
    let skip = usize::try_from(start.max(1) - 1).unwrap_or(usize::MAX);
    let most = limit.map_or(all.len(), |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let shown: Vec<&str> = all.iter().skip(skip).take(most).copied().collect();
    Ok(json!({"type": "text", "file": {
        "filePath": path, "content": shown.join("\n"), "numLines": shown.len(), "startLine": start, "totalLines": all.len(),
    }}))
}

/// What the model is shown of a response of `Read`.
pub(super) fn shown(response: &Value) -> String {
    let file = &response["file"];
    let content = file["content"].as_str().unwrap_or_default();
    let (start, total) = (file["startLine"].as_i64().unwrap_or(1), file["totalLines"].as_u64().unwrap_or(0));
    if content.is_empty() {
        let words = if file["numLines"] == 0 {
            format!("the file exists but is shorter than the provided offset ({start}). The file has {total} lines.")
        } else if total == 1 {
            "the file exists but the contents are empty.".to_owned()
        } else {
            return format!("{start}\t");
        };
        return format!("<system-reminder>Warning: {words}</system-reminder>");
    }
    let rows: Vec<String> =
        (start..).zip(content.split('\n')).map(|(number, line)| format!("{number}\t{line}")).collect();
    rows.join("\n")
}

/// How an edit came about.
pub(super) struct Edit<'a> {
    pub(super) old: &'a str,
    pub(super) new: &'a str,
    pub(super) all: bool,
    /// What a person or another hook made of `new`.
    pub(super) instead: Option<&'a str>,
}

/// `Edit`: the file is changed as it is, with its own line ends.
pub(super) fn edit(path: &str, edit: &Edit<'_>) -> Result<Done, std::io::Error> {
    let Some(raw) = fs::read_to_string(path).ok() else { return Ok(Done::failed("File does not exist.")) };
    let before = pieces(&raw).join("\n");
    let count = before.matches(edit.old).count();
    if edit.old.is_empty() || edit.old == edit.new {
        return Ok(Done::failed("No changes to make: old_string and new_string are exactly the same."));
    }
    if count == 0 {
        return Ok(Done::failed(&format!("String to replace not found in file.\nString: {}", edit.old)));
    }
    if count > 1 && !edit.all {
        return Ok(Done::failed(&format!("Found {count} matches of the string to replace, but replace_all is false.")));
    }
    let new = edit.instead.unwrap_or(edit.new);
    // Where nothing is to stand, the end of the line goes too.
    let line = format!("{}\n", edit.old);
    let old =
        if new.is_empty() && !edit.old.ends_with('\n') && before.contains(&line) { line.as_str() } else { edit.old };
    let after = if edit.all { before.replace(old, new) } else { before.replacen(old, new, 1) };
    put(path, &raw, &after)?;
    let own = json!({
        "filePath": path, "oldString": edit.old, "newString": new, "originalFile": before, "structuredPatch": patch(&before, &after),
        "userModified": false, "replaceAll": edit.all,
    });
    let mut done = Done::changed(path, own);
    if edit.all {
        done.text = format!(
            "The file {path} has been updated. All occurrences were successfully replaced. (file state is current in your context — no \
             need to Read it back)"
        );
    }
    Ok(done)
}

/// `Write`: the content as it is.
pub(super) fn write(path: &str, content: &str, instead: Option<&str>) -> Result<Done, std::io::Error> {
    let before = text_of(Path::new(path));
    let written = instead.unwrap_or(content);
    fs::write(path, written)?;
    let kind = if before.is_some() { "update" } else { "create" };
    let own = json!({"type": kind, "filePath": path, "content": written, "structuredPatch": [], "originalFile": before, "userModified": false});
    let mut done = Done::changed(path, own);
    if before.is_none() {
        done.text = format!(
            "File created successfully at: {path} (file state is current in your context — no need to Read it back)"
        );
    }
    Ok(done)
}

/// `Bash`: what a command printed, without the blanks around it.
pub(super) fn shell(printed: &str, code: i32) -> Done {
    let text = printed.trim();
    if code != 0 {
        let text = format!("Exit code {code}\n{text}").trim().to_owned();
        return Done { own: json!(format!("Error: {text}")), text, failed: true };
    }
    let own = json!({"stdout": text, "stderr": "", "interrupted": false, "isImage": false, "noOutputExpected": false});
    let text = if text.is_empty() { "(Bash completed with no output)" } else { text };
    Done { text: text.to_owned(), failed: false, own }
}

/// Line ends and byte order mark stay as they were.
fn put(path: &str, raw: &str, after: &str) -> Result<(), std::io::Error> {
    let mark = if raw.starts_with('\u{feff}') { "\u{feff}" } else { "" };
    let after = if raw.contains("\r\n") { after.replace('\n', "\r\n") } else { after.to_owned() };
    fs::write(path, format!("{mark}{after}"))
}

/// One hunk without lines around it.
fn patch(before: &str, after: &str) -> Value {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.split('\n').collect(), after.split('\n').collect());
    let same = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let rest = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let rest = rest.min(old.len() - same).min(new.len() - same);
    let (gone, come) = (&old[same..old.len() - rest], &new[same..new.len() - rest]);
    let lines: Vec<String> =
        gone.iter().map(|line| format!("-{line}")).chain(come.iter().map(|line| format!("+{line}"))).collect();
    json!([{"oldStart": same + 1, "oldLines": gone.len(), "newStart": same + 1, "newLines": come.len(), "lines": lines}])
}
