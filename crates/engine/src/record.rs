//! The only writer of objects and logs for reads: stores the text, appends what was shown, confirms what was delivered.

use readproof_core::{meta::MetaV1, render::Shown};
use readproof_disk::{Create, SessionName, Snapshot};
use readproof_hosts::own::{Answered, EntryId, Mark, Session, SessionError};

use crate::{Answer, Engine, Error, Receipt, context::Context, place::Placed};

/// An answer about to be given.
pub(crate) struct Offer<'a> {
    pub(crate) placed: &'a Placed,
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) shown: &'a Shown,
    pub(crate) mark: Option<Mark>,
}

/// What became of it.
pub(crate) enum Recorded {
    /// It relied on a branch that has moved.
    Moved,
    /// It may be given.
    Done { receipt: Option<Receipt>, notices: Vec<String> },
}

impl Offer<'_> {
    pub(crate) fn answer(&self, first: Vec<String>, then: Vec<String>, receipt: Option<Receipt>) -> Answer {
        let shown = self.shown;
        let said = shown.notices().iter().map(ToString::to_string);
        Answer {
            text: shown.text().to_owned(),
            notices: said.chain(first).chain(then).collect(),
            path: self.placed.file.key().to_string(),
            mode: shown.mode(),
            reason: shown.reason(),
            scope: shown.scope(),
            lines: shown.window().lines(),
            cut: shown.window().is_cut() && shown.scope() == shown.window().scope(),
            plain_bytes: shown.window().bytes() as u64,
            meta: MetaV1::of(shown, &self.placed.file.absolute(), self.snapshot.text.as_str().len() as u64),
            receipt,
        }
    }
}

impl Engine {
    /// Stores the text and appends the answer. What cannot be stored or appended costs knowledge, never the answer.
    pub(crate) fn record(&mut self, context: &Context, offer: &Offer<'_>) -> Recorded {
        let mut notices = Vec::new();
        let Some(name) = &context.session else { return Recorded::Done { receipt: None, notices } };
        let Some(mark) = offer.mark else {
            notices.push(format!("nothing is remembered of this answer: the log of session {name} cannot be read"));
            self.retire(name, &mut notices);
            return Recorded::Done { receipt: None, notices };
        };
        if context.store_text
            && let Some(Err(error)) = self.store.as_ref().map(|store| store.objects().put(&offer.snapshot.text))
        {
            notices.push(format!("this text was not stored, so a later change is sent as plain text: {error}"));
        }
        let asked = (offer.placed.offset, offer.placed.limit);
        let rules = (self.settings.answers, self.settings.limits);
        let answer = Answered::new(offer.placed.file.key(), offer.shown, asked, rules, self.now());
        match self.sessions.get_mut(name).map(|session| session.offer(mark, answer)) {
            Some(Ok(entry)) => {
                let receipt = Some(Receipt { session: name.clone(), entry });
                Recorded::Done { receipt, notices }
            }
            Some(Err(SessionError::Moved)) => Recorded::Moved,
            // A marker that could not be recorded may not be given either: decide again, without the log.
            Some(Err(_)) | None if offer.shown.mode().is_derived() => Recorded::Moved,
            Some(Err(error)) => {
                notices.push(format!("nothing is remembered of this answer: {error}"));
                self.retire(name, &mut notices);
                Recorded::Done { receipt: None, notices }
            }
            None => Recorded::Done { receipt: None, notices },
        }
    }

    /// The model is about to see text that its log does not know, so the log may not be relied on again.
    fn retire(&mut self, name: &SessionName, notices: &mut Vec<String>) {
        if let Some(Err(error)) = self.sessions.remove(name).map(Session::retire) {
            notices.push(format!("session {name} must not be used again: {error}"));
        }
    }

    /// Confirms that a result reached the model: from here on it is relied on.
    ///
    /// # Errors
    /// When the log cannot be written; then the result is never relied on, which is safe.
    pub fn delivered(&mut self, receipt: &Receipt) -> Result<EntryId, Error> {
        Ok(self.session(&receipt.session, Create::No)?.deliver(receipt.entry)?)
    }
}
