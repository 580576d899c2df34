//! The tables that turn errors, refusals and notices into words: one function for each type of the other rooms, and for each
//! surface a table of what it says otherwise. Holds no rule. A crate of its own, because scenarios print what a user sees and
//! cannot depend on a program.

mod cli;
pub mod core;
pub mod disk;
pub mod engine;
pub mod git;
pub mod hosts;
pub mod index;
pub mod mcp;
pub mod notice;
pub mod pi;
pub mod replay;
pub mod setup;
pub mod stores;
pub mod upkeep;

use readproof_core::path::printable;
use readproof_engine::Error;

/// Who is spoken to.
#[derive(Clone, Copy, Debug)]
pub enum Surface<'a> {
    /// A person at the command line.
    Cli,
    /// A model that called a tool.
    Mcp(ToolTerms<'a>),
    /// pi, through its extension.
    Pi,
}

/// What the words for a tool's refusal need to know of the call.
#[derive(Clone, Copy, Debug)]
pub struct ToolTerms<'a> {
    /// The workspace's absolute path, which is not shown.
    pub root: &'a str,
    /// The file the call is about, as it was named.
    pub asked: &'a str,
    /// Whether the tool calls the first line `start_line`; otherwise it is an offset.
    pub start_line: bool,
}

impl Surface<'_> {
    /// An error in the words of the surface.
    #[must_use]
    pub fn error(&self, error: &Error) -> String {
        let said = match self {
            Self::Cli => cli::error(error),
            Self::Mcp(tool) => mcp::error(tool, error),
            Self::Pi => pi::error(error),
        };
        in_lines(error, &said)
    }
}

/// One line, whatever a name holds; only the search engine draws, and lines of a file behind a refusal are exact.
fn in_lines(error: &Error, said: &str) -> String {
    let error = if let Error::Elsewhere { source, .. } = error { source } else { error };
    match (error, said.split_once('\n')) {
        (Error::Query(_), _) => said.lines().map(printable).collect::<Vec<_>>().join("\n"),
        (Error::Edit { .. } | Error::Conflict { .. }, Some((first, lines))) => format!("{}\n{lines}", printable(first)),
        _ => printable(said),
    }
}

/// What differs within a sentence from surface to surface.
#[derive(Clone, Copy, Debug)]
pub struct Terms<'a> {
    /// The workspace's absolute path where it is not shown, and the name that stands for a file outside.
    hidden: Option<(&'a str, &'a str)>,
    /// What the first line asked for is called, and the same with its article.
    first_line: (&'static str, &'static str),
    arguments: Arguments,
}

/// How the caller writes the arguments of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Arguments {
    /// `--all`
    Flags,
    /// `all=true`
    Named,
}

impl Terms<'_> {
    /// Absolute names, and lines by offset.
    pub const PLAIN: Self = Self { hidden: None, first_line: ("offset", "an offset"), arguments: Arguments::Named };

    /// The same at the command line.
    const CLI: Self = Self { arguments: Arguments::Flags, ..Self::PLAIN };

    /// What an edit of every place says.
    fn every_place(&self) -> &'static str {
        match self.arguments {
            Arguments::Flags => "--all",
            Arguments::Named => "all=true",
        }
    }

    /// What a change says that is for this text.
    fn expecting(&self, hash: &dyn std::fmt::Display) -> String {
        match self.arguments {
            Arguments::Flags => format!("--expect {hash}"),
            Arguments::Named => format!("expected_hash={hash}"),
        }
    }

    /// What a write says that replaces this text, and would otherwise only make a file.
    fn replacing(&self, hash: &dyn std::fmt::Display) -> String {
        match self.arguments {
            Arguments::Flags => format!("{} instead of --create", self.expecting(hash)),
            Arguments::Named => format!("mode=truncate and {}", self.expecting(hash)),
        }
    }

    /// A name that may be absolute, as it is shown.
    fn name<'n>(&self, name: &'n str) -> &'n str {
        let Some((root, _)) = self.hidden else { return name };
        match name.strip_prefix(root) {
            Some("") => ".",
            Some(rest) => rest.strip_prefix('/').unwrap_or(name),
            None => name,
        }
    }

    /// An argument of a call, as the surface calls it.
    fn argument(&self, name: &'static str) -> &'static str {
        if name == "offset" { self.first_line.0 } else { name }
    }
}
