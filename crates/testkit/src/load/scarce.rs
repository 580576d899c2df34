//! Runs on a disk that fills up and is freed again, and on one that is read-only for a while. The disk is a small private
//! file system; where none may be mounted, a limit on file sizes replaces it.

use readproof_disk::SessionName;
use readproof_engine::{GcRules, Health, Needed, Read};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, fs,
    io::Write,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::Duration,
};

use crate::{
    load::{
        Ack, InOrder, check,
        judged::{Judged, Told, Whose, shared},
        open, prepare,
        processes::Running,
        windows::ours_in,
    },
    op::Random,
    world::Broken,
};

/// A disk that is soon full.
const SMALL: &str = "size=2m,mode=700";

/// One that has room for whatever a run writes.
const ROOMY: &str = "size=1g,mode=700";

/// The most that a process can write into one file where nothing can be mounted, in blocks of 512 bytes: some texts do not
/// fit, and a log is soon full.
const BLOCKS: &str = "9";

/// The disk under the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disk {
    /// A small private file system. Needs a private mount namespace; see [`may_mount`].
    Mounted,
    /// The existing disk, with a limit on what a worker can write.
    Limited,
}

/// The size of a run.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Workspaces, one after the other.
    pub rounds: u64,
    /// Processes at a time.
    pub workers: u64,
    /// Steps of each process that is not killed.
    pub steps: u64,
    /// The seed of all choices.
    pub seed: u64,
}

/// What a run came to.
#[derive(Clone, Debug, Default)]
pub struct Scarce {
    /// Workspaces used.
    pub rounds: u64,
    /// Processes that were killed while they worked.
    pub kills: u64,
    /// Answers that were not recorded: the text with a notice.
    pub plain: u64,
    /// Answers whose text was not stored.
    pub unstored: u64,
    /// Results that could not be confirmed.
    pub unconfirmed: u64,
    /// Writes that were refused or failed, and left the file unchanged.
    pub refused: u64,
    /// Writes that were made, but reported as unrecorded.
    pub unrecorded: u64,
    /// Temporary files that killed processes left.
    pub left: u64,
    /// What was found correct at the end of each workspace, added up.
    pub found: InOrder,
}

impl fmt::Display for Scarce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rounds, kills, plain, unstored, unconfirmed, refused, unrecorded, left, .. } = self;
        writeln!(f, "{rounds} workspaces, {kills} processes killed, which left {left} temporary files")?;
        writeln!(f, "answers: {plain} plain and not remembered, {unstored} whose text was not stored")?;
        writeln!(
            f,
            "{unconfirmed} results not confirmed; writes: {refused} refused, {unrecorded} said to be unrecorded"
        )?;
        write!(f, "{} logs put aside", self.found.retired)
    }
}

/// Whether this process may mount a file system, which needs a private mount namespace (`unshare -rm`).
#[must_use]
pub fn may_mount() -> bool {
    let Ok(folder) = tempfile::tempdir() else { return false };
    let may = mount(&["-t", "tmpfs", "-o", SMALL, "tmpfs"], folder.path()).is_ok();
    unmount(folder.path());
    may
}

fn mount(words: &[&str], at: &Path) -> Result<(), Broken> {
    let output = Command::new("mount").args(words).arg(at).output()?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned().into()) }
}

fn unmount(at: &Path) {
    // What is still mounted disappears with this process's namespace.
    let _ = Command::new("umount").arg("-l").arg(at).output();
}

/// One workspace of a run.
struct Round<'a> {
    program: &'a Path,
    disk: Disk,
    root: PathBuf,
    /// Where the small disk is mounted.
    small: PathBuf,
    random: Random,
    told: BTreeMap<SessionName, Vec<Ack>>,
    killed: BTreeSet<u32>,
    sessions: u64,
    /// Why something was last not recorded.
    why: String,
    done: Scarce,
}

impl<'a> Round<'a> {
    /// Every other round only the store is on the small disk; otherwise the whole workspace is.
    fn new(
        program: &'a Path,
        (disk, size): (Disk, &str),
        folder: &Path,
        seed: u64,
        number: u64,
    ) -> Result<Self, Broken> {
        let root = folder.canonicalize()?;
        let small = if number.is_multiple_of(2) { root.join(".readproof") } else { root.clone() };
        if disk == Disk::Mounted {
            fs::create_dir_all(&small)?;
            mount(&["-t", "tmpfs", "-o", size, "tmpfs"], &small)?;
        }
        let mut random = Random::new(seed);
        prepare(&root, &mut random)?;
        let (told, killed, done) = (BTreeMap::new(), BTreeSet::new(), Scarce { rounds: 1, ..Scarce::default() });
        Ok(Self { program, disk, root, small, random, told, killed, sessions: 0, why: String::new(), done })
    }

    fn next_session(&mut self) -> Result<SessionName, Broken> {
        self.sessions += 1;
        Ok(SessionName::parse(&format!("own-{}", self.sessions))?)
    }

    /// A worker; `blocks` limits what it can write into one file where nothing is mounted.
    fn start(&mut self, session: &SessionName, steps: u64, blocks: Option<&str>) -> Result<Running<Told>, Broken> {
        let mut command = match (self.disk, blocks) {
            (Disk::Limited, Some(blocks)) => {
                let mut command = Command::new("sh");
                command.args(["-c", "trap '' XFSZ; ulimit -f \"$0\"; exec \"$@\"", blocks]).arg(self.program);
                command
            }
            (Disk::Mounted, _) | (Disk::Limited, None) => Command::new(self.program),
        };
        command.arg("judged").arg(&self.root).arg(session.as_str());
        command.args([self.random.bits().to_string(), steps.to_string()]);
        Running::start(command, session)
    }

    fn wait(&mut self, most: usize) {
        thread::sleep(Duration::from_millis(self.random.below(most) as u64));
    }

    fn kill(&mut self, worker: Running<Told>) -> Result<(), Broken> {
        self.killed.insert(worker.pid());
        self.done.kills += 1;
        let (session, told) = worker.kill()?;
        self.hear(&session, told)
    }

    fn finish(&mut self, worker: Running<Told>) -> Result<u64, Broken> {
        let (session, told) = worker.finish()?;
        let acks = told.iter().filter(|told| matches!(told, Told::Ack(..))).count();
        self.hear(&session, told)?;
        Ok(acks as u64)
    }

    fn hear(&mut self, session: &SessionName, told: Vec<Told>) -> Result<(), Broken> {
        let shared = shared()?;
        for told in told {
            match told {
                Told::Ack(whose, ack) => {
                    let session = if whose == Whose::Own { session } else { &shared };
                    self.told.entry(session.clone()).or_default().push(ack);
                }
                Told::Plain(why) => {
                    self.done.plain += 1;
                    self.why = why;
                }
                Told::Unstored => self.done.unstored += 1,
                Told::Unconfirmed => self.done.unconfirmed += 1,
                Told::Refused => self.done.refused += 1,
                Told::Unrecorded => self.done.unrecorded += 1,
            }
        }
        Ok(())
    }

    /// Fills the disk.
    fn fill(&self) -> Result<(), Broken> {
        if self.disk == Disk::Limited {
            return Ok(());
        }
        let mut file = fs::OpenOptions::new().append(true).create(true).open(self.small.join("fill"))?;
        for bytes in [64 * 1024, 4096, 64] {
            let zeros = vec![0; bytes];
            while file.write_all(&zeros).is_ok() {}
        }
        Ok(())
    }

    fn free(&self) {
        // If it is not there, there is nothing to free.
        let _ = fs::remove_file(self.small.join("fill"));
    }

    /// What the doctor says about one thing; it must also say what to do.
    fn doctor(&self, name: &str) -> Result<(), Broken> {
        let checks = open(&self.root)?.doctor(&|_, _| {});
        let found = checks.iter().find(|check| check.name == name && check.health == Health::Problem);
        match found {
            Some(check) if check.advice.is_some() => Ok(()),
            _ => Err(format!("the doctor says nothing about {name}: {checks:?}").into()),
        }
    }

    /// Checks that everything is in order and works again.
    fn end(mut self) -> Result<Scarce, Broken> {
        if self.disk == Disk::Mounted {
            // The logs alone may have filled it.
            mount(&["-o", &format!("remount,{ROOMY}")], &self.small)?;
        }
        let mut engine = open(&self.root)?;
        let rules = GcRules { max_bytes: Some(200_000), needed: Needed::Remove, ..GcRules::default() };
        let plan = engine.gc_plan(&rules)?;
        if let Some(failure) = engine.gc(&plan)?.failed.first() {
            return Err(format!("not removed: {failure}").into());
        }
        let found = check(&self.root, &self.told)?;
        self.done.found.add(&found);
        self.leftovers()?;

        // The first read may find a log that a killed process was about to put aside; after that all is well.
        let session = self.next_session()?;
        let mut plain = 0;
        for _ in 0..2 {
            plain = self.done.plain;
            let worker = self.start(&session, 200, None)?;
            self.finish(worker)?;
        }
        if self.done.plain > plain {
            return Err(format!("there is room again, but {}", self.why).into());
        }
        let mut modes = Vec::new();
        for _ in 0..2 {
            let path = format!("{session}-0.txt");
            let request = Read { path, session: Some(SessionName::parse("after")?), ..Read::default() };
            let answer = engine.read(&request, &|| false)?;
            engine.delivered(answer.receipt.as_ref().ok_or("not recorded")?)?;
            modes.push(answer.mode.as_str());
        }
        if modes != ["full", "unchanged"] {
            return Err(format!("there is room again and the answers are {modes:?}").into());
        }
        let left = ours_in(&self.root)?;
        if !left.is_empty() {
            return Err(format!("left behind after the next open: {left:?}").into());
        }
        check(&self.root, &self.told)?;
        Ok(self.done.clone())
    }

    /// Only killed processes leave temporary files.
    fn leftovers(&mut self) -> Result<(), Broken> {
        for folder in [self.root.clone(), self.root.join(".readproof/tmp")] {
            for entry in fs::read_dir(folder)? {
                let name = entry?.file_name().into_string().unwrap_or_default();
                let Some(stem) = name.strip_suffix(".tmp") else { continue };
                let pid = stem.strip_prefix(".readproof-").unwrap_or(stem).split('-').next().unwrap_or_default();
                if !pid.parse().is_ok_and(|pid| self.killed.contains(&pid)) {
                    return Err(format!("{name} was left behind by a process that was not killed").into());
                }
                self.done.left += 1;
            }
        }
        Ok(())
    }
}

impl Drop for Round<'_> {
    fn drop(&mut self) {
        if self.disk == Disk::Mounted {
            unmount(&self.small);
        }
    }
}

impl Scarce {
    fn add(&mut self, other: &Self) {
        self.rounds += other.rounds;
        self.kills += other.kills;
        self.plain += other.plain;
        self.unstored += other.unstored;
        self.unconfirmed += other.unconfirmed;
        self.refused += other.refused;
        self.unrecorded += other.unrecorded;
        self.left += other.left;
        self.found.add(&other.found);
    }
}

fn rounds(
    program: &Path,
    (disk, size): (Disk, &str),
    plan: &Plan,
    round: fn(&mut Round<'_>, &Plan) -> Result<(), Broken>,
) -> Result<Scarce, Broken> {
    let (mut random, mut done) = (Random::new(plan.seed), Scarce::default());
    for number in 0..plan.rounds {
        let folder = tempfile::tempdir()?;
        let mut here = Round::new(program, (disk, size), folder.path(), random.bits(), number)?;
        let outcome = round(&mut here, plan).and_then(|()| here.end());
        done.add(&outcome.map_err(|error| format!("round {number} on {:?}: {error}", disk))?);
    }
    Ok(done)
}

/// Processes read and edit, and some are killed, while the disk fills up, is freed and fills up again.
///
/// # Errors
/// On the first thing that was lost, altered, needlessly refused or left over.
pub fn full_disk(program: &Path, disk: Disk, plan: &Plan) -> Result<Scarce, Broken> {
    rounds(program, (disk, SMALL), plan, |round, plan| {
        // Sometimes there is no room from the start.
        if round.random.below(4) == 0 {
            round.fill()?;
        }
        let mut running = Vec::new();
        for number in 0..plan.workers {
            let (session, steps) =
                (round.next_session()?, if number.is_multiple_of(2) { plan.steps } else { u64::MAX });
            let worker = round.start(&session, steps, Some(BLOCKS))?;
            running.push((worker, steps));
        }
        for _ in 0..6 {
            round.wait(60);
            match round.random.below(3) {
                0 => round.free(),
                _ => round.fill()?,
            }
            let at = round.random.below(running.len());
            if running[at].1 == u64::MAX {
                let session = round.next_session()?;
                let next = round.start(&session, u64::MAX, Some(BLOCKS))?;
                let (worker, _) = std::mem::replace(&mut running[at], (next, u64::MAX));
                round.kill(worker)?;
            }
        }
        round.fill()?;
        round.wait(60);
        for (worker, steps) in running {
            if steps == u64::MAX {
                round.kill(worker)?;
            } else {
                round.finish(worker)?;
            }
        }
        if round.disk == Disk::Mounted {
            // Including what changed while the last of them ended.
            round.fill()?;
            round.doctor("space")?;
        }
        round.free();
        Ok(())
    })
}

/// The store, or the whole workspace, is read-only for a while.
///
/// # Errors
/// As [`full_disk`].
pub fn read_only(program: &Path, disk: Disk, plan: &Plan) -> Result<Scarce, Broken> {
    rounds(program, (disk, ROOMY), plan, |round, plan| {
        let sessions: Vec<SessionName> =
            (0..plan.workers).map(|_| round.next_session()).collect::<Result<_, Broken>>()?;
        let all = |round: &mut Round<'_>, sessions: &[SessionName], blocks: Option<&str>| {
            let start = |session| round.start(session, plan.steps, blocks);
            sessions.iter().map(start).collect::<Result<Vec<_>, Broken>>()
        };
        for worker in all(round, &sessions, None)? {
            round.finish(worker)?;
        }
        round.remount("remount,bind,ro")?;
        let others: Vec<SessionName> =
            (0..plan.workers).map(|_| round.next_session()).collect::<Result<_, Broken>>()?;
        for worker in all(round, &others, Some("0"))? {
            if round.finish(worker)? > 0 {
                return Err("something was acknowledged on a read-only disk".into());
            }
        }
        if round.disk == Disk::Mounted {
            round.doctor("store")?;
        }
        // These continue sessions that hold something, and the disk becomes writable meanwhile.
        let running = all(round, &sessions, Some("0"))?;
        round.wait(40);
        round.remount("remount,bind,rw")?;
        for worker in running {
            round.finish(worker)?;
        }
        Ok(())
    })
}

impl Round<'_> {
    fn remount(&self, how: &str) -> Result<(), Broken> {
        match self.disk {
            Disk::Mounted => mount(&["-o", how], &self.small),
            Disk::Limited => Ok(()),
        }
    }
}

/// One process of a run.
///
/// # Errors
/// On the first thing that is wrong.
pub fn worker(words: &[String], tell: super::judged::Tell<'_>) -> Result<(), Broken> {
    let [root, session, seed, steps] = words else { return Err("judged ROOT SESSION SEED STEPS".into()) };
    let session = SessionName::parse(session)?;
    Judged { root: PathBuf::from(root), session, seed: seed.parse()?, steps: steps.parse()? }.work(tell)
}
