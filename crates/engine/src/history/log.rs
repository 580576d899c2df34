//! Which files there are, which changes are known, and the text after one of them.

use readproof_core::{
    operation::{AnswerLimit, History, LISTED_CHANGES, LISTED_FILES, ListFiles, ShowVersion},
    path::printable,
    text::{ContentHash, Text},
};
use readproof_disk::{Create, SessionName};
use readproof_hosts::{
    block::Sha,
    versions::{By, Change, ChangedFile, Checkpoint, Gap, Moment, Unwatched, VersionId, Versions},
};
use readproof_index::{Holds, Registered, Tag, file_globs};
use std::{collections::BTreeMap, fmt::Write as _};

use super::{look::gap_of, state::State};
use crate::{Control, Engine, Error, HistoryError, Keeping, read::Glimpse};

/// A registered file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedFile {
    /// Relative to the workspace root.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// When its bytes last changed, in milliseconds since 1970.
    pub modified_ms: i64,
    /// The hash of its text; none if no text of it is kept.
    pub hash: Option<ContentHash>,
    /// Why no text of it is kept.
    pub gap: Option<Gap>,
    /// How many lines it has.
    pub lines: Option<u32>,
    /// Its language, if that is known.
    pub language: Option<&'static str>,
    /// What it is for.
    pub tag: Tag,
    /// Its newest version.
    pub version: Option<VersionId>,
}

/// Files of the workspace.
#[derive(Clone, Debug, Default)]
pub struct FilesListed {
    /// By name.
    pub files: Vec<ListedFile>,
    /// How many there are, those included that are left out.
    pub total: u64,
    /// How many names cannot be spelt as text.
    pub odd: u64,
    /// Whether nothing is registered, because the settings say so.
    pub off: bool,
}

/// A change, or a moment that was marked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryEntry {
    /// Its number.
    pub id: VersionId,
    /// The word for what was done.
    pub operation: String,
    /// What a moment is called, or why there is a gap.
    pub name: Option<String>,
    /// Who did it.
    pub by: By,
    /// When, in milliseconds since 1970.
    pub at: u64,
    /// The files, as far as they may be named, with the size of the text afterwards where that is kept.
    pub files: Vec<(ChangedFile, Option<u64>)>,
}

impl HistoryEntry {
    pub(crate) fn rename(&mut self, rename: &dyn Fn(&mut String)) {
        for (file, _) in &mut self.files {
            rename(&mut file.path);
            file.from.iter_mut().for_each(rename);
        }
    }
}

/// Changes, the newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistoryListed {
    /// The file that was asked about.
    pub path: Option<String>,
    /// The newest changes.
    pub entries: Vec<HistoryEntry>,
    /// How many there are.
    pub total: u64,
}

/// The text of a file after a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownVersion {
    /// Relative to the workspace root.
    pub path: String,
    /// The change.
    pub version: VersionId,
    /// Its text, or the first lines of it.
    pub text: String,
    /// How many lines of it are shown, and how many it has.
    pub lines: (u32, u32),
    /// The hash of all of it.
    pub hash: ContentHash,
}

impl Engine {
    /// The files of the workspace, looked at before.
    pub(crate) fn list_files(&self, list: &ListFiles, control: &Control<'_>) -> Result<FilesListed, Error> {
        let tags = list
            .tags
            .iter()
            .map(|word| Tag::parse(word).ok_or_else(|| Error::History(HistoryError::NoTag { tag: word.clone() })));
        let tags = tags.collect::<Result<Vec<Tag>, _>>()?;
        let globs = file_globs(&list.globs)?;
        if self.shared.settings.history == Keeping::Off {
            return Ok(FilesListed { off: true, ..FilesListed::default() });
        }
        let looked = self.look_around(control)?;
        let known = self.registry()?.as_ref().map(|registry| registry.files()).transpose()?.unwrap_or_default();
        let newest: BTreeMap<String, VersionId> = self
            .with_versions(Create::No, |versions| {
                let newest =
                    |path: &str| Some((path.to_owned(), versions.event_of(versions.of_path(path).next_back()?.0)));
                Ok(versions.paths().filter_map(newest).collect())
            })?
            .unwrap_or_default();
        let mut found = FilesListed { odd: looked.odd, ..FilesListed::default() };
        let most = list.limit.unwrap_or(LISTED_FILES);
        for (path, file) in known {
            let (tag, version) = (Tag::of(&path), newest.get(&path).copied());
            if matches!(file.holds, Holds::Unseen | Holds::NotAFile) {
                continue;
            }
            let is_wanted = (tags.is_empty() || tags.contains(&tag)) && (!list.changed || version.is_some());
            if !is_wanted || !globs.is_wanted(&path) || !self.may_name(&path) {
                continue;
            }
            found.total += 1;
            if found.files.len() < most {
                found.files.push(listed(path, &file, tag, version));
            }
        }
        Ok(found)
    }

    /// The changes of a file, or of all.
    pub(crate) fn history(&self, asked: &History, control: &Control<'_>) -> Result<HistoryListed, Error> {
        let path =
            asked.path.as_deref().map(|path| Ok::<_, Error>(self.logged_name(&self.new_file(path)?))).transpose()?;
        self.look_around(control)?;
        let most = asked.limit.unwrap_or(LISTED_CHANGES);
        let listed = self.with_versions(Create::No, |versions| {
            let mut listed = HistoryListed { path: path.clone(), ..HistoryListed::default() };
            let changes = versions.changes().filter(|(_, change)| change.event.is_none());
            let changes = changes.map(|(id, _)| (id, Listed::Change));
            let marks = versions.checkpoints().map(|(id, mark)| (id, Listed::Mark(mark)));
            let gaps = versions.unwatched().map(|(id, gap)| (id, Listed::Gap(gap)));
            let mut all: Vec<_> = changes.chain(marks).chain(gaps).collect();
            all.sort_by_key(|(id, _)| std::cmp::Reverse(*id));
            for (id, what) in all {
                let entry = match what {
                    Listed::Change => self.entry(versions, id, path.as_deref()),
                    Listed::Mark(mark) => path.is_none().then(|| mark_entry(id, mark)),
                    // It may be of any file.
                    Listed::Gap(gap) => path.is_none().then(|| gap_entry(id, gap)),
                };
                let Some(entry) = entry else { continue };
                listed.total += 1;
                if listed.entries.len() < most {
                    listed.entries.push(entry);
                }
            }
            Ok(listed)
        })?;
        let mut listed = listed.unwrap_or(HistoryListed { path, ..HistoryListed::default() });
        self.mark_erased(&mut listed.entries);
        for (file, bytes) in listed.entries.iter_mut().flat_map(|entry| &mut entry.files) {
            let text = file.after.filter(|_| file.gaps.after.is_none()).and_then(|Sha(hash)| self.stored(hash));
            *bytes = text.map(|text| text.as_str().len() as u64);
        }
        if self.is_recorded() {
            let of = self.with_versions(Create::No, |versions| Ok(versions.newest_moment()))?.flatten();
            self.notes_text("history", || noted(of, &listed));
        }
        Ok(listed)
    }

    /// The changes that a list showed, from the version log as it is now. `None` if it is not the log that they were of, or that
    /// is not a note; that there were no others follows from nothing.
    pub(crate) fn listed_changes_again(&self, noted: &str) -> Result<Option<HistoryListed>, HistoryAgain> {
        let mut lines = noted.lines();
        let of = lines.next().and_then(Moment::parse);
        let total = lines.next().and_then(|line| line.strip_prefix("changes ")?.parse().ok());
        let Some(total) = total else { return Ok(None) };
        let mut listed = HistoryListed { total, ..HistoryListed::default() };
        let Some(of) = of else { return Ok(Some(listed).filter(|_| noted.lines().count() == 2)) };
        let again = self.with_versions(Create::No, |versions| {
            if versions.newest_moment().is_none_or(|now| now.log != of.log) {
                return Ok(None);
            }
            for line in lines {
                if let Some(file) = line.strip_prefix("> ") {
                    let file = listed.entries.last_mut().and_then(|entry| shown_file(versions, entry, file));
                    if file.is_none() {
                        return Ok(Some(Err(HistoryAgain::NotThere)));
                    }
                } else {
                    let entry = VersionId::parse(line).and_then(|id| bare_entry(versions, id));
                    let Some(entry) = entry else { return Ok(Some(Err(HistoryAgain::NotThere))) };
                    listed.entries.push(entry);
                }
            }
            Ok(Some(Ok(listed)))
        });
        let Ok(Some(Some(again))) = again else { return Ok(None) };
        let mut again = again?;
        for (file, bytes) in again.entries.iter_mut().flat_map(|entry| &mut entry.files) {
            if let (Some(_), Some(Sha(hash))) = (*bytes, file.after) {
                *bytes = Some(self.recorded(hash).map_err(|_| HistoryAgain::Gone(hash))?.as_str().len() as u64);
            }
        }
        Ok(Some(again))
    }

    /// Says of which texts only the hash is left.
    pub(super) fn mark_erased(&self, entries: &mut [HistoryEntry]) {
        for (file, _) in entries.iter_mut().flat_map(|entry| &mut entry.files) {
            let erased = |text: Option<Sha>| text.filter(|Sha(hash)| self.is_erased(*hash)).map(|_| Gap::Erased);
            file.gaps.before = erased(file.before).or(file.gaps.before);
            file.gaps.after = erased(file.after).or(file.gaps.after);
        }
    }

    /// What a record says, as far as this engine may tell.
    pub(super) fn change_entry(&self, id: VersionId) -> Option<HistoryEntry> {
        let everyone = self.everyones_sight().ok()?;
        let found = self.with_versions(Create::No, |versions| Ok(everyone.entry(versions, id, None)));
        found.ok().flatten().flatten()
    }

    /// A change as far as this caller may see it, all records of its event together; `None` if nothing of it.
    pub(super) fn entry(&self, versions: &Versions, id: VersionId, path: Option<&str>) -> Option<HistoryEntry> {
        let id = versions.event_of(id);
        let change = versions.change(id)?;
        let is_named =
            |file: &ChangedFile| path.is_none_or(|path| file.path == path || file.from.as_deref() == Some(path));
        let hide = |file: &ChangedFile| {
            let from = file.from.clone().filter(|from| self.may_name(from));
            (ChangedFile { from, ..file.clone() }, None)
        };
        let of_record = |(id, change): (VersionId, &Change)| -> Vec<_> {
            let shown = |file: &&ChangedFile| is_named(file) && self.may_see(versions, &file.path, id);
            change.files.iter().filter(shown).map(hide).collect()
        };
        let files: Vec<_> = versions.event(id).flat_map(of_record).collect();
        let (operation, by, at) = (change.operation.to_string(), change.by.clone(), change.at);
        (!files.is_empty()).then_some(HistoryEntry { id, operation, name: None, by, at, files })
    }

    /// The text of a file after a change, or at a checkpoint.
    pub(crate) fn show_version(
        &self,
        log: Option<&SessionName>,
        asked: &ShowVersion,
        control: &Control<'_>,
    ) -> Result<ShownVersion, Error> {
        let call = self.asked_in(log);
        let file = asked.path.as_deref().map(|path| self.new_file(path)).transpose()?;
        let (path, logged) =
            (file.as_ref().map(|file| file.key().to_string()), file.map(|file| self.logged_name(&file)));
        let none = || match &path {
            Some(path) => Error::NoVersion { path: path.clone(), version: Some(asked.version.clone()) },
            None => Error::History(HistoryError::NoMoment { asked: asked.version.clone() }),
        };
        let mark =
            self.with_versions(Create::No, |versions| Ok(checkpoint_called(versions, &asked.version)))?.flatten();
        let (path, version, text) = match (mark, path.clone().zip(logged.clone())) {
            (Some(mark), Some((path, logged))) => {
                // A file that did not change since is as it is.
                self.look_around(control)?;
                let text = self.text_at((&path, &logged), mark)?.ok_or_else(none)?;
                (path, mark, text)
            }
            (Some(_), None) => {
                return Err(Error::History(HistoryError::MomentOfAll { asked: asked.version.clone() }));
            }
            (None, _) => {
                let id = VersionId::parse(&asked.version).ok_or_else(none)?;
                let entry =
                    self.with_versions(Create::No, |versions| Ok(self.entry(versions, id, logged.as_deref())))?;
                let entry = entry.flatten().ok_or_else(none)?;
                let (path, text) = self.left_by(&entry, path.as_deref(), &asked.version)?.ok_or_else(none)?;
                (path, id, text)
            }
        };
        let (shown, lines) = cut(&text, asked.most);
        for notice in self.saw(log, call, [Glimpse::text(&path, 1, shown)].into_iter()) {
            self.add_notice(notice);
        }
        let (shown, lines, hash) = (shown.to_owned(), (lines, text.total()), text.hash());
        Ok(ShownVersion { path, version, text: shown, lines, hash })
    }

    /// The text that a change left of its one file; `None` if it left none.
    fn left_by(&self, entry: &HistoryEntry, path: Option<&str>, asked: &str) -> Result<Option<(String, Text)>, Error> {
        let file = match &entry.files[..] {
            [(file, _)] => file,
            several => {
                let paths = several.iter().map(|(file, _)| file.path.clone()).collect();
                return Err(Error::History(HistoryError::SeveralFiles { version: asked.to_owned(), paths }));
            }
        };
        let path = path.unwrap_or(&file.path).to_owned();
        let hash = match State::after(file) {
            State::Text(hash) => hash,
            State::Gap(Gap::Sensitive) => return Err(Error::SensitiveVersion { path }),
            State::Absent | State::Unknown => return Ok(None),
            State::Gap(gap) => {
                return Err(Error::History(HistoryError::NotKeptThen { path, version: asked.to_owned(), gap }));
            }
        };
        let text = self.kept(&path, Some(hash))?.unwrap_or_else(|| Text::new(String::new()));
        Ok(Some((path, text)))
    }
}

/// Why a list of changes does not come out again.
pub(crate) enum HistoryAgain {
    /// The log has no such change, or not of that file.
    NotThere,
    /// The text whose size was listed is gone.
    Gone(ContentHash),
}

/// Which changes a list shows, and which files of each.
fn noted(of: Option<Moment>, listed: &HistoryListed) -> String {
    let of = of.map_or_else(|| "-".to_owned(), |of| of.to_string());
    let mut out = format!("{of}\nchanges {}\n", listed.total);
    for entry in &listed.entries {
        let _ = writeln!(out, "{}", entry.id);
        for (file, bytes) in &entry.files {
            let known = if bytes.is_some() { '+' } else { '-' };
            let _ = writeln!(out, "> {known} {}", printable(&file.path));
        }
    }
    out
}

/// Adds a file of a change to what is listed of it.
fn shown_file(versions: &Versions, entry: &mut HistoryEntry, noted: &str) -> Option<()> {
    let (known, path) = noted.split_once(' ')?;
    let mut files = versions.event(entry.id).flat_map(|(_, change)| &change.files);
    let file = files.find(|file| {
        let is_listed = entry.files.iter().any(|(listed, _)| listed == *file);
        printable(&file.path) == path && !is_listed
    })?;
    entry.files.push((file.clone(), (known == "+").then_some(0)));
    Some(())
}

/// A record of the log without its files.
fn bare_entry(versions: &Versions, id: VersionId) -> Option<HistoryEntry> {
    if let Some(change) = versions.change(id) {
        let (operation, by, at) = (change.operation.to_string(), change.by.clone(), change.at);
        return Some(HistoryEntry { id, operation, name: None, by, at, files: Vec::new() });
    }
    let mark = versions.checkpoints().find(|(of, _)| *of == id).map(|(_, mark)| mark_entry(id, mark));
    mark.or_else(|| versions.unwatched().find(|(of, _)| *of == id).map(|(_, gap)| gap_entry(id, gap)))
}

/// The checkpoint of this number or name.
pub(super) fn checkpoint_called(versions: &Versions, asked: &str) -> Option<VersionId> {
    let is_it = |(id, mark): &(VersionId, &Checkpoint)| {
        mark.name.as_deref() == Some(asked) || Some(*id) == VersionId::parse(asked)
    };
    versions.checkpoints().rev().find(is_it).map(|(id, _)| id)
}

/// A line of the list.
enum Listed<'l> {
    Change,
    Mark(&'l Checkpoint),
    Gap(Unwatched),
}

fn mark_entry(id: VersionId, mark: &Checkpoint) -> HistoryEntry {
    let (operation, name) = ("checkpoint".to_owned(), mark.name.clone());
    HistoryEntry { id, operation, name, by: mark.by.clone(), at: mark.at, files: Vec::new() }
}

fn gap_entry(id: VersionId, gap: Unwatched) -> HistoryEntry {
    let (operation, name) = ("gap".to_owned(), Some(gap.why.as_str().to_owned()));
    HistoryEntry { id, operation, name, by: By::outside(), at: gap.at, files: Vec::new() }
}

/// The first lines of a text that fit.
pub(crate) fn cut(text: &Text, most: AnswerLimit) -> (&str, u32) {
    let (mut end, mut chars, mut lines) = (0, 0_usize, 0);
    for line in text.as_str().split_inclusive('\n') {
        chars += line.chars().count();
        if lines >= most.lines || chars > most.chars as usize {
            break;
        }
        lines += 1;
        end += line.len();
    }
    (&text.as_str()[..end], lines)
}

fn listed(path: String, file: &Registered, tag: Tag, version: Option<VersionId>) -> ListedFile {
    let (hash, gap) = (file.hash(), gap_of(file));
    let lines = if let Holds::Text { lines, .. } = file.holds { Some(lines) } else { None };
    let (bytes, modified_ms, language) = (file.bytes, file.modified_ms, file.language);
    ListedFile { path, bytes, modified_ms, hash, gap, lines, language, tag, version }
}
