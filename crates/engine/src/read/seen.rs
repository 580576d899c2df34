//! Lines that are shown by anything but a read: by a search, by a diff, as context of a definition, or from a file that
//! is too large to read. They are recorded in the conversation's log before they are sent, so that no other version of
//! those lines is vouched for afterwards. They are located by comparing them with the current file; if that fails,
//! nothing of the file is held any more.

use readproof_disk::{Create, SessionName, Snapshot, StoreError};
use readproof_hosts::session::{Call, SeenFile, Sha};
use readproof_index::Line;

use crate::{Engine, Error, Notice};

/// What an answer shows of one file.
pub(crate) struct Glimpse {
    /// Relative to the workspace root.
    path: String,
    lines: Vec<Glimpsed>,
    /// Whether some text has no known line number, or its bytes were replaced.
    odd: bool,
}

/// The shown part of one line, without its terminator.
#[derive(Debug, PartialEq, Eq)]
struct Glimpsed {
    number: u64,
    text: String,
    /// Whether this is the whole line.
    whole: bool,
}

impl Glimpse {
    /// Text at an unknown place in the file.
    pub(crate) fn somewhere(path: &str) -> Self {
        Self { path: path.to_owned(), lines: Vec::new(), odd: true }
    }

    /// Lines that a search found.
    pub(crate) fn found(path: &str, found: &[Line]) -> Self {
        let lines = found.iter().map(|line| {
            // A cut line begins with an ellipsis that is not part of it.
            let text = if line.cut { line.text.trim_start_matches('…') } else { &line.text };
            Glimpsed { number: line.number, text: text.to_owned(), whole: !line.cut }
        });
        Self { path: path.to_owned(), lines: lines.collect(), odd: found.iter().any(|line| line.lossy) }
    }

    /// Whole lines by their numbers; one that is shown twice counts once.
    pub(crate) fn lines(path: &str, shown: impl Iterator<Item = (u64, String)>) -> Self {
        let mut lines: Vec<Glimpsed> = shown.map(|(number, text)| Glimpsed { number, text, whole: true }).collect();
        lines.sort_by_key(|line| line.number);
        lines.dedup_by_key(|line| line.number);
        Self { path: path.to_owned(), lines, odd: false }
    }

    /// Whole lines from `first` on.
    pub(crate) fn text(path: &str, first: u64, text: &str) -> Self {
        let lines = text.split_inclusive('\n').map(|line| line.strip_suffix('\n').unwrap_or(line).to_owned());
        let lines = (first..).zip(lines).map(|(number, text)| Glimpsed { number, text, whole: true });
        Self { path: path.to_owned(), lines: lines.collect(), odd: false }
    }

    /// One side of a unified diff: added (`+`) or removed (`-`) lines, with the context.
    pub(crate) fn diff(path: &str, diff: &str, side: char) -> Self {
        let (mut lines, mut next) = (Vec::new(), None);
        for line in diff.split('\n') {
            if let Some(ranges) = line.strip_prefix("@@ ") {
                let range = ranges.split(' ').find_map(|range| range.strip_prefix(side));
                next = range.and_then(|range| range.split(',').next()?.parse::<u64>().ok());
            } else if let (Some(number), Some(shown)) = (next, line.strip_prefix([side, ' '])) {
                lines.push(Glimpsed { number, text: shown.to_owned(), whole: true });
                next = Some(number + 1);
            }
        }
        Self { path: path.to_owned(), lines, odd: false }
    }

    /// The runs of lines in the current text; `None` if the shown lines are not in it.
    fn placed(&self, read: &Snapshot) -> Option<Vec<(u32, u32)>> {
        let mut runs: Vec<(u32, u32)> = Vec::new();
        for Glimpsed { number, text, whole } in &self.lines {
            let number = u32::try_from(*number).ok().filter(|number| (1..=read.text.total()).contains(number))?;
            let line = read.text.line(number);
            let line = line.strip_suffix('\n').unwrap_or(line);
            if if *whole { line != text } else { !line.contains(text.as_str()) } {
                return None;
            }
            match runs.last_mut().filter(|(_, last)| last + 1 == number) {
                Some((_, last)) => *last = number,
                None => runs.push((number, number)),
            }
        }
        Some(runs).filter(|_| !self.odd)
    }
}

impl Engine {
    /// The place in the session of a call made now; `None` if the conversation has no log and so holds nothing.
    pub(crate) fn asked_in(&self, session: Option<&SessionName>) -> Option<Call> {
        self.with_session(session?, Create::No, |session| session.call()).ok()
    }

    /// Records that these lines are about to be sent. Returns notices.
    pub(crate) fn saw(
        &self,
        session: Option<&SessionName>,
        call: Option<Call>,
        shown: impl Iterator<Item = Glimpse>,
    ) -> Vec<Notice> {
        let Some(name) = session.filter(|_| !self.unseen) else { return Vec::new() };
        let at = self.now();
        let known = match self.with_session(name, Create::No, |session| session.transcript().files()) {
            Ok(known) => known,
            // A foreign store is never relied on, so nothing in it can be outdated.
            Err(Error::NoSession(_) | Error::Store(StoreError::Foreign { .. })) => return Vec::new(),
            Err(error) => return vec![self.retire(name, error)],
        };
        let known = |glimpse: &Glimpse| known.iter().any(|path| path.as_str() == glimpse.path);
        let files: Vec<SeenFile> = shown.filter(known).filter_map(|glimpse| self.placed(&glimpse)).collect();
        if files.is_empty() {
            return Vec::new();
        }
        let told = self.with_session(name, Create::No, |session| {
            session.saw(call.unwrap_or_else(|| session.call()), files, at).map_err(Error::from)
        });
        told.and_then(|told| told).err().map(|error| self.retire(name, error)).into_iter().collect()
    }

    /// Locates the shown lines in the current file; `None` if nothing of the file is shown.
    fn placed(&self, glimpse: &Glimpse) -> Option<SeenFile> {
        if glimpse.lines.is_empty() && !glimpse.odd {
            return None;
        }
        let path = glimpse.path.clone();
        let file = self.root.locate(&[self.root.absolute(&path)]).ok();
        let read = file.and_then(|file| {
            let read = self.root.snapshot(&file, &self.snapshot_rules()).ok();
            read.filter(|read| !self.shared.sensitive.is_sensitive_read(&file, read))
        });
        let placed = read.as_ref().and_then(|read| Some((read, glimpse.placed(read)?)));
        Some(match placed {
            Some((read, lines)) => SeenFile { path, text: Some((Sha(read.text.hash()), read.text.total())), lines },
            None => SeenFile { path, text: None, lines: Vec::new() },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_shows_the_lines_of_a_side_by_their_numbers() {
        let diff = "--- a/f\n+++ b/f\n@@ -1,2 +1,3 @@\n a\n-b\n+c\n+d\n@@ -9 +10 @@ fn x() {\n-old\n\\ No newline at end of file\n+new\n";
        let lines = |side| Glimpse::diff("f", diff, side).lines;
        let line = |(number, text): &(u64, &str)| Glimpsed { number: *number, text: (*text).to_owned(), whole: true };
        let of = |lines: &[(u64, &str)]| lines.iter().map(line).collect::<Vec<_>>();
        assert_eq!(lines('+'), of(&[(1, "a"), (2, "c"), (3, "d"), (10, "new")]));
        assert_eq!(lines('-'), of(&[(1, "a"), (2, "b"), (9, "old")]));
        assert_eq!(Glimpse::diff("f", "Binary files differ\n", '+').lines, []);
    }
}
