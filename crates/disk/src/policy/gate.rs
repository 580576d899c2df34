//! The rules as the guard of a root: for one caller, and for what one call needs of every name. What it has looked at it keeps
//! until the call is over.

use std::os::unix::ffi::OsStrExt;
use std::{
    collections::HashMap,
    ffi::OsString,
    sync::{Arc, Mutex, PoisonError, RwLock},
};

use readproof_core::{
    operation::Caller,
    policy::{Act, Acts, Asked, Dialect, Effect, Layer, NameKind, PresetRules, Rule, RuleNames, Ruling, Verdict},
    text::ContentHash,
};

use super::{
    Guard, PolicyError, Sensitive,
    files::Mark,
    folder::{FolderState, Listing},
    rules::{FolderRules, Rules},
};
use crate::{root::Root, snapshot::EntryKind, snapshot::spelling::spelt};

/// What is done where a rule asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asks {
    /// Nothing may be done: nobody was asked yet.
    Refuse,
    /// A person has agreed.
    Agreed,
}

/// A name, acts, and what the rules say about each.
type Said = (String, Acts, Vec<Ruling>);

/// The rules for one call.
#[derive(Debug)]
pub struct Gate {
    rules: Arc<Rules>,
    /// Without a guard, to look at the ignore files in folders.
    root: Root,
    caller: Caller,
    acts: Acts,
    asks: Asks,
    sensitive: Arc<Sensitive>,
    /// Whether a rule for these acts depends on a name being sensitive.
    minds_sensitive: bool,
    /// What applies in the folders that were met in this call.
    folders: RwLock<HashMap<String, Arc<FolderState>>>,
    /// What was said last about a file and about a folder: one call judges the same name several times.
    last: [Mutex<Option<Said>>; 2],
}

impl Gate {
    /// The rules for a caller who needs all of these acts.
    #[must_use]
    pub fn new(
        (rules, root): (Arc<Rules>, &Root),
        (caller, acts, asks): (&Caller, Acts, Asks),
        sensitive: Arc<Sensitive>,
    ) -> Self {
        let minds = |(_, of, names, _): (_, Acts, _, &_)| {
            names == RuleNames::Sensitive && acts.iter().any(|act| of.contains(act))
        };
        let minds_sensitive = rules.presets.iter().flat_map(PresetRules::iter).any(minds);
        let (caller, root) = (caller.clone(), root.unguarded());
        Self {
            rules,
            root,
            caller,
            acts,
            asks,
            sensitive,
            minds_sensitive,
            folders: RwLock::default(),
            last: Default::default(),
        }
    }

    fn folder(&self, name: &str) -> Result<FolderRules<'_>, PolicyError> {
        self.folder_as(name, None)
    }

    /// The same for a folder that was listed, if it was: what is in it need not be asked for again.
    fn folder_as(&self, name: &str, listed: Option<Listing<'_>>) -> Result<FolderRules<'_>, PolicyError> {
        let known = self.folders.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned();
        if let Some(state) = known {
            return Ok(self.rules.with_state(state));
        }
        let state = match name {
            "." => self.rules.top_state(),
            _ => self.rules.step(&self.root, &self.folder(parent(name))?.state, name, listed)?,
        };
        let mut folders = self.folders.write().unwrap_or_else(PoisonError::into_inner);
        folders.insert(name.to_owned(), Arc::clone(&state));
        Ok(self.rules.with_state(state))
    }

    fn asked<'a>(&'a self, act: Act, name: &'a str, is_folder: bool) -> Asked<'a> {
        let kind = if is_folder { NameKind::Folder } else { NameKind::File };
        let minds = self.minds_sensitive || !self.acts.contains(act);
        Asked { caller: &self.caller, act, name, kind, sensitive: minds && self.sensitive.is_sensitive_name(name) }
    }

    /// A verdict on these acts, unless it allows or a person has agreed: to what the call needs, and to nothing else.
    fn counts(&self, acts: Acts, verdict: Verdict) -> Option<Verdict> {
        match verdict.effect() {
            Effect::Allow => None,
            Effect::Ask => {
                let is_agreed = self.asks == Asks::Agreed && acts.iter().all(|act| self.acts.contains(act));
                (!is_agreed).then_some(verdict)
            }
            Effect::Deny => Some(verdict),
        }
    }

    /// The strongest verdict over all acts.
    fn strongest(&self, acts: Acts, verdicts: impl Iterator<Item = Verdict>) -> Option<Verdict> {
        let verdicts = verdicts.filter_map(|verdict| self.counts(acts, verdict));
        verdicts.reduce(|one, other| if other.effect() > one.effect() { other } else { one })
    }

    fn judged(&self, acts: Acts, name: &str, is_folder: bool) -> Option<Verdict> {
        match self.rulings(acts, name, is_folder) {
            Ok(rulings) => self.strongest(acts, rulings.into_iter().map(|ruling| ruling.verdict)),
            Err(error) => Some(Verdict::Deny(unusable(&error))),
        }
    }

    /// What the rules say about each act.
    fn rulings(&self, acts: Acts, name: &str, is_folder: bool) -> Result<Vec<Ruling>, PolicyError> {
        let last = || self.last[usize::from(is_folder)].lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, said_of, rulings)) = &*last()
            && (of.as_str(), *said_of) == (name, acts)
        {
            return Ok(rulings.clone());
        }
        let folder = self.folder(parent(name))?;
        let rulings: Vec<Ruling> = acts.iter().map(|act| folder.judge(&self.asked(act, name, is_folder))).collect();
        *last() = Some((name.to_owned(), acts, rulings.clone()));
        Ok(rulings)
    }

    /// Whether a rule at the top of the workspace, or a choice of the person, can hide any name.
    fn hides(&self) -> bool {
        let by_person = self.rules.honoured.len() != Dialect::ALL.len() || self.minds_sensitive;
        by_person || !self.rules.top_allows_all(&self.caller, self.acts)
    }
}

impl Guard for Gate {
    fn refuses(&self, name: &str, is_folder: bool) -> Option<Verdict> {
        self.judged(self.acts, name, is_folder)
    }

    fn for_acts(&self, acts: Acts) -> Arc<dyn Guard> {
        let of = (Arc::clone(&self.rules), &self.root);
        Arc::new(Self::new(of, (&self.caller, acts, self.asks), Arc::clone(&self.sensitive)))
    }

    fn refuses_act(&self, act: Act, name: &str) -> Option<Verdict> {
        self.judged(Acts::of(&[act]), name, false)
    }

    fn passes(&self, folder: &str) -> bool {
        let Ok(outer) = self.folder(parent(folder)) else { return false };
        self.strongest(self.acts, self.acts.iter().map(|act| outer.passes(&self.asked(act, folder, true)).verdict))
            .is_none()
    }

    fn filter(&self, folder: &str, as_it_was: Mark, entries: &mut Vec<(OsString, EntryKind)>) {
        let listed = Listing { folder: as_it_was, entries: entries.as_slice() };
        let Ok(rules) = self.folder_as(folder, Some(listed)) else {
            entries.clear();
            return;
        };
        if !self.minds_sensitive && rules.allows_all(&self.caller, self.acts) {
            return;
        }
        let mut name = if folder == "." { String::new() } else { format!("{folder}/") };
        let prefix = name.len();
        entries.retain(|(entry, kind)| {
            name.truncate(prefix);
            name.push_str(&spelt(entry.as_bytes()).unwrap_or_else(|| entry.to_string_lossy()));
            let is_folder = *kind == EntryKind::Folder;
            let judged = |act| rules.judge(&self.asked(act, &name, is_folder)).verdict;
            let passed = |act| rules.passes(&self.asked(act, &name, true)).verdict;
            self.strongest(self.acts, self.acts.iter().map(judged)).is_none()
                || (is_folder && self.strongest(self.acts, self.acts.iter().map(passed)).is_none())
        });
    }

    fn nested(&self) -> Option<ContentHash> {
        let folders = self.folders.read().unwrap_or_else(PoisonError::into_inner);
        let nested = |state: &FolderState| state.id != state.outermost().id;
        let mut all: Vec<(&String, ContentHash)> =
            folders.iter().filter(|(_, state)| nested(state)).map(|(name, state)| (name, state.id)).collect();
        all.sort_unstable_by_key(|(name, _)| *name);
        let parts: Vec<&[u8]> = all.iter().flat_map(|(name, id)| [name.as_bytes(), b"\0", id.as_bytes()]).collect();
        (!all.is_empty()).then(|| ContentHash::of_parts(&parts))
    }

    fn sight(&self) -> Option<String> {
        if !self.hides() {
            return None;
        }
        let by_caller = self.rules.rules.iter().any(|rule| rule.callers.is_some());
        let Caller { surface, client, user, identity, .. } = &self.caller;
        let caller = by_caller.then(|| format!("{surface:?} {client:?} {user:?} {identity:?}"));
        let all = format!(
            "{} {} {:?} {caller:?} {:?}",
            self.rules.id(),
            self.acts.words(),
            self.asks,
            self.sensitive.patterns()
        );
        Some(ContentHash::of(all.as_bytes()).to_string()[..16].to_owned())
    }

    fn refuses_size(&self, name: &str, bytes: u64) -> Option<Verdict> {
        match self.rulings(self.acts, name, false) {
            Ok(rulings) => self.strongest(self.acts, rulings.iter().map(|ruling| ruling.at_size(bytes))),
            Err(error) => Some(Verdict::Deny(unusable(&error))),
        }
    }
}

fn parent(name: &str) -> &str {
    name.rsplit_once('/').map_or(".", |(folder, _)| folder)
}

/// The file that cannot be used, as the rule that denies.
fn unusable(error: &PolicyError) -> Rule {
    let (file, line) = error.place();
    let text = "this file cannot be used, so nothing that it may deny is allowed".into();
    Rule { layer: Layer::Workspace, file: file.to_owned().into(), line, text, reason: None }
}
