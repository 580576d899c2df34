//! Unified diffs, with or without git's own lines. What a hunk contains is told by its lines; the numbers in its header only
//! help where they agree with them.

use alloc::{
    string::{String, ToString},
    vec::Vec,
};

use super::{BadPatch, BadPatchWhy, Body, FileChange, FilePatch, Rows, Sign, bad, is_fence};
use crate::diff::edit::Piece;

pub(super) const GIT: &str = "diff --git ";

/// Lines between git's first line and the names, which say nothing that is used here.
const IGNORED: [&str; 5] = ["index ", "similarity index ", "dissimilarity index ", "old mode ", "new mode "];

pub(super) fn read(rows: &Rows<'_>, first: usize) -> Result<Vec<(usize, FilePatch)>, BadPatch> {
    let mut reading = Reading { rows, at: first, files: Vec::new(), now: None, prose: Prose::Allowed };
    while let Some(row) = rows.at(reading.at) {
        reading.row(row)?;
    }
    reading.finish()?;
    Ok(reading.files)
}

/// Whether lines that look like lines of a hunk may stand here.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Prose {
    Allowed,
    /// Not behind a hunk: they would be lost.
    Refused,
}

struct Reading<'r, 'a> {
    rows: &'r Rows<'a>,
    at: usize,
    files: Vec<(usize, FilePatch)>,
    now: Option<Section>,
    prose: Prose,
}

/// What is known of one file.
#[derive(Default)]
struct Section {
    row: usize,
    /// The name in git's first line.
    git: Option<String>,
    old: Option<Name>,
    new: Option<Name>,
    from: Option<String>,
    to: Option<String>,
    is_new: bool,
    is_deleted: bool,
    pieces: Vec<Piece>,
    /// Lines that the hunks so far add.
    added: i64,
}

#[derive(Clone, PartialEq, Eq)]
enum Name {
    Null,
    Path(String),
}

impl Reading<'_, '_> {
    fn row(&mut self, row: &str) -> Result<(), BadPatch> {
        let at = self.at;
        if let Some(names) = row.strip_prefix(GIT) {
            self.finish()?;
            self.now = Some(Section { row: at, git: git_name(names.trim_end()), ..Section::default() });
            self.prose = Prose::Allowed;
        } else if self.rows.is_header(at) {
            if self.now.as_ref().is_none_or(|now| now.old.is_some() || !now.pieces.is_empty()) {
                self.finish()?;
                self.now = Some(Section { row: at, ..Section::default() });
            }
            let name = |at: usize| {
                let raw = self.rows.at(at).and_then(|row| row.get(4..)).unwrap_or_default();
                name(raw).ok_or_else(|| bad(at, BadPatchWhy::Name))
            };
            let names = (name(at)?, name(at + 1)?);
            if let Some(now) = &mut self.now {
                (now.old, now.new) = (Some(names.0), Some(names.1));
            }
            self.at += 1;
        } else if row.starts_with("@@@") {
            return Err(bad(at, BadPatchWhy::Unsupported));
        } else if row.starts_with("@@") {
            return self.hunk(row);
        } else if self.prose == Prose::Refused && row.starts_with(['+', '-']) && !is_signature(self.rows, at) {
            return Err(bad(at, BadPatchWhy::Line));
        } else if is_fence(row) || is_signature(self.rows, at) {
            self.prose = Prose::Allowed;
        } else {
            self.about(row.trim_end())?;
        }
        self.at += 1;
        Ok(())
    }

    /// Git's own lines about a file.
    fn about(&mut self, row: &str) -> Result<(), BadPatch> {
        let Some(now) = self.now.as_mut().filter(|now| now.pieces.is_empty() && now.old.is_none()) else {
            return Ok(());
        };
        let named = |raw: &str| match plain_name(raw) {
            Some(Name::Path(path)) => Ok(path),
            Some(Name::Null) | None => Err(bad(self.at, BadPatchWhy::Name)),
        };
        if let Some(raw) = row.strip_prefix("rename from ") {
            now.from = Some(named(raw)?);
        } else if let Some(raw) = row.strip_prefix("rename to ") {
            now.to = Some(named(raw)?);
        } else if row.starts_with("new file mode ") {
            now.is_new = true;
        } else if row.starts_with("deleted file mode ") {
            now.is_deleted = true;
        } else if row.starts_with("copy from ") || row.starts_with("copy to ") {
            return Err(bad(self.at, BadPatchWhy::Unsupported));
        } else if row == "GIT binary patch" || (row.starts_with("Binary files ") && row.ends_with(" differ")) {
            return Err(bad(self.at, BadPatchWhy::Binary));
        } else if !row.is_empty() && !IGNORED.iter().any(|known| row.starts_with(known)) && now.git.is_some() {
            return Err(bad(self.at, BadPatchWhy::Line));
        }
        Ok(())
    }

    fn hunk(&mut self, row: &str) -> Result<(), BadPatch> {
        let (head, from) = (Head::read(row), self.at + 1);
        let counted = head.numbers.and_then(|numbers| counted(self.rows, from, numbers));
        let adds_up = counted.is_some();
        let (body, end) = match counted {
            Some(counted) => counted,
            None => uncounted(self.rows, from)?,
        };
        if body.lines.is_empty() {
            return Err(bad(self.at, BadPatchWhy::Nothing));
        }
        let row = self.at;
        let now = self.now.get_or_insert_with(|| Section { row, ..Section::default() });
        let mut piece = body.piece()?;
        piece.after = head.anchor.into_iter().collect();
        let number = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
        // Numbers that do not agree with the lines, or with each other, are wrong: they say nothing.
        piece.line = head.numbers.filter(|_| adds_up).and_then(|numbers| {
            let (old, new) = (numbers.first_old(), numbers.first_new());
            (i64::from(new) - i64::from(old) == now.added).then_some(old)
        });
        piece.ordered = head.numbers.is_none() || piece.line.is_some();
        now.added += number(body.count(Sign::New)) - number(body.count(Sign::Old));
        now.pieces.push(piece);
        self.at = end;
        self.prose = Prose::Refused;
        Ok(())
    }

    fn finish(&mut self) -> Result<(), BadPatch> {
        let Some(section) = self.now.take() else { return Ok(()) };
        let row = section.row;
        let file = section.file().map_err(|why| bad(row, why))?;
        self.files.push((row, file));
        Ok(())
    }
}

impl Section {
    fn file(self) -> Result<FilePatch, BadPatchWhy> {
        let (old, new) = without_sides(self.old, self.new);
        if let (Some(from), Some(to)) = (self.from, self.to) {
            return Ok(FilePatch { path: Some(from), change: FileChange::Move { to, pieces: self.pieces } });
        }
        let path = match (&old, &new) {
            (Some(Name::Path(a)), Some(Name::Path(b))) if a != b => return Err(BadPatchWhy::TwoNames),
            (Some(Name::Path(path)), _) | (_, Some(Name::Path(path))) => Some(path.clone()),
            (Some(Name::Null), Some(Name::Null)) => return Err(BadPatchWhy::Name),
            _ => self.git,
        };
        let change = if self.is_new || old == Some(Name::Null) {
            match &self.pieces[..] {
                [] => FileChange::Create(String::new()),
                [piece] if piece.old.is_empty() => FileChange::Create(piece.new.clone()),
                _ => return Err(BadPatchWhy::Line),
            }
        } else if self.is_deleted || new == Some(Name::Null) {
            if self.pieces.iter().any(|piece| !piece.new.is_empty()) {
                return Err(BadPatchWhy::Line);
            }
            FileChange::Delete
        } else if self.pieces.is_empty() {
            return Err(BadPatchWhy::Nothing);
        } else {
            FileChange::Edit(self.pieces)
        };
        match (&path, &change) {
            (None, FileChange::Create(_) | FileChange::Delete | FileChange::Move { .. }) => Err(BadPatchWhy::Name),
            (None, FileChange::Edit(_)) | (Some(_), _) => Ok(FilePatch { path, change }),
        }
    }
}

/// The header of a hunk.
struct Head {
    numbers: Option<Numbers>,
    /// Text that stands in place of the numbers: a line above the hunk.
    anchor: Option<String>,
}

#[derive(Clone, Copy)]
struct Numbers {
    old: (u32, u32),
    new: (u32, u32),
}

impl Numbers {
    /// The first old line; for a hunk without old lines, the line it stands before.
    fn first_old(self) -> u32 {
        if self.old.1 == 0 { self.old.0.saturating_add(1) } else { self.old.0 }
    }

    fn first_new(self) -> u32 {
        if self.new.1 == 0 { self.new.0.saturating_add(1) } else { self.new.0 }
    }
}

impl Head {
    fn read(row: &str) -> Self {
        let inner = row.trim_end().trim_start_matches('@').trim_start();
        if let Some(numbers) = numbers(inner) {
            return Self { numbers: Some(numbers), anchor: None };
        }
        let text = inner.trim_end_matches('@').trim();
        // Dots, or the beginning of numbers that were not worked out, name nothing.
        let empty = text.trim_matches(['.', '…', ' ']).is_empty() || text.starts_with(['-', '+']);
        Self { numbers: None, anchor: (!empty).then(|| text.to_string()) }
    }
}

/// `-1,2 +3,4`, and whatever follows.
fn numbers(inner: &str) -> Option<Numbers> {
    let mut words = inner.split([' ', '\t']);
    let side = |word: &str, sign: char| {
        let word = word.strip_prefix(sign)?.trim_end_matches('@');
        let (start, count) = word.split_once(',').unwrap_or((word, "1"));
        Some((start.parse().ok()?, count.parse().ok()?))
    };
    Some(Numbers { old: side(words.next()?, '-')?, new: side(words.next()?, '+')? })
}

/// The body of a hunk whose numbers are right: so many lines, and then none that could belong to it.
fn counted<'a>(rows: &Rows<'a>, from: usize, numbers: Numbers) -> Option<(Body<'a>, usize)> {
    let (mut old, mut new) = (numbers.old.1, numbers.new.1);
    let (mut body, mut at) = (Body::default(), from);
    while (old, new) != (0, 0) {
        let row = rows.at(at)?;
        at += 1;
        if row.starts_with('\\') {
            body.lines.last_mut()?.open = true;
            continue;
        }
        if !body.take(at - 1, row) {
            return None;
        }
        match body.lines.last()?.sign {
            Sign::Both => (old, new) = (old.checked_sub(1)?, new.checked_sub(1)?),
            Sign::Old => old = old.checked_sub(1)?,
            Sign::New => new = new.checked_sub(1)?,
        }
    }
    if rows.starts(at, "\\") {
        body.lines.last_mut()?.open = true;
        at += 1;
    }
    let goes_on = rows.at(at).is_some_and(|row| row.starts_with([' ', '+', '-', '\\']));
    (!goes_on || rows.is_header(at) || is_signature(rows, at)).then_some((body, at))
}

/// The body of a hunk without numbers, or with wrong ones: up to the next line that begins something else.
fn uncounted<'a>(rows: &Rows<'a>, from: usize) -> Result<(Body<'a>, usize), BadPatch> {
    let (mut body, mut at) = (Body::default(), from);
    while let Some(row) = rows.at(at) {
        let next_file = rows.is_header(at) && (rows.starts(at + 2, "@@") || at + 2 >= rows.all.len());
        if row.starts_with("@@") || row.starts_with(GIT) || next_file || is_fence(row) || is_signature(rows, at) {
            break;
        }
        if row.starts_with('\\') {
            body.lines.last_mut().ok_or_else(|| bad(at, BadPatchWhy::Line))?.open = true;
        } else if !body.take(at, row) {
            return Err(bad(at, BadPatchWhy::Line));
        }
        at += 1;
    }
    body.trim();
    Ok((body, at))
}

/// The end of a mail with a patch: `-- ` and git's version.
fn is_signature(rows: &Rows<'_>, at: usize) -> bool {
    let version = rows.at(at + 1).is_some_and(|row| row.starts_with(|c: char| c.is_ascii_digit()));
    rows.at(at).is_some_and(|row| row.trim_end() == "--")
        && version
        && rows.all.iter().skip(at + 2).all(|row| row.is_empty())
}

/// What stands behind `---` or `+++`, without a time.
fn name(raw: &str) -> Option<Name> {
    if raw.starts_with('"') {
        return plain_name(raw.trim_end());
    }
    plain_name(raw.split('\t').next().unwrap_or(raw).trim_end_matches(['\r', ' ']))
}

fn plain_name(raw: &str) -> Option<Name> {
    let path = if raw.starts_with('"') { unquoted(raw)? } else { raw.to_string() };
    match path.as_str() {
        "" => None,
        "/dev/null" => Some(Name::Null),
        _ => Some(Name::Path(path)),
    }
}

/// A name as git quotes it.
fn unquoted(raw: &str) -> Option<String> {
    let inner = raw.strip_prefix('"')?.strip_suffix('"')?;
    let mut bytes = Vec::with_capacity(inner.len());
    let mut rest = inner.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        bytes.push(match rest.next()? {
            b'a' => 7,
            b'b' => 8,
            b't' => b'\t',
            b'n' => b'\n',
            b'v' => 11,
            b'f' => 12,
            b'r' => b'\r',
            quoted @ (b'"' | b'\\') => quoted,
            high @ b'0'..=b'3' => {
                let digits = [high, rest.next()?, rest.next()?];
                digits.iter().try_fold(0_u8, |sum, digit| {
                    matches!(digit, b'0'..=b'7').then(|| sum.wrapping_mul(8).wrapping_add(digit - b'0'))
                })?
            }
            _ => return None,
        });
    }
    String::from_utf8(bytes).ok()
}

/// Git's first line names the file twice; only equal names can be told apart from each other.
fn git_name(names: &str) -> Option<String> {
    if names.starts_with('"') {
        let end = names.get(1..)?.find("\" \"")? + 2;
        return unquoted(names.get(..end)?)?.split_once('/').map(|(_, path)| path.to_string());
    }
    let middle = names.len() / 2;
    let (a, b) = (names.get(..middle)?, names.get(middle..)?.strip_prefix(' ')?);
    let (a, b) = (a.split_once('/')?.1, b.split_once('/')?.1);
    (a == b && !a.is_empty()).then(|| a.to_string())
}

/// Without `a/` and `b/`, where both sides have them: git also writes other letters.
fn without_sides(old: Option<Name>, new: Option<Name>) -> (Option<Name>, Option<Name>) {
    const SIDES: [(&str, &str); 6] =
        [("a/", "b/"), ("i/", "w/"), ("c/", "i/"), ("c/", "w/"), ("o/", "w/"), ("b/", "a/")];
    let cut = |name: &Option<Name>, side: &str| match name {
        Some(Name::Path(path)) => {
            path.strip_prefix(side).filter(|rest| !rest.is_empty()).map(|rest| Some(Name::Path(rest.to_string())))
        }
        Some(Name::Null) => Some(Some(Name::Null)),
        None => None,
    };
    let found = SIDES.iter().find_map(|(a, b)| Some((cut(&old, a)?, cut(&new, b)?)));
    found.unwrap_or((old, new))
}
