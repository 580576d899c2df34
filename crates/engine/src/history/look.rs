//! A look at all files: what other programs changed since the last one becomes a version. Texts are stored and the change is
//! recorded before the registry forgets what was there, so that nothing is lost if the process ends in between.

use readproof_core::{
    operation::{Caller, Extent},
    policy::{Act, Acts},
    text::{ContentHash, Text},
};
use readproof_disk::{BlobId, Create, STORE_NAME, Stands, Tracked};
use readproof_hosts::{
    block::Sha,
    versions::{By, Change, ChangedFile, FIRST, Gap, Gaps, MET, MET_BY_GIT, UNSEEN, VersionId, Versions},
};
use readproof_index::{
    Due, FileRules, Holds, Ignores, Met, Registered, Registry, RegistryError, WalkRules, is_among, look_at,
};
use std::{collections::BTreeSet, path::Path, sync::MutexGuard};

use super::state::State;
use crate::{Control, Engine, Error, HistoryError, Keeping, conversation::locked, walk_rules};

/// The file name in the store.
const DATABASE: &str = "registry.db";

/// How many files are read before their texts are stored.
const AT_ONCE: usize = 256;

/// How many files one record names. Of more than that, several records are one event.
const IN_ONE_RECORD: usize = 1000;

/// What a look found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Looked {
    /// How many files there are.
    pub files: u64,
    /// How many names cannot be spelt as text, and so are not looked at.
    pub odd: u64,
    /// The records of what others changed.
    pub met: Vec<VersionId>,
    /// The record of the log since which every look meets the same names.
    pub complete: Option<u64>,
    /// What the ignore files say.
    pub ignores: Option<ContentHash>,
}

/// What a look is at.
pub(super) struct Field<'f> {
    /// Only what has one of these names, or lies in such a folder; everything if absent.
    pub(super) names: Option<&'f BTreeSet<String>>,
    /// What the ignore files say, as the last look at everything told, if the caller knows that this is so still.
    pub(super) ignores: Option<ContentHash>,
    /// Is told every folder before it is listed.
    pub(super) folders: &'f dyn Fn(&Path),
    /// Called after the walk, before anything is read.
    pub(super) walked: &'f dyn Fn() -> Result<Then, Error>,
}

/// What follows the walk of a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    Look,
    /// It is of no use any more.
    GiveUp,
}

impl Field<'static> {
    pub(super) const EVERYTHING: Self =
        Self { names: None, ignores: None, folders: &|_| (), walked: &|| Ok(Then::Look) };
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
        if self.shared.settings.history == Keeping::Off {
            return Ok(Looked::default());
        }
        let mut registry = self.registry()?;
        let Some(registry) = registry.as_mut() else { return Ok(Looked::default()) };
        Ok(self.look_over(registry, &Field::EVERYTHING, control)?.unwrap_or_default())
    }

    /// The same at some names, and what lies in folders of these names.
    pub(super) fn look_at_some(&self, names: &BTreeSet<String>, control: &Control<'_>) -> Result<Looked, Error> {
        if self.shared.settings.history == Keeping::Off {
            return Ok(Looked::default());
        }
        let mut registry = self.registry()?;
        let Some(registry) = registry.as_mut() else { return Ok(Looked::default()) };
        let field = Field { names: Some(names), ..Field::EVERYTHING };
        Ok(self.look_over(registry, &field, control)?.unwrap_or_default())
    }

    /// Looks at every file of this field that may have changed since the last look; `None` if that was given up.
    pub(super) fn look_over(
        &self,
        registry: &mut Registry,
        field: &Field<'_>,
        control: &Control<'_>,
    ) -> Result<Option<Looked>, Error> {
        let seen = self.everyones_sight()?;
        let tracked = seen.root.tracked(&seen.git_question(control));
        let hidden = tracked.hidden();
        let extent = Extent::default();
        let walk = WalkRules { among: field.names, ..walk_rules(&extent, None, &hidden) };
        let (logged, hidden_now) = self.logged_paths(&seen, field.names)?;
        let due = Due { tracked: &tracked, logged, only: self.shared.settings.history == Keeping::Tracked };
        let walked = registry.walk(&seen.root, &walk, &due, (control.cancelled, field.folders))?;
        if (field.walked)()? == Then::GiveUp {
            return Ok(None);
        }
        let ignores = field.ignores.or_else(|| walked.ignores.as_ref().map(Ignores::digest));
        let settings = format!("{} {ignores:?} {:?}", self.look_settings(&seen), seen.root.nested_rules());
        let complete = registry.complete_since(&settings)?.filter(|_| !walked.unreadable);
        let rules = FileRules { snapshot: self.snapshot_rules(), sensitive: &self.shared.sensitive };
        let worked_out = self.with_versions(Create::Yes, |versions| Ok(versions.newest()))?.unwrap_or(VersionId(0));
        let _keeping = self.keeping_texts()?;
        let (mut found, mut met) = (Found::default(), Vec::new());
        let total = walked.suspects.len() as u64;
        for chunk in walked.suspects.chunks(AT_ONCE) {
            control.check_cancelled()?;
            let mut now = look_at(&seen.root, rules, &tracked, chunk);
            self.take_in(&mut found, &now, (&tracked, complete))?;
            now.iter_mut().for_each(|met| met.text = None);
            met.append(&mut now);
            control.report(met.len() as u64, Some(total));
        }
        // One that is there is ignored now, or a rule hides it: that is no change of the file.
        let (left_out, gone): (Vec<_>, Vec<_>) =
            walked.unmet.into_iter().partition(|unmet| seen.is_there_or_beyond(&unmet.path));
        let gone: Vec<Met> = look_at(&seen.root, rules, &tracked, &gone);
        self.take_in(&mut found, &gone, (&tracked, complete))?;
        // What a rule hides from here on, a look at everything tells.
        let hidden_now = if field.names.is_some() { BTreeSet::new() } else { hidden_now };
        let left_out: BTreeSet<String> = left_out.into_iter().map(|unmet| unmet.path).chain(hidden_now).collect();
        found.unseen = self.unseen(left_out.iter().map(String::as_str))?;
        // What was read is so at the next record: at the newest one something may have been otherwise.
        let next = self.with_versions(Create::Yes, |versions| Ok(versions.newest().0 + 1))?.unwrap_or(1);
        let records = self.record_met(found, worked_out)?;
        registry.keep(met.iter().chain(&gone), next)?;
        registry.leave_out(left_out.iter().map(String::as_str), next)?;
        if let (None, false, None, Some(all)) = (complete, walked.unreadable, field.names, &walked.ignores) {
            registry.completed(&settings, all, next)?;
        }
        Ok(Some(Looked { files: walked.files, odd: walked.odd, met: records, complete, ignores }))
    }

    /// Whether there is a file of this name, or it is in a folder that cannot be looked into.
    fn is_there_or_beyond(&self, path: &str) -> bool {
        let folder = path.rsplit_once('/').map_or(".", |(folder, _)| folder);
        // Where a file or a link has the name of its folder, it is gone with that.
        let is_folder = |folder: &str| self.root.glance(folder).is_some_and(|found| found.is_folder());
        let is_closed = || folder != "." && is_folder(folder) && self.root.folder(folder).is_err();
        match self.root.stands(path) {
            Stands::File | Stands::Link | Stands::Other => true,
            // A folder is no file, and what is behind a link has another name.
            Stands::Folder | Stands::BehindLink | Stands::BelowFile => false,
            Stands::Nothing => is_closed(),
        }
    }

    /// The files of which a change is recorded, all or some: those that may be looked at, and those that a rule hides.
    fn logged_paths(
        &self,
        seen: &Self,
        among: Option<&BTreeSet<String>>,
    ) -> Result<(BTreeSet<String>, BTreeSet<String>), Error> {
        let paths = self.with_versions(Create::No, |versions| {
            let asked = versions.paths().filter(|path| among.is_none_or(|names| is_among(names, path)));
            Ok(asked.map(str::to_owned).partition(|path| seen.may_name(path)))
        })?;
        Ok(paths.unwrap_or_default())
    }

    /// The registry, opened once.
    pub(super) fn registry(&self) -> Result<MutexGuard<'_, Option<Registry>>, Error> {
        let mut open = locked(&self.shared.registry);
        if open.is_none() {
            *open = self.open_registry()?;
        }
        Ok(open)
    }

    /// The registry, for one who does not want to keep others waiting.
    pub(super) fn open_registry(&self) -> Result<Option<Registry>, Error> {
        let Some(store) = self.store(Create::Yes)? else { return Ok(None) };
        if let Some(registry) = Registry::new(store.database(DATABASE)?)? {
            return Ok(Some(registry));
        }
        store.remove_database(DATABASE)?;
        Ok(Registry::new(store.database(DATABASE)?)?)
    }

    /// Since when a file is known to be as a call found it, if no change of it is recorded yet. Where it was another at the last look
    /// or after the last change, what others did meanwhile is recorded first.
    pub(crate) fn met_by_call(&self, path: &str, found: Option<ContentHash>) -> Result<Option<u64>, Error> {
        if self.root.glance(&format!("{STORE_NAME}/{DATABASE}")).is_none()
            || self.shared.settings.history == Keeping::Off
        {
            return Ok(None);
        }
        let recorded = self.with_versions(Create::Yes, |versions| {
            let last = versions.of_path(path).next_back().map(|(_, _, file)| State::after(file));
            Ok((last, versions.newest()))
        })?;
        let (recorded, worked_out) = recorded.unwrap_or((None, VersionId(0)));
        let row = self.registry()?.as_ref().map(|registry| registry.file(path)).transpose()?.flatten();
        let mode = row.as_ref().filter(|row| recorded.is_none_or(|state| row.hash() == state.hash()));
        let mode = mode.map(|row| row.mode).filter(|mode| *mode > 0);
        let file = row.filter(|_| recorded.is_none());
        let (state, since) = recorded.map_or_else(|| registered(file.as_ref(), None), |state| (state, None));
        let now = found.map_or(State::Absent, State::Text);
        if state == now || state == State::Unknown {
            return Ok(since);
        }
        let mut gaps = Gaps::default();
        match state {
            State::Gap(gap) => gaps.before = Some(gap),
            State::Text(hash) => gaps.before = self.keep_earlier(file.as_ref(), hash)?,
            State::Absent | State::Unknown => {}
        }
        let (before, after) = (state.hash().map(Sha), found.map(Sha));
        let removed = found.is_none();
        let path = path.to_owned();
        let outside = vec![ChangedFile { path, before, after, from: None, removed, since, gaps, mode }];
        self.record_met(Found { outside, ..Found::default() }, worked_out)?;
        Ok(None)
    }

    /// Stores a text that only git may have; says what is missing if nobody has it.
    fn keep_earlier(&self, before: Option<&Registered>, hash: ContentHash) -> Result<Option<Gap>, Error> {
        if self.stored(hash).is_some() {
            return Ok(None);
        }
        let blob = before.and_then(|before| before.blob_of(hash));
        let text = blob.and_then(|blob| self.text_in_git(blob)).filter(|text| text.hash() == hash);
        let (Some(text), Some(store)) = (text, self.store(Create::Yes)?) else { return Ok(Some(Gap::Lost)) };
        store.objects().put_all_synced(&[&text])?;
        Ok(None)
    }

    /// This engine as far as everyone may see it.
    pub(super) fn everyones_sight(&self) -> Result<Self, Error> {
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
        (tracked, complete): (&Tracked, Option<u64>),
    ) -> Result<(), Error> {
        let changes: Vec<Changed<'_>> = self
            .with_versions(Create::Yes, |versions| {
                let change = |met| change_of(versions, met, tracked, complete);
                Ok(met.iter().filter_map(change).collect())
            })?
            .unwrap_or_default();
        let mut texts: Vec<Text> = Vec::new();
        for Changed { met, before, since, kind, mode } in changes {
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
                since,
                gaps,
                mode,
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
            if before == State::Gap(Gap::NotLookedAt) {
                return None;
            }
            let gaps = Gaps { before: None, after: Some(Gap::NotLookedAt) };
            let before = before.hash().map(Sha);
            Some(ChangedFile {
                path: path.to_owned(),
                before,
                after: None,
                from: None,
                removed: false,
                since: None,
                gaps,
                mode: None,
            })
        };
        let found = self.with_versions(Create::Yes, |versions| {
            Ok(paths.filter_map(|path| unseen(versions, path)).collect::<Vec<_>>())
        })?;
        Ok(found.unwrap_or_default())
    }

    /// The text of a file of which no change is recorded, if it was looked at by then and is the same since.
    pub(super) fn unchanged_since(&self, path: &str, moment: VersionId) -> Result<Option<Text>, Error> {
        let file = self.registry()?.as_ref().map(|registry| registry.file(path)).transpose()?.flatten();
        let file = file.filter(|file| file.since <= moment.0);
        let Some((file, hash)) = file.as_ref().and_then(|file| Some((file, file.hash()?))) else { return Ok(None) };
        self.keep_earlier(Some(file), hash)?;
        Ok(self.stored(hash))
    }

    fn text_in_git(&self, blob: BlobId) -> Option<Text> {
        Text::from_bytes(self.root.blob(blob, &self.git_question(&Control::WAIT))?).ok()
    }

    fn record_met(&self, found: Found, worked_out: VersionId) -> Result<Vec<VersionId>, Error> {
        let (at, mut records) = (self.now(), Vec::new());
        let kinds = [(FIRST, found.first), (UNSEEN, found.unseen), (MET_BY_GIT, found.by_git), (MET, found.outside)];
        for (operation, mut files) in kinds {
            files.sort_by(|one, other| one.path.cmp(&other.path));
            let mut event = None;
            for files in files.chunks(IN_ONE_RECORD) {
                let (operation, files, by) = (operation.into(), files.to_vec(), By::outside());
                let change = Change { operation, files, by, at, entry: None, event: event.map(|VersionId(id)| id) };
                let id = self.with_versions(Create::Yes, |versions| versions.met(change, worked_out))?.flatten();
                event = event.or(id);
            }
            records.extend(event.filter(|_| operation == MET || operation == MET_BY_GIT));
        }
        Ok(records)
    }
}

/// A file that others changed: what it was, since when that is known, and the word for it.
struct Changed<'m> {
    met: &'m Met,
    before: State,
    since: Option<u64>,
    kind: &'static str,
    /// The permissions that it had.
    mode: Option<u32>,
}

/// What changed, if anything.
fn change_of<'m>(versions: &Versions, met: &'m Met, tracked: &Tracked, complete: Option<u64>) -> Option<Changed<'m>> {
    let now = met.now.as_ref().map_or(State::Absent, |now| match now.holds {
        Holds::Text { hash, .. } => State::Text(hash),
        Holds::TooLarge | Holds::NotText | Holds::Sensitive | Holds::Unknown | Holds::Unseen | Holds::NotAFile => {
            State::Gap(gap_of(now).unwrap_or(Gap::Other))
        }
    });
    let recorded = versions.of_path(&met.path).next_back().map(|(_, _, file)| State::after(file));
    // A name that not every look meets may have been there.
    let complete = complete.filter(|_| met.now.as_ref().is_some_and(|now| now.walked));
    let (before, since) = recorded.map_or_else(|| registered(met.before.as_ref(), complete), |state| (state, None));
    let mode = || mode_before(versions, met);
    let changed = |kind| Some(Changed { met, before, since, kind, mode: mode() });
    let blob = |of: &Registered| match of.holds {
        Holds::Text { blob, .. } => blob,
        Holds::TooLarge | Holds::NotText | Holds::Sensitive | Holds::Unknown | Holds::Unseen | Holds::NotAFile => None,
    };
    let (was_in_git, is_in_git) = (met.before.as_ref().and_then(blob), met.now.as_ref().and_then(blob));
    match (before, now) {
        (State::Gap(_), State::Gap(_)) if before == now => {
            let about = |file: &Registered| (file.bytes, file.modified_ms);
            let pair = met.before.as_ref().map(about).zip(met.now.as_ref().map(about));
            if pair.is_some_and(|(before, now)| before != now) { changed(MET) } else { None }
        }
        (before, now) if before == now => None,
        // Git has its text.
        (State::Unknown, State::Text(_)) if is_in_git.is_some() => None,
        // Of a link there is no text to keep; the registry remembers that it was there.
        (State::Unknown, State::Gap(Gap::NotAFile)) => None,
        (State::Unknown, State::Text(_) | State::Gap(_)) => changed(FIRST),
        (State::Unknown, State::Absent | State::Unknown) => None,
        (_, State::Absent) if was_in_git.is_some() && tracked.get(&met.path).is_none() => changed(MET_BY_GIT),
        (_, _) if is_in_git.is_some() && is_in_git != was_in_git => changed(MET_BY_GIT),
        (_, _) => changed(MET),
    }
}

/// The permissions that a file had before, if they are known: those at the last look, unless it was made anew since. A call that
/// changes a text keeps them.
fn mode_before(versions: &Versions, met: &Met) -> Option<u32> {
    let before = met.before.as_ref().filter(|before| before.mode > 0)?;
    let is_kept = |(_, change, file): (VersionId, &Change, &ChangedFile)| {
        !change.by.is_outside() && file.before.is_some() && file.after.is_some()
    };
    let mut since = versions.of_path(&met.path).rev().take_while(|(id, _, _)| id.0 > before.since);
    since.all(is_kept).then_some(before.mode)
}

/// What a file was at the last look, and since which record of the log.
fn registered(file: Option<&Registered>, complete: Option<u64>) -> (State, Option<u64>) {
    match (file, complete) {
        (Some(Registered { holds: Holds::Text { hash, .. }, since, .. }), _) => (State::Text(*hash), Some(*since)),
        (Some(other), _) => (State::Gap(gap_of(other).unwrap_or(Gap::Other)), Some(other.since)),
        // Whether that counts for an earlier moment, whoever asks finds out.
        (None, Some(_)) => (State::Absent, None),
        (None, None) => (State::Unknown, None),
    }
}

/// Why nothing is kept of a file.
pub(super) fn gap_of(file: &Registered) -> Option<Gap> {
    match file.holds {
        Holds::Text { .. } => None,
        Holds::TooLarge => Some(Gap::TooLarge),
        Holds::NotText => Some(Gap::NotText),
        Holds::Sensitive => Some(Gap::Sensitive),
        Holds::Unknown => Some(Gap::Unreadable),
        Holds::Unseen => Some(Gap::NotLookedAt),
        Holds::NotAFile => Some(Gap::NotAFile),
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
