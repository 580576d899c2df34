//! Why a file cannot be compared with what git keeps. Says what to do, no path outside the workspace, and nothing that stands
//! in a file of the repository: which file it is, and what is wrong with it, is said in words of our own.

/// Why there is nothing to compare with.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// The file lies in none.
    #[error(
        "`{name}` lies in no git repository; compare with against=WORKTREE and content, or make one with `git init`"
    )]
    NoRepository { name: String },
    /// There is one without files.
    #[error("`{name}` lies in a bare git repository, which has no working files; use a clone or a worktree of it")]
    Bare { name: String },
    /// The repository of another user.
    #[error(
        "the git repository of `{name}` belongs to another user, so git refuses it; a person who trusts it runs `git config --global --add \
         safe.directory FOLDER` with the folder that holds `.git`"
    )]
    NotOwned { name: String },
    /// A `.git` that leads out of the workspace to a repository that does not know of it.
    #[error(
        "the `.git` beside `{name}` leads out of the workspace to a repository that does not name this folder as its work tree; repair it \
         with `git worktree repair`, or set `core.worktree` there"
    )]
    NotLinked { name: String },
    /// A repository that this program cannot read.
    #[error("the git repository of `{name}` uses {what}, which cannot be read here; use `git diff` itself")]
    Unsupported {
        name: String,
        /// What it uses.
        what: String,
    },
    /// Something in it is damaged.
    #[error("{what} of the git repository of `{name}` cannot be read ({why}); run `git fsck` and `git status` there")]
    Broken {
        name: String,
        /// Which file or part.
        what: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A file of git's that is a pipe, a device, a socket or a directory.
    #[error(
        "{file} of the git repository of `{name}` is {kind}, not a regular file; repair the repository, or make a fresh clone"
    )]
    NotRegular { name: String, file: String, kind: &'static str },
    /// A link, an alternate or an included file that leads elsewhere.
    #[error(
        "{file} of the git repository of `{name}` leads out of the workspace, and nothing is read there; use a clone that holds all of its \
         own files, a wider workspace, or `git diff` itself"
    )]
    LeadsOut {
        name: String,
        /// Which file or setting.
        file: String,
    },
    /// Over the cap for files of its kind.
    #[error(
        "{file} of the git repository of `{name}` has {len} {unit}, more than the {max} that are read; use `git diff` itself"
    )]
    Oversized {
        name: String,
        file: String,
        /// How many it has.
        len: u64,
        max: u64,
        /// Of what.
        unit: &'static str,
    },
    /// The caller no longer wants to know.
    #[error("comparing `{name}` was cancelled")]
    Cancelled { name: String },
    /// An object that is not there.
    #[error(
        "object {id} is missing from the git repository of `{name}`; it may be a partial clone: run `git fetch` or `git cat-file -p {id}` \
         there, or `git fsck`"
    )]
    MissingObject { name: String, id: String },
    #[error("git's version of `{name}` has {len} bytes, more than the {max} that are read; raise `file_bytes`")]
    TooLarge { name: String, len: u64, max: u64 },
    /// A filter that is a program.
    #[error(
        "`{name}` goes through the filter `{driver}` before git keeps it, a program that the configuration names; no such program is run \
         here: use `git diff` itself"
    )]
    Filtered {
        name: String,
        /// The driver's name.
        driver: String,
    },
    /// A `working-tree-encoding` that cannot be undone.
    #[error("`{name}` has the working-tree-encoding `{encoding}`: {why}; use `git diff` itself")]
    Encoded {
        name: String,
        /// As the attribute says.
        encoding: String,
        /// Why not.
        why: &'static str,
    },
    /// Several versions in the index.
    #[error("`{name}` has a merge conflict, so the index has several versions of it; compare with HEAD, or resolve it")]
    Conflicted { name: String },
    /// Another repository.
    #[error("`{name}` is a submodule, at commit {commit} in the baseline; name a file in it")]
    Submodule {
        name: String,
        /// The baseline's commit.
        commit: String,
    },
    #[error("`{name}` is a directory, not a file; name a file in it")]
    Folder { name: String },
    /// Git's own folder.
    #[error("`{name}` lies in git's own folder, which git does not keep; name a working file")]
    GitFolder { name: String },
    /// Git does not look behind links.
    #[error("`{name}` lies behind a link, where git does not look{}", .real.as_ref().map(|real| format!("; git knows it as `{real}`")).unwrap_or_default())]
    BehindLink {
        name: String,
        /// Where it really is.
        real: Option<String>,
    },
    /// Bytes for what has none.
    #[error("`{name}` is a link, and content cannot stand for one; name the file it leads to, or leave content out")]
    ContentForLink { name: String },
}

impl GitError {
    /// The word used on every wire.
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
