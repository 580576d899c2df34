//! What can stand on a branch and change what the model holds, as plain data; and whether its numbers can be true.

use alloc::vec::Vec;

use super::span::Held;
use crate::{
    path::PathKey,
    scope::{Lines, Scope},
    text::{ContentHash, Version},
};

/// Something that stands on a branch and changes what the model holds. A text that is named by its hash alone has the form of
/// the version beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Plain text was shown.
    Shown {
        /// The file.
        path: PathKey,
        /// The text it was taken from.
        version: Version,
        /// The lines that were shown whole.
        lines: Option<Lines>,
        /// Whether the call and the text make the end of the file visible.
        end: bool,
        /// A line that was shown in part: it is held under no text.
        part: Option<u32>,
    },
    /// A marker said that lines are as the model holds them.
    Same {
        /// The file.
        path: PathKey,
        /// The text the marker relies on.
        base: ContentHash,
        /// The text it speaks of.
        version: Version,
        /// The lines it vouches for.
        scope: Scope,
        /// Whether the marker, or the call with it, tells how many lines the file has.
        ends: bool,
    },
    /// A marker is on its way. It may or may not be seen: it adds nothing, and takes what it would take if seen.
    MarkerSent {
        /// The file.
        path: PathKey,
        /// The text it relies on.
        base: ContentHash,
        /// The text it speaks of.
        version: Version,
        /// The lines it vouches for.
        scope: Scope,
        /// Whether it tells how many lines the file has.
        ends: bool,
    },
    /// A diff of the whole file was shown.
    Diff {
        /// The file.
        path: PathKey,
        /// The text it starts from.
        base: ContentHash,
        /// The text it leads to.
        version: Version,
    },
    /// The agent's own write succeeded; its whole content stands in the call.
    Written {
        /// The file.
        path: PathKey,
        /// The text written.
        version: Version,
    },
    /// The agent's own edit succeeded; old and new bytes stand in the call, and which lines it replaced in the answer.
    Edited {
        /// The file.
        path: PathKey,
        /// The text before.
        before: Version,
        /// The text after.
        after: Version,
        /// The lines it touched, as the answer states them.
        hunks: Vec<Hunk>,
    },
    /// Lines of other texts were found to be the same in this one. It tells the model nothing and changes nothing of what
    /// is held, only under which names: so it holds wherever it stands.
    Alike {
        /// The file.
        path: PathKey,
        /// The text in which they are the same.
        version: Version,
        /// Which lines, of which other text.
        pieces: Vec<Alike>,
    },
    /// Lines may have been seen elsewhere than in the answer to a read: in a search, in a diff, printed by a program that
    /// was given them. Adds nothing, and takes these lines from every other text.
    Seen {
        /// The file.
        path: PathKey,
        /// The text they are of.
        version: Version,
        /// Which lines, whole or in part.
        lines: Vec<Lines>,
    },
    /// Someone asked for fresh text of these names of one file.
    Refreshed {
        /// Every name of the file that is known.
        paths: Vec<PathKey>,
        /// Which lines.
        scope: Scope,
    },
    /// What the model saw of this file cannot be placed: an altered block, a write without a result, a secret.
    Void {
        /// The file.
        path: PathKey,
    },
    /// The barrier: nothing before it counts.
    Compacted,
}

impl Event {
    /// The one file it concerns; `None` for a refresh, which may concern several, and for the barrier.
    #[must_use]
    pub fn path(&self) -> Option<&PathKey> {
        match self {
            Self::Shown { path, .. }
            | Self::Same { path, .. }
            | Self::MarkerSent { path, .. }
            | Self::Diff { path, .. }
            | Self::Written { path, .. }
            | Self::Edited { path, .. }
            | Self::Seen { path, .. }
            | Self::Alike { path, .. }
            | Self::Void { path } => Some(path),
            Self::Refreshed { .. } | Self::Compacted => None,
        }
    }
}

/// More lines than any text has, as no file over 1 GiB is read. Below it, no sum of lines exceeds 32 bits.
const TOO_MANY: u32 = (1 << 30) + 1;

/// Whether an event could be true as far as its numbers go, beside what is held of its file: one text has one number of
/// lines, and an edit does not change a file's form.
pub(super) fn is_possible(event: &Event, held: &[Held]) -> bool {
    let texts = match event {
        Event::Shown { version, .. }
        | Event::Same { version, .. }
        | Event::MarkerSent { version, .. }
        | Event::Diff { version, .. }
        | Event::Written { version, .. }
        | Event::Seen { version, .. } => [version, version],
        Event::Edited { before, after, hunks, .. } if before.form != after.form || !add_up(*before, *after, hunks) => {
            return false;
        }
        Event::Edited { before, after, .. } => [before, after],
        Event::Alike { version, pieces, .. } if !pieces.iter().all(|piece| is_within(*piece, *version)) => {
            return false;
        }
        Event::Alike { version, .. } => [version, version],
        Event::Refreshed { .. } | Event::Void { .. } | Event::Compacted => return true,
    };
    let known = || held.iter().flat_map(|h| [Some(h.version), h.also]).flatten().chain(texts.map(|text| *text));
    let agrees = |text: &Version| known().all(|other| other.id() != text.id() || other.total == text.total);
    texts.into_iter().all(|text| text.total < TOO_MANY && agrees(text))
}

/// Whether a piece can be of a text.
fn is_within(piece: Alike, version: Version) -> bool {
    piece.first >= 1 && piece.first <= piece.last && piece.last <= version.total.saturating_add(1)
}

/// Whether hunks stand in order, inside the text before, and lead to the lines of the text after.
fn add_up(before: Version, after: Version, hunks: &[Hunk]) -> bool {
    let mut next = 1;
    let mut total = i64::from(before.total);
    for hunk in hunks {
        if hunk.old.first() < next || hunk.old.last() > before.total {
            return false;
        }
        next = hunk.old.last().saturating_add(1);
        total += i64::from(hunk.new_count) - i64::from(hunk.old.count());
    }
    !hunks.is_empty() && total == i64::from(after.total)
}

/// A run of old lines and how many lines stand there now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hunk {
    /// The lines touched, in the text before.
    pub old: Lines,
    /// How many lines replace them.
    pub new_count: u32,
    /// What of the old lines is in the new ones.
    pub keeps: Keeps,
}

/// Which of its new lines an edit makes of more than the bytes in its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keeps {
    /// The first new line begins as the first old one did, and the last new line ends as the last old one did.
    Ends,
    /// The first new line begins as the first old one did; all others stand in the call.
    Head,
    /// Any of them may hold some of any old line.
    All,
}

/// Lines, and perhaps the end, of another text that are the same in this one, under the same numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alike {
    /// The other text.
    pub base: ContentHash,
    /// The first line.
    pub first: u32,
    /// The last line; one more than the lines of both texts is their end.
    pub last: u32,
}
