//! One file per thing a caller can ask. Synchronous; prints nothing, reads no environment; cancellation is a question
//! asked between stages.

mod diff;
mod edit;
mod error;
mod find;
mod pi;
mod read;
mod refresh;
mod request;
mod session;
mod symbol;
mod upkeep;

pub use diff::{Against, DiffStatus, Preview, Previewed};
pub use error::Error;
pub use find::{FileStat, FindIn, InFile, Search, Searched};
pub use pi::{
    PiAnswer, PiCut, PiFile, PiFound, PiMeta, PiRead, PiRefreshed, PiSession, PiSources, PiSpan, PiStatus, PiTalk,
    PiView, pi_session,
};
pub use read::{Echoed, EchoedStatus, End, Piece, PieceOf};
pub use readproof_hosts::{
    codex::Rollouts,
    own::{EntryId, Step},
};
pub use readproof_index::{
    BadQuery, BadWalk, Defined, Fit, Fitting, Hit, Indexed, Line, Query, SearchMode, Skipped, Symbol, SymbolKind,
};
pub use request::{Answer, Audience, Change, Freshness, Most, Read, Receipt, Refreshed, Write, Written};
pub use session::{Listed, SessionView};
pub use symbol::{
    AROUND_BYTES, Around, Candidate, Indexing, Outlined, Resolved, Surroundings, SymbolSearch, SymbolsFound, qualified,
};
pub use upkeep::{
    About, Check, Collected, FileStatus, Finding, GcPlan, GcRules, Health, Needed, Needer, OutsideChange, Progress,
    Replayed, SessionStatus, Status, Unverifiable, Wrong,
};

use read::Recent;
use readproof_core::{
    limits::{Answers, FILE_BYTES, HANDLE_BYTES, Limits, WINDOW_CHARS, WINDOW_LINES},
    path::Bearings,
};
use readproof_disk::{Create, HardLinks, Owner, Root, STANDARD_PATTERNS, Sensitive, SessionName, SnapshotRules, Store};
pub use readproof_disk::{GitSettings, SmallTexts};
use readproof_hosts::own::{Focus, Session};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};
use symbol::Symbols;

/// The file in a workspace that holds its settings. They are the person's: an agent may read but not change them.
pub const SETTINGS_FILE: &str = "readproof.toml";

/// The largest file whose read takes no time to speak of.
const QUICK_BYTES: u64 = 256 << 10;

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
    pub window: Most,
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

/// Whose store counts. A stranger's archive or clone may bring one, which then says what the stranger likes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Whose {
    /// Whoever made it: for a workspace that no stranger has touched.
    #[default]
    Anyones,
    /// Only this user's of this machine, by an id that is kept in the first of these folders that can be used.
    Kept(Vec<PathBuf>),
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
            window: Most { lines: WINDOW_LINES, chars: WINDOW_CHARS },
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

/// Asked between stages: whether the caller has lost interest.
pub type Cancelled<'a> = &'a dyn Fn() -> bool;

pub(crate) fn go_on(cancelled: Cancelled<'_>) -> Result<(), Error> {
    if cancelled() { Err(Error::Aborted) } else { Ok(()) }
}

/// The time for records, in milliseconds since 1970. Order never depends on it.
pub type Clock = Box<dyn Fn() -> u64 + Send>;

/// A workspace, its store and its open sessions.
pub struct Engine {
    root: Root,
    bearings: Bearings,
    settings: Settings,
    sensitive: Sensitive,
    clock: Clock,
    /// Once it is open, and how it was opened.
    store: Option<(Store, Create)>,
    sessions: BTreeMap<SessionName, Session>,
    recent: Recent,
    symbols: Symbols,
    /// Whether it answers one read and is gone.
    one_read: bool,
    /// Whether it refuses what may take long.
    only_quick: bool,
    /// Which answers of a session's log matter.
    focus: Focus,
    /// Sessions whose log missed an answer and could not be put aside: not used until that is done.
    behind: BTreeSet<SessionName>,
    /// Whose stores count, once one was looked at.
    owner: Option<Owner>,
    /// What is to be said beside the next answer.
    told: Vec<String>,
}

impl Engine {
    /// Opens a workspace. Touches no store: that happens when a session is first used.
    ///
    /// # Errors
    /// When a pattern for sensitive names is malformed.
    pub fn new(root: Root, bearings: Bearings, settings: Settings, clock: Clock) -> Result<Self, Error> {
        let sensitive = Sensitive::new(&settings.sensitive)?;
        Ok(Self {
            told: settings.notices.clone(),
            root,
            bearings,
            settings,
            sensitive,
            clock,
            store: None,
            sessions: BTreeMap::new(),
            recent: Recent::default(),
            symbols: Symbols::default(),
            behind: BTreeSet::new(),
            one_read: false,
            only_quick: false,
            focus: Focus::All,
            owner: None,
        })
    }

    /// For a program that answers one read and ends: of a session's log it looks only at what concerns that file, so that a long
    /// session costs little more than a short one. Nothing else may be asked of this engine.
    #[must_use]
    pub fn for_one_read(self) -> Self {
        Self { one_read: true, ..self }
    }

    /// For a thread on which nothing may take long: larger files and those in a folder where someone writes are refused, and
    /// no name is looked for beside one that is missing. Who is refused asks another engine. Searches, symbols and git are not to be asked here at all.
    #[must_use]
    pub fn only_quick(mut self) -> Self {
        self.settings.file_bytes = self.settings.file_bytes.min(QUICK_BYTES);
        Self { root: self.root.without_waiting(), only_quick: true, ..self }
    }

    /// Whether [`Self::only_quick`] made it.
    #[must_use]
    pub fn is_only_quick(&self) -> bool {
        self.only_quick
    }

    /// What is to be said and no answer has said yet.
    pub fn untold(&mut self) -> Vec<String> {
        std::mem::take(&mut self.told)
    }

    /// The workspace.
    #[must_use]
    pub fn root(&self) -> &Root {
        &self.root
    }

    /// What is set.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Whether a name in the workspace leads to a regular file.
    #[must_use]
    pub fn is_file(&self, name: &str) -> bool {
        let found = self.root.locate(&[self.root.absolute(name)]).map(|file| self.root.found(&file));
        matches!(found, Ok(Ok(found)) if found.kind.is_none())
    }

    fn snapshot_rules(&self) -> SnapshotRules {
        SnapshotRules { max_bytes: self.settings.file_bytes, hard_links: self.settings.hard_links }
    }

    fn now(&self) -> u64 {
        (self.clock)()
    }
}
