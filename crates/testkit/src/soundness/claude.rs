//! Random runs of Claude Code's conversations: the files that the program writes, its own tools, and the real product asked as its
//! hook is asked. Every answer is judged at once by the next request, which is what the model sees.

mod op;
mod product;
pub mod recorded;
pub mod replay;
mod session;
pub mod shape;
mod step;
mod tools;
mod turn;
mod world;

pub use op::{Kind, script};
pub use readproof_traces::requests as request;

use readproof_engine::HostSessions;
use readproof_reader::claude::Sight;

use self::{session::Session, world::World};
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
    calls: usize,
    /// The conversations that our process follows.
    hook: HostSessions,
    /// What commands showed of files.
    sights: Vec<(String, Sight)>,
    /// How the model writes names, if not as they are.
    spelling: Option<usize>,
    /// Another hook alters what is read.
    other_hook: bool,
    /// What the plugin tells the model after a compaction.
    told: Option<String>,
    /// The files that are attached by a compaction before the next request.
    compacts: Option<Vec<(String, String)>>,
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
    let first = world.session(0)?;
    let mut run = Run {
        world,
        sessions: vec![first],
        current: 0,
        last: None,
        calls: 0,
        hook: HostSessions::default(),
        sights: Vec::new(),
        spelling: None,
        other_hook: false,
        told: product::told_after_compaction(),
        compacts: None,
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
