//! Operations other than reads whose answers show lines.

use readproof_engine::{EntryId, Error, SessionView, operation::Operation};
use readproof_reader::Seen;

use super::{Call, Run, Step, conversation::Turn};
use crate::{
    ask::{Ask, Logged},
    glimpse::{self, Shown},
    op::Random,
};

impl Run {
    /// A search of everything, or of one file.
    pub(crate) fn search(&mut self, random: &mut Random) -> Step {
        let found = self.found(random)?;
        self.shown(found);
        Ok(())
    }

    /// The result of a search, before the model sees it.
    pub(crate) fn found(&mut self, random: &mut Random) -> Step<Shown> {
        let before = self.newest_entry();
        let (name, session) = (self.some_name(random), self.name());
        let text = self.world.truth(name).unwrap_or_default();
        let found = if random.below(2) == 0 {
            glimpse::search(self.engine(), &session, &text, random)
        } else {
            glimpse::find_in(self.engine(), &session, (name, &text), random)
        };
        let found = self.or_nothing(found)?;
        Ok(self.told(before, found))
    }

    /// A diff of the working file and another text.
    pub(crate) fn preview(&mut self, random: &mut Random) -> Step {
        let (name, session) = (self.some_name(random), self.name());
        let Some(text) = self.world.truth(name) else { return self.idle() };
        let before = self.newest_entry();
        let content = crate::world::changed(&text, self.world.shape(), random);
        let found = glimpse::preview(self.engine(), &session, (name, content), random);
        let found = self.or_nothing(found)?;
        let found = self.told(before, found);
        self.shown(found);
        Ok(())
    }

    /// A program prints some of what it got.
    pub(crate) fn program_prints(&mut self, call: &Call, answer: &Logged, random: &mut Random) {
        let lines = glimpse::printed(&answer.text, call.offset.unwrap_or(1), random);
        // The program does not know the rest of a line that it got in part, and so prints none of it.
        let whole = answer.lines.map_or(0, |lines| lines.count() as usize);
        let last = call.offset.unwrap_or(1) + whole as u64;
        let lines = lines.into_iter().filter(|line| line.number < last).collect();
        self.note(format!("and it prints some of {}", call.name));
        self.conversation().push(Turn::Saw(Seen::Lines { path: call.name.to_owned(), lines }), None);
    }

    /// Nothing is shown if there is no such file, it is not text, or it is a link, which cannot be previewed.
    fn or_nothing(&mut self, found: Result<Shown, Error>) -> Step<Shown> {
        match found {
            Err(Error::Missing { .. } | Error::Snapshot(_) | Error::Git(_)) => self.idle().map(|()| Shown::new()),
            found => Ok(found?),
        }
    }

    /// The newest entry of the session, if there is one.
    pub(crate) fn newest_entry(&mut self) -> Option<EntryId> {
        let session = self.name();
        let view: SessionView = self.engine().ask(Some(&session), Operation::ShowSession).ok()?;
        view.entries.last().map(|entry| entry.id)
    }

    /// What is shown, if it was recorded in the session: it is not if none of these files was ever read or written, because
    /// then it contradicts nothing.
    fn told(&mut self, before: Option<EntryId>, found: Shown) -> Shown {
        if self.newest_entry() == before { Shown::new() } else { found }
    }

    /// The model sees it.
    pub(crate) fn shown(&mut self, found: Shown) {
        self.shown_beside(found, true);
    }

    /// The model sees it, and the product recorded it or not.
    pub(crate) fn shown_beside(&mut self, found: Shown, recorded: bool) {
        for (path, lines) in found.into_iter().filter(|(_, lines)| !lines.is_empty()) {
            let numbers: Vec<u64> = lines.iter().map(|line| line.number).collect();
            self.note(format!("lines {numbers:?} of {path} are shown beside reads"));
            let at = self.conversation().push(Turn::Saw(Seen::Lines { path, lines }), None);
            self.conversation().nodes[at].recorded = recorded;
        }
    }
}
