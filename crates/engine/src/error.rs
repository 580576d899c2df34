//! What a caller can be told: what failed, with which value, and what to do next. Nothing was recorded as shown.

use readproof_core::{edit::EditError, policy::Rule, scope::ScopeError, text::NotText};
use readproof_disk::{
    BadPattern, BadSessionName, GitError, LocateError, LogError, ReplaceError, RootError, SessionName, SnapshotError,
    StoreError, TranscriptError,
};
use readproof_hosts::session::SessionError;
use readproof_index::{BadQuery, BadWalk, LINE_BYTES};
use std::path::PathBuf;

use crate::{Candidate, SETTINGS_FILE, qualified};

/// A request that was refused or failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nothing was named.
    #[error("the path is empty; name a file, as in `readproof read src/main.rs`")]
    EmptyPath,
    /// A range that cannot be meant.
    #[error("{path}: {source}")]
    Range {
        /// As asked.
        path: String,
        /// Why.
        source: ScopeError,
    },
    /// The words asked for do not stand in the file.
    #[error("{path}: no line holds `{query}`; search for other words, or name lines")]
    NoMatch {
        /// Which file.
        path: String,
        /// As asked.
        query: String,
    },
    /// No such file; perhaps another was meant.
    #[error("{source}{}", did_you_mean(.near))]
    Missing {
        /// As disk says it.
        source: LocateError,
        /// Names beside it that are close.
        near: Vec<String>,
    },
    /// The path cannot be used.
    #[error(transparent)]
    Locate(LocateError),
    /// By its letters the path means one file, and to the system it may mean another.
    #[error("`{path}` goes back by `..` out of a symbolic link; name the file without that")]
    BackThroughLink {
        /// As asked.
        path: String,
    },
    /// The file cannot be read as text.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// The file cannot be written.
    #[error(transparent)]
    Replace(#[from] ReplaceError),
    /// The edit cannot be made.
    #[error("{path}: {source}")]
    Edit {
        /// Which file.
        path: String,
        /// Why.
        source: EditError,
    },
    /// What is there cannot be kept, so it is not replaced.
    #[error(
        "{path} is not written, as what is there now could not be kept: {why}. Move it elsewhere or delete it first"
    )]
    NotKept {
        /// Which file.
        path: String,
        /// Why.
        why: SnapshotError,
    },
    /// Settings are not the agent's to change.
    #[error("{SETTINGS_FILE} holds the workspace's settings, which an agent may not change; edit it yourself")]
    OwnSettings,
    /// The file is written, its history is not.
    #[error("{path} was written, but that could not be recorded: {source}. Read the file before changing it again")]
    Unrecorded {
        /// Which file.
        path: String,
        /// Why.
        source: Box<Error>,
    },
    /// More than the cap.
    #[error("{path}: {bytes} bytes are more than the largest file this workspace allows ({max}); raise `file_bytes`")]
    TooLarge {
        /// Which file.
        path: String,
        /// How large it would be.
        bytes: u64,
        /// What is allowed.
        max: u64,
    },
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The session.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// There is none of that name.
    #[error("there is no session {0} in this workspace; `readproof session list` shows those there are")]
    NoSession(SessionName),
    /// The session's name.
    #[error(transparent)]
    SessionName(#[from] BadSessionName),
    /// A host's session file.
    #[error(transparent)]
    Transcript(#[from] TranscriptError),
    /// There is no such entry in a host's session file.
    #[error("{} has no entry {entry}; use the `id` of one of its lines", .file.display())]
    NoHostEntry {
        /// Which file.
        file: PathBuf,
        /// As asked.
        entry: String,
    },
    /// The workspace.
    #[error(transparent)]
    Root(#[from] RootError),
    /// A setting.
    #[error(transparent)]
    Pattern(#[from] BadPattern),
    /// Nothing was asked.
    #[error("the query is empty; give the words to search for")]
    EmptyQuery,
    /// A query that no engine takes.
    #[error(transparent)]
    Query(#[from] BadQuery),
    /// The workspace cannot be walked as asked.
    #[error(transparent)]
    Walk(#[from] BadWalk),
    /// A line without end.
    #[error(
        "`{path}` has a line of more than {most} bytes, which is not searched{}use a tool for such files",
        if *most < LINE_BYTES { " for so large a pattern; make it simpler, or " } else { "; " }
    )]
    LongLine {
        /// Which file.
        path: String,
        /// The longest line that is searched for this pattern.
        most: usize,
    },
    /// No symbol was named.
    #[error("the name of the symbol is empty; give one as `Type::method`, `Class.method` or `name`")]
    EmptySymbol,
    /// Nothing of that name is defined.
    #[error(
        "`{target}` is not defined in {}{}{}",
        .path.as_deref().unwrap_or("this workspace"), did_you_mean(.near), beside(.missed.as_ref())
    )]
    NoSymbol {
        /// As asked.
        target: String,
        /// Where it was looked for; none: everywhere.
        path: Option<String>,
        /// Names that are close.
        near: Vec<String>,
        /// Which files were not looked at, if any.
        missed: Option<String>,
    },
    /// Several things of that name are defined.
    #[error("`{target}` is defined {total} times: {}; say which by what qualifies it, or by its file", places(.candidates))]
    Ambiguous {
        /// As asked.
        target: String,
        /// How often.
        total: u64,
        /// The first of them.
        candidates: Vec<Candidate>,
    },
    /// The file is not the one in which lines were found.
    #[error("{path} keeps changing; try again")]
    Changed {
        /// Which file.
        path: String,
    },
    /// No parser takes the file.
    #[error("{path} is in no language whose symbols are known; read its lines, or search in it")]
    NoLanguage {
        /// Which file.
        path: String,
    },
    /// No parser gets through the file.
    #[error("{path} takes too many steps to parse; read its lines, or search in it")]
    TooHard {
        /// Which file.
        path: String,
    },
    /// The index of symbols.
    #[error("the index of symbols cannot be used: {why}")]
    Index {
        /// In SQLite's words.
        why: String,
    },
    /// Git, or what it keeps of the file.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The working file with itself.
    #[error(
        "against=WORKTREE compares the working file with other text: give that as content, or use against=HEAD or INDEX"
    )]
    NoContent,
    /// A version that cannot be shown byte for byte.
    #[error("`{path}`: {whose} is not text: {why}; use `git diff --binary`")]
    Bytes {
        /// Which file.
        path: String,
        /// Whose version.
        whose: &'static str,
        /// The first byte that is not.
        why: NotText,
    },
    /// The operation belongs to a conversation, and there is none.
    #[error("nothing is known without a session; name one")]
    NoConversation,
    /// A rule of the person refuses the call.
    #[error("a rule of this workspace does not allow that")]
    Denied {
        /// Where the rule stands, for the person.
        rule: Rule,
    },
    /// The conversation has spent what it may.
    #[error("{why}")]
    OverBudget {
        /// What to do instead.
        why: String,
    },
    /// The file is larger than the caller wants to wait for.
    #[error("the file is too large to be read quickly")]
    NotQuick,
    /// An outcome of another operation than was asked for: a fault of this program.
    #[error("the call came to another kind of outcome than it asked for, which is a fault of this program")]
    OtherOutcome,
    /// The caller lost interest.
    #[error("the call was aborted; nothing was recorded")]
    Aborted,
}

fn beside(said: Option<&String>) -> String {
    said.map_or_else(String::new, |said| format!("; {said}"))
}

fn did_you_mean(near: &[String]) -> String {
    if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(" or ")) }
}

fn places(candidates: &[Candidate]) -> String {
    let place = |candidate: &Candidate| {
        let (symbol, name) = (&candidate.symbol, qualified(&candidate.symbol));
        format!("{} {name} ({}:{})", symbol.kind.as_str(), candidate.path, symbol.line)
    };
    candidates.iter().map(place).collect::<Vec<_>>().join(", ")
}

impl From<LogError> for Error {
    fn from(error: LogError) -> Self {
        Self::Session(error.into())
    }
}

impl Error {
    /// The word used on every wire.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::EmptyPath => "EMPTY_PATH",
            Self::Range { .. } => "BAD_RANGE",
            Self::NoMatch { .. } => "NO_MATCH",
            Self::Missing { .. } => "NOT_FOUND",
            Self::Locate(error) => match error {
                LocateError::Missing { .. } => "NOT_FOUND",
                LocateError::Outside { .. } | LocateError::LinkOut { .. } => "OUTSIDE_WORKSPACE",
                LocateError::Denied { .. } => "DENIED",
                LocateError::LinkLoop { .. } | LocateError::NulInName | LocateError::NameTooLong { .. } => "BAD_PATH",
                LocateError::Io { .. } => "IO",
            },
            Self::BackThroughLink { .. } => "BAD_PATH",
            Self::Snapshot(error) => match error {
                SnapshotError::NotText { .. } => "NOT_TEXT",
                SnapshotError::TooLarge { .. } => "TOO_LARGE",
                SnapshotError::Changing { .. } | SnapshotError::Busy { .. } => "CHANGING",
                SnapshotError::NotAFile { .. } => "NOT_A_FILE",
                SnapshotError::LinkLoop { .. } => "BAD_PATH",
                SnapshotError::HardLinked { .. } => "HARD_LINKED",
                SnapshotError::Missing { .. } => "NOT_FOUND",
                SnapshotError::Denied { .. } | SnapshotError::Ours { .. } => "DENIED",
                SnapshotError::LinkOut { .. } => "OUTSIDE_WORKSPACE",
                SnapshotError::Unrestored { .. } | SnapshotError::Io { .. } => "IO",
            },
            Self::TooLarge { .. } => "TOO_LARGE",
            Self::OwnSettings => "DENIED",
            Self::NotKept { .. } => "NOT_KEPT",
            Self::Unrecorded { .. } => "UNRECORDED",
            Self::Replace(ReplaceError::Changed { .. }) => "CHANGED",
            Self::Replace(ReplaceError::InGit { .. }) => "DENIED",
            Self::Replace(_) => "WRITE_FAILED",
            Self::Edit { .. } => "BAD_EDIT",
            Self::Store(_) => "STORE",
            Self::Session(_) => "SESSION",
            Self::NoSession(_) => "NO_SESSION",
            Self::SessionName(_) => "BAD_SESSION_NAME",
            Self::Transcript(_) => "TRANSCRIPT",
            Self::NoHostEntry { .. } => "NO_ENTRY",
            Self::Root(_) => "BAD_WORKSPACE",
            Self::Pattern(_) => "BAD_SETTING",
            Self::EmptyQuery => "EMPTY_QUERY",
            Self::Query(_) => "BAD_QUERY",
            Self::Walk(error) => match error {
                BadWalk::Glob { .. } => "BAD_GLOB",
                BadWalk::IgnoreFile { .. } => "BAD_IGNORE_FILE",
                BadWalk::Root(_) => "BAD_WORKSPACE",
            },
            Self::LongLine { .. } => "TOO_LARGE",
            Self::EmptySymbol => "EMPTY_SYMBOL",
            Self::NoSymbol { .. } => "NO_SYMBOL",
            Self::Ambiguous { .. } => "AMBIGUOUS",
            Self::Changed { .. } => "CHANGING",
            Self::NoLanguage { .. } => "NO_LANGUAGE",
            Self::TooHard { .. } => "TOO_HARD",
            Self::Index { .. } => "INDEX",
            Self::Git(error) => error.code(),
            Self::NoContent => "NO_CONTENT",
            Self::Bytes { .. } => "NOT_TEXT",
            Self::NoConversation => "NO_SESSION",
            Self::Denied { .. } => "DENIED",
            Self::OverBudget { .. } => "OVER_BUDGET",
            Self::NotQuick => "NOT_QUICK",
            Self::OtherOutcome => "INTERNAL",
            Self::Aborted => "ABORTED",
        }
    }

    /// Whether the call itself was malformed, rather than refused by what is there.
    #[must_use]
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::EmptyPath | Self::EmptyQuery | Self::EmptySymbol | Self::NoContent | Self::SessionName(_))
    }
}
