//! Moving in a session's tree: list, show, branch, switch, fork, compact, and what a host reports about its context.

use readproof_core::decide::Mode;
use readproof_disk::{Create, SessionName};
use readproof_hosts::own::{Block, EntryId, Step};

use crate::{Engine, Error};

/// One entry of a session as it is listed.
#[derive(Clone, Debug)]
pub struct Listed {
    /// What to name to go there.
    pub id: EntryId,
    /// Where it stands.
    pub parent: Option<EntryId>,
    /// Whether it is on the branch that ends at the leaf.
    pub on_branch: bool,
    /// `read`, `write`, `seen`, `refresh`, `compact`, `context_edit` or `unknown`.
    pub kind: &'static str,
    /// The file or files it concerns.
    pub path: Option<String>,
    /// For a read, how it was answered.
    pub mode: Option<Mode>,
    /// What else there is to say.
    pub note: String,
}

/// A session's tree.
#[derive(Clone, Debug)]
pub struct SessionView {
    /// Its name.
    pub session: SessionName,
    /// Where it stands; `None` is the root.
    pub leaf: Option<EntryId>,
    /// Every entry, oldest first.
    pub entries: Vec<Listed>,
}

impl Engine {
    /// The sessions of this workspace.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn session_list(&mut self) -> Result<Vec<SessionName>, Error> {
        Ok(self.store(Create::No)?.map(|store| store.logs().sessions()).unwrap_or_default())
    }

    /// A session's tree.
    ///
    /// # Errors
    /// When there is no such session or its log cannot be read.
    pub fn session_show(&mut self, name: &SessionName) -> Result<SessionView, Error> {
        let transcript = self.session(name, Create::No)?.transcript();
        let leaf = transcript.leaf().map(EntryId);
        let branch: std::collections::BTreeSet<EntryId> = transcript.branch(leaf).into_iter().collect();
        let entries = transcript
            .entries()
            .into_iter()
            .map(|entry| {
                let (kind, path, mode, note) = described(&entry.step);
                let on_branch = branch.contains(&entry.id);
                Listed { id: entry.id, parent: entry.parent, on_branch, kind, path, mode, note }
            })
            .collect();
        Ok(SessionView { session: name.clone(), leaf: leaf.map(|leaf| transcript.named(leaf)), entries })
    }

    /// Goes on from an earlier entry: what follows is another branch. `None` is the root.
    ///
    /// # Errors
    /// When there is no such session or entry, or the log cannot be written.
    pub fn session_branch(&mut self, name: &SessionName, at: Option<EntryId>) -> Result<Option<EntryId>, Error> {
        let now = self.now();
        let session = self.session(name, Create::No)?;
        session.move_to(at, now)?;
        Ok(at.map(|at| session.transcript().named(at)))
    }

    /// Goes to the tip of the branch that holds an entry.
    ///
    /// # Errors
    /// When there is no such session or entry, or the log cannot be written.
    pub fn session_switch(&mut self, name: &SessionName, to: EntryId) -> Result<EntryId, Error> {
        let now = self.now();
        let session = self.session(name, Create::No)?;
        let tip = if session.transcript().entry(to).is_some() { session.transcript().tip(to) } else { to };
        session.move_to(Some(tip), now)?;
        Ok(session.transcript().named(tip))
    }

    /// Makes a session of its own from a branch.
    ///
    /// # Errors
    /// When there is no such session or entry, the new name is taken, or the log cannot be written.
    pub fn session_fork(
        &mut self,
        name: &SessionName,
        from: Option<EntryId>,
        into: Option<SessionName>,
    ) -> Result<SessionName, Error> {
        let now = self.now();
        let taken = self.session_list()?;
        let into = match into {
            Some(into) => into,
            None => free_name(name, &taken)?,
        };
        let leaf = self.session(name, Create::No)?.transcript().leaf().map(EntryId);
        let (Some((store, _)), Some(session)) = (&self.store, self.sessions.get(name)) else {
            return Err(Error::NoSession(name.clone()));
        };
        let fork = session.fork(&**store, &into, from.or(leaf), now)?;
        self.sessions.insert(into.clone(), fork);
        Ok(into)
    }

    /// The barrier: nothing before it counts on this branch.
    ///
    /// # Errors
    /// When there is no such session or the log cannot be written.
    pub fn session_compact(&mut self, name: &SessionName, summary: Option<String>) -> Result<EntryId, Error> {
        let now = self.now();
        Ok(self.session(name, Create::No)?.compact(summary, now)?)
    }

    /// The host shows `text` (or nothing) where a result stood.
    ///
    /// # Errors
    /// When there is no such session or entry, or the log cannot be written.
    pub fn context_edited(
        &mut self,
        name: &SessionName,
        target: EntryId,
        text: Option<&str>,
    ) -> Result<EntryId, Error> {
        let now = self.now();
        Ok(self.session(name, Create::No)?.edit_context(target, text.map(Block::of), now)?)
    }

    /// The host was seen to drop or change results per request: from here on this session gets plain text.
    ///
    /// # Errors
    /// When there is no such session or the log cannot be written.
    pub fn context_distrusted(&mut self, name: &SessionName, why: &str) -> Result<EntryId, Error> {
        let now = self.now();
        Ok(self.session(name, Create::No)?.distrust(why, now)?)
    }
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

fn described(step: &Step<'_>) -> (&'static str, Option<String>, Option<Mode>, String) {
    let unconfirmed = |delivered: bool| if delivered { String::new() } else { "not confirmed".to_owned() };
    match step {
        Step::Read { answer, delivered } => {
            let note = if *delivered { answer.scope.clone() } else { format!("{}, not confirmed", answer.scope) };
            ("read", Some(answer.path.clone()), Mode::parse(&answer.mode), note)
        }
        Step::Write { path, delivered } => ("write", Some((*path).to_owned()), None, unconfirmed(*delivered)),
        Step::Seen { files } => {
            let names: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
            ("seen", Some(names.join(", ")), None, "lines shown beside reads".to_owned())
        }
        Step::Refresh { paths, scope } => ("refresh", Some(paths.join(", ")), None, (*scope).to_owned()),
        Step::Compact { summary } => ("compact", None, None, summary.unwrap_or_default().to_owned()),
        Step::ContextEdit { target, dropped } => {
            let what = if *dropped { "dropped" } else { "replaced" };
            ("context_edit", None, None, format!("{what} the block of {target}"))
        }
        Step::Unknown => ("unknown", None, None, String::new()),
    }
}
