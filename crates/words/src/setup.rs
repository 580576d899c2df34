//! What `init` and `doctor` say about hosts: what each gets from Readproof today, why a line in its settings is needed, and
//! what was found there. One table for both commands.
#![allow(missing_docs, reason = "the comment of a variant says what its fields are")]

/// What a host gets from Readproof today, and what it does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gets {
    /// What works there.
    pub has: &'static str,
    /// What does not, or not yet.
    pub lacks: &'static [&'static str],
}

const TOOLS: &str = "reads of 300 lines at a time, search, lists, outlines, and definitions by name";
const PLAIN: &str =
    "cheaper re-reads: nothing tells an MCP server what the model still sees, so every answer is plain text";

const UNTRIED: &str = "reads of 300 lines at a time, search, lists, outlines, and definitions by name, by the protocol (not tried in the program itself)";

/// Every host by its name on the command line.
const HOSTS: [(&str, Gets); 9] = [
    (
        "claude-code",
        Gets {
            has: "cheaper re-reads: Claude Code's own record of what it sent proves what the model sees, so an unchanged re-read costs one line",
            lacks: &[
                "search, lists, outlines and definitions by name: only its `Read` is answered; `readproof init claude-code-tools` adds them",
            ],
        },
    ),
    (
        "claude-code-tools",
        Gets {
            has: TOOLS,
            lacks: &[PLAIN, "`Edit` after such a read: Claude Code wants the file read by its own `Read` first"],
        },
    ),
    (
        "codex",
        Gets {
            has: "reads of 300 lines at a time, search, lists, outlines, definitions by name; in direct calls a re-read costs only what changed",
            lacks: &["cheaper re-reads in code mode, where scripts make the calls: there every answer is plain text"],
        },
    ),
    ("opencode", Gets { has: TOOLS, lacks: &[PLAIN] }),
    ("gemini", Gets { has: TOOLS, lacks: &[PLAIN] }),
    ("cursor", Gets { has: UNTRIED, lacks: &[PLAIN] }),
    ("vscode", Gets { has: UNTRIED, lacks: &[PLAIN] }),
    ("zed", Gets { has: UNTRIED, lacks: &[PLAIN] }),
    (
        "pi",
        Gets {
            has: "cheaper re-reads: pi's own session proves what the model still sees, so a re-read costs only what changed",
            lacks: &["search, lists, outlines and definitions by name: only pi's `read` is replaced"],
        },
    ),
];

/// What a host gets, by its name on the command line.
#[must_use]
pub fn gets(host: &str) -> Option<Gets> {
    HOSTS.iter().find(|(name, _)| *name == host).map(|(_, gets)| *gets)
}

impl Gets {
    /// As lines for people.
    #[must_use]
    pub fn lines(&self, host: &str) -> Vec<String> {
        let lacks = self.lacks.iter().map(|lacks| format!("it does not get {lacks}"));
        [format!("{host} gets {}", self.has)].into_iter().chain(lacks).collect()
    }
}

/// Why a host needs a line that lets it use the tools; `None` for hosts that need none.
#[must_use]
pub fn permission(host: &str) -> Option<&'static str> {
    match host {
        "claude-code-tools" => {
            Some("without it, Claude Code asks before it calls a tool, and headless it refuses every call")
        }
        "codex" => {
            Some("without it, most of Codex's models reach the tools only from scripts (code mode), or not at all")
        }
        "gemini" => Some("without it, Gemini CLI asks before it calls a tool, and headless it offers none"),
        _ => None,
    }
}

/// Why `init` did not write a line.
#[derive(Debug)]
pub enum LeftOut<'a> {
    /// The user did not agree.
    NotAgreed,
    /// The settings say the opposite: where, as in `permissions.deny`.
    Refused(&'a str),
}

/// A line that `init` left out, and how to add it. `command` is the call that adds it.
#[must_use]
pub fn left_out(file: &str, why: &LeftOut<'_>, command: &str) -> String {
    match why {
        LeftOut::NotAgreed => format!("left out: the line for {file}; to add it: {command}"),
        LeftOut::Refused(rule) => {
            format!("left out: the line for {file}, because {rule} says the opposite; change that first if you want it")
        }
    }
}

/// Why a package of a host cannot be installed by `init`.
#[derive(Debug)]
pub enum NoPackage<'a> {
    /// The package is not beside this program.
    NotFound { install: &'a str },
    /// The settings name another copy of it.
    Another { source: &'a str, remove: &'a str },
}

/// What a [`NoPackage`] is in words.
#[must_use]
pub fn no_package(why: &NoPackage<'_>) -> String {
    match why {
        NoPackage::NotFound { install } => format!(
            "the extension is not beside this program, so nothing is changed; in a clone of Readproof run: {install}"
        ),
        NoPackage::Another { source, remove } => {
            format!("it has another copy of the extension, `{source}`; remove that first: {remove}")
        }
    }
}

/// What `doctor` found about one host.
#[derive(Debug)]
pub enum Found {
    /// Neither its program nor its settings.
    Nothing,
    /// It is in use, but Readproof is not set up in it. The signs of its use.
    NotSetUp { signs: Vec<String> },
    /// A settings file that cannot be read or parsed.
    Unread { file: String, why: String },
    /// An entry that starts this program, and the file that permits its use, where one is needed.
    SetUp { file: String, permitted: Option<String> },
    /// An entry that starts another file.
    OtherProgram { file: String, program: String },
    /// An entry whose program does not exist.
    NoProgram { file: String, command: String },
    /// An entry that starts something else than the MCP server.
    OtherCommand { file: String },
    /// An entry that is switched off.
    Off { file: String },
    /// The line that lets the host use the tools is missing.
    NotPermitted { file: String, line: String },
    /// A setting forbids what that line would allow.
    Forbidden { file: String, rule: String },
    /// A package of this version.
    Package { file: String, folder: String },
    /// A package of another version.
    OtherVersion { folder: String, version: String, ours: &'static str },
    /// A package that does not exist.
    NoPackage { file: String, source: String },
    /// A package that the host itself fetches; its version is not known.
    Fetched { file: String, source: String },
    /// A package that finds no program to start.
    PackageAlone { folder: String },
}

/// What a [`Found`] is in words.
#[must_use]
pub fn found(host: &str, found: &Found) -> String {
    let says = match found {
        Found::Nothing => "not found".to_owned(),
        Found::NotSetUp { signs } => {
            format!("found ({}), not set up; `readproof init {host}` does that", signs.join(", "))
        }
        Found::Unread { file, why } => format!("{file} cannot be checked: {why}"),
        Found::SetUp { file, permitted: None } => format!("set up in {file}, starts this program"),
        Found::SetUp { file, permitted: Some(other) } if other == file => {
            format!("set up in {file}, starts this program; the tools may be used")
        }
        Found::SetUp { file, permitted: Some(other) } => {
            format!("set up in {file}, starts this program; the tools may be used ({other})")
        }
        Found::OtherProgram { file, program } => format!("{file} starts {program}, which is not this program"),
        Found::NoProgram { file, command } => format!("{file} starts `{command}`, which does not exist"),
        Found::OtherCommand { file } => format!("the entry in {file} does not start `readproof mcp`"),
        Found::Off { file } => format!("the entry in {file} is switched off"),
        Found::NotPermitted { file, line } => {
            let why = permission(host).map(|why| format!("; {why}")).unwrap_or_default();
            format!("{file} lacks {line}{why}")
        }
        Found::Forbidden { file, rule } => format!("{rule} in {file} keeps the tools from being used"),
        Found::Package { file, folder } => format!("set up in {file}, by the extension in {folder} of this version"),
        Found::OtherVersion { folder, version, ours } => {
            format!("the extension in {folder} has version {version}, this program {ours}")
        }
        Found::NoPackage { file, source } => format!("{file} names the extension `{source}`, which does not exist"),
        Found::Fetched { file, source } => format!("set up in {file}, by `{source}`, whose version is not checked"),
        Found::PackageAlone { folder } => {
            format!("the extension in {folder} finds no readproof beside it or on PATH, so the host's own read answers")
        }
    };
    format!("{host}: {says}")
}

/// What to do about a [`Found`]. `init` is the call that sets the host up.
#[must_use]
pub fn advice(found: &Found, init: &str) -> Option<String> {
    match found {
        Found::Nothing
        | Found::NotSetUp { .. }
        | Found::SetUp { .. }
        | Found::Package { .. }
        | Found::Fetched { .. } => None,
        Found::Unread { .. } => {
            Some("correct it; until then it is not known whether Readproof is set up there".to_owned())
        }
        Found::OtherProgram { .. } => {
            Some(format!("nothing, if that is intended; else run `{init}`, or look which readproof is first on PATH"))
        }
        Found::NoProgram { .. } | Found::OtherCommand { .. } => Some(format!("run `{init}`")),
        Found::Off { .. } => Some("switch it on there, if you want to use it".to_owned()),
        Found::NotPermitted { .. } => Some(format!("run `{init}`, which shows the line and asks")),
        Found::Forbidden { .. } => Some("nothing, if that is intended; else take it out there".to_owned()),
        Found::OtherVersion { .. } => Some("use both from one clone, or update the older one".to_owned()),
        Found::NoPackage { .. } => Some(format!("take it out there, then run `{init}`")),
        Found::PackageAlone { .. } => {
            Some("build it with `cargo build --release`, or put readproof on PATH".to_owned())
        }
    }
}
