//! What each operation does: to the files, to what agents see, and to the product.

use readproof_engine::{
    Collection, HandleConversation, Refreshed,
    operation::{Collect, Freshness, Needed, Operation, Refresh, Retention},
};
use readproof_reader::mcp::{Agent, Asks};

use super::{Host, Kind, Run, ask::Question, code};
use crate::{
    ask::{Ask, WAIT},
    op::{Op, Random},
    run::{Step, violation},
    world::Harm,
};

/// The most agents in one run.
const AGENTS: usize = 4;

impl Run {
    pub(super) fn step(&mut self, op: &Op<Kind>) -> Step {
        let random = &mut Random::new(op.seed);
        self.process = random.below(2);
        match op.kind {
            Kind::Read => {
                let question = self.some_question(Kind::Read, random);
                self.read(&question)?;
            }
            Kind::ReadAgain => self.again(random)?,
            Kind::Walk => self.walk(random)?,
            Kind::Older | Kind::OtherFile | Kind::CutPart | Kind::Guess | Kind::Quoted | Kind::HandedOver => {
                let question = self.some_question(op.kind, random);
                match question.known {
                    Some(_) => self.read(&question)?,
                    None => self.idle(),
                }
            }
            Kind::Symbol => {
                let name = code::FILES[random.below(code::FILES.len())];
                let known = self.handle_of(op.kind, name, random);
                let asks = Asks::Symbol(code::some_name(random));
                let question = self.question(name, asks, known, random);
                self.read(&question)?;
            }
            Kind::ReadFresh => {
                let question = self.some_question(op.kind, random);
                self.read(&Question { freshness: Freshness::Fresh, ..question })?;
            }
            Kind::ReadForProgram => {
                let question = self.some_question(op.kind, random);
                self.ask_for_program(&question, random)?;
            }
            Kind::Search | Kind::Preview | Kind::Outline | Kind::List | Kind::View | Kind::Told | Kind::Shell => {
                self.look(op.kind, random)?
            }
            Kind::Several => self.several(random)?,
            Kind::Write | Kind::Edit => self.write(op.kind, random)?,
            Kind::FailedEdit | Kind::Pieces | Kind::Loose | Kind::Stale => self.edits(op.kind, random)?,
            Kind::Patch | Kind::Rename | Kind::Versions | Kind::LookBack | Kind::Rewind | Kind::Resolve => {
                self.files(op.kind, random)?;
            }
            Kind::Batch => self.batch(random)?,
            Kind::Between => self.between(random)?,
            Kind::Race => {
                let question = self.some_question(op.kind, random);
                let came = self.ask_in_a_race(&question, random)?;
                self.agent().sight.see(came.as_slice());
            }
            Kind::Aborted => {
                let question = self.some_question(op.kind, random);
                self.give_up(&question, random)?;
            }
            Kind::Lost => {
                let question = self.some_question(op.kind, random);
                self.ask(&question)?;
                self.note("that answer never comes".to_owned());
            }
            Kind::Outside => {
                let name = self.some_name(random);
                self.change(name, random)?;
                self.note(format!("someone changes {name}"));
            }
            Kind::Revert => self.reverted(random)?,
            Kind::Policy => self.policy(random)?,
            Kind::Refresh => self.refresh(random)?,
            Kind::Compact => self.compact(random),
            Kind::Fork => self.fork(),
            Kind::OtherAgent => self.other_agent(random),
            Kind::Restart => {
                self.note("restart".to_owned());
                self.world.restart(self.process)?;
            }
            Kind::DropObject => self.harm(Harm::Remove, random)?,
            Kind::AlterObject => self.harm(Harm::Alter, random)?,
            Kind::Gc => self.gc(random)?,
        }
        Ok(())
    }

    /// Two calls in one conversation, of which one is answered between two stages of the other.
    fn between(&mut self, random: &mut Random) -> Step {
        let question = self.some_question(Kind::Between, random);
        let (asks, known) = (self.some_asks(question.name, random), self.newest(question.name));
        let other = self.question(question.name, asks, known.filter(|_| random.below(2) == 0), random);
        let both = self.ask_both(&question, &other, random)?;
        self.agent().sight.see(&both);
        Ok(())
    }

    fn reverted(&mut self, random: &mut Random) -> Step {
        let name = self.some_name(random);
        self.world.revert(name, random)?;
        self.note(format!("{name} goes back to an earlier text"));
        Ok(())
    }

    /// A person changes the rules; or a file that is read through both processes is denied for a while.
    fn policy(&mut self, random: &mut Random) -> Step {
        let name = self.some_name(random);
        if random.below(2) == 0 {
            let said = self.world.watch.change(name, random)?;
            self.note(said);
            return self.hide_a_line(name, random);
        }
        let whole = |run: &Self, random: &mut Random| {
            run.question(name, Asks::Lines { offset: None, limit: None }, run.newest(name), random)
        };
        if random.below(2) == 0 {
            let question = whole(self, random);
            self.read(&question)?;
        }
        let said = self.world.watch.deny(name, random)?;
        self.note(said);
        for _ in 0..2 {
            self.process = 1 - self.process;
            let question = self.question_of(Kind::Policy, name, random);
            self.read(&question)?;
        }
        if random.below(3) == 0 {
            self.change(name, random)?;
            self.note(format!("someone changes {name}"));
        }
        self.hide_a_line(name, random)?;
        let said = self.world.watch.take_back(random)?;
        self.note(said);
        let question = whole(self, random);
        self.read(&question)
    }

    /// Sometimes the file gets a line that nobody was shown.
    fn hide_a_line(&mut self, name: &'static str, random: &mut Random) -> Step {
        if random.below(3) == 0 && name != ".env" && !code::is_code(name) {
            self.note(format!("{name} gets one more line"));
            self.world.hide_a_line(name, random)?;
        }
        Ok(())
    }

    /// Changes a file from outside, in a way that suits it.
    pub(super) fn change(&mut self, name: &str, random: &mut Random) -> Step {
        match self.world.truth(name).filter(|_| code::is_code(name)) {
            Some(text) => self.world.put(name, &code::changed(&text, random))?,
            None => self.world.change(name, random)?,
        }
        Ok(())
    }

    fn some_question(&self, kind: Kind, random: &mut Random) -> Question {
        let name = self.some_name(random);
        self.question_of(kind, name, random)
    }

    fn question_of(&self, kind: Kind, name: &'static str, random: &mut Random) -> Question {
        let (asks, known) = (self.some_asks(name, random), self.handle_of(kind, name, random));
        self.question(name, asks, known, random)
    }

    /// Makes a call; the agent sees the answer.
    pub(super) fn read(&mut self, question: &Question) -> Step {
        let came = self.ask(question)?;
        self.agent().sight.see(came.as_slice());
        Ok(())
    }

    /// All of the file just read, or the same lines.
    fn again(&mut self, random: &mut Random) -> Step {
        let Some((name, asks)) = self.last.clone() else {
            self.idle();
            return Ok(());
        };
        let whole = Asks::Lines { offset: None, limit: None };
        let asks = if random.below(2) == 0 { whole } else { asks };
        let known = self.handle_of(Kind::ReadAgain, name, random);
        let question = self.question(name, asks, known, random);
        self.read(&question)
    }

    /// Reads a file whole and in parts, with changes and reverts between.
    fn walk(&mut self, random: &mut Random) -> Step {
        let name = self.some_name(random);
        for _ in 0..3 + random.below(4) {
            match random.below(6) {
                0 | 1 => {
                    self.change(name, random)?;
                    self.note(format!("someone changes {name}"));
                }
                2 => {
                    self.world.revert(name, random)?;
                    self.note(format!("{name} goes back to an earlier text"));
                }
                3 => {
                    let question = self.question_of(Kind::Walk, name, random);
                    self.read(&question)?;
                }
                _ => {
                    let (asks, known) = (Asks::Lines { offset: None, limit: None }, self.newest(name));
                    self.read(&Question {
                        name,
                        asks,
                        most: None,
                        known,
                        freshness: Freshness::Known,
                        anywhere: false,
                    })?;
                }
            }
        }
        Ok(())
    }

    /// Several calls in one message, which do not see each other's answers; sometimes a file changes between them.
    fn batch(&mut self, random: &mut Random) -> Step {
        let first = self.some_question(Kind::Batch, random);
        let mut questions = vec![first.clone()];
        for _ in 0..1 + random.below(3) {
            let name = if random.below(3) > 0 { first.name } else { self.some_name(random) };
            questions.push(self.question_of(Kind::Batch, name, random));
        }
        let mut came = Vec::new();
        for question in &questions {
            self.process = random.below(2);
            came.extend(self.ask(question)?);
            if random.below(4) == 0 {
                self.change(question.name, random)?;
                self.note(format!("someone changes {}", question.name));
            }
        }
        // Some results may never arrive.
        came.retain(|_| random.below(8) > 0);
        self.agent().sight.see(&came);
        Ok(())
    }

    /// Several files in one call: answered one after the other by one process, and all of them arrive or none.
    fn several(&mut self, random: &mut Random) -> Step {
        let first = self.some_question(Kind::Several, random);
        let mut came = Vec::new();
        for at in 0..2 + random.below(3) {
            let name = if random.below(2) == 0 { first.name } else { self.some_name(random) };
            let question = if at == 0 { first.clone() } else { self.question_of(Kind::Several, name, random) };
            came.extend(self.ask(&question)?);
            if random.below(6) == 0 {
                self.change(question.name, random)?;
                self.note(format!("someone changes {}", question.name));
            }
        }
        if random.below(8) > 0 {
            self.agent().sight.see(&came);
        }
        Ok(())
    }

    /// The next read of these lines is plain, under every name of the file.
    fn refresh(&mut self, random: &mut Random) -> Step {
        let name = self.some_name(random);
        let Some(truth) = self.world.truth(name) else {
            self.idle();
            return Ok(());
        };
        let total = truth.lines().count() as u64;
        let lines = (random.below(2) == 0 && total > 0).then(|| {
            let first = 1 + random.bits() % total;
            (first, first + random.bits() % (total + 1 - first))
        });
        let (offset, limit) = (lines.map(|(first, _)| first), lines.map(|(first, last)| last + 1 - first));
        let refresh = Operation::Refresh(Refresh { path: name.to_owned(), offset, limit });
        let mut conversation = HandleConversation::new(Some(self.session()?), None);
        let done: Refreshed = self.world.engine(self.process).call(&mut conversation, refresh, WAIT)?.try_into()?;
        if done.entry.is_none() {
            return violation(format!("a refresh of {name} was not recorded"));
        }
        let paths = self.world.names_of(name, &self.names);
        self.note(format!("fresh text is asked for: {paths:?} {lines:?}"));
        self.agent().sight.refresh(paths.into_iter().map(str::to_owned).collect(), lines);
        Ok(())
    }

    /// A summary replaces everything; it may quote trailers, and so handles.
    fn compact(&mut self, random: &mut Random) {
        let tells = self.host == Host::TellsWindows;
        let agent = self.agent();
        let in_sight = agent.sight.handles().map(|(path, handle)| (path.to_owned(), handle.to_owned()));
        let quoted: Vec<(String, String)> = in_sight.filter(|_| random.below(4) > 0).collect();
        agent.quoted.extend(quoted);
        agent.sight.compact();
        agent.window += usize::from(tells);
        let what = format!("compaction; the summary quotes {:?}", agent.quoted);
        self.note(what);
    }

    fn fork(&mut self) {
        if self.agents.len() >= AGENTS {
            return self.idle();
        }
        let sight = self.agent().sight.clone();
        self.join(sight);
        self.note(format!("agent {} with the same history", self.current));
    }

    fn other_agent(&mut self, random: &mut Random) {
        if self.agents.len() < 2 || (self.agents.len() < AGENTS && random.below(4) == 0) {
            self.join(Agent::default());
        }
        self.current = random.below(self.agents.len());
        self.note(format!("now agent {}", self.current));
    }

    fn harm(&mut self, harm: Harm, random: &mut Random) -> Step {
        if !self.world.harm_object(harm, random)? {
            self.idle();
        }
        self.note(format!("an object is harmed: {harm:?}"));
        Ok(())
    }

    fn gc(&mut self, random: &mut Random) -> Step {
        let needed = if random.below(2) == 0 { Needed::Keep } else { Needed::Remove };
        let older_than_ms = (random.below(2) == 0).then_some(0);
        let history = Retention { pack_after_ms: Some(0), ..Retention::default() };
        let rules = Collect { older_than_ms, max_bytes: Some(500), needed, history, ..Collect::default() };
        let Collection { done, .. } = self.world.engine(self.process).ask(None, Operation::Collect(rules))?;
        let Some(done) = done else { return violation("nothing was cleared away".to_owned()) };
        self.note(format!("{} texts are cleared away", done.objects));
        Ok(())
    }
}
