//! Texts made to cost a parser time or memory: every shape in every language and several sizes, each with its own server. It
//! must answer, stay small, and keep answering; and one that is told to stop must stop.

use std::{
    fs,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{Attack, server::Server};
use crate::world::Broken;

/// What is repeated.
const SHAPES: [&str; 36] = [
    "a<",
    "a=>",
    "a<b,",
    "lambda a:",
    "(",
    "[",
    "{",
    "<",
    "a?b:",
    "if(",
    "\"",
    "'",
    "a->",
    "a:",
    "a=",
    "!",
    "-",
    "*",
    "&",
    "a ",
    "`${",
    "#if\n",
    "a\n",
    "> ",
    "- ",
    "else if(a)",
    "if a ",
    "(a)",
    "a|",
    "a(",
    "f(a,",
    "<a>",
    "@a ",
    "#{",
    "\"${",
    "\\",
];

/// What files of each language end in.
const ENDINGS: [&str; 18] = [
    "java", "c", "cpp", "cs", "ts", "tsx", "js", "kt", "swift", "rs", "go", "php", "py", "rb", "sh", "json", "md",
    "toml",
];

/// How large a bomb is, in bytes.
const SIZES: [usize; 3] = [10_000, 100_000, 2_000_000];

/// No answer may take longer.
const PATIENCE: Duration = Duration::from_secs(60);
/// The most memory that the server may use, in KiB.
const MOST_MEMORY: u64 = 200 << 10;
/// The server must be free within this time of being told to stop, on a machine that does other work too.
const STOPPED: Duration = Duration::from_millis(600);

/// Tries one bomb per round, or all of them if there are more rounds than bombs.
///
/// # Errors
/// What went wrong, and with which bomb.
pub(super) fn run(attack: &Attack<'_>) -> Result<String, Broken> {
    let sized = SIZES.iter().flat_map(|bytes| SHAPES.iter().map(move |shape| (*bytes, *shape)));
    let all: Vec<(usize, &str, &str)> =
        sized.flat_map(|(bytes, shape)| ENDINGS.iter().map(move |end| (bytes, shape, *end))).collect();
    let total = all.len();
    let step = (total / usize::try_from(attack.rounds.max(1))?.min(total)).max(1);
    let skip = usize::try_from(attack.seed)? % step;
    let (mut tried, mut slowest, mut largest, mut stopping) = (0, Longest::default(), 0, Longest::default());
    for (bytes, shape, end) in all.into_iter().skip(skip).step_by(step) {
        let what = format!("{shape:?} in a .{end} of {bytes} bytes");
        let temp = tempfile::tempdir()?;
        fs::write(temp.path().join(format!("bomb.{end}")), shape.repeat(bytes / shape.len()))?;
        fs::write(temp.path().join("fine.rs"), "fn fine() {}\n")?;
        let fail = |error: Broken| -> Broken { format!("{what}: {error}").into() };
        stopping.take(stopped(attack.binary, temp.path()).map_err(fail)?, &what);
        let mut server = Server::mcp(attack.binary, &[], temp.path(), PATIENCE)?;
        let began = Instant::now();
        let answer = server.request("tools/call", &asked()).map_err(fail)?.0;
        slowest.take(began.elapsed(), &what);
        if !answer.to_string().contains("fine.rs") {
            return Err(format!("{what}: {answer}").into());
        }
        server.request("ping", &json!({})).map_err(fail)?;
        let memory = server.peak_kib()?;
        if memory > MOST_MEMORY {
            return Err(format!("{what}: {memory} KiB of memory").into());
        }
        largest = largest.max(memory);
        tried += 1;
    }
    if stopping.time > STOPPED {
        return Err(format!("stopped only after {stopping}").into());
    }
    Ok(format!("{tried} of {total} bombs, slowest {slowest}, {} MB at most, stopped within {stopping}", largest >> 10))
}

/// How long a server stays busy with a cancelled call.
fn stopped(binary: &Path, folder: &Path) -> Result<Duration, Broken> {
    let mut server = Server::mcp(binary, &[], folder, PATIENCE)?;
    let id = server.ask(json!({"jsonrpc": "2.0", "method": "tools/call", "params": asked()}))?;
    thread::sleep(Duration::from_millis(30));
    let told = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
    server.send(told.to_string())?;
    let began = Instant::now();
    server.request("tools/call", &json!({"name": "search", "arguments": {"query": "fine", "mode": "path"}}))?;
    Ok(began.elapsed())
}

fn asked() -> Value {
    json!({"name": "search", "arguments": {"query": "fine", "mode": "symbol"}})
}

/// The longest time, and what took it.
#[derive(Default)]
struct Longest {
    time: Duration,
    what: String,
}

impl Longest {
    fn take(&mut self, time: Duration, what: &str) {
        if time > self.time {
            (self.time, self.what) = (time, what.to_owned());
        }
    }
}

impl std::fmt::Display for Longest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.2?} ({})", self.time, self.what)
    }
}
