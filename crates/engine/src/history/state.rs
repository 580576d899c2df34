//! What a file was at a moment, as the version log tells.

use readproof_core::text::{ContentHash, Text};
use readproof_disk::Create;
use readproof_hosts::{
    block::Sha,
    versions::{Change, ChangedFile, FIRST, Gap, VersionId, Versions},
};

use crate::{Engine, Error, HistoryError};

/// What a file was at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// It had this text.
    Text(ContentHash),
    /// There was no such file.
    Absent,
    /// There was one, and its text is not kept.
    Gap(Gap),
    /// Nobody knows whether there was one.
    Unknown,
}

impl State {
    pub(crate) fn before(file: &ChangedFile, operation: &str) -> Self {
        match (file.before, file.gaps.before) {
            (Some(Sha(hash)), _) => Self::Text(hash),
            (None, Some(gap)) => Self::Gap(gap),
            (None, None) if operation == FIRST => Self::Unknown,
            (None, None) => Self::Absent,
        }
    }

    pub(crate) fn after(file: &ChangedFile) -> Self {
        match (file.after, file.gaps.after) {
            (Some(Sha(hash)), _) => Self::Text(hash),
            (None, Some(gap)) => Self::Gap(gap),
            (None, None) if file.removed => Self::Absent,
            // Records of earlier versions name no reason.
            (None, None) => Self::Gap(Gap::Sensitive),
        }
    }

    /// What a file was right after a record of the log. Unknown if nobody had looked at it by then.
    /// That it was not there counts since `absent`, the record since which every look would have met it.
    pub(super) fn at(versions: &Versions, path: &str, moment: VersionId, absent: Option<u64>) -> Self {
        let counts = |since: Option<u64>| since.is_some_and(|since| since <= moment.0);
        Self::at_or(versions, path, moment, |state, since| match state {
            Self::Absent => counts(absent),
            Self::Text(_) | Self::Gap(_) | Self::Unknown => counts(since),
        })
    }

    /// The same, and where nobody had looked at it, what it was before the first change that is known.
    pub(crate) fn assumed_at(versions: &Versions, path: &str, moment: VersionId) -> Self {
        Self::at_or(versions, path, moment, |_, _| true)
    }

    fn at_or(versions: &Versions, path: &str, moment: VersionId, counts: impl Fn(Self, Option<u64>) -> bool) -> Self {
        let mut recorded = None;
        for (id, change, file) in versions.of_path(path) {
            if id > moment {
                let before = || Some(Self::before(file, &change.operation)).filter(|state| counts(*state, file.since));
                return recorded.or_else(before).unwrap_or(Self::Unknown);
            }
            recorded = Some(Self::after(file));
        }
        recorded.unwrap_or(Self::Unknown)
    }

    pub(crate) fn hash(self) -> Option<ContentHash> {
        match self {
            Self::Text(hash) => Some(hash),
            Self::Absent | Self::Gap(_) | Self::Unknown => None,
        }
    }
}

impl Engine {
    /// The moment that a caller names: a version, or a checkpoint by its number or name.
    pub(crate) fn moment(&self, versions: &Versions, asked: &str) -> Result<VersionId, Error> {
        let none = || Error::History(HistoryError::NoMoment { asked: asked.to_owned() });
        let named = versions.checkpoints().rev().find(|(_, checkpoint)| checkpoint.name.as_deref() == Some(asked));
        if let Some((id, _)) = named {
            return Ok(id);
        }
        let id = VersionId::parse(asked).ok_or_else(none)?;
        if versions.checkpoints().any(|(other, _)| other == id) {
            return Ok(id);
        }
        let is_shown =
            |id: VersionId, change: &Change| change.files.iter().any(|file| self.may_see(versions, &file.path, id));
        // An event has happened once its last record is written.
        let mut event = versions.event(id).rev();
        let last = event.next().map(|(last, _)| last);
        let is_known = versions.event(id).any(|(id, change)| is_shown(id, change));
        last.filter(|_| is_known).ok_or_else(none)
    }

    /// Whether a version may be shown: a rule may hide any of the names that its file had before or has had since.
    pub(super) fn may_see(&self, versions: &Versions, path: &str, id: VersionId) -> bool {
        self.may_name(path) && versions.names_of(path, id).into_iter().all(|name| self.may_name(name))
    }

    /// The text of a file at a moment; `None` if there was no file.
    pub(super) fn text_at(&self, (path, logged): (&str, &str), moment: VersionId) -> Result<Option<Text>, Error> {
        let not_kept = |gap| {
            let (path, version) = (path.to_owned(), moment.to_string());
            Err(Error::History(HistoryError::NotKeptThen { path, version, gap }))
        };
        let state = self.with_versions(Create::No, |versions| {
            let before = versions.of_path(logged).rev().find(|(id, _, _)| *id <= moment);
            let after = versions.of_path(logged).find(|(id, _, _)| *id > moment);
            let mut near = before.iter().chain(&after);
            let is_shown = near.all(|(id, _, _)| self.may_see(versions, logged, *id));
            let is_logged = versions.of_path(logged).next().is_some();
            Ok(is_shown.then(|| (State::at(versions, logged, moment, None), is_logged)))
        })?;
        match state.flatten().unwrap_or((State::Unknown, true)) {
            (State::Text(hash), _) => self.kept(path, Some(hash)),
            (State::Absent, _) => Ok(None),
            (State::Gap(Gap::Sensitive), _) => Err(Error::SensitiveVersion { path: path.to_owned() }),
            (State::Gap(gap), _) => not_kept(gap),
            (State::Unknown, true) => not_kept(Gap::NotLookedAt),
            // No change of it is recorded: it is as it was, if it was looked at by then.
            (State::Unknown, false) => match self.unchanged_since(logged, moment)? {
                Some(text) => Ok(Some(text)),
                None => not_kept(Gap::NotLookedAt),
            },
        }
    }
}
