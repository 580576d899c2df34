//! Applies a unified diff to the whole base, strictly.
//!
//! It owns the diff format as GNU diff writes it. It must never search for a position, skip a line, or tolerate a wrong
//! byte: a diff that fits only roughly is a complaint.

use std::iter::Peekable;
use std::str::Split;

use crate::answer::decimal;
use crate::name::header_name;
use crate::{Complaint, demand};

const NO_NEWLINE: &str = "\\ No newline at end of file";

/// The text after a diff, and how much it changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Applied {
    pub(crate) text: String,
    pub(crate) lines: u64,
    pub(crate) added: u64,
    pub(crate) removed: u64,
}

/// Applies `diff` to all lines of a base. Both header names must be those of `path`.
///
/// The diff's own last newline may be missing: it carries nothing, because only the no-newline mark says how a file line
/// ends.
pub(crate) fn apply(base: &str, path: &str, diff: &str) -> Result<Applied, Complaint> {
    let mut patch = Patch {
        lines: diff.strip_suffix('\n').unwrap_or(diff).split('\n').peekable(),
        base: base.split_inclusive('\n').collect(),
        used: 0,
        output: Vec::new(),
        added: 0,
        removed: 0,
    };
    patch.check_names(path)?;
    demand!(patch.lines.peek().is_some(), "the diff has no hunk");
    while let Some(header) = patch.lines.next() {
        patch.hunk(header)?;
    }
    patch.finish()
}

/// A line that a diff shows, with its number in the text before and in the one after; it is in at least one of them.
pub(crate) struct Row {
    pub(crate) old: Option<u64>,
    pub(crate) new: Option<u64>,
    pub(crate) line: String,
}

/// The lines that a diff of `path` shows, in order. They need not be held.
pub(crate) fn rows(path: Option<&str>, shown: &str) -> Result<Vec<Row>, Complaint> {
    let lines = shown.strip_suffix('\n').unwrap_or(shown).split('\n').peekable();
    let mut patch = Patch { lines, base: Vec::new(), used: 0, output: Vec::new(), added: 0, removed: 0 };
    // A name that begins with a slash is not compared.
    patch.check_names(path.unwrap_or("/"))?;
    let (mut found, mut old_next, mut new_next) = (Vec::new(), 1, 1);
    demand!(patch.lines.peek().is_some(), "the diff has no hunk");
    while let Some(header) = patch.lines.next() {
        let Some((old, new)) = hunk_sides(header) else {
            return Err(Complaint(format!("not a hunk header: {header:?}")));
        };
        let (mut before, mut after) = (old.start as u64 + 1, new.start as u64 + 1);
        demand!(before >= old_next && after >= new_next, "the hunk {header:?} does not stand in order");
        demand!(before - old_next == after - new_next, "between the hunks before {header:?} lines are lost");
        (old_next, new_next) = (before + old.count as u64, after + new.count as u64);
        while before < old_next || after < new_next {
            let (side, line) = patch.body_line(header)?;
            let (is_old, is_new) = (!matches!(side, Side::New), !matches!(side, Side::Old));
            found.push(Row { old: is_old.then_some(before), new: is_new.then_some(after), line });
            (before, after) = (before + u64::from(is_old), after + u64::from(is_new));
        }
        demand!(before == old_next && after == new_next, "more lines than the hunk {header:?} counts");
    }
    Ok(found)
}

/// The state of one application: the diff's lines still to read, the base lines used, the lines made.
struct Patch<'a> {
    lines: Peekable<Split<'a, char>>,
    base: Vec<&'a str>,
    used: usize,
    output: Vec<String>,
    added: u64,
    removed: u64,
}

impl Patch<'_> {
    fn check_names(&mut self, path: &str) -> Result<(), Complaint> {
        let old = self.lines.next().and_then(|line| header_name(line.strip_prefix("--- ")?, "a/"));
        let new = self.lines.next().and_then(|line| header_name(line.strip_prefix("+++ ")?, "b/"));
        let (Some(old), Some(new)) = (old, new) else {
            return Err(Complaint("the diff does not begin with its two names".to_owned()));
        };
        demand!(old == new, "the diff names two files");
        // An absolute path is shown relative to a root that the model need not know.
        let same = path.starts_with('/') || old == path.as_bytes();
        demand!(same, "the diff is of {:?}", String::from_utf8_lossy(&old));
        Ok(())
    }

    fn hunk(&mut self, header: &str) -> Result<(), Complaint> {
        let Some((old, new)) = hunk_sides(header) else {
            return Err(Complaint(format!("not a hunk header: {header:?}")));
        };
        demand!(self.used <= old.start && old.start <= self.base.len(), "no base line for the hunk {header:?}");
        self.output.extend(self.base[self.used..old.start].iter().map(|line| (*line).to_owned()));
        self.used = old.start;
        demand!(self.output.len() == new.start, "the hunk {header:?} lands at line {}", self.output.len() + 1);

        let changes_before = self.added + self.removed;
        let (mut old_left, mut new_left) = (old.count, new.count);
        while old_left > 0 || new_left > 0 {
            let (side, line) = self.body_line(header)?;
            let (takes_old, takes_new) = match side {
                Side::Both => (1, 1),
                Side::Old => (1, 0),
                Side::New => (0, 1),
            };
            demand!(takes_old <= old_left && takes_new <= new_left, "more lines than the hunk {header:?} counts");
            old_left -= takes_old;
            new_left -= takes_new;
            self.take(side, line)?;
        }
        demand!(changes_before < self.added + self.removed, "the hunk {header:?} changes nothing");
        Ok(())
    }

    /// The next line of a hunk, with its terminator unless the mark after it says that it has none.
    fn body_line(&mut self, header: &str) -> Result<(Side, String), Complaint> {
        let Some(line) = self.lines.next() else {
            return Err(Complaint(format!("fewer lines than the hunk {header:?} counts")));
        };
        let (side, text) = if let Some(text) = line.strip_prefix(' ') {
            (Side::Both, text)
        } else if let Some(text) = line.strip_prefix('-') {
            (Side::Old, text)
        } else if let Some(text) = line.strip_prefix('+') {
            (Side::New, text)
        } else {
            return Err(Complaint(format!("no line of the hunk {header:?}: {line:?}")));
        };
        if self.lines.next_if_eq(&NO_NEWLINE).is_none() {
            return Ok((side, format!("{text}\n")));
        }
        demand!(!text.is_empty(), "a line of no bytes in the hunk {header:?}");
        Ok((side, text.to_owned()))
    }

    fn take(&mut self, side: Side, line: String) -> Result<(), Complaint> {
        match side {
            Side::Both | Side::Old => {
                let held = self.base.get(self.used).copied().unwrap_or_default();
                demand!(held == line, "base line {} is {held:?}, the diff has {line:?}", self.used + 1);
                self.used += 1;
            }
            Side::New => self.added += 1,
        }
        match side {
            Side::Both | Side::New => self.output.push(line),
            Side::Old => self.removed += 1,
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Applied, Complaint> {
        self.output.extend(self.base[self.used..].iter().map(|line| (*line).to_owned()));
        let open = self.output.iter().rev().skip(1).any(|line| !line.ends_with('\n'));
        demand!(!open, "a line that is not the last has no newline");
        let lines = self.output.len() as u64;
        Ok(Applied { text: self.output.concat(), lines, added: self.added, removed: self.removed })
    }
}

/// Which texts a hunk line belongs to.
#[derive(Clone, Copy)]
enum Side {
    Both,
    Old,
    New,
}

/// How many lines of one text stand before the hunk, and how many are in it.
struct Extent {
    start: usize,
    count: usize,
}

/// Parses `@@ -a,b +c,d @@`.
fn hunk_sides(header: &str) -> Option<(Extent, Extent)> {
    let (old, new) = header.strip_prefix("@@ -")?.strip_suffix(" @@")?.split_once(" +")?;
    Some((extent(old)?, extent(new)?))
}

fn extent(side: &str) -> Option<Extent> {
    let (first, count) = side.split_once(',').unwrap_or((side, "1"));
    let first = usize::try_from(decimal(first)?).ok()?;
    let count = usize::try_from(decimal(count)?).ok()?;
    // An empty side is named by the line before it, so that line 0 stands for the start of the file.
    let start = if count == 0 { first } else { first.checked_sub(1)? };
    Some(Extent { start, count })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEN: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";

    /// Applies hunks to a base under the right header.
    fn hunks(base: &str, hunks: &str) -> Result<Applied, Complaint> {
        apply(base, "x", &format!("--- a/x\n+++ b/x\n{hunks}"))
    }

    #[test]
    fn diffs_that_fit() {
        let table: &[(&str, &str, &str, (u64, u64))] = &[
            ("a\nb\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n", "a\nx\nc\n", (1, 1)),
            ("a\nb\nc\n", "@@ -2 +2 @@\n-b\n+x\n", "a\nx\nc\n", (1, 1)),
            ("a\nb\nc\n", "@@ -2,1 +2,1 @@\n-b\n+x", "a\nx\nc\n", (1, 1)),
            // Empty sides.
            ("", "@@ -0,0 +1,2 @@\n+a\n+b\n", "a\nb\n", (2, 0)),
            ("a\nb\n", "@@ -1,2 +0,0 @@\n-a\n-b\n", "", (0, 2)),
            ("a\nb\n", "@@ -1,0 +2 @@\n+x\n", "a\nx\nb\n", (1, 0)),
            ("a\nb\n", "@@ -0,0 +1 @@\n+x\n", "x\na\nb\n", (1, 0)),
            ("a\nb\n", "@@ -2,0 +3 @@\n+x\n", "a\nb\nx\n", (1, 0)),
            ("a\nb\nc\n", "@@ -2 +1,0 @@\n-b\n", "a\nc\n", (0, 1)),
            // Several hunks; the second is moved by the first.
            (
                TEN,
                "@@ -1,2 +1,3 @@\n 1\n+x\n 2\n@@ -9,2 +10,1 @@\n-9\n 10\n",
                "1\nx\n2\n3\n4\n5\n6\n7\n8\n10\n",
                (1, 1),
            ),
            (TEN, "@@ -1,2 +0,0 @@\n-1\n-2\n@@ -10 +8 @@\n-10\n+x\n", "3\n4\n5\n6\n7\n8\n9\nx\n", (1, 3)),
            // The end of the file.
            ("a\nb", "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n", "a\nb\n", (1, 1)),
            ("a\nb\n", "@@ -1,2 +1,2 @@\n a\n-b\n+b\n\\ No newline at end of file\n", "a\nb", (1, 1)),
            ("a\nb\n", "@@ -1,2 +1,2 @@\n a\n-b\n+b\n\\ No newline at end of file", "a\nb", (1, 1)),
            ("a\nb", "@@ -1,2 +1,2 @@\n-a\n+x\n b\n\\ No newline at end of file\n", "x\nb", (1, 1)),
            ("a", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n", "b", (1, 1)),
            ("a", "@@ -1 +0,0 @@\n-a\n\\ No newline at end of file\n", "", (0, 1)),
            // Lines that look like the format.
            ("-- a/x\n@@\n", "@@ -1,2 +1,2 @@\n--- a/x\n+++ b/x\n @@\n", "++ b/x\n@@\n", (1, 1)),
            ("a\n", "@@ -1 +1,2 @@\n a\n+\\ No newline at end of file\n", "a\n\\ No newline at end of file\n", (1, 0)),
            // Every byte counts: CR, trailing space, empty lines.
            ("a\r\nb \n\n", "@@ -1,3 +1,3 @@\n a\r\n-b \n+b\n \n", "a\r\nb\n\n", (1, 1)),
            ("a\nb\n", "@@ -1,2 +1,3 @@\n a\n+\n b\n", "a\n\nb\n", (1, 0)),
        ];
        for (base, diff, text, (added, removed)) in table {
            let lines = text.split_inclusive('\n').count() as u64;
            let expected = Applied { text: (*text).to_owned(), lines, added: *added, removed: *removed };
            assert_eq!(hunks(base, diff), Ok(expected), "{diff}");
        }
    }

    #[test]
    fn diffs_that_do_not_fit() {
        let table: &[(&str, &str, &str)] = &[
            ("no hunk", "a\n", ""),
            ("one wrong context byte", "a\nb\nc\n", "@@ -1,3 +1,3 @@\n A\n-b\n+x\n c\n"),
            ("one wrong removed byte", "a\nb\nc\n", "@@ -1,3 +1,3 @@\n a\n-B\n+x\n c\n"),
            ("a context line without its CR", "a\r\nb\n", "@@ -1,2 +1,2 @@\n a\n-b\n+x\n"),
            ("a trailing space lost", "a \nb\n", "@@ -1,2 +1,2 @@\n a\n-b\n+x\n"),
            ("an empty context line trimmed", "\nb\n", "@@ -1,2 +1,2 @@\n\n-b\n+x\n"),
            ("last context trimmed", "b\n\n", "@@ -1,2 +1,2 @@\n-b\n+x\n"),
            ("old count too high", "a\nb\nc\n", "@@ -1,4 +1,3 @@\n a\n-b\n+x\n c\n"),
            ("old count too low", "a\nb\nc\n", "@@ -1,2 +1,3 @@\n a\n-b\n+x\n c\n"),
            ("new count too high", "a\nb\nc\n", "@@ -1,3 +1,4 @@\n a\n-b\n+x\n c\n"),
            ("new count too low", "a\nb\nc\n", "@@ -1,3 +1,2 @@\n a\n-b\n+x\n c\n"),
            ("counts left out", "a\nb\nc\n", "@@ -1 +1 @@\n a\n-b\n+x\n c\n"),
            ("old position off", "b\nb\nc\n", "@@ -1 +2 @@\n-b\n+x\n"),
            ("new position off", "b\nb\nc\n", "@@ -2 +1 @@\n-b\n+x\n"),
            ("both positions off", "a\nb\nc\n", "@@ -3 +3 @@\n-b\n+x\n"),
            ("position beyond the base", "a\n", "@@ -3,0 +4 @@\n+x\n"),
            ("line 0 of a side with lines", "a\n", "@@ -0 +1 @@\n-a\n+x\n"),
            ("an empty side named by the line after", "a\nb\n", "@@ -2,0 +2 @@\n+x\n"),
            ("an empty side of a whole file at line 1", "", "@@ -1,0 +1 @@\n+x\n"),
            ("hunks out of order", TEN, "@@ -9 +9 @@\n-9\n+x\n@@ -2 +2 @@\n-2\n+y\n"),
            ("hunks that overlap", TEN, "@@ -1,3 +1,3 @@\n 1\n-2\n+x\n 3\n@@ -3 +3 @@\n-3\n+y\n"),
            ("second hunk not moved", TEN, "@@ -1,2 +1,3 @@\n 1\n+x\n 2\n@@ -9,2 +9,1 @@\n-9\n 10\n"),
            ("a hunk of context only", "a\nb\n", "@@ -1,2 +1,2 @@\n a\n b\n"),
            ("an empty hunk", "a\n", "@@ -0,0 +0,0 @@\n"),
            ("bytes after the last hunk", "a\n", "@@ -1 +1 @@\n-a\n+b\ntrailing"),
            ("an empty line after the last hunk", "a\n", "@@ -1 +1 @@\n-a\n+b\n\n"),
            ("base without newline, mark missing", "a", "@@ -1 +1 @@\n-a\n+b\n"),
            ("context without newline, mark missing", "a\nb", "@@ -1,2 +1,2 @@\n-a\n+x\n b\n"),
            ("base with newline, mark too many", "a\n", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n"),
            ("no newline before the last line", "a\nb\n", "@@ -1 +1 @@\n-a\n+x\n\\ No newline at end of file\n"),
            ("no newline, then an added line", "a\n", "@@ -1 +1,2 @@\n-a\n+x\n\\ No newline at end of file\n+y\n"),
            ("a line added after one without newline", "a", "@@ -1,0 +2 @@\n+x\n"),
            ("a mark before any line", "a\n", "@@ -1 +1 @@\n\\ No newline at end of file\n-a\n+b\n"),
            ("two marks", "a", "@@ -1 +0,0 @@\n-a\n\\ No newline at end of file\n\\ No newline at end of file\n"),
            ("a mark in other words", "a", "@@ -1 +1 @@\n-a\n\\ no newline\n+b\n"),
            ("a line of no bytes", "a\n", "@@ -1 +1,2 @@\n a\n+\n\\ No newline at end of file\n"),
            ("a heading after the hunk header", "a\n", "@@ -1 +1 @@ fn a()\n-a\n+b\n"),
            ("a combined header", "a\n", "@@@ -1 -1 +1 @@@\n-a\n+b\n"),
            ("a number with a sign", "a\n", "@@ -+1 +1 @@\n-a\n+b\n"),
            ("a number with leading zero", "a\n", "@@ -01 +1 @@\n-a\n+b\n"),
            ("a number too large", "a\n", "@@ -18446744073709551616 +1 @@\n-a\n+b\n"),
            ("a huge count", "a\n", "@@ -1,18446744073709551615 +1 @@\n-a\n+b\n"),
            ("a third number", "a\n", "@@ -1,1,1 +1 @@\n-a\n+b\n"),
        ];
        for (rule, base, diff) in table {
            assert!(hunks(base, diff).is_err(), "{rule}: {:?}", hunks(base, diff));
        }
    }

    #[test]
    fn header_names_must_be_the_path() {
        let hunk = "@@ -1 +1 @@\n-a\n+b\n";
        for (path, header, fits) in [
            ("x", "--- a/x\n+++ b/x\n", true),
            ("x", "--- a/x\t\n+++ b/x\t\n", true),
            ("my x", "--- a/my x\t\n+++ b/my x\t\n", true),
            ("d/ä", "--- \"a/d/\\303\\244\"\n+++ \"b/d/\\303\\244\"\n", true),
            ("d/ä", "--- a/d/ä\n+++ b/d/ä\n", true),
            ("/root/x", "--- a/x\n+++ b/x\n", true),
            ("x", "--- a/y\n+++ b/y\n", false),
            ("x", "--- a/x\n+++ b/y\n", false),
            ("x", "--- a/y\n+++ b/x\n", false),
            ("/root/x", "--- a/x\n+++ b/y\n", false),
            ("x", "--- x\n+++ x\n", false),
            ("x", "--- b/x\n+++ a/x\n", false),
            ("x", "--- /dev/null\n+++ b/x\n", false),
            ("x", "--- a/x\t2026-01-01\n+++ b/x\t2026-01-01\n", false),
            ("x", "+++ b/x\n--- a/x\n", false),
            ("x", "--- a/x\n", false),
            ("x", "", false),
            ("x", "\n--- a/x\n+++ b/x\n", false),
            ("x", "diff --git a/x b/x\n--- a/x\n+++ b/x\n", false),
        ] {
            let applied = apply("a\n", path, &format!("{header}{hunk}"));
            assert_eq!(applied.is_ok(), fits, "{path}: {header:?}: {applied:?}");
        }
        assert!(apply("a\n", "x", "").is_err());
    }
}
