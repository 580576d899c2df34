//! Patterns of several lists, matched together. A list is what one ignore file holds, or one rule's paths: its last pattern
//! that matches a name decides.

use std::sync::Arc;

use globset::{Candidate, GlobBuilder, GlobSet, GlobSetBuilder};
use readproof_core::policy::{NameKind, Rule};

use super::{
    error::PolicyError,
    pattern::{Line, Pattern},
};

/// The most patterns of all lists together.
pub(super) const MOST_PATTERNS: usize = 10_000;

/// The most patterns that are tried one after another, as `globset` cannot say them.
const MOST_SINGLE: usize = 500;

/// A pattern of a list.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) list: usize,
    pub(super) negated: bool,
    folders_only: bool,
    pattern: Pattern,
    pub(super) rule: Arc<Rule>,
}

/// Gathers lists.
#[derive(Debug, Default)]
pub(super) struct ListsBuilder {
    entries: Vec<Entry>,
    lists: usize,
}

impl ListsBuilder {
    /// Begins a list, and returns its number. They are counted from 0.
    pub(super) fn begin(&mut self) -> usize {
        self.lists += 1;
        self.lists - 1
    }

    /// Adds a pattern to the list that was begun last.
    pub(super) fn add(&mut self, line: &Line<'_>, pattern: Pattern, rule: Arc<Rule>) -> Result<(), PolicyError> {
        if self.entries.len() == MOST_PATTERNS {
            return Err(PolicyError::TooManyPatterns { file: rule.file.to_string(), max: MOST_PATTERNS });
        }
        let (negated, folders_only) = (line.negated, line.folders_only);
        self.entries.push(Entry { list: self.lists.saturating_sub(1), negated, folders_only, pattern, rule });
        Ok(())
    }

    pub(super) fn build(self) -> Result<Lists, PolicyError> {
        let complex = |error: globset::Error| PolicyError::TooComplex { reason: error.to_string() };
        let (mut set, mut in_set, mut single) = (GlobSetBuilder::new(), Vec::new(), Vec::new());
        for (at, entry) in self.entries.iter().enumerate() {
            let glob = entry
                .pattern
                .glob()
                .and_then(|glob| GlobBuilder::new(&glob).literal_separator(true).backslash_escape(true).build().ok());
            match glob {
                Some(glob) => {
                    set.add(glob);
                    in_set.push(at);
                }
                None if single.len() == MOST_SINGLE => {
                    return Err(PolicyError::TooManyPatterns { file: entry.rule.file.to_string(), max: MOST_SINGLE });
                }
                None => single.push(at),
            }
        }
        Ok(Lists { set: set.build().map_err(complex)?, in_set, single, entries: self.entries })
    }
}

/// Lists of patterns, compiled.
#[derive(Debug)]
pub(super) struct Lists {
    set: GlobSet,
    /// The entry of each glob in the set.
    in_set: Vec<usize>,
    /// The entries that are not in the set.
    single: Vec<usize>,
    entries: Vec<Entry>,
}

impl Lists {
    /// Of each list, the last pattern that matches the name itself; in the order of the lists. The name is relative to the
    /// folder in which the patterns stand.
    pub(super) fn matched(&self, name: &str, kind: NameKind) -> Vec<&Entry> {
        let mut found = Vec::new();
        if self.entries.is_empty() {
            return Vec::new();
        }
        if !self.in_set.is_empty() {
            self.set.matches_candidate_into(&Candidate::new(name), &mut found);
            for at in &mut found {
                *at = self.in_set[*at];
            }
        }
        if !self.single.is_empty() {
            found.extend(self.single.iter().copied().filter(|at| self.entries[*at].pattern.matches(name)));
            found.sort_unstable();
        }
        let mut decide: Vec<&Entry> = Vec::new();
        for entry in found.into_iter().map(|at| &self.entries[at]) {
            if entry.folders_only && kind == NameKind::File {
                continue;
            }
            match decide.last_mut() {
                Some(last) if last.list == entry.list => *last = entry,
                Some(_) | None => decide.push(entry),
            }
        }
        decide
    }

    /// Whether a pattern of this list could match a name below a folder.
    pub(super) fn reaches_into(&self, list: usize, folder: &str) -> bool {
        let begin = self.entries.partition_point(|entry| entry.list < list);
        let mut of_list = self.entries[begin..].iter().take_while(|entry| entry.list == list);
        of_list.any(|entry| !entry.negated && entry.pattern.reaches_into(folder))
    }

    /// All patterns, in order.
    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }
}
