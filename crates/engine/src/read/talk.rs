//! The conversation a read belongs to: what it proves, where its texts lie, and what becomes of an answer.

use readproof_core::{
    decide::Ask,
    limits::Limits,
    path::PathKey,
    scope::ScopeError,
    text::{ContentHash, Text},
};
use readproof_disk::{FileRef, Loaded, Snapshot};
use readproof_hosts::session::Call;

use super::{
    context::{Context, Held},
    place::Placed,
    record::{Offer, Recorded},
};
use crate::{Engine, Most, Read};

/// One conversation, for the length of one read.
pub(crate) trait Talk {
    /// Notes where in the conversation this is asked, before anything is looked at.
    fn begin(&mut self, engine: &mut Engine, request: &Read);

    /// How much one answer carries.
    fn limits(&self, engine: &Engine, request: &Read) -> Limits {
        let limits = engine.settings.limits;
        match request.most {
            // Characters are counted in place of bytes; none has more than four.
            Some(Most { lines, chars }) => Limits {
                answer_lines: lines,
                answer_bytes: chars.saturating_mul(4),
                answer_chars: Some(chars),
                ..limits
            },
            None => limits,
        }
    }

    /// Which lines are meant, and which of them one plain answer shows.
    fn ask(&self, now: &Text, _request: &Read, placed: &Placed, limits: &Limits) -> Result<Ask, ScopeError> {
        Ask::new(now, placed.offset, placed.limit, limits)
    }

    /// The name the conversation knows a file by.
    fn key(&self, file: &FileRef) -> PathKey;

    /// Opens what the request needs. What cannot be used costs the knowledge, never the text.
    fn context(&mut self, engine: &mut Engine, request: &Read, file: &FileRef, read: &Snapshot) -> Context;

    /// What the model holds of a file.
    fn held(&mut self, engine: &Engine, context: &Context, path: &PathKey) -> Held;

    /// The same, where the lines asked for are held of several texts: those that are the same in the present one count as
    /// that one's, if the conversation can say so.
    fn add_up(&mut self, _: &mut Engine, _: &Context, _: &PathKey, _: &Text, _: &Ask, held: Held) -> Held {
        held
    }

    /// A stored text, verified.
    fn load(&self, engine: &Engine, hash: ContentHash) -> Loaded;

    /// Stores the text and records the answer. What cannot be stored or recorded costs knowledge, never the answer.
    fn record(&mut self, engine: &mut Engine, context: &mut Context, offer: &Offer<'_>) -> Recorded;
}

/// A session of our own, or none.
#[derive(Default)]
pub(crate) struct Own {
    call: Option<Call>,
}

impl Talk for Own {
    fn begin(&mut self, engine: &mut Engine, request: &Read) {
        self.call = engine.call(request);
    }

    fn key(&self, file: &FileRef) -> PathKey {
        file.key().clone()
    }

    fn context(&mut self, engine: &mut Engine, request: &Read, file: &FileRef, read: &Snapshot) -> Context {
        engine.context(request, self.call, file, read)
    }

    fn held(&mut self, engine: &Engine, context: &Context, path: &PathKey) -> Held {
        engine.held(context, path)
    }

    fn add_up(
        &mut self,
        engine: &mut Engine,
        context: &Context,
        path: &PathKey,
        now: &Text,
        ask: &Ask,
        held: Held,
    ) -> Held {
        engine.add_up(context, path, now, ask, held)
    }

    fn load(&self, engine: &Engine, hash: ContentHash) -> Loaded {
        engine.store.as_ref().map_or(Loaded::Missing, |(store, _)| store.objects().load(hash))
    }

    fn record(&mut self, engine: &mut Engine, context: &mut Context, offer: &Offer<'_>) -> Recorded {
        engine.record(context, offer)
    }
}
