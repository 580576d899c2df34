//! What can be asked, as plain data. Every wire translates a call into an [`Operation`] and its outcome back; the engine has
//! one door that takes it. After [`Operation::normalised`] every choice is explicit, so one encoding ([`Operation::encoded`])
//! serves the query log, the audit line and the wire to another machine. No wire format, no host and no file stands here.

mod again;
pub mod approval;
pub mod budget;
mod decode;
mod encode;
mod history;
pub mod policy;
pub mod rules;
pub mod secrets;
pub mod tlog;

pub use history::{
    Blame, Changes, Forget, History, LISTED_CHANGES, LISTED_FILES, Leaf, ListFiles, OutsideChanges, Rewind,
    ShowVersion, Since,
};

use alloc::{borrow::Cow, string::String, vec::Vec};

pub use again::Again;
pub use decode::BadOperation;
pub use encode::Field;

use crate::{
    edit::{Piece, Places},
    limits::{ANSWER_CHARS, WINDOW_CHARS, WINDOW_LINES},
    pick::Pick,
    text::ContentHash,
};

/// The version of this vocabulary. It changes when a field changes its meaning, not when one is added.
pub const VERSION: u32 = 1;

/// Who calls, as far as the wire knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caller {
    /// The wire: `cli`, `mcp`, …
    pub surface: Cow<'static, str>,
    /// What the client calls itself: a claim that nobody checks.
    pub client: Option<String>,
    /// The local user on whose behalf the process runs, as the system knows it; on wires of this machine.
    pub user: Option<String>,
    /// The holder of a token.
    pub identity: Option<String>,
    /// The conversation, by the name of its log.
    pub conversation: Option<String>,
    /// The agent within the conversation, where a host tells several apart.
    pub agent: Option<String>,
}

/// No wire has this name.
const EVERYONE: &str = "*";

impl Caller {
    /// A caller of which only the wire is known.
    #[must_use]
    pub fn of(surface: &'static str) -> Self {
        Self { surface: Cow::Borrowed(surface), ..Self::default() }
    }

    /// Stands for all callers together: what one of them may not see, it may not. For what is kept for everyone.
    #[must_use]
    pub fn everyone() -> Self {
        Self::of(EVERYONE)
    }

    /// Whether it stands for all callers.
    #[must_use]
    pub fn is_everyone(&self) -> bool {
        self.surface == EVERYONE
    }
}

/// Who gets the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Audience {
    /// The model itself sees the result.
    #[default]
    Model,
    /// A program between: it holds nothing, and the model may never see what the program gets.
    Program,
}

/// Whether knowledge may shorten the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Freshness {
    /// The least text that is needed.
    #[default]
    Known,
    /// Plain text.
    Fresh,
}

/// How much of a text one answer shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswerLimit {
    /// The most lines.
    pub lines: u32,
    /// The most characters.
    pub chars: u32,
}

impl AnswerLimit {
    /// No bound but the one on every answer.
    pub const NONE: Self = Self { lines: u32::MAX, chars: u32::MAX };

    /// The default window of the unified `read`.
    pub const WINDOW: Self = Self { lines: WINDOW_LINES, chars: WINDOW_CHARS };
}

/// What is done about a name that is not there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Names {
    /// It is refused, with names that are close.
    #[default]
    Literal,
    /// If exactly one file of the tree ends in that name, that one is meant.
    OrSuffix,
}

/// What is done about a file that is not UTF-8.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Decoding {
    /// It is refused.
    #[default]
    None,
    /// It is decoded: what is shown is a view and never counts as held.
    View,
}

/// Whether held lines inside what is asked for may be named and not sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Partial {
    /// No: all lines are sent, or none.
    #[default]
    Never,
    /// Yes, if the settings say so.
    Allowed,
}

/// A read of a file, or of some of its lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Read {
    /// The path as written; it may end in `:10-20`.
    pub path: String,
    /// The first line, from 1.
    pub offset: Option<u64>,
    /// The number of lines.
    pub limit: Option<u64>,
    /// What is done if nothing has this name.
    pub names: Names,
    /// What is done if it is not UTF-8.
    pub decoding: Decoding,
    /// Lines that are found by looking at the text, instead of `offset` and `limit`.
    pub pick: Pick,
    /// The first hex digits of the text that is meant, where earlier lines of it are at hand: of any other text none are shown.
    pub snapshot: Option<String>,
    /// How much one answer shows, if not what the settings say.
    pub most: Option<AnswerLimit>,
    /// Whether knowledge may shorten the answer.
    pub freshness: Freshness,
    /// Whether it may shorten it in parts.
    pub partial: Partial,
    /// Who gets the answer.
    pub audience: Audience,
}

impl Read {
    /// The first line asked for. Where lines are picked, a `:10-20` is part of the name and not a range.
    #[must_use]
    pub fn first(&self) -> Option<u64> {
        if self.pick == Pick::Given { self.offset } else { Some(1) }
    }
}

/// A read of one definition, found by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadSymbol {
    /// `name`, `Type::method`, `Class.method`, …
    pub target: String,
    /// The file or folder to look in; the whole workspace if absent.
    pub path: Option<String>,
    /// Whether imports and the signatures around the definition come with it.
    pub include_context: bool,
    /// How much one answer shows.
    pub most: AnswerLimit,
    /// Whether knowledge may shorten the answer.
    pub freshness: Freshness,
    /// Who gets the answer.
    pub audience: Audience,
}

/// Which end of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The first lines.
    Head,
    /// The last lines.
    Tail,
}

/// The first or last lines of a file of any size. Nothing is held of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadEnd {
    /// The path as written.
    pub path: String,
    /// Which end.
    pub end: End,
    /// The number of lines.
    pub lines: u64,
    /// The most characters.
    pub chars: u32,
}

/// How a query is matched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Matching {
    /// Its characters, case-sensitive.
    #[default]
    Literal,
    /// As a regular expression.
    Regex,
}

/// The lines of one file that match. The file may have any size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchFile {
    /// The path as written.
    pub path: String,
    /// What to find.
    pub query: String,
    /// How it is matched.
    pub matching: Matching,
    /// The most matching lines that are shown; all are counted.
    pub max_matches: usize,
    /// Lines shown before each match, at most 1,000.
    pub before: usize,
    /// Lines shown after each match, at most 1,000.
    pub after: usize,
    /// The most characters that are shown.
    pub max_chars: usize,
    /// Whether each line is printed with its path, which then counts too.
    pub with_path: bool,
}

impl Default for SearchFile {
    fn default() -> Self {
        Self {
            path: String::new(),
            query: String::new(),
            matching: Matching::Literal,
            max_matches: 100,
            before: 0,
            after: 0,
            max_chars: ANSWER_CHARS as usize,
            with_path: true,
        }
    }
}

/// What a search of the workspace looks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SearchMode {
    /// Files that hold all words, best first.
    #[default]
    Text,
    /// Every line that matches a regular expression, in the order of `rg --sort path`.
    Regex,
    /// Files by name, best first.
    Path,
    /// Lines that use a name as a whole word, by how they use it.
    References,
}

impl SearchMode {
    /// The word used on every wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Regex => "regex",
            Self::Path => "path",
            Self::References => "references",
        }
    }

    /// Reads [`Self::as_str`]; anything else is `None`.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Text, Self::Regex, Self::Path, Self::References].into_iter().find(|mode| mode.as_str() == word)
    }

    /// How many matching lines, or files, are shown unless the caller says otherwise.
    #[must_use]
    pub fn limit(self) -> usize {
        match self {
            Self::Regex | Self::References => 100,
            Self::Text | Self::Path => 20,
        }
    }
}

/// Whether capital letters matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Letters {
    /// As the mode has it: words only if the query has a capital letter, regular expressions and names always.
    #[default]
    ByMode,
    /// Always.
    Exact,
    /// Never.
    Any,
    /// Only if the query has a capital letter.
    Smart,
}

impl Letters {
    /// The word used on every wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ByMode => "by_mode",
            Self::Exact => "sensitive",
            Self::Any => "insensitive",
            Self::Smart => "smart",
        }
    }

    /// Reads [`Self::as_str`]; anything else is `None`.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::ByMode, Self::Exact, Self::Any, Self::Smart].into_iter().find(|letters| letters.as_str() == word)
    }
}

/// Which files are walked beside the plain ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hidden {
    /// Hidden files that git tracks.
    #[default]
    Tracked,
    /// All hidden files.
    All,
    /// None.
    None,
}

impl Hidden {
    /// The word used in logs.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tracked => "tracked",
            Self::All => "all",
            Self::None => "none",
        }
    }

    /// Reads [`Self::as_str`]; anything else is `None`.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Tracked, Self::All, Self::None].into_iter().find(|hidden| hidden.as_str() == word)
    }
}

/// Which part of the workspace is walked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// The file or folder, as written; the whole workspace if absent.
    pub path: Option<String>,
    /// Only files that match, as with ripgrep's `-g`.
    pub glob: Option<String>,
    /// Which hidden files.
    pub hidden: Hidden,
    /// Whether ignored files too.
    pub ignored: bool,
}

/// A folder as a tree of names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct List {
    /// Which part; the current folder if no path is given.
    pub extent: Extent,
    /// How many folders deep; as deep as one answer has room if absent.
    pub depth: Option<u32>,
    /// The most names; [`LISTED`] if absent.
    pub limit: Option<usize>,
}

/// How many names a list shows unless the caller says otherwise.
pub const LISTED: usize = 200;

/// What a file, or the files of a folder, define.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outline {
    /// The path as written.
    pub path: String,
    /// Whether the text of signatures is shown.
    pub signatures: bool,
    /// The most characters of signatures.
    pub max_chars: usize,
}

/// A search of the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Search {
    /// What to find.
    pub query: String,
    /// How it is meant.
    pub mode: SearchMode,
    /// Whether capital letters matter.
    pub letters: Letters,
    /// Where to look.
    pub extent: Extent,
    /// The most matching lines, or files, that are shown; all are counted.
    pub limit: Option<usize>,
    /// Lines shown before and after each match, at most 1,000.
    pub context_lines: usize,
    /// The most characters that are shown.
    pub max_chars: usize,
}

impl Default for Search {
    fn default() -> Self {
        let (query, mode, max_chars) = (String::new(), SearchMode::default(), ANSWER_CHARS as usize);
        let (letters, extent) = (Letters::default(), Extent::default());
        Self { query, mode, letters, extent, limit: None, context_lines: 0, max_chars }
    }
}

/// Definitions by name, or all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListSymbols {
    /// A name or a part of one; every definition if absent.
    pub query: Option<String>,
    /// The file or folder to look in, as written; the whole workspace if absent.
    pub path: Option<String>,
    /// Only files that match.
    pub glob: Option<String>,
    /// Only definitions of this kind: `function`, `class`, …
    pub kind: Option<String>,
    /// The most that are listed. If absent, what has exactly the name asked for ends the list, and up to
    /// [`LISTED_SYMBOLS`] are listed.
    pub limit: Option<usize>,
}

/// How many definitions are listed unless the caller says otherwise.
pub const LISTED_SYMBOLS: usize = 50;

/// What a file is compared with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Against {
    /// The commit that is checked out.
    #[default]
    Head,
    /// What is staged.
    Index,
    /// The working file as it stands, byte for byte, beside other text.
    WorkTree,
}

impl Against {
    /// The word used on every wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Head => "HEAD",
            Self::Index => "INDEX",
            Self::WorkTree => "WORKTREE",
        }
    }

    /// Reads [`Self::as_str`]; anything else is `None`.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Head, Self::Index, Self::WorkTree].into_iter().find(|against| against.as_str() == word)
    }
}

/// How a working file, or text that would replace it, differs from what git keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compare {
    /// The path as written.
    pub path: String,
    /// The baseline.
    pub against: Against,
    /// Text that stands for the working file.
    pub content: Option<String>,
    /// How much of the diff is shown.
    pub most: AnswerLimit,
}

/// How a write changes a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The whole content; makes the file if there is none.
    Whole(String),
    /// The whole content of a file that must not be there.
    Create(String),
    /// Text behind what is there; makes the file if there is none.
    Append(String),
    /// Text that occurs exactly once, or every occurrence of it.
    Replace {
        /// What stands there.
        old: String,
        /// What takes its place.
        new: String,
        /// Whether one or every occurrence.
        places: Places,
    },
    /// Several changes, all or none.
    Edit(Vec<Piece>),
    /// The file goes.
    Delete,
    /// The file gets another name.
    Move {
        /// The new name, as written.
        to: String,
    },
}

impl Change {
    /// The word for it.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Whole(_) => "write",
            Self::Create(_) => "create",
            Self::Append(_) => "append",
            Self::Replace { .. } | Self::Edit(_) => "edit",
            Self::Delete => "delete",
            Self::Move { .. } => "move",
        }
    }
}

/// The text that a change is meant for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Over {
    /// The one that the model holds: whole, where the whole file goes.
    #[default]
    Held,
    /// The one with this hash.
    Hash(ContentHash),
    /// Whatever is there, because a person says so.
    Anything,
}

/// A write by the agent of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// The path as written.
    pub path: String,
    /// The change.
    pub change: Change,
    /// The text it is meant for.
    pub over: Over,
}

/// A patch of one file or several, in any dialect: all of it or nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    /// The patch as written.
    pub patch: String,
    /// The file it is about, where the patch names none.
    pub path: Option<String>,
    /// The text it is meant for, where it is about one file.
    pub over: Over,
}

/// How a version of a file differs from another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompareVersions {
    /// The path as written.
    pub path: String,
    /// The older version: the last one kept, if absent.
    pub from: Option<String>,
    /// The newer version: the working file, if absent.
    pub to: Option<String>,
    /// How much of the diff is shown.
    pub most: AnswerLimit,
}

/// With which text a conflict ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// The agent's edit, made in the text it was meant for.
    Ours,
    /// What stands in the file.
    Theirs,
    /// The text that was proposed.
    Proposal,
    /// This text.
    Text(String),
}

impl Resolution {
    /// The word for it.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::Theirs => "theirs",
            Self::Proposal => "proposal",
            Self::Text(_) => "edited",
        }
    }
}

/// Asks that the next read of a file, or of some of its lines, is plain text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refresh {
    /// The path as written.
    pub path: String,
    /// The first line, from 1.
    pub offset: Option<u64>,
    /// The number of lines.
    pub limit: Option<u64>,
}

/// Which stored texts are removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collect {
    /// Those stored at least this many milliseconds ago.
    pub older_than_ms: Option<u64>,
    /// The oldest, until the rest is no more than this many bytes.
    pub max_bytes: Option<u64>,
    /// What to do about texts that a conversation could still need.
    pub needed: Needed,
    /// What is done about the texts that only the history of files needs.
    pub history: Retention,
    /// Whether only to say what would be removed.
    pub dry_run: bool,
}

/// How long earlier texts of files are kept, and when they are compressed. The newest text of each file always stays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// Those that no file has had for this many milliseconds go.
    pub older_than_ms: Option<u64>,
    /// Those that no file has had for the longest time go, until all of them are no more than this many bytes.
    pub max_bytes: Option<u64>,
    /// Those stored at least this many milliseconds ago are compressed.
    pub pack_after_ms: Option<u64>,
}

/// What happens to texts that a conversation could still need as a base.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Needed {
    /// They stay.
    #[default]
    Keep,
    /// They go like any other; a later change of the file is then sent as plain text.
    Remove,
}

/// One call's question. The conversation it is asked in is not part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A file or some of its lines.
    Read(Read),
    /// One definition by its name.
    ReadSymbol(ReadSymbol),
    /// The first or last lines of a file of any size.
    ReadEnd(ReadEnd),
    /// What a path leads to.
    Stat {
        /// The path as written.
        path: String,
    },
    /// Matching lines of one file.
    SearchFile(SearchFile),
    /// Matching files or lines of the workspace.
    Search(Search),
    /// Where names are defined.
    ListSymbols(ListSymbols),
    /// What a file or a folder defines.
    Outline(Outline),
    /// What is in a folder.
    List(List),
    /// A file beside what git keeps of it.
    Compare(Compare),
    /// A change of a file by the agent.
    Write(Write),
    /// Changes of one file or several, all or none.
    Patch(Patch),
    /// Two versions of a file side by side.
    CompareVersions(CompareVersions),
    /// The files of the workspace.
    ListFiles(ListFiles),
    /// The changes of a file, or of all.
    History(History),
    /// The text of a file after a change.
    ShowVersion(ShowVersion),
    /// Which change wrote each line.
    Blame(Blame),
    /// What other programs changed.
    Changes(Changes),
    /// What others changed of the files that the conversation was shown, since it was shown them.
    Tell,
    /// What the conversation is in the middle of: recent reads, what is held, what waits, what is not committed.
    Context,
    /// A moment to go back to.
    Checkpoint {
        /// What it is called.
        name: Option<String>,
    },
    /// Back to an earlier state.
    Rewind(Rewind),
    /// The conflicts that are open, or all.
    ListConflicts {
        /// Whether those that are over too.
        all: bool,
    },
    /// One conflict with its texts.
    ShowConflict {
        /// Its number.
        id: String,
    },
    /// Someone proposes a text for a conflict.
    Propose {
        /// Its number.
        id: String,
        /// The text.
        text: String,
    },
    /// A conflict ends.
    Resolve {
        /// Its number.
        id: String,
        /// With which text.
        with: Resolution,
    },
    /// The calls that wait for a person, or all that ever did.
    ListApprovals {
        /// Whether those that are decided or expired too.
        all: bool,
    },
    /// One call that waits, or waited.
    ShowApproval {
        /// Its id.
        id: String,
    },
    /// A person decides about a call that waits.
    Decide {
        /// Its id.
        id: String,
        /// What is decided.
        decision: approval::Decision,
        /// What an approval covers.
        scope: approval::Scope,
        /// How it is known that a person decided.
        how: approval::How,
    },
    /// Plain text for the next read.
    Refresh(Refresh),
    /// What is held, what was answered, what the store takes.
    Status,
    /// What is held line by line, what proves it, and what of it is stale.
    Held {
        /// Only of this file.
        path: Option<String>,
    },
    /// Which sessions have a log.
    ListSessions,
    /// The tree of the conversation.
    ShowSession,
    /// Go on after an entry; the root if absent.
    Branch {
        /// The entry's number.
        at: Option<u64>,
    },
    /// Go to the tip of the branch that holds an entry.
    Switch {
        /// The entry's number.
        to: u64,
    },
    /// A session of its own from a branch.
    Fork {
        /// The entry to fork after; the leaf if absent.
        from: Option<u64>,
        /// The name of the new session; a free one if absent.
        into: Option<String>,
    },
    /// The barrier: nothing before it counts on this branch.
    Compact {
        /// What the host kept instead.
        summary: Option<String>,
    },
    /// The host shows other text, or none, where a result stood.
    EditContext {
        /// The entry's number.
        target: u64,
        /// The text; none if the block is gone.
        text: Option<String>,
    },
    /// The host was seen to drop or change results: plain text from here on.
    Distrust {
        /// What was seen.
        why: String,
    },
    /// Re-run every recorded answer and write from stored texts: the conversation's, or all.
    Replay,
    /// Remove stored texts.
    Collect(Collect),
    /// Erase earlier texts of files.
    Forget(Forget),
    /// What the rules say about a name, for each act.
    CheckPolicy {
        /// The path as written; it need not lead anywhere.
        path: String,
        /// Only this act.
        act: Option<policy::Act>,
        /// For whom, if not for the one who asks.
        caller: Option<Caller>,
    },
    /// Every rule in force.
    ListPolicy,
    /// Check the workspace and its store.
    Doctor,
}

impl Operation {
    /// The word for it in logs and on every wire.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Read(_) => "read",
            Self::ReadSymbol(_) => "read_symbol",
            Self::ReadEnd(_) => "read_end",
            Self::Stat { .. } => "stat",
            Self::SearchFile(_) => "search_file",
            Self::Search(_) => "search",
            Self::ListSymbols(_) => "list_symbols",
            Self::Outline(_) => "outline",
            Self::List(_) => "list",
            Self::Compare(_) => "compare",
            Self::Write(_) => "write",
            Self::Patch(_) => "patch",
            Self::CompareVersions(_) => "compare_versions",
            Self::ListFiles(_) => "list_files",
            Self::History(_) => "history",
            Self::ShowVersion(_) => "show_version",
            Self::Blame(_) => "blame",
            Self::Changes(_) => "changes",
            Self::Tell => "tell",
            Self::Context => "context",
            Self::Checkpoint { .. } => "checkpoint",
            Self::Rewind(_) => "rewind",
            Self::ListConflicts { .. } => "list_conflicts",
            Self::ShowConflict { .. } => "show_conflict",
            Self::Propose { .. } => "propose",
            Self::Resolve { .. } => "resolve",
            Self::ListApprovals { .. } => "list_approvals",
            Self::ShowApproval { .. } => "show_approval",
            Self::Decide { .. } => "decide",
            Self::Refresh(_) => "refresh",
            Self::Status => "status",
            Self::Held { .. } => "held",
            Self::ListSessions => "list_sessions",
            Self::ShowSession => "show_session",
            Self::Branch { .. } => "branch",
            Self::Switch { .. } => "switch",
            Self::Fork { .. } => "fork",
            Self::Compact { .. } => "compact",
            Self::EditContext { .. } => "edit_context",
            Self::Distrust { .. } => "distrust",
            Self::Replay => "replay",
            Self::Collect(_) => "collect",
            Self::Forget(_) => "forget",
            Self::CheckPolicy { .. } => "check_policy",
            Self::ListPolicy => "list_policy",
            Self::Doctor => "doctor",
        }
    }

    /// Whether it changes files by name.
    #[must_use]
    pub fn is_change(&self) -> bool {
        matches!(self, Self::Write(_) | Self::Patch(_))
    }

    /// The path it is about, as written, if it names one.
    #[must_use]
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Read(Read { path, .. })
            | Self::ReadEnd(ReadEnd { path, .. })
            | Self::Stat { path }
            | Self::CheckPolicy { path, .. }
            | Self::SearchFile(SearchFile { path, .. })
            | Self::Outline(Outline { path, .. })
            | Self::Compare(Compare { path, .. })
            | Self::Write(Write { path, .. })
            | Self::CompareVersions(CompareVersions { path, .. })
            | Self::Blame(Blame { path, .. })
            | Self::Refresh(Refresh { path, .. }) => Some(path),
            Self::Held { path }
            | Self::ReadSymbol(ReadSymbol { path, .. })
            | Self::Search(Search { extent: Extent { path, .. }, .. })
            | Self::ListSymbols(ListSymbols { path, .. })
            | Self::Patch(Patch { path, .. })
            | Self::History(History { path, .. })
            | Self::ShowVersion(ShowVersion { path, .. })
            | Self::List(List { extent: Extent { path, .. }, .. }) => path.as_deref(),
            Self::Status
            | Self::ListFiles(_)
            | Self::Changes(_)
            | Self::Tell
            | Self::Context
            | Self::Checkpoint { .. }
            | Self::Rewind(_)
            | Self::ListConflicts { .. }
            | Self::ShowConflict { .. }
            | Self::Propose { .. }
            | Self::Resolve { .. }
            | Self::ListApprovals { .. }
            | Self::ShowApproval { .. }
            | Self::Decide { .. }
            | Self::ListSessions
            | Self::ShowSession
            | Self::Branch { .. }
            | Self::Switch { .. }
            | Self::Fork { .. }
            | Self::Compact { .. }
            | Self::EditContext { .. }
            | Self::Distrust { .. }
            | Self::Replay
            | Self::Collect(_)
            | Self::Forget(_)
            | Self::ListPolicy
            | Self::Doctor => None,
        }
    }

    /// The same with every default filled in.
    #[must_use]
    pub fn normalised(mut self) -> Self {
        if let Self::Search(Search { mode, limit, .. }) = &mut self {
            *limit = Some(limit.unwrap_or_else(|| mode.limit()));
        }
        if let Self::List(List { limit, .. }) = &mut self {
            *limit = Some(limit.unwrap_or(LISTED));
        }
        if let Self::ListFiles(ListFiles { limit, .. }) = &mut self {
            *limit = Some(limit.unwrap_or(LISTED_FILES));
        }
        if let Self::History(History { limit, .. }) = &mut self {
            *limit = Some(limit.unwrap_or(LISTED_CHANGES));
        }
        self
    }
}
