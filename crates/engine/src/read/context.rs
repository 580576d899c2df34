//! What may be relied on for one request: the session and what it proves, or the reason why nothing is.

use readproof_core::{
    alike::alike,
    decide::{Ask, Base, Choice, Reason, choose_base},
    knowledge::{Alike, Event, Knowledge},
    limits::Answers,
    path::PathKey,
    text::{ContentHash, Text},
};
use readproof_disk::{Create, FileRef, Loaded, LogName, PutAside, SessionName, Snapshot, Store, StoreError};
use readproof_hosts::own::{Call, EntryId, Focus, Found, Mark, Session, Sha, Stands};

use super::Talk;
use crate::{Audience, Engine, Error, Freshness, Read};

/// One request's view of its conversation.
pub(crate) struct Context {
    /// The session that records the answer, if any.
    pub(crate) session: Option<SessionName>,
    /// Where the call was made.
    pub(crate) call: Call,
    /// Where the answer stands.
    pub(crate) stands: Stands,
    /// Said beside the answer.
    pub(crate) notices: Vec<String>,
    /// Whether the text may be stored.
    pub(crate) store_text: bool,
    /// Why nothing is relied on, if so.
    pub(crate) plain: Option<Reason>,
}

impl Context {
    /// What the request and the file allow, whatever the conversation.
    pub(crate) fn of(engine: &Engine, request: &Read, file: &FileRef, read: &Snapshot) -> Self {
        let sensitive = engine.sensitive.is_sensitive_read(file, read);
        let plain = match (sensitive, request.audience, request.freshness) {
            (true, _, _) => Some(Reason::Sensitive),
            (_, Audience::Program, _) => Some(Reason::ForProgram),
            (_, _, Freshness::Fresh) => Some(Reason::Fresh),
            (false, Audience::Model, Freshness::Known) => None,
        };
        let (call, stands) = (Call::default(), Stands::default());
        Self { session: None, call, stands, notices: Vec::new(), store_text: !sensitive, plain }
    }

    /// Says that a text could not be stored. Where the branch moves it is not tried again, and so said once.
    pub(crate) fn not_stored(&mut self, error: &StoreError) {
        self.store_text = false;
        self.notices.push(not_stored(error));
    }
}

/// What is said when a text could not be stored.
pub(crate) fn not_stored(error: &StoreError) -> String {
    format!("this text was not stored, so a later change is sent as plain text: {error}")
}

/// The file that a path most likely means; whether it is that one is seen when it is found.
fn focus_of(path: &str) -> Focus {
    let name = path.rsplit('/').next().unwrap_or_default();
    let name = name.split(':').next().unwrap_or_default();
    if name.is_empty() { Focus::All } else { Focus::Named(name.to_owned()) }
}

/// What is held at the moment of the decision.
pub(crate) struct Held {
    pub(crate) mark: Option<Mark>,
    /// At the leaf, and where the call was made.
    knowledge: Result<(Knowledge, Knowledge), Reason>,
    answers: Answers,
}

impl Held {
    /// What is held where the call was made, which is where the conversation stands.
    pub(crate) fn at(knowledge: Result<Knowledge, Reason>, answers: Answers) -> Self {
        Self { mark: None, knowledge: knowledge.map(|held| (held.clone(), held)), answers }
    }

    /// The base that what is held allows.
    pub(crate) fn choose(&self, path: &PathKey, now: &Text, ask: &Ask) -> Choice {
        match &self.knowledge {
            Ok((leaf, call)) => {
                let choice = choose_base(leaf, path, now, ask, self.answers);
                // Neither may a result that came in since the call count, nor one that it contradicts.
                let before = choose_base(call, path, now, ask, self.answers);
                if choice == before { choice } else { Choice::None(Reason::BranchMoved) }
            }
            Err(reason) => Choice::None(*reason),
        }
    }
}

impl Held {
    /// The same, where lines of several texts add up.
    pub(crate) fn add_up(
        self,
        talk: &mut impl Talk,
        engine: &mut Engine,
        context: &Context,
        (path, now, ask): (&PathKey, &Text, &Ask),
    ) -> Self {
        talk.add_up(engine, context, path, now, ask, self)
    }

    /// The lines held of other texts that are the same in the present one, where only together they are what is asked for.
    fn alike(&self, path: &PathKey, now: &Text, ask: &Ask, load: impl Fn(ContentHash) -> Option<Text>) -> Vec<Alike> {
        let (Ok((leaf, _)), Some(lines)) = (&self.knowledge, ask.window.lines()) else { return Vec::new() };
        if self.answers == Answers::Seed || !leaf.is_mixed(path, lines) {
            return Vec::new();
        }
        let pieces = alike(leaf.of(path), now, load);
        let mut added = leaf.clone();
        let event = Event::Alike { path: path.clone(), version: now.version(), pieces: pieces.clone() };
        added.apply(0, &event, self.answers);
        if added.holds_lines_of(path, lines, now.hash(), self.answers) { pieces } else { Vec::new() }
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
    /// Loads the chosen base. Missing is data, not an error.
    pub(crate) fn of(choice: Choice, load: impl FnOnce(ContentHash) -> Loaded) -> Self {
        match choice {
            Choice::None(reason) => Self::None(reason),
            Choice::Same => Self::Same,
            Choice::Other { hash, whole } => match load(hash) {
                Loaded::Text(text) => Self::Text(text, whole),
                Loaded::Missing | Loaded::Damaged => Self::Missing(hash),
            },
        }
    }

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
    pub(crate) fn context(&mut self, request: &Read, call: Option<Call>, file: &FileRef, read: &Snapshot) -> Context {
        let mut context = Context { call: call.unwrap_or_default(), ..Context::of(self, request, file, read) };
        let Some(name) = &request.session else {
            context.plain = Some(Reason::NoTranscript);
            return context;
        };
        let whole = self.whole_session(name, file.key());
        let made = self.store(Create::Yes).map(drop).and(whole);
        // Where the call is known the session is open; what others appended since is met when the answer is offered.
        let now = call.map_or_else(|| self.session(name, Create::Yes).map(|session| session.call()), Ok);
        match made.and(now) {
            Ok(now) => {
                context.session = Some(name.clone());
                context.call = now;
            }
            Err(error) => self.forget(&mut context, name, &error),
        }
        context
    }

    /// Opens the session anew, with the answers of every file, where it was opened for another file than is meant.
    fn whole_session(&mut self, name: &SessionName, path: &PathKey) -> Result<(), Error> {
        if self.sessions.get(name).is_none_or(|session| session.covers(path)) {
            return Ok(());
        }
        self.sessions.remove(name);
        self.focus = Focus::All;
        self.session(name, Create::Yes).map(drop)
    }

    /// What is held on the session's branch, by everything that was appended when the context was opened, or when the
    /// last offer was refused. That nothing was appended since is found out when the answer is offered at this mark.
    pub(crate) fn held(&self, context: &Context, path: &PathKey) -> Held {
        let answers = self.settings.answers;
        let session = context.session.as_ref().and_then(|name| self.sessions.get(name));
        let mark = session.map(Session::mark);
        let knowledge = match (context.plain, session) {
            (Some(reason), _) => Err(reason),
            (None, None) => Err(Reason::NoTranscript),
            (None, Some(session)) => {
                let transcript = session.transcript();
                if transcript.is_distrusted() {
                    Err(Reason::HostAlters)
                } else if transcript.is_pending(path) {
                    Err(Reason::NotConfirmed)
                } else {
                    let at_call = session.knowledge_at(context.call).ok_or(Reason::BranchMoved);
                    at_call.map(|at_call| (transcript.knowledge(), at_call))
                }
            }
        };
        Held { mark, knowledge, answers }
    }

    /// What is held once lines of several texts that are the same in the present one count as its own. It is recorded, so
    /// that whoever derives what is held from the log finds the same.
    pub(crate) fn add_up(&mut self, context: &Context, path: &PathKey, now: &Text, ask: &Ask, held: Held) -> Held {
        let pieces = held.alike(path, now, ask, |hash| self.stored(hash));
        let (Some(name), Some(mark), false) = (&context.session, held.mark, pieces.is_empty()) else { return held };
        let said = pieces.iter().map(|piece| (Sha(piece.base), piece.first, piece.last)).collect();
        let version = (Sha(now.hash()), now.total());
        let found = Found { path: path.to_string(), version, pieces: said, at: self.now() };
        let event = found.event();
        let recorded = self.sessions.get_mut(name).map(|session| session.found_alike(mark, found));
        if !matches!(recorded, Some(Ok(()))) {
            // The branch moved, or the log cannot be written: without it the text is sent.
            return held;
        }
        let mut added = self.held(context, path);
        if let Ok((_, call)) = &mut added.knowledge {
            // It holds wherever it stands, so also where the call was made.
            call.apply(0, &event, self.settings.answers);
        }
        added
    }

    /// Where an open session stands.
    pub(crate) fn mark(&self, name: &SessionName) -> Option<Mark> {
        self.sessions.get(name).map(Session::mark)
    }

    /// The handle of an answer.
    pub(crate) fn handle(&self, name: &SessionName, answer: EntryId) -> Option<String> {
        self.sessions.get(name).and_then(|session| session.handle(answer))
    }

    /// Where a call that is made now is made; `None` when the session is yet to be made, or to be mended.
    pub(crate) fn call(&mut self, request: &Read) -> Option<Call> {
        let name = request.session.as_ref()?;
        if self.one_read {
            self.focus = focus_of(&request.path);
        }
        let session = self.session(name, Create::No).ok()?;
        (!session.transcript().is_empty()).then(|| session.call())
    }

    /// An open session, caught up.
    pub(crate) fn session(&mut self, name: &SessionName, create: Create) -> Result<&mut Session, Error> {
        if self.behind.contains(name) {
            // Its log may have become writable again, and it still does not know what the model saw meanwhile. Where the
            // store itself cannot be used, that is the error.
            self.store(create)?;
            self.stores.retire(&LogName::from(name))?;
            self.behind.remove(name);
        }
        if self.sessions.contains_key(name) {
            // A log that went bad under us is opened anew, so that the error is the log's own.
            if self.sessions.get_mut(name).is_none_or(|session| session.catch_up().is_err()) {
                self.sessions.remove(name);
            }
        }
        if !self.sessions.contains_key(name) {
            let (answers, focus) = (self.settings.answers, self.focus.clone());
            let Some(store) = self.store(create)? else { return Err(Error::NoSession(name.clone())) };
            let Some(session) = Session::open_for(store, name, create, answers, focus)? else {
                return Err(Error::NoSession(name.clone()));
            };
            self.sessions.insert(name.clone(), session);
        }
        let session = self.sessions.get_mut(name).ok_or_else(|| Error::NoSession(name.clone()))?;
        if create == Create::Yes && session.transcript().is_empty() {
            session.ensure_header((self.clock)())?;
        }
        Ok(session)
    }

    /// The store, opened on first use; made only when `create` says so.
    pub(crate) fn store(&mut self, create: Create) -> Result<Option<&dyn Store>, Error> {
        let is_open = match (&self.store, create) {
            (None, _) => false,
            (Some(_), Create::No) => true,
            // One that was only looked at may lack a part.
            (Some((_, opened)), Create::Yes) => *opened == Create::Yes,
        };
        if !is_open {
            let opened = self.stores.open(create)?;
            self.told.extend(opened.as_ref().and_then(|opened| opened.put_aside.as_ref()).map(put_aside));
            self.store = opened.map(|opened| (opened.store, create));
        }
        Ok(self.store.as_ref().map(|(store, _)| &**store))
    }
}

/// What is said when a store was put aside.
fn put_aside(PutAside { why, aside }: &PutAside) -> String {
    let what = "so nothing in it counts: it was put aside as";
    format!("the store `.readproof` {}, {what} `{aside}`, and a new one is begun", why.as_str())
}
