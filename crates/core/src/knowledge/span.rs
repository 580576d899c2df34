//! Runs of line slots, and the rules for adding them up, taking some away and moving them by an edit. Slot `n` is line `n` with
//! its terminator; the slot after the last line is the end of the file.

use alloc::vec::Vec;

use super::{
    Place,
    event::{Hunk, Keeps},
};
use crate::{
    scope::{Lines, Scope},
    text::{ContentHash, Form, TextId, Version},
};

/// A half-open run of line slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slots {
    pub(super) from: u32,
    pub(super) to: u32,
}

impl Slots {
    pub(super) fn lines(lines: Lines) -> Self {
        Self { from: lines.first(), to: lines.last().saturating_add(1) }
    }

    /// The slot that stands for the end of a file of `total` lines.
    pub(super) fn end_of(total: u32) -> Self {
        Self { from: total.saturating_add(1), to: total.saturating_add(2) }
    }

    pub(super) fn whole(total: u32) -> Self {
        Self { from: 1, to: total.saturating_add(2) }
    }
}

/// Some slots of one text that the model holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    pub(super) slots: Slots,
    /// The slots as they were first shown, before anything newer took some away.
    pub(super) shown: Slots,
    pub(super) version: Version,
    /// Another text, newer than `version`, in which these lines are the same.
    pub(super) also: Option<Version>,
    pub(super) at: Place,
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

/// The slots a marker vouches for: lines, or the end of an empty file.
pub(super) fn vouched(version: Version, scope: Scope) -> Slots {
    scope.lines(version.total).map_or(Slots::end_of(version.total), Slots::lines)
}

pub(super) fn held_whole(version: Version, at: Place) -> Vec<Held> {
    let slots = Slots::whole(version.total);
    alloc::vec![Held { slots, shown: slots, version, also: None, at }]
}

pub(super) fn overlapping(held: &[Held], wanted: Slots) -> impl Iterator<Item = &Held> {
    held.iter().filter(move |h| h.slots.to > wanted.from && h.slots.from < wanted.to)
}

/// The texts of a form that the span at a slot belongs to, newest first.
pub(super) fn texts_at(held: &[Held], slot: u32, form: Form) -> impl Iterator<Item = Version> {
    let at = overlapping(held, Slots { from: slot, to: slot.saturating_add(1) }).next();
    at.into_iter().flat_map(|h| [h.also, Some(h.version)]).flatten().filter(move |version| version.form == form)
}

/// Whether spans of one text, added up, cover `wanted`.
pub(super) fn covers(held: &[Held], wanted: Slots, text: TextId) -> bool {
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
pub(super) fn covers_lines(held: &[Held], lines: Lines, text: TextId) -> bool {
    let wanted = Slots::lines(lines);
    let ends_inside = |h: &Held| h.end() && (wanted.from..wanted.to).contains(&(h.slots.to - 1));
    covers(held, wanted, text) && !held.iter().any(ends_inside)
}

/// With those of `slots` that are held under `base` known to be the same in another text too.
pub(super) fn alike(held: &[Held], slots: Slots, base: ContentHash, version: Version) -> Vec<Held> {
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
pub(super) fn without(held: &[Held], taken: Slots) -> Vec<Held> {
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
pub(super) fn placed(held: &[Held], new: Held) -> Vec<Held> {
    let mut left = without(held, new.slots);
    let at = left.partition_point(|h| h.slots.from < new.slots.from);
    left.insert(at, new);
    left
}

/// What is left of slots, each with something, when `taken` goes.
pub(super) fn apart<T: Copy>(all: &[(Slots, T)], taken: Slots) -> Vec<(Slots, T)> {
    let pieces = |slots: Slots| {
        [Slots { to: slots.to.min(taken.from), ..slots }, Slots { from: slots.from.max(taken.to), ..slots }]
    };
    let left = all.iter().flat_map(|(slots, with)| pieces(*slots).map(|slots| (slots, *with)));
    left.filter(|(slots, _)| slots.from < slots.to).collect()
}

/// A slot, moved. Numbers of lines are far below 32 bits, so this neither wraps nor is cut.
pub(super) fn shifted(slot: u32, added: i64) -> u32 {
    u32::try_from(i64::from(slot) + added).unwrap_or(u32::MAX)
}

/// The parts of a run of slots that stand outside the hunks of an edit, where they stand after it.
pub(super) fn outside(slots: Slots, hunks: &[Hunk]) -> impl Iterator<Item = Slots> {
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
pub(super) fn made(held: &[Held], before: Version, hunk: Hunk, from: u32) -> Option<Slots> {
    let is_held = |line: u32| covers(held, Slots { from: line, to: line + 1 }, before.id());
    let (mut slots, old) = (Slots { from, to: from + hunk.new_count }, hunk.old);
    match hunk.keeps {
        Keeps::All if !covers(held, Slots::lines(old), before.id()) => slots.to = slots.from,
        Keeps::All => {}
        Keeps::Ends | Keeps::Head => {
            let last_held = hunk.keeps == Keeps::Head || is_held(old.last());
            slots.to -= u32::from(!last_held && hunk.new_count > 0);
            slots.from += u32::from(!is_held(old.first()));
        }
    }
    Some(slots).filter(|slots| slots.from < slots.to)
}
