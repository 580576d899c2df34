//! `mode=text`: files by the words of a query, ranked as a code search engine does. First every file is counted, then the best
//! are looked at once more, for how close together the words stand and for the lines to show.

mod defines;
#[cfg(test)]
mod documented;
mod index;
mod preview;
mod query;
mod score;
mod split;

pub use index::{NoWords, WordIndex, WordsBuilt};
pub use split::name_words;

use super::{
    Hit, PREVIEWS, Seen, Skip, TreeError, TreeMatches, TreeSearch, UnderWay, case_of, rank::Best, scan::Desk, text_of,
};
use crate::{Case, Language, Outline, Parsers, WalkEntry, grep::room, rank};
use readproof_core::scope::Lines;

use preview::{Looked, look, shown};
use query::{Count, TextQuery};
use score::{Candidate, Corpus, Scorer, in_path};

/// The largest text that is parsed to say what its lines belong to.
const PARSED_BYTES: usize = 512 << 10;

/// The most files that are looked at once more.
const REFINED: usize = 200;

/// The most files that are parsed for the definition of the one name that a query is.
const MOST_PARSED: usize = 40;

/// More than any score: what a definition counts.
const TIER: u64 = 1 << 32;

/// The most files that are ranked, whatever is asked.
const MOST_RANKED: usize = 1000;

/// What was counted in a file.
struct Counted {
    bytes: u64,
    counts: Option<Vec<Count>>,
}

/// What was counted in all files.
#[derive(Default)]
struct Tally {
    corpus: Corpus,
    /// Files with some of the terms, each with its place in the walk.
    candidates: Vec<(usize, Candidate)>,
}

impl Tally {
    /// The place of a file that is added in the order of the walk.
    fn place(&self) -> usize {
        usize::try_from(self.corpus.files).unwrap_or(usize::MAX)
    }

    fn add(&mut self, query: &TextQuery, place: usize, path: &str, found: Counted) {
        let Counted { bytes, counts } = found;
        self.corpus.files += 1;
        self.corpus.bytes += bytes;
        let Some(counts) = counts else { return };
        let in_path = in_path(query, path);
        if !counts.is_empty() || in_path.is_some() {
            let in_path = in_path.unwrap_or_default();
            self.candidates.push((place, Candidate { path: path.to_owned(), bytes, counts, in_path }));
        }
    }
}

impl TreeSearch<'_> {
    fn counted(&self, query: &TextQuery, path: &str, desk: &Desk<'_>) -> Seen<Counted> {
        let stream = self.open(path)?;
        let _held = desk.hold(room(&stream))?;
        let text = text_of(&stream, desk.cancelled)?;
        let counts = query.count(&text, desk.cancelled);
        if (desk.cancelled)() { Err(Skip::Cancelled) } else { Ok(Counted { bytes: text.len() as u64, counts }) }
    }
}

impl UnderWay<'_> {
    pub(super) fn texts(&self, out: &mut TreeMatches, words: Option<&mut WordIndex>) -> Result<(), TreeError> {
        let search = self.search;
        let case = case_of(search.letters, search.query, Case::Folded);
        let query = TextQuery::new(search.query, case, self.threads)?;
        if let Some(words) = words.filter(|_| query.is_plain()) {
            match self.with_words(out, &query, words) {
                // The index cannot be used: nothing was counted yet.
                Err(NoWords::Database(_)) | Ok(false) => *out = TreeMatches::default(),
                Err(NoWords::Cancelled) => return Err(TreeError::Cancelled),
                Err(NoWords::Walk(error)) => return Err(error.into()),
                Ok(true) => return Ok(()),
            }
        }
        let mut tally = Tally::default();
        let look = |path: &str, desk: &Desk<'_>| search.counted(&query, path, desk);
        self.each(out, &look, &mut |_, path, found, _| {
            tally.add(&query, tally.place(), &path, found);
            Ok(())
        })?;
        out.uncovered = out.looked_at;
        self.rank(out, &query, tally)
    }

    /// As [`Self::texts`], where files that the index covers are not read; `false` if the index has changed meanwhile.
    fn with_words(&self, out: &mut TreeMatches, query: &TextQuery, words: &mut WordIndex) -> Result<bool, NoWords> {
        let search = self.search;
        let survey = words.survey(search.root, &search.walk, self.cancelled)?;
        let Some(mut counts) = words.counts(query)? else { return Ok(false) };
        out.skipped.odd_names = survey.odd_names;
        out.skipped.unreadable = survey.unreadable;
        out.skipped.folders = survey.closed;
        let mut tally = Tally::default();
        let mut rest = Vec::new();
        for (at, (path, slot)) in survey.files.iter().enumerate() {
            let Some(slot) = slot else {
                rest.push(at);
                continue;
            };
            let doc = words.doc(*slot);
            out.looked_at += 1;
            if doc.is_text {
                let counts = Some(counts.remove(slot).unwrap_or_default());
                tally.add(query, at, path, Counted { bytes: doc.bytes, counts });
            } else {
                out.skipped.binary += 1;
            }
        }
        out.uncovered = rest.len() as u64;
        (self.progress)(out.looked_at);
        let mut places = rest.iter();
        let mut names = rest.iter().map(|at| WalkEntry::File(survey.files[*at].0.clone()));
        let look = |path: &str, desk: &Desk<'_>| search.counted(query, path, desk);
        let counted = self.each_of(&mut names, out, &|path, desk| Ok(look(path, desk)), &mut |_, path, found, _| {
            let at = places.next().copied().unwrap_or_default();
            tally.add(query, at, &path, found?);
            Ok(())
        });
        match counted.and_then(|()| self.rank(out, query, tally)) {
            Ok(()) => Ok(true),
            Err(TreeError::Walk(error)) => Err(NoWords::Walk(error)),
            Err(TreeError::Cancelled | TreeError::Query(_)) => Err(NoWords::Cancelled),
        }
    }

    fn rank(&self, out: &mut TreeMatches, query: &TextQuery, tally: Tally) -> Result<(), TreeError> {
        let Tally { corpus, mut candidates } = tally;
        // Equal scores stay in the order of the walk, whatever was counted first.
        candidates.sort_by_key(|(place, _)| *place);
        let candidates: Vec<Candidate> = candidates.into_iter().map(|(_, candidate)| candidate).collect();
        let scorer = Scorer::new(query, &corpus, &candidates);
        out.files = candidates.len() as u64;
        out.matches = out.files;
        out.complete = candidates.iter().filter(|file| scorer.lacks(file).is_empty()).count() as u64;
        let limit = self.search.limit.min(MOST_RANKED);
        let mut first = Best::new(limit.max(REFINED));
        for file in candidates {
            let score = scorer.score(&file);
            first.offer(milli(score), || (score, file));
        }
        let mut best = Best::new(limit);
        let (mut hits, mut parsers, mut parsed) = (Vec::new(), Parsers::default(), 0);
        for (score, file) in first.into_values() {
            let may_define = file.counts.iter().any(|count| count.defined) && parsed < MOST_PARSED;
            let name = query.single_name().filter(|_| may_define);
            parsed += usize::from(name.is_some());
            let looked = self.look_again(&file.path, |text| {
                let defines = name.map_or(0, |name| self.defines(&mut parsers, &file.path, text, name));
                (look(query, &scorer, text, 0, self.cancelled), defines)
            })?;
            let (looked, defines) = looked.unwrap_or_default();
            let score = milli(scorer.refined(score, looked.close, looked.phrase)) + defines * TIER;
            best.offer(score, || (score, file));
        }
        for (score, file) in best.into_values() {
            let lacks = scorer.lacks(&file);
            // A file that is named is wanted with all its lines.
            let previews = if self.search.walk.under == Some(&file.path) { MOST_RANKED } else { PREVIEWS };
            let mut hit = Hit { path: file.path, score: Some(score), lacks, ..Hit::default() };
            let _ = self.look_again(&hit.path.clone(), |text| {
                let Looked { best, lines, .. } = look(query, &scorer, text, previews, self.cancelled);
                hit.matches = lines;
                hit.lines = shown(query, text, &best, self.search.context_lines);
                hit.within = self.within(&mut parsers, &hit.path, text, &best);
            })?;
            hits.push(hit);
        }
        self.fit(out, hits);
        Ok(())
    }

    /// How well a file defines a name: 3 if exactly this name is defined, 2 if in other letters, 1 if it is only declared or a
    /// part of something.
    fn defines(&self, parsers: &mut Parsers, path: &str, text: &[u8], name: &str) -> u64 {
        let outline = self.outline(parsers, path, text);
        let symbols = outline.iter().flat_map(|outline| &outline.symbols);
        let how = symbols.map(|symbol| match rank(symbol.kind) {
            0 if symbol.name == name => 3,
            0 if symbol.name.eq_ignore_ascii_case(name) => 2,
            1..=3 if symbol.name == name => 1,
            _ => 0,
        });
        how.max().unwrap_or(0)
    }

    /// What a text defines, if it has a grammar and is not too large or too hard.
    fn outline(&self, parsers: &mut Parsers, path: &str, text: &[u8]) -> Option<Outline> {
        let text = std::str::from_utf8(text).ok().filter(|text| text.len() <= PARSED_BYTES)?;
        parsers.outline(Language::of(path, text)?, text, self.cancelled).ok()
    }

    /// Reads a file once more; `None` if that is no longer possible.
    fn look_again<T>(&self, path: &str, then: impl FnOnce(&[u8]) -> T) -> Result<Option<T>, TreeError> {
        if (self.cancelled)() {
            return Err(TreeError::Cancelled);
        }
        let text = self.search.open(path).and_then(|stream| text_of(&stream, self.cancelled));
        Ok(text.ok().map(|text| then(&text)))
    }

    /// The definitions that lines belong to, by the number of the line.
    fn within(&self, parsers: &mut Parsers, path: &str, text: &[u8], lines: &[u64]) -> Vec<(u64, String)> {
        let Some(outline) = self.outline(parsers, path, text) else { return Vec::new() };
        let holds = |line: u64, lines: Lines| (u64::from(lines.first())..=u64::from(lines.last())).contains(&line);
        let innermost = |line: &u64| {
            let around =
                outline.symbols.iter().filter(|symbol| holds(*line, symbol.lines) && u64::from(symbol.line) != *line);
            let symbol = around.min_by_key(|symbol| symbol.lines.last() - symbol.lines.first())?;
            Some((*line, symbol.qualified()))
        };
        lines.iter().filter_map(innermost).collect()
    }
}

/// A score as a whole number.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "scores are positive and small")]
fn milli(score: f64) -> u64 {
    (score * 1000.0).round() as u64
}
