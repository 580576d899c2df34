//! Requests of every shape, whole and broken, to one server: it survives, answers each whole request once under its id, every
//! line it writes conforms to the protocol, and its memory does not grow.

use serde_json::{Map, Value, json};
use std::{fs, time::Duration};

use super::{Attack, server::Server};
use crate::{op::Random, world::Broken};

/// Requests between two checks of the server.
const BATCH: u64 = 50;

/// After this time a call counts as hanging.
const PATIENCE: Duration = Duration::from_secs(60);

/// The most memory it may use.
const MOST_KIB: u64 = 200 << 10;

const TOOLS: [&str; 16] = [
    "read",
    "search",
    "stat_file",
    "search_in_file",
    "read_file_range",
    "read_file_head",
    "read_file_tail",
    "read_file",
    "readcache_refresh",
    "readcache_status",
    "get_snippet",
    "read_symbol",
    "dry_run_diff",
    "no_such",
    "",
    "READ",
];

const NAMES: [&str; 24] = [
    "path",
    "target",
    "mode",
    "query",
    "offset",
    "limit",
    "start_line",
    "end_line",
    "max_lines",
    "known",
    "fresh",
    "glob",
    "is_regex",
    "against",
    "content",
    "context_lines",
    "include_context",
    "preview_mode",
    "before_lines",
    "file_path",
    "max_matches",
    "id",
    "_meta",
    "",
];

const TEXTS: [&str; 24] = [
    "a.txt",
    "src/b.rs",
    "file",
    "symbol",
    "snippet",
    "diff_preview",
    "HEAD",
    "INDEX",
    "WORKTREE",
    "text",
    "regex",
    "path",
    "..",
    "/etc/passwd",
    "a.txt:1-3",
    "(?:a{9}){9}",
    "**/*",
    "h1-0-0",
    "",
    "\u{0}",
    "\u{202e}x",
    "*",
    "fn b",
    "-1",
];

/// Runs it.
pub(super) fn run(attack: &Attack<'_>) -> Result<String, Broken> {
    let folder = tempfile::tempdir()?;
    fs::create_dir(folder.path().join("src"))?;
    fs::write(folder.path().join("a.txt"), "some words\n".repeat(40))?;
    fs::write(folder.path().join("src/b.rs"), "fn b() {}\nstruct A;\n".repeat(9))?;
    let mut random = Random::new(attack.seed);
    let mut server = Server::mcp(attack.binary, &["--tools", "all"], folder.path(), PATIENCE)?;
    let (mut whole, mut torn, mut answers) = (0_u64, 0_u64, 0_u64);
    let mut next = 0;
    while next < attack.rounds {
        let mut waiting = Vec::new();
        for _ in 0..BATCH.min(attack.rounds - next) {
            next += 1;
            let request = request(next, &mut random);
            let line = request.to_string();
            if random.below(3) == 0 {
                torn += 1;
                server.send(tear(line.into_bytes(), &mut random))?;
            } else {
                whole += 1;
                waiting.push(next);
                server.send(line)?;
            }
        }
        server.send(json!({"jsonrpc": "2.0", "id": "end", "method": "ping"}).to_string())?;
        let mut pinged = false;
        while !(pinged && waiting.is_empty()) {
            let message = server.message()?;
            if message["jsonrpc"] != "2.0" || (message.get("result").is_some() == message.get("error").is_some()) {
                return Err(format!("no answer of the protocol: {message}").into());
            }
            answers += 1;
            pinged |= message["id"] == "end";
            waiting.retain(|id| message["id"] != *id);
        }
    }
    let peak = server.peak_kib()?;
    if peak > MOST_KIB {
        return Err(format!("the server had {peak} KiB").into());
    }
    Ok(format!("{whole} whole and {torn} torn requests, {answers} answers, {} MiB at most", peak >> 10))
}

/// A request that is well-formed JSON-RPC, whatever its parameters are.
fn request(id: u64, random: &mut Random) -> Value {
    let tool = random.pick(&TOOLS).copied().unwrap_or_default();
    let mut arguments = Map::new();
    for _ in 0..random.below(5) {
        let name = random.pick(&NAMES).copied().unwrap_or_default();
        arguments.insert(name.to_owned(), value(random, 3));
    }
    let params = match random.below(20) {
        0 => value(random, 4),
        1 => json!({"name": value(random, 1), "arguments": arguments}),
        2 => json!({"name": tool, "arguments": value(random, 2)}),
        3 => json!({"name": tool, "arguments": arguments, "_meta": value(random, 3)}),
        _ => json!({"name": tool, "arguments": arguments}),
    };
    let method = ["tools/call", "tools/list", "ping", "no/such", "resources/read"][random.below(12).saturating_sub(7)];
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn value(random: &mut Random, depth: usize) -> Value {
    match random.below(if depth == 0 { 6 } else { 8 }) {
        0 => Value::Null,
        1 => json!(random.below(2) == 0),
        2 => json!(random.below(200)),
        3 => json!(random.bits().cast_signed()),
        4 | 5 => json!(random.pick(&TEXTS)),
        6 => (0..random.below(4)).map(|_| value(random, depth - 1)).collect(),
        _ => {
            let fields = (0..random.below(4)).map(|_| {
                let name = random.pick(&NAMES).copied().unwrap_or_default();
                (name.to_owned(), value(random, depth - 1))
            });
            Value::Object(fields.collect())
        }
    }
}

/// Damages a line; its id may no longer be valid.
fn tear(mut line: Vec<u8>, random: &mut Random) -> Vec<u8> {
    for _ in 0..=random.below(3) {
        let at = random.below(line.len());
        match random.below(5) {
            0 => line.truncate(at),
            1 => line.insert(at, u8::try_from(random.below(256)).unwrap_or(0)),
            2 => line.splice(at..at, "[".repeat(random.below(300)).into_bytes()).for_each(drop),
            3 => line.splice(at..at, *b"\\ud83d").for_each(drop),
            _ => {
                if let Some(byte) = line.get_mut(at) {
                    *byte ^= 1 << random.below(8);
                }
            }
        }
    }
    // It must stay one line.
    line.retain(|byte| *byte != b'\n');
    line
}
