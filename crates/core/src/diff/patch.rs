//! The change of one file as `git diff` prints it, and as much of it as fits one answer.

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};
use core::fmt::Write;

use super::{Change, Room, counts, file_line, groups, in_quotes, large, print_hunk, span};
use crate::text::Text;

/// One side of a patch.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// git's mode of the file: `100644`, `100755` or `120000`.
    pub mode: &'a str,
    /// The text; `None` for a binary file.
    pub text: Option<&'a Text>,
    /// Whether both sides have the same bytes.
    pub same: bool,
}

/// What `git diff` prints for one file, in pieces between which it can be cut.
#[derive(Clone, Debug, Default)]
pub struct Patch<'a> {
    /// Everything before the first hunk.
    head: String,
    /// Both texts, where their lines are shown.
    before: Option<&'a Text>,
    after: Option<&'a Text>,
    changes: Vec<Change>,
    /// Lines added.
    pub added: u32,
    /// Lines removed.
    pub removed: u32,
    /// Lines of each side in blocks that count as replaced, because they are too large to be compared line by line.
    pub blocks: (u32, u32),
}

/// The change of one file as git prints it, without the line of object ids: no patch if nothing changed, two if it became
/// another kind of file. `None` means cancelled; `cancelled` is asked between pieces of work of bounded size.
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

/// As much of some patches as fits one answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fitted {
    /// Whole hunks, or the first lines of the first hunk if not even that fits.
    pub text: String,
    /// Hunks shown whole, and the number of all hunks.
    pub hunks: (u32, u32),
    /// Lines shown, and the number of all lines.
    pub lines: (u32, u32),
}

impl Fitted {
    /// Whether something is left out; then the text cannot be applied as a patch.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.lines.0 < self.lines.1
    }
}

/// Joins patches as far as they fit into this many lines and characters. Prints no more than is shown.
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
            // Only the first hunk may be shown in part.
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

impl Patch<'_> {
    /// The number of lines a hunk prints as.
    fn height(&self, group: &[Change]) -> u64 {
        let total = |text: Option<&Text>| text.map_or(0, Text::total);
        let Some((old, _)) = span(group, total(self.before)) else { return 0 };
        let is_open = |text: Option<&Text>, end: u32| {
            text.is_some_and(|text| end == text.total() && !text.as_str().is_empty() && !text.as_str().ends_with('\n'))
        };
        let new: u64 = group.iter().map(|change| u64::from(change.new.end - change.new.start)).sum();
        // A last line without a terminator is followed by a line that says so.
        let added_last = group.last().is_some_and(|last| !last.new.is_empty() && is_open(self.after, last.new.end));
        1 + u64::from(old.end - old.start)
            + new
            + u64::from(is_open(self.before, old.end) && !old.is_empty())
            + u64::from(added_last)
    }

    /// Whether there was room for all of it.
    fn print(&self, out: &mut String, group: &[Change], room: &mut Room) -> bool {
        print_hunk(out, (self.before, self.after), group, room)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        // The same bytes as another kind of file are deleted and added.
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
}
