//! What the model holds when it makes a call, and what proves it.

use readproof_core::{
    knowledge::{Held, Knowledge, Place},
    path::PathKey,
    text::{ContentHash, Text},
};
use std::collections::BTreeMap;

use super::{Source, call::Input, request::Distrust, settle::Settling, state::Holdings, transcript::Transcript};
use crate::{
    derive::{State, settle},
    tree::At,
};

/// What is held at the last message of a request.
#[derive(Clone, Copy)]
pub struct Known<'a> {
    transcript: &'a Transcript,
    leaf: At,
    state: &'a State<Holdings, ()>,
}

/// Another call of the same message of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sibling {
    /// The file that it names.
    pub path: Option<PathKey>,
    pub changes: bool,
    /// Whether it may show text of any file.
    pub shows: bool,
}

/// The message because of which something is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Why {
    /// Its hash, by which requests name it.
    pub message: ContentHash,
    /// What it shows was looked at then or later, in milliseconds since 1970; `None` if it shows nothing.
    pub time: Option<u64>,
}

impl Transcript {
    /// What the model held when it made a call.
    ///
    /// # Errors
    /// [`Distrust`] if nothing can be relied on. With [`Distrust::NoCall`] and [`Distrust::NotRecorded`] the host may not have written
    /// the lines yet.
    pub fn known_at_call<'a>(&'a mut self, call: &str, source: &'a dyn Source) -> Result<Known<'a>, Distrust> {
        let (epoch, request) = self.request_of(call).ok_or(Distrust::NoCall)?;
        let leaf = self.branch(epoch, request.ok_or(Distrust::NotRecorded)?)?;
        self.known_at(leaf, source)
    }

    /// What the model held when it last said something.
    ///
    /// # Errors
    /// [`Distrust`] if nothing can be relied on.
    pub fn known_last<'a>(&'a mut self, source: &'a dyn Source) -> Result<Known<'a>, Distrust> {
        let (epoch, request) = self.answered.ok_or(Distrust::NoCall)?;
        let leaf = self.branch(epoch, request)?;
        self.known_at(leaf, source)
    }

    fn known_at<'a>(&'a mut self, leaf: At, source: &'a dyn Source) -> Result<Known<'a>, Distrust> {
        let state = settle(&mut Settling { transcript: self, source, read: BTreeMap::new() }, Some(leaf));
        let state = self.requests.derived.state(state);
        if state.held.unverified {
            return Err(Distrust::NotVerified);
        }
        if self.cleared {
            return Err(Distrust::Edited);
        }
        if self.requests.altered {
            return Err(Distrust::Altered);
        }
        Ok(Known { transcript: self, leaf, state })
    }

    /// The id of the last call in the file.
    #[must_use]
    pub fn last_call(&self) -> Option<&str> {
        self.last.as_deref()
    }

    /// The calls of a message of the model before this one, in the same message. Their results are seen together with its own.
    pub fn siblings(&self, call: &str, source: &dyn Source) -> Vec<Sibling> {
        let Some(own) = self.calls.get(call) else { return Vec::new() };
        let same = |other: &super::transcript::Call| {
            other.message.is_some() && other.message == own.message && other.request == own.request
        };
        let others = self.calls.iter().filter(|(id, other)| &***id != call && same(other));
        let sibling = |other: &super::transcript::Call| {
            let input = other.input.get(source).and_then(|raw| Input::parse(&raw));
            let shows = other.tool.may_show(input.as_ref());
            let path = input.and_then(|input| self.file(input.file()?));
            Sibling { path, changes: other.tool.changes(), shows }
        };
        others.map(|(_, other)| sibling(other)).collect()
    }

    /// The file that a call names.
    pub fn file_of(&self, call: &str, source: &dyn Source) -> Option<PathKey> {
        let input = Input::parse(&self.calls.get(call)?.input.get(source)?)?;
        input.file().and_then(|name| self.file(name))
    }

    /// The message of the model that a call is a part of.
    #[must_use]
    pub fn message_of(&self, call: &str) -> Option<&str> {
        self.calls.get(call)?.message.as_deref()
    }
}

impl<'a> Known<'a> {
    /// What is held, of every file, by absolute names.
    #[must_use]
    pub fn knowledge(&self) -> &'a Knowledge {
        &self.state.held.knowledge
    }

    /// A text that was shown or made on any branch.
    #[must_use]
    pub fn text(&self, hash: ContentHash) -> Option<&'a Text> {
        self.transcript.requests.texts.get(&hash)
    }

    /// The hash of the file that such a text is of, if its lines end as the text's do.
    #[must_use]
    pub fn file_hash(&self, hash: ContentHash) -> Option<ContentHash> {
        let text = self.text(hash)?.as_str();
        text.strip_suffix('\n').map(|bytes| ContentHash::of(bytes.as_bytes()))
    }

    /// Number of messages since the compaction.
    #[must_use]
    pub fn window(&self) -> usize {
        self.transcript.requests.derived.window(Some(self.leaf)).count()
    }

    /// The message that a place in this knowledge means.
    #[must_use]
    pub fn why(&self, place: Place) -> Option<Why> {
        let at = At::of_place(place)?;
        let message = self.transcript.requests.derived.tree().get(at)?.message?;
        Some(Why { message, time: self.transcript.requests.times.get(&at).copied() })
    }

    /// What is held by an edit of the model at this place is built on this text before it, of which these lines were held.
    #[must_use]
    pub fn built_on(&self, place: Place, path: &PathKey) -> Option<(ContentHash, &'a [Held])> {
        let built = self.transcript.requests.built.get(&(At::of_place(place)?, path.clone()))?;
        Some((built.text, built.spans.as_slice()))
    }
}
