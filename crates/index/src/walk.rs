//! The names of a workspace's files: the order of `rg --sort path` and its rules for what is ignored, with `-g` for a
//! glob. Follows no link, looks at nothing above the workspace (the user's own git settings apart), and reads no ignore
//! file that `disk` has not found to be a small regular file inside it: a named pipe in its place would be waited for.

use std::{
    ffi::OsStr,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use ignore::{WalkBuilder, overrides::OverrideBuilder};
use readproof_disk::{FileKind, LocateError, Root, RootError, STORE_NAME};

/// Never walked, whatever a glob says.
const NEVER: [&str; 2] = [".git", STORE_NAME];

/// What ripgrep reads in each folder to know what to leave out.
const IGNORE_FILES: [&str; 3] = [".gitignore", ".ignore", ".rgignore"];

/// Git's own list of what to leave out, beside the history.
const EXCLUDE: &str = ".git/info/exclude";

/// The largest ignore file that is read.
const IGNORE_BYTES: u64 = 1 << 20;

/// One thing that was met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A regular file, by its name in the workspace.
    File(String),
    /// A folder or something else that has no line in any answer.
    Other,
    /// A name that is no UTF-8, which nothing else can speak of.
    OddName,
    /// A folder that cannot be listed.
    Unreadable,
}

/// Why there is no walk.
#[derive(Debug, thiserror::Error)]
pub enum BadWalk {
    /// The pattern for names.
    #[error("`{glob}` is no glob: {why}; use one like `*.rs` or `src/**`")]
    Glob {
        /// As given.
        glob: String,
        /// In the engine's words.
        why: String,
    },
    /// What is ignored cannot be told.
    #[error(
        "`{name}` is no regular file of at most {IGNORE_BYTES} bytes inside the workspace; put one there or remove it"
    )]
    IgnoreFile {
        /// Its name in the workspace.
        name: String,
    },
    /// The workspace is gone.
    #[error(transparent)]
    Root(#[from] RootError),
}

/// A walk under way.
pub struct Walk {
    inner: ignore::Walk,
    root: Arc<Root>,
    closed: Arc<AtomicU64>,
}

/// Walks a workspace; with a glob, only the files that it lets through.
///
/// # Errors
/// [`BadWalk`] says what is malformed.
pub fn walk(root: &Root, glob: Option<&str>) -> Result<Walk, BadWalk> {
    // A handle of its own: the walk below asks for one that outlives this call.
    let root = Arc::new(Root::open(root.path())?);
    let top = root.path();
    if let Some(name) = IGNORE_FILES.into_iter().find(|name| !is_harmless(&root, top, name)) {
        return Err(BadWalk::IgnoreFile { name: name.to_owned() });
    }
    let mut builder = WalkBuilder::new(top);
    builder.follow_links(false).parents(false).require_git(!root.is_in_git()).current_dir(top);
    builder.add_custom_ignore_filename(".rgignore").sort_by_file_name(OsStr::cmp);
    // The walker itself would follow a `.git` file to wherever it says.
    builder.git_exclude(false);
    if is_there(&root, top, EXCLUDE) {
        // A malformed line is left out, as everywhere.
        let _ = builder.add_ignore(top.join(EXCLUDE));
    }
    if let Some(glob) = glob {
        let bad = |error: ignore::Error| BadWalk::Glob { glob: glob.to_owned(), why: error.to_string() };
        let mut overrides = OverrideBuilder::new(top);
        overrides.add(glob).map_err(bad)?;
        builder.overrides(overrides.build().map_err(bad)?);
    }
    let closed = Arc::new(AtomicU64::new(0));
    let (filter_root, counter) = (root.clone(), closed.clone());
    builder.filter_entry(move |entry| {
        if NEVER.iter().any(|name| entry.file_name() == *name) {
            return false;
        }
        let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
        let open = !is_folder || IGNORE_FILES.iter().all(|name| is_harmless(&filter_root, entry.path(), name));
        counter.fetch_add(u64::from(!open), Ordering::Relaxed);
        open
    });
    Ok(Walk { inner: builder.build(), root, closed })
}

impl Walk {
    /// Folders that were left out, as what they ignore cannot be told.
    #[must_use]
    pub fn closed(&self) -> u64 {
        self.closed.load(Ordering::Relaxed)
    }
}

impl Iterator for Walk {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        let Ok(entry) = self.inner.next()? else { return Some(Entry::Unreadable) };
        if !entry.file_type().is_some_and(|kind| kind.is_file()) {
            return Some(Entry::Other);
        }
        let name = entry.path().strip_prefix(self.root.path()).ok().and_then(Path::to_str);
        Some(name.map_or(Entry::OddName, |name| Entry::File(name.to_owned())))
    }
}

/// Whether reading the ignore file of this name neither blocks nor leads out; there may be none.
fn is_harmless(root: &Root, folder: &Path, name: &str) -> bool {
    let Some(path) = folder.join(name).to_str().map(str::to_owned) else { return false };
    match root.locate(&[path]) {
        Ok(file) => root.found(&file).is_ok_and(|found| match found.kind {
            None => found.len <= IGNORE_BYTES,
            // Opening one fails at once.
            Some(FileKind::Directory) => true,
            Some(
                FileKind::Fifo
                | FileKind::Socket
                | FileKind::CharDevice
                | FileKind::BlockDevice
                | FileKind::Link
                | FileKind::Unknown,
            ) => false,
        }),
        Err(LocateError::Missing { .. }) => true,
        Err(
            LocateError::Outside { .. }
            | LocateError::NulInName
            | LocateError::NameTooLong { .. }
            | LocateError::LinkLoop { .. }
            | LocateError::LinkOut { .. }
            | LocateError::Denied { .. }
            | LocateError::Io { .. },
        ) => false,
    }
}

fn is_there(root: &Root, folder: &Path, name: &str) -> bool {
    let path = folder.join(name).to_str().map(str::to_owned);
    path.is_some_and(|path| root.locate(&[path]).is_ok()) && is_harmless(root, folder, name)
}
