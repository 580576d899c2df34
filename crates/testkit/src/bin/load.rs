//! Load runs. `crash`: workers killed at random moments. `processes`: many processes on one store. `fulldisk` and
//! `readonly`: the store on a disk that fills up or is read-only for a while, in a private mount namespace. `clock`: the
//! clock and the files' times jump. `tamper`: audit logs that someone alters. `audit-kills`: workers with the audit on, killed. Exit code 0: all in order. 1: something was lost, altered or refused. 2: usage.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command of the test kit")]

use readproof_disk::SessionName;
use readproof_testkit::{
    load::{
        InOrder, Worker, audited,
        clock::jumps,
        processes::{Beside, crash, processes},
        queries,
        scarce::{self, Disk, Plan, Scarce},
        tamper::{agree::agree, speed::speed, tamper},
        windows::{Editor, Said, Tell},
    },
    world::Broken,
};
use std::{
    collections::BTreeMap,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    sync::Arc,
    time::Instant,
};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let Some((command, rest)) = words.split_first() else { return usage("no command") };
    let outcome = match command.as_str() {
        "worker" => worker(rest),
        "judged" => judged(rest),
        "editor" => editor(rest),
        "auditor" => auditor(rest),
        "tamper" => match options(rest, &["cases", "seed"]) {
            Ok((numbers, _)) => tampered(&numbers),
            Err(message) => return usage(&message),
        },
        "audit-bench" => match options(rest, &["lines", "seed"]) {
            Ok((numbers, _)) => audit_bench(&numbers),
            Err(message) => return usage(&message),
        },
        "audit-kills" => match options(rest, &["kills", "seed"]) {
            Ok((numbers, _)) => audit_kills(&numbers),
            Err(message) => return usage(&message),
        },
        "fulldisk" | "readonly" => match options(rest, &["rounds", "processes", "steps", "seed"]) {
            Ok(_) => return apart(&words),
            Err(message) => return usage(&message),
        },
        "replayed" => replayed(rest),
        "replay" => match options(rest, &["operations", "seed"]) {
            Ok((numbers, _)) => replay(&numbers),
            Err(message) => return usage(&message),
        },
        "clock" => match options(rest, &["steps", "seed"]) {
            Ok((numbers, _)) => clock(&numbers),
            Err(message) => return usage(&message),
        },
        "mounts" => return if scarce::may_mount() { ExitCode::SUCCESS } else { ExitCode::FAILURE },
        "inside" => match rest
            .split_first()
            .map(|(name, rest)| (name, options(rest, &["rounds", "processes", "steps", "seed"])))
        {
            Some((name, Ok((numbers, _)))) => scarce(name, &numbers, Disk::Mounted),
            _ => return usage("inside COMMAND"),
        },
        "crash" => match options(rest, &["kills", "seed"]) {
            Ok((numbers, _)) => killed(&numbers),
            Err(message) => return usage(&message),
        },
        "processes" => match options(rest, &["processes", "reads", "seed", "gc"]) {
            Ok((numbers, beside)) => together(&numbers, beside),
            Err(message) => return usage(&message),
        },
        other => return usage(&format!("unknown command {other}")),
    };
    finished(outcome)
}

fn finished(outcome: Result<(), Broken>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("FAILED: {error}");
            ExitCode::from(1)
        }
    }
}

fn usage(message: &str) -> ExitCode {
    eprintln!("{message}\nusage: load crash [--kills N] [--seed S]");
    eprintln!("       load processes [--processes N] [--reads N] [--seed S] [--gc]");
    eprintln!("       load tamper [--cases N] [--seed S]");
    eprintln!("       load audit-bench [--lines N] [--seed S]");
    eprintln!("       load audit-kills [--kills N] [--seed S]");
    eprintln!("       load clock [--steps N] [--seed S]");
    eprintln!("       load replay [--operations N] [--seed S]");
    eprintln!("       load fulldisk|readonly [--rounds N] [--processes N] [--steps N] [--seed S]");
    ExitCode::from(2)
}

type Numbers = BTreeMap<String, u64>;

fn options(words: &[String], known: &[&str]) -> Result<(Numbers, Beside), String> {
    let (mut numbers, mut beside) = (Numbers::new(), Beside::Edits);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let name = word.strip_prefix("--").filter(|name| known.contains(name)).ok_or(format!("unknown {word}"))?;
        if name == "gc" {
            beside = Beside::Removal;
            continue;
        }
        let number = words.next().and_then(|text| text.parse().ok()).ok_or(format!("{word} needs a number"))?;
        numbers.insert(name.to_owned(), number);
    }
    Ok((numbers, beside))
}

/// One process that reads and edits with the audit on until it is killed.
fn auditor(words: &[String]) -> Result<(), Broken> {
    let [root, seed] = words else { return Err("auditor ROOT SEED".into()) };
    let mut out = std::io::stdout().lock();
    audited::worker(Path::new(root), seed.parse()?, &mut |heard| {
        out.write_all(format!("{heard}\n").as_bytes())?;
        Ok(out.flush()?)
    })
}

/// The checker, from the root of the repository.
const CHECKER: &str = "integrations/verify/verify.py";

fn tampered(numbers: &Numbers) -> Result<(), Broken> {
    let (cases, seed) = (*numbers.get("cases").unwrap_or(&10_000), *numbers.get("seed").unwrap_or(&1));
    let begin = Instant::now();
    println!("{} ({:.1} s)", tamper(cases, seed)?, begin.elapsed().as_secs_f64());
    let begin = Instant::now();
    println!("{} ({:.1} s)", agree((cases / 10).max(20), seed, Path::new(CHECKER))?, begin.elapsed().as_secs_f64());
    Ok(())
}

fn audit_bench(numbers: &Numbers) -> Result<(), Broken> {
    let (lines, seed) = (*numbers.get("lines").unwrap_or(&1_000_000), *numbers.get("seed").unwrap_or(&1));
    println!("{}", speed(lines, seed)?);
    Ok(())
}

fn audit_kills(numbers: &Numbers) -> Result<(), Broken> {
    let (kills, seed) = (*numbers.get("kills").unwrap_or(&300), *numbers.get("seed").unwrap_or(&1));
    let begin = Instant::now();
    let done = audited::kills(&std::env::current_exe()?, kills, seed)?;
    println!("{done} ({:.1} s)", begin.elapsed().as_secs_f64());
    Ok(())
}

/// One of many worker processes: every acknowledgement is one line, written at once.
fn worker(words: &[String]) -> Result<(), Broken> {
    let [root, session, seed, reads] = words else { return Err("worker ROOT SESSION SEED READS".into()) };
    let session = SessionName::parse(session)?;
    let worker = Worker { root: PathBuf::from(root), session, seed: seed.parse()?, reads: reads.parse()? };
    let mut out = std::io::stdout().lock();
    worker.work(&mut |ack| {
        // One write, small enough to be atomic on a pipe.
        out.write_all(format!("{ack}\n").as_bytes())?;
        Ok(out.flush()?)
    })
}

/// One process that edits until it is killed; it reports in the same way.
fn editor(words: &[String]) -> Result<(), Broken> {
    Editor::parse(words)?.work(
        &(Arc::new(|said: &Said| {
            let mut out = std::io::stdout().lock();
            // If nobody listens, the parent is gone and will not kill us.
            if out.write_all(format!("{said}\n").as_bytes()).and_then(|()| out.flush()).is_err() {
                std::process::exit(1);
            }
        }) as Tell),
    )
}

/// One process on a full or read-only disk; it reports in the same way.
fn judged(words: &[String]) -> Result<(), Broken> {
    let mut out = std::io::stdout().lock();
    scarce::worker(words, &mut |told| {
        out.write_all(format!("{told}\n").as_bytes())?;
        Ok(out.flush()?)
    })
}

/// The same command in a private mount namespace; where that is not permitted, with limits on file sizes instead.
fn apart(words: &[String]) -> ExitCode {
    let unshare = || {
        let mut command = Command::new("unshare");
        command.arg("-rm");
        command
    };
    let outcome = std::env::current_exe().map_err(Broken::from).and_then(|program| {
        let may = unshare().arg(&program).arg("mounts").status().is_ok_and(|status| status.success());
        if may {
            let status = unshare().arg(program).arg("inside").args(words).status()?;
            return if status.success() { Ok(()) } else { Err(format!("the run ended with {status}").into()) };
        }
        eprintln!("NOTE: no file system can be mounted here, so NO REAL FULL OR READ-ONLY DISK was tried;");
        eprintln!("NOTE: a limit on what a process can write stands in for it (`ulimit -f`)");
        let (name, rest) = words.split_first().ok_or("no command")?;
        scarce(name, &options(rest, &["rounds", "processes", "steps", "seed"])?.0, Disk::Limited)
    });
    finished(outcome)
}

fn scarce(name: &str, numbers: &Numbers, disk: Disk) -> Result<(), Broken> {
    let number = |name: &str, otherwise| numbers.get(name).copied().unwrap_or(otherwise);
    let (rounds, workers) = (number("rounds", 60), number("processes", 6));
    let plan = Plan { rounds, workers, steps: number("steps", 1000), seed: number("seed", 1) };
    let run: fn(&Path, Disk, &Plan) -> Result<Scarce, Broken> =
        if name == "fulldisk" { scarce::full_disk } else { scarce::read_only };
    let begin = Instant::now();
    let done = run(&std::env::current_exe()?, disk, &plan)?;
    println!("{name}, {disk:?} disk: {plan:?} in {:.1} s\n{done}", begin.elapsed().as_secs_f64());
    print(&done.found);
    if done.plain == 0 || done.refused == 0 {
        return Err("nothing was ever scarce, so this run shows nothing".into());
    }
    Ok(())
}

fn clock(numbers: &Numbers) -> Result<(), Broken> {
    let number = |name: &str, otherwise| numbers.get(name).copied().unwrap_or(otherwise);
    let (steps, seed) = (number("steps", 5000), number("seed", 1));
    let begin = Instant::now();
    let done = jumps(steps, seed)?;
    println!("{steps} steps with and without jumps in {:.1} s (seed {seed})", begin.elapsed().as_secs_f64());
    println!(
        "{} answers and {} records, all the same; the clock went back {} times",
        done.answers, done.records, done.back
    );
    println!(
        "{} texts removed by age, none of them young; {} texts of the future left alone",
        done.removed, done.future
    );
    println!("answers: {}", listed(&done.modes));
    Ok(())
}

fn killed(numbers: &Numbers) -> Result<(), Broken> {
    let (kills, seed) = (numbers.get("kills").copied().unwrap_or(200), numbers.get("seed").copied().unwrap_or(1));
    let begin = Instant::now();
    let done = crash(&std::env::current_exe()?, kills, seed)?;
    println!(
        "{} kills in {} workspaces, {} before anything was acknowledged, in {:.1} s (seed {seed})",
        done.kills,
        done.workspaces,
        done.before_anything,
        begin.elapsed().as_secs_f64()
    );
    println!("{}", done.windows);
    print(&done.found);
    Ok(())
}

fn together(numbers: &Numbers, beside: Beside) -> Result<(), Broken> {
    let number = |name: &str, otherwise| numbers.get(name).copied().unwrap_or(otherwise);
    let (count, reads, seed) = (number("processes", 8), number("reads", 2000), number("seed", 1));
    let begin = Instant::now();
    let (found, windows) = processes(&std::env::current_exe()?, count, reads, seed, beside)?;
    let took = begin.elapsed().as_secs_f64();
    println!("{count} processes x {reads} reads, {beside:?} going on, in {took:.1} s (seed {seed})");
    println!("{windows}");
    print(&found);
    Ok(())
}

/// The store of a workspace, replayed; one line says what came of it.
fn replayed(words: &[String]) -> Result<(), Broken> {
    let [root] = words else { return Err("replayed ROOT".into()) };
    let found = queries::replayed(Path::new(root))?;
    println!("{} calls verified, {} searches, unverifiable {:?}", found.calls, found.searches, found.unverifiable);
    match found.wrong.first() {
        Some(wrong) => Err(format!("{} wrong: {wrong}", found.wrong.len()).into()),
        None => Ok(()),
    }
}

/// Mixed calls, replayed by another process in another folder, under another locale, time zone and umask.
fn replay(numbers: &Numbers) -> Result<(), Broken> {
    let number = |name: &str, otherwise| numbers.get(name).copied().unwrap_or(otherwise);
    let (operations, seed) = (number("operations", 10_000), number("seed", 1));
    let folder = tempfile::tempdir()?;
    let root = folder.path().canonicalize()?.join("ws");
    std::fs::create_dir(&root)?;
    let begin = Instant::now();
    let played = queries::play(&root, operations, seed)?;
    println!("{operations} calls in {:.1} s (seed {seed}): {:?}", begin.elapsed().as_secs_f64(), played.operations);
    println!("failed: {:?}", played.failed);
    let other = queries::elsewhere(&root)?;
    let begin = Instant::now();
    let done = Command::new("sh")
        .arg("-c")
        .arg(r#"umask 077; cd /; exec "$0" replayed "$1""#)
        .args([std::env::current_exe()?.as_os_str(), other.as_os_str()])
        .envs([("LC_ALL", "tr_TR.UTF-8"), ("LANG", "tr_TR.UTF-8"), ("TZ", "Asia/Kathmandu")])
        .output()?;
    print!("{}", String::from_utf8_lossy(&done.stdout));
    println!("replayed elsewhere in {:.1} s", begin.elapsed().as_secs_f64());
    if done.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&done.stderr).into_owned().into()) }
}

fn print(found: &InOrder) {
    println!("{} acknowledged entries, all in their logs; {} torn writes", found.acknowledged, found.torn);
    println!("{} objects, none altered", found.objects);
    let (replayed, written) = (found.replayed, found.written);
    println!("{replayed} answers and {written} writes replayed, none wrong; {} unverifiable", found.unverifiable);
    println!("{} writes announced and never recorded as done", found.unfinished);
    println!("answers: {}", listed(&found.modes));
}

fn listed(modes: &BTreeMap<String, u64>) -> String {
    modes.iter().map(|(mode, count)| format!("{mode} {count}")).collect::<Vec<_>>().join(", ")
}
