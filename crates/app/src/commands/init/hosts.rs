//! Facts about each host: where its settings are, what an entry looks like there, what shows that the host is in use. Opens
//! no file.

use serde_json::{Value, json};
use std::path::{Path, PathBuf};

use super::{
    entry::{EditError, Entry, Existing, NAME},
    jsonc,
    permit::Permit,
    toml_text,
};
use crate::{
    cli::{Host, Scope},
    config::HostEnvironment,
};

/// In the order in which they are listed.
pub(crate) const ALL: [Host; 9] = [
    Host::ClaudeCode,
    Host::ClaudeCodeTools,
    Host::Codex,
    Host::Opencode,
    Host::Gemini,
    Host::Cursor,
    Host::Vscode,
    Host::Zed,
    Host::Pi,
];

impl Host {
    /// As typed on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::ClaudeCodeTools => "claude-code-tools",
            Self::Codex => "codex",
            Self::Opencode => "opencode",
            Self::Gemini => "gemini",
            Self::Cursor => "cursor",
            Self::Vscode => "vscode",
            Self::Zed => "zed",
            Self::Pi => "pi",
        }
    }

    /// The names of its program.
    pub(crate) fn programs(self) -> &'static [&'static str] {
        match self {
            Self::ClaudeCode | Self::ClaudeCodeTools => &["claude"],
            Self::Codex => &["codex"],
            Self::Opencode => &["opencode"],
            Self::Gemini => &["gemini"],
            Self::Cursor => &["cursor", "cursor-agent"],
            Self::Vscode => &["code"],
            Self::Zed => &["zed", "zeditor"],
            Self::Pi => &["pi"],
        }
    }

    /// Whether it loads a package of ours instead of starting an MCP server.
    pub(crate) fn has_package(self) -> bool {
        self == Self::Pi
    }

    /// Whether it loads a plugin of ours.
    pub(crate) fn has_plugin(self) -> bool {
        self == Self::ClaudeCode
    }

    /// Whose settings are written unless the user says. A package lies in one place of this machine, and its path means nothing
    /// to others who share the project.
    pub(crate) fn usual_scope(self) -> Scope {
        if self.has_package() || self.has_plugin() { Scope::User } else { Scope::Project }
    }

    /// The call that sets the host up in this scope.
    pub(crate) fn init(self, scope: Scope) -> String {
        let scope = if scope == self.usual_scope() { String::new() } else { format!(" --scope {}", scope.as_str()) };
        format!("readproof init {}{scope}", self.name())
    }

    /// The files that may hold the entry: the first that exists counts, else the last. `None` if their folder is not known.
    pub(crate) fn files(self, scope: Scope, workspace: &Path, around: &HostEnvironment) -> Option<Vec<PathBuf>> {
        let folder = match scope {
            Scope::Project => Some(workspace.join(self.project_folder())),
            Scope::User => self.user_folder(around),
        };
        if self.has_plugin() {
            // The path of a folder of this machine means nothing to others who share the project.
            return self.permit_files(scope, workspace, around).map(|files| files.into_iter().take(1).collect());
        }
        let names: &[&str] = match (self, scope) {
            (Self::ClaudeCode, _) => &[],
            (Self::ClaudeCodeTools, Scope::Project) => &[".mcp.json"],
            (Self::ClaudeCodeTools, Scope::User) => &[".claude.json"],
            (Self::Codex, _) => &["config.toml"],
            (Self::Opencode, _) => &["opencode.jsonc", "opencode.json"],
            (Self::Gemini | Self::Zed | Self::Pi, _) => &["settings.json"],
            (Self::Cursor | Self::Vscode, _) => &["mcp.json"],
        };
        folder.map(|folder| names.iter().map(|name| folder.join(name)).collect())
    }

    fn project_folder(self) -> &'static str {
        match self {
            Self::ClaudeCode | Self::ClaudeCodeTools | Self::Opencode => "",
            Self::Codex => ".codex",
            Self::Gemini => ".gemini",
            Self::Cursor => ".cursor",
            Self::Vscode => ".vscode",
            Self::Zed => ".zed",
            Self::Pi => ".pi",
        }
    }

    fn user_folder(self, around: &HostEnvironment) -> Option<PathBuf> {
        let home = |name: &str| around.home.as_ref().map(|home| home.join(name));
        let config = |name: &str| around.config.as_ref().map(|config| config.join(name));
        match self {
            // In the home directory, beside `.claude`, unless the environment names another folder.
            Self::ClaudeCode | Self::ClaudeCodeTools => around.claude.clone().or_else(|| around.home.clone()),
            Self::Codex => around.codex.clone().or_else(|| home(".codex")),
            Self::Opencode => config("opencode"),
            Self::Gemini => home(".gemini"),
            Self::Cursor => home(".cursor"),
            Self::Vscode if cfg!(target_os = "macos") => home("Library/Application Support/Code/User"),
            Self::Vscode => config("Code/User"),
            Self::Zed => config("zed"),
            Self::Pi => around.pi.clone(),
        }
    }

    /// Names in a workspace that show that the host is used there.
    pub(crate) fn project_signs(self) -> &'static [&'static str] {
        match self {
            Self::ClaudeCode | Self::ClaudeCodeTools => &[".mcp.json", ".claude", "CLAUDE.md"],
            Self::Codex => &[".codex"],
            Self::Opencode => &["opencode.json", "opencode.jsonc", ".opencode"],
            Self::Gemini => &[".gemini", "GEMINI.md"],
            Self::Cursor => &[".cursor"],
            Self::Vscode => &[".vscode"],
            Self::Zed => &[".zed"],
            Self::Pi => &[".pi"],
        }
    }

    /// The folder that shows that the user has the host.
    pub(crate) fn user_sign(self, around: &HostEnvironment) -> Option<PathBuf> {
        match self {
            Self::ClaudeCode | Self::ClaudeCodeTools => claude_folder(around),
            Self::Codex | Self::Opencode | Self::Gemini | Self::Cursor | Self::Vscode | Self::Zed | Self::Pi => {
                self.user_folder(around)
            }
        }
    }

    /// What the user must know about an entry there.
    pub(crate) fn note(self, scope: Scope) -> Option<&'static str> {
        match (self, scope) {
            (Self::ClaudeCode, _) => Some("the plugin starts `readproof`, which must be on the PATH"),
            (Self::ClaudeCodeTools, Scope::Project) => {
                Some("Claude Code asks once whether this project's servers may run")
            }
            (Self::Codex, Scope::Project) => Some("Codex reads this file only in projects that it was told to trust"),
            (Self::Gemini, Scope::Project) => Some(
                "Gemini CLI reads this file only when it is started in this folder; --scope user works in every folder",
            ),
            (Self::Zed, Scope::Project) => Some("Zed starts this project's servers once its worktree is trusted"),
            (Self::Pi, Scope::Project) => Some("pi loads this project's packages once the project is trusted"),
            (Self::ClaudeCodeTools | Self::Codex | Self::Zed | Self::Pi, Scope::User)
            | (Self::Gemini, Scope::User)
            | (Self::Opencode | Self::Cursor | Self::Vscode, _) => None,
        }
    }

    /// The line that lets the host's model use the tools; `None` where none is needed.
    pub(crate) fn permit(self) -> Option<Permit> {
        match self {
            Self::ClaudeCodeTools => Some(Permit::claude_code()),
            Self::Codex => Some(Permit::codex()),
            Self::Gemini => Some(Permit::gemini()),
            Self::ClaudeCode | Self::Opencode | Self::Cursor | Self::Vscode | Self::Zed | Self::Pi => None,
        }
    }

    /// The files that the host reads that line from, the one that `init` writes first.
    pub(crate) fn permit_files(self, scope: Scope, workspace: &Path, around: &HostEnvironment) -> Option<Vec<PathBuf>> {
        match (self, scope) {
            // The file without `local` belongs to everyone who works on the project.
            (Self::ClaudeCode | Self::ClaudeCodeTools, Scope::Project) => {
                let folder = workspace.join(".claude");
                Some(vec![folder.join("settings.local.json"), folder.join("settings.json")])
            }
            (Self::ClaudeCode | Self::ClaudeCodeTools, Scope::User) => {
                Some(vec![claude_folder(around)?.join("settings.json")])
            }
            _ => self.files(scope, workspace, around),
        }
    }

    /// What the user must know about that line.
    pub(crate) fn permit_note(self, scope: Scope) -> Option<&'static str> {
        match (self, scope) {
            (Self::ClaudeCodeTools, Scope::Project) => Some("this file is yours alone, so keep it out of git"),
            _ => None,
        }
    }

    /// The entry for a settings file. `text` matters for opencode only: since its second version servers may be one level
    /// deeper, and a file that has them there keeps them there.
    pub(crate) fn entry(self, text: &str, command: &str) -> Result<HostEntry, EditError> {
        let started = [("command", json!(command)), ("args", json!(["mcp"]))];
        let stdio = || [("type", json!("stdio"))].into_iter().chain(started.clone()).collect();
        let entry =
            |format, path: &[&'static str], fields| HostEntry { format, path: path.to_vec(), fields: Entry { fields } };
        Ok(match self {
            Self::ClaudeCodeTools | Self::Cursor => entry(Format::Json, &["mcpServers", NAME], stdio()),
            Self::Gemini => entry(Format::Json, &["mcpServers", NAME], started.to_vec()),
            Self::Vscode => entry(Format::Json, &["servers", NAME], stdio()),
            Self::Zed => entry(Format::Json, &["context_servers", NAME], started.to_vec()),
            Self::Codex => entry(Format::Toml, &["mcp_servers", NAME], started.to_vec()),
            Self::Pi | Self::ClaudeCode => {
                return Err(EditError::NoPlace("this host starts no MCP server".to_owned()));
            }
            Self::Opencode => {
                let local = [("type", json!("local")), ("command", json!([command, "mcp"]))];
                let document = jsonc::parse(text)?.unwrap_or_default();
                let servers = document.get("mcp").and_then(|mcp| mcp.get("servers")).and_then(Value::as_object);
                // A server that happens to be called `servers` has one of these fields, and none of them is an object.
                let is_server = |servers: &serde_json::Map<String, Value>| {
                    ["type", "command", "enabled"]
                        .iter()
                        .any(|field| servers.get(*field).is_some_and(|f| !f.is_object()))
                };
                if servers.is_some_and(|servers| !is_server(servers)) {
                    entry(Format::Json, &["mcp", "servers", NAME], local.to_vec())
                } else {
                    let fields = local.into_iter().chain([("enabled", json!(true))]).collect();
                    entry(Format::Json, &["mcp", NAME], fields)
                }
            }
        })
    }
}

/// Claude Code's folder.
fn claude_folder(around: &HostEnvironment) -> Option<PathBuf> {
    around.claude.clone().or_else(|| around.home.as_ref().map(|home| home.join(".claude")))
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Format {
    Json,
    Toml,
}

/// An entry, and its place in a host's settings.
#[derive(Debug)]
pub(crate) struct HostEntry {
    format: Format,
    path: Vec<&'static str>,
    pub(crate) fields: Entry,
}

impl HostEntry {
    /// The entry that a text already has.
    pub(crate) fn get(&self, text: &str) -> Result<Option<Existing>, EditError> {
        match self.format {
            Format::Json => jsonc::get(text, &self.path),
            Format::Toml => toml_text::get(text, &self.path),
        }
    }

    /// The text with the entry.
    pub(crate) fn set(&self, text: &str) -> Result<String, EditError> {
        match self.format {
            Format::Json => jsonc::set(text, &self.path, &self.fields),
            Format::Toml => toml_text::set(text, &self.path, &self.fields),
        }
    }

    /// The text of a file that holds nothing else.
    pub(crate) fn alone(&self) -> String {
        self.set("").unwrap_or_default()
    }
}

/// The program in the field `command` of an entry, which is a text or a list.
pub(crate) fn program(command: &Value) -> Option<&str> {
    command.as_str().or_else(|| command.get(0)?.as_str())
}
