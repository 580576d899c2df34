//! Why a file cannot be compared with git's version. No field holds a path outside the workspace or anything from a file of the
//! repository: it names the file and says in our own words what is wrong with it.

/// Why a file cannot be compared. `name` is the key.
#[derive(Debug, thiserror::Error)]
#[error("{self:?}")]
pub enum GitError {
    NoRepository {
        name: String,
    },
    Bare {
        name: String,
    },
    NotOwned {
        name: String,
    },
    /// A `.git` file or link could otherwise show an agent any repository of the user.
    NotLinked {
        name: String,
    },
    Unsupported {
        name: String,
        what: String,
    },
    Broken {
        name: String,
        what: String,
        why: &'static str,
    },
    NotRegular {
        name: String,
        file: String,
        kind: &'static str,
    },
    /// A link, an alternate or an included file that leads elsewhere.
    LeadsOut {
        name: String,
        file: String,
    },
    Oversized {
        name: String,
        file: String,
        len: u64,
        max: u64,
        unit: &'static str,
    },
    Cancelled {
        name: String,
    },
    MissingObject {
        name: String,
        id: String,
    },
    TooLarge {
        name: String,
        len: u64,
        max: u64,
    },
    Filtered {
        name: String,
        driver: String,
    },
    Encoded {
        name: String,
        encoding: String,
        why: &'static str,
    },
    Conflicted {
        name: String,
    },
    Submodule {
        name: String,
        commit: String,
    },
    Folder {
        name: String,
    },
    GitFolder {
        name: String,
    },
    BehindLink {
        name: String,
        /// The name with links resolved, if it is inside the workspace.
        real: Option<String>,
    },
    ContentForLink {
        name: String,
    },
}

impl GitError {
    /// The code used on every wire.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoRepository { .. } => "NO_REPOSITORY",
            Self::Bare { .. } => "BARE_REPOSITORY",
            Self::NotOwned { .. } => "NOT_OWNED",
            Self::NotLinked { .. } => "NOT_LINKED",
            Self::Unsupported { .. } => "UNSUPPORTED_REPOSITORY",
            Self::Broken { .. } | Self::NotRegular { .. } => "BAD_REPOSITORY",
            Self::LeadsOut { .. } => "LEADS_OUT",
            Self::Oversized { .. } => "TOO_LARGE",
            Self::Cancelled { .. } => "ABORTED",
            Self::MissingObject { .. } => "MISSING_OBJECT",
            Self::TooLarge { .. } => "TOO_LARGE",
            Self::Filtered { .. } => "FILTERED",
            Self::Encoded { .. } => "ENCODED",
            Self::Conflicted { .. } => "CONFLICTED",
            Self::Submodule { .. } => "SUBMODULE",
            Self::Folder { .. } => "NOT_A_FILE",
            Self::GitFolder { .. } => "GIT_FOLDER",
            Self::BehindLink { .. } => "BEHIND_LINK",
            Self::ContentForLink { .. } => "CONTENT_FOR_LINK",
        }
    }
}
