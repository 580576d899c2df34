//! Words for sessions that cannot be used.

use readproof_hosts::session::SessionError;

use crate::stores::log;

/// What a [`SessionError`] is in words.
#[must_use]
pub fn session(error: &SessionError) -> String {
    match error {
        SessionError::Log(source) => log(source),
        SessionError::Newer(v0) => {
            format!("session {v0} was written by a newer readproof; use that one, or start another session")
        }
        SessionError::NoEntry { session, entry } => {
            format!("session {session} has no entry {entry}; `readproof session show --session {session}` lists them")
        }
        SessionError::OffBranch { session, entry } => format!(
            "entry {entry} of session {session} is not on its current branch; `readproof session switch {entry}` goes there"
        ),
        SessionError::OtherLog(v0) => {
            format!("the log of session {v0} was replaced since this was asked; the result does not count")
        }
        SessionError::Exists(v0) => format!("session {v0} exists already; choose another name"),
        SessionError::NoRandom(v0) => {
            format!("no log can be started for the session: the system gives no random number ({v0}); try again")
        }
        SessionError::Moved => "the branch moved while the answer was decided".to_owned(),
    }
}
