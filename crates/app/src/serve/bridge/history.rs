//! What was, for a pi session: the moment that an entry stands for, what others changed since one, and the way back to one. pi's own
//! tools change files without a call of ours, so what they did is met by a look, like anyone else's change.

use readproof_core::operation::{
    Caller, Changes, History, Leaf, Operation, OutsideChanges, Rewind,
    approval::{Decision, How, Scope},
};
use readproof_engine::{ChangesFound, Error, HistoryError, HistoryListed, Keeping, Moment, Rewound, VersionId};

use super::{
    Server,
    wire::{Body, Request},
};
use crate::tools::{
    call::ToolOutput,
    history::{changes_said, rewound_said, undone},
};

/// How often a rewind is made anew because a rule asks about it: what it does may change meanwhile.
const ROUNDS: usize = 3;

/// The most files that are listed, and the most lines of a diff that are shown: a person reads them in a notice.
const MOST_FILES: usize = 20;
const MOST_LINES: usize = 200;

impl Server {
    /// Looks at all files, and says which moment this is; none where no history is kept.
    pub(super) fn moment(&mut self, request: &Request<'_>, cancelled: &dyn Fn() -> bool) -> Result<Body, Error> {
        if !self.is_meant() || self.engine.settings().history == Keeping::Off {
            return Ok(Body::Moment { moment: None });
        }
        let look = Operation::History(History { path: None, limit: Some(0) });
        let _: HistoryListed = self.ask(request, look, cancelled)?.try_into()?;
        if self.conversation.moment(&self.engine).is_none() {
            // The newest record is nothing that one can go back to, or there is none.
            let mark = Operation::Checkpoint { name: None };
            let _: VersionId = self.ask(request, mark, cancelled)?.try_into()?;
        }
        Ok(Body::Moment { moment: self.conversation.moment(&self.engine).as_ref().map(Moment::to_string) })
    }

    /// Goes back to a moment, or says what that would do. What other conversations changed is merged or kept.
    pub(super) fn rewind(&mut self, request: &Request<'_>, cancelled: &dyn Fn() -> bool) -> Result<Body, Error> {
        let asked = Rewind {
            to: self.version(request)?.ok_or_else(|| no_moment(request))?.to_string(),
            paths: Vec::new(),
            outside: OutsideChanges::Undo,
            leaf: Leaf::Stays,
            everything: false,
            assume: false,
            dry_run: request.dry_run,
        };
        let caller = self.in_conversation();
        let found: Rewound = self.agreed(request, (&caller, Operation::Rewind(asked)), cancelled)?.try_into()?;
        let stays = found.files.iter().filter(|file| file.what.stays()).count();
        let changes = found.files.len() - stays;
        let mut files: Vec<String> = found.files.iter().take(MOST_FILES).map(undone).collect();
        if found.files.len() > MOST_FILES {
            files.push(format!("{} more files", found.files.len() - MOST_FILES));
        }
        Ok(Body::Rewound { changes, stays, files, text: trailer(&rewound_said(&found)) })
    }

    /// What others changed since a moment.
    pub(super) fn changes(&mut self, request: &Request<'_>, cancelled: &dyn Fn() -> bool) -> Result<Body, Error> {
        let since = self.version(request)?.map(|version| version.to_string());
        let caller = self.in_conversation();
        let operation = Operation::Changes(Changes { since });
        let found: ChangesFound = self.ask_as(request, &caller, operation, cancelled)?.try_into()?;
        let said = changes_said(&found);
        let diff = said.text.as_deref().unwrap_or_default();
        let mut lines: Vec<&str> = diff.lines().take(MOST_LINES).collect();
        let left = diff.lines().count().saturating_sub(MOST_LINES);
        let more = format!("[{left} more lines: `readproof changes --since {}` shows them]", found.since);
        lines.extend(Some(more.as_str()).filter(|_| left > 0));
        let trailer = trailer(&said);
        lines.push(&trailer);
        Ok(Body::Said { text: lines.join("\n") })
    }

    /// The version of the moment that is named; an error if that is of no log that is there.
    fn version(&self, request: &Request<'_>) -> Result<Option<VersionId>, Error> {
        let named = request.moment.as_deref();
        let version = |moment| self.conversation.version_of(&self.engine, moment).ok_or_else(|| no_moment(request));
        named.map(version).transpose()
    }

    /// The caller in its session: its earlier rewinds are its own, and records name the session.
    pub(super) fn in_conversation(&self) -> Caller {
        Caller { conversation: self.session.clone(), ..self.caller.clone() }
    }

    /// Performs an operation that the person in pi was asked about and agreed to, if the request says so.
    fn agreed(
        &mut self,
        request: &Request<'_>,
        (caller, operation): (&Caller, Operation),
        cancelled: &dyn Fn() -> bool,
    ) -> super::Performed {
        let mut done = self.ask_as(request, caller, operation.clone(), cancelled);
        for _ in 0..ROUNDS {
            let waiting = match done {
                Err(Error::ApprovalNeeded(waiting)) if request.agreed => waiting,
                done => return done,
            };
            let (decision, scope, how) = (Decision::Approve, Scope::Once, How::Elicitation);
            let decide = Operation::Decide { id: waiting.id, decision, scope, how };
            self.ask_as(request, caller, decide, cancelled)?;
            done = self.ask_as(request, caller, operation.clone(), cancelled);
        }
        done
    }
}

fn no_moment(request: &Request<'_>) -> Error {
    Error::History(HistoryError::NoMoment { asked: request.moment.as_deref().unwrap_or_default().to_owned() })
}

/// The last line, without its brackets.
fn trailer(said: &ToolOutput) -> String {
    let line = said.trailer.as_ref().map(|trailer| trailer.line.as_str()).unwrap_or_default();
    line.trim_start_matches('[').trim_end_matches(']').to_owned()
}
