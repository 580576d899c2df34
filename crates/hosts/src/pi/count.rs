//! How pi counts lines: the pieces of `split("\n")`. A text with a final newline has one more line, an empty one, than
//! `lf-1` counts; so does the empty text. That line is exactly where `lf-1` has the end of the file, so line `n` of pi
//! is slot `n` of knowledge in every text; only totals and the last line differ.

pub use readproof_core::pi::{end_line, total_lines};
use readproof_core::scope::Lines;

/// A range of pi's lines in a text of `total` lines by `lf-1`: its lines, and whether it includes the end slot.
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
    use readproof_core::text::Text;

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
            assert_eq!((text.total(), end_line(&text)), (lf, end), "{text:?}");
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
