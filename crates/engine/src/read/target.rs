//! Resolves a path as written to a file that may be opened and to the lines that are meant.

use readproof_core::{
    limits::Limits,
    path::{candidates, going_back, meant, split_range},
    pick::{Pick, Picked, around, last, span},
    scope::{Scope, ScopeError},
    text::Text,
};
use readproof_disk::{FileRef, LocateError, Opened, Snapshot, SnapshotError};
use readproof_index::nearest;

use crate::{Engine, Error, conversation::locked};

/// A file inside the workspace and the lines asked of it.
pub struct ResolvedTarget {
    /// The file.
    pub file: FileRef,
    /// The open file, if locating it has opened it.
    pub(crate) opened: Option<Opened>,
    /// The first line asked for.
    pub offset: Option<u64>,
    /// The number of lines asked for.
    pub limit: Option<u64>,
    /// Whether fewer lines were picked than asked for, because of the limits of an answer.
    pub reduced: bool,
}

impl ResolvedTarget {
    /// Resolves lines that can only be found in the text.
    pub(crate) fn pick(&mut self, now: &Text, pick: &Pick, limits: &Limits) -> Result<(), Error> {
        let picked = match pick {
            Pick::Given => return Ok(()),
            Pick::Last(lines) => last(now, *lines, limits).map(|found| Picked {
                lines: found,
                reduced: u64::from(found.count()) < (*lines).min(now.total().into()),
            }),
            Pick::Span { first, last, context } => {
                let scope = Scope::of(Some(*first), Some(last.saturating_sub(*first) + 1), now.total());
                let lines = scope.map_err(|source| self.bad_range(source))?.lines(now.total());
                lines.map(|lines| span(now, lines, *context, limits))
            }
            Pick::Of { lines, hash } if *hash == now.hash() => Some(Picked { lines: *lines, reduced: false }),
            Pick::Of { .. } => return Err(Error::Changed { path: self.file.key().to_string() }),
            Pick::Around { query, .. } if query.trim().is_empty() => return Err(Error::EmptyQuery),
            Pick::Around { query, context } => {
                let path = || self.file.key().to_string();
                let found = around(now, query).ok_or_else(|| Error::NoMatch { path: path(), query: query.clone() })?;
                Some(span(now, found, *context, limits))
            }
        };
        // An empty file has no lines; then the whole file is meant.
        self.offset = picked.map(|picked| picked.lines.first().into());
        self.limit = picked.map(|picked| picked.lines.count().into());
        self.reduced = picked.is_some_and(|picked| picked.reduced);
        Ok(())
    }

    pub(crate) fn bad_range(&self, source: ScopeError) -> Error {
        Error::Range { path: self.file.key().to_string(), source }
    }
}

impl Engine {
    /// The file at this path, or at the path without a range such as `:10-20`. A file whose name ends like a range
    /// comes first.
    pub(crate) fn resolve_target(
        &self,
        path: &str,
        offset: Option<u64>,
        limit: Option<u64>,
    ) -> Result<ResolvedTarget, Error> {
        if path.is_empty() {
            return Err(Error::EmptyPath);
        }
        self.refuse_back_through_link(path)?;
        let missing = match self.find(path) {
            Ok((file, opened)) => return Ok(ResolvedTarget { file, opened, offset, limit, reduced: false }),
            Err(error @ (LocateError::Missing { .. } | LocateError::NameTooLong { .. })) => error,
            Err(error) => return Err(Error::Locate(error)),
        };
        let parts = path.rsplit_once(':').filter(|(bare, _)| !bare.is_empty());
        if let (None, None, Some((bare, range))) = (offset, limit, parts)
            && let Ok((file, opened)) = self.find(bare)
        {
            let fail = |source| Error::Range { path: bare.to_owned(), source };
            let text = range.to_owned();
            let range = split_range(path).map_err(fail)?.ok_or_else(|| fail(ScopeError::NotANumber { text }))?;
            let limit = range.last.map(|last| last - range.first + 1);
            return Ok(ResolvedTarget { file, opened, offset: Some(range.first), limit, reduced: false });
        }
        Err(self.not_there(path, missing))
    }

    /// Refuses a path with `..` after a symbolic link, as the system would resolve it to another file than its text
    /// says.
    pub(crate) fn refuse_back_through_link(&self, path: &str) -> Result<(), Error> {
        match going_back(path, &self.bearings) {
            Some(name) if self.root.goes_back_through_link(&name) => {
                Err(Error::BackThroughLink { path: path.to_owned() })
            }
            Some(_) | None => Ok(()),
        }
    }

    /// The error for a path that leads to no file, with similar names.
    pub(crate) fn not_there(&self, path: &str, source: LocateError) -> Error {
        match source {
            LocateError::Missing { .. } => Error::Missing { near: self.near(path), source },
            LocateError::Outside { .. }
            | LocateError::NulInName
            | LocateError::NameTooLong { .. }
            | LocateError::LinkLoop { .. }
            | LocateError::LinkOut { .. }
            | LocateError::Denied { .. }
            | LocateError::Io { .. } => Error::Locate(source),
        }
    }

    /// The one read of the file.
    pub(crate) fn look(&self, target: &mut ResolvedTarget) -> Result<Snapshot, Error> {
        self.look_within(target, None)
    }

    /// The same, with a lower size limit.
    pub(crate) fn look_within(&self, target: &mut ResolvedTarget, most: Option<u64>) -> Result<Snapshot, Error> {
        let (opened, known) = (target.opened.take(), locked(&self.recent).take(target.file.key()));
        let (mut rules, max_bytes) = (self.snapshot_rules(), self.settings.file_bytes);
        rules.max_bytes = most.map_or(max_bytes, |most| most.min(max_bytes));
        match self.root.snapshot_opened(&target.file, opened, known, &rules) {
            Err(SnapshotError::TooLarge { .. }) if rules.max_bytes < max_bytes => Err(Error::NotQuick),
            read => Ok(read?),
        }
    }

    /// The text of an answer; `None` stands for the whole file. A text that the answer does not need is kept for
    /// comparison with the next read.
    pub(crate) fn give(&self, target: &ResolvedTarget, snapshot: Snapshot, text: Option<String>) -> String {
        match text {
            Some(text) => {
                locked(&self.recent).keep(target.file.key(), snapshot.text);
                text
            }
            None => snapshot.text.into_string(),
        }
    }

    /// The first candidate that exists. The literal name is tried first, which saves computing the others.
    fn find(&self, path: &str) -> Result<(FileRef, Option<Opened>), LocateError> {
        let found = self.root.locate_open(&[meant(path, &self.bearings)]);
        found.or_else(|_| self.root.locate_open(&candidates(path, &self.bearings)))
    }

    /// Names in the same folder that resemble a missing file.
    fn near(&self, path: &str) -> Vec<String> {
        let Ok(file) = self.root.locate_new(&candidates(path, &self.bearings)) else { return Vec::new() };
        let key = file.key().as_str();
        let (folder, name) = key.rsplit_once('/').unwrap_or((".", key));
        let join = |name: String| if folder == "." { name } else { format!("{folder}/{name}") };
        // A dangling link is listed under the name that leads nowhere.
        let names = nearest(name, &self.root.list_names(folder)).into_iter().filter(|near| near != name);
        names.map(join).collect()
    }
}
