//! Looking back and going back: texts of earlier moments, who wrote which line, what others changed, and rewinds. What the files
//! were at a mark is written down here, so that what comes of a rewind can be compared with it.

use readproof_engine::{
    ContextFound, Error, LoggedSession, Rewound, VersionId,
    operation::{Leaf, Operation, OutsideChanges, Rewind},
};
use readproof_reader::{Change, Seen, What};

use super::{Call, Run, Step, conversation::Turn, violation};
use crate::{
    ask::{Ask, WAIT},
    changes::FRESH,
    glimpse,
    op::Random,
    world::rewound::{self, Around, Texts},
};

/// A moment to go back to.
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    id: VersionId,
    /// The conversation, and its leaf then.
    conversation: usize,
    leaf: Option<usize>,
    texts: Texts,
}

impl Run {
    /// An earlier text, who wrote which line, or what others changed.
    pub(crate) fn look_back(&mut self, random: &mut Random) -> Step {
        let (name, session) = (self.some_name(random), self.name());
        let newest = self.newest_entry();
        match glimpse::looked_back(self.engine(), &session, name, random) {
            Ok(found) => {
                self.seen_beside(newest, found);
                Ok(())
            }
            Err(error) if glimpse::is_nothing(&error) => self.idle(),
            Err(error) => Err(error.into()),
        }
    }

    /// Told what others changed of what it was shown: by answers that count once they arrive, or by lines shown beside reads. Then it
    /// asks where it is.
    pub(crate) fn is_told(&mut self, random: &mut Random) -> Step {
        let session = self.name();
        glimpse::look_around(self.engine())?;
        if self.conversation().nodes.is_empty() {
            return self.idle();
        }
        let before = self.newest_entry();
        let mut conversation = LoggedSession::new(session.clone());
        let told = self.engine().call(&mut conversation, Operation::Tell, WAIT)?.into_told()?;
        let (mut ways, mut beside, mut newest) = (Vec::new(), glimpse::Shown::new(), before);
        for news in told {
            self.note(format!("told of {} by {:?}, removed: {}", news.path, news.version, news.removed));
            let Some(answer) = news.answer else {
                beside.extend(glimpse::sides(&news.path, &news.diff));
                continue;
            };
            let names = self.world.names().iter().chain(&FRESH).copied();
            let Some(name) = names.into_iter().find(|name| *name == news.path) else {
                return violation(format!("told of {}, which nobody knows", news.path));
            };
            let (call, truth) = (Call { name, offset: None, limit: None }, self.world.truth(name));
            newest = answer.given.as_ref().map(|receipt| receipt.entry).or(newest);
            ways.extend(self.judge(&call, &[truth], Ok(answer))?);
        }
        let recorded = self.newest_entry() != newest;
        if beside.iter().any(|(_, lines)| !lines.is_empty()) {
            self.shown_beside(beside, recorded);
        }
        // All of it comes in one result, or none.
        if random.below(6) > 0 {
            ways.into_iter().try_for_each(|way| self.deliver(way))?;
        }
        let context: Box<ContextFound> = self.engine().ask(Some(&session), Operation::Context)?;
        glimpse::context_is_true(&self.world, &context)
    }

    /// The model sees another text by a shell, someone looks at the files, and the file goes back, or on.
    pub(crate) fn by_shell(&mut self, random: &mut Random) -> Step {
        let name = self.some_name(random);
        let whole = Call { name, offset: None, limit: None };
        let Some(before) = self.world.truth(name).filter(|_| name != ".env") else { return self.idle() };
        if random.below(2) == 0 {
            self.read(&whole, random)?;
        }
        let since = glimpse::newest_record(self.engine(), name);
        self.world.change(name, random)?;
        let Some(there) = self.world.truth(name).filter(|there| *there != before) else { return self.idle() };
        let is_met = glimpse::is_met(self.engine(), name, &there, since);
        let lines = glimpse::lines(&there, 1);
        if self.conversation().nodes.is_empty() || lines.is_empty() || !is_met {
            return self.idle();
        }
        self.note(format!("a shell shows {name}: {there:?}"));
        let at = self.conversation().push(Turn::Saw(Seen::Lines { path: name.to_owned(), lines }), None);
        self.conversation().nodes[at].recorded = false;
        if random.below(3) == 0 {
            self.world.change(name, random)?;
        }
        if self.world.truth(name).is_none_or(|now| now == there) {
            self.world.put(name, &before)?;
        }
        if random.below(2) == 0 {
            glimpse::look_around(self.engine())?;
        }
        // Whatever it is now, what was held before is not relied on.
        self.read(&whole, random)
    }

    /// Marks the present, or goes back to a mark.
    pub(crate) fn rewind(&mut self, random: &mut Random) -> Step {
        let session = self.name();
        if self.marks.is_empty() || random.below(3) == 0 {
            let id: VersionId = self.engine().ask(Some(&session), Operation::Checkpoint { name: None })?;
            let (conversation, leaf) = (self.current, self.conversation().leaf);
            let texts = self.all_texts();
            self.note(format!("checkpoint {id}"));
            self.marks.push(Mark { id, conversation, leaf, texts });
            return Ok(());
        }
        let Some(mark) = random.pick(&self.marks).cloned() else { return self.idle() };
        let is_place = mark.leaf.is_some_and(|leaf| self.places().contains(&leaf));
        let goes_back = mark.conversation == self.current && is_place && random.below(2) == 0;
        let paths = if random.below(3) == 0 { vec![self.some_name(random).to_owned()] } else { Vec::new() };
        let asked = Rewind {
            to: mark.id.to_string(),
            paths,
            outside: if random.below(4) == 0 { OutsideChanges::Keep } else { OutsideChanges::Undo },
            leaf: if goes_back { Leaf::GoesBack } else { Leaf::Stays },
            everything: random.below(4) == 0,
            assume: false,
            dry_run: random.below(8) == 0,
        };
        self.note(format!("back to {asked:?}"));
        let before = self.all_texts();
        let done: Rewound = match self.engine().ask(Some(&session), Operation::Rewind(asked.clone())) {
            Ok(done) => done,
            Err(error) => return self.not_rewound(&before, error),
        };
        let around = Around { then: &mark.texts, before: &before, now: &self.all_texts() };
        if let Some(wrong) = around.wrong(&done, asked.dry_run, |name| self.world.is_link(name)) {
            return violation(wrong);
        }
        if goes_back && !asked.dry_run {
            for file in done.written.iter().flat_map(|written| &written.files) {
                self.world.remember(&file.path);
            }
            self.conversation().go(mark.leaf);
            return Ok(());
        }
        let Some(written) = done.written else { return Ok(()) };
        let what = |removed: bool| if removed { What::Delete } else { What::Restored };
        let files: Vec<Change> =
            written.files.iter().map(|file| Change { path: file.path.clone(), what: what(file.removed) }).collect();
        let paths: Vec<String> = files.iter().map(|file| file.path.clone()).collect();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        self.answered(&paths, files, written, random)
    }

    fn all_texts(&self) -> Texts {
        let names = self.world.names().iter().chain(&FRESH).copied();
        names.map(|name| (name, self.world.truth(name))).collect()
    }

    /// A rewind that is refused changes nothing.
    fn not_rewound(&mut self, before: &Texts, error: Error) -> Step {
        if self.all_texts() != *before {
            return violation(format!("files changed by a rewind that was refused: {error:?}"));
        }
        if rewound::may_be_refused(&error) {
            return self.idle();
        }
        Err(error.into())
    }
}
