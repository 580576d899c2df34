//! What was sent, as a tree: a request is a branch of messages, and a later request shares the ones that it begins with. What
//! the model holds when it makes a call is what holds at the last message of the request that it answered.

use readproof_core::{
    knowledge::Held,
    path::PathKey,
    text::{ContentHash, Text},
};
use std::collections::BTreeMap;

use super::{
    Source,
    canon::{append_blocks, message_hash},
    line::{Id, Role, Sent},
    message::{Part, parts},
    state::Holdings,
    transcript::{Epoch, Stored, Transcript},
};
use crate::{
    derive::{Brings, Derived},
    json::fields,
    tree::At,
};

/// One message of a request.
#[derive(Clone, Copy)]
pub(super) struct Node {
    pub(super) epoch: Epoch,
    /// None for the compaction that stands before all messages of an epoch.
    pub(super) message: Option<ContentHash>,
}

/// Why nothing counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Distrust {
    /// The line of the call is not there, or the id is that of several calls.
    NoCall,
    /// The host did not record the request, or changed it after that.
    NotRecorded,
    /// A message of the request is missing or does not have the hash that the request names.
    NotVerified,
    /// The service was asked to leave something out.
    Edited,
    /// A result was sent that is not the recorded one.
    Altered,
}

/// What an edit of a file that was held whole is built on.
pub(super) struct Built {
    /// The text before it.
    pub(super) text: ContentHash,
    pub(super) spans: Vec<Held>,
}

/// The requests that were asked about.
pub(super) struct Requests {
    pub(super) derived: Derived<Node, Holdings, ()>,
    /// The messages after a message.
    next: BTreeMap<(At, ContentHash), At>,
    roots: BTreeMap<Epoch, At>,
    /// The last message of each request, and how many it has.
    branches: BTreeMap<(Epoch, Id), (At, usize)>,
    /// Texts that were shown or made.
    pub(super) texts: BTreeMap<ContentHash, Text>,
    /// When what a message shows was looked at, at the earliest.
    pub(super) times: BTreeMap<At, u64>,
    /// What edits in a message are built on.
    pub(super) built: BTreeMap<(At, PathKey), Built>,
    /// Whether a result was seen to be sent otherwise than recorded.
    pub(super) altered: bool,
    /// Attachments by their text, and how many were looked at.
    pub(super) rendered: BTreeMap<(Epoch, ContentHash), Vec<usize>>,
    pub(super) looked_at: usize,
}

impl Default for Requests {
    fn default() -> Self {
        Self {
            derived: Derived::new(),
            next: BTreeMap::new(),
            roots: BTreeMap::new(),
            branches: BTreeMap::new(),
            texts: BTreeMap::new(),
            times: BTreeMap::new(),
            built: BTreeMap::new(),
            altered: false,
            rendered: BTreeMap::new(),
            looked_at: 0,
        }
    }
}

impl Requests {
    /// The entry that stands before the messages of an epoch.
    fn root(&mut self, epoch: Epoch) -> At {
        if let Some(root) = self.roots.get(&epoch) {
            return *root;
        }
        let root = self.push(None, Node { epoch, message: None }, Brings::Barrier);
        self.roots.insert(epoch, root);
        root
    }

    fn push(&mut self, parent: Option<At>, node: Node, brings: Brings) -> At {
        let id = self.derived.tree().len() as u64;
        self.derived.push(id, parent, node, brings)
    }

    /// The branch after `at` with one more message.
    fn after(&mut self, at: At, epoch: Epoch, message: ContentHash) -> At {
        if let Some(next) = self.next.get(&(at, message)) {
            return *next;
        }
        let next = self.push(Some(at), Node { epoch, message: Some(message) }, Brings::Something);
        self.next.insert((at, message), next);
        next
    }

    /// The message this many before the last.
    fn up(&self, mut at: At, by: usize) -> Option<At> {
        for _ in 0..by {
            at = self.derived.tree().parent(at)?;
        }
        Some(at)
    }
}

fn without_words(mut parts: Vec<Part>, own: bool) -> Vec<Part> {
    parts.retain(|part| !own || !matches!(part, Part::Text(_)));
    parts
}

/// The most requests that a request is made of, one being the beginning of the next.
const LONGEST_CHAIN: usize = 100_000;

impl Transcript {
    /// The last message of a request, in an epoch.
    pub(super) fn branch(&mut self, epoch: Epoch, request: Id) -> Result<At, Distrust> {
        let mut chain: Vec<(Id, &Sent)> = Vec::new();
        let mut next = Some(request);
        let mut end = None;
        while let Some(id) = next {
            if let Some(known) = self.requests.branches.get(&(epoch, id)) {
                end = Some(*known);
                break;
            }
            let sent = self.sent.get(&id).ok_or(Distrust::NotRecorded)?;
            if sent.edited && id == request {
                return Err(Distrust::Edited);
            }
            if chain.len() > LONGEST_CHAIN || (sent.base.is_none() && sent.keep > 0) {
                return Err(Distrust::NotRecorded);
            }
            chain.push((id, sent));
            next = sent.base;
        }
        let (mut at, mut len) = match end {
            Some(end) => end,
            None => (self.requests.root(epoch), 0),
        };
        for (id, sent) in chain.into_iter().rev() {
            let dropped = len.checked_sub(sent.keep).ok_or(Distrust::NotRecorded)?;
            at = self.requests.up(at, dropped).ok_or(Distrust::NotRecorded)?;
            for message in &sent.tail {
                at = self.requests.after(at, epoch, *message);
            }
            len = sent.keep + sent.tail.len();
            self.requests.branches.insert((epoch, id), (at, len));
        }
        let is_edited = self.sent.get(&request).is_none_or(|sent| sent.edited);
        if is_edited { Err(Distrust::Edited) } else { Ok(at) }
    }

    /// The blocks of a message; `None` if it is not there, or not the one with that hash.
    pub(super) fn verified(&mut self, hash: ContentHash, source: &dyn Source) -> Option<Vec<Part>> {
        match self.stored(hash, source)? {
            Stored::Blob(span) => {
                let message = span.get(source)?;
                let [role, content] = fields(&message, &["role", "content"])?;
                let (role, content, mut blocks) = (role?, content?, Vec::new());
                append_blocks(content, &mut blocks)?;
                let found = (message_hash(&blocks, role) == hash).then(|| parts(content)).flatten();
                // The model's own words show nothing.
                found.map(|found| without_words(found, role == Role::Assistant.raw()))
            }
            Stored::Lines(role, spans) => {
                let (mut blocks, mut found) = (Vec::new(), Vec::new());
                for span in spans {
                    let content = span.get(source)?;
                    append_blocks(&content, &mut blocks)?;
                    found.extend(parts(&content)?);
                }
                let found = (message_hash(&blocks, role.raw()) == hash).then_some(found);
                found.map(|found| without_words(found, *role == Role::Assistant))
            }
        }
    }
}
