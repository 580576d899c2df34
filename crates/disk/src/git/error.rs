//! Why a file cannot be compared with git's version. A message says what to do. It never contains a path outside the workspace
//! or anything from a file of the repository: it names the file and says in our own words what is wrong with it.

/// Why a file cannot be compared. `name` is the key.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error(
        "`{name}` is not in a git repository; compare with against=WORKTREE and content, or create one with `git init`"
    )]
    NoRepository { name: String },
    #[error("`{name}` lies in a bare git repository, which has no working files; use a clone or a worktree of it")]
    Bare { name: String },
    #[error(
        "the git repository of `{name}` belongs to another user, so git refuses it; a person who trusts it runs `git config --global --add \
         safe.directory FOLDER` with the folder that holds `.git`"
    )]
    NotOwned { name: String },
    /// A `.git` file or link could otherwise show an agent any repository of the user.
    #[error(
        "the `.git` beside `{name}` leads out of the workspace to a repository that does not name this folder as its work tree; repair it \
         with `git worktree repair`, or set `core.worktree` there"
    )]
    NotLinked { name: String },
    #[error("the git repository of `{name}` uses {what}, which cannot be read here; use `git diff` itself")]
    Unsupported { name: String, what: String },
    #[error("{what} of the git repository of `{name}` cannot be read ({why}); run `git fsck` and `git status` there")]
    Broken { name: String, what: String, why: &'static str },
    #[error(
        "{file} of the git repository of `{name}` is {kind}, not a regular file; repair the repository, or make a fresh clone"
    )]
    NotRegular { name: String, file: String, kind: &'static str },
    /// A link, an alternate or an included file that leads elsewhere.
    #[error(
        "{file} of the git repository of `{name}` leads out of the workspace, and nothing is read there; use a clone that holds all of its \
         own files, a wider workspace, or `git diff` itself"
    )]
    LeadsOut { name: String, file: String },
    #[error(
        "{file} of the git repository of `{name}` has {len} {unit}, more than the {max} that are read; use `git diff` itself"
    )]
    Oversized { name: String, file: String, len: u64, max: u64, unit: &'static str },
    #[error("comparing `{name}` was cancelled")]
    Cancelled { name: String },
    #[error(
        "object {id} is missing from the git repository of `{name}`; it may be a partial clone: run `git fetch` or `git cat-file -p {id}` \
         there, or `git fsck`"
    )]
    MissingObject { name: String, id: String },
    #[error("git's version of `{name}` has {len} bytes, more than the {max} that are read; raise `file_bytes`")]
    TooLarge { name: String, len: u64, max: u64 },
    #[error(
        "`{name}` goes through the filter `{driver}` before git keeps it, a program that the configuration names; no such program is run \
         here: use `git diff` itself"
    )]
    Filtered { name: String, driver: String },
    #[error("`{name}` has the working-tree-encoding `{encoding}`: {why}; use `git diff` itself")]
    Encoded { name: String, encoding: String, why: &'static str },
    #[error("`{name}` has a merge conflict, so the index has several versions of it; compare with HEAD, or resolve it")]
    Conflicted { name: String },
    #[error("`{name}` is a submodule, at commit {commit} in the baseline; name a file in it")]
    Submodule { name: String, commit: String },
    #[error("`{name}` is a directory, not a file; name a file in it")]
    Folder { name: String },
    #[error("`{name}` lies in git's own folder, which git does not track; name a working file")]
    GitFolder { name: String },
    #[error("a link leads to the folder of `{name}`, and git does not follow it{}", .real.as_ref().map(|real| format!("; git knows it as `{real}`")).unwrap_or_default())]
    BehindLink {
        name: String,
        /// The name with links resolved, if it is inside the workspace.
        real: Option<String>,
    },
    #[error("`{name}` is a link, and content cannot stand for one; name the file it leads to, or leave content out")]
    ContentForLink { name: String },
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
