//! Removing stored texts by age and total size, and what crashes left behind. First a plan, then what it says: nothing
//! that a session could still need as a base goes, unless that is demanded. Safe beside running readers: who finds a text
//! gone sends plain text.

use readproof_core::text::ContentHash;
use readproof_disk::{Create, Leftover, Removed, SessionLog, SessionName, Store, Stored};
use readproof_hosts::own::{Past, Record};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use crate::{Engine, Error};

/// Temporary files older than this are nobody's any more: a write takes far less.
const STALE: u64 = 60 * 60 * 1000;

/// What is to go.
#[derive(Clone, Debug, Default)]
pub struct GcRules {
    /// Texts stored longer ago than this.
    pub older_than: Option<Duration>,
    /// The oldest texts, until the rest is no more than this many bytes.
    pub max_bytes: Option<u64>,
    /// What to do about texts that could still be needed.
    pub needed: Needed,
    /// Texts that something other than a session log of this workspace may need, such as a host's own transcript.
    pub keep: BTreeSet<ContentHash>,
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
    /// The sessions that could still need some of them, each with how many; only ever filled by [`Needed::Remove`].
    pub costs: BTreeMap<SessionName, u64>,
    /// Temporary files to remove.
    pub leftovers: Vec<Leftover>,
    /// How many texts stay.
    pub kept: u64,
    /// Their bytes.
    pub kept_bytes: u64,
    /// Texts that would go by age or size but stay, as they could be needed.
    pub spared: u64,
    /// Sessions whose needs cannot be told, and why. While there are any, no text goes without [`Needed::Remove`].
    pub unread: Vec<(SessionName, String)>,
}

impl GcPlan {
    /// The bytes of the texts to remove.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.objects.iter().map(|object| object.bytes).sum()
    }
}

/// What was removed.
#[derive(Debug, Default)]
pub struct Collected {
    /// Texts.
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
        let Some(store) = self.store(Create::No)? else { return Ok(GcPlan::default()) };
        // Before the logs are read: what is stored after this moment stays.
        let mut stored = store.stored();
        let needs = Needs::of(store);
        stored.sort_unstable_by_key(|object| (object.modified, object.hash));

        let mut left: u64 = stored.iter().map(|object| object.bytes).sum();
        let mut plan = GcPlan { unread: needs.unread, ..GcPlan::default() };
        for object in stored {
            let age = Duration::from_millis(now.saturating_sub(object.modified));
            let too_old = rules.older_than.is_some_and(|limit| age >= limit);
            let too_much = rules.max_bytes.is_some_and(|most| left > most);
            let sessions = needs.by_text.get(&object.hash);
            let is_free = sessions.is_none() && plan.unread.is_empty() && !rules.keep.contains(&object.hash);
            if (too_old || too_much) && (is_free || rules.needed == Needed::Remove) {
                left -= object.bytes;
                for session in sessions.into_iter().flatten() {
                    *plan.costs.entry(session.clone()).or_default() += 1;
                }
                plan.objects.push(object);
                continue;
            }
            plan.kept += 1;
            plan.kept_bytes += object.bytes;
            plan.spared += u64::from(too_old || too_much);
        }
        let is_stale = |leftover: &Leftover| now.saturating_sub(leftover.modified) >= STALE;
        plan.leftovers = store.temporary().into_iter().filter(is_stale).collect();
        Ok(plan)
    }

    /// Does what a plan says. What cannot be removed is reported and left.
    ///
    /// # Errors
    /// When the store cannot be used.
    pub fn gc(&mut self, plan: &GcPlan) -> Result<Collected, Error> {
        let mut done = Collected::default();
        let Some(store) = self.store(Create::No)? else { return Ok(done) };
        let (gone, failed) = store.remove_objects(&plan.objects.iter().map(|object| object.hash).collect());
        for object in plan.objects.iter().filter(|object| gone.contains(&object.hash)) {
            done.objects += 1;
            done.bytes += object.bytes;
        }
        done.failed.extend(failed.iter().map(ToString::to_string));
        for leftover in &plan.leftovers {
            match store.remove_temporary(leftover) {
                Ok(Removed::Done) => done.leftovers += 1,
                Ok(Removed::Before) => {}
                Err(error) => done.failed.push(error.to_string()),
            }
        }
        Ok(done)
    }
}

/// What the sessions could still need. Any entry can become the leaf again, so it is every text a log speaks of.
#[derive(Default)]
struct Needs {
    by_text: BTreeMap<ContentHash, BTreeSet<SessionName>>,
    unread: Vec<(SessionName, String)>,
}

impl Needs {
    fn of(store: &Store) -> Self {
        let mut needs = Self::default();
        for name in SessionLog::list(store) {
            match Past::read(store, &name) {
                Ok(Some(past)) => needs.add(&name, past),
                // Put aside since it was listed.
                Ok(None) => {}
                Err(error) => needs.unread.push((name, error.to_string())),
            }
        }
        needs
    }

    fn add(&mut self, name: &SessionName, past: Past) {
        let is_known = |record: &Option<Record>| !matches!(record, None | Some(Record::Unknown { .. }));
        if past.is_newer() || !past.lines.iter().all(|line| is_known(&line.record)) {
            self.unread.push((name.clone(), "it holds records of a newer readproof".to_owned()));
        } else if let Some(error) = past.broken {
            self.unread.push((name.clone(), error.to_string()));
        }
        for hash in past.lines.iter().filter_map(|line| line.record.as_ref()).flat_map(Record::mentions) {
            self.by_text.entry(hash).or_default().insert(name.clone());
        }
    }
}
