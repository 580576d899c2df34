//! Words for what cannot be compared with git's version. No text has a path outside the workspace or anything from a file of
//! the repository.

use readproof_disk::{GitError, WorkingError};

use crate::disk::snapshot;

/// What a [`WorkingError`] is in words.
#[must_use]
pub fn working(error: &WorkingError) -> String {
    match error {
        WorkingError::Git(source) => git(source),
        WorkingError::Snapshot(source) => snapshot(source),
    }
}

/// What a [`GitError`] is in words.
#[must_use]
pub fn git(error: &GitError) -> String {
    match error {
        GitError::NoRepository { name } => format!(
            "`{name}` is not in a git repository; compare with against=WORKTREE and content, or create one with `git init`"
        ),
        GitError::Bare { name } => format!(
            "`{name}` lies in a bare git repository, which has no working files; use a clone or a worktree of it"
        ),
        GitError::NotOwned { name } => format!(
            "the git repository of `{name}` belongs to another user, so git refuses it; a person who trusts it runs `git config --global --add \
             safe.directory FOLDER` with the folder that holds `.git`"
        ),
        GitError::NotLinked { name } => format!(
            "the `.git` beside `{name}` leads out of the workspace to a repository that does not name this folder as its work tree; repair it \
             with `git worktree repair`, or set `core.worktree` there"
        ),
        GitError::Unsupported { name, what } => {
            format!("the git repository of `{name}` uses {what}, which cannot be read here; use `git diff` itself")
        }
        GitError::Broken { name, what, why } => format!(
            "{what} of the git repository of `{name}` cannot be read ({why}); run `git fsck` and `git status` there"
        ),
        GitError::NotRegular { name, file, kind } => format!(
            "{file} of the git repository of `{name}` is {kind}, not a regular file; repair the repository, or make a fresh clone"
        ),
        GitError::LeadsOut { name, file } => format!(
            "{file} of the git repository of `{name}` leads out of the workspace, and nothing is read there; use a clone that holds all of its \
             own files, a wider workspace, or `git diff` itself"
        ),
        GitError::Oversized { name, file, len, max, unit } => format!(
            "{file} of the git repository of `{name}` has {len} {unit}, more than the {max} that are read; use `git diff` itself"
        ),
        GitError::Cancelled { name } => format!("comparing `{name}` was cancelled"),
        GitError::MissingObject { name, id } => format!(
            "object {id} is missing from the git repository of `{name}`; it may be a partial clone: run `git fetch` or `git cat-file -p {id}` \
             there, or `git fsck`"
        ),
        GitError::TooLarge { name, len, max } => {
            format!("git's version of `{name}` has {len} bytes, more than the {max} that are read; raise `file_bytes`")
        }
        GitError::Filtered { name, driver } => format!(
            "`{name}` goes through the filter `{driver}` before git keeps it, a program that the configuration names; no such program is run \
             here: use `git diff` itself"
        ),
        GitError::Encoded { name, encoding, why } => {
            format!("`{name}` has the working-tree-encoding `{encoding}`: {why}; use `git diff` itself")
        }
        GitError::Conflicted { name } => format!(
            "`{name}` has a merge conflict, so the index has several versions of it; compare with HEAD, or resolve it"
        ),
        GitError::Submodule { name, commit } => {
            format!("`{name}` is a submodule, at commit {commit} in the baseline; name a file in it")
        }
        GitError::Folder { name } => format!("`{name}` is a directory, not a file; name a file in it"),
        GitError::GitFolder { name } => {
            format!("`{name}` lies in git's own folder, which git does not track; name a working file")
        }
        GitError::BehindLink { name, real } => format!(
            "a link leads to the folder of `{name}`, and git does not follow it{}",
            real.as_ref().map(|real| format!("; git knows it as `{real}`")).unwrap_or_default()
        ),
        GitError::ContentForLink { name } => format!(
            "`{name}` is a link, and content cannot stand for one; name the file it leads to, or leave content out"
        ),
    }
}
