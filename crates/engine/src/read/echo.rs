//! A read in a conversation of which nothing is seen but the calls themselves. What the model still sees is the caller's
//! word: it returns the handle of an earlier answer. Each call stands alone, or behind the answers that it names, as a branch
//! of the session's tree; so one log holds them all, and everything else is as in [`Engine::read`].

use readproof_core::{
    decide::{Mode, Reason},
    path::PathKey,
    render::Notice,
    scope::Lines,
    text::ContentHash,
    trailer::Trailer,
};
use readproof_disk::{Create, FileRef, Loaded, SessionName, Snapshot};
use readproof_hosts::session::{Call, EntryId, Stands};
use std::collections::BTreeMap;

use super::{Context, Held, Offer, Own, Recorded, Talk};
use crate::{Answer, Cancelled, Engine, Error, Read, Refreshed};

/// An answer and what to return to say that it is still seen.
#[derive(Debug)]
pub struct Echoed {
    /// The answer.
    pub answer: Answer,
    /// Names it, and the answers it builds on; none when it was not recorded, or may not be relied on.
    pub handle: Option<String>,
}

impl Echoed {
    /// The block of text; none where it would be empty or blank.
    #[must_use]
    pub fn block(&self) -> Option<&str> {
        Some(self.answer.text.as_str()).filter(|text| !text.trim().is_empty())
    }

    /// What stands behind the text. `asked_to` is the last line asked for, `go_on` the argument that a next call takes, `said`
    /// whatever the surface adds.
    #[must_use]
    pub fn trailer(&self, asked_to: Option<u64>, go_on: &str, said: &[String], handle: bool) -> String {
        let answer = &self.answer;
        let blank = is_blank(&answer.text).then(|| BLANK.to_owned());
        let notices: Vec<String> = said.iter().cloned().chain(blank).chain(answer.notices.iter().cloned()).collect();
        let trailer = Trailer {
            path: &answer.path,
            // A diff is of the whole file, whatever a plain answer would have shown of it.
            lines: if answer.mode == Mode::Diff { Lines::new(1, answer.total_lines) } else { answer.lines },
            total: answer.total_lines,
            beyond: asked_to.filter(|line| *line > u64::from(answer.total_lines)),
            next: answer.next.map(|line| (go_on, line)),
            notices: &notices,
            handle: self.handle.as_deref().filter(|_| handle),
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

impl Engine {
    /// Answers one read. `known` is the handle of an answer that the model still sees, by the caller's word. The request
    /// names the session: one for each conversation and context window, or handles would mean nothing.
    ///
    /// # Errors
    /// As [`Engine::read`].
    pub fn read_echoed(
        &mut self,
        request: &Read,
        known: Option<&str>,
        cancelled: Cancelled<'_>,
    ) -> Result<Echoed, Error> {
        let mut echo = Echo { own: Own::default(), known, answer: None, handle: None, goes_on: Vec::new() };
        let mut answer = self.read_in(&mut echo, request, cancelled)?;
        // The trailer says it by numbers.
        answer.notices.retain(|notice| !echo.goes_on.contains(notice));
        Ok(Echoed { answer, handle: echo.handle })
    }

    /// As [`Engine::refresh`]: no handle given so far stands for this file any more.
    ///
    /// # Errors
    /// As [`Engine::refresh`]. That nothing was read yet is none.
    pub fn refresh_echoed(
        &mut self,
        path: &str,
        lines: (Option<u64>, Option<u64>),
        name: &SessionName,
    ) -> Result<Refreshed, Error> {
        let (placed, scope) = self.scope_of(path, lines.0, lines.1)?;
        let at = self.now();
        let known = self.session(name, Create::Yes)?.transcript().files();
        let names = self.names(&placed.file, known.into_iter());
        let paths: Vec<String> = names.iter().map(ToString::to_string).collect();
        let entry = self.session(name, Create::Yes)?.refresh(paths.clone(), scope, at)?;
        Ok(Refreshed { paths, scope, entry })
    }
}

/// How the reads of a conversation were answered.
#[derive(Clone, Debug, Default)]
pub struct EchoedStatus {
    /// Answers by decision.
    pub counts: BTreeMap<Mode, u64>,
    /// Bytes that plain answers would have had.
    pub plain_bytes: u64,
    /// Bytes that were sent.
    pub sent_bytes: u64,
}

impl Engine {
    /// How the reads of a conversation were answered.
    ///
    /// # Errors
    /// When there is no log of it yet, or it cannot be read.
    pub fn echoed_status(&mut self, name: &SessionName) -> Result<EchoedStatus, Error> {
        let mut status = EchoedStatus::default();
        for answer in self.session(name, Create::No)?.transcript().answered().filter(|answer| !answer.for_program) {
            status.plain_bytes += answer.plain_bytes;
            status.sent_bytes += answer.sent_bytes;
            if let Some(mode) = Mode::parse(&answer.mode) {
                *status.counts.entry(mode).or_default() += 1;
            }
        }
        Ok(status)
    }
}

/// One call.
struct Echo<'k> {
    own: Own,
    known: Option<&'k str>,
    /// The answer that `known` names.
    answer: Option<EntryId>,
    handle: Option<String>,
    /// How the answer says that there is more.
    goes_on: Vec<String>,
}

impl Echo<'_> {
    /// Stands behind what is known, or at the root; tells where that is, and why nothing is known, if so.
    fn stand(
        &mut self,
        engine: &mut Engine,
        name: &SessionName,
        key: &PathKey,
    ) -> Result<(Call, Option<Reason>), Error> {
        let at = engine.now();
        let session = engine.session(name, Create::Yes)?;
        self.answer = self.known.and_then(|known| session.named_by(known, key));
        session.stand_at(self.answer, at)?;
        let reason = match (self.known, self.answer) {
            (None, _) => Some(Reason::NoHandle),
            (Some(_), None) => Some(Reason::UnknownHandle),
            (Some(_), Some(_)) => None,
        };
        Ok((session.call(), reason))
    }

    /// Plain text stands alone, unless what is known is of the same text: then both add up.
    fn apart(&mut self, engine: &mut Engine, context: &mut Context, offer: &Offer<'_>) -> Result<(), Error> {
        let (Some(name), Some(answer)) = (&context.session, self.answer) else { return Ok(()) };
        let at = engine.now();
        let session = engine.session(name, Create::Yes)?;
        let (path, now) = (offer.placed.file.key(), offer.snapshot.text.hash());
        // What another process asks meanwhile moves the session, and this call is no longer in sight of it.
        let held = session.knowledge_at(context.call);
        let adds_up = held.is_some_and(|held| held.of(path).iter().any(|held| held.version().hash == now));
        if !adds_up || !session.has_room_after(answer) {
            session.stand_at(None, at)?;
            context.call = session.call();
            self.answer = None;
        }
        Ok(())
    }
}

/// What a trailer takes, about; a handle of many parts is the longest of it.
const TRAILER: usize = 500;

/// Whether the model may later say that it sees an answer: what goes to a program it does not.
fn may_be_relied_on(reason: Reason) -> bool {
    !matches!(reason, Reason::Sensitive | Reason::ForProgram)
}

impl Talk for Echo<'_> {
    fn begin(&mut self, _engine: &mut Engine, _request: &Read) {}

    fn key(&self, file: &FileRef) -> PathKey {
        self.own.key(file)
    }

    fn context(&mut self, engine: &mut Engine, request: &Read, file: &FileRef, read: &Snapshot) -> Context {
        let mut context = self.own.context(engine, request, file, read);
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

    fn held(&mut self, engine: &Engine, context: &Context, path: &PathKey) -> Held {
        self.own.held(engine, context, path)
    }

    fn load(&self, engine: &Engine, hash: ContentHash) -> Loaded {
        self.own.load(engine, hash)
    }

    fn record(&mut self, engine: &mut Engine, context: &mut Context, offer: &Offer<'_>) -> Recorded {
        let mut offer = *offer;
        let goes_on = |notice: &&Notice| matches!(notice, Notice::Cut { .. } | Notice::GoOn { .. });
        self.goes_on = offer.shown.notices().iter().filter(goes_on).map(ToString::to_string).collect();
        if !offer.shown.mode().is_derived() {
            if let (Some(name), Err(error)) = (context.session.clone(), self.apart(engine, context, &offer)) {
                engine.forget(context, &name, &error);
            }
            offer.mark = context.session.as_ref().and_then(|name| engine.mark(name));
        }
        let recorded = self.own.record(engine, context, &offer);
        self.handle = match &recorded {
            Recorded::Done { receipt: Some(receipt) }
                if may_be_relied_on(offer.shown.reason()) && !is_blank(offer.shown.text()) =>
            {
                match offer.shown.mode() {
                    // What it says is as it was shown before.
                    Mode::Unchanged | Mode::UnchangedRange => {
                        self.answer.and_then(|answer| engine.handle(&receipt.session, answer))
                    }
                    // The host may cut a longer one, and the model would not know.
                    Mode::Full | Mode::Diff | Mode::BaselineFallback
                        if offer.shown.text().len() + TRAILER > engine.settings.handle_bytes as usize =>
                    {
                        None
                    }
                    Mode::Full | Mode::Diff | Mode::BaselineFallback => engine.handle(&receipt.session, receipt.entry),
                }
            }
            Recorded::Done { .. } | Recorded::Moved => None,
        };
        recorded
    }
}
