//! What is ignored in a folder, by its ignore files and those above it, as in ripgrep: `.rgignore` wins over `.ignore`, that
//! over `.gitignore`, that over `.git/info/exclude`; of one kind, the innermost file with a matching line wins.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use ignore::{
    Match,
    gitignore::{Gitignore, GitignoreBuilder},
};
use readproof_core::text::ContentHash;
use readproof_disk::{Folder, Root, Small};

use super::{EXCLUDE, IGNORE_BYTES};

/// The ignore files of a folder, the strongest first.
const IGNORE_FILES: [&str; 3] = [".rgignore", ".ignore", ".gitignore"];

/// A longer line is not a pattern that anybody wrote.
const LINE_BYTES: usize = 4096;

/// The one that counts only in a work tree.
const GIT: usize = 2;

/// The rules that apply in a folder.
#[derive(Clone)]
pub(super) struct Rules {
    all: Arc<All>,
    /// The innermost folder that has rules of its own.
    own: Option<Arc<Own>>,
    /// Whether git's rules apply.
    in_work_tree: bool,
    /// Size of the ignore files that apply here. Compiled, they take hundreds of times as much memory.
    bytes: u64,
}

/// What applies in the whole workspace.
struct All {
    exclude: Option<Gitignore>,
    /// Whether folders may be work trees, as the workspace is not inside one.
    seeks_work_trees: bool,
    /// Every ignore file that was read.
    read: Mutex<BTreeMap<String, ContentHash>>,
}

/// The rules that one folder adds.
struct Own {
    outer: Option<Arc<Own>>,
    matchers: [Gitignore; 3],
    /// Whether a work tree begins here: git's rules from above do not apply in it.
    is_work_tree: bool,
}

impl Rules {
    /// The rules of the workspace's root.
    ///
    /// # Errors
    /// The name of an ignore file that cannot be used.
    pub(super) fn of_top(root: &Root, top: &Folder<'_>) -> Result<Self, &'static str> {
        let seeks_work_trees = !root.is_in_git();
        let mut read = BTreeMap::new();
        let exclude = match top.entry(".git") {
            Some(_) => match root.small(EXCLUDE, IGNORE_BYTES) {
                Small::Bytes(bytes) => {
                    read.insert(EXCLUDE.to_owned(), ContentHash::of(&bytes));
                    Some(matcher("", &bytes))
                }
                // A search without these rules finds too much rather than too little.
                Small::None | Small::Refused => None,
            },
            None => None,
        };
        let in_work_tree = !seeks_work_trees || root.is_below_jj();
        let rules = Self {
            all: Arc::new(All { exclude, seeks_work_trees, read: Mutex::new(read) }),
            own: None,
            in_work_tree,
            bytes: 0,
        };
        rules.add("", top)
    }

    pub(super) fn has_exclude(&self) -> bool {
        self.all.exclude.is_some()
    }

    /// What all ignore files say that were read so far.
    pub(super) fn digest(&self) -> ContentHash {
        let read = self.all.read.lock().unwrap_or_else(PoisonError::into_inner);
        ContentHash::of(format!("{} {read:?}", self.all.seeks_work_trees).as_bytes())
    }

    /// The rules of a folder in this one; `None` if one of its ignore files cannot be used.
    pub(super) fn inside(&self, key: &str, folder: &Folder<'_>) -> Option<Self> {
        self.add(key, folder).ok()
    }

    fn add(&self, key: &str, folder: &Folder<'_>) -> Result<Self, &'static str> {
        let (mut matchers, mut all_bytes) = ([const { None }; 3], self.bytes);
        for (matcher_of, name) in matchers.iter_mut().zip(IGNORE_FILES) {
            *matcher_of = match folder.small(name, IGNORE_BYTES) {
                Small::None => None,
                Small::Bytes(bytes) => {
                    all_bytes += bytes.len() as u64;
                    let mut read = self.all.read.lock().unwrap_or_else(PoisonError::into_inner);
                    read.insert(format!("{key}/{name}"), ContentHash::of(&bytes));
                    drop(read);
                    if all_bytes > IGNORE_BYTES {
                        return Err(name);
                    }
                    Some(matcher(key, &bytes)).filter(|rules| !rules.is_empty())
                }
                Small::Refused => return Err(name),
            };
        }
        let is_work_tree =
            self.all.seeks_work_trees && (folder.entry(".git").is_some() || folder.entry(".jj").is_some());
        if !is_work_tree && matchers.iter().all(Option::is_none) {
            return Ok(self.clone());
        }
        let matchers = matchers.map(|matcher| matcher.unwrap_or_else(Gitignore::empty));
        let own = Own { outer: self.own.clone(), matchers, is_work_tree };
        let in_work_tree = self.in_work_tree || is_work_tree;
        Ok(Self { all: self.all.clone(), own: Some(Arc::new(own)), in_work_tree, bytes: all_bytes })
    }

    /// Whether a name in this folder is ignored; `None` if no rule matches it.
    pub(super) fn leaves_out(&self, path: &Path, is_folder: bool) -> Option<bool> {
        let mut said = [None; 3];
        let (mut git, mut own) = (self.in_work_tree, self.own.as_deref());
        while let Some(rules) = own {
            for (kind, matcher) in rules.matchers.iter().enumerate() {
                if said[kind].is_none() && (kind != GIT || git) {
                    said[kind] = verdict(&matcher.matched(path, is_folder));
                }
            }
            git &= !rules.is_work_tree;
            own = rules.outer.as_deref();
        }
        let exclude = || self.all.exclude.as_ref().and_then(|rules| verdict(&rules.matched(path, is_folder)));
        said.into_iter().flatten().next().or_else(exclude)
    }
}

fn verdict<T>(found: &Match<T>) -> Option<bool> {
    match found {
        Match::None => None,
        Match::Ignore(_) => Some(true),
        Match::Whitelist(_) => Some(false),
    }
}

/// The rules of an ignore file in the folder `key`. They end at the first line that is not UTF-8. A malformed or very long
/// line is left out; if the rest cannot be compiled, all are.
fn matcher(key: &str, bytes: &[u8]) -> Gitignore {
    let mut builder = GitignoreBuilder::new(key);
    for (number, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        let Ok(line) = std::str::from_utf8(line) else { break };
        if line.len() > LINE_BYTES {
            continue;
        }
        let line = line.strip_suffix('\r').unwrap_or(line);
        let line = if number == 0 { line.trim_start_matches('\u{feff}') } else { line };
        let _ = builder.add_line(None, line);
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}
