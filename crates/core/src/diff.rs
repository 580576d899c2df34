//! Unified diffs that keep every byte: trailing spaces, CR, BOM, the final newline. `apply(unified(a, b), a) == b`. Work is
//! bounded by the caller's limits on size, or by those in `large`; never by time.

mod apply;
pub mod edit;
mod large;
mod made;
mod patch;
mod told;

pub use apply::{ApplyError, apply};
pub use made::{Made, changed_lines, equal_runs, made};
pub use patch::{Fitted, Patch, Side, fit, patches};
pub use told::assumption;

use alloc::{format, string::String, vec::Vec};
use core::{fmt::Write, ops::Range};
use gix_imara_diff::{Algorithm, Diff, InternedInput};

use crate::{path::is_odd, scope::Lines, text::Text};

/// Unchanged lines shown around a change.
pub(crate) const CONTEXT: u32 = 3;
const NO_NEWLINE: &str = "\\ No newline at end of file";

/// A unified diff between two texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unified {
    /// The whole diff, headers included; ends with a newline.
    pub body: String,
    /// Lines added.
    pub added: u32,
    /// Lines removed.
    pub removed: u32,
}

impl Unified {
    /// The number of changed lines that the marker names: the larger of added and removed.
    #[must_use]
    pub fn changed(&self) -> u32 {
        self.added.max(self.removed)
    }

    /// The number of lines of the diff itself.
    #[must_use]
    pub fn line_count(&self) -> u32 {
        u32::try_from(memchr::memchr_iter(b'\n', self.body.as_bytes()).count()).unwrap_or(u32::MAX)
    }
}

/// The diff from `before` to `after`; `name` goes into its header.
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

/// The changes between two runs of lines that begin after `old` and `new` other lines.
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

/// Lines added and removed.
fn counts(changes: &[Change]) -> (u32, u32) {
    let sum = |pick: fn(&Change) -> &Range<u32>| changes.iter().map(|c| pick(c).end - pick(c).start).sum();
    (sum(|c| &c.new), sum(|c| &c.old))
}

/// How much more may be printed.
#[derive(Clone, Copy)]
struct Room {
    lines: u64,
    chars: u64,
}

impl Room {
    /// Unlimited.
    const ALL: Self = Self { lines: u64::MAX, chars: u64::MAX };

    /// Prints one line, if there is room for it.
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

/// Changes whose context would touch go into one hunk.
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

/// Whether there was room for all of them.
fn print_lines(out: &mut String, sign: &str, text: Option<&Text>, lines: Range<u32>, room: &mut Room) -> bool {
    let Some((text, lines)) = text.zip(Lines::new(lines.start + 1, lines.end)) else { return true };
    text.slice(lines).split_inclusive('\n').all(|line| {
        if line.ends_with('\n') {
            return room.push(out, &[sign, line]);
        }
        room.push(out, &[sign, line, "\n"]) && room.push(out, &[NO_NEWLINE, "\n"])
    })
}

/// A name as git prints it after `---` and `+++`: with a tab at the end if it contains a space, so that `patch` sees where it
/// ends.
fn file_line(side: &str, name: &str) -> String {
    let quoted = in_quotes(side, name);
    if quoted.contains(' ') && !quoted.starts_with('"') { format!("{quoted}\t") } else { quoted }
}

/// A name as git prints it: in quotes when it contains a control or other unprintable character, a quote or a backslash. Unlike
/// git also when it ends with a space, which `patch` would cut off.
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
    fn names_that_could_bend_the_header_are_quoted() {
        assert_eq!((file_line("a/", "x y"), in_quotes("a/", "x y")), ("a/x y\t".into(), "a/x y".into()));
        assert_eq!(file_line("a/", "x \ny\"\u{1}\u{7}"), "\"a/x \\ny\\\"\\001\\a\"");
        assert_eq!(file_line("b/", "y\u{202e}gpj"), "\"b/y\\342\\200\\256gpj\"");
    }
}
