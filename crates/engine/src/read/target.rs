//! Resolves a path as written to a file that may be opened and to the lines that are meant.

use readproof_core::{
    decide::Reason,
    limits::Limits,
    operation::{Decoding, Extent, Names, Operation, Read},
    path::{Bearings, candidates, going_back, meant, split_range},
    pick::{Pick, Picked, around, last, span},
    scope::{Scope, ScopeError},
    text::Text,
};
use readproof_disk::{FileRef, LocateError, Opened, SessionName, Snapshot, SnapshotError};
use readproof_index::nearest;

use std::{collections::BTreeMap, path::Path};

use super::{CallContext, Glimpse};
use crate::{Control, Engine, Error, Notice, StoodOn, conversation::locked};

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
    /// The name asked for, if this is another file that ends in it.
    pub instead_of: Option<String>,
}

/// The most names that are suggested.
const SUGGESTED: usize = 4;

/// Files whose names are like one that is missing.
#[derive(Default)]
struct CloseNames {
    /// They end in it.
    suffixed: Vec<String>,
    /// They have the same last part.
    same_name: Vec<String>,
    /// Their last part differs in a few letters.
    similar: Vec<String>,
}

impl CloseNames {
    /// The best of them, together with names in the same folder.
    fn best(self, near: Vec<String>) -> Vec<String> {
        let mut names = Vec::new();
        for name in self.suffixed.into_iter().chain(near).chain(self.same_name).chain(self.similar) {
            if !names.contains(&name) && names.len() < SUGGESTED {
                names.push(name);
            }
        }
        names
    }
}

/// A path without the marks that a model puts around or into one: quotes, backticks, a blank at the end, the backslashes of a
/// shell or of another system.
fn unquoted(path: &str) -> Option<String> {
    let bare = path.trim().trim_matches(['"', '\'', '`']).trim();
    let bare = if bare.contains("\\ ") { bare.replace("\\ ", " ") } else { bare.replace('\\', "/") };
    (bare != path && !bare.is_empty()).then_some(bare)
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
            Ok((file, opened)) => {
                return Ok(ResolvedTarget { file, opened, offset, limit, reduced: false, instead_of: None });
            }
            Err(error @ (LocateError::Missing { .. } | LocateError::NameTooLong { .. })) => error,
            // Where a rule allows only some names, none of them ends in a range: what counts is the name before it.
            Err(error @ LocateError::Refused(_)) if matches!(split_range(path), Ok(Some(_))) => error,
            Err(error) => return Err(Error::Locate(error)),
        };
        let parts = path.rsplit_once(':').filter(|(bare, _)| !bare.is_empty());
        let bare =
            parts.filter(|_| (offset, limit) == (None, None)).map(|(bare, range)| (bare, range, self.find(bare)));
        if let Some((_, _, Err(refused @ LocateError::Refused(_)))) = bare {
            return Err(Error::Locate(refused));
        }
        if let Some((bare, range, Ok((file, opened)))) = bare {
            let fail = |source| Error::Range { path: bare.to_owned(), source };
            let text = range.to_owned();
            let range = split_range(path).map_err(fail)?.ok_or_else(|| fail(ScopeError::NotANumber { text }))?;
            let limit = range.last.map(|last| last - range.first + 1);
            let offset = Some(range.first);
            return Ok(ResolvedTarget { file, opened, offset, limit, reduced: false, instead_of: None });
        }
        Err(self.not_there(path, missing))
    }

    /// Refuses a path with `..` after a symbolic link, as the system would resolve it to another file than its text
    /// says.
    pub(crate) fn refuse_back_through_link(&self, path: &str) -> Result<(), Error> {
        match going_back(path, &self.shared.bearings) {
            Some(name) if self.root.goes_back_through_link(&name) => {
                Err(Error::BackThroughLink { path: path.to_owned() })
            }
            Some(_) | None => Ok(()),
        }
    }

    /// The error for a path that leads to no file, with similar names.
    pub(crate) fn not_there(&self, path: &str, source: LocateError) -> Error {
        match source {
            LocateError::Missing { .. } => Error::Missing { near: self.for_suggestions().near(path), source },
            LocateError::Outside { .. }
            | LocateError::NulInName
            | LocateError::NameTooLong { .. }
            | LocateError::LinkLoop { .. }
            | LocateError::LinkOut { .. }
            | LocateError::Denied { .. }
            | LocateError::Refused(_)
            | LocateError::Io { .. } => Error::Locate(source),
        }
    }

    /// The one read of the file.
    pub(crate) fn look(&self, target: &mut ResolvedTarget) -> Result<Snapshot, Error> {
        self.look_within(target, None)
    }

    /// The same, with a lower size limit.
    pub(crate) fn look_within(&self, target: &mut ResolvedTarget, most: Option<u64>) -> Result<Snapshot, Error> {
        let (opened, known) = (target.opened.take(), locked(&self.shared.recent).take(target.file.key()));
        let (mut rules, max_bytes) = (self.snapshot_rules(), self.shared.settings.file_bytes);
        rules.max_bytes = most.map_or(max_bytes, |most| most.min(max_bytes));
        match self.root.snapshot_opened(&target.file, opened, known, &rules) {
            Err(SnapshotError::TooLarge { .. }) if rules.max_bytes < max_bytes => Err(Error::NotQuick),
            read => {
                let read = read?;
                self.stands_on(|| self.ground(&target.file, &read));
                Ok(read)
            }
        }
    }

    /// What the record of a call says of a file that was read for it.
    pub(crate) fn ground(&self, file: &FileRef, read: &Snapshot) -> StoodOn {
        let path = file.key().as_str();
        if self.shared.sensitive.is_sensitive_read(file, read) {
            return StoodOn::sensitive(path);
        }
        if read.view.is_some() { StoodOn::unkept(path) } else { StoodOn::text(path, &read.text) }
    }

    /// The same; a file that is not UTF-8 is decoded if that is allowed and possible. Looking up what is declared about its
    /// encoding is not quick.
    pub(crate) fn look_or_view(
        &self,
        target: &mut ResolvedTarget,
        decoding: Decoding,
        control: &Control<'_>,
    ) -> Result<Snapshot, Error> {
        match self.look_within(target, control.file_bytes) {
            Err(error @ Error::Snapshot(SnapshotError::NotText { .. })) if decoding == Decoding::View => {
                let git = self.git_question(control);
                let git = control.file_bytes.is_none().then_some(&git);
                let view = self.root.view(&target.file, &self.snapshot_rules(), git).map_err(|_| error)?;
                let view = view.ok_or(Error::NotQuick)?;
                self.stands_on(|| self.ground(&target.file, &view));
                Ok(view)
            }
            done => done,
        }
    }

    /// Decoded text is plain, is not recorded, and takes the place of whatever was held of the file.
    pub(crate) fn leave_view_out(
        &self,
        log: Option<&SessionName>,
        context: &mut CallContext,
        (target, snapshot): (&ResolvedTarget, &Snapshot),
    ) {
        let Some(view) = snapshot.view else { return };
        let shown = Glimpse::somewhere(target.file.key().as_str());
        let notices = self.saw(log, self.asked_in(log), [shown].into_iter());
        context.notices.push(Notice::Decoded(view));
        context.notices.extend(notices);
        (context.session, context.store_text, context.plain) = (None, false, Some(Reason::OtherEncoding));
    }

    /// The text of an answer; `None` stands for the whole file. A text that the answer does not need is kept for
    /// comparison with the next read.
    pub(crate) fn give(&self, target: &ResolvedTarget, snapshot: Snapshot, text: Option<String>) -> String {
        match text {
            Some(text) => {
                locked(&self.shared.recent).keep(target.file.key(), snapshot.text);
                text
            }
            None => snapshot.text.into_string(),
        }
    }

    /// The first candidate that exists. The literal name is tried first, which saves computing the others.
    fn find(&self, path: &str) -> Result<(FileRef, Option<Opened>), LocateError> {
        let found = self.root.locate_open(&[meant(path, &self.shared.bearings)]);
        found.or_else(|_| self.root.locate_open(&self.names_for(path)))
    }

    /// The names to try for a path as written, best first: relative to the current folder, then to the root, as answers
    /// print names.
    pub(crate) fn names_for(&self, path: &str) -> Vec<String> {
        let mut names = candidates(path, &self.shared.bearings);
        let starts_elsewhere = ["/", "~", "./", "../"].iter().any(|start| path.starts_with(start)) || path == ".";
        if self.names_from_root && !starts_elsewhere && Path::new(&self.shared.bearings.cwd) != self.root.path() {
            let from_root =
                Bearings { cwd: self.root.path().display().to_string(), home: self.shared.bearings.home.clone() };
            names.extend(candidates(path, &from_root));
        }
        names
    }

    /// The file of a read. If there is none of this name and the read allows it, the name without marks around it, or the
    /// one file that ends in the name.
    pub(crate) fn resolve_or_suffix(&self, read: &Read, control: &Control<'_>) -> Result<ResolvedTarget, Error> {
        let (source, near) = match self.resolve_target(&read.path, read.first(), read.limit) {
            Err(Error::Missing { source, near }) if read.names == Names::OrSuffix => (source, near),
            done => return done,
        };
        let bare = unquoted(&read.path);
        if let Some(Ok(target)) = bare.as_deref().map(|bare| self.resolve_target(bare, read.first(), read.limit)) {
            return Ok(target);
        }
        if control.file_bytes.is_some() {
            return Err(Error::NotQuick);
        }
        let close = self.close_names(bare.as_deref().unwrap_or(&read.path), control)?;
        let [only] = &close.suffixed[..] else { return Err(Error::Missing { source, near: close.best(near) }) };
        let mut target = self.resolve_target(&self.root.absolute(only), read.first(), read.limit)?;
        target.instead_of = Some(read.path.clone());
        Ok(target)
    }

    /// An error with the closest names of the whole tree, not only of one folder.
    pub(crate) fn with_suggestions(&self, error: Error, operation: &Operation, control: &Control<'_>) -> Error {
        let Error::Missing { source, near } = error else { return error };
        // Such a read has looked already.
        let has_looked = matches!(operation, Operation::Read(Read { names: Names::OrSuffix, .. }));
        let Some(path) = operation.path().filter(|_| self.names_from_root && !has_looked) else {
            return Error::Missing { source, near };
        };
        // The walk is not quick.
        if control.file_bytes.is_some() {
            return Error::NotQuick;
        }
        match self.for_suggestions().close_names(path, control) {
            Ok(close) => Error::Missing { source, near: close.best(near) },
            Err(_) => Error::Missing { source, near },
        }
    }

    /// Files of the tree whose names are like a path that leads nowhere.
    fn close_names(&self, path: &str, control: &Control<'_>) -> Result<CloseNames, Error> {
        let bare = path.rsplit_once(':').filter(|(_, range)| range.starts_with(|c: char| c.is_ascii_digit()));
        let path = bare.map_or(path, |(bare, _)| bare);
        let wanted = path.trim_start_matches("./").trim_start_matches('@').trim_matches('/');
        let base = wanted.rsplit('/').next().unwrap_or(wanted);
        if base.is_empty() {
            return Ok(CloseNames::default());
        }
        let ending = format!("/{wanted}");
        let (mut close, mut by_base) = (CloseNames::default(), BTreeMap::<String, String>::new());
        self.each_file(&Extent::default(), None, control, &mut |name| {
            let own = name.rsplit('/').next().unwrap_or(&name);
            if name == wanted || name.ends_with(&ending) {
                close.suffixed.push(name);
            } else if own == base {
                close.same_name.push(name);
            } else if own.len().abs_diff(base.len()) <= base.len() / 3 + 1 {
                by_base.entry(own.to_owned()).or_insert(name);
            }
        })?;
        let bases: Vec<String> = by_base.keys().cloned().collect();
        close.similar = nearest(base, &bases).into_iter().filter_map(|base| by_base.remove(&base)).collect();
        Ok(close)
    }

    /// Names in the same folder that resemble a missing file.
    fn near(&self, path: &str) -> Vec<String> {
        let Ok(file) = self.root.locate_new(&candidates(path, &self.shared.bearings)) else { return Vec::new() };
        let key = file.key().as_str();
        let (folder, name) = key.rsplit_once('/').unwrap_or((".", key));
        let join = |name: String| if folder == "." { name } else { format!("{folder}/{name}") };
        // A dangling link is listed under the name that leads nowhere.
        let mut there = self.root.list_names(folder);
        let real = self.root.leads_to(Path::new(&self.root.absolute(folder)));
        if let Some(real) = real.filter(|real| real != folder) {
            // Behind a link, the rules for where it leads count too.
            let seen = self.root.list_names(&real);
            there.retain(|name| seen.contains(name));
        }
        let names = nearest(name, &there).into_iter().filter(|near| near != name);
        names.map(join).collect()
    }
}
