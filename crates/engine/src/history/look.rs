//! A look at all files: what other programs changed since the last one becomes a version. Texts are stored and the change is
//! recorded before the registry forgets what was there, so that nothing is lost if the process ends in between.

use readproof_core::{
    operation::{Caller, Extent, Hidden},
    policy::{Act, Acts},
    text::{ContentHash, Text},
};
use readproof_disk::{BlobId, Create, STORE_NAME};
use readproof_hosts::{
    block::Sha,
    versions::{By, Change, ChangedFile, FIRST, Gap, Gaps, MET, MET_BY_GIT, UNSEEN, VersionId, Versions},
};
use readproof_index::{FileRules, Holds, Met, Registered, Registry, RegistryError, look_at};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::MutexGuard,
};

use super::state::State;
use crate::{Control, Engine, Error, HistoryError, Keeping, conversation::locked, walk_rules};

/// The file name in the store.
const DATABASE: &str = "registry.db";

/// How many files are read before their texts are stored.
const AT_ONCE: usize = 256;

/// How many files met for the first time one record names.
const IN_ONE_RECORD: usize = 1000;

/// What a look found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Looked {
    /// How many files there are.
    pub files: u64,
    /// How many names are not UTF-8, and so not looked at.
    pub odd: u64,
    /// The records of what others changed.
    pub met: Vec<VersionId>,
}

/// The changes that a look found, by who made them.
#[derive(Default)]
struct Found {
    outside: Vec<ChangedFile>,
    by_git: Vec<ChangedFile>,
    first: Vec<ChangedFile>,
    /// Files that are not looked at any more.
    unseen: Vec<ChangedFile>,
}

impl Engine {
    /// Looks at every file that may have changed since the last look.
    pub(crate) fn look_around(&self, control: &Control<'_>) -> Result<Looked, Error> {
        let keeping = self.shared.settings.history;
        if keeping == Keeping::Off {
            return Ok(Looked::default());
        }
        let seen = self.everyones_sight()?;
        let tracked = seen.root.tracked(&seen.git_question(control));
        let hidden = seen.tracked_hidden(Hidden::Tracked, control);
        let extent = Extent::default();
        let mut registry = self.registry()?;
        let Some(registry) = registry.as_mut() else { return Ok(Looked::default()) };
        let settings = self.look_settings(&seen);
        let is_complete = registry.is_complete(&settings)?;
        let walk = walk_rules(&extent, None, &hidden);
        let (logged, hidden_now) = self.logged_paths(&seen)?;
        let only_tracked = keeping == Keeping::Tracked;
        let walked = registry.walk(&seen.root, &walk, (&tracked, logged), only_tracked, control.cancelled)?;
        let rules = FileRules { snapshot: self.snapshot_rules(), sensitive: &self.shared.sensitive };
        let (mut found, mut met) = (Found::default(), Vec::new());
        let total = walked.suspects.len() as u64;
        for chunk in walked.suspects.chunks(AT_ONCE) {
            control.check_cancelled()?;
            let mut now = look_at(&seen.root, rules, &tracked, chunk);
            self.take_in(&mut found, &now, (&tracked, is_complete))?;
            now.iter_mut().for_each(|met| met.text = None);
            met.append(&mut now);
            control.report(met.len() as u64, Some(total));
        }
        // One that is there is ignored now, or a rule hides it: that is no change of the file.
        let (left_out, gone): (Vec<_>, Vec<_>) =
            walked.unmet.into_iter().partition(|unmet| seen.root.glance(&unmet.path).is_some());
        let gone: Vec<Met> = look_at(&seen.root, rules, &tracked, &gone);
        self.take_in(&mut found, &gone, (&tracked, is_complete))?;
        let left_out: BTreeSet<String> = left_out.into_iter().map(|unmet| unmet.path).chain(hidden_now).collect();
        found.unseen = self.unseen(left_out.iter().map(String::as_str))?;
        let records = self.record_met(found)?;
        registry.keep(met.iter().chain(&gone))?;
        registry.forget(left_out.iter().map(String::as_str))?;
        if !is_complete {
            registry.completed(&settings)?;
        }
        Ok(Looked { files: walked.files, odd: walked.odd, met: records })
    }

    /// The files of which a change is recorded: those that may be looked at, and those that a rule hides.
    fn logged_paths(&self, seen: &Self) -> Result<(BTreeSet<String>, BTreeSet<String>), Error> {
        let paths = self.with_versions(Create::No, |versions| {
            Ok(versions.paths().map(str::to_owned).partition(|path| seen.may_name(path)))
        })?;
        Ok(paths.unwrap_or_default())
    }

    /// The registry, opened once.
    pub(super) fn registry(&self) -> Result<MutexGuard<'_, Option<Registry>>, Error> {
        let mut open = locked(&self.shared.registry);
        if open.is_none()
            && let Some(store) = self.store(Create::Yes)?
        {
            let made = Registry::new(store.database(DATABASE)?)?;
            *open = match made {
                Some(registry) => Some(registry),
                None => {
                    store.remove_database(DATABASE)?;
                    Registry::new(store.database(DATABASE)?)?
                }
            };
        }
        Ok(open)
    }

    /// What others did to a file since the last look, met by a call that changes it: of one without a recorded change only the
    /// registry knows what it was. A file that cannot be asked about is as the call found it.
    pub(crate) fn record_met_by_call(&self, files: &[(String, ContentHash)]) -> Result<(), Error> {
        if self.root.glance(&format!("{STORE_NAME}/{DATABASE}")).is_none()
            || self.shared.settings.history == Keeping::Off
        {
            return Ok(());
        }
        let unrecorded = |versions: &mut Versions| {
            Ok(files.iter().filter(|(path, _)| versions.of_path(path).next().is_none()).collect::<Vec<_>>())
        };
        let Some(unrecorded) = self.with_versions(Create::Yes, unrecorded)? else { return Ok(()) };
        let settings = self.look_settings(&self.everyones_sight()?);
        let mut met = Vec::new();
        if let Some(registry) = self.registry()?.as_ref() {
            let is_complete = registry.is_complete(&settings)?;
            for (path, now) in unrecorded {
                let before = registry.file(path)?;
                let state = registered(before.as_ref(), is_complete);
                if state != State::Text(*now) && state != State::Unknown {
                    met.push((path, *now, before, state));
                }
            }
        }
        let mut found = Found::default();
        for (path, now, before, state) in met {
            let mut gaps = Gaps::default();
            match state {
                State::Gap(gap) => gaps.before = Some(gap),
                State::Text(hash) => gaps.before = self.keep_earlier(before.as_ref(), hash)?,
                State::Absent | State::Unknown => {}
            }
            let (path, before, after) = (path.clone(), state.hash().map(Sha), Some(Sha(now)));
            found.outside.push(ChangedFile { path, before, after, from: None, removed: false, gaps });
        }
        self.record_met(found).map(drop)
    }

    /// Stores a text that only git may have; says what is missing if nobody has it.
    fn keep_earlier(&self, before: Option<&Registered>, hash: ContentHash) -> Result<Option<Gap>, Error> {
        if self.stored(hash).is_some() {
            return Ok(None);
        }
        let blob = before.and_then(|before| before.blob_of(hash));
        let text = blob.and_then(|blob| self.text_in_git(blob, &Control::WAIT)).filter(|text| text.hash() == hash);
        let (Some(text), Some(store)) = (text, self.store(Create::Yes)?) else { return Ok(Some(Gap::Lost)) };
        store.objects().put_all_synced(&[&text])?;
        Ok(None)
    }

    /// This engine as far as everyone may see it.
    fn everyones_sight(&self) -> Result<Self, Error> {
        self.seen_by(&Caller::everyone(), Acts::of(&[Act::Read, Act::History]))
    }

    /// What a look depends on: a name that was left out before is not new.
    fn look_settings(&self, seen: &Self) -> String {
        let keeping = self.shared.settings.history;
        format!("{keeping:?} {:?} {:?}", seen.root.sight(), self.shared.settings.sensitive)
    }

    /// Stores the texts of what was met, and notes what changed.
    fn take_in(
        &self,
        found: &mut Found,
        met: &[Met],
        (tracked, is_complete): (&BTreeMap<String, BlobId>, bool),
    ) -> Result<(), Error> {
        let changes: Vec<(&Met, State, &'static str)> = self
            .with_versions(Create::Yes, |versions| {
                let change = |met| change_of(versions, met, tracked, is_complete);
                Ok(met.iter().filter_map(change).collect())
            })?
            .unwrap_or_default();
        let mut texts: Vec<Text> = Vec::new();
        for (met, before, kind) in changes {
            let now = met.now.as_ref();
            let mut gaps = Gaps { before: None, after: now.and_then(gap_of) };
            match before {
                State::Text(hash) => gaps.before = self.keep_earlier(met.before.as_ref(), hash)?,
                State::Gap(gap) => gaps.before = Some(gap),
                State::Absent | State::Unknown => {}
            }
            let after = now.and_then(Registered::hash);
            texts.extend(met.text.clone().filter(|_| after.is_some()));
            let file = ChangedFile {
                path: met.path.clone(),
                before: before.hash().map(Sha),
                after: after.map(Sha),
                from: None,
                removed: now.is_none(),
                gaps,
            };
            match kind {
                FIRST => found.first.push(file),
                MET_BY_GIT => found.by_git.push(file),
                _ => found.outside.push(file),
            }
        }
        if let (Some(store), false) = (self.store(Create::Yes)?, texts.is_empty()) {
            store.objects().put_all_synced(&texts.iter().collect::<Vec<_>>())?;
        }
        Ok(())
    }

    /// What a file is from here on nobody knows, until it is looked at again.
    fn unseen<'p>(&self, paths: impl Iterator<Item = &'p str>) -> Result<Vec<ChangedFile>, Error> {
        let unseen = |versions: &Versions, path: &str| {
            let before = versions.of_path(path).next_back().map(|(_, _, file)| State::after(file))?;
            let gaps = Gaps { before: None, after: Some(Gap::NotLookedAt) };
            let before = Some(Sha(before.hash()?));
            Some(ChangedFile { path: path.to_owned(), before, after: None, from: None, removed: false, gaps })
        };
        let found = self.with_versions(Create::Yes, |versions| {
            Ok(paths.filter_map(|path| unseen(versions, path)).collect::<Vec<_>>())
        })?;
        Ok(found.unwrap_or_default())
    }

    fn text_in_git(&self, blob: BlobId, control: &Control<'_>) -> Option<Text> {
        Text::from_bytes(self.root.blob(blob, &self.git_question(control))?).ok()
    }

    fn record_met(&self, found: Found) -> Result<Vec<VersionId>, Error> {
        let mut changes: Vec<(&'static str, Vec<ChangedFile>)> =
            found.first.chunks(IN_ONE_RECORD).map(|files| (FIRST, files.to_vec())).collect();
        changes.extend([(UNSEEN, found.unseen), (MET_BY_GIT, found.by_git), (MET, found.outside)]);
        let at = self.now();
        let mut records = Vec::new();
        for (operation, mut files) in changes.into_iter().filter(|(_, files)| !files.is_empty()) {
            files.sort_by(|one, other| one.path.cmp(&other.path));
            let change = Change { operation: operation.into(), files, by: By::outside(), at, entry: None };
            let id = self.with_versions(Create::Yes, |versions| versions.changed(change))?;
            records.extend(id.filter(|_| operation == MET || operation == MET_BY_GIT));
        }
        Ok(records)
    }
}

/// What changed, if anything: the state before, and the word for it.
fn change_of<'m>(
    versions: &Versions,
    met: &'m Met,
    tracked: &BTreeMap<String, BlobId>,
    is_complete: bool,
) -> Option<(&'m Met, State, &'static str)> {
    let now = met.now.as_ref().map_or(State::Absent, |now| match now.holds {
        Holds::Text { hash, .. } => State::Text(hash),
        Holds::TooLarge | Holds::NotText | Holds::Sensitive | Holds::Unknown => {
            State::Gap(gap_of(now).unwrap_or(Gap::Other))
        }
    });
    let recorded = versions.of_path(&met.path).next_back().map(|(_, _, file)| State::after(file));
    let before = recorded.unwrap_or_else(|| registered(met.before.as_ref(), is_complete));
    let blob = |of: &Registered| match of.holds {
        Holds::Text { blob, .. } => blob,
        Holds::TooLarge | Holds::NotText | Holds::Sensitive | Holds::Unknown => None,
    };
    let (was_in_git, is_in_git) = (met.before.as_ref().and_then(blob), met.now.as_ref().and_then(blob));
    match (before, now) {
        (before, now) if before == now => None,
        // Git has its text.
        (State::Unknown, State::Text(_)) if is_in_git.is_some() => None,
        (State::Unknown, State::Text(_) | State::Gap(_)) => Some((met, before, FIRST)),
        (State::Unknown, State::Absent | State::Unknown) => None,
        (_, State::Absent) if was_in_git.is_some() && !tracked.contains_key(&met.path) => {
            Some((met, before, MET_BY_GIT))
        }
        (_, _) if is_in_git.is_some() && is_in_git != was_in_git => Some((met, before, MET_BY_GIT)),
        (_, _) => Some((met, before, MET)),
    }
}

/// What a file was at the last look.
fn registered(file: Option<&Registered>, is_complete: bool) -> State {
    match file {
        Some(Registered { holds: Holds::Text { hash, .. }, .. }) => State::Text(*hash),
        Some(other) => State::Gap(gap_of(other).unwrap_or(Gap::Other)),
        None if is_complete => State::Absent,
        None => State::Unknown,
    }
}

/// Why nothing is kept of a file.
fn gap_of(file: &Registered) -> Option<Gap> {
    match file.holds {
        Holds::Text { .. } => None,
        Holds::TooLarge => Some(Gap::TooLarge),
        Holds::NotText => Some(Gap::NotText),
        Holds::Sensitive => Some(Gap::Sensitive),
        Holds::Unknown => Some(Gap::Unreadable),
    }
}

impl From<RegistryError> for Error {
    fn from(error: RegistryError) -> Self {
        match error {
            RegistryError::Cancelled => Self::Aborted,
            RegistryError::Walk(why) => why.into(),
            RegistryError::Database(_) => Self::History(HistoryError::Registry(error)),
        }
    }
}
