//! Search and replace blocks: `<<<<<<< SEARCH`, `=======`, `>>>>>>> REPLACE`, each with five or more of its signs.

use alloc::{
    string::{String, ToString},
    vec::Vec,
};

use super::{BadPatch, BadPatchWhy, FileChange, FilePatch, Rows, bad, is_fence};
use crate::diff::edit::{Piece, Places, Shape};

const LEAST: usize = 5;

/// Whether a line begins a block.
pub(super) fn opens(row: &str) -> bool {
    signed(row, '<', "SEARCH") || signed(row, '-', "SEARCH")
}

fn closes(row: &str) -> bool {
    signed(row, '>', "REPLACE") || signed(row, '+', "REPLACE")
}

fn separates(row: &str) -> bool {
    let row = row.trim_end();
    row.len() >= LEAST && row.bytes().all(|byte| byte == b'=')
}

/// So many signs, then a word. A `>` behind the word is common, and means nothing.
fn signed(row: &str, sign: char, word: &str) -> bool {
    let rest = row.trim_start_matches(sign);
    row.len() - rest.len() >= LEAST && rest.starts_with(' ') && rest.trim().trim_end_matches('>') == word
}

pub(super) fn read(rows: &Rows<'_>, first: usize) -> Result<Vec<(usize, FilePatch)>, BadPatch> {
    let mut files: Vec<(usize, FilePatch)> = Vec::new();
    let (mut at, mut above) = (first, 0);
    while at < rows.all.len() {
        if !rows.at(at).is_some_and(opens) {
            at += 1;
            continue;
        }
        let start = at;
        let piece = block(rows, &mut at)?;
        let path = name_above(rows, above, start)?;
        above = at;
        match files.last_mut() {
            Some((_, FilePatch { path: before, change: FileChange::Edit(pieces) }))
                if path.is_none() || path == *before =>
            {
                pieces.push(piece);
            }
            _ => files.push((start, FilePatch { path, change: FileChange::Edit(Vec::from([piece])) })),
        }
    }
    Ok(files)
}

/// Reads the block that opens at `at`, which is then behind it.
fn block(rows: &Rows<'_>, at: &mut usize) -> Result<Piece, BadPatch> {
    let start = *at;
    let mut sides = [String::new(), String::new()];
    let mut side = 0;
    *at += 1;
    while let Some(row) = rows.at(*at) {
        if closes(row) && side == 1 {
            *at += 1;
            let [old, new] = sides;
            return Ok(Piece { shape: Shape::Block, ..Piece::replace(old, new, Places::One) });
        }
        if separates(row) {
            if side == 1 {
                return Err(bad(*at, BadPatchWhy::Separator));
            }
            side = 1;
        } else if opens(row) || closes(row) {
            return Err(bad(*at, BadPatchWhy::Separator));
        } else if let Some(text) = sides.get_mut(side) {
            text.push_str(row);
            text.push('\n');
        }
        *at += 1;
    }
    Err(bad(start, BadPatchWhy::Unclosed))
}

/// The file name on the line above a block, perhaps with the beginning of a code block between. Above the first block there may
/// be other text; between blocks it could be a name that is not understood, and the block would go to the wrong file.
fn name_above(rows: &Rows<'_>, from: usize, block: usize) -> Result<Option<String>, BadPatch> {
    let between = rows.all.get(from..block).unwrap_or_default();
    let Some((row, text)) = between.iter().enumerate().rev().find(|(_, row)| !row.trim().is_empty() && !is_fence(row))
    else {
        return Ok(None);
    };
    let name = text.trim().trim_start_matches(['#', '*', '`', ' ']).trim_end_matches(['*', '`', ':', ' ']);
    if !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c == '`') {
        return Ok(Some(name.to_string()));
    }
    if from == 0 { Ok(None) } else { Err(bad(from + row, BadPatchWhy::Name)) }
}
