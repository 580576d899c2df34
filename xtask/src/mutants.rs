//! `cargo xtask mutants`: puts each known hole back, one at a time, into a copy of the tree, and requires that the
//! random runs of the testkit see it. Never touches the tree itself.

mod patch;
mod runs;
mod tree;

use std::{
    collections::BTreeSet,
    env,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use crate::{Failure, process};
use patch::{Patch, Runs};
use runs::{Ended, Verdict};
use tree::Tree;

/// Room for a mutant that makes the program slow, not for one that makes it hang.
const SLOWDOWN: u32 = 10;
const GRACE: Duration = Duration::from_secs(300);

/// What was typed.
#[derive(Debug, PartialEq, Eq)]
struct Options {
    names: Vec<String>,
    steps: u64,
    seed: u64,
    list: bool,
}

/// Where a mutant is built and run.
struct Bench {
    tree: Tree,
    build: PathBuf,
    logs: PathBuf,
    steps: u64,
    seed: u64,
}

/// Runs all mutants, or those named; fails unless every one is caught.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<(), Failure> {
    let options = parse(arguments)?;
    let patches = select(patch::load_all(root)?, &options.names)?;
    if options.list {
        for patch in &patches {
            println!("{}: {}", patch.name, patch.description());
        }
        return Ok(());
    }
    let bench = Bench::new(root, &options)?;
    let kinds: BTreeSet<Runs> = patches.iter().map(|patch| patch.runs).collect();
    let limit = bench.require_sound_tree(&kinds)? * SLOWDOWN + GRACE;
    let mut rows = Vec::new();
    for (index, patch) in patches.iter().enumerate() {
        let begin = Instant::now();
        let verdict = bench.try_mutant(patch, limit)?;
        let took = begin.elapsed().as_secs_f64();
        println!("[{}/{}] {}: {} ({took:.1} s)", index + 1, patches.len(), patch.name, verdict.explain());
        rows.push((patch, verdict));
    }
    bench.tree.restore()?;
    println!("\n{}", table(&rows));
    let caught = rows.iter().filter(|(_, verdict)| matches!(verdict, Verdict::Caught { .. })).count();
    println!("{caught} of {} caught within {} steps, seed {}", rows.len(), options.steps, options.seed);
    if caught == rows.len() {
        return Ok(());
    }
    Err(Failure::failed(format!("not every mutant is caught; output of each run: {}", bench.logs.display())))
}

/// Whether every patch still applies to the tree: the cheap half, part of `cargo xtask test`.
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
    let mut options = Options { names: Vec::new(), steps: 100_000, seed: 1, list: false };
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--list" => options.list = true,
            "--steps" => options.steps = number(argument, arguments.next())?,
            "--seed" => options.seed = number(argument, arguments.next())?,
            option if option.starts_with('-') => {
                return Err(Failure::usage(format!("unknown option `{option}`: --steps N, --seed S and --list exist")));
            }
            name => options.names.push(name.strip_suffix(".patch").unwrap_or(name).to_owned()),
        }
    }
    Ok(options)
}

fn number(option: &str, value: Option<&String>) -> Result<u64, Failure> {
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

impl Bench {
    fn new(root: &Path, options: &Options) -> Result<Self, Failure> {
        let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |folder| root.join(folder));
        let home = target.join("mutants");
        let logs = home.join("logs");
        std::fs::create_dir_all(&logs).map_err(|error| Failure::failed(format!("{}: {error}", logs.display())))?;
        Ok(Self {
            tree: Tree::new(root, home.join("tree")),
            build: home.join("build"),
            logs,
            steps: options.steps,
            seed: options.seed,
        })
    }

    /// Builds and runs the tree as it is; a red run there would make every mutant look caught. Gives the longest time.
    fn require_sound_tree(&self, kinds: &BTreeSet<Runs>) -> Result<Duration, Failure> {
        println!("unpatched tree: building and running {} steps, seed {}", self.steps, self.seed);
        self.tree.restore()?;
        self.build("unpatched")?.map_err(|()| {
            Failure::failed(format!("the unpatched tree does not build; see {}", self.log("unpatched").display()))
        })?;
        let mut longest = Duration::ZERO;
        for runs in kinds {
            let (begin, name) = (Instant::now(), format!("unpatched_{}", runs.word()));
            let verdict = self.soundness(&name, *runs, Duration::MAX)?;
            if verdict != Verdict::Missed {
                return Err(Failure::failed(format!(
                    "the unpatched tree must pass first, but: {}; see {}",
                    verdict.explain(),
                    self.log(&name).display()
                )));
            }
            longest = longest.max(begin.elapsed());
        }
        Ok(longest)
    }

    fn try_mutant(&self, patch: &Patch, limit: Duration) -> Result<Verdict, Failure> {
        self.tree.restore()?;
        if let Err(failure) = patch.apply(self.tree.folder()) {
            return Ok(Verdict::Broken(failure.message));
        }
        // git skips, without a word, what it takes to lie outside its reach; such a mutant would look missed.
        if self.tree.is_as_the_original()? {
            return Ok(Verdict::Broken("the patch changes nothing".to_owned()));
        }
        match self.build(&patch.name)? {
            Ok(()) => self.soundness(&patch.name, patch.runs, limit),
            Err(()) => Ok(Verdict::Broken("does not build".to_owned())),
        }
    }

    /// `Ok(Err(()))`: the compiler refused; its words are in the log.
    fn build(&self, name: &str) -> Result<Result<(), ()>, Failure> {
        let mut command = self.cargo("build");
        let ended = runs::run_logged(&mut command, &self.log(name), Duration::MAX)?;
        Ok(if ended == Ended::Exit(Some(0)) { Ok(()) } else { Err(()) })
    }

    fn soundness(&self, name: &str, runs: Runs, limit: Duration) -> Result<Verdict, Failure> {
        let mut command = self.cargo("run");
        command.arg("--quiet").arg("--");
        command.args(runs.option()).args(["--steps", &self.steps.to_string(), "--seed", &self.seed.to_string()]);
        let ended = runs::run_logged(&mut command, &self.log(name), limit)?;
        Ok(runs::judge(ended, &runs::read_log(&self.log(name))?))
    }

    /// Dev profile and incremental: between two mutants only the patched crate and what stands on it is built again.
    fn cargo(&self, verb: &str) -> std::process::Command {
        let mut command = process::cargo(self.tree.folder());
        command.env("CARGO_TARGET_DIR", &self.build).env("CARGO_INCREMENTAL", "1");
        command.args([verb, "--locked", "-p", "readproof-testkit", "--bin", "soundness"]);
        command
    }

    fn log(&self, name: &str) -> PathBuf {
        self.logs.join(format!("{name}.txt"))
    }
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

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    fn patch(name: &str) -> Patch {
        Patch::from_text(name, PathBuf::from(name), "What the user would see.\n\ndiff --git a/x b/x\n")
    }

    #[test]
    fn options_are_read_in_any_order() {
        let plain = Options { names: vec![], steps: 100_000, seed: 1, list: false };
        assert_eq!(parse(&words("")).unwrap(), plain);
        let all = Options { names: words("one two"), steps: 5, seed: 9, list: true };
        assert_eq!(parse(&words("one --steps 5 two.patch --list --seed 9")).unwrap(), all);
        for bad in ["--steps", "--steps x", "--seed -1", "--fast"] {
            assert_eq!(parse(&words(bad)).unwrap_err().code, 2, "{bad}");
        }
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
