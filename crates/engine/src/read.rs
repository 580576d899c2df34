//! One read, from the path as written to the answer. Every stage is one line; what a stage does stands in the room it
//! names. The snapshot is the only read of the file: rendering, hashing and recording all borrow it. Anything uncertain
//! ends in plain text with a reason.

mod context;
mod echo;
mod piece;
mod place;
mod recent;
mod record;
mod talk;

pub(crate) use context::{Context, Held, loaded, not_stored};
pub use echo::{Echoed, EchoedStatus};
pub use piece::{End, Piece, PieceOf};
pub(crate) use place::Placed;
pub(crate) use recent::Recent;
pub(crate) use record::{Glimpse, Offer, Recorded};
pub(crate) use talk::{Own, Talk};

use readproof_core::{
    decide::{Base, Choice, Reason, decide},
    render::render,
};

use crate::{Answer, Cancelled, Engine, Error, Read, go_on};

/// How often a moving branch is followed before plain text is sent.
const ATTEMPTS: u32 = 3;

impl Engine {
    /// Answers one read with the least text that is needed.
    ///
    /// The answer is recorded before it is returned, and relied on only after [`Engine::delivered`].
    ///
    /// # Errors
    /// [`Error`] says what failed and what to do; nothing was recorded as shown.
    pub fn read(&mut self, request: &Read, cancelled: Cancelled<'_>) -> Result<Answer, Error> {
        self.read_in(&mut Own::default(), request, cancelled)
    }

    /// The same in whatever conversation.
    pub(crate) fn read_in(
        &mut self,
        talk: &mut impl Talk,
        request: &Read,
        cancelled: Cancelled<'_>,
    ) -> Result<Answer, Error> {
        // hosts: where in the conversation this is asked
        talk.begin(self, request);
        // core: names worth trying → disk: the file inside the workspace
        let mut placed = self.place(&request.path, request.first(), request.limit)?;
        go_on(cancelled)?;
        // disk: the only read of the file
        let snapshot = self.look(&mut placed)?;
        go_on(cancelled)?;

        let limits = talk.limits(self, request);
        // core: which lines are meant, and which of them one plain answer shows
        placed.pick(&snapshot.text, &request.pick, &limits)?;
        let (now, path) = (&snapshot.text, placed.file.key());
        let ask = talk.ask(now, request, &placed, &limits).map_err(|source| placed.bad_range(source))?;
        // hosts: what may be relied on at all
        let (mut context, key) = (talk.context(self, request, &placed.file, &snapshot), talk.key(&placed.file));

        for attempt in 0.. {
            // hosts: what the model holds on its branch since the barrier
            let held = talk.held(self, &context, &key).add_up(talk, self, &context, (&key, now, &ask));
            // core: the base that allows → disk: its text, verified
            let choice =
                if attempt < ATTEMPTS { held.choose(&key, now, &ask) } else { Choice::None(Reason::BranchMoved) };
            let text = loaded(choice, |hash| talk.load(self, hash));
            go_on(cancelled)?;
            // core: pure and total
            let decision = decide(now, path, &ask, Base::of(choice, text.as_ref()), &limits);
            let shown = render(&decision, now, &ask);
            go_on(cancelled)?;
            // engine: store the text, append what was shown; refused when the branch moved meanwhile
            let offer = Offer { placed: &placed, snapshot: &snapshot, shown: &shown, limits, mark: held.mark };
            match talk.record(self, &mut context, &offer) {
                Recorded::Moved => {}
                Recorded::Done { receipt } => {
                    let (answer, text) = (self.telling(offer.answer(context, receipt)), shown.into_text());
                    return Ok(Answer { text: self.give(&placed, snapshot, text), ..answer });
                }
            }
        }
        Err(Error::Aborted)
    }
}
