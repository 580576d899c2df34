//! What applies in one folder of a workspace: what the folders around it already decided, and the ignore files on the way. It is
//! kept between calls, and looked at again when the folder or one of those files may have changed.

use std::{
    collections::HashMap,
    ffi::OsString,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use readproof_core::{
    policy::{Dialect, NameKind, Rule},
    text::ContentHash,
};

use super::{
    compile::add_file,
    error::PolicyError,
    files::{Mark, read},
    lists::{Entry, Lists, ListsBuilder},
    rules::{Owner, Rules},
};
use crate::{root::Root, snapshot::EntryKind};

/// How many folders are kept.
const MOST_FOLDERS: usize = 4096;

/// How many bytes of ignore files in folders are kept. Compiled, they take many times as much memory.
const MOST_TEXT: usize = 1 << 20;

/// The folders that were looked at, by their keys.
#[derive(Debug, Default)]
pub(super) struct Folders {
    by_name: HashMap<String, Arc<FolderState>>,
    /// The size of their ignore files.
    text: usize,
}

impl Folders {
    fn insert(&mut self, name: &str, state: &Arc<FolderState>) {
        if self.by_name.len() >= MOST_FOLDERS || self.text > MOST_TEXT {
            *self = Self::default();
        }
        self.text += state.text;
        self.by_name.insert(name.to_owned(), Arc::clone(state));
    }
}

/// What applies in a folder.
#[derive(Debug)]
pub(super) struct FolderState {
    pub(super) id: ContentHash,
    /// The folder around it, as it was then.
    outer: Option<Arc<FolderState>>,
    /// What matches the folder itself or one around it, and so everything in it.
    held: Hits,
    /// The innermost ignore files.
    own: Option<Arc<Own>>,
    /// Whether it is a folder, and no link on the way to it.
    is_folder: bool,
    /// The size of its ignore files.
    text: usize,
    seen: Mutex<Seen>,
}

impl FolderState {
    /// That of the workspace's root.
    pub(super) fn outermost(&self) -> &Self {
        let mut state = self;
        while let Some(outer) = &state.outer {
            state = outer;
        }
        state
    }
}

/// A folder that was listed.
#[derive(Clone, Copy)]
pub(super) struct Listing<'l> {
    /// As it was before.
    pub(super) folder: Mark,
    pub(super) entries: &'l [(OsString, EntryKind)],
}

impl Listing<'_> {
    /// Whether something may have this name. Compared without case, as some file systems do; what case is beyond ASCII, only they know.
    fn has(&self, name: &str) -> bool {
        let may_be = |entry: &[u8]| entry.eq_ignore_ascii_case(name.as_bytes()) || !entry.is_ascii();
        self.entries.iter().any(|(entry, _)| may_be(entry.as_encoded_bytes()))
    }
}

/// What was looked at.
#[derive(Debug, Default)]
struct Seen {
    folder: Option<Mark>,
    /// Those of its ignore files that are there.
    files: Vec<(Dialect, Mark)>,
}

/// The ignore files of one folder.
#[derive(Debug)]
struct Own {
    outer: Option<Arc<Own>>,
    /// How much of a name comes before what the patterns are compared with.
    prefix: usize,
    lists: Lists,
    dialects: Vec<Dialect>,
}

/// What matched a name.
#[derive(Clone, Debug, Default)]
pub(super) struct Hits {
    /// By the number of the rule, which are sorted, and the pattern of it that matched.
    pub(super) rules: Vec<(usize, Arc<Rule>)>,
    /// By dialect, which are sorted: whether an exception decided, and the line that did.
    pub(super) dialects: Vec<(Dialect, bool, Arc<Rule>)>,
}

impl FolderState {
    /// The root itself.
    pub(super) fn top(id: ContentHash) -> Self {
        Self { id, outer: None, held: Hits::default(), own: None, is_folder: true, text: 0, seen: Mutex::default() }
    }

    /// Whether no pattern matches the folder, and no ignore file below the root applies in it.
    pub(super) fn is_bare(&self) -> bool {
        self.own.is_none() && self.held.rules.is_empty() && self.held.dialects.is_empty()
    }

    /// What matches a name directly in this folder: what matches the folder, and the patterns that match the name itself.
    pub(super) fn hits(&self, rules: &Rules, name: &str, kind: NameKind) -> Hits {
        let mut hits = self.held.clone();
        // The root itself is matched by no pattern, not even by `*`.
        if name == "." {
            return hits;
        }
        let of_dialect = |hits: &mut Hits, dialect: Dialect, entry: &Entry| {
            // The innermost file that says anything decides, and before it a folder that is left out.
            if hits.dialects.iter().all(|(other, ..)| *other != dialect) {
                hits.dialects.push((dialect, entry.negated, Arc::clone(&entry.rule)));
            }
        };
        let mut own = self.own.as_deref();
        while let Some(files) = own {
            for entry in files.lists.matched(&name[files.prefix.min(name.len())..], kind) {
                of_dialect(&mut hits, files.dialects[entry.list], entry);
            }
            own = files.outer.as_deref();
        }
        let held = self.held.rules.len();
        for entry in rules.top.matched(name, kind) {
            match rules.owners[entry.list] {
                Owner::Dialect(dialect) => of_dialect(&mut hits, dialect, entry),
                Owner::Rule(rule) => {
                    if !entry.negated && self.held.rules.iter().all(|(other, _)| *other != rule) {
                        hits.rules.push((rule, Arc::clone(&entry.rule)));
                    }
                }
            }
        }
        if held > 0 && hits.rules.len() > held {
            hits.rules.sort_unstable_by_key(|(rule, _)| *rule);
        }
        if hits.dialects.len() > 1 {
            hits.dialects.sort_unstable_by_key(|(dialect, ..)| *dialect);
        }
        hits
    }
}

impl Rules {
    /// What applies in a folder. Costs one stat for each folder on the way, and one for each ignore file there.
    pub(super) fn state_of(&self, root: &Root, folder: &str) -> Result<Arc<FolderState>, PolicyError> {
        let mut state = Arc::clone(&self.start);
        if folder == "." {
            return Ok(state);
        }
        for (end, _) in folder.match_indices('/').chain([(folder.len(), "")]) {
            state = self.step(root, &state, &folder[..end], None)?;
        }
        Ok(state)
    }

    /// What applies at the root.
    pub(super) fn top_state(&self) -> Arc<FolderState> {
        Arc::clone(&self.start)
    }

    /// What applies in a folder directly in another. If it was listed just now, nothing is asked for that is not in it.
    pub(super) fn step(
        &self,
        root: &Root,
        outer: &Arc<FolderState>,
        name: &str,
        listed: Option<Listing<'_>>,
    ) -> Result<Arc<FolderState>, PolicyError> {
        let known = lock(&self.folders).by_name.get(name).cloned();
        let known = known.filter(|known| known.outer.as_ref().is_some_and(|of_known| Arc::ptr_eq(of_known, outer)));
        if let Some(known) = &known
            && self.is_fresh(root, known, name, listed)?
        {
            return Ok(Arc::clone(known));
        }
        let made = self.look_at(root, outer, name, listed)?;
        // What has not changed keeps its compiled patterns, and those of the folders in it.
        if let Some(known) = known.filter(|known| known.id == made.id && known.is_folder == made.is_folder) {
            *lock(&known.seen) = made.seen.into_inner().unwrap_or_else(PoisonError::into_inner);
            return Ok(known);
        }
        let made = Arc::new(made);
        lock(&self.folders).insert(name, &made);
        Ok(made)
    }

    fn is_fresh(
        &self,
        root: &Root,
        known: &FolderState,
        name: &str,
        listed: Option<Listing<'_>>,
    ) -> Result<bool, PolicyError> {
        let mut seen = lock(&known.seen);
        let Some(then) = seen.folder else { return Ok(true) };
        let now = listed.map_or_else(|| Mark::of_name(root, name), |listed| Ok(listed.folder))?;
        if !now.is_folder() || !known.is_folder {
            return Ok(!now.is_folder() && !known.is_folder);
        }
        if then.is_still(&now) {
            return still(root, name, seen.files.iter().copied());
        }
        // Something in the folder changed: perhaps an ignore file came or went.
        let all = self.read_in(&known.held).map(|dialect| {
            let then = seen.files.iter().find(|(of, _)| *of == dialect);
            (dialect, then.map_or(Mark::ABSENT, |(_, mark)| *mark))
        });
        // What is not listed is not there.
        let all = all.filter(|(dialect, then)| then.stamp.is_some() || may_be_in(listed, *dialect));
        let same = still(root, name, all)?;
        if same {
            seen.folder = Some(now);
        }
        Ok(same)
    }

    /// The kinds of ignore files that count in a folder: as in git, those by which it is left out are not looked for in it.
    fn read_in(&self, held: &Hits) -> impl Iterator<Item = Dialect> {
        let left_out = |dialect: &Dialect| held.dialects.iter().any(|(of, ..)| of == dialect);
        self.honoured.iter().copied().filter(move |dialect| dialect.file_name().is_some() && !left_out(dialect))
    }

    fn look_at(
        &self,
        root: &Root,
        outer: &Arc<FolderState>,
        name: &str,
        listed: Option<Listing<'_>>,
    ) -> Result<FolderState, PolicyError> {
        let mut held = outer.hits(self, name, NameKind::Folder);
        held.dialects.retain(|(_, negated, _)| !negated);
        let mut seen = Seen::default();
        let mut is_folder = outer.is_folder;
        if outer.is_folder && self.read_in(&held).next().is_some() {
            let mark = listed.map_or_else(|| Mark::of_name(root, name), |listed| Ok(listed.folder))?;
            is_folder = mark.is_folder();
            seen.folder = Some(mark);
        }
        let mut texts = Vec::new();
        if is_folder && seen.folder.is_some() {
            for dialect in self.read_in(&held).filter(|dialect| may_be_in(listed, *dialect)) {
                let file = in_folder(name, dialect);
                if let (Some(text), mark) = read(root, &file)? {
                    seen.files.push((dialect, mark));
                    texts.push((dialect, file, text));
                }
            }
        }
        let (own, id) = if texts.is_empty() {
            (outer.own.clone(), outer.id)
        } else {
            let (mut lists, mut dialects, mut warnings) = (ListsBuilder::default(), Vec::new(), Vec::new());
            let mut parts: Vec<&[u8]> = vec![outer.id.as_bytes()];
            for (dialect, file, text) in &texts {
                add_file(&mut lists, *dialect, file, text, &mut warnings)?;
                dialects.push(*dialect);
                parts.extend([file.as_bytes(), b"\0", text.as_bytes(), b"\0"]);
            }
            let own = Own { outer: outer.own.clone(), prefix: name.len() + 1, lists: lists.build()?, dialects };
            (Some(Arc::new(own)), ContentHash::of_parts(&parts))
        };
        let text = texts.iter().map(|(.., text)| text.len()).sum();
        Ok(FolderState { id, outer: Some(Arc::clone(outer)), held, own, is_folder, text, seen: Mutex::new(seen) })
    }
}

fn still(root: &Root, folder: &str, files: impl Iterator<Item = (Dialect, Mark)>) -> Result<bool, PolicyError> {
    for (dialect, then) in files {
        let now = Mark::of_name(root, &in_folder(folder, dialect))?;
        // A folder of that name is no ignore file.
        let now = if now.is_folder() { Mark::ABSENT } else { now };
        if !then.is_still(&now) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether a folder may hold such an ignore file, as far as it was listed.
fn may_be_in(listed: Option<Listing<'_>>, dialect: Dialect) -> bool {
    listed.is_none_or(|listed| dialect.file_name().is_some_and(|name| listed.has(name)))
}

fn in_folder(folder: &str, dialect: Dialect) -> String {
    format!("{folder}/{}", dialect.file_name().unwrap_or_default())
}

/// No step leaves these half-changed, so a panic elsewhere does no harm.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
