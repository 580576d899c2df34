//! The settings of an engine: values and defaults. Where the values come from is up to the caller; nothing is read
//! here.

use readproof_core::{
    budget::WriteLimits,
    limits::{Answers, FILE_BYTES, HANDLE_BYTES, Limits},
    operation::AnswerLimit,
    text::ContentHash,
};
use readproof_disk::{GitSettings, HardLinks, PolicySources, STANDARD_PATTERNS, SmallTexts, Whose};
use std::path::PathBuf;

use super::{Auditing, CallLog};

/// The settings of an engine.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Limits of an answer, and of the texts that are diffed.
    pub limits: Limits,
    /// Which answers may be given.
    pub answers: Answers,
    /// The largest file that is read or written.
    pub file_bytes: u64,
    /// How much may be written.
    pub writes: WriteLimits,
    /// Folders outside the workspace in which a person may be asked to allow changes.
    pub write_roots: Vec<String>,
    /// Whether files with several hard links are read.
    pub hard_links: HardLinks,
    /// Patterns of names whose files are always sent as plain text and never stored.
    pub sensitive: Vec<String>,
    /// What the person decides about access, outside the workspace.
    pub policy: PolicySources,
    /// How small texts are stored.
    pub small_texts: SmallTexts,
    /// Session files of pi, or folders of them, whose texts `gc` keeps.
    pub pi_sessions: Vec<String>,
    /// The program and its arguments that propose a text for a conflict; empty if there is none.
    pub review_command: Vec<String>,
    /// How long a call waits for a person, and how long the approval of one call can be used.
    pub approval_minutes: u32,
    /// The SHA-256 of the key with which a person decides without a terminal; none if there is no such key.
    pub approver_key: Option<ContentHash>,
    /// What the unified `read` shows of a file without a `limit`.
    pub window: AnswerLimit,
    /// The secret of the fences around the text of files in answers of tools; none if it is not fenced.
    pub fences: Option<String>,
    /// Which arguments of tools are accepted.
    pub args: Arguments,
    /// When handles are issued and accepted.
    pub handles: Handles,
    /// Answers with more bytes get no handle.
    pub handle_bytes: u32,
    /// Where Codex keeps its threads; their records say which calls the model itself made.
    pub codex_home: PathBuf,
    /// Whose git configuration applies when a file is compared with git.
    pub git: GitSettings,
    /// Which stores are trusted.
    pub whose: Whose,
    /// The local user, by which callers on this machine are known; none if nobody looked.
    pub user: Option<String>,
    /// Of which files earlier texts are kept.
    pub history: Keeping,
    /// Whether calls are logged, so that they can be verified later.
    pub call_log: CallLog,
    /// Whether a conversation is told unasked what others changed of the files that it was shown.
    pub tell: bool,
    /// For how many days after a file got another text; 0 is for ever.
    pub history_days: u32,
    /// How many bytes of earlier texts; 0 is any number.
    pub history_bytes: u64,
    /// After how many days earlier texts are compressed.
    pub pack_days: u32,
    /// Whether a server meets what other programs change while they do.
    pub watch: bool,
    /// What keeps this process from opening other files.
    pub wall: Walling,
    /// Whether every call leaves a line in the audit log.
    pub audit: Auditing,
    /// Whether what calls returned is kept beside the audit log, so that it can be proved later.
    pub audit_texts: bool,
    /// The file to which each signed checkpoint of the audit log is copied; empty if there is none.
    pub audit_copy: String,
    /// The program and its arguments that get each signed checkpoint on standard input; empty if there is none.
    pub audit_witness: Vec<String>,
    /// Notices about the settings themselves, to give with the first answer.
    pub notices: Vec<String>,
    /// Git's configuration files outside the repository. A repository is kept open only while none of them changes.
    pub git_files: Vec<PathBuf>,
}

/// Which arguments of tools are accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arguments {
    /// What models write: other names, a missing mode, line ranges wherever there are lines.
    #[default]
    Loose,
    /// Only what the table of the tools says.
    Strict,
}

impl Arguments {
    /// As written in settings.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Loose => "loose",
            Self::Strict => "strict",
        }
    }

    /// Reads [`Self::as_str`]; anything else is `None`.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Loose, Self::Strict].into_iter().find(|style| style.as_str() == word)
    }
}

/// Of which files earlier texts are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keeping {
    /// Of those that this program changes.
    Off,
    /// Of those that git tracks.
    Tracked,
    /// Of those too that nobody ignores.
    #[default]
    All,
}

impl Keeping {
    /// As written in settings.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Tracked => "tracked",
            Self::All => "all",
        }
    }

    /// Reads [`Self::as_str`]; anything else is `None`.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Off, Self::Tracked, Self::All].into_iter().find(|keeping| keeping.as_str() == word)
    }
}

/// What keeps the process from opening files other than the workspace's, beside our own checks of names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Walling {
    /// Nothing.
    #[default]
    None,
    /// The kernel, where it can.
    Landlock,
}

impl Walling {
    /// As written in settings.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Landlock => "landlock",
        }
    }

    /// Reads [`Self::as_str`]; anything else is `None`.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::None, Self::Landlock].into_iter().find(|wall| wall.as_str() == word)
    }
}

/// When an answer gets a handle that can stand for it later. A handle is the model's claim that it still sees the
/// answer, so it is only as reliable as what the host reports about the context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Handles {
    /// If the host reports the context window with every call.
    #[default]
    Reported,
    /// Always: the model itself must know what it still sees.
    Always,
    /// Never.
    Never,
}

impl Handles {
    /// As written in settings.
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
            writes: WriteLimits::default(),
            write_roots: Vec::new(),
            hard_links: HardLinks::Allow,
            sensitive: STANDARD_PATTERNS.iter().map(ToString::to_string).collect(),
            policy: PolicySources::default(),
            small_texts: SmallTexts::default(),
            pi_sessions: Vec::new(),
            review_command: Vec::new(),
            approval_minutes: 60,
            approver_key: None,
            window: AnswerLimit::WINDOW,
            fences: None,
            args: Arguments::default(),
            handles: Handles::default(),
            handle_bytes: HANDLE_BYTES,
            codex_home: PathBuf::new(),
            git: GitSettings::default(),
            whose: Whose::default(),
            user: None,
            history: Keeping::default(),
            call_log: CallLog::Off,
            tell: true,
            history_days: 0,
            history_bytes: 0,
            pack_days: 7,
            watch: true,
            wall: Walling::default(),
            audit: Auditing::default(),
            audit_texts: true,
            audit_copy: String::new(),
            audit_witness: Vec::new(),
            notices: Vec::new(),
            git_files: Vec::new(),
        }
    }
}
