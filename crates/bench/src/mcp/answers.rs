//! `bench answers [--json] [--check]`: how many characters the model is sent for common questions, by our MCP server and by the
//! shell, in a tree of 700 real Rust files. Sizes do not depend on the machine, so each is taken once.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use super::{servers, wire::Connection};
use crate::{Broken, symbols};

/// The subcommand.
pub(crate) const WORD: &str = "answers";

/// An answer may have this share more than the shell's.
const MORE: f64 = 1.05;

/// What a trailer may take beside that.
const TRAILER: f64 = 60.0;

/// One question, asked in both ways.
struct Question {
    name: &'static str,
    tool: &'static str,
    arguments: fn() -> Value,
    shell: &'static str,
    /// Whether it is about a definition; then the answer must be shorter than the shell's with a trailer's room.
    symbol: bool,
}

const QUESTIONS: &[Question] = &[
    Question {
        name: "a large file",
        tool: "read",
        arguments: || json!({"path": "gix-pack/data/output/entry/iter_from_counts.rs"}),
        shell: "cat gix-pack/data/output/entry/iter_from_counts.rs",
        symbol: false,
    },
    Question {
        name: "a small file",
        tool: "read",
        arguments: || json!({"path": "gix/head/peel.rs"}),
        shell: "cat gix/head/peel.rs",
        symbol: false,
    },
    Question {
        name: "twenty lines",
        tool: "read",
        arguments: || json!({"path": "gix/head/peel.rs", "start_line": 41, "end_line": 60}),
        shell: "sed -n 41,60p gix/head/peel.rs",
        symbol: false,
    },
    Question {
        name: "one method",
        tool: "read",
        arguments: || json!({"mode": "symbol", "target": "Repository::head_commit"}),
        shell: "grep -rn -A 20 'fn head_commit' .",
        symbol: true,
    },
    Question {
        name: "where a type is",
        tool: "search",
        arguments: || json!({"mode": "symbol", "query": "ThreadSafeRepository"}),
        shell: "grep -rnE '(struct|enum|trait|type) ThreadSafeRepository\\b' .",
        symbol: true,
    },
    Question {
        name: "where a function is",
        tool: "search",
        arguments: || json!({"mode": "symbol", "query": "head_commit"}),
        shell: "grep -rnE 'fn head_commit\\b' .",
        symbol: true,
    },
    Question {
        name: "callers",
        tool: "search",
        arguments: || json!({"mode": "regex", "query": "\\.head_commit\\(", "limit": 1000}),
        shell: "grep -rnE '\\.head_commit\\(' .",
        symbol: false,
    },
    Question {
        name: "find a file",
        tool: "search",
        arguments: || json!({"mode": "path", "query": "iter_from_counts.rs"}),
        shell: "find . -name 'iter_from_counts.rs'",
        symbol: false,
    },
    Question {
        name: "what is in a folder",
        tool: "list",
        arguments: || json!({"path": "gix/head"}),
        shell: "wc -lc gix/head/*",
        symbol: false,
    },
    Question {
        name: "what a file defines",
        tool: "outline",
        arguments: || json!({"path": "gix/head/peel.rs"}),
        shell: "grep -nE '^ *(pub(\\([a-z]+\\))? )?(fn|struct|enum|trait|type|const|mod|impl)\\b' gix/head/peel.rs",
        symbol: true,
    },
];

struct Sizes {
    question: &'static Question,
    ours: usize,
    shell: usize,
}

impl Sizes {
    fn most(&self) -> f64 {
        // Sizes are far below what a float can hold.
        #[allow(clippy::cast_precision_loss, reason = "sizes are small")]
        let shell = self.shell as f64;
        shell * MORE + TRAILER
    }

    fn holds(&self) -> bool {
        #[allow(clippy::cast_precision_loss, reason = "sizes are small")]
        let ours = self.ours as f64;
        if self.question.symbol { ours < self.most() } else { ours <= self.most() }
    }
}

/// Whether every row holds, or `--check` is not given.
pub(crate) fn run(words: impl Iterator<Item = String>) -> Result<bool, Broken> {
    let words: Vec<String> = words.collect();
    if let Some(other) = words.iter().find(|word| !matches!(word.as_str(), "--json" | "--check")) {
        return Err(format!("unknown argument {other}; usage: bench answers [--json] [--check]").into());
    }
    let has = |word: &str| words.iter().any(|other| other == word);
    let tree = symbols::tree()?;
    let (mut server, _) = Connection::open(&servers::ours()?, tree.path())?;
    let mut rows = Vec::new();
    for question in QUESTIONS {
        let (result, _) = server.call(question.tool, &(question.arguments)())?;
        if result["isError"] == true {
            return Err(format!("{}: {result}", question.name).into());
        }
        let blocks = result["content"].as_array().into_iter().flatten();
        let ours = blocks.filter_map(|block| block["text"].as_str()).map(|text| text.chars().count()).sum();
        rows.push(Sizes { question, ours, shell: shell(tree.path(), question)? });
    }
    if has("--json") {
        let row = |row: &Sizes| json!({"case": row.question.name, "ours": row.ours, "shell": row.shell, "holds": row.holds()});
        println!("{:#}", json!({"cases": rows.iter().map(row).collect::<Vec<_>>()}));
    } else {
        println!("| question | readproof | shell | at most | |\n| --- | --- | --- | --- | --- |");
        for row in &rows {
            let word = if row.holds() { "" } else { "MISSED" };
            println!("| {} | {} | {} | {:.0} | {word} |", row.question.name, row.ours, row.shell, row.most());
        }
    }
    Ok(!has("--check") || rows.iter().all(Sizes::holds))
}

/// How many characters a command prints.
fn shell(folder: &Path, question: &Question) -> Result<usize, Broken> {
    let done = Command::new("sh").args(["-c", question.shell]).current_dir(folder).stdin(Stdio::null()).output()?;
    let printed = String::from_utf8_lossy(&done.stdout).chars().count();
    if printed == 0 { Err(format!("{} prints nothing", question.shell).into()) } else { Ok(printed) }
}
