//! The store and the sessions that are open while the program runs, shared by threads. There is one lock per
//! conversation. It is held for one step of a call and never while a workspace file is read, so the branch may move
//! between two steps; the log detects that when the answer is recorded.

use readproof_core::{path::PathKey, text::ContentHash, text::Text};
use readproof_disk::{Create, Loaded, LogName, SessionName, Store};
use readproof_hosts::session::{Focus, Session};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::{Engine, Error, LogAfter, Notice};

/// The open store and sessions.
#[derive(Default)]
pub(crate) struct Open {
    /// The store once it is open, and whether its missing parts were created.
    store: Mutex<Option<(Arc<dyn Store>, Create)>>,
    sessions: Mutex<BTreeMap<SessionName, Arc<Mutex<Slot>>>>,
}

/// One conversation's place.
#[derive(Default)]
struct Slot {
    session: Option<Session>,
    /// Whether its log missed an answer and could not be put aside. Until it is, the log is not used.
    missed_answer: bool,
}

/// Locks even after a thread has panicked: what the lock guards is checked against the log anyway.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Open {
    fn slot(&self, name: &SessionName) -> Arc<Mutex<Slot>> {
        Arc::clone(locked(&self.sessions).entry(name.clone()).or_default())
    }
}

impl Engine {
    /// Runs `work` on a session that has caught up with its log.
    pub(crate) fn with_session<T>(
        &self,
        name: &SessionName,
        create: Create,
        work: impl FnOnce(&mut Session) -> T,
    ) -> Result<T, Error> {
        self.with_session_of(name, create, Focus::All, work)
    }

    /// The same; if the session is not open yet, only the answers that `focus` selects are read.
    pub(crate) fn with_session_of<T>(
        &self,
        name: &SessionName,
        create: Create,
        focus: Focus,
        work: impl FnOnce(&mut Session) -> T,
    ) -> Result<T, Error> {
        let slot = self.shared.open.slot(name);
        let mut slot = locked(&slot);
        if slot.missed_answer {
            // The log may be writable again, but it still lacks what the model saw meanwhile. If the store itself
            // cannot be used, that is the error to report.
            self.store(create)?;
            self.shared.stores.retire(&LogName::from(name))?;
            slot.missed_answer = false;
        }
        // A log that became unreadable is opened again, so that the error describes the log.
        if slot.session.as_mut().is_some_and(|session| session.catch_up().is_err()) {
            slot.session = None;
        }
        if slot.session.is_none() {
            let no_session = || Error::NoSession(name.clone());
            let store = self.store(create)?.ok_or_else(no_session)?;
            let opened = Session::open_for(&*store, name, create, self.shared.settings.answers, focus)?;
            slot.session = Some(opened.ok_or_else(no_session)?);
        }
        let session = slot.session.as_mut().ok_or_else(|| Error::NoSession(name.clone()))?;
        if create == Create::Yes && session.transcript().is_empty() {
            session.ensure_header(self.now())?;
        }
        Ok(work(session))
    }

    /// Runs `work` on a session as of its last catch-up; `None` if it is not open.
    pub(crate) fn with_open_session<T>(&self, name: &SessionName, work: impl FnOnce(&mut Session) -> T) -> Option<T> {
        locked(&self.shared.open.slot(name)).session.as_mut().map(work)
    }

    /// Reopens a session with the answers of every file, if it was opened for another file than `path`.
    pub(crate) fn cover(&self, name: &SessionName, path: &PathKey) -> Result<(), Error> {
        let slot = self.shared.open.slot(name);
        if locked(&slot).session.as_ref().is_none_or(|session| session.covers(path)) {
            return Ok(());
        }
        locked(&slot).session = None;
        self.with_session(name, Create::Yes, |_| ())
    }

    /// Keeps a session that was just created.
    pub(crate) fn keep_session(&self, name: &SessionName, session: Session) {
        locked(&self.shared.open.slot(name)).session = Some(session);
    }

    /// Puts aside the log of a session that missed what the model is about to see; gives what to say of it.
    pub(crate) fn retire(&self, name: &SessionName, error: Error) -> Notice {
        let slot = self.shared.open.slot(name);
        let mut slot = locked(&slot);
        slot.session = None;
        // The store may have been removed or replaced: open it again next time.
        *locked(&self.shared.open.store) = None;
        let log = match self.shared.stores.retire(&LogName::from(name)) {
            Ok(Some(kept)) => LogAfter::Kept(kept),
            Ok(None) => LogAfter::None,
            Err(why) => {
                slot.missed_answer = true;
                LogAfter::InTheWay { session: name.clone(), why: Arc::new(why) }
            }
        };
        Notice::NotRemembered { why: Arc::new(error), log }
    }

    /// The store, opened on first use and created only if `create` says so.
    pub(crate) fn store(&self, create: Create) -> Result<Option<Arc<dyn Store>>, Error> {
        let mut open = locked(&self.shared.open.store);
        let is_open = match (&*open, create) {
            (None, _) => false,
            (Some(_), Create::No) => true,
            // A store that was opened only for reading may lack parts.
            (Some((_, opened)), Create::Yes) => *opened == Create::Yes,
        };
        if !is_open {
            let opened = self.shared.stores.open(create)?;
            if let Some(aside) = opened.as_ref().and_then(|opened| opened.put_aside.as_ref()) {
                self.add_notice(Notice::StorePutAside(aside.clone()));
            }
            *open = opened.map(|opened| (opened.store, create));
        }
        Ok(open.as_ref().map(|(store, _)| Arc::clone(store)))
    }

    /// The store, if it is already open.
    pub(crate) fn open_store_now(&self) -> Option<Arc<dyn Store>> {
        locked(&self.shared.open.store).as_ref().map(|(store, _)| Arc::clone(store))
    }

    /// Loads a stored text and verifies its hash.
    pub(crate) fn load(&self, hash: ContentHash) -> Loaded {
        self.open_store_now().map_or(Loaded::Missing, |store| store.objects().load(hash))
    }

    /// The same, without the reason why there is none.
    pub(crate) fn stored(&self, hash: ContentHash) -> Option<Text> {
        match self.load(hash) {
            Loaded::Text(text) => Some(text),
            Loaded::Missing | Loaded::Damaged => None,
        }
    }
}
