//! `bench history [--files N] [--tree FOLDER] [--json] [--check]`: what looking back costs in a large work tree, each beside what git
//! takes for the same in the same run: a look at all files of which none changed, a checkpoint after an edit, going back with
//! a hundred files; and whether a watch of all folders is really idle. A tree that is named is made if it is missing, and kept.

use serde_json::json;
use std::{
    fs,
    io::{BufRead as _, BufReader},
    ops::ControlFlow,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;

use readproof_core::{edit::Places, path::Bearings};
use readproof_disk::{Root, SessionName, Stop};
use readproof_engine::{
    Engine, HistoryListed, Rewound, Settings, Sighting, SmallTexts, VersionId, Written,
    operation::{Change, History, Operation, Over, Read, Rewind, Write},
};
use readproof_testkit::ask::Ask;

use super::{
    nanoseconds,
    planted::{Dice, place, plant},
};
use crate::{
    Broken,
    cases::now,
    harness::{Bar, Row, Samples},
    programs, report,
};

/// The subcommand.
pub(crate) const WORD: &str = "history";

const FILES: u32 = 100_000;

/// Rounds that count, after the first ones, which fill caches.
const ROUNDS: u32 = 15;
const WARM_UP: u32 = 2;
const EDITS: u32 = 60;

/// How many files one rewind restores.
const TOGETHER: u32 = 100;

/// How long the watch is looked at while nothing happens.
const IDLE: Duration = Duration::from_secs(10);

/// A file that changed before that is known to have settled.
const SETTLED: Duration = Duration::from_millis(2500);

struct Args {
    json: bool,
    check: bool,
    files: u32,
    tree: Option<PathBuf>,
}

/// Measures and prints; false if `--check` was given and a bar is missed.
pub(crate) fn run(words: impl Iterator<Item = String>) -> Result<bool, Broken> {
    let args = parse(words)?;
    let temp = TempDir::with_prefix("readproof-history-")?;
    let tree = Tree::new(args.tree.unwrap_or_else(|| temp.path().join("tree")), args.files)?;
    let program =
        programs::beside_us().filter(|path| path.is_file()).ok_or("there is no `readproof` beside the bench")?;
    let rows = tree.rows(&program, ROUNDS)?;
    let ticks = idle_ticks(&program, &tree.top, IDLE)?;
    if args.json {
        let mut said = report::json(&rows, None);
        said["tree"] = json!({ "files": args.files });
        said["idle_watch"] = json!({ "seconds": IDLE.as_secs(), "ticks": ticks, "bar": 0, "holds": ticks == 0 });
        println!("{said:#}");
    } else {
        println!("{} files\n{}", args.files, report::table(&rows, None));
        let word = if ticks == 0 { "holds" } else { "MISSED" };
        println!("an idle watch, {} s: {ticks} ticks of the processor's clock, bar 0 {word}", IDLE.as_secs());
    }
    Ok(!args.check || (ticks == 0 && rows.iter().all(Row::holds)))
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<Args, Broken> {
    let mut args = Args { json: false, check: false, files: FILES, tree: None };
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
        match word.as_str() {
            "--json" => args.json = true,
            "--check" => args.check = true,
            "--files" => args.files = value()?.parse().map_err(|_| "--files needs a number")?,
            "--tree" => args.tree = Some(value()?.into()),
            _ => return Err(format!("unknown argument {word}").into()),
        }
    }
    if args.files < TOGETHER * 2 {
        return Err(format!("--files needs at least {}", TOGETHER * 2).into());
    }
    Ok(args)
}

/// A work tree in which every file is committed.
struct Tree {
    top: PathBuf,
    files: u32,
}

impl Tree {
    fn new(top: PathBuf, files: u32) -> Result<Self, Broken> {
        if !top.join(".git").is_dir() {
            fs::create_dir_all(&top)?;
            plant(&top, files, &|_, _| ())?;
            git(&top, &["init", "-q"])?;
            git(&top, &["config", "gc.auto", "0"])?;
            git(&top, &["add", "-A"])?;
            let author = ["-c", "user.name=bench", "-c", "user.email=bench@example.org"];
            git(&top, &[&author[..], &["commit", "-q", "-m", "files"]].concat())?;
        }
        git(&top, &["checkout", "-q", "--", "."])?;
        thread::sleep(SETTLED);
        git(&top, &["status", "--porcelain"])?;
        Ok(Self { top: top.canonicalize()?, files })
    }

    fn rows(&self, program: &Path, rounds: u32) -> Result<Vec<Row>, Broken> {
        let refresh = self.refreshes(program, rounds)?;
        let warm = self.warm_refreshes(rounds)?;
        let marks = self.checkpoints(EDITS.min(rounds * 4))?;
        let rewinds = self.rewinds(rounds)?;
        Ok(vec![
            refresh.row(
                "look-unchanged",
                "`readproof log`, which looks at all files, none of which changed, against `git status`",
                Bar::AtMost(3.0),
            ),
            warm.row("look-unchanged-warm", "the same look in a server, against `git status`", Bar::AtMost(3.0)),
            marks.row(
                "checkpoint",
                "a checkpoint after one edit, in a server that watches, against that edit",
                Bar::AtMost(2.0),
            ),
            rewinds.row(
                "rewind-100",
                "a rewind of 100 files that a program changed, against `git checkout` of the same",
                Bar::AtMost(2.0),
            ),
        ])
    }

    fn engine(&self) -> Result<Engine, Broken> {
        let bearings = Bearings { cwd: self.top.display().to_string(), home: None };
        let settings = Settings { small_texts: SmallTexts::Together, ..Settings::default() };
        Ok(Engine::new(Root::open(&self.top)?, bearings, settings, Box::new(now))?)
    }

    fn refreshes(&self, program: &Path, rounds: u32) -> Result<Samples, Broken> {
        let look = || {
            let mut log = Command::new(program);
            log.args(["log", "--limit", "1", "--workspace"]).arg(&self.top);
            finish(&mut log)
        };
        // The first look reads every file. What changed just before it is read once more.
        look()?;
        thread::sleep(SETTLED);
        look()?;
        self.against_status(rounds, look)
    }

    fn warm_refreshes(&self, rounds: u32) -> Result<Samples, Broken> {
        let engine = self.engine()?;
        let look = || -> Result<(), Broken> {
            let asked = Operation::History(History { path: None, limit: Some(1) });
            engine.ask::<HistoryListed>(None, asked)?;
            Ok(())
        };
        self.against_status(rounds, look)
    }

    fn against_status(&self, rounds: u32, look: impl Fn() -> Result<(), Broken>) -> Result<Samples, Broken> {
        let mut samples = Samples::default();
        for round in 0..rounds + WARM_UP {
            let (status, looked) = if round % 2 == 0 {
                let status = timed(|| git(&self.top, &["status", "--porcelain"]))?;
                (status, timed(&look)?)
            } else {
                let looked = timed(&look)?;
                (timed(|| git(&self.top, &["status", "--porcelain"]))?, looked)
            };
            if round >= WARM_UP {
                samples.push(nanoseconds(status), nanoseconds(looked));
            }
        }
        Ok(samples)
    }

    /// Edits of one file after the other in a process that watches, each followed by a checkpoint.
    fn checkpoints(&self, rounds: u32) -> Result<Samples, Broken> {
        let (engine, session) = (self.engine()?, SessionName::parse("bench")?);
        let (stopper, stop) = Stop::new()?;
        let (sender, begun) = mpsc::channel();
        thread::scope(|scope| {
            let engine = &engine;
            let watch = scope.spawn(move || {
                let told = &mut |sighting| {
                    if matches!(sighting, Sighting::Watching { .. }) {
                        let _ = sender.send(());
                    }
                    ControlFlow::Continue(())
                };
                engine.watch(&stop, told).map_err(|error| format!("{error:?}"))
            });
            let samples = match begun.recv() {
                Ok(()) => self.edit_and_mark(engine, &session, rounds),
                Err(_) => Err("nothing is watched".into()),
            };
            drop(stopper);
            watch.join().map_err(|_| "the watch failed")??;
            samples
        })
    }

    fn edit_and_mark(&self, engine: &Engine, session: &SessionName, rounds: u32) -> Result<Samples, Broken> {
        let mut samples = Samples::default();
        for round in 0..rounds + WARM_UP {
            let path = place(Dice::new(round + 7).below(self.files));
            let read = engine.read(Some(session), Read { path: path.clone(), ..Read::default() })?;
            engine.delivered(&read.given.ok_or("nothing was recorded")?)?;
            let text = fs::read_to_string(self.top.join(&path))?;
            let old = text.lines().next().unwrap_or_default().to_owned();
            let change = Change::Replace { new: format!("{old} {round}"), old, places: Places::One };
            let write = Operation::Write(Write { path, change, over: Over::Held });
            let edit = timed(|| {
                engine.ask::<Written>(Some(session), write.clone())?;
                Ok(())
            })?;
            let mark = timed(|| {
                engine.ask::<VersionId>(Some(session), Operation::Checkpoint { name: None })?;
                Ok(())
            })?;
            if round >= WARM_UP {
                samples.push(nanoseconds(edit), nanoseconds(mark));
            }
        }
        git(&self.top, &["checkout", "-q", "--", "."])?;
        Ok(samples)
    }

    /// A program changes a hundred files; git restores them. It changes them again; then we do.
    fn rewinds(&self, rounds: u32) -> Result<Samples, Broken> {
        let engine = self.engine()?;
        let VersionId(mark) = engine.ask::<VersionId>(None, Operation::Checkpoint { name: None })?;
        let step = self.files / TOGETHER;
        let paths: Vec<String> = (0..TOGETHER).map(|n| place(n * step + n % step)).collect();
        let before = self.texts(&paths)?;
        let mut samples = Samples::default();
        for round in 0..rounds + WARM_UP {
            self.change(&paths, round * 2)?;
            let words: Vec<&str> =
                ["checkout", "-q", "HEAD", "--"].into_iter().chain(paths.iter().map(String::as_str)).collect();
            let floor = timed(|| git(&self.top, &words))?;
            self.change(&paths, round * 2 + 1)?;
            let rewind = Rewind { to: format!("v{mark}"), paths: paths.clone(), ..Rewind::default() };
            let case = timed(|| {
                let done: Rewound = engine.ask(None, Operation::Rewind(rewind.clone()))?;
                let restored = done.written.map_or(0, |written| written.files.len());
                if restored == paths.len() { Ok(()) } else { Err(format!("{restored} files were restored").into()) }
            })?;
            if self.texts(&paths)? != before {
                return Err("the files are not as they were".into());
            }
            if round >= WARM_UP {
                samples.push(nanoseconds(floor), nanoseconds(case));
            }
        }
        Ok(samples)
    }

    fn texts(&self, paths: &[String]) -> Result<Vec<String>, Broken> {
        Ok(paths.iter().map(|path| fs::read_to_string(self.top.join(path))).collect::<Result<_, _>>()?)
    }

    fn change(&self, paths: &[String], round: u32) -> Result<(), Broken> {
        for path in paths {
            let path = self.top.join(path);
            let text = fs::read_to_string(&path)?;
            fs::write(&path, format!("{text}// changed by a program in round {round}\n"))?;
        }
        Ok(())
    }
}

fn timed(work: impl FnOnce() -> Result<(), Broken>) -> Result<Duration, Broken> {
    let begin = Instant::now();
    work()?;
    Ok(begin.elapsed())
}

fn git(top: &Path, words: &[&str]) -> Result<(), Broken> {
    finish(Command::new("git").args(["-C"]).arg(top).args(words))
}

fn finish(command: &mut Command) -> Result<(), Broken> {
    let done = command.stdin(Stdio::null()).output()?;
    if done.status.success() {
        return Ok(());
    }
    Err(format!("{command:?} ended with {}: {}", done.status, String::from_utf8_lossy(&done.stderr)).into())
}

/// How many ticks of the processor's clock a watch takes while nothing happens, the first look not counted.
fn idle_ticks(program: &Path, top: &Path, idle: Duration) -> Result<u64, Broken> {
    let mut watch = Command::new(program);
    watch.args(["watch", "--json", "--workspace"]).arg(top).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut watch = watch.spawn()?;
    let ticks = ticks_of(&mut watch, idle);
    watch.kill()?;
    watch.wait()?;
    ticks
}

fn ticks_of(watch: &mut Child, idle: Duration) -> Result<u64, Broken> {
    let said = watch.stdout.take().ok_or("the watch has no output")?;
    let begun = BufReader::new(said).lines().find(|line| line.as_ref().is_ok_and(|line| line.contains("folders")));
    begun.ok_or("nothing is watched")??;
    // What the first look left to do.
    thread::sleep(SETTLED);
    let before = ticks(watch.id())?;
    thread::sleep(idle);
    Ok(ticks(watch.id())? - before)
}

/// `utime` and `stime` of proc(5): fields 14 and 15. The name, field 2, may contain anything.
fn ticks(process: u32) -> Result<u64, Broken> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
    let (_, rest) = stat.rsplit_once(") ").ok_or("the process has no times")?;
    let mut fields = rest.split(' ').skip(11).map(str::parse::<u64>);
    let mut next = || fields.next().ok_or("the process has no times");
    Ok(next()?? + next()??)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cases_do_what_they_say() {
        let temp = tempfile::tempdir().unwrap();
        let tree = Tree::new(temp.path().join("tree"), TOGETHER * 2).unwrap();
        tree.warm_refreshes(1).unwrap();
        tree.checkpoints(1).unwrap();
        tree.rewinds(1).unwrap();
        assert!(ticks(std::process::id()).is_ok());
    }

    #[test]
    fn arguments() {
        let parse = |words: &[&str]| parse(words.iter().map(|word| (*word).to_owned()));
        assert_eq!(parse(&["--files", "500", "--check"]).map(|args| (args.files, args.check)).unwrap(), (500, true));
        assert!(parse(&["--files", "10"]).is_err() && parse(&["--tree"]).is_err());
    }
}
