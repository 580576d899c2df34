//! The command line: arguments and help. Only parses; what the arguments mean is decided in `config` and `commands`.

pub(crate) mod audit;
pub(crate) mod history;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use readproof_core::operation::{Extent, Hidden};
use readproof_disk::spelt;
use std::{ffi::OsString, path::PathBuf};

/// The file layer between an LLM agent and a workspace: a re-read costs only what changed, and nothing is vouched for
/// that the model cannot see.
#[derive(Parser, Debug)]
#[command(name = "readproof", version, arg_required_else_help = true, max_term_width = 100)]
pub(crate) struct Cli {
    /// The workspace directory; nothing outside it is used [env: READPROOF_WORKSPACE] [default: nearest parent with .readproof, else the git root, else here]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Override a setting for this call; `readproof config` lists them
    #[arg(long = "set", global = true, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Cli {
    /// Parses a command line. A host starts a server for every session and waits for it, and building the parser of all
    /// commands would take most of the start. So the server commands are tried first, with a parser of their own; anything
    /// else, including mistakes and `--help`, is left to the full parser.
    pub(crate) fn parsed(words: &[OsString]) -> Result<Self, clap::Error> {
        let names_server = words.iter().any(|word| word == "mcp" || word == "pi");
        match names_server.then(|| Server::try_parse_from(words)) {
            Some(Ok(Server { workspace, json, set, command })) => {
                let command = match command {
                    ServerCommand::Pi => Command::Bridge,
                    ServerCommand::Mcp(args) => Command::Mcp(args),
                };
                Ok(Self { workspace, json, set, command })
            }
            Some(Err(_)) | None => Self::try_parse_from(words),
        }
    }
}

/// The command line of a server: the same flags, with only the server commands.
#[derive(Parser, Debug)]
#[command(name = "readproof")]
struct Server {
    #[arg(long, global = true)]
    workspace: Option<PathBuf>,
    #[arg(long, global = true)]
    json: bool,
    #[arg(long = "set", global = true)]
    set: Vec<String>,
    #[command(subcommand)]
    command: ServerCommand,
}

#[derive(Subcommand, Debug)]
enum ServerCommand {
    Pi,
    Mcp(McpArgs),
}

/// Takes out each `--set KEY=VALUE` before the command, because clap drops them if there is another one after it. A flag after
/// the command overrides one before it.
/// The words with names that are not UTF-8 spelt as text, as every answer spells them. A workspace has its own name.
pub(crate) fn spelt_words(words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut before = OsString::new();
    let spelt = |word: OsString| {
        let is_workspace = std::mem::replace(&mut before, word.clone()) == "--workspace";
        let text = spelt(word.as_encoded_bytes()).filter(|_| !is_workspace).map(|text| text.into_owned().into());
        text.unwrap_or(word)
    };
    words.map(spelt).collect()
}

pub(crate) fn settings_first(words: Vec<OsString>) -> (Vec<String>, Vec<OsString>) {
    let (mut set, mut rest) = (Vec::new(), Vec::new());
    let mut words = words.into_iter().peekable();
    rest.extend(words.next());
    while let Some(word) = words.next() {
        let text = word.to_str().unwrap_or_default();
        if let Some(value) = text.strip_prefix("--set=") {
            set.push(value.to_owned());
        } else if let Some(value) = words.peek().and_then(|next| next.to_str()).filter(|_| text == "--set") {
            set.push(value.to_owned());
            words.next();
        } else if text == "--workspace" {
            rest.extend([word].into_iter().chain(words.next()));
        } else {
            // These commands have subcommands.
            let continues = text.starts_with("--workspace=")
                || matches!(text, "--json" | "session" | "conflicts" | "approvals" | "audit" | "bench");
            rest.push(word);
            if !continues {
                break;
            }
        }
    }
    (set, rest.into_iter().chain(words).collect())
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Read a file, or some of its lines, with the least text needed
    Read(Box<ReadArgs>),
    /// Show the first lines of a file of any size
    Head(PieceArgs),
    /// Show the last lines of a file of any size
    Tail(PieceArgs),
    /// Show the lines of one file that contain a text or match a regular expression
    Grep(GrepArgs),
    /// Show what a path leads to: kind, size, time of last change
    Stat {
        /// The path
        path: String,
    },
    /// Search the workspace for words, a regular expression or a file name; files are ignored by ripgrep's rules
    Search(SearchArgs),
    /// List where names are defined: functions, types, headings, keys; without a query, all definitions
    Symbols(SymbolsArgs),
    /// List what a file, or the files of a folder, define
    Outline {
        /// The file or folder
        path: String,
    },
    /// List a folder: names with line counts and sizes, without ignored files
    List(ListArgs),
    /// Compare a working file, or text that would replace it, with a version in git, as an exact patch
    #[command(after_help = DIFF_HELP)]
    Diff(DiffArgs),
    /// Force the next read of a file, or of some of its lines, to be plain text
    Refresh(RefreshArgs),
    /// Write a whole file as the agent of a session; the content comes on standard input
    Write(WriteArgs),
    /// Replace text that occurs exactly once, as the agent of a session
    Edit(EditArgs),
    /// Apply a patch to one file or several, all or nothing: unified diff, *** Begin Patch, or SEARCH/REPLACE blocks
    Patch(PatchArgs),
    /// Delete a file; a version of it is kept
    Delete(DeleteArgs),
    /// Give a file another name
    Move(MoveArgs),
    /// List the files of the workspace: lines, what each is for, and its newest version
    Files(history::FilesArgs),
    /// List the changes of a file, or of all files: own calls, and what other programs did
    Log(history::LogArgs),
    /// Show the text of a file after a change
    Show(history::ShowArgs),
    /// Show which change wrote each line of a file
    Blame(history::BlameArgs),
    /// Show what other programs and other agents changed
    Changes(history::ChangesArgs),
    /// Show what a conversation is in the middle of: recent files, what changed since, conflicts, what is not committed
    Context(history::ContextArgs),
    /// Keep a version of every change that other programs make, while they make it, and print each; ended by Ctrl-C
    Watch,
    /// Mark the present state of all files, to go back to it later
    Checkpoint(history::CheckpointArgs),
    /// Go back to a version or a checkpoint: all files that changed since, or some; undone by another rewind
    Rewind(history::RewindArgs),
    /// Edits that met another's change of the same lines
    #[command(subcommand)]
    Conflicts(ConflictsCommand),
    /// Which rules say what may be read, found and changed, and by whom
    #[command(subcommand)]
    Policy(PolicyCommand),
    /// Calls that wait for a person: what they would do, and to approve or deny them
    #[command(subcommand)]
    Approvals(ApprovalsCommand),
    /// What was called, by whom, and what came of it: look, verify, prove
    #[command(subcommand)]
    Audit(audit::AuditCommand),
    /// Show what is held, how reads were answered, what that saved, and the store's size
    Status(StatusArgs),
    /// List sessions, show a session's tree, and move in it
    #[command(subcommand)]
    Session(SessionCommand),
    /// Re-run every recorded answer and write from stored texts and compare it, byte for byte, with what was recorded
    Replay(ReplayArgs),
    /// Perform encoded operations and print one JSON object for each: text, hashes, rules. For scripts, and for another machine over
    /// SSH; only operations that look
    Query(QueryArgs),
    /// Remove stored texts by age and total size, and compress those that only the history needs; those that a session could still
    /// need stay unless forced
    Gc(GcArgs),
    /// Erase earlier texts of files from the history; the files themselves stay
    Forget(history::ForgetArgs),
    /// Check the workspace, its store, logs, settings and hosts, and say what to do
    Doctor,
    /// Serve a pi process on standard input and output, one JSON object per line; its extension starts this
    #[command(name = "pi")]
    Bridge,
    /// Serve the tools to an MCP client on standard input and output
    Mcp(McpArgs),
    /// Show what the model of a conversation holds now, line by line, which entry proves it, and what of it is stale on disk
    #[command(after_help = HELD_HELP)]
    Held(HeldArgs),
    /// The same as `held --host pi --session FILE`
    #[command(name = "pi-session")]
    HostSession(HostSessionArgs),
    /// Show what makes a host use Readproof, and write it after a yes; without a host, list those found
    Init(InitArgs),
    /// List every setting, its value and where it comes from
    Config,
    /// Watch a scripted agent read, re-read, edit, move in the tree and compact
    Demo,
    /// Measure on recorded sessions of real agents
    #[command(subcommand)]
    Bench(BenchCommand),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
}

#[derive(Args, Debug)]
pub(crate) struct ReadArgs {
    /// The file; `PATH:10-20` reads lines 10 to 20, `PATH:10` from line 10 on
    #[arg(value_name = "PATH[:A-B]")]
    pub(crate) path: String,
    #[command(flatten)]
    pub(crate) range: RangeArgs,
    /// The conversation this read belongs to; without one the answer is always plain text
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Always send plain text
    #[arg(long)]
    pub(crate) fresh: bool,
    #[command(flatten)]
    pub(crate) unified: UnifiedArgs,
}

/// Lines that are not part of the path. Taken as text, so that a mistake gets a message of ours.
#[derive(Args, Debug)]
pub(crate) struct RangeArgs {
    /// The first line, counted from 1
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) offset: Option<String>,
    /// How many lines
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) limit: Option<String>,
}

/// The arguments of the unified `read` tool.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "As the MCP tool `read` answers")]
pub(crate) struct UnifiedArgs {
    /// file, snippet, symbol or diff_preview; PATH is the target
    #[arg(long, value_name = "MODE")]
    pub(crate) mode: Option<String>,
    /// First line of a snippet
    #[arg(long, value_name = "N", requires = "mode")]
    pub(crate) start_line: Option<String>,
    /// Last line of a snippet
    #[arg(long, value_name = "N", requires = "mode")]
    pub(crate) end_line: Option<String>,
    /// Lines around a snippet
    #[arg(long, value_name = "N", requires = "mode")]
    pub(crate) context_lines: Option<String>,
    /// Words to find; the snippet is the best match
    #[arg(long, value_name = "WORDS", requires = "mode")]
    pub(crate) query: Option<String>,
    /// none: show only the location
    #[arg(long, value_name = "none|snippet", requires = "mode")]
    pub(crate) preview_mode: Option<String>,
    /// Show at most this many characters
    #[arg(long, value_name = "N", requires = "mode")]
    pub(crate) max_preview_chars: Option<String>,
    /// The file or folder in which to look for a symbol
    #[arg(long, value_name = "PATH", requires = "mode")]
    pub(crate) path_of_symbol: Option<String>,
    /// Include the imports of the file and the signatures around the symbol
    #[arg(long, requires = "mode")]
    pub(crate) include_context: bool,
    /// What to compare with: HEAD, INDEX or WORKTREE
    #[arg(long, value_name = "BASE", requires = "mode")]
    pub(crate) against: Option<String>,
    /// Handle of an answer that the model still sees; needs --session
    #[arg(long, value_name = "HANDLE", requires = "mode", requires = "session")]
    pub(crate) known: Option<String>,
}

impl UnifiedArgs {
    /// The arguments that were given, by the names of the tool's parameters.
    pub(crate) fn given(&self) -> impl Iterator<Item = (&'static str, &String)> {
        [
            ("mode", &self.mode),
            ("start_line", &self.start_line),
            ("end_line", &self.end_line),
            ("context_lines", &self.context_lines),
            ("query", &self.query),
            ("preview_mode", &self.preview_mode),
            ("max_preview_chars", &self.max_preview_chars),
            ("path", &self.path_of_symbol),
            ("against", &self.against),
            ("known", &self.known),
        ]
        .into_iter()
        .filter_map(|(name, value)| value.as_ref().map(|value| (name, value)))
    }
}

#[derive(Args, Debug)]
pub(crate) struct PieceArgs {
    /// The file
    pub(crate) path: String,
    /// How many lines
    #[arg(short = 'n', long = "lines", value_name = "N", default_value = "10", allow_hyphen_values = true)]
    pub(crate) lines: String,
    #[command(flatten)]
    pub(crate) shown_to: ShownTo,
}

/// The session of a command that shows lines but is not a read.
#[derive(Args, Debug)]
pub(crate) struct ShownTo {
    /// The conversation that sees these lines; older versions of them no longer count as held
    #[arg(long = "session", value_name = "ID")]
    pub(crate) session: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct GrepArgs {
    /// What to find; case-sensitive
    #[arg(allow_hyphen_values = true)]
    pub(crate) query: String,
    /// The file
    pub(crate) path: String,
    /// The query is a regular expression
    #[arg(long)]
    pub(crate) regex: bool,
    /// Show at most this many matching lines; all are counted [default: 100]
    #[arg(long, value_name = "N")]
    pub(crate) max_matches: Option<usize>,
    /// Lines shown before each match
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) before: usize,
    /// Lines shown after each match
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) after: usize,
    #[command(flatten)]
    pub(crate) shown_to: ShownTo,
}

#[derive(Args, Debug)]
pub(crate) struct SearchArgs {
    /// What to find
    #[arg(allow_hyphen_values = true)]
    pub(crate) query: String,
    /// text: files by words, best first; regex: matching lines; path: files by name; symbol: definitions by name;
    /// references: lines that use a name, by how they use it
    #[arg(long, value_name = "MODE", default_value = "text", value_parser = ["text", "regex", "path", "symbol", "references"])]
    pub(crate) mode: String,
    #[command(flatten)]
    pub(crate) extent: ExtentArgs,
    /// With --mode symbol, only definitions of this kind: function, class, struct, enum, trait, method, constant, …
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: Option<String>,
    /// Whether capital letters matter [default: not for words, sensitive for --mode regex and references]
    #[arg(long, value_name = "CASE", value_parser = ["smart", "sensitive", "insensitive"])]
    pub(crate) case: Option<String>,
    /// Show at most this many: matching lines with --mode regex and references, else files [default: 100, else 20]
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// Lines shown around each match
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) context: usize,
    #[command(flatten)]
    pub(crate) shown_to: ShownTo,
}

/// Which part of the workspace is looked at.
#[derive(Args, Debug)]
pub(crate) struct ExtentArgs {
    /// A file or folder [default: the whole workspace]
    pub(crate) path: Option<String>,
    /// Only files that match this glob, as in --glob '*.rs' or --glob '!docs/**'
    #[arg(long, value_name = "GLOB", allow_hyphen_values = true)]
    pub(crate) glob: Option<String>,
    /// All hidden files too [default: those that git tracks]
    #[arg(long)]
    pub(crate) hidden: bool,
    /// No hidden file
    #[arg(long, conflicts_with = "hidden")]
    pub(crate) no_hidden: bool,
    /// Ignored files too
    #[arg(long)]
    pub(crate) ignored: bool,
}

impl ExtentArgs {
    pub(crate) fn extent(self) -> Extent {
        let hidden = match (self.hidden, self.no_hidden) {
            (true, _) => Hidden::All,
            (false, true) => Hidden::None,
            (false, false) => Hidden::Tracked,
        };
        Extent { path: self.path, glob: self.glob, hidden, ignored: self.ignored }
    }
}

#[derive(Args, Debug)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    pub(crate) extent: ExtentArgs,
    /// How many folders deep [default: as deep as the limit allows]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) depth: Option<u32>,
    /// Show at most this many names
    #[arg(long, value_name = "N", default_value_t = readproof_core::operation::LISTED)]
    pub(crate) limit: usize,
}

const DIFF_HELP: &str = "\
Examples:
  readproof diff src/main.rs                                        the working file against the last commit
  readproof diff src/main.rs --against INDEX | git apply -R         undo unstaged changes
  readproof diff src/main.rs --against WORKTREE --content new.rs    what a write would change
  generate | readproof diff src/main.rs --content -                 new text against the last commit

Runs neither git nor any program that its configuration names; if git would need an external filter, this is an error. HEAD and
INDEX compare what git would store (line endings and encodings as in the repository), WORKTREE the bytes on disk.";

#[derive(Args, Debug)]
pub(crate) struct DiffArgs {
    /// The file; it may be deleted or not exist yet
    pub(crate) path: String,
    /// What to compare with: the last commit, what is staged, or the working file itself
    #[arg(long, value_name = "BASE", default_value = "HEAD", ignore_case = true, value_parser = ["HEAD", "INDEX", "WORKTREE"])]
    pub(crate) against: String,
    /// Compare versions that are kept instead: from this one [default: the last] …
    #[arg(long, value_name = "VERSION", num_args = 0..=1, default_missing_value = "", conflicts_with_all = ["against", "content"])]
    pub(crate) version: Option<String>,
    /// … to this one [default: the working file]
    #[arg(long, value_name = "VERSION", requires = "version")]
    pub(crate) to: Option<String>,
    /// A file with text to use instead of the working file, `-` for standard input; required by WORKTREE
    #[arg(long, value_name = "FILE")]
    pub(crate) content: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) shown_to: ShownTo,
}

#[derive(Args, Debug)]
pub(crate) struct SymbolsArgs {
    /// A name or a part of one, as in `read`, `Engine::read` or `Engine.read`, or its words, as in 'read file'
    pub(crate) query: Option<String>,
    /// A file or folder [default: the whole workspace]
    pub(crate) path: Option<String>,
    /// Only files that match this glob, as in --glob '*.rs'
    #[arg(long, value_name = "GLOB", allow_hyphen_values = true)]
    pub(crate) glob: Option<String>,
    /// Only definitions of this kind: function, class, struct, enum, trait, method, constant, …
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: Option<String>,
    /// Show at most this many [default: 50 with a query, else all]
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
}

#[derive(Args, Debug)]
pub(crate) struct RefreshArgs {
    /// The file, or some of its lines
    #[arg(value_name = "PATH[:A-B]")]
    pub(crate) path: String,
    #[command(flatten)]
    pub(crate) range: RangeArgs,
    /// The conversation
    #[arg(long, value_name = "ID")]
    pub(crate) session: String,
}

/// For whom a file is changed, and which text of it is meant.
#[derive(Args, Debug)]
pub(crate) struct ChangeArgs {
    /// The conversation whose agent makes the change
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// The SHA-256 of the text that the change is for
    #[arg(long, value_name = "HASH")]
    pub(crate) expect: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct WriteArgs {
    /// The file; missing folders are created
    pub(crate) path: String,
    /// Add the text to the end of the file
    #[arg(long, conflicts_with = "create")]
    pub(crate) append: bool,
    /// Refuse if there is such a file
    #[arg(long)]
    pub(crate) create: bool,
    /// Replace whatever is there; a version of it is kept
    #[arg(long, conflicts_with_all = ["expect", "create"])]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) change: ChangeArgs,
}

#[derive(Args, Debug)]
pub(crate) struct EditArgs {
    /// The file
    pub(crate) path: String,
    /// The text to replace; it must occur exactly once, unless `--all` is given
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, requires = "new", required_unless_present = "edits")]
    pub(crate) old: Option<String>,
    /// The new text
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, requires = "old")]
    pub(crate) new: Option<String>,
    /// Replace every occurrence
    #[arg(long)]
    pub(crate) all: bool,
    /// A file with several changes as JSON, `[{"old": "…", "new": "…", "all": false}]`; `-` is standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["old", "new", "all"])]
    pub(crate) edits: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) change: ChangeArgs,
}

#[derive(Args, Debug)]
pub(crate) struct PatchArgs {
    /// The patch; `-` is standard input
    #[arg(value_name = "FILE", default_value = "-")]
    pub(crate) patch: PathBuf,
    /// The file it is about, if the patch names none
    #[arg(long, value_name = "PATH")]
    pub(crate) path: Option<String>,
    #[command(flatten)]
    pub(crate) change: ChangeArgs,
}

#[derive(Args, Debug)]
pub(crate) struct DeleteArgs {
    /// The file
    pub(crate) path: String,
    /// Delete it whatever it holds; a version of it is kept
    #[arg(long, conflicts_with = "expect")]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) change: ChangeArgs,
}

#[derive(Args, Debug)]
pub(crate) struct MoveArgs {
    /// The file
    pub(crate) path: String,
    /// Its new name; nothing may have it
    pub(crate) to: String,
    #[command(flatten)]
    pub(crate) change: ChangeArgs,
}

#[derive(Subcommand, Debug)]
pub(crate) enum PolicyCommand {
    /// Say what may be done with a name, and which rule of which file says so
    Check {
        /// The name; it need not lead anywhere
        path: String,
        /// For this caller: a surface (cli, mcp, pi), client:NAME, user:NAME or token:NAME, or several with commas between
        #[arg(long = "as", value_name = "CALLER")]
        caller: Option<String>,
        /// Only this operation (read, list, search, edit, write, delete, history, export), with what every source says
        #[arg(long, value_name = "OP")]
        op: Option<String>,
    },
    /// List the rules in force
    List,
    /// Compare the verdicts with those that a file expects: `[[case]]` with path, op, as and expect
    Test {
        /// The file, TOML
        file: PathBuf,
    },
}

#[derive(Subcommand, Debug)]
pub(crate) enum ConflictsCommand {
    /// List the conflicts that are open
    List {
        /// Also those that are over
        #[arg(long)]
        all: bool,
    },
    /// Show a conflict: what both changed, and what is proposed
    Show {
        /// Its number, as in v12
        id: String,
    },
    /// Propose a text for a conflict; without a file, ask the review command of the settings
    Propose {
        /// Its number, as in v12
        id: String,
        /// The text; `-` is standard input
        #[arg(value_name = "FILE")]
        text: Option<PathBuf>,
    },
    /// End a conflict: the file gets the text that is chosen
    Resolve {
        /// Its number, as in v12
        id: String,
        /// ours, theirs, proposal, or a file with the text; `-` is standard input
        #[arg(long = "with", value_name = "TEXT")]
        text: String,
        /// The conversation in which that is done
        #[arg(long, value_name = "ID")]
        session: Option<String>,
    },
}

const APPROVALS_HELP: &str = "\
Needs a terminal, where it shows what is asked and asks for a yes, so that an agent's shell cannot approve its own calls. Without
one: put the SHA-256 of a long random key as approver_key into your own readproof/config.toml, and the key itself into the
environment variable READPROOF_APPROVER_KEY of whoever decides, never into that of an agent.";

#[derive(Subcommand, Debug)]
pub(crate) enum ApprovalsCommand {
    /// List the calls that wait, and the approvals in force
    List {
        /// Also those that are over
        #[arg(long)]
        all: bool,
    },
    /// Show a call: what it would do, who asks, which rule asks, and what was decided
    Show {
        /// Its id, as in 0a1b2c-7
        id: String,
    },
    /// Approve a call: the agent then makes it again
    #[command(after_help = APPROVALS_HELP)]
    Approve {
        /// Its id, as in 0a1b2c-7
        id: String,
        #[command(flatten)]
        scope: ApprovalScope,
    },
    /// Deny a call, or take an approval back
    #[command(after_help = APPROVALS_HELP)]
    Deny {
        /// Its id, as in 0a1b2c-7
        id: String,
    },
}

/// What an approval covers.
#[derive(Args, Debug)]
#[group(multiple = false)]
pub(crate) struct ApprovalScope {
    /// This call, one time [default]
    #[arg(long)]
    pub(crate) once: bool,
    /// Everything of this kind that the same client does to the same files in this conversation
    #[arg(long)]
    pub(crate) session: bool,
    /// The same in every conversation, until it is denied
    #[arg(long)]
    pub(crate) always: bool,
}

#[derive(Args, Debug)]
pub(crate) struct StatusArgs {
    /// Also show this session's branch since its last compaction
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct ReplayArgs {
    /// The session [default: all sessions of this workspace]
    #[arg(value_name = "SESSION")]
    pub(crate) session: Option<String>,
    /// Verify, which is what it does without this too; exit code 1 if something is wrong
    #[arg(long)]
    pub(crate) verify: bool,
}

#[derive(Args, Debug)]
pub(crate) struct QueryArgs {
    /// An operation, as in '{"op":"read","path":"src/main.rs","offset":10,"limit":20}' [default: one per line of standard input]
    #[arg(value_name = "OPERATION")]
    pub(crate) operations: Vec<String>,
}

#[derive(Args, Debug)]
pub(crate) struct GcArgs {
    /// Remove texts stored at least this many days ago [default: 30, without --max-bytes]
    #[arg(long, value_name = "DAYS")]
    pub(crate) older_than: Option<u32>,
    /// Then remove the oldest texts until the rest is at most this many bytes
    #[arg(long, value_name = "N")]
    pub(crate) max_bytes: Option<u64>,
    /// Only show what would be removed
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Also remove texts that sessions could still need; a later change of such a file is sent as plain text
    #[arg(long)]
    pub(crate) force: bool,
    /// A session file of pi whose texts stay, beside those that ran in this workspace; may be repeated
    #[arg(long = "pi-session", value_name = "FILE")]
    pub(crate) host_session: Vec<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct McpArgs {
    /// Which tools are listed: unified, bounded, all, none, or names separated by commas; every tool can be called
    #[arg(long, value_name = "LIST", default_value = "unified")]
    pub(crate) tools: String,
}

const HELD_HELP: &str = "\
Examples:
  readproof held                                  the only session of this workspace
  readproof held --session work src/main.rs       one file, in the session `work`
  readproof held --host pi                        the newest session of a host in this workspace; or claude-code
  readproof held --session /tmp/copied.jsonl      a transcript, also one that was copied from elsewhere

Files are compared with those of the workspace in which the session ran, or of --workspace.";

#[derive(Args, Debug)]
pub(crate) struct HeldArgs {
    /// Only this file
    pub(crate) path: Option<String>,
    /// A session of this workspace, or the file of a host's session [default: the only one; the newest of the host]
    #[arg(long, value_name = "ID|FILE")]
    pub(crate) session: Option<String>,
    /// Whose session: readproof, or a host [default: what the file is]
    #[arg(long, value_name = "HOST")]
    pub(crate) host: Option<String>,
    /// The entry of a host's session at which to look [default: the last one]
    #[arg(long, value_name = "ID")]
    pub(crate) leaf: Option<String>,
    /// Names the file where it cannot be taken for the name of a session.
    #[arg(skip)]
    pub(crate) file: Option<PathBuf>,
}

impl From<HostSessionArgs> for HeldArgs {
    fn from(HostSessionArgs { file, leaf }: HostSessionArgs) -> Self {
        Self { path: None, session: None, host: Some("pi".to_owned()), leaf, file: Some(file) }
    }
}

#[derive(Args, Debug)]
pub(crate) struct HostSessionArgs {
    /// The session file, as in ~/.pi/agent/sessions/--w--/2026-11-01T00-00-00-000Z_ID.jsonl
    pub(crate) file: PathBuf,
    /// The entry at which to look [default: the last one]
    #[arg(long, value_name = "ID")]
    pub(crate) leaf: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct InitArgs {
    /// The host
    #[arg(value_enum)]
    pub(crate) host: Option<Host>,
    /// Write to this project's settings or to your user settings [default: project; for pi: user]
    #[arg(long, value_enum, requires = "host")]
    pub(crate) scope: Option<Scope>,
    /// Write without asking
    #[arg(long, requires = "host")]
    pub(crate) yes: bool,
    /// Only print the entry and its file
    #[arg(long, requires = "host", conflicts_with = "yes")]
    pub(crate) print: bool,
    /// Leave out the line that lets the host use the tools without asking
    #[arg(long, requires = "host")]
    pub(crate) entry_only: bool,
    /// Take out again what was written; for claude-code only
    #[arg(long, requires = "host", conflicts_with_all = ["print", "entry_only"])]
    pub(crate) remove: bool,
}

/// A program that starts MCP servers, or pi.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Host {
    /// The plugin: Claude Code's own Read, with shorter answers to re-reads
    ClaudeCode,
    /// The tools of an MCP server
    ClaudeCodeTools,
    Codex,
    Opencode,
    Gemini,
    Cursor,
    Vscode,
    Zed,
    Pi,
}

#[derive(Subcommand, Debug)]
pub(crate) enum BenchCommand {
    /// Play recorded sessions through the engine, in temporary workspaces, and count what re-reads save
    #[command(after_help = TRACES_HELP)]
    Traces(TracesArgs),
}

const TRACES_HELP: &str = "\
Every read, edit, write and compaction of every session goes through the engine; a separate program part, which sees only what a
model sees, rebuilds every answer. What it cannot rebuild is a violation, and the exit code is 1.
A run that was ended goes on where it was. Settings count as everywhere: --set answers=seed.
Tokens are counted exactly by a program that was built with --features tokens, and are a quarter of the bytes otherwise.";

#[derive(Args, Debug)]
pub(crate) struct TracesArgs {
    /// The folder: NAME.events.jsonl and NAME.blobs.jsonl, compressed or not
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// Play only the first N sessions
    #[arg(long, value_name = "N")]
    pub(crate) sessions: Option<usize>,
    /// Exit code 1 if less than this part of the read tokens is saved, in percent
    #[arg(long, value_name = "PERCENT")]
    pub(crate) least: Option<f64>,
    /// Begin anew, even if an earlier run was ended
    #[arg(long)]
    pub(crate) anew: bool,
}

/// Which settings of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scope {
    Project,
    User,
}

impl Scope {
    /// As written on the command line.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::User => "user",
        }
    }
}

#[derive(Subcommand, Debug)]
pub(crate) enum SessionCommand {
    /// List the sessions of this workspace
    List {
        /// Only this session, if it exists
        #[arg(long, value_name = "ID")]
        session: Option<String>,
    },
    /// Show a session's tree
    Show(SessionArg),
    /// Continue from an earlier entry, on a new branch
    Branch {
        /// The entry to continue from, as `session show` names it, or `root`
        #[arg(value_name = "ENTRY")]
        entry: String,
        #[command(flatten)]
        session: SessionArg,
    },
    /// Create a new session from this branch
    Fork {
        /// The last entry of the new session [default: the current one]
        #[arg(value_name = "ENTRY")]
        entry: Option<String>,
        /// The new session's name [default: ID-fork]
        #[arg(long = "as", value_name = "NEW")]
        into: Option<String>,
        #[command(flatten)]
        session: SessionArg,
    },
    /// Record that the conversation was compacted: nothing before this counts on this branch
    Compact {
        /// The summary that replaced it
        #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
        summary: Option<String>,
        #[command(flatten)]
        session: SessionArg,
    },
    /// Switch to the tip of the branch that contains an entry
    Switch {
        /// The entry, as `session show` names it
        #[arg(value_name = "ENTRY")]
        entry: String,
        #[command(flatten)]
        session: SessionArg,
    },
}

#[derive(Args, Debug)]
pub(crate) struct SessionArg {
    /// The conversation
    #[arg(long = "session", value_name = "ID")]
    pub(crate) name: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_started_as_the_whole_parser_would_start_it() {
        let whole = |words: &[OsString]| Cli::try_parse_from(words).map(|cli| format!("{cli:?}"));
        let lines = [
            "readproof mcp",
            "readproof mcp --tools all --workspace w --set a=b",
            "readproof --workspace w --json mcp --tools=read --set a=b --set c=d",
            "readproof --workspace=w pi",
            "readproof read mcp",
            "readproof mcp --help",
            "readproof mcp extra",
            "readproof mcp --tool all",
            "readproof --workspace mcp",
            "readproof --help mcp",
            "readproof pi-session pi",
        ];
        for line in lines {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let parsed = Cli::parsed(&words).map(|cli| format!("{cli:?}"));
            match (whole(&words), parsed) {
                (Ok(whole), Ok(parsed)) => assert_eq!(parsed, whole, "{line}"),
                (Err(whole), Err(parsed)) => assert_eq!(parsed.to_string(), whole.to_string(), "{line}"),
                (whole, parsed) => panic!("{line}: {whole:?}, {parsed:?}"),
            }
        }
    }
}
