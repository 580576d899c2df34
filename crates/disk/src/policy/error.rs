//! Why there are no rules, and what is odd about those there are. While there is an error nothing may be done: a rule that
//! cannot be read may be the one that denies it.

use std::io;

/// Why the rules cannot be told. `file` is relative to the workspace's root, or the absolute path of the user's own file.
#[derive(Debug, thiserror::Error)]
#[error("{self:?}")]
pub enum PolicyError {
    /// It cannot be looked at or opened, or a link of that name leads nowhere.
    Unreadable {
        file: String,
        source: io::Error,
    },
    /// A link that leads out of the workspace.
    LinkOut {
        file: String,
    },
    /// A pipe, socket or device.
    NotAFile {
        file: String,
    },
    TooLarge {
        file: String,
        len: u64,
        max: u64,
    },
    NotUtf8 {
        file: String,
        line: u32,
    },
    /// Not valid TOML or JSON, an unknown key, or a value of the wrong type. `reason` is the parser's.
    Syntax {
        file: String,
        line: u32,
        reason: String,
    },
    /// A value that means nothing.
    Value {
        file: String,
        line: u32,
        key: &'static str,
        value: String,
    },
    /// More patterns than can be matched in reasonable time.
    TooManyPatterns {
        file: String,
        max: usize,
    },
    /// The patterns cannot be compiled together. `reason` is the matcher's.
    TooComplex {
        reason: String,
    },
}

impl PolicyError {
    /// The file at fault and the line in it, 0 if it is not about a line.
    #[must_use]
    pub fn place(&self) -> (&str, u32) {
        match self {
            Self::Unreadable { file, .. }
            | Self::LinkOut { file }
            | Self::NotAFile { file }
            | Self::TooLarge { file, .. }
            | Self::TooManyPatterns { file, .. } => (file, 0),
            Self::NotUtf8 { file, line } | Self::Syntax { file, line, .. } | Self::Value { file, line, .. } => {
                (file, *line)
            }
            Self::TooComplex { .. } => ("", 0),
        }
    }
}

/// A rule or key that has no effect, as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyWarning {
    pub file: String,
    pub line: u32,
    /// The pattern, key or rule.
    pub text: String,
    pub why: NoEffect,
}

/// Why something in a policy file has no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoEffect {
    /// A rule for no act: `acts = []`.
    NoActs,
    /// A rule for no caller: `callers = []`.
    NoCallers,
    /// A rule for no name: no pattern of it can match.
    NoPaths,
    /// A pattern that leads out of the workspace.
    Outside,
    /// A pattern of which nothing is left, or with a part that no name has (`./x`, `a//b`), or a comment.
    Blank,
    /// An unclosed `[`, an unknown `[:class:]`, or a `\` at the end: such a pattern matches nothing.
    Malformed,
    /// An exception (`!x`) before which nothing is excluded.
    NothingToExcept,
    /// An allow rule where everything is allowed by default. It wins over no ask or deny rule.
    AllowedAnyway,
    /// The same stands in line `of`.
    Duplicate { of: u32 },
    /// Only the person can decide this, outside the workspace.
    NotFromWorkspace,
    /// A preset that adds nothing to the one in force.
    PresetInForce,
}
