//! A conversation of which nothing is seen but the calls themselves. What the model still sees is the caller's word: it returns
//! the handle of an earlier answer. Each call is a branch of the session's tree, at the root or after the answers that its
//! handle names, so one log holds them all, and everything else is as in a [`LoggedSession`].

use readproof_core::{
    decide::{Mode, Reason},
    operation::Read,
    path::PathKey,
    render::Notice,
    scope::{Lines, Scope},
    text::ContentHash,
    trailer::Trailer,
};
use readproof_disk::{Create, FileRef, Loaded, SessionName, Snapshot};
use readproof_hosts::session::{Call, EntryId, Stands};

use super::{Conversation, ConversationStatus, LoggedSession, NotOurs, session};
use crate::{
    Engine, Error,
    outcome::{Answer, Receipt, Refreshed},
    read::{CallContext, KnowledgeAtCall, PendingAnswer, Recorded},
};

/// Names an answer and those it builds on; none when it was not recorded, or may not be relied on.
pub type Handle = Option<String>;

impl Answer<Handle> {
    /// The line after the text. `asked_to` is the last line asked for, `next_argument` the argument that the next call takes, `said`
    /// what the surface adds.
    #[must_use]
    pub fn trailer(&self, asked_to: Option<u64>, next_argument: &str, said: &[String], handle: bool) -> String {
        let blank = is_blank(&self.text).then(|| BLANK.to_owned());
        let notices: Vec<String> = said.iter().cloned().chain(blank).chain(self.notices.iter().cloned()).collect();
        let trailer = Trailer {
            path: &self.path,
            // A diff is of the whole file, whatever a plain answer would have shown of it.
            lines: if self.mode == Mode::Diff { Lines::new(1, self.total_lines) } else { self.lines },
            total: self.total_lines,
            beyond: asked_to.filter(|line| *line > u64::from(self.total_lines)),
            next: self.next.map(|line| (next_argument, line)),
            notices: &notices,
            handle: self.given.as_deref().filter(|_| handle),
        };
        trailer.line()
    }
}

/// What is said of lines that are not shown, as some hosts refuse a block without a visible character.
const BLANK: &str = "these lines are blank and not shown";

/// Whether a text has characters, and none that is visible.
fn is_blank(text: &str) -> bool {
    !text.is_empty() && text.trim().is_empty()
}

/// The conversation of one call. There is one session for each conversation and context window, or handles would mean nothing.
#[derive(Clone, Debug, Default)]
pub struct HandleConversation {
    session: LoggedSession,
    /// The handle of an answer that the model still sees, by the caller's word.
    known: Option<String>,
    /// The answer that `known` names.
    answer: Option<EntryId>,
}

impl HandleConversation {
    /// A call in this session, or in none, that returns this handle, or none.
    #[must_use]
    pub fn new(session: Option<SessionName>, known: Option<&str>) -> Self {
        Self { session: LoggedSession::named(session), known: known.map(str::to_owned), answer: None }
    }

    /// Stands after what is known, or at the root; says where that is and, if nothing is known, why.
    fn stand(&mut self, engine: &Engine, name: &SessionName, key: &PathKey) -> Result<(Call, Option<Reason>), Error> {
        let at = engine.now();
        let known = self.known.as_deref();
        let (answer, call) = engine.with_session(name, Create::Yes, |session| {
            let answer = known.and_then(|known| session.named_by(known, key));
            session.stand_at(answer, at).map(|()| (answer, session.call()))
        })??;
        self.answer = answer;
        let reason = match (known, answer) {
            (None, _) => Some(Reason::NoHandle),
            (Some(_), None) => Some(Reason::UnknownHandle),
            (Some(_), Some(_)) => None,
        };
        Ok((call, reason))
    }

    /// Plain text stands alone, unless what is known is of the same text: then both add up.
    fn apart(&mut self, engine: &Engine, context: &mut CallContext, pending: &PendingAnswer<'_>) -> Result<(), Error> {
        let (Some(name), Some(answer)) = (&context.session, self.answer) else { return Ok(()) };
        let at = engine.now();
        let (path, now, call) = (pending.target.file.key(), pending.snapshot.text.hash(), context.call);
        let alone = engine.with_session(name, Create::Yes, |session| {
            // What another call asks meanwhile moves the session, and this call is no longer in sight of it.
            let held = session.knowledge_at(call);
            let adds_up = held.is_some_and(|held| held.of(path).iter().any(|held| held.version().hash == now));
            if adds_up && session.has_room_after(answer) {
                return Ok(None);
            }
            session.stand_at(None, at).map(|()| Some(session.call()))
        })??;
        if let Some(call) = alone {
            context.call = call;
            self.answer = None;
        }
        Ok(())
    }

    /// The handle of an answer that was recorded.
    fn handle(&self, engine: &Engine, receipt: &Receipt, pending: &PendingAnswer<'_>) -> Handle {
        let shown = pending.shown;
        if !may_be_relied_on(shown.reason()) || is_blank(shown.text()) {
            return None;
        }
        let handle = |answer: EntryId| engine.with_open_session(&receipt.session, |session| session.handle(answer));
        match shown.mode() {
            // What it says is as it was shown before.
            Mode::Unchanged | Mode::UnchangedRange => self.answer.and_then(handle).flatten(),
            // The host may cut a longer one, and the model would not know.
            Mode::Full | Mode::Diff | Mode::BaselineFallback
                if shown.text().len() + TRAILER > engine.settings().handle_bytes as usize =>
            {
                None
            }
            Mode::Full | Mode::Diff | Mode::BaselineFallback => handle(receipt.entry).flatten(),
        }
    }
}

/// What a trailer takes, about; a handle of many parts is the longest of it.
const TRAILER: usize = 500;

/// Whether the model may later say that it sees an answer: what goes to a program it does not.
fn may_be_relied_on(reason: Reason) -> bool {
    !matches!(reason, Reason::Sensitive | Reason::ForProgram)
}

impl Conversation for HandleConversation {
    type Given = Handle;

    fn log(&self) -> Option<&SessionName> {
        self.session.log()
    }

    fn begin(&mut self, _engine: &Engine, _read: &Read) -> Option<NotOurs> {
        None
    }

    fn context(&mut self, engine: &Engine, read: &Read, file: &FileRef, snapshot: &Snapshot) -> CallContext {
        let mut context = self.session.context(engine, read, file, snapshot);
        let Some(name) = context.session.clone() else { return context };
        match self.stand(engine, &name, file.key()) {
            Ok((call, reason)) => {
                context.plain = context.plain.or(reason);
                (context.call, context.stands) = (call, Stands::AfterCall);
            }
            Err(error) => engine.forget(&mut context, &name, &error),
        }
        context
    }

    fn held(&mut self, engine: &Engine, context: &CallContext, path: &PathKey) -> KnowledgeAtCall {
        self.session.held(engine, context, path)
    }

    fn load(&self, engine: &Engine, hash: ContentHash) -> Loaded {
        self.session.load(engine, hash)
    }

    /// The trailer says how to go on.
    fn says(&self, notice: &Notice) -> bool {
        !matches!(notice, Notice::Cut { .. } | Notice::GoOn { .. })
    }

    fn record(&mut self, engine: &Engine, context: &mut CallContext, pending: &PendingAnswer<'_>) -> Recorded<Handle> {
        let mut pending = *pending;
        if !pending.shown.mode().is_derived() {
            if let (Some(name), Err(error)) = (context.session.clone(), self.apart(engine, context, &pending)) {
                engine.forget(context, &name, &error);
            }
            pending.mark = context.session.as_ref().and_then(|name| engine.mark(name));
        }
        match self.session.record(engine, context, &pending) {
            Recorded::Moved => Recorded::Moved,
            Recorded::Done(receipt) => {
                Recorded::Done(receipt.and_then(|receipt| self.handle(engine, &receipt, &pending)))
            }
        }
    }

    /// Whatever was read or written, on whatever branch: each call stands on one of its own.
    fn known_files(&mut self, engine: &Engine) -> Result<Vec<PathKey>, Error> {
        let name = self.log().ok_or(Error::NoConversation)?;
        engine.with_session(name, Create::Yes, |session| session.transcript().files().into_iter().collect())
    }

    /// No handle given so far stands for this file any more. That nothing was read yet is no error.
    fn refresh(&mut self, engine: &Engine, names: Vec<PathKey>, scope: Scope) -> Result<Refreshed, Error> {
        session::refresh(engine, self.log().ok_or(Error::NoConversation)?, Create::Yes, &names, scope)
    }

    /// Every answer of the log; where it has none yet, nothing was read.
    fn status(&mut self, engine: &Engine) -> Result<Option<ConversationStatus>, Error> {
        let Some(name) = self.log() else { return Ok(None) };
        let counted = engine.with_session(name, Create::No, |session| {
            let mut status =
                ConversationStatus { name: Some(name.clone()), known: true, ..ConversationStatus::default() };
            for answer in session.transcript().answered().filter(|answer| !answer.for_program) {
                status.plain_bytes += answer.plain_bytes;
                status.sent_bytes += answer.sent_bytes;
                if let Some(mode) = Mode::parse(&answer.mode) {
                    *status.counts.entry(mode).or_default() += 1;
                }
            }
            status.saved_bytes = status.plain_bytes.cast_signed() - status.sent_bytes.cast_signed();
            status
        });
        Ok(counted.ok())
    }
}
