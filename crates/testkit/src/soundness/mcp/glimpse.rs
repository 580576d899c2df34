//! Operations other than reads whose answers show lines, and the agent's own changes.

use readproof_core::{decide::Mode, edit::Places};
use readproof_engine::{
    ContextFound, Error, HandleConversation, Listed, ListedKind,
    operation::{Change, Decoding, List, Operation, Read},
};
use readproof_reader::mcp::Asks;
use std::fs;

use super::{Kind, Run, code};
use crate::{
    ask::{Ask, WAIT},
    glimpse::{self, Shown},
    op::Random,
    run::{Step, violation},
    world::{changed, some_edit, some_text},
};

impl Run {
    /// An operation that shows lines or names beside reads.
    pub(super) fn look(&mut self, kind: Kind, random: &mut Random) -> Step {
        if kind == Kind::Search {
            return self.search(random);
        }
        if kind == Kind::Preview {
            return self.preview(random);
        }
        if kind == Kind::Outline {
            return self.outline(random);
        }
        if kind == Kind::Told {
            return self.told(random);
        }
        if kind == Kind::Shell {
            return self.by_shell(random);
        }
        if kind == Kind::View { self.view(random) } else { self.list() }
    }

    /// A search of everything, or of one file. Sometimes its result never arrives.
    fn search(&mut self, random: &mut Random) -> Step {
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
    fn preview(&mut self, random: &mut Random) -> Step {
        let (name, session) = (self.some_name(random), self.session()?);
        let Some(text) = self.world.truth(name) else {
            self.idle();
            return Ok(());
        };
        let content = changed(&text, self.world.shape(), random);
        let found = glimpse::preview(self.world.engine(self.process), &session, (name, content), random);
        self.shown(found, random)
    }

    /// What a file of code, or everything, defines.
    fn outline(&mut self, random: &mut Random) -> Step {
        let path = if random.below(3) == 0 { "." } else { code::FILES[random.below(code::FILES.len())] };
        let session = self.session()?;
        let found = glimpse::outline(self.world.engine(self.process), &session, path, random);
        self.shown(found, random)
    }

    /// What others changed since, unasked. Nothing of it may have a handle: nobody knows that the agent saw what it is a diff of.
    fn told(&mut self, random: &mut Random) -> Step {
        let session = self.session()?;
        let engine = self.world.engine(self.process);
        glimpse::look_around(engine)?;
        let mut conversation = HandleConversation::new(Some(session), None);
        let told = engine.call(&mut conversation, Operation::Tell, WAIT)?.into_told()?;
        let context: Box<ContextFound> = engine.call(&mut conversation, Operation::Context, WAIT)?.try_into()?;
        if let Some(news) = told.iter().find(|news| news.answer.is_some()) {
            return violation(format!("{} is told as an answer", news.path));
        }
        glimpse::context_is_true(&self.world, &context)?;
        let found = told.into_iter().flat_map(|news| glimpse::sides(&news.path, &news.diff)).collect();
        self.shown(Ok(found), random)
    }

    /// Another text is seen by a shell and met by a look, and the file goes back, or on: the handle of the earlier one is worth nothing.
    fn by_shell(&mut self, random: &mut Random) -> Step {
        let name = self.some_name(random);
        let before = self.world.truth(name).filter(|_| name != ".env" && !code::is_code(name));
        let Some(before) = before else {
            self.idle();
            return Ok(());
        };
        let since = glimpse::newest_record(self.world.engine(self.process), name);
        self.change(name, random)?;
        let Some(there) = self.world.truth(name).filter(|there| *there != before) else {
            self.idle();
            return Ok(());
        };
        if glimpse::is_met(self.world.engine(self.process), name, &there, since) {
            self.note(format!("a shell shows {name}: {there:?}"));
            self.agent().sight.glimpse(name, glimpse::lines(&there, 1));
        }
        if random.below(3) == 0 {
            self.change(name, random)?;
        }
        if self.world.truth(name).is_none_or(|now| now == there) {
            self.world.put(name, &before)?;
        }
        let asks = Asks::Lines { offset: None, limit: None };
        let question = self.question(name, asks, self.newest(name), random);
        self.read(&question)
    }

    /// Names alone show no line.
    fn list(&mut self) -> Step {
        let session = self.session()?;
        let listed: Listed = self.world.engine(self.process).ask(Some(&session), Operation::List(List::default()))?;
        let files = listed.entries.iter().filter(|entry| matches!(entry.what, ListedKind::File { .. })).count() as u64;
        self.note(format!("{files} files are listed"));
        if files == listed.files { Ok(()) } else { violation(format!("{files} of {} files are listed", listed.files)) }
    }

    /// A file gets bytes that are not UTF-8 and is read or, in UTF-16, found; then it has UTF-8 text again, often the one before.
    fn view(&mut self, random: &mut Random) -> Step {
        let name = self.some_name(random);
        let text = self.world.truth(name).filter(|_| name != ".env" && !code::is_code(name));
        let Some(text) = text else {
            self.idle();
            return Ok(());
        };
        let path = self.world.path().join(name);
        let is_wide = random.below(2) == 0;
        let bytes = encoded(&text, is_wide, random);
        // What Latin-1 leaves out may make words that the text does not have.
        self.world.note_words(name, &bytes.iter().copied().map(char::from).collect::<String>());
        fs::write(&path, bytes)?;
        if is_wide && random.below(2) == 0 {
            let (engine, session) = (self.world.engine(self.process), self.session()?);
            let found = if random.below(2) == 0 {
                glimpse::search(engine, &session, &text, random)
            } else {
                glimpse::find_in(engine, &session, (name, &text), random)
            };
            fs::write(&path, &text)?;
            self.note(format!("{name} is searched in UTF-16, and has its text again"));
            return self.shown(found, random);
        }
        let mut conversation = HandleConversation::new(Some(self.session()?), self.newest(name).as_deref());
        let asked = Read { path: name.to_owned(), decoding: Decoding::View, ..Read::default() };
        let asked = Operation::Read(asked);
        let engine = self.world.engine(self.process);
        let given = engine.call(&mut conversation, asked, WAIT).and_then(readproof_engine::Outcome::into_answer);
        fs::write(&path, &text)?;
        match given {
            Ok(answer) if answer.mode != Mode::Full || answer.given.is_some() => {
                return violation(format!("{name} is decoded and answered as {:?}, {:?}", answer.mode, answer.given));
            }
            Ok(answer) => {
                self.note(format!("{name} is read in another encoding, and has its text again"));
                let first = answer.lines.map_or(1, |lines| u64::from(lines.first()));
                let lines = glimpse::lines(&answer.text, first);
                self.agent().sight.glimpse(name, lines);
            }
            // Behind a link, or no text in any encoding.
            Err(Error::Snapshot(_)) => self.idle(),
            Err(error) => return Err(error.into()),
        }
        if random.below(2) == 0 {
            self.change(name, random)?;
            self.note(format!("someone changes {name}"));
        }
        Ok(())
    }

    pub(super) fn shown(&mut self, found: Result<Shown, Error>, random: &mut Random) -> Step {
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
        let written = match engine.write(&session, name, change) {
            // A last line without an end may be as much like it as the line that is meant.
            Err(Error::Edit { .. }) if kind == Kind::Edit => {
                self.idle();
                return Ok(());
            }
            written => written?,
        };
        if random.below(4) > 0 {
            engine.delivered(&written.receipt)?;
        }
        self.world.remember(name);
        self.agent().sight.wrote(name);
        Ok(())
    }
}

/// The bytes of a text behind another line: in UTF-16 with a mark, or what Latin-1 has of it.
fn encoded(text: &str, is_wide: bool, random: &mut Random) -> Vec<u8> {
    let text = format!("d\u{e9}j\u{e0} vu, un caf\u{e9} cr\u{e8}me {}\n{text}", random.below(100));
    if is_wide {
        return [0xff, 0xfe].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect();
    }
    text.chars().filter(|c| *c != '\0').filter_map(|c| u8::try_from(u32::from(c)).ok()).collect()
}
