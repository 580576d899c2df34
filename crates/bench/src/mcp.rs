//! `bench mcp --node NODE --official SCRIPT --rust PROGRAM [--json] [--check] [--rounds N]`: our MCP server against two
//! others over stdio, on the same files, for the same text. The servers take turns round by round. Only pipes are in the
//! timed path; answers are checked after the clock has stopped.

pub(crate) mod answers;
pub(crate) mod beside;
pub(crate) mod claude_code;
pub(crate) mod cold;
pub(crate) mod history;
pub(crate) mod planted;
mod report;
mod servers;
mod wire;

use std::{fs, path::Path, path::PathBuf, time::Duration};

use serde_json::Value;
use tempfile::TempDir;

use crate::{
    Broken,
    harness::{Bar, Spread},
};
use servers::Server;
use wire::Connection;

/// The subcommand.
pub(crate) const WORD: &str = "mcp";

const STARTS: u32 = 40;
const ROUNDS: u32 = 30;
const FILES: u32 = 100;
const FILE_BYTES: usize = 10_000;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Nanoseconds,
    Kibibytes,
}

struct Measure {
    name: &'static str,
    unit: Unit,
    /// For the ratio to the best of the other servers; `None` if the figure is only shown.
    bar: Option<Bar>,
    of: fn(&mut Samples) -> &mut Vec<u64>,
}

const MEASURES: &[Measure] = &[
    Measure {
        name: "start to `initialize`",
        unit: Unit::Nanoseconds,
        bar: Some(Bar::Below(1.0)),
        of: |samples| &mut samples.start,
    },
    Measure {
        name: "first read",
        unit: Unit::Nanoseconds,
        bar: Some(Bar::AtMost(1.2)),
        of: |samples| &mut samples.first,
    },
    Measure {
        name: "unchanged re-read",
        unit: Unit::Nanoseconds,
        bar: Some(Bar::Below(1.0)),
        of: |samples| &mut samples.again,
    },
    Measure { name: "RSS after start", unit: Unit::Kibibytes, bar: None, of: |samples| &mut samples.rss_start },
    Measure {
        name: "RSS after the reads",
        unit: Unit::Kibibytes,
        bar: Some(Bar::AtMost(2.0)),
        of: |samples| &mut samples.rss_end,
    },
];

/// The samples of one server.
#[derive(Debug, Default)]
struct Samples {
    start: Vec<u64>,
    first: Vec<u64>,
    again: Vec<u64>,
    rss_start: Vec<u64>,
    rss_end: Vec<u64>,
}

/// One line of the report: the servers' figures in their order, ours first.
#[derive(Debug)]
struct Row {
    name: &'static str,
    unit: Unit,
    bar: Option<Bar>,
    figures: Vec<Spread>,
}

struct Args {
    json: bool,
    check: bool,
    rounds: u32,
    node: PathBuf,
    official: PathBuf,
    rust: PathBuf,
}

/// Measures and prints; false if `--check` was given and a bar is missed.
pub(crate) fn run(words: impl Iterator<Item = String>) -> Result<bool, Broken> {
    let args = parse(words)?;
    let servers = [servers::ours()?, servers::rust(args.rust), servers::official(args.node, args.official)];
    let samples = measure(&servers, args.rounds)?;
    let names: Vec<&str> = servers.iter().map(|server| server.name).collect();
    let rows = rows(samples);
    if args.json {
        println!("{:#}", report::json(&names, &rows));
    } else {
        println!("{}", report::table(&names, &rows, args.rounds));
    }
    Ok(!args.check || rows.iter().all(Row::holds))
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<Args, Broken> {
    let (mut json, mut check, mut rounds) = (false, false, ROUNDS);
    let (mut node, mut official, mut rust) = (None, None, None);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
        match word.as_str() {
            "--json" => json = true,
            "--check" => check = true,
            "--rounds" => rounds = value()?.parse()?,
            "--node" => node = Some(value()?.into()),
            "--official" => official = Some(value()?.into()),
            "--rust" => rust = Some(value()?.into()),
            _ => return Err(format!("unknown argument {word}").into()),
        }
    }
    let missing = "--node, --official and --rust name the other servers; `cargo xtask mcp-bench` fetches them";
    Ok(Args {
        json,
        check,
        rounds,
        node: node.ok_or(missing)?,
        official: official.ok_or(missing)?,
        rust: rust.ok_or(missing)?,
    })
}

/// Measures starts first, then rounds of reads, each with new files and a new process.
fn measure(servers: &[Server], rounds: u32) -> Result<Vec<Samples>, Broken> {
    let mut samples: Vec<Samples> = servers.iter().map(|_| Samples::default()).collect();
    let texts: Vec<String> = (0..FILES).map(text).collect();
    let folder = workspace(&texts)?;
    for turn in 0..STARTS {
        for (server, samples) in in_turn(turn, servers, &mut samples) {
            let (connection, took) = Connection::open(server, folder.path()).map_err(|error| said(server, &error))?;
            samples.start.push(nanoseconds(took));
            samples.rss_start.push(connection.rss()?);
        }
    }
    for turn in 0..rounds {
        for (server, samples) in in_turn(turn, servers, &mut samples) {
            reads(server, &texts, samples).map_err(|error| said(server, &error))?;
        }
    }
    Ok(samples)
}

/// Every server with its samples; each turn begins with another one.
fn in_turn<'a>(
    turn: u32,
    servers: &'a [Server],
    samples: &'a mut [Samples],
) -> impl Iterator<Item = (&'a Server, &'a mut Samples)> {
    let mut pairs: Vec<_> = servers.iter().zip(samples).collect();
    let begin = usize::try_from(turn).unwrap_or(0) % pairs.len().max(1);
    pairs.rotate_left(begin);
    pairs.into_iter()
}

/// Every file once, then every file again.
fn reads(server: &Server, texts: &[String], samples: &mut Samples) -> Result<(), Broken> {
    let folder = workspace(texts)?;
    let (mut connection, _) = Connection::open(server, folder.path())?;
    let mut handles = Vec::new();
    for (number, expected) in texts.iter().enumerate() {
        let (result, took) = connection.call(server.tool, &(server.read)(folder.path(), &name(number)))?;
        samples.first.push(nanoseconds(took));
        is_text(&result, expected)?;
        handles.push(server.handle(&result)?);
    }
    for ((number, expected), handle) in texts.iter().enumerate().zip(handles) {
        let mut arguments = (server.read)(folder.path(), &name(number));
        if let (Some(handle), Some(object)) = (&handle, arguments.as_object_mut()) {
            object.insert("known".to_owned(), Value::String(handle.clone()));
        }
        let (result, took) = connection.call(server.tool, &arguments)?;
        samples.again.push(nanoseconds(took));
        if handle.is_some() { is_marker(&result)? } else { is_text(&result, expected)? }
    }
    samples.rss_end.push(connection.rss()?);
    Ok(())
}

fn is_text(result: &Value, expected: &str) -> Result<(), Broken> {
    if first_block(result) == Some(expected) {
        return Ok(());
    }
    Err(format!("another text came than the file's: {}", short(result)).into())
}

fn is_marker(result: &Value) -> Result<(), Broken> {
    if first_block(result).is_some_and(|text| text.starts_with("[readcache: unchanged")) {
        return Ok(());
    }
    Err(format!("no marker came for a file that is held: {}", short(result)).into())
}

fn first_block(result: &Value) -> Option<&str> {
    result.pointer("/content/0/text")?.as_str()
}

fn short(result: &Value) -> String {
    result.to_string().chars().take(400).collect()
}

fn said(server: &Server, error: &Broken) -> Broken {
    format!("{}: {error}", server.name).into()
}

fn workspace(texts: &[String]) -> Result<TempDir, Broken> {
    let folder = TempDir::with_prefix("readproof-mcp-bench-")?;
    for (number, text) in texts.iter().enumerate() {
        fs::write(folder.path().join(name(number)), text)?;
    }
    Ok(folder)
}

fn name(number: usize) -> String {
    format!("module_{number:03}.rs")
}

/// Code-like text, different for each number.
fn text(number: u32) -> String {
    let mut text = format!("//! Module {number}: naïve sums — made for measuring.\n\n");
    for line in 0_u32.. {
        let code =
            format!("    let value_{line} = sum(&input[{line}], \"{number}\", {}); // ≤ limit\n", line * number % 977);
        if text.len() + code.len() >= FILE_BYTES {
            break;
        }
        text += &code;
    }
    let rest = FILE_BYTES.saturating_sub(text.len() + 1);
    text + &"/".repeat(rest) + "\n"
}

pub(crate) fn nanoseconds(took: Duration) -> u64 {
    u64::try_from(took.as_nanos()).unwrap_or(u64::MAX)
}

fn rows(mut samples: Vec<Samples>) -> Vec<Row> {
    let row = |measure: &Measure| {
        let figures = samples.iter_mut().map(|one| Spread::of(std::mem::take((measure.of)(one)))).collect();
        Row { name: measure.name, unit: measure.unit, bar: measure.bar, figures }
    };
    MEASURES.iter().map(row).collect()
}

impl Row {
    /// Our median divided by that of the best other server.
    #[allow(clippy::cast_precision_loss, reason = "nanoseconds of one call are far below 2^52")]
    fn ratio(&self) -> Option<f64> {
        let (ours, others) = self.figures.split_first()?;
        let best = others.iter().map(|other| other.median).min()?;
        Some(ours.median as f64 / best.max(1) as f64)
    }

    fn holds(&self) -> bool {
        self.bar.is_none_or(|bar| self.ratio().is_some_and(|ratio| bar.holds(ratio)))
    }
}

/// One of the kernel's figures for a process's memory, in KiB.
pub(crate) fn memory(process: u32, word: &str) -> Result<u64, Broken> {
    let path = Path::new("/proc").join(process.to_string()).join("status");
    let status = fs::read_to_string(path)?;
    let line = status.lines().find_map(|line| line.strip_prefix(word)).ok_or("the process has no memory")?;
    Ok(line.trim().trim_end_matches("kB").trim().parse()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_one_size_and_fit_one_answer() {
        for number in [0, 1, 99] {
            let text = text(number);
            assert_eq!(text.len(), FILE_BYTES);
            assert!(text.lines().count() < 300, "{}", text.lines().count());
        }
        assert_ne!(text(1), text(2));
    }

    #[test]
    fn a_bar_is_held_against_the_best_of_the_others() {
        let spread = |median| Spread { p10: median, median, p90: median };
        let row = |bar, ours| Row {
            name: "x",
            unit: Unit::Nanoseconds,
            bar,
            figures: vec![spread(ours), spread(20), spread(10)],
        };
        assert!(row(Some(Bar::Below(1.0)), 9).holds() && !row(Some(Bar::Below(1.0)), 10).holds());
        assert!(row(Some(Bar::AtMost(1.2)), 12).holds() && !row(Some(Bar::AtMost(1.2)), 13).holds());
        assert!(row(None, 1000).holds());
    }

    #[test]
    fn every_server_begins_in_its_turn() {
        let names = |turn| -> Vec<&str> {
            let servers = ["a", "b", "c"].map(servers::named);
            let mut samples: Vec<Samples> = servers.iter().map(|_| Samples::default()).collect();
            in_turn(turn, &servers, &mut samples).map(|(server, _)| server.name).collect()
        };
        assert_eq!(names(0), ["a", "b", "c"]);
        assert_eq!(names(4), ["b", "c", "a"]);
    }

    #[test]
    fn this_process_has_memory() {
        assert!(memory(std::process::id(), "VmRSS:").unwrap() > 100);
    }
}
