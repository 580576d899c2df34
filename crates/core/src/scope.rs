//! Ranges of lines: `full`, or `r:START:END` (1-based, inclusive). Parses, prints and clamps them; knows no text.

use alloc::string::String;
use core::fmt;

/// A non-empty run of lines, 1-based and inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lines {
    first: u32,
    last: u32,
}

impl Lines {
    /// `None` when the numbers are zero or reversed.
    #[must_use]
    pub fn new(first: u32, last: u32) -> Option<Self> {
        (first >= 1 && first <= last).then_some(Self { first, last })
    }

    /// The first line.
    #[must_use]
    pub fn first(self) -> u32 {
        self.first
    }

    /// The last line.
    #[must_use]
    pub fn last(self) -> u32 {
        self.last
    }

    /// How many lines there are; 1 or more.
    #[must_use]
    pub fn count(self) -> u32 {
        self.last - self.first + 1
    }
}

/// The whole file or some of its lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The whole file, including where it ends.
    Full,
    /// Some lines; may reach beyond the end of a file.
    Lines(Lines),
}

impl Scope {
    /// Reads a scope key exactly as [`fmt::Display`] prints it; anything else is `None`.
    #[must_use]
    pub fn parse(key: &str) -> Option<Self> {
        if key == "full" {
            return Some(Self::Full);
        }
        let (first, last) = key.strip_prefix("r:")?.split_once(':')?;
        Some(Self::Lines(Lines::new(number(first)?, number(last)?)?))
    }

    /// The scope that an offset and a limit mean in a file of `total` lines.
    ///
    /// # Errors
    /// [`ScopeError`] when a number is zero or the offset is beyond the end.
    pub fn of(offset: Option<u64>, limit: Option<u64>, total: u32) -> Result<Self, ScopeError> {
        if offset == Some(0) {
            return Err(ScopeError::Zero { what: "offset" });
        }
        if limit == Some(0) {
            return Err(ScopeError::Zero { what: "limit" });
        }
        let start = offset.unwrap_or(1);
        if start > u64::from(total.max(1)) {
            return Err(ScopeError::BeyondEnd { offset: start, total });
        }
        let end = match limit {
            Some(limit) => start.saturating_add(limit - 1).min(u64::from(total)),
            None => u64::from(total),
        };
        if start == 1 && end == u64::from(total) {
            return Ok(Self::Full);
        }
        // Both lie in 1..=total here, so they fit.
        let lines = u32::try_from(start).ok().zip(u32::try_from(end).ok());
        Ok(lines.and_then(|(a, b)| Lines::new(a, b)).map_or(Self::Full, Self::Lines))
    }

    /// The lines of this scope in a file of `total` lines; `None` for an empty file.
    #[must_use]
    pub fn lines(self, total: u32) -> Option<Lines> {
        match self {
            Self::Full => Lines::new(1, total),
            Self::Lines(lines) => Lines::new(lines.first, lines.last.min(total)),
        }
    }
}

/// Digits only, without a sign or leading zero, so that every scope has exactly one key.
fn number(digits: &str) -> Option<u32> {
    let plain = digits.bytes().all(|b| b.is_ascii_digit()) && !digits.starts_with('0');
    plain.then(|| digits.parse().ok()).flatten()
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str("full"),
            Self::Lines(lines) => write!(f, "r:{}:{}", lines.first, lines.last),
        }
    }
}

/// Why a range names no lines.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{self:?}")]
pub enum ScopeError {
    /// A number is zero.
    Zero {
        /// The argument: `offset`, `limit` or `line`.
        what: &'static str,
    },
    /// The end is before the start.
    Reversed {
        /// The start as given.
        first: u64,
        /// The end as given.
        last: u64,
    },
    /// The file has no such line.
    BeyondEnd {
        /// The offset as given.
        offset: u64,
        /// Lines in the file.
        total: u32,
    },
    /// It is not a whole number below 2^64.
    NotANumber {
        /// The number as given.
        text: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn keys_print_and_parse() {
        for first in 1..12 {
            for last in first..12 {
                let scope = Scope::Lines(Lines::new(first, last).unwrap());
                assert_eq!(Scope::parse(&scope.to_string()), Some(scope));
            }
        }
        assert_eq!(Scope::parse("full"), Some(Scope::Full));
        for bad in ["", "Full", "r:0:1", "r:2:1", "r:1", "r:01:2", "r:1:2:3", "r:+1:2", "r:1:99999999999", "r: 1:2"] {
            assert_eq!(Scope::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn offsets_and_limits_are_clamped() {
        let check = |offset, limit, total, key: &str| {
            let got = Scope::of(offset, limit, total).map_or_else(|e| alloc::format!("{e:?}"), |s| s.to_string());
            assert_eq!(got, key, "{offset:?} {limit:?} of {total}");
        };
        check(None, None, 5, "full");
        check(Some(1), Some(5), 5, "full");
        check(Some(1), Some(u64::MAX), 5, "full");
        check(Some(2), None, 5, "r:2:5");
        check(Some(2), Some(2), 5, "r:2:3");
        check(Some(5), Some(9), 5, "r:5:5");
        check(None, None, 0, "full");
        check(Some(1), Some(3), 0, "full");
        check(Some(2), None, 0, "BeyondEnd { offset: 2, total: 0 }");
        check(Some(6), None, 5, "BeyondEnd { offset: 6, total: 5 }");
        check(Some(0), None, 5, "Zero { what: \"offset\" }");
        check(None, Some(0), 5, "Zero { what: \"limit\" }");
    }
}
