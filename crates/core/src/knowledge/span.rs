//! Runs of line slots: adding them up, taking some away, moving them by an edit. Slot `n` is line `n` with its terminator; the
//! slot after the last line is the end of the file.

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

    /// The end slot of a text of `total` lines.
    pub(super) fn end_of(total: u32) -> Self {
        Self { from: total.saturating_add(1), to: total.saturating_add(2) }
    }

    /// The slots that both have; perhaps none.
    pub(super) fn common(self, other: Self) -> Self {
        Self { from: self.from.max(other.from), to: self.to.min(other.to) }
    }

    /// All slots of a text of `total` lines, its end included.
    pub(super) fn whole(total: u32) -> Self {
        Self { from: 1, to: total.saturating_add(2) }
    }
}

/// A run of lines of one text that the model holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    pub(super) slots: Slots,
    /// The slots as they were shown, before newer text took some away; `answers = "seed"` counts only those.
    pub(super) shown: Slots,
    pub(super) version: Version,
    /// A newer text in which these lines are equal. It has the same form.
    pub(super) also: Option<Version>,
    pub(super) at: Place,
}

impl Held {
    /// The text these lines were shown from.
    #[must_use]
    pub fn version(&self) -> Version {
        self.version
    }

    /// The texts that have these lines, as far as is known.
    pub fn versions(&self) -> impl Iterator<Item = Version> {
        [Some(self.version), self.also].into_iter().flatten()
    }

    /// The entry of the branch that showed them.
    #[must_use]
    pub fn at(&self) -> Place {
        self.at
    }

    /// The lines, without the end slot; `None` when only the end is held.
    #[must_use]
    pub fn lines(&self) -> Option<Lines> {
        Lines::new(self.slots.from, (self.slots.to - 1).min(self.version.total))
    }

    /// Whether this run includes the end of the file.
    #[must_use]
    pub fn end(&self) -> bool {
        self.slots.to == self.version.total.saturating_add(2)
    }

    /// Whether these are lines of this text: they were shown from it, or are known to be equal in it.
    #[must_use]
    pub fn is_of(&self, text: TextId) -> bool {
        self.version.id() == text || self.also.is_some_and(|also| also.id() == text)
    }

    /// The first and the last slot; the end is one more than the text has lines.
    pub(crate) fn slots(&self) -> (u32, u32) {
        (self.slots.from, self.slots.to - 1)
    }
}

/// The slots a marker vouches for; of an empty file, its end.
pub(super) fn vouched(version: Version, scope: Scope) -> Slots {
    scope.lines(version.total).map_or(Slots::end_of(version.total), Slots::lines)
}

/// A whole text as the only thing that is held.
pub(super) fn held_whole(version: Version, at: Place) -> Vec<Held> {
    let slots = Slots::whole(version.total);
    alloc::vec![Held { slots, shown: slots, version, also: None, at }]
}

pub(super) fn overlapping(held: &[Held], wanted: Slots) -> impl Iterator<Item = &Held> {
    held.iter().filter(move |h| h.slots.to > wanted.from && h.slots.from < wanted.to)
}

/// The texts in `form` that the line at a slot belongs to, newest first.
pub(super) fn texts_at(held: &[Held], slot: u32, form: Form) -> impl Iterator<Item = Version> {
    let at = overlapping(held, Slots { from: slot, to: slot.saturating_add(1) }).next();
    at.into_iter().flat_map(|h| [h.also, Some(h.version)]).flatten().filter(move |version| version.form == form)
}

/// Whether runs of this text together cover `wanted`.
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

/// The same for lines: an end slot does not count as a line.
pub(super) fn covers_lines(held: &[Held], lines: Lines, text: TextId) -> bool {
    let wanted = Slots::lines(lines);
    let ends_inside = |h: &Held| h.end() && (wanted.from..wanted.to).contains(&(h.slots.to - 1));
    covers(held, wanted, text) && !held.iter().any(ends_inside)
}

/// `held`, with those of `slots` that are held of `base` now also known to be lines of `version`.
pub(super) fn also_of(held: &[Held], slots: Slots, base: ContentHash, version: Version) -> Vec<Held> {
    let text = base.in_form(version.form);
    let mut all = without(held, slots);
    for h in overlapping(held, slots) {
        let part = Slots { from: h.slots.from.max(slots.from), to: h.slots.to.min(slots.to) };
        if !h.is_of(text) || base == version.hash {
            all.push(Held { slots: part, ..h.clone() });
            continue;
        }
        let shown_from = h.also.filter(|also| also.id() == text).unwrap_or(h.version);
        all.push(Held { slots: part, version: shown_from, also: Some(version), ..h.clone() });
    }
    all.sort_unstable_by_key(|h| h.slots.from);
    all
}

/// `held` without the slots `taken`.
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

/// `held` with `new`, in order; `new` replaces whatever had its slots.
pub(super) fn placed(held: &[Held], new: Held) -> Vec<Held> {
    let mut left = without(held, new.slots);
    let at = left.partition_point(|h| h.slots.from < new.slots.from);
    left.insert(at, new);
    left
}

/// Runs of slots, each with a value, without the slots `taken`.
pub(super) fn subtracted<T: Copy>(all: &[(Slots, T)], taken: Slots) -> Vec<(Slots, T)> {
    let pieces = |slots: Slots| {
        [Slots { to: slots.to.min(taken.from), ..slots }, Slots { from: slots.from.max(taken.to), ..slots }]
    };
    let left = all.iter().flat_map(|(slots, with)| pieces(*slots).map(|slots| (slots, *with)));
    left.filter(|(slots, _)| slots.from < slots.to).collect()
}

/// A slot moved by `added` lines. Numbers of lines are far below 32 bits, so this neither wraps nor is clamped.
pub(super) fn shifted(slot: u32, added: i64) -> u32 {
    u32::try_from(i64::from(slot) + added).unwrap_or(u32::MAX)
}

/// The parts of a run of slots that an edit did not touch, with the numbers they have after it.
pub(super) fn untouched(slots: Slots, hunks: &[Hunk]) -> impl Iterator<Item = Slots> {
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

/// The numbers that do not mean the same line before and after an edit.
pub(super) fn renumbered(hunks: &[Hunk]) -> Vec<Slots> {
    let (mut all, mut added) = (Vec::with_capacity(hunks.len()), 0);
    for (at, hunk) in hunks.iter().enumerate() {
        let new = shifted(hunk.old.first(), added);
        added += i64::from(hunk.new_count) - i64::from(hunk.old.count());
        let touched = hunk.old.last().saturating_add(1).max(new.saturating_add(hunk.new_count));
        // Until the next edit, lines keep their numbers only if as many came as went.
        let next = hunks.get(at + 1).map_or(u32::MAX, |next| next.old.first());
        all.push(Slots { from: hunk.old.first().min(new), to: if added == 0 { touched } else { next.max(touched) } });
    }
    all
}

/// Those new lines of a hunk that the model knows, from the call and from the old lines it holds. The new lines begin at slot
/// `from`.
pub(super) fn known_new_lines(held: &[Held], before: Version, hunk: Hunk, from: u32) -> Option<Slots> {
    let is_held = |line: u32| covers(held, Slots { from: line, to: line + 1 }, before.id());
    let (mut slots, old) = (Slots { from, to: from + hunk.new_count }, hunk.old);
    match hunk.keeps {
        Keeps::All if !covers(held, Slots::lines(old), before.id()) => slots.to = slots.from,
        Keeps::All | Keeps::Shown => {}
        Keeps::Unknown => slots.to = slots.from,
        Keeps::Ends | Keeps::Head => {
            let last_held = hunk.keeps == Keeps::Head || is_held(old.last());
            slots.to -= u32::from(!last_held && hunk.new_count > 0);
            slots.from += u32::from(!is_held(old.first()));
        }
    }
    Some(slots).filter(|slots| slots.from < slots.to)
}
