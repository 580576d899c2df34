//! The dialect that begins with `*** Begin Patch`.

use alloc::{
    string::{String, ToString},
    vec::Vec,
};

use super::{BadPatch, BadPatchWhy, Body, FileChange, FilePatch, Rows, bad, is_fence};
use crate::diff::edit::Piece;

pub(super) const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const END_OF_FILE: &str = "*** End of File";
const ADD: &str = "*** Add File: ";
const DELETE: &str = "*** Delete File: ";
const UPDATE: &str = "*** Update File: ";
const MOVE: &str = "*** Move to: ";

/// Whether a line begins the change of a file.
pub(super) fn names_file(row: &str) -> bool {
    [ADD, DELETE, UPDATE].iter().any(|word| row.starts_with(word))
}

pub(super) fn read(rows: &Rows<'_>, first: usize) -> Result<Vec<(usize, FilePatch)>, BadPatch> {
    let mut at = first + usize::from(!rows.starts(first, ADD) && !names_file(rows.at(first).unwrap_or_default()));
    let mut files = Vec::new();
    while let Some(row) = rows.at(at) {
        let start = at;
        let path = |word: &str| row.strip_prefix(word).map(str::trim);
        let (path, change) = if row.trim_end() == END && files.is_empty() {
            return Err(bad(at, BadPatchWhy::Nothing));
        } else if row.trim_end() == END {
            return closed(rows, at + 1).map(|()| files);
        } else if row.trim().is_empty() {
            at += 1;
            continue;
        } else if let Some(path) = path(ADD) {
            (path, FileChange::Create(added(rows, &mut at)))
        } else if let Some(path) = path(DELETE) {
            at += 1;
            (path, FileChange::Delete)
        } else if let Some(path) = path(UPDATE) {
            (path, updated(rows, &mut at)?)
        } else if is_wrapper_end(row) && !files.is_empty() {
            return closed(rows, at).map(|()| files);
        } else {
            return Err(bad(at, BadPatchWhy::Line));
        };
        if path.is_empty() {
            return Err(bad(start, BadPatchWhy::Name));
        }
        files.push((start, FilePatch { path: Some(path.to_string()), change }));
    }
    if files.is_empty() {
        return Err(bad(first, BadPatchWhy::Nothing));
    }
    // Without the last line it is not known whether the line before it is whole.
    if rows.ended { Ok(files) } else { Err(bad(rows.all.len().saturating_sub(1), BadPatchWhy::Unclosed)) }
}

/// What closes a here document or a code block.
fn is_wrapper_end(row: &str) -> bool {
    let row = row.trim_end();
    is_fence(row) || (!row.is_empty() && row.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_'))
}

/// Behind the end there is nothing that could be a further change.
fn closed(rows: &Rows<'_>, from: usize) -> Result<(), BadPatch> {
    let more = |row: &str| row.trim_end() == BEGIN || names_file(row);
    match rows.all.iter().skip(from).position(|row| more(row)) {
        Some(behind) => Err(bad(from + behind, BadPatchWhy::Line)),
        None => Ok(()),
    }
}

fn added(rows: &Rows<'_>, at: &mut usize) -> String {
    let mut content = String::new();
    *at += 1;
    while let Some(line) = rows.at(*at).and_then(|row| row.strip_prefix('+')) {
        content.push_str(line);
        content.push('\n');
        *at += 1;
    }
    content
}

fn updated(rows: &Rows<'_>, at: &mut usize) -> Result<FileChange, BadPatch> {
    let start = *at;
    *at += 1;
    let to = rows.at(*at).and_then(|row| row.strip_prefix(MOVE)).map(|to| to.trim().to_string());
    if to.as_ref().is_some_and(String::is_empty) {
        return Err(bad(*at, BadPatchWhy::Name));
    }
    *at += usize::from(to.is_some());
    let mut pieces = Vec::new();
    while let Some(piece) = chunk(rows, at)? {
        pieces.push(piece);
    }
    match to {
        Some(to) => Ok(FileChange::Move { to, pieces }),
        None if pieces.is_empty() => Err(bad(start, BadPatchWhy::Nothing)),
        None => Ok(FileChange::Edit(pieces)),
    }
}

/// One hunk: lines that stand above it, and its own.
fn chunk(rows: &Rows<'_>, at: &mut usize) -> Result<Option<Piece>, BadPatch> {
    while rows.at(*at).is_some_and(|row| row.trim().is_empty() && !row.starts_with(' ')) {
        *at += 1;
    }
    let (start, mut after) = (*at, Vec::new());
    while let Some(anchor) = rows.at(*at).and_then(|row| row.strip_prefix("@@")) {
        after.extend(named(anchor));
        *at += 1;
    }
    let mut body = Body::default();
    while rows.at(*at).is_some_and(|row| !row.starts_with("@@") && body.take(*at, row)) {
        *at += 1;
    }
    let at_end = rows.at(*at).is_some_and(|row| row.trim_end() == END_OF_FILE);
    *at += usize::from(at_end);
    body.trim();
    if body.lines.is_empty() {
        return if *at == start { Ok(None) } else { Err(bad(start, BadPatchWhy::Nothing)) };
    }
    let goes_on = |row: &str| row.starts_with("@@") || row.starts_with("*** ") || is_wrapper_end(row);
    if rows.at(*at).is_some_and(|row| !goes_on(row) && !row.trim().is_empty() && !at_end) {
        return Err(bad(*at, BadPatchWhy::Line));
    }
    Ok(Some(Piece { after, at_end, ..body.piece()? }))
}

/// The line that an `@@` names. Numbers of a unified diff name none.
fn named(anchor: &str) -> Option<String> {
    let text = anchor.trim();
    let text = text.strip_suffix("@@").map_or(text, str::trim_end);
    let empty = text.trim_matches(['.', '…', ' ']).is_empty() || text.starts_with(['-', '+']);
    (!empty).then(|| text.to_string())
}
