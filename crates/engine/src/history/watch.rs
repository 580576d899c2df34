//! Meets changes while they happen: waits for the system to tell which names changed, lets a burst end, and looks at these names
//! as [`super::look`] looks at all. Holds no lock while it waits, and one process watches a workspace at a time. What may have
//! been missed is recorded as such.

use readproof_core::text::ContentHash;
use readproof_disk::{Create, Happened, Lease, NameWatch, NoWatch, Right, Stop, Waiting, Woken};
use readproof_hosts::versions::{Unseen, Unwatched, VersionId};
use readproof_index::Registry;
use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    ops::ControlFlow,
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use super::{
    HistoryEntry,
    look::{Field, Looked, Then},
};
use crate::{Control, Engine, Error, HistoryError, Keeping, conversation::locked};

/// A burst is over when so long nothing happened.
const QUIET: Duration = Duration::from_millis(200);

/// One that does not end is looked at after this time, so that every state that lasts a second is met.
const LONGEST: Duration = Duration::from_millis(450);

/// A file that changed this recently may be about to be recorded by whoever wrote it.
const YOUNG: Duration = Duration::from_millis(100);

/// How long a look waits for git, or for a change over several files, to be done with what it does; and how often it asks.
const PATIENCE: Duration = Duration::from_millis(700);
const ASKED_EVERY: Duration = Duration::from_millis(50);

/// How long a look that failed is not made again, unless something happens: at first, and at most.
const RETRY: Duration = Duration::from_secs(2);
const LONGEST_RETRY: Duration = Duration::from_secs(600);

/// What git makes while it changes what is staged.
const GIT_AT_WORK: &str = ".git/index.lock";

/// What a watch tells.
#[derive(Clone, Debug)]
pub enum Sighting {
    /// Every change from here on is met.
    Watching {
        /// How many folders are watched.
        folders: usize,
    },
    /// Another process watches; this one waits until that ends.
    Waiting,
    /// Others changed files.
    Met(Box<HistoryEntry>),
    /// A look failed, and is made again later.
    Failed(Arc<Error>),
}

/// Who is told what is met, and says whether to go on.
pub type OnSight<'t> = &'t mut dyn FnMut(Sighting) -> ControlFlow<()>;

/// What happened and was not looked at yet.
#[derive(Default)]
struct Pending {
    /// When each name was first and last told.
    names: BTreeMap<String, (Instant, Instant)>,
    /// The same of what needs a look at everything.
    more: Option<(Instant, Instant)>,
    /// Why texts may have been missed.
    missed: Option<Unseen>,
}

impl Pending {
    fn take(&mut self, happened: Happened, now: Instant) {
        let Happened { names, more, lost } = happened;
        for name in names {
            self.names.entry(name).or_insert((now, now)).1 = now;
        }
        if more || self.names.len() > readproof_disk::MOST_NAMES {
            self.more.get_or_insert((now, now)).1 = now;
        }
        if lost {
            self.missed = Some(Unseen::Overflow);
        }
    }

    fn times(&self) -> impl Iterator<Item = (Instant, Instant)> {
        self.names.values().copied().chain(self.more)
    }

    /// How old the oldest of it is.
    fn age(&self, now: Instant) -> Option<Duration> {
        self.times().map(|(first, _)| now.saturating_duration_since(first)).max()
    }

    /// How long to wait before it is looked at; `None` if there is nothing to look at.
    fn wait(&self, now: Instant) -> Option<Duration> {
        let last = self.times().map(|(_, last)| last).max()?;
        let quiet = QUIET.saturating_sub(now.saturating_duration_since(last));
        Some(quiet.min(LONGEST.saturating_sub(self.age(now)?)))
    }

    /// The names that are looked at now.
    fn ripe(&mut self, now: Instant) -> BTreeSet<String> {
        let is_ripe = |(first, last): &(Instant, Instant)| {
            now.saturating_duration_since(*last) >= YOUNG || now.saturating_duration_since(*first) >= LONGEST
        };
        let ripe = self.names.iter().filter(|(_, times)| is_ripe(times)).map(|(name, _)| name.clone()).collect();
        self.names.retain(|_, times| !is_ripe(times));
        ripe
    }
}

/// A watch of this process. Calls may ask it what can have changed.
pub(crate) struct Watched {
    state: Mutex<Watching>,
    /// Whether everything is looked at now, which takes long.
    is_looking: AtomicBool,
}

/// What a watch knows.
struct Watching {
    watch: NameWatch,
    registry: Option<Registry>,
    pending: RefCell<Pending>,
    /// What the ignore files said at the last look at everything.
    ignores: Option<ContentHash>,
    /// What calls met, and whoever watches was not told yet.
    unsaid: Vec<VersionId>,
}

/// A watch under way.
struct Round<'r> {
    engine: &'r Engine,
    watched: &'r Watched,
    waiting: Waiting,
    stop: &'r Stop,
}

/// While it is there, calls of this process find the watch.
struct Shown<'e>(&'e Engine);

impl Drop for Shown<'_> {
    fn drop(&mut self) {
        *locked(&self.0.shared.watched) = None;
    }
}

impl Engine {
    /// See [`Engine::watch`].
    pub(crate) fn watch_files(&self, stop: &Stop, told: OnSight<'_>) -> Result<(), Error> {
        if self.shared.settings.history == Keeping::Off {
            return Err(Error::History(HistoryError::NotKept));
        }
        let Some(_lease) = self.turn_to_watch(stop, told)? else { return Ok(()) };
        let watch = NameWatch::new(self.root.path()).map_err(unwatched)?;
        let waiting = watch.waiting().map_err(|error| unwatched(NoWatch::Io(error)))?;
        let now = Instant::now();
        let everything = Pending { more: Some((now, now)), missed: Some(Unseen::NotRunning), ..Pending::default() };
        let watched = Arc::new(Watched::new(watch, everything));
        *locked(&self.shared.watched) = Some(Arc::clone(&watched));
        let _shown = Shown(self);
        Round { engine: self, watched: &watched, waiting, stop }.run(told)
    }

    /// Looks at the files that can have changed since they were last looked at, as the watch of this process tells; `None` if there
    /// is none, or it cannot tell. What a watch does not see, this does not meet.
    pub(super) fn look_where_told(&self, control: &Control<'_>) -> Result<Option<Looked>, Error> {
        let Some(watched) = locked(&self.shared.watched).clone() else { return Ok(None) };
        if watched.is_looking.load(Ordering::Relaxed) {
            return Ok(None);
        }
        locked(&watched.state).look_for_call(self, control)
    }

    /// Waits for the right to watch; `None` if it is stopped before.
    fn turn_to_watch(&self, stop: &Stop, told: OnSight<'_>) -> Result<Option<Box<dyn Lease>>, Error> {
        let Some(store) = self.store(Create::Yes)? else { return Ok(None) };
        match store.leases().take(Right::Watch) {
            Err(readproof_disk::StoreError::Busy { .. }) => {}
            taken => return Ok(Some(taken?)),
        }
        if told(Sighting::Waiting).is_break() {
            return Ok(None);
        }
        let (stopper, ready) = Stop::new().map_err(|error| unwatched(NoWatch::Io(error)))?;
        let (sender, lease) = mpsc::channel();
        // It may wait for longer than anybody is interested. Then the lease is given back at once.
        let waiting = thread::Builder::new().name("lease".to_owned()).spawn(move || {
            let _ = sender.send(store.leases().wait(Right::Watch));
            drop(stopper);
        });
        waiting.map_err(|error| unwatched(NoWatch::Io(error)))?;
        match stop.or(&ready) {
            Woken::Happened => Ok(lease.recv().ok().transpose()?),
            Woken::Stopped | Woken::TimeIsUp => Ok(None),
        }
    }
}

fn unwatched(why: NoWatch) -> Error {
    Error::History(HistoryError::NotWatched(why))
}

impl Round<'_> {
    fn run(self, told: OnSight<'_>) -> Result<(), Error> {
        let (mut retry, mut is_new) = (RETRY, true);
        loop {
            if !self.wait_for_a_burst()? {
                return Ok(());
            }
            let mut state = locked(&self.watched.state);
            let looked = state.look((self.engine, self.stop), &self.watched.is_looking);
            let unsaid = std::mem::take(&mut state.unsaid);
            let folders = state.watch.folders();
            drop(state);
            let looked = match looked {
                Ok(looked) => looked,
                Err(Error::Aborted) => return Ok(()),
                Err(error @ Error::History(HistoryError::NotWatched(_))) => return Err(error),
                Err(error) => {
                    let why = Arc::new(Error::History(HistoryError::LookFailed(Box::new(error))));
                    if told(Sighting::Failed(why)).is_break()
                        || self.waiting.wait(self.stop, Some(retry)) == Woken::Stopped
                    {
                        return Ok(());
                    }
                    retry = (retry * 2).min(LONGEST_RETRY);
                    continue;
                }
            };
            retry = RETRY;
            let begins = is_new.then_some(Sighting::Watching { folders });
            is_new = false;
            let met = unsaid.into_iter().chain(looked.into_iter().flat_map(|looked| looked.met));
            let met = met.filter_map(|id| self.engine.change_entry(id)).map(|entry| Sighting::Met(Box::new(entry)));
            for sighting in begins.into_iter().chain(met) {
                if told(sighting).is_break() {
                    return Ok(());
                }
            }
        }
    }

    /// Waits until something happened and it is time to look; `false` if it is to stop.
    fn wait_for_a_burst(&self) -> Result<bool, Error> {
        loop {
            let (wait, is_unsaid) = {
                let state = locked(&self.watched.state);
                (state.pending.borrow().wait(Instant::now()), !state.unsaid.is_empty())
            };
            let wait = match wait {
                _ if is_unsaid => return Ok(!self.stop.is_now()),
                Some(Duration::ZERO) if self.others_are_at_work() => Some(ASKED_EVERY),
                Some(Duration::ZERO) => return Ok(!self.stop.is_now()),
                wait => wait,
            };
            if self.waiting.wait(self.stop, wait) == Woken::Stopped {
                return Ok(false);
            }
            locked(&self.watched.state).take()?;
        }
    }

    /// Whether git or another call is in the middle of a change, and may be waited for: so that it is met as one.
    fn others_are_at_work(&self) -> bool {
        let root = &self.engine.root;
        let age = locked(&self.watched.state).pending.borrow().age(Instant::now());
        age.is_some_and(|age| age < PATIENCE) && (root.glance(GIT_AT_WORK).is_some() || root.has_journal())
    }
}

impl Watched {
    fn new(watch: NameWatch, pending: Pending) -> Self {
        let pending = RefCell::new(pending);
        let state = Watching { watch, registry: None, pending, ignores: None, unsaid: Vec::new() };
        Self { state: Mutex::new(state), is_looking: AtomicBool::new(false) }
    }
}

impl Watching {
    fn take(&self) -> Result<(), Error> {
        let happened = self.watch.happened().map_err(unwatched)?;
        self.pending.borrow_mut().take(happened, Instant::now());
        Ok(())
    }

    /// Looks at what is pending. What changes meanwhile is pending afterwards.
    fn look(&mut self, (engine, stop): (&Engine, &Stop), is_looking: &AtomicBool) -> Result<Option<Looked>, Error> {
        let is_stopped = || stop.is_now();
        let control = Control { cancelled: &is_stopped, ..Control::WAIT };
        let looked = self.look_at_pending((engine, &control), is_looking);
        if looked.is_err() {
            // What was pending is found by a look at everything.
            self.registry = None;
            self.need_everything();
        }
        looked
    }

    fn need_everything(&self) {
        let now = Instant::now();
        self.pending.borrow_mut().more.get_or_insert((now, now));
    }

    fn look_at_pending(
        &mut self,
        (engine, control): (&Engine, &Control<'_>),
        is_looking: &AtomicBool,
    ) -> Result<Option<Looked>, Error> {
        if self.registry.is_none() {
            self.registry = engine.open_registry()?;
        }
        engine.recover();
        let mut pending = self.pending.borrow_mut();
        let (more, missed) = (pending.more, pending.missed);
        if more.is_some() || self.ignores.is_none() {
            drop(pending);
            is_looking.store(true, Ordering::Relaxed);
            let looked = self.look_at_everything((engine, control), missed);
            is_looking.store(false, Ordering::Relaxed);
            let looked = looked?;
            self.ignores = looked.as_ref().and_then(|looked| looked.ignores);
            return Ok(looked);
        }
        let names = pending.ripe(Instant::now());
        drop(pending);
        if names.is_empty() {
            return Ok(None);
        }
        self.look_at_names((engine, control), &names)
    }

    fn look_at_everything(
        &mut self,
        (engine, control): (&Engine, &Control<'_>),
        missed: Option<Unseen>,
    ) -> Result<Option<Looked>, Error> {
        let watch = &self.watch;
        let Some(registry) = self.registry.as_mut() else { return Ok(None) };
        // Every file is looked at after this, so what happened until now is no longer pending. If the look fails, it is made again.
        self.pending.replace(Pending { missed, ..Pending::default() });
        watch.begin();
        let walked = || {
            // From here on the watch tells of every change.
            if let Some(why) = missed {
                let gap = Unwatched { why, at: engine.now() };
                engine.with_versions(Create::Yes, |versions| versions.missed(gap))?;
            }
            Ok(Then::Look)
        };
        let field = Field { folders: &|folder: &Path| watch.add(folder), walked: &walked, ..Field::EVERYTHING };
        let looked = engine.look_over(registry, &field, control)?;
        watch.end().map_err(unwatched)?;
        self.pending.borrow_mut().missed = None;
        Ok(looked)
    }

    fn look_at_names(
        &mut self,
        (engine, control): (&Engine, &Control<'_>),
        names: &BTreeSet<String>,
    ) -> Result<Option<Looked>, Error> {
        let (watch, pending) = (&self.watch, &self.pending);
        let Some(registry) = self.registry.as_mut() else { return Ok(None) };
        let walked = || {
            // If rules changed before the walk, their event is there by now.
            let happened = watch.happened().map_err(unwatched)?;
            let mut pending = pending.borrow_mut();
            pending.take(happened, Instant::now());
            Ok(if pending.more.is_some() { Then::GiveUp } else { Then::Look })
        };
        let field = Field { names: Some(names), ignores: self.ignores, walked: &walked, ..Field::EVERYTHING };
        engine.look_over(registry, &field, control)
    }

    /// Looks at all that happened until now, however recently; `None` if that takes a look at everything.
    fn look_for_call(&mut self, engine: &Engine, control: &Control<'_>) -> Result<Option<Looked>, Error> {
        if self.take().is_err() || self.registry.is_none() || self.ignores.is_none() {
            return Ok(None);
        }
        let pending = self.pending.get_mut();
        if pending.more.is_some() || pending.missed.is_some() {
            return Ok(None);
        }
        let names: BTreeSet<String> = std::mem::take(&mut pending.names).into_keys().collect();
        if names.is_empty() {
            return Ok(Some(Looked::default()));
        }
        let looked = self.look_at_names((engine, control), &names);
        match &looked {
            Ok(Some(looked)) => self.unsaid.extend(&looked.met),
            // What was pending is found by a look at everything.
            Ok(None) | Err(_) => self.need_everything(),
        }
        looked
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests make files")]
mod tests {
    use super::*;
    use readproof_core::path::Bearings;
    use readproof_disk::Root;
    use std::fs;

    fn after(begin: Instant, ms: u64) -> Instant {
        begin + Duration::from_millis(ms)
    }

    fn happened(names: &[&str]) -> Happened {
        Happened { names: names.iter().map(|name| (*name).to_owned()).collect(), ..Happened::default() }
    }

    #[test]
    fn a_burst_is_looked_at_when_it_is_over_and_a_long_one_in_between() {
        let begin = Instant::now();
        let mut pending = Pending::default();
        assert_eq!(pending.wait(begin), None);
        pending.take(happened(&["a"]), begin);
        assert_eq!(pending.wait(after(begin, 50)), Some(Duration::from_millis(150)));
        assert_eq!(pending.wait(after(begin, 200)), Some(Duration::ZERO));
        // Something happens every tenth of a second.
        for ms in (100..=400).step_by(100) {
            pending.take(happened(&["b"]), after(begin, ms));
        }
        assert_eq!(pending.wait(after(begin, 410)), Some(Duration::from_millis(40)));
        assert_eq!(pending.wait(after(begin, 450)), Some(Duration::ZERO));
        // What changed a moment ago is left for the next time.
        assert_eq!(pending.ripe(after(begin, 450)), happened(&["a"]).names);
        assert_eq!(pending.wait(after(begin, 450)), Some(Duration::from_millis(100)));
        pending.take(happened(&["b"]), after(begin, 540));
        assert_eq!(pending.ripe(after(begin, 550)), happened(&["b"]).names);
        assert_eq!(pending.wait(after(begin, 550)), None);
    }

    #[test]
    fn what_the_system_did_not_tell_is_a_gap_and_a_look_at_everything() {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path().canonicalize().unwrap();
        fs::write(top.join("a.txt"), "one\n").unwrap();
        let bearings = Bearings { cwd: top.display().to_string(), home: None };
        let engine =
            Engine::new(Root::open(&top).unwrap(), bearings, crate::Settings::default(), Box::new(|| 7)).unwrap();
        let (_stopper, stop) = Stop::new().unwrap();
        let watched = Watched::new(NameWatch::new(&top).unwrap(), Pending::default());
        let mut round = locked(&watched.state);
        let begin = Instant::now().checked_sub(LONGEST).unwrap();
        round.pending.borrow_mut().take(Happened { more: true, ..Happened::default() }, begin);
        round.look((&engine, &stop), &watched.is_looking).unwrap();
        let kinds = || {
            let kinds = engine.with_versions(Create::No, |versions| {
                let changes = versions.changes().map(|(id, change)| (id, change.operation.to_string()));
                let gaps = versions.unwatched().map(|(id, gap)| (id, gap.why.as_str().to_owned()));
                let all: BTreeMap<_, _> = changes.chain(gaps).collect();
                Ok(all.into_values().collect::<Vec<_>>())
            });
            kinds.unwrap().unwrap()
        };
        assert_eq!(kinds(), ["first"]);
        fs::write(top.join("a.txt"), "two\n").unwrap();
        let lost = Happened { more: true, lost: true, ..Happened::default() };
        round.pending.borrow_mut().take(lost, Instant::now());
        round.look((&engine, &stop), &watched.is_looking).unwrap();
        assert_eq!(kinds(), ["first", "overflow", "outside"]);
        assert!(round.pending.borrow().missed.is_none());
        // Names alone: nothing else is looked at, and a file that is new was not there before.
        fs::write(top.join("b.txt"), "b\n").unwrap();
        fs::write(top.join("c.txt"), "c\n").unwrap();
        round.watch.happened().unwrap();
        round.pending.borrow_mut().take(happened(&["b.txt"]), begin);
        let looked = round.look((&engine, &stop), &watched.is_looking).unwrap().unwrap();
        assert_eq!((looked.files, looked.met.len()), (1, 1));
        assert_eq!(kinds(), ["first", "overflow", "outside", "outside"]);
        let entry = engine.change_entry(looked.met[0]).unwrap();
        assert_eq!(entry.files.iter().map(|(file, _)| file.path.as_str()).collect::<Vec<_>>(), ["b.txt"]);
        // Rules that changed meanwhile give it up, and everything is looked at.
        fs::write(top.join(".ignore"), "c.txt\n").unwrap();
        round.pending.borrow_mut().take(happened(&["c.txt"]), begin);
        assert_eq!(round.look((&engine, &stop), &watched.is_looking).unwrap(), None);
        assert!(round.pending.borrow().more.is_some());
    }

    #[test]
    fn a_call_asks_the_watch_what_changed_until_now() {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path().canonicalize().unwrap();
        fs::write(top.join("a.txt"), "one\n").unwrap();
        let bearings = Bearings { cwd: top.display().to_string(), home: None };
        let engine =
            Engine::new(Root::open(&top).unwrap(), bearings, crate::Settings::default(), Box::new(|| 7)).unwrap();
        let told = || engine.look_where_told(&Control::WAIT).unwrap();
        assert_eq!(told(), None);
        let now = Instant::now();
        let pending = Pending { more: Some((now, now)), ..Pending::default() };
        let watched = Arc::new(Watched::new(NameWatch::new(&top).unwrap(), pending));
        *locked(&engine.shared.watched) = Some(Arc::clone(&watched));
        // Everything must be looked at first.
        assert_eq!(told(), None);
        let (_stopper, stop) = Stop::new().unwrap();
        locked(&watched.state).look((&engine, &stop), &watched.is_looking).unwrap();
        assert_eq!(told(), Some(Looked::default()));
        fs::write(top.join("a.txt"), "two\n").unwrap();
        fs::write(top.join("b.txt"), "new\n").unwrap();
        let looked = told().unwrap();
        assert_eq!((looked.files, looked.met.len()), (2, 1));
        assert_eq!(locked(&watched.state).unsaid, looked.met);
        assert_eq!(told(), Some(Looked::default()));
        // In a folder that nobody knew there may be anything.
        fs::create_dir(top.join("d")).unwrap();
        assert_eq!(told(), None);
        watched.is_looking.store(true, Ordering::Relaxed);
        assert_eq!(told(), None);
    }
}
