//! What is open while the program runs, shared by threads: the store and the sessions. One lock per conversation, held for one
//! step of a call and never while a workspace file is looked at; the branch may move between two steps, which the log finds
//! out when the answer is recorded.

use readproof_core::{path::PathKey, text::ContentHash, text::Text};
use readproof_disk::{Create, Loaded, LogName, PutAside, SessionName, Store};
use readproof_hosts::session::{Focus, Session};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::{Engine, Error};

/// The store and the sessions.
#[derive(Default)]
pub(crate) struct Open {
    /// The store once it is open, and whether its missing parts were made.
    store: Mutex<Option<(Arc<dyn Store>, Create)>>,
    sessions: Mutex<BTreeMap<SessionName, Arc<Mutex<Slot>>>>,
}

/// One conversation's place.
#[derive(Default)]
struct Slot {
    session: Option<Session>,
    /// Its log missed an answer and could not be put aside: not used until that is done.
    missed_answer: bool,
}

/// A lock that outlives a thread that panicked: what it guards is checked against the log anyway.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Open {
    fn slot(&self, name: &SessionName) -> Arc<Mutex<Slot>> {
        Arc::clone(locked(&self.sessions).entry(name.clone()).or_default())
    }
}

impl Engine {
    /// Does something with a session, caught up with its log.
    pub(crate) fn with_session<T>(
        &self,
        name: &SessionName,
        create: Create,
        work: impl FnOnce(&mut Session) -> T,
    ) -> Result<T, Error> {
        self.with_session_of(name, create, Focus::All, work)
    }

    /// The same; where the session is not open yet, only the answers of some files are read.
    pub(crate) fn with_session_of<T>(
        &self,
        name: &SessionName,
        create: Create,
        focus: Focus,
        work: impl FnOnce(&mut Session) -> T,
    ) -> Result<T, Error> {
        let slot = self.open.slot(name);
        let mut slot = locked(&slot);
        if slot.missed_answer {
            // Its log may have become writable again, and it still does not know what the model saw meanwhile. Where the
            // store itself cannot be used, that is the error.
            self.store(create)?;
            self.stores.retire(&LogName::from(name))?;
            slot.missed_answer = false;
        }
        // A log that went bad under us is opened anew, so that the error is the log's own.
        if slot.session.as_mut().is_some_and(|session| session.catch_up().is_err()) {
            slot.session = None;
        }
        if slot.session.is_none() {
            let no_session = || Error::NoSession(name.clone());
            let store = self.store(create)?.ok_or_else(no_session)?;
            let opened = Session::open_for(&*store, name, create, self.settings.answers, focus)?;
            slot.session = Some(opened.ok_or_else(no_session)?);
        }
        let session = slot.session.as_mut().ok_or_else(|| Error::NoSession(name.clone()))?;
        if create == Create::Yes && session.transcript().is_empty() {
            session.ensure_header(self.now())?;
        }
        Ok(work(session))
    }

    /// Does something with a session as it was caught up last; `None` if it is not open.
    pub(crate) fn with_open_session<T>(&self, name: &SessionName, work: impl FnOnce(&mut Session) -> T) -> Option<T> {
        locked(&self.open.slot(name)).session.as_mut().map(work)
    }

    /// Opens a session again, with the answers of every file, if it was opened for another file than `path`.
    pub(crate) fn cover(&self, name: &SessionName, path: &PathKey) -> Result<(), Error> {
        let slot = self.open.slot(name);
        if locked(&slot).session.as_ref().is_none_or(|session| session.covers(path)) {
            return Ok(());
        }
        locked(&slot).session = None;
        self.with_session(name, Create::Yes, |_| ())
    }

    /// Keeps a session that was just made.
    pub(crate) fn keep_session(&self, name: &SessionName, session: Session) {
        locked(&self.open.slot(name)).session = Some(session);
    }

    /// Puts aside the log of a session that missed what the model is about to see; gives what to say of it.
    pub(crate) fn retire(&self, name: &SessionName, error: &Error) -> String {
        let slot = self.open.slot(name);
        let mut slot = locked(&slot);
        slot.session = None;
        // The store may have been removed or made anew: look again next time.
        *locked(&self.open.store) = None;
        let then = match self.stores.retire(&LogName::from(name)) {
            Ok(Some(kept)) => format!("; its log is kept as .readproof/log/{kept} and the session begins anew"),
            Ok(None) => String::new(),
            Err(error) => {
                slot.missed_answer = true;
                format!("; use another session than {name}, as its log cannot be put aside ({error})")
            }
        };
        format!("nothing is remembered of this answer: {error}{then}")
    }

    /// The store, opened on first use; made only if `create` says so.
    pub(crate) fn store(&self, create: Create) -> Result<Option<Arc<dyn Store>>, Error> {
        let mut open = locked(&self.open.store);
        let is_open = match (&*open, create) {
            (None, _) => false,
            (Some(_), Create::No) => true,
            // One that was only looked at may lack a part.
            (Some((_, opened)), Create::Yes) => *opened == Create::Yes,
        };
        if !is_open {
            let opened = self.stores.open(create)?;
            if let Some(aside) = opened.as_ref().and_then(|opened| opened.put_aside.as_ref()) {
                self.add_notice(put_aside(aside));
            }
            *open = opened.map(|opened| (opened.store, create));
        }
        Ok(open.as_ref().map(|(store, _)| Arc::clone(store)))
    }

    /// The store if it is open already.
    pub(crate) fn open_store_now(&self) -> Option<Arc<dyn Store>> {
        locked(&self.open.store).as_ref().map(|(store, _)| Arc::clone(store))
    }

    /// A stored text, verified.
    pub(crate) fn load(&self, hash: ContentHash) -> Loaded {
        self.open_store_now().map_or(Loaded::Missing, |store| store.objects().load(hash))
    }

    /// The same where only the text matters.
    pub(crate) fn stored(&self, hash: ContentHash) -> Option<Text> {
        match self.load(hash) {
            Loaded::Text(text) => Some(text),
            Loaded::Missing | Loaded::Damaged => None,
        }
    }
}

/// What is said when a store was put aside.
fn put_aside(PutAside { why, aside }: &PutAside) -> String {
    let what = "so nothing in it counts: it was put aside as";
    format!("the store `.readproof` {}, {what} `{aside}`, and a new one is begun", why.as_str())
}
