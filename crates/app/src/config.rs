//! Everything that can be set, from `readproof.toml`, the environment and flags, read here once and nowhere else.

use readproof_core::{
    limits::{Answers, Markers},
    path::Bearings,
};
use readproof_disk::{HardLinks, LocateError, Root, SnapshotRules, find_workspace, is_current_folder, is_program};
use readproof_engine::{Error, Handles, PiSources, SETTINGS_FILE as FILE, Settings};
use std::{
    env,
    path::{Path, PathBuf},
};

use crate::output::Failure;

const PREFIX: &str = "READPROOF_";

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Default,
    File,
    Environment,
    Flag,
}

impl Source {
    pub(crate) fn as_str(&self) -> &'static str {
        match self {
            Self::Default => "default",
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
}

impl Setting {
    pub(crate) fn value(&self, settings: &Settings) -> toml::Value {
        (self.show)(settings)
    }

    pub(crate) fn variable(&self) -> String {
        format!("{PREFIX}{}", self.key.to_uppercase())
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
        }
    };
}

/// Every setting, in the order `readproof config` lists them.
pub(crate) const SETTINGS: [Setting; 15] = [
    Setting {
        key: "answers",
        help: "which answers may be given: \"seed\" (same scope or whole file only) or \"held\" (spans add up, own writes count)",
        show: |s| toml::Value::String(s.answers.as_str().to_owned()),
        set: |s, v| {
            s.answers = Answers::parse(v.as_str()?)?;
            Some(())
        },
        expects: "\"seed\" or \"held\"",
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
    },
    number!("answer_lines", "the most lines one answer shows", limits.answer_lines, u32),
    number!("answer_bytes", "the most bytes one answer shows", limits.answer_bytes, u32),
    number!("window_lines", "the most lines the unified `read` shows when it is not told how many", window.lines, u32),
    number!("window_chars", "the most characters it shows then", window.chars, u32),
    number!("file_bytes", "the largest file that is read or written", file_bytes, u64),
    number!("diff_bytes", "no diff when a text is larger", limits.diff_bytes, u32),
    number!("diff_lines", "no diff when a text has more lines", limits.diff_lines, u32),
    Setting {
        key: "handles",
        help: "when MCP answers have handles that stand for them later: \"reported\" (where the host tells its context window), \"always\" or \"never\"",
        show: |s| toml::Value::String(s.handles.as_str().to_owned()),
        set: |s, v| {
            s.handles = Handles::parse(v.as_str()?)?;
            Some(())
        },
        expects: "\"reported\", \"always\" or \"never\"",
    },
    number!(
        "handle_bytes",
        "answers of more bytes have no handle, as a host may cut them (Codex cuts some at 10,000)",
        handle_bytes,
        u32
    ),
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
    },
    Setting {
        key: "sensitive",
        help: "names that are always plain and never stored (globs)",
        show: |s| words(&s.sensitive),
        set: |s, v| {
            s.sensitive = list(v)?;
            Some(())
        },
        expects: "a list of patterns, as in [\".env*\", \"*.pem\"]",
    },
    Setting {
        key: "pi_sessions",
        help: "session files of pi, or folders of them, whose texts `readproof gc` keeps beside those of this workspace",
        show: |s| words(&s.pi_sessions),
        set: |s, v| {
            s.pi_sessions = list(v)?;
            Some(())
        },
        expects: "a list of paths, as in [\"~/shared/session.jsonl\"]",
    },
    Setting {
        key: CODEX_HOME,
        help: "where Codex keeps its threads: their record says which calls are the model's own; not in readproof.toml",
        show: |s| toml::Value::String(s.codex_home.display().to_string()),
        set: |s, v| {
            s.codex_home = PathBuf::from(v.as_str()?);
            Some(())
        },
        expects: "a folder, as in \"/home/me/.codex\"",
    },
];

/// The one setting that a workspace may not have: it could name a record of its own making.
pub(crate) const CODEX_HOME: &str = "codex_home";

fn words(list: &[String]) -> toml::Value {
    toml::Value::Array(list.iter().cloned().map(toml::Value::String).collect())
}

/// A list, or one text with commas.
fn list(value: &toml::Value) -> Option<Vec<String>> {
    match value.as_str() {
        Some(text) => Some(text.split(',').map(|p| p.trim().to_owned()).filter(|p| !p.is_empty()).collect()),
        None => value.as_array()?.iter().map(|p| p.as_str().map(str::to_owned)).collect(),
    }
}

/// The settings in force and where each came from.
pub(crate) struct Config {
    pub(crate) root: Root,
    pub(crate) bearings: Bearings,
    pub(crate) settings: Settings,
    pub(crate) sources: Vec<Source>,
}

impl Config {
    /// Finds the workspace and reads its settings.
    pub(crate) fn load(workspace: Option<PathBuf>, overrides: &[String]) -> Result<Self, Failure> {
        let mut config = Self::bare(workspace)?;
        config.fill(overrides)?;
        Ok(config)
    }

    /// Finds the workspace; every setting has its default.
    pub(crate) fn bare(workspace: Option<PathBuf>) -> Result<Self, Failure> {
        let named = workspace.or_else(|| env::var_os(format!("{PREFIX}WORKSPACE")).map(PathBuf::from));
        let (cwd, root) = match named {
            // Then the current folder matters only to relative names.
            Some(path) if path.is_absolute() => (current_dir().unwrap_or_else(|_| path.clone()), Root::open(&path)),
            Some(path) => current_dir().map(|cwd| (cwd.clone(), Root::open(&cwd.join(path))))?,
            None => current_dir().map(|cwd| (cwd.clone(), Root::open(&find_workspace(&cwd))))?,
        };
        let root = root.map_err(Error::Root)?;
        let bearings = bearings(&root, &cwd)?;
        let settings = Settings { git_files: git_files(), codex_home: codex_home(), ..Settings::default() };
        Ok(Self { root, bearings, settings, sources: vec![Source::Default; SETTINGS.len()] })
    }

    /// Reads the settings: the file's, then the environment's, then those of this call.
    pub(crate) fn fill(&mut self, overrides: &[String]) -> Result<(), Failure> {
        self.read_file()?;
        for setting in &SETTINGS {
            if let Some(text) = env::var_os(setting.variable()) {
                let text =
                    text.to_str().ok_or_else(|| Failure::usage(format!("{} is not UTF-8", setting.variable())))?;
                self.set(setting.key, &value(text), Source::Environment, &setting.variable())?;
            }
        }
        for flag in overrides {
            let (key, text) = flag.split_once('=').ok_or_else(|| {
                Failure::usage(format!("--set {flag}: expected KEY=VALUE, as in --set answer_lines=500"))
            })?;
            self.set(key.trim(), &value(text.trim()), Source::Flag, &format!("--set {flag}"))?;
        }
        Ok(())
    }

    fn read_file(&mut self) -> Result<(), Failure> {
        let name = format!("{}/{FILE}", self.root.path().display());
        let file = match self.root.locate(&[name]) {
            Ok(file) => file,
            // A link that leads nowhere is there all the same, and what it should say may matter.
            Err(LocateError::Missing { .. }) if !self.root.list_names(".").iter().any(|name| name == FILE) => {
                return Ok(());
            }
            Err(error) => {
                let message = format!("the settings in {FILE} cannot be read: {error}");
                return Err(Failure::refused("BAD_SETTING", message));
            }
        };
        let rules = SnapshotRules { max_bytes: 1024 * 1024, hard_links: HardLinks::Allow };
        let snapshot = self.root.snapshot(&file, &rules).map_err(Error::Snapshot)?;
        let table: toml::Table = snapshot
            .text
            .as_str()
            .parse()
            .map_err(|error| Failure::refused("BAD_SETTING", format!("{FILE} is not valid TOML: {error}")))?;
        for (key, value) in &table {
            if key == CODEX_HOME {
                let message = format!("{FILE} may not set {key}; use {PREFIX}CODEX_HOME or --set {key}=FOLDER");
                return Err(Failure::refused("BAD_SETTING", message));
            }
            self.set(key, value, Source::File, FILE).map_err(|failure| Failure { usage: false, ..failure })?;
        }
        Ok(())
    }

    fn set(&mut self, key: &str, value: &toml::Value, source: Source, origin: &str) -> Result<(), Failure> {
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
        Ok(())
    }
}

/// TOML where it parses as such, else the words themselves, so that `answers=seed` needs no quotes.
fn value(text: &str) -> toml::Value {
    let parsed: Option<toml::Table> = format!("v = {text}").parse().ok();
    parsed.and_then(|mut table| table.remove("v")).unwrap_or_else(|| toml::Value::String(text.to_owned()))
}

/// The current folder under the name the shell has for it, so that names made from `$PWD` lead inside the workspace.
fn current_dir() -> Result<PathBuf, Failure> {
    if let Some(told) = env::var_os("PWD").map(PathBuf::from).filter(|told| is_current_folder(told)) {
        return Ok(told);
    }
    let wrong = |error| format!("the current folder cannot be used: {error}; cd to one that exists");
    env::current_dir().map_err(|error| Failure::refused("BAD_WORKSPACE", wrong(error)))
}

/// Relative names start here when here is inside the workspace, else at the workspace.
fn bearings(root: &Root, cwd: &Path) -> Result<Bearings, Failure> {
    let start = if root.holds(cwd) { cwd } else { root.path() };
    let cwd = start
        .to_str()
        .ok_or_else(|| Failure::refused("BAD_WORKSPACE", format!("{} is not UTF-8; rename it", start.display())))?;
    let home = env::var_os("HOME").and_then(|home| home.into_string().ok()).filter(|home| home.starts_with('/'));
    Ok(Bearings { cwd: cwd.to_owned(), home })
}

/// As Codex finds it; it does not tell its MCP servers.
fn codex_home() -> PathBuf {
    let told = env::var_os("CODEX_HOME").map(PathBuf::from).filter(|told| told.is_absolute());
    told.or_else(|| home().map(|home| home.join(".codex"))).unwrap_or_default()
}

fn home() -> Option<PathBuf> {
    env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute())
}

/// Where git keeps what it is told for all repositories.
fn git_files() -> Vec<PathBuf> {
    let told = env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|folder| folder.is_absolute());
    let config = told.or_else(|| home().map(|home| home.join(".config")));
    let own = [config.map(|config| config.join("git/config")), home().map(|home| home.join(".gitconfig"))];
    [PathBuf::from("/etc/gitconfig")].into_iter().chain(own.into_iter().flatten()).collect()
}

/// Where pi keeps its things.
fn pi_folder() -> Option<PathBuf> {
    let told = env::var_os("PI_CODING_AGENT_DIR").filter(|folder| !folder.is_empty());
    told.map(PathBuf::from).or_else(|| home().map(|home| home.join(".pi/agent")))
}

/// Hosts that may be installed, and the folder that shows it.
pub(crate) fn hosts() -> Vec<(&'static str, PathBuf)> {
    pi_folder().map(|folder| ("pi", folder)).into_iter().collect()
}

/// Where pi's session files are: its own folder, those of the settings, and those named in this call.
pub(crate) fn pi_sources(config: &Config, named: &[PathBuf]) -> PiSources {
    let told = env::var_os("PI_CODING_AGENT_SESSION_DIR").filter(|folder| !folder.is_empty());
    let folder = told.map(PathBuf::from).or_else(|| pi_folder().map(|folder| folder.join("sessions")));
    let absolute = |text: &String| match (text.strip_prefix("~/"), home()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => config.root.path().join(text),
    };
    let settings = config.settings.pi_sessions.iter().map(absolute);
    PiSources { named: settings.chain(named.iter().cloned()).collect(), folder }
}

/// What the settings of hosts depend on outside the workspace.
pub(crate) struct Surroundings {
    pub(crate) home: Option<PathBuf>,
    /// Where programs keep their settings.
    pub(crate) config: Option<PathBuf>,
    /// Codex's own folder, where it is told of one.
    pub(crate) codex: Option<PathBuf>,
    /// Claude Code's own folder, where it is told of one.
    pub(crate) claude: Option<PathBuf>,
    /// Whether the shell finds a `readproof`.
    pub(crate) on_path: bool,
    /// This program.
    pub(crate) program: Option<PathBuf>,
}

/// Looks at the environment for the settings of hosts.
pub(crate) fn surroundings() -> Surroundings {
    let folder = |name| env::var_os(name).map(PathBuf::from).filter(|folder| folder.is_absolute());
    let path = env::var_os("PATH").unwrap_or_default();
    Surroundings {
        home: home(),
        config: folder("XDG_CONFIG_HOME").or_else(|| home().map(|home| home.join(".config"))),
        codex: folder("CODEX_HOME"),
        claude: folder("CLAUDE_CONFIG_DIR"),
        on_path: env::split_paths(&path).any(|folder| folder.is_absolute() && is_program(&folder.join("readproof"))),
        program: env::current_exe().ok(),
    }
}

/// Where short-lived folders go.
pub(crate) fn temp_dir() -> PathBuf {
    env::temp_dir()
}
