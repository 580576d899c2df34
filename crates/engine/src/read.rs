//! One read, from the path as written to the answer. Each stage is one call, and its comment names the crate that does
//! the work. The snapshot is the only read of the file: rendering, hashing and recording all borrow it. Anything
//! uncertain ends in plain text with a reason.

mod end;
mod knowledge;
mod recent;
mod record;
mod seen;
mod target;

pub use end::EndOfFile;
pub use knowledge::{CallContext, KnowledgeAtCall};
pub use record::{PendingAnswer, Recorded};
pub use target::ResolvedTarget;
pub(crate) use {end::end_in, knowledge::Others, recent::Recent, seen::Glimpse};

use knowledge::loaded;
use readproof_core::{
    decide::{Base, Choice, Reason, decide},
    operation::Read,
    render::{Shown, render},
};

use crate::{Control, Conversation, Engine, Error, door::Reading};

/// How often the decision is made anew because the branch moved, before plain text is sent.
const ATTEMPTS: u32 = 3;

impl Engine {
    /// Answers one read with the least text needed; `None`, and nothing is recorded, if nobody wants that answer.
    pub(crate) fn read_if<C: Conversation>(
        &self,
        conversation: &mut C,
        read: &Read,
        control: &Control<'_>,
        is_wanted: impl Fn(&Shown<'_>) -> bool,
    ) -> Result<Option<Reading<C::Given>>, Error> {
        // hosts: where in the conversation this read is made
        if let Some(declined) = conversation.begin(self, read) {
            return Ok(Some(Reading::NotOurs(declined)));
        }
        // core: candidate names → disk: the file inside the workspace
        let mut target = self.resolve_or_suffix(read, control)?;
        control.check_cancelled()?;
        // disk: the only read of the file
        let mut snapshot = self.look_or_view(&mut target, read.decoding, control)?;
        control.check_cancelled()?;
        if let Some(declined) = conversation.declines(self, &target.file, &mut snapshot) {
            return Ok(Some(Reading::NotOurs(declined)));
        }
        let limits = conversation.limits(self, read);
        // core: which lines are meant, and which of them one plain answer would show
        target.pick(&snapshot.text, read, &limits)?;
        let (now, path, key) = (&snapshot.text, target.file.key(), conversation.key(&target.file));
        let ask = conversation.ask(now, read, &target, &limits).map_err(|source| target.bad_range(source))?;
        self.notes_page(&*conversation, read, &target);
        // hosts: whether anything may be relied on
        let mut context = conversation.context(self, read, &target.file, &snapshot);
        self.leave_view_out(conversation.log(), &mut context, (&target, &snapshot));
        for attempt in 0.. {
            // hosts: what the model holds on this branch since the last barrier
            let held = conversation.held(self, &context, &key);
            let held = conversation.add_up(self, &context, (&key, now, &ask), held);
            // core: the base that this allows → disk: its text, verified
            let choice =
                if attempt < ATTEMPTS { held.choose(&key, now, &ask) } else { Choice::None(Reason::BranchMoved) };
            let text = loaded(choice, |hash| conversation.load(self, hash));
            control.check_cancelled()?;
            // core: the decision, which is pure and cannot fail; where it is plain text, held lines may be named
            let decision = decide(now, path, &ask, Base::of(choice, text.as_ref()), &limits);
            let decision = held.or_partial(decision, (self, &*conversation), read, (&key, now, &ask), &limits);
            let shown = render(&decision, now, &ask);
            control.check_cancelled()?;
            if !is_wanted(&shown) {
                break;
            }
            // engine: store the text and append what was shown; refused if the branch has moved since
            let pending =
                PendingAnswer { target: &target, snapshot: &snapshot, shown: &shown, limits, mark: held.mark };
            if let Recorded::Done(given) = conversation.record(self, &mut context, &pending) {
                let mut answer = self.answered(&*conversation, &pending, (context, given));
                let text = shown.into_text();
                answer.text = self.give(&target, snapshot, text);
                return Ok(Some(Reading::Answer(Box::new(answer))));
            }
        }
        Ok(None)
    }
}
