//! Patches as models write them: tells the dialect by the text and reads it into wanted changes of files. Knows no file: where a
//! change belongs is worked out later. Time and memory grow with the length of the patch.

mod begin;
mod blocks;
mod unified;

use alloc::{collections::BTreeMap, string::String, vec::Vec};

use super::{Piece, Places, Shape};

/// A way to write a patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// A unified diff, as `diff -u` and git print it.
    Unified,
    /// `*** Begin Patch`.
    BeginPatch,
    /// `<<<<<<< SEARCH` blocks.
    Blocks,
}

/// The wanted change of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePatch {
    /// The name as the patch gives it, without `a/` and `b/`; `None` if the patch names no file. Not checked in any way.
    pub path: Option<String>,
    /// What is wanted.
    pub change: FileChange,
}

/// What a patch wants of a file. A file stands in a patch only once: its changes are joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileChange {
    /// Places in the file are changed. A block with an empty `old` may also mean a file that does not exist yet.
    Edit(Vec<Piece>),
    /// A new file with this content.
    Create(String),
    /// The file is removed.
    Delete,
    /// The file gets another name, and perhaps changes too.
    Move {
        /// The new name.
        to: String,
        /// Changes; may be empty.
        pieces: Vec<Piece>,
    },
}

/// Why a patch cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{self:?}")]
pub struct BadPatch {
    /// Line of the patch, 1-based.
    pub line: u32,
    /// What is wrong there.
    pub why: BadPatchWhy,
}

/// What is wrong with a line of a patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadPatchWhy {
    /// Nothing in the text says which dialect it is.
    Unknown,
    /// The line belongs to no part of a patch; in a hunk it begins with none of space, `+` and `-`.
    Line,
    /// The file has no name, or one that cannot be read.
    Name,
    /// The lines `---` and `+++` name two files, and nothing says that it is renamed.
    TwoNames,
    /// A file stands in the patch twice, and not only to be edited.
    Twice,
    /// Nothing is to be changed in this file.
    Nothing,
    /// A block has more than one separator, so it is open where the old text ends.
    Separator,
    /// A block or a patch does not end.
    Unclosed,
    /// The change of a binary file.
    Binary,
    /// A copy of a file, or the diff of a merge.
    Unsupported,
    /// A line without a newline stands before other lines.
    Newline,
}

/// Tells the dialect by the first line that only one of them has, and reads the patch.
///
/// # Errors
/// [`BadPatch`] with the line at fault.
pub fn parse_patch(text: &str) -> Result<(Dialect, Vec<FilePatch>), BadPatch> {
    let rows = Rows::new(text);
    let (dialect, first) = (0..rows.all.len())
        .find_map(|at| told(&rows, at).map(|dialect| (dialect, at)))
        .ok_or_else(|| bad(0, BadPatchWhy::Unknown))?;
    let files = match dialect {
        Dialect::Unified => unified::read(&rows, first)?,
        Dialect::BeginPatch => begin::read(&rows, first)?,
        Dialect::Blocks => blocks::read(&rows, first)?,
    };
    Ok((dialect, joined(files)?))
}

fn told(rows: &Rows<'_>, at: usize) -> Option<Dialect> {
    let row = rows.at(at)?;
    if row.trim_end() == begin::BEGIN || begin::names_file(row) {
        Some(Dialect::BeginPatch)
    } else if blocks::opens(row) {
        Some(Dialect::Blocks)
    } else if row.starts_with("@@") || row.starts_with(unified::GIT) || rows.is_header(at) {
        Some(Dialect::Unified)
    } else {
        None
    }
}

fn bad(at: usize, why: BadPatchWhy) -> BadPatch {
    BadPatch { line: u32::try_from(at + 1).unwrap_or(u32::MAX), why }
}

/// The lines of a patch without their newlines. Where all of them end with CR LF, that is how the patch was sent, and the CR
/// belongs to none of them.
struct Rows<'a> {
    all: Vec<&'a str>,
    /// Whether the last line has a newline.
    ended: bool,
}

impl<'a> Rows<'a> {
    fn new(text: &'a str) -> Self {
        let mut terminated = text.split_inclusive('\n').filter(|line| line.ends_with('\n')).peekable();
        let sent = terminated.peek().is_some() && terminated.all(|line| line.ends_with("\r\n"));
        let bare = |line: &'a str| {
            let line = line.strip_suffix('\n').unwrap_or(line);
            if sent { line.strip_suffix('\r').unwrap_or(line) } else { line }
        };
        Self { all: text.split_inclusive('\n').map(bare).collect(), ended: text.ends_with('\n') }
    }

    fn at(&self, at: usize) -> Option<&'a str> {
        self.all.get(at).copied()
    }

    fn starts(&self, at: usize, with: &str) -> bool {
        self.at(at).is_some_and(|row| row.starts_with(with))
    }

    /// Whether the two lines that name a file begin here.
    fn is_header(&self, at: usize) -> bool {
        self.starts(at, "--- ") && self.starts(at + 1, "+++ ")
    }
}

fn is_fence(row: &str) -> bool {
    row.starts_with("```") || row.starts_with("~~~")
}

/// Edits of one file are joined. They then need not stand in the order of the file.
fn joined(files: Vec<(usize, FilePatch)>) -> Result<Vec<FilePatch>, BadPatch> {
    let mut out: Vec<FilePatch> = Vec::new();
    let mut seen: BTreeMap<Option<String>, usize> = BTreeMap::new();
    for (row, file) in files {
        let Some(at) = seen.get(&file.path) else {
            seen.insert(file.path.clone(), out.len());
            out.push(file);
            continue;
        };
        match (out.get_mut(*at).map(|there| &mut there.change), file.change) {
            (Some(FileChange::Edit(pieces)), FileChange::Edit(more)) => {
                pieces.extend(more);
                pieces.iter_mut().for_each(|piece| piece.ordered = false);
            }
            (_, FileChange::Edit(_) | FileChange::Create(_) | FileChange::Delete | FileChange::Move { .. }) => {
                return Err(bad(row, BadPatchWhy::Twice));
            }
        }
    }
    Ok(out)
}

/// The lines of a hunk, with their signs.
#[derive(Default)]
struct Body<'a> {
    lines: Vec<Signed<'a>>,
}

struct Signed<'a> {
    row: usize,
    sign: Sign,
    text: &'a str,
    /// Whether the line has no newline.
    open: bool,
    /// Whether the sign of this empty line was lost: it may also only separate.
    bare: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sign {
    Both,
    Old,
    New,
}

impl<'a> Body<'a> {
    /// Takes a line of a hunk; `false` if it is none.
    fn take(&mut self, row: usize, line: &'a str) -> bool {
        let sign = match line.as_bytes().first() {
            None => Sign::Both,
            Some(b' ') => Sign::Both,
            Some(b'\r') if line.len() == 1 => Sign::Both,
            Some(b'-') => Sign::Old,
            Some(b'+') => Sign::New,
            Some(_) => return false,
        };
        let bare = line.is_empty() || line == "\r";
        let text = if bare { line } else { line.get(1..).unwrap_or_default() };
        self.lines.push(Signed { row, sign, text, open: false, bare });
        true
    }

    /// Empty lines at the end may only separate the hunk from what follows. Without them there is less context, and nothing
    /// else.
    fn trim(&mut self) {
        while self.lines.last().is_some_and(|line| line.bare) {
            self.lines.pop();
        }
    }

    fn count(&self, side: Sign) -> usize {
        self.lines.iter().filter(|line| line.sign == side || line.sign == Sign::Both).count()
    }

    /// The text of one side.
    fn text(&self, side: Sign) -> Result<String, BadPatch> {
        let mut text = String::new();
        let mut open = false;
        for line in self.lines.iter().filter(|line| line.sign == side || line.sign == Sign::Both) {
            if open {
                return Err(bad(line.row, BadPatchWhy::Newline));
            }
            text.push_str(line.text);
            open = line.open;
            if !open {
                text.push('\n');
            }
        }
        Ok(text)
    }

    fn piece(&self) -> Result<Piece, BadPatch> {
        let piece = Piece::replace(self.text(Sign::Old)?, self.text(Sign::New)?, Places::One);
        Ok(Piece { shape: Shape::Hunk, ordered: true, ..piece })
    }
}

#[cfg(test)]
mod tests;
