//! Which lines are meant where a request names none by number: the last ones, or those around some words.

use crate::{limits::Limits, scope::Lines, text::Text};

/// Lines that are found by looking at the text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Pick {
    /// None: the request says which.
    #[default]
    Given,
    /// The last so many.
    Last(u64),
    /// Those where these words stand closest together, with so many lines on either side.
    Around {
        /// As asked.
        query: alloc::string::String,
        /// Lines before and behind.
        context: u64,
    },
}

/// The last lines of a text, as many as one answer holds, but at least one; `None` for an empty text.
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

/// How far lines that match may lie apart to be shown together.
const APART: u32 = 20;

/// The lines around a query: of all runs of lines that match it and lie close together, the one with the most of them,
/// the first of several. Letters are taken as they are; where nothing matches so, large and small ones are alike. `None`:
/// nothing matches.
#[must_use]
pub fn around(text: &Text, query: &str, context: u64) -> Option<Lines> {
    let query = query.trim();
    if query.is_empty() {
        return None;
    }
    let folded = query.to_lowercase();
    let exact = best(text, |line| line.contains(query));
    let (first, last) = exact.or_else(|| best(text, |line| line.to_lowercase().contains(&folded)))?;
    let context = u32::try_from(context).unwrap_or(u32::MAX);
    Lines::new(first.saturating_sub(context).max(1), last.saturating_add(context).min(text.total()))
}

fn best(text: &Text, matches: impl Fn(&str) -> bool) -> Option<(u32, u32)> {
    let mut best: Option<(u32, (u32, u32))> = None;
    let mut run: Option<(u32, (u32, u32))> = None;
    for (number, line) in (1..).zip(text.as_str().split_inclusive('\n')) {
        if !matches(line) {
            continue;
        }
        let next = match run {
            Some((count, (first, last))) if number - last <= APART && number - first < 2 * APART => {
                (count + 1, (first, number))
            }
            Some(_) | None => (1, (number, number)),
        };
        run = Some(next);
        if best.is_none_or(|(count, _)| next.0 > count) {
            best = run;
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
    fn where_most_of_it_stands() {
        let text = numbered(|n| match n {
            5 => Some("Needle"),
            50 | 53 => Some("x needle y"),
            _ => None,
        });
        assert_eq!(around(&text, "needle", 2), Lines::new(48, 55));
        assert_eq!(around(&text, "Needle", 10), Lines::new(1, 15));
        assert_eq!(around(&text, " NEEDLE ", 0), Lines::new(50, 53));
        assert_eq!(around(&text, "nothing", 3), None);
        assert_eq!(around(&text, " ", 3), None);
        let all = numbered(|_| Some("x"));
        assert_eq!(around(&all, "x", 0).unwrap().count(), 2 * APART);
    }
}
