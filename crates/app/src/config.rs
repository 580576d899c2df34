//! All settings: from the user's file, the workspace's `readproof.toml`, the environment and flags. They are read here once and
//! nowhere else. A workspace may come from a stranger, so its file can only narrow what the user allows.

mod narrow;
mod wall;

use readproof_core::{
    limits::{Answers, Markers},
    path::Bearings,
    policy::Preset,
    text::ContentHash,
};
use readproof_disk::{
    HardLinks, LocateError, NoWall, PolicySources, Root, Sensitive, SnapshotRules, find_workspace, is_current_folder,
    is_folder, is_program, user_id, user_name,
};
use readproof_engine::{
    Arguments, Auditing, CallLog, Error, Handles, HostTexts, Keeping, PiSources, SETTINGS_FILE as FILE, Settings,
    Walling, Whose,
};
use readproof_words::{Terms, disk::locate};
use std::{
    env,
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::output::Failure;
use narrow::Narrow;

pub(crate) use wall::Beyond;

/// The user's settings, relative to the user's configuration directory.
const USER_FILE: &str = "readproof/config.toml";

/// The table with the rules of access. It is looked at on every call, by whoever opens files.
const POLICY: &str = "policy";

const PREFIX: &str = "READPROOF_";

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Default,
    User,
    File,
    Environment,
    Flag,
}

impl Source {
    pub(crate) fn as_str(&self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::User => USER_FILE,
            Self::File => FILE,
            Self::Environment => "environment",
            Self::Flag => "--set",
        }
    }
}

/// One thing that can be set.
pub(crate) struct Setting {
    pub(crate) key: &'static str,
    pub(crate) help: &'static str,
    show: fn(&Settings) -> toml::Value,
    set: fn(&mut Settings, &toml::Value) -> Option<()>,
    expects: &'static str,
    /// Which values a workspace's file may set.
    narrow: Narrow,
}

impl Setting {
    pub(crate) fn value(&self, settings: &Settings) -> toml::Value {
        (self.show)(settings)
    }

    /// Whether a workspace's file may set it at all.
    pub(crate) fn is_for_workspaces(&self) -> bool {
        !matches!(self.narrow, Narrow::Never | Narrow::OwnFile)
    }

    /// The environment variable that sets it; `None` if only the user's own file can.
    pub(crate) fn variable(&self) -> Option<String> {
        let may = !matches!(self.narrow, Narrow::OwnFile);
        may.then(|| format!("{PREFIX}{}", self.key.to_uppercase()))
    }
}

macro_rules! number {
    ($key:literal, $help:literal, $($field:ident).+, $type:ty) => {
        Setting {
            key: $key,
            help: $help,
            show: |s| toml::Value::Integer(i64::try_from(s.$($field).+).unwrap_or(i64::MAX)),
            set: |s, v| {
                let number = v.as_integer().filter(|n| *n > 0)?;
                s.$($field).+ = <$type>::try_from(number).ok()?;
                Some(())
            },
            expects: "a whole number above 0",
            narrow: Narrow::Lower,
        }
    };
}

macro_rules! number_or_0 {
    ($key:literal, $help:literal, $field:ident, $type:ty, $narrow:expr) => {
        Setting {
            key: $key,
            help: $help,
            show: |s| toml::Value::Integer(i64::try_from(s.$field).unwrap_or(i64::MAX)),
            set: |s, v| {
                s.$field = <$type>::try_from(v.as_integer()?).ok()?;
                Some(())
            },
            expects: "a whole number, 0 or above",
            narrow: $narrow,
        }
    };
}

/// Every setting, in the order `readproof config` lists them.
pub(crate) const SETTINGS: [Setting; 38] = [
    Setting {
        key: "answers",
        help: "which answers may be given: \"seed\" (same scope or whole file only) or \"held\" (spans add up, the agent's writes count)",
        show: |s| toml::Value::String(s.answers.as_str().to_owned()),
        set: |s, v| {
            s.answers = Answers::parse(v.as_str()?)?;
            Some(())
        },
        expects: "\"seed\" or \"held\"",
        narrow: Narrow::Down(&["seed", "held"]),
    },
    Setting {
        key: "markers",
        help: "when a marker stands for text that the model holds: \"shorter\" (only where it is shorter) or \"always\"",
        show: |s| toml::Value::String(s.limits.markers.as_str().to_owned()),
        set: |s, v| {
            s.limits.markers = Markers::parse(v.as_str()?)?;
            Some(())
        },
        expects: "\"shorter\" or \"always\"",
        narrow: Narrow::Any,
    },
    number!("answer_lines", "the most lines one answer shows", limits.answer_lines, u32),
    number!("answer_bytes", "the most bytes one answer shows", limits.answer_bytes, u32),
    number!("window_lines", "the most lines the unified `read` shows without a `limit`", window.lines, u32),
    number!("window_chars", "the most characters the unified `read` shows without a `limit`", window.chars, u32),
    number!("file_bytes", "the largest file that is read or written", file_bytes, u64),
    number!(
        "write_bytes",
        "the most bytes that one call writes: the text it brings, or by how much files grow",
        writes.bytes,
        u64
    ),
    number!("write_files", "the most files that one call changes", writes.files, u64),
    number!("write_calls", "how many calls of one conversation may change files", writes.calls, u64),
    number!("diff_bytes", "texts with more bytes are not diffed", limits.diff_bytes, u32),
    number!("diff_lines", "texts with more lines are not diffed", limits.diff_lines, u32),
    Setting {
        key: "args",
        help: "which arguments MCP tools accept: \"loose\" (other names, a missing mode, line ranges wherever there are lines) or \"strict\" (only the documented table)",
        show: |s| toml::Value::String(s.args.as_str().to_owned()),
        set: |s, v| {
            s.args = Arguments::parse(v.as_str()?)?;
            Some(())
        },
        expects: "\"loose\" or \"strict\"",
        narrow: Narrow::Any,
    },
    Setting {
        key: "fences",
        help: "whether MCP tools put the text of a file between lines that no file can contain: \"never\" or \"always\"",
        show: |s| toml::Value::String(if s.fences.is_some() { "always" } else { "never" }.to_owned()),
        set: |s, v| {
            s.fences = match v.as_str()? {
                "always" => Some(some_secret()?),
                "never" => None,
                _ => return None,
            };
            Some(())
        },
        expects: "\"never\" or \"always\"",
        narrow: Narrow::Down(&["always", "never"]),
    },
    Setting {
        key: "handles",
        help: "when MCP answers get handles that can stand for them later: \"reported\" (if the host reports its context window), \"always\" or \"never\"",
        show: |s| toml::Value::String(s.handles.as_str().to_owned()),
        set: |s, v| {
            s.handles = Handles::parse(v.as_str()?)?;
            Some(())
        },
        expects: "\"reported\", \"always\" or \"never\"",
        narrow: Narrow::Down(&["never", "reported", "always"]),
    },
    number!(
        "handle_bytes",
        "answers with more bytes get no handle, as a host may cut them (Codex cuts some at 10,000)",
        handle_bytes,
        u32
    ),
    Setting {
        key: "history",
        help: "of which files earlier texts are kept, whoever changes them: \"all\" that nobody ignores, \"tracked\" by git, or \"off\" (only what readproof itself changes)",
        show: |s| toml::Value::String(s.history.as_str().to_owned()),
        set: |s, v| {
            s.history = Keeping::parse(v.as_str()?)?;
            Some(())
        },
        expects: "\"all\", \"tracked\" or \"off\"",
        narrow: Narrow::Down(&["off", "tracked", "all"]),
    },
    number_or_0!(
        "history_days",
        "how many days an earlier text is kept after no file has it any more, before `readproof gc` erases it; 0 keeps it",
        history_days,
        u32,
        Narrow::LowerUnless0
    ),
    number_or_0!(
        "history_bytes",
        "the most bytes of texts of versions, before compression, that `readproof gc` leaves; 0 leaves all",
        history_bytes,
        u64,
        Narrow::LowerUnless0
    ),
    number_or_0!(
        "pack_days",
        "after how many days `readproof gc` compresses texts that only earlier versions need; 0 is at once",
        pack_days,
        u32,
        Narrow::Any
    ),
    Setting {
        key: "call_log",
        help: "whether every call is logged, so that `readproof replay` can verify it later: true or false",
        show: |s| toml::Value::Boolean(s.call_log != CallLog::Off),
        set: |s, v| {
            let on = v.as_bool().or_else(|| v.as_str()?.parse().ok())?;
            s.call_log = if on { CallLog::AtOnce } else { CallLog::Off };
            Some(())
        },
        expects: "true or false",
        narrow: Narrow::On,
    },
    Setting {
        key: "tell",
        help: "whether an answer over MCP also tells what others changed of the files that the conversation was shown, as a diff",
        show: |s| toml::Value::Boolean(s.tell),
        set: |s, v| {
            s.tell = v.as_bool()?;
            Some(())
        },
        expects: "true or false",
        narrow: Narrow::Any,
    },
    Setting {
        key: "watch",
        help: "whether a server meets what other programs change while they do, instead of at the next question: true or false",
        show: |s| toml::Value::Boolean(s.watch),
        set: |s, v| {
            s.watch = v.as_bool().or_else(|| v.as_str()?.parse().ok())?;
            Some(())
        },
        expects: "true or false",
        narrow: Narrow::Off,
    },
    Setting {
        key: "hard_links",
        help: "whether files with several hard links are read: \"allow\" or \"refuse\"",
        show: |s| {
            let word = match s.hard_links {
                HardLinks::Allow => "allow",
                HardLinks::Refuse => "refuse",
            };
            toml::Value::String(word.to_owned())
        },
        set: |s, v| {
            s.hard_links = match v.as_str()? {
                "allow" => HardLinks::Allow,
                "refuse" => HardLinks::Refuse,
                _ => return None,
            };
            Some(())
        },
        expects: "\"allow\" or \"refuse\"",
        narrow: Narrow::Down(&["refuse", "allow"]),
    },
    Setting {
        key: "sensitive",
        help: "files that are always sent as plain text and never stored (globs, with exceptions after \" !\"); readproof.toml can only add to them",
        show: |s| words(&s.sensitive),
        set: |s, v| {
            s.sensitive = list(v)?;
            Some(())
        },
        expects: "a list of patterns, as in [\".env*\", \"*.pem\"]",
        narrow: Narrow::Adds,
    },
    Setting {
        key: "policy_preset",
        help: "what is asked or denied before any rule: \"open\", \"standard\" (deletions, changes of sensitive and policy files ask), \"careful\" (reads of sensitive files ask too) or \"locked\" (nothing changes); rules stand in [policy], see docs/policy.md; not settable in readproof.toml, where `[policy] preset` can only add",
        show: |s| toml::Value::String(s.policy.preset.map_or("", Preset::as_str).to_owned()),
        set: |s, v| {
            s.policy.preset = match v.as_str()? {
                "" => None,
                word => Some(Preset::parse(word)?),
            };
            Some(())
        },
        expects: "\"open\", \"standard\", \"careful\" or \"locked\"",
        narrow: Narrow::Never,
    },
    Setting {
        key: "wall",
        help: "what keeps this program from opening files outside the workspace, beside its own checks: \"none\", or \"landlock\" (the Linux kernel; see docs/policy.md)",
        show: |s| toml::Value::String(s.wall.as_str().to_owned()),
        set: |s, v| {
            s.wall = Walling::parse(v.as_str()?)?;
            Some(())
        },
        expects: "\"none\" or \"landlock\"",
        narrow: Narrow::Down(&["landlock", "none"]),
    },
    Setting {
        key: "write_roots",
        help: "folders outside the workspace in which files may be changed after a person agreed to each change; only settable in your own readproof/config.toml",
        show: |s| words(&s.write_roots),
        set: |s, v| {
            s.write_roots = list(v)?;
            Some(())
        },
        expects: "a list of folders, as in [\"~/notes\"]",
        narrow: Narrow::OwnFile,
    },
    Setting {
        key: "pi_sessions",
        help: "session files of pi, or folders of them, whose texts `readproof gc` keeps, besides the sessions of this workspace",
        show: |s| words(&s.pi_sessions),
        set: |s, v| {
            s.pi_sessions = list(v)?;
            Some(())
        },
        expects: "a list of paths, as in [\"~/shared/session.jsonl\"]",
        narrow: Narrow::Inside,
    },
    Setting {
        key: "review_command",
        help: "a program and its arguments that propose a text for a conflict: it gets the conflict as JSON on standard input and prints the text; not settable in readproof.toml",
        show: |s| words(&s.review_command),
        set: |s, v| {
            s.review_command = list(v)?;
            Some(())
        },
        expects: "a list of words, as in [\"my-review\", \"--json\"]",
        narrow: Narrow::Never,
    },
    number!(
        "approval_minutes",
        "how long a call waits for a person's approval, and how long an approval of one call can be used",
        approval_minutes,
        u32
    ),
    Setting {
        key: "approver_key",
        help: "the SHA-256, in hex, of a key with which `readproof approvals` decides without a terminal; only settable in your own readproof/config.toml",
        show: |s| toml::Value::String(s.approver_key.map(|hash| hash.to_string()).unwrap_or_default()),
        set: |s, v| {
            let text = v.as_str()?;
            s.approver_key = if text.is_empty() { None } else { Some(ContentHash::parse(text)?) };
            Some(())
        },
        expects: "64 hex digits, as `printf %s KEY | sha256sum` prints them",
        narrow: Narrow::OwnFile,
    },
    Setting {
        key: "audit",
        help: "whether every call leaves a line in the audit log: \"off\" or \"on\"; see docs/audit.md",
        show: |s| toml::Value::String(s.audit.as_str().to_owned()),
        set: |s, v| {
            s.audit = Auditing::parse(v.as_str()?)?;
            Some(())
        },
        expects: "\"off\" or \"on\"",
        narrow: Narrow::Down(&["on", "off"]),
    },
    Setting {
        key: "audit_texts",
        help: "whether the text that a call returned is kept beside the audit log, so that `readproof audit prove` can show it: true or false",
        show: |s| toml::Value::Boolean(s.audit_texts),
        set: |s, v| {
            s.audit_texts = v.as_bool().or_else(|| v.as_str()?.parse().ok())?;
            Some(())
        },
        expects: "true or false",
        narrow: Narrow::OffUnlessOwn,
    },
    Setting {
        key: "audit_copy",
        help: "a file outside the workspace to which each signed checkpoint of the audit log is copied; not settable in readproof.toml",
        show: |s| toml::Value::String(s.audit_copy.clone()),
        set: |s, v| {
            s.audit_copy = v.as_str().filter(|path| path.is_empty() || Path::new(path).is_absolute())?.to_owned();
            Some(())
        },
        expects: "an absolute path, as in \"/mnt/backup/checkpoint\"",
        narrow: Narrow::Never,
    },
    Setting {
        key: "audit_witness",
        help: "a program and its arguments that get each signed checkpoint of the audit log on standard input; not settable in readproof.toml",
        show: |s| words(&s.audit_witness),
        set: |s, v| {
            s.audit_witness = list(v)?;
            Some(())
        },
        expects: "a list of words, as in [\"my-witness\", \"--add\"]",
        narrow: Narrow::Never,
    },
    Setting {
        key: "codex_home",
        help: "where Codex keeps its threads, whose records say which calls the model itself made; not settable in readproof.toml",
        show: |s| toml::Value::String(s.codex_home.display().to_string()),
        set: |s, v| {
            s.codex_home = PathBuf::from(v.as_str()?);
            Some(())
        },
        expects: "a folder, as in \"/home/me/.codex\"",
        narrow: Narrow::Never,
    },
    Setting {
        key: "state_dir",
        help: "where the id that marks this user's stores is kept, outside every workspace; not settable in readproof.toml",
        show: |s| match &s.whose {
            Whose::Kept(folders) => {
                toml::Value::String(folders.first().map(|f| f.display().to_string()).unwrap_or_default())
            }
            Whose::Anyones => toml::Value::String(String::new()),
        },
        set: |s, v| {
            s.whose = Whose::Kept(vec![PathBuf::from(v.as_str()?)]);
            Some(())
        },
        expects: "a folder, as in \"/home/me/.local/state/readproof\"",
        narrow: Narrow::Never,
    },
];

/// A secret for as long as this process runs.
fn some_secret() -> Option<String> {
    getrandom::u64().ok().zip(getrandom::u64().ok()).map(|(one, two)| format!("{one:016x}{two:016x}"))
}

fn words(list: &[String]) -> toml::Value {
    toml::Value::Array(list.iter().cloned().map(toml::Value::String).collect())
}

/// A list, or a text with commas.
fn list(value: &toml::Value) -> Option<Vec<String>> {
    match value.as_str() {
        Some(text) => Some(text.split(',').map(|p| p.trim().to_owned()).filter(|p| !p.is_empty()).collect()),
        None => value.as_array()?.iter().map(|p| p.as_str().map(str::to_owned)).collect(),
    }
}

/// The workspace, the settings in force, and where each came from.
pub(crate) struct Config {
    pub(crate) root: Root,
    pub(crate) bearings: Bearings,
    pub(crate) settings: Settings,
    pub(crate) sources: Vec<Source>,
    /// Notices about settings: what the workspace's file may not set, or why all of it is ignored.
    pub(crate) notices: Vec<String>,
    /// What came of the wall; `None` if none is asked for, or not yet.
    pub(crate) wall: Option<Result<(), NoWall>>,
}

impl Config {
    /// Finds the workspace and reads its settings. If they ask for a wall, it is raised: from then on nothing else can be opened.
    pub(crate) fn load(workspace: Option<PathBuf>, overrides: &[String]) -> Result<Self, Failure> {
        Self::load_with(workspace, overrides, Beyond::Nothing)
    }

    /// The same, with what the command can open beyond that.
    pub(crate) fn load_with(
        workspace: Option<PathBuf>,
        overrides: &[String],
        beyond: Beyond<'_>,
    ) -> Result<Self, Failure> {
        let mut config = Self::bare(workspace)?;
        config.fill(overrides)?;
        config.walled(beyond)
    }

    /// Reads the settings for a server, and raises no wall. An invalid `readproof.toml` must not keep it from serving: it is then
    /// ignored as a whole, with a notice.
    pub(crate) fn load_to_serve(workspace: Option<PathBuf>, overrides: &[String]) -> Result<Self, Failure> {
        let mut config = Self::bare(workspace)?;
        config.read_user_file()?;
        let before = (config.settings.clone(), config.sources.clone());
        if let Err(failure) = config.read_file() {
            (config.settings, config.sources) = before;
            config.notices = vec![format!("nothing in {FILE} is taken until it is put right: {}", failure.message)];
        }
        config.override_with(overrides)?;
        config.settings.notices.clone_from(&config.notices);
        Ok(config)
    }

    /// Finds the workspace; every setting has its default.
    pub(crate) fn bare(workspace: Option<PathBuf>) -> Result<Self, Failure> {
        let named = workspace.or_else(workspace_variable);
        let (cwd, root) = match named {
            // The current directory then matters only for relative paths.
            Some(path) if path.is_absolute() => (current_dir().unwrap_or_else(|_| path.clone()), Root::open(&path)),
            Some(path) => current_dir().map(|cwd| (cwd.clone(), Root::open(&cwd.join(path))))?,
            None => current_dir().map(|cwd| (cwd.clone(), Root::open(&find_workspace(&cwd))))?,
        };
        let root = root.map_err(Error::Root)?;
        let bearings = bearings(&root, &cwd)?;
        let whose = Whose::Kept(state_folders());
        let user_file = config_home().map(|folder| folder.join(USER_FILE));
        let policy = PolicySources { user_file, home: home(), ..PolicySources::default() };
        let settings = Settings {
            git_files: git_files(),
            codex_home: codex_home(),
            user: Some(user_name()),
            whose,
            policy,
            ..Settings::default()
        };
        Ok(Self {
            root,
            bearings,
            settings,
            sources: vec![Source::Default; SETTINGS.len()],
            notices: Vec::new(),
            wall: None,
        })
    }

    /// Reads the settings in this order: the user's file, the workspace's file, the environment, the flags of this call.
    pub(crate) fn fill(&mut self, overrides: &[String]) -> Result<(), Failure> {
        self.read_user_file()?;
        self.read_file()?;
        self.override_with(overrides)
    }

    fn override_with(&mut self, overrides: &[String]) -> Result<(), Failure> {
        for setting in &SETTINGS {
            let Some(variable) = setting.variable() else { continue };
            if let Some(text) = env::var_os(&variable) {
                let text = text.to_str().ok_or_else(|| Failure::usage(format!("{variable} is not UTF-8")))?;
                self.set(setting.key, &value(text), Source::Environment, &variable)?;
            }
        }
        for flag in overrides {
            let (key, text) = flag.split_once('=').ok_or_else(|| {
                Failure::usage(format!("--set {flag}: expected KEY=VALUE, as in --set answer_lines=500"))
            })?;
            let key = key.trim();
            if SETTINGS.iter().any(|setting| setting.key == key && setting.variable().is_none()) {
                let message = format!("--set {key}: only {USER_FILE} of your own can set that");
                return Err(Failure::usage(message));
            }
            self.set(key, &value(text.trim()), Source::Flag, &format!("--set {flag}"))?;
        }
        Ok(())
    }

    /// Reads the user's file, which may set anything. A file inside the workspace does not count as the user's.
    fn read_user_file(&mut self) -> Result<(), Failure> {
        let Some(folder) = config_home() else { return Ok(()) };
        let path = folder.join(USER_FILE);
        let Some(parent) = path.parent().filter(|parent| is_folder(parent)) else { return Ok(()) };
        let root = Root::open(parent).map_err(Error::Root)?;
        if self.root.holds(root.path()) {
            return Ok(());
        }
        for (key, value) in table(&root, "config.toml", USER_FILE)?.iter().flatten().filter(|(key, _)| *key != POLICY) {
            self.set(key, value, Source::User, USER_FILE).map_err(|failure| Failure { usage: false, ..failure })?;
        }
        Ok(())
    }

    /// Reads the workspace's file, as far as it narrows the settings in force.
    fn read_file(&mut self) -> Result<(), Failure> {
        let Some(read) = table(&self.root, FILE, FILE)? else { return Ok(()) };
        for (key, value) in read.iter().filter(|(key, _)| *key != POLICY) {
            let (before, sources) = (self.settings.clone(), self.sources.clone());
            let at = self.set(key, value, Source::File, FILE).map_err(|failure| Failure { usage: false, ..failure })?;
            let setting = &SETTINGS[at];
            let now = (setting.value(&before), sources[at] == Source::User);
            let (taken, told) = setting.narrow.of(&self.root, now, setting.value(&self.settings));
            self.settings = before;
            match taken {
                Some(taken) => (setting.set)(&mut self.settings, &taken).unwrap_or_default(),
                None => self.sources = sources,
            }
            if let Some(what) = told {
                let more = setting.variable().map(|variable| format!(", {variable} or --set")).unwrap_or_default();
                let places = format!("{USER_FILE} of your own{more}");
                self.notices.push(format!("{FILE} may only narrow: {key} = {what} is not taken; set it in {places}"));
            }
        }
        // Malformed patterns are reported as an error in the file.
        Sensitive::new(&self.settings.sensitive).map_err(Error::from)?;
        Ok(())
    }

    fn set(&mut self, key: &str, value: &toml::Value, source: Source, origin: &str) -> Result<usize, Failure> {
        let Some(at) = SETTINGS.iter().position(|setting| setting.key == key) else {
            let known: Vec<&str> = SETTINGS.iter().map(|setting| setting.key).collect();
            return Err(Failure::usage(format!(
                "{origin}: there is no setting `{key}`; there are {}",
                known.join(", ")
            )));
        };
        let setting = &SETTINGS[at];
        (setting.set)(&mut self.settings, value).ok_or_else(|| {
            Failure::usage(format!("{origin}: {key} = {value} will not do; expected {}", setting.expects))
        })?;
        self.sources[at] = source;
        Ok(at)
    }
}

/// The largest settings file, in bytes.
const SETTINGS_BYTES: u64 = 128 << 10;

/// The content of a settings file; `None` if there is none.
fn table(root: &Root, name: &str, shown: &str) -> Result<Option<toml::Table>, Failure> {
    let file = match root.locate(&[root.absolute(name)]) {
        Ok(file) => file,
        // A dangling link is an error: its settings may matter.
        Err(LocateError::Missing { .. }) if root.glance(name).is_none() => return Ok(None),
        Err(error) => {
            let message = format!("the settings in {shown} cannot be read: {}", locate(Terms::PLAIN, &error));
            return Err(Failure::refused("BAD_SETTING", message));
        }
    };
    let rules = SnapshotRules { max_bytes: SETTINGS_BYTES, hard_links: HardLinks::Allow };
    let snapshot = root.snapshot(&file, &rules).map_err(Error::Snapshot)?;
    let wrong = |error| Failure::refused("BAD_SETTING", format!("{shown} is not valid TOML: {error}"));
    snapshot.text.as_str().parse().map(Some).map_err(wrong)
}

/// A TOML value if the text parses as one, else the text itself, so that `answers=seed` needs no quotes.
fn value(text: &str) -> toml::Value {
    let parsed: Option<toml::Table> = format!("v = {text}").parse().ok();
    parsed.and_then(|mut table| table.remove("v")).unwrap_or_else(|| toml::Value::String(text.to_owned()))
}

/// Whether the environment has the approver's key. It is compared by its hash, which only the user's own file can set.
pub(crate) fn has_approver_key(settings: &Settings) -> bool {
    let key = env::var(format!("{PREFIX}APPROVER_KEY")).unwrap_or_default();
    let key = key.trim();
    !key.is_empty() && settings.approver_key == Some(ContentHash::of(key.as_bytes()))
}

fn workspace_variable() -> Option<PathBuf> {
    env::var_os(format!("{PREFIX}WORKSPACE")).map(PathBuf::from)
}

/// Whether the user names the workspace, by a flag or in the environment.
pub(crate) fn names_workspace(flag: Option<&Path>) -> bool {
    flag.is_some() || workspace_variable().is_some()
}

/// Whether the current directory is a folder or lies in it.
pub(crate) fn started_in(folder: &Root) -> bool {
    current_dir().is_ok_and(|cwd| folder.leads_inside(&cwd))
}

/// The current directory by the name that the shell uses, so that paths made from `$PWD` are inside the workspace.
fn current_dir() -> Result<PathBuf, Failure> {
    if let Some(told) = env::var_os("PWD").map(PathBuf::from).filter(|told| is_current_folder(told)) {
        return Ok(told);
    }
    let wrong = |error| format!("the current folder cannot be used: {error}; cd to one that exists");
    env::current_dir().map_err(|error| Failure::refused("BAD_WORKSPACE", wrong(error)))
}

/// Relative paths start at the current directory if it is inside the workspace, else at the workspace root.
fn bearings(root: &Root, cwd: &Path) -> Result<Bearings, Failure> {
    let start = if root.holds(cwd) { cwd } else { root.path() };
    let cwd = start
        .to_str()
        .ok_or_else(|| Failure::refused("BAD_WORKSPACE", format!("{} is not UTF-8; rename it", start.display())))?;
    let home = env::var_os("HOME").and_then(|home| home.into_string().ok()).filter(|home| home.starts_with('/'));
    Ok(Bearings { cwd: cwd.to_owned(), home })
}

/// Found as Codex finds it, because Codex does not tell its MCP servers.
fn codex_home() -> PathBuf {
    let told = env::var_os("CODEX_HOME").map(PathBuf::from).filter(|told| told.is_absolute());
    told.or_else(|| home().map(|home| home.join(".codex"))).unwrap_or_default()
}

fn home() -> Option<PathBuf> {
    env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute())
}

/// The folder that an environment variable names; relative ones are ignored.
fn folder(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).map(PathBuf::from).filter(|folder| folder.is_absolute())
}

/// The user's configuration directory.
fn config_home() -> Option<PathBuf> {
    folder("XDG_CONFIG_HOME").or_else(|| home().map(|home| home.join(".config")))
}

/// Where the id of this user may be kept, best first: folders that survive a restart of the machine come before others.
fn state_folders() -> Vec<PathBuf> {
    let state = folder("XDG_STATE_HOME").or_else(|| home().map(|home| home.join(".local/state")));
    let lasting = [state, folder("XDG_RUNTIME_DIR")].into_iter().flatten().map(|folder| folder.join("readproof"));
    lasting.chain([env::temp_dir().join(format!("readproof-{}", user_id()))]).collect()
}

/// Git's configuration files that apply to all repositories.
fn git_files() -> Vec<PathBuf> {
    let own = [config_home().map(|config| config.join("git/config")), home().map(|home| home.join(".gitconfig"))];
    [PathBuf::from("/etc/gitconfig")].into_iter().chain(own.into_iter().flatten()).collect()
}

/// pi's folder.
fn pi_folder() -> Option<PathBuf> {
    let told = env::var_os("PI_CODING_AGENT_DIR").filter(|folder| !folder.is_empty());
    told.map(PathBuf::from).or_else(|| home().map(|home| home.join(".pi/agent")))
}

/// The hosts that keep texts in a workspace.
pub(crate) const HOSTS_WITH_TEXTS: [&str; 1] = ["pi"];

/// The texts that hosts keep in the workspace.
pub(crate) fn host_texts(config: &Config, named: &[PathBuf]) -> Vec<Arc<dyn HostTexts>> {
    let (named, folder) = pi_session_places(config, named);
    vec![Arc::new(PiSources { named, folder })]
}

/// Where pi keeps its session files.
pub(crate) fn pi_sessions_folder() -> Option<PathBuf> {
    let told = env::var_os("PI_CODING_AGENT_SESSION_DIR").filter(|folder| !folder.is_empty());
    told.map(PathBuf::from).or_else(|| pi_folder().map(|folder| folder.join("sessions")))
}

/// pi's session files, or folders of them: those named in the settings and in this call; and pi's own folder.
fn pi_session_places(config: &Config, named: &[PathBuf]) -> (Vec<PathBuf>, Option<PathBuf>) {
    let folder = pi_sessions_folder();
    let absolute = |text: &String| match (text.strip_prefix("~/"), home()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => config.root.path().join(text),
    };
    let settings = config.settings.pi_sessions.iter().map(absolute);
    (settings.chain(named.iter().cloned()).collect(), folder)
}

/// What the location of hosts' settings depends on, outside the workspace.
pub(crate) struct HostEnvironment {
    pub(crate) home: Option<PathBuf>,
    /// The user's configuration directory.
    pub(crate) config: Option<PathBuf>,
    /// Codex's folder, if the environment names one.
    pub(crate) codex: Option<PathBuf>,
    /// Claude Code's folder, if the environment names one.
    pub(crate) claude: Option<PathBuf>,
    /// pi's folder.
    pub(crate) pi: Option<PathBuf>,
    /// The program that pi's extension is told to start, if the environment names one.
    pub(crate) pi_program: Option<PathBuf>,
    /// The folders of `PATH`, without relative ones.
    path: Vec<PathBuf>,
    /// This program.
    pub(crate) program: Option<PathBuf>,
}

impl HostEnvironment {
    /// The program that `PATH` has under a name.
    pub(crate) fn on_path(&self, name: &str) -> Option<PathBuf> {
        self.path.iter().map(|folder| folder.join(name)).find(|path| is_program(path))
    }
}

pub(crate) fn host_environment() -> HostEnvironment {
    let path = env::var_os("PATH").unwrap_or_default();
    let path = env::split_paths(&path).filter(|folder| folder.is_absolute()).collect();
    HostEnvironment {
        home: home(),
        config: config_home(),
        codex: folder("CODEX_HOME"),
        claude: folder("CLAUDE_CONFIG_DIR"),
        pi: pi_folder().filter(|folder| folder.is_absolute()),
        pi_program: folder("READPROOF_BIN"),
        path,
        program: env::current_exe().ok(),
    }
}

pub(crate) fn temp_dir() -> PathBuf {
    env::temp_dir()
}
