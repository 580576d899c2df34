//! Folders and outlines as text and as JSON, for the command line and the tools. Names are escaped, as they may contain anything;
//! lines of files are passed on unchanged.

use readproof_core::path::label;
use readproof_engine::{Listed, ListedEntry, ListedKind, Outlined, Outlines};
use serde_json::{Value, json};
use std::fmt::Write as _;

use super::symbols::symbol_json;

/// A folder by its path, then what is directly in it, indented.
pub(crate) fn list_text(listed: &Listed) -> String {
    let mut text = String::new();
    for ListedEntry { name, what } in &listed.entries {
        // Writing to a string cannot fail.
        let _ = match what {
            ListedKind::Folder { open: true, .. } => writeln!(text, "{}/", label(name)),
            ListedKind::Folder { files, open: false } => writeln!(text, "{}/ {}", label(name), counted(*files, "file")),
            ListedKind::File { bytes, lines } => {
                let size = size(*bytes);
                let lines = lines.map_or_else(String::new, |lines| format!(" {},", counted(lines, "line")));
                writeln!(text, "{}{lines} {size}", shown_name(&listed.path, name))
            }
        };
    }
    text
}

/// A file of the listed folder by its whole name, one further in by its last part under its folder.
fn shown_name(folder: &str, name: &str) -> String {
    let prefix = if folder == "." { String::new() } else { format!("{folder}/") };
    match name.strip_prefix(&prefix).unwrap_or(name).rsplit_once('/') {
        Some((_, last)) => format!("  {}", label(last)),
        None => label(name),
    }
}

pub(crate) fn counted(count: u64, what: &str) -> String {
    let plural = if what.ends_with("ch") { "es" } else { "s" };
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}{plural}") }
}

fn size(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB")];
    match UNITS.iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => format!("{} {name}", bytes.div_ceil(*unit)),
        None => format!("{bytes} B"),
    }
}

/// What is said beside a list: how many there are, and how to go on.
pub(crate) fn list_notice(listed: &Listed) -> Vec<String> {
    let mut said = vec![format!("{}: {}", label(&listed.path), counted(listed.files, "file"))];
    if listed.left_out > 0 {
        said.push(format!("{} more names are not shown: list a folder, or give glob or limit", listed.left_out));
    } else if listed.deeper {
        said.push(format!("{} deep; list a folder, or give depth", counted(listed.depth.into(), "level")));
    }
    if listed.files == 0 {
        said.push("ignored and untracked hidden files are left out; hidden=true or ignored=true shows them".to_owned());
    }
    said
}

pub(crate) fn list_json(listed: &Listed) -> Value {
    let entry = |entry: &ListedEntry| match entry.what {
        ListedKind::Folder { files, open } => {
            json!({"path": entry.name, "kind": "directory", "files": files, "open": open})
        }
        ListedKind::File { bytes, lines } => {
            json!({"path": entry.name, "kind": "file", "size_bytes": bytes, "lines": lines})
        }
    };
    json!({
        "ok": true,
        "path": listed.path,
        "files": listed.files,
        "depth": listed.depth,
        "truncated": listed.left_out > 0 || listed.deeper,
        "entries": listed.entries.iter().map(entry).collect::<Vec<_>>(),
    })
}

/// Each definition by the lines of its signature as the file has them, the first with the range of the definition.
pub(crate) fn outlines_text(outlines: &Outlines) -> String {
    let mut text = String::new();
    for file in &outlines.files {
        if outlines.is_folder {
            let _ = writeln!(text, "{} ({})", label(&file.path), counted(file.total_lines.into(), "line"));
        }
        for (symbol, lines) in file.symbols.iter().zip(&file.signatures) {
            let mut lines = lines.iter();
            if let Some((number, line)) = lines.next() {
                let last = symbol.lines.last();
                let range = if last > *number { format!("{number}-{last}") } else { number.to_string() };
                let _ = writeln!(text, "{range}:{line}");
            }
            for (number, line) in lines {
                let _ = writeln!(text, "{number}:{line}");
            }
        }
    }
    text
}

pub(crate) fn outlines_notice(outlines: &Outlines) -> Vec<String> {
    let shown: usize = outlines.files.iter().map(|file| file.symbols.len()).sum();
    let mut said = vec![format!("{}: {}", label(&outlines.path), counted(shown as u64, "definition"))];
    if let [file] = &outlines.files[..]
        && !outlines.is_folder
    {
        said.push(counted(file.total_lines.into(), "line"));
    }
    if outlines.left_out > 0 {
        let how = if outlines.is_folder { "outline one file" } else { "search mode=symbol finds them by name" };
        said.push(format!("{} further in are not shown: {how}", outlines.left_out));
    }
    if outlines.files_left_out > 0 {
        said.push(format!("{} not shown: outline a folder in it", counted(outlines.files_left_out, "file")));
    }
    said
}

pub(crate) fn outlines_json(outlines: &Outlines) -> Value {
    let file = |file: &Outlined| {
        json!({
            "path": file.path,
            "language": file.language,
            "total_lines": file.total_lines,
            "symbols": file.symbols.iter().map(|symbol| symbol_json(None, symbol)).collect::<Vec<_>>(),
        })
    };
    json!({
        "ok": true,
        "path": outlines.path,
        "files": outlines.files.iter().map(file).collect::<Vec<_>>(),
        "truncated": outlines.left_out > 0 || outlines.files_left_out > 0,
        "unknown_files": outlines.unknown,
    })
}
