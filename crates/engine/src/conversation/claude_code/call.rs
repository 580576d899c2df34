//! One read that the host made itself. The text is the one that the host shows; the file is looked at only to know whose it is.

use readproof_core::{
    alike::alike,
    decide::{Ask, Reason},
    knowledge::{Event, Held, Knowledge},
    limits::Limits,
    operation::Read,
    path::PathKey,
    scope::{Lines, Scope, ScopeError},
    text::{ContentHash, Text},
};
use readproof_disk::{Create, FileRef, Loaded, Snapshot};
use readproof_hosts::claude_code::{Known, Sibling, text_of_read};
use std::collections::{BTreeMap, BTreeSet};

use super::{
    super::{Conversation, ConversationStatus, NotOurs},
    Followed, reason,
};
use crate::{
    Engine, Error,
    door::Refreshed,
    history::met,
    read::{CallContext, KnowledgeAtCall, PendingAnswer, Recorded, ResolvedTarget},
};

/// A read that the host made, as its hook tells it.
#[derive(Clone, Debug, Default)]
pub struct HostRead {
    /// The id of the call.
    pub call: String,
    /// The lines that it shows, without their numbers.
    pub content: String,
    /// The number of the first one.
    pub first: u32,
    /// Lines of the file, as the host counts.
    pub total: u32,
    /// How many lines were asked for, if that was said.
    pub limit: Option<u64>,
}

/// The call.
pub struct HostReadCall<'t> {
    followed: Option<&'t mut Followed>,
    read: HostRead,
    held: Result<Knowledge, Reason>,
    /// Texts that the model was shown, of the file that is asked about.
    texts: BTreeMap<ContentHash, Text>,
    /// The hash of the file on the disk.
    on_disk: Option<ContentHash>,
}

impl<'t> HostReadCall<'t> {
    pub(super) fn new(followed: Option<&'t mut Followed>, read: HostRead) -> Self {
        Self { followed, read, held: Err(Reason::NotRecorded), texts: BTreeMap::new(), on_disk: None }
    }

    /// How many lines are shown.
    fn lines(&self) -> u32 {
        u32::try_from(self.read.content.split('\n').count()).unwrap_or(u32::MAX)
    }

    /// Whether the lines are the whole file, and were asked for as such.
    fn is_whole(&self) -> bool {
        let shown = self.lines();
        self.read.first == 1 && shown == self.read.total && self.read.limit.is_none_or(|limit| limit > u64::from(shown))
    }

    /// What is held of the file where the call was made, with lines of other texts counted where they are the same now.
    fn derive(&mut self, engine: &Engine, file: &FileRef, now: &Text) -> Result<Knowledge, Reason> {
        let (key, answers) = (self.key(file), engine.shared.settings.answers);
        let Some(followed) = self.followed.as_mut() else { return Err(Reason::NotRecorded) };
        let Followed { file: lines, transcript, batch } = &mut **followed;
        batch.continue_with(transcript.message_of(&self.read.call).map(str::to_owned));
        let other = batch.holds_other(&key, now.hash());
        batch.answer(key.clone(), now.hash());
        let shown = u32::try_from(self.read.content.split('\n').count()).unwrap_or(u32::MAX);
        transcript.told(&self.read.call, self.read.first, shown, self.read.total);
        // A hook may have sent the read to another file than the one that the model named.
        if transcript.has_call(&self.read.call) && transcript.file_of(&self.read.call, lines).as_ref() != Some(&key) {
            return Err(Reason::NotConfirmed);
        }
        // The model sees the results of one message together.
        let beside = transcript.siblings(&self.read.call, lines);
        let may_show =
            |call: &Sibling| call.shows || (call.changes && call.path.as_ref().is_none_or(|path| *path == key));
        if other || beside.iter().any(may_show) {
            return Err(Reason::NotConfirmed);
        }
        let known = transcript.known_at_call(&self.read.call, lines).map_err(reason)?;
        let mut held = known.knowledge().clone();
        for span in overtaken(engine, file, (known, &key), self.on_disk)? {
            let event = Event::Refreshed { paths: vec![key.clone()], scope: Scope::Lines(span) };
            held.apply(0, &event, answers);
        }
        for version in held.of(&key).iter().flat_map(Held::versions) {
            self.texts.extend(known.text(version.hash).map(|text| (version.hash, text.clone())));
        }
        let pieces = alike(held.of(&key), now, |hash| self.texts.get(&hash).cloned());
        if !pieces.is_empty() {
            held.apply(0, &Event::Alike { path: key, version: now.version(), pieces }, answers);
        }
        Ok(held)
    }
}

/// The held lines that count no more, as somebody met another text of the file since they were shown: the model may have seen that
/// one by a shell. What the model itself wrote is the text that it holds.
fn overtaken(
    engine: &Engine,
    file: &FileRef,
    (known, path): (Known<'_>, &PathKey),
    now: Option<ContentHash>,
) -> Result<Vec<Lines>, Reason> {
    let held = known.knowledge().of(path);
    if held.is_empty() {
        return Ok(Vec::new());
    }
    let logged = engine.logged_name(file);
    let records = engine.with_versions(Create::No, |versions| {
        let of_path = versions.of_path(&logged).filter_map(|(_, change, file)| Some((change.at, met(file)?)));
        Ok(of_path.collect::<Vec<(u64, Option<ContentHash>)>>())
    });
    // What a log that cannot be read would tell, nobody knows.
    let records = records.map_err(|_| Reason::NoStore)?.unwrap_or_default();
    // A clock that was set back tells nothing about what was before.
    let clock = engine.now();
    let time = |span: &Held| {
        let time = known.why(span.at()).and_then(|why| why.time).filter(|time| *time <= clock);
        time.unwrap_or(0)
    };
    let gone = held.iter().filter(|span| is_overtaken(&records, (known, path), (span, now), &time));
    Ok(gone.filter_map(slots).collect())
}

/// Whether another text was met since a span was shown. A span that an edit of the model made is as old as what the edit is built
/// on: between the two, only that text may have been met.
fn is_overtaken(
    records: &[(u64, Option<ContentHash>)],
    (known, path): (Known<'_>, &PathKey),
    (span, now): (&Held, Option<ContentHash>),
    time: &dyn Fn(&Held) -> u64,
) -> bool {
    let mut spans = vec![(span, u64::MAX, now)];
    let mut looked_at = BTreeSet::new();
    while let Some((span, until, also)) = spans.pop() {
        if !looked_at.insert((span.at(), span.version().hash, until)) {
            continue;
        }
        // Times that go back tell nothing.
        let since = Some(time(span)).filter(|since| *since <= until).unwrap_or(0);
        let own: Vec<_> = span.versions().filter_map(|version| known.file_hash(version.hash)).chain(also).collect();
        let is_third = |text: &Option<ContentHash>| text.is_none_or(|text| !own.contains(&text));
        if records.iter().any(|(at, text)| (since..until).contains(at) && is_third(text)) {
            return true;
        }
        let built = known.built_on(span.at(), path);
        for (text, base) in built.iter().flat_map(|(text, bases)| bases.iter().map(|base| (*text, base))) {
            if base.at() != span.at() {
                spans.push((base, since, known.file_hash(text)));
            }
        }
    }
    false
}

/// The lines of a span, its end included as one more line.
fn slots(held: &Held) -> Option<Lines> {
    let end = held.version().total.saturating_add(1);
    let first = held.lines().map_or(end, Lines::first);
    let last = held.lines().filter(|_| !held.end()).map_or(end, Lines::last);
    Lines::new(first, last)
}

impl Conversation for HostReadCall<'_> {
    type Given = ();

    fn hands_on(&self) -> bool {
        true
    }

    /// The host cuts, not we.
    fn limits(&self, engine: &Engine, _read: &Read) -> Limits {
        Limits { answer_lines: u32::MAX, answer_bytes: u32::MAX, answer_chars: None, ..engine.shared.settings.limits }
    }

    fn ask(&self, now: &Text, _read: &Read, _target: &ResolvedTarget, limits: &Limits) -> Result<Ask, ScopeError> {
        if self.is_whole() {
            return Ask::new(now, None, None, limits);
        }
        let (first, shown) = (u64::from(self.read.first), u64::from(self.lines()));
        let ends = first + shown > u64::from(self.read.total);
        let asked = self.read.limit.filter(|limit| ends && *limit > shown).unwrap_or(shown);
        // Without a limit, a read that reaches the last line shows that it is the last.
        let limit = if ends && self.read.limit.is_none() { None } else { Some(asked) };
        Ask::new(now, Some(first), limit, limits)
    }

    fn key(&self, file: &FileRef) -> PathKey {
        PathKey::new(&file.absolute())
    }

    fn declines(&mut self, engine: &Engine, file: &FileRef, read: &mut Snapshot) -> Option<NotOurs> {
        if engine.shared.sensitive.is_sensitive_read(file, read) {
            return Some(NotOurs::Sensitive);
        }
        let Some(text) = text_of_read(&self.read.content, self.read.first, self.read.total) else {
            return Some(NotOurs::OtherText);
        };
        self.on_disk = Some(read.text.hash());
        read.text = text;
        None
    }

    fn context(&mut self, engine: &Engine, read: &Read, file: &FileRef, snapshot: &Snapshot) -> CallContext {
        let mut context = CallContext::of(engine, read, file, snapshot);
        // All texts are in the host's transcript.
        context.store_text = false;
        if context.plain.is_none() {
            self.held = self.derive(engine, file, &snapshot.text);
        }
        context
    }

    fn held(&mut self, engine: &Engine, context: &CallContext, _path: &PathKey) -> KnowledgeAtCall {
        let held = context.plain.map_or_else(|| self.held.clone(), Err);
        KnowledgeAtCall::at(held, engine.shared.settings.answers)
    }

    fn load(&self, _engine: &Engine, hash: ContentHash) -> Loaded {
        self.texts.get(&hash).map_or(Loaded::Missing, |text| Loaded::Text(text.clone()))
    }

    /// The host records what it shows.
    fn record(&mut self, _engine: &Engine, _context: &mut CallContext, _pending: &PendingAnswer<'_>) -> Recorded<()> {
        Recorded::Done(())
    }

    fn known_files(&mut self, _engine: &Engine) -> Result<Vec<PathKey>, Error> {
        Ok(Vec::new())
    }

    /// The host has no call for it: what is asked for there is always what its own `Read` shows.
    fn refresh(&mut self, _engine: &Engine, _names: Vec<PathKey>, scope: Scope) -> Result<Refreshed, Error> {
        Ok(Refreshed { paths: Vec::new(), scope, found: true, entry: None })
    }

    fn status(&mut self, _engine: &Engine) -> Result<Option<ConversationStatus>, Error> {
        Ok(None)
    }
}
