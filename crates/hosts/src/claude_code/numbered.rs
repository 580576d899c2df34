//! File text as the host's `Read` shows it: every line behind its number and a tab. The host removes a byte order mark and
//! the CR of line ends, and counts the empty piece after a final newline as a line.
//!
//! Knowledge is about these pieces: the text here has every piece with a newline behind it, and so one newline more than the
//! file. A piece that was not shown is empty in it, and is never held.
//!
//! What is sent is trimmed at its right end, so trailing blanks of the last line cannot be seen. The line is taken as it is
//! seen; a file that has blanks there has another text.

use readproof_core::{
    render::MARKER,
    scope::Lines,
    text::{Form, Text},
};

/// How the host begins what it says beside a text.
pub(super) const REMINDER: &str = "<system-reminder>";

/// How it ends that.
pub(super) const REMINDER_END: &str = "</system-reminder>";

/// A larger number is taken for that of no line: texts are filled up with empty lines.
pub(super) const MOST_LINES: u32 = 4_000_000;

/// Lines that were shown with their numbers, and what follows them.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Numbered<'t> {
    pub(super) first: u32,
    pub(super) pieces: Vec<&'t str>,
    pub(super) rest: &'t str,
}

impl<'t> Numbered<'t> {
    /// Reads lines with numbers from the start of a text; `None` if the first line has none.
    pub(super) fn parse(text: &'t str) -> Option<Self> {
        let (first, _) = number(text.split('\n').next()?)?;
        let (mut pieces, mut rest) = (Vec::new(), text);
        let mut next = first;
        while let Some((_, piece)) = number(line(rest)).filter(|(number, _)| *number == next) {
            pieces.push(piece);
            next = next.checked_add(1)?;
            match rest.split_once('\n') {
                Some((_, after)) => rest = after,
                None => return Some(Self { first, pieces, rest: "" }),
            }
        }
        (!pieces.is_empty()).then_some(Self { first, pieces, rest })
    }

    /// Whether nothing follows but what the host says beside a result.
    pub(super) fn is_all(&self) -> bool {
        self.rest.is_empty() || is_beside(self.rest)
    }

    /// The lines; `None` for the line 0, which no file has.
    pub(super) fn lines(&self) -> Option<Lines> {
        let count = u32::try_from(self.pieces.len()).ok()?;
        let last = self.first.checked_add(count)?.checked_sub(1)?;
        Lines::new(self.first, last).filter(|_| last <= MOST_LINES)
    }

    /// The text that has these lines. If the file is not known to end with them, it goes on with an empty one.
    pub(super) fn text(&self, ends: bool) -> Text {
        text_of(self.first, self.pieces.iter().copied().chain((!ends).then_some("")))
    }
}

/// Whether a text, after the newline that ends what is before it, is only what the host says beside a result.
fn is_beside(rest: &str) -> bool {
    let rest = rest.trim();
    rest.is_empty() || (rest.starts_with(REMINDER) && rest.ends_with(REMINDER_END))
}

/// What a result shows, without what the host says beside it.
pub(super) fn without_reminders(text: &str) -> &str {
    match text.find("\n\n<system-reminder>\n") {
        Some(at) if text.trim_end().ends_with(REMINDER_END) => &text[..at],
        _ => text.strip_prefix(REMINDER).map_or(text, |_| ""),
    }
}

/// How a result begins in the place of one that the host left out.
const CLEARED: [&str; 2] = ["[Old tool result content cleared]", "[Tool result left out:"];

/// Whether the host left out what a result was.
pub(super) fn is_cleared(result: &str) -> bool {
    CLEARED.iter().any(|words| result.starts_with(words))
}

/// Whether a text that the host shows between its tags has such a tag in it, in any spelling. The text seems to end there, or is not
/// shown as it is: the host replaces the first character, also before `/ System-Reminder`.
pub(super) fn names_reminders(text: &str) -> bool {
    const NAME: &[u8] = b"system-reminder";
    text.as_bytes().windows(NAME.len()).any(|piece| piece.eq_ignore_ascii_case(NAME))
}

/// Whether `sent` is what was recorded, but for blanks at its end and for what the host says beside it.
pub(super) fn is_as_recorded(sent: &str, recorded: &str) -> bool {
    let Some(rest) = sent.strip_prefix(recorded.trim_end()) else { return false };
    let rest = rest.trim();
    rest.is_empty() || rest.starts_with(REMINDER) || sent == recorded
}

/// The text that has these pieces from this line on.
pub(super) fn text_of<'t>(first: u32, pieces: impl Iterator<Item = &'t str>) -> Text {
    let mut text = "\n".repeat(first.saturating_sub(1) as usize);
    for piece in pieces {
        text.push_str(piece);
        text.push('\n');
    }
    Text::in_form(text, Form::Stripped)
}

/// The text of a file whose bytes, without a byte order mark and CR, are these.
pub(super) fn text_of_file(bytes: &str) -> Text {
    text_of(1, bytes.split('\n'))
}

fn line(text: &str) -> &str {
    text.split('\n').next().unwrap_or_default()
}

/// The number of a line, and the line. The tab is trimmed away behind the number of an empty last line.
fn number(line: &str) -> Option<(u32, &str)> {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = line.split_at(digits);
    if digits == 0 || (digits > 1 && number.starts_with('0')) {
        return None;
    }
    let piece = if rest.is_empty() { "" } else { rest.strip_prefix('\t')? };
    Some((number.parse().ok()?, piece))
}

/// What one of our markers says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Marker {
    /// The whole file, of so many lines.
    Whole { total: u32 },
    /// These lines; of a file of so many lines, if that is said.
    Range { lines: Lines, total: Option<u32> },
}

/// Reads a marker; `None` if it is none of those that stand alone.
pub(super) fn marker(text: &str) -> Option<Marker> {
    let said = text.trim_end().strip_prefix(MARKER)?.strip_suffix(']')?;
    let said = said.strip_prefix("unchanged")?;
    if let Some(total) = said.strip_prefix(", ").and_then(|said| said.strip_suffix(" lines")) {
        return Some(Marker::Whole { total: plain_number(total)? });
    }
    let said = said.strip_prefix(" in lines ")?;
    let (range, total) = match said.strip_suffix("; changes exist outside this range") {
        Some(range) => (range, None),
        None => said.split_once(" of ").map(|(range, total)| (range, Some(total)))?,
    };
    let (first, last) = range.split_once('-')?;
    let lines = Lines::new(plain_number(first)?, plain_number(last)?)?;
    let total = match total {
        Some(total) => Some(plain_number(total)?),
        None => None,
    };
    Some(Marker::Range { lines, total })
}

fn plain_number(digits: &str) -> Option<u32> {
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_with_numbers() {
        let check = |text: &str, first: u32, pieces: &[&str], rest: &str| {
            let found = Numbered::parse(text).unwrap();
            assert_eq!((found.first, found.pieces.as_slice(), found.rest), (first, pieces, rest), "{text:?}");
        };
        check("1\ta\n2\tb", 1, &["a", "b"], "");
        check("3\ta\n4\t\n5", 3, &["a", "", ""], "");
        check(
            "1\ta\n2\n\n<system-reminder>\nx\n</system-reminder>",
            1,
            &["a", ""],
            "\n<system-reminder>\nx\n</system-reminder>",
        );
        check("9\ta\n11\tb", 9, &["a"], "11\tb");
        check("1\t2\tb\n2\t", 1, &["2\tb", ""], "");
        check("0\t[readcache: x]", 0, &["[readcache: x]"], "");
        for none in ["", "a", "01\ta", "\ta", "-1\ta", "99999999999\ta", "1a\tb"] {
            assert_eq!(Numbered::parse(none), None, "{none:?}");
        }
        assert!(Numbered::parse("1\ta\n\n<system-reminder>\n\n</system-reminder>").unwrap().is_all());
        assert!(!Numbered::parse("1\ta\nb").unwrap().is_all());
    }

    #[test]
    fn every_piece_is_a_line_of_the_text() {
        assert_eq!(text_of_file("a\nb\n").as_str(), "a\nb\n\n");
        assert_eq!(text_of_file("a\nb").as_str(), "a\nb\n");
        assert_eq!(text_of_file("").as_str(), "\n");
        let shown = Numbered::parse("3\tx\n4\ty").unwrap();
        assert_eq!((shown.text(true).as_str(), shown.text(true).total()), ("\n\nx\ny\n", 4));
        assert_eq!((shown.text(false).as_str(), shown.text(false).form()), ("\n\nx\ny\n\n", Form::Stripped));
    }

    #[test]
    fn what_the_host_left_out() {
        assert!(is_cleared("[Old tool result content cleared]") && is_cleared("[Tool result left out: too long]"));
        assert!(!is_cleared("1\t[Old tool result content cleared]") && !is_cleared(""));
        assert!(names_reminders("1\ta\n2\t&lt; / System-REMINDER >") && !names_reminders("1\ta system reminder"));
    }

    #[test]
    fn results_as_they_were_recorded() {
        assert!(is_as_recorded("1\ta\n2", "1\ta\n2\t"));
        assert!(is_as_recorded("1\ta\n2\n\n<system-reminder>\nx\n</system-reminder>", "1\ta\n2\t"));
        assert!(is_as_recorded("", ""));
        assert!(!is_as_recorded("[Old tool result content cleared]", "1\ta\n2\t"));
        assert!(!is_as_recorded("1\ta\n20", "1\ta\n2\t") && !is_as_recorded("1\ta", "1\ta\n2\tb"));
        assert_eq!(without_reminders("done.\n\n<system-reminder>\nx\n</system-reminder>"), "done.");
        assert_eq!(without_reminders("done."), "done.");
    }

    #[test]
    fn markers() {
        assert_eq!(marker("[readcache: unchanged, 41 lines]"), Some(Marker::Whole { total: 41 }));
        let lines = Lines::new(3, 6).unwrap();
        assert_eq!(marker("[readcache: unchanged in lines 3-6 of 40]"), Some(Marker::Range { lines, total: Some(40) }));
        let outside = "[readcache: unchanged in lines 3-6; changes exist outside this range]";
        assert_eq!(marker(outside), Some(Marker::Range { lines, total: None }));
        for none in [
            "[readcache: 2 lines changed of 9]",
            "[readcache: unchanged, x lines]",
            "[readcache: unchanged in lines 6-3 of 9]",
        ] {
            assert_eq!(marker(none), None, "{none}");
        }
    }
}
