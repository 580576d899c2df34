//! What may be relied on for one request: the session and what it proves, or the reason why nothing is. Does not decide
//! how to answer.

use readproof_core::{
    alike::alike,
    decide::{Ask, Choice, Decision, Reason, choose_base},
    knowledge::{Alike, Event, Held, Knowledge, piece::pieces},
    limits::{Answers, Limits},
    operation::{Audience, Freshness, Read},
    path::PathKey,
    text::{ContentHash, Text},
};
use readproof_disk::{FileRef, Loaded, SessionName, Snapshot, StoreError};
use readproof_hosts::{
    session::{AlikeLines, Call, EntryId, Mark, Record, SeenFile, Session, Sha, Stands},
    versions::is_of_one_log,
};

use std::{collections::BTreeMap, sync::Arc};

use crate::{Conversation, Engine, Notice, ShownText};

/// One call's view of its conversation.
pub struct CallContext {
    /// The session that records the answer, if any.
    pub(crate) session: Option<SessionName>,
    /// Where in the session the call was made.
    pub(crate) call: Call,
    /// Where in the session's tree the answer goes.
    pub(crate) stands: Stands,
    /// Said beside the answer.
    pub(crate) notices: Vec<Notice>,
    /// Whether the text may be stored.
    pub(crate) store_text: bool,
    /// Why the answer must be plain text, if so.
    pub(crate) plain: Option<Reason>,
    /// What others made of the file.
    pub(crate) others: Others,
}

/// What others made of a file, as far as the version log tells. The model may have seen it by other means, such as a shell.
#[derive(Clone, Debug, Default)]
pub(crate) struct Others {
    /// The mark of the newest record of the log.
    pub(crate) newest: Option<u64>,
    /// Whether the log cannot be read, so that nobody knows what they made.
    pub(crate) unreadable: bool,
    /// Each text with the mark of its record; none for a text that is not kept, or if the file was gone.
    pub(crate) texts: Vec<(u64, Option<ContentHash>)>,
    /// The marks of the conversation's own changes, by the entries that announced them.
    pub(crate) own: BTreeMap<u64, u64>,
}

impl Others {
    /// Whether they gave the file a third text after an entry showed one, or may have.
    pub(crate) fn made_third(
        &self,
        session: &Session,
        entry: EntryId,
        (shown, now): (ContentHash, ContentHash),
    ) -> bool {
        let transcript = session.transcript();
        let entry = transcript.named(entry);
        let known = match transcript.record(entry) {
            Some(Record::Begun { .. }) => self.own.get(&entry.0).copied().unwrap_or(0),
            Some(Record::Answer { answer, .. }) => answer.versions.unwrap_or(0),
            Some(Record::Change { changed, .. }) => self.own.get(&changed.begun).copied().unwrap_or(0),
            _ => 0,
        };
        // What was recorded after a mark of a log that was put aside is not known.
        if self.unreadable || self.newest.is_some_and(|newest| !is_of_one_log(known, newest)) {
            return true;
        }
        let is_third = |text: &Option<ContentHash>| text.is_none_or(|text| text != shown && text != now);
        self.texts.iter().any(|(record, text)| *record > known && is_third(text))
    }
}

impl CallContext {
    /// What the request and the file allow, independent of the conversation.
    pub(crate) fn of(engine: &Engine, request: &Read, file: &FileRef, read: &Snapshot) -> Self {
        let sensitive = engine.shared.sensitive.is_sensitive_read(file, read);
        let plain = match (sensitive, request.audience, request.freshness) {
            (true, _, _) => Some(Reason::Sensitive),
            (_, Audience::Program, _) => Some(Reason::ForProgram),
            (_, _, Freshness::Fresh) => Some(Reason::Fresh),
            (false, Audience::Model, Freshness::Known) => None,
        };
        let (call, stands, others) = (Call::default(), Stands::default(), Others::default());
        Self { session: None, call, stands, notices: Vec::new(), store_text: !sensitive, plain, others }
    }

    /// Says that a text could not be stored. Where the branch moves it is not tried again, and so said once.
    pub(crate) fn not_stored(&mut self, error: StoreError) {
        self.store_text = false;
        self.notices.push(Notice::NotStored { text: ShownText::This, why: Arc::new(error) });
    }
}

/// What is held at the moment of the decision.
pub struct KnowledgeAtCall {
    pub(crate) mark: Option<Mark>,
    /// At the leaf, and at the place where the call was made.
    knowledge: Result<(Knowledge, Knowledge), Reason>,
    answers: Answers,
}

impl KnowledgeAtCall {
    /// What was held when the call was made, if anything may be relied on.
    pub(crate) fn at_call(self) -> Option<Knowledge> {
        self.knowledge.ok().map(|(_, call)| call)
    }

    /// For a conversation whose leaf is where the call was made.
    pub(crate) fn at(knowledge: Result<Knowledge, Reason>, answers: Answers) -> Self {
        Self { mark: None, knowledge: knowledge.map(|held| (held.clone(), held)), answers }
    }

    /// The base that may be relied on.
    pub(crate) fn choose(&self, path: &PathKey, now: &Text, ask: &Ask) -> Choice {
        match &self.knowledge {
            Ok((leaf, call)) => {
                let choice = choose_base(leaf, path, now, ask, self.answers);
                // A result that arrived since the call does not count, nor does one that it contradicts.
                let before = choose_base(call, path, now, ask, self.answers);
                if choice == before { choice } else { Choice::None(Reason::BranchMoved) }
            }
            Err(reason) => Choice::None(*reason),
        }
    }
}

impl KnowledgeAtCall {
    /// In place of a decision for plain text a partial answer, if enough lines of the window may be named. None may if what is held at
    /// the leaf is not what was held when the call was made, or the branch kept moving.
    pub(crate) fn or_partial<C: Conversation>(
        &self,
        decision: Decision,
        (engine, conversation): (&Engine, &C),
        read: &Read,
        (path, now, ask): (&PathKey, &Text, &Ask),
        limits: &Limits,
    ) -> Decision {
        let (Ok((leaf, call)), Some(lines)) = (&self.knowledge, ask.window.lines()) else { return decision };
        let is_plain = !decision.mode.is_derived() && decision.reason != Reason::BranchMoved;
        if self.answers != Answers::Lean || !is_plain || !leaf.agrees(call, path) {
            return decision;
        }
        let load = |hash| if let Loaded::Text(text) = conversation.load(engine, hash) { Some(text) } else { None };
        let pieces = pieces((leaf, path), (now, lines), conversation.naming(engine, read), limits, load);
        decision.or_partial(now, ask, pieces, limits)
    }

    /// The held lines of other versions that are identical in the current one, if only all of them together cover the
    /// request.
    fn alike(&self, path: &PathKey, now: &Text, ask: &Ask, load: impl Fn(ContentHash) -> Option<Text>) -> Vec<Alike> {
        let (Ok((leaf, _)), Some(lines)) = (&self.knowledge, ask.window.lines()) else { return Vec::new() };
        if self.answers == Answers::Seed || !leaf.is_mixed(path, lines, now.form()) {
            return Vec::new();
        }
        let pieces = alike(leaf.of(path), now, load);
        let mut added = leaf.clone();
        let event = Event::Alike { path: path.clone(), version: now.version(), pieces: pieces.clone() };
        added.apply(0, &event, self.answers);
        if added.holds_lines_of(path, lines, now.id(), self.answers) { pieces } else { Vec::new() }
    }
}

/// The text of a chosen base. Missing is data, not an error.
pub(crate) fn loaded(choice: Choice, load: impl FnOnce(ContentHash) -> Loaded) -> Option<Text> {
    match choice.needs().map(load)? {
        Loaded::Text(text) => Some(text),
        Loaded::Missing | Loaded::Damaged => None,
    }
}

impl Engine {
    /// What is held on the session's branch as of its last catch-up. Whether something was appended since shows when
    /// the answer is recorded at this mark.
    pub(crate) fn held(&self, context: &CallContext, path: &PathKey) -> KnowledgeAtCall {
        let answers = self.shared.settings.answers;
        let name = context.session.as_ref();
        let held = name.and_then(|name| self.with_open_session(name, |session| held_in(session, context, path)));
        let (mark, knowledge) = match held {
            Some((mark, knowledge)) => (Some(mark), knowledge),
            None => (None, Err(context.plain.unwrap_or(Reason::NoTranscript))),
        };
        KnowledgeAtCall { mark, knowledge, answers }
    }

    /// What is held once identical lines of other versions count as lines of the current one. This is recorded, so that
    /// knowledge derived from the log is the same.
    pub(crate) fn add_up(
        &self,
        context: &CallContext,
        path: &PathKey,
        now: &Text,
        ask: &Ask,
        held: KnowledgeAtCall,
    ) -> KnowledgeAtCall {
        let pieces = held.alike(path, now, ask, |hash| self.stored(hash));
        let (Some(name), Some(mark), false) = (&context.session, held.mark, pieces.is_empty()) else { return held };
        let said = pieces.iter().map(|piece| (Sha(piece.base), piece.first, piece.last)).collect();
        let version = (Sha(now.hash()), now.total());
        let found = AlikeLines { path: path.to_string(), version, pieces: said, at: self.now() };
        let event = found.event();
        let recorded = self.with_open_session(name, |session| session.found_alike(mark, found));
        if !matches!(recorded, Some(Ok(()))) {
            // The branch moved, or the log cannot be written: then the text is sent.
            return held;
        }
        let mut added = self.held(context, path);
        if let Ok((_, call)) = &mut added.knowledge {
            // It is a fact about two texts, so it also holds where the call was made.
            call.apply(0, &event, self.shared.settings.answers);
        }
        added
    }

    /// Forgets what is held of a file, on the branch of a call, if others gave it a third text since: the model may have seen that
    /// one by other means. Returns whether it did.
    pub(crate) fn forget_overtaken(
        &self,
        (name, call): (&SessionName, Call),
        (path, now): (&PathKey, &Text),
        others: &Others,
    ) -> bool {
        if others.texts.is_empty() && !others.unreadable && others.newest.is_none_or(|newest| is_of_one_log(newest, 0))
        {
            return false;
        }
        let at = self.now();
        let done = self.with_open_session(name, |session| {
            let third = |held: &Held| {
                let entry = EntryId(held.at());
                held.versions().any(|shown| others.made_third(session, entry, (shown.hash, now.hash())))
            };
            let held = [Some(session.knowledge()), session.knowledge_at(call)];
            if !held.iter().flatten().any(|held| held.of(path).iter().any(third)) {
                return false;
            }
            let void = SeenFile { path: path.to_string(), text: None, lines: Vec::new() };
            // Where it cannot be recorded, the answer is plain all the same.
            let _ = session.saw(call, vec![void], at);
            true
        });
        done.unwrap_or(false)
    }

    /// The current mark of an open session.
    pub(crate) fn mark(&self, name: &SessionName) -> Option<Mark> {
        self.with_open_session(name, |session| session.mark())
    }
}

/// What a session holds of a file at its leaf, and at the place where the call was made.
fn held_in(session: &Session, context: &CallContext, path: &PathKey) -> (Mark, Result<(Knowledge, Knowledge), Reason>) {
    let transcript = session.transcript();
    let knowledge = if let Some(reason) = context.plain {
        Err(reason)
    } else if transcript.is_distrusted() {
        Err(Reason::HostAlters)
    } else if transcript.is_pending(path) {
        Err(Reason::NotConfirmed)
    } else {
        let at_call = session.knowledge_at(context.call).ok_or(Reason::BranchMoved);
        at_call.map(|at_call| (transcript.knowledge(), at_call))
    };
    (session.mark(), knowledge)
}
