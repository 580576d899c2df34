//! Words for sessions, versions and approvals that cannot be used.

use readproof_hosts::{
    approvals::ApprovalsError,
    session::SessionError,
    versions::{Gap, VersionsError},
};

use crate::stores::log;

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
