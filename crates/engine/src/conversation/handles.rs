//! A conversation of which only the calls are visible. What the model still sees is the caller's claim: it passes back
//! the handle of an earlier answer. Each call is a branch of the session's tree, at the root or after the answers that
//! its handle names, so that one log holds all of them and everything else works as in a [`LoggedSession`].

use readproof_core::{
    decide::{Mode, Reason},
    knowledge::Naming,
    limits::Limits,
    operation::Read,
    path::PathKey,
    pick::Pick,
    render::{Notice, fence::FENCE_BYTES},
    scope::{Lines, Scope},
    text::ContentHash,
    trailer::Trailer,
};
use readproof_disk::{Create, FileRef, Loaded, SessionName, Snapshot};
use readproof_hosts::session::{Answered, Call, EntryId, Record, Session, Sha, Stands};

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Conversation, ConversationStatus, LoggedSession, NotOurs,
    session::{self, OfBranch},
};
use crate::{
    Engine, Error, RecentFile,
    door::{Answer, Receipt, Refreshed},
    read::{CallContext, KnowledgeAtCall, Others, PendingAnswer, Recorded},
};

/// Names an answer and those it builds on; `None` if the answer was not recorded or must not be relied on.
pub type Handle = Option<String>;

impl Answer<Handle> {
    /// The line after the text. `asked_to` is the last line asked for, `next_argument` the argument that the next call
    /// takes, `said` what the surface adds and then its words for the notices.
    #[must_use]
    pub fn trailer(
        &self,
        asked_to: Option<u64>,
        next_argument: &str,
        said: (&[String], &[String]),
        handle: bool,
    ) -> String {
        let blank = is_blank(&self.text).then(|| BLANK.to_owned());
        let notices: Vec<String> = said.0.iter().cloned().chain(blank).chain(said.1.iter().cloned()).collect();
        let trailer = Trailer {
            path: &self.path,
            // A diff is of the whole file, whatever a plain answer would have shown of it.
            lines: if self.mode == Mode::Diff { Lines::new(1, self.total_lines) } else { self.lines },
            total: self.total_lines,
            beyond: asked_to.filter(|line| *line > u64::from(self.total_lines)),
            next: self.next.map(|line| (next_argument, line)),
            // The hash of a secret tells something about it.
            of: self.meta.as_ref().filter(|_| self.reason != Reason::Sensitive).map(|meta| meta.served),
            notices: &notices,
            handle: self.given.as_deref().filter(|_| handle),
        };
        trailer.line()
    }
}

/// Replaces a blank text, because some hosts refuse a block without a visible character.
const BLANK: &str = "these lines are blank and not shown";

/// Whether a text is not empty but only white space.
fn is_blank(text: &str) -> bool {
    !text.is_empty() && text.trim().is_empty()
}

/// The conversation of one call. Each conversation and context window must have its own session, or handles would be
/// worthless.
#[derive(Clone, Debug, Default)]
pub struct HandleConversation {
    session: LoggedSession,
    /// The handle of an answer that, as the caller claims, the model still sees.
    known: Option<String>,
    /// The answer that `known` names.
    answer: Option<EntryId>,
    /// The host may cut results with more bytes.
    cut: Option<u32>,
    /// Whether no handle can exist, so that no text needs to be kept for one.
    without_handles: bool,
}

impl HandleConversation {
    /// A call in a session, if there is one, with a handle, if one was passed.
    #[must_use]
    pub fn new(session: Option<SessionName>, known: Option<&str>) -> Self {
        let (session, known) = (LoggedSession::named(session), known.map(str::to_owned));
        Self { session, known, ..Self::default() }
    }

    /// In a host that may cut results with more bytes: a default window fits, and a longer answer has no handle.
    #[must_use]
    pub fn cut_at(mut self, bytes: Option<u32>) -> Self {
        self.cut = bytes;
        self
    }

    /// In a host where no handle can exist.
    #[must_use]
    pub fn without_handles(mut self) -> Self {
        self.without_handles = true;
        self
    }

    /// Moves to the answer that the handle names, or to the root. Returns the place and, at the root, why nothing is
    /// known.
    fn stand(
        &mut self,
        engine: &Engine,
        (name, key): (&SessionName, &PathKey),
        (others, now): (&Others, ContentHash),
    ) -> Result<(Call, Option<Reason>), Error> {
        let at = engine.now();
        let known = self.known.as_deref();
        // Others gave the file a third text since one of these was shown.
        let is_overtaken = |session: &Session, entry: EntryId| {
            let shown = session.transcript().record(entry).and_then(Record::answered).and_then(|answer| answer.hash);
            shown.is_none_or(|Sha(shown)| others.made_third(session, entry, (shown, now)))
        };
        let (answer, call) = engine.with_session(name, Create::Yes, |session| {
            let answer = known.and_then(|known| session.named_by(known, key));
            let answer =
                answer.filter(|answer| !session.texts(*answer).iter().any(|text| is_overtaken(session, *text)));
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

    /// Puts a plain answer at the root, unless the known lines are of the same version of the file: then both add up.
    fn apart(&mut self, engine: &Engine, context: &mut CallContext, pending: &PendingAnswer<'_>) -> Result<(), Error> {
        let (Some(name), Some(answer)) = (&context.session, self.answer) else { return Ok(()) };
        let at = engine.now();
        let (path, now, call) = (pending.target.file.key(), pending.snapshot.text.hash(), context.call);
        let alone = engine.with_session(name, Create::Yes, |session| {
            // A concurrent call may have moved the session, and then this call's place is no longer on the branch.
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

    /// The most bytes of a text that may have a handle.
    fn most(&self, engine: &Engine) -> usize {
        let fence = engine.settings().fences.as_ref().map_or(0, |_| FENCE_BYTES);
        self.cut.unwrap_or(u32::MAX).min(engine.settings().handle_bytes).saturating_sub(TRAILER + fence) as usize
    }

    /// The handle of an answer that was recorded.
    fn handle(&self, engine: &Engine, receipt: &Receipt, pending: &PendingAnswer<'_>) -> Handle {
        let shown = pending.shown;
        if !may_be_relied_on(shown.reason()) || is_blank(shown.text()) {
            return None;
        }
        let handle = |answer: EntryId| engine.with_open_session(&receipt.session, |session| session.handle(answer));
        match shown.mode() {
            // Nothing new was shown, so the earlier handle stays valid.
            Mode::Unchanged | Mode::UnchangedRange => self.answer.and_then(handle).flatten(),
            // A host may cut a longer answer without telling the model.
            Mode::Full | Mode::Diff | Mode::Partial | Mode::BaselineFallback
                if shown.text().len() > self.most(engine) =>
            {
                None
            }
            Mode::Full | Mode::Diff | Mode::Partial | Mode::BaselineFallback => handle(receipt.entry).flatten(),
        }
    }
}

/// Approximate size of a trailer in bytes; most of it is a handle of many parts.
const TRAILER: u32 = 500;

/// Whether the model may later claim to see an answer. It does not see what goes to a program.
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

    fn limits(&self, engine: &Engine, read: &Read) -> Limits {
        let limits = self.session.limits(engine, read);
        let is_window = read.limit.is_none() && read.pick == Pick::Given && read.most == Some(engine.settings().window);
        let window = self.cut.filter(|_| is_window);
        let room = window.map_or(u32::MAX, |cut| cut.saturating_sub(TRAILER));
        Limits { answer_bytes: limits.answer_bytes.min(room), ..limits }
    }

    fn context(&mut self, engine: &Engine, read: &Read, file: &FileRef, snapshot: &Snapshot) -> CallContext {
        let mut context = self.session.context(engine, read, file, snapshot);
        context.store_text &= !self.without_handles;
        let Some(name) = context.session.clone() else { return context };
        match self.stand(engine, (&name, file.key()), (&context.others, snapshot.text.hash())) {
            Ok((call, reason)) => {
                context.plain = context.plain.or(reason);
                (context.call, context.stands) = (call, Stands::AfterCall);
            }
            Err(error) => engine.forget(&mut context, &name, error),
        }
        context
    }

    fn held(&mut self, engine: &Engine, context: &CallContext, path: &PathKey) -> KnowledgeAtCall {
        self.session.held(engine, context, path)
    }

    /// Only lines of the text that the handle is of: answers that it does not name may have shown others under the same numbers.
    fn naming(&self, engine: &Engine, read: &Read) -> Naming {
        let room = self.answer.and_then(|answer| {
            self.log().and_then(|name| engine.with_open_session(name, |session| session.has_room_after(answer)))
        });
        match self.session.naming(engine, read) {
            Naming::OfThisText | Naming::OfOtherTexts if room == Some(true) => Naming::OfThisText,
            Naming::Nothing | Naming::OfThisText | Naming::OfOtherTexts => Naming::Nothing,
        }
    }

    fn load(&self, engine: &Engine, hash: ContentHash) -> Loaded {
        self.session.load(engine, hash)
    }

    /// The trailer already says how to continue.
    fn says(&self, notice: &Notice) -> bool {
        !matches!(notice, Notice::Cut { .. } | Notice::GoOn { .. })
    }

    fn record(&mut self, engine: &Engine, context: &mut CallContext, pending: &PendingAnswer<'_>) -> Recorded<Handle> {
        let mut pending = *pending;
        if !pending.shown.mode().is_derived() {
            if let (Some(name), Err(error)) = (context.session.clone(), self.apart(engine, context, &pending)) {
                engine.forget(context, &name, error);
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

    /// Files of all branches, as each call has its own.
    fn known_files(&mut self, engine: &Engine) -> Result<Vec<PathKey>, Error> {
        let name = self.log().ok_or(Error::NoConversation)?;
        engine.with_session(name, Create::Yes, |session| session.transcript().files().into_iter().collect())
    }

    /// Of all branches, as each call has its own.
    fn last_texts(&mut self, engine: &Engine, paths: &BTreeSet<String>) -> BTreeMap<String, ContentHash> {
        let Some(name) = self.log() else { return BTreeMap::new() };
        engine.with_session(name, Create::No, |session| session.transcript().last_texts(paths)).unwrap_or_default()
    }

    fn recent(&mut self, engine: &Engine) -> Vec<RecentFile> {
        self.log().map(|name| session::recent(engine, name, OfBranch::No)).unwrap_or_default()
    }

    /// Invalidates all handles of this file. It is not an error if nothing was read yet.
    fn refresh(&mut self, engine: &Engine, names: Vec<PathKey>, scope: Scope) -> Result<Refreshed, Error> {
        session::refresh(engine, self.log().ok_or(Error::NoConversation)?, Create::Yes, &names, scope)
    }

    /// Counts every answer of the log; `None` if there is no log yet.
    fn status(&mut self, engine: &Engine) -> Result<Option<ConversationStatus>, Error> {
        let Some(name) = self.log() else { return Ok(None) };
        let counted = engine.with_session(name, Create::No, |session| {
            let mut status =
                ConversationStatus { name: Some(name.clone()), known: true, ..ConversationStatus::default() };
            let counts = |answer: &&Answered| !answer.for_program && engine.may_name(&answer.path);
            for answer in session.transcript().answered().filter(counts) {
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
