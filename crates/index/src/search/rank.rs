//! Ranks names, and keeps the best of what is ranked. No clock, no hash order: the same tree gives the same order.
//!
//! A path is scored by [`Fit`], then by how shallow it is. Equal scores stay in the order of the walk.

use std::collections::BTreeMap;

use ignore::overrides::Override;

use crate::{BadWalk, grep::Case, walk::only};

/// How a path fits a query, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// The query is the file's name.
    Name,
    /// The file's name begins with the query.
    Prefix,
    /// The file's name contains the query.
    InName,
    /// The path contains the query.
    InPath,
    /// The path contains every word of the query.
    Words,
    /// The file's name contains the query's letters in this order, with others between them.
    Letters,
}

impl Fit {
    /// The word used on every wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Prefix => "name_prefix",
            Self::InName => "in_name",
            Self::InPath => "in_path",
            Self::Words => "words",
            Self::Letters => "letters",
        }
    }

    /// The score of a path with this fit.
    #[must_use]
    pub fn score(self, path: &str) -> u64 {
        let rank: u64 = match self {
            Self::Name => 6,
            Self::Prefix => 5,
            Self::InName => 4,
            Self::InPath => 3,
            Self::Words => 2,
            Self::Letters => 1,
        };
        rank * 256 + shallow(path)
    }
}

/// A compiled query for paths: a glob if it has a `*`, `?`, `[` or `{`, otherwise a name, a part of one, or words. Case-sensitive
/// if it has a capital letter.
pub(crate) enum Wanted {
    Glob(Override),
    Words { case: Case, whole: String, words: Vec<String> },
}

impl Wanted {
    /// # Errors
    /// [`BadWalk`] if it is a malformed glob.
    pub(crate) fn new(query: &str) -> Result<Self, BadWalk> {
        if query.contains(['*', '?', '[', '{']) {
            return Ok(Self::Glob(only(query)?));
        }
        let case = smart(query);
        let words = query.split_whitespace().map(|word| folded(word, case)).collect();
        Ok(Self::Words { case, whole: folded(query, case), words })
    }

    /// How a path fits; `None` if it does not.
    pub(crate) fn fit(&self, path: &str) -> Option<Fit> {
        let (case, query, words) = match self {
            Self::Glob(only) => return only.matched(path, false).is_whitelist().then_some(Fit::InPath),
            Self::Words { case, whole, words } => (*case, whole, words),
        };
        let path = folded(path, case);
        let name = file_name(&path);
        if name == *query {
            Some(Fit::Name)
        } else if name.starts_with(query.as_str()) {
            Some(Fit::Prefix)
        } else if name.contains(query.as_str()) {
            Some(Fit::InName)
        } else if path.contains(query.as_str()) {
            Some(Fit::InPath)
        } else if words.len() > 1 {
            words.iter().all(|word| path.contains(word.as_str())).then_some(Fit::Words)
        } else {
            // In the whole path, the letters of nearly any short word occur in order.
            let mut letters = name.chars();
            query.chars().all(|wanted| letters.any(|letter| letter == wanted)).then_some(Fit::Letters)
        }
    }
}

/// Keeps the best of what is offered, so that memory does not grow with the number of offers.
#[derive(Debug)]
pub(crate) struct Best<T> {
    most: usize,
    /// By score, the highest first, then by order of arrival.
    kept: BTreeMap<(u64, u64), T>,
    offered: u64,
}

impl<T> Best<T> {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, kept: BTreeMap::new(), offered: 0 }
    }

    /// Makes and keeps a value if it is among the best so far.
    pub(crate) fn offer(&mut self, score: u64, make: impl FnOnce() -> T) {
        let rank = (u64::MAX - score, self.offered);
        self.offered += 1;
        if self.kept.len() >= self.most {
            if self.kept.last_key_value().is_none_or(|(worst, _)| *worst < rank) {
                return;
            }
            self.kept.pop_last();
        }
        self.kept.insert(rank, make());
    }

    /// Best first.
    pub(crate) fn into_values(self) -> impl Iterator<Item = T> {
        self.kept.into_values()
    }
}

pub(crate) fn smart(query: &str) -> Case {
    if query.chars().any(char::is_uppercase) { Case::Exact } else { Case::Folded }
}

fn folded(text: &str, case: Case) -> String {
    match case {
        Case::Exact => text.to_owned(),
        Case::Folded => text.to_lowercase(),
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn shallow(path: &str) -> u64 {
    255 - path.matches('/').count().min(255) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_by_how_they_fit() {
        let fits = [
            ("read", "read", Some(Fit::Name)),
            ("a/read.rs", "read", Some(Fit::Prefix)),
            ("a/unread.rs", "read", Some(Fit::InName)),
            ("read/a.rs", "read", Some(Fit::InPath)),
            ("a/b.rs", "a/b", Some(Fit::InPath)),
            ("r/e/a/d", "read", None),
            ("rxexaxd", "read", Some(Fit::Letters)),
            ("src/commands/git/push.rs", "git push command", Some(Fit::Words)),
            ("src/commands/git/pull.rs", "git push command", None),
            ("a/b.toml", "*.toml", Some(Fit::InPath)),
            ("a/b.toml", "b/*.toml", None),
            ("a/b.toml", "**/b.{toml,rs}", Some(Fit::InPath)),
            ("dear", "read", None),
            ("READ", "read", Some(Fit::Name)),
            ("read", "READ", None),
            ("Read", "Read", Some(Fit::Name)),
        ];
        for (path, query, expected) in fits {
            assert_eq!(Wanted::new(query).unwrap().fit(path), expected, "{path} {query}");
        }
        assert!(Fit::Name.score("a/b/c") > Fit::Prefix.score("a"));
        assert!(Fit::Prefix.score("a") > Fit::Prefix.score("a/b"));
    }

    #[test]
    fn the_best_are_kept_and_equals_stay_in_order() {
        let mut best = Best::new(3);
        for (score, name) in [(1, "a"), (5, "b"), (3, "c"), (5, "d"), (3, "e"), (0, "f")] {
            best.offer(score, || name);
        }
        assert_eq!(best.into_values().collect::<Vec<_>>(), ["b", "d", "c"]);
        let mut none = Best::new(0);
        none.offer(1, || ());
        assert_eq!(none.into_values().count(), 0);
    }
}
