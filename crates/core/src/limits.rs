//! Every named limit, in one place. Bounds are by size, never by clock: the same input gives the same answer.

/// How much one answer may carry and when a diff is worth trying.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most lines one answer shows.
    pub answer_lines: u32,
    /// The most bytes one answer shows.
    pub answer_bytes: u32,
    /// No diff when either text is larger.
    pub diff_bytes: u32,
    /// No diff when either text has more lines.
    pub diff_lines: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { answer_lines: 2000, answer_bytes: 40_000, diff_bytes: 2 * 1024 * 1024, diff_lines: 12_000 }
    }
}

/// The largest file that is read at all, unless the settings say otherwise.
pub const FILE_BYTES: u64 = 32 * 1024 * 1024;

/// The most characters that one answer carries, whatever is asked.
pub const ANSWER_CHARS: usize = 40_000;

/// Which answers may be given: the ladder of savings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Answers {
    /// Only what was read under the same scope, or as a whole file.
    Seed,
    /// Also spans that add up, and the agent's own writes and edits.
    #[default]
    Held,
}

impl Answers {
    /// The word used in settings and records.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Seed => "seed",
            Self::Held => "held",
        }
    }

    /// Reads [`Self::as_str`]; anything else is `None`.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Seed, Self::Held].into_iter().find(|answers| answers.as_str() == word)
    }
}
