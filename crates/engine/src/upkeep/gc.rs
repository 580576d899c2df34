//! Removing stored texts by age and total size, our own and those of the pi surface, and what crashes left behind. First a
//! plan, then what it says: nothing that a session or a known session file of pi could still need as a base goes, unless
//! that is demanded. Safe beside running readers: who finds a text gone sends plain text.

use readproof_core::text::{ContentHash, Text};
use readproof_disk::{Create, Leftover, Loaded, Objects, Removal, Removed, Root, SessionName, Store, Stored};
use readproof_hosts::own::{Past, Record};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::PathBuf,
    time::Duration,
};

use crate::{
    Engine, Error, PiFound, PiSources,
    pi::{self, OBJECTS},
};

/// Temporary files older than this, in milliseconds, are nobody's any more: a write takes far less.
const STALE: u64 = 60 * 60 * 1000;

/// Temporary files that nobody will ever name: old, of processes that do not run. And whether all folders were looked
/// into.
pub(crate) fn left_behind(root: &Root, now: u64) -> (Vec<Leftover>, bool) {
    let (mut found, all) = root.leftovers();
    found.retain(|file| !file.running && now.saturating_sub(file.modified) >= STALE);
    (found, all)
}

/// What is to go.
#[derive(Clone, Debug, Default)]
pub struct GcRules {
    /// Texts stored longer ago than this.
    pub older_than: Option<Duration>,
    /// The oldest texts, until the rest is no more than this many bytes.
    pub max_bytes: Option<u64>,
    /// What to do about texts that could still be needed.
    pub needed: Needed,
    /// Where pi's session files are, whose needs count like those of our own sessions.
    pub pi: PiSources,
}

/// Who could still need a text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Needer {
    /// A session of this workspace.
    Session(SessionName),
    /// A session file of pi.
    Pi(PathBuf),
}

impl fmt::Display for Needer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Session(name) => write!(f, "session {name}"),
            Self::Pi(file) => write!(f, "pi session {}", file.display()),
        }
    }
}

/// What happens to texts that a session could still need as a base.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Needed {
    /// They stay.
    #[default]
    Keep,
    /// They go like any other: a later change of the file is then sent as plain text.
    Remove,
}

/// What would go, and why not more.
#[derive(Debug, Default)]
pub struct GcPlan {
    /// The texts to remove, oldest first.
    pub objects: Vec<Stored>,
    /// Likewise those of the pi surface.
    pub pi_objects: Vec<Stored>,
    /// Who could still need some of them, each with how many; only ever filled by [`Needed::Remove`].
    pub costs: BTreeMap<Needer, u64>,
    /// Temporary files to remove, in the workspace and in the store.
    pub leftovers: Vec<Leftover>,
    /// Whether all folders were looked into for them.
    pub looked_everywhere: bool,
    /// How many texts stay.
    pub kept: u64,
    /// Their bytes.
    pub kept_bytes: u64,
    /// Texts that would go by age or size but stay, as they could be needed.
    pub spared: u64,
    /// Whose needs cannot be told, and why. While there are any, no text goes without [`Needed::Remove`].
    pub unread: Vec<(Needer, String)>,
}

impl GcPlan {
    /// The bytes of the texts to remove.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.objects.iter().chain(&self.pi_objects).map(|object| object.bytes).sum()
    }
}

/// Which store a text lies in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum In {
    Own,
    Pi,
}

/// What was removed.
#[derive(Debug, Default)]
pub struct Collected {
    /// Texts, of either store.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Temporary files.
    pub leftovers: u64,
    /// What could not be removed, and why.
    pub failed: Vec<String>,
}

impl Engine {
    /// What these rules would remove. Changes nothing. Without a store: nothing.
    ///
    /// # Errors
    /// When the store cannot be used.
    pub fn gc_plan(&mut self, rules: &GcRules) -> Result<GcPlan, Error> {
        let now = self.now();
        self.store(Create::No)?;
        let store = self.store.as_ref().map(|(store, _)| &**store);
        let pi = self.stores.host_objects(&OBJECTS, Create::No)?;
        // Before the logs and session files are read: what is stored after this moment stays.
        let mut stored: Vec<(Stored, In)> = Vec::new();
        stored.extend(store.iter().flat_map(|store| store.objects().stored()).map(|object| (object, In::Own)));
        stored.extend(pi.iter().flat_map(|pi| pi.stored()).map(|object| (object, In::Pi)));
        stored.sort_unstable_by_key(|(object, place)| (object.modified, object.hash, *place));
        let lookup = |hash| {
            let text = |loaded: Loaded| if let Loaded::Text(text) = loaded { Some(text) } else { None };
            let own = store.and_then(|store| text(store.objects().load(hash)));
            own.or_else(|| pi.as_ref().and_then(|pi| text(pi.load(hash))))
        };
        let mut needs = store.map(Needs::of).unwrap_or_default();
        needs.add_pi(&rules.pi, &self.root, &lookup);

        let mut plan = chosen(stored, needs, rules, now);
        (plan.leftovers, plan.looked_everywhere) = left_behind(&self.root, now);
        Ok(plan)
    }

    /// Does what a plan says. What cannot be removed is reported and left.
    ///
    /// # Errors
    /// When the store cannot be used.
    pub fn gc(&mut self, plan: &GcPlan) -> Result<Collected, Error> {
        let mut done = Collected::default();
        if let Some(pi) = self.stores.host_objects(&OBJECTS, Create::No)? {
            done.remove(&*pi, &plan.pi_objects);
        }
        for leftover in &plan.leftovers {
            match self.root.remove_leftover(leftover) {
                Ok(Removed::Done) => done.leftovers += 1,
                Ok(Removed::Before) => {}
                Err(error) => done.failed.push(error.to_string()),
            }
        }
        if let Some(store) = self.store(Create::No)? {
            done.remove(store.objects(), &plan.objects);
        }
        Ok(done)
    }
}

impl Collected {
    fn remove(&mut self, from: &dyn Objects, objects: &[Stored]) {
        let Removal { removed, failed } = from.remove(&objects.iter().map(|object| object.hash).collect());
        for object in objects.iter().filter(|object| removed.contains(&object.hash)) {
            self.objects += 1;
            self.bytes += object.bytes;
        }
        self.failed.extend(failed.iter().map(ToString::to_string));
    }
}

/// Which of these texts, oldest first, the rules would remove.
fn chosen(stored: Vec<(Stored, In)>, needs: Needs, rules: &GcRules, now: u64) -> GcPlan {
    let mut left: u64 = stored.iter().map(|(object, _)| object.bytes).sum();
    let mut plan = GcPlan { unread: needs.unread, ..GcPlan::default() };
    for (object, place) in stored {
        // A text of the future is young: the clock may have gone back.
        let age = Duration::from_millis(now.saturating_sub(object.modified));
        let too_old = rules.older_than.is_some_and(|limit| age >= limit);
        let too_much = rules.max_bytes.is_some_and(|most| left > most);
        let needers = needs.by_text.get(&object.hash);
        let is_free = needers.is_none() && plan.unread.is_empty();
        if (too_old || too_much) && (is_free || rules.needed == Needed::Remove) {
            left -= object.bytes;
            for needer in needers.into_iter().flatten() {
                *plan.costs.entry(needer.clone()).or_default() += 1;
            }
            match place {
                In::Own => plan.objects.push(object),
                In::Pi => plan.pi_objects.push(object),
            }
            continue;
        }
        plan.kept += 1;
        plan.kept_bytes += object.bytes;
        plan.spared += u64::from(too_old || too_much);
    }
    plan
}

/// What could still be needed. Any entry of a session can become the leaf again, so it is every text a log speaks of.
#[derive(Default)]
struct Needs {
    by_text: BTreeMap<ContentHash, BTreeSet<Needer>>,
    unread: Vec<(Needer, String)>,
}

impl Needs {
    fn of(store: &dyn Store) -> Self {
        let mut needs = Self::default();
        for name in store.logs().sessions() {
            match Past::read(store, &name) {
                Ok(Some(past)) => needs.add(&name, past),
                // Put aside since it was listed.
                Ok(None) => {}
                Err(error) => needs.unread.push((Needer::Session(name), error.to_string())),
            }
        }
        needs
    }

    fn add(&mut self, name: &SessionName, past: Past) {
        let session = Needer::Session(name.clone());
        let is_known = |record: &Option<Record>| !matches!(record, None | Some(Record::Unknown { .. }));
        if past.is_newer() || !past.lines.iter().all(|line| is_known(&line.record)) {
            self.unread.push((session.clone(), "it holds records of a newer readproof".to_owned()));
        } else if let Some(error) = past.broken {
            self.unread.push((session.clone(), error.to_string()));
        }
        for hash in past.lines.iter().filter_map(|line| line.record.as_ref()).flat_map(Record::mentions) {
            self.by_text.entry(hash).or_default().insert(session.clone());
        }
    }

    fn add_pi(&mut self, sources: &PiSources, root: &Root, lookup: &dyn Fn(ContentHash) -> Option<Text>) {
        for PiFound { file, unread } in sources.found(root) {
            let needed = pi::needs(&file, lookup);
            let session = Needer::Pi(file);
            if let Some(why) = unread.or_else(|| needed.as_ref().err().map(ToString::to_string)) {
                self.unread.push((session.clone(), why));
            }
            for hash in needed.unwrap_or_default() {
                self.by_text.entry(hash).or_default().insert(session.clone());
            }
        }
    }
}
