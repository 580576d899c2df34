//! The names of a workspace's files: the order of `rg --sort path` and its rules for what is ignored, with `-g` for a
//! glob. Follows no link and looks at nothing outside the workspace, so ignore files above it and in the user's home do
//! not count. Reads no ignore file that `disk` has not found to be a small regular file inside the workspace: a named pipe
//! in its place would be waited for.

use std::{
    ffi::OsStr,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use ignore::{
    WalkBuilder,
    overrides::{Override, OverrideBuilder},
};
use readproof_disk::{FileKind, LocateError, Root, RootError, STORE_NAME, is_ours};

/// Never walked, whatever a glob says.
const NEVER: [&str; 2] = [".git", STORE_NAME];

/// What ripgrep reads in each folder to know what to leave out.
const IGNORE_FILES: [&str; 3] = [".gitignore", ".ignore", ".rgignore"];

/// Git's own list of what to leave out, beside the history.
const EXCLUDE: &str = ".git/info/exclude";
const EXCLUDE_FOLDER: &str = ".git/info";

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
    let nobody: Folders = Arc::new(|_| ());
    walk_watched(root, glob, &nobody)
}

/// Called with every folder before it is listed.
pub(crate) type Folders = Arc<dyn Fn(&Path) + Send + Sync>;

/// The same, telling every folder, and the one that holds git's own list of what is ignored.
pub(crate) fn walk_watched(root: &Root, glob: Option<&str>, folders: &Folders) -> Result<Walk, BadWalk> {
    // A handle of its own: the walk below asks for one that outlives this call.
    let root = Arc::new(Root::open(root.path())?);
    let top = root.path();
    folders(top);
    if let Some(name) = IGNORE_FILES.into_iter().find(|name| !is_harmless(&root, top, name)) {
        return Err(BadWalk::IgnoreFile { name: name.to_owned() });
    }
    let mut builder = WalkBuilder::new(top);
    builder.follow_links(false).parents(false).require_git(!root.is_in_git()).git_global(false);
    builder.add_custom_ignore_filename(".rgignore").sort_by_file_name(OsStr::cmp);
    // The walker itself would follow a `.git` file to wherever it says.
    builder.git_exclude(false);
    if is_there(&root, top, EXCLUDE) {
        folders(&top.join(EXCLUDE_FOLDER));
        // A malformed line is left out, as everywhere.
        let _ = builder.add_ignore(top.join(EXCLUDE));
    }
    if let Some(glob) = glob {
        builder.overrides(only(top, glob)?);
    }
    let closed = Arc::new(AtomicU64::new(0));
    let (filter_root, counter, folders) = (root.clone(), closed.clone(), folders.clone());
    builder.filter_entry(move |entry| {
        let name = entry.file_name();
        if NEVER.iter().any(|never| name == *never) || name.to_str().is_some_and(is_ours) {
            return false;
        }
        let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
        if is_folder {
            folders(entry.path());
        }
        let open = !is_folder || IGNORE_FILES.iter().all(|name| is_harmless(&filter_root, entry.path(), name));
        counter.fetch_add(u64::from(!open), Ordering::Relaxed);
        open
    });
    Ok(Walk { inner: builder.build(), root, closed })
}

/// What a glob lets through.
pub(crate) fn only(top: &Path, glob: &str) -> Result<Override, BadWalk> {
    let bad = |error: ignore::Error| BadWalk::Glob { glob: glob.to_owned(), why: error.to_string() };
    let mut overrides = OverrideBuilder::new(top);
    overrides.add(glob).map_err(bad)?;
    overrides.build().map_err(bad)
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

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests make files")]
mod tests {
    use super::*;
    use std::{
        fs,
        os::unix::{ffi::OsStrExt, fs::symlink},
        process::Command,
    };
    use tempfile::TempDir;

    fn tree(names: &[&str]) -> TempDir {
        let temp = tempfile::tempdir().unwrap();
        for name in names {
            put(&temp, name, "");
        }
        temp
    }

    fn put(temp: &TempDir, name: &str, text: &str) {
        let path = temp.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn pipe(temp: &TempDir, name: &str) {
        assert!(Command::new("mkfifo").arg(temp.path().join(name)).status().unwrap().success());
    }

    fn files(temp: &TempDir, glob: Option<&str>) -> Vec<String> {
        let file = |entry| match entry {
            Entry::File(name) => Some(name),
            Entry::Other | Entry::OddName | Entry::Unreadable => None,
        };
        walk(&Root::open(temp.path()).unwrap(), glob).unwrap().filter_map(file).collect()
    }

    #[test]
    fn names_by_file_name_folder_by_folder() {
        let temp = tree(&["b", "a/z", "a.txt", "a/b/c", "B", "a-b"]);
        assert_eq!(files(&temp, None), ["B", "a/b/c", "a/z", "a-b", "a.txt", "b"]);
    }

    #[test]
    fn what_ripgrep_ignores() {
        let temp =
            tree(&[".git/config", ".readproof/x", ".hidden", "a.log", "b.rs", "c.tmp", "d/e.log", "d/f.tmp", "g"]);
        put(&temp, ".gitignore", "*.log\n!d/e.log\n");
        put(&temp, "d/.ignore", "*.tmp\n");
        put(&temp, ".rgignore", "/g\n");
        put(&temp, ".git/info/exclude", "c.tmp\n");
        assert_eq!(files(&temp, None), ["b.rs", "d/e.log"]);
        // As with `-g`, a file that is asked for is not ignored; what is never walked stays out.
        assert_eq!(files(&temp, Some("*.log")), ["a.log", "d/e.log"]);
        assert_eq!(files(&temp, Some("!*.rs")), ["d/e.log"]);
        assert_eq!(files(&temp, Some("d/**")), ["d/.ignore", "d/e.log", "d/f.tmp"]);
        for glob in ["config", "x", ".git/**", "**/.readproof/**"] {
            assert_eq!(files(&temp, Some(glob)), [""; 0], "{glob}");
        }
        let error = walk(&Root::open(temp.path()).unwrap(), Some("a[")).err().unwrap().to_string();
        assert!(
            error.starts_with("`a[` is no glob: ") && error.ends_with("; use one like `*.rs` or `src/**`"),
            "{error}"
        );
    }

    #[test]
    fn a_gitignore_counts_only_in_a_work_tree() {
        let temp = tree(&["a", "b"]);
        put(&temp, ".gitignore", "a\n");
        assert_eq!(files(&temp, None), ["a", "b"]);
        fs::create_dir(temp.path().join(".git")).unwrap();
        assert_eq!(files(&temp, None), ["b"]);
    }

    #[test]
    fn links_pipes_and_odd_names() {
        let temp = tree(&["a", "d/b"]);
        symlink("a", temp.path().join("link")).unwrap();
        symlink("/etc", temp.path().join("out")).unwrap();
        symlink("d", temp.path().join("folder")).unwrap();
        symlink(".", temp.path().join("loop")).unwrap();
        pipe(&temp, "pipe");
        fs::write(temp.path().join(OsStr::from_bytes(b"odd\xff")), "").unwrap();
        assert_eq!(files(&temp, None), ["a", "d/b"]);
        let odd = walk(&Root::open(temp.path()).unwrap(), None).unwrap().filter(|entry| *entry == Entry::OddName);
        assert_eq!(odd.count(), 1);
    }

    #[test]
    fn an_ignore_file_that_would_be_waited_for_is_not_read() {
        let temp = tree(&["a", "d/b", "e/c", "f/d"]);
        pipe(&temp, "d/.gitignore");
        symlink("/dev/zero", temp.path().join("e/.ignore")).unwrap();
        let root = Root::open(temp.path()).unwrap();
        let mut met = walk(&root, None).unwrap();
        assert_eq!(met.by_ref().filter(|entry| matches!(entry, Entry::File(_))).count(), 2);
        assert_eq!(met.closed(), 2);
        pipe(&temp, ".ignore");
        let error = walk(&root, None).err().unwrap().to_string();
        assert!(error.starts_with("`.ignore` is no regular file of at most 1048576 bytes"), "{error}");
        fs::remove_file(temp.path().join(".ignore")).unwrap();
        fs::create_dir_all(temp.path().join(".git/info")).unwrap();
        pipe(&temp, ".git/info/exclude");
        assert_eq!(files(&temp, None), ["a", "f/d"]);
    }
}
