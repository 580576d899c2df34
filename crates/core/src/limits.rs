//! Every named limit, in one place. Bounds are by size, never by clock: the same input gives the same answer.

/// How much one answer may carry and when a diff is worth trying.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most lines one answer shows.
    pub answer_lines: u32,
    /// The most bytes one answer shows.
    pub answer_bytes: u32,
    /// The most characters one answer shows, where they are counted.
    pub answer_chars: Option<u32>,
    /// No diff when either text is larger.
    pub diff_bytes: u32,
    /// No diff when either text has more lines.
    pub diff_lines: u32,
    /// When a marker stands for text.
    pub markers: Markers,
}

/// When a marker is sent in place of text that the model holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Markers {
    /// Where it is shorter than the text.
    #[default]
    Shorter,
    /// Even where the text is as short.
    Always,
}

impl Markers {
    /// The word used in settings.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Shorter => "shorter",
            Self::Always => "always",
        }
    }

    /// Reads [`Self::as_str`]; anything else is `None`.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Shorter, Self::Always].into_iter().find(|markers| markers.as_str() == word)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            answer_lines: 2000,
            answer_bytes: 40_000,
            answer_chars: None,
            diff_bytes: 2 * 1024 * 1024,
            diff_lines: 12_000,
            markers: Markers::Shorter,
        }
    }
}

impl Limits {
    /// How many bytes of a text fit, from its beginning on.
    #[must_use]
    pub fn fitting(&self, text: &str) -> usize {
        let bytes = (self.answer_bytes as usize).min(text.len());
        match self.answer_chars {
            // No character has less than a byte.
            Some(chars) if bytes > chars as usize => {
                text.char_indices().nth(chars as usize).map_or(bytes, |(at, _)| at.min(bytes))
            }
            Some(_) | None => bytes,
        }
    }
}

/// The most characters that one answer carries, whatever is asked: its text and what stands behind it.
pub const ANSWER_CHARS: u32 = 40_000;
/// The most of them that stand behind the text.
pub const TRAILER_CHARS: u32 = 1_500;
/// The most of them that are text.
pub const TEXT_CHARS: u32 = ANSWER_CHARS - TRAILER_CHARS;

/// An answer of more bytes, what stands behind it included, has no handle: some hosts cut the middle out of longer results and
/// leave the end, so that the model could return the handle of a text it never saw whole.
pub const HANDLE_BYTES: u32 = 10_000;

/// What the unified `read` shows of a file when it is not told how much.
pub const WINDOW_LINES: u32 = 300;
/// The same in characters.
pub const WINDOW_CHARS: u32 = 12_000;

/// The largest file that is read at all, unless the settings say otherwise.
pub const FILE_BYTES: u64 = 32 * 1024 * 1024;

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
