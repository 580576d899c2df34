//! Lines that match a pattern, by ripgrep's engine: the same lines `rg` prints, each once, in order.

use grep_matcher::Matcher;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use std::io;

/// How a query is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Query {
    /// As the very letters.
    Literal,
    /// As a regular expression.
    Regex,
}

/// Whether large and small letters differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// They do.
    Exact,
    /// They do not.
    Folded,
}

/// A query that cannot be searched for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{query}` is no regular expression: {why}")]
pub struct BadQuery {
    /// As given.
    pub query: String,
    /// In the engine's words.
    pub why: String,
}

/// A query made ready; making one costs more than searching a small file.
#[derive(Debug)]
pub struct Finder {
    matcher: RegexMatcher,
}

/// What is given of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// The most matching lines that are kept; all are counted.
    pub matches: usize,
    /// Lines kept before each.
    pub before: usize,
    /// Lines kept behind each.
    pub after: usize,
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its number, from 1.
    pub number: u64,
    /// Its bytes without the terminator.
    pub bytes: Vec<u8>,
    /// Whether it matches, or stands beside one that does.
    pub matches: bool,
}

/// What was found in one text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// The lines kept, in order, none twice.
    pub lines: Vec<Line>,
    /// Lines that match, kept or not.
    pub total: u64,
    /// Whether it is no text: a NUL stands in it, and nothing behind that was looked at.
    pub binary: bool,
}

impl Finder {
    /// Makes a query ready.
    ///
    /// # Errors
    /// [`BadQuery`] says where it is malformed.
    pub fn new(query: &str, kind: Query, case: Case) -> Result<Self, BadQuery> {
        let mut builder = RegexMatcherBuilder::new();
        builder.line_terminator(Some(b'\n')).case_insensitive(case == Case::Folded);
        builder.fixed_strings(kind == Query::Literal);
        let made = builder.build(query);
        made.map(|matcher| Self { matcher })
            .map_err(|error| BadQuery { query: query.to_owned(), why: error.to_string() })
    }

    /// The matching lines of a text.
    ///
    /// # Errors
    /// When the engine gives up, as it does on a line beyond all bounds.
    pub fn find(&self, text: &[u8], extent: Extent) -> io::Result<Found> {
        let mut searcher = SearcherBuilder::new()
            .line_number(true)
            .before_context(extent.before)
            .after_context(extent.after)
            .binary_detection(BinaryDetection::quit(0))
            .build();
        let mut keep = Keep { extent, found: Found::default(), after: 0 };
        searcher.search_slice(&self.matcher, text, &mut keep)?;
        Ok(keep.found)
    }

    /// Whether anything in a line matches.
    #[must_use]
    pub fn is_in(&self, line: &str) -> bool {
        self.matcher.is_match(line.as_bytes()).unwrap_or(false)
    }
}

/// Keeps what is asked for and counts the rest.
struct Keep {
    extent: Extent,
    found: Found,
    /// Lines behind the last kept match that are still to be kept.
    after: usize,
}

impl Keep {
    fn push(&mut self, number: Option<u64>, bytes: &[u8], matches: bool) {
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes).to_vec();
        self.found.lines.push(Line { number: number.unwrap_or(0), bytes, matches });
    }
}

impl Sink for Keep {
    type Error = io::Error;

    fn matched(&mut self, _searcher: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        self.found.total += 1;
        if usize::try_from(self.found.total).is_ok_and(|total| total <= self.extent.matches) {
            self.push(found.line_number(), found.bytes(), true);
            self.after = self.extent.after;
        } else if self.after > 0 {
            // It stands right behind the last one that was kept.
            self.after -= 1;
            self.push(found.line_number(), found.bytes(), true);
        }
        Ok(true)
    }

    fn context(&mut self, _searcher: &Searcher, line: &SinkContext<'_>) -> io::Result<bool> {
        use grep_searcher::SinkContextKind::{After, Before, Other};
        let room = usize::try_from(self.found.total).is_ok_and(|total| total < self.extent.matches);
        match line.kind() {
            Before if room => self.push(line.line_number(), line.bytes(), false),
            After if self.after > 0 => {
                self.after -= 1;
                self.push(line.line_number(), line.bytes(), false);
            }
            Before | After | Other => {}
        }
        Ok(true)
    }

    fn context_break(&mut self, _searcher: &Searcher) -> io::Result<bool> {
        self.after = 0;
        Ok(true)
    }

    fn binary_data(&mut self, _searcher: &Searcher, _at: u64) -> io::Result<bool> {
        self.found.binary = true;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(query: &str, kind: Query, text: &str, extent: Extent) -> String {
        let found = Finder::new(query, kind, Case::Exact).unwrap().find(text.as_bytes(), extent).unwrap();
        let line = |line: &Line| {
            let mark = if line.matches { ':' } else { '-' };
            format!("{}{mark}{}", line.number, String::from_utf8_lossy(&line.bytes))
        };
        let lines: Vec<String> = found.lines.iter().map(line).collect();
        format!("{} of {}", lines.join(" "), found.total)
    }

    #[test]
    fn lines_in_order_each_once_with_their_neighbours() {
        let text = "a\nb a\nc\nd\ne a a\nf\n";
        let all = Extent { matches: 9, before: 0, after: 0 };
        assert_eq!(found("a", Query::Literal, text, all), "1:a 2:b a 5:e a a of 3");
        assert_eq!(found("^a|f$", Query::Regex, text, all), "1:a 6:f of 2");
        assert_eq!(found("e a", Query::Literal, text, Extent { before: 1, after: 1, ..all }), "4-d 5:e a a 6-f of 1");
        let first = Extent { matches: 1, before: 1, after: 2 };
        assert_eq!(found("a", Query::Literal, text, first), "1:a 2:b a 3-c of 3");
        assert_eq!(found("zz", Query::Literal, text, all), " of 0");
        assert_eq!(found("a.c", Query::Literal, "abc\na.c", all), "2:a.c of 1");
    }

    #[test]
    fn binaries_and_bad_queries() {
        let finder = Finder::new("a", Query::Literal, Case::Folded).unwrap();
        let found = finder.find(b"A\n\0a\n", Extent { matches: 9, ..Extent::default() }).unwrap();
        assert!(found.binary);
        let error = Finder::new("(", Query::Regex, Case::Exact).unwrap_err();
        assert!(error.to_string().contains("`(` is no regular expression"), "{error}");
    }
}
