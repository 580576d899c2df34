//! What a caller can be told: what failed, with which value, and what to do next. Nothing was recorded as shown.

use readproof_core::{
    budget::Over,
    edit::{BadPatch, EditError},
    policy::Rule,
    scope::ScopeError,
    text::{ContentHash, NotText},
};
use readproof_disk::{
    BadPattern, BadSessionName, GitError, LocateError, LogError, PolicyError, ReplaceAllError, ReplaceError, RootError,
    SessionName, SnapshotError, StoreError, TranscriptError,
};
use readproof_hosts::{
    approvals::{ApprovalsError, Undecided},
    audit::AuditError,
    calls::CallsError,
    session::SessionError,
    versions::{Gap, VersionId, VersionsError},
};
use readproof_index::{BadQuery, BadWalk, TreeError, Unindexed};
use std::{path::PathBuf, sync::Arc};

use super::{ShownLines, approval::ApprovalRequest};
use crate::{Candidate, HistoryError, NoIndex};

/// A request that was refused or failed.
#[derive(Debug, thiserror::Error)]
#[error("{self:?}")]
pub enum Error {
    /// Nothing was named.
    EmptyPath,
    /// A range that cannot be meant.
    Range {
        /// As asked.
        path: String,
        /// Why.
        source: ScopeError,
    },
    /// The words asked for do not stand in the file.
    NoMatch {
        /// Which file.
        path: String,
        /// As asked.
        query: String,
    },
    /// No such file; perhaps another was meant.
    Missing {
        /// As disk says it.
        source: LocateError,
        /// Names beside it that are close.
        near: Vec<String>,
    },
    /// The path cannot be used.
    Locate(LocateError),
    /// By its letters the path means one file, and to the system it may mean another.
    BackThroughLink {
        /// As asked.
        path: String,
    },
    /// The file cannot be read as text.
    Snapshot(#[from] SnapshotError),
    /// The file cannot be written.
    Replace(#[from] ReplaceError),
    /// The edit cannot be made.
    Edit {
        /// Which file.
        path: String,
        /// Why.
        source: Box<EditError>,
        /// What stands in the file where the edit was meant to be.
        shown: Vec<ShownLines>,
        /// How many changes of the file the call has.
        of: usize,
    },
    /// The patch cannot be read.
    BadPatch {
        /// Where, and why.
        source: BadPatch,
    },
    /// One call names a file twice.
    Twice {
        /// Which file.
        path: String,
    },
    /// The file has not the text that the call is for.
    Precondition {
        /// Which file.
        path: String,
        /// The text that the caller names; none if the model would have to hold all of the file, and does not.
        expected: Option<ContentHash>,
        /// The text that is there; none if there is no file, and for a sensitive file.
        actual: Option<ContentHash>,
    },
    /// There is a file where none may be.
    Exists {
        /// Which file.
        path: String,
        /// Its text; none for a sensitive file.
        actual: Option<ContentHash>,
    },
    /// Someone else changed the lines that the edit is about.
    Conflict {
        /// Which file.
        path: String,
        /// The conflict's number; none for a sensitive file.
        id: Option<VersionId>,
        /// What stands there now.
        shown: Vec<ShownLines>,
        /// The text that is there.
        actual: ContentHash,
    },
    /// There is no such conflict.
    NoConflict {
        /// As asked.
        id: String,
    },
    /// The conflict has ended.
    ConflictOver {
        /// As asked.
        id: String,
        /// How.
        how: String,
    },
    /// Nobody proposed a text for the conflict.
    NoProposal {
        /// As asked.
        id: String,
    },
    /// There is no such version of the file.
    NoVersion {
        /// Which file.
        path: String,
        /// As asked; none if no version is kept at all.
        version: Option<String>,
    },
    /// The text of a version is not stored any more.
    Erased {
        /// Which file.
        path: String,
        /// The text.
        hash: ContentHash,
        /// Whether it was erased, or is lost.
        why: Gap,
    },
    /// No versions are kept of a sensitive file.
    SensitiveVersion {
        /// Which file.
        path: String,
    },
    /// A version, a checkpoint or a way back that cannot be.
    History(HistoryError),
    /// Several files cannot be changed together.
    ReplaceAll(#[from] ReplaceAllError),
    /// A sensitive file can only be changed alone.
    SensitiveTogether {
        /// Which file.
        path: String,
    },
    /// The version log.
    Versions(#[from] VersionsError),
    /// What is there cannot be kept, so it is not replaced.
    NotKept {
        /// Which file.
        path: String,
        /// Why.
        why: SnapshotError,
    },
    /// The file is written, its history is not.
    Unrecorded {
        /// Which file.
        path: String,
        /// Why.
        source: Box<Error>,
    },
    /// More than the cap.
    TooLarge {
        /// Which file.
        path: String,
        /// How large it would be.
        bytes: u64,
        /// What is allowed.
        max: u64,
    },
    /// The store.
    Store(#[from] StoreError),
    /// The session.
    Session(#[from] SessionError),
    /// There is none of that name.
    NoSession(SessionName),
    /// The session's name.
    SessionName(#[from] BadSessionName),
    /// A host's session file.
    Transcript(#[from] TranscriptError),
    /// There is no such entry in a host's session file.
    NoHostEntry {
        /// Which file.
        file: PathBuf,
        /// As asked.
        entry: String,
    },
    /// The workspace.
    Root(#[from] RootError),
    /// A setting.
    Pattern(#[from] BadPattern),
    /// Nothing was asked.
    EmptyQuery,
    /// References of something that is not a name.
    NotAName {
        /// As asked.
        query: String,
    },
    /// A query that no engine takes.
    Query(#[from] BadQuery),
    /// The workspace cannot be walked as asked.
    Walk(#[from] BadWalk),
    /// A line without end.
    LongLine {
        /// Which file.
        path: String,
        /// The longest line that is searched for this pattern.
        most: usize,
    },
    /// No symbol was named.
    EmptySymbol,
    /// There is no such kind of definition.
    BadKind {
        /// As asked.
        kind: String,
    },
    /// Nothing of that name is defined.
    NoSymbol {
        /// As asked.
        target: String,
        /// Where it was looked for; none: everywhere.
        path: Option<String>,
        /// Names that are close.
        near: Vec<String>,
        /// Which files were not looked at, if any.
        missed: Option<Unindexed>,
    },
    /// Several things of that name are defined.
    Ambiguous {
        /// As asked.
        target: String,
        /// How often.
        total: u64,
        /// The first of them.
        candidates: Vec<Candidate>,
    },
    /// The file is not the one in which lines were found.
    Changed {
        /// Which file.
        path: String,
    },
    /// The lines that were asked for are to follow lines of a text that the file has no more.
    OtherText {
        /// Which file.
        path: String,
        /// The first digits of the text's hash, as asked.
        expected: String,
        /// Lines in the file now.
        total: u32,
    },
    /// No parser takes the file.
    NoLanguage {
        /// Which file.
        path: String,
    },
    /// No parser gets through the file.
    TooHard {
        /// Which file.
        path: String,
    },
    /// The index of symbols.
    Index {
        /// Why.
        why: Arc<NoIndex>,
    },
    /// Git, or what it keeps of the file.
    Git(#[from] GitError),
    /// The working file with itself.
    NoContent,
    /// A version that cannot be shown byte for byte.
    Bytes {
        /// Which file.
        path: String,
        /// Whose version.
        whose: &'static str,
        /// The first byte that is not.
        why: NotText,
    },
    /// The operation belongs to a conversation, and there is none.
    NoConversation,
    /// A rule of the person refuses the call.
    Denied {
        /// The name that was asked for.
        path: String,
        /// Where the rule stands, for the person.
        rule: Rule,
    },
    /// A policy file cannot be used, so nothing may be done.
    Policy(#[from] PolicyError),
    /// A person must approve the call first. It waits, and nothing was done.
    ApprovalNeeded(Box<ApprovalRequest>),
    /// A person refused the call.
    NotApproved {
        /// The request's id.
        id: String,
        /// The word of the operation.
        what: &'static str,
        /// Names in the workspace.
        paths: Vec<String>,
    },
    /// So many calls wait for a person that no other can.
    TooManyApprovals {
        /// How many.
        waiting: usize,
    },
    /// There is no such request, or nothing can be decided about it so.
    Undecided {
        /// As asked.
        id: String,
        /// Why.
        why: Undecided,
    },
    /// The audit log cannot be used.
    Audit(#[from] AuditError),
    /// The log of approvals.
    Approvals(#[from] ApprovalsError),
    /// The conversation has spent what it may.
    OverBudget {
        /// What to do instead.
        why: String,
    },
    /// More would be written than may be.
    OverLimit(Over),
    /// A change in a folder outside the workspace.
    Elsewhere {
        /// The folder that the person listed.
        folder: String,
        /// Why.
        source: Box<Error>,
    },
    /// The file is larger than the caller wants to wait for.
    NotQuick,
    /// An outcome of another operation than was asked for: a fault of this program.
    OtherOutcome,
    /// The caller lost interest.
    Aborted,
}

impl From<TreeError> for Error {
    fn from(error: TreeError) -> Self {
        match error {
            TreeError::Cancelled => Self::Aborted,
            TreeError::Query(error) => error.into(),
            TreeError::Walk(error) => error.into(),
        }
    }
}

impl From<CallsError> for Error {
    fn from(error: CallsError) -> Self {
        match error {
            CallsError::Log(error) => error.into(),
            CallsError::NoRandom(_) => Self::Audit(AuditError::NoRandom),
        }
    }
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
                LocateError::Denied { .. } | LocateError::Refused(_) => "DENIED",
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
                SnapshotError::Denied { .. } | SnapshotError::Refused(_) | SnapshotError::Ours { .. } => "DENIED",
                SnapshotError::LinkOut { .. } => "OUTSIDE_WORKSPACE",
                SnapshotError::Unrestored { .. } | SnapshotError::Io { .. } => "IO",
            },
            Self::TooLarge { .. } | Self::LongLine { .. } => "TOO_LARGE",
            Self::NotKept { .. } => "NOT_KEPT",
            Self::Unrecorded { .. } => "UNRECORDED",
            Self::Replace(ReplaceError::Changed { .. }) | Self::OtherText { .. } => "CHANGED",
            Self::Replace(ReplaceError::InGit { .. }) => "DENIED",
            Self::Replace(_) => "WRITE_FAILED",
            Self::Edit { source, .. } => edit_code(source),
            Self::BadPatch { .. } | Self::Twice { .. } => "BAD_PATCH",
            Self::Precondition { .. } | Self::Exists { .. } => "PRECONDITION_FAILED",
            Self::Conflict { .. } => "CONFLICT",
            Self::NoConflict { .. } | Self::NoVersion { .. } | Self::NoProposal { .. } => "NOT_FOUND",
            Self::History(source) => source.code(),
            Self::ConflictOver { .. } => "CONFLICT_OVER",
            Self::Erased { .. } => "ERASED",
            Self::SensitiveVersion { .. } => "SENSITIVE",
            Self::ReplaceAll(_) => "NOT_CHANGED",
            Self::SensitiveTogether { .. } => "SENSITIVE",
            Self::Versions(_) | Self::Approvals(_) | Self::Audit(_) | Self::Store(_) => "STORE",
            Self::Session(_) => "SESSION",
            Self::NoSession(_) | Self::NoConversation => "NO_SESSION",
            Self::SessionName(_) => "BAD_SESSION_NAME",
            Self::Transcript(_) => "TRANSCRIPT",
            Self::NoHostEntry { .. } => "NO_ENTRY",
            Self::Root(_) => "BAD_WORKSPACE",
            Self::Pattern(_) => "BAD_SETTING",
            Self::EmptyQuery => "EMPTY_QUERY",
            Self::NotAName { .. } => "NOT_A_NAME",
            Self::Query(_) => "BAD_QUERY",
            Self::Walk(error) => match error {
                BadWalk::Glob { .. } => "BAD_GLOB",
                BadWalk::IgnoreFile { .. } => "BAD_IGNORE_FILE",
                BadWalk::Root(_) => "BAD_WORKSPACE",
            },
            Self::EmptySymbol => "EMPTY_SYMBOL",
            Self::BadKind { .. } => "BAD_KIND",
            Self::NoSymbol { .. } => "NO_SYMBOL",
            Self::Ambiguous { .. } => "AMBIGUOUS",
            Self::Changed { .. } => "CHANGING",
            Self::NoLanguage { .. } => "NO_LANGUAGE",
            Self::TooHard { .. } => "TOO_HARD",
            Self::Index { .. } => "INDEX",
            Self::Git(error) => error.code(),
            Self::NoContent => "NO_CONTENT",
            Self::Bytes { .. } => "NOT_TEXT",
            Self::Denied { .. } | Self::NotApproved { .. } => "DENIED",
            Self::ApprovalNeeded(_) => "APPROVAL_NEEDED",
            Self::TooManyApprovals { .. } => "TOO_MANY_APPROVALS",
            Self::Undecided { why, .. } => undecided_code(why),
            Self::Policy(_) => "BAD_POLICY",
            Self::OverBudget { .. } | Self::OverLimit(_) => "BUDGET_EXCEEDED",
            Self::Elsewhere { source, .. } => source.code(),
            Self::NotQuick => "NOT_QUICK",
            Self::OtherOutcome => "INTERNAL",
            Self::Aborted => "ABORTED",
        }
    }

    /// Whether a person has not agreed.
    pub(crate) fn is_of_person(&self) -> bool {
        matches!(self, Self::ApprovalNeeded(_) | Self::NotApproved { .. } | Self::TooManyApprovals { .. })
    }

    /// Whether the call itself was malformed, rather than refused by what is there.
    #[must_use]
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::EmptyPath
                | Self::EmptyQuery
                | Self::NotAName { .. }
                | Self::EmptySymbol
                | Self::BadKind { .. }
                | Self::NoContent
                | Self::SessionName(_)
        )
    }
}

fn undecided_code(why: &Undecided) -> &'static str {
    match why {
        Undecided::Unknown => "NOT_FOUND",
        Undecided::Over(_) => "APPROVAL_OVER",
        Undecided::NoSession => "NO_SESSION",
    }
}

fn edit_code(error: &EditError) -> &'static str {
    match error {
        EditError::NotFound { .. } | EditError::Elision { .. } | EditError::Ours { .. } => "NOT_FOUND",
        EditError::Many { .. } => "NOT_UNIQUE",
        EditError::NotText => "NOT_TEXT",
        EditError::Empty
        | EditError::Overlap { .. }
        | EditError::NoContext { .. }
        | EditError::Anchor { .. }
        | EditError::Unverified => "BAD_EDIT",
    }
}
