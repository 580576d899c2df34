//! `cargo xtask mutants`: puts each known hole back, one at a time, into a copy of the tree, and requires that the
//! testkit's random runs catch it. Never changes the tree itself.

mod lane;
mod patch;
mod runs;
mod tree;

use std::{
    collections::{BTreeSet, VecDeque},
    fs,
    path::Path,
    str::FromStr,
    sync::{Mutex, MutexGuard, PoisonError},
    thread::{self, ScopedJoinHandle},
    time::{Duration, Instant},
};

use crate::{Failure, process};
use lane::{Lane, Plan};
use patch::{Patch, Runs};
use runs::Verdict;

/// A mutant may make the program this much slower than the unpatched tree before it counts as hanging.
const SLOWDOWN: u32 = 10;
const GRACE: Duration = Duration::from_secs(300);

/// Two lanes use the cores that one mutant's mostly sequential build leaves idle; a third finds none.
const LANES: usize = 2;

/// The command line.
#[derive(Debug, PartialEq, Eq)]
struct Options {
    names: Vec<String>,
    steps: u64,
    seed: u64,
    jobs: Option<usize>,
    list: bool,
}

/// The work queue and the results, shared by the lanes.
struct Progress<'p> {
    /// Sorted by room. A lane takes from one end, so that mutants of one crate follow each other and the crates below it
    /// stay built.
    left: VecDeque<&'p Patch>,
    done: Vec<(&'p Patch, Verdict)>,
}

/// Runs all mutants, or the named ones; fails unless every one is caught.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<(), Failure> {
    let options = parse(arguments)?;
    let patches = select(patch::load_all(root)?, &options.names)?;
    if options.list {
        for patch in &patches {
            println!("{}: {}", patch.name, patch.description());
        }
        return Ok(());
    }
    let home = process::target(root).join("mutants");
    let logs = home.join("logs");
    fs::create_dir_all(&logs).map_err(|error| Failure::io(&logs, &error))?;
    let lanes = lanes(root, &home, &options, patches.len());
    let kinds: BTreeSet<Runs> = patches.iter().map(|patch| patch.runs).collect();
    println!("unpatched tree: building and running {} steps, seed {}", options.steps, options.seed);
    let limit = prepare(&lanes, &kinds)? * SLOWDOWN + GRACE;
    let rows = try_all(&lanes, &patches, limit)?;
    println!("\n{}", table(&rows));
    let caught = rows.iter().filter(|(_, verdict)| matches!(verdict, Verdict::Caught { .. })).count();
    println!("{caught} of {} caught within {} steps, seed {}", rows.len(), options.steps, options.seed);
    if caught == rows.len() {
        return Ok(());
    }
    Err(Failure::failed(format!("not every mutant is caught; output of each run: {}", logs.display())))
}

fn lanes(root: &Path, home: &Path, options: &Options, patches: usize) -> Vec<Lane> {
    let jobs = options.jobs.unwrap_or_else(|| LANES.min(cores())).min(patches).max(1);
    let threads = (cores() / jobs).max(1);
    let plan = Plan { root, home, threads, steps: options.steps, seed: options.seed };
    (0..jobs).map(|number| Lane::new(plan, number)).collect()
}

fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Builds every lane and requires that the unpatched tree passes. Returns how long its slowest run took.
fn prepare(lanes: &[Lane], kinds: &BTreeSet<Runs>) -> Result<Duration, Failure> {
    let Some((first, others)) = lanes.split_first() else { return Ok(Duration::ZERO) };
    first.build_first(cores())?;
    thread::scope(|scope| {
        let building: Vec<_> = others.iter().map(|lane| scope.spawn(|| lane.build_like(first))).collect();
        let mut longest = Duration::ZERO;
        for runs in kinds {
            longest = longest.max(first.require_sound(*runs)?);
        }
        building.into_iter().try_for_each(finished)?;
        Ok(longest)
    })
}

/// Every patch with its verdict, sorted by name.
fn try_all<'p>(lanes: &[Lane], patches: &'p [Patch], limit: Duration) -> Result<Vec<(&'p Patch, Verdict)>, Failure> {
    let mut left: Vec<&Patch> = patches.iter().collect();
    left.sort_by_key(|patch| patch.room);
    let progress = Mutex::new(Progress { left: left.into(), done: Vec::new() });
    thread::scope(|scope| {
        let mut working = Vec::new();
        for (number, lane) in lanes.iter().enumerate() {
            let progress = &progress;
            working.push(scope.spawn(move || {
                work(number, progress, patches.len(), |patch| lane.try_mutant(patch, limit))?;
                lane.restore()
            }));
        }
        working.into_iter().try_for_each(finished)
    })?;
    let mut rows = progress.into_inner().unwrap_or_else(PoisonError::into_inner).done;
    rows.sort_by(|(a, _), (b, _)| a.name.cmp(&b.name));
    Ok(rows)
}

/// Tries one patch after another until none is left.
fn work(
    number: usize,
    progress: &Mutex<Progress<'_>>,
    all: usize,
    attempt: impl Fn(&Patch) -> Result<Verdict, Failure>,
) -> Result<(), Failure> {
    loop {
        // A statement of its own, so that the lock is released before the work begins.
        let next = lock(progress).take(number);
        let Some(patch) = next else { return Ok(()) };
        let begin = Instant::now();
        let verdict = attempt(patch)?;
        let took = begin.elapsed().as_secs_f64();
        let mut progress = lock(progress);
        println!("[{}/{all}] {}: {} ({took:.1} s)", progress.done.len() + 1, patch.name, verdict.explain());
        progress.done.push((patch, verdict));
    }
}

impl<'p> Progress<'p> {
    /// The next patch for this lane: even lanes take from the front, odd ones from the back.
    fn take(&mut self, lane: usize) -> Option<&'p Patch> {
        if lane.is_multiple_of(2) { self.left.pop_front() } else { self.left.pop_back() }
    }
}

fn lock<'m, 'p>(progress: &'m Mutex<Progress<'p>>) -> MutexGuard<'m, Progress<'p>> {
    progress.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The result of a lane's thread; a panic is a failure.
fn finished(lane: ScopedJoinHandle<'_, Result<(), Failure>>) -> Result<(), Failure> {
    lane.join().unwrap_or_else(|_| Err(Failure::failed("a lane panicked")))
}

/// Requires that every patch still applies to the tree. Cheap, and so part of `cargo xtask check`.
pub(crate) fn check_patches(root: &Path) -> Result<(), Failure> {
    let patches = patch::load_all(root)?;
    let failures: Vec<String> =
        patches.iter().filter_map(|patch| patch.check(root).err()).map(|failure| failure.message).collect();
    if failures.is_empty() {
        println!("patches that apply: {}", patches.len());
        return Ok(());
    }
    Err(Failure::failed(failures.join("\n")))
}

fn parse(arguments: &[String]) -> Result<Options, Failure> {
    let mut options = Options { names: Vec::new(), steps: 100_000, seed: 1, jobs: None, list: false };
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--list" => options.list = true,
            "--steps" => options.steps = number(argument, arguments.next())?,
            "--seed" => options.seed = number(argument, arguments.next())?,
            "--jobs" => options.jobs = Some(number(argument, arguments.next())?),
            option if option.starts_with('-') => {
                return Err(Failure::usage(format!(
                    "unknown option `{option}`; the options are --steps N, --seed S, --jobs N and --list"
                )));
            }
            name => options.names.push(name.strip_suffix(".patch").unwrap_or(name).to_owned()),
        }
    }
    Ok(options)
}

fn number<N: FromStr>(option: &str, value: Option<&String>) -> Result<N, Failure> {
    let value = value.ok_or_else(|| Failure::usage(format!("{option} needs a number after it")))?;
    value.parse().map_err(|_| Failure::usage(format!("{option} needs a number, not `{value}`")))
}

fn select(patches: Vec<Patch>, names: &[String]) -> Result<Vec<Patch>, Failure> {
    if let Some(unknown) = names.iter().find(|name| !patches.iter().any(|patch| patch.name == **name)) {
        let known: Vec<&str> = patches.iter().map(|patch| patch.name.as_str()).collect();
        return Err(Failure::usage(format!("no mutant is called `{unknown}`; there are: {}", known.join(", "))));
    }
    Ok(patches.into_iter().filter(|patch| names.is_empty() || names.contains(&patch.name)).collect())
}

fn table(rows: &[(&Patch, Verdict)]) -> String {
    let width = rows.iter().map(|(patch, _)| patch.name.len()).max().unwrap_or(0).max("name".len());
    let line =
        |name: &str, result: &str, step: &str, text: &str| format!("{name:width$} | {result:6} | {step:>6} | {text}\n");
    let mut text = line("name", "result", "step", "description");
    for (patch, verdict) in rows {
        let step = match verdict {
            Verdict::Caught { step: Some(step) } => step.to_string(),
            Verdict::Caught { step: None } | Verdict::Missed | Verdict::Broken(_) => "-".to_owned(),
        };
        text.push_str(&line(&patch.name, verdict.word(), &step, patch.description()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{path::PathBuf, sync::Barrier};

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    fn patch(name: &str) -> Patch {
        Patch::from_text(name, PathBuf::from(name), "What the user would see.\n\ndiff --git a/x b/x\n")
    }

    #[test]
    fn options_are_read_in_any_order() {
        let plain = Options { names: vec![], steps: 100_000, seed: 1, jobs: None, list: false };
        assert_eq!(parse(&words("")).unwrap(), plain);
        let all = Options { names: words("one two"), steps: 5, seed: 9, jobs: Some(3), list: true };
        assert_eq!(parse(&words("one --steps 5 two.patch --list --seed 9 --jobs 3")).unwrap(), all);
        for bad in ["--steps", "--steps x", "--seed -1", "--fast"] {
            assert_eq!(parse(&words(bad)).unwrap_err().code, 2, "{bad}");
        }
    }

    #[test]
    fn lanes_take_from_both_ends_and_leave_nothing() {
        let all = ["one", "two", "three"].map(patch);
        let mut progress = Progress { left: all.iter().collect(), done: Vec::new() };
        let taken = [0, 1, 0, 1].map(|lane| progress.take(lane).map(|patch| patch.name.as_str()));
        assert_eq!(taken, [Some("one"), Some("three"), Some("two"), None]);
    }

    #[test]
    fn two_lanes_work_at_the_same_time() {
        let all = ["one", "two"].map(patch);
        let progress = Mutex::new(Progress { left: all.iter().collect(), done: Vec::new() });
        // Neither continues before both have begun.
        let both = Barrier::new(2);
        let attempt = |_: &Patch| {
            both.wait();
            Ok(Verdict::Missed)
        };
        thread::scope(|scope| {
            let lanes = [0, 1].map(|number| {
                let (progress, attempt) = (&progress, &attempt);
                scope.spawn(move || work(number, progress, 2, attempt))
            });
            lanes.into_iter().try_for_each(finished).unwrap();
        });
        assert_eq!(progress.into_inner().unwrap().done.len(), 2);
    }

    #[test]
    fn an_unknown_name_is_refused() {
        let all = || vec![patch("one"), patch("two")];
        assert_eq!(select(all(), &[]).unwrap().len(), 2);
        assert_eq!(select(all(), &words("two")).unwrap()[0].name, "two");
        assert_eq!(select(all(), &words("three")).unwrap_err().code, 2);
    }

    #[test]
    fn the_table_lines_up() {
        let (one, two) = (patch("one"), patch("longer_name"));
        let rows = [(&one, Verdict::Caught { step: Some(812) }), (&two, Verdict::Missed)];
        assert_eq!(
            table(&rows),
            "name        | result |   step | description\n\
             one         | caught |    812 | What the user would see.\n\
             longer_name | missed |      - | What the user would see.\n"
        );
    }
}
