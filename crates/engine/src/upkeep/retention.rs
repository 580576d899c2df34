//! Which texts the version log names, which of them may go, and in which order they are compressed. The newest text of a file, texts
//! of open conflicts, and the state of all files at a checkpoint that has a name stay. Decides; touches nothing.

use readproof_core::{operation::Retention, text::ContentHash};
use readproof_disk::Stored;
use readproof_hosts::versions::{Role, VersionId, Versions};
use std::collections::{BTreeMap, BTreeSet};

use crate::history::State;

/// A text that was stored in the last hour may be that of a change that is being made just now, and is not recorded yet.
const JUST_NOW: u64 = 60 * 60 * 1000;

/// An earlier text that goes, with the versions that lose it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErasedText {
    /// The text.
    pub hash: ContentHash,
    /// Its size.
    pub bytes: u64,
    /// Every version whose text it is, as far as its file may be named.
    pub versions: Vec<LostVersion>,
}

/// A version that loses its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostVersion {
    /// The file, relative to the workspace root.
    pub path: String,
    /// The change.
    pub id: VersionId,
    /// Whether it is the text before that change, which is the first one that is known.
    pub is_before: bool,
}

/// What the version log says of one text.
#[derive(Clone, Debug, Default)]
pub(super) struct NamedText {
    /// The newest record that names it, and the latest time of one.
    pub(super) last: u64,
    pub(super) at: u64,
    /// Whether the history keeps it whatever the settings say.
    pub(super) is_fixed: bool,
    /// Whether it is the newest text of a file.
    pub(super) is_newest: bool,
    /// The open conflict that needs it.
    pub(super) conflict: Option<(VersionId, String)>,
    pub(super) versions: Vec<LostVersion>,
    /// Every file that had it.
    pub(super) paths: BTreeSet<String>,
}

/// Every text that the version log names.
#[derive(Debug, Default)]
pub(super) struct Named {
    pub(super) texts: BTreeMap<ContentHash, NamedText>,
    /// The texts of each file in the order of its versions, each once.
    runs: Vec<Vec<ContentHash>>,
    /// Those that were erased.
    pub(super) erased: BTreeSet<ContentHash>,
    /// The newest record when this was made.
    pub(super) newest: Option<VersionId>,
}

impl Named {
    pub(super) fn of(versions: &Versions) -> Self {
        let mut named = Self { newest: Some(versions.newest()), ..Self::default() };
        for found in versions.uses() {
            let text = named.texts.entry(found.hash).or_default();
            text.last = text.last.max(found.id.0);
            text.at = text.at.max(found.at);
            text.paths.insert(found.path.to_owned());
            let lost = |is_before| LostVersion { path: found.path.to_owned(), id: found.id, is_before };
            let is_known = text.versions.iter().any(|known| known.path == found.path);
            match found.role {
                Role::After => text.versions.push(lost(false)),
                Role::Before if !is_known => text.versions.push(lost(true)),
                Role::Conflict { is_open: true } => text.conflict = Some((found.id, found.path.to_owned())),
                Role::Before | Role::Conflict { is_open: false } => {}
            }
            if versions.is_erased(found.hash) {
                named.erased.insert(found.hash);
            }
        }
        named.fix(versions);
        named.order(versions);
        named
    }

    /// Marks what stays.
    fn fix(&mut self, versions: &Versions) {
        let marked: Vec<VersionId> =
            versions.checkpoints().filter(|(_, mark)| mark.name.is_some()).map(|(id, _)| id).collect();
        for path in versions.paths() {
            let newest = versions.of_path(path).next_back().and_then(|(_, _, file)| State::after(file).hash());
            if let Some(text) = newest.and_then(|hash| self.texts.get_mut(&hash)) {
                (text.is_fixed, text.is_newest) = (true, true);
            }
            for moment in &marked {
                let then = State::assumed_at(versions, path, *moment).hash();
                if let Some(text) = then.and_then(|hash| self.texts.get_mut(&hash)) {
                    text.is_fixed = true;
                }
            }
        }
        for text in self.texts.values_mut().filter(|text| text.conflict.is_some()) {
            text.is_fixed = true;
        }
    }

    fn order(&mut self, versions: &Versions) {
        let mut seen = BTreeSet::new();
        for path in versions.paths() {
            let of_path = versions.of_path(path).flat_map(|(_, change, file)| {
                [State::before(file, &change.operation).hash(), State::after(file).hash()]
            });
            self.runs.push(of_path.flatten().filter(|hash| seen.insert(*hash)).collect());
        }
        self.runs.push(self.texts.keys().filter(|hash| !seen.contains(hash)).copied().collect());
    }

    /// The earlier texts that go, given everything that is stored and whether something beside the history needs a text.
    pub(super) fn going(
        &self,
        stored: &BTreeMap<ContentHash, Stored>,
        is_needed: &dyn Fn(ContentHash) -> bool,
        (rules, now): (Retention, u64),
    ) -> BTreeSet<ContentHash> {
        let kept = self.texts.iter().filter_map(|(hash, text)| Some((text, stored.get(hash)?)));
        let mut left: u64 = kept.clone().map(|(_, object)| object.bytes).sum();
        let may_go = |(text, object): &(&NamedText, &Stored)| {
            let is_settled = now.saturating_sub(object.modified) >= JUST_NOW;
            !text.is_fixed && is_settled && !is_needed(object.hash)
        };
        let mut candidates: Vec<(&NamedText, &Stored)> = kept.filter(may_go).collect();
        candidates.sort_unstable_by_key(|(text, object)| (text.at, text.last, object.hash));
        let mut going = BTreeSet::new();
        for (text, object) in candidates {
            // A time in the future counts as now: the clock may have been set back.
            let is_old = rules.older_than_ms.is_some_and(|limit| now.saturating_sub(text.at) >= limit);
            if is_old || rules.max_bytes.is_some_and(|most| left > most) {
                left -= object.bytes;
                going.insert(object.hash);
            }
        }
        going
    }

    /// The texts to compress, those of one file in the order of its versions: what only earlier versions need.
    pub(super) fn packing(
        &self,
        stored: &BTreeMap<ContentHash, Stored>,
        stays: &dyn Fn(ContentHash) -> bool,
        (rules, now): (Retention, u64),
    ) -> Vec<Vec<ContentHash>> {
        let Some(after) = rules.pack_after_ms else { return Vec::new() };
        let is_cold = |hash: &ContentHash| {
            let is_newest = self.texts.get(hash).is_none_or(|text| text.is_newest || text.conflict.is_some());
            let is_old = stored.get(hash).is_some_and(|object| now.saturating_sub(object.modified) >= after);
            !is_newest && is_old && stays(*hash)
        };
        let runs = self.runs.iter().map(|run| run.iter().filter(|hash| is_cold(hash)).copied().collect());
        runs.filter(|run: &Vec<ContentHash>| !run.is_empty()).collect()
    }

    /// What goes, for a plan; `None` if the log does not name it.
    pub(super) fn erased_text(&self, object: Stored, may_name: &dyn Fn(&str) -> bool) -> Option<ErasedText> {
        let text = self.texts.get(&object.hash)?;
        let versions = text.versions.iter().filter(|lost| may_name(&lost.path)).cloned().collect();
        Some(ErasedText { hash: object.hash, bytes: object.bytes, versions })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    const HOUR: u64 = JUST_NOW;

    fn hash(n: u8) -> ContentHash {
        ContentHash::of(&[n])
    }

    /// Texts 1 to 5 of 100 bytes each, the first replaced five hours ago and so on; 5 is the newest.
    fn five() -> (Named, BTreeMap<ContentHash, Stored>) {
        let now = 100 * HOUR;
        let named = (1..=5).map(|n| {
            let (last, at) = (u64::from(n), now - u64::from(6 - n) * HOUR);
            (hash(n), NamedText { last, at, is_fixed: n == 5, is_newest: n == 5, ..NamedText::default() })
        });
        let object = |n| Stored { hash: hash(n), bytes: 100, modified: 0, packed: false };
        let runs = vec![(1..=5).map(hash).collect()];
        (Named { texts: named.collect(), runs, ..Named::default() }, (1..=5).map(|n| (hash(n), object(n))).collect())
    }

    fn going(rules: Retention, needed: &[u8], change: impl Fn(&mut BTreeMap<ContentHash, Stored>)) -> Vec<u8> {
        let (named, mut stored) = five();
        change(&mut stored);
        let is_needed = |one: ContentHash| needed.iter().any(|n| hash(*n) == one);
        let found = named.going(&stored, &is_needed, (rules, 100 * HOUR));
        (1..=5).filter(|n| found.contains(&hash(*n))).collect()
    }

    #[test]
    fn texts_go_by_age_and_by_size_and_the_newest_stays() {
        let by_age = |hours: u64| Retention { older_than_ms: Some(hours * HOUR), ..Retention::default() };
        let by_size = |bytes| Retention { max_bytes: Some(bytes), ..Retention::default() };
        assert_eq!(going(Retention::default(), &[], |_| {}), [0; 0], "off unless it is asked for");
        assert_eq!(going(by_age(3), &[], |_| {}), [1, 2, 3]);
        assert_eq!(going(by_age(0), &[], |_| {}), [1, 2, 3, 4], "never the newest");
        assert_eq!(going(by_size(500), &[], |_| {}), [0; 0]);
        assert_eq!(going(by_size(499), &[], |_| {}), [1]);
        assert_eq!(going(by_size(200), &[], |_| {}), [1, 2, 3]);
        assert_eq!(going(by_size(0), &[], |_| {}), [1, 2, 3, 4]);
        assert_eq!(going(by_size(200), &[1, 2], |_| {}), [3, 4], "what a session needs stays, and counts");
        let touch = |stored: &mut BTreeMap<ContentHash, Stored>| {
            stored.get_mut(&hash(1)).unwrap().modified = 100 * HOUR - 1;
        };
        assert_eq!(going(by_age(3), &[], touch), [2, 3], "one that was stored again just now stays");
    }

    #[test]
    fn what_is_compressed_keeps_its_order() {
        let (named, stored) = five();
        let rules = Retention { pack_after_ms: Some(0), ..Retention::default() };
        let all = named.packing(&stored, &|_| true, (rules, 100 * HOUR));
        assert_eq!(all, [[1, 2, 3, 4].map(hash)], "all but the newest");
        let some = named.packing(&stored, &|one| one != hash(2), (rules, 100 * HOUR));
        assert_eq!(some, [[1, 3, 4].map(hash)]);
        assert!(named.packing(&stored, &|_| true, (Retention::default(), 0)).is_empty());
        let young = Retention { pack_after_ms: Some(101 * HOUR), ..Retention::default() };
        assert!(named.packing(&stored, &|_| true, (young, 100 * HOUR)).is_empty());
    }
}
