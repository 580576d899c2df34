//! Unified diffs that carry every byte: trailing spaces, CR, BOM, the final newline. `apply(unified(a, b), a) == b`.
//! Bounded by the caller's limits on size; never by a clock.

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
        print_hunk(&mut body, before, after, group);
    }
    let (added, removed) = counts(&changes);
    Unified { body, added, removed }
}

fn changes(before: &Text, after: &Text) -> Vec<Change> {
    let mut input = InternedInput::default();
    input.update_before(before.lines());
    input.update_after(after.lines());
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    diff.hunks().map(|h| Change { old: h.before, new: h.after }).collect()
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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patch {
    /// Everything before the first hunk.
    pub head: String,
    /// The hunks, each from its `@@` on.
    pub hunks: Vec<String>,
    /// Lines that are new.
    pub added: u32,
    /// Lines that are gone.
    pub removed: u32,
}

/// The change of one file as git prints it, without the line of object ids: nothing where nothing changed; two patches where
/// it became another kind of file.
#[must_use]
pub fn patches(name: &str, old: Option<Side<'_>>, new: Option<Side<'_>>) -> Vec<Patch> {
    match (old, new) {
        (Some(old), Some(new)) if old.mode.get(..3) != new.mode.get(..3) => {
            Vec::from([patch(name, Some(old), None), patch(name, None, Some(new))])
        }
        (Some(old), Some(new)) if old.same && new.same && old.mode == new.mode => Vec::new(),
        (None, None) => Vec::new(),
        (old, new) => Vec::from([patch(name, old, new)]),
    }
}

fn patch(name: &str, old: Option<Side<'_>>, new: Option<Side<'_>>) -> Patch {
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
        return Patch { head, ..Patch::default() };
    }
    let nothing = Text::new(String::new());
    let (before, after) = (old.map_or(Some(&nothing), |old| old.text), new.map_or(Some(&nothing), |new| new.text));
    let (Some(before), Some(after)) = (before, after) else {
        let there = |side: Option<Side<'_>>, name: String| if side.is_some() { name } else { "/dev/null".to_string() };
        let _ = writeln!(head, "Binary files {} and {} differ", there(old, a), there(new, b));
        return Patch { head, ..Patch::default() };
    };
    let changes = changes(before, after);
    let (added, removed) = counts(&changes);
    let hunks: Vec<String> = groups(&changes)
        .map(|group| {
            let mut hunk = String::new();
            print_hunk(&mut hunk, before, after, group);
            hunk
        })
        .collect();
    if !hunks.is_empty() {
        let line = |side: Option<Side<'_>>, prefix| {
            if side.is_some() { file_line(prefix, name) } else { "/dev/null".to_string() }
        };
        let _ = writeln!(head, "--- {}\n+++ {}", line(old, "a/"), line(new, "b/"));
    }
    Patch { head, hunks, added, removed }
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

/// Puts patches together, as far as they fit in so many lines and characters.
#[must_use]
pub fn fit(patches: &[Patch], lines: u32, chars: u32) -> Fitted {
    let count = |text: &str| memchr::memchr_iter(b'\n', text.as_bytes()).count();
    let small = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let pieces = || patches.iter().flat_map(|patch| [&patch.head].into_iter().chain(&patch.hunks));
    let is_hunk = |piece: &str| piece.starts_with("@@");
    let mut fitted = Fitted {
        hunks: (0, small(pieces().filter(|piece| is_hunk(piece)).count())),
        lines: (0, small(pieces().map(|piece| count(piece)).sum())),
        ..Fitted::default()
    };
    let (mut lines, mut chars) = (lines as usize, chars as usize);
    for piece in pieces() {
        let (height, size) = (count(piece), piece.chars().count());
        if height <= lines && size <= chars {
            (lines, chars) = (lines - height, chars - size);
            fitted.text.push_str(piece);
            fitted.lines.0 += small(height);
            fitted.hunks.0 += u32::from(is_hunk(piece));
            continue;
        }
        if fitted.hunks.0 == 0 {
            for line in piece.split_inclusive('\n').take(lines) {
                let Some(left) = chars.checked_sub(line.chars().count()) else { break };
                chars = left;
                fitted.text.push_str(line);
                fitted.lines.0 += 1;
            }
        }
        break;
    }
    fitted
}

/// Line indices, 0-based and half-open.
struct Change {
    old: Range<u32>,
    new: Range<u32>,
}

/// Changes whose context would touch stand in one hunk.
fn groups(changes: &[Change]) -> impl Iterator<Item = &[Change]> {
    changes.chunk_by(|a, b| b.old.start - a.old.end <= 2 * CONTEXT)
}

fn print_hunk(out: &mut String, before: &Text, after: &Text, group: &[Change]) {
    let (Some(first), Some(last)) = (group.first(), group.last()) else { return };
    let lead = first.old.start.min(CONTEXT);
    let tail = (before.total() - last.old.end).min(CONTEXT);
    let old = first.old.start - lead..last.old.end + tail;
    let new = first.new.start - lead..last.new.end + tail;
    // Writing to a String cannot fail.
    let _ = writeln!(out, "@@ -{} +{} @@", side(&old), side(&new));

    let mut at = old.start;
    for change in group {
        print_lines(out, ' ', before, at..change.old.start);
        print_lines(out, '-', before, change.old.clone());
        print_lines(out, '+', after, change.new.clone());
        at = change.old.end;
    }
    print_lines(out, ' ', before, at..old.end);
}

/// `START,COUNT` as patch reads it: an empty side names the line before it.
fn side(range: &Range<u32>) -> String {
    let count = range.end - range.start;
    let start = if count == 0 { range.start } else { range.start + 1 };
    format!("{start},{count}")
}

fn print_lines(out: &mut String, sign: char, text: &Text, lines: Range<u32>) {
    for number in lines {
        let line = text.line(number + 1);
        out.push(sign);
        out.push_str(line);
        if !line.ends_with('\n') {
            out.push('\n');
            out.push_str(NO_NEWLINE);
            out.push('\n');
        }
    }
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
        fit(&patches("a b", old, new), u32::MAX, u32::MAX).text
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
        let text = |old, new| fit(&patches("f", old, new), u32::MAX, u32::MAX).text;
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
        let all = patches("f", side(&before), side(&after));
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
