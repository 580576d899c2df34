//! Starts workers as separate processes, kills them or lets them finish, and checks what they leave. The program that is
//! started must be the testkit's `load`.

use readproof_disk::SessionName;
use readproof_engine::{
    Collection,
    operation::{Collect, Needed, Operation, Retention},
};
use readproof_words::stores::store;
use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    str::FromStr,
    sync::atomic::{AtomicBool, Ordering},
    thread::{self, JoinHandle},
    time::Duration,
};

use crate::{
    ask::Ask,
    load::{
        Ack, InOrder, Worker, change_from_outside, check, open, prepare,
        windows::{Windows, every_window, read_anew, windows},
    },
    op::Random,
    world::Broken,
};

/// After about this many kills a new workspace is used.
const KILLS_PER_WORKSPACE: usize = 8;

/// The result of a run with kills.
#[derive(Clone, Debug, Default)]
pub struct Killed {
    /// Processes that were killed while they worked.
    pub kills: u64,
    /// How many of these had nothing acknowledged yet.
    pub before_anything: u64,
    /// Workspaces used.
    pub workspaces: u64,
    /// The result of killing editors inside a write.
    pub windows: Windows,
    /// What was found correct at the end of each workspace, added up.
    pub found: InOrder,
}

/// A running worker, and what it reports.
pub(crate) struct Running<T> {
    session: SessionName,
    child: Child,
    heard: JoinHandle<Result<Vec<T>, String>>,
}

fn start(program: &Path, worker: &Worker) -> Result<Running<Ack>, Broken> {
    let mut command = Command::new(program);
    command.arg("worker").arg(&worker.root).arg(worker.session.as_str());
    command.args([worker.seed.to_string(), worker.reads.to_string()]);
    Running::start(command, &worker.session)
}

impl<T: FromStr<Err = Broken> + Send + 'static> Running<T> {
    pub(crate) fn start(mut command: Command, session: &SessionName) -> Result<Self, Broken> {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let pipe = child.stdout.take().ok_or("no pipe")?;
        let heard = thread::spawn(move || {
            let mut told = Vec::new();
            for line in BufReader::new(pipe).lines() {
                let line = line.map_err(|error| error.to_string())?;
                told.push(line.parse::<T>().map_err(|error| error.to_string())?);
            }
            Ok(told)
        });
        Ok(Self { session: session.clone(), child, heard })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn kill(mut self) -> Result<(SessionName, Vec<T>), Broken> {
        self.child.kill()?;
        let status = self.child.wait()?;
        let session = self.session.clone();
        let heard = self.listen()?;
        // One with an exit code ended before it was killed, although its work never ends.
        if status.code().is_none() {
            Ok(heard)
        } else {
            Err(format!("a worker of {session} ended with {status}").into())
        }
    }

    pub(crate) fn finish(mut self) -> Result<(SessionName, Vec<T>), Broken> {
        let status = self.child.wait()?;
        let session = self.session.clone();
        let heard = self.listen()?;
        if status.success() { Ok(heard) } else { Err(format!("a worker of {session} ended with {status}").into()) }
    }

    fn listen(self) -> Result<(SessionName, Vec<T>), Broken> {
        let heard = self.heard.join().map_err(|_| "the listener panicked")?;
        Ok((self.session, heard?))
    }
}

/// Kills workers with SIGKILL at random moments, two at a time on one session, and checks everything after each pair. Then
/// kills as many editors inside the windows of a write, at least one in each.
///
/// # Errors
/// On the first thing that was lost, altered or refused.
pub fn crash(program: &Path, kills: u64, seed: u64) -> Result<Killed, Broken> {
    let mut random = Random::new(seed);
    let mut done = Killed::default();
    while done.kills < kills {
        let folder = tempfile::tempdir()?;
        let root = folder.path().canonicalize()?;
        prepare(&root, &mut random)?;
        done.workspaces += 1;
        let mut told: BTreeMap<SessionName, Vec<Ack>> = BTreeMap::new();
        let mut last = InOrder::default();
        while done.kills < kills {
            for (session, acks) in pair_killed(program, &root, &mut random)? {
                done.kills += 1;
                done.before_anything += u64::from(acks.is_empty());
                told.entry(session).or_default().extend(acks);
            }
            last = check(&root, &told).map_err(|error| format!("after kill {}: {error}", done.kills))?;
            if last.unverifiable > 0 {
                return Err(format!("after kill {}: an answer's text was not stored", done.kills).into());
            }
            if random.below(KILLS_PER_WORKSPACE / 2) == 0 {
                break;
            }
        }
        done.found.add(&last);
    }
    let folder = tempfile::tempdir()?;
    let (root, every) = (folder.path().canonicalize()?, every_window());
    let rounds = kills.max(every.len() as u64);
    let mut opens = |name: &str| read_anew(&root, name);
    done.windows = windows((program, &root), &every, 2, random.bits(), &mut opens, |round| round < rounds)?;
    done.kills += rounds;
    check(&root, &BTreeMap::new())?;
    Ok(done)
}

fn pair_killed(program: &Path, root: &Path, random: &mut Random) -> Result<Vec<(SessionName, Vec<Ack>)>, Broken> {
    let mut running = Vec::new();
    for _ in 0..2 {
        let (root, session) = (root.to_path_buf(), SessionName::parse("s")?);
        running.push(start(program, &Worker { root, session, seed: random.bits(), reads: u64::MAX })?);
    }
    let mut killed = Vec::new();
    for worker in running {
        // Some while the store is created, most while they work.
        let most = if random.below(4) == 0 { 4_000 } else { 60_000 };
        thread::sleep(Duration::from_micros(random.below(most) as u64));
        killed.push(worker.kill()?);
    }
    Ok(killed)
}

/// Whether texts are removed while workers read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beside {
    /// Only edits go on.
    Edits,
    /// Texts are removed too, whether needed or not.
    Removal,
}

/// Lets this many processes do this many reads each on one store, half of them in one session, while another program edits
/// and editors in the same folder are killed inside the windows of a write, in each at least once.
///
/// # Errors
/// On the first thing that was lost, altered or refused.
pub fn processes(
    program: &Path,
    count: u64,
    reads: u64,
    seed: u64,
    beside: Beside,
) -> Result<(InOrder, Windows), Broken> {
    let folder = tempfile::tempdir()?;
    let root = folder.path().canonicalize()?;
    let mut random = Random::new(seed);
    prepare(&root, &mut random)?;
    let running: Vec<Running<Ack>> = (0..count)
        .map(|number| {
            let session = if number % 2 == 0 { format!("own-{number}") } else { "shared".to_owned() };
            let (root, session) = (root.clone(), SessionName::parse(&session)?);
            start(program, &Worker { root, session, seed: random.bits(), reads })
        })
        .collect::<Result<_, Broken>>()?;
    let (over, every, windows_seed) = (AtomicBool::new(false), every_window(), random.bits());
    let (told, killed) = thread::scope(|scope| {
        let others = scope.spawn(|| disturb(&root, &mut random, beside, &over));
        let windows = scope.spawn(|| {
            let goes_on = |round| round < every.len() as u64 || !over.load(Ordering::Relaxed);
            let mut opens = |name: &str| read_anew(&root, name);
            let done = windows((program, &root), &every, 1, windows_seed, &mut opens, goes_on);
            done.map_err(|error| error.to_string())
        });
        let mut told: BTreeMap<SessionName, Vec<Ack>> = BTreeMap::new();
        let mut finished = Ok(());
        for worker in running {
            // Wait for all, even if one failed.
            match worker.finish() {
                Ok((session, acks)) => told.entry(session).or_default().extend(acks),
                Err(error) => finished = finished.and(Err(error)),
            }
        }
        over.store(true, Ordering::Relaxed);
        let killed = windows.join().map_err(|_| "who kills panicked")?;
        others.join().map_err(|_| "the other hand panicked")??;
        finished.and_then(|()| Ok((told, killed?)))
    })?;
    let found = check(&root, &told)?;
    if beside == Beside::Edits && found.unverifiable > 0 {
        return Err(format!("the texts of {} answers were not stored", found.unverifiable).into());
    }
    Ok((found, killed))
}

/// Edits, and removes if requested, until the workers are done.
fn disturb(root: &Path, random: &mut Random, beside: Beside, over: &AtomicBool) -> Result<(), String> {
    let engine = open(root).map_err(|error| error.to_string())?;
    let history = Retention { pack_after_ms: Some(0), ..Retention::default() };
    let rules = Collect { max_bytes: Some(20_000), needed: Needed::Remove, history, ..Collect::default() };
    while !over.load(Ordering::Relaxed) {
        change_from_outside(root, random).map_err(|error| error.to_string())?;
        if beside == Beside::Removal {
            let collected = engine.ask::<Collection>(None, Operation::Collect(rules.clone()));
            let done = collected.map_err(|error| error.to_string())?.done.ok_or("nothing was done")?;
            if let Some(failure) = done.failed.first() {
                return Err(store(failure));
            }
        }
        thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}

impl InOrder {
    pub(crate) fn add(&mut self, other: &Self) {
        self.acknowledged += other.acknowledged;
        self.objects += other.objects;
        self.replayed += other.replayed;
        self.written += other.written;
        self.unfinished += other.unfinished;
        self.unverifiable += other.unverifiable;
        self.torn += other.torn;
        self.retired += other.retired;
        for (mode, count) in &other.modes {
            *self.modes.entry(mode.clone()).or_default() += count;
        }
    }
}
