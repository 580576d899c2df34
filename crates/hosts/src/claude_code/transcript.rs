//! The lines of one transcript file, each taken in once: where the calls, results, requests and messages are. Nothing of it is
//! derived here, and little of a line is kept: what is needed later is read again.

use readproof_core::{
    limits::Answers,
    path::{PathKey, composed, resolve},
    text::ContentHash,
};
use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use super::{
    Source,
    call::{Made, Tool},
    canon::{append_blocks, message_hash},
    line::{Attachment, Id, Line, Payload, Role, Sent, parse},
    message::text_of,
    request::Requests,
};
use crate::json::{fields, fields_of_each, number, text};

/// The part of the conversation after a compaction; the first one is before any.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Epoch(pub(super) u32);

/// The epoch of entries whose parents never came: nothing of them counts.
const LOST: Epoch = Epoch(u32::MAX);

/// Bytes of the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    at: u64,
    len: u32,
}

impl Span {
    pub(super) fn get<'s>(&self, source: &'s dyn Source) -> Option<Cow<'s, [u8]>> {
        source.appended(self.at, self.len as usize)
    }
}

/// A call that the model made.
pub(super) struct Call {
    pub(super) epoch: Epoch,
    /// The request that the model answered with it.
    pub(super) request: Option<Id>,
    /// The message that it is a part of.
    pub(super) message: Option<Box<str>>,
    pub(super) tool: Tool,
    pub(super) input: Span,
    /// When it was made, in milliseconds since 1970.
    pub(super) time: Option<u64>,
    /// Whether it counts: not if another call has the same id, nor if a compaction kept it.
    pub(super) counts: bool,
}

/// A result as the host recorded it, before it was sent.
pub(super) struct Recorded {
    pub(super) content: Span,
    /// What the host itself knows of it.
    result: Option<Span>,
}

/// Text that the host added.
pub(super) struct Attached {
    pub(super) epoch: Epoch,
    pub(super) kind: Attachment,
    pub(super) name: Box<str>,
    pub(super) rendered: Span,
    raw: Span,
    pub(super) time: Option<u64>,
    pub(super) counts: bool,
}

/// A line that is a message, or a part of one.
struct Claim {
    role: Role,
    content: Span,
    begins: bool,
}

/// Where the bytes of a message are.
pub(super) enum Stored {
    /// The message, in one line.
    Blob(Span),
    /// Its contents, in these lines.
    Lines(Role, Vec<Span>),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub entries: usize,
    /// Lines that are not understood at all.
    pub skipped: usize,
    /// Compactions, on any branch.
    pub compactions: usize,
    /// Requests whose record is there.
    pub requests: usize,
}

/// One transcript file.
pub struct Transcript {
    pub(super) answers: Answers,
    /// A folder by a name that goes through a link, and by the name to use for it.
    pub(super) renamed: Option<(String, String)>,
    bytes: u64,
    epochs: BTreeMap<Id, Epoch>,
    compactions: u32,
    /// Entries that a compaction kept.
    kept: BTreeSet<Id>,
    pub(super) calls: BTreeMap<Box<str>, Call>,
    pub(super) results: BTreeMap<Box<str>, Recorded>,
    pub(super) told: BTreeMap<Box<str>, Shape>,
    pub(super) attached: Vec<Attached>,
    pub(super) sent: BTreeMap<Id, Sent>,
    pub(super) messages: BTreeMap<ContentHash, Stored>,
    claims: Vec<Claim>,
    /// How many of the claims were hashed, or are in `passed`.
    hashed: usize,
    /// Claims before a compaction that were not hashed: the host names those no more, so only earlier calls need them.
    passed: Vec<Range<usize>>,
    /// The message that the last line belongs to, if it was one.
    run: Option<(Role, Option<Box<str>>)>,
    skipped: usize,
    /// The last call that the model made.
    pub(super) last: Option<Box<str>>,
    /// The last request with an answer of the model.
    pub(super) answered: Option<(Epoch, Id)>,
    /// Whether the service said that it left something out.
    pub(super) cleared: bool,
    pub(super) requests: Requests,
}

impl Transcript {
    #[must_use]
    pub fn new(answers: Answers) -> Self {
        Self {
            answers,
            renamed: None,
            bytes: 0,
            epochs: BTreeMap::new(),
            compactions: 0,
            kept: BTreeSet::new(),
            calls: BTreeMap::new(),
            results: BTreeMap::new(),
            attached: Vec::new(),
            sent: BTreeMap::new(),
            messages: BTreeMap::new(),
            claims: Vec::new(),
            hashed: 0,
            passed: Vec::new(),
            told: BTreeMap::new(),
            run: None,
            skipped: 0,
            last: None,
            answered: None,
            cleared: false,
            requests: Requests::default(),
        }
    }

    /// An empty transcript with the same settings.
    #[must_use]
    pub fn anew(&self) -> Self {
        Self { renamed: self.renamed.clone(), ..Self::new(self.answers) }
    }

    /// Makes names of files that begin with the folder `from` begin with `to` instead. To be called before anything is asked.
    pub fn rename(&mut self, from: &str, to: &str) {
        self.renamed = Some((from.to_owned(), to.to_owned()));
    }

    /// Takes in whole lines that were appended to the file. Never fails: a line that cannot be used is skipped.
    pub fn append(&mut self, bytes: &[u8]) {
        let base = self.bytes;
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', bytes).chain([bytes.len()]) {
            let line = &bytes[std::mem::replace(&mut start, end + 1)..end];
            if !line.is_empty() {
                let at = base + (end - line.len()) as u64;
                self.take_in(line, at);
            }
        }
        self.bytes += bytes.len() as u64;
    }

    #[must_use]
    pub fn counts(&self) -> Counts {
        Counts {
            entries: self.epochs.len(),
            skipped: self.skipped,
            compactions: self.compactions as usize,
            requests: self.sent.len(),
        }
    }

    /// Whether the line of a call is there.
    #[must_use]
    pub fn has_call(&self, id: &str) -> bool {
        self.calls.contains_key(id)
    }

    /// The file that a call names; `None` if the host makes another name of what the model wrote, by its folder, by `~` or by removing
    /// blanks.
    pub(super) fn file(&self, name: &str) -> Option<PathKey> {
        let is_plain = name == resolve(name, "/") && name == trimmed(name);
        (is_plain && (name.is_ascii() || composed(name) == name)).then(|| self.key(name))
    }

    /// The name to use for a file.
    pub(super) fn key(&self, name: &str) -> PathKey {
        let name = resolve(name, "/");
        let renamed = self.renamed.as_ref().and_then(|(from, to)| {
            let rest = name.strip_prefix(from.as_str()).filter(|rest| rest.is_empty() || rest.starts_with('/'))?;
            Some(format!("{to}{rest}"))
        });
        PathKey::new(&renamed.unwrap_or(name))
    }

    fn take_in(&mut self, line: &[u8], at: u64) {
        let span = |piece: &[u8]| Span {
            at: at + (piece.as_ptr().addr() - line.as_ptr().addr()) as u64,
            len: u32::try_from(piece.len()).unwrap_or(u32::MAX),
        };
        match parse(line) {
            Some(Line::Entry { uuid, parent, payload, time }) => {
                let is_boundary = matches!(payload, Payload::Boundary { .. });
                let epoch = self.enter(uuid, parent, is_boundary);
                let counts = !self.kept.contains(&uuid);
                match payload {
                    Payload::Message { role, message, content, request, result, cleared } => {
                        self.cleared |= cleared;
                        self.claim(role, message.as_deref(), span(content));
                        match role {
                            Role::Assistant => {
                                self.called((epoch, request, counts), (message.as_deref(), time), content, &span)
                            }
                            Role::User => self.resulted(content, result.map(&span), &span),
                        }
                    }
                    Payload::Attachment { kind, name, raw, rendered } => {
                        let (name, raw, rendered) = (name.as_ref().into(), span(raw), span(rendered));
                        self.attached.push(Attached { epoch, kind, name, raw, rendered, time, counts });
                    }
                    Payload::Boundary { kept } => {
                        self.kept.extend(kept);
                        self.run = None;
                        self.passed.push(self.hashed..self.claims.len());
                        self.hashed = self.claims.len();
                    }
                    Payload::Nothing => {}
                }
            }
            Some(Line::Request { id, sent }) => drop(self.sent.entry(id).or_insert(sent)),
            Some(Line::Blob { hash, message }) => {
                self.messages.entry(hash).or_insert(Stored::Blob(span(message)));
            }
            Some(Line::Other) => {}
            None => self.skipped += usize::from(!line.trim_ascii().is_empty()),
        }
    }

    /// Notes an entry. The first with an id counts.
    fn enter(&mut self, uuid: Id, parent: Option<Id>, is_boundary: bool) -> Epoch {
        if let Some(known) = self.epochs.get(&uuid) {
            return *known;
        }
        let epoch = if is_boundary {
            self.compactions += 1;
            Epoch(self.compactions)
        } else {
            match parent {
                Some(parent) => self.epochs.get(&parent).copied().unwrap_or(LOST),
                None => Epoch(0),
            }
        };
        self.epochs.insert(uuid, epoch);
        epoch
    }

    fn called(
        &mut self,
        (epoch, request, counts): (Epoch, Option<Id>, bool),
        (message, time): (Option<&str>, Option<u64>),
        content: &[u8],
        span: &dyn Fn(&[u8]) -> Span,
    ) {
        if let Some(request) = request {
            self.answered = Some((epoch, request));
        }
        let blocks = fields_of_each(content, &["type", "id", "name", "input"]).unwrap_or_default();
        for [kind, id, name, input] in blocks {
            let (Some(b"\"tool_use\""), Some(id), Some(input)) = (kind, id.and_then(text), input) else { continue };
            self.last = Some(id.as_ref().into());
            let tool = name.and_then(text).map_or(Tool::Other, |name| Tool::parse(&name));
            let (message, input) = (message.map(Into::into), span(input));
            let call = Call { epoch, request, message, tool, input, time, counts: counts && epoch != LOST };
            match self.calls.entry(id.as_ref().into()) {
                std::collections::btree_map::Entry::Vacant(place) => drop(place.insert(call)),
                std::collections::btree_map::Entry::Occupied(mut place) => place.get_mut().counts = false,
            }
        }
    }

    fn resulted(&mut self, content: &[u8], result: Option<Span>, span: &dyn Fn(&[u8]) -> Span) {
        if !content.starts_with(b"[") {
            return;
        }
        let blocks = fields_of_each(content, &["type", "tool_use_id", "content"]).unwrap_or_default();
        for [kind, id, said] in blocks {
            let (Some(b"\"tool_result\""), Some(id), Some(said)) = (kind, id.and_then(text), said) else { continue };
            self.results.entry(id.as_ref().into()).or_insert(Recorded { content: span(said), result });
        }
    }

    fn claim(&mut self, role: Role, message: Option<&str>, content: Span) {
        let goes_on = self.run.as_ref().is_some_and(|(last, id)| {
            *last == role && (role == Role::User || (message.is_some() && id.as_deref() == message))
        });
        if !goes_on {
            self.run = Some((role, message.map(Into::into)));
        }
        self.claims.push(Claim { role, content, begins: !goes_on });
    }

    /// Finds a message that requests name by its hash: in a line of its own, or made of lines of the conversation.
    pub(super) fn stored(&mut self, hash: ContentHash, source: &dyn Source) -> Option<&Stored> {
        if !self.messages.contains_key(&hash) {
            let fresh = std::mem::replace(&mut self.hashed, self.claims.len())..self.claims.len();
            self.hash_claims(fresh, source);
        }
        while !self.messages.contains_key(&hash) {
            let Some(passed) = self.passed.pop() else { break };
            self.hash_claims(passed, source);
        }
        self.messages.get(&hash)
    }

    /// Hashes the messages of these lines. A message may end at each of its lines.
    fn hash_claims(&mut self, claims: Range<usize>, source: &dyn Source) {
        // A message whose first lines were hashed before is hashed from its beginning again.
        let mut from = claims.start;
        while from > 0 && self.claims.get(from).is_some_and(|claim| !claim.begins) {
            from -= 1;
        }
        let (mut blocks, mut spans, mut sound) = (Vec::new(), Vec::new(), false);
        for at in from..claims.end {
            let Claim { role, content, begins } = &self.claims[at];
            if *begins {
                (blocks, spans, sound) = (Vec::new(), Vec::new(), true);
            }
            spans.push(*content);
            let appended = content.get(source).and_then(|content| append_blocks(&content, &mut blocks));
            sound = sound && appended.is_some();
            if sound && at >= claims.start {
                let hash = message_hash(&blocks, role.raw());
                self.messages.entry(hash).or_insert_with(|| Stored::Lines(*role, spans.clone()));
            }
        }
    }

    /// What a hook told of a read. Agents' transcripts do not have it.
    pub fn told(&mut self, call: &str, first: u32, lines: u32, total: u32) {
        self.told.entry(call.into()).or_insert(Shape { first, lines, total });
    }

    /// What the host recorded as the text of a result.
    pub(super) fn recorded(&self, id: &str, source: &dyn Source) -> Option<String> {
        text_of(&self.results.get(id)?.content.get(source)?)
    }
}

/// A name without the blanks that the host removes.
fn trimmed(name: &str) -> &str {
    name.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}')
}

/// The last part of a name, by which files can be found that it may mean; `None` if that can be any.
pub(super) fn last_part(name: &str) -> Option<String> {
    let name = composed(trimmed(name));
    let last = name.trim_end_matches('/').rsplit('/').next()?;
    (!last.is_empty() && last != "." && last != ".." && !last.starts_with('~')).then(|| last.to_owned())
}

/// Which lines a read showed, as the host itself knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) first: u32,
    pub(super) lines: u32,
    /// Lines of the file.
    pub(super) total: u32,
}

impl Shape {
    /// From the object that has the file.
    fn of(raw: &[u8]) -> Option<Self> {
        let [file] = fields(raw, &["file"])?;
        let [first, lines, total] = fields(file?, &["startLine", "numLines", "totalLines"])?;
        let number = |raw: Option<&[u8]>| number(raw?);
        Some(Self { first: number(first)?, lines: number(lines)?, total: number(total)? })
    }

    /// Whether these lines are the last of the file.
    pub(super) fn ends_with(self, first: u32, lines: usize) -> bool {
        let fits = self.first == first && u32::try_from(lines).ok() == Some(self.lines);
        fits && self.first.checked_add(self.lines).is_some_and(|next| next - 1 == self.total)
    }
}

impl Recorded {
    /// The file that the host itself says it is about.
    pub(super) fn file(&self, source: &dyn Source) -> Option<String> {
        let raw = self.result?.get(source)?;
        let [own, file] = fields(&raw, &["filePath", "file"])?;
        let own = own.or_else(|| fields(file?, &["filePath"]).and_then(|[name]| name))?;
        text(own).map(Cow::into_owned)
    }

    pub(super) fn shape(&self, source: &dyn Source) -> Option<Shape> {
        Shape::of(&self.result?.get(source)?)
    }

    /// What the host itself says it did.
    pub(super) fn made(&self, source: &dyn Source) -> Told {
        let Some(result) = self.result else { return Told::Nothing };
        let made = result.get(source).and_then(|raw| serde_json::from_slice(&raw).ok());
        made.map_or(Told::Unreadable, |made| Told::Made(Box::new(made)))
    }
}

/// What the host says it did because of a call.
pub(super) enum Told {
    /// It does not say it anywhere.
    Nothing,
    /// Its account is not understood.
    Unreadable,
    Made(Box<Made>),
}

impl Attached {
    pub(super) fn shape(&self, source: &dyn Source) -> Option<Shape> {
        let raw = self.raw.get(source)?;
        let [content] = fields(&raw, &["content"])?;
        Shape::of(content?)
    }
}
