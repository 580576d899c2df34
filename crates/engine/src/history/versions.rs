//! The version log from the engine's side: opened once, and asked for the versions of a file.

use readproof_core::{
    diff::{Patch, Side, fit, patches},
    operation::CompareVersions,
    text::{ContentHash, Text},
};
use readproof_disk::{Create, Lease, LogName, Right, SessionName};
use readproof_hosts::{
    block::Sha,
    versions::{Gap, VersionId, Versions, VersionsError},
};

use super::log::checkpoint_called;
use crate::{Control, Engine, Error, Notice, StoodOn, conversation::locked, read::Glimpse};
use std::sync::Arc;

/// A text of a file: a version that is kept, or the one that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    /// The version that this change left.
    Version(VersionId),
    /// The working file.
    Working,
    /// The text before the first change that is known.
    First,
}

/// Two versions of a file side by side.
#[derive(Clone, Debug)]
pub struct Compared {
    /// The file, relative to the workspace root.
    pub path: String,
    /// Which texts are compared.
    pub sides: (Which, Which),
    /// The exact diff, or as much of it as fits.
    pub diff: String,
    /// Whether some of it does not fit.
    pub is_cut: bool,
    /// Lines added and removed.
    pub changed: (u32, u32),
}

impl Engine {
    /// Runs `work` on the version log, caught up; `None` if there is none and none is to be made.
    pub(crate) fn with_versions<T>(
        &self,
        create: Create,
        work: impl FnOnce(&mut Versions) -> Result<T, VersionsError>,
    ) -> Result<Option<T>, Error> {
        let mut open = locked(&self.shared.versions);
        if open.as_mut().is_some_and(|versions| versions.catch_up().is_err()) {
            // It may have been put aside and begun anew.
            *open = None;
        }
        if open.is_none() {
            let Some(store) = self.store(create)? else { return Ok(None) };
            *open = Versions::open(&*store, create, self.now())?;
        }
        Ok(open.as_mut().map(work).transpose()?)
    }

    /// Makes sure that a change can be recorded, before anything is touched. A log that is damaged is put aside as evidence, and
    /// another is begun.
    pub(crate) fn begin_versions(&self) -> Result<(), Error> {
        match self.with_versions(Create::Yes, |_| Ok(())) {
            Err(Error::Versions(why)) if why.is_damage() => {
                if let Some(kept) = self.shared.stores.retire(&LogName::Versions).map_err(VersionsError::from)? {
                    self.add_notice(Notice::HistoryPutAside { why: Arc::new(why), kept });
                }
                self.with_versions(Create::Yes, |_| Ok(())).map(drop)
            }
            done => done.map(drop),
        }
    }

    /// While it is held, no stored text is erased: taken before texts are stored that a record will need. Where the store grants no
    /// leases there is none, and `doctor` names a text that went.
    pub(crate) fn keeping_texts(&self) -> Result<Option<Box<dyn Lease>>, Error> {
        Ok(self.store(Create::Yes)?.and_then(|store| store.leases().wait(Right::KeepTexts).ok()))
    }

    /// The diff between two versions of a file, or between one and the working file.
    pub(crate) fn compare_versions(
        &self,
        log: Option<&SessionName>,
        request: &CompareVersions,
        control: &Control<'_>,
    ) -> Result<Compared, Error> {
        let call = self.asked_in(log);
        let file = self.new_file(&request.path)?;
        let path = file.key().to_string();
        let logged = self.logged_name(&file);
        let known = self.with_versions(Create::No, |versions| {
            Ok(texts_of(versions, &logged, &|id| self.may_see(versions, &logged, id)))
        })?;
        let known = known.unwrap_or_default();
        if request.from.is_some() || request.to.is_some() {
            // A checkpoint may be of a file that did not change since.
            self.look_around(control)?;
        }
        let from = self.version(&path, &known, request.from.as_deref(), || match known.last() {
            Some((id, _)) => Ok(Which::Version(*id)),
            None => Err(Error::NoVersion { path: path.clone(), version: None }),
        })?;
        let to = self.version(&path, &known, request.to.as_deref(), || Ok(Which::Working))?;
        let working = || match self.root.snapshot(&file, &self.snapshot_rules()) {
            Ok(read) if self.shared.sensitive.is_sensitive_read(&file, &read) => {
                Err(Error::SensitiveVersion { path: path.clone() })
            }
            Ok(read) => Ok(Some(read.text)),
            Err(readproof_disk::SnapshotError::Missing { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        };
        let text = |which: &Which| match which {
            Which::Working => working(),
            Which::First => self.kept(&path, known.first().and_then(|(_, (before, _))| *before)),
            Which::Version(id) => match known.iter().find(|(other, _)| other == id) {
                Some((_, (_, after))) => self.kept(&path, *after),
                None => self.text_at((&path, &logged), *id),
            },
        };
        let (before, after) = (text(&from)?, text(&to)?);
        for (name, text) in [("old", &before), ("new", &after)] {
            let hash = text.as_ref().map_or_else(|| "-".to_owned(), |text| text.hash().to_string());
            self.notes_input(name, || hash);
            text.iter().for_each(|text| self.stands_on(|| StoodOn::text(&path, text)));
        }
        let found = patches_between(&path, (before.as_ref(), after.as_ref()), control).ok_or(Error::Aborted)?;
        let fitted = fit(&found, request.most.lines, request.most.chars);
        let changed = found.iter().fold((0, 0), |sum, patch| (sum.0 + patch.added, sum.1 + patch.removed));
        let sides: Vec<Glimpse> = ['+', '-'].into_iter().map(|side| Glimpse::diff(&path, &fitted.text, side)).collect();
        for notice in self.saw(log, call, sides.into_iter()) {
            self.add_notice(notice);
        }
        Ok(Compared { path, sides: (from, to), is_cut: fitted.is_cut(), diff: fitted.text, changed })
    }

    /// A stored text of a file; `None` if there was no file.
    pub(super) fn kept(&self, path: &str, hash: Option<ContentHash>) -> Result<Option<Text>, Error> {
        let Some(hash) = hash else { return Ok(None) };
        self.recorded(hash).map(Some).map_err(|why| Error::Erased { path: path.to_owned(), hash, why })
    }

    /// A text that a record names, or why there is none. What was erased does not count, wherever it may still be stored.
    pub(crate) fn recorded(&self, hash: ContentHash) -> Result<Text, Gap> {
        if self.is_erased(hash) {
            return Err(Gap::Erased);
        }
        // Opening the store for the log has opened it.
        self.stored(hash).ok_or(Gap::Lost)
    }

    /// Whether a text was erased. If the log cannot be read, the question that led here fails for that reason.
    pub(crate) fn is_erased(&self, hash: ContentHash) -> bool {
        matches!(self.with_versions(Create::No, |versions| Ok(versions.is_erased(hash))), Ok(Some(true)))
    }

    fn version(
        &self,
        path: &str,
        known: &[KnownVersion],
        asked: Option<&str>,
        default: impl FnOnce() -> Result<Which, Error>,
    ) -> Result<Which, Error> {
        let Some(asked) = asked else { return default() };
        let none = || Error::NoVersion { path: path.to_owned(), version: Some(asked.to_owned()) };
        match asked {
            "working" | "worktree" | "now" => Ok(Which::Working),
            "first" | "v0" if !known.is_empty() => Ok(Which::First),
            _ => {
                let mark = self.with_versions(Create::No, |versions| Ok(checkpoint_called(versions, asked)))?;
                if let Some(mark) = mark.flatten() {
                    return Ok(Which::Version(mark));
                }
                let id = VersionId::parse(asked).ok_or_else(none)?;
                known.iter().any(|(other, _)| *other == id).then_some(Which::Version(id)).ok_or_else(none)
            }
        }
    }
}

fn patches_between<'t>(
    path: &str,
    (before, after): (Option<&'t Text>, Option<&'t Text>),
    control: &Control<'_>,
) -> Option<Vec<Patch<'t>>> {
    let same = before.map(Text::as_str) == after.map(Text::as_str);
    let side = |text| Some(Side { mode: "100644", text: Some(text), same });
    patches(path, before.and_then(side), after.and_then(side), control.cancelled)
}

/// The diff between two texts that a record stands on.
pub(crate) fn versions_again(request: &CompareVersions, path: &str, sides: (Option<&Text>, Option<&Text>)) -> String {
    let found = patches_between(path, sides, &Control::WAIT).unwrap_or_default();
    fit(&found, request.most.lines, request.most.chars).text
}

/// A version of one file, with the texts before and after.
type KnownVersion = (VersionId, (Option<ContentHash>, Option<ContentHash>));

/// The versions of a file that may be shown, oldest first.
fn texts_of(versions: &Versions, path: &str, is_shown: &dyn Fn(VersionId) -> bool) -> Vec<KnownVersion> {
    let hash = |sha: Option<Sha>| sha.map(|Sha(hash)| hash);
    let of_file = versions.of_path(path).filter(|(id, _, _)| is_shown(*id));
    of_file.map(|(id, _, file)| (versions.event_of(id), (hash(file.before), hash(file.after)))).collect()
}
