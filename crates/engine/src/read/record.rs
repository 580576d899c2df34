//! The only writer of objects and logs for reads: stores the text and appends what was shown.

use readproof_core::{
    decide::{Mode, Reason},
    limits::Limits,
    meta::MetaV1,
    render::{self, Shown},
};
use readproof_disk::{SessionName, Snapshot};
use readproof_hosts::session::{Answered, Mark, SessionError};

use super::{knowledge::CallContext, target::ResolvedTarget};
use crate::{
    Conversation, Engine, Error, Notice,
    door::{Answer, Receipt},
};

/// An answer that is about to be sent.
#[derive(Clone, Copy)]
pub struct PendingAnswer<'a> {
    /// The file and lines.
    pub target: &'a ResolvedTarget,
    /// The text it was made from.
    pub snapshot: &'a Snapshot,
    /// What it shows.
    pub shown: &'a Shown<'a>,
    /// The limits it was made under.
    pub limits: Limits,
    /// The state of the session's log when the answer was decided.
    pub(crate) mark: Option<Mark>,
}

/// Whether an answer may be sent.
pub enum Recorded<G> {
    /// No: the branch it relies on has moved. Decide again.
    Moved,
    /// Yes, together with this.
    Done(G),
}

impl PendingAnswer<'_> {
    /// What the caller gets, but for the text itself.
    pub(crate) fn answer<G>(
        &self,
        context: CallContext,
        given: G,
        says: impl Fn(&render::Notice) -> bool,
    ) -> Answer<G> {
        let shown = self.shown;
        let instead = self.target.instead_of.clone().map(Notice::InsteadOf);
        let said = shown.notices().iter().filter(|notice| says(notice)).cloned().map(Notice::Shown).chain(instead);
        Answer {
            text: String::new(),
            notices: said.chain(context.notices).collect(),
            path: self.target.file.key().to_string(),
            mode: shown.mode(),
            reason: shown.reason(),
            scope: shown.scope(),
            lines: shown.window().lines(),
            pieces: shown.pieces().to_vec(),
            end: shown.shows_end(),
            next: shown.window().next().filter(|_| shown.mode() != Mode::Diff),
            reduced: self.target.reduced,
            total_lines: shown.version().total,
            plain_bytes: shown.window().bytes() as u64,
            // The hash of decoded text is of no use to anyone who has the file.
            meta: MetaV1::of(shown, &self.target.file.absolute(), self.snapshot.text.as_str().len() as u64)
                .filter(|_| self.snapshot.view.is_none()),
            given,
        }
    }
}

impl Engine {
    /// What the caller gets, but for the text itself.
    pub(super) fn answered<C: Conversation>(
        &self,
        conversation: &C,
        pending: &PendingAnswer<'_>,
        (context, given): (CallContext, C::Given),
    ) -> Answer<C::Given> {
        self.notes_read(pending);
        let mut answer = pending.answer(context, given, |notice| conversation.says(notice));
        answer.notices.extend(self.take_notices());
        answer
    }

    /// Stores the text and appends the answer. If that fails, knowledge is lost, but the answer is still sent.
    pub(crate) fn record(&self, context: &mut CallContext, pending: &PendingAnswer<'_>) -> Recorded<Option<Receipt>> {
        let Some(name) = context.session.clone() else { return Recorded::Done(None) };
        if context.store_text
            && let Some(Err(error)) = self.open_store_now().map(|store| store.objects().put(&pending.snapshot.text))
        {
            context.not_stored(error);
        }
        let asked = (pending.target.offset, pending.target.limit);
        let rules = (self.shared.settings.answers, pending.limits);
        let answer = Answered::new(pending.target.file.key(), pending.shown, asked, rules, self.now());
        let answer = Answered { versions: context.others.newest, ..answer };
        let recorded = pending.mark.and_then(|mark| {
            self.with_open_session(&name, |session| {
                let entry = session.offer((context.call, context.stands), mark, answer);
                entry.map(|entry| (entry, session.log_id())).map_err(Error::from)
            })
        });
        match recorded.unwrap_or_else(|| Err(Error::NoSession(name.clone()))) {
            Ok((entry, log)) => Recorded::Done(Some(Receipt { session: name, entry, log })),
            Err(Error::Session(SessionError::Moved)) => Recorded::Moved,
            Err(error) => {
                self.forget(context, &name, error);
                // A marker that cannot be recorded may not be given either: decide again, without the log.
                if pending.shown.mode().is_derived() { Recorded::Moved } else { Recorded::Done(None) }
            }
        }
    }

    /// The model is about to see text that its log does not know, so the log may not be relied on again, by anyone.
    pub(crate) fn forget(&self, context: &mut CallContext, name: &SessionName, error: Error) {
        context.session = None;
        context.plain = Some(if matches!(error, Error::Store(_)) { Reason::NoStore } else { Reason::NoLog });
        let notice = self.retire(name, error);
        context.notices.push(notice);
    }
}
