//! Facts about each host: where its settings are, what an entry looks like there, what shows that the host is in use. Opens
//! no file.

use serde_json::{Value, json};
use std::path::{Path, PathBuf};

use super::entry::{EditError, Entry, Existing, NAME};
use super::{jsonc, toml_text};
use crate::{
    cli::{Host, Scope},
    config::HostEnvironment,
};

/// In the order in which they are listed.
pub(crate) const ALL: [Host; 7] =
    [Host::ClaudeCode, Host::Codex, Host::Opencode, Host::Gemini, Host::Cursor, Host::Vscode, Host::Zed];

impl Host {
    /// As typed on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::Opencode => "opencode",
            Self::Gemini => "gemini",
            Self::Cursor => "cursor",
            Self::Vscode => "vscode",
            Self::Zed => "zed",
        }
    }

    /// The files that may hold the entry: the first that exists counts, else the last. `None` if their folder is not known.
    pub(crate) fn files(self, scope: Scope, workspace: &Path, around: &HostEnvironment) -> Option<Vec<PathBuf>> {
        let folder = match scope {
            Scope::Project => Some(workspace.join(self.project_folder())),
            Scope::User => self.user_folder(around),
        };
        let names: &[&str] = match (self, scope) {
            (Self::ClaudeCode, Scope::Project) => &[".mcp.json"],
            (Self::ClaudeCode, Scope::User) => &[".claude.json"],
            (Self::Codex, _) => &["config.toml"],
            (Self::Opencode, _) => &["opencode.jsonc", "opencode.json"],
            (Self::Gemini | Self::Zed, _) => &["settings.json"],
            (Self::Cursor | Self::Vscode, _) => &["mcp.json"],
        };
        folder.map(|folder| names.iter().map(|name| folder.join(name)).collect())
    }

    fn project_folder(self) -> &'static str {
        match self {
            Self::ClaudeCode | Self::Opencode => "",
            Self::Codex => ".codex",
            Self::Gemini => ".gemini",
            Self::Cursor => ".cursor",
            Self::Vscode => ".vscode",
            Self::Zed => ".zed",
        }
    }

    fn user_folder(self, around: &HostEnvironment) -> Option<PathBuf> {
        let home = |name: &str| around.home.as_ref().map(|home| home.join(name));
        let config = |name: &str| around.config.as_ref().map(|config| config.join(name));
        match self {
            // In the home directory, beside `.claude`, unless the environment names another folder.
            Self::ClaudeCode => around.claude.clone().or_else(|| around.home.clone()),
            Self::Codex => around.codex.clone().or_else(|| home(".codex")),
            Self::Opencode => config("opencode"),
            Self::Gemini => home(".gemini"),
            Self::Cursor => home(".cursor"),
            Self::Vscode if cfg!(target_os = "macos") => home("Library/Application Support/Code/User"),
            Self::Vscode => config("Code/User"),
            Self::Zed => config("zed"),
        }
    }

    /// Names in a workspace that show that the host is used there.
    pub(crate) fn project_signs(self) -> &'static [&'static str] {
        match self {
            Self::ClaudeCode => &[".mcp.json", ".claude", "CLAUDE.md"],
            Self::Codex => &[".codex"],
            Self::Opencode => &["opencode.json", "opencode.jsonc", ".opencode"],
            Self::Gemini => &[".gemini", "GEMINI.md"],
            Self::Cursor => &[".cursor"],
            Self::Vscode => &[".vscode"],
            Self::Zed => &[".zed"],
        }
    }

    /// The folder that shows that the user has the host.
    pub(crate) fn user_sign(self, around: &HostEnvironment) -> Option<PathBuf> {
        match self {
            Self::ClaudeCode => around.claude.clone().or_else(|| around.home.as_ref().map(|home| home.join(".claude"))),
            Self::Codex | Self::Opencode | Self::Gemini | Self::Cursor | Self::Vscode | Self::Zed => {
                self.user_folder(around)
            }
        }
    }

    /// What the user must know about an entry there.
    pub(crate) fn note(self, scope: Scope) -> Option<&'static str> {
        match (self, scope) {
            (Self::ClaudeCode, Scope::Project) => Some("Claude Code asks once whether this project's servers may run"),
            (Self::Codex, Scope::Project) => Some("Codex reads this file only in projects that it was told to trust"),
            (Self::Zed, Scope::Project) => Some("Zed starts this project's servers once its worktree is trusted"),
            (Self::ClaudeCode | Self::Codex | Self::Zed, Scope::User)
            | (Self::Opencode | Self::Gemini | Self::Cursor | Self::Vscode, _) => None,
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
            Self::ClaudeCode | Self::Cursor => entry(Format::Json, &["mcpServers", NAME], stdio()),
            Self::Gemini => entry(Format::Json, &["mcpServers", NAME], started.to_vec()),
            Self::Vscode => entry(Format::Json, &["servers", NAME], stdio()),
            Self::Zed => entry(Format::Json, &["context_servers", NAME], started.to_vec()),
            Self::Codex => entry(Format::Toml, &["mcp_servers", NAME], started.to_vec()),
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

#[derive(Clone, Copy, Debug)]
enum Format {
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
    /// The program that it starts.
    pub(crate) fn command(&self) -> &str {
        let command = self.fields.fields.iter().find(|(key, _)| *key == "command").map(|(_, command)| command);
        command.and_then(|command| command.as_str().or_else(|| command.get(0)?.as_str())).unwrap_or_default()
    }

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
