//! A lane: a copy of the tree with its own build folder, where one mutant at a time is built and run. Several lanes work
//! in parallel, because most of a mutant's time is the compiler working through one crate after another.

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use super::{
    patch::{Patch, Runs},
    runs::{self, Ended, Verdict},
    tree::Tree,
};
use crate::{Failure, process};

pub(super) struct Lane {
    tree: Tree,
    build: PathBuf,
    logs: PathBuf,
    /// How many compiler processes may run at once.
    threads: usize,
    steps: u64,
    seed: u64,
}

/// What all lanes have in common.
#[derive(Clone, Copy)]
pub(super) struct Plan<'a> {
    pub(super) root: &'a Path,
    /// The folder of all lanes.
    pub(super) home: &'a Path,
    pub(super) threads: usize,
    pub(super) steps: u64,
    pub(super) seed: u64,
}

impl Lane {
    /// The lane with this number; nothing is made yet.
    pub(super) fn new(plan: Plan<'_>, number: usize) -> Self {
        let name = |word: &str| if number == 0 { word.to_owned() } else { format!("{word}-{}", number + 1) };
        Self {
            tree: Tree::new(plan.root, plan.home.join(name("tree"))),
            build: plan.home.join(name("build")),
            logs: plan.home.join("logs"),
            threads: plan.threads,
            steps: plan.steps,
            seed: plan.seed,
        }
    }

    /// Builds the unpatched tree with all cores, before any other lane builds.
    pub(super) fn build_first(&self, cores: usize) -> Result<(), Failure> {
        self.build_unpatched(cores)
    }

    fn build_unpatched(&self, threads: usize) -> Result<(), Failure> {
        self.tree.restore()?;
        // One log per lane: lanes are built at the same time.
        let name = self.build.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        self.build(&name, threads)?.map_err(|()| {
            Failure::failed(format!("the unpatched tree does not build; see {}", self.log(&name).display()))
        })
    }

    /// Builds the unpatched tree, starting from a copy of what another lane has built.
    pub(super) fn build_like(&self, other: &Self) -> Result<(), Failure> {
        if !self.build.exists() {
            // With modification times, by which cargo decides what to build.
            let mut copy = Command::new("cp");
            process::finish(copy.arg("-a").arg(&other.build).arg(&self.build), "copying a build folder")?;
        }
        self.build_unpatched(self.threads)
    }

    /// Requires that the unpatched tree passes: if it failed, every mutant would look caught. Returns how long it took.
    pub(super) fn require_sound(&self, runs: Runs) -> Result<Duration, Failure> {
        let (begin, name) = (Instant::now(), format!("unpatched_{}", runs.word()));
        let verdict = self.soundness(&name, runs, Duration::MAX)?;
        if verdict == Verdict::Missed {
            return Ok(begin.elapsed());
        }
        Err(Failure::failed(format!(
            "the unpatched tree must pass first, but: {}; see {}",
            verdict.explain(),
            self.log(&name).display()
        )))
    }

    /// Puts one hole back and runs the runs that must catch it.
    pub(super) fn try_mutant(&self, patch: &Patch, limit: Duration) -> Result<Verdict, Failure> {
        self.tree.restore()?;
        if let Err(failure) = patch.apply(self.tree.folder()) {
            return Ok(Verdict::Broken(failure.message));
        }
        // git silently skips paths that it considers outside its repository; such a mutant would look missed.
        if self.tree.is_as_the_original()? {
            return Ok(Verdict::Broken("the patch changes nothing".to_owned()));
        }
        match self.build(&patch.name, self.threads)? {
            Ok(()) => self.soundness(&patch.name, patch.runs, limit),
            Err(()) => Ok(Verdict::Broken("does not build".to_owned())),
        }
    }

    /// Makes the copy equal to the original again.
    pub(super) fn restore(&self) -> Result<(), Failure> {
        self.tree.restore()
    }

    /// `Ok(Err(()))` means that the tree does not compile; the log says why. Dev profile and incremental, so that between
    /// two mutants only the patched crate and those that depend on it are built again.
    fn build(&self, name: &str, threads: usize) -> Result<Result<(), ()>, Failure> {
        let mut cargo = process::cargo(self.tree.folder());
        cargo.env("CARGO_TARGET_DIR", &self.build).env("CARGO_INCREMENTAL", "1");
        cargo.args([
            "build",
            "--locked",
            "-p",
            "readproof-testkit",
            "--bin",
            "soundness",
            "--bin",
            "hidden",
            "--bin",
            "rewinds",
        ]);
        cargo.args(["--jobs", &threads.to_string()]);
        let ended = runs::run_logged(&mut cargo, &self.log(name), Duration::MAX)?;
        Ok(if ended == Ended::Exit(Some(0)) { Ok(()) } else { Err(()) })
    }

    fn soundness(&self, name: &str, runs: Runs, limit: Duration) -> Result<Verdict, Failure> {
        let (program, options) = runs.program(self.steps);
        if matches!(runs, Runs::Tests | Runs::Settings) {
            let mut cargo = process::cargo(self.tree.folder());
            cargo.env("CARGO_TARGET_DIR", &self.build).args(options);
            let ended = runs::run_logged(&mut cargo, &self.log(name), limit)?;
            return Ok(runs::judge_tests(ended, &runs::read_log(&self.log(name))?));
        }
        // Not through cargo, so that stopping a run that hangs stops the program itself.
        let mut command = Command::new(self.build.join("debug").join(program));
        command.current_dir(self.tree.folder());
        command.args(options).args(["--seed", &self.seed.to_string()]);
        let ended = runs::run_logged(&mut command, &self.log(name), limit)?;
        Ok(runs::judge(ended, &runs::read_log(&self.log(name))?))
    }

    fn log(&self, name: &str) -> PathBuf {
        self.logs.join(format!("{name}.txt"))
    }
}
