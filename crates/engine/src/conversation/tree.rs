//! Operations on a session's tree: list, show, branch, switch, fork, compact, and what a host reports about its
//! context. Only a conversation with a log of ours has a tree.

use readproof_core::decide::Mode;
use readproof_disk::{Create, SessionName};
use readproof_hosts::session::{Block, EntryId, EntryKind, ListedEntry, Session};
use std::collections::BTreeSet;

use crate::{Engine, Error};

/// One entry of a session, for listing.
#[derive(Clone, Debug)]
pub struct SessionEntry {
    /// Names the entry in `branch`, `switch` and `fork`.
    pub id: EntryId,
    /// The entry before it on its branch; `None` is the root.
    pub parent: Option<EntryId>,
    /// Whether it is on the current branch.
    pub on_branch: bool,
    /// `read`, `write`, `seen`, `refresh`, `compact`, `context_edit` or `unknown`.
    pub kind: &'static str,
    /// The file or files it concerns.
    pub path: Option<String>,
    /// How a read was answered.
    pub mode: Option<Mode>,
    /// Details: scope, summary, or whether it was confirmed.
    pub note: String,
}

/// A session's tree.
#[derive(Clone, Debug)]
pub struct SessionView {
    /// Its name.
    pub session: SessionName,
    /// The current entry; `None` is the root.
    pub leaf: Option<EntryId>,
    /// Every entry, oldest first.
    pub entries: Vec<SessionEntry>,
}

impl Engine {
    /// The sessions of this workspace.
    pub(crate) fn list_sessions(&self) -> Result<Vec<SessionName>, Error> {
        Ok(self.store(Create::No)?.map(|store| store.logs().sessions()).unwrap_or_default())
    }

    /// A session's tree.
    pub(crate) fn show_session(&self, log: Option<&SessionName>) -> Result<SessionView, Error> {
        let name = named(log)?;
        self.with_session(name, Create::No, |session| {
            let transcript = session.transcript();
            let leaf = transcript.leaf().map(EntryId);
            let branch: BTreeSet<EntryId> = transcript.branch(leaf).into_iter().collect();
            let listed = |entry: ListedEntry<'_>| {
                let (kind, path, mut mode, mut note) = described(&entry.kind, &|name| self.named(name));
                if let EntryKind::Read { answer, delivered } = &entry.kind
                    && !self.may_name(&answer.path)
                {
                    // Which lines there were, and how they were answered, follows from the file's text.
                    (mode, note) = (None, unconfirmed(*delivered));
                }
                let on_branch = branch.contains(&entry.id);
                SessionEntry { id: entry.id, parent: entry.parent, on_branch, kind, path, mode, note }
            };
            let entries = transcript.entries().into_iter().map(listed).collect();
            SessionView { session: name.clone(), leaf: leaf.map(|leaf| transcript.named(leaf)), entries }
        })
    }

    /// Continues from an earlier entry, so that what follows is another branch. `None` is the root.
    pub(crate) fn branch(&self, log: Option<&SessionName>, at: Option<u64>) -> Result<Option<EntryId>, Error> {
        let (now, at) = (self.now(), at.map(EntryId));
        self.with_session(named(log)?, Create::No, |session| {
            session.move_to(at, now)?;
            Ok(at.map(|at| session.transcript().named(at)))
        })?
    }

    /// Moves to the tip of the branch that contains an entry.
    pub(crate) fn switch(&self, log: Option<&SessionName>, to: u64) -> Result<Option<EntryId>, Error> {
        let (now, to) = (self.now(), EntryId(to));
        self.with_session(named(log)?, Create::No, |session| {
            let tip = if session.transcript().entry(to).is_some() { session.transcript().tip(to) } else { to };
            session.move_to(Some(tip), now)?;
            Ok(Some(session.transcript().named(tip)))
        })?
    }

    /// Creates a new session from a branch.
    pub(crate) fn fork(
        &self,
        log: Option<&SessionName>,
        from: Option<u64>,
        into: Option<&str>,
    ) -> Result<SessionName, Error> {
        let (now, name) = (self.now(), named(log)?);
        let taken = self.list_sessions()?;
        let into = match into {
            Some(into) => SessionName::parse(into)?,
            None => free_name(name, &taken)?,
        };
        let store = self.store(Create::No)?.ok_or_else(|| Error::NoSession(name.clone()))?;
        let fork = self.with_session(name, Create::No, |session| {
            let leaf = session.transcript().leaf().map(EntryId);
            session.fork(&*store, &into, from.map(EntryId).or(leaf), now)
        })??;
        self.keep_session(&into, fork);
        Ok(into)
    }

    /// Records a compaction, a barrier: nothing before it is held on this branch.
    pub(crate) fn compact(&self, log: Option<&SessionName>, summary: Option<String>) -> Result<EntryId, Error> {
        let now = self.now();
        Ok(self.with_session(named(log)?, Create::No, |session| session.compact(summary, now))??)
    }

    /// Records that the host shows `text`, or nothing, in place of a result.
    pub(crate) fn edit_context(
        &self,
        log: Option<&SessionName>,
        target: u64,
        text: Option<&str>,
    ) -> Result<EntryId, Error> {
        let now = self.now();
        let edit = |session: &mut Session| session.edit_context(EntryId(target), text.map(Block::of), now);
        Ok(self.with_session(named(log)?, Create::No, edit)??)
    }

    /// Records that the host drops or changes results. From now on this session gets only plain text.
    pub(crate) fn distrust(&self, log: Option<&SessionName>, why: &str) -> Result<EntryId, Error> {
        let now = self.now();
        Ok(self.with_session(named(log)?, Create::No, |session| session.distrust(why, now))??)
    }
}

fn named(log: Option<&SessionName>) -> Result<&SessionName, Error> {
    log.ok_or(Error::NoConversation)
}

/// `NAME-fork`, or the first `NAME-fork-N` that is free.
fn free_name(name: &SessionName, taken: &[SessionName]) -> Result<SessionName, Error> {
    let mut short = name.to_string();
    // Names are ASCII and at most 64 long; leave room for the ending.
    short.truncate(48);
    let mut tries = (1_u64..).map(|n| if n == 1 { format!("{short}-fork") } else { format!("{short}-fork-{n}") });
    let free = tries.find(|candidate| taken.iter().all(|name| name.as_str() != candidate));
    Ok(SessionName::parse(&free.unwrap_or_default())?)
}

fn unconfirmed(delivered: bool) -> String {
    if delivered { String::new() } else { "not confirmed".to_owned() }
}

fn described(
    step: &EntryKind<'_>,
    named: &dyn Fn(&str) -> String,
) -> (&'static str, Option<String>, Option<Mode>, String) {
    match step {
        EntryKind::Read { answer, delivered } => {
            let note = if *delivered { answer.scope.clone() } else { format!("{}, not confirmed", answer.scope) };
            ("read", Some(named(&answer.path)), Mode::parse(&answer.mode), note)
        }
        EntryKind::Write { path, delivered } => ("write", Some(named(path)), None, unconfirmed(*delivered)),
        EntryKind::Seen { files } => {
            let names: Vec<String> = files.iter().map(|file| named(&file.path)).collect();
            ("seen", Some(names.join(", ")), None, "lines shown beside reads".to_owned())
        }
        EntryKind::Refresh { paths, scope } => {
            let names: Vec<String> = paths.iter().map(|path| named(path)).collect();
            ("refresh", Some(names.join(", ")), None, (*scope).to_owned())
        }
        EntryKind::Compact { summary } => ("compact", None, None, summary.unwrap_or_default().to_owned()),
        EntryKind::ContextEdit { target, dropped } => {
            let what = if *dropped { "dropped" } else { "replaced" };
            ("context_edit", None, None, format!("{what} the block of {target}"))
        }
        EntryKind::Unknown => ("unknown", None, None, String::new()),
    }
}
