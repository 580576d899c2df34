//! Words for sessions, versions and approvals that cannot be used.

use readproof_core::tlog::{Unproved, Unsigned};
use readproof_hosts::{
    approvals::ApprovalsError,
    audit::{AuditError, Problem, Unshown, WhichCheckpoint},
    session::SessionError,
    versions::{Gap, VersionsError},
};

use crate::stores::{log, store};

/// What a [`SessionError`] is in words.
#[must_use]
pub fn session(error: &SessionError) -> String {
    match error {
        SessionError::Log(source) => log(source),
        SessionError::Newer(session) => {
            format!("session {session} was written by a newer readproof; use that one, or start another session")
        }
        SessionError::NoEntry { session, entry } => {
            format!("session {session} has no entry {entry}; `readproof session show --session {session}` lists them")
        }
        SessionError::OffBranch { session, entry } => format!(
            "entry {entry} of session {session} is not on its current branch; `readproof session switch {entry}` goes there"
        ),
        SessionError::OtherLog(session) => {
            format!("the log of session {session} was replaced since this was asked; the result does not count")
        }
        SessionError::Exists(session) => format!("session {session} exists already; choose another name"),
        SessionError::NoRandom(why) => {
            format!("no log can be started for the session: the system gives no random number ({why}); try again")
        }
        SessionError::Moved => "the branch moved while the answer was decided".to_owned(),
    }
}

/// What a [`VersionsError`] is in words.
#[must_use]
pub fn versions(error: &VersionsError) -> String {
    match error {
        VersionsError::Log(source) => log(source),
        VersionsError::Newer => "the version log was written by a newer readproof; use that one".to_owned(),
        VersionsError::NoRandom(why) => {
            format!("no version log can be started: the system gives no random number ({why}); try again")
        }
    }
}

/// What an [`ApprovalsError`] is in words.
#[must_use]
pub fn approvals(error: &ApprovalsError) -> String {
    match error {
        ApprovalsError::Log(source) => {
            format!("this needs a person's approval, and none can be recorded; nothing was done: {}", log(source))
        }
        ApprovalsError::Newer => {
            "the log of approvals was written by a newer readproof, so nothing is approved; use that one".to_owned()
        }
        ApprovalsError::NoRandom(why) => {
            format!("no log of approvals can be started: the system gives no random number ({why}); try again")
        }
    }
}

/// Why a text is not known or not kept, in words.
#[must_use]
pub fn gap(gap: Gap) -> &'static str {
    match gap {
        Gap::NotLookedAt => "nobody looked at it then",
        Gap::Lost => "it is not stored any more",
        Gap::TooLarge => "it is larger than `file_bytes`",
        Gap::NotText => "it is not text",
        Gap::Sensitive => "it is sensitive",
        Gap::Unreadable => "it could not be read",
        Gap::Erased => "it was erased",
        Gap::NotAFile => "it is a link, or something else that is no regular file",
        Gap::Other => "for a reason that only a newer version of this program knows",
    }
}

/// What an [`AuditError`] is in words.
#[must_use]
pub fn audit(error: &AuditError) -> String {
    match error {
        AuditError::Store(source) => store(source),
        AuditError::Damaged { part } => {
            format!("the audit log's `{part}` is damaged; `readproof audit verify` says what else is")
        }
        AuditError::Checkpoint(why) => format!("the audit log's checkpoint does not count: {}", unsigned(*why)),
        AuditError::NotAsSigned { size } => format!(
            "the first {size} lines of the audit log are not as they were signed; `readproof audit verify` says where"
        ),
        AuditError::NoEntry { entry, size } => {
            format!("the audit log has no line {entry}; it has {size}, counted from 0")
        }
        AuditError::NoCall { entry } => {
            format!("line {entry} of the audit log is not of a call, so it returned no text")
        }
        AuditError::MovedAway { entry } => {
            format!("line {entry} was dropped by `readproof audit rotate`; its hash is still there")
        }
        AuditError::NoRandom => "the audit log needs random numbers, and the system gives none; try again".to_owned(),
    }
}

/// What is wrong with an audit log, in words. Lines are counted from 0.
#[must_use]
pub fn problem(problem: &Problem) -> String {
    match problem {
        Problem::Checkpoint { which, why } => format!("{} does not count: {}", checkpoint(*which), unsigned(*why)),
        Problem::OtherLog { which, origin } => format!("{} is of another log, {origin}", checkpoint(*which)),
        Problem::NoCheckpoint => "there are lines, and no checkpoint that signs them".to_owned(),
        Problem::Changed { entry } => format!("line {entry} was changed"),
        Problem::Removed { entry } => format!("line {entry} was removed"),
        Problem::Inserted { entry } => format!("line {entry} was inserted"),
        Problem::Swapped { one, other } => format!("lines {one} and {other} were swapped"),
        Problem::Cut { which, size, signed } => {
            format!("the end was cut off: there are {size} lines, and {} signs {signed}", checkpoint(*which))
        }
        Problem::Missing { part } => format!("{part} is missing"),
        Problem::Malformed { part } => format!("{part} is malformed"),
        Problem::Tile { part } => format!("{part} was changed; the lines themselves are as signed"),
        Problem::Rewritten { first, last } => {
            format!("lines and their hashes were changed together, among lines {first} to {last}")
        }
        Problem::Rebuilt { which, signed } => {
            format!("the log was rebuilt: its first {signed} lines are not those that {} signs", checkpoint(*which))
        }
        Problem::Aside { name } => {
            format!("an earlier log was not as it had been signed and was put aside as {name}")
        }
    }
}

/// Why a proof shows nothing, in words.
#[must_use]
pub fn unshown(why: Unshown) -> String {
    match why {
        Unshown::NotAProof => "it is not a proof in the form c2sp.org/tlog-proof@v1".to_owned(),
        Unshown::NotDisclosed => "it does not hold the line that it is about".to_owned(),
        Unshown::NotACall => "its line is not of a call".to_owned(),
        Unshown::OtherText => "its text is not the one that the line names".to_owned(),
        Unshown::Unproved(Unproved::Checkpoint(why)) => format!("its checkpoint does not count: {}", unsigned(why)),
        Unshown::Unproved(Unproved::Beyond) => "its line is beyond what the checkpoint signs".to_owned(),
        Unshown::Unproved(Unproved::Hashes) => "its hashes do not lead from the line to the signed root".to_owned(),
    }
}

fn checkpoint(which: WhichCheckpoint) -> &'static str {
    match which {
        WhichCheckpoint::Own => "its checkpoint",
        WhichCheckpoint::Kept => "the kept checkpoint",
    }
}

fn unsigned(why: Unsigned) -> &'static str {
    match why {
        Unsigned::NotANote => "it is not a signed note",
        Unsigned::OtherKey => "it is not signed by the key of this log",
        Unsigned::BadSignature => "its signature is wrong",
        Unsigned::NotACheckpoint => "what is signed is not a checkpoint",
    }
}
