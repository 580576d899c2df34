//! The lines of a file that show best why it was found.

use std::collections::BTreeMap;

use crate::grep::{Line, line};
use crate::search::PREVIEW_CHARS;

use super::{
    query::{Form, Kind, Scratch, TextQuery},
    score::Scorer,
    split::identifiers,
};

/// How far apart lines are that stand together.
const NEAR: u64 = 3;

/// What a line is worth that only imports, or belongs to a licence, or has the words only as the beginnings of others.
const IMPORT: f64 = 0.2;
const LICENCE: f64 = 0.05;
const START: f64 = 0.3;

/// What a word counts in another form.
const OTHER: f64 = 0.6;

/// What it adds that a line defines a name with the word.
const DEFINES: f64 = 0.8;

/// What a line is worth that has the query as it is written.
const AS_WRITTEN: f64 = 3.0;

/// What a word counts that another line shows already.
const AGAIN: f64 = 0.25;

/// The lines at the beginning of a file among which a licence stands.
const HEAD: u64 = 40;

/// The bytes of such a line that are looked at.
const HEAD_BYTES: usize = 400;

/// The most lines that are chosen one by one.
const FEW: usize = 10;

/// What a line of a comment begins with.
const COMMENTS: [&[u8]; 8] = [b"//", b"#", b"/*", b"*", b"--", b";", b"%", b"<!--"];

/// The most lines with words that are looked at and compared with each other.
const MOST: usize = 20_000;

/// A line with some of the terms.
#[derive(Clone, Debug)]
struct Seen {
    number: u64,
    /// Each term once, with what it counts here.
    terms: Vec<(usize, f64)>,
    factor: f64,
}

/// What a second look at a file finds.
#[derive(Debug, Default)]
pub(super) struct Looked {
    /// The best lines, in order.
    pub(super) best: Vec<u64>,
    /// Lines with any of the words.
    pub(super) lines: u64,
    /// The part of the query's worth that stands together in one place.
    pub(super) close: f64,
    /// Whether the whole query occurs as it is written.
    pub(super) phrase: bool,
}

/// Looks at the lines of a file that have something of the query, until there are too many or nobody waits.
pub(super) fn look(
    query: &TextQuery,
    scorer: &Scorer<'_>,
    text: &[u8],
    most: usize,
    cancelled: &dyn Fn() -> bool,
) -> Looked {
    let mut out = Looked { phrase: query.is_phrase(text), ..Looked::default() };
    let mut seen = Vec::new();
    let mut scratch = Scratch::default();
    let licence = licence_ends(text);
    let (mut at, mut number, mut counted) = (0, 1_u64, 0);
    while let Some(hit) = query.next_in(text, at) {
        let start = text[..hit.start].iter().rposition(|byte| *byte == b'\n').map_or(0, |before| before + 1);
        let end =
            text[hit.start..].iter().position(|byte| *byte == b'\n').map_or(text.len(), |after| hit.start + after);
        number += text[counted..start].iter().filter(|byte| **byte == b'\n').count() as u64;
        (counted, at) = (start, end.max(hit.end));
        let line = &text[start..end];
        let phrase = out.phrase && query.is_phrase(line);
        let terms = terms_in(query, line, &mut scratch);
        if terms.is_empty() && !phrase {
            continue;
        }
        out.lines += 1;
        let factor = if number <= licence {
            LICENCE
        } else if is_import(line) {
            IMPORT
        } else {
            1.0
        };
        let factor = factor * if phrase { AS_WRITTEN } else { 1.0 };
        seen.push(Seen { number, terms: terms.into_iter().collect(), factor });
        if seen.len() >= MOST || (seen.len().is_multiple_of(1024) && cancelled()) {
            break;
        }
    }
    out.close = closest(query, scorer, &seen);
    out.best = choose(scorer, &seen, most);
    out
}

/// The terms of a line, each with what it counts.
fn terms_in(query: &TextQuery, line: &[u8], scratch: &mut Scratch) -> BTreeMap<usize, f64> {
    let mut terms: BTreeMap<usize, f64> = BTreeMap::new();
    for range in identifiers(line) {
        let mut defined = None;
        query.terms_of(&line[range.clone()], scratch, &mut |term, form| {
            let defined = *defined.get_or_insert_with(|| super::defines::is_defined(line, &range));
            let form = match form {
                Form::Same => 1.0,
                Form::Other => OTHER,
                Form::Start => START,
            };
            let counts = form + if defined { DEFINES } else { 0.0 };
            let best = terms.entry(term).or_default();
            *best = best.max(counts);
        });
    }
    terms
}

/// Lines to show, with those around them.
pub(super) fn shown(query: &TextQuery, text: &[u8], best: &[u64], around: usize) -> Vec<Line> {
    let around = around as u64;
    let mut out = Vec::new();
    for (number, bytes) in (1_u64..).zip(text.split(|byte| *byte == b'\n')) {
        let near = |best: &&u64| number.abs_diff(**best) <= around;
        if best.iter().find(near).is_none() || (bytes.is_empty() && at_end(text, bytes)) {
            continue;
        }
        let found = best.contains(&number).then(|| query.first_in(bytes).unwrap_or(0));
        out.push(line(number, bytes, found, PREVIEW_CHARS));
    }
    out
}

/// Whether a line is what follows the last terminator.
fn at_end(text: &[u8], line: &[u8]) -> bool {
    std::ptr::eq(line.as_ptr(), text.as_ptr_range().end)
}

/// The largest part of the query's worth within a few lines.
fn closest(query: &TextQuery, scorer: &Scorer<'_>, seen: &[Seen]) -> f64 {
    let all = scorer.all();
    if all <= 0.0 {
        return 0.0;
    }
    let mut most = 0.0_f64;
    for (at, line) in seen.iter().enumerate() {
        let mut here: BTreeMap<usize, f64> = BTreeMap::new();
        for near in seen[at..].iter().take_while(|near| near.number < line.number + NEAR) {
            for (term, counts) in near.terms.iter().filter(|(term, _)| query.terms[*term].kind == Kind::Word) {
                // The farther apart, the less.
                let counts = counts.min(1.0) / if near.number == line.number { 1.0 } else { 1.5 };
                let best = here.entry(*term).or_default();
                *best = best.max(counts);
            }
        }
        most = most.max(here.iter().map(|(term, counts)| scorer.worth(*term) * counts).sum());
    }
    most / all
}

/// Takes the line that adds most, again and again; the first lines, if many are wanted.
fn choose(scorer: &Scorer<'_>, seen: &[Seen], most: usize) -> Vec<u64> {
    if most > FEW {
        return seen.iter().take(most).map(|line| line.number).collect();
    }
    let mut shown: Vec<usize> = Vec::new();
    let mut chosen: Vec<u64> = Vec::new();
    while chosen.len() < most {
        let worth = |line: &Seen| {
            let parts = line
                .terms
                .iter()
                .map(|(term, counts)| scorer.worth(*term) * counts * if shown.contains(term) { AGAIN } else { 1.0 });
            (parts.sum::<f64>() + 0.01) * line.factor
        };
        let left = seen.iter().filter(|line| !chosen.contains(&line.number));
        let best = left.map(|line| (worth(line), line)).reduce(|best, next| if next.0 > best.0 { next } else { best });
        let Some((_, line)) = best else { break };
        // A line that only imports, or a licence, is not worth a second place.
        if !chosen.is_empty() && line.factor < 1.0 {
            break;
        }
        chosen.push(line.number);
        shown.extend(line.terms.iter().map(|(term, _)| *term));
    }
    chosen.sort_unstable();
    chosen
}

/// The last line of the licence that a file begins with; 0 if there is none.
fn licence_ends(text: &[u8]) -> u64 {
    let has = |line: &[u8], word: &[u8]| line.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word));
    let (mut speaks, mut in_block, mut end) = (false, false, 0);
    for (number, line) in (1..=HEAD).zip(text.split(|byte| *byte == b'\n')) {
        let line = line[..line.len().min(HEAD_BYTES)].trim_ascii();
        let is_comment = line.is_empty() || (COMMENTS.iter().any(|mark| line.starts_with(mark)) && !is_import(line));
        if !is_comment && !in_block {
            break;
        }
        in_block = (in_block || line.starts_with(b"/*") || line.starts_with(b"<!--"))
            && !has(line, b"*/")
            && !has(line, b"-->");
        speaks |= has(line, b"copyright") || has(line, b"licen") || has(line, b"spdx");
        end = number;
    }
    if speaks { end } else { 0 }
}

fn is_import(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    [
        &b"use "[..],
        b"pub use ",
        b"import ",
        b"from ",
        b"#include",
        b"#import",
        b"require",
        b"using ",
        b"package ",
        b"extern crate ",
    ]
    .iter()
    .any(|word| line.starts_with(word))
        || (line.starts_with(b"const ") && line.windows(9).any(|part| part == b"require('" || part == b"require(\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn licences_end_where_code_begins() {
        assert_eq!(licence_ends(b"// Copyright X\n// MIT\n\nfn main() {}\n"), 3);
        assert_eq!(licence_ends(b"// a comment\nfn main() {}\n"), 0);
        assert_eq!(licence_ends(b"/* Copyright X\n   Free software\n*/\n#include <x.h>\n"), 3);
        assert!(is_import(b"  use a::b;") && is_import(b"#include <x>") && !is_import(b"user = 3"));
    }
}
