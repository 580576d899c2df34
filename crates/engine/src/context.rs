//! What may be relied on for one request: the session and what it proves, or the reason why nothing is.

use readproof_core::{
    decide::{Ask, Base, Choice, Reason, choose_base},
    knowledge::Knowledge,
    limits::Answers,
    path::PathKey,
    text::{ContentHash, Text},
};
use readproof_disk::{Create, FileRef, Loaded, SessionName, Store};
use readproof_hosts::own::{Mark, Session};

use crate::{Audience, Engine, Error, Freshness, Read};

/// One request's view of its conversation.
pub(crate) struct Context {
    /// The session that records the answer, if any.
    pub(crate) session: Option<SessionName>,
    /// Said beside the answer.
    pub(crate) notices: Vec<String>,
    /// Whether the text may be stored.
    pub(crate) store_text: bool,
    /// Why nothing is relied on, if so.
    pub(crate) plain: Option<Reason>,
}

/// What is held at the moment of the decision.
pub(crate) struct Held {
    pub(crate) mark: Option<Mark>,
    knowledge: Result<Knowledge, Reason>,
    answers: Answers,
}

impl Held {
    /// The base that what is held allows.
    pub(crate) fn choose(&self, path: &PathKey, now: &Text, ask: &Ask) -> Choice {
        match &self.knowledge {
            Ok(knowledge) => choose_base(knowledge, path, now, ask, self.answers),
            Err(reason) => Choice::None(*reason),
        }
    }
}

/// A base as it came out of the store.
pub(crate) enum Fetched {
    None(Reason),
    Same,
    Missing(ContentHash),
    Text(Text, bool),
}

impl Fetched {
    pub(crate) fn base(&self) -> Base<'_> {
        match self {
            Self::None(reason) => Base::None(*reason),
            Self::Same => Base::Same,
            Self::Missing(hash) => Base::Missing(*hash),
            Self::Text(text, whole) => Base::Other { text, whole: *whole },
        }
    }
}

impl Engine {
    /// Opens what the request needs. A store or log that cannot be used costs the knowledge, never the text.
    pub(crate) fn context(&mut self, request: &Read, file: &FileRef) -> Context {
        let sensitive = self.sensitive.is_sensitive(&self.root, file);
        let mut context = Context { session: None, notices: Vec::new(), store_text: !sensitive, plain: None };
        let Some(name) = &request.session else {
            context.plain = Some(Reason::NoTranscript);
            return context;
        };
        match self.session(name, Create::Yes) {
            Ok(_) => context.session = Some(name.clone()),
            Err(error) => {
                self.forget(&mut context, name, &error);
                return context;
            }
        }
        context.plain = match (sensitive, request.audience, request.freshness) {
            (true, _, _) => Some(Reason::Sensitive),
            (_, Audience::Program, _) => Some(Reason::ForProgram),
            (_, _, Freshness::Fresh) => Some(Reason::Fresh),
            (false, Audience::Model, Freshness::Known) => None,
        };
        context
    }

    /// What is held right now on the session's branch, by everything any process appended so far.
    pub(crate) fn held(&mut self, context: &Context, path: &PathKey) -> Held {
        let answers = self.settings.answers;
        let session = context.session.as_ref().and_then(|name| self.sessions.get_mut(name));
        let caught_up = session.map(|session| session.catch_up().map(|()| &*session));
        let mark = caught_up.as_ref().and_then(|session| session.as_ref().ok()).map(|session| session.mark());
        let knowledge = match (context.plain, caught_up) {
            (Some(reason), _) => Err(reason),
            (None, None) => Err(Reason::NoTranscript),
            (None, Some(Err(_))) => Err(Reason::NoLog),
            (None, Some(Ok(session))) => {
                let transcript = session.transcript();
                if transcript.is_distrusted() {
                    Err(Reason::HostAlters)
                } else if transcript.is_pending(path) {
                    Err(Reason::NotConfirmed)
                } else {
                    Ok(transcript.knowledge())
                }
            }
        };
        Held { mark, knowledge, answers }
    }

    /// Loads the chosen base. Missing is data, not an error.
    pub(crate) fn fetch(&self, choice: Choice) -> Fetched {
        match choice {
            Choice::None(reason) => Fetched::None(reason),
            Choice::Same => Fetched::Same,
            Choice::Other { hash, whole } => match self.store.as_ref().map(|store| store.objects().load(hash)) {
                Some(Loaded::Text(text)) => Fetched::Text(text, whole),
                Some(Loaded::Missing | Loaded::Damaged) | None => Fetched::Missing(hash),
            },
        }
    }

    /// An open session, caught up.
    pub(crate) fn session(&mut self, name: &SessionName, create: Create) -> Result<&mut Session, Error> {
        let now = self.now();
        if self.sessions.contains_key(name) {
            // A log that went bad under us is opened anew, so that the error is the log's own.
            if self.sessions.get_mut(name).is_none_or(|session| session.catch_up().is_err()) {
                self.sessions.remove(name);
            }
        }
        if !self.sessions.contains_key(name) {
            let answers = self.settings.answers;
            let Some(store) = self.store(create)? else { return Err(Error::NoSession(name.clone())) };
            let Some(mut session) = Session::open(store, name, create, answers)? else {
                return Err(Error::NoSession(name.clone()));
            };
            if create == Create::Yes {
                session.ensure_header(now)?;
            }
            self.sessions.insert(name.clone(), session);
        }
        self.sessions.get_mut(name).ok_or_else(|| Error::NoSession(name.clone()))
    }

    /// The store, opened on first use; made only when `create` says so.
    pub(crate) fn store(&mut self, create: Create) -> Result<Option<&Store>, Error> {
        if self.store.is_none() {
            self.store = match create {
                Create::Yes => Some(Store::open(&self.root)?),
                Create::No => Store::open_existing(&self.root)?,
            };
        }
        Ok(self.store.as_ref())
    }
}
