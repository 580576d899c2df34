//! The line in a host's settings that lets its model use the tools: what it is, whether a text has it or says the opposite, and
//! the text with it. Never takes out what a user wrote. Opens no file.

use serde_json::{Value, json};

use super::{
    entry::{EditError, NAME},
    hosts::Format,
    jsonc, toml_text,
};

/// The name under which Claude Code and Codex know all tools of the server.
const TOOLS: &str = "mcp__readproof";

/// The tools that only read. Those that change files are for the user to permit, each time or once.
const READING: &[&str] =
    &["mcp__readproof__read", "mcp__readproof__search", "mcp__readproof__list", "mcp__readproof__outline"];

/// All tools as a pattern, in Claude Code.
const TOOLS_PATTERN: &str = "mcp__readproof__*";

/// A line, and its place in a host's settings.
#[derive(Debug)]
pub(crate) struct Permit {
    format: Format,
    path: &'static [&'static str],
    line: Line,
    /// Lists that say the opposite if they name the tools.
    against: &'static [&'static [&'static str]],
}

#[derive(Clone, Copy, Debug)]
enum Line {
    /// [`TOOLS`] in a list.
    Item,
    /// [`READING`] in a list.
    Items,
    /// A field of the server's entry that is `true`.
    True,
}

/// Whether a text permits the tools.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    Given,
    Missing,
    /// Where it says the opposite.
    Refused(String),
}

impl Permit {
    pub(crate) fn claude_code() -> Self {
        Self {
            format: Format::Json,
            path: &["permissions", "allow"],
            line: Line::Items,
            // Both count before `allow`.
            against: &[&["permissions", "deny"], &["permissions", "ask"]],
        }
    }

    pub(crate) fn codex() -> Self {
        Self {
            format: Format::Toml,
            path: &["features", "code_mode", "direct_only_tool_namespaces"],
            line: Line::Item,
            against: &[&["features", "code_mode", "excluded_tool_namespaces"]],
        }
    }

    pub(crate) fn gemini() -> Self {
        Self { format: Format::Json, path: &["mcpServers", NAME, "trust"], line: Line::True, against: &[] }
    }

    pub(crate) fn standing(&self, text: &str) -> Result<Standing, EditError> {
        let document = match self.format {
            Format::Json => jsonc::parse(text)?.unwrap_or_default(),
            Format::Toml => toml_text::values(text)?,
        };
        let at = |path: &[&str]| path.iter().try_fold(&document, |value, key| value.get(key));
        let names = |path: &[&str], wanted: &[&str]| {
            let items = at(path).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            items.iter().filter_map(Value::as_str).any(|item| wanted.contains(&item))
        };
        // Lists that forbid may also name every server at once.
        let against = self.against.iter().find(|path| names(path, &[TOOLS, TOOLS_PATTERN, "mcp__*"]));
        if let Some(path) = against {
            return Ok(Standing::Refused(path.join(".")));
        }
        Ok(match self.line {
            Line::Item | Line::Items if names(self.path, &[TOOLS, TOOLS_PATTERN]) => Standing::Given,
            Line::Items if READING.iter().all(|tool| names(self.path, &[tool])) => Standing::Given,
            Line::True if at(self.path) == Some(&json!(true)) => Standing::Given,
            Line::True if at(self.path) == Some(&json!(false)) => Standing::Refused(self.path.join(".")),
            Line::Item | Line::Items | Line::True => Standing::Missing,
        })
    }

    /// The text with the line.
    pub(crate) fn set(&self, text: &str) -> Result<String, EditError> {
        match (self.line, self.format) {
            (Line::True, _) => jsonc::set_value(text, self.path, &json!(true)),
            (Line::Item, Format::Json) => jsonc::add_item(text, self.path, TOOLS),
            (Line::Item | Line::Items, Format::Toml) => toml_text::add_item(text, self.path, TOOLS),
            (Line::Items, Format::Json) => {
                let document = jsonc::parse(text)?.unwrap_or_default();
                let list = self.path.iter().try_fold(&document, |value, key| value.get(key)).and_then(Value::as_array);
                let has = |tool: &&str| list.is_some_and(|list| list.iter().any(|item| item == *tool));
                let missing = READING.iter().filter(|tool| !has(tool));
                missing.into_iter().try_fold(text.to_owned(), |text, tool| jsonc::add_item(&text, self.path, tool))
            }
        }
    }

    /// The text of a file that holds nothing else.
    pub(crate) fn alone(&self) -> String {
        self.set("").unwrap_or_default()
    }

    /// On one line, as in `permissions.allow: ["mcp__readproof"]`.
    pub(crate) fn shown(&self) -> String {
        let value = match self.line {
            Line::Item => json!([TOOLS]),
            Line::Items => json!(READING),
            Line::True => json!(true),
        };
        format!("`{}`: {value}", self.path.join("."))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_text_says_about_the_tools() {
        let refused = |path: &str| Standing::Refused(path.to_owned());
        let claude = Permit::claude_code();
        for (text, expected) in [
            ("", Standing::Missing),
            (r#"{"permissions": {"allow": ["mcp__readproof__read", "Bash"]}}"#, Standing::Missing),
            (r#"{"permissions": {"allow": ["mcp__*"]}}"#, Standing::Missing),
            (
                r#"{"permissions": {"allow": ["mcp__readproof__list", "mcp__readproof__read", "mcp__readproof__search",
                    "mcp__readproof__outline"]}}"#,
                Standing::Given,
            ),
            (r#"{"permissions": {"allow": ["mcp__readproof"]}} // x"#, Standing::Given),
            (r#"{"permissions": {"allow": ["mcp__readproof__*"]}}"#, Standing::Given),
            (r#"{"permissions": {"allow": ["mcp__readproof"], "deny": ["mcp__readproof__read"]}}"#, Standing::Given),
            (r#"{"permissions": {"allow": ["mcp__readproof"], "deny": ["mcp__*"]}}"#, refused("permissions.deny")),
            (r#"{"permissions": {"ask": ["mcp__readproof"]}}"#, refused("permissions.ask")),
            (r#"{"permissions": 3}"#, Standing::Missing),
        ] {
            assert_eq!(claude.standing(text).unwrap(), expected, "{text}");
        }
        let gemini = Permit::gemini();
        for (value, expected) in
            [("true", Standing::Given), ("false", refused("mcpServers.readproof.trust")), ("1", Standing::Missing)]
        {
            let text = format!(r#"{{"mcpServers": {{"readproof": {{"trust": {value}}}}}}}"#);
            assert_eq!(gemini.standing(&text).unwrap(), expected, "{text}");
        }
        let codex = Permit::codex();
        let table = |key: &str| format!("[features.code_mode]\n{key} = [\"a\", \"mcp__readproof\"]\n");
        assert_eq!(codex.standing(&table("direct_only_tool_namespaces")).unwrap(), Standing::Given);
        let excluded = "excluded_tool_namespaces";
        assert_eq!(codex.standing(&table(excluded)).unwrap(), refused("features.code_mode.excluded_tool_namespaces"));
        assert!(codex.standing("a = ").is_err() && claude.standing("{").is_err());
    }
}
