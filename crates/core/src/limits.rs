//! Every named limit, in one place. Work is bounded by size, never by time: the same input gives the same answer.

/// How much one answer may carry and when a diff is worth trying.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most lines one answer shows.
    pub answer_lines: u32,
    /// The most bytes one answer shows.
    pub answer_bytes: u32,
    /// The most characters one answer shows; `None` where only bytes are limited.
    pub answer_chars: Option<u32>,
    /// No diff is tried when either text has more bytes.
    pub diff_bytes: u32,
    /// No diff is tried when either text has more lines.
    pub diff_lines: u32,
    /// When a marker is sent.
    pub markers: Markers,
    /// A partial answer is sent only if it has at least so many bytes less than the plain text.
    pub partial_saves: u32,
    /// It names a run of held lines only if that has at least so many bytes.
    pub partial_piece: u32,
}

/// When a marker is sent in place of text that the model holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Markers {
    /// Only where it is shorter than the text.
    #[default]
    Shorter,
    /// Also where the text is shorter.
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
            partial_saves: PARTIAL_SAVES,
            partial_piece: PARTIAL_PIECE,
        }
    }
}

/// A partial answer is sent only if it has at least so many bytes less than the plain text, unless the settings say otherwise.
pub const PARTIAL_SAVES: u32 = 200;
/// It names a run of held lines only if that has at least so many bytes: naming a run, and parting what is sent, costs about as much.
pub const PARTIAL_PIECE: u32 = 80;

impl Limits {
    /// How many bytes of `text` fit one answer, counted from its beginning; the end may fall inside a character.
    #[must_use]
    pub fn fitting(&self, text: &str) -> usize {
        let bytes = (self.answer_bytes as usize).min(text.len());
        match self.answer_chars {
            // A text of no more bytes than that has no more characters either.
            Some(chars) if bytes > chars as usize => {
                text.char_indices().nth(chars as usize).map_or(bytes, |(at, _)| at.min(bytes))
            }
            Some(_) | None => bytes,
        }
    }
}

/// The most characters of one MCP answer, whatever is asked for: text and trailer together.
pub const ANSWER_CHARS: u32 = 40_000;
/// The most characters of a trailer.
pub const TRAILER_CHARS: u32 = 1_500;
/// What remains for the text.
pub const TEXT_CHARS: u32 = ANSWER_CHARS - TRAILER_CHARS;

/// An answer with more bytes than this, trailer included, has no handle: some hosts cut the middle out of longer results and
/// keep the end, so the model could return the handle of a text it never saw whole.
pub const HANDLE_BYTES: u32 = 48_500;

/// Lines that the unified `read` shows when the call does not say how many.
pub const WINDOW_LINES: u32 = 300;
/// Characters that it shows then.
pub const WINDOW_CHARS: u32 = 12_000;

/// The largest file that is read, in bytes, unless the settings say otherwise.
pub const FILE_BYTES: u64 = 32 * 1024 * 1024;

/// What may count as held: each variant saves more than the one before. The names are those of the setting `answers`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Answers {
    /// Only lines that were read as exactly the same range, or as part of the whole file.
    Seed,
    /// Also ranges that add up, and the agent's own writes and edits.
    #[default]
    Held,
    /// The same; and of a window that is held in part, only the other lines are sent.
    Lean,
}

impl Answers {
    /// The word used in settings and records.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Seed => "seed",
            Self::Held => "held",
            Self::Lean => "lean",
        }
    }

    /// Reads [`Self::as_str`]; anything else is `None`.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Seed, Self::Held, Self::Lean].into_iter().find(|answers| answers.as_str() == word)
    }
}
