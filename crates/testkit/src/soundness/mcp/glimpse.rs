//! Operations other than reads whose answers show lines, and the agent's own changes.

use readproof_core::edit::Places;
use readproof_engine::{Change, Error, Write};

use super::{Kind, Run, code};
use crate::{
    glimpse::{self, Shown},
    op::Random,
    run::Step,
    world::{changed, some_edit, some_text},
};

impl Run {
    /// A search of everything, or of one file. Sometimes its result never arrives.
    pub(super) fn search(&mut self, random: &mut Random) -> Step {
        let (name, session) = (self.some_name(random), self.session()?);
        let text = self.world.truth(name).unwrap_or_default();
        let engine = self.world.engine(self.process);
        let found = if random.below(2) == 0 {
            glimpse::search(engine, &session, &text, random)
        } else {
            glimpse::find_in(engine, &session, (name, &text), random)
        };
        self.shown(found, random)
    }

    /// A diff of the working file and another text.
    pub(super) fn preview(&mut self, random: &mut Random) -> Step {
        let (name, session) = (self.some_name(random), self.session()?);
        let Some(text) = self.world.truth(name) else {
            self.idle();
            return Ok(());
        };
        let content = changed(&text, self.world.shape(), random);
        let found = glimpse::preview(self.world.engine(self.process), &session, (name, content), random);
        self.shown(found, random)
    }

    fn shown(&mut self, found: Result<Shown, Error>, random: &mut Random) -> Step {
        let found = match found {
            Ok(found) => found,
            // Nothing is shown if there is no such file, it is not text, or it is a link, which cannot be previewed.
            Err(Error::Missing { .. } | Error::Snapshot(_) | Error::Git(_)) => {
                self.idle();
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        let comes = random.below(8) > 0;
        for (path, lines) in found.into_iter().filter(|(_, lines)| comes && !lines.is_empty()) {
            let numbers: Vec<u64> = lines.iter().map(|line| line.number).collect();
            self.note(format!("lines {numbers:?} of {path} are shown beside reads"));
            self.agent().sight.glimpse(&path, lines);
        }
        Ok(())
    }

    /// The agent changes a file, and sees that it did.
    pub(super) fn write(&mut self, kind: Kind, random: &mut Random) -> Step {
        let (name, session) = (self.some_name(random), self.session()?);
        let (truth, shape) = (self.world.truth(name), self.world.shape());
        let change = match (kind, truth) {
            // Its definitions must stay recognizable without a parser.
            (_, Some(text)) if code::is_code(name) => Some(Change::Whole(code::changed(&text, random))),
            (Kind::Edit, text) => {
                let edit = text.and_then(|text| some_edit(&text, shape, random));
                edit.map(|(old, new)| Change::Replace { old, new, places: Places::One })
            }
            (_, _) => Some(Change::Whole(some_text(shape, random))),
        };
        let Some(change) = change.filter(|_| name != ".env") else {
            self.idle();
            return Ok(());
        };
        self.note(format!("the agent changes {name}: {change:?}"));
        let engine = self.world.engine(self.process);
        let written = engine.write(&Write { path: name.to_owned(), session, change })?;
        if random.below(4) > 0 {
            engine.delivered(&written.receipt)?;
        }
        self.world.remember(name);
        self.agent().sight.wrote(name);
        Ok(())
    }
}
