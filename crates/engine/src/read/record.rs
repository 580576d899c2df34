//! The only writer of objects and logs for reads: stores the text, appends what was shown, by whatever kind of answer, and
//! confirms what was delivered.

mod seen;

pub(crate) use seen::Glimpse;

use readproof_core::{
    decide::{Mode, Reason},
    limits::Limits,
    meta::MetaV1,
    render::Shown,
};
use readproof_disk::{Create, LogName, SessionName, Snapshot};
use readproof_hosts::own::{Answered, EntryId, Mark, SessionError};

use super::{context::Context, place::Placed};
use crate::{Answer, Engine, Error, Receipt};

/// An answer about to be given.
#[derive(Clone, Copy)]
pub(crate) struct Offer<'a> {
    pub(crate) placed: &'a Placed,
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) shown: &'a Shown<'a>,
    pub(crate) limits: Limits,
    pub(crate) mark: Option<Mark>,
}

/// What became of it.
pub(crate) enum Recorded {
    /// It relied on a branch that has moved.
    Moved,
    /// It may be given.
    Done { receipt: Option<Receipt> },
}

impl Offer<'_> {
    /// What the caller gets, but for the text itself.
    pub(crate) fn answer(&self, context: Context, receipt: Option<Receipt>) -> Answer {
        let shown = self.shown;
        let said = shown.notices().iter().map(ToString::to_string);
        Answer {
            text: String::new(),
            notices: said.chain(context.notices).collect(),
            path: self.placed.file.key().to_string(),
            mode: shown.mode(),
            reason: shown.reason(),
            scope: shown.scope(),
            lines: shown.window().lines(),
            end: shown.shows_end(),
            next: shown.window().next().filter(|_| shown.mode() != Mode::Diff),
            reduced: self.placed.reduced,
            total_lines: shown.version().total,
            plain_bytes: shown.window().bytes() as u64,
            meta: MetaV1::of(shown, &self.placed.file.absolute(), self.snapshot.text.as_str().len() as u64),
            receipt,
        }
    }
}

impl Engine {
    /// Stores the text and appends the answer. What cannot be stored or appended costs knowledge, never the answer.
    pub(crate) fn record(&mut self, context: &mut Context, offer: &Offer<'_>) -> Recorded {
        let Some(name) = context.session.clone() else { return Recorded::Done { receipt: None } };
        if context.store_text
            && let Some(Err(error)) = self.store.as_ref().map(|(store, _)| store.objects().put(&offer.snapshot.text))
        {
            context.not_stored(&error);
        }
        let asked = (offer.placed.offset, offer.placed.limit);
        let rules = (self.settings.answers, offer.limits);
        let answer = Answered::new(offer.placed.file.key(), offer.shown, asked, rules, self.now());
        let offered = match (self.sessions.get_mut(&name), offer.mark) {
            (Some(session), Some(mark)) => {
                let entry = session.offer((context.call, context.stands), mark, answer);
                entry.map(|entry| (entry, session.log_id())).map_err(Error::from)
            }
            (_, _) => Err(Error::NoSession(name.clone())),
        };
        match offered {
            Ok((entry, log)) => Recorded::Done { receipt: Some(Receipt { session: name, entry, log }) },
            Err(Error::Session(SessionError::Moved)) => Recorded::Moved,
            Err(error) => {
                self.forget(context, &name, &error);
                // A marker that cannot be recorded may not be given either: decide again, without the log.
                if offer.shown.mode().is_derived() { Recorded::Moved } else { Recorded::Done { receipt: None } }
            }
        }
    }

    /// The model is about to see text that its log does not know, so the log may not be relied on again, by anyone.
    pub(crate) fn forget(&mut self, context: &mut Context, name: &SessionName, error: &Error) {
        context.session = None;
        context.plain = Some(if matches!(error, Error::Store(_)) { Reason::NoStore } else { Reason::NoLog });
        let notice = self.retire(name, error);
        context.notices.push(notice);
    }

    /// Puts aside the log of a session that missed what the model is about to see; gives what to say of it.
    pub(crate) fn retire(&mut self, name: &SessionName, error: &Error) -> String {
        self.sessions.remove(name);
        // It may have been removed or made anew: look again next time.
        self.store = None;
        let then = match self.stores.retire(&LogName::from(name)) {
            Ok(Some(kept)) => format!("; its log is kept as .readproof/log/{kept} and the session begins anew"),
            Ok(None) => String::new(),
            Err(error) => {
                self.behind.insert(name.clone());
                format!("; use another session than {name}, as its log cannot be put aside ({error})")
            }
        };
        format!("nothing is remembered of this answer: {error}{then}")
    }

    /// The same answer with what was to be said beside the next one.
    pub(crate) fn telling(&mut self, mut answer: Answer) -> Answer {
        answer.notices.append(&mut self.told);
        answer
    }

    /// Confirms that a result reached the model: from here on it is relied on.
    ///
    /// # Errors
    /// When the log cannot be written; then the result is never relied on, which is safe.
    pub fn delivered(&mut self, receipt: &Receipt) -> Result<EntryId, Error> {
        // Appending catches up by itself; only where that fails it is worth to open the log anew.
        if let Some(session) = self.sessions.get_mut(&receipt.session)
            && session.log_id() == receipt.log
            && let Ok(entry) = session.deliver(receipt.entry)
        {
            return Ok(entry);
        }
        let session = self.session(&receipt.session, Create::No)?;
        if session.log_id() != receipt.log {
            return Err(SessionError::OtherLog(receipt.session.clone()).into());
        }
        Ok(session.deliver(receipt.entry)?)
    }
}
