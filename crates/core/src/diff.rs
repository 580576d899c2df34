//! Unified diffs that carry every byte: trailing spaces, CR, BOM, the final newline. `apply(unified(a, b), a) == b`.
//! Bounded by the caller's limits on size, or by those in `large`; never by a clock.

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};
use core::{fmt::Write, ops::Range};
use gix_imara_diff::{Algorithm, Diff, InternedInput};

use crate::{path::is_odd, scope::Lines, text::Text};

/// Lines of unchanged text around a change.
const CONTEXT: u32 = 3;
const NO_NEWLINE: &str = "\\ No newline at end of file";

/// A unified diff between two texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unified {
    /// The whole diff, headers included; ends with a newline.
    pub body: String,
    /// Lines that are new.
    pub added: u32,
    /// Lines that are gone.
    pub removed: u32,
}

impl Unified {
    /// The number the diff prefix names: the larger of added and removed lines.
    #[must_use]
    pub fn changed(&self) -> u32 {
        self.added.max(self.removed)
    }

    /// Lines of the diff itself.
    #[must_use]
    pub fn line_count(&self) -> u32 {
        u32::try_from(memchr::memchr_iter(b'\n', self.body.as_bytes()).count()).unwrap_or(u32::MAX)
    }
}

/// The diff from `before` to `after` under the file's name.
#[must_use]
pub fn unified(before: &Text, after: &Text, name: &str) -> Unified {
    let changes = changes(before, after);
    let mut body = format!("--- {}\n+++ {}\n", file_line("a/", name), file_line("b/", name));
    for group in groups(&changes) {
        print_hunk(&mut body, (Some(before), Some(after)), group, &mut { Room::ALL });
    }
    let (added, removed) = counts(&changes);
    Unified { body, added, removed }
}

fn changes(before: &Text, after: &Text) -> Vec<Change> {
    compared(before.lines(), after.lines(), (0, 0)).collect()
}

/// The changes between some lines, which begin behind so many others.
fn compared<'a>(
    before: impl Iterator<Item = &'a str>,
    after: impl Iterator<Item = &'a str>,
    (old, new): (u32, u32),
) -> impl Iterator<Item = Change> {
    let mut input = InternedInput::default();
    input.update_before(before);
    input.update_after(after);
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    let moved = |range: &Range<u32>, by: u32| range.start + by..range.end + by;
    let found: Vec<Change> =
        diff.hunks().map(|h| Change { old: moved(&h.before, old), new: moved(&h.after, new) }).collect();
    found.into_iter()
}

/// Lines that are new and lines that are gone.
fn counts(changes: &[Change]) -> (u32, u32) {
    let sum = |pick: fn(&Change) -> &Range<u32>| changes.iter().map(|c| pick(c).end - pick(c).start).sum();
    (sum(|c| &c.new), sum(|c| &c.old))
}

/// One side of a patch.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// What git calls the kind of file: `100644`, `100755`, `120000`.
    pub mode: &'a str,
    /// The text; `None` where it is not to be shown as lines.
    pub text: Option<&'a Text>,
    /// Whether the bytes are those of the other side.
    pub same: bool,
}

/// What `git diff` prints of one file, in the parts in which it may be cut.
#[derive(Clone, Debug, Default)]
pub struct Patch<'a> {
    /// Everything before the first hunk.
    head: String,
    /// Both texts, where lines of them are shown.
    before: Option<&'a Text>,
    after: Option<&'a Text>,
    changes: Vec<Change>,
    /// Lines that are new.
    pub added: u32,
    /// Lines that are gone.
    pub removed: u32,
    /// Lines of each side that stand as one block, because there are too many to compare them one by one.
    pub blocks: (u32, u32),
}

/// The change of one file as git prints it, without the line of object ids: nothing where nothing changed; two patches where
/// it became another kind of file. `None` if `cancelled` said so, which is asked between pieces of work of bounded size.
#[must_use]
pub fn patches<'a>(
    name: &str,
    old: Option<Side<'a>>,
    new: Option<Side<'a>>,
    cancelled: &dyn Fn() -> bool,
) -> Option<Vec<Patch<'a>>> {
    match (old, new) {
        (Some(old), Some(new)) if old.mode.get(..3) != new.mode.get(..3) => {
            Some(Vec::from([patch(name, Some(old), None, cancelled)?, patch(name, None, Some(new), cancelled)?]))
        }
        (Some(old), Some(new)) if old.same && new.same && old.mode == new.mode => Some(Vec::new()),
        (None, None) => Some(Vec::new()),
        (old, new) => Some(Vec::from([patch(name, old, new, cancelled)?])),
    }
}

fn patch<'a>(
    name: &str,
    old: Option<Side<'a>>,
    new: Option<Side<'a>>,
    cancelled: &dyn Fn() -> bool,
) -> Option<Patch<'a>> {
    let (a, b) = (in_quotes("a/", name), in_quotes("b/", name));
    let mut head = format!("diff --git {a} {b}\n");
    // Writing to a String cannot fail.
    let _ = match (old, new) {
        (None, Some(new)) => writeln!(head, "new file mode {}", new.mode),
        (Some(old), None) => writeln!(head, "deleted file mode {}", old.mode),
        (Some(old), Some(new)) if old.mode != new.mode => {
            writeln!(head, "old mode {}\nnew mode {}", old.mode, new.mode)
        }
        (Some(_), Some(_)) | (None, None) => Ok(()),
    };
    let both = old.is_some() && new.is_some();
    if both && old.is_some_and(|side| side.same) {
        return Some(Patch { head, ..Patch::default() });
    }
    let shown = |side: Option<Side<'a>>| side.is_none_or(|side| side.text.is_some());
    if !shown(old) || !shown(new) {
        let there = |side: Option<Side<'_>>, name: String| if side.is_some() { name } else { "/dev/null".to_string() };
        let _ = writeln!(head, "Binary files {} and {} differ", there(old, a), there(new, b));
        return Some(Patch { head, ..Patch::default() });
    }
    let text = |side: Option<Side<'a>>| side.and_then(|side| side.text);
    let (before, after) = (text(old), text(new));
    let (changes, blocks) = large::changes(before, after, cancelled)?;
    let (added, removed) = counts(&changes);
    if !changes.is_empty() {
        let line = |side: Option<Side<'_>>, prefix| {
            if side.is_some() { file_line(prefix, name) } else { "/dev/null".to_string() }
        };
        let _ = writeln!(head, "--- {}\n+++ {}", line(old, "a/"), line(new, "b/"));
    }
    Some(Patch { head, before, after, changes, added, removed, blocks })
}

/// As much of some patches as fits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fitted {
    /// The text: whole hunks, or the first lines of the first one where not even that fits.
    pub text: String,
    /// Hunks that are shown whole, and all there are.
    pub hunks: (u32, u32),
    /// Lines that are shown, and all there are.
    pub lines: (u32, u32),
}

impl Fitted {
    /// Whether something is left out; what is shown is then no patch to apply.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.lines.0 < self.lines.1
    }
}

/// Puts patches together, as far as they fit in so many lines and characters. Takes as long as what is shown is long.
#[must_use]
pub fn fit(patches: &[Patch<'_>], lines: u32, chars: u32) -> Fitted {
    let small = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
    let mut fitted = Fitted::default();
    let mut all = (0, 0);
    for patch in patches {
        all.1 += height(&patch.head);
        for group in groups(&patch.changes) {
            all = (all.0 + 1, all.1 + patch.height(group));
        }
    }
    (fitted.hunks.1, fitted.lines.1) = (small(all.0), small(all.1));
    let mut room = Room { lines: u64::from(lines), chars: u64::from(chars) };
    let shown = |room: &Room| small(u64::from(lines) - room.lines);
    for patch in patches {
        let whole = patch.head.split_inclusive('\n').all(|line| room.push(&mut fitted.text, &[line]));
        fitted.lines.0 = shown(&room);
        if !whole {
            return fitted;
        }
        for group in groups(&patch.changes) {
            let from = fitted.text.len();
            let first = fitted.hunks.0 == 0;
            // Of one that does not fit, something is shown only if it is the first.
            let whole = (first || patch.height(group) <= room.lines) && patch.print(&mut fitted.text, group, &mut room);
            if !whole && !first {
                fitted.text.truncate(from);
                return fitted;
            }
            fitted.lines.0 = shown(&room);
            if !whole {
                return fitted;
            }
            fitted.hunks.0 += 1;
        }
    }
    fitted
}

fn height(text: &str) -> u64 {
    memchr::memchr_iter(b'\n', text.as_bytes()).count() as u64
}

/// How much more may be shown.
#[derive(Clone, Copy)]
struct Room {
    lines: u64,
    chars: u64,
}

impl Room {
    /// For everything.
    const ALL: Self = Self { lines: u64::MAX, chars: u64::MAX };

    /// Puts one line there, if there is room.
    fn push(&mut self, out: &mut String, parts: &[&str]) -> bool {
        let size: usize = parts.iter().map(|part| part.chars().count()).sum();
        let (Some(lines), Some(chars)) = (self.lines.checked_sub(1), self.chars.checked_sub(size as u64)) else {
            return false;
        };
        *self = Self { lines, chars };
        parts.iter().for_each(|part| out.push_str(part));
        true
    }
}

/// Line indices, 0-based and half-open.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Change {
    old: Range<u32>,
    new: Range<u32>,
}

/// Changes whose context would touch stand in one hunk.
fn groups(changes: &[Change]) -> impl Iterator<Item = &[Change]> {
    changes.chunk_by(|a, b| b.old.start - a.old.end <= 2 * CONTEXT)
}

/// The lines of both sides that a hunk shows.
fn span(group: &[Change], total: u32) -> Option<(Range<u32>, Range<u32>)> {
    let (first, last) = (group.first()?, group.last()?);
    let lead = first.old.start.min(CONTEXT);
    let tail = (total - last.old.end).min(CONTEXT);
    Some((first.old.start - lead..last.old.end + tail, first.new.start - lead..last.new.end + tail))
}

impl Patch<'_> {
    /// Lines that a hunk takes.
    fn height(&self, group: &[Change]) -> u64 {
        let total = |text: Option<&Text>| text.map_or(0, Text::total);
        let Some((old, _)) = span(group, total(self.before)) else { return 0 };
        let is_open = |text: Option<&Text>, end: u32| {
            text.is_some_and(|text| end == text.total() && !text.as_str().is_empty() && !text.as_str().ends_with('\n'))
        };
        let new: u64 = group.iter().map(|change| u64::from(change.new.end - change.new.start)).sum();
        // The last line of a text that has no end takes another one that says so.
        let added_last = group.last().is_some_and(|last| !last.new.is_empty() && is_open(self.after, last.new.end));
        1 + u64::from(old.end - old.start)
            + new
            + u64::from(is_open(self.before, old.end) && !old.is_empty())
            + u64::from(added_last)
    }

    /// Whether all of it had room.
    fn print(&self, out: &mut String, group: &[Change], room: &mut Room) -> bool {
        print_hunk(out, (self.before, self.after), group, room)
    }
}

fn print_hunk(
    out: &mut String,
    (before, after): (Option<&Text>, Option<&Text>),
    group: &[Change],
    room: &mut Room,
) -> bool {
    let Some((old, new)) = span(group, before.map_or(0, Text::total)) else { return true };
    let mut at = old.start;
    room.push(out, &[&format!("@@ -{} +{} @@\n", side(&old), side(&new))])
        && group.iter().all(|change| {
            let context = at..change.old.start;
            at = change.old.end;
            print_lines(out, " ", before, context, room)
                && print_lines(out, "-", before, change.old.clone(), room)
                && print_lines(out, "+", after, change.new.clone(), room)
        })
        && print_lines(out, " ", before, at..old.end, room)
}

/// `START,COUNT` as patch reads it: an empty side names the line before it.
fn side(range: &Range<u32>) -> String {
    let count = range.end - range.start;
    let start = if count == 0 { range.start } else { range.start + 1 };
    format!("{start},{count}")
}

/// Whether all of them had room.
fn print_lines(out: &mut String, sign: &str, text: Option<&Text>, lines: Range<u32>, room: &mut Room) -> bool {
    let Some((text, lines)) = text.zip(Lines::new(lines.start + 1, lines.end)) else { return true };
    text.slice(lines).split_inclusive('\n').all(|line| {
        if line.ends_with('\n') {
            return room.push(out, &[sign, line]);
        }
        room.push(out, &[sign, line, "\n"]) && room.push(out, &[NO_NEWLINE, "\n"])
    })
}

/// A name as git prints it behind `---` and `+++`: a tab ends it for patch where it holds a space.
fn file_line(side: &str, name: &str) -> String {
    let quoted = in_quotes(side, name);
    if quoted.contains(' ') && !quoted.starts_with('"') { format!("{quoted}\t") } else { quoted }
}

/// A name as git prints it: in quotes when a character in it could end or bend the line, turn it round or hide in it. Also
/// where it ends with a space, which git leaves as it is and `patch` cuts off.
fn in_quotes(side: &str, name: &str) -> String {
    let odd = |c: char| is_odd(c) || c == '"' || c == '\\';
    if !name.contains(odd) && !name.ends_with(' ') {
        return format!("{side}{name}");
    }
    let mut out = format!("\"{side}");
    for c in name.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{b}' => out.push_str("\\v"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            other if is_odd(other) => {
                let mut bytes = [0; 4];
                for byte in other.encode_utf8(&mut bytes).bytes() {
                    let _ = write!(out, "\\{byte:03o}");
                }
            }
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

/// Why a diff does not fit a text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// The diff is not one.
    #[error("line {line} of the diff is malformed")]
    Malformed {
        /// Line of the diff, 1-based.
        line: usize,
    },
    /// A line of the text is not what the diff says.
    #[error("line {line} of the diff does not match the text")]
    Mismatch {
        /// Line of the diff, 1-based.
        line: usize,
    },
}

/// Applies a unified diff strictly: every position, count and context byte must agree.
///
/// # Errors
/// [`ApplyError`] names the line of the diff that does not fit.
pub fn apply(body: &str, before: &Text) -> Result<String, ApplyError> {
    let last = body.split_inclusive('\n').count().max(1);
    if !body.ends_with('\n') {
        // Its last line may be cut.
        return Err(ApplyError::Malformed { line: last });
    }
    let mut lines = body.split_inclusive('\n').enumerate().map(|(n, line)| (n + 1, line)).peekable();
    for sign in ["--- ", "+++ "] {
        match lines.next() {
            Some((_, line)) if line.starts_with(sign) => {}
            other => return Err(ApplyError::Malformed { line: other.map_or(1, |(n, _)| n) }),
        }
    }
    let mut result = Applied { out: String::with_capacity(before.as_str().len()), taken: 0, given: 0, before };
    while let Some((at, header)) = lines.next() {
        let (old, new) = parse_header(header).ok_or(ApplyError::Malformed { line: at })?;
        if !result.copy_to(old.start) || result.given != new.start || old.end > before.total() {
            return Err(ApplyError::Mismatch { line: at });
        }
        while (result.taken, result.given) != (old.end, new.end) {
            let (at, line) = lines.next().ok_or(ApplyError::Malformed { line: at })?;
            let bare = lines.next_if(|(_, next)| next.trim_end_matches('\n') == NO_NEWLINE).is_some();
            let text = line.get(1..).ok_or(ApplyError::Malformed { line: at })?;
            let text = if bare { text.strip_suffix('\n').unwrap_or(text) } else { text };
            if text.is_empty() {
                // Without an end and without a byte it is no line.
                return Err(ApplyError::Malformed { line: at });
            }
            let fits = match line.as_bytes().first() {
                Some(b' ') => result.take(text) && result.give(text),
                Some(b'-') => result.take(text),
                Some(b'+') => result.give(text),
                _ => return Err(ApplyError::Malformed { line: at }),
            };
            if !fits || result.taken > old.end || result.given > new.end {
                return Err(ApplyError::Mismatch { line: at });
            }
        }
    }
    if result.copy_to(before.total()) { Ok(result.out) } else { Err(ApplyError::Mismatch { line: last }) }
}

/// The new text so far, and how many lines of each side are done.
struct Applied<'a> {
    out: String,
    taken: u32,
    given: u32,
    before: &'a Text,
}

impl Applied<'_> {
    /// Copies unchanged lines up to this many; `false` when the diff goes backwards or too far, or what stands before has
    /// no end.
    fn copy_to(&mut self, lines: u32) -> bool {
        if lines < self.taken || lines > self.before.total() {
            return false;
        }
        if let Some(copied) = Lines::new(self.taken + 1, lines) {
            if self.is_open() {
                return false;
            }
            self.out.push_str(self.before.slice(copied));
            self.given += copied.count();
            self.taken = lines;
        }
        true
    }

    fn take(&mut self, text: &str) -> bool {
        self.taken += 1;
        self.before.line(self.taken) == text
    }

    /// A line without an end can only be the last one.
    fn is_open(&self) -> bool {
        !self.out.is_empty() && !self.out.ends_with('\n')
    }

    fn give(&mut self, text: &str) -> bool {
        let open = self.is_open();
        self.given += 1;
        self.out.push_str(text);
        !open
    }
}

/// `@@ -1,2 +3,4 @@` as 0-based half-open ranges.
fn parse_header(line: &str) -> Option<(Range<u32>, Range<u32>)> {
    let inner = line.trim_end_matches('\n').strip_prefix("@@ -")?.strip_suffix(" @@")?;
    let (old, new) = inner.split_once(" +")?;
    let side = |text: &str| {
        let (start, count) = text.split_once(',')?;
        let (start, count): (u32, u32) = (start.parse().ok()?, count.parse().ok()?);
        let start = if count == 0 { start } else { start.checked_sub(1)? };
        Some(start..start.checked_add(count)?)
    };
    Some((side(old)?, side(new)?))
}

/// Changes between texts of any size, in time that grows with their size: what is the same at both ends is left out first, then
/// lines that stand once on each side divide the rest. A piece that is too large even then counts as replaced whole.
mod large {
    use alloc::{vec, vec::Vec};
    use core::ops::Range;

    use super::{Change, compared};
    use crate::{scope::Lines, text::Text};

    /// One piece of a text has at most so many lines and bytes to be compared line by line: as many as a read's diff.
    const LINES: u32 = 12_000;
    const BYTES: usize = 2 << 20;

    /// Lines of all pieces that are compared one by one, those of both sides.
    const ALL_LINES: u32 = 240_000;

    /// Lines, those of both sides, among which others that stand once are looked for.
    const DIVIDED: u32 = 2_000_000;

    /// Changes, and how many lines of each side stand in blocks that were not compared; `None` if cancelled.
    pub(super) type Found = Option<(Vec<Change>, (u32, u32))>;

    /// Nothing stands for a side that is not there.
    pub(super) fn changes(before: Option<&Text>, after: Option<&Text>, cancelled: &dyn Fn() -> bool) -> Found {
        let total = |text: Option<&Text>| text.map_or(0, Text::total);
        let whole = Change { old: 0..total(before), new: 0..total(after) };
        let (Some(before), Some(after)) = (before, after) else {
            return Some(if whole.is_empty() { (Vec::new(), (0, 0)) } else { (vec![whole], (0, 0)) });
        };
        if fits(before, &whole.old) && fits(after, &whole.new) {
            return Some((super::changes(before, after), (0, 0)));
        }
        let mut work = Work { before, after, left: ALL_LINES, found: Vec::new(), blocks: (0, 0), cancelled };
        let rest = without_ends(before, after);
        if rest.is_empty() {
            return Some((Vec::new(), (0, 0)));
        }
        if work.is_small(&rest) || rest.lines() > u64::from(DIVIDED) {
            work.piece(rest)?;
        } else {
            work.divide(&rest)?;
        }
        Some((work.found, work.blocks))
    }

    fn fits(text: &Text, lines: &Range<u32>) -> bool {
        lines.end - lines.start <= LINES && slice(text, lines).len() <= BYTES
    }

    fn slice<'a>(text: &'a Text, lines: &Range<u32>) -> &'a str {
        Lines::new(lines.start + 1, lines.end).map_or("", |lines| text.slice(lines))
    }

    impl Change {
        fn is_empty(&self) -> bool {
            self.old.is_empty() && self.new.is_empty()
        }

        /// Lines of both sides.
        fn lines(&self) -> u64 {
            u64::from(self.old.end - self.old.start) + u64::from(self.new.end - self.new.start)
        }
    }

    /// What is left between the lines that are the same at both ends.
    fn without_ends(before: &Text, after: &Text) -> Change {
        let (old, new) = (before.as_str().as_bytes(), after.as_str().as_bytes());
        let same = same_begin(old, new);
        let begin = memchr::memrchr(b'\n', &old[..same]).map_or(0, |at| at + 1);
        let (old_rest, new_rest) = (&old[begin..], &new[begin..]);
        let mut end = same_end(old_rest, new_rest);
        let starts_line = |rest: &[u8]| end == rest.len() || rest[rest.len() - end - 1] == b'\n';
        if !starts_line(old_rest) || !starts_line(new_rest) {
            let tail = &old_rest[old_rest.len() - end..];
            end = memchr::memchr(b'\n', tail).map_or(0, |at| tail.len() - at - 1);
        }
        let count = |bytes: &[u8]| {
            let open = !bytes.is_empty() && bytes.last() != Some(&b'\n');
            u32::try_from(memchr::memchr_iter(b'\n', bytes).count() + usize::from(open)).unwrap_or(u32::MAX)
        };
        let (first, last) = (count(&old[..begin]), count(&old[old.len() - end..]));
        Change { old: first..before.total() - last, new: first..after.total() - last }
    }

    fn same_begin(a: &[u8], b: &[u8]) -> usize {
        const STEP: usize = 4096;
        let whole = a.chunks_exact(STEP).zip(b.chunks_exact(STEP)).take_while(|(a, b)| a == b).count() * STEP;
        whole + a[whole..].iter().zip(&b[whole..]).take_while(|(a, b)| a == b).count()
    }

    fn same_end(a: &[u8], b: &[u8]) -> usize {
        const STEP: usize = 4096;
        let whole = a.rchunks_exact(STEP).zip(b.rchunks_exact(STEP)).take_while(|(a, b)| a == b).count() * STEP;
        let (a, b) = (&a[..a.len() - whole], &b[..b.len() - whole]);
        whole + a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count()
    }

    struct Work<'a> {
        before: &'a Text,
        after: &'a Text,
        /// Lines that may still be compared one by one.
        left: u32,
        found: Vec<Change>,
        blocks: (u32, u32),
        cancelled: &'a dyn Fn() -> bool,
    }

    impl Work<'_> {
        fn is_small(&self, piece: &Change) -> bool {
            fits(self.before, &piece.old) && fits(self.after, &piece.new)
        }

        /// Compares one piece, or takes it as a block. Where a side has nothing, or both one line, there is nothing to compare.
        fn piece(&mut self, piece: Change) -> Option<()> {
            // The ends of a piece differ.
            let is_pair = piece.old.len() == 1 && piece.new.len() == 1;
            if is_pair || piece.old.is_empty() || piece.new.is_empty() {
                self.found.extend(Some(piece).filter(|piece| !piece.is_empty()));
                return Some(());
            }
            if (self.cancelled)() {
                return None;
            }
            let left = u32::try_from(piece.lines()).ok().and_then(|lines| self.left.checked_sub(lines));
            if let Some(left) = left.filter(|_| self.is_small(&piece)) {
                self.left = left;
                let (old, new) = (slice(self.before, &piece.old), slice(self.after, &piece.new));
                let at = (piece.old.start, piece.new.start);
                self.found.extend(compared(old.split_inclusive('\n'), new.split_inclusive('\n'), at));
                return Some(());
            }
            self.blocks.0 += piece.old.end - piece.old.start;
            self.blocks.1 += piece.new.end - piece.new.start;
            self.found.push(piece);
            Some(())
        }

        /// Compares what stands between lines that each side has once, as far as those come in the same order.
        fn divide(&mut self, rest: &Change) -> Option<()> {
            let go_on = || (!(self.cancelled)()).then_some(());
            let old = Rows::new(slice(self.before, &rest.old));
            go_on()?;
            let new = Rows::new(slice(self.after, &rest.new));
            go_on()?;
            let ours = old.single();
            go_on()?;
            let theirs = new.single();
            go_on()?;
            let anchors = anchors(shared(&old, &new, &ours, &theirs));
            let mut at = (0, 0);
            for anchor in anchors.into_iter().chain([(old.len(), new.len())]) {
                let (mut a, mut b) = (at.0..anchor.0, at.1..anchor.1);
                while !a.is_empty() && !b.is_empty() && old.row(a.start) == new.row(b.start) {
                    (a.start, b.start) = (a.start + 1, b.start + 1);
                }
                while !a.is_empty() && !b.is_empty() && old.row(a.end - 1) == new.row(b.end - 1) {
                    (a.end, b.end) = (a.end - 1, b.end - 1);
                }
                self.piece(Change {
                    old: a.start + rest.old.start..a.end + rest.old.start,
                    new: b.start + rest.new.start..b.end + rest.new.start,
                })?;
                at = (anchor.0 + 1, anchor.1 + 1);
            }
            Some(())
        }
    }

    /// Lines of a text by their numbers from 0 on, each with a number that stands for what is in it.
    struct Rows<'a> {
        text: &'a str,
        /// Where each ends.
        ends: Vec<u32>,
        sums: Vec<u64>,
    }

    impl<'a> Rows<'a> {
        fn new(text: &'a str) -> Self {
            let (mut ends, mut sums) = (Vec::new(), Vec::new());
            let mut end = 0;
            for row in text.split_inclusive('\n') {
                end += row.len();
                ends.push(u32::try_from(end).unwrap_or(u32::MAX));
                sums.push(sum(row.as_bytes()));
            }
            Self { text, ends, sums }
        }

        fn len(&self) -> u32 {
            u32::try_from(self.ends.len()).unwrap_or(u32::MAX)
        }

        fn row(&self, at: u32) -> &'a str {
            let at = at as usize;
            let begin = at.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
            let end = self.ends.get(at).copied().unwrap_or(begin);
            &self.text[begin as usize..end as usize]
        }

        /// Those that stand there once, by their sums.
        fn single(&self) -> Vec<(u64, u32)> {
            let mut all: Vec<(u64, u32)> = self.sums.iter().copied().zip(0..).collect();
            all.sort_unstable();
            all.chunk_by(|a, b| a.0 == b.0)
                .filter_map(|same| if let [one] = same { Some(*one) } else { None })
                .collect()
        }
    }

    /// Not safe against anyone who wants two rows to have the same, and it need not be: rows are compared before they count as one.
    fn sum(bytes: &[u8]) -> u64 {
        let step = |sum: u64, word: u64| (sum.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
        let (words, rest) = bytes.as_chunks::<8>();
        let sum = words.iter().fold(bytes.len() as u64, |sum, word| step(sum, u64::from_le_bytes(*word)));
        rest.iter().fold(sum, |sum, byte| step(sum, u64::from(*byte)))
    }

    /// Pairs of the same row on both sides, in the order of the first.
    fn shared(old: &Rows<'_>, new: &Rows<'_>, ours: &[(u64, u32)], theirs: &[(u64, u32)]) -> Vec<(u32, u32)> {
        let mut theirs = theirs.iter().peekable();
        let mut pairs: Vec<(u32, u32)> = Vec::new();
        for (sum, at) in ours {
            while theirs.next_if(|(their, _)| their < sum).is_some() {}
            if let Some((_, place)) = theirs.next_if(|(their, _)| their == sum)
                && old.row(*at) == new.row(*place)
            {
                pairs.push((*at, *place));
            }
        }
        pairs.sort_unstable();
        pairs
    }

    /// The longest row of pairs that rises on both sides.
    fn anchors(pairs: Vec<(u32, u32)>) -> Vec<(u32, u32)> {
        // The last pair of the best row of each length, and which pair came before each.
        let mut ends: Vec<usize> = Vec::new();
        let mut before: Vec<usize> = Vec::with_capacity(pairs.len());
        for (at, (_, place)) in pairs.iter().enumerate() {
            let length = ends.partition_point(|end| pairs[*end].1 < *place);
            before.push(length.checked_sub(1).map_or(usize::MAX, |shorter| ends[shorter]));
            match ends.get_mut(length) {
                Some(end) => *end = at,
                None => ends.push(at),
            }
        }
        let mut row = Vec::with_capacity(ends.len());
        let mut next = ends.last().copied();
        while let Some((at, pair)) = next.and_then(|at| Some((at, pairs.get(at)?))) {
            row.push(*pair);
            next = before.get(at).copied();
        }
        row.reverse();
        row
    }

    #[cfg(test)]
    mod tests {
        use alloc::{format, string::String};

        use super::*;
        use crate::diff::{Side, apply, fit, patches};

        fn both(before: &str, after: &str) -> (Text, Text) {
            (Text::new(before.into()), Text::new(after.into()))
        }

        /// The patch as text, applied to be sure that it is one; how many lines stand in blocks.
        fn check(before: &str, after: &str) -> (String, (u32, u32)) {
            let (before, after) = both(before, after);
            let side = |text| Some(Side { mode: "100644", text: Some(text), same: false });
            let all = patches("f", side(&before), side(&after), &|| false).unwrap();
            let fitted = fit(&all, u32::MAX, u32::MAX);
            assert_eq!((fitted.lines.0, fitted.hunks.0), (fitted.lines.1, fitted.hunks.1));
            assert_eq!(fitted.lines.0 as usize, fitted.text.lines().count());
            let body = fitted.text.split_once('\n').unwrap().1;
            assert_eq!(apply(body, &before).as_deref(), Ok(after.as_str()));
            (fitted.text, all[0].blocks)
        }

        fn numbered(lines: u32) -> String {
            (0..lines).map(|n| format!("line {n}\n")).collect()
        }

        #[test]
        fn a_few_edits_of_a_long_text_are_found() {
            let before = numbered(200_000);
            let after = before
                .replace("\nline 7\n", "\nseven\n")
                .replace("\nline 100000\n", "\n")
                .replace("\nline 199990\n", "\nx\ny\n");
            let (text, blocks) = check(&before, &after);
            assert_eq!((text.matches("\n@@ ").count(), blocks), (3, (0, 0)), "{text}");
            assert_eq!((text.matches("\n-").count(), text.matches("\n+").count()), (4, 4), "{text}");
            let (text, blocks) = check(&before, &before.replace("\nline 7\n", "\nseven\n"));
            assert_eq!((text.lines().count(), blocks), (12, (0, 0)), "{text}");
        }

        #[test]
        fn what_has_nothing_in_common_is_one_block() {
            let (text, blocks) = check(&numbered(30_000), &numbered(30_000).replace("line", "row"));
            assert_eq!((text.matches("\n@@ ").count(), blocks), (1, (30_000, 30_000)));
            // The same lines over and over divide nothing.
            let (_, blocks) = check(&"a\nb\n".repeat(20_000), &"b\na\nc\n".repeat(20_000));
            assert_eq!(blocks, (40_000, 60_000));
            let before = "\n".repeat(100_000);
            let (text, blocks) = check(&before, &format!("x{before}"));
            assert_eq!((text.matches("\n+").count(), blocks), (2, (0, 0)));
            let (text, blocks) = check(&before, "x");
            assert!(text.ends_with("+x\n\\ No newline at end of file\n"), "{blocks:?}");
        }

        #[test]
        fn long_texts_of_every_shape() {
            let mut state = 3_u64;
            let mut next = move |n: u64| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                usize::try_from((state >> 33) % n).unwrap()
            };
            for round in 0..12 {
                let kinds = [3, 500, 1 << 40][round % 3];
                let mut lines: Vec<String> = (0..13_000).map(|_| format!("{}\n", next(kinds))).collect();
                let before = lines.concat();
                for _ in 0..next(40) {
                    let at = next(lines.len() as u64);
                    match next(3) {
                        0 => drop(lines.remove(at)),
                        1 => lines.insert(at, format!("{}\n", next(kinds))),
                        _ => lines[at] = format!("{}\n", next(kinds)),
                    }
                }
                let mut after = lines.concat();
                if next(2) == 0 {
                    after.pop();
                }
                if before != after {
                    check(&before, &after);
                    check(&after, &before);
                }
            }
        }

        #[test]
        fn both_ends_are_left_out_by_whole_lines() {
            for (before, after, old, new) in [
                ("a\nb\nc\n", "a\nx\nc\n", 1..2, 1..2),
                ("a\n", "a\na\n", 1..1, 1..2),
                ("aa\n", "ab\n", 0..1, 0..1),
                ("ba\n", "aa\n", 0..1, 0..1),
                ("a", "a\n", 0..1, 0..1),
                ("", "a\n", 0..0, 0..1),
                ("a\nb", "b", 0..1, 0..0),
                ("xb\nc\n", "b\nc\n", 0..1, 0..1),
                ("a\nb\n", "a\nb\nc", 2..2, 2..3),
            ] {
                let (one, other) = both(before, after);
                assert_eq!(without_ends(&one, &other), Change { old, new }, "{before:?} {after:?}");
            }
        }

        #[test]
        fn it_can_be_called_off() {
            let (before, after) = both(&numbered(20_000), &numbered(20_000).replace("9\n", "\n"));
            assert!(changes(Some(&before), Some(&after), &|| true).is_none());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(before: &str, after: &str) -> Unified {
        let (before, after) = (Text::new(before.into()), Text::new(after.into()));
        let diff = unified(&before, &after, "f");
        assert_eq!(apply(&diff.body, &before).as_deref(), Ok(after.as_str()), "{}", diff.body);
        diff
    }

    #[test]
    fn prints_what_patch_reads() {
        let before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10";
        let after = "1\n2\n3\n4\nfive  \n6\n7\n8\n9\n10\n";
        let diff = check(before, after);
        assert_eq!(
            diff.body,
            "--- a/f\n+++ b/f\n@@ -2,9 +2,9 @@\n 2\n 3\n 4\n-5\n+five  \n 6\n 7\n 8\n 9\n-10\n\\ No newline at end of file\n+10\n"
        );
        assert_eq!((diff.added, diff.removed, diff.changed(), diff.line_count()), (2, 2, 2, 15));
    }

    #[test]
    fn no_byte_is_lost() {
        for (before, after) in [
            ("", "a\n"),
            ("a\n", ""),
            ("", "a"),
            ("a", "a\n"),
            ("a\n", "a"),
            ("a\n", "a \n"),
            ("a\nb\n", "a\r\nb\r\n"),
            ("\u{feff}a\n", "a\n"),
            ("a\n\n\n", "a\n\n"),
            ("\\ No newline at end of file\n", "\\ No newline at end of file"),
            ("--- a\n+++ b\n", "@@ -1 +1 @@\n"),
            ("x\r", "x\r\n"),
        ] {
            check(before, after);
        }
    }

    /// A small generator of our own: core has no dependency to spare for one.
    #[test]
    fn applies_to_what_it_was_made_from() {
        let mut state = 7_u64;
        let mut next = move |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % n
        };
        let words = ["a\n", "b\n", "b\r\n", "\n", " \n", "c", "-\n", "+\n", "\\\n", "@@\n"];
        for _ in 0..3000 {
            let mut lines: Vec<&str> = (0..next(30)).map(|_| words[usize::try_from(next(10)).unwrap()]).collect();
            let before = lines.concat();
            for _ in 0..next(6) {
                let at = usize::try_from(next(lines.len() as u64 + 1)).unwrap();
                if next(2) == 0 || at == lines.len() {
                    lines.insert(at, words[usize::try_from(next(10)).unwrap()]);
                } else {
                    lines.remove(at);
                }
            }
            check(&before, &lines.concat());
        }
    }

    #[test]
    fn a_diff_that_does_not_fit_is_refused() {
        let text = Text::new("a\nb\n".into());
        let refused = |body: &str, error: ApplyError| assert_eq!(apply(body, &text), Err(error), "{body}");
        let (malformed, mismatch) = (|line| ApplyError::Malformed { line }, |line| ApplyError::Mismatch { line });
        refused("", malformed(1));
        refused("--- a\n", malformed(1));
        refused("--- a\n+++ b\nx\n", malformed(3));
        refused("--- a\n+++ b\n@@ -1,1 +1,1 @@\n-x\n+y\n", mismatch(4));
        refused("--- a\n+++ b\n@@ -1,1 +1,1 @@\n-a\n", malformed(3));
        refused("--- a\n+++ b\n@@ -1,1 +2,1 @@\n-a\n+b\n", mismatch(3));
        refused("--- a\n+++ b\n@@ -9,1 +9,1 @@\n-a\n+b\n", mismatch(3));
        refused("--- a\n+++ b\n@@ -1,2 +1,1 @@\n-a\n+c\n+d\n", mismatch(6));
        refused("--- a\n+++ b\n@@ -0,1 +1,1 @@\n-a\n", malformed(3));
        // A line without an end before others, one of no bytes, and a diff that may be cut.
        refused("--- a\n+++ b\n@@ -1,1 +1,1 @@\n-a\n+x\n\\ No newline at end of file\n", mismatch(6));
        refused(
            "--- a\n+++ b\n@@ -1,1 +1,1 @@\n-a\n+x\n\\ No newline at end of file\n@@ -2,1 +2,1 @@\n-b\n+y\n",
            mismatch(9),
        );
        refused("--- a\n+++ b\n@@ -2,0 +3,1 @@\n+\n\\ No newline at end of file\n", malformed(4));
        refused("--- a\n+++ b\n@@ -2,1 +2,1 @@\n-b\n+x", malformed(5));
    }

    fn shown(old: Option<(&str, &str)>, new: Option<(&str, &str)>) -> String {
        let text = |side: Option<(&str, &str)>| side.map(|(_, text)| Text::new(text.into()));
        let (before, after, same) = (text(old), text(new), old.map(|side| side.1) == new.map(|side| side.1));
        let old = old.zip(before.as_ref()).map(|((mode, _), text)| Side { mode, text: Some(text), same });
        let new = new.zip(after.as_ref()).map(|((mode, _), text)| Side { mode, text: Some(text), same });
        fit(&patches("a b", old, new, &|| false).unwrap(), u32::MAX, u32::MAX).text
    }

    #[test]
    fn patches_as_git_prints_them() {
        let (plain, script, link) = ("100644", "100755", "120000");
        assert_eq!(shown(Some((plain, "a\n")), Some((plain, "a\n"))), "");
        assert_eq!(shown(None, None), "");
        assert_eq!(
            shown(Some((plain, "a\n")), Some((script, "a\n"))),
            "diff --git a/a b b/a b\nold mode 100644\nnew mode 100755\n"
        );
        assert_eq!(shown(None, Some((plain, ""))), "diff --git a/a b b/a b\nnew file mode 100644\n");
        assert_eq!(
            shown(Some((plain, "a")), None),
            "diff --git a/a b b/a b\ndeleted file mode 100644\n--- a/a b\t\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-a\n\\ No newline at end \
             of file\n"
        );
        // The same bytes as another kind of file are taken away and put there.
        let turned = shown(Some((plain, "a")), Some((link, "a")));
        assert!(turned.contains("deleted file mode 100644") && turned.contains("new file mode 120000"), "{turned}");
        assert_eq!(turned.matches("@@ ").count(), 2);
    }

    #[test]
    fn what_is_no_text_is_only_named() {
        let side = |mode| Some(Side { mode, text: None, same: false });
        let text = |old, new| fit(&patches("f", old, new, &|| false).unwrap(), u32::MAX, u32::MAX).text;
        assert_eq!(
            text(side("100644"), side("100755")),
            "diff --git a/f b/f\nold mode 100644\nnew mode 100755\nBinary files a/f and b/f differ\n"
        );
        assert!(text(None, side("100644")).ends_with("\nBinary files /dev/null and b/f differ\n"));
        assert!(text(side("100644"), None).ends_with("\nBinary files a/f and /dev/null differ\n"));
    }

    #[test]
    fn a_cut_stands_between_hunks_if_it_can() {
        let before: String = (0..100).map(|n| format!("{n}\n")).collect();
        let after = before.replace("\n5\n", "\nfive\n").replace("\n55\n", "\nfifty\n");
        let (before, after) = (Text::new(before), Text::new(after));
        let side = |text| Some(Side { mode: "100644", text: Some(text), same: false });
        let all = patches("f", side(&before), side(&after), &|| false).unwrap();
        let whole = fit(&all, u32::MAX, u32::MAX);
        assert_eq!((whole.hunks, whole.lines, whole.is_cut()), ((2, 2), (21, 21), false));
        let one = fit(&all, 20, u32::MAX);
        assert_eq!((one.hunks, one.lines, one.is_cut()), ((1, 2), (12, 21), true));
        assert_eq!(fit(&all, u32::MAX, u32::try_from(one.text.len()).unwrap()), one);
        let some = fit(&all, 7, u32::MAX);
        assert_eq!((some.hunks, some.lines), ((0, 2), (7, 21)));
        assert!(whole.text.starts_with(&some.text) && some.text.ends_with("\n 4\n"), "{}", some.text);
        assert_eq!(fit(&all, 9, 3).text, "");
    }

    #[test]
    fn names_that_could_bend_the_header_are_quoted() {
        assert_eq!((file_line("a/", "x y"), in_quotes("a/", "x y")), ("a/x y\t".into(), "a/x y".into()));
        assert_eq!(file_line("a/", "x \ny\"\u{1}\u{7}"), "\"a/x \\ny\\\"\\001\\a\"");
        assert_eq!(file_line("b/", "y\u{202e}gpj"), "\"b/y\\342\\200\\256gpj\"");
    }
}
