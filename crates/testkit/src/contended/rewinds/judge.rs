//! Whether a rewind did what it said, and said what it did: by the recorder's bytes alone.

use readproof_engine::{
    HistoryListed, Rewound, ShownVersion, Undo,
    operation::{AnswerLimit, History, Operation, OutsideChanges, Rewind, ShowVersion},
};
use std::collections::BTreeSet;

use super::{
    play::{Moment, Play},
    recorder::{Snapshot, Thing, Who},
};
use crate::world::Broken;

/// A rewind that was made.
pub(super) struct Asked<'a> {
    pub(super) rewind: &'a Rewind,
    pub(super) who: Who,
    pub(super) moment: &'a Moment,
    pub(super) before: &'a Snapshot,
}

impl Asked<'_> {
    /// Whether what someone did is to be kept.
    fn is_foreign(&self, by: Who) -> bool {
        match (self.who, by) {
            _ if self.rewind.everything => false,
            (_, Who::Outside) => self.rewind.outside == OutsideChanges::Keep,
            (Who::Agent(own), Who::Agent(other)) => own != other,
            (Who::Agent(_), Who::Person) => true,
            (Who::Person | Who::Outside, _) => false,
        }
    }

    fn is_wanted(&self, path: &str) -> bool {
        let paths = &self.rewind.paths;
        paths.is_empty() || paths.iter().any(|one| path == one || path.starts_with(&format!("{one}/")))
    }
}

fn same(one: Option<&Thing>, other: Option<&Thing>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => one.same_bytes(other),
        (one, other) => one.is_none() && other.is_none(),
    }
}

/// Judges a rewind and the dry run before it.
pub(super) fn judge(play: &mut Play<'_>, asked: &Asked<'_>, (plan, done): (Rewound, &Rewound)) -> Result<(), Broken> {
    let listed = |rewound: &Rewound| -> Vec<(String, &'static str)> {
        rewound.files.iter().map(|file| (file.path.clone(), file.what.as_str())).collect()
    };
    if listed(&plan) != listed(done) {
        return Err(format!("the dry run says {:?}, the rewind {:?}", plan.files, done.files).into());
    }
    for file in &done.files {
        *play.done.files.entry(file.what.as_str()).or_default() += 1;
    }
    let now = play.recorder.now.clone();
    let names: BTreeSet<&String> = asked.before.keys().chain(now.keys()).chain(asked.moment.state.keys()).collect();
    for path in names {
        let said = done.files.iter().find(|file| file.path == *path).map(|file| file.what);
        one(play, asked, (path, said), &now).map_err(|error| {
            let there = (asked.moment.state.get(path), asked.before.get(path), now.get(path));
            let since: Vec<Who> = play.recorder.changers(path, asked.moment.step).collect();
            let told = |thing: Option<&Thing>| {
                thing.map(|thing| thing.lines().join("|").chars().take(200).collect::<String>())
            };
            let there = (told(there.0), told(there.1), told(there.2));
            format!(
                "{path} ({said:?}) after {:?} by {:?}: {error}; it was, was and is {there:?}; changed by {since:?}; {}",
                asked.rewind,
                asked.who,
                play.history(path)
            )
        })?;
    }
    Ok(())
}

fn one(
    play: &mut Play<'_>,
    asked: &Asked<'_>,
    (path, said): (&str, Option<Undo>),
    now: &Snapshot,
) -> Result<(), Broken> {
    let (then, was, is) = (asked.moment.state.get(path), asked.before.get(path), now.get(path));
    let is_exact = asked.moment.exact && !asked.rewind.assume;
    match said {
        Some(Undo::Restored | Undo::Made | Undo::Removed) => {
            if is_exact && !same(is, then) {
                return Err("not as it was".into());
            }
            if let (Some(Undo::Made), Some(Thing::File { executable: then, .. }), Some(Thing::File { executable, .. })) =
                (said, then, is)
                && is_exact
                && !is_unseen(path)
                && then != executable
            {
                return Err("its permissions are not as they were".into());
            }
        }
        Some(Undo::Merged) => {}
        Some(what) if !what.stays() => return Err("a change that nobody knows".into()),
        Some(_) | None => {
            if !same(is, was) {
                return Err("it was not to change".into());
            }
        }
    }
    if asked.moment.exact {
        still_there(play, asked, path, (was, is))?;
    }
    if is_exact && said.is_none() && !same(is, then) && !is_excused(play, asked, path) {
        return Err("neither as it was nor listed".into());
    }
    if let (Some(Thing::File { bytes, .. }), false) = (was, same(was, is)) {
        is_kept(play, path, bytes)?;
    }
    Ok(())
}

/// What others wrote since the moment is still there, unless someone else put the same lines there too.
fn still_there(
    play: &Play<'_>,
    asked: &Asked<'_>,
    path: &str,
    (was, is): (Option<&Thing>, Option<&Thing>),
) -> Result<(), Broken> {
    let (was, is) = (was.map(Thing::lines).unwrap_or_default(), is.map(Thing::lines).unwrap_or_default());
    let since = play.recorder.events.iter().filter(|event| event.step > asked.moment.step && event.path == path);
    let is_own = |line: &String| {
        let mut by = since.clone().filter(|event| event.added.contains(line));
        by.any(|event| !asked.is_foreign(event.taken.unwrap_or(event.who)))
    };
    let foreign = since.clone().filter(|event| asked.is_foreign(event.who));
    for line in foreign.flat_map(|event| &event.added).filter(|line| !is_own(line)) {
        if was.contains(&line.as_str()) && !is.contains(&line.as_str()) {
            return Err(format!("{line:?}, which others wrote, is gone").into());
        }
    }
    Ok(())
}

/// Whether a name is one that not every look meets.
fn is_unseen(path: &str) -> bool {
    path.split('/').any(|part| part.starts_with('.') || part.ends_with(".log"))
}

/// Whether a file that is not as it was need not be listed: nobody asked for it, only others changed it, or nobody looks at it.
fn is_excused(play: &Play<'_>, asked: &Asked<'_>, path: &str) -> bool {
    let since = play.recorder.events.iter().filter(|event| event.step > asked.moment.step && event.path == path);
    // What nobody had looked at before a call changed the file is part of that call.
    let mut changers = since.map(|event| event.taken.unwrap_or(event.who));
    is_unseen(path) || play.only_tracked || !asked.is_wanted(path) || changers.all(|who| asked.is_foreign(who))
}

/// Every text that went can be shown.
fn is_kept(play: &mut Play<'_>, path: &str, bytes: &[u8]) -> Result<(), Broken> {
    let text = str::from_utf8(bytes).map_err(|_| "bytes that no version holds are gone")?;
    let asked = Operation::History(History { path: Some(path.to_owned()), limit: Some(1000) });
    let listed: HistoryListed = play.ask("", asked).map_err(|error| format!("no history: {error:?}"))?;
    for entry in listed.entries {
        let (version, path) = (entry.id.to_string(), Some(path.to_owned()));
        let most = AnswerLimit { lines: u32::MAX, chars: u32::MAX };
        let shown = play.ask::<ShownVersion>("", Operation::ShowVersion(ShowVersion { version, path, most }));
        if shown.is_ok_and(|shown| shown.text == text) {
            play.done.found_again += 1;
            return Ok(());
        }
    }
    Err("its text is in no version".into())
}
