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
    text::{ContentHash, Version},
};

/// A position in a branch: which entry.
pub type Place = u64;

/// Something that stands on a branch and changes what the model holds.
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
    /// The agent's own edit succeeded; old and new bytes stand in the call.
    Edited {
        /// The file.
        path: PathKey,
        /// The text before.
        before: Version,
        /// The text after.
        after: Version,
        /// The lines it touched.
        hunk: Hunk,
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
            | Self::Void { path } => Some(path),
            Self::Refreshed { .. } | Self::Compacted => None,
        }
    }
}

/// More lines than any text has, as no file over 1 GiB is read. Below it, no sum of lines exceeds 32 bits.
const TOO_MANY: u32 = (1 << 30) + 1;

/// Whether an event could be true as far as its numbers go, beside what is held of its file: one text has one number of
/// lines.
fn is_possible(event: &Event, held: &[Held]) -> bool {
    let texts = match event {
        Event::Shown { version, .. }
        | Event::Same { version, .. }
        | Event::Told { version, .. }
        | Event::Diff { version, .. }
        | Event::Written { version, .. }
        | Event::Seen { version, .. } => [version, version],
        Event::Edited { before, hunk, .. } if hunk.old.last() > before.total => return false,
        Event::Edited { before, after, .. } => [before, after],
        Event::Refreshed { .. } | Event::Void { .. } | Event::Compacted => return true,
    };
    let known = || held.iter().flat_map(|h| [Some(h.version), h.also]).flatten().chain(texts.map(|text| *text));
    let agrees = |text: &Version| known().all(|other| other.hash != text.hash || other.total == text.total);
    texts.into_iter().all(|text| text.total < TOO_MANY && agrees(text))
}

/// A run of old lines and how many lines stand there now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hunk {
    /// The lines touched, in the text before.
    pub old: Lines,
    /// How many lines replace them.
    pub new_count: u32,
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

    /// Whether these lines are lines of this text.
    fn is_of(&self, hash: ContentHash) -> bool {
        self.version.hash == hash || self.also.is_some_and(|also| also.hash == hash)
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
}

/// What is held of one path: slots that never overlap and stand in order.
#[derive(Clone, Debug, Default)]
struct File {
    held: Vec<Held>,
    /// Text of this file that is not in `held` may still be in sight, so an edit's old bytes could stand there as well.
    stale: bool,
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

    /// A text under which all of `lines` are held, as `answers` lets spans count; the newest, if there are several.
    #[must_use]
    pub fn holds_lines(&self, path: &PathKey, lines: Lines, answers: Answers) -> Option<ContentHash> {
        let texts = texts_at(self.of(path), lines.first());
        texts.map(|version| version.hash).find(|hash| self.holds_lines_of(path, lines, *hash, answers))
    }

    /// Whether all of `lines` are held under this very text.
    #[must_use]
    pub fn holds_lines_of(&self, path: &PathKey, lines: Lines, hash: ContentHash, answers: Answers) -> bool {
        let held = self.of(path);
        let exactly = |h: &Held| Held { slots: h.shown, ..h.clone() }.lines() == Some(lines);
        let counts = match answers {
            Answers::Held => true,
            Answers::Seed => {
                overlapping(held, Slots::lines(lines)).all(exactly)
                    || self.holds_whole(path, answers).is_some_and(|whole| whole.hash == hash)
            }
        };
        counts && covers_lines(held, lines, hash)
    }

    /// Whether it is known where this text ends.
    #[must_use]
    pub fn holds_end(&self, path: &PathKey, hash: ContentHash) -> bool {
        let held = self.of(path);
        let texts = held.iter().flat_map(|h| [h.also, Some(h.version)]).flatten();
        texts.filter(|text| text.hash == hash).any(|text| covers(held, Slots::end_of(text.total), hash))
    }

    /// The text that is held from its first line to its end.
    #[must_use]
    pub fn holds_whole(&self, path: &PathKey, answers: Answers) -> Option<Version> {
        let held = self.of(path);
        texts_at(held, 1).find(|version| {
            let whole = Slots::whole(version.total);
            let counts = answers == Answers::Held || overlapping(held, whole).all(|h| h.shown == whole);
            counts && covers(held, whole, version.hash)
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
                let guard = self.holds_whole(path, Answers::Held).is_some_and(|held| held.hash == *base);
                if guard { self.set(path, whole(*version, at)) } else { self.void(path) }
            }
            Event::Written { path, version } => {
                if answers == Answers::Held {
                    self.set(path, whole(*version, at))
                } else {
                    self.void(path)
                }
            }
            Event::Edited { path, before, after, hunk } => {
                let stale = self.paths.get(path).is_none_or(|file| file.stale);
                let moved = match answers {
                    Answers::Held if !stale => edited(self.of(path), *before, *after, *hunk, at),
                    Answers::Held | Answers::Seed => None,
                };
                match moved {
                    Some(held) => self.set(path, held),
                    None => self.void(path),
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

    /// What is held now; once that is a whole text, no other is in sight.
    fn set(&mut self, path: &PathKey, held: Vec<Held>) {
        let is_whole = matches!(held.as_slice(), [only] if only.slots == Slots::whole(only.version.total));
        let before = self.paths.get(path);
        let stale = !is_whole && before.is_some_and(|file| file.stale);
        // Mostly a marker confirms what is held: then nothing is made anew, and all entries share it.
        if before.is_some_and(|file| file.held == held && file.stale == stale) {
            return;
        }
        self.paths.insert_mut(path.clone(), Arc::new(File { held, stale }));
    }

    /// What is left after something was taken that may still be in sight.
    fn take(&mut self, path: &PathKey, held: Vec<Held>) {
        self.paths.insert_mut(path.clone(), Arc::new(File { held, stale: true }));
    }

    fn void(&mut self, path: &PathKey) {
        self.take(path, Vec::new());
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
        if scope == Scope::Full && !held.is_empty() && !covers(&held, end, version.hash) {
            // The marker names the number of lines, so the end is known from here on.
            held = placed(&held, Held { slots: end, shown: end, version, also: None, at });
        }
        self.set(path, held);
    }

    /// The guard of a marker, and what it contradicts.
    fn rely(&mut self, path: &PathKey, base: ContentHash, version: Version, scope: Scope, ends: bool) {
        let held = self.of(path);
        let relied = match scope.lines(version.total) {
            Some(lines) => covers_lines(held, lines, base),
            None => covers(held, vouched(version, scope), base),
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
        let others = self.of(path).iter().any(|h| !h.is_of(version.hash));
        if !others && !self.of(path).is_empty() {
            return;
        }
        let mut left = self.passed(path, version, lines.iter().map(|lines| lines.last()).max().unwrap_or(0));
        for slots in lines.iter().map(|lines| Slots::lines(*lines)) {
            let (of_it, others): (Vec<Held>, Vec<Held>) = left.into_iter().partition(|h| h.is_of(version.hash));
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
            self.take(path, left);
        }
    }

    /// What is left once line `seen` of `version` was seen: a text that has fewer lines does not end there any more, and
    /// its last line, which may have been without terminator, has one now.
    fn passed(&mut self, path: &PathKey, version: Version, seen: u32) -> Vec<Held> {
        let held = self.of(path);
        let is_passed = |h: &Held| h.version.hash != version.hash && h.version.total < seen;
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

fn whole(version: Version, at: Place) -> Vec<Held> {
    let slots = Slots::whole(version.total);
    alloc::vec![Held { slots, shown: slots, version, also: None, at }]
}

fn overlapping(held: &[Held], wanted: Slots) -> impl Iterator<Item = &Held> {
    held.iter().filter(move |h| h.slots.to > wanted.from && h.slots.from < wanted.to)
}

/// The texts that the span at a slot belongs to, newest first.
fn texts_at(held: &[Held], slot: u32) -> impl Iterator<Item = Version> {
    let at = overlapping(held, Slots { from: slot, to: slot.saturating_add(1) }).next();
    at.into_iter().flat_map(|h| [h.also, Some(h.version)]).flatten()
}

/// Whether spans of one text, added up, cover `wanted`.
fn covers(held: &[Held], wanted: Slots, hash: ContentHash) -> bool {
    let mut next = wanted.from;
    for h in overlapping(held, wanted) {
        if h.slots.from > next || !h.is_of(hash) {
            return false;
        }
        next = h.slots.to;
    }
    next >= wanted.to
}

/// The same for lines: the end of a text is none.
fn covers_lines(held: &[Held], lines: Lines, hash: ContentHash) -> bool {
    let wanted = Slots::lines(lines);
    let ends_inside = |h: &Held| h.end() && (wanted.from..wanted.to).contains(&(h.slots.to - 1));
    covers(held, wanted, hash) && !held.iter().any(ends_inside)
}

/// With `slots`, held under `base`, known to be the same in another text too.
fn alike(held: &[Held], slots: Slots, base: ContentHash, version: Version) -> Vec<Held> {
    let mut all = without(held, slots);
    for h in overlapping(held, slots) {
        let part = Slots { from: h.slots.from.max(slots.from), to: h.slots.to.min(slots.to) };
        let relied = h.also.filter(|also| also.hash == base).unwrap_or(h.version);
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

/// Where the held spans stand after an own edit. `None`: the model cannot tell where the edit fell, or it holds lines
/// of another text among which the edited bytes might stand as well.
fn edited(held: &[Held], before: Version, after: Version, hunk: Hunk, at: Place) -> Option<Vec<Held>> {
    let touched = Slots::lines(hunk.old);
    // Where an edited last line ends shows only where the end of the file does.
    let needed = if hunk.old.last() == before.total { Slots { to: touched.to + 1, ..touched } } else { touched };
    let adds_up = before.total.checked_sub(hunk.old.count()).and_then(|rest| rest.checked_add(hunk.new_count));
    if adds_up != Some(after.total) {
        return None;
    }
    if held.iter().any(|h| h.version.hash != before.hash) || !covers(held, needed, before.hash) {
        return None;
    }
    let shifted = |slot: u32| (slot - touched.to) + touched.from + hunk.new_count;
    let mut moved = Vec::with_capacity(held.len() + 2);
    for h in without(held, touched) {
        let slots = if h.slots.to <= touched.from {
            h.slots
        } else {
            Slots { from: shifted(h.slots.from), to: shifted(h.slots.to) }
        };
        moved.push(Held { slots, shown: slots, version: after, also: None, at: h.at });
    }
    let slots = Slots { from: touched.from, to: touched.from + hunk.new_count };
    if slots.from < slots.to {
        moved = placed(&moved, Held { slots, shown: slots, version: after, also: None, at });
    }
    Some(moved)
}
