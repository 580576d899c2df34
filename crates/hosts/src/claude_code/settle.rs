//! This host's part of deriving: messages are read, verified and taken in only when a call after them is asked about.

use readproof_core::text::ContentHash;
use std::collections::BTreeMap;

use super::{
    Source,
    line::Id,
    message::Part,
    request::Node,
    state::{Holdings, Step},
    transcript::{Epoch, Transcript},
};
use crate::{
    derive::{Derive, DerivedOf, Effect, State},
    json::fields_of_each,
    json::text,
    tree::At,
};

/// A transcript, where its lines come from, and the messages that were read and not yet taken in.
pub(super) struct Settling<'a> {
    pub(super) transcript: &'a mut Transcript,
    pub(super) source: &'a dyn Source,
    pub(super) read: BTreeMap<At, Option<Vec<Part>>>,
}

impl Derive for Settling<'_> {
    type Entry = Node;
    type Holdings = Holdings;
    /// What was sent never changes.
    type View = ();

    fn derived(&self) -> &DerivedOf<Self> {
        &self.transcript.requests.derived
    }

    fn derived_mut(&mut self) -> &mut DerivedOf<Self> {
        &mut self.transcript.requests.derived
    }

    fn read(&mut self, at: At) {
        let Some(hash) = self.derived().tree().get(at).and_then(|node| node.message) else { return };
        let parts = self.transcript.verified(hash, self.source);
        self.read.insert(at, parts);
    }

    fn take(&mut self, at: At, state: &mut State<Holdings, ()>) -> Effect {
        let Some(Node { epoch, message: Some(hash) }) = self.derived().tree().get(at).copied() else {
            return Effect::Nothing;
        };
        let parts = self.read.remove(&at).unwrap_or_else(|| self.transcript.verified(hash, self.source));
        let held = &mut state.held;
        let Some(parts) = parts else {
            held.unverified = true;
            return Effect::Changed;
        };
        let mut step = Step { transcript: self.transcript, source: self.source, epoch, at, held };
        for part in parts {
            step.take(part);
        }
        Effect::Changed
    }

    fn target(&self, _at: At) -> Option<At> {
        None
    }

    fn view(&self, _at: At, _target: At, _before: Option<&()>) -> Option<()> {
        None
    }
}

impl Transcript {
    /// The attachments of an epoch that were shown as this text.
    pub(super) fn attachments(&mut self, epoch: Epoch, said: &str, source: &dyn Source) -> Vec<usize> {
        for at in self.requests.looked_at..self.attached.len() {
            let attached = &self.attached[at];
            let rendered = attached.rendered.get(source).filter(|_| attached.counts);
            let pieces = rendered.as_deref().and_then(|raw| fields_of_each(raw, &["content"])).unwrap_or_default();
            for content in pieces.into_iter().filter_map(|[content]| text(content?)) {
                let key = (attached.epoch, hash_of(&content));
                self.requests.rendered.entry(key).or_default().push(at);
            }
        }
        self.requests.looked_at = self.attached.len();
        self.requests.rendered.get(&(epoch, hash_of(said))).cloned().unwrap_or_default()
    }

    /// The epoch and the request of a call.
    pub(super) fn request_of(&self, call: &str) -> Option<(Epoch, Option<Id>)> {
        self.calls.get(call).filter(|call| call.counts).map(|call| (call.epoch, call.request))
    }
}

fn hash_of(said: &str) -> ContentHash {
    ContentHash::of(said.trim().as_bytes())
}
