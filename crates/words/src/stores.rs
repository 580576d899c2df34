//! Words for stores and logs that cannot be used.

use readproof_disk::{BadSessionName, LogError, LogName, STORE_NAME, StoreError};

/// The folder that may be deleted as a whole: `.readproof`, or Readproof's folder inside another tool's.
fn folder_of(name: &str) -> &str {
    let depth = usize::from(!name.starts_with(STORE_NAME));
    name.match_indices('/').nth(depth).map_or(name, |(end, _)| &name[..end])
}

/// The file of a log, seen from the workspace.
fn shown(log: &LogName) -> String {
    match log {
        LogName::Session(name) => format!("{STORE_NAME}/log/{name}.log"),
        LogName::Versions => format!("{STORE_NAME}/log/versions"),
        LogName::Approvals => format!("{STORE_NAME}/log/approvals"),
        LogName::Calls(Some(name)) => format!("{STORE_NAME}/log/{name}.calls"),
        LogName::Calls(None) => format!("{STORE_NAME}/log/calls"),
    }
}

/// What to do instead of waiting for a session's log; nothing for the one log that all share.
fn or_another(log: &LogName) -> &'static str {
    match log {
        LogName::Session(_) => " or start another session",
        LogName::Versions | LogName::Approvals | LogName::Calls(_) => "",
    }
}

/// When a log that cannot be used is put aside and begun anew.
fn anew(log: &LogName) -> &'static str {
    match log {
        LogName::Session(_) => "the next read with it keeps the log as evidence and begins anew",
        LogName::Versions => "the next edit keeps the log as evidence and begins anew",
        LogName::Approvals => "nothing in it counts: move it away, then nothing is approved",
        LogName::Calls(_) => "the next call keeps the log as evidence and begins anew",
    }
}

/// What a [`StoreError`] is in words.
#[must_use]
pub fn store(error: &StoreError) -> String {
    match error {
        StoreError::LinkOut { name } => {
            format!("`{name}` is a symbolic link; the store must be a directory of its own: remove the link")
        }
        StoreError::NotAFolder { name } => {
            format!("`{name}` is not a directory; move it away so that the store can be made")
        }
        StoreError::NotPrivate { name, mode } => format!(
            "`{name}` can be used by others (mode {mode:04o}), so nothing in it is trusted; if it is yours, run \
             `chmod -R go= {}`, else delete it",
            folder_of(name)
        ),
        StoreError::NotOurs { name, uid } => {
            format!("`{name}` belongs to user {uid}, so nothing in it is trusted; delete it or run as that user")
        }
        StoreError::Foreign { why } => format!(
            "the store `.readproof` {}, so nothing in it counts; delete it or let it be put aside",
            why.as_str()
        ),
        StoreError::TooManyAside => {
            "`.readproof` was not made here, and too many such stores were put aside already; delete \
             `.readproof/foreign-*`"
                .to_owned()
        }
        StoreError::NoOwner => "no folder outside the workspace can hold the id that marks this user's stores; set \
             READPROOF_STATE_DIR to one"
            .to_owned(),
        StoreError::Newer { found, known } => format!(
            "the store has format {found}, this program knows {known}; use a newer readproof or delete `.readproof`"
        ),
        StoreError::Damaged { name, why } => {
            format!("the store is damaged at `{name}`: {why}; delete `{}` to begin anew", folder_of(name))
        }
        StoreError::Gone { name } => format!("`{name}` was removed while in use; open the store again"),
        StoreError::Busy { name } => format!("`{name}` is kept locked by another process; try again"),
        StoreError::ReadOnly { name } => {
            format!("`{name}` lies on a read-only file system; nothing is kept until it can be written")
        }
        StoreError::Full { name } => {
            format!("there is no space left for `{name}`; free some or delete `{}`", folder_of(name))
        }
        StoreError::Denied { name } => {
            format!("this user may not use `{name}`; change its permissions or those of the workspace")
        }
        StoreError::Io { name, source } => {
            format!("`{name}` cannot be used: {source}; check it or delete `{}`", folder_of(name))
        }
    }
}

/// What a [`LogError`] is in words.
#[must_use]
pub fn log(error: &LogError) -> String {
    match error {
        LogError::Damaged { log, line } => {
            format!("the log of {log} is damaged at line {line} (`{}`); {}", shown(log), anew(log))
        }
        LogError::Busy { log } => {
            format!("the log of {log} is locked by another process; try again{}", or_another(log))
        }
        LogError::Behind { log } => format!("the log of {log} grew since it was read; catch up before appending"),
        LogError::BadPayload { log } => format!("a payload for {log} holds a line end or U+0018; escape it"),
        LogError::Gone { log } => {
            format!("the log of {log} was removed or taken out of use; try again: it begins anew")
        }
        LogError::Link { log } => format!("`{}` is a symbolic link; remove it", shown(log)),
        LogError::NotAFile { log } => format!("`{}` is not a regular file; move it away", shown(log)),
        LogError::NotPrivate { log, mode } => format!(
            "`{}` can be used by others (mode {mode:04o}), so nothing in it is trusted; if it is yours, run `chmod 600` on it, \
             else delete it",
            shown(log)
        ),
        LogError::NotOurs { log, uid } => format!(
            "`{}` belongs to user {uid}, so nothing in it is trusted; delete it or run as that user",
            shown(log)
        ),
        LogError::TooLarge { log, len, max } => {
            let too_large = format!("`{}` has {len} bytes, more than the {max} that are read", shown(log));
            format!("{too_large}; move it away{}", or_another(log))
        }
        LogError::Full { log } => format!("there is no space left for the log of {log}; free some and try again"),
        LogError::ReadOnly { log } => {
            format!("the log of {log} lies on a read-only file system; nothing is recorded until it can be written")
        }
        LogError::Denied { log } => format!("this user may not use `{}`; change its permissions", shown(log)),
        LogError::Io { log, source } => {
            format!("`{}` cannot be used: {source}; try again{}", shown(log), or_another(log))
        }
    }
}

/// What a [`BadSessionName`] is in words.
#[must_use]
pub fn session_name(error: &BadSessionName) -> String {
    let BadSessionName { name } = error;
    format!(
        "`{name}` is not a valid session name; use 1 to 64 letters, digits, dots, underscores or hyphens, beginning with a \
     letter, digit or underscore"
    )
}
