//! A random shell session beside an agent: every state of every file that a look or the watch must meet is noted by an observer
//! of its own ([`observer`]), and at the end each of them is shown by the product, byte for byte and in that order. Some moments
//! are also gone back to, in a copy of the workspace. Nothing that is expected is taken from the product.

mod observer;
mod steps;

use readproof_core::path::Bearings;
use readproof_core::text::ContentHash;
use readproof_disk::{Loaded, LocalStore, ReplaceAllError, ReplaceError, Root, SnapshotError, Store};
use readproof_engine::{
    Engine, Error, FilesListed, HistoryListed, Keeping, Rewound, RewoundFile, Settings, ShownVersion, Sighting, Stop,
    Stopper, VersionId,
    operation::{AnswerLimit, History, Leaf, ListFiles, Operation, OutsideChanges, Rewind, ShowVersion},
};
use readproof_hosts::block::Sha;
use std::{
    collections::BTreeMap,
    fmt,
    ops::ControlFlow,
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use self::{
    observer::{Observer, State, Tree},
    steps::Shell,
};
use crate::{ask::Ask, op::Random, world::Broken};

/// How changes are met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meeting {
    /// By a look at every file, after every few steps.
    Looks,
    /// By the watch: what lasts this long is met.
    Watch(Duration),
}

/// After so many steps a new workspace is used.
const PER_WORKSPACE: u64 = 250;

/// How many workspaces are watched at a time. Most of the time each of them waits.
const AT_ONCE: u64 = 6;

/// How many moments of a workspace are gone back to.
const REWINDS: usize = 3;

/// What a run came to.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    pub steps: u64,
    pub workspaces: u64,
    /// Moments at which all files were noted.
    pub moments: u64,
    /// States of files that must be shown, and those that no text is kept of.
    pub states: u64,
    pub gaps: u64,
    /// Versions that the product recorded.
    pub versions: u64,
    /// Moments that were gone back to, and files compared then.
    pub rewinds: u64,
    pub rewound_files: u64,
    /// Moments that could not be gone back to, as a folder stands where a file was.
    pub refused: u64,
    /// Files that were left as they are then, as the product says: by its reason, and by what the observer knows.
    pub declared: BTreeMap<String, u64>,
    /// Steps by their kind.
    pub kinds: BTreeMap<&'static str, u64>,
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.steps += other.steps;
        self.workspaces += other.workspaces;
        self.moments += other.moments;
        self.states += other.states;
        self.gaps += other.gaps;
        self.versions += other.versions;
        self.rewinds += other.rewinds;
        self.rewound_files += other.rewound_files;
        self.refused += other.refused;
        for (why, count) in other.declared {
            *self.declared.entry(why).or_default() += count;
        }
        for (kind, count) in other.kinds {
            *self.kinds.entry(kind).or_default() += count;
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            steps,
            workspaces,
            moments,
            states,
            gaps,
            versions,
            rewinds,
            rewound_files,
            refused,
            declared,
            kinds,
        } = self;
        writeln!(f, "{steps} steps in {workspaces} workspaces, {moments} moments, {versions} versions:")?;
        writeln!(f, "{states} states shown byte for byte and in order, {gaps} that are recorded gaps, 0 missing;")?;
        writeln!(
            f,
            "{rewinds} moments gone back to with {rewound_files} files, 0 of them wrong, {} listed as left, {refused} refused;",
            declared.values().sum::<u64>()
        )?;
        for (why, count) in declared {
            writeln!(f, "  {count} {why}")?;
        }
        kinds.iter().try_for_each(|(kind, count)| write!(f, " {kind} {count}"))
    }
}

/// Plays so many steps.
///
/// # Errors
/// What is missing, with the seed that shows it.
pub fn run(steps: u64, seed: u64, meeting: Meeting) -> Result<Tally, Broken> {
    let parts: Vec<(u64, u64)> = (0..steps.div_ceil(PER_WORKSPACE))
        .map(|at| (seed.wrapping_mul(1_000_003).wrapping_add(at), PER_WORKSPACE.min(steps - at * PER_WORKSPACE)))
        .collect();
    let at_once = usize::try_from(if meeting == Meeting::Looks { 2 } else { AT_ONCE })?;
    let mut all = Tally::default();
    for parts in parts.chunks(at_once) {
        let play = |(seed, steps): (u64, u64)| {
            let played = workspace(steps, seed, meeting);
            played.map_err(|error| format!("workspace {seed}: {error}"))
        };
        let played: Vec<Result<Tally, String>> = thread::scope(|scope| {
            let threads: Vec<_> = parts.iter().map(|part| scope.spawn(move || play(*part))).collect();
            threads.into_iter().map(|one| one.join().unwrap_or_else(|_| Err("a panic".to_owned()))).collect()
        });
        for tally in played {
            all.add(tally?);
        }
    }
    Ok(all)
}

/// One workspace with its agent and, perhaps, its watch.
struct World {
    top: PathBuf,
    engine: Arc<Engine>,
    /// Dropped first, so that the watch ends.
    watch: Option<(Stopper, JoinHandle<Result<(), String>>)>,
    _temp: tempfile::TempDir,
}

fn engine_of(top: &Path, settings: Settings) -> Result<Engine, Broken> {
    let bearings = Bearings { cwd: top.display().to_string(), home: None };
    Ok(Engine::new(Root::open(top)?, bearings, settings, Box::new(|| 0))?)
}

impl World {
    fn new() -> Result<Self, Broken> {
        let temp = tempfile::tempdir()?;
        let top = temp.path().canonicalize()?.join("w");
        std::fs::create_dir(&top)?;
        let engine = Arc::new(engine_of(&top, crate::open_settings())?);
        Ok(Self { top, engine, watch: None, _temp: temp })
    }

    /// Watches from here on; returns once every change is met.
    fn watched(&mut self) -> Result<(), Broken> {
        let (stopper, stop) = Stop::new()?;
        let (begun, begins) = std::sync::mpsc::channel();
        let engine = Arc::clone(&self.engine);
        let watch = thread::spawn(move || {
            let told = &mut |sighting| {
                if let Sighting::Watching { .. } = sighting {
                    let _ = begun.send(());
                }
                ControlFlow::Continue(())
            };
            engine.watch(&stop, told).map_err(|error| format!("{error:?}"))
        });
        self.watch = Some((stopper, watch));
        begins.recv_timeout(Duration::from_secs(60)).map_err(|_| "the watch does not begin")?;
        Ok(())
    }

    fn unwatched(&mut self) -> Result<(), Broken> {
        let Some((stopper, watch)) = self.watch.take() else { return Ok(()) };
        drop(stopper);
        watch.join().map_err(|_| "the watch panicked")??;
        Ok(())
    }

    fn look(&self) -> Result<(), Broken> {
        let list = ListFiles { limit: Some(0), ..ListFiles::default() };
        self.engine.ask::<FilesListed>(None, Operation::ListFiles(list))?;
        Ok(())
    }
}

fn workspace(steps: u64, seed: u64, meeting: Meeting) -> Result<Tally, Broken> {
    let (mut world, mut random) = (World::new()?, Random::new(seed));
    let mut shell = Shell::new(&world.top, Arc::clone(&world.engine))?;
    shell.begin(&mut random)?;
    let mut observer = Observer::default();
    match meeting {
        Meeting::Looks => world.look()?,
        Meeting::Watch(_) => world.watched()?,
    }
    let mut marks: Vec<(VersionId, Tree)> = Vec::new();
    observer.note(&world.top)?;
    let mut done = 0;
    while done < steps {
        let burst = (1 + random.below(if meeting == Meeting::Looks { 3 } else { 8 }) as u64).min(steps - done);
        for _ in 0..burst {
            shell.step(&mut random)?;
        }
        done += burst;
        let since = Instant::now();
        let tree = observer.note(&world.top)?.clone();
        match meeting {
            Meeting::Looks => world.look()?,
            Meeting::Watch(lasting) => thread::sleep(lasting.saturating_sub(since.elapsed())),
        }
        if random.below(25) == 0 {
            let mark: VersionId = world.engine.ask(None, Operation::Checkpoint { name: None })?;
            marks.push((mark, tree));
        }
    }
    world.unwatched()?;
    let mut tally = Tally { steps, workspaces: 1, moments: observer.moments, ..Tally::default() };
    tally.kinds = shell.kinds;
    judge(&world.top, &observer, &mut tally).map_err(|error| format!("{error}\n{}", shell.told.join("\n")))?;
    for (mark, tree) in marks.iter().rev().take(REWINDS) {
        rewind(&world.top, *mark, tree, &mut tally)
            .map_err(|error| format!("{mark}: {error}\n{}", shell.told.join("\n")))?;
    }
    Ok(tally)
}

/// Compares what was noted with what the product shows.
fn judge(top: &Path, observer: &Observer, tally: &mut Tally) -> Result<(), Broken> {
    // It does not look at the files: what was not met is not met now either.
    let settings = Settings { history: Keeping::Off, ..crate::open_settings() };
    let engine = engine_of(top, settings)?;
    for (path, noted) in &observer.states {
        let known = shown(&engine, top, path)?;
        tally.versions += known.len() as u64;
        let mut left = known.iter();
        for state in noted {
            match state {
                State::NotKept => tally.gaps += 1,
                State::Absent | State::Text(_) => tally.states += 1,
            }
            // A file that git keeps has no version before it changes.
            if known.is_empty() && *state == observer::state_of(&top.join(path)) {
                continue;
            }
            if !left.any(|(_, known)| known == state) {
                let versions: Vec<String> = known.iter().map(|(id, state)| format!("{id} {state}")).collect();
                let noted: Vec<String> = noted.iter().map(ToString::to_string).collect();
                let (versions, noted) = (versions.join("\n  "), noted.join("\n  "));
                return Err(format!("{path}: {state} is missing; noted\n  {noted}\nversions\n  {versions}").into());
            }
        }
    }
    Ok(())
}

/// Every state of a file that the product knows, oldest first: what it was before its first change, and after each.
fn shown(engine: &Engine, top: &Path, path: &str) -> Result<Vec<(VersionId, State)>, Broken> {
    let asked = History { path: Some(path.to_owned()), limit: Some(usize::MAX) };
    let listed: HistoryListed = engine.ask(None, Operation::History(asked))?;
    let mut states = Vec::new();
    for entry in listed.entries.iter().rev() {
        let Some((file, _)) = entry.files.iter().find(|(file, _)| file.path == path) else { continue };
        if states.is_empty() && entry.operation != "first" {
            let before = match (file.before, file.gaps.before) {
                (Some(Sha(hash)), _) => State::Text(stored(top, hash)?),
                (None, Some(_)) => State::NotKept,
                (None, None) => State::Absent,
            };
            states.push((VersionId(0), before));
        }
        let after = match (file.after, file.gaps.after) {
            (Some(_), _) => {
                let asked =
                    ShowVersion { version: entry.id.to_string(), path: Some(path.to_owned()), most: AnswerLimit::NONE };
                let shown: ShownVersion = engine.ask(None, Operation::ShowVersion(asked))?;
                State::Text(shown.text.into_bytes())
            }
            (None, Some(_)) => State::NotKept,
            (None, None) => State::Absent,
        };
        states.push((entry.id, after));
    }
    Ok(states)
}

fn stored(top: &Path, hash: ContentHash) -> Result<Vec<u8>, Broken> {
    let store = LocalStore::open_existing(&Root::open(top)?)?.ok_or("no store")?;
    match store.objects().load(hash) {
        Loaded::Text(text) => Ok(text.as_str().as_bytes().to_vec()),
        Loaded::Missing | Loaded::Damaged => Err(format!("{hash} is not stored").into()),
    }
}

/// Goes back to a moment in a copy of the workspace: all files are what they were.
fn rewind(top: &Path, to: VersionId, tree: &Tree, tally: &mut Tally) -> Result<(), Broken> {
    let temp = tempfile::tempdir()?;
    let copy = temp.path().canonicalize()?.join("w");
    let copied = Command::new("cp").arg("-a").arg(top).arg(&copy).status()?;
    if !copied.success() {
        return Err("cp failed".into());
    }
    let engine = engine_of(&copy, crate::open_settings())?;
    let asked = Rewind {
        to: to.to_string(),
        paths: Vec::new(),
        outside: OutsideChanges::Undo,
        leaf: Leaf::Stays,
        everything: true,
        assume: false,
        dry_run: false,
    };
    let rewound: Rewound = match engine.ask(None, Operation::Rewind(asked)) {
        // A folder stands where a file was, or the other way round: nothing is changed, as documented.
        Err(
            Error::Snapshot(SnapshotError::NotAFile { .. } | SnapshotError::Missing { .. })
            | Error::Replace(ReplaceError::NoFolder { .. })
            | Error::ReplaceAll(ReplaceAllError::Step { source: ReplaceError::NoFolder { .. }, .. }),
        ) => {
            tally.refused += 1;
            return Ok(());
        }
        rewound => rewound?,
    };
    let mut observer = Observer::default();
    let now = observer.note(&copy)?;
    for path in tree.keys().chain(now.keys()) {
        let (then, is) = (tree.get(path).unwrap_or(&State::Absent), now.get(path).unwrap_or(&State::Absent));
        let declared = rewound.files.iter().find(|file| file.path == *path && file.what.stays());
        if let Some(RewoundFile { what, .. }) = declared.filter(|_| then != is) {
            let was = match then {
                State::Absent => "was not there",
                State::NotKept => "was not to be kept",
                State::Text(_) => "had a text",
            };
            *tally.declared.entry(format!("{what:?}: it {was}")).or_default() += 1;
        } else if then != is && *then != State::NotKept && *is != State::NotKept {
            return Err(format!("{path} was {then} and is {is} after going back: {:?}", rewound.files).into());
        }
    }
    tally.rewinds += 1;
    tally.rewound_files += tree.len() as u64;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_at_a_look_can_be_shown() {
        let tally = run(150, 11, Meeting::Looks).unwrap();
        assert!(tally.states > 100 && tally.versions > 50, "{tally}");
    }

    #[test]
    fn every_state_that_lasts_is_met_by_the_watch() {
        // A machine under test may be slow.
        let tally = run(20, 12, Meeting::Watch(Duration::from_millis(2500))).unwrap();
        assert!(tally.states > 10 && tally.versions > 10, "{tally}");
    }
}
