//! An upper estimate of the states that a pattern may be in at once. The worst cost of one byte of text is proportional to
//! it.

use regex_syntax::{
    ParserBuilder,
    hir::{Hir, HirKind, Repetition},
};

use super::Case;

/// Alternatives without repetition share most of their states.
const SHARED: usize = 16;

/// The width of a pattern; 0 for one that is malformed.
pub(super) fn of(pattern: &str, case: Case) -> usize {
    let mut parser = ParserBuilder::new().multi_line(true).utf8(false).case_insensitive(case == Case::Folded).build();
    parser.parse(pattern).map_or(0, |hir| width(&hir).0)
}

/// The width, and whether nothing is repeated. The parser bounds how deep a pattern is nested.
fn width(hir: &Hir) -> (usize, bool) {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => (0, true),
        HirKind::Literal(literal) => (literal.0.len(), true),
        HirKind::Class(_) => (1, true),
        HirKind::Repetition(Repetition { min, max, sub, .. }) => {
            let times = max.unwrap_or((*min).max(1));
            (width(sub).0.saturating_mul(usize::try_from(times).unwrap_or(usize::MAX)), false)
        }
        HirKind::Capture(capture) => width(&capture.sub),
        HirKind::Concat(parts) => parts
            .iter()
            .map(width)
            .fold((0, true), |(sum, plain), (more, also)| (usize::saturating_add(sum, more), plain && also)),
        HirKind::Alternation(parts) => {
            let (mut most, mut sum, mut plain) = (0_usize, 0_usize, true);
            for (one, also) in parts.iter().map(width) {
                (most, sum, plain) = (most.max(one), sum.saturating_add(one), plain && also);
            }
            (if plain { most + sum / SHARED } else { sum }, plain)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_stood_at_together() {
        let check = |pattern: &str, expected: usize| assert_eq!(of(pattern, Case::Exact), expected, "{pattern}");
        check(r"\w+\s*\(", 3);
        check(r"(?i)abc", 3);
        check(r".{0,200}foo", 203);
        check(r"\p{L}{1,20}", 20);
        check(r"(?:a{100}){1000}", 100_000);
        check(r"(?:(?:a{1000}){1000}){1000}", 1_000_000_000);
        check(r"(?:ab|c.)d*", 3);
        check(r"a+|b{7}", 8);
        check("(", 0);
    }
}
