//! What the model provably holds, per file and line. It is always derived by applying the events of one branch in order, and
//! never stored. A value is cheap to clone, so every entry of a transcript can keep its own.
//!
//! Every line slot of a file belongs to the text that showed it last, so the newest wins by construction: showing a line takes
//! its slot from whatever older text had it, and that older text of the line cannot be vouched for again. Slot `n` is line `n` with its
//! terminator; the slot after the last line is the end of the file.

pub mod alike;
mod event;
pub mod piece;
mod span;

pub use event::{Alike, Event, Hunk, Keeps};
pub use piece::{Naming, Piece};
pub use span::Held;

use alloc::{sync::Arc, vec::Vec};
use rpds::RedBlackTreeMapSync;

use self::{
    event::is_possible,
    piece::{also_worn, taken},
    span::{
        Slots, also_of, covers, covers_lines, held_whole, known_new_lines, overlapping, placed, renumbered, shifted,
        subtracted, texts_at, untouched, vouched, without,
    },
};
use crate::{
    diff::CONTEXT,
    limits::Answers,
    path::PathKey,
    scope::{Lines, Scope},
    text::{ContentHash, Form, TextId, Version},
};

/// The number of an entry in a transcript.
pub type Place = u64;

/// Why lines that were shown are no longer held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gone {
    /// Fresh text of them was asked for.
    Refreshed,
    /// The file was seen to have changed there.
    Changed,
    /// The agent's edit touched or moved them, and what they are now does not follow from what the model can see.
    Edited,
    /// The model saw something of the file, and it is not known which lines.
    Unplaced,
}

/// What is held of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct File {
    /// In order, without overlaps.
    held: Vec<Held>,
    /// Lines that were shown and are no longer held. It proves nothing and only explains answers.
    gone: Vec<(Slots, Gone)>,
    /// Numbers under which the model saw more than one text, or may have: since the last compaction, and since the file was first
    /// shown. A line that has moved cannot be named by such a number.
    worn: Vec<Slots>,
}

/// What the model holds, of every file.
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
    /// The files of which something is held, in the order of their names.
    pub fn paths(&self) -> impl Iterator<Item = (&PathKey, &[Held])> {
        self.paths.iter().map(|(path, file)| (path, file.held.as_slice())).filter(|(_, held)| !held.is_empty())
    }

    /// What is held of one file: runs of lines in order, without overlaps.
    #[must_use]
    pub fn of(&self, path: &PathKey) -> &[Held] {
        self.paths.get(path).map_or(&[], |file| file.held.as_slice())
    }

    /// The newest text in this form of which all of `lines` are held, by the rules of `answers`.
    #[must_use]
    pub fn holds_lines(&self, path: &PathKey, lines: Lines, form: Form, answers: Answers) -> Option<ContentHash> {
        let texts = texts_at(self.of(path), lines.first(), form);
        texts.map(|version| version.hash).find(|hash| self.holds_lines_of(path, lines, hash.in_form(form), answers))
    }

    /// Whether all of `lines` are held of this text.
    #[must_use]
    pub fn holds_lines_of(&self, path: &PathKey, lines: Lines, text: TextId, answers: Answers) -> bool {
        let held = self.of(path);
        let exactly = |h: &Held| Held { slots: h.shown, ..h.clone() }.lines() == Some(lines);
        let counts = match answers {
            Answers::Held | Answers::Lean => true,
            Answers::Seed => {
                overlapping(held, Slots::lines(lines)).all(exactly)
                    || self.holds_whole(path, text.form, answers).is_some_and(|whole| whole.id() == text)
            }
        };
        counts && covers_lines(held, lines, text)
    }

    /// Whether the model knows where this text ends.
    #[must_use]
    pub fn holds_end(&self, path: &PathKey, text: TextId) -> bool {
        let held = self.of(path);
        let texts = held.iter().flat_map(|h| [h.also, Some(h.version)]).flatten();
        texts.filter(|version| version.id() == text).any(|version| covers(held, Slots::end_of(version.total), text))
    }

    /// The text in this form that is held from its first line to its end.
    #[must_use]
    pub fn holds_whole(&self, path: &PathKey, form: Form, answers: Answers) -> Option<Version> {
        let held = self.of(path);
        texts_at(held, 1, form).find(|version| {
            let whole = Slots::whole(version.total);
            let counts = answers != Answers::Seed || overlapping(held, whole).all(|h| h.shown == whole);
            counts && covers(held, whole, version.id())
        })
    }

    /// Whether this line is held of this text, and no other text was shown under its number.
    pub(crate) fn bears_alone(&self, path: &PathKey, line: u32, base: ContentHash, form: Form) -> bool {
        let Some(file) = self.paths.get(path) else { return false };
        let is_worn = file.worn.iter().any(|slots| (slots.from..slots.to).contains(&line));
        let is_line = Lines::new(line, line).is_some_and(|line| covers_lines(&file.held, line, base.in_form(form)));
        is_line && !is_worn
    }

    /// Whether the same is known of a file here and there.
    #[must_use]
    pub fn agrees(&self, other: &Self, path: &PathKey) -> bool {
        match (self.paths.get(path), other.paths.get(path)) {
            (Some(one), Some(two)) => one.held == two.held && one.worn == two.worn,
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        }
    }

    /// Applies one event, which stands at `at` in the branch. `answers` must be the same for all events of a branch.
    pub fn apply(&mut self, at: Place, event: &Event, answers: Answers) {
        if let Some(path) = event.path().filter(|path| !is_possible(event, self.of(path))) {
            return self.void(path);
        }
        match event {
            Event::Shown { path, version, lines, end, part } => self.show(at, path, *version, *lines, *end, *part),
            Event::Same { path, base, version, scope, ends } => self.marker(at, path, *base, *version, *scope, *ends),
            Event::MarkerSent { path, base, version, scope, ends } => {
                self.check_marker(path, *base, *version, *scope, *ends)
            }
            Event::Diff { path, base, version } => {
                let whole = self.holds_whole(path, version.form, Answers::Held);
                let guard = whole.is_some_and(|held| held.hash == *base);
                if guard { self.set(path, held_whole(*version, at)) } else { self.void(path) }
            }
            Event::Partial { path, version, lines, pieces } => self.partial(at, path, *version, *lines, pieces),
            Event::Written { path, version } => match answers {
                Answers::Held | Answers::Lean => self.set(path, held_whole(*version, at)),
                Answers::Seed => self.lose(path, Vec::new(), Gone::Edited),
            },
            Event::Edited { path, before, after, hunks } => match answers {
                Answers::Held | Answers::Lean => self.edit(at, path, *before, *after, hunks),
                Answers::Seed => self.lose(path, Vec::new(), Gone::Edited),
            },
            Event::Alike { path, version, pieces } => {
                for piece in pieces {
                    let slots = Slots { from: piece.first, to: piece.last.saturating_add(1) };
                    let held = also_of(self.of(path), slots, piece.base, *version);
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

    /// Replaces what is held of a file.
    fn set(&mut self, path: &PathKey, held: Vec<Held>) {
        let before = self.paths.get(path);
        // Most markers only confirm what is held; then all entries go on sharing one value.
        if before.is_some_and(|file| file.held == held) {
            return;
        }
        let mut gone = before.map(|file| file.gone.clone()).unwrap_or_default();
        for h in &held {
            gone = subtracted(&gone, h.slots);
        }
        let worn = before.map_or_else(Vec::new, |file| also_worn(&file.worn, taken(&file.held, &held).into_iter()));
        self.paths.insert_mut(path.clone(), Arc::new(File { held, gone, worn }));
    }

    /// Notes numbers under which more than one text was shown, or may have been.
    fn wear(&mut self, path: &PathKey, more: impl Iterator<Item = Slots>) {
        let mut file = self.paths.get(path).map(|file| (**file).clone()).unwrap_or_default();
        file.worn = also_worn(&file.worn, more);
        self.paths.insert_mut(path.clone(), Arc::new(file));
    }

    /// Replaces what is held of a file by less, and notes why the rest is gone.
    fn lose(&mut self, path: &PathKey, held: Vec<Held>, why: Gone) {
        let before = self.paths.get(path).map(|file| (**file).clone()).unwrap_or_default();
        let mut gone = before.gone;
        for h in &before.held {
            gone = subtracted(&gone, h.slots);
            let left = held.iter().fold(alloc::vec![(h.slots, why)], |left, still| subtracted(&left, still.slots));
            gone.extend(left);
        }
        let worn = also_worn(&before.worn, taken(&before.held, &held).into_iter());
        self.paths.insert_mut(path.clone(), Arc::new(File { held, gone, worn }));
    }

    fn void(&mut self, path: &PathKey) {
        self.lose(path, Vec::new(), Gone::Unplaced);
        self.wear(path, [Slots { from: 1, to: u32::MAX }].into_iter());
    }

    /// Why these lines are not all held although all were shown; `None` if some were never shown.
    #[must_use]
    pub fn why_gone(&self, path: &PathKey, lines: Lines) -> Option<Gone> {
        let file = self.paths.get(path)?;
        let wanted = Slots::lines(lines);
        let held = file.held.iter().map(|h| h.slots).chain(file.gone.iter().map(|(slots, _)| *slots));
        let rest = held.fold(alloc::vec![(wanted, ())], |left, slots| subtracted(&left, slots));
        let taken = file.gone.iter().rev().find(|(slots, _)| slots.to > wanted.from && slots.from < wanted.to);
        taken.filter(|_| rest.is_empty()).map(|(_, why)| *why)
    }

    /// Whether all of these lines are held in this form, but not all of one text.
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

    /// An edit by the agent. Its answer says which lines were replaced and how many there are now, so nothing has to be searched
    /// for: untouched lines of the text before move, and new lines are known from the call and from old lines that are held. Of
    /// any other text only lines before the edit stay held, because those after it may have moved, and of those none that a
    /// diff shows beside the edit.
    fn edit(&mut self, at: Place, path: &PathKey, before: Version, after: Version, hunks: &[Hunk]) {
        let held = self.forget_beyond(path, before);
        let beside = if hunks.iter().any(|hunk| hunk.keeps == Keeps::Shown) { CONTEXT } else { 0 };
        let first = hunks.first().map_or(1, |hunk| hunk.old.first().saturating_sub(beside));
        let mut moved: Vec<Held> = Vec::with_capacity(held.len() + 2 * hunks.len());
        for h in &held {
            if h.is_of(before.id()) {
                let pieces = untouched(h.slots, hunks);
                moved.extend(pieces.map(|slots| Held { slots, shown: slots, version: after, also: None, at: h.at }));
            } else if h.slots.from < first {
                moved.push(Held { slots: Slots { to: h.slots.to.min(first), ..h.slots }, ..h.clone() });
            }
        }
        moved.sort_unstable_by_key(|h| h.slots.from);
        let mut added = 0;
        for hunk in hunks {
            let from = shifted(hunk.old.first(), added);
            if let Some(slots) = known_new_lines(&held, before, *hunk, from) {
                moved = placed(&moved, Held { slots, shown: slots, version: after, also: None, at });
            }
            added += i64::from(hunk.new_count) - i64::from(hunk.old.count());
        }
        let last = Slots { from: after.total, to: after.total + 1 };
        if hunks.last().is_some_and(|hunk| hunk.old.last() == before.total)
            && (after.total == 0 || covers(&moved, last, after.id()))
        {
            // The answer says how many lines there are, and the last of them is known.
            let slots = Slots::end_of(after.total);
            moved = placed(&moved, Held { slots, shown: slots, version: after, also: None, at });
        }
        self.set_edited(path, before, &held, moved, hunks);
    }

    /// Replaces what is held by what is held after an edit; notes what the edit took.
    fn set_edited(&mut self, path: &PathKey, before: Version, held: &[Held], moved: Vec<Held>, hunks: &[Hunk]) {
        let older = self.paths.get(path).map(|file| file.gone.clone()).unwrap_or_default();
        let mut gone: Vec<(Slots, Gone)> =
            older.iter().flat_map(|(slots, why)| untouched(*slots, hunks).map(|slots| (slots, *why))).collect();
        gone.extend(held.iter().flat_map(|h| untouched(h.slots, hunks)).map(|slots| (slots, Gone::Edited)));
        let (mut added, mut made) = (0, Vec::with_capacity(hunks.len()));
        for hunk in hunks {
            let from = shifted(hunk.old.first(), added);
            made.push(Slots { from, to: from + hunk.new_count });
            gone.push((Slots { from, to: from + hunk.new_count }, Gone::Edited));
            added += i64::from(hunk.new_count) - i64::from(hunk.old.count());
        }
        for h in &moved {
            gone = subtracted(&gone, h.slots);
        }
        let worn = self.paths.get(path).map(|file| file.worn.clone()).unwrap_or_default();
        let renumbered = renumbered(hunks);
        let both = held.iter().chain(&moved).flat_map(|h| renumbered.iter().map(|slots| h.slots.common(*slots)));
        let others: Vec<Held> = held.iter().filter(|h| !h.is_of(before.id())).cloned().collect();
        // To the model, what it saw of other texts moves too; and of a new line that is not held, the call may show a part.
        let seen = worn.iter().copied().chain(others.iter().map(|h| h.slots)).flat_map(|slots| untouched(slots, hunks));
        let worn = also_worn(&worn, both.chain(taken(&others, &moved)).chain(seen).chain(made));
        self.paths.insert_mut(path.clone(), Arc::new(File { held: moved, gone, worn }));
    }

    /// Some lines of a window were shown, and the others named. If what is named is not held, it is not known what the model saw.
    /// Otherwise it holds all of the window, and knows how many lines the file has.
    fn partial(&mut self, at: Place, path: &PathKey, version: Version, lines: Lines, pieces: &[Piece]) {
        let is_held = |piece: &Piece| {
            let text = piece.base.in_form(version.form);
            let named = piece.held_lines().is_some_and(|lines| covers_lines(self.of(path), lines, text));
            let mut old = piece.shown_as..piece.shown_as.saturating_add(piece.lines.count());
            named && (!piece.is_moved() || old.all(|line| self.bears_alone(path, line, piece.base, version.form)))
        };
        if !pieces.iter().all(is_held) {
            return self.void(path);
        }
        // What has not moved is the same text under the same number, whatever text it was shown from.
        let unmoved = pieces.iter().filter(|piece| !piece.is_moved() && piece.base != version.hash);
        let held = unmoved
            .fold(self.of(path).to_vec(), |held, piece| also_of(&held, Slots::lines(piece.lines), piece.base, version));
        self.set(path, held);
        let held = self.forget_beyond(path, version);
        let mut slots = Slots::lines(lines);
        if lines.last() == version.total {
            slots.to = Slots::end_of(version.total).to;
        }
        let held = placed(&held, Held { slots, shown: slots, version, also: None, at });
        self.set(path, held);
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
        let mut held = self.forget_passed_ends(path, version, seen);
        if let Some(line) = part {
            held = without(&held, Slots { from: line, to: line.saturating_add(1) });
        }
        if end {
            // The file was seen to end there, so it has no older line beyond.
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
        if let Some(line) = part {
            self.wear(path, [Slots { from: line, to: line.saturating_add(1) }].into_iter());
        }
    }

    /// A marker by itself adds nothing: if the lines it relies on are not held, it is not known what the model saw. Otherwise
    /// these lines are held of both texts, because they are equal in both.
    fn marker(&mut self, at: Place, path: &PathKey, base: ContentHash, version: Version, scope: Scope, ends: bool) {
        self.check_marker(path, base, version, scope, ends);
        let mut held = self.of(path).to_vec();
        if base != version.hash {
            held = also_of(&held, vouched(version, scope), base, version);
        }
        let end = Slots::end_of(version.total);
        if scope == Scope::Full && !held.is_empty() && !covers(&held, end, version.id()) {
            // The marker says how many lines there are, so the end is known from here on.
            held = placed(&held, Held { slots: end, shown: end, version, also: None, at });
        }
        self.set(path, held);
    }

    /// Voids the path if the lines that a marker relies on are not held; else forgets what the marker contradicts.
    fn check_marker(&mut self, path: &PathKey, base: ContentHash, version: Version, scope: Scope, ends: bool) {
        let held = self.of(path);
        let text = base.in_form(version.form);
        let relied = match scope.lines(version.total) {
            Some(lines) => covers_lines(held, lines, text),
            None => covers(held, vouched(version, scope), text),
        };
        if !relied || (scope == Scope::Full && base != version.hash) {
            self.void(path);
        } else if ends {
            let left = self.forget_beyond(path, version);
            self.set(path, left);
        }
    }

    /// Forgets lines beyond the end of `version`, once the model was told how many lines that text has.
    fn forget_beyond(&mut self, path: &PathKey, version: Version) -> Vec<Held> {
        let held = self.forget_passed_ends(path, version, version.total);
        let end = Slots::end_of(version.total);
        let ends_there = held.iter().any(|h| h.end() && h.version.total == version.total);
        let left = without(&held, Slots { from: if ends_there { end.to } else { end.from }, to: u32::MAX });
        if left != held {
            self.lose(path, left.clone(), Gone::Changed);
        }
        left
    }

    /// Takes the lines that were seen from every text but the one they belong to.
    fn see(&mut self, path: &PathKey, version: Version, lines: &[Lines]) {
        self.wear_seen(path, version, lines);
        if self.of(path).iter().all(|h| h.is_of(version.id())) {
            return;
        }
        let mut left =
            self.forget_passed_ends(path, version, lines.iter().map(|lines| lines.last()).max().unwrap_or(0));
        for slots in lines.iter().map(|lines| Slots::lines(*lines)) {
            let (of_it, others): (Vec<Held>, Vec<Held>) = left.into_iter().partition(|h| h.is_of(version.id()));
            left = of_it.into_iter().chain(without(&others, slots)).collect();
            left.sort_unstable_by_key(|h| h.slots.from);
        }
        self.lose(path, left, Gone::Changed);
    }

    /// Lines that were seen and are not held of that text are another text under their numbers, should these be shown later.
    fn wear_seen(&mut self, path: &PathKey, version: Version, lines: &[Lines]) {
        let held: Vec<Slots> = self.of(path).iter().filter(|h| h.is_of(version.id())).map(|h| h.slots).collect();
        let seen = lines.iter().map(|lines| (Slots::lines(*lines), ())).collect::<Vec<_>>();
        let left = held.iter().fold(seen, |left, slots| subtracted(&left, *slots));
        if !left.is_empty() {
            self.wear(path, left.into_iter().map(|(slots, ())| slots));
        }
    }

    fn refresh(&mut self, path: &PathKey, scope: Scope) {
        let left = match scope {
            Scope::Full => Vec::new(),
            Scope::Lines(lines) => {
                let held = self.of(path);
                let taken = Slots::lines(lines);
                // Fresh text of the last line includes how the file ends.
                let last = held.iter().any(|h| h.version.total <= lines.last());
                without(held, Slots { from: taken.from, to: if last { u32::MAX } else { taken.to } })
            }
        };
        if left.as_slice() != self.of(path) {
            self.lose(path, left, Gone::Refreshed);
        }
    }

    /// Forgets the ends of shorter texts, once line `seen` of `version` was seen: the file goes on there, and the last line of a
    /// shorter text, which may have had no terminator, has one now.
    fn forget_passed_ends(&mut self, path: &PathKey, version: Version, seen: u32) -> Vec<Held> {
        let held = self.of(path);
        let is_passed = |h: &Held| h.version.id() != version.id() && h.version.total < seen;
        let kept =
            |h: &Held| Slots { to: if is_passed(h) { h.slots.to.min(h.version.total) } else { h.slots.to }, ..h.slots };
        let left = held.iter().map(|h| Held { slots: kept(h), ..h.clone() });
        let left: Vec<Held> = left.filter(|h| h.slots.from < h.slots.to).collect();
        if left != held {
            self.lose(path, left.clone(), Gone::Changed);
        }
        left
    }
}
