//! What a file was at a moment, as the version log tells.

use readproof_core::text::ContentHash;
use readproof_hosts::{
    block::Sha,
    versions::{ChangedFile, FIRST, Gap, VersionId, Versions},
};

use crate::{Engine, Error, HistoryError};

/// What a file was at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
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
    pub(super) fn before(file: &ChangedFile, operation: &str) -> Self {
        match (file.before, file.gaps.before) {
            (Some(Sha(hash)), _) => Self::Text(hash),
            (None, Some(gap)) => Self::Gap(gap),
            (None, None) if operation == FIRST => Self::Unknown,
            (None, None) => Self::Absent,
        }
    }

    pub(super) fn after(file: &ChangedFile) -> Self {
        match (file.after, file.gaps.after) {
            (Some(Sha(hash)), _) => Self::Text(hash),
            (None, Some(gap)) => Self::Gap(gap),
            (None, None) if file.removed => Self::Absent,
            // Records of earlier versions name no reason.
            (None, None) => Self::Gap(Gap::Sensitive),
        }
    }

    /// What a file was right after a record of the log.
    pub(super) fn at(versions: &Versions, path: &str, moment: VersionId) -> Self {
        let mut state = Self::Unknown;
        for (id, change, file) in versions.of_path(path) {
            if id > moment {
                return if state == Self::Unknown { Self::before(file, &change.operation) } else { state };
            }
            state = Self::after(file);
        }
        state
    }

    pub(super) fn hash(self) -> Option<ContentHash> {
        match self {
            Self::Text(hash) => Some(hash),
            Self::Absent | Self::Gap(_) | Self::Unknown => None,
        }
    }
}

impl Engine {
    /// The moment that a caller names: a version, or a checkpoint by its number or name.
    pub(super) fn moment(&self, versions: &Versions, asked: &str) -> Result<VersionId, Error> {
        let none = || Error::History(HistoryError::NoMoment { asked: asked.to_owned() });
        let named = versions.checkpoints().rev().find(|(_, checkpoint)| checkpoint.name.as_deref() == Some(asked));
        if let Some((id, _)) = named {
            return Ok(id);
        }
        let id = VersionId::parse(asked).ok_or_else(none)?;
        let is_known =
            versions.change(id).is_some_and(|change| change.files.iter().any(|file| self.may_name(&file.path)))
                || versions.checkpoints().any(|(other, _)| other == id);
        is_known.then_some(id).ok_or_else(none)
    }
}
