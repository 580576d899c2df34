//! What is in a folder: names, sizes and numbers of lines, bounded. No line of a file is shown, so nothing is recorded.

use readproof_core::{
    operation::{Extent, Hidden, LISTED, List},
    text::Text,
};
use readproof_disk::{Baseline, Compare as GitCompare, LocateError};
use readproof_index::{HiddenFiles, WalkEntry, WalkRules, walk_by};
use std::collections::{BTreeMap, BTreeSet};

use crate::{Control, Engine, Error, Settings, StoodOn};

/// The most names that are counted.
const MOST_NAMES: usize = 500_000;

/// The most names that a record of a list keeps.
const MOST_NOTED: usize = 20_000;

/// The largest file whose lines are counted.
const COUNTED_BYTES: u64 = 1 << 20;

/// Lines are counted in no more bytes than this for one answer.
const ALL_COUNTED_BYTES: u64 = 32 << 20;

/// What is in a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listed {
    /// The folder, relative to the workspace root.
    pub path: String,
    /// Folders and files in the order of a walk: what is directly in a folder, then its folders.
    pub entries: Vec<ListedEntry>,
    /// How many files there are, including those that are not shown.
    pub files: u64,
    /// How many entries are left out.
    pub left_out: u64,
    /// How deep it goes.
    pub depth: u32,
    /// Whether folders are deeper than that.
    pub deeper: bool,
}

/// A file, or a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedEntry {
    /// By its name in the workspace.
    pub name: String,
    /// What it is.
    pub what: ListedKind,
}

/// What a name in a list is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListedKind {
    /// A folder.
    Folder {
        /// How many files are in it and below.
        files: u64,
        /// Whether its entries follow.
        open: bool,
    },
    /// A file.
    File {
        /// Its size.
        bytes: u64,
        /// How many lines it has, if it is text and not large.
        lines: Option<u64>,
    },
}

/// A folder while names are collected.
#[derive(Default)]
struct Node {
    files: BTreeSet<String>,
    folders: BTreeMap<String, Node>,
    /// Files in it and below.
    all: u64,
}

impl Node {
    fn add(&mut self, name: &str) {
        self.all += 1;
        match name.split_once('/') {
            Some((folder, rest)) => self.folders.entry(folder.to_owned()).or_default().add(rest),
            None => {
                self.files.insert(name.to_owned());
            }
        }
    }

    /// How many entries a list of this depth has.
    fn entries(&self, depth: u32) -> usize {
        let below = |node: &Self| if depth > 1 { node.entries(depth - 1) } else { 0 };
        self.files.len() + self.folders.len() + self.folders.values().map(below).sum::<usize>()
    }

    fn depth(&self) -> u32 {
        1 + self.folders.values().map(Self::depth).max().unwrap_or(0)
    }
}

impl Engine {
    /// What is in a folder.
    pub(crate) fn list(&self, asked: &List, control: &Control<'_>) -> Result<Listed, Error> {
        let here = asked.extent.path.as_deref().unwrap_or(".");
        let under = self.part(here)?;
        let mut names = Vec::new();
        self.each_file(&asked.extent, Some(&under), control, &mut |name| names.push(name))?;
        let is_file = !self.is_folder(here);
        let mut listed = arranged(asked, &under, is_file, &names);
        self.measure(&mut listed.entries, control)?;
        if self.is_recorded() {
            self.notes_names(&listed, is_file, &names);
        }
        Ok(listed)
    }

    /// Notes which names there were, and what was said of those that are shown: a list stands on that and not on a text.
    fn notes_names(&self, listed: &Listed, is_file: bool, names: &[String]) {
        if names.len() > MOST_NOTED {
            return self.stands_on(|| StoodOn::unkept(&listed.path));
        }
        let sizes: BTreeMap<&str, ListedKind> =
            listed.entries.iter().map(|entry| (entry.name.as_str(), entry.what)).collect();
        let mut text = format!("{}\n", if is_file { "file" } else { "folder" });
        for name in names {
            let size = |what: &ListedKind| match what {
                ListedKind::File { bytes, lines } => {
                    Some((bytes.to_string(), lines.map_or_else(|| "-".to_owned(), |lines| lines.to_string())))
                }
                ListedKind::Folder { .. } => None,
            };
            let size = sizes.get(name.as_str()).and_then(size);
            let (bytes, lines) = size.unwrap_or_else(|| ("-".to_owned(), "-".to_owned()));
            text.push_str(&format!("{bytes} {lines} {}\n", name.replace('\\', "\\\\").replace('\n', "\\n")));
        }
        self.stands_on(|| StoodOn::text(&listed.path, &Text::new(text)));
    }

    /// The name of a file or folder in the workspace, as written.
    pub(crate) fn part(&self, path: &str) -> Result<String, Error> {
        let found = self.stat(if path.is_empty() { "." } else { path })?;
        if found.exists {
            return Ok(found.path);
        }
        Err(self.not_there(path, LocateError::Missing { asked: path.to_owned() }))
    }

    /// Every file of a part of the workspace, by name.
    pub(crate) fn each_file(
        &self,
        extent: &Extent,
        under: Option<&str>,
        control: &Control<'_>,
        each: &mut dyn FnMut(String),
    ) -> Result<(), Error> {
        let tracked = self.tracked_hidden(extent.hidden, control);
        let rules = walk_rules(extent, under, &tracked);
        let walk = walk_by(&self.root, &rules)?;
        let mut count = 0;
        for entry in walk {
            control.check_cancelled()?;
            if let WalkEntry::File(name) = entry {
                each(name);
                count += 1;
                if count == MOST_NAMES {
                    break;
                }
            }
        }
        Ok(())
    }

    /// The hidden files that git tracks, if they are asked for.
    pub(crate) fn tracked_hidden(&self, hidden: Hidden, control: &Control<'_>) -> BTreeSet<String> {
        if hidden != Hidden::Tracked {
            return BTreeSet::new();
        }
        self.root.tracked_hidden(&self.git_question(control))
    }

    /// A question about a repository that is not about a version of a file.
    pub(crate) fn git_question<'c>(&'c self, control: &Control<'c>) -> GitCompare<'c> {
        let Settings { git: settings, git_files: settings_files, file_bytes: max_bytes, .. } = &self.shared.settings;
        GitCompare {
            baseline: Baseline::Index,
            settings: *settings,
            settings_files,
            content: None,
            max_bytes: *max_bytes,
            cancelled: control.cancelled,
        }
    }

    /// Sizes and numbers of lines.
    fn measure(&self, entries: &mut [ListedEntry], control: &Control<'_>) -> Result<(), Error> {
        let mut left = ALL_COUNTED_BYTES;
        for ListedEntry { name, what } in entries {
            let ListedKind::File { bytes, lines } = what else { continue };
            control.check_cancelled()?;
            let Some(stat) = self.root.glance(name) else { continue };
            *bytes = stat.len;
            if *bytes <= COUNTED_BYTES && *bytes <= left {
                left -= *bytes;
                *lines = self.lines_of(name);
            }
        }
        Ok(())
    }

    /// How many lines a small file has; `None` if it is no text, or sensitive, or gone.
    fn lines_of(&self, name: &str) -> Option<u64> {
        let (file, opened) = self.root.locate_open(&[self.root.absolute(name)]).ok()?;
        if self.shared.sensitive.is_sensitive(&self.root, &file) {
            return None;
        }
        let stream = self.root.stream(&file, Some(opened?), self.hard_links()).ok()?;
        let len = usize::try_from(stream.stat().len.min(COUNTED_BYTES)).ok()?;
        let bytes = stream.at(0, len).ok()?;
        if bytes.contains(&0) {
            return None;
        }
        let ends = bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
        Some(ends + u64::from(bytes.last().is_some_and(|last| *last != b'\n')))
    }
}

/// The list that these names make, without sizes.
fn arranged(asked: &List, under: &str, is_file: bool, names: &[String]) -> Listed {
    let mut top = Node::default();
    let prefix = if under == "." { String::new() } else { format!("{under}/") };
    for name in names {
        // A file is its own list.
        top.add(name.strip_prefix(&prefix).unwrap_or(name));
    }
    let most = asked.limit.unwrap_or(LISTED);
    let whole = top.depth();
    let fits = |depth: &u32| top.entries(*depth) <= most;
    let depth = asked.depth.unwrap_or_else(|| (1..=whole).take_while(fits).last().unwrap_or(1)).clamp(1, whole);
    let (path, deeper) = (under.to_owned(), depth < whole);
    let mut listed = Listed { path, files: top.all, depth, deeper, ..Listed::default() };
    collect(&top, if is_file { "" } else { &prefix }, depth, &mut listed.entries);
    listed.left_out = listed.entries.len().saturating_sub(most) as u64;
    listed.entries.truncate(most);
    listed
}

/// The list that a record stands on, made again; `None` if the text is no such record.
pub(crate) fn listed_again(asked: &List, under: &str, noted: &str) -> Option<Listed> {
    let mut lines = noted.split_terminator('\n');
    let is_file = lines.next()? == "file";
    let (mut names, mut sizes) = (Vec::new(), BTreeMap::new());
    for line in lines {
        let mut words = line.splitn(3, ' ');
        let (bytes, count, name) = (words.next()?, words.next()?, unescaped(words.next()?));
        if let Ok(bytes) = bytes.parse() {
            sizes.insert(name.clone(), ListedKind::File { bytes, lines: count.parse().ok() });
        }
        names.push(name);
    }
    let mut listed = arranged(asked, under, is_file, &names);
    for entry in &mut listed.entries {
        if let (ListedKind::File { .. }, Some(size)) = (entry.what, sizes.get(&entry.name)) {
            entry.what = *size;
        }
    }
    Some(listed)
}

/// A name that was put on one line.
fn unescaped(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut chars = name.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' if chars.as_str().starts_with('n') => {
                chars.next();
                out.push('\n');
            }
            '\\' => out.extend(chars.next()),
            other => out.push(other),
        }
    }
    out
}

/// The rules of a walk of a part of the workspace.
pub(crate) fn walk_rules<'w>(
    extent: &'w Extent,
    under: Option<&'w str>,
    tracked: &'w BTreeSet<String>,
) -> WalkRules<'w> {
    let hidden = match extent.hidden {
        Hidden::None => HiddenFiles::None,
        Hidden::All => HiddenFiles::All,
        Hidden::Tracked => HiddenFiles::Named(tracked),
    };
    WalkRules { under, glob: extent.glob.as_deref(), hidden, ignored: extent.ignored, among: None }
}

fn collect(node: &Node, prefix: &str, depth: u32, into: &mut Vec<ListedEntry>) {
    let file = ListedKind::File { bytes: 0, lines: None };
    into.extend(node.files.iter().map(|name| ListedEntry { name: format!("{prefix}{name}"), what: file }));
    for (name, folder) in &node.folders {
        let name = format!("{prefix}{name}");
        let open = depth > 1;
        into.push(ListedEntry { name: name.clone(), what: ListedKind::Folder { files: folder.all, open } });
        if open {
            collect(folder, &format!("{name}/"), depth - 1, into);
        }
    }
}
