//! Random runs of pi sessions: the real engine through the entry points of the pi surface, every answer judged at once by
//! what the model of that session can see. The session is kept here as pi keeps it; nothing is taken from the product's own
//! knowledge.

mod history;
mod older;
mod op;
mod session;
mod step;
mod turn;
mod world;

pub use op::{Kind, script};

use readproof_reader::pi::Asks;
use std::sync::Arc;

use self::{history::Mark, session::Session, world::World};
use crate::{
    kept::Keep,
    op::Op,
    report::Report,
    run::{
        Outcome, Step,
        play::{self, Play},
    },
    world::Broken,
};

/// The state of a run.
struct Run {
    world: World,
    sessions: Vec<Session>,
    current: usize,
    /// The file read or changed last.
    last: Option<&'static str>,
    /// The call of the last message that was only a read.
    asked: Option<(&'static str, Asks)>,
    calls: usize,
    /// The files answered about in the current message whose results are not visible yet, and the texts answered.
    batch: Vec<(&'static str, Arc<str>)>,
    /// How many of the last entries are held back at the next read.
    late: usize,
    /// The moments that were noted.
    marks: Vec<Mark>,
    report: Report<Kind>,
    trace: Vec<String>,
}

/// Performs these operations in a workspace made from `seed`.
///
/// # Errors
/// When the harness itself cannot work, for example on a full disk.
pub fn run(seed: u64, ops: &[Op<Kind>]) -> Result<Outcome<Kind>, Broken> {
    played(seed, ops, Keep::OnDisk)
}

/// The same with a store in memory.
///
/// # Errors
/// When the harness itself cannot work.
pub fn run_in_memory(seed: u64, ops: &[Op<Kind>]) -> Result<Outcome<Kind>, Broken> {
    played(seed, ops, Keep::InMemory)
}

fn played(seed: u64, ops: &[Op<Kind>], keep: Keep) -> Result<Outcome<Kind>, Broken> {
    let world = World::new(seed, keep)?;
    let first = Session::new(0, &world.engine, world.place());
    let mut run = Run {
        world,
        sessions: vec![first],
        current: 0,
        last: None,
        asked: None,
        calls: 0,
        batch: Vec::new(),
        late: 0,
        marks: Vec::new(),
        report: Report::default(),
        trace: Vec::new(),
    };
    let violation = play::play(&mut run, ops)?;
    Ok(play::outcome(&mut run, violation))
}

impl Play for Run {
    type Kind = Kind;

    fn perform(&mut self, op: &Op<Kind>) -> Step {
        self.step(op)
    }

    fn wrong(&self) -> Option<String> {
        self.world.watch.wrong()
    }

    fn told(&mut self) -> (&mut Report<Kind>, &mut Vec<String>) {
        (&mut self.report, &mut self.trace)
    }
}

impl Run {
    /// Counts an operation that cannot be performed at this point.
    fn idle(&mut self) -> Step {
        self.report.idle += 1;
        Ok(())
    }

    fn say(&mut self, what: String) {
        self.trace.push(what);
    }

    fn session(&mut self) -> &mut Session {
        &mut self.sessions[self.current]
    }
}
