//! The events of a branch that change what the model holds, as plain data; and the check that an event's numbers can be true.

use alloc::vec::Vec;

use super::{
    piece::{Piece, are_in_order},
    span::Held,
};
use crate::{
    path::PathKey,
    scope::{Lines, Scope},
    text::{ContentHash, Version},
};

/// An entry of a branch that changes what the model holds. Where a text is given by its hash alone, its form is that of the
/// `version` next to it.
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
        /// Whether call and text together show where the file ends.
        end: bool,
        /// A line that was shown in part: it is held of no text.
        part: Option<u32>,
    },
    /// A marker said that lines are as the model holds them.
    Same {
        /// The file.
        path: PathKey,
        /// The text the model is taken to hold.
        base: ContentHash,
        /// The text of the file at that time.
        version: Version,
        /// The lines the marker vouches for.
        scope: Scope,
        /// Whether marker and call together show how many lines the file has.
        ends: bool,
    },
    /// A marker was sent, and it is not known whether the model got it. It adds nothing, and takes away what the marker would
    /// contradict.
    MarkerSent {
        /// The file.
        path: PathKey,
        /// As in [`Event::Same`].
        base: ContentHash,
        /// As in [`Event::Same`].
        version: Version,
        /// As in [`Event::Same`].
        scope: Scope,
        /// As in [`Event::Same`].
        ends: bool,
    },
    /// A diff of the whole file was shown.
    Diff {
        /// The file.
        path: PathKey,
        /// The text the diff starts from; the model must hold all of it.
        base: ContentHash,
        /// The text the diff leads to.
        version: Version,
    },
    /// Some lines of a window were shown, and the others named as lines that the model holds.
    Partial {
        /// The file.
        path: PathKey,
        /// The text they belong to.
        version: Version,
        /// The window.
        lines: Lines,
        /// The lines that were named, in order; all others of the window were shown.
        pieces: Vec<Piece>,
    },
    /// The agent wrote the whole file; the call contains all of its text.
    Written {
        /// The file.
        path: PathKey,
        /// The text written.
        version: Version,
    },
    /// The agent edited the file; the call contains the old and the new text, and the answer says which lines were replaced.
    Edited {
        /// The file.
        path: PathKey,
        /// The text before.
        before: Version,
        /// The text after.
        after: Version,
        /// The touched lines, as the answer states them.
        hunks: Vec<Hunk>,
    },
    /// Lines of other texts were found to be equal in this one. The model is told nothing and holds what it held, only under
    /// one more name, so this is true wherever it stands in the branch.
    Alike {
        /// The file.
        path: PathKey,
        /// The text in which they are equal.
        version: Version,
        /// The lines, and the text each was held of.
        pieces: Vec<Alike>,
    },
    /// The model may have seen these lines other than by a read: in a search, in a diff, or printed by a program that got
    /// them. It adds nothing, and takes these lines from every other text.
    Seen {
        /// The file.
        path: PathKey,
        /// The text they belong to.
        version: Version,
        /// The lines, seen whole or in part.
        lines: Vec<Lines>,
    },
    /// Fresh text of a file was asked for.
    Refreshed {
        /// Every known name of the file.
        paths: Vec<PathKey>,
        /// The lines that are to be sent anew.
        scope: Scope,
    },
    /// The model saw something of this file, and it is not known what: an altered block, a write without a result, a secret.
    /// Nothing of the file is held any more.
    Void {
        /// The file.
        path: PathKey,
    },
    /// The conversation was compacted: nothing before this counts.
    Compacted,
}

impl Event {
    /// The file it is about; `None` for a refresh, which may name several, and for a compaction.
    #[must_use]
    pub fn path(&self) -> Option<&PathKey> {
        match self {
            Self::Shown { path, .. }
            | Self::Same { path, .. }
            | Self::MarkerSent { path, .. }
            | Self::Diff { path, .. }
            | Self::Partial { path, .. }
            | Self::Written { path, .. }
            | Self::Edited { path, .. }
            | Self::Seen { path, .. }
            | Self::Alike { path, .. }
            | Self::Void { path } => Some(path),
            Self::Refreshed { .. } | Self::Compacted => None,
        }
    }
}

/// No text has this many lines, because no file over 1 GiB is read. Below it, no sum of two line numbers exceeds 32 bits.
const TOO_MANY: u32 = (1 << 30) + 1;

/// Whether the numbers of an event can be true, also beside what is held of its file: a text always has the same number of
/// lines, and an edit does not change the form. Events are read from files, so they may say anything.
pub(super) fn is_possible(event: &Event, held: &[Held]) -> bool {
    let texts = match event {
        Event::Shown { version, .. }
        | Event::Same { version, .. }
        | Event::MarkerSent { version, .. }
        | Event::Diff { version, .. }
        | Event::Written { version, .. }
        | Event::Seen { version, .. } => [version, version],
        Event::Partial { version, lines, pieces, .. }
            if lines.last() > version.total || !are_in_order(*lines, pieces) =>
        {
            return false;
        }
        Event::Partial { version, .. } => [version, version],
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

/// Whether a piece lies inside a text or its end.
fn is_within(piece: Alike, version: Version) -> bool {
    piece.first >= 1 && piece.first <= piece.last && piece.last <= version.total.saturating_add(1)
}

/// Whether the hunks are in order, lie inside the text before, and lead to the number of lines of the text after.
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

/// A run of lines that an edit replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hunk {
    /// The touched lines, numbered as in the text before.
    pub old: Lines,
    /// How many lines replace them; 0 if they were removed.
    pub new_count: u32,
    /// Which of the new lines contain old bytes.
    pub keeps: Keeps,
}

/// Which new lines of a hunk contain bytes of the old lines. Such a line is held only if the old line was; all other new lines
/// are in the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keeps {
    /// The first new line begins as the first old line did, and the last new line ends as the last old line did.
    Ends,
    /// The first new line begins as the first old line did.
    Head,
    /// Any new line may contain bytes of any old line.
    All,
    /// Not known. The new lines are held only if the answer shows them.
    Unknown,
    /// Whatever they are made of, the answer shows all new lines.
    Shown,
}

/// Lines of another text that are equal in this one, under the same numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alike {
    /// The other text.
    pub base: ContentHash,
    /// The first line.
    pub first: u32,
    /// The last line. One more than both texts have stands for their end.
    pub last: u32,
}
