//! The plugin that makes Readproof answer re-reads of Claude Code's own `Read`: where it lies, and how Claude Code's settings name
//! it, as `claude plugin install` writes it. Runs no program and fetches nothing.

use readproof_disk::{HardLinks, Root, SnapshotRules};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

use super::{
    entry::{EditError, Existing, NAME},
    jsonc,
};

/// Where it lies in a clone.
const IN_CLONE: &str = "integrations/claude-code";

/// The file that says what a folder offers.
const MANIFEST: &str = ".claude-plugin/marketplace.json";

/// Where the settings name the folder.
const FOLDER: &[&str] = &["extraKnownMarketplaces", NAME];

/// Where they say that the plugin is on.
const ON: &[&str] = &["enabledPlugins", "readproof@readproof"];

/// The largest manifest that is read.
const MOST_BYTES: u64 = 64 * 1024;

/// A folder that has the plugin, canonical.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Plugin {
    pub(crate) folder: PathBuf,
}

/// How settings name the plugin.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Named {
    /// Not at all.
    Nowhere,
    /// It is there, and switched off.
    Off,
    /// In a folder that has it.
    At(Plugin),
    /// In a folder that does not exist, or has another plugin; or fetched from elsewhere.
    Elsewhere(String),
}

impl Plugin {
    /// The plugin in a folder; `None` if there is none, or another one.
    pub(crate) fn open(folder: &Path) -> Option<Self> {
        let root = Root::open(folder).ok()?;
        let file = root.locate(&[root.absolute(MANIFEST)]).ok()?;
        let rules = SnapshotRules { max_bytes: MOST_BYTES, hard_links: HardLinks::Allow };
        let snapshot = root.snapshot(&file, &rules).ok()?;
        let manifest: Value = serde_json::from_str(snapshot.text.as_str()).ok()?;
        let is_ours = manifest.get("name").and_then(Value::as_str) == Some(NAME);
        is_ours.then(|| Self { folder: root.path().to_path_buf() })
    }

    /// The plugin of the clone in which this program was built. The workspace is not looked at: it may be a stranger's.
    pub(crate) fn beside(program: &Path) -> Option<Self> {
        program.ancestors().skip(1).find_map(|folder| Self::open(&folder.join(IN_CLONE)))
    }

    fn source(&self) -> Value {
        json!({"source": {"source": "directory", "path": self.folder.display().to_string()}})
    }

    /// What is added, as JSON.
    pub(crate) fn value(&self) -> Value {
        json!({"extraKnownMarketplaces": {NAME: self.source()}, "enabledPlugins": {ON[1]: true}})
    }

    /// The text of a settings file that has only this.
    pub(crate) fn alone(&self) -> String {
        self.set("").unwrap_or_default()
    }

    pub(crate) fn set(&self, text: &str) -> Result<String, EditError> {
        let named = jsonc::set_value(text, FOLDER, &self.source())?;
        jsonc::set_value(&named, ON, &json!(true))
    }

    /// What a text already says about the plugin.
    pub(crate) fn existing(&self, text: &str) -> Result<Option<Existing>, EditError> {
        Ok(jsonc::get(text, FOLDER)?.or(jsonc::get(text, ON)?))
    }

    /// Whether a text names this very folder, and has the plugin switched on.
    pub(crate) fn is_in(&self, text: &str) -> Result<bool, EditError> {
        let is =
            |path: &[&str], value: &Value| Ok(jsonc::get(text, path)?.is_some_and(|existing| existing.value == *value));
        Ok(is(FOLDER, &self.source())? && is(ON, &json!(true))?)
    }

    /// The text without the plugin; `None` if it does not have it.
    pub(crate) fn removed(text: &str) -> Result<Option<String>, EditError> {
        let without = jsonc::remove(text, FOLDER)?;
        let rest = without.as_deref().unwrap_or(text);
        let without_both = jsonc::remove(rest, ON)?;
        Ok(without_both.or(without))
    }
}

impl Named {
    /// How a settings text names the plugin.
    pub(crate) fn of(text: &str) -> Result<Self, EditError> {
        let on = jsonc::get(text, ON)?.map(|existing| existing.value);
        let folder = jsonc::get(text, FOLDER)?.map(|existing| existing.value);
        let (None, None) = (&on, &folder) else {
            if on != Some(json!(true)) {
                return Ok(Self::Off);
            }
            let path = folder.as_ref().and_then(|folder| folder.get("source")?.get("path")?.as_str());
            let found = path.and_then(|path| Plugin::open(Path::new(path)));
            return Ok(found.map_or_else(|| Self::Elsewhere(path.unwrap_or("a marketplace").to_owned()), Self::At));
        };
        Ok(Self::Nowhere)
    }
}

/// Why nothing can be installed: the plugin is not beside this program.
pub(crate) fn not_found() -> String {
    format!(
        "the plugin is not beside this program; in a clone of the repository: claude plugin marketplace add ./{IN_CLONE}, then \
         claude plugin install readproof@readproof"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_taken_out_again() {
        let plugin = Plugin { folder: "/r/integrations/claude-code".into() };
        for before in [
            "{}",
            "{\n  \"model\": \"opus\"\n}\n",
            "{\n  \"enabledPlugins\": {\n    \"a@b\": true\n  },\n  \"x\": 1\n}\n",
        ] {
            let with = plugin.set(before).unwrap();
            assert!(plugin.is_in(&with).unwrap() && !plugin.is_in(before).unwrap());
            assert_eq!(
                Plugin::removed(&with).unwrap().as_deref().map(|text| jsonc::parse(text).unwrap()),
                Some(jsonc::parse(before).unwrap())
            );
            assert_eq!(Plugin::removed(before).unwrap(), None);
        }
        assert_eq!(Named::of("{}").unwrap(), Named::Nowhere);
        assert_eq!(Named::of(r#"{"enabledPlugins":{"readproof@readproof":false}}"#).unwrap(), Named::Off);
        assert!(matches!(Named::of(&plugin.alone()).unwrap(), Named::Elsewhere(_)));
    }
}
