//! How much a call may write, and a conversation in all. What a conversation wrote is counted in the version log, so that it
//! is the same for every process; callers that name no conversation are counted as long as their connection lasts.

use readproof_core::{edit::Piece, operation::Caller};
use readproof_disk::Create;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{
    Wanted,
    plan::{Intent, Plan},
};
use crate::{Engine, Error};

impl Engine {
    /// Refuses a call that writes more than may be. `calls` is which one of its conversation it is.
    pub(super) fn within_limits(&self, bytes: u64, files: usize, calls: u64) -> Result<(), Error> {
        match self.shared.settings.writes.exceeded(bytes, files as u64, calls) {
            Some(over) => Err(Error::OverLimit(over)),
            None => Ok(()),
        }
    }

    /// The same for what was worked out.
    pub(super) fn may_write(&self, caller: &Caller, wanted: &[Wanted<'_>], plans: &[Plan]) -> Result<(), Error> {
        let changing = || plans.iter().zip(wanted).filter(|(plan, _)| !plan.is_needless());
        let bytes = changing().map(|(plan, wanted)| bytes(&wanted.intent, plan)).sum();
        // A move is one file, whatever it leaves.
        let files = changing().filter(|(_, wanted)| !matches!(wanted.intent, Intent::Leave)).count();
        self.within_limits(bytes, files, self.writes_of(caller)? + 1)
    }

    /// How many calls of a conversation have written.
    fn writes_of(&self, caller: &Caller) -> Result<u64, Error> {
        match &caller.conversation {
            Some(name) => {
                let count = self.with_versions(Create::No, |versions| Ok(versions.calls_of(&caller.surface, name)))?;
                let elsewhere = self.asker.as_ref().map(|asker| asker.writes_of(caller)).transpose()?;
                Ok(count.unwrap_or_default() + elsewhere.unwrap_or_default())
            }
            None => Ok(self.unnamed_writes().load(Ordering::Relaxed)),
        }
    }

    /// Outside the workspace, those of the workspace that the calls came from count too.
    fn unnamed_writes(&self) -> &AtomicU64 {
        self.asker.as_ref().map_or(&self.shared.unnamed_writes, |asker| asker.unnamed_writes())
    }

    /// A call has written.
    pub(super) fn count_write(&self, caller: &Caller) {
        if caller.conversation.is_none() {
            self.unnamed_writes().fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// The bytes that a call writes to a file: those it brings, or by how much the file grows, whichever is more. A move brings
/// only what it changes.
fn bytes(intent: &Intent<'_>, plan: &Plan) -> u64 {
    let length = |text: Option<&str>| text.map_or(0, |text| text.len() as u64);
    let of = |pieces: &[Piece]| pieces.iter().map(|piece| length(Some(&piece.new))).sum();
    let before = length(plan.before.as_ref().map(|text| text.as_str()));
    let grows = length(plan.after.as_ref().map(|text| text.as_str())).saturating_sub(before);
    match intent {
        Intent::Whole(text)
        | Intent::Chosen(text)
        | Intent::Restored(text, ..)
        | Intent::Create(text)
        | Intent::Append(text) => length(Some(text)).max(grows),
        Intent::Pieces(pieces) => grows.max(of(pieces)),
        Intent::Arrive { pieces, .. } => of(pieces),
        Intent::Delete | Intent::Leave => 0,
    }
}
