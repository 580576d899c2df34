//! A session's entries for whoever lists, searches or copies them. Nothing here changes the tree.

use readproof_core::{path::PathKey, text::ContentHash};
use std::collections::{BTreeMap, BTreeSet};

use super::{
    Sha,
    record::{Answered, Record, SeenFile},
    state::Logged,
    transcript::{EntryId, Transcript},
};
use crate::tree::At;

/// What an entry records.
#[derive(Clone, Debug)]
pub enum EntryKind<'a> {
    /// A read was answered.
    Read {
        answer: &'a Answered,
        /// Whether the answer reached the model.
        delivered: bool,
    },
    /// The agent wrote or edited a file.
    Write { path: &'a str, delivered: bool },
    /// Lines were shown by anything but the answer to a read.
    Seen { files: &'a [SeenFile] },
    /// Fresh text was asked for.
    Refresh {
        /// Every known name of the file.
        paths: &'a [String],
        scope: &'a str,
    },
    Compact {
        /// What the host kept instead of what was before.
        summary: Option<&'a str>,
    },
    /// The host changed or dropped a block.
    ContextEdit {
        target: EntryId,
        /// Whether the block is gone, rather than changed.
        dropped: bool,
    },
    /// Written by a later version.
    Unknown,
}

#[derive(Clone, Debug)]
pub struct ListedEntry<'a> {
    /// What to name to go there.
    pub id: EntryId,
    pub parent: Option<EntryId>,
    pub kind: EntryKind<'a>,
}

impl Transcript {
    #[must_use]
    pub fn entry(&self, id: EntryId) -> Option<ListedEntry<'_>> {
        let at = self.tree().find(id.0)?;
        Some(self.listed(at, self.tree().get(at)?))
    }

    #[must_use]
    pub fn record(&self, id: EntryId) -> Option<&Record> {
        self.get(id).map(|entry| &entry.record)
    }

    /// Every answer, on any branch.
    pub fn answered(&self) -> impl Iterator<Item = &Answered> {
        self.tree().after(None).filter_map(|(_, entry)| entry.record.answered())
    }

    /// Every file that was read or written, on any branch.
    #[must_use]
    pub fn files(&self) -> BTreeSet<PathKey> {
        self.known.iter().map(|path| PathKey::new(path)).collect()
    }

    /// Whether a file was read or written, on any branch. Nothing can be held of any other.
    #[must_use]
    pub fn knows(&self, path: &str) -> bool {
        self.known.contains(path)
    }

    /// Of these files the text that the newest record shows or makes, on any branch. Files of which only a text that nobody can name
    /// was shown since are left out.
    #[must_use]
    pub fn last_texts(&self, paths: &BTreeSet<String>) -> BTreeMap<String, ContentHash> {
        let mut last = BTreeMap::new();
        let mut note = |path: &String, text: Option<Sha>| {
            if paths.contains(path) {
                match text {
                    Some(Sha(hash)) => drop(last.insert(path.clone(), hash)),
                    None => drop(last.remove(path)),
                }
            }
        };
        for (_, entry) in self.tree().after(None) {
            match &entry.record {
                Record::Answer { answer, .. } if !answer.for_program => note(&answer.path, answer.hash),
                Record::Change { changed, .. } => note(&changed.path, changed.after.map(|(text, _)| text)),
                Record::Seen { files, .. } => {
                    // Both sides of a diff are shown: the one that can be placed is what the file holds.
                    files.iter().filter(|file| file.text.is_none()).for_each(|file| note(&file.path, None));
                    let placed = files.iter().filter_map(|file| Some((&file.path, file.text?.0)));
                    placed.for_each(|(path, text)| note(path, Some(text)));
                }
                Record::Open { .. }
                | Record::Answer { .. }
                | Record::Begun { .. }
                | Record::Delivered { .. }
                | Record::Alike { .. }
                | Record::Refresh { .. }
                | Record::Compact { .. }
                | Record::ContextEdit { .. }
                | Record::Distrust { .. }
                | Record::Switch { .. }
                | Record::Unknown { .. } => {}
            }
        }
        last
    }

    /// The records after an entry, on any branch.
    pub fn records_after(&self, id: EntryId) -> impl Iterator<Item = (EntryId, &Record)> {
        self.tree().after(self.tree().find(id.0)).map(|(at, entry)| (self.id_at(at), &entry.record))
    }

    /// The entries from the root to `leaf`.
    #[must_use]
    pub fn branch(&self, leaf: Option<EntryId>) -> Vec<EntryId> {
        let leaf = leaf.and_then(|id| self.tree().find(id.0));
        self.tree().branch(leaf, |_| false).into_iter().map(|at| self.id_at(at)).collect()
    }

    /// Every entry that a person would name: calls, by the number that their caller was given. That a result was
    /// delivered is part of its call.
    #[must_use]
    pub fn entries(&self) -> Vec<ListedEntry<'_>> {
        let announced =
            |record: &Record| if let Record::Change { changed, .. } = record { Some(changed.begun) } else { None };
        let changed: BTreeSet<u64> =
            self.tree().after(None).filter_map(|(_, entry)| announced(&entry.record)).collect();
        let is_listed = |at: At, entry: &Logged| {
            !matches!(entry.record, Record::Delivered { .. } | Record::Alike { .. })
                && !changed.contains(&self.line(at))
        };
        let listed = self.tree().after(None).filter(|(at, entry)| is_listed(*at, entry));
        listed.map(|(at, entry)| self.listed(at, entry)).collect()
    }

    /// The entry that completes this one: for a call, the delivery of its result if there is one.
    #[must_use]
    pub fn settled(&self, id: EntryId) -> EntryId {
        self.get(id).and_then(|entry| entry.delivered).map_or(id, |at| self.id_at(at))
    }

    /// The number an entry is known by: for a delivery, that of its call.
    #[must_use]
    pub fn named(&self, id: EntryId) -> EntryId {
        match self.record(id) {
            Some(Record::Delivered { of, .. }) => EntryId(*of),
            _ => id,
        }
    }

    /// The newest entry at or below `id`: the tip of its branch.
    #[must_use]
    pub fn tip(&self, id: EntryId) -> EntryId {
        let Some(top) = self.tree().find(id.0) else { return id };
        let mut below = BTreeSet::from([top]);
        for (at, _) in self.tree().after(Some(top)) {
            if self.tree().parent(at).is_some_and(|parent| below.contains(&parent)) {
                below.insert(at);
            }
        }
        below.last().map_or(id, |at| self.id_at(*at))
    }

    /// The reads on the branch since the barrier, delivered or pending, oldest first, and the number of entries there.
    #[must_use]
    pub fn window(&self) -> (usize, Vec<&Answered>) {
        let mut reads = Vec::new();
        let mut entries = 0;
        for (_, entry) in self.derived.window(self.leaf) {
            match &entry.record {
                Record::Delivered { of, .. } => {
                    entries += 1;
                    reads.extend(self.record(EntryId(*of)).and_then(Record::answered));
                }
                Record::Seen { .. } | Record::Refresh { .. } | Record::ContextEdit { .. } => entries += 1,
                Record::Open { .. }
                | Record::Answer { .. }
                | Record::Begun { .. }
                | Record::Change { .. }
                | Record::Alike { .. }
                | Record::Compact { .. }
                | Record::Distrust { .. }
                | Record::Switch { .. }
                | Record::Unknown { .. } => {}
            }
        }
        reads.reverse();
        (entries, reads)
    }

    fn id_at(&self, at: At) -> EntryId {
        EntryId(self.line(at))
    }

    fn listed<'a>(&'a self, at: At, entry: &'a Logged) -> ListedEntry<'a> {
        let delivered = entry.delivered.is_some();
        let kind = match &entry.record {
            Record::Answer { answer, .. } => EntryKind::Read { answer, delivered },
            Record::Begun { path, .. } => EntryKind::Write { path, delivered },
            Record::Change { changed, .. } => EntryKind::Write { path: &changed.path, delivered },
            Record::Seen { files, .. } => EntryKind::Seen { files },
            Record::Refresh { paths, scope, .. } => EntryKind::Refresh { paths, scope },
            Record::Compact { summary, .. } => EntryKind::Compact { summary: summary.as_deref() },
            Record::ContextEdit { target, block, .. } => {
                EntryKind::ContextEdit { target: self.named(EntryId(*target)), dropped: block.is_none() }
            }
            Record::Open { .. }
            | Record::Delivered { .. }
            | Record::Alike { .. }
            | Record::Distrust { .. }
            | Record::Switch { .. }
            | Record::Unknown { .. } => EntryKind::Unknown,
        };
        let parent = self.tree().parent(at).map(|parent| self.named(self.id_at(parent)));
        ListedEntry { id: self.id_at(at), parent, kind }
    }
}
