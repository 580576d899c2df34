//! A text query: words that should occur, `"phrases"` that must, `-words` that must not.

use std::ops::Range;

use super::split::{folded, identifier_at, identifiers, is_stop_word, stem, words};
use crate::grep::{BadQuery, Case, Finder, Query};

/// The most words of a query that count.
const MOST_WORDS: usize = 32;

/// The most words that are also looked for as one name.
const LONGEST_NAME: usize = 6;

/// A shorter beginning of a word tells too little.
pub(crate) const SHORTEST_START: usize = 4;

/// What a term is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A word.
    Word,
    /// A name of several words that is written in the query as one.
    Name,
    /// Words that follow each other in the query, as one name.
    Run,
}

/// One thing that is counted in every file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Term {
    pub(crate) kind: Kind,
    /// The stem of a word, or the words of a name in lower case without anything between them.
    pub(crate) key: Vec<u8>,
    /// As it is written.
    pub(crate) written: String,
}

/// How often a term occurs in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    /// As a whole word, or name.
    pub(crate) whole: u32,
    /// As the beginning of a word.
    pub(crate) starts: u32,
    /// Whether in a name that is defined there, as far as its line tells.
    pub(crate) defined: bool,
}

impl Count {
    pub(crate) fn is_zero(self) -> bool {
        self.whole == 0 && self.starts == 0
    }
}

/// A compiled query.
#[derive(Debug)]
pub(crate) struct TextQuery {
    pub(crate) terms: Vec<Term>,
    /// Stems that must not occur.
    pub(crate) without: Vec<Vec<u8>>,
    /// What must occur as it is written.
    pub(crate) phrases: Vec<Finder>,
    /// The whole of it as one phrase.
    pub(crate) whole: Finder,
    /// Finds every identifier that may hold a term.
    needles: Option<Finder>,
    case: Case,
    single: Option<String>,
}

/// What is written in a query.
#[derive(Default)]
struct Written {
    /// Words and names, in order.
    identifiers: Vec<String>,
    phrases: Vec<String>,
    without: Vec<String>,
}

impl Written {
    fn new(query: &str) -> Self {
        let mut out = Self::default();
        let mut plain = String::new();
        // An odd quote quotes nothing.
        let quotes = query.matches('"').count() / 2 * 2;
        let mut parts = query.splitn(quotes + 1, '"');
        while let Some(outside) = parts.next() {
            for word in outside.split_whitespace() {
                match word.strip_prefix('-').filter(|rest| rest.starts_with(|c: char| c.is_alphanumeric())) {
                    Some(rest) => out.without.push(rest.to_owned()),
                    None => plain.extend([" ", word]),
                }
            }
            if let Some(quoted) = parts.next() {
                let phrase = quoted.split_whitespace().collect::<Vec<_>>().join(" ");
                plain.extend([" ", quoted]);
                out.phrases.extend((!phrase.is_empty()).then_some(phrase));
            }
        }
        if plain.trim().is_empty() {
            // Only what must not occur: it is meant as it is written.
            plain = query.to_owned();
            out.without.clear();
        }
        let plain_bytes = plain.as_bytes();
        out.identifiers = identifiers(plain_bytes).map(|range| plain[range].to_owned()).take(MOST_WORDS).collect();
        out
    }
}

impl TextQuery {
    /// Compiles a query for a number of threads.
    ///
    /// # Errors
    /// [`BadQuery`] if it is too large.
    pub(crate) fn new(query: &str, case: Case, threads: usize) -> Result<Self, BadQuery> {
        let written = Written::new(query);
        let finder = |words: &[String], case| Finder::for_threads(threads, words, Query::Literal, case);
        let terms = terms(&written.identifiers);
        let mut phrases: Vec<Finder> = Vec::new();
        for phrase in &written.phrases {
            phrases.push(finder(std::slice::from_ref(phrase), case)?);
        }
        let whole = query.split_whitespace().collect::<Vec<_>>().join(" ");
        let whole = finder(&[whole], case)?;
        let mut without = Vec::new();
        for word in &written.without {
            let parts = identifiers(word.as_bytes()).flat_map(|range| words(&word.as_bytes()[range]));
            without.extend(parts.map(stemmed));
        }
        let mut needles: Vec<String> = Vec::new();
        let starts = terms.iter().filter(|term| term.kind == Kind::Word).map(|term| &term.key).chain(&without);
        for key in starts {
            needles.push(String::from_utf8_lossy(key).into_owned());
        }
        for term in terms.iter().filter(|term| term.kind != Kind::Word) {
            let mut word = Vec::new();
            folded(words(term.written.as_bytes()).next().unwrap_or_default(), &mut word);
            needles.push(String::from_utf8_lossy(&word).into_owned());
        }
        // What begins with another needle is found with that.
        needles.sort();
        needles.dedup_by(|longer, shorter| longer.starts_with(shorter.as_str()));
        needles.retain(|needle| !needle.is_empty());
        let needles = if needles.is_empty() { None } else { Some(finder(&needles, Case::Folded)?) };
        let single = match &written.identifiers[..] {
            [one] if *one == query.trim() => Some(one.clone()),
            _ => None,
        };
        Ok(Self { terms, without, phrases, whole, needles, case, single })
    }

    /// How often each term occurs in a text, or nothing if none does; `None` if something is lacking that must occur, or there
    /// that must not.
    pub(crate) fn count(&self, text: &[u8], cancelled: &dyn Fn() -> bool) -> Option<Vec<Count>> {
        let Some(needles) = &self.needles else {
            // No word at all: what is written is looked for as it is.
            return self.whole.is_in(text).then(|| vec![Count { whole: 1, ..Count::default() }]);
        };
        let mut counts = vec![Count::default(); self.terms.len()];
        let mut scratch = Scratch::default();
        let (mut at, mut steps, mut any) = (0, 0_u32, false);
        while let Some(hit) = needles.next_in(text, at) {
            let range = identifier_at(text, hit.start.max(at));
            at = range.end.max(hit.end);
            steps += 1;
            if steps.is_multiple_of(4096) && cancelled() {
                return None;
            }
            let identifier = &text[range.clone()];
            if !self.without.is_empty() && words(identifier).any(|word| self.without.contains(&stemmed(word))) {
                return None;
            }
            let mut defined = None;
            self.terms_of(identifier, &mut scratch, &mut |term, whole| {
                let count = &mut counts[term];
                any = true;
                if whole {
                    count.whole += 1;
                    let defined = *defined.get_or_insert_with(|| super::defines::is_defined(text, &range));
                    count.defined |= defined;
                } else {
                    count.starts += 1;
                }
            });
        }
        let counts = if any { counts } else { Vec::new() };
        self.phrases.iter().all(|phrase| phrase.is_in(text)).then_some(counts)
    }

    /// The one name that the query is.
    pub(crate) fn single_name(&self) -> Option<&str> {
        self.single.as_deref()
    }

    /// Whether only words count: what is counted in a file then does not depend on anything else.
    pub(crate) fn is_plain(&self) -> bool {
        self.case == Case::Folded && self.needles.is_some() && self.without.is_empty() && self.phrases.is_empty()
    }

    /// The next place from which something may be a term.
    pub(crate) fn next_in(&self, text: &[u8], at: usize) -> Option<Range<usize>> {
        self.needles.as_ref().unwrap_or(&self.whole).next_in(text, at)
    }

    /// Where something that may be a term begins.
    pub(crate) fn first_in(&self, text: &[u8]) -> Option<usize> {
        let finder = self.needles.as_ref().unwrap_or(&self.whole);
        finder.next_in(text, 0).map(|found| found.start)
    }

    /// Whether the whole query stands in a line as it is written.
    pub(crate) fn is_phrase(&self, line: &[u8]) -> bool {
        self.whole.is_in(line) || self.phrases.iter().any(|phrase| phrase.is_in(line))
    }

    /// Tells each term that an identifier holds, and whether as a whole word.
    pub(crate) fn terms_of(&self, identifier: &[u8], scratch: &mut Scratch, each: &mut impl FnMut(usize, bool)) {
        scratch.glued.clear();
        let mut number = 0_u32;
        for word in words(identifier) {
            number += 1;
            folded(word, &mut scratch.word);
            scratch.glued.extend_from_slice(&scratch.word);
            let stem = &scratch.word[..stem(&scratch.word)];
            for (n, term) in self.terms.iter().enumerate().filter(|(_, term)| term.kind == Kind::Word) {
                if !stem.starts_with(&term.key) && self.case == Case::Folded {
                    continue;
                }
                let whole = match self.case {
                    Case::Folded => stem == &*term.key,
                    Case::Exact => word == term.written.as_bytes(),
                };
                if whole || (self.case == Case::Folded && term.key.len() >= SHORTEST_START) {
                    each(n, whole);
                }
            }
        }
        if number < 2 {
            return;
        }
        for (n, term) in self.terms.iter().enumerate().filter(|(_, term)| term.kind != Kind::Word) {
            let same = match (self.case, term.kind) {
                (Case::Exact, Kind::Name) => identifier == term.written.as_bytes(),
                (Case::Exact | Case::Folded, _) => scratch.glued == term.key,
            };
            if same {
                each(n, true);
            }
        }
    }
}

/// Room for comparing.
#[derive(Default)]
pub(crate) struct Scratch {
    word: Vec<u8>,
    glued: Vec<u8>,
}

pub(crate) fn stemmed(word: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    folded(word, &mut out);
    out.truncate(stem(&out));
    out
}

fn terms(identifiers: &[String]) -> Vec<Term> {
    let mut terms: Vec<Term> = Vec::new();
    let mut push = |kind, key: Vec<u8>, written: &str| {
        if !key.is_empty()
            && !terms.iter().any(|term| term.key == key && (term.kind == Kind::Word) == (kind == Kind::Word))
        {
            terms.push(Term { kind, key, written: written.to_owned() });
        }
    };
    let glued = |parts: &[Vec<u8>]| parts.concat();
    // Every word of the query, in lower case, in order.
    let mut all: Vec<Vec<u8>> = Vec::new();
    let mut plain: Vec<(Vec<u8>, String)> = Vec::new();
    for identifier in identifiers {
        let parts: Vec<&[u8]> = words(identifier.as_bytes()).collect();
        let mut lower = Vec::new();
        for part in &parts {
            let mut word = Vec::new();
            folded(part, &mut word);
            lower.push(word.clone());
            plain.push((word, String::from_utf8_lossy(part).into_owned()));
        }
        if parts.len() > 1 {
            push(Kind::Name, glued(&lower), identifier);
        }
        all.extend(lower);
    }
    let stops = |word: &[u8]| word.len() < 2 || std::str::from_utf8(word).is_ok_and(is_stop_word);
    let only_stops = plain.iter().all(|(word, _)| stops(word));
    for (word, written) in &plain {
        if only_stops || !stops(word) {
            push(Kind::Word, word[..stem(word)].to_vec(), written);
        }
    }
    let longest = all.len().min(LONGEST_NAME);
    for len in (2..=longest).rev().filter(|len| *len == all.len() || *len <= 3) {
        for run in all.windows(len).filter(|run| !run.iter().all(|word| stops(word))) {
            let written = run.iter().map(|word| String::from_utf8_lossy(word)).collect::<Vec<_>>().join("_");
            push(Kind::Run, glued(run), &written);
        }
    }
    terms
}
