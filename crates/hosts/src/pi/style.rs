//! pi's page style: how its own `read` counts lines, cuts, and words what it leaves out, to the byte; and what it takes for an
//! image. pi's line `n` is slot `n` of knowledge in every text; only totals and the last line differ from `lf-1`.

use readproof_core::{
    page::{
        Fragment::{First, Last, LimitBytes, LimitSize, LineSize, Next, Path, Remaining, Total, Words},
        LineCounting, PageNotices, PageStyle,
    },
    scope::Lines,
    text::Text,
};

/// pi's `read` as a page style.
pub const STYLE: PageStyle = PageStyle {
    counting: LineCounting::Split,
    most_lines: 2000,
    most_bytes: 50 * 1024,
    notices: PageNotices {
        more: &[Words("\n\n["), Remaining, Words(" more lines in file. Use offset="), Next, Words(" to continue.]")],
        cut_by_lines: &[
            Words("\n\n[Showing lines "),
            First,
            Words("-"),
            Last,
            Words(" of "),
            Total,
            Words(". Use offset="),
            Next,
            Words(" to continue.]"),
        ],
        cut_by_bytes: &[
            Words("\n\n[Showing lines "),
            First,
            Words("-"),
            Last,
            Words(" of "),
            Total,
            Words(" ("),
            LimitSize,
            Words(" limit). Use offset="),
            Next,
            Words(" to continue.]"),
        ],
        long_line: &[
            Words("[Line "),
            First,
            Words(" is "),
            LineSize,
            Words(", exceeds "),
            LimitSize,
            Words(" limit. Use bash: sed -n '"),
            First,
            Words("p' "),
            Path,
            Words(" | head -c "),
            LimitBytes,
            Words("]"),
        ],
    },
};

/// How many lines pi counts in a text.
#[must_use]
pub fn total_lines(text: &Text) -> u64 {
    STYLE.counting.total(text)
}

/// Whether pi takes a text for an image, by how it begins. Images that are not valid text never get here.
#[must_use]
pub fn is_image(text: &str) -> bool {
    let begin = text.as_bytes();
    begin.starts_with(b"GIF87a") || begin.starts_with(b"GIF89a") || {
        begin.starts_with(b"RIFF") && begin.get(8..12) == Some(b"WEBP")
    }
}

/// A range of pi's lines in a text of `total` lines by `lf-1`: its lines, and whether it goes on to the end slot.
pub(super) fn range(first: u64, last: u64, total: u32) -> (Option<Lines>, bool) {
    let capped = |line: u64| u32::try_from(line).unwrap_or(u32::MAX);
    (Lines::new(capped(first), capped(last).min(total)), last > u64::from(total))
}

/// Whether pi can count `pi_total` lines where `lf-1` counts `total`.
pub(super) fn agrees(pi_total: u64, total: u32) -> bool {
    let total = u64::from(total);
    pi_total == total + 1 || (pi_total == total && total > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_final_newline_makes_one_more_line() {
        for (text, lf, end) in [
            ("", 0, Some(1)),
            ("a", 1, None),
            ("a\n", 1, Some(2)),
            ("\n", 1, Some(2)),
            ("a\nb", 2, None),
            ("a\nb\n", 2, Some(3)),
            ("a\r\n\n", 2, Some(3)),
        ] {
            let text = Text::new(text.to_owned());
            assert_eq!((text.total(), STYLE.counting.end_line(&text)), (lf, end), "{text:?}");
            assert_eq!(total_lines(&text), text.as_str().split('\n').count() as u64, "{text:?}");
            assert!(agrees(total_lines(&text), text.total()));
        }
        assert!(!agrees(0, 0) && !agrees(4, 2) && !agrees(1, 2));
    }

    #[test]
    fn the_line_behind_the_last_is_the_end() {
        let lines = |a, b| Lines::new(a, b);
        assert_eq!(range(1, 3, 3), (lines(1, 3), false));
        assert_eq!(range(1, 4, 3), (lines(1, 3), true));
        assert_eq!(range(2, 2, 3), (lines(2, 2), false));
        assert_eq!(range(4, 4, 3), (None, true));
        assert_eq!(range(1, 1, 0), (None, true));
        assert_eq!(range(1, u64::MAX, 3), (lines(1, 3), true));
    }
}
