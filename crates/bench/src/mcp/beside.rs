//! `bench beside [--json] [--check] [CASE…]`: how long a ping and a read of 10 KB take while the server handles a hostile
//! call, against an idle server, and its peak memory. A hostile call is always under way; each has a new text, so that none
//! is answered from memory.

use serde_json::{Value, json};
use std::{
    fs::{self, File},
    path::Path,
    process::Command,
    time::Duration,
};
use tempfile::TempDir;

use super::{
    FILE_BYTES, nanoseconds, report,
    servers::{self, Server},
    wire::Connection,
};
use crate::{
    Broken,
    harness::{Bar, Row, Samples},
};

/// The subcommand.
pub(crate) const WORD: &str = "beside";

/// Pings and reads per case, and the same number on the idle server.
const ROUNDS: u32 = 150;

/// The longest wait, as a multiple of that on the idle server.
const BAR: Bar = Bar::AtMost(5.0);

/// The most memory a server may use, in KiB: with one case, and with all of them.
const MOST_KIB: u64 = 200 << 10;
const MOST_KIB_OF_ALL: u64 = 400 << 10;

/// A tool and its arguments.
type Call = (&'static str, Value);

/// A hostile call.
struct Case {
    name: &'static str,
    about: &'static str,
    /// Prepares the files for a call and returns it; the number is that of the call.
    make: fn(&Path, u32) -> Result<Call, Broken>,
}

const CASES: &[Case] = &[
    Case { name: "git-fifo", about: "the branch is a named pipe", make: git_fifo },
    Case { name: "git-sparse", about: "packed-refs of 5 GB", make: git_sparse },
    Case { name: "git-alternates", about: "30,000 lines of alternates", make: git_alternates },
    Case { name: "java-generics", about: "Java, `a<` 20,000 times", make: java },
    Case { name: "csharp-generics", about: "C#, 800 KB of `a<`", make: csharp },
    Case { name: "typescript-generics", about: "TypeScript, 2 MB of `a<`", make: typescript },
    Case { name: "js-lambda", about: "JavaScript, `lambda a:` 5,000 times", make: lambda },
    Case { name: "diff-lines", about: "a diff of a million lines, all of them others", make: diff },
    Case { name: "diff-blank", about: "a diff of 15 MB of newlines", make: blank },
    Case { name: "regex", about: "`(?:a{100}){1000}` in a line of 100 KB", make: regex },
    Case { name: "regex-small", about: "`(?:a{40}){25}b` in lines of 100 KB", make: small_regex },
    Case { name: "ignore-fifo", about: "a named pipe for .gitignore", make: ignore_fifo },
    Case { name: "large-read", about: "a read of 32 MB", make: large },
];

fn fifo(path: &Path) -> Result<(), Broken> {
    if fs::symlink_metadata(path).is_err() {
        let made = Command::new("mkfifo").arg(path).status()?;
        return if made.success() { Ok(()) } else { Err("mkfifo failed".into()) };
    }
    Ok(())
}

/// Just enough of a repository to be found.
fn git(folder: &Path) -> Result<Call, Broken> {
    for name in ["objects/info", "refs/heads"] {
        fs::create_dir_all(folder.join(".git").join(name))?;
    }
    fs::write(folder.join(".git/HEAD"), "ref: refs/heads/main\n")?;
    fs::write(folder.join(".git/config"), "[core]\n\tbare = false\n")?;
    Ok(("read", json!({ "mode": "diff_preview", "target": "module.rs", "against": "HEAD" })))
}

fn git_fifo(folder: &Path, _: u32) -> Result<Call, Broken> {
    let call = git(folder)?;
    fifo(&folder.join(".git/refs/heads/main"))?;
    Ok(call)
}

fn git_sparse(folder: &Path, _: u32) -> Result<Call, Broken> {
    let call = git(folder)?;
    File::create(folder.join(".git/packed-refs"))?.set_len(5 << 30)?;
    Ok(call)
}

fn git_alternates(folder: &Path, _: u32) -> Result<Call, Broken> {
    let call = git(folder)?;
    let lines: String = (0..30_000).map(|n| format!("../../{n}/objects\n")).collect();
    fs::write(folder.join(".git/objects/info/alternates"), lines)?;
    Ok(call)
}

fn symbols(folder: &Path, name: &str, text: &str, turn: u32) -> Result<Call, Broken> {
    fs::write(folder.join(name), format!("// {turn}\n{text}\n"))?;
    Ok(("search", json!({ "mode": "symbol", "query": format!("nothing{turn}") })))
}

fn java(folder: &Path, turn: u32) -> Result<Call, Broken> {
    symbols(folder, "A.java", &"a<".repeat(20_000), turn)
}

fn csharp(folder: &Path, turn: u32) -> Result<Call, Broken> {
    symbols(folder, "A.cs", &"a<".repeat(400_000), turn)
}

fn typescript(folder: &Path, turn: u32) -> Result<Call, Broken> {
    symbols(folder, "a.ts", &"a<".repeat(1_000_000), turn)
}

fn lambda(folder: &Path, turn: u32) -> Result<Call, Broken> {
    symbols(folder, "a.js", &"lambda a:".repeat(5_000), turn)
}

fn diff(folder: &Path, turn: u32) -> Result<Call, Broken> {
    let lines = |word: &str| (0..1_000_000).map(|n| format!("{word}{n}\n")).collect::<String>();
    if turn == 0 {
        fs::write(folder.join("old.txt"), lines("a"))?;
    }
    Ok(("read", json!({ "mode": "diff_preview", "target": "old.txt", "against": "WORKTREE", "content": lines("b") })))
}

fn blank(folder: &Path, turn: u32) -> Result<Call, Broken> {
    if turn == 0 {
        fs::write(folder.join("old.txt"), "\n".repeat(15_000_000))?;
    }
    let content = "\n".repeat(7_000_000 + turn as usize);
    Ok(("read", json!({ "mode": "diff_preview", "target": "old.txt", "against": "WORKTREE", "content": content })))
}

fn regex(folder: &Path, turn: u32) -> Result<Call, Broken> {
    if turn == 0 {
        fs::write(folder.join("line.txt"), "a".repeat(100_000))?;
    }
    Ok(("search", json!({ "mode": "regex", "query": "(?:a{100}){1000}" })))
}

fn small_regex(folder: &Path, turn: u32) -> Result<Call, Broken> {
    if turn == 0 {
        fs::write(folder.join("line.txt"), ("a".repeat(100_000) + "\n").repeat(20))?;
    }
    Ok(("search", json!({ "mode": "regex", "query": "(?:a{40}){25}b" })))
}

fn ignore_fifo(folder: &Path, _: u32) -> Result<Call, Broken> {
    fifo(&folder.join(".gitignore"))?;
    Ok(("search", json!({ "query": "value" })))
}

fn large(folder: &Path, turn: u32) -> Result<Call, Broken> {
    if turn == 0 {
        fs::write(folder.join("large.txt"), "some words of a line\n".repeat(1_590_000))?;
    }
    Ok(("read_file", json!({ "path": "large.txt" })))
}

/// Measures and prints; false if `--check` was given and a bar is missed.
pub(crate) fn run(words: impl Iterator<Item = String>) -> Result<bool, Broken> {
    let (mut json, mut check, mut names) = (false, false, Vec::new());
    for word in words {
        match word.as_str() {
            "--json" => json = true,
            "--check" => check = true,
            name if CASES.iter().any(|case| case.name == name) => names.push(word),
            _ => return Err(format!("unknown argument {word}").into()),
        }
    }
    let server = servers::ours()?;
    let mut rows = Vec::new();
    for case in CASES.iter().filter(|case| names.is_empty() || names.iter().any(|name| name == case.name)) {
        rows.push(measure(&server, case).map_err(|error| format!("{}: {error}", case.name))?);
    }
    let all = one_after_the_other(&server, &names)?;
    if json {
        println!("{:#}", report::beside_json(&rows, all));
    } else {
        println!("{}", report::beside_table(&rows, all));
    }
    Ok(!check || (rows.iter().all(Beside::holds) && all <= MOST_KIB_OF_ALL))
}

/// The peak memory, in KiB, of one server that handles all of them, each twice.
fn one_after_the_other(server: &Server, names: &[String]) -> Result<u64, Broken> {
    let folder = TempDir::with_prefix("readproof-beside-")?;
    fs::write(folder.path().join("module.rs"), "let value = sum(&input);\n")?;
    let (mut connection, _) = Connection::open(server, folder.path())?;
    for case in CASES.iter().filter(|case| names.is_empty() || names.iter().any(|name| name == case.name)) {
        for turn in 0..2 {
            let (tool, arguments) = (case.make)(folder.path(), turn)?;
            // An answer or a refusal: it must come.
            connection.call(tool, &arguments)?;
        }
        // A pipe there would make the next search fail at once.
        let _ = fs::remove_file(folder.path().join(".gitignore"));
    }
    connection.peak()
}

/// One line of the report.
pub(super) struct Beside {
    pub(super) ping: Row,
    pub(super) read: Row,
    /// In KiB.
    pub(super) peak: u64,
    /// How many of the hostile calls were answered meanwhile.
    pub(super) answered: u32,
}

impl Beside {
    pub(super) fn holds(&self) -> bool {
        self.ping.holds() && self.read.holds() && self.peak <= MOST_KIB
    }
}

fn measure(server: &Server, case: &Case) -> Result<Beside, Broken> {
    let folder = TempDir::with_prefix("readproof-beside-")?;
    fs::write(folder.path().join("module.rs"), "let value = sum(&input);\n".repeat(FILE_BYTES / 25))?;
    let (mut connection, _) = Connection::open(server, folder.path())?;
    let idle = waits(&mut connection, |_| Ok(()))?;
    let mut turn = 0;
    let mut under_way = 0;
    let mut answered = 0;
    let busy = waits(&mut connection, |connection| {
        if turn == 0 || connection.is_answered(under_way) {
            answered += u32::from(turn > 0);
            let (tool, arguments) = (case.make)(folder.path(), turn)?;
            under_way = connection.begin(tool, &arguments)?;
            turn += 1;
        }
        Ok(())
    })?;
    let [ping, read] = [(&idle.0, &busy.0), (&idle.1, &busy.1)].map(|(idle, busy)| {
        let mut samples = Samples::default();
        for (idle, busy) in idle.iter().zip(busy) {
            samples.push(nanoseconds(*idle), nanoseconds(*busy));
        }
        samples.row(case.name, case.about, BAR)
    });
    Ok(Beside { ping, read, peak: connection.peak()?, answered })
}

/// How long pings and reads take.
fn waits(
    connection: &mut Connection,
    mut between: impl FnMut(&mut Connection) -> Result<(), Broken>,
) -> Result<(Vec<Duration>, Vec<Duration>), Broken> {
    let (mut pings, mut reads) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        between(connection)?;
        pings.push(connection.ping()?);
        reads.push(connection.call("read_file", &json!({ "path": "module.rs", "fresh": true }))?.1);
        // Lets the hostile call progress.
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok((pings, reads))
}
