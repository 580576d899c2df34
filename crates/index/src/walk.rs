//! Walks the files of a workspace in the order of `rg --sort path`, by its rules for ignored files and, with a glob, for
//! `-g`. Follows no symbolic link and reads nothing outside the workspace, so ignore files above it or in the user's home do
//! not count. `disk` lists folders and reads ignore files; it never blocks on one and never leaves the workspace, whatever
//! is put in their place during the walk.

mod judged;
mod nearest;
mod rules;

pub(crate) use judged::judged;
pub use nearest::nearest;
pub use rules::Ignores;

use std::{collections::BTreeSet, path::Path};

use ignore::overrides::{Override, OverrideBuilder};
use readproof_disk::{EntryKind, Folder, Root, RootError, STORE_NAME, is_ours, on_disk, spelt};

use rules::Rules;

/// Never walked, even if a glob asks for it.
const NEVER: [&str; 2] = [".git", STORE_NAME];

/// Ignore rules of a repository that are not under version control.
const EXCLUDE: &str = ".git/info/exclude";
const EXCLUDE_FOLDER: &str = ".git/info";

/// The largest ignore file that is read.
pub const IGNORE_BYTES: u64 = 128 << 10;

/// One thing that the walk met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WalkEntry {
    /// A regular file, by its name in the workspace.
    File(String),
    /// A symbolic link, by its own name. It is not followed.
    Link(String),
    /// A folder, or something that cannot be searched.
    Other,
    /// A file whose name cannot be spelt as text: it looks like the spelling of another one.
    OddName,
    /// A folder that cannot be listed.
    Unreadable,
}

/// Why a workspace cannot be walked.
#[derive(Debug, thiserror::Error)]
#[error("{self:?}")]
pub enum BadWalk {
    /// The glob is malformed.
    Glob { glob: String, why: String },
    /// An ignore file of the workspace's root cannot be used, so nothing says what to leave out.
    IgnoreFile {
        /// Relative to the workspace.
        name: String,
    },
    /// The workspace itself cannot be listed.
    Root(#[from] RootError),
}

/// Which hidden files are walked.
#[derive(Clone, Copy, Default)]
pub enum HiddenFiles<'w> {
    /// None.
    #[default]
    None,
    /// All.
    All,
    /// Those with these names, and what is in folders with these names.
    Named(&'w BTreeSet<String>),
}

/// Which files of a workspace are walked.
#[derive(Clone, Copy, Default)]
pub struct WalkRules<'w> {
    /// The name of the file or folder to start at; the whole workspace if absent. It may be ignored or hidden itself.
    pub under: Option<&'w str>,
    /// Only files that this lets through, as ripgrep's `-g` does.
    pub glob: Option<&'w str>,
    /// Which hidden files.
    pub hidden: HiddenFiles<'w>,
    /// Whether ignored files too.
    pub ignored: bool,
    /// Only what has one of these names, or lies in such a folder; everything if absent.
    pub among: Option<&'w BTreeSet<String>>,
}

/// Whether a name is one of these, or in a folder that is.
#[must_use]
pub fn is_among(names: &BTreeSet<String>, path: &str) -> bool {
    let folders = path.match_indices('/').map(|(at, _)| &path[..at]);
    folders.chain([path]).any(|name| names.contains(name))
}

/// Whether one of these names is in this folder.
fn leads_to(names: &BTreeSet<String>, folder: &str) -> bool {
    let prefix = format!("{folder}/");
    names.range(prefix.clone()..).next().is_some_and(|name| name.starts_with(&prefix))
}

/// A walk under way.
pub struct Walk<'w> {
    root: &'w Root,
    folders: Folders<'w>,
    only: Override,
    hidden: HiddenFiles<'w>,
    ignored: bool,
    among: Option<&'w BTreeSet<String>>,
    /// A file that the walk starts at.
    single: Option<String>,
    /// The folders that the walk is in, innermost last.
    levels: Vec<Level>,
    closed: u64,
    /// Those of the root.
    rules: Rules,
}

/// The rest of a folder. It is not held open: every folder is opened from the root, and no part of its path may be a link.
struct Level {
    /// Its path with a slash, or nothing.
    prefix: String,
    left: std::vec::IntoIter<(std::ffi::OsString, EntryKind)>,
    rules: Rules,
}

/// Walks a workspace; with a glob, only the files that match it.
///
/// # Errors
/// [`BadWalk`]: the glob or an ignore file of the root cannot be used.
pub fn walk<'w>(root: &'w Root, glob: Option<&'w str>) -> Result<Walk<'w>, BadWalk> {
    walk_by(root, &WalkRules { glob, ..WalkRules::default() })
}

/// Walks what the rules say.
///
/// # Errors
/// As for [`walk`], and if the place to start at cannot be listed.
pub fn walk_by<'w>(root: &'w Root, rules: &WalkRules<'w>) -> Result<Walk<'w>, BadWalk> {
    walk_told(root, rules, &|_| ())
}

/// Like [`walk_by`]; `folders` is told every folder.
pub(crate) fn walk_told<'w>(root: &'w Root, rules: &WalkRules<'w>, folders: Folders<'w>) -> Result<Walk<'w>, BadWalk> {
    let mut walk = walk_watched(root, rules.glob, folders)?;
    (walk.hidden, walk.ignored, walk.among) = (rules.hidden, rules.ignored, rules.among);
    if let Some(under) = rules.under.filter(|under| !matches!(*under, "" | ".")) {
        walk.start_at(under)?;
    }
    Ok(walk)
}

/// Called with the path of every folder before it is listed.
pub type Folders<'w> = &'w dyn Fn(&Path);

/// Like [`walk`]. `folders` is told every folder, and the one that holds [`EXCLUDE`].
pub(crate) fn walk_watched<'w>(
    root: &'w Root,
    glob: Option<&'w str>,
    folders: Folders<'w>,
) -> Result<Walk<'w>, BadWalk> {
    let only = glob.map_or_else(|| Ok(Override::empty()), only)?;
    folders(root.path());
    let mut top = root.top()?;
    let rules = Rules::of_top(root, &top).map_err(|name| BadWalk::IgnoreFile { name: name.to_owned() })?;
    if rules.has_exclude() {
        folders(&root.path().join(EXCLUDE_FOLDER));
    }
    let left = std::mem::take(&mut top.entries).into_iter();
    let levels = vec![Level { prefix: String::new(), left, rules: rules.clone() }];
    let hidden = HiddenFiles::None;
    Ok(Walk { root, folders, only, hidden, ignored: false, among: None, single: None, levels, closed: 0, rules })
}

/// The files that a glob lets through, by their paths in the workspace.
pub(crate) fn only(glob: &str) -> Result<Override, BadWalk> {
    only_all([glob].into_iter())
}

/// The same for several: a file that one of them lets through. The last one that matches decides.
pub(crate) fn only_all<'g>(globs: impl Iterator<Item = &'g str>) -> Result<Override, BadWalk> {
    let bad = |glob: &str, error: &ignore::Error| BadWalk::Glob { glob: glob.to_owned(), why: error.to_string() };
    let mut overrides = OverrideBuilder::new("");
    for glob in globs {
        overrides.add(glob).map_err(|error| bad(glob, &error))?;
    }
    overrides.build().map_err(|error| bad("", &error))
}

impl Walk<'_> {
    /// How many folders were left out because an ignore file in them cannot be used, or their name cannot be spelt as text.
    #[must_use]
    pub fn closed(&self) -> u64 {
        self.closed
    }

    /// What the ignore files say that were met so far. While it is the same after a walk, another one meets the same names.
    #[must_use]
    pub(crate) fn ignores(&self) -> Ignores {
        self.rules.ignores()
    }

    /// Leaves everything out but what has this name or lies under it.
    fn start_at(&mut self, under: &str) -> Result<(), BadWalk> {
        let unlisted = |error| BadWalk::Root(RootError::from_io(&self.root.path().join(under), error));
        let Some(Level { mut rules, .. }) = self.levels.pop() else { return Ok(()) };
        for (at, _) in under.match_indices('/').chain([(under.len(), "")]) {
            let key = &under[..at];
            let mut folder = match self.root.folder(key) {
                Ok(folder) => folder,
                // A file, or a link; whoever opens it finds out.
                Err(_) if at == under.len() && !self.is_folder(under) => {
                    self.single = Some(under.to_owned());
                    return Ok(());
                }
                Err(error) => return Err(unlisted(error)),
            };
            rules = rules.inside(key, &folder).ok_or_else(|| BadWalk::IgnoreFile { name: format!("{key}/…") })?;
            if at == under.len() {
                self.levels.push(Level { prefix: format!("{key}/"), left: take(&mut folder), rules });
                return Ok(());
            }
        }
        Ok(())
    }

    fn is_folder(&self, name: &str) -> bool {
        self.root.names_folder(name)
    }

    /// Whether a name is ignored, hidden or not asked for.
    fn leaves_out(&self, level: &Level, path: &Path, name: &[u8], is_folder: bool) -> bool {
        let asked = self.only.matched(path, is_folder);
        if !asked.is_none() {
            return asked.is_ignore();
        }
        let ruled = if self.ignored { None } else { level.rules.leaves_out(path, is_folder) };
        ruled.unwrap_or_else(|| name.starts_with(b".") && !self.shows_hidden(path))
    }

    /// Whether nothing is asked about what has this name.
    fn is_elsewhere(&self, path: &Path, is_folder: bool) -> bool {
        let (Some(names), Some(path)) = (self.among, spelt(path.as_os_str().as_encoded_bytes())) else { return false };
        let leads_there = is_folder && leads_to(names, &path);
        !leads_there && !is_among(names, &path)
    }

    fn shows_hidden(&self, path: &Path) -> bool {
        match self.hidden {
            HiddenFiles::None => false,
            HiddenFiles::All => true,
            HiddenFiles::Named(names) => {
                spelt(path.as_os_str().as_encoded_bytes()).is_some_and(|path| names.contains(&*path))
            }
        }
    }

    fn enter(&mut self, key: String, rules: Rules) -> WalkEntry {
        (self.folders)(&self.root.path().join(on_disk(&key)));
        let Ok(mut folder) = self.root.folder(&key) else {
            // One that went meanwhile has nothing to list.
            return if self.is_folder(&key) { WalkEntry::Unreadable } else { WalkEntry::Other };
        };
        match rules.inside(&key, &folder) {
            Some(rules) => {
                let left = take(&mut folder);
                self.levels.push(Level { prefix: key + "/", left, rules });
            }
            None => self.closed += 1,
        }
        WalkEntry::Other
    }
}

fn take(folder: &mut Folder<'_>) -> std::vec::IntoIter<(std::ffi::OsString, EntryKind)> {
    std::mem::take(&mut folder.entries).into_iter()
}

impl Iterator for Walk<'_> {
    type Item = WalkEntry;

    fn next(&mut self) -> Option<WalkEntry> {
        if let Some(name) = self.single.take() {
            return Some(WalkEntry::File(name));
        }
        loop {
            let level = self.levels.last_mut()?;
            let Some((name, kind)) = level.left.next() else {
                self.levels.pop();
                continue;
            };
            let level = self.levels.last()?;
            let is_folder = kind == EntryKind::Folder;
            let path = Path::new(&on_disk(&level.prefix)).join(&name);
            if self.is_elsewhere(&path, is_folder) {
                continue;
            }
            if self.leaves_out(level, &path, name.as_encoded_bytes(), is_folder) {
                continue;
            }
            let Some(name) = spelt(name.as_encoded_bytes()) else {
                // Nothing in such a folder can be named either.
                self.closed += u64::from(is_folder);
                return Some(if kind == EntryKind::File { WalkEntry::OddName } else { WalkEntry::Other });
            };
            if NEVER.contains(&&*name) || is_ours(&name) {
                continue;
            }
            let key = format!("{}{name}", level.prefix);
            return Some(match kind {
                EntryKind::File => WalkEntry::File(key),
                EntryKind::Folder => {
                    let rules = level.rules.clone();
                    self.enter(key, rules)
                }
                EntryKind::Link => WalkEntry::Link(key),
                EntryKind::Other => WalkEntry::Other,
            });
        }
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests make files")]
mod tests {
    use super::*;
    use std::{
        ffi::OsStr,
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
            WalkEntry::File(name) => Some(name),
            WalkEntry::Link(_) | WalkEntry::Other | WalkEntry::OddName | WalkEntry::Unreadable => None,
        };
        walk(&Root::open(temp.path()).unwrap(), glob).unwrap().filter_map(file).collect()
    }

    #[test]
    fn names_by_file_name_folder_by_folder() {
        let temp = tree(&["b", "a/z", "a.txt", "a/b/c", "B", "a-b"]);
        assert_eq!(files(&temp, None), ["B", "a/b/c", "a/z", "a-b", "a.txt", "b"]);
    }

    #[test]
    fn only_some_names_by_the_same_rules() {
        let temp = tree(&["a", "b", "d/a", "d/e/x", "d/e/y", "d/f/x", "g/h", "out.log"]);
        put(&temp, "d/.ignore", "f\n");
        put(&temp, ".ignore", "*.log\n");
        let root = Root::open(temp.path()).unwrap();
        let check = |names: &[&str], expected: &[&str]| {
            let names: BTreeSet<String> = names.iter().map(|name| (*name).to_owned()).collect();
            let rules = WalkRules { among: Some(&names), ..WalkRules::default() };
            let met: Vec<WalkEntry> = walk_by(&root, &rules).unwrap().filter(|met| *met != WalkEntry::Other).collect();
            let files: Vec<WalkEntry> = expected.iter().map(|name| WalkEntry::File((*name).to_owned())).collect();
            assert_eq!(met, files, "{names:?}");
        };
        check(&["a", "d/e/y", "none", "out.log"], &["a", "d/e/y"]);
        check(&["d"], &["d/a", "d/e/x", "d/e/y"]);
        check(&["d/f/x", "g/h/i"], &[]);
        check(&[], &[]);
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
        // As with `-g`, a file that is asked for is not ignored.
        assert_eq!(files(&temp, Some("*.log")), ["a.log", "d/e.log"]);
        assert_eq!(files(&temp, Some("!*.rs")), ["d/e.log"]);
        assert_eq!(files(&temp, Some("d/**")), ["d/.ignore", "d/e.log", "d/f.tmp"]);
        for glob in ["config", "x", ".git/**", "**/.readproof/**"] {
            assert_eq!(files(&temp, Some(glob)), [""; 0], "{glob}");
        }
        let error = walk(&Root::open(temp.path()).unwrap(), Some("a[")).err().unwrap();
        assert!(matches!(&error, BadWalk::Glob { glob, why } if glob == "a[" && !why.is_empty()), "{error}");
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
        fs::create_dir(temp.path().join(OsStr::from_bytes(b"f\xfe"))).unwrap();
        fs::write(temp.path().join(OsStr::from_bytes(b"f\xfe/in")), "").unwrap();
        // Such a text means the name with the byte.
        fs::write(temp.path().join("odd\u{fffd}fe"), "").unwrap();
        assert_eq!(files(&temp, None), ["a", "d/b", "f\u{fffd}fe/in", "odd\u{fffd}ff"]);
        let root = Root::open(temp.path()).unwrap();
        let odd = walk(&root, None).unwrap().filter(|entry| *entry == WalkEntry::OddName);
        assert_eq!(odd.count(), 1);
    }

    #[test]
    fn an_ignore_file_that_would_be_waited_for_is_not_read() {
        let temp = tree(&["a", "d/b", "e/c", "f/d"]);
        pipe(&temp, "d/.gitignore");
        symlink("/dev/zero", temp.path().join("e/.ignore")).unwrap();
        let root = Root::open(temp.path()).unwrap();
        let mut met = walk(&root, None).unwrap();
        assert_eq!(met.by_ref().filter(|entry| matches!(entry, WalkEntry::File(_))).count(), 2);
        assert_eq!(met.closed(), 2);
        pipe(&temp, ".ignore");
        let error = walk(&root, None).err().unwrap();
        assert!(matches!(&error, BadWalk::IgnoreFile { name } if name == ".ignore"), "{error}");
        fs::remove_file(temp.path().join(".ignore")).unwrap();
        fs::create_dir_all(temp.path().join(".git/info")).unwrap();
        pipe(&temp, ".git/info/exclude");
        assert_eq!(files(&temp, None), ["a", "f/d"]);
    }

    #[test]
    fn the_strongest_file_decides_and_of_one_kind_the_innermost() {
        let temp = tree(&["a", "b", "c", "d/a", "d/b", "d/c", "d/e/a", ".h/x", ".i", "k/a", "k/l/a", "m/n/o"]);
        put(&temp, ".git/info/exclude", "/d/c\n!/a\n");
        put(&temp, ".gitignore", "a\nb\n!.i\n!/.h/\nk/*\n!k/l\n/m/n\n");
        put(&temp, ".ignore", "!b\nc\n");
        put(&temp, ".rgignore", "\u{feff}!c\r\n# no rule\n");
        put(&temp, "d/.gitignore", "!a\nb\n");
        put(&temp, "d/e/.ignore", "a\n");
        // A stronger kind of ignore file wins wherever it is; of one kind the innermost wins.
        assert_eq!(files(&temp, None), [".h/x", ".i", "b", "c", "d/a", "d/b", "d/c"]);
        fs::remove_file(temp.path().join(".rgignore")).unwrap();
        assert_eq!(files(&temp, None), [".h/x", ".i", "b", "d/a", "d/b"]);
        fs::remove_file(temp.path().join(".ignore")).unwrap();
        assert_eq!(files(&temp, None), [".h/x", ".i", "c", "d/a"]);
        assert_eq!(files(&temp, Some("d/e/a")), ["d/e/a"]);
    }

    #[test]
    fn a_work_tree_in_a_folder_that_is_none_has_its_own_rules() {
        let temp = tree(&["x", "repo/x", "repo/y", "repo/sub/x", "repo/sub/z", "jj/x", "plain/x"]);
        for (name, text) in [(".gitignore", "y\n"), ("repo/.gitignore", "x\n"), ("jj/.gitignore", "x\n")] {
            put(&temp, name, text);
        }
        put(&temp, "plain/.gitignore", "x\n");
        fs::create_dir_all(temp.path().join("jj/.jj")).unwrap();
        put(&temp, "repo/.git", "gitdir: elsewhere\n");
        put(&temp, "repo/sub/.git/config", "");
        assert_eq!(files(&temp, None), ["plain/x", "repo/sub/x", "repo/sub/z", "repo/y", "x"]);
    }

    #[test]
    fn what_is_no_utf8_ends_an_ignore_file() {
        let temp = tree(&["a", "b", "c"]);
        fs::write(temp.path().join(".ignore"), b"a\n[\n\xff\nb\n").unwrap();
        assert_eq!(files(&temp, None), ["b", "c"]);
        // A link to an ignore file counts if it stays in the workspace.
        fs::rename(temp.path().join(".ignore"), temp.path().join("rules")).unwrap();
        symlink("rules", temp.path().join(".ignore")).unwrap();
        assert_eq!(files(&temp, None), ["b", "c", "rules"]);
    }

    #[test]
    fn files_of_our_own_are_passed_over() {
        let temp = tree(&[".readproof-12-3.tmp", ".readproof-turn", ".readproof-12-x.tmp", ".readproof-12.tmp", "a"]);
        assert_eq!(files(&temp, Some(".*")), [".readproof-12-x.tmp", ".readproof-12.tmp"]);
    }

    #[test]
    fn a_tree_deeper_than_any_number_of_open_folders() {
        let temp = tree(&[&format!("{}deep", "d/".repeat(1500))]);
        assert_eq!(files(&temp, None).len(), 1);
    }

    /// What is put in the place of a folder or an ignore file while it is looked at is neither followed nor waited for.
    #[test]
    fn ignore_files_have_room_together() {
        let temp = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| {
            let path = temp.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let half = "nope\n".repeat(15_000);
        put(".ignore", &half);
        put("a/x.txt", "");
        put("a/b/.ignore", &half);
        put("a/b/y.txt", "");
        put("c/z.txt", "");
        // A line of this length is not a pattern that anybody wrote.
        put("c/.ignore", &format!("{}\n", "?*".repeat(3_000)));
        let root = Root::open(temp.path()).unwrap();
        let mut found = walk(&root, None).unwrap();
        let files: Vec<WalkEntry> = found.by_ref().filter(|entry| matches!(entry, WalkEntry::File(_))).collect();
        assert_eq!(files, ["a/x.txt", "c/z.txt"].map(|name| WalkEntry::File(name.to_owned())));
        assert_eq!(found.closed(), 1);
        put(".ignore", &"x\n".repeat(70_000));
        assert!(matches!(walk(&root, None), Err(BadWalk::IgnoreFile { .. })));
    }

    #[test]
    fn swaps_while_walking() {
        let outside = tree(&["secret", "deep/secret"]);
        let temp = tree(&["a", "d/b", "e/deep/c", "f"]);
        put(&temp, "d/.gitignore", "x\n");
        fs::create_dir(temp.path().join(".git")).unwrap();
        let (root, stop) = (temp.path().to_owned(), std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false)));
        let (outer, done) = (outside.path().to_owned(), stop.clone());
        let swapping = std::thread::spawn(move || {
            let at = |name: &str| root.join(name);
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                fs::rename(at("e"), at("kept")).unwrap();
                symlink(&outer, at("e")).unwrap();
                fs::remove_file(at("d/.gitignore")).unwrap();
                assert!(Command::new("mkfifo").arg(at("d/.gitignore")).status().unwrap().success());
                fs::remove_file(at("e")).unwrap();
                fs::rename(at("kept"), at("e")).unwrap();
                fs::remove_file(at("d/.gitignore")).unwrap();
                fs::write(at("d/.gitignore"), "x\n").unwrap();
            }
        });
        let (sender, walked) = std::sync::mpsc::channel();
        let path = temp.path().to_owned();
        std::thread::spawn(move || {
            let root = Root::open(&path).unwrap();
            for _ in 0..400 {
                let met: Vec<WalkEntry> = walk(&root, None).unwrap().collect();
                sender.send(met).unwrap();
            }
        });
        for _ in 0..400 {
            let met = walked.recv_timeout(std::time::Duration::from_secs(20)).expect("the walk hangs");
            let out = met.iter().find(|entry| matches!(entry, WalkEntry::File(name) if name.contains("secret")));
            assert_eq!(out, None);
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        swapping.join().unwrap();
    }
}
