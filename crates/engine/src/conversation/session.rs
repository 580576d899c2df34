//! A session with a log of ours, or no conversation at all. Knowledge is derived from the session's log, and every
//! answer is recorded there before it is sent.

use readproof_core::{
    decide::{Ask, Mode, Reason},
    knowledge::{Held, Naming},
    operation::{Audience, Partial, Read},
    path::PathKey,
    scope::Scope,
    text::{ContentHash, Form, Text},
};
use readproof_disk::{Create, FileRef, Loaded, SessionName, Snapshot};
use readproof_hosts::session::{Call, EntryId, EntryKind, Focus, ListedEntry};
use std::collections::{BTreeMap, BTreeSet};

use super::{Conversation, ConversationStatus, FileStatus, Holding, HoldingFile, NotOurs, Proof};
use crate::{
    Engine, Error, RecentFile,
    door::{Receipt, Refreshed},
    read::{CallContext, KnowledgeAtCall, PendingAnswer, Recorded},
};

/// A session with a log of ours. Without a name nothing is recorded and every answer is plain text.
#[derive(Clone, Debug, Default)]
pub struct LoggedSession {
    name: Option<SessionName>,
    call: Option<Call>,
}

impl LoggedSession {
    /// The session of this name.
    #[must_use]
    pub fn new(name: SessionName) -> Self {
        Self { name: Some(name), call: None }
    }

    /// The session of this name, or no conversation.
    #[must_use]
    pub fn named(name: Option<SessionName>) -> Self {
        Self { name, call: None }
    }

    fn name(&self) -> Result<&SessionName, Error> {
        self.name.as_ref().ok_or(Error::NoConversation)
    }
}

/// The file name that a path most likely means. Whether it is right shows once the file is located.
fn focus_of(path: &str) -> Focus {
    let name = path.rsplit('/').next().unwrap_or_default();
    let name = name.split(':').next().unwrap_or_default();
    if name.is_empty() { Focus::All } else { Focus::Named(name.to_owned()) }
}

impl Conversation for LoggedSession {
    type Given = Option<Receipt>;

    fn log(&self) -> Option<&SessionName> {
        self.name.as_ref()
    }

    fn begin(&mut self, engine: &Engine, read: &Read) -> Option<NotOurs> {
        let name = self.name.as_ref()?;
        let focus = if engine.one_read { focus_of(&read.path) } else { Focus::All };
        let call = |session: &mut readproof_hosts::session::Session| {
            // A session that is new or must be repaired has no entries yet.
            (!session.transcript().is_empty()).then(|| session.call())
        };
        self.call = engine.with_session_of(name, Create::No, focus, call).ok().flatten();
        None
    }

    fn context(&mut self, engine: &Engine, read: &Read, file: &FileRef, snapshot: &Snapshot) -> CallContext {
        let call = self.call;
        let mut context =
            CallContext { call: call.unwrap_or_default(), ..CallContext::of(engine, read, file, snapshot) };
        let Some(name) = &self.name else {
            context.plain = Some(Reason::NoTranscript);
            return context;
        };
        let covered = engine.cover(name, file.key());
        let made = engine.store(Create::Yes).map(drop).and(covered);
        // If the call is known, the session is open. What others append meanwhile is detected when the answer is
        // recorded.
        let now = call.map_or_else(|| engine.with_session(name, Create::Yes, |session| session.call()), Ok);
        match made.and(now) {
            Ok(now) => {
                context.session = Some(name.clone());
                context.others = engine.made_by_others(name, file);
                context.call = now;
                if engine.forget_overtaken((name, now), (file.key(), &snapshot.text), &context.others) {
                    context.plain = context.plain.or(Some(Reason::Unplaced));
                }
            }
            Err(error) => engine.forget(&mut context, name, error),
        }
        context
    }

    fn held(&mut self, engine: &Engine, context: &CallContext, path: &PathKey) -> KnowledgeAtCall {
        engine.held(context, path)
    }

    fn add_up(
        &mut self,
        engine: &Engine,
        context: &CallContext,
        (path, now, ask): (&PathKey, &Text, &Ask),
        held: KnowledgeAtCall,
    ) -> KnowledgeAtCall {
        engine.add_up(context, path, now, ask, held)
    }

    fn naming(&self, _engine: &Engine, read: &Read) -> Naming {
        match (read.partial, read.audience) {
            (Partial::Allowed, Audience::Model) => Naming::OfOtherTexts,
            (Partial::Never, _) | (_, Audience::Program) => Naming::Nothing,
        }
    }

    fn load(&self, engine: &Engine, hash: ContentHash) -> Loaded {
        engine.load(hash)
    }

    fn record(
        &mut self,
        engine: &Engine,
        context: &mut CallContext,
        pending: &PendingAnswer<'_>,
    ) -> Recorded<Option<Receipt>> {
        engine.record(context, pending)
    }

    fn holding(&mut self, engine: &Engine) -> Result<Holding, Error> {
        holding(engine, self.name()?)
    }

    fn known_files(&mut self, engine: &Engine) -> Result<Vec<PathKey>, Error> {
        engine.with_session(self.name()?, Create::No, |session| {
            session.knowledge().paths().map(|(path, _)| path.clone()).collect()
        })
    }

    /// Of what it holds on its branch.
    fn last_texts(&mut self, engine: &Engine, paths: &BTreeSet<String>) -> BTreeMap<String, ContentHash> {
        let Some(name) = &self.name else { return BTreeMap::new() };
        let held = engine.with_session(name, Create::No, |session| {
            let transcript = session.transcript();
            let last = |(path, held): (&PathKey, &[Held])| {
                let newest = held.iter().max_by_key(|held| held.at())?;
                let is_told = paths.contains(path.as_str()) && !transcript.is_pending(path);
                is_told.then(|| (path.to_string(), newest.version().hash))
            };
            match transcript.is_distrusted() {
                true => BTreeMap::new(),
                false => transcript.knowledge().paths().filter_map(last).collect(),
            }
        });
        held.unwrap_or_default()
    }

    fn recent(&mut self, engine: &Engine) -> Vec<RecentFile> {
        self.name.as_ref().map(|name| recent(engine, name, OfBranch::Yes)).unwrap_or_default()
    }

    fn confirms(&self) -> bool {
        true
    }

    fn refresh(&mut self, engine: &Engine, names: Vec<PathKey>, scope: Scope) -> Result<Refreshed, Error> {
        refresh(engine, self.name()?, Create::No, &names, scope)
    }

    fn status(&mut self, engine: &Engine) -> Result<Option<ConversationStatus>, Error> {
        self.name.as_ref().map(|name| status(engine, name)).transpose()
    }
}

/// Whether only calls of the branch count.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum OfBranch {
    Yes,
    No,
}

/// The files of a session's calls, the latest first, each once.
pub(super) fn recent(engine: &Engine, name: &SessionName, of_branch: OfBranch) -> Vec<RecentFile> {
    let found = engine.with_session(name, Create::No, |session| {
        let transcript = session.transcript();
        let branch: BTreeSet<EntryId> = transcript.branch(transcript.leaf().map(EntryId)).into_iter().collect();
        let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
        for entry in transcript.entries().into_iter().rev() {
            let (path, written) = match &entry.kind {
                EntryKind::Read { answer, .. } if !answer.for_program => (answer.path.as_str(), false),
                EntryKind::Write { path, .. } => (*path, true),
                EntryKind::Read { .. }
                | EntryKind::Seen { .. }
                | EntryKind::Refresh { .. }
                | EntryKind::Compact { .. }
                | EntryKind::ContextEdit { .. }
                | EntryKind::Unknown => continue,
            };
            if (of_branch == OfBranch::No || branch.contains(&entry.id)) && seen.insert(path.to_owned()) {
                found.push(RecentFile { path: path.to_owned(), written });
            }
        }
        found
    });
    found.unwrap_or_default()
}

/// Records a refresh.
pub(super) fn refresh(
    engine: &Engine,
    name: &SessionName,
    create: Create,
    names: &[PathKey],
    scope: Scope,
) -> Result<Refreshed, Error> {
    let paths: Vec<String> = names.iter().map(ToString::to_string).collect();
    let at = engine.now();
    let entry = engine.with_session(name, create, |session| session.refresh(paths.clone(), scope, at))??;
    Ok(Refreshed { paths, scope, found: true, entry: Some(entry) })
}

/// What a session's branch proves. A file with an unconfirmed answer is not listed as held.
fn holding(engine: &Engine, name: &SessionName) -> Result<Holding, Error> {
    let answers = engine.settings().answers;
    engine.with_session(name, Create::No, |session| {
        let transcript = session.transcript();
        let (entries, knowledge) = (transcript.entries(), transcript.knowledge());
        let is_compaction = |entry: &&ListedEntry<'_>| matches!(entry.kind, EntryKind::Compact { .. });
        let branch: BTreeSet<EntryId> = transcript.branch(transcript.leaf().map(EntryId)).into_iter().collect();
        let barrier = entries.iter().rev().filter(is_compaction).find(|entry| branch.contains(&entry.id));
        let proof = |held: &Held| {
            let entry = transcript.named(EntryId(held.at()));
            let (tool, mode) = transcript.entry(entry).map_or(("", None), |entry| called(&entry.kind));
            Proof { entry: entry.to_string(), tool, mode }
        };
        let distrusted = transcript.is_distrusted().then(|| Reason::HostAlters.sentence());
        let file = |(path, held): (&PathKey, &[Held])| HoldingFile {
            path: path.to_string(),
            whole: knowledge.holds_whole(path, Form::Disk, answers).is_some(),
            spans: held.iter().map(|held| (held.clone(), proof(held))).collect(),
        };
        let counts = |path: &PathKey| distrusted.is_none() && !transcript.is_pending(path);
        Holding {
            host: "readproof",
            session: name.to_string(),
            leaf: transcript.leaf().map(|leaf| transcript.named(EntryId(leaf)).to_string()),
            barrier: barrier.map(|entry| entry.id.to_string()),
            window: transcript.window().0,
            entries: entries.len(),
            compactions: entries.iter().filter(is_compaction).count(),
            files: knowledge.paths().filter(|(path, _)| counts(path)).map(file).collect(),
            pending: entries.iter().filter(|entry| branch.contains(&entry.id)).filter_map(unconfirmed).collect(),
            distrusted,
            ..Holding::default()
        }
    })
}

/// What was called, and how a read was answered.
fn called(kind: &EntryKind<'_>) -> (&'static str, Option<Mode>) {
    match kind {
        EntryKind::Read { answer, .. } => ("read", Mode::parse(&answer.mode)),
        EntryKind::Write { .. } => ("write", None),
        EntryKind::Seen { .. }
        | EntryKind::Refresh { .. }
        | EntryKind::Compact { .. }
        | EntryKind::ContextEdit { .. }
        | EntryKind::Unknown => ("", None),
    }
}

/// A call of which it is not known whether its result reached the model.
fn unconfirmed(entry: &ListedEntry<'_>) -> Option<(&'static str, Option<String>)> {
    match &entry.kind {
        EntryKind::Read { answer, delivered: false } => Some(("read", Some(answer.path.clone()))),
        EntryKind::Write { path, delivered: false } => Some(("write", Some((*path).to_owned()))),
        EntryKind::Read { .. }
        | EntryKind::Write { .. }
        | EntryKind::Seen { .. }
        | EntryKind::Refresh { .. }
        | EntryKind::Compact { .. }
        | EntryKind::ContextEdit { .. }
        | EntryKind::Unknown => None,
    }
}

/// The state of a session's branch. A file with an unconfirmed answer is not listed as held.
fn status(engine: &Engine, name: &SessionName) -> Result<ConversationStatus, Error> {
    let answers = engine.settings().answers;
    engine.with_session(name, Create::No, |session| {
        let transcript = session.transcript();
        let knowledge = transcript.knowledge();
        let span = |held: &Held| held.lines().map(|lines| (lines, held.at()));
        let files = knowledge
            .paths()
            .filter(|(path, _)| !transcript.is_distrusted() && !transcript.is_pending(path))
            .map(|(path, held)| FileStatus {
                path: path.to_string(),
                whole: knowledge.holds_whole(path, Form::Disk, answers).is_some(),
                spans: held.len(),
                lines: held.iter().filter_map(span).collect(),
            })
            .collect();
        let (window, mut reads) = transcript.window();
        reads.retain(|read| engine.may_name(&read.path));
        let mut counts = BTreeMap::new();
        for mode in reads.iter().filter_map(|read| Mode::parse(&read.mode)) {
            *counts.entry(mode).or_default() += 1;
        }
        let plain_bytes: u64 = reads.iter().map(|read| read.plain_bytes).sum();
        let sent_bytes: u64 = reads.iter().map(|read| read.sent_bytes).sum();
        ConversationStatus {
            name: Some(name.clone()),
            files,
            window,
            compacted: transcript.is_compacted(),
            counts,
            plain_bytes,
            sent_bytes,
            saved_bytes: plain_bytes.cast_signed() - sent_bytes.cast_signed(),
            distrusted: transcript.is_distrusted(),
            known: true,
            texts: None,
        }
    })
}
