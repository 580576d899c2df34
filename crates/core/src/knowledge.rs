//! What the model provably holds, per path and per line. Always derived by applying the events of one branch in order;
//! never stored. A value is cheap to clone, so every entry of a transcript can keep its own.
//!
//! The map is by line slot and the newest wins by construction: showing a line takes its slot from whatever older text
//! stood there, so no older text of that line can be vouched for again. Slot `n` is line `n` with its terminator; the
//! slot after the last line is the end of the file.

use alloc::{sync::Arc, vec::Vec};
use rpds::RedBlackTreeMapSync;

use crate::{
    limits::Answers,
    path::PathKey,
    scope::{Lines, Scope},
    text::{ContentHash, Form, TextId, Version},
};

/// A position in a branch: which entry.
pub type Place = u64;

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
    Told {
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
            | Self::Told { path, .. }
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
fn is_possible(event: &Event, held: &[Held]) -> bool {
    let texts = match event {
        Event::Shown { version, .. }
        | Event::Same { version, .. }
        | Event::Told { version, .. }
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
    pub rests: Rests,
}

/// Which of its new lines an edit makes of more than the bytes in its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rests {
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

/// Why lines that were shown are not held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gone {
    /// Fresh text of them was asked for.
    Refreshed,
    /// The file was seen to have changed there.
    Changed,
    /// An own edit touched or moved them in a way that does not follow from what is in sight.
    Edited,
    /// Something was seen of the file that cannot be placed.
    Unplaced,
}

/// A half-open run of line slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slots {
    from: u32,
    to: u32,
}

impl Slots {
    fn lines(lines: Lines) -> Self {
        Self { from: lines.first(), to: lines.last().saturating_add(1) }
    }

    /// The slot that stands for the end of a file of `total` lines.
    fn end_of(total: u32) -> Self {
        Self { from: total.saturating_add(1), to: total.saturating_add(2) }
    }

    fn whole(total: u32) -> Self {
        Self { from: 1, to: total.saturating_add(2) }
    }
}

/// Some slots of one text that the model holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    slots: Slots,
    /// The slots as they were first shown, before anything newer took some away.
    shown: Slots,
    version: Version,
    /// Another text, newer than `version`, in which these lines are the same.
    also: Option<Version>,
    at: Place,
}

impl Held {
    /// The text these lines belong to.
    #[must_use]
    pub fn version(&self) -> Version {
        self.version
    }

    /// The entry that showed them.
    #[must_use]
    pub fn at(&self) -> Place {
        self.at
    }

    /// The lines, without the end slot; `None` when only the end is held.
    #[must_use]
    pub fn lines(&self) -> Option<Lines> {
        Lines::new(self.slots.from, (self.slots.to - 1).min(self.version.total))
    }

    /// Whether the end of the file is held here.
    #[must_use]
    pub fn end(&self) -> bool {
        self.slots.to == self.version.total.saturating_add(2)
    }

    /// Whether these lines are those of this text.
    #[must_use]
    pub fn is_of(&self, text: TextId) -> bool {
        self.version.id() == text || self.also.is_some_and(|also| also.id() == text)
    }

    /// The first slot and the last one: lines, and the end as one more than the lines of its text.
    pub(crate) fn slots(&self) -> (u32, u32) {
        (self.slots.from, self.slots.to - 1)
    }
}

/// What is held of one path: slots that never overlap and stand in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct File {
    held: Vec<Held>,
    /// Lines that were shown and are not held any more. It proves nothing; it is what a reason is made of.
    gone: Vec<(Slots, Gone)>,
}

/// What the model holds.
#[derive(Clone, Debug)]
pub struct Knowledge {
    paths: RedBlackTreeMapSync<PathKey, Arc<File>>,
}

impl Default for Knowledge {
    fn default() -> Self {
        Self { paths: RedBlackTreeMapSync::new_sync() }
    }
}

impl Knowledge {
    /// Every path something is held of, in order.
    pub fn paths(&self) -> impl Iterator<Item = (&PathKey, &[Held])> {
        self.paths.iter().map(|(path, file)| (path, file.held.as_slice())).filter(|(_, held)| !held.is_empty())
    }

    /// What is held of one path.
    #[must_use]
    pub fn of(&self, path: &PathKey) -> &[Held] {
        self.paths.get(path).map_or(&[], |file| file.held.as_slice())
    }

    /// A text of this form under which all of `lines` are held, as `answers` lets spans count; the newest, if there are
    /// several.
    #[must_use]
    pub fn holds_lines(&self, path: &PathKey, lines: Lines, form: Form, answers: Answers) -> Option<ContentHash> {
        let texts = texts_at(self.of(path), lines.first(), form);
        texts.map(|version| version.hash).find(|hash| self.holds_lines_of(path, lines, hash.in_form(form), answers))
    }

    /// Whether all of `lines` are held under this very text.
    #[must_use]
    pub fn holds_lines_of(&self, path: &PathKey, lines: Lines, text: TextId, answers: Answers) -> bool {
        let held = self.of(path);
        let exactly = |h: &Held| Held { slots: h.shown, ..h.clone() }.lines() == Some(lines);
        let counts = match answers {
            Answers::Held => true,
            Answers::Seed => {
                overlapping(held, Slots::lines(lines)).all(exactly)
                    || self.holds_whole(path, text.form, answers).is_some_and(|whole| whole.id() == text)
            }
        };
        counts && covers_lines(held, lines, text)
    }

    /// Whether it is known where this text ends.
    #[must_use]
    pub fn holds_end(&self, path: &PathKey, text: TextId) -> bool {
        let held = self.of(path);
        let texts = held.iter().flat_map(|h| [h.also, Some(h.version)]).flatten();
        texts.filter(|version| version.id() == text).any(|version| covers(held, Slots::end_of(version.total), text))
    }

    /// The text of this form that is held from its first line to its end.
    #[must_use]
    pub fn holds_whole(&self, path: &PathKey, form: Form, answers: Answers) -> Option<Version> {
        let held = self.of(path);
        texts_at(held, 1, form).find(|version| {
            let whole = Slots::whole(version.total);
            let counts = answers == Answers::Held || overlapping(held, whole).all(|h| h.shown == whole);
            counts && covers(held, whole, version.id())
        })
    }

    /// Takes in one event that stands at `at`.
    pub fn apply(&mut self, at: Place, event: &Event, answers: Answers) {
        if let Some(path) = event.path().filter(|path| !is_possible(event, self.of(path))) {
            return self.void(path);
        }
        match event {
            Event::Shown { path, version, lines, end, part } => self.show(at, path, *version, *lines, *end, *part),
            Event::Same { path, base, version, scope, ends } => self.same(at, path, *base, *version, *scope, *ends),
            Event::Told { path, base, version, scope, ends } => self.rely(path, *base, *version, *scope, *ends),
            Event::Diff { path, base, version } => {
                let whole = self.holds_whole(path, version.form, Answers::Held);
                let guard = whole.is_some_and(|held| held.hash == *base);
                if guard { self.set(path, held_whole(*version, at)) } else { self.void(path) }
            }
            Event::Written { path, version } => {
                if answers == Answers::Held {
                    self.set(path, held_whole(*version, at))
                } else {
                    self.lose(path, Vec::new(), Gone::Edited)
                }
            }
            Event::Edited { path, before, after, hunks } => match answers {
                Answers::Held => self.edit(at, path, *before, *after, hunks),
                Answers::Seed => self.lose(path, Vec::new(), Gone::Edited),
            },
            Event::Alike { path, version, pieces } => {
                for piece in pieces {
                    let slots = Slots { from: piece.first, to: piece.last.saturating_add(1) };
                    let held = alike(self.of(path), slots, piece.base, *version);
                    self.set(path, held);
                }
            }
            Event::Seen { path, version, lines } => self.see(path, *version, lines),
            Event::Refreshed { paths, scope } => {
                for path in paths {
                    self.refresh(path, *scope);
                }
            }
            Event::Void { path } => self.void(path),
            Event::Compacted => *self = Self::default(),
        }
    }

    /// What is held now.
    fn set(&mut self, path: &PathKey, held: Vec<Held>) {
        let before = self.paths.get(path);
        // Mostly a marker confirms what is held: then nothing is made anew, and all entries share it.
        if before.is_some_and(|file| file.held == held) {
            return;
        }
        let mut gone = before.map(|file| file.gone.clone()).unwrap_or_default();
        for h in &held {
            gone = apart(&gone, h.slots);
        }
        self.paths.insert_mut(path.clone(), Arc::new(File { held, gone }));
    }

    /// What is left after something was taken that may still be in sight.
    fn take(&mut self, path: &PathKey, held: Vec<Held>) {
        self.lose(path, held, Gone::Changed);
    }

    /// The same, and why.
    fn lose(&mut self, path: &PathKey, held: Vec<Held>, why: Gone) {
        let before = self.paths.get(path).map(|file| (**file).clone()).unwrap_or_default();
        let mut gone = before.gone;
        for h in &before.held {
            gone = apart(&gone, h.slots);
            let left = held.iter().fold(alloc::vec![(h.slots, why)], |left, still| apart(&left, still.slots));
            gone.extend(left);
        }
        self.paths.insert_mut(path.clone(), Arc::new(File { held, gone }));
    }

    fn void(&mut self, path: &PathKey) {
        self.lose(path, Vec::new(), Gone::Unplaced);
    }

    /// Why lines that were all shown are not all held; `None` when some were not shown.
    #[must_use]
    pub fn why_gone(&self, path: &PathKey, lines: Lines) -> Option<Gone> {
        let file = self.paths.get(path)?;
        let wanted = Slots::lines(lines);
        let held = file.held.iter().map(|h| h.slots).chain(file.gone.iter().map(|(slots, _)| *slots));
        let rest = held.fold(alloc::vec![(wanted, ())], |left, slots| apart(&left, slots));
        let taken = file.gone.iter().rev().find(|(slots, _)| slots.to > wanted.from && slots.from < wanted.to);
        taken.filter(|_| rest.is_empty()).map(|(_, why)| *why)
    }

    /// Whether all of these lines are held in this form, though not all under one text.
    #[must_use]
    pub fn is_mixed(&self, path: &PathKey, lines: Lines, form: Form) -> bool {
        let (held, wanted) = (self.of(path), Slots::lines(lines));
        let ends_inside = |h: &Held| h.end() && (wanted.from..wanted.to).contains(&(h.slots.to - 1));
        let mut next = wanted.from;
        for h in overlapping(held, wanted) {
            if h.version.form != form || h.slots.from > next || ends_inside(h) {
                return false;
            }
            next = h.slots.to;
        }
        next >= wanted.to && self.holds_lines(path, lines, form, Answers::Held).is_none()
    }

    /// The agent's own edit. Its answer states which lines it replaced and how many there are now, so the place is told and
    /// never looked for: lines of the text before move, new lines are made of the call and of old lines that are held, and
    /// of another text only those count that stand before the edit, as those behind it may stand elsewhere.
    fn edit(&mut self, at: Place, path: &PathKey, before: Version, after: Version, hunks: &[Hunk]) {
        let held = self.told(path, before);
        let first = hunks.first().map_or(1, |hunk| hunk.old.first());
        let mut moved: Vec<Held> = Vec::with_capacity(held.len() + 2 * hunks.len());
        for h in &held {
            if h.is_of(before.id()) {
                let pieces = outside(h.slots, hunks);
                moved.extend(pieces.map(|slots| Held { slots, shown: slots, version: after, also: None, at: h.at }));
            } else if h.slots.from < first {
                moved.push(Held { slots: Slots { to: h.slots.to.min(first), ..h.slots }, ..h.clone() });
            }
        }
        moved.sort_unstable_by_key(|h| h.slots.from);
        let mut added = 0;
        for hunk in hunks {
            let from = shifted(hunk.old.first(), added);
            if let Some(slots) = made(&held, before, *hunk, from) {
                moved = placed(&moved, Held { slots, shown: slots, version: after, also: None, at });
            }
            added += i64::from(hunk.new_count) - i64::from(hunk.old.count());
        }
        let last = Slots { from: after.total, to: after.total + 1 };
        if hunks.last().is_some_and(|hunk| hunk.old.last() == before.total)
            && (after.total == 0 || covers(&moved, last, after.id()))
        {
            // The answer names the number of lines, and the last of them is known.
            let slots = Slots::end_of(after.total);
            moved = placed(&moved, Held { slots, shown: slots, version: after, also: None, at });
        }
        self.put_edited(path, &held, moved, hunks);
    }

    /// What is held after an edit, and what of it is gone.
    fn put_edited(&mut self, path: &PathKey, held: &[Held], moved: Vec<Held>, hunks: &[Hunk]) {
        let older = self.paths.get(path).map(|file| file.gone.clone()).unwrap_or_default();
        let mut gone: Vec<(Slots, Gone)> =
            older.iter().flat_map(|(slots, why)| outside(*slots, hunks).map(|slots| (slots, *why))).collect();
        gone.extend(held.iter().flat_map(|h| outside(h.slots, hunks)).map(|slots| (slots, Gone::Edited)));
        let mut added = 0;
        for hunk in hunks {
            let from = shifted(hunk.old.first(), added);
            gone.push((Slots { from, to: from + hunk.new_count }, Gone::Edited));
            added += i64::from(hunk.new_count) - i64::from(hunk.old.count());
        }
        for h in &moved {
            gone = apart(&gone, h.slots);
        }
        self.paths.insert_mut(path.clone(), Arc::new(File { held: moved, gone }));
    }

    fn show(
        &mut self,
        at: Place,
        path: &PathKey,
        version: Version,
        lines: Option<Lines>,
        end: bool,
        part: Option<u32>,
    ) {
        let seen = lines.map(Lines::last).max(part).unwrap_or(0);
        let mut held = self.passed(path, version, seen);
        if let Some(line) = part {
            held = without(&held, Slots { from: line, to: line.saturating_add(1) });
        }
        if end {
            // The file was seen to end there, so no older line beyond is left.
            held = without(&held, Slots { from: version.total.saturating_add(1), to: u32::MAX });
        }
        let tail = Slots::end_of(version.total);
        let slots = match (lines.map(Slots::lines), end) {
            (Some(lines), true) if lines.to == tail.from => [Some(Slots { to: tail.to, ..lines }), None],
            (lines, true) => [lines, Some(tail)],
            (lines, false) => [lines, None],
        };
        for slots in slots.into_iter().flatten() {
            held = placed(&held, Held { slots, shown: slots, version, also: None, at });
        }
        self.set(path, held);
    }

    /// A marker adds nothing by itself: without the lines it relies on, what the model saw cannot be placed. What it
    /// vouches for stays held under the text it was shown of as well: those lines are the same in both.
    fn same(&mut self, at: Place, path: &PathKey, base: ContentHash, version: Version, scope: Scope, ends: bool) {
        self.rely(path, base, version, scope, ends);
        let mut held = self.of(path).to_vec();
        if base != version.hash {
            held = alike(&held, vouched(version, scope), base, version);
        }
        let end = Slots::end_of(version.total);
        if scope == Scope::Full && !held.is_empty() && !covers(&held, end, version.id()) {
            // The marker names the number of lines, so the end is known from here on.
            held = placed(&held, Held { slots: end, shown: end, version, also: None, at });
        }
        self.set(path, held);
    }

    /// The guard of a marker, and what it contradicts.
    fn rely(&mut self, path: &PathKey, base: ContentHash, version: Version, scope: Scope, ends: bool) {
        let held = self.of(path);
        let text = base.in_form(version.form);
        let relied = match scope.lines(version.total) {
            Some(lines) => covers_lines(held, lines, text),
            None => covers(held, vouched(version, scope), text),
        };
        if !relied || (scope == Scope::Full && base != version.hash) {
            self.void(path);
        } else if ends {
            let left = self.told(path, version);
            self.set(path, left);
        }
    }

    /// What is left once the model knows, by a marker or by where it stops, that no older line beyond is left.
    fn told(&mut self, path: &PathKey, version: Version) -> Vec<Held> {
        let held = self.passed(path, version, version.total);
        let end = Slots::end_of(version.total);
        let ends_there = held.iter().any(|h| h.end() && h.version.total == version.total);
        let left = without(&held, Slots { from: if ends_there { end.to } else { end.from }, to: u32::MAX });
        if left != held {
            self.take(path, left.clone());
        }
        left
    }

    /// Lines of a text that stands beside what is held: of the lines seen only those of that very text stay held.
    fn see(&mut self, path: &PathKey, version: Version, lines: &[Lines]) {
        if self.of(path).iter().all(|h| h.is_of(version.id())) {
            return;
        }
        let mut left = self.passed(path, version, lines.iter().map(|lines| lines.last()).max().unwrap_or(0));
        for slots in lines.iter().map(|lines| Slots::lines(*lines)) {
            let (of_it, others): (Vec<Held>, Vec<Held>) = left.into_iter().partition(|h| h.is_of(version.id()));
            left = of_it.into_iter().chain(without(&others, slots)).collect();
            left.sort_unstable_by_key(|h| h.slots.from);
        }
        self.take(path, left);
    }

    fn refresh(&mut self, path: &PathKey, scope: Scope) {
        let left = match scope {
            Scope::Full => Vec::new(),
            Scope::Lines(lines) => {
                let held = self.of(path);
                let taken = Slots::lines(lines);
                // Whoever wants the last line anew wants to know anew how the file ends.
                let last = held.iter().any(|h| h.version.total <= lines.last());
                without(held, Slots { from: taken.from, to: if last { u32::MAX } else { taken.to } })
            }
        };
        if left.as_slice() != self.of(path) {
            self.lose(path, left, Gone::Refreshed);
        }
    }

    /// What is left once line `seen` of `version` was seen: a text that has fewer lines does not end there any more, and
    /// its last line, which may have been without terminator, has one now.
    fn passed(&mut self, path: &PathKey, version: Version, seen: u32) -> Vec<Held> {
        let held = self.of(path);
        let is_passed = |h: &Held| h.version.id() != version.id() && h.version.total < seen;
        let kept =
            |h: &Held| Slots { to: if is_passed(h) { h.slots.to.min(h.version.total) } else { h.slots.to }, ..h.slots };
        let left = held.iter().map(|h| Held { slots: kept(h), ..h.clone() });
        let left: Vec<Held> = left.filter(|h| h.slots.from < h.slots.to).collect();
        if left != held {
            self.take(path, left.clone());
        }
        left
    }
}

/// The slots a marker vouches for: lines, or the end of an empty file.
fn vouched(version: Version, scope: Scope) -> Slots {
    scope.lines(version.total).map_or(Slots::end_of(version.total), Slots::lines)
}

fn held_whole(version: Version, at: Place) -> Vec<Held> {
    let slots = Slots::whole(version.total);
    alloc::vec![Held { slots, shown: slots, version, also: None, at }]
}

fn overlapping(held: &[Held], wanted: Slots) -> impl Iterator<Item = &Held> {
    held.iter().filter(move |h| h.slots.to > wanted.from && h.slots.from < wanted.to)
}

/// The texts of a form that the span at a slot belongs to, newest first.
fn texts_at(held: &[Held], slot: u32, form: Form) -> impl Iterator<Item = Version> {
    let at = overlapping(held, Slots { from: slot, to: slot.saturating_add(1) }).next();
    at.into_iter().flat_map(|h| [h.also, Some(h.version)]).flatten().filter(move |version| version.form == form)
}

/// Whether spans of one text, added up, cover `wanted`.
fn covers(held: &[Held], wanted: Slots, text: TextId) -> bool {
    let mut next = wanted.from;
    for h in overlapping(held, wanted) {
        if h.slots.from > next || !h.is_of(text) {
            return false;
        }
        next = h.slots.to;
    }
    next >= wanted.to
}

/// The same for lines: the end of a text is none.
fn covers_lines(held: &[Held], lines: Lines, text: TextId) -> bool {
    let wanted = Slots::lines(lines);
    let ends_inside = |h: &Held| h.end() && (wanted.from..wanted.to).contains(&(h.slots.to - 1));
    covers(held, wanted, text) && !held.iter().any(ends_inside)
}

/// With those of `slots` that are held under `base` known to be the same in another text too.
fn alike(held: &[Held], slots: Slots, base: ContentHash, version: Version) -> Vec<Held> {
    let text = base.in_form(version.form);
    let mut all = without(held, slots);
    for h in overlapping(held, slots) {
        let part = Slots { from: h.slots.from.max(slots.from), to: h.slots.to.min(slots.to) };
        if !h.is_of(text) || base == version.hash {
            all.push(Held { slots: part, ..h.clone() });
            continue;
        }
        let relied = h.also.filter(|also| also.id() == text).unwrap_or(h.version);
        all.push(Held { slots: part, version: relied, also: Some(version), ..h.clone() });
    }
    all.sort_unstable_by_key(|h| h.slots.from);
    all
}

/// What is left when `taken` goes.
fn without(held: &[Held], taken: Slots) -> Vec<Held> {
    let mut left = Vec::with_capacity(held.len() + 1);
    for h in held {
        let before = Slots { to: h.slots.to.min(taken.from), ..h.slots };
        let after = Slots { from: h.slots.from.max(taken.to), ..h.slots };
        let outside = h.slots.to <= taken.from || h.slots.from >= taken.to;
        if outside {
            left.push(h.clone());
            continue;
        }
        for slots in [before, after] {
            if slots.from < slots.to {
                left.push(Held { slots, ..h.clone() });
            }
        }
    }
    left
}

/// With `new` in its place, in order; what stood there goes.
fn placed(held: &[Held], new: Held) -> Vec<Held> {
    let mut left = without(held, new.slots);
    let at = left.partition_point(|h| h.slots.from < new.slots.from);
    left.insert(at, new);
    left
}

/// What is left of slots, each with something, when `taken` goes.
fn apart<T: Copy>(all: &[(Slots, T)], taken: Slots) -> Vec<(Slots, T)> {
    let pieces = |slots: Slots| {
        [Slots { to: slots.to.min(taken.from), ..slots }, Slots { from: slots.from.max(taken.to), ..slots }]
    };
    let left = all.iter().flat_map(|(slots, with)| pieces(*slots).map(|slots| (slots, *with)));
    left.filter(|(slots, _)| slots.from < slots.to).collect()
}

/// A slot, moved. Numbers of lines are far below 32 bits, so this neither wraps nor is cut.
fn shifted(slot: u32, added: i64) -> u32 {
    u32::try_from(i64::from(slot) + added).unwrap_or(u32::MAX)
}

/// The parts of a run of slots that stand outside the hunks of an edit, where they stand after it.
fn outside(slots: Slots, hunks: &[Hunk]) -> impl Iterator<Item = Slots> {
    let mut pieces = Vec::with_capacity(2);
    let (mut from, mut added) = (slots.from, 0);
    for hunk in hunks {
        let touched = Slots::lines(hunk.old);
        pieces.push((Slots { from, to: slots.to.min(touched.from) }, added));
        from = from.max(touched.to);
        added += i64::from(hunk.new_count) - i64::from(hunk.old.count());
    }
    pieces.push((Slots { from, to: slots.to }, added));
    let moved = |(slots, by): (Slots, i64)| Slots { from: shifted(slots.from, by), to: shifted(slots.to, by) };
    pieces.into_iter().filter(|(slots, _)| slots.from < slots.to).map(moved)
}

/// The new lines of a hunk, which begin at slot `from`, that follow from the call and from old lines that are held.
fn made(held: &[Held], before: Version, hunk: Hunk, from: u32) -> Option<Slots> {
    let is_held = |line: u32| covers(held, Slots { from: line, to: line + 1 }, before.id());
    let (mut slots, old) = (Slots { from, to: from + hunk.new_count }, hunk.old);
    match hunk.rests {
        Rests::All if !covers(held, Slots::lines(old), before.id()) => slots.to = slots.from,
        Rests::All => {}
        Rests::Ends | Rests::Head => {
            let last_held = hunk.rests == Rests::Head || is_held(old.last());
            slots.to -= u32::from(!last_held && hunk.new_count > 0);
            slots.from += u32::from(!is_held(old.first()));
        }
    }
    Some(slots).filter(|slots| slots.from < slots.to)
}
