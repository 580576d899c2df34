//! `bench cold [--files N] [--ripgrep PROGRAM] [--json] [--check]`: the first search for a definition in a large tree that has
//! no index, against `rg -w` of the same name in the same run. Every round has a new server, no `.readproof` and another name.

use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};
use tempfile::TempDir;

use super::planted::{Dice, language, place, plant};
use super::{
    nanoseconds,
    servers::{self, Server},
    short,
    wire::Connection,
};
use crate::{
    Broken,
    harness::{Bar, Row, Samples},
    programs::ripgrep,
    report::{self, time},
};

/// The subcommand.
pub(crate) const WORD: &str = "cold";

const FILES: u32 = 100_000;

/// Rounds that count, after one that fills the page cache.
const ROUNDS: u32 = 5;

/// How long the answer may take, as a multiple of ripgrep's.
const BAR: Bar = Bar::AtMost(3.0);

/// When the first progress, or the answer itself, must be there in every round.
const FIRST: Duration = Duration::from_secs(1);

/// In how many files each name is used beside the one that defines it.
const USES: u32 = 20;

struct Args {
    json: bool,
    check: bool,
    files: u32,
    ripgrep: Option<PathBuf>,
}

/// Measures and prints; false if `--check` was given and a bar is missed.
pub(crate) fn run(words: impl Iterator<Item = String>) -> Result<bool, Broken> {
    let args = parse(words)?;
    let ripgrep = ripgrep(args.ripgrep)?;
    let server = servers::ours()?;
    let tree = TempDir::with_prefix("readproof-cold-")?;
    let bytes = grow(tree.path(), args.files)?;
    let (mut samples, mut first) = (Samples::default(), Vec::new());
    for round in 0..=ROUNDS {
        let (rg, ours) = if round % 2 == 0 {
            let rg = search(&ripgrep, tree.path(), round, args.files)?;
            (rg, ask(&server, tree.path(), round, args.files)?)
        } else {
            let ours = ask(&server, tree.path(), round, args.files)?;
            (search(&ripgrep, tree.path(), round, args.files)?, ours)
        };
        if round > 0 {
            samples.push(nanoseconds(rg), nanoseconds(ours.answer));
            first.push(nanoseconds(ours.first));
        }
    }
    let row = samples.row("cold-symbol", "the first search for a definition, no index, against `rg -w`", BAR);
    let first = first.into_iter().max().unwrap_or(u64::MAX);
    let in_time = first <= nanoseconds(FIRST);
    print(args.json, (args.files, bytes), row, (first, in_time)).map(|holds| !args.check || holds)
}

/// Whether both bars hold.
fn print(json: bool, (files, bytes): (u32, u64), row: Row, (first, in_time): (u64, bool)) -> Result<bool, Broken> {
    let rows = [row];
    if json {
        let mut said = report::json(&rows, None);
        said["tree"] = json!({ "files": files, "bytes": bytes });
        said["first_progress"] = json!({ "longest_ns": first, "bar_ns": nanoseconds(FIRST), "holds": in_time });
        println!("{said:#}");
    } else {
        println!("{files} files, {} MB", bytes / 1_000_000);
        println!("{}", report::table(&rows, None));
        let word = if in_time { "holds" } else { "MISSED" };
        println!("first progress or answer, the longest: {}, bar ≤ {} s {word}", time(first), FIRST.as_secs());
    }
    Ok(in_time && rows[0].holds())
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<Args, Broken> {
    let mut args = Args { json: false, check: false, files: FILES, ripgrep: None };
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
        match word.as_str() {
            "--json" => args.json = true,
            "--check" => args.check = true,
            "--files" => args.files = value()?.parse().map_err(|_| "--files needs a number")?,
            "--ripgrep" => args.ripgrep = Some(value()?.into()),
            _ => return Err(format!("unknown argument {word}").into()),
        }
    }
    if args.files < 3_000 {
        return Err("--files needs at least 3000: the index of fewer is made at once".into());
    }
    Ok(args)
}

/// How long ripgrep takes.
fn search(ripgrep: &Path, tree: &Path, round: u32, files: u32) -> Result<Duration, Broken> {
    let begin = Instant::now();
    let mut command = Command::new(ripgrep);
    command.args(["--no-config", "-w", &asked(round), "."]).current_dir(tree).stdin(Stdio::null());
    let found = command.output().map_err(|error| format!("{}: {error}", ripgrep.display()))?;
    let took = begin.elapsed();
    let found = String::from_utf8_lossy(&found.stdout).into_owned();
    if found.lines().count() > 1 && found.contains(&place(definer(round, files))) {
        return Ok(took);
    }
    Err(format!("rg found something else: {}", found.chars().take(400).collect::<String>()).into())
}

struct Asked {
    first: Duration,
    answer: Duration,
}

/// How long a new server takes, without what an earlier one left.
fn ask(server: &Server, tree: &Path, round: u32, files: u32) -> Result<Asked, Broken> {
    let store = tree.join(".readproof");
    if store.exists() {
        fs::remove_dir_all(store)?;
    }
    let (mut connection, _) = Connection::open(server, tree)?;
    let arguments = json!({ "mode": "symbol", "query": asked(round) });
    let (result, first, answer) = connection.call_with_progress("search", &arguments)?;
    let text = result.pointer("/content/0/text").and_then(Value::as_str).unwrap_or_default();
    if result["isError"] == true || !text.contains(&place(definer(round, files))) {
        return Err(format!("the definition is not in the answer: {}", short(&result)).into());
    }
    Ok(Asked { first, answer })
}

/// The name that a round asks for.
fn asked(round: u32) -> String {
    format!("settle_ledger_{}", ["alpha", "beta", "gamma", "delta", "epsilon", "zeta"][round as usize % 6])
}

/// The file that defines it, anywhere in the tree.
fn definer(round: u32, files: u32) -> u32 {
    Dice::new(round + 1).below(files)
}

/// Makes the tree, with a definition and some uses of each name.
fn grow(tree: &Path, files: u32) -> Result<u64, Broken> {
    let mut extra: Vec<(u32, u32, bool)> = Vec::new();
    for round in 0..=ROUNDS {
        let mut dice = Dice::new(round + 1);
        extra.push((dice.below(files), round, true));
        extra.extend((0..USES).map(|_| (dice.below(files), round, false)));
    }
    plant(tree, files, &|number, text| {
        for (_, round, defines) in extra.iter().filter(|(at, ..)| *at == number) {
            let language = language(number);
            let line = if *defines { language.define } else { language.call };
            *text += &line(&asked(*round));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_is_the_same_in_every_run_and_has_every_name() {
        let trees = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let bytes = trees.each_ref().map(|tree| grow(tree.path(), 600).unwrap());
        assert!(bytes[0] == bytes[1] && (3_000..8_000).contains(&(bytes[0] / 600)), "{bytes:?}");
        for round in 0..=ROUNDS {
            let at = place(definer(round, 600));
            let texts = trees.each_ref().map(|tree| fs::read_to_string(tree.path().join(&at)).unwrap());
            assert!(texts[0] == texts[1] && texts[0].contains(&asked(round)), "{at}");
        }
    }

    #[test]
    fn arguments() {
        let parse = |words: &[&str]| parse(words.iter().map(|word| (*word).to_owned()));
        assert_eq!(parse(&["--files", "5000", "--check"]).map(|args| (args.files, args.check)).unwrap(), (5000, true));
        assert!(parse(&["--files", "10"]).is_err() && parse(&["x"]).is_err());
    }
}
