//! `fuzz [TARGET…] [--inputs N] [--seed S] [--input FILE] [--out FOLDER] [--starts FOLDER]`: runs targets on millions of
//! inputs; `--starts` only writes the inputs that a target starts from. Exit code 0: nothing failed, and every target both
//! accepted and refused some. 1: an input failed or hung, or a target only accepted or only refused.
//! 2: usage.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a developer's command talks to the terminal")]

use readproof_fuzz::{
    TARGETS, Target, corpus,
    driver::{self, Finding, Report},
    targets,
};
use std::{
    fs,
    io::IsTerminal,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

/// The longest time for one input, in seconds.
const PATIENCE: u32 = 30;

struct Args {
    targets: Vec<Target>,
    inputs: u64,
    seed: u64,
    input: Option<PathBuf>,
    out: PathBuf,
    starts: Option<PathBuf>,
}

fn main() -> ExitCode {
    let args = match parse(std::env::args().skip(1)) {
        Ok(args) => args,
        Err(message) => {
            eprintln!(
                "{message}\nusage: fuzz [TARGET…] [--inputs N] [--seed S] [--input FILE] [--out FOLDER] [--starts FOLDER]"
            );
            for target in TARGETS {
                eprintln!("  {:8} accepted when {}", target.name, target.accepts);
            }
            return ExitCode::from(2);
        }
    };
    match (&args.input, &args.starts, args.targets.as_slice()) {
        (Some(file), _, [target]) => repeat(target, file),
        (_, Some(folder), [target]) => starts(target, folder, args.seed),
        _ => all(&args),
    }
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<Args, String> {
    let mut args = Args {
        targets: Vec::new(),
        inputs: 1_000_000,
        seed: 1,
        input: None,
        out: PathBuf::from("target/fuzzed"),
        starts: None,
    };
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} needs a value"));
        let number = |text: String| text.replace('_', "").parse().map_err(|_| format!("{text} is not a number"));
        match word.as_str() {
            "--inputs" => args.inputs = number(value()?)?,
            "--seed" => args.seed = number(value()?)?,
            "--input" => args.input = Some(PathBuf::from(value()?)),
            "--starts" => args.starts = Some(PathBuf::from(value()?)),
            "--out" => args.out = PathBuf::from(value()?),
            name => args.targets.push(targets::named(name).ok_or(format!("{name} is no target"))?),
        }
    }
    if (args.input.is_some() || args.starts.is_some()) && args.targets.len() != 1 {
        return Err("--input and --starts need one target".to_owned());
    }
    if args.targets.is_empty() {
        args.targets = TARGETS.to_vec();
    }
    Ok(args)
}

/// Runs one input again and prints its outcome.
fn repeat(target: &Target, file: &Path) -> ExitCode {
    let Ok(input) = fs::read(file) else {
        eprintln!("{} cannot be read", file.display());
        return ExitCode::from(2);
    };
    match driver::caught(target, &input) {
        Ok(seen) => {
            println!(
                "{}: {} bytes hold, {}",
                target.name,
                input.len(),
                if seen.accepted { "accepted" } else { "refused" }
            );
            ExitCode::SUCCESS
        }
        Err(message) => {
            println!("{}: {message}\n{}", target.name, input.escape_ascii());
            ExitCode::from(1)
        }
    }
}

/// Writes kept inputs, generated ones and the words of the format, for another fuzzer to start from.
fn starts(target: &Target, folder: &Path, seed: u64) -> ExitCode {
    match corpus::write_starts(target, folder, seed) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{} cannot be written: {error}", folder.display());
            ExitCode::from(2)
        }
    }
}

fn all(args: &Args) -> ExitCode {
    println!(
        "{:8} {:>12} {:>9} {:>10} {:>12} {:>12} {:>7}",
        "target", "inputs", "seconds", "inputs/s", "accepted", "refused", "kinds"
    );
    let mut failed = false;
    for target in &args.targets {
        let kept = match corpus::load(target.name) {
            Ok(kept) => kept,
            Err(error) => {
                eprintln!("the kept inputs of {} cannot be read: {error}", target.name);
                return ExitCode::from(2);
            }
        };
        let begin = Instant::now();
        let outcome = watched(target, &kept, args);
        let seconds = begin.elapsed().as_secs_f64();
        match outcome {
            Ok(report) => {
                println!("{}", row(target, &report, seconds));
                if let Some(why) = report.shallow() {
                    println!("FAILED: {}: {why}", target.name);
                    failed = true;
                }
            }
            Err(found) => {
                tell(target, &found, &args.out);
                failed = true;
            }
        }
    }
    ExitCode::from(u8::from(failed))
}

fn row(target: &Target, report: &Report, seconds: f64) -> String {
    let Report { inputs, accepted, refused, kinds, .. } = report;
    #[allow(clippy::cast_precision_loss, reason = "a rate for people")]
    let rate = *inputs as f64 / seconds;
    format!("{:8} {inputs:>12} {seconds:>9.1} {rate:>10.0} {accepted:>12} {refused:>12} {kinds:>7}", target.name)
}

fn tell(target: &Target, found: &Finding, out: &Path) {
    println!("FAILED: {} at input {}: {}", target.name, found.after, found.message);
    println!("  {} bytes: {}", found.input.len(), found.input.escape_ascii());
    match corpus::save(out, target.name, &found.input) {
        Ok(path) => println!("  again: cargo xtask fuzz {} --input {}", target.name, path.display()),
        Err(error) => println!("  it could not be saved below {}: {error}", out.display()),
    }
}

/// A run with another thread that prints progress and ends it if an input takes too long.
fn watched(target: &Target, kept: &[Vec<u8>], args: &Args) -> Result<Report, Box<Finding>> {
    let now = Arc::new(Mutex::new(Some((0_u64, Vec::new()))));
    let seen = Arc::clone(&now);
    let (target, out, inputs) = (*target, args.out.clone(), args.inputs);
    let begin = Instant::now();
    let watcher = thread::spawn(move || watch(&seen, &target, &out, inputs, begin));
    let outcome = driver::run(&target, kept, args.inputs, args.seed, &mut |number, input| {
        if let Some((at, bytes)) = now.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            *at = number;
            bytes.clear();
            bytes.extend_from_slice(input);
        }
    });
    *now.lock().unwrap_or_else(PoisonError::into_inner) = None;
    watcher.thread().unpark();
    // It only prints, so a failure does not matter.
    let _ = watcher.join();
    outcome
}

type Now = Mutex<Option<(u64, Vec<u8>)>>;

fn watch(now: &Now, target: &Target, out: &Path, inputs: u64, begin: Instant) {
    let show = std::io::stderr().is_terminal();
    let (mut last, mut still) = (u64::MAX, 0);
    loop {
        thread::park_timeout(Duration::from_secs(1));
        let Some((at, input)) = now.lock().unwrap_or_else(PoisonError::into_inner).clone() else { break };
        still = if at == last { still + 1 } else { 0 };
        last = at;
        if show {
            eprint!("\r{}: {at} of {inputs}, {} s ", target.name, begin.elapsed().as_secs());
        }
        if still >= PATIENCE {
            let message = format!("one input takes more than {PATIENCE} s");
            tell(target, &Finding { input, message, after: at }, out);
            std::process::exit(1);
        }
    }
    if show {
        eprint!("\r\u{1b}[K");
    }
}
