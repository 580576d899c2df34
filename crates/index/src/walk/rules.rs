//! What is ignored in a folder, by its ignore files and those above it, as in ripgrep: `.rgignore` wins over `.ignore`, that
//! over `.gitignore`, that over `.git/info/exclude`; of one kind, the innermost file with a matching line wins.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use ignore::{
    Match,
    gitignore::{Gitignore, GitignoreBuilder},
};
use readproof_core::text::ContentHash;
use readproof_disk::{Folder, Root, Small};

use super::{EXCLUDE, IGNORE_BYTES, is_among, leads_to};

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

/// What ignore files say. While it is the same, a walk meets the same names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ignores {
    seeks_work_trees: bool,
    /// By name; those of the root begin with a slash. Each with the hash of its text.
    files: BTreeMap<String, ContentHash>,
}

impl Ignores {
    /// Of all of it.
    #[must_use]
    pub fn digest(&self) -> ContentHash {
        ContentHash::of(format!("{} {:?}", self.seeks_work_trees, self.files).as_bytes())
    }

    /// A form that can be kept.
    #[must_use]
    pub(crate) fn encode(&self) -> String {
        let files = self.files.iter().map(|(name, hash)| format!("\n{hash} {name}"));
        format!("{}{}", self.seeks_work_trees, files.collect::<String>())
    }

    /// What [`Self::encode`] made; `None` for anything else, such as the name of a folder with a line break in it.
    #[must_use]
    pub(crate) fn decode(text: &str) -> Option<Self> {
        let mut lines = text.split('\n');
        let seeks_work_trees = lines.next()?.parse().ok()?;
        let file = |line: &str| {
            let (hash, name) = line.split_once(' ')?;
            Some((name.to_owned(), ContentHash::parse(hash)?))
        };
        Some(Self { seeks_work_trees, files: lines.map(file).collect::<Option<_>>()? })
    }

    /// Whether a walk that met only these names found what one that met all had found of the ignore files in folders on the way
    /// to these names, and in them.
    #[must_use]
    pub(crate) fn agrees_about(&self, all: &Self, names: &BTreeSet<String>) -> bool {
        let matters = |file: &str| {
            let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
            folder.is_empty() || file == EXCLUDE || is_among(names, folder) || leads_to(names, folder)
        };
        let of_all = all.files.iter().filter(|(file, _)| matters(file));
        self.seeks_work_trees == all.seeks_work_trees && of_all.eq(self.files.iter().filter(|(file, _)| matters(file)))
    }
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

    /// All ignore files that were read so far.
    pub(super) fn ignores(&self) -> Ignores {
        let files = self.all.read.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Ignores { seeks_work_trees: self.all.seeks_work_trees, files }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_names_depend_on_the_ignore_files_above_and_below_them() {
        let of = |files: &[(&str, &str)]| Ignores {
            seeks_work_trees: true,
            files: files.iter().map(|(name, text)| ((*name).to_owned(), ContentHash::of(text.as_bytes()))).collect(),
        };
        let all =
            [("/.ignore", "1"), ("a/.gitignore", "2"), ("a/b/.gitignore", "3"), ("c/.ignore", "4"), (EXCLUDE, "5")];
        assert_eq!(Ignores::decode(&of(&all).encode()), Some(of(&all)));
        let check = |names: &[&str], files: &[(&str, &str)], expected: bool| {
            let names = names.iter().map(|name| (*name).to_owned()).collect();
            assert_eq!(of(files).agrees_about(&of(&all), &names), expected, "{names:?} {files:?}");
        };
        let at = |numbers: &[usize]| numbers.iter().map(|at| all[*at]).collect::<Vec<_>>();
        check(&["a/x"], &at(&[0, 1, 4]), true);
        check(&["a/x", "top"], &at(&[0, 1, 4]), true);
        check(&["a"], &at(&[0, 1, 2, 4]), true);
        check(&["a/b/x"], &at(&[0, 1, 2, 4]), true);
        // One is gone, has another text, or is new.
        check(&["a"], &at(&[0, 1, 4]), false);
        check(&["top"], &at(&[0]), false);
        check(&["top"], &[("/.ignore", "0"), (EXCLUDE, "5")], false);
        check(&["c/x"], &[("c/.gitignore", "0"), all[0], all[3], all[4]], false);
        assert!(!Ignores { seeks_work_trees: false, ..of(&at(&[0, 4])) }.agrees_about(&of(&all), &BTreeSet::new()));
    }
}
