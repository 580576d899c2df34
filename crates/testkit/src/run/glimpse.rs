//! Operations whose answers show lines and are no reads.

use readproof_engine::{Answer, Error};
use readproof_reader::Seen;

use super::{Call, Run, Step, conversation::Turn};
use crate::{
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

    /// What a search gives, before it is seen.
    pub(crate) fn found(&mut self, random: &mut Random) -> Step<Shown> {
        let (name, session) = (self.some_name(random), self.name());
        let text = self.world.truth(name).unwrap_or_default();
        let found = if random.below(2) == 0 {
            glimpse::search(self.engine(), &session, &text, random)
        } else {
            glimpse::find_in(self.engine(), &session, (name, &text), random)
        };
        self.or_nothing(found)
    }

    /// The working file beside another text.
    pub(crate) fn preview(&mut self, random: &mut Random) -> Step {
        let (name, session) = (self.some_name(random), self.name());
        let Some(text) = self.world.truth(name) else { return self.idle() };
        let content = crate::world::changed(&text, self.world.shape(), random);
        let found = glimpse::preview(self.engine(), &session, (name, content), random);
        let found = self.or_nothing(found)?;
        self.shown(found);
        Ok(())
    }

    /// A program prints some of what it was given.
    pub(crate) fn program_prints(&mut self, call: &Call, answer: &Answer, random: &mut Random) {
        let lines = glimpse::printed(&answer.text, call.offset.unwrap_or(1), random);
        // Of a line given in part the program does not know the rest, and so prints none of it.
        let whole = answer.lines.map_or(0, |lines| lines.count() as usize);
        let last = call.offset.unwrap_or(1) + whole as u64;
        let lines = lines.into_iter().filter(|line| line.number < last).collect();
        self.note(format!("and it prints some of {}", call.name));
        self.talk().push(Turn::Saw(Seen::Lines { path: call.name.to_owned(), lines }), None);
    }

    /// No such file, one that is no text, or a link, for which no other text can stand: then nothing is shown.
    fn or_nothing(&mut self, found: Result<Shown, Error>) -> Step<Shown> {
        match found {
            Err(Error::Missing { .. } | Error::Snapshot(_) | Error::Git(_)) => self.idle().map(|()| Shown::new()),
            found => Ok(found?),
        }
    }

    /// The model sees it.
    pub(crate) fn shown(&mut self, found: Shown) {
        if self.talk().nodes.is_empty() {
            // There is no session yet, and nothing that these lines could contradict.
            return;
        }
        for (path, lines) in found.into_iter().filter(|(_, lines)| !lines.is_empty()) {
            let numbers: Vec<u64> = lines.iter().map(|line| line.number).collect();
            self.note(format!("lines {numbers:?} of {path} are shown beside reads"));
            self.talk().push(Turn::Saw(Seen::Lines { path, lines }), None);
        }
    }
}
