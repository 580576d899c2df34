//! Why there is no store to use, and the words for it.

use std::io;

use super::{STORE_NAME, Strange};
use crate::fault::Fault;

/// Why there is no store to use. A read goes on without one. `name` is relative to the workspace root.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A link could lead anywhere, now or later.
    #[error("`{name}` is a symbolic link; the store must be a directory of its own: remove the link")]
    LinkOut { name: String },
    #[error("`{name}` is not a directory; move it away so that the store can be made")]
    NotAFolder { name: String },
    #[error(
        "`{name}` can be used by others (mode {mode:04o}), so nothing in it is trusted; if it is yours, run \
         `chmod -R go= {}`, else delete it",
        folder_of(name)
    )]
    NotPrivate { name: String, mode: u32 },
    #[error("`{name}` belongs to user {uid}, so nothing in it is trusted; delete it or run as that user")]
    NotOurs { name: String, uid: u32 },
    /// It is unknown who wrote what it says.
    #[error("the store `.readproof` {}, so nothing in it counts; delete it or let it be put aside", .why.as_str())]
    Foreign { why: Strange },
    /// The same, and no further store can be put aside.
    #[error(
        "`.readproof` was not made here, and too many such stores were put aside already; delete `.readproof/foreign-*`"
    )]
    TooManyAside,
    /// Without the id, no store can be recognised as this user's.
    #[error(
        "no folder outside the workspace can hold the id that marks this user's stores; set \
         READPROOF_STATE_DIR to one"
    )]
    NoOwner,
    #[error("the store has format {found}, this program knows {known}; use a newer readproof or delete `.readproof`")]
    Newer { found: u32, known: u32 },
    #[error("the store is damaged at `{name}`: {why}; delete `{}` to begin anew", folder_of(name))]
    Damaged { name: String, why: &'static str },
    #[error("`{name}` was removed while in use; open the store again")]
    Gone { name: String },
    #[error("`{name}` is kept locked by another process; try again")]
    Busy { name: String },
    #[error("`{name}` lies on a read-only file system; nothing is kept until it can be written")]
    ReadOnly { name: String },
    #[error("there is no space left for `{name}`; free some or delete `{}`", folder_of(name))]
    Full { name: String },
    #[error("this user may not use `{name}`; change its permissions or those of the workspace")]
    Denied { name: String },
    #[error("`{name}` cannot be used: {source}; check it or delete `{}`", folder_of(name))]
    Io { name: String, source: io::Error },
}

/// The folder that may be deleted as a whole: `.readproof`, or Readproof's folder inside another tool's.
fn folder_of(name: &str) -> &str {
    let depth = usize::from(!name.starts_with(STORE_NAME));
    name.match_indices('/').nth(depth).map_or(name, |(end, _)| &name[..end])
}

impl StoreError {
    pub(crate) fn from_io(name: &str, source: io::Error) -> Self {
        let name = name.to_owned();
        match Fault::of(&source) {
            Fault::Missing => Self::Gone { name },
            Fault::LinkOut | Fault::LinkLoop => Self::LinkOut { name },
            Fault::NotFolder => Self::NotAFolder { name },
            Fault::Denied => Self::Denied { name },
            Fault::ReadOnly => Self::ReadOnly { name },
            Fault::Full => Self::Full { name },
            Fault::TooLong | Fault::Other => Self::Io { name, source },
        }
    }
}
