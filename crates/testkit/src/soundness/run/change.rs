//! Calls that change files, made for what the model saw: exactly, loosely, too late, in vain. What became of the files is
//! compared with what was wanted, and what the answer shows with what the model can know.

use readproof_engine::{
    EntryId, Error, OpenedConflict, Receipt, Status, Written,
    operation::{Operation, Resolution},
};
use readproof_reader::{Change, Seen, What};
use readproof_words::Surface;

use super::{Call, Run, Step, conversation::Turn, violation};
use crate::{
    ask::Ask,
    changes::{Draft, FRESH, More, Wanted, some_over},
    glimpse,
    op::Random,
    world::{some_common, some_text},
};

impl Run {
    /// Pieces of a file as it is, text behind it, or a new file.
    pub(crate) fn pieces(&mut self, random: &mut Random) -> Step {
        let name = self.some_name(random);
        let over = some_over(&self.world, name, random);
        let content = some_text(self.world.shape(), random);
        let wanted = match random.below(8) {
            0 => Wanted::append(name, content, over),
            1 => Wanted::create(self.some_fresh(random), content),
            2 => Wanted::whole(name, content, over),
            _ => {
                let Some(draft) = self.draft(name, 1 + random.below(4), random) else { return self.idle() };
                Wanted::pieces(draft, over, random)
            }
        };
        self.perform(&wanted, random)
    }

    /// Pieces that do not stand in the file to the byte.
    pub(crate) fn loosely(&mut self, random: &mut Random) -> Step {
        let name = self.some_name(random);
        let mixed = random.below(2) == 0;
        if mixed {
            // Lines of two texts: the answer may show some of the first one's place as they are in the second.
            self.page(name, 0, random)?;
            self.note(format!("someone changes {name}"));
            self.world.change(name, random)?;
            self.page(name, 1, random)?;
        }
        let over = some_over(&self.world, name, random);
        let Some(draft) = self.draft(name, 1 + random.below(2), random) else { return self.idle() };
        let wanted = Wanted::loosely(draft, over, random);
        self.perform(&wanted, random)?;
        if !mixed {
            return Ok(());
        }
        self.note(format!("{name} goes back to an earlier text"));
        self.world.revert(name, random)?;
        self.page(name, 0, random)
    }

    /// The file changes between the read and the edit; the edit is made for what was read.
    pub(crate) fn stale(&mut self, random: &mut Random) -> Step {
        let name = self.some_name(random);
        let whole = Call { name, offset: None, limit: None };
        let call = if random.below(4) == 0 { self.call_of(name, random) } else { whole.clone() };
        self.read(&call, random)?;
        let Some(mut draft) = self.draft(name, 1 + random.below(2), random) else { return self.idle() };
        let text = draft.disturbed(self.world.shape(), random);
        self.note(format!("someone changes {name} meanwhile"));
        self.world.put(name, &text)?;
        if random.below(6) == 0 {
            let call = self.call_of(name, random);
            self.read(&call, random)?;
            let truth = self.world.truth(name);
            if truth.is_some() && self.conversation().reader().text(name) == truth {
                // Whoever sees all of the text that is there writes for it.
                let Some(now) = self.draft(name, 1 + random.below(2), random) else { return self.idle() };
                draft = now;
            }
        }
        let over = some_over(&self.world, name, random);
        let wanted = match random.below(4) {
            0 => Wanted::loosely(draft, over, random),
            1 => Wanted::patch(vec![draft], over, None, random),
            _ => Wanted::pieces(draft, over, random),
        };
        self.perform(&wanted, random)?;
        match random.below(4) {
            0 | 1 => self.read(&whole, random),
            2 => {
                // What was shown meanwhile must not be forgotten.
                self.world.revert(name, random)?;
                self.note(format!("{name} goes back to an earlier text"));
                self.read(&call, random)
            }
            _ => Ok(()),
        }
    }

    /// A patch of one file or several.
    pub(crate) fn patch(&mut self, random: &mut Random) -> Step {
        let mut drafts: Vec<Draft> = Vec::new();
        for _ in 0..1 + random.below(3) {
            let name = self.some_name(random);
            let draft = self.draft(name, 1 + random.below(2), random);
            drafts.extend(draft.filter(|draft| drafts.iter().all(|other| other.path != draft.path)));
        }
        let Some(first) = drafts.first() else { return self.idle() };
        if random.below(4) == 0 {
            self.note(format!("someone changes {} meanwhile", first.path));
            let text = first.disturbed(self.world.shape(), random);
            self.world.put(first.path, &text)?;
        }
        let over = some_over(&self.world, first.path, random);
        let name = self.some_name(random);
        let other = self.world.truth(name).filter(|_| name != ".env" && drafts.iter().all(|draft| draft.path != name));
        let more = match (random.below(6), other) {
            (0, _) => {
                let content = some_text(self.world.shape(), random);
                let content = if content.ends_with('\n') { content } else { content + "\n" };
                Some(More::Create(self.some_fresh(random), content))
            }
            (1, Some(text)) if text.ends_with('\n') => Some(More::Delete(name, text)),
            (2, Some(_)) => {
                let draft = self.draft(name, 1, random).filter(|_| random.below(2) == 0);
                Some(More::Move(name, self.some_fresh(random), draft))
            }
            (_, _) => None,
        };
        let wanted = Wanted::patch(drafts, over, more, random);
        self.perform(&wanted, random)
    }

    /// A file goes or gets another name; then both names are read. Sometimes its text comes back.
    pub(crate) fn rename(&mut self, random: &mut Random) -> Step {
        let name = self.some_name(random);
        let Some(text) = self.world.truth(name).filter(|_| name != ".env") else { return self.idle() };
        let whole = |name| Call { name, offset: None, limit: None };
        if random.below(4) > 0 {
            self.read(&whole(name), random)?;
        }
        let over = some_over(&self.world, name, random);
        let to = self.some_fresh(random);
        let wanted = if random.below(3) == 0 { Wanted::delete(name, over) } else { Wanted::rename(name, to, over) };
        self.perform(&wanted, random)?;
        self.read(&whole(to), random)?;
        if random.below(2) == 0 && self.world.truth(name).is_none() {
            self.note(format!("someone puts {name} back"));
            self.world.put(name, &text)?;
        }
        self.read(&whole(name), random)?;
        self.read(&whole(to), random)
    }

    /// The text occurs nowhere, or twice: nothing happens, and the refusal shows what stands there.
    pub(crate) fn in_vain(&mut self, random: &mut Random) -> Step {
        let name = self.some_name(random);
        let Some(text) = self.world.truth(name) else { return self.idle() };
        let over = some_over(&self.world, name, random);
        let shape = self.world.shape();
        let twice = some_common(&text, shape, random).filter(|(old, _)| text.matches(old.as_str()).count() > 1);
        let pieces = match (twice, random.below(2)) {
            (Some((old, _)), 0) => vec![(old, "new".to_owned())],
            (_, _) => {
                let Some(draft) = self.draft(name, 1, random) else { return self.idle() };
                vec![draft.missed(random)]
            }
        };
        let wanted = Wanted::unlikely(name, &pieces, over);
        let before = self.world.truth(name);
        self.perform(&wanted, random)?;
        if random.below(3) == 0 && before.is_some() {
            self.world.revert(name, random)?;
            self.note(format!("{name} goes back to an earlier text"));
        }
        let call = self.call_of(name, random);
        self.read(&call, random)
    }

    /// Two versions of a file side by side.
    pub(crate) fn versions(&mut self, random: &mut Random) -> Step {
        let (name, session) = (self.some_name(random), self.name());
        let newest = self.newest_entry();
        match glimpse::versions(self.engine(), &session, name, random) {
            Ok(found) => {
                self.seen_beside(newest, found);
                Ok(())
            }
            Err(error) if glimpse::is_nothing(&error) => self.idle(),
            Err(error) => Err(error.into()),
        }
    }

    /// A conflict ends.
    pub(crate) fn resolve(&mut self, random: &mut Random) -> Step {
        let session = self.name();
        let open: Vec<OpenedConflict> = self.engine().ask(Some(&session), Operation::ListConflicts { all: false })?;
        let Some(conflict) = random.pick(&open) else { return self.idle() };
        let (path, id) = (conflict.conflict.path.clone(), conflict.id.to_string());
        let content = some_text(self.world.shape(), random);
        let (with, what) = match random.below(3) {
            0 => (Resolution::Ours, What::Chosen),
            1 => (Resolution::Theirs, What::Chosen),
            _ => (Resolution::Text(content.clone()), What::Whole(content)),
        };
        self.note(format!("conflict {id} of {path} ends with {}", with.as_str()));
        let before = self.world.truth(&path);
        match self.engine().ask::<Written>(Some(&session), Operation::Resolve { id, with }) {
            Ok(written) => {
                let paths = [path.as_str()];
                self.answered(&paths, vec![Change { path: path.clone(), what }], written, random)
            }
            Err(Error::Erased { .. } | Error::Precondition { .. } | Error::Missing { .. } | Error::Locate(_))
                if self.world.truth(&path) == before =>
            {
                self.idle()
            }
            Err(error) => Err(error.into()),
        }
    }

    fn draft(&self, name: &'static str, places: usize, random: &mut Random) -> Option<Draft> {
        Draft::new(name, &self.world.truth(name)?, places, (self.world.shape(), random))
    }

    fn some_fresh(&self, random: &mut Random) -> &'static str {
        random.pick(&FRESH).copied().unwrap_or(FRESH[0])
    }

    /// Makes a call, compares the files with what it wanted, and adds it to the conversation.
    fn perform(&mut self, wanted: &Wanted, random: &mut Random) -> Step {
        let before = wanted.texts(&self.world);
        let newest = self.newest_entry();
        let seen = wanted.replaces().map(|path| self.conversation().reader().text(path));
        self.note(format!("the agent asks for {:?}", wanted.operation));
        match self.engine().ask::<Written>(Some(&self.name()), wanted.operation.clone()) {
            Ok(written) => {
                if let Some(wrong) = wanted.wrong(&self.world, &before, &written.text)? {
                    return violation(format!("{}: {wrong}", written.text));
                }
                let there = before.first().cloned().flatten().filter(|text| !text.is_empty());
                if let Some(seen) = seen.filter(|seen| there.is_some() && *seen != there) {
                    return violation(format!("{there:?} was replaced, and seen was {seen:?}"));
                }
                let paths: Vec<&str> = wanted.paths().collect();
                self.answered(&paths, wanted.files.clone(), written, random)
            }
            Err(error) => self.not_done(wanted, (&before, newest), &error),
        }
    }

    /// What a refusal shows is seen.
    pub(crate) fn not_done(
        &mut self,
        wanted: &Wanted,
        (before, newest): (&[Option<String>], Option<EntryId>),
        error: &Error,
    ) -> Step {
        let words = Surface::Cli.error(error);
        self.note(format!("refused: {words}"));
        let shown = wanted.refused(&self.world, before, error, &words)?;
        self.seen_beside(newest, shown);
        Ok(())
    }

    /// Whoever has seen nothing before holds nothing that this could contradict.
    pub(crate) fn seen_beside(&mut self, before: Option<EntryId>, shown: glimpse::Shown) {
        if !self.conversation().nodes.is_empty() {
            let recorded = self.newest_entry() != before;
            self.shown_beside(shown, recorded);
        }
    }

    pub(crate) fn answered(
        &mut self,
        paths: &[&str],
        files: Vec<Change>,
        written: Written,
        random: &mut Random,
    ) -> Step {
        let Written { text, receipts, .. } = written;
        self.note(text.clone());
        paths.iter().for_each(|path| self.world.remember(path));
        let seen = Seen::Changes { files, answer: text };
        if let Err(complaint) = self.conversation().reader().clone().see(&seen) {
            return violation(format!("the answer to a change cannot be right: {complaint}"));
        }
        let entries: Vec<_> = receipts.iter().map(|receipt| receipt.entry).collect();
        let Some(last) = entries.last().copied() else { return violation("a change was not recorded".to_owned()) };
        let node = self.conversation().push(Turn::Called { glimpsed: None }, Some(last));
        if random.below(12) == 0 {
            self.never_comes(node, seen, random);
            return Ok(());
        }
        for receipt in &receipts {
            self.engine().delivered(receipt)?;
        }
        let node = self.conversation().push(Turn::Saw(seen), Some(last));
        self.conversation().nodes[node].also = entries;
        self.whole_is_true(paths, &receipts)
    }

    /// What counts as held whole right after a change is what the file says.
    fn whole_is_true(&mut self, paths: &[&str], receipts: &[Receipt]) -> Step {
        let Some(session) = receipts.first().map(|receipt| receipt.session.clone()) else { return Ok(()) };
        let status: Status = self.engine().ask(Some(&session), Operation::Status)?;
        let held = status.conversation.map(|status| status.files).unwrap_or_default();
        let reader = self.conversation().reader().clone();
        for path in paths {
            let whole = held.iter().any(|file| file.whole && file.path == *path);
            let (seen, truth) = (reader.text(path), self.world.truth(path));
            if whole && seen != truth {
                return violation(format!("{path} counts as held whole; seen is {seen:?}, the file is {truth:?}"));
            }
        }
        Ok(())
    }
}
