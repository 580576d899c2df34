//! Applies a unified diff strictly: there is no searching for context and no fuzz.

use alloc::string::String;
use core::ops::Range;

use super::NO_NEWLINE;
use crate::{scope::Lines, text::Text};

/// Why a diff cannot be applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{self:?}")]
pub enum ApplyError {
    /// It is not a unified diff.
    Malformed {
        /// Line of the diff, 1-based.
        line: usize,
    },
    /// The text has something else at that place than the diff says.
    Mismatch {
        /// Line of the diff, 1-based.
        line: usize,
    },
}

/// Applies a unified diff: every position, count and byte of context must agree.
///
/// # Errors
/// [`ApplyError`] with the line of the diff at fault.
pub fn apply(body: &str, before: &Text) -> Result<String, ApplyError> {
    let last = body.split_inclusive('\n').count().max(1);
    if !body.ends_with('\n') {
        // Its last line may have been cut.
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
                // A line without a terminator has at least one byte.
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

/// The new text so far.
struct Applied<'a> {
    out: String,
    /// Lines of the old text that are done.
    taken: u32,
    /// Lines of the new text that are done.
    given: u32,
    before: &'a Text,
}

impl Applied<'_> {
    /// Copies unchanged lines up to this one; `false` when the diff goes backwards or beyond the end, or when the new text so
    /// far ends without a terminator.
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

    /// Whether the new text so far ends without a terminator; then no line can follow.
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
        // A line without a terminator before others, one without bytes, and a diff that may have been cut.
        refused("--- a\n+++ b\n@@ -1,1 +1,1 @@\n-a\n+x\n\\ No newline at end of file\n", mismatch(6));
        refused(
            "--- a\n+++ b\n@@ -1,1 +1,1 @@\n-a\n+x\n\\ No newline at end of file\n@@ -2,1 +2,1 @@\n-b\n+y\n",
            mismatch(9),
        );
        refused("--- a\n+++ b\n@@ -2,0 +3,1 @@\n+\n\\ No newline at end of file\n", malformed(4));
        refused("--- a\n+++ b\n@@ -2,1 +2,1 @@\n-b\n+x", malformed(5));
    }
}
