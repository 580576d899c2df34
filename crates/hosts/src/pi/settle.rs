//! What a session's entries do to what is known: pi's part of deriving. Lines are looked at only here, when a leaf
//! after them is asked about.

use super::{
    Source,
    fact::{ContextEdit, Fact},
    state::Holdings,
    transcript::{FactId, Transcript},
};
use crate::{
    derive::{Derive, DerivedOf, Effect, State},
    tree::At,
};

/// A transcript, and where its lines and the stored texts come from.
pub(super) struct Settling<'a> {
    pub(super) transcript: &'a mut Transcript,
    pub(super) source: &'a dyn Source,
}

impl Derive for Settling<'_> {
    type Entry = FactId;
    type Holdings = Holdings;
    /// An entry that was altered never counts again on that branch, whatever later edits say.
    type View = ();

    fn derived(&self) -> &DerivedOf<Self> {
        &self.transcript.derived
    }

    fn derived_mut(&mut self) -> &mut DerivedOf<Self> {
        &mut self.transcript.derived
    }

    fn read(&mut self, at: At) {
        self.transcript.read(at, self.source);
    }

    fn take(&mut self, at: At, state: &mut State<Holdings, ()>) -> Effect {
        match self.transcript.fact_of(at) {
            None | Some(Fact::Nothing | Fact::Noted(_) | Fact::ContextEdit(_)) => Effect::Nothing,
            Some(fact) => {
                let altered = !state.edits.is_empty() && state.edits.contains_key(&at);
                state.held.take(at, fact, altered);
                Effect::Changed
            }
        }
    }

    fn target(&self, at: At) -> Option<At> {
        let edit = ContextEdit::from_fact(self.transcript.fact_of(at)?)?;
        self.transcript.find_at(&edit.target)
    }

    fn view(&self, at: At, target: At, before: Option<&()>) -> Option<()> {
        ContextEdit::from_fact(self.transcript.fact_of(at)?)?;
        let fact = self.transcript.fact_of(target)?;
        (before.is_none() && fact.ends_with_an_edit()).then_some(())
    }
}
