//! `cargo xtask`: the repository's development commands. One table lists them all.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a developer's command talks to the terminal")]

mod ctags;
mod fetch;
mod fuzz;
mod hosts;
mod mcp;
mod mutants;
mod pi;
mod process;
mod ripgrep;
mod test;
mod testkit;
mod tidy;

use std::{
    env, io,
    path::{Path, PathBuf},
    process::ExitCode,
};

/// Why a command did not succeed: the message and the exit code.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: u8,
    pub(crate) message: String,
}

impl Failure {
    /// A check failed, or something it needs is missing.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self { code: 1, message: message.into() }
    }

    /// A file or folder could not be read, written, moved or removed.
    pub(crate) fn io(path: &Path, error: &io::Error) -> Self {
        Self::failed(format!("{}: {error}", path.display()))
    }

    /// A program did not start: it is not installed, or may not be run.
    pub(crate) fn not_started(program: &str, error: &io::Error) -> Self {
        Self::failed(format!("{program} could not be started: {error}"))
    }

    /// The command line was not understood.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { code: 2, message: message.into() }
    }
}

struct Command {
    name: &'static str,
    arguments: &'static str,
    about: &'static str,
    run: fn(&Path, &[String]) -> Result<(), Failure>,
}

const COMMANDS: &[Command] = &[
    Command {
        name: "check",
        arguments: "",
        about: "the quick checks, without network: fmt, build, clippy, tests, scenarios, tidy, short soundness runs",
        run: test::check,
    },
    Command {
        name: "test",
        arguments: "",
        about: "every check: the above, and with the network ripgrep, the real pi, real MCP clients, universal-ctags",
        run: test::test,
    },
    Command { name: "tidy", arguments: "", about: "the repository's own rules alone", run: tidy::run },
    Command {
        name: "soundness",
        arguments: "--steps N --seed S …",
        about: "random runs judged by the reader, in release; all arguments are passed on",
        run: testkit::soundness,
    },
    Command {
        name: "edits",
        arguments: "[--count N] [--seed S]",
        about: "edits of real files in every dialect with the usual mistakes: each is exactly what was meant, or refused",
        run: testkit::edits,
    },
    Command {
        name: "mutants",
        arguments: "[NAME…] [--steps N] [--seed S] [--jobs N] [--list]",
        about: "puts each known hole back into a copy of the tree and requires that the reader catches it",
        run: mutants::run,
    },
    Command {
        name: "crash",
        arguments: "[--kills N] [--seed S]",
        about: "kills workers with SIGKILL at random moments: nothing acknowledged is lost, every log replays",
        run: testkit::crash,
    },
    Command {
        name: "tamper",
        arguments: "[--cases N] [--seed S]",
        about: "random alterations of audit logs, all found and named; proofs before three judges that must agree",
        run: testkit::tamper,
    },
    Command {
        name: "audit-bench",
        arguments: "[--lines N] [--seed S]",
        about: "how long a proof and the verification take in an audit log of a million lines",
        run: testkit::audit_bench,
    },
    Command {
        name: "audit-kills",
        arguments: "[--kills N] [--seed S]",
        about: "kills workers with the audit on: every acknowledged edit has its line, and what is missing is counted",
        run: testkit::audit_kills,
    },
    Command {
        name: "processes",
        arguments: "[--processes N] [--reads N] [--seed S] [--gc]",
        about: "many processes edit and read on one store: no error, no altered object, every log replays",
        run: testkit::processes,
    },
    Command {
        name: "fulldisk",
        arguments: "[--rounds N] [--processes N] [--steps N] [--seed S]",
        about: "a small disk fills up and is freed, with kills: every read is answered, nothing acknowledged is lost",
        run: testkit::fulldisk,
    },
    Command {
        name: "readonly",
        arguments: "[--rounds N] [--processes N] [--steps N] [--seed S]",
        about: "a disk is read-only for a while: every read is answered, no edit is made, and afterwards all works",
        run: testkit::readonly,
    },
    Command {
        name: "clock",
        arguments: "[--steps N] [--seed S]",
        about: "one script with and without jumps of the clock and of file times: every answer is the same",
        run: testkit::clock,
    },
    Command {
        name: "replay",
        arguments: "[--operations N] [--seed S]",
        about: "mixed calls in one session; another process replays their log elsewhere: byte-equal, or the reason why not",
        run: testkit::replay,
    },
    Command {
        name: "contended",
        arguments: "all|merges|stale|helped|writers|kills|approved|races [--cases N] [--seconds N] [--seed S]",
        about: "changes under load: merges as git's, stale edits, refusals that help, 15 writers, kills inside patches and after approvals",
        run: testkit::contended,
    },
    Command {
        name: "shell",
        arguments: "[--steps N] [--seed S] [--watch|--looks]",
        about: "a random shell session with git beside an agent: every state of every file can be shown afterwards, or a gap says why not",
        run: testkit::shell,
    },
    Command {
        name: "rewinds",
        arguments: "[--cases N] [--kills N] [--seed S]",
        about: "random rewinds against a recorder of every byte, and rewinds that are killed: wholly made or not, nothing lost",
        run: testkit::rewinds,
    },
    Command {
        name: "hidden",
        arguments: "[--calls N] [--seed S]",
        about: "calls in workspaces that differ only in denied files, through the door and over the wires: no answer differs",
        run: testkit::hidden,
    },
    Command {
        name: "attacks",
        arguments: "[--only NAME] [--rounds N] [--seed S]",
        about: "hostile trees, repositories, requests and kills at length, on the release build",
        run: testkit::attacks,
    },
    Command {
        name: "fuzz",
        arguments: "[TARGET…] [--inputs N] [--seed S] [--input FILE] [--coverage]",
        about: "random inputs for every parser, in release with every check on; --coverage TARGET: made by libFuzzer",
        run: fuzz::run,
    },
    Command {
        name: "bench",
        arguments: "[--json] [--check] [--rounds N] [CASE…]",
        about: "how long a read takes against the floor, built as published; all arguments are passed on",
        run: testkit::bench,
    },
    Command {
        name: "history-bench",
        arguments: "[--files N] [--tree FOLDER] [--json] [--check]",
        about: "a look, a checkpoint, a rewind and an idle watch in a work tree of 100,000 files, against git",
        run: mcp::history,
    },
    Command {
        name: "ripgrep",
        arguments: "",
        about: "searches of this repository find what the published ripgrep finds, line by line",
        run: ripgrep::run,
    },
    Command {
        name: "ctags",
        arguments: "[--only TREE…]",
        about: "`readproof symbols` finds what universal-ctags finds in real trees, or ctags.txt says why not",
        run: ctags::run,
    },
    Command {
        name: "pi",
        arguments: "[--only NAME…]",
        about: "the pi extension: typecheck, its unit tests, and end-to-end tests in the published pi with a scripted model",
        run: pi::run,
    },
    Command {
        name: "pi-bench",
        arguments: "[--json] [--check]",
        about: "reads through the pi extension against pi's own, in pi's bundle; all arguments are passed on",
        run: pi::bench,
    },
    Command {
        name: "mcp",
        arguments: "[--only NAME…]",
        about: "the MCP server under the published clients, in both eras of the protocol: every tool listed and called",
        run: mcp::run,
    },
    Command {
        name: "hosts",
        arguments: "[--only NAME…] [--update] | --plugin [--only CASE] [--update] [--random N --steps K --seed S] [--time PAIRS]",
        about: "Claude Code, Codex, opencode and Gemini CLI, set up by `init`: what each sends its model, as in the golden files; or Claude Code with the plugin, judged by its requests",
        run: hosts::run,
    },
    Command {
        name: "mcp-bench",
        arguments: "[--json] [--check]",
        about: "the MCP server against two others over stdio: start, first read, unchanged re-read, memory",
        run: mcp::bench,
    },
    Command {
        name: "beside",
        arguments: "[--json] [--check] [CASE…]",
        about: "how long a ping and a read take while the MCP server handles a hostile call, and its memory",
        run: mcp::beside,
    },
    Command {
        name: "cold",
        arguments: "[--files N] [--json] [--check]",
        about: "the first search for a definition in a tree of 100,000 files without an index, against `rg -w`",
        run: mcp::cold,
    },
    Command {
        name: "words",
        arguments: "[--files N] [--json] [--check]",
        about: "searches by words and by pattern in a tree of 40,000 files, with and without an index, against ripgrep",
        run: mcp::words,
    },
    Command {
        name: "finding",
        arguments: "[--set dev|held] [--seed N] [--check] …",
        about: "how well text search ranks files of real trees, against plain BM25 and ripgrep; all arguments are passed on",
        run: ripgrep::finding,
    },
    Command { name: "help", arguments: "", about: "this list", run: help },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match dispatch(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("xtask: {}", failure.message);
            ExitCode::from(failure.code)
        }
    }
}

fn dispatch(arguments: &[String]) -> Result<(), Failure> {
    let Some((name, rest)) = arguments.split_first() else {
        return Err(Failure::usage(format!("no command given\n{}", command_list())));
    };
    let name = if matches!(name.as_str(), "--help" | "-h") { "help" } else { name };
    match COMMANDS.iter().find(|command| command.name == name) {
        Some(command) => (command.run)(&root(), rest),
        None => Err(Failure::usage(format!("unknown command `{name}`\n{}", command_list()))),
    }
}

/// The repository's root. Cargo sets this variable at run time too, so an old build finds a moved checkout.
pub(crate) fn root() -> PathBuf {
    let crate_folder =
        env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    crate_folder.parent().map_or_else(|| crate_folder.clone(), Path::to_path_buf)
}

fn help(_root: &Path, _arguments: &[String]) -> Result<(), Failure> {
    println!("{}", command_list());
    Ok(())
}

fn command_list() -> String {
    let calls: Vec<String> = COMMANDS.iter().map(|c| format!("{} {}", c.name, c.arguments)).collect();
    let width = calls.iter().map(|call| call.chars().count()).max().unwrap_or(0);
    let mut lines = vec!["usage: cargo xtask COMMAND".to_owned(), String::new()];
    lines.extend(calls.iter().zip(COMMANDS).map(|(call, command)| format!("  {call:width$}  {}", command.about)));
    lines.join("\n")
}

/// For commands that take no arguments.
pub(crate) fn no_arguments(arguments: &[String]) -> Result<(), Failure> {
    match arguments.first() {
        None => Ok(()),
        Some(first) => Err(Failure::usage(format!("unexpected argument `{first}`: this command takes none"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_or_missing_command_is_a_usage_error() {
        for arguments in [vec![], vec!["bogus".to_owned()], vec!["tidy".to_owned(), "extra".to_owned()]] {
            assert_eq!(dispatch(&arguments).unwrap_err().code, 2, "{arguments:?}");
        }
    }

    #[test]
    fn the_list_names_every_command_on_one_line() {
        let list = command_list();
        for command in COMMANDS {
            assert_eq!(list.lines().filter(|line| line.starts_with(&format!("  {} ", command.name))).count(), 1);
        }
    }
}
