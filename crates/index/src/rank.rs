//! Which files come first. Whole numbers only, no clock and no hash order: the same tree gives the same order.
//!
//! A file that holds all words of a text query scores, from the weightiest part down:
//! 1. whether the words stand in it as one phrase,
//! 2. how many of the words occur in its file name, at most 15,
//! 3. how dense its matching lines are: `1000 × matching / (lines + 20)`; the 20 keep tiny files from winning by size,
//! 4. how shallow its path is: 255 less one per folder.
//!
//! A path scores by [`Fit`], then by how shallow it is. What is equal stays in the order of the walk.

use std::collections::BTreeMap;

use crate::grep::{BadQuery, Case, Finder, Query};

/// Weights of the parts above.
const PHRASE: u64 = 1 << 40;
const NAME: u64 = 1 << 32;
const DENSITY: u64 = 1 << 16;

/// How many of the words a file name is credited with.
const MOST_NAMED: usize = 15;

/// The most words that are told apart; those behind only count as part of the phrase. White space is one space in it.
const MOST_WORDS: usize = 32;

/// A text query, made ready. Without a capital letter in it, large and small letters are the same.
#[derive(Debug)]
pub struct Words {
    case: Case,
    words: Vec<String>,
    each: Vec<Finder>,
    any: Finder,
    phrase: Finder,
}

/// What a text has of a query.
pub struct Text<'w> {
    /// Finds the lines worth showing: with the phrase where it stands, else with any of the words.
    pub finder: &'w Finder,
    /// Whether the words stand in it as one phrase.
    pub phrase: bool,
}

impl Words {
    /// Makes a query ready; one without words has nothing to find.
    ///
    /// # Errors
    /// [`BadQuery`] when the engine cannot take it.
    pub fn new(query: &str) -> Result<Self, BadQuery> {
        let case = smart(query);
        let words: Vec<String> = query.split_whitespace().take(MOST_WORDS).map(|word| folded(word, case)).collect();
        let each: Result<_, _> = words.iter().map(|word| Finder::new(word, Query::Literal, case)).collect();
        let any = Finder::any_of(&words, Query::Literal, case)?;
        let phrase = query.split_whitespace().collect::<Vec<_>>().join(" ");
        let phrase = Finder::new(&phrase, Query::Literal, case)?;
        Ok(Self { case, each: each?, any, phrase, words })
    }

    /// What a text has of it; `None` if a word is missing.
    #[must_use]
    pub fn of(&self, text: &[u8]) -> Option<Text<'_>> {
        if !self.each.iter().all(|word| word.is_in(text)) {
            return None;
        }
        let phrase = self.phrase.is_in(text);
        Some(Text { finder: if phrase { &self.phrase } else { &self.any }, phrase })
    }

    /// The score of a file, given how many of its lines match.
    #[must_use]
    pub fn score(&self, path: &str, phrase: bool, matching: u64, lines: u64) -> u64 {
        let name = folded(file_name(path), self.case);
        let named = self.words.iter().filter(|word| name.contains(&**word)).count().min(MOST_NAMED);
        let density = (matching.saturating_mul(1000) / lines.saturating_add(20)).min(1000);
        u64::from(phrase) * PHRASE + named as u64 * NAME + density * DENSITY + shallow(path)
    }
}

/// How a path fits a query, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// It is the file's name.
    Name,
    /// The file's name begins with it.
    Prefix,
    /// It stands in the file's name.
    InName,
    /// It stands in the path.
    InPath,
    /// Its letters stand in the path in this order, others between them.
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
            Self::Letters => "letters",
        }
    }

    /// The score of a path that fits so.
    #[must_use]
    pub fn score(self, path: &str) -> u64 {
        let rank: u64 = match self {
            Self::Name => 5,
            Self::Prefix => 4,
            Self::InName => 3,
            Self::InPath => 2,
            Self::Letters => 1,
        };
        rank * 256 + shallow(path)
    }
}

/// How a path fits; `None` if it does not. Without a capital letter in the query, large and small letters are the same.
#[must_use]
pub fn fit(path: &str, query: &str) -> Option<Fit> {
    let case = smart(query);
    let (path, query) = (folded(path, case), folded(query, case));
    let name = file_name(&path);
    if name == query {
        Some(Fit::Name)
    } else if name.starts_with(&query) {
        Some(Fit::Prefix)
    } else if name.contains(&query) {
        Some(Fit::InName)
    } else if path.contains(&query) {
        Some(Fit::InPath)
    } else {
        let mut letters = path.chars();
        query.chars().all(|wanted| letters.any(|letter| letter == wanted)).then_some(Fit::Letters)
    }
}

/// The best of what is offered, no more than asked for; memory does not grow with what is offered.
#[derive(Debug)]
pub struct Best<T> {
    most: usize,
    /// By rising rank: score turned around, then order of arrival.
    kept: BTreeMap<(u64, u64), T>,
    offered: u64,
}

impl<T> Best<T> {
    /// At most this many.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self { most, kept: BTreeMap::new(), offered: 0 }
    }

    /// Makes it and keeps it, if it is among the best so far.
    pub fn offer(&mut self, score: u64, make: impl FnOnce() -> T) {
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

    /// How many were offered.
    #[must_use]
    pub fn offered(&self) -> u64 {
        self.offered
    }

    /// Best first.
    pub fn into_values(self) -> impl Iterator<Item = T> {
        self.kept.into_values()
    }
}

fn smart(query: &str) -> Case {
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
            ("r/e/a/d", "read", Some(Fit::Letters)),
            ("dear", "read", None),
            ("READ", "read", Some(Fit::Name)),
            ("read", "READ", None),
            ("Read", "Read", Some(Fit::Name)),
        ];
        for (path, query, expected) in fits {
            assert_eq!(fit(path, query), expected, "{path} {query}");
        }
        assert!(Fit::Name.score("a/b/c") > Fit::Prefix.score("a"));
        assert!(Fit::Prefix.score("a") > Fit::Prefix.score("a/b"));
    }

    #[test]
    fn phrase_then_name_then_density_then_depth() {
        let words = Words::new("two words").unwrap();
        let ordered = [
            words.score("deep/er/a.rs", true, 1, 900),
            words.score("two_words.rs", false, 1, 900),
            words.score("a/two.rs", false, 1, 900),
            words.score("a/b/a.rs", false, 9, 100),
            words.score("a.rs", false, 1, 100),
            words.score("a/a.rs", false, 1, 100),
            words.score(&"a/".repeat(999), false, 0, 0),
        ];
        assert!(ordered.is_sorted_by(|a, b| a > b), "{ordered:?}");
    }

    #[test]
    fn all_words_or_nothing() {
        let words = Words::new("two words").unwrap();
        let of = |text: &str| words.of(text.as_bytes()).map(|text| text.phrase);
        assert_eq!(of("Two Words"), Some(true));
        assert_eq!(of("words\nand two"), Some(false));
        assert_eq!(of("two"), None);
        assert!(Words::new(" two\n words").unwrap().of(b"two words").is_some_and(|text| text.phrase));
        let exact = Words::new("Two").unwrap();
        assert!(exact.of(b"two").is_none() && exact.of(b"Two").is_some());
    }

    #[test]
    fn the_best_are_kept_and_equals_stay_in_order() {
        let mut best = Best::new(3);
        for (score, name) in [(1, "a"), (5, "b"), (3, "c"), (5, "d"), (3, "e"), (0, "f")] {
            best.offer(score, || name);
        }
        assert_eq!(best.offered(), 6);
        assert_eq!(best.into_values().collect::<Vec<_>>(), ["b", "d", "c"]);
        let mut none = Best::new(0);
        none.offer(1, || ());
        assert_eq!((none.offered(), none.into_values().count()), (1, 0));
    }
}
