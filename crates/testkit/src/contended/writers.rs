//! Many writers of the same files: processes with several threads each, in three dialects. Every writer counts upward on its
//! own line of each file and leaves a line for every count. What was acknowledged is in the files and in the version log, each
//! line once, and the versions of each file are one chain.

use readproof_core::{edit::Places, path::Bearings, text::ContentHash};
use readproof_disk::{Create, Loaded, LocalStore, ReplaceAllError, ReplaceError, Root, SessionName, Store};
use readproof_engine::{
    Engine, Error, Written,
    operation::{Change, Operation, Over, Patch, Read, Write},
};
use readproof_hosts::{
    block::Sha,
    versions::{VersionId, Versions},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, fs,
    path::{Path, PathBuf},
    process::Command,
    str::FromStr,
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use crate::{ask::Ask, load::processes::Running, op::Random, world::Broken};

const FILES: usize = 20;
const PROCESSES: usize = 5;

/// Threads of each process, one for each dialect.
const THREADS: usize = 3;

/// The most files of one patch.
const TOGETHER: usize = 3;

/// An edit that was acknowledged: version, writer, and the count that it reached in each file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    Edited {
        version: u64,
        hand: String,
        files: Vec<(usize, u64)>,
    },
    /// What a writer came to at the end: edits that were merged, and refusals that were followed by another attempt.
    Ended {
        merged: u64,
        refused: u64,
    },
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Edited { version, hand, files } => {
                write!(f, "edited {version} {hand}")?;
                files.iter().try_for_each(|(file, count)| write!(f, " {file} {count}"))
            }
            Self::Ended { merged, refused } => write!(f, "ended {merged} {refused}"),
        }
    }
}

impl FromStr for Told {
    type Err = Broken;

    fn from_str(line: &str) -> Result<Self, Self::Err> {
        match line.split(' ').collect::<Vec<_>>()[..] {
            ["edited", version, hand, ref files @ ..] => {
                let pair = |pair: &[&str]| match pair {
                    [file, count] => Ok::<_, Broken>((file.parse()?, count.parse()?)),
                    _ => Err(format!("a writer said {line:?}").into()),
                };
                let files = files.chunks(2).map(pair).collect::<Result<_, _>>()?;
                Ok(Self::Edited { version: version.parse()?, hand: hand.to_owned(), files })
            }
            ["ended", merged, refused] => Ok(Self::Ended { merged: merged.parse()?, refused: refused.parse()? }),
            _ => Err(format!("a writer said {line:?}").into()),
        }
    }
}

/// Reports something at once.
pub type Tell = Arc<dyn Fn(&Told) + Send + Sync>;

/// How a writer words its edits.
#[derive(Clone, Copy, Debug)]
enum Dialect {
    Replace,
    BeginPatch,
    Unified,
}

const DIALECTS: [Dialect; THREADS] = [Dialect::Replace, Dialect::BeginPatch, Dialect::Unified];

fn file_name(number: usize) -> String {
    format!("folder-{}/file-{number}.txt", number % 3)
}

fn hand(process: usize, thread: usize) -> String {
    format!("hand-{process}-{thread}")
}

fn line_of(hand: &str, count: u64) -> String {
    format!("{hand}: {count} times")
}

fn mark_of(hand: &str, count: u64) -> String {
    format!("{hand} was here, {count}")
}

/// Lines that nobody changes: between the places of the writers, except in a few files.
fn first_text(number: usize) -> String {
    let mut text = format!("begin {number}\n");
    for (process, thread) in hands() {
        let hand = hand(process, thread);
        text.push_str(&format!("{}\n", line_of(&hand, 0)));
        if !number.is_multiple_of(5) {
            text.push_str(&format!("filler {hand} one\nfiller {hand} two\n"));
        }
    }
    text + "end\n"
}

fn hands() -> impl Iterator<Item = (usize, usize)> {
    (0..PROCESSES).flat_map(|process| (0..THREADS).map(move |thread| (process, thread)))
}

/// One process: `writer ROOT NUMBER MILLISECONDS SEED`.
///
/// # Errors
/// When an edit fails for a reason that is none, or an acknowledged one is gone.
pub fn writer(words: &[String], tell: &Tell) -> Result<(), Broken> {
    let [root, number, time, seed] = words else { return Err("writer ROOT NUMBER MILLISECONDS SEED".into()) };
    let (root, number, seed): (_, usize, u64) = (PathBuf::from(root), number.parse()?, seed.parse()?);
    let end = Instant::now() + Duration::from_millis(time.parse()?);
    let bearings = Bearings { cwd: root.display().to_string(), home: None };
    let engine = Engine::new(Root::open(&root)?, bearings, crate::open_settings(), Box::new(|| 0))?;
    let failed: Mutex<Option<String>> = Mutex::new(None);
    thread::scope(|scope| {
        for (at, dialect) in DIALECTS.into_iter().enumerate() {
            let (engine, root, tell, failed) = (&engine, &root, tell.clone(), &failed);
            scope.spawn(move || {
                let random = Random::new(seed.wrapping_add(at as u64 * 7919));
                let hand = Hand { engine, root, name: hand(number, at), dialect, random, counts: BTreeMap::new() };
                if let Err(error) = hand.work(end, &tell)
                    && let Ok(mut failed) = failed.lock()
                {
                    failed.get_or_insert(error.to_string());
                }
            });
        }
    });
    match failed.into_inner().map_err(|_| "a writer panicked")? {
        Some(error) => Err(error.into()),
        None => Ok(()),
    }
}

/// One writer.
struct Hand<'a> {
    engine: &'a Engine,
    root: &'a Path,
    name: String,
    dialect: Dialect,
    random: Random,
    counts: BTreeMap<usize, u64>,
}

impl Hand<'_> {
    fn work(mut self, end: Instant, tell: &Tell) -> Result<(), Broken> {
        let session = SessionName::parse(&self.name)?;
        let (mut merged, mut refused) = (0, 0);
        while Instant::now() < end {
            let files = self.files();
            // Some lines were read, some are known from an own edit, and some of neither.
            if self.random.below(4) == 0 {
                self.read(&session, files[0])?;
            }
            match self.engine.ask::<Written>(Some(&session), self.operation(&files)) {
                Ok(written) => {
                    let version = written.version.ok_or("an edit without a version")?;
                    let counts = files.iter().map(|file| (*file, self.count(*file) + 1)).collect::<Vec<_>>();
                    tell(&Told::Edited { version: version.0, hand: self.name.clone(), files: counts.clone() });
                    self.counts.extend(counts);
                    merged += u64::from(written.files.iter().any(|file| file.merged));
                    // Sometimes a result never arrives.
                    if self.random.below(20) > 0 {
                        for receipt in &written.receipts {
                            self.engine.delivered(receipt)?;
                        }
                    }
                }
                // Others write here: their lines are beside ours, or they were faster too often.
                Err(
                    Error::Conflict { .. }
                    | Error::Replace(ReplaceError::Changed { .. } | ReplaceError::Busy { .. })
                    | Error::ReplaceAll(ReplaceAllError::Step {
                        source: ReplaceError::Changed { .. } | ReplaceError::Busy { .. },
                        unrestored: None,
                        ..
                    }),
                ) => {
                    refused += 1;
                    for file in files {
                        self.read(&session, file)?;
                    }
                }
                Err(error) => return Err(format!("{} in {files:?}: {error:?}", self.name).into()),
            }
        }
        tell(&Told::Ended { merged, refused });
        Ok(())
    }

    fn count(&self, file: usize) -> u64 {
        self.counts.get(&file).copied().unwrap_or(0)
    }

    /// Reads all of a file, and looks that nothing is lost.
    fn read(&self, session: &SessionName, file: usize) -> Result<(), Broken> {
        let answer = self.engine.read(Some(session), Read { path: file_name(file), ..Read::default() })?;
        if let Some(receipt) = &answer.given {
            self.engine.delivered(receipt)?;
        }
        let text = fs::read_to_string(self.root.join(file_name(file)))?;
        if !text.contains(&line_of(&self.name, self.count(file))) {
            return Err(format!("{file} lacks {:?}: {text}", line_of(&self.name, self.count(file))).into());
        }
        Ok(())
    }

    fn files(&mut self) -> Vec<usize> {
        let most = match self.dialect {
            Dialect::Replace => 1,
            Dialect::BeginPatch | Dialect::Unified => 1 + self.random.below(TOGETHER),
        };
        let mut files = BTreeSet::new();
        while files.len() < most {
            files.insert(self.random.below(FILES));
        }
        files.into_iter().collect()
    }

    fn operation(&self, files: &[usize]) -> Operation {
        let lines = |file: usize| {
            let count = self.count(file);
            (line_of(&self.name, count), line_of(&self.name, count + 1), mark_of(&self.name, count + 1))
        };
        let patch = |patch| Operation::Patch(Patch { patch, path: None, over: Over::Held });
        match self.dialect {
            Dialect::Replace => {
                let (old, new, mark) = lines(files[0]);
                // Without its newline `old` could be the beginning of a longer count; it never is, as it ends in a word.
                let change = Change::Replace { old, new: format!("{new}\n{mark}"), places: Places::One };
                Operation::Write(Write { path: file_name(files[0]), change, over: Over::Held })
            }
            Dialect::BeginPatch => {
                let part = |file: &usize| {
                    let (old, new, mark) = lines(*file);
                    format!("*** Update File: {}\n@@\n-{old}\n+{new}\n+{mark}\n", file_name(*file))
                };
                patch(format!("*** Begin Patch\n{}*** End Patch\n", files.iter().map(part).collect::<String>()))
            }
            Dialect::Unified => {
                let part = |file: &usize| {
                    let ((old, new, mark), name) = (lines(*file), file_name(*file));
                    format!("--- a/{name}\n+++ b/{name}\n@@ -1,1 +1,2 @@\n-{old}\n+{new}\n+{mark}\n")
                };
                patch(files.iter().map(part).collect())
            }
        }
    }
}

/// What a run came to.
#[derive(Clone, Debug, Default)]
pub struct Writers {
    pub seconds: f64,
    /// Calls that were acknowledged.
    pub edits: u64,
    /// Changes of files in them.
    pub changes: u64,
    pub merged: u64,
    pub refused: u64,
    /// Versions that are in the log before the one that they are built on.
    pub out_of_order: u64,
}

impl fmt::Display for Writers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seconds, edits, changes, merged, refused, out_of_order } = self;
        let rate = *edits as f64 / seconds;
        writeln!(
            f,
            "{} writers on {FILES} files for {seconds:.0} s: {edits} edits ({rate:.1}/s)",
            PROCESSES * THREADS
        )?;
        write!(f, "of {changes} files, {merged} merged, {refused} refused and tried again; all in the version log, ")?;
        write!(f, "0 lost, 0 lines twice; {out_of_order} versions logged before the one they are built on")
    }
}

/// Lets all writers work. `program` is the testkit's `edits`.
///
/// # Errors
/// On the first edit that is lost, twice in a file, or not in the version log.
pub fn writers(program: &Path, time: Duration, seed: u64) -> Result<Writers, Broken> {
    let folder = tempfile::tempdir()?;
    let root = folder.path().canonicalize()?;
    for number in 0..FILES {
        let path = root.join(file_name(number));
        fs::create_dir_all(path.parent().ok_or("no folder")?)?;
        fs::write(path, first_text(number))?;
    }
    let mut running = Vec::new();
    for number in 0..PROCESSES {
        let mut command = Command::new(program);
        command.arg("writer").arg(&root).arg(number.to_string());
        command.args([time.as_millis().to_string(), seed.wrapping_add(number as u64).to_string()]);
        running.push(Running::<Told>::start(command, &SessionName::parse("writers")?)?);
    }
    let (mut told, mut finished) = (Vec::new(), Ok(()));
    for process in running {
        // Wait for all, even if one failed.
        match process.finish() {
            Ok((_, heard)) => told.extend(heard),
            Err(error) => finished = finished.and(Err(error)),
        }
    }
    finished?;
    let mut done = Writers { seconds: time.as_secs_f64(), ..Writers::default() };
    let mut counts: BTreeMap<(usize, String), u64> = BTreeMap::new();
    let store = LocalStore::open_existing(&Root::open(&root)?)?.ok_or("there is no store")?;
    let versions = Versions::open(&store, Create::No, 0)?.ok_or("there is no version log")?;
    for told in &told {
        match told {
            Told::Ended { merged, refused } => {
                done.merged += merged;
                done.refused += refused;
            }
            Told::Edited { version, hand, files } => {
                done.edits += 1;
                done.changes += files.len() as u64;
                for (file, count) in files {
                    is_logged(&store, &versions, *version, (hand, *file, *count))?;
                    let known = counts.entry((*file, hand.clone())).or_default();
                    *known = (*known).max(*count);
                }
            }
        }
    }
    for number in 0..FILES {
        let text = fs::read_to_string(root.join(file_name(number)))?;
        let expected = expected(number, &counts);
        if text != expected {
            return Err(format!("{}: expected {expected}\nfound {text}", file_name(number)).into());
        }
        done.out_of_order += chained(&versions, number, &text)?;
    }
    let logged = versions.changes().map(|(_, change)| change.files.len() as u64).sum::<u64>();
    if logged != done.changes {
        return Err(format!("{} changes were acknowledged, and {logged} are logged", done.changes).into());
    }
    Ok(done)
}

/// The text with everything that was acknowledged, and nothing else.
fn expected(number: usize, counts: &BTreeMap<(usize, String), u64>) -> String {
    let mut text = first_text(number);
    for (process, thread) in hands() {
        let hand = hand(process, thread);
        let count = counts.get(&(number, hand.clone())).copied().unwrap_or(0);
        let mut lines = vec![line_of(&hand, count)];
        lines.extend((1..=count).rev().map(|count| mark_of(&hand, count)));
        text = text.replace(&line_of(&hand, 0), &lines.join("\n"));
    }
    text
}

fn is_logged(
    store: &LocalStore,
    versions: &Versions,
    version: u64,
    (hand, file, count): (&str, usize, u64),
) -> Result<(), Broken> {
    let change = versions.change(VersionId(version)).ok_or_else(|| format!("v{version} of {hand} is not logged"))?;
    let found = change.files.iter().find(|changed| changed.path == file_name(file));
    let Some(Sha(hash)) = found.and_then(|file| file.after) else {
        return Err(format!("v{version} of {hand} is not about {file}: {change:?}").into());
    };
    let Loaded::Text(text) = store.objects().load(hash) else {
        return Err(format!("the text of v{version} is not stored").into());
    };
    if text.as_str().lines().filter(|line| *line == line_of(hand, count)).count() != 1 {
        return Err(format!("v{version} lacks {:?}", line_of(hand, count)).into());
    }
    Ok(())
}

/// Whether the versions of a file lead from its first text to the last, each built on one other; how many are logged before
/// the one they are built on.
fn chained(versions: &Versions, number: usize, last: &str) -> Result<u64, Broken> {
    let name = file_name(number);
    let mut next: BTreeMap<ContentHash, (ContentHash, u64)> = BTreeMap::new();
    for (VersionId(id), change) in versions.changes() {
        for file in change.files.iter().filter(|file| file.path == name) {
            let (Some(Sha(before)), Some(Sha(after))) = (file.before, file.after) else {
                return Err(format!("v{id} has no texts: {file:?}").into());
            };
            if let Some((_, other)) = next.insert(before, (after, id)) {
                return Err(format!("{name}: v{other} and v{id} are built on the same text").into());
            }
        }
    }
    let (mut at, mut newest, mut disorder) = (ContentHash::of(first_text(number).as_bytes()), 0, 0);
    while let Some((after, id)) = next.remove(&at) {
        disorder += u64::from(id < newest);
        (at, newest) = (after, id);
    }
    if !next.is_empty() || at != ContentHash::of(last.as_bytes()) {
        return Err(format!("{name}: {} versions are built on no version", next.len()).into());
    }
    Ok(disorder)
}
