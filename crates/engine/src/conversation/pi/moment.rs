//! The version log as a pi session needs it: which record is the newest when something is shown, and what others made of a file
//! since. Records nothing.

use readproof_core::{
    knowledge::{Event, Knowledge},
    path::PathKey,
    scope::Scope,
    text::ContentHash,
};
use readproof_disk::{Create, FileRef};
use readproof_hosts::{
    pi::{EntryRef, Met},
    versions::{Moment, VersionId, Versions},
};

use super::PiConversation;
use crate::{Engine, history::met};

/// The newest record; `None` without a log, or if it cannot be read.
pub(super) fn newest(engine: &Engine) -> Option<Moment> {
    engine.with_versions(Create::No, |versions| Ok(versions.newest_moment())).ok().flatten().flatten()
}

impl PiConversation {
    /// The newest record of the version log, if it is a moment that one can go back to.
    #[must_use]
    pub fn moment(&self, engine: &Engine) -> Option<Moment> {
        let is_moment = |versions: &Versions, id: VersionId| {
            versions.change(id).is_some() || versions.checkpoints().next_back().is_some_and(|(mark, _)| mark == id)
        };
        let moment = engine.with_versions(Create::No, |versions| {
            Ok(versions.newest_moment().filter(|moment| is_moment(versions, moment.version)))
        });
        moment.ok().flatten().flatten()
    }

    /// The version of a moment; `None` if it is of another log.
    #[must_use]
    pub fn version_of(&self, engine: &Engine, moment: &str) -> Option<VersionId> {
        let moment = Moment::parse(moment)?;
        newest(engine).filter(|newest| newest.log == moment.log).map(|_| moment.version)
    }

    /// What the model holds of a file at an entry, without the lines that others overtook.
    pub(super) fn still_held(
        &mut self,
        engine: &Engine,
        place: Option<EntryRef>,
        (path, file, now): (&PathKey, &FileRef, ContentHash),
    ) -> Knowledge {
        let known = self.known_at(place);
        let mut held = known.of(path).clone();
        if held.of(path).is_empty() {
            return held;
        }
        let logged = engine.logged_name(file);
        let overtaken = engine.with_versions(Create::No, |versions| {
            let after = |record: u64| -> Vec<Met> {
                let records = versions.of_path(&logged).rev().take_while(|(id, _, _)| id.0 > record);
                records.filter_map(|(id, _, file)| Some((id.0, met(file)?))).collect()
            };
            let log = versions.newest_moment().map(|newest| (newest.log, versions.is_later()));
            Ok(log.map(|log| known.overtaken(path, now, log, &after)))
        });
        let Ok(overtaken) = overtaken else {
            // What a log that cannot be read would tell, nobody knows.
            return Knowledge::default();
        };
        for lines in overtaken.flatten().into_iter().flatten() {
            let event = Event::Refreshed { paths: vec![path.clone()], scope: Scope::Lines(lines) };
            held.apply(0, &event, engine.shared.settings.answers);
        }
        held
    }
}
