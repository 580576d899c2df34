//! Finds the lines for requests that do not give an offset and limit: the last lines, a range with context, or the lines around
//! some words.

use alloc::vec::Vec;

use crate::{
    limits::Limits,
    scope::Lines,
    text::{ContentHash, Text},
};

/// How the lines of a request are found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Pick {
    /// By the offset and limit of the request.
    #[default]
    Given,
    /// The last lines, this many.
    Last(u64),
    /// From one line to another, with context.
    Span {
        /// The first line.
        first: u64,
        /// The last line.
        last: u64,
        /// Lines of context on each side.
        context: u64,
    },
    /// Lines that were found in one text, such as a symbol's; in any other text the numbers mean nothing.
    Of {
        /// The lines.
        lines: Lines,
        /// The text they were found in.
        hash: ContentHash,
    },
    /// The lines that match a query best, with context; see [`around`].
    Around {
        /// The words to look for.
        query: alloc::string::String,
        /// Lines of context on each side.
        context: u64,
    },
}

/// Lines that were found, with their context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Picked {
    /// The lines, context included.
    pub lines: Lines,
    /// Whether there is less context than was asked for, because it does not fit one answer.
    pub reduced: bool,
}

/// `core` with its context, as far as it fits one answer; the lines farthest away are left out first.
#[must_use]
pub fn span(text: &Text, core: Lines, context: u64, limits: &Limits) -> Picked {
    let context = u32::try_from(context).unwrap_or(u32::MAX);
    let (least, most) =
        (core.first().saturating_sub(context).max(1), core.last().saturating_add(context).min(text.total()));
    let size = |number: u32| (text.line(number).len(), text.line(number).chars().count());
    let (mut first, mut last, mut bytes, mut chars) = (core.first(), core.last().min(text.total()), 0, 0);
    for number in first..=last {
        let (more_bytes, more_chars) = size(number);
        (bytes, chars) = (bytes + more_bytes, chars + more_chars);
        if bytes > limits.answer_bytes as usize {
            break;
        }
    }
    let mut fits = |number: u32, lines: u32| {
        let (more_bytes, more_chars) = size(number);
        let fit = lines <= limits.answer_lines
            && bytes + more_bytes <= limits.answer_bytes as usize
            && limits.answer_chars.is_none_or(|most| chars + more_chars <= most as usize);
        if fit {
            (bytes, chars) = (bytes + more_bytes, chars + more_chars);
        }
        fit
    };
    let (mut up, mut down) = (first > least, last < most);
    while up || down {
        if up {
            up = fits(first - 1, last - first + 2);
            first -= u32::from(up);
            up &= first > least;
        }
        if down {
            down = fits(last + 1, last - first + 2);
            last += u32::from(down);
            down &= last < most;
        }
    }
    let lines = Lines::new(first, last).unwrap_or(core);
    Picked { lines, reduced: (first, last) != (least, most) }
}

/// The last lines of a text, as many as fit one answer, but at least one; `None` for an empty text.
#[must_use]
pub fn last(text: &Text, lines: u64, limits: &Limits) -> Option<Lines> {
    let total = text.total();
    let most = u32::try_from(lines).unwrap_or(u32::MAX).min(limits.answer_lines).min(total);
    let (mut bytes, mut chars, mut first) = (0, 0, total);
    for number in (total - most + 1..=total).rev() {
        let line = text.line(number);
        bytes += line.len();
        chars += if limits.answer_chars.is_some() { line.chars().count() } else { 0 };
        let fits =
            bytes <= limits.answer_bytes as usize && limits.answer_chars.is_none_or(|most| chars <= most as usize);
        if !fits {
            break;
        }
        first = number;
    }
    Lines::new(first, total)
}

/// How far matching lines may be apart to belong to one run.
const APART: u32 = 20;

/// The lines that match a query best. Matching lines that are close together form a run, and the run with the most of them wins,
/// the first of several. The whole query is looked for case-sensitively, then ignoring case; if no line contains it, the run with
/// the most of its words wins. `None` if nothing matches.
#[must_use]
pub fn around(text: &Text, query: &str) -> Option<Lines> {
    let query = query.trim();
    if query.is_empty() {
        return None;
    }
    let folded = query.to_lowercase();
    let words = words(&folded, text.total());
    let exact = best(text, |line| u64::from(line.contains(query)));
    let (first, last) = exact
        .or_else(|| best(text, |line| u64::from(line.to_lowercase().contains(&folded))))
        .or_else(|| best(text, |line| contained(&line.to_lowercase(), &words)))?;
    Lines::new(first, last)
}

/// The most words of a query that are looked for.
const MOST_WORDS: usize = 16;

/// The most lines times words that are compared in one text.
const STEPS: usize = 1 << 24;

/// The words of a query that are looked for: the first ones, each once; fewer in a text with very many lines.
fn words(query: &str, lines: u32) -> Vec<&str> {
    let most = (STEPS / (lines as usize).max(1)).clamp(1, MOST_WORDS);
    let mut words: Vec<&str> = Vec::new();
    for word in query.split_whitespace() {
        if words.len() == most {
            break;
        }
        if !words.contains(&word) {
            words.push(word);
        }
    }
    words
}

/// Which of `words` a line contains, one bit each.
fn contained(line: &str, words: &[&str]) -> u64 {
    let bit = |(at, word): (usize, &&str)| if line.contains(*word) { 1 << at } else { 0 };
    words.iter().enumerate().map(bit).fold(0, |all, bit| all | bit)
}

/// The run of lines in which `matches` gives the most different bits, and among those the one with the most lines that match.
fn best(text: &Text, matches: impl Fn(&str) -> u64) -> Option<(u32, u32)> {
    let mut best: Option<((u32, u32), (u32, u32))> = None;
    let mut run: Option<(u64, u32, (u32, u32))> = None;
    for (number, line) in (1..).zip(text.as_str().split_inclusive('\n')) {
        let bits = matches(line);
        if bits == 0 {
            continue;
        }
        let (all, count, lines) = match run {
            Some((all, count, (first, last))) if number - last <= APART && number - first < 2 * APART => {
                (all | bits, count + 1, (first, number))
            }
            Some(_) | None => (bits, 1, (number, number)),
        };
        run = Some((all, count, lines));
        let worth = (all.count_ones(), count);
        if best.is_none_or(|(least, _)| worth > least) {
            best = Some((worth, lines));
        }
    }
    best.map(|(_, lines)| lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::{format, string::String};

    fn numbered(mut line: impl FnMut(u32) -> Option<&'static str>) -> Text {
        let lines = (1..=100).map(|n| format!("{}\n", line(n).unwrap_or("-")));
        Text::new(lines.collect::<String>())
    }

    #[test]
    fn the_last_lines() {
        let text = Text::new("a\nb\nc".into());
        let all = Limits::default();
        assert_eq!(last(&text, 2, &all), Lines::new(2, 3));
        assert_eq!(last(&text, u64::MAX, &all), Lines::new(1, 3));
        assert_eq!(last(&Text::new(String::new()), 2, &all), None);
        assert_eq!(last(&text, 9, &Limits { answer_bytes: 3, ..all }), Lines::new(2, 3));
        assert_eq!(last(&text, 9, &Limits { answer_chars: Some(0), ..all }), Lines::new(3, 3));
        assert_eq!(last(&text, 9, &Limits { answer_lines: 1, ..all }), Lines::new(3, 3));
    }

    #[test]
    fn so_many_words_count() {
        assert_eq!(words("a b a  c", 10), ["a", "b", "c"]);
        let many: String = (0..99).map(|n| format!("w{n} ")).collect();
        assert_eq!((words(&many, 10).len(), words(&many, 4_000_000).len(), words(&many, u32::MAX).len()), (16, 4, 1));
    }

    #[test]
    fn where_most_of_it_stands() {
        let text = numbered(|n| match n {
            5 => Some("Needle"),
            50 | 53 => Some("x needle y"),
            _ => None,
        });
        assert_eq!(around(&text, "needle"), Lines::new(50, 53));
        assert_eq!(around(&text, "Needle"), Lines::new(5, 5));
        assert_eq!(around(&text, " NEEDLE "), Lines::new(50, 53));
        assert_eq!(around(&text, "nothing"), None);
        assert_eq!(around(&text, " "), None);
        let all = numbered(|_| Some("x"));
        assert_eq!(around(&all, "x").unwrap().count(), 2 * APART);
        let words = numbered(|n| match n {
            3 => Some("alpha alpha"),
            40 => Some("Beta two"),
            42 => Some("one ALPHA"),
            _ => None,
        });
        assert_eq!(around(&words, "alpha beta"), Lines::new(40, 42));
    }

    #[test]
    fn what_stands_farthest_is_left_out_first() {
        let (text, all) = (numbered(|_| None), Limits::default());
        let lines = |first, last, context, limits: &Limits| {
            let picked = span(&text, Lines::new(first, last).unwrap(), context, limits);
            (picked.lines.first(), picked.lines.last(), picked.reduced)
        };
        assert_eq!(lines(50, 51, 3, &all), (47, 54, false));
        assert_eq!(lines(2, 99, 3, &all), (1, 100, false));
        assert_eq!(lines(50, 50, u64::MAX, &Limits { answer_lines: 5, ..all }), (48, 52, true));
        assert_eq!(lines(50, 50, 20, &Limits { answer_bytes: 7, ..all }), (49, 51, true));
        assert_eq!(lines(50, 50, 20, &Limits { answer_chars: Some(1), ..all }), (50, 50, true));
        assert_eq!(lines(1, 1, 9, &Limits { answer_lines: 4, ..all }), (1, 4, true));
    }
}
