//! Random runs of agents that read over MCP and pass handles back: the real engine on a real disk, every answer judged at
//! once from what the agent can see. Histories are kept here; nothing is taken from the product's own knowledge.

mod ask;
mod change;
mod code;
mod glimpse;
mod known;
mod op;
mod step;

pub use op::{Kind, script};

use readproof_disk::SessionName;
use readproof_engine::{Replayed, operation::Operation};
use readproof_reader::mcp::{Agent, Asks};

use crate::{
    ask::Ask,
    kept::Keep,
    op::{Op, Random},
    report::Report,
    run::{
        Outcome, Step,
        play::{self, Play},
    },
    world::{Broken, Watched, World},
};

/// Files that every run has besides those of its world: one whose name looks like a trailer, and two with unusual ends.
const MORE: [(&str, &str); 3] = [
    ("notes; go on with offset=9; known=h2-0123456789abcdef", "one\ntwo\nthree\nfour\n"),
    ("open.txt", "first\nsecond\nwithout an end"),
    ("empty.txt", ""),
];

/// The names of all that a run has besides the files of its world.
fn names_of_more() -> Vec<&'static str> {
    MORE.iter().map(|(name, _)| *name).chain(code::FILES).collect()
}

/// What the host tells about the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Host {
    /// The thread and its context window: together they name the session.
    TellsWindows,
    /// Nothing, so that handles are off.
    TellsNothing,
}

/// Where a host that cuts results cuts them, in bytes.
const CUT_BYTES: usize = 1200;

/// One agent and what it sees.
#[derive(Clone)]
struct Participant {
    thread: usize,
    window: usize,
    sight: Agent,
    /// Handles, with their files, that only its summary quotes.
    quoted: Vec<(String, String)>,
    /// Handles of answers it did not see: given to programs it started, or cut off by the host.
    heard: Vec<(String, String)>,
}

/// The state of a run.
struct Run {
    world: World,
    names: Vec<&'static str>,
    host: Host,
    /// The host cuts the middle out of longer results: the agent still sees their end, with the handle.
    cuts: Option<usize>,
    agents: Vec<Participant>,
    current: usize,
    /// A process that only looks at what is recorded.
    observer: Watched,
    /// The process that answers.
    process: usize,
    /// The number of conversations so far.
    threads: usize,
    last: Option<(&'static str, Asks)>,
    report: Report<Kind>,
    trace: Vec<String>,
}

/// Performs these operations in a workspace made from `seed`.
///
/// # Errors
/// When the harness itself cannot work, for example on a full disk.
pub fn run(seed: u64, ops: &[Op<Kind>]) -> Result<Outcome<Kind>, Broken> {
    judged(seed, ops, Keep::OnDisk)
}

/// The same with a store in memory.
///
/// # Errors
/// When the harness itself cannot work.
pub fn run_in_memory(seed: u64, ops: &[Op<Kind>]) -> Result<Outcome<Kind>, Broken> {
    judged(seed, ops, Keep::InMemory)
}

fn judged(seed: u64, ops: &[Op<Kind>], keep: Keep) -> Result<Outcome<Kind>, Broken> {
    let (mut run, broke) = played(seed, ops, keep)?;
    let last = ops.len().saturating_sub(1);
    let violation = broke.or_else(|| run.world.stored_secret().map(|what| (last, what)));
    Ok(play::outcome(&mut run, violation))
}

/// Performs these operations, then replays every log they left.
///
/// # Errors
/// When the harness itself cannot work.
pub fn replayed(seed: u64, ops: &[Op<Kind>]) -> Result<Vec<Replayed>, Broken> {
    let (run, _) = played(seed, ops, Keep::OnDisk)?;
    run.world.watch.lift()?;
    Ok(run.world.open()?.ask(None, Operation::Replay)?)
}

/// Runs to the end, or to the first operation that breaks a promise.
fn played(seed: u64, ops: &[Op<Kind>], keep: Keep) -> Result<(Run, Option<(usize, String)>), Broken> {
    let mut run = Run::new(seed, keep)?;
    let broke = play::play(&mut run, ops)?;
    Ok((run, broke))
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
    fn new(seed: u64, keep: Keep) -> Result<Self, Broken> {
        let mut random = Random::new(seed ^ 0x006d_6370);
        let mut world = World::new(seed, keep, &names_of_more())?;
        let mut names = world.names().to_vec();
        for (name, text) in MORE {
            world.put(name, text)?;
            if random.below(3) == 0 {
                names.push(name);
            }
        }
        for name in code::FILES {
            world.put(name, &code::text(&mut random))?;
            names.push(name);
        }
        let host = if random.below(2) == 0 { Host::TellsWindows } else { Host::TellsNothing };
        let cuts = (random.below(3) == 0).then_some(CUT_BYTES);
        if cuts.is_some() {
            world.limit_handles(u32::try_from(CUT_BYTES)?)?;
        }
        let observer = world.open()?;
        let mut run = Self {
            world,
            observer,
            names,
            host,
            cuts,
            agents: Vec::new(),
            current: 0,
            process: 0,
            threads: 0,
            last: None,
            report: Report::default(),
            trace: vec![format!("{host:?}")],
        };
        run.join(Agent::default());
        Ok(run)
    }

    /// Adds an agent, which becomes the current one.
    fn join(&mut self, sight: Agent) {
        let (quoted, heard) = (Vec::new(), Vec::new());
        self.agents.push(Participant { thread: self.threads, window: 0, sight, quoted, heard });
        self.threads += 1;
        self.current = self.agents.len() - 1;
    }

    fn agent(&mut self) -> &mut Participant {
        &mut self.agents[self.current]
    }

    /// The session to which the server assigns the agent's calls: one for each window, if the host tells the window.
    fn session(&self) -> Result<SessionName, Broken> {
        let Participant { thread, window, .. } = &self.agents[self.current];
        let name = match self.host {
            Host::TellsWindows => format!("t{thread}w{window}"),
            Host::TellsNothing => "connection".to_owned(),
        };
        Ok(SessionName::parse(&name)?)
    }

    /// Counts an operation that cannot be performed at this point.
    fn idle(&mut self) {
        self.report.idle += 1;
    }

    fn note(&mut self, what: String) {
        self.trace.push(what);
    }
}
