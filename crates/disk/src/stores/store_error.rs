//! Why there is no store to use.

use std::io;

use super::Strange;
use crate::fault::Fault;

/// Why there is no store to use. A read goes on without one. `name` is relative to the workspace root.
#[derive(Debug, thiserror::Error)]
#[error("{self:?}")]
pub enum StoreError {
    /// A link could lead anywhere, now or later.
    LinkOut {
        name: String,
    },
    NotAFolder {
        name: String,
    },
    NotPrivate {
        name: String,
        mode: u32,
    },
    NotOurs {
        name: String,
        uid: u32,
    },
    /// It is unknown who wrote what it says.
    Foreign {
        why: Strange,
    },
    /// The same, and no further store can be put aside.
    TooManyAside,
    /// Without the id, no store can be recognised as this user's.
    NoOwner,
    Newer {
        found: u32,
        known: u32,
    },
    Damaged {
        name: String,
        why: &'static str,
    },
    Gone {
        name: String,
    },
    Busy {
        name: String,
    },
    ReadOnly {
        name: String,
    },
    Full {
        name: String,
    },
    Denied {
        name: String,
    },
    Io {
        name: String,
        source: io::Error,
    },
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
