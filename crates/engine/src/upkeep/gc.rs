//! Removes stored texts by age and total size, ours and those of hosts, and leftovers of crashes, and compresses what only the
//! history needs. Makes a plan first, then carries it out. A text that any session, ours or a host's, could still need as a base
//! stays unless forced. What the version log names is recorded as erased before it goes. Safe while readers run: a read that finds
//! a text gone sends plain text.

use readproof_core::{
    operation::{Caller, Collect, Needed},
    policy::{Act, Acts, Effect, Verdict},
    text::{ContentHash, Text},
};
use readproof_disk::{
    Create, Lease, Leftover, Loaded, LogError, Objects, Packing, Removal, Removed, Right, Root, STORE_NAME,
    SessionName, Store, StoreError, Stored, TranscriptError,
};
use readproof_hosts::{
    block::Sha,
    session::{Past, Record},
    versions::{By, Erasure, VersionId, Versions, VersionsError},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::retention::{ErasedText, Named};
use crate::{Engine, Error};

/// How often a plan is made again because others changed files meanwhile.
const TRIES: u32 = 5;

/// Temporary files older than this, in milliseconds, are abandoned: a write takes far less.
const STALE: u64 = 60 * 60 * 1000;

/// Abandoned temporary files: old, and of processes that no longer run. Also returns whether all folders could be read.
pub(crate) fn left_behind(root: &Root, now: u64) -> (Vec<Leftover>, bool) {
    let (mut found, all) = root.leftovers();
    found.retain(|file| !file.running && now.saturating_sub(file.modified) >= STALE);
    (found, all)
}

/// Texts that a host keeps in the workspace outside our store, and the session files that may need them.
pub trait HostTexts: Send + Sync {
    /// The host's name.
    fn host(&self) -> &'static str;

    /// The folder of the texts, relative to the workspace root, one component each.
    fn folder(&self) -> &'static [&'static str];

    /// The session files that concern a workspace, sorted. A file that cannot be read is included if it may be one of
    /// them.
    fn sessions(&self, root: &Root) -> Vec<HostSession>;

    /// Every text that a session file may need as a base. `texts` loads stored texts.
    ///
    /// # Errors
    /// When the file cannot be read.
    fn needs(&self, file: &Path, texts: &dyn Fn(ContentHash) -> Option<Text>) -> Result<BTreeSet<ContentHash>, Error>;
}

/// A session file of a host.
#[derive(Debug)]
pub struct HostSession {
    /// The file.
    pub file: PathBuf,
    /// Why it cannot be understood, if so.
    pub unread: Option<Unread>,
}

/// Why a session cannot be understood, or not all of it.
#[derive(Debug)]
pub enum Unread {
    /// It has no header that is known.
    NoHeader,
    /// It has records of a newer program.
    Newer,
    /// Its log.
    Log(LogError),
    /// The host's file.
    File(TranscriptError),
    /// The version log.
    Versions(VersionsError),
    /// What the host's file needs.
    Needs(Error),
}

impl From<TranscriptError> for Unread {
    fn from(error: TranscriptError) -> Self {
        Self::File(error)
    }
}

/// What could still need a text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RetainedBy {
    /// A session of this workspace.
    Session(SessionName),
    /// The version log of this workspace.
    Versions,
    /// A session file of a host.
    HostSession {
        /// The host's name.
        host: &'static str,
        /// The file.
        file: PathBuf,
    },
}

impl fmt::Display for RetainedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Session(name) => write!(f, "session {name}"),
            Self::Versions => f.write_str("the versions of files"),
            Self::HostSession { host, file } => write!(f, "{host} session {}", file.display()),
        }
    }
}

/// What would be removed, and what stays.
#[derive(Debug, Default)]
pub struct GcPlan {
    /// The texts to remove, oldest first.
    pub objects: Vec<Stored>,
    /// The same for texts that hosts keep, by host name.
    pub host_objects: BTreeMap<&'static str, Vec<Stored>>,
    /// Sessions that could still need some of these texts, with the number of texts. Empty without [`Needed::Remove`].
    pub costs: BTreeMap<RetainedBy, u64>,
    /// Temporary files to remove, in the workspace and in the store.
    pub leftovers: Vec<Leftover>,
    /// Whether all folders could be searched for them.
    pub looked_everywhere: bool,
    /// How many texts stay.
    pub kept: u64,
    /// Their total size in bytes.
    pub kept_bytes: u64,
    /// How many texts stay only because they could be needed.
    pub spared: u64,
    /// Those of the texts to remove that the version log names, with the versions that lose them.
    pub erased: Vec<ErasedText>,
    /// The texts to compress, each run of versions of one file; some may be compressed already.
    pub packing: Vec<Vec<ContentHash>>,
    /// How many of them are not compressed yet.
    pub packed: u64,
    /// Their total size in bytes.
    pub packed_bytes: u64,
    /// The newest record of the version log when the plan was made.
    worked_out: Option<VersionId>,
    /// Whose needs cannot be told, and why. While there are any, no text goes without [`Needed::Remove`].
    pub unread: Vec<(RetainedBy, Unread)>,
}

impl GcPlan {
    /// How many texts are to be removed.
    #[must_use]
    pub fn count(&self) -> usize {
        self.objects.len() + self.host_objects.values().map(Vec::len).sum::<usize>()
    }

    /// Their total size in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.objects.iter().chain(self.host_objects.values().flatten()).map(|object| object.bytes).sum()
    }
}

/// The store of a text: `None` is ours, else the name of the host.
type Place = Option<&'static str>;

/// A host's texts, where there are any.
type Folder<'a> = (&'a dyn HostTexts, Option<Arc<dyn Objects>>);

/// What was removed, or only planned.
#[derive(Debug)]
pub struct Collection {
    /// What was to be removed.
    pub plan: GcPlan,
    /// What was removed; `None` for a dry run.
    pub done: Option<Collected>,
}

/// What was removed.
#[derive(Debug, Default)]
pub struct Collected {
    /// Number of texts, from all stores.
    pub objects: u64,
    /// Their total size in bytes.
    pub bytes: u64,
    /// Number of temporary files.
    pub leftovers: u64,
    /// Number of texts that were compressed.
    pub packed: u64,
    /// What all compressed texts take, in bytes, those of earlier calls included.
    pub packs_bytes: u64,
    /// What could not be removed or compressed, and why.
    pub failed: Vec<StoreError>,
}

impl Engine {
    /// Removes stored texts, or only plans it.
    pub(crate) fn collect(&self, caller: &Caller, rules: &Collect) -> Result<Collection, Error> {
        let mut plan = self.gc_plan(caller, rules)?;
        if rules.dry_run {
            return Ok(Collection { plan, done: None });
        }
        for attempt in 0..TRIES {
            let erasing = self.erasing_texts()?;
            if attempt > 0 {
                // A change was recorded meanwhile, which may need one of these texts. While nobody can store one, few are.
                plan = self.gc_plan(caller, rules)?;
            }
            let going: Vec<ContentHash> = plan.erased.iter().map(|text| text.hash).collect();
            if self.record_erased((caller, "gc"), &going, plan.worked_out)? {
                let done = self.gc(&plan, erasing)?;
                return Ok(Collection { plan, done: Some(done) });
            }
        }
        Err(StoreError::Busy { name: format!("{STORE_NAME}/log/versions") }.into())
    }

    /// While it is held, nobody stores a text that a version will need and has not recorded it yet.
    pub(super) fn erasing_texts(&self) -> Result<Option<Box<dyn Lease>>, Error> {
        Ok(self.store(Create::No)?.and_then(|store| store.leases().wait(Right::EraseTexts).ok()))
    }

    /// Records that texts go. `false`: the plan is older than the version log.
    pub(super) fn record_erased(
        &self,
        (caller, operation): (&Caller, &'static str),
        texts: &[ContentHash],
        worked_out: Option<VersionId>,
    ) -> Result<bool, Error> {
        let Some(worked_out) = worked_out.filter(|_| !texts.is_empty()) else { return Ok(true) };
        let (by, at, operation) = (By::from(caller), self.now(), operation.into());
        let erasure = Erasure { texts: texts.iter().copied().map(Sha).collect(), operation, by, at };
        Ok(self.with_versions(Create::No, |versions| versions.erased(&erasure, worked_out))?.unwrap_or(true))
    }

    /// What these rules would remove. Changes nothing.
    fn gc_plan(&self, caller: &Caller, rules: &Collect) -> Result<GcPlan, Error> {
        let now = self.now();
        let store = self.store(Create::No)?;
        let mut folders: Vec<Folder<'_>> = Vec::new();
        for host in self.hosts.iter() {
            folders.push((&**host, self.shared.stores.host_objects(host.folder(), Create::No)?));
        }
        // Listed before the logs and session files are read, so that texts stored from here on stay.
        let mut stored: Vec<(Stored, Place)> = Vec::new();
        stored.extend(store.iter().flat_map(|store| store.objects().stored()).map(|object| (object, None)));
        for (host, texts) in &folders {
            let place = Some(host.host());
            stored.extend(texts.iter().flat_map(|texts| texts.stored()).map(|object| (object, place)));
        }
        stored.sort_unstable_by_key(|(object, place)| (object.modified, object.hash, *place));
        let lookup = |hash| {
            let text = |loaded: Loaded| if let Loaded::Text(text) = loaded { Some(text) } else { None };
            let ours = store.as_ref().and_then(|store| text(store.objects().load(hash)));
            let mut hosts = folders.iter().filter_map(|(_, texts)| texts.as_ref());
            ours.or_else(|| hosts.find_map(|texts| text(texts.load(hash))))
        };
        let seen = self.seen_by(&Caller::default(), Acts::of(&[Act::Read]))?;
        let denied = |verdict: Verdict| verdict.effect() == Effect::Deny;
        let denies = |path: &str| seen.root.refuses_name(path).is_some_and(denied);
        let mut needs = store.as_deref().map(|store| Needs::of(store, &denies)).unwrap_or_default();
        for (host, _) in &folders {
            needs.add_host(*host, &self.root, &lookup);
        }

        let may_see = self.seen_by(caller, Acts::of(&[Act::Read, Act::History]))?;
        let mut plan = chosen(stored, needs, (rules, now), &|path| may_see.may_name(path));
        (plan.leftovers, plan.looked_everywhere) = left_behind(&self.root, now);
        Ok(plan)
    }

    /// Carries out a plan. What cannot be removed is reported and left.
    fn gc(&self, plan: &GcPlan, erasing: Option<Box<dyn Lease>>) -> Result<Collected, Error> {
        let mut done = Collected::default();
        if let Some(store) = self.store(Create::No)? {
            done.remove(store.objects(), &untouched(store.objects(), &plan.objects));
        }
        drop(erasing);
        for host in self.hosts.iter() {
            if let Some(texts) = self.shared.stores.host_objects(host.folder(), Create::No)? {
                done.remove(&*texts, plan.host_objects.get(host.host()).map_or(&[], Vec::as_slice));
            }
        }
        for leftover in &plan.leftovers {
            match self.root.remove_leftover(leftover) {
                Ok(Removed::Done) => done.leftovers += 1,
                Ok(Removed::Before) => {}
                Err(error) => done.failed.push(error),
            }
        }
        if let Some(store) = self.store(Create::No)? {
            done.pack(store.objects(), &plan.packing);
            self.remove_old_indexes(&*store, &mut done);
        }
        Ok(done)
    }
}

impl Engine {
    /// Indexes of what other rules showed, and of everything where not everything may be seen now.
    fn remove_old_indexes(&self, store: &dyn Store, done: &mut Collected) {
        let Ok(seen) = self.seen_by(&Caller::default(), Acts::FINDING) else { return };
        for name in store.databases().into_iter().filter(|name| seen.is_old_index(name)) {
            done.failed.extend(store.remove_database(&name).err());
        }
    }
}

impl Collected {
    fn remove(&mut self, from: &dyn Objects, objects: &[Stored]) {
        let Removal { removed, failed } = from.remove(&objects.iter().map(|object| object.hash).collect());
        for object in objects.iter().filter(|object| removed.contains(&object.hash)) {
            self.objects += 1;
            self.bytes += object.bytes;
        }
        self.failed.extend(failed);
    }

    fn pack(&mut self, texts: &dyn Objects, runs: &[Vec<ContentHash>]) {
        let Packing { moved, bytes, failed } = texts.pack(runs);
        (self.packed, self.packs_bytes) = (moved.len() as u64, bytes);
        self.failed.extend(failed);
    }
}

/// Leaves out what was stored again since the plan was made: whoever did that is about to record it.
pub(super) fn untouched(texts: &dyn Objects, planned: &[Stored]) -> Vec<Stored> {
    let now: BTreeMap<ContentHash, u64> =
        texts.stored().into_iter().map(|object| (object.hash, object.modified)).collect();
    let is_older = |object: &&Stored| now.get(&object.hash).is_none_or(|modified| *modified <= object.modified);
    planned.iter().filter(is_older).copied().collect()
}

/// Which of these texts, oldest first, the rules would remove.
fn chosen(
    stored: Vec<(Stored, Place)>,
    needs: Needs,
    (rules, now): (&Collect, u64),
    may_name: &dyn Fn(&str) -> bool,
) -> GcPlan {
    let mut left: u64 = stored.iter().map(|(object, _)| object.bytes).sum();
    let Needs { by_text, denied, allowed, unread, named } = needs;
    let mut plan = GcPlan { unread, worked_out: named.newest, ..GcPlan::default() };
    let ours = stored.iter().filter(|(_, place)| place.is_none()).map(|(object, _)| (object.hash, *object));
    let ours: BTreeMap<ContentHash, Stored> = ours.collect();
    let only_history = |hash| by_text.get(&hash).is_none_or(|by| by.iter().all(|by| *by == RetainedBy::Versions));
    let is_needed = |hash| !plan.unread.is_empty() || !only_history(hash);
    let retired = named.going(&ours, &is_needed, (rules.history, now));
    for (object, place) in stored {
        // A time in the future counts as now: the clock may have been set back.
        let age = now.saturating_sub(object.modified);
        let too_old = rules.older_than_ms.is_some_and(|limit| age >= limit);
        let too_much = rules.max_bytes.is_some_and(|most| left > most);
        let retained_by = by_text.get(&object.hash);
        let is_free = retained_by.is_none() && plan.unread.is_empty();
        // What a rule denies to everyone is needed by nobody.
        let is_denied = denied.contains(&object.hash) && !allowed.contains(&object.hash);
        let is_retired = place.is_none() && (retired.contains(&object.hash) || named.erased.contains(&object.hash));
        if is_denied || is_retired || ((too_old || too_much) && (is_free || rules.needed == Needed::Remove)) {
            left -= object.bytes;
            for session in retained_by.into_iter().flatten().filter(|_| !is_denied && !is_retired) {
                *plan.costs.entry(session.clone()).or_default() += 1;
            }
            match place {
                None => {
                    plan.erased.extend(named.erased_text(object, may_name));
                    plan.objects.push(object);
                }
                Some(host) => plan.host_objects.entry(host).or_default().push(object),
            }
            continue;
        }
        plan.kept += 1;
        plan.kept_bytes += object.bytes;
        plan.spared += u64::from(too_old || too_much);
    }
    let going: BTreeSet<ContentHash> = plan.objects.iter().map(|object| object.hash).collect();
    let stays = |hash: ContentHash| only_history(hash) && !going.contains(&hash);
    plan.packing = named.packing(&ours, &stays, (rules.history, now));
    for object in plan.packing.iter().flatten().filter_map(|hash| ours.get(hash)).filter(|object| !object.packed) {
        plan.packed += 1;
        plan.packed_bytes += object.bytes;
    }
    plan
}

/// Texts that could still be needed. Any entry of a session can become the leaf again, so every text that a log
/// mentions counts.
#[derive(Default)]
struct Needs {
    by_text: BTreeMap<ContentHash, BTreeSet<RetainedBy>>,
    /// Texts of files that a rule denies to everyone, and texts of others.
    denied: BTreeSet<ContentHash>,
    allowed: BTreeSet<ContentHash>,
    unread: Vec<(RetainedBy, Unread)>,
    named: Named,
}

impl Needs {
    fn of(store: &dyn Store, denies: &dyn Fn(&str) -> bool) -> Self {
        let mut needs = Self::default();
        for name in store.logs().sessions() {
            match Past::read(store, &name) {
                Ok(Some(past)) => needs.add(&name, past, denies),
                // Put aside since it was listed.
                Ok(None) => {}
                Err(error) => needs.unread.push((RetainedBy::Session(name), Unread::Log(error))),
            }
        }
        match Versions::open(store, Create::No, 0) {
            Ok(Some(versions)) => {
                needs.named = Named::of(&versions);
                for found in versions.uses() {
                    needs.judge(denies(found.path), found.hash);
                    needs.by_text.entry(found.hash).or_default().insert(RetainedBy::Versions);
                }
            }
            Ok(None) => {}
            Err(error) => needs.unread.push((RetainedBy::Versions, Unread::Versions(error))),
        }
        needs
    }

    fn judge(&mut self, is_denied: bool, hash: ContentHash) {
        if is_denied { &mut self.denied } else { &mut self.allowed }.insert(hash);
    }

    fn add(&mut self, name: &SessionName, past: Past, denies: &dyn Fn(&str) -> bool) {
        let session = RetainedBy::Session(name.clone());
        let is_known = |record: &Option<Record>| !matches!(record, None | Some(Record::Unknown { .. }));
        if past.is_newer() || !past.lines.iter().all(|line| is_known(&line.record)) {
            self.unread.push((session.clone(), Unread::Newer));
        } else if let Some(error) = past.broken {
            self.unread.push((session.clone(), Unread::Log(error)));
        }
        for record in past.lines.iter().filter_map(|line| line.record.as_ref()) {
            for (path, hash) in record.mentions() {
                self.judge(denies(path), hash);
                self.by_text.entry(hash).or_default().insert(session.clone());
            }
        }
    }

    fn add_host(&mut self, texts: &dyn HostTexts, root: &Root, lookup: &dyn Fn(ContentHash) -> Option<Text>) {
        for HostSession { file, unread } in texts.sessions(root) {
            let needed = texts.needs(&file, lookup);
            let session = RetainedBy::HostSession { host: texts.host(), file };
            let (needed, failed) = match needed {
                Ok(needed) => (needed, None),
                Err(error) => (BTreeSet::new(), Some(Unread::Needs(error))),
            };
            self.unread.extend(unread.or(failed).map(|why| (session.clone(), why)));
            for hash in needed {
                self.allowed.insert(hash);
                self.by_text.entry(hash).or_default().insert(session.clone());
            }
        }
    }
}
