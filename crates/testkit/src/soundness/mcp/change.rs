//! Calls of agents that change files, or that fail to. Of a file that an agent changed nothing may be vouched for by what it
//! saw before; what a refusal shows is seen.

use readproof_engine::{
    Error, HandleConversation, HistoryError, HistoryListed, OpenedConflict, Rewound, Written,
    operation::{History, Operation, Resolution, Rewind},
};
use readproof_reader::mcp::Asks;
use readproof_words::{Surface, ToolTerms};

use super::{Kind, Run, code};
use crate::{
    ask::{Ask, WAIT},
    changes::{Draft, FRESH, More, Wanted, some_over},
    glimpse,
    op::Random,
    run::{Step, violation},
    world::{some_common, some_text},
};

impl Run {
    /// A patch, a file that goes, versions, or a conflict that ends.
    pub(super) fn files(&mut self, kind: Kind, random: &mut Random) -> Step {
        if kind == Kind::Patch {
            return self.patch(random);
        }
        if kind == Kind::Rename {
            return self.rename(random);
        }
        if kind == Kind::LookBack {
            return self.look_back(random);
        }
        if kind == Kind::Rewind {
            return self.rewind(random);
        }
        if kind == Kind::Versions { self.versions(random) } else { self.resolve(random) }
    }

    /// An edit of one file.
    pub(super) fn edits(&mut self, kind: Kind, random: &mut Random) -> Step {
        if kind == Kind::FailedEdit {
            return self.in_vain(random);
        }
        if kind == Kind::Loose {
            return self.loosely(random);
        }
        if kind == Kind::Stale { self.stale(random) } else { self.pieces(random) }
    }

    /// Pieces of a file as it is, text behind it, or a new file.
    pub(super) fn pieces(&mut self, random: &mut Random) -> Step {
        let Some(name) = self.some_editable(random) else { return self.skipped() };
        let over = some_over(&self.world, name, random);
        let content = some_text(self.world.shape(), random);
        let wanted = match random.below(8) {
            0 => Wanted::append(name, content, over),
            1 => Wanted::create(some_fresh(random), content),
            2 => Wanted::whole(name, content, over),
            _ => match self.draft(name, 1 + random.below(4), random) {
                Some(draft) => Wanted::pieces(draft, over, random),
                None => return self.skipped(),
            },
        };
        self.perform(&wanted, random)
    }

    /// Pieces that do not stand in the file to the byte.
    pub(super) fn loosely(&mut self, random: &mut Random) -> Step {
        let draft = self.some_editable(random).and_then(|name| self.draft(name, 1 + random.below(2), random));
        let Some(draft) = draft else { return self.skipped() };
        let over = some_over(&self.world, draft.path, random);
        let wanted = Wanted::loosely(draft, over, random);
        self.perform(&wanted, random)
    }

    /// The file changes between the read and the edit; the edit is made for what was read.
    pub(super) fn stale(&mut self, random: &mut Random) -> Step {
        let Some(name) = self.some_editable(random) else { return self.skipped() };
        let whole = Asks::Lines { offset: None, limit: None };
        let question = self.question(name, whole.clone(), self.newest(name), random);
        self.read(&question)?;
        let Some(draft) = self.draft(name, 1 + random.below(2), random) else { return self.skipped() };
        self.note(format!("someone changes {name} meanwhile"));
        let text = draft.disturbed(self.world.shape(), random);
        self.world.put(name, &text)?;
        let over = some_over(&self.world, name, random);
        let wanted = match random.below(4) {
            0 => Wanted::loosely(draft, over, random),
            1 => Wanted::patch(vec![draft], over, None, random),
            _ => Wanted::pieces(draft, over, random),
        };
        self.perform(&wanted, random)?;
        if random.below(3) == 0 {
            self.world.revert(name, random)?;
            self.note(format!("{name} goes back to an earlier text"));
        }
        let question = self.question(name, whole, self.newest(name), random);
        self.read(&question)
    }

    /// A patch of one file or several.
    pub(super) fn patch(&mut self, random: &mut Random) -> Step {
        let mut drafts: Vec<Draft> = Vec::new();
        for _ in 0..1 + random.below(3) {
            let draft = self.some_editable(random).and_then(|name| self.draft(name, 1 + random.below(2), random));
            drafts.extend(draft.filter(|draft| drafts.iter().all(|other| other.path != draft.path)));
        }
        let Some(first) = drafts.first() else { return self.skipped() };
        if random.below(4) == 0 {
            let text = first.disturbed(self.world.shape(), random);
            self.world.put(first.path, &text)?;
        }
        let over = some_over(&self.world, first.path, random);
        let more = match (random.below(6), self.some_editable(random)) {
            (0, _) => Some(More::Create(some_fresh(random), "new\nfile\n".to_owned())),
            (1, Some(name)) if name != ".env" && drafts.iter().all(|draft| draft.path != name) => {
                let text = self.world.truth(name).filter(|text| text.ends_with('\n'));
                text.map(|text| More::Delete(name, text))
            }
            (2, Some(name)) if name != ".env" && drafts.iter().all(|draft| draft.path != name) => {
                self.world.truth(name).map(|_| More::Move(name, some_fresh(random), None))
            }
            (_, _) => None,
        };
        let wanted = Wanted::patch(drafts, over, more, random);
        self.perform(&wanted, random)
    }

    /// A file goes or gets another name; then both names are read. Sometimes its text comes back.
    pub(super) fn rename(&mut self, random: &mut Random) -> Step {
        let named = self.some_editable(random).filter(|name| *name != ".env");
        let Some((name, text)) = named.and_then(|name| Some((name, self.world.truth(name)?))) else {
            return self.skipped();
        };
        let (over, to) = (some_over(&self.world, name, random), some_fresh(random));
        let wanted = if random.below(3) == 0 { Wanted::delete(name, over) } else { Wanted::rename(name, to, over) };
        self.perform(&wanted, random)?;
        if random.below(2) == 0 && self.world.truth(name).is_none() {
            self.note(format!("someone puts {name} back"));
            self.world.put(name, &text)?;
        }
        for name in [to, name, to] {
            let question = self.question(name, Asks::Lines { offset: None, limit: None }, self.newest(name), random);
            self.read(&question)?;
        }
        Ok(())
    }

    /// The text occurs nowhere, or twice: nothing happens, and the refusal shows what stands there.
    pub(super) fn in_vain(&mut self, random: &mut Random) -> Step {
        let named = self.some_editable(random);
        let Some((name, text)) = named.and_then(|name| Some((name, self.world.truth(name)?))) else {
            return self.skipped();
        };
        let over = some_over(&self.world, name, random);
        let twice = some_common(&text, self.world.shape(), random);
        let twice = twice.filter(|(old, _)| text.matches(old.as_str()).count() > 1);
        let piece = match (twice, random.below(2)) {
            (Some((old, _)), 0) => (old, "new".to_owned()),
            (_, _) => match self.draft(name, 1, random) {
                Some(draft) => draft.missed(random),
                None => return self.skipped(),
            },
        };
        let wanted = Wanted::unlikely(name, &[piece], over);
        self.perform(&wanted, random)?;
        if random.below(3) == 0 {
            self.world.revert(name, random)?;
            self.note(format!("{name} goes back to an earlier text"));
        }
        let asks = self.some_asks(name, random);
        let question = self.question(name, asks, self.newest(name), random);
        self.read(&question)
    }

    /// Two versions of a file side by side.
    pub(super) fn versions(&mut self, random: &mut Random) -> Step {
        let (name, session) = (self.some_name(random), self.session()?);
        let found = glimpse::versions(self.world.engine(self.process), &session, name, random);
        match found {
            Err(error) if glimpse::is_nothing(&error) => self.skipped(),
            found => self.shown(found, random),
        }
    }

    /// An earlier text, who wrote which line, or what others changed.
    fn look_back(&mut self, random: &mut Random) -> Step {
        let (name, session) = (self.some_name(random), self.session()?);
        match glimpse::looked_back(self.world.engine(self.process), &session, name, random) {
            Err(error) if glimpse::is_nothing(&error) => self.skipped(),
            found => self.shown(found, random),
        }
    }

    /// Some file goes back to an earlier moment.
    fn rewind(&mut self, random: &mut Random) -> Step {
        let Some(name) = self.some_editable(random) else { return self.skipped() };
        let session = self.session()?;
        let engine = self.world.engine(self.process);
        let path = Some(name.to_owned());
        let known: HistoryListed = engine.ask(Some(&session), Operation::History(History { path, limit: None }))?;
        let Some(entry) = random.pick(&known.entries) else { return self.skipped() };
        let rewind = Rewind { to: entry.id.to_string(), paths: vec![name.to_owned()], ..Rewind::default() };
        self.note(format!("the agent asks for {rewind:?}"));
        let before = self.world.truth(name);
        let engine = self.world.engine(self.process);
        match engine.ask::<Rewound>(Some(&session), Operation::Rewind(rewind)) {
            Ok(Rewound { written: Some(written), .. }) => {
                // A link leads to a file that is rewound, and told of, under its own name.
                let paths: Vec<&str> = written.files.iter().map(|file| file.path.as_str()).collect();
                self.done(&paths, &written, random)
            }
            Ok(Rewound { written: None, .. }) if self.world.truth(name) == before => Ok(()),
            Err(Error::History(HistoryError::Unresolved { .. }) | Error::Precondition { .. } | Error::Snapshot(_))
                if self.world.truth(name) == before =>
            {
                self.skipped()
            }
            Ok(_) => violation(format!("{name} is another, and nothing was written")),
            Err(error) => Err(error.into()),
        }
    }

    /// A conflict ends.
    pub(super) fn resolve(&mut self, random: &mut Random) -> Step {
        let session = self.session()?;
        let engine = self.world.engine(self.process);
        let open: Vec<OpenedConflict> = engine.ask(Some(&session), Operation::ListConflicts { all: false })?;
        let Some(conflict) = random.pick(&open) else { return self.skipped() };
        let (path, id) = (conflict.conflict.path.clone(), conflict.id.to_string());
        let with = match random.below(3) {
            0 => Resolution::Ours,
            1 => Resolution::Theirs,
            _ => Resolution::Text(some_text(self.world.shape(), random)),
        };
        self.note(format!("conflict {id} of {path} ends with {}", with.as_str()));
        let before = self.world.truth(&path);
        let engine = self.world.engine(self.process);
        match engine.ask::<Written>(Some(&session), Operation::Resolve { id, with }) {
            Ok(written) => self.done(&[path.as_str()], &written, random),
            Err(Error::Erased { .. } | Error::Precondition { .. } | Error::Missing { .. } | Error::Locate(_))
                if self.world.truth(&path) == before =>
            {
                self.skipped()
            }
            Err(error) => Err(error.into()),
        }
    }

    fn skipped(&mut self) -> Step {
        self.idle();
        Ok(())
    }

    /// A file that need not stay in a shape that is known.
    fn some_editable(&self, random: &mut Random) -> Option<&'static str> {
        let fresh = self.world.there(&FRESH);
        let name = random.pick(&fresh).copied().filter(|_| random.below(8) == 0);
        name.or_else(|| Some(self.some_name(random)).filter(|name| !code::is_code(name)))
    }

    fn draft(&self, name: &'static str, places: usize, random: &mut Random) -> Option<Draft> {
        Draft::new(name, &self.world.truth(name)?, places, (self.world.shape(), random))
    }

    /// Makes a call, and compares the files with what it wanted.
    fn perform(&mut self, wanted: &Wanted, random: &mut Random) -> Step {
        let before = wanted.texts(&self.world);
        self.note(format!("the agent asks for {:?}", wanted.operation));
        let known = wanted.paths().next().and_then(|name| self.newest(name)).filter(|_| random.below(2) == 0);
        let mut conversation = HandleConversation::new(Some(self.session()?), known.as_deref());
        let engine = self.world.engine(self.process);
        let done = engine.call(&mut conversation, wanted.operation.clone(), WAIT);
        match done.and_then(Written::try_from) {
            Ok(written) => {
                if let Some(wrong) = wanted.wrong(&self.world, &before, &written.text)? {
                    return violation(format!("{}: {wrong}", written.text));
                }
                let paths: Vec<&str> = wanted.paths().collect();
                self.done(&paths, &written, random)
            }
            Err(error) => self.not_done(wanted, &before, &error, random),
        }
    }

    fn done(&mut self, paths: &[&str], written: &Written, random: &mut Random) -> Step {
        self.note(written.text.clone());
        if random.below(4) > 0 {
            for receipt in &written.receipts {
                self.world.engine(self.process).delivered(receipt)?;
            }
        }
        for path in paths {
            self.world.remember(path);
            self.agent().sight.wrote(path);
        }
        Ok(())
    }

    fn not_done(&mut self, wanted: &Wanted, before: &[Option<String>], error: &Error, random: &mut Random) -> Step {
        let root = self.world.path().display().to_string();
        let asked = wanted.paths().next().unwrap_or_default();
        let words = Surface::Mcp(ToolTerms { root: &root, asked, start_line: false }).error(error);
        self.note(format!("refused: {words}"));
        let found = wanted.refused(&self.world, before, error, &words)?;
        self.shown(Ok(found), random)
    }
}

fn some_fresh(random: &mut Random) -> &'static str {
    random.pick(&FRESH).copied().unwrap_or(FRESH[0])
}
