//! What can be set. Values only: where they come from is the caller's business.

use readproof_core::{
    limits::{Answers, FILE_BYTES, HANDLE_BYTES, Limits},
    operation::AnswerLimit,
};
use readproof_disk::{GitSettings, HardLinks, STANDARD_PATTERNS, SmallTexts, Whose};
use std::path::PathBuf;

/// What can be set.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How much an answer carries and when a diff is tried.
    pub limits: Limits,
    /// Which answers may be given.
    pub answers: Answers,
    /// The largest file that is read.
    pub file_bytes: u64,
    /// Whether a file with several hard links is read.
    pub hard_links: HardLinks,
    /// Names that are always plain and never stored.
    pub sensitive: Vec<String>,
    /// How small texts are stored.
    pub small_texts: SmallTexts,
    /// Session files of pi, or folders of them, whose texts are kept.
    pub pi_sessions: Vec<String>,
    /// What the unified `read` shows of a file when it is not told how much.
    pub window: AnswerLimit,
    /// When handles are given and taken.
    pub handles: Handles,
    /// Answers of more bytes have none.
    pub handle_bytes: u32,
    /// Where Codex keeps its threads: what it records says which calls are the model's own.
    pub codex_home: PathBuf,
    /// Whose settings of git count where a file is compared with what git keeps.
    pub git: GitSettings,
    /// Whose store counts.
    pub whose: Whose,
    /// What is to be said of the settings themselves, beside the first answer.
    pub notices: Vec<String>,
    /// Where git's settings are beside the repository's own: a repository stays open only while none of them changes.
    pub git_files: Vec<PathBuf>,
}

/// When an answer has a handle that stands for it later. A handle is the model's word, and only as good as what the host
/// tells of its context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Handles {
    /// Where the host tells the context window with every call.
    #[default]
    Reported,
    /// Always: it is the model that must know what it still sees.
    Always,
    /// Never.
    Never,
}

impl Handles {
    /// The word used in settings.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reported => "reported",
            Self::Always => "always",
            Self::Never => "never",
        }
    }

    /// Reads [`Self::as_str`]; anything else is `None`.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Reported, Self::Always, Self::Never].into_iter().find(|handles| handles.as_str() == word)
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            answers: Answers::default(),
            file_bytes: FILE_BYTES,
            hard_links: HardLinks::Allow,
            sensitive: STANDARD_PATTERNS.iter().map(ToString::to_string).collect(),
            small_texts: SmallTexts::default(),
            pi_sessions: Vec::new(),
            window: AnswerLimit::WINDOW,
            handles: Handles::default(),
            handle_bytes: HANDLE_BYTES,
            codex_home: PathBuf::new(),
            git: GitSettings::default(),
            whose: Whose::default(),
            notices: Vec::new(),
            git_files: Vec::new(),
        }
    }
}
